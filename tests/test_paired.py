"""Two systems on the same units: differences, intervals, sign-flip tests, Holm, and what can be detected."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.statistics.simulate import WORLDS, simulate
from sgeval.summary import FLIPS, NO_INTERVAL, Sample, _tail, holm, paired


def sample(numerators, denominators=None, units=None, **more):
    num = np.asarray(numerators, dtype=float)
    den = np.ones_like(num) if denominators is None else np.asarray(denominators, dtype=float)
    return Sample(tuple(units or map(str, range(len(num)))), {"x": (num, den)}, **more)


def exact_p(one, other):
    """Slow reference: all exchanges of the two systems, unit by unit, each with the ratio worked out anew."""
    (n1, d1), (n2, d2) = one.ratios["x"], other.ratios["x"]
    seen = abs(n1.sum() / d1.sum() - n2.sum() / d2.sum())
    beyond = 0
    for marks in itertools.product((False, True), repeat=len(n1)):
        first = [sum(two if mark else own for own, two, mark in zip(*side, marks)) for side in ((n1, n2), (d1, d2))]
        second = [sum(own if mark else two for own, two, mark in zip(*side, marks)) for side in ((n1, n2), (d1, d2))]
        beyond += abs(first[0] / first[1] - second[0] / second[1]) >= seen - 1e-12
    return beyond / 2 ** len(n1)


class TestPaired:
    def test_by_hand(self):
        """(1 + 1 + 1 + 0) / 4 against (0 + 0 + 1 + 0) / 4: 50 points in percent. Two units differ, both in favour of the
        first: of the four ways to exchange them two are as far apart. Two that differ can show nothing at 5 %."""
        found = paired(sample([1, 1, 1, 0], scale=100.0), sample([0, 0, 1, 0], scale=100.0), ["x"])["x"]
        assert found.difference == 50.0
        assert found.p_value == 0.5 and found.detectable is None

    @pytest.mark.parametrize(
        ("n", "p_value", "can_tell"), [(5, 2 / 32, False), (6, 2 / 64, True), (13, 2 / 2**13, True)]
    )
    def test_few_units_are_exact(self, n, p_value, can_tell):
        """All in favour of the first: two of 2^n exchanges are as far apart. The n that differ are among 20."""
        one = [0.5 + at / 100 for at in range(n)] + [0.3] * (20 - n)
        found = paired(sample(one), sample([0.3] * 20), ["x"])["x"]
        assert found.p_value == p_value and (found.detectable is not None) == can_tell

    def test_exact_and_drawn_agree(self):
        """14 units that differ are drawn: within four standard errors of all 16,384 exchanges."""
        rng = np.random.default_rng(8)
        one, other = (sample(rng.random(14)) for _ in (0, 1))
        assert paired(one, other, ["x"])["x"].p_value == pytest.approx(exact_p(one, other), abs=0.02)

    @pytest.mark.parametrize(("better", "worse"), [(9, 1), (7, 4), (3, 3), (13, 0)])
    def test_right_or_wrong_is_mcnemars_exact_test(self, better, worse):
        """Twice the binomial tail of the pictures that differ; those on which both are right or wrong count nothing."""
        n = better + worse
        one, other = ([*[right] * better, *[1 - right] * worse, *[1] * 20, *[0] * 7] for right in (1, 0))
        tail = sum(math.comb(n, k) for k in range(max(better, worse), n + 1)) / 2**n
        assert paired(sample(one), sample(other), ["x"])["x"].p_value == pytest.approx(min(1.0, 2 * tail))

    def test_rounding_is_no_difference(self):
        """Scores that moved by 1e-9 with the size of a batch, all in one direction: nothing is told apart."""
        values = np.linspace(0.1, 0.9, 40)
        found = paired(sample(values), sample(values + 1e-9), ["x"])["x"]
        assert (found.difference, found.p_value, found.detectable) == (0.0, 1.0, None)
        moved = paired(sample(values), sample(values + 1e-3), ["x"])["x"]
        assert moved.difference == pytest.approx(-1e-3) and moved.p_value < 0.01

    def test_rounding_of_pooled_scores_is_no_difference(self):
        """Ten relations a picture: sums may move by ten times as much as one score."""
        values = np.linspace(1, 9, 40)
        found = paired(sample(values, [10] * 40), sample(values + 9e-5, [10] * 40), ["x"])["x"]
        assert (found.difference, found.p_value) == (0.0, 1.0)
        assert paired(sample(values, [10] * 40), sample(values + 2e-4, [10] * 40), ["x"])["x"].p_value < 0.01

    @pytest.mark.parametrize("seed", range(6))
    def test_against_all_exchanges(self, seed):
        """Ten units: all 1,024 exchanges are tried."""
        rng = np.random.default_rng(seed)
        counts = [rng.integers(1, 6, size=10) for _ in (0, 1)]
        one, other = (sample(rng.binomial(count, chance), count) for count, chance in zip(counts, (0.6, 0.3)))
        assert paired(one, other, ["x"])["x"].p_value == exact_p(one, other)

    def test_interval_and_detectable(self):
        """Both from differences of replicates that draw the same units for both, made here one by one."""
        rng = np.random.default_rng(3)
        one, other = rng.random(60), rng.random(60)
        found = paired(sample(one), sample(other), ["x"], replicates=4000)["x"]
        draws = rng.integers(0, 60, size=(4000, 60))
        differences = one[draws].mean(axis=1) - other[draws].mean(axis=1)
        # Two bootstraps of 4,000: ends agree to a few hundredths of the spread.
        spread = differences.std()
        # Widened: t of 59 degrees is 2.00100; times sqrt(60/59), 2.01788; as a normal tail, 0.02180.
        ends = np.quantile(differences, [0.0218, 0.9782])
        assert [found.interval.percentile_low, found.interval.percentile_high] == pytest.approx(ends, abs=0.15 * spread)
        # 1.959964 + 0.841621 standard deviations.
        assert found.detectable == pytest.approx(2.801585 * spread, rel=0.05)

    @pytest.mark.parametrize(("n", "t"), [(5, 2.776445), (10, 2.262157), (50, 2.009575), (1001, 1.962339)])
    def test_tails_are_those_of_t(self, n, t):
        """t of n − 1 degrees at 97.5 %, from a printed table, times sqrt(n / (n − 1))."""
        tail = NormalDist().inv_cdf(1 - _tail(0.95, n))
        assert tail == pytest.approx(t * math.sqrt(n / (n - 1)), rel=4e-3)

    def test_antisymmetric(self):
        one, other = sample([0.2, 0.9, 0.4]), sample([0.1, 0.5, 0.6])
        there, back = (paired(*sides, ["x"])["x"] for sides in ((one, other), (other, one)))
        assert there.difference == pytest.approx(-back.difference)
        assert there.p_value == back.p_value and there.detectable == pytest.approx(back.detectable)

    def test_units_go_by_name(self):
        """The order of the units says nothing, though the draws go by it."""
        one, other = [0.2, 0.9, 0.4, 0.8], [0.1, 0.5, 0.6, 0.1]
        moved = [2, 0, 3, 1]
        shuffled = [sample(np.array(side)[moved], units=[str(at) for at in moved]) for side in (one, other)]
        assert paired(*shuffled, ["x"]) == paired(sample(one), sample(other), ["x"])

    def test_a_unit_that_one_lacks(self):
        """b counts for the first alone: 1/2 − 1/1, and its exchange moves it to the second."""
        one, other = sample([1, 0], units=["a", "b"]), sample([1], units=["a"])
        found = paired(one, other, ["x"])["x"]
        assert found.difference == -0.5 and found.p_value == 1.0

    def test_mean_of_ratios(self):
        """A mean over classes, one of them only in the first: (1/1 + 1/2) / 2 − 2/2."""
        first = {"p": (np.array([1.0, 0.0]), np.array([1.0, 0.0])), "q": (np.array([0.0, 1.0]), np.array([1.0, 1.0]))}
        one = Sample(("a", "b"), first, {"m": ("p", "q")})
        other = Sample(("a", "b"), {"q": (np.array([1.0, 1.0]), np.array([1.0, 1.0]))}, {"m": ("q",)})
        assert paired(one, other, ["m"])["m"].difference == -0.25

    def test_undefined(self):
        nothing = sample([0.0, 0.0], [0.0, 0.0])
        found = paired(nothing, sample([1, 0]), ["x"])["x"]
        assert (found.difference, found.interval, found.p_value, found.detectable) == (None, NO_INTERVAL, None, None)
        one_unit = paired(sample([1]), sample([0]), ["x"])["x"]
        assert one_unit.difference == 1.0 and one_unit.p_value is None and one_unit.interval == NO_INTERVAL
        assert paired(sample([]), sample([]), ["x"])["x"].difference is None
        assert paired(sample([1]), sample([0]), []) == {}

    def test_equal_systems(self):
        same = sample([0.1, 0.7, 0.4])
        found = paired(same, same, ["x"])["x"]
        assert (found.difference, found.p_value, found.detectable) == (0.0, 1.0, None)

    def test_smallest_p(self):
        """Never 0: what was seen is one of the flips."""
        assert paired(sample(np.ones(60)), sample(np.zeros(60)), ["x"])["x"].p_value == 1 / (FLIPS + 1)

    def test_seed(self):
        one, other = sample(np.linspace(0, 1, 30)), sample(np.linspace(1, 0, 30) ** 2)
        first, again, moved = (paired(one, other, ["x"], seed=seed)["x"] for seed in (0, 0, 1))
        assert first == again != moved


class TestHolm:
    def test_by_hand(self):
        """Four tests: 0.01 · 4, then 0.02 · 3 = 0.06, 0.03 · 2 = 0.06, 0.04 · 1 is below 0.06 and stays there."""
        assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
        assert holm([0.5, 0.9]) == [1.0, 1.0]
        assert holm([None, 0.03]) == [None, 0.03] and holm([]) == []

    @given(st.lists(st.floats(0, 1), max_size=8))
    def test_against_the_definition(self, values):
        """The adjusted p of a test is the least level at which Holm's steps reject it."""
        ordered = sorted(values)
        for value, adjusted in zip(values, holm(values), strict=True):
            steps = [(len(values) - rank) * p for rank, p in enumerate(ordered) if p <= value]
            # Equal p-values share the largest factor of theirs that is reached.
            first = [(len(values) - rank) * p for rank, p in enumerate(ordered) if p < value]
            low = max([*first, (len(values) - ordered.index(value)) * value])
            assert min(1.0, low) - 1e-12 <= adjusted <= min(1.0, max(steps)) + 1e-12


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_simulated(world):
    """Of 200 test sets of 100 pictures, 95 % of the intervals hold the truth and at most some 5 % of the tests are false
    alarms: each within four standard errors, 4 · sqrt(0.95 · 0.05 / 200) = 6.2 points. The figures of 1,000 sets stand
    in benchmarks/statistics."""
    found = simulate(world, 100, 200, replicates=400, flips=200)
    for share in (found.covered, found.covered_percentile, found.covered_difference):
        assert share == pytest.approx(0.95, abs=0.062)
    assert found.false_alarms <= 0.05 + 0.062


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_worlds(world):
    """The truth that a world states is the mean of what it draws: 200,000 pictures, five standard errors at most 0.006."""
    (num, den), (other, of) = world.draw(np.random.default_rng(0), 200_000)
    assert [num.sum() / den.sum(), other.sum() / of.sum()] == pytest.approx([world.truth] * 2, abs=0.006)
    assert not math.isnan(num.sum()) and not np.array_equal(num, other)
