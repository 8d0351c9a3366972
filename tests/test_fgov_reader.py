"""The FG-OV reader against files whose content is known by hand (SOURCE.md in tests/data/fgov and tests/data/formats)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fgov_kit import COCO, DATA, MAP, O365, REAL, copy

from sgeval.errors import SgevalError
from sgeval.images import image_sources
from sgeval.readers.fgov import o365_classes, read_fgov
from sgeval.records import Object, Relation, SceneGraph, to_dict
from sgeval.validation import parse_graphs


def item(number: int, name: str, *box: float) -> Object:
    left, top, width, height = box
    return Object(number, name, (left, top, width, height), names=(name,))


# The three records of data_COCO_llava_OV.json: x, y, w, h as they stand, the picture from data_split and a padded id.
FIRST = SceneGraph(
    "1001",
    (
        item(1, "person", 4.0, 8.0, 16.0, 48.0),
        item(2, "umbrella", 2.37, 2.11, 27.9, 12.25),
        item(3, "person", 40.0, 8.0, 12.0, 40.0),
    ),
    (
        Relation(1, 2, "holding", id=1, score=1.0),
        Relation(2, 1, "positioned above", id=2, score=1.0),
        Relation(1, 2, "shielded by", id=3, score=1.0),
        Relation(1, 2, "holding", id=4, score=1.0),
    ),
    file_name="train2017/000000001001.jpg",
    source="fgov",
    extra={"dataset": "coco2017", "data_split": "train2017"},
)
MIDDLE = SceneGraph(
    "1002",
    (item(4, "car", 8.0, 20.0, 32.0, 24.0),),
    file_name="train2017/000000001002.jpg",
    source="fgov",
    extra={"dataset": "coco2017", "data_split": "train2017"},
)
LAST = SceneGraph(
    "1003",
    (item(5, "bench", 0.0, 0.0, 50.0, 40.0), item(6, "person", 10.0, 5.0, 20.0, 34.0)),
    (Relation(6, 5, "resting against", id=5, score=1.0),),
    file_name="val2017/000000001003.jpg",
    source="fgov",
    extra={"dataset": "coco2017", "data_split": "val2017"},
)
# The two records of obj365_llava_OV.json, the pictures as image_id_to_filepath.json has them.
OBJECTS365 = [
    SceneGraph(
        "900001",
        (item(11, "Person", 3.5, 2.25, 20.5, 40.75), item(12, "Cup", 18.0, 14.0, 8.0, 9.0)),
        (Relation(11, 12, "gripping", id=1, score=1.0),),
        file_name="train/patch16/objects365_v2_00900001.jpg",
        source="fgov",
        extra={"dataset": "o365", "data_split": "train"},
    ),
    SceneGraph(
        "636013",
        (item(13, "Chair", 1.0, 1.0, 30.0, 30.0),),
        file_name="val/patch13/objects365_v1_00636013.jpg",
        source="fgov",
        extra={"dataset": "o365", "data_split": "val"},
    ),
]


def test_both_configs_exactly():
    assert list(read_fgov(DATA)) == [FIRST, MIDDLE, LAST]
    assert list(read_fgov(DATA, config="o365")) == OBJECTS365


def test_records_go_to_a_file_and_back():
    graphs = [FIRST, MIDDLE, LAST, *OBJECTS365]
    parsed = parse_graphs([to_dict(graph) for graph in graphs])
    assert parsed.graphs == graphs and parsed.warnings == []


def test_files_by_name():
    assert list(read_fgov(DATA, data_files=COCO)) == [FIRST, MIDDLE, LAST]
    assert list(read_fgov(DATA, data_files=[DATA / COCO, COCO])) == [FIRST, MIDDLE, LAST] * 2
    assert list(read_fgov(DATA.parent, config="o365", data_files=Path("formats") / O365)) == OBJECTS365


def test_pictures_lie_below_the_roots(tmp_path: Path):
    roots = {"coco": "coco", "o365": "object365/images"}
    expected = {
        "coco": ["train2017/000000001001.jpg", "train2017/000000001002.jpg", "val2017/000000001003.jpg"],
        "o365": ["train/patch16/objects365_v2_00900001.jpg", "val/patch13/objects365_v1_00636013.jpg"],
    }
    for config, names in expected.items():
        root = tmp_path / roots[config]
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        graphs = list(read_fgov(DATA, config=config))  # type: ignore[arg-type]
        assert image_sources(root, [(graph, None) for graph in graphs]) == [(root / name).resolve() for name in names]


def test_blanks_at_the_end_of_names_stay(tmp_path: Path):
    def change(whole: Any) -> None:
        whole[0]["objects"][1]["names"] = "Table Tennis "
        whole[1]["objects"][0]["names"] = ["Formula 1 ", "car"]

    first, second = read_fgov(copy(tmp_path, change, O365), config="o365")
    assert (first.objects[1].category, first.objects[1].names) == ("Table Tennis ", ("Table Tennis ",))
    assert (second.objects[0].category, second.objects[0].names) == ("Formula 1 ", ("Formula 1 ", "car"))
    assert {"Table Tennis ", "Formula 1 "} < set(o365_classes(REAL / "o365_categories.json"))


def test_ids_that_repeat_and_ids_that_are_text(tmp_path: Path):
    """relationship_id is 0 throughout in converted files; an image_id may be a text; a picture may come twice."""

    def change(whole: Any) -> None:
        for relation in whole[0]["relationships"]:
            relation["relationship_id"] = 0
        whole[0]["image_id"] = "1001"
        whole[1]["image_id"] = 1001
        del whole[2]["relationships"][0]["relationship_id"], whole[2]["relationships"][0]["confidence"]

    graphs = list(read_fgov(copy(tmp_path, change)))
    assert [relation.id for relation in graphs[0].relations] == [0, 0, 0, 0]
    assert [graph.image_id for graph in graphs] == ["1001", "1001", "1003"]
    assert {graph.file_name for graph in graphs[:2]} == {"train2017/000000001001.jpg"}
    assert graphs[2].relations == (Relation(6, 5, "resting against"),)


def test_a_second_object_with_an_id_stays_and_relations_mean_the_first(tmp_path: Path):
    def change(whole: Any) -> None:
        whole[0]["objects"].append({**whole[0]["objects"][2], "object_id": 2})

    graph = next(read_fgov(copy(tmp_path, change)))
    assert graph.objects == (*FIRST.objects, item(2, "person", 40.0, 8.0, 12.0, 40.0))
    assert graph.relations == FIRST.relations
    assert graph.extra == {**FIRST.extra, "/objects/3/repeats": "objects[1]"}


def test_a_picture_without_a_path_stays(tmp_path: Path):
    """Maps lack pictures. A name that the record itself gives is kept, if it is one."""

    def change(whole: Any) -> None:
        whole[0] |= {"image_id": 7}
        whole[1] |= {"image_id": 8, "file_name": "mine.jpg"}

    first, second = read_fgov(copy(tmp_path, change, O365), config="o365")
    flag = {"/file_name/not_in_map": MAP}
    assert (first.file_name, first.extra) == (None, {**OBJECTS365[0].extra, **flag})
    assert (first.objects, first.relations) == (OBJECTS365[0].objects, OBJECTS365[0].relations)
    assert (second.file_name, second.extra) == ("mine.jpg", {**OBJECTS365[1].extra, **flag})


def test_a_relation_of_an_object_with_itself_and_boxes_outside_stay(tmp_path: Path):
    def change(whole: Any) -> None:
        whole[0]["relationships"][0]["object_id"] = 1
        whole[0]["objects"][0] |= {"x": -904, "w": 0.0}

    graph = next(read_fgov(copy(tmp_path, change)))
    assert graph.relations[0] == Relation(1, 1, "holding", id=1, score=1.0)
    assert graph.objects[0].bbox == (-904.0, 8.0, 0.0, 48.0)


def test_keys_the_form_does_not_know(tmp_path: Path):
    def change(whole: Any) -> None:
        whole[0] |= {"width": 64, "height": 48, "crowd/ed": 1}
        whole[0]["objects"][2]["synsets"] = ["person.n.01"]
        whole[0]["relationships"][1]["votes"] = [1, 2]
        del whole[0]["data_split"]

    graph = next(read_fgov(copy(tmp_path, change)))
    assert (graph.width, graph.height, graph.file_name) == (64, 48, "train2017/000000001001.jpg")
    assert graph.objects == FIRST.objects and graph.relations == FIRST.relations
    assert graph.extra == {
        "dataset": "coco2017",
        "/crowd~1ed": 1,
        "/objects/2/synsets": ["person.n.01"],
        "/relations/1/votes": [1, 2],
    }


def test_a_file_of_both_data_sets(tmp_path: Path):
    def change(whole: Any) -> list[Any]:
        rows = json.loads((DATA / O365).read_text())
        return [whole[0], rows[0], whole[1], rows[1], whole[2]]

    copy(tmp_path, change)
    assert list(read_fgov(tmp_path)) == [FIRST, MIDDLE, LAST]
    assert list(read_fgov(tmp_path, config="o365", data_files=COCO)) == OBJECTS365


def test_records_of_other_sets_are_passed_over_and_counted(tmp_path: Path):
    """RLIPv2 names no data set for pictures of Visual Genome."""

    def change(whole: Any) -> list[Any]:
        named = {**whole[0], "dataset": "hico", "image_id": "7"}
        unnamed = {key: value for key, value in whole[0].items() if key != "dataset"} | {"image_id": 8}
        return [whole[0], named, unnamed, whole[1], unnamed | {"image_id": 9}, whole[2]]

    copy(tmp_path, change)
    with pytest.warns(UserWarning, match=r"other data sets: 1 of hico, 2 of Visual Genome \(no dataset named\)"):
        assert list(read_fgov(tmp_path)) == [FIRST, MIDDLE, LAST]


def test_a_key_of_another_form_takes_the_place_of_nothing(tmp_path: Path):
    def change(whole: Any) -> None:
        whole[0]["objects"][0] |= {"category": "wolf", "bbox": [5, 6, 7, 8], "id": 99}
        whole[0]["relationships"][0] |= {"score": 0.1, "id": 77}
        whole[0] |= {"relations": [1], "extra": {"a": 1}, "source": "mine"}

    copy(tmp_path, change)
    found = next(iter(read_fgov(tmp_path)))
    assert (found.objects, found.relations, found.source) == (FIRST.objects, FIRST.relations, FIRST.source)
    kept = {key: value for key, value in found.extra.items() if key not in FIRST.extra}
    assert kept == {
        "/objects/0/bbox": [5, 6, 7, 8],
        "/objects/0/category": "wolf",
        "/objects/0/id": 99,
        "/relations/0/id": 77,
        "/relations/0/score": 0.1,
        "/extra": {"a": 1},
        "/relations": [1],
        "/source": "mine",
    }


def test_a_split_that_is_null_is_that_of_training(tmp_path: Path):
    copy(tmp_path, lambda whole: whole[0].update(data_split=None))
    assert next(iter(read_fgov(tmp_path))).file_name == FIRST.file_name


def test_a_map_in_the_folder_above(tmp_path: Path):
    (tmp_path / "lists").mkdir()
    shutil.copy(DATA / O365, tmp_path / "lists")
    shutil.copy(DATA / MAP, tmp_path)
    assert list(read_fgov(tmp_path, config="o365", data_files=f"lists/{O365}")) == OBJECTS365


def test_the_map_beside_a_file_comes_first(tmp_path: Path):
    (tmp_path / "lists").mkdir()
    shutil.copy(DATA / O365, tmp_path / "lists")
    shutil.copy(DATA / MAP, tmp_path / "lists")
    (tmp_path / MAP).write_text('{"900001": "elsewhere.jpg", "636013": "elsewhere.jpg"}')
    assert list(read_fgov(tmp_path, config="o365", data_files=f"lists/{O365}")) == OBJECTS365


# --- faults; those of records are in `test_fgov_faults`


def test_a_file_of_the_other_data_set():
    with pytest.raises(SgevalError) as caught:
        list(read_fgov(DATA, data_files=O365))
    assert str(caught.value) == f'{DATA / O365}: expected records of the data set "coco2017", got "o365"'


SOURCE = "(FG-OV is not published; its authors, arXiv 2509.01209, may give it)"
FORM = 'a JSON list in the RLIPv2 form whose first record is of the data set "coco2017"'


def message(call: Callable[[], object]) -> str:
    with pytest.raises(SgevalError) as caught:
        call()
    return str(caught.value)


def test_what_is_not_there_is_said_at_once(tmp_path: Path):
    nowhere = tmp_path / "nowhere"
    expected = f"data_dir: expected a folder that holds the JSON files {SOURCE}, got {nowhere}"
    assert message(lambda: read_fgov(nowhere)) == expected
    assert message(lambda: read_fgov(tmp_path)) == f"{tmp_path}: expected {FORM} {SOURCE}, got no JSON file"
    shutil.copy(DATA / O365, tmp_path)
    shutil.copy(REAL / "o365_categories.json", tmp_path)
    (tmp_path / "cut.json").write_text('[{"image_id": 1, "objects": [')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "number.json").write_text("[5]")
    got = (
        "got only cut.json (cut short at byte 29, within its first record), "
        "deep.json (its first record is no JSON of a sane size and depth), number.json (its first entry is no object), "
        "o365_categories.json (its first record has no image_id), "
        f'{O365} (its first record is of the data set "o365")'
    )
    assert message(lambda: read_fgov(tmp_path)) == f"{tmp_path}: expected {FORM} {SOURCE}, {got}"
    for files in (COCO, [O365, COCO]):
        expected = (
            f"data_files: expected files in the RLIPv2 form {SOURCE}, got {tmp_path / COCO}, which does not exist"
        )
        assert message(lambda files=files: read_fgov(tmp_path, data_files=files)) == expected  # type: ignore[misc]
    assert message(lambda: read_fgov(tmp_path, data_files=[])).endswith("got none")
    expected = (
        f"{tmp_path}: expected {MAP} (an object from image_id to the path below object365/images, as "
        f"https://github.com/JacobYuan7/RLIPv2 uses it) beside {O365}, got nothing"
    )
    assert message(lambda: read_fgov(tmp_path, config="o365")) == expected


def test_a_choice_of_several_files_is_left_to_the_caller(tmp_path: Path):
    copy(tmp_path, lambda whole: None)
    shutil.copy(DATA / COCO, tmp_path / "coco_train_llava_full.json")
    expected = f"{tmp_path}: expected {FORM}, or data_files that say which, got coco_train_llava_full.json, {COCO}"
    assert message(lambda: read_fgov(tmp_path)) == expected
    assert len(list(read_fgov(tmp_path, data_files=["coco_train_llava_full.json", COCO]))) == 6


def test_an_unknown_config_is_said_at_once():
    expected = 'config: expected one of coco, o365, got "vg"'
    assert message(lambda: read_fgov(DATA, config="vg")) == expected  # type: ignore[arg-type]


def test_a_map_of_another_kind(tmp_path: Path):
    copy(tmp_path, lambda whole: None, O365)
    (tmp_path / MAP).write_text('{"900001": 5}')
    expected = f'{tmp_path / MAP}: expected an object from image_id to the picture\'s path, got {{"900001": 5}}'
    assert message(lambda: list(read_fgov(tmp_path, config="o365"))) == expected
