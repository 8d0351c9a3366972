"""Which predicate is preferred to which: the counts, and their heat map as plain numbers for a template."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sgeval.alignment import Item
from sgeval.phrases import Normalisation
from sgeval.report.draw import fitting
from sgeval.report.text import cut, share
from sgeval.vocabulary import predicate_key

MOST = 15  # predicates that have a row and a column
SIDE = 38.0  # of a cell
ROOM = 150.0  # for a label
OTHERS = "all others"
SLANT = math.sqrt(0.5)  # of the columns' labels, 45 degrees
FAINTEST, STRONGEST = 0.1, 0.85  # opacity of a cell of next to nothing, and of a whole row


@dataclass(frozen=True)
class Row:
    """An annotated predicate: its relations, those that nothing outscored, and what stood above all in the rest."""

    predicate: str
    n: int
    best: int
    preferred: Mapping[str, int]


@dataclass(frozen=True)
class Label:
    """A label that fits, where it stands, and what it is in full."""

    x: float
    y: float
    text: str
    words: str


@dataclass(frozen=True)
class Cell:
    """A square: its place, the strength of its colour, its share in whole percent (empty below one half), its words."""

    x: float
    y: float
    opacity: float
    text: str
    words: str
    is_truth: bool


@dataclass(frozen=True)
class HeatMap:
    """Squares and labels in a view of `width` x `height`."""

    rows: tuple[Label, ...]
    numbers: tuple[Label, ...]
    columns: tuple[Label, ...]
    cells: tuple[Cell, ...]
    left: float
    top: float
    width: float
    height: float
    side: float = SIDE


def confusion(items: Sequence[Item], normalisation: Normalisation, most: int = MOST) -> list[Row]:
    """The most frequent annotated predicates of ranked relations, then by alphabet, each with what was preferred to it.

    A relation is counted once: under the predicate that scored highest, or as best when none scored higher.
    """
    totals: Counter[str] = Counter()
    preferred: dict[str, Counter[str]] = {}
    for item in items:
        truth = predicate_key(item.predicate, normalisation)
        totals[truth] += 1
        preferred.setdefault(truth, Counter()).update(item.confusers[:1])
    chosen = sorted(totals, key=lambda name: (-totals[name], name))[:most]
    return [Row(name, totals[name], totals[name] - preferred[name].total(), preferred[name]) for name in chosen]


def heat_map(rows: Sequence[Row]) -> HeatMap | None:
    """The drawing; `None` where no relation was outscored. A last column takes the preferred predicates without a row."""
    names = [row.predicate for row in rows]
    others = [sum(n for name, n in row.preferred.items() if name not in names) for row in rows]
    if not any(row.n > row.best for row in rows):
        return None
    labels = [fitting(name, ROOM) for name in names]
    heads = [*labels, fitting(OTHERS, ROOM)] if any(others) else labels
    numbers = [f"{row.n:,}" for row in rows]
    number_width = max(fitting(text, ROOM)[1] for text in numbers) + 6
    left = max(width for _, width in labels) + number_width
    top = max(width for _, width in heads) * SLANT + 14
    reach = max((index + 0.5) * SIDE + width * SLANT for index, (_, width) in enumerate(heads))
    centres = [top + (index + 0.65) * SIDE for index in range(len(rows))]
    cells = [
        cell
        for index, (row, rest) in enumerate(zip(rows, others, strict=True))
        for cell in _cells(row, rest, names, left, top + index * SIDE)
    ]
    full = [*map(cut, names), "predicates that have no row of their own"]
    return HeatMap(
        tuple(
            Label(left - number_width - 2, y, text, name)
            for y, (text, _), name in zip(centres, labels, full[: len(rows)], strict=True)
        ),
        tuple(Label(left - 8, y, text, "ranked relations") for y, text in zip(centres, numbers, strict=True)),
        tuple(
            Label(left + (index + 0.6) * SIDE, top - 7, text, name)
            for index, ((text, _), name) in enumerate(zip(heads, full[: len(heads)], strict=True))
        ),
        tuple(cells),
        round(left, 1),
        round(top, 1),
        math.ceil(max(left + len(heads) * SIDE, left + reach) + 4),
        math.ceil(top + len(rows) * SIDE + 2),
    )


def _cells(row: Row, rest: int, names: Sequence[str], left: float, y: float) -> list[Cell]:
    """The squares of a row that hold something."""
    found = [(name, row.preferred.get(name, 0), False) for name in names] + [(OTHERS, rest, False)]
    here = names.index(row.predicate)
    found[here] = (row.predicate, row.best, True)
    cells = []
    for index, (name, n, is_truth) in enumerate(found):
        if not n:
            continue
        part = n / row.n
        verb = "nothing scored higher" if is_truth else f"{cut(name)} preferred"
        words = f"{cut(row.predicate)}: {verb} in {n:,} of {row.n:,} ({share(n, row.n)})"
        opacity = round(FAINTEST + (STRONGEST - FAINTEST) * part, 3)
        text = f"{100 * part:.0f}" if part >= 0.005 else ""
        cells.append(Cell(round(left + index * SIDE, 1), round(y, 1), opacity, text, words, is_truth))
    return cells
