"""Geometry: corners, unions, overlaps, crops and what of them the encoder sees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgeval.boxes import area, clip_boxes, corners, inside, intersection, iou, union_box
from sgeval.errors import SgevalError
from sgeval.regions import check_context, crop_rects, endpoint_cut, seen_window

WIDTH, HEIGHT = 640, 480


def box(*numbers):
    return np.array([numbers], dtype=np.float64)


def rect(union, context="none", width=WIDTH, height=HEIGHT):
    return crop_rects(box(*union), width, height, context)[0].tolist()


@st.composite
def boxes_in(draw, width=WIDTH, height=HEIGHT):
    """A box with area that touches the picture; it may stick out on any side."""
    x1, y1 = draw(st.floats(-200, width - 0.01)), draw(st.floats(-200, height - 0.01))
    x2, y2 = draw(st.floats(max(x1, 0) + 0.01, width + 200)), draw(st.floats(max(y1, 0) + 0.01, height + 200))
    return (x1, y1, x2, y2)


class TestBoxes:
    def test_corners(self):
        assert corners([[10, 20, 30, 60], [-5.5, 0, 1, 2]]).tolist() == [[10, 20, 40, 80], [-5.5, 0, -4.5, 2]]
        assert corners([]).shape == (0, 4)
        assert corners([[1, 2, 3, 4]]).dtype == np.float64

    def test_corners_keeps_its_input(self):
        given = np.array([[1.0, 2.0, 3.0, 4.0]])
        corners(given)[0, 0] = 9
        assert given.tolist() == [[1, 2, 3, 4]]

    @pytest.mark.parametrize(
        ("one", "two", "expected"),
        [
            ((0, 0, 2, 2), (0, 0, 2, 2), 1.0),
            ((0, 0, 2, 2), (1, 0, 3, 2), 1 / 3),  # common 2, total 4 + 4 − 2
            ((0, 0, 4, 4), (1, 1, 3, 3), 1 / 4),  # inside: 4 of 16
            ((0, 0, 2, 2), (2, 0, 4, 2), 0.0),  # touching
            ((0, 0, 2, 2), (5, 5, 6, 6), 0.0),  # apart on both axes: no product of two negative sides
            ((1, 1, 1, 1), (1, 1, 1, 1), 0.0),  # no area
        ],
    )
    def test_iou(self, one, two, expected):
        assert float(iou(box(*one), box(*two))[0]) == pytest.approx(expected)
        assert float(iou(box(*two), box(*one))[0]) == pytest.approx(expected)

    def test_area_of_what_is_apart_is_zero(self):
        assert float(area(intersection(box(0, 0, 1, 1), box(5, 5, 6, 6)))[0]) == 0.0

    def test_union(self):
        assert union_box(box(0, 5, 2, 6), box(1, 3, 4, 5)).tolist() == [[0, 3, 4, 6]]

    def test_clip(self):
        """FC01's box loses its area; FC04's [-8, -5, 40, 40] keeps [0, 0, 32, 35]."""
        found = clip_boxes(corners([[179, -904, 55, 25], [-8, -5, 40, 40]]), WIDTH, HEIGHT)
        assert area(found).tolist() == [0.0, 32.0 * 35.0]
        assert found[1].tolist() == [0, 0, 32, 35]

    def test_inside(self):
        found = inside(
            np.concatenate([box(0, 0, 641, 481), box(-1, 0, 5, 5), box(0, 0, 642, 5), box(-2, 0, 5, 5)]), 640, 480
        )
        assert found.tolist() == [True, True, False, False]

    @given(one=boxes_in(), two=boxes_in())
    def test_iou_in_range(self, one, two):
        assert 0 <= float(iou(box(*one), box(*two))[0]) <= 1


class TestCrops:
    def test_fc08_margin_on_all_sides(self):
        """FC08: [100,100,200,200] with 20 px: [80,80,220,220]; the script's quirk only by name: [80,80,200,200]."""
        assert rect((100, 100, 200, 200), ("px", 20)) == [80, 80, 220, 220]
        assert rect((100, 100, 200, 200), "openvocsgg") == [80, 80, 200, 200]
        assert rect((100, 100, 200, 200)) == [100, 100, 200, 200]

    @pytest.mark.parametrize(
        ("union", "context", "expected"),
        [
            ((100, 100, 200, 200), ("ratio", 0.1), [90, 90, 210, 210]),  # a tenth of the side, each side
            ((100, 100, 200, 140), ("ratio", 0.25), [75, 90, 225, 150]),  # 25 of the width, 10 of the height
            ((5, 5, 630, 470), ("px", 20), [0, 0, 640, 480]),  # kept in the picture
            ((5, 5, 630, 470), ("ratio", 1.0), [0, 0, 640, 480]),
            ((0, 0, 640, 480), ("px", 0), [0, 0, 640, 480]),
        ],
    )
    def test_fc08_relatives(self, union, context, expected):
        assert rect(union, context) == expected

    @pytest.mark.parametrize(
        ("union", "expected"),
        [
            ((100.9, 100.9, 200.9, 200.9), [80, 80, 200, 200]),  # int() cuts 100.9 and 100.0
            ((5, 5, 105, 105), [0, 0, 120, 120]),  # start held at 0, sides still + 20
            ((600, 400, 640, 480), [580, 380, 640, 480]),  # 40 + 20 and 80 + 20
            ((30, 30, 640, 480), [10, 10, 640, 480]),  # 610 + 20 = 630, 450 + 20 = 470
            ((10, 10, 640, 480), [0, 0, 640, 480]),  # 630 + 20 held at the picture's width
            ((100.2, 50, 100.9, 80), [80, 30, 100, 80]),  # width int(0.7) = 0, + 20
        ],
    )
    def test_openvocsgg(self, union, expected):
        assert rect(union, "openvocsgg") == expected

    def test_openvocsgg_leaves_the_picture_only_with_a_box_that_does(self):
        """Right edge: (x − 20) + (w + 20) = x + w. Only an unclipped box runs out, and is black there."""
        assert rect((500, 10, 640, 480), "openvocsgg") == [480, 0, 640, 480]
        assert rect((500, 10, 700, 480), "openvocsgg") == [480, 0, 700, 480]

    def test_fc02_sub_pixel_boxes_grow_outward(self):
        """FC02: [100.2, 50, 100.9, 80] becomes one pixel wide: floor 100, ceil 101."""
        assert rect((100.2, 50, 100.9, 80)) == [100, 50, 101, 80]
        assert rect((639.5, 479.5, 640, 480)) == [639, 479, 640, 480]
        assert rect((0, 0, 0.01, 0.01)) == [0, 0, 1, 1]

    def test_fc04_negative_start_does_not_wrap(self):
        assert rect((-8, -5, 32, 35)) == [0, 0, 32, 35]

    @given(union=boxes_in(), context=st.sampled_from(["none", ("px", 7.5), ("ratio", 0.3)]))
    def test_always_in_the_picture_and_never_empty(self, union, context):
        x1, y1, x2, y2 = rect(union, context)
        assert 0 <= x1 < x2 <= WIDTH and 0 <= y1 < y2 <= HEIGHT
        assert x1 <= max(union[0], 0) and x2 >= min(union[2], WIDTH), "the crop holds the clipped union"

    @given(union=boxes_in(width=3, height=2))
    def test_a_tiny_picture(self, union):
        x1, y1, x2, y2 = rect(union, width=3, height=2)
        assert 0 <= x1 < x2 <= 3 and 0 <= y1 < y2 <= 2

    def test_many_at_once_equal_one_by_one(self):
        unions = np.random.default_rng(0).uniform(0, 300, (20, 2))
        unions = np.concatenate([unions, unions + 50.5], axis=1)
        for context in ("none", "openvocsgg", ("px", 3.0), ("ratio", 0.2)):
            together = crop_rects(unions, WIDTH, HEIGHT, context).tolist()
            assert together == [rect(one, context) for one in unions.tolist()]
        assert crop_rects(np.zeros((0, 4)), WIDTH, HEIGHT).shape == (0, 4)


