"""What a person sees in the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sgeval.check import Check
from sgeval.runs import Run

SHOWN = 50


def show_results(runs: Sequence[Run]) -> None:
    """A table of scores (x100) with their intervals, one row a run, best first; then counts and signatures."""
    ranked = sorted(runs, key=lambda run: -(run.result[run.metric] or 0.0))
    table = Table(title=f"{ranked[0].metric} x100, higher is better")
    table.add_column("system")
    for heading in ("score", "95 %", "mean", "reference", "exact", "relations"):
        table.add_column(heading, justify="right", no_wrap=True)
    for run in ranked:
        result = run.result
        table.add_row(
            escape(run.name),
            percent(result[run.metric]),
            f"{percent(result.get(f'{run.metric}_low'))} – {percent(result.get(f'{run.metric}_high'))}",
            percent(result["mean_score"]),
            percent(result.get("ref_relclipscore")),
            percent(result.get("exact_match")),
            str(result["n_relations"]),
        )
    console = Console(highlight=False)
    console.print(table)
    for run in ranked:
        counts = {key: value for key, value in run.result.items() if key.startswith("n_") and value}
        console.print(f"{escape(run.name)}: " + ", ".join(f"{key} {value}" for key, value in counts.items()))
    for signature in dict.fromkeys(run.result["signature"] for run in ranked):
        console.print(f"[dim]{escape(signature)}[/dim]", soft_wrap=True)


def percent(value: float | None) -> str:
    """A fraction as the paper prints it: x100, two decimals; undefined is a dash.

    >>> percent(0.24471), percent(None)
    ('24.47', '–')
    """
    return "–" if value is None else f"{100 * value:.2f}"


def show_check(found: Check) -> None:
    """Faults, warnings, then what the file holds."""
    console = Console(highlight=False, soft_wrap=True)
    for label, lines in (("fault", found.faults), ("warning", found.warnings)):
        for line in lines[:SHOWN]:
            console.print(f"[{'red' if label == 'fault' else 'yellow'}]{label}[/] {escape(line)}")
        if len(lines) > SHOWN:
            console.print(f"… and {len(lines) - SHOWN} more {label}s; --json lists them all")
    counts = ", ".join(f"{value:,} {name}" for name, value in found.counts.items())
    verdict = f"{len(found.faults)} fault{'s' if len(found.faults) != 1 else ''}" if found.faults else "no faults"
    console.print(f"{escape(str(found.file))}: {verdict}; {counts}")
