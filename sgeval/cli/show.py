"""What a person sees in the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sgeval import situation, temporal
from sgeval.check import Check
from sgeval.cli.ending import say
from sgeval.comparison import Comparison
from sgeval.doctor import FAULTY, Report
from sgeval.errors import counted, one_line
from sgeval.report import tabular
from sgeval.report.compare import order
from sgeval.report.demo_model import HINT, demo_warning, is_demo
from sgeval.report.facts import why_nothing
from sgeval.report.temporal import others
from sgeval.report.text import NOTHING, hundred, interval, percent, percent_interval
from sgeval.runs import Run

SHOWN = 50
COLUMNS = {"mean": "mean_score", "reference": "ref_relclipscore", "exact": "exact_match"}
THETA_COLUMNS = {
    "chance": "chance_theta",
    "precision": "precision",
    "direction": "direction_accuracy",
}
"""Heading and key of what stands beside the headline."""
ROLE_VALUES = {
    "value": "value",
    "value-two": "value_two",
    "value-two, at most": "value_two_ceiling",
    "value-all": "value_all",
    "role accuracy": "role_accuracy",
    "per role: value": "per_role_value",
    "per role: value-two": "per_role_value_two",
    "per role: value-two, at most": "per_role_value_two_ceiling",
    "per role: value-all": "per_role_value_all",
}
"""The same for role values."""


def show_results(runs: Sequence[Run]) -> None:
    """A table of scores (x100) with their intervals, one row a run, best first; then counts, why there is no score
    where there is none, and signatures. Standard error tells what a run of the demo model is worth."""
    ranked = [runs[index] for index in order(runs)]
    metric = ranked[0].metric
    others = THETA_COLUMNS if metric == "theta" else COLUMNS
    table = Table(title=f"{metric} x100, higher is better")
    table.add_column("model" if metric == "theta" else "system", min_width=4)
    for heading in ("θ" if metric == "theta" else "score", "95 %", *others, "relations"):
        table.add_column(heading, justify="right", no_wrap=True)
    names = [escape(one_line(run.name)) for run in ranked]
    for name, run in zip(names, ranked, strict=True):
        result = run.result
        table.add_row(
            name,
            hundred(result[run.metric]),
            interval(result.get(f"{run.metric}_low"), result.get(f"{run.metric}_high")) or NOTHING,
            *(hundred(result.get(key)) for key in others.values()),
            str(result["n_relations"]),
        )
    console = Console(highlight=False)
    console.print(table)
    for name, run in zip(names, ranked, strict=True):
        counts = {key: value for key, value in run.result.items() if key.startswith("n_") and value}
        console.print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in counts.items()))
        if why := why_nothing(run):
            console.print(f"[yellow]{name}[/]: {escape(why)}", soft_wrap=True)
    for signature in dict.fromkeys(run.result["signature"] for run in ranked):
        console.print(f"[dim]{escape(signature)}[/dim]", soft_wrap=True)
    warnings = {run.name: warning.text for run in ranked if (warning := demo_warning(run))}
    for name, text in warnings.items():
        say(one_line(f"{name}: {text}"))
    if not warnings and any(map(is_demo, ranked)):
        say(HINT)


def show_role_values(run: Run) -> None:
    """A table of role values in percent, one column a kind of frame; counts, signature."""
    result = run.result
    table = Table(title=f"{run.metric} of {escape(one_line(run.name))}, percent")
    table.add_column("")
    for prefix in situation.GROUPS:
        table.add_column(prefix.rstrip("_") or "all", justify="right", no_wrap=True)
    table.add_row("frames", *(str(result[f"n_{prefix}frames"]) for prefix in situation.GROUPS), end_section=True)
    for heading, name in ROLE_VALUES.items():
        table.add_row(heading, *(percent(result[f"{prefix}{name}"]) for prefix in situation.GROUPS))
        if name == "value":
            ends = [
                (result.get(f"{prefix}value_low"), result.get(f"{prefix}value_high")) for prefix in situation.GROUPS
            ]
            table.add_row("  95 %", *(percent_interval(*pair).replace(" to ", "–") or NOTHING for pair in ends))
    table.add_row("verb accuracy", *("" for _ in (0, 1, 2)), percent(result["verb_accuracy"]))
    console = Console(highlight=False)
    console.print(table)
    counts = {key: value for key, value in result.items() if key.startswith("n_") and value}
    console.print(", ".join(f"{key} {value}" for key, value in counts.items()))
    console.print(f"[dim]{escape(result['signature'])}[/dim]", soft_wrap=True)


def show_temporal(run: Run) -> None:
    """A table of accuracies in percent, one row a kind; counts, judge, signature."""
    result = run.result
    table = Table(title=f"{run.metric} of {escape(one_line(run.name))}, percent")
    for heading in ("", "items", "lenient", "95 %", "strict", "decided"):
        table.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    for kind in temporal.KINDS:
        name, of = f"{kind}_accuracy", "relation" if kind == "triplet" else kind
        interval = percent_interval(result.get(f"{name}_low"), result.get(f"{name}_high")).replace(" to ", "–")
        numbers = (result[name], result[f"{name}_strict"], result[f"{kind}_coverage"])
        lenient, strict, decided = map(percent, numbers)
        table.add_row(kind, str(result[f"n_{of}s"]), lenient, interval or NOTHING, strict, decided)
    console = Console(highlight=False)
    console.print(table)
    for kind in temporal.KINDS:
        coverage = result[f"{kind}_coverage"]
        if coverage is not None and coverage < 100.0:
            low, high = (percent(result[f"{kind}_accuracy_at_{end}"]) for end in ("least", "most"))
            judged = percent(result[f"{kind}_accuracy_on_judged"])
            words = f"verdicts are missing; {judged} on the judged, {low} to {high} overall"
            start = "withheld, " if result[f"{kind}_accuracy"] is None else ""
            console.print(f"[yellow]{kind}[/]: {start}{words}", soft_wrap=True)
    for name, value, ends in others(result):
        console.print(f"{escape(name)}: {value}" + (f" ({ends})" if ends else ""), soft_wrap=True)
    counts = {key: value for key, value in result.items() if key.startswith("n_") and value}
    console.print(", ".join(f"{key} {value}" for key, value in counts.items()))
    console.print(f"judge: {escape(result['judge'])}")
    console.print(f"[dim]{escape(result['signature'])}[/dim]", soft_wrap=True)


def show_comparison(found: Comparison) -> None:
    """A table a score and group of runs; what is not ranked together, and why; how the tests were made; signatures."""
    console = Console(highlight=False)
    for key in found.keys:
        for group in found.groups:
            table = Table(
                title=escape(tabular.title(found, key)), box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False
            )
            for heading in tabular.HEADINGS:
                is_name = heading == "system"
                width = 4 if is_name else None  # numbers are never cut, names are folded
                table.add_column(
                    heading,
                    justify="left" if is_name else "right",
                    no_wrap=not is_name,
                    min_width=width,
                    overflow="fold",
                )
            for line in group.lines[key]:
                table.add_row(*map(escape, tabular.cells(line, found.factor)))
            if words := tabular.differs(group):
                console.print(f"[yellow]{escape(words)}[/]", soft_wrap=True)
            console.print(table)
            if words := tabular.verdict(group, key):
                console.print(escape(words), soft_wrap=True)
    for words in tabular.notes(found):
        console.print(f"[dim]{escape(words)}[/]", soft_wrap=True)
    for group in found.groups:
        for signature in tabular.signatures(group):
            console.print(f"[dim]{escape(signature)}[/]", soft_wrap=True)


def show_check(found: Check) -> None:
    """Faults, warnings, then what the file holds."""
    console = Console(highlight=False, soft_wrap=True)
    for label, lines in (("fault", found.faults), ("warning", found.warnings)):
        for line in lines[:SHOWN]:
            console.print(f"[{'red' if label == 'fault' else 'yellow'}]{label}[/] {escape(line)}")
        if len(lines) > SHOWN:
            console.print(f"… and {counted(len(lines) - SHOWN, f'more {label}')}; --json lists them all")
    counts = ", ".join(f"{value:,} {name}" for name, value in found.counts.items())
    verdict = counted(len(found.faults), "fault") if found.faults else "no faults"
    console.print(f"{escape(one_line(str(found.file)))}: {verdict}; {counts}")


def show_doctor(found: Report) -> None:
    """The machine, then each model with what was checked of it, then the verdict."""
    console = Console(highlight=False, soft_wrap=True)
    console.print("versions  " + escape(", ".join(f"{name} {value}" for name, value in found.versions.items())))
    cpu, gpus = found.devices["cpu"], found.devices["gpus"]
    places = [f"CPU with {cpu['cores']} cores ({_bf16(cpu)})"]
    places += [f"{gpu['name']} with {gpu['memory_gib']} GiB ({_bf16(gpu)})" for gpu in gpus]
    console.print("devices   " + escape("; ".join(places if gpus else [*places, "no GPU"])))
    offline = "offline (HF_HUB_OFFLINE)" if found.hub["offline"] else "may be asked (HF_HUB_OFFLINE is not set)"
    console.print(f"Hub       {offline}; cache {escape(found.hub['cache'])}")
    for model in found.models:
        colour = "red" if model.status in FAULTY else "yellow" if model.status == "unverified" else "green"
        words = model.words if model.status == "unverified" else f"{model.status}: {model.words}"
        place = model.place + (f" at {model.revision}" if model.revision else "")
        console.print(f"\n[bold]{escape(model.name)}[/] [{colour}]{escape(words)}[/] ({escape(place)})")
        for check in model.checks:
            mark = "[yellow]?   [/]" if check.ok is None else "[green]ok  [/]" if check.ok else "[red]FAIL[/]"
            console.print(f"  {mark} {check.name}: {escape(check.words)}")
    faulty = [model.name for model in found.models if model.status in FAULTY]
    unverified = sum(model.status == "unverified" for model in found.models)
    checked = len(found.models) - unverified
    verdict = f"wrong: {', '.join(faulty)}" if faulty else "nothing wrong"
    console.print(f"\n{checked} checked, {unverified} unverified here; {escape(verdict)}")


def _bf16(device: Mapping[str, Any]) -> str:
    return "bf16 in hardware" if device["bf16"] else "no bf16"
