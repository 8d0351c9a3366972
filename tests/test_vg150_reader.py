"""The VG150 reader. Expected values are worked out by hand from the arrays of the h5, which tests/data/vg150/SOURCE.md and
expected.json describe; none is copied from the reader."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from vg150_kit import DATA, H5, changed, folder, message

from sgeval.errors import SgevalError
from sgeval.readers.vg150 import DICTIONARY, read_vg150, vg150_classes
from sgeval.records import Object, Relation, SceneGraph
from sgeval.validation import parse_graphs

URL = "https://cs.stanford.edu/people/rak248"
CONFIGS = ("reference", "exact")


def extra(image_id: int) -> dict[str, Any]:
    return {"url": f"{URL}/VG_100K/{image_id}.jpg", "anti_prop": 0.0}


# Row 0, 96 x 64, so 1024 is 96 px. boxes_1024 [256, 335, 320, 587]: 256 - 160 = 96 -> 9 px; 335 - 293.5 = 41.5, cut to 41 ->
# 41 * 96 / 1024 = 3.84375; 320 -> 30; 587 -> 55.03125. [629, 415, 640, 427]: 309 -> 28.96875; 415 - 213.5 = 201.5, cut to
# 201 -> 18.84375; 640 -> 60; 427 -> 40.03125. [181, 53, 128, 86]: 117 -> 10.96875; 10 -> 0.9375; 12; 8.0625.
# Labels 78, 64, 60 and predicates 38, 48, 48, 31 count from 1.
FIRST = SceneGraph(
    image_id="1590",
    file_name="VG_100K/1590.jpg",
    width=96,
    height=64,
    source="vg150",
    objects=(
        Object(0, "man", (9.0, 3.84375, 30.0, 55.03125), category_id=77, attributes=("tall",)),
        Object(1, "horse", (28.96875, 18.84375, 60.0, 40.03125), category_id=63, attributes=("brown", "white")),
        Object(2, "hat", (10.96875, 0.9375, 12.0, 8.0625), category_id=59),
    ),
    relations=(
        Relation(0, 1, "riding", id=0, predicate_id=37),
        Relation(0, 2, "wearing", id=1, predicate_id=47),
        Relation(0, 2, "wearing", id=2, predicate_id=47),
        Relation(0, 1, "on", id=3, predicate_id=30),
    ),
    extra=extra(1590),
)
# Row 2: no box, no relation.
MIDDLE = SceneGraph("1594", file_name="VG_100K/1594.jpg", width=50, height=50, source="vg150", extra=extra(1594))
# Row 4, 64 x 64, so 16 units are a pixel. [312, 312, 528, 528]: 312 - 264 = 48 -> 3; 528 -> 33. [704, 704, 480, 480]: 464 ->
# 29, 480 -> 30. No relation.
LAST = SceneGraph(
    image_id="1596",
    file_name="VG_100K/1596.jpg",
    width=64,
    height=64,
    source="vg150",
    objects=(
        Object(0, "dog", (3.0, 3.0, 33.0, 33.0), category_id=36, attributes=("black",)),
        Object(1, "dog", (29.0, 29.0, 30.0, 30.0), category_id=36, attributes=("white",)),
    ),
    extra=extra(1596),
)


def ids(graphs: Any) -> list[str]:
    return [graph.image_id for graph in graphs]


class TestRecords:
    def test_all_rows_in_order(self):
        graphs = list(read_vg150(DATA))
        assert ids(graphs) == ["1590", "1593", "1594", "1595", "1596"]
        assert graphs[0] == FIRST
        assert graphs[2] == MIDDLE
        assert graphs[-1] == LAST

    def test_every_name_is_the_expected_one(self):
        """expected.json was written with the file, from what it was made of."""
        rows = json.loads((DATA / "expected.json").read_text())["rows"]
        for graph, row in zip(read_vg150(DATA), rows, strict=True):
            assert (graph.image_id, graph.width, graph.height) == (str(row["image_id"]), row["width"], row["height"])
            assert [(i.category, list(i.attributes)) for i in graph.objects] == [
                (item["name"], item["attributes"]) for item in row["objects"]
            ]
            assert [[r.subject_id, r.object_id, r.predicate] for r in graph.relations] == row["relations"]

    @pytest.mark.parametrize(("config", "units"), [("reference", 2), ("exact", 1)])
    def test_boxes_lie_where_they_were_put(self, config: Any, units: int):
        """raw_xywh counts from 1. Rounding to the 1024 scale moves an edge by less than a unit, `reference` by one more."""
        rows = json.loads((DATA / "expected.json").read_text())["rows"]
        for graph, row in zip(read_vg150(DATA, config=config), rows, strict=True):
            unit = max(row["width"], row["height"]) / 1024
            for item, made in zip(graph.objects, row["objects"], strict=True):
                x, y, w, h = made["raw_xywh"]
                assert item.bbox == pytest.approx((x - 1, y - 1, w, h), abs=units * unit)

    def test_the_border_takes_the_records(self):
        assert len(parse_graphs(list(read_vg150(DATA))).graphs) == 5

    def test_nothing_is_dropped(self):
        graphs = list(read_vg150(DATA))
        assert [relation.predicate for relation in graphs[0].relations].count("wearing") == 2
        assert graphs[2].objects == () and graphs[4].relations == ()

    def test_without_attributes(self, tmp_path: Path):
        """The older VG-SGG.h5 has none."""
        folder(tmp_path, attributes=None)
        (tmp_path / H5).rename(tmp_path / "VG-SGG.h5")
        graphs = list(read_vg150(tmp_path))
        assert graphs[0].relations == FIRST.relations
        assert [item.attributes for item in graphs[0].objects] == [(), (), ()]

    def test_other_widths_of_integers(self, tmp_path: Path):
        with h5py.File(DATA / H5) as file:
            arrays = {name: file[name][:] for name in file}
        for kind in ("int64", "int16", ">i4"):
            path = tmp_path / kind.strip(">")
            path.mkdir()
            assert list(read_vg150(folder(path, **{n: a.astype(kind) for n, a in arrays.items()}))) == list(
                read_vg150(DATA)
            )

    def test_rows_in_chunks(self, tmp_path: Path):
        folder(tmp_path)
        with h5py.File(tmp_path / H5, "a") as file:
            labels = file["labels"][:]
            del file["labels"]
            file.create_dataset("labels", data=labels, chunks=(2, 1), maxshape=(None, 1))
        assert next(read_vg150(tmp_path)) == FIRST


class TestBoxes:
    @pytest.mark.parametrize(
        ("stored", "config", "expected"),
        [
            # x = 0: 2 - 2.5 = -0.5 is cut to 0, as is 2 - 2 = 0.
            ([2, 2, 5, 5], "reference", (0, 0, 5, 5)),
            ([2, 2, 5, 5], "exact", (0, 0, 5, 5)),
            # x = 1: 3 - 2.5 = 0.5 is cut to 0, one short.
            ([3, 3, 5, 5], "reference", (0, 0, 5, 5)),
            ([3, 3, 5, 5], "exact", (1, 1, 5, 5)),
            # x = 10: 12 - 2.5 = 9.5 is cut to 9.
            ([12, 13, 5, 6], "reference", (9, 10, 5, 6)),
            ([12, 13, 5, 6], "exact", (10, 10, 5, 6)),
            # An even width comes out alike: 100 - 4 = 96.
            ([100, 100, 8, 8], "reference", (96, 96, 8, 8)),
            ([100, 100, 8, 8], "exact", (96, 96, 8, 8)),
            # Left of the picture: 1 - 2.5 = -1.5 is cut towards zero, 1 - 2 = -1.
            ([1, 1, 5, 5], "reference", (-1, -1, 5, 5)),
            ([1, 1, 5, 5], "exact", (-1, -1, 5, 5)),
            # Past the short side (64 of 96 px is 682 units): nothing is clipped.
            ([512, 800, 1024, 400], "exact", (0, 600, 1024, 400)),
        ],
    )
    def test_decoding(self, tmp_path: Path, stored: list[int], config: Any, expected: tuple[int, ...]):
        with h5py.File(DATA / H5) as file:
            boxes = file["boxes_1024"][:]
        boxes[0] = stored
        graph = next(read_vg150(folder(tmp_path, boxes_1024=boxes), config=config))
        assert graph.objects[0].bbox == tuple(side * 96 / 1024 for side in expected)

    def test_reference_is_what_an_integer_array_does(self, tmp_path: Path):
        """Every box of 0..12 units against the assignment into an int32 array that the published code makes."""
        boxes = np.array([[x + w // 2, x + w // 2, w, w] for x in range(13) for w in range(1, 13)], dtype=np.int32)
        stored = boxes.copy()
        boxes[:, :2] = boxes[:, :2] - boxes[:, 2:] / 2
        n = len(boxes)
        one = np.array([[0, n - 1]], dtype=np.int32)
        minus = np.full((5,), -1, dtype=np.int32)
        first, last = minus.copy(), minus.copy()
        first[0], last[0] = one[0]
        folder(
            tmp_path,
            boxes_1024=stored,
            labels=np.ones((n, 1), dtype=int),
            attributes=None,
            img_to_first_box=first,
            img_to_last_box=last,
        )
        graph = next(read_vg150(tmp_path))
        assert [item.bbox[0] for item in graph.objects] == [left / 1024 * 96 for left in boxes[:, 0]]  # type: ignore[index]


class TestPairing:
    def test_the_corrupted_four_are_taken_out_first(self, tmp_path: Path):
        """1592 stands second in image_data.json; without taking it out, row 1 would be 1592 and all others one off."""
        assert ids(read_vg150(DATA))[1] == "1593"
        whole = json.loads((DATA / "image_data.json").read_text())
        more = [{**whole[0], "image_id": number} for number in (1722, 4616, 4617)]
        folder(tmp_path)
        (tmp_path / "image_data.json").write_text(json.dumps([*more, *whole]))
        assert ids(read_vg150(tmp_path)) == ids(read_vg150(DATA))
        (tmp_path / "image_data.json").write_text(json.dumps([entry for entry in whole if entry["image_id"] != 1592]))
        assert ids(read_vg150(tmp_path)) == ids(read_vg150(DATA))

    @pytest.mark.parametrize("count", [4, 7])
    def test_another_number_of_pictures(self, tmp_path: Path, count: int):
        whole = json.loads((DATA / "image_data.json").read_text())
        folder(tmp_path)
        (tmp_path / "image_data.json").write_text(json.dumps([*whole, *whole][: count + 1]))
        n = sum(entry["image_id"] != 1592 for entry in [*whole, *whole][: count + 1])
        assert message(tmp_path) == (
            "image_data.json: expected 5 pictures besides 1592, 1722, 4616, 4617, one for each row of"
            f" VG-SGG-with-attri.h5, got {n}"
        )

    def test_a_picture_without_size(self, tmp_path: Path):
        whole = json.loads((DATA / "image_data.json").read_text())
        whole[3]["width"] = None
        folder(tmp_path)
        (tmp_path / "image_data.json").write_text(json.dumps(whole))
        assert message(tmp_path) == (
            'image_data.json: the entry of image_id "1594": expected a width and a height, which boxes are scaled by,'
            " got none"
        )


class TestSplits:
    """Rows 0 and 1 are train with boxes and relations, 2 is train without either, 3 is test, 4 is test without relations."""

    @pytest.mark.parametrize(
        ("n_val", "train", "val"),
        [
            (5000, ["1594"], ["1590", "1593"]),
            (1, ["1593", "1594"], ["1590"]),
            (0, ["1590", "1593", "1594"], []),
        ],
    )
    def test_val_is_the_first_of_train(self, n_val: int, train: list[str], val: list[str]):
        assert ids(read_vg150(DATA, "train", n_val=n_val)) == train
        assert ids(read_vg150(DATA, "val", n_val=n_val)) == val
        assert ids(read_vg150(DATA, "test", n_val=n_val)) == ["1595", "1596"]

    def test_val_depends_on_what_counts(self, tmp_path: Path):
        """Without its relation, row 1 counts under "with_boxes" only; row 2 has no box and counts under neither."""
        arrays = {**changed("img_to_first_rel", 1, value=-1), **changed("img_to_last_rel", 1, value=-1)}
        folder(tmp_path, **arrays)
        assert ids(read_vg150(tmp_path, "val")) == ["1590"]
        assert ids(read_vg150(tmp_path, "train")) == ["1593", "1594"]
        assert ids(read_vg150(tmp_path, "val", val_rule="with_boxes")) == ["1590", "1593"]
        assert ids(read_vg150(tmp_path, "train", val_rule="with_boxes")) == ["1594"]

    def test_the_three_are_the_whole(self):
        parts = [graph for split in ("train", "val", "test") for graph in read_vg150(DATA, split, n_val=1)]
        assert sorted(ids(parts)) == ids(read_vg150(DATA))

    def test_unknown_names_are_said_at_once(self):
        for call, expected in (
            (lambda: read_vg150(DATA, "dev"), 'split: expected one of train, val, test, got "dev"'),
            (lambda: read_vg150(DATA, config="x"), 'config: expected one of reference, exact, got "x"'),  # type: ignore[arg-type]
            (
                lambda: read_vg150(DATA, val_rule=True),  # type: ignore[arg-type]
                "val_rule: expected one of with_relations, with_boxes, got true",
            ),
            (lambda: read_vg150(DATA, n_val=-1), "n_val: expected a number of pictures, got -1"),
        ):
            with pytest.raises(SgevalError) as caught:
                call()
            assert str(caught.value) == expected


class TestClasses:
    def test_counted_from_nought(self):
        """The file says: label 1 airplane, 78 man, 150 zebra; predicate 1 above, 31 on; attributes 1 to 4 as below."""
        classes = vg150_classes()
        assert (len(classes.categories), len(classes.predicates), len(classes.attributes)) == (150, 50, 200)
        assert (classes.categories[0], classes.categories[77], classes.categories[149]) == ("airplane", "man", "zebra")
        assert (classes.predicates[0], classes.predicates[30]) == ("above", "on")
        assert classes.attributes[:4] == ("white", "black", "blue", "green")

    def test_a_dictionary_of_its_own_wins(self, tmp_path: Path):
        table = {str(number): f"thing {number}" for number in range(1, 151)}
        other = {"idx_to_label": table, "idx_to_predicate": table, "idx_to_attribute": table}
        (tmp_path / DICTIONARY).write_text(json.dumps(other))
        assert next(read_vg150(folder(tmp_path))).objects[0].category == "thing 78"
        assert vg150_classes(tmp_path).predicates[0] == "thing 1"
        assert vg150_classes(DATA) == vg150_classes()

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ([1], "expected an object, got [1]"),
            ({"idx_to_label": {"1": "a"}}, "idx_to_predicate: expected the names by number, got nothing"),
            ({"idx_to_label": {"0": "a"}}, 'idx_to_label["1"]: expected a name, got null'),
            ({"idx_to_label": {"1": "a", "3": "b"}}, 'idx_to_label["2"]: expected a name, got null'),
            ({"idx_to_label": {"1": 5}}, 'idx_to_label["1"]: expected a name, got 5'),
            (
                {"idx_to_label": {"1": "a"}, "label_to_idx": {"a": 0}},
                "expected label_to_idx to say the same as idx_to_label, got another table",
            ),
        ],
    )
    def test_faults(self, tmp_path: Path, content: Any, expected: str):
        (tmp_path / DICTIONARY).write_text(json.dumps(content))
        assert message(folder(tmp_path)) == f"{DICTIONARY}: {expected}"
