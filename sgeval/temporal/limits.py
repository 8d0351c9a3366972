"""How much of a prediction is held against the annotation: repeats are one, and of each pair and object the first few count.

What is beyond the number stays a predicted item: it is wrong in precision, and no judge is asked about it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sgeval.judges.labels import normal
from sgeval.records import Object, Relation


def counting(relations: Sequence[Relation], most: int | None) -> dict[tuple[int, int], list[int]]:
    """By ordered pair the positions of its relations that count: with `most` the first by falling score (those without one
    last), then by position.

    >>> counting([Relation(0, 1, "on"), Relation(0, 1, "by", score=0.2), Relation(1, 0, "under")], 1)
    {(0, 1): [1], (1, 0): [2]}
    """
    found: dict[tuple[int, int], list[int]] = {}
    for number, relation in enumerate(relations):
        found.setdefault((relation.subject_id, relation.object_id), []).append(number)
    if most is None:
        return found
    return {ends: sorted(sorted(of, key=lambda at: _rank(relations[at]))[:most]) for ends, of in found.items()}


def _rank(relation: Relation) -> float:
    return math.inf if relation.score is None else -relation.score


def without_repeats(relations: Iterable[Relation]) -> list[Relation]:
    """Relations of one ordered pair with equal normal predicates and equal spans as one, the first, with the best score.

    >>> said = [Relation(0, 1, "on"), Relation(0, 1, "On", score=0.2), Relation(0, 1, "on", spans=((0.0, 1.0),))]
    >>> [(relation.predicate, relation.score) for relation in without_repeats(said)]
    [('on', 0.2), ('on', None)]
    """
    kept: dict[tuple[object, ...], Relation] = {}
    for relation in relations:
        when = tuple(sorted({*relation.spans})) if relation.spans else None
        key = (relation.subject_id, relation.object_id, normal(relation.predicate, "predicate"), when)
        first = kept.setdefault(key, relation)
        if _rank(relation) < _rank(first):
            kept[key] = replace(first, score=relation.score)
    return list(kept.values())


def without_repeated_attributes(item: Object) -> Object:
    """An object whose attributes with equal normal forms are one, the first.

    >>> without_repeated_attributes(Object(0, "dog", attributes=("brown", "Brown", "big"))).attributes
    ('brown', 'big')
    """
    places: dict[str, int] = {}
    for number, label in enumerate(item.attributes):
        places.setdefault(normal(label, "attribute"), number)
    if len(places) == len(item.attributes):
        return item
    types = item.attribute_types
    return replace(
        item,
        attributes=tuple(item.attributes[number] for number in places.values()),
        attribute_types=types and tuple(types[number] for number in places.values() if number < len(types)),
    )
