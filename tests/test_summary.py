"""Means, bootstrap intervals and slices; the signature."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgeval import __version__
from sgeval.signature import signature
from sgeval.summary import Interval, bootstrap, mean, slices

NAN = float("nan")


class TestMean:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [([], None), ([NAN, NAN], None), ([0.5], 0.5), ([1.0, NAN, 0.0], 0.5), ([0.0, 0.0], 0.0), ([0.1] * 10, 0.1)],
    )
    def test_undefined_is_left_out(self, values, expected):
        """Never NaN; nothing is None; ten times 0.1 is 0.1 (plain summation gives 0.09999999999999999)."""
        assert mean(values) == expected

    @given(values=st.lists(st.floats(0, 1), min_size=1, max_size=30), seed=st.integers(0, 99))
    def test_order_does_not_matter(self, values, seed):
        shuffled = np.random.default_rng(seed).permutation(values).tolist()
        assert mean(values) == mean(shuffled)

    def test_plain_float(self):
        assert type(mean(np.array([0.5, 1.0]))) is float


class TestBootstrap:
    def ratio(self, values):
        numbers = np.asarray(values, dtype=float)
        return numbers, np.ones_like(numbers)

    def test_same_seed_same_interval(self):
        data = {"x": self.ratio(np.random.default_rng(0).uniform(size=30))}
        assert bootstrap(data, 50, seed=3) == bootstrap(data, 50, seed=3)
        assert bootstrap(data, 50, seed=3) != bootstrap(data, 50, seed=4)

    def test_a_name_does_not_move_another(self):
        data = np.random.default_rng(0).uniform(size=(2, 30))
        both = bootstrap({"x": self.ratio(data[0]), "y": self.ratio(data[1])}, 50)
        assert both["y"] == bootstrap({"y": self.ratio(data[1])}, 50)["y"]

    def test_chunks_do_not_move_it(self, monkeypatch):
        data = {"x": self.ratio(np.random.default_rng(0).uniform(size=30))}
        whole = bootstrap(data, 50)["x"]
        monkeypatch.setattr("sgeval.summary.CHUNK", 1)
        parts = bootstrap(data, 50)["x"]
        assert (parts.low, parts.high) == pytest.approx((whole.low, whole.high), rel=1e-12)

    def test_no_spread(self):
        """Four images of 0.25: every replicate is 0.25, which tells nothing of the spread."""
        found = bootstrap({"x": self.ratio([0.25] * 4)}, 20)["x"]
        assert found == Interval(None, None, None, None)

    def test_one_image(self):
        """One image: each replicate draws it again. An interval without width would look like certainty."""
        assert bootstrap({"x": self.ratio([0.4])}, 20)["x"] == Interval(None, None, None, None)

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("data", [([], []), ([0.0, 0.0], [0.0, 0.0])])
    def test_nothing_defined(self, data):
        numbers = tuple(np.array(column, dtype=float) for column in data)
        assert bootstrap({"x": numbers}, 20)["x"] == Interval(None, None, None, None)

    def test_no_replicates(self):
        assert bootstrap({"x": self.ratio([0.1, 0.2])}, 0)["x"] == Interval(None, None, None, None)
        assert bootstrap({}, 20) == {}

    def test_percentile_ends_against_a_plain_loop(self):
        """The same draws written out: resample images, pool numerator over denominator, take the 2.5 % quantiles."""
        rng = np.random.default_rng(5)
        den = rng.integers(1, 9, size=12).astype(float)
        num = rng.uniform(size=12) * den
        estimates = []
        for replicate in range(200):
            drawn = np.random.default_rng([7, replicate]).integers(0, 12, size=12)
            estimates.append(sum(num[i] for i in drawn) / sum(den[i] for i in drawn))
        found = bootstrap({"x": (num, den)}, 200, seed=7)["x"]
        low, high = np.quantile(estimates, [0.025, 0.975])
        assert (found.percentile_low, found.percentile_high) == pytest.approx((low, high), rel=1e-9)
        assert found.low < num.sum() / den.sum() < found.high

    def test_bca_leans_towards_the_skew(self):
        """A long right tail: BCa's ends lie above the percentile ends (Efron 1987)."""
        found = bootstrap({"x": self.ratio(np.random.default_rng(0).exponential(size=40) ** 2)}, 2000)["x"]
        assert found.low > found.percentile_low and found.high > found.percentile_high

    def test_bca_agrees_with_the_percentile_ends_without_skew(self):
        found = bootstrap({"x": self.ratio(np.linspace(0, 1, 101))}, 2000)["x"]
        assert (found.low, found.high) == pytest.approx((found.percentile_low, found.percentile_high), abs=0.01)


class TestSlices:
    def test_most_frequent_first_then_by_name(self):
        rows = slices([0.2, 0.4, 0.9, 0.7, NAN], ["on", "on", "in", "at", "at"])
        assert [(row["group"], row["n"]) for row in rows] == [("on", 2), ("at", 1), ("in", 1)]
        assert rows[0]["mean"] == pytest.approx(0.3) and rows[1]["mean"] == 0.7

    def test_undefined_group_is_kept(self):
        assert slices([NAN], ["on"]) == [{"group": "on", "n": 0, "mean": None}]
        assert slices([], []) == []


class TestSignature:
    def test_one_line_and_unambiguous(self):
        line = signature({"model": "a|b c\nd", "context": ("px", 20.0), "fit": "pad"})
        assert line == f"model:a\\u007cb c\\u000ad|context:px20|fit:pad|version:{__version__}"

    @pytest.mark.parametrize("space", ["\r", "\u2028", "\x0b"])
    def test_other_line_ends(self, space):
        assert len(signature({"template": f"a{space}b"}).splitlines()) == 1

    def test_templates_that_score_differently_differ(self):
        dual, joined = "{subject} {predicate} {object}", "{subject}_{predicate}_{object}"
        assert signature({"template": dual}) != signature({"template": joined})

    def test_floats_are_short_and_distinct(self):
        values = [0.1, 0.15, 20.0, 1e-5]
        assert len({signature({"x": value}) for value in values}) == len(values)
        assert math.isclose(float(signature({"x": 0.1}).split("|")[0].split(":")[1]), 0.1)


def test_intervals_agree_with_scipy():
    """BCa and percentile ends of a skewed mean against scipy's own bootstrap; both draw 20,000 replicates."""
    from scipy import stats

    sample = np.random.default_rng(7).gamma(1.0, size=60)
    ours = bootstrap({"x": (sample, np.ones(60))}, 20_000)["x"]
    for method, ends in (
        ("BCa", (ours.low, ours.high)),
        ("percentile", (ours.percentile_low, ours.percentile_high)),
    ):
        theirs = stats.bootstrap((sample,), np.mean, n_resamples=20_000, method=method, rng=np.random.default_rng(1))
        assert ends == pytest.approx(tuple(theirs.confidence_interval), abs=0.015)
