"""SVG2 temporal accuracy as an `evaluate` module: schema, docs and adapter. The metric itself is `sgeval.temporal`."""

from typing import Any

import datasets
import evaluate

import sgeval.data.facts
import sgeval.hub.columns
import sgeval.hub.module
import sgeval.hub.videos
import sgeval.temporal
import sgeval.temporal.scoring

_DESCRIPTION = """
SVG2 temporal accuracy: of the annotated objects, attributes, relations and triplets of a video, how many were found? Labels
are compared by meaning, by a judge, relations also by time: tIoU above 0.5. Percent of the annotated items (recall), higher
is better. The number depends on the judge: its name stands in the result.
"""

_INPUTS = """
Args:
    predictions, references: video graphs, aligned by video_id: {"video_id", "duration", "objects": [{"id", "category",
        "attributes", "level"}], "relations": [{"subject_id", "object_id", "predicate", "type", "spans": [{"start",
        "end"}]}]}. Ids of objects are those of the annotation, -1 is the camera; spans are half-open seconds. Answers of
        models become such graphs by sgeval.readers.answers.read_answers.
    judge: "wordnet" (the default, offline; it announces itself), "exact", "embedding:MODEL", "provider/model", a judge that
        sgeval.judges.make_judge made with options, or any callable.
    thresholds, denominator, average, assignment, max_per_pair, ignore_direction, merge_same_predicate, strict,
        endpoint_match, missing_interval, levels, restrict_to_given, identical, prediction_span_end, max_unjudged: see
        sgeval.temporal.Options and the card.
    on_invalid, missing, limit, bootstrap, seed, return_items: see the card.
Returns:
    object_accuracy, attribute_accuracy, relation_accuracy, triplet_accuracy, each also ..._strict, ..._on_judged,
        ..._at_least, ..._at_most and with its ..._coverage, n_... counts, judge, signature.
Examples:
    >>> import evaluate, sgeval
    >>> metric = evaluate.load(sgeval.path("svg2_temporal_accuracy"))
    >>> gold = {"video_id": "v", "objects": [{"id": 0, "category": "dog"}]}
    >>> said = {"video_id": "v", "objects": [{"id": 0, "category": "puppy"}]}
    >>> result = metric.compute(predictions=[said], references=[gold], judge="wordnet")
    >>> result["object_accuracy"], result["object_accuracy_strict"]
    (100.0, 0.0)
"""


class Svg2TemporalAccuracy(sgeval.hub.module.Module):
    """The `evaluate` face of `sgeval.svg2_temporal_accuracy`; the same numbers, exactly."""

    metric = "svg2_temporal_accuracy"
    configs = (sgeval.temporal.KEY,)
    nothing = "references: expected at least one video, got none"

    def _info(self) -> Any:
        graph = sgeval.hub.videos.GRAPH
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=sgeval.data.facts.CITATIONS["svg2_test"],
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": graph, "references": graph}),
            homepage="https://arxiv.org/abs/2602.23543",
        )

    def add_batch(self, *, predictions: Any = None, references: Any = None, on_invalid: str = "error") -> None:
        """Add video graphs of both sides; the two are aligned by video_id, not by position, and may come apart.

        Faults are raised here, with their place. One batch with on_invalid="skip" makes the whole computation one with
        "skip", and the signature says so.
        """
        options = sgeval.temporal.make_options({"on_invalid": on_invalid})
        videos, columns = sgeval.hub.videos.VIDEOS, {}
        for name, rows in (("predictions", predictions), ("references", references)):
            given = [] if rows is None else rows
            columns[name] = sgeval.hub.columns.to_rows(sgeval.temporal.scoring.parse_side(given, name, options), videos)
        longest = max(map(len, columns.values()))
        common = {"with_references": references is not None, "skips": options.on_invalid == "skip"}
        for name, rows in columns.items():
            columns[name] = [{**row, **common} for row in [*rows, *[videos.filler] * (longest - len(rows))]]
        if longest:
            super().add_batch(**columns)

    def _compute(
        self,
        predictions: list[dict[str, Any]],
        references: list[dict[str, Any]],
        judge: Any = None,
        limit: int | None = None,
        return_items: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        if any(row["skips"] for row in predictions):
            options["on_invalid"] = "skip"
        chosen = sgeval.temporal.make_options(options)
        sides = [
            sgeval.hub.columns.from_rows(rows, chosen.on_invalid, sgeval.hub.videos.VIDEOS)
            for rows in (predictions, references)
        ]
        scoring = sgeval.temporal.scoring.score_parsed(*sides, judge=judge, limit=limit, options=chosen)
        return scoring.result(return_items)
