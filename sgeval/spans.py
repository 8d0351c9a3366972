"""Spans of time: from the numbers of a source to half-open seconds, and back.

A source counts in frames, in seconds, or in indices on an axis of one a second, and its end is in the span or is not:

    frame, inclusive        [s, e]  ->  [s / fps, (e + 1) / fps)
    frame, exclusive        [s, e)  ->  [s / fps, e / fps)
    index_1fps, inclusive   [s, e]  ->  [s, e + 1)
    index_1fps, exclusive   [s, e)  ->  as it is
    second, exclusive       [s, e)  ->  as it is

Nothing is dropped, ordered or repaired: a span of no length and one that ends before it starts stay what they are.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from sgeval.errors import SgevalError, one_of, shown

SpanUnit = Literal["frame", "second", "index_1fps"]
SpanEnd = Literal["inclusive", "exclusive"]
Span = tuple[float, float]

SLOWEST, FASTEST = 1e-3, 1e6  # frames a second
RATES = f"frames a second from {SLOWEST} to {FASTEST:,.0f}"


def is_rate(fps: float) -> bool:
    """Whether a number can be that of frames a second.

    >>> is_rate(29.97), is_rate(0.0), is_rate(float("nan"))
    (True, False, False)
    """
    return SLOWEST <= fps <= FASTEST


def to_seconds(
    raw: Iterable[Sequence[float]], *, unit: SpanUnit, end: SpanEnd, fps: float | None = None
) -> tuple[Span, ...]:
    """The source's spans as half-open seconds. `fps` counts where the unit is a frame.

    Raises `SgevalError` for an unknown unit or end, for frames without a rate, and for seconds with an inclusive end, which
    have no half-open form.

    >>> to_seconds([(0, 9), (10, 10)], unit="frame", end="inclusive", fps=5)
    ((0.0, 2.0), (2.0, 2.2))
    """
    rate, more = _convention(unit, end, fps)
    return tuple((start / rate, (stop + more) / rate) for start, stop in raw)


def to_raw(spans: Iterable[Span], *, unit: SpanUnit, end: SpanEnd, fps: float | None = None) -> tuple[Span, ...]:
    """The numbers that `to_seconds` was given: exactly, where those are whole frames or whole indices, or seconds.

    Frames come out whole: seconds between two frames go to the nearer one. Raises `SgevalError` as `to_seconds`.

    >>> to_raw([(0.0, 2.0), (2.0, 2.2)], unit="frame", end="inclusive", fps=5)
    ((0.0, 9.0), (10.0, 10.0))
    """
    rate, more = _convention(unit, end, fps)
    if unit != "frame":
        return tuple((start, stop - more) for start, stop in spans)
    return tuple((float(round(start * rate)), float(round(stop * rate) - more)) for start, stop in spans)


def _convention(unit: str, end: str, fps: float | None) -> tuple[float, int]:
    """How many units a second has, and what is to be added to an end."""
    one_of("span_unit", unit, get_args(SpanUnit))
    one_of("span_end", end, get_args(SpanEnd))
    if unit == "second" and end == "inclusive":
        raise SgevalError("span_end: expected exclusive where the unit is a second, got inclusive")
    if unit == "frame" and (fps is None or not is_rate(fps)):
        raise SgevalError(f"fps: expected {RATES}, got {shown(fps)}")
    return (float(fps) if unit == "frame" and fps is not None else 1.0), int(end == "inclusive")


def odd_spans(raw: Sequence[Sequence[float]], *, end: SpanEnd, length: float | None = None) -> dict[str, list[int]]:
    """What is odd about the spans of one relation, as positions by word; the source's numbers are looked at.

    "inverted": ends before it starts. "empty": has no length; an inclusive end just before its start is both, since no
    second is in it. "overlapping": shares time with one that starts no later. "beyond_clip": reaches before 0 or past
    `length`, the number of frames or seconds of the clip, if that is known.

    >>> odd_spans([(0, 4), (3, 9), (7, 6)], end="inclusive", length=6)
    {'inverted': [2], 'empty': [2], 'overlapping': [1], 'beyond_clip': [1, 2]}
    """
    more = int(end == "inclusive")
    found: dict[str, list[int]] = {"inverted": [], "empty": [], "overlapping": [], "beyond_clip": []}
    forward = []
    for position, (start, stop) in enumerate(raw):
        if stop < start:
            found["inverted"].append(position)
        if stop + more == start:
            found["empty"].append(position)
        elif stop >= start:
            forward.append((start, position, stop + more))
        if length is not None and (min(start, stop) < 0 or max(start, stop) + more > length):
            found["beyond_clip"].append(position)
    latest = -math.inf
    for start, position, stop in sorted(forward):
        if start < latest:
            found["overlapping"].append(position)
        latest = max(latest, stop)
    found["overlapping"].sort()
    return {word: positions for word, positions in found.items() if positions}


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Half-open spans as their union, in order: those that touch or overlap become one; empty and inverted ones go.

    >>> merged([(20.0, 24.0), (0.0, 4.0), (3.0, 5.0), (5.0, 6.0), (9.0, 9.0)])
    ((0.0, 6.0), (20.0, 24.0))
    """
    out: list[Span] = []
    for start, stop in sorted(span for span in spans if span[0] < span[1]):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], stop))
        else:
            out.append((start, stop))
    return tuple(out)
