"""θ of lists of scores that were made elsewhere."""

import json

import numpy as np
import pytest

import sgeval
from sgeval.errors import InvalidInput, SgevalError


class TestByHand:
    def test_one_list(self):
        """One of four above the truth: 1 − 1/4; chance (4 + 1)/8."""
        found = sgeval.theta(predictions=[[0.20, 0.10, 0.05, 0.90]], references=[0])
        assert (found["theta"], found["precision"], found["chance_theta"]) == (0.75, 0.0, 0.625)
        assert found["signature"].startswith("metric:theta|input:lists|value:cosine|protocol:paper|singletons:skip|")

    def test_several_lists(self):
        """θ = 1, 1/2 and, left out, a single candidate; mean score (0.4 + 0.2)/2."""
        found = sgeval.theta([[0.1, 0.4], [0.2, 0.3], [0.9]], [1, 0, 0])
        assert (found["theta"], found["precision"], found["mean_score"]) == (0.75, 0.5, pytest.approx(0.3))
        assert (found["n_relations"], found["n_singletons"], found["mean_candidates"]) == (2, 1, 2)
        with_it = sgeval.theta([[0.1, 0.4], [0.2, 0.3], [0.9]], [1, 0, 0], singletons="include")
        assert (with_it["theta"], with_it["n_relations"]) == (pytest.approx(2.5 / 3), 3)

    def test_three_tied_top_scores(self):
        assert sgeval.theta([[0.5, 0.5, 0.1, 0.5]], [3])["theta"] == 0.75

    def test_near_ties_are_counted(self):
        found = sgeval.theta([[0.5, 0.50009], [0.5, 0.5], [0.5, 0.6]], [0, 0, 0])
        assert (found["n_near_ties"], found["n_ties"]) == (2, 1)

    def test_the_script(self):
        found = sgeval.theta([[0.20, 0.10, 0.05, 0.90]], [0], protocol="openvocsgg")
        assert found["theta"] == 0.25 and "protocol:openvocsgg" in found["signature"]

    def test_pf1_the_script_gives_half_plus_half_the_precision(self):
        """With exchangeable distractors on average; the default protocol does not (see tests/test_ranks.py)."""
        generator = np.random.default_rng(1)
        scores = generator.standard_normal((20_000, 10))
        scores[:, 0] += 1.0
        script, paper = (sgeval.theta(scores, np.zeros(20_000, int), protocol=name) for name in ("openvocsgg", "paper"))
        assert script["theta"] == pytest.approx(0.5 + script["precision"] / 2, abs=0.008)
        assert paper["theta"] - (0.5 + paper["precision"] / 2) > 0.05
        assert script["precision"] == paper["precision"]  # no ties

    def test_softmax(self):
        """e^20 against 1."""
        found = sgeval.theta([[0.30, 0.10]], [0], score="softmax100")
        assert found["mean_score"] == pytest.approx(1 / (1 + np.exp(-20)))
        with pytest.warns(UserWarning, match="expects cosines"):
            sgeval.theta([[3.0, 1.0]], [0], score="softmax100")

    def test_intervals_and_items(self):
        scores = np.random.default_rng(2).uniform(size=(50, 6))
        found = sgeval.theta(scores, [0] * 50, bootstrap=200, return_items=True)
        assert found["theta_low"] < found["theta"] < found["theta_high"]
        assert [item["index"] for item in found["items"]] == list(range(50)) and found["items"][3]["n"] == 6
        json.dumps(found, allow_nan=False)

    @pytest.mark.parametrize("seed", range(3))
    def test_any_order_gives_the_same_result_to_the_last_bit(self, seed):
        generator = np.random.default_rng(seed)
        lists = [generator.uniform(size=size).round(2).tolist() for size in generator.integers(1, 9, 200)]
        truths = [int(generator.integers(len(scores))) for scores in lists]
        order = generator.permutation(200)
        before = json.dumps([lists, truths])
        whole = sgeval.theta(lists, truths, bootstrap=100)
        assert sgeval.theta([lists[i] for i in order], [truths[i] for i in order], bootstrap=100) == whole
        assert json.dumps([lists, truths]) == before

    def test_whatever_has_rows_will_do(self):
        """Arrays, tensors and lists of them, tuples: the same numbers. Here 0.3 of 0.1, 0.3 and 0.2 is first, 0.1 last."""
        import torch

        scores, truths = [[0.1, 0.3, 0.2], [0.1, 0.3, 0.2]], [1, 0]
        expected = sgeval.theta(scores, truths)
        assert expected["theta"] == pytest.approx((1 + 1 / 3) / 2)
        for given in (np.array(scores), torch.tensor(scores, dtype=torch.float64), tuple(map(tuple, scores))):
            assert sgeval.theta(given, truths) == expected
        assert sgeval.theta([np.array(row) for row in scores], np.array(truths)) == expected
        assert (
            sgeval.theta([torch.tensor(row, dtype=torch.float64) for row in scores], torch.tensor(truths)) == expected
        )
        assert sgeval.theta((row for row in scores), iter(truths)) == expected


