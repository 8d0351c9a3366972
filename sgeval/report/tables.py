"""Rows that the page of any metric shows: headline, scores, counts, what was left out, what the run was made from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Any

from sgeval.errors import counted
from sgeval.report import words
from sgeval.report.demo_model import HINT, demo_warning, is_demo
from sgeval.report.facts import first_only, why_no_interval, why_nothing
from sgeval.report.pictures import Pictures
from sgeval.report.text import agreed, cut, hundred, interval, metric_name, number, spoken
from sgeval.rows import RelationRow
from sgeval.runs import Run

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
    chance: str = ""
    """What scores that say nothing would get, ×100, where that is known."""


@dataclass(frozen=True)
class CountRow:
    """A count with its meaning."""

    key: str
    n: int
    meaning: str


@dataclass(frozen=True)
class Said:
    """A triplet as it is shown; `reversed` when its subject is the pair's second object."""

    subject: str
    predicate: str
    object: str
    reversed: bool = False
    score: str = ""

    @property
    def words(self) -> str:
        """All of it as one text."""
        return f"{self.subject} {self.predicate} {self.object}"


@dataclass(frozen=True)
class ConfusedRow:
    """A triplet of classes, the predicate that was taken for its own, in how many of its relations, and their share."""

    said: Said
    confuser: str
    n: int
    of: int
    share: str


@dataclass(frozen=True)
class InputRow:
    """What a run was made from: role, file name, SHA-256 or nothing."""

    role: str
    file: str
    sha256: str


WHOLE = "(the whole picture)"
Reason = tuple[str, int, str, str]
"""Picture, position (−1: the whole picture), what was said, why it was left out."""


def common(run: Run, counts: words.Counts, reasons: Iterable[Reason], pictures: Pictures) -> dict[str, Any]:
    """What the templates of all metrics of pictures share: the name, the notes at the head, and the end of the page."""
    return closing(run, counts, left_out(run, reasons, pictures)) | {
        "name": cut(run.name),
        "metric": metric_name(run.metric),
        "headline": headline(run),
        "warning": demo_warning(run),
        "hint": HINT if is_demo(run) else "",
    }


def closing(run: Run, counts: words.Counts, listed: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """What `closing.html` shows: counts, what was left out (`listed`: picture, what it said, why), how to repeat the run."""
    rows = count_rows(run.result, counts.skipped) + other_counts(run.result, counts)
    return {
        "verb": counts.verb,
        "noun": counts.noun,
        "whole": counts.whole,
        "scope": count_rows(run.result, counts.scope),
        "first_only": first_only(run),
        "skipped": [row for row in rows if row.n],
        "zero": [row for row in rows if not row.n],
        "left_out": listed[:LEFT_OUT],
        "n_left_out": len(listed),
        "signature": run.signature,
        "inputs": input_rows(run.inputs),
        "versions": [(cut(name), cut(version)) for name, version in run.versions.items()],
    }


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
        "no_interval": "" if ends or value is None else why_no_interval(run, n_images),
        "over": ", ".join(filter(None, (over, first_only(run)))) + ".",
        "why": why_nothing(run),
    }


def score_row(result: Mapping[str, Any], key: str, name: str, meaning: str, chance: str = "") -> ScoreRow:
    """The line of a value of the result."""
    ends = interval(result.get(f"{key}_low"), result.get(f"{key}_high"))
    return ScoreRow(key, name, hundred(result.get(key)), ends, meaning, chance)


def said(item: RelationRow, normalisation: str, *, score: object = None, reversed: bool = False) -> Said:
    """A relation's triplet in the words that were scored, cut for the page."""
    subject, predicate, obj = map(cut, spoken(item.subject, item.predicate, item.object, normalisation))
    return Said(subject, predicate, obj, reversed, hundred(score))


def other_text(item: RelationRow, normalisation: str) -> str:
    """The text that was scored, where a template makes it another than the three words."""
    text = item.text or ""
    return "" if text == " ".join(spoken(item.subject, item.predicate, item.object, normalisation)) else cut(text, 240)


def count_rows(result: Mapping[str, Any], meanings: Mapping[str, str]) -> list[CountRow]:
    """The counts of a result that `meanings` explains, in its order."""
    found = {key: number(result.get(key)) for key in meanings}
    return [
        CountRow(key, int(value), agreed(meanings[key], int(value)))
        for key, value in found.items()
        if value is not None
    ]


def other_counts(result: Mapping[str, Any], counts: words.Counts) -> list[CountRow]:
    """Counts that another version may have added."""
    known = {*counts.scope, *counts.skipped}
    found = {key: number(value) for key, value in result.items() if key.startswith("n_") and key not in known}
    return [CountRow(cut(key), int(value), words.UNKNOWN) for key, value in found.items() if value is not None]


def left_out(run: Run, whole: Iterable[Reason], pictures: Pictures) -> list[tuple[str, str, str]]:
    """What was not scored: picture, what it said, why. `whole` are the pictures of which nothing was."""
    rows = [
        *whole,
        *(
            (item.image_id, item.index, f"{item.subject} {item.predicate} {item.object}", item.reason or item.status)
            for item in run.rows.items
            if item.status not in ("scored", "bad_image")
        ),
    ]
    rows.sort(key=lambda row: row[:2])
    return [(cut(image), cut(said), cut(pictures.plain(why or ""), 240)) for image, _, said, why in rows]


def input_rows(inputs: Mapping[str, Any]) -> list[InputRow]:
    """What the run was made from. Of a path only the last part is shown: a report is made to be passed on."""
    rows: list[InputRow] = []
    for role, value in inputs.items():
        if isinstance(value, Mapping) and "file" not in value:
            rows.append(InputRow(cut(role), cut(", ".join(f"{key} {_last_part(of)}" for key, of in value.items())), ""))
        elif isinstance(value, Mapping):
            rows.append(InputRow(cut(role), cut(_last_part(value.get("file"))), cut(value.get("sha256") or "")))
        elif value is not None:
            rows.append(InputRow(cut(role), cut(_last_part(value)), ""))
    return rows


def _last_part(value: object) -> str:
    text = "" if value is None else str(value)
    return PureWindowsPath(text).name or text
