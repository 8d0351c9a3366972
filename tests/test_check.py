"""`validate` says at once what scoring would refuse; each case is also handed to scoring."""

import json
from pathlib import Path

import pytest
from PIL import Image

from sgeval.check import check_file
from sgeval.errors import SgevalError
from sgeval.formats import read_graphs
from sgeval.relclip import relclipscore

NOTHING = "predictions: expected at least one image, got none"


@pytest.fixture
def case(tmp_path, fake_encoder, picture):
    """Files of rows, pictures of 64 x 48 pixels, and both judges over them."""
    return Case(tmp_path, fake_encoder, picture)


class Case:
    def __init__(self, folder, encoder, picture):
        self.folder, self.encoder = folder, encoder
        self.images = folder / "images"
        self.images.mkdir()
        for number, name in enumerate("abc"):
            picture(number).save(self.images / f"{name}.jpg")

    def file(self, name, rows):
        path = self.folder / f"{name}.jsonl"
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return path

    def check(self, predictions, references=None, images=True, **more):
        gold = None if references is None else self.file("references", references)
        images = self.images if images else None
        return check_file(self.file("predictions", predictions), references=gold, images=images, **more)

    def refusal(self, predictions, references=None, **options):
        """What scoring says to the same files; nothing when it takes them."""
        gold = None if references is None else read_graphs(self.file("references", references))
        try:
            rows = read_graphs(self.file("predictions", predictions))
            relclipscore(rows, references=gold, images=self.images, model=self.encoder(), **options)
        except SgevalError as fault:
            return list(getattr(fault, "faults", [str(fault)]))
        return []


def bare(graph, relations=((0, "on", 1),)):
    """The row without objects."""
    return {
        "image_id": graph["image_id"],
        "relations": [{"subject_id": s, "object_id": o, "predicate": p} for s, p, o in relations],
    }


