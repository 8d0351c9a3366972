"""What the readers of videos share: ids, rates, whole numbers in a range, and what no column holds."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sgeval.errors import SgevalError, shown
from sgeval.readers.place import Place, is_number
from sgeval.records import VideoGraph
from sgeval.spans import RATES, is_rate


def video_id_of(place: Place, record: Any) -> str:
    """The `video_id` of a record. Raises `SgevalError` where it is not there, no text or empty."""
    video_id: str = place.get(record, "video_id", "a text that is not empty", str)
    if not video_id.strip():
        raise place.at(".video_id").fault("a text that is not empty", video_id)
    return video_id


class Once:
    """The videos of a data set so far, each of which comes once: masks, frames and predictions are found by a video's id, so
    one would be taken for the other.

    >>> videos = Once()
    >>> videos.add("a", "row 0")
    'a'
    >>> videos.add("a", "row 5")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: row 5: expected each video once, got "a" again (first in row 0)
    """

    def __init__(self) -> None:
        self.first: dict[str, str] = {}

    def add(self, video_id: str, where: str) -> str:
        """The id of a video that stands somewhere. Raises `SgevalError` for one that came before, naming both places."""
        if video_id in self.first:
            got = f"{shown(video_id)} again (first in {self.first[video_id]})"
            raise SgevalError(f"{where}: expected each video once, got {got}")
        self.first[video_id] = where
        return video_id


def records_of(
    make: Callable[[Any], VideoGraph], parts: Iterable[Any], faults: list[str] | None
) -> Iterator[VideoGraph]:
    """The record that `make` gives for each part of a file, in their order.

    `faults` is how `sgeval data info` reads on: a record that is not in the form is passed over, and what is wrong with it is
    noted there. Without such a list the fault is raised.
    """
    for part in parts:
        try:
            graph = make(part)
        except SgevalError as fault:
            if faults is None:
                raise
            faults.append(str(fault))
            continue
        yield graph


def whole_number(place: Place, row: Any, key: str, least: int, most: int) -> int:
    """The whole number under a key, from `least` to `most`."""
    value: int = place.get(row, key, "a whole number", int)
    if not least <= value <= most:
        raise place.at(f".{key}").fault(f"a whole number from {least:,} to {most:,}", value)
    return value


def rate(place: Place, row: Any) -> float:
    """The frames a second under `fps`."""
    fps = place.get(row, "fps", "frames a second", (int, float))
    if not is_rate(fps):
        raise place.at(".fps").fault(RATES, fps)
    return float(fps)


def rate_option(fps: Any) -> float | None:
    """The option `fps` of a reader. Raises `SgevalError` for what is neither a rate nor none."""
    if fps is not None and not (is_number(fps) and is_rate(fps)):
        raise SgevalError(f"fps: expected {RATES}, or none, got {shown(fps)}")
    return None if fps is None else float(fps)
