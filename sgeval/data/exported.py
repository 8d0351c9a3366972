"""Exports of data sets (`sgeval data export`, here or fetched from the Hub) as graphs and pictures: Parquet files with the
columns of a record, a folder a config."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from sgeval.data.kinds import DataSet
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.readers import parquet
from sgeval.schemas import Kind
from sgeval.validation import HEAVY_COLUMNS

MARK = "<!-- made by sgeval data export:"
"""Begins the line of a card that says what an export holds: data set, config, parts."""
PAIRS = "pair_vocabulary"
"""The folder of an export that counts its triplets."""
ENDING = ".parquet"


def exported_files(path: Path, split: str | None = None) -> list[Path]:
    """The Parquet files of an export, of the folder of its config, or the file itself; those of a `split`, by default all.

    Empty for what is no such folder. Raises `SgevalError` for several configs, and for a split that is not there.
    """
    if path.is_file():
        return [path] if path.suffix == ENDING else []
    here = sorted(path.glob(f"*{ENDING}"))
    configs = {file.parent for file in path.glob(f"*/*{ENDING}")} - {path / PAIRS}
    if not here and len(configs) > 1:
        names = ", ".join(sorted(shown(folder.name) for folder in configs))
        raise SgevalError(
            f"{one_line(str(path))}: expected an export of one config, got {names}; name the folder of one"
        )
    files = here or [file for folder in configs for file in sorted(folder.glob(f"*{ENDING}"))]
    if split is not None and files:
        one_of(f"split of {one_line(path.name)}", split, dict.fromkeys(map(split_of, files)))
        files = [file for file in files if split_of(file) == split]
    return files


def split_of(file: Path) -> str:
    """The split of a file, which begins its name.

    >>> split_of(Path("test-00000-of-00001.parquet"))
    'test'
    """
    return file.name.removesuffix(ENDING).partition("-")[0]


def marked(folder: Path) -> list[str] | None:
    """The words of the mark in a folder's card: data set, config, parts and more; nothing where it bears none."""
    try:
        _, mark, rest = (folder / "README.md").read_text(encoding="utf-8").partition(MARK)
    except (OSError, UnicodeDecodeError):
        return None
    return rest.partition("-->")[0].split() if mark else None


def made_from(path: Path) -> tuple[DataSet, str] | None:
    """The data set and config that an export, or the folder of its config, was made from; nothing where no card says it."""
    for folder in (path, path.parent):
        match marked(folder):
            case [name, config, _, *_] if name in DATA_SETS and config in DATA_SETS[name].configs:
                return DATA_SETS[name], config
    return None


def read_exported(files: Sequence[Path], kind: Kind) -> Iterator[dict[str, Any]]:
    """The rows of Parquet files without pictures and clips, in order, as `validation.parse_graphs` takes them.

    Raises `SgevalError`, naming the file, for what is no Parquet of such rows.
    """
    for file in files:
        names = parquet.column_names(file)
        if kind == "video" and "image_id" in names:
            raise SgevalError(f"{one_line(str(file))}: expected rows of videos, got those of pictures")
        yield from parquet.rows(file, {f"{kind}_id": "text"}, [name for name in names if name not in HEAVY_COLUMNS])


class ExportedImages(Mapping[str, Mapping[str, Any]]):
    """The pictures in the files of an export by image_id, each as a mapping whose `bytes` are read when they are asked for.
    The row group that was read last is kept."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._places: dict[str, tuple[Path, int, int]] = {}
        for file in files:
            if "image" in parquet.column_names(file):
                for group, row, item in parquet.placed(file, ["image_id", "image.path"]):
                    if item["image"] is not None:
                        self._places[item["image_id"]] = (file, group, row)
        self._last: tuple[tuple[Path, int], list[Any]] | None = None
        self._busy = Lock()

    def __getitem__(self, image_id: str) -> Mapping[str, Any]:
        return _Embedded(self, self._places[image_id])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def data(self, place: tuple[Path, int, int]) -> bytes | None:
        """The bytes of a picture, as they stand in its file."""
        file, group, row = place
        with self._busy:
            if self._last is None or self._last[0] != (file, group):
                self._last = (
                    (file, group),
                    [item["image"] for _, _, item in parquet.placed(file, ["image.bytes"], group)],
                )
            found: bytes | None = self._last[1][row]["bytes"]
            return found


class _Embedded(Mapping[str, Any]):
    """A picture of `ExportedImages`."""

    def __init__(self, images: ExportedImages, place: tuple[Path, int, int]) -> None:
        self._images, self._place = images, place

    def __getitem__(self, key: str) -> Any:
        if key != "bytes":
            raise KeyError(key)
        return self._images.data(self._place)

    def __iter__(self) -> Iterator[str]:
        return iter(("bytes",))

    def __len__(self) -> int:
        return 1
