"""Frames of a clip, exactly those asked for, through PyAV (the extra `video`: `pip install "sgeval[video]"`).

A clip is decoded from its beginning, since seeking lands beside the frame in many files. Frames count from 0, in the order in
which they are shown. A clip that ends too early or is broken on the way is an error: no frame stands in for another.

Only plain containers (MP4, Matroska, AVI, MPEG-TS) in one file are opened: playlists and addresses of strangers are not
followed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from sgeval.errors import BadImage, SgevalError, one_line, shown
from sgeval.images import MAX_PIXELS, Size
from sgeval.records import VideoGraph

CONTAINERS = {"format_whitelist": "mov,matroska,webm,avi,mpegts", "protocol_whitelist": "file"}
SAME_RATE = 0.01  # of a rate: 29.97 and 30 are told apart by less, 5 and 25 by far more
HALF = 0.5
LATE = 0.75  # of a frame: sound may begin before the pictures, by 23 ms and less
MICRO = 1e6  # FFmpeg's units in a second
LATEST = 2**53  # seconds; whole ones are exact up to here
SAME_TIME = 1e-6  # seconds; times are fractions of frames, written as floats


@dataclass(frozen=True, slots=True)
class ClipFacts:
    """What a clip says of itself: its size as stored, frames a second, and frames, if it says how many. `late`: seconds from
    its beginning to its first frame, 0 for less than a frame."""

    width: int
    height: int
    fps: float | None
    num_frames: int | None
    late: float = 0.0


def has_pyav() -> bool:
    """Whether clips can be opened here."""
    return find_spec("av") is not None


def clip_facts(path: str | Path) -> ClipFacts:
    """What stands in a clip's head; no frame is decoded. Raises `BadImage` as `clip_frames`."""
    with _opened(path) as (container, stream):
        try:
            return _facts(container, stream, next(container.demux(stream), None))
        except _fault_type() as fault:
            raise BadImage(f"{_name(path)}: the clip is broken after 0 frames ({_words(fault)})") from None


def _facts(container: Any, stream: Any, packet: Any) -> ClipFacts:
    """`packet`: the first one of the stream, if there is one."""
    rate = stream.average_rate
    facts = (stream.width, stream.height, float(rate) if rate else None, stream.frames or None)
    return ClipFacts(*facts, 0.0 if packet is None else _late(container, stream, packet))


def _late(container: Any, stream: Any, packet: Any) -> float:
    """Seconds from a clip's beginning to its first frame, by its first packet; 0 for less than a frame.

    MP4 and Matroska count from the clip's beginning; MPEG-TS and AVI from anywhere. Where frames are stored in another order
    than shown, an MP4 without an edit list decodes the first one at 0 and shows it some frames later: none is lost there.
    """
    starts_at_0 = any(form in container.format.name for form in ("mp4", "matroska"))
    is_decoded_at_0 = "mp4" in container.format.name and not packet.dts
    if not starts_at_0 or is_decoded_at_0 or packet.pts is None or not stream.average_rate:
        return 0.0
    late = float(packet.pts * packet.time_base)
    return late if late * float(stream.average_rate) > LATE else 0.0


def check_whole(path: str | Path) -> ClipFacts:
    """The facts of a clip that is read through to its end, its frames counted where its head does not say how many; none is
    decoded. Raises `BadImage` as `clip_frames`, and for a clip that is cut short: a piece of it that is damaged, or fewer
    pictures than its head says.

    AVI and MPEG-TS do not say how many there are, so that cuts in them show only where they damage a piece.
    """
    with _opened(path) as (container, stream):
        facts, count, end = None, 0, 0.0
        try:
            for packet in container.demux(stream):
                facts = facts or _facts(container, stream, packet)
                if packet.is_corrupt:
                    raise BadImage(f"{_name(path)}: the clip is cut short or damaged, after {count} frames")
                if packet.size:
                    count += 1
                    if packet.pts is not None:
                        end = max(end, float((packet.pts + (packet.duration or 0)) * packet.time_base))
        except _fault_type() as fault:
            raise BadImage(f"{_name(path)}: the clip is broken after {count} frames ({_words(fault)})") from None
        facts = facts or _facts(container, stream, None)
        form = container.format.name
        if "mp4" in form and facts.num_frames is not None and count < facts.num_frames:
            said = f"{facts.num_frames} frames"
            raise BadImage(f"{_name(path)}: expected {said}, got a clip that is cut short after {count}")
        is_alone = len(container.streams) == 1 and container.duration is not None
        if "matroska" in form and is_alone and end < container.duration / MICRO - 2 / (facts.fps or 1.0):
            said = f"{container.duration / MICRO:g} s"
            raise BadImage(f"{_name(path)}: expected {said}, got a clip that is cut short at {end:g} s")
        return replace(facts, num_frames=facts.num_frames or count)


