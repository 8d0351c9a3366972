"""The columns of a picture's record in `datasets`, and the way from record to row and back, losing nothing.

`bbox` is x, y, width, height in pixels. Ids are plain whole numbers with -1 outside the class list. What has no column is in
`extra`, a JSON text; a record's `panoptic_file` is there under `/panoptic_file`. What is unknown is null, never 0 or "".
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

from sgeval.errors import SgevalError, one_line, shown
from sgeval.records import Object, Relation, Role, SceneGraph

PANOPTIC_FILE = "/panoptic_file"

_TEXTS = datasets.List(datasets.Value("string"))
_ROLES = datasets.List({"role": datasets.Value("string"), "value": datasets.Value("string")})
_CODE = {"size": datasets.List(datasets.Value("int32"), length=2), "counts": datasets.Value("string")}


def image_features(classes: Mapping[str, Sequence[str]] | None = None) -> datasets.Features:
    """The columns. With class lists, ids that count in them become `ClassLabel`; else they are plain whole numbers."""
    labels = classes or {}

    def number(of: str) -> Any:
        return datasets.ClassLabel(names=list(labels[of])) if of in labels else datasets.Value("int32")

    return datasets.Features(
        {
            "image": datasets.Image(),
            "image_id": datasets.Value("string"),
            "file_name": datasets.Value("string"),
            "width": datasets.Value("int32"),
            "height": datasets.Value("int32"),
            "source": datasets.Value("string"),
            "video_id": datasets.Value("string"),
            "frame_index": datasets.Value("int32"),
            "panoptic_map": datasets.Image(),
            "objects": datasets.List(
                {
                    "id": datasets.Value("int64"),
                    "category": datasets.Value("string"),
                    "category_id": number("categories"),
                    "names": _TEXTS,
                    "synsets": _TEXTS,
                    "merged_ids": datasets.List(datasets.Value("int64")),
                    "is_thing": datasets.Value("bool"),
                    "iscrowd": datasets.Value("bool"),
                    "attributes": _TEXTS,
                    "attribute_types": _TEXTS,
                    "level": datasets.Value("string"),
                    "roles": _ROLES,
                    "bbox": datasets.List(datasets.Value("float64"), length=4),
                    "area": datasets.Value("float64"),
                    "segment_id": datasets.Value("int64"),
                    "segmentation": _CODE,
                }
            ),
            "relations": datasets.List(
                {
                    "id": datasets.Value("int64"),
                    "subject_id": datasets.Value("int64"),
                    "object_id": datasets.Value("int64"),
                    "predicate": datasets.Value("string"),
                    "predicate_id": number("predicates"),
                    "type": datasets.Value("string"),
                    "synsets": _TEXTS,
                    "score": datasets.Value("float64"),  # float32 would give 0.1 back as 0.10000000149
                    "roles": _ROLES,
                }
            ),
            "extra": datasets.Value("string"),
        }
    )


IMAGE = image_features()


@dataclass(frozen=True, slots=True)
class Heavy:
    """What a row has beyond its record: pictures as `{"path", "bytes"}`, and masks, one an object, that take the place of the
    record's own."""

    image: Mapping[str, Any] | None = None
    panoptic_map: Mapping[str, Any] | None = None
    codes: Sequence[Mapping[str, Any] | None] | None = None


NOTHING = Heavy()


def to_row(graph: SceneGraph, heavy: Heavy = NOTHING) -> dict[str, Any]:
    """The row of a record. Raises `SgevalError` as `to_table`.

    >>> to_row(SceneGraph("7"))["objects"], to_row(SceneGraph("7"))["extra"]
    ([], None)
    """
    row: dict[str, Any] = to_table([graph], [heavy]).to_pylist()[0]
    return row


def to_table(
    graphs: Sequence[SceneGraph], heavies: Sequence[Heavy] | None = None, features: datasets.Features | None = None
) -> pa.Table:
    """The rows of records as an Arrow table, made column by column. `features` are of `image_features`, `IMAGE` by default.

    Raises `SgevalError`, naming the picture, for tracks and spans, which belong to videos, and for a value that its column
    cannot hold.
    """
    schema = (IMAGE if features is None else features).arrow_schema
    heavies = [NOTHING] * len(graphs) if heavies is None else heavies
    try:
        return _table(graphs, heavies, schema)
    except (pa.ArrowException, OverflowError, TypeError) as fault:
        if len(graphs) > 1:  # one by one, to find out which
            for graph, heavy in zip(graphs, heavies, strict=True):
                to_table([graph], [heavy], features)
        words = one_line(str(fault))
        raise SgevalError(
            f"image {shown(graphs[0].image_id)}: expected values that fit their columns: {words}"
        ) from None


