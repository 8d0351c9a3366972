"""Graph files of others, against small files whose content is known by hand (tests/data/formats/SOURCE.md)."""

import json
from pathlib import Path
from typing import Any

import pytest

from sgeval.errors import InvalidInput, SgevalError
from sgeval.formats import read_graphs
from sgeval.records import Object, Relation, SceneGraph
from sgeval.validation import parse_graphs

DATA = Path(__file__).parent / "data" / "formats"
COCO = "_annotations.coco.json"


def copy(folder: Path, name: str, change: Any) -> Path:
    whole = json.loads((DATA / name).read_text())
    change(whole)
    (folder / name).write_text(json.dumps(whole))
    return folder / name


def faults(path: Path, format: str) -> tuple[str, ...]:
    with pytest.raises(InvalidInput) as caught:
        read_graphs(path, format)
    assert str(caught.value).startswith(f"{path}: {len(caught.value.faults)} fault")
    return caught.value.faults


def test_sgeval_lines_and_list(tmp_path: Path):
    rows = [{"image_id": "a", "objects": []}, {"image_id": "b"}]
    lines, whole = tmp_path / "rows.jsonl", tmp_path / "rows.json"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole.write_text(json.dumps(rows))
    assert read_graphs(lines) == read_graphs(whole, "sgeval") == rows
    assert read_graphs(lines, kind="video") == rows


