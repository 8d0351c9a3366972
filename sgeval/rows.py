"""The rows a run keeps: one a relation (or a frame), one a picture. Every reported number is a pure function of them and
the options.

A metric of relations adds what it measures to `RelationRow`; a row of a picture is the same for all that have pictures.
"""

from dataclasses import dataclass, replace
from typing import Generic, Literal, Protocol, TypeVar

ItemStatus = Literal[
    "scored", "self", "duplicate", "invalid", "unmatched", "other_pair", "unlisted", "undefined", "bad_image"
]
ImageStatus = Literal["ok", "missing", "bad_image"]

Corners = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class RelationRow:
    """One relation: what it says, where it stands, what it scored, or why it did not."""

    image_id: str
    index: int
    """Position in its graph's list of relations."""
    subject_id: int
    object_id: int
    subject: str
    predicate: str
    object: str
    group: str
    """The predicate's canonical form."""
    status: ItemStatus
    reason: str | None = None
    text: str | None = None
    score: float | None = None
    endpoint_cut: bool | None = None
    truncated: bool | None = None
    pair: tuple[int, int] | None = None
    """The ordered pair in the ids that matching settled on (the reference's, where there is one)."""
    crop: Corners | None = None
    subject_box: Corners | None = None
    object_box: Corners | None = None


class Placed(Protocol):
    """A row that belongs to a picture and has a place among its rows."""

    @property
    def image_id(self) -> str:
        """The picture."""

    @property
    def index(self) -> int:
        """The place."""


ItemT = TypeVar("ItemT", bound=Placed)


@dataclass(frozen=True, slots=True)
class ImageRow:
    """One picture: how many boxed objects it has (m) and whether it could be scored."""

    image_id: str
    file: str | None
    """The picture's path, below the folder of pictures where there is one."""
    width: int | None
    height: int | None
    m: int
    status: ImageStatus
    n_clipped: int = 0
    """Boxes that stick out of the picture and were clipped for cropping."""
    n_outside: int = 0
    """Boxes that lie wholly outside the picture; they still count in m."""
    n_invalid_relations: int = 0
    """Relations of the prediction that were left out at the border under `on_invalid="skip"`: they have no row."""
    reason: str | None = None
    n_gold_pairs: int | None = None
    """Pairs of boxed objects with an annotated relation, where these are what is scored (`pairs="gold"`)."""


@dataclass(frozen=True)
class Rows(Generic[ItemT]):
    """The rows of a run. An associative state: parts made apart merge to what one run would have made."""

    images: tuple[ImageRow, ...] = ()
    items: tuple[ItemT, ...] = ()
    n_invalid: int = 0
    """Records, objects and relations left out at the border under `on_invalid="skip"`."""
    with_references: bool = False

    def merge(self, other: "Rows[ItemT]") -> "Rows[ItemT]":
        """Both together. Raises `ValueError` when a picture is in both, or when one part had references and one had none."""
        double = {row.image_id for row in self.images} & {row.image_id for row in other.images}
        if double:
            raise ValueError(f"merge: expected each image once, got {min(double)!r} in both parts")
        if self.images and other.images and self.with_references != other.with_references:
            raise ValueError("merge: expected references in both parts or in none, got them in one")
        return Rows(
            self.images + other.images,
            self.items + other.items,
            self.n_invalid + other.n_invalid,
            self.with_references or other.with_references,
        )

    def in_order(self) -> "Rows[ItemT]":
        """The same rows sorted by picture, relations also by position: what is reported does not depend on the order
        in which they were made."""
        return replace(
            self,
            images=tuple(sorted(self.images, key=lambda row: row.image_id)),
            items=tuple(sorted(self.items, key=lambda item: (item.image_id, item.index))),
        )
