"""`sgeval validate`: every fault of a file at once, before anything is scored.

What scoring would refuse is found by scoring's own functions, so that the two cannot disagree.
"""

import gc
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from sgeval.data.source import Pictures, check_split, image_folder, read_source, source_files
from sgeval.errors import BadImage, Fault, InvalidInput, SgevalError, counted, one_line, one_of, shown, steps
from sgeval.every_row import Clean, Reading, Unread
from sgeval.images import MAX_PIXELS, Size, image_sources, load_image
from sgeval.limits import USUAL, Limits
from sgeval.matching import NOTHING, Matching, align, differences
from sgeval.phrases import canonical
from sgeval.pictures import check_boxes, of_image, stated_size
from sgeval.progress import bar
from sgeval.records import Graph, SceneGraph
from sgeval.relclip.execution import check_both_boxes, key_of, of_graph, sizes_of
from sgeval.relclip.resolve import Ends, Pair, check_given, ends_of
from sgeval.schemas import Kind
from sgeval.situation.border import ROW_KEYS, parse_side
from sgeval.situation.border import Side as Frames
from sgeval.situation.options import Options as RoleValues
from sgeval.situation.rows import is_counted
from sgeval.situation.scoring import score_sides
from sgeval.validation import Parsed, parse_graphs, unfit

ANY_SIZE = (MAX_PIXELS, MAX_PIXELS)
"""Stands for a size that is not known: no picture is larger, so what lies outside it lies outside every picture."""

IDS = ("frame_id", "image_id", "video_id")
NAMED = 1_000
"""So many ids stand in one warning."""


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

    def note(self, faults: Iterable[str], side: "_File | _Side") -> None:
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
    role_values: RoleValues | None = None,
    matching: str | None = None,
) -> Check:
    """Check a file of predictions as scoring would: against the schema, against the references where they are given
    (`references_format`: as `format`; `split`: of a data set's folder), and against the pictures, which are decoded, where
    these are given. The file may be a zip of one. Rows of frames are known by their frame_id, and checked as scoring role
    values would; with its options in `role_values` every file is, also one of graphs with roles. With the `matching` of
    scoring what that refuses is a fault: with "given" every object that is not the references'. Without it such objects are a
    detector's, and a warning.

    What is wrong with a file is a fault in what comes back, also where nothing could be read of it, or where it holds more
    than the `limits` (of the predictions) allow. Raises `SgevalError` for an option that is none, a file that is not
    there, and rows of another kind.
    """
    one_of("kind", kind, ("image", "video"))
    if matching is not None:
        one_of("matching", matching, get_args(Matching))
    which: Kind = "video" if kind == "video" else "image"
    found = Check(file)
    gold_form = references_format or format
    sources = [*([(references, gold_form)] if references else []), (file, format)]
    check_split(split, sources, which)
    with _without_collector():
        given = _read(file, format, split, which, found, limits)
        if role_values is not None or _are_frames(given.rows):
            known = _read(references, gold_form, split, which, found) if references else None
            _check_frames(given, known, images, role_values or RoleValues(), found)
            return found
        mine = _parsed(given, "predictions", which, found)
        given = replace(given, rows=())  # from here on the records do
        known = _read(references, gold_form, split, which, found) if references else None
        if known is not None and _are_frames(known.rows):  # graphs, whose roles are compared with frames
            return check_file(
                file,
                references=references,
                images=images,
                format=format,
                references_format=references_format,
                split=split,
                kind=kind,
                limits=limits,
                role_values=RoleValues(),
            )
        gold = _parsed(known, "references", which, found) if known else None
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
        way = next((each for each in get_args(Matching) if each == matching), None)
        _check_scenes(mine, gold, images and image_folder(images, sources), way, found)
    elif gold is not None:
        _check_ids(mine, gold, found)
    return found


def check_references(
    file: Path, *, kind: Kind = "image", images: Path | None = None, are_frames: bool = False
) -> Check:
    """Check references alone as `check_file` does beside predictions, and that their pictures are there (headers alone
    are read): for who takes predictions of others. The same is raised."""
    found = Check(file)
    with _without_collector():
        given = _read(file, "sgeval", None, kind, found)
        if are_frames:
            _check_known_frames(given, found)
            return found
        side = _parsed(given, "references", kind, found)
    pairs: list[Pair] = [(graph, graph) for graph in side.parsed.scenes]
    if not side.parsed.graphs and not found.faults:
        found.note([f"references: expected at least one {kind}, got none"], side)
    if images is not None:
        sizes, faults = sizes_of(pairs, image_sources(image_folder(images, [(file, "sgeval")]), pairs))
        for index, text in faults.items():
            place = (side.parsed.positions[index], "image_id")
            found.note([Fault(of_image(key_of(pairs[index]), text), place, text)], side)
        try:
            check_boxes("references", side.parsed.scenes, sizes)
        except InvalidInput as fault:
            found.note(fault.faults, side)
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
class _File:
    """A file as it was read; no rows where it could not be."""

    file: Path
    reading: Reading
    rows: Sequence[Any] = ()
    is_read: bool = True