def test_every_line_that_is_no_json_is_named_at_once(tmp_path: Path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"image_id": "a"}\n{"image_id":\n{"image_id": "b"}\nnothing\n')
    found = faults(path, "sgeval")
    assert [fault.split(":")[0] for fault in found] == [f"{path}, line {number}" for number in (2, 4)]


def test_rlipv2():
    parsed = parse_graphs(read_graphs(DATA / "data_COCO_llava_OV.json", "rlipv2"))
    assert parsed.warnings == []
    # The three records of the file; x, y, w, h are the box as it stands, and the predicate order is the file's.
    assert parsed.graphs == [
        SceneGraph(
            "1001",
            (
                Object(1, "person", (4.0, 8.0, 16.0, 48.0), names=("person",)),
                Object(2, "umbrella", (2.37, 2.11, 27.9, 12.25), names=("umbrella",)),
                Object(3, "person", (40.0, 8.0, 12.0, 40.0), names=("person",)),
            ),
            (
                Relation(1, 2, "holding", id=1, score=1.0),
                Relation(2, 1, "positioned above", id=2, score=1.0),
                Relation(1, 2, "shielded by", id=3, score=1.0),
                Relation(1, 2, "holding", id=4, score=1.0),
            ),
            file_name="train2017/000000001001.jpg",
            source="coco2017",
            extra={"data_split": "train2017"},
        ),
        SceneGraph(
            "1002",
            (Object(4, "car", (8.0, 20.0, 32.0, 24.0), names=("car",)),),
            file_name="train2017/000000001002.jpg",
            source="coco2017",
            extra={"data_split": "train2017"},
        ),
        SceneGraph(
            "1003",
            (
                Object(5, "bench", (0.0, 0.0, 50.0, 40.0), names=("bench",)),
                Object(6, "person", (10.0, 5.0, 20.0, 34.0), names=("person",)),
            ),
            (Relation(6, 5, "resting against", id=5, score=1.0),),
            file_name="val2017/000000001003.jpg",
            source="coco2017",
            extra={"data_split": "val2017"},
        ),
    ]


def test_rlipv2_pictures(tmp_path: Path):
    rows = read_graphs(DATA / "obj365_llava_OV.json", "rlipv2")
    # image_id_to_filepath.json: "900001" and "636013".
    assert [row["file_name"] for row in rows] == [
        "train/patch16/objects365_v2_00900001.jpg",
        "val/patch13/objects365_v1_00636013.jpg",
    ]
    graph = {"objects": [], "relationships": []}
    path = tmp_path / "mixed.json"
    cases: list[tuple[dict[str, Any], str | None]] = [
        ({"image_id": 12, "dataset": "coco2017"}, "train2017/000000000012.jpg"),
        ({"image_id": "HICO_train2015_00000001.jpg", "dataset": "hico"}, "HICO_train2015_00000001.jpg"),
        ({"image_id": 900001, "dataset": "o365"}, None),  # no map beside this file
        ({"image_id": 5}, None),  # Visual Genome: <image_id>.jpg is what the picture folder is asked for anyway
        ({"image_id": 6, "file_name": "six.png"}, "six.png"),
    ]
    path.write_text(json.dumps([{**head, **graph} for head, _ in cases]))
    assert [row.get("file_name") for row in read_graphs(path, "rlipv2")] == [name for _, name in cases]
    (tmp_path / "image_id_to_filepath.json").write_text("[1]")
    with pytest.raises(SgevalError, match=r"expected an object from image_id to the picture's path, got \[1\]"):
        read_graphs(path, "rlipv2")


def test_rlipv2_names_as_a_list_and_unknown_keys(tmp_path: Path):
    path = tmp_path / "vg.json"
    box = {"x": 1, "y": 2, "w": 3, "h": 4}
    item = {"object_id": 7, "names": ["man", "guy"], "synsets": ["man.n.01"], "shade": "dark", **box}
    relation = {"subject_id": 7, "predicate": "near", "object_id": 7, "confidence": 0.25}
    path.write_text(json.dumps([{"image_id": 5, "objects": [item], "relationships": [relation]}]))
    (graph,) = parse_graphs(read_graphs(path, "rlipv2")).graphs
    assert graph == SceneGraph(
        "5",
        (Object(7, "man", (1.0, 2.0, 3.0, 4.0), names=("man", "guy"), synsets=("man.n.01",)),),
        (Relation(7, 7, "near", score=0.25),),
        extra={"/objects/0/shade": "dark"},
    )


def test_rlipv2_faults(tmp_path: Path):
    def change(whole: Any) -> None:
        del whole[0]["objects"][1]["names"], whole[0]["objects"][1]["w"]
        whole[0]["relationships"][2] = "holding"
        whole[1]["objects"][0]["names"] = []
        whole[1]["relationships"] = None
        del whole[2]["image_id"]
        whole.append(5)

    assert faults(copy(tmp_path, "data_COCO_llava_OV.json", change), "rlipv2") == (
        "[0].objects[1].names: expected a name, or a list of names, got nothing",
        "[0].objects[1].w: expected a number of pixels, got nothing",
        '[0].relationships[2]: expected an object, got "holding"',
        "[1].objects[0].names: expected a name, or a list of names, got []",
        "[1].relationships: expected a list, got null",
        "[2].image_id: expected an id, got nothing",
        "[3]: expected an object, got 5",
    )


def test_what_a_row_can_hold_is_left_to_validation(tmp_path: Path):
    def change(whole: Any) -> None:
        whole[0]["relationships"][0]["object_id"] = 99
        whole[0]["objects"][2]["w"] = 0

    rows = read_graphs(copy(tmp_path, "data_COCO_llava_OV.json", change), "rlipv2")
    with pytest.raises(InvalidInput) as caught:
        parse_graphs(rows)
    assert [fault.split(":")[0] for fault in caught.value.faults] == [
        "predictions[0].objects[2].bbox[2]",
        "predictions[0].relations[0].object_id",
    ]


def test_coco_rel():
    parsed = parse_graphs(read_graphs(DATA / COCO, "coco-rel"))
    # Pictures in the order of images: 2, 1, 7. The category ids are 1, 18, 44, so dog (18) has rank 1 and bottle (44)
    # rank 2; the predicate ids are 0 and 4, so "walking" (4) has rank 1 and "above" keeps 0.
    assert parsed.graphs == [
        SceneGraph(
            "2",
            (
                Object(
                    1,
                    "person",
                    (0.0, 0.0, 50.0, 80.0),
                    category_id=0,
                    iscrowd=True,
                    area=4000,
                    segmentation={"size": [80, 100], "counts": "0_1"},
                ),
                Object(3, "bottle", (60.0, 10.0, 20.0, 20.0), category_id=2, iscrowd=False, area=400),
            ),
            (Relation(1, 3, "above", id=1, predicate_id=0),),
            file_name="two.jpg",
            width=100,
            height=80,
            extra={"license": 3},
        ),
        SceneGraph(
            "1",
            (
                Object(0, "dog", (4.0, 8.0, 16.5, 40.0), category_id=1, iscrowd=False, area=660.0),
                Object(2, "person", (20.0, 2.0, 30.0, 40.0), category_id=0, iscrowd=False, area=1200),
            ),
            (
                Relation(2, 0, "walking", id=0, predicate_id=1, score=0.75),
                Relation(2, 0, "walking", id=2, predicate_id=1),
                Relation(0, 2, "above", id=3, predicate_id=0),
            ),
            file_name="one.jpg",
            width=64,
            height=48,
            extra={"/objects/1/coco_segmentation": [[20, 2, 50, 2, 50, 42]]},
        ),
        SceneGraph("7", file_name="seven.jpg", width=10, height=10),
    ]


@pytest.mark.parametrize("as_list", [False, True])
def test_maelic_rows(tmp_path: Path, as_list: bool):
    path = DATA / "maelic" / "test.jsonl"
    if as_list:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        (tmp_path / "categories.json").write_text((DATA / "maelic" / "categories.json").read_text())
        path = tmp_path / "test.json"
        path.write_text(json.dumps(rows))
    parsed = parse_graphs(read_graphs(path, "coco-rel"))
    assert parsed.warnings == []
    assert parsed.graphs == [
        SceneGraph(
            "1",
            (
                Object(5, "dog", (4.0, 8.0, 16.5, 40.0), category_id=1, iscrowd=False, area=660.0),
                Object(6, "person", (20.0, 2.0, 30.0, 40.0), category_id=0, iscrowd=False, area=1200.0),
            ),
            (Relation(6, 5, "walking", id=9, predicate_id=1),),
            file_name="one.jpg",
            width=64,
            height=48,
        ),
        SceneGraph("2", file_name="two.jpg", width=100, height=80),
    ]


def test_coco_rel_faults(tmp_path: Path):
    def change(whole: Any) -> None:
        whole["categories"][1]["id"] = 1  # doubled: "bottle" is lost, and with it the id 44
        whole["images"][2]["id"] = 2
        whole["annotations"][0]["image_id"] = 3
        del whole["annotations"][1]["category_id"]
        whole["annotations"][2]["category_id"] = "person"
        whole["rel_annotations"][1]["predicate_id"] = 5
        whole["rel_annotations"][2] = None

    assert faults(copy(tmp_path, COCO, change), "coco-rel") == (
        "categories[1].id: expected a whole number, each once, got 1",
        "images[2].id: expected an id (a whole number or a text), each once, got 2",
        "annotations[0].image_id: expected the id of one of the 2 images, got 3",
        "annotations[1].category_id: expected the id of one of the categories, got nothing",
        'annotations[2].category_id: expected one of the file\'s 2 ids, got "person"',
        "annotations[3].category_id: expected one of the file's 2 ids, got 44",
        "rel_annotations[1].predicate_id: expected one of the file's 2 ids, got 5",
        "rel_annotations[2]: expected an object, got null",
    )


def test_coco_rel_without_its_lists(tmp_path: Path):
    plain = tmp_path / "instances.json"
    plain.write_text('{"images": [], "annotations": [], "categories": []}')
    assert faults(plain, "coco-rel") == (
        "rel_annotations: expected a list of relations, got nothing",
        "rel_categories: expected a list of predicates {id, name}, got nothing",
    )
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"image_id": 1, "objects": []}\n7\n')
    with pytest.raises(SgevalError, match=r"categories\.json: cannot be read"):
        read_graphs(rows, "coco-rel")
    (tmp_path / "categories.json").write_text("[]")
    with pytest.raises(InvalidInput, match=r"categories\.json: 1 fault\n  expected an object, got \[\]"):
        read_graphs(rows, "coco-rel")
    (tmp_path / "categories.json").write_text('{"categories": ["person"], "rel_categories": []}')
    with pytest.raises(
        InvalidInput, match=r'categories\.json: 1 fault\n  categories\[0\]: expected an object, got "person"'
    ):
        read_graphs(rows, "coco-rel")
    (tmp_path / "categories.json").write_text('{"categories": [], "rel_categories": []}')
    assert faults(rows, "coco-rel") == (
        "[0].relations: expected a list of relations, got nothing",
        "[1]: expected an object, got 7",
    )


