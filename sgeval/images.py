"""One way to a picture for every road: file, bytes, PIL image or array, always the same RGB pixels and the same side up.

Written rules. Alpha goes over white; 16-bit grey is scaled to 8 bit; palette, grey and CMYK are converted; of an
animation the first frame counts. The annotated width and height decide whether EXIF orientation is applied; where they
are unknown or fit both ways, it is. A picture that fits neither way is an error that shows both sizes.
"""

import io
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from sgeval.errors import BadImage, SgevalError, one_line, shown
from sgeval.records import SceneGraph

FORMATS = ("JPEG", "PNG", "WEBP", "BMP")
MAX_PIXELS = 89_478_485  # Pillow's own limit for a warning; above it a file is taken for a bomb
ENDINGS = (".jpg", ".jpeg", ".png", ".webp")
ORIENTATION = 0x0112  # the EXIF tag
SIXTEEN_BIT = ("I;16", "I;16B", "I;16L", "I;16N", "I")

Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ImageFolder(os.PathLike[str]):
    """A folder of pictures, and the patterns of where they may lie below it, tried in this order (see `filled`)."""

    path: Path
    patterns: tuple[str, ...]

    def __fspath__(self) -> str:
        return str(self.path)


def filled(pattern: str, file_name: str) -> str:
    """The path that a pattern gives for a name: `{file_name}` is the name as a record gives it, `{name}` its last part.
    Braces count at the pattern's end alone: a folder may have some in its name.

    >>> filled("images/{name}", "train/1.jpg"), filled("{a}/{file_name}", "train/{name}.jpg")
    ('images/1.jpg', '{a}/train/{name}.jpg')
    """
    if pattern.endswith("{file_name}"):
        return pattern.removesuffix("{file_name}") + file_name
    return pattern.removesuffix("{name}") + PurePosixPath(file_name).name


def load_image(source: Any, expected: Size | None = None) -> Image.Image:
    """The picture as RGB, upright as the annotation means it.

    `source`: a path, encoded bytes, `{"path": …, "bytes": …}` (a row of `datasets`), a PIL image, or an array of uint8
    or uint16 `(H, W)`, `(H, W, 3)`, `(H, W, 4)`. `expected`: the annotated (width, height).

    Raises `BadImage` when it cannot be read whole, is too large, or has another size than annotated.
    """
    image = _opened(source)
    turned = _is_turned(image, source, expected)
    try:
        image.load()
        return _rgb(ImageOps.exif_transpose(image) if turned else image, source)
    except BadImage:
        raise
    except Exception as fault:  # decoders raise many types on a stranger's bytes
        raise BadImage(f"{_name(source)}: the picture is broken ({shown(str(fault))})") from None


def load_values(source: Any, expected: Size | None = None) -> Any:
    """The values of a picture with one channel as they stand, palette indices or grey, an int32 array of (height, width).

    Nothing is turned: `expected` is (width, height) as stored. Raises `BadImage` as `load_image`, and for several channels.
    """
    image = _opened(source)
    if image.mode not in ("P", "L", "1", *SIXTEEN_BIT):
        raise BadImage(f"{_name(source)}: expected one value a pixel, as palette index or grey, got {image.mode}")
    if expected is not None and image.size != expected:
        raise BadImage(
            f"{_name(source)}: expected the annotated {expected[0]} x {expected[1]}, got {image.size[0]} x {image.size[1]}"
        )
    try:
        return np.asarray(image).astype(np.int32)
    except Exception as fault:  # decoders raise many types on a stranger's bytes
        raise BadImage(f"{_name(source)}: the picture is broken ({shown(str(fault))})") from None


def image_size(source: Any, expected: Size | None = None) -> Size:
    """(width, height) as `load_image` would give it, from the header alone where there is one."""
    image = _opened(source)
    try:
        if image.size == expected:
            return expected  # turned or not; Pillow decodes a whole PNG to look for the tag
        width, height = image.size
        return (height, width) if _is_turned(image, source, expected) and _swaps_sides(image) else (width, height)
    finally:
        if image is not source:
            image.close()


def unsound(path: Path) -> tuple[str, str] | None:
    """Why a file is no picture, as its header tells: "empty" or "broken", and the same in words. One whose header is sound
    may still be cut short."""
    try:
        image_size(path)
    except BadImage as fault:
        return "broken" if _has_bytes(path) else "empty", str(fault)
    return None


