"""Runs beside each other: which measure the same thing, who is ahead, and whether a test tells them apart.

Runs form groups that may be ranked: those of one protocol, on the same references. The protocol is the signature without
the parts that moved no number here. Within a group every system is compared with one of them, pairwise on the same
pictures or videos. Where that one is the best of three or more, it was picked from the scores that are tested, and p-values
are adjusted for all pairs (`sgeval.familywise`); else for the tests (Holm).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sgeval.errors import SgevalError, one_of, shown
from sgeval.familywise import Family, adjusted
from sgeval.protocol import differing_parts, protocol
from sgeval.runs import FORMS, Run
from sgeval.summary import ENDS, FLIPS, NOISE, REPLICATES, Interval, Paired, Sample, bootstrap, holm, paired_each

SHOWN_IDS = 3
TOLD_APART = 0.05  # p-value at which a test tells two systems apart
FLIPS_A_TEST = 40
"""Flips for each test of a comparison, at least: the smallest p-value, adjusted for all tests, is then 1/40."""
FEWEST_FLIPS = 1_000
PAIR_FLIPS = 1_000_000_000
"""Flips times pairs of systems, at most: seconds. 10,000 flips up to 447 systems of which the best was picked."""


@dataclass(frozen=True)
class Contender:
    """A system as a comparison sees it: the numbers of a run, and what they are made of."""

    name: str
    metric: str
    result: Mapping[str, Any]
    sample: Sample
    protocol: Mapping[str, str]
    """See `sgeval.protocol.protocol`, for the keys that are compared."""
    units: frozenset[str]
    """The ids of its pictures or videos."""
    folder: str = ""
    """Where its run is, if it is at hand."""

    @classmethod
    def of(cls, run: Run, keys: Sequence[str] = ()) -> "Contender":
        """The one that a run is, for these keys (its headline by default)."""
        of = (run.name, run.metric, run.result, run.sample, protocol(run, keys), units(run))
        return cls(*of, str(run.folder))

    @property
    def signature(self) -> str:
        """The line of all that moved the numbers; empty where the result has none."""
        return str(self.result.get("signature", ""))

    def value(self, key: str) -> float | None:
        """A score of the result."""
        return _number(self.result, key)


def _number(result: Mapping[str, Any], key: str) -> float | None:
    value = result.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class Against:
    """A system beside the one that its group is compared with."""

    name: str
    """Of that one."""
    found: Paired
    p_adjusted: float | None
    """The p-value, adjusted for all tests of the comparison, or for all pairs."""

    @property
    def is_told_apart(self) -> bool:
        """Whether the adjusted p-value is small enough."""
        return self.p_adjusted is not None and self.p_adjusted <= TOLD_APART


@dataclass(frozen=True)
class Line:
    """A system's score under one key. Scores and ends are those of the result."""

    name: str
    value: float | None
    interval: Interval
    rank: int | None
    """1 for the highest of the group; scores that are equal but for rounding share a rank; `None` without a score, or in a
    group of one."""
    against: Against | None
    """`None` for the system that the others are compared with."""


@dataclass(frozen=True)
class Group:
    """Systems that may be ranked together."""

    members: tuple[int, ...]
    """Their positions among those compared."""
    systems: tuple[Contender, ...]
    names: tuple[str, ...]
    differs: tuple[tuple[str, str, str], ...]
    """Where its protocol differs from that of the first group: part, its value there, its value here."""
    lines: Mapping[str, tuple[Line, ...]]
    """By key, best first."""


@dataclass(frozen=True)
class Comparison:
    """Runs of one metric, in groups."""

    metric: str
    keys: tuple[str, ...]
    factor: float
    """What scores are multiplied with to be shown."""
    unit: str
    """What the tests are paired by: picture or video."""
    n_units: int
    groups: tuple[Group, ...]
    n_tests: int
    n_pairs: int
    """What p-values are adjusted for, where a best system was picked from its scores: all pairs that could have been
    compared; 0 where they are adjusted for the tests."""
    replicates: int
    flips: int
    seed: int


