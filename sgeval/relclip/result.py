"""From rows to the result: a pure function, independent of the order of the rows."""

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sgeval.relclip.options import Options
from sgeval.relclip.rows import Item
from sgeval.relscore import image_mean, penalised, possible_pairs, replaced
from sgeval.rows import ImageRow, Rows
from sgeval.summary import Floats, Sample, intervals, mean, slices

NAN = float("nan")


@dataclass(frozen=True)
class _PerImage:
    """One value a picture, NaN where undefined; pictures that could not be read are not among them."""

    images: list[ImageRow]
    scored: list[list[Item]]
    k: Floats
    p: Floats
    mean: Floats
    headline: Floats


def summarise(
    rows: Rows[Item], options: Options, key: str, signature: str, return_items: bool = False
) -> dict[str, Any]:
    """The flat result of a run's rows: floats and counts, then `signature`, then `items` and `images` when asked."""
    values = _per_image(rows, options)
    scored = [item for items in values.scored for item in items]
    result: dict[str, Any] = {
        key: mean(values.headline.tolist()),
        "mean_score": mean(values.mean.tolist()),
        "mean_score_relations": mean([item.score for item in scored if item.score is not None]),
        "pair_coverage": _pair_coverage(values),
    }
    if rows.with_references:
        result |= _references(values, key)
    if options.bootstrap:
        result |= intervals(_ratios(values, key), options.bootstrap, options.seed)
    _warn_exploded(values, options)
    result |= _counts(rows, values, scored, options)
    result["signature"] = signature
    if return_items:
        result["items"] = [asdict(item) for item in rows.in_order().items]
        result["images"] = image_table(rows, options)
    return result


def sample(rows: Rows[Item], options: Options, key: str) -> Sample:
    """What the headline and the means are made of, picture by picture."""
    values = _per_image(rows, options)
    return Sample(tuple(row.image_id for row in values.images), _ratios(values, key))


def image_table(rows: Rows[Item], options: Options) -> list[dict[str, Any]]:
    """One row a picture with its k, p, mean and penalised score; `None` where undefined."""
    values = _per_image(rows, options)
    by_id = {
        row.image_id: {
            "k": int(values.k[index]),
            "p": int(values.p[index]),
            "mean_score": _or_none(values.mean[index]),
            "penalised_score": _or_none(values.headline[index]),
        }
        for index, row in enumerate(values.images)
    }
    blank = {"k": None, "p": None, "mean_score": None, "penalised_score": None}
    return [asdict(row) | by_id.get(row.image_id, blank) for row in rows.in_order().images]


def predicate_table(rows: Rows[Item]) -> list[dict[str, object]]:
    """Number and mean score of the scored relations by normalised predicate, most frequent first."""
    scored = [item for item in rows.in_order().items if item.status == "scored"]
    return slices([item.score if item.score is not None else NAN for item in scored], [item.group for item in scored])


def _warn_exploded(values: _PerImage, options: Options) -> None:
    exploded = int(((values.p - values.k == 1) & (values.k > 0)).sum()) if options.penalty == "literal" else 0
    if exploded:
        warnings.warn(
            f'penalty="literal": {exploded} of {len(values.images)} images have p − k = 1, where eq. 3 as printed '
            "multiplies the mean by 100,000",
            stacklevel=4,
        )


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _per_image(rows: Rows[Item], options: Options) -> _PerImage:
    items: dict[str, list[Item]] = defaultdict(list)
    undefined: set[str] = set()
    for item in rows.in_order().items:
        if item.status == "scored":
            items[item.image_id].append(item)
        elif item.status == "undefined":
            undefined.add(item.image_id)
    images = [row for row in rows.in_order().images if row.status != "bad_image"]
    scored = [items[row.image_id] for row in images]
    k = np.array([len(found) for found in scored], dtype=np.int64)
    p = possible_pairs([row.m for row in images])
    means = np.array(
        [
            _image_mean(row, found, row.image_id in undefined, options)
            for row, found in zip(images, scored, strict=True)
        ],
        dtype=np.float64,
    )
    headline = penalised(means, p, k, options.penalty)
    headline = np.where((k == 0) & ~np.isnan(means), means, headline)  # nothing scored: 0, whatever the penalty
    return _PerImage(images, scored, k.astype(np.float64), p.astype(np.float64), means, headline)


