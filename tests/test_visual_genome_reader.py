"""The Visual Genome reader: what comes of a record. Expected values are read off the files by hand, or by the few plain lines
of `joined` (tests/data/visual_genome/SOURCE.md says what the files are)."""

import json
from pathlib import Path
from typing import Any

from visual_genome_kit import DATA, FIRST, LAST, MIDDLE, URL, changed, end, folder, ids, relation

from sgeval.readers.visual_genome import read_visual_genome
from sgeval.records import Object, Relation, SceneGraph
from sgeval.validation import parse_graphs


class TestMade:
    def test_all_records_in_file_order(self):
        assert list(read_visual_genome(DATA)) == [FIRST, MIDDLE, LAST]

    def test_boxes_outside_the_picture_and_without_width_stay(self):
        boxes = [item.bbox for item in next(read_visual_genome(DATA)).objects]
        assert boxes[0][0] == -2.0 and boxes[1][1] == -5.0  # type: ignore[index]
        assert boxes[2] == (90.0, 70.0, 30.0, 30.0)  # ends at 120 in a picture of 100
        assert boxes[3] == (10.0, 10.0, 0.0, 5.0)

    def test_the_border_takes_the_records(self):
        """The zero width is the one thing the border has to say about them."""
        parsed = parse_graphs(list(read_visual_genome(DATA)), on_invalid="skip")
        assert len(parsed.graphs) == 3 and not any("relations" in fault for fault in parsed.faults)

    def test_far_outside(self, tmp_path: Path):
        """FC01: y = -904 as in the published regions."""
        files = changed("objects", 0, "objects", 1, "y", value=-904)
        graph = next(read_visual_genome(folder(tmp_path, **files)))
        assert graph.objects[1].bbox == (60.0, -904.0, 30.0, 40.0)
        # The mentions in relations 12 (subject) and 13 (object) still say -5.
        assert graph.extra["/relations/1/subject"] == {"y": -5} == graph.extra["/relations/2/object"]