def compare(
    runs: Sequence[Run],
    keys: Sequence[str] = (),
    baseline: str | None = None,
    *,
    replicates: int = REPLICATES,
    flips: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare runs of one metric on the same pictures or videos.

    Every system of a group is compared with its best one by the first key, or with `baseline` (a name), in the group
    that holds it: difference, bootstrap interval, sign-flip test (see `sgeval.summary.paired`), p-values adjusted over
    all tests of the comparison (Holm), or, where some group's best is one of three or more, over all pairs that could
    have been compared (`sgeval.familywise.adjusted`). Runs of another protocol form groups of their own, which say what
    differs; they are never ranked together. Intervals of scores are those of the runs, and are made here where a run has
    none.

    Parameters
    ----------
    runs
        At least one; all of the same metric.
    keys
        The scores to compare; the metric's headline by default.
    baseline
        The name of the run that the others are compared with.
    replicates, flips, seed
        Of the bootstrap and of the test. 10,000 flips by default; 40 a test where there are more than 250, or fewer, 1,000
        at least, where there are more than 100,000 pairs.

    Raises
    ------
    SgevalError
        For runs of several metrics, other pictures or videos, an unknown key or baseline.
    """
    _one_metric(runs)
    keys = tuple(dict.fromkeys(keys)) or (runs[0].headline,)
    for key in keys:
        one_of("key", key, dict.fromkeys(name for run in runs for name in _scores(run.sample)))
        for run in runs:
            check_score(run, key)
    systems = [Contender.of(run, keys) for run in runs]
    return rank(systems, keys, baseline, replicates=replicates, flips=flips, seed=seed)


def rank(
    systems: Sequence[Contender],
    keys: Sequence[str],
    baseline: str | None = None,
    *,
    replicates: int = REPLICATES,
    flips: int | None = None,
    seed: int = 0,
) -> Comparison:
    """The same for systems whose runs are not at hand; their numbers are taken as they are."""
    metric = _one_metric(systems)
    for option, number, least in (
        ("replicates", replicates, 1),
        ("flips", FLIPS if flips is None else flips, 1),
        ("seed", seed, 0),
    ):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise SgevalError(f"{option}: expected a whole number, {least} or more, got {shown(number)}")
    n_units = _check_units(systems)
    names = numbered([system.name for system in systems], [system.folder for system in systems])
    if baseline is not None:
        one_of("baseline", baseline, names)
    together = grouped([system.protocol for system in systems])
    sets = _sets(together, systems, names, keys, baseline)
    n_pairs = sum(
        len(each.members) * (len(each.members) - 1) // 2 if each.is_picked else len(each.members) - 1 for each in sets
    )
    is_picked = any(each.is_picked for each in sets)
    if flips is None and is_picked:
        flips = min(FLIPS, max(FEWEST_FLIPS, PAIR_FLIPS // n_pairs))
    elif flips is None:
        flips = max(FLIPS, FLIPS_A_TEST * sum(len(each.members) - 1 for each in sets))
    told = _against(sets, systems, names, is_picked, (replicates, flips, seed))
    groups = [
        Group(
            tuple(members),
            tuple(systems[at] for at in members),
            tuple(names[at] for at in members),
            differing_parts(systems[0].protocol, systems[members[0]].protocol),
            {key: _lines(members, systems, names, key, told, (replicates, seed)) for key in keys},
        )
        for members in together
    ]
    form = FORMS[metric]
    head = (metric, tuple(keys), form.factor, form.unit, n_units)
    return Comparison(*head, tuple(groups), len(told), n_pairs if is_picked else 0, replicates, flips, seed)


def _one_metric(systems: Sequence[Run] | Sequence[Contender]) -> str:
    """The metric of all of them."""
    metrics = list(dict.fromkeys(system.metric for system in systems))
    if not metrics:
        raise SgevalError("compare: expected at least one run, got none")
    if len(metrics) > 1:
        raise SgevalError(f"compare: expected runs of one metric, got {', '.join(metrics)}")
    return metrics[0]


def numbered(names: Sequence[str], folders: Sequence[str] = ()) -> list[str]:
    """Names of which none occurs twice: those that do come with the last part of their folders where these differ, else
    with a number.

    >>> numbered(["a", "b", "a"])
    ['a (1)', 'b', 'a (2)']
    >>> numbered(["a", "b", "a"], ["runs/x", "runs/b", "runs/y"])
    ['a (x)', 'b', 'a (y)']
    """
    places: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        places.setdefault(name, []).append(at)
    found = list(names)
    for name, several in places.items():
        if len(several) == 1:
            continue
        marks = [Path(folders[at]).name if folders else "" for at in several]
        if not all(marks) or len({*marks}) < len(marks):
            marks = [str(number) for number in range(1, len(several) + 1)]
        for at, mark in zip(several, marks, strict=True):
            found[at] = f"{name} ({mark})"
    return found if len({*found}) == len(found) else numbered(found)


def grouped(protocols: Sequence[Mapping[str, str]]) -> list[list[int]]:
    """Positions of what may be ranked together, a list a group, in the order of their first ones.

    >>> grouped([{"judge": "wordnet"}, {"judge": "exact"}, {"judge": "wordnet"}])
    [[0, 2], [1]]
    """
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for at, parts in enumerate(protocols):
        groups.setdefault(tuple(sorted(parts.items())), []).append(at)
    return list(groups.values())


def units(run: Run) -> frozenset[str]:
    """The ids of the run's pictures or videos."""
    for table, name in (("images", "image_id"), ("videos", "video_id")):
        if rows := getattr(run.rows, table, ()):
            return frozenset(getattr(row, name) for row in rows)
    return frozenset(run.sample.units)


def first_ids(ids: Collection[str]) -> str:
    """The first of some ids, as an error message shows them.

    >>> first_ids({"b", "a"}), first_ids("dcba")
    ('"a", "b"', '"a", "b", "c", …')
    """
    return ", ".join(map(shown, sorted(ids)[:SHOWN_IDS])) + (", …" if len(ids) > SHOWN_IDS else "")


def _check_units(systems: Sequence[Contender]) -> int:
    """Refuse systems on other pictures or videos, naming some; their number."""
    first = systems[0].units
    for system in systems[1:]:
        here = system.units
        if first == here:
            continue
        sides = ((systems[0].name, first - here), (system.name, here - first))
        words = [f"{len(only)} only in {shown(name)} ({first_ids(only)})" for name, only in sides if only]
        raise SgevalError(f"compare: expected runs on the same pictures or videos, got {' and '.join(words)}")
    return len(first)


def check_score(run: Run, key: str) -> None:
    """Refuse a run whose result is not what its rows give: `results.json` is a text that anyone may edit."""
    value = _number(run.result, key)
    if value is None:
        return
    found = run.sample.score(key)
    if found is None or not math.isclose(value, found, rel_tol=1e-9, abs_tol=1e-9):
        made = "none" if found is None else f"{found:.6g}"
        raise SgevalError(
            f"{run.folder}: expected the {key} that its rows give, {made}, got {value:.6g} in its results"
        )


def _scores(sample: Sample) -> tuple[str, ...]:
    """The names that are scores of a result: those of single classes are not."""
    return tuple(name for name in (*sample.ratios, *sample.means) if " " not in name)


Draws = tuple[int, int, int]
Told = dict[tuple[str, int], Against]


@dataclass(frozen=True)
class _Set:
    """Systems of a group that have a score under a key."""

    key: str
    members: tuple[int, ...]
    base: int
    """The one that the others are compared with."""
    is_picked: bool
    """Whether it was picked from three or more by its score."""


def _sets(
    groups: Sequence[Sequence[int]],
    systems: Sequence[Contender],
    names: Sequence[str],
    keys: Sequence[str],
    baseline: str | None,
) -> list[_Set]:
    """What is compared: a set a group and key whose base has a score."""
    found = []
    for members in groups:
        with_score = [at for at in members if systems[at].value(keys[0]) is not None]
        if not with_score:
            continue
        best = max(with_score, key=lambda at: (systems[at].value(keys[0]), -at))
        named = next((at for at in members if names[at] == baseline), None)
        base = best if named is None else named
        for key in keys:
            known = tuple(at for at in members if systems[at].value(key) is not None)
            if base in known:
                found.append(_Set(key, known, base, named is None and len(with_score) > 2))
    return found


def _against(
    sets: Sequence[_Set], systems: Sequence[Contender], names: Sequence[str], is_picked: bool, draws: Draws
) -> Told:
    """By key and position of a system, how it stands to the one that its group is compared with."""
    sides = {
        (each.key, at): (systems[at].sample, systems[each.base].sample, each.key)
        for each in sets
        for at in each.members
        if at != each.base
    }
    found = paired_each(sides, *draws)
    p_values = [pair.p_value for pair in found.values()]
    if is_picked:
        families = [
            Family([systems[at].sample for at in each.members], each.key, each.members.index(each.base), each.is_picked)
            for each in sets
        ]
        by_place = {
            (each.key, at): p_value
            for each, values in zip(sets, adjusted(families, *draws[1:]), strict=True)
            for at, p_value in zip(each.members, values, strict=True)
        }
        # Where few units differ the test of one pair is exact, and may say less than flips that were drawn.
        p_values = [None if p is None else max(p, by_place[place]) for place, p in zip(found, p_values, strict=True)]
    else:
        p_values = holm(p_values)
    base = {(each.key, at): names[each.base] for each in sets for at in each.members}
    return {
        place: Against(base[place], pair, p_value)
        for (place, pair), p_value in zip(found.items(), p_values, strict=True)
    }


def _lines(
    members: Sequence[int],
    systems: Sequence[Contender],
    names: Sequence[str],
    key: str,
    told: Told,
    draws: tuple[int, int],
) -> tuple[Line, ...]:
    values = {at: systems[at].value(key) for at in members}
    known = np.sort([value for value in values.values() if value is not None])
    lines = [
        Line(
            names[at],
            value,
            _interval(systems[at], key, draws),
            1 + len(known) - int(np.searchsorted(known, value + NOISE, side="right"))
            if value is not None and len(members) > 1
            else None,
            told.get((key, at)),
        )
        for at, value in values.items()
    ]
    return tuple(sorted(lines, key=lambda line: (line.value is None, -(line.value or 0.0))))


def _interval(system: Contender, key: str, draws: tuple[int, int]) -> Interval:
    """The system's own interval; one made here where it has none."""
    sample = system.sample
    if f"{key}_low" in system.result or system.value(key) is None:
        return Interval(**{end: system.value(f"{key}_{end}") for end in ENDS})
    parts = {part: sample.ratios[part] for part in sample.parts(key)}
    means = {key: sample.parts(key)} if key in sample.means else None
    made = bootstrap(parts, *draws, means=means)[key]
    return Interval(**{end: None if (at := getattr(made, end)) is None else sample.scale * at for end in ENDS})
