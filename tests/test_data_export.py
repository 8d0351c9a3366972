"""Export → plain `datasets.load_dataset(folder)` → records, exactly; and a killed export leaves nothing that looks whole."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import datasets
import pyarrow.parquet as pq
import pytest
import yaml
from data_kit import EVERY, make_folder, records

import sgeval
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError
from sgeval.hub import export as exporting
from sgeval.hub.card import facts_text
from sgeval.hub.export import export
from sgeval.hub.features import to_record
from sgeval.hub.pushing import push
from sgeval.hub.schema import features_of
from sgeval.masks import record_codes
from sgeval.vocabulary import vocabulary_of_graphs, vocabulary_of_rows

ROOT = Path(sgeval.__file__).parent.parent
WITHOUT_RELATIONS = ("vipseg",)


@pytest.fixture
def plain(tmp_path):
    """`datasets.load_dataset` as anybody calls it."""

    def run(folder, *args, **options):
        return datasets.load_dataset(str(folder), *args, cache_dir=str(tmp_path / "cache"), **options)

    return run


def graphs(rows):
    return [to_record(row) for row in rows]


def test_the_card_tells_the_ids_of_each_split(folders, tmp_path):
    """By hand: the val ids of the competition are those of its train_val file that its test_image_ids name."""
    sizes = export("psg", tmp_path / "out", data_dir=folders["psg"], config="competition", with_images=False)
    whole = json.loads((folders["psg"] / "psg_train_val.json").read_text())
    val = sorted({record["image_id"] for record in whole["data"]} & {*map(str, whole["test_image_ids"])})
    expected = hashlib.sha256("".join(f"{each}\n" for each in val).encode()).hexdigest()
    assert sizes["val"].ids_hash == expected and len({size.ids_hash for size in sizes.values()}) == 3
    assert f"| `val` | {len(val)} | `{expected}` |" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(("name", "config"), EVERY)
class TestEverySet:
    def test_records_come_back(self, name, config, folders, plain, tmp_path):
        sizes = export(name, tmp_path / "out", data_dir=folders[name], config=config, missing_images="null")
        with_rows = {split: size.rows for split, size in sizes.items() if size.rows}
        loaded, stream = plain(tmp_path / "out"), plain(tmp_path / "out", config, streaming=True)
        assert {split: len(rows) for split, rows in loaded.items()} == with_rows and set(stream) == set(with_rows)
        for split in sizes:
            wanted = records(name, folders[name], config, split)
            assert sizes[split].rows == len(wanted)
            if wanted:
                assert graphs(loaded[split]) == graphs(stream[split]) == wanted
                assert loaded[split].features == features_of(DATA_SETS[name].kind)

    def test_pair_vocabulary(self, name, config, folders, plain, tmp_path):
        export(name, tmp_path / "out", data_dir=folders[name], config=config, with_images=False)
        assert (tmp_path / "out/pair_vocabulary").exists() == (name not in WITHOUT_RELATIONS)
        pairs = {} if name in WITHOUT_RELATIONS else plain(tmp_path / "out", "pair_vocabulary")
        for split, rows in pairs.items():
            graphs = records(name, folders[name], config, split)
            labels = {item.category for graph in graphs for item in graph.objects}
            predicates = {relation.predicate for graph in graphs for relation in graph.relations}
            assert {row[end] for row in rows for end in ("subject", "object")} <= labels
            assert {row["predicate"] for row in rows} <= predicates and {row["split"] for row in rows} == {split}
            assert vocabulary_of_rows(rows) == vocabulary_of_graphs(graphs)

    def test_class_lists(self, name, config, folders, tmp_path):
        export(name, tmp_path / "out", data_dir=folders[name], config=config, with_images=False)
        lists = json.loads((tmp_path / "out/classes.json").read_text(encoding="utf-8"))
        for graph in records(name, folders[name], config):
            for item in graph.objects:
                assert item.category_id == -1 or lists["categories"][item.category_id] == item.category
            for relation in graph.relations:
                assert relation.predicate_id == -1 or lists["predicates"][relation.predicate_id] == relation.predicate
        assert (lists["categories"] is None) == (name in ("visual_genome", "fgov", "vidor", "svg2_test"))


class TestFiles:
    def test_pictures_and_masks_are_inside(self, plain, tmp_path):
        folder = make_folder("psg", tmp_path / "psg")
        before = (folder / "coco/train2017/000000001001.jpg").read_bytes()
        maps = [folder / "coco" / graph.panoptic_file for graph in records("psg", folder, split="train")]
        codes = [record_codes(*pair) for pair in zip(records("psg", folder, split="train"), maps)]
        export("psg", tmp_path / "out", data_dir=folder, with_masks=True)
        (folder / "coco").rename(tmp_path / "gone")
        rows = plain(tmp_path / "out", split="train")
        assert [[item["segmentation"] for item in row["objects"]] for row in rows] == codes
        first = rows.cast_column("image", datasets.Image(decode=False))[0]["image"]
        assert first == {"bytes": before, "path": "000000001001.jpg"}
        assert rows[0]["panoptic_map"].size == (64, 64)

    def test_row_groups(self, folders, tmp_path, monkeypatch):
        """100 rows at most with pictures, 1,000 without; and a split in several files."""
        many = [*records("psg", folders["psg"], split="train")] * 83  # 249 rows
        monkeypatch.setattr(exporting.reading, "read", lambda *_args, **_keywords: iter(many))
        for options, most in (({}, 100), ({"with_images": False}, 249)):
            out = tmp_path / str(most)
            export("psg", out, data_dir=folders["psg"], **options)
            (path,) = (out / "full").glob("train-*")
            file = pq.ParquetFile(path)
            groups = [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)]
            assert max(groups) == most and sum(groups) == 249
        export("psg", tmp_path / "shards", data_dir=folders["psg"], shard_bytes=1)
        names = sorted(path.name for path in (tmp_path / "shards/full").glob("train-*"))
        assert names == [f"train-{number:05d}-of-00003.parquet" for number in range(3)]

    def test_the_card(self, folders, tmp_path, plain, caplog):
        export("psg", tmp_path / "out", data_dir=folders["psg"])
        text = (tmp_path / "out/README.md").read_text(encoding="utf-8")
        front = yaml.safe_load(text.split("---\n")[1])
        assert [entry["config_name"] for entry in front["configs"]] == ["full", "pair_vocabulary"]
        assert facts_text(DATA_SETS["psg"]) in text and "train 3 (published: 46,564), test 3 (published: 2,186)" in text
        plain(tmp_path / "out")
        assert "malformed" not in caplog.text
        part = next((tmp_path / "out/full").glob("train-*"))
        part.write_bytes(next((tmp_path / "out/full").glob("test-*")).read_bytes())
        assert [row["num_examples"] for row in front["dataset_info"][0]["splits"]] == [3, 3]

    def test_a_shard_that_was_lost_is_noticed(self, folders, tmp_path, plain, monkeypatch):
        monkeypatch.setattr(exporting, "PICTURE_ROWS", 1)
        export("psg", tmp_path / "out", data_dir=folders["psg"], shard_bytes=1)
        next((tmp_path / "out/full").glob("train-00001-*")).unlink()
        with pytest.raises(datasets.exceptions.NonMatchingSplitsSizesError):
            plain(tmp_path / "out")


@pytest.mark.parametrize("name", DATA_SETS)
def test_the_card_beside_the_builder_says_what_is_on_record(name):
    text = (ROOT / "datasets_scripts" / name / "README.md").read_text(encoding="utf-8")
    assert text.endswith(facts_text(DATA_SETS[name]))
    front, found = yaml.safe_load(text.split("---\n")[1]), DATA_SETS[name]
    assert front["license"] == found.licence.hub_id and front["pretty_name"] == found.title
    files = front["configs"][0]["data_files"]
    assert [entry["split"] for entry in files] == list(found.configs[found.default_config])
    assert all(f"`{config}`" in text for config in found.configs)


class TestTarget:
    def test_what_exists_stays(self, folders, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out/mine.txt").write_text("mine")
        for overwrite, words in ((False, "expected a new name"), (True, "expected an earlier export")):
            with pytest.raises(SgevalError, match=words):
                export("psg", tmp_path / "out", data_dir=folders["psg"], overwrite=overwrite)
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        assert (tmp_path / "out/mine.txt").read_text() == "mine"

    def test_no_file_but_a_picture_gets_inside(self, folders, tmp_path):
        """An annotation may name any file of the folder."""
        folder = shutil.copytree(folders["fgov"], tmp_path / "fgov")
        picture = next(iter(records("fgov", folder))).file_name
        (folder / "coco" / picture).write_bytes(b"-----BEGIN PRIVATE KEY-----")
        with pytest.raises(SgevalError, match=f"{Path(picture).name}: "):
            export("fgov", tmp_path / "out", data_dir=folder)
        assert not (tmp_path / "out").exists()

    def test_an_export_is_replaced(self, folders, tmp_path):
        export("psg", tmp_path / "out", data_dir=folders["psg"])
        export("vg150", tmp_path / "out", data_dir=folders["vg150"], overwrite=True)
        assert {path.name for path in (tmp_path / "out").iterdir()} >= {"reference", "classes.json", "README.md"}
        assert not (tmp_path / "out/full").exists() and [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_a_fault_leaves_nothing(self, tmp_path):
        folder = make_folder("psg", tmp_path / "in/psg")
        (folder / "coco/val2017/000000001004.jpg").unlink()
        (tmp_path / "to").mkdir()
        with pytest.raises(SgevalError, match="expected the picture"):
            export("psg", tmp_path / "to/out", data_dir=folder)
        assert not list((tmp_path / "to").iterdir())


KILLED = """
import sys, time
from sgeval.hub import export as exporting
inner = exporting._Writer.write
def write(self, *args):
    inner(self, *args)
    print("written", flush=True)
    time.sleep(0.2)
