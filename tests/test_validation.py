"""The border: every fault at once, worded as place, expectation, value; and what is left out with a fault."""

from dataclasses import replace

import pytest
from row_kit import dog, faults, mat, on, row

from sgeval.errors import InvalidInput
from sgeval.records import Relation, SceneGraph
from sgeval.relclip import make_options, relclipscore, score
from sgeval.validation import parse_graphs

LABEL = "a text with more than blanks and punctuation (at most 10,000 characters)"
PLACE = "a number of pixels from -1,000,000,000 to 1,000,000,000"
LENGTH = "a number of pixels above 0 (at most 1,000,000,000)"
SIDE = "a whole number of pixels from 1 to 1,000,000, or null"
ID = "a non-empty string (at most 1,024 characters), or a whole number"
BOX = "four finite numbers [x, y, width, height] in pixels, width and height above 0"
END = "the id of an object: a whole number of 0 or more"

WORDED = [
    # the row, the place after `predictions[0]`, what is expected, what is shown
    (row([dog(id="x"), mat()], [on(subject_id=1)]), ".objects[0].id", "a whole number of 0 or more", '"x"'),
    (row([dog(id=-1), mat()], [on(subject_id=1)]), ".objects[0].id", "a whole number of 0 or more", "-1"),
    (row([dog(category=7), mat()]), ".objects[0].category", LABEL, "7"),
    (row([dog(), mat(bbox=[1, 2, 3])]), ".objects[1].bbox", BOX, "[1, 2, 3]"),
    (row([dog(), mat(bbox=[1, 2, 3, 4, 5])]), ".objects[1].bbox", BOX, "[1, 2, 3, 4, 5]"),
    (row([dog(), mat(bbox={"x": 1})]), ".objects[1].bbox", BOX, '{"x": 1}'),
    (row([dog(), mat(bbox=[780, 603, 2, 0])]), ".objects[1].bbox[3]", LENGTH, "0"),  # FC02
    (row([dog(), mat(bbox=[1, "2", 3, 4])]), ".objects[1].bbox[1]", PLACE, '"2"'),
    (row([dog(), mat(bbox=[1e308, 2, 3, 4])]), ".objects[1].bbox[0]", PLACE, "1e+308"),
    (row([dog(), mat(bbox=[1, 2, 3, 1e10])]), ".objects[1].bbox[3]", LENGTH, "10000000000.0"),
    (row(width=1_000_001), ".width", SIDE, "1000001"),
    (row(relations=[on(object_id=7)]), ".relations[0].object_id", "the id of one of the 2 objects", "7"),  # FC75
    (row(relations=[on(subject_id=-1)]), ".relations[0].subject_id", END, "-1"),  # FC75
    (row(relations=[on(predicate="")]), ".relations[0].predicate", LABEL, '""'),  # FC28
    (row(relations=[on(score="high")]), ".relations[0].score", "a finite number, or null", '"high"'),
    (row(relations=["on"]), ".relations[0]", "an object with subject_id, object_id and predicate", '"on"'),
    (row(objects=[dog(), mat(), "cup"]), ".objects[2]", "an object with id and category", '"cup"'),
    (row(objects="none"), ".objects", "a list of objects", '"none"'),
    (row(width=0), ".width", SIDE, "0"),
    (row(width=640.5), ".width", SIDE, "640.5"),
    ({}, ".image_id", ID, "nothing"),
    ({"image_id": " "}, ".image_id", ID, '" "'),
    ([1, 2], "", "an object with image_id, objects and relations", "[1, 2]"),
    (None, "", "an object with image_id, objects and relations", "null"),
]


