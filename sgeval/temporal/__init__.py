"""SVG2 temporal accuracy ("paper 2", arXiv 2602.23543): objects, attributes, relations and triplets of videos, by meaning and
time."""

from sgeval.temporal.options import HEADLINE, KEY, KINDS, Options, make_options
from sgeval.temporal.result import is_withheld, sample, summarise
from sgeval.temporal.rows import Item, Match, Rows, VideoRow
from sgeval.temporal.scoring import Scoring, pairs_to_ask, score, svg2_temporal_accuracy

__all__ = [
    "HEADLINE",
    "KEY",
    "KINDS",
    "Item",
    "Match",
    "Options",
    "Rows",
    "Scoring",
    "VideoRow",
    "is_withheld",
    "make_options",
    "pairs_to_ask",
    "sample",
    "score",
    "summarise",
    "svg2_temporal_accuracy",
]
