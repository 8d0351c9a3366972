"""The rows a run keeps. Every reported number is a pure function of them and the options."""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal

from sgeval.judges.verdicts import Category

VideoStatus = Literal["ok", "missing"]
ItemKind = Literal["object", "attribute", "relation"]
Side = Literal["reference", "prediction"]
FlatSpans = tuple[float, ...]
"""Start, end, start, end … in half-open seconds."""


@dataclass(frozen=True, slots=True)
class VideoRow:
    """One annotated video."""

    video_id: str
    status: VideoStatus
    duration: float | None = None
    """Seconds, where known."""
    n_unknown_objects: int = 0
    """Predicted objects and ends of predicted relations that the annotation does not have."""
    n_beyond_clip: int = 0
    """Spans, of both sides, that reach past the ends of the video."""
    n_inverted: int = 0
    """Predicted spans that end before they start: they overlap with nothing."""
    n_zero_length: int = 0
    """Annotated relations all of whose spans have no length."""
    n_without_span: int = 0
    """Relations, of both sides, without a span."""
    n_not_given: int = 0
    """Annotated objects left out since the prediction was not given them."""
    n_other_level: int = 0
    """Annotated objects left out since they are of another level."""
    n_lost: int = 0
    """Parts of a model's answer that could not be read and are not in the prediction."""
    n_repeats: int = 0
    """Predicted relations and attributes that say again what another of their pair or object says, where a number is set."""
    n_over_limit: int = 0
    """Predicted relations and attributes beyond the number that counts: wrong, and not judged."""
    repairs: tuple[str, ...] = ()
    """What had to be done to read a model's answer."""


@dataclass(frozen=True, slots=True)
class Item:
    """One annotated object, attribute or relation, or one predicted one. An object is its own subject."""

    video_id: str
    side: Side
    kind: ItemKind
    index: int
    """Position among the items of its video, side and kind."""
    subject_id: int
    object_id: int
    label: str
    """Category, attribute or predicate, as it is written."""
    type: str | None = None
    """Level of an object, type of an attribute or a relation."""
    spans: FlatSpans = ()


@dataclass(frozen=True, slots=True)
class Match:
    """An annotated item and a predicted one that are held against each other: the verdict on their labels, and the time."""

    video_id: str
    kind: ItemKind
    reference: int
    """Index of the annotated item."""
    prediction: int
    """Index of the predicted one."""
    category: Category | None
    reason: str | None = None
    """Why there is no category."""
    is_equal: bool = False
    """Whether the labels are equal strings once they are normalised."""
    is_repaired: bool = False
    """Whether the judge's answer was understood only after it was mended, or asked for again."""
    tiou: float | None = None
    above: tuple[bool, ...] = ()
    """Whether tIoU is above each of the thresholds."""
    is_turned: bool = False
    """Whether the prediction goes from the object to the subject."""


@dataclass(frozen=True)
class Rows:
    """The rows of a run. An associative state: parts made apart merge to what one run would have made."""

    videos: tuple[VideoRow, ...] = ()
    items: tuple[Item, ...] = ()
    matches: tuple[Match, ...] = ()
    n_invalid: int = 0
    """Records, objects and relations left out at the border under `on_invalid="skip"`."""

    def merge(self, other: "Rows") -> "Rows":
        """Both together. Raises `ValueError` when a video is in both."""
        double = {row.video_id for row in self.videos} & {row.video_id for row in other.videos}
        if double:
            raise ValueError(f"merge: expected each video once, got {min(double)!r} in both parts")
        return Rows(
            self.videos + other.videos,
            self.items + other.items,
            self.matches + other.matches,
            self.n_invalid + other.n_invalid,
        )

    def in_order(self) -> "Rows":
        """The same rows, sorted: what is reported does not depend on the order in which they were made."""
        return replace(
            self,
            videos=tuple(sorted(self.videos, key=lambda row: row.video_id)),
            items=tuple(sorted(self.items, key=lambda row: (row.video_id, row.side, row.kind, row.index))),
            matches=tuple(sorted(self.matches, key=attrgetter("video_id", "kind", "reference", "prediction"))),
        )
