"""An annotated video and its prediction: which items there are, and which of them are held against each other.

Objects meet by id, since trajectories are given; attributes within their object; relations on the same ordered pair of
ids, -1 being the camera. Labels are not judged here, time is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat

import numpy as np

from sgeval.judges.labels import normal
from sgeval.readers.answers import ANSWER
from sgeval.records import CAMERA, Object, Relation, VideoGraph
from sgeval.spans import Span
from sgeval.temporal.limits import counting, without_repeated_attributes, without_repeats
from sgeval.temporal.options import Options
from sgeval.temporal.rows import Item, Match, Side, VideoRow
from sgeval.tiou import ROUNDING, SpanSets, overlap

Pair = tuple[VideoGraph | None, VideoGraph]
ANY_LENGTH: tuple[Span, ...] = ((0.0, 1.0),)
"""Stands for the whole of a video of unknown length, against another that lasts the whole of it."""


@dataclass
class Meeting:
    """Rows of videos before their labels are judged, with the spans of the relations that meet."""

    videos: list[VideoRow] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    timed: list[int] = field(default_factory=list)
    """Positions of the matches that have a time."""
    spans: tuple[list[tuple[Span, ...]], list[tuple[Span, ...]]] = field(default_factory=lambda: ([], []))
    """Of those, the annotated and the predicted spans."""

    def settle_time(self, thresholds: Sequence[float]) -> None:
        """Give the matches of relations their tIoU, and whether it is above each of the thresholds."""
        if not self.timed:
            return
        shared = overlap(SpanSets.of(self.spans[0]), SpanSets.of(self.spans[1]))
        ratios = shared.tiou().tolist()
        above = np.stack([shared.above(threshold) for threshold in thresholds], axis=1).tolist()
        for position, ratio, flags in zip(self.timed, ratios, above, strict=True):
            self.matches[position] = replace(self.matches[position], tiou=ratio, above=tuple(flags))


def meet(pairs: Iterable[Pair], options: Options) -> Meeting:
    """The items of all videos and what meets, with tIoU; labels are still to be judged."""
    out = Meeting()
    for prediction, reference in pairs:
        _meet_video(out, prediction, reference, options)
    out.settle_time(options.thresholds)
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
    spans = [_spans(relation, length, options) for relation in relations]
    guessed = [_spans(relation, length, options) for relation in guesses]
    _objects(out, key, gold, said, options.max_per_pair)
    _add_relations(out, key, "reference", relations, spans)
    _add_relations(out, key, "prediction", guesses, guessed)
    for number, relation in enumerate(relations):
        ends = _ends(relation)
        turned = ends[::-1] if options.ignore_direction and ends[0] != ends[1] else None
        for pair, is_turned in ((ends, False), (turned, True)):
            for guess in by_pair.get(pair, ()) if pair is not None else ():
                out.timed.append(len(out.matches))
                out.matches.append(Match(key, "relation", number, guess, None, is_turned=is_turned))
                one, two = spans[number], guessed[guess]
                if length is None and one is None and two is None:
                    one = two = ANY_LENGTH
                out.spans[0].append(one or ())
                out.spans[1].append(two or ())


def _n_attributes(objects: Iterable[Object]) -> int:
    return sum(len(item.attributes) for item in objects)


def _objects(out: Meeting, key: str, gold: Sequence[Object], mine: Sequence[Object], most: int | None) -> None:
    """Items of objects and attributes of both sides, and how they meet: of an object's predicted attributes the first
    `most`."""
    place = {item.id: number for number, item in enumerate(mine)}
    for side, objects in (("reference", gold), ("prediction", mine)):
        out.items += [
            Item(key, side, "object", number, item.id, item.id, item.category, item.level)  # type: ignore[arg-type]
            for number, item in enumerate(objects)
        ]
    out.matches += [
        Match(key, "object", number, place[item.id], None) for number, item in enumerate(gold) if item.id in place
    ]
    attributes = {"reference": _attributes(key, "reference", gold), "prediction": _attributes(key, "prediction", mine)}
    out.items += attributes["reference"] + attributes["prediction"]
    by_object: dict[int, list[Item]] = {}
    for item in attributes["prediction"]:
        by_object.setdefault(item.subject_id, []).append(item)
    out.matches += [
        Match(key, "attribute", item.index, guess.index, None)
        for item in attributes["reference"]
        for guess in by_object.get(item.subject_id, ())[:most]
    ]


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
) -> None:
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
