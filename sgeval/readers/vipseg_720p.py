"""VIPSeg in the COCO form of panoptic videos, as the authors' scripts write it beside 720p frames.

One JSON object: `videos` (video_id, `images` of id, width, height, file_name), `annotations` (video_id, `annotations` of
image_id, file_name and `segments_info`: id, category_id, iscrowd, area) and `categories`. Videos and annotations, images and
their segments are joined by id, never by position; a mask has the name of its frame, and frames ascend by their numbers. A
file holds some 100 MB: its bytes are kept as they are, and entries are parsed one video at a time.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw, Struct

from sgeval import strict_json
from sgeval.errors import SgevalError, one_line, shown
from sgeval.readers.json_records import ESCAPED_COLON, colons
from sgeval.readers.place import Place
from sgeval.readers.video_form import Once
from sgeval.readers.vipseg_form import (
    ROOTS,
    SOURCE,
    Categories,
    Segment,
    check_name,
    clip_list,
    flag_or_none,
    is_number,
    objects_of,
    rank,
)
from sgeval.records import VideoGraph

FOLDER = "VIPSeg_720P"
STEM = "panoptic_gt_VIPSeg"
SPLITS = ("train", "val")
LARGEST_ID = 2**24 - 1
"""Ids are colours."""
KNOWN = {
    "video": ("video_id", "images"),
    "image": ("id", "width", "height", "file_name"),
    "annotation": ("video_id", "annotations"),
    "frame": ("image_id", "file_name", "segments_info"),
    "segment": ("id", "category_id", "iscrowd", "area"),
}


KEYS = ("videos", "annotations", "categories")


class Whole(Struct, gc=False, forbid_unknown_fields=True):
    """A file, its entries left as bytes."""

    videos: list[Raw]
    annotations: list[Raw]
    categories: Raw


class Named(Struct, gc=False):
    """An entry, of which the id is looked at."""

    video_id: str


WHOLE, NAMED = msgspec.json.Decoder(Whole), msgspec.json.Decoder(Named)


def video_files(data_dir: Path) -> list["VideoFile"]:
    """The files of a folder: those of single splits, else the one of all. Raises `SgevalError` where there is none, for a
    video that comes twice, and for files of different classes."""
    folders = [data_dir / root / FOLDER for root in reversed(ROOTS)]
    by_split = [(folder / f"{STEM}_{split}.json", split) for folder in folders for split in SPLITS]
    whole = [(folder / f"{STEM}.json", None) for folder in folders]
    for tried in (by_split, whole):
        found = [_opened(path, split) for path, split in tried if path.is_file()]
        if found:
            videos = Once()
            for file in found:
                for name in file.video_ids:
                    videos.add(name, str(file.place.path))
            if any(file.categories != found[0].categories for file in found):
                raise found[-1].place.at(".categories").fault(f"those of {found[0].place.path}", "others")
            return found
    expected = f"{FOLDER}/{STEM}_train.json, {STEM}_val.json or {STEM}.json, made with the scripts of {SOURCE}"
    raise SgevalError(f"data_dir: expected a folder that holds {expected}, got {one_line(str(data_dir))}")


def _opened(path: Path, split: str | None) -> "VideoFile":
    """The file, parsed once as long as it stays what it is. A process that is asked for stretch after stretch of it would
    else open it each time; those that are forked later have it from the first."""
    status = path.stat()
    return _kept(path, split, (status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=len(SPLITS))
def _kept(path: Path, split: str | None, stamp: tuple[int, int, int]) -> "VideoFile":
    return VideoFile(path, split)


def videos_of(data_dir: Path, split: str | None) -> list[tuple["VideoFile", int]]:
    """File and position of each video of a split; of none, of all. Raises `SgevalError` as `video_files`, and for a split of
    a file of all without any list of clips; with the other split's list alone it is empty, as in `vipseg_raw`."""
    out = []
    for file in video_files(data_dir):
        listed = None
        if split is not None and file.split is None:
            lists = {name: found for name in SPLITS if (found := clip_list(data_dir, name)) is not None}
            if not lists:
                expected = f"{STEM}_{split}.json beside it, or a list of clips {split}.txt"
                raise file.place.fault(f"{expected}, to tell the split {split}")
            listed = {*lists[split][1]} if split in lists else set()
        if split in (None, file.split) or listed is not None:
            names = enumerate(file.video_ids)
            out += [(file, index) for index, name in names if listed is None or name in listed]
    return out


