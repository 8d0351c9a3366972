"""The commands of `sgeval`: what they are called, what they take, how they end.

Exit codes: 0 whole, 2 bad input, 3 finished with parts left out (they are counted), 130 interrupted.
"""

import json
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from sgeval import __version__
from sgeval.errors import SgevalError

BAD_INPUT, INCOMPLETE, INTERRUPTED = 2, 3, 130

app = typer.Typer(
    name="sgeval",
    help="Evaluate scene graphs. Start with `sgeval demo`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    add_completion=False,
)
score_app = typer.Typer(
    help="Score a prediction file with a metric.", no_args_is_help=True, rich_markup_mode="markdown"
)
app.add_typer(score_app, name="score")


def ends_well(command: Callable[..., None]) -> Callable[..., None]:
    """Bad input ends in one message and exit code 2, an interrupt in 130; no traceback for either."""

    @wraps(command)
    def run(*args: Any, **keywords: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                command(*args, **keywords)
        except SgevalError as fault:
            say(f"sgeval: {fault}")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            say("sgeval: interrupted; no results were written")
            raise typer.Exit(INTERRUPTED) from None

    return run


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")


def say(text: str) -> None:
    """A line for a person, on standard error; standard output is for results."""
    print(text, file=sys.stderr)


def print_json(value: Any) -> None:
    """A result for a machine."""
    print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no umlauts is no reason to fail
    app()


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
        say("The demo model knows only its own eight objects and eight predicates; its scores mean nothing elsewhere.")
    say(f"Open {outcome.report}")


@app.command()
@ends_well
def validate(
    file: Annotated[Path, typer.Argument(help="Prediction or annotation file.", show_default=False)],
    references: Annotated[Path | None, typer.Option(help="Annotated graphs: ids are compared with them.")] = None,
    images: Annotated[
        Path | None, typer.Option(help="Folder of pictures: presence, size and boxes are checked.")
    ] = None,
    format: Annotated[str, typer.Option(help="sgeval, rlipv2, coco-rel or psg.")] = "sgeval",
    kind: Annotated[str, typer.Option(help="image or video.")] = "image",
    as_json: Annotated[bool, typer.Option("--json", help="Print every fault as JSON.")] = False,
) -> None:
    """List every fault of a file at once: place, what was expected, what is there.

    Exit code 2 when there is one. Example: `sgeval validate predictions.jsonl --references gold.jsonl --images photos/`
    """
    from sgeval.check import check_file
    from sgeval.cli.show import show_check

    found = check_file(file, references=references, images=images, format=format, kind=kind)
    if as_json:
        print_json(found.as_dict())
    else:
        show_check(found)
    if found.faults:
        raise typer.Exit(BAD_INPUT)


@score_app.command("relclipscore")
@ends_well
def score_relclipscore(
    predictions: Annotated[Path, typer.Option(help="Prediction file, one scene graph a line.", show_default=False)],
    images: Annotated[Path, typer.Option(help="Folder of the pictures.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Run folder to write.", show_default=False)],
    references: Annotated[Path | None, typer.Option(help="Annotated graphs, aligned by image_id.")] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="demo, clip-l14 (default), clip-b32, negclip-b32, siglip-so400m, open_clip:ARCH/TAG, a folder …"
        ),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="Form of the predictions: sgeval, rlipv2, coco-rel or psg.")
    ] = None,
    references_format: Annotated[str | None, typer.Option(help="Form of the references; as --format.")] = None,
    limit: Annotated[int | None, typer.Option(help="Score the first N references only.")] = None,
    matching: Annotated[str | None, typer.Option(help="given (default), pair_iou or union_iou.")] = None,
    penalty: Annotated[str | None, typer.Option(help="guarded (default), bounded, literal or none.")] = None,
    context: Annotated[str | None, typer.Option(help="none (default), ratio:0.2, px:20 or openvocsgg.")] = None,
    fit: Annotated[str | None, typer.Option(help="model (default), pad or squash.")] = None,
    template: Annotated[
        str | None, typer.Option(help='Text of a triplet, e.g. "{subject} {predicate} {object}".')
    ] = None,
    normalisation: Annotated[str | None, typer.Option(help="words (default) or none.")] = None,
    empty: Annotated[
        str | None, typer.Option(help="Pictures without a scored relation: zero (default) or skip.")
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="References without a prediction: error (default) or zero.")
    ] = None,
    ref_formula: Annotated[str | None, typer.Option(help="harmonic (default) or openvocsgg.")] = None,
    on_invalid: Annotated[str | None, typer.Option(help="Faulty parts: error (default) or skip.")] = None,
    on_bad_image: Annotated[str | None, typer.Option(help="Unreadable pictures: error (default) or skip.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Regions encoded at once; 32 by default.")] = None,
    bootstrap: Annotated[
        int | None, typer.Option(help="Replicates for the intervals; 1000 by default, 0 for none.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the intervals; 0 by default.")] = None,
    device: Annotated[str | None, typer.Option(help="auto (default), cpu, cuda, cuda:1 …")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the system in reports; the file's name by default.")] = None,
    config: Annotated[Path | None, typer.Option(help="YAML file of these options; flags win over it.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in --out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """RelCLIPScore: does each union crop look like the relation that was predicted for it?

    Writes results.json, items.parquet and images.parquet into --out. `sgeval report OUT` makes a page of it.

    Example: `sgeval score relclipscore --predictions p.jsonl --references gold.jsonl --images photos/ --model clip-b32
    --out runs/mine`
    """
    from sgeval.cli.scoring import Job, run_job
    from sgeval.cli.show import show_results

    flags = {
        key: value
        for key, value in locals().items()
        if key in Job.OPTION_NAMES and value is not None and not isinstance(value, type)
    }
    job = Job.make(predictions, images, out, references, flags, config)
    run = run_job(job, overwrite=overwrite)
    if as_json:
        print_json(run.result)
    else:
        show_results([run])
    say(f"Wrote {out}; `sgeval report {out}` makes a page of it")
    left_out = {
        key: run.result[key] for key in ("n_invalid", "n_bad_images", "n_undefined_relations") if run.result[key]
    }
    if left_out:
        say("Finished with parts left out: " + ", ".join(f"{key} {count}" for key, count in left_out.items()))
        raise typer.Exit(INCOMPLETE)


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
