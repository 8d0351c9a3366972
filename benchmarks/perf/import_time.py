"""How long `import sgeval` takes over a bare Python: the median of several fresh processes. The goal is 0.2 s.

Run: `python -m sgeval.benchmarks.perf.import_time`
"""

import statistics
import subprocess
import sys
import time

RUNS = 9


def seconds(statement: str) -> float:
    """Wall time of one fresh process that runs a statement."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main() -> None:
    """Print the medians of both, measured in turn, and their difference."""
    bare, with_import = [], []
    for _ in range(RUNS):
        bare.append(seconds("pass"))
        with_import.append(seconds("import sgeval"))
    extra = statistics.median(with_import) - statistics.median(bare)
    print(
        f"python {statistics.median(bare):.3f} s, import sgeval {statistics.median(with_import):.3f} s: +{extra:.3f} s"
    )


if __name__ == "__main__":
    main()
