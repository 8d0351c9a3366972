"""The columns of the two records in `datasets`: those of `sgeval.columns`, with pictures, clips and class lists."""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import pyarrow as pa

from sgeval import columns
from sgeval.schemas import Kind

Classes = Mapping[str, Sequence[str]]
_LISTS = {"objects": ("category_id", "categories"), "relations": ("predicate_id", "predicates")}
"""By column of parts: which of their ids counts in which class list."""


def features_of(kind: Kind, classes: Classes | None = None) -> datasets.Features:
    """The columns of a kind. With class lists, ids that count in them become `ClassLabel`; else they are plain whole
    numbers."""
    return image_features(classes) if kind == "image" else video_features(classes)


def image_features(classes: Classes | None = None) -> datasets.Features:
    """The columns of a picture's row; `classes` as in `features_of`."""
    return _features(columns.IMAGE, {"image": datasets.Image(), "panoptic_map": datasets.Image()}, classes or {})


def video_features(classes: Classes | None = None) -> datasets.Features:
    """The columns of a video's row; `classes` as in `features_of`."""
    return _features(columns.VIDEO, {"video": datasets.Video()}, classes or {})


def _features(schema: pa.Schema, files: Mapping[str, Any], classes: Classes) -> datasets.Features:
    found = datasets.Features.from_arrow_schema(schema)
    found |= files
    for part, (number, name) in _LISTS.items():
        if name in classes:
            found[part].feature[number] = datasets.ClassLabel(names=list(classes[name]))
    return found


IMAGE = image_features()
VIDEO = video_features()