def _image_mean(row: ImageRow, scored: Sequence[Item], has_undefined: bool, options: Options) -> float:
    """Eq. 2 for one picture. Nothing scored: 0 with two objects or more, undefined with fewer (or by `empty="skip"`)."""
    if scored:
        return image_mean([item.score for item in scored if item.score is not None])
    if row.m < 2 or has_undefined:
        return NAN
    return 0.0 if row.status == "missing" or options.empty == "zero" else NAN


def _pair_coverage(values: _PerImage) -> float | None:
    """Scored unordered pairs over possible pairs, pooled over the pictures with two objects or more."""
    pairs = sum(len({frozenset(item.pair) for item in found if item.pair}) for found in values.scored)
    possible = int(values.p.sum())
    return pairs / possible if possible else None


def _references(values: _PerImage, key: str) -> dict[str, Any]:
    """Reference scores and exact match over the relations whose ordered pair has a reference."""
    with_reference = [[item for item in found if item.ref_predicates] for found in values.scored]
    flat = [item for found in with_reference for item in found]
    out: dict[str, Any] = {}
    if key == "relclipscore":
        out["ref_relclipscore"] = mean([item.ref_score for item in flat if item.ref_score is not None])
    else:
        out["ref_note"] = f"no reference score: {key} is no cosine, and eq. 5 means two cosines"
    for name in ("exact_match", "exact_match_normalised"):
        field = name.replace("exact_match", "exact")
        out[name] = mean([_share(found, field) for found in with_reference])
        out[f"{name}_relations"] = _or_none(_share(flat, field))
    out["n_ref"] = len(flat)
    return out


def _share(items: Sequence[Item], field: str) -> float:
    return sum(bool(getattr(item, field)) for item in items) / len(items) if items else NAN


def _ratios(values: _PerImage, key: str) -> Mapping[str, tuple[Floats, Floats]]:
    """By score, numerators and denominators, a picture each."""

    def over_images(column: Floats) -> tuple[Floats, Floats]:
        defined = ~np.isnan(column)
        return np.where(defined, column, 0.0), defined.astype(np.float64)

    sums = np.array([math.fsum(item.score or 0.0 for item in found) for found in values.scored])
    return {
        key: over_images(values.headline),
        "mean_score": over_images(values.mean),
        "mean_score_relations": (sums, values.k),
    }


def _counts(rows: Rows[Item], values: _PerImage, scored: Sequence[Item], options: Options) -> dict[str, int]:
    status = Counter(item.status for item in rows.items)
    images = Counter(row.status for row in rows.images)
    has_pairs = np.array([row.m >= 2 for row in values.images], dtype=bool)
    undefined = {item.image_id for item in rows.items if item.status == "undefined"}
    at_the_border = sum(row.n_invalid_relations for row in rows.images)
    blameless = np.array([row.image_id not in undefined for row in values.images], dtype=bool)
    return {
        "n_images": len(rows.images),
        "n_scored_images": int((~np.isnan(values.headline)).sum()),
        "n_relations": len(scored),
        "n_predicted": len(rows.items) + at_the_border,
        "n_empty": int(((values.k == 0) & has_pairs & blameless).sum()),
        "n_undefined": int(np.isnan(values.headline).sum()),
        "n_undefined_relations": status["undefined"],
        "n_guarded": int((replaced(values.p, values.k, options.penalty) & (values.k > 0)).sum()),
        "n_duplicates": status["duplicate"],
        "n_self": status["self"],
        "n_unmatched": status["unmatched"],
        "n_invalid": status["invalid"] + rows.n_invalid,
        "n_invalid_relations": status["invalid"] + at_the_border,
        "n_bad_images": images["bad_image"],
        "n_bad_image_relations": status["bad_image"],
        "n_missing": images["missing"],
        "n_clipped_boxes": sum(row.n_clipped for row in rows.images),
        "n_outside_boxes": sum(row.n_outside for row in rows.images),
        "n_endpoint_cut": sum(bool(item.endpoint_cut) for item in scored),
        "n_truncated": sum(bool(item.truncated) for item in scored),
    }
