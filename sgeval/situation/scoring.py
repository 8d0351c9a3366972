"""Role values: the public functions, from rows or scene graphs, or from columns, to the result."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sgeval.errors import SgevalError, one_of
from sgeval.options import check_limit
from sgeval.roles import NOTHING, VERB, State, VerbSetting
from sgeval.rows import Rows
from sgeval.signature import signature
from sgeval.situation.border import Side, parse_side
from sgeval.situation.choices import choices
from sgeval.situation.columns import given_columns, units_of
from sgeval.situation.options import CONFIGS, KEY, Missing, Options, make_options
from sgeval.situation.resolve import resolve
from sgeval.situation.result import state_of_rows, summarise, summarise_columns
from sgeval.situation.rows import FrameRow, is_counted
from sgeval.validation import OnInvalid

NO_VERBS = (
    "predictions: expected verbs in the frames of the kind verb, got none: under the top-1 rule all of them are wrong; "
    'verb_setting="gold" scores roles under given verbs'
)
NO_PICTURE = "predictions: have nothing for {:,} of {:,} pictures; all frames of these count as wrong"


@dataclass(frozen=True)
class Scoring:
    """Rows with what is needed to summarise them."""

    rows: Rows[FrameRow]
    options: Options
    signature: str
    key: str = KEY

    @property
    def files(self) -> Mapping[str, str]:
        """Nothing stands beside the tables."""
        return {}

    def state(self) -> State:
        """The counts that the scores are made of; states of parts merge. Of an input that is scored in parts, all rows of
        a pair have to be in one part: the first of them is the one that counts."""
        return state_of_rows(self.rows, self.options)

    def result(self, return_items: bool = False) -> dict[str, Any]:
        """The flat result."""
        return summarise(self.rows, self.options, self.signature, return_items)


def ssg_role_values(
    predictions: Iterable[Any] | None = None,
    references: Iterable[Any] | None = None,
    *,
    config: str = "roles",
    verb_setting: VerbSetting | None = None,
    max_values: int | None = None,
    missing: Missing = "zero",
    limit: int | None = None,
    return_items: bool = False,
    on_invalid: OnInvalid = "error",
    bootstrap: int = 0,
    seed: int = 0,
    **unknown: Any,
) -> dict[str, Any]:
    """Role values of situational scene graphs: is what is said of persons, objects and their contacts right?

    Definition: a frame is a person, an object, or the verb of a person–object pair, with a value for each of its roles.
    `value`, `value_two` and `value_all` are the shares of frames with at least one, at least two, all roles right;
    `role_accuracy` is the mean over role names of the share of right values; `verb_accuracy` the share of pairs with a
    verb whose first verb is right. A verb frame with a wrong verb has no role right (top-1). Paper 3: arXiv 2410.22829.

    Range and direction: percent, higher is better. A frame with one role can never count in `value_two`: its ceiling is
    `value_two_ceiling`, and `value_two_eligible` leaves such frames out.

    Parameters
    ----------
    predictions, references
        Rows `{"frame_id", "kind": "person" | "object" | "verb", "subject_id", "object_id", "verb", "roles": [{"role",
        "value"}]}`, or scene graphs with roles (a prediction file, `sgeval.readers.ssg.read_ssg`, rows of the data set).
        They are matched by frame_id, kind, subject_id and object_id, in any order. A role with several values has them
        as a list under `values`: any of them is right. With `config="vqa"`: rows `{"question_id", "answer"}` and
        `{"question_id", "options", "answer", "task"}`, where an answer is an option or its position from 0.
    config
        `roles`; `gold_verb`, the same with `verb_setting="gold"`; `vqa`, multiple choice.
    verb_setting
        `top1`: a wrong verb makes its roles wrong. `gold`: roles are scored whatever the predicted verb.
    max_values
        Of the predicted values of a role the first N count, the rest is counted; without it all do. 1 for a ranking.
    missing
        A frame (or question) that the predictions lack is wrong and counted (`zero`), or an `error`.
    limit
        Score the first N frame_ids (or questions) of the references only.
    return_items
        Also give `items` (one row a frame), and the tables `roles` and `verbs`.
    on_invalid
        Faulty rows and roles, and predictions without a frame, are an `error`, or left out and counted (`skip`).
    bootstrap, seed
        Replicates for 95 % intervals over pictures (frame_id); 0 for none.

    Returns
    -------
    dict
        The five scores, each also as `person_…`, `object_…`, `verb_…`; `per_role_…`, the same over roles with sets of
        values; macro `role_precision`, `role_recall`, `role_f1` and `verb_…`; ceilings, counts, `signature`. Undefined
        is `None`: a kind that no frame is of.

    Raises
    ------
    sgeval.errors.InvalidInput
        With every fault of the input. `SgevalError` for options, and where no frame has a role.

    Examples
    --------
    >>> gold = [{"frame_id": "f1", "kind": "object", "object_id": 1,
    ...          "roles": [{"role": "tool", "value": "pen"}, {"role": "place", "value": "desk"}]}]
    >>> said = [{"frame_id": "f1", "kind": "object", "object_id": 1,
    ...          "roles": [{"role": "tool", "value": "pen"}, {"role": "place", "value": "floor"}]}]
    >>> result = ssg_role_values(said, gold)
    >>> result["value"], result["value_two"], result["role_accuracy"], result["value_two_ceiling"]
    (100.0, 0.0, 50.0, 100.0)
    """
    for name in unknown:
        one_of("option", name, ssg_role_values.__kwdefaults__ or ())
    one_of("config", config, CONFIGS)
    given = {
        "max_values": max_values,
        "missing": missing,
        "on_invalid": on_invalid,
        "bootstrap": bootstrap,
        "seed": seed,
    }
    options = make_options({**given, "verb_setting": verb_setting}, config)
    for name, side in (("predictions", predictions), ("references", references)):
        if side is None:
            raise SgevalError(f"{name}: expected {EXPECTED[config]}, got nothing")
    assert predictions is not None and references is not None
    if config == "vqa":
        return choices(predictions, references, options, limit=limit, return_items=return_items)
    return score_rows(predictions, references, options, limit=limit).result(return_items)


EXPECTED = {
    "roles": "rows of frames, or scene graphs",
    "gold_verb": "rows of frames, or scene graphs",
    "vqa": "rows of questions",
}


def score_rows(
    predictions: Iterable[Any], references: Iterable[Any], options: Options | None = None, *, limit: int | None = None
) -> Scoring:
    """The rows of a run, before they are summarised. Parameters as in `ssg_role_values`."""
    options = options or Options()
    check_limit(limit)
    gold, said = parse_both(predictions, references, options)
    return score_sides(said, gold, options, limit=limit)


def parse_both(predictions: Iterable[Any], references: Iterable[Any], options: Options) -> tuple[Side, Side]:
    """References and predictions through the border."""
    gold = parse_side(references, "references", options.on_invalid)
    return gold, parse_side(predictions, "predictions", options.on_invalid, is_predicted=True)


def score_sides(predictions: Side, references: Side, options: Options, *, limit: int | None = None) -> Scoring:
    """The same for rows that have passed the border."""
    check_limit(limit)
    found = resolve(references, predictions, options, limit)
    verbs = [row for row in found if is_counted(row) and row.kind == "verb" and row.is_predicted]
    if verbs and options.verb_setting == "top1" and all(row.predicted_verb is None for row in verbs):
        warnings.warn(NO_VERBS, stacklevel=4)
    absent = {row.frame_id for row in found if is_counted(row)}
    n_all = len(absent)
    absent -= {row.frame_id for row in found if row.is_predicted}
    if absent:
        warnings.warn(NO_PICTURE.format(len(absent), n_all), stacklevel=4)
    rows = Rows(items=tuple(found), n_invalid=references.n_invalid + predictions.n_invalid, with_references=True)
    parts = {"metric": KEY, **options.signature()}
    line = signature(parts if limit is None else {**parts, "limit": int(limit)})
    return Scoring(rows, options, line)


def score_columns(
    *,
    roles: Any,
    predicted: Any,
    gold: Any,
    lengths: Any,
    kinds: Any = "object",
    verbs: Any = None,
    predicted_verbs: Any = None,
    frame_ids: Any = None,
    verb_setting: VerbSetting = "top1",
    bootstrap: int = 0,
    seed: int = 0,
    return_tables: bool = False,
) -> dict[str, Any]:
    """`ssg_role_values` for columns: the same scores of what is matched already, with one value a role, many times as fast.

    `roles`, `predicted` and `gold` hold the roles of all frames one after the other, `(N,)`; `lengths` `(F,)` says how
    many each frame has (0 leaves it out of the role scores, and counts it). `kinds` is one of person, object, verb, or
    such a name a frame; where a frame is a verb, `verbs` and `predicted_verbs` `(F,)` hold its verbs. `frame_ids` `(F,)`
    say which frames are of one picture, for the intervals; without them each is its own. Columns are numpy arrays of
    whole numbers (−1 is nothing predicted), Arrow columns (null is), lists or arrays of texts or whole numbers. Each role
    stands once in a frame; that is not looked at.

    Returns the flat result of `ssg_role_values` without the counts that matching gives; with `return_tables` also
    `roles` and `verbs`. Raises `SgevalError` for columns that do not fit.

    >>> result = score_columns(roles=["tool", "place", "tool"], predicted=["pen", "floor", "cup"],
    ...                        gold=["pen", "desk", "cup"], lengths=[2, 1])
    >>> result["value"], result["value_two"], result["value_all"], result["role_accuracy"]
    (100.0, 0.0, 50.0, 50.0)
    """
    options = Options(verb_setting=verb_setting, bootstrap=bootstrap, seed=seed)
    columns, there = given_columns(
        roles, gold, predicted, lengths, kinds=kinds, verbs=verbs, predicted_verbs=predicted_verbs
    )
    if not len(columns.role):
        raise SgevalError(f"lengths: expected at least one frame with roles, got {len(there)} without any")
    is_verb = columns.kind == VERB
    if verb_setting == "top1" and is_verb.any() and (columns.predicted_verb[is_verb] == NOTHING).all():
        warnings.warn(NO_VERBS, stacklevel=2)
    units = None if frame_ids is None else units_of(frame_ids, len(there))[there]
    line = signature({"metric": KEY, **options.signature("columns")})
    n_empty = len(there) - int(np.count_nonzero(columns.lengths))
    return summarise_columns(columns, units, n_empty, options, line, return_tables)
