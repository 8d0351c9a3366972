"""FG-OV (fine-grained, open-vocabulary relations on COCO and Objects365; arXiv 2509.01209) as its files say it.

No file of it is published: bring your own. The form is RLIPv2's, a JSON list of pictures; `sgeval.formats` describes it
and turns it into rows. Here every row becomes a record: nothing is dropped, repeated triplets, several predicates on one
pair and pictures without relations among them, and nothing is repaired. `object_id` counts on through the whole file and
is kept; `relationship_id` need not be unique. Names stay as they are, the blank at the end of "Table Tennis " included.
Classes and predicates are open, so their ids are -1; `o365_classes` and `rlipv2_counts` read the vocabularies beside.

A second object with the id of another stays, `extra["/objects/N/repeats"]` names the first (`objects[0]`), and relations mean
the first. A picture of Objects365 that the map of paths does not have stays too, without a `file_name` and with
`extra["/file_name/not_in_map"]`; published maps lack some. An end of a relation that no object has is refused: a record could
not hold it, and nothing is known of such an object.

The pictures' sizes are not in the file. `extra` holds `dataset`, `data_split`, and by JSON pointer what the form does not
know.
"""

import json
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from sgeval import strict_json
from sgeval.errors import SgevalError, one_line, one_of, shown, steps
from sgeval.formats import O365_PATHS, o365_paths, rlipv2_rows
from sgeval.readers.place import Place, is_number
from sgeval.records import Box, Object, Relation, SceneGraph

FgovConfig = Literal["coco", "o365"]

DATASETS = {"coco": "coco2017", "o365": "o365"}
"""What `dataset` says in the records of a config."""

SOURCE = "FG-OV is not published; its authors, arXiv 2509.01209, may give it"
RLIPV2 = "https://github.com/JacobYuan7/RLIPv2"
MAP_SOURCE = f"an object from image_id to the path below object365/images, as {RLIPV2} uses it"
SNIFFED = 2**20  # characters of a file in which its first record ends
MOST_TOLD = 5  # files that a message tells about
FORM = ("image_id", "objects", "relationships")
"""What each record of the form has."""
KNOWN = {
    "": ("image_id", "objects", "relations", "file_name", "width", "height", "source", "extra"),
    "objects": ("id", "category", "names", "bbox"),
    "relations": ("id", "subject_id", "object_id", "predicate", "score"),
}


@dataclass(frozen=True, slots=True)
class RelationCounts:
    """A vocabulary with counts, in the file's order."""

    predicates: Mapping[str, int]
    objects: Mapping[str, int]


def read_fgov(
    data_dir: str | Path,
    *,
    config: FgovConfig = "coco",
    data_files: str | Path | Sequence[str | Path] | None = None,
) -> Iterator[SceneGraph]:
    """Scene graphs of the pictures of COCO (`config="coco"`) or Objects365 (`config="o365"`), in file order.

    `data_files`: one or more files in the RLIPv2 form, below `data_dir` or absolute, read one after the other. Without it
    the one `*.json` in `data_dir` whose first record is of the config. Records of the other config are passed over; those
    of Objects365 need `image_id_to_filepath.json` beside their file, or in `data_dir`.

    Boxes are x, y, width, height in pixels, unclipped; a relation's `score` is its confidence.

    Raises `SgevalError`: at once for an unknown config, for files that are not there and for a choice of several; while
    reading, for a file that is not in the form or has no record of the config, with file, record, what was expected and
    what stands there.

    >>> read_fgov(".", config="vg")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: config: expected one of coco, o365, got "vg"
    """
    one_of("config", config, get_args(FgovConfig))
    folder = Path(data_dir)
    if not folder.is_dir():
        raise SgevalError(
            f"data_dir: expected a folder that holds the JSON files ({SOURCE}), got {one_line(str(folder))}"
        )
    if data_files is None:
        files = [_found(folder, config)]
    else:
        files = [folder / file for file in ([data_files] if isinstance(data_files, (str, Path)) else data_files)]
    missing = [str(file) for file in files if not file.is_file()]
    if missing or not files:
        got = f"{one_line(missing[0])}, which does not exist" if missing else "none"
        raise SgevalError(f"data_files: expected files in the RLIPv2 form ({SOURCE}), got {got}")
    maps = [_map_of(file, folder) if config == "o365" else None for file in files]
    return (graph for file, paths in zip(files, maps) for graph in _read(file, paths, config))


