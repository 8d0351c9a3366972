"""Printed results of "paper 1" (arXiv 2509.01209), Tables 1 and 3 to 5, as typed rows. All numbers are in percent."""

from dataclasses import dataclass
from typing import Literal


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


TABLE_1 = (
    AlignmentRow("PSG", "NegCLIP B-32", "cosine", 24.47, 30.18, 66.10),
    AlignmentRow("PSG", "CLIP L-14", "cosine", 23.64, 27.77, 63.14),
    AlignmentRow("PSG", "SigLIP", "sigmoid", 17.78, 25.23, 62.36),
    AlignmentRow("PSG", "BLIP2", "ITM", 67.38, 24.19, 62.29),
    AlignmentRow("VG", "NegCLIP B-32", "cosine", 18.84, 22.75, 64.98),
    AlignmentRow("VG", "CLIP L-14", "cosine", 20.73, 23.80, 61.85),
    AlignmentRow("VG", "SigLIP", "sigmoid", 23.69, 17.55, 58.66),
    AlignmentRow("VG", "BLIP2", "ITM", 65.20, 9.38, 53.49),
)

TABLE_3 = (
    PredictionRow(3, "all", "LLaVA-OneVision 7B", 24.02, 47.75, 16.07, 19.52, 10.02),
    PredictionRow(3, "all", "InternVL3 8B", 23.94, 47.73, 30.97, 19.60, 11.26),
    PredictionRow(3, "all", "Qwen2.5-VL 7B", 23.88, 47.98, 14.01, 19.55, 9.90),
    PredictionRow(3, "all", "GPT-4o-mini", 24.00, 47.88, 16.23, 19.81, 11.27),
    PredictionRow(3, "all", "GPT-4o", 23.97, 47.76, 18.05, 19.82, 10.38),
)

# Pairs of boxes whose areas are far apart (ratio low) or not (high).
TABLE_4 = (
    PredictionRow(4, "ratio low", "InternVL3 8B", 23.91, 47.45, 29.22),
    PredictionRow(4, "ratio high", "InternVL3 8B", 24.15, 47.97, 40.86),
    PredictionRow(4, "ratio low", "LLaVA-OneVision 7B", 23.89, 47.46, 10.65),
    PredictionRow(4, "ratio high", "LLaVA-OneVision 7B", 24.11, 48.01, 23.88),
)

# Pairs of boxes that lie apart (yes) or overlap (no).
TABLE_5 = (
    PredictionRow(5, "distant yes", "InternVL3 8B", 23.78, 47.27, 36.13),
    PredictionRow(5, "distant no", "InternVL3 8B", 23.01, 45.53, 30.08),
    PredictionRow(5, "distant yes", "LLaVA-OneVision 7B", 24.01, 47.34, 11.67),
    PredictionRow(5, "distant no", "LLaVA-OneVision 7B", 22.98, 45.65, 3.70),
)

TABLES_3_TO_5 = TABLE_3 + TABLE_4 + TABLE_5
