"""The open_clip family: CLIP, NegCLIP and SigLIP checkpoints, and the demo model."""

import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from sgeval.encoders.aliases import Alias, ScoreRule, label
from sgeval.encoders.device import DTYPES, Precision, one_reason
from sgeval.encoders.dual import PROBE, DualEncoder, Facts, Padding, vocabulary_hash, weights_hash
from sgeval.encoders.pixels import Pixels, Preprocess
from sgeval.errors import ModelUnavailable, SgevalError, shown
from sgeval.regions import ImageMode

PACKAGE = Path(__file__).parent.parent
LOCAL_BPE = "bpe.txt.gz"
QUICK_GELU_NAMES = ("openai", "negclip")


class OpenClipTowers:
    """An open_clip model and its tokenizer."""

    def __init__(self, model: Any, tokenizer: Any, device: str = "cpu") -> None:
        import open_clip

        self.model = model
        self.device = device
        self.text_length = int(getattr(model, "context_length", None) or tokenizer.context_length)
        # A causal tower pooled at the end token never reads what follows it.
        is_causal = isinstance(model, open_clip.CLIP) and model.attn_mask is not None
        self.padding: Padding = "end" if is_causal and model.text_pool_type == "argmax" else "full"
        self._tokenizer = tokenizer

    def images(self, pixels: torch.Tensor) -> torch.Tensor:
        """`(N, D)` of normalised pixels."""
        return torch.as_tensor(self.model.encode_image(pixels))

    def texts(self, texts: Sequence[str]) -> torch.Tensor:
        """`(N, D)` of texts, cut to the longest of them where the tower allows it, else padded to full length."""
        tokens = self._tokenizer(list(texts), context_length=self.text_length).to(self.device)
        if self.padding == "full":
            return torch.as_tensor(self.model.encode_text(tokens))
        return _encode_trimmed(self.model, tokens[:, : int(tokens.argmax(dim=-1).max()) + 1])

    def truncated(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts are longer than the model reads."""
        inner = getattr(self._tokenizer, "tokenizer", None)
        if inner is not None:  # a tokenizer of transformers, where padding may look like the end: count without it
            rows = inner([self._tokenizer.clean_fn(text) for text in texts], truncation=False, verbose=False)[
                "input_ids"
            ]
            return np.array([len(row) > self.text_length for row in rows], dtype=bool)
        tokens = self._tokenizer(list(texts), context_length=self.text_length + 1)
        return np.asarray((tokens[:, -1] != 0).cpu().numpy())  # one token of room more would still be filled


def _encode_trimmed(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    """CLIP's text tower on tokens cut after the last end token of the batch, which changes nothing before it."""
    length = tokens.shape[1]
    dtype = model.transformer.get_cast_dtype()
    states = model.token_embedding(tokens).to(dtype) + model.positional_embedding[:length].to(dtype)
    states = model.ln_final(model.transformer(states, attn_mask=model.attn_mask[:length, :length]))
    pooled = states[torch.arange(len(tokens), device=tokens.device), tokens.argmax(dim=-1)]
    projection = model.text_projection
    if projection is None:
        return torch.as_tensor(pooled)
    return torch.as_tensor(projection(pooled) if isinstance(projection, torch.nn.Linear) else pooled @ projection)


def encoder(
    model: Any,
    tokenizer: Any,
    preprocess_cfg: dict[str, Any],
    *,
    name: str,
    score_rule: ScoreRule,
    template: str,
    quick_gelu: bool,
    device: str = "cpu",
    precision: Precision = "fp32",
    preprocess: Preprocess = "pil",
) -> DualEncoder:
    """An encoder of a built open_clip model."""
    weights = weights_hash(model)
    scale = float(model.logit_scale.detach().exp())
    bias = getattr(model, "logit_bias", None)
    towers = OpenClipTowers(model.eval().to(device=device, dtype=DTYPES[precision]), tokenizer, device)
    facts = Facts(
        name=name,
        weights=weights,
        vocabulary=vocabulary_hash(tokenizer([PROBE], context_length=towers.text_length)[0].tolist()),
        score_rule=score_rule,
        template=template,
        activation="quickgelu" if quick_gelu else "gelu",
        text_length=towers.text_length,
        padding=towers.padding,
        device=device,
        precision=precision,
        scale=scale,
        bias=0.0 if bias is None else float(bias.detach()),
    )
    return DualEncoder(towers, _pixels(preprocess_cfg, preprocess), facts)


def load(name: str, alias: Alias, device: str, precision: Precision, preprocess: Preprocess) -> DualEncoder:
    """Load a checkpoint through open_clip. Without weights there is no encoder: open_clip's own fallback to random
    weights is refused."""
    import open_clip

    identifier, pretrained = _source(name, alias)
    quick_gelu = alias.activation == "quickgelu" or _tag_says_quick_gelu(identifier, pretrained)
    try:
        with _quiet():
            model = open_clip.create_model(
                identifier,
                pretrained=pretrained,
                device="cpu",
                force_quick_gelu=quick_gelu,
                require_pretrained=True,
            )
            tokenizer = _tokenizer(identifier)
    except SgevalError:
        raise
    except Exception as fault:  # the library, the Hub client and the network each raise their own types
        raise ModelUnavailable(_unavailable(name, identifier, pretrained, fault)) from None
    quick_gelu = quick_gelu or bool(_model_config(identifier).get("quick_gelu"))
    _warn_activation(name, pretrained, quick_gelu)
    is_siglip = getattr(model, "logit_bias", None) is not None
    return encoder(
        model,
        tokenizer,
        dict(model.visual.preprocess_cfg),
        name=label(name),
        score_rule=alias.score_rule or ("sigmoid" if is_siglip else "cosine"),
        template=alias.template,
        quick_gelu=quick_gelu,
        device=device,
        precision=precision,
        preprocess=preprocess,
    )


def _pixels(cfg: dict[str, Any], path: Preprocess) -> Pixels:
    """What open_clip's config says of the pixels. Padding takes the model's own colour where it pads itself, else its
    mean pixel."""
    size = cfg["size"]
    mode: ImageMode = cfg.get("resize_mode") or "shortest"
    mean, std = (_three(cfg[key]) for key in ("mean", "std"))
    fill = _three(cfg.get("fill_color") or 0) if mode == "longest" else _three([255 * channel for channel in mean])
    return Pixels(
        size=int(size if isinstance(size, int) else size[0]),
        mode=mode,
        mean=mean,
        std=std,
        interpolation=cfg.get("interpolation") or "bicubic",
        fill=(round(fill[0]), round(fill[1]), round(fill[2])),
        path=path,
    )


def _three(value: Any) -> tuple[float, float, float]:
    values = value if isinstance(value, (list, tuple)) else (value,) * 3
    return (float(values[0]), float(values[1]), float(values[2]))


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


def _tag_says_quick_gelu(identifier: str, pretrained: str | None) -> bool:
    """Whether open_clip lists the tag as trained with QuickGELU, whatever the architecture's name says."""
    import open_clip

    known = open_clip.get_pretrained_cfg(identifier, pretrained) if pretrained else None
    return bool(known and known.get("quick_gelu"))


def _warn_activation(name: str, pretrained: str | None, quick_gelu: bool) -> None:
    """Warn of weights whose training activation nobody states: a bare file, or a name that is known for QuickGELU."""
    is_file = bool(pretrained) and Path(str(pretrained)).is_file()
    is_known = any(word in name.lower() for word in QUICK_GELU_NAMES)
    if (is_file or is_known) and not quick_gelu:
        warnings.warn(
            f"model {shown(name)}: the weights are run with GELU; CLIP weights of OpenAI and NegCLIP were trained with "
            "QuickGELU (name the architecture ARCH-quickgelu for a file of them)",
            stacklevel=3,
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the libraries' log lines and warnings: what went wrong is said once, by us."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _unavailable(name: str, identifier: str, pretrained: str | None, fault: Exception) -> str:
    import open_clip

    reason = one_reason(fault)
    if identifier.startswith("local-dir:"):
        return f"model {shown(name)}: the folder could not be loaded ({shown(reason, 200)})"
    if not identifier.startswith("hf-hub:") and identifier not in open_clip.list_models():
        near = get_close_matches(identifier, open_clip.list_models(), n=1)
        return f"model {shown(name)}: open_clip knows no architecture {shown(identifier)}" + (
            f"; did you mean {shown(near[0])}?" if near else ""
        )
    if pretrained and Path(pretrained).is_file():
        return f"model {shown(name)}: the file could not be loaded ({shown(reason, 200)})"
    return unavailable(name, reason, "a local file (open_clip:ARCH@FILE), a local folder")


def unavailable(name: str, reason: str, instead: str) -> str:
    """What to do about weights that cannot be had."""
    return (
        f"model {shown(name)}: its weights are not on this machine and could not be downloaded ({shown(reason, 160)}); "
        f"connect to the Hub once, or name {instead}, or the model demo"
    )
