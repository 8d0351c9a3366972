"""From one value per image to what is reported: means, intervals, slices."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ENDS = ("low", "high", "percentile_low", "percentile_high")
CHUNK = 4_000_000  # weights held at once while bootstrapping, about 32 MB


def mean(values: Sequence[float]) -> float | None:
    """The mean by exact summation (independent of order); `None` of nothing. NaN (undefined) is left out.

    >>> mean([1.0, float("nan"), 0.5]), mean([])
    (0.75, None)
    """
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else None


@dataclass(frozen=True)
class Interval:
    """A bootstrap interval of a mean or ratio over images, BCa and percentile ends. `None` where there is nothing to
    tell from: fewer than two images, or replicates that are all equal."""

    low: float | None
    high: float | None
    percentile_low: float | None
    percentile_high: float | None


def bootstrap(
    ratios: Mapping[str, tuple[Floats, Floats]],
    replicates: int,
    seed: int = 0,
    level: float = 0.95,
    means: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Interval]:
    """Image-level bootstrap intervals of ratios `sum(numerator) / sum(denominator)`, and of means of such ratios.

    Each name has one numerator and one denominator per image, `(N,)`: a mean over images has denominator 1 (0 where
    undefined), a pooled mean the image's number of relations. `means` names ratios whose mean is wanted (an accuracy
    that is averaged over classes); a ratio without denominator is left out of it. Images are drawn with replacement,
    the same draws for all names; replicate r has its own generator, seeded with (seed, r), so neither chunks nor threads
    move a number. Percentile and bias-corrected accelerated (BCa) ends (Efron 1987); a replicate without denominator is
    left out.

    >>> one = np.ones(4)
    >>> round(bootstrap({"x": (np.array([0.0, 0.0, 1.0, 1.0]), one)}, 200)["x"].percentile_high, 2)
    1.0
    """
    names = list(ratios)
    if not names:
        return {}
    columns = np.stack([column for name in names for column in ratios[name]], axis=1).astype(np.float64)
    n = len(columns)
    wanted = {name: [index] for index, name in enumerate(names)}
    wanted |= {name: [names.index(of) for of in parts] for name, parts in (means or {}).items()}
    if n == 0 or replicates <= 0:
        return {name: Interval(None, None, None, None) for name in wanted}
    sums = np.empty((replicates, columns.shape[1]))
    step = max(1, CHUNK // n)
    for start in range(0, replicates, step):
        stop = min(start + step, replicates)
        weights = np.stack([_draw(n, seed, replicate) for replicate in range(start, stop)])
        sums[start:stop] = weights @ columns
    return {name: _interval(columns, sums, np.array(of), level) for name, of in wanted.items()}


def intervals(
    ratios: Mapping[str, tuple[Floats, Floats]],
    replicates: int,
    seed: int = 0,
    means: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, float | None]:
    """The intervals of `bootstrap` as the keys that a result holds: `…_low`, `…_high` and their percentile kin."""
    found = bootstrap(ratios, replicates, seed, means=means)
    return {f"{name}_{end}": getattr(interval, end) for name, interval in found.items() for end in ENDS}


def _draw(n: int, seed: int, replicate: int) -> Floats:
    rng = np.random.default_rng([seed, replicate])
    return np.bincount(rng.integers(0, n, size=n), minlength=n).astype(np.float64)


def _interval(columns: Floats, sums: Floats, of: npt.NDArray[np.int64], level: float) -> Interval:
    """The interval of the mean of the ratios `of`; numerators stand in the even columns, denominators in the odd."""
    num, den = columns[:, 2 * of], columns[:, 2 * of + 1]
    whole_num, whole_den = (np.array([[column.sum() for column in side.T]]) for side in (num, den))
    estimate = float(_mean_ratio(whole_num, whole_den)[0])
    values = _mean_ratio(sums[:, 2 * of], sums[:, 2 * of + 1])
    values = values[~np.isnan(values)]
    left_out = _mean_ratio(whole_num - num, whole_den - den)
    has_spread = len(values) > 0 and not math.isclose(values.min(), values.max(), rel_tol=1e-12)
    if not math.isfinite(estimate) or np.count_nonzero(den.any(axis=1)) < 2 or not has_spread:
        return Interval(None, None, None, None)
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    ends = _bca_levels(estimate, values, left_out[np.isfinite(left_out)], tail)
    bca = np.quantile(values, ends) if ends else (low, high)
    return Interval(float(bca[0]), float(bca[1]), float(low), float(high))


def _mean_ratio(num: Floats, den: Floats) -> Floats:
    """By row, the mean of the ratios that have a denominator; NaN where none has."""
    there = den > 0
    if num.shape[1] == 1:
        return np.where(there, num / np.where(there, den, 1.0), math.nan)[:, 0]
    each = np.where(there, num / np.where(there, den, 1.0), 0.0)
    n = there.sum(axis=1)
    return np.where(n > 0, each.sum(axis=1) / np.maximum(n, 1), math.nan)


def _bca_levels(estimate: float, values: Floats, left_out: Floats, tail: float) -> tuple[float, float] | None:
    """The two quantile levels BCa reads off the replicates, or `None` where they are not defined (no spread)."""
    below = float(np.mean(values < estimate) + np.mean(values == estimate) / 2)
    deviation = left_out.mean() - left_out if len(left_out) else left_out
    scale = float((deviation**2).sum() ** 1.5)
    if not 0 < below < 1 or scale == 0:
        return None
    normal = NormalDist()
    bias = normal.inv_cdf(below)
    acceleration = float((deviation**3).sum()) / (6 * scale)

    def moved(quantile: float) -> float:
        z = bias + normal.inv_cdf(quantile)
        return normal.cdf(bias + z / (1 - acceleration * z))

    return moved(tail), moved(1 - tail)


def slices(values: Sequence[float], groups: Sequence[Hashable]) -> list[dict[str, object]]:
    """One row a group: its name, its number of defined values and their mean; most frequent first, then by name.

    >>> slices([0.2, 0.4, 0.9], ["on", "on", "in"])
    [{'group': 'on', 'n': 2, 'mean': 0.30000000000000004}, {'group': 'in', 'n': 1, 'mean': 0.9}]
    """
    by_group: dict[Hashable, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        by_group.setdefault(group, []).append(value)
    rows: list[dict[str, object]] = [
        {"group": group, "n": sum(not math.isnan(value) for value in found), "mean": mean(found)}
        for group, found in by_group.items()
    ]
    return sorted(rows, key=lambda row: (-int(str(row["n"])), str(row["group"])))
