"""Role values of situational scene graphs ("paper 3", arXiv 2410.22829), as functions on columns and on counts.

A *frame* is a person, an object, or the verb of a person–object pair, with a value for each of its roles. `F` frames have
`N` roles, which come flat, those of all frames one after the other; names stand as codes from 0.
What is counted is whole numbers (`State`), so parts that were counted apart add up to exactly what the whole would have
given. Values are percent, higher is better; `None` is a share of nothing.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sgeval.summary import mean

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
    """How many roles each frame has, `(F,)`; none only of a verb, which then counts in the scores of verbs alone."""
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
    def values(self) -> Ints:
        """How many values each role has."""
        return np.ones(len(self.role), dtype=np.int64) if self.n_gold is None else self.n_gold


def wrong_verbs(columns: Columns) -> Bools:
    """Verb frames whose verb was not predicted, `(F,)`: another was, or none."""
    return np.asarray((columns.kind == VERB) & (columns.verb != columns.predicted_verb))


def hits(columns: Columns, verb_setting: VerbSetting = "top1") -> npt.NDArray[Any]:
    """How many values of each role were found, `(N,)`; marks where each role has one. Under `top1` none in a frame whose
    verb is wrong."""
    found = columns.gold == columns.predicted if columns.hits is None else columns.hits
    wrong = wrong_verbs(columns)
    if verb_setting == "gold" or not wrong.any():
        return found
    return found * ~np.repeat(wrong, columns.lengths)


def n_right(columns: Columns, found: npt.NDArray[Any]) -> Ints:
    """How many roles of each frame are right, `(F,)`: those of which at least one value was found."""
    so_far = np.concatenate(([0], np.cumsum(found > 0)))
    ends = np.cumsum(columns.lengths)
    return np.asarray(so_far[ends] - so_far[ends - columns.lengths])


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
class Classes:
    """How often each value of each role of a kind was annotated, predicted, and both of the same role.

    One row a class, `(C,)`: codes of the kind, of the role and of the value by their names, and the three counts `(C, 3)`.
    """

    kind: Ints
    role: Ints
    value: Ints
    counts: Ints
    role_names: Sequence[Name]
    value_names: Sequence[Name]

    @classmethod
    def none(cls) -> "Classes":
        """No classes."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(nothing, nothing, nothing, nothing.reshape(0, 3), (), ())

    def merge(self, other: "Classes") -> "Classes":
        """Both together."""
        role_names, roles = _union(self.role_names, other.role_names)
        value_names, values = _union(self.value_names, other.value_names)
        kind = np.concatenate((self.kind, other.kind))
        role = np.concatenate((self.role, roles[other.role]))
        value = np.concatenate((self.value, values[other.value]))
        whole = Classes(kind, role, value, np.concatenate((self.counts, other.counts)), role_names, value_names)
        keys, counts = whole.summed((kind * len(role_names) + role) * len(value_names) + value)
        group, value = np.divmod(keys, len(value_names) or 1)
        kind, role = np.divmod(group, len(role_names) or 1)
        return Classes(kind, role, value, counts, role_names, value_names)

    def summed(self, keys: Ints, chosen: Any = slice(None)) -> tuple[Ints, Ints]:
        """The distinct keys of the chosen classes in rising order, and their counts added up."""
        distinct, place = np.unique(keys[chosen], return_inverse=True)
        counts = np.zeros((len(distinct), 3), dtype=np.int64)
        np.add.at(counts, place, self.counts[chosen])
        return distinct, counts

    def by_name(self) -> dict[tuple[str, Name, Name], Counts]:
        """The counts by the names of kind, role and value."""
        codes = zip(self.kind.tolist(), self.role.tolist(), self.value.tolist(), self.counts.tolist(), strict=True)
        return {
            (KINDS[kind], self.role_names[role], self.value_names[value]): tuple(counts)
            for kind, role, value, counts in codes
        }


