"""What separates systems that were scored alike: who is first, where they said different things, and what kind."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sgeval.comparison import protocol, units
from sgeval.phrases import canonical
from sgeval.relclip import Item
from sgeval.report.facts import scored_items
from sgeval.report.text import number
from sgeval.runs import Run
from sgeval.summary import mean

Kind = Literal["equal", "exchanged", "other", "unknown"]
Ends = tuple[int, int]
References = Mapping[tuple[str, Ends], tuple[str, ...]]
"""The reference's predicates by picture and ordered pair."""

KINDS: Mapping[Kind, str] = {
    "equal": "As the reference",
    "exchanged": "Subject and object exchanged",
    "other": "Another predicate",
    "unknown": "No reference on the pair",
}
LARGEST = 9  # differences shown
A_PICTURE = 2  # of them from one picture
SAME_BOX = 1.0  # pixels


@dataclass(frozen=True)
class KindShare:
    """How many of a system's relations are of a kind, and their mean score."""

    kind: Kind
    n: int
    mean: float | None


@dataclass(frozen=True)
class Difference:
    """A pair of objects of which systems said different things, what each said, and how far the scores are apart."""

    image_id: str
    first: int
    second: int
    gap: float
    said: tuple[tuple[int, tuple[Item, ...]], ...]
    """(position of the system, its relations on the pair)."""
    references: tuple[tuple[Ends, tuple[str, ...]], ...]


def obstacles(runs: Sequence[Run]) -> list[str]:
    """Why runs cannot be ranked together, in plain words; empty when they can."""
    found = []
    if len({units(run) for run in runs}) > 1:
        found.append("The runs are not over the same pictures.")
    parts = [name for name, _ in signature_differences(runs)]
    if set(parts) - {"references", "objects"}:
        found.append("The signatures differ, so the numbers do not measure the same thing.")
    if "objects" in parts and not found:
        found.append("The pictures do not hold the same objects.")
    if "references" in parts:
        found.append("The runs were not made with the same references.")
    return found


def signature_differences(runs: Sequence[Run]) -> list[tuple[str, list[str]]]:
    """The parts that move a number and are not the same in all runs: name, value in each run (empty where absent)."""
    parts = [protocol(run, runs) for run in runs]
    names = list(dict.fromkeys(name for each in parts for name in each))
    rows = [(name, [each.get(name, "") for each in parts]) for name in names]
    return [(name, values) for name, values in rows if len(set(values)) > 1]


def order(runs: Sequence[Run]) -> list[int]:
    """Positions of the runs, highest headline first; undefined ones last; equal ones in the order given."""
    values = [number(run.result.get(run.metric)) for run in runs]
    return sorted(range(len(runs)), key=lambda index: (values[index] is None, -(values[index] or 0.0)))


def reference_predicates(runs: Sequence[Run]) -> References:
    """The reference's predicates by picture and ordered pair, as far as relations of any run show them."""
    found: dict[tuple[str, Ends], tuple[str, ...]] = {}
    for run in runs:
        for item in run.rows.items:
            if item.pair:
                for ends, predicates in ((item.pair, item.ref_predicates), (item.pair[::-1], item.ref_reversed)):
                    if predicates:
                        found[item.image_id, ends] = predicates
    return found


def kind_of(item: Item, references: References) -> Kind:
    """Whether a relation says what the reference says of its ordered pair, of the reversed pair, or something else."""
    if item.pair is None:
        return "unknown"
    here = references.get((item.image_id, item.pair), ())
    there = references.get((item.image_id, item.pair[::-1]), ())
    if item.group in map(canonical, here):
        return "equal"
    if item.group in map(canonical, there):
        return "exchanged"
    return "other" if here or there else "unknown"


def kind_shares(items: Sequence[Item], references: References) -> list[KindShare]:
    """Number and mean score of each kind, in the order of `KINDS`."""
    by_kind: dict[Kind, list[float]] = {kind: [] for kind in KINDS}
    for item in items:
        by_kind[kind_of(item, references)].append(item.score or 0.0)
    return [KindShare(kind, len(found), mean(found)) for kind, found in by_kind.items()]


def differences(runs: Sequence[Run], limit: int = LARGEST, a_picture: int = A_PICTURE) -> list[Difference]:
    """The pairs of objects with the largest gap between the systems' scores, among those of which they said different
    things; at most `a_picture` from one picture.

    A pair is two objects of a picture in either direction; a system's score on it is the mean of its relations there.
    """
    said: dict[tuple[str, int, int], dict[int, list[Item]]] = defaultdict(lambda: defaultdict(list))
    for position, run in enumerate(runs):
        for item in scored_items(run):
            if item.pair:
                low, high = sorted(item.pair)
                said[item.image_id, low, high][position].append(item)
    references = reference_predicates(runs)
    found = [_difference(key, by_run, references) for key, by_run in said.items() if _differ(by_run)]
    found.sort(key=lambda row: (-row.gap, row.image_id, row.first, row.second))
    taken: dict[str, int] = defaultdict(int)
    kept = []
    for row in found:
        taken[row.image_id] += 1
        if taken[row.image_id] <= a_picture:
            kept.append(row)
    return kept[:limit]


def _differ(by_run: Mapping[int, Sequence[Item]]) -> bool:
    """Whether two systems or more spoke of the same two boxes and not all said the same."""
    statements = {frozenset((item.pair, item.group) for item in items) for items in by_run.values()}
    return len(statements) > 1 and _same_boxes([item for items in by_run.values() for item in items])


def _same_boxes(items: Sequence[Item]) -> bool:
    """Whether an id means the same box in all relations: without references, ids are each system's own."""
    boxes: dict[int, tuple[float, ...]] = {}
    for item in items:
        if item.pair is None or item.subject_box is None or item.object_box is None:
            return False
        if item.pair != (item.subject_id, item.object_id):
            continue  # matched by overlap: the boxes are the system's own, the pair is the reference's
        for end, box in zip(item.pair, (item.subject_box, item.object_box), strict=True):
            known = boxes.setdefault(end, box)
            if any(abs(one - other) > SAME_BOX for one, other in zip(known, box, strict=True)):
                return False
    return True


def _difference(key: tuple[str, int, int], by_run: Mapping[int, Sequence[Item]], references: References) -> Difference:
    image_id, low, high = key
    means = [mean([item.score or 0.0 for item in items]) or 0.0 for items in by_run.values()]
    both = [(ends, references.get((image_id, ends), ())) for ends in ((low, high), (high, low))]
    return Difference(
        image_id,
        low,
        high,
        max(means) - min(means),
        tuple((position, tuple(by_run[position])) for position in sorted(by_run)),
        tuple((ends, predicates) for ends, predicates in both if predicates),
    )
