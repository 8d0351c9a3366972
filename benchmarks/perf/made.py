"""Made input for the benchmarks: pictures of gradients and noise, and graphs on them. Equal seeds, equal input."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

SIZE = (640, 480)
RELATIONS_BY_UNION = (3, 3, 2, 2)  # of a picture of the shared set: 10 relations, 2.5 a union
NOUNS = (
    "person man woman child dog cat horse bird car bus truck bicycle chair table sofa bed lamp book bottle cup plate "
    "bowl knife tree grass flower rock fence wall window door roof shelf laptop phone clock umbrella backpack kite boat"
)
LINKS = (
    "on|in|under|over|beside|near|behind|in front of|attached to|hanging from|sitting on|standing on|lying on|"
    "leaning against|looking at|holding|carrying|riding|touching|covering"
)
CLASSES, PREDICATES = NOUNS.split(), LINKS.split("|")

Rect = tuple[int, int, int, int]


@dataclass(frozen=True)
class Triplet:
    """One relation as the peers take it: a picture, the union of the two boxes, a text."""

    file: Path
    rect: Rect
    text: str


@dataclass(frozen=True)
class Work:
    """Made pictures and their relations, as rows of a prediction file and as triplets in the same order."""

    folder: Path
    rows: list[dict[str, Any]]

    @property
    def triplets(self) -> list[Triplet]:
        """All relations, picture by picture."""
        found = []
        for row in self.rows:
            boxes = [item["bbox"] for item in row["objects"]]
            names = [item["category"] for item in row["objects"]]
            for relation in row["relations"]:
                subject, obj = relation["subject_id"], relation["object_id"]
                text = f"{names[subject]} {relation['predicate']} {names[obj]}"
                found.append(Triplet(self.folder / row["file_name"], union(boxes[subject], boxes[obj]), text))
        return found

    def head(self) -> "Work":
        """The first picture alone."""
        return Work(self.folder, self.rows[:1])

    def counts(self) -> dict[str, int]:
        """Pictures, relations, unique unions and unique texts."""
        triplets = self.triplets
        return {
            "images": len(self.rows),
            "relations": len(triplets),
            "unions": len({(triplet.file, triplet.rect) for triplet in triplets}),
            "texts": len({triplet.text for triplet in triplets}),
        }


def union(first: Sequence[int], second: Sequence[int]) -> Rect:
    """The box x1 y1 x2 y2 around two boxes x y w h."""
    low = [min(first[axis], second[axis]) for axis in (0, 1)]
    high = [max(box[axis] + box[axis + 2] for box in (first, second)) for axis in (0, 1)]
    return (low[0], low[1], high[0], high[1])


def make_work(folder: Path, images: int, sharing: bool) -> Work:
    """Pictures of gradients and noise with five objects and ten relations each.

    With `sharing` four pairs of objects carry the ten relations, in both directions. Without, each relation has its own
    pair, and its text is the only one of its kind in the set.
    """
    folder.mkdir()
    rng = np.random.default_rng(int(sharing))
    taken: set[tuple[str, str, str]] = set()
    rows = []
    for number in range(images):
        name = f"{number:05d}.jpg"
        make_picture(rng).save(folder / name, quality=90)
        names = [str(name) for name in rng.choice(CLASSES, 5, replace=False)]
        boxes = distinct_boxes(rng)
        pairs = [pair for pair in combinations(range(5), 2)]
        rng.shuffle(pairs)
        relations = []
        for pair, share in zip(pairs, RELATIONS_BY_UNION if sharing else (1,) * len(pairs), strict=False):
            free = [word for word in PREDICATES if sharing or (names[pair[0]], word, names[pair[1]]) not in taken]
            for index, word in enumerate(rng.choice(free, share, replace=False)):
                subject, obj = (int(end) for end in (pair if index < 2 else pair[::-1]))
                taken.add((names[subject], str(word), names[obj]))
                relations.append({"subject_id": subject, "object_id": obj, "predicate": str(word)})
        objects = [{"id": index, "category": names[index], "bbox": boxes[index]} for index in range(5)]
        size = {"width": SIZE[0], "height": SIZE[1]}
        rows.append({"image_id": str(number), "file_name": name, **size, "objects": objects, "relations": relations})
    return Work(folder, rows)


def make_picture(rng: np.random.Generator) -> Image.Image:
    """A gradient, coarse blobs and fine noise."""
    coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8)).resize(SIZE, Image.Resampling.BICUBIC)
    ramp = np.linspace(0, 60, SIZE[0])[None, :, None]
    pixels = np.asarray(coarse) * 0.7 + ramp + rng.normal(0, 8, (SIZE[1], SIZE[0], 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def distinct_boxes(rng: np.random.Generator) -> list[list[int]]:
    """Five boxes x y w h whose ten unions all differ."""
    while True:
        sides = rng.integers(60, 240, (5, 2))
        boxes = [[*map(int, rng.integers(0, np.array(SIZE) - side)), *map(int, side)] for side in sides]
        if len({union(*pair) for pair in combinations(boxes, 2)}) == 10:
            return boxes
