"""Which prediction belongs to which reference: by id, by given boxes, by overlap."""

import pytest

from sgeval.boxes import corners, iou
from sgeval.errors import InvalidInput, SgevalError
from sgeval.matching import (
    PairMatch,
    align,
    corner_hint,
    first_difference,
    fits_only_as_corners,
    match_objects,
    match_unions,
)
from sgeval.records import Object, Relation, SceneGraph, VideoGraph
from sgeval.relclip import relclipscore


def graph(boxes, relations=(), image_id="a"):
    """`boxes`: id to box. `relations`: (subject, object, score)."""
    objects = tuple(Object(key, "thing", box) for key, box in boxes.items())
    return SceneGraph(image_id, objects, tuple(Relation(s, o, "on", score=score) for s, o, score in relations))


def ids(pairs):
    return [(one and one.key, two and two.key) for one, two in pairs]


class TestAlign:
    A, B, C = (SceneGraph(name) for name in "abc")

    def test_by_id_in_the_order_of_the_references(self):
        assert ids(align([self.B, self.A], [self.A, self.B])) == [("a", "a"), ("b", "b")]
        assert ids(align([self.B, self.A], None)) == [("b", None), ("a", None)]

    def test_every_unknown_and_missing_id_is_named(self):
        with pytest.raises(InvalidInput) as caught:
            align([self.C, self.A, SceneGraph("d")], [self.A, self.B])
        assert caught.value.faults == (
            'predictions[0].image_id: expected an id of the references, got "c"',
            'predictions[2].image_id: expected an id of the references, got "d"',
            'predictions: expected a graph with the image_id "b" of the references, got none',
        )

    def test_videos_say_video_id(self):
        with pytest.raises(InvalidInput, match='the video_id "v"'):
            align([], [VideoGraph("v")])

    def test_missing_zero(self):
        assert ids(align([self.B], [self.A, self.B], "zero")) == [(None, "a"), ("b", "b")]
        with pytest.raises(InvalidInput, match='got "c"'):  # an unknown id stays an error
            align([self.C], [self.A], "zero")
        with pytest.raises(SgevalError, match='missing: "zero" needs references'):
            align([self.A], None, "zero")

    def test_left_out_at_the_border(self):
        """What stands beside an id that was left out is passed over; with "zero" a reference stays, without a prediction."""
        assert ids(align([self.B], [self.A, self.B], left_out={"a"})) == [("b", "b")]
        assert ids(align([self.B], [self.A, self.B], "zero", left_out={"a"})) == [(None, "a"), ("b", "b")]
        assert ids(align([self.A, self.B], [self.B], "zero", left_out={"a"})) == [("b", "b")]

    def test_places_are_those_of_the_rows(self):
        with pytest.raises(
            InvalidInput, match=r"predictions\[4\].image_id: expected an id of the references, got \"c\""
        ):
            align([self.A, self.C], [self.A], positions=[1, 4])

    def test_the_signature_says_what_is_done_with_the_missing(self, two_objects, picture, fake_encoder):
        given = {"references": [two_objects()], "images": [picture(0)], "model": fake_encoder()}
        for policy in ("error", "zero"):
            line = relclipscore([two_objects()], missing=policy, **given)["signature"]
            assert f"missing:{policy}" in line.split("|")

    def test_limit_takes_the_first_references_then_aligns(self):
        """The prediction of b is known but beyond the limit; the missing c is beyond it too."""
        assert ids(align([self.B, self.A], [self.A, self.B, self.C], limit=1)) == [("a", "a")]
        assert ids(align([self.B, self.A], None, limit=1)) == [("b", None)]
        assert ids(align([self.A], [self.A], limit=9)) == [("a", "a")]
        with pytest.raises(InvalidInput, match='"c"'):
            align([self.A, self.C], [self.A, self.B], limit=1)

    @pytest.mark.parametrize("limit", [0, -1, 1.5, "1", True])
    def test_limit_is_checked(self, limit, two_objects, picture, fake_encoder):
        with pytest.raises(SgevalError, match=r"^limit: expected a whole number of 1 or more, got"):
            relclipscore([two_objects()], images=[picture(0)], model=fake_encoder(), limit=limit)


