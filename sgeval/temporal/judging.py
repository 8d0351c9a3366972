"""Verdicts on the labels that meet."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sgeval.judges.labels import Identical, judge_pairs, normal
from sgeval.judges.verdicts import Judge, Pair
from sgeval.judges.verdicts import Kind as LabelKind
from sgeval.temporal.rows import Item, Match

KINDS: dict[str, LabelKind] = {"object": "object", "attribute": "attribute", "relation": "predicate"}
"""What the labels of each kind of item are to a judge."""


def form(item: Item) -> str:
    """The label of an item as judges compare it."""
    return normal(item.label, KINDS[item.kind])


def pairs_of(items: Iterable[Item], matches: Iterable[Match]) -> list[Pair]:
    """The labels of each match, in their order."""
    labels = {(item.video_id, item.side, item.kind, item.index): item.label for item in items}
    return [
        Pair(
            KINDS[match.kind],
            labels[match.video_id, "reference", match.kind, match.reference],
            labels[match.video_id, "prediction", match.kind, match.prediction],
        )
        for match in matches
    ]


def judged(items: Sequence[Item], matches: Sequence[Match], judge: Judge, identical: Identical) -> list[Match]:
    """The matches with their verdicts. Raises `SgevalError` for a judge that does not answer as judges do."""
    pairs = pairs_of(items, matches)
    return [
        replace(
            match,
            category=verdict.category,
            reason=verdict.reason,
            is_equal=normal(pair.reference, pair.kind) == normal(pair.prediction, pair.kind),
            is_repaired=verdict.is_repaired,
        )
        for match, pair, verdict in zip(matches, pairs, judge_pairs(judge, pairs, identical), strict=True)
    ]