class TestFaults:
    @pytest.mark.parametrize(("plain", "place", "expected", "value"), WORDED, ids=range(len(WORDED)))
    def test_wording(self, plain, place, expected, value):
        assert faults([plain]) == [f"predictions[0]{place}: expected {expected}, got {value}"]

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
    def test_numbers_that_are_not_finite(self, number):
        """From Python (files cannot hold them): in boxes and scores."""
        for place in range(4):
            box = [1.0, 2.0, 3.0, 4.0]
            box[place] = number
            assert len(faults([row([dog(), mat(bbox=box)])])) == 1
        assert len(faults([row(relations=[on(score=number)])])) == 1

    def test_all_at_once(self):
        """Five faults in three rows, in the order of the file; the sound row does not hide them."""
        rows = [
            row([dog(category=None), mat(bbox=[1, 2])], width=-1),
            row(image_id="sound"),
            row(image_id="b", relations=[on(predicate=" "), on(), on(object_id=9)]),
        ]
        assert [fault.split(": ")[0] for fault in faults(rows)] == [
            "predictions[0].width",
            "predictions[0].objects[0].category",
            "predictions[0].objects[1].bbox",
            "predictions[2].relations[0].predicate",
            "predictions[2].relations[2].object_id",
        ]

    def test_both_sides_at_once(self, fake_encoder):
        with pytest.raises(InvalidInput) as caught:
            relclipscore([row(width=0)], references=[row(height=0)], images={}, model=fake_encoder())
        places = [fault.split(":")[0] for fault in caught.value.faults]
        assert places == ["predictions[0].width", "references[0].height"]

    def test_doubled_ids(self):
        assert faults([row(), row(image_id="b"), row()]) == [
            'predictions[2].image_id: expected each id once, got "a" again (first in predictions[0])'
        ]
        assert faults([row([dog(), mat(), dog()])]) == [
            "predictions[0].objects[2].id: expected each object id once, got 0 again"
        ]
        assert faults([row(image_id=5), row(image_id="5")]) == [
            'predictions[1].image_id: expected each id once, got "5" again (first in predictions[0])'
        ]

    def test_a_double_that_is_faulty_otherwise_is_told_too(self):
        assert faults([row(), row(relations=[on(), on(predicate="")])]) == [
            f'predictions[1].relations[1].predicate: expected {LABEL}, got ""',
            'predictions[1].image_id: expected each id once, got "a" again (first in predictions[0])',
        ]
        assert [fault.split(":")[0] for fault in faults([row(width=-1), row()])] == [
            "predictions[0].width",
            "predictions[1].image_id",
        ]
        assert len(faults([row(image_id=""), row(image_id="")])) == 2, "an id that is no id is no double"

    def test_one_fault_does_not_make_another(self):
        assert len(faults([row([dog(id=True), mat()], [on(subject_id=1)])])) == 1

    def test_more_than_twenty_are_counted(self):
        with pytest.raises(InvalidInput) as caught:
            parse_graphs([row(image_id=str(number), width=0) for number in range(25)])
        lines = str(caught.value).splitlines()
        assert lines[0] == "predictions: 25 faults" and len(lines) == 23
        assert lines[-1] == '  on_invalid="skip" leaves out what is faulty, and counts it'
        assert lines[-2] == "  … and 5 more (`sgeval validate FILE --json` lists them all)"
        assert len(caught.value.faults) == 25

    def test_control_characters_and_length_of_shown_values(self):
        [fault] = faults([row([dog(bbox="a\n\x1b[31m\x7f\u2028\u202e" + "x" * 500), mat()])])
        assert fault.isprintable() and len(fault) < 250

    @pytest.mark.parametrize(
        "item",
        [
            dog(segmentation={"size": [1], "counts": "x"}),
            dog(segmentation={"size": [1, 2], "counts": 4}),
            dog(roles=["x"]),
            dog(merged_ids=["x"]),
        ],
    )
    def test_every_fault_has_expectation_and_value(self, item):
        assert all(": expected " in fault and ", got " in fault for fault in faults([row([item, mat()])]))

    @pytest.mark.parametrize(
        "plain",
        [
            row(relations=[on(spans="x")]),
            row(relations=[on(spans=[[0, 1]])]),
            row(relations=[on(raw_spans=5)]),
            row([dog(track=5), mat()]),
        ],
        ids=["spans", "span pairs", "raw_spans", "track"],
    )
    def test_video_fields_in_a_picture_row(self, plain):
        """A key of the other kind is an unknown key: kept, warned of, never built unchecked."""
        parsed = parse_graphs([plain])
        assert len(parsed.graphs[0].extra) == 1 and len(parsed.warnings) == 1
        assert all(item.spans is None and item.raw_spans is None for item in parsed.graphs[0].relations)

    @pytest.mark.parametrize("item", [dog(bbox="x"), dog(bbox=[1, 2]), dog(area="x"), dog(segmentation=4)], ids=str)
    def test_picture_fields_in_a_video_row(self, item):
        parsed = parse_graphs([{"video_id": "v", "objects": [item]}], kind="video")
        assert parsed.graphs[0].objects[0].bbox is None and "/objects/0/bbox" in parsed.graphs[0].extra

    @pytest.mark.parametrize("kind", ["image", "video"])
    def test_whole_numbers_beyond_a_float(self, kind):
        """400 digits pass the JSON reader (its limit is 4,300)."""
        relation = on(score=10**400) if kind == "image" else on(spans=[{"start": 10**400, "end": 1}])
        assert faults([{**row(relations=[relation]), f"{kind}_id": "a"}], kind=kind)

    @pytest.mark.parametrize(
        "more",
        [
            {"fps": float("inf")},
            {"duration": float("nan")},
            {"relations": [on(spans=[{"start": float("nan"), "end": 1.0}])]},
            {"relations": [on(raw_spans=[[0.0, float("inf")]])]},
            {"objects": [{"id": 0, "category": "x", "track": [{"frame": 0, "bbox": [float("nan"), 0, 1, 1]}]}]},
            {"objects": [{"id": 0, "category": "x", "area": float("nan")}]},
        ],
        ids=str,
    )
    def test_not_finite_in_a_video(self, more):
        assert faults([{"video_id": "v", **more}], kind="video")

    def test_deep_value_of_a_python_caller(self):
        deep = []
        for _ in range(5000):
            deep = [deep]
        faults([row(note=deep)])


