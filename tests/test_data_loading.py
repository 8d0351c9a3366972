"""Reader → builder → `datasets` → records: the identity for each set, on every road."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import datasets
import numpy as np
import pytest
from data_kit import EVERY, OF_PICTURES, draw, records

import sgeval
from sgeval import masks
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError
from sgeval.hub.features import to_record, to_row, to_table
from sgeval.hub.schema import IMAGE, features_of
from sgeval.records import Object, Relation, Role, SceneGraph

ROOT = Path(sgeval.__file__).parent.parent
pytestmark = pytest.mark.filterwarnings("ignore:.*(published number of records|not as annotated)")


def graphs(rows):
    return [to_record(row) for row in rows]


@pytest.mark.parametrize(("name", "config"), EVERY)
def test_rows_give_the_records_back(name, config, folders, load):
    loaded = load(name, config, data_dir=folders[name])
    stream = load(name, config, data_dir=folders[name], streaming=True)
    assert isinstance(loaded, datasets.DatasetDict) and isinstance(stream, datasets.IterableDatasetDict)
    assert tuple(loaded) == tuple(stream) == DATA_SETS[name].configs[config]
    total = 0
    for split in loaded:
        wanted = records(name, folders[name], config, split)
        assert graphs(loaded[split]) == graphs(stream[split]) == wanted
        assert loaded[split].features == features_of(DATA_SETS[name].kind)
        total += len(wanted)
    assert total == len(records(name, folders[name], config)) > 0


@pytest.mark.parametrize(("name", "config"), OF_PICTURES)
def test_pictures_are_there(name, config, folders, load):
    split = DATA_SETS[name].configs[config][0]
    for row in load(name, config, data_dir=folders[name], split=split, missing_images="null"):
        if row["file_name"] is not None:
            assert row["image"].size == (row["width"] or 64, row["height"] or 48)


def test_one_split_and_a_slice(folders, load):
    train = load("psg", data_dir=folders["psg"], split="train")
    assert isinstance(train, datasets.Dataset)
    assert load("psg", data_dir=folders["psg"], split="train[:1]+test")["image_id"][:1] == train["image_id"][:1]


def test_no_pictures(folders, load):
    rows = load("psg", data_dir=folders["psg"], split="train", with_images=False)
    assert [row["image"] for row in rows] == [None] * len(rows)
    assert graphs(rows) == records("psg", folders["psg"], split="train")


class TestMasks:
    def test_codes_are_the_segments_of_the_map(self, folders, load):
        for row in load("psg", data_dir=folders["psg"], split="train", with_masks=True):
            red, green, blue = np.moveaxis(np.asarray(row["panoptic_map"], dtype=int), -1, 0)
            for item in row["objects"]:
                wanted = red + 256 * green + 65536 * blue == item["segment_id"]
                assert (masks.mask_of(item["segmentation"]) == wanted).all()

    def test_codes_and_back_on_random_maps(self):
        rng = np.random.default_rng(0)
        for _ in range(100):
            ids = rng.integers(0, 4, rng.integers(1, 30, 2)) * 70_000
            codes = masks.segment_codes(ids)
            assert set(codes) == set(ids.ravel().tolist()) - {0}
            for number, code in codes.items():
                assert (masks.mask_of(code) == (ids == number)).all()
                assert masks.counts_text(masks.checked_counts(code)) == code["counts"]

    @pytest.mark.parametrize(
        ("code", "word"),
        [
            ({"size": [4, 4], "counts": "o" * 64}, "longer"),
            ({"size": [4, 4], "counts": "P"}, "end of the last number"),
            ({"size": [64, 64], "counts": ":5"}, "4096 pixels, got 15"),
            ({"size": [2, 2], "counts": "O"}, "0 pixels or more"),
            ({"size": [4, 4], "counts": "é"}, "characters"),
            ({"size": [-4, 4], "counts": "0"}, "height, width"),
            ({"size": [100_000, 100_000], "counts": "0"}, "at most"),
            ({"size": [0, 4], "counts": ""}, "height, width"),
            ({"size": [True, 1], "counts": "1"}, "height, width"),
        ],
    )
    def test_hostile_codes(self, code, word):
        with pytest.raises(SgevalError, match=word):
            masks.checked_counts(code)

    def test_a_segment_that_the_map_lacks(self, psg, load):
        draw(psg / "coco/panoptic_train2017/000000001001.png", (64, 64))
        with pytest.raises(SgevalError, match=r"900001.*segment 662316 of object 0, got a map without it"):
            load("psg", data_dir=psg, with_masks=True)

    def test_a_map_of_another_size(self, psg, load):
        draw(psg / "coco/panoptic_train2017/000000001001.png", (32, 64))
        with pytest.raises(SgevalError, match="annotated 64 x 64, got 32 x 64"):
            load("psg", data_dir=psg, with_masks=True)

    def test_only_where_there_are_masks(self, folders, load):
        with pytest.raises(SgevalError, match='with_masks: expected a data set with masks, got "vg150"'):
            load("vg150", data_dir=folders["vg150"], with_masks=True)


@pytest.mark.parametrize("name", DATA_SETS)
def test_several_processes(name, folders, load):
    one = load(name, data_dir=folders[name])
    two = load(name, data_dir=folders[name], num_proc=2, download_mode="force_redownload")
    for split in one:
        assert graphs(one[split]) == graphs(two[split])


@pytest.mark.parametrize(
    ("name", "options", "totals"),
    [
        ("vidor", {}, {"train": 1, "val": 1}),
        ("svg2_test", {"num_proc": 2}, {"test": 2}),
        ("vidor", {"num_proc": 2, "filters": ["drop_empty"]}, {"train": 1, "val": 1}),
        ("vidor", {"filters": ["drop_empty"]}, {"train": 0, "val": 0}),  # not known: 0 is what the host has then
    ],
)
def test_bars_have_an_end_where_it_is_known(name, options, totals, folders, load, monkeypatch):
    shown = {}

    class Bar(datasets.builder.hf_tqdm):
        def __init__(self, *args, **keywords):
            super().__init__(*args, **keywords)
            if keywords.get("unit") == " examples":
                shown[keywords["desc"].split()[1]] = keywords["total"]

    monkeypatch.setattr(datasets.builder, "hf_tqdm", Bar)
    loaded = load(name, data_dir=folders[name], with_images=False, **options)
    assert shown == totals
    assert {split: table.num_rows for split, table in loaded.items()} == {split: n or 1 for split, n in totals.items()}


def test_a_fault_in_another_process_keeps_its_words(psg, load):
    (psg / "coco/train2017/000000001001.jpg").unlink()
    with pytest.raises(SgevalError, match='image "900001": expected the picture'):
        load("psg", data_dir=psg, num_proc=2)


KILLED = """
import sys, time
import sgeval
from sgeval.hub import rows
inner = rows.RowMaker.heavy
def heavy(self, graph):
    print("row", flush=True)
    time.sleep(0.2)
    return inner(self, graph)
