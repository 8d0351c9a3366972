"""θ of lists of scores that were made elsewhere: no model, no pictures."""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np

from sgeval.alignment.options import KEY, Options
from sgeval.alignment.result import summarise_lists
from sgeval.errors import InvalidInput, SgevalError, shown
from sgeval.ranks import Floats, Ints, places
from sgeval.signature import signature

LARGEST = 1e100  # beyond it differences and sums of scores leave the range of a float


@dataclass(frozen=True)
class Lists:
    """Sound lists: their scores one after the other, how many each has, which is its truth, its place in the input."""

    scores: Floats
    lengths: Ints
    truths: Ints
    index: Ints
    n_invalid: int = 0


def theta_of_lists(predictions: Any, references: Any, options: Options, return_items: bool = False) -> dict[str, Any]:
    """The result of lists of candidate scores, and for each the position of its truth.

    Raises `InvalidInput` with every fault; with `on_invalid="skip"` faulty lists are left out and counted.
    """
    return result_of_lists(check_lists(predictions, references, options), options, return_items)


def check_lists(predictions: Any, references: Any, options: Options) -> Lists:
    """The sound lists. Whatever has rows will do: lists, arrays, tensors, columns of a table."""
    rows = _rows("predictions", predictions, "lists of candidate scores")
    truths = _rows("references", references, "for each list of scores the position of the truth")
    if len(rows) != len(truths):
        raise SgevalError(f"references: expected one a list of scores ({len(rows)}), got {len(truths)}")
    rows = [_plain(row) for row in rows]
    if (sound := _all_at_once(rows, truths)) is not None:  # else faults are looked for one by one
        return sound
    kept: list[int] = []
    faults: list[str] = []
    for index, (scores, truth) in enumerate(zip(rows, truths, strict=True)):
        found = _faults(index, scores, truth)
        faults += found
        if not found:
            kept.append(index)
    if faults and options.on_invalid == "error":
        raise InvalidInput("input", faults, "on_invalid")
    return _lists([rows[index] for index in kept], [truths[index] for index in kept], kept, len(rows) - len(kept))


def result_of_lists(lists: Lists, options: Options, return_items: bool = False) -> dict[str, Any]:
    """The result of lists that were checked."""
    if not len(lists.index) and not lists.n_invalid:
        raise SgevalError("predictions: expected at least one list of scores, got none")
    if options.score == "softmax100" and np.any(np.abs(lists.scores) > 1):
        warnings.warn("score: softmax100 expects cosines, from -1 to 1, got scores beyond", stacklevel=4)
    found = places(lists.scores, lists.lengths, lists.truths)
    starts = np.cumsum(lists.lengths) - lists.lengths
    table = {
        "index": lists.index,
        "n": lists.lengths,
        "truth": lists.truths,
        "score": lists.scores[starts + lists.truths],
    }
    table |= vars(found)
    line = signature({"metric": KEY, "input": "lists", **options.list_signature()})
    result = summarise_lists(table, lists.n_invalid, options, line)
    return result | ({"items": _items(table)} if return_items else {})


def _items(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row a list, as plain numbers."""
    columns = {name: column.tolist() for name, column in table.items()}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _rows(name: str, given: Any, expected: str) -> list[Any]:
    """The rows of whatever has some, in order."""
    plain = _plain(given)
    if not isinstance(plain, Iterable) or isinstance(plain, (str, bytes, Mapping, set, frozenset)):
        raise SgevalError(f"{name}: expected {expected}, got {shown(given)}")
    return list(plain)


def _plain(given: Any) -> Any:
    """Arrays and tensors as plain lists of numbers."""
    return given.tolist() if hasattr(given, "tolist") else given


def _all_at_once(rows: Sequence[Any], truths: Sequence[Any]) -> Lists | None:
    """Plain lists of plain numbers with which nothing is wrong; `None` also where that cannot be told so quickly."""
    if {*map(type, rows)} - {list, tuple} or {*map(type, truths)} - {int} or not all(map(len, rows)):
        return None
    if {*map(type, chain.from_iterable(rows))} - {int, float}:
        return None
    try:
        found = _lists(rows, truths, range(len(rows)), 0)
    except OverflowError:  # a whole number beyond any float
        return None
    in_range = np.all((found.truths >= 0) & (found.truths < found.lengths))
    return found if in_range and np.all(np.abs(found.scores) <= LARGEST) else None


def _lists(rows: Sequence[Any], truths: Sequence[Any], index: Sequence[int], n_invalid: int) -> Lists:
    return Lists(
        np.fromiter(chain.from_iterable(rows), np.float64),
        np.fromiter(map(len, rows), np.int64),
        np.array(truths, dtype=np.int64),
        np.array(index, dtype=np.int64),
        n_invalid,
    )


def _faults(index: int, scores: Any, truth: Any) -> list[str]:
    """What is wrong with a list and its truth, in the words of the border."""
    place = f"predictions[{index}]"
    if isinstance(scores, (str, bytes)) or not isinstance(scores, Sequence) or not len(scores):
        return [f"{place}: expected a list of at least one score, got {shown(scores)}"]
    faults = [
        f"{place}[{number}]: expected a finite number of at most 1e100, got {shown(value)}"
        for number, value in enumerate(scores)
        if not _is_score(value)
    ]
    if isinstance(truth, bool) or not isinstance(truth, Integral) or not 0 <= int(truth) < len(scores):
        expected = f"the position of one of the {len(scores)} scores"
        faults.append(f"references[{index}]: expected {expected}, got {shown(truth)}")
    return faults


def _is_score(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value) and abs(float(value)) <= LARGEST
    except OverflowError:  # a whole number beyond any float
        return False
