"""From boxes to the rectangle of the picture that is scored, and to what of it the encoder gets to see."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from sgeval.boxes import Boxes, area, clip_boxes, intersection
from sgeval.errors import SgevalError, one_of, shown

Context = Literal["none", "openvocsgg"] | tuple[Literal["ratio", "px"], float]
Fit = Literal["model", "pad", "squash"]
ImageMode = Literal["shortest", "longest", "squash"]
"""How an encoder brings a crop to its square input: cut the middle out, pad, or squash."""

OPENVOCSGG_MARGIN = 20  # pixels; the margin of the authors' released script
SEEN_SHARE = 0.5  # an endpoint counts as lost when the encoder sees less than this share of its area

Rects = npt.NDArray[np.int64]


def check_context(context: object) -> Context:
    """The context option, its pair form taken from a list too (YAML and JSON know no tuples)."""
    if isinstance(context, str):
        one_of("context", context, ("none", "openvocsgg"), more=', ("ratio", share), ("px", pixels)')
        return "none" if context == "none" else "openvocsgg"
    if isinstance(context, (tuple, list)) and len(context) == 2 and context[0] in ("ratio", "px"):
        amount: object = context[1]
        if isinstance(amount, (int, float)) and not isinstance(amount, bool) and 0 <= amount < 1e6:
            return (context[0], float(amount))
    raise SgevalError(
        f'context: expected "none", "openvocsgg", ("ratio", share) or ("px", pixels) of 0 or more, got {shown(context)}'
    )


def context_name(context: Context) -> str:
    """The context as signatures name it.

    >>> context_name("none"), context_name(("px", 20.0))
    ('none', 'px20each')
    """
    return f"{context[0]}{context[1]:g}each" if isinstance(context, tuple) else context


def crop_rects(unions: Boxes, width: int, height: int, context: Context = "none") -> Rects:
    """Whole-pixel rectangles `(N, 4)` x1 y1 x2 y2 to cut out of a picture of `width` x `height`.

    `"none"` is the union box; `("px", n)` moves each side out by n pixels; `("ratio", r)` moves each side out by the
    share r of the box's side. All three grow outward to whole pixels (floor, ceil) and stay in the picture, at least
    one pixel a side. `"openvocsgg"` repeats the authors' script: numbers are cut to int, only left and top move by
    20 px, width and height grow by 20 px, and the rectangle may leave the picture at the right and bottom (black there).

    The union boxes must touch the picture.

    >>> crop_rects(np.array([[100., 100., 200., 200.]]), 640, 480, ("px", 20)).tolist()
    [[80, 80, 220, 220]]
    >>> crop_rects(np.array([[100., 100., 200., 200.]]), 640, 480, "openvocsgg").tolist()
    [[80, 80, 200, 200]]
    """
    boxes = np.asarray(unions, dtype=np.float64).reshape(-1, 4)
    if context == "openvocsgg":
        start = np.trunc(boxes[:, :2]).astype(np.int64)
        sides = np.trunc(boxes[:, 2:] - boxes[:, :2]).astype(np.int64)
        low = np.maximum(start - OPENVOCSGG_MARGIN, 0)
        grown = np.minimum(sides + OPENVOCSGG_MARGIN, np.array([width, height]))
        return np.concatenate([low, low + np.maximum(grown, 1)], axis=1)
    if context != "none":
        unit, amount = context
        margin = amount * (boxes[:, 2:] - boxes[:, :2]) if unit == "ratio" else np.full((len(boxes), 2), amount)
        boxes = np.concatenate([boxes[:, :2] - margin, boxes[:, 2:] + margin], axis=1)
    boxes = clip_boxes(boxes, width, height)
    low = np.minimum(np.floor(boxes[:, :2]), np.array([width - 1, height - 1])).astype(np.int64)
    high = np.maximum(np.ceil(boxes[:, 2:]).astype(np.int64), low + 1)
    return np.concatenate([low, high], axis=1)


def seen_window(rect: Rects, mode: ImageMode, fit: Fit = "model") -> Boxes:
    """The part `(4,)` of a crop that reaches the encoder, in picture pixels.

    Only `fit="model"` with an encoder that scales the shortest side and cuts out the middle square loses anything.

    >>> seen_window(np.array([0, 0, 300, 100]), "shortest").tolist()
    [100.0, 0.0, 200.0, 100.0]
    """
    whole = np.asarray(rect, dtype=np.float64)
    if fit != "model" or mode != "shortest":
        return whole
    side = float(min(whole[2] - whole[0], whole[3] - whole[1]))
    centre = (whole[:2] + whole[2:]) / 2
    return np.concatenate([centre - side / 2, centre + side / 2])


def endpoint_cut(subject: Boxes, obj: Boxes, rect: Rects, mode: ImageMode, fit: Fit = "model") -> bool:
    """Whether the encoder sees less than half of the subject's or of the object's area in the crop."""
    ends = np.stack([subject, obj])
    here = intersection(ends, np.asarray(rect, dtype=np.float64))
    seen = area(intersection(here, seen_window(rect, mode, fit)))
    return bool(np.any(seen < SEEN_SHARE * area(here)))
