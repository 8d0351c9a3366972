"""The keys of a metric's result, known before anything is scored: those of a run over nothing."""

import warnings
from typing import Any

from sgeval import alignment, relclip, situation, temporal
from sgeval.alignment.result import summarise as of_alignment
from sgeval.relclip.result import summarise as of_relations
from sgeval.rows import Rows
from sgeval.runs import FORMS
from sgeval.situation.result import GROUPS
from sgeval.situation.result import summarise as of_roles
from sgeval.summary import ENDS
from sgeval.temporal.result import summarise as of_videos
from sgeval.temporal.rows import Rows as VideoRows


def ranked_keys(metric: str, options: Any) -> tuple[str, ...]:
    """The keys that a task can rank by: those with a part a picture or video, which tests and intervals need."""
    rows: Any = VideoRows() if metric == temporal.KEY else Rows()
    found = tuple(FORMS[metric].sample(rows, options).ratios)
    means = tuple(f"{prefix}role_accuracy" for prefix in GROUPS) if metric == situation.KEY else ()
    return found + means


def result_keys(metric: str, options: Any) -> tuple[str, ...]:
    """All keys of a result with references, but for the ends of intervals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = _of_nothing(metric, options)
    return tuple(key for key in whole if not key.endswith(tuple(f"_{end}" for end in ENDS)))


def _of_nothing(metric: str, options: Any) -> dict[str, Any]:
    if metric == temporal.KEY:
        return of_videos(VideoRows(), options, "", "")
    if metric == situation.KEY:
        return of_roles(Rows(), options, "")
    if metric == alignment.KEY:
        return of_alignment(Rows(with_references=True), options, "")
    assert metric in relclip.KEYS.values()
    return of_relations(Rows(with_references=True), options, metric, "")
