"""The border: plain rows become records here, and every fault is listed before anything is scored.

A fault is worded as place, expectation, value: `predictions[12].relations[3].object_id: expected the id of one of the
9 objects, got 12`. What is expected stands once, as the `description` of the shipped JSON Schema.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from types import NoneType
from typing import Any, Literal

from sgeval import strict_json
from sgeval.building import Builder, id_text
from sgeval.errors import Fault, InvalidInput, Place, SgevalError, one_line, shown, steps
from sgeval.every_row import Clean, Doubled, Unread
from sgeval.records import Graph, SceneGraph, VideoGraph, to_dict
from sgeval.schemas import Kind, description, known_keys, validator
from sgeval.schemas.quick import is_sound, suspects

OnInvalid = Literal["error", "skip"]
Told = tuple[Place, str]
"""A fault within a row: its place there, and what was expected and is there."""

HEAVY_COLUMNS = ("image", "video", "panoptic_map")
MOST = 10_000
"""Faults of one row that are listed; with more of them it is left out whole."""
MOST_KEYS = 1000
"""Unknown keys that are told one by one."""
LARGEST = 2**63 - 1  # whole numbers are stored in 64 bits


@dataclass
class Parsed:
    """What came of a list of rows."""

    graphs: list[Graph] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    """The position of each graph's row."""
    n_rows: int = 0
    faults: list[Fault] = field(default_factory=list)
    """What was wrong, one line each; places begin with the position of the row."""
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
    rows: Iterable[Any],
    label: str = "predictions",
    *,
    kind: Kind = "image",
    on_invalid: OnInvalid = "error",
    most_faults: int | None = None,
) -> Parsed:
    """Check rows and build records.

    Rows are mappings (as in the prediction file, or rows of a `datasets` table) or records. With `on_invalid="skip"`
    the smallest faulty part is left out and counted: a relation, an object with its relations, or a record. Of records
    with the same id the first that is not left out stays. Rows beyond the one that brings more than `most_faults` are not
    looked at.

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
        if most_faults is not None and len(out.faults) > most_faults:
            message = f"expected at most {most_faults:,} faults, got more; this row and later ones are not looked at"
            out.faults.append(worded(label, (index,), message))
            out.n_rows += 1
            break
        out.n_rows += 1
        if isinstance(row, Unread):
            out.faults.append(Fault(row.text, (index,), row.message))
            out.n_invalid += 1
            continue
        plain, faults, is_json = _plain_row(row)
        key = _key(plain, kind) if all(where != (f"{kind}_id",) for where, _ in faults) else None
        if faults or not is_json or not is_sound(plain, kind):
            faults += _schema_faults(_errors(plain, kind, is_json), kind, {where for where, _ in faults})
        if len(faults) < MOST:
            faults += islice(_graph_faults(plain, {where for where, _ in faults}), MOST)
        if len(faults) >= MOST:
            faults = [*faults[:MOST], ((), f"expected fewer than {MOST:,} faults in a row, got {MOST:,} or more")]
        doubles = _double(label, key, first, kind) if all(where != (f"{kind}_id",) for where, _ in faults) else []
        if key is not None:
            first.setdefault(key, index)
        out.faults += [worded(label, (index, *where), what) for where, what in faults + doubles]
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
    told = [*unknown.items()][:MOST_KEYS]
    out.warnings = [_unknown_key(label, pattern, count, kind) for pattern, count in told]
    if len(unknown) > len(told):
        out.warnings.append(f"{label}: {len(unknown) - len(told):,} more unknown keys, kept in extra")
    if out.faults and on_invalid == "error":
        raise InvalidInput(label, out.faults, "on_invalid")
    return out


def _double(label: str, key: str | None, first: Mapping[str, int], kind: Kind) -> list[Told]:
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


def _plain_row(row: Any) -> tuple[Any, list[Told], bool]:
    """A row as JSON has it: mappings, tuples and numpy values made plain, records through `to_dict`, heavy columns
    dropped; the faults of what no file can hold; and whether all of it is such as JSON has."""
    if isinstance(row, (SceneGraph, VideoGraph)):
        row = to_dict(row)
    elif isinstance(row, Mapping) and any(name in row for name in HEAVY_COLUMNS):
        row = {key: value for key, value in row.items() if key not in HEAVY_COLUMNS}
    maker = _Plain()
    plain = {**row} if isinstance(row, Clean) else maker.value(row, ())
    if isinstance(plain, dict) and isinstance(plain.get("extra"), str):
        try:
            plain["extra"] = strict_json.parse(plain["extra"], "extra") or None
        except SgevalError as fault:
            maker.faults.append((("extra",), str(fault).removeprefix("extra: ")))
    return plain, maker.faults, maker.is_json


def unfit(row: Any, label: str, index: int) -> list[Fault]:
    """The values of a row that no form can hold: numbers that are not finite or too long, keys that stand twice, depth.

    >>> unfit({"frame_id": "a", "roles": [float("nan")]}, "predictions", 3)
    ['predictions[3].roles[0]: expected a finite number, got NaN']
    """
    maker = _Plain()
    maker.value(row, ())
    return [worded(label, (index, *where), what) for where, what in maker.faults]


@dataclass
class _Plain:
    """Makes values plain, and notes what no file can hold."""

    faults: list[Told] = field(default_factory=list)
    is_json: bool = True

    def note(self, place: Place, message: str, got: object = None) -> None:
        """Add a fault, unless there are so many that the row goes anyway. What was got takes the place of "{}"."""
        if len(self.faults) < MOST:
            self.faults.append((place, message.format(shown(got))))

    def value(self, value: Any, place: Place) -> Any:
        """The value without tuples, mappings and arrays of others."""
        kind = type(value)
        if kind in (str, bool, NoneType):
            return value
        if kind is float:
            if value - value != 0.0:
                self.note(place, "expected a finite number, got {}", value)
            return value
        if kind is int:
            if not -LARGEST <= value <= LARGEST:
                self.faults.append(
                    (place, f"expected a number that fits 64 bits, got one of {value.bit_length()} bits")
                )
            return value
        if kind is dict or kind is list:
            return self.container(value, place)
        return self.other(value, place)

    def container(self, value: Any, place: Place) -> Any:
        """A mapping or a list, made plain."""
        if len(place) >= strict_json.MAX_DEPTH:
            self.note(place[:2], f"expected at most {strict_json.MAX_DEPTH} levels of nesting, got more")
            return None
        is_mapping = isinstance(value, Mapping)
        if isinstance(value, Doubled):
            self.note((*place, value.key), "expected each key once, got the key {} twice", value.key)
        out = []
        for step, entry in value.items() if is_mapping else enumerate(value):
            kind = type(entry)
            if not (  # most values are such as stay: a call for each would take most of the time
                kind is str
                or (kind is int and -LARGEST <= entry <= LARGEST)
                or (kind is float and entry - entry == 0.0)
            ):
                entry = self.value(entry, (*place, str(step) if is_mapping else step))
            out.append(entry)
        return dict(zip(value, out, strict=True)) if is_mapping else out

    def other(self, value: Any, place: Place) -> Any:
        """What JSON does not give: values of numpy, and whatever else a caller of Python has."""
        if hasattr(value, "tolist"):  # arrays and scalars, also arrays of objects
            return self.value(value.tolist(), place)
        if isinstance(value, (Mapping, list, tuple)):
            return self.container(value, place)
        if isinstance(value, float):
            return self.value(float(value), place)
        if isinstance(value, int):
            return self.value(int(value), place)
        self.is_json = self.is_json and isinstance(value, str)
        return value


def _errors(plain: Any, kind: Kind, is_json: bool) -> Iterator[tuple[Place, Any]]:
    """What jsonschema finds in a row, by place, as far as there may be anything to find."""
    judge = validator(kind)
    rest, found = suspects(plain, kind) if is_json and isinstance(plain, dict) else (plain, [])
    for error in judge.iter_errors(rest):
        yield tuple(error.absolute_path), error
    for name, index, part in found:
        for error in judge.evolve(schema=part).iter_errors(plain[name][index]):
            yield (name, index, *error.absolute_path), error


def _schema_faults(errors: Iterable[tuple[Place, Any]], kind: Kind, known: set[Place]) -> list[Told]:
    """The faults of a row under the schema beyond those already known, by place."""
    faults: list[Told] = []
    for place, error in errors:
        if len(faults) >= MOST:
            break
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
    return faults


def _graph_faults(plain: Any, known: set[Place]) -> Iterator[Told]:
    """What a schema cannot say: object ids are unique, and the ends of relations exist. What is `known` to be faulty, in
    whole or in this part, is passed over."""
    broken = {where[:2] for where in known}
    if not isinstance(plain, dict) or ("objects",) in broken or ("relations",) in broken:
        return
    ids: set[float] = set()
    for index, item in enumerate(plain.get("objects") or []):
        number = item.get("id") if isinstance(item, dict) else None
        if not isinstance(number, (int, float)) or isinstance(number, bool):
            continue
        if number in ids and ("objects", index) not in broken:
            yield ("objects", index, "id"), f"expected each object id once, got {number} again"
        ids.add(number)
    for index, item in enumerate(plain.get("relations") or []):
        if ("relations", index) in known:
            continue
        for end in ("subject_id", "object_id"):
            if ids and ("relations", index, end) not in known and item[end] not in ids and item[end] != -1:
                expected = f"expected the id of one of the {len(ids)} objects, got {item[end]}"
                yield ("relations", index, end), expected


def worded(label: str, place: Place, what: str) -> Fault:
    """A fault of rows as it is told.

    >>> worded("predictions", (3, "roles", 0), "expected a role {role, value}, got null")
    'predictions[3].roles[0]: expected a role {role, value}, got null'
    """
    return Fault(f"{label}{steps(place)}: {what}", place, what)


@dataclass(frozen=True)
class _Rest:
    """What stays of a row, how many objects and relations it lost, and the positions of those relations."""

    plain: dict[str, Any]
    n_lost: int = 0
    relations: tuple[int, ...] = ()


def _without(plain: Any, faults: Sequence[Told]) -> _Rest | None:
    """The row without its faulty objects and relations, or None when the record itself is at fault."""
    if not faults:
        return _Rest(plain)
    places = {where[:2] for where, _ in faults}
    if any(len(where) < 2 or where[0] not in ("objects", "relations") for where in places):
        return None
    gone = {index for name, index in places if name == "objects"}
    objects = [item for index, item in enumerate(plain.get("objects") or []) if index not in gone]
    ends = {-1, *(item["id"] for item in objects)}
    had_objects = bool(plain.get("objects"))
    relations = plain.get("relations") or []
    lost = tuple(
        index
        for index, item in enumerate(relations)
        if ("relations", index) in places or (had_objects and not {item["subject_id"], item["object_id"]} <= ends)
    )
    out = {*lost}
    staying = [item for index, item in enumerate(relations) if index not in out]
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
