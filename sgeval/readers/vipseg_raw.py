"""VIPSeg as published: a folder of masks a clip, 16-bit PNGs whose values say class and instance.

Values: 0 is nothing, 1 to 124 a class of stuff, from 125 on class x 100 + instance; classes count from 1 there. What a clip
shows is in its masks alone, so they are all decoded to read it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sgeval.errors import BadImage, SgevalError, one_line, shown
from sgeval.images import load_values
from sgeval.readers.place import Place
from sgeval.readers.video_form import Once, records_of
from sgeval.readers.vipseg_form import (
    LISTS,
    SOURCE,
    SPLITS,
    Categories,
    Segment,
    clip_list,
    objects_of,
    rank,
    read_categories,
)
from sgeval.records import VideoGraph

STUFF = 124
"""The highest value that is a class itself."""
PER_CLASS = 100
HIGHEST = 2**16 - 1


@dataclass(frozen=True, slots=True)
class Clip:
    """A clip that a list names, and the published folder it lies in."""

    name: str
    split: str
    root: Path


def raw_clips(data_dir: Path, split: str | None) -> list[Clip]:
    """The clips of a split's list, or of all three lists. Raises `SgevalError` where there is no list, and for a clip that
    is named twice."""
    lists = {name: clip_list(data_dir, name) for name in SPLITS}
    found = {name: each for name, each in lists.items() if each is not None}
    if not found:
        expected = f"{' or '.join(LISTS)}, from {SOURCE}"
        raise SgevalError(f"data_dir: expected a folder that holds {expected}, got {one_line(str(data_dir))}")
    videos = Once()
    for path, names in found.values():
        for name in names:
            videos.add(name, str(path))
    return [Clip(name, of, path.parent) for of, (path, names) in found.items() if split in (of, None) for name in names]


def read_raw(
    data_dir: Path, clips: list[Clip], fps: float | None, faults: list[str] | None = None
) -> Iterator[VideoGraph]:
    """The records of clips, in their order."""
    categories = read_categories(data_dir)
    return records_of(lambda clip: _graph(clip, categories, fps), clips, faults)


def _graph(clip: Clip, categories: Categories, fps: float | None) -> VideoGraph:
    label = f"video {shown(clip.name)}"
    masks = _stems(clip.root / "panomasks" / clip.name, ".png")
    stems = sorted({*_stems(clip.root / "imgs" / clip.name, ".jpg"), *masks}, key=lambda stem: (*rank(stem), stem))
    if not stems:
        folders = " or ".join(one_line(str(clip.root / name / clip.name)) for name in ("imgs", "panomasks"))
        raise SgevalError(f"{label}: expected frames in {folders}, got none")
    has_masks = clip.split != "test" or bool(masks)
    size, found = _segments(label, clip, [stem if stem in masks else None for stem in stems], categories)
    objects, extra = objects_of(found, categories)
    for position, item in enumerate(objects):
        if (item.id > STUFF) != item.is_thing:
            word = "thing_without_instance" if item.is_thing else "stuff_as_thing"
            extra[f"/objects/{position}/{word}"] = True
    missing = [frame for frame, stem in enumerate(stems) if stem not in masks]
    if has_masks and missing:
        extra["/mask_files/missing"] = missing
    return VideoGraph(
        clip.name,
        objects,
        width=None if size is None else size[0],
        height=None if size is None else size[1],
        source="vipseg",
        fps=fps,
        num_frames=len(stems),
        frame_files=tuple(f"imgs/{clip.name}/{stem}.jpg" for stem in stems),
        mask_files=tuple(f"panomasks/{clip.name}/{stem}.png" for stem in stems) if has_masks else None,
        mask_encoding="grey_object_id" if has_masks else None,
        extra=extra,
    )


def _stems(folder: Path, ending: str) -> set[str]:
    """The names of a folder's frames, without their endings; hidden files are none."""
    try:
        return {path.stem for path in folder.iterdir() if path.suffix == ending and not path.name.startswith(".")}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def _segments(
    label: str, clip: Clip, stems: list[str | None], categories: Categories
) -> tuple[tuple[int, int] | None, dict[int, Segment]]:
    """Width and height of the masks, and in which frames each value is to be seen."""
    size: tuple[int, int] | None = None
    found: dict[int, Segment] = {}
    for frame, stem in enumerate(stems):
        if stem is None:
            continue
        path = clip.root / "panomasks" / clip.name / f"{stem}.png"
        try:
            values = load_values(path, size)
        except BadImage as fault:
            raise BadImage(f"{label}: {fault}") from None
        size = (values.shape[1], values.shape[0])
        for value in _distinct(label, path, values):
            number = (value if value <= STUFF else value // PER_CLASS) - 1
            if number not in categories.by_id:
                place = Place(path).at(label)
                raise place.fault(f"values of the {len(categories.by_id)} classes in the list", value)
            found.setdefault(value, Segment(number)).frames.append(frame)
    return size, found


def _distinct(label: str, path: Path, values: Any) -> list[int]:
    """The values above 0 that a mask holds, ascending."""
    if values.size and not 0 <= values.min() <= values.max() <= HIGHEST:
        raise Place(path).at(label).fault(f"values from 0 to {HIGHEST:,}", int(values.max()))
    present: list[int] = np.flatnonzero(np.bincount(values.ravel())).tolist()
    return [value for value in present if value]