class TestPublished:
    def test_counts(self):
        graphs = list(read_visual_genome(DATA / "real"))
        assert ids(graphs) == ["1", "2", "3"]  # image_data has five entries
        assert [len(graph.objects) for graph in graphs] == [40, 27, 52]
        assert [len(graph.relations) for graph in graphs] == [41, 23, 50]
        assert [graph.file_name for graph in graphs] == ["VG_100K_2/1.jpg", "VG_100K/2.jpg", "VG_100K/3.jpg"]
        assert [(graph.width, graph.height) for graph in graphs] == [(800, 600), (800, 600), (640, 480)]

    def test_first_record(self):
        first = next(read_visual_genome(DATA / "real"))
        assert first.objects[0] == Object(
            1058498,
            "clock",
            (421.0, 91.0, 79.0, 339.0),
            names=("clock",),
            synsets=("clock.n.01",),
            attributes=("green", "tall"),
        )
        assert first.objects[20].id == 1058532 and first.objects[20].bbox == (372.0, 264.0, 75.0, 251.0)
        assert first.objects[39] == Object(
            3798579, "windows", (602.0, 4.0, 173.0, 148.0), names=("windows",), synsets=("window.n.01",)
        )
        assert first.relations[0] == Relation(5045, 1058534, "ON", id=15927, synsets=("along.r.01",))
        assert first.relations[20] == Relation(1058535, 3798575, "ON", id=4265923, synsets=("along.r.01",))
        assert first.relations[40] == Relation(1058508, 3798579, "with", id=4265927)
        # The sidewalk of relation 15927 has merged 5046 and another box: [78, 308, 722, 290], not [77, 331, 722, 266].
        assert first.extra["/relations/0/object"] == {"x": 78, "y": 308, "h": 290}
        assert next(item for item in first.objects if item.id == 1058534).merged_ids == (5046,)
        # 5046 is an object of its own as well, and keeps its relations.
        assert next(item for item in first.objects if item.id == 5046).category == "street"

    def test_middle_record(self):
        _, middle, _ = read_visual_genome(DATA / "real")
        # Relation 15972 names 5069, [463, 141, 43, 103], with the box [473, 195, 27, 12] at its object end.
        assert middle.objects[0] == Object(
            5069, "walk sign", (463.0, 141.0, 43.0, 103.0), names=("walk sign",), merged_ids=(5090,),
            attributes=("on", 'lit "walk"'),
        )  # fmt: skip
        assert middle.objects[13].category == "window" and middle.objects[13].attributes == ("glass",)
        assert middle.objects[26].bbox == (227.0, 284.0, 32.0, 26.0) and middle.objects[26].attributes == ("off",)
        assert middle.relations[0] == Relation(1023838, 5071, "wears", id=15947, synsets=("wear.v.01",))
        assert middle.relations[11] == Relation(5085, 1023841, "parked on", id=15958, synsets=("along.r.01",))
        assert middle.relations[22] == Relation(5069, 5069, "says", id=15972, synsets=("state.v.01",))
        assert middle.extra == {
            "url": f"{URL}/VG_100K/2.jpg",
            "/relations/22/object": {"x": 473, "y": 195, "w": 27, "h": 12},
        }

    def test_last_record(self):
        *_, last = read_visual_genome(DATA / "real")
        assert last.objects[0].category == "office phone" and last.objects[0].attributes == ("multi-line phone",)
        assert last.objects[26] == Object(
            5117, "cable", (137.0, 408.0, 52.0, 58.0), names=("cable",), synsets=("cable.n.01",)
        )
        assert last.objects[51].id == 1060249 and last.objects[51].attributes == ("grey", "beige")
        assert last.relations[0] == Relation(1060286, 1060246, "in front of", id=15973, synsets=("in.r.01",))
        assert last.relations[25] == Relation(1060293, 1060287, "ON", id=3187824, synsets=("along.r.01",))
        assert last.relations[49] == Relation(1060242, 1060248, "ON", id=3187850, synsets=("along.r.01",))
        # 1060269 is ("girl", "woman") with the synset of girl; "girl" alone says nothing more, "woman" does.
        assert last.extra["/relations/26/subject"] == {"name": "woman", "synsets": ["woman.n.01"]}
        assert "/relations/14/subject" not in last.extra
        telephone = next(item for item in last.objects if item.id == 1060242)
        assert telephone.names == ("telephone", "phone") and telephone.merged_ids == (5091, 5104)

    def test_every_value_is_that_of_the_files(self):
        for graph, objects, relationships in zip(read_visual_genome(DATA / "real"), *joined(), strict=True):
            assert [(i.id, i.bbox, i.names, i.synsets, i.attributes) for i in graph.objects] == objects
            assert [(r.id, r.predicate, r.subject_id, r.object_id, r.synsets) for r in graph.relations] == relationships
            assert all(item.category == item.names[0] for item in graph.objects)

    def test_ends_that_say_more(self):
        """Counted in the file: of 228 ends 27 have another box (6 in image 1, 1 in image 2, 20 in image 3); 14 more of image
        3 have another name first, and the two of relation 3187844 another synset only."""
        graphs = list(read_visual_genome(DATA / "real"))
        more = [[entry for key, entry in graph.extra.items() if key.startswith("/relations/")] for graph in graphs]
        assert [len(entries) for entries in more] == [6, 1, 36]
        boxes = [sum(bool({*"xywh"} & {*entry}) for entry in entries) for entries in more]
        assert boxes == [6, 1, 20]
        assert not any("found_in" in key for graph in graphs for key in graph.extra)

    def test_raw_words_stay(self):
        graphs = list(read_visual_genome(DATA / "real"))
        predicates = {relation.predicate for graph in graphs for relation in graph.relations}
        assert {"ON", "on top of", "WEARING", "wears", "wear", "IN"} <= predicates and "on" not in predicates

    def test_attributes_alone_are_enough(self, tmp_path: Path):
        for stem in ("attributes", "relationships", "image_data"):
            (tmp_path / f"{stem}.json").write_bytes((DATA / "real" / f"{stem}.json").read_bytes())
        assert list(read_visual_genome(tmp_path)) == list(read_visual_genome(DATA / "real"))

    def test_without_attributes(self, tmp_path: Path):
        graph = next(read_visual_genome(folder(tmp_path, attributes=None)))
        assert graph.objects[0].attributes == () and graph.objects[1:] == FIRST.objects[1:]


def joined() -> tuple[list[Any], list[Any]]:
    """The objects and relations of the published sample, as plain as can be: no end of it needs a merged id."""
    attributes, relationships = (
        json.loads((DATA / "real" / f"{stem}.json").read_text()) for stem in ("attributes", "relationships")
    )
    objects = [
        [
            (
                o["object_id"],
                (o["x"], o["y"], o["w"], o["h"]),
                tuple(o["names"]),
                tuple(o["synsets"]),
                tuple(o.get("attributes", [])),
            )
            for o in record["attributes"]
        ]
        for record in attributes
    ]
    relations = [
        [
            (
                r["relationship_id"],
                r["predicate"],
                *(r[end]["object_id"] for end in ("subject", "object")),
                (*r["synsets"],),
            )
            for r in record["relationships"]
        ]
        for record in relationships
    ]
    return objects, relations


