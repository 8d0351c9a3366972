"""From record to row and back, losing nothing. `sgeval.hub.schema` has the columns.

A picture's `panoptic_file` has no column; it is in `extra` under `/panoptic_file`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

import datasets
import numpy as np
import pyarrow as pa

from sgeval.errors import SgevalError, one_line
from sgeval.hub.schema import features_of
from sgeval.records import Graph, Object, Relation, Role, SceneGraph, TrackPoint, VideoGraph, label
from sgeval.validation import HEAVY_COLUMNS

PANOPTIC_FILE = "/panoptic_file"

FOREIGN = {
    "image": {"objects": ("track",), "relations": ("spans", "raw_spans")},
    "video": {"objects": ("bbox", "area", "segment_id", "segmentation"), "relations": ()},
}
"""What parts of a record may have in general, and not in one of this kind."""


@dataclass(frozen=True, slots=True)
class Heavy:
    """What a row has beyond its record: pictures and clips as `{"path", "bytes"}`, and masks, one an object, that take the
    place of the record's own."""

    image: Mapping[str, Any] | None = None
    panoptic_map: Mapping[str, Any] | None = None
    codes: Sequence[Mapping[str, Any] | None] | None = None
    video: Mapping[str, Any] | None = None


NOTHING = Heavy()


def to_row(graph: Graph, heavy: Heavy = NOTHING) -> dict[str, Any]:
    """The row of a record. Raises `SgevalError` as `to_table`.

    >>> to_row(SceneGraph("7"))["objects"], to_row(VideoGraph("7"))["extra"]
    ([], None)
    """
    row: dict[str, Any] = to_table([graph], [heavy]).to_pylist()[0]
    return row


def to_table(
    graphs: Sequence[Graph], heavies: Sequence[Heavy] | None = None, features: datasets.Features | None = None
) -> pa.Table:
    """The rows of records of one kind as an Arrow table, made column by column. `features` are of `features_of`, by default
    those of the first record's kind.

    Raises `SgevalError`, naming the record, for what belongs to records of the other kind (tracks and spans to videos, boxes
    beside a track to pictures), and for a value that its column cannot hold.
    """
    if features is None:
        features = features_of(_kind(graphs[0]) if graphs else "image")
    heavies = [NOTHING] * len(graphs) if heavies is None else heavies
    try:
        return _table(graphs, heavies, features.arrow_schema)
    except (pa.ArrowException, OverflowError, TypeError, AttributeError) as fault:
        if len(graphs) > 1:  # one by one, to find out which
            for graph, heavy in zip(graphs, heavies, strict=True):
                to_table([graph], [heavy], features)
        words = one_line(str(fault))
        raise SgevalError(f"{label(graphs[0])}: expected values that fit their columns: {words}") from None


def _kind(graph: Graph) -> Any:
    return "video" if isinstance(graph, VideoGraph) else "image"


def _table(graphs: Sequence[Graph], heavies: Sequence[Heavy], schema: pa.Schema) -> pa.Table:
    for graph in graphs:
        _check_parts(graph)
    columns = []
    for field in schema:
        if field.name in HEAVY_COLUMNS:
            array = pa.array(list(map(attrgetter(field.name), heavies)), field.type)
        elif field.name == "objects":
            given = {}
            if any(heavy.codes is not None for heavy in heavies):
                given["segmentation"] = [mask for pair in zip(graphs, heavies, strict=True) for mask in _masks(*pair)]
            array = _nested([graph.objects for graph in graphs], field, **given)
        elif field.name == "relations":
            array = _nested([graph.relations for graph in graphs], field)
        elif field.name == "extra":
            array = pa.array(list(map(_extra, graphs)), field.type)
        else:
            array = _column(graphs, field)
        columns.append(array)
    return pa.Table.from_arrays(columns, schema=schema)


def _nested(groups: Sequence[Sequence[Any] | None], field: pa.Field, **given: Any) -> pa.Array:
    """A column of lists of structs; null where there is no list."""
    ends = np.cumsum([0, *(len(group) if group else 0 for group in groups)], dtype=np.int32)
    items = list(chain.from_iterable(group for group in groups if group))
    fields = list(field.type.value_type)
    arrays = [pa.array(given[part.name], part.type) if part.name in given else _column(items, part) for part in fields]
    values = pa.StructArray.from_arrays(arrays, fields=fields)
    nulls = np.array([group is None for group in groups], dtype=bool)
    mask = pa.array(nulls) if nulls.any() else None
    return pa.ListArray.from_arrays(pa.array(ends), values, type=field.type, mask=mask)