class TestSkip:
    def test_the_smallest_faulty_part_goes(self):
        """A relation (1), an object with its two relations (3), a record (1): 5 left out, the rest stays."""
        rows = [
            row(relations=[on(), on(predicate="")]),
            row([dog(), mat(), dog(id=2, category="")], [on(), on(object_id=2), on(subject_id=2)], image_id="b"),
            row(image_id="c", width=-1),
            row(image_id="d"),
        ]
        parsed = parse_graphs(rows, on_invalid="skip")
        assert parsed.n_invalid == 5
        assert [graph.image_id for graph in parsed.graphs] == ["a", "b", "d"]
        assert [len(graph.relations) for graph in parsed.graphs] == [1, 1, 1]
        assert [item.id for item in parsed.graphs[1].objects] == [0, 1]
        assert len(parsed.faults) == 3 and parsed.dropped == {2: "c"} and parsed.positions == [0, 1, 3]
        assert parsed.cut == {"a": (1,), "b": (1, 2)}

    def test_fc75_out_of_range_and_negative(self):
        """FC75: (0, 7) of two objects and −1: faults with their place; −1 must not pick the last object."""
        parsed = parse_graphs([row(relations=[on(object_id=7), on(subject_id=-1), on()])], on_invalid="skip")
        assert parsed.n_invalid == 2 and parsed.graphs[0].relations == (Relation(0, 1, "on"),)

    def test_all_objects_gone(self):
        parsed = parse_graphs([row([dog(bbox=1), mat(bbox=2)])], on_invalid="skip")
        assert parsed.n_invalid == 3 and parsed.graphs == [SceneGraph("a")]

    def test_of_doubles_the_first_sound_one_stays(self):
        """a twice: the second is left out. b: the first is beyond repair, the second stays. c: cut, then a double."""
        rows = [row(), row(relations=[on(), on()]), row(image_id="b", width=-1), row(image_id="b")]
        rows += [row(image_id="c", relations=[on(), on(predicate="")]), row(image_id="c", relations=[on(score="x")])]
        parsed = parse_graphs(rows, on_invalid="skip")
        assert parsed.positions == [0, 3, 4] and [len(graph.relations) for graph in parsed.graphs] == [1, 1, 1]
        assert parsed.n_invalid == 4 and len(parsed.faults) == 6
        assert parsed.dropped == {1: "a", 2: "b", 5: "c"} and parsed.left_out == set()

    @pytest.mark.parametrize("side", ["predictions", "references"])
    def test_the_first_of_doubles_is_scored(self, side, fake_encoder, picture):
        sound = [row(), row(image_id="b")]
        doubled = [row(), row(relations=[on(predicate="by"), on(score="x")]), row(image_id="b")]
        images = {"a": picture(0), "b": picture(1)}

        def result(predictions, references):
            return relclipscore(
                predictions, references=references, images=images, model=fake_encoder(), on_invalid="skip"
            )

        found = result(doubled, sound) if side == "predictions" else result(sound, doubled)
        assert (found["n_images"], found["n_relations"], found["n_invalid"], found["n_ref"]) == (2, 2, 1, 2)
        assert found == result(sound, sound) | {"n_invalid": 1}

    def test_a_relation_counts_alike_at_the_border_and_later(self, fake_encoder, picture):
        """Of two relations one names object 7: found at the border when the row has objects, later without them."""
        relations = [on(), on(object_id=7)]
        given = {"references": [row()], "images": {"a": picture(0)}, "model": fake_encoder(), "on_invalid": "skip"}
        names = ("n_predicted", "n_relations", "n_invalid", "n_invalid_relations")
        for plain in (row(relations=relations), {"image_id": "a", "relations": relations}):
            result = relclipscore([plain], **given)
            assert [result[name] for name in names] == [2, 1, 1, 1]

    def test_counts_of_parts_add_up(self, fake_encoder, picture):
        """Rows made apart: an object with its relation, a relation, a record; together 4 parts, of them 2 relations."""
        rows = [
            row([dog(), mat(), dog(id=2, category="")], [on(), on(object_id=2)]),
            row(image_id="b", relations=[on(), on(predicate="")]),
            row(image_id="c", width=-1),
        ]
        given = {"images": {"a": picture(0), "b": picture(1)}, "model": fake_encoder()}
        options = make_options({"on_invalid": "skip"})
        whole = score(rows, options=options, **given)
        parts = score(rows[:1], options=options, **given).rows.merge(score(rows[1:], options=options, **given).rows)
        assert replace(whole, rows=parts).result() == whole.result()
        result = whole.result()
        assert (result["n_invalid"], result["n_invalid_relations"], result["n_predicted"]) == (4, 2, 4)

    def test_the_signature_says_so(self, fake_encoder, picture):
        given = {"images": {"a": picture(0)}, "model": fake_encoder()}
        lines = [relclipscore([row()], on_invalid=policy, **given)["signature"] for policy in ("error", "skip")]
        assert "invalid:error" in lines[0].split("|") and "invalid:skip" in lines[1].split("|")

    def test_count_reaches_the_result(self, fake_encoder, picture):
        rows = [row(relations=[on(), on(predicate=None)]), {"objects": []}]
        result = relclipscore(rows, images={"a": picture(0)}, model=fake_encoder(), on_invalid="skip")
        assert (result["n_invalid"], result["n_relations"]) == (2, 1)

    def test_a_row_without_id_is_not_called_none(self):
        parsed = parse_graphs([{"objects": []}, row(image_id="None")], on_invalid="skip")
        assert parsed.n_invalid == 1 and len(parsed.graphs) == 1

    def test_a_skipped_prediction_has_no_lost_reference(self, fake_encoder, picture):
        """`on_invalid="skip"`: skipped items are counted, the run goes on."""
        rows, gold = [row(width=-1), row(image_id="b")], [row(), row(image_id="b")]
        given = {"images": {"a": picture(0), "b": picture(1)}, "model": fake_encoder(), "on_invalid": "skip"}
        result = relclipscore(rows, references=gold, **given)
        assert (result["n_invalid"], result["n_images"], result["n_missing"]) == (1, 1, 0)

    def test_a_skipped_prediction_is_missing_where_missing_counts(self, steady_encoder, picture):
        """`missing="zero"`: the reference stays and scores 0: (0.4 + 0) / 2."""
        rows, gold = [row(width=-1), row(image_id="b")], [row(), row(image_id="b")]
        given = {"images": {"a": picture(0), "b": picture(1)}, "model": steady_encoder({"dog on mat": 0.4})}
        result = relclipscore(rows, references=gold, on_invalid="skip", missing="zero", **given)
        assert result["mean_score"] == pytest.approx(0.2)
        assert (result["n_invalid"], result["n_images"], result["n_missing"]) == (1, 2, 1)
