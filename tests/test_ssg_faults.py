"""What the SSG reader says of files that are not in the form: one line with file, frame, expectation and what is there."""

import json
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ssg_kit import DATA, FRAMES, write

from sgeval.errors import SgevalError
from sgeval.readers.ssg import read_ssg, ssg_classes
from sgeval.records import to_dict

HERE = f'"{FRAMES[0]}"'


def at_object(key: str, value: Any, of: str | None = None) -> Callable[[Any, Any], None]:
    def change(objects: Any, persons: Any) -> None:
        owner = objects[FRAMES[0]][0] if of is None else objects[FRAMES[0]][0][of]
        if value is ...:
            del owner[key]
        else:
            owner[key] = value

    return change


def at_person(key: str, value: Any) -> Callable[[Any, Any], None]:
    return lambda objects, persons: persons[FRAMES[0]].update({key: value})


BOX = "expected four numbers [x, y, width, height], or null"
FRAME = "contacting_relationship_semantic_role_frame"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (at_object("class", ...), f"{HERE}[0].class: expected a text, got nothing"),
        (at_object("class", 3), f"{HERE}[0].class: expected a text, got 3"),
        (at_object("visible", 1), f"{HERE}[0].visible: expected true or false, got 1"),
        (at_object("bbox", (1.0, 2.0, 3.0)), f"{HERE}[0].bbox: {BOX}, got [1.0, 2.0, 3.0]"),
        (at_object("bbox", (1.0, 2.0, True, 3.0)), f"{HERE}[0].bbox: {BOX}, got [1.0, 2.0, true, 3.0]"),
        (at_object("bbox", (1.0, 2.0, float("nan"), 3.0)), f"{HERE}[0].bbox: {BOX}, got [1.0, 2.0, NaN, 3.0]"),
        (at_object("bbox", "left"), f'{HERE}[0].bbox: {BOX}, got ["left"]'),
        (at_object("metadata", None), f"{HERE}[0].metadata: expected an object, got null"),
        (at_object("metadata", {}), f'{HERE}[0].metadata.set: expected "train" or "test", got nothing'),
        (at_object("set", "val", "metadata"), f'{HERE}[0].metadata.set: expected "train" or "test", got "val"'),
        (at_object("attributes", ["red"]), f'{HERE}[0].attributes: expected an object from role to value, got ["red"]'),
        (at_object("color", None, "attributes"), f"{HERE}[0].attributes.color: expected a text, got null"),
        (at_object(1, "x", "attributes"), f"{HERE}[0].attributes: expected roles that are texts, got 1"),  # type: ignore[arg-type]
        (
            at_object("attention_relationship", "unsure"),
            f'{HERE}[0].attention_relationship: expected a list of predicates, or null, got "unsure"',
        ),
        (
            at_object("spatial_relationship", ["in", 5]),
            f"{HERE}[0].spatial_relationship[1]: expected a text, got 5",
        ),
        (at_object(FRAME, "x"), f'{HERE}[0].{FRAME}: expected a list of semantic frames, got "x"'),
        (at_object(FRAME, [None]), f"{HERE}[0].{FRAME}[0]: expected an object, got null"),
        (
            at_object(FRAME, [{"contacting_relationship": 4}]),
            f"{HERE}[0].{FRAME}[0].contacting_relationship: expected a text, got 4",
        ),
        (
            at_object(FRAME, [{"contacting_relationship": "holding", "frame": {"place": 1}}]),
            f"{HERE}[0].{FRAME}[0].frame.place: expected a text, got 1",
        ),
        (at_object("more", b"x"), f"{HERE}[0].more: expected texts, finite numbers, lists and objects, got b'x'"),
        (
            lambda objects, persons: objects.update({FRAMES[0]: {"class": "cup"}}),
            f'{HERE}: expected a list of objects, got {{"class": "cup"}}',
        ),
        (lambda objects, persons: objects[FRAMES[0]].insert(0, "cup"), f'{HERE}[0]: expected an object, got "cup"'),
        (
            lambda objects, persons: objects.update({"ZZ003": []}),
            'expected frames named VIDEO/NUMBER.png, got "ZZ003"',
        ),
        (lambda objects, persons: objects.update({7: []}), "expected frames named VIDEO/NUMBER.png, got 7"),
    ],
)
def test_faults_of_objects(tmp_path: Path, change: Any, message: str):
    with pytest.raises(SgevalError) as caught:
        list(read_ssg(write(tmp_path, change)))
    assert str(caught.value) == f"{tmp_path / 'data' / 'ssg_dataset.pkl'}: {message}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (at_person("bbox", np.ones(4)), f"{HERE}.bbox[0]: expected four numbers [x0, y0, x1, y1], got [1.0]"),
        (
            at_person("bbox", np.ones((1, 5))),
            f"{HERE}.bbox[0]: expected four numbers [x0, y0, x1, y1], got [1.0, 1.0, 1.0",
        ),
        (at_person("bbox_mode", "xywh"), f'{HERE}.bbox_mode: expected "xyxy" (corners), got "xywh"'),
        (at_person("bbox_mode", np.ones(2)), f'{HERE}.bbox_mode: expected "xyxy" (corners), got array([1., 1.])'),
        (
            at_person("bbox_size", (160,)),
            f"{HERE}.bbox_size: expected [width, height] in whole pixels from 1 up, got [160]",
        ),
        (
            at_person("bbox_size", (160, 9.5)),
            f"{HERE}.bbox_size: expected [width, height] in whole pixels from 1 up, got [160, 9.5]",
        ),
        (
            at_person("bbox_size", (160, 0)),
            f"{HERE}.bbox_size: expected [width, height] in whole pixels from 1 up, got [160, 0]",
        ),
        (at_person("attributes", "calm"), f'{HERE}.attributes: expected an object from role to value, got "calm"'),
        (lambda objects, persons: persons.update({FRAMES[0]: [1]}), f"{HERE}: expected a person, got [1]"),
        (
            lambda objects, persons: [persons.update({f"{key}.png": persons.pop(key)}) for key in FRAMES],
            f'expected persons of the frames in ssg_dataset.pkl, got "{FRAMES[0]}.png"',
        ),
        (lambda objects, persons: persons.clear(), "expected persons of the frames in ssg_dataset.pkl, got nothing"),
    ],
)
def test_faults_of_persons(tmp_path: Path, change: Any, message: str):
    with pytest.raises(SgevalError) as caught:
        list(read_ssg(write(tmp_path, change)))
    assert str(caught.value).startswith(f"{tmp_path / 'data' / 'ag_ssg_combined_person.pkl'}: {message}")


