"""Spans of time: the four conventions by hand, and the way back."""

import random

import pytest

from sgeval.errors import SgevalError
from sgeval.spans import is_rate, merged, odd_spans, to_raw, to_seconds


@pytest.mark.parametrize(
    ("convention", "raw", "seconds"),
    [
        ({"unit": "frame", "end": "inclusive", "fps": 5.0}, (0, 9), (0.0, 2.0)),  # 0/5, 10/5
        ({"unit": "frame", "end": "inclusive", "fps": 5.0}, (3, 3), (3 / 5, 4 / 5)),  # one frame lasts 1/5 s
        ({"unit": "frame", "end": "inclusive", "fps": 5.0}, (540, 626), (108.0, 627 / 5)),
        ({"unit": "frame", "end": "inclusive", "fps": 5.0}, (12, 4), (12 / 5, 1.0)),  # inverted stays inverted
        ({"unit": "frame", "end": "exclusive", "fps": 25.0}, (2, 6), (2 / 25, 6 / 25)),
        ({"unit": "frame", "end": "exclusive", "fps": 25.0}, (6, 6), (6 / 25, 6 / 25)),
        ({"unit": "index_1fps", "end": "inclusive"}, (0, 10), (0.0, 11.0)),
        ({"unit": "index_1fps", "end": "exclusive"}, (0, 10), (0.0, 10.0)),
        ({"unit": "second", "end": "exclusive"}, (1.0, 2.5), (1.0, 2.5)),
        ({"unit": "second", "end": "exclusive"}, (1.0, 1.0), (1.0, 1.0)),
    ],
)
def test_by_hand_there_and_back(convention, raw, seconds):
    assert to_seconds([raw], **convention) == (seconds,)
    assert to_raw([seconds], **convention) == (raw,)


@pytest.mark.parametrize("fps", [5.0, 29.97002997002997, 23.976, 30.0, 1 / 3, 59.94, 1000.0])
@pytest.mark.parametrize("end", ["inclusive", "exclusive"])
def test_frames_come_back_whole(fps, end):
    rng = random.Random(7)
    raw = tuple((float(rng.randrange(2**31)), float(rng.randrange(2**31))) for _ in range(2_000))
    convention = {"unit": "frame", "end": end, "fps": fps}
    assert to_raw(to_seconds(raw, **convention), **convention) == raw


def test_the_slowest_and_the_fastest_rate_are_rates():
    assert is_rate(0.001) and is_rate(1_000_000) and not is_rate(0.00099) and not is_rate(1_000_000.1)


@pytest.mark.parametrize(
    ("convention", "words"),
    [
        ({"unit": "frames", "end": "inclusive"}, 'span_unit: expected one of frame, .* did you mean "frame"'),
        ({"unit": "frame", "end": "closed", "fps": 5.0}, "span_end: expected one of inclusive, exclusive"),
        ({"unit": "frame", "end": "inclusive"}, "fps: expected frames a second .* got null"),
        ({"unit": "frame", "end": "inclusive", "fps": 0.0}, "fps: expected .* got 0.0"),
        ({"unit": "frame", "end": "inclusive", "fps": float("nan")}, "fps: expected .* got NaN"),
        ({"unit": "second", "end": "inclusive"}, "expected exclusive where the unit is a second"),
    ],
)
def test_refused(convention, words):
    for way in (to_seconds, to_raw):
        with pytest.raises(SgevalError, match=words):
            way([(0.0, 1.0)], **convention)


class TestOdd:
    @pytest.mark.parametrize(
        ("raw", "end", "length", "found"),
        [
            ([(0, 5)], "inclusive", 6, {}),  # frames 0 to 5 of 6
            ([(0, 6)], "exclusive", 6, {}),
            ([(0, 6)], "inclusive", 6, {"beyond_clip": [0]}),
            ([(4, 9), (20, 30)], "inclusive", 6, {"beyond_clip": [0, 1]}),
            ([(4, 9)], "inclusive", None, {}),
            ([(-1, 2)], "exclusive", 6, {"beyond_clip": [0]}),
            ([(5, 3)], "exclusive", 6, {"inverted": [0]}),
            ([(3, -2)], "exclusive", 6, {"inverted": [0], "beyond_clip": [0]}),  # its end lies before the clip
            ([(6, 3)], "inclusive", 6, {"inverted": [0], "beyond_clip": [0]}),  # 6 frames are 0 to 5
            ([(6, 3)], "exclusive", 6, {"inverted": [0]}),
            ([(5, 4)], "inclusive", 6, {"inverted": [0], "empty": [0]}),  # backwards in the source, and no frame at all
            ([(5, 4), (2, 3)], "inclusive", 6, {"inverted": [0], "empty": [0]}),
            ([(1, 1)], "exclusive", 6, {"empty": [0]}),
            ([(1, 1)], "inclusive", 6, {}),
            ([(0, 2), (3, 5)], "inclusive", 6, {}),  # they touch
            ([(0, 2), (2, 5)], "inclusive", 6, {"overlapping": [1]}),  # both hold frame 2
            ([(0, 2), (2, 5)], "exclusive", 6, {}),
            ([(3, 5), (0, 9), (4, 4)], "inclusive", 10, {"overlapping": [0, 2]}),  # (0, 9) starts first and holds both
            ([(2, 12), (2, 13)], "exclusive", 20, {"overlapping": [1]}),
            ([(2, 12), (2, 12)], "exclusive", 20, {"overlapping": [1]}),
        ],
    )
    def test_by_hand(self, raw, end, length, found):
        assert odd_spans(raw, end=end, length=length) == found

    def test_overlap_against_pairs(self):
        """A span overlaps when it shares time with another that starts earlier, or at the same time and stands before."""
        rng = random.Random(3)
        for _ in range(300):
            raw = [(start := rng.randrange(30), start + rng.randrange(6)) for _ in range(rng.randrange(8))]
            wanted = [
                at
                for at, (start, stop) in enumerate(raw)
                if start < stop
                and any(
                    (other, place) < (start, at) and max(start, other) < min(stop, end)
                    for place, (other, end) in enumerate(raw)
                )
            ]
            assert odd_spans(raw, end="exclusive").get("overlapping", []) == wanted


def test_union():
    assert merged([]) == ()
    assert merged([(0.0, 4.0), (20.0, 24.0)]) == ((0.0, 4.0), (20.0, 24.0))
    assert merged([(3.0, 1.0), (2.0, 2.0)]) == ()
