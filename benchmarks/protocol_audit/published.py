"""Printed results of "paper 1" (arXiv 2509.01209), Tables 1 and 3 to 5, as typed rows. All numbers are in percent.

The numbers themselves are in the specs of `benchmarks/sgeval_bundle`.
"""

from dataclasses import dataclass
from typing import Literal

from sgeval.bundle import published


@dataclass(frozen=True)
class AlignmentRow:
    """A row of Table 1: how well a model's scores fit annotated relations."""

    data: Literal["PSG", "VG"]
    model: str
    method: Literal["cosine", "sigmoid", "ITM"]
    score: float
    precision: float
    theta: float


@dataclass(frozen=True)
class PredictionRow:
    """A row of Tables 3 to 5: the relations that a vision-language model predicts on PSG, or on a part of it."""

    table: int
    subset: str
    model: str
    score: float
    """RelCLIPScore with NegCLIP, the column NegCLIP."""
    ref: float
    """Ref-RelCLIPScore with NegCLIP, the column RefNegCLIP."""
    precision: float
    clip: float | None = None
    siglip: float | None = None


def _predictions(table: int) -> tuple[PredictionRow, ...]:
    return tuple(PredictionRow(table, **{"subset": "all", **row}) for row in published(f"paper1_table{table}"))


TABLE_1 = tuple(AlignmentRow(**row) for row in published("paper1_table1"))
TABLE_3 = _predictions(3)
TABLE_4 = _predictions(4)
"""Pairs of boxes whose areas are far apart (ratio low) or not (high)."""
TABLE_5 = _predictions(5)
"""Pairs of boxes that lie apart (yes) or overlap (no)."""
TABLES_3_TO_5 = TABLE_3 + TABLE_4 + TABLE_5
