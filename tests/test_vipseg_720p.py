"""The COCO form of VIPSeg, one JSON file of videos, frames and segments."""

import json
import shutil
import tracemalloc
from functools import partial

import pytest
from data_kit import make_folder
from vipseg_kit import OF_720P, TRAIN, A, B, read_changed

from sgeval.errors import SgevalError
from sgeval.readers import vipseg_720p
from sgeval.readers.vipseg import count_vipseg, read_vipseg


@pytest.fixture
def folder(tmp_path):
    return make_folder("vipseg", tmp_path / "vipseg")


@pytest.fixture
def read(folder):
    return partial(read_changed, folder)


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

    @pytest.mark.parametrize(
        ("images", "frames", "words"),
        [
            ((), "25 20 30", r'\.annotations\[0\].file_name: .* of its image, "00000020", got "00000025"'),
            ((), "20 25 31", r'\.annotations\[2\].file_name: .* of its image, "00000030", got "00000031"'),
            ("25 20 30", "25 20 30", r'\.images\[1\].file_name: expected a frame after "00000025", got "00000020"'),
            ("20 30 25", "20 30 25", r'\.images\[2\].file_name: expected a frame after "00000030", got "00000025"'),
            ("20 20 30", "20 20 30", r'images\[1\].*each frame once, got "00000020" again \(first in images\[0\]\)'),
            ("25 30 35", "25 30 35", r'images\[1\].file_name: .* frame of the id "00000025", got "00000030"'),
        ],
    )
    def test_names_under_which_a_frame_would_be_another(self, images, frames, words, read):
        """Published ids are the names, which ascend, and a mask is named like its frame. In the last case the frames 25, 30
        and 35 are under the ids 20, 25 and 30."""

        def change(whole):
            named = (
                (whole["videos"][0]["images"], images.split() if images else ()),
                (whole["annotations"][0]["annotations"], frames.split()),
            )
            for entries, numbers in named:
                for entry, number in zip(entries, numbers):
                    entry["file_name"] = f"000000{number}.png"

        with pytest.raises(SgevalError, match=rf'video_id "{A}"\){words}' if words[0] == "\\" else words):
            read(change)

    def test_names_and_ids_of_other_forms(self, read):
        """Ids may be numbers that count from 0, and names need not be numbers, nor of one length."""

        def change(names):
            def run(whole):
                for number, (image, frame) in enumerate(
                    zip(whole["videos"][0]["images"], whole["annotations"][0]["annotations"], strict=True)
                ):
                    image["id"] = frame["image_id"] = number
                    image["file_name"] = frame["file_name"] = f"{names[number]}.png"

            return run

        for names in (("1", "2", "3"), ("9", "010", "100"), ("b", "a", "x1"), ("b", "7", "3b")):
            graph = read(change(names))[0]
            assert graph.frame_files == tuple(f"VIPSeg_720P/images/{A}/{name}.jpg" for name in names)
            assert graph.objects == OF_720P.objects
        with pytest.raises(SgevalError, match=r'images\[2\].*each frame once, got "b" again'):
            read(change(("b", "a", "b")))
        with pytest.raises(SgevalError, match=r'images\[1\].*expected a frame after "9", got "09"'):
            read(change(("9", "09", "10")))

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

    def test_the_largest_id(self, read):
        """A colour is at most 255 + 256 x 255 + 65536 x 255 = 2**24 - 1."""

        def change(whole):
            for frame in whole["annotations"][0]["annotations"]:
                frame["segments_info"][0]["id"] = 2**24 - 1

        assert read(change)[0].objects[0].id == 2**24 - 1

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
        monkeypatch.setattr(vipseg_720p, "_typed", lambda _: None)
        vipseg_720p._kept.cache_clear()
        assert next(read_vipseg(folder)) == OF_720P

    def test_a_file_is_opened_once_until_it_changes(self, folder, monkeypatch):
        """Each of several processes is asked for stretch after stretch of it."""
        opened = []
        build = vipseg_720p.VideoFile.__init__
        monkeypatch.setattr(
            vipseg_720p.VideoFile,
            "__init__",
            lambda self, path, split: [opened.append(path.name), build(self, path, split)][0],
        )
        assert count_vipseg(folder, "train") == len(list(read_vipseg(folder, "train", part=(0, 1)))) == 1
        assert opened == ["panoptic_gt_VIPSeg_train.json", "panoptic_gt_VIPSeg_val.json"]
        file = folder / TRAIN
        file.write_text(file.read_text().replace(A, A[::-1]))
        assert [graph.video_id for graph in read_vipseg(folder, "train")] == [A[::-1]]

    def test_a_large_file_is_in_memory_once(self, folder):
        """4 MB of clips without frames; as text it is 4 MB more, and so is each copy."""
        whole = json.loads((folder / TRAIN).read_text())
        whole["videos"] += [{"video_id": f"{number:06d}" + "x" * 1_000, "images": []} for number in range(4_000)]
        (folder / TRAIN).write_text(json.dumps(whole))
        size = (folder / TRAIN).stat().st_size
        tracemalloc.start()
        try:
            vipseg_720p.VideoFile(folder / TRAIN, "train")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert size > 4e6 and peak < 2.6 * size  # the bytes, and the ids, which are as long here

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('"videos": [], "videos": [], "annotations": [], "categories": []', 'got the key "videos" twice'),
            ('"videos": [], "annotations": [], "categories": [], "x\\u003a": 1, "x:": 1', r'got the key "x:" twice'),
        ],
    )
    def test_keys_that_come_twice(self, folder, text, words):
        (folder / TRAIN).write_text("{" + text + "}")
        with pytest.raises(SgevalError, match=words):
            read_vipseg(folder)

    def test_bytes_that_are_no_text(self, folder):
        """Byte 1,048,577 is the second of the second part of 2**20 that is looked at; the first half of an é is the byte
        before it."""
        data = (folder / TRAIN).read_bytes()
        (folder / TRAIN).write_bytes(b"\xef\xbb\xbf" + data)
        assert next(read_vipseg(folder)) == OF_720P
        (folder / TRAIN).write_bytes(b"{" + b" " * (2**20 - 1) + b"\xc3\x28")
        with pytest.raises(SgevalError, match=r"train\.json: expected UTF-8 text, got byte 1048576 that is none"):
            read_vipseg(folder)

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
            monkeypatch.setattr(vipseg_720p, "_typed", lambda _: None)
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
