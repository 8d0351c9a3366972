"""Which prediction belongs to which frame: by frame_id, kind, subject_id and object_id, never by position."""

from collections.abc import Sequence
from itertools import chain

from sgeval.errors import InvalidInput, SgevalError
from sgeval.progress import bar
from sgeval.situation.border import Key, Row, Side, told
from sgeval.situation.options import Options
from sgeval.situation.rows import FrameRow, Status
from sgeval.validation import worded

EMPTY = "has no role in the annotation"
ONLY_VERB = "has no role in the annotation; its verb alone is scored"
EXTRA = "a further verb frame of its pair; the first is scored"
UNKNOWN = "the references have no such frame"


def resolve(references: Side, predictions: Side, options: Options, limit: int | None = None) -> list[FrameRow]:
    """The frames of the references in their order, each beside its prediction; then predictions without a frame.

    Of several verb frames of one pair the first is scored, against the first predicted one, whatever roles they have. A
    frame without roles is left out of the role scores (`empty`); its verb, if it is the first of a pair, counts. A frame
    without a prediction stays: its verb and all its roles are wrong. `limit` keeps the first frame_ids. Raises
    `InvalidInput` with every prediction that has no frame, unless `on_invalid="skip"`: then it is left out; and under
    `missing="error"` with every frame that the predictions lack.
    A prediction that was left out at the border is a missing one, but no reason to refuse.
    """
    if not references.rows:
        raise SgevalError("references: expected at least one frame, got none")
    known = {row.key for row in references.rows} | references.dropped
    strange = [row for row in predictions.rows if row.key not in known]
    of_ours = "expected a frame of the references, got"
    faults = [worded("predictions", (row.index,), f"{of_ours} {told(row.key)}") for row in strange]
    if options.on_invalid == "skip":
        faults = []
    gold = _limited(references.rows, limit)
    first: dict[Key, Row] = {}
    n_predicted: dict[Key, int] = {}
    for row in predictions.rows:
        first.setdefault(row.key, row)
        n_predicted[row.key] = n_predicted.get(row.key, 0) + 1
    found: list[FrameRow] = []
    seen: set[Key] = set()
    for index, row in enumerate(bar(gold, "frames", "frame")):
        prediction, is_verb = first.get(row.key), row.key[1] == "verb"
        if row.key in seen:
            found.append(_bare(row, index, "extra_verb_frame", EXTRA))
        elif not (row.roles or is_verb):
            found.append(_bare(row, index, "empty", EMPTY))
        else:
            seen.add(row.key)
            if prediction is None and options.missing == "error" and row.key not in predictions.dropped:
                faults.append(worded("predictions", (), f"expected {told(row.key)}, got none"))
            found.append(_compared(row, prediction, index, n_predicted.get(row.key, 0), options.max_values))
    if faults:
        raise InvalidInput("predictions", faults)
    if not any(row.status == "scored" for row in found):
        raise SgevalError(f"references: expected at least one frame with roles, got {len(gold)} without any")
    if limit is None:
        found += [_bare(row, row.index, "unknown", UNKNOWN) for row in strange]
    return found


def _limited(rows: Sequence[Row], limit: int | None) -> Sequence[Row]:
    if limit is None:
        return rows
    kept = {*list(dict.fromkeys(row.key[0] for row in rows))[:limit]}
    return [row for row in rows if row.key[0] in kept]


def _bare(row: Row, index: int, status: Status, reason: str) -> FrameRow:
    """A frame that is not scored."""
    frame_id, kind, subject_id, object_id = row.key
    is_unknown = status == "unknown"
    return FrameRow(
        frame_id,
        index,
        kind,
        subject_id,
        object_id,
        status,
        reason,
        verb=None if is_unknown else row.verb,
        predicted_verb=row.verb if is_unknown else None,
        is_predicted=is_unknown,
    )


def _compared(row: Row, prediction: Row | None, index: int, n_predicted: int, most: int | None) -> FrameRow:
    """A frame beside its prediction, of whose values of a role the first `most` count. A verb without roles is `empty`, but
    its verb has a prediction."""
    frame_id, kind, subject_id, object_id = row.key
    said = prediction.roles if prediction else {}
    values = [said.get(role, ())[:most] for role in row.roles]
    n_over = sum(len(said.get(role, ())) for role in row.roles) - sum(map(len, values))
    n_gold, n_said = tuple(map(len, row.roles.values())), tuple(map(len, values))
    hits = tuple([len({*gold} & {*found}) for gold, found in zip(row.roles.values(), values, strict=True)])
    return FrameRow(
        frame_id,
        index,
        kind,
        subject_id,
        object_id,
        "scored" if row.roles else "empty",
        None if row.roles else ONLY_VERB,
        verb=row.verb,
        predicted_verb=prediction.verb if prediction else None,
        is_predicted=prediction is not None,
        roles=tuple(row.roles),
        gold=tuple(chain.from_iterable(row.roles.values())),
        n_gold=n_gold,
        predicted=tuple(chain.from_iterable(values)),
        n_predicted=n_said,
        hits=hits,
        extra_roles=tuple([role for role in said if role not in row.roles]),
        n_extra_predicted=max(n_predicted - 1, 0),
        n_over_limit=n_over,
    )