class TestAsScoringWould:
    """The faults are those of scoring, word for word."""

    def test_sound(self, case, two_objects):
        graph = two_objects()
        for references in (None, [graph]):
            found = case.check([graph], references)
            assert found.faults == found.warnings == case.refusal([graph], references) == []

    def test_ends_that_no_side_has(self, case, two_objects):
        """Objects are absent: the ends of relations are the references' ids."""
        row, gold = bare(two_objects(), [(0, "on", 1), (0, "on", 7), (9, "by", 1)]), two_objects()
        expected = [
            f'prediction of image "a": relations[{place}: expected the id of one of the 2 objects, got {end}'
            for place, end in (("1].object_id", 7), ("2].subject_id", 9))
        ]
        assert case.check([row], [gold]).faults == case.refusal([row], [gold]) == expected
        assert case.check([row], [gold], images=False).faults == expected

    def test_relations_without_objects_and_references(self, case, two_objects):
        row = bare(two_objects())
        found = case.check([row], images=False)
        assert found.faults == case.refusal([row]) and "one of the 0 objects, got 0" in found.faults[0]
        assert any("give --references" in warning for warning in found.warnings)

    def test_an_object_without_a_box(self, case, two_objects):
        row = two_objects(relations=[(0, "on", 1), (0, "under", 2)])
        row["objects"].append({"id": 2, "category": "sky"})
        [fault] = case.refusal([row])
        assert fault.endswith("relations[1].object_id: expected an object with a box, got 2 without")
        assert case.check([row]).faults == case.check([row], images=False).faults == [fault]

    @pytest.mark.parametrize("size_from", ["pictures", "rows"])
    def test_a_box_outside_the_picture(self, case, two_objects, size_from):
        row = two_objects(relations=[(0, "on", 2)])
        row["objects"].append({"id": 2, "category": "cup", "bbox": [70, 10, 5, 5]})
        if size_from == "rows":
            row |= {"width": 64, "height": 48}
        [fault] = case.refusal([row])
        assert "expected a box that touches the picture, got object 2" in fault
        found = case.check([row], images=size_from == "pictures")
        assert found.faults == [fault]
        assert found.warnings == ["boxes wholly outside their picture, which count as objects but bear no relation: 1"]

    def test_a_box_outside_every_picture(self, case, two_objects):
        """No size is known, but x + width = -10."""
        row = two_objects(relations=[(0, "on", 2)])
        row["objects"].append({"id": 2, "category": "cup", "bbox": [-15, 10, 5, 5]})
        assert case.check([row], images=False).faults == case.refusal([row]) != []

    def test_boxes_that_stick_out_are_told(self, case, two_objects):
        row = two_objects()
        row["objects"] += [{"id": n, "category": "cup", "bbox": [60, 40, 10, 10]} for n in (2, 3)]
        found = case.check([row])
        assert found.faults == case.refusal([row]) == []
        assert found.warnings == ["boxes that stick out of their picture, and are cut at its edge: 2"]

    @pytest.mark.parametrize("text", ["", "\n \n", "[]"])
    def test_an_empty_file(self, case, text):
        assert case.check([text]).faults == case.refusal([text]) == [NOTHING]

    def test_an_id_that_the_references_lack(self, case, two_objects):
        rows, gold = [bare(two_objects("a")), bare(two_objects("b"))], [two_objects("a")]
        expected = ['predictions[1].image_id: expected an id of the references, got "b"']
        assert case.check(rows, gold).faults == case.refusal(rows, gold) == expected

    def test_a_picture_that_was_cut_off(self, case, two_objects):
        """Header and size are sound; the end is gone."""
        path = case.images / "b.jpg"
        path.write_bytes(path.read_bytes()[:-400])
        rows = [two_objects("a"), two_objects("b"), two_objects("c")]
        [fault] = case.refusal(rows)
        assert fault.startswith('image "b": ') and "broken" in fault
        assert case.check(rows).faults == [fault]
        assert case.check(rows, images=False).faults == []

    def test_corner_boxes_hide_no_other_fault(self, case, two_objects):
        """Corners [40, 30, 55, 44] of 64 x 48; beside it a relation whose object has no box."""
        row = two_objects(relations=[(0, "on", 2)])
        row["objects"][0]["bbox"] = [40, 30, 55, 44]
        row["objects"].append({"id": 2, "category": "sky"})
        found = case.check([row], [two_objects()])
        assert ["fit as corners" in fault for fault in found.faults] == [True, False]
        assert "an object with a box, got 2 without" in found.faults[1] and found.warnings == []

    def test_boxes_of_a_detector(self, case, two_objects):
        """Other boxes than the references' are a warning that names the other modes; those modes judge the rest."""
        row = two_objects()
        row["objects"][0] |= {"id": 7, "bbox": [6, 5, 10, 10]}
        row["relations"] = [{"subject_id": 7, "object_id": 1, "predicate": "on"}]
        found = case.check([row], [two_objects()])
        assert found.faults == case.refusal([row], [two_objects()], matching="pair_iou") == []
        assert len(found.warnings) == 1 and 'choose matching="pair_iou"' in found.warnings[0]


class TestAsATaskAsks:
    """With the matching of scoring, what that refuses is a fault."""

    def test_objects_that_are_not_the_references(self, case, two_objects):
        row, gold = two_objects(), two_objects()
        row["objects"][0]["bbox"] = [0, 0, 9, 9]
        row["objects"][1]["id"] = row["relations"][0]["object_id"] = 7
        found = case.check([row], [gold], matching="given")
        assert [fault.pointer for fault in found.faults] == [
            "/0/objects/0/bbox",
            "/0/objects/1/id",
            "/0/relations/0/object_id",
        ]
        assert found.warnings == [] and case.refusal([row], [gold])
        assert case.check([row], [gold]).faults == case.check([row], [gold], matching="pair_iou").faults == []
        with pytest.raises(SgevalError, match="matching: expected one of given"):
            case.check([row], [gold], matching="givn")


