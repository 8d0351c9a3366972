"""The row of a predicted relation."""

from dataclasses import dataclass

from sgeval.rows import RelationRow


@dataclass(frozen=True, slots=True)
class Item(RelationRow):
    """One predicted relation, and how it compares with the reference."""

    ref_score: float | None = None
    ref_predicates: tuple[str, ...] = ()
    """The reference's predicates on the ordered pair; empty without one."""
    ref_reversed: tuple[str, ...] = ()
    """The reference's predicates on the pair the other way round."""
    exact: bool | None = None
    exact_normalised: bool | None = None
