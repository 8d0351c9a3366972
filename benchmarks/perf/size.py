"""How time, memory and encode calls of a scoring run grow with the number of pictures, with the demo model.

Run: `python benchmarks/perf/size.py --images 1000 3000 10000`. Each size runs the command `sgeval score relclipscore`
in a process of its own. README.md says what is measured.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))  # so that the script runs from anywhere

from benchmarks.perf.made import SIZE, make_picture, union

OBJECTS = 10
PICTURES = 16  # files, which the graphs take in turn
CLASSES, PREDICATES = 133, 56  # as many as in PSG
GOAL = (10_000, 10, 1500.0)  # pictures, relations a picture, MB
MOST_RELATIONS = 200


def make_input(folder: Path, images: int, relations: int) -> dict[str, int]:
    """Write pictures and a prediction file; return how many unions and texts are unique.

    Labels are drawn as they occur in annotations, few of them often: the k-th with a weight of 1/k.
    """
    rng = np.random.default_rng(0)
    (folder / "images").mkdir()
    for number in range(PICTURES):
        make_picture(rng).save(folder / "images" / f"{number}.jpg", quality=90)
    unions = 0
    texts: set[str] = set()
    with (folder / "predictions.jsonl").open("w", encoding="utf-8") as file:
        for number in range(images):
            names = [f"c{rank}" for rank in ranks(rng, CLASSES, OBJECTS)]
            sides = rng.integers(40, 240, (OBJECTS, 2))
            boxes = [[*rng.integers(0, np.array(SIZE) - side).tolist(), *side.tolist()] for side in sides]
            found: set[tuple[int, int, str]] = set()
            while len(found) < relations:
                subject, obj = rng.choice(OBJECTS, 2, replace=False).tolist()
                found.add((subject, obj, f"p{ranks(rng, PREDICATES, 1)[0]}"))
            unions += len({union(boxes[subject], boxes[obj]) for subject, obj, _ in found})
            texts |= {f"{names[subject]} {predicate} {names[obj]}" for subject, obj, predicate in found}
            row = {
                "image_id": str(number),
                "file_name": f"{number % PICTURES}.jpg",
                "width": SIZE[0],
                "height": SIZE[1],
                "objects": [{"id": index, "category": names[index], "bbox": boxes[index]} for index in range(OBJECTS)],
                "relations": [
                    {"subject_id": subject, "object_id": obj, "predicate": predicate}
                    for subject, obj, predicate in sorted(found)
                ],
            }
            file.write(json.dumps(row) + "\n")
    return {"unions": unions, "texts": len(texts)}


def ranks(rng: np.random.Generator, kinds: int, count: int) -> list[int]:
    """`count` draws from 1..kinds, k with a weight of 1/k."""
    weights = 1 / np.arange(1, kinds + 1)
    return [int(rank) for rank in rng.choice(np.arange(1, kinds + 1), count, p=weights / weights.sum())]


def run_here(folder: Path) -> dict[str, float]:
    """Run the command in this process and measure it."""
    from sgeval.cli.app import app
    from sgeval.encoders import load_encoder

    calls: Counter[str] = Counter()
    kind = type(load_encoder("demo"))
    for name in ("encode_images", "encode_texts"):
        setattr(kind, name, counted(getattr(kind, name), name, calls))
    before, wall, cpu = peak_megabytes(), time.perf_counter(), time.process_time()
    places = {"--predictions": "predictions.jsonl", "--images": "images", "--out": "run"}
    flags = [part for flag, name in places.items() for part in (flag, str(folder / name))]
    code = app(["score", "relclipscore", *flags, "--model", "demo", "--json"], standalone_mode=False)
    if code:
        raise SystemExit(f"size.py: expected the command to end with 0, got {code}")
    return {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "start_megabytes": before,
        "peak_megabytes": peak_megabytes(),
        "encoded_unions": calls["encode_images"],
        "encoded_texts": calls["encode_texts"],
    }


def counted(method: Callable[[Any, Sequence[Any]], Any], name: str, calls: "Counter[str]") -> Callable[..., Any]:
    """The method, which also adds up how many items it is given."""

    @wraps(method)
    def run(self: Any, items: Sequence[Any]) -> Any:
        calls[name] += len(items)
        return method(self, items)

    return run


def peak_megabytes() -> float:
    """The most memory this process has held so far."""
    unit = 1 if sys.platform == "darwin" else 1024  # what the system counts in
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def run_apart(images: int, relations: int) -> dict[str, float]:
    """Make the input, run the command in a fresh process, and return what both say."""
    with tempfile.TemporaryDirectory() as folder:
        made = make_input(Path(folder), images, relations)
        command = [sys.executable, __file__, "--run", folder]
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        child = subprocess.run(command, capture_output=True, text=True, check=False, env=one_thread)
    if child.returncode:
        raise SystemExit(f"{child.stderr}size.py: the run of {images} pictures ended with {child.returncode}")
    return {"images": images, "relations": images * relations, **made, **json.loads(child.stdout.splitlines()[-1])}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, nargs="+", default=[1000, 3000, 10_000], help="numbers of pictures")
    parser.add_argument("--relations", type=int, default=10, help="relations a picture (10)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(run_here(arguments.run)))
        return
    if min(arguments.images) < 1 or not 1 <= arguments.relations <= MOST_RELATIONS:
        parser.error(f"expected --images of 1 or more and --relations from 1 to {MOST_RELATIONS}")
    sizes = []
    for images in sorted(set(arguments.images)):
        print(f"{images} pictures", file=sys.stderr)
        sizes.append(run_apart(images, arguments.relations))
        more = images - sizes[0]["images"]
        growth = sizes[-1]["peak_megabytes"] - sizes[0]["peak_megabytes"]
        sizes[-1]["megabytes_per_1000_more"] = growth / more * 1000 if more else 0.0
    print(json.dumps(sizes, indent=2) if arguments.json else "\n".join(lines(sizes, arguments.relations)))


def lines(sizes: Sequence[dict[str, float]], relations: int) -> Iterator[str]:
    """The figures for a reader: a table, and the goal."""
    titles = ("images", "seconds", "CPU s", "MB before", "MB peak", "MB per 1,000 more", "unions", "texts")
    yield "  ".join(f"{title:>17}" for title in titles)
    for size in sizes:
        encoded = [f"{size[f'encoded_{kind}']:,.0f} of {size[kind]:,.0f}" for kind in ("unions", "texts")]
        keys = ("seconds", "cpu_seconds", "start_megabytes", "peak_megabytes", "megabytes_per_1000_more")
        cells = [f"{size['images']:,}", *(f"{size[key]:,.1f}" for key in keys), *encoded]
        yield "  ".join(f"{cell:>17}" for cell in cells)
    images, least, limit = GOAL
    reached = [size["peak_megabytes"] for size in sizes if size["images"] >= images and relations >= least]
    goal = f"{images:,} images x {least} relations in under {limit:,.0f} MB: "
    if not reached:
        yield goal + "not measured"
    else:
        over = reached[0] - limit
        yield goal + (f"met by {-over:,.0f} MB" if over < 0 else f"missed by {over:,.0f} MB")


if __name__ == "__main__":
    main()
