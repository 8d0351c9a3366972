"""What is done with a submission inside the child: checked, scored, and compared with the references."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sgeval import relclip, situation, temporal
from sgeval.board.results import REPORT, RUN
from sgeval.board.settings import Limits, OutOfOrder, Task
from sgeval.check import Check, check_file, check_references
from sgeval.data.source import read_source
from sgeval.errors import Fault, InvalidInput, SgevalError
from sgeval.judges import make_judge
from sgeval.limits import Limits as FileLimits
from sgeval.phrases import canonical
from sgeval.readers.answers import with_own_ids
from sgeval.records import Graph, Object, VideoGraph
from sgeval.report import render_report
from sgeval.runs import Run, Scoring, describe_file, read_own, write_run
from sgeval.spans import Span
from sgeval.tiou import SpanSets, overlap
from sgeval.validation import parse_graphs

MOST_FAULTS = 1_000
SAME_TIME = 0.9
"""tIoU from which two times, moved to begin together, are nearly the same."""
OF_THE_REFERENCE = ("file_name", "width", "height")
"""What a board takes from its own references alone: which picture it is, and how large."""


def answer_to(task: Task, limits: Limits, file: Path, out: Path, name: str | None) -> dict[str, Any]:
    """Faults, counts and warnings of a submission. With a name and no fault `out/run` is its run folder with a report,
    and `copied` says how much of the references it repeats. Raises `SgevalError` for what cannot be read at all, and
    `OutOfOrder` where the fault is the board's."""
    found = _checked(task, limits, file)
    answer = {**_listed(found.faults), "counts": found.counts, "warnings": found.warnings[:MOST_FAULTS]}
    if found.faults or name is None:
        return answer
    rows, gold = read_source(file, task.form, kind=task.kind), read_source(task.references, kind=task.kind)
    if task.images is not None:
        rows = [{key: value for key, value in row.items() if key not in OF_THE_REFERENCE} for row in rows]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were told by the check
            scoring = _score(task, rows, gold)
    except InvalidInput as fault:
        if not all(map(_is_of_submission, fault.faults)):
            raise OutOfOrder(str(fault)) from None
        return {**answer, **_listed(fault.faults)}
    except SgevalError as fault:
        raise (fault if _is_of_submission(str(fault)) else OutOfOrder(str(fault))) from None
    folder = out / RUN
    inputs = {"predictions": describe_file(file), "references": describe_file(task.references)}
    write_run(folder, name, scoring, inputs)
    run = read_own(folder)
    render_report(run, folder / REPORT, task.images)
    return {**answer, "copied": repeated(task, run, rows, gold)}


def _listed(faults: Sequence[str]) -> dict[str, Any]:
    found = [fault if isinstance(fault, Fault) else Fault(fault) for fault in faults]
    listed = [{"pointer": fault.pointer, "message": fault.message} for fault in found[:MOST_FAULTS]]
    return {"faults": listed, "n_faults": len(found)}


def _is_of_submission(fault: str) -> bool:
    """Whether a fault that scoring found is one of the predictions: a message begins with its place."""
    return fault.startswith("prediction")


def faults_of_references(task: Task) -> Sequence[Fault]:
    """What is wrong with the references of a task, and with their pictures."""
    are_frames = task.metric == situation.KEY
    return check_references(task.references, kind=task.kind, images=task.images, are_frames=are_frames).faults


def _checked(task: Task, limits: Limits, file: Path) -> Check:
    found = check_file(
        file,
        references=task.references,
        format=task.form,
        references_format="sgeval",
        kind=task.kind,
        limits=FileLimits(
            bytes=limits.upload_bytes,
            unpacked=limits.unpacked_bytes,
            rows=limits.graphs,
            relations=limits.relations,
            all_relations=limits.relations,
        ),
        role_values=task.options() if task.metric == situation.KEY else None,
        matching=task.matching,
    )
    for fault in found.faults:
        if fault.file == str(task.references) or fault.startswith("references"):
            raise OutOfOrder(fault)
    return found


def _score(task: Task, rows: Sequence[Any], gold: Sequence[Any]) -> Scoring:
    options = task.options()
    if task.metric == situation.KEY:
        return situation.score_rows(rows, gold, options)
    if task.metric == temporal.KEY:
        return temporal.score(rows, gold, judge=make_judge(task.judge), options=options)
    return relclip.score(rows, images=task.images, references=gold, options=options, **task.setup())


def repeated(task: Task, run: Run, rows: Sequence[Any], gold: Sequence[Any]) -> float:
    """The share of the annotated pairs of objects of which a submission says something, and nothing but what the references
    say, word for word and, in videos, for nearly the same times, wherever they begin. Of role values, the share of the frames
    of which the same is true. 0–1; 0 of nothing. A sign of copying, no proof: what is changed in every place is not seen."""
    if task.metric == situation.KEY:
        frames = [row for row in run.rows.items if row.status == "scored"]
        return sum(map(_is_repeated, frames)) / len(frames) if frames else 0.0
    said = {graph.key: graph for graph in _graphs(task, rows)}
    n, n_repeated = 0, 0
    for graph in _graphs(task, gold):
        truth = _by_pair(graph, graph)
        mine = _by_pair(said[graph.key], graph) if graph.key in said else {}
        n += len(truth)
        n_repeated += sum(
            pair in mine and all(any(_same(one, other) for other in statements) for one in mine[pair])
            for pair, statements in truth.items()
        )
    return n_repeated / n if n else 0.0


def _is_repeated(row: Any) -> bool:
    """Whether something is said of a frame, and all of it is annotated."""
    said = [hits for hits, n_said in zip(row.hits, row.n_predicted, strict=True) if n_said]
    return bool(said) and all(said)


Statement = tuple[int, str, tuple[Span, ...]]
"""Subject, predicate and times."""


def _same(one: Statement, other: Statement) -> bool:
    """Whether two statements are the same but for a few frames of their time, and for where in the video that lies."""
    if one[:2] != other[:2] or bool(one[2]) != bool(other[2]):
        return False
    if not one[2]:
        return True
    moved = _at_start(one[2]), _at_start(other[2])
    return float(overlap(*(SpanSets.of([spans]) for spans in moved)).tiou()[0]) >= SAME_TIME


def _at_start(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Spans moved together, so that the first begins at 0: a copy is not hidden by a shift of every time."""
    first = min(start for start, _ in spans)
    return tuple((start - first, end - first) for start, end in spans)


def _graphs(task: Task, rows: Sequence[Any]) -> Sequence[Any]:
    return parse_graphs(rows, kind=task.kind).graphs


def _by_pair(graph: Graph, reference: Graph) -> dict[frozenset[int], set[Statement]]:
    """What is said of each pair of objects: subject, predicate and times. Objects are known by their boxes, else by ids."""
    by_box = {_box(item): item.id for item in reference.objects if item.bbox}
    if isinstance(graph, VideoGraph) and isinstance(reference, VideoGraph):
        graph = with_own_ids(graph, reference)
    own = {item.id: by_box.get(_box(item), item.id) for item in graph.objects}
    found: dict[frozenset[int], set[Statement]] = {}
    for relation in graph.relations:
        subject, obj = (own.get(end, end) for end in (relation.subject_id, relation.object_id))
        times = tuple(getattr(relation, "spans", None) or ())
        found.setdefault(frozenset((subject, obj)), set()).add((subject, canonical(relation.predicate), times))
    return found


def _box(item: Object) -> tuple[int, ...]:
    return tuple(round(side) for side in item.bbox or ())
