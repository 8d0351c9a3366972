"""How far a judge agrees with the gold set, and with itself."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgeval.judges.gold import GoldPair, Part, read_gold, read_probe
from sgeval.judges.labels import judge_pairs, settled
from sgeval.judges.verdicts import CATEGORIES, Category, Judge, Kind, Pair, Verdict
from sgeval.options import check_options

Counts = npt.NDArray[np.int64]
UNJUDGED = "unjudged"
CIRCULAR = (
    "agreement of this judge with the gold set is circular: both rest on WordNet, so the figures say how well its rules are "
    "carried out, not how well it judges"
)

_VIEWS: dict[str, Callable[[Category], int]] = {
    "five": CATEGORIES.index,
    "lenient": lambda category: int(category != "mismatch"),
    "strict": lambda category: int(category == "identical"),
}


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa with its 95 % percentile interval over families; `None` where chance agreement is whole."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Agreement:
    """What `evaluate_judge` finds. Shares are from 0 to 1, and `None` of nothing."""

    judge: str
    part: Part
    n: int
    n_families: int
    confusion: dict[Category, dict[str, int]]
    """Gold category, then the judge's category or `unjudged`, with counts."""
    kappa: dict[str, Kappa]
    """Over five categories, over lenient yes and no, over strict yes and no; on the pairs that have a verdict."""
    n_asked: int
    """Pairs that reached the judge: labels that are not equal when normalised."""
    kappa_asked: dict[str, Kappa]
    """The same on these alone: what the judge itself is worth."""
    accuracy: float | None
    coverage: float
    unjudged: dict[str, int]
    """Pairs without a verdict by reason."""
    swap_flip_rate: float | None
    """Share of pairs whose category is another when reference and prediction change places, of those judged both ways."""
    batch_flip_rate: float | None
    """Share of pairs whose category is another in other batches; `None` for a judge that has none."""
    by_kind: dict[Kind, dict[str, float | int | None]]
    """Kappa of each kind, with the shares of its gold mismatches that pass leniently (`false_accept_rate`) and of its other
    pairs that do not (`false_reject_rate`), of those judged."""
    by_rule: dict[str, dict[str, int]]
    """By kind, gold category and rule of the gold set: pairs with a verdict, and those that pass leniently."""
    probe_lenient_rate: float | None
    """Share of accepted pairs among kinds of one thing, which have no gold category."""
    is_circular: bool

    def as_dict(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class _Options:
    bootstrap: int
    seed: int


def evaluate_judge(
    judge: Judge, part: str = "test", *, other: Judge | None = None, bootstrap: int = 1000, seed: int = 0
) -> Agreement:
    """Put the pairs of the gold set before a judge, as scoring does: what needs no judge is decided, the rest is asked.

    `other` is the same judge with other batches, for the batch flip rate; none where batches do not matter. Each pair is
    asked twice (once with its sides exchanged), and the pairs of the probe once.

    Kappa is (p_o − p_e) / (1 − p_e), with p_o the share of agreement and p_e that expected of two judges with these
    margins (Cohen 1960). Weights are not used, since the categories are no scale. Intervals draw families, not pairs:
    pairs of one family are not independent.

    Raises `SgevalError` for a part, `bootstrap` or `seed` that is none, and for a judge that does not answer as judges do.

    >>> from sgeval.judges.exact import Exact
    >>> found = evaluate_judge(Exact(), "dev", bootstrap=20)
    >>> found.coverage, found.swap_flip_rate, found.batch_flip_rate
    (1.0, 0.0, None)
    """
    check_options(_Options(bootstrap, seed), {})
    gold = read_gold(part)
    pairs = [row.pair for row in gold]
    verdicts = judge_pairs(judge, pairs)
    swapped = judge_pairs(judge, [Pair(pair.kind, pair.prediction, pair.reference) for pair in pairs])
    elsewhere = judge_pairs(other, pairs) if other is not None else None
    kinds = sorted({pair.kind for pair in pairs})
    asked = [index for index, pair in enumerate(pairs) if settled(pair) is None]
    of_asked = [gold[index] for index in asked], [verdicts[index] for index in asked]
    probe = [verdict.accepts(strict=False) for verdict in judge_pairs(judge, read_probe())]
    return Agreement(
        judge=judge.name,
        part=gold[0].part,
        n=len(gold),
        n_families=len({row.families[0] for row in gold}),
        confusion=_confusion(gold, verdicts),
        kappa={view: kappa_of(gold, verdicts, view, bootstrap, seed) for view in _VIEWS},
        n_asked=len(asked),
        kappa_asked={view: kappa_of(*of_asked, view, bootstrap, seed) for view in _VIEWS},
        accuracy=_share([row.category == verdict.category for row, verdict in zip(gold, verdicts) if verdict.category]),
        coverage=sum(verdict.category is not None for verdict in verdicts) / len(gold),
        unjudged=dict(Counter(verdict.reason or "" for verdict in verdicts if verdict.category is None)),
        swap_flip_rate=_flips(verdicts, swapped),
        batch_flip_rate=None if elsewhere is None else _flips(verdicts, elsewhere),
        by_kind={kind: _of_kind(kind, gold, verdicts) for kind in kinds},
        by_rule=_by_rule(gold, verdicts),
        probe_lenient_rate=_share([accepted for accepted in probe if accepted is not None]),
        is_circular=judge.name == "wordnet",
    )


def _confusion(gold: Sequence[GoldPair], verdicts: Sequence[Verdict]) -> dict[Category, dict[str, int]]:
    counts = Counter((row.category, verdict.category or UNJUDGED) for row, verdict in zip(gold, verdicts, strict=True))
    return {truth: {said: counts[truth, said] for said in (*CATEGORIES, UNJUDGED)} for truth in CATEGORIES}


def _of_kind(kind: Kind, gold: Sequence[GoldPair], verdicts: Sequence[Verdict]) -> dict[str, float | int | None]:
    chosen = [index for index, row in enumerate(gold) if row.pair.kind == kind]
    rows, said = [gold[index] for index in chosen], [verdicts[index] for index in chosen]
    kappas = {view: kappa_of(rows, said, view).value for view in _VIEWS}
    passed = [(row.category, verdict.accepts(strict=False)) for row, verdict in zip(rows, said, strict=True)]
    apart = [accepted for category, accepted in passed if category == "mismatch" and accepted is not None]
    near = [not accepted for category, accepted in passed if category != "mismatch" and accepted is not None]
    return {"n": len(rows), **kappas, "false_accept_rate": _share(apart), "false_reject_rate": _share(near)}


def _by_rule(gold: Sequence[GoldPair], verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for row, verdict in zip(gold, verdicts, strict=True):
        accepted = verdict.accepts(strict=False)
        if accepted is not None:
            counts = found.setdefault(f"{row.pair.kind} {row.category}: {row.rule}", {"n": 0, "accepted": 0})
            counts["n"] += 1
            counts["accepted"] += accepted
    return found


def _flips(first: Sequence[Verdict], second: Sequence[Verdict]) -> float | None:
    both = [(one, two) for one, two in zip(first, second, strict=True) if one.category and two.category]
    return _share([one.category != two.category for one, two in both])


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None


def kappa_of(
    gold: Sequence[GoldPair], verdicts: Sequence[Verdict], view: str, bootstrap: int = 0, seed: int = 0
) -> Kappa:
    """Cohen's kappa of the judged pairs in one view (`five`, `lenient`, `strict`), with its interval over families."""
    level = _VIEWS[view]
    size = len(CATEGORIES) if view == "five" else 2
    families = {family: place for place, family in enumerate(sorted({row.families[0] for row in gold}))}
    tables = np.zeros((len(families), size, size), np.int64)
    for row, verdict in zip(gold, verdicts, strict=True):
        if verdict.category is not None:
            tables[families[row.families[0]], level(row.category), level(verdict.category)] += 1
    value = kappa(tables.sum(axis=0))
    if value is None or bootstrap == 0:
        return Kappa(value)
    replicates = []
    for replicate in range(bootstrap):
        drawn = np.random.default_rng([seed, replicate]).integers(0, len(families), len(families))
        replicates.append(kappa(tables[drawn].sum(axis=0)))
    low, high = np.quantile([one for one in replicates if one is not None], [0.025, 0.975])
    return Kappa(value, float(low), float(high))


def kappa(table: Counts) -> float | None:
    """Cohen's kappa of a square table of counts; `None` without counts or where chance alone agrees wholly.

    >>> kappa(np.array([[20, 5], [10, 15]]))  # p_o = 35/50, p_e = 1/2
    0.4
    """
    total = int(table.sum())
    if total == 0:
        return None
    expected = int((table.sum(axis=0) * table.sum(axis=1)).sum()) / total**2
    if math.isclose(expected, 1.0):
        return None
    value: float = (int(np.trace(table)) / total - expected) / (1 - expected)
    return round(value, 12)
