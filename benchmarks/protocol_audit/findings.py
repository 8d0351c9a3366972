"""The four findings: each function runs one check on simulated scores and on printed numbers, and says what it saw.

Inputs are arguments, so that a check can be given others and fail. Seeds are fixed. Cosines are fractions; numbers
that stand beside the paper's are percent, as printed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sgeval import ranks, relscore

from .published import TABLE_1, TABLES_3_TO_5, AlignmentRow, PredictionRow

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, float], Floats]

RELATIONS = 20_000  # a simulated setting
LENGTHS = (2, 3, 5, 12, 30, 60)  # |L|
STRENGTHS = (0.0, 0.5, 1.0, 2.0, 3.0)  # how far the truth's mean lies above the others', in standard deviations
ERRORS = 5.0  # standard errors: what chance alone exceeds once in 60,000 settings

TEXT_COSINE = 0.8  # assumed between a predicted and an annotated triplet, which share subject and object
TEXT_COSINES = (0.5, 1.0)  # the range over which the assumption is tried

SPREADS = (0.005, 0.01, 0.02)  # standard deviations of candidates' cosines on one crop
COSINE = 0.24  # the truth's


@dataclass(frozen=True)
class Finding:
    """What one check saw: whether it holds, one line with its numbers, and the numbers for a figure or a file."""

    name: str
    holds: bool
    line: str
    numbers: dict[str, Any]


def exchangeable(rng: np.random.Generator, length: int, strength: float) -> Floats:
    """Scores `(RELATIONS, length)`, the truth first: normal, the truth's mean `strength` above the others'."""
    scores = rng.normal(size=(RELATIONS, length))
    scores[:, 0] += strength
    return scores


def near_misses(rng: np.random.Generator, length: int, share: float) -> Floats:
    """The truth is best in a `share` of the relations, else second."""
    return _misses(rng, length, share, lambda others: np.mean(np.sort(others)[:, -2:], axis=1))


def far_misses(rng: np.random.Generator, length: int, share: float) -> Floats:
    """The truth is best in a `share` of the relations, else last."""
    return _misses(rng, length, share, lambda others: np.min(others, axis=1) - 1.0)


def _misses(rng: np.random.Generator, length: int, share: float, missed: Callable[[Floats], Floats]) -> Floats:
    others = rng.normal(size=(RELATIONS, length - 1))
    truth = np.where(rng.random(RELATIONS) < share, np.max(others, axis=1) + 1.0, missed(others))
    return np.column_stack([truth, others])


def setting(scores: Floats) -> dict[str, float]:
    """Of scores with the truth first: Prec, both θ, and how far each is from 0.5 + Prec/2, with a standard error."""
    relations, length = scores.shape
    lengths = np.full(relations, length)
    found = ranks.places(scores.ravel(), lengths, np.zeros(relations, dtype=np.int64))
    precision = ranks.openvocsgg_precision(found.first_best)
    released = ranks.openvocsgg_theta(found.first_best, lengths)
    equation = ranks.theta(found.higher, found.tied, lengths)
    off = released - (0.5 + precision / 2.0)
    return {
        "length": length,
        "precision": float(precision.mean()),
        "released": float(released.mean()),
        "equation": float(equation.mean()),
        "released_off": float(off.mean()),
        "equation_off": float(np.mean(equation - 0.5 - ranks.precision(found.higher, found.tied) / 2.0)),
        "standard_error": float(off.std() / math.sqrt(relations)),
    }


def theta_line(rows: Sequence[AlignmentRow] = TABLE_1, draw: Draw = exchangeable, seed: int = 0) -> Finding:
    """PF1: the released θ is in expectation 0.5 + Prec/2 and the θ of eq. 7 is not; the printed θ lies on that line.

    Holds when every simulated setting of the released θ is within `ERRORS` standard errors, eq. 7 is far off in some, a
    near and a far miss are told apart by eq. 7 alone, and seven of the eight printed rows are within 1.25 points.
    """
    rng = np.random.default_rng(seed)
    settings = [setting(draw(rng, length, strength)) for length in LENGTHS for strength in STRENGTHS]
    near, far = (setting(model(rng, 12, 0.28)) for model in (near_misses, far_misses))
    on_line = all(abs(one["released_off"]) <= ERRORS * one["standard_error"] for one in (*settings, near, far))
    widest = max(one["equation_off"] for one in settings)
    worst = max(abs(one["released_off"]) for one in settings)
    off = [row.theta - (50.0 + row.precision / 2.0) for row in rows]
    blind = abs(near["released"] - far["released"]) < 0.02 < 0.5 < near["equation"] - far["equation"]
    printed = sorted(map(abs, off))[6] <= 1.25
    listed = ", ".join(
        f"{data} " + " ".join(f"{value:+.3f}" for value, row in zip(off, rows) if row.data == data)
        for data in ("PSG", "VG")
    )
    return Finding(
        "PF1",
        on_line and widest > 0.1 and blind and printed,
        f"released θ − (50 + Prec/2): at most {100 * worst:.2f} points in {len(settings)} simulated settings; "
        f"eq. 7: up to {100 * widest:.1f}; printed: {listed}",
        {"settings": settings, "near": near, "far": far, "off": off},
    )


def most(score: float) -> float:
    """`2s / (1 + s)`, in percent: the most a harmonic mean of `score` (percent) and anything up to 1 can be.

    >>> round(most(24.02), 2)
    38.74
    """
    return 100.0 * float(relscore.ref_score(score / 100.0, 1.0))


def implied(ref: float, text_cosine: float = TEXT_COSINE) -> float:
    """The cosine (percent) of the annotated text at which the released formula gives `ref` (percent).

    Solves `ref = 2sr / (s + r)`, `r = 100 x text_cosine`, for s.

    >>> round(implied(47.75), 2), round(implied(47.75, 0.5), 2), round(implied(47.75, 1.0), 2)
    (23.95, 23.99, 23.93)
    """
    value, r = ref / 100.0, 100.0 * text_cosine
    return 100.0 * value * r / (2.0 * r - value)


def ref_column(rows: Sequence[PredictionRow] = TABLES_3_TO_5) -> Finding:
    """PF2: printed Ref values exceed what a harmonic mean can be, and fit twice the cosine of the annotated text.

    Holds when every row exceeds its bound and has a ratio Ref/Score of 1.97 to 2.01; the released formula is 1.98 to 2
    times the annotated text's cosine whatever the text-text cosine, over which eq. 6 moves by more than a tenth; the
    assumed text-text cosine moves no implied value by 0.1; and those of one subset of Tables 4 and 5 agree within 0.1.
    """
    table: list[dict[str, Any]] = [
        {
            "table": row.table,
            "subset": row.subset,
            "model": row.model,
            "score": row.score,
            "ref": row.ref,
            "bound": most(row.score),
            "ratio": row.ref / row.score,
            "implied": implied(row.ref),
            "implied_range": [implied(row.ref, cosine) for cosine in TEXT_COSINES],
        }
        for row in rows
    ]
    cosines, texts = np.meshgrid(np.linspace(0.15, 0.4, 26), np.linspace(*TEXT_COSINES, 51))
    times = relscore.openvocsgg_ref_score(cosines, texts) / cosines
    printed_formula = relscore.ref_score(cosines, texts)
    moves = {"released": float(np.max(np.ptp(times, axis=0) / times.max(axis=0)))}
    moves["equation"] = float(np.min(np.ptp(printed_formula, axis=0) / printed_formula.max(axis=0)))
    apart = _apart([one for one in table if one["table"] > 3], "implied")
    shift = max(abs(np.ptp(one["implied_range"])) for one in table)
    ratios = [one["ratio"] for one in table]
    holds = (
        all(one["ref"] > one["bound"] for one in table)
        and 1.97 <= min(ratios) <= max(ratios) <= 2.01
        and 1.98 <= times.min() <= times.max() <= 2.0
        and moves["released"] < 0.01 < 0.1 < moves["equation"]
        and shift < 0.1
        and max(apart.values()) < 0.1
    )
    over = min(one["ref"] - one["bound"] for one in table)
    line = (
        f"all {len(table)} printed Ref exceed 2s/(1+s), by {over:.2f} points or more; Ref/Score {min(ratios):.3f} to "
        f"{max(ratios):.3f}; released formula {times.min():.3f} to {times.max():.3f} times the annotated text's cosine; "
        f"implied cosine by subset differs between models by at most {max(apart.values()):.2f}"
    )
    numbers = {"rows": table, "times": [float(times.min()), float(times.max())], "moves": moves, "apart": apart}
    return Finding("PF2", bool(holds), line, {**numbers, "shift": float(shift)})


def _apart(table: Sequence[dict[str, Any]], key: str) -> dict[str, float]:
    """Largest less smallest value of the models on each subset."""
    subsets = dict.fromkeys(one["subset"] for one in table)
    return {name: float(np.ptp([one[key] for one in table if one["subset"] == name])) for name in subsets}


def softmax(logits: npt.ArrayLike) -> Floats:
    """Over the last axis."""
    values = np.asarray(logits, dtype=np.float64)
    weights = np.exp(values - values.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def twice(first_class: npt.ArrayLike) -> Floats:
    """A second softmax over two probabilities p and 1 − p, at the first: `1 / (1 + exp(1 − 2p))`.

    >>> twice([0.0, 0.5, 1.0]).round(4).tolist()
    [0.2689, 0.5, 0.7311]
    """
    p = np.asarray(first_class, dtype=np.float64)
    return softmax(np.stack([p, 1.0 - p], axis=-1))[..., 0]


def once(value: float) -> float:
    """Undoes `twice`: `(1 + ln(y / (1 − y))) / 2`; outside 0–1 for what no second softmax gives.

    >>> round(once(0.6738), 3), round(once(0.8), 3)
    (0.863, 1.193)
    """
    return (1.0 + math.log(value / (1.0 - value))) / 2.0


def mean_once(mean: float) -> tuple[float, float]:
    """Smallest and largest mean of p whose mean of `twice(p)` is `mean`, however p spreads.

    A printed value is a mean and `twice` is not straight. The extremes of such a mean are mixtures of two values.
    """
    grid = np.append(np.linspace(0.0, 1.0, 501), once(mean))
    low, high = np.meshgrid(grid, grid)
    at_low, at_high = twice(low), twice(high)
    reach = (at_low <= mean) & (at_high >= mean) & (at_high > at_low)
    share = (mean - at_low[reach]) / (at_high[reach] - at_low[reach])
    means = low[reach] + share * (high[reach] - low[reach])
    return float(means.min()), float(means.max())


def double_softmax(rows: Sequence[AlignmentRow] = TABLE_1, seed: int = 0) -> Finding:
    """PF3: two softmaxes over two logits stay in 26.89–73.11 %, the printed BLIP2 scores lie there, class 0 ranks in reverse.

    Holds when simulated logits of any size stay in the band, every printed ITM score lies in it, and the order of
    candidates by class 0 is the reverse of that by class 1, "matches".
    """
    band = (1.0 / (1.0 + math.e), math.e / (1.0 + math.e))
    logits = np.random.default_rng(seed).normal(scale=5.0, size=(RELATIONS, 2))
    inner = softmax(logits)
    outer = twice(inner[:, 0])
    printed: list[dict[str, Any]] = [
        {"data": row.data, "score": row.score, "precision": row.precision} for row in rows if row.method == "ITM"
    ]
    inside = all(band[0] <= one["score"] / 100.0 <= band[1] for one in printed)
    for one in printed:
        one["undone"] = once(one["score"] / 100.0)
        one["undone_range"] = list(mean_once(one["score"] / 100.0)) if inside else None
    margin = logits[:, 1] - logits[:, 0]
    reverse = bool(np.all(np.diff(outer[np.argsort(margin)]) <= 0.0))
    kept = bool(band[0] - 1e-12 <= outer.min() and outer.max() <= band[1] + 1e-12)
    said = ", ".join(f"{one['data']} {one['score']:.2f} is {100 * one['undone']:.1f} %" for one in printed)
    line = (
        f"a double softmax over two logits gives {100 * band[0]:.2f} to {100 * band[1]:.2f} %; printed BLIP2 scores lie "
        f"{'inside' if inside else 'outside'}; without the outer softmax, of class 0 (does not match): {said}"
    )
    simulated = [float(outer.min()), float(outer.max())]
    return Finding(
        "PF3", kept and inside and reverse, line, {"band": list(band), "simulated": simulated, "printed": printed}
    )


def shares(rng: np.random.Generator, length: int, spread: float) -> Floats:
    """Softmax of 100 x cosine at the truth, `(RELATIONS,)`; its cosine is always `COSINE`, the others' vary around it."""
    cosines = rng.normal(COSINE, spread, size=(RELATIONS, length))
    cosines[:, 0] = COSINE
    lengths = np.full(RELATIONS, length)
    return ranks.places(cosines.ravel(), lengths, np.zeros(RELATIONS, dtype=np.int64)).softmax


