"""Turn scenes into the crops that the model sees, through the same code as open_clip's own preprocessing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import open_clip
from numpy.typing import NDArray
from PIL import Image

from .scenes import Link, Scene, make_scene, overlaps, through_jpeg, union_crop
from .vocabulary import INVERSE, Pair, kinds

IMAGE_SIZE = 48
# "longest" and a fill colour make open_clip pad by itself. Black never is a background in the scenes,
# so the model sees where its crop ends.
PREPROCESS = {
    "size": IMAGE_SIZE,
    "mode": "RGB",
    "mean": [0.5, 0.5, 0.5],
    "std": [0.5, 0.5, 0.5],
    "interpolation": "bicubic",
    "resize_mode": "longest",
    "fill_color": 0,
}

FIRST_SCENES = 600  # before the first batch, so that nearly all kinds of relation are there
SCENES_A_BATCH = 25  # drawn in about half the time that a training step takes, so that training never waits
KEPT = 500  # crops of one pair and kind; all together 210 MB

Fit = Callable[[Image.Image], Image.Image]


@dataclass(frozen=True)
class Crop:
    """The picture of one relation, its words, and the classes of other objects that show in it."""

    pixels: NDArray[np.uint8]  # (IMAGE_SIZE, IMAGE_SIZE, 3), before normalisation
    subject: str
    predicate: str
    object: str
    others: frozenset[str]


def resize_and_pad() -> Fit:
    """Return the part of open_clip's preprocessing that works on pictures: resize, then pad."""
    config = open_clip.transform.PreprocessCfg(**PREPROCESS)
    steps = open_clip.transform.image_transform_v2(config, is_train=False).transforms

    def fit(picture: Image.Image) -> Image.Image:
        """Resize the longest side, bicubic with antialiasing, and pad to a square."""
        for step in steps[:2]:
            picture = step(picture)
        return picture

    return fit


def crop_of(scene: Scene, picture: Image.Image, link: Link, fit: Fit) -> Crop:
    """Return the crop of one relation."""
    box = union_crop(scene, link)
    others = frozenset(
        item.category
        for index, item in enumerate(scene.items)
        if index not in (link.subject, link.object) and overlaps(box, item.box, 0)
    )
    pixels = np.asarray(fit(picture.crop(box)), dtype=np.uint8)
    subject, other = scene.items[link.subject], scene.items[link.object]
    return Crop(pixels, subject.category, link.predicate, other.category, others)


def pair_of(crop: Crop) -> Pair:
    """Return the classes of subject and object."""
    return frozenset((crop.subject, crop.object))


def scene_crops(pairs: frozenset[Pair], fit: Fit, rng: np.random.Generator) -> list[Crop]:
    """Return the crops of all relations between the given pairs in one new scene."""
    scene = make_scene(rng, pairs, share=1.0)
    if not scene.links:
        return []
    picture = through_jpeg(scene.picture)
    return [crop_of(scene, picture, link, fit) for link in scene.links]


def parts(total: int, count: int) -> list[int]:
    """Return `count` whole numbers, as equal as can be, that add up to `total`.

    >>> parts(200, 6)
    [34, 34, 33, 33, 33, 33]
    """
    return [total // count + (position < total % count) for position in range(count)]


def even_crops(pairs: tuple[Pair, ...], count: int, rng: np.random.Generator) -> list[Crop]:
    """Return `count` crops: equally many a pair, and within a pair equally many a predicate."""
    room: dict[tuple[Pair, str], int] = {}
    for pair, wanted in zip(pairs, parts(count, len(pairs)), strict=True):
        predicates = [predicate for kind in kinds(pair) for predicate in sorted(kind)]
        room.update(zip(((pair, predicate) for predicate in predicates), parts(wanted, len(predicates)), strict=True))
    fit = resize_and_pad()
    chosen: list[Crop] = []
    while len(chosen) < count:
        for crop in scene_crops(frozenset(pairs), fit, rng):
            cell = (pair_of(crop), crop.predicate)
            if room[cell]:
                room[cell] -= 1
                chosen.append(crop)
    return chosen


def batches(pairs: tuple[Pair, ...], size: int, rng: np.random.Generator) -> Iterator[list[Crop]]:
    """Yield batches without end, every pair and kind of relation equally likely.

    New scenes come in before every batch. The latest crops of each pair and kind are kept, so that a rare one,
    such as one car above another, is seen several times instead of waiting for many scenes.
    """
    cells = [(pair, kind) for pair in pairs for kind in kinds(pair)]
    shelves: dict[tuple[Pair, frozenset[str]], deque[Crop]] = {cell: deque(maxlen=KEPT) for cell in cells}
    fit = resize_and_pad()
    scenes = FIRST_SCENES
    while True:
        for _ in range(scenes):
            for crop in scene_crops(frozenset(pairs), fit, rng):
                shelves[pair_of(crop), frozenset((crop.predicate, INVERSE[crop.predicate]))].append(crop)
        scenes = SCENES_A_BATCH
        filled = [shelf for shelf in shelves.values() if shelf]
        chosen = [filled[place] for place in rng.integers(len(filled), size=size)]
        yield [shelf[int(rng.integers(len(shelf)))] for shelf in chosen]
