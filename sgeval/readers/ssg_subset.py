"""What may be left out of SSG, by name: the steps of the authors' released reader, each on its own."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from sgeval.readers.filters import with_parts
from sgeval.records import SceneGraph

SsgExclusion = Literal[
    "invisible",
    "only_other_relationship",
    "contacts_without_frame",
    "state_and_purpose",
    "no_person_box",
    "no_person_roles",
    "no_objects",
    "short_videos",
]

UNEVEN = ("state", "purpose")  # roles of objects that only a part of the data set has
LEAST_FRAMES = 3  # of a video in one split, for the released reader to keep it


def left_over(graphs: Iterable[SceneGraph], without: frozenset[str]) -> Iterator[SceneGraph]:
    """The graphs less what is excluded: first parts of a frame, then frames, then videos."""
    if not without:
        return iter(graphs)
    rest = (graph for graph in map(lambda graph: _parts_left(graph, without), graphs) if not _lacks(graph) & without)
    return _of_long_videos(rest) if "short_videos" in without else rest


def _parts_left(graph: SceneGraph, without: frozenset[str]) -> SceneGraph:
    """A frame less its excluded objects, relations and roles. Ids stay; what `extra` says by position moves along."""
    objects = [at for at in range(len(graph.objects)) if not _kinds(graph, at) & without]
    ids = {graph.objects[at].id for at in objects}
    relations = [
        at
        for at, relation in enumerate(graph.relations)
        if {relation.subject_id, relation.object_id} <= ids
        and not ("contacts_without_frame" in without and graph.extra.get(f"/relations/{at}/framed") is False)
    ]
    left = with_parts(graph, objects, relations)
    if "state_and_purpose" not in without:
        return left
    person, rest = left.objects[:1], left.objects[1:]
    even = (replace(item, roles=tuple(role for role in item.roles if role.role not in UNEVEN)) for item in rest)
    return replace(left, objects=(*person, *even))


def _kinds(graph: SceneGraph, position: int) -> set[str]:
    """The names of the exclusions that an object falls under."""
    item = graph.objects[position]
    contacts = [
        relation.predicate
        for at, relation in enumerate(graph.relations)
        if relation.type == "contacting"
        and relation.object_id == item.id
        and f"/relations/{at}/listed" not in graph.extra
    ]
    is_kind = {
        "invisible": graph.extra.get(f"/objects/{position}/visible") is False,
        "only_other_relationship": contacts == ["other_relationship"],
    }
    return {name for name, is_so in is_kind.items() if is_so}


def _lacks(graph: SceneGraph) -> set[str]:
    """The names of the exclusions that a frame falls under."""
    person, *objects = graph.objects
    lacks = {"no_person_box": person.bbox is None, "no_person_roles": not person.roles, "no_objects": not objects}
    return {name for name, is_so in lacks.items() if is_so}


def _of_long_videos(graphs: Iterable[SceneGraph]) -> Iterator[SceneGraph]:
    """The frames of videos that have enough of them, counted in each split."""
    waiting = list(graphs)
    lengths = Counter((graph.video_id, graph.extra.get("set")) for graph in waiting)
    yield from (graph for graph in waiting if lengths[graph.video_id, graph.extra.get("set")] >= LEAST_FRAMES)
