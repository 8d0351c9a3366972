"""The VG150 reader on files that are not there, and on numbers that name nothing."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from vg150_kit import DATA, H5, changed, folder, message

from sgeval.errors import SgevalError
from sgeval.readers.vg150 import read_vg150


class TestFiles:
    def test_what_is_not_there_is_said_at_once(self, tmp_path: Path):
        expected = (
            "expected VG-SGG-with-attri.h5 or VG-SGG.h5, and image_data.json (from"
            " https://github.com/KaihuaTang/Scene-Graph-Benchmark.pytorch/blob/master/DATASET.md), got"
        )
        with pytest.raises(SgevalError) as caught:
            read_vg150(tmp_path / "nowhere")
        assert str(caught.value).endswith(f', got "{tmp_path / "nowhere"}"')
        with pytest.raises(SgevalError) as caught:
            read_vg150(tmp_path)
        assert str(caught.value) == f"{tmp_path}: {expected} none of them"
        shutil.copy(DATA / "image_data.json", tmp_path)
        with pytest.raises(SgevalError) as caught:
            read_vg150(tmp_path)
        assert str(caught.value) == f"{tmp_path}: {expected} only image_data.json"

    def test_pictures_need_not_be_there(self):
        assert not (DATA / "VG_100K").exists() and len(list(read_vg150(DATA))) == 5


ROW = 'VG-SGG-with-attri.h5: row 0 (image_id "1590")'


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("labels", 1, 0), 0, f"{ROW}: object 1: expected the number of one of the 150 labels, from 1 up, got 0"),
        (("labels", 1, 0), 151, f"{ROW}: object 1: expected the number of one of the 150 labels, from 1 up, got 151"),
        (
            ("predicates", 3, 0),
            51,
            f"{ROW}: relation 3: expected the number of one of the 50 predicates, from 1 up, got 51",
        ),
        (
            ("predicates", 3, 0),
            0,
            f"{ROW}: relation 3: expected the number of one of the 50 predicates, from 1 up, got 0",
        ),
        (
            ("attributes", 1, 2),
            201,
            f"{ROW}: object 1: expected the number of one of the 200 attributes, from 1 up, got 201",
        ),
        (
            ("attributes", 1, 2),
            -1,
            f"{ROW}: object 1: expected the number of one of the 200 attributes, from 1 up, got -1",
        ),
        (("relationships", 1, 1), 3, f"{ROW}: relation 1: object: expected a box of this picture (0 to 2), got 3"),
        (("relationships", 1, 0), 9, f"{H5}: relationships[1][0]: expected a whole number from 0 to 8, got 9"),
        (("relationships", 1, 0), -1, f"{H5}: relationships[1][0]: expected a whole number from 0 to 8, got -1"),
        (("img_to_last_box", 1), 9, f"{H5}: img_to_last_box[1]: expected a whole number from -1 to 8, got 9"),
        (("img_to_first_box", 1), -2, f"{H5}: img_to_first_box[1]: expected a whole number from -1 to 8, got -2"),
        (
            ("img_to_first_box", 1),
            -1,
            f"{H5}: row 1: expected -1 in img_to_first_box and img_to_last_box, or a first that is not after the last,"
            " got -1 and 4",
        ),
        (
            ("img_to_first_rel", 0),
            4,
            f"{H5}: row 0: expected -1 in img_to_first_rel and img_to_last_rel, or a first that is not after the last,"
            " got 4 and 3",
        ),
        (
            ("img_to_last_box", 1),
            8,
            f"{H5}: img_to_first_box, img_to_last_box: expected each entry in one row, 9 in all, got 13",
        ),
        (("split", 3), 1, f"{H5}: split[3]: expected 0 (train) or 2 (test), got 1"),
    ],
)
def test_numbers_that_name_nothing(tmp_path: Path, place: tuple[Any, ...], value: int, expected: str):
    assert message(folder(tmp_path, **changed(*place, value=value))) == expected
