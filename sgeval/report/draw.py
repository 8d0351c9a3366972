"""Drawings as plain numbers: what a template needs to write an SVG. No markup is made here."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from sgeval.errors import one_line
from sgeval.report.text import hundred
from sgeval.rows import Corners

SIDE = 320  # the longest side of a drawing of a crop, in its own units and at most in stored pixels
CONTEXT = 0.12  # what is shown around the crop, as a share of its longest side
SHAPE = 4 / 3  # width to height of what is shown, where the picture is large enough
TAG_HEIGHT = 19.0
TAG_FONT = 13.0
LONGEST_TAG = 24  # characters
HEAD = 11.0  # length of the arrow's head
SHORTEST_ARROW = 40.0  # from centre to centre; where they are nearer the arrow goes from corner to corner

CHART_WIDTH, CHART_HEIGHT = 480.0, 210.0
CHART_LEFT, CHART_RIGHT, CHART_TOP, CHART_BOTTOM = 46.0, 12.0, 22.0, 42.0
BINS = 25

SCALE_LEFT, SCALE_RIGHT, SCALE_TOP, SCALE_STEP = 78.0, 16.0, 16.0, 26.0

Window = tuple[int, int, int, int]


@dataclass(frozen=True)
class Box:
    """A rectangle with a name tag on it."""

    x: float
    y: float
    w: float
    h: float
    tag_x: float
    tag_y: float
    tag_w: float
    tag: str


@dataclass(frozen=True)
class Overlay:
    """What is drawn over a crop, in a view of `width` x `height`."""

    width: float
    height: float
    subject: Box
    object: Box
    arrow: tuple[float, float, float, float] | None
    """From the subject's centre to the base of the head."""
    head: str
    """The head's corners."""
    shade: str
    """Path over everything outside the crop that was scored; empty when nothing is."""


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram, with its words."""

    x: float
    y: float
    w: float
    h: float
    words: str


@dataclass(frozen=True)
class Histogram:
    """A histogram in a view of `CHART_WIDTH` x `CHART_HEIGHT`."""

    bars: tuple[Bar, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    mean_x: float
    mean: str
    n: int
    width: float = CHART_WIDTH
    height: float = CHART_HEIGHT
    left: float = CHART_LEFT
    right: float = CHART_WIDTH - CHART_RIGHT
    top: float = CHART_TOP
    base: float = CHART_HEIGHT - CHART_BOTTOM


@dataclass(frozen=True)
class Lane:
    """A value on the scale, with its interval, and what chance would give."""

    name: str
    y: float
    value: float
    ends: tuple[float, float] | None
    chance: float | None


@dataclass(frozen=True)
class Scale:
    """Values between 0 and 100 on one axis, in a view of `width` x `height`."""

    lanes: tuple[Lane, ...]
    ticks: tuple[tuple[float, str], ...]
    base: float
    height: float
    width: float = CHART_WIDTH


Measured = tuple[str, float | None, float | None, float | None, float | None]
"""Name, value, low, high and chance level, as fractions."""


def scale(rows: Sequence[Measured]) -> Scale | None:
    """What was measured on one axis ×100, rows without a value left out; `None` when none has one.

    >>> drawn = scale([("θ", 0.5, None, None, 1.0)])
    >>> drawn.lanes[0].value, drawn.lanes[0].chance, drawn.ticks[0]
    (271.0, 464.0, (78.0, '0'))
    """

    def at(value: float) -> float:
        return round(SCALE_LEFT + min(max(value, 0.0), 1.0) * (CHART_WIDTH - SCALE_LEFT - SCALE_RIGHT), 1)

    there = [row for row in rows if row[1] is not None]
    lanes = tuple(
        Lane(
            name,
            SCALE_TOP + index * SCALE_STEP,
            at(value or 0.0),
            None if low is None or high is None else (at(low), at(high)),
            None if chance is None else at(chance),
        )
        for index, (name, value, low, high, chance) in enumerate(there)
    )
    if not lanes:
        return None
    base = SCALE_TOP + len(lanes) * SCALE_STEP - 8
    return Scale(lanes, tuple((at(tick / 100), str(tick)) for tick in (0, 25, 50, 75, 100)), base, base + 20)


def shown_window(boxes: Sequence[Corners], width: int, height: int) -> Window:
    """Whole pixels x1 y1 x2 y2 of a picture that show all the boxes with some context, 4 to 3 where there is room.

    >>> shown_window([(100.0, 100.0, 200.0, 120.0)], 640, 480)
    (88, 63, 212, 157)
    """
    low = [max(min(box[axis] for box in boxes), 0.0) for axis in (0, 1)]
    high = [min(max(box[axis + 2] for box in boxes), float(side)) for axis, side in enumerate((width, height))]
    margin = max(CONTEXT * max(high[0] - low[0], high[1] - low[1]), 6.0)
    across, down = (end - start + 2 * margin for start, end in zip(low, high, strict=True))
    x1, x2 = _span(low[0], high[0], max(across, SHAPE * down), width)
    y1, y2 = _span(low[1], high[1], max(down, across / SHAPE), height)
    return x1, y1, x2, y2


def _span(low: float, high: float, side: float, limit: int) -> tuple[int, int]:
    """A span of `side` around low..high, moved into 0..limit."""
    side = min(side, float(limit))
    start = min(max((low + high - side) / 2, 0.0), limit - side)
    first = min(math.floor(start + 1e-6), limit - 1)
    return first, max(min(math.ceil(start + side - 1e-6), limit), first + 1)


def overlay(
    window: Window,
    subject_box: Corners,
    object_box: Corners,
    labels: tuple[str, str],
    crop: Corners | None = None,
    arrow: bool = True,
) -> Overlay:
    """Boxes, tags, arrow and shade over a window of the picture. Boxes and crop are in picture pixels."""
    scale = SIDE / max(window[2] - window[0], window[3] - window[1])
    width, height = (window[2] - window[0]) * scale, (window[3] - window[1]) * scale
    first, second = (_placed(box, window, scale) for box in (subject_box, object_box))
    subject_is_upper = 2 * first[1] + first[3] <= 2 * second[1] + second[3]
    subject_tag = _tag(first, labels[0], width, height, above=subject_is_upper)
    object_tag = _tag(second, labels[1], width, height, above=not subject_is_upper)
    if _touch(subject_tag, object_tag):
        object_tag = _moved(object_tag, subject_tag, height)
    line, head = _arrow(first, second) if arrow else (None, "")
    shade = _shade(_placed(crop, window, scale), width, height) if crop else ""
    return Overlay(
        round(width, 1),
        round(height, 1),
        _box(first, subject_tag),
        _box(second, object_tag),
        line,
        head,
        shade,
    )


_Rect = tuple[float, float, float, float]
"""x, y, width, height."""
_Tag = tuple[float, float, float, str]
"""x, y, width, text."""


def _placed(box: Corners, window: Window, scale: float) -> _Rect:
    x, y = (box[0] - window[0]) * scale, (box[1] - window[1]) * scale
    return x, y, (box[2] - box[0]) * scale, (box[3] - box[1]) * scale


def _box(rect: _Rect, tag: _Tag) -> Box:
    x, y, w, h, tag_x, tag_y, tag_w = (round(value, 1) for value in (*rect, *tag[:3]))
    return Box(x, y, w, h, tag_x, tag_y, tag_w, tag[3])


def _tag(rect: _Rect, label: str, width: float, height: float, above: bool) -> _Tag:
    """Where a tag stands: above the box (or below it) when there is room, else inside its edge."""
    text, tag_width = fitting(label, width - 4)
    x = min(max(rect[0], 1.0), width - tag_width - 1)
    y = rect[1] - TAG_HEIGHT if above else rect[1] + rect[3]
    if y < 1:
        y = max(rect[1], 1.0)
    elif y + TAG_HEIGHT > height - 1:
        y = min(rect[1] + rect[3], height - 1) - TAG_HEIGHT
    return x, y, tag_width, text


def fitting(label: str, room: float, limit: int = LONGEST_TAG) -> tuple[str, float]:
    """As much of a label as fits, at most `limit` characters, and its width with a little air, as a tag has it."""
    text = one_line(label)
    taken = 10.0
    for index, char in enumerate(text):
        step = TAG_FONT if east_asian_width(char) in "WF" else 0.6 * TAG_FONT
        if taken + step > room or index >= limit:
            return text[:index].rstrip() + "…", min(taken + TAG_FONT, room)
        taken += step
    return text, taken


def _touch(one: _Tag, other: _Tag) -> bool:
    across = one[0] < other[0] + other[2] and other[0] < one[0] + one[2]
    return across and abs(one[1] - other[1]) < TAG_HEIGHT + 1


def _moved(tag: _Tag, fixed: _Tag, height: float) -> _Tag:
    below = fixed[1] + TAG_HEIGHT + 2
    y = below if below + TAG_HEIGHT <= height - 1 else fixed[1] - TAG_HEIGHT - 2
    return tag[0], y, tag[2], tag[3]


def _arrow(subject: _Rect, obj: _Rect) -> tuple[tuple[float, float, float, float] | None, str]:
    """Line and head from centre to centre, or between the corners of one name that are farthest apart where the centres all
    but meet, as one box in another has them; none where the boxes are all but the same."""
    ends = [_at(rect, 0.5, 0.5) for rect in (subject, obj)]
    if math.dist(*ends) < SHORTEST_ARROW:
        corners = [[_at(rect, x, y) for rect in (subject, obj)] for x in (0, 1) for y in (0, 1)]
        ends = max([ends, *corners], key=lambda pair: math.dist(*pair))
    (x1, y1), (x2, y2) = ends
    length = math.dist(*ends)
    if length < 1.5 * HEAD:
        return None, ""
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    bx, by = x2 - HEAD * dx, y2 - HEAD * dy
    half = HEAD * 0.55
    corner = ((x2, y2), (bx - half * dy, by + half * dx), (bx + half * dy, by - half * dx))
    line = (round(x1, 1), round(y1, 1), round(bx, 1), round(by, 1))
    return line, " ".join(f"{x:.1f},{y:.1f}" for x, y in corner)


def _at(rect: _Rect, across: float, down: float) -> tuple[float, float]:
    return rect[0] + across * rect[2], rect[1] + down * rect[3]


def _shade(crop: _Rect, width: float, height: float) -> str:
    x1, y1 = max(crop[0], 0.0), max(crop[1], 0.0)
    x2, y2 = min(crop[0] + crop[2], width), min(crop[1] + crop[3], height)
    if x1 < 0.5 and y1 < 0.5 and x2 > width - 0.5 and y2 > height - 0.5:
        return ""
    return f"M0 0H{width:.1f}V{height:.1f}H0ZM{x1:.1f} {y1:.1f}H{x2:.1f}V{y2:.1f}H{x1:.1f}Z"


def histogram(scores: Sequence[float]) -> Histogram | None:
    """The histogram of finite scores, the axis ×100; `None` of none. Bins hold their left edge, the last one both.

    >>> [bar.words for bar in histogram([0.5, 0.55, 0.9]).bars if bar.h]
    ['50 to 52: 1', '54 to 56: 1', '90 to 92: 1']
    """
    values = sorted(100 * value for value in scores if math.isfinite(value))
    if not values:
        return None
    step = _nice((values[-1] - values[0]) / (BINS - 2) or 1.0)
    start = math.floor(values[0] / step + 1e-9)
    bins = max(math.floor(values[-1] / step + 1e-9) - start + 1, 4)
    counts = [0] * bins
    for value in values:
        counts[min(int(value / step - start + 1e-9), bins - 1)] += 1
    across = (CHART_WIDTH - CHART_LEFT - CHART_RIGHT) / bins
    base = CHART_HEIGHT - CHART_BOTTOM
    grid = _nice(max(max(counts) / 4, 1.0))
    top = grid * math.ceil(max(counts) / grid)
    up = (base - CHART_TOP) / top
    bars = tuple(
        Bar(
            round(CHART_LEFT + index * across + 0.5, 1),
            round(base - count * up, 1),
            round(across - 1, 1),
            round(count * up, 1),
            f"{(start + index) * step:g} to {(start + index + 1) * step:g}: {count}",
        )
        for index, count in enumerate(counts)
    )
    every = max(1, math.ceil(bins / 6))
    mean = math.fsum(values) / len(values)
    return Histogram(
        bars,
        tuple((round(CHART_LEFT + i * across, 1), f"{(start + i) * step:g}") for i in range(0, bins + 1, every)),
        tuple((round(base - i * grid * up, 1), f"{i * grid:g}") for i in range(round(top / grid) + 1)),
        round(CHART_LEFT + (mean / step - start) * across, 1),
        hundred(mean / 100),
        len(values),
    )


def _nice(value: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return next((factor * power for factor in (1, 2, 5) if value <= factor * power * (1 + 1e-9)), 10 * power)
