"""The report of one run: what it scored, where it did well and badly, what was left out, how to repeat it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

from sgeval.relclip import Item, predicate_table
from sgeval.report import words
from sgeval.report.demo_model import HINT, demo_warning, is_demo
from sgeval.report.draw import histogram
from sgeval.report.facts import WHY_UNDEFINED, first_only, scored_items, undefined_pictures, why_nothing
from sgeval.report.page import check_target, write_page
from sgeval.report.pictures import Drawing, Pictures
from sgeval.report.text import agreed, counted, cut, hundred, interval, metric_name, number, spoken
from sgeval.runs import Run

EXTREMES = 6  # best and worst relations shown
PREDICATES = 25  # predicates shown before the fold
LEFT_OUT = 20  # relations left out that are listed with their reason


@dataclass(frozen=True)
class ScoreRow:
    """A line of the table of scores: its name, value ×100, interval, and its meaning or why it is absent."""

    key: str
    name: str
    value: str
    interval: str
    meaning: str


@dataclass(frozen=True)
class CountRow:
    """A count with its meaning."""

    key: str
    n: int
    meaning: str


@dataclass(frozen=True)
class PredicateRow:
    """A predicate, how often it was scored, its mean ×100 and the length of its bar in percent of the longest."""

    predicate: str
    n: int
    mean: str
    bar: float


@dataclass(frozen=True)
class Card:
    """A relation as it is shown: the crop, what was said of it, what it scored."""

    image_id: str
    subject: str
    predicate: str
    object: str
    score: str
    references: str
    """The reference's predicates; empty when the pair has none."""
    text: str
    """The text that was scored, where a template makes it another than the three words."""
    drawing: Drawing


@dataclass(frozen=True)
class InputRow:
    """What a run was made from: role, file name, SHA-256 or nothing."""

    role: str
    file: str
    sha256: str


def render_report(run: Run, out: Path, images: Path | None = None) -> Path:
    """Write the report of a run as one HTML file that needs nothing else, and return its path.

    `images`: the folder of the pictures, where it is no longer the one the run was made from. A picture that cannot be
    found or read is replaced by a line that says so. Raises `SgevalError` when `out` is there and is no earlier page, or
    `images` no folder, and `OSError` when `out` cannot be written.
    """
    check_target(out)
    best, worst = extremes(run)
    pictures = Pictures(run, images)
    predicates = predicate_rows(run)
    counts = count_rows(run.result, words.SKIPPED) + other_counts(run.result)
    reasons = left_out(run, pictures)
    data = {
        "name": cut(run.name),
        "metric": metric_name(run.metric),
        "headline": headline(run),
        "scores": score_rows(run),
        "warning": demo_warning(run),
        "hint": HINT if is_demo(run) else "",
        "histogram": histogram(scores(run)),
        "best": [card(run, item, pictures) for item in best],
        "worst": [card(run, item, pictures) for item in worst],
        "with_references": run.rows.with_references,
        "predicates": predicates[:PREDICATES],
        "tail": predicates[PREDICATES:],
        "scope": count_rows(run.result, words.SCOPE),
        "first_only": first_only(run),
        "skipped": [row for row in counts if row.n],
        "zero": [row for row in counts if not row.n],
        "left_out": reasons[:LEFT_OUT],
        "n_left_out": len(reasons),
        "signature": str(run.result.get("signature", "")),
        "inputs": input_rows(run.inputs),
        "versions": [(cut(name), cut(version)) for name, version in run.versions.items()],
    }
    return write_page("report.html", data, out)


def scores(run: Run) -> list[float]:
    """The scores of the scored relations."""
    return [item.score for item in scored_items(run) if item.score is not None]


def headline(run: Run) -> dict[str, str]:
    """The headline's value and interval, what it is over, and why there is none of these."""
    result = run.result
    value = number(result.get(run.metric))
    ends = interval(result.get(f"{run.metric}_low"), result.get(f"{run.metric}_high"))
    n_images, n_relations = (int(number(result.get(key)) or 0) for key in ("n_scored_images", "n_relations"))
    over = f"Over {counted(n_relations, 'relation')} in {counted(n_images, 'picture')}"
    return {
        "value": hundred(value),
        "interval": ends,
        "no_interval": "" if ends or value is None else why_no_interval(run),
        "over": ", ".join(filter(None, (over, first_only(run)))) + ".",
        "why": why_nothing(run),
    }


def why_no_interval(run: Run) -> str:
    """Why a score has no interval."""
    if not run.options.bootstrap:
        return "No interval: the run was made without bootstrap."
    if number(run.result.get("n_scored_images")) == 1:
        return "No interval: one picture is too few."
    return "No interval: the pictures show no spread."


