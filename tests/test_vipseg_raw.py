"""The published form of VIPSeg: folders of 16-bit masks, lists of clips."""

import json
import shutil

import numpy as np
import pytest
from data_kit import make_folder
from PIL import Image
from vipseg_kit import OF_RAW, STEMS, A, C

import sgeval
from sgeval.data.inspect import inspect
from sgeval.errors import BadImage, SgevalError
from sgeval.readers.vipseg import read_vipseg

pytestmark = pytest.mark.filterwarnings("ignore:.*published number of records")


@pytest.fixture
def folder(tmp_path):
    return make_folder("vipseg", tmp_path / "vipseg")


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
        """Names need not be of one length: 9 comes before 010 and 100."""
        for stem, number in zip(STEMS, ("100", "9", "0010"), strict=True):
            (folder / f"VIPSeg/imgs/{C}/{stem}.jpg").rename(folder / f"VIPSeg/imgs/{C}/{number}.jpg")
        (graph,) = read_vipseg(folder, "test", config="raw")
        assert graph.frame_files == tuple(f"imgs/{C}/{number}.jpg" for number in ("9", "0010", "100"))

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

    def test_a_test_clip_with_masks(self, folder):
        """They are not published; where they are there, they are read."""
        assert [graph.mask_files for graph in read_vipseg(folder, "test", config="raw")] == [None]
        (folder / f"VIPSeg/panomasks/{C}").mkdir()
        self.put(folder, [[1] * 40] * 24, clip=C)
        (graph,) = read_vipseg(folder, "test", config="raw")
        assert graph.mask_files == tuple(f"panomasks/{C}/{stem}.png" for stem in STEMS)
        assert [point.frame for point in graph.objects[0].track] == [1] and graph.extra["/mask_files/missing"] == [0, 2]

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
