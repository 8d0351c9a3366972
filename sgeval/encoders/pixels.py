"""From a crop to what an image tower reads: the library's own PIL path, or a faster one on uint8 tensors."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import torch
from PIL import Image

from sgeval.regions import ImageMode

Preprocess = Literal["pil", "tensor"]


@dataclass(frozen=True)
class Pixels:
    """How an encoder reads crops.

    `pil` is the exact path: open_clip's transform, resized by Pillow. `tensor` resizes uint8 tensors, antialiased: several
    times faster on a core, and not the same to the last digit. Both leave uint8; a batch is normalised at once on the
    device, which gives the same floats as doing it crop by crop.
    """

    size: int
    mode: ImageMode
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: Literal["bicubic", "bilinear"] = "bicubic"
    fill: tuple[int, int, int] = (0, 0, 0)
    path: Preprocess = "pil"

    def prepare(self, crop: Image.Image) -> torch.Tensor:
        """One RGB crop as `(3, size, size)` uint8."""
        if self.path == "tensor":
            return _tensor_path(crop, self)
        from torchvision.transforms.v2 import functional as transforms

        return torch.as_tensor(transforms.pil_to_tensor(_exact_path(self)(crop)))

    def batch(self, prepared: Sequence[torch.Tensor], device: str, dtype: torch.dtype) -> torch.Tensor:
        """`(N, 3, size, size)` on the device, normalised; on a GPU through pinned memory."""
        pixels = torch.stack(list(prepared))
        if device.startswith("cuda"):
            pixels = pixels.pin_memory()
        pixels = pixels.to(device, non_blocking=True)
        mean, std = (torch.tensor(value, device=device).view(3, 1, 1) for value in (self.mean, self.std))
        return pixels.float().div_(255).sub_(mean).div_(std).to(dtype)

    def signature(self) -> str:
        """Size, mode, interpolation, and a hash of the colours; the path stands apart."""
        colours = hashlib.sha256(repr((self.mean, self.std, self.fill)).encode()).hexdigest()[:6]
        return f"{self.size}px-{self.mode}-{self.interpolation}-{colours}"


@lru_cache(maxsize=8)
def _exact_path(pixels: Pixels) -> Any:
    """open_clip's transform up to where the picture becomes a tensor."""
    import open_clip

    transform = open_clip.image_transform(
        pixels.size,
        is_train=False,
        mean=pixels.mean,
        std=pixels.std,
        resize_mode=pixels.mode,
        interpolation=pixels.interpolation,
        fill_color=pixels.fill,
    )
    *steps, _to_tensor, _normalise = transform.transforms
    return type(transform)(steps)


def _tensor_path(crop: Image.Image, pixels: Pixels) -> torch.Tensor:
    from torchvision.transforms.v2 import InterpolationMode
    from torchvision.transforms.v2 import functional as transforms

    side = pixels.size
    kind = InterpolationMode.BICUBIC if pixels.interpolation == "bicubic" else InterpolationMode.BILINEAR
    image = transforms.pil_to_tensor(crop)
    if pixels.mode == "shortest":
        image = transforms.center_crop(transforms.resize(image, [side], kind, antialias=True), [side, side])
    elif pixels.mode == "squash":
        image = transforms.resize(image, [side, side], kind, antialias=True)
    else:
        shape = [max(1, round(length * side / max(crop.size))) for length in (crop.height, crop.width)]
        left, top = (side - shape[1]) // 2, (side - shape[0]) // 2
        margins = [left, top, side - shape[1] - left, side - shape[0] - top]
        image = transforms.pad(transforms.resize(image, shape, kind, antialias=True), margins, fill=list(pixels.fill))
    return torch.as_tensor(image)