def _union(one: Sequence[Name], other: Sequence[Name]) -> tuple[Sequence[Name], Ints]:
    """The names of both, and where in them the others stand."""
    if isinstance(one, range) and isinstance(other, range):  # numbers that are their own codes
        return max(one, other, key=len), np.arange(len(other))
    places = {name: code for code, name in enumerate(one)}
    codes = np.fromiter((places.setdefault(name, len(places)) for name in other), np.int64)
    return list(places), codes


@dataclass(frozen=True)
class State:
    """All that the scores are made of, as whole numbers. An associative and commutative sum."""

    frames: Mapping[str, Counts] = field(default_factory=dict)
    """By kind: frames; of these with one, with two, with all roles right; with two roles or more."""
    items: Mapping[str, Counts] = field(default_factory=dict)
    """By kind: roles; of these with one, with two, with all values found; with two values or more."""
    verbs: Mapping[Name, Counts] = field(default_factory=dict)
    """By verb: frames it is annotated for, predicted for, both; annotated frames that have roles; of these with one, two,
    all right."""
    counts: Mapping[str, Counts] = field(default_factory=dict)
    """By the name of a count."""
    classes: Classes = field(default_factory=Classes.none)

    def merge(self, other: "State") -> "State":
        """The state of both parts together.

        >>> one = State(frames={"verb": (2, 1, 0, 0, 1)})
        >>> one.merge(State(frames={"verb": (1, 1, 1, 1, 1), "person": (1, 0, 0, 0, 0)})).frames["verb"]
        (3, 2, 1, 1, 2)
        """
        return State(
            _sum(self.frames, other.frames),
            _sum(self.items, other.items),
            _sum(self.verbs, other.verbs),
            _sum(self.counts, other.counts),
            self.classes.merge(other.classes),
        )

    def count(self, name: str) -> int:
        """A count; 0 where it was never met."""
        return self.counts.get(name, (0,))[0]


def _sum(one: Mapping[Any, Counts], other: Mapping[Any, Counts]) -> dict[Any, Counts]:
    both = dict(one)
    for name, counts in other.items():
        both[name] = tuple(map(sum, zip(both[name], counts, strict=True))) if name in both else counts
    return both


def state(columns: Columns, verb_setting: VerbSetting = "top1", counts: Mapping[str, int] | None = None) -> State:
    """What the frames hold, counted. `counts`: what the caller has counted beside."""
    found = hits(columns, verb_setting)
    right = n_right(columns, found)
    verbs, framed = np.flatnonzero(columns.kind == VERB), columns.lengths > 0
    marks = _bits([*reading(right, columns.lengths).values(), columns.lengths >= 2])
    told = {**(counts or {}), "n_missing_roles": int(np.count_nonzero(columns.predicted == NOTHING))}
    told["n_no_verb"] = int(np.count_nonzero(columns.predicted_verb[verbs] == NOTHING))
    return State(
        frames=_named(_marked(columns.kind[framed], marks[framed], len(KINDS))),
        items=_items(columns, found, right),
        verbs=_verbs(columns, verbs, marks),
        counts={name: (number,) for name, number in told.items()},
        classes=_classes(columns, found),
    )


def _bits(marks: Sequence[Bools]) -> Ints:
    """Four marks as one number each, so that they are counted in one go."""
    whole = np.zeros(len(marks[0]), dtype=np.int64)
    for place, mark in enumerate(marks):
        whole += mark.astype(np.int64) << place
    return whole


def _marked(codes: Ints, marks: Ints, size: int) -> Ints:
    """By code: how many there are, and how many of these have each of the four marks, `(size, 5)`."""
    by_bits = np.bincount(codes * 16 + marks, minlength=16 * size).reshape(size, 16)
    return np.asarray(by_bits @ _HAS_MARK)


_HAS_MARK = np.array([[1, *(bits >> place & 1 for place in range(4))] for bits in range(16)])


def _items(columns: Columns, found: npt.NDArray[Any], right: Ints) -> dict[str, Counts]:
    if columns.n_gold is not None:
        marks = _bits([*reading(found, columns.n_gold).values(), columns.n_gold >= 2])
        return _named(_marked(np.repeat(columns.kind, columns.lengths), marks, len(KINDS)))
    n, one = (np.bincount(columns.kind, side, len(KINDS)).astype(np.int64) for side in (columns.lengths, right))
    return _named(np.stack([n, one, 0 * one, one, 0 * one], axis=1))  # each role has one value


