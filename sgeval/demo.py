"""`sgeval demo`: three systems on the shipped scenes, scored by the shipped model, ranked in a report."""

from dataclasses import dataclass
from pathlib import Path

from sgeval.formats import read_graphs
from sgeval.relclip import Options, score
from sgeval.report import render_ranking, render_report
from sgeval.runs import Run, describe_file, read_run, write_run

SCENES = Path(__file__).parent / "assets" / "demo_scenes"
SYSTEMS = ("good", "swapped", "guessing")
BOOTSTRAP = 1000


@dataclass(frozen=True)
class Outcome:
    """The runs of the demo, in the order of `SYSTEMS`, and its report."""

    runs: list[Run]
    report: Path


def run_demo(out: Path) -> Outcome:
    """Score the three systems and write `report.html` and one folder a system into `out`."""
    runs = [_run(name, out / name) for name in SYSTEMS]
    links = {}
    for run in runs:
        page = render_report(run, run.folder / "report.html")
        links[run.name] = f"{run.folder.name}/{page.name}"
    return Outcome(runs, render_ranking(runs, out / "report.html", links=links))


def _run(name: str, folder: Path) -> Run:
    predictions, references = SCENES / f"predictions_{name}.jsonl", SCENES / "references.jsonl"
    scoring = score(
        read_graphs(predictions),
        images=SCENES / "images",
        references=read_graphs(references),
        model="demo",
        options=Options(bootstrap=BOOTSTRAP),
    )
    inputs = {
        "predictions": describe_file(predictions),
        "references": describe_file(references),
        "images": str(SCENES / "images"),
    }
    write_run(folder, name, scoring, inputs)
    return read_run(folder)
