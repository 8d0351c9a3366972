"""θ of lists of scores that were made elsewhere: no model, no pictures."""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from numbers import Integral, Real
from typing import Any

import numpy as np

from sgeval.alignment.options import KEY, Options
from sgeval.alignment.result import summarise_lists
from sgeval.alignment.rows import ListItem
from sgeval.errors import InvalidInput, SgevalError, shown
from sgeval.ranks import places
from sgeval.signature import signature

Row = tuple[int, list[float], int]
"""Position in the input, scores, position of the truth."""


def theta_of_lists(
    predictions: Iterable[Any] | None, references: Iterable[Any], options: Options, return_items: bool = False
) -> dict[str, Any]:
    """The result of lists of candidate scores, and for each the position of its truth.

    Raises `InvalidInput` with every fault; with `on_invalid="skip"` faulty lists are left out and counted.
    """
    rows, n_invalid = check_lists(predictions, references, options)
    return result_of_rows(rows, n_invalid, options, return_items)


def check_lists(
    predictions: Iterable[Any] | None, references: Iterable[Any], options: Options
) -> tuple[list[Row], int]:
    """The sound lists with their truths, and the number of those left out."""
    if isinstance(predictions, (str, bytes)) or not isinstance(predictions, Iterable):
        raise SgevalError(f"predictions: expected lists of candidate scores, got {shown(predictions)}")
    lists, truths = list(predictions), list(references)
    if len(lists) != len(truths):
        raise SgevalError(f"references: expected one a list of scores ({len(lists)}), got {len(truths)}")
    rows: list[Row] = []
    faults: list[str] = []
    for index, (scores, truth) in enumerate(zip(lists, truths, strict=True)):
        found = _faults(index, scores, truth)
        faults += found
        if not found:
            rows.append((index, [float(value) for value in scores], int(truth)))
    if faults and options.on_invalid == "error":
        raise InvalidInput("input", faults)
    return rows, len(lists) - len(rows)


def result_of_rows(rows: Sequence[Row], n_invalid: int, options: Options, return_items: bool = False) -> dict[str, Any]:
    """The result of lists that were checked."""
    if not rows and not n_invalid:
        raise SgevalError("predictions: expected at least one list of scores, got none")
    found = places(
        [value for _, scores, _ in rows for value in scores], [len(s) for _, s, _ in rows], [t for *_, t in rows]
    )
    items = [
        ListItem(
            index,
            len(scores),
            truth,
            scores[truth],
            **found.row(number),
        )
        for number, (index, scores, truth) in enumerate(rows)
    ]
    if options.score == "softmax100" and any(abs(value) > 1 for _, scores, _ in rows for value in scores):
        warnings.warn("score: softmax100 expects cosines, from -1 to 1, got scores beyond", stacklevel=3)
    line = signature({"metric": KEY, "model": "scores", **options.list_signature()})
    result = summarise_lists(items, n_invalid, options, line)
    return result | ({"items": [asdict(item) for item in items]} if return_items else {})


def _faults(index: int, scores: Any, truth: Any) -> list[str]:
    """What is wrong with a list and its truth, in the words of the border."""
    place = f"predictions[{index}]"
    if isinstance(scores, (str, bytes)) or not isinstance(scores, (Sequence, np.ndarray)) or not len(scores):
        return [f"{place}: expected a list of at least one score, got {shown(scores)}"]
    faults = [
        f"{place}[{number}]: expected a finite number, got {shown(value)}"
        for number, value in enumerate(scores)
        if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value)
    ]
    if isinstance(truth, bool) or not isinstance(truth, Integral) or not 0 <= int(truth) < len(scores):
        expected = f"the position of one of the {len(scores)} scores"
        faults.append(f"references[{index}]: expected {expected}, got {shown(truth)}")
    return faults
