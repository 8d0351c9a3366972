"""Score the three prediction files with the model: mean cosine a system, and a paired bootstrap over images."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import combinations
from math import ceil, floor
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from numpy.typing import NDArray
from PIL import Image

from .predictions import Record, read_lines
from .scenes import hull
from .vocabulary import caption

SYSTEMS = ("good", "swapped", "guessing")
RESAMPLES = 10_000
SEED = 0


@dataclass(frozen=True)
class Encoder:
    """The three parts of an open_clip model."""

    model: Any
    preprocess: Any
    tokenizer: Any


def corners(bbox: list[float]) -> tuple[int, int, int, int]:
    """Return a box as corners, rounded outward to whole pixels.

    >>> corners([1.5, 2.0, 3.0, 4.2])
    (1, 2, 5, 7)
    """
    x, y, width, height = bbox
    return floor(x), floor(y), ceil(x + width), ceil(y + height)


def load(folder: Path) -> Encoder:
    """Return the model as any user of open_clip gets it."""
    name = f"local-dir:{folder.resolve()}"
    model, _, preprocess = open_clip.create_model_and_transforms(name)
    return Encoder(model.eval(), preprocess, open_clip.get_tokenizer(name))


@torch.no_grad()
def image_score(encoder: Encoder, gold: Record, relations: list[Record], images: Path) -> float:
    """Return the mean over an image's relations of max(cosine, 0)."""
    objects = {item["id"]: item for item in gold["objects"]}
    picture = Image.open(images / gold["file_name"]).convert("RGB")
    crops, texts = [], []
    for relation in relations:
        subject, other = objects[relation["subject_id"]], objects[relation["object_id"]]
        box = hull([corners(subject["bbox"]), corners(other["bbox"])])
        crops.append(encoder.preprocess(picture.crop(box)))
        texts.append(caption(subject["category"], relation["predicate"], other["category"]))
    seen = encoder.model.encode_image(torch.stack(crops), normalize=True)
    said = encoder.model.encode_text(encoder.tokenizer(texts), normalize=True)
    return float((seen * said).sum(dim=-1).clamp(min=0).mean())


def system_scores(encoder: Encoder, scenes: Path, system: str) -> NDArray[np.float64]:
    """Return one score per image, in the order of the references."""
    lines = {line["image_id"]: line["relations"] for line in read_lines(scenes / f"predictions_{system}.jsonl")}
    references = read_lines(scenes / "references.jsonl")
    return np.array([image_score(encoder, gold, lines[gold["image_id"]], scenes / "images") for gold in references])


def bootstrap(differences: NDArray[np.float64], resamples: int, seed: int) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean of paired differences."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(differences), size=(resamples, len(differences)))
    low, high = np.percentile(differences[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="model folder")
    parser.add_argument("--scenes", type=Path, required=True, help="folder with images and JSON lines")
    return parser.parse_args()


def main() -> None:
    """Print the mean of each system and the differences between them."""
    options = arguments()
    torch.set_num_threads(1)
    encoder = load(options.model)
    scores = {system: system_scores(encoder, options.scenes, system) for system in SYSTEMS}
    for system, values in scores.items():
        print(f"{system}: mean cosine {values.mean():.3f} over {len(values)} images")
    for better, worse in combinations(SYSTEMS, 2):
        differences = scores[better] - scores[worse]
        low, high = bootstrap(differences, RESAMPLES, SEED)
        print(f"{better} minus {worse}: {differences.mean():.3f} [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main()