def o365_classes(path: str | Path) -> tuple[str, ...]:
    """The names of Objects365 from a JSON list of `{"name", "id"}` with ids from 1; the id 1 is position 0 here.

    Raises `SgevalError` for a file that is not in this form.
    """
    place = Place(Path(path))
    rows = place.checked(strict_json.read_file(place.path), "a list of classes {name, id}", list)
    for index, row in enumerate(rows):
        at = place.at(f"[{index}]")
        if at.get(row, "id", "a whole number", int) != index + 1:
            raise at.at(".id").fault(f"{index + 1}, as ids count from 1", row["id"])
    return tuple(place.at(f"[{index}]").get(row, "name", "a text", str) for index, row in enumerate(rows))


def rlipv2_counts(path: str | Path) -> RelationCounts:
    """A vocabulary of RLIPv2: `{"relationship_names", "object_names", "relationship_freq", "object_freq"}`.

    Raises `SgevalError` for a file that is not in this form, and for a name without its count.
    """
    place = Place(Path(path))
    whole = strict_json.read_file(place.path)
    counts: list[dict[str, int]] = []
    for kind in ("relationship", "object"):
        names = place.get(whole, f"{kind}_names", "a list of names", list)
        given = place.get(whole, f"{kind}_freq", "an object from name to count", dict)
        for index, name in enumerate(names):
            place.at(f".{kind}_names[{index}]").checked(name, "a text", str)
        at = place.at(f".{kind}_freq")
        if len(names) != len(given):
            raise at.fault(f"one count for each of the {len(names)} names", len(given))
        counts.append({name: at.get(given, name, "a whole number", int) for name in names})
    return RelationCounts(*counts)


def _found(folder: Path, config: str) -> Path:
    """The one file of the config."""
    there = {path: _dataset_of(path) for path in sorted(folder.glob("*.json")) if path.is_file()}
    fitting = [path for path, (dataset, _) in there.items() if dataset == DATASETS[config]]
    if len(fitting) == 1:
        return fitting[0]
    expected = f"a JSON list in the RLIPv2 form whose first record is of the data set {shown(DATASETS[config])}"
    if fitting:
        names = ", ".join(path.name for path in fitting)
        raise SgevalError(f"{folder}: expected {expected}, or data_files that say which, got {names}")
    told = [f"{one_line(path.name)} ({why})" for path, (_, why) in there.items()]
    more = f" and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    got = f"only {', '.join(told[:MOST_TOLD])}{more}" if there else "no JSON file"
    raise SgevalError(f"{folder}: expected {expected} ({SOURCE}), got {got}")


