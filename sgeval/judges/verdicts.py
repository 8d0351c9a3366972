"""What a judge is asked and what it says: pairs of labels in, categories or reasons for none out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["object", "attribute", "predicate"]
Category = Literal["identical", "synonym", "hypernym", "overlap", "mismatch"]
"""The five of the paper (arXiv 2602.23543): `hypernym` is its hypernym/hyponym, `overlap` its semantic overlap."""
CATEGORIES: tuple[Category, ...] = ("identical", "synonym", "hypernym", "overlap", "mismatch")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two labels to be compared: that of the annotation, and that of the prediction."""

    kind: Kind
    reference: str
    prediction: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's answer: a category, or none with the reason why there is none. Never a guess in place of an answer."""

    category: Category | None
    reason: str | None = None
    is_cached: bool = False
    is_repaired: bool = False
    """Whether the answer was understood only after it was mended, or asked for again."""

    def accepts(self, strict: bool) -> bool | None:
        """Whether the prediction passes: strict takes identical alone, lenient all but mismatch; nothing where unjudged.

        >>> Verdict("synonym").accepts(strict=False), Verdict("synonym").accepts(strict=True)
        (True, False)
        """
        if self.category is None:
            return None
        return self.category == "identical" if strict else self.category != "mismatch"


class Judge(Protocol):
    """Anything that judges pairs of labels. `name` stands in results and signatures."""

    name: str

    def __call__(self, pairs: Sequence[Pair]) -> Sequence[Verdict]:
        """One verdict a pair, in order."""
        ...
