"""From rows to the result: a pure function, independent of the order of the rows."""

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sgeval.boxes import DISTANCES, SIZES, distance_group, gap, overlapping, size_group, size_ratio
from sgeval.relclip.options import Options
from sgeval.relclip.rows import Item
from sgeval.relscore import image_mean, pair_scores, penalised, possible_pairs, replaced
from sgeval.rows import ImageRow, Rows
from sgeval.summary import Floats, Sample, intervals, mean, slices

NAN = float("nan")
EXACT = {"exact_match": "exact", "exact_match_normalised": "exact_normalised"}
"""Keys of the result, and the fields of an item that they are the shares of."""


@dataclass(frozen=True)
class _PerImage:
    """One value a picture, NaN where undefined; pictures that could not be read are not among them."""

    images: list[ImageRow]
    scored: list[list[Item]]
    units: list[list[float]]
    """The scores that are averaged in a picture: of its scored triplets, or of its annotated pairs."""
    k: Floats
    """How many they are."""
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
        "mean_score_relations": mean([score for units in values.units for score in units]),
        "pair_coverage": _pair_coverage(values),
    }
    if options.pairs == "gold":
        n_pairs = int(values.k.sum())
        result["gold_pair_coverage"] = _n_answered(values) / n_pairs if n_pairs else None
    if rows.with_references:
        result |= _references(values, key)
    if options.bootstrap:
        result |= intervals(_ratios(values, key, rows.with_references), options.bootstrap, options.seed)
    _warn_exploded(values, options)
    result |= _counts(rows, values, scored, options)
    result["signature"] = signature
    if return_items:
        result["items"] = [asdict(item) for item in rows.in_order().items]
        result["images"] = image_table(rows, options)
    return result


def sample(rows: Rows[Item], options: Options, key: str) -> Sample:
    """What the scores are made of, picture by picture."""
    values = _per_image(rows, options)
    return Sample(tuple(row.image_id for row in values.images), _ratios(values, key, rows.with_references))


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


def box_tables(rows: Rows[Item]) -> dict[str, list[dict[str, object]]]:
    """The same by how the two boxes lie: `size_ratio` (groups `SIZES`) and `distance` (groups `DISTANCES`), in their order.

    Boxes are those that were scored, cut at the edges of the picture. A relation without boxes is in no group.
    """
    diagonals = {row.image_id: math.hypot(row.width or 0, row.height or 0) for row in rows.images}
    scores: list[float] = []
    groups: dict[str, list[str]] = {"size_ratio": [], "distance": []}
    for item in rows.in_order().items:
        diagonal = diagonals.get(item.image_id)
        if item.status != "scored" or item.subject_box is None or item.object_box is None or not diagonal:
            continue
        subject, obj = np.array(item.subject_box), np.array(item.object_box)
        scores.append(item.score if item.score is not None else NAN)
        groups["size_ratio"].append(size_group(float(size_ratio(subject, obj))))
        groups["distance"].append(distance_group(bool(overlapping(subject, obj)), float(gap(subject, obj)) / diagonal))
    order = [*SIZES, *DISTANCES]
    return {
        by: sorted(slices(scores, names), key=lambda row: order.index(str(row["group"])))
        for by, names in groups.items()
    }


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
    units = [_units(row, found, options) for row, found in zip(images, scored, strict=True)]
    k = np.array([len(found) for found in units], dtype=np.int64)
    p = possible_pairs([row.m for row in images])
    means = np.array(
        [_image_mean(row, found, row.image_id in undefined, options) for row, found in zip(images, units, strict=True)],
        dtype=np.float64,
    )
    headline = penalised(means, p, k, options.penalty)
    headline = np.where((k == 0) & ~np.isnan(means), means, headline)  # nothing scored: 0, whatever the penalty
    return _PerImage(images, scored, units, k.astype(np.float64), p.astype(np.float64), means, headline)


def _units(row: ImageRow, scored: Sequence[Item], options: Options) -> list[float]:
    """The scores of a picture's relations, or with `pairs="gold"` of its annotated pairs (eq. 1 and `pair_scores`)."""
    if options.pairs == "predicted":
        return [item.score for item in scored if item.score is not None]
    return [float(score) for score in pair_scores(_by_pair(scored).values(), row.n_gold_pairs or 0)]


def _by_pair(scored: Sequence[Item]) -> dict[frozenset[int], list[float]]:
    """The scores of the relations on each unordered pair."""
    found: dict[frozenset[int], list[float]] = defaultdict(list)
    for item in scored:
        if item.score is not None:
            found[frozenset(item.pair or ())].append(item.score)
    return found


