"""What role values cost beside a plain loop that works as the published scorer does, in CPU seconds of one process.

Run in a checkout: `python benchmarks/perf/role_values.py --roles 1000000 --rounds 3`; README.md says what is measured.
Exit code 1 when the results are not equal.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # read when numpy is imported

import argparse
import importlib.util
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2]))  # so that the script runs from anywhere

from sgeval.roles import KINDS
from sgeval.situation import score_columns, ssg_role_values

REFERENCE = Path(__file__).resolve().parents[2] / "tests" / "reference" / "ssg_reference.py"
AGREEMENT = 1e-9
GOALS = {"from_lists": 25.0, "from_columns": 100.0}
N_ROLES, N_VALUES, N_VERBS = (21, 21, 19), (364, 364, 125), 17
"""Role names and values of each kind, and verbs: as many as the published code has, where it says so."""
SHARE_OF_KINDS = (0.25, 0.4, 0.35)
MOST_ROLES = 7
RIGHT = 0.6  # how often a made prediction is right


@dataclass(frozen=True)
class Work:
    """The same frames in the form that each road takes."""

    columns: Mapping[str, Any]
    lists: Mapping[str, Any]
    nested: Mapping[str, tuple[list[Any], ...]]
    """By kind: roles, predicted and annotated values as lists of lists, and whether the verb is wrong."""
    verbs: tuple[list[int], list[int]]
    rows: tuple[list[Any], list[Any]]
    """Predictions and references of the first frames, as plain rows."""


def make_work(n_roles: int, n_rows: int, seed: int = 0) -> Work:
    """Frames of made values: codes in columns, and everything else from these."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, MOST_ROLES + 1, size=n_roles)
    lengths = lengths[: int(np.searchsorted(np.cumsum(lengths), n_roles))]
    kind = rng.choice(len(KINDS), size=len(lengths), p=SHARE_OF_KINDS)
    of_item = np.repeat(kind, lengths)
    n = len(of_item)
    starts = np.cumsum(lengths) - lengths
    place = np.arange(n) - np.repeat(starts, lengths)
    shift = np.repeat(rng.integers(0, 19, size=len(lengths)), lengths)
    first_role = np.array([0, 0, 21])[of_item]  # persons and objects share their roles, verbs have others
    roles = first_role + (shift + place) % np.array(N_ROLES)[of_item]
    size = np.array(N_VALUES)[of_item]
    gold = (size * rng.random(n) ** 2).astype(np.int64)
    predicted = np.where(rng.random(n) < RIGHT, gold, (size * rng.random(n)).astype(np.int64))
    verbs = rng.integers(0, N_VERBS, size=len(lengths))
    said = np.where(rng.random(len(lengths)) < RIGHT, verbs, rng.integers(0, N_VERBS, size=len(lengths)))
    columns = {
        "roles": roles, "predicted": predicted, "gold": gold, "lengths": lengths, "verbs": verbs, "predicted_verbs": said,
    }  # fmt: skip
    kinds = [KINDS[code] for code in kind.tolist()]
    lists = {name: column.tolist() for name, column in columns.items()}
    names = [f"role {code}" for code in range(max(lists["roles"]) + 1)]
    lists["roles"] = [names[code] for code in lists["roles"]]
    cut = [slice(start, start + length) for start, length in zip(starts.tolist(), lists["lengths"], strict=True)]
    nested: dict[str, tuple[list[Any], ...]] = {}
    for code, name in enumerate(KINDS):
        chosen = np.flatnonzero(kind == code).tolist()
        sides = [[lists[side][cut[index]] for index in chosen] for side in ("roles", "predicted", "gold")]
        nested[name] = (*sides, [name == "verb" and bool(verbs[index] != said[index]) for index in chosen])
    of_verb = kind == KINDS.index("verb")
    rows = _rows(kinds, lists, cut, n_rows)
    arrow = _arrow_kinds(kind)
    return Work(
        columns | {"kinds": arrow},
        lists | {"kinds": kinds},
        nested,
        (verbs[of_verb].tolist(), said[of_verb].tolist()),
        rows,
    )


def _arrow_kinds(kind: Any) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(kind.astype(np.int8)), pa.array(list(KINDS)))


def _rows(
    kinds: list[str], lists: Mapping[str, list[Any]], cut: list[slice], n_rows: int
) -> tuple[list[Any], list[Any]]:
    sides: tuple[list[Any], list[Any]] = ([], [])
    for index in range(min(n_rows, len(kinds))):
        kind = kinds[index]
        for side, values, verbs in zip(sides, ("predicted", "gold"), ("predicted_verbs", "verbs"), strict=True):
            pairs = zip(lists["roles"][cut[index]], lists[values][cut[index]], strict=True)
            side.append(
                {
                    "frame_id": f"frame {index // 4}",
                    "kind": kind,
                    "subject_id": None if kind == "object" else 0,
                    "object_id": None if kind == "person" else index,
                    "verb": f"verb {lists[verbs][index]}" if kind == "verb" else None,
                    "roles": [{"role": role, "value": f"value {value}"} for role, value in pairs],
                }
            )
    persons: set[str] = set()
    for side in sides:  # one person a frame
        for row in side:
            if row["kind"] == "person":
                row["subject_id"] = f"person {row['frame_id']} {len(persons)}"
                persons.add(row["subject_id"])
        persons.clear()
    return sides


