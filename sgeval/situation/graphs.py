"""From scene graphs to the rows of the role values. The way back is `sgeval.situation.records`.

A graph of a video frame (as `sgeval.readers.ssg` reads it) has a person, objects and relations between them. The person
(an object of the category "person") and each other object give a row with the roles of the object; each relation of the
type "contacting", or of no type, gives a row of the kind verb with its predicate and its roles. Relations of attention and
of space are no verbs here. Ids are those of the objects, as texts.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sgeval.records import Role, SceneGraph

PERSON = "person"
CONTACT = "contacting"

PlainRow = dict[str, Any]


def rows_of_graphs(graphs: Iterable[SceneGraph], *, is_predicted: bool = False) -> list[PlainRow]:
    """The rows of scene graphs, in their order. `is_predicted` as in `rows_of_graph`.

    >>> from sgeval.records import Object
    >>> graph = SceneGraph("f1", (Object(0, "person", roles=(Role("pose", "sitting"),)),))
    >>> rows_of_graphs([graph])
    [{'frame_id': 'f1', 'kind': 'person', 'subject_id': '0', 'object_id': None, 'verb': None,
      'roles': [{'role': 'pose', 'value': 'sitting'}]}]
    """
    return [row for graph in graphs for row in rows_of_graph(graph, is_predicted=is_predicted)]


def rows_of_graph(graph: SceneGraph, *, is_predicted: bool = False) -> Iterator[PlainRow]:
    """The rows of one graph: persons and objects, then verbs.

    Of a prediction (`is_predicted`) persons and objects without a role give no row, since there is nothing to compare;
    its relations come by falling score, so that the first verb of a pair is the one that the model is surest of.
    """
    for item in graph.objects:
        if item.roles or not is_predicted:
            is_person = item.category == PERSON
            subject_id, object_id = (item.id, None) if is_person else (None, item.id)
            yield _row(graph, PERSON if is_person else "object", subject_id, object_id, None, item.roles)
    contacts = [relation for relation in graph.relations if relation.type in (CONTACT, None)]
    if is_predicted:
        contacts.sort(key=lambda relation: -(relation.score or 0.0))
    for relation in contacts:
        ends = (relation.subject_id, relation.object_id)
        yield _row(graph, "verb", *ends, relation.predicate, relation.roles)


def _row(
    graph: SceneGraph,
    kind: str,
    subject_id: int | None,
    object_id: int | None,
    verb: str | None,
    roles: Sequence[Role],
) -> PlainRow:
    """One row. A role that stands several times in a record has several values."""
    values: dict[str, list[str]] = {}
    for role in roles:
        values.setdefault(role.role, []).append(role.value)
    listed = [
        {"role": name, "value": found[0]} if len(found) == 1 else {"role": name, "values": found}
        for name, found in values.items()
    ]
    return {
        "frame_id": graph.image_id,
        "kind": kind,
        "subject_id": None if subject_id is None else str(subject_id),
        "object_id": None if object_id is None else str(object_id),
        "verb": verb,
        "roles": listed,
    }
