"""p-values of differences to the best system, where the best was picked from the same scores."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sgeval.summary import FLIPS, NOISE, Floats, Sample, flip_marks

ROWS = 65_536  # flips of a piece times systems: small enough for a cache


@dataclass(frozen=True)
class Family:
    """Systems with a score, of which each is compared with one."""

    samples: Sequence[Sample]
    key: str
    base: int
    """Position of the one that the others are compared with."""
    is_picked: bool
    """Whether it was picked by its score: any two could then have been compared."""


def adjusted(families: Sequence[Family], flips: int = FLIPS, seed: int = 0) -> list[list[float]]:
    """The p-value of each system against its family's base, adjusted for all pairs that could have been compared.

    The best of m systems is picked by the scores it is tested on, and is ahead by luck: of ten equal systems some is
    "told apart" from it in 13 % of all test sets after Holm's adjustment for nine tests. So each difference is held
    against the largest among the pairs of all systems. Per pair, T = |Σ d| / √Σ d² over the units' shares d of the
    difference; one flip takes the same sign for a unit in all pairs. From the largest T down: p = (b + 1) / (flips + 1)
    with b flips whose largest T is the T seen or more, over all pairs of the systems not yet told apart, of all families;
    and no p is below one before it. That is step-down max T (Westfall and Young 1993, section 2.6; Romano and Wolf 2005)
    along the eliminations of a model confidence set (Hansen, Lunde and Nason 2011).

    The chance that a system as good as the best is told apart is at most the level as far as differences are jointly as
    likely with all signs turned: of two exchangeable systems always, of more as units grow. The shares of a ratio are
    those of its exchange to first order, exact where both sides have the same denominators. Pairs that differ by
    `NOISE` or less are no tests. 1 for a base.

    >>> ones = np.ones(8)
    >>> systems = [Sample(tuple("abcdefgh"), {"x": (at * ones, ones)}) for at in (0.9, 0.5)]
    >>> adjusted([Family(systems, "x", 0, True)], 999)[0][1] <= 0.02  # two of 2^8 flips are as far apart
    True
    """
    units = tuple(sorted({unit for family in families for sample in family.samples for unit in sample.units}))
    found = [[1.0] * len(family.samples) for family in families]
    ordered = [_ordered(family, units) for family in families]
    tests = sorted(
        (t, which, at) for which, each in enumerate(ordered) for at, t in enumerate(each.seen.tolist()) if at
    )
    beyond = np.ones(len(tests))  # what was seen is one of the flips
    step = max(1, ROWS // max((len(family.samples) for family in families), default=1))
    for marks in flip_marks(len(units), flips, seed):
        for start in range(0, len(marks), step):
            signs = 1.0 - 2.0 * marks[start : start + step].T
            sums = [each.shares @ signs for each in ordered]
            largest = np.zeros(signs.shape[1])
            for number, (t, which, at) in enumerate(tests):  # the smallest first, so that the systems left only grow
                rivals = at if families[which].is_picked else 1
                apart = sums[which][:rivals] - sums[which][at]
                np.abs(apart, out=apart)
                apart *= ordered[which].weights[at, :rivals, None]
                np.maximum(largest, apart.max(axis=0), out=largest)
                beyond[number] += np.count_nonzero(largest >= t * (1 - 1e-9))  # sums may lose last digits
    p_values = np.maximum.accumulate(beyond[::-1] / (flips + 1))[::-1]
    for (_, which, at), p_value in zip(tests, p_values.tolist(), strict=True):
        found[which][ordered[which].places[at]] = p_value
    return found


@dataclass(frozen=True)
class _Ordered:
    """A family's systems, the base first and then by T, the smallest first."""

    places: tuple[int, ...]
    shares: Floats
    """A row a system."""
    weights: Floats
    """1 / √Σ d² by pair; 0 for a pair that is no test."""
    seen: Floats
    """T against the base."""


def _ordered(family: Family, units: Sequence[str]) -> _Ordered:
    shares = _shares(family, units)
    weights = _weights(shares)
    seen = np.abs(shares[family.base].sum() - shares.sum(axis=1)) * weights[family.base]
    seen[family.base] = -1.0
    order = np.argsort(seen, kind="stable")
    return _Ordered(tuple(order.tolist()), shares[order], weights[np.ix_(order, order)], seen[order])


def _shares(family: Family, units: Sequence[str]) -> Floats:
    """What each unit adds to a system's score above the base's, a row a system: (numerator − base score · denominator) /
    sum of denominators, averaged over the ratios of the score."""
    place = {unit: index for index, unit in enumerate(units)}
    base = family.samples[family.base]
    level = (base.score(family.key) or 0.0) / base.scale
    found = np.zeros((len(family.samples), len(units)))
    for row, sample in zip(found, family.samples, strict=True):
        rows = np.array([place[unit] for unit in sample.units], dtype=np.int64)
        ratios = [sample.ratios[part] for part in sample.parts(family.key) if part in sample.ratios]
        defined = [(num, of, whole) for num, of in ratios if (whole := float(of.sum())) > 0]
        for num, of, whole in defined:
            row[rows] += (num - level * of) / (whole * len(defined))
    return found


def _weights(shares: Floats) -> Floats:
    squares = (shares**2).sum(axis=1)
    both = squares[:, None] + squares
    spread = both - 2 * shares @ shares.T
    is_test = spread > np.maximum(NOISE**2 / max(1, shares.shape[1]), 1e-12 * both)
    np.fill_diagonal(is_test, False)
    return np.where(is_test, 1 / np.sqrt(np.where(is_test, spread, 1.0)), 0.0)
