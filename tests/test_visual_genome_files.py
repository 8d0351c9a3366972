"""The Visual Genome reader: which files are read, how their records are joined, what is refused."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from visual_genome_kit import DATA, FIRST, LAST, MIDDLE, STEMS, URL, changed, content, end, folder, ids

from sgeval.errors import SgevalError
from sgeval.readers.visual_genome import read_visual_genome
from sgeval.records import Object, Relation


class TestJoin:
    def test_files_in_other_orders(self, tmp_path: Path):
        folder(tmp_path, **{stem: content(stem)[::-1] for stem in ("attributes", "relationships", "image_data")})
        assert list(read_visual_genome(tmp_path)) == [FIRST, MIDDLE, LAST]

    def test_the_order_is_that_of_the_objects(self, tmp_path: Path):
        assert ids(read_visual_genome(folder(tmp_path, objects=content("objects")[::-1]))) == ["902", "901", "900"]

    def test_pictures_that_one_file_lacks(self, tmp_path: Path):
        """900 has relations only, 902 attributes only; both follow what the objects have."""
        attributes = [
            {"image_id": 902, "image_url": f"{URL}/VG_100K_2/902.jpg", "attributes": content("objects")[2]["objects"]}
        ]
        folder(tmp_path, objects=content("objects")[1:2], attributes=attributes, image_data=content("image_data")[:1])
        graphs = list(read_visual_genome(tmp_path))
        assert ids(graphs) == ["901", "900", "902"]
        # Of 900 the ends are all there is: 1 (told first by relation 11), 3, 2.
        assert [item.id for item in graphs[1].objects] == [1, 3, 2] and len(graphs[1].relations) == 3
        # 901 and 902 have no size; their address is that of their record.
        assert graphs[2].objects == LAST.objects and (graphs[2].width, graphs[2].height) == (None, None)
        assert (graphs[2].file_name, graphs[2].extra) == ("VG_100K_2/902.jpg", {"url": f"{URL}/VG_100K_2/902.jpg"})

    def test_a_repeated_picture_stays(self, tmp_path: Path):
        graphs = list(read_visual_genome(folder(tmp_path, objects=content("objects")[:1] * 2)))
        assert ids(graphs) == ["900", "900", "901", "902"]
        assert graphs[0] == FIRST and graphs[1].relations == ()

    def test_of_entries_for_one_picture_the_first_holds(self, tmp_path: Path):
        data = content("image_data")
        later = [{**data[0], "width": 1, "url": f"{URL}/VG_100K/other.jpg"}, {"image_id": 900, "anti_prop": 0.5}]
        graphs = list(read_visual_genome(folder(tmp_path, image_data=[*data, *later])))
        repeats = [{key: value for key, value in entry.items() if key != "image_id"} for entry in later]
        assert graphs[0].extra == {**FIRST.extra, "/in_image_data/repeats": repeats}
        assert replace(graphs[0], extra=FIRST.extra) == FIRST and graphs[1:] == [MIDDLE, LAST]

    def test_an_id_that_is_merged_twice(self, tmp_path: Path):
        """What the object itself lists stays as it is; what ends add follows, once (77 stands in relation 12)."""
        merged = changed("objects", 0, "objects", 0, "merged_object_ids", value=[53, 53])
        ends = content("relationships")
        ends[0]["relationships"][0]["subject"] |= {"object_id": 1, "merged_object_ids": [54, 53, 54]}
        graph = next(read_visual_genome(folder(tmp_path, **merged, relationships=ends)))
        assert graph.objects[0].id == 1 and graph.objects[0].merged_ids == (53, 53, 54, 77)

    def test_records_that_waited_come_in_file_order(self, tmp_path: Path):
        """Before 902 is found in relationships, 7 and 5 are passed over; 900 and 3 come after it. Then attributes follow."""
        rows = [{"image_id": number, "relationships": []} for number in (7, 901, 5, 902, 900, 3)]
        more = [{"image_id": number, "attributes": []} for number in (9, 3, 902, 8, 7)]
        objects = [content("objects")[2], content("objects")[1]]
        graphs = read_visual_genome(folder(tmp_path, objects=objects, relationships=rows, attributes=more))
        assert ids(graphs) == ["902", "901", "7", "5", "900", "3", "9", "8"]

    def test_attributes_of_an_object_that_is_nowhere(self, tmp_path: Path):
        entry = {**end(55, "ghost"), "attributes": ["white"]}
        graph = next(read_visual_genome(folder(tmp_path, **changed("attributes", 0, "attributes", 1, value=entry))))
        assert graph.extra["attributes_without_object"] == [entry] and len(graph.objects) == 4

    def test_attributes_with_another_box(self, tmp_path: Path):
        graph = next(read_visual_genome(folder(tmp_path, **changed("attributes", 0, "attributes", 0, "x", value=7))))
        assert graph.objects[0] == FIRST.objects[0]
        assert graph.extra["/objects/0/in_attributes"] == [{"x": 7}]

    def test_the_folder_comes_from_the_address(self, tmp_path: Path):
        whole = content("image_data")
        for entry, url in zip(
            whole, (f"{URL}/VG_100K_2/900.jpg", f"{URL}/elsewhere/901.jpg", f"{URL}/VG_100K/../../x.jpg")
        ):
            entry["url"] = url
        graphs = list(read_visual_genome(folder(tmp_path, image_data=whole)))
        assert [graph.file_name for graph in graphs] == ["VG_100K_2/900.jpg", None, None]
        assert graphs[0].extra["image_url"] == f"{URL}/VG_100K/900.jpg"  # what objects.json says


class TestFiles:
    @pytest.mark.parametrize("ending", [".json", ".json.zip", "_v1_4.json", "_v1_4.json.zip", "_v1.4.json"])
    def test_names(self, tmp_path: Path, ending: str):
        for stem in STEMS:
            put(tmp_path / f"{stem}{ending}", (DATA / f"{stem}.json").read_text())
        assert list(read_visual_genome(tmp_path)) == [FIRST, MIDDLE, LAST]

    def test_release_1_0(self, tmp_path: Path):
        """The published excerpt of attributes in that form; relations and image_data are made."""
        (tmp_path / "attributes_v1_0.json").write_bytes((DATA / "real" / "attributes_v1_excerpt.json").read_bytes())
        subject = {"id": 38210, "name": "bike", "x": 318, "y": 319, "w": 28, "h": 34}
        row = {"id": 5, "predicate": "on ", "subject": subject, "object": {**subject, "id": 38204, "name": "street"}}
        put(tmp_path / "relationships_v1_0.json", json.dumps([{"id": 1, "relationships": [row]}]))
        put(tmp_path / "image_data.json", (DATA / "real" / "image_data.json").read_text())
        first, second = read_visual_genome(tmp_path, config="v1.0")
        assert first.objects[0] == Object(
            38203, "clock", (421.0, 91.0, 79.0, 339.0), names=("clock",), attributes=("green",)
        )
        assert len(first.objects) == 6 and first.file_name == "VG_100K_2/1.jpg"
        assert first.relations == (Relation(38210, 38204, "on ", id=5),)
        assert first.extra["/relations/0/object"] == {"x": 318, "y": 319, "w": 28, "h": 34}
        assert second.objects[0].attributes == ("on", 'lit "walk"') and second.relations == ()

    def test_the_versions_do_not_mix(self, tmp_path: Path):
        """Plain files are 1.4: "v1.0" takes its own names, whole, before it takes those."""
        folder(tmp_path)
        put(tmp_path / "objects_v1_0.json", "[]")
        assert ids(read_visual_genome(tmp_path, config="v1.0")) == ["900", "901", "902"]
        put(tmp_path / "relationships_v1_0.json", "[]")
        assert ids(read_visual_genome(tmp_path, config="v1.0")) == []
        assert ids(read_visual_genome(tmp_path)) == ["900", "901", "902"]

    def test_unknown_config(self):
        with pytest.raises(SgevalError) as caught:
            read_visual_genome(DATA, config="1.4")  # type: ignore[arg-type]
        assert str(caught.value) == 'config: expected one of v1.4, v1.0, got "1.4"; did you mean "v1.4"?'

    @pytest.mark.parametrize("missing", ["relationships", "image_data"])
    def test_a_file_that_is_not_there_is_said_at_once(self, tmp_path: Path, missing: str):
        with pytest.raises(SgevalError) as caught:
            read_visual_genome(folder(tmp_path, **{missing: None}))
        there = ", ".join(f"{s}.json" for s in ("relationships", "objects", "attributes", "image_data") if s != missing)
        assert str(caught.value) == (
            f"{tmp_path}: expected relationships.json, objects.json or attributes.json, and image_data.json (or each as"
            f' .json.zip) for the config "v1.4", from https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/,'
            f" got only {there}"
        )

    def test_no_folder(self, tmp_path: Path):
        with pytest.raises(SgevalError, match=r"data_dir: expected a folder that holds relationships\.json"):
            read_visual_genome(tmp_path / "nowhere")
        with pytest.raises(SgevalError, match="got none of them"):
            read_visual_genome(tmp_path)


def put(path: Path, text: str) -> None:
    """A file, zipped when its name says so."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(path.name.removesuffix(".zip"), text)
    else:
        path.write_text(text)


