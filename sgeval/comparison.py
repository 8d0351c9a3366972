"""Runs beside each other: which measure the same thing, who is ahead, and whether a test tells them apart.

Runs form groups that may be ranked: those of one protocol, on the same references. The protocol is the signature without
the parts that moved no number here. Within a group every system is compared with one of them, pairwise on the same
pictures or videos.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgeval import alignment, temporal
from sgeval.encoders.aliases import ALIASES
from sgeval.errors import SgevalError, one_of, shown
from sgeval.phrases import DUAL_ENCODER_TEMPLATE
from sgeval.runs import Run
from sgeval.signature import parts_of
from sgeval.summary import ENDS, FLIPS, NOISE, REPLICATES, Interval, Paired, Sample, bootstrap, holm, paired

POLICIES: Mapping[str, tuple[str, ...]] = {
    "invalid": ("n_invalid", "n_invalid_relations"),
    "missing": ("n_missing", "n_missing_frames", "n_missing_videos"),
    "badimage": ("n_bad_images",),
    "empty": ("n_empty",),
}
"""Parts of a signature that say what is done with cases that may not occur, and the counts of these. What is refused or
counts as 0 leaves other runs as they are; what is left out makes a number of its own."""
ENCODER = ("model", "weights", "act", "text", "image", "score")
"""Parts that are the system itself where scoring models are what is compared."""
PREFERENCES = ("theta", "precision", "direction_accuracy", "above_no_predicate", "above_random_predicate")
"""Scores of θ that ask what a model prefers, whatever its own scale; the others are on that scale."""
DRAWN = ("above_random_predicate", "gap_random_predicate")
"""Scores of θ that depend on predicates drawn at random."""
SHOWN_IDS = 3
TOLD_APART = 0.05  # p-value at which a test tells two systems apart


@dataclass(frozen=True)
class Against:
    """A system beside the one that its group is compared with."""

    name: str
    """Of that one."""
    found: Paired
    p_holm: float | None
    """The p-value, adjusted for all tests of the comparison."""

    @property
    def is_told_apart(self) -> bool:
        """Whether the adjusted p-value is small enough."""
        return self.p_holm is not None and self.p_holm <= TOLD_APART


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
    """Runs that may be ranked together."""

    runs: tuple[Run, ...]
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
    replicates: int
    flips: int
    seed: int


def compare(
    runs: Sequence[Run],
    keys: Sequence[str] = (),
    baseline: str | None = None,
    *,
    replicates: int = REPLICATES,
    flips: int = FLIPS,
    seed: int = 0,
) -> Comparison:
    """Compare runs of one metric on the same pictures or videos.

    Every system of a group is compared with its best one by the first key, or with `baseline` (a name), in the group
    that holds it: difference, bootstrap interval, sign-flip test (see `sgeval.summary.paired`), p-values adjusted over
    all tests of the comparison (Holm). Runs of another protocol form groups of their own, which say what differs; they
    are never ranked together. Intervals of scores are those of the runs, and are made here where a run has none.

    Parameters
    ----------
    runs
        At least one; all of the same metric.
    keys
        The scores to compare; the metric's headline by default.
    baseline
        The name of the run that the others are compared with.
    replicates, flips, seed
        Of the bootstrap and of the test.

    Raises
    ------
    SgevalError
        For runs of several metrics, other pictures or videos, an unknown key or baseline.
    """
    if not runs:
        raise SgevalError("compare: expected at least one run, got none")
    metrics = list(dict.fromkeys(run.metric for run in runs))
    if len(metrics) > 1:
        raise SgevalError(f"compare: expected runs of one metric, got {', '.join(metrics)}")
    for option, number, least in (("replicates", replicates, 1), ("flips", flips, 1), ("seed", seed, 0)):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise SgevalError(f"{option}: expected a whole number, {least} or more, got {shown(number)}")
    n_units = _check_units(runs)
    names = numbered([run.name for run in runs])
    if baseline is not None:
        one_of("baseline", baseline, names)
    keys = tuple(dict.fromkeys(keys)) or (runs[0].headline,)
    for key in keys:
        one_of("key", key, dict.fromkeys(name for run in runs for name in _scores(run.sample)))
        for run in runs:
            check_score(run, key)
    together = group_runs(runs, keys)
    told = _against(together, runs, names, keys, baseline, (replicates, flips, seed))
    groups = []
    for members in together:
        lines = {key: _lines(members, runs, names, key, told, (replicates, seed)) for key in keys}
        groups.append(
            Group(
                tuple(runs[at] for at in members),
                tuple(names[at] for at in members),
                differing(runs[0], runs[members[0]], keys),
                lines,
            )
        )
    form = runs[0].form
    head = (runs[0].metric, keys, form.factor, form.unit, n_units)
    return Comparison(*head, tuple(groups), len(told), replicates, flips, seed)


def numbered(names: Sequence[str]) -> list[str]:
    """Names of which none occurs twice: those that do are numbered.

    >>> numbered(["a", "b", "a"])
    ['a (1)', 'b', 'a (2)']
    """
    often = Counter(names)
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(f"{name} ({seen[name]})" if often[name] > 1 else name)
    return found


def group_runs(runs: Sequence[Run], keys: Sequence[str] = ()) -> list[list[int]]:
    """Positions of the runs that may be ranked together, a list a group, in the order of their first runs."""
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for at, run in enumerate(runs):
        groups.setdefault(tuple(sorted(protocol(run, keys).items())), []).append(at)
    return list(groups.values())


def protocol(run: Run, keys: Sequence[str] = ()) -> dict[str, str]:
    """What has to be equal for scores to be comparable: the parts of the signature that move them (the headline, or those
    under `keys`), how many cases were left out, the references, and the objects where a metric depends on their number."""
    parts = parts_of(run.signature)
    for part, counts in POLICIES.items():
        value = parts.pop(part, None)
        n_met = sum(int(run.result.get(count) or 0) for count in counts)
        if value == "skip" and n_met:
            parts[part] = f"skip, {n_met:,} left out"
    parts = name_own_template(run.metric, parts)
    for part in _idle(run.metric, keys or (run.headline,)):
        parts.pop(part, None)
    if run.metric == temporal.KEY:
        _undecided(run, parts)
    references = run.inputs.get("references")
    digest = references.get("sha256") if isinstance(references, Mapping) else None
    parts["references"] = str(digest)[:12] if digest else "unnamed"
    if not getattr(run.rows, "with_references", True):
        parts["references"] = "none"
    images = sorted(getattr(run.rows, "images", ()), key=lambda row: row.image_id)
    if images:
        digest = _digest([(row.image_id, row.m, row.status == "bad_image") for row in images])
        parts["objects"] = f"{sum(row.m for row in images)} ({digest})"
    return parts


def _idle(metric: str, keys: Sequence[str]) -> Iterator[str]:
    """Parts of a signature that move none of these scores."""
    if metric == alignment.KEY:
        if set(keys) <= set(PREFERENCES):
            yield from ENCODER
        if not set(keys) & set(DRAWN):
            yield "draw"


def name_own_template(metric: str, parts: Mapping[str, str]) -> dict[str, str]:
    """The parts of a signature, the text of triplets called the model's own where scoring models are compared and each is
    asked in its own."""
    model = parts.get("model", "")
    own = ALIASES[model].template if model in ALIASES else DUAL_ENCODER_TEMPLATE
    if metric == alignment.KEY and parts.get("template") == own:
        return {**parts, "template": "the model's own"}
    return dict(parts)


def _undecided(run: Run, parts: dict[str, str]) -> None:
    """Where all verdicts are there, the share that may be missing moved nothing; where not, the shares that are."""
    coverages = {kind: run.result.get(f"{kind}_coverage") for kind in temporal.KINDS}
    open_kinds = {kind: value for kind, value in coverages.items() if value is not None and value < 100}
    parts.pop("maxunjudged", None)
    if open_kinds:
        parts["decided"] = ", ".join(f"{kind} {value:.2f} %" for kind, value in open_kinds.items())


def differing(one: Run, other: Run, keys: Sequence[str] = ()) -> tuple[tuple[str, str, str], ...]:
    """The parts of two runs' protocols that are not the same: name, value in each, empty where absent."""
    left, right = protocol(one, keys), protocol(other, keys)
    pairs = ((name, left.get(name, ""), right.get(name, "")) for name in dict.fromkeys((*left, *right)))
    return tuple(pair for pair in pairs if pair[1] != pair[2])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


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


