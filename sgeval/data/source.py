"""Graphs from wherever a user has them: a file in one of the forms of `formats`, the folder or the export of a data set.

A form is the name of a file form (`sgeval`, `rlipv2` …), or of a data set, alone or with a config: `psg`, `vg150:exact`. An
export needs none: its rows are those of `sgeval`.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sgeval.data import reading
from sgeval.data.exported import ExportedImages, exported_files, made_from, read_exported
from sgeval.data.kinds import DataSet
from sgeval.data.pictures import anywhere
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.every_row import Reading, read_every
from sgeval.formats import FOREIGN, read_graphs
from sgeval.images import ImageFolder
from sgeval.progress import bar
from sgeval.readers.answers import read_answers
from sgeval.schemas import Kind
from sgeval.submission import handed_in, within

ANSWERS = "answers"
"""The form of models' answers about videos (see `readers.answers`)."""
Pictures = Path | ImageFolder | ExportedImages
"""Where pictures come from, as `images.image_sources` takes it."""
_FILE_FORMS: dict[Kind, tuple[str, ...]] = {"image": tuple(FOREIGN), "video": (ANSWERS,)}
FORMS: dict[Kind, tuple[str, ...]] = {
    kind: tuple(dict.fromkeys(("sgeval", *files, *(name for name, found in DATA_SETS.items() if found.kind == kind))))
    for kind, files in _FILE_FORMS.items()
}
"""The forms of graphs of pictures, and of videos."""


def read_source(
    path: str | Path,
    form: str = "sgeval",
    *,
    split: str | None = None,
    kind: Kind = "image",
    noted: Reading | None = None,
) -> list[Any]:
    """The graphs of a file, of a data set's folder or of an export, in their order, as `validation.parse_graphs` takes them.

    `split` is one of a data set's, and has no meaning for other files; without it all are read. A file may come in a zip (see
    `submission`). With `noted` it is read to its end, as `every_row` does. Raises `SgevalError` for a form that graphs
    of this kind do not have, a file where a folder is expected, and as the readers do.

    >>> read_source("graphs.json", "vg510")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: format: expected one of sgeval, rlipv2, coco-rel, psg, visual_genome, ... got "vg510"...
    """
    title = f"{Path(path).name} {split or ''}".strip()
    if (place := _folder(path, form, kind)) is not None:
        found, config = place
        if split is not None:
            one_of(f"split of {found.name}, {config}", split, found.configs[config])
        return list(bar(reading.read(found.name, path, config, split), title, "record"))
    if files := _exported(path, form, split):
        return list(bar(read_exported(files, kind), title, "record"))
    return _read_file(Path(path), form, kind, noted)


def _read_file(path: Path, form: str, kind: Kind, noted: Reading | None) -> list[Any]:
    given = noted or Reading()
    with handed_in(path, given) as file:
        if given.faults and noted is None:
            raise SgevalError(given.faults[0])
        rows: Iterable[Any]
        if form == ANSWERS:
            rows = read_answers(file)
        elif form == "sgeval" and noted is not None:
            rows = read_every(file, noted)
        else:
            rows = read_graphs(file, form, kind=kind)
        return list(within(rows, given, given.name or one_line(str(path))))


def image_folder(images: Path | None, sources: Iterable[tuple[str | Path, str]]) -> Pictures:
    """Where pictures are looked for: in `images`, or in the first data set among the paths with their forms, a folder or an
    export; in a folder in the places of that data set.

    Raises `SgevalError` where neither is given, and where an export holds none.
    """
    for path, form in sources:
        files = _exported(path, form)
        place = made_from(Path(path)) if files else _folder(path, form, "image")
        if images is None and files:
            return _embedded(Path(path), files)
        if images is None and place is not None:
            found, config = place
            return ImageFolder(Path(path), found.patterns(config))
        if images is not None and place is not None:
            return ImageFolder(images, anywhere(*place))
    if images is None:
        expected = "expected the folder of the pictures"
        raise SgevalError(f"images: {expected}, got none (only the folder or the export of a data set holds its own)")
    return images


def _embedded(path: Path, files: Sequence[Path]) -> ExportedImages:
    if not (found := ExportedImages(files)):
        raise SgevalError(
            f"images: expected the folder of the pictures, got none; {one_line(str(path))} holds no pictures"
        )
    return found


def check_split(split: str | None, sources: Iterable[tuple[str | Path, str]], kind: Kind = "image") -> None:
    """Raise `SgevalError` for a split where no path with its form is a data set."""
    if split is not None and not any(_exported(path, form) or _folder(path, form, kind) for path, form in sources):
        raise SgevalError(f"split: expected none, since no data set is read, got {shown(split)}")


def source_files(path: str | Path, form: str, kind: Kind = "image") -> list[Path]:
    """The annotation files that the graphs are read from. Raises `SgevalError` as `read_source`."""
    place = _folder(path, form, kind)
    if place is None:
        return _exported(path, form) or [Path(path)]
    return list(_files(*place, Path(path)))


def _files(found: DataSet, config: str, folder: Path) -> Iterator[Path]:
    for file in found.files_of(config):
        yield from file.all_found(folder)


def _exported(path: str | Path, form: str, split: str | None = None) -> list[Path]:
    """The files of an export; none where a path is something else."""
    if form != "sgeval":
        return []
    files = exported_files(Path(path), split)
    if not files and Path(path).is_dir():
        raise SgevalError(
            f"{one_line(str(path))}: expected a file, or a folder that `sgeval data export` wrote, got another folder; "
            "that of a data set needs --format NAME (of references: --references-format NAME)"
        )
    return files


def _folder(path: str | Path, form: str, kind: Kind) -> tuple[DataSet, str] | None:
    """The data set and config that a form means, or nothing where it means a file."""
    name, mark, config = form.partition(":")
    one_of("format", name, FORMS[kind])
    if name in DATA_SETS and (Path(path).is_dir() or name not in FOREIGN):
        if not Path(path).is_dir():
            raise SgevalError(f"format {shown(form)}: expected the folder of the data set, got {one_line(str(path))}")
        found = DATA_SETS[name]
        return found, reading.config_of(found, config or None)
    if mark:
        raise SgevalError(f"format: expected no config for a file, got {shown(form)}")
    return None
