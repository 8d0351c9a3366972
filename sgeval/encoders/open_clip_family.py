"""The open_clip family: CLIP, NegCLIP and SigLIP checkpoints, and the demo model."""

import hashlib
import json
import logging
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from sgeval.encoders.aliases import Alias, ScoreRule
from sgeval.errors import ModelUnavailable, SgevalError, shown
from sgeval.regions import ImageMode

Features = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]

PACKAGE = Path(__file__).parent.parent
LOCAL_BPE = "bpe.txt.gz"


class OpenClipEncoder:
    """An open_clip model with its own preprocessing and tokenizer.

    Features are L2-normalised float32; the norm is taken in float32 whatever the weights are. A feature that is not
    finite stays so and gives a score that is NaN: the caller counts it.
    """

    def __init__(
        self,
        model: Any,
        preprocess: Callable[[Image.Image], Any],
        tokenizer: Any,
        *,
        name: str,
        score_rule: ScoreRule,
        template: str,
        preprocess_cfg: dict[str, Any],
        quick_gelu: bool,
        device: str = "cpu",
    ) -> None:
        self.name = name
        self.score_rule = score_rule
        self.template = template
        self.weights = weights_hash(model)
        self.text_length = int(getattr(model, "context_length", None) or tokenizer.context_length)
        size = preprocess_cfg["size"]
        self.image_size = int(size if isinstance(size, int) else size[0])
        self.image_mode: ImageMode = preprocess_cfg.get("resize_mode") or "shortest"
        self.fill = _fill(preprocess_cfg)
        self.device = device
        self._activation = "quickgelu" if quick_gelu else "gelu"
        self._interpolation = preprocess_cfg.get("interpolation") or "bicubic"
        self._model = model.eval().to(device)
        self._preprocess = preprocess
        self._tokenizer = tokenizer

    def signature(self) -> dict[str, object]:
        """What of this encoder moves a score."""
        return {
            "model": self.name,
            "weights": self.weights,
            "act": self._activation,
            "text": f"{self.text_length}tok",
            "image": f"{self.image_size}px-{self.image_mode}-{self._interpolation}",
            "score": self.score_rule,
            "precision": "fp32",
        }

    def encode_images(self, crops: Sequence[Image.Image]) -> Features:
        """`(N, D)` features of RGB crops."""
        pixels = torch.stack([self._preprocess(crop) for crop in crops]).to(self.device)
        with torch.inference_mode():
            return _normalised(self._model.encode_image(pixels))

    def encode_texts(self, texts: Sequence[str]) -> Features:
        """`(N, D)` features of texts, padded to the model's full length; a text over the limit keeps its end token."""
        tokens = self._tokenizer(list(texts), context_length=self.text_length).to(self.device)
        with torch.inference_mode():
            return _normalised(self._model.encode_text(tokens))

    def truncated(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts are longer than the model reads: one token of room more would still be filled."""
        if not texts:
            return np.zeros(0, dtype=bool)
        tokens = self._tokenizer(list(texts), context_length=self.text_length + 1)
        return np.asarray((tokens[:, -1] != self._pad_id()).cpu().numpy())

    def score(self, images: Features, texts: Features) -> Floats:
        """Row by row: the cosine, or SigLIP's `sigmoid(exp(scale) · cosine + bias)`."""
        cosine = similarity(images, texts)
        if self.score_rule == "cosine":
            return cosine
        with torch.inference_mode():
            scale = float(self._model.logit_scale.exp())
            bias = float(self._model.logit_bias) if self._model.logit_bias is not None else 0.0
        return np.asarray(1.0 / (1.0 + np.exp(-(scale * cosine + bias))))

    def _pad_id(self) -> int:
        inner = getattr(self._tokenizer, "tokenizer", None)
        return int(getattr(inner, "pad_token_id", None) or 0)


def similarity(first: Features, second: Features) -> Floats:
    """Row-wise cosine `(N,)` of normalised features, summed in float64."""
    return np.asarray(np.einsum("nd,nd->n", first, second, dtype=np.float64))


def weights_hash(model: Any) -> str:
    """The first 12 hex digits of a SHA-256 over the names and values of all weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:12]


def _normalised(features: torch.Tensor) -> Features:
    features = features.float()
    return np.asarray((features / features.norm(dim=-1, keepdim=True)).cpu().numpy(), dtype=np.float32)


def _fill(preprocess_cfg: dict[str, Any]) -> tuple[int, int, int]:
    """The colour to pad with: the model's own where it pads itself, else its mean pixel."""
    if preprocess_cfg.get("resize_mode") == "longest":
        colour = preprocess_cfg.get("fill_color") or 0
        values = colour if isinstance(colour, (list, tuple)) else (colour,) * 3
    else:
        values = [round(255 * channel) for channel in preprocess_cfg["mean"]]
    return (int(values[0]), int(values[1]), int(values[2]))


def load(name: str, alias: Alias, device: str) -> OpenClipEncoder:
    """Load a checkpoint through open_clip. Without weights there is no encoder: open_clip's own fallback to random
    weights is refused."""
    import open_clip

    identifier, pretrained = _source(name, alias)
    logging.getLogger("root").setLevel(max(logging.getLogger().level, logging.WARNING))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, _, preprocess = open_clip.create_model_and_transforms(
                identifier,
                pretrained=pretrained,
                device=device,
                force_quick_gelu=bool(alias.quick_gelu),
                require_pretrained=True,
            )
        tokenizer = _tokenizer(identifier)
    except SgevalError:
        raise
    except Exception as fault:  # the library, the Hub client and the network each raise their own types
        raise ModelUnavailable(_unavailable(name, identifier, fault)) from None
    config = _model_config(identifier)
    quick_gelu = bool(alias.quick_gelu) or bool(config.get("quick_gelu"))
    _warn_activation(name, pretrained, quick_gelu)
    return OpenClipEncoder(
        model,
        preprocess,
        tokenizer,
        name=name,
        score_rule=alias.score_rule,
        template=alias.template,
        preprocess_cfg=dict(model.visual.preprocess_cfg),
        quick_gelu=quick_gelu,
        device=device,
    )


def _source(name: str, alias: Alias) -> tuple[str, str | None]:
    """open_clip's model name and its `pretrained` argument."""
    identifier = alias.identifier
    if identifier.startswith("hf-hub:"):
        return identifier, None
    folder = PACKAGE / identifier if identifier.startswith("assets/") else Path(identifier)
    if folder.is_dir():
        if not (folder / "open_clip_config.json").is_file():
            raise SgevalError(f"model {shown(name)}: expected open_clip_config.json in the folder, found none")
        return f"local-dir:{folder.resolve()}", None
    for mark in ("@", "/"):
        if mark in identifier:
            arch, weights = identifier.split(mark, 1)
            if mark == "@" and not Path(weights).is_file():
                raise ModelUnavailable(f"model {shown(name)}: no such file: {weights}")
            return arch, weights
    raise SgevalError(f"model {shown(name)}: expected open_clip:ARCH/TAG or open_clip:ARCH@FILE, got no weights")


def _tokenizer(identifier: str) -> Any:
    import open_clip

    if identifier.startswith("local-dir:"):
        bpe = Path(identifier.removeprefix("local-dir:")) / LOCAL_BPE
        if bpe.is_file():  # a vocabulary of its own; open_clip would look for the path from the working folder
            return open_clip.get_tokenizer(identifier, bpe_path=str(bpe))
    return open_clip.get_tokenizer(identifier)


def _model_config(identifier: str) -> dict[str, Any]:
    import open_clip

    if identifier.startswith("local-dir:"):
        text = (Path(identifier.removeprefix("local-dir:")) / "open_clip_config.json").read_text(encoding="utf-8")
        return dict(json.loads(text)["model_cfg"])
    if identifier.startswith("hf-hub:"):
        from open_clip.factory import _get_hf_config

        return dict(_get_hf_config(identifier.removeprefix("hf-hub:"))["model_cfg"])
    return dict(open_clip.get_model_config(identifier) or {})


def _warn_activation(name: str, pretrained: str | None, quick_gelu: bool) -> None:
    if pretrained and Path(pretrained).is_file() and not quick_gelu:
        warnings.warn(
            f"model {shown(name)}: the file is run with GELU; CLIP weights of OpenAI and NegCLIP were trained with "
            "QuickGELU (name the architecture ARCH-quickgelu for them)",
            stacklevel=3,
        )


def _unavailable(name: str, identifier: str, fault: Exception) -> str:
    reason = (str(fault).strip() or type(fault).__name__).splitlines()[0]
    if identifier.startswith("local-dir:"):
        return f"model {shown(name)}: the folder could not be loaded ({shown(reason, 200)})"
    return (
        f"model {shown(name)}: its weights are not on this machine and could not be downloaded ({shown(reason, 160)}); "
        "connect to the Hub once, or name a local file (open_clip:ARCH@FILE), a local folder, or the model demo"
    )
