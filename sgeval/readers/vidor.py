"""VidOR (objects and relations in videos of Flickr) as its files say it: one record a file, nothing dropped or repaired.

The form. `annotation/training/<group>/<video_id>.json` and `annotation/validation/…`, each one JSON object: `version`,
`video_id`, `video_hash`, `video_path`, `frame_count`, `fps`, `width`, `height`, `subject/objects` (tid, category),
`trajectories` (for each frame a list of tid, `bbox` with the corners xmin, ymin, xmax, ymax, `generated` 0 or 1, `tracker`)
and `relation_instances` (subject_tid, object_tid, predicate, begin_fid, end_fid). Corners are pixels inside the box, so a
box is xmax - xmin + 1 wide; begin_fid is the first frame of a relation, end_fid is one past the last, both from 0.

The record. Ids are tids. Each instance is one relation with one span. Classes have no list in the files, so their ids are -1.
`num_frames` is the lower of frame_count and the number of trajectories. In `extra`: `version`, `video_hash`, `frame_count`,
whatever else the file says by JSON pointer, and the flags of `sgeval.readers.flags`.

A file in this form is parsed by msgspec; one that is not is taken apart by `vidor_form`, which words what is wrong.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from sys import intern
from typing import Any, Literal, get_args

import msgspec
from msgspec import UNSET

from sgeval import strict_json
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.readers.flags import absent_flags, relation_flags
from sgeval.readers.json_records import typed_block
from sgeval.readers.place import Place
from sgeval.readers.video_form import Once, records_of
from sgeval.readers.vidor_form import Instance, Point, Video, odd_video
from sgeval.records import Object, Relation, TrackPoint, VideoGraph
from sgeval.spans import to_seconds

VidorConfig = Literal["annotations", "tracks"]

SPLITS = ("train", "val")
FOLDERS = {"train": "training", "val": "validation"}
SOURCE = "https://huggingface.co/datasets/shangxd/vidor or https://xdshang.github.io/docs/vidor.html"

DECODER = msgspec.json.Decoder(list[Video])


def read_vidor(
    data_dir: str | Path,
    split: str | None = None,
    *,
    config: VidorConfig = "annotations",
    part: tuple[int, int | None] | None = None,
    faults: list[str] | None = None,
) -> Iterator[VideoGraph]:
    """The videos of a folder that holds `annotation/training` and `annotation/validation`, by the names of their files.

    `split`: "train" (training, 7,000 videos as published) or "val" (validation, 835); `None` gives both. `part` reads a
    stretch of these files only. `config="tracks"` gives each object its track, a box a frame; `"annotations"` leaves tracks
    out, which are most of the data. One file is in memory at a time. `faults`: see `video_form.records_of`.

    Raises `SgevalError`: at once for an unknown config or split and where there is no file; while reading, for a file that is
    not in the form, with file, place, what was expected and what stands there.

    >>> read_vidor(".", "validation")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: split: expected one of train, val, or none, got "validation"; did you mean "val"?
    """
    one_of("config", config, get_args(VidorConfig))
    files = vidor_files(data_dir, split)
    videos = Once()

    def read_once(path: Path) -> VideoGraph:
        graph = read_vidor_file(path, config=config)
        videos.add(graph.video_id, str(path))
        return graph

    return records_of(read_once, files[slice(*(part or (None,)))], faults)


def vidor_files(data_dir: str | Path, split: str | None = None) -> list[Path]:
    """The annotation files of a split, by name. Raises `SgevalError` as `read_vidor`, and where two files of either split
    have one name, which is the video's id."""
    if split is not None:
        one_of("split", split, SPLITS, ", or none")
    folder = Path(data_dir)
    found = {
        name: [path for path in sorted((folder / "annotation" / below).glob("*/*.json")) if path.name[0] != "."]
        for name, below in FOLDERS.items()
    }  # a Mac adds hidden files to archives
    if not any(found.values()):
        expected = f"annotation/training/*/*.json or annotation/validation/*/*.json, from {SOURCE}"
        raise SgevalError(f"data_dir: expected a folder that holds {expected}, got {one_line(str(folder))}")
    videos = Once()
    for path in (*found["train"], *found["val"]):
        videos.add(path.stem, str(path))
    return [path for name in SPLITS if split in (name, None) for path in found[name]]


def read_vidor_file(path: str | Path, *, config: VidorConfig = "annotations") -> VideoGraph:
    """The record of one file. Raises `SgevalError` as `read_vidor`."""
    path = Path(path)
    text = strict_json.read_text(path)
    typed = typed_block(f"[{text}]", DECODER)
    if typed is not None and len(typed) == 1:
        return _graph(Place(path), typed[0], {}, config)
    return _graph(Place(path), *odd_video(Place(path), strict_json.parse(text, str(path))), config)


