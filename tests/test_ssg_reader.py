"""The SSG reader against files whose content is known by hand (tests/data/ssg/SOURCE.md says what they are)."""

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from ssg_kit import (
    BOOK,
    CUP,
    CUP_SEEN,
    DATA,
    EXPECTED,
    FRAMES,
    NO_PERSON,
    PERSON,
    SCORE,
    TABLE,
    WHOLE,
    by_the_table,
    frame,
    write,
)

from sgeval.errors import SgevalError
from sgeval.readers.safe_pickle import read_pickle
from sgeval.readers.ssg import SsgExclusion, read_ssg, ssg_classes
from sgeval.records import Object, Relation, Role, to_dict
from sgeval.validation import parse_graphs


def test_all_frames_exactly():
    graphs = list(read_ssg(DATA))
    assert [graph.image_id for graph in graphs] == FRAMES
    for graph, expected in zip(graphs, EXPECTED, strict=True):
        assert graph == expected
    assert [*graphs[0].extra] == ["/objects/0/bbox_score", "set", "/objects/3/visible"]


def test_records_go_to_a_file_and_back():
    parsed = parse_graphs([to_dict(graph) for graph in EXPECTED])
    assert parsed.graphs == EXPECTED and parsed.warnings == []


def test_the_folder_of_the_pickles_will_do_too():
    assert list(read_ssg(DATA / "data")) == EXPECTED
    assert ssg_classes(DATA / "data") == ssg_classes(DATA)


def test_pickles_hold_what_their_readable_twins_say():
    for name in ("ssg_dataset", "ag_ssg_combined_person"):
        twin = json.loads((DATA / "readable" / f"{name}.json").read_text())
        ours = read_pickle(DATA / "data" / f"{name}.pkl")
        assert [*ours] == [*twin] == FRAMES
        for key in FRAMES:
            if name == "ssg_dataset":
                assert json.loads(json.dumps(ours[key])) == twin[key]
                continue
            keypoints = ours[key].pop("keypoints")
            assert keypoints.shape == (1, 17, 3) and not keypoints.any()
            assert ours[key]["bbox"].dtype == np.float32 and ours[key]["bbox"].shape[1:] == (4,)
            lists = {
                key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in ours[key].items()
            }
            assert json.loads(json.dumps(lists)) == twin[key]


def test_splits_are_what_the_first_object_says(tmp_path: Path):
    assert list(read_ssg(DATA, "train")) == EXPECTED[:3]
    assert list(read_ssg(DATA, "test")) == EXPECTED[3:]

    def change(objects: Any, persons: Any) -> None:
        objects[FRAMES[0]][0]["metadata"]["set"] = "test"
        objects[FRAMES[1]][1]["metadata"]["set"] = "test"
        objects[FRAMES[2]] = []

    folder = write(tmp_path, change)
    assert [graph.image_id for graph in read_ssg(folder, "train")] == [FRAMES[1]]
    assert [graph.image_id for graph in read_ssg(folder, "test")] == [FRAMES[0], *FRAMES[3:]]
    first, second, third = list(read_ssg(folder))[:3]
    # The others of frame 0 still say train, and the second of frame 1 says test: kept beside.
    assert first.extra["set"] == "test" and first.extra["/objects/2/metadata/set"] == "train"
    assert second.extra["set"] == "train" and second.extra["/objects/2/metadata/set"] == "test"
    assert third.objects == (PERSON,) and third.relations == () and "set" not in third.extra


def test_classes_are_spelled_as_the_pickles_spell_them():
    classes = ssg_classes(DATA)
    # The lists' own counts: 36 and 26; 21 noun roles and 10 others; 16 and 6 values.
    assert [len(names) for names in (classes.objects, classes.predicates)] == [36, 26]
    assert [len(names) for names in (classes.noun_roles, classes.relation_roles)] == [21, 10]
    assert [len(names) for names in (classes.noun_values, classes.relation_values)] == [16, 6]
    assert (classes.noun_roles[20], classes.relation_roles[0]) == ("noun_role_20", "place")
    assert {at: name for at, name in enumerate(classes.objects) if "/" in name} == {
        8: "closet/cabinet",
        10: "cup/glass/bottle",
        22: "paper/notebook",
        23: "phone/camera",
        30: "sofa/couch",
    }
    assert classes.predicates[:3] == ("looking_at", "not_looking_at", "unsure")
    assert classes.predicates[3:9] == ("above", "beneath", "in_front_of", "behind", "on_the_side_of", "in")
    # fmt: off
    assert classes.predicates[9:] == (
        "carrying", "covered_by", "drinking_from", "eating", "have_it_on_the_back", "holding", "leaning_on", "lying_on",
        "not_contacting", "other_relationship", "sitting_on", "standing_on", "touching", "twisting", "wearing", "wiping",
        "writing_on",
    )
    # fmt: on