def turned_back(path: Path, expected: Size) -> bytes | None:
    """The bytes of a picture without its EXIF orientation, where the annotated size is that of the pixels as stored; none
    where every program that heeds the tag shows the annotated size.

    Only the tag is changed; where that is not in the usual place, the same pixels come as a PNG. Raises `BadImage` as
    `load_image`, from the header alone.
    """
    image = _opened(path)
    with image:
        if _is_turned(image, path, expected):
            return None
    data = _with_plain_tag(path.read_bytes())
    if data is not None:
        with _opened(data) as image:
            if _orientation(image) == 1:
                return data
    out = io.BytesIO()
    load_image(path, expected).save(out, "PNG")
    return out.getvalue()


def _with_plain_tag(data: bytes) -> bytes | None:
    """A JPEG whose orientation tag says "as stored"; nothing where no such tag is in its first EXIF segment."""
    try:
        at = 2  # behind the mark of the file: segments of a mark, a length and so many bytes
        while data[at : at + 2] != b"\xff\xe1" or data[at + 4 : at + 10] != b"Exif\0\0":
            if data[at] != 0xFF or data[at + 1] == 0xDA:
                return None
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
        start = at + 10
        order = {b"II": "<", b"MM": ">"}[data[start : start + 2]]
        table = start + struct.unpack_from(order + "I", data, start + 4)[0]
        for entry in range(struct.unpack_from(order + "H", data, table)[0]):
            place = table + 2 + 12 * entry
            if struct.unpack_from(order + "H", data, place)[0] == ORIENTATION:
                return data[: place + 8] + struct.pack(order + "H", 1) + data[place + 10 :]
    except (IndexError, KeyError, struct.error):
        pass
    return None


def _opened(source: Any) -> Image.Image:
    if isinstance(source, Image.Image):
        return source
    if isinstance(source, Mapping):
        source = source.get("bytes") or source.get("path")
    if isinstance(source, np.ndarray):
        return _from_array(source)
    if not isinstance(source, (str, Path, bytes)):
        raise BadImage(f"expected a path, encoded bytes, a PIL image or an array, got {type(source).__name__}")
    try:
        file = io.BytesIO(source) if isinstance(source, bytes) else source
        image = Image.open(file, formats=FORMATS)
    except FileNotFoundError:
        raise BadImage(f"{_name(source)}: no such file") from None
    except UnidentifiedImageError:
        got = "something else" if _has_bytes(source) else "an empty file"
        raise BadImage(f"{_name(source)}: expected a picture ({', '.join(FORMATS)}), got {got}") from None
    except Exception as fault:  # decoders raise many types on a stranger's bytes
        raise BadImage(f"{_name(source)}: the picture cannot be opened ({shown(str(fault))})") from None
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise BadImage(f"{_name(source)}: expected at most {MAX_PIXELS:,} pixels, got {width} x {height}")
    return image


def _has_bytes(source: str | Path | bytes) -> bool:
    try:
        return bool(source if isinstance(source, bytes) else Path(source).stat().st_size)
    except OSError:
        return True


def _name(source: Any) -> str:
    return one_line(str(source)) if isinstance(source, (str, Path)) else f"picture given as {type(source).__name__}"


def _from_array(array: Any) -> Image.Image:
    shape_fits = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 3, 4))
    if not shape_fits or array.dtype not in (np.uint8, np.uint16) or 0 in array.shape:
        raise BadImage(
            f"array: expected uint8 or uint16 of shape (H, W), (H, W, 3) or (H, W, 4), got {array.dtype} {array.shape}"
        )
    if array.dtype == np.uint16:
        array = _to_eight_bit(array)
    return Image.fromarray(array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array)


def _to_eight_bit(array: Any) -> Any:
    """16-bit values as 8-bit ones; refused where they are 8-bit values in a wider type, which would come out black."""
    if 0 < array.max() <= 255:
        raise BadImage(f"expected 16-bit values up to 65,535, got none above {array.max()}; give 8-bit values as uint8")
    return np.round(np.clip(np.asarray(array, dtype=np.float64), 0, 65535) / 257).astype(np.uint8)


