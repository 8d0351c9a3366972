"""What is taken for what: the counts, and their heat map as plain numbers for a template."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
    """An annotated label: how often it came, how often it was got right, and what was taken for it in the rest."""

    truth: str
    n: int
    right: int
    taken: Mapping[str, int]


@dataclass(frozen=True)
class Told:
    """The words of a heat map: what is counted, what it means to be right, and to be taken for something (after its name)."""

    counted: str
    right: str
    taken: str


RANKED = Told("ranked relations", "nothing scored higher", "preferred")
SAID = Told("relations with a reference", "said", "said instead")
PREDICTED = Told("annotated", "right", "predicted")


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


def confusion(items: Sequence[Item], normalisation: Normalisation) -> list[Row]:
    """The annotated predicates of ranked relations, each with what was preferred to it.

    A relation is counted once: under the predicate that scored highest, or as right when none scored higher.
    """
    return tally((predicate_key(item.predicate, normalisation), next(iter(item.confusers), None)) for item in items)


def tally(pairs: Iterable[tuple[str, str | None]], most: int = MOST) -> list[Row]:
    """The most frequent truths of (truth, what it was taken for, `None` where it was right), then by alphabet.

    >>> [(row.truth, row.n, row.right, dict(row.taken)) for row in tally([("on", None), ("in", "on"), ("on", "in")])]
    [('on', 2, 1, {'in': 1}), ('in', 1, 0, {'on': 1})]
    """
    taken: dict[str, Counter[str | None]] = {}
    for truth, other in pairs:
        taken.setdefault(truth, Counter())[other] += 1
    chosen = sorted(taken, key=lambda name: (-taken[name].total(), name))[:most]
    return [
        Row(name, taken[name].total(), taken[name][None], {key: n for key, n in taken[name].items() if key is not None})
        for name in chosen
    ]


def heat_map(rows: Sequence[Row], told: Told) -> HeatMap | None:
    """The drawing; `None` where all is right. A last column takes what was taken and has no row."""
    names = [row.truth for row in rows]
    others = [sum(n for name, n in row.taken.items() if name not in names) for row in rows]
    if not any(row.n > row.right for row in rows):
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
        for cell in _cells(row, rest, names, left, top + index * SIDE, told)
    ]
    full = [*map(cut, names), "all that have no row of their own"]
    return HeatMap(
        tuple(
            Label(left - number_width - 2, y, text, name)
            for y, (text, _), name in zip(centres, labels, full[: len(rows)], strict=True)
        ),
        tuple(Label(left - 8, y, text, told.counted) for y, text in zip(centres, numbers, strict=True)),
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


def _cells(row: Row, rest: int, names: Sequence[str], left: float, y: float, told: Told) -> list[Cell]:
    """The squares of a row that hold something."""
    found = [(name, row.taken.get(name, 0), False) for name in names] + [(OTHERS, rest, False)]
    here = names.index(row.truth)
    found[here] = (row.truth, row.right, True)
    cells = []
    for index, (name, n, is_truth) in enumerate(found):
        if not n:
            continue
        part = n / row.n
        verb = told.right if is_truth else f"{cut(name)} {told.taken}"
        words = f"{cut(row.truth)}: {verb} in {n:,} of {row.n:,} ({share(n, row.n)})"
        opacity = round(FAINTEST + (STRONGEST - FAINTEST) * part, 3)
        text = f"{100 * part:.0f}" if part >= 0.005 else ""
        cells.append(Cell(round(left + index * SIDE, 1), round(y, 1), opacity, text, words, is_truth))
    return cells
