"""One page over several systems of a metric: who is first, by how much, what measures something else, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgeval import alignment, relclip, situation, temporal
from sgeval.comparison import Comparison, Group, Line, compare
from sgeval.report import role_values
from sgeval.report import temporal as temporal_page
from sgeval.report.compare import (
    KINDS,
    Difference,
    KindShare,
    differences,
    kind_shares,
    reference_predicates,
)
from sgeval.report.demo_model import HINT, demo_warning, is_demo
from sgeval.report.facts import first_only, scored_items, why_nothing
from sgeval.report.page import check_target, write_page
from sgeval.report.pictures import Drawing, Pictures, check_folder
from sgeval.report.tables import Said, said
from sgeval.report.tabular import cells, ends_text, notes, p_text, times, verdict
from sgeval.report.text import cut, hundred, metric_name, number, safe_link, share, spoken
from sgeval.runs import Run

STATEMENTS = 3  # relations of one system shown on one pair
OF_RELATIONS = tuple(relclip.KEYS.values())
"""The metrics of predicted relations, of which the page can say what separates systems."""
MEANS = {"Mean score": "mean_score", "Exact match": "exact_match", "Reference score": "ref_relclipscore"}
BESIDE: Mapping[str, Mapping[str, str]] = {
    **{key: MEANS for key in OF_RELATIONS},
    alignment.KEY: {"Chance level": "chance_theta", "Precision": "precision", "Direction": "direction_accuracy"},
    situation.KEY: {
        "Value-two": "value_two",
        "Value-all": "value_all",
        "Role accuracy": "role_accuracy",
        "Verb accuracy": "verb_accuracy",
    },
    temporal.KEY: {
        "Strict": "triplet_accuracy_strict",
        "Relation": "relation_accuracy",
        "Object": "object_accuracy",
        "Attribute": "attribute_accuracy",
        "Decided": "triplet_coverage",
    },
}
"""Heading and key of what stands beside the headline, by metric."""
HEADLINES: Mapping[str, str] = {situation.KEY: "Value", temporal.KEY: "Triplet accuracy"}
"""What the headline is called, where it is not called like the metric."""


@dataclass(frozen=True)
class Row:
    """A system's line: its score and how it stands to the one that its group is compared with."""

    rank: str
    name: str
    href: str | None
    score: str
    interval: str
    bar: float
    low: float | None
    high: float | None
    difference: str
    p_value: str
    detectable: str
    beside: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Systems that may be ranked together, and where their protocol is not that of the first table."""

    rows: tuple[Row, ...]
    differs: tuple[tuple[str, str, str], ...]
    """Part, its value in the first table, its value here."""
    lead: tuple[str, str, str, str] | None
    """One system, what of it, the next one, the test."""
    verdict: str


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
    """Write one page that compares systems by the headline of their metric; return its path.

    The numbers are those of `sgeval.comparison.compare`: runs of another protocol stand apart, with what differs, and are
    not ranked with the others. Where relations were predicted, the page also says what separates the systems of the
    first protocol. `images`: the folder of the pictures, where it is no longer the one of the runs. `links`: from a
    run's name to the relative address of its own report; any other address is left out. Raises `SgevalError` as
    `compare` does, when `out` is there and is no earlier page, and when `images` is no folder; `OSError` when `out`
    cannot be written.
    """
    check_target(out)
    check_folder(images)
    found = compare(runs)
    metric, first = runs[0].metric, best_first(found.groups[0], runs)
    with_words = metric in OF_RELATIONS and len(first) > 1
    names = [cut(name) for name, _ in first]
    ranked = [run for _, run in first]
    data = {
        "metric": metric_name(metric),
        "heading": HEADLINES.get(metric, metric_name(metric)),
        "scale": "× 100" if found.factor != 1 else "percent",
        "unit": found.unit,
        "n_units": found.n_units,
        "beside": list(BESIDE[metric]),
        "tables": [table(found, group, runs, links or {}) for group in found.groups],
        "n_systems": len(runs),
        "notes": notes(found),
        "warning": next(filter(None, map(demo_warning, runs)), None),
        "hint": HINT if any(map(is_demo, runs)) else "",
        "without": [(cut(run.name), why) for run in runs if (why := why_no_score(run))],
        "first_only": role_values.first_only(runs[0]) if metric == situation.KEY else first_only(runs[0]),
        "of_relations": metric in OF_RELATIONS,
        "with_references": all(getattr(run.rows, "with_references", True) for run in runs),
        "with_words": with_words,
        "kinds": kind_rows(ranked, names) if with_words else [],
        "differences": cards(ranked, names, images) if with_words else [],
        "signatures": list(dict.fromkeys(run.signature for run in runs)),
    }
    return write_page("ranking.html", data, out)


def best_first(group: Group, runs: Sequence[Run]) -> list[tuple[str, Run]]:
    """Names and runs of a group in the order of the ranking."""
    by_name = dict(zip(group.names, group.members, strict=True))
    lines = next(iter(group.lines.values()))
    return [(line.name, runs[by_name[line.name]]) for line in lines]


def why_no_score(run: Run) -> str:
    """Why a run has no score, in words; empty for one that has."""
    if run.metric == temporal.KEY:
        return temporal_page.headline(run)["why"]
    return "" if run.metric == situation.KEY else why_nothing(run)


def table(found: Comparison, group: Group, runs: Sequence[Run], links: Mapping[str, str]) -> Table:
    """A group as the page shows it. Bars of all groups have one scale."""
    (key,) = found.keys
    lines = [line for each in found.groups for line in each.lines[key]]
    longest = max((end for line in lines for end in (line.value, line.interval.high) if end is not None), default=0.0)

    def length(value: float | None) -> float | None:
        return None if value is None else round(min(max(100 * value / (longest or 1.0), 0.0), 100.0), 1)

    rows = []
    for (name, run), line in zip(best_first(group, runs), group.lines[key], strict=True):
        rank, _, _, difference, p_value, detectable = cells(line, found.factor)
        rows.append(
            Row(
                rank,
                cut(name),
                safe_link(links.get(name, links.get(run.name))),
                times(line.value, found.factor),
                ends_text(line.interval, found.factor),
                length(line.value) or 0.0,
                length(line.interval.low),
                length(line.interval.high),
                difference,
                p_value,
                detectable,
                tuple(times(number(run.result.get(of)), found.factor) for of in BESIDE[run.metric].values()),
            )
        )
    differs = tuple((cut(part), cut(there), cut(here)) for part, there, here in group.differs)
    return Table(tuple(rows), differs, lead(found, group.lines[key]), verdict(group, key))


def lead(found: Comparison, lines: Sequence[Line]) -> tuple[str, str, str, str] | None:
    """The first of a group beside the second: both names, what is said of them, and of the test."""
    if len(lines) < 2 or lines[1].against is None:
        return None
    (best, second), factor, against = lines[:2], found.factor, lines[1].against
    words = f"is first with {times(best.value, factor)}, {times(-(against.found.difference or 0.0), factor)} points ahead of"
    if best.value == second.value:
        words = f"has {times(best.value, factor)}, the same score as"
    if against.p_adjusted is None:
        test = f"One {found.unit} is too few for a test."
    else:
        told = "tells them apart" if against.is_told_apart else "does not tell them apart"
        test = f"A paired test {told} (p {'' if against.p_adjusted < 0.001 else '= '}{p_text(against.p_adjusted)})."
    return cut(best.name), words, cut(second.name), f"({times(second.value, factor)}). {test}"


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
