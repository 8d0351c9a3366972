"""`sgeval compare`: runs beside each other, with intervals and paired tests."""

from pathlib import Path
from typing import Annotated

import typer

from sgeval.cli.ending import ends_well, say


@ends_well
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of one metric.", show_default=False)],
    key: Annotated[
        list[str] | None,
        typer.Option(help="Score to compare, by its key in the results; repeatable. The headline by default."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Name of the run that the others are compared with; the best by default.")
    ] = None,
    format: Annotated[str, typer.Option(help="table, markdown, csv, latex or json.")] = "table",
    out: Annotated[
        Path | None,
        typer.Option(help="File to write, instead of the terminal; its ending (.md, .csv, .tex, .json) says the form."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap and the test.")] = 0,
) -> None:
    """Compare systems on the same pictures or videos: scores with intervals, differences with a paired test.

    Runs whose signatures differ in a part that moves the number are shown apart, with the part named, and never ranked
    together. Runs on other pictures are refused.

    Examples: `sgeval compare runs/mine runs/theirs` · `sgeval compare runs/* --baseline mine --format latex --out table.tex`
    · `sgeval compare a b --key relation_accuracy --key triplet_accuracy`
    """
    from sgeval.cli.show import show_comparison
    from sgeval.comparison import compare
    from sgeval.errors import one_of
    from sgeval.files import atomic_write
    from sgeval.report.tabular import SUFFIXES, WRITERS
    from sgeval.runs import read_run

    one_of("format", format, ("table", *WRITERS))
    found = compare([read_run(folder) for folder in runs], key or (), baseline, seed=seed)
    if out is not None:
        form = SUFFIXES.get(out.suffix.lower(), "markdown") if format == "table" else format
        with atomic_write(out) as file:
            file.write(WRITERS[form](found))
        say(f"Wrote {out}")
    elif format == "table":
        show_comparison(found)
    else:
        print(WRITERS[format](found), end="")
