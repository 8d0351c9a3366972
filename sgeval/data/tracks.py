"""The tracks that masks draw: where each object of a video is to be seen, frame by frame."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sgeval.errors import BadImage
from sgeval.masks import mask_ids, segments
from sgeval.readers.flags import absent_flags
from sgeval.records import TrackPoint, VideoGraph, label


def track_of_masks(graph: VideoGraph, paths: Sequence[Path | None]) -> VideoGraph:
    """The record with the track of each object: a box and a run-length code for each frame whose mask shows its id.

    `paths`: the n-th mask is that of frame n; where there is none (None) no object has a point. `extra` gains
    `/mask_files/unlisted_ids`, frames by id, for ids in masks that no object has, and the flags of relations that hold
    while one of their ends is not to be seen. Where the record has tracks before, those of the annotation, it also gains
    `/objects/N/not_in_masks` and `/objects/N/only_in_masks`: frames, of those that have a mask, in which the two differ.
    Raises `BadImage`, naming the video, for a mask that cannot be read or is of another size than the record.
    """
    size = (graph.width, graph.height) if graph.width is not None and graph.height is not None else None
    points: dict[int, list[TrackPoint]] = {item.id: [] for item in graph.objects}
    unlisted: dict[str, list[int]] = {}
    for frame, path in enumerate(paths):
        if path is None:
            continue
        try:
            found = segments(mask_ids(path, graph.mask_encoding, size))
        except BadImage as fault:
            raise BadImage(f"{label(graph)}: {fault}") from None
        for number, segment in found.items():
            if number in points:
                points[number].append(TrackPoint(frame, segment.box, segment.code))
            else:
                unlisted.setdefault(str(number), []).append(frame)
    known = [frame for frame, path in enumerate(paths) if path is not None]
    differing = _differing(graph, points, known)
    graph = replace(graph, objects=tuple(replace(item, track=tuple(points[item.id])) for item in graph.objects))
    extra = {
        **graph.extra,
        **differing,
        **({"/mask_files/unlisted_ids": unlisted} if unlisted else {}),
        **absent_flags(graph, known=known),
    }
    return replace(graph, extra=extra)


def _differing(
    graph: VideoGraph, points: Mapping[int, Sequence[TrackPoint]], known: Sequence[int]
) -> dict[str, list[int]]:
    """Where the masks differ from the tracks that the record has already."""
    flags = {}
    for position, item in enumerate(graph.objects):
        if item.track is None:
            continue
        said = {point.frame for point in item.track} & {*known}
        shown = {point.frame for point in points[item.id]}
        for word, frames in (("not_in_masks", said - shown), ("only_in_masks", shown - said)):
            if frames:
                flags[f"/objects/{position}/{word}"] = sorted(frames)
    return flags
