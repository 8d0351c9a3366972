"""The VIPSeg reader against files whose content is known by hand (tests/data/vipseg/SOURCE.md says what they are)."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from data_kit import make_folder
from kit import put_at
from PIL import Image

import sgeval
from sgeval.data.inspect import inspect
from sgeval.data.pictures import place_of
from sgeval.data.sets import DATA_SETS
from sgeval.data.tracks import track_of_masks
from sgeval.errors import BadImage, SgevalError
from sgeval.hub.features import to_record
from sgeval.readers import vipseg_720p
from sgeval.readers.vipseg import count_vipseg, read_vipseg, vipseg_classes
from sgeval.records import Object, TrackPoint, VideoGraph

DATA = Path(__file__).parent / "data" / "vipseg"
pytestmark = pytest.mark.filterwarnings("ignore:.*published number of records")
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


@pytest.fixture
def folder(tmp_path):
    return make_folder("vipseg", tmp_path / "vipseg")


@pytest.fixture
def read(folder):
    def run(change=None, path=(), value=None, config="720p"):
        file = folder / TRAIN
        whole = json.loads(file.read_text())
        if change is not None:
            change(whole)
        if path:
            put_at(whole, path, value)
        file.write_text(json.dumps(whole))
        return list(read_vipseg(folder, config=config))

    return run


class TestRecords:
    def test_the_first_of_each_form(self):
        assert next(read_vipseg(DATA)) == OF_720P
        assert next(read_vipseg(DATA, config="raw")) == OF_RAW

    def test_the_last_of_each_form(self):
        """Of the 720p form the clip of val, without the pixel of 200; of the raw one the test clip, which has no masks."""
        *_, last = read_vipseg(DATA)
        assert [(item.id, item.category) for item in last.objects][4:] == [(21485, "dog")] and last.video_id == B
        assert last.extra["/objects/0/areas"] == [400, 400, 400]
        *_, last = read_vipseg(DATA, config="raw")
        frames = tuple(f"imgs/{C}/{stem}.jpg" for stem in STEMS)
        assert last == VideoGraph(C, source="vipseg", num_frames=3, frame_files=frames)

    def test_splits_parts_and_counts(self):
        def ids(*args, **options):
            return [graph.video_id for graph in read_vipseg(DATA, *args, **options)]

        assert ids() == [A, B] and ids("train") == [A] and ids("val") == [B]
        assert ids(config="raw") == [A, B, C] and ids("test", config="raw") == [C]
        assert ids(part=(1, None)) == [B] and ids(config="raw", part=(1, 2)) == [B]
        assert [count_vipseg(DATA, split) for split in (None, "train", "val")] == [2, 1, 1]
        assert [count_vipseg(DATA, split, config="raw") for split in (None, "test")] == [3, 1]

    def test_class_lists(self):
        for config in ("720p", "raw"):
            names = vipseg_classes(DATA, config=config).names
            assert len(names) == 63 and (names[0], names[60], names[62]) == ("wall", "person", "dog")
            assert names[2] == "unnamed 2"

    def test_frames_a_second(self):
        assert next(read_vipseg(DATA)).fps is None
        assert next(read_vipseg(DATA, fps=6)).fps == next(read_vipseg(DATA, config="raw", fps=6)).fps == 6.0
        for fps in (0, -6, "6", True, float("nan")):
            with pytest.raises(SgevalError, match="fps: expected frames a second"):
                read_vipseg(DATA, fps=fps)

    @pytest.mark.parametrize("flat", [False, True])
    def test_the_published_folder_itself(self, flat, folder):
        """`data_dir` may be VIPSeg/, with VIPSeg_720P/ in it, as the scripts leave it."""
        (folder / "VIPSeg_720P").rename(folder / "VIPSeg/VIPSeg_720P")
        (folder / "panoVIPSeg_categories.json").rename(folder / "VIPSeg/panoVIPSeg_categories.json")
        data_dir = folder / "VIPSeg" if flat else folder
        assert next(read_vipseg(data_dir)) == OF_720P and next(read_vipseg(data_dir, config="raw")) == OF_RAW
        for config in ("720p", "raw"):
            assert not inspect("vipseg", data_dir, config=config, with_masks=True).missing_maps
            assert not inspect("vipseg", data_dir, config=config).missing_pictures


class TestOneFileForAll:
    @pytest.fixture
    def one(self, folder):
        for split in ("train", "val"):
            (folder / f"VIPSeg_720P/panoptic_gt_VIPSeg_{split}.json").unlink()
        return folder

    def test_lists_tell_the_splits(self, one):
        assert next(read_vipseg(one, "train")) == OF_720P
        assert [graph.video_id for graph in read_vipseg(one, "val")] == [B]
        (one / "VIPSeg/val.txt").write_text("")
        assert [graph.video_id for graph in read_vipseg(one)] == [A, B] and not list(read_vipseg(one, "val"))
        assert "1 record is in no split, so no split holds them" in inspect("vipseg", one).faults

    def test_without_lists(self, one):
        shutil.rmtree(one / "VIPSeg")
        assert len(list(read_vipseg(one))) == 2
        with pytest.raises(SgevalError, match=r"panoptic_gt_VIPSeg_val.json beside it, or a list of clips val.txt"):
            read_vipseg(one, "val")


def test_one_split_is_enough(folder):
    (folder / "VIPSeg_720P/panoptic_gt_VIPSeg_val.json").unlink()
    assert [graph.video_id for graph in read_vipseg(folder)] == [A] and list(read_vipseg(folder, "val")) == []


class TestMasks:
    # Persons: columns 4 to 11 and 24 to 31, rows 6 to 19 and 8 to 19; the first moves 5 to the right each frame.
    BOXES = ((4.0, 6.0, 8.0, 14.0), (9.0, 6.0, 8.0, 14.0), (14.0, 6.0, 8.0, 14.0))

    @pytest.mark.parametrize(("config", "wall", "person"), [("720p", 5097, 13291), ("raw", 1, 6100)])
    def test_boxes(self, config, wall, person, folder, tmp_path):
        rows = sgeval.load_dataset(
            "vipseg", config, data_dir=folder, split="train", with_masks=True, cache_dir=tmp_path / "cache"
        )
        graph = to_record(rows[0])
        tracks = {item.id: item.track for item in graph.objects}
        assert tuple(point.bbox for point in tracks[person]) == self.BOXES
        assert tracks[wall][0].bbox == (0.0, 0.0, 40.0, 12.0)
        dog = next(item for item in graph.objects if item.category == "dog")
        assert [(point.frame, point.bbox) for point in dog.track] == [(2, (30.0, 14.0, 6.0, 6.0))]
        speck = next(item for item in graph.objects if item.category == "ceiling")
        assert [(point.frame, point.bbox) for point in speck.track] == [(2, (0.0, 0.0, 1.0, 1.0))]
        assert not {"/mask_files/unlisted_ids"} & set(graph.extra)

    def test_both_forms_agree(self, folder):
        """The 720p masks are made of the raw ones: the same boxes and codes, under other ids."""
        tracks = []
        for config in ("720p", "raw"):
            graph = next(read_vipseg(folder, config=config))
            place = place_of(DATA_SETS["vipseg"], config, folder)
            found = track_of_masks(graph, place.masks(graph))
            assert [item.track and [p.frame for p in item.track] for item in found.objects] == [
                [p.frame for p in item.track] for item in graph.objects
            ]
            tracks.append([(item.category, item.track) for item in found.objects])
        assert tracks[0] == tracks[1]

    def test_masks_that_differ_from_the_file(self, folder):
        graph = next(read_vipseg(folder))
        path = folder / graph.mask_files[1]
        pixels = np.asarray(Image.open(path)).copy()
        pixels[pixels[..., 0] == 17388 % 256] = (13291 % 256, 13291 // 256, 0)  # the second person becomes the first
        pixels[0, 0] = (7, 0, 0)
        pixels[0, 1] = (25582 % 256, 25582 // 256, 0)
        Image.fromarray(pixels).save(path)
        extra = track_of_masks(graph, place_of(DATA_SETS["vipseg"], "720p", folder).masks(graph)).extra
        assert extra["/objects/3/not_in_masks"] == [1] and extra["/objects/5/only_in_masks"] == [1]
        assert extra["/mask_files/unlisted_ids"] == {"7": [1]} and "/objects/2/not_in_masks" not in extra

    def test_a_mask_of_another_size(self, folder):
        graph = next(read_vipseg(folder))
        Image.new("RGB", (41, 24)).save(folder / graph.mask_files[1])
        with pytest.raises(
            BadImage, match=rf'video "{A}": .*00000025.png: expected the annotated 40 x 24, got 41 x 24'
        ):
            track_of_masks(graph, place_of(DATA_SETS["vipseg"], "720p", folder).masks(graph))


class TestRaw:
    def put(self, folder, values, stem=STEMS[1], clip=A):
        Image.fromarray(np.array(values, dtype=np.uint16)).save(folder / f"VIPSeg/panomasks/{clip}/{stem}.png")

    def test_a_thing_without_an_instance_and_stuff_as_a_thing(self, folder):
        """61 is a person without a number, 150 the 50th wall: 150 // 100 = 1, and classes count from 1."""
        self.put(folder, [[61] * 40] * 12 + [[150] * 40] * 12)
        graph = next(read_vipseg(folder, config="raw"))
        by_id = {item.id: (position, item.category) for position, item in enumerate(graph.objects)}
        assert by_id[61][1] == "person" and by_id[150][1] == "wall"
        assert graph.extra[f"/objects/{by_id[61][0]}/thing_without_instance"] is True
        assert graph.extra[f"/objects/{by_id[150][0]}/stuff_as_thing"] is True
        found = {entry.what: entry.count for entry in inspect("vipseg", folder, config="raw").oddities}
        assert found["instances of a class of stuff, in masks"] == 2  # 150 and 200

    def test_the_last_class_of_stuff(self, folder):
        """124 is a class itself, the one of id 123, and no first wall of 24."""
        file = folder / "panoVIPSeg_categories.json"
        classes = json.loads(file.read_text())
        file.write_text(json.dumps([*classes, {"id": 123, "name": "road", "isthing": 0, "color": [0, 0, 0]}]))
        self.put(folder, [[124] * 40] * 24)
        found = {item.id: item for item in next(read_vipseg(folder, config="raw")).objects}
        assert (found[124].category, found[124].category_id, found[124].is_thing) == ("road", 123, False)

    def test_frames_in_the_order_of_their_numbers(self, folder):
        """Names need not be of one length: 9 comes before 10 and 100."""
        for stem, number in zip(STEMS, ("100", "9", "10"), strict=True):
            (folder / f"VIPSeg/imgs/{C}/{stem}.jpg").rename(folder / f"VIPSeg/imgs/{C}/{number}.jpg")
        (graph,) = read_vipseg(folder, "test", config="raw")
        assert graph.frame_files == tuple(f"imgs/{C}/{number}.jpg" for number in (9, 10, 100))

    @pytest.mark.parametrize("value", [125 * 100, 3, 400, 65535])
    def test_a_class_that_is_not_in_the_list(self, value, folder):
        self.put(folder, [[value] * 40] * 24)
        with pytest.raises(
            SgevalError, match=rf'00000025.png: video "{A}": expected values of the 5 classes .*{value}'
        ):
            list(read_vipseg(folder, config="raw"))

    def test_a_mask_of_another_size(self, folder):
        self.put(folder, [[1] * 41] * 24)
        with pytest.raises(
            BadImage, match=rf'video "{A}": .*00000025.png: expected the annotated 40 x 24, got 41 x 24'
        ):
            list(read_vipseg(folder, config="raw"))

    def test_masks_that_are_none(self, folder):
        path = folder / f"VIPSeg/panomasks/{A}/{STEMS[1]}.png"
        Image.new("RGB", (40, 24)).save(path)
        with pytest.raises(BadImage, match=f'video "{A}": .*one value a pixel'):
            list(read_vipseg(folder, config="raw"))
        path.write_bytes(b"no picture")
        with pytest.raises(BadImage, match=f'video "{A}": .*expected a picture'):
            list(read_vipseg(folder, config="raw"))

    def test_a_frame_without_a_mask_moves_nothing(self, folder):
        (folder / f"VIPSeg/panomasks/{A}/{STEMS[1]}.png").unlink()
        (folder / f"VIPSeg/imgs/{A}/._00000001.jpg").write_bytes(b"")
        graph = next(read_vipseg(folder, config="raw"))
        assert graph.frame_files == OF_RAW.frame_files and graph.mask_files == OF_RAW.mask_files
        assert graph.extra["/mask_files/missing"] == [1]
        assert [point.frame for point in graph.objects[0].track] == [0, 2]
        found = inspect("vipseg", folder, config="raw", with_masks=True)
        assert found.missing_maps == [(A, f"panomasks/{A}/00000025.png")]
        assert [entry.ids for entry in found.oddities if entry.what == "videos with frames that have no mask"] == [[A]]

    def test_a_frame_that_is_not_there_is_named(self, folder, tmp_path):
        (folder / f"VIPSeg/imgs/{A}/{STEMS[0]}.jpg").unlink()
        assert next(read_vipseg(folder, config="raw")) == OF_RAW
        assert (A, f"imgs/{A}/00000020.jpg") in inspect("vipseg", folder, config="raw").missing_pictures
        with pytest.raises(SgevalError, match=rf'video "{A}": expected the frame "imgs/{A}/00000020.jpg"'):
            sgeval.load_dataset("vipseg", "raw", data_dir=folder, split="train", cache_dir=tmp_path / "cache")

    def test_nothing_of_a_clip(self, folder):
        (folder / "VIPSeg/test.txt").write_text("9999_nothing\n")
        with pytest.raises(
            SgevalError, match=r'video "9999_nothing": expected frames in .*imgs.*panomasks.*, got none'
        ):
            list(read_vipseg(folder, config="raw"))

    @pytest.mark.parametrize("name", ["../x", "a/b", "..", "C:x", "a\\b", "a\u202eb"])
    def test_names_that_lead_out(self, name, folder):
        (folder / "VIPSeg/test.txt").write_text(f"{C}\n{name}\n")
        with pytest.raises(SgevalError, match=r"test.txt: line 2: expected the name of a clip's folder"):
            read_vipseg(folder, "train", config="raw")

    @pytest.mark.parametrize("lines", [f"{C}\n{C}\n", f"{C}\n\n{A}"])
    def test_a_clip_that_comes_twice(self, lines, folder):
        (folder / "VIPSeg/test.txt").write_text(lines)
        with pytest.raises(SgevalError, match=r"test.txt: expected each video once, got .* again \(first in .*txt\)"):
            read_vipseg(folder, "val", config="raw")

    def test_nothing_stale(self, folder, tmp_path):
        def load():
            return sgeval.load_dataset("vipseg", "raw", data_dir=folder, split=None, cache_dir=tmp_path / "cache")

        assert load()["test"][0]["num_frames"] == 3
        shutil.copy(folder / f"VIPSeg/imgs/{C}/00000030.jpg", folder / f"VIPSeg/imgs/{C}/00000035.jpg")
        assert load()["test"][0]["num_frames"] == 4
        self.put(folder, [[1] * 40] * 24)
        assert [point["frame"] for point in load()["train"][0]["objects"][1]["track"]] == [0, 2]

    def test_no_lists(self, tmp_path):
        with pytest.raises(SgevalError, match=r"expected a folder that holds VIPSeg/train.txt.*github.com/VIPSeg"):
            read_vipseg(tmp_path, config="raw")