def with_relations(path: Path, *rows: Any) -> SceneGraph:
    """The record of picture 900 (objects 1 to 4) with these relations."""
    return next(read_visual_genome(folder(path, relationships=[{"image_id": 900, "relationships": list(rows)}])))


class TestEnds:
    def test_an_end_whose_object_is_nowhere_becomes_one(self, tmp_path: Path):
        graph = with_relations(
            tmp_path, relation(end(2, "man"), end(50, "hat")), relation(end(50, "cap"), end(50, "hat"))
        )
        assert graph.objects[4:] == (Object(50, "hat", (1.0, 2.0, 3.0, 4.0), names=("hat",)),)
        assert [(row.subject_id, row.object_id) for row in graph.relations] == [(2, 50), (50, 50)]
        assert graph.extra["/objects/4/found_in"] == "relationships[0].object"
        assert graph.extra["/relations/1/subject"] == {"name": "cap"}
        assert "/relations/0/object" not in graph.extra

    def test_merges_of_merges(self, tmp_path: Path):
        """70 went into 71, 71 into 3; both stand for 3 wherever they are named, also before the merge is told."""
        graph = with_relations(
            tmp_path,
            relation(end(70), end(2)),
            relation(end(71, merged_object_ids=[70]), end(2)),
            relation(end(3, merged_object_ids=[71]), end(2)),
        )
        assert [row.subject_id for row in graph.relations] == [3, 3, 3]
        assert graph.extra["/relations/0/subject"]["object_id"] == 70
        assert "object_id" not in graph.extra["/relations/2/subject"]
        assert graph.objects[2].merged_ids == (71,) and len(graph.objects) == 4

    def test_merged_into_an_end_that_is_no_object(self, tmp_path: Path):
        graph = with_relations(tmp_path, relation(end(80), end(2)), relation(end(81, merged_object_ids=[80]), end(2)))
        assert [item.id for item in graph.objects] == [1, 2, 3, 4, 81]
        assert [row.subject_id for row in graph.relations] == [81, 81]
        assert graph.extra["/objects/4/found_in"] == "relationships[1].subject"

    def test_merges_in_a_circle_end(self, tmp_path: Path):
        first, second = end(80, merged_object_ids=[81]), end(81, merged_object_ids=[80])
        graph = with_relations(tmp_path, relation(first, second))
        known = {item.id for item in graph.objects}
        assert {graph.relations[0].subject_id, graph.relations[0].object_id} <= known

    def test_an_id_of_its_own_wins_over_a_merge(self, tmp_path: Path):
        graph = with_relations(tmp_path, relation(end(4), end(3, merged_object_ids=[4])))
        assert (graph.relations[0].subject_id, graph.relations[0].object_id) == (4, 3)

    def test_merges_told_by_objects(self, tmp_path: Path):
        files = changed("objects", 0, "objects", 3, "merged_object_ids", value=[60, 61])
        row = [{"image_id": 900, "relationships": [relation(end(61), end(2))]}]
        graph = next(read_visual_genome(folder(tmp_path, **files, relationships=row)))
        assert graph.relations[0].subject_id == 4 and graph.objects[3].merged_ids == (60, 61)

    def test_a_repeated_object_id_stays(self, tmp_path: Path):
        files = changed("objects", 0, "objects", 3, "object_id", value=2)
        graph = next(read_visual_genome(folder(tmp_path, **files)))
        assert [item.id for item in graph.objects] == [1, 2, 3, 2] and graph.objects[3].category == "dot"
        assert graph.extra["/objects/3/repeats"] == "objects[1]"

    def test_a_long_chain_of_merges(self, tmp_path: Path):
        """5000 was merged into 5001, … up to 7999 into object 3."""
        rows = [relation(end(n + 1 if n < 7999 else 3, merged_object_ids=[n]), end(n)) for n in range(5000, 8000)]
        graph = with_relations(tmp_path, *rows)
        assert {(row.subject_id, row.object_id) for row in graph.relations} == {(3, 3)} and len(graph.objects) == 4


