"""Files in the RLIPv2 form that the FG-OV reader refuses: records, and files that are none of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fgov_kit import COCO, copy
from kit import put_at

from sgeval.errors import SgevalError
from sgeval.readers.fgov import read_fgov


def put(value: Any, *path: Any) -> Callable[[Any], None]:
    """A change that puts a value at a place, or takes the key away when the value is `...`."""

    def change(whole: Any) -> None:
        put_at(whole, path, value)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(..., 1, "image_id"), "[1].image_id: expected an id, got nothing"),
        (put(1.5, 1, "image_id"), "[1].image_id: expected a text or a whole number, got 1.5"),
        (put(" ", 1, "image_id"), '[1].image_id: expected a text that is not empty, got " "'),
        (put("row", 1), '[1]: expected an object, got "row"'),
        (put(5, 2), "[2]: expected an object, got 5"),
        (put(5, 1, "dataset"), "[1].dataset: expected a text, or null, got 5"),
        (put(["vg"], 1, "dataset"), '[1].dataset: expected a text, or null, got ["vg"]'),
        (put(5, 1, "data_split"), "[1].data_split: expected a text, got 5"),
        (put({}, 1, "objects"), "[1].objects: expected a list, got {}"),
        (put(..., 1, "relationships"), "[1].relationships: expected a list of relationships, got nothing"),
        (put("64", 1, "width"), '[1].width: expected a whole number of pixels from 1 up, got "64"'),
        (put(0, 1, "height"), "[1].height: expected a whole number of pixels from 1 up, got 0"),
        (put(..., 0, "objects", 1, "w"), "[0].objects[1].w: expected a number of pixels, got nothing"),
        (put("9", 0, "objects", 1, "h"), '[0].objects[1].h: expected a number of pixels, got "9"'),
        (put(True, 0, "objects", 1, "x"), "[0].objects[1].x: expected a number of pixels, got true"),
        (put([], 0, "objects", 1, "names"), "[0].objects[1].names: expected a name, or a list of names, got []"),
        (put(["a", 1], 0, "objects", 1, "names"), "[0].objects[1].names: expected a name, or a list of names, got 1"),
        (put("2", 0, "objects", 1, "object_id"), '[0].objects[1].object_id: expected a whole number, got "2"'),
        (
            put(4, 0, "relationships", 2, "object_id"),
            "[0].relationships[2].object_id: expected the object_id of one of the 3 objects, got 4",
        ),
        (
            put(-1, 0, "relationships", 2, "subject_id"),
            "[0].relationships[2].subject_id: expected the object_id of one of the 3 objects, got -1",
        ),
        (
            put([1], 0, "relationships", 2, "subject_id"),
            "[0].relationships[2].subject_id: expected the object_id of an object, got [1]",
        ),
        (put(None, 0, "relationships", 2, "predicate"), "[0].relationships[2].predicate: expected a text, got null"),
        (
            put("high", 0, "relationships", 0, "confidence"),
            '[0].relationships[0].confidence: expected a number, got "high"',
        ),
        (
            put("1", 0, "relationships", 0, "relationship_id"),
            '[0].relationships[0].relationship_id: expected a whole number, got "1"',
        ),
    ],
)
def test_faults_of_a_record(tmp_path: Path, change: Any, message: str):
    with pytest.raises(SgevalError) as caught:
        list(read_fgov(copy(tmp_path, change), data_files=COCO))
    assert str(caught.value) == f"{tmp_path / COCO}: {message}"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'[{"image_id": 1, "data', "cut short at byte 22, within its first record"),
        (b'\xef\xbb\xbf {"image_id": 1}', "no JSON list"),
        (b"", "no JSON list"),
        (b"[{'image_id': 1}]", "its first record is no JSON: Expecting property name enclosed in double quotes"),
        (b'[{"image_id": 1, "objects": []}]', "its first record has no relationships"),
        (
            b'[{"image_id": 1, "objects": [], "relationships": []}]',
            "its first record names no data set: in this form a picture of Visual Genome",
        ),
        (
            b'[{"image_id": 1, "objects": [], "relationships": [], "dataset": ["coco2017"]}]',
            'its first record is of the data set ["coco2017"]',
        ),
        (
            b'[{"image_id": "' + b"7" * 2**20 + b'", "objects": [], "relationships": [], "dataset": "coco2017"}]',
            "its first record is longer than 1,048,576 characters; data_files names the file all the same",
        ),
    ],
)
def test_why_a_file_is_not_taken(tmp_path: Path, content: bytes, why: str):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(SgevalError) as caught:
        read_fgov(tmp_path)
    assert str(caught.value).endswith(f", got only a.json ({why})")


def test_a_message_tells_about_five_files(tmp_path: Path):
    for number in range(7):
        (tmp_path / f"{number}.json").write_text("{}")
    with pytest.raises(SgevalError, match=r"3\.json \(no JSON list\), 4\.json \(no JSON list\) and 2 more$"):
        read_fgov(tmp_path)