@dataclass(frozen=True)
class _Side:
    """The graphs of a file, as far as they could be read."""

    file: Path
    reading: Reading
    parsed: Parsed
    is_known: bool
    """Whether the id of each record is known, also of those that were left out."""


def _read(file: Path, form: str, split: str | None, kind: Kind, found: Check, limits: Limits = USUAL) -> _File:
    reading = Reading(limits)
    source_files(file, form, kind)  # raises for an option that is none
    try:
        given = _File(file, reading, read_source(file, form, split=split, kind=kind, noted=reading))
    except SgevalError as fault:
        if not file.is_file():
            raise
        given = _File(file, reading, is_read=False)
        place = f"{reading.name or one_line(str(file))}: "
        faults = fault.faults if isinstance(fault, InvalidInput) else [str(fault)]
        reading.faults += [
            text if isinstance(text, Fault) else Fault(text, (), text.removeprefix(place)) for text in faults
        ]
    found.note([*reading.faults, *_wrapped(given.rows)], given)
    return given


def _parsed(given: _File, label: str, kind: Kind, found: Check) -> _Side:
    if not given.is_read:
        return _Side(given.file, given.reading, Parsed(), False)
    _refuse_others(given.rows, label, kind)
    parsed = parse_graphs(given.rows, label, kind=kind, on_invalid="skip", most_faults=given.reading.limits.faults)
    side = _Side(given.file, given.reading, parsed, len(parsed.graphs) + len(parsed.dropped) == parsed.n_rows)
    found.note(parsed.faults, side)
    found.warnings += parsed.warnings
    return side


def _are_frames(rows: Sequence[Any]) -> bool:
    """Whether the first row with an id is one of a frame."""
    first: dict[str, Any] = next((row for row in rows if _has_id(row)), {})
    return "frame_id" in first and ("kind" in first or not ("image_id" in first or "video_id" in first))


def _has_id(row: Any) -> bool:
    return isinstance(row, dict) and any(name in row for name in IDS)


def _wrapped(rows: Sequence[Any]) -> Iterator[Fault]:
    """The fault of a file that is one object with its rows as a list under a key."""
    if len(rows) == 1 and isinstance(rows[0], dict) and not _has_id(rows[0]):
        for name, value in rows[0].items():
            if isinstance(value, list) and value and _has_id(value[0]):
                message = (
                    f"expected rows one a line, or as one list, got {counted(len(value), 'row')} under {shown(name)}"
                )
                yield Fault(f"[0].{one_line(name)}: {message}", (0, name), message)


def _refuse_others(rows: Sequence[Any], label: str, kind: Kind) -> None:
    """Refuse rows of another kind, and say how they are checked."""
    first = next((row for row in rows if isinstance(row, dict)), {})
    for asked, other in (("image", "video"), ("video", "image")):
        if kind == asked and f"{other}_id" in first and f"{asked}_id" not in first:
            hint = f"--kind {other}" + (" --format answers" if "answer" in first else "")
            expected = f"expected graphs of {asked}s (rows with {asked}_id), got rows of {other}s (with {other}_id)"
            raise SgevalError(f"{label}: {expected}; on the command line {hint} checks them")


# --- frames


def _check_frames(mine: _File, gold: _File | None, images: Path | None, options: RoleValues, found: Check) -> None:
    """The faults of frames, and those that the references do not have; the number of those missing is a warning, unless
    scoring would refuse them. What may stand in a row that could not be read is not called missing, or unknown."""
    if images is not None:
        raise SgevalError(f"images: expected none, since frames are compared without, got {shown(str(images))}")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        said = _frames(mine, "predictions", found)
        known = _frames(gold, "references", found) if gold else None
        if mine.is_read and not mine.rows:
            found.note([Fault("expected at least one frame, got none")], mine)
        elif known is not None and gold is not None and gold.is_read:
            if known.n_nameless:
                keys = {row.key for row in known.rows} | known.dropped
                said.rows = [row for row in said.rows if row.key in keys]
            _compare_frames(said, known, options, (mine, gold), found)
    found.warnings += dict.fromkeys(str(each.message) for each in told)
    found.counts = {"rows": len(mine.rows), "frames": len({row.key for row in said.rows})}


