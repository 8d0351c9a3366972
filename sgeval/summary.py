"""From one value per image to what is reported: means, intervals, slices."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ENDS = ("low", "high", "percentile_low", "percentile_high")
CHUNK = 4_000_000  # weights held at once while bootstrapping, about 32 MB
REPLICATES = 2_000  # of a bootstrap, where nothing else is asked for
FLIPS = 10_000  # of a sign-flip test
BLOCK = 64  # flips that share a generator
EXACT = 13  # units that differ, up to which all exchanges are tried: 2^13 = 8,192
NOISE = 1e-5  # by which a score may move with batch, device or cache; smaller differences of a unit are none
LEVEL = 0.95
POWER = 0.8  # at which a difference counts as detectable


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


NO_INTERVAL = Interval(None, None, None, None)


@dataclass(frozen=True)
class Sample:
    """What scores are made of, unit by unit: what the bootstrap draws from and what a paired test exchanges.

    `ratios` and `means` are those of `bootstrap`; `units` names the rows of the columns, pictures or videos; `scale` is
    what a ratio is multiplied with to be the score (100 for percent).
    """

    units: tuple[str, ...]
    ratios: Mapping[str, tuple[Floats, Floats]]
    means: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scale: float = 1.0

    def parts(self, name: str) -> Sequence[str]:
        """The ratios whose mean a name is: itself, or several."""
        return self.means.get(name, (name,))

    def score(self, name: str) -> float | None:
        """The score under a name; `None` where it is undefined or not there."""
        parts = [part for part in self.parts(name) if part in self.ratios]
        if not parts:
            return None
        found = float(_mean_ratio(_columns(self.ratios, parts).sum(axis=0, keepdims=True))[0])
        return None if math.isnan(found) else self.scale * found


def bootstrap(
    ratios: Mapping[str, tuple[Floats, Floats]],
    replicates: int,
    seed: int = 0,
    level: float = LEVEL,
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
    columns = _columns(ratios, names)
    wanted = {name: [index] for index, name in enumerate(names)}
    wanted |= {name: [names.index(of) for of in parts] for name, parts in (means or {}).items()}
    if len(columns) == 0 or replicates <= 0:
        return {name: NO_INTERVAL for name in wanted}
    sums = _resampled(columns, replicates, seed)
    found = {}
    for name, of in wanted.items():
        sides = np.array([[2 * index, 2 * index + 1] for index in of]).ravel()
        found[name] = _interval(_mean_ratio, columns[:, sides], sums[:, sides], level)
    return found


def _columns(ratios: Mapping[str, tuple[Floats, Floats]], names: Sequence[str]) -> Floats:
    """Numerators in the even columns, denominators in the odd ones; a row a unit."""
    return np.stack([column for name in names for column in ratios[name]], axis=1).astype(np.float64)


def _resampled(columns: Floats, replicates: int, seed: int) -> Floats:
    """The sums of the columns over units drawn with replacement, a row a replicate."""
    n = len(columns)
    sums = np.empty((replicates, columns.shape[1]))
    step = max(1, CHUNK // n)
    for start in range(0, replicates, step):
        stop = min(start + step, replicates)
        weights = np.stack([_draw(n, seed, replicate) for replicate in range(start, stop)])
        sums[start:stop] = weights @ columns
    return sums


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


Statistic = Callable[[Floats], Floats]
"""From sums of columns, a row each, to a value a row; NaN where it is undefined."""


def _interval(statistic: Statistic, columns: Floats, sums: Floats, level: float, *, widened: bool = False) -> Interval:
    """The interval of a statistic of the columns' sums; `widened` for few units."""
    whole = np.array([[column.sum() for column in columns.T]])
    estimate = float(statistic(whole)[0])
    values = statistic(sums)
    values = values[~np.isnan(values)]
    left_out = statistic(whole - columns)
    has_spread = len(values) > 0 and not math.isclose(values.min(), values.max(), rel_tol=1e-12)
    n = int(np.count_nonzero(columns[:, 1::2].any(axis=1)))
    if not math.isfinite(estimate) or n < 2 or not has_spread:
        return NO_INTERVAL
    tail = _tail(level, n) if widened else (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    ends = _bca_levels(estimate, values, left_out[np.isfinite(left_out)], tail)
    bca = np.quantile(values, ends) if ends else (low, high)
    return Interval(float(bca[0]), float(bca[1]), float(low), float(high))


def _tail(level: float, n: int) -> float:
    """The tail to read off a bootstrap of n units: replicates spread by the standard deviation over n, not n − 1, and
    normally, where Student's t with n − 1 degrees belongs (Hesterberg 2015, section 4.3); t by its expansion about z."""
    z = -NormalDist().inv_cdf((1 - level) / 2)
    free = n - 1
    t = (
        z
        + (z**3 + z) / (4 * free)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * free**3)
    )
    return max(1e-6, NormalDist().cdf(-math.sqrt(n / free) * t))  # of two units: the outermost replicates


