"""What θ costs beside the way the published scripts work and beside torchmetrics, in CPU seconds of one thread.

Run: `python benchmarks/perf/theta.py --images 12 --rounds 5`; README.md says what is measured and what the keys mean.
Exit code 1 when the work is not equal (our scores or θ are not those of the research loop), or when a region or a text
is encoded more than once.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", HF_HUB_OFFLINE="1")  # read when torch is imported

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torchvision.transforms.functional import pil_to_tensor

sys.path.append(str(Path(__file__).resolve().parents[2]))  # so that the script runs from anywhere

from benchmarks.perf.counting import Counting
from benchmarks.perf.made import PREDICATES
from benchmarks.perf.made_theta import Annotated, Asked, make_annotated
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
from sgeval import ranks
from sgeval.alignment import Item, Options, Scoring, score_annotations

AGREEMENT = 1e-6
GOALS = {"vs_research_loop": 12.0, "vs_torchmetrics": 17.0}
MOST_GROWTH = 0.05
GROWTH_IMAGES = 4  # short runs, many rounds: what else the machine does falls on both alike
DRAWS = 10_000  # of the bootstrap of the median growth


class Ours:
    """The public function, from rows and picture files. Keeps what it gave last, and what the encoder was given for it."""

    def __init__(self, work: Annotated, models: Models) -> None:
        self.work, self.models = work, models
        self.encoder: Counting
        self.scoring: Scoring
        self.towers: list[float] = []
        """CPU seconds in the two towers, one a call."""

    def __call__(self) -> list[Any]:
        """One run: the items."""
        self.encoder = Counting(self.models.pil)
        self.scoring = score_annotations(
            self.work.rows,
            images=self.work.folder,
            vocabulary=self.work.vocabulary,
            model=self.encoder,
            options=Options(batch_size=BATCH_SIZE),
        )
        self.scoring.result()
        self.towers.append(self.encoder.seconds)
        return list(self.scoring.rows.items)

    def encoded(self) -> dict[str, int]:
        """How many regions and texts were encoded in the last call. Stops unless each unique one was, exactly once."""
        items = self.scoring.rows.items
        expected = self.work.texts(str(item.random_predicate) for item in items)
        found = {"unions": self.encoder.images, "texts": len(self.encoder.texts)}
        wanted = {"unions": self.work.unions(), "texts": len(expected)}
        if found != wanted or set(self.encoder.texts) != expected or any(item.status != "scored" for item in items):
            raise SystemExit(f"theta.py: expected each of {wanted} encoded once and every relation scored, got {found}")
        return found


@torch.inference_mode()
def research_loop(asked: Sequence[Asked], models: Models) -> list[Any]:
    """Relation by relation: decode, crop, one picture and its candidates at 77 tokens encoded; the scores of each."""
    scores = []
    for each in asked:
        crop = open_picture(each.file).crop(each.rect)
        image = models.clip.encode_image(models.transform(crop)[None])
        texts = models.clip.encode_text(models.tokenizer(each.texts))
        scores.append(torch.cosine_similarity(image, texts).double().numpy())
    return scores


@torch.inference_mode()
def torchmetrics(asked: Sequence[Asked], models: Models) -> list[float]:
    """Each (crop, candidate) a sample, the candidates of a relation a call, which gives their mean."""
    means = []
    for each in asked:
        crop = pil_to_tensor(open_picture(each.file).crop(each.rect))
        given = [crop] * len(each.texts), each.texts
        means.append(float(models.clip_score(*given, lambda: models.peer)) / 100)
    return means


def benchmark(folder: Path, images: int, part: int, rounds: int, growth_rounds: int) -> dict[str, Any]:
    """The whole measurement, as `--json` prints it."""
    models = Models()
    whole = make_annotated(folder / "whole", images)
    # Each pair of classes has every predicate, so that a predicate drawn at random never makes a new text.
    lengths = (len(PREDICATES), len(PREDICATES))
    full = make_annotated(folder / "full", min(images, GROWTH_IMAGES), PREDICATES, lengths)
    asked = whole.head(part).asked
    ours, once, twice = (Ours(work, models) for work in (whole, full, full.twice()))
    peers = ("research_loop", "torchmetrics")
    runs: dict[str, Callable[[], list[Any]]] = {
        "ours": ours,
        "research_loop": partial(research_loop, asked, models),
        "torchmetrics": partial(torchmetrics, asked, models),
    }
    Ours(whole.head(1), models)()  # a first call makes what later ones find ready
    research_loop(asked[:1], models)
    torchmetrics(asked[:1], models)
    seconds, given = measure(runs, rounds)
    grown, _ = measure({"growth_once": once, "growth_twice": twice}, growth_rounds)

    # Every candidate text costs the peers alike, and there is one crop a relation or a text.
    scale = whole.counts()["candidates"] / sum(len(each.texts) for each in asked)
    seconds |= {name: [scale * each for each in seconds[name]] for name in peers}
    growth = np.divide(grown["growth_twice"], grown["growth_once"]) - 1
    return {
        **ratios(seconds, {f"vs_{name}": (name, "ours") for name in peers}),
        "growth": float(np.median(growth)),
        "growth_range": [float(growth.min()), float(growth.max())],
        "growth_interval": interval(growth),
        "outside_towers": outside(seconds["ours"], ours.towers),
        "seconds": {name: statistics.median(each) for name, each in (seconds | grown).items()},
        "scaled_by": scale,
        "counts": {"whole": whole.counts(), "part": whole.head(part).counts()},
        "growth_counts": {"once": full.counts(), "twice": full.twice().counts()},
        "encoded": {"whole": ours.encoded(), "once": once.encoded(), "twice": twice.encoded()},
        **differences(given["ours"], asked, given["research_loop"]),
        "difference_torchmetrics_mean": difference(
            [each.mean() for each in given["research_loop"]], given["torchmetrics"]
        ),
        "score_spread": float(np.concatenate(given["research_loop"]).std()),
        "theta": ours.scoring.result()["theta"],
        "rounds": rounds,
        "growth_rounds": growth_rounds,
        "versions": versions(),
    }


def differences(items: Sequence[Item], asked: Sequence[Asked], scores: Sequence[Any]) -> dict[str, float]:
    """How far our relations are from the loop's: scores of the truth and of the best candidate, and θ."""
    mine = items[: len(asked)]
    best = [item.score if item.confuser_score is None else item.confuser_score for item in mine]
    theirs = [each[relation.truth] for each, relation in zip(scores, asked, strict=True)]
    thetas = ranks.theta(*([getattr(item, name) for item in mine] for name in ("higher", "tied", "n")))
    return {
        "difference_research_loop": max(
            difference([item.score for item in mine], theirs), difference(best, [each.max() for each in scores])
        ),
        "difference_theta": difference(
            thetas, [theta(each, truth) for each, truth in zip(scores, theirs, strict=True)]
        ),
    }


