"""Measure the demo model on crops of object pairs that were never captioned in training, and of seen pairs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from numpy.typing import NDArray

from .crops import Crop, even_crops, pair_of
from .train import normalise
from .vocabulary import CATEGORIES, HELD_OUT, INVERSE, PAIRS, PREDICATES, SEEN, caption, captions_of

HELD_OUT_CROPS = 2000
SEEN_CROPS = 1000
SEED = 77  # of the check's scenes; training draws from other streams
BATCH = 250
INDEX = {text: position for position, text in enumerate(captions_of(PAIRS))}
SUMMARY = ("swap", "inverse", "object", "all_three", "best_predicate", "object_in_crop")
HEADINGS = ("role swap", "inverse predicate", "wrong object", "**all three**", "best of 8 predicates", "from crop")

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Verdicts:
    """Per crop: does the right caption score above each wrong one? Arrays of one length."""

    swap: Flags
    inverse: Flags
    object: Flags
    all_three: Flags
    best_predicate: Flags
    object_in_crop: NDArray[np.float64]  # nan where nothing else shows in the crop
    predicate: NDArray[np.str_]
    pair: NDArray[np.str_]
    clutter: Flags


@dataclass(frozen=True)
class Wrong:
    """The wrong objects drawn for a crop."""

    anywhere: str
    in_crop: str | None


def wrong_objects(crop: Crop, rng: np.random.Generator) -> Wrong:
    """Return a class that is neither subject nor object, and one such class that shows in the crop."""
    strangers = [name for name in CATEGORIES if name not in (crop.subject, crop.object)]
    shown = [name for name in strangers if name in crop.others]
    return Wrong(str(rng.choice(strangers)), str(rng.choice(shown)) if shown else None)


def load(folder: Path) -> tuple[Any, Any]:
    """Return model and tokenizer as any user of open_clip gets them."""
    name = f"local-dir:{folder.resolve()}"
    model, _, _ = open_clip.create_model_and_transforms(name)
    return model.eval(), open_clip.get_tokenizer(name)


@torch.no_grad()
def cosines(folder: Path, pictures: Sequence[Crop]) -> NDArray[np.float32]:
    """Return the cosine of every crop with every caption, shape (crops, 448)."""
    torch.set_num_threads(1)
    model, tokenizer = load(folder)
    texts = model.encode_text(tokenizer(list(INDEX)), normalize=True)
    rows = []
    for start in range(0, len(pictures), BATCH):
        pixels = np.stack([crop.pixels for crop in pictures[start : start + BATCH]])
        rows.append(model.encode_image(normalise(pixels), normalize=True) @ texts.T)
    return torch.cat(rows).numpy()


def with_predicate(word: str, crop: Crop, _: Wrong) -> str:
    """Return the right caption with another predicate."""
    return caption(crop.subject, word, crop.object)


def judge(scores: NDArray[np.float32], pictures: Sequence[Crop], seed: int) -> Verdicts:
    """Compare the right caption of every crop with the wrong ones."""
    rng = np.random.default_rng((seed, 3))
    wrong = [wrong_objects(crop, rng) for crop in pictures]

    def column(text: Callable[[Crop, Wrong], str]) -> NDArray[np.float32]:
        """Return the score of one text per crop."""
        places = [INDEX[text(crop, other)] for crop, other in zip(pictures, wrong, strict=True)]
        return scores[np.arange(len(places)), places]

    right = column(lambda crop, _: caption(crop.subject, crop.predicate, crop.object))
    swap = right > column(lambda crop, _: caption(crop.object, crop.predicate, crop.subject))
    inverse = right > column(lambda crop, _: caption(crop.subject, INVERSE[crop.predicate], crop.object))
    other = right > column(lambda crop, drawn: caption(crop.subject, crop.predicate, drawn.anywhere))
    near = right > column(lambda crop, drawn: caption(crop.subject, crop.predicate, drawn.in_crop or drawn.anywhere))
    rivals = [column(partial(with_predicate, word)) for word in PREDICATES]
    return Verdicts(
        swap=swap,
        inverse=inverse,
        object=other,
        all_three=swap & inverse & other,
        best_predicate=right >= np.max(rivals, axis=0),
        object_in_crop=np.where([drawn.in_crop is None for drawn in wrong], np.nan, near),
        predicate=np.array([crop.predicate for crop in pictures]),
        pair=np.array(["/".join(sorted(pair_of(crop), key=CATEGORIES.index)) for crop in pictures]),
        clutter=np.array([bool(crop.others) for crop in pictures]),
    )


def measure(folder: Path, pictures: Sequence[Crop], seed: int) -> Verdicts:
    """Return the verdicts of one model on the crops."""
    return judge(cosines(folder, pictures), pictures, seed)


def summary_row(verdicts: Verdicts) -> list[float]:
    """Return the shares of SUMMARY."""
    return [float(np.nanmean(getattr(verdicts, name))) for name in SUMMARY]


def markdown(head: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Return a Markdown table; several rows get a mean below."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    named = list(rows)
    if len(rows) > 1:
        named.append(("mean", np.mean([values for _, values in rows], axis=0).tolist()))
    lines += [f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + " |" for name, values in named]
    return "\n".join(lines)


def by(names: Sequence[str], column: str, verdicts: dict[str, Verdicts]) -> str:
    """Return the table of all three comparisons, one column for each value of a column of the verdicts."""
    rows = [
        (model, [float(one.all_three[getattr(one, column) == name].mean()) for name in names])
        for model, one in verdicts.items()
    ]
    return markdown(("all three", *names), rows)


def by_clutter(verdicts: dict[str, Verdicts]) -> str:
    """Return the table of all three comparisons with and without other objects in the crop."""
    first = next(iter(verdicts.values()))
    others = int(first.clutter.sum())
    head = (
        "all three",
        f"nothing else in the crop (n = {len(first.clutter) - others})",
        f"others in it (n = {others})",
    )
    rows = [
        (model, [float(one.all_three[~one.clutter].mean()), float(one.all_three[one.clutter].mean())])
        for model, one in verdicts.items()
    ]
    return markdown(head, rows)


def report(title: str, verdicts: dict[str, Verdicts]) -> str:
    """Return the tables of one set of crops: all measures, by predicate, by pair, with and without others."""
    first = next(iter(verdicts.values()))
    near = int(np.isfinite(first.object_in_crop).sum())
    parts = [f"{title}: {len(first.swap)} crops, {near} of them with a wrong object to take from the crop."]
    parts.append(markdown(("model", *HEADINGS), [(name, summary_row(one)) for name, one in verdicts.items()]))
    parts.append(by(PREDICATES, "predicate", verdicts))
    parts.append(by(sorted(set(first.pair.tolist())), "pair", verdicts))
    parts.append(by_clutter(verdicts))
    return "\n\n".join(parts)


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, nargs="+", required=True, help="model folders, one row each")
    parser.add_argument("--held-out", type=int, default=HELD_OUT_CROPS, help="crops of held-out pairs")
    parser.add_argument("--seen", type=int, default=SEEN_CROPS, help="crops of seen pairs")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the scenes")
    return parser.parse_args()


def main() -> None:
    """Print the tables for the given models."""
    options = arguments()
    for title, pairs, count in (
        ("Held-out pairs", tuple(pair for pair in PAIRS if pair in HELD_OUT), options.held_out),
        ("Seen pairs", SEEN, options.seen),
    ):
        pictures = even_crops(pairs, count, np.random.default_rng((options.seed, 2)))
        verdicts = {folder.name: measure(folder, pictures, options.seed) for folder in options.model}
        print(report(title, verdicts), end="\n\n")


if __name__ == "__main__":
    main()
