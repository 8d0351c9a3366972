"""Equations 1 to 6 of paper 1. Expected values are worked in comments from the printed equations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgeval.relscore import (
    ALPHA,
    harmonic_mean,
    openvocsgg_ref_score,
    penalised,
    possible_pairs,
    ref_score,
    rel_score,
    replaced,
)

PENALTIES = ("guarded", "bounded", "literal", "none")
LN2, LN3, LN4 = 0.6931471805599453, 1.0986122886681098, 1.3862943611198906  # tables of logarithms
NAN = float("nan")

fractions = st.floats(min_value=0.0, max_value=1.0).map(lambda value: round(value, 9))


class TestEquation1:
    @pytest.mark.parametrize(("cosine", "expected"), [(0.31, 0.31), (0.0, 0.0), (-0.2, 0.0), (1.0, 1.0), (-1.0, 0.0)])
    def test_fc24_a_cosine_stays_on_its_own_scale(self, cosine, expected):
        """FC24: cosine 0.31 is 0.31: neither 31 nor 0.775 (CLIPScore's 2.5 x); below 0 it is 0."""
        assert float(rel_score(cosine)) == expected

    def test_nan_stays_undefined(self):
        """FC25: `max(nan, 0)` must not turn into a 0 that is averaged."""
        assert math.isnan(float(rel_score(NAN)))
        assert np.isnan(rel_score([0.1, NAN])).tolist() == [False, True]

    def test_fc16_elementwise(self):
        """FC16: [0.30, 0.10] and [0.30, 0.30]: the first stays 0.30."""
        assert rel_score([0.30, 0.10])[0] == rel_score([0.30, 0.30])[0] == 0.30


class TestEquation4:
    @pytest.mark.parametrize(
        ("m", "p"),
        [(0, 0), (1, 0), (2, 1), (3, 3), (4, 6), (11, 55), (20, 190)],  # m (m − 1) / 2
    )
    def test_pairs(self, m, p):
        assert int(possible_pairs(m)) == p
        assert int(possible_pairs([m])[0]) == p

    def test_against_counting(self):
        for m in range(12):
            assert int(possible_pairs(m)) == sum(1 for i in range(m) for _ in range(i))


TABLE = [
    # p − k, then mean / (ln q + 1e-5) as a divisor: guarded (q = max(p − k, 2)), bounded (q = max(p − k, e), ln e = 1),
    # literal (q = p − k: ln 1 = 0 leaves 1e-5 alone; none at 0 and below), none (divisor 1).
    (4, LN4 + 1e-5, LN4 + 1e-5, LN4 + 1e-5, 1.0),
    (3, LN3 + 1e-5, LN3 + 1e-5, LN3 + 1e-5, 1.0),
    (2, LN2 + 1e-5, 1 + 1e-5, LN2 + 1e-5, 1.0),
    (1, LN2 + 1e-5, 1 + 1e-5, 1e-5, 1.0),
    (0, LN2 + 1e-5, 1 + 1e-5, NAN, 1.0),
    (-1, LN2 + 1e-5, 1 + 1e-5, NAN, 1.0),
]


class TestEquation3:
    def test_alpha(self):
        assert ALPHA == 1e-5

    @pytest.mark.parametrize("row", TABLE, ids=lambda row: f"left{row[0]}")
    @pytest.mark.parametrize("column", range(4), ids=PENALTIES)
    def test_fc14_table(self, row, column):
        """FC14, the card's table: p = 6, k = 2 … 7, mean 0.24."""
        left, *divisors = row
        value = float(penalised(0.24, 6, 6 - left, PENALTIES[column]))
        expected = 0.24 / divisors[column]
        assert value == pytest.approx(expected, rel=1e-12, nan_ok=True)

    def test_fc14_printed_numbers(self):
        """FC14: k = 1 → 0.149 (ln 5 = 1.6094379), 4 → 0.346, 5 → 24 000 as printed, 6 and 7 → no value."""
        literal = penalised([0.24] * 5, 6, [1, 4, 5, 6, 7], "literal")
        assert literal[:3].tolist() == pytest.approx([0.24 / (1.6094379124341003 + 1e-5), 0.24 / (LN2 + 1e-5), 24000.0])
        assert np.isnan(literal[3:]).all()

    def test_default_is_guarded(self):
        assert float(penalised(0.24, 6, 6)) == float(penalised(0.24, 6, 6, "guarded"))

    @pytest.mark.parametrize(
        ("penalty", "expected"),
        [
            ("guarded", [False, False, False, True, True, True]),  # p − k ≤ 1
            ("bounded", [False, False, True, True, True, True]),  # p − k < e
            ("literal", [False] * 6),
            ("none", [False] * 6),
        ],
    )
    def test_which_images_count_as_guarded(self, penalty, expected):
        assert replaced([4, 3, 2, 1, 0, -1], 0, penalty).tolist() == expected

    @given(mean=fractions, m=st.integers(2, 200), k=st.integers(1, 500))
    def test_bounded_is_never_above_the_mean(self, mean, m, k):
        value = float(penalised(mean, possible_pairs(m), k, "bounded"))
        assert 0 <= value <= mean

    @given(mean=fractions, m=st.integers(2, 200), k=st.integers(1, 500))
    def test_guarded_is_finite_and_the_printed_value_where_that_is_sane(self, mean, m, k):
        p = int(possible_pairs(m))
        value = float(penalised(mean, p, k, "guarded"))
        assert math.isfinite(value) and 0 <= value <= mean / LN2
        if p - k >= 2:
            assert value == pytest.approx(mean / (math.log(p - k) + 1e-5), rel=1e-12)

    @pytest.mark.filterwarnings("error")
    def test_no_warning_and_undefined_means_stay_undefined(self):
        for penalty in PENALTIES:
            found = penalised([NAN, 0.5], [1, 10], [1, 1], penalty)
            assert math.isnan(found[0]) and math.isfinite(found[1])

    def test_inputs_are_not_changed(self):
        means = np.array([0.2, 0.3])
        for penalty in PENALTIES:
            penalised(means, 3, 1, penalty)
        assert means.tolist() == [0.2, 0.3]


class TestEquations5And6:
    def test_fc15_worked_values(self):
        """FC15: 2·0.24·1/1.24 = 0.48/1.24, 2·0.24·0.5/0.74 = 0.24/0.74, 0, and 0/0 is 0."""
        found = ref_score([0.24, 0.24, 0.24, 0.0], [1.0, 0.5, 0.0, 0.0])
        assert found.tolist() == pytest.approx([0.48 / 1.24, 0.24 / 0.74, 0.0, 0.0])
        assert [round(value, 3) for value in found.tolist()[:2]] == [0.387, 0.324]

    def test_negative_text_similarity_is_zero(self):
        """Eq. 6: r = max(cos, 0), so −0.4 counts as 0."""
        assert float(ref_score(0.24, -0.4)) == 0.0

    def test_it_is_not_the_printed_constant(self):
        """FC15: eq. 5 as printed is 2 for every s and r."""
        assert len({float(ref_score(s, r)) for s in (0.2, 0.4) for r in (0.3, 0.9)}) == 4

    @given(s=fractions, r=fractions)
    def test_between_its_parts_and_below_equal_texts(self, s, r):
        value = float(ref_score(s, r))
        assert min(s, r) - 1e-15 <= value <= max(s, r) + 1e-15
        assert value <= 2 * s / (1 + s) + 1e-15  # r = 1, equal texts

    @given(a=fractions, b=fractions)
    def test_symmetric(self, a, b):
        assert float(harmonic_mean(a, b)) == float(harmonic_mean(b, a))

    def test_openvocsgg(self):
        """The script: cos(crop, reference text) = 0.24 with 100 x 0.8 = 80: 2·0.24·80/80.24; with 0 both: 0."""
        assert float(openvocsgg_ref_score(0.24, 0.8)) == pytest.approx(38.4 / 80.24)
        assert openvocsgg_ref_score([-0.1, 0.0], [0.8, 0.0]).tolist() == [0.0, 0.0]

    def test_openvocsgg_is_about_twice_the_first_number(self):
        """FC15: why it says little: with any like text the value lies near 2 x 0.24."""
        assert all(0.47 < float(openvocsgg_ref_score(0.24, r)) < 0.48 for r in (0.3, 0.6, 1.0))

    def test_undefined_stays_undefined(self):
        assert math.isnan(float(ref_score(NAN, 0.5))) and math.isnan(float(ref_score(0.5, NAN)))
