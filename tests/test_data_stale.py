"""What was built is found again while nothing has changed, and built anew once a source, an option, a mask or code has.

Pictures that change are in `test_data_pictures`.
"""

import json
import shutil

import datasets
import pytest
from data_kit import make_folder

import sgeval
from sgeval.hub.features import to_record
from sgeval.hub.rows import fingerprint

pytestmark = pytest.mark.filterwarnings("ignore:.*(published number of records|not as annotated)")


def graphs(rows):
    return [to_record(row) for row in rows]


class TestNothingStale:
    def changed(self, folder):
        file = folder / "psg.json"
        whole = json.loads(file.read_text())
        whole["data"][0]["height"] += 1
        file.write_text(json.dumps(whole))

    def test_a_changed_source(self, psg, load):
        before = load("psg", data_dir=psg, split="train")["height"][0]
        self.changed(psg)
        assert load("psg", data_dir=psg, split="train")["height"][0] == before + 1

    def test_a_changed_option(self, folders, load):
        first = load("vg150", data_dir=folders["vg150"], split="val")
        assert len(load("vg150", data_dir=folders["vg150"], split="val", n_val=1)) == 1 < len(first)
        reference, exact = (load("vg150", config, data_dir=folders["vg150"]) for config in ("reference", "exact"))
        assert graphs(reference["test"]) != graphs(exact["test"])

    def test_a_changed_mask(self, psg, load):
        before = load("psg", data_dir=psg, split="train", with_masks=True)[0]["objects"][1]["segmentation"]
        path = psg / "coco/panoptic_train2017/000000001001.png"
        from PIL import Image

        picture = Image.open(path).convert("RGB")
        picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(path)
        assert load("psg", data_dir=psg, split="train", with_masks=True)[0]["objects"][1]["segmentation"] != before

    def test_a_picture_that_turns_up(self, psg, load):
        path = psg / "coco/train2017/000000001001.jpg"
        path.rename(psg / "away.jpg")
        assert load("psg", data_dir=psg, split="train", missing_images="null")[0]["image"] is None
        (psg / "away.jpg").rename(path)
        assert load("psg", data_dir=psg, split="train", missing_images="null")[0]["image"] is not None

    def test_the_same_again_is_found_again(self, psg, load, monkeypatch):
        first = load("psg", data_dir=psg, split="train")
        monkeypatch.chdir(psg.parent)
        again = load("psg", data_dir="psg", split="train")  # the same folder by another name
        assert first.cache_files == again.cache_files

    def test_changed_code(self, psg, load, monkeypatch):
        first = load("psg", data_dir=psg, split="train")
        monkeypatch.setattr("sgeval.hub.rows._code", lambda: "another")
        assert load("psg", data_dir=psg, split="train").cache_files != first.cache_files

    def test_by_the_hosts_own_call(self, psg, tmp_path):
        sgeval.register()
        given = {"data_dir": str(psg), "cache_dir": str(tmp_path / "cache"), "split": "train"}
        before = datasets.load_dataset("psg", **given)["height"][0]
        self.changed(psg)
        assert datasets.load_dataset("psg", **given)["height"][0] == before + 1


class TestFingerprint:
    def test_a_folder_of_pictures_that_appears_counts(self, psg):
        """Rows name the first file that is there, so another root makes other rows; without pictures it does not."""

        def prints():
            return [
                fingerprint("psg", "full", str(psg), options)
                for options in ({}, {"with_images": False, "with_masks": True}, {"with_images": False})
            ]

        first = prints()
        assert prints() == first
        (psg / "images").mkdir()
        assert [one == other for one, other in zip(first, prints(), strict=True)] == [False, False, True]

    def test_a_folder_of_clips_that_appears_counts(self, tmp_path):
        folder = make_folder("vidor", tmp_path / "vidor")
        shutil.rmtree(folder / "video", ignore_errors=True)
        options = {"with_images": False, "with_video": True}
        first = fingerprint("vidor", None, str(folder), options)
        (folder / "video").mkdir()
        assert fingerprint("vidor", None, str(folder), options) != first
