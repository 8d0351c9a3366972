"""The border of the role values: rows are checked once, all faults are listed, and what comes out is trusted."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Integral
from typing import Any

from sgeval.errors import Fault, InvalidInput, Place, SgevalError, one_line, shown
from sgeval.every_row import Unread
from sgeval.progress import bar
from sgeval.records import SceneGraph
from sgeval.roles import KINDS
from sgeval.situation.graphs import rows_of_graph
from sgeval.validation import MOST, OnInvalid, parse_graphs, worded

ROW_KEYS = ("frame_id", "kind", "subject_id", "object_id", "verb", "roles")
ROLE_KEYS = ("role", "value", "values")
_ROW_KEYS = frozenset(ROW_KEYS)
ID = "an id (a text or a whole number)"
VALUE = "a value (a text or a whole number)"

Key = tuple[str, str, str | None, str | None]
"""What rows are matched by: frame_id, kind, subject_id, object_id."""


@dataclass(frozen=True, slots=True)
class Row:
    """One frame of one side, checked."""

    key: Key
    verb: str | None
    roles: Mapping[str, tuple[str, ...]]
    """Distinct values by role, in the row's order; none where a prediction gives none."""
    index: int
    """Position of the row, or of the graph that it comes from, in the input."""


@dataclass
class Side:
    """The rows of one side."""

    rows: list[Row] = field(default_factory=list)
    n_invalid: int = 0
    """Rows and roles left out under `on_invalid="skip"`."""
    dropped: set[Key] = field(default_factory=set)
    """The keys of rows that were left out whole, as far as they have one."""
    n_nameless: int = 0
    """The rows that were left out whole and have no key, so that nobody knows which frame they are; of graphs all parts that
    were left out."""
    faults: list[Fault] = field(default_factory=list)


def parse_side(
    given: Iterable[Any],
    label: str,
    on_invalid: OnInvalid = "error",
    *,
    is_predicted: bool = False,
    most_faults: int | None = None,
) -> Side:
    """Rows, or scene graphs (rows of the prediction file, records of a reader, rows of a data set), checked.

    `is_predicted`: verbs and values may be null. Raises `InvalidInput` with all faults when `on_invalid="error"` and
    there is one; else the smallest faulty part (a role, a row) is left out and counted. Of two rows of one person or
    object the first stays; a pair may have several verb frames. Rows beyond the one that brings more than `most_faults`
    are not looked at.
    """
    rows = _listed(given, label)
    side = Side()
    if rows and _is_graph(rows[0]):
        indexed = _rows_of_graphs(side, rows, label, on_invalid, is_predicted)
    else:
        indexed = enumerate(rows)
    _add_rows(side, indexed, _Check(label, is_predicted), most_faults)
    refuse_doubles(side, label)
    if side.faults and on_invalid == "error":
        raise InvalidInput(label, side.faults, "on_invalid")
    return side


def _listed(given: Any, label: str) -> list[Any]:
    if hasattr(given, "to_pylist"):  # a table of pyarrow
        given = given.to_pylist()
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise SgevalError(f"{label}: expected a list of rows or of scene graphs, got {shown(given)}")
    return list(given)


def _is_graph(row: Any) -> bool:
    return isinstance(row, SceneGraph) or (isinstance(row, Mapping) and "image_id" in row and "kind" not in row)


def _rows_of_graphs(
    side: Side, given: Sequence[Any], label: str, on_invalid: OnInvalid, is_predicted: bool
) -> Iterable[tuple[int, Any]]:
    """Position and plain row of each row of the graphs. Records are trusted; other rows pass the border of graphs."""
    graphs: Sequence[SceneGraph] = [row for row in given if isinstance(row, SceneGraph)]
    positions: Sequence[int] = range(len(given))
    if len(graphs) < len(given):
        parsed = parse_graphs(given, label, on_invalid=on_invalid)
        for words in parsed.warnings:
            warnings.warn(words, stacklevel=5)
        graphs, positions = parsed.scenes, parsed.positions
        side.n_invalid += parsed.n_invalid
        side.n_nameless += parsed.n_invalid
        side.faults += parsed.faults
    for graph, position in zip(graphs, positions, strict=True):
        for row in rows_of_graph(graph, is_predicted=is_predicted):
            yield position, row