def message(path: Path, **files: Any) -> str:
    with pytest.raises(SgevalError) as caught:
        list(read_visual_genome(folder(path, **files)))
    text = str(caught.value)
    assert "\n" not in text
    return text.replace(f"{path}/", "")


OBJECT = 'objects.json: record 0 (image_id "900").objects[1]'
ROW = 'relationships.json: record 0 (image_id "900").relationships[1]'

ENTRY = 'image_data.json: record 1 (image_id "901")'
RECORD = "objects.json: record 0"
AN_ID = "a whole number or a text that is not empty"
NOTHING = "expected an object written out, got nothing"


class TestFaults:
    @pytest.mark.parametrize(
        ("file", "path", "value", "expected"),
        [
            ("objects", (0, "objects", 1, "x"), "60", f'{OBJECT}.x: expected a number of pixels, got "60"'),
            ("objects", (0, "objects", 1, "x"), None, f"{OBJECT}.x: expected a number of pixels, got null"),
            ("objects", (0, "objects", 1, "w"), True, f"{OBJECT}.w: expected a number of pixels, got true"),
            ("objects", (0, "objects", 1, "h"), 10**30, f"{OBJECT}.h: expected a number of pixels, got 1{'0' * 30}"),
            ("objects", (0, "objects", 1, "names"), [1], f"{OBJECT}.names: expected a list of texts, got [1]"),
            ("objects", (0, "objects", 1, "names"), ..., f"{OBJECT}.names: expected a list of texts, got nothing"),
            ("objects", (0, "objects", 1, "synsets"), "a", f'{OBJECT}.synsets: expected a list of texts, got "a"'),
            ("objects", (0, "objects", 1, "object_id"), -1, f"{OBJECT}.object_id: expected a whole number from 0 up, got -1"),
            ("objects", (0, "objects", 1), 7, f"{OBJECT}: expected an object, got 7"),
            (
                "objects",
                (0, "objects", 1, "merged_object_ids"),
                [5, "6"],
                f'{OBJECT}.merged_object_ids[1]: expected a whole number from 0 up, got "6"',
            ),
            ("objects", (0, "objects"), {}, 'objects.json: record 0 (image_id "900").objects: expected a list, got {}'),
            ("objects", (0, "image_id"), [], f"{RECORD}.image_id: expected {AN_ID}, got []"),
            ("objects", (1,), None, 'objects.json: record 1: expected an object, got "n"'),
            ("relationships", (0, "relationships", 1, "subject"), ..., f"{ROW}.subject: {NOTHING}"),
            ("relationships", (0, "relationships", 1, "subject"), 2, f"{ROW}.subject: expected an object, got 2"),
            ("relationships", (0, "relationships", 1, "predicate"), 2, f"{ROW}.predicate: expected a text, got 2"),
            ("relationships", (0, "relationships", 1, "predicate"), ..., f"{ROW}.predicate: expected a text, got nothing"),
            ("image_data", (1, "width"), 0, f"{ENTRY}.width: expected a whole number of pixels from 1 up, got 0"),
            ("image_data", (1, "url"), 5, f"{ENTRY}.url: expected a text, got 5"),
        ],
    )  # fmt: skip
    def test_faults_of_a_record(self, tmp_path: Path, file: str, path: tuple[Any, ...], value: Any, expected: str):
        assert message(tmp_path, **changed(file, *path, value=value)) == expected

    def test_release_1_0_under_the_wrong_config(self, tmp_path: Path):
        whole = [{"id": record.pop("image_id"), **record} for record in content("objects")]
        assert message(tmp_path, objects=whole) == (
            "objects.json: record 0.image_id: expected the id of a picture, got nothing"
            ' (release 1.0 is read with config="v1.0")'
        )
