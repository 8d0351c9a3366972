"""The protocol of a run: what has to be equal for two numbers to measure the same thing."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sgeval import alignment, temporal
from sgeval.encoders.aliases import ALIASES
from sgeval.phrases import DUAL_ENCODER_TEMPLATE
from sgeval.runs import Run
from sgeval.signature import parts_of

POLICIES: Mapping[str, tuple[str, ...]] = {
    "invalid": ("n_invalid", "n_invalid_relations"),
    "missing": ("n_missing", "n_missing_frames", "n_missing_videos"),
    "badimage": ("n_bad_images",),
    "empty": ("n_empty",),
}
"""Parts of a signature that say what is done with cases that may not occur, and the counts of these. What is refused or
counts as 0 leaves other runs as they are; what is left out makes a number of its own."""
ENCODER = ("model", "weights", "act", "text", "image", "score")
"""Parts that are the system itself where scoring models are what is compared."""
PREFERENCES = ("theta", "precision", "direction_accuracy", "above_no_predicate", "above_random_predicate")
"""Scores of θ that ask what a model prefers, whatever its own scale; the others are on that scale."""
DRAWN = ("above_random_predicate", "gap_random_predicate")
"""Scores of θ that depend on predicates drawn at random."""


def protocol(run: Run, keys: Sequence[str] = ()) -> dict[str, str]:
    """What has to be equal for scores to be comparable: the parts of the signature that move them (the headline, or those
    under `keys`), how many cases were left out, the references, and the objects where a metric depends on their number."""
    parts = parts_of(run.signature)
    for part, counts in POLICIES.items():
        value = parts.pop(part, None)
        n_met = sum(int(run.result.get(count) or 0) for count in counts)
        if value == "skip" and n_met:
            parts[part] = f"skip, {n_met:,} left out"
    parts = name_own_template(run.metric, parts)
    for part in _idle(run.metric, keys or (run.headline,)):
        parts.pop(part, None)
    if run.metric == temporal.KEY:
        _undecided(run, parts)
    references = run.inputs.get("references")
    digest = references.get("sha256") if isinstance(references, Mapping) else None
    parts["references"] = str(digest)[:12] if digest else "unnamed"
    if not getattr(run.rows, "with_references", True):
        parts["references"] = "none"
    images = sorted(getattr(run.rows, "images", ()), key=lambda row: row.image_id)
    if images:
        digest = _digest([(row.image_id, row.m, row.status == "bad_image") for row in images])
        parts["objects"] = f"{sum(row.m for row in images)} ({digest})"
    return parts


def _idle(metric: str, keys: Sequence[str]) -> Iterator[str]:
    """Parts of a signature that move none of these scores."""
    if metric == alignment.KEY:
        if set(keys) <= set(PREFERENCES):
            yield from ENCODER
        if not set(keys) & set(DRAWN):
            yield "draw"


def name_own_template(metric: str, parts: Mapping[str, str]) -> dict[str, str]:
    """The parts of a signature, the text of triplets called the model's own where scoring models are compared and each is
    asked in its own."""
    model = parts.get("model", "")
    own = ALIASES[model].template if model in ALIASES else DUAL_ENCODER_TEMPLATE
    if metric == alignment.KEY and parts.get("template") == own:
        return {**parts, "template": "the model's own"}
    return dict(parts)


def _undecided(run: Run, parts: dict[str, str]) -> None:
    """Where all verdicts are there, the share that may be missing moved nothing; where not, the shares that are."""
    coverages = {kind: run.result.get(f"{kind}_coverage") for kind in temporal.KINDS}
    open_kinds = {kind: value for kind, value in coverages.items() if value is not None and value < 100}
    parts.pop("maxunjudged", None)
    if open_kinds:
        parts["decided"] = ", ".join(f"{kind} {value:.2f} %" for kind, value in open_kinds.items())


def differing_parts(left: Mapping[str, str], right: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    """The parts of two protocols that are not the same: name, value in each, empty where absent.

    >>> differing_parts({"judge": "wordnet"}, {"judge": "exact"})
    (('judge', 'wordnet', 'exact'),)
    """
    pairs = ((name, left.get(name, ""), right.get(name, "")) for name in dict.fromkeys((*left, *right)))
    return tuple(pair for pair in pairs if pair[1] != pair[2])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]
