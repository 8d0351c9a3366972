"""The one record for pictures and the one for videos: small, frozen, typed.

A record is built by `sgeval.validation` from checked input, or by a reader; inside, code trusts it. `to_dict` gives the
plain form that files hold (one JSON object a line); `validation.parse_graphs` reads it back.

Boxes are `(x, y, width, height)` in absolute pixels, unclipped, as the source has them. Relations name objects by `id`;
-1 is the camera, in videos only. Spans are half-open seconds; `raw_spans` keeps the numbers of the source.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sgeval.errors import shown

CAMERA = -1

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Role:
    """A semantic role and its value, e.g. `Role("tool", "knife")`."""

    role: str
    value: str


@dataclass(frozen=True, slots=True)
class TrackPoint:
    """One frame of an object's trajectory."""

    frame: int
    bbox: Box | None = None
    segmentation: Mapping[str, Any] | None = None
    generated: bool | None = None
    tracker: str | None = None


@dataclass(frozen=True, slots=True)
class Object:
    """A boxed (or tracked) thing. `category` is the label exactly as in the source; `category_id` -1 is open vocabulary."""

    id: int
    category: str
    bbox: Box | None = None
    category_id: int = -1
    names: tuple[str, ...] = ()
    synsets: tuple[str, ...] = ()
    merged_ids: tuple[int, ...] = ()
    is_thing: bool | None = None
    iscrowd: bool | None = None
    attributes: tuple[str, ...] = ()
    attribute_types: tuple[str, ...] | None = None
    level: str | None = None
    roles: tuple[Role, ...] = ()
    area: float | None = None
    segment_id: int | None = None
    segmentation: Mapping[str, Any] | None = None
    track: tuple[TrackPoint, ...] | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """subject –predicate→ object, the two ends by object id. `predicate_id` -1 is outside the class list."""

    subject_id: int
    object_id: int
    predicate: str
    id: int | None = None
    predicate_id: int = -1
    type: str | None = None
    synsets: tuple[str, ...] = ()
    score: float | None = None
    roles: tuple[Role, ...] = ()
    spans: tuple[tuple[float, float], ...] | None = None
    raw_spans: tuple[tuple[float, float], ...] | None = None


@dataclass(frozen=True, slots=True)
class SceneGraph:
    """The scene graph of one picture (or of one video frame: then `video_id` and `frame_index` say which)."""

    image_id: str
    objects: tuple[Object, ...] = ()
    relations: tuple[Relation, ...] = ()
    file_name: str | None = None
    width: int | None = None
    height: int | None = None
    source: str | None = None
    video_id: str | None = None
    frame_index: int | None = None
    panoptic_file: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What predictions and references are aligned by."""
        return self.image_id


@dataclass(frozen=True, slots=True)
class VideoGraph:
    """The spatio-temporal scene graph of one video.

    The n-th of `frame_files` and of `mask_files` is that of frame n, from 0; a file that is not there is None, so that
    none moves. `span_unit` and `span_end` say how `raw_spans` count (see `sgeval.spans`).
    """

    video_id: str
    objects: tuple[Object, ...] = ()
    relations: tuple[Relation, ...] = ()
    file_name: str | None = None
    width: int | None = None
    height: int | None = None
    source: str | None = None
    fps: float | None = None
    num_frames: int | None = None
    duration: float | None = None
    frame_files: tuple[str | None, ...] | None = None
    mask_files: tuple[str | None, ...] | None = None
    mask_encoding: str | None = None
    span_unit: str | None = None
    span_end: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What predictions and references are aligned by."""
        return self.video_id


Graph = SceneGraph | VideoGraph


def label(record: Graph) -> str:
    """A record as messages name it.

    >>> label(VideoGraph("P01_01"))
    'video "P01_01"'
    """
    return f"{'video' if isinstance(record, VideoGraph) else 'image'} {shown(record.key)}"


def to_dict(record: Graph) -> dict[str, Any]:
    """The plain form of a record. What is unset (null, empty, -1 as a class id) is left out, so lines stay short.

    >>> to_dict(SceneGraph("7", (Object(0, "dog", (1.0, 2.0, 3.0, 4.0)),)))
    {'image_id': '7', 'objects': [{'id': 0, 'category': 'dog', 'bbox': [1.0, 2.0, 3.0, 4.0]}], 'relations': []}
    """
    plain = _plain(record)
    plain.setdefault("objects", [])
    plain.setdefault("relations", [])
    first, last = ("image_id", "video_id"), ("objects", "relations", "extra")
    middle = [key for key in plain if key not in (*first, *last)]
    return {key: plain[key] for key in (*first, *middle, *last) if key in plain}


def _plain(value: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for item in fields(value):
        content = getattr(value, item.name)
        if content is None or content == item.default:
            continue
        if item.name == "spans":
            content = [{"start": start, "end": end} for start, end in content]
        elif isinstance(content, tuple):
            content = [_plain_entry(entry) for entry in content]
        elif isinstance(content, Mapping):
            if not content:
                continue
            content = dict(content)
        out[item.name] = content
    return out


def _plain_entry(entry: Any) -> Any:
    if hasattr(entry, "__dataclass_fields__"):
        return _plain(entry)
    return list(entry) if isinstance(entry, tuple) else entry


def write_graphs(records: Iterable[Graph], path: str | Path) -> int:
    """Write records as JSON Lines (UTF-8) and return their number. The file appears whole or not at all."""
    import json

    from sgeval.files import atomic_write

    count = 0
    with atomic_write(Path(path)) as file:
        for record in records:
            file.write(json.dumps(to_dict(record), ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    return count