def _frames(given: _File, label: str, found: Check) -> Frames:
    """The sound frames of a file; its faults are noted."""
    if not given.is_read:
        return Frames(n_nameless=1)
    most = given.reading.limits.faults
    faults: list[Fault] = []
    for index, row in enumerate(given.rows):
        if not isinstance(row, (Clean, Unread)) and len(faults) <= most:
            faults += unfit(row, label, index)
    places = {fault.place for fault in faults}
    side = parse_side(given.rows, label, "skip", is_predicted=label == "predictions", most_faults=most)
    found.note(faults + [fault for fault in side.faults if fault.place not in places], given)
    lost = {place[0] for place in places if len(place) == 1 or place[1] in ROW_KEYS[:4]}  # whose key cannot be trusted
    side.rows = [row for row in side.rows if row.index not in lost]
    side.n_nameless += len(lost)
    return side


def _check_known_frames(given: _File, found: Check) -> None:
    known = _frames(given, "references", found)
    if not found.faults:
        try:
            score_sides(known, known, RoleValues(missing="zero"))
        except SgevalError as fault:  # no frames, or none with roles
            found.note([Fault(str(fault), (), str(fault).removeprefix("references: "))], given)


def _compare_frames(said: Frames, known: Frames, options: RoleValues, files: tuple[_File, _File], found: Check) -> None:
    mine, gold = files
    options = replace(options, missing="zero") if said.n_nameless else options
    try:
        try:
            rows = score_sides(said, known, options).rows.items
        except InvalidInput as fault:
            found.note(fault.faults, mine)
            rows = score_sides(said, known, replace(options, missing="zero", on_invalid="skip")).rows.items
    except SgevalError as fault:  # references without frames, or without roles
        found.note([Fault(str(fault), (), str(fault).removeprefix("references: "))], gold)
        return
    lacking = [row for row in rows if is_counted(row) and not row.is_predicted]
    n = sum((row.frame_id, row.kind, row.subject_id, row.object_id) not in said.dropped for row in lacking)
    if n > said.n_nameless and options.missing == "zero":
        more = f"; {_may_be_in(said.n_nameless)}" if said.n_nameless else ""
        found.warnings.append(f"frames of the references without a prediction, which count as wrong: {n:,}{more}")


# --- graphs


@dataclass(frozen=True)
class _Case:
    """A prediction with its reference, the position of its row, and the size of its picture, as far as it is known."""

    pair: Pair
    position: int
    size: Size | None


def _check_scenes(
    mine: _Side, gold: _Side | None, images: Pictures | None, matching: Matching | None, found: Check
) -> None:
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
    difference = None if matching else _difference([case.pair for case in judged])
    way = matching or ("pair_iou" if difference else "given")
    n_clipped = n_outside = 0
    for case in bar(judged, "graphs", "graph"):
        prediction, reference = case.pair
        assert prediction is not None
        if matching == "given" and reference is not None and not are_corners:
            found.note(_of_objects(prediction, reference, case.position), mine)
        ends = ends_of(prediction, reference, case.size or ANY_SIZE, way)
        found.note(_of_relations(prediction, ends, case.position, mine.parsed.cut.get(prediction.key, ())), mine)
        n_clipped += ends.n_clipped
        n_outside += ends.n_outside
    if not are_corners:
        found.warnings += [difference] if difference else []
        _warn_of_boxes(n_clipped, n_outside, found)


def _check_ids(mine: _Side, gold: _Side, found: Check) -> None:
    """Note ids that only one side has. What may stand in a row without a known id is not called missing: a warning names
    it."""
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
    n_nameless = mine.parsed.n_rows - len(mine.parsed.graphs) - len(mine.parsed.dropped)
    if n_nameless and len(mine.parsed.faults) <= mine.reading.limits.faults:  # else rows were not looked at
        there = {graph.key for graph in mine.parsed.graphs} | mine.parsed.left_out
        lacking = [shown(key) for key in sorted(known - there)]
        named = f"{', '.join(lacking[:NAMED])}{', …' if len(lacking) > NAMED else ''}"
        words = f"ids of the references without a prediction: {len(lacking):,} ({named})"
        found.warnings += [f"{words}; {_may_be_in(n_nameless)}"] if lacking else []


def _may_be_in(n_nameless: int) -> str:
    return f"at most {n_nameless:,} of them can be in {counted(n_nameless, 'row')} whose id could not be read"


def _is_whole(reference: SceneGraph | None, gold: _Side | None) -> bool:
    """Whether a reference can tell which objects there are. One that is unknown, or lost objects, is a fault already."""
    return gold is None or (reference is not None and reference.key not in gold.parsed.cut)


def _picture_sizes(pairs: Sequence[Pair], images: Pictures, mine: _Side, found: Check) -> list[Size | None]:
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


def _of_objects(prediction: SceneGraph, reference: SceneGraph, position: int) -> Iterator[Fault]:
    """The faults of objects that are not the reference's, numbered as the file has them where it lost none."""
    for place, message in differences(prediction, reference):
        text = of_graph("prediction", prediction.key, f"{steps(place)[1:]}: {message}")
        yield Fault(text, (position, *place), message)


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