def _graph(place: Place, video: Video, extra: Mapping[str, Any], config: str) -> VideoGraph:
    place = place.at(f"(video_id {shown(video.video_id)})")
    ids = {item.tid for item in video.items}
    if len(ids) < len(video.items):
        raise place.at(".subject/objects").fault("each tid once", [item.tid for item in video.items])
    seen, tracks = _tracks(place, video, ids, with_points=config == "tracks")
    graph = VideoGraph(
        video_id=video.video_id,
        objects=tuple(
            Object(item.tid, item.category, track=None if tracks is None else tuple(tracks[item.tid]))
            for item in video.items
        ),
        relations=tuple(_relation(place, at, row, ids, video.fps) for at, row in enumerate(video.relation_instances)),
        file_name=video.video_path,
        width=video.width,
        height=video.height,
        source="vidor",
        fps=video.fps,
        num_frames=min(video.frame_count, len(video.trajectories)),
        span_unit="frame",
        span_end="exclusive",
        extra={**_own(video), **extra, **_flags(place.path, video), **_inverted(video)},
    )
    odd = relation_flags(graph.relations, end="exclusive", length=graph.num_frames)
    return replace(graph, extra={**graph.extra, **odd, **absent_flags(graph, seen)})


def _tracks(
    place: Place, video: Video, ids: set[int], *, with_points: bool
) -> tuple[dict[int, list[int]], dict[int, list[TrackPoint]] | None]:
    """The frames of each object, and its boxes where they are asked for."""
    seen: dict[int, list[int]] = {number: [] for number in ids}
    tracks: dict[int, list[TrackPoint]] = {number: [] for number in ids}
    for frame, points in enumerate(video.trajectories):
        for position, point in enumerate(points):
            frames = seen.get(point.tid)
            if frames is None or frames[-1:] == [frame]:
                at = place.at(f".trajectories[{frame}][{position}].tid")
                raise at.fault("each tid once a frame" if frames else _one_of(ids), point.tid)
            frames.append(frame)
            if with_points:
                tracks[point.tid].append(_point(frame, point))
    return seen, tracks if with_points else None


def _inverted(video: Video) -> dict[str, list[int]]:
    """The flags of objects with boxes whose last corner lies before the first: the frames of these."""
    frames: dict[int, list[int]] = {}
    for frame, points in enumerate(video.trajectories):
        for point in points:
            if point.bbox.xmax < point.bbox.xmin or point.bbox.ymax < point.bbox.ymin:
                frames.setdefault(point.tid, []).append(frame)
    positions = {item.tid: position for position, item in enumerate(video.items)} if frames else {}
    return {f"/objects/{positions[tid]}/inverted_boxes": found for tid, found in frames.items()}


def _point(frame: int, point: Point) -> TrackPoint:
    box = point.bbox
    size = (float(box.xmax - box.xmin + 1), float(box.ymax - box.ymin + 1))
    generated = None if point.generated is UNSET else bool(point.generated)
    tracker = None if point.tracker is UNSET else intern(point.tracker)
    return TrackPoint(frame, (float(box.xmin), float(box.ymin), *size), None, generated, tracker)


def _relation(place: Place, position: int, row: Instance, ids: set[int], fps: float) -> Relation:
    for end in ("subject_tid", "object_tid"):
        if getattr(row, end) not in ids:
            raise place.at(f".relation_instances[{position}].{end}").fault(_one_of(ids), getattr(row, end))
    raw = ((float(row.begin_fid), float(row.end_fid)),)
    spans = to_seconds(raw, unit="frame", end="exclusive", fps=fps)
    return Relation(row.subject_tid, row.object_tid, row.predicate, id=position, spans=spans, raw_spans=raw)


def _one_of(ids: set[int]) -> str:
    return f"the tid of one of the {len(ids)} objects"


def _own(video: Video) -> dict[str, Any]:
    """What the file says and no column holds."""
    own = {"version": video.version, "video_hash": video.video_hash, "frame_count": video.frame_count}
    return {key: value for key, value in own.items() if value is not UNSET}


def _flags(path: Path, video: Video) -> dict[str, Any]:
    flags: dict[str, Any] = {} if path.stem == video.video_id else {"/video_id/not_the_file": path.stem}
    more = video.frame_count - len(video.trajectories)
    if more:
        word = "beyond_trajectories" if more > 0 else "beyond_frame_count"
        flags[f"/num_frames/{word}"] = abs(more)
    return flags
