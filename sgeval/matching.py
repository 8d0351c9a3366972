"""Which prediction belongs to which reference: by id for pictures, by given pairs or by overlap for objects."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from sgeval.boxes import Boxes, corners, iou, union_box
from sgeval.errors import Fault, InvalidInput, Place, SgevalError, shown, steps
from sgeval.records import Graph, SceneGraph

Matching = Literal["given", "pair_iou", "union_iou"]
Missing = Literal["error", "zero"]
G = TypeVar("G", bound=Graph)

NOTHING = "predictions: expected at least one image, got none"

IOU_THRESHOLD = 0.5
IOU_TOLERANCE = (
    1e-9  # relative; what rounding takes from the IoU of boxes with decimals that overlap by exactly one half
)
BOX_TOLERANCE = 1e-3  # pixels; what float32 storage and decimal files do to a box of up to 10,000 px


def align(
    predictions: Sequence[G],
    references: Sequence[G] | None,
    missing: Missing = "error",
    limit: int | None = None,
    left_out: Collection[str] = (),
    positions: Sequence[int] | None = None,
) -> list[tuple[G | None, G | None]]:
    """(prediction, reference) pairs in the order of the references, or of the predictions when there are none.

    `limit` keeps the first references. An unknown id is a fault; an id that the predictions lack is one too, unless
    `missing="zero"`: then the pair has no prediction. Ids in `left_out` were dropped at the border, on either side: what
    stands on the other side is passed over, but with `missing="zero"` a reference is kept, without a prediction.
    `positions` are those of the predictions' rows, where some were left out. Raises `InvalidInput` with every fault.
    """
    refuse_doubles(predictions=predictions, references=references or ())
    if references is None:
        if missing == "zero":
            raise SgevalError('missing: "zero" needs references: without them nothing can be missing')
        return [(graph, None) for graph in predictions[:limit]]
    known = {graph.key for graph in references}
    by_key = {graph.key: graph for graph in predictions}
    faults = [
        _unknown(index, graph)
        for index, graph in zip(positions or range(len(predictions)), predictions, strict=True)
        if graph.key not in known and graph.key not in left_out
    ]
    kept = [graph for graph in references[:limit] if missing == "zero" or graph.key not in left_out]
    if missing == "error":
        faults += [_lacking(graph) for graph in kept if graph.key not in by_key]
    if faults:
        raise InvalidInput("predictions", faults)
    return [(by_key.get(graph.key), graph) for graph in kept]


def _unknown(index: int, graph: Graph) -> Fault:
    place, message = (index, _key_name(graph)), f"expected an id of the references, got {shown(graph.key)}"
    return Fault(f"predictions{steps(place)}: {message}", place, message)


def _lacking(graph: Graph) -> Fault:
    key = shown(graph.key, limit=10 * len(graph.key) + 2)  # whole, so that a machine can tell which
    message = f"expected a graph with the {_key_name(graph)} {key} of the references, got none"
    return Fault(f"predictions: {message}", (), message)


def refuse_doubles(**sides: Sequence[Graph]) -> None:
    """Raise `InvalidInput` where an id stands twice on one side; the keyword is what the side is called."""
    faults = [fault for label, graphs in sides.items() for fault in _doubles(graphs, label)]
    if faults:
        raise InvalidInput("input", faults)


def _doubles(graphs: Sequence[Graph], label: str) -> list[str]:
    counts = Counter(graph.key for graph in graphs)
    return [f"{label}: expected each id once, got {shown(key)} {n} times" for key, n in counts.items() if n > 1]


def _key_name(graph: Graph) -> str:
    return "image_id" if isinstance(graph, SceneGraph) else "video_id"


@dataclass(frozen=True)
class PairMatch:
    """Where a predicted relation stands in the reference: the reference's object ids of its two ends."""

    subject_id: int
    object_id: int


def first_difference(prediction: SceneGraph, reference: SceneGraph) -> str | None:
    """How the predicted objects differ from the reference's boxes, in words; `None` when they agree or are absent."""
    found = (f"{steps(place)[1:]}: {message}" for place, message in differences(prediction, reference))
    return next(found, None)


def differences(prediction: SceneGraph, reference: SceneGraph) -> Iterator[tuple[Place, str]]:
    """Where predicted objects are not the reference's: the place in the graph, and what was expected there."""
    boxes = {item.id: item.bbox for item in reference.objects}
    for index, item in enumerate(prediction.objects):
        if item.id not in boxes:
            message = f"expected the id of one of the reference's {len(boxes)} objects, got {item.id}"
            yield ("objects", index, "id"), message
            continue
        box = boxes[item.id]
        if item.bbox is None or box is None:
            continue
        if any(abs(mine - theirs) > BOX_TOLERANCE for mine, theirs in zip(item.bbox, box, strict=True)):
            message = f"expected the reference's {shown(list(box))}, got {shown(list(item.bbox))}"
            yield ("objects", index, "bbox"), message