def _add_rows(side: Side, rows: Iterable[tuple[int, Any]], check: "_Check", most_faults: int | None) -> None:
    for index, plain in bar(rows, check.label, "row"):
        if most_faults is not None and len(side.faults) > most_faults:
            message = f"expected at most {most_faults:,} faults, got more; this row and later ones are not looked at"
            side.faults.append(worded(check.label, (index,), message))
            side.n_nameless += 1
            break
        row = check.row(plain, index)
        if row is None:
            side.n_invalid += 1
            side.n_nameless += check.key is None
            if check.key is not None:
                side.dropped.add(check.key)
        else:
            side.n_invalid += check.n_lost
            side.rows.append(row)
        if check.faults:
            side.faults += check.faults
    for key, count in check.unknown.items():
        warnings.warn(_unknown_key(check.label, key, count), stacklevel=5)


class _Check:
    """The checks of the rows of one side, one after the other."""

    def __init__(self, label: str, is_predicted: bool) -> None:
        self.label, self.is_predicted = label, is_predicted
        self.known: set[str] = set()
        """Texts that were found sound before."""
        self.unknown: Counter[str] = Counter()
        """Keys that no row has, and how often they stood there."""
        self.index = 0
        self.faults: list[Fault] = []
        self.key: Key | None = None
        self.n_lost = 0
        """Of the last row: its position, its faults, its key if it has one, and how many roles it lost."""

    def row(self, plain: Any, index: int) -> Row | None:
        """The row, without its faulty roles; nothing where the row itself is at fault."""
        self.index, self.faults, self.key, self.n_lost = index, [], None, 0
        if isinstance(plain, Unread):
            self.faults.append(Fault(plain.text, (index,), plain.message))
            return None
        if not isinstance(plain, Mapping):
            self.fault((), "a row {frame_id, kind, subject_id, object_id, verb, roles}", plain)
            return None
        if not plain.keys() <= _ROW_KEYS:
            self.unknown.update(str(key) for key in plain if key not in ROW_KEYS)
        kind = plain.get("kind")
        if kind not in KINDS:
            self.fault_at(plain, "kind", "person, object or verb")
        is_verb = kind == "verb"
        frame_id = self.needed(plain, "frame_id", ID)
        ask = self.needed if is_verb else self.optional
        subject_id, object_id = ask(plain, "subject_id", ID), ask(plain, "object_id", ID)
        verb = None
        if is_verb:
            verb = (self.optional if self.is_predicted else self.needed)(plain, "verb", "a verb")
        elif kind in KINDS and plain.get("verb") is not None:
            self.fault_at(plain, "verb", "null where the kind is not verb")
        if not self.faults and frame_id is not None:
            self.key = (frame_id, str(kind), subject_id, object_id)
        listed = as_list(plain.get("roles"))
        if not isinstance(listed, (list, tuple)):
            self.fault_at(plain, "roles", "a list of {role, value}")
            return None
        roles = self.roles(listed)
        return Row(self.key, verb, roles, index) if self.key is not None else None

    def roles(self, given: Sequence[Any]) -> dict[str, tuple[str, ...]]:
        """The sound roles with their values."""
        found: dict[str, tuple[str, ...]] = {}
        known = self.known
        for number, item in enumerate(given):
            if len(self.faults) >= MOST:
                self.note((), f"fewer than {MOST:,} faults in a row", f"{MOST:,} or more")
                self.key = None
                break
            if type(item) is dict and len(item) == 2:  # the common form, found sound at a glance
                role, value = item.get("role"), item.get("value")
                if type(role) is str and type(value) is str and role in known and value in known and role not in found:
                    found[role] = (value,)
                    continue
            before = len(self.faults)
            where: Place = ("roles", number)
            if not isinstance(item, Mapping):
                self.fault(where, "a role {role, value}", item)
            else:
                self.unknown.update(f"roles[…].{key}" for key in item if key not in ROLE_KEYS)
                name = self.needed(item, "role", "the name of a role", where)
                if name in found:
                    expected = "each role once (several values of one stand in a list under values)"
                    self.fault((*where, "role"), expected, name)
                values = self.values(item, where)
                if len(self.faults) == before and name is not None:
                    found[name] = values
            self.n_lost += len(self.faults) > before
        return found

    def values(self, item: Mapping[str, Any], where: Place) -> tuple[str, ...]:
        """The distinct values of a role; none where a prediction gives none."""
        many = as_list(item.get("values"))
        if many is None or (item.get("value") is not None and isinstance(many, (list, tuple)) and not many):
            value = (self.optional if self.is_predicted else self.needed)(item, "value", VALUE, where)
            return () if value is None else (value,)
        if item.get("value") is not None:
            self.fault(where, "value or values, not both", dict(item))
        elif isinstance(many, (str, bytes)) or not isinstance(many, Sequence):
            self.fault((*where, "values"), "a list of values", many)
        elif not many and not self.is_predicted:
            self.fault((*where, "values"), "at least one value", many)
        else:
            texts = [(value, self.text(value)) for value in many]
            for number, (value, text) in enumerate(texts):
                if text is None and len(self.faults) < MOST:
                    self.fault((*where, "values", number), VALUE, value)
            return tuple(dict.fromkeys(text for _, text in texts if text is not None))
        return ()

    def needed(self, plain: Mapping[str, Any], name: str, expected: str, where: Place = ()) -> str | None:
        """The text under a key that has to be there."""
        text = self.text(plain.get(name))
        if text is None:
            self.fault_at(plain, name, expected, where)
        return text

    def optional(self, plain: Mapping[str, Any], name: str, expected: str, where: Place = ()) -> str | None:
        """The text under a key that may be absent or null."""
        return None if plain.get(name) is None else self.needed(plain, name, f"{expected}, or null", where)

    def text(self, value: Any) -> str | None:
        """`as_text`, which looks at each text once."""
        if not isinstance(value, str):
            return as_text(value)
        if value in self.known:
            return value
        text = as_text(value)
        if text is not None:
            self.known.add(text)
        return text

    def fault_at(self, plain: Mapping[str, Any], name: str, expected: str, where: Place = ()) -> None:
        """A fault of what stands, or does not, under a key."""
        self.note((*where, name), expected, shown(plain[name]) if name in plain else "nothing")

    def fault(self, where: Place, expected: str, got: object) -> None:
        """A fault of a whole part."""
        self.note(where, expected, shown(got))

    def note(self, where: Place, expected: str, got: str) -> None:
        """A fault, what was got in words."""
        self.faults.append(worded(self.label, (self.index, *where), f"expected {expected}, got {got}"))