class TestGiven:
    GOLD = graph({0: (0, 0, 10, 10), 1: (20, 0, 10, 10)})

    @pytest.mark.parametrize(
        ("boxes", "expected"),
        [
            ({}, None),
            ({1: (20, 0, 10, 10)}, None),  # some of them, other order
            ({1: (20.0005, 0, 10, 10), 0: (0, 0, 10, 10)}, None),  # within 1e-3 px
            ({0: None}, None),
            (
                {0: (0, 0, 10, 10), 1: (20.01, 0, 10, 10)},
                "objects[1].bbox: expected the reference's [20, 0, 10, 10], got [20.01, 0, 10, 10]",
            ),
            (
                {0: (0, 0, 10, 10), 5: (0, 0, 1, 1)},
                "objects[1].id: expected the id of one of the reference's 2 objects, got 5",
            ),
            (
                {5: (0, 0, 1, 1), 0: (9, 9, 9, 9)},
                "objects[0].id: expected the id of one of the reference's 2 objects, got 5",
            ),
        ],
    )
    def test_first_difference(self, boxes, expected):
        assert first_difference(graph(boxes), self.GOLD) == expected

    def test_error_names_image_and_the_other_modes(self, two_objects, picture, fake_encoder):
        moved = two_objects("b")
        moved["objects"][1]["bbox"] = [21, 10, 10, 10]
        rows, gold = [two_objects("a"), moved], [two_objects("a"), two_objects("b")]
        with pytest.raises(SgevalError) as caught:
            relclipscore(rows, references=gold, images=[picture(0), picture(1)], model=fake_encoder())
        assert str(caught.value) == (
            'prediction of image "b": objects[1].bbox: expected the reference\'s [20.0, 10.0, 10.0, 10.0], got '
            '[21.0, 10.0, 10.0, 10.0]. With matching="given" the predicted objects are absent or equal the '
            'reference\'s boxes; for boxes of a detector choose matching="pair_iou" or "union_iou"'
        )

    def test_objects_and_m_are_the_references(self, two_objects, picture, fake_encoder):
        """Absent objects: labels and boxes of the reference; m = 3, p = 3, one pair scored: coverage 1/3."""
        gold = two_objects()
        gold["objects"].append({"id": 2, "category": "cup", "bbox": [40, 30, 5, 5]})
        encoder = fake_encoder()
        row = {"image_id": "a", "relations": two_objects()["relations"]}
        result = relclipscore([row], references=[gold], images=[picture(0)], model=encoder)
        assert encoder.texts == [["dog on mat"]]
        assert result["pair_coverage"] == pytest.approx(1 / 3)

    def test_unknown_ids_without_objects(self, two_objects, picture, fake_encoder):
        row = {"image_id": "a", "relations": [{"subject_id": 0, "object_id": 9, "predicate": "on"}]}
        with pytest.raises(
            InvalidInput, match=r"relations\[0\].object_id: expected the id of one of the 2 objects, got 9"
        ):
            relclipscore([row], references=[two_objects()], images=[picture(0)], model=fake_encoder())

    @pytest.mark.parametrize("matching", ["pair_iou", "union_iou"])
    def test_overlap_needs_references(self, two_objects, picture, fake_encoder, matching):
        with pytest.raises(SgevalError, match=f'matching: "{matching}" needs references'):
            relclipscore([two_objects()], images=[picture(0)], model=fake_encoder(), matching=matching)


