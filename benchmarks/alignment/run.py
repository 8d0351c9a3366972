"""Table 1 of paper 1 (arXiv 2509.01209): θ, Prec and Score of each scoring model, beside the printed numbers.

    python -m benchmarks.alignment.run --psg PSG --vg150 VG150 --out runs/table1
    python -m benchmarks.alignment.run --demo --out runs/table1-demo

Each model, data set and protocol is a run folder of `sgeval score theta`; a run that is complete is read, one that was
stopped goes on. A model that cannot be had is named in the table, and the others are scored.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.protocol_audit.published import TABLE_1, AlignmentRow
from sgeval.cli.scoring import THETA, Job, run_job
from sgeval.demo import SCENES
from sgeval.encoders.aliases import ALIASES
from sgeval.errors import ModelUnavailable, SgevalError
from sgeval.files import atomic_write
from sgeval.readers.psg import read_psg
from sgeval.readers.vg150 import read_vg150
from sgeval.records import SceneGraph, write_graphs
from sgeval.report.text import NOTHING, hundred, interval

PRINTED = {
    "negclip-b32": "NegCLIP B-32",
    "clip-l14": "CLIP L-14",
    "siglip-so400m": "SigLIP",
    "blip2-itm-g": "BLIP2",
}
"""Our name of a model to its name in Table 1."""
FIRST = 10_000  # pictures by id: the default of the authors' script
ROOTS = (".", "coco", "images")  # where pictures are looked for below a folder of data


@dataclass(frozen=True)
class Data:
    """Annotated graphs in a file, the folder of their pictures, and what Table 1 calls them."""

    name: str
    graphs: Path
    images: Path
    printed: str | None


@dataclass(frozen=True)
class Cell:
    """One model on one data set in one protocol, in percent, or why it was not run."""

    data: str
    model: str
    protocol: str
    theta: str = NOTHING
    interval: str = NOTHING
    chance: str = NOTHING
    precision: str = NOTHING
    score: str = NOTHING
    direction: str = NOTHING
    relations: int = 0
    printed: AlignmentRow | None = None
    signature: str = ""
    why_not: str = ""


def settings(model: str, protocol: str) -> dict[str, Any]:
    """The options of a protocol. `openvocsgg` repeats the released script: its θ, its softmax for models that score with
    a cosine, its crop, and the numbers that it hangs on the two names."""
    if protocol == "paper":
        return {}
    alias = ALIASES.get(model)
    template = (alias or ALIASES["clip-l14"]).template
    numbered = template.replace("{subject}", "{subject}_1").replace("{object}", "{object}_2")
    found: dict[str, Any] = {"protocol": "openvocsgg", "context": "openvocsgg", "template": numbered}
    return found | ({"score": "softmax100"} if alias is None or alias.score_rule == "cosine" else {})


def prepared(name: str, graphs: Iterable[SceneGraph], folder: Path, out: Path, printed: str) -> Data:
    """The graphs of a data set in one file, in the order of their ids, beside the folder of their pictures."""
    target = out / f"{name}.jsonl"
    ordered = sorted(graphs, key=lambda graph: (len(graph.image_id), graph.image_id))
    if not ordered:
        raise SgevalError(f"{folder}: expected annotated pictures, got none")
    write_graphs(ordered, target)
    files = {str(Path(graph.file_name or "").parent): graph.file_name for graph in reversed(ordered)}  # one a folder
    roots = [
        folder / root for root in ROOTS if all(file and (folder / root / file).is_file() for file in files.values())
    ]
    if not roots:
        named = ", ".join(map(str, files.values()))
        raise SgevalError(
            f"{folder}: expected pictures such as {named} below it, coco/ or images/, got none or not all"
        )
    return Data(name, target, roots[0], printed)


def cell(data: Data, model: str, protocol: str, out: Path, limit: int | None, more: Mapping[str, Any]) -> Cell:
    """Score, or read what was scored before."""
    place = out / data.name / model.replace("/", "_") / protocol
    given = {**more, "model": model, "name": f"{model} ({protocol})", **settings(model, protocol)}
    given |= {"limit": limit} if limit else {}
    files = {"references": data.graphs, "vocabulary": None, "vocabulary_graphs": None}
    try:
        run = run_job(Job.make(THETA, files, data.images, place, given, None), resume=True)
    except ModelUnavailable as fault:
        return Cell(data.name, model, protocol, why_not=str(fault).splitlines()[0])
    result = run.result
    printed = [row for row in TABLE_1 if (row.data, row.model) == (data.printed, PRINTED.get(model))]
    return Cell(
        data.name,
        model,
        protocol,
        hundred(result["theta"]),
        interval(result.get("theta_low"), result.get("theta_high")) or NOTHING,
        hundred(result["chance_theta"]),
        hundred(result["precision"]),
        hundred(result["mean_score"]),
        hundred(result["direction_accuracy"]),
        result["n_relations"],
        printed[0] if printed else None,
        result["signature"],
    )


HEADINGS = ("data", "model", "protocol", "θ", "95 %", "chance", "Prec", "Score", "direction", "relations")
HEADINGS_PRINTED = ("printed θ", "printed Prec", "printed Score")


def table(cells: Sequence[Cell]) -> str:
    """The cells as a Markdown table, printed numbers beside ours."""
    lines = ["| " + " | ".join((*HEADINGS, *HEADINGS_PRINTED)) + " |", "|" + " --- |" * 13]
    for one in cells:
        row = [one.data, one.model, one.protocol]
        if one.why_not:
            lines.append("| " + " | ".join([*row, "not run", *[NOTHING] * 9]) + " |")
            continue
        row += [one.theta, one.interval, one.chance, one.precision, one.score, one.direction, f"{one.relations:,}"]
        found = one.printed
        row += [f"{value:.2f}" for value in (found.theta, found.precision, found.score)] if found else [NOTHING] * 3
        lines.append("| " + " | ".join(row) + " |")
    reasons = dict.fromkeys(f"Not run: {one.why_not}" for one in cells if one.why_not)
    return "\n".join([*lines, *(f"\n{reason}" for reason in reasons)]) + "\n"


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--psg", type=Path, help="folder with psg.json and coco/")
    parser.add_argument("--psg-split", default="train", choices=("train", "test"))
    parser.add_argument("--vg150", type=Path, help="folder with VG-SGG-with-attri.h5, image_data.json and VG_100K/")
    parser.add_argument("--vg150-split", default="train", choices=("train", "val", "test"))
    parser.add_argument("--demo", action="store_true", help="the demo model on the shipped scenes; needs no data")
    parser.add_argument("--models", nargs="+", help="all named ones by default, the demo model aside")
    parser.add_argument("--protocols", nargs="+", default=("paper", "openvocsgg"), choices=("paper", "openvocsgg"))
    parser.add_argument(
        "--limit", type=int, default=FIRST, help="first pictures by id, 0 for all; %(default)s by default"
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--out", type=Path, default=Path("runs/table1"), help="%(default)s by default")
    parser.add_argument("--json", action="store_true", help="print the cells as JSON")
    given = parser.parse_args(arguments)
    if not (given.demo or given.psg or given.vg150):
        parser.error("expected --psg, --vg150 or --demo")
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark: 0 whole, 2 bad input, 3 when a model could not be had."""
    given = parsed(arguments)
    warnings.filterwarnings("ignore", message=".*: complete already", category=UserWarning)
    try:
        sets = list(data_sets(given))
        models = given.models or (["demo"] if given.demo else [name for name in ALIASES if name != "demo"])
        more = {"device": given.device, "batch_size": given.batch_size}
        cells = [
            cell(data, model, protocol, given.out, given.limit or None, more)
            for data in sets
            for model in models
            for protocol in given.protocols
        ]
    except (SgevalError, OSError) as fault:
        print(f"alignment: {fault}", file=sys.stderr)
        return 2
    with atomic_write(given.out / "table1.md") as file:
        file.write(table(cells))
    print(json.dumps([asdict(one) for one in cells], ensure_ascii=False, indent=2) if given.json else table(cells))
    print(f"The runs are in {given.out}; `sgeval report` makes a page of each", file=sys.stderr)
    return 3 if any(one.why_not for one in cells) else 0


def data_sets(given: argparse.Namespace) -> Iterable[Data]:
    """The data sets that were asked for."""
    if given.demo:
        yield Data("demo-scenes", SCENES / "references.jsonl", SCENES / "images", None)
    if given.psg:
        yield prepared(f"psg-{given.psg_split}", read_psg(given.psg, given.psg_split), given.psg, given.out, "PSG")
    if given.vg150:
        graphs = read_vg150(given.vg150, given.vg150_split)
        yield prepared(f"vg150-{given.vg150_split}", graphs, given.vg150, given.out, "VG")


if __name__ == "__main__":
    sys.exit(main())
