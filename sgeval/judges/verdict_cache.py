"""Verdicts on disk, for several processes: each pair is paid for once, and what is committed stays."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

from sgeval.judges.prompt import PROMPT, ReplyFormat, prompt_digest, schema_digest
from sgeval.judges.verdicts import CATEGORIES, Category, Pair
from sgeval.shared_rows import Claims, Form, SharedRows, cache_key

CACHE_SCHEMA = 1
"""Rises when the meaning of a key or a row changes: how answers are read, how many tokens they may have."""
FORM = Form("verdicts", b"sgJv", 1, "verdicts", page=4096, synchronous="FULL")  # paid for, so none may be lost


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict of a model with all that is kept of it. `reply` is the SHA-256 of the text that it was read from."""

    category: Category
    is_repaired: bool
    model: str
    fingerprint: str
    reply: str
    prompt_tokens: int | None
    completion_tokens: int | None
    n_pairs: int
    """How many pairs the request held, to which the tokens belong."""
    attempts: int


@dataclass(frozen=True)
class Question:
    """Everything beside the pair that may move a verdict; `batch` is how many pairs are asked at once."""

    model: str
    address: str
    seed: int | None
    max_tokens: int | None
    reply_format: ReplyFormat
    extra: Mapping[str, Any]
    normalisation: str
    batch: int
    temperature: float | None = 0.0
    top_p: float | None = None

    @cached_property
    def _parts(self) -> str:
        parts = {
            "schema": CACHE_SCHEMA,
            "prompt": PROMPT,
            "prompt_sha256": prompt_digest(),
            "answer": self.reply_format,
            "answer_sha256": schema_digest(),
            "model": self.model,
            "address": self.address,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "extra": dict(self.extra),
            "normalisation": self.normalisation,
            "batch": "alone" if self.batch == 1 else f"batched-{self.batch}",
        }
        return cache_key(json.dumps(parts, sort_keys=True, separators=(",", ":")))

    def scope(self, pairs: Iterable[Pair]) -> str:
        """What a verdict of a batch with unknown labels is good for: the pairs of one submission, in whatever order.

        Empty where each pair is asked alone, since nothing but the pair itself can have moved its verdict then.
        """
        if self.batch == 1:
            return ""
        return cache_key(*sorted(cache_key(pair.kind, pair.reference, pair.prediction) for pair in pairs))

    def key(self, pair: Pair, scope: str = "") -> str:
        """SHA-256, in hex, over digests of all that moves the verdict, the pair, and what it is good for, if not for all."""
        return cache_key(self._parts, json.dumps([pair.kind, pair.reference, pair.prediction, scope]))


class VerdictCache:
    """Verdicts by key, in `FOLDER/verdicts.sqlite`; the folder is made. For the process and thread that opened it.

    Raises as `sgeval.shared_rows.SharedRows` does.
    """

    def __init__(self, folder: str | Path) -> None:
        self._rows = SharedRows(folder, FORM)

    def close(self) -> None:
        """Give the file back, and the claims that are left."""
        self._rows.close()

    def claim(self, keys: Sequence[str], scoped: Mapping[str, str] | None) -> tuple[Claims, dict[str, Finding]]:
        """The verdicts that are there, and claims on the keys that nobody has or is asking; see `SharedRows.claim`."""
        claims = self._rows.claim(keys, _fault, scoped)
        return claims, {key: _read(row) for key, row in claims.rows.items()}

    def read(self, keys: Sequence[str], scoped: Mapping[str, str] | None) -> dict[str, Finding]:
        """The verdicts that are there; nothing is claimed."""
        return {key: _read(row) for key, row in self._rows.read(keys, _fault, scoped).items()}

    def has_changed(self, claims: Claims) -> bool:
        """Whether the keys that others claimed are worth another look."""
        return self._rows.has_changed(claims)

    def store(self, findings: Mapping[str, Finding], done: Iterable[str]) -> dict[str, Finding]:
        """Commit verdicts and drop the claims `done`. Returns those that were there before: the first one wins."""
        rows = {key: _row(finding) for key, finding in findings.items()}
        there = self._rows.store_first(rows, done, _fault)
        return {key: _read(row) for key, row in there.items()}


def _row(finding: Finding) -> bytes:
    values = {name: getattr(finding, name) for name in Finding.__slots__}
    values["created"] = datetime.now(timezone.utc).isoformat(timespec="seconds")  # for people; nothing reads it
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def _fault(row: bytes) -> str:
    try:
        _read(row)
    except (ValueError, TypeError, KeyError, AttributeError):
        return "form"
    return ""


def _read(row: bytes) -> Finding:
    values = json.loads(row)
    finding = Finding(**{name: values[name] for name in Finding.__slots__})
    if finding.category not in CATEGORIES:
        raise ValueError(finding.category)
    return finding
