"""The row of an annotated relation."""

from dataclasses import dataclass

from sgeval.rows import RelationRow


@dataclass(frozen=True, slots=True)
class Item(RelationRow):
    """One annotated relation. `score` is that of its own triplet, as the model gives it."""

    n: int | None = None
    """Candidates, the truth among them."""
    higher: int | None = None
    """Candidates that scored higher than the truth."""
    tied: int | None = None
    """Others that scored the same."""
    near: int | None = None
    """Others that scored nearly the same."""
    first_best: int | None = None
    softmax: float | None = None
    """This and the four above: see `sgeval.ranks.Places`."""
    confusers: tuple[str, ...] = ()
    """The predicates that scored higher, best first."""
    confuser_score: float | None = None
    """Of the first of them."""
    swap_score: float | None = None
    """Of the triplet with subject and object changed over; nothing where that says the same."""
    bare_score: float | None = None
    """Of the triplet without its predicate."""
    random_predicate: str | None = None
    """A predicate of the vocabulary that the pair is not annotated with, drawn at random."""
    random_score: float | None = None
    size_ratio: float | None = None
    """Area of the smaller box over that of the larger."""
    gap: float | None = None
    """Distance of the nearest edges, as a share of the picture's diagonal."""
    overlap: bool | None = None
    """Whether the boxes have an area in common."""
