"""What RelCLIPScore costs beside its peers and beside the two towers alone, in CPU seconds of one thread.

Run: `python benchmarks/perf/score.py --images 6 --rounds 3`; README.md says what is measured and what the keys mean.
Exit code 1 when our scores are not those of the naive loop: the ratios would compare different work.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", HF_HUB_OFFLINE="1")  # read when torch is imported

import argparse
import copy
import importlib
import json
import logging
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from PIL import Image
from torch.func import functional_call
from torchvision.transforms.functional import pil_to_tensor

sys.path.append(str(Path(__file__).resolve().parents[2]))  # so that the script runs from anywhere

from benchmarks.perf.made import Triplet, Work, make_work
from sgeval.encoders import open_clip_family
from sgeval.encoders.device import cpu_has_bf16
from sgeval.phrases import DUAL_ENCODER_TEMPLATE
from sgeval.relclip import Options, score

ARCHITECTURE = "ViT-B-32"
SEED = 6  # of the weights: nearly all cosines come out positive, and what is negative would be cut at 0
BATCH_SIZE = 32
AGREEMENT = 1e-5
GOALS = {
    "of_floor": 0.90,
    "vs_torchmetrics_sample": 3.5,
    "vs_torchmetrics_list_distinct": 1.0,
    "bf16_vs_torchmetrics_sample": 6.0,
}
MOST_IMAGES = 1000  # the words for texts that occur once run out
PACKAGES = ("sgeval", "torch", "open_clip_torch", "transformers", "torchmetrics", "pillow", "numpy")
DISTINCT = ("torchmetrics_list", "ours", "floor")  # of the variants, those that also run on the set without sharing
NO_BF16 = "not measured: this CPU has no bf16"

Scores = list[float]
Variants = dict[str, Callable[[], Scores]]


class Models:
    """One set of random weights in every form that is measured: open_clip's, ours three times, transformers'."""

    def __init__(self) -> None:
        self.clip_score = torchmetrics_clip_score()
        logging.getLogger().setLevel(logging.ERROR)  # open_clip warns of the random weights
        torch.manual_seed(SEED)
        self.clip: Any
        self.clip, _, self.transform = open_clip.create_model_and_transforms(ARCHITECTURE, pretrained=None)
        self.clip.eval()
        self.tokenizer = open_clip.get_tokenizer(ARCHITECTURE)
        self.pil = self.encoder(self.clip, self.tokenizer)
        self.tensor = self.encoder(self.clip, self.tokenizer, preprocess="tensor")
        # The weights are converted in place, hence the copy.
        self.bf16 = self.encoder(copy.deepcopy(self.clip), self.tokenizer, precision="bf16")
        self.peer = (transformers_clip(self.clip), transformers_processor(self.tokenizer))

    def encoder(self, model: Any, tokenizer: Any, **keywords: Any) -> Any:
        """Ours, around an open_clip model."""
        return open_clip_family.encoder(
            model,
            tokenizer,
            dict(self.clip.visual.preprocess_cfg),
            name="random-weights",
            score_rule="cosine",
            template=DUAL_ENCODER_TEMPLATE,
            quick_gelu=False,
            **keywords,
        )


RENAMED = (
    ("visual.transformer.resblocks.", "vision_model.encoder.layers."),
    ("transformer.resblocks.", "text_model.encoder.layers."),
    (".attn.", ".self_attn."),
    (".ln_1.", ".layer_norm1."),
    (".ln_2.", ".layer_norm2."),
    (".c_fc.", ".fc1."),
    (".c_proj.", ".fc2."),
    ("visual.class_embedding", "vision_model.embeddings.class_embedding"),
    ("visual.conv1.", "vision_model.embeddings.patch_embedding."),
    ("visual.positional_embedding", "vision_model.embeddings.position_embedding.weight"),
    ("visual.ln_pre.", "vision_model.pre_layrnorm."),  # their spelling
    ("visual.ln_post.", "vision_model.post_layernorm."),
    ("visual.proj", "visual_projection.weight"),
    ("token_embedding.", "text_model.embeddings.token_embedding."),
    ("positional_embedding", "text_model.embeddings.position_embedding.weight"),
    ("ln_final.", "text_model.final_layer_norm."),
    ("text_projection", "text_projection.weight"),
)
"""open_clip's names of weights to those of transformers, in this order."""


def transformers_clip(clip: Any) -> Any:
    """The same weights as a `CLIPModel`, with the shim that torchmetrics 1.9.0 needs."""
    from transformers import CLIPConfig, CLIPModel

    state = {}
    for name, value in clip.state_dict().items():
        if name in ("visual.proj", "text_projection"):
            value = value.T
        for ours, theirs in RENAMED:
            name = name.replace(ours, theirs)
        if "in_proj_" in name:
            for part, third in zip("qkv", value.chunk(3), strict=True):
                state[name.replace("in_proj_", f"{part}_proj.")] = third
        else:
            state[name] = value
    ends = {"bos_token_id": 49406, "eos_token_id": 49407}
    model: Any = CLIPModel(CLIPConfig(text_config={"hidden_act": "gelu", **ends}, vision_config={"hidden_act": "gelu"}))
    model.load_state_dict(state)
    model.eval()
    check_flops(clip, model)
    # Since transformers 5 these two return an output object, on which torchmetrics 1.9.0 calls `norm`.
    for name in ("get_image_features", "get_text_features"):
        setattr(model, name, partial(pooled, getattr(model, name)))
    return model