if sys.argv[3] == "kill":
    rows.RowMaker.heavy = heavy
rows._code = lambda: "the same"
print(*(len(rows) for rows in sgeval.load_dataset("psg", data_dir=sys.argv[1], cache_dir=sys.argv[2]).values()))
"""


@pytest.mark.parametrize("after", [1, 3, 6])
def test_a_killed_build_is_built_again(after, folders, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    arguments = [sys.executable, "-c", KILLED, str(folders["psg"]), str(tmp_path / "cache")]
    child = subprocess.Popen([*arguments, "kill"], env=environment, stdout=subprocess.PIPE, text=True)
    for _ in range(after):
        assert child.stdout.readline() == "row\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    done = subprocess.run([*arguments, "whole"], env=environment, capture_output=True, text=True)
    assert done.stdout == "3 3\n", done.stderr


class TestMissing:
    @pytest.mark.parametrize(("name", "config"), EVERY)
    def test_no_folder_says_what_to_get_and_where(self, name, config, tmp_path, load):
        found = DATA_SETS[name]
        for folder in (None, tmp_path / "none", tmp_path):
            with pytest.raises(SgevalError) as caught:
                load(name, config, data_dir=folder)
            words = str(caught.value)
            needed = [file for file in found.files_of(config) if file.needed]
            assert all(file.names[0] in words and file.where in words for file in needed)
            assert found.asks in words and f"sgeval data info {name}" in words and "\n" not in words

    def test_a_picture_is_named_by_id(self, psg, load):
        (psg / "coco/train2017/000000001001.jpg").unlink()
        name = "train2017/000000001001.jpg"
        paths = ", ".join(re.escape(str(psg / root / name)) for root in ("", "coco", "images"))
        words = rf'image "900001": expected the picture "{name}" at {paths}, got none.*image_dir'
        with pytest.raises(SgevalError, match=words):
            load("psg", data_dir=psg)
        with pytest.raises(SgevalError, match=words):
            list(load("psg", data_dir=psg, streaming=True, split="train"))

    def test_image_dir(self, psg, tmp_path, load):
        (psg / "coco").rename(tmp_path / "elsewhere")
        with pytest.raises(SgevalError, match="image_dir"):
            load("psg", data_dir=psg)
        rows = load("psg", data_dir=psg, image_dir=tmp_path / "elsewhere", with_masks=True)
        assert rows["train"][0]["image"].size == rows["train"][0]["panoptic_map"].size == (64, 64)

    def test_folders_are_never_listed(self, psg, load, monkeypatch):
        def listed(*_args, **_keywords):
            raise AssertionError("a folder was listed")

        (psg / "away").mkdir()
        monkeypatch.setattr("os.scandir", listed)
        monkeypatch.setattr("os.walk", listed)
        monkeypatch.setattr("pathlib.Path.glob", listed)
        monkeypatch.setattr("pathlib.Path.iterdir", listed)
        assert list(load("psg", data_dir=psg, streaming=True, split="train"))

    @pytest.mark.parametrize("name", ["../secret.jpg", "/etc/passwd", "a/../../b.jpg", "a\\..\\b.jpg", "C:/x.jpg"])
    def test_names_that_lead_out(self, name, psg, load):
        whole = json.loads((psg / "psg.json").read_text())
        whole["data"][0]["file_name"] = name
        (psg / "psg.json").write_text(json.dumps(whole))
        with pytest.raises(SgevalError, match="file_name: expected a name below the folder of pictures"):
            load("psg", data_dir=psg)

    def test_a_map_whose_name_leads_out(self, psg, load):
        whole = json.loads((psg / "psg.json").read_text())
        whole["data"][0]["pan_seg_file_name"] = "../secret.png"
        (psg / "psg.json").write_text(json.dumps(whole))
        with pytest.raises(SgevalError, match=r': panoptic_file: expected a name below .*, got "../secret.png"'):
            load("psg", data_dir=psg, with_masks=True)

    @pytest.mark.parametrize("name", ["{name}.jpg", "{file_name}.jpg", "{x}/{0}.jpg"])
    def test_braces_in_names_of_files_and_folders(self, name, psg, load, tmp_path):
        """A name is no pattern: neither a picture's, nor that of the folder it lies in."""
        whole = json.loads((psg / "psg.json").read_text())
        folder = tmp_path / "{file_name}" / "{name}"
        for record in whole["data"]:
            picture = folder / record["file_name"]
            picture.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(psg / "coco" / record["file_name"], picture)
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(folder / whole["data"][0]["file_name"], folder / name)
        whole["data"][0]["file_name"] = name
        (psg / "psg.json").write_text(json.dumps(whole))
        rows = load("psg", data_dir=psg, image_dir=folder, with_masks=True, streaming=True, split="train")
        first = next(iter(rows.decode(False)))
        assert first["image"]["path"] == str(folder / name)


