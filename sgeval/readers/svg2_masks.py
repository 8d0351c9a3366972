"""The masks of SVG2's videos: a row a video, a run-length code for each object and frame.

Codes are checked by `sgeval.masks` before they become a record's; nothing else decodes them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sgeval.errors import SgevalError, shown
from sgeval.images import MAX_PIXELS
from sgeval.masks import box_of_code
from sgeval.readers.parquet import Columns, row_counts, rows
from sgeval.readers.place import MOST_FRAMES, Place
from sgeval.readers.video_form import Once, whole_number
from sgeval.records import Box, Object, TrackPoint, VideoGraph

COLUMNS: Columns = {
    "video_id": "text",
    "num_objects": "whole numbers",
    "num_frames": "whole numbers",
    "mask_height": "whole numbers",
    "mask_width": "whole numbers",
    "counts": "texts",
}
MOST_OBJECTS = 100_000


class MaskRows:
    """The rows of masks of some files, by video. One is in memory at a time; those that come in the order in which they are
    asked for are read once."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        self.places: dict[str, tuple[Path, int, int, int]] | None = None
        self.group: tuple[Path, int] | None = None
        self.left: Iterator[dict[str, Any]] = iter(())
        self.next_row = 0

    def row(self, video_id: str) -> tuple[Place, dict[str, Any]] | None:
        """A video's row and where it stands, if there is one. Raises `SgevalError` for a video that has two."""
        self.places = self._index() if self.places is None else self.places
        if video_id not in self.places:
            return None
        path, group, in_group, in_file = self.places[video_id]
        if self.group != (path, group) or in_group < self.next_row:
            self.group, self.next_row = (path, group), 0
            self.left = rows(path, COLUMNS, tuple(COLUMNS), group=group, at_once=1)
        for found in self.left:
            self.next_row += 1
            if self.next_row > in_group:
                return Place(path).at(f"row {in_file} (video_id {shown(video_id)})"), found
        raise SgevalError(f"{path}: expected {in_group + 1} rows in group {group}, got {self.next_row}")

    def _index(self) -> dict[str, tuple[Path, int, int, int]]:
        places: dict[str, tuple[Path, int, int, int]] = {}
        videos = Once()
        for path in self.paths:
            in_file = 0
            for group in range(len(row_counts(path, COLUMNS))):
                for in_group, row in enumerate(rows(path, COLUMNS, ("video_id",), group=group, at_once=1_000)):
                    place = Place(path).at(f"row {in_file}")
                    video_id = place.get(row, "video_id", "a text", str)
                    places[videos.add(video_id, f"{path}: row {in_file}")] = (path, group, in_group, in_file)
                    in_file += 1
        return places


def with_masks(graph: VideoGraph, masks: MaskRows) -> VideoGraph:
    """The record with the size of its masks and the track of each object. Raises `SgevalError` for a row that is not in the
    form, with file, row, video and the object and frame of a code."""
    found = masks.row(graph.video_id)
    if found is None:
        return replace(graph, extra={**graph.extra, "/masks/missing": True})
    place, row = found
    n_objects = whole_number(place, row, "num_objects", 0, MOST_OBJECTS)
    n_frames = whole_number(place, row, "num_frames", 0, MOST_FRAMES)
    height, width = (whole_number(place, row, name, 1, MAX_PIXELS) for name in ("mask_height", "mask_width"))
    if height * width > MAX_PIXELS:
        raise place.fault(f"masks of at most {MAX_PIXELS:,} pixels", [width, height])
    is_empty = row["counts"] is None and not n_objects * n_frames
    codes = [] if is_empty else place.get(row, "counts", "a list of texts", list)
    if len(codes) != n_objects * n_frames:
        expected = f"{n_objects * n_frames:,} codes ({n_frames:,} frames of {n_objects:,} objects)"
        raise place.at(".counts").fault(expected, len(codes))
    tracks = _tracks(place.at(".counts"), codes, n_objects, (height, width))
    extra = {**graph.extra, "/masks/num_frames": n_frames, "/masks/num_objects": n_objects}
    ids = {item.id for item in graph.objects}
    unlisted = {str(number): [point.frame for point in track] for number, track in tracks.items() if number not in ids}
    if unlisted:
        extra["/masks/unlisted_ids"] = unlisted
    objects = []
    for position, item in enumerate(graph.objects):
        objects.append(_tracked(item, n_objects, tracks))
        if item.id >= n_objects:
            extra[f"/objects/{position}/no_mask"] = True
    return replace(graph, objects=tuple(objects), width=width, height=height, extra=extra)


def _tracked(item: Object, n_objects: int, tracks: Mapping[int, list[TrackPoint]]) -> Object:
    """The object with its track; it has none without a column of masks."""
    return replace(item, track=tuple(tracks.get(item.id, ())) if item.id < n_objects else None)


def _tracks(
    place: Place, codes: Sequence[str | None], n_objects: int, size: tuple[int, int]
) -> dict[int, list[TrackPoint]]:
    """The points of each object that is to be seen in some frame. The same code, mostly that of nothing, is checked once."""
    tracks: dict[int, list[TrackPoint]] = {}
    boxes: dict[str, Box | None] = {}
    for position, text in enumerate(codes):
        if text is None:
            continue
        frame, number = divmod(position, n_objects)
        if text not in boxes:
            try:
                boxes[text] = box_of_code({"size": [*size], "counts": text})
            except SgevalError as fault:
                where = f"{place.path}: {place.where}[{position}] (frame {frame}, object {number})"
                raise SgevalError(f"{where}: {str(fault).removeprefix('segmentation.counts: ')}") from None
        box = boxes[text]
        if box is not None:
            tracks.setdefault(number, []).append(TrackPoint(frame, box, {"size": [*size], "counts": text}))
    return tracks
