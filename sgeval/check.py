"""`sgeval validate`: every fault of a file at once, before anything is scored.

What scoring would refuse is found by scoring's own functions, so that the two cannot disagree.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgeval.data.source import check_split, read_source
from sgeval.errors import BadImage, InvalidInput, SgevalError, one_of
from sgeval.images import MAX_PIXELS, Size, image_sources, load_image
from sgeval.matching import NOTHING, align
from sgeval.phrases import DUAL_ENCODER_TEMPLATE, canonical
from sgeval.pictures import of_image, stated_size
from sgeval.progress import bar
from sgeval.records import SceneGraph
from sgeval.regions import ImageMode
from sgeval.relclip.execution import check_both_boxes, invalid_relations, key_of, sizes_of
from sgeval.relclip.options import Options
from sgeval.relclip.resolve import Pair, Picture, check_given, resolve
from sgeval.schemas import Kind
from sgeval.validation import Parsed, parse_graphs

ANY_SIZE = (MAX_PIXELS, MAX_PIXELS)
"""Stands for a size that is not known: no picture is larger, so what lies outside it lies outside every picture."""


@dataclass
class Check:
    """What `validate` found."""

    file: Path
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {"file": str(self.file), "faults": self.faults, "warnings": self.warnings, "counts": self.counts}


def check_file(
    file: Path,
    *,
    references: Path | None = None,
    images: Path | None = None,
    format: str = "sgeval",
    references_format: str | None = None,
    split: str | None = None,
    kind: str = "image",
) -> Check:
    """Check a file of predictions as scoring would: against the schema, against the references where they are given
    (`references_format`: as `format`; `split`: of a data set's folder), and against the pictures, which are decoded, where
    these are given."""
    one_of("kind", kind, ("image", "video"))
    which: Kind = "video" if kind == "video" else "image"
    found = Check(file)
    gold_form = references_format or format
    check_split(split, [(file, format), *([(references, gold_form)] if references else [])], which)
    mine = _read(file, "predictions", format, split, which, found)
    gold = _read(references, "references", gold_form, split, which, found) if references else None
    graphs = mine.parsed.graphs
    if not graphs and not found.faults:
        found.faults.append(NOTHING)
    found.counts = {
        f"{kind}s": len(graphs),
        "objects": sum(len(graph.objects) for graph in graphs),
        "relations": sum(len(graph.relations) for graph in graphs),
        "predicates": len(Counter(canonical(item.predicate) for graph in graphs for item in graph.relations)),
    }
    if kind == "image":
        _check_scenes(mine, gold, images, found)
    return found


@dataclass(frozen=True)
class _Side:
    """What could be read of a file."""

    parsed: Parsed
    is_known: bool
    """Whether the id of each record is known, also of those that were left out."""


def _read(file: Path, label: str, format: str, split: str | None, kind: Kind, found: Check) -> _Side:
    broken: list[str] = []
    rows = read_source(file, format, split=split, kind=kind, faults=broken)
    if rows and isinstance(rows[0], dict) and {"frame_id", "kind"} <= rows[0].keys():
        hint = "rows of frames are checked by `sgeval score ssg_role_values`"
        raise SgevalError(f"{label}: expected scene graphs, got rows of frames; {hint}")
    if kind == "image" and rows and isinstance(rows[0], dict) and "video_id" in rows[0] and "image_id" not in rows[0]:
        hint = "--kind video" + (" --format answers" if "answer" in rows[0] else "")
        raise SgevalError(f"{label}: expected graphs of images, got rows of videos; {hint} checks them")
    parsed = parse_graphs(rows, label, kind=kind, on_invalid="skip")
    found.faults += broken + parsed.faults
    found.warnings += parsed.warnings
    return _Side(parsed, not broken and len(parsed.graphs) + len(parsed.dropped) == parsed.n_rows)


def _check_scenes(mine: _Side, gold: _Side | None, images: Path | None, found: Check) -> None:
    pairs = _paired(mine, gold, found)
    sizes = [stated_size(reference, prediction) for prediction, reference in pairs]
    if images is not None:
        sizes = [read or stated for read, stated in zip(_picture_sizes(pairs, images, found), sizes, strict=True)]
    are_corners = False
    try:
        check_both_boxes(pairs, sizes)
    except InvalidInput as fault:  # such boxes only seem to lie outside, or to differ from the reference's
        found.faults += fault.faults
        are_corners = True
    judged = [(pair, size) for pair, size in zip(pairs, sizes, strict=True) if _is_whole(pair[1], gold)]
    difference = _difference([pair for pair, _ in judged])
    options = Options(matching="pair_iou" if difference else "given", on_invalid="skip")
    pictures = [
        resolve(pair, ANY_SIZE if are_corners else size or ANY_SIZE, options, DUAL_ENCODER_TEMPLATE, _NoModel(), None)
        for pair, size in bar(judged, "graphs", "graph")
    ]
    for picture in pictures:
        found.faults += _in_the_file(picture, mine.parsed.cut.get(picture.row.image_id, ()))
    if not are_corners:
        found.warnings += [difference] if difference else []
        _warn_of_boxes(pictures, found)


def _paired(mine: _Side, gold: _Side | None, found: Check) -> list[Pair]:
    """Predictions with their references. What may stand in a line that could not be read is not called missing."""
    graphs = mine.parsed.scenes
    if gold is None:
        if any(graph.relations and not graph.objects for graph in graphs):
            found.warnings.append("relations without objects: if the objects are the references', give --references")
        return [(graph, None) for graph in graphs]
    by_id = {graph.key: graph for graph in gold.parsed.scenes}
    judged = [
        (graph, position)
        for graph, position in zip(graphs, mine.parsed.positions, strict=True)
        if gold.is_known or graph.key in by_id
    ]
    try:
        align(
            [graph for graph, _ in judged],
            gold.parsed.scenes,
            "error" if mine.is_known else "zero",
            left_out=mine.parsed.left_out | gold.parsed.left_out,
            positions=[position for _, position in judged],
        )
    except InvalidInput as fault:
        found.faults += fault.faults
    return [(graph, by_id.get(graph.key)) for graph in graphs]


def _is_whole(reference: SceneGraph | None, gold: _Side | None) -> bool:
    """Whether a reference can tell which objects there are. One that is unknown, or lost objects, is a fault already."""
    return gold is None or (reference is not None and reference.key not in gold.parsed.cut)


def _picture_sizes(pairs: Sequence[Pair], images: Path, found: Check) -> list[Size | None]:
    """The size of each picture, each decoded whole: a header says nothing of a file that was cut off."""
    sources = image_sources(images, pairs)
    sizes, faults = sizes_of(pairs, sources)
    for index, (source, size) in enumerate(bar(zip(sources, sizes, strict=True), "pictures", "picture", len(pairs))):
        try:
            if size is not None:
                load_image(source, size)
        except BadImage as fault:
            faults[index] = str(fault)
    found.faults += [of_image(key_of(pairs[index]), faults[index]) for index in sorted(faults)]
    return sizes


def _difference(pairs: Sequence[Pair]) -> str | None:
    """How predicted boxes differ from the references'. Then they are a detector's, for another matching than "given"."""
    try:
        check_given(pairs)
    except SgevalError as difference:
        return str(difference)
    return None


@dataclass(frozen=True)
class _NoModel:
    """What `resolve` asks of a model."""

    image_mode: ImageMode = "squash"


def _in_the_file(picture: Picture, lost: Sequence[int]) -> list[str]:
    """The faults of a picture's relations, numbered as the file has them: some (`lost`) were left out before."""
    if not lost:
        return invalid_relations([picture])
    count = len(picture.items) + len(lost)
    numbers = [number for number in range(count) if number not in {*lost}]
    return [
        fault.replace(f"relations[{item.index}]", f"relations[{numbers[item.index]}]", 1)
        for item in picture.items
        for fault in invalid_relations([Picture(picture.row, (item,), {})])
    ]


def _warn_of_boxes(pictures: Sequence[Picture], found: Check) -> None:
    n_clipped = sum(picture.row.n_clipped for picture in pictures)
    n_outside = sum(picture.row.n_outside for picture in pictures)
    for number, words in (
        (n_clipped, "boxes that stick out of their picture, and are cut at its edge"),
        (n_outside, "boxes wholly outside their picture, which count as objects but bear no relation"),
    ):
        if number:
            found.warnings.append(f"{words}: {number:,}")
