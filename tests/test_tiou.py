"""Temporal IoU: values by hand, against counting of ticks, and where rounding must not decide."""

import random
from fractions import Fraction

import numpy as np
import pytest
from reference import tiou as slow

from sgeval.tiou import SpanSets, overlap, union


def tiou(left, right):
    return overlap(SpanSets.of([left]), SpanSets.of([right])).tiou()[0]


def above(left, right, threshold):
    return bool(overlap(SpanSets.of([left]), SpanSets.of([right])).above(threshold)[0])


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        # [0, 10] and [0, 5]: half-open 5 / 10; with ends that count, 6 / 11
        ([(0, 10)], [(0, 5)], Fraction(1, 2)),
        ([(0, 11)], [(0, 6)], Fraction(6, 11)),
        # FC48, several spans, ends that count: [[0, 4], [20, 24]] in [[0, 24]] is 10 / 25, not the hull's 1
        ([(0, 5), (20, 25)], [(0, 25)], Fraction(10, 25)),
        # order and overlaps do not matter: (0, 6) and (4, 8) are 0 to 8; 4 of 10 seconds are shared
        ([(4, 8), (0, 6)], [(4, 10)], Fraction(4, 10)),
        # spans that touch are one; 3 in both, 6 in either
        ([(0, 2), (2, 4)], [(1, 2), (2, 6)], Fraction(3, 6)),
        # several on both sides: shared 1 (1-2) + 2 (10-12); in either 3 (0-3) + 5 (9-14)
        ([(0, 2), (10, 14)], [(1, 3), (9, 12)], Fraction(3, 8)),
        ([(0, 1)], [(1, 2)], Fraction(0)),
        ([], [(1, 2)], Fraction(0)),
        ([], [], Fraction(0)),
        # instants: equal to the same instants alone
        ([(3, 3)], [(3, 3)], Fraction(1)),
        ([(3, 3), (5, 5)], [(5, 5), (3, 3), (3, 3)], Fraction(1)),
        ([(3, 3)], [(4, 4)], Fraction(0)),
        ([(3, 3)], [], Fraction(0)),
        ([(3, 3)], [(3, 4)], Fraction(0)),
        # an instant beside a span with length adds nothing
        ([(0, 2), (7, 7)], [(0, 2)], Fraction(1)),
        # inverted spans have no length
        ([(9, 3)], [(3, 9)], Fraction(0)),
        ([(9, 3)], [(9, 3)], Fraction(0)),
    ],
)
def test_by_hand(left, right, expected):
    assert tiou(left, right) == pytest.approx(float(expected), abs=1e-15)
    assert tiou(right, left) == pytest.approx(float(expected), abs=1e-15)
    assert slow.tiou(left, right) == expected


def test_against_counting_of_ticks():
    rng = random.Random(8)

    def spans(most):
        starts = [(rng.randrange(-3, 30), rng.randrange(-2, 9)) for _ in range(rng.randrange(most))]
        return [(start, start + length) for start, length in starts]

    cases = [(spans(rng.choice((1, 2, 6))), spans(rng.choice((1, 2, 6)))) for _ in range(4000)]
    left, right = (SpanSets.of([case[side] for case in cases]) for side in (0, 1))
    found = overlap(left, right)
    exact = [slow.tiou(*case) for case in cases]
    assert found.tiou() == pytest.approx([float(value) for value in exact], abs=1e-12)
    for threshold in (Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)):
        assert found.above(float(threshold)).tolist() == [value > threshold for value in exact]
    assert sum(value == Fraction(1, 2) for value in exact) > 5  # the border was met


@pytest.mark.parametrize("fps", [5, 29.97, 30000 / 1001, 23.976])
def test_exact_halves_are_not_above_a_half(fps):
    """Frames s to e of the source become s / fps and e / fps seconds: rounding goes either way, a half stays a half."""
    for start in (0, 1, 7, 1001, 123_457):
        for frames in (1, 3, 7, 11, 150):
            gold = [(start / fps, (start + 2 * frames) / fps)]
            half = [(start / fps, (start + frames) / fps)]
            assert tiou(gold, half) == pytest.approx(0.5)
            assert not above(gold, half, 0.5)
            more = [(start / fps, (start + frames + 1) / fps)]
            assert above(gold, more, 0.5)


def test_one_frame_in_a_million_counts():
    """A film of 2,000,000 frames: one frame above a half is above it."""
    fps = 29.97
    assert not above([(0.0, 2_000_000 / fps)], [(0.0, 1_000_000 / fps)], 0.5)
    assert above([(0.0, 2_000_000 / fps)], [(0.0, 1_000_001 / fps)], 0.5)


def test_instants_and_thresholds():
    assert above([(3.0, 3.0)], [(3.0, 3.0)], 0.999) and not above([(3.0, 3.0)], [(3.0, 3.0)], 1.0)
    assert not above([], [], 0.0) and not above([(0.0, 1.0)], [(2.0, 3.0)], 0.0)


def test_many_instants_at_once():
    """Sets of points of time, with repeats, empty ones and inverted spans among them, one by one as Python sets."""
    rng = random.Random(5)
    sides = [
        [[(at, at) for at in rng.choices((1.0, 2.0, 2.5), k=rng.randrange(4))] + [(9.0, 3.0)] * (rng.random() < 0.2)
         for _ in range(600)]
        for _ in (0, 1)
    ]  # fmt: skip
    found = overlap(*map(SpanSets.of, sides)).tiou().tolist()
    points = [[{start for start, end in spans if start == end} for spans in side] for side in sides]
    assert found == [float(bool(one) and one == two) for one, two in zip(*points, strict=True)]
    assert 50 < sum(found) < 300


def test_many_sets_at_once_do_not_mix():
    sets = [[(0.0, 1.0)], [(0.5, 9.0), (0.0, 0.7)], [], [(0.0, 1.0)]]
    assert union(SpanSets.of(sets)).bounds.tolist() == [[0.0, 1.0], [0.0, 9.0], [0.0, 1.0]]
    assert union(SpanSets.of(sets)).sizes().tolist() == [1, 1, 0, 1]
    assert SpanSets.of(sets).take(np.array([3, 1, 1])).sizes().tolist() == [1, 2, 2]
    with pytest.raises(ValueError, match="as many sets on both sides, got 4 and 1"):
        overlap(SpanSets.of(sets), SpanSets.of([[]]))