def pooled(call: Callable[..., Any], *given: Any) -> Any:
    """The features alone of what a transformers model returns."""
    return call(*given).pooler_output


def check_flops(clip: Any, model: Any) -> None:
    """Raise unless both libraries do the same arithmetic for a picture and for a text of 77 tokens."""
    from torch.utils.flop_counter import FlopCounterMode

    picture, text = torch.zeros(1, 3, 224, 224), torch.zeros(1, 77, dtype=torch.long)
    for ours, theirs, given in (
        (clip.encode_image, model.get_image_features, picture),
        (clip.encode_text, model.get_text_features, text),
    ):
        counts = []
        for call in (ours, theirs):
            with FlopCounterMode(display=False) as counter:  # gradients stay on: torch's fused layers are not counted
                call(given)
            counts.append(counter.get_total_flops())
        if counts[0] != counts[1]:
            raise SystemExit(
                f"score.py: expected equal FLOPs, got {counts[0]} in open_clip, {counts[1]} in transformers"
            )


def transformers_processor(tokenizer: Any) -> Any:
    """A `CLIPProcessor` on open_clip's vocabulary."""
    from transformers import CLIPImageProcessor, CLIPProcessor, CLIPTokenizer

    start, end = (tokenizer.decoder[index] for index in (tokenizer.sot_token_id, tokenizer.eot_token_id))
    ends = {"bos_token": start, "eos_token": end, "pad_token": end, "unk_token": end}
    make: Any = CLIPProcessor
    texts = CLIPTokenizer(vocab=tokenizer.encoder, merges=list(tokenizer.bpe_ranks), **ends)
    return make(image_processor=CLIPImageProcessor(), tokenizer=texts)


def torchmetrics_clip_score() -> Any:
    """torchmetrics' function; one line and an end where it is not installed."""
    try:
        return importlib.import_module("torchmetrics.functional.multimodal").clip_score
    except ImportError:
        raise SystemExit("score.py: needs torchmetrics (pip install torchmetrics==1.9.0)") from None


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


def open_picture(file: Path) -> Image.Image:
    """A picture file as RGB, decoded."""
    with Image.open(file) as image:
        return image.convert("RGB")


def measure(runs: Variants, rounds: int) -> tuple[dict[str, list[float]], dict[str, Scores]]:
    """CPU seconds by variant, one a round, and the last scores. In turn; each round begins with another variant."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    scores: dict[str, Scores] = {}
    names = list(runs)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr)
            start = time.process_time()
            scores[name] = runs[name]()
            seconds[name].append(time.process_time() - start)
    return seconds, scores


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
    ratios = {key: np.divide(seconds[one], seconds[two]) for key, (one, two) in divided.items() if two in seconds}

    def difference(first: Any, second: Any) -> float:
        return float(np.abs(np.subtract(first, second)).max())

    few = ours(shared.head(), models.bf16)
    means = np.reshape(scores["ours_distinct"], (images, -1)).mean(axis=1)
    return {
        **{key: float(np.median(ratios[key])) if key in ratios else None for key in divided},
        "ranges": {key: [float(found.min()), float(found.max())] for key, found in ratios.items()},
        "seconds": {"ours_bf16": None} | {name: statistics.median(each) for name, each in seconds.items()},
        "counts": {"shared": shared.counts(), "distinct": distinct.counts()},
        "difference_naive": difference(scores["ours"], scores["naive"]),
        "difference_torchmetrics_sample": difference(scores["ours"], scores["torchmetrics_sample"]),
        "difference_torchmetrics_list_distinct": difference(means, scores["torchmetrics_list_distinct"]),
        "drift_tensor": difference(scores["ours"], scores["ours_tensor"]),
        "drift_bf16": difference(scores["ours"][: len(few)], few),
        "score_spread": statistics.stdev(scores["naive"]),
        "rounds": rounds,
        "versions": {name: version(name) for name in PACKAGES},
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
    yield f"\nCPU seconds, one thread, median of {found['rounds']}"
    for name, seconds in found["seconds"].items():
        yield f"  {name:28}" + (NO_BF16 if seconds is None else f"{seconds:8.2f}")
    yield "\nratios of CPU seconds, and their range over the rounds"
    for name, (low, high) in found["ranges"].items():
        goal = f"; {verdict(found[name], GOALS[name])}" if name in GOALS else ""
        yield f"  {name:32}{found[name]:6.3f} ({low:.3f} to {high:.3f}){goal}"
    if found["bf16_vs_torchmetrics_sample"] is None:
        yield f"  {'bf16_vs_torchmetrics_sample':32}{NO_BF16} (goal {GOALS['bf16_vs_torchmetrics_sample']})"
    yield f"\nlargest differences of scores, whose standard deviation is {found['score_spread']:.3f}"
    for name, value in found.items():
        if name.startswith(("difference_", "drift_")):
            yield f"  {name:40}{value:.1e}"
    yield "\n" + ", ".join(f"{name} {number}" for name, number in found["versions"].items())


def verdict(value: float, goal: float) -> str:
    """Whether a ratio meets its goal, or by how much it is missed.

    >>> verdict(3.0, 4.0)
    'goal 4.0 missed by 1.000 (25.0 %)'
    """
    if value >= goal:
        return f"goal {goal} met"
    return f"goal {goal} missed by {goal - value:.3f} ({100 - 100 * value / goal:.1f} %)"


if __name__ == "__main__":
    main()
