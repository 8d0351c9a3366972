"""The formulas of the role values on columns and counts, by hand and beside scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from sgeval import roles
from sgeval.roles import KINDS, NOTHING, VERB, Columns, State


def columns(kind, lengths, role, gold, predicted, verb=None, said=None, **more):
    def ints(values):
        return np.array(values, dtype=np.int64)

    nothing = [NOTHING] * len(lengths)
    sides = [ints(side) for side in (kind, lengths, verb or nothing, said or nothing, role, gold, predicted)]
    return Columns(*sides, role_names="abc", value_names="uvwxyz", verb_names=("hold", "wipe"), **more)


class TestMarks:
    def test_a_wrong_verb_takes_its_roles_along(self):
        """FC41: three right values under a wrong verb; the other frame is an object, whose verb is nobody's business."""
        found = columns([VERB, 1], [3, 1], [0, 1, 2, 0], [0, 1, 2, 3], [0, 1, 2, 3], [0, NOTHING], [1, NOTHING])
        assert roles.hits(found, "top1").tolist() == [0, 0, 0, 1]
        assert roles.hits(found, "gold").tolist() == [1, 1, 1, 1]
        assert roles.n_right(found, roles.hits(found, "top1")).tolist() == [0, 1]
        assert roles.n_right(found, roles.hits(found, "gold")).tolist() == [3, 1]

    def test_no_predicted_verb_is_a_wrong_one(self):
        found = columns([VERB], [1], [0], [0], [0], [0], [NOTHING])
        assert roles.wrong_verbs(found).tolist() == [True]

    def test_nothing_at_all(self):
        found = columns([], [], [], [], [])
        assert roles.n_right(found, roles.hits(found)).tolist() == []
        assert roles.state(found).frames == {} and roles.role_scores(roles.state(found)) == {}
        assert roles.verb_score(roles.state(found)) == roles.NO_SCORE

    def test_percent_of_nothing(self):
        assert roles.percent(0, 0) is None and roles.percent(1, 3) == 100 / 3


class TestClassScores:
    def test_fc39_precision_and_recall_follow_their_names(self):
        """Truth a a b c, predicted a b b b. a: annotated 2, predicted 1, both 1; b: 1, 3, 1; c: 1, 0, 0.
        Precision 1, 1/3, 0: 4/9. Recall 1/2, 1, 0: 1/2. F1 2/3, 2/4, 0: 7/18. The other way round P and R change places."""
        counts = np.array([[2, 1, 1], [1, 3, 1], [1, 0, 0]])
        precision, recall, f1 = (side.mean() for side in roles.class_scores(counts))
        assert (precision, recall, f1) == pytest.approx((400 / 9, 50, 700 / 18))
        precision, recall, _ = (side.mean() for side in roles.class_scores(counts[:, [1, 0, 2]]))
        assert (precision, recall) == pytest.approx((50, 400 / 9))

    @pytest.mark.parametrize("seed", range(4))
    def test_as_scikit_learn_over_the_classes_of_either_side(self, seed):
        rng = np.random.default_rng(seed)
        gold, said = rng.integers(0, 6, 30), rng.integers(0, 7, 30)
        found = columns([1] * 30, [1] * 30, [0] * 30, np.minimum(gold, 5), np.minimum(said, 5))
        score = roles.role_scores(roles.state(found))["a"]
        how = {"average": "macro", "zero_division": 0}
        sides = np.minimum(gold, 5), np.minimum(said, 5)
        expected = [100 * of(*sides, **how) for of in (precision_score, recall_score, f1_score)]
        assert [score.precision, score.recall, score.f1] == pytest.approx(expected)
        assert score.n_classes == len({*sides[0].tolist(), *sides[1].tolist()})

    def test_under_a_wrong_verb_an_equal_value_is_a_miss_and_a_false_alarm(self):
        """Two verb frames, tool u both annotated and predicted; the verb of the second is wrong. u: annotated 2, predicted
        2, both 1: precision, recall, F1 and accuracy 1/2."""
        found = columns([VERB] * 2, [1, 1], [0, 0], [0, 0], [0, 0], [0, 0], [0, 1])
        score = roles.role_scores(roles.state(found))["a"]
        assert [score.accuracy, score.precision, score.recall, score.f1] == [50, 50, 50, 50]

    def test_no_answer_is_no_class(self):
        """Annotated u u, predicted u and nothing: precision 1/1, recall 1/2, over the one class."""
        score = roles.role_scores(roles.state(columns([1, 1], [1, 1], [0, 0], [0, 0], [0, NOTHING])))["a"]
        assert (score.n, score.n_classes, score.precision, score.recall) == (2, 1, 100, 50)


