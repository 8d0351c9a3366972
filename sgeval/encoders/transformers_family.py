"""The transformers family: CLIP and SigLIP checkpoints, and BLIP-2's image-text matching.

Weights are read from safetensors only, and code of a repository is never run.
"""

import math
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from sgeval.encoders.aliases import Alias, ScoreRule, label
from sgeval.encoders.device import DTYPES, Precision, one_reason
from sgeval.encoders.dual import PROBE, DualEncoder, Facts, Padding, vocabulary_hash, weights_hash
from sgeval.encoders.itm import ItmEncoder
from sgeval.encoders.open_clip_family import unavailable
from sgeval.encoders.pixels import Pixels, Preprocess
from sgeval.errors import ModelUnavailable, SgevalError, shown
from sgeval.phrases import BLIP_TEMPLATE, DUAL_ENCODER_TEMPLATE
from sgeval.regions import ImageMode


@dataclass(frozen=True)
class Family:
    """How checkpoints of one model type are loaded and scored."""

    model_class: str
    score_rule: ScoreRule
    padding: Padding
    text_config: str
    """Where the config keeps its text part."""


FAMILIES = {
    "clip": Family("CLIPModel", "cosine", "end", "text_config"),
    "siglip": Family("SiglipModel", "sigmoid", "full", "text_config"),
    "blip-2": Family("Blip2ForImageTextRetrieval", "itm", "end", "qformer_config"),
}
UNREAD = {"siglip2": " (NaFlex, which sees pictures of any shape)"}

ACTIVATIONS = {"quick_gelu": "quickgelu", "gelu_pytorch_tanh": "gelu_tanh"}
"""The library's names of activations, where ours differ. The tanh form is an approximation of GELU."""

LAVIS_TOKENS = 32  # `max_txt_len` of LAVIS's BLIP-2
OLD_END = 2  # CLIP configs with this id are wrong about it, and the text tower then pools at the highest id
RESAMPLE: dict[object, Literal["bilinear", "bicubic"]] = {2: "bilinear", 3: "bicubic"}  # Pillow's numbers
NO_CONVERSION = "DISABLE_SAFETENSORS_CONVERSION"


