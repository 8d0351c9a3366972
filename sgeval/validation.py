"""The border: plain rows become records here, and every fault is listed before anything is scored.

A fault is worded as place, expectation, value: `predictions[12].relations[3].object_id: expected the id of one of the
9 objects, got 12`. What is expected stands once, as the `description` of the shipped JSON Schema.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from sgeval import strict_json
from sgeval.building import Builder, id_text
from sgeval.errors import InvalidInput, SgevalError, one_line, shown
from sgeval.records import Graph, SceneGraph, VideoGraph, to_dict
from sgeval.schemas import Kind, description, known_keys, validator

OnInvalid = Literal["error", "skip"]
Place = tuple[str | int, ...]
Fault = tuple[Place, str]

HEAVY_COLUMNS = ("image", "video", "panoptic_map")
LARGEST = 2**63 - 1  # whole numbers are stored in 64 bits


@dataclass
class Parsed:
    """What came of a list of rows."""

    graphs: list[Graph] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    """The position of each graph's row."""
    n_rows: int = 0
    faults: list[str] = field(default_factory=list)
    """What was wrong, one line each."""
    warnings: list[str] = field(default_factory=list)
    n_invalid: int = 0
    """Records, objects and relations left out under `on_invalid="skip"`; a relation that goes with its object counts too."""
    dropped: dict[int, str] = field(default_factory=dict)
    """The ids of the records that were left out whole, by the position of their row, as far as they have one."""
    cut: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Of each record that lost objects or relations, by its id: the positions of the relations it lost."""

    @property
    def scenes(self) -> list[SceneGraph]:
        """The graphs of pictures."""
        return [graph for graph in self.graphs if isinstance(graph, SceneGraph)]

    @property
    def left_out(self) -> set[str]:
        """The ids that no record is left of: one that was left out as a double is not among them."""
        return {*self.dropped.values()} - {graph.key for graph in self.graphs}


def parse_graphs(
    rows: Iterable[Any], label: str = "predictions", *, kind: Kind = "image", on_invalid: OnInvalid = "error"
) -> Parsed:
    """Check rows and build records.

    Rows are mappings (as in the prediction file, or rows of a `datasets` table) or records. With `on_invalid="skip"`
    the smallest faulty part is left out and counted: a relation, an object with its relations, or a record. Of records
    with the same id the first that is not left out stays.

    Raises `InvalidInput` with all faults when `on_invalid="error"` and there is one.

    >>> parse_graphs([{"image_id": 5, "objects": [{"id": 0, "category": "dog"}]}]).graphs[0].image_id
    '5'
    """
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable):
        raise SgevalError(f"{label}: expected a list of graphs, got {shown(rows)}")
    out = Parsed()
    first: dict[str, int] = {}
    kept: set[str] = set()
    unknown: Counter[str] = Counter()
    builder = Builder(kind)
    for index, row in enumerate(rows):
        out.n_rows += 1
        plain, faults = _plain_row(row)
        faults += _faults(plain, kind, {where for where, _ in faults})
        key = _key(plain, kind)
        doubles = _double(label, key, first, kind) if all(where != (f"{kind}_id",) for where, _ in faults) else []
        if key is not None:
            first.setdefault(key, index)
        out.faults += [_worded(f"{label}[{index}]", where, what) for where, what in faults + doubles]
        is_refused = on_invalid == "error" and bool(faults or doubles)
        rest = None if is_refused or key in kept else _without(plain, faults)
        if rest is None:
            out.n_invalid += 1
            if key is not None:
                out.dropped[index] = key
            continue
        out.graphs.append(builder.graph(rest.plain))
        out.positions.append(index)
        kept.add(out.graphs[-1].key)
        if faults:
            out.n_invalid += rest.n_lost
            out.cut[out.graphs[-1].key] = rest.relations
        unknown.update(map(_general, builder.unknown))
    out.warnings = [_unknown_key(label, pattern, count, kind) for pattern, count in unknown.items()]
    if out.faults and on_invalid == "error":
        raise InvalidInput(label, out.faults)
    return out


def _double(label: str, key: str | None, first: Mapping[str, int], kind: Kind) -> list[Fault]:
    """The fault of a row whose id came before."""
    if key is None or key not in first:
        return []
    return [((f"{kind}_id",), f"expected each id once, got {shown(key)} again (first in {label}[{first[key]}])")]


def _key(plain: Any, kind: Kind) -> str | None:
    """The id of a row, if it has one."""
    value = plain.get(f"{kind}_id") if isinstance(plain, dict) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return id_text(value) if abs(value) <= LARGEST else None
    return value if isinstance(value, str) else None


def _plain_row(row: Any) -> tuple[Any, list[Fault]]:
    """A row as JSON has it: mappings, tuples and numpy values made plain, records through `to_dict`, heavy columns
    dropped; and the faults of numbers that no file can hold."""
    if isinstance(row, (SceneGraph, VideoGraph)):
        row = to_dict(row)
    elif isinstance(row, Mapping):
        row = {key: value for key, value in row.items() if key not in HEAVY_COLUMNS}
    faults: list[Fault] = []
    plain = _plain_value(row, (), faults)
    if isinstance(plain, dict) and isinstance(plain.get("extra"), str):
        try:
            plain["extra"] = strict_json.parse(plain["extra"], "extra") or None
        except SgevalError as fault:
            faults.append((("extra",), str(fault).removeprefix("extra: ")))
    return plain, faults


def _plain_value(value: Any, place: Place, faults: list[Fault]) -> Any:
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    if hasattr(value, "tolist"):  # numpy arrays and scalars, also arrays of objects
        value = value.tolist()
    if isinstance(value, (Mapping, list, tuple)):
        if len(place) >= strict_json.MAX_DEPTH:
            faults.append((place[:2], f"expected at most {strict_json.MAX_DEPTH} levels of nesting, got more"))
            return None
        if isinstance(value, Mapping):
            return {key: _plain_value(entry, (*place, str(key)), faults) for key, entry in value.items()}
        return [_plain_value(entry, (*place, index), faults) for index, entry in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        faults.append((place, f"expected a finite number, got {shown(value)}"))
    elif isinstance(value, int) and abs(value) > LARGEST:
        faults.append((place, f"expected a number that fits 64 bits, got one of {value.bit_length()} bits"))
    return value


def _faults(plain: Any, kind: Kind, known: set[Place]) -> list[Fault]:
    """The faults of a row beyond those already known, by place."""
    faults: list[Fault] = []
    for error in validator(kind).iter_errors(plain):
        place: Place = tuple(error.absolute_path)
        if error.validator == "required":
            # jsonschema reports each missing key with the whole list: take the one this report names
            missing = [key for key in error.validator_value if key not in error.instance]
            new = [key for key in missing if (*place, key) not in known]
            for key in new[:1]:
                expected = description(error.schema["properties"][key], kind)
                faults.append(((*place, key), f"expected {expected}, got nothing"))
                known.add((*place, key))
        elif place not in known:
            faults.append((place, f"expected {description(error.schema, kind)}, got {shown(error.instance)}"))
            known.add(place)
    broken = {where[:2] for where in known}
    if not isinstance(plain, dict) or ("objects",) in broken or ("relations",) in broken:
        return faults
    return faults + _graph_faults(plain, broken)


def _graph_faults(plain: Mapping[str, Any], broken: set[Place]) -> list[Fault]:
    """What a schema cannot say: object ids are unique, and the ends of relations exist."""
    faults: list[Fault] = []
    ids: set[float] = set()
    for index, item in enumerate(plain.get("objects") or []):
        number = item.get("id") if isinstance(item, dict) else None
        if not isinstance(number, (int, float)) or isinstance(number, bool):
            continue
        if number in ids and ("objects", index) not in broken:
            faults.append((("objects", index, "id"), f"expected each object id once, got {number} again"))
        ids.add(number)
    for index, item in enumerate(plain.get("relations") or []):
        if ("relations", index) in broken:
            continue
        for end in ("subject_id", "object_id"):
            if ids and item[end] not in ids and item[end] != -1:
                expected = f"expected the id of one of the {len(ids)} objects, got {item[end]}"
                faults.append((("relations", index, end), expected))
    return faults


def _worded(place: str, where: Place, what: str) -> str:
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{one_line(step)}" for step in where)
    return f"{place}{steps}: {what}"


@dataclass(frozen=True)
class _Rest:
    """What stays of a row, how many objects and relations it lost, and the positions of those relations."""

    plain: dict[str, Any]
    n_lost: int = 0
    relations: tuple[int, ...] = ()


def _without(plain: Any, faults: Sequence[Fault]) -> _Rest | None:
    """The row without its faulty objects and relations, or None when the record itself is at fault."""
    if not faults:
        return _Rest(plain)
    places = {where[:2] for where, _ in faults}
    if any(len(where) < 2 or where[0] not in ("objects", "relations") for where in places):
        return None
    gone = {index for name, index in places if name == "objects"}
    objects = [item for index, item in enumerate(plain.get("objects") or []) if index not in gone]
    ids = {item["id"] for item in objects}
    had_objects = bool(plain.get("objects"))
    relations = plain.get("relations") or []
    lost = tuple(
        index
        for index, item in enumerate(relations)
        if ("relations", index) in places or (had_objects and not {item["subject_id"], item["object_id"]} <= ids | {-1})
    )
    staying = [item for index, item in enumerate(relations) if index not in {*lost}]
    return _Rest({**plain, "objects": objects, "relations": staying}, len(gone) + len(lost), lost)


def _general(pointer: str) -> str:
    return "/".join("*" if step.isdigit() else step for step in pointer.split("/"))


def _unknown_key(label: str, pattern: str, count: int, kind: Kind) -> str:
    *above, name = pattern.strip("/").split("/")
    levels = {"objects": "object", "relations": "relation", "roles": "role", "track": "track"}
    level = next((levels[step] for step in reversed(above) if step in levels), "")
    near = get_close_matches(name, known_keys(kind, level), n=1, cutoff=0.5)
    hint = f"; the nearest known key is {shown(near[0])}" if near else ""
    where = "".join("[…]" if step == "*" else f".{one_line(step)}" for step in (*above, name))
    times = f" ({count} times)" if count > 1 else ""
    return f"{label}[…]{where}: unknown key, kept in extra{times}{hint}"
