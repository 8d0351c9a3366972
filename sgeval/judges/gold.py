"""The gold set of judges: pairs of labels whose category WordNet 3.0 and LVIS vouch for.

It is dictionary gold: agreement with it is agreement with lexicographers and the makers of LVIS, not with the human raters
of a video data set. `sgeval/assets/judge_gold/README.md` says how it is made.
"""

import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sgeval.errors import one_of
from sgeval.judges.verdicts import Category, Pair

Part = Literal["dev", "test"]
PARTS: tuple[Part, ...] = ("dev", "test")
"""dev is for fitting thresholds, test for figures. No family is in both."""
GOLD = Path(__file__).parents[1] / "assets" / "judge_gold" / "gold.jsonl.gz"
PROBE = GOLD.with_name("probe.jsonl.gz")


@dataclass(frozen=True)
class GoldPair:
    """A pair with its category."""

    pair: Pair
    category: Category
    part: Part
    families: tuple[str, ...]
    """Of the senses of both labels, one where it is the same. The first is the unit of the bootstrap."""
    rule: str
    evidence: Mapping[str, Any]
    """What the category stands on; see the README of the asset."""


def read_gold(part: str) -> tuple[GoldPair, ...]:
    """One part of the gold set. Raises `SgevalError` for a part that is neither dev nor test.

    >>> read_gold("dev")[0].category
    'identical'
    """
    one_of("part", part, PARTS)
    return tuple(row for row in _gold() if row.part == part)


def read_probe() -> tuple[Pair, ...]:
    """Pairs without a category: kinds of one thing (barge and ferry, pizza and taco). Whether those overlap no dictionary
    says, and it is what moves a lenient score most."""
    return tuple(Pair(row["kind"], row["reference"], row["prediction"]) for row in _rows(PROBE))


def gold_digest() -> str:
    """The SHA-256 of the rows of the gold set."""
    return hashlib.sha256(_text(GOLD).encode("utf-8")).hexdigest()


@cache
def _gold() -> tuple[GoldPair, ...]:
    return tuple(
        GoldPair(
            Pair(row["kind"], row["reference"], row["prediction"]),
            row["category"],
            row["part"],
            tuple(row["families"]),
            row["rule"],
            row["evidence"],
        )
        for row in _rows(GOLD)
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _text(path).splitlines()]


@cache
def _text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode("utf-8")
