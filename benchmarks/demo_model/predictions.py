"""Write the three prediction files of the demo: a good system, one that swaps roles, one that guesses predicates.

All three name the same pairs, one relation a pair, so that they differ in content alone.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from .vocabulary import PREDICATES

SEED = 5
SLIPS = 0.1  # share of the good system's relations that are wrong
# What a fair detector mixes up: contact with mere nearness, one side with the other.
MISTAKEN = {
    "left of": "right of",
    "right of": "left of",
    "above": "on",
    "below": "under",
    "inside": "on",
    "containing": "under",
    "on": "above",
    "under": "below",
}

Record = dict[str, Any]


def read_lines(path: Path) -> list[Record]:
    """Return the records of a JSON-lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path: Path, records: list[Record]) -> None:
    """Write one record a line."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def one_side(relations: list[Record], rng: np.random.Generator) -> list[Record]:
    """Return one of the two directions of every pair, drawn at random."""
    pairs: dict[frozenset[int], list[Record]] = {}
    for relation in relations:
        pairs.setdefault(frozenset((relation["subject_id"], relation["object_id"])), []).append(relation)
    return [told[int(rng.integers(len(told)))] for told in pairs.values()]


def scored(relation: Record, low: float, high: float, rng: np.random.Generator) -> Record:
    """Return the relation with a confidence between two bounds."""
    return {**relation, "score": round(float(rng.uniform(low, high)), 3)}


def good_system(references: list[Record], rng: np.random.Generator) -> list[list[Record]]:
    """Return the gold relations with a few slips, which tend to be less confident."""
    images = [one_side(record["relations"], rng) for record in references]
    total = sum(len(relations) for relations in images)
    slips = set(rng.choice(total, size=round(SLIPS * total), replace=False).tolist())
    position = 0
    result = []
    for relations in images:
        told = []
        for relation in relations:
            if position in slips:
                told.append(scored({**relation, "predicate": MISTAKEN[relation["predicate"]]}, 0.3, 0.7, rng))
            else:
                told.append(scored(relation, 0.6, 0.99, rng))
            position += 1
        result.append(told)
    return result


def swapped(relation: Record) -> Record:
    """Return the relation with subject and object exchanged."""
    return {**relation, "subject_id": relation["object_id"], "object_id": relation["subject_id"]}


def guessed(relation: Record, rng: np.random.Generator) -> Record:
    """Return the relation with a predicate drawn from the vocabulary."""
    return scored({**relation, "predicate": str(rng.choice(PREDICATES))}, 0.1, 0.9, rng)


def write_predictions(folder: Path, seed: int) -> None:
    """Write the three files beside `references.jsonl`; the guessing system leaves the objects out."""
    references = read_lines(folder / "references.jsonl")
    rng = np.random.default_rng(seed)
    good = good_system(references, rng)
    swaps = [[swapped(relation) for relation in relations] for relations in good]
    guesses = [[guessed(relation, rng) for relation in relations] for relations in good]
    for name, system in (("good", good), ("swapped", swaps)):
        records = [
            {"image_id": gold["image_id"], "objects": gold["objects"], "relations": relations}
            for gold, relations in zip(references, system, strict=True)
        ]
        write_lines(folder / f"predictions_{name}.jsonl", records)
    without_objects = [
        {"image_id": gold["image_id"], "relations": relations}
        for gold, relations in zip(references, guesses, strict=True)
    ]
    write_lines(folder / "predictions_guessing.jsonl", without_objects)


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=Path, required=True, help="folder with references.jsonl")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of slips, directions, guesses and scores")
    return parser.parse_args()


def main() -> None:
    """Write the prediction files."""
    options = arguments()
    write_predictions(options.scenes, options.seed)


if __name__ == "__main__":
    main()
