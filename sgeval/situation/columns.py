"""Frames as columns of numbers: from the rows of a run, and from columns of whoever has them."""

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from sgeval.errors import SgevalError, one_line, one_of
from sgeval.roles import KINDS, NOTHING, VERB, Bools, Columns, Ints, Name
from sgeval.situation.rows import FrameRow

LARGEST_CODE = 1_000_000  # whole numbers up to here stand for themselves; beyond, they are numbered


class _Codes:
    """Names numbered in the order they come; nothing is `NOTHING`."""

    def __init__(self) -> None:
        self.of: dict[Any, int] = {None: NOTHING}

    def __call__(self, names: Iterable[Any]) -> Ints:
        found = self.of
        return np.fromiter((found.setdefault(name, len(found) - 1) for name in names), np.int64)

    @property
    def names(self) -> list[Name]:
        return list(self.of)[1:]


def columns_of_rows(counted: Sequence[FrameRow]) -> Columns:
    """The columns of rows that count, in their order."""
    roles, values, verbs = _Codes(), _Codes(), _Codes()
    pairs = list(chain.from_iterable(map(_pairs, counted)))
    return Columns(
        kind=np.fromiter((KINDS.index(row.kind) for row in counted), np.int64),
        lengths=np.fromiter((len(row.roles) for row in counted), np.int64),
        verb=verbs(row.verb for row in counted),
        predicted_verb=verbs(row.predicted_verb if row.kind == "verb" else None for row in counted),
        role=roles(chain.from_iterable(row.roles for row in counted)),
        gold=values(gold for gold, _ in pairs),
        predicted=values(predicted for _, predicted in pairs),
        role_names=roles.names,
        value_names=values.names,
        verb_names=verbs.names,
        hits=np.fromiter(chain.from_iterable(row.hits for row in counted), np.int64),
        n_gold=np.fromiter(chain.from_iterable(row.n_gold for row in counted), np.int64),
    )


def _pairs(row: FrameRow) -> Iterable[tuple[str, str | None]]:
    """Of each role the annotated and the predicted value that stand for it: the one both share, else the first of each."""
    if len(row.roles) == len(row.gold) == len(row.predicted) and max(row.n_predicted, default=0) == 1:
        return zip(row.gold, row.predicted, strict=True)
    pairs: list[tuple[str, str | None]] = []
    gold_from = predicted_from = 0
    for n_gold, n_predicted in zip(row.n_gold, row.n_predicted, strict=True):
        gold = row.gold[gold_from : (gold_from := gold_from + n_gold)]
        predicted = row.predicted[predicted_from : (predicted_from := predicted_from + n_predicted)]
        shared = [value for value in predicted if value in gold]
        pairs.append((shared[0], shared[0]) if shared else (gold[0], predicted[0] if predicted else None))
    return pairs


def given_columns(
    roles: Any,
    gold: Any,
    predicted: Any,
    lengths: Any,
    *,
    kinds: Any = "object",
    verbs: Any = None,
    predicted_verbs: Any = None,
) -> tuple[Columns, Bools]:
    """The columns that `score_columns` takes as numbers, and which of the frames are in them: those with a role, and
    verbs."""
    role, role_names = _coded("roles", roles)
    truth, said, value_names = _together("gold and predicted", _coded("gold", gold), _coded("predicted", predicted))
    sizes = _whole_numbers("lengths", lengths)
    for name, column in (("gold", truth), ("predicted", said)):
        if len(column) != len(role):
            raise SgevalError(f"{name}: expected one value a role ({len(role)}), got {len(column)}")
    if len(sizes) and sizes.min() < 0:
        raise SgevalError(f"lengths: expected numbers of roles, got {sizes.min()}")
    if sizes.sum() != len(role):
        raise SgevalError(f"lengths: expected {len(role)} roles in all, got {sizes.sum()}")
    _refuse_nothing("roles", role)
    _refuse_nothing("gold", truth)
    kind = _kinds(kinds, len(sizes))
    verb, predicted_verb, verb_names = _verbs(verbs, predicted_verbs, kind)
    there = (sizes > 0) | (kind == VERB)
    if not there.all():
        kind, sizes, verb, predicted_verb = kind[there], sizes[there], verb[there], predicted_verb[there]
    return Columns(kind, sizes, verb, predicted_verb, role, truth, said, role_names, value_names, verb_names), there


def units_of(given: Any, n: int) -> Ints:
    """The picture of each frame, numbered."""
    codes, _ = _coded("frame_ids", given)
    if len(codes) != n:
        raise SgevalError(f"frame_ids: expected one a frame ({n}), got {len(codes)}")
    _refuse_nothing("frame_ids", codes)
    return codes


def _verbs(verbs: Any, predicted_verbs: Any, kind: Ints) -> tuple[Ints, Ints, Sequence[Name]]:
    is_verb = kind == VERB
    if verbs is None and predicted_verbs is None and not is_verb.any():
        nothing = np.full(len(kind), NOTHING)
        return nothing, nothing, []
    if verbs is None:
        raise SgevalError("verbs: expected one a frame, since some are of the kind verb, got nothing")
    nobody: Coded = (np.full(len(kind), NOTHING), [])
    said = nobody if predicted_verbs is None else _coded("predicted_verbs", predicted_verbs)
    verb, predicted, names = _together("verbs and predicted_verbs", _coded("verbs", verbs), said)
    for name, column in (("verbs", verb), ("predicted_verbs", predicted)):
        if len(column) != len(kind):
            raise SgevalError(f"{name}: expected one a frame ({len(kind)}), got {len(column)}")
    _refuse_nothing("verbs", np.where(is_verb, verb, 0))
    return np.where(is_verb, verb, NOTHING), np.where(is_verb, predicted, NOTHING), names