def test_rows_under_a_key(case, two_objects):
    """The file is one object; the fault says where its rows are."""
    found = case.check([{"predictions": [two_objects("a"), two_objects("b")]}], images=False).faults
    assert (found[0].pointer, found[0].line) == ("/0/predictions", 1)
    assert found[0].message == 'expected rows one a line, or as one list, got 2 rows under "predictions"'


class TestOneFaultIsOne:
    def test_a_line_that_cannot_be_read(self, case, two_objects):
        """The row may stand in it: neither its prediction nor its reference is called missing."""
        rows = [two_objects(name) for name in "abc"]
        for broken in ([rows[0], '{"image_id": ', rows[2]], [rows[0], {"relations": []}, rows[2]]):
            assert len(case.check(broken, rows).faults) == 1
            assert len(case.check(rows, broken).faults) == 1

    def test_what_can_be_judged_still_is(self, case, two_objects):
        """The line that cannot be read counts as a row."""
        rows = [two_objects("a"), "{", two_objects("nowhere")]
        found = case.check(rows, [two_objects(name) for name in "abc"], images=False)
        assert len(found.faults) == 2
        assert found.faults[1] == 'predictions[2].image_id: expected an id of the references, got "nowhere"'

    def test_an_id_that_is_doubled_or_no_number(self, case, two_objects):
        """Whose prediction it is cannot be said, so none is called missing."""
        text = json.dumps(two_objects("a"))
        for broken in (text.replace("{", '{"image_id": "b", ', 1), text.replace('"a"', "NaN")):
            [fault] = case.check([broken], [two_objects(name) for name in "ab"]).faults
            assert fault.pointer == "/0/image_id"

    def test_both_faults_of_a_relation(self, case, two_objects):
        row = two_objects(relations=[(0, "", 7)])
        found = case.check([row]).faults
        assert [fault.pointer for fault in found] == ["/0/relations/0/predicate", "/0/relations/0/object_id"]

    def test_places_count_the_rows_of_the_file(self, case, two_objects):
        """Records and relations that were left out keep their numbers."""
        cut = two_objects("b", relations=[(0, " ", 1), (0, "on", 1), (0, "under", 2)])
        cut["objects"].append({"id": 2, "category": "sky"})
        rows = [{**two_objects("a"), "width": -1}, cut, two_objects("x")]
        places = [fault.split(":")[0] for fault in case.check(rows, [two_objects("a"), cut], images=False).faults]
        assert places == [
            "predictions[0].width",
            "predictions[1].relations[0].predicate",
            "references[1].relations[0].predicate",
            "predictions[2].image_id",
        ]
        alone = case.check(rows, images=False).faults
        assert alone[-1] == (
            'prediction of image "b": relations[2].object_id: expected an object with a box, got 2 without'
        )

    def test_a_faulty_object_of_a_reference(self, case, two_objects):
        """The relation of a prediction with it is no second fault."""
        gold = two_objects()
        gold["objects"][1]["category"] = ""
        assert len(case.check([bare(two_objects())], [gold]).faults) == 1


