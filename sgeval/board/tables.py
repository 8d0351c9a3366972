"""The tables of a board as rows of cells, and which of them a reader wants to see."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from sgeval.board.pages import link_to
from sgeval.board.results import Results
from sgeval.board.settings import Board, Task
from sgeval.board.standing import SIZES, UNKNOWN_SIZE, Row, Standing, standing
from sgeval.report.text import NOTHING

ALL = "all"
WIDTHS = {
    "Rank": 70,
    "Tie": 60,
    "System": 170,
    "Page": 70,
    "Score": 80,
    "95 % interval": 145,
    "To the first": 215,
    "Why not ranked": 260,
    "Judge or model": 120,
    "Verbatim": 100,
    "Size, B": 80,
    "Team": 130,
    "Date": 115,
}
"""Pixels of a column by its heading."""
HEAD = ("System", "Page", "Score", "95 % interval")
TAIL = ("Verbatim", "Size, B", "Team", "Date")
NUMBERS = ("Rank", "Score", "Size, B", "Verbatim")


@dataclass(frozen=True)
class Wanted:
    """What a reader asks a table for."""

    search: str = ""
    """Words of a system or team."""
    size: str = ALL
    judge: str = ALL
    protocol: str = ALL

    def keeps(self, row: Row) -> bool:
        """Whether a row is asked for."""
        words = f"{row.entry.about.system} {row.entry.about.team}".casefold()
        return (
            all(word in words for word in self.search.casefold().split())
            and self.size in (ALL, row.size)
            and self.judge in (ALL, row.entry.judge)
            and self.protocol in (ALL, row.protocol)
        )


def headings(task: Task, *, is_apart: bool) -> list[str]:
    """The columns of a task's table."""
    named = [key.replace("_", " ") for key in task.also]
    if is_apart:
        return [*HEAD, "Why not ranked", "Judge or model", *named, *TAIL]
    return ["Rank", "Tie", *HEAD, *named, "To the first", *TAIL]


def kinds(task: Task, *, is_apart: bool) -> list[Any]:
    """How Gradio shows them. Only the link is HTML, and it is made of an id of ours."""
    texts = WIDTHS.keys() - {*NUMBERS}
    return [
        "html" if name == "Page" else "str" if name in texts else "number" for name in headings(task, is_apart=is_apart)
    ]


def widths(task: Task, *, is_apart: bool) -> list[str | int]:
    """Pixels of the columns."""
    return [WIDTHS.get(name, 30 + 9 * len(name)) for name in headings(task, is_apart=is_apart)]


def cells(rows: Sequence[Row], wanted: Wanted, *, is_apart: bool) -> list[list[Any]]:
    """The rows asked for, under `headings`."""
    return [_cells(row, is_apart) for row in rows if wanted.keeps(row)]


def table(task: Task, rows: Sequence[Row], wanted: Wanted, *, is_apart: bool) -> dict[str, Any]:
    """The same as Gradio takes it: sorted by the numbers, read with two decimals."""
    head, found = headings(task, is_apart=is_apart), cells(rows, wanted, is_apart=is_apart)
    shown = [[_shown(name, value) for name, value in zip(head, row, strict=True)] for row in found]
    return {"headers": head, "data": found, "metadata": {"display_value": shown, "styling": None}}


def _shown(name: str, value: Any) -> str:
    if value is None:
        return NOTHING
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if name == "Size, B" else f"{value:,.2f}"


def _cells(row: Row, is_apart: bool) -> list[Any]:
    entry, about = row.entry, row.entry.about
    link = link_to(entry.id, "open")
    head = [about.system, link, row.score, row.interval or NOTHING]
    copied = None if entry.copied is None else 100 * entry.copied
    tail = [copied, about.size, about.team or NOTHING, entry.date]
    if is_apart:
        return [*head, row.protocol, entry.judge or NOTHING, *row.beside, *tail]
    return [row.rank, row.tie, *head, *row.beside, row.behind, *tail]


def sizes(found: Standing) -> list[str]:
    """The groups of sizes that occur."""
    there = {row.size for row in found.rows()}
    return [name for name in (*SIZES, UNKNOWN_SIZE) if name in there]


@dataclass
class Tables:
    """The standing of every task, worked out when results come and handed out at once."""

    board: Board
    results: Results
    _found: dict[str, Standing] = field(default_factory=dict)
    _busy: dict[str, Lock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._busy = {name: Lock() for name in self.board.tasks}
        for name in self.board.tasks:
            self.renew(name)

    def renew(self, task: str) -> Standing:
        """Work out the standing of a task anew. Readers see the old one until then."""
        with self._busy[task]:
            self._found[task] = standing(self.board.tasks[task], self.results.entries(task))
            return self._found[task]

    def of(self, task: str) -> Standing:
        """The standing of a task."""
        return self._found[task]