class TestForm720p:
    def test_joined_by_id_and_never_by_position(self, folder):
        def turned(whole):
            whole["annotations"][0]["annotations"].reverse()

        file = folder / "VIPSeg_720P/panoptic_gt_VIPSeg.json"
        for split in ("train", "val"):
            (folder / f"VIPSeg_720P/panoptic_gt_VIPSeg_{split}.json").unlink()
        whole = json.loads(file.read_text())
        whole["annotations"].reverse()
        turned(whole)
        file.write_text(json.dumps(whole))
        assert next(read_vipseg(folder)) == OF_720P

    def test_tracks_go_in_the_order_of_frames(self, read):
        """Whatever the order of annotations: points, areas and the order of objects are those of the first test."""
        assert read(lambda whole: whole["annotations"][0]["annotations"].reverse())[0] == OF_720P

    def test_frames_without_annotations_move_nothing(self, read):
        def change(whole):
            del whole["annotations"][0]["annotations"][1]

        graph = read(change)[0]
        assert graph.mask_files == (OF_720P.mask_files[0], None, OF_720P.mask_files[2])
        assert graph.extra["/mask_files/missing"] == [1] and [p.frame for p in graph.objects[0].track] == [0, 2]
        graph = read(lambda whole: whole["annotations"].clear())[0]
        assert graph.mask_files == (None, None, None) and graph.objects == ()

    def test_what_the_form_does_not_know(self, read):
        def change(whole):
            whole["videos"][0]["licence"] = "x"
            whole["videos"][0]["images"][1]["date"] = None
            whole["annotations"][0]["note"] = 1
            whole["annotations"][0]["annotations"][2]["a/b"] = []
            whole["annotations"][0]["annotations"][2]["segments_info"][1]["bbox"] = [0, 0, 1, 1]

        extra = read(change)[0].extra
        assert {key: extra[key] for key in extra if not key.startswith("/objects")} == {
            "/licence": "x",
            "/images/1/date": None,
            "/annotations/note": 1,
            "/annotations/2/a~1b": [],
            "/annotations/2/segments_info/1/bbox": [0, 0, 1, 1],
        }

    def test_areas_and_crowds(self, read):
        def change(whole):
            segments = [frame["segments_info"] for frame in whole["annotations"][0]["annotations"]]
            del segments[0][0]["area"]
            segments[1][0]["iscrowd"] = 1
            for segment in (segments[0][2], segments[1][2], segments[2][3]):
                del segment["iscrowd"]

        graph = read(change)[0]
        assert graph.extra["/objects/0/areas"] == [None, 400, 399] and graph.objects[0].iscrowd is True
        assert graph.extra["/objects/0/iscrowd"] == [0, 1, 0] and graph.objects[2].iscrowd is None

    @pytest.mark.parametrize("text", ['{"info": {}, "videos"', '{"videos"'])
    def test_both_roads_give_the_same(self, text, folder, monkeypatch):
        """The one that leaves entries as text, and the one for a file with more keys than the form has."""
        file = folder / TRAIN
        file.write_text(file.read_text().replace('{"videos"', text, 1))
        assert next(read_vipseg(folder)) == OF_720P
        monkeypatch.setattr(vipseg_720p, "typed_block", lambda *_: None)
        assert next(read_vipseg(folder)) == OF_720P

    IMAGE, FRAME = ("videos", 0, "images", 1), ("annotations", 0, "annotations", 1)

    @pytest.mark.parametrize("road", ["text", "values"])
    @pytest.mark.parametrize(
        ("path", "value", "words"),
        [
            (("videos", 0, "video_id"), 5, r"videos\[0\].video_id: expected a text, got 5"),
            (("videos", 0, "video_id"), "../x", r"video_id: expected the name of a clip's folder"),
            (("videos", 0, "video_id"), "other", f'annotations: expected annotations of its videos alone, got "{A}"'),
            (("videos", 0), [], r"videos\[0\]: expected an object, got \[\]"),
            (("videos", 0, "images"), ..., rf'"{A}"\).images: expected a list of images, got nothing'),
            (IMAGE, None, rf'"{A}"\).images\[1\]: expected an object, got null'),
            ((*IMAGE, "id"), "00000020", rf'"{A}"\).images\[1\].id: expected each image once, got "00000020"'),
            ((*IMAGE, "file_name"), "../../x.png", rf'"{A}"\).images\[1\].file_name: expected the name'),
            ((*IMAGE, "file_name"), ..., rf'"{A}"\).images\[1\].file_name: expected the name of a file, got nothing'),
            ((*IMAGE, "width"), 41, rf'"{A}"\).images: expected images of one width and height'),
            ((*IMAGE, "height"), 0, rf'"{A}"\).images\[1\].height: expected a whole number of pixels'),
            ((*FRAME, "image_id"), "00000020", rf'"{A}"\).annotations\[1\].image_id: expected each image once'),
            ((*FRAME, "image_id"), "7", rf'"{A}"\).annotations\[1\].image_id: expected the id of one of the 3 images'),
            ((*FRAME, "segments_info"), {}, rf'"{A}"\).annotations\[1\].segments_info: expected a list'),
            ((*FRAME, "segments_info", 0), 7, r"segments_info\[0\]: expected an object, got 7"),
            ((*FRAME, "segments_info", 0, "id"), 0, r"segments_info\[0\].id: expected a whole number from 1"),
            ((*FRAME, "segments_info", 0, "id"), 9194, r"segments_info\[1\].id: .*each once a frame, got 9194"),
            ((*FRAME, "segments_info", 0, "id"), 2**24, r"segments_info\[0\].id: expected a whole number from 1"),
            (
                (*FRAME, "segments_info", 0, "category_id"),
                7,
                r"category_id: expected the id of one of the 5 categories",
            ),
            (
                (*FRAME, "segments_info", 0, "category_id"),
                13,
                r"category_id: expected one class for the id 5097 all through, got 13, and 0 in a frame before",
            ),
            ((*FRAME, "segments_info", 0, "iscrowd"), 2, r"iscrowd: expected 0 or 1, got 2"),
            ((*FRAME, "segments_info", 0, "area"), -1, r"area: expected a whole number from 0 up, got -1"),
            ((*FRAME, "segments_info", 0, "area"), 2**63, r"area: expected a whole number from 0 up"),
            (("categories", 3, "id"), 0, r"categories\[3\].id: expected a whole number from 0 to 999, each once"),
            (("categories", 3, "isthing"), 2, r"categories\[3\].isthing: expected 0 or 1, got 2"),
            (("categories", 3, "name"), None, r"categories\[3\].name: expected a text, got null"),
            (("categories", 3, "name"), "people", r"val.json: categories: expected those of .*train.json"),
        ],
    )
    def test_faults_are_one_line(self, path, value, words, road, read, monkeypatch):
        if road == "values":
            monkeypatch.setattr(vipseg_720p, "typed_block", lambda *_: None)
        with pytest.raises(SgevalError, match=words) as caught:
            read(None, path, value)
        assert "\n" not in str(caught.value) and "panoptic_gt_VIPSeg" in str(caught.value)

    def test_videos_that_come_twice(self, folder, read):
        with pytest.raises(SgevalError, match=rf'expected each video once, got "{A}" again \(first in .*train.json'):
            read(lambda whole: whole["videos"].append(whole["videos"][0]))
        shutil.copy(folder / "VIPSeg_720P/panoptic_gt_VIPSeg.json", folder / TRAIN)
        with pytest.raises(SgevalError, match=rf'expected each video once, got "{B}" again'):
            read_vipseg(folder)

    def test_annotations_that_come_twice(self, read):
        with pytest.raises(SgevalError, match=rf'annotations\[1\]: expected each video once, got "{A}" again'):
            read(lambda whole: whole["annotations"].append(whole["annotations"][0]))

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("[]", "expected an object"),
            ("{", "expected JSON"),
            ('{"videos": [], "videos": [], "annotations": [], "categories": []}', 'the key "videos" twice'),
            ('{"videos": [], "annotations": {}, "categories": []}', "annotations: expected a list, got {}"),
            ('{"videos": [], "annotations": [], "categories": {}}', "categories: expected a list"),
            ("[" * 100_000, "levels of nesting"),
        ],
    )
    def test_files_that_are_none(self, text, words, folder):
        (folder / TRAIN).write_text(text)
        with pytest.raises(SgevalError, match=words):
            read_vipseg(folder)

    def test_a_doubled_key_inside(self, folder):
        file = folder / TRAIN
        file.write_text(file.read_text().replace('"area": 352', '"area": 352, "area": 352', 1))
        with pytest.raises(SgevalError, match=rf'annotations\[0\] \(video_id "{A}"\): expected each key once'):
            list(read_vipseg(folder))

    def test_no_file(self, tmp_path):
        with pytest.raises(SgevalError, match=r"VIPSeg_720P/panoptic_gt_VIPSeg_train.json.*github.com/VIPSeg"):
            read_vipseg(tmp_path)
