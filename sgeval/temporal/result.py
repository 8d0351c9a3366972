"""From rows to the result: pure functions, independent of the order of the rows.

Shares are in percent, over annotated items (recall, as the authors name it). An item whose verdicts leave it open is not
decided: when more than `max_unjudged` of the items of a headline are open it is `None`, and `…_on_judged`,
`…_at_least` and `…_at_most` say what is known.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from sgeval.readers.answers import NO_ANSWER
from sgeval.summary import Floats, Sample, intervals
from sgeval.temporal import hits
from sgeval.temporal.hits import Hits, Key, Reading, State
from sgeval.temporal.judging import form
from sgeval.temporal.options import HEADLINE_THRESHOLD, KINDS, Options
from sgeval.temporal.rows import Item, Match, Rows, VideoRow

COUNTED = (
    "n_unknown_objects",
    "n_beyond_clip",
    "n_inverted",
    "n_zero_length",
    "n_without_span",
    "n_not_given",
    "n_other_level",
    "n_lost",
)
"""Counts of the rows of videos that the result sums."""
LIMITED = ("n_repeats", "n_over_limit")
"""The same, where a number of predictions is set."""


@dataclass(frozen=True)
class Share:
    """How many of a video's items are right for sure, right at best, decided, and there at all; one entry a video."""

    sure: Floats
    best: Floats
    total: Floats

    @classmethod
    def of(cls, states: Mapping[Key, State], order: Mapping[str, int]) -> "Share":
        """From the states of items; `order` places the videos."""
        counts = np.zeros((3, len(order)))
        for (video, _), (sure, best) in states.items():
            counts[:, order[video]] += (sure, best, 1)
        return cls(*counts)

    def open(self) -> Floats:
        """Items that are not decided."""
        return self.best - self.sure

    def ratio(self, right: Floats, of: Floats, options: Options) -> tuple[Floats, Floats]:
        """Numerators and denominators, a video each, whose ratio of sums is the share, 0–1."""
        if options.average == "items":
            return right, of
        has = of > 0
        return np.divide(right, of, out=np.zeros_like(right), where=has), has.astype(np.float64)

    def of_decided(self, options: Options) -> tuple[Floats, Floats]:
        """The ratio that is reported, in percent: of the items that are decided."""
        return self.ratio(100.0 * self.sure, self.total - self.open(), options)

    def is_withheld(self, options: Options) -> bool:
        """Whether too much is open for a number."""
        return bool(self.open().sum() > options.max_unjudged * self.total.sum())


def percent(ratio: tuple[Floats, Floats]) -> float | None:
    """100 times the ratio of sums; `None` of nothing."""
    right, of = (float(column.sum()) for column in ratio)
    return 100.0 * right / of if of else None


class States:
    """The states of items under every reading that is asked for, each worked out once."""

    def __init__(self, rows: Rows, options: Options) -> None:
        self.videos: Sequence[VideoRow] = rows.videos
        self.items: Sequence[Item] = rows.items
        self.matches: Sequence[Match] = rows.matches
        self.options = options
        self.order = {video.video_id: number for number, video in enumerate(rows.videos)}
        self._known: dict[tuple[str, Reading], Hits] = {}

    def of(self, kind: str, reading: Reading) -> Hits:
        """The states of a kind: object, attribute, relation or triplet."""
        if (kind, reading) not in self._known:
            self._known[kind, reading] = self._work_out(kind, reading)
        return self._known[kind, reading]

    def _work_out(self, kind: str, reading: Reading) -> Hits:
        if kind == "relation":
            return hits.of_relations(self.items, self.matches, reading, self.options)
        if kind == "triplet":
            ends_strict = reading.strict and self.options.endpoint_match == "same"
            return hits.of_triplets(self.items, self.of("relation", reading), self.of("object", Reading(ends_strict)))
        return hits.of_labels(kind, self.items, self.matches, reading, self.options)

    def share(self, kind: str, reading: Reading, side: str = "reference") -> Share:
        """The items of a kind, video by video."""
        return Share.of(getattr(self.of(kind, reading), side), self.order)


