"""Frames as columns of numbers: from the rows of a run, and from columns of whoever has them."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from sgeval.errors import SgevalError, one_of, shown
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


def columns_of_rows(scored: Sequence[FrameRow]) -> Columns:
    """The columns of scored rows, in their order."""
    roles, values, verbs = _Codes(), _Codes(), _Codes()
    pairs = list(chain.from_iterable(map(_pairs, scored)))
    return Columns(
        kind=np.fromiter((KINDS.index(row.kind) for row in scored), np.int64),
        lengths=np.fromiter((len(row.roles) for row in scored), np.int64),
        verb=verbs(row.verb for row in scored),
        predicted_verb=verbs(row.predicted_verb if row.kind == "verb" else None for row in scored),
        role=roles(chain.from_iterable(row.roles for row in scored)),
        gold=values(gold for gold, _ in pairs),
        predicted=values(predicted for _, predicted in pairs),
        role_names=roles.names,
        value_names=values.names,
        verb_names=verbs.names,
        hits=np.fromiter(chain.from_iterable(row.hits for row in scored), np.int64),
        n_gold=np.fromiter(chain.from_iterable(row.n_gold for row in scored), np.int64),
    )


def _pairs(row: FrameRow) -> Iterable[tuple[str, str | None]]:
    """Of each role the annotated and the predicted value that stand for it: the one both share, else the first of each."""
    if len(row.roles) == len(row.gold) == len(row.predicted) and max(row.n_predicted) == 1:
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
    """The columns that `score_columns` takes as numbers, and which of the frames have a role: those without are not in
    them."""
    role, role_names = _numbered("roles", roles)
    (gold, predicted), value_names = _together(_array("gold", gold), _array("predicted", predicted))
    sizes = whole_numbers("lengths", lengths)
    for name, column in (("gold", gold), ("predicted", predicted)):
        if len(column) != len(role):
            raise SgevalError(f"{name}: expected one value a role ({len(role)}), got {len(column)}")
    if len(sizes) and sizes.min() < 0:
        raise SgevalError(f"lengths: expected numbers of roles, got {sizes.min()}")
    if sizes.sum() != len(role):
        raise SgevalError(f"lengths: expected {len(role)} roles in all, got {sizes.sum()}")
    _refuse_nothing("roles", role)
    _refuse_nothing("gold", gold)
    kind = _kinds(kinds, len(sizes))
    verb, predicted_verb, verb_names = _verbs(verbs, predicted_verbs, kind)
    there = sizes > 0
    found = Columns(
        kind[there], sizes[there], verb[there], predicted_verb[there], role, gold, predicted, role_names, value_names,
        verb_names,
    )  # fmt: skip
    return found, there


def _verbs(verbs: Any, predicted_verbs: Any, kind: Ints) -> tuple[Ints, Ints, Sequence[Name]]:
    is_verb = kind == VERB
    if not is_verb.any() and verbs is None and predicted_verbs is None:
        nothing = np.full(len(kind), NOTHING)
        return nothing, nothing, []
    if verbs is None:
        raise SgevalError("verbs: expected one a frame, since some are of the kind verb, got nothing")
    other = [None] * len(kind) if predicted_verbs is None else predicted_verbs
    (verb, predicted), names = _together(_array("verbs", verbs), _array("predicted_verbs", other))
    for name, column in (("verbs", verb), ("predicted_verbs", predicted)):
        if len(column) != len(kind):
            raise SgevalError(f"{name}: expected one a frame ({len(kind)}), got {len(column)}")
    _refuse_nothing("verbs", verb[is_verb])
    return np.where(is_verb, verb, NOTHING), np.where(is_verb, predicted, NOTHING), names


def _kinds(given: Any, n: int) -> Ints:
    """The kind of each frame, from one name for all or from a name a frame."""
    if isinstance(given, str):
        one_of("kinds", given, KINDS)
        return np.full(n, KINDS.index(given))
    codes, names = _numbered("kinds", given)
    if len(codes) != n:
        raise SgevalError(f"kinds: expected one a frame ({n}), got {len(codes)}")
    _refuse_nothing("kinds", codes)
    for name in {names[code] for code in np.unique(codes).tolist()}:
        one_of("kinds", name, KINDS)
    return np.array([KINDS.index(str(name)) if name in KINDS else NOTHING for name in names], dtype=np.int64)[codes]


def _refuse_nothing(name: str, codes: Ints) -> None:
    if len(codes) and codes.min() < 0:
        raise SgevalError(f"{name}: expected a value in each place, got none at {int(codes.argmin())}")


def _array(name: str, given: Any) -> Any:
    """A column as an Arrow array, or as the numpy array of whole numbers that it is."""
    import pyarrow as pa

    if isinstance(given, np.ndarray) and given.dtype.kind in "iu" and given.ndim == 1:
        return given.astype(np.int64, copy=False)
    if isinstance(given, pa.ChunkedArray):
        given = given.combine_chunks()
    try:
        column = given if isinstance(given, pa.Array) else pa.array(given)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError) as fault:
        words = str(fault).splitlines()[0]
        raise SgevalError(f"{name}: expected a column of texts or of whole numbers, got another ({words})") from None
    if isinstance(column, pa.ChunkedArray):  # a list too long for one array
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type) and not column.null_count:
        return column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    if not (pa.types.is_integer(column.type) or _is_text(column.type) or pa.types.is_null(column.type)):
        raise SgevalError(f"{name}: expected a column of texts or of whole numbers, got one of {column.type}")
    return column


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _together(one: Any, other: Any) -> tuple[tuple[Ints, Ints], Sequence[Name]]:
    """Two columns in one numbering."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        codes, names = _small(np.concatenate((one, other)))
        return (codes[: len(one)], codes[len(one) :]), names
    import pyarrow as pa

    arrays = [pa.array(side) if isinstance(side, np.ndarray) else side for side in (one, other)]
    kinds = {side.type for side in arrays if not pa.types.is_null(side.type)}
    if len(kinds) > 1:
        if any(map(pa.types.is_integer, kinds)) and any(map(_is_text, kinds)):
            raise SgevalError("columns: expected both sides to be texts or both whole numbers, got one of each")
        kinds = {pa.int64() if any(map(pa.types.is_integer, kinds)) else pa.large_string()}
    arrays = [side.cast(next(iter(kinds), pa.string())) for side in arrays]
    codes, names = _numbers_of(pa.chunked_array(arrays))
    return (codes[: len(one)], codes[len(one) :]), names


