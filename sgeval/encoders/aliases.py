"""The table of model names. An alias is a frozen record of everything about a checkpoint that moves a score."""

from dataclasses import dataclass
from typing import Literal

from sgeval.phrases import DUAL_ENCODER_TEMPLATE

ScoreRule = Literal["cosine", "sigmoid", "itm"]


@dataclass(frozen=True)
class Alias:
    """A named checkpoint of the open_clip family."""

    identifier: str
    """`ARCH/TAG` of open_clip, `hf-hub:ORG/REPO`, or a folder in the package."""
    score_rule: ScoreRule
    quick_gelu: bool | None = None
    """True forces QuickGELU on a config that may lack it; None leaves what the architecture says."""
    template: str = DUAL_ENCODER_TEMPLATE


ALIASES: dict[str, Alias] = {
    "demo": Alias("assets/demo_model", "cosine"),
    # OpenAI's weights were trained with QuickGELU (open_clip issue 771).
    "clip-l14": Alias("ViT-L-14-quickgelu/openai", "cosine", quick_gelu=True),
    "clip-b32": Alias("ViT-B-32-quickgelu/openai", "cosine", quick_gelu=True),
    # The copy of the ARO authors' NegCLIP that paper 1 loads; fine-tuned from OpenAI's ViT-B-32, so QuickGELU.
    "negclip-b32": Alias("hf-hub:Nano1337/negclip", "cosine", quick_gelu=True),
    # SigLIP reads texts padded to their full length and scores with a sigmoid.
    "siglip-so400m": Alias("ViT-SO400M-14-SigLIP-384/webli", "sigmoid"),
}
