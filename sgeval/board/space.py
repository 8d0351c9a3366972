"""The board as a Gradio app: a table a task, a form to submit to, an about page."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import gradio as gr

from sgeval.board.guard import is_upload
from sgeval.board.pages import link_to
from sgeval.board.results import About
from sgeval.board.scoring import ENDINGS, Outcome, Scorer
from sgeval.board.settings import Board, Task
from sgeval.board.standing import Row, Standing
from sgeval.board.tables import ALL, Tables, Wanted, headings, kinds, sizes, table, widths
from sgeval.errors import SgevalError, counted, one_line
from sgeval.report.text import NOTHING, metric_name

LEGEND = (
    "Rank and interval are those of `sgeval compare`. **=**: the same score. **≈**: a paired test does not tell the system "
    "from the first one. Runs of another protocol, judge or version measure something else; they stand below, with what "
    "differs, and have no rank. The ⋮ of a heading sorts."
)
FAULTS = ("Where (JSON pointer)", "What was expected, and what is there")


def build(board: Board, tables: Tables, scorer: Scorer, about: str, uploads: Path) -> Any:
    """The page of a board, whose guard sweeps the folder of uploads."""
    with gr.Blocks(title=board.title, analytics_enabled=False) as page:
        gr.Markdown(f"# {board.title}")
        with gr.Tabs():
            for task in board.tasks.values():
                _table_tab(page, task, tables)
            _submit_tab(board, tables, scorer, uploads)
            with gr.Tab("About", id="about"):
                gr.Markdown(about)
    return page


def _table_tab(page: Any, task: Task, tables: Tables) -> None:
    found = tables.of(task.id)
    with gr.Tab(task.title, id=task.id):
        intro = gr.Markdown(_intro(task, found))
        with gr.Row(equal_height=True):
            search = gr.Textbox(
                label="Search systems and teams", max_lines=1, max_length=200, elem_id=f"{task.id}-search"
            )
            size = gr.Dropdown([ALL, *sizes(found)], value=ALL, label="Model size")
            judge = gr.Dropdown([ALL, *found.judges()], value=ALL, label="Judge or scoring model")
            protocol = gr.Dropdown([ALL, *found.protocols()], value=ALL, label="Protocol")
        ranked = _frame(task, found.ranked, is_apart=False)
        gr.Markdown(LEGEND)
        gr.Markdown("### Not ranked with these")
        apart = _frame(task, found.apart, is_apart=True)
        notes = gr.Markdown(found.notes)
    filters: list[Any] = [search, size, judge, protocol]

    def look(search: str, size: str, judge: str, protocol: str) -> tuple[Any, ...]:
        now = tables.of(task.id)
        wanted = Wanted(str(search or "")[:200], size or ALL, judge or ALL, protocol or ALL)
        below = gr.Dataframe(table(task, now.apart, wanted, is_apart=True), visible=bool(now.apart))
        return table(task, now.ranked, wanted, is_apart=False), below, now.notes, _intro(task, now)

    def open(*given: Any) -> tuple[Any, ...]:
        now = tables.of(task.id)
        if now is found:  # the page came with it
            return (gr.skip(),) * (len(outputs) + 3)
        choices = (sizes(now), now.judges(), now.protocols())
        return *look(*given), *(gr.Dropdown(choices=[ALL, *each]) for each in choices)

    quiet: dict[str, Any] = {"show_progress": "hidden", "queue": False, "api_visibility": "private"}
    outputs = [ranked, apart, notes, intro]
    page.load(open, filters, [*outputs, size, judge, protocol], **quiet)
    # one event for all filters, so that the answer to the last choice is the last to come
    gr.on([each.change for each in filters], look, filters, outputs, trigger_mode="always_last", **quiet)


def _intro(task: Task, found: Standing) -> str:
    """What is asked, and by what is ranked."""
    over = f", over {counted(found.n_units, found.unit)}" if found.n_units else ""
    return f"{task.what}\n\nRanked by `{task.key}` of {metric_name(task.metric)}{over}. Higher is better."


def _frame(task: Task, rows: Sequence[Row], *, is_apart: bool) -> Any:
    return gr.Dataframe(
        table(task, rows, Wanted(), is_apart=is_apart),
        headers=headings(task, is_apart=is_apart),
        datatype=kinds(task, is_apart=is_apart),
        column_widths=widths(task, is_apart=is_apart),
        visible=bool(rows) or not is_apart,
        type="array",
        interactive=False,
        show_label=False,
        wrap=True,
        max_height=700,
        buttons=[],
        elem_id=f"{task.id}-{'apart' if is_apart else 'ranked'}",
    )


def _submit_tab(board: Board, tables: Tables, scorer: Scorer, uploads: Path) -> None:
    open_tasks = [(task.title, task.id) for task in board.tasks.values() if task.submissions]
    if not open_tasks:
        return
    limits = board.limits
    with gr.Tab("Submit", id="submit"):
        commands = dict.fromkeys(task.validate_command for task in board.tasks.values() if task.submissions)
        gr.Markdown(
            f"Send a prediction file ({', '.join(ENDINGS)}; a zip holds one of them at its top), at most "
            f"{limits.upload_bytes // 10**6:,} MB. Every fault is listed with its JSON pointer. On your own machine, with "
            f"the references, {' or '.join(f'`{command}`' for command in commands)} finds the same faults."
        )
        with gr.Row():
            with gr.Column():
                task = gr.Dropdown(open_tasks, value=open_tasks[0][1], label="Task")
                file = gr.File(label="Prediction file", file_types=list(ENDINGS), type="filepath", height=140)
            with gr.Column():
                system = gr.Textbox(
                    label="System", max_lines=1, max_length=80, info="Its name on the board.", elem_id="submit-system"
                )
                team = gr.Textbox(label="Team (optional)", max_lines=1, max_length=80, elem_id="submit-team")
                link = gr.Textbox(
                    label="Link (optional)", max_lines=1, max_length=300, info="https://…", elem_id="submit-link"
                )
                size = gr.Number(
                    label="Billions of parameters (optional)", minimum=0, info="0: not told", elem_id="submit-size"
                )
        with gr.Row():
            check = gr.Button("Validate only")
            submit = gr.Button("Score and publish", variant="primary")
        status = gr.Textbox(label="Answer", interactive=False, lines=2, max_lines=8, elem_id="answer")
        page = gr.HTML(elem_id="answer-page", visible=False)
        faults = gr.Dataframe(
            headers=list(FAULTS),
            datatype=["str", "str"],
            type="array",
            interactive=False,
            wrap=True,
            buttons=[],
            label="Faults",
            max_height=500,
            column_widths=["30%", "70%"],
            visible=False,
            elem_id="faults",
        )
    visitors = Visitors(limits.an_hour)

    def answer(request: gr.Request, name: str, path: str | None, is_published: bool, *given: Any) -> tuple[Any, ...]:
        """Answer, link, faults, and the file: it stays for a second try until it was scored."""
        there = gr.skip()
        try:
            if name not in board.tasks:
                raise SgevalError("task: expected one of the board, got another")
            about = About.checked(*given) if is_published else None
            if path is None or not is_upload(Path(path), uploads) or not Path(path).is_file():
                raise SgevalError("submission: expected a file, got none; please choose it again")
            visitors.count(_visitor(request))
            if about is None:
                outcome = scorer.check(board.tasks[name], Path(path))
            else:
                outcome = scorer.submit(board.tasks[name], Path(path), about)
                there = None  # out of the form; on the disk it may be another visitor's too
        except SgevalError as fault:
            return one_line(str(fault)), *_below("", []), there
        return *_told(outcome, tables, name), there

    more: dict[str, Any] = {
        "concurrency_limit": limits.at_once,
        "concurrency_id": "scoring",
        "api_visibility": "private",
        "trigger_mode": "once",
    }
    about = [system, team, link, size]
    for button, is_published in ((check, False), (submit, True)):
        button.click(_bound(answer, is_published), [task, file, *about], [status, page, faults, file], **more)


def _bound(answer: Callable[..., Any], is_published: bool) -> Callable[..., Any]:
    def run(task: str, file: str | None, system: str, team: str, link: str, size: Any, request: gr.Request) -> Any:
        return answer(request, task, file, is_published, system, team, link, size)

    return run


def _told(outcome: Outcome, tables: Tables, task: str) -> tuple[Any, ...]:
    """Answer, link and faults."""
    if outcome.faults:
        rows = [[fault["pointer"], fault["message"]] for fault in outcome.faults]
        told = "".join(f" {each}." for each in outcome.warnings[:5])
        more = f"; the first {len(rows):,} are listed" if outcome.n_faults > len(rows) else ""
        return f"Not published: {counted(outcome.n_faults, 'fault')}{more}.{told}", *_below("", rows)
    there = ", ".join(f"{number:,} {name}" for name, number in (outcome.counts or {}).items())
    words = "".join(f" {each}." for each in outcome.warnings[:5])
    if outcome.entry is None:
        return f"No faults: {there}.{words}", *_below("", [])
    found = tables.of(task)
    row = found.find(outcome.entry.id)
    where = f" {_stands(row, len(found.ranked))}" if row else ""
    return f"Published{where}. {there}.{words}", *_below(link_to(outcome.entry.id, "Open its page"), [])


def _stands(row: Row, n_ranked: int) -> str:
    """Score, interval where it has one, and place.

    `with 96.67 [88.33, 100.00], rank 1 of 4`
    """
    score = NOTHING if row.score is None else f"{row.score:,.2f}"
    place = "not ranked: " + row.protocol if row.rank is None else f"rank {row.rank} of {n_ranked}"
    return f"with {' '.join(filter(None, (score, row.interval)))}, {place}"


def _below(link: str, rows: list[list[str]]) -> tuple[Any, Any]:
    """What stands below an answer, where there is any."""
    return gr.HTML(link, visible=bool(link)), gr.Dataframe(rows, visible=bool(rows))


def _visitor(request: gr.Request | None) -> str:
    """The address that a request comes from. On a Space that is the last one that the proxy before it names, which a
    visitor cannot choose; elsewhere a visitor can write that header, so it counts for nothing."""
    if request is None:
        return ""
    lines = request.headers.getlist("x-forwarded-for") if os.environ.get("SPACE_ID") else []
    forwarded = lines[-1].split(",")[-1].strip() if lines else ""
    return forwarded or (request.client.host if request.client else "")


class Visitors:
    """Counts submissions by visitor and hour."""

    def __init__(self, most: int, now: Callable[[], float] = monotonic) -> None:
        self.most, self.now = most, now
        self._seen: dict[str, list[float]] = {}
        self._busy = Lock()

    def count(self, visitor: str) -> None:
        """Note a submission. Raises `SgevalError` when there were too many within an hour."""
        with self._busy:
            now = self.now()
            self._seen = {
                name: kept for name, times in self._seen.items() if (kept := [at for at in times if now - at < 3600])
            }
            if len(self._seen.get(visitor, ())) >= self.most:
                raise SgevalError(
                    f"submission: expected at most {self.most} in an hour from one visitor; please come again later"
                )
            self._seen.setdefault(visitor, []).append(now)