exporting._Writer.write = write
exporting.PICTURE_ROWS = 1
exporting.export("psg", sys.argv[2], data_dir=sys.argv[1], overwrite=True)
"""


@pytest.mark.parametrize("after", [1, 3, 5])
@pytest.mark.parametrize("replaces", [False, True])
def test_a_kill_leaves_nothing_that_looks_whole(after, replaces, folders, tmp_path):
    out = tmp_path / "out"
    if replaces:
        export("psg", out, data_dir=folders["psg"])
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folders["psg"]), str(out)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    for _ in range(after):
        assert child.stdout.readline() == "written\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    time.sleep(0.1)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert out.exists() == replaces
    left = [path for path in tmp_path.iterdir() if path.name.endswith(".unfinished")]
    with pytest.warns(UserWarning, match="export that was stopped"):
        export("psg", out, data_dir=folders["psg"], overwrite=True)
    assert len(left) == 1 and left[0].name.startswith(".") and not (left[0] / "README.md").exists()


OLDER = """
import json, sys
import datasets
assert datasets.__version__.startswith("4."), datasets.__version__
for folder in sys.argv[1:]:
    for streaming in (False, True):
        splits = datasets.load_dataset(folder, streaming=streaming)
        names = ("file_name", "width", "extra", "objects", "relations")
        print(json.dumps({split: [[row[name] for name in names] for row in rows] for split, rows in splits.items()}))
