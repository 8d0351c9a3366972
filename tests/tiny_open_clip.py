"""Tiny seeded random models of open_clip: built, as an encoder, and as a folder."""

import json
from pathlib import Path

import open_clip
import torch
from safetensors.torch import save_file

from sgeval.encoders.open_clip_family import encoder as open_clip_encoder

CLIP = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "patch_size": 16, "width": 32, "layers": 1, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}
SIGLIP = {
    "embed_dim": 16,
    "init_logit_bias": -10,
    "custom_text": True,
    "vision_cfg": {"image_size": 32, "patch_size": 16, "width": 16, "layers": 1, "head_width": 8},
    "text_cfg": {
        "context_length": 8,
        "vocab_size": 64,
        "width": 16,
        "heads": 2,
        "layers": 1,
        "no_causal_mask": True,
        "pool_type": "last",
        "proj_type": "none",
    },
}


def tiny_model(config: dict, seed: int = 0, **more):
    torch.manual_seed(seed)
    kind = open_clip.CustomTextCLIP if config.get("custom_text") else open_clip.CLIP
    return kind(**{key: value for key, value in config.items() if key != "custom_text"}, **more)


def tiny_clip(quick_gelu: bool = False):
    return tiny_model(CLIP, quick_gelu=quick_gelu)


def preprocess_cfg(**more) -> dict:
    return {"size": 32, "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "interpolation": "bicubic", **more}


PREPROCESSING = preprocess_cfg(resize_mode="shortest")


def encoder(config: dict = CLIP, tokenizer=None, quick_gelu: bool = False, rule: str = "cosine", **more):
    return open_clip_encoder(
        tiny_model(config, quick_gelu=quick_gelu),
        tokenizer or open_clip.SimpleTokenizer(),
        PREPROCESSING,
        name="tiny",
        score_rule=rule,
        template="{subject} {predicate} {object}",
        quick_gelu=quick_gelu,
        **more,
    )


def features(tiny, crops):
    return tiny.encode_images([tiny.prepare(crop) for crop in crops])


def siglip_tokens(texts, context_length):
    """One token a word (its length + 2), pad token 0, the end token 1 kept when cut."""
    out = torch.zeros(len(texts), context_length, dtype=torch.long)
    for row, text in enumerate(texts):
        ids = [*(len(word) + 2 for word in text.split()[: context_length - 1]), 1]
        out[row, : len(ids)] = torch.tensor(ids)
    return out


siglip_tokens.context_length = 8


def write_folder(folder: Path, **config) -> Path:
    folder.mkdir()
    whole = {"model_cfg": {**CLIP, **config}, "preprocess_cfg": PREPROCESSING}
    (folder / "open_clip_config.json").write_text(json.dumps(whole))
    save_file(tiny_clip().state_dict(), folder / "open_clip_model.safetensors")
    return folder