def _table(graphs: Sequence[SceneGraph], heavies: Sequence[Heavy], schema: pa.Schema) -> pa.Table:
    columns = []
    for field in schema:
        if field.name in ("image", "panoptic_map"):
            array = pa.array(list(map(attrgetter(field.name), heavies)), field.type)
        elif field.name == "objects":
            for graph in graphs:
                _check_picture(graph)
            masks = [mask for pair in zip(graphs, heavies, strict=True) for mask in _masks(*pair)]
            array = _nested([graph.objects for graph in graphs], field, segmentation=masks)
        elif field.name == "relations":
            array = _nested([graph.relations for graph in graphs], field)
        elif field.name == "extra":
            array = pa.array(list(map(_extra, graphs)), field.type)
        else:
            array = _column(graphs, field)
        columns.append(array)
    return pa.Table.from_arrays(columns, schema=schema)


def _nested(groups: Sequence[Sequence[Any]], field: pa.Field, **given: Any) -> pa.Array:
    """A column of lists of structs."""
    ends = np.cumsum([0, *map(len, groups)], dtype=np.int32)
    items = list(chain.from_iterable(groups))
    fields = list(field.type.value_type)
    arrays = [pa.array(given[part.name], part.type) if part.name in given else _column(items, part) for part in fields]
    return pa.ListArray.from_arrays(pa.array(ends), pa.StructArray.from_arrays(arrays, fields=fields), type=field.type)


def _column(owners: Sequence[Any], field: pa.Field) -> pa.Array:
    """One field of records, objects or relations."""
    values = list(map(attrgetter(field.name), owners))
    if field.name == "roles":
        values = [[{"role": role.role, "value": role.value} for role in roles] if roles else () for roles in values]
    try:
        return pa.array(values, field.type)
    except (pa.ArrowException, OverflowError, TypeError) as fault:
        raise pa.ArrowInvalid(f"{field.name} ({field.type}): {fault}") from None


def _masks(graph: SceneGraph, heavy: Heavy) -> Sequence[Mapping[str, Any] | None]:
    if heavy.codes is None:
        return [item.segmentation for item in graph.objects]
    return heavy.codes


def _extra(graph: SceneGraph) -> str | None:
    extra = dict(graph.extra)
    if graph.panoptic_file is not None:
        extra[PANOPTIC_FILE] = graph.panoptic_file
    return json.dumps(extra, ensure_ascii=False, allow_nan=False) if extra else None


def _check_picture(graph: SceneGraph) -> None:
    for item in graph.objects:
        if item.track is not None:
            raise SgevalError(
                f"image {shown(graph.image_id)}: object {item.id}: expected no track in a picture, got one"
            )
    for relation in graph.relations:
        if relation.spans is not None or relation.raw_spans is not None:
            raise SgevalError(f"image {shown(graph.image_id)}: relation {relation.id}: expected no spans in a picture")


def to_record(row: Mapping[str, Any]) -> SceneGraph:
    """The record of a row, whether of a `Dataset`, a stream or a Parquet file. Pictures stay behind.

    >>> to_record(to_row(SceneGraph("7", (Object(0, "dog"),), file_name="7.jpg"))).objects
    (Object(id=0, category='dog', ...),)
    """
    extra = json.loads(row["extra"]) if row["extra"] else {}
    return SceneGraph(
        image_id=row["image_id"],
        objects=tuple(map(_object, row["objects"])),
        relations=tuple(map(_relation, row["relations"])),
        file_name=row["file_name"],
        width=row["width"],
        height=row["height"],
        source=row["source"],
        video_id=row["video_id"],
        frame_index=row["frame_index"],
        panoptic_file=extra.pop(PANOPTIC_FILE, None),
        extra=extra,
    )


def _object(item: Mapping[str, Any]) -> Object:
    box, mask = item["bbox"], item["segmentation"]
    return Object(
        id=item["id"],
        category=item["category"],
        bbox=tuple(box) if box is not None else None,
        category_id=item["category_id"],
        names=tuple(item["names"]),
        synsets=tuple(item["synsets"]),
        merged_ids=tuple(item["merged_ids"]),
        is_thing=item["is_thing"],
        iscrowd=item["iscrowd"],
        attributes=tuple(item["attributes"]),
        attribute_types=None if item["attribute_types"] is None else tuple(item["attribute_types"]),
        level=item["level"],
        roles=_roles(item["roles"]),
        area=item["area"],
        segment_id=item["segment_id"],
        segmentation=None if mask is None else {"size": list(mask["size"]), "counts": mask["counts"]},
    )


def _relation(item: Mapping[str, Any]) -> Relation:
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
    )


def _roles(items: Sequence[Mapping[str, Any]]) -> tuple[Role, ...]:
    return tuple(Role(item["role"], item["value"]) for item in items)
