"""Verdicts on the labels that meet."""

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
    told = [
        (
            verdict.category,
            verdict.reason,
            normal(pair.reference, pair.kind) == normal(pair.prediction, pair.kind),
            verdict.is_repaired,
        )
        for pair, verdict in zip(pairs, judge_pairs(judge, pairs, options.identical), strict=True)
    ]
    items = found.items
    return [
        Match(items[left].video_id, items[left].kind, items[left].index, items[right].index, *told[at], *when)
        for left, right, at, *when in zip(
            found.left, found.right, which, *found.times(options.thresholds), found.is_turned, strict=True
        )
    ]