def summarise(rows: Rows, options: Options, judge: str, signature: str, return_items: bool = False) -> dict[str, Any]:
    """The flat result: floats and counts, then `judge` and `signature`; `items`, `matches`, `videos` and `slices` when
    asked."""
    rows = rows.in_order()
    states = States(rows, options)
    main = options.thresholds.index(HEADLINE_THRESHOLD)
    result: dict[str, Any] = {}
    ratios: dict[str, tuple[Floats, Floats]] = {}
    details: dict[str, Any] = {}
    for name, kind, reading, side in readings(options):
        share = states.share(kind, reading, side)
        n_open, total = float(share.open().sum()), float(share.total.sum())
        known = percent(share.ratio(share.sure, share.total - share.open(), options))
        result[name] = None if share.is_withheld(options) else known
        if not share.is_withheld(options):
            ratios[name] = share.of_decided(options)
        if reading == Reading(False, main) and side == "reference":
            details |= {
                f"{name}_on_judged": known,
                f"{name}_at_least": percent(share.ratio(share.sure, share.total, options)),
                f"{name}_at_most": percent(share.ratio(share.best, share.total, options)),
                f"{kind}_coverage": 100.0 * (total - n_open) / total if total else None,
            }
    result |= details
    if options.bootstrap:
        result |= intervals(ratios, options.bootstrap, options.seed)
    result |= counts(rows, COUNTED if options.max_per_pair is None else (*COUNTED, *LIMITED))
    result |= {"judge": judge, "signature": signature}
    if return_items:
        result |= {
            "videos": [asdict(row) for row in rows.videos],
            "items": item_rows(rows, states, main),
            "matches": match_rows(rows),
            "slices": slices(rows, states, main),
        }
    return result


def sample(rows: Rows, options: Options) -> Sample:
    """What the scores are made of, video by video; those that are withheld are not among them."""
    rows = rows.in_order()
    states = States(rows, options)
    shares = {name: states.share(kind, reading, side) for name, kind, reading, side in readings(options)}
    ratios = {name: share.of_decided(options) for name, share in shares.items() if not share.is_withheld(options)}
    return Sample(tuple(video.video_id for video in rows.videos), ratios)


def is_withheld(result: Mapping[str, Any]) -> bool:
    """Whether a headline of a result, lenient or strict, is withheld since verdicts are missing."""
    there = [kind for kind in KINDS if result[f"{kind}_coverage"] is not None]
    return any(result[f"{kind}_accuracy{ending}"] is None for kind in there for ending in ("", "_strict"))


def readings(options: Options) -> Iterable[tuple[str, str, Reading, str]]:
    """Key, kind, reading and side of each share that is reported."""
    main = options.thresholds.index(HEADLINE_THRESHOLD)
    sides = [("accuracy", "reference")]
    if options.denominator == "predictions":
        sides.append(("precision", "prediction"))
    for word, side in sides:
        for strict, ending in ((False, ""), (True, "_strict")):
            for kind in KINDS:
                yield f"{kind}_{word}{ending}", kind, Reading(strict, main), side
            for number, threshold in enumerate(options.thresholds):
                if number != main:
                    for kind in ("relation", "triplet"):
                        yield f"{kind}_{word}_tiou_{threshold:g}{ending}", kind, Reading(strict, number), side
    if options.ignore_direction:
        for kind in ("relation", "triplet"):
            yield f"{kind}_accuracy_ignoring_direction", kind, Reading(False, main, True), "reference"


def counts(rows: Rows, of_videos: Sequence[str] = COUNTED) -> dict[str, int]:
    """How many items there are, what was odd, and what the judge did. Pairs of labels are counted once, however often they
    meet."""
    of = Counter((item.side, item.kind) for item in rows.items)
    found = {f"n_{kind}s": of["reference", kind] for kind in ("object", "attribute", "relation")}
    found |= {f"n_predicted_{kind}s": of["prediction", kind] for kind in ("object", "attribute", "relation")}
    found |= {"n_videos": len(rows.videos), "n_missing_videos": sum(row.status == "missing" for row in rows.videos)}
    found |= {name: sum(getattr(row, name) for row in rows.videos) for name in of_videos}
    found["n_unread_answers"] = sum(NO_ANSWER in row.repairs for row in rows.videos)
    found["n_repaired_answers"] = sum(bool(row.repairs) for row in rows.videos) - found["n_unread_answers"]
    return found | {"n_invalid": rows.n_invalid} | judge_counts(rows)


