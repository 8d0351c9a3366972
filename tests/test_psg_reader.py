"""The PSG reader against files whose content is known by hand (tests/data/psg/SOURCE.md says what they are)."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from kit import put_at

from sgeval.errors import SgevalError
from sgeval.readers.psg import psg_classes, read_psg, read_psg_file
from sgeval.records import Object, Relation, SceneGraph

DATA = Path(__file__).parent / "data" / "psg"

# data[0] of psg.json. Corners [0, 40, 64, 64] are x 0, y 40, w 64 - 0, h 64 - 40; [4, 8, 20, 56] is 16 x 48;
# [2, 2, 30, 14] is 28 x 12. Class 125 is the stuff class 125 - 80 = 45, "grass-merged"; 25 is the thing "umbrella".
# Relations [[1, 2, 21], [1, 0, 14], [1, 0, 14], [1, 0, 3]]: 21 "holding", 14 "standing on" twice, 3 "on".
FIRST = SceneGraph(
    image_id="900001",
    file_name="train2017/000000001001.jpg",
    width=64,
    height=64,
    source="psg",
    panoptic_file="panoptic_train2017/000000001001.png",
    objects=(
        Object(
            0,
            "grass-merged",
            (0.0, 40.0, 64.0, 24.0),
            category_id=125,
            is_thing=False,
            iscrowd=False,
            area=1280.0,
            segment_id=662316,
        ),
        Object(
            1,
            "person",
            (4.0, 8.0, 16.0, 48.0),
            category_id=0,
            is_thing=True,
            iscrowd=False,
            area=672.0,
            segment_id=1122867,
        ),
        Object(
            2,
            "umbrella",
            (2.0, 2.0, 28.0, 12.0),
            category_id=25,
            is_thing=True,
            iscrowd=False,
            area=336.0,
            segment_id=4478310,
        ),
    ),
    relations=(
        Relation(1, 2, "holding", id=0, predicate_id=21),
        Relation(1, 0, "standing on", id=1, predicate_id=14),
        Relation(1, 0, "standing on", id=2, predicate_id=14),
        Relation(1, 0, "on", id=3, predicate_id=3),
    ),
    extra={"coco_image_id": "1001"},
)

# data[2]: bench over the whole 50 x 40 picture; [10, 5, 30, 39] is 20 x 34, [30, 5, 48, 39] is 18 x 34; the second
# segment is a crowd. Relations [[1, 0, 16], [2, 0, 16], [1, 2, 2], [2, 1, 2]]: 16 "sitting on", 2 "beside".
MIDDLE = SceneGraph(
    image_id="900003",
    file_name="val2017/000000001003.jpg",
    width=50,
    height=40,
    source="psg",
    panoptic_file="panoptic_val2017/000000001003.png",
    objects=(
        Object(
            0,
            "bench",
            (0.0, 0.0, 50.0, 40.0),
            category_id=13,
            is_thing=True,
            iscrowd=False,
            area=708.0,
            segment_id=300,
        ),
        Object(
            1,
            "person",
            (10.0, 5.0, 20.0, 34.0),
            category_id=0,
            is_thing=True,
            iscrowd=True,
            area=680.0,
            segment_id=70000,
        ),
        Object(
            2,
            "person",
            (30.0, 5.0, 18.0, 34.0),
            category_id=0,
            is_thing=True,
            iscrowd=False,
            area=612.0,
            segment_id=131071,
        ),
    ),
    relations=(
        Relation(1, 0, "sitting on", id=0, predicate_id=16),
        Relation(2, 0, "sitting on", id=1, predicate_id=16),
        Relation(1, 2, "beside", id=2, predicate_id=2),
        Relation(2, 1, "beside", id=3, predicate_id=2),
    ),
    extra={"coco_image_id": "1003"},
)

# data[5]: the picture and the segments of data[0] again, under another id and with the one relation [2, 1, 0], "over".
LAST = SceneGraph(
    image_id="900006",
    file_name=FIRST.file_name,
    width=64,
    height=64,
    source="psg",
    panoptic_file=FIRST.panoptic_file,
    objects=FIRST.objects,
    relations=(Relation(2, 1, "over", id=0, predicate_id=0),),
    extra={"coco_image_id": "1001"},
)


def ids(graphs: Any) -> list[str]:
    return [graph.image_id for graph in graphs]


def copy(folder: Path, change: Any, name: str = "psg.json") -> Path:
    """A PSG file with one change, in a folder of its own."""
    whole = json.loads((DATA / name).read_text())
    changed = change(whole)
    (folder / name).write_text(json.dumps(whole if changed is None else changed))
    return folder


def test_all_records_in_file_order():
    graphs = list(read_psg(DATA))
    assert ids(graphs) == ["900001", "900002", "900003", "900004", "900005", "900006"]
    assert graphs[0] == FIRST
    assert graphs[2] == MIDDLE
    assert graphs[-1] == LAST


def test_nothing_is_dropped():
    graphs = {graph.image_id: graph for graph in read_psg(DATA)}
    assert [relation.predicate for relation in graphs["900001"].relations].count("standing on") == 2
    assert graphs["900002"].relations == () and len(graphs["900002"].objects) == 3
    assert [item.iscrowd for item in graphs["900003"].objects] == [False, True, False]
    assert graphs["900001"].file_name == graphs["900006"].file_name


def test_repeated_ids_and_self_relations_are_kept(tmp_path: Path):
    def change(whole: Any) -> None:
        whole["data"][1]["image_id"] = "900001"
        whole["data"][1]["relations"] = [[2, 2, 0]]

    graphs = list(read_psg(copy(tmp_path, change)))
    assert ids(graphs)[:3] == ["900001", "900001", "900003"]
    assert graphs[1].relations == (Relation(2, 2, "over", id=0, predicate_id=0),)


def test_pictures_and_panoptic_maps_lie_where_the_records_say():
    for graph in read_psg(DATA):
        assert (DATA / "coco" / str(graph.file_name)).is_file()
        assert (DATA / "coco" / str(graph.panoptic_file)).is_file()


def test_val_of_the_competition_is_what_its_first_file_names(tmp_path: Path):
    """By hand: no other file and no position says it. Without any test_image_ids there is no val, and all is train."""
    for name in ("psg_train_val.json", "psg_val_test.json"):
        shutil.copy(DATA / name, tmp_path)
    path = tmp_path / "psg_train_val.json"
    whole = json.loads(path.read_text())
    all_ids = [record["image_id"] for record in whole["data"]]
    for named in ([], [int(all_ids[0])], all_ids[1:2]):
        path.write_text(json.dumps({**whole, "test_image_ids": named}))
        val = [image_id for image_id in all_ids if image_id in map(str, named)]
        assert ids(read_psg(tmp_path, "val", config="competition")) == val
        rest = [image_id for image_id in all_ids if image_id not in val]
        assert ids(read_psg(tmp_path, "train", config="competition")) == rest


def test_full_splits_come_from_test_image_ids():
    # test_image_ids is 900003, 900004, 900005; the last one's picture lies in train2017.
    assert ids(read_psg(DATA, "test")) == ["900003", "900004", "900005"]
    assert ids(read_psg(DATA, "train")) == ["900001", "900002", "900006"]


def test_competition_splits():
    # psg_train_val.json holds 900001, 900006, 900003, of which 900003 is in its test_image_ids; psg_val_test.json holds
    # 900003 again and 900005 with its relations emptied. 900002 and 900004 have no relations and are in neither.
    train = list(read_psg(DATA, "train", config="competition"))
    val = list(read_psg(DATA, "val", config="competition"))
    test = list(read_psg(DATA, "test", config="competition"))
    assert (ids(train), ids(val), ids(test)) == (["900001", "900006"], ["900003"], ["900005"])
    assert val == [MIDDLE]
    assert test[0].relations == () and len(test[0].objects) == 3
    assert list(read_psg(DATA, config="competition")) == train + val + test
    # In the full file the same test picture still has its two relations.
    assert len(next(graph for graph in read_psg(DATA, "test") if graph.image_id == "900005").relations) == 2


def test_val_of_sgg_benchmark_is_the_first_thousand_of_train(tmp_path: Path):
    """1,004 records, of which the 2nd and the last are test: of the 1,002 others the first 1,000 are val."""

    def change(whole: Any) -> None:
        record = {**whole["data"][0], "segments_info": [], "annotations": [], "relations": []}
        whole["data"] = [{**record, "image_id": str(number)} for number in range(1004)]
        whole["test_image_ids"] = ["1003", "1"]

    copy(tmp_path, change)
    assert ids(read_psg(tmp_path, "val", config="sgg_benchmark")) == ["0", *map(str, range(2, 1001))]
    assert ids(read_psg(tmp_path, "train", config="sgg_benchmark")) == ["1001", "1002"]
    assert ids(read_psg(tmp_path, "test", config="sgg_benchmark")) == ["1", "1003"]
    assert list(read_psg(tmp_path, config="sgg_benchmark")) == list(read_psg(tmp_path))
    assert psg_classes(tmp_path, config="sgg_benchmark") == psg_classes(tmp_path)


def test_one_file_whatever_its_name():
    assert ids(read_psg_file(DATA / "psg_val_test.json")) == ["900003", "900005"]


def test_the_published_record():
    (graph,) = read_psg(DATA / "real")
    assert (graph.image_id, graph.width, graph.height, len(graph.objects)) == ("107902", 480, 640, 7)
    # annotations[0] [49, 162, 207, 617]: 207 - 49 = 158, 617 - 162 = 455.
    assert graph.objects[0].bbox == (49.0, 162.0, 158.0, 455.0)
    # category_id 116 is the stuff class 116 - 80 = 36.
    assert graph.objects[3].category == "tree-merged" and graph.objects[3].segment_id == 4545879
    # The last relation is [5, 3, 0].
    assert graph.relations[-1] == Relation(5, 3, "over", id=5, predicate_id=0)
    assert graph.objects[5].category == "sky-other-merged"


def test_classes():
    classes = psg_classes(DATA)
    assert (len(classes.things), len(classes.stuff), len(classes.predicates)) == (80, 53, 56)
    assert (classes.categories[79], classes.categories[80]) == ("toothbrush", "banner")
    assert psg_classes(DATA, config="competition") == classes


def test_unknown_keys_are_kept(tmp_path: Path):
    whole = json.loads((DATA / "psg.json").read_text())
    whole["data"][0] |= {"flickr/id": 9, "coco_url": None}
    whole["data"][0]["segments_info"][1]["score"] = 0.5
    whole["data"][0]["annotations"][1]["score"] = [1]
    (tmp_path / "psg.json").write_text(json.dumps(whole))
    extra = next(read_psg(tmp_path)).extra
    assert extra == {
        **FIRST.extra,
        "/flickr~1id": 9,
        "/coco_url": None,
        "/objects/1/segments_info/score": 0.5,
        "/objects/1/annotations/score": [1],
    }


def test_a_segment_of_another_class_is_kept_beside(tmp_path: Path):
    def change(whole: Any) -> None:
        whole["data"][0]["segments_info"][1]["category_id"] = 7

    graph = next(read_psg(copy(tmp_path, change)))
    assert graph.objects[1].category == "person"
    assert graph.extra == {"coco_image_id": "1001", "/objects/1/segment_category_id": 7}


def put(value: Any, *path: Any) -> Any:
    """A change that puts a value at a place of the first record, or takes the key away when the value is `...`."""

    def change(whole: Any) -> None:
        put_at(whole["data"][0], path, value)

    return change


HERE = 'data[0] (image_id "900001")'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            put(3, "relations", 1, 0),
            f"{HERE}.relations[1][0]: expected the index of one of the 3 segments, got 3",
        ),
        (
            put(-1, "relations", 1, 1),
            f"{HERE}.relations[1][1]: expected the index of one of the 3 segments, got -1",
        ),
        (
            put(56, "relations", 0, 2),
            f"{HERE}.relations[0][2]: expected the index of one of the 56 predicates, got 56",
        ),
        (
            put([1, 2], "relations", 0),
            f"{HERE}.relations[0]: expected [subject, object, predicate] as three whole numbers, got [1, 2]",
        ),
        (
            put([1, True, 2], "relations", 0),
            f"{HERE}.relations[0]: expected [subject, object, predicate] as three whole numbers, got [1, true, 2]",
        ),
        (
            put(133, "annotations", 2, "category_id"),
            f"{HERE}.annotations[2].category_id: expected the index of one of the 133 classes, got 133",
        ),
        (
            put(..., "annotations", 2),
            f"{HERE}.annotations: expected one box for each of the 3 segments_info, got 2",
        ),
        (
            put([1, 2, 3], "annotations", 0, "bbox"),
            f"{HERE}.annotations[0].bbox: expected four numbers [x0, y0, x1, y1], got [1, 2, 3]",
        ),
        (
            put(1, "annotations", 0, "bbox_mode"),
            f"{HERE}.annotations[0].bbox_mode: expected 0 (corners in pixels), got 1",
        ),
        (put(..., "segments_info"), f"{HERE}.segments_info: expected a list of segments, got nothing"),
        (put("x", "segments_info", 0), f'{HERE}.segments_info[0]: expected an object, got "x"'),
        (put(..., "segments_info", 0, "id"), f"{HERE}.segments_info[0].id: expected a whole number, got nothing"),
        (put(2, "segments_info", 0, "iscrowd"), f"{HERE}.segments_info[0].iscrowd: expected 0 or 1, got 2"),
        (
            put(None, "segments_info", 0, "area"),
            f"{HERE}.segments_info[0].area: expected a number of square pixels, got null",
        ),
        (put("64", "width"), f'{HERE}.width: expected a whole number of pixels from 1 up, got "64"'),
        (put(0, "width"), f"{HERE}.width: expected a whole number of pixels from 1 up, got 0"),
        (put(-5, "height"), f"{HERE}.height: expected a whole number of pixels from 1 up, got -5"),
        (put(None, "height"), f"{HERE}.height: expected a whole number of pixels from 1 up, got null"),
        (put(..., "height"), f"{HERE}.height: expected a whole number of pixels from 1 up, got nothing"),
        (put(..., "image_id"), "data[0].image_id: expected a text or a whole number, got nothing"),
        (put(" ", "image_id"), 'data[0].image_id: expected a text that is not empty, got " "'),
    ],
)
def test_faults_of_a_record(tmp_path: Path, change: Any, message: str):
    with pytest.raises(SgevalError) as caught:
        list(read_psg(copy(tmp_path, change)))
    assert str(caught.value) == f"{tmp_path / 'psg.json'}: {message}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda whole: [1], "expected a PSG file (an object with a list data), got [1]"),
        (
            lambda whole: {"images": [], "annotations": []},
            'expected a PSG file (an object with a list data), got an object with the keys ["images", "annotations"]',
        ),
        (
            lambda whole: {key: whole[key] for key in whole if key != "predicate_classes"},
            "predicate_classes: expected a list of names, got nothing",
        ),
        (lambda whole: {**whole, "thing_classes": [1]}, "thing_classes: expected a list of names, got [1]"),
        (lambda whole: {**whole, "test_image_ids": None}, "test_image_ids: expected a list of ids, got null"),
    ],
)
def test_faults_of_a_file(tmp_path: Path, change: Any, message: str):
    with pytest.raises(SgevalError) as caught:
        list(read_psg(copy(tmp_path, change)))
    assert str(caught.value) == f"{tmp_path / 'psg.json'}: {message}"


def test_competition_files_with_different_classes(tmp_path: Path):
    copy(tmp_path, lambda whole: None, "psg_train_val.json")
    copy(tmp_path, lambda whole: {**whole, "predicate_classes": ["on"]}, "psg_val_test.json")
    with pytest.raises(
        SgevalError, match=r"psg_val_test.json: expected the class lists of psg_train_val.json, got others"
    ):
        list(read_psg(tmp_path, "test", config="competition"))


def test_what_is_not_there_is_said_at_once(tmp_path: Path):
    with pytest.raises(SgevalError) as caught:
        read_psg(tmp_path / "nowhere")
    expected = f'data_dir: expected a folder that holds psg.json or psg_sample.json, got "{tmp_path / "nowhere"}"'
    assert str(caught.value) == expected
    with pytest.raises(SgevalError) as caught:
        read_psg(tmp_path)
    expected = f'{tmp_path}: expected psg.json or psg_sample.json for the config "full", got none of the PSG files'
    assert str(caught.value) == expected
    copy(tmp_path, lambda whole: None, "psg_train_val.json")
    for config, files in (
        ("full", "psg.json or psg_sample.json"),
        ("competition", "psg_train_val.json and psg_val_test.json"),
    ):
        with pytest.raises(SgevalError) as caught:
            read_psg(tmp_path, config=config)  # type: ignore[arg-type]
        assert (
            str(caught.value) == f'{tmp_path}: expected {files} for the config "{config}", got only psg_train_val.json'
        )


def test_unknown_names_are_said_at_once():
    with pytest.raises(SgevalError, match='config: expected one of full, competition, sgg_benchmark, got "tiny"'):
        read_psg(DATA, config="tiny")  # type: ignore[arg-type]
    with pytest.raises(
        SgevalError, match=r'config: expected one of full, competition, sgg_benchmark, got "ful".*"full"'
    ):
        psg_classes(DATA, config="ful")  # type: ignore[arg-type]
    with pytest.raises(SgevalError, match=r'split: expected one of train, test \(of the config full\), got "val"'):
        read_psg(DATA, "val")
