"""How many pairs a second the language-model judge gets through with a server that costs nothing, and in what memory.

Run from the source folder: `python benchmarks/perf/judge.py --pairs 100000`. The server is `tests/fakejudge.py`, in a process
of its own on the same machine. README.md says what is measured.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))  # so that the script runs from anywhere

from benchmarks.perf.size import peak_megabytes

SERVER = Path(__file__).resolve().parents[2] / "tests" / "fakejudge.py"
VARIANTS = {"alone": (1, True), "batches": (20, True), "batches_unknown": (20, False)}
"""Pairs a call, and whether their labels are known, so that none is asked about a second time."""
GOALS = {"alone": 250.0, "batches": 2000.0}  # pairs a second
MEGABYTES = 50.0
CONCURRENCY = {1: 32, 20: 16}
WARM_UP = 50  # pairs, which load and open everything


class Everything(Container[str]):
    """All labels."""

    def __contains__(self, label: object) -> bool:
        return True


@contextmanager
def serving(delay: float) -> Iterator[str]:
    """The address of a fake server that answers after `delay` seconds."""
    command = [sys.executable, str(SERVER), "--delay", str(delay), "--forgets"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def measure(variant: str, pairs: int, delay: float) -> dict[str, Any]:
    """Judge made pairs in this process, twice, and measure both."""
    from sgeval.judges.llm import LlmJudge
    from sgeval.judges.verdicts import Pair

    size, is_known = VARIANTS[variant]
    known: Container[str] = Everything() if is_known else ()
    made = [Pair("object", f"thing {number}", f"item {number * 7919}") for number in range(pairs)]
    with serving(delay) as url, tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"base_url": url, "batch": size, "known": known, "concurrency": CONCURRENCY[size]}
        LlmJudge("local/m", cache=f"{folder}/warm", **options)(made[:WARM_UP])
        judge = LlmJudge("local/m", cache=f"{folder}/cache", **options)
        before, wall, cpu = peak_megabytes(), time.perf_counter(), time.process_time()
        verdicts = judge(made)
        seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        added = peak_megabytes() - before
        again = LlmJudge("local/m", cache=f"{folder}/cache", **options)
        wall = time.perf_counter()
        same = [verdict.category for verdict in again(made)] == [verdict.category for verdict in verdicts]
        return {
            "variant": variant,
            "pairs": pairs,
            "pairs_a_second": pairs / seconds,
            "goal": GOALS.get(variant),
            "cpu_milliseconds_a_pair": 1000 * cpu_seconds / pairs,
            "added_megabytes": added,
            "calls": judge.tally.calls,
            "judged": judge.tally.judged,
            "second_run_calls": again.tally.calls,
            "second_run_seconds": time.perf_counter() - wall,
            "second_run_same": same,
            "cache_megabytes": sum(path.stat().st_size for path in Path(folder, "cache").iterdir()) / 1e6,
        }


def run_apart(variant: str, pairs: int, delay: float) -> dict[str, Any]:
    """The same in a fresh process."""
    command = [sys.executable, __file__, "--run", variant, "--pairs", str(pairs), "--delay", str(delay)]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    if child.returncode:
        raise SystemExit(f"{child.stderr}judge.py: the run of {variant} ended with {child.returncode}")
    figures: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10_000, help="distinct pairs (10000)")
    parser.add_argument("--delay", type=float, default=0.05, help="seconds that the server takes for an answer (0.05)")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--run", choices=VARIANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not SERVER.exists():
        raise SystemExit(f"judge.py: expected the server of the tests at {SERVER}; run it from the source folder")
    if arguments.run:
        print(json.dumps(measure(arguments.run, arguments.pairs, arguments.delay)))
        return
    for variant in arguments.variants:
        figures = run_apart(variant, arguments.pairs, arguments.delay)
        if arguments.json:
            print(json.dumps(figures), flush=True)
            continue
        goal = f" (goal {figures['goal']:.0f})" if figures["goal"] else ""
        print(
            f"{variant}: {figures['pairs_a_second']:.0f} pairs/s{goal}, {figures['cpu_milliseconds_a_pair']:.2f} ms CPU a"
            f" pair, {figures['added_megabytes']:.1f} MB added (goal {MEGABYTES:.0f}), {figures['calls']} calls, then"
            f" {figures['second_run_calls']} calls in {figures['second_run_seconds']:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
