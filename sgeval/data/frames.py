"""Pictures of a video's record: from its frame files where the record names them, else from its clip."""

import math
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from sgeval.clips import SAME_TIME, clip_frames, clip_frames_at
from sgeval.data.pictures import Place, place_of
from sgeval.data.reading import data_set
from sgeval.errors import BadImage, SgevalError, shown
from sgeval.images import load_image
from sgeval.records import VideoGraph, label


def video_frames(
    name: str,
    graph: VideoGraph,
    data_dir: str | Path,
    indices: Sequence[int] | None = None,
    *,
    times: Sequence[float] | None = None,
    image_dir: str | Path | None = None,
) -> list[Image.Image]:
    """The frames of a record of the data set `name` as RGB pictures, in the order asked for: by number from 0, or by
    `times` in seconds. A frame n is shown from n / fps on.

    Files come first, as `frame_files` names them below `data_dir` (or `image_dir`); a record without them is read from its
    clip, which takes the extra `video`. Raises `BadImage`, naming the video, for files that are missing, broken or of another
    size than the record, and for a clip that ends too early or has another rate than the record's frames; `SgevalError` for
    numbers that are none of the record's.
    """
    if (indices is None) == (times is None):
        raise SgevalError(f"{label(graph)}: expected either indices or times of frames")
    found = data_set(name)
    place = place_of(found, found.default_config, data_dir, image_dir)
    size = (graph.width, graph.height) if graph.width is not None and graph.height is not None else None
    if graph.frame_files is not None:
        return [_file(place, graph, index, size) for index in (_numbers(graph, times) if indices is None else indices)]
    path = place.clip(graph)
    if path is None:
        raise BadImage(f"{label(graph)}: expected the clip {shown(graph.file_name)} at {place.tried('clip')}, got none")
    try:
        if indices is None:
            return clip_frames_at(path, times or (), expected=size)
        return clip_frames(path, indices, fps=graph.fps, expected=size)
    except BadImage as fault:
        raise BadImage(f"{label(graph)}: {fault}") from None


def _numbers(graph: VideoGraph, times: Sequence[float] | None) -> list[int]:
    if graph.fps is None:
        raise SgevalError(f"{label(graph)}: times: expected a record with fps, got none")
    for time in times or ():
        if not (time >= 0 and math.isfinite(time)):
            raise SgevalError(f"{label(graph)}: times: expected seconds from 0 up, got {shown(time)}")
    return [math.floor((time + SAME_TIME) * graph.fps) for time in times or ()]


def _file(place: Place, graph: VideoGraph, index: int, size: tuple[int, int] | None) -> Image.Image:
    names = graph.frame_files or ()
    if type(index) is not int or not 0 <= index < len(names):
        raise SgevalError(f"{label(graph)}: expected the number of one of {len(names)} frames, got {shown(index)}")
    path = place.frame(graph, index)
    if path is None:
        tried = place.tried()
        raise BadImage(f"{label(graph)}: expected frame {index}, {shown(names[index])}, at {tried}, got none")
    try:
        return load_image(path, size)
    except BadImage as fault:
        raise BadImage(f"{label(graph)}: {fault}") from None
