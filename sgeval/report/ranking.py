"""One page over several systems: who is first, by how much, and what separates them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgeval import alignment, situation
from sgeval.comparison import TOLD_APART, numbered
from sgeval.errors import SgevalError
from sgeval.report.compare import (
    KINDS,
    Difference,
    KindShare,
    differences,
    kind_shares,
    obstacles,
    order,
    reference_predicates,
    signature_differences,
)
from sgeval.report.demo_model import HINT, demo_warning, is_demo
from sgeval.report.facts import first_only, scored_items, why_nothing
from sgeval.report.page import check_target, write_page
from sgeval.report.pictures import Drawing, Pictures, check_folder
from sgeval.report.tables import Said, said
from sgeval.report.tabular import p_text
from sgeval.report.text import cut, hundred, interval, metric_name, number, safe_link, share, spoken
from sgeval.runs import Run
from sgeval.summary import holm, paired
from sgeval.temporal import KEY as TEMPORAL

STATEMENTS = 3  # relations of one system shown on one pair


@dataclass(frozen=True)
class Row:
    """A line of the ranking."""

    rank: str
    name: str
    href: str | None
    score: str
    interval: str
    mean_score: str
    exact_match: str
    ref_score: str
    n_relations: str
    bar: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Statement:
    """One system against the next: `name` `words` `next_name` (`next_score`). `test`."""

    name: str
    words: str
    next_name: str
    next_score: str
    test: str


@dataclass(frozen=True)
class KindCell:
    """A kind of relation in one system: its share, number and mean score."""

    kind: str
    share: str
    n: int
    mean: str


@dataclass(frozen=True)
class DifferenceCard:
    """A pair of which systems said different things, as it is shown."""

    image_id: str
    gap: str
    drawing: Drawing
    label: str
    references: list[Said]
    systems: list[tuple[str, list[Said], int]]
    """(system, its first statements, how many more)."""


def render_ranking(
    runs: list[Run], out: Path, images: Path | None = None, links: Mapping[str, str] | None = None
) -> Path:
    """Write one page that ranks several systems and says what separates them; return its path.

    Runs with different signatures, pictures or references are listed with what differs, and not ranked. `images`: the
    folder of the pictures, where it is no longer the one of the runs. `links`: from a run's name to the relative
    address of its own report; any other address is left out. Raises `SgevalError` without a run, with a run of θ among
    them, when `out` is there and is no earlier page, and when `images` is no folder; `OSError` when `out` cannot be
    written.
    """
    if not runs:
        raise SgevalError("ranking: expected at least one run, got none")
    _check_metrics(runs)
    check_target(out)
    check_folder(images)
    hindered = obstacles(runs)
    if not hindered:
        runs = [runs[index] for index in order(runs)]
    names = labels(runs)
    data = {
        "names": names,
        "metric": metric_name(runs[0].metric) if len({run.metric for run in runs}) == 1 else "scores",
        "hindered": hindered,
        "signature_rows": [
            (cut(part), [cut(value) for value in values]) for part, values in signature_differences(runs)
        ],
        "rows": rows(runs, names, links or {}, ranked=not hindered),
        "statements": [] if hindered else statements(runs, names),
        "warning": next(filter(None, map(demo_warning, runs)), None),
        "hint": HINT if any(map(is_demo, runs)) else "",
        "without": [(name, why) for name, why in zip(names, map(why_nothing, runs), strict=True) if why],
        "first_only": "" if hindered else first_only(runs[0]),
        "with_references": all(run.rows.with_references for run in runs),
        "kinds": [] if hindered or len(runs) < 2 else kind_rows(runs, names),
        "differences": [] if hindered else cards(runs, names, images),
        "signatures": list(dict.fromkeys(str(run.result.get("signature", "")) for run in runs)),
        "several": len(runs) > 1,
    }
    return write_page("ranking.html", data, out)


def _check_metrics(runs: Sequence[Run]) -> None:
    """Refuse runs of other metrics: what separates systems is told of relations that were predicted and scored."""
    metrics = list(dict.fromkeys(run.metric for run in runs))
    for metric in (alignment.KEY, situation.KEY, TEMPORAL):
        if metric in metrics:
            got = ", ".join(metrics)
            raise SgevalError(
                f"ranking: expected runs that score predicted relations, got {got}; `sgeval report` takes one run of "
                f"{metric} at a time"
            )


def labels(runs: Sequence[Run]) -> list[str]:
    """The runs' names, those that occur more than once numbered."""
    return numbered([cut(run.name) for run in runs])


