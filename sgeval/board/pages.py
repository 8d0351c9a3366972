"""The page of one submission: what it is, where it stands, why it is not ranked, and its report."""

from pathlib import Path

from sgeval.board.results import REPORT, RUN, Entry, Results
from sgeval.board.settings import Board
from sgeval.board.standing import Standing
from sgeval.errors import counted
from sgeval.report import render_report
from sgeval.report.page import rendered
from sgeval.report.text import NOTHING, cut, metric_name
from sgeval.runs import read_run


def link_to(name: str, words: str) -> str:
    """A link to the page of an entry's id, which is ours and holds nothing of a stranger's."""
    return f'<a href="submission/{name}" target="_blank" rel="noopener">{words}</a>'


def submission_page(entry: Entry, board: Board, found: Standing, results: Results) -> str | None:
    """The HTML of an entry's page; its report stands in a frame that runs nothing. `None` while it is in no table."""
    task, about = board.tasks[entry.task], entry.about
    row = found.find(entry.id)
    if row is None:
        return None
    number, of = results.team_count(entry)
    facts = [
        ("Team", cut(about.team) or NOTHING),
        ("Billions of parameters", f"{about.size:g}" if about.size else "not told"),
        (
            "Added",
            f"{entry.date}, {'scored by the board' if entry.scored_here else 'a run added by the keeper of the board'}",
        ),
        ("Judge or scoring model", cut(entry.judge) or NOTHING),
        ("Submissions of its team to this task", f"number {number} of {of}"),
        ("Word for word as the references", NOTHING if entry.copied is None else f"{100 * entry.copied:.1f} %"),
        *((key, f"{value:,.2f}") for key, value in zip(task.also, row.beside, strict=True) if value is not None),
        ("Id", entry.id),
    ]
    if row.rank is None:
        words = "It has no rank here."
    else:
        words = f"Rank {row.rank} of {counted(len(found.ranked), 'system')}."
        words += " Others have the same score." if row.tie == "=" else ""
        words += " A paired test does not tell it from the first." if row.tie == "≈" else ""
        words += f" To the first: {row.behind}, p {row.p_value}." if row.behind != NOTHING else ""
    data = {
        "board": board.title,
        "task": task.title,
        "system": cut(about.system),
        "metric": metric_name(entry.metric),
        "score": NOTHING if row.score is None else f"{row.score:,.2f}",
        "interval": row.interval,
        "standing": words,
        "differs": row.differs if row.rank is None else (),
        "facts": facts,
        "link": about.link,
        "signature": entry.result["signature"],
        "report": f"/submission/{entry.id}/report",
    }
    return rendered("submission.html", data)


def report_page(entry: Entry, board: Board, results: Results, made: Path) -> str | None:
    """The HTML of an entry's report: the one that came with it, else one that is made of its run when it is first asked for,
    and kept in the folder `made`. `None` where neither can be had."""
    place, kept = results.place(entry), made / f"{entry.id}.html"
    try:
        for path in (place / REPORT, kept):
            if path.is_file():
                return path.read_text(encoding="utf-8")
        render_report(read_run(place / RUN), kept, board.tasks[entry.task].images)
        return kept.read_text(encoding="utf-8")
    except (OSError, ValueError):  # one that a keeper took away or spoilt
        return None
