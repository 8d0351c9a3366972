"""The bundle: a data set repository of the Hub as a folder, with card, tasks, specs and published numbers.

`build` makes one, `check` finds what is wrong with one, `push` uploads it, `results` writes what a run earned in it.
The one that ships with sgeval is in `benchmarks/sgeval_bundle`.
"""

from sgeval.bundle.building import build
from sgeval.bundle.checking import check
from sgeval.bundle.pushing import push
from sgeval.bundle.results import entry_of, write_results
from sgeval.bundle.specs import Table, Task, published, shelf, tables, tasks

__all__ = [
    "Table",
    "Task",
    "build",
    "check",
    "entry_of",
    "published",
    "push",
    "shelf",
    "tables",
    "tasks",
    "write_results",
]