def _check_units(runs: Sequence[Run]) -> int:
    """Refuse runs of other pictures or videos, naming some; their number."""
    first = units(runs[0])
    for run in runs[1:]:
        here = units(run)
        if first == here:
            continue
        sides = ((runs[0].name, first - here), (run.name, here - first))
        words = [f"{len(only)} only in {shown(name)} ({first_ids(only)})" for name, only in sides if only]
        raise SgevalError(f"compare: expected runs on the same pictures or videos, got {' and '.join(words)}")
    return len(first)


def check_score(run: Run, key: str) -> None:
    """Refuse a run whose result is not what its rows give: `results.json` is a text that anyone may edit."""
    value = _value(run, key)
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


def _against(
    groups: Sequence[Sequence[int]],
    runs: Sequence[Run],
    names: Sequence[str],
    keys: Sequence[str],
    baseline: str | None,
    draws: Draws,
) -> Told:
    """By key and position of a run, how it stands to the one that its group is compared with."""
    replicates, flips, seed = draws
    found: dict[tuple[str, int], tuple[str, Paired]] = {}
    for members in groups:
        with_score = [at for at in members if _value(runs[at], keys[0]) is not None]
        if not with_score:
            continue
        best = max(with_score, key=lambda at: (_value(runs[at], keys[0]), -at))
        base = next((at for at in members if names[at] == baseline), best)
        for at in members:
            known = [key for key in keys if all(_value(runs[side], key) is not None for side in (at, base))]
            if at != base:
                each = paired(runs[at].sample, runs[base].sample, known, replicates, flips, seed)
                found |= {(key, at): (names[base], each[key]) for key in known}
    adjusted = holm([pair.p_value for _, pair in found.values()])
    return {
        place: Against(name, pair, p_value)
        for (place, (name, pair)), p_value in zip(found.items(), adjusted, strict=True)
    }


