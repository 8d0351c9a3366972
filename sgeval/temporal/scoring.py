"""SVG2 temporal accuracy: the public function, from predicted and annotated video graphs to the result."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sgeval.errors import InvalidInput, SgevalError, one_line, one_of, shown
from sgeval.judges import JudgeLike, make_judge
from sgeval.judges.labels import Identical, open_pairs
from sgeval.judges.verdicts import Judge, Pair
from sgeval.matching import Missing, align
from sgeval.options import check_limit
from sgeval.readers.answers import ANSWER, graphs_of_answers, with_own_ids
from sgeval.records import VideoGraph
from sgeval.signature import signature
from sgeval.spans import SpanEnd
from sgeval.temporal.judging import judged, pairs_of
from sgeval.temporal.meeting import meet
from sgeval.temporal.options import (
    KEY,
    Assignment,
    Average,
    Denominator,
    EndpointMatch,
    MissingInterval,
    Options,
    Strict,
    make_options,
)
from sgeval.temporal.result import summarise
from sgeval.temporal.rows import Rows
from sgeval.validation import OnInvalid, Parsed, parse_graphs


@dataclass(frozen=True)
class Scoring:
    """Rows with what is needed to summarise them: options, the judge's name, and the signature."""

    rows: Rows
    options: Options
    judge: str
    signature: str
    key: str = KEY

    @property
    def files(self) -> Mapping[str, str]:
        """Nothing stands beside the tables."""
        return {}

    def result(self, return_items: bool = False) -> dict[str, Any]:
        """The flat result."""
        return summarise(self.rows, self.options, self.judge, self.signature, return_items)


def svg2_temporal_accuracy(
    predictions: Iterable[Any],
    references: Iterable[Any],
    *,
    judge: JudgeLike | None = None,
    limit: int | None = None,
    return_items: bool = False,
    thresholds: float | Iterable[float] = (0.5,),
    denominator: Denominator = "references",
    average: Average = "items",
    assignment: Assignment = "any",
    max_per_pair: int | None = None,
    ignore_direction: bool = False,
    merge_same_predicate: bool = False,
    strict: Strict = "judge",
    endpoint_match: EndpointMatch = "lenient",
    missing_interval: MissingInterval = "whole",
    levels: Iterable[str] | None = None,
    restrict_to_given: bool = False,
    identical: Identical = "judge",
    prediction_span_end: SpanEnd = "exclusive",
    max_unjudged: float = 0.0,
    on_invalid: OnInvalid = "error",
    missing: Missing = "error",
    bootstrap: int = 0,
    seed: int = 0,
    **unknown: Any,
) -> dict[str, Any]:
    """How much of an annotated video graph a model finds, judged by meaning and by time ("paper 2", arXiv 2602.23543).

    An object is right when a judge accepts the label at its id; an attribute when one of its object's is accepted; a
    relation when a prediction of the same ordered pair has an accepted predicate and a temporal IoU above 0.5; a triplet
    when its relation is right and the labels of both ends are accepted. Lenient takes every category of the judge but
    mismatch, the `…_strict` keys take `identical` alone.

    Parameters
    ----------
    predictions
        Video graphs, as rows of the prediction format or as records; spans in half-open seconds. Answers in the paper's
        JSON form become such graphs by `sgeval.readers.answers.answer_graph`. Aligned with the references by `video_id`.
    references
        Annotated video graphs.
    judge
        `wordnet` (the default, offline), `exact`, `embedding:MODEL`, `provider/model`, or a callable that gives one
        `sgeval.judges.verdicts.Verdict` for each `Pair`.
    limit
        Score the first N references only.
    return_items
        Add `videos`, `items`, `matches` and `slices`.
    thresholds
        tIoU to be above of; 0.5 is always among them and is the headline.
    denominator, average, assignment, max_per_pair, ignore_direction, merge_same_predicate, strict, endpoint_match,
    missing_interval, levels, restrict_to_given, identical, prediction_span_end, max_unjudged
        See `sgeval.temporal.options.Options`.
    on_invalid, missing
        `error`, or `skip` faulty parts; `error`, or `zero`: videos without a prediction count as wrong.
    bootstrap, seed
        Replicates of intervals over videos, and their seed.

    Returns
    -------
    dict
        In percent, higher is better: `object_accuracy`, `attribute_accuracy`, `relation_accuracy`, `triplet_accuracy` and
        each with `_strict`; of the first four `…_on_judged`, `…_at_least`, `…_at_most` and their kind's `…_coverage`; counts
        `n_…`; `judge`, `signature`. `None` where there is nothing to divide by, and where more than `max_unjudged` of the
        items are not decided.

    Raises
    ------
    SgevalError
        For options that are none and judges that cannot be had; `InvalidInput` with every fault of the graphs.

    Examples
    --------
    >>> gold = {"video_id": "v", "objects": [{"id": 0, "category": "dog"}, {"id": 1, "category": "ball"}],
    ...     "relations": [{"subject_id": 0, "object_id": 1, "predicate": "chasing", "spans": [{"start": 0, "end": 10}]}]}
    >>> late = {**gold, "relations": [{**gold["relations"][0], "spans": [{"start": 4, "end": 12}]}]}
    >>> result = svg2_temporal_accuracy([late], [gold], judge="exact")  # 6 of 12 seconds: not above one half
    >>> result["object_accuracy"], result["relation_accuracy"]
    (100.0, 0.0)
    """
    given = dict(locals())
    names = ("predictions", "references", "judge", "limit", "return_items", "unknown")
    options = make_options({**{name: value for name, value in given.items() if name not in names}, **unknown})
    scoring = score(predictions, references, judge=judge, limit=limit, options=options)
    return scoring.result(return_items)


