"""From a model name to an encoder."""

import warnings
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sgeval.encoders.aliases import ALIASES, Alias
from sgeval.errors import ModelUnavailable, SgevalError, one_of, shown

if TYPE_CHECKING:
    from sgeval.encoders.device import Precision
    from sgeval.encoders.dual import DualEncoder
    from sgeval.encoders.itm import ItmEncoder
    from sgeval.encoders.pixels import Preprocess

PRECISIONS = ("fp32", "bf16")
PREPROCESSES = ("pil", "tensor")
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")
FORMS = "open_clip:ARCH/TAG, open_clip:ARCH@FILE, hf-hub:ORG/REPO, transformers:ORG/REPO or a folder with their config"


def load_encoder(
    model: str, device: str = "auto", *, precision: str = "fp32", preprocess: str = "pil"
) -> "DualEncoder | ItmEncoder":
    """The encoder of a model name.

    `model`: an alias (`demo`, `clip-l14`, `clip-b32`, `negclip-b32`, `siglip-so400m`, `blip2-itm-g`),
    `open_clip:ARCH/TAG`, `open_clip:ARCH@FILE`, `hf-hub:ORG/REPO` (open_clip's form), `transformers:ORG/REPO` (CLIP,
    SigLIP or BLIP-2 ITM), or a local folder of either library. `device`: `auto` (a GPU when there is one), `cpu`,
    `cuda`, `cuda:1`, …

    `precision="bf16"` holds the weights in bfloat16: about twice as fast where the hardware has it. `preprocess="tensor"`
    resizes uint8 tensors in place of Pillow's pictures. Both move scores a little and stand in the signature.

    Raises `SgevalError` for a name of no known form and for a precision without hardware, and `ModelUnavailable` when
    the weights cannot be had; `HF_HUB_OFFLINE=1` keeps it to what is on disk.
    """
    alias, device = check_setup(model, device, precision, preprocess)
    return _load(model, alias, device, precision, preprocess, _stamp(alias))


def check_setup(model: str, device: str, precision: str, preprocess: str) -> tuple[Alias, str]:
    """The alias of a name and the device it will run on. Raises `SgevalError` for what is unknown or cannot run here;
    no weights are loaded."""
    one_of("precision", precision, PRECISIONS)
    one_of("preprocess", preprocess, PREPROCESSES)
    alias = alias_of(model)
    from sgeval.encoders.device import check_precision, resolve_device

    device = resolve_device(device)
    check_precision(precision, device)
    return alias, device


def alias_of(model: str) -> Alias:
    """The record of a model's name. Raises `SgevalError` for a name that is in no table and of no known form."""
    return ALIASES.get(model) or _unnamed(model)


def _stamp(alias: Alias) -> object:
    """Changes when a local checkpoint does."""
    path = Path(alias.identifier.partition("@")[2] or alias.identifier)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in files if file.is_file())


@lru_cache(maxsize=1)  # scoring one checkpoint after another with one model loads the model once
def _load(
    model: str, alias: Alias, device: str, precision: "Precision", preprocess: "Preprocess", stamp: object
) -> "DualEncoder | ItmEncoder":
    from sgeval.encoders.selftest import check_on_load

    if alias.library == "transformers":
        from sgeval.encoders import transformers_family

        encoder = transformers_family.load(model, alias, device, precision, preprocess)
    else:
        from sgeval.encoders import open_clip_family

        encoder = open_clip_family.load(model, alias, device, precision, preprocess)
    _check_alias(model, alias, encoder)
    check_on_load(model, encoder)
    return encoder


def _check_alias(model: str, alias: Alias, encoder: "DualEncoder | ItmEncoder") -> None:
    """Refuse a checkpoint that is not what its alias states; other weights than recorded are warned of."""
    facts = encoder.facts
    for name, expected, found in (
        ("activation", alias.activation, facts.activation),
        ("text length", alias.text_length, facts.text_length),
        ("padding", alias.padding, facts.padding),
        ("image mode", alias.image_mode, encoder.image_mode),
    ):
        if expected is not None and expected != found:
            raise ModelUnavailable(f"model {shown(model)}: expected {name} {expected}, got {found} from the checkpoint")
    if alias.weights and alias.weights != facts.weights:
        warnings.warn(
            f"model {shown(model)}: expected weights {alias.weights}, got {facts.weights}; scores may differ from "
            "those published under this name",
            stacklevel=4,
        )


def _unnamed(model: str) -> Alias:
    """An alias for a checkpoint without a row in the table; its score rule follows from the model."""
    if model.startswith("transformers:"):
        identifier, _, revision = model.removeprefix("transformers:").partition("@")
        _check_repository(model, "transformers", identifier)
        return Alias("transformers", identifier, None, revision=revision or None)
    identifier = model.removeprefix("open_clip:")
    if identifier.startswith("hf-hub:"):
        _check_repository(model, "hf-hub", identifier.removeprefix("hf-hub:"))
    elif not identifier or (identifier == model and not Path(model).is_dir()):  # Path("") is the current folder
        if Path(model).is_file() or model.endswith(WEIGHTS):
            raise SgevalError(
                "model: a file of weights needs an architecture, expected open_clip:ARCH@FILE or the folder with its "
                f"config, got {shown(model)}"
            )
        one_of("model", model, ALIASES, more=f", {FORMS}")
    elif (Path(model) / "config.json").is_file() and not (Path(model) / "open_clip_config.json").is_file():
        return Alias("transformers", model, None)
    return Alias("open_clip", identifier, None)


def _check_repository(model: str, form: str, identifier: str) -> None:
    """Refuse what is neither a folder nor a repository's name."""
    organisation, _, repository = identifier.partition("/")
    is_folder = form == "transformers" and identifier and Path(identifier).is_dir()
    if not ((organisation and repository) or is_folder):
        raise SgevalError(f"model: expected {form}:ORG/REPO, got {shown(model)}")
