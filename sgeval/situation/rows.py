"""The row that a run keeps of each frame. Every reported number is a pure function of these rows and the options."""

from dataclasses import dataclass
from typing import Any, Literal

from sgeval.roles import VerbSetting

Status = Literal["scored", "empty", "extra_verb_frame", "unknown"]


@dataclass(frozen=True, slots=True)
class FrameRow:
    """A frame of the annotation beside what was predicted for it, or a prediction that has no frame (`unknown`).

    `gold` and `predicted` hold the values of all roles one after the other; `n_gold` and `n_predicted` say how many each
    role of `roles` has.
    """

    frame_id: str
    index: int
    """Position of its row among the references; of an unknown one, among the predictions."""
    kind: str
    subject_id: str | None
    object_id: str | None
    status: Status
    reason: str | None = None
    verb: str | None = None
    predicted_verb: str | None = None
    is_predicted: bool = False
    """Whether the predictions have this frame."""
    roles: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    n_gold: tuple[int, ...] = ()
    predicted: tuple[str, ...] = ()
    n_predicted: tuple[int, ...] = ()
    hits: tuple[int, ...] = ()
    """How many of each role's values are among the predicted ones, before the rule on verbs."""
    extra_roles: tuple[str, ...] = ()
    """Predicted roles that the annotation does not have; ignored."""
    n_extra_predicted: int = 0
    """Further predicted verb frames of the pair; ignored."""
    n_over_limit: int = 0
    """Predicted values of its roles beyond the number that counts (`max_values`); ignored."""

    @property
    def image_id(self) -> str:
        """The picture that the frame belongs to."""
        return self.frame_id


def is_counted(row: FrameRow) -> bool:
    """Whether a row is in any score: its roles are, or at least its verb, as that of the first frame of its pair."""
    return row.status == "scored" or (row.status == "empty" and row.kind == "verb")


def is_wrong_verb(row: FrameRow) -> bool:
    """Whether a verb frame has another verb than was predicted, or none was."""
    return row.kind == "verb" and row.verb != row.predicted_verb


def is_lost(row: FrameRow, verb_setting: VerbSetting) -> bool:
    """Whether the top-1 rule takes all roles of a frame."""
    return verb_setting == "top1" and is_wrong_verb(row)


def item(row: FrameRow, verb_setting: VerbSetting) -> dict[str, Any]:
    """A row for a reader: role by role what is annotated, what was predicted and what counted, then the frame's marks.

    What has no meaning for a frame is `None`: the marks of one that was not scored, the verb of a person or an object.
    """
    lost = is_lost(row, verb_setting)
    roles, gold, predicted = [], list(row.gold), list(row.predicted)
    for role, n_gold, n_predicted, hits in zip(row.roles, row.n_gold, row.n_predicted, row.hits, strict=True):
        values = {"gold": gold[:n_gold], "predicted": predicted[:n_predicted]}
        roles.append({"role": role, **values, "right": hits > 0 and not lost})
        del gold[:n_gold], predicted[:n_predicted]
    n_right, is_scored = sum(bool(role["right"]) for role in roles), row.status == "scored"
    return {
        "frame_id": row.frame_id,
        "index": row.index,
        "kind": row.kind,
        "subject_id": row.subject_id,
        "object_id": row.object_id,
        "status": row.status,
        "reason": row.reason,
        "verb": row.verb,
        "predicted_verb": row.predicted_verb,
        "verb_right": not is_wrong_verb(row) if is_counted(row) and row.kind == "verb" else None,
        "is_predicted": row.is_predicted,
        "roles": roles,
        "extra_roles": list(row.extra_roles),
        "n_right": n_right if is_scored else None,
        "value": n_right >= 1 if is_scored else None,
        "value_two": n_right >= 2 if is_scored else None,
        "value_all": n_right == len(roles) if is_scored else None,
    }
