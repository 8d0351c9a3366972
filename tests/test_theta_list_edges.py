"""θ of lists at their edges: ties under the script, scores that are no cosines, and what lists have no use for."""

import warnings

import numpy as np
import pytest

import sgeval
from sgeval import ranks
from sgeval.errors import SgevalError


class TestTies:
    @pytest.mark.parametrize("truth", [0, 1, 2])
    def test_the_script_gives_a_shared_top_whole(self, truth):
        """The truth is put in front and is then the first best; eq. 7's Prec is a third, θ the mean of ranks 0, 1, 2."""
        script, paper = (sgeval.theta([[0.5, 0.5, 0.5]], [truth], protocol=name) for name in ("openvocsgg", "paper"))
        assert (script["precision"], script["theta"]) == (1.0, 1.0)
        assert (paper["precision"], paper["theta"]) == (pytest.approx(1 / 3), pytest.approx(2 / 3))

    def test_a_tie_below_the_top_is_no_hit(self):
        """The truth shares the second place: the best of four stands last once the truth is in front."""
        script = sgeval.theta([[0.5, 0.5, 0.1, 0.9]], [1], protocol="openvocsgg")
        assert (script["precision"], script["theta"], script["n_ties"]) == (0.0, 0.25, 1)

    def test_near_is_closer_than_the_constant(self, monkeypatch):
        """Quarters and eighths are exact: a quarter apart is not near, an eighth is, above and below."""
        monkeypatch.setattr(ranks, "NEAR", 0.25)
        assert ranks.places([0.5, 0.75, 0.25], [3], [0]).near.tolist() == [0]
        assert ranks.places([0.5, 0.625, 0.375], [3], [0]).near.tolist() == [2]
        assert sgeval.theta([[0.5, 0.75], [0.5, 0.25], [0.5, 0.625]], [0, 0, 0])["n_near_ties"] == 1

    def test_a_single_candidate_ties_with_nothing(self):
        for singletons in ("skip", "include"):
            found = sgeval.theta([[0.5], [0.5, 0.1]], [0, 0], singletons=singletons)
            assert (found["n_singletons"], found["n_ties"], found["n_near_ties"]) == (1, 0, 0)


class TestSoftmax:
    @pytest.mark.parametrize(
        ("scores", "expected"),
        [
            ([-1000.0, 1000.0], 0.0),
            ([-1000.0, -1000.0], 0.5),
            ([1000.0, 1000.0, 1000.0, 1000.0], 0.25),
            ([1000.0, -1000.0], 1.0),
            ([-0.02, -0.01], 1 / (1 + np.e)),
        ],
    )
    def test_no_size_of_scores_overflows(self, scores, expected):
        with np.errstate(over="raise", invalid="raise", divide="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            found = ranks.places([*scores, 0.3, 0.1], [len(scores), 2], [0, 0])
        assert found.softmax[0] == pytest.approx(expected)
        assert found.softmax[1] == pytest.approx(1 / (1 + np.exp(-20)))

    @pytest.mark.parametrize(("scores", "truth"), [([-3.0, 0.1], 1), ([0.1, -1.01], 0), ([1.01, 0.1], 1)])
    def test_scores_beyond_cosines_are_told_on_both_sides(self, scores, truth):
        with pytest.warns(UserWarning, match="softmax100 expects cosines"):
            sgeval.theta([[0.3, 0.1], scores], [0, truth], score="softmax100")

    def test_cosines_are_not_told(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sgeval.theta([[1.0, -1.0]], [1], score="softmax100")
            sgeval.theta([[3.0, -3.0]], [1])


@pytest.mark.parametrize(
    "given",
    [
        {"cache": "cache"},
        {"vocabulary": {("dog", "mat"): ["on"]}},
        {"vocabulary_graphs": []},
        {"device": "cpu"},
        {"precision": "fp16"},
        {"preprocess": "tensor"},
        {"symmetric": []},
        {"fit": "pad"},
        {"template": "{subject} {predicate} {object}"},
        {"normalisation": "none"},
        {"on_bad_image": "skip"},
        {"confusers": "all"},
        {"batch_size": 2},
    ],
    ids=str,
)
def test_what_lists_have_no_use_for(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SgevalError, match=f'{next(iter(given))}: only config="graphs" has a use for it'):
        sgeval.theta([[0.1, 0.2]], [0], **given)
    assert not list(tmp_path.iterdir())
