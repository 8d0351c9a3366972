"""SVG2 temporal accuracy ("paper 2", arXiv 2602.23543): objects, attributes, relations and triplets of videos, by meaning and
time."""

from sgeval.temporal.options import KEY, METRIC, Options, make_options
from sgeval.temporal.result import summarise
from sgeval.temporal.rows import Rows
from sgeval.temporal.scoring import Scoring, score, svg2_temporal_accuracy

__all__ = [
    "KEY",
    "METRIC",
    "Options",
    "Rows",
    "Scoring",
    "make_options",
    "score",
    "summarise",
    "svg2_temporal_accuracy",
]
