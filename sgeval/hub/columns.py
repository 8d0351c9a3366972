"""Scene graphs as a column of a table of `datasets`, and back: what an `evaluate` module stores between its calls."""

from typing import Any

import datasets

from sgeval.building import Builder
from sgeval.records import to_dict
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
GRAPH = {
    "image_id": datasets.Value("string"),
    "file_name": datasets.Value("string"),
    "width": datasets.Value("int64"),
    "height": datasets.Value("int64"),
    "objects": datasets.List(_OBJECT),
    "relations": datasets.List(_RELATION),
    # Bookkeeping: False fills up the shorter of two columns; faulty parts left out at the border, and the positions of
    # the relations among them; whether references came with the row, and whether faults were skipped.
    "given": datasets.Value("bool"),
    "n_invalid": datasets.Value("int64"),
    "cut": datasets.List(datasets.Value("int64")),
    "with_references": datasets.Value("bool"),
    "skips": datasets.Value("bool"),
}
FILLER: dict[str, Any] = {
    "image_id": "",
    "file_name": "",
    "width": 0,
    "height": 0,
    "objects": [],
    "relations": [],
    "given": False,
    "n_invalid": 0,
    "cut": [],
    "with_references": False,
    "skips": False,
}
_KNOWN = ("image_id", "width", "height", "objects", "relations")


def to_rows(parsed: Parsed) -> list[dict[str, Any]]:
    """Checked graphs cut to the schema. A row that was left out keeps its place, so that a list of images fits."""
    rows = [{**FILLER, "image_id": parsed.dropped.get(index, ""), "n_invalid": 1} for index in range(parsed.n_rows)]
    for graph, position in zip(parsed.graphs, parsed.positions, strict=True):
        rows[position] = _row(to_dict(graph)) | {"cut": list(parsed.cut.get(graph.key, ()))}
    if rows:  # faulty parts of rows that were kept: any row may carry their number
        rows[0]["n_invalid"] += parsed.n_invalid - (parsed.n_rows - len(parsed.graphs))
    return rows


def from_rows(rows: list[dict[str, Any]], on_invalid: OnInvalid) -> Parsed:
    """What `to_rows` stored, without the rows that only fill up the shorter column. Of an image in several batches the
    first stays under `on_invalid="skip"`, as within one batch; else it is left to be refused."""
    out = Parsed()
    kept: set[str] = set()
    builder = Builder("image")
    for row in rows:
        if not row["given"] and not row["n_invalid"]:
            continue
        again = row["given"] and on_invalid == "skip" and row["image_id"] in kept
        if row["given"] and not again:
            plain = {name: row[name] for name in _KNOWN} | {"file_name": row["file_name"] or None}
            out.graphs.append(builder.graph(plain))
            out.positions.append(out.n_rows)
            kept.add(row["image_id"])
            if row["cut"]:
                out.cut[row["image_id"]] = tuple(row["cut"])
        elif row["image_id"]:
            out.dropped[out.n_rows] = row["image_id"]
        out.n_rows += 1
        out.n_invalid += row["n_invalid"] + again
    return out


def _row(graph: dict[str, Any]) -> dict[str, Any]:
    return FILLER | {
        "image_id": graph["image_id"],
        "file_name": graph.get("file_name", ""),  # the host refuses a first row whose text is null
        "width": graph.get("width"),
        "height": graph.get("height"),
        "objects": [{name: item.get(name) for name in _OBJECT} for item in graph["objects"]],
        "relations": [{name: item.get(name) for name in _RELATION} for item in graph["relations"]],
        "given": True,
    }