def _mean_ratio(sums: Floats) -> Floats:
    """By row, the mean of the ratios that have a denominator; NaN where none has."""
    num, den = sums[:, ::2], sums[:, 1::2]
    there = den > 0
    if num.shape[1] == 1:
        return np.where(there, num / np.where(there, den, 1.0), math.nan)[:, 0]
    each = np.where(there, num / np.where(there, den, 1.0), 0.0)
    n = there.sum(axis=1)
    return np.where(n > 0, each.sum(axis=1) / np.maximum(n, 1), math.nan)


def _bca_levels(estimate: float, values: Floats, left_out: Floats, tail: float) -> tuple[float, float] | None:
    """The two quantile levels BCa reads off the replicates, or `None` where they are not defined (no spread)."""
    ties = np.abs(values - estimate) <= 1e-12 * max(1.0, abs(estimate))  # which sums in another order split
    below = float(np.mean((values < estimate) & ~ties) + np.mean(ties) / 2)
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


@dataclass(frozen=True)
class Paired:
    """Two systems on the same units: how far the first is above the second."""

    difference: float | None
    """Score of the first minus score of the second; `None` where one is undefined."""
    interval: Interval
    """Of the difference, by a bootstrap that draws the same units for both; widened for few units."""
    p_value: float | None
    """Two-sided, of the sign-flip test; `None` with fewer than two units."""
    detectable: float | None
    """The smallest difference that the units could show: at 5 %, two-sided, one test, with a power of 80 %. `None` where
    they could show none: fewer than six of them differ."""