class TestNames:
    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"name": "pgs"}, 'did you mean "psg"'),
            ({"name": "psg", "config": "ful"}, 'did you mean "full"'),
            ({"name": "psg", "split": "val"}, "split of psg, full: expected one of train, test, all"),
            (
                {"name": "psg", "split": "train[:1]", "streaming": True},
                r'expected one of train, test, got "train\[:1\]"',
            ),
            ({"name": "psg", "val_rule": "x"}, "option of psg: expected none"),
            ({"name": "vg150", "val_rul": "x"}, 'did you mean "val_rule"'),
            ({"name": "psg", "missing_images": "nul"}, 'did you mean "null"'),
        ],
    )
    def test_unknown(self, options, words, folders, load):
        name = options.pop("name")
        with pytest.raises(SgevalError, match=words):
            load(name, data_dir=folders.get(name, "."), **options)

    def test_readers_faults_keep_their_words(self, psg, load):
        shutil.copy(psg / "psg.json", psg / "psg_sample.json")
        (psg / "psg.json").write_text('{"data": 3}')
        with pytest.raises(SgevalError, match=r"psg.json: expected a PSG file"):
            load("psg", data_dir=psg)


class TestCounts:
    def test_warned_of_and_refused_on_request(self, folders, load):
        with pytest.warns(UserWarning, match=r"train 3 \(published: 46,564\)"):
            load("psg", data_dir=folders["psg"])
        with pytest.raises(SgevalError, match="published number of records"):
            load("psg", data_dir=folders["psg"], with_images=False, verification_mode="all_checks")


