"""Named steps on the time of a video's relations. None is applied by itself; `filters` has those that are not of time.

Each takes a record and gives a new one. A relation that is left without spans goes. `raw_spans` follow the spans, in the
numbers of the source, and the flags in `extra` are made anew; what else `extra` says of relations moves along with them.

`absent_frames` takes the frames of each object: without tracks it stays as it was for relations whose spans stay, and goes
where they change, since nobody can tell then. With tracks drawn from masks, frames without a mask do not count.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sgeval.errors import SgevalError, shown
from sgeval.readers.filters import with_parts
from sgeval.readers.flags import RELATION_FLAGS, absent_flags, flag_words, relation_flags
from sgeval.records import CAMERA, Relation, VideoGraph, label
from sgeval.spans import Span, merged, to_raw


def drop_spans_outside(graph: VideoGraph) -> VideoGraph:
    """The record without the spans that lie outside the clip: those that begin at its end or later, or end as it begins or
    before. Those that reach beyond it stay whole; those of no length stay where they lie inside. Needs the clip's length.

    >>> late = Relation(1, 2, "on", spans=((1.0, 3.0), (2.0, 4.0)), raw_spans=((5.0, 14.0), (10.0, 19.0)))
    >>> clip = VideoGraph("7", relations=(late,), fps=5.0, num_frames=10, span_unit="frame", span_end="inclusive")
    >>> drop_spans_outside(clip).relations[0].raw_spans
    ((5.0, 14.0),)
    """
    length = clip_seconds(graph)
    return _kept(graph, lambda span: span if span[0] < length and (span[0] >= 0 or span[1] > 0) else None)


def clip_spans(graph: VideoGraph) -> VideoGraph:
    """The record with each span cut to the clip; those that lie outside it go, and so do those that have no length or end
    before they start. Needs the clip's length."""
    length = clip_seconds(graph)

    def cut(span: Span) -> Span | None:
        start, stop = max(span[0], 0.0), min(span[1], length)
        return (start, stop) if start < stop else None

    return _kept(graph, cut)


def drop_odd_spans(graph: VideoGraph) -> VideoGraph:
    """The record without the spans that end before they start, or have no length."""
    return _kept(graph, lambda span: span if span[0] < span[1] else None)


def merge_spans(graph: VideoGraph) -> VideoGraph:
    """The record with each relation's spans as their union, in order: spans that touch or overlap become one; those of no
    length and those that end before they start go."""
    return _with_spans(graph, [merged(relation.spans or ()) for relation in graph.relations])


def merge_instances(graph: VideoGraph) -> VideoGraph:
    """The record with one relation for each triplet: the first, with the spans of all that repeat it, in their order."""
    spans: dict[tuple[int, int, str], list[Span]] = {}
    first: dict[tuple[int, int, str], int] = {}
    for number, relation in enumerate(graph.relations):
        key = (relation.subject_id, relation.object_id, relation.predicate)
        first.setdefault(key, number)
        spans.setdefault(key, []).extend(relation.spans or ())
    graph = with_parts(graph, range(len(graph.objects)), [*first.values()])
    return _with_spans(graph, [tuple(found) for found in spans.values()])


def visible_only(graph: VideoGraph) -> VideoGraph:
    """The record with spans cut to the frames in which both ends have a point in their track. Spans come out as runs of whole
    frames; the camera is always there. Raises `SgevalError` for a record without `fps`, or with an object without a track."""
    if graph.fps is None:
        raise SgevalError(f"visible_only: {label(graph)}: expected fps, got none")
    if bare := [item.id for item in graph.objects if item.track is None]:
        raise SgevalError(f"visible_only: {label(graph)}: expected a track for each object, got none of {shown(bare)}")
    seen = {item.id: {point.frame for point in item.track or ()} for item in graph.objects}
    out = []
    for relation in graph.relations:
        there = [seen[end] for end in (relation.subject_id, relation.object_id) if end != CAMERA]
        if not there:
            out.append(tuple(relation.spans or ()))
            continue
        frames = sorted(set.intersection(*there))
        in_sight = merged((frame / graph.fps, (frame + 1) / graph.fps) for frame in frames)
        out.append(tuple(_common(merged(relation.spans or ()), in_sight)))
    return _with_spans(graph, out)


def clip_seconds(graph: VideoGraph) -> float:
    """How long a record's clip is: by its frames, else by its duration. Raises `SgevalError` where neither is known."""
    if graph.num_frames is not None and graph.fps is not None:
        return graph.num_frames / graph.fps
    if graph.duration is None:
        raise SgevalError(f"{label(graph)}: expected num_frames and fps, or a duration, got none")
    return graph.duration


def _common(left: Sequence[Span], right: Sequence[Span]) -> list[Span]:
    """What two unions of spans share."""
    return [
        (max(one[0], other[0]), min(one[1], other[1]))
        for one in left
        for other in right
        if max(one[0], other[0]) < min(one[1], other[1])
    ]


def _kept(graph: VideoGraph, of: Callable[[Span], Span | None]) -> VideoGraph:
    """The record with what is left of each span."""
    left = [[of(span) for span in relation.spans or ()] for relation in graph.relations]
    return _with_spans(graph, [tuple(span for span in spans if span is not None) for spans in left])


def _with_spans(graph: VideoGraph, spans: Sequence[tuple[Span, ...]]) -> VideoGraph:
    """The record with new spans for its relations. One that had no spans to begin with stays."""
    staying = [at for at, relation in enumerate(graph.relations) if spans[at] or not relation.spans]
    relations = tuple(_changed(graph, relation, new) for relation, new in zip(graph.relations, spans, strict=True))
    has_tracks = bool(graph.objects) and graph.fps is not None and all(item.track is not None for item in graph.objects)
    old = {
        f"/relations/{at}/absent_frames"
        for at, relation in enumerate(relations)
        if has_tracks or relation.spans != graph.relations[at].spans
    }
    extra = {key: value for key, value in graph.extra.items() if key not in old and not _is_of_spans(key)}
    graph = with_parts(replace(graph, relations=relations, extra=extra), range(len(graph.objects)), staying)
    return replace(graph, extra={**graph.extra, **_flags(graph, has_tracks)})


def _changed(graph: VideoGraph, relation: Relation, spans: tuple[Span, ...]) -> Relation:
    if relation.spans is None or spans == relation.spans:
        return relation
    if relation.raw_spans is None or graph.span_unit is None or graph.span_end is None:
        return replace(relation, spans=spans, raw_spans=None)
    raw: Any = to_raw(spans, unit=graph.span_unit, end=graph.span_end, fps=graph.fps)  # type: ignore[arg-type]
    return replace(relation, spans=spans, raw_spans=raw)


def _is_of_spans(key: str) -> bool:
    """Whether a key of `extra` is a flag that spans and triplets alone give."""
    words = flag_words(key)
    return words in RELATION_FLAGS.values() and words != RELATION_FLAGS["absent_frames"]


def _flags(graph: VideoGraph, has_tracks: bool) -> dict[str, Any]:
    length = graph.num_frames if graph.span_unit == "frame" else graph.duration
    odd = relation_flags(graph.relations, end=graph.span_end or "exclusive", length=length)  # type: ignore[arg-type]
    if not has_tracks:
        return odd
    masks = graph.mask_files
    known = None if masks is None else [frame for frame, name in enumerate(masks) if name is not None]
    return {**odd, **absent_flags(graph, known=known)}