def _numbered(name: str, given: Any) -> tuple[Ints, Sequence[Name]]:
    """A column as numbers, and the names they stand for."""
    import pyarrow as pa

    column = _array(name, given)
    return _small(column) if isinstance(column, np.ndarray) else _numbers_of(pa.chunked_array([column]))


def _numbers_of(column: Any) -> tuple[Ints, Sequence[Name]]:
    import pyarrow.compute as pc

    coded = column.dictionary_encode().unify_dictionaries()
    names = coded.chunk(0).dictionary.to_pylist() if coded.num_chunks else []
    indices = [pc.fill_null(chunk.indices, NOTHING).to_numpy(zero_copy_only=False) for chunk in coded.chunks]
    return np.concatenate([np.zeros(0, dtype=np.int64), *indices]).astype(np.int64), names


def _small(column: Ints) -> tuple[Ints, Sequence[Name]]:
    """Whole numbers as they are where they are small; −1 is nothing."""
    if not len(column):
        return column, []
    low, high = int(column.min()), int(column.max())
    if low < NOTHING:
        raise SgevalError(f"columns: expected whole numbers from 0, or -1 for nothing, got {shown(low)}")
    if high < LARGEST_CODE:
        return column, range(high + 1)
    names, codes = np.unique(column, return_inverse=True)
    shift = int(names[0] == NOTHING)
    return codes - shift, names[shift:].tolist()


def units_of(given: Any, n: int) -> Ints:
    """The picture of each frame, numbered."""
    codes, _ = _numbered("frame_ids", given)
    if len(codes) != n:
        raise SgevalError(f"frame_ids: expected one a frame ({n}), got {len(codes)}")
    _refuse_nothing("frame_ids", codes)
    return codes


def whole_numbers(name: str, given: Any) -> Ints:
    """A column of whole numbers."""
    column = _array(name, given)
    if not isinstance(column, np.ndarray):
        raise SgevalError(f"{name}: expected whole numbers, got another column")
    return column