def _rgb(image: Image.Image, source: Any) -> Image.Image:
    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    if image.mode in SIXTEEN_BIT:
        return Image.fromarray(_to_eight_bit(np.asarray(image))).convert("RGB")
    if image.mode == "F":
        raise BadImage(f"{_name(source)}: expected 8 or 16 bit a channel, got floating point")
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        over = image.convert("RGBA")
        white = Image.new("RGBA", over.size, (255, 255, 255, 255))
        return Image.alpha_composite(white, over).convert("RGB")
    return image.convert("RGB")


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ORIENTATION, 1) or 1)
    except (TypeError, ValueError, SyntaxError, OSError):
        return 1


def _swaps_sides(image: Image.Image) -> bool:
    return _orientation(image) in (5, 6, 7, 8)


def _is_turned(image: Image.Image, source: Any, expected: Size | None) -> bool:
    """Whether EXIF orientation is to be applied, by the annotated size."""
    stored = image.size
    upright = (stored[1], stored[0]) if _swaps_sides(image) else stored
    if expected is None or expected == upright:
        return True
    if expected == stored:
        return False
    either = f"{stored[0]} x {stored[1]}"
    if upright != stored:
        either += f" (turned by its EXIF tag: {upright[0]} x {upright[1]})"
    raise BadImage(f"{_name(source)}: expected the annotated {expected[0]} x {expected[1]}, got {either}")


def image_sources(images: Any, graphs: Sequence[tuple[SceneGraph | None, SceneGraph | None]]) -> list[Any]:
    """What `load_image` is to read for each (prediction, reference) pair.

    `images`: a mapping from `image_id`, or a folder: there `file_name` of the reference, else of the prediction,
    relative and inside the folder, else `<image_id>.jpg`, `.jpeg`, `.png` or `.webp`; of an `ImageFolder` these below its
    patterns. A picture that is not there comes out as a `BadImage` in its place, for the caller to raise or to count.
    """
    keys = [(reference or prediction).key for prediction, reference in graphs]  # type: ignore[union-attr]
    if isinstance(images, Mapping):
        return [_under_key(images, key) for key in keys]
    if isinstance(images, (str, os.PathLike)):
        folder = Path(images)
        if not folder.is_dir():
            raise SgevalError(f"images: expected a folder, got {shown(str(folder))}")
        patterns = images.patterns if isinstance(images, ImageFolder) else ("{file_name}",)
        return [_in_folder(folder.resolve(), patterns, *pair) for pair in graphs]
    raise SgevalError(f"images: expected a folder, a mapping from image_id, or a list, got {type(images).__name__}")


def _under_key(images: Mapping[Any, Any], key: str) -> Any:
    """The picture of an id; a mapping from whole numbers is understood too."""
    for name in (key, int(key)) if key.isascii() and key.isdigit() else (key,):
        if name in images:
            return images[name]
    return BadImage(f"images: expected a picture under {shown(key)}, got nothing")


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except (OSError, ValueError):
        return False


def _in_folder(
    folder: Path, patterns: Sequence[str], prediction: SceneGraph | None, reference: SceneGraph | None
) -> Path | BadImage:
    graph = reference or prediction
    assert graph is not None
    name = (reference and reference.file_name) or (prediction and prediction.file_name)
    names = [name] if name else [graph.image_id + ending for ending in ENDINGS]
    tried = list(dict.fromkeys(filled(pattern, each) for pattern in patterns for each in names))
    for candidate in tried:
        try:
            path = (folder / candidate).resolve()
            if path.is_relative_to(folder) and path.is_file():
                return path
        except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
            continue
    links = [candidate for candidate in tried if _is_link(folder / candidate)]
    if links:
        return BadImage(
            f"{one_line(str(folder / links[0]))}: expected a picture inside the folder, got a link out of it"
        )
    if name:
        words = f"the picture {' or '.join(map(shown, tried))} inside"
    else:
        below = [pattern[: pattern.index("{")] for pattern in patterns if pattern != "{file_name}"]
        places = ", ".join(["inside", *(f"or in {shown(folder)}" for folder in below if folder)])
        words = f"the picture {shown(graph.image_id)} with one of the endings {', '.join(ENDINGS)} {places}"
    return BadImage(f"{one_line(str(folder))}: expected {words}, got none")