def test_a_pickle_of_another_kind(tmp_path: Path):
    path = write(tmp_path, lambda objects, persons: None) / "data" / "ssg_dataset.pkl"
    path.write_bytes(pickle.dumps([1]))
    with pytest.raises(SgevalError) as caught:
        list(read_ssg(tmp_path))
    assert str(caught.value) == f"{path}: expected an object from frame to annotation, got [1]"


SOURCE = "(the SSG annotations, from the Google Drive folder that https://github.com/LUNAProject22/SSG links)"
NEEDED = "ssg_dataset.pkl, ag_ssg_combined_person.pkl, object_classes.txt, relationship_classes.txt"


def test_what_is_not_there_is_said_at_once(tmp_path: Path):
    def message(call: Callable[[], object]) -> str:
        with pytest.raises(SgevalError) as caught:
            call()
        return str(caught.value)

    nowhere = tmp_path / "nowhere"
    expected = f"data_dir: expected a folder that holds {NEEDED} {SOURCE}, got {nowhere}"
    assert message(lambda: read_ssg(nowhere)) == expected
    assert message(lambda: read_ssg(tmp_path)) == f"{tmp_path}: expected {NEEDED} {SOURCE}, got none of them"
    shutil.copytree(DATA / "data", tmp_path / "data")
    (tmp_path / "data" / "ssg_dataset.pkl").unlink()
    (tmp_path / "data" / "roles.txt").unlink()
    got = "got only ag_ssg_combined_person.pkl, object_classes.txt, relationship_classes.txt"
    assert message(lambda: read_ssg(tmp_path)) == f"{tmp_path / 'data'}: expected {NEEDED} {SOURCE}, {got}"
    assert message(lambda: ssg_classes(tmp_path)).endswith(
        "got only object_classes.txt, relationship_classes.txt, noun_role_values.txt, relation_role_values.txt"
    )
    (tmp_path / "data" / "roles.txt").write_text("color\nplace\n")
    path = tmp_path / "data" / "roles.txt"
    assert message(lambda: ssg_classes(tmp_path)) == f"{path}: expected at least 21 roles, got 2"


def test_unknown_names_are_said_at_once():
    with pytest.raises(SgevalError, match='config: expected one of default, released_subset, got "full"'):
        read_ssg(DATA, config="full")  # type: ignore[arg-type]
    with pytest.raises(SgevalError, match='split: expected one of train, test, or none, got "val"'):
        read_ssg(DATA, "val")
    with pytest.raises(SgevalError, match=r'exclude: expected one of invisible, .*, got "hidden"'):
        read_ssg(DATA, exclude=["hidden"])  # type: ignore[list-item]
    with pytest.raises(SgevalError, match='keep: expected one of tag, keypoints, got "tags"'):
        read_ssg(DATA, keep=["tags"])  # type: ignore[list-item]
    for option in ("exclude", "keep", "videos"):
        with pytest.raises(SgevalError, match=f'{option}: expected a list of names, got "tag"'):
            read_ssg(DATA, **{option: "tag"})  # type: ignore[arg-type]


ODD = (None, True, -1, 2.5, "", b"x", [None], {1: 2}, np.ones((2, 2)), np.zeros(0))


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all that stands in a value."""
    yield path
    if isinstance(value, (dict, list, tuple)):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(below, (*path, key))


def put(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """A copy with something odd at a place."""
    if not path:
        return odd
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = put(changed[path[0]], path[1:], odd)
    return changed


@pytest.mark.parametrize("name", ["ssg_dataset.pkl", "ag_ssg_combined_person.pkl"])
def test_whatever_stands_anywhere_ends_in_one_line_or_in_records(tmp_path: Path, name: str):
    path = write(tmp_path, lambda objects, persons: None) / "data" / name
    whole = pickle.loads(path.read_bytes())
    first = {FRAMES[0]: whole[FRAMES[0]]}
    refused = 0
    for place in places(first):
        for odd in ODD:
            path.write_bytes(pickle.dumps(put(first, place, odd), 4))
            try:
                for graph in read_ssg(tmp_path, keep=["tag", "keypoints"]):
                    json.dumps(to_dict(graph), allow_nan=False)
            except SgevalError as fault:
                refused += 1
                assert str(fault).startswith(str(tmp_path)) and "\n" not in str(fault)
    assert refused > 100
