"""The report of one run of SVG2 temporal accuracy: the four accuracies, the judge, relations on the time line, confusions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sgeval.errors import counted
from sgeval.report import words
from sgeval.report.account import account
from sgeval.report.heat import PREDICTED, heat_map, tally
from sgeval.report.page import check_target, write_page
from sgeval.report.tables import closing
from sgeval.report.text import NOTHING, cut, metric_name, number, percent, percent_interval
from sgeval.report.timeline import CATEGORY_WORDS, Timeline, verdict
from sgeval.runs import Run
from sgeval.temporal import KINDS
from sgeval.temporal.judging import form
from sgeval.temporal.options import HEADLINE, HEADLINE_THRESHOLD
from sgeval.temporal.result import States, label_pairs, slices
from sgeval.temporal.rows import VideoRow

SHOWN = 25  # groups before the fold
VIDEOS = 3  # of the worst, and of the best
CONFUSIONS = 20
LEFT_OUT = 20


@dataclass(frozen=True)
class Line:
    """A kind of item: its accuracies with intervals, how much is decided, and between what the truth lies."""

    name: str
    n: int
    lenient: str
    lenient_interval: str
    strict: str
    strict_interval: str
    coverage: str
    on_judged: str
    bounds: str


@dataclass(frozen=True)
class Confusion:
    """A pair of unequal labels that met, what the judge said of it, and how often it met."""

    gold: str
    predicted: str
    verdict: str
    n: int


@dataclass(frozen=True)
class Group:
    """A predicate or a type: its relations, and the share of them that is right."""

    name: str
    n: int
    relation: str
    triplet: str
    length: float
    n_open: int


def render_temporal(run: Run, out: Path, images: Path | None = None) -> Path:
    """The page of a run of SVG2 temporal accuracy. As `render_report`; it shows no pictures."""
    check_target(out)
    rows = run.rows.in_order()
    states = States(rows, run.options)
    main = run.options.thresholds.index(HEADLINE_THRESHOLD)
    groups = slices(rows, states, main)
    listed = left_out(rows.videos)
    counts = replace(words.TEMPORAL_COUNTS, skipped={**words.TEMPORAL_SKIPPED, **reasons(run.result)})
    worst, best = chosen_videos(groups["video"])
    timeline = Timeline(states, main)
    data = closing(run, counts, listed[:LEFT_OUT]) | {
        "n_left_out": len(listed),
        "name": cut(run.name),
        "metric": metric_name(run.metric),
        "headline": headline(run),
        "kinds": [line(run.result, kind) for kind in KINDS],
        "others": others(run.result),
        "judge": judge(run.result),
        "judge_name": cut(run.result["judge"]),
        "account": account(run),
        "categories": categories(run),
        "videos": [
            ("Worst videos" if best else "Videos, worst first", [timeline.video(row) for row in worst]),
            ("Best videos", [timeline.video(row) for row in best]),
        ],
        "confusions": [(what, found[:CONFUSIONS], len(found)) for what, found in confusions(run).items()],
        "groups": [
            (heading, [group(row) for row in groups[way]])
            for way, heading in (("predicate", "Predicate"), ("type", "Type"))
            if way == "predicate" or any(row["group"] for row in groups[way])
        ],
        "shown": SHOWN,
        "heat": heat_map(tally(timeline.predicates()), PREDICTED),
    }
    return write_page("temporal.html", data, out)


def headline(run: Run) -> dict[str, str]:
    """The headline's value and interval, what it is over, and why there is none of these."""
    result = run.result
    ends = percent_interval(result.get(f"{HEADLINE}_low"), result.get(f"{HEADLINE}_high"))
    n_videos, n_relations = int(result["n_videos"]), int(result["n_relations"])
    value, why = number(result[HEADLINE]), ""
    if value is None and n_relations:
        low, high = (percent(result[f"{HEADLINE}_at_{end}"]) for end in ("least", "most"))
        why = f"Withheld: verdicts are missing. Whatever they would be, the value lies between {low} and {high}."
    elif value is None:
        why = "There is no annotated relation, so no triplet."
    no_interval = ""
    if not ends and value is not None:
        no_interval = "No interval: the videos show no spread."
        if not run.options.bootstrap:
            no_interval = "No interval: the run was made without bootstrap."
        elif n_videos == 1:
            no_interval = "No interval: one video is too few."
    over = f"Over {counted(n_relations, 'relation')} in {counted(n_videos, 'video')}."
    return {"value": percent(value), "interval": ends, "no_interval": no_interval, "over": over, "why": why}


def line(result: Mapping[str, Any], kind: str) -> Line:
    """The line of a kind of item."""
    name = f"{kind}_accuracy"
    of = "relation" if kind == "triplet" else kind
    low, high = (result[f"{name}_at_{end}"] for end in ("least", "most"))
    return Line(
        kind.capitalize(),
        int(result[f"n_{of}s"]),
        percent(result[name]),
        percent_interval(result.get(f"{name}_low"), result.get(f"{name}_high")),
        percent(result[f"{name}_strict"]),
        percent_interval(result.get(f"{name}_strict_low"), result.get(f"{name}_strict_high")),
        percent(result[f"{kind}_coverage"]),
        percent(result[f"{name}_on_judged"]),
        NOTHING if low is None else percent(low) if low == high else percent_interval(low, high),
    )


