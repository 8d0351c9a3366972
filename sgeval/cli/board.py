"""The commands of `sgeval board`: a leaderboard's results."""

from pathlib import Path
from typing import Annotated

import typer

from sgeval.cli.ending import ends_well, say

board_app = typer.Typer(
    help="A leaderboard: its results. `python app.py` in its folder serves it.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@board_app.callback()
def board() -> None:
    """A leaderboard: its results. `python app.py` in its folder serves it."""


@board_app.command()
@ends_well
def add(
    run: Annotated[Path, typer.Argument(help="Run folder.", show_default=False)],
    task: Annotated[str, typer.Option(help="Id of a task of the board.", show_default=False)],
    board: Annotated[Path, typer.Option(help="Folder of the board, with board.yaml.")] = Path(),
    results: Annotated[Path | None, typer.Option(help="Folder of its results; results/ in --board by default.")] = None,
    system: Annotated[str | None, typer.Option(help="Name on the board; that of the run by default.")] = None,
    team: Annotated[str, typer.Option(help="Who made it.")] = "",
    link: Annotated[str, typer.Option(help="Its page, https://…")] = "",
    size: Annotated[float | None, typer.Option(help="Billions of parameters.")] = None,
) -> None:
    """Add a run to a leaderboard: one that the board cannot score itself (another judge, a scoring model for θ, hidden data).

    It is ranked where its protocol is the task's, and shown apart with what differs where not. Nothing on a board is ever
    replaced.

    Example: `sgeval board add runs/mine --board benchmarks/leaderboard --task demo_videos --system "My model" --size 7`
    """
    from sgeval.board import Results, read_board
    from sgeval.board.results import About, make_entry
    from sgeval.errors import one_line, one_of
    from sgeval.runs import read_run

    found = read_board(board)
    one_of("task", task, found.tasks)
    read = read_run(run)
    about = About.checked(system or read.name, team, link, size)
    entry = make_entry(read, found.tasks[task], about)
    folder = Results(results or board / "results", found.tasks).add(entry, read)
    say(f"Added as {folder}")
    if entry.differs:
        words = "; ".join(
            f"{part}: the task has {there or 'none'}, the run {here or 'none'}" for part, there, here in entry.differs
        )
        say(one_line(f"It is shown apart, for its protocol is not the task's: {words}"))
        say(one_line(f"A run that ranks: {found.tasks[task].score_command}"))
