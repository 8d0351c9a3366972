"""What the speed benchmarks share: one set of random weights in the libraries that are compared, and the clock."""

import copy
import importlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import open_clip
import torch
from PIL import Image

from sgeval.encoders import open_clip_family
from sgeval.phrases import DUAL_ENCODER_TEMPLATE

ARCHITECTURE = "ViT-B-32"
SEED = 6  # of the weights: nearly all cosines come out positive, and what is negative would be cut at 0
BATCH_SIZE = 32
PACKAGES = ("sgeval", "torch", "open_clip_torch", "transformers", "torchmetrics", "pillow", "numpy")

Given = TypeVar("Given")


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
        self.pil = self.encoder(self.clip)
        self.peer = (transformers_clip(self.clip), transformers_processor(self.tokenizer))

    @cached_property
    def tensor(self) -> Any:
        """Ours with `preprocess="tensor"`."""
        return self.encoder(self.clip, preprocess="tensor")

    @cached_property
    def bf16(self) -> Any:
        """Ours with `precision="bf16"`; weights are converted in place, hence the copy."""
        return self.encoder(copy.deepcopy(self.clip), precision="bf16")

    def encoder(self, model: Any, **keywords: Any) -> Any:
        """Ours, around an open_clip model."""
        return open_clip_family.encoder(
            model,
            self.tokenizer,
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
                f"{script()}: expected equal FLOPs, got {counts[0]} in open_clip, {counts[1]} in transformers"
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
        raise SystemExit(f"{script()}: needs torchmetrics (pip install torchmetrics==1.9.0)") from None


def open_picture(file: Path) -> Image.Image:
    """A picture file as RGB, decoded."""
    with Image.open(file) as image:
        return image.convert("RGB")


def script() -> str:
    """The name of the script that runs, for its messages."""
    return Path(sys.argv[0]).name


def measure(runs: Mapping[str, Callable[[], Given]], rounds: int) -> tuple[dict[str, list[float]], dict[str, Given]]:
    """CPU seconds by variant, one a round, and what it gave last. In turn; each round begins with another variant."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    given: dict[str, Given] = {}
    names = list(runs)
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr)
            start = time.process_time()
            given[name] = runs[name]()
            seconds[name].append(time.process_time() - start)
    return seconds, given


def ratios(seconds: Mapping[str, Sequence[float]], divided: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """By key, the median over the rounds of one variant's seconds by another's; in `ranges` the lowest and the highest."""
    found = {key: np.divide(seconds[one], seconds[two]) for key, (one, two) in divided.items()}
    return {
        **{key: float(np.median(each)) for key, each in found.items()},
        "ranges": {key: [float(each.min()), float(each.max())] for key, each in found.items()},
    }


def versions() -> dict[str, str]:
    """The versions of what is measured."""
    return {name: version(name) for name in PACKAGES}


def seconds_lines(found: Mapping[str, Any], absent: str = "") -> Iterator[str]:
    """The CPU seconds for a reader; `absent` stands where there are none."""
    yield f"\nCPU seconds, one thread, median of {found['rounds']}"
    for name, seconds in found["seconds"].items():
        yield f"  {name:28}" + (absent if seconds is None else f"{seconds:8.2f}")


def ratio_lines(found: Mapping[str, Any], goals: Mapping[str, float]) -> Iterator[str]:
    """The ratios for a reader, each with its range and its goal."""
    yield "\nratios of CPU seconds, and their range over the rounds"
    for name, (low, high) in found["ranges"].items():
        goal = f"; {verdict(found[name], goals[name])}" if name in goals else ""
        yield f"  {name:32}{found[name]:6.3f} ({low:.3f} to {high:.3f}){goal}"


def verdict(value: float, goal: float) -> str:
    """Whether a ratio meets its goal, or by how much it is missed.

    >>> verdict(3.0, 4.0)
    'goal 4.0 missed by 1.000 (25.0 %)'
    """
    if value >= goal:
        return f"goal {goal} met"
    return f"goal {goal} missed by {goal - value:.3f} ({100 - 100 * value / goal:.1f} %)"
