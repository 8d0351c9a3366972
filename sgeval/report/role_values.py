"""The report of one run of role values: both readings by kind of frame, role by role, verb by verb, and the mistakes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from sgeval.errors import counted
from sgeval.report import words
from sgeval.report.facts import why_no_interval
from sgeval.report.heat import PREDICTED, heat_map, tally
from sgeval.report.page import check_target, write_page
from sgeval.report.tables import closing
from sgeval.report.text import cut, metric_name, number, percent, percent_interval
from sgeval.runs import Run
from sgeval.signature import parts_of
from sgeval.situation import GROUPS, FrameRow
from sgeval.situation.result import count_rows, tables
from sgeval.situation.rows import is_counted, is_lost, is_wrong_verb

SHOWN = 25  # roles or verbs before the fold
MISTAKES = 20
LEFT_OUT = 20
NO_ANSWER = "(nothing)"

FRAME_READING: Mapping[str, tuple[str, str]] = {
    "value": ("Value", "Share of frames with at least one right role."),
    "value_two": ("Value-two", "Share with at least two right roles, as the paper counts: of all frames."),
    "value_two_eligible": ("Value-two, eligible", "The same, of the frames that have two roles or more."),
    "value_all": ("Value-all", "Share of frames whose roles are all right."),
    "role_accuracy": ("Role accuracy", "Mean over role names of the share of right values."),
    "role_f1": ("Role F1", "Mean over role names of the macro F1 over the role's values."),
}
ROLE_READING: Mapping[str, tuple[str, str]] = {
    "per_role_value": ("Value", "Share of roles of which at least one value was found."),
    "per_role_value_two": ("Value-two", "Share of roles of which at least two values were found."),
    "per_role_value_all": ("Value-all", "Share of roles of which all values were found; also this reading's accuracy."),
}
"""Name and meaning of each score, by key."""
CEILINGS = {"value_two": "value_two_ceiling", "per_role_value_two": "per_role_value_two_ceiling"}


@dataclass(frozen=True)
class Cell:
    """A score of one kind of frame: its value, interval and ceiling, each perhaps empty."""

    value: str
    interval: str
    ceiling: str


@dataclass(frozen=True)
class Line:
    """A score over all kinds of frames and over each."""

    name: str
    meaning: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Bar:
    """A role or a verb: its number, accuracy as a bar with its interval, macro scores (of a verb its own)."""

    name: str
    n: int
    accuracy: str
    length: float
    low: float | None
    high: float | None
    interval: str
    precision: str
    recall: str
    f1: str
    n_classes: int
    value: str = ""


@dataclass(frozen=True)
class Mistake:
    """A value that was given for another, how often, and of how many."""

    kind: str
    role: str
    gold: str
    predicted: str
    n: int
    of: int


def render_role_values(run: Run, out: Path, images: Path | None = None) -> Path:
    """The page of a run of role values. As `render_report`; it shows no pictures."""
    check_target(out)
    counted_rows = count_rows(run.rows, run.options)
    found = tables(counted_rows.state, counted_rows.ends())
    result, mistakes, verbs = run.result, wrong_values(run), wrong_verbs(run)
    data = closing(run, words.ROLE_COUNTS, left_out(run)[:LEFT_OUT]) | {
        "n_left_out": len(left_out(run)),
        "first_only": first_only(run),
        "name": cut(run.name),
        "metric": metric_name(run.metric),
        "headline": headline(run),
        "kinds": [(prefix.rstrip("_") or "all", int(result[f"n_{prefix}frames"])) for prefix in GROUPS],
        "frame_reading": lines(result, FRAME_READING),
        "role_reading": lines(result, ROLE_READING),
        "several": int(result["n_several_values"]),
        "is_top1": run.options.verb_setting == "top1",
        "verb_scores": verb_scores(result),
        "n_verbs": int(result["n_verbs"]),
        "n_verb_frames": int(result["n_verb_frames"]),
        "n_wrong_verbs": int(result["n_wrong_verbs"]),
        "verbs_given": bool(result["n_verbs"]) and result["verb_accuracy"] is None,
        "roles": [
            (kind, [bar(row, "role") for row in found["roles"] if row["kind"] == kind]) for kind, _ in KIND_NAMES
        ],
        "kind_names": dict(KIND_NAMES),
        "verbs": [bar(row, "verb") for row in found["verbs"]],
        "shown": SHOWN,
        "mistakes": mistakes[:MISTAKES],
        "n_mistakes": len(mistakes),
        "verb_mistakes": verbs[:MISTAKES],
        "n_verb_mistakes": len(verbs),
        "heat": heat_map(tally(verb_pairs(run)), PREDICTED),
    }
    return write_page("role_values.html", data, out)


KIND_NAMES = (("person", "Persons"), ("object", "Objects"), ("verb", "Verbs"))


def headline(run: Run) -> dict[str, str]:
    """The headline's value and interval, what it is over, and why there is no interval."""
    result = run.result
    ends = percent_interval(result.get("value_low"), result.get("value_high"))
    n_pictures, n_frames = int(result["n_pictures"]), int(result["n_frames"])
    why = "" if ends else why_no_interval(run, n_pictures)
    over = f"Over {counted(n_frames, 'frame')} in {counted(n_pictures, 'picture')}"
    return {"value": percent(result["value"]), "interval": ends, "no_interval": why, "over": f"{over}."}


