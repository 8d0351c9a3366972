"""From an aligned pair of graphs to the rows of one picture: which relations are scored, where, and as which pair."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sgeval.boxes import Boxes, area, clip_boxes, corners, union_box
from sgeval.errors import SgevalError, shown
from sgeval.images import Size
from sgeval.matching import Matching, first_difference, match_objects, match_unions
from sgeval.phrases import canonical, triplet_text
from sgeval.records import Object, Relation, SceneGraph
from sgeval.regions import crop_rects, endpoint_cut
from sgeval.relclip.options import Options
from sgeval.relclip.rows import Item
from sgeval.rows import Corners, ImageRow, ImageStatus

Pair = tuple[SceneGraph | None, SceneGraph | None]


@dataclass(frozen=True)
class Picture:
    """One picture before scoring: its row, its items (texts and crops filled where they will be scored), its texts of
    the reference a pair."""

    row: ImageRow
    items: tuple[Item, ...]
    reference_texts: dict[tuple[int, int], tuple[str, ...]]


def check_given(pairs: Sequence[Pair]) -> None:
    """`matching="given"`: predicted objects are absent or are the reference's. Raises naming the first difference."""
    for prediction, reference in pairs:
        if prediction is None or reference is None:
            continue
        difference = first_difference(prediction, reference)
        if difference:
            raise SgevalError(
                f"prediction of image {shown(prediction.key)}: {difference}. "
                'With matching="given" the predicted objects are absent or equal the reference\'s boxes; '
                'for boxes of a detector choose matching="pair_iou" or "union_iou"'
            )


def gold_pairs(reference: SceneGraph | None) -> frozenset[frozenset[int]]:
    """The unordered pairs of boxed objects that a reference relates. They follow from the reference alone: nothing that is
    predicted, and no picture, adds or takes one."""
    if reference is None:
        return frozenset()
    boxed = {item.id for item in reference.objects if item.bbox is not None}
    pairs = (frozenset((relation.subject_id, relation.object_id)) for relation in reference.relations)
    return frozenset(pair for pair in pairs if len(pair) == 2 and pair <= boxed)


def resolve(pair: Pair, size: Size, options: Options, template: str, encoder: Any, file: str | None) -> Picture:
    """The rows of one picture. Items that will be scored carry text, crop and boxes; the others their reason."""
    prediction, reference = pair
    graph = reference or prediction
    assert graph is not None
    width, height = size
    boxed = [item for item in graph.objects if item.bbox is not None]
    gold = gold_pairs(reference) if options.pairs == "gold" else None
    row = ImageRow(graph.image_id, file, width, height, len(boxed), "ok" if prediction is not None else "missing")
    row = row if gold is None else replace(row, n_gold_pairs=len(gold))
    if prediction is None:
        return Picture(row, (), {})
    ends = ends_of(prediction, reference, size, options.matching)
    pair_of = _pairs(prediction, reference, options.matching)
    references = _reference_predicates(reference)
    placed = [
        _placed(_item(graph.image_id, index, relation, ends.objects), relation, ends, pair_of)
        for index, relation in enumerate(prediction.relations)
    ]
    if gold is not None:
        placed = [_of_gold(item, gold) for item in placed]
    items = [
        _ready(item, size, options, template, encoder, references) if item.status == "scored" else item
        for item in _merged(placed, options)
    ]
    texts = {
        ends: tuple(
            triplet_text(subject, predicate, obj, template, options.normalisation)
            for subject, predicate, obj in triplets
        )
        for ends, triplets in references.items()
    }
    return Picture(replace(row, n_clipped=ends.n_clipped, n_outside=ends.n_outside), tuple(items), texts)


def _of_gold(item: Item, gold: frozenset[frozenset[int]]) -> Item:
    """A relation between objects that the reference does not relate is set aside before it costs anything."""
    if item.status != "scored" or frozenset(item.pair or ()) in gold:
        return item
    return replace(item, status="other_pair", reason="the reference has no relation on its pair")