def clip_differences(graph: VideoGraph, facts: ClipFacts) -> list[str]:
    """In what a clip differs from the record of its video: "size", "rate", "length", "start"; what one of them does not say
    is left out.

    A clip that lies on its side has the same size, since players may turn it. Rates differ by more than one in a hundred,
    lengths by more than one frame of the record in seconds. A clip starts late where its first frames may be lost: not if
    its head counts as many as the record.

    >>> clip_differences(VideoGraph("7", width=48, height=32, fps=5.0, num_frames=6), ClipFacts(32, 48, 30.0, 36))
    ['rate']
    """
    size, seconds = {graph.width, graph.height}, None
    if (
        facts.fps is not None
        and facts.num_frames is not None
        and graph.fps is not None
        and graph.num_frames is not None
    ):
        seconds = abs(facts.num_frames / facts.fps - graph.num_frames / graph.fps)
    differs = {
        "size": None not in size and size != {facts.width, facts.height},
        "rate": not _same_rate(facts.fps, graph.fps),
        "length": seconds is not None and graph.fps is not None and seconds * graph.fps > 1 + SAME_RATE,
        "start": facts.late > 0 and not _has_all(facts.num_frames, graph.num_frames),
    }
    return [word for word, is_so in differs.items() if is_so]


def _same_rate(rate: float | None, fps: float | None) -> bool:
    """Whether a clip's rate is the one that is asked for, as far as both are known."""
    return not rate or fps is None or abs(rate - fps) <= SAME_RATE * fps


def _has_all(count: int | None, num_frames: int | None) -> bool:
    """Whether a clip's head counts the frames that there are, so that none is lost."""
    return count is not None and count == num_frames


def clip_frames(
    path: str | Path,
    indices: Sequence[int],
    *,
    fps: float | None = None,
    num_frames: int | None = None,
    expected: Size | None = None,
) -> list[Image.Image]:
    """The frames of these numbers, in the order asked for, as RGB pictures.

    `fps`: the rate in which the numbers count. A clip of another rate is then refused, as its numbers are others, and so is
    one that shows a frame more than half a frame off its time: others before it are lost, or its rate varies. One whose first
    frame is late is refused too, since others may be lost before it; not if its head counts `num_frames`, as many as there
    are. `expected`: the annotated (width, height), which also decides whether the rotation that a phone noted is carried
    out, as `images` does.

    Raises `BadImage` for a clip that cannot be read, ends before the last number, or is of another size or rate;
    `SgevalError` for numbers below 0, and where PyAV is not installed.
    """
    _check_each(path, indices, "numbers of frames", lambda index: type(index) is int and index >= 0)
    wanted = set(indices)
    if not wanted:
        return []
    found: dict[int, Image.Image] = {}
    with _opened(path) as (container, stream):
        rate = stream.average_rate
        if not _same_rate(rate and float(rate), fps):
            raise BadImage(
                f"{_name(path)}: expected a clip of {fps:g} frames a second, got {float(rate):g}: numbers of frames do not "
                "fit it; ask by time"
            )
        count = 0
        for count, (seconds, frame) in enumerate(_decoded(path, container, stream, num_frames), start=1):
            if count == 1 and seconds > 0:
                raise BadImage(
                    f"{_name(path)}: expected frame 0 at the clip's beginning, got it at {seconds:g} s: frames before it "
                    "may be lost; ask by time"
                )
            if fps is not None and rate and abs(seconds * float(rate) - (count - 1)) > HALF:
                raise BadImage(
                    f"{_name(path)}: expected frame {count - 1} at {(count - 1) / float(rate):g} s, got it at "
                    f"{seconds:g} s: frames before it are lost, or the rate varies; ask by time"
                )
            if count - 1 in wanted:
                found[count - 1] = _picture(path, frame, expected)
            if count > max(wanted):
                break
        else:
            raise BadImage(f"{_name(path)}: expected frame {max(wanted)}, got a clip that ends after {count} frames")
    return [found[index] for index in indices]


