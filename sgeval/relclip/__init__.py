"""RelCLIPScore (paper 1): from graphs and pictures to one number and its rows."""

from sgeval.relclip.options import CONFIGS, KEYS, Options, make_options
from sgeval.relclip.result import image_table, predicate_table, sample, summarise
from sgeval.relclip.rows import Item
from sgeval.relclip.scoring import Scoring, relclipscore, score
from sgeval.relclip.setup import make_setup

__all__ = [
    "CONFIGS",
    "KEYS",
    "Item",
    "Options",
    "Scoring",
    "image_table",
    "make_options",
    "make_setup",
    "predicate_table",
    "relclipscore",
    "sample",
    "score",
    "summarise",
]