class Tokens:
    """A tokenizer with the limit and the padding of its model. Texts over the limit are cut before their end token."""

    def __init__(self, tokenizer: Any, limit: int, pad_id: int, *, is_full: bool) -> None:
        self.limit = limit
        self.pad_id = pad_id
        self.is_full = is_full
        self.tokenizer = tokenizer
        tokenizer.truncation_side = "right"

    def rows(self, texts: Sequence[str], **more: Any) -> list[list[int]]:
        """The ids of each text, without padding."""
        if not texts:
            return []
        return list(self.tokenizer(list(texts), verbose=False, **more)["input_ids"])

    def ids(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """`(N, L)` with padding behind each text, up to the limit or to the longest text."""
        rows = self.rows(texts, truncation=True, max_length=self.limit)
        length = self.limit if self.is_full else max(map(len, rows), default=0)
        ids = np.full((len(rows), length), self.pad_id, dtype=np.int64)
        for place, row in zip(ids, rows, strict=True):
            place[: len(row)] = row
        return ids

    def truncated(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts are over the limit."""
        return np.array([len(row) > self.limit for row in self.rows(texts)], dtype=bool)


class TransformersTowers:
    """The two towers of a CLIP or SigLIP model."""

    def __init__(self, model: Any, tokens: Tokens, device: str = "cpu") -> None:
        self.model = model
        self.tokens = tokens
        self.device = device

    def images(self, pixels: torch.Tensor) -> torch.Tensor:
        """`(N, D)` of normalised pixels."""
        return _embeddings(self.model.get_image_features(pixel_values=pixels))

    def texts(self, texts: Sequence[str]) -> torch.Tensor:
        """`(N, D)` of texts. There is no mask: CLIP does not look ahead, and SigLIP reads its padding."""
        ids = torch.from_numpy(self.tokens.ids(texts)).to(self.device)
        return _embeddings(self.model.get_text_features(input_ids=ids))

    def truncated(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts are over the limit."""
        return self.tokens.truncated(texts)


def _embeddings(output: Any) -> torch.Tensor:
    """The projected features: the output itself, or (transformers 5) what it calls its pooler's output."""
    return output if isinstance(output, torch.Tensor) else torch.as_tensor(output.pooler_output)


def load(
    name: str, alias: Alias, device: str, precision: Precision, preprocess: Preprocess
) -> DualEncoder | ItmEncoder:
    """Load a checkpoint through transformers. The score rule follows its model type; there is no encoder without
    weights, a tokenizer and the preprocessing it was trained with."""
    source = {"pretrained_model_name_or_path": alias.identifier, "revision": alias.revision}
    library: Any = import_module("transformers")  # by name: type checkers would read the whole library
    with _quiet(alias.identifier):
        with _reading(name, alias, "config"):
            stored, _ = library.PretrainedConfig.get_config_dict(**source)
        family = _family(name, alias, stored.get("model_type"))
        with _reading(name, alias, "tokenizer"):
            tokenizer = library.AutoTokenizer.from_pretrained(**source, trust_remote_code=False)
        with _reading(name, alias, "preprocessing"):
            processor = library.AutoImageProcessor.from_pretrained(**source, trust_remote_code=False).to_dict()
        with _reading(name, alias, "weights"):
            model = _model(name, getattr(library, family.model_class), source)
    config = model.config
    text_config = getattr(config, family.text_config)
    tokens = _tokens(name, alias, family, text_config, tokenizer)
    pixels = _pixels(name, processor, config.vision_config.image_size, preprocess)
    is_sigmoid = family.score_rule == "sigmoid"
    facts = Facts(
        name=label(name),
        weights=weights_hash(model),
        score_rule=family.score_rule,
        template=_template(alias, family),
        activation=_activation(config.vision_config.hidden_act, text_config.hidden_act),
        text_length=tokens.limit,
        vocabulary=vocabulary_hash(tokens.rows([PROBE])[0]),
        padding=family.padding,
        device=device,
        precision=precision,
        scale=1.0 if family.score_rule == "itm" else model.logit_scale.detach().exp().item(),
        bias=model.logit_bias.item() if is_sigmoid else 0.0,
    )
    model = model.eval().to(device=device, dtype=DTYPES[precision])
    if family.score_rule == "itm":
        return ItmEncoder(model, tokens, pixels, facts)
    return DualEncoder(TransformersTowers(model, tokens, device), pixels, facts)


def _family(name: str, alias: Alias, model_type: object) -> Family:
    known = ", ".join(FAMILIES)
    family = FAMILIES.get(model_type) if isinstance(model_type, str) else None
    if family is None:
        more = UNREAD.get(str(model_type), "")
        raise SgevalError(f"model {shown(name)}: expected a model type of {known}, got {shown(model_type)}{more}")
    if alias.score_rule not in (None, family.score_rule):
        raise ModelUnavailable(
            f"model {shown(name)}: expected a model scored by {alias.score_rule}, got {shown(model_type)}, "
            f"scored by {family.score_rule}"
        )
    return family


def _template(alias: Alias, family: Family) -> str:
    is_default = alias.template == DUAL_ENCODER_TEMPLATE
    return BLIP_TEMPLATE if family.score_rule == "itm" and is_default else alias.template


def _activation(*names: str) -> str:
    """The activation of the towers; both where they differ."""
    return "/".join(dict.fromkeys(ACTIVATIONS.get(name, name) for name in names))


def _model(name: str, model_class: Any, source: dict[str, str | None]) -> Any:
    """The model in float32, whatever its config asks for. What the file does not hold would be random: refused."""
    model, info = model_class.from_pretrained(
        **source,
        dtype=torch.float32,
        use_safetensors=True,
        ignore_mismatched_sizes=True,  # the library's own error names no weight; ours does
        output_loading_info=True,
    )
    missing = sorted({*info["missing_keys"], *(key for key, *_ in info["mismatched_keys"])})
    if missing:
        more = f" and {len(missing) - 1} more" if missing[1:] else ""
        raise ModelUnavailable(
            f"model {shown(name)}: expected weights for {model_class.__name__}, got none of the right shape for "
            f"{missing[0]}{more}"
        )
    return model


def _tokens(name: str, alias: Alias, family: Family, config: Any, tokenizer: Any) -> Tokens:
    """The tokenizer as its model reads it. The library makes up an empty one where files are missing: refused, and so
    is one whose cut texts lose the token that the text tower looks for."""
    limit = int(config.max_position_embeddings)
    if family.score_rule == "itm":
        limit = min(limit, alias.text_length or LAVIS_TOKENS)
        end = tokenizer.sep_token_id
    elif family.score_rule == "sigmoid" or config.eos_token_id == OLD_END:
        end = tokenizer.eos_token_id
    else:
        end = config.eos_token_id
    # CLIP pools at the first or the highest end token, so that nothing else is safe behind it.
    pad = end if family.model_class == "CLIPModel" else tokenizer.pad_token_id
    if end is None or pad is None:
        raise ModelUnavailable(f"model {shown(name)}: expected a tokenizer with tokens for end and padding, got none")
    tokens = Tokens(tokenizer, limit, int(pad), is_full=family.model_class != "CLIPModel")
    for row in tokens.rows(["a", "a " * limit], truncation=True, max_length=limit):
        if not set(row) - set(tokenizer.all_special_ids):
            raise ModelUnavailable(f"model {shown(name)}: expected a tokenizer with a vocabulary, got an empty one")
        if row[-1] != end:
            raise ModelUnavailable(
                f"model {shown(name)}: expected a tokenizer that ends texts with token {end}, got {row[-1]}"
            )
    return tokens


def _pixels(name: str, processor: dict[str, Any], image_size: Any, path: Preprocess) -> Pixels:
    """What the preprocessing config says of the pixels; padding takes the mean pixel."""
    size, crop = (dict(processor.get(key) or {}) for key in ("size", "crop_size"))
    side = image_size if isinstance(image_size, int) else image_size[0]
    square = {"height": side, "width": side}
    is_cropped = bool(processor.get("do_center_crop"))
    mode: ImageMode = "shortest" if "shortest_edge" in size else "squash"
    if mode == "shortest":
        is_square = size == {"shortest_edge": side} and is_cropped and crop == square
    else:
        is_square = size == square and (not is_cropped or crop == square)
    interpolation = RESAMPLE.get(processor.get("resample"))
    is_plain = all(processor.get(step) for step in ("do_resize", "do_rescale", "do_normalize"))
    is_scaled = math.isclose(processor.get("rescale_factor") or 0, 1 / 255, rel_tol=1e-6)
    if not (is_square and interpolation and is_plain and is_scaled):
        raise ModelUnavailable(
            f"model {shown(name)}: expected preprocessing that resizes to a square of {side} pixels (bicubic or "
            f"bilinear), rescales by 1/255 and normalises, got {shown(processor, 400)}"
        )
    red, green, blue = processor["image_mean"]
    return Pixels(
        size=side,
        mode=mode,
        mean=(red, green, blue),
        std=tuple(processor["image_std"]),
        interpolation=interpolation,
        fill=(round(255 * red), round(255 * green), round(255 * blue)),
        path=path,
    )


@contextmanager
def _reading(name: str, alias: Alias, part: str) -> Iterator[None]:
    """Turn whatever the library, the Hub client or the network raises into one line on a part of a checkpoint."""
    try:
        yield
    except SgevalError:
        raise
    except Exception as fault:  # each of them raises its own types
        reason = one_reason(fault)
        if part in ("config", "weights") and not Path(alias.identifier).is_dir():
            raise ModelUnavailable(unavailable(name, reason, "a local folder")) from None
        raise ModelUnavailable(f"model {shown(name)}: its {part} could not be loaded ({shown(reason, 200)})") from None


@contextmanager
def _quiet(identifier: str) -> Iterator[None]:
    """Without the library's reports, and without bars where nothing is downloaded. Nor may it have the Hub convert a
    stranger's pickle, which is what it does when asked for safetensors that are not there."""
    logging: Any = import_module("transformers.utils.logging")
    level, bars, conversion = logging.get_verbosity(), logging.is_progress_bar_enabled(), os.environ.get(NO_CONVERSION)
    os.environ[NO_CONVERSION] = "1"
    logging.set_verbosity_error()
    if Path(identifier).is_dir():
        logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
        if conversion is None:
            os.environ.pop(NO_CONVERSION)
        else:
            os.environ[NO_CONVERSION] = conversion