def _dataset_of(path: Path) -> tuple[str | None, str]:
    """The data set that the first record of a file names, and in words what the file is. Reads the beginning only."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            start = file.read(SNIFFED).lstrip()
            is_whole = not file.read(1)
    except OSError as fault:
        return None, f"which cannot be read: {fault.strerror}"
    if start[:1] != "[":
        return None, "no JSON list"
    try:
        record, _ = json.JSONDecoder().raw_decode(start[1:].lstrip())
    except json.JSONDecodeError as fault:
        if not strict_json.is_cut_short(fault):
            return None, f"its first record is no JSON: {fault.msg}"
        if is_whole:
            return None, f"cut short at byte {path.stat().st_size:,}, within its first record"
        return None, f"its first record is longer than {SNIFFED:,} characters; data_files names the file all the same"
    except (ValueError, RecursionError):
        return None, "its first record is no JSON of a sane size and depth"
    if not isinstance(record, dict):
        return None, "its first entry is no object"
    lacking = [key for key in FORM if key not in record]
    if lacking:
        return None, f"its first record has no {lacking[0]}"
    dataset = record.get("dataset")
    if dataset is None:
        return None, "its first record names no data set: in this form a picture of Visual Genome"
    return (dataset if isinstance(dataset, str) else None), f"its first record is of the data set {shown(dataset)}"


def _map_of(file: Path, folder: Path) -> Path:
    for path in (file.parent / O365_PATHS, folder / O365_PATHS):
        if path.is_file():
            return path
    raise SgevalError(f"{file.parent}: expected {O365_PATHS} ({MAP_SOURCE}) beside {file.name}, got nothing")


def _read(file: Path, paths: Path | None, config: str) -> Iterator[SceneGraph]:
    o365 = o365_paths(paths) if paths is not None else {}
    faults: list[str] = []
    seen: Counter[str | None] = Counter()
    for where, row in rlipv2_rows(file, o365, faults):
        if faults:
            break
        place = Place(file, steps(where))
        dataset = row.get("source")
        if dataset is not None and not isinstance(dataset, str):
            raise place.at(".dataset").fault("a text, or null", dataset)
        seen[dataset] += 1
        if dataset == DATASETS[config]:
            yield _graph(place, row, paths, o365)
    if faults:
        raise SgevalError(f"{file}: {faults[0]}")
    others = {
        str(name or "Visual Genome (no dataset named)"): n for name, n in seen.items() if name != DATASETS[config]
    }
    if DATASETS[config] not in seen:
        raise Place(file).fault(f"records of the data set {shown(DATASETS[config])}", *others)
    if others:
        told = ", ".join(f"{n:,} of {one_line(name)}" for name, n in others.items())
        warnings.warn(f"{file}: passes over records of other data sets: {told}", stacklevel=2)


def _graph(place: Place, row: dict[str, Any], paths: Path | None, o365: Mapping[str, str]) -> SceneGraph:
    image_id = place.image_id(row)
    own = place.at(".extra").any_json(place.at(".extra").checked(row.get("extra", {}), "an object", dict))
    extra = {"dataset": row["source"], **own, **place.rest("", row, KNOWN[""])}
    if paths is not None and image_id not in o365:
        extra["/file_name/not_in_map"] = paths.name
    objects: list[Object] = []
    first: dict[int, int] = {}
    for at, item in enumerate(row["objects"]):
        objects.append(_object(place.at(f".objects[{at}]"), item))
        extra |= place.at(f".objects[{at}]").rest(f"/objects/{at}", item, KNOWN["objects"])
        if (earlier := first.setdefault(objects[at].id, at)) != at:
            extra[f"/objects/{at}/repeats"] = f"objects[{earlier}]"
    relations: list[Relation] = []
    for at, item in enumerate(row["relations"]):
        relations.append(_relation(place.at(f".relationships[{at}]"), item, first))
        extra |= place.at(f".relationships[{at}]").rest(f"/relations/{at}", item, KNOWN["relations"])
    return SceneGraph(
        image_id=image_id,
        objects=tuple(objects),
        relations=tuple(relations),
        file_name=place.text(row, "file_name"),
        width=place.pixels(row, "width"),
        height=place.pixels(row, "height"),
        source="fgov",
        extra=extra,
    )


def _object(place: Place, item: Mapping[str, Any]) -> Object:
    for name in item["names"]:
        place.at(".names").checked(name, "a name, or a list of names", str)
    return Object(
        id=place.at(".object_id").checked(item["id"], "a whole number", int),
        category=item["category"],
        bbox=_box(place, item["bbox"]),
        names=tuple(item["names"]),
    )


def _box(place: Place, sides: Sequence[Any]) -> Box:
    for key, side in zip("xywh", sides):
        if not is_number(side):
            raise place.at(f".{key}").fault("a number of pixels", side)
    left, top, width, height = map(float, sides)
    return left, top, width, height


def _relation(place: Place, item: Mapping[str, Any], ids: Collection[int]) -> Relation:
    for end in ("subject_id", "object_id"):
        place.at(f".{end}").checked(item[end], "the object_id of an object", int)
        if item[end] not in ids:
            raise place.at(f".{end}").fault(f"the object_id of one of the {len(ids)} objects", item[end])
    score, number = item.get("score"), item.get("id")
    if score is not None and not is_number(score):
        raise place.at(".confidence").fault("a number", score)
    return Relation(
        item["subject_id"],
        item["object_id"],
        place.at(".predicate").checked(item["predicate"], "a text", str),
        id=None if number is None else place.at(".relationship_id").checked(number, "a whole number", int),
        score=None if score is None else float(score),
    )