def _merged(items: Sequence[Item], options: Options) -> list[Item]:
    """Repeats of a triplet become duplicates of one of them: that with the first spelling of its words by alphabet, so
    that the order of a file does not decide what is scored."""
    kept: dict[tuple[int, int, str], Item] = {}
    for item in items:
        if item.status == "scored":
            key = _triplet(item, options)
            kept[key] = min(kept.get(key, item), item, key=lambda each: (each.subject, each.predicate, each.object))
    return [
        replace(item, status="duplicate", reason="another relation of this picture says the same")
        if item.status == "scored" and kept[_triplet(item, options)] is not item
        else item
        for item in items
    ]


def _triplet(item: Item, options: Options) -> tuple[int, int, str]:
    assert item.pair is not None
    return (*item.pair, item.group if options.normalisation == "words" else item.predicate)


def unread(pair: Pair, fault: str | None, options: Options) -> Picture:
    """A picture that is not scored: its prediction is missing, or (`fault`) it cannot be read."""
    prediction, reference = pair
    graph = reference or prediction
    assert graph is not None
    m = sum(item.bbox is not None for item in graph.objects)
    status: ImageStatus = "missing" if fault is None else "bad_image"
    gold = len(gold_pairs(reference)) if options.pairs == "gold" else None
    row = ImageRow(graph.image_id, None, graph.width, graph.height, m, status, reason=fault, n_gold_pairs=gold)
    if prediction is None or fault is None:
        return Picture(row, (), {})
    labels = {item.id: item for item in (*graph.objects, *prediction.objects)}
    items = (_item(graph.image_id, index, relation, labels) for index, relation in enumerate(prediction.relations))
    return Picture(row, tuple(replace(item, status="bad_image", reason=fault) for item in items), {})


@dataclass(frozen=True)
class Ends:
    """What relations may be between: the objects by id (for crops and labels), and their boxes as corners within the
    picture, where they have one."""

    objects: dict[int, Object]
    clipped: dict[int, Boxes]
    empty: frozenset[int]
    """The objects whose boxes lie outside the picture."""
    n_clipped: int
    """Boxes that stick out of the picture."""

    @property
    def n_outside(self) -> int:
        """Boxes wholly outside the picture."""
        return len(self.empty)

    def fault(self, relation: Relation) -> tuple[str, str] | None:
        """Why a relation of two different objects cannot be scored: the key of its end, and what was expected of it."""
        for name, end in (("subject_id", relation.subject_id), ("object_id", relation.object_id)):
            if end not in self.objects:
                return name, f"expected the id of one of the {len(self.objects)} objects, got {end}"
            if end not in self.clipped:
                return name, f"expected an object with a box, got {end} without"
            if end in self.empty:
                box = shown(list(self.objects[end].bbox or ()))
                return name, f"expected a box that touches the picture, got object {end} with {box}"
        return None


def ends_of(prediction: SceneGraph, reference: SceneGraph | None, size: Size, matching: Matching) -> Ends:
    """The ends that a prediction's relations may have: with `matching="given"` the objects of the reference."""
    objects = {item.id: item for item in prediction.objects}
    if reference is not None and matching == "given":
        mine = objects
        objects = {
            item.id: item if (category := _category(mine, item)) == item.category else replace(item, category=category)
            for item in reference.objects
        }
    boxed = [(key, item.bbox) for key, item in objects.items() if item.bbox is not None]
    boxes = corners([box for _, box in boxed])
    clipped = clip_boxes(boxes, *size)
    is_empty = area(clipped) <= 0
    is_cut = np.any(clipped != boxes, axis=1) & ~is_empty
    return Ends(
        objects,
        {key: box for (key, _), box in zip(boxed, clipped, strict=True)},
        frozenset(key for (key, _), empty in zip(boxed, is_empty.tolist(), strict=True) if empty),
        int(is_cut.sum()),
    )


