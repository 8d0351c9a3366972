"""Tiny seeded random CLIP models of open_clip, built and as a folder."""

import json
from pathlib import Path

import open_clip
import torch
from safetensors.torch import save_file

CLIP = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "patch_size": 16, "width": 32, "layers": 1, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}
PREPROCESSING = {"size": 32, "mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "resize_mode": "shortest"}


def tiny_clip(quick_gelu: bool = False):
    torch.manual_seed(0)
    return open_clip.CLIP(**CLIP, quick_gelu=quick_gelu)


def write_folder(folder: Path, **config) -> Path:
    folder.mkdir()
    whole = {"model_cfg": {**CLIP, **config}, "preprocess_cfg": PREPROCESSING}
    (folder / "open_clip_config.json").write_text(json.dumps(whole))
    save_file(tiny_clip().state_dict(), folder / "open_clip_model.safetensors")
    return folder