def theta(scores: Any, truth: float) -> float:
    """Paper 1, Section 3.2, written out: 1 minus the rank of the truth, 0-based and ties averaged, over the candidates.

    >>> theta(np.array([0.2, 0.1, 0.05, 0.9]), 0.2)
    0.75
    """
    higher, tied = sum(score > truth for score in scores), sum(score == truth for score in scores) - 1
    return float(1 - (higher + tied / 2) / len(scores))


def difference(first: Any, second: Any) -> float:
    """The largest difference of two rows of numbers."""
    return float(np.abs(np.subtract(first, second)).max())


def interval(values: Any) -> list[float]:
    """A 95 % interval of the median, by bootstrap."""
    draws = np.random.default_rng(0).choice(values, (DRAWS, len(values)))
    return [float(end) for end in np.percentile(np.median(draws, axis=1), [2.5, 97.5])]


def outside(seconds: Sequence[float], towers: Sequence[float]) -> float:
    """The share of the CPU seconds that is not the towers', median."""
    return float(np.median(1 - np.divide(towers, seconds)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=12, help="pictures, ten relations each (12)")
    parser.add_argument(
        "--part", type=int, default=1, help="of these, how many the peers get; their time is scaled (1)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each variant (5)")
    parser.add_argument("--growth-rounds", type=int, default=25, help="measurements with twice the relations (25)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    if not 1 <= arguments.part <= arguments.images or min(arguments.rounds, arguments.growth_rounds) < 1:
        parser.error("expected --part from 1 to --images, and --rounds and --growth-rounds of 1 or more")
    torch.set_num_threads(1)
    given = (arguments.images, arguments.part, arguments.rounds, arguments.growth_rounds)
    with tempfile.TemporaryDirectory() as folder:
        found = benchmark(Path(folder), *given)
    print(json.dumps(found, indent=2) if arguments.json else "\n".join(lines(found)))
    if not (found["difference_research_loop"] <= AGREEMENT and found["difference_theta"] <= AGREEMENT):
        raise SystemExit(
            f"theta.py: expected the research loop's scores and θ within {AGREEMENT}: the ratios are of unequal work"
        )


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures for a reader."""
    sets = found["counts"] | {f"growth, {name}": counts for name, counts in found["growth_counts"].items()}
    for name, counts in sets.items():
        yield f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items())
    for name, counts in found["encoded"].items():
        yield f"encoded, {name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()) + ", each once"
    peers, whole = (found["counts"][name]["images"] for name in ("part", "whole"))
    yield f"\nthe peers got {peers} of {whole} pictures; their seconds are multiplied by {found['scaled_by']:.2f}"
    yield from seconds_lines(found)
    yield f"  {'outside the towers':28}{found['outside_towers']:8.1%}"
    yield from ratio_lines(found, GOALS)
    low, high = found["growth_range"]
    yield f"\ntwice the relations, no new union or text, median of {found['growth_rounds']}"
    yield f"  {'growth':32}{found['growth']:+.1%} ({low:+.1%} to {high:+.1%}); {growth_verdict(found)}"
    yield "  {:32}{:+.1%} to {:+.1%}".format("95 % interval of the median", *found["growth_interval"])
    yield f"\nlargest differences, where scores have a standard deviation of {found['score_spread']:.3f}"
    for name, value in found.items():
        if name.startswith("difference_"):
            yield f"  {name:40}{value:.1e}"
    yield "\n" + ", ".join(f"{name} {number}" for name, number in found["versions"].items())


def growth_verdict(found: Mapping[str, Any]) -> str:
    """Whether the growth meets its goal, and whether the rounds are enough to tell."""
    goal = f"goal under {MOST_GROWTH:.0%} "
    low, high = found["growth_interval"]
    goal += "met" if found["growth"] < MOST_GROWTH else f"missed by {found['growth'] - MOST_GROWTH:.1%}"
    return goal if not low < MOST_GROWTH <= high else f"{goal}, too few rounds to tell"


if __name__ == "__main__":
    main()
