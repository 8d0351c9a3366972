"""`sgeval demo`: three systems on the shipped scenes, scored by the shipped model, ranked in a report."""

from dataclasses import dataclass
from pathlib import Path

from sgeval import strict_json
from sgeval.errors import SgevalError
from sgeval.files import make_folder, naming
from sgeval.formats import read_graphs
from sgeval.relclip import Options, score
from sgeval.report import render_ranking, render_report
from sgeval.report.page import check_target
from sgeval.runs import RESULTS, Run, describe_file, read_own, write_run
from sgeval.signature import parts_of

SCENES = Path(__file__).parent / "assets" / "demo_scenes"
SYSTEMS = ("good", "swapped", "guessing")
PAGE = "report.html"
BOOTSTRAP = 1000


@dataclass(frozen=True)
class Outcome:
    """The runs of the demo, in the order of `SYSTEMS`, and its report."""

    runs: list[Run]
    report: Path


def run_demo(out: Path) -> Outcome:
    """Score the three systems and write `report.html` and one folder a system into `out`.

    An earlier demo in `out` is replaced. Raises `SgevalError`, before anything is scored, when what would be replaced is
    anything else, and `OSError` when `out` cannot be written.
    """
    _check_place(out)
    with naming(out):
        runs = [_run(name, out / name) for name in SYSTEMS]
        links = {}
        for run in runs:
            page = render_report(run, run.folder / PAGE)
            links[run.name] = f"{run.folder.name}/{page.name}"
        return Outcome(runs, render_ranking(runs, out / PAGE, links=links))


def _check_place(out: Path) -> None:
    """Make `out`, and refuse one in which the demo would replace what it did not make."""
    if out.exists() and not out.is_dir():
        raise SgevalError(f"{out}: expected a folder, got a file")
    strange = [name for name in SYSTEMS if not _is_free(out / name, name)]
    if strange:
        raise SgevalError(
            f"{out}: holds {', '.join(strange)}, which `sgeval demo` did not make; name another folder with --out"
        )
    for page in (out / PAGE, *(out / name / PAGE for name in SYSTEMS)):
        check_target(page)
    make_folder(out)


def _is_free(folder: Path, name: str) -> bool:
    """Whether a system's folder is not there, empty, or one that the demo made (hidden files are what a stop leaves)."""
    if not folder.is_dir():
        return not (folder.exists() or folder.is_symlink())
    if not (folder / RESULTS).is_file():
        return all(entry.name.startswith(".") for entry in folder.iterdir())
    try:
        whole = strict_json.read_file(folder / RESULTS)
        made_from = whole["inputs"]["predictions"]["file"]
        model = parts_of(whole["result"]["signature"])["model"]
    except (SgevalError, KeyError, TypeError, AttributeError):
        return False
    return bool((whole["name"], made_from, model) == (name, _predictions(name).name, "demo"))


def _predictions(name: str) -> Path:
    return SCENES / f"predictions_{name}.jsonl"


def _run(name: str, folder: Path) -> Run:
    predictions, references = _predictions(name), SCENES / "references.jsonl"
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
    return read_own(folder)
