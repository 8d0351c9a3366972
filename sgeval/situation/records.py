"""From the rows of the role values back to scene graphs: predictions as a file that other tools read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sgeval.errors import SgevalError, shown
from sgeval.records import Object, Relation, Role, SceneGraph
from sgeval.situation.border import Row, parse_side
from sgeval.situation.graphs import CONTACT, PERSON


def graphs_of_rows(rows: Iterable[Mapping[str, Any]], like: Iterable[SceneGraph] = ()) -> list[SceneGraph]:
    """Scene graphs that say what rows say: the way back.

    Objects, boxes and relations of attention and space are those of the records `like` with the same id (the data set's);
    roles and verbs are the rows' alone. Without such a record a graph has the objects that its rows name, without boxes,
    of the category "person" or "object". Raises `SgevalError` where an id is no whole number, which records need.

    >>> row = {"frame_id": "f1", "kind": "verb", "subject_id": "0", "object_id": "2", "verb": "hold",
    ...        "roles": [{"role": "tool", "values": ["pen", "ruler"]}]}
    >>> graphs_of_rows([row])[0].relations[0].roles
    (Role(role='tool', value='pen'), Role(role='tool', value='ruler'))
    """
    records = {graph.key: graph for graph in like}
    by_frame: dict[str, list[Row]] = {}
    for row in parse_side(rows, "rows", is_predicted=True).rows:
        by_frame.setdefault(row.key[0], []).append(row)
    return [_graph(records.get(frame_id) or SceneGraph(frame_id), found) for frame_id, found in by_frame.items()]


def _graph(record: SceneGraph, rows: Sequence[Row]) -> SceneGraph:
    objects = {item.id: replace(item, roles=()) for item in record.objects}
    relations = [relation for relation in record.relations if relation.type not in (CONTACT, None)]
    for row in rows:
        frame_id, kind, *ids = row.key
        numbers = [None if each is None else _number(frame_id, each) for each in ids]
        roles = tuple(Role(role, value) for role, values in row.roles.items() for value in values)
        names = (PERSON, "object") if kind == "verb" else (kind, kind)
        for number, name in zip(numbers, names, strict=True):
            if number is not None:
                objects.setdefault(number, Object(number, name))
        if kind == "verb":
            subject_id, object_id = numbers
            if row.verb is not None and subject_id is not None and object_id is not None:
                relations.append(Relation(subject_id, object_id, row.verb, type=CONTACT, roles=roles))
            continue
        own = _only(numbers, objects, kind, frame_id)
        objects[own] = replace(objects[own], roles=roles)
    return replace(record, objects=tuple(objects.values()), relations=tuple(relations))


def _only(numbers: Sequence[int | None], objects: Mapping[int, Object], kind: str, frame_id: str) -> int:
    """The object that a row of a person or an object is about: the one it names, else the only one of its kind."""
    named = [number for number in numbers if number is not None]
    found = named or [number for number, item in objects.items() if (item.category == PERSON) == (kind == PERSON)]
    if len(found) != 1:
        raise SgevalError(f"frame {shown(frame_id)}: expected the id of the {kind}, got none")
    return found[0]


def _number(frame_id: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SgevalError(f"frame {shown(frame_id)}: expected ids that are whole numbers, got {shown(text)}") from None
