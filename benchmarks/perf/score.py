"""What RelCLIPScore costs beside its peers and beside the two towers alone, in CPU seconds of one thread.

Run: `python benchmarks/perf/score.py --images 6 --rounds 3`; README.md says what is measured and what the keys mean.
Exit code 1 when our scores are not those of the naive loop: the ratios would compare different work.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", HF_HUB_OFFLINE="1")  # read when torch is imported

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.func import functional_call
from torchvision.transforms.functional import pil_to_tensor

sys.path.append(str(Path(__file__).resolve().parents[2]))  # so that the script runs from anywhere

from benchmarks.perf.made import Triplet, Work, make_work
from benchmarks.perf.peers import (
    BATCH_SIZE,
    Models,
    measure,
    open_picture,
    ratio_lines,
    ratios,
    seconds_lines,
    versions,
)
from sgeval.encoders.device import cpu_has_bf16
from sgeval.relclip import Options, score

AGREEMENT = 1e-5
GOALS = {
    "of_floor": 0.90,
    "vs_torchmetrics_sample": 3.5,
    "vs_torchmetrics_list_distinct": 1.0,
    "bf16_vs_torchmetrics_sample": 6.0,
}
MOST_IMAGES = 1000  # the words for texts that occur once run out
DISTINCT = ("torchmetrics_list", "ours", "floor")  # of the variants, those that also run on the set without sharing
NO_BF16 = "not measured: this CPU has no bf16"

Scores = list[float]
Variants = dict[str, Callable[[], Scores]]


def variants(work: Work, models: Models) -> Variants:
    """What is measured on a set, by name. All start from the picture files, but for the floor."""
    triplets = work.triplets

    @torch.inference_mode()
    def naive() -> Scores:
        scores = []
        for triplet in triplets:
            crop = open_picture(triplet.file).crop(triplet.rect)
            image = models.clip.encode_image(models.transform(crop)[None])
            text = models.clip.encode_text(models.tokenizer([triplet.text]))
            scores.append(max(float(torch.cosine_similarity(image, text)), 0.0))
        return scores

    @torch.inference_mode()
    def torchmetrics(given: Iterable[tuple[Any, Any]]) -> Scores:
        return [float(models.clip_score(crops, texts, lambda: models.peer)) / 100 for crops, texts in given]

    found: Variants = {
        "naive": naive,
        "torchmetrics_sample": lambda: torchmetrics(
            pair for crops, texts in by_picture(triplets) for pair in zip(crops, texts, strict=True)
        ),
        "torchmetrics_list": lambda: torchmetrics(by_picture(triplets)),
        "ours": lambda: ours(work, models.pil),
        "ours_tensor": lambda: ours(work, models.tensor),
        "floor": floor(triplets, models),
    }
    if cpu_has_bf16():
        found["ours_bf16"] = lambda: ours(work, models.bf16)
    return found


def ours(work: Work, encoder: Any) -> Scores:
    """The public function, from rows and picture files; NaN where it gives no score."""
    rows = score(work.rows, images=work.folder, model=encoder, options=Options(batch_size=BATCH_SIZE)).rows
    found = {(item.image_id, item.index): item.score for item in rows.items}
    values = [found[row["image_id"], index] for row in work.rows for index in range(len(row["relations"]))]
    return [math.nan if value is None else value for value in values]


def floor(triplets: Sequence[Triplet], models: Models) -> Callable[[], Scores]:
    """The two towers alone on what they read: unique crops as ready pixels, unique texts as ready tokens."""
    unions = dict.fromkeys((triplet.file, triplet.rect) for triplet in triplets)
    pixels = [models.transform(open_picture(file).crop(rect)) for file, rect in unions]
    texts = list(dict.fromkeys(triplet.text for triplet in triplets))
    images = [torch.stack(batch) for batch in batches(pixels)]
    tokens = [trimmed(models.tokenizer(batch)) for batch in batches(texts)]

    @torch.inference_mode()
    def run() -> Scores:
        for batch in tokens:
            encode_trimmed(models.clip, batch)
        for batch in images:
            models.clip.encode_image(batch)
        return []

    return run


def trimmed(tokens: torch.Tensor) -> torch.Tensor:
    """Tokens `(N, 77)` without what follows the last end token, which has the highest number."""
    return tokens[:, : int(tokens.argmax(dim=1).max()) + 1]


def encode_trimmed(clip: Any, tokens: torch.Tensor) -> torch.Tensor:
    """open_clip's text tower on fewer than 77 tokens."""
    length = tokens.shape[1]
    short = {"positional_embedding": clip.positional_embedding[:length], "attn_mask": clip.attn_mask[:length, :length]}
    features: torch.Tensor = functional_call(clip, short, kwargs={"text": tokens})[1]
    return features


