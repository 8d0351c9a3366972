"""The two clips of tests/data/vipseg as records known by hand (SOURCE.md there says what they are), and a changed file."""

import json
from pathlib import Path

from kit import put_at

from sgeval.readers.vipseg import read_vipseg
from sgeval.records import Object, TrackPoint, VideoGraph

DATA = Path(__file__).parent / "data" / "vipseg"
A, B, C = "9001_madeTrainAAA", "9002_madeValBBBBB", "9003_madeTestCCCC"
STEMS = ("00000020", "00000025", "00000030")
TRAIN = "VIPSeg_720P/panoptic_gt_VIPSeg_train.json"


def seen(*frames):
    return tuple(map(TrackPoint, frames))


# A picture of 40 x 24: wall above row 12, floor below, two persons. In frame 2 the second person is gone, a dog has come, and
# one pixel has the value 200. 400 + 352 + 112 + 96 = 960 = 40 x 24; in frame 2 there are 84 pixels of nothing:
# 399 + 1 + 328 + 112 + 36 = 876 = 960 - 84.
OF_720P = VideoGraph(
    A,
    (
        Object(5097, "wall", category_id=0, is_thing=False, iscrowd=False, track=seen(0, 1, 2)),
        Object(9194, "floor", category_id=13, is_thing=False, iscrowd=False, track=seen(0, 1, 2)),
        Object(13291, "person", category_id=60, is_thing=True, iscrowd=False, track=seen(0, 1, 2)),
        Object(17388, "person", category_id=60, is_thing=True, iscrowd=False, track=seen(0, 1)),
        Object(21485, "ceiling", category_id=1, is_thing=False, iscrowd=False, track=seen(2)),
        Object(25582, "dog", category_id=62, is_thing=True, iscrowd=False, track=seen(2)),
    ),
    width=40,
    height=24,
    source="vipseg",
    num_frames=3,
    frame_files=tuple(f"VIPSeg_720P/images/{A}/{stem}.jpg" for stem in STEMS),
    mask_files=tuple(f"VIPSeg_720P/panomasksRGB/{A}/{stem}.png" for stem in STEMS),
    mask_encoding="rgb_object_id",
    extra={
        "/objects/0/areas": [400, 400, 399],
        "/objects/1/areas": [352, 352, 328],
        "/objects/2/areas": [112, 112, 112],
        "/objects/3/areas": [96, 96],
        "/objects/4/areas": [1],
        "/objects/5/areas": [36],
    },
)
OF_RAW = VideoGraph(
    A,
    (
        Object(1, "wall", category_id=0, is_thing=False, track=seen(0, 1, 2)),
        Object(14, "floor", category_id=13, is_thing=False, track=seen(0, 1, 2)),
        Object(6100, "person", category_id=60, is_thing=True, track=seen(0, 1, 2)),
        Object(6101, "person", category_id=60, is_thing=True, track=seen(0, 1)),
        Object(200, "ceiling", category_id=1, is_thing=False, track=seen(2)),
        Object(6300, "dog", category_id=62, is_thing=True, track=seen(2)),
    ),
    width=40,
    height=24,
    source="vipseg",
    num_frames=3,
    frame_files=tuple(f"imgs/{A}/{stem}.jpg" for stem in STEMS),
    mask_files=tuple(f"panomasks/{A}/{stem}.png" for stem in STEMS),
    mask_encoding="grey_object_id",
    extra={"/objects/4/stuff_as_thing": True},
)


def read_changed(folder, change=None, path=(), value=None):
    """The records of the 720p form after a change of its file of train."""
    file = folder / TRAIN
    whole = json.loads(file.read_text())
    if change is not None:
        change(whole)
    if path:
        put_at(whole, path, value)
    file.write_text(json.dumps(whole))
    return list(read_vipseg(folder))
