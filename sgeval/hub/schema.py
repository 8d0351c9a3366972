"""The columns of the two records in `datasets`, one set for pictures and one for videos.

`bbox` is x, y, width, height in pixels. Ids are plain whole numbers with -1 outside the class list. What has no column is in
`extra`, a JSON text. What is unknown is null, never 0 or "".
"""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets

from sgeval.schemas import Kind

_TEXT, _FLAG = datasets.Value("string"), datasets.Value("bool")
_TEXTS = datasets.List(_TEXT)
_ROLES = datasets.List({"role": _TEXT, "value": _TEXT})
_BOX = datasets.List(datasets.Value("float64"), length=4)
_CODE = {"size": datasets.List(datasets.Value("int32"), length=2), "counts": _TEXT}
_POINT = {"frame": datasets.Value("int32"), "bbox": _BOX, "segmentation": _CODE, "generated": _FLAG, "tracker": _TEXT}
_SPAN = {"start": datasets.Value("float64"), "end": datasets.Value("float64")}
_PAIR = datasets.List(datasets.Value("float64"), length=2)

Classes = Mapping[str, Sequence[str]]


def features_of(kind: Kind, classes: Classes | None = None) -> datasets.Features:
    """The columns of a kind. With class lists, ids that count in them become `ClassLabel`; else they are plain whole
    numbers."""
    return image_features(classes) if kind == "image" else video_features(classes)


def image_features(classes: Classes | None = None) -> datasets.Features:
    """The columns of a picture's row; `classes` as in `features_of`."""
    return datasets.Features(
        {
            "image": datasets.Image(),
            "image_id": _TEXT,
            "file_name": _TEXT,
            "width": datasets.Value("int32"),
            "height": datasets.Value("int32"),
            "source": _TEXT,
            "video_id": _TEXT,
            "frame_index": datasets.Value("int32"),
            "panoptic_map": datasets.Image(),
            "objects": datasets.List(
                {
                    **_object(classes),
                    "bbox": _BOX,
                    "area": datasets.Value("float64"),
                    "segment_id": datasets.Value("int64"),
                    "segmentation": _CODE,
                }
            ),
            "relations": datasets.List(_relation(classes)),
            "extra": _TEXT,
        }
    )


def video_features(classes: Classes | None = None) -> datasets.Features:
    """The columns of a video's row; `classes` as in `features_of`. Spans are half-open seconds."""
    return datasets.Features(
        {
            "video": datasets.Video(),
            "video_id": _TEXT,
            "file_name": _TEXT,
            "source": _TEXT,
            "width": datasets.Value("int32"),
            "height": datasets.Value("int32"),
            "fps": datasets.Value("float64"),
            "num_frames": datasets.Value("int32"),
            "duration": datasets.Value("float64"),
            "frame_files": _TEXTS,
            "mask_files": _TEXTS,
            "mask_encoding": _TEXT,
            "span_unit": _TEXT,
            "span_end": _TEXT,
            "objects": datasets.List({**_object(classes), "track": datasets.List(_POINT)}),
            "relations": datasets.List(
                {**_relation(classes), "spans": datasets.List(_SPAN), "raw_spans": datasets.List(_PAIR)}
            ),
            "extra": _TEXT,
        }
    )


def _object(classes: Classes | None) -> dict[str, Any]:
    return {
        "id": datasets.Value("int64"),
        "category": _TEXT,
        "category_id": _number(classes, "categories"),
        "names": _TEXTS,
        "synsets": _TEXTS,
        "merged_ids": datasets.List(datasets.Value("int64")),
        "is_thing": _FLAG,
        "iscrowd": _FLAG,
        "attributes": _TEXTS,
        "attribute_types": _TEXTS,
        "level": _TEXT,
        "roles": _ROLES,
    }


def _relation(classes: Classes | None) -> dict[str, Any]:
    return {
        "id": datasets.Value("int64"),
        "subject_id": datasets.Value("int64"),
        "object_id": datasets.Value("int64"),
        "predicate": _TEXT,
        "predicate_id": _number(classes, "predicates"),
        "type": _TEXT,
        "synsets": _TEXTS,
        "score": datasets.Value("float64"),  # float32 would give 0.1 back as 0.10000000149
        "roles": _ROLES,
    }


def _number(classes: Classes | None, of: str) -> Any:
    return datasets.ClassLabel(names=list(classes[of])) if classes and of in classes else datasets.Value("int32")


IMAGE = image_features()
VIDEO = video_features()
