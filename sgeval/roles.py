"""Role values of situational scene graphs ("paper 3", arXiv 2410.22829), as functions on columns and on counts.

A *frame* is a person, an object, or the verb of a person–object pair, with a value for each of its roles. `F` frames of at
least one role have `N` roles, which come flat, those of all frames one after the other; names stand as codes from 0.
What is counted is whole numbers (`State`), so parts that were counted apart add up to exactly what the whole would have
given. Values are percent, higher is better; `None` is a share of nothing.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Name = str | int
Counts = tuple[int, ...]
VerbSetting = Literal["top1", "gold"]

KINDS = ("person", "object", "verb")
VERB = KINDS.index("verb")
NOTHING = -1
"""The code of a value or verb that was not predicted, and of the verb of a person or an object."""
DENSE = 4_000_000  # cells of a table of role by value that is held whole, 32 MB


@dataclass(frozen=True)
class Columns:
    """Frames of the annotation, with what was predicted for them."""

    kind: Ints
    """Position in `KINDS`, `(F,)`."""
    lengths: Ints
    """How many roles each frame has, at least one, `(F,)`."""
    verb: Ints
    predicted_verb: Ints
    """`(F,)`; of other kinds than verb both are `NOTHING`."""
    role: Ints
    """`(N,)`, as all that follows."""
    gold: Ints
    predicted: Ints
    """One value on either side: the one they share where they share one, else the first; `NOTHING` without a prediction."""
    role_names: Sequence[Name]
    value_names: Sequence[Name]
    verb_names: Sequence[Name]
    hits: Ints | None = None
    """How many of the role's values are among the predicted ones; without it each side has one."""
    n_gold: Ints | None = None
    """How many values the role has; without it one."""

    @property
    def starts(self) -> Ints:
        """Where the roles of each frame begin."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def values(self) -> Ints:
        """How many values each role has."""
        return np.ones(len(self.role), dtype=np.int64) if self.n_gold is None else self.n_gold


def wrong_verbs(columns: Columns) -> Bools:
    """Verb frames whose verb was not predicted, `(F,)`: another was, or none."""
    return np.asarray((columns.kind == VERB) & (columns.verb != columns.predicted_verb))


def hits(columns: Columns, verb_setting: VerbSetting = "top1") -> Ints:
    """How many values of each role were found, `(N,)`. Under `top1` none in a frame whose verb is wrong."""
    found = (columns.gold == columns.predicted).astype(np.int64) if columns.hits is None else columns.hits
    wrong = wrong_verbs(columns)
    if verb_setting == "gold" or not wrong.any():
        return found
    return np.where(np.repeat(wrong, columns.lengths), 0, found)


def n_right(columns: Columns, found: Ints) -> Ints:
    """How many roles of each frame are right, `(F,)`: those of which at least one value was found."""
    if not len(columns.lengths):
        return np.zeros(0, dtype=np.int64)
    return np.asarray(np.add.reduceat((found > 0).astype(np.int64), columns.starts))


def reading(found: npt.ArrayLike, of: npt.ArrayLike) -> dict[str, Bools]:
    """At least one, at least two, all: `found` of so many.

    Of frames, with their right roles of all their roles, this is the paper's reading; of roles, with the values that were
    found of all their values, the reading over sets.

    >>> {name: marks.tolist() for name, marks in reading([1, 2, 1], [2, 2, 1]).items()}
    {'value': [True, True, True], 'value_two': [False, True, False], 'value_all': [False, True, True]}
    """
    n, whole = np.asarray(found), np.asarray(of)
    return {"value": n >= 1, "value_two": n >= 2, "value_all": n == whole}


def percent(part: int, whole: int) -> float | None:
    """The share in percent; `None` of nothing."""
    return 100.0 * part / whole if whole else None


@dataclass(frozen=True)
class State:
    """All that the scores are made of, as whole numbers by name. An associative and commutative sum."""

    frames: Mapping[Any, Counts] = field(default_factory=dict)
    """By kind: frames; of these with one, with two, with all roles right; with two roles or more."""
    items: Mapping[Any, Counts] = field(default_factory=dict)
    """By kind: roles; of these with one, with two, with all values found; with two values or more."""
    roles: Mapping[Any, Counts] = field(default_factory=dict)
    """By (kind, role): roles, right ones."""
    classes: Mapping[Any, Counts] = field(default_factory=dict)
    """By (kind, role, value): how often annotated, predicted, and both of the same role."""
    verbs: Mapping[Any, Counts] = field(default_factory=dict)
    """By verb: frames it is annotated for, predicted for, both; annotated frames with one, two, all roles right."""
    counts: Mapping[Any, Counts] = field(default_factory=dict)
    """By the name of a count."""

    def merge(self, other: "State") -> "State":
        """The state of both parts together.

        >>> one = State(frames={"verb": (2, 1, 0, 0, 1)})
        >>> one.merge(State(frames={"verb": (1, 1, 1, 1, 1), "person": (1, 0, 0, 0, 0)})).frames["verb"]
        (3, 2, 1, 1, 2)
        """
        return State(**{item.name: _sum(getattr(self, item.name), getattr(other, item.name)) for item in fields(self)})

    def count(self, name: str) -> int:
        """A count; 0 where it was never met."""
        return self.counts.get(name, (0,))[0]


def _sum(one: Mapping[Any, Counts], other: Mapping[Any, Counts]) -> dict[Any, Counts]:
    both = dict(one)
    for name, counts in other.items():
        _add(both, name, counts)
    return both


def _add(totals: dict[Any, Counts], name: Any, counts: Counts) -> None:
    before = totals.get(name)
    totals[name] = counts if before is None else tuple(map(sum, zip(before, counts, strict=True)))


def state(columns: Columns, verb_setting: VerbSetting = "top1", counts: Mapping[str, int] | None = None) -> State:
    """What the frames hold, counted. `counts`: what the caller has counted beside."""
    found = hits(columns, verb_setting)
    right = n_right(columns, found)
    kind, verbs = columns.kind, columns.kind == VERB
    of_item = np.repeat(kind, columns.lengths)
    by_frame, by_item = reading(right, columns.lengths), reading(found, columns.values)
    told = {**(counts or {}), "n_missing_roles": int(np.count_nonzero(columns.predicted == NOTHING))}
    told["n_no_verb"] = int(np.count_nonzero(verbs & (columns.predicted_verb == NOTHING)))
    return State(
        frames=_by_kind(kind, [*by_frame.values(), columns.lengths >= 2]),
        items=_by_kind(of_item, [*by_item.values(), columns.values >= 2]),
        roles=_roles(columns, of_item, found > 0),
        classes=_classes(columns, of_item, found > 0),
        verbs=_verbs(columns, verbs, list(by_frame.values())),
        counts={name: (number,) for name, number in told.items()},
    )


def _by_kind(kind: Ints, marks: Sequence[Bools]) -> dict[Any, Counts]:
    whole = np.bincount(kind, minlength=len(KINDS))
    parts = [np.bincount(kind[mark], minlength=len(KINDS)) for mark in marks]
    rows = np.stack([whole, *parts], axis=1).tolist()
    return {name: tuple(row) for name, row in zip(KINDS, rows, strict=True) if row[0]}


def _roles(columns: Columns, kind: Ints, right: Bools) -> dict[Any, Counts]:
    names = columns.role_names
    keys, (whole, good) = _tally(kind * len(names) + columns.role, len(KINDS) * len(names), [slice(None), right])
    found = zip(*np.divmod(keys, len(names) or 1), whole.tolist(), good.tolist(), strict=True)
    return {(KINDS[of_kind], names[role]): (n, n_good) for of_kind, role, n, n_good in found}


def _classes(columns: Columns, kind: Ints, right: Bools) -> dict[Any, Counts]:
    roles, values = columns.role_names, columns.value_names
    width = len(values)
    place = (kind * len(roles) + columns.role) * width
    there = columns.predicted != NOTHING
    sides = np.concatenate((place + columns.gold, (place + columns.predicted)[there]))
    n = len(place)
    parts = [slice(0, n), slice(n, None), np.flatnonzero(right)]
    keys, counts = _tally(sides, len(KINDS) * len(roles) * width, parts)
    group, value = np.divmod(keys, width or 1)
    of_kind, of_role = np.divmod(group, len(roles) or 1)
    named = zip(
        [KINDS[code] for code in of_kind.tolist()],
        [roles[code] for code in of_role.tolist()],
        [values[code] for code in value.tolist()],
        strict=True,
    )
    return dict(zip(named, zip(*(part.tolist() for part in counts), strict=True), strict=True))


def _verbs(columns: Columns, chosen: Bools, marks: Sequence[Bools]) -> dict[Any, Counts]:
    gold, predicted = columns.verb[chosen], columns.predicted_verb[chosen]
    size = len(columns.verb_names)
    parts = [gold, predicted[predicted != NOTHING], gold[gold == predicted]]
    parts += [gold[mark[chosen]] for mark in marks]
    rows = np.stack([np.bincount(part, minlength=size) for part in parts], axis=1).tolist()
    return {name: tuple(row) for name, row in zip(columns.verb_names, rows, strict=True) if any(row)}


def _tally(codes: Ints, size: int, parts: Sequence[Any]) -> tuple[Ints, list[Ints]]:
    """The codes that occur, in rising order, and for each part of the column (a slice, positions or marks) how often
    they do in it."""
    if size > max(DENSE, len(codes)):
        keys, codes = np.unique(codes, return_inverse=True)
        return keys, [np.bincount(codes[part], minlength=len(keys)) for part in parts]
    tallies = [np.bincount(codes[part], minlength=size) for part in parts]
    keys = np.flatnonzero(sum(tallies))
    return keys, [tally[keys] for tally in tallies]


@dataclass(frozen=True)
class ClassScore:
    """One role, or one verb: how many of it, its accuracy, and the macro averages over its classes."""

    n: int
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    n_classes: int
    """Classes that are annotated or predicted: what the averages are over."""


def role_scores(counted: State, kinds: Iterable[str] = KINDS) -> dict[Name, ClassScore]:
    """By role name, over frames of these kinds: a role of two kinds is one role."""
    wanted = {*kinds}
    totals: dict[Any, Counts] = {}
    values: dict[Any, dict[Any, Counts]] = {}
    for (kind, role), counts in counted.roles.items():
        if kind in wanted:
            _add(totals, role, counts)
            values.setdefault(role, {})
    for (kind, role, value), counts in counted.classes.items():
        if kind in wanted:
            _add(values[role], value, counts)
    return {role: _class_score(n, right, list(values[role].values())) for role, (n, right) in totals.items()}


def verb_score(counted: State) -> ClassScore:
    """Over verb frames: the accuracy of the verb, and the macro averages over verbs."""
    rows = [row[:3] for row in counted.verbs.values()]
    return _class_score(sum(row[0] for row in rows), sum(row[2] for row in rows), rows)


def _class_score(n: int, right: int, rows: Sequence[Counts]) -> ClassScore:
    precision, recall, f1 = (mean(side.tolist()) for side in class_scores(np.array(rows).reshape(-1, 3)))
    return ClassScore(n, percent(right, n), precision, recall, f1, len(rows))


def class_scores(counts: Ints) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and F1 of classes in percent, from how often each is annotated, predicted and both, `(C, 3)`.

    As scikit-learn with `zero_division=0`: a class that is never predicted has precision 0, one that is never annotated
    has recall 0. `f1 = 2 · both / (annotated + predicted)`.

    >>> [side.tolist() for side in class_scores(np.array([[2, 1, 1], [1, 3, 1], [1, 0, 0]]))]
    [[100.0, 33.333333333333336, 0.0], [50.0, 100.0, 0.0], [66.66666666666667, 50.0, 0.0]]
    """
    annotated, predicted, both = 1.0 * counts.T
    return (
        100.0 * both / np.maximum(predicted, 1),
        100.0 * both / np.maximum(annotated, 1),
        100.0 * 2.0 * both / np.maximum(annotated + predicted, 1),
    )


def mean(values: Sequence[float]) -> float | None:
    """The mean by exact summation, whatever the order; `None` of nothing."""
    return math.fsum(values) / len(values) if values else None
