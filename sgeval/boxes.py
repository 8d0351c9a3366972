"""Boxes as arrays: `(N, 4)` float64 pixels, `x1 y1 x2 y2`. Records keep `[x, y, w, h]`; `corners` converts.

Pure geometry: nothing here knows pictures, graphs or models.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Boxes = npt.NDArray[np.float64]

SMALL = 0.2  # paper 1, Table 4: a box of less than a fifth of the other's area
FAR = 0.2  # paper 1, Section 4: apart by a fifth of the picture, here of its diagonal
ROUNDING = 1e-9  # relative; what decimals of a box lose on their way to a ratio, forgiven at both borders
TOUCHING = 1e-9  # share of the smaller box; less in common is the rounding of two edges that meet
SIZES = ("below 0.2", "0.2 and above")
DISTANCES = ("overlap", "near", "distant")


def corners(xywh: Sequence[Sequence[float]] | Boxes) -> Boxes:
    """Corners `(N, 4)` x1 y1 x2 y2 of boxes given as x, y, width, height.

    >>> corners([[10, 20, 30, 60]]).tolist()
    [[10.0, 20.0, 40.0, 80.0]]
    """
    boxes = np.asarray(xywh, dtype=np.float64).reshape(-1, 4)
    return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)


def area(boxes: Boxes) -> npt.NDArray[np.float64]:
    """Areas `(N,)` in square pixels; 0 where a side is not positive."""
    sides = np.clip(boxes[..., 2:] - boxes[..., :2], 0, None)
    return np.asarray(sides[..., 0] * sides[..., 1])


def union_box(first: Boxes, second: Boxes) -> Boxes:
    """The smallest boxes that hold both: the paper's union region of a subject and an object.

    >>> union_box(np.array([[0., 0., 2., 2.]]), np.array([[1., 3., 4., 5.]])).tolist()
    [[0.0, 0.0, 4.0, 5.0]]
    """
    low = np.minimum(first[..., :2], second[..., :2])
    return np.concatenate([low, np.maximum(first[..., 2:], second[..., 2:])], axis=-1)


def intersection(first: Boxes, second: Boxes) -> Boxes:
    """Common parts. A pair without one comes out with a side that is not positive: `area` reads it as 0."""
    low = np.maximum(first[..., :2], second[..., :2])
    return np.concatenate([low, np.minimum(first[..., 2:], second[..., 2:])], axis=-1)


def iou(first: Boxes, second: Boxes) -> npt.NDArray[np.float64]:
    """Intersection over union, elementwise, in 0–1; two boxes without area give 0.

    >>> iou(np.array([[0., 0., 2., 2.]]), np.array([[1., 0., 3., 2.]])).tolist()  # 2 / (4 + 4 - 2)
    [0.3333333333333333]
    """
    common = area(intersection(first, second))
    total = area(first) + area(second) - common
    return np.divide(common, total, out=np.zeros_like(common), where=total > 0)


def size_ratio(first: Boxes, second: Boxes) -> npt.NDArray[np.float64]:
    """The smaller area over the larger, elementwise, in 0–1; 0 where one of them has none.

    >>> float(size_ratio(np.array([0., 0., 2., 2.]), np.array([0., 0., 4., 5.])))
    0.2
    """
    areas = area(first), area(second)
    large = np.maximum(*areas)
    return np.divide(np.minimum(*areas), large, out=np.zeros_like(large), where=large > 0)


def gap(first: Boxes, second: Boxes) -> npt.NDArray[np.float64]:
    """The distance of the nearest edges, elementwise, in pixels; 0 where the boxes touch or overlap.

    >>> float(gap(np.array([0., 0., 2., 2.]), np.array([5., 6., 9., 9.])))  # 3 across, 4 down
    5.0
    """
    apart = np.maximum(first[..., :2] - second[..., 2:], second[..., :2] - first[..., 2:])
    return np.asarray(np.hypot(*np.moveaxis(np.maximum(apart, 0.0), -1, 0)))


def overlapping(first: Boxes, second: Boxes) -> npt.NDArray[np.bool_]:
    """Whether two boxes have an area in common, elementwise. Edges that meet have none, whatever rounding makes of them.

    >>> bool(overlapping(np.array([0., 0., 2., 2.]), np.array([1., 1., 4., 5.])))
    True
    """
    return np.asarray(area(intersection(first, second)) > TOUCHING * np.minimum(area(first), area(second)))


def size_group(ratio: float) -> str:
    """The name of a size ratio's group, one of `SIZES`."""
    return SIZES[ratio >= SMALL * (1 - ROUNDING)]


def distance_group(is_overlap: bool, apart: float) -> str:
    """The name of a distance's group, one of `DISTANCES`; `apart` is a share of the picture's diagonal."""
    return DISTANCES[0 if is_overlap else 1 + (apart >= FAR * (1 - ROUNDING))]


def clip_boxes(boxes: Boxes, width: float, height: float) -> Boxes:
    """Boxes cut to the picture `[0, width] x [0, height]`. A box wholly outside loses its area."""
    limits = np.array([width, height, width, height], dtype=np.float64)
    return np.clip(boxes, 0.0, limits)


def inside(boxes: Boxes, width: float, height: float, slack: float = 1.0) -> npt.NDArray[np.bool_]:
    """Whether each box lies in the picture; `slack` pixels over the edge are forgiven (rounding, inclusive corners)."""
    low = np.all(boxes[..., :2] >= -slack, axis=-1)
    return np.asarray(low & (boxes[..., 2] <= width + slack) & (boxes[..., 3] <= height + slack))
