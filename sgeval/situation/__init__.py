"""Role values of situational scene graphs (paper 3): from rows, from scene graphs, or from columns."""

from sgeval.situation.graphs import rows_of_graphs
from sgeval.situation.options import CONFIGS, HEADLINE, KEY, Options, make_options
from sgeval.situation.records import graphs_of_rows
from sgeval.situation.result import GROUPS, sample, state_of_rows, summarise, summarise_state
from sgeval.situation.rows import FrameRow
from sgeval.situation.scoring import Scoring, score_columns, score_rows, ssg_role_values

__all__ = [
    "CONFIGS",
    "GROUPS",
    "HEADLINE",
    "KEY",
    "FrameRow",
    "Options",
    "Scoring",
    "graphs_of_rows",
    "make_options",
    "rows_of_graphs",
    "sample",
    "score_columns",
    "score_rows",
    "ssg_role_values",
    "state_of_rows",
    "summarise",
    "summarise_state",
]
