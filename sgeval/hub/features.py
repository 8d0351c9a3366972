"""The columns of a picture's record in `datasets`, and the way from record to row and back, losing nothing.

`bbox` is x, y, width, height in pixels. Ids are plain whole numbers with -1 outside the class list. What has no column is in
`extra`, a JSON text; a record's `panoptic_file` is there under `/panoptic_file`. What is unknown is null, never 0 or "".
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
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


def to_row(
    graph: SceneGraph, *, image: Any = None, panoptic_map: Any = None, codes: Sequence[Any] | None = None
) -> dict[str, Any]:
    """The row of a record. `image` and `panoptic_map` are `{"path", "bytes"}`; `codes` are masks, one an object, that take
    the place of the record's own. Raises `SgevalError` for tracks and spans, which belong to videos.

    >>> to_row(SceneGraph("7"))["objects"], to_row(SceneGraph("7"))["extra"]
    ([], None)
    """
    extra = dict(graph.extra)
    if graph.panoptic_file is not None:
        extra[PANOPTIC_FILE] = graph.panoptic_file
    masks = [item.segmentation for item in graph.objects] if codes is None else codes
    return {
        "image": image,
        "image_id": graph.image_id,
        "file_name": graph.file_name,
        "width": graph.width,
        "height": graph.height,
        "source": graph.source,
        "video_id": graph.video_id,
        "frame_index": graph.frame_index,
        "panoptic_map": panoptic_map,
        "objects": [_object_row(graph, item, mask) for item, mask in zip(graph.objects, masks, strict=True)],
        "relations": [_relation_row(graph, relation) for relation in graph.relations],
        "extra": json.dumps(extra, ensure_ascii=False, allow_nan=False) if extra else None,
    }


def _object_row(graph: SceneGraph, item: Object, mask: Mapping[str, Any] | None) -> dict[str, Any]:
    if item.track is not None:
        raise SgevalError(f"image {shown(graph.image_id)}: object {item.id}: expected no track in a picture, got one")
    return {
        "id": item.id,
        "category": item.category,
        "category_id": item.category_id,
        "names": item.names,
        "synsets": item.synsets,
        "merged_ids": item.merged_ids,
        "is_thing": item.is_thing,
        "iscrowd": item.iscrowd,
        "attributes": item.attributes,
        "attribute_types": item.attribute_types,
        "level": item.level,
        "roles": [{"role": role.role, "value": role.value} for role in item.roles] if item.roles else (),
        "bbox": item.bbox,
        "area": item.area,
        "segment_id": item.segment_id,
        "segmentation": mask,
    }


def _relation_row(graph: SceneGraph, relation: Relation) -> dict[str, Any]:
    if relation.spans is not None or relation.raw_spans is not None:
        raise SgevalError(f"image {shown(graph.image_id)}: relation {relation.id}: expected no spans in a picture")
    return {
        "id": relation.id,
        "subject_id": relation.subject_id,
        "object_id": relation.object_id,
        "predicate": relation.predicate,
        "predicate_id": relation.predicate_id,
        "type": relation.type,
        "synsets": relation.synsets,
        "score": relation.score,
        "roles": [{"role": role.role, "value": role.value} for role in relation.roles] if relation.roles else (),
    }


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


def to_table(rows: Sequence[Mapping[str, Any]], features: datasets.Features) -> pa.Table:
    """An Arrow table of rows. Raises `SgevalError`, naming the picture, for a value that its column cannot hold."""
    schema = features.arrow_schema
    try:
        return pa.Table.from_pylist(rows, schema=schema)
    except (pa.ArrowException, OverflowError, TypeError):
        for row in rows:
            check_row(row, features)
        raise


def check_row(row: Mapping[str, Any], features: datasets.Features) -> None:
    """Raise `SgevalError` unless the columns can hold a row."""
    for name, field in zip(features, features.arrow_schema):
        try:
            pa.array([row[name]], field.type)
        except (pa.ArrowException, OverflowError, TypeError) as fault:
            place = f"image {shown(row['image_id'])}: {name}"
            raise SgevalError(
                f"{place}: expected values of {field.type}, got others ({one_line(str(fault))})"
            ) from None