def score(
    predictions: Iterable[Any],
    references: Iterable[Any],
    *,
    judge: JudgeLike | None = None,
    limit: int | None = None,
    options: Options | None = None,
) -> Scoring:
    """The rows of a run, before they are summarised. Parameters as in `svg2_temporal_accuracy`."""
    options = options or Options()
    sides = [
        parse_side(rows, label, options) for rows, label in ((predictions, "predictions"), (references, "references"))
    ]
    return score_parsed(*sides, judge=judge, limit=limit, options=options)


def score_parsed(
    predictions: Parsed,
    references: Parsed,
    *,
    judge: JudgeLike | None = None,
    limit: int | None = None,
    options: Options,
) -> Scoring:
    """The same for graphs that have passed the border."""
    check_limit(limit)
    chosen = make_judge(judge)
    pairs = paired(predictions, references, limit, options)
    rows = rows_of(pairs, chosen, options)
    n_invalid = predictions.n_invalid + references.n_invalid
    parts = {"metric": KEY, "judge": chosen.name, **options.signature()}
    line = signature(parts if limit is None else {**parts, "limit": int(limit)})
    return Scoring(replace(rows, n_invalid=n_invalid), options, chosen.name, line)


def pairs_to_ask(
    predictions: Iterable[Any], references: Iterable[Any], limit: int | None = None, options: Options | None = None
) -> list[Pair]:
    """The distinct pairs of labels that a judge would be asked, in the order of the alphabet."""
    options = options or Options()
    sides = [
        parse_side(rows, label, options) for rows, label in ((predictions, "predictions"), (references, "references"))
    ]
    found = meet(paired(sides[0], sides[1], limit, options), options)
    return open_pairs(pairs_of(found)[0])


def rows_of(pairs: Sequence[tuple[VideoGraph | None, VideoGraph]], judge: Judge, options: Options) -> Rows:
    """What meets, timed and judged."""
    found = meet(pairs, options)
    return Rows(tuple(found.videos), tuple(found.items), tuple(judged(found, judge, options)))


def parse_side(rows: Iterable[Any], label: str, options: Options) -> Parsed:
    """Graphs through the border. A span that ends before it starts is a fault; under `on_invalid="skip"` an annotated
    relation with one is left out and counted, a predicted one stays, and overlaps with nothing there."""
    listed = list(rows) if isinstance(rows, Iterable) and not isinstance(rows, (str, bytes, dict)) else rows
    if any(isinstance(row, dict) and "answer" in row for row in listed):
        listed = graphs_of_answers(listed, label, label)
    answers = [row for row in listed if isinstance(row, VideoGraph) and ANSWER in row.extra]
    if answers and len(answers) == len(listed):  # read entry by entry; an end may be an object without a label
        return Parsed(list(answers), list(range(len(answers))), len(answers))
    parsed = parse_graphs(listed, label, kind="video", on_invalid=options.on_invalid)
    for words in parsed.warnings:
        warnings.warn(words, stacklevel=4)
    faults: list[str] = []
    for number, (graph, position) in enumerate(zip(parsed.graphs, parsed.positions, strict=True)):
        inverted = {
            (index, place): span
            for index, relation in enumerate(graph.relations)
            for place, span in enumerate(relation.spans or ())
            if span[0] > span[1]
        }
        faults += [
            f"{label}[{position}].relations[{index}].spans[{place}]: expected an end that is not before the start, got "
            f"{shown(list(span))}"
            for (index, place), span in inverted.items()
        ]
        if inverted and label == "references":
            bad = {index for index, _ in inverted}
            kept = tuple(relation for index, relation in enumerate(graph.relations) if index not in bad)
            parsed.graphs[number] = replace(graph, relations=kept)
            parsed.n_invalid += len(bad)
    if faults and options.on_invalid == "error":
        raise InvalidInput(label, faults, "on_invalid")
    return parsed


def paired(
    predictions: Parsed, references: Parsed, limit: int | None, options: Options
) -> list[tuple[VideoGraph | None, VideoGraph]]:
    """Predictions with their references, in the references' order, with the references' ids of objects."""
    gold = [graph for graph in references.graphs if isinstance(graph, VideoGraph)]
    if not gold:
        raise SgevalError("references: expected at least one video, got none")
    _check_levels(gold, options)
    mine = [graph for graph in predictions.graphs if isinstance(graph, VideoGraph)]
    left_out = predictions.left_out | references.left_out
    pairs = align(mine, gold, options.missing, limit, left_out, predictions.positions)
    return [
        (None if prediction is None else with_own_ids(prediction, reference), reference)
        for prediction, reference in pairs
        if reference is not None
    ]


def _check_levels(references: Sequence[VideoGraph], options: Options) -> None:
    """Refuse levels none of which an annotated object has. One of several may be missing: a warning says so, since parts of a
    set may be scored apart."""
    if options.levels is None:
        return
    known = {item.level for graph in references for item in graph.objects if item.level is not None}
    absent = [level for level in options.levels if level not in known]
    words = ", ".join(map(one_line, absent))
    if not known:
        raise SgevalError(f"levels: expected references whose objects have a level, got none for {words}")
    if absent and len(absent) == len(options.levels):
        one_of("levels", absent[0], sorted(known))
    if absent:
        warnings.warn(f"levels: no annotated object is of level {words}", stacklevel=4)