class TestPairIou:
    def test_greedy_by_confidence_one_to_one(self):
        """Gold 0 is [0, 10] wide, gold 1 is [6, 16]; all 10 high. IoU of two that are d apart: (10 − d) / (10 + d).

        Predicted 8 stands at x = 1 (IoU 9/11 with gold 0, d = 5: 5/15 with gold 1), predicted 9 at x = 2 (8/12 and,
        d = 4, 6/14). By score 9 goes first and takes gold 0; 8 finds gold 0 taken, and 1/3 is below 0.5: no match.
        """
        gold = graph({0: (0, 0, 10, 10), 1: (6, 0, 10, 10)})
        boxes = {8: (1, 0, 10, 10), 9: (2, 0, 10, 10), 7: (100, 0, 10, 10)}
        assert match_objects(graph(boxes, [(8, 7, 0.2), (9, 7, 0.9)]), gold) == {9: 0}
        assert match_objects(graph(boxes, [(8, 7, 0.9), (9, 7, 0.2)]), gold) == {8: 0}
        assert match_objects(graph(boxes), gold) == {8: 0}, "without scores: file order"

    def test_the_highest_overlap_wins_and_labels_do_not_matter(self):
        """x = 4: d = 4 to gold 0 (6/14), d = 2 to gold 1 (8/12)."""
        gold = graph({0: (0, 0, 10, 10), 1: (6, 0, 10, 10)})
        assert match_objects(SceneGraph("a", (Object(3, "other", (4, 0, 10, 10)),)), gold) == {3: 1}

    @pytest.mark.parametrize(("width", "expected"), [(5, {0: 0}), (4.99, {})])
    def test_threshold_is_reached_at_one_half(self, width, expected):
        """Inside a box of 10 x 10: width/10; 0.5 counts (IoU ≥ 0.5), 0.499 does not."""
        assert match_objects(graph({0: (0, 0, width, 10)}), graph({0: (0, 0, 10, 10)})) == expected

    @pytest.mark.parametrize(
        ("whole", "half"),
        [
            ((84.9, 63.6, 102.2, 27.0), (84.9, 63.6, 51.1, 27.0)),
            ((30.8, 4.1, 15.2, 1.7), (30.8, 4.1, 7.6, 1.7)),
            ((63.2, 54.3, 111.8, 93.4), (63.2, 54.3, 55.9, 93.4)),
        ],
    )
    def test_rounding_does_not_take_one_half_away(self, whole, half):
        """The half has half the width: IoU 1/2; in floating point 0.49999999999999994 and less."""
        assert iou(corners([half]), corners([whole]))[0] < 0.5
        assert match_objects(graph({5: half}), graph({0: whole})) == {5: 0}
        assert match_objects(graph({5: (*half[:2], half[2] * (1 - 1e-6), half[3])}), graph({0: whole})) == {}

    def test_nothing_to_match(self):
        assert match_objects(graph({}), graph({0: (0, 0, 1, 1)})) == {}
        assert match_objects(graph({0: (0, 0, 1, 1)}), graph({0: None})) == {}

    def test_through_the_metric(self, two_objects, picture, fake_encoder):
        """Other ids, boxes a pixel off, one object too many: crops from the prediction, m from the gold."""
        row = {
            "image_id": "a",
            "objects": [
                {"id": 7, "category": "puppy", "bbox": [6, 5, 10, 10]},
                {"id": 8, "category": "rug", "bbox": [20, 11, 10, 10]},
                {"id": 9, "category": "cup", "bbox": [45, 30, 10, 10]},
            ],
            "relations": [
                {"subject_id": 7, "object_id": 8, "predicate": "on"},
                {"subject_id": 7, "object_id": 9, "predicate": "near"},
            ],
        }
        given = {"images": [picture(0)], "model": fake_encoder(), "matching": "pair_iou", "return_items": True}
        result = relclipscore([row], references=[two_objects()], **given)
        first, second = result["items"]
        assert (first["text"], first["crop"], first["pair"]) == ("puppy on rug", (6, 5, 30, 21), (0, 1))
        assert (first["exact"], second["status"]) == (True, "unmatched")
        assert (result["n_unmatched"], result["n_ref"], result["pair_coverage"]) == (1, 1, 1.0)
        assert "matching:pair_iou0.5" in result["signature"]


class TestUnionIou:
    GOLD = graph({0: (0, 0, 10, 10), 1: (20, 0, 10, 10), 2: (100, 100, 10, 10)})

    def test_orientation_follows_the_boxes(self):
        """The union of gold 0 and 1 is [0, 0, 30, 10]. Predicted 5 lies on gold 1, 6 on gold 0: so 5 → 1 and 6 → 0."""
        mine = graph({5: (20, 0, 10, 10), 6: (0, 0, 10, 10)}, [(5, 6, 0.5)])
        assert match_unions(mine, self.GOLD) == {(5, 6): PairMatch(1, 0), (6, 5): PairMatch(0, 1)}

    def test_each_gold_pair_once_best_score_first(self):
        """Two predicted pairs with the same union: the one with the higher score takes it, the other goes without."""
        boxes = {5: (0, 0, 10, 10), 6: (20, 0, 10, 10), 7: (0, 0, 12, 10), 8: (18, 0, 12, 10)}
        mine = graph(boxes, [(5, 6, 0.1), (7, 8, 0.9)])
        assert set(match_unions(mine, self.GOLD)) == {(7, 8), (8, 7)}

    def test_a_pair_is_matched_once_for_both_directions(self):
        mine = graph({5: (0, 0, 10, 10), 6: (20, 0, 10, 10)}, [(6, 5, 0.1), (5, 6, 0.2), (5, 5, 0.9)])
        assert match_unions(mine, self.GOLD) == {(5, 6): PairMatch(0, 1), (6, 5): PairMatch(1, 0)}

    @pytest.mark.parametrize(("width", "matched"), [(15, True), (14.9, False)])
    def test_threshold(self, width, matched):
        """A union of width x 10 inside the gold's 30 x 10: width/30, 0.5 counts. No single box fits."""
        mine = graph({5: (0, 0, 1, 10), 6: (width - 1, 0, 1, 10)}, [(5, 6, 0.5)])
        assert bool(match_unions(mine, self.GOLD)) is matched

    def test_rounding_does_not_take_one_half_away(self):
        """Unions of 102.2 and of 51.1 x 27, one in the other, in two parts each: IoU 1/2 before rounding."""
        gold = graph({0: (84.9, 63.6, 102.2, 27.0), 1: (84.9, 63.6, 1, 1)})
        mine = graph({5: (84.9, 63.6, 51.1, 27.0), 6: (84.9, 63.6, 1, 1)}, [(5, 6, 0.5)])
        assert match_unions(mine, gold) == {(5, 6): PairMatch(0, 1), (6, 5): PairMatch(1, 0)}

    def test_nothing_to_match(self):
        assert match_unions(graph({}), self.GOLD) == {}
        assert match_unions(graph({5: (0, 0, 9, 9)}, [(5, 5, 1.0), (5, 6, 1.0)]), self.GOLD) == {}
        assert match_unions(graph({5: (0, 0, 9, 9), 6: (1, 1, 9, 9)}, [(5, 6, 1.0)]), graph({0: (0, 0, 9, 9)})) == {}


