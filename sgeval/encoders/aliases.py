"""The table of model names. An alias is a frozen record of everything about a checkpoint that moves a score."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sgeval.phrases import BLIP_TEMPLATE, DUAL_ENCODER_TEMPLATE
from sgeval.regions import ImageMode

ScoreRule = Literal["cosine", "sigmoid", "itm"]


Library = Literal["open_clip", "transformers"]
Activation = Literal["gelu", "quickgelu"]


@dataclass(frozen=True)
class Alias:
    """A named checkpoint. What it states is checked against what was loaded; `None` takes what the checkpoint says."""

    library: Library
    identifier: str
    """open_clip: `ARCH/TAG`, `ARCH@FILE`, `hf-hub:ORG/REPO` or a folder. transformers: `ORG/REPO` or a folder."""
    score_rule: ScoreRule | None
    activation: Activation | None = None
    text_length: int | None = None
    padding: Literal["end", "full"] | None = None
    image_mode: ImageMode | None = None
    template: str = DUAL_ENCODER_TEMPLATE
    revision: str | None = None
    """Commit of the repository on the Hub; `None` is its newest."""
    weights: str | None = None
    """Hash of the weights as the signature shows it; `None` where nobody has recorded it yet."""


# OpenAI's weights, and those tuned from them, were trained with QuickGELU (open_clip issue 771).
_CLIP = Alias("open_clip", "", "cosine", "quickgelu", 77, "end", "shortest")

ALIASES: dict[str, Alias] = {
    "demo": Alias("open_clip", "assets/demo_model", "cosine", "gelu", 12, "end", "longest", weights="cf0f813a6e43"),
    "clip-l14": replace(_CLIP, identifier="ViT-L-14-quickgelu/openai"),
    "clip-b32": replace(_CLIP, identifier="ViT-B-32-quickgelu/openai"),
    # The copy of the ARO authors' NegCLIP that paper 1 loads; fine-tuned from OpenAI's ViT-B-32.
    "negclip-b32": replace(_CLIP, identifier="hf-hub:Nano1337/negclip"),
    # SigLIP reads texts padded to their full length, sees the crop squashed, and scores with a sigmoid.
    "siglip-so400m": Alias("open_clip", "ViT-SO400M-14-SigLIP-384/webli", "sigmoid", "gelu", 64, "full", "squash"),
    # Class 1 of the matching head is "matches", in LAVIS and in transformers alike; LAVIS reads 32 tokens.
    "blip2-itm-g": Alias(
        "transformers", "Salesforce/blip2-itm-vit-g", "itm", "gelu", 32, "end", "squash", template=BLIP_TEMPLATE
    ),
}


def label(model: str) -> str:
    """A model's name as the signature shows it: a local path by its last part, since the weights' hash tells the rest.

    >>> label("open_clip:ViT-B-32@/data/negclip.pt"), label("clip-b32")
    ('open_clip:ViT-B-32@negclip.pt', 'clip-b32')
    """
    arch, mark, file = model.partition("@")
    if mark and "/" in file:
        return f"{arch}@{Path(file).name}"
    library, colon, folder = model.rpartition(":")
    return f"{library}{colon}{Path(folder).resolve().name}" if Path(folder).is_dir() else model
