"""Which pictures of COCO 2017 are in which of its splits, from a folder of COCO: the names of pictures, or else the lists of
images in its annotation files."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sgeval.errors import SgevalError, one_line

SPLITS = ("train2017", "val2017", "test2017")
FILES = ("annotations/instances_{}.json", "annotations/captions_{}.json", "annotations/image_info_{}.json")


class _Image(msgspec.Struct):
    id: int


class _File(msgspec.Struct):
    images: list[_Image]


def coco_ids(folder: str | Path) -> dict[str, frozenset[str]]:
    """The ids of the pictures of each split that a folder tells of.

    Raises `SgevalError` where there is neither `train2017/` and the like with pictures, nor `annotations/instances_*.json`,
    and for an annotation file in another form.
    """
    found = {split: ids for split in SPLITS if (ids := frozenset(_ids(Path(folder), split)))}
    if not found:
        wanted = "train2017/ and val2017/ with pictures, or annotations/instances_train2017.json and …_val2017.json"
        raise SgevalError(f"coco: expected a folder that holds {wanted}, got {one_line(str(folder))}")
    return found


def _ids(folder: Path, split: str) -> Iterator[str]:
    pictures = next((place for place in (folder / split, folder / "images" / split) if place.is_dir()), None)
    if pictures is not None:
        with os.scandir(pictures) as entries:
            stems = (entry.name.partition(".")[0] for entry in entries)
            yield from (str(int(stem)) for stem in stems if stem.isascii() and stem.isdigit())
        return
    path = next((path for path in (folder / name.format(split) for name in FILES) if path.is_file()), None)
    if path is None:
        return
    try:
        images = msgspec.json.decode(path.read_bytes(), type=_File).images
    except (msgspec.MsgspecError, RecursionError) as fault:
        raise SgevalError(
            f"{one_line(str(path))}: expected an annotation file of COCO ({one_line(str(fault))})"
        ) from None
    yield from (str(image.id) for image in images)
