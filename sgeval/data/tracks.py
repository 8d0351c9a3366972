"""The tracks that masks draw: where each object of a video is to be seen, frame by frame; and where masks and annotation
differ."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sgeval.errors import BadImage, one_line
from sgeval.images import Size
from sgeval.masks import areas_of_ids, mask_ids, segments
from sgeval.readers.flags import absent_flags
from sgeval.records import TrackPoint, VideoGraph, label

MOST_UNLISTED = 10_000  # ids of a mask that no object has; more is no mask of this video


@dataclass
class _Seen:
    """What the masks of a video show so far."""

    pixels: dict[int, dict[int, int]]
    """By the id of each object: how many pixels it has, by frame."""
    unlisted: dict[str, list[int]] = field(default_factory=dict)
    known: list[int] = field(default_factory=list)
    """The frames whose masks were read."""
    size: Size | None = None
    """Width and height of the first mask that was read."""

    @classmethod
    def of(cls, graph: VideoGraph) -> "_Seen":
        """Before the first mask of a record."""
        return cls({item.id: {} for item in graph.objects})

    def add(self, frame: int, areas: Mapping[int, int]) -> None:
        """Note the ids that the mask of a frame holds."""
        self.known.append(frame)
        for number, area in areas.items():
            if number in self.pixels:
                self.pixels[number][frame] = area
            else:
                self.unlisted.setdefault(str(number), []).append(frame)


def track_of_masks(graph: VideoGraph, paths: Sequence[Path | None]) -> VideoGraph:
    """The record with the track of each object: a box and a run-length code for each frame whose mask shows its id.

    `paths`: the n-th mask is that of frame n; where there is none (None) no object has a point. `extra` gains
    `/mask_files/unlisted_ids`, frames by id, for ids in masks that no object has, and the flags of relations that hold
    while one of their ends is not to be seen. Where the record has tracks before, those of the annotation, it also gains
    `/objects/N/not_in_masks` and `/objects/N/only_in_masks`: frames, of those that have a mask, in which the two differ, and
    `/objects/N/other_areas`, those in which it says another area (`/objects/N/areas`) than the mask has;
    where it has no track and each frame a mask, `/objects/N/in_no_mask`. A record without a size takes that of the first
    mask. Raises `BadImage`, naming the video, for a mask that cannot be read or is of another size than the record or, where
    that says none, than the first one.
    """
    seen, points = _Seen.of(graph), dict[int, list[TrackPoint]]()
    for frame, path in enumerate(paths):
        if path is None:
            continue
        ids, areas = _read(graph, path, seen)
        seen.add(frame, areas)
        for number, segment in segments(ids, seen.pixels).items():
            points.setdefault(number, []).append(TrackPoint(frame, segment.box, segment.code))
    flags = _flags(graph, seen, len(paths))
    tracked = tuple(replace(item, track=tuple(points.get(item.id, ()))) for item in graph.objects)
    width, height = seen.size or (graph.width, graph.height)
    return replace(graph, objects=tracked, width=width, height=height, extra={**graph.extra, **flags})


def look_into_masks(graph: VideoGraph, paths: Iterable[Path | None]) -> tuple[dict[str, Any], list[BadImage]]:
    """The flags that `track_of_masks` would set, and what it would refuse: each mask is read, and no track is drawn."""
    seen, faults = _Seen.of(graph), []
    n_frames = 0
    for n_frames, path in enumerate(paths, start=1):
        try:
            if path is not None:
                seen.add(n_frames - 1, _read(graph, path, seen)[1])
        except BadImage as fault:
            faults.append(fault)
    return _flags(graph, seen, n_frames), faults


def _read(graph: VideoGraph, path: Path, seen: _Seen) -> tuple[Any, dict[int, int]]:
    """The ids of a mask, pixel by pixel, and how many pixels each has."""
    size = (graph.width, graph.height) if graph.width is not None and graph.height is not None else None
    try:
        ids = mask_ids(path, graph.mask_encoding, size)
    except BadImage as fault:
        raise BadImage(f"{label(graph)}: {fault}") from None
    height, width = ids.shape
    expected = seen.size or (graph.width or width, graph.height or height)
    if (width, height) != expected:
        whose = "the first mask" if seen.size else "the record"
        got = f"expected {expected[0]} x {expected[1]} as {whose}, got {width} x {height}"
        raise BadImage(f"{label(graph)}: {one_line(str(path))}: {got}")
    areas = areas_of_ids(ids)
    n_others = len(areas.keys() - {item.id for item in graph.objects})
    if n_others > MOST_UNLISTED:
        raise BadImage(f"{label(graph)}: {one_line(str(path))}: expected ids of its objects, got {n_others:,} others")
    seen.size = expected
    return ids, areas


def _flags(graph: VideoGraph, seen: _Seen, n_frames: int) -> dict[str, Any]:
    unlisted = {"/mask_files/unlisted_ids": seen.unlisted} if seen.unlisted else {}
    of_objects = _differing(graph, seen, is_whole=len(seen.known) == n_frames > 0)
    frames = {number: [*pixels] for number, pixels in seen.pixels.items()}
    return {**of_objects, **unlisted, **absent_flags(graph, frames, seen.known)}


def _differing(graph: VideoGraph, seen: _Seen, *, is_whole: bool) -> Mapping[str, Any]:
    """Where the masks differ from the objects and the tracks that the record has already."""
    flags: dict[str, Any] = {}
    for position, item in enumerate(graph.objects):
        shown = seen.pixels[item.id]
        if item.track is None:
            if is_whole and not shown:
                flags[f"/objects/{position}/in_no_mask"] = True
            continue
        said = {point.frame for point in item.track} & {*seen.known}
        areas = zip(item.track, graph.extra.get(f"/objects/{position}/areas", ()))
        other = {point.frame for point, area in areas if area not in (None, shown.get(point.frame, area))}
        differing = {"not_in_masks": said - shown.keys(), "only_in_masks": shown.keys() - said, "other_areas": other}
        for word, frames in differing.items():
            if frames:
                flags[f"/objects/{position}/{word}"] = sorted(frames)
    return flags
