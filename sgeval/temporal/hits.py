"""Which items are right ("paper 2", arXiv 2602.23543): from matches and verdicts to right, wrong, or not decided.

An item's state is a pair of flags: right even if every open verdict were a no, and right if every open verdict were a yes.
Where they differ the item is not decided.

- object: the label at its id is accepted.
- attribute: some predicted attribute of its object is accepted.
- relation: some prediction of the same ordered pair has an accepted predicate and a tIoU above the threshold.
- triplet: the relation is right, and the labels of subject and object are accepted; the camera always is.

Lenient takes every category but mismatch, strict takes `identical` alone (or equal strings, with `strict="string"`). With
`assignment="one_to_one"` a predicted relation serves one relation and an attribute one attribute: a largest matching decides.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sgeval.judges.verdicts import Verdict
from sgeval.records import CAMERA
from sgeval.temporal.options import Options
from sgeval.temporal.rows import Item, Match

State = tuple[bool, bool]
"""(right for sure, right at best)."""
WRONG: State = (False, False)
RIGHT: State = (True, True)
Key = tuple[str, int]
"""Video and index."""


@dataclass(frozen=True)
class Reading:
    """How matches are read: lenient or strict, at which of the thresholds, in one direction or both."""

    strict: bool = False
    threshold: int = 0
    """Position among the thresholds."""
    both_directions: bool = False


def accepted(match: Match, strict: bool, options: Options) -> State:
    """Whether the verdict on a match lets it pass.

    >>> accepted(Match("v", "object", 0, 0, "synonym"), True, Options())
    (False, False)
    """
    if strict and options.strict == "string":
        return (match.is_equal, match.is_equal)
    passes = Verdict(match.category).accepts(strict)
    return (False, True) if passes is None else (passes, passes)


def any_of(states: Iterable[State]) -> State:
    """Right when one of them is."""
    found = list(states)
    return any(sure for sure, _ in found), any(best for _, best in found)


def all_of(states: Iterable[State]) -> State:
    """Right when all of them are."""
    found = list(states)
    return all(sure for sure, _ in found), all(best for _, best in found)


@dataclass(frozen=True)
class Hits:
    """The states of the items of one kind under one reading, by video and index, of both sides."""

    reference: dict[Key, State]
    prediction: dict[Key, State]


def of_labels(kind: str, items: Sequence[Item], matches: Sequence[Match], reading: Reading, options: Options) -> Hits:
    """Objects or attributes."""
    edges = [(match, accepted(match, reading.strict, options)) for match in matches if match.kind == kind]
    if kind == "attribute" and options.assignment == "one_to_one":
        edges = _one_to_one(edges)
    return _hits(kind, items, edges)


def of_relations(items: Sequence[Item], matches: Sequence[Match], reading: Reading, options: Options) -> Hits:
    """Relations: predicate and time, on the same ordered pair."""
    edges = [
        (match, accepted(match, reading.strict, options))
        for match in matches
        if match.kind == "relation"
        and match.above[reading.threshold]
        and (reading.both_directions or not match.is_turned)
    ]
    if options.assignment == "one_to_one":
        edges = _one_to_one(edges)
    return _hits("relation", items, edges)


def of_triplets(items: Sequence[Item], relations: Hits, objects: Hits) -> Hits:
    """Relations whose ends have accepted labels. `objects` are the states of the reading that the ends are to pass."""
    by_id = {
        (item.video_id, item.subject_id): objects.reference.get((item.video_id, item.index), WRONG)
        for item in items
        if item.kind == "object" and item.side == "reference"
    }

    def state(item: Item, relation: State) -> State:
        ends = [
            RIGHT if end == CAMERA else by_id.get((item.video_id, end), WRONG)
            for end in (item.subject_id, item.object_id)
        ]
        return all_of((relation, *ends))

    found: dict[str, dict[Key, State]] = {"reference": {}, "prediction": {}}
    for item in items:
        if item.kind == "relation":
            key = (item.video_id, item.index)
            found[item.side][key] = state(item, getattr(relations, item.side)[key])
    return Hits(found["reference"], found["prediction"])


def _hits(kind: str, items: Sequence[Item], edges: Iterable[tuple[Match, State]]) -> Hits:
    found: dict[str, dict[Key, State]] = {"reference": {}, "prediction": {}}
    for item in items:
        if item.kind == kind:
            found[item.side][(item.video_id, item.index)] = WRONG
    for match, state in edges:
        for side, index in (("reference", match.reference), ("prediction", match.prediction)):
            key = (match.video_id, index)
            found[side][key] = any_of((found[side][key], state))
    return Hits(found["reference"], found["prediction"])


def _one_to_one(edges: Sequence[tuple[Match, State]]) -> list[tuple[Match, State]]:
    """The edges of a largest matching among those that are sure, with their states; it grows by open ones to a largest
    matching among all, whose further edges are right at best."""
    by_video: dict[str, list[tuple[Match, State]]] = {}
    for match, state in edges:
        by_video.setdefault(match.video_id, []).append((match, state))
    out: list[tuple[Match, State]] = []
    for group in by_video.values():
        sure = _grow({}, [match for match, state in group if state[0]])
        best = _grow(sure, [match for match, state in group if state[1]])
        matches = {(match.reference, match.prediction): match for match, _ in group}
        served = set(sure.values())
        out += [(matches[reference, guess], (reference in served, True)) for guess, reference in best.items()]
    return out


def _grow(matching: dict[int, int], matches: Sequence[Match]) -> dict[int, int]:
    """A largest matching, as relation by prediction, by augmenting paths (Berge 1957) from a given one. Who is served in
    the given one stays served."""
    choices: dict[int, list[int]] = {}
    for match in sorted(matches, key=lambda match: (match.reference, match.prediction)):
        choices.setdefault(match.reference, []).append(match.prediction)
    taken = dict(matching)
    for start in choices:
        if start in taken.values():
            continue
        came_from: dict[int, int] = {}
        row = [start]
        while row:
            reference = row.pop(0)
            for guess in choices[reference]:
                if guess in came_from:
                    continue
                came_from[guess] = reference
                if guess not in taken:
                    _turn(taken, guess, came_from, start)
                    row = []
                    break
                row.append(taken[guess])
    return taken


def _turn(taken: dict[int, int], guess: int, came_from: dict[int, int], start: int) -> None:
    """Exchange the edges along the path that ends at `guess`."""
    served = {reference: number for number, reference in taken.items()}
    while True:
        reference = came_from[guess]
        before = served.get(reference)
        taken[guess] = reference
        if reference == start or before is None:
            return
        guess = before
