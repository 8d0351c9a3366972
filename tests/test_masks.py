"""Masks: boxes around them and back, and files of one channel and of three. `test_data_loading` has hostile codes."""

import numpy as np
import pytest
from PIL import Image

from sgeval import masks
from sgeval.errors import SgevalError


def test_boxes_on_random_maps():
    rng = np.random.default_rng(1)
    for _ in range(200):
        ids = rng.integers(0, 5, rng.integers(1, 20, 2))
        for number, segment in masks.segments(ids).items():
            rows, columns = np.nonzero(ids == number)
            x, y = columns.min(), rows.min()
            assert segment.box == (x, y, columns.max() - x + 1, rows.max() - y + 1)
            assert masks.box_of_code(segment.code) == segment.box


def test_boxes_and_back():
    rng = np.random.default_rng(2)
    for _ in range(100):
        width, height = map(int, rng.integers(1, 20, 2))
        x, y = int(rng.integers(0, width)), int(rng.integers(0, height))
        box = (float(x), float(y), float(rng.integers(1, width - x + 1)), float(rng.integers(1, height - y + 1)))
        code = masks.code_of_box(box, (width, height))
        assert masks.box_of_code(code) == box and masks.mask_of(code).sum() == box[2] * box[3]


def test_a_box_outside():
    code = masks.code_of_box((50.0, 50.0, 4.0, 4.0), (8, 6))
    assert not masks.mask_of(code).any() and masks.box_of_code(code) is None


def test_hostile_codes():
    with pytest.raises(SgevalError, match="4096 pixels, got 15"):
        masks.box_of_code({"size": [64, 64], "counts": ":5"})
    with pytest.raises(SgevalError, match="at most"):
        masks.code_of_box((0.0, 0.0, 1.0, 1.0), (10**6, 10**6))


@pytest.mark.parametrize("bits", [8, 16])
def test_grey_values_stand_as_they_are(bits, tmp_path):
    values = np.arange(48).reshape(6, 8) * (5 if bits == 8 else 130)
    Image.fromarray(values.astype(np.uint8 if bits == 8 else np.uint16)).save(tmp_path / "x.png")
    assert (masks.mask_ids(tmp_path / "x.png", "grey_object_id") == values).all()


def test_three_channels(tmp_path):
    Image.new("RGB", (2, 2), (1, 2, 3)).save(tmp_path / "x.png")
    assert (masks.mask_ids(tmp_path / "x.png", "rgb_object_id") == 1 + 2 * 256 + 3 * 65536).all()
    with pytest.raises(SgevalError, match="mask_encoding: expected one of palette_object_id"):
        masks.mask_ids(tmp_path / "x.png", None)