# --- what is only left out on request


def names(graphs: Any) -> list[str]:
    return [graph.image_id for graph in graphs]


def test_the_released_subset():
    # ZZ002/000005 has no person box, so two frames of ZZ002 are left: too few. ZZ001 keeps three, each without the
    # invisible book and without the role state of the cup.
    cup = Object(1, CUP.category, CUP.bbox, 10, roles=CUP.roles[:2])
    expected = [frame("ZZ001", number, "train", (PERSON, cup, TABLE), WHOLE[1]) for number in (3, 9, 15)]
    for graph in expected:
        del graph.extra["/objects/3/visible"]  # type: ignore[attr-defined]
    assert list(read_ssg(DATA, config="released_subset")) == expected
    assert list(read_ssg(DATA, exclude=get_args(SsgExclusion))) == expected
    assert list(read_ssg(DATA, "test", config="released_subset")) == []
    assert list(read_ssg(DATA, config="released_subset", videos=["ZZ002.mp4"])) == []


def test_videos():
    assert names(read_ssg(DATA, videos=["ZZ002.mp4", "ZZ009.mp4"])) == FRAMES[3:]
    assert names(read_ssg(DATA, "train", videos=["ZZ002.mp4"])) == []
    with pytest.raises(
        SgevalError, match=r'videos: expected names of videos as ssg_dataset.pkl has them, got \["ZZ001"\]'
    ):
        list(read_ssg(DATA, videos=["ZZ001"]))


def test_invisible_objects():
    graph = list(read_ssg(DATA, exclude=["invisible"]))[5]
    assert graph.objects == (PERSON, CUP, TABLE) and len(graph.relations) == 7
    assert graph.extra == {"/objects/0/bbox_score": SCORE, "set": "test", "/relations/3/framed": False}


def test_objects_of_no_contact_but_the_other():
    graphs = list(read_ssg(DATA, exclude=["only_other_relationship"]))
    assert graphs[:5] == EXPECTED[:5]
    # The cup goes with its four relations. The others keep their ids; the book is now the third object.
    assert graphs[5].objects == (PERSON, TABLE, BOOK) and graphs[5].relations == by_the_table(4)
    assert graphs[5].extra == {"/objects/0/bbox_score": SCORE, "set": "test", "/objects/2/visible": False}


def test_the_other_beside_a_contact_stays(tmp_path: Path):
    def change(objects: Any, persons: Any) -> None:
        objects[FRAMES[5]][0]["contacting_relationship"] = ["other_relationship", "holding"]

    assert list(read_ssg(write(tmp_path, change), exclude=["only_other_relationship"]))[5].objects == WHOLE[0]


def test_a_contact_that_only_a_semantic_frame_names_saves_no_object(tmp_path: Path):
    """The released reader looks at the list alone: a cup whose list is the other one goes, whatever its frames say."""

    def change(objects: Any, persons: Any) -> None:
        objects[FRAMES[5]][0]["contacting_relationship_semantic_role_frame"] = [
            {"contacting_relationship": "holding", "frame": {"place": "kitchen"}}
        ]

    graph = list(read_ssg(write(tmp_path, change), exclude=["only_other_relationship"]))[5]
    assert graph.objects == (PERSON, TABLE, BOOK)


def test_contacts_without_a_semantic_frame():
    graph = list(read_ssg(DATA, exclude=["contacts_without_frame"]))[5]
    assert graph.relations == (*CUP_SEEN, *by_the_table(4)) and graph.objects == WHOLE[0]
    assert graph.extra == {"/objects/0/bbox_score": SCORE, "set": "test", "/objects/3/visible": False}


