"""The report of one run of θ: how well the model ranks the annotated predicates, what it confuses, and where."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgeval import alignment
from sgeval.alignment import Item
from sgeval.report import words
from sgeval.report.draw import Measured, Scale, scale
from sgeval.report.facts import scored_items
from sgeval.report.heat import RANKED, confusion, heat_map
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
from sgeval.report.text import NOTHING, cut, hundred, interval, number, share
from sgeval.runs import Run

SHOWN = 6  # relations of each kind that have a card
CONFUSED = 20  # confused triplets listed
HALF = "50.00"


@dataclass(frozen=True)
class SliceRow:
    """A group of relations: its measures ×100, and of how many relations they are."""

    group: str
    meaning: str
    n: int
    theta: str
    chance: str
    interval: str
    precision: str
    direction: str
    n_direction: int


@dataclass(frozen=True)
class Card:
    """A relation that the model got wrong: what was annotated, what was preferred, and the rank of the truth."""

    image_id: str
    annotated: Said
    preferred: Said | None
    """With the predicate that scored highest, if one scored higher."""
    more: int
    """Further predicates that scored higher."""
    swapped: Said | None
    rank: str
    text: str
    drawing: Drawing


def render_theta(run: Run, out: Path, images: Path | None = None) -> Path:
    """The page of a run of θ. As `render_report`."""
    check_target(out)
    pictures = Pictures(run, images)
    ranked = ranked_items(run)
    triplets = confused_rows(run)
    by = slice_rows(run)
    predicates = by.get("predicate", [])
    rows = confusion(ranked, run.options.normalisation)
    data = common(run, words.THETA_COUNTS, pictures_left_out(run), pictures) | {
        "options": run.options,
        "chance": hundred(run.result.get("chance_theta")),
        "verdict": verdict(run.result),
        "candidates": candidates(run.result),
        "scale": overview(run.result),
        "scores": rank_rows(run),
        "beside": beside_rows(run),
        "n_ranked": len(ranked),
        "n_outscored": sum(bool(item.confusers) for item in ranked),
        "confused": triplets[:CONFUSED],
        "n_confused": len(triplets),
        "heat": heat_map(rows, RANKED),
        "sizes": by.get("size_ratio", []),
        "distances": by.get("distance", []),
        "predicates": predicates[:PREDICATES],
        "tail": predicates[PREDICATES:],
        "worst": [card(run, item, pictures) for item in worst(ranked)],
        "swaps": [card(run, item, pictures) for item in won_by_swap(run)],
    }
    return write_page("theta.html", data, out)


def ranked_items(run: Run) -> list[Item]:
    """The relations that θ is the mean over, in the order of picture and position."""
    is_all = run.options.singletons == "include"
    return [item for item in scored_items(run) if is_all or item.n != 1]


def candidates(result: Mapping[str, Any]) -> str:
    """The mean number of candidates; empty where nothing was ranked."""
    found = number(result.get("mean_candidates"))
    return "" if found is None else f"{found:,.1f}"


def verdict(result: Mapping[str, Any]) -> str:
    """What the interval says of θ against its chance level, where that is bad news; else empty."""
    low, high, chance = (number(result.get(key)) for key in ("theta_low", "theta_high", "chance_theta"))
    if low is None or high is None or chance is None or low > chance:
        return ""
    if high < chance:
        return "θ lies below its chance level: scores that say nothing would rank the annotated predicates higher."
    return "The interval holds the chance level: this run does not tell the model from one that knows nothing."


def overview(result: Mapping[str, Any]) -> Scale | None:
    """θ and precision on one axis, each with its interval and its chance level."""

    def measured(name: str, key: str) -> Measured:
        value, low, high, chance = (
            number(result.get(of)) for of in (key, f"{key}_low", f"{key}_high", f"chance_{key}")
        )
        return name, value, low, high, chance

    return scale([measured("θ", "theta"), measured("precision", "precision")])


def rank_rows(run: Run) -> list[ScoreRow]:
    """θ, precision and the mean score, the first two with their chance levels."""
    meanings = {**words.RANKS[run.options.protocol], "mean_score": words.VALUES[run.options.score]}
    return [
        score_row(
            run.result,
            key,
            words.THETA_NAMES[key],
            _or_undefined(run, key, meaning, "no relation was ranked"),
            hundred(run.result[f"chance_{key}"]) if f"chance_{key}" in run.result else "",
        )
        for key, meaning in meanings.items()
    ]


def beside_rows(run: Run) -> list[ScoreRow]:
    """What is measured beside θ with the same embeddings."""
    return [
        score_row(
            run.result,
            key,
            words.THETA_NAMES[key],
            _or_undefined(run, key, meaning, "no relation has anything to compare with"),
            HALF if key in ("direction_accuracy", "above_random_predicate") else "",
        )
        for key, meaning in words.BESIDE.items()
    ]


def _or_undefined(run: Run, key: str, meaning: str, why: str) -> str:
    return f"Undefined: {why}. {meaning}" if number(run.result.get(key)) is None else meaning


def confused_rows(run: Run) -> list[ConfusedRow]:
    """The confused triplets, most frequent first."""
    return [
        ConfusedRow(
            Said(cut(row["subject"]), cut(row["predicate"]), cut(row["object"])),
            cut(row["confuser"]),
            row["n"],
            row["of"],
            share(row["n"], row["of"]),
        )
        for row in alignment.confused(run.rows, run.options)
    ]


def slice_rows(run: Run) -> dict[str, list[SliceRow]]:
    """The slices by what they are made by, each in its order."""
    found: dict[str, list[SliceRow]] = {}
    for row in alignment.slices(run.rows, run.options):
        by, group = str(row["by"]), str(row["group"])
        found.setdefault(by, []).append(
            SliceRow(
                cut(group),
                words.SLICES.get(by, {}).get(group, ""),
                row["n_relations"],
                hundred(row["theta"]),
                hundred(row["chance_theta"]),
                interval(row.get("theta_low"), row.get("theta_high")) or NOTHING,
                hundred(row["precision"]),
                hundred(row["direction_accuracy"]),
                row["n_direction"],
            )
        )
    return found


def rank(item: Item) -> float:
    """The rank of the truth among its candidates, from 1; ties averaged."""
    return 1 + (item.higher or 0) + (item.tied or 0) / 2


def worst(ranked: Sequence[Item], most: int = SHOWN) -> list[Item]:
    """The outscored relations with the largest rank; of equal ones those first that are outscored by most. One a
    picture, so that a crowded one does not fill the page, and more only where there are too few pictures."""
    outscored = [item for item in ranked if item.confusers]
    outscored.sort(
        key=lambda item: (-rank(item), (item.score or 0.0) - (item.confuser_score or 0.0), item.image_id, item.index)
    )
    return spread(outscored, most)


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """The first items, at most `most`: the first of each picture before the second of any."""
    turns: Counter[str] = Counter()
    order: list[tuple[int, int]] = []
    for place, item in enumerate(items):
        order.append((turns[item.image_id], place))
        turns[item.image_id] += 1
    return [items[place] for place in sorted(place for _, place in sorted(order)[:most])]


def won_by_swap(run: Run, most: int = SHOWN) -> list[Item]:
    """The relations whose swap scored higher, the largest gap first."""
    found = [
        ((item.score or 0.0) - item.swap_score, item)
        for item in scored_items(run)
        if item.swap_score is not None and item.swap_score > (item.score or 0.0)
    ]
    found.sort(key=lambda entry: (entry[0], entry[1].image_id, entry[1].index))
    return spread([item for _, item in found], most)


def card(run: Run, item: Item, pictures: Pictures) -> Card:
    """The card of a relation."""
    normalisation = run.options.normalisation
    annotated = said(item, normalisation, score=item.score)
    swap = Said(annotated.object, annotated.predicate, annotated.subject, True, hundred(item.swap_score))
    above = item.confusers
    return Card(
        cut(item.image_id),
        annotated,
        Said(annotated.subject, cut(above[0]), annotated.object, score=hundred(item.confuser_score)) if above else None,
        max(len(above) - 1, 0),
        swap if item.swap_score is not None else None,
        f"{rank(item):g} of {item.n or 0:,}",
        other_text(item, normalisation),
        pictures.draw(item),
    )


def pictures_left_out(run: Run) -> list[Reason]:
    """The pictures that could not be read, with the reason."""
    return [
        (row.image_id, -1, WHOLE, row.reason or "could not be read")
        for row in run.rows.images
        if row.status == "bad_image"
    ]