def _column(owners: Sequence[Any], field: pa.Field) -> pa.Array:
    """One field of records, objects, relations or points."""
    values = list(map(attrgetter(field.name), owners))
    if field.name == "track":
        return _nested(values, field)
    if field.name == "roles":
        values = [[{"role": role.role, "value": role.value} for role in roles] if roles else () for roles in values]
    elif field.name == "spans":
        values = [spans and [{"start": start, "end": end} for start, end in spans] for spans in values]
    try:
        return pa.array(values, field.type)
    except (pa.ArrowException, OverflowError, TypeError) as fault:
        raise pa.ArrowInvalid(f"{field.name} ({field.type}): {fault}") from None


def _masks(graph: Graph, heavy: Heavy) -> Sequence[Mapping[str, Any] | None]:
    if heavy.codes is None:
        return [item.segmentation for item in graph.objects]
    return heavy.codes


def _extra(graph: Graph) -> str | None:
    extra = dict(graph.extra)
    if isinstance(graph, SceneGraph) and graph.panoptic_file is not None:
        extra[PANOPTIC_FILE] = graph.panoptic_file
    return json.dumps(extra, ensure_ascii=False, allow_nan=False) if extra else None


def _check_parts(graph: Graph) -> None:
    kind = _kind(graph)
    where = "a picture" if kind == "image" else "a video"
    for parts, names in FOREIGN[kind].items():
        for part in getattr(graph, parts) if names else ():
            found = next((name for name in names if getattr(part, name) is not None), None)
            if found is not None:
                place = f"{label(graph)}: {parts[:-1]} {part.id}"
                raise SgevalError(f"{place}: expected no {found.replace('_', ' ')} in {where}, got some")


def to_record(row: Mapping[str, Any]) -> Any:
    """The record of a row, whether of a `Dataset`, a stream or a Parquet file: a `SceneGraph` for a picture's, a
    `VideoGraph` for a video's. Pictures and clips stay behind.

    >>> to_record(to_row(SceneGraph("7", (Object(0, "dog"),), file_name="7.jpg"))).objects
    (Object(id=0, category='dog', ...),)
    """
    extra = json.loads(row["extra"]) if row["extra"] else {}
    both = {
        "objects": tuple(map(_object, row["objects"])),
        "relations": tuple(map(_relation, row["relations"])),
        **{name: row[name] for name in ("video_id", "file_name", "width", "height", "source")},
    }
    if "image_id" in row:
        panoptic_file = extra.pop(PANOPTIC_FILE, None)
        plain = {name: row[name] for name in ("image_id", "frame_index")}
        return SceneGraph(**both, **plain, panoptic_file=panoptic_file, extra=extra)
    names = ("fps", "num_frames", "duration", "mask_encoding", "span_unit", "span_end")
    files = {name: _tuple(row[name]) for name in ("frame_files", "mask_files")}
    return VideoGraph(**both, **files, **{name: row[name] for name in names}, extra=extra)


def _object(item: Mapping[str, Any]) -> Object:
    track = item.get("track")
    return Object(
        id=item["id"],
        category=item["category"],
        bbox=_tuple(item.get("bbox")),
        category_id=item["category_id"],
        names=tuple(item["names"]),
        synsets=tuple(item["synsets"]),
        merged_ids=tuple(item["merged_ids"]),
        is_thing=item["is_thing"],
        iscrowd=item["iscrowd"],
        attributes=tuple(item["attributes"]),
        attribute_types=_tuple(item["attribute_types"]),
        level=item["level"],
        roles=_roles(item["roles"]),
        area=item.get("area"),
        segment_id=item.get("segment_id"),
        segmentation=_code(item.get("segmentation")),
        track=None if track is None else tuple(map(_point, track)),
    )


def _point(item: Mapping[str, Any]) -> TrackPoint:
    return TrackPoint(
        item["frame"], _tuple(item["bbox"]), _code(item["segmentation"]), item["generated"], item["tracker"]
    )


def _relation(item: Mapping[str, Any]) -> Relation:
    spans, raw_spans = item.get("spans"), item.get("raw_spans")
    return Relation(
        subject_id=item["subject_id"],
        object_id=item["object_id"],
        predicate=item["predicate"],
        id=item["id"],
        predicate_id=item["predicate_id"],
        type=item["type"],
        synsets=tuple(item["synsets"]),
        score=item["score"],
        roles=_roles(item["roles"]),
        spans=None if spans is None else tuple((span["start"], span["end"]) for span in spans),
        raw_spans=None if raw_spans is None else tuple((start, end) for start, end in raw_spans),
    )


def _roles(items: Sequence[Mapping[str, Any]]) -> tuple[Role, ...]:
    return tuple(Role(item["role"], item["value"]) for item in items)


def _code(mask: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if mask is None else {"size": list(mask["size"]), "counts": mask["counts"]}


def _tuple(values: Any) -> Any:
    return None if values is None else tuple(values)