def test_the_roles_state_and_purpose(tmp_path: Path):
    def change(objects: Any, persons: Any) -> None:
        objects[FRAMES[0]][0]["attributes"] = {"purpose": "drinking", "color": "red", "state": "open"}
        persons[FRAMES[0]]["attributes"] = {"state": "calm"}

    folder = write(tmp_path, change)
    roles = [item.roles for item in next(read_ssg(folder)).objects]
    assert roles[:2] == [
        (Role("state", "calm"),),
        (Role("purpose", "drinking"), Role("color", "red"), Role("state", "open")),
    ]
    # The released reader takes them off objects only.
    roles = [item.roles for item in next(read_ssg(folder, exclude=["state_and_purpose"])).objects]
    assert roles[:2] == [(Role("state", "calm"),), (Role("color", "red"),)]


def test_frames_without_person_box_roles_or_objects(tmp_path: Path):
    def change(objects: Any, persons: Any) -> None:
        del persons[FRAMES[0]]["attributes"]
        persons[FRAMES[1]]["bbox"] = None
        del persons[FRAMES[2]]
        objects[FRAMES[3]] = objects[FRAMES[3]][2:]

    folder = write(tmp_path, change)
    graphs = list(read_ssg(folder))
    assert names(graphs) == FRAMES
    assert graphs[0].objects[0] == Object(0, "person", PERSON.bbox, 0)
    assert graphs[1].objects[0] == Object(0, "person", None, 0, roles=PERSON.roles)
    assert graphs[2].objects[0] == NO_PERSON and (graphs[2].width, graphs[2].height) == (None, None)
    # Beside ZZ002/000005, which has neither box nor roles.
    left = {
        name: names(read_ssg(folder, exclude=[name])) for name in ("no_person_box", "no_person_roles", "no_objects")
    }
    assert left == {
        "no_person_box": [FRAMES[0], FRAMES[3], FRAMES[5]],
        "no_person_roles": [FRAMES[1], FRAMES[3], FRAMES[5]],
        "no_objects": FRAMES,
    }
    assert names(read_ssg(folder, exclude=["no_objects", "invisible"])) == [*FRAMES[:3], *FRAMES[4:]]


def test_short_videos():
    assert names(read_ssg(DATA, exclude=["short_videos"])) == FRAMES
    assert names(read_ssg(DATA, exclude=["short_videos", "no_person_box"])) == FRAMES[:3]


# --- pitfalls of the form


def test_contacts_and_their_semantic_frames(tmp_path: Path):
    """Repeated verbs, frames in another order, frames without a verb, and frames whose verb is not listed."""

    def change(objects: Any, persons: Any) -> None:
        cup = objects[FRAMES[0]][0]
        cup["contacting_relationship"] = ["holding", "touching", "holding"]
        cup["contacting_relationship_semantic_role_frame"] = [
            {"contacting_relationship": "wiping", "frame": {"tool": "towel"}},
            {"contacting_relationship": "holding", "frame": {"place": "kitchen"}},
            {},
            {"contacting_relationship": None, "frame": {"manner": "slowly"}},
            {"contacting_relationship": "holding"},
            {"contacting_relationship": "holding", "frame": {"place": "hall"}},
        ]

    graph = next(read_ssg(write(tmp_path, change)))
    assert [(item.predicate, item.roles) for item in graph.relations if item.type == "contacting"][:5] == [
        ("holding", (Role("place", "kitchen"),)),
        ("touching", ()),
        ("holding", ()),
        ("wiping", (Role("tool", "towel"),)),
        ("holding", (Role("place", "hall"),)),
    ]
    assert graph.extra == {
        **EXPECTED[0].extra,
        "/relations/4/framed": False,
        "/relations/6/listed": False,
        "/relations/7/listed": False,
        "/objects/1/frames_without_verb": [{"manner": "slowly"}],
    }


def test_lists_of_nothing_and_keys_that_are_not_there(tmp_path: Path):
    def change(objects: Any, persons: Any) -> None:
        objects[FRAMES[0]][0] = {"class": "cup/glass/bottle", "visible": True, "metadata": {"set": "train"}}
        objects[FRAMES[0]][2]["contacting_relationship_semantic_role_frame"] = None
        objects[FRAMES[0]][2]["attributes"] = None

    graph = next(read_ssg(write(tmp_path, change)))
    assert graph.objects == (PERSON, Object(1, CUP.category, None, 10), TABLE, BOOK)
    assert graph.relations == by_the_table(0)


