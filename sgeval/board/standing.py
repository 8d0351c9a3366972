"""Who stands where: the entries of a task, ranked by `sgeval.comparison`, and those of other protocols apart."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sgeval import __version__
from sgeval.board.results import Entry
from sgeval.board.settings import Task
from sgeval.comparison import Comparison, Line, grouped, rank
from sgeval.errors import counted
from sgeval.protocol import differing_parts
from sgeval.report.tabular import adjustment, cells, ends_text
from sgeval.report.text import NOTHING, number
from sgeval.runs import FORMS
from sgeval.summary import ENDS, Interval

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
    are not mixed. All others stand apart, and no test of theirs counts among those that p-values are adjusted for.
    """
    form = FORMS[task.metric]
    if not entries:
        return Standing(task, (), (), "No results yet.", form.unit, 0)
    systems = [entry.contender for entry in entries]
    groups = grouped([system.protocol for system in systems])
    first = _ranked(entries, groups)
    apart: list[Row] = []
    for group in groups:
        if group is not first:
            differs = differing_parts(systems[first[0]].protocol, systems[group[0]].protocol) if first else None
            rows = [_row(task, entries[at], entries[at].differs if differs is None else differs) for at in group]
            apart += sorted(rows, key=lambda row: -(row.score or 0.0))
    ranked: list[Row] = []
    found = None
    if first:
        found = rank([systems[at] for at in first], (task.key,))
        (whole,) = found.groups
        by_name = {name: entries[first[at]] for name, at in zip(whole.names, whole.members, strict=True)}
        lines = whole.lines[task.key]
        often = Counter(line.rank for line in lines)
        ranked = [
            _ranked_row(task, by_name[line.name], line, line.rank is not None and often[line.rank] > 1)
            for line in lines
        ]
    n_units = len(systems[0].units)
    return Standing(task, tuple(ranked), tuple(apart), _notes(found, bool(apart)), form.unit, n_units)


def _may_rank(entry: Entry) -> bool:
    return not entry.differs and not entry.repeats_references


def _ranked(entries: Sequence[Entry], groups: Sequence[Sequence[int]]) -> Sequence[int]:
    """Positions of the entries that are ranked: those of the protocol of the newest entry that may be; of this version of
    sgeval, if there are any."""
    able = [at for at, entry in enumerate(entries) if _may_rank(entry)]
    here = [at for at in able if entries[at].protocol.get("version") == __version__]
    newest = (here or able)[-1:]
    return next((group for group in groups if {*newest} & {*group}), ())


def _notes(found: Comparison | None, has_apart: bool) -> str:
    """What the numbers of a table rest on."""
    first = "" if has_apart else "Every result is of the ranked protocol. "
    if found is None or not found.n_tests:
        return first
    return (
        f"{first}To the first: the difference, with a 95 % bootstrap interval ({found.replicates:,} replicates over "
        f"{counted(found.n_units, found.unit)}). Ties: a two-sided sign-flip test ({found.flips:,} flips), "
        f"{adjustment(found)}."
    )


def _row(task: Task, entry: Entry, differs: tuple[tuple[str, str, str], ...]) -> Row:
    """An entry that is not ranked, or not yet."""
    system, factor = entry.contender, FORMS[task.metric].factor
    ends = Interval(**{end: system.value(f"{task.key}_{end}") for end in ENDS})
    beside = tuple(_times(number(entry.result.get(key)), _factor(key, factor)) for key in task.also)
    score = _times(system.value(task.key), factor)
    return Row(entry, None, "", score, ends_text(ends, factor), NOTHING, NOTHING, beside, differs)


def _ranked_row(task: Task, entry: Entry, line: Line, is_shared: bool) -> Row:
    factor, against = FORMS[task.metric].factor, line.against
    _, _, _, behind, p_value, _ = cells(line, factor)
    is_like_first = against is not None and against.p_adjusted is not None and not against.is_told_apart
    tie = "=" if is_shared else "≈" if is_like_first else ""
    interval = ends_text(line.interval, factor)
    row = _row(task, entry, ())
    return replace(row, rank=line.rank or 1, tie=tie, interval=interval, behind=behind, p_value=p_value)


def _factor(key: str, factor: float) -> float:
    return 1.0 if key.startswith("n_") else factor


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else round(factor * value, 2) + 0.0