class TestFaults:
    def test_all_at_once(self):
        lists = [[], [0.1, float("nan")], [0.1, None], "abc", [0.1, 0.2], [0.1, 0.2], [True, 0.1]]
        with pytest.raises(InvalidInput) as caught:
            sgeval.theta(lists, [0, 0, 0, 0, 2, -1, 1.0])
        assert list(caught.value.faults) == [
            "predictions[0]: expected a list of at least one score, got []",
            "predictions[1][1]: expected a finite number of at most 1e100, got NaN",
            "predictions[2][1]: expected a finite number of at most 1e100, got null",
            'predictions[3]: expected a list of at least one score, got "abc"',
            "references[4]: expected the position of one of the 2 scores, got 2",
            "references[5]: expected the position of one of the 2 scores, got -1",
            "predictions[6][0]: expected a finite number of at most 1e100, got true",
            "references[6]: expected the position of one of the 2 scores, got 1.0",
        ]

    def test_skipped_and_counted(self):
        found = sgeval.theta([[], [0.1, 0.2]], [0, 1], on_invalid="skip", return_items=True)
        assert (found["n_invalid"], found["theta"], found["items"][0]["index"]) == (1, 1.0, 1)
        nothing = sgeval.theta([[]], [0], on_invalid="skip")
        assert (nothing["theta"], nothing["n_relations"], nothing["n_invalid"]) == (None, 0, 1)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"references": None}, "for each list of scores the position of the truth, got nothing"),
            ({"references": [0, 1]}, r"references: expected one a list of scores \(1\), got 2"),
            ({"predictions": None}, "predictions: expected lists of candidate scores, got null"),
            ({"predictions": [], "references": []}, "expected at least one list of scores, got none"),
            ({"references": 0}, "for each list of scores the position of the truth, got 0"),
            ({"references": {0}}, "for each list of scores the position of the truth"),
            ({"predictions": {"a": [0.1]}}, "predictions: expected lists of candidate scores"),
            ({"predictions": np.array(3.0)}, "predictions: expected lists of candidate scores"),
            ({"predictions": [[10**400, 0.1]]}, r"predictions\[0\]\[0\]: expected a finite number of at most 1e100"),
            ({"predictions": [[1e308, -1e308]]}, r"predictions\[0\]\[0\]: expected a finite number of at most 1e100"),
            ({"images": "photos"}, 'images: only config="graphs" has a use for it'),
            ({"model": "demo"}, 'model: only config="graphs"'),
            ({"limit": 3}, 'limit: only config="graphs"'),
            ({"context": ("px", 3)}, 'context: only config="graphs"'),
            ({"cooccurring": "exclude"}, 'cooccurring: only config="graphs"'),
            ({"bootstrap": 5}, "bootstrap: expected 0 .none. or at least 20, got 5"),
        ],
        ids=str,
    )
    def test_arguments(self, given, words):
        with pytest.raises(SgevalError, match=words):
            sgeval.theta(**{"predictions": [[0.1, 0.2]], "references": [0], **given})
