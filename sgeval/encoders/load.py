"""From a model name to an encoder."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sgeval.encoders.aliases import ALIASES, Alias
from sgeval.errors import ModelUnavailable, SgevalError, one_of, shown

if TYPE_CHECKING:
    from sgeval.encoders.open_clip_family import OpenClipEncoder

FORMS = "open_clip:ARCH/TAG, open_clip:ARCH@FILE, hf-hub:ORG/REPO or a folder with open_clip_config.json"
HUB_FAMILIES = ("transformers:",)


def load_encoder(model: str, device: str = "auto") -> "OpenClipEncoder":
    """The encoder of a model name.

    `model`: an alias (`demo`, `clip-l14`, `clip-b32`, `negclip-b32`, `siglip-so400m`), `open_clip:ARCH/TAG`,
    `open_clip:ARCH@FILE`, `hf-hub:ORG/REPO`, or a local folder in open_clip's form. `device`: `auto` (a GPU when there
    is one), `cpu`, `cuda`, `cuda:1`, …

    Raises `SgevalError` for a name of no known form and `ModelUnavailable` when the weights cannot be had;
    `HF_HUB_OFFLINE=1` keeps it to what is on disk.
    """
    return _load(model, resolve_device(device))


@lru_cache(maxsize=1)  # scoring one checkpoint after another with one model loads the model once
def _load(model: str, device: str) -> "OpenClipEncoder":
    alias = ALIASES.get(model) or _unnamed(model)
    from sgeval.encoders import open_clip_family

    return open_clip_family.load(model, alias, device)


def resolve_device(device: str) -> str:
    """The device by name; `auto` is the first GPU when there is one, else the CPU."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as fault:
        raise SgevalError(f"device: {shown(device)} cannot be used here ({str(fault).splitlines()[0]})") from None
    return device


def _unnamed(model: str) -> Alias:
    """An alias for a checkpoint without a row in the table: SigLIP by its name, everything else a cosine."""
    if model.startswith(HUB_FAMILIES):
        raise ModelUnavailable(
            f"model {shown(model)}: transformers models cannot be loaded by this version; use {FORMS}"
        )
    is_folder = Path(model).is_dir()
    is_named = model.startswith(("open_clip:", "hf-hub:"))
    if not is_folder and not is_named:
        one_of("model", model, ALIASES, more=f", {FORMS}")
    identifier = model.removeprefix("open_clip:")
    return Alias(identifier, "sigmoid") if "siglip" in model.lower() else Alias(identifier, "cosine")