def load_reference() -> Any:
    """The plain loop, from the tests of the checkout."""
    if not REFERENCE.is_file():
        raise SystemExit(f"role_values.py: expected a checkout with {REFERENCE.name} in tests/reference, found none")
    spec = importlib.util.spec_from_file_location("ssg_reference", REFERENCE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plain_loop(reference: Any, work: Work) -> dict[str, float]:
    """The scores of each kind apart, and of the verbs: what the published scorer prints."""
    found: dict[str, float] = {}
    for kind, (roles, predicted, gold, wrong) in work.nested.items():
        scores = reference.kind_scores(roles, predicted, gold, wrong, nothing=-1)
        found |= {f"{kind}_{name}": value for name, value in scores.items()}
    gold_verbs, said = work.verbs
    verbs = reference.single_scores(gold_verbs, said, [False] * len(said), nothing=-1)
    return found | {f"verb_{name}": verbs[name] for name in ("accuracy", "precision", "recall", "f1")}


def benchmark(n_roles: int, n_rows: int, rounds: int) -> dict[str, Any]:
    """The whole measurement, as `--json` prints it."""
    reference, work = load_reference(), make_work(n_roles, n_rows)
    predictions, references = work.rows
    roads: dict[str, Callable[[], dict[str, Any]]] = {
        "plain_loop": lambda: plain_loop(reference, work),
        "lists": lambda: score_columns(**work.lists),
        "columns": lambda: score_columns(**work.columns),
        "rows": lambda: ssg_role_values(predictions, references),
    }
    warm = make_work(1000, 10)
    for given in (warm.lists, warm.columns):  # a first call makes what later ones find ready
        score_columns(**given)
    plain_loop(reference, warm)
    seconds: dict[str, list[float]] = {name: [] for name in roads}
    found: dict[str, dict[str, Any]] = {}
    for _ in range(rounds):
        for name, road in roads.items():
            start = time.process_time()
            found[name] = road()
            seconds[name].append(time.process_time() - start)
    scaled = sum(len(row["roles"]) for row in references) / len(work.lists["gold"])
    ratios = {
        "from_lists": [one / other for one, other in zip(seconds["plain_loop"], seconds["lists"], strict=True)],
        "from_columns": [one / other for one, other in zip(seconds["plain_loop"], seconds["columns"], strict=True)],
        "from_rows": [one * scaled / other for one, other in zip(seconds["plain_loop"], seconds["rows"], strict=True)],
    }
    return {
        **{name: statistics.median(each) for name, each in ratios.items()},
        "ranges": {name: [min(each), max(each)] for name, each in ratios.items()},
        "seconds": {name: statistics.median(each) for name, each in seconds.items()},
        "difference": max(
            abs(value - found[road][name])
            for road in ("lists", "columns")
            for name, value in found["plain_loop"].items()
        ),
        "n_roles": len(work.lists["gold"]),
        "n_frames": len(work.lists["lengths"]),
        "n_rows": len(references),
        "rounds": rounds,
        "scores": {name: found["columns"][name] for name in ("value", "value_two", "value_all", "role_accuracy")},
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("numpy", "pyarrow", "scikit-learn")},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--roles", type=int, default=1_000_000, help="role values (1,000,000)")
    parser.add_argument("--rows", type=int, default=25_000, help="frames that are also scored from plain rows (25,000)")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each road (3)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    arguments = parser.parse_args()
    if arguments.roles < 1000 or arguments.rows < 1 or arguments.rounds < 1:
        parser.error("expected --roles of 1,000 or more, and --rows and --rounds of 1 or more")
    found = benchmark(arguments.roles, arguments.rows, arguments.rounds)
    print(json.dumps(found, indent=2) if arguments.json else "\n".join(lines(found)))
    if not found["difference"] <= AGREEMENT:
        raise SystemExit(f"role_values.py: expected the plain loop's scores within {AGREEMENT}: the work is not equal")


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The figures for a reader."""
    yield f"{found['n_roles']:,} role values in {found['n_frames']:,} frames, median of {found['rounds']} rounds"
    for name, seconds in found["seconds"].items():
        more = f" ({found['n_rows']:,} frames)" if name == "rows" else ""
        yield f"  {name:12}{seconds:8.3f} s{more}"
    for name, (low, high) in found["ranges"].items():
        goal = GOALS.get(name)
        verdict = "" if goal is None else f", goal {goal:g} {'met' if found[name] >= goal else 'missed'}"
        yield f"  {name:12}{found[name]:8.1f} times as fast as the plain loop ({low:.1f} to {high:.1f}){verdict}"
    yield f"  largest difference of a score {found['difference']:.1e} points"
    yield ", ".join(f"{name} {number}" for name, number in found["versions"].items())


if __name__ == "__main__":
    main()