def _image_mean(row: ImageRow, units: Sequence[float], has_undefined: bool, options: Options) -> float:
    """Eq. 2 for one picture. Nothing scored: 0 with two objects or more, undefined with fewer (or by `empty="skip"`).
    Where annotated pairs are scored, a picture without one is undefined."""
    if units:
        return image_mean(units)
    if row.m < 2 or has_undefined or options.pairs == "gold":
        return NAN
    return 0.0 if row.status == "missing" or options.empty == "zero" else NAN


def _gold_counts(values: _PerImage, n_elsewhere: int) -> dict[str, int]:
    """What became of the annotated pairs, and how many relations were predicted elsewhere."""
    n_pairs, answered = int(values.k.sum()), _n_answered(values)
    return {
        "n_gold_pairs": n_pairs,
        "n_unanswered_pairs": n_pairs - answered,
        "n_no_gold_pair": int((values.k == 0).sum()),
        "n_other_pairs": n_elsewhere,
    }


def _n_answered(values: _PerImage) -> int:
    """Unordered pairs with a scored relation."""
    return sum(len(_by_pair(found)) for found in values.scored)


def _pair_coverage(values: _PerImage) -> float | None:
    """Scored unordered pairs over possible pairs, pooled over the pictures with two objects or more."""
    possible = int(values.p.sum())
    return _n_answered(values) / possible if possible else None


def _references(values: _PerImage, key: str) -> dict[str, Any]:
    """Reference scores and exact match over the relations whose ordered pair has a reference."""
    with_reference = _with_reference(values)
    flat = [item for found in with_reference for item in found]
    out: dict[str, Any] = {}
    if key == "relclipscore":
        out["ref_relclipscore"] = mean([item.ref_score for item in flat if item.ref_score is not None])
    else:
        out["ref_note"] = f"no reference score: {key} is no cosine, and eq. 5 means two cosines"
    for name, field in EXACT.items():
        out[name] = mean([_share(found, field) for found in with_reference])
        out[f"{name}_relations"] = _or_none(_share(flat, field))
    out["n_ref"] = len(flat)
    return out


def _with_reference(values: _PerImage) -> list[list[Item]]:
    """The scored relations whose ordered pair has a reference, picture by picture."""
    return [[item for item in found if item.ref_predicates] for found in values.scored]


def _share(items: Sequence[Item], field: str) -> float:
    return sum(bool(getattr(item, field)) for item in items) / len(items) if items else NAN


def _ratios(values: _PerImage, key: str, with_references: bool) -> Mapping[str, tuple[Floats, Floats]]:
    """By score, numerators and denominators, a picture each."""

    def over_images(column: Floats) -> tuple[Floats, Floats]:
        defined = ~np.isnan(column)
        return np.where(defined, column, 0.0), defined.astype(np.float64)

    sums = np.array([math.fsum(found) for found in values.units])
    found = {
        key: over_images(values.headline),
        "mean_score": over_images(values.mean),
        "mean_score_relations": (sums, values.k),
    }
    if not with_references:
        return found
    held = _with_reference(values)
    if key == "relclipscore":
        scores = [[item.ref_score for item in items if item.ref_score is not None] for items in held]
        found["ref_relclipscore"] = _pooled(scores)
    for name, field in EXACT.items():
        found[name] = over_images(np.array([_share(items, field) for items in held], dtype=np.float64))
        found[f"{name}_relations"] = _pooled([[float(bool(getattr(item, field))) for item in items] for items in held])
    return found


def _pooled(values: Sequence[Sequence[float]]) -> tuple[Floats, Floats]:
    """Sums and numbers of values, a picture each."""
    sums, numbers = [math.fsum(of) for of in values], [len(of) for of in values]
    return np.array(sums, dtype=np.float64), np.array(numbers, dtype=np.float64)


def _counts(rows: Rows[Item], values: _PerImage, scored: Sequence[Item], options: Options) -> dict[str, int]:
    status = Counter(item.status for item in rows.items)
    images = Counter(row.status for row in rows.images)
    is_gold = options.pairs == "gold"
    could = np.array([bool(row.n_gold_pairs) if is_gold else row.m >= 2 for row in values.images], dtype=bool)
    nothing = np.array([not found for found in values.scored], dtype=bool)
    undefined = {item.image_id for item in rows.items if item.status == "undefined"}
    at_the_border = sum(row.n_invalid_relations for row in rows.images)
    blameless = np.array([row.image_id not in undefined for row in values.images], dtype=bool)
    gold = _gold_counts(values, status["other_pair"]) if is_gold else {}
    return {
        "n_images": len(rows.images),
        "n_scored_images": int((~np.isnan(values.headline)).sum()),
        "n_relations": len(scored),
        "n_predicted": len(rows.items) + at_the_border,
        "n_empty": int((nothing & could & blameless).sum()),
        "n_undefined": int(np.isnan(values.headline).sum()),
        "n_undefined_relations": status["undefined"],
        "n_guarded": int((replaced(values.p, values.k, options.penalty) & (values.k > 0)).sum()),
        **gold,
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
