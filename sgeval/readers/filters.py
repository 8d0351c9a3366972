"""What papers leave out, as named steps between a reader and whoever uses its records. None is applied by itself.

Each takes a record and gives a new one (`drop_empty` takes and gives many); `video_filters` has those of time. Order stays;
what `extra` says about objects and relations by JSON pointer moves along with them, or goes with them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal, TypeVar, get_args

from sgeval.errors import SgevalError, one_of, shown
from sgeval.records import Box, SceneGraph, VideoGraph

G = TypeVar("G", SceneGraph, VideoGraph)
Dedupe = Literal["none", "triplet", "pair_random"]


def drop_empty(graphs: Iterable[G]) -> Iterator[G]:
    """The records that have a relation.

    >>> [graph.image_id for graph in drop_empty([SceneGraph("1")])]
    []
    """
    return (graph for graph in graphs if graph.relations)


def dedupe(graph: SceneGraph, how: Dedupe, *, seed: int = 0) -> SceneGraph:
    """The record with fewer repeated relations.

    "triplet": of relations with the same ends and predicate the first stays. "pair_random": of all relations of an ordered
    pair one stays, drawn with equal chances (a predicate said twice has two), as published training code does; the
    draw rests on the seed and the image id alone, whatever is read before. "none": all stay.

    >>> from sgeval.records import Relation
    >>> graph = SceneGraph("7", relations=(Relation(0, 1, "on"), Relation(0, 1, "on"), Relation(1, 0, "on")))
    >>> len(dedupe(graph, "triplet").relations)
    2
    """
    one_of("dedupe", how, get_args(Dedupe))
    groups: dict[tuple[Any, ...], list[int]] = {}
    for position, relation in enumerate(graph.relations):
        pair = (relation.subject_id, relation.object_id)
        key = pair if how == "pair_random" else (*pair, relation.predicate) if how == "triplet" else (position,)
        groups.setdefault(key, []).append(position)
    random = Random(f"{seed}:{graph.image_id}")
    staying = [random.choice(group) if how == "pair_random" else group[0] for group in groups.values()]
    return with_parts(graph, range(len(graph.objects)), sorted(staying))


def only_listed_predicates(graph: G, predicates: Collection[str] | None = None) -> G:
    """The record with the relations whose predicate is in the class list (`predicate_id` is not -1), or in `predicates`."""
    staying = [
        position
        for position, relation in enumerate(graph.relations)
        if (relation.predicate_id >= 0 if predicates is None else relation.predicate in predicates)
    ]
    return with_parts(graph, range(len(graph.objects)), staying)


def drop_crowd(graph: SceneGraph) -> SceneGraph:
    """The record without crowd objects and the relations that they are an end of."""
    crowd = {item.id for item in graph.objects if item.iscrowd}
    return with_parts(
        graph,
        [position for position, item in enumerate(graph.objects) if not item.iscrowd],
        [position for position, row in enumerate(graph.relations) if not crowd & {row.subject_id, row.object_id}],
    )


def clip_boxes(graph: SceneGraph) -> SceneGraph:
    """The record with each box cut to the picture; of a box that lies wholly outside, nothing (None) is left.

    Raises `SgevalError` for a record without width and height, unless it has no boxes.

    >>> from sgeval.records import Object
    >>> clip_boxes(SceneGraph("7", (Object(0, "dog", (-2.0, 1.0, 5.0, 9.0)),), width=8, height=6)).objects[0].bbox
    (0.0, 1.0, 3.0, 5.0)
    """
    if all(item.bbox is None for item in graph.objects):
        return graph
    if graph.width is None or graph.height is None:
        raise SgevalError(f"clip_boxes: image_id {shown(graph.image_id)}: expected a width and a height, got none")
    width, height = graph.width, graph.height
    objects = (
        replace(item, bbox=_clipped(item.bbox, width, height)) if item.bbox is not None else item
        for item in graph.objects
    )
    return replace(graph, objects=tuple(objects))


def _clipped(box: Box, width: int, height: int) -> Box | None:
    x, y, w, h = box
    if x >= 0 and y >= 0 and x + w <= width and y + h <= height:
        return box
    left, top = max(x, 0.0), max(y, 0.0)
    right, bottom = min(x + w, float(width)), min(y + h, float(height))
    is_outside = (
        x + w < 0 or y + h < 0 or x > width or y > height or (w > 0 and right <= left) or (h > 0 and bottom <= top)
    )
    return None if is_outside else (left, top, right - left, bottom - top)


def with_parts(graph: G, objects: Sequence[int], relations: Sequence[int]) -> G:
    """The record with the objects and relations at these positions; what `extra` says of them by pointer moves along."""
    if len(objects) == len(graph.objects) and len(relations) == len(graph.relations):
        return graph
    moved = {
        "objects": {old: new for new, old in enumerate(objects)},
        "relations": {old: new for new, old in enumerate(relations)},
    }
    return replace(
        graph,
        objects=tuple(graph.objects[position] for position in objects),
        relations=tuple(graph.relations[position] for position in relations),
        extra=_moved(graph.extra, moved),
    )


def _moved(extra: Mapping[str, Any], moved: Mapping[str, Mapping[int, int]]) -> dict[str, Any]:
    out = {}
    for key, value in extra.items():
        steps = key.split("/")
        if len(steps) > 2 and not steps[0] and steps[1] in moved and steps[2].isdigit():
            new = moved[steps[1]].get(int(steps[2]))
            if new is None:
                continue
            key = "/".join(("", steps[1], str(new), *steps[3:]))
        out[key] = value
    return out
