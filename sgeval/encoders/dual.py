"""Encoders with two towers: CLIP, NegCLIP, SigLIP. A crop and a text become vectors, and the score is of their cosine."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from sgeval.encoders.aliases import ScoreRule
from sgeval.encoders.device import DTYPES, Precision, memory_guard
from sgeval.encoders.pixels import Pixels
from sgeval.regions import ImageMode

Features = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]

Padding = Literal["end", "full"]
"""`end`: what follows the end token is never read, so it may be left away; `full`: padded to the full length."""


class Towers(Protocol):
    """The two towers of a library's model."""

    def images(self, pixels: torch.Tensor) -> torch.Tensor:
        """`(N, D)` of normalised pixels."""

    def texts(self, texts: Sequence[str]) -> torch.Tensor:
        """`(N, D)` of texts; a text over the limit keeps its end token."""

    def truncated(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts are over the limit."""


@dataclass(frozen=True)
class Facts:
    """What of a loaded model moves a score, beside its pixels."""

    name: str
    weights: str
    score_rule: ScoreRule
    template: str
    activation: str
    text_length: int
    padding: Padding
    device: str = "cpu"
    precision: Precision = "fp32"
    scale: float = 1.0
    bias: float = 0.0
    """Of SigLIP's logit: `scale · cosine + bias`."""
    vocabulary: str = ""
    """Hash of how the tokenizer cuts a text, see `vocabulary_hash`."""

    def signature(self, pixels: Pixels) -> dict[str, object]:
        """The encoder's part of the signature."""
        return {
            "model": self.name,
            "weights": self.weights,
            "act": self.activation,
            "text": f"{self.text_length}tok-{self.padding}-{self.vocabulary}",
            "image": pixels.signature(),
            "score": self.score_rule,
            "precision": self.precision,
            "prep": pixels.path,
        }


class Loaded:
    """A loaded model's facts and preprocessing, which all encoders have alike."""

    def __init__(self, pixels: Pixels, facts: Facts) -> None:
        self.pixels = pixels
        self.facts = facts
        self.name = facts.name
        self.score_rule = facts.score_rule
        self.template = facts.template
        self.image_mode: ImageMode = pixels.mode
        self.image_size = pixels.size
        self.fill = pixels.fill
        self.device = facts.device

    def signature(self) -> dict[str, object]:
        """What of this encoder moves a score."""
        return self.facts.signature(self.pixels)

    def prepare(self, crop: Image.Image) -> torch.Tensor:
        """The part of encoding a crop that any thread may do ahead of time."""
        return self.pixels.prepare(crop)


class DualEncoder(Loaded):
    """Two towers with their preprocessing.

    Features are L2-normalised float32; the norm is taken in float32 whatever the weights are. A feature that is not
    finite stays so and gives a score that is NaN: the caller counts it.
    """

    def __init__(self, towers: Towers, pixels: Pixels, facts: Facts) -> None:
        super().__init__(pixels, facts)
        self.towers = towers

    def encode_images(self, prepared: Sequence[torch.Tensor]) -> Features:
        """`(N, D)` features of prepared crops."""
        with torch.inference_mode(), memory_guard():
            pixels = self.pixels.batch(prepared, self.facts.device, DTYPES[self.facts.precision])
            return normalised(self.towers.images(pixels))

    def encode_texts(self, texts: Sequence[str]) -> Features:
        """`(N, D)` features of texts."""
        with torch.inference_mode(), memory_guard():
            return normalised(self.towers.texts(list(texts)))

    def truncated(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts are longer than the model reads."""
        return self.towers.truncated(list(texts)) if texts else np.zeros(0, dtype=bool)

    def score(self, images: Features, texts: Features) -> Floats:
        """Row by row: the cosine, or SigLIP's `sigmoid(scale · cosine + bias)`."""
        cosine = similarity(images, texts)
        if self.score_rule == "cosine":
            return cosine
        return np.asarray(1.0 / (1.0 + np.exp(-(self.facts.scale * cosine + self.facts.bias))))


def similarity(first: Features, second: Features) -> Floats:
    """Row-wise cosine `(N,)` of normalised features, summed in float64."""
    return np.asarray(np.einsum("nd,nd->n", first, second, dtype=np.float64))


def normalised(features: torch.Tensor) -> Features:
    """Rows of unit length as float32; a row of zeros becomes NaN."""
    features = features.float()
    return np.asarray((features / features.norm(dim=-1, keepdim=True)).cpu().numpy(), dtype=np.float32)


PROBE = "A person's 2 dogs, riding next-to the (red) table; café"


def vocabulary_hash(ids: Sequence[int]) -> str:
    """The first 6 hex digits of a SHA-256 over the token ids of `PROBE`: another tokenizer, another hash."""
    return hashlib.sha256(",".join(map(str, ids)).encode()).hexdigest()[:6]


def weights_hash(model: Any) -> str:
    """The first 12 hex digits of a SHA-256 over the names and values of all weights, as they were stored."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:12]
