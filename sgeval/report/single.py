"""The report of one run: what it scored, where it did well and badly, what was left out, how to repeat it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sgeval.phrases import canonical
from sgeval.relclip import Item, box_tables, predicate_table
from sgeval.report import words
from sgeval.report.draw import histogram
from sgeval.report.facts import WHY_UNDEFINED, scored_items, undefined_pictures
from sgeval.report.heat import SAID, heat_map, tally
from sgeval.report.page import check_target, write_page
from sgeval.report.pictures import Drawing, Pictures
from sgeval.report.tables import (
    PREDICATES,
    WHOLE,
    ConfusedRow,
    Reason,
    Said,
    ScoreRow,
    common,
    other_text,
    said,
    score_row,
)
from sgeval.report.text import agreed, cut, hundred, metric_name, number, share, spoken
from sgeval.runs import Run

EXTREMES = 6  # best and worst relations shown
CONFUSED = 20  # triplets listed


@dataclass(frozen=True)
class GroupRow:
    """Relations of a predicate or of another group: how many, their mean ×100, its bar in percent of the longest."""

    group: str
    n: int
    mean: str
    bar: float
    meaning: str = ""


@dataclass(frozen=True)
class Card:
    """A relation as it is shown: the crop, what was said of it, what it scored."""

    image_id: str
    said: Said
    references: str
    """The reference's predicates; empty when the pair has none."""
    text: str
    """The text that was scored, where a template makes it another than the three words."""
    drawing: Drawing


def render_single(run: Run, out: Path, images: Path | None = None) -> Path:
    """The page of a run of RelCLIPScore or a relative. As `render_report`."""
    check_target(out)
    best, worst = extremes(run)
    pictures = Pictures(run, images)
    predicates, confused, both = predicate_rows(run), confused_rows(run), compared(run)
    counts = words.GOLD_COUNTS if run.options.pairs == "gold" else words.RELCLIP_COUNTS
    data = common(run, counts, pictures_left_out(run), pictures) | {
        "scores": score_rows(run),
        "histogram": histogram(scores(run)),
        "best": [card(run, item, pictures) for item in best],
        "worst": [card(run, item, pictures) for item in worst],
        "with_references": run.rows.with_references,
        "predicates": predicates[:PREDICATES],
        "tail": predicates[PREDICATES:],
        "n_compared": len(both),
        "n_other": sum(item.group != truth for truth, item in both),
        "heat": heat_map(tally((truth, None if item.group == truth else item.group) for truth, item in both), SAID),
        "confused": confused[:CONFUSED],
        "n_confused": len(confused),
        **box_rows(run),
    }
    return write_page("report.html", data, out)


def scores(run: Run) -> list[float]:
    """The scores of the scored relations."""
    return [item.score for item in scored_items(run) if item.score is not None]


def score_rows(run: Run) -> list[ScoreRow]:
    """The table of scores, the headline first. What is absent or undefined has a dash and a word why."""
    result = run.result
    penalty = words.PENALTIES.get(run.options.penalty, "")
    rows = [score_row(result, run.metric, metric_name(run.metric), f"Mean over pictures, {penalty}.")]
    of_pairs = words.OF_GOLD_PAIRS if run.options.pairs == "gold" else {}
    for key, meaning in {**words.SCORES, **of_pairs}.items():
        why = _why_absent(run, key) if number(result.get(key)) is None else ""
        rows.append(score_row(result, key, words.SCORE_NAMES[key], f"{why} {meaning}".strip()))
    return rows


def _why_absent(run: Run, key: str) -> str:
    if key in words.WITH_REFERENCE and not run.rows.with_references:
        return "Not there: the run has no references."
    if key == "ref_relclipscore" and run.metric != "relclipscore":
        return "Not there: this model's scores are no cosines."
    if key in words.WITH_REFERENCE:
        return "Undefined: no scored relation has a reference on its pair."
    if run.options.pairs == "gold" and key in words.OF_GOLD_PAIRS:
        return "Undefined: no reference relates a pair of objects with boxes."
    if key == "mean_score_relations":
        return "Undefined: no relation was scored."
    if key == "pair_coverage":
        return "Undefined: no picture has two objects."
    return "Undefined: no picture has a defined score."


def predicate_rows(run: Run) -> list[GroupRow]:
    """Number and mean of the scored relations by predicate, most frequent first."""
    return _bars(predicate_table(run.rows), {})


def box_rows(run: Run) -> dict[str, list[GroupRow]]:
    """The same by size ratio and by distance of the two boxes."""
    return {by: _bars(table, words.SLICES[by]) for by, table in box_tables(run.rows).items()}


def _bars(table: Sequence[Mapping[str, object]], meanings: Mapping[str, str]) -> list[GroupRow]:
    rows = [(str(row["group"]), int(str(row["n"])), number(row["mean"])) for row in table]
    longest = max((mean or 0.0 for _, _, mean in rows), default=0.0) or 1.0
    return [
        GroupRow(cut(group), n, hundred(mean), round(100 * (mean or 0.0) / longest, 1), meanings.get(group, ""))
        for group, n, mean in rows
    ]


def compared(run: Run) -> list[tuple[str, Item]]:
    """The scored relations whose pair has a reference, each with the predicate it should have: its own where the reference
    has that, else the first of the reference."""
    found = []
    for item in scored_items(run):
        if item.ref_predicates:
            gold = [canonical(predicate) for predicate in item.ref_predicates]
            found.append((item.group if item.group in gold else gold[0], item))
    return found


def confused_rows(run: Run) -> list[ConfusedRow]:
    """Triplets of the reference of which something else was said, most often first."""
    totals: Counter[tuple[str, str, str]] = Counter()
    taken: Counter[tuple[str, str, str, str]] = Counter()
    for truth, item in compared(run):
        subject, _, obj = spoken(item.subject, item.predicate, item.object, run.options.normalisation)
        totals[subject, truth, obj] += 1
        taken[subject, truth, obj, item.group] += item.group != truth
    order = sorted(((-n, key) for key, n in taken.items() if n))
    return [
        ConfusedRow(
            Said(cut(subject), cut(truth), cut(obj)),
            cut(other),
            -n,
            totals[subject, truth, obj],
            share(-n, totals[subject, truth, obj]),
        )
        for n, (subject, truth, obj, other) in order
    ]


def extremes(run: Run, each: int = EXTREMES) -> tuple[list[Item], list[Item]]:
    """The best and the worst scored relations, the most extreme first; none is in both."""
    ranked = sorted(scored_items(run), key=lambda item: (-(item.score or 0.0), item.image_id, item.index))
    best = ranked[: min(each, (len(ranked) + 1) // 2)]
    return best, ranked[len(best) :][::-1][:each]


def card(run: Run, item: Item, pictures: Pictures) -> Card:
    """The card of a relation, with its words as they were scored."""
    normalisation = run.options.normalisation
    return Card(
        cut(item.image_id),
        said(item, normalisation, score=item.score),
        cut(", ".join(item.ref_predicates)),
        other_text(item, normalisation),
        pictures.draw(item),
    )


def pictures_left_out(run: Run) -> list[Reason]:
    """The pictures without a defined score, and those that the predictions lack, with the reason."""
    undefined = undefined_pictures(run)
    rows = []
    for row in run.rows.images:
        why = agreed(WHY_UNDEFINED[undefined[row.image_id]], 1) if row.image_id in undefined else ""
        if row.status == "missing":
            why = ", ".join(filter(None, ("is not in the predictions", why or "counts as 0")))
        if why:
            rows.append((row.image_id, -1, WHOLE, row.reason or why))
    return rows
