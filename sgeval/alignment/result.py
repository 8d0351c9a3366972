"""From rows to the result of θ: pure functions, independent of the order of the rows."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sgeval import ranks
from sgeval.alignment.options import Options
from sgeval.alignment.rows import Item
from sgeval.ranks import Ints
from sgeval.relscore import rel_score
from sgeval.rows import Rows
from sgeval.summary import Floats, Sample, intervals
from sgeval.vocabulary import class_key, predicate_key

SMALL = 0.2  # paper 1, Table 4: a box of less than a fifth of the other's area
ROUNDING = 1e-9  # relative; what decimals of a box lose on their way to a ratio, forgiven at both borders
FAR = 0.2  # paper 1, Section 4: apart by a fifth of the picture, here of its diagonal

RANKED = ("theta", "precision", "chance_theta", "chance_precision", "mean_score", "mean_candidates")
"""Means over the relations that are ranked."""
BESIDE = (
    "direction_accuracy",
    "above_no_predicate",
    "gap_no_predicate",
    "above_random_predicate",
    "gap_random_predicate",
)
"""Means over the relations for which there is something to compare with."""
MOST_PREDICATES = 200  # for which slices come with intervals
CELLS = 16_000_000  # numbers that a bootstrap of slices holds at once, about 128 MB
WITH_INTERVAL = ("theta", "precision", "mean_score", *BESIDE)


@dataclass(frozen=True)
class Columns:
    """One value a relation, NaN where a measure is undefined or left out, and the picture (or list) each is of."""

    values: Mapping[str, Floats]
    units: Ints
    n_units: int

    def mean(self, name: str, chosen: Any = slice(None)) -> float | None:
        """The mean of the defined values by exact summation; `None` of none."""
        column = self.values[name][chosen]
        defined = column[~np.isnan(column)]
        return math.fsum(defined) / len(defined) if len(defined) else None

    def ratios(self, names: Iterable[str], chosen: Any = slice(None)) -> dict[str, tuple[Floats, Floats]]:
        """By name, sums and numbers of the defined values picture by picture: what the bootstrap draws from."""
        found = {}
        for name in names:
            column, units = self.values[name][chosen], self.units[chosen]
            defined = ~np.isnan(column)
            column, units = column[defined], units[defined]
            order = np.lexsort(
                (column, units)
            )  # sums in the order of values: that of a picture's relations says nothing
            sums = np.bincount(units[order], column[order], self.n_units)
            found[name] = (sums.astype(np.float64), np.bincount(units, minlength=self.n_units).astype(np.float64))
        return found


Of = Callable[[str], Floats]
"""The column of a name, NaN where a row has no value."""


def columns(of: Of, units: Ints, n_units: int, options: Options) -> Columns:
    """The measures of scored relations, in their order, and of which picture (or list) each is."""
    n, higher, tied, first_best = (of(name) for name in ("n", "higher", "tied", "first_best"))
    is_script = _is_script(options)
    value = of("softmax") if options.score == "softmax100" else rel_score(of("score"))
    ranked = {
        "theta": ranks.openvocsgg_theta(first_best, n) if is_script else ranks.theta(higher, tied, n),
        "precision": ranks.openvocsgg_precision(first_best) if is_script else ranks.precision(higher, tied),
        "chance_theta": ranks.chance_theta(n),
        "chance_precision": 1.0 / n,
        "mean_score": value,
        "mean_candidates": n,
    }
    left_out = (n == 1) & (options.singletons == "skip")
    score = of("score")
    beside = {"direction_accuracy": ranks.wins(score, of("swap_score"))}
    for name, other in (("no_predicate", of("bare_score")), ("random_predicate", of("random_score"))):
        beside |= {f"above_{name}": ranks.wins(score, other), f"gap_{name}": score - other}
    values = {name: np.where(left_out, np.nan, column) for name, column in ranked.items()} | beside
    counts = {"n": n, "tied": of("tied"), "near": of("near")}
    return Columns(values | counts, units, n_units)


def _is_script(options: Options) -> bool:
    return options.protocol == "openvocsgg"


def summarise_lists(table: Mapping[str, Any], n_invalid: int, options: Options, signature: str) -> dict[str, Any]:
    """The flat result of lists of scores: floats and counts, `signature` last. A list is its own unit of the bootstrap.

    `table` holds a column for `n`, `score` and each of `sgeval.ranks.Places`.
    """
    # Any order of the lists draws the same replicates; where the truth stands in its list matters to the script alone.
    names = ("n", "score", "softmax", "higher", "tied", "near", *(("first_best",) if _is_script(options) else ()))
    order = np.lexsort([table[name] for name in reversed(names)])
    size = len(order)

    def of(name: str) -> Floats:
        return np.asarray(table[name][order], float) if name in table else np.full(size, math.nan)

    found = columns(of, np.arange(size), size, options)
    result: dict[str, Any] = {name: found.mean(name) for name in RANKED}
    result |= _intervals(found, ("theta", "precision", "mean_score"), options)
    result |= _rank_counts(found) | {"n_invalid": n_invalid}
    return result | {"signature": signature}


def summarise(rows: Rows[Item], options: Options, signature: str, return_items: bool = False) -> dict[str, Any]:
    """The flat result of a run on graphs; `items`, `images`, `confused` and `slices` when asked."""
    rows = rows.in_order()
    scored, found = _scored(rows, options)
    result: dict[str, Any] = {name: found.mean(name) for name in (*RANKED, *BESIDE)}
    result |= _intervals(found, WITH_INTERVAL, options)
    result |= _rank_counts(found) | _graph_counts(rows, scored, found)
    result["signature"] = signature
    if return_items:
        result["items"] = [asdict(item) for item in rows.items]
        result["images"] = [asdict(row) for row in rows.images]
        result["confused"] = confused(rows, options)
        result["slices"] = slices(rows, options)
    return result


def sample(rows: Rows[Item], options: Options) -> Sample:
    """What the measures are made of, picture by picture."""
    rows = rows.in_order()
    _, found = _scored(rows, options)
    return Sample(tuple(row.image_id for row in rows.images), found.ratios(WITH_INTERVAL))


def confused(rows: Rows[Item], options: Options) -> list[dict[str, Any]]:
    """Table 2: which triplets are outscored by which others, most frequent first, then by alphabet.

    Triplets are of classes. `n` counts the relations of the triplet that were outscored by this predicate: by it above
    all others (`confusers="top"`) or by it among others (`"all"`); `of` counts all ranked relations of the triplet.
    """
    counts: Counter[tuple[str, str, str, str]] = Counter()
    totals: Counter[tuple[str, str, str]] = Counter()
    for item in rows.items:
        if item.status != "scored" or (item.n == 1 and options.singletons == "skip"):
            continue
        subject, obj = (class_key(label, options.normalisation) for label in (item.subject, item.object))
        triplet = (subject, predicate_key(item.predicate, options.normalisation), obj)
        totals[triplet] += 1
        shown = item.confusers[:1] if options.confusers == "top" else item.confusers
        counts.update((*triplet, predicate) for predicate in shown)
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return [
        {
            "subject": subject,
            "predicate": predicate,
            "object": obj,
            "confuser": confuser,
            "n": n,
            "of": totals[subject, predicate, obj],
        }
        for (subject, predicate, obj, confuser), n in ordered
    ]


def slices(rows: Rows[Item], options: Options) -> list[dict[str, Any]]:
    """The measures by size ratio, by distance and by predicate (most frequent first), with numbers and intervals.

    Intervals are made for the `MOST_PREDICATES` most frequent predicates; for rarer ones they are `None`.
    """
    scored, found = _scored(rows.in_order(), options)
    out: list[dict[str, Any]] = []
    members: list[Ints] = []
    for by, of in _SLICES.items():
        groups: dict[str, list[int]] = {}
        for index, item in enumerate(scored):
            groups.setdefault(of(item), []).append(index)
        frequent = sorted(groups, key=lambda name: (-len(groups[name]), name))
        for name in _ORDER.get(by, frequent):
            if name in groups:
                chosen = np.array(groups[name])
                out.append({"by": by, "group": name, "n": len(chosen)} | _sliced(found, chosen))
                members.append(chosen)
    if options.bootstrap:
        most = MOST_PREDICATES + sum(row["by"] != "predicate" for row in out)
        for row, ends in zip(out, _slice_intervals(found, members, most, options), strict=True):
            row |= ends
    return out


def _sliced(found: Columns, chosen: Ints) -> dict[str, Any]:
    counts = {"n_relations": "theta", "n_direction": "direction_accuracy"}
    row: dict[str, Any] = {key: int((~np.isnan(found.values[of][chosen])).sum()) for key, of in counts.items()}
    return row | {key: found.mean(key, chosen) for key in (*RANKED, *BESIDE)}


def _slice_intervals(
    found: Columns, members: Sequence[Ints], most: int, options: Options
) -> Iterator[dict[str, float | None]]:
    """The intervals of the first `most` slices, many slices to a bootstrap; of the others `None`."""
    names: dict[str, float | None] = {f"{name}_{end}": None for name in WITH_INTERVAL for end in ("low", "high")}
    step = max(1, CELLS // (2 * len(WITH_INTERVAL) * max(1, found.n_units)))
    for start in range(0, min(len(members), most), step):
        part = range(start, min(start + step, len(members), most))
        ratios = {
            f"{index} {name}": ratio
            for index in part
            for name, ratio in found.ratios(WITH_INTERVAL, members[index]).items()
        }
        ends = intervals(ratios, options.bootstrap, options.seed)
        for index in part:
            yield {key: ends[f"{index} {key}"] for key in names}
    yield from (dict(names) for _ in members[most:])


def _size(item: Item) -> str:
    return "below 0.2" if (item.size_ratio or 0.0) < SMALL * (1 - ROUNDING) else "0.2 and above"


def _distance(item: Item) -> str:
    if item.overlap:
        return "overlap"
    return "distant" if (item.gap or 0.0) >= FAR * (1 - ROUNDING) else "near"


_SLICES: Mapping[str, Callable[[Item], str]] = {
    "size_ratio": _size,
    "distance": _distance,
    "predicate": lambda item: item.group,
}
_ORDER = {"size_ratio": ["below 0.2", "0.2 and above"], "distance": ["overlap", "near", "distant"]}


def _scored(rows: Rows[Item], options: Options) -> tuple[list[Item], Columns]:
    number = {row.image_id: index for index, row in enumerate(rows.images)}
    scored = [item for item in rows.items if item.status == "scored"]

    def of(name: str) -> Floats:
        return np.array([math.nan if (value := getattr(item, name)) is None else value for item in scored], float)

    units = np.array([number[item.image_id] for item in scored], dtype=np.int64)
    return scored, columns(of, units, len(number), options)


def _intervals(found: Columns, names: Sequence[str], options: Options) -> dict[str, float | None]:
    return intervals(found.ratios(names), options.bootstrap, options.seed) if options.bootstrap else {}


def _rank_counts(found: Columns) -> dict[str, int]:
    ranked = ~np.isnan(found.values["theta"])
    return {
        "n_relations": int(ranked.sum()),
        "n_singletons": int((found.values["n"] == 1).sum()),
        "n_ties": int((found.values["tied"][ranked] > 0).sum()),
        "n_near_ties": int((found.values["near"][ranked] > 0).sum()),
    }


def _graph_counts(rows: Rows[Item], scored: Sequence[Item], found: Columns) -> dict[str, int]:
    status = Counter(item.status for item in rows.items)
    at_the_border = sum(row.n_invalid_relations for row in rows.images)
    ranked = ~np.isnan(found.values["theta"])
    return {
        "n_direction": int((~np.isnan(found.values["direction_accuracy"])).sum()),
        "n_images": len(rows.images),
        "n_scored_images": len(np.unique(found.units[ranked])),
        "n_annotated": len(rows.items) + at_the_border,
        "n_unlisted": status["unlisted"],
        "n_undefined_relations": status["undefined"],
        "n_duplicates": status["duplicate"],
        "n_self": status["self"],
        "n_invalid": status["invalid"] + rows.n_invalid,
        "n_invalid_relations": status["invalid"] + at_the_border,
        "n_bad_images": sum(row.status == "bad_image" for row in rows.images),
        "n_bad_image_relations": status["bad_image"],
        "n_clipped_boxes": sum(row.n_clipped for row in rows.images),
        "n_outside_boxes": sum(row.n_outside for row in rows.images),
        "n_endpoint_cut": sum(bool(item.endpoint_cut) for item in scored),
        "n_truncated": sum(bool(item.truncated) for item in scored),
    }
