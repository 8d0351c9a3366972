"""What is found in a data folder: its files, the records of its splits, and what is odd about them."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FileState:
    """One source file: where it is, or where to get it, and what is wrong with it."""

    names: tuple[str, ...]
    what: str
    where: str
    needed: bool
    published_bytes: int | None
    path: str | None = None
    bytes: int | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class SplitState:
    """How many records a split has; `published` is none where nobody said."""

    split: str
    records: int
    distinct_ids: int
    published: int | None
    unread: int = 0
    """Videos that are not in the form; they are no records."""


@dataclass
class Oddity:
    """Something odd that records were kept with: in words, how often, in which of them, and where first."""

    what: str
    count: int = 0
    ids: list[str] = field(default_factory=list)
    frame: int | None = None
    """The first frame of the first record that has it, where frames have it."""


@dataclass
class Inspection:
    """What was found. `faults` say in a line each why the folder is not the published data set, whole."""

    name: str
    config: str
    data_dir: str | None
    files: list[FileState] = field(default_factory=list)
    splits: list[SplitState] = field(default_factory=list)
    n_pictures: int = 0
    missing_pictures: list[tuple[str, str]] = field(default_factory=list)
    """Id of the record and file name of each picture, frame or clip that is not there or empty, and of each picture or frame
    that cannot be read."""
    missing_maps: list[tuple[str, str]] = field(default_factory=list)
    """The same for masks of videos, and for panoptic maps where they were asked for."""
    unsound: dict[str, str] = field(default_factory=dict)
    """By file name, which of both are there all the same: "empty", or "broken" as their header tells."""
    broken_masks: list[str] = field(default_factory=list)
    """What is wrong with each mask that was decoded and is none, or not that of its record: by its size, or its ids."""
    oddities: list[Oddity] = field(default_factory=list)
    """What records were kept with; it is not amiss, since the published files are so."""
    faults: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """All of it, plain."""
        return asdict(self)

    def note(self, what: str, key: str, number: int = 1, frame: int | None = None) -> None:
        """Count something odd about a record. `frame`: the first that has it, where frames have it."""
        oddity = next((entry for entry in self.oddities if entry.what == what), None)
        if oddity is None:
            self.oddities.append(oddity := Oddity(what, frame=frame))
        oddity.count += number
        if oddity.ids[-1:] != [key]:
            oddity.ids.append(key)

    def add(self, one: "Inspection") -> None:
        """Add what was found in records that come after those looked at so far."""
        self.n_pictures += one.n_pictures
        self.missing_pictures += one.missing_pictures
        self.missing_maps += one.missing_maps
        self.unsound.update(one.unsound)
        self.broken_masks += one.broken_masks
        self.faults += one.faults
        for oddity in one.oddities:
            for key in oddity.ids:
                self.note(oddity.what, key, frame=oddity.frame)
            self.note(oddity.what, oddity.ids[-1], oddity.count - len(oddity.ids))
