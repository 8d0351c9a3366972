"""Real photographs through the whole way: those that the wheel of scikit-image brings along, nothing is fetched.

The demo model knows drawn scenes only, so its numbers mean nothing here. What is looked at is that the same picture
gives the same number, whichever way it comes.
"""

import json
from pathlib import Path

import pytest
import skimage.data
from PIL import Image

import sgeval

ASTRONAUT = {
    "image_id": "astronaut",
    "width": 512,
    "height": 512,
    "objects": [
        {"id": 0, "category": "woman", "bbox": [20, 15, 345, 497]},
        {"id": 1, "category": "flag", "bbox": [0, 0, 95, 512]},
        {"id": 2, "category": "space shuttle", "bbox": [355, 0, 115, 290]},
        {"id": 3, "category": "helmet", "bbox": [277, 343, 235, 169]},
    ],
    "relations": [
        {"subject_id": 0, "object_id": 3, "predicate": "holding"},
        {"subject_id": 1, "object_id": 0, "predicate": "left of"},
        {"subject_id": 2, "object_id": 3, "predicate": "above"},
    ],
}
COFFEE = {
    "image_id": "coffee",
    "width": 600,
    "height": 400,
    "objects": [
        {"id": 0, "category": "cup", "bbox": [172, 17, 237, 293]},
        {"id": 1, "category": "saucer", "bbox": [76, 68, 404, 320]},
        {"id": 2, "category": "spoon", "bbox": [326, 66, 99, 260]},
    ],
    "relations": [
        {"subject_id": 0, "object_id": 1, "predicate": "on"},
        {"subject_id": 2, "object_id": 1, "predicate": "on"},
    ],
}


@pytest.fixture(scope="module")
def arrays():
    """The pixels, RGB. A file of the wheel lies in the package; one that is fetched would lie elsewhere."""
    folder = Path(skimage.data.__file__).parent
    assert (folder / "astronaut.png").is_file() and (folder / "coffee.png").is_file()
    return {"astronaut": skimage.data.astronaut(), "coffee": skimage.data.coffee()}


def scored(images, graphs=(ASTRONAUT, COFFEE)):
    return sgeval.relclipscore(list(graphs), images=images, model="demo", return_items=True)


def test_arrays_and_pil_pictures_give_the_same(arrays):
    """No EXIF tag, one set of pixels: the whole result is equal. 3 + 2 relations, all scored, not all at 0."""
    pictures = {name: Image.fromarray(array) for name, array in arrays.items()}
    assert not any(picture.getexif() for picture in pictures.values())
    found = scored(arrays)
    assert found == scored(pictures) == scored(list(pictures.values()))
    assert (found["n_images"], found["n_relations"], found["n_undefined_relations"]) == (2, 5, 0)
    lively = {item["image_id"] for item in found["items"] if item["score"] > 0}
    assert lively == {*arrays}, "a test of zeros would show nothing"
    json.dumps(found, allow_nan=False)


def test_a_jpeg_file_scored_twice_gives_the_same(arrays, tmp_path):
    """One file under two ids within a run, and in two runs."""
    path = tmp_path / "coffee.jpg"
    Image.fromarray(arrays["coffee"]).save(path, quality=90)
    graphs = [{**COFFEE, "image_id": name} for name in ("once", "again")]
    images = {"once": path, "again": path}
    found = scored(images, graphs)
    scores = {name: [item["score"] for item in found["items"] if item["image_id"] == name] for name in images}
    assert scores["once"] == scores["again"] and len(scores["once"]) == 2 and max(scores["once"]) > 0
    assert scored(images, graphs) == found