def unmet_names(data_dir: Path) -> list[str]:
    """The clips that lists name and the files of their splits do not hold. Raises `SgevalError` as `video_files`."""
    files = video_files(data_dir)
    held = {name for file in files for name in file.video_ids}
    lists = [clip_list(data_dir, split) for split in SPLITS if any(file.split in (split, None) for file in files)]
    return [name for found in lists if found is not None for name in found[1] if name not in held]


class VideoFile:
    """A parsed file; its videos are built one by one. Ids are checked when it is opened."""

    def __init__(self, path: Path, split: str | None) -> None:
        self.place, self.split = Place(path), split
        data = strict_json.read_bytes(path)
        typed = _typed(data)
        whole: Any = strict_json.parse(data.decode(), str(path)) if typed is None else None
        if whole is not None and not isinstance(whole, dict):
            raise self.place.fault("an object with videos, annotations and categories", whole)
        lists = {key: getattr(typed, key) if typed else self.place.get(whole, key, "a list", list) for key in KEYS}
        at = self.place.at(".categories")
        self.categories = Categories.of(at, _value(at, lists["categories"]))
        self.videos, annotations = lists["videos"], lists["annotations"]
        self.video_ids = [self._id("videos", index, entry) for index, entry in enumerate(self.videos)]
        names = [self._id("annotations", index, entry) for index, entry in enumerate(annotations)]
        videos = Once()
        for index, name in enumerate(names):
            videos.add(name, f"{path}: annotations[{index}]")
        self.annotations = dict(zip(names, enumerate(annotations)))
        if alone := self.annotations.keys() - {*self.video_ids}:
            raise self.place.at(".annotations").fault("annotations of its videos alone", min(alone))

    def _id(self, key: str, index: int, entry: Any) -> str:
        place = self.place.at(f"{key}[{index}]")
        try:
            name = NAMED.decode(entry).video_id if isinstance(entry, Raw) else entry["video_id"]
        except (msgspec.MsgspecError, KeyError, TypeError):
            name = None
        if not isinstance(name, str):
            name = place.get(_value(place, entry), "video_id", "a text", str)
        check_name(place.at(".video_id"), name)
        return str(name)

    def graph(self, index: int, fps: float | None) -> VideoGraph:
        """The record of a video."""
        name = self.video_ids[index]
        place = self.place.at(f"videos[{index}] (video_id {shown(name)})")
        video = _value(place, self.videos[index])
        extra = place.rest("", video, KNOWN["video"])
        images = place.get(video, "images", "a list of images", list)
        sizes: set[tuple[int | None, int | None]] = set()
        stems, numbers = [], dict[str, int]()
        for at, image in enumerate(images):
            here = place.at(f".images[{at}]")
            number = here.at(".id").text_id(here.get(image, "id", "a text or a whole number", (str, int)))
            if numbers.setdefault(number, at) != at:
                raise here.at(".id").fault("each image once", number)
            stems.append(_stem(here, image))
            sizes.add((here.pixels(image, "width"), here.pixels(image, "height")))
            extra |= here.rest(f"/images/{at}", image, KNOWN["image"])
        if len(sizes) > 1:
            raise place.at(".images").fault("images of one width and height", sorted(map(str, sizes)))
        _check_names(place, images, stems)
        masks, found = self._frames(name, numbers, stems, extra)
        objects, said = objects_of(found, self.categories)
        if missing := [frame for frame, mask in enumerate(masks) if mask is None]:
            said["/mask_files/missing"] = missing
        width, height = sizes.pop() if sizes else (None, None)
        return VideoGraph(
            name,
            objects,
            width=width,
            height=height,
            source="vipseg",
            fps=fps,
            num_frames=len(stems),
            frame_files=tuple(f"{FOLDER}/images/{name}/{stem}.jpg" for stem in stems),
            mask_files=tuple(mask and f"{FOLDER}/panomasksRGB/{name}/{mask}.png" for mask in masks),
            mask_encoding="rgb_object_id",
            extra={**extra, **said},
        )

    def _frames(
        self, name: str, numbers: Mapping[str, int], stems: Sequence[str], extra: dict[str, Any]
    ) -> tuple[list[str | None], dict[int, Segment]]:
        """The mask of each frame, and the segments that the frames show."""
        masks: list[str | None] = [None] * len(numbers)
        segments: dict[int, dict[int, tuple[Place, Mapping[str, Any]]]] = {}
        if name not in self.annotations:
            return masks, {}
        index, entry = self.annotations[name]
        place = self.place.at(f"annotations[{index}] (video_id {shown(name)})")
        annotation = _value(place, entry)
        extra |= place.rest("/annotations", annotation, KNOWN["annotation"])
        for at, row in enumerate(place.get(annotation, "annotations", "a list of frames", list)):
            here = place.at(f".annotations[{at}]")
            number = here.at(".image_id").text_id(here.get(row, "image_id", "a text or a whole number", (str, int)))
            frame = numbers.get(number)
            if frame is None or frame in segments:
                expected = "each image once" if frame is not None else f"the id of one of the {len(numbers)} images"
                raise here.at(".image_id").fault(expected, number)
            extra |= here.rest(f"/annotations/{frame}", row, KNOWN["frame"])
            masks[frame] = _stem(here, row)
            if masks[frame] != stems[frame]:
                raise here.at(".file_name").fault(f"the name of its image, {shown(stems[frame])}", masks[frame])
            segments[frame] = {}
            for step, segment in enumerate(here.get(row, "segments_info", "a list of segments", list)):
                spot = here.at(f".segments_info[{step}]")
                key = spot.get(segment, "id", "a whole number", int)
                if not 0 < key <= LARGEST_ID or key in segments[frame]:
                    raise spot.at(".id").fault(f"a whole number from 1 to {LARGEST_ID:,}, each once a frame", key)
                segments[frame][key] = (spot, segment)
                extra |= spot.rest(f"/annotations/{frame}/segments_info/{step}", segment, KNOWN["segment"])
        return masks, self._joined(segments)

    def _joined(self, segments: Mapping[int, Mapping[int, tuple[Place, Mapping[str, Any]]]]) -> dict[int, Segment]:
        found: dict[int, Segment] = {}
        for frame in sorted(segments):
            for key, (place, row) in segments[frame].items():
                category = place.get(row, "category_id", "a whole number", int)
                if category not in self.categories.by_id:
                    expected = f"the id of one of the {len(self.categories.by_id)} categories"
                    raise place.at(".category_id").fault(expected, category)
                segment = found.setdefault(key, Segment(category))
                if segment.category_id != category:
                    hint = f", and {segment.category_id} in a frame before"
                    raise place.at(".category_id").fault(f"one class for the id {key} all through", category, hint)
                segment.frames.append(frame)
                segment.crowd.append(flag_or_none(place, row, "iscrowd"))
                segment.areas.append(_area(place, row))
        return found