class TestContextOption:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ("none", "none"),
            ("openvocsgg", "openvocsgg"),
            (["px", 20], ("px", 20.0)),  # YAML and JSON know no tuples
            (("ratio", 0.2), ("ratio", 0.2)),
            (("px", 0), ("px", 0.0)),
        ],
    )
    def test_taken(self, given, expected):
        assert check_context(given) == expected

    @pytest.mark.parametrize(
        "given",
        [
            None,
            "",
            "px",
            20,
            ("px",),
            ("px", -1),
            ("px", "20"),
            ("px", True),
            ("px", float("nan")),
            ("mm", 1),
            ("px", 1e9),
            {},
        ],
    )
    def test_refused(self, given):
        with pytest.raises(
            SgevalError, match=r'^context: expected (one of none, openvocsgg|"none", "openvocsgg"), \("ratio", share\)'
        ):
            check_context(given)


class TestWhatTheEncoderSees:
    @pytest.mark.parametrize(
        ("crop", "mode", "fit", "expected"),
        [
            ((0, 0, 300, 100), "shortest", "model", [100, 0, 200, 100]),
            ((10, 20, 110, 320), "shortest", "model", [10, 120, 110, 220]),  # centre y 170, half side 50
            ((0, 0, 101, 100), "shortest", "model", [0.5, 0, 100.5, 100]),
            ((0, 0, 300, 100), "shortest", "pad", [0, 0, 300, 100]),
            ((0, 0, 300, 100), "shortest", "squash", [0, 0, 300, 100]),
            ((0, 0, 300, 100), "longest", "model", [0, 0, 300, 100]),
            ((0, 0, 300, 100), "squash", "model", [0, 0, 300, 100]),
        ],
    )
    def test_window(self, crop, mode, fit, expected):
        assert seen_window(np.array(crop), mode, fit).tolist() == expected

    @pytest.mark.parametrize(
        ("subject", "obj", "expected"),
        [
            ((0, 0, 50, 100), (250, 0, 300, 100), True),  # both outside the middle 100…200
            ((90, 0, 110, 100), (120, 0, 180, 100), False),  # the subject is seen to exactly one half
            ((89, 0, 110, 100), (120, 0, 180, 100), True),  # 10 of 21
            ((0, 0, 300, 100), (120, 0, 180, 100), True),  # the subject fills the crop: a third is seen
            ((100, 0, 200, 100), (120, 10, 130, 20), False),
        ],
    )
    def test_endpoint_cut_at_half_of_an_area(self, subject, obj, expected):
        crop = np.array((0, 0, 300, 100))
        assert endpoint_cut(np.array(subject, float), np.array(obj, float), crop, "shortest") is expected
        assert endpoint_cut(np.array(subject, float), np.array(obj, float), crop, "shortest", "pad") is False
