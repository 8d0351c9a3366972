"""What all readers check alike: whole numbers of 64 bits, and whole paths in messages."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from visual_genome_kit import changed, folder

from sgeval.errors import SgevalError
from sgeval.readers.fgov import read_fgov
from sgeval.readers.place import LARGEST, Place, is_kind, is_number
from sgeval.readers.psg import read_psg
from sgeval.readers.ssg import read_ssg
from sgeval.readers.vg150 import read_vg150
from sgeval.readers.visual_genome import read_visual_genome

DATA = Path(__file__).parent / "data"
TOO_LARGE = 2**63
FGOV = "data_COCO_llava_OV.json"
PSG_RECORD = 'data[0] (image_id "900001")'


@pytest.mark.parametrize("value", [TOO_LARGE, -(2**63) - 1, 10**30, 10**400])
def test_numbers_beyond_64_bits_are_of_no_kind(value: int):
    assert not is_kind(value, int) and not is_kind(value, (int, float)) and not is_number(value)
    assert is_kind(LARGEST, int) and is_kind(-(2**63), int) and is_number(LARGEST)


def put(whole: Any, value: Any, *path: Any) -> Any:
    owner = whole
    for step in path[:-1]:
        owner = owner[step]
    owner[path[-1]] = value
    return whole


PSG_PLACES = {
    ("segments_info", 0, "id"): f"{PSG_RECORD}.segments_info[0].id: expected a whole number",
    ("segments_info", 0, "area"): f"{PSG_RECORD}.segments_info[0].area: expected a number of square pixels",
    ("segments_info", 0, "category_id"): f"{PSG_RECORD}.segments_info[0].category_id: expected a number that fits 64 bits",
    ("annotations", 0, "bbox", 2): f"{PSG_RECORD}.annotations[0].bbox: expected four numbers [x0, y0, x1, y1]",
    ("relations", 0, 2): f"{PSG_RECORD}.relations[0]: expected [subject, object, predicate] as three whole numbers",
    ("coco_image_id",): f"{PSG_RECORD}.coco_image_id: expected a number that fits 64 bits",
    ("width",): f"{PSG_RECORD}.width: expected a whole number of pixels from 1 up",
    ("image_id",): "data[0].image_id: expected a text or a whole number",
}  # fmt: skip


@pytest.mark.parametrize(("path", "expected"), PSG_PLACES.items())
@pytest.mark.parametrize("value", [TOO_LARGE, 10**400])
def test_psg(tmp_path: Path, path: Any, expected: str, value: int):
    whole = json.loads((DATA / "psg" / "psg.json").read_text())
    (tmp_path / "psg.json").write_text(json.dumps(put(whole, value, "data", 0, *path)))
    with pytest.raises(SgevalError) as caught:
        list(read_psg(tmp_path))
    assert str(caught.value).startswith(f"{tmp_path / 'psg.json'}: {expected}, got ")


@pytest.mark.parametrize(
    ("stem", "path", "expected"),
    [
        ("objects", (0, "objects", 1, "object_id"), ".objects[1].object_id: expected a whole number from 0 up"),
        ("objects", (0, "objects", 1, "merged_object_ids"), ".objects[1].merged_object_ids[0]: expected a whole number from"),
        ("relationships", (0, "relationships", 0, "relationship_id"), ".relationships[0].relationship_id: expected a whole"),
        ("image_data", (0, "flickr_id"), ".flickr_id: expected a number that fits 64 bits"),
        ("image_data", (0, "more"), ".more[0]: expected a number that fits 64 bits"),
    ],
)  # fmt: skip
def test_visual_genome(tmp_path: Path, stem: str, path: Any, expected: str):
    value = [TOO_LARGE] if path[-1] in ("merged_object_ids", "more") else TOO_LARGE
    with pytest.raises(SgevalError) as caught:
        list(read_visual_genome(folder(tmp_path, **changed(stem, *path, value=value))))
    assert str(caught.value).startswith(f'{tmp_path / stem}.json: record 0 (image_id "900"){expected}')


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((0, "objects", 0, "object_id"), ".objects[0].object_id: expected a whole number"),
        ((0, "objects", 0, "x"), ".objects[0].x: expected a number of pixels"),
        ((0, "relationships", 0, "more"), ".relationships[0].more: expected a number that fits 64 bits"),
        ((0, "more"), ".more: expected a number that fits 64 bits"),
    ],
)
def test_fgov(tmp_path: Path, path: Any, expected: str):
    whole = json.loads((DATA / "formats" / FGOV).read_text())
    (tmp_path / FGOV).write_text(json.dumps(put(whole, TOO_LARGE, *path)))
    with pytest.raises(SgevalError) as caught:
        list(read_fgov(tmp_path))
    assert f"{expected}, got {TOO_LARGE}" in str(caught.value)


@pytest.mark.parametrize("read", [read_psg, read_visual_genome, read_vg150, read_ssg, read_fgov])
def test_a_folder_that_is_not_there_is_shown_whole(tmp_path: Path, read: Callable[[Path], Iterator[Any]]):
    there = tmp_path / ("long" * 50)
    with pytest.raises(SgevalError) as caught:
        read(there)
    assert str(there) in str(caught.value) and "\n" not in str(caught.value)


def test_values_for_extra():
    place = Place(Path("rows.json"), "[3].x")
    value = {"a": [1, {"b": None}], "c": LARGEST}
    assert place.any_json(value) is value
    with pytest.raises(SgevalError) as caught:
        place.any_json({"a": [1, {"b": TOO_LARGE}]})
    assert str(caught.value) == f"rows.json: [3].x.a[1].b: expected a number that fits 64 bits, got {TOO_LARGE}"