def score_rows(run: Run) -> list[ScoreRow]:
    """The table of scores, the headline first. What is absent or undefined has a dash and a word why."""
    result = run.result
    penalty = words.PENALTIES.get(run.options.penalty, "")
    rows = [_score_row(result, run.metric, metric_name(run.metric), f"Mean over pictures, {penalty}.")]
    for key, meaning in words.SCORES.items():
        why = _why_absent(run, key) if number(result.get(key)) is None else ""
        rows.append(_score_row(result, key, words.SCORE_NAMES[key], f"{why} {meaning}".strip()))
    return rows


def _score_row(result: Mapping[str, Any], key: str, name: str, meaning: str) -> ScoreRow:
    ends = interval(result.get(f"{key}_low"), result.get(f"{key}_high"))
    return ScoreRow(key, name, hundred(result.get(key)), ends, meaning)


def _why_absent(run: Run, key: str) -> str:
    if key in words.WITH_REFERENCE and not run.rows.with_references:
        return "Not there: the run has no references."
    if key == "ref_relclipscore" and run.metric != "relclipscore":
        return "Not there: this model's scores are no cosines."
    if key in words.WITH_REFERENCE:
        return "Undefined: no scored relation has a reference on its pair."
    if key == "mean_score_relations":
        return "Undefined: no relation was scored."
    if key == "pair_coverage":
        return "Undefined: no picture has two objects."
    return "Undefined: no picture has a defined score."


def count_rows(result: Mapping[str, Any], meanings: Mapping[str, str]) -> list[CountRow]:
    """The counts of a result that `meanings` explains, in its order."""
    found = {key: number(result.get(key)) for key in meanings}
    return [
        CountRow(key, int(value), agreed(meanings[key], int(value)))
        for key, value in found.items()
        if value is not None
    ]


def other_counts(result: Mapping[str, Any]) -> list[CountRow]:
    """Counts that another version may have added."""
    known = {*words.SCOPE, *words.SKIPPED}
    found = {key: number(value) for key, value in result.items() if key.startswith("n_") and key not in known}
    return [CountRow(cut(key), int(value), words.UNKNOWN) for key, value in found.items() if value is not None]


def predicate_rows(run: Run) -> list[PredicateRow]:
    """Number and mean of the scored relations by predicate, most frequent first."""
    table = [(str(row["group"]), int(str(row["n"])), number(row["mean"])) for row in predicate_table(run.rows)]
    longest = max((mean or 0.0 for _, _, mean in table), default=0.0) or 1.0
    return [
        PredicateRow(cut(group), n, hundred(mean), round(100 * (mean or 0.0) / longest, 1)) for group, n, mean in table
    ]


def extremes(run: Run, each: int = EXTREMES) -> tuple[list[Item], list[Item]]:
    """The best and the worst scored relations, the most extreme first; none is in both."""
    ranked = sorted(scored_items(run), key=lambda item: (-(item.score or 0.0), item.image_id, item.index))
    best = ranked[: min(each, (len(ranked) + 1) // 2)]
    return best, ranked[len(best) :][::-1][:each]


def card(run: Run, item: Item, pictures: Pictures) -> Card:
    """The card of a relation, with its words as they were scored."""
    said = spoken(item.subject, item.predicate, item.object, run.options.normalisation)
    subject, predicate, obj = map(cut, said)
    text = item.text or ""
    return Card(
        cut(item.image_id),
        subject,
        predicate,
        obj,
        hundred(item.score),
        cut(", ".join(item.ref_predicates)),
        "" if text == " ".join(said) else cut(text, 240),
        pictures.draw(item),
    )


def left_out(run: Run, pictures: Pictures) -> list[tuple[str, str, str]]:
    """The pictures and relations that were not scored: picture, what it said, why."""
    undefined = undefined_pictures(run)
    rows = []
    for row in run.rows.images:
        why = agreed(WHY_UNDEFINED[undefined[row.image_id]], 1) if row.image_id in undefined else ""
        if row.status == "missing":
            why = ", ".join(filter(None, ("is not in the predictions", why or "counts as 0")))
        if why:
            rows.append((row.image_id, -1, "(the whole picture)", row.reason or why))
    rows += [
        (item.image_id, item.index, f"{item.subject} {item.predicate} {item.object}", item.reason or item.status)
        for item in run.rows.items
        if item.status not in ("scored", "bad_image")
    ]
    rows.sort(key=lambda row: row[:2])
    return [(cut(image), cut(said), cut(pictures.plain(why or ""), 240)) for image, _, said, why in rows]


def input_rows(inputs: Mapping[str, Any]) -> list[InputRow]:
    """What the run was made from. Of a path only the last part is shown: a report is made to be passed on."""
    rows: list[InputRow] = []
    for role, value in inputs.items():
        if isinstance(value, Mapping):
            rows.append(InputRow(cut(role), cut(_last_part(value.get("file"))), cut(value.get("sha256") or "")))
        elif value is not None:
            rows.append(InputRow(cut(role), cut(_last_part(value)), ""))
    return rows


def _last_part(value: object) -> str:
    text = str(value or "")
    return PureWindowsPath(text).name or text
