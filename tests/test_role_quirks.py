"""What the released scorer does otherwise, on small examples: its rules written down here, plainly, beside ours.

Source: InComNet/evaluation.py of github.com/LUNAProject22/SSG, read and not copied. Values are whole numbers there, roles
are compared by position, and a wrong verb is marked by a class that no value has.
"""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score
from ssg_rows_kit import contact, frame

import sgeval

MARK = 5000
NAMES = ("accuracy", "precision", "recall", "f1")


def scores(truth, said):
    """Macro scores as the released code takes them: over every class of either list, the mark too."""
    how = {"average": "macro", "zero_division": 0}
    macro = [of(truth, said, **how) for of in (precision_score, recall_score, f1_score)]
    return [100 * value for value in (accuracy_score(truth, said), *macro)]


def released(truth, said, wrong):
    """Its scores of one role of verb frames: the two sides have changed places, and then the "truth" is masked."""
    truth, said = said, truth
    return scores([MARK if is_wrong else value for value, is_wrong in zip(truth, wrong)], said)


def intended(truth, said, wrong):
    """The same with the sides in their places."""
    return scores([MARK if is_wrong else value for value, is_wrong in zip(truth, wrong)], said)


def ours(truth, said, wrong, **options):
    gold = [contact(index, "hold", {"tool": int(value)}) for index, value in enumerate(truth)]
    mine = [
        contact(index, "wipe" if is_wrong else "hold", {"tool": int(value)})
        for index, (value, is_wrong) in enumerate(zip(said, wrong))
    ]
    found = sgeval.ssg_role_values(mine, gold, **options)
    return [found[f"verb_role_{name}"] for name in NAMES]


def test_exchanged_sides_exchange_precision_and_recall():
    """Truth a a b c, said a b b b (FC39): P 4/9, R 1/2; the released code has them the other way round, F1 the same."""
    truth, said, right = [0, 0, 1, 2], [0, 1, 1, 1], [False] * 4
    accuracy, precision, recall, f1 = ours(truth, said, right)
    assert (precision, recall) == pytest.approx((400 / 9, 50))
    assert released(truth, said, right) == pytest.approx([accuracy, recall, precision, f1])
    assert intended(truth, said, right) == pytest.approx([accuracy, precision, recall, f1])


def test_the_mark_of_a_wrong_verb():
    """Truth a a, said a b, the first verb wrong. As meant the mark replaces the first truth: (mark, a) against (a, b). As
    released it replaces the first prediction, and the sides have changed places: (mark, b) against (a, a). Ours: a is
    annotated twice, predicted once and never both, b is predicted once; the mark is no class."""
    truth, said, wrong = [0, 0], [0, 1], [True, False]
    assert released(truth, said, wrong) == scores([MARK, 1], [0, 0])
    assert intended(truth, said, wrong) == scores([MARK, 0], [0, 1])
    assert ours(truth, said, wrong) == [0, 0, 0, 0]


def test_the_mark_changes_macro_scores_and_nothing_else():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 8, 400)
    said = np.where(rng.random(400) < 0.6, truth, rng.integers(0, 8, 400))
    wrong = rng.random(400) < 0.3
    mine, theirs, meant = (of(truth, said, wrong) for of in (ours, released, intended))
    assert mine[0] == pytest.approx(theirs[0]) and theirs[0] == pytest.approx(meant[0])  # accuracy: none
    for name, other in (("released", theirs), ("meant", meant)):
        assert mine[1:] != pytest.approx(other[1:], abs=1), name
    masked = np.where(wrong, MARK, truth)  # a class that nobody can get right, one in nine, lowers the mean
    without = 100 * f1_score(masked, said, labels=range(8), average="macro", zero_division=0)
    assert meant[3] == pytest.approx(without * 8 / 9)
    assert theirs[1:3] != pytest.approx(meant[1:3], abs=0.1)


def test_a_frame_without_roles_is_right_and_wrong_there():
    """Two frames, one without roles. There: value 1/2, value-all 2/2 ([] equals []). Here the empty one is left out."""
    truth, said = [[7], []], [[7], []]
    value = sum(any(a == b for a, b in zip(*pair)) for pair in zip(truth, said)) / 2
    value_all = sum(a == b for a, b in zip(truth, said)) / 2
    assert (value, value_all) == (0.5, 1.0)
    gold = [frame("A", {"tool": 7}), frame("B")]
    found = sgeval.ssg_role_values(gold, gold)
    assert (found["value"], found["value_all"], found["n_empty_frames"]) == (100, 100, 1)


def test_roles_are_compared_by_name():
    """There by position, in an order that both sides share; here in any."""
    gold, said = [frame("A", {"tool": 1, "place": 2})], [frame("A", {"place": 2, "tool": 1})]
    assert sgeval.ssg_role_values(said, gold)["value_all"] == 100
