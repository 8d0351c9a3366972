"""Where the pictures of a record lie on the disk. A few names are tried, folders are never listed.

File names come from annotation files of strangers: one that is absolute or climbs out of its folder is refused. Links
inside the user's own folder are followed, since large trees of pictures are often linked into place.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from sgeval.archives import check_unpacked
from sgeval.data.kinds import DataSet
from sgeval.errors import SgevalError, one_line, shown
from sgeval.images import ENDINGS, filled
from sgeval.records import Graph, SceneGraph, VideoGraph, label

ANYWHERE = ("{file_name}", "{name}")
"""Patterns below a folder that a user names; of videos the first alone, since their frames share names."""
NUMBERED = re.compile(r"(.*?)(\d{1,12})(\.\w+)", re.DOTALL)
"""A name that ends in a number, before its ending."""


class Named(NamedTuple):
    """A file that a record names: what it is, its name, and where it lies, or nothing."""

    what: str
    name: str
    path: Path | None


@dataclass(frozen=True, slots=True)
class Place:
    """Folders and patterns for the pictures of a config, for its masks and for its clips."""

    folder: Path
    pictures: tuple[str, ...]
    panoptic: tuple[str, ...]
    panoptic_folder: Path
    clips: tuple[str, ...] = ()

    def picture(self, graph: SceneGraph) -> Path | None:
        """The record's picture, or nothing. Raises `SgevalError` for a name that leads out of the folder."""
        names = [graph.file_name] if graph.file_name else [graph.image_id + ending for ending in ENDINGS]
        return _first(self.folder, self.pictures, names, graph)

    def panoptic_map(self, graph: SceneGraph) -> Path | None:
        """The record's panoptic map, or nothing."""
        if not graph.panoptic_file:
            return None
        return _first(self.panoptic_folder, self.panoptic, [graph.panoptic_file], graph, "panoptic_file")

    def clip(self, graph: VideoGraph) -> Path | None:
        """The record's clip, or nothing."""
        return _first(self.folder, self.clips, [graph.file_name], graph) if graph.file_name else None

    def frames(self, graph: VideoGraph) -> list[Path | None]:
        """The frames that the record names, each in its place. Raises `SgevalError` for names that lead out of the folder,
        and for files that count from another number than the record's names do: each would be taken for the one before."""
        return _in_order(self.folder, self.pictures, graph.frame_files or (), graph, "frame_files")

    def frame(self, graph: VideoGraph, index: int) -> Path | None:
        """One of the frames that the record names."""
        name = (graph.frame_files or ())[index]
        return _first(self.folder, self.pictures, [name], graph, "frame_files") if name else None

    def check_frames(self, graph: VideoGraph) -> None:
        """Raise `SgevalError` as `frames`, without looking for each."""
        _check_numbers(self.folder, self.pictures, graph.frame_files or (), graph, "frame_files")

    def masks(self, graph: VideoGraph) -> list[Path | None]:
        """The same of masks."""
        return _in_order(self.panoptic_folder, self.panoptic, graph.mask_files or (), graph, "mask_files")

    def beyond(self, graph: VideoGraph) -> Path | None:
        """The frame after the last that the record names, should there be one."""
        name = name_after(graph.frame_files or ())
        return _first(self.folder, self.pictures, [name], graph, "frame_files") if name else None

    def files(self, graph: Graph, *, images: bool, masks: bool, clips: bool = False) -> Iterator[Named]:
        """The files that belong to a record, of the kinds asked for."""
        if isinstance(graph, SceneGraph):
            if images:
                yield Named("picture", graph.file_name or f"{graph.image_id}.jpg", self.picture(graph))
            if masks:
                yield Named("panoptic map", graph.panoptic_file or "", self.panoptic_map(graph))
            return
        if images:
            yield from map(Named, *_columns("frame", graph.frame_files, self.frames(graph)))
        if masks:
            yield from map(Named, *_columns("mask", graph.mask_files, self.masks(graph)))
        if clips:
            yield Named("clip", graph.file_name or "", self.clip(graph))

    def tried(self, what: str, name: str) -> str:
        """Where a file is looked for, in words."""
        folder, patterns = {
            "clip": (self.folder, self.clips),
            "mask": (self.panoptic_folder, self.panoptic),
            "panoptic map": (self.panoptic_folder, self.panoptic),
        }.get(what, (self.folder, self.pictures))
        return ", ".join(dict.fromkeys(one_line(str(folder / filled(pattern, name))) for pattern in patterns))