def softmax_scores(rows: Sequence[AlignmentRow] = TABLE_1, seed: int = 0) -> Finding:
    """PF4: softmax of 100 x cosine is no cosine: it follows the neighbours and not the truth's own cosine.

    Holds when, with the truth's cosine fixed, the softmax differs threefold between the 5th and 95th percentile of
    neighbours spread by 0.01, its mean falls with |L|, and a constant added to all cosines of a crop leaves it as it
    is; and when the four printed cosine rows have a ratio Score/Prec of 0.81 to 0.87.
    """
    rng = np.random.default_rng(seed)
    lengths = (2, 3, 5, 8, 12, 20, 30)
    drawn = {spread: [shares(rng, length, spread) for length in lengths] for spread in SPREADS}
    means = {str(spread): [float(one.mean()) for one in drawn[spread]] for spread in SPREADS}
    percentiles = [[float(value) for value in np.percentile(one, [5, 95])] for one in drawn[0.01]]
    low, high = percentiles[lengths.index(5)]
    cosines = rng.normal(COSINE, 0.01, size=5)
    shifted = [float(ranks.places(cosines + add, [5], [0]).softmax[0]) for add in (-0.1, 0.0, 0.1)]
    ratios = [row.score / row.precision for row in rows if row.method == "cosine"]
    holds = (
        high > 3.0 * low
        and all(np.all(np.diff(one) < 0.0) for one in means.values())
        and float(np.ptp(shifted)) < 1e-9
        and round(min(ratios), 2) >= 0.81
        and round(max(ratios), 2) <= 0.87
    )
    line = (
        f"one cosine of {COSINE} among 5 candidates (spread 0.01) has a softmax of {100 * low:.1f} to {100 * high:.1f} % "
        f"(5th to 95th percentile); cosines moved by ±0.1 leave it within {np.ptp(shifted):.0e}; "
        f"printed Score/Prec of the cosine rows: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"
    )
    numbers = {"lengths": list(lengths), "means": means, "percentiles": percentiles, "shifted": shifted}
    return Finding("PF4", bool(holds), line, {**numbers, "ratios": ratios})


def all_findings() -> list[Finding]:
    """The four of them, on the published tables."""
    return [theta_line(), ref_column(), double_softmax(), softmax_scores()]