def clip_frames_at(
    path: str | Path, times: Sequence[float], *, num_frames: int | None = None, expected: Size | None = None
) -> list[Image.Image]:
    """The frames that are shown at these seconds from the clip's beginning, in the order asked for, whatever its rate.

    A frame is shown from its own time to that of the next. The beginning is that of the first frame, but where this may have
    lost others (see `clip_frames`) that of the clip's own time. Raises `BadImage` for a clip that cannot be read, and for a
    time that is past its end or before its first frame; `SgevalError` as `clip_frames`.
    """
    _check_each(path, times, "seconds", is_time)
    waiting = sorted(set(times), reverse=True)  # the next one is the last
    found: dict[float, Image.Image] = {}
    if not waiting:
        return []
    with _opened(path) as (container, stream):
        shown_now: Any = None
        seconds = 0.0
        for seconds, frame in _decoded(path, container, stream, num_frames):
            if shown_now is None and waiting[-1] < seconds - SAME_TIME:
                raise BadImage(
                    f"{_name(path)}: expected a frame at {waiting[-1]:g} s, got a clip whose first is at {seconds:g} s: "
                    "frames before it may be lost"
                )
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


def is_time(value: Any) -> bool:
    """Whether a value can be seconds from a clip's beginning.

    >>> is_time(0), is_time(2.5), is_time(-1), is_time("2"), is_time(float("inf"))
    (True, True, False, False, False)
    """
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    return is_real and bool(0 <= value < LATEST)


def _check_each(path: str | Path, values: Any, what: str, is_one: Callable[[Any], bool]) -> None:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise SgevalError(f"{_name(path)}: expected a list of {what}, got {shown(values)}")
    for value in values:
        if not is_one(value):
            raise SgevalError(f"{_name(path)}: expected {what} from 0 up, got {shown(value)}")


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
        if stream.codec_context is None:  # the head says that there is a stream, and not what it is
            raise BadImage(f"{_name(path)}: the clip's head is broken")
        if not 0 < stream.width * stream.height <= MAX_PIXELS:
            raise BadImage(
                f"{_name(path)}: expected frames of at most {MAX_PIXELS:,} pixels, got {stream.width} x {stream.height}"
            )
        yield container, stream


def _decoded(path: str | Path, container: Any, stream: Any, num_frames: int | None) -> Iterator[tuple[float, Any]]:
    """Time in seconds and frame, as shown: from the first frame on, or from the clip's beginning where it comes late."""
    import av

    count, first, late = 0, None, None
    try:
        for packet in container.demux(stream):
            if late is None:
                late = 0.0 if _has_all(stream.frames or None, num_frames) else _late(container, stream, packet)
            for frame in packet.decode():
                if frame.is_corrupt:
                    raise BadImage(f"{_name(path)}: the clip is broken at frame {count}")
                if frame.time is None:
                    raise BadImage(f"{_name(path)}: expected a time for each frame, got none for frame {count}")
                first = float(frame.time) if first is None else first
                count += 1
                yield float(frame.time) - first + late, frame
    except av.FFmpegError as fault:
        raise BadImage(f"{_name(path)}: the clip is broken after frame {count - 1} ({_words(fault)})") from None


def _fault_type() -> type[Exception]:
    import av

    found: type[Exception] = av.FFmpegError
    return found


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
