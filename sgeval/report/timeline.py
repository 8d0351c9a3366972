"""The relations of videos on the time line, each with the prediction that comes closest to it, and what became of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sgeval.records import CAMERA
from sgeval.report.text import cut, percent
from sgeval.temporal import Item, Match
from sgeval.temporal.hits import Reading, State, accepted
from sgeval.temporal.judging import form
from sgeval.temporal.result import States
from sgeval.temporal.rows import FlatSpans

RELATIONS = 8  # of a video
MOST_SPANS = 200  # drawn of a relation; the run's rows keep all
NAMED_SPANS = 3  # written out of a relation
CAMERA_NAME = "camera"
NO_ANSWER = "(nothing)"

CATEGORY_WORDS: Mapping[str, str] = {
    "identical": "identical",
    "synonym": "synonym",
    "hypernym": "broader or narrower",
    "overlap": "overlapping",
    "mismatch": "mismatch",
}


@dataclass(frozen=True)
class Drawn:
    """Spans as a path in a view of 100 x 14, and in words."""

    path: str
    words: str


@dataclass(frozen=True)
class Timed:
    """An annotated relation, the prediction that comes closest to it, and what became of it."""

    subject: str
    predicate: str
    object: str
    gold: Drawn
    said: str
    mine: Drawn | None
    verdict: str
    tiou: str
    outcome: str
    state: str
    """right, wrong or open."""


@dataclass(frozen=True)
class Video:
    """A video with the relations that are shown of it."""

    name: str
    n: int
    relation: str
    triplet: str
    length: str
    rows: tuple[Timed, ...]


class Timeline:
    """The relations of videos, each with the prediction that comes closest to it."""

    def __init__(self, states: States, main: int) -> None:
        self._options, self._main = states.options, main
        self._lenient = {kind: states.of(kind, Reading(False, main)).reference for kind in ("relation", "triplet")}
        self._rows = {row.video_id: row for row in states.videos}
        self._items = {(item.video_id, item.side, item.kind, item.index): item for item in states.items}
        self._labels = {
            (item.video_id, item.subject_id): item.label
            for item in states.items
            if item.kind == "object" and item.side == "reference"
        }
        self._gold: dict[str, list[Item]] = {}
        for item in states.items:
            if item.kind == "relation" and item.side == "reference":
                self._gold.setdefault(item.video_id, []).append(item)
        self._matches: dict[tuple[str, int], list[Match]] = {}
        for match in states.matches:
            if match.kind == "relation" and not match.is_turned:
                self._matches.setdefault((match.video_id, match.reference), []).append(match)

    def video(self, row: Mapping[str, Any]) -> Video:
        """A video of the slices, wrong relations first."""
        name = row["group"]
        shown = sorted(self._gold[name], key=lambda item: (self._state("triplet", item), item.index))[:RELATIONS]
        matches = {item.index: self._closest(item) for item in shown}
        spans = [item.spans for item in shown]
        spans += [self._predicted(match).spans for match in matches.values() if match is not None]
        length = self._rows[name].duration or max((end for flat in spans for end in flat), default=0.0) or 1.0
        timed = tuple(self._timed(item, matches[item.index], length) for item in shown)
        relation, triplet = percent(row["relation_accuracy"]), percent(row["triplet_accuracy"])
        return Video(cut(name), int(row["n"]), relation, triplet, _seconds(length), timed)

    def predicates(self) -> Iterator[tuple[str, str | None]]:
        """The predicate of each annotated relation, and what was said for it by the prediction that comes closest, `None`
        where the judge takes that for the same. Relations that the judge left open are left out."""
        for item in (item for items in self._gold.values() for item in items):
            match = self._closest(item)
            if match is None:
                yield form(item), NO_ANSWER
            elif match.category is not None:
                yield form(item), None if accepted(match, False, self._options)[0] else form(self._predicted(match))

    def _state(self, kind: str, item: Item) -> State:
        return self._lenient[kind][item.video_id, item.index]

    def _predicted(self, match: Match) -> Item:
        return self._items[match.video_id, "prediction", "relation", match.prediction]

    def _closest(self, item: Item) -> Match | None:
        def closeness(match: Match) -> tuple[bool, tuple[bool, bool], float, int]:
            passes, is_above = accepted(match, False, self._options), match.above[self._main]
            return passes[0] and is_above, passes, match.tiou or 0.0, -match.prediction

        return max(self._matches.get((item.video_id, item.index), ()), key=closeness, default=None)

    def _timed(self, item: Item, match: Match | None, length: float) -> Timed:
        subject, obj = (
            CAMERA_NAME if end == CAMERA else cut(self._labels[item.video_id, end])
            for end in (item.subject_id, item.object_id)
        )
        guess = None if match is None else self._predicted(match)
        triplet = self._state("triplet", item)
        return Timed(
            subject,
            cut(item.label),
            obj,
            self._drawn(item.spans, length, 1),
            "" if guess is None else cut(guess.label),
            None if guess is None else self._drawn(guess.spans, length, 8),
            "" if match is None else verdict(match),
            "" if match is None or match.tiou is None else f"{match.tiou:.2f}",
            self._outcome(item, match),
            "open" if triplet[0] != triplet[1] else "right" if triplet[0] else "wrong",
        )

    def _outcome(self, item: Item, match: Match | None) -> str:
        relation, triplet = self._state("relation", item), self._state("triplet", item)
        if triplet[0]:
            return "right"
        if triplet[1]:
            return "not decided"
        if match is None:
            return "wrong: nothing was said of this pair"
        if relation[0]:
            return "relation right, label of an end wrong"
        if not accepted(match, False, self._options)[1]:
            return "wrong: another predicate"
        return "wrong: another time" if not match.above[self._main] else "wrong"

    def _drawn(self, flat: FlatSpans, length: float, top: int) -> Drawn:
        spans = sorted((start, end) for start, end in zip(flat[::2], flat[1::2], strict=True) if start <= end)
        if not flat and self._options.missing_interval == "whole":
            return Drawn(_path([(0.0, length)], length, top), "throughout")
        named = ", ".join(f"{_seconds(start)}–{_seconds(end)}" for start, end in spans[:NAMED_SPANS])
        more = f" and {len(spans) - NAMED_SPANS} more" if len(spans) > NAMED_SPANS else ""
        return Drawn(_path(spans[:MOST_SPANS], length, top), f"{named}{more} s" if spans else "never")


def verdict(match: Match) -> str:
    """What was said of a pair of labels."""
    if match.category is None:
        return f"unjudged: {cut(match.reason or 'no reason given')}"
    if match.reason is not None:
        return f"refused: {cut(match.reason)}"
    return "equal" if match.is_equal else CATEGORY_WORDS[match.category]


def _path(spans: Sequence[tuple[float, float]], length: float, top: int) -> str:
    """Bars of five units below `top`, at least half a unit wide, cut at the ends of the view."""
    parts = []
    for start, end in spans:
        left, right = (min(max(100.0 * at / length, 0.0), 100.0) for at in (start, end))
        left = min(left, 99.5)
        parts.append(f"M{left:.2f} {top}H{max(right, left + 0.5):.2f}V{top + 5}H{left:.2f}Z")
    return "".join(parts)


def _seconds(value: float) -> str:
    """Seconds with two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
