"""`sgeval score METRIC`: what each scoring command takes, and how it tells what came of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgeval.cli import flags
from sgeval.cli.ending import AGAIN, INCOMPLETE, ends_well, print_json, resumable, say

if TYPE_CHECKING:
    from sgeval.cli.scoring import Metric
    from sgeval.runs import Run

app = typer.Typer(
    help="Score a prediction file with a metric, or a scoring model with theta.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@app.command()
@ends_well
def relclipscore(
    predictions: Annotated[Path, typer.Option(help="Prediction file, one scene graph a line.", show_default=False)],
    out: flags.Out,
    images: flags.Images = None,
    references: Annotated[Path | None, typer.Option(help="Annotated graphs, aligned by image_id.")] = None,
    model: Annotated[str | None, typer.Option(help=flags.MODELS)] = None,
    format: Annotated[str | None, typer.Option(help=f"Form of the predictions: {flags.FORMS}.")] = None,
    references_format: Annotated[str | None, typer.Option(help="Form of the references; as --format.")] = None,
    split: flags.Split = None,
    limit: Annotated[int | None, typer.Option(help="Score the first N references only.")] = None,
    matching: Annotated[str | None, typer.Option(help="given (default), pair_iou or union_iou.")] = None,
    pairs: Annotated[
        str | None,
        typer.Option(help="predicted (default), or gold: the pairs of the references, 0 where nothing was predicted."),
    ] = None,
    penalty: Annotated[str | None, typer.Option(help="guarded (default), bounded, literal or none.")] = None,
    context: flags.Context = None,
    fit: flags.Fit = None,
    template: flags.Template = None,
    normalisation: flags.Normalisation = None,
    empty: Annotated[
        str | None, typer.Option(help="Pictures without a scored relation: zero (default) or skip.")
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="References without a prediction: error (default) or zero.")
    ] = None,
    ref_formula: Annotated[str | None, typer.Option(help="harmonic (default) or openvocsgg.")] = None,
    on_invalid: flags.OnInvalid = None,
    on_bad_image: flags.OnBadImage = None,
    batch_size: flags.BatchSize = None,
    bootstrap: flags.Bootstrap = None,
    seed: flags.Seed = None,
    device: flags.Device = None,
    precision: flags.Precision = None,
    preprocess: flags.Preprocess = None,
    cache: flags.Cache = None,
    name: flags.SystemName = None,
    config: flags.Config = None,
    resume: flags.Resume = False,
    overwrite: flags.Overwrite = False,
    as_json: flags.Json = False,
) -> None:
    """RelCLIPScore: does each union crop look like the relation that was predicted for it?

    Writes results.json, items.parquet and images.parquet into --out. `sgeval report OUT` makes a page of it. A run that
    was stopped, by whatever, goes on with --resume and ends in the same results.

    Examples: `sgeval score relclipscore --predictions p.jsonl --references gold.jsonl --images photos/ --model clip-b32
    --out runs/mine` · with a data set's own files: `… --references psg/ --references-format psg --split test`
    """
    given = dict(locals())
    from sgeval.cli.scoring import RELCLIPSCORE

    _score(RELCLIPSCORE, given)


@app.command()
@ends_well
def theta(
    references: Annotated[Path, typer.Option(help="Annotated graphs, one a line.", show_default=False)],
    out: flags.Out,
    images: flags.Images = None,
    model: Annotated[str | None, typer.Option(help=f"The model that is judged: {flags.MODELS}")] = None,
    format: Annotated[str | None, typer.Option(help=f"Form of the graphs: {flags.FORMS}.")] = None,
    split: flags.Split = None,
    vocabulary: Annotated[
        Path | None,
        typer.Option(
            help="Candidates, where they are not those of the references: one JSON object a line with subject, "
            "predicate and object, or Parquet with these columns, or a folder of such: the vocabulary.jsonl of another run, "
            "pair_vocabulary/ of `sgeval data export`."
        ),
    ] = None,
    vocabulary_graphs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Further graphs whose predicates are candidates too; all splits of a data set's folder; repeatable."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Score the first N graphs only; the vocabulary is still of all.")
    ] = None,
    score: Annotated[str | None, typer.Option(help="Value of mean_score: cosine (default) or softmax100.")] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="paper (default), or openvocsgg: the script's rank rule; its crop, text and softmax are other options."
        ),
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
    context: flags.Context = None,
    fit: flags.Fit = None,
    template: flags.Template = None,
    normalisation: flags.Normalisation = None,
    on_invalid: flags.OnInvalid = None,
    on_bad_image: flags.OnBadImage = None,
    batch_size: flags.BatchSize = None,
    bootstrap: flags.Bootstrap = None,
    seed: Annotated[int | None, typer.Option(help="Seed of intervals and random predicates; 0 by default.")] = None,
    device: flags.Device = None,
    precision: flags.Precision = None,
    preprocess: flags.Preprocess = None,
    cache: flags.Cache = None,
    name: Annotated[str | None, typer.Option(help="Name of the run in reports; the model's by default.")] = None,
    config: flags.Config = None,
    resume: flags.Resume = False,
    overwrite: flags.Overwrite = False,
    as_json: flags.Json = False,
) -> None:
    """θ: does the scoring model prefer the annotated predicate to the others of its pair of classes?

    Judges the model, not a prediction. Writes results.json, items.parquet, images.parquet and vocabulary.jsonl into
    --out. `sgeval report OUT` makes a page of it. Lists of scores made elsewhere are scored from Python: `sgeval.theta`.

    Examples: `sgeval score theta --references gold.jsonl --images photos/ --model clip-b32 --out runs/theta` · `sgeval
    score theta --references vg/ --format vg150 --split test --out runs/vg150`
    """
    given = dict(locals())
    from sgeval.cli.scoring import THETA

    _score(THETA, given)


@app.command("ssg_role_values")
@ends_well
def ssg_role_values(
    predictions: Annotated[
        Path, typer.Option(help="Predicted rows of frames, or scene graphs with roles, one a line.", show_default=False)
    ],
    references: Annotated[
        Path,
        typer.Option(
            help="Annotated rows or graphs; with --references-format ssg the folder of SSG.", show_default=False
        ),
    ],
    out: flags.Out,
    format: Annotated[
        str | None, typer.Option(help="Form of the predictions: sgeval (rows or graphs; default).")
    ] = None,
    references_format: Annotated[
        str | None, typer.Option(help="Form of the references: sgeval (rows or graphs; default) or ssg.")
    ] = None,
    split: flags.Split = None,
    limit: Annotated[int | None, typer.Option(help="Score the first N pictures of the references only.")] = None,
    verb_setting: Annotated[
        str | None, typer.Option(help="top1 (default): a wrong verb makes its roles wrong; or gold.")
    ] = None,
    max_values: Annotated[
        int | None, typer.Option(help="Predicted values of a role that may be right: the first N; all by default.")
    ] = None,
    missing: Annotated[
        str | None, typer.Option(help="Frames without a prediction: zero (default: wrong) or error.")
    ] = None,
    on_invalid: flags.OnInvalid = None,
    bootstrap: flags.Bootstrap = None,
    seed: flags.Seed = None,
    name: flags.SystemName = None,
    config: flags.Config = None,
    overwrite: flags.Overwrite = False,
    as_json: flags.Json = False,
) -> None:
    """Role values of situational graphs: is what is said of persons, objects and their contacts right?

    Writes results.json and items.parquet into --out. `sgeval report OUT` makes a page of it. Multiple choice is scored
    from Python: `sgeval.ssg_role_values(..., config="vqa")`.

    Example: `sgeval score ssg_role_values --predictions p.jsonl --references ssg/ --references-format ssg --split test
    --out runs/mine`
    """
    given = dict(locals())
    from sgeval.cli.files import ROLE_VALUES, Job, run_job
    from sgeval.cli.show import show_role_values

    run = run_job(Job.make(ROLE_VALUES, given), overwrite=overwrite)
    if as_json:
        print_json(run.result)
    else:
        show_role_values(run)
    _tell_end(run, out, ("n_invalid", "n_unknown_frames"), run.result[run.headline] is None)


@app.command("svg2_temporal_accuracy")
@ends_well
def svg2_temporal_accuracy(
    predictions: flags.SaidVideos,
    references: flags.GoldVideos,
    out: flags.Out,
    judge: flags.Judge = None,
    judge_option: flags.JudgeOption = None,
    max_cost: flags.MaxCost = None,
    dry_run: flags.DryRun = False,
    format: flags.VideoForm = None,
    references_format: flags.GoldForm = None,
    split: flags.Split = None,
    limit: flags.Limit = None,
    threshold: Annotated[
        list[float] | None, typer.Option(help="tIoU to be above of, beside 0.5; repeatable.", show_default=False)
    ] = None,
    denominator: Annotated[
        str | None, typer.Option(help="references (default), or predictions: precision too.")
    ] = None,
    average: Annotated[str | None, typer.Option(help="items (default: pooled) or video.")] = None,
    assignment: Annotated[str | None, typer.Option(help="any (default) or one_to_one.")] = None,
    max_per_pair: flags.MaxPerPair = None,
    ignore_direction: flags.IgnoreDirection = None,
    merge_same_predicate: flags.MergeSamePredicate = None,
    strict: Annotated[str | None, typer.Option(help="judge (default), or string: equal strings alone.")] = None,
    endpoint_match: Annotated[
        str | None, typer.Option(help="Ends of strict triplets: lenient (default) or same.")
    ] = None,
    missing_interval: Annotated[
        str | None, typer.Option(help="Relations without a span: whole (default) or fail.")
    ] = None,
    level: flags.Level = None,
    restrict_to_given: flags.RestrictToGiven = None,
    identical: Annotated[str | None, typer.Option(help="judge (default), or canonical: equal labels alone.")] = None,
    prediction_span_end: Annotated[
        str | None, typer.Option(help="exclusive (default), or inclusive: [a, b] means [a, b + 1).")
    ] = None,
    max_unjudged: Annotated[
        float | None, typer.Option(help="Share of items that may stay undecided; 0 by default.")
    ] = None,
    missing: flags.MissingVideos = None,
    on_invalid: flags.OnInvalid = None,
    bootstrap: flags.Bootstrap = None,
    seed: flags.Seed = None,
    name: flags.SystemName = None,
    config: flags.Config = None,
    overwrite: flags.Overwrite = False,
    as_json: flags.Json = False,
) -> None:
    """SVG2 temporal accuracy: objects, attributes, relations and triplets of videos, judged by meaning and by time.

    Writes results.json, items.parquet, matches.parquet and videos.parquet into --out. What a language model says is kept
    in OUT/verdicts: the same command, given again, goes on where it stopped; with --overwrite only what has no verdict
    yet is asked. Exit code 3 when a headline is withheld since verdicts are missing; the same command then asks for those.

    Examples: `sgeval score svg2_temporal_accuracy --predictions p.jsonl --references pvsg/ --references-format pvsg --split
    val --out runs/mine` · `… --format answers --judge openai/gpt-4o-mini --max-cost 5 --dry-run`
    """
    given = dict(locals())
    from sgeval.cli.files import TEMPORAL, Job, estimate, run_job
    from sgeval.cli.show import show_temporal
    from sgeval.temporal import KINDS, is_withheld

    job = Job.make(TEMPORAL, {**given, **flags.temporal(given)})
    if dry_run:
        print_json(estimate(job))
        return
    with resumable(AGAIN):
        run = run_job(job, overwrite=overwrite)
    if as_json:
        print_json(run.result)
    else:
        show_temporal(run)
    is_empty = all(run.result[f"{kind}_accuracy"] is None for kind in KINDS)
    parts = ("n_invalid", "n_unjudged_pairs") if is_withheld(run.result) else ("n_invalid",)
    if run.result["n_unjudged_pairs"]:
        say(AGAIN)
    _tell_end(run, out, parts, is_empty)


def _score(metric: "Metric", given: dict[str, Any]) -> None:
    """Run a scoring command on what its flags were given, and tell how it went."""
    from sgeval.cli.scoring import Job, run_job, setting_names
    from sgeval.cli.show import show_results

    out: Path = given["out"]
    files = {flag: given[flag] for flag in metric.files}
    settings = {key: given[key] for key in setting_names(metric) if given.get(key) is not None}
    job = Job.make(metric, files, given["images"], out, settings, given["config"])
    with resumable():
        run = run_job(job, overwrite=given["overwrite"], resume=given["resume"])
    if given["as_json"]:
        print_json(run.result)
    else:
        show_results([run])
    parts = ("n_invalid", "n_unlisted", "n_bad_images", "n_undefined_relations")
    _tell_end(run, out, parts, run.result[run.headline] is None)


def _tell_end(run: "Run", out: Path, parts: Sequence[str], is_empty: bool) -> None:
    """Say where the run is, and end with what it left out: `parts` are the counts of that; `is_empty`: no score at all."""
    say(f"The run is in {out}; `sgeval report {out}` makes a page of it")
    left_out = {key: run.result[key] for key in parts if run.result.get(key)}
    if left_out:
        say("Finished with parts left out: " + ", ".join(f"{key} {count}" for key, count in left_out.items()))
    if left_out or is_empty:
        raise typer.Exit(INCOMPLETE)