def test_psg_file():
    folder = DATA.parent / "psg"
    graphs = parse_graphs(read_graphs(folder / "psg.json", "psg")).graphs
    assert [graph.key for graph in graphs] == ["900001", "900002", "900003", "900004", "900005", "900006"]
    # data[0].relations[0] is [1, 2, 21].
    assert graphs[0].relations[0] == Relation(1, 2, "holding", id=0, predicate_id=21)
    assert graphs[0].extra == {"coco_image_id": "1001"}
    assert [row["image_id"] for row in read_graphs(folder / "psg_train_val.json", "psg")] == [
        "900001",
        "900006",
        "900003",
    ]


def test_unknown_format_kind_and_file(tmp_path: Path):
    with pytest.raises(SgevalError, match='format: expected one of sgeval, rlipv2, coco-rel, psg, got "coco"'):
        read_graphs(DATA / COCO, "coco")
    with pytest.raises(SgevalError, match='format: expected "sgeval" for video graphs, got "psg"'):
        read_graphs(DATA / COCO, "psg", kind="video")
    for format in ("sgeval", "rlipv2", "coco-rel", "psg"):
        with pytest.raises(SgevalError, match=r"none\.json: cannot be read \(No such file or directory\)"):
            read_graphs(tmp_path / "none.json", format)
