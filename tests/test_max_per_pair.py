"""A number of predictions a pair (`max_per_pair`) and one for one (`assignment="one_to_one"`), worked by hand."""

import pytest
from kit import parts
from temporal_kit import graph, judge_of, random_graphs, relation

import sgeval
from sgeval import svg2_temporal_accuracy
from sgeval.errors import SgevalError
from sgeval.temporal import Options
from sgeval.temporal.scoring import pairs_to_ask

GOLD = graph("v", ["dog", "ball"], [relation(0, "chasing", 1, (0, 10)), relation(1, "near", 0, (0, 10))], duration=20)


def said(*relations, attributes=None):
    return graph("v", ["dog", "ball"], list(relations), attributes)


def scored(row, value):
    return {**row, "score": value}


def result(prediction, gold=GOLD, judge="exact", **options):
    return svg2_temporal_accuracy([prediction], [gold], judge=judge, denominator="predictions", **options)


class TestRelations:
    def test_the_surest_count_and_the_rest_is_wrong(self):
        """Four on dog–ball: the right one has the second score, and a fifth on ball–dog. With N = 1 the first alone counts: 1
        of 2 found, 1 of 5 predictions right; with N = 2 both: 2 of 2 and 2 of 5."""
        rows = [
            relation(0, "on", 1, (0, 10)),
            scored(relation(0, "biting", 1, (0, 10)), 0.9),
            scored(relation(0, "chasing", 1, (0, 10)), 0.4),
            scored(relation(0, "eating", 1, (0, 10)), 0.4),
            relation(1, "near", 0, (0, 10)),
        ]
        for most, accuracy, precision, over in ((1, 50, 20, 3), (2, 100, 40, 2), (4, 100, 40, 0), (None, 100, 40, 0)):
            found = result(said(*rows), max_per_pair=most)
            assert (found["relation_accuracy"], found["relation_precision"]) == (accuracy, pytest.approx(precision))
            assert (found["triplet_accuracy"], found["triplet_precision"]) == (accuracy, pytest.approx(precision))
            assert found["n_predicted_relations"] == 5
            assert found.get("n_over_limit") == (None if most is None else over)

    def test_of_equal_scores_the_first_by_position(self):
        first, second = relation(0, "chasing", 1, (0, 10)), relation(0, "on", 1, (0, 10))
        assert result(said(first, second), max_per_pair=1)["relation_accuracy"] == 50
        assert result(said(second, first), max_per_pair=1)["relation_accuracy"] == 0

    def test_repeats_are_one(self):
        """Equal words in another spelling with the same spans in another order; other spans are another relation. The best of
        their scores stands: 3 predictions of which 1 repeats, N = 1, 1 of 2 found and 1 of 2 predicted right."""
        spans = (0, 4), (4, 10)
        rows = [
            relation(0, "CHASING", 1, *spans),
            scored(relation(0, "chasing", 1, *spans[::-1]), 0.7),
            scored(relation(0, "chasing", 1, (0, 1)), 0.5),
        ]
        found = result(said(*rows), max_per_pair=1)
        assert (found["n_repeats"], found["n_over_limit"], found["n_predicted_relations"]) == (1, 1, 2)
        assert (found["relation_accuracy"], found["relation_precision"]) == (50, 50)
        assert result(said(*rows))["n_predicted_relations"] == 3

    def test_no_judge_is_asked_about_the_rest(self):
        rows = [relation(0, f"word {number}", 1, (0, 10)) for number in range(40)]
        seen = []

        def ask(pairs):
            seen.extend(pairs)
            return judge_of({})(pairs)

        result(said(*rows), judge=judge_of({}, ask=ask), max_per_pair=2)
        assert {pair.prediction for pair in seen if pair.kind == "predicate"} == {"word 0", "word 1"}
        assert pairs_to_ask([said(*rows)], [GOLD], options=Options(max_per_pair=2)) == seen

    def test_any_score_goes_before_none(self):
        rows = [relation(0, "on", 1, (0, 10)), scored(relation(0, "chasing", 1, (0, 10)), -5.0)]
        assert result(said(*rows), max_per_pair=1)["relation_accuracy"] == 50


class TestAttributes:
    GOLD = graph("v", ["dog"], [], {0: ["brown", "big"]})

    def test_the_first_of_an_object_count(self):
        """Repeats are one; brown is the third distinct one: N = 2 finds neither, N = 3 finds 1 of 2, 1 of 4 predicted."""
        mine = graph("v", ["dog"], [], {0: ["red", "Red", "tall", "brown", "RED ", "old"]})
        for most, accuracy, over in ((2, 0, 2), (3, 50, 1)):
            found = result(mine, self.GOLD, max_per_pair=most)
            assert (found["attribute_accuracy"], found["n_over_limit"], found["n_repeats"]) == (accuracy, over, 2)
            assert found["attribute_precision"] == (25 if accuracy else 0) and found["n_predicted_attributes"] == 4

    def test_one_for_one(self):
        """ "brownish" is taken for brown and for tan: both under `any`, one of two when one serves one."""
        gold = graph("v", ["dog"], [], {0: ["brown", "tan"]})
        judge = judge_of({("attribute", word, "brownish"): "synonym" for word in ("brown", "tan")})
        mine = graph("v", ["dog"], [], {0: ["brownish"]})
        assert result(mine, gold, judge)["attribute_accuracy"] == 100
        found = result(mine, gold, judge, assignment="one_to_one")
        assert (found["attribute_accuracy"], found["attribute_precision"]) == (50, 100)
        both = graph("v", ["dog"], [], {0: ["brownish", "Tan"]})  # brownish gives tan away to Tan
        assert result(both, gold, judge, assignment="one_to_one")["attribute_accuracy"] == 100

    def test_one_for_one_stays_in_its_object(self):
        gold = graph("v", ["dog", "cat"], [], {0: ["brown"], 1: ["brown"]})
        found = result(gold, gold, assignment="one_to_one")
        assert found["attribute_accuracy"] == found["attribute_accuracy_strict"] == 100