def _category(mine: Mapping[int, Object], item: Object) -> str:
    """What the prediction calls an object of the reference, else what that calls it."""
    return mine[item.id].category if item.id in mine else item.category


PairOf = Callable[[tuple[int, int]], tuple[int, int] | None]
"""The reference's pair of objects for a predicted one."""


def _pairs(prediction: SceneGraph, reference: SceneGraph | None, matching: Matching) -> PairOf:
    if reference is None or matching == "given":
        return lambda ends: ends
    if matching == "pair_iou":
        matched = match_objects(prediction, reference)
        return lambda ends: (matched[ends[0]], matched[ends[1]]) if {*ends} <= matched.keys() else None
    unions = match_unions(prediction, reference)
    return lambda ends: (unions[ends].subject_id, unions[ends].object_id) if ends in unions else None


def _item(image_id: str, index: int, relation: Relation, objects: Mapping[int, Object]) -> Item:
    labels = [
        objects[end].category if end in objects else str(end) for end in (relation.subject_id, relation.object_id)
    ]
    return Item(
        image_id,
        index,
        relation.subject_id,
        relation.object_id,
        labels[0],
        relation.predicate,
        labels[1],
        canonical(relation.predicate),
        "scored",
    )


def _placed(item: Item, relation: Relation, known: Ends, pair_of: PairOf) -> Item:
    """Settle the status: self relations, ends without a box in the picture, pairs without a match."""
    ends = (relation.subject_id, relation.object_id)
    if ends[0] == ends[1]:
        return replace(item, status="self", reason="subject and object are the same")
    if fault := known.fault(relation):
        return replace(item, status="invalid", reason=f"relations[{item.index}].{fault[0]}: {fault[1]}")
    pair = pair_of(ends)
    if pair is None:
        return replace(item, status="unmatched", reason="no reference objects overlap enough")
    subject, obj = (_corner_tuple(known.clipped[end]) for end in ends)
    return replace(item, pair=pair, subject_box=subject, object_box=obj)


def _ready(
    item: Item,
    size: Size,
    options: Options,
    template: str,
    encoder: Any,
    references: dict[tuple[int, int], list[tuple[str, str, str]]],
) -> Item:
    """Text, crop and reference of an item that will be scored."""
    subject, obj = np.array(item.subject_box), np.array(item.object_box)
    rect = crop_rects(union_box(subject, obj)[None], *size, options.context)[0]
    assert item.pair is not None
    predicates, turned = (
        tuple(predicate for _, predicate, _ in references.get(ends, ())) for ends in (item.pair, item.pair[::-1])
    )
    return replace(
        item,
        text=triplet_text(item.subject, item.predicate, item.object, template, options.normalisation),
        crop=_corner_tuple(rect),
        endpoint_cut=endpoint_cut(subject, obj, rect, encoder.image_mode, options.fit),
        ref_predicates=predicates,
        ref_reversed=turned,
        exact=item.predicate in predicates if predicates else None,
        exact_normalised=item.group in map(canonical, predicates) if predicates else None,
    )


def _reference_predicates(reference: SceneGraph | None) -> dict[tuple[int, int], list[tuple[str, str, str]]]:
    """The reference's triplets (subject, predicate, object as labels) by ordered pair of ids, doubles once."""
    if reference is None:
        return {}
    names = {item.id: item.category for item in reference.objects}
    found: dict[tuple[int, int], list[tuple[str, str, str]]] = {}
    for relation in reference.relations:
        ends = (relation.subject_id, relation.object_id)
        if ends[0] == ends[1] or not {*ends} <= names.keys():
            continue
        triplet = (names[ends[0]], relation.predicate, names[ends[1]])
        triplets = found.setdefault(ends, [])
        if triplet not in triplets:
            triplets.append(triplet)
    return found


def _corner_tuple(box: Any) -> Corners:
    x1, y1, x2, y2 = (float(value) for value in box)
    return (x1, y1, x2, y2)
