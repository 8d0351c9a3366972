"""What a build keeps beside its tables, to be told or looked at each time it is found again: pictures that are not as
annotated, and the folders and pictures that its rows come of, with their times of change; and the ids of videos, which the
processes of a build hold against each other at its end.

A folder changes when a file in it is added, moved or removed. So one look a folder says whether the paths in the rows may
have gone stale. What a picture's header decided, or its bytes in a row, go stale when it is written over in place, which its
folder does not tell; so each picture that was opened is looked at too, 100,000 of them in less than a second.
"""

import json
import os
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sgeval.errors import one_line, option

Stamp = list[int]
SHOWN = 3
"""How many pictures a warning names."""


@dataclass
class Notes:
    """`faults`: in words, one a picture. `folders`: when each was last changed, as it was first looked into. `pictures`:
    the size and times of each that was opened, before it was. `asked`: how many files of a kind ("picture", "clip" …) rows
    were to have. `nulls`: the ids of the records that have null in its place, by why and kind ("empty picture"), once a
    file. `ids`: of the videos, in the order of the rows."""

    faults: list[str] = field(default_factory=list)
    folders: dict[str, int] = field(default_factory=dict)
    pictures: dict[str, Stamp] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    nulls: dict[str, list[str]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)

    def found(self, path: Path) -> None:
        """Note the folder of a file."""
        folder = str(path.parent)
        if folder not in self.folders:
            self.folders[folder] = changed(folder)

    def opening(self, path: Path) -> None:
        """Note a picture that decides something."""
        self.keep(str(path), stamp(path))

    def keep(self, path: str, then: Stamp) -> None:
        """Note how a picture was. One that was in two ways is as it was in neither."""
        if self.pictures.setdefault(path, then) != then:
            self.pictures[path] = []

    def write(self, folder: str, split: str, first: int) -> None:
        """Keep those of a stretch of a split. Whoever lists a folder of tables passes over hidden names."""
        path = Path(folder) / f".{split}-{first:09d}.notes.json"
        path.write_text(json.dumps(vars(self)), encoding="utf-8")

    def add(self, other: "Notes") -> None:
        """Add what was noted of other records."""
        self.faults += other.faults
        self.ids += other.ids
        for folder, then in other.folders.items():  # of several processes, the first to look
            self.folders[folder] = min(then, self.folders.get(folder, then))
        for picture, was in other.pictures.items():
            self.keep(picture, was)
        for what, number in other.asked.items():
            self.asked[what] = self.asked.get(what, 0) + number
        for why, keys in other.nulls.items():
            self.nulls.setdefault(why, []).extend(keys)

    def sums(self) -> tuple[Counter[str], Counter[str]]:
        """How many files were asked for, by kind, and how many are null, by why and kind."""
        return Counter(self.asked), Counter({why: len(keys) for why, keys in self.nulls.items()})

    def tell(self, title: str, stacklevel: int = 2) -> None:
        """Warn of the pictures that are not as annotated, and of what is null, if there are any."""
        asked, nulls = self.sums()
        for what, words in null_words(asked, nulls).items():
            keys = [key for why, keys in self.nulls.items() if why.endswith(f" {what}") for key in keys]
            first = ", ".join(one_line(key) for key in [*dict.fromkeys(keys)][:SHOWN])
            hint = f"; {option('image_dir')} names the folder they lie in" if len(keys) == asked[what] else ""
            more = " …" if len({*keys}) > SHOWN else ""
            warnings.warn(f"{title}: {what}s: {words}; ids {first}{more}{hint}", stacklevel=stacklevel + 1)
        if not self.faults:
            return
        number = len(self.faults)
        more = f"; and {number - SHOWN:,} more" if number > SHOWN else ""
        words = "picture is" if number == 1 else "pictures are"
        warnings.warn(
            f"{title}: {number:,} {words} not as annotated: {'; '.join(self.faults[:SHOWN])}{more}",
            stacklevel=stacklevel + 1,
        )

    @property
    def is_stale(self) -> bool:
        """Whether a folder or a picture has changed since."""
        return any(changed(folder) != then for folder, then in self.folders.items()) or any(
            stamp(path) != then for path, then in self.pictures.items()
        )


def changed(folder: str) -> int:
    """When a folder was last changed, in nanoseconds; -1 of one that is not there."""
    try:
        return Path(folder).stat().st_ctime_ns
    except OSError:
        return -1


def stamp(path: str | Path) -> Stamp:
    """A file's size, and when it was last changed by its own word and by the system's, in nanoseconds; -1 of one that is not
    there. The system sets the last at each change of what a file holds or is called; the one before can be set back."""
    try:
        status = os.stat(path)  # noqa: PTH116, a Path for each of 100,000 takes three times as long
    except OSError:
        return [-1, -1, -1]
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def clear_notes(folder: str) -> None:
    """Remove the notes of a build that was killed, whose stretches may have been others."""
    for path in Path(folder).glob(".*.notes.json"):
        path.unlink()


def read_notes(folder: str, split: str = "*") -> Notes:
    """All notes of a build, or of one of its splits."""
    every = Notes()
    for path in sorted(Path(folder).glob(f".{split}-*.notes.json")):
        try:
            every.add(Notes(**json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            every.folders[str(path)] = 0  # damaged: such a folder never is as it was
    return every


def null_words(asked: Mapping[str, int], nulls: Mapping[str, int]) -> dict[str, str]:
    """By kind of file, how many are null and why, for kinds of which some are.

    >>> null_words({"picture": 5, "clip": 2}, {"missing picture": 2, "empty picture": 1})
    {'picture': '3 of 5 null: 2 missing, 1 empty'}
    """
    out = {}
    for what, number in asked.items():
        parts = {why.removesuffix(f" {what}"): n for why, n in nulls.items() if n and why.endswith(f" {what}")}
        if parts:
            each = ", ".join(f"{n:,} {why}" for why, n in parts.items())
            out[what] = f"{sum(parts.values()):,} of {number:,} null: {each}"
    return out