def others(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, value and interval of the shares beyond the four: precision, other thresholds, both directions."""
    main = {f"{kind}_accuracy{ending}" for kind in KINDS for ending in ("", "_strict")}
    sides = tuple(f"{kind}_{word}" for kind in KINDS for word in ("accuracy", "precision"))
    ends = ("_low", "_high", "_on_judged", "_at_least", "_at_most")
    return [
        (
            cut(key.replace("_", " ").capitalize().replace("tiou", "at tIoU")),
            percent(value),
            percent_interval(result.get(f"{key}_low"), result.get(f"{key}_high")),
        )
        for key, value in result.items()
        if key.startswith(sides) and key not in main and not key.endswith(ends)
    ]


def reasons(result: Mapping[str, Any]) -> dict[str, str]:
    """The words of the counts of unjudged pairs, by reason."""
    start = "n_unjudged_"
    found = [key for key in result if key.startswith(start) and key != "n_unjudged_pairs"]
    return {key: f"of the unjudged pairs: {cut(key.removeprefix(start))}" for key in found}


def judge(result: Mapping[str, Any]) -> list[tuple[str, int]]:
    """What the judge did, in words, with numbers of distinct pairs of labels."""
    pairs, equal = int(result["n_pairs"]), int(result["n_equal_pairs"])
    refused, unjudged = int(result["n_refused_pairs"]), int(result["n_unjudged_pairs"])
    found = [
        ("distinct pairs of labels", pairs),
        ("equal, not asked", equal),
        ("refused, since the prediction is no label; not asked", refused),
        ("with a verdict of the judge", pairs - equal - refused - unjudged),
        ("of these mended, or asked again", int(result["n_repaired_pairs"])),
        ("unjudged", unjudged),
    ]
    return found + [(text, int(result[key])) for key, text in reasons(result).items()]


def categories(run: Run) -> list[tuple[str, list[int]]]:
    """Of each kind of label: how many distinct pairs have each category, and none."""
    counts = Counter[tuple[str, str | None]](
        (kind, match.category) for (kind, _, _), match in label_pairs(run.rows).items()
    )
    names = {"object": "Objects", "attribute": "Attributes", "relation": "Predicates"}
    return [(name, [counts[kind, category] for category in (*CATEGORY_WORDS, None)]) for kind, name in names.items()]


def confusions(run: Run) -> dict[str, list[Confusion]]:
    """Unequal labels that met, by kind, most often first. Predicates meet on the same ordered pair, at any time."""
    labels = {(item.video_id, item.side, item.kind, item.index): form(item) for item in run.rows.items}
    found: dict[str, Counter[tuple[str, str, str]]] = {"relation": Counter(), "object": Counter()}
    for match in run.rows.matches:
        if match.kind in found and not match.is_equal and not match.is_turned:
            one = labels[match.video_id, "reference", match.kind, match.reference]
            two = labels[match.video_id, "prediction", match.kind, match.prediction]
            found[match.kind][one, two, verdict(match)] += 1
    return {
        kind: [
            Confusion(cut(one), cut(two), said, n)
            for (one, two, said), n in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
        ]
        for kind, counts in found.items()
    }


def group(row: Mapping[str, Any]) -> Group:
    """A row of a table of predicates or types."""
    return Group(
        cut(row["group"] or "(none)"),
        int(row["n"]),
        percent(row["relation_accuracy"]),
        percent(row["triplet_accuracy"]),
        round(number(row["triplet_accuracy"]) or 0.0, 1),
        int(row["n_open_triplets"]),
    )


def chosen_videos(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The worst and the best by triplets, then by relations; all as the worst where there are few."""
    scored = [row for row in rows if row["triplet_accuracy"] is not None]
    scored.sort(key=lambda row: (row["triplet_accuracy"], row["relation_accuracy"] or 0.0, -row["n"], row["group"]))
    if len(scored) <= 2 * VIDEOS:
        return scored, []
    return scored[:VIDEOS], scored[: -VIDEOS - 1 : -1]


def left_out(videos: Sequence[VideoRow]) -> list[tuple[str, str, str]]:
    """Video, what of it, and what was done, of videos without a prediction and of answers that had to be mended."""
    found = []
    for row in videos:
        if row.status == "missing":
            found.append((cut(row.video_id), "the whole video", "the predictions lack it; all of it is wrong"))
        if row.repairs or row.n_lost:
            done = ", ".join(map(cut, row.repairs)) or "read as it came"
            found.append((cut(row.video_id), "the model's answer", f"{done}; {counted(row.n_lost, 'part')} lost"))
    return found
