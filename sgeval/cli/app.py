"""The commands of `sgeval`: what they are called and what they take."""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from sgeval import __version__
from sgeval.cli import flags, score
from sgeval.cli.board import board_app
from sgeval.cli.bundle import bundle_app
from sgeval.cli.compare import compare
from sgeval.cli.data import data_app
from sgeval.cli.ending import BAD_INPUT, INTERRUPTED, ends_well, print_json, say
from sgeval.cli.judge import judge_app

STOPS = (signal.SIGINT, signal.SIGTERM)
app = typer.Typer(
    name="sgeval",
    help="Evaluate scene graphs. Start with `sgeval demo`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    add_completion=False,
)
app.add_typer(score.app, name="score")
app.add_typer(data_app, name="data")
app.add_typer(judge_app, name="judge")
app.add_typer(bundle_app, name="bundle")
app.add_typer(board_app, name="board")
app.command()(compare)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no umlauts is no reason to fail
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, STOPS),
            after_in_parent=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS),
            after_in_child=_obey_the_pool,
        )
    try:
        app()
    except KeyboardInterrupt:  # while a command was still being loaded
        say("sgeval: interrupted")
        sys.exit(INTERRUPTED)


def _obey_the_pool() -> None:
    """A pool ends its processes by SIGTERM, and waits until they are gone; Ctrl-C is for the one that leads them. Both wait
    until here, since Python forgets a signal that comes while it forks."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"sgeval {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Evaluate scene graphs. Start with `sgeval demo`."""


@app.command()
@ends_well
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the three runs.")] = Path("sgeval-demo"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Score three systems on the shipped scenes with the shipped demo model, and write a report that ranks them.

    Needs no network. Example: `sgeval demo --out my-demo`
    """
    from sgeval.cli.show import show_results
    from sgeval.demo import run_demo

    outcome = run_demo(out)
    if as_json:
        print_json({run.name: run.result for run in outcome.runs})
    else:
        show_results(outcome.runs)
    say(f"Open {outcome.report}")


@app.command()
@ends_well
def validate(
    file: Annotated[
        Path, typer.Argument(help="Graphs, or rows of frames (role values), or a zip of one file.", show_default=False)
    ],
    references: Annotated[
        Path | None, typer.Option(help="Annotated graphs or frames: ids and objects are compared with them.")
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="Folder of pictures: each is decoded; presence, size and boxes are checked.")
    ] = None,
    format: Annotated[
        str, typer.Option(help=f"Form of the file: {flags.FORMS}. With --kind video: {flags.VIDEO_FORMS}.")
    ] = "sgeval",
    references_format: Annotated[str | None, typer.Option(help="Form of the references; as --format.")] = None,
    split: flags.Split = None,
    kind: Annotated[str, typer.Option(help="image or video; of no meaning for frames.")] = "image",
    matching: Annotated[
        str | None,
        typer.Option(
            help="As scoring pictures will: with given, objects that are not the references' are faults; else a warning."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every fault as JSON.")] = False,
) -> None:
    """List every fault of a file at once: place, what was expected, what is there.

    Exit code 2 when there is one. Example: `sgeval validate predictions.jsonl --references gold.jsonl --images photos/`
    · `sgeval validate videos.jsonl --kind video` · `sgeval validate frames.jsonl --references gold.jsonl`
    """
    from sgeval.check import check_file
    from sgeval.cli.show import show_check

    found = check_file(
        file,
        references=references,
        images=images,
        format=format,
        references_format=references_format,
        split=split,
        kind=kind,
        matching=matching,
    )
    if as_json:
        print_json(found.as_dict())
    else:
        show_check(found)
    if found.faults:
        raise typer.Exit(BAD_INPUT)


@app.command()
@ends_well
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders. Several make a ranking.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write; report.html in the (first) run by default.")
    ] = None,
    images: Annotated[Path | None, typer.Option(help="Folder of the pictures, if it has moved.")] = None,
) -> None:
    """Make one self-contained HTML page of a run, or one that ranks several.

    Examples: `sgeval report runs/mine` · `sgeval report runs/mine runs/theirs --out ranking.html`
    """
    from sgeval.report import render_ranking, render_report
    from sgeval.runs import read_run

    read = [read_run(folder) for folder in runs]
    target = out or runs[0] / ("report.html" if len(runs) == 1 else "ranking.html")
    page = render_report(read[0], target, images) if len(read) == 1 else render_ranking(read, target, images)
    say(f"Open {page}")


@app.command()
@ends_well
def doctor(
    model: Annotated[
        str | None, typer.Option(help="One model by any name that --model of score takes; all named ones by default.")
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Folder with the pictures of the golden values; the output names them.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Say what is on this machine, and which models of it are verified, by self-tests and golden values.

    Downloads nothing; models whose weights are not here are named as unverified. Exit code 2 when a check fails.

    Examples: `sgeval doctor` · `sgeval doctor --model clip-b32 --pictures photos/`
    """
    from sgeval.cli.show import show_doctor
    from sgeval.doctor import examine

    found = examine(model, pictures)
    if as_json:
        print_json(found.as_dict())
    else:
        show_doctor(found)
    if not found.is_well:
        raise typer.Exit(BAD_INPUT)