class TestClassLabels:
    def test_closed_sets(self, folders, load):
        rows = load("psg", data_dir=folders["psg"], split="train", cast_class_labels=True)
        label = rows.features["objects"].feature["category_id"]
        assert label.int2str(rows[0]["objects"][0]["category_id"]) == rows[0]["objects"][0]["category"]
        assert graphs(rows) == records("psg", folders["psg"], split="train")

    def test_open_sets(self, folders, load):
        with pytest.raises(SgevalError, match="class lists, got fgov"):
            load("fgov", data_dir=folders["fgov"], cast_class_labels=True)


class TestRegister:
    def test_the_hosts_own_call(self, folders, tmp_path):
        sgeval.register()
        given = {"data_dir": str(folders["psg"]), "cache_dir": str(tmp_path)}
        rows = datasets.load_dataset("psg", "full", split="train", **given)
        assert graphs(rows) == records("psg", folders["psg"], split="train")
        named = {"data_files": {"train": str(folders["vg150"] / "image_data.json")}, "cache_dir": str(tmp_path)}
        rows = datasets.load_dataset("vg150", "exact", split="val", reader={"n_val": 1}, **named)
        assert graphs(rows) == records("vg150", folders["vg150"], "exact", "val", n_val=1)
        assert "competition" in datasets.get_dataset_config_names("psg", **{"data_dir": given["data_dir"]})


class TestRows:
    FULL = SceneGraph(
        "7",
        (
            Object(3, "dog", (0.1, -2.0, 3.5, 4.0), 5, ("dog", "hound"), ("dog.n.01",), (9, 2**62), True, False),
            Object(4, "", None, attributes=("wet",), attribute_types=("state",), level="part", roles=(Role("r", "v"),)),
            Object(5, "x", area=0.1, segment_id=2**40, segmentation={"size": [2, 2], "counts": "021O"}),
        ),
        (
            Relation(3, 4, "on", 0, 7, "spatial", ("on.r.01",), 0.1, (Role("a", ""), Role("b", "c"))),
            Relation(4, 4, "ON "),
        ),
        *("a/b.jpg", 640, 480, "made", "VIDEO.mp4", 12, "maps/b.png"),
        {"a": [1, 2.5, None, {"ä": "\u2028"}], "/objects/0/b": True, "big": 2**70},
    )

    def test_every_field(self):
        """Each field of the record is set somewhere; so a new one that has no column is found here."""
        assert to_record(to_row(self.FULL)) == self.FULL
        rows = datasets.Dataset.from_list([to_row(self.FULL), to_row(SceneGraph("8"))], features=IMAGE)
        assert graphs(rows) == [self.FULL, SceneGraph("8")]

    def test_values_that_no_column_holds(self):
        with pytest.raises(SgevalError, match=r'image "7": expected values that fit their columns: width \(int32\)'):
            to_table([SceneGraph("6"), SceneGraph("7", width=2**31)])
        with pytest.raises(SgevalError, match=r'image "7": .*: id \(int64\)'):
            to_row(SceneGraph("7", (Object(2**63, "dog"),)))
        with pytest.raises(SgevalError, match="no spans in a picture"):
            to_row(SceneGraph("7", relations=(Relation(0, 0, "on", spans=((0.0, 1.0),)),)))
        with pytest.raises(SgevalError, match="no track in a picture"):
            to_row(SceneGraph("7", (Object(0, "dog", track=()),)))