class TestState:
    def random(self, seed, n=50):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(1, 5, n)
        size, kind = lengths.sum(), rng.integers(0, len(KINDS), n)
        verbs = [np.where(kind == VERB, rng.integers(low, 2, n), NOTHING) for low in (0, -1)]
        n_gold = rng.integers(1, 3, size)
        gold = rng.integers(0, 6, size)
        is_right = rng.random(size) < 0.6
        said = np.where(is_right, gold, rng.integers(-1, 6, size))
        hits = np.where(said == gold, rng.integers(1, n_gold + 1), 0)
        return columns(
            kind,
            lengths,
            rng.integers(0, 3, size),
            gold,
            said,
            verbs[0].tolist(),
            verbs[1].tolist(),
            hits=hits,
            n_gold=n_gold,
        )

    def part(self, whole, frames):
        frames = np.array(frames, dtype=np.int64)
        of_item = np.repeat(np.arange(len(whole.lengths)), whole.lengths)
        items = np.concatenate([np.flatnonzero(of_item == frame) for frame in frames] or [np.zeros(0, int)]).astype(int)
        sides = (whole.kind, whole.lengths, whole.verb, whole.predicted_verb)
        flat = (whole.role, whole.gold, whole.predicted)
        names = (whole.role_names, whole.value_names, whole.verb_names, whole.hits[items], whole.n_gold[items])
        return Columns(*(side[frames] for side in sides), *(side[items] for side in flat), *names)

    @pytest.mark.parametrize("setting", ["top1", "gold"])
    @pytest.mark.parametrize("seed", range(3))
    def test_parts_merge_to_the_whole_in_any_order(self, seed, setting):
        whole = self.random(seed)
        owner = np.random.default_rng(seed).integers(0, 4, len(whole.lengths))
        parts = [roles.state(self.part(whole, np.flatnonzero(owner == part)), setting) for part in range(4)]
        expected = roles.state(whole, setting)
        for order in ((0, 1, 2, 3), (3, 1, 0, 2)):
            a, b, c, d = (parts[index] for index in order)
            for merged in (
                a.merge(b).merge(c).merge(d),
                a.merge(b.merge(c.merge(d))),
                State().merge(a).merge(b.merge(c)).merge(d),
            ):
                assert merged.classes.by_name() == expected.classes.by_name()
                assert (merged.frames, merged.items, merged.verbs) == (expected.frames, expected.items, expected.verbs)
                assert merged.counts == expected.counts
                assert roles.role_scores(merged) == roles.role_scores(expected)
                assert roles.verb_score(merged) == roles.verb_score(expected)

    def test_parts_with_names_of_their_own(self):
        one = roles.state(columns([1], [1], [0], [1], [1]))
        found = columns([1], [1], [2], [0], [0])
        other = roles.state(replace(found, role_names="cba", value_names="vu"))
        assert one.merge(other).classes.by_name() == {("object", "a", "v"): (2, 2, 2)}

    def test_parts_of_different_size_whose_names_are_numbers(self):
        """Codes that are their own names: the longer range holds both, whichever comes first."""
        small = replace(columns([1], [1], [0], [1], [1]), role_names=range(1), value_names=range(2))
        large = replace(columns([1], [1], [2], [5], [4]), role_names=range(3), value_names=range(6))
        expected = {("object", 0, 1): (1, 1, 1), ("object", 2, 5): (1, 0, 0), ("object", 2, 4): (0, 1, 0)}
        for one, other in ((small, large), (large, small)):
            assert roles.state(one).merge(roles.state(other)).classes.by_name() == expected

    def test_many_names_take_the_sparse_road(self, monkeypatch):
        whole = self.random(5)
        expected = roles.state(whole).classes.by_name()
        monkeypatch.setattr(roles, "DENSE", 0)
        names = range(10_000)
        said = np.where(whole.predicted < 0, NOTHING, whole.predicted * 1000)
        wide = replace(whole, gold=whole.gold * 1000, predicted=said, value_names=names)
        found = roles.state(wide).classes.by_name()
        assert {(kind, role, "uvwxyz"[value // 1000]): n for (kind, role, value), n in found.items()} == expected
