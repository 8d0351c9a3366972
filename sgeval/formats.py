"""Graph files of others as plain rows: what `validation.parse_graphs` takes.

- `sgeval`: the prediction file format, one JSON object a line, or one JSON list.
- `rlipv2` (RLIPv2, FG-OV): one JSON list of `{"image_id", "dataset", "data_split", "objects": [{"object_id", "names",
  "x", "y", "w", "h"}], "relationships": [{"relationship_id", "subject_id", "predicate", "object_id", "confidence"}]}`.
  Boxes are x, y, width, height in pixels; the confidence becomes the score. `names` is one text or a list, of which
  the first is the category. The picture is `<data_split>/<12 digits>.jpg` for `coco2017`, the image_id itself for
  `hico`, and what `image_id_to_filepath.json` beside the file says for `o365`; else the file names none.
- `coco-rel` (SGG-Benchmark): a COCO file, `{"images", "annotations", "categories"}` with boxes `[x, y, width, height]`
  in pixels, and with `"rel_annotations": [{"id", "image_id", "subject_id", "object_id", "predicate_id"}]` (the two ends
  are ids of annotations) and `"rel_categories": [{"id", "name"}]`. A `score` is kept. Or rows of the
  `maelic/*-coco-format` data sets as JSON lines (`.jsonl`) or a JSON list, with `categories.json` beside the file.
- `psg`: a file in the PSG form (see `readers.psg`).

Names come from the file by id, and nothing is shifted: an id 0 is a class like any other. Beside a name stands its
0-based place among the file's ids in rising order. Keys that a form does not know go through under their own name.

What cannot become a row is a fault here; what a row holds, right or wrong, is left to `parse_graphs`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sgeval import strict_json
from sgeval.errors import Fault, InvalidInput, Place, SgevalError, one_line, one_of, shown, steps
from sgeval.readers.psg import read_psg_file
from sgeval.records import to_dict
from sgeval.schemas import Kind

Row = dict[str, Any]
Names = dict[int, tuple[str, int]]

O365_PATHS = "image_id_to_filepath.json"
CATEGORIES = "categories.json"
ROW_ENDINGS = (".jsonl", ".ndjson")

# The keys a form cannot do without, and what each is to hold.
RLIPV2_IMAGE = {"image_id": "an id", "objects": "a list of objects", "relationships": "a list of relationships"}
RLIPV2_OBJECT = {
    "object_id": "a whole number",
    "names": "a name, or a list of names",
    "x": "a number of pixels",
    "y": "a number of pixels",
    "w": "a number of pixels",
    "h": "a number of pixels",
}
RLIPV2_RELATION = {
    "subject_id": "the object_id of the subject",
    "predicate": "a text",
    "object_id": "the object_id of the object",
}
RLIPV2_RELATION_KEYS = {
    **{key: key for key in RLIPV2_RELATION},
    "relationship_id": "id",
    "confidence": "score",
}
"""What a key of a relation is called in a record."""
COCO_CLASSES = {"categories": "a list of classes {id, name}", "rel_categories": "a list of predicates {id, name}"}
COCO_FILE = {
    "images": "a list of images",
    "annotations": "a list of boxes",
    "rel_annotations": "a list of relations",
    **COCO_CLASSES,
}
COCO_CLASS = {"id": "a whole number", "name": "a text"}
COCO_IMAGE = {"id": "an id"}
COCO_OWNER = {"image_id": "the id of an image"}
COCO_OBJECT = {"id": "a whole number", "category_id": "the id of one of the categories"}
COCO_RELATION = {
    "subject_id": "the id of an annotation",
    "object_id": "the id of an annotation",
    "predicate_id": "the id of one of the rel_categories",
}
MAELIC_IMAGE = {"image_id": "an id", "objects": "a list of objects", "relations": "a list of relations"}


def read_graphs(path: str | Path, format: str = "sgeval", *, kind: Kind = "image") -> list[Any]:
    """The rows of a graph file, in file order, in the form that `validation.parse_graphs` checks.

    Raises `SgevalError` for an unknown format, a file that cannot be read or is no JSON, and video graphs in another
    format than `sgeval`; `InvalidInput` with every line that is no JSON, or every fault of the foreign form, each as
    place, expectation, value.

    >>> read_graphs("graphs.json", "yolo")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: format: expected one of sgeval, rlipv2, coco-rel, psg, got "yolo"
    """
    formats = ("sgeval", *FOREIGN)
    one_of("format", format, formats)
    if kind == "video" and format != "sgeval":
        raise SgevalError(f'format: expected "sgeval" for video graphs, got {shown(format)}')
    return FOREIGN[format](Path(path)) if format in FOREIGN else _lines(Path(path))


def _lines(path: Path) -> list[Any]:
    broken: list[str] = []
    rows = list(strict_json.read_rows(path, broken))
    return _sound(path, rows, broken)


def _psg(path: Path) -> list[Any]:
    return [to_dict(graph) for graph in read_psg_file(path)]


def _rlipv2(path: Path) -> list[Any]:
    faults: list[str] = []
    rows = [row for _, row in rlipv2_rows(path, o365_paths(path.parent / O365_PATHS), faults)]
    return _sound(path, rows, faults)


def rlipv2_rows(path: Path, o365: Mapping[str, str], faults: list[str]) -> Iterator[tuple[Place, Row]]:
    """Place and plain row of each picture of an RLIPv2 file, in file order.

    `o365` gives the paths of Objects365 pictures by image_id. What cannot become a row is noted in `faults`. Raises
    `SgevalError` for a file that cannot be read or is no JSON.
    """
    for place, item in _checked(strict_json.read_rows(path), (), RLIPV2_IMAGE, faults):
        extra: Row = {"data_split": item["data_split"]} if "data_split" in item else {}
        objects, relations = [], []
        for number, (at, entry) in enumerate(_entries(item, "objects", place, RLIPV2_OBJECT, faults)):
            own = _rlipv2_object(at, entry, faults)
            objects.append(_with_foreign(own, entry, RLIPV2_OBJECT, f"/objects/{number}", extra))
        for number, (_, entry) in enumerate(_entries(item, "relationships", place, RLIPV2_RELATION, faults)):
            own = {RLIPV2_RELATION_KEYS[key]: value for key, value in entry.items() if key in RLIPV2_RELATION_KEYS}
            relations.append(_with_foreign(own, entry, RLIPV2_RELATION_KEYS, f"/relations/{number}", extra))
        own = {"image_id": item["image_id"], "objects": objects, "relations": relations}
        if (picture := _rlipv2_picture(place, item, o365, faults)) is not None:
            own["file_name"] = picture
        if "dataset" in item:
            own["source"] = item["dataset"]
        row = _with_foreign(own, item, (*RLIPV2_IMAGE, "dataset", "data_split"), "", extra)
        yield place, row | ({"extra": extra} if extra else {})


def _with_foreign(own: Row, item: Row, used: Collection[str], pointer: str, extra: Row) -> Row:
    """What was read, with the keys that the form does not know. One that a record calls something else goes to `extra`: it
    must not take the place of what was read."""
    rest = {key: value for key, value in item.items() if key not in used}
    for key, value in rest.items():
        if key == "extra" or (key in own and own[key] != value):
            extra[f"{pointer}/{key}"] = value
    return own | {key: value for key, value in rest.items() if key not in own and key != "extra"}


def _rlipv2_object(place: Place, item: Row, faults: list[str]) -> Row:
    names = [item["names"]] if isinstance(item["names"], str) else item["names"]
    if not isinstance(names, list) or not names:
        faults.append(_worded((*place, "names"), RLIPV2_OBJECT["names"], item["names"]))
        return {}
    box = [item[side] for side in ("x", "y", "w", "h")]
    return {"id": item["object_id"], "category": names[0], "bbox": box, "names": names}


def _rlipv2_picture(place: Place, item: Row, paths: Mapping[str, str], faults: list[str]) -> str | None:
    image_id, split = str(item["image_id"]), item.get("data_split") or "train2017"
    if not isinstance(split, str):
        faults.append(_worded((*place, "data_split"), "a text", split))
        return None
    match item.get("dataset"):
        case "coco2017":
            return f"{split}/{image_id.zfill(12)}.jpg"
        case "hico":
            return image_id
        case "o365":
            return paths.get(image_id)
        case _:
            return item.get("file_name")


def o365_paths(path: Path) -> dict[str, str]:
    """The paths of Objects365 pictures by image_id, none when there is no such file."""
    if not path.is_file():
        return {}
    paths = strict_json.read_file(path)
    if not isinstance(paths, dict) or not all(isinstance(entry, str) for entry in paths.values()):
        raise SgevalError(
            f"{one_line(str(path))}: expected an object from image_id to the picture's path, got {shown(paths)}"
        )
    return paths


def _coco_rel(path: Path) -> list[Any]:
    whole = strict_json.read_rows(path) if path.suffix in ROW_ENDINGS else strict_json.read_file(path)
    return _coco_file(path, whole) if isinstance(whole, dict) else _coco_rows(path, whole)


def _coco_file(path: Path, whole: Row) -> list[Any]:
    """Images, annotations and relations, which a COCO file keeps apart, put together by image_id."""
    faults: list[str] = []
    if not _complete(whole, (), COCO_FILE, faults):
        raise InvalidInput(one_line(str(path)), faults)
    categories = _names(whole, "categories", faults)
    predicates = _names(whole, "rel_categories", faults)
    rows: dict[Any, Row] = {}
    for place, image in _entries(whole, "images", (), COCO_IMAGE, faults):
        rest = {key: value for key, value in image.items() if key not in ("id", "file_name", "width", "height")}
        row = {"image_id": image["id"], **{key: image.get(key) for key in ("file_name", "width", "height")}}
        if not _is_id(image["id"]) or image["id"] in rows:
            faults.append(_worded((*place, "id"), "an id (a whole number or a text), each once", image["id"]))
        else:
            rows[image["id"]] = {**row, "objects": [], "relations": [], "extra": rest}
    for key, target, needed, build, names in (
        ("annotations", "objects", COCO_OBJECT, _coco_object, categories),
        ("rel_annotations", "relations", COCO_RELATION, _coco_relation, predicates),
    ):
        for place, item in _entries(whole, key, (), COCO_OWNER | needed, faults):
            image_id = item.pop("image_id")
            if not _is_id(image_id) or image_id not in rows:
                faults.append(_worded((*place, "image_id"), f"the id of one of the {len(rows)} images", image_id))
            else:
                rows[image_id][target].append(build(place, item, names, faults))
    return _sound(path, list(rows.values()), faults)


def _coco_rows(path: Path, items: Any) -> list[Any]:
    """Rows that hold their objects and relations, with the class lists in another file."""
    faults: list[str] = []
    lists = strict_json.read_file(path.parent / CATEGORIES)
    if not isinstance(lists, dict) or not _complete(lists, (), COCO_CLASSES, faults):
        raise InvalidInput(str(path.parent / CATEGORIES), faults or [f"expected an object, got {shown(lists)}"])
    categories = _names(lists, "categories", faults)
    predicates = _names(lists, "rel_categories", faults)
    _sound(path.parent / CATEGORIES, [], faults)
    rows: list[Row] = []
    for place, item in _checked(items if isinstance(items, Iterable) else [items], (), MAELIC_IMAGE, faults):
        objects = _entries(item, "objects", place, COCO_OBJECT, faults)
        relations = _entries(item, "relations", place, COCO_RELATION, faults)
        item["objects"] = [_coco_object(*entry, categories, faults) for entry in objects]
        item["relations"] = [_coco_relation(*entry, predicates, faults) for entry in relations]
        rows.append(item)
    return _sound(path, rows, faults)


def _coco_object(place: Place, item: Row, names: Names, faults: list[str]) -> Row:
    name, rank = _name((*place, "category_id"), item["category_id"], names, faults)
    row = {**item, "category": name, "category_id": rank}
    if row.get("iscrowd") in (0, 1):
        row["iscrowd"] = bool(row["iscrowd"])
    mask = row.pop("segmentation", None)
    if isinstance(mask, dict) and isinstance(mask.get("counts"), str):
        row["segmentation"] = mask
    elif mask:  # polygons, or counts as numbers: the record has no place for them but its extra
        row["coco_segmentation"] = mask
    return row


def _coco_relation(place: Place, item: Row, names: Names, faults: list[str]) -> Row:
    name, rank = _name((*place, "predicate_id"), item["predicate_id"], names, faults)
    return {**item, "predicate": name, "predicate_id": rank}


def _names(whole: Row, key: str, faults: list[str]) -> Names:
    """Name and 0-based rank by id."""
    found: dict[int, str] = {}
    for place, item in _entries(whole, key, (), COCO_CLASS, faults):
        if not _is_id(item["id"]) or isinstance(item["id"], str) or item["id"] in found:
            faults.append(_worded((*place, "id"), "a whole number, each once", item["id"]))
        else:
            found[item["id"]] = item["name"]
    return {number: (found[number], rank) for rank, number in enumerate(sorted(found))}


def _name(place: Place, number: Any, names: Names, faults: list[str]) -> tuple[str, int]:
    if _is_id(number) and number in names:
        return names[number]
    faults.append(_worded(place, f"one of the file's {len(names)} ids", number))
    return "", -1


def _is_id(value: Any) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _entries(
    owner: Row, key: str, place: Place, needed: Mapping[str, str], faults: list[str]
) -> Iterator[tuple[Place, Row]]:
    """The checked items of a list under a key."""
    where = (*place, key)
    if isinstance(owner[key], list):
        yield from _checked(owner[key], where, needed, faults)
    else:
        faults.append(_worded(where, "a list", owner[key]))


def _checked(
    items: Iterable[Any], where: Place, needed: Mapping[str, str], faults: list[str]
) -> Iterator[tuple[Place, Row]]:
    """Place and item of each object that has the keys it needs; the others are faults."""
    for index, item in enumerate(items):
        place = (*where, index)
        if not isinstance(item, dict):
            faults.append(_worded(place, "an object", item))
        elif _complete(item, place, needed, faults):
            yield place, item


def _complete(item: Row, place: Place, needed: Mapping[str, str], faults: list[str]) -> bool:
    missing = [key for key in needed if key not in item]
    faults += [_fault((*place, key), f"expected {needed[key]}, got nothing") for key in missing]
    return not missing


def _worded(place: Place, expected: str, value: object) -> Fault:
    return _fault(place, f"expected {expected}, got {shown(value)}")


def _fault(place: Place, message: str) -> Fault:
    return Fault(f"{steps(place).removeprefix('.')}: {message}", place, message)


def _sound(path: Path, rows: list[Row], faults: list[str]) -> list[Any]:
    if faults:
        raise InvalidInput(one_line(str(path)), faults)
    return rows


FOREIGN: dict[str, Callable[[Path], list[Any]]] = {
    "rlipv2": _rlipv2,
    "coco-rel": _coco_rel,
    "psg": _psg,
}
