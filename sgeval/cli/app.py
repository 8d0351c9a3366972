"""The commands of `sgeval`: what they are called and what they take."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgeval import __version__
from sgeval.cli.ending import BAD_INPUT, INCOMPLETE, INTERRUPTED, ends_well, print_json, resumable, say

if TYPE_CHECKING:
    from sgeval.cli.scoring import Metric

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


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no umlauts is no reason to fail
    signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGINT))
    try:
        app()
    except KeyboardInterrupt:  # while a command was still being loaded
        say("sgeval: interrupted")
        sys.exit(INTERRUPTED)


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
    file: Annotated[Path, typer.Argument(help="Prediction or annotation file.", show_default=False)],
    references: Annotated[
        Path | None, typer.Option(help="Annotated graphs: ids and objects are compared with them.")
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="Folder of pictures: each is decoded; presence, size and boxes are checked.")
    ] = None,
    format: Annotated[str, typer.Option(help="Form of the file: sgeval, rlipv2, coco-rel or psg.")] = "sgeval",
    references_format: Annotated[str | None, typer.Option(help="Form of the references; as --format.")] = None,
    kind: Annotated[str, typer.Option(help="image or video.")] = "image",
    as_json: Annotated[bool, typer.Option("--json", help="Print every fault as JSON.")] = False,
) -> None:
    """List every fault of a file at once: place, what was expected, what is there.

    Exit code 2 when there is one. Example: `sgeval validate predictions.jsonl --references gold.jsonl --images photos/`
    """
    from sgeval.check import check_file
    from sgeval.cli.show import show_check

    found = check_file(
        file,
        references=references,
        images=images,
        format=format,
        references_format=references_format,
        kind=kind,
    )
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
            help="demo, clip-l14 (default), clip-b32, negclip-b32, siglip-so400m, blip2-itm-g, open_clip:ARCH/TAG, "
            "transformers:ORG/REPO, a folder …"
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
    precision: Annotated[
        str | None, typer.Option(help="fp32 (default), or bf16: faster on hardware for it, scores move a little.")
    ] = None,
    preprocess: Annotated[
        str | None, typer.Option(help="pil (default), or tensor: faster crops, scores move a little.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder on a local disk that keeps embeddings, so that no run encodes them again; scores may move in "
            "their last digits."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the system in reports; the file's name by default.")] = None,
    config: Annotated[Path | None, typer.Option(help="YAML file of these options; flags win over it.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run into --out stopped; start when there is none.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in --out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """RelCLIPScore: does each union crop look like the relation that was predicted for it?

    Writes results.json, items.parquet and images.parquet into --out. `sgeval report OUT` makes a page of it. A run that
    was stopped, by whatever, goes on with --resume and ends in the same results.

    Example: `sgeval score relclipscore --predictions p.jsonl --references gold.jsonl --images photos/ --model clip-b32
    --out runs/mine`
    """
    given = dict(locals())
    from sgeval.cli.scoring import RELCLIPSCORE

    _score(RELCLIPSCORE, given)


@score_app.command("theta")
@ends_well
def score_theta(
    references: Annotated[Path, typer.Option(help="Annotated graphs, one a line.", show_default=False)],
    images: Annotated[Path, typer.Option(help="Folder of the pictures.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Run folder to write.", show_default=False)],
    model: Annotated[
        str | None, typer.Option(help="The scoring model that is judged; as for relclipscore, clip-l14 by default.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Form of the graphs: sgeval, rlipv2, coco-rel or psg.")] = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            help="Candidates, where they are not those of the references: one JSON object a line with subject, "
            "predicate and object. The vocabulary.jsonl of another run is one."
        ),
    ] = None,
    vocabulary_graphs: Annotated[
        list[Path] | None, typer.Option(help="Graphs of another split whose predicates are candidates too; repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Score the first N graphs only; the vocabulary is still of all.")
    ] = None,
    score: Annotated[str | None, typer.Option(help="Value of mean_score: cosine (default) or softmax100.")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="paper (default), or openvocsgg: what the authors' script computes.")
    ] = None,
    singletons: Annotated[str | None, typer.Option(help="Pairs with one candidate: skip (default) or include.")] = None,
    cooccurring: Annotated[
        str | None, typer.Option(help="Candidates also true of the same two objects: keep (default) or exclude.")
    ] = None,
    confusers: Annotated[
        str | None, typer.Option(help="Confused triplets: the top confuser (default) or all of them.")
    ] = None,
    symmetric: Annotated[
        list[str] | None,
        typer.Option(help="Predicate left out of the direction test, in place of the default list; repeatable."),
    ] = None,
    context: Annotated[str | None, typer.Option(help="none (default), ratio:0.2, px:20 or openvocsgg.")] = None,
    fit: Annotated[str | None, typer.Option(help="model (default), pad or squash.")] = None,
    template: Annotated[
        str | None, typer.Option(help='Text of a triplet, e.g. "{subject} {predicate} {object}".')
    ] = None,
    normalisation: Annotated[str | None, typer.Option(help="words (default) or none.")] = None,
    on_invalid: Annotated[str | None, typer.Option(help="Faulty parts: error (default) or skip.")] = None,
    on_bad_image: Annotated[str | None, typer.Option(help="Unreadable pictures: error (default) or skip.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Regions encoded at once; 32 by default.")] = None,
    bootstrap: Annotated[
        int | None, typer.Option(help="Replicates for the intervals; 1000 by default, 0 for none.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of intervals and random predicates; 0 by default.")] = None,
    device: Annotated[str | None, typer.Option(help="auto (default), cpu, cuda, cuda:1 …")] = None,
    precision: Annotated[
        str | None, typer.Option(help="fp32 (default), or bf16: faster on hardware for it, scores move a little.")
    ] = None,
    preprocess: Annotated[
        str | None, typer.Option(help="pil (default), or tensor: faster crops, scores move a little.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder on a local disk that keeps embeddings; scores may move in the last digits."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run in reports; the model's by default.")] = None,
    config: Annotated[Path | None, typer.Option(help="YAML file of these options; flags win over it.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a run into --out stopped; start when there is none.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in --out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """θ: does the scoring model prefer the annotated predicate to the others of its pair of classes?

    Judges the model, not a prediction. Writes results.json, items.parquet, images.parquet and vocabulary.jsonl into
    --out. `sgeval report OUT` makes a page of it. Lists of scores made elsewhere are scored from Python: `sgeval.theta`.

    Example: `sgeval score theta --references gold.jsonl --images photos/ --model clip-b32 --out runs/theta`
    """
    given = dict(locals())
    from sgeval.cli.scoring import THETA

    _score(THETA, given)


def _score(metric: "Metric", given: dict[str, Any]) -> None:
    """Run a scoring command on what its flags were given, and tell how it went."""
    from sgeval.cli.scoring import Job, run_job, setting_names
    from sgeval.cli.show import show_results

    out: Path = given["out"]
    files = {flag: given[flag] for flag in metric.files}
    flags = {key: given[key] for key in setting_names(metric) if given.get(key) is not None}
    job = Job.make(metric, files, given["images"], out, flags, given["config"])
    with resumable():
        run = run_job(job, overwrite=given["overwrite"], resume=given["resume"])
    if given["as_json"]:
        print_json(run.result)
    else:
        show_results([run])
    say(f"The run is in {out}; `sgeval report {out}` makes a page of it")
    parts = ("n_invalid", "n_unlisted", "n_bad_images", "n_undefined_relations")
    left_out = {key: run.result[key] for key in parts if run.result.get(key)}
    if left_out:
        say("Finished with parts left out: " + ", ".join(f"{key} {count}" for key, count in left_out.items()))
    if left_out or run.result[run.metric] is None:
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
