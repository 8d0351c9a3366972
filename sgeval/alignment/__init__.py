"""θ (paper 1, Section 3.2): does the scoring model prefer the annotated predicate? From graphs, or from lists of scores."""

from sgeval.alignment.options import CONFIGS, DEFAULT_MODEL, KEY, Options, make_options
from sgeval.alignment.result import confused, sample, slices, summarise, summarise_lists
from sgeval.alignment.rows import Item
from sgeval.alignment.scoring import Scoring, make_setup, score_annotations, theta

__all__ = [
    "CONFIGS",
    "DEFAULT_MODEL",
    "KEY",
    "Item",
    "Options",
    "Scoring",
    "confused",
    "make_options",
    "make_setup",
    "sample",
    "score_annotations",
    "slices",
    "summarise",
    "summarise_lists",
    "theta",
]
