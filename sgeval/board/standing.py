"""Who stands where: the entries of a task, ranked by `sgeval.comparison`, and those of other protocols apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from sgeval import __version__
from sgeval.board.results import Entry
from sgeval.board.settings import Task
from sgeval.comparison import Comparison, Line, grouped, rank
from sgeval.errors import counted
from sgeval.report.tabular import ends_text, p_text, times
from sgeval.report.text import NOTHING, number
from sgeval.runs import FORMS

SIZES = {"up to 1 B": (0.0, 1.0), "1 to 10 B": (1.0, 10.0), "above 10 B": (10.0, float("inf"))}
"""Groups of sizes in billions of parameters: above the first end, up to the second."""
UNKNOWN_SIZE = "not told"
RANKED = "ranked"


@dataclass(frozen=True)
class Row:
    """An entry in a table."""

    entry: Entry
    rank: int | None
    """`None` for an entry of another protocol."""
    tie: str
    """`=` where others share the rank, `≈` where the test does not tell the entry from the first, else empty."""
    score: float | None
    """As papers print it."""
    interval: str
    behind: str
    """The difference to the first, with its interval."""
    p_value: str
    beside: tuple[float | None, ...]
    """The values under the task's `also`, as papers print them."""
    differs: tuple[tuple[str, str, str], ...]
    """Of an entry that is not ranked, what sets it apart: part, the ranked value, its own."""

    @property
    def protocol(self) -> str:
        """`ranked`, or what differs: `judge exact (ranked: wordnet)`."""
        if self.rank is not None:
            return RANKED
        words = (
            f"{name} {here or 'none'}" + (f" (ranked: {there})" if there else "") for name, there, here in self.differs
        )
        return ", ".join(words)

    @property
    def size(self) -> str:
        """The group of `SIZES` that the model is of."""
        size = self.entry.about.size
        return UNKNOWN_SIZE if size is None else next(name for name, (low, high) in SIZES.items() if low < size <= high)


@dataclass(frozen=True)
class Standing:
    """The table of a task."""

    task: Task
    ranked: tuple[Row, ...]
    apart: tuple[Row, ...]
    """Those that measure something else, best first within a protocol."""
    notes: str
    """How differences and ties were found."""
    unit: str
    n_units: int

    def rows(self) -> tuple[Row, ...]:
        """Both."""
        return (*self.ranked, *self.apart)

    def find(self, name: str) -> Row | None:
        """The row of an entry's id."""
        return next((row for row in self.rows() if row.entry.id == name), None)

    def judges(self) -> list[str]:
        """The judges or scoring models that occur."""
        return list(dict.fromkeys(row.entry.judge for row in self.rows() if row.entry.judge))

    def protocols(self) -> list[str]:
        """The protocols that occur, the ranked one first."""
        return list(dict.fromkeys(row.protocol for row in self.rows()))


def standing(task: Task, entries: Sequence[Entry]) -> Standing:
    """Rank the entries of a task as `sgeval compare` does: same groups, same test against the first, same ranks.

    The ranked group is the one whose protocol is the task's, by the newest sgeval that scored any: numbers of two versions
    are not mixed. All others stand apart.
    """
    form = FORMS[task.metric]
    ordered = _ranked_first(entries)
    if not ordered:
        return Standing(task, (), (), "No results yet.", form.unit, 0)
    found = rank([entry.contender for entry in ordered], (task.key,))
    ranked: list[Row] = []
    apart: list[Row] = []
    for place, group in enumerate(found.groups):
        by_name = {name: ordered[at] for name, at in zip(group.names, group.members, strict=True)}
        is_ranked = place == 0 and _may_rank(by_name[group.names[0]])
        ranks = [line.rank for line in group.lines[task.key]]
        for line in group.lines[task.key]:
            entry = by_name[line.name]
            differs = () if is_ranked else group.differs or entry.differs
            shared = is_ranked and line.rank is not None and ranks.count(line.rank) > 1
            (ranked if is_ranked else apart).append(_row(task, entry, line, found, differs, is_ranked, shared))
    return Standing(task, tuple(ranked), tuple(apart), _notes(found, bool(apart)), form.unit, found.n_units)


def _notes(found: Comparison, has_apart: bool) -> str:
    """What the numbers of a table rest on."""
    first = "" if has_apart else "Every result is of the ranked protocol. "
    if not found.n_tests:
        return first
    return (
        f"{first}To the first: the difference, with a 95 % bootstrap interval ({found.replicates:,} replicates over "
        f"{counted(found.n_units, found.unit)}). Ties: a two-sided sign-flip test, adjusted for "
        f"{counted(found.n_tests, 'test')} (Holm)."
    )


def _may_rank(entry: Entry) -> bool:
    return not entry.differs and not entry.repeats_references


def _ranked_first(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that are ranked before all others: those of one protocol, of the newest entry that may be ranked."""
    able = [entry for entry in entries if _may_rank(entry)]
    newest = next((entry for entry in reversed(able) if entry.protocol.get("version") == __version__), None)
    newest = newest or (able[-1] if able else None)
    if newest is None:
        return list(entries)
    groups = grouped([entry.contender.protocol for entry in entries])
    at = next(position for position, entry in enumerate(entries) if entry is newest)
    first = next(group for group in groups if at in group)
    rest = [position for group in groups if group is not first for position in group]
    return [entries[position] for position in (*first, *rest)]


def _row(
    task: Task,
    entry: Entry,
    line: Line,
    found: Comparison,
    differs: tuple[tuple[str, str, str], ...],
    is_ranked: bool,
    is_shared: bool,
) -> Row:
    against = line.against if is_ranked else None
    pair = against.found if against else None
    difference = NOTHING
    if pair is not None:
        sign = "+" if (pair.difference or 0) > 0 else ""
        difference = " ".join(
            filter(None, (sign + times(pair.difference, found.factor), ends_text(pair.interval, found.factor)))
        )
    tie = "=" if is_shared else "≈" if against and against.p_holm is not None and not against.is_told_apart else ""
    return Row(
        entry,
        (line.rank or 1) if is_ranked else None,
        tie,
        _times(line.value, found.factor),
        ends_text(line.interval, found.factor),
        difference,
        p_text(against.p_holm) if against else NOTHING,
        tuple(_times(number(entry.result.get(key)), _factor(key, found.factor)) for key in task.also),
        differs,
    )


def _factor(key: str, factor: float) -> float:
    return 1.0 if key.startswith("n_") else factor


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else round(factor * value, 2) + 0.0
