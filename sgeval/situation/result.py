"""From rows or columns to the result of the role values: pure functions, independent of the order of the rows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sgeval import roles
from sgeval.roles import KINDS, VERB, ClassScore, Columns, Floats, Ints, Name, State, percent
from sgeval.rows import Rows
from sgeval.situation.columns import columns_of_rows
from sgeval.situation.options import Options
from sgeval.situation.rows import FrameRow, is_counted, item
from sgeval.summary import ENDS, Sample, intervals, mean

GROUPS: Mapping[str, tuple[str, ...]] = {"": KINDS, **{f"{kind}_": (kind,) for kind in KINDS}}
"""The prefix of keys, and the kinds of frame they are over."""
READING = ("value", "value_two", "value_all")
PER_ROLE = tuple(f"per_role_{name}" for name in READING)
WITH_INTERVAL = (*READING, "value_two_eligible", "role_accuracy", *PER_ROLE, "per_role_accuracy")
CELLS = 50_000_000  # numbers of the bootstrap of role accuracies, about 400 MB; beyond, these have no intervals

Ends = Mapping[str, float | None]


def measures(counted: State, options: Options) -> dict[str, float | None]:
    """All scores of a state, in percent, under their keys."""
    verb = roles.verb_score(counted)
    if options.verb_setting == "gold" and counted.count("n_no_verb") == verb.n:
        verb = roles.NO_SCORE  # verbs were given, not predicted
    verbs = {f"verb_{name}": getattr(verb, name) for name in ("precision", "recall", "f1")}
    known: dict[frozenset[str], dict[str, float | None]] = {}
    found: dict[str, float | None] = {}
    for prefix, kinds in GROUPS.items():
        there = frozenset(kind for kind in kinds if kind in counted.frames)
        if there not in known:
            known[there] = _group(counted, there)
        group = {f"{prefix}{name}": value for name, value in known[there].items()}
        if prefix:
            found |= group
        else:
            head = [*READING, "role_accuracy"]
            found |= {name: group.pop(name) for name in head} | {"verb_accuracy": verb.accuracy} | group | verbs
    return found


def _group(counted: State, kinds: frozenset[str]) -> dict[str, float | None]:
    """The scores over frames of some kinds."""
    n, one, two, whole, could = _total(counted.frames, kinds)
    n_roles, role_one, role_two, role_whole, role_could = _total(counted.items, kinds)
    scores = list(roles.role_scores(counted, kinds).values())
    return {
        "value": percent(one, n),
        "value_two": percent(two, n),
        "value_all": percent(whole, n),
        "role_accuracy": _mean(scores, "accuracy"),
        "per_role_value": percent(role_one, n_roles),
        "per_role_value_two": percent(role_two, n_roles),
        "per_role_value_all": percent(role_whole, n_roles),
        "per_role_accuracy": percent(role_whole, n_roles),
        "value_two_ceiling": percent(could, n),
        "value_two_eligible": percent(two, could),
        "per_role_value_two_ceiling": percent(role_could, n_roles),
        **{f"role_{name}": _mean(scores, name) for name in ("precision", "recall", "f1")},
    }


def _total(counts: Mapping[Any, tuple[int, ...]], kinds: Iterable[str]) -> tuple[int, ...]:
    rows = [counts[kind] for kind in kinds if kind in counts]
    return tuple(map(sum, zip(*rows, strict=True))) if rows else (0,) * 5


def _mean(scores: Sequence[ClassScore], name: str) -> float | None:
    return mean([getattr(score, name) for score in scores])


def counts_of(counted: State) -> dict[str, int]:
    """What was scored, and what was left out, wrong for want of a prediction, or ignored."""
    frames = {kind: counted.frames.get(kind, (0,))[0] for kind in KINDS}
    n_verbs, right = (sum(row[at] for row in counted.verbs.values()) for at in (0, 2))
    return {
        "n_frames": sum(frames.values()),
        **{f"n_{kind}_frames": n for kind, n in frames.items()},
        "n_roles": _total(counted.items, KINDS)[0],
        "n_verbs": n_verbs,
        "n_wrong_verbs": n_verbs - right,
        "n_several_values": _total(counted.items, KINDS)[4],
        **{str(name): number for name, (number,) in sorted(counted.counts.items())},
    }


def summarise_state(counted: State, options: Options, signature: str) -> dict[str, Any]:
    """The flat result of a state: all but intervals and `n_pictures`, which need to know what belongs to which picture."""
    return {**measures(counted, options), **counts_of(counted), "signature": signature}


@dataclass(frozen=True)
class Counted:
    """Frames counted, with what the bootstrap draws from: which picture each is of."""

    columns: Columns
    units: Ints
    n_units: int
    state: State
    options: Options

    def ends(self) -> dict[str, float | None]:
        """The intervals over pictures in percent: under the keys of the result, and for the tables under `role KIND ROLE`
        and `verb VERB`. Empty without bootstrap."""
        if not self.options.bootstrap:
            return {}
        ratios, means = self.ratios()
        found = intervals(ratios, self.options.bootstrap, self.options.seed, means)
        return {key: None if end is None else 100.0 * end for key, end in found.items()}

    def ratios(self) -> tuple[dict[str, tuple[Floats, Floats]], dict[str, list[str]]]:
        """What the scores are made of, picture by picture: ratios by name, and means of ratios, 0–1."""
        columns = self.columns
        hits = roles.hits(columns, self.options.verb_setting)
        right = roles.n_right(columns, hits)
        of_item = np.repeat(np.arange(len(columns.lengths)), columns.lengths)
        frames = roles.reading(right, columns.lengths)
        items = {f"per_role_{name}": marks for name, marks in roles.reading(hits, columns.values).items()}
        items["per_role_accuracy"] = items["per_role_value_all"]
        ratios: dict[str, tuple[Floats, Floats]] = {}
        means: dict[str, list[str]] = {}
        for prefix, kinds in GROUPS.items():
            chosen = np.isin(columns.kind, [KINDS.index(kind) for kind in kinds]) & (columns.lengths > 0)
            for marks, of, units in ((frames, chosen, self.units), (items, chosen[of_item], self.units[of_item])):
                ratios |= {f"{prefix}{name}": self._ratio(units, of, mark) for name, mark in marks.items()}
            could = chosen & (columns.lengths >= 2)
            ratios[f"{prefix}value_two_eligible"] = self._ratio(self.units, could, frames["value_two"])
            names = self._role_ratios(ratios, kinds, of_item, chosen[of_item], hits > 0)
            if names:
                means[f"{prefix}role_accuracy"] = names
        self._verb_ratios(ratios)
        return ratios, means

    def _ratio(self, units: Ints, chosen: Any, marks: Any) -> tuple[Floats, Floats]:
        return tuple(  # type: ignore[return-value]
            np.bincount(units[part], minlength=self.n_units).astype(np.float64) for part in (chosen & marks, chosen)
        )

    def _role_ratios(
        self, ratios: dict[str, tuple[Floats, Floats]], kinds: Sequence[str], of_item: Ints, chosen: Any, right: Any
    ) -> list[str]:
        """Add the ratios of the roles of some kinds; their names."""
        role_names, units = self.columns.role_names, self.units[of_item]
        # Sums of their ratios go by name: the order of the rows must not move a last digit.
        codes = sorted(np.unique(self.columns.role[chosen]).tolist(), key=lambda code: str(role_names[code]))
        if len(codes) * self.n_units * 4 > CELLS:
            return []
        label = kinds[0] if len(kinds) == 1 else "any"
        names = [f"role {label} {role_names[code]}" for code in codes]
        for name, code in zip(names, codes, strict=True):
            ratios[name] = self._ratio(units, chosen & (self.columns.role == code), right)
        return names

    def _verb_ratios(self, ratios: dict[str, tuple[Floats, Floats]]) -> None:
        columns = self.columns
        chosen, right = columns.kind == VERB, ~roles.wrong_verbs(columns)
        ratios["verb_accuracy"] = self._ratio(self.units, chosen, right)
        codes = np.unique(columns.verb[chosen]).tolist()
        if len(codes) * self.n_units * 4 <= CELLS:
            for code in codes:
                name = f"verb {columns.verb_names[code]}"
                ratios[name] = self._ratio(self.units, chosen & (columns.verb == code), right)


def sample(rows: Rows[FrameRow], options: Options) -> Sample:
    """What the scores are made of, picture by picture."""
    ratios, means = count_rows(rows, options).ratios()
    units = {row.frame_id for row in rows.items if is_counted(row)}
    return Sample(tuple(sorted(units)), ratios, means, scale=100.0)


def count_rows(rows: Rows[FrameRow], options: Options) -> Counted:
    """The frames of a run, counted. The picture is the unit of the bootstrap, by its name, whatever the order."""
    there = [row for row in rows.in_order().items if is_counted(row)]
    columns = columns_of_rows(there)
    names = {name: number for number, name in enumerate(sorted({row.frame_id for row in there}))}
    units = np.fromiter((names[row.frame_id] for row in there), np.int64)
    return Counted(columns, units, len(names), state_of_rows(rows, options, columns), options)


def state_of_rows(rows: Rows[FrameRow], options: Options, columns: Columns | None = None) -> State:
    """The state of rows. States of parts of a run merge to that of the whole, however the rows were split."""
    there = [row for row in rows.items if is_counted(row)]
    status = Counter(row.status for row in rows.items)
    counts = {
        "n_missing_frames": sum(not row.is_predicted for row in there),
        "n_extra_roles": sum(len(row.extra_roles) for row in there if row.roles),
        "n_several_predicted": sum(n > 1 for row in there for n in row.n_predicted),
        "n_empty_frames": status["empty"],
        "n_extra_verb_frames": status["extra_verb_frame"],
        "n_extra_predicted": sum(row.n_extra_predicted for row in there),
        "n_unknown_frames": status["unknown"],
        "n_invalid": rows.n_invalid,
    }
    if options.max_values is not None:
        counts["n_over_limit"] = sum(row.n_over_limit for row in there)
    return roles.state(columns or columns_of_rows(there), options.verb_setting, counts)


def summarise(rows: Rows[FrameRow], options: Options, signature: str, return_items: bool = False) -> dict[str, Any]:
    """The flat result of a run; `items`, `roles` and `verbs` when asked."""
    counted = count_rows(rows, options)
    ends = counted.ends()
    result = _flat(counted.state, options, ends)
    result |= {"n_pictures": counted.n_units, "signature": signature}
    if return_items:
        result["items"] = [item(row, options.verb_setting) for row in rows.in_order().items]
        result |= tables(counted.state, ends)
    return result


def _flat(counted: State, options: Options, ends: Ends) -> dict[str, Any]:
    """Scores, the intervals of those that have one, counts."""
    found: dict[str, Any] = dict(measures(counted, options))
    if ends:
        names = [f"{prefix}{name}" for prefix in GROUPS for name in WITH_INTERVAL]
        for name in (*names, "verb_accuracy"):
            known = found[name] is not None
            found |= {key: ends.get(key) if known else None for key in (f"{name}_{end}" for end in ENDS)}
    return found | counts_of(counted)


def summarise_columns(
    columns: Columns, units: Ints | None, n_empty: int, options: Options, signature: str, return_tables: bool = False
) -> dict[str, Any]:
    """The flat result of columns; `roles` and `verbs` when asked. Each frame is its own unit where none are given."""
    counted = roles.state(columns, options.verb_setting, {"n_empty_frames": n_empty})
    n = len(columns.lengths)
    names, codes = (None, np.arange(n)) if units is None else np.unique(units, return_inverse=True)
    ends = Counted(columns, codes, n if names is None else len(names), counted, options).ends()
    result = _flat(counted, options, ends) | {"signature": signature}
    return result | (tables(counted, ends) if return_tables else {})


def tables(counted: State, ends: Ends) -> dict[str, list[dict[str, Any]]]:
    """One row a role of each kind, one a verb: scores in percent, the most frequent first, then by name."""
    by_role = [
        {"kind": kind, "role": role, **asdict(score), **_table_ends(ends, f"role {kind} {role}")}
        for kind in KINDS
        for role, score in _ordered(roles.role_scores(counted, (kind,)))
    ]
    return {"roles": by_role, "verbs": [_verb_row(verb, row, ends) for verb, row in _ordered_verbs(counted)]}


def _verb_row(verb: Name, row: Sequence[int], ends: Ends) -> dict[str, Any]:
    n, n_predicted, right, n_framed, *marks = row
    precision, recall, f1 = (side.item() for side in roles.class_scores(np.array([row[:3]])))
    scores = {"accuracy": percent(right, n), "precision": precision, "recall": recall, "f1": f1}
    reading = {name: percent(mark, n_framed) for name, mark in zip(READING, marks, strict=True)}
    return {"verb": verb, "n": n, "n_predicted": n_predicted, **scores, **reading, **_table_ends(ends, f"verb {verb}")}


def _table_ends(ends: Ends, name: str) -> dict[str, float | None]:
    return {f"accuracy_{end}": ends.get(f"{name}_{end}") for end in ("low", "high")} if ends else {}


def _ordered(scores: Mapping[Name, ClassScore]) -> list[tuple[Name, ClassScore]]:
    return sorted(scores.items(), key=lambda entry: (-entry[1].n, str(entry[0])))


def _ordered_verbs(counted: State) -> list[tuple[Name, Sequence[int]]]:
    return sorted(counted.verbs.items(), key=lambda entry: (-entry[1][0], -entry[1][1], str(entry[0])))
