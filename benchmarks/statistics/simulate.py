"""Do intervals cover the truth, and do tests raise false alarms, as often as they say? By simulated test sets.

`python -m benchmarks.statistics.simulate` prints a table; with 1,000 sets a row it takes some ten minutes.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sgeval.summary import Floats, Sample, bootstrap, paired

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


def main() -> None:
    """Print the table."""
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


if __name__ == "__main__":
    main()