def place_of(found: DataSet, config: str, data_dir: str | Path, image_dir: str | Path | None = None) -> Place:
    """Where a config's pictures are looked for. `image_dir` takes the place of the folders in `data_dir`; masks are looked
    for there first, then below `data_dir`."""
    if image_dir is None:
        return Place(Path(data_dir), found.patterns(config), found.panoptic, Path(data_dir), found.clips)
    if not Path(image_dir).is_dir():
        raise SgevalError(f"image_dir: expected a folder of pictures, got {one_line(str(image_dir))}")
    check_unpacked(image_dir)
    folder = Path(image_dir)
    patterns = anywhere(found, config) if found.kind == "image" else ANYWHERE[:1]
    beside = tuple(str(folder.resolve() / pattern) for pattern in ANYWHERE[:1])
    return Place(folder, patterns, (*beside, *found.panoptic), Path(data_dir), ANYWHERE if found.clips else ())


def anywhere(found: DataSet, config: str) -> tuple[str, ...]:
    """Patterns below a folder of pictures that a user names: it may be that of the data set, or of the pictures alone."""
    return tuple(dict.fromkeys((ANYWHERE[0], *found.patterns(config), ANYWHERE[1])))


def name_after(names: Sequence[str | None], steps: int = 1) -> str | None:
    """The name that would come next (or `steps` further), by the numbers at the ends of the last two; nothing where they
    have none.

    >>> name_after(["a/0000.png", "a/0005.png"]), name_after(["a/0000.png", "a/0005.png"], 3)
    ('a/0010.png', 'a/0020.png')
    """
    ends = [NUMBERED.fullmatch(name or "") for name in names[-2:]]
    if len(ends) < 2 or ends[0] is None or ends[1] is None:
        return None
    before, last = (int(end[2]) for end in ends if end)
    return f"{ends[1][1]}{last + steps * (last - before):0{len(ends[1][2])}d}{ends[1][3]}" if last > before else None


def _counts_from_0(names: Sequence[str | None]) -> bool:
    """Whether names count 0, 1, …, as those of dumped frames do. Those of a source's frames may begin and step otherwise."""
    ends = [NUMBERED.fullmatch(name or "") for name in names[:2]]
    return [int(end[2]) for end in ends if end] == [0, 1]


def _columns(
    what: str, names: Sequence[str | None] | None, paths: list[Path | None]
) -> tuple[list[str], list[str], list[Path | None]]:
    return [what] * len(paths), [name or "" for name in names or ()], paths


def _in_order(
    folder: Path, patterns: Sequence[str], names: Sequence[str | None], graph: VideoGraph, key: str
) -> list[Path | None]:
    _check_numbers(folder, patterns, names, graph, key)
    return [_first(folder, patterns, [name], graph, key) if name else None for name in names]


def _check_numbers(
    folder: Path, patterns: Sequence[str], names: Sequence[str | None], graph: VideoGraph, key: str
) -> None:
    """Refuse files that count from another number than the record's names do, or at another rate: a name would be that of
    another frame. One or two files too many are no such sign.

    Files dumped from 1, one fewer than the record names, look like files whose first is lost. So names that count from 0, one
    by one, are refused without the first where the second is there.
    """

    def there(name: str | None) -> Path | None:
        return _first(folder, patterns, [name], graph, key) if name else None

    first = names[0] if names else None
    if first is not None and there(first) is None:
        expected = f"{label(graph)}: expected files that count from {shown(first)}, got none of that name and "
        if (beyond := there(name_after(names))) is not None:
            raise SgevalError(
                f"{expected}{one_line(str(beyond))}, past the last of {len(names):,}: they seem to count from another number"
            )
        if _counts_from_0(names) and (second := there(names[1])) is not None:
            raise SgevalError(
                f"{expected}{one_line(str(second))}: they may have been dumped from 1, and each be one frame late; put the "
                "first one back if it alone is lost, else dump them again from 0"
            )
    if (beyond := there(name_after(names, max(3, len(names) // 10)))) is not None:
        raise SgevalError(
            f"{label(graph)}: expected {len(names):,} files, got {one_line(str(beyond))}, far past the last: they seem to "
            "have been dumped at another rate"
        )


def _first(
    folder: Path, patterns: Sequence[str], names: Sequence[str], graph: Graph, key: str = "file_name"
) -> Path | None:
    """The first file that is there. `key` is what the record calls the name."""
    for name in names:
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts or "\\" in name or ":" in name or not name.isprintable():
            place = f"{label(graph)}: {key}"
            raise SgevalError(f"{place}: expected a name below the folder of pictures, got {shown(name)}")
    for pattern in patterns:
        for name in names:
            path = folder / filled(pattern, name)
            try:
                if path.is_file():
                    return path
            except OSError:  # a name that is too long
                continue
    return None
