"""RelCLIPScore (paper 1): from graphs and pictures to one number and its rows."""

from sgeval.relclip.options import CONFIGS, Options, make_options
from sgeval.relclip.result import image_table, predicate_table, summarise
from sgeval.relclip.rows import ImageRow, Item, Rows
from sgeval.relclip.scoring import Scoring, relclipscore, score
from sgeval.relclip.setup import Setup

__all__ = [
    "CONFIGS",
    "ImageRow",
    "Item",
    "Options",
    "Rows",
    "Scoring",
    "Setup",
    "image_table",
    "make_options",
    "predicate_table",
    "relclipscore",
    "score",
    "summarise",
]
