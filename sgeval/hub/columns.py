"""Scene graphs as a column of a table of `datasets`, and back: what an `evaluate` module stores between its calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import datasets

from sgeval.building import Builder
from sgeval.records import Graph, to_dict
from sgeval.validation import OnInvalid, Parsed

_OBJECT = {
    "id": datasets.Value("int64"),
    "category": datasets.Value("string"),
    "bbox": datasets.List(datasets.Value("float64")),
}
_RELATION = {
    "subject_id": datasets.Value("int64"),
    "object_id": datasets.Value("int64"),
    "predicate": datasets.Value("string"),
    "score": datasets.Value("float64"),
}
# Bookkeeping: False fills up the shorter of two columns; faulty parts left out at the border, and the positions of
# the relations among them; whether references came with the row, and whether faults were skipped.
BOOKS = {
    "given": datasets.Value("bool"),
    "n_invalid": datasets.Value("int64"),
    "cut": datasets.List(datasets.Value("int64")),
    "with_references": datasets.Value("bool"),
    "skips": datasets.Value("bool"),
}
NO_BOOKS: dict[str, Any] = {"given": False, "n_invalid": 0, "cut": [], "with_references": False, "skips": False}
GRAPH = {
    "image_id": datasets.Value("string"),
    "file_name": datasets.Value("string"),
    "width": datasets.Value("int64"),
    "height": datasets.Value("int64"),
    "objects": datasets.List(_OBJECT),
    "relations": datasets.List(_RELATION),
    **BOOKS,
}
FILLER: dict[str, Any] = {
    "image_id": "",
    "file_name": "",
    "width": 0,
    "height": 0,
    "objects": [],
    "relations": [],
    **NO_BOOKS,
}
_KNOWN = ("image_id", "width", "height", "objects", "relations")


@dataclass(frozen=True)
class Form:
    """How graphs of one kind are stored: the column that holds their id, the row of nothing, and the way there and back."""

    key: str
    filler: Mapping[str, Any]
    row: Callable[[Any], dict[str, Any]]
    graph: Callable[[Mapping[str, Any]], Graph]


def to_rows(parsed: Parsed, form: Form | None = None) -> list[dict[str, Any]]:
    """Checked graphs cut to the schema. A row that was left out keeps its place, so that a list of images fits."""
    form = form or PICTURES
    rows: list[dict[str, Any]] = [
        {**form.filler, form.key: parsed.dropped.get(index, ""), "n_invalid": 1} for index in range(parsed.n_rows)
    ]
    for graph, position in zip(parsed.graphs, parsed.positions, strict=True):
        rows[position] = {
            **form.filler,
            **form.row(graph),
            "given": True,
            "cut": list(parsed.cut.get(graph.key, ())),
        }
    if rows:  # faulty parts of rows that were kept: any row may carry their number
        rows[0]["n_invalid"] += parsed.n_invalid - (parsed.n_rows - len(parsed.graphs))
    return rows


def from_rows(rows: list[dict[str, Any]], on_invalid: OnInvalid, form: Form | None = None) -> Parsed:
    """What `to_rows` stored, without the rows that only fill up the shorter column. Of a graph in several batches the
    first stays under `on_invalid="skip"`, as within one batch; else it is left to be refused."""
    form = form or PICTURES
    out = Parsed()
    kept: set[str] = set()
    for row in rows:
        if not row["given"] and not row["n_invalid"]:
            continue
        key = row[form.key]
        again = row["given"] and on_invalid == "skip" and key in kept
        if row["given"] and not again:
            out.graphs.append(form.graph(row))
            out.positions.append(out.n_rows)
            kept.add(key)
            if row["cut"]:
                out.cut[key] = tuple(row["cut"])
        elif key:
            out.dropped[out.n_rows] = key
        out.n_rows += 1
        out.n_invalid += row["n_invalid"] + again
    return out


def _row(graph: Graph) -> dict[str, Any]:
    plain = to_dict(graph)
    return {
        "image_id": plain["image_id"],
        "file_name": plain.get("file_name", ""),  # the host refuses a first row whose text is null
        "width": plain.get("width"),
        "height": plain.get("height"),
        "objects": [{name: item.get(name) for name in _OBJECT} for item in plain["objects"]],
        "relations": [{name: item.get(name) for name in _RELATION} for item in plain["relations"]],
    }


def _graph(row: Mapping[str, Any]) -> Graph:
    return Builder("image").graph({name: row[name] for name in _KNOWN} | {"file_name": row["file_name"] or None})


PICTURES = Form("image_id", FILLER, _row, _graph)
"""Graphs of pictures."""
