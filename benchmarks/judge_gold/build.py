"""Build the gold set of judges: `sgeval/assets/judge_gold/gold.jsonl.gz` and `probe.jsonl.gz`.

    python -m benchmarks.judge_gold.build [--out FOLDER]

Needs nothing but what is in the repository. The rows are the same wherever they are made: candidates are ordered by a digest
of their labels, never drawn.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.judge_gold.rules import RULES, Candidate, Sources, digest
from benchmarks.judge_gold.traps import TRAPS
from benchmarks.judge_gold.wordnet_asset import write_packed
from sgeval.judges.dictionary import dictionary

OUT = Path("sgeval/assets/judge_gold")

QUOTAS = {
    ("object", "identical", "spelling"): 75,
    ("object", "identical", "inflection"): 115,
    ("object", "identical", "article"): 50,
    ("predicate", "identical", "inflection"): 60,
    ("object", "synonym", "lvis"): 300,
    ("predicate", "synonym", "synonym"): 60,
    ("attribute", "synonym", "synonym"): 80,
    ("object", "hypernym", "lvis"): 335,
    ("predicate", "hypernym", "hypernym"): 90,
    ("object", "mismatch", "far"): 215,
    ("object", "mismatch", "shared word"): 80,
    ("object", "mismatch", "part"): 24,
    ("predicate", "mismatch", "opposites"): 42,
    ("predicate", "mismatch", "antonym"): 10,
    ("attribute", "mismatch", "antonym"): 62,
    ("attribute", "overlap", "similar"): 300,
    ("object", "mismatch", "sense trap"): 180,
    ("predicate", "mismatch", "acts apart"): 240,
    ("predicate", "mismatch", "aim"): 72,
    ("predicate", "hypernym", "placed act"): 18,
    ("predicate", "synonym", "same place"): 18,
}
"""Pairs to take of each kind, category and rule, as far as there are that many with their families in one part."""
DEV_SHARE = 6  # one family of six, and so about a sixth of the pairs, is for fitting thresholds
MOST_OF_A_FAMILY = 8  # pairs of one rule, so that no family decides a figure
PROBE = 500


def gold_rows(sources: Sources) -> list[dict[str, Any]]:
    """The rows of the gold set, by rule and digest."""
    candidates: dict[tuple[str, str, str], list[Candidate]] = {}
    for one in (one for rule in (*RULES, *TRAPS) for one in rule(sources)):
        candidates.setdefault((one.kind, one.category, one.rule), []).append(one)
    taken: set[frozenset[str]] = set()
    rows = []
    for key, quota in QUOTAS.items():
        dev = round(quota / DEV_SHARE)
        left = {"dev": dev, "test": quota - dev}
        of_family: Counter[str] = Counter()
        for one in sorted(candidates[key], key=lambda one: (one.order, one.labels)):
            parts = {part_of(family) for family in one.families}
            labels = frozenset(label.casefold() for label in one.labels) | {one.kind}
            part, family = min(parts), one.families[0]
            if len(parts) > 1 or labels in taken or not left[part] or of_family[family] == MOST_OF_A_FAMILY:
                continue
            of_family[family] += 1
            left[part] -= 1
            taken.add(labels)
            rows.append(row_of(one, part))
    return rows


def part_of(family: str) -> str:
    """The part that a family belongs to, wherever it occurs."""
    return "dev" if int(digest("part", family), 16) % DEV_SHARE == 0 else "test"


def row_of(one: Candidate, part: str) -> dict[str, Any]:
    """A candidate as a row. Which label is the reference is decided by its digest."""
    reference, prediction = one.labels if int(one.order, 16) % 2 else one.labels[::-1]
    return {
        "kind": one.kind,
        "reference": reference,
        "prediction": prediction,
        "category": one.category,
        "part": part,
        "families": list(one.families),
        "rule": one.rule,
        "evidence": one.evidence,
    }


def probe_rows(sources: Sources) -> Iterator[dict[str, Any]]:
    """Pairs without a label: categories that are kinds of one thing. Whether those overlap no dictionary says."""
    by_parent: dict[int, list[Any]] = {}
    for one in sources.categories:
        for up in sources.wordnet.pointers(one.sense, "@"):
            by_parent.setdefault(up, []).append(one)
    pairs = [
        (digest(left.name, right.name), parent, left, right)
        for parent, kinds in by_parent.items()
        for index, left in enumerate(kinds)
        for right in kinds[index + 1 :]
        if not sources.every_sense[left.id] & sources.every_sense[right.id]
    ]
    for _, parent, left, right in sorted(pairs, key=lambda pair: pair[0])[:PROBE]:
        yield {
            "kind": "object",
            "reference": left.names[0].replace("_", " "),
            "prediction": right.names[0].replace("_", " "),
            "evidence": {"lvis": [left.id, right.id], "parent": sources.name_of(parent)},
        }


def json_lines(rows: Iterable[dict[str, Any]]) -> str:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Build the gold set of judges.")
    parser.add_argument("--out", type=Path, default=OUT)
    out = parser.parse_args().out
    sources = Sources(dictionary())
    rows = gold_rows(sources)
    write_packed(json_lines(rows), out / "gold.jsonl.gz")
    write_packed(json_lines(probe_rows(sources)), out / "probe.jsonl.gz")
    for key, count in sorted(Counter((row["part"], row["category"], row["kind"]) for row in rows).items()):
        print(*key, count)
    print(len(rows), "pairs")


if __name__ == "__main__":
    main()