def judge_counts(rows: Rows) -> dict[str, int]:
    """Of the distinct pairs of labels: how many were equal, judged, and not judged, by reason."""
    verdicts = label_pairs(rows)
    reasons = Counter(match.reason for match in verdicts.values() if match.category is None)
    found = {
        "n_pairs": len(verdicts),
        "n_equal_pairs": sum(match.is_equal for match in verdicts.values()),
        "n_refused_pairs": sum(
            match.category == "mismatch" and match.reason is not None for match in verdicts.values()
        ),
        "n_unjudged_pairs": sum(reasons.values()),
        "n_repaired_pairs": sum(match.is_repaired for match in verdicts.values()),
    }
    found |= {f"n_unjudged_{reason}": number for reason, number in sorted(reasons.items(), key=str)}
    return found


def label_pairs(rows: Rows) -> dict[tuple[str, str, str], Match]:
    """A match of each distinct pair of normalised labels, by kind, annotated and predicted label."""
    labels: dict[str, dict[tuple[str, str, int], str]] = {"reference": {}, "prediction": {}}
    for item in rows.items:
        labels[item.side][item.video_id, item.kind, item.index] = form(item)
    sides = (map(labels[side].__getitem__, map(attrgetter("video_id", "kind", side), rows.matches)) for side in labels)
    found: dict[tuple[str, str, str], Match] = {}
    for match, one, two in zip(rows.matches, *sides, strict=True):
        found.setdefault((match.kind, one, two), match)
    return found


def match_rows(rows: Rows) -> list[dict[str, Any]]:
    """Each pair of items that met, with both labels."""
    labels = {(item.video_id, item.side, item.kind, item.index): item.label for item in rows.items}
    return [
        {
            **asdict(row),
            "annotated": labels[row.video_id, "reference", row.kind, row.reference],
            "predicted": labels[row.video_id, "prediction", row.kind, row.prediction],
        }
        for row in rows.matches
    ]


def item_rows(rows: Rows, states: States, main: int) -> list[dict[str, Any]]:
    """Each annotated item with what became of it: right, wrong, or not decided."""
    found = []
    for item in rows.items:
        if item.side == "prediction":
            continue
        key = (item.video_id, item.index)
        kinds = (item.kind, "triplet") if item.kind == "relation" else (item.kind,)
        told = {
            f"{kind}{ending}": _word(states.of(kind, Reading(strict, main)).reference[key])
            for kind in kinds
            for strict, ending in ((False, ""), (True, "_strict"))
        }
        found.append({**asdict(item), **told})
    return found


def _word(state: State) -> bool | None:
    return state[0] if state[0] == state[1] else None


def slices(rows: Rows, states: States, main: int) -> dict[str, list[dict[str, Any]]]:
    """Relations and triplets by predicate, by type and by video, most frequent first: `group`, `n`, shares of the decided in
    percent, and how many are open. Lenient, at the headline's threshold."""
    ways: dict[str, Callable[[Item], str]] = {
        "predicate": form,
        "type": lambda item: item.type or "",
        "video": lambda item: item.video_id,
    }
    return {name: _slice(rows, states, main, way) for name, way in ways.items()}


def _slice(rows: Rows, states: States, main: int, group: Callable[[Item], str]) -> list[dict[str, Any]]:
    sides = {kind: states.of(kind, Reading(False, main)).reference for kind in ("relation", "triplet")}
    groups: dict[str, list[Key]] = {}
    for item in rows.items:
        if item.kind == "relation" and item.side == "reference":
            groups.setdefault(group(item), []).append((item.video_id, item.index))
    found = []
    for name, keys in groups.items():
        row: dict[str, Any] = {"group": name, "n": len(keys)}
        for kind, known in sides.items():
            decided = [known[key][0] for key in keys if known[key][0] == known[key][1]]
            row[f"{kind}_accuracy"] = 100.0 * sum(decided) / len(decided) if decided else None
            row[f"n_open_{kind}s"] = len(keys) - len(decided)
        found.append(row)
    return sorted(found, key=lambda row: (-row["n"], row["group"]))
