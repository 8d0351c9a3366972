"""The commands of `sgeval judge`: what a judge of labels is worth, and judging before scoring."""

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgeval.cli import flags
from sgeval.cli.ending import AGAIN, INCOMPLETE, ends_well, print_json, resumable, say
from sgeval.cli.score import svg2_temporal_accuracy

if TYPE_CHECKING:
    from sgeval.judges.evaluation import Agreement, Kappa

judge_app = typer.Typer(
    help="Judges of labels: how far one agrees with the gold set, and with itself; and judging before scoring.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

VIEWS = ("five", "lenient", "strict")


@judge_app.callback()
def judges() -> None:
    """Judges of labels: how far one agrees with the gold set, and with itself; and judging before scoring."""


@judge_app.command()
@ends_well
@flags.flags_of(svg2_temporal_accuracy)
def ask(given: dict[str, Any]) -> None:
    """Ask a language model what `sgeval score svg2_temporal_accuracy` would ask, and keep the verdicts; score later.

    The flags are those of scoring, so that its command line can be taken as it is; those that do not decide what is asked are
    for the command that it prints on standard error, which scores without a request. Verdicts are kept in OUT/verdicts, or in
    the folder of `--judge-option cache=DIR`, and never asked for again: after a kill the same command goes on. Prints what
    judging came to. Exit code 3 when pairs are left unjudged.

    Example: `sgeval judge ask --predictions p.jsonl --references gold.jsonl --judge openai/gpt-4o-mini --out runs/mine`
    """
    from sgeval.cli.files import TEMPORAL, Job, ask_all, estimate

    job = Job.make(TEMPORAL, {**given, **flags.temporal(given)})
    if given["dry_run"]:
        print_json(estimate(job))
        return
    with resumable(AGAIN):
        tally = ask_all(job)
    print_json(tally.as_dict())
    say(f"To score: {_command('score svg2_temporal_accuracy', given)}")
    if tally.unjudged:
        raise typer.Exit(INCOMPLETE)


def _command(name: str, given: Mapping[str, Any]) -> str:
    """A command line with the flags that were given."""
    parts = ["sgeval", *name.split(" ")]
    for key, value in given.items():
        for one in value if isinstance(value, list) else [value]:
            if one is not None and one is not False:
                parts += [f"--{key.removeprefix('as_').replace('_', '-')}", *([] if one is True else [str(one)])]
    return shlex.join(parts)


@judge_app.command()
@ends_well
def evaluate(
    judge: Annotated[
        str,
        typer.Argument(
            help="exact, wordnet, embedding:MODEL, or provider/model of a language model.", show_default=False
        ),
    ],
    part: Annotated[
        str, typer.Option(help="Part of the gold set: test, or dev, on which thresholds are fitted.")
    ] = "test",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            help="Option of a language model as KEY=VALUE, e.g. batch=20 or cache=DIR; JSON or text; repeatable.",
        ),
    ] = None,
    bootstrap: flags.Bootstrap = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the intervals.")] = 0,
    as_json: flags.Json = False,
) -> None:
    """Put the gold set before a judge: confusion matrix, Cohen's kappa with intervals, false accepts and rejects, flip
    rates and coverage.

    The gold set is made from WordNet and LVIS, so the agreement of `wordnet` is circular, and said to be. With batches of a
    language model (`--option batch=20`) the pairs are asked one by one too. Exit code 3 when pairs are left unjudged.

    Examples: `sgeval judge evaluate wordnet` · `sgeval judge evaluate openai/gpt-4o-mini --option batch=20`
    """
    from sgeval.errors import one_of
    from sgeval.judges import make_judge
    from sgeval.judges.evaluation import CIRCULAR, evaluate_judge
    from sgeval.judges.gold import PARTS

    one_of("--part", part, PARTS)
    options = flags.key_values(option, "--option")
    chosen = make_judge(judge, **options)
    alone = make_judge(judge, **{**options, "batch": 1}) if options.get("batch", 1) != 1 else None
    found = evaluate_judge(chosen, part, other=alone, bootstrap=1000 if bootstrap is None else bootstrap, seed=seed)
    if as_json:
        print_json(found.as_dict())
    else:
        _show(found)
    if found.is_circular:
        say(f"warning: {CIRCULAR}")
    if found.coverage < 1:
        raise typer.Exit(INCOMPLETE)


def _show(found: "Agreement") -> None:
    from rich.console import Console
    from rich.table import Table

    from sgeval.judges.evaluation import UNJUDGED
    from sgeval.judges.verdicts import CATEGORIES

    console = Console(highlight=False)
    confusion = Table(title="Gold set against judge: pairs")
    confusion.add_column("gold", no_wrap=True)
    for heading in (*CATEGORIES, UNJUDGED):
        confusion.add_column(heading, justify="right", no_wrap=True)
    for truth, row in found.confusion.items():
        confusion.add_row(truth, *(f"{row[said]:,}" if row[said] else "" for said in (*CATEGORIES, UNJUDGED)))
    kappa = Table(title="Cohen's kappa, 95 % intervals over families")
    for heading in ("labels", "pairs", *VIEWS):
        kappa.add_column(heading, justify="left" if heading == "labels" else "right", no_wrap=True)
    kappa.add_row("all", f"{found.n:,}", *(_interval(found.kappa[view]) for view in VIEWS))
    kappa.add_row("asked", f"{found.n_asked:,}", *(_interval(found.kappa_asked[view]) for view in VIEWS))
    for kind, numbers in found.by_kind.items():
        kappa.add_row(kind, f"{numbers['n']:,}", *(_number(numbers[view]) for view in VIEWS))
    console.print(
        f"{found.judge} on the {found.part} part: {found.n:,} pairs of {found.n_families} families", markup=False
    )
    wrong = Table(title="Lenient mistakes")
    for heading in ("labels", "mismatches that pass", "others that do not"):
        wrong.add_column(heading, justify="left" if heading == "labels" else "right", no_wrap=True)
    for kind, numbers in found.by_kind.items():
        wrong.add_row(kind, _percent(numbers["false_accept_rate"]), _percent(numbers["false_reject_rate"]))
    for rule, counts in found.by_rule.items():
        if " mismatch: " in rule and counts["accepted"]:
            wrong.add_row(rule, f"{counts['accepted']:,} of {counts['n']:,}", "")
    console.print(confusion)
    console.print(kappa)
    console.print(wrong)
    for words, share in (
        ("agreement, of the judged", found.accuracy),
        ("coverage", found.coverage),
        ("swap flips", found.swap_flip_rate),
        ("batch flips", found.batch_flip_rate),
        ("accepted among kinds of one thing, which have no gold category", found.probe_lenient_rate),
    ):
        console.print(f"{words}: {_percent(share)}")
    for reason, count in sorted(found.unjudged.items()):
        console.print(f"unjudged, {reason or 'no reason given'}: {count:,}", markup=False)


def _number(value: "float | int | None") -> str:
    return "–" if value is None else f"{value:.2f}"


def _percent(share: "float | int | None") -> str:
    return "–" if share is None else f"{share:.1%}"


def _interval(found: "Kappa") -> str:
    ends = "" if found.low is None else f" ({_number(found.low)}–{_number(found.high)})"
    return _number(found.value) + ends