class TestCornerBoxes:
    """FC03: boxes handed in as corners, judged over the file."""

    @pytest.mark.parametrize(
        ("bbox", "expected"),
        [
            ((500, 400, 550, 440), True),  # 500 + 550 > 641
            ((500, 400, 100, 60), False),  # a box as it should be
            ((500, 400, 300, 60), False),  # leaves, but 300 < 500 is no corner
            ((10, 10, 50, 50), False),  # fits both ways: not judged
            ((500, 400, 900, 440), False),  # leaves as either
            ((-5, 400, 550, 440), False),
            ((0, 0, 641, 481), False),  # one pixel of slack
        ],
    )
    def test_fc03_one_box(self, bbox, expected):
        assert fits_only_as_corners(bbox, 640, 480) is expected

    @pytest.mark.parametrize(("faulty", "total", "hinted"), [(0, 0, False), (0, 3, False), (1, 3, False), (1, 2, True)])
    def test_fc03_at_least_half(self, faulty, total, hinted):
        assert (corner_hint(faulty, total) is not None) is hinted

    def test_fc03_refused_with_the_hint(self, picture, fake_encoder, two_objects):
        row = two_objects()
        row["objects"][0]["bbox"] = [40, 30, 55, 44]  # corners of a box of 15 x 14 in 64 x 48
        with pytest.raises(InvalidInput) as caught:
            relclipscore([row], images=[picture(0)], model=fake_encoder(), on_invalid="skip")
        assert caught.value.faults == (
            "predictions[…].objects[…].bbox: expected boxes as [x, y, width, height], got 1 of 2 boxes that leave "
            "their picture as such and fit as corners [x1, y1, x2, y2]",
        )

    def test_fc03_the_references_are_judged_too(self, picture, fake_encoder, two_objects):
        gold = two_objects()
        gold["objects"][0]["bbox"] = [40, 30, 55, 44]
        row = {"image_id": "a", "relations": gold["relations"]}
        with pytest.raises(InvalidInput, match=r"references\[…\]\.objects\[…\]\.bbox: expected boxes as"):
            relclipscore([row], references=[gold], images=[picture(0)], model=fake_encoder())

    def test_single_boxes_that_stick_out_are_clipped_and_counted(self, picture, fake_encoder, two_objects):
        """One of three boxes leaves 64 x 48 and would fit as corners: cut to [40, 30, 64, 48], counted, scored."""
        row = two_objects(relations=[(2, "on", 1)])
        row["objects"].append({"id": 2, "category": "cup", "bbox": [40, 30, 55, 44]})
        result = relclipscore([row], images=[picture(0)], model=fake_encoder(), return_items=True)
        assert result["n_clipped_boxes"] == 1 and result["n_relations"] == 1
        assert result["items"][0]["subject_box"] == (40, 30, 64, 48)
        assert result["items"][0]["crop"] == (20, 10, 64, 48)

    @pytest.mark.parametrize("used", [False, True])
    def test_boxes_wholly_outside_are_counted_apart(self, picture, fake_encoder, two_objects, used):
        """Of five boxes one sticks out of 64 x 48 and two lie outside, one of them at the edge: m = 5, p = 10."""
        row = two_objects(relations=[(0, "on", 1), *([(0, "by", 3)] if used else [])])
        boxes = ([60, 40, 10, 10], [64, 10, 5, 5], [-20, -20, 10, 10])
        row["objects"] += [{"id": 2 + n, "category": "cup", "bbox": box} for n, box in enumerate(boxes)]
        given = {"images": [picture(0)], "model": fake_encoder(), "on_invalid": "skip", "return_items": True}
        result = relclipscore([row], **given)
        assert (result["n_clipped_boxes"], result["n_outside_boxes"]) == (1, 2)
        assert (result["images"][0]["m"], result["n_invalid_relations"]) == (5, int(used))
        assert result["pair_coverage"] == pytest.approx(1 / 10)
