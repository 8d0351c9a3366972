"""Where the picture of a record lies on the disk. A few names are tried, folders are never listed.

File names come from annotation files of strangers: one that is absolute or climbs out of its folder is refused. Links
inside the user's own folder are followed, since large trees of pictures are often linked into place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sgeval.archives import check_unpacked
from sgeval.data.kinds import DataSet
from sgeval.errors import SgevalError, one_line, shown
from sgeval.images import ENDINGS
from sgeval.records import SceneGraph

ANYWHERE = ("{file_name}", "{name}")
"""Patterns below a folder that a user names."""


@dataclass(frozen=True, slots=True)
class Place:
    """Folders and patterns for the pictures of a config, and for its panoptic maps."""

    folder: Path
    pictures: tuple[str, ...]
    panoptic: tuple[str, ...]
    panoptic_folder: Path

    def picture(self, graph: SceneGraph) -> Path | None:
        """The record's picture, or nothing. Raises `SgevalError` for a name that leads out of the folder."""
        names = [graph.file_name] if graph.file_name else [graph.image_id + ending for ending in ENDINGS]
        return _first(self.folder, self.pictures, names, graph)

    def panoptic_map(self, graph: SceneGraph) -> Path | None:
        """The record's panoptic map, or nothing."""
        if not graph.panoptic_file:
            return None
        return _first(self.panoptic_folder, self.panoptic, [graph.panoptic_file], graph)

    def tried(self) -> str:
        """Where pictures are looked for, in words."""
        return ", ".join(one_line(str(self.folder / pattern)) for pattern in self.pictures)


def place_of(found: DataSet, config: str, data_dir: str | Path, image_dir: str | Path | None = None) -> Place:
    """Where a config's pictures are looked for. `image_dir` takes the place of the folders in `data_dir`; panoptic maps are
    looked for there first, then below `data_dir`."""
    if image_dir is None:
        return Place(Path(data_dir), found.patterns(config), found.panoptic, Path(data_dir))
    if not Path(image_dir).is_dir():
        raise SgevalError(f"image_dir: expected a folder of pictures, got {one_line(str(image_dir))}")
    check_unpacked(image_dir)
    folder = Path(image_dir)
    beside = tuple(str(folder.resolve() / pattern) for pattern in ANYWHERE[:1])
    return Place(folder, ANYWHERE, (*beside, *found.panoptic), Path(data_dir))


def _first(folder: Path, patterns: Sequence[str], names: Sequence[str], graph: SceneGraph) -> Path | None:
    for name in names:
        inside = PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts or "\\" in name or ":" in name or not name.isprintable():
            place = f"image {shown(graph.image_id)}: file_name"
            raise SgevalError(f"{place}: expected a name below the folder of pictures, got {shown(name)}")
    for pattern in patterns:
        for name in names:
            last = PurePosixPath(name).name
            path = folder / pattern.replace("{file_name}", name).replace("{name}", last)
            try:
                if path.is_file():
                    return path
            except OSError:  # a name that is too long
                continue
    return None
