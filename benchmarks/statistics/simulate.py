"""Do intervals cover the truth, and do tests raise false alarms, as often as they say? By simulated test sets.

`python -m benchmarks.statistics.simulate` prints two tables; with 1,000 sets a row it takes some half an hour.
"""

import argparse
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sgeval.comparison import TOLD_APART, Contender, rank
from sgeval.summary import Floats, Sample, bootstrap, holm, paired

LEVEL = 0.95
Columns = tuple[Floats, Floats]


@dataclass(frozen=True)
class World:
    """A way test sets come about: what a system's score is made of, picture by picture."""

    name: str
    draw: Callable[[np.random.Generator, int], tuple[Columns, Columns]]
    """Two systems of equal quality on the same pictures: numerators and denominators of each."""
    truth: float
    """The score of both on all pictures there are."""


def _macro(rng: np.random.Generator, n: int) -> tuple[Columns, Columns]:
    """A mean over pictures of scores that are skewed to the right, as RelCLIPScore's are. Mean 2/8."""
    hard = rng.beta(2, 6, size=n)
    sides = [np.where(rng.random(n) < 0.5, hard, rng.beta(2, 6, size=n)) for _ in (0, 1)]
    return (sides[0], np.ones(n)), (sides[1], np.ones(n))


def _pooled(rng: np.random.Generator, n: int) -> tuple[Columns, Columns]:
    """Right relations over all relations: pictures differ in number of relations (1 to 30) and in difficulty. Mean 0.4."""
    counts = rng.integers(1, 31, size=n)
    chance = rng.beta(2, 3, size=n)
    first, second = (rng.binomial(counts, chance).astype(float) for _ in (0, 1))
    return (first, counts.astype(float)), (second, counts.astype(float))


def _rare(rng: np.random.Generator, n: int) -> tuple[Columns, Columns]:
    """A share of pictures, few of them right. Mean 0.08."""
    first, second = ((rng.random(n) < 0.08).astype(float) for _ in (0, 1))
    return (first, np.ones(n)), (second, np.ones(n))


WORLDS = (
    World("mean over pictures, skewed", _macro, 2 / 8),
    World("pooled over relations", _pooled, 2 / 5),
    World("few pictures right", _rare, 0.08),
)


@dataclass(frozen=True)
class Outcome:
    """Shares over the simulated test sets."""

    world: str
    n: int
    covered: float
    """BCa intervals of a score that hold the truth."""
    covered_percentile: float
    covered_difference: float
    """Intervals of the difference that hold 0, the truth."""
    false_alarms: float
    """Sign-flip tests with p of 0.05 or less, though both systems are equally good."""


def simulate(world: World, n: int, n_sets: int, replicates: int, flips: int, seed: int = 0) -> Outcome:
    """Draw test sets of n pictures, and count."""
    found = np.array([list(_one(world, n, replicates, flips, (seed, number))) for number in range(n_sets)])
    return Outcome(world.name, n, *(float(share) for share in found.mean(axis=0)))


def _one(world: World, n: int, replicates: int, flips: int, seed: tuple[int, int]) -> Iterator[bool]:
    one, other = world.draw(np.random.default_rng(seed), n)
    ends = bootstrap({"x": one}, replicates, seed[1])["x"]
    units = tuple(map(str, range(n)))
    found = paired(Sample(units, {"x": one}), Sample(units, {"x": other}), ["x"], replicates, flips, seed[1])["x"]
    yield _holds(ends.low, ends.high, world.truth)
    yield _holds(ends.percentile_low, ends.percentile_high, world.truth)
    yield _holds(found.interval.low, found.interval.high, 0.0)
    yield found.p_value is not None and found.p_value <= 1 - LEVEL


def _holds(low: float | None, high: float | None, truth: float) -> bool:
    return low is not None and high is not None and low <= truth <= high


@dataclass(frozen=True)
class Field:
    """Several systems on the same pictures, of which the first by score is the one that others are compared with."""

    name: str
    quality: Callable[[int], Floats]
    """From the number of systems to how far each is above the least, in standard errors of a difference."""
    spread: Callable[[int], Floats]
    """From the number of systems to each one's standard deviation over a picture's draws; 0.2 is the usual one."""
    is_skewed: bool = False


def _same(m: int) -> Floats:
    return np.full(m, 0.2)


