"""Verdicts on the labels that meet: what can be decided is decided, the rest is asked, each distinct pair once."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

from sgeval.errors import SgevalError, shown
from sgeval.judges.labels import illegal, normalised
from sgeval.judges.verdicts import CATEGORIES, Judge, Pair, Verdict
from sgeval.judges.verdicts import Kind as LabelKind
from sgeval.temporal.options import Options
from sgeval.temporal.rows import Item, Match

KINDS: dict[str, LabelKind] = {"object": "object", "attribute": "attribute", "relation": "predicate"}
ILLEGAL = "illegal_label"
assert set(KINDS.values()) == set(get_args(LabelKind))


def pairs_of(items: Iterable[Item], matches: Iterable[Match]) -> list[Pair]:
    """The normalised labels of each match, in their order."""
    labels = {(item.video_id, item.side, item.kind, item.index): normalised(item.label) for item in items}
    return [
        Pair(
            KINDS[match.kind],
            labels[match.video_id, "reference", match.kind, match.reference],
            labels[match.video_id, "prediction", match.kind, match.prediction],
        )
        for match in matches
    ]


def is_open(pair: Pair) -> bool:
    """Whether a pair has to be asked: its labels differ, and the predicted one may be put to a judge."""
    return pair.reference != pair.prediction and not illegal(pair.prediction)


def to_ask(pairs: Iterable[Pair]) -> list[Pair]:
    """The distinct pairs that a judge is asked, sorted, so that what is asked does not hang on the order of videos."""
    return sorted(
        {pair for pair in pairs if is_open(pair)}, key=lambda pair: (pair.kind, pair.reference, pair.prediction)
    )


def judged(items: Sequence[Item], matches: Sequence[Match], judge: Judge, options: Options) -> list[Match]:
    """The matches with their verdicts. Raises `SgevalError` for a judge that does not answer as judges do."""
    pairs = pairs_of(items, matches)
    asked = to_ask(pairs)
    known = dict(zip(asked, checked(judge(asked), asked, judge.name) if asked else (), strict=True))
    return [_with(match, pair, known.get(pair), options) for match, pair in zip(matches, pairs, strict=True)]


def checked(verdicts: Sequence[Verdict], asked: Sequence[Pair], name: str) -> Sequence[Verdict]:
    """One verdict a pair, each with a category of the five or a reason for none."""
    if len(verdicts) != len(asked):
        raise SgevalError(f"judge {shown(name)}: expected {len(asked)} verdicts, got {len(verdicts)}")
    for verdict in verdicts:
        if verdict.category not in (*CATEGORIES, None) or (verdict.category is None and not verdict.reason):
            expected = f"one of {', '.join(CATEGORIES)}, or none with a reason"
            raise SgevalError(f"judge {shown(name)}: expected {expected}, got {shown(verdict.category)}")
    return verdicts


def _with(match: Match, pair: Pair, verdict: Verdict | None, options: Options) -> Match:
    if pair.reference == pair.prediction:
        return replace(match, category="identical", is_equal=True)
    if verdict is None:
        return replace(match, category="mismatch", reason=ILLEGAL)
    category = verdict.category
    if category == "identical" and options.identical == "canonical":
        category = "synonym"
    return replace(match, category=category, reason=verdict.reason if category is None else None)