def with_attributes(path: Path, entries: list[Any], *rows: Any, objects: Any = None) -> SceneGraph:
    """The record of picture 900 with these entries of attributes.json, relations, and objects if any are given."""
    files = {
        "attributes": [{"image_id": 900, "attributes": entries}],
        "relationships": [{"image_id": 900, "relationships": list(rows)}],
    }
    if objects is not None:
        files["objects"] = [{"image_id": 900, "objects": objects}]
    return next(read_visual_genome(folder(path, **files)))


def entry(object_id: int, *attributes: str, **more: Any) -> dict[str, Any]:
    return {**end(object_id), "attributes": list(attributes), **more}


class TestAttributesOfMergedObjects:
    def test_a_merge_told_by_an_end(self, tmp_path: Path):
        """Only the end of a relation says that 60 went into 3."""
        rows = [relation(end(3, merged_object_ids=[60]), end(2))]
        graph = with_attributes(tmp_path, [entry(60, "old")], *rows)
        assert graph.objects[2].attributes == ("old",) and "attributes_without_object" not in graph.extra
        assert graph.extra["/objects/2/in_attributes"][0]["object_id"] == 60

    def test_a_merge_told_by_a_later_entry(self, tmp_path: Path):
        """The second entry of attributes.json says that the object of the first, 60, went into 3."""
        graph = with_attributes(tmp_path, [entry(60, "old"), entry(3, "tidy", merged_object_ids=[60])])
        assert graph.objects[2].attributes == ("old", "tidy") and graph.objects[2].merged_ids == (60,)

    def test_an_object_that_only_a_relation_has(self, tmp_path: Path):
        """50 is no object of objects.json; as an end it becomes one, and gets what attributes.json says of it and of 51."""
        graph = with_attributes(
            tmp_path, [entry(51, "torn"), entry(50, "red")], relation(end(50, merged_object_ids=[51]), end(2))
        )
        assert graph.objects[4].id == 50 and graph.objects[4].attributes == ("torn", "red")
        assert "attributes_without_object" not in graph.extra

    def test_own_attributes_come_first(self, tmp_path: Path):
        graph = with_attributes(tmp_path, [entry(1, "wet"), entry(1, "old")], objects=[entry(1, "red", "wet")])
        assert graph.objects[0].attributes == ("red", "wet", "wet", "old")

    def test_the_first_claim_of_an_id_holds(self, tmp_path: Path):
        """60: object 4 before the entry of 3 and the end of 2. 61: the entry of 3 before the end of 2. 62: the first end."""
        objects = [end(1), end(2), end(3), end(4, merged_object_ids=[60])]
        rows = [
            relation(end(2, merged_object_ids=[60, 61, 62]), end(60)),
            relation(end(1, merged_object_ids=[62]), end(61)),
            relation(end(1), end(62)),
        ]
        graph = with_attributes(tmp_path, [entry(3, merged_object_ids=[60, 61])], *rows, objects=objects)
        assert [row.object_id for row in graph.relations] == [4, 3, 2]
        # What each claims stays with it.
        assert [item.merged_ids for item in graph.objects] == [(62,), (60, 61, 62), (60, 61), (60,)]


def test_a_predicate_that_is_null_is_told_from_one_that_is_empty(tmp_path: Path):
    rows = [relation(end(1), end(1), number) | {"predicate": text} for number, text in enumerate(("", None))]
    files = {
        "objects": [{"image_id": 900, "objects": [end(1)]}],
        "attributes": None,
        "relationships": [{"image_id": 900, "relationships": rows}],
    }
    (graph,) = read_visual_genome(folder(tmp_path, **files))
    assert [row.predicate for row in graph.relations] == ["", ""]
    assert graph.extra["/relations/1/predicate"] is None and "/relations/0/predicate" not in graph.extra


def test_what_is_missing_or_empty_is_nothing(tmp_path: Path):
    item = {"object_id": 1, "names": [], "synsets": None, "merged_object_ids": None}
    row = {"relationship_id": 1, "predicate": "", "subject": {"object_id": 1, "name": None}, "object": end(1, "dog")}
    files = {
        "objects": [{"image_id": "900", "objects": [item]}],
        "attributes": [{"image_id": 900, "attributes": [{**item, "attributes": None}]}],
        "relationships": [{"image_id": 900, "relationships": [row]}],
    }
    (graph,) = read_visual_genome(folder(tmp_path, **files))
    assert graph.objects == (Object(1, ""),)
    assert graph.relations == (Relation(1, 1, "", id=1),)
    assert graph.extra["/relations/0/object"] == {"name": "dog", "x": 1, "y": 2, "w": 3, "h": 4}
