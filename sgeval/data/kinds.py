"""What is written down about a data set: its files, its licence, and the record of all of it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sgeval.images import filled
from sgeval.schemas import Kind

Classes = Mapping[str, tuple[str, ...]]
"""Class lists by name; `categories` and `predicates` are those that ids count in, and are absent where names are open."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a reader takes from `data_dir`. A name with `*` means whatever fits; the first name that is there wins."""

    names: tuple[str, ...]
    what: str
    where: str
    configs: tuple[str, ...] = ()
    """The configs that need it; none named: all."""
    needed: bool = True
    size: int | None = None
    """Bytes as published, where known; like the sum, of the first name."""
    sha256: str | None = None

    def found(self, data_dir: Path) -> Path | None:
        """The file that a reader would take."""
        return next(self.all_found(data_dir), None)

    def all_found(self, data_dir: Path) -> Iterator[Path]:
        """Every file that bears one of the names."""
        for name in self.names:
            paths = sorted(data_dir.glob(name)) if "*" in name else [data_dir / name]
            yield from (path for path in paths if path.is_file())


@dataclass(frozen=True, slots=True)
class Licence:
    """Under what terms a data set stands. `hub_id` is the Hub's word for it; `publish` is what may be made public."""

    hub_id: str
    words: str
    allows: str
    publish: Literal["annotations", "nothing"]


@dataclass(frozen=True, slots=True)
class DataSet:
    """What is known about one data set.

    `read(data_dir, split, config, **options)` gives records in file order; `split=None` gives all; of videos it takes
    `faults` too (`readers.video_form.records_of`). `classes(data_dir,
    config)` gives the class lists. `pictures` (of videos: frames), `panoptic` (of videos: masks) and `clips` are patterns
    below `data_dir`, tried in this order: `{file_name}` is the name that the record gives, `{name}` its last part.
    `published` are records by config and split; the split "all" stands for the whole config where the parts were not
    published.
    """

    name: str
    title: str
    configs: Mapping[str, tuple[str, ...]]
    """The splits of each config; the first config is the default."""
    read: Callable[..., Iterator[Any]]
    classes: Callable[[Path, str], Classes]
    pictures: Mapping[str, tuple[str, ...]]
    """By config; the key "" holds for all others."""
    pictures_from: str
    files: tuple[SourceFile, ...]
    licence: Licence
    published: Mapping[str, Mapping[str, int]]
    faults: tuple[str, ...]
    citation: str
    asks: str = ""
    """What stands between a user and the files: a form, a drive, a licence to accept. Empty: a plain download."""
    kind: Kind = "image"
    """Whether records are of pictures or of videos."""
    count: Callable[[Path, str | None, str], int] | None = None
    """How many records a split of a config has, where that can be told without reading them; `read` then takes `part=(first,
    last)`, positions in the split, as a slice does."""
    files_each: Callable[[Path, str | None], Sequence[Path]] | None = None
    """The files of a split in the order of its records, where each record is a file of its own."""
    columns: Callable[[Path, str], Iterator[Any]] | None = None
    """A faster road to the same: batches of Arrow columns, without pictures, of all records of a config, which has one
    split then and no options."""
    panoptic: tuple[str, ...] = ()
    with_maps: tuple[str, ...] = ()
    """The configs that have masks; none named: all, if there are patterns for them."""
    clips: tuple[str, ...] = ()
    clip_rates: Mapping[str, float] = field(default_factory=dict)
    """Frames a second of the clips of a `source`, where records say none."""
    listed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By config, patterns of folders whose lists of files the records rest on. With `files`, these are all that rows are made
    of, so that no record need be read to see whether one has changed."""
    md5: Mapping[str, str] = field(default_factory=dict)
    """Of archives of pictures and masks, by name, as published."""
    examples: Mapping[str, str] = field(default_factory=dict)
    """The name that a record gives a file: by `pictures`, `masks` and `clips`, or with a config as in `pictures:raw`."""
    options: tuple[str, ...] = ()
    """Keywords of the reader, beyond folder, split and config."""
    keeps_count: tuple[str, ...] = ()
    """Those of them that leave the number of records as it is, so that it can be held against the published one."""
    lists: tuple[str, ...] = ()
    """Those of them that take a list of texts."""
    unfit: Mapping[str, str] = field(default_factory=dict)
    """Filters that its records cannot have, and why, in words."""
    tracked: Mapping[str, str] = field(default_factory=dict)
    """Of videos, the configs in which each object has a track and a record a rate, and the option that takes; empty: none."""
    leaves_unsplit: bool = False
    """Whether records may be in none of the splits."""
    unmet: Callable[[Path, str], list[str]] | None = None
    """The ids that lists of splits name and no record of a config has, where there are such lists."""
    strange: Callable[[Path], Iterator[str]] | None = None
    """What in a folder as a whole speaks against its being the data set, though each record may be in the form."""
    vg_id: Callable[[Any], Any] = lambda graph: None
    """The id of a record's picture in Visual Genome, if it is one of its pictures."""
    coco_id: Callable[[Any], Any] = lambda graph: None
    """The id of a record's picture in COCO."""

    @property
    def default_config(self) -> str:
        """The config that is meant when none is named."""
        return next(iter(self.configs))

    def counts_as_published(self, options: Collection[str]) -> bool:
        """Whether these options of the reader leave the number of records as it is."""
        return set(options) <= {*self.keeps_count}

    def patterns(self, config: str) -> tuple[str, ...]:
        """Where pictures of a config are looked for."""
        return self.pictures.get(config, self.pictures.get("", ()))

    def has_maps(self, config: str) -> bool:
        """Whether records of a config have masks."""
        return bool(self.panoptic) and (not self.with_maps or config in self.with_maps)

    def places(self) -> dict[str, tuple[str, ...]]:
        """Where files go below `data_dir`, by what they are: an example of a path for each pattern, first found wins."""
        out: dict[str, tuple[str, ...]] = {}
        for config in self.configs:
            maps = self.panoptic if self.has_maps(config) else ()
            for what, patterns in (("pictures", self.patterns(config)), ("masks", maps), ("clips", self.clips)):
                file_name = self.examples.get(f"{what}:{config}", self.examples.get(what))
                if patterns and file_name is not None:
                    paths = (filled(pattern, file_name) for pattern in patterns)
                    label = what if what in self.examples else f"{what} of {config}"
                    out[label] = tuple(dict.fromkeys(paths))
        return out

    def roots(self, config: str) -> tuple[str, ...]:
        """The folders below `data_dir` that pictures and maps are looked for in, itself ("") first."""
        patterns = (*self.patterns(config), *self.panoptic, *self.clips)
        return tuple(dict.fromkeys(("", *(pattern[: pattern.index("{")] for pattern in patterns))))

    def files_of(self, config: str) -> tuple[SourceFile, ...]:
        """The files that play a part in a config."""
        return tuple(file for file in self.files if not file.configs or config in file.configs)