"""


@pytest.mark.slow
@pytest.mark.network
def test_the_newest_4_reads_exports_too(folders, tmp_path, plain):
    """In an environment of its own, since this one has datasets 5."""
    outs = [tmp_path / name for name in DATA_SETS]
    for out in outs:
        export(out.name, out, data_dir=folders[out.name], missing_images="null")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv/bin/python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "datasets>=4,<5", "pillow"], check=True)
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    environment.pop("PYTHONPATH", None)
    command = [python, "-c", OLDER, *map(str, outs)]
    lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    for number, out in enumerate(outs):
        names = ("file_name", "width", "extra", "objects", "relations")
        rows = {split: [[row[name] for name in names] for row in rows] for split, rows in plain(out).items()}
        assert json.loads(lines[2 * number]) == json.loads(lines[2 * number + 1]) == json.loads(json.dumps(rows))


class TestPush:
    @pytest.fixture
    def hub(self, monkeypatch):
        calls = []

        class Api:
            def __init__(self, token=None):
                calls.append(("token", token))

            def create_repo(self, repo_id, **options):
                calls.append(("create", repo_id, options))
                return f"https://hub/{repo_id}"

            def repo_info(self, repo_id, **_):
                return SimpleNamespace(private=not repo_id.endswith("-public"))

            def whoami(self):
                calls.append(("whoami",))

            def upload_folder(self, **options):
                calls.append(("upload", options))

        monkeypatch.setattr("huggingface_hub.HfApi", Api)
        return calls

    def test_private_when_told(self, folders, tmp_path, hub):
        export("ssg", tmp_path / "out", data_dir=folders["ssg"])
        assert not hub  # nothing is sent by itself
        assert push(tmp_path / "out", "me/ssg") == "https://hub/me/ssg"
        assert hub[1] == ("create", "me/ssg", {"repo_type": "dataset", "private": True, "exist_ok": True})
        assert hub[2][1]["folder_path"] == tmp_path / "out" and hub[2][1]["repo_type"] == "dataset"

    @pytest.mark.parametrize(
        ("name", "images", "words"), [("ssg", False, "annotations of ssg"), ("vg150", True, "pictures of vg150")]
    )
    def test_public_only_where_that_is_granted(self, name, images, words, folders, tmp_path, hub):
        export(name, tmp_path / "out", data_dir=folders[name], with_images=images)
        with pytest.raises(SgevalError, match=words):
            push(tmp_path / "out", "me/it", private=False)
        assert not hub

    def test_public_annotations(self, folders, tmp_path, hub):
        export("vg150", tmp_path / "out", data_dir=folders["vg150"], with_images=False)
        push(tmp_path / "out", "me/it", private=False)
        assert hub[1][2]["private"] is False

    def test_only_an_export(self, folders, hub):
        with pytest.raises(SgevalError, match="expected an export"):
            push(folders["psg"], "me/it")