def _lines(
    members: Sequence[int],
    runs: Sequence[Run],
    names: Sequence[str],
    key: str,
    told: Told,
    draws: tuple[int, int],
) -> tuple[Line, ...]:
    values = {at: _value(runs[at], key) for at in members}
    known = [value for value in values.values() if value is not None]
    lines = [
        Line(
            names[at],
            value,
            _interval(runs[at], key, draws),
            1 + sum(other > value + NOISE for other in known) if value is not None and len(members) > 1 else None,
            told.get((key, at)),
        )
        for at, value in values.items()
    ]
    return tuple(sorted(lines, key=lambda line: (line.value is None, -(line.value or 0.0))))


def _value(run: Run, key: str) -> float | None:
    value = run.result.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _interval(run: Run, key: str, draws: tuple[int, int]) -> Interval:
    """The run's own interval; one made here where it has none."""
    sample = run.sample
    ends = {end: _value(run, f"{key}_{end}") for end in ENDS}
    if f"{key}_low" in run.result or _value(run, key) is None:
        return Interval(**ends)
    parts = {part: sample.ratios[part] for part in sample.parts(key)}
    means = {key: sample.parts(key)} if key in sample.means else None
    made = bootstrap(parts, *draws, means=means)[key]
    scaled = {end: None if (at := getattr(made, end)) is None else sample.scale * at for end in ends}
    return Interval(**scaled)