class TestOneToOne:
    """Two annotated relations of one pair, "chasing" and "following", 0 to 10 s; a judge takes each word for both."""

    GOLD = graph("v", ["dog", "cat"], [relation(0, word, 1, (0, 10)) for word in ("chasing", "following")])
    JUDGE = judge_of(
        {("predicate", "chasing", "following"): "synonym", ("predicate", "following", "chasing"): "synonym"}
    )

    def test_one_prediction_finds_one(self):
        mine = graph("v", ["dog", "cat"], [relation(0, "chasing", 1, (0, 8))])
        options = {"thresholds": (0.1, 0.7, 0.9)}
        several = result(mine, self.GOLD, self.JUDGE, **options)
        single = result(mine, self.GOLD, self.JUDGE, assignment="one_to_one", **options)
        for kind in ("relation", "triplet"):
            for ending, found in (("", 50), ("_tiou_0.1", 50), ("_tiou_0.7", 50), ("_tiou_0.9", 0)):  # tIoU is 0.8
                assert several[f"{kind}_accuracy{ending}"] == 2 * found
                assert single[f"{kind}_accuracy{ending}"] == found
                assert single[f"{kind}_precision{ending}"] == 2 * found

    def test_two_predictions_find_two_whatever_their_order(self):
        """The greedy choice would give "chasing" to the first and leave nothing for it: a largest matching does not."""
        rows = [relation(0, "chasing", 1, (0, 10)), relation(0, "following", 1, (0, 10))]
        for listed in (rows, rows[::-1]):
            mine = graph("v", ["dog", "cat"], listed)
            assert result(mine, self.GOLD, self.JUDGE, assignment="one_to_one")["triplet_accuracy"] == 100

    def test_copies_with_other_spans_find_one_strictly(self):
        """Six spans of chasing find one "chasing" strictly; leniently N of them serve what they may."""
        rows = [relation(0, "chasing", 1, (0, 9.5 + number / 10)) for number in range(6)]
        mine = graph("v", ["dog", "cat"], rows)
        options = {"assignment": "one_to_one", "identical": "canonical", "max_per_pair": 3}
        found = result(mine, self.GOLD, "exact", **options)
        assert (found["relation_accuracy"], found["relation_precision"]) == (50, pytest.approx(100 / 6))


class TestOption:
    @pytest.mark.parametrize("given", [0, -1, 1.5, "3", True])
    def test_refused(self, given):
        with pytest.raises(SgevalError, match="max_per_pair: expected a whole number of 1 or more"):
            result(said(), max_per_pair=given)

    def test_the_signature_says_it_only_where_it_is_set(self):
        plain, limited = (parts(result(said(), max_per_pair=most)) for most in (None, 3))
        assert "maxperpair" not in plain and limited == {**plain, "maxperpair": "3"}

    def test_a_number_that_nobody_reaches_moves_nothing(self):
        mine, gold = random_graphs(3, 20)
        plain, limited = (
            svg2_temporal_accuracy(mine, gold, judge="exact", assignment="one_to_one", max_per_pair=most)
            for most in (None, 1000)
        )
        shares = [key for key in plain if key.endswith(("accuracy", "_strict"))]
        assert limited["n_over_limit"] == 0 and len(shares) == 8
        assert {key: limited[key] for key in shares} == {key: plain[key] for key in shares}

    def test_the_module_knows_the_scores(self):
        import evaluate

        rows = [relation(0, "on", 1, (0, 10)), scored(relation(0, "chasing", 1, (0, 10)), 0.4)]
        metric = evaluate.load(sgeval.path("svg2_temporal_accuracy"))
        options = {"judge": "exact", "max_per_pair": 1}
        found = metric.compute(predictions=[said(*rows)], references=[GOLD], **options)
        assert found == svg2_temporal_accuracy([said(*rows)], [GOLD], **options) and found["relation_accuracy"] == 50

    def test_rows_are_sound_after_writing(self, tmp_path):
        from sgeval.runs import read_run, write_run
        from sgeval.temporal.scoring import score

        rows = [relation(0, f"word {number}", 1, (0, 10)) for number in range(4)]
        scoring = score(
            [said(*rows)], [GOLD], judge="exact", options=Options(max_per_pair=2, denominator="predictions")
        )
        told = write_run(tmp_path / "run", "mine", scoring, {})
        assert told["n_over_limit"] == 2 and read_run(tmp_path / "run").sample.score("relation_precision") == 0.0
