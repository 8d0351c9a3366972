"""The border: plain rows become records here, and every fault is listed before anything is scored.

A fault is worded as place, expectation, value: `predictions[12].relations[3].object_id: expected the id of one of the
9 objects, got 12`. What is expected stands once, as the `description` of the shipped JSON Schema.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sgeval import strict_json
from sgeval.errors import InvalidInput, SgevalError, shown
from sgeval.records import Graph, Object, Relation, Role, SceneGraph, TrackPoint, VideoGraph

Kind = Literal["image", "video"]
OnInvalid = Literal["error", "skip"]
Place = tuple[str | int, ...]

SCHEMAS: dict[Kind, str] = {"image": "scene_graph.schema.json", "video": "video_graph.schema.json"}
HEAVY_COLUMNS = ("image", "video", "panoptic_map")


@dataclass
class Parsed:
    """What came of a list of rows."""

    graphs: list[Graph] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    n_invalid: int = 0
    """Records, objects and relations left out under `on_invalid="skip"`; a relation that goes with its object counts too."""
    invalid: dict[str, list[str]] = field(default_factory=dict)
    """The faults by graph key, for the per-item output."""


def parse_graphs(
    rows: Iterable[Any], label: str = "predictions", *, kind: Kind = "image", on_invalid: OnInvalid = "error"
) -> Parsed:
    """Check rows and build records.

    Rows are mappings (as in the prediction file, or rows of a `datasets` table) or records. With `on_invalid="skip"`
    the smallest faulty part is left out and counted: a relation, an object with its relations, or a record.

    Raises `InvalidInput` with all faults when `on_invalid="error"` and there is one.

    >>> parse_graphs([{"image_id": 5, "objects": [{"id": 0, "category": "dog"}]}]).graphs[0].image_id
    '5'
    """
    out = Parsed()
    seen: dict[str, int] = {}
    unknown: Counter[tuple[str, str]] = Counter()
    for index, row in enumerate(rows):
        place = f"{label}[{index}]"
        try:
            plain = _plain_row(row)
        except SgevalError as fault:
            out.faults.append(f"{place}.{fault}")
            out.n_invalid += 1
            continue
        faults = _faults(plain, kind)
        key_name = "image_id" if kind == "image" else "video_id"
        key = str(plain.get(key_name)) if isinstance(plain, dict) else ""
        if not faults and key in seen:
            faults = [((key_name,), f"expected each id once, got {shown(key)} again (first in {label}[{seen[key]}])")]
        seen.setdefault(key, index)
        if faults:
            words = [_worded(place, where, what) for where, what in faults]
            out.faults += words
            kept = _without(plain, faults) if on_invalid == "skip" else None
            if kept is None:
                out.n_invalid += 1
                continue
            plain, dropped = kept
            out.n_invalid += dropped
            out.invalid[key] = words
        record, extra_keys = _build(plain, kind)
        unknown.update((_general(pointer), pointer.rsplit("/", 1)[1]) for pointer in extra_keys)
        out.graphs.append(record)
    out.warnings = [_unknown_key(label, pattern, name, count) for (pattern, name), count in unknown.items()]
    if out.faults and on_invalid == "error":
        raise InvalidInput(label, out.faults)
    return out


@cache
def schema(kind: Kind) -> dict[str, Any]:
    """The shipped JSON Schema (draft 2020-12) of the prediction file format."""
    text = (Path(__file__).parent / "schemas" / SCHEMAS[kind]).read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def _validator(kind: Kind) -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(schema(kind))


def _plain_row(row: Any) -> Any:
    """Mappings, tuples and numpy values as JSON has them; records through `to_dict`; heavy columns dropped."""
    from sgeval.records import to_dict

    if isinstance(row, (SceneGraph, VideoGraph)):
        return to_dict(row)
    if isinstance(row, Mapping):
        row = {key: value for key, value in row.items() if key not in HEAVY_COLUMNS}
    plain = _plain_value(row)
    if isinstance(plain, dict) and isinstance(plain.get("extra"), str):
        plain["extra"] = strict_json.parse(plain["extra"], "extra") or None
    return plain


def _plain_value(value: Any) -> Any:
    if isinstance(value, dict) or isinstance(value, Mapping):
        return {key: _plain_value(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_value(entry) for entry in value]
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        return value.tolist()
    return value


def _faults(plain: Any, kind: Kind) -> list[tuple[Place, str]]:
    faults: list[tuple[Place, str]] = []
    for error in _validator(kind).iter_errors(plain):
        place: Place = tuple(error.absolute_path)
        if error.validator == "required":
            missing = [key for key in error.validator_value if key not in error.instance]
            for key in missing:
                if (place + (key,), "") not in [(where, "") for where, _ in faults]:
                    expected = _description(error.schema["properties"][key], kind)
                    faults.append((place + (key,), f"expected {expected}, got nothing"))
        else:
            expected = error.schema.get("description")
            got = f"got {shown(error.instance)}"
            faults.append((place, f"expected {expected}, {got}" if expected else f"{error.message}"))
    if not isinstance(plain, dict):
        return faults
    broken = {where[:2] for where, _ in faults}
    if (("objects",) in broken) or (("relations",) in broken):
        return faults
    return faults + _graph_faults(plain, broken)


def _description(part: Mapping[str, Any], kind: Kind) -> str:
    if "$ref" in part:
        part = schema(kind)["$defs"][part["$ref"].rsplit("/", 1)[1]]
    return str(part.get("description", "a value"))


def _graph_faults(plain: Mapping[str, Any], broken: set[Place]) -> list[tuple[Place, str]]:
    """What a schema cannot say: ids that are unique and exist, numbers that are finite."""
    faults: list[tuple[Place, str]] = []
    ids: set[Any] = set()
    objects = plain.get("objects") or []
    for index, item in enumerate(objects):
        if ("objects", index) in broken:
            if isinstance(item, dict) and isinstance(item.get("id"), int):
                ids.add(item["id"])
            continue
        if item["id"] in ids:
            faults.append((("objects", index, "id"), f"expected each object id once, got {item['id']} again"))
        ids.add(item["id"])
        if item.get("bbox") and not all(map(math.isfinite, item["bbox"])):
            expected = "four finite numbers [x, y, width, height] in pixels"
            faults.append((("objects", index, "bbox"), f"expected {expected}, got {shown(item['bbox'])}"))
    for index, item in enumerate(plain.get("relations") or []):
        if ("relations", index) in broken:
            continue
        for end in ("subject_id", "object_id"):
            if ids and item[end] not in ids and item[end] != -1:
                expected = f"expected the id of one of the {len(ids)} objects, got {item[end]}"
                faults.append((("relations", index, end), expected))
        score = item.get("score")
        if score is not None and not math.isfinite(score):
            faults.append((("relations", index, "score"), f"expected a finite number, or null, got {shown(score)}"))
    return faults


def _worded(place: str, where: Place, what: str) -> str:
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in where)
    return f"{place}{steps}: {what}"


def _without(plain: Any, faults: Sequence[tuple[Place, str]]) -> tuple[dict[str, Any], int] | None:
    """The row without its faulty objects and relations and their number, or None when the record itself is at fault."""
    places = {where[:2] for where, _ in faults}
    if any(len(where) < 2 or where[0] not in ("objects", "relations") for where in places):
        return None
    gone = {index for name, index in places if name == "objects"}
    objects = [item for index, item in enumerate(plain.get("objects") or []) if index not in gone]
    ids = {item["id"] for item in objects}
    had_objects = bool(plain.get("objects"))
    relations = [
        item
        for index, item in enumerate(plain.get("relations") or [])
        if ("relations", index) not in places
        and (not had_objects or {item["subject_id"], item["object_id"]} <= ids | {-1})
    ]
    dropped = len(gone) + len(plain.get("relations") or []) - len(relations)
    return {**plain, "objects": objects, "relations": relations}, dropped


def _general(pointer: str) -> str:
    return "/".join("*" if step.isdigit() else step for step in pointer.split("/"))


def _unknown_key(label: str, pattern: str, name: str, count: int) -> str:
    steps = pattern.strip("/").split("/")
    owner = Relation if "relations" in steps[:-1] else Object if "objects" in steps[:-1] else SceneGraph
    near = get_close_matches(name, [item.name for item in fields(owner)], n=1, cutoff=0.5)
    hint = f"; the nearest known key is {shown(near[0])}" if near else ""
    where = "".join("[…]" if step == "*" else f".{step}" for step in steps)
    times = f" ({count} times)" if count > 1 else ""
    return f"{label}[…]{where}: unknown key, kept in extra{times}{hint}"


def _build(plain: Mapping[str, Any], kind: Kind) -> tuple[Graph, list[str]]:
    """The record of a checked row, and the JSON pointers of the keys it does not know."""
    extra: dict[str, Any] = {}
    record_type = SceneGraph if kind == "image" else VideoGraph
    values = _known(record_type, plain, "", extra)
    stored = values.pop("extra", None) or {}
    key = "image_id" if kind == "image" else "video_id"
    values[key] = str(values[key])
    values["objects"] = tuple(
        _object(item, f"/objects/{index}", extra) for index, item in enumerate(values.get("objects", ()))
    )
    values["relations"] = tuple(
        _relation(item, f"/relations/{index}", extra) for index, item in enumerate(values.get("relations", ()))
    )
    for name in ("frame_files", "mask_files"):
        if name in values:
            values[name] = tuple(values[name])
    return record_type(**values, extra={**stored, **extra}), list(extra)


def _known(owner: type, plain: Mapping[str, Any], pointer: str, extra: dict[str, Any]) -> dict[str, Any]:
    names = {item.name for item in fields(owner)}
    extra.update({f"{pointer}/{_escaped(key)}": value for key, value in plain.items() if key not in names})
    return {key: value for key, value in plain.items() if key in names and value is not None}


def _escaped(key: str) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _roles(plain: Sequence[Mapping[str, Any]], pointer: str, extra: dict[str, Any]) -> tuple[Role, ...]:
    return tuple(Role(**_known(Role, role, f"{pointer}/roles/{i}", extra)) for i, role in enumerate(plain))


def _object(plain: Mapping[str, Any], pointer: str, extra: dict[str, Any]) -> Object:
    values = _known(Object, plain, pointer, extra)
    values["id"] = int(values["id"])
    if "bbox" in values:
        values["bbox"] = tuple(map(float, values["bbox"]))
    for name in ("names", "synsets", "merged_ids", "attributes", "attribute_types"):
        if name in values:
            values[name] = tuple(values[name])
    if "roles" in values:
        values["roles"] = _roles(values["roles"], pointer, extra)
    if "track" in values:
        values["track"] = tuple(
            _track_point(point, f"{pointer}/track/{index}", extra) for index, point in enumerate(values["track"])
        )
    return Object(**values)


def _track_point(plain: Mapping[str, Any], pointer: str, extra: dict[str, Any]) -> TrackPoint:
    values = _known(TrackPoint, plain, pointer, extra)
    if "bbox" in values:
        values["bbox"] = tuple(map(float, values["bbox"]))
    return TrackPoint(**values)


def _relation(plain: Mapping[str, Any], pointer: str, extra: dict[str, Any]) -> Relation:
    values = _known(Relation, plain, pointer, extra)
    for name in ("subject_id", "object_id"):
        values[name] = int(values[name])
    if "synsets" in values:
        values["synsets"] = tuple(values["synsets"])
    if "roles" in values:
        values["roles"] = _roles(values["roles"], pointer, extra)
    if "spans" in values:
        values["spans"] = tuple((float(span["start"]), float(span["end"])) for span in values["spans"])
    if "raw_spans" in values:
        values["raw_spans"] = tuple((float(start), float(end)) for start, end in values["raw_spans"])
    return Relation(**values)
