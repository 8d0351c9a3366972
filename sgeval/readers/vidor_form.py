"""The parts of a VidOR file, before they are joined into a record.

A file in the published form is parsed by msgspec straight into these structs. One that is not is taken apart here, key by
key: what may be read comes out as the same structs, what the form does not know beside them, and the rest is refused in
words.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from sgeval.readers.place import LARGEST, MOST_FRAMES, MOST_PIXELS, Place, is_kind, is_number
from sgeval.readers.video_form import rate, video_id_of, whole_number
from sgeval.spans import FASTEST, SLOWEST

Tid = Annotated[int, Meta(ge=0, le=LARGEST)]
Fid = Annotated[int, Meta(ge=-MOST_PIXELS, le=MOST_PIXELS)]
Side = Annotated[int, Meta(ge=-MOST_PIXELS, le=MOST_PIXELS)] | Annotated[float, Meta(ge=-MOST_PIXELS, le=MOST_PIXELS)]
Pixels = Annotated[int, Meta(ge=1, le=MOST_PIXELS)]


class Corners(Struct, gc=False, forbid_unknown_fields=True):
    """A box by its corner pixels."""

    xmin: Side
    ymin: Side
    xmax: Side
    ymax: Side


class Point(Struct, gc=False, forbid_unknown_fields=True, kw_only=True):
    """A box of an object in one frame."""

    tid: Tid
    bbox: Corners
    generated: Annotated[int, Meta(ge=0, le=1)] | UnsetType = UNSET
    tracker: str | UnsetType = UNSET


class Item(Struct, gc=False, forbid_unknown_fields=True):
    """An object."""

    tid: Tid
    category: str


class Instance(Struct, gc=False, forbid_unknown_fields=True):
    """A relation, from one frame to before another."""

    subject_tid: Tid
    object_tid: Tid
    predicate: str
    begin_fid: Fid
    end_fid: Fid


class Video(Struct, gc=False, forbid_unknown_fields=True, kw_only=True):
    """A file."""

    version: str | UnsetType = UNSET
    video_id: Annotated[str, Meta(pattern=r"\S")]
    video_hash: str | UnsetType = UNSET
    video_path: str
    frame_count: Annotated[int, Meta(ge=0, le=MOST_FRAMES)]
    fps: Annotated[float, Meta(ge=SLOWEST, le=FASTEST)]
    width: Pixels
    height: Pixels
    items: list[Item] = msgspec.field(name="subject/objects")
    trajectories: list[list[Point]]
    relation_instances: list[Instance]


CORNERS = ("xmin", "ymin", "xmax", "ymax")
KNOWN = {
    "": (
        *("version", "video_id", "video_hash", "video_path", "frame_count", "fps", "width", "height"),
        *("subject/objects", "trajectories", "relation_instances"),
    ),
    "objects": ("tid", "category"),
    "trajectories": ("tid", "bbox", "generated", "tracker"),
    "bbox": CORNERS,
    "relations": ("subject_tid", "object_tid", "predicate", "begin_fid", "end_fid"),
}


def odd_video(place: Place, whole: Any) -> tuple[Video, dict[str, Any]]:
    """The parts of a file, and by JSON pointer whatever else it says. Raises `SgevalError` with the place for what the form
    does not allow."""
    extra: dict[str, Any] = {}
    place.checked(whole, "an object with video_id, trajectories and relation_instances", dict)
    video_id = video_id_of(place, whole)
    _keep(extra, place, "", whole)
    sides = {side: place.pixels(whole, side) for side in ("width", "height")}
    for side, value in sides.items():
        if value is None:
            raise place.at(f".{side}").fault("a whole number of pixels from 1 up", whole.get(side))
    video = Video(
        version=_text(place, whole, "version"),
        video_id=video_id,
        video_hash=_text(place, whole, "video_hash"),
        video_path=place.get(whole, "video_path", "a text", str),
        frame_count=whole_number(place, whole, "frame_count", 0, MOST_FRAMES),
        fps=rate(place, whole),
        width=sides["width"] or 0,
        height=sides["height"] or 0,
        items=[_item(extra, *entry) for entry in _entries(place, whole, "subject/objects", "objects")],
        trajectories=[
            [_point(extra, at.at(f"[{index}]"), f"{pointer}/{index}", point) for index, point in enumerate(points)]
            for at, pointer, points in _entries(place, whole, "trajectories", "trajectories", list)
        ],
        relation_instances=[
            _instance(extra, *entry) for entry in _entries(place, whole, "relation_instances", "relations")
        ],
    )
    return video, extra


def _entries(place: Place, whole: Any, key: str, name: str, kind: type = dict) -> list[tuple[Place, str, Any]]:
    """Place, pointer and value of each entry of a list."""
    rows = place.get(whole, key, "a list", list)
    what = "an object" if kind is dict else "a list"
    at = [place.at(f".{key}[{index}]") for index in range(len(rows))]
    return [(at[index], f"/{name}/{index}", at[index].checked(row, what, kind)) for index, row in enumerate(rows)]


def _item(extra: dict[str, Any], place: Place, pointer: str, row: Any) -> Item:
    _keep(extra, place, pointer, row)
    tid = place.at(".tid").number_id(place.get(row, "tid", "a whole number", int))
    return Item(tid, place.get(row, "category", "a text", str))


def _point(extra: dict[str, Any], place: Place, pointer: str, row: Any) -> Point:
    place.checked(row, "an object with tid and bbox", dict)
    _keep(extra, place, pointer, row)
    box = place.get(row, "bbox", "an object with xmin, ymin, xmax and ymax", dict)
    _keep(extra, place.at(".bbox"), f"{pointer}/bbox", box, CORNERS)
    for corner in CORNERS:
        if not (is_number(box.get(corner)) and abs(box[corner]) <= MOST_PIXELS):
            raise place.at(f".bbox.{corner}").fault("a number of pixels", *_given(box, corner))
    generated = row.get("generated", UNSET)
    if generated is not UNSET and generated not in (0, 1):
        raise place.at(".generated").fault("0 or 1", generated)
    return Point(
        tid=place.at(".tid").number_id(place.get(row, "tid", "a whole number", int)),
        bbox=Corners(*(box[corner] for corner in CORNERS)),
        generated=generated if generated is UNSET else int(generated),
        tracker=_text(place, row, "tracker"),
    )


def _instance(extra: dict[str, Any], place: Place, pointer: str, row: Any) -> Instance:
    _keep(extra, place, pointer, row)
    subject, target = (
        place.at(f".{end}").number_id(place.get(row, end, "a whole number", int))
        for end in ("subject_tid", "object_tid")
    )
    begin, end = (whole_number(place, row, key, -MOST_PIXELS, MOST_PIXELS) for key in ("begin_fid", "end_fid"))
    return Instance(subject, target, place.get(row, "predicate", "a text", str), begin, end)


def _text(place: Place, row: Mapping[str, Any], key: str) -> Any:
    """A text, if there is one; null is none."""
    value = row.get(key)
    if value is not None and not is_kind(value, str):
        raise place.at(f".{key}").fault("a text", value)
    return UNSET if value is None else value


def _given(row: Mapping[str, Any], key: str) -> tuple[Any, ...]:
    return (row[key],) if key in row else ()


def _keep(
    extra: dict[str, Any], place: Place, pointer: str, row: Mapping[str, Any], known: Sequence[str] | None = None
) -> None:
    known = KNOWN[pointer.split("/")[1] if pointer else ""] if known is None else known
    extra |= place.rest(pointer, row, known)
