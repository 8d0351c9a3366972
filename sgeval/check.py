"""`sgeval validate`: every fault of a file at once, before anything is scored.

What scoring would refuse is found by scoring's own functions, so that the two cannot disagree.
"""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgeval.data.source import check_split, read_source, source_files
from sgeval.errors import BadImage, Fault, InvalidInput, SgevalError, one_of, steps
from sgeval.every_row import Reading
from sgeval.images import MAX_PIXELS, Size, image_sources, load_image
from sgeval.limits import USUAL, Limits
from sgeval.matching import NOTHING, align
from sgeval.phrases import canonical
from sgeval.pictures import of_image, stated_size
from sgeval.progress import bar
from sgeval.records import Graph, SceneGraph
from sgeval.relclip.execution import check_both_boxes, key_of, of_graph, sizes_of
from sgeval.relclip.resolve import Ends, Pair, check_given, ends_of
from sgeval.schemas import Kind
from sgeval.validation import Parsed, parse_graphs

ANY_SIZE = (MAX_PIXELS, MAX_PIXELS)
"""Stands for a size that is not known: no picture is larger, so what lies outside it lies outside every picture."""


@dataclass
class Check:
    """What `validate` found."""

    file: Path
    faults: list[Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        faults = [fault.as_dict() for fault in self.faults]
        return {"file": str(self.file), "faults": faults, "warnings": self.warnings, "counts": self.counts}

    def note(self, faults: Iterable[str], side: "_Side") -> None:
        """Add faults of a file, as many as its limits allow."""
        most = side.reading.limits.faults
        for text in faults:
            if len(self.faults) >= most:
                full = f"expected at most {most:,} faults, got more; the rest is not listed"
                self.faults += [Fault(full)] if len(self.faults) == most else []
                return
            fault = text if isinstance(text, Fault) else Fault(text)
            lines, row = side.reading.lines, fault.place[0] if fault.place else None
            fault.file, fault.member = str(side.file), side.reading.member
            fault.line = lines[row] if isinstance(row, int) and row < len(lines) else None
            self.faults.append(fault)


def check_file(
    file: Path,
    *,
    references: Path | None = None,
    images: Path | None = None,
    format: str = "sgeval",
    references_format: str | None = None,
    split: str | None = None,
    kind: str = "image",
    limits: Limits = USUAL,
) -> Check:
    """Check a file of predictions as scoring would: against the schema, against the references where they are given
    (`references_format`: as `format`; `split`: of a data set's folder), and against the pictures, which are decoded, where
    these are given. The file may be a zip of one.

    What is wrong with a file is a fault in what comes back, also where nothing could be read of it, or where it holds more
    than the `limits` (of the predictions) allow. Raises `SgevalError` for an option that is none, a file that is not
    there, and rows of another kind.
    """
    one_of("kind", kind, ("image", "video"))
    which: Kind = "video" if kind == "video" else "image"
    found = Check(file)
    gold_form = references_format or format
    check_split(split, [(file, format), *([(references, gold_form)] if references else [])], which)
    with _without_collector():
        mine = _read(file, "predictions", format, split, which, found, limits)
        gold = _read(references, "references", gold_form, split, which, found) if references else None
    graphs = mine.parsed.graphs
    if not graphs and not found.faults:
        found.note([Fault(NOTHING, (), NOTHING.removeprefix("predictions: "))], mine)
    found.counts = {
        f"{kind}s": len(graphs),
        "objects": sum(len(graph.objects) for graph in graphs),
        "relations": sum(len(graph.relations) for graph in graphs),
        "predicates": len({canonical(predicate) for predicate in _predicates(graphs)}),
    }
    if kind == "image":
        _check_scenes(mine, gold, images, found)
    elif gold is not None:
        _check_ids(mine, gold, found)
    return found


@contextmanager
def _without_collector() -> Iterator[None]:
    """A fifth of the time of reading went into looking for cycles among millions of values, where there are none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _predicates(graphs: Iterable[Graph]) -> set[str]:
    return {relation.predicate for graph in graphs for relation in graph.relations}


@dataclass(frozen=True)
class _Side:
    """What could be read of a file."""

    file: Path
    reading: Reading
    parsed: Parsed
    is_known: bool
    """Whether the id of each record is known, also of those that were left out."""


def _read(
    file: Path, label: str, form: str, split: str | None, kind: Kind, found: Check, limits: Limits = USUAL
) -> _Side:
    reading = Reading(limits)
    source_files(file, form, kind)  # raises for an option that is none
    try:
        rows = read_source(file, form, split=split, kind=kind, noted=reading)
    except SgevalError as fault:
        if not file.is_file():
            raise
        side = _Side(file, reading, Parsed(), False)
        found.note(reading.faults, side)
        place = f"{reading.name or file}: "
        faults = fault.faults if isinstance(fault, InvalidInput) else [str(fault)]
        found.note(
            (text if isinstance(text, Fault) else Fault(text, (), text.removeprefix(place)) for text in faults), side
        )
        return side
    _refuse_others(rows, label, kind)
    parsed = parse_graphs(rows, label, kind=kind, on_invalid="skip", most_faults=limits.faults)
    side = _Side(file, reading, parsed, len(parsed.graphs) + len(parsed.dropped) == parsed.n_rows)
    found.note(reading.faults + parsed.faults, side)
    found.warnings += parsed.warnings
    return side


def _refuse_others(rows: Sequence[Any], label: str, kind: Kind) -> None:
    """Refuse rows of another kind, and say which command is theirs."""
    first = next((row for row in rows if isinstance(row, dict)), {})
    if {"frame_id", "kind"} <= first.keys():
        hint = "rows of frames are checked by `sgeval score ssg_role_values`"
        raise SgevalError(f"{label}: expected scene graphs, got rows of frames; {hint}")
    if kind == "image" and "video_id" in first and "image_id" not in first:
        hint = "--kind video" + (" --format answers" if "answer" in first else "")
        raise SgevalError(f"{label}: expected graphs of images, got rows of videos; {hint} checks them")


@dataclass(frozen=True)
class _Case:
    """A prediction with its reference, the position of its row, and the size of its picture, as far as it is known."""

    pair: Pair
    position: int
    size: Size | None


def _check_scenes(mine: _Side, gold: _Side | None, images: Path | None, found: Check) -> None:
    graphs = mine.parsed.scenes
    if gold is None and any(graph.relations and not graph.objects for graph in graphs):
        found.warnings.append("relations without objects: if the objects are the references', give --references")
    if gold is not None:
        _check_ids(mine, gold, found)
    by_id = {graph.key: graph for graph in gold.parsed.scenes} if gold else {}
    pairs: list[Pair] = [(graph, by_id.get(graph.key)) for graph in graphs]
    sizes = [stated_size(reference, prediction) for prediction, reference in pairs]
    if images is not None:
        sizes = [read or stated for read, stated in zip(_picture_sizes(pairs, images, mine, found), sizes, strict=True)]
    are_corners = False
    try:
        check_both_boxes(pairs, sizes)
    except InvalidInput as fault:  # such boxes only seem to lie outside, or to differ from the reference's
        found.note(fault.faults, mine)
        are_corners = True
    judged = [
        _Case(pair, position, None if are_corners else size)
        for pair, position, size in zip(pairs, mine.parsed.positions, sizes, strict=True)
        if _is_whole(pair[1], gold)
    ]
    difference = _difference([case.pair for case in judged])
    n_clipped = n_outside = 0
    for case in bar(judged, "graphs", "graph"):
        prediction, reference = case.pair
        assert prediction is not None
        ends = ends_of(prediction, reference, case.size or ANY_SIZE, "pair_iou" if difference else "given")
        found.note(_of_relations(prediction, ends, case.position, mine.parsed.cut.get(prediction.key, ())), mine)
        n_clipped += ends.n_clipped
        n_outside += ends.n_outside
    if not are_corners:
        found.warnings += [difference] if difference else []
        _warn_of_boxes(n_clipped, n_outside, found)


def _check_ids(mine: _Side, gold: _Side, found: Check) -> None:
    """Note ids that only one side has. What may stand in a line that could not be read is not called missing."""
    known = {graph.key for graph in gold.parsed.graphs}
    judged = [
        (graph, position)
        for graph, position in zip(mine.parsed.graphs, mine.parsed.positions, strict=True)
        if gold.is_known or graph.key in known
    ]
    try:
        align(
            [graph for graph, _ in judged],
            gold.parsed.graphs,
            "error" if mine.is_known else "zero",
            left_out=mine.parsed.left_out | gold.parsed.left_out,
            positions=[position for _, position in judged],
        )
    except InvalidInput as fault:
        found.note(fault.faults, mine)


def _is_whole(reference: SceneGraph | None, gold: _Side | None) -> bool:
    """Whether a reference can tell which objects there are. One that is unknown, or lost objects, is a fault already."""
    return gold is None or (reference is not None and reference.key not in gold.parsed.cut)


def _picture_sizes(pairs: Sequence[Pair], images: Path, mine: _Side, found: Check) -> list[Size | None]:
    """The size of each picture, each decoded whole: a header says nothing of a file that was cut off."""
    sources = image_sources(images, pairs)
    sizes, faults = sizes_of(pairs, sources)
    for index, (source, size) in enumerate(bar(zip(sources, sizes, strict=True), "pictures", "picture", len(pairs))):
        try:
            if size is not None:
                load_image(source, size)
        except BadImage as fault:
            faults[index] = str(fault)
    for index in sorted(faults):
        place = (mine.parsed.positions[index], "image_id")
        found.note([Fault(of_image(key_of(pairs[index]), faults[index]), place, faults[index])], mine)
    return sizes


def _difference(pairs: Sequence[Pair]) -> str | None:
    """How predicted boxes differ from the references'. Then they are a detector's, for another matching than "given"."""
    try:
        check_given(pairs)
    except SgevalError as difference:
        return str(difference)
    return None


def _of_relations(prediction: SceneGraph, ends: Ends, position: int, lost: Iterable[int]) -> Iterator[Fault]:
    """The faults of relations that scoring would refuse, numbered as the file has them: some (`lost`) were left out."""
    out = {*lost}
    numbers = (number for number in range(len(prediction.relations) + len(out)) if number not in out)
    for number, relation in zip(numbers, prediction.relations, strict=True):
        fault = ends.fault(relation) if relation.subject_id != relation.object_id else None
        if fault is not None:
            name, message = fault
            text = of_graph("prediction", prediction.key, f"{steps(('relations', number, name))[1:]}: {message}")
            yield Fault(text, (position, "relations", number, name), message)


def _warn_of_boxes(n_clipped: int, n_outside: int, found: Check) -> None:
    for number, words in (
        (n_clipped, "boxes that stick out of their picture, and are cut at its edge"),
        (n_outside, "boxes wholly outside their picture, which count as objects but bear no relation"),
    ):
        if number:
            found.warnings.append(f"{words}: {number:,}")
