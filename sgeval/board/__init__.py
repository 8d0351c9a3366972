"""The leaderboard: tasks, results that are only ever added to, submissions scored in a child process, and the pages.

A board is a folder with `board.yaml` (see `settings`) and the data of its tasks; results lie in another one (see
`results`). `space` builds the app that `benchmarks/leaderboard/app.py` starts.
"""

from sgeval.board.results import Entry, Results
from sgeval.board.settings import Board, Task, read_board
from sgeval.board.standing import Standing, standing

__all__ = ["Board", "Entry", "Results", "Standing", "Task", "read_board", "standing"]