def first_only(run: Run) -> str:
    """For a run with `limit`: what it stopped after. Empty for any other."""
    limit = parts_of(run.signature).get("limit", "")
    return f"the frames of the first {counted(int(limit), 'picture')} only" if limit.isdecimal() else ""


def lines(result: Mapping[str, Any], names: Mapping[str, tuple[str, str]]) -> list[Line]:
    """A reading as a table: its scores by kind of frame."""
    return [
        Line(name, meaning, tuple(cell(result, prefix, key) for prefix in GROUPS))
        for key, (name, meaning) in names.items()
    ]


def cell(result: Mapping[str, Any], prefix: str, key: str) -> Cell:
    """A score of a kind of frame."""
    ends = percent_interval(result.get(f"{prefix}{key}_low"), result.get(f"{prefix}{key}_high"))
    ceiling = number(result.get(f"{prefix}{CEILINGS[key]}")) if key in CEILINGS else None
    return Cell(percent(result.get(f"{prefix}{key}")), ends, "" if ceiling is None else percent(ceiling))


def verb_scores(result: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Name, value, interval and meaning of the scores of verbs."""
    meanings = {
        "accuracy": "Share of pairs whose (first) verb was predicted.",
        "precision": "Mean over verbs of the share of its predictions that are right.",
        "recall": "Mean over verbs of the share of its frames that were found.",
        "f1": "Mean over verbs of F1.",
    }
    return [
        (
            "F1" if name == "f1" else name.capitalize(),
            percent(result.get(f"verb_{name}")),
            percent_interval(result.get(f"verb_{name}_low"), result.get(f"verb_{name}_high")),
            meaning,
        )
        for name, meaning in meanings.items()
    ]


def bar(row: Mapping[str, Any], what: str) -> Bar:
    """A row of the table of roles or of verbs."""
    low, high = (number(row.get(f"accuracy_{end}")) for end in ("low", "high"))
    return Bar(
        cut(row[what]),
        int(row["n"]),
        percent(row["accuracy"]),
        round(number(row["accuracy"]) or 0.0, 1),
        low,
        high,
        percent_interval(low, high),
        percent(row["precision"]),
        percent(row["recall"]),
        percent(row["f1"]),
        int(row.get("n_classes", 0)),
        percent(row["value"]) if "value" in row else "",
    )


def wrong_values(run: Run) -> list[Mistake]:
    """What was given for what, most often first. Frames with a wrong verb are not among them under the top-1 rule: there
    the verb is the mistake."""
    mistakes: Counter[tuple[str, str, str, str]] = Counter()
    annotated: Counter[tuple[str, str, str]] = Counter()
    for row in scored(run):
        gold_side, said_side = iter(row.gold), iter(row.predicted)
        lost = is_lost(row, run.options.verb_setting)
        for role, n_gold, n_said, hits in zip(row.roles, row.n_gold, row.n_predicted, row.hits, strict=True):
            truth, said = list(islice(gold_side, n_gold)), list(islice(said_side, n_said))
            gold_text, said_text = " or ".join(truth), " or ".join(said) or NO_ANSWER
            annotated[row.kind, role, gold_text] += not lost
            mistakes[row.kind, role, gold_text, said_text] += not (hits or lost)
    ordered = sorted((-n, key) for key, n in mistakes.items() if n)
    return [
        Mistake(kind, cut(role), cut(gold), cut(said), -n, annotated[kind, role, gold])
        for n, (kind, role, gold, said) in ordered
    ]


def verb_pairs(run: Run) -> list[tuple[str, str | None]]:
    """The annotated verb of each pair, and what was given for it; `None` where it was predicted."""
    frames = [row for row in run.rows.items if is_counted(row) and row.kind == "verb"]
    return [(row.verb or "", (row.predicted_verb or NO_ANSWER) if is_wrong_verb(row) else None) for row in frames]


def wrong_verbs(run: Run) -> list[Mistake]:
    """Which verb was given for which, most often first."""
    found = verb_pairs(run)
    annotated = Counter(verb for verb, _ in found)
    pairs = Counter((verb, other) for verb, other in found if other is not None)
    ordered = sorted(pairs.items(), key=lambda entry: (-entry[1], entry[0]))
    return [Mistake("verb", "", cut(gold), cut(said), n, annotated[gold]) for (gold, said), n in ordered]


def scored(run: Run) -> list[FrameRow]:
    """The scored frames."""
    return [row for row in run.rows.items if row.status == "scored"]


def left_out(run: Run) -> list[tuple[str, str, str]]:
    """Picture, frame and reason of what was not scored."""
    rows = [row for row in run.rows.in_order().items if row.status != "scored"]
    return [(cut(row.frame_id), cut(_told(row)), cut(row.reason or row.status)) for row in rows]


def _told(row: FrameRow) -> str:
    ids = [each for each in (row.subject_id, row.object_id) if each is not None]
    verb = row.verb or row.predicted_verb
    said = f" “{verb}”" if verb else ""
    return f"{row.kind}{said}" + (
        f" of {' and '.join(ids)}" if row.kind == "verb" else "".join(f" {each}" for each in ids)
    )
