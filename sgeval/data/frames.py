"""Pictures of a video's record: from its frame files where the record names them, else from its clip."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from sgeval.clips import SAME_TIME, ClipFacts, clip_facts, clip_frames, clip_frames_at, is_time
from sgeval.data.pictures import Place, place_of
from sgeval.data.reading import data_set
from sgeval.errors import BadImage, SgevalError, one_line, shown
from sgeval.images import load_image
from sgeval.records import VideoGraph, label

MASK_COUNT = "/masks/num_frames"
"""Where `extra` says how many frames have masks, in records that have no files of them."""


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
    size than the record, and for a clip that ends too early, begins too late, has another rate than the record's frames (or
    those of its source), or fewer frames than masks; `SgevalError` for numbers that are none of the record's, and for files
    that count from another number or at another rate.
    """
    if (indices is None) == (times is None):
        raise SgevalError(f"{label(graph)}: expected either indices or times of frames")
    asked = _asked(graph, indices, times)
    found = data_set(name)
    place = place_of(found, found.default_config, data_dir, image_dir)
    size = (graph.width, graph.height) if graph.width is not None and graph.height is not None else None
    if graph.frame_files is not None:
        place.check_frames(graph)
        numbers = _numbers(graph, asked) if indices is None else asked
        _check(graph, numbers)
        return [_file(name, place, graph, index, size) for index in numbers]
    if graph.num_frames is not None and (indices is not None or graph.fps is not None):
        _check(graph, _numbers(graph, asked) if indices is None else asked)
    path = place.clip(graph)
    if path is None:
        expected = (
            f"expected the clip {shown(graph.file_name)} at {place.tried('clip', graph.file_name or '')}, got none"
        )
        raise BadImage(f"{label(graph)}: {expected}; {_what_to_do(name)}")
    try:
        if indices is None:
            return clip_frames_at(path, asked, num_frames=graph.num_frames, expected=size)
        _check_masks(graph, path)
        fps = found.clip_rates.get(graph.source or "") if graph.fps is None else graph.fps
        return clip_frames(path, asked, fps=fps, num_frames=graph.num_frames, expected=size)
    except SgevalError as fault:
        raise type(fault)(f"{label(graph)}: {fault}") from None


def _check_masks(graph: VideoGraph, path: Path) -> None:
    """Raise `BadImage` for a clip with fewer frames than masks: the numbers of these are none of its own."""
    if has_fewer_frames_than_masks(graph, facts := clip_facts(path)):
        expected = f"expected a clip of {graph.extra[MASK_COUNT]} frames or more, as many as have masks"
        raise BadImage(f"{one_line(str(path))}: {expected}, got {facts.num_frames}: numbers of frames do not fit it")


def has_fewer_frames_than_masks(graph: VideoGraph, facts: ClipFacts) -> bool:
    """Whether a clip has fewer frames than the record has masks, as far as both are known."""
    n_masks = graph.extra.get(MASK_COUNT)
    return type(n_masks) is int and facts.num_frames is not None and facts.num_frames < n_masks


def _what_to_do(name: str) -> str:
    """What helps where a file is not there any more: rows that are loaded name it, and do not see it go."""
    return (
        f"put it back or name its folder with image_dir. `sgeval data info {name} --data-dir DIR` lists what is missing"
    )


def _asked(graph: VideoGraph, indices: Any, times: Any) -> list[Any]:
    """What is asked for, as a list; of times it is known that each is one."""
    what, values = ("times", times) if indices is None else ("indices", indices)
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise SgevalError(f"{label(graph)}: {what}: expected a list of numbers, got {shown(values)}")
    values = list(values)
    for time in values if indices is None else ():
        if not is_time(time):
            raise SgevalError(f"{label(graph)}: times: expected seconds from 0 up, got {shown(time)}")
    return values


def _numbers(graph: VideoGraph, times: Sequence[float]) -> list[int]:
    if graph.fps is None:
        raise SgevalError(f"{label(graph)}: times: expected a record with fps, got none")
    return [math.floor((time + SAME_TIME) * graph.fps) for time in times]


def _check(graph: VideoGraph, numbers: Sequence[int]) -> None:
    """Raise `SgevalError` for a number that is none of the record's frames, whatever files or clip hold beyond them."""
    known = [
        count
        for count in (graph.num_frames, None if graph.frame_files is None else len(graph.frame_files))
        if count is not None
    ]
    for index in numbers:
        if type(index) is not int or not 0 <= index < min(known):
            raise SgevalError(f"{label(graph)}: expected the number of one of {min(known)} frames, got {shown(index)}")


def _file(data_set_name: str, place: Place, graph: VideoGraph, index: int, size: tuple[int, int] | None) -> Image.Image:
    name = (graph.frame_files or ())[index]
    if name is None:
        expected = f"expected frame {index}, got none: it was missing when the row was made"
        raise BadImage(f"{label(graph)}: {expected}; put it back and load the data set again")
    path = place.frame(graph, index)
    if path is None:
        expected = f"expected frame {index}, {shown(name)}, at {place.tried('frame', name)}, got none"
        raise BadImage(f"{label(graph)}: {expected}; {_what_to_do(data_set_name)}")
    try:
        return load_image(path, size)
    except BadImage as fault:
        raise BadImage(f"{label(graph)}: {fault}") from None
