"""Made input of θ: pictures, annotated graphs, and the candidates of each pair of classes. Equal seeds, equal input."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.perf.made import CLASSES, PREDICATES, SIZE, Rect, distinct_boxes, make_picture, union
from sgeval.alignment.options import SYMMETRIC

MORE_LINKS = (
    "above|below|inside|around|across from|along|against|between|through|next to|on top of|at the side of|part of|"
    "made of|full of|tied to|parked on|painted on|growing on|mounted on|resting on|sleeping on|walking on|running on|"
    "jumping over|flying over|climbing|pulling|pushing|throwing|catching|eating|drinking from|reading|pointing at|talking to"
)
ALL_PREDICATES = (*PREDICATES, *MORE_LINKS.split("|"))  # 56, as in PSG
LENGTHS = (15, 25)
"""Fewest and most candidates of a pair of classes."""
SHARES = ((3, 3, 2, 2), (3, 3, 2, 2), (3, 3, 2, 2), (3, 2, 2, 2, 1))
"""Relations by union, of each picture in turn: 10 a picture, 51 unions in 12 pictures."""

Pair = tuple[str, str]


@dataclass(frozen=True)
class Asked:
    """One annotated relation as the peers take it: a picture, the union, the candidate texts and which one is true."""

    file: Path
    rect: Rect
    texts: list[str]
    truth: int


@dataclass(frozen=True)
class Annotated:
    """Made pictures, their annotated graphs as rows, and the predicates of each ordered pair of classes."""

    folder: Path
    rows: list[dict[str, Any]]
    vocabulary: dict[Pair, list[str]]

    @property
    def asked(self) -> list[Asked]:
        """All relations, picture by picture."""
        found = []
        for row in self.rows:
            names = [item["category"] for item in row["objects"]]
            boxes = [item["bbox"] for item in row["objects"]]
            for relation in row["relations"]:
                subject, obj, predicate = (relation[key] for key in ("subject_id", "object_id", "predicate"))
                candidates = self.vocabulary[names[subject], names[obj]]
                texts = [f"{names[subject]} {candidate} {names[obj]}" for candidate in candidates]
                rect = union(boxes[subject], boxes[obj])
                found.append(Asked(self.folder / row["file_name"], rect, texts, candidates.index(predicate)))
        return found

    def head(self, images: int) -> "Annotated":
        """The first pictures; the candidates stay those of the whole set."""
        return replace(self, rows=self.rows[:images])

    def twice(self) -> "Annotated":
        """Each relation once more, between two further objects that have the same boxes and classes."""
        rows = []
        for row in self.rows:
            count = len(row["objects"])
            objects = [item | {"id": item["id"] + count} for item in row["objects"]]
            moved = [
                {key: relation[key] + count for key in ("subject_id", "object_id")}
                | {"predicate": relation["predicate"]}
                for relation in row["relations"]
            ]
            rows.append(row | {"objects": row["objects"] + objects, "relations": row["relations"] + moved})
        return replace(self, rows=rows)

    def unions(self) -> int:
        """How many unions are unique."""
        return len({(each.file, each.rect) for each in self.asked})

    def texts(self, drawn: Iterable[str]) -> set[str]:
        """The unique texts of a run: the candidates; each pair alone, without a predicate; each triplet the other way
        round, where that says something else; and with `drawn`, relation by relation the predicate drawn at random."""
        found = {text for each in self.asked for text in each.texts}
        at_random = iter(drawn)
        for row in self.rows:
            names = [item["category"] for item in row["objects"]]
            for relation in row["relations"]:
                subject, obj = names[relation["subject_id"]], names[relation["object_id"]]
                found |= {f"{subject} {obj}", f"{subject} {next(at_random)} {obj}"}
                if subject != obj and relation["predicate"] not in SYMMETRIC:
                    found.add(f"{obj} {relation['predicate']} {subject}")
        return found

    def counts(self) -> dict[str, int]:
        """Pictures, relations, unique unions, candidate texts, and how many of these are unique."""
        asked = self.asked
        return {
            "images": len(self.rows),
            "relations": len(asked),
            "unions": self.unions(),
            "candidates": sum(len(each.texts) for each in asked),
            "unique_candidates": len({text for each in asked for text in each.texts}),
        }


def make_annotated(
    folder: Path,
    images: int,
    predicates: Sequence[str] = ALL_PREDICATES,
    lengths: tuple[int, int] = LENGTHS,
) -> Annotated:
    """Pictures of gradients and noise with five objects and ten relations each.

    Four or five pairs of objects carry the ten relations, in both directions. The first time that an ordered pair of
    classes occurs its candidates are drawn from `predicates`, as many as `lengths` allows.
    """
    folder.mkdir()
    rng = np.random.default_rng(2)
    vocabulary: dict[Pair, list[str]] = {}
    rows = []
    for number in range(images):
        name = f"{number:05d}.jpg"
        make_picture(rng).save(folder / name, quality=90)
        names = [str(name) for name in rng.choice(CLASSES, 5, replace=False)]
        boxes = distinct_boxes(rng)
        pairs = list(combinations(range(5), 2))
        rng.shuffle(pairs)
        relations = []
        for pair, share in zip(pairs, SHARES[number % len(SHARES)], strict=False):
            for ends, count in ((pair, min(share, 2)), (pair[::-1], share - 2)):
                if count < 1:
                    continue
                subject, obj = map(int, ends)
                key = names[subject], names[obj]
                if key not in vocabulary:
                    length = int(rng.integers(lengths[0], lengths[1] + 1))
                    vocabulary[key] = [str(word) for word in rng.choice(predicates, length, replace=False)]
                for word in rng.choice(vocabulary[key], count, replace=False):
                    relations.append({"subject_id": subject, "object_id": obj, "predicate": str(word)})
        objects = [{"id": index, "category": names[index], "bbox": boxes[index]} for index in range(5)]
        size = {"width": SIZE[0], "height": SIZE[1]}
        rows.append({"image_id": str(number), "file_name": name, **size, "objects": objects, "relations": relations})
    return Annotated(folder, rows, vocabulary)