def as_text(value: object) -> str | None:
    """What an id, a name or a value says: a text that is not blank, or a whole number as a text; nothing where it is
    neither, or cannot be written.

    >>> as_text("pen"), as_text(5), as_text(5.0), as_text(" "), as_text(0.5), as_text(True)
    ('pen', '5', '5', None, None, None)
    """
    if isinstance(value, str):
        return str(value) if value.strip() and is_whole(value) else None
    is_number = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, float) and value.is_integer()):
        return None
    try:
        return str(int(value))  # type: ignore[call-overload]
    except ValueError:  # more digits than Python writes
        return None


def as_list(value: Any) -> Any:
    """An array of numpy as a list; anything else as it is."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_whole(text: str) -> bool:
    """Whether a text can be written to a file: half of a surrogate pair cannot."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def refuse_doubles(side: Side, label: str) -> None:
    """A second row of a person or an object is a fault, and left out."""
    first: dict[Key, int] = {}
    kept = []
    for row in side.rows:
        if row.key in first and row.key[1] != "verb":
            expected = f"each person and object once, got {told(row.key)} again"
            message = f"expected {expected} (first in {label}[{first[row.key]}])"
            side.faults.append(worded(label, (row.index,), message))
            side.n_invalid += 1
        else:
            first.setdefault(row.key, row.index)
            kept.append(row)
    side.rows = kept


def told(key: Key) -> str:
    """A key in words.

    >>> told(("f1", "verb", "0", "2")), told(("f1", "person", None, None))
    ('the verb of "0" and "2" in frame "f1"', 'the person in frame "f1"')
    """
    frame_id, kind, *ids = key
    there = [shown(each) for each in ids if each is not None]
    whose = f" of {' and '.join(there)}" if kind == "verb" else "".join(f" {each}" for each in there)
    return f"the {kind}{whose} in frame {shown(frame_id)}"


def _unknown_key(label: str, key: str, count: int) -> str:
    own, known = (key.rpartition(".")[2], ROLE_KEYS) if key.startswith("roles[…].") else (key, ROW_KEYS)
    near = get_close_matches(own, known, n=1, cutoff=0.5)
    hint = f"; the nearest known key is {shown(near[0])}" if near else ""
    return f"{label}[…].{one_line(key)}: unknown key, not looked at ({count} times){hint}"