def rows(runs: Sequence[Run], names: Sequence[str], links: Mapping[str, str], ranked: bool = True) -> list[Row]:
    """The lines of the table, in the order of `runs`. Equal scores share a rank; without a ranking ranks are empty."""
    values = [number(run.result.get(run.metric)) for run in runs]
    tops = [number(run.result.get(f"{run.metric}_high")) for run in runs]
    longest = max((value for value in (*values, *tops) if value is not None), default=0.0) or 1.0

    def length(value: object) -> float | None:
        found = number(value)
        return None if found is None else round(min(max(100 * found / longest, 0.0), 100.0), 1)

    return [
        Row(
            str(1 + values.index(value)) if ranked and value is not None else "",
            name,
            safe_link(links.get(name, links.get(run.name))),
            hundred(value),
            interval(run.result.get(f"{run.metric}_low"), run.result.get(f"{run.metric}_high")),
            hundred(run.result.get("mean_score")),
            hundred(run.result.get("exact_match")),
            hundred(run.result.get("ref_relclipscore")),
            f"{int(number(run.result.get('n_relations')) or 0):,}",
            length(value) or 0.0,
            length(run.result.get(f"{run.metric}_low")),
            length(run.result.get(f"{run.metric}_high")),
        )
        for run, name, value in zip(runs, names, values, strict=True)
    ]


def statements(runs: Sequence[Run], names: Sequence[str]) -> list[Statement]:
    """How each system stands to the next one, for runs in the order of the ranking; undefined scores are left out."""
    found = []
    for index in range(len(runs) - 1):
        one, other = runs[index], runs[index + 1]
        if number(one.result.get(one.metric)) is not None and number(other.result.get(other.metric)) is not None:
            found.append((index, paired(one.sample(), other.sample(), [one.metric])[one.metric]))
    p_values = holm([pair.p_value for _, pair in found])
    return [_statement(runs, names, index, p_value) for (index, _), p_value in zip(found, p_values, strict=True)]


def _statement(runs: Sequence[Run], names: Sequence[str], index: int, p_value: float | None) -> Statement:
    value, lower = (float(run.result[run.metric]) for run in runs[index : index + 2])
    place = "is first" if index == 0 else "follows"
    words = f"{place} with {hundred(value)}, {hundred(value - lower)} points ahead of"
    if value == lower:
        words = f"has {hundred(value)}, the same score as"
    if p_value is None:
        test = "One picture is too few for a test."
    else:
        told = "tells them apart" if p_value <= TOLD_APART else "does not tell them apart"
        test = f"A paired test {told} (p {'' if p_value < 0.001 else '= '}{p_text(p_value)})."
    return Statement(names[index], words, names[index + 1], hundred(lower), test)


def kind_rows(runs: Sequence[Run], names: Sequence[str]) -> list[tuple[str, list[KindCell]]]:
    """Shares and means of each kind of relation that occurs, by system and over all; empty without a reference."""
    references = reference_predicates(runs)
    if not references:
        return []
    by_run = [scored_items(run) for run in runs]
    together = [item for items in by_run for item in items]
    table = [
        (name, _cells(kind_shares(items, references)))
        for name, items in zip([*names, "All systems"], [*by_run, together], strict=True)
    ]
    occurring = [index for index, cell in enumerate(table[-1][1]) if cell.n]
    return [(name, [cells[index] for index in occurring]) for name, cells in table]


def _cells(shares: Sequence[KindShare]) -> list[KindCell]:
    whole = sum(part.n for part in shares)
    return [KindCell(KINDS[part.kind], share(part.n, whole), part.n, hundred(part.mean)) for part in shares]


def cards(runs: Sequence[Run], names: Sequence[str], images: Path | None) -> list[DifferenceCard]:
    """The largest differences, drawn."""
    pictures = [Pictures(run, images) for run in runs]
    return [_card(row, names, pictures, runs[0].options.normalisation) for row in differences(runs)]


def _card(row: Difference, names: Sequence[str], pictures: Sequence[Pictures], normalisation: str) -> DifferenceCard:
    """One difference, drawn as the best relation has it: its subject is the pair's first object."""
    everything = [(position, item) for position, items in row.said for item in items]
    position, best = max(everything, key=lambda found: found[1].score or 0.0)
    first, second = best.pair or (row.first, row.second)
    subject, _, obj = spoken(best.subject, best.predicate, best.object, normalisation)
    names_of = {first: cut(subject), second: cut(obj)}
    references = [
        Said(names_of[ends[0]], cut(predicate), names_of[ends[1]], ends != best.pair)
        for ends, predicates in row.references
        for predicate in predicates
    ]
    systems = []
    for index, items in row.said:
        lines = [
            said(item, normalisation, score=item.score, reversed=item.pair != best.pair) for item in items[:STATEMENTS]
        ]
        systems.append((names[index], lines, len(items) - len(lines)))
    return DifferenceCard(
        cut(row.image_id),
        hundred(row.gap),
        pictures[position].draw(best, arrow=False),
        f"{names_of[first]}, {names_of[second]}",
        references,
        systems,
    )
