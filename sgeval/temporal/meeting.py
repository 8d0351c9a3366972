"""An annotated video and its prediction: which items there are, and which of them are held against each other.

Objects meet by id, since trajectories are given; attributes within their object; relations on the same ordered pair of
ids, -1 being the camera. Labels are not judged here.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat

import numpy as np

from sgeval.judges.labels import normal
from sgeval.readers.answers import ANSWER
from sgeval.records import CAMERA, Object, Relation, VideoGraph
from sgeval.spans import Span
from sgeval.temporal.limits import counting, without_repeated_attributes, without_repeats
from sgeval.temporal.options import Options
from sgeval.temporal.rows import Item, Side, VideoRow
from sgeval.tiou import ROUNDING, SpanSets, overlap

Pair = tuple[VideoGraph | None, VideoGraph]
ANY_LENGTH: tuple[Span, ...] = ((0.0, 1.0),)
"""Stands for the whole of a video of unknown length, against another that lasts the whole of it."""


@dataclass
class Meeting:
    """Rows of videos before their labels are judged, and which items meet. What meets stands in columns: there may be very
    many guesses on one pair."""

    videos: list[VideoRow] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    """Positions among the items: of what meets the annotated one,"""
    right: list[int] = field(default_factory=list)
    """the predicted one,"""
    is_turned: list[bool] = field(default_factory=list)
    """and whether that goes from the object to the subject."""
    spans: dict[int, tuple[Span, ...] | None] = field(default_factory=dict)
    """When the relations hold, by their positions; nothing where that is the whole of a video of unknown length."""

    def add(self, left: int, right: Collection[int], is_turned: bool = False) -> None:
        """An annotated item meets predicted ones."""
        self.left += [left] * len(right)
        self.right += right
        self.is_turned += [is_turned] * len(right)

    def times(self, thresholds: Sequence[float]) -> tuple[list[float | None], list[tuple[bool, ...]]]:
        """Of each meeting of relations tIoU, and whether it is above each of the thresholds; of others nothing."""
        ratios: list[float | None] = [None] * len(self.left)
        flags: list[tuple[bool, ...]] = [()] * len(self.left)
        if not self.spans:
            return ratios, flags
        sets = SpanSets.of([*(when or () for when in self.spans.values()), ANY_LENGTH])
        is_whole = np.array([when is None for when in self.spans.values()])
        place = np.full(len(self.items), -1)
        place[list(self.spans)] = np.arange(len(self.spans))
        one, two = (place[np.array(side, dtype=np.int64)] for side in (self.left, self.right))
        timed = np.flatnonzero(one >= 0)
        one, two = one[timed], two[timed]
        are_whole = is_whole[one] & is_whole[two]
        shared = overlap(*(sets.take(np.where(are_whole, len(is_whole), side)) for side in (one, two)))
        above = zip(*(shared.above(threshold).tolist() for threshold in thresholds), strict=True)
        for position, ratio, each in zip(timed.tolist(), shared.tiou().tolist(), above, strict=True):
            ratios[position], flags[position] = ratio, each
        return ratios, flags


def meet(pairs: Iterable[Pair], options: Options) -> Meeting:
    """The items of all videos and what meets; labels and times are still to be compared."""
    out = Meeting()
    for prediction, reference in pairs:
        _meet_video(out, prediction, reference, options)
    return out


def _meet_video(out: Meeting, prediction: VideoGraph | None, reference: VideoGraph, options: Options) -> None:
    gold = _kept_objects(prediction, reference, options)
    ids = {item.id for item in gold}
    relations = [relation for relation in reference.relations if {*_ends(relation)} <= ids | {CAMERA}]
    mine = prediction.objects if prediction is not None else ()
    known = {item.id for item in reference.objects}
    guesses = [] if prediction is None else _in_scope(_predicted_relations(prediction, options), ids, known)
    said = [item for item in mine if item.id in ids or item.id not in known]
    n_repeats = n_over = 0
    if options.max_per_pair is not None:
        whole = len(guesses) + _n_attributes(said)
        guesses, said = without_repeats(guesses), [without_repeated_attributes(item) for item in said]
        n_repeats = whole - len(guesses) - _n_attributes(said)
        n_over = sum(max(len(item.attributes) - options.max_per_pair, 0) for item in said)
    by_pair = counting(guesses, options.max_per_pair)
    n_over += len(guesses) - sum(map(len, by_pair.values()))
    length = duration(reference)
    key = reference.key
    row = _video_row(prediction, reference, gold, relations, guesses, known, options)
    out.videos.append(replace(row, n_repeats=n_repeats, n_over_limit=n_over))
    _objects(out, key, gold, said, options.max_per_pair)
    first = _add_relations(out, key, "reference", relations, [_spans(each, length, options) for each in relations])
    guess = _add_relations(out, key, "prediction", guesses, [_spans(each, length, options) for each in guesses])
    for number, relation in enumerate(relations, first):
        ends = _ends(relation)
        out.add(number, [guess + at for at in by_pair.get(ends, ())])
        if options.ignore_direction and ends[0] != ends[1]:
            out.add(number, [guess + at for at in by_pair.get(ends[::-1], ())], is_turned=True)


def _n_attributes(objects: Iterable[Object]) -> int:
    return sum(len(item.attributes) for item in objects)


def _objects(out: Meeting, key: str, gold: Sequence[Object], mine: Sequence[Object], most: int | None) -> None:
    """Items of objects and attributes of both sides, and how they meet: of an object's predicted attributes the first
    `most`."""
    first = len(out.items)
    place = {item.id: number for number, item in enumerate(mine, first + len(gold))}
    for side, objects in (("reference", gold), ("prediction", mine)):
        out.items += [
            Item(key, side, "object", number, item.id, item.id, item.category, item.level)  # type: ignore[arg-type]
            for number, item in enumerate(objects)
        ]
    for number, item in enumerate(gold, first):
        if item.id in place:
            out.add(number, [place[item.id]])
    annotated, predicted = _attributes(key, "reference", gold), _attributes(key, "prediction", mine)
    first = len(out.items)
    out.items += annotated + predicted
    by_object: dict[int, list[int]] = {}
    for number, guess in enumerate(predicted, first + len(annotated)):
        by_object.setdefault(guess.subject_id, []).append(number)
    for number, label in enumerate(annotated, first):
        out.add(number, by_object.get(label.subject_id, [])[:most])


def _attributes(key: str, side: Side, objects: Sequence[Object]) -> list[Item]:
    found = [
        (item.id, label, kind)
        for item in objects
        for label, kind in zip(item.attributes, chain(item.attribute_types or (), repeat(None)), strict=False)
    ]
    return [
        Item(key, side, "attribute", number, owner, owner, label, kind)
        for number, (owner, label, kind) in enumerate(found)
    ]


def _add_relations(
    out: Meeting, key: str, side: Side, relations: Sequence[Relation], spans: Sequence[tuple[Span, ...] | None]
) -> int:
    """Add the items of relations; returns the position of the first."""
    first = len(out.items)
    out.spans |= dict(enumerate(spans, first))
    out.items += [
        Item(
            key,
            side,
            "relation",
            number,
            *_ends(relation),
            relation.predicate,
            relation.type,
            tuple(end for span in when or () for end in span),
        )
        for number, (relation, when) in enumerate(zip(relations, spans, strict=True))
    ]
    return first


def duration(video: VideoGraph) -> float | None:
    """Seconds of a video: as it says, else by frames and rate."""
    if video.duration is not None:
        return video.duration
    return video.num_frames / video.fps if video.num_frames and video.fps else None


def given_ids(prediction: VideoGraph) -> set[int]:
    """The objects that a prediction was given: those its answer names as such, else those it has a label for."""
    named = prediction.extra.get(ANSWER, {}).get("given")
    return set(named) if named is not None else {item.id for item in prediction.objects}


def _kept_objects(prediction: VideoGraph | None, reference: VideoGraph, options: Options) -> list[Object]:
    kept = [item for item in reference.objects if options.levels is None or item.level in options.levels]
    if options.restrict_to_given and prediction is not None:
        given = given_ids(prediction)
        kept = [item for item in kept if item.id in given]
    return kept


def _in_scope(relations: Sequence[Relation], ids: set[int], known: set[int]) -> list[Relation]:
    """Without those of annotated objects that are left out: they can be neither right nor wrong."""
    left_out = known - ids
    return [relation for relation in relations if not {*_ends(relation)} & left_out]


def _predicted_relations(prediction: VideoGraph, options: Options) -> Sequence[Relation]:
    relations: Sequence[Relation] = prediction.relations
    is_answer = ANSWER in prediction.extra  # its inclusive seconds were made half-open when it was read
    if options.prediction_span_end == "inclusive" and not is_answer:
        relations = [
            relation
            if relation.spans is None
            else replace(relation, spans=tuple((start, end + 1.0) for start, end in relation.spans))
            for relation in relations
        ]
    return merged_predicates(relations) if options.merge_same_predicate else relations


def merged_predicates(relations: Sequence[Relation]) -> list[Relation]:
    """Relations of one ordered pair with equal predicates as one, the first, with the spans of all; one without a span
    holds throughout, and so does what it is merged with."""
    kept: dict[tuple[int, int, str], Relation] = {}
    for relation in relations:
        key = (*_ends(relation), normal(relation.predicate, "predicate"))
        if key not in kept:
            kept[key] = relation
        else:
            one, two = kept[key].spans, relation.spans
            kept[key] = replace(kept[key], spans=(*one, *two) if one and two else None)
    return list(kept.values())


def _spans(relation: Relation, length: float | None, options: Options) -> tuple[Span, ...] | None:
    """When a relation holds; nothing where that is the whole of a video of unknown length."""
    if relation.spans:
        return relation.spans
    if options.missing_interval == "fail":
        return ()
    return None if length is None else ((0.0, length),)


def _ends(relation: Relation) -> tuple[int, int]:
    return relation.subject_id, relation.object_id


def _video_row(
    prediction: VideoGraph | None,
    reference: VideoGraph,
    gold: Sequence[Object],
    relations: Sequence[Relation],
    guesses: Sequence[Relation],
    known: set[int],
    options: Options,
) -> VideoRow:
    length = duration(reference)
    mine = prediction.objects if prediction is not None else ()
    ends = [end for relation in guesses for end in _ends(relation) if end != CAMERA]
    both = [*relations, *guesses]
    answer = prediction.extra.get(ANSWER, {}) if prediction is not None else {}
    at_level = [item for item in reference.objects if options.levels is None or item.level in options.levels]
    return VideoRow(
        reference.key,
        "ok" if prediction is not None else "missing",
        length,
        n_unknown_objects=len({item.id for item in mine if item.id not in known} | {*ends} - known),
        n_beyond_clip=sum(_is_beyond(span, length) for relation in both for span in relation.spans or ()),
        n_inverted=sum(start > end for relation in guesses for start, end in relation.spans or ()),
        n_zero_length=sum(
            bool(relation.spans) and all(start == end for start, end in relation.spans or ()) for relation in relations
        ),
        n_without_span=sum(not relation.spans for relation in both),
        n_not_given=len(at_level) - len(gold),
        n_other_level=len(reference.objects) - len(at_level),
        n_lost=int(answer.get("n_lost", 0)),
        repairs=tuple(answer.get("repairs", ())),
    )


def _is_beyond(span: Span, length: float | None) -> bool:
    return min(span) < 0 or (length is not None and max(span) > length * (1 + ROUNDING))