def _named(rows: Ints) -> dict[str, Counts]:
    return {name: tuple(row) for name, row in zip(KINDS, rows.tolist(), strict=True) if row[0]}


def _classes(columns: Columns, found: npt.NDArray[Any]) -> Classes:
    roles, width = len(columns.role_names), len(columns.value_names)
    place = np.repeat(columns.kind * (roles * width), columns.lengths) + columns.role * width
    gold, predicted, size = place + columns.gold, place + columns.predicted, len(KINDS) * roles * width
    if (there := columns.predicted != NOTHING).sum() < len(there):
        predicted = predicted[there]
    keys = None
    if size > max(DENSE, len(place)):
        keys, codes = np.unique(np.concatenate((gold, predicted)), return_inverse=True)
        gold, predicted, size = codes[: len(gold)], codes[len(gold) :], len(keys)
    annotated = np.bincount(2 * gold + (found > 0), minlength=2 * size).reshape(-1, 2)  # wrong ones, right ones
    counts = np.stack([annotated.sum(axis=1), np.bincount(predicted, minlength=size), annotated[:, 1]], axis=1)
    if keys is None:
        keys = np.flatnonzero(counts[:, 0] + counts[:, 1])
        counts = counts[keys]
    group, value = np.divmod(keys, width or 1)
    kind, role = np.divmod(group, roles or 1)
    return Classes(kind, role, value, counts, columns.role_names, columns.value_names)


def _verbs(columns: Columns, chosen: Ints, marks: Ints) -> dict[Name, Counts]:
    gold, predicted, size = columns.verb[chosen], columns.predicted_verb[chosen], len(columns.verb_names)
    framed = columns.lengths[chosen] > 0
    annotated = np.bincount(gold, minlength=size)
    marked = _marked(gold[framed], marks[chosen][framed], size)
    said = np.bincount(predicted + 1, minlength=size + 1)[1:]  # without those of nothing
    both = np.bincount(gold[gold == predicted], minlength=size)
    rows = np.stack([annotated, said, both, *marked[:, :4].T], axis=1)
    there = np.flatnonzero(rows[:, 0] + rows[:, 1])
    return {
        columns.verb_names[code]: tuple(row) for code, row in zip(there.tolist(), rows[there].tolist(), strict=True)
    }


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


NO_SCORE = ClassScore(0, None, None, None, None, 0)
"""Of nothing."""


def role_scores(counted: State, kinds: Iterable[str] = KINDS) -> dict[Name, ClassScore]:
    """By role name, over frames of these kinds: a role of two kinds is one role."""
    classes = counted.classes
    chosen = np.isin(classes.kind, [KINDS.index(kind) for kind in kinds])
    width = len(classes.value_names)
    keys, counts = classes.summed(classes.role * width + classes.value, chosen)
    roles, starts = np.unique(keys // (width or 1), return_index=True)
    scores = _class_scores(counts, starts)
    return {classes.role_names[role]: score for role, score in zip(roles.tolist(), scores, strict=True)}


def verb_score(counted: State) -> ClassScore:
    """Over verb frames: the accuracy of the verb, and the macro averages over verbs."""
    rows = np.array([row[:3] for row in counted.verbs.values()], dtype=np.int64).reshape(-1, 3)
    return next(iter(_class_scores(rows, np.zeros(1, dtype=np.int64)))) if len(rows) else NO_SCORE


def _class_scores(counts: Ints, starts: Ints) -> list[ClassScore]:
    """The scores of groups of classes, from where each group begins."""
    sides = [side.tolist() for side in class_scores(counts)]
    found = []
    for start, end in itertools.pairwise([*starts.tolist(), len(counts)]):
        n, _, right = counts[start:end].sum(axis=0).tolist()
        precision, recall, f1 = (mean(side[start:end]) for side in sides)
        found.append(ClassScore(n, percent(right, n), precision, recall, f1, end - start))
    return found


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
