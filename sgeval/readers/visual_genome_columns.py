"""Visual Genome as Arrow tables, without a Python object for each object and relation on the way.

The rows are those of the records that `read_visual_genome` gives, in the columns of a picture's record; what Visual Genome
does not have is null, a list without entries is empty, `category_id` and `predicate_id` are -1, and `extra` is a JSON text.
"""

import gc
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sgeval.columns import IMAGE, OBJECT, RELATION
from sgeval.readers.visual_genome import VisualGenomeConfig, find, joined_pictures
from sgeval.readers.visual_genome_join import Joined
from sgeval.readers.visual_genome_records import Mention, Row, names_of

ROWS = 1000
"""Pictures of a batch: some 60,000 objects and ends of relations. More no longer helps, and exports have such groups."""

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
OUTSIDE = pa.scalar(-1, pa.int32())
"""The id of a class that is on no list."""


def read_columns(
    data_dir: str | Path, *, config: VisualGenomeConfig = "v1.4", rows: int = ROWS
) -> Iterator[pa.RecordBatch]:
    """The records of `read_visual_genome` as batches of `rows` pictures in the columns of `columns.IMAGE`, in the same order.

    Memory holds one batch. Raises `SgevalError` as `read_visual_genome`.
    """
    files, form = find(data_dir, config)
    return _batches(joined_pictures(files, form), rows)


def _batches(pictures: Iterator[Joined], rows: int) -> Iterator[pa.RecordBatch]:
    while True:
        with _without_gc():
            batch = _batch(list(islice(pictures, rows)))
        if not batch.num_rows:
            return
        yield batch


@contextmanager
def _without_gc() -> Iterator[None]:
    """No search for cycles: there are none in a batch, and looking for them takes about a fifth of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _batch(joined: list[Joined]) -> pa.RecordBatch:
    extras = [_JSON(entry.extra) if entry.extra else None for entry in joined]
    columns = {
        "image_id": pa.array([entry.image_id for entry in joined], pa.string()),
        "file_name": pa.array([entry.picture.file_name for entry in joined], pa.string()),
        "width": pa.array([entry.picture.width for entry in joined], pa.int32()),
        "height": pa.array([entry.picture.height for entry in joined], pa.int32()),
        "source": pa.repeat("visual_genome", len(joined)),
        "objects": _lists([entry.objects for entry in joined], _objects),
        "relations": _lists([entry.relations for entry in joined], lambda rows: _relations(rows, joined)),
        "extra": pa.array(extras, pa.string()),
    }
    return pa.RecordBatch.from_arrays(_filled(columns, IMAGE, len(joined)), schema=IMAGE)


def _lists(lists: list[list[Any]], build: Any) -> pa.ListArray:
    """A column of lists, whose entries are built in one go."""
    offsets = pa.array(list(accumulate(map(len, lists), initial=0)), pa.int32())
    return pa.ListArray.from_arrays(offsets, build(list(chain.from_iterable(lists))))


def _objects(items: list[Mention]) -> pa.StructArray:
    names = [names_of(item) for item in items]
    columns = {
        "id": pa.array([item.object_id for item in items], pa.int64()),
        "category": pa.array([texts[0] if texts else "" for texts in names], pa.string()),
        "category_id": pa.repeat(OUTSIDE, len(items)),
        "names": _texts(names),
        "synsets": _texts([item.synsets or () for item in items]),
        "merged_ids": pa.array([item.merged_object_ids or () for item in items], pa.list_(pa.int64())),
        "attributes": _texts([item.attributes or () for item in items]),
        "roles": _no_roles(len(items)),
        "bbox": _boxes(items),
    }
    return pa.StructArray.from_arrays(_filled(columns, OBJECT, len(items)), fields=list(OBJECT))


def _relations(rows: list[Row], joined: list[Joined]) -> pa.StructArray:
    columns = {
        "id": pa.array([row.relationship_id for row in rows], pa.int64()),
        "subject_id": pa.array(list(chain.from_iterable(entry.subject_ids for entry in joined)), pa.int64()),
        "object_id": pa.array(list(chain.from_iterable(entry.object_ids for entry in joined)), pa.int64()),
        "predicate": pa.array([row.predicate for row in rows], pa.string()),
        "predicate_id": pa.repeat(OUTSIDE, len(rows)),
        "synsets": _texts([row.synsets or () for row in rows]),
        "roles": _no_roles(len(rows)),
    }
    return pa.StructArray.from_arrays(_filled(columns, RELATION, len(rows)), fields=list(RELATION))


def _texts(lists: list[tuple[str, ...]]) -> pa.ListArray:
    return pa.array(lists, pa.list_(pa.string()))


def _no_roles(count: int) -> pa.ListArray:
    return pa.ListArray.from_arrays(
        pa.repeat(pa.scalar(0, pa.int32()), count + 1), pa.array([], OBJECT.field("roles").type.value_type)
    )


def _boxes(items: list[Mention]) -> pa.Array:
    sides = (
        [item.x for item in items],
        [item.y for item in items],
        [item.w for item in items],
        [item.h for item in items],
    )
    has_none = [x is None for x in sides[0]]
    values = pa.array(np.array(sides, float).T.ravel())  # None becomes NaN, under the mask
    return pa.FixedSizeListArray.from_arrays(values, 4, mask=pa.array(has_none) if any(has_none) else None)


def _filled(columns: dict[str, pa.Array], fields: Iterable[pa.Field], count: int) -> list[pa.Array]:
    """All columns in order; those that are not given are null."""
    return [columns[field.name] if field.name in columns else pa.nulls(count, field.type) for field in fields]