FIELDS = (
    Field("all equal", np.zeros, _same),
    Field("all equal, skewed", np.zeros, _same, True),
    Field(
        "half of them far behind and noisy",
        lambda m: np.where(np.arange(m) < (m + 1) // 2, 0.0, -8.0),
        lambda m: np.where(np.arange(m) < (m + 1) // 2, 0.2, 0.6),
    ),
    Field("half of them a little behind", lambda m: np.where(np.arange(m) < (m + 1) // 2, 0.0, -1.0), _same),
    Field("one ahead", lambda m: np.where(np.arange(m) == 0, 4.0, 0.0), _same),
)


@dataclass(frozen=True)
class Told:
    """Shares over the simulated test sets."""

    false_alarms_holm: float
    """Sets in which some equal system is told apart, p-values adjusted for the tests against the best alone."""
    false_alarms: float
    """The same as `sgeval compare` adjusts them, for all pairs."""
    power_holm: float | None
    power: float | None
    """Share of the systems truly behind the best that are told apart from it; `None` where all are equal."""


def several(field: Field, m: int, n: int, n_sets: int, flips: int, seed: int = 0) -> Told:
    """Draw test sets of n pictures for m systems, and count."""
    quality, spread = field.quality(m), field.spread(m)
    units = tuple(map(str, range(n)))
    alarms: list[tuple[bool, bool]] = []
    told: list[tuple[bool, bool]] = []
    for number in range(n_sets):
        rng = np.random.default_rng((seed, number))
        noise = rng.gamma(1.0, 1.0, size=(m, n)) - 1 if field.is_skewed else rng.normal(size=(m, n))
        scores = rng.random(n) + quality[:, None] * 0.2 * np.sqrt(2 / n) + spread[:, None] * noise
        systems = [
            Contender(
                str(at),
                "theta",
                {"theta": float(row.mean()), "theta_low": None},
                Sample(units, {"theta": (row, np.ones(n))}),
                {},
                frozenset(units),
            )
            for at, row in enumerate(scores)
        ]
        lines = [
            line
            for line in rank(systems, ("theta",), replicates=1, flips=flips, seed=number).groups[0].lines["theta"]
            if line.against
        ]
        one_test = holm([line.against.found.p_value for line in lines if line.against])
        both = [
            ((p or 0.0) <= TOLD_APART, line.against is not None and line.against.is_told_apart)
            for p, line in zip(one_test, lines, strict=True)
        ]
        base = next(line.against.name for line in lines if line.against)
        equal = [quality[int(line.name)] == quality[int(base)] for line in lines]
        alike = [each for each, same in zip(both, equal, strict=True) if same]
        alarms.append((any(holm_says for holm_says, _ in alike), any(says for _, says in alike)))
        told += [each for each, same in zip(both, equal, strict=True) if not same]
    false_holm, false = (float(share) for share in np.mean(alarms, axis=0))
    if not told:
        return Told(false_holm, false, None, None)
    power_holm, power = (float(share) for share in np.mean(told, axis=0))
    return Told(false_holm, false, power_holm, power)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000, help="simulated test sets a row (1000)")
    parser.add_argument("--pictures", type=int, nargs="+", default=[50, 200], help="pictures of a test set (50 200)")
    parser.add_argument("--replicates", type=int, default=1000, help="of a bootstrap (1000)")
    parser.add_argument("--flips", type=int, default=1000, help="of a sign-flip test (1000)")
    args = parser.parse_args()
    print("| world | pictures | score covered | percentile | difference covered | false alarms |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for world in WORLDS:
        for n in args.pictures:
            row = simulate(world, n, args.sets, args.replicates, args.flips)
            shares = (row.covered, row.covered_percentile, row.covered_difference, row.false_alarms)
            print(f"| {row.world} | {n} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |", flush=True)
    print("\n| systems | number | pictures | false alarms, Holm | false alarms | told apart, Holm | told apart |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for field, m, n in itertools.product(FIELDS, (2, 3, 10), (40, 200)):
        found = several(field, m, n, args.sets, args.flips)
        several_shares = (found.false_alarms_holm, found.false_alarms, found.power_holm, found.power)
        words = ("–" if share is None else f"{100 * share:.1f} %" for share in several_shares)
        print(f"| {field.name} | {m} | {n} | " + " | ".join(words) + " |", flush=True)


if __name__ == "__main__":
    main()
