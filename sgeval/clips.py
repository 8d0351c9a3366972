"""Frames of a clip, exactly those asked for, through PyAV (the extra `video`: `pip install "sgeval[video]"`).

A clip is decoded from its beginning, since seeking lands beside the frame in many files. Frames count from 0, in the order in
which they are shown. A clip that ends too early or is broken on the way is an error: no frame stands in for another.

Only plain containers (MP4, Matroska, AVI, MPEG-TS) in one file are opened: playlists and addresses of strangers are not
followed.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from sgeval.errors import BadImage, SgevalError, one_line, shown
from sgeval.images import MAX_PIXELS, Size

CONTAINERS = {"format_whitelist": "mov,matroska,webm,avi,mpegts", "protocol_whitelist": "file"}
SAME_RATE = 0.01  # of a rate: 29.97 and 30 are told apart by less, 5 and 25 by far more
HALF = 0.5
SAME_TIME = 1e-6  # seconds; times are fractions of frames, written as floats


@dataclass(frozen=True, slots=True)
class ClipFacts:
    """What a clip says of itself: its size as stored, frames a second, and frames, if it says how many."""

    width: int
    height: int
    fps: float | None
    num_frames: int | None


def clip_facts(path: str | Path) -> ClipFacts:
    """What stands in a clip's head; no frame is decoded. Raises `BadImage` as `clip_frames`."""
    with _opened(path) as (_, stream):
        rate = stream.average_rate
        return ClipFacts(stream.width, stream.height, float(rate) if rate else None, stream.frames or None)


def clip_frames(
    path: str | Path, indices: Sequence[int], *, fps: float | None = None, expected: Size | None = None
) -> list[Image.Image]:
    """The frames of these numbers, in the order asked for, as RGB pictures.

    `fps`: the rate in which the numbers count. A clip of another rate is then refused, as its numbers are others, and so is
    one that shows a frame more than half a frame off its time: others before it are lost, or its rate varies. `expected`: the
    annotated (width, height), which also decides whether the rotation that a phone noted is carried out, as `images` does.

    Raises `BadImage` for a clip that cannot be read, ends before the last number, or is of another size or rate;
    `SgevalError` for numbers below 0, and where PyAV is not installed.
    """
    wanted = set(indices)
    if any(type(index) is not int or index < 0 for index in wanted):
        raise SgevalError(f"{_name(path)}: expected numbers of frames from 0 up, got {shown(sorted(wanted))}")
    if not wanted:
        return []
    found: dict[int, Image.Image] = {}
    with _opened(path) as (container, stream):
        rate = stream.average_rate
        if fps is not None and rate and abs(float(rate) - fps) > SAME_RATE * fps:
            raise BadImage(
                f"{_name(path)}: expected a clip of {fps:g} frames a second, got {float(rate):g}: numbers of frames do not "
                "fit it; ask by time"
            )
        count, first = 0, None
        for count, (seconds, frame) in enumerate(_decoded(path, container, stream), start=1):
            first = seconds if first is None else first
            if fps is not None and rate and abs((seconds - first) * float(rate) - (count - 1)) > HALF:
                raise BadImage(
                    f"{_name(path)}: expected frame {count - 1} at {(count - 1) / float(rate):g} s, got it at "
                    f"{seconds - first:g} s: frames before it are lost, or the rate varies; ask by time"
                )
            if count - 1 in wanted:
                found[count - 1] = _picture(path, frame, expected)
            if count > max(wanted):
                break
        else:
            raise BadImage(f"{_name(path)}: expected frame {max(wanted)}, got a clip that ends after {count} frames")
    return [found[index] for index in indices]


def clip_frames_at(path: str | Path, times: Sequence[float], *, expected: Size | None = None) -> list[Image.Image]:
    """The frames that are shown at these seconds from the clip's beginning, in the order asked for, whatever its rate.

    A frame is shown from its own time to that of the next. Raises `BadImage` for a clip that cannot be read, and for a time
    that is past its end; `SgevalError` as `clip_frames`.
    """
    if any(not time >= 0 for time in times):
        raise SgevalError(f"{_name(path)}: expected seconds from 0 up, got {shown(list(times))}")
    waiting = sorted(set(times), reverse=True)  # the next one is the last
    found: dict[float, Image.Image] = {}
    if not waiting:
        return []
    with _opened(path) as (container, stream):
        first: float | None = None
        shown_now: Any = None
        seconds = 0.0
        for seconds, frame in _decoded(path, container, stream):
            first = seconds if first is None else first
            seconds -= first
            while waiting and shown_now is not None and waiting[-1] < seconds - SAME_TIME:
                found[waiting.pop()] = _picture(path, shown_now, expected)
            if not waiting:
                break
            shown_now = frame
        end = seconds + (1 / float(stream.average_rate) if stream.average_rate else 0.0)
        while waiting and shown_now is not None and waiting[-1] < end - SAME_TIME:
            found[waiting.pop()] = _picture(path, shown_now, expected)
        if waiting:
            raise BadImage(f"{_name(path)}: expected a frame at {waiting[-1]:g} s, got a clip that ends at {end:g} s")
    return [found[time] for time in times]


def _name(path: str | Path) -> str:
    return one_line(str(path))


@contextmanager
def _opened(path: str | Path) -> Iterator[tuple[Any, Any]]:
    """The container and its first video stream."""
    try:
        import av
    except ImportError:
        raise SgevalError('clips: expected PyAV, got none; pip install "sgeval[video]"') from None
    if not Path(path).is_file():
        raise BadImage(f"{_name(path)}: no such file")
    try:
        container = av.open(str(Path(path).resolve()), options=CONTAINERS)
    except (av.FFmpegError, ValueError, OSError) as fault:
        raise BadImage(f"{_name(path)}: the clip cannot be opened ({_words(fault)})") from None
    with container:
        if not container.streams.video:
            raise BadImage(f"{_name(path)}: expected a clip with pictures, got none in it")
        stream = container.streams.video[0]
        if not 0 < stream.width * stream.height <= MAX_PIXELS:
            raise BadImage(
                f"{_name(path)}: expected frames of at most {MAX_PIXELS:,} pixels, got {stream.width} x {stream.height}"
            )
        yield container, stream


def _decoded(path: str | Path, container: Any, stream: Any) -> Iterator[tuple[float, Any]]:
    """Time in seconds and frame, as shown."""
    import av

    count = 0
    try:
        for count, frame in enumerate(container.decode(stream), start=1):
            if frame.is_corrupt:
                raise BadImage(f"{_name(path)}: the clip is broken at frame {count - 1}")
            if frame.time is None:
                raise BadImage(f"{_name(path)}: expected a time for each frame, got none for frame {count - 1}")
            yield float(frame.time), frame
    except av.FFmpegError as fault:
        raise BadImage(f"{_name(path)}: the clip is broken after frame {count - 1} ({_words(fault)})") from None


def _words(fault: BaseException) -> str:
    return shown(getattr(fault, "strerror", None) or str(fault))


def _picture(path: str | Path, frame: Any, expected: Size | None) -> Image.Image:
    """The frame as RGB, upright as the annotation means it."""
    image = Image.fromarray(np.ascontiguousarray(frame.to_ndarray(format="rgb24")))
    turn = frame.rotation % 360
    upright = image.size if turn in (0, 180) else (image.size[1], image.size[0])
    if expected is not None and expected not in (upright, image.size):
        got = f"{image.size[0]} x {image.size[1]}"
        raise BadImage(f"{_name(path)}: expected the annotated {expected[0]} x {expected[1]}, got {got}")
    return image.rotate(turn, expand=True) if turn and expected in (None, upright) else image