def match_objects(prediction: SceneGraph, reference: SceneGraph, threshold: float = IOU_THRESHOLD) -> dict[int, int]:
    """Predicted object id to reference object id, one to one: the rule of SGDet for `matching="pair_iou"`.

    Predicted objects take their turn by the best score of a relation they are in (objects of unscored relations last,
    then file order); each takes the free reference box with the highest IoU, if that is at least `threshold`. Labels do
    not matter.
    """
    gold = [item for item in reference.objects if item.bbox is not None]
    mine = [item for item in prediction.objects if item.bbox is not None]
    if not gold or not mine:
        return {}
    confidence: dict[int, float] = {}
    for relation in prediction.relations:
        for end in (relation.subject_id, relation.object_id):
            score = relation.score if relation.score is not None else -np.inf
            confidence[end] = max(confidence.get(end, -np.inf), score)
    overlap = _overlaps(corners([item.bbox for item in mine]), corners([item.bbox for item in gold]))  # type: ignore[misc]
    turns = sorted(range(len(mine)), key=lambda index: -confidence.get(mine[index].id, -np.inf))
    found: dict[int, int] = {}
    free = np.ones(len(gold), dtype=bool)
    for index in turns:
        row = np.where(free, overlap[index], -1.0)
        best = int(row.argmax())
        if _reaches(row[best], threshold):
            found[mine[index].id] = gold[best].id
            free[best] = False
    return found


def match_unions(
    prediction: SceneGraph, reference: SceneGraph, threshold: float = IOU_THRESHOLD
) -> dict[tuple[int, int], PairMatch]:
    """Predicted ordered pair to reference ordered pair by the IoU of their union boxes: `matching="union_iou"`.

    Predicted unordered pairs take their turn by their best relation score (then file order); each takes the free pair
    of reference objects with the highest union IoU, if that is at least `threshold`. Which end is the subject is
    settled by the larger sum of the two boxes' IoU.
    """
    gold = {item.id: corners([item.bbox])[0] for item in reference.objects if item.bbox is not None}
    mine = {item.id: corners([item.bbox])[0] for item in prediction.objects if item.bbox is not None}
    gold_ids = list(gold)
    gold_pairs = [(a, b) for i, a in enumerate(gold_ids) for b in gold_ids[i + 1 :]]
    best_score: dict[tuple[int, int], float] = {}
    for relation in prediction.relations:
        low, high = sorted((relation.subject_id, relation.object_id))
        if low != high and low in mine and high in mine:
            score = relation.score if relation.score is not None else -np.inf
            best_score[low, high] = max(best_score.get((low, high), -np.inf), score)
    if not gold_pairs or not best_score:
        return {}
    gold_unions = np.stack([union_box(gold[a], gold[b]) for a, b in gold_pairs])
    free = np.ones(len(gold_pairs), dtype=bool)
    found: dict[tuple[int, int], PairMatch] = {}
    for a, b in sorted(best_score, key=lambda pair: -best_score[pair]):
        row = np.where(free, iou(union_box(mine[a], mine[b])[None], gold_unions), -1.0)
        best = int(row.argmax())
        if not _reaches(row[best], threshold):
            continue
        free[best] = False
        first, second = _oriented(mine[a], mine[b], gold_pairs[best], gold)
        found[a, b] = PairMatch(first, second)
        found[b, a] = PairMatch(second, first)
    return found


def _reaches(overlap: float, threshold: float) -> bool:
    """Whether an IoU is at least the threshold, rounding forgiven (`IOU_TOLERANCE`)."""
    return bool(overlap >= threshold * (1 - IOU_TOLERANCE))


def _oriented(a: Boxes, b: Boxes, pair: tuple[int, int], gold: Mapping[int, Boxes]) -> tuple[int, int]:
    straight = iou(a, gold[pair[0]]) + iou(b, gold[pair[1]])
    crossed = iou(a, gold[pair[1]]) + iou(b, gold[pair[0]])
    return pair if straight >= crossed else (pair[1], pair[0])


def _overlaps(first: Boxes, second: Boxes) -> Boxes:
    return iou(np.repeat(first[:, None], len(second), axis=1), np.repeat(second[None], len(first), axis=0))


def corner_hint(faulty: int, total: int) -> str | None:
    """The hint for a file whose boxes leave their pictures as x, y, width, height but would fit as corners."""
    if total and 2 * faulty >= total:
        return (
            f"expected boxes as [x, y, width, height], got {faulty} of {total} boxes that leave their picture as such "
            "and fit as corners [x1, y1, x2, y2]"
        )
    return None


def fits_only_as_corners(bbox: Sequence[float], width: int, height: int) -> bool:
    """Whether a box leaves its picture as x, y, width, height and would lie in it as x1, y1, x2, y2."""
    x, y, third, fourth = bbox
    leaves = x + third > width + 1 or y + fourth > height + 1
    return leaves and third > x and fourth > y and x >= 0 and y >= 0 and third <= width + 1 and fourth <= height + 1
