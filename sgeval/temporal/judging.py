"""Verdicts on the labels that meet."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from sgeval.judges.labels import judge_pairs, normal
from sgeval.judges.verdicts import Judge, Pair
from sgeval.judges.verdicts import Kind as LabelKind
from sgeval.temporal.meeting import Meeting
from sgeval.temporal.options import Options
from sgeval.temporal.rows import Item, Match

KINDS: dict[str, LabelKind] = {"object": "object", "attribute": "attribute", "relation": "predicate"}
"""What the labels of each kind of item are to a judge."""


def form(item: Item) -> str:
    """The label of an item as judges compare it."""
    return normal(item.label, KINDS[item.kind])


def pairs_of(found: Meeting) -> tuple[list[Pair], list[int]]:
    """The distinct pairs of labels that meet, and of each meeting the position of its pair."""
    codes: dict[tuple[str, str], int] = {}
    of_items = np.array([codes.setdefault((item.kind, item.label), len(codes)) for item in found.items], dtype=np.int64)
    left, right = (of_items[np.array(side, dtype=np.int64)] for side in (found.left, found.right))
    distinct, which = np.unique(left * len(codes) + right, return_inverse=True)
    labels = list(codes)
    pairs = []
    for code in distinct.tolist():
        (kind, reference), (_, prediction) = labels[code // len(codes)], labels[code % len(codes)]
        pairs.append(Pair(KINDS[kind], reference, prediction))
    return pairs, which.tolist()


def judged(found: Meeting, judge: Judge, options: Options) -> list[Match]:
    """What meets, timed and with its verdicts. Raises `SgevalError` for a judge that does not answer as judges do."""
    pairs, which = pairs_of(found)
    verdicts = judge_pairs(judge, pairs, options.identical)
    index = [item.index for item in found.items]

    def column(values: list[Any], places: list[int]) -> Iterable[Any]:
        return map(values.__getitem__, places)

    return list(
        map(
            Match,
            column([item.video_id for item in found.items], found.left),
            column([item.kind for item in found.items], found.left),
            column(index, found.left),
            column(index, found.right),
            column([verdict.category for verdict in verdicts], which),
            column([verdict.reason for verdict in verdicts], which),
            column([normal(pair.reference, pair.kind) == normal(pair.prediction, pair.kind) for pair in pairs], which),
            column([verdict.is_repaired for verdict in verdicts], which),
            *found.times(options.thresholds),
            found.is_turned,
        )
    )
