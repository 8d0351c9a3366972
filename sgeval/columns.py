"""The columns of the two records as Arrow types, one set for pictures and one for videos.

`bbox` is x, y, width, height in pixels. Ids are plain whole numbers with -1 outside the class list. What has no column is in
`extra`, a JSON text. What is unknown is null, never 0 or "". Spans of videos are half-open seconds.
"""

import pyarrow as pa

_TEXT, _FLAG, _REAL = pa.string(), pa.bool_(), pa.float64()
_TEXTS = pa.list_(_TEXT)
_ROLES = pa.list_(pa.struct([("role", _TEXT), ("value", _TEXT)]))
_FILE = pa.struct([("bytes", pa.binary()), ("path", _TEXT)])
_BOX = pa.list_(_REAL, 4)
_CODE = pa.struct([("size", pa.list_(pa.int32(), 2)), ("counts", _TEXT)])
_POINT = pa.struct(
    [("frame", pa.int32()), ("bbox", _BOX), ("segmentation", _CODE), ("generated", _FLAG), ("tracker", _TEXT)]
)
_SPAN = pa.struct([("start", _REAL), ("end", _REAL)])

_OBJECT = [
    ("id", pa.int64()),
    ("category", _TEXT),
    ("category_id", pa.int32()),
    ("names", _TEXTS),
    ("synsets", _TEXTS),
    ("merged_ids", pa.list_(pa.int64())),
    ("is_thing", _FLAG),
    ("iscrowd", _FLAG),
    ("attributes", _TEXTS),
    ("attribute_types", _TEXTS),
    ("level", _TEXT),
    ("roles", _ROLES),
]
_RELATION = [
    ("id", pa.int64()),
    ("subject_id", pa.int64()),
    ("object_id", pa.int64()),
    ("predicate", _TEXT),
    ("predicate_id", pa.int32()),
    ("type", _TEXT),
    ("synsets", _TEXTS),
    ("score", _REAL),  # float32 would give 0.1 back as 0.10000000149
    ("roles", _ROLES),
]
OBJECT = pa.struct([*_OBJECT, ("bbox", _BOX), ("area", _REAL), ("segment_id", pa.int64()), ("segmentation", _CODE)])
"""An object of a picture."""
RELATION = pa.struct(_RELATION)
"""A relation of a picture."""

IMAGE = pa.schema(
    [
        ("image", _FILE),
        ("image_id", _TEXT),
        ("file_name", _TEXT),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("source", _TEXT),
        ("video_id", _TEXT),
        ("frame_index", pa.int32()),
        ("panoptic_map", _FILE),
        ("objects", pa.list_(OBJECT)),
        ("relations", pa.list_(RELATION)),
        ("extra", _TEXT),
    ]
)
VIDEO = pa.schema(
    [
        ("video", _FILE),
        ("video_id", _TEXT),
        ("file_name", _TEXT),
        ("source", _TEXT),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("fps", _REAL),
        ("num_frames", pa.int32()),
        ("duration", _REAL),
        ("frame_files", _TEXTS),
        ("mask_files", _TEXTS),
        ("mask_encoding", _TEXT),
        ("span_unit", _TEXT),
        ("span_end", _TEXT),
        ("objects", pa.list_(pa.struct([*_OBJECT, ("track", pa.list_(_POINT))]))),
        (
            "relations",
            pa.list_(pa.struct([*_RELATION, ("spans", pa.list_(_SPAN)), ("raw_spans", pa.list_(pa.list_(_REAL, 2)))])),
        ),
        ("extra", _TEXT),
    ]
)