def _kinds(given: Any, n: int) -> Ints:
    """The kind of each frame, from one name for all or from a name a frame."""
    if isinstance(given, str):
        one_of("kinds", given, KINDS)
        return np.full(n, KINDS.index(given))
    codes, names = _coded("kinds", given)
    if len(codes) != n:
        raise SgevalError(f"kinds: expected one a frame ({n}), got {len(codes)}")
    _refuse_nothing("kinds", codes)
    for code in np.flatnonzero(np.bincount(codes, minlength=len(names))).tolist():
        one_of("kinds", names[code], KINDS)
    places = [KINDS.index(str(name)) if name in KINDS else NOTHING for name in names]
    return np.array(places, dtype=np.int64)[codes]


def _refuse_nothing(name: str, codes: Ints) -> None:
    if len(codes) and codes.min() < 0:
        raise SgevalError(f"{name}: expected a value in each place, got none at {int(codes.argmin())}")


def _whole_numbers(name: str, given: Any) -> Ints:
    numbers = _numbers(given)
    column = _arrow(name, given) if numbers is None else numbers
    if not isinstance(column, np.ndarray):
        raise SgevalError(f"{name}: expected a column of whole numbers, got another")
    return column


Coded = tuple[Ints, Sequence[Name]]
"""A column as codes, and the names they stand for."""


def _coded(name: str, given: Any) -> Coded:
    """A column of texts or of whole numbers as codes. Small numbers are their own codes; −1, null and `None` are nothing."""
    numbers = _numbers(given)
    if numbers is not None:
        return _coded_numbers(name, numbers)
    if isinstance(given, (list, tuple)) and (found := _coded_texts(given)) is not None:
        return found
    return _coded_arrow(name, given)


def _numbers(given: Any) -> Ints | None:
    """Whole numbers as they are; nothing where the column holds anything else."""
    if isinstance(given, np.ndarray):
        return given.astype(np.int64, copy=False) if given.dtype.kind in "iu" and given.ndim == 1 else None
    if isinstance(given, (list, tuple)) and given and type(given[0]) is int:
        try:
            return np.frombuffer(array("q", given), dtype=np.int64)
        except (TypeError, OverflowError):
            return None
    return None


def _coded_numbers(name: str, numbers: Ints) -> Coded:
    if not len(numbers):
        return numbers, []
    low, high = int(numbers.min()), int(numbers.max())
    if low < NOTHING:
        raise SgevalError(f"{name}: expected whole numbers from 0, or -1 for nothing, got {low}")
    if high < LARGEST_CODE:
        return numbers, range(high + 1)
    names, codes = np.unique(numbers, return_inverse=True)
    shift = int(names[0] == NOTHING)
    return codes - shift, names[shift:].tolist()


def _coded_texts(given: Sequence[Any]) -> Coded | None:
    """The codes of texts in a list; nothing where it holds anything else."""
    try:
        distinct = {*given}
    except TypeError:
        return None
    if {*map(type, distinct)} - {str, type(None)}:
        return None
    names = sorted(distinct - {None})
    places: dict[Any, int] = {name: code for code, name in enumerate(names)} | {None: NOTHING}
    return np.fromiter(map(places.__getitem__, given), np.int64, len(given)), names


def _coded_arrow(name: str, given: Any) -> Coded:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _arrow(name, given)
    if isinstance(column, np.ndarray):
        return _coded_numbers(name, column)
    if pa.types.is_null(column.type):
        return np.full(len(column), NOTHING), []
    if _is_text(column.type):
        column = column.dictionary_encode()
    names = column.dictionary.to_pylist()
    codes = pc.fill_null(column.indices.cast(pa.int64()), NOTHING).to_numpy(zero_copy_only=False)
    if None in names or len({*names}) < len(names):  # a dictionary may hold nulls and repeats
        return _renumbered((codes, names), [])
    return codes, names


def _arrow(name: str, given: Any) -> Any:
    """A column as numpy has whole numbers (null is `NOTHING`), or as Arrow has texts, plain or by dictionary, or nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        column = given if isinstance(given, (pa.Array, pa.ChunkedArray)) else pa.array(given)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        kind = column.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
            column = column if _is_text(kind) else column.dictionary_decode()
        if pa.types.is_integer(kind):
            return pc.fill_null(column.cast(pa.int64()), NOTHING).to_numpy(zero_copy_only=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as fault:
        words = one_line(str(fault).splitlines()[0]) if str(fault) else type(fault).__name__
        raise SgevalError(f"{name}: expected a column of texts or of whole numbers, got another ({words})") from None
    if not (_is_text(kind) or pa.types.is_null(kind)):
        raise SgevalError(f"{name}: expected a column of texts or of whole numbers, got one of {kind}")
    return column


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _together(what: str, one: Coded, other: Coded) -> tuple[Ints, Ints, Sequence[Name]]:
    """Two columns in one numbering."""
    kinds = {type(names[0]) for _, names in (one, other) if len(names)}
    if len(kinds) > 1:
        raise SgevalError(f"{what}: expected texts on both sides or whole numbers on both, got one of each")
    if isinstance(one[1], range) and isinstance(other[1], range):
        return one[0], other[0], max(one[1], other[1], key=len)
    codes, names = _renumbered(one, [])
    more, names = _renumbered(other, names)
    return codes, more, names


def _renumbered(column: Coded, known: Sequence[Name]) -> Coded:
    """The column in a numbering that begins with the names already `known`."""
    codes, names = column
    places: dict[Any, int] = {name: code for code, name in enumerate(known)}
    for name in names:
        if name is not None:
            places.setdefault(name, len(places))
    table = np.array([NOTHING if name is None else places[name] for name in names] + [NOTHING], dtype=np.int64)
    return table[codes], list(places)