def paired(
    one: Sample,
    other: Sample,
    names: Sequence[str],
    replicates: int = REPLICATES,
    flips: int = FLIPS,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[str, Paired]:
    """Compare two systems score by score, on the units of both.

    Interval: the same units are drawn with replacement for both, `replicates` times; its tails are those of Student's t
    (Hesterberg 2015), since a bootstrap of few units spreads too little. Test: under the null hypothesis the
    two are exchangeable on each unit, so each flip exchanges them on every unit with probability 1/2, and `p = (b + 1) /
    (flips + 1)` with b flips whose difference is as large as the one seen, or larger (Fisher's randomisation test; Edgington
    and Onghena 2007); where 13 units or fewer differ, all exchanges are tried and p is exact. `detectable = (z_0.975 +
    z_0.8) · standard deviation` of the bootstrap's differences. Scores are ratios of sums, recomputed in every replicate and
    flip; a unit that one of them lacks counts nothing on that side, and one that differs by `NOISE` or less does not differ.

    >>> one = Sample(("a", "b", "c", "d"), {"x": (np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4))})
    >>> other = Sample(("a", "b", "c", "d"), {"x": (np.array([0.0, 0.0, 1.0, 0.0]), np.ones(4))})
    >>> found = paired(one, other, ["x"])["x"]
    >>> found.difference, found.p_value  # the two units that differ agree in sign in half of the flips
    (0.5, 0.5)
    """
    return paired_each({name: (one, other, name) for name in names}, replicates, flips, seed, level)


Place = TypeVar("Place", bound=Hashable)


def paired_each(
    sides: Mapping[Place, tuple[Sample, Sample, str]],
    replicates: int = REPLICATES,
    flips: int = FLIPS,
    seed: int = 0,
    level: float = LEVEL,
) -> dict[Place, Paired]:
    """The same for many comparisons (one, other, score) over the same units at once: all share the draws and the flips."""
    units = tuple(sorted({unit for one, other, _ in sides.values() for unit in (*one.units, *other.units)}))
    pairs = {place: _pair(one, other, name, units) for place, (one, other, name) in sides.items()}
    if not pairs:
        return {}
    columns = np.concatenate(list(pairs.values()), axis=1)
    sums = _resampled(columns, replicates, seed) if len(units) else columns
    p_values = _flip_tests(pairs, flips, seed)
    ends = np.cumsum([pair.shape[1] for pair in pairs.values()])
    return {
        place: _paired(pair, sums[:, end - pair.shape[1] : end], sides[place][0].scale, p_values[place], level)
        for (place, pair), end in zip(pairs.items(), ends, strict=True)
    }


def _pair(one: Sample, other: Sample, name: str, units: Sequence[str]) -> Floats:
    """The columns of a score over given units, those of one system before those of the other; 0 where one has none."""
    parts = list(dict.fromkeys((*one.parts(name), *other.parts(name))))
    place = {unit: index for index, unit in enumerate(units)}
    sides = []
    for sample in (one, other):
        rows = np.array([place[unit] for unit in sample.units], dtype=np.int64)
        columns = np.zeros((len(units), 2 * len(parts)))
        for index, part in enumerate(parts):
            if part in sample.ratios:
                columns[rows, 2 * index], columns[rows, 2 * index + 1] = sample.ratios[part]
        sides.append(columns)
    return np.concatenate([sides[0], _without_noise(*sides)], axis=1)


def _without_noise(one: Floats, other: Floats) -> Floats:
    """The second system's columns, equal to the first's where a unit differs by rounding alone."""
    of = one[:, 1::2]
    is_noise = (of == other[:, 1::2]) & (np.abs(one[:, ::2] - other[:, ::2]) <= NOISE * of)
    return np.where(np.repeat(is_noise, 2, axis=1), one, other)


def _difference(sums: Floats) -> Floats:
    half = sums.shape[1] // 2
    return _mean_ratio(sums[:, :half]) - _mean_ratio(sums[:, half:])


def _paired(columns: Floats, sums: Floats, scale: float, p_value: float, level: float) -> Paired:
    seen = float(_difference(columns.sum(axis=0, keepdims=True))[0])
    if math.isnan(seen):
        return Paired(None, NO_INTERVAL, None, None)
    if np.count_nonzero(columns[:, 1::2].any(axis=1)) < 2:
        return Paired(scale * seen, NO_INTERVAL, None, None)
    found = _interval(_difference, columns, sums, level, widened=True)
    values = _difference(sums)
    values = values[~np.isnan(values)]
    half = columns.shape[1] // 2
    n_differ = int((columns[:, :half] != columns[:, half:]).any(axis=1).sum())
    normal = NormalDist()
    reach = normal.inv_cdf((1 + level) / 2) + normal.inv_cdf(POWER)
    can_tell = found.low is not None and 2.0 ** (1 - n_differ) <= 1 - level
    ends = (None if end is None else scale * end for end in (getattr(found, name) for name in ENDS))
    detectable = scale * reach * float(np.std(values, ddof=1)) if can_tell else None
    return Paired(scale * seen, Interval(*ends), p_value, detectable)


def _flip_tests(pairs: Mapping[Place, Floats], flips: int, seed: int) -> dict[Place, float]:
    """The p-value of each score. Where few units differ all their exchanges are tried, else `flips` that are drawn."""
    found: dict[Place, float] = {}
    drawn: dict[Place, Floats] = {}
    for place, pair in pairs.items():
        change = np.roll(pair, pair.shape[1] // 2, axis=1) - pair
        differ = change.any(axis=1)
        if differ.sum() <= EXACT:
            n = int(differ.sum())
            every = np.unpackbits(np.arange(2**n, dtype=">u2").view(np.uint8).reshape(-1, 2), axis=1)[:, 16 - n :]
            found[place] = float(_beyond(pair, every @ change[differ])) / 2**n
        else:
            drawn[place] = change
    if not drawn:
        return found
    changes = np.concatenate(list(drawn.values()), axis=1)
    ends = np.cumsum([change.shape[1] for change in drawn.values()])
    beyond = Counter(drawn.keys())  # what was seen is one of the flips
    for marks in flip_marks(len(changes), flips, seed):
        moved = marks @ changes
        for (place, change), end in zip(drawn.items(), ends, strict=True):
            beyond[place] += _beyond(pairs[place], moved[:, end - change.shape[1] : end])
    return {place: found[place] if place in found else beyond[place] / (flips + 1) for place in pairs}


def _beyond(pair: Floats, moved: Floats) -> int:
    """How many exchanges give a difference at least as large as the one seen."""
    whole = pair.sum(axis=0, keepdims=True)
    least = abs(float(_difference(whole)[0]))
    values = np.abs(_difference(whole + moved))
    return int((values >= least * (1 - 1e-12)).sum())  # sums in another order may lose a last digit


def flip_marks(n: int, flips: int, seed: int) -> Iterator[Floats]:
    """Marks, 1 where a unit is exchanged, a row a flip, some blocks of `BLOCK` rows at a time."""
    blocks = range(-(-flips // BLOCK))
    step = max(1, CHUNK // (BLOCK * max(n, 1)))
    for first in range(0, len(blocks), step):
        drawn = [
            np.random.default_rng([seed, block]).bytes(BLOCK * -(-n // 8)) for block in blocks[first : first + step]
        ]
        marks = np.unpackbits(np.frombuffer(b"".join(drawn), np.uint8).reshape(len(drawn) * BLOCK, -1), axis=1, count=n)
        yield marks[: flips - first * BLOCK].astype(np.float64)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values adjusted for their number (Holm 1979): the smallest times m, the next times m − 1, and so on, none below
    the one before it, at most 1. `None` stays `None` and is no test.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    tests = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, index) in enumerate(tests):
        least = max(least, min(1.0, (len(tests) - rank) * p))
        adjusted[index] = least
    return adjusted


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
