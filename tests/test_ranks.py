"""The formulas of θ: values by hand, the field's own accidents, and what the authors' script makes of the same scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgeval import ranks


def standing(*lists, truths=None):
    """The places of lists of scores, the truth first unless said."""
    flat = [value for scores in lists for value in scores]
    return ranks.places(flat, [len(scores) for scores in lists], truths or [0] * len(lists))


def theta_of(scores, truth=0):
    found = standing(scores, truths=[truth])
    return float(ranks.theta(found.higher, found.tied, [len(scores)])[0])


def precision_of(scores, truth=0):
    found = standing(scores, truths=[truth])
    return float(ranks.precision(found.higher, found.tied)[0])


class TestTheta:
    def test_fc17_rank_of_the_truth_and_not_of_the_winner(self):
        """One of four candidates is above the truth: 1 − 1/4. The script takes the place of the best: 1 − 3/4."""
        scores = [0.20, 0.10, 0.05, 0.90]
        assert theta_of(scores) == 0.75
        found = standing(scores)
        assert ranks.openvocsgg_theta(found.first_best, [4]).tolist() == [0.25]

    @pytest.mark.parametrize("truth", range(4))
    def test_where_the_truth_stands_in_the_list_does_not_matter(self, truth):
        others = [0.10, 0.05, 0.90]
        scores = [*others[:truth], 0.20, *others[truth:]]
        assert theta_of(scores, truth) == 0.75

    def test_three_tied_top_scores_give_the_average_rank(self):
        """Ranks 0, 1, 2 of four are shared: (0 + 1 + 2) / 3 = 1, so 1 − 1/4; the top is shared by three: 1/3."""
        assert theta_of([0.5, 0.5, 0.1, 0.5]) == 0.75
        assert precision_of([0.5, 0.5, 0.1, 0.5]) == pytest.approx(1 / 3)

    def test_best_last_alone_and_all_equal(self):
        assert theta_of([0.9, 0.1, 0.2]) == 1.0 and precision_of([0.9, 0.1, 0.2]) == 1.0
        assert theta_of([0.1, 0.9, 0.2]) == pytest.approx(1 / 3) and precision_of([0.1, 0.9, 0.2]) == 0.0
        assert theta_of([0.3]) == 1.0 and precision_of([0.3]) == 1.0
        # All n equal: the average rank is (n − 1)/2, so θ is the chance level (n + 1)/(2n).
        assert theta_of([0.3] * 5) == pytest.approx(0.6) == ranks.chance_theta([5])[0]

    def test_negative_scores_keep_their_order(self):
        """Clipping at 0 (eq. 1) would tie these; the rank is of the raw scores."""
        assert theta_of([-0.1, -0.3, -0.2]) == 1.0

    def test_several_lists_do_not_touch(self):
        found = standing([0.1, 0.2], [0.9], [0.3, 0.1, 0.1], truths=[0, 0, 2])
        assert found.higher.tolist() == [1, 0, 1] and found.tied.tolist() == [0, 0, 1]

    def test_nothing(self):
        found = ranks.places([], [], [])
        assert ranks.theta(found.higher, found.tied, []).shape == (0,)

    @given(st.lists(st.integers(-5, 5), min_size=1, max_size=9), st.data())
    def test_against_a_plain_sort(self, scores, data):
        """The average over all orders of ties of the truth's place in a sorted list, counted."""
        truth = data.draw(st.integers(0, len(scores) - 1))
        above = sorted((value for index, value in enumerate(scores) if index != truth), reverse=True)
        places = [k for k in range(len(scores)) if sorted([*above, scores[truth]], reverse=True)[k] == scores[truth]]
        assert theta_of(scores, truth) == pytest.approx(1 - (sum(places) / len(places)) / len(scores))

    @given(st.integers(1, 200))
    def test_chance_is_the_mean_over_all_ranks(self, n):
        assert ranks.chance_theta([n])[0] == pytest.approx(np.mean([1 - rank / n for rank in range(n)]))


class TestNearTies:
    def test_closer_than_a_ten_thousandth(self):
        found = standing([0.2, 0.20009, 0.2002, 0.2, 0.1])
        assert (found.near.tolist(), found.tied.tolist()) == ([2], [1])


class TestSoftmax:
    def test_fc16_a_neighbour_changes_it(self):
        """100 x 0.30 against 100 x 0.10: e^20 to 1. Against itself: one half. The cosine is 0.30 both times."""
        assert standing([0.30, 0.10]).softmax[0] == pytest.approx(1 / (1 + np.exp(-20)))
        assert standing([0.30, 0.30]).softmax[0] == 0.5

    def test_large_scores_do_not_overflow(self):
        assert standing([1000.0, 0.0]).softmax.tolist() == [1.0]


class TestScript:
    """`protocol="openvocsgg"`: the truth is put in front, and the place of the first best counts."""

    @pytest.mark.parametrize(
        ("scores", "truth", "best"),
        [([0.9, 0.1, 0.2], 0, 0), ([0.1, 0.9, 0.2], 0, 1), ([0.1, 0.2, 0.9], 0, 2), ([0.9, 0.1, 0.2], 2, 1),
         ([0.1, 0.9, 0.2], 2, 2), ([0.5, 0.5], 1, 0)],
    )  # fmt: skip
    def test_place_of_the_best_once_the_truth_is_moved_to_the_front(self, scores, truth, best):
        assert standing(scores, truths=[truth]).first_best.tolist() == [best]

    def test_pf1_half_plus_half_of_the_precision(self):
        """With exchangeable distractors the winner, where it is not the truth, is at each of the places 1 … L − 1 alike
        often: their mean is L/2, so θ is 1/2 there and 1 elsewhere, 0.5 + Prec/2 on average. Eq. 7 is not that."""
        generator = np.random.default_rng(0)
        n, size = 40_000, 12
        scores = generator.standard_normal((n, size))
        scores[:, 0] += 0.8
        found = ranks.places(scores.ravel(), [size] * n, [0] * n)
        precision = ranks.precision(found.higher, found.tied).mean()
        script = ranks.openvocsgg_theta(found.first_best, [size] * n)
        # Standard error of the mean: the script's values have a spread of about 0.33, so 0.33 / 200 = 0.0017.
        assert script.mean() == pytest.approx(0.5 + precision / 2, abs=0.006)
        theta = ranks.theta(found.higher, found.tied, [size] * n).mean()
        assert theta > 0.5 + precision / 2 + 0.05
        # By integration: P(another is above the truth) = Φ(−0.8/√2) = 0.286 (tables), so E[rank] = 11 · 0.286.
        assert theta == pytest.approx(1 - 11 * 0.2858 / 12, abs=0.004)

    def test_it_hangs_on_the_order_and_eq_7_does_not(self):
        first, second = standing([0.2, 0.9, 0.1]), standing([0.2, 0.1, 0.9])
        assert first.first_best.tolist() != second.first_best.tolist()
        assert first.higher.tolist() == second.higher.tolist()


class TestWins:
    def test_undefined_stays_undefined(self):
        assert np.isnan(ranks.wins([0.1, np.nan], [np.nan, 0.1])).all()