def batches(given: list[Any]) -> Iterator[list[Any]]:
    """Parts of `BATCH_SIZE`, in order."""
    return (given[start : start + BATCH_SIZE] for start in range(0, len(given), BATCH_SIZE))


def by_picture(triplets: Sequence[Triplet]) -> Iterator[tuple[list[torch.Tensor], list[str]]]:
    """The crops, as torchmetrics takes them, and texts of a picture that is opened once."""
    for file, group in groupby(triplets, key=lambda triplet: triplet.file):
        picture, mine = open_picture(file), list(group)
        yield [pil_to_tensor(picture.crop(each.rect)) for each in mine], [each.text for each in mine]


def benchmark(folder: Path, images: int, rounds: int) -> dict[str, Any]:
    """The whole measurement, as `--json` prints it. `None` is what this CPU cannot measure."""
    models = Models()
    shared, distinct = (make_work(folder / name, images, name == "shared") for name in ("shared", "distinct"))
    for run in variants(shared.head(), models).values():  # a first call makes what later ones find ready
        run()
    lone = variants(distinct, models)
    runs = variants(shared, models) | {f"{name}_distinct": lone[name] for name in DISTINCT}
    seconds, scores = measure(runs, rounds)

    # Key -> what is divided by what, round by round.
    divided = {
        "of_floor": ("floor", "ours"),
        "vs_torchmetrics_sample": ("torchmetrics_sample", "ours"),
        "vs_torchmetrics_list_distinct": ("torchmetrics_list_distinct", "ours_distinct"),
        "bf16_vs_torchmetrics_sample": ("torchmetrics_sample", "ours_bf16"),
        "of_floor_tensor": ("floor", "ours_tensor"),
        "of_floor_distinct": ("floor_distinct", "ours_distinct"),
        "vs_naive": ("naive", "ours"),
        "vs_torchmetrics_list": ("torchmetrics_list", "ours"),
    }
    found = ratios(seconds, {key: parts for key, parts in divided.items() if parts[1] in seconds})

    def difference(first: Any, second: Any) -> float:
        return float(np.abs(np.subtract(first, second)).max())

    few = ours(shared.head(), models.bf16)
    means = np.reshape(scores["ours_distinct"], (images, -1)).mean(axis=1)
    return {
        **dict.fromkeys(divided),
        **found,
        "seconds": {"ours_bf16": None} | {name: statistics.median(each) for name, each in seconds.items()},
        "counts": {"shared": shared.counts(), "distinct": distinct.counts()},
        "difference_naive": difference(scores["ours"], scores["naive"]),
        "difference_torchmetrics_sample": difference(scores["ours"], scores["torchmetrics_sample"]),
        "difference_torchmetrics_list_distinct": difference(means, scores["torchmetrics_list_distinct"]),
        "drift_tensor": difference(scores["ours"], scores["ours_tensor"]),
        "drift_bf16": difference(scores["ours"][: len(few)], few),
        "score_spread": statistics.stdev(scores["naive"]),
        "rounds": rounds,
        "versions": versions(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=6, help="pictures a set, ten relations each (6)")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each variant (3)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    if not 1 <= arguments.images <= MOST_IMAGES or arguments.rounds < 1:
        parser.error(f"expected --images from 1 to {MOST_IMAGES} and --rounds of 1 or more")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = benchmark(Path(folder), arguments.images, arguments.rounds)
    print(json.dumps(found, indent=2) if arguments.json else "\n".join(lines(found)))
    if not found["difference_naive"] <= AGREEMENT:
        raise SystemExit(
            f"score.py: expected the naive loop's scores within {AGREEMENT}: the ratios are of unequal work"
        )


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures for a reader."""
    for name, counts in found["counts"].items():
        sizes = ", ".join(f"{count} {what}" for what, count in counts.items())
        yield f"{name}: {sizes}; {counts['relations'] / counts['unions']:.2f} relations a union"
    yield from seconds_lines(found, NO_BF16)
    yield from ratio_lines(found, GOALS)
    if found["bf16_vs_torchmetrics_sample"] is None:
        yield f"  {'bf16_vs_torchmetrics_sample':32}{NO_BF16} (goal {GOALS['bf16_vs_torchmetrics_sample']})"
    yield f"\nlargest differences of scores, whose standard deviation is {found['score_spread']:.3f}"
    for name, value in found.items():
        if name.startswith(("difference_", "drift_")):
            yield f"  {name:40}{value:.1e}"
    yield "\n" + ", ".join(f"{name} {number}" for name, number in found["versions"].items())


if __name__ == "__main__":
    main()