def _typed(data: bytes) -> Whole | None:
    """The file with its entries left as they stand in its bytes, when it has the three keys, each once; else nothing. The
    reasoning is that of `json_records.typed_block`: each key has a colon, and the other colons are all in the entries."""
    if ESCAPED_COLON in data:
        return None
    try:
        whole = WHOLE.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    entries = (*whole.videos, *whole.annotations, whole.categories)
    inside = sum(colons(np.frombuffer(entry, np.uint8)) for entry in entries)
    return whole if colons(np.frombuffer(data, np.uint8)) == inside + len(KEYS) else None


def _area(place: Place, row: Mapping[str, Any]) -> int | None:
    return None if row.get("area") is None else place.at(".area").number_id(row["area"])


def _stem(place: Place, row: Mapping[str, Any]) -> str:
    """The name of a frame without its ending: frames are .jpg and masks .png, whatever the file says."""
    name = place.get(row, "file_name", "the name of a file", str)
    check_name(place.at(".file_name"), name)
    return PurePosixPath(name).stem


def _check_names(place: Place, images: Sequence[Mapping[str, Any]], stems: Sequence[str]) -> None:
    """Raise `SgevalError` for names under which a frame would be taken for another: one that comes twice, one that is the
    id of another frame, and numbers that do not ascend, since frames are counted as they stand."""
    first: dict[str, int] = {}
    for at, stem in enumerate(stems):
        here = place.at(f".images[{at}].file_name")
        if first.setdefault(stem, at) != at:
            raise here.fault("each frame once", stem, f" again (first in images[{first[stem]}])")
        before = stems[at - 1] if at else ""
        if is_number(stem) and is_number(before) and rank(stem) <= rank(before):
            raise here.fault(f"a frame after {shown(before)}", stem)
    for at, (image, stem) in enumerate(zip(images, stems)):
        if image["id"] != stem and image["id"] in first:  # published ids are the names themselves
            raise place.at(f".images[{at}].file_name").fault(f"the frame of the id {shown(image['id'])}", stem)


def _value(place: Place, entry: Any) -> Any:
    """An entry, parsed."""
    if not isinstance(entry, Raw):
        return entry
    return strict_json.parse(bytes(entry).decode(), f"{place.path}: {one_line(place.where.lstrip('.'))}")