class TestPointers:
    """Each fault leads to its place in the file that it is in."""

    def test_of_what_scoring_would_refuse(self, case, two_objects):
        """An end without a box, a picture that is not there, an id that the references lack, and one that is missing."""
        cut = two_objects("b", relations=[(0, "", 1), (0, "on", 2)])
        cut["objects"].append({"id": 2, "category": "sky"})
        found = case.check([two_objects("a"), cut, two_objects("nowhere")], [two_objects(name) for name in "abc"])
        assert [(fault.pointer, fault.line) for fault in found.faults] == [
            ("/1/relations/0/predicate", 2),
            ("/2/image_id", 3),
            ("", None),
            ("/2/image_id", 3),
            ("/1/relations/1/object_id", 2),
        ]
        words = [fault.message for fault in found.faults]
        assert words[2] == 'expected a graph with the image_id "c" of the references, got none'
        assert words[4] == "expected an object with a box, got 2 without"
        assert all(str(fault).endswith(fault.message) for fault in found.faults)

    def test_of_the_references(self, case, two_objects):
        found = case.check([two_objects()], [two_objects(width=0)])
        assert [(Path(fault.file).name, fault.pointer) for fault in found.faults] == [("references.jsonl", "/0/width")]

    def test_of_a_foreign_form(self, case, tmp_path):
        """RLIPv2 by row, COCO from the top of the file."""
        theirs = {
            "image_id": "a",
            "objects": [{"object_id": 1, "names": [], "x": 1, "y": 1, "w": 1}],
            "relationships": 3,
        }
        found = case.check([theirs], images=False, format="rlipv2").faults
        assert [fault.pointer for fault in found] == ["/0/objects/0/h", "/0/relationships"]
        path = tmp_path / "coco.json"
        path.write_text(json.dumps({"images": [{}], "annotations": [], "rel_annotations": [], "categories": []}))
        assert [fault.pointer for fault in check_file(path, format="coco-rel").faults] == ["/rel_categories"]

    def test_ids_of_videos(self, case):
        rows = [{"video_id": name} for name in "abc"]
        found = case.check([*rows[:1], {"video_id": "x"}], rows, images=False, kind="video").faults
        assert [fault.pointer for fault in found] == ["/1/video_id", "", ""]
        assert 'the video_id "b" of the references' in found[1] and '"c"' in found[2]

    def test_a_long_id_is_named_whole(self, case, two_objects):
        rows = [two_objects(), two_objects("x" * 1000)]
        [fault] = case.check(rows[:1], rows).faults
        assert "x" * 1000 in fault.message


def test_doubled_and_faulty(case, two_objects):
    rows = [two_objects(), two_objects(relations=[(0, "", 1)])]
    assert [fault.split(":")[0] for fault in case.check(rows).faults] == [
        "predictions[1].relations[0].predicate",
        "predictions[1].image_id",
    ]


def test_an_empty_file_of_videos(case):
    assert case.check([], images=False, kind="video").faults == [NOTHING]


def test_references_in_another_format(case, two_objects):
    """Predictions in the form of RLIPv2, references in ours; without a word both have the same form."""
    theirs = {
        "image_id": "a",
        "objects": [
            {"object_id": item["id"], "names": item["category"], **dict(zip("xywh", item["bbox"], strict=True))}
            for item in two_objects()["objects"]
        ],
        "relationships": [{"relationship_id": 0, "subject_id": 0, "object_id": 1, "predicate": "on"}],
    }
    assert case.check([theirs], [theirs], format="rlipv2").faults == []
    assert case.check([theirs], [two_objects()], format="rlipv2", references_format="sgeval").faults == []
    assert case.check([theirs], [two_objects()], format="rlipv2").faults != []


def test_every_picture_is_decoded_at_its_annotated_size(case, two_objects):
    Image.new("RGB", (20, 10)).save(case.images / "a.jpg")
    row = two_objects(width=64, height=48)
    assert case.check([row]).faults == case.refusal([row]) != []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            {"video_id": "v", "objects": [], "relations": []},
            r"got rows of videos \(with video_id\); on the command line --kind video checks them",
        ),
        ({"video_id": "v", "answer": "{}"}, "--kind video --format answers checks them"),
    ],
)
def test_videos_are_checked_as_such(tmp_path, row, words):
    file = tmp_path / "videos.jsonl"
    file.write_text(json.dumps(row))
    with pytest.raises(SgevalError, match=words):
        check_file(file)
    assert not check_file(file, kind="video", format="answers" if "answer" in row else "sgeval").faults


def test_images_are_no_videos(tmp_path):
    file = tmp_path / "images.jsonl"
    file.write_text('{"image_id": "a"}')
    with pytest.raises(
        SgevalError, match=r"graphs of videos .*, got rows of images .*; on the command line --kind image"
    ):
        check_file(file, kind="video")
