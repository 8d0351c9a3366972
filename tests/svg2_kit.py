"""The two records of tests/data/svg2_test, known by hand (SOURCE.md there says what they are), and changed tables."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sgeval.readers.svg2_test import read_svg2_test
from sgeval.records import Object, Relation, VideoGraph

DATA = Path(__file__).parent / "data" / "svg2_test"
SAV, VIPSEG = "sav_900001", "9002_madeValBBBBB"
SHARD = "train-00000-of-00001.parquet"

FIRST = VideoGraph(
    SAV,
    (
        Object(
            0,
            "person",
            attributes=("standing", "wearing a red jacket"),
            attribute_types=("action", "appearance"),
            level="L1",
        ),
        Object(1, "bicycle", attributes=("black",), attribute_types=("color",), level="L1"),
        Object(2, "bicycle wheel", attribute_types=(), level="L2"),
    ),
    (
        Relation(0, 1, "riding", 0, spans=((0.0, 2.0),), raw_spans=((0.0, 2.0),)),
        Relation(2, 1, "part of", 1, spans=((0.0, 2.5),), raw_spans=((0.0, 2.5),)),
        Relation(0, -1, "looking at", 2, spans=((1.0, 1.0), (2.0, 3.0)), raw_spans=((1.0, 1.0), (2.0, 3.0))),
    ),
    file_name=f"sav/{SAV}.mp4",
    source="sav",
    span_unit="second",
    span_end="exclusive",
    extra={"/relations/2/empty": [0]},
)
LAST = VideoGraph(
    VIPSEG,
    (
        Object(0, "dog", attributes=("brown", "small"), attribute_types=("color", "size"), level="L1"),
        Object(3, "ball", attributes=("round",), attribute_types=("shape",), level="L1"),
    ),
    (Relation(0, 3, "chasing", 0, spans=((0.0, 1.0), (2.0, 3.0)), raw_spans=((0.0, 1.0), (2.0, 3.0))),),
    file_name=f"vipseg/{VIPSEG}.mp4",
    source="vipseg",
    span_unit="second",
    span_end="exclusive",
)


def table(folder, part="sav", what="data"):
    return pq.read_table(folder / f"{what}/SVG2_test/{part}/{SHARD}")


def write(folder, rows, part="sav", what="data", **options):
    """Put rows, or a table, in the place of a file."""
    if not isinstance(rows, pa.Table):
        rows = pa.Table.from_pylist(rows, table(folder, part, what).schema)
    pq.write_table(rows, folder / f"{what}/SVG2_test/{part}/{SHARD}", **options)


def read_changed(folder, change, what="data", config="annotations"):
    """The first record, once a change has been made to its row."""
    row = table(folder, what=what).to_pylist()[0]
    change(row)
    write(folder, [row], what=what)
    return next(read_svg2_test(folder, config=config))


def parts(row, key, change):
    """Change what a column's JSON says."""
    value = json.loads(row[key])
    change(value)
    row[key] = json.dumps(value)