def test_names_outside_the_lists(tmp_path: Path):
    def change(objects: Any, persons: Any) -> None:
        objects[FRAMES[0]][0]["class"] = "spoon"
        objects[FRAMES[0]][0]["spatial_relationship"] = ("inside_of",)

    graph = next(read_ssg(write(tmp_path, change)))
    assert (graph.objects[1].category, graph.objects[1].category_id) == ("spoon", -1)
    assert graph.relations[1] == Relation(1, 0, "inside_of", 1, -1, "spatial")


def test_more_person_boxes_and_keys_the_form_does_not_know(tmp_path: Path):
    def change(objects: Any, persons: Any) -> None:
        person = persons[FRAMES[0]]
        person["bbox"] = np.array([[30, 10, 90, 118], [1, 2, 4, 8]], np.float32)
        person["bbox_score"] = np.array([0.5, 0.25], np.float32)
        person["note"] = {"by": np.array([[1, 2]])}
        objects[FRAMES[0]][1]["a/b~c"] = (1, None)
        objects[FRAMES[0]][1]["metadata"]["worker"] = "w7"

    graph = next(read_ssg(write(tmp_path, change)))
    assert graph.objects == WHOLE[0]
    # The second box is x 1, y 2, w 4 - 1, h 8 - 2.
    assert graph.extra == {
        **EXPECTED[0].extra,
        "/objects/0/other_boxes": [[1.0, 2.0, 3.0, 6.0]],
        "/objects/0/bbox_score": [0.5, 0.25],
        "/objects/0/note": {"by": [[1, 2]]},
        "/objects/2/a~1b~0c": [1, None],
        "/objects/2/metadata/worker": "w7",
    }


def test_tags_and_keypoints_on_request():
    graph = next(read_ssg(DATA, keep=["tag", "keypoints"]))
    assert graph.extra == {
        **EXPECTED[0].extra,
        "/objects/0/keypoints": [[[0.0, 0.0, 0.0]] * 17],
        "/objects/1/metadata/tag": "ZZ001.mp4/cup/glass/bottle/000003",
        "/objects/2/metadata/tag": "ZZ001.mp4/table/000003",
        "/objects/3/metadata/tag": "ZZ001.mp4/book/000003",
    }


def test_boxes_as_they_stand(tmp_path: Path):
    """Outside the picture, of no size, in numbers of numpy: unclipped and unrepaired."""

    def change(objects: Any, persons: Any) -> None:
        objects[FRAMES[0]][0]["bbox"] = [-904, 5, 0.0, np.float64(0.1)]
        objects[FRAMES[0]][1]["bbox"] = np.array([1, 2, 3, 4], np.int16)
        persons[FRAMES[0]]["bbox"] = np.array([[90, 10, 30, 500]])

    graph = next(read_ssg(write(tmp_path, change)))
    assert [item.bbox for item in graph.objects] == [
        (90.0, 10.0, -60.0, 490.0),
        (-904.0, 5.0, 0.0, 0.1),
        (1.0, 2.0, 3.0, 4.0),
        None,
    ]


def test_both_names_of_numpy(tmp_path: Path):
    shutil.copytree(DATA / "data", tmp_path / "data")
    path = tmp_path / "data" / "ag_ssg_combined_person.pkl"
    assert b"cnumpy.core.multiarray\n" in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(b"cnumpy.core.multiarray\n", b"cnumpy._core.multiarray\n"))
    assert list(read_ssg(tmp_path)) == EXPECTED


@pytest.mark.parametrize("name", ["ssg_dataset.pkl", "ag_ssg_combined_person.pkl"])
def test_a_hostile_pickle_does_nothing(tmp_path: Path, name: str):
    class Trap:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'canary'}",)

    shutil.copytree(DATA / "data", tmp_path / "data")
    path = tmp_path / "data" / name
    path.write_bytes(pickle.dumps({FRAMES[0]: Trap()}))
    with pytest.raises(SgevalError) as caught:
        list(read_ssg(tmp_path))
    assert str(caught.value).startswith(f"{path}: byte ") and 'got the name "posix.system"' in str(caught.value)
    assert not (tmp_path / "canary").exists()
