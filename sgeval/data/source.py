"""Graphs from wherever a user has them: a file in one of the forms of `formats`, or the folder of a data set.

A form is the name of a file form (`sgeval`, `rlipv2` …), or of a data set, alone or with a config: `psg`, `vg150:exact`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sgeval.data import reading
from sgeval.data.kinds import DataSet
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.every_row import Reading, read_every
from sgeval.formats import FOREIGN, read_graphs
from sgeval.progress import bar
from sgeval.readers.answers import read_answers
from sgeval.schemas import Kind
from sgeval.submission import handed_in, within

ANSWERS = "answers"
"""The form of models' answers about videos (see `readers.answers`)."""
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
    """The graphs of a file or of a data set's folder, in their order, as `validation.parse_graphs` takes them.

    `split` is one of a data set's, and has no meaning for a file; without it all are read. A file may come in a zip (see
    `submission`). With `noted` it is read to its end, as `every_row` does. Raises `SgevalError` for a form that graphs
    of this kind do not have, a file where a folder is expected, and as the readers do.

    >>> read_source("graphs.json", "vg510")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: format: expected one of sgeval, rlipv2, coco-rel, psg, visual_genome, ... got "vg510"...
    """
    place = _folder(path, form, kind)
    if place is None:
        return _read_file(Path(path), form, kind, noted)
    found, config = place
    if split is not None:
        one_of(f"split of {found.name}, {config}", split, found.configs[config])
    return list(bar(reading.read(found.name, path, config, split), f"{found.name} {split or ''}".strip(), "record"))


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


def check_split(split: str | None, sources: Iterable[tuple[str | Path, str]], kind: Kind = "image") -> None:
    """Raise `SgevalError` for a split where no path with its form is a data set's folder."""
    if split is not None and all(_folder(path, form, kind) is None for path, form in sources):
        raise SgevalError(f"split: expected none, since no data set's folder is read, got {shown(split)}")


def source_files(path: str | Path, form: str, kind: Kind = "image") -> list[Path]:
    """The annotation files that the graphs are read from. Raises `SgevalError` as `read_source`."""
    place = _folder(path, form, kind)
    return [Path(path)] if place is None else list(_files(*place, Path(path)))


def _files(found: DataSet, config: str, folder: Path) -> Iterator[Path]:
    for file in found.files_of(config):
        yield from file.all_found(folder)


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
