"""Fit the cuts of `embedding:MODEL` on the dev part of the gold set, and store them under the repository's id.

    python -m benchmarks.judge_gold.fit_cuts NAME [--folder FOLDER]

FOLDER holds the model where it is not to be had by its name. Cuts of an earlier gold set are dropped.
"""

import argparse
import json
from dataclasses import asdict

from sgeval.judges.embedding import NEVER, PREFIX, STORED, Cuts, Embedding, fit_cuts
from sgeval.judges.gold import gold_digest, read_gold


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Fit and store the cuts of an embedding judge.")
    parser.add_argument("name", help="the whole id of the repository, such as sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("--folder", help="where the model is, if not under its name")
    given = parser.parse_args()
    rows = read_gold("dev")
    judge = Embedding(given.folder or given.name, cuts=Cuts(NEVER, NEVER, NEVER, NEVER))
    cuts = fit_cuts(judge.cosines([row.pair for row in rows]), [row.category for row in rows])
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    models = stored["models"] if stored["gold"] == gold_digest() else {}
    models[given.name] = {name: round(value, 6) for name, value in asdict(cuts).items()}
    text = json.dumps({"gold": gold_digest(), "models": dict(sorted(models.items()))}, indent=2)
    STORED.write_text(text + "\n", encoding="utf-8")
    print(f"{PREFIX}{given.name}: {models[given.name]}")


if __name__ == "__main__":
    main()
