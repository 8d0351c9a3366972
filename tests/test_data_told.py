"""What a user of the image sets is told: pictures that are null and why, counts that are not the published ones, what stands
in the way of an upload, where files lie; with the option spelt for who asks."""

import json
import os
import re
import warnings
from types import SimpleNamespace

import datasets
import pytest
from data_kit import FILES, draw, make_folder, records
from typer.testing import CliRunner

import sgeval
from sgeval.archives import unpack
from sgeval.cli.app import app
from sgeval.data.inspect import inspect
from sgeval.data.pictures import place_of
from sgeval.data.reading import known_name
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError
from sgeval.hub.export import export
from sgeval.hub.features import to_record
from sgeval.hub.pushing import push
from sgeval.readers.safe_pickle import read_pickle

FIRST, SECOND, THIRD = (f"train2017/{number:012d}.jpg" for number in (1001, 1002, 1003))
"""Pictures of PSG's train split: 1001 is that of two records (900001, 900006), 1002 that of 900002."""


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setenv("COLUMNS", "250")


@pytest.fixture
def psg(tmp_path):
    return make_folder("psg", tmp_path / "psg")


@pytest.fixture
def vg(tmp_path):
    return make_folder("visual_genome", tmp_path / "vg")


def cli(*arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        return CliRunner().invoke(app, ["data", *map(str, arguments)])


def first_pictures(folder, number):
    """Ids and paths of the first pictures of a folder of Visual Genome."""
    rows = json.loads((folder / "image_data.json").read_text())[:number]
    return [(str(row["image_id"]), next((folder / "images").rglob(f"{row['image_id']}.jpg"))) for row in rows]


class TestNulls:
    def test_empty_and_broken_ones_of_visual_genome(self, vg, tmp_path):
        (empty, one), (broken, other) = first_pictures(vg, 2)
        one.write_bytes(b"")
        other.write_bytes(b"no picture")
        number = len(json.loads((vg / "relationships.json").read_text()))
        words = f"pictures: 2 of {number} null: 1 empty, 1 broken; ids {empty}, {broken}"
        with pytest.warns(UserWarning, match=words):
            sizes = export("visual_genome", tmp_path / "out", data_dir=vg, missing_images="null")
        assert sizes["train"].nulls == {"empty picture": 1, "broken picture": 1}
        assert f"Pictures: 2 of {number} null: 1 empty, 1 broken." in (tmp_path / "out/README.md").read_text()
        plain = datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "plain"))
        for _ in range(2):  # built, and found again
            with pytest.warns(UserWarning, match=words):
                rows = sgeval.load_dataset(
                    "vg", data_dir=vg, missing_images="null", cache_dir=tmp_path / "cache", split="train"
                )
        for each in (plain, rows):
            assert [row["image_id"] for row in each if row["image"] is None] == [empty, broken]
        assert [to_record(row) for row in plain] == [to_record(row) for row in rows]
        for picture in rows["image"]:
            assert picture is None or picture.size[0] > 0

    def test_a_picture_that_is_mended_is_no_longer_null(self, psg, tmp_path):
        (psg / "coco" / SECOND).write_bytes(b"")
        options = {"data_dir": psg, "missing_images": "null", "cache_dir": tmp_path / "cache", "split": "train"}
        assert [row["image"] is None for row in sgeval.load_dataset("psg", **options)] == [False, True, False]
        draw(psg / "coco" / SECOND, (64, 48))
        assert [row["image"] is None for row in sgeval.load_dataset("psg", **options)] == [False, False, False]

    @pytest.mark.parametrize(("data", "got"), [(b"", "an empty file"), (b"no picture", "something else")])
    def test_an_error_has_the_id_and_the_way_out(self, data, got, psg, tmp_path):
        (psg / "coco" / SECOND).write_bytes(data)
        words = rf'image "900002": .*1002.jpg: expected a picture .*, got {got}; put a sound one there, or take '
        python = words + rf'with_images=False or missing_images="null"\. `sgeval data info psg --data-dir {psg}` lists'
        for call in (export, sgeval.load_dataset):
            with pytest.raises(SgevalError, match=python):
                given = {"out": tmp_path / "out"} if call is export else {"cache_dir": tmp_path / "cache"}
                call("psg", data_dir=psg, **given)
        done = cli("export", "psg", "--data-dir", psg, "--out", tmp_path / "out")
        assert done.exit_code == 2 and f"got {got}; put a sound one there, or take --no-with-images or --missing" in (
            done.stderr
        )

    def test_a_broken_panoptic_map_has_no_codes(self, psg, tmp_path):
        (psg / "coco/panoptic_train2017/000000001002.png").write_bytes(b"")
        with pytest.warns(UserWarning, match="panoptic maps: 1 of 6 null: 1 empty; ids 900002"):
            export("psg", tmp_path / "out", data_dir=psg, with_masks=True, missing_images="null")
        rows = datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "plain"))
        assert [row["panoptic_map"] is None for row in rows] == [False, True, False]
        assert all(item["segmentation"] is None for item in rows[1]["objects"])

    def test_all_missing(self, psg, tmp_path):
        (psg / "coco").rename(tmp_path / "elsewhere")
        done = cli("export", "psg", "--data-dir", psg, "--out", tmp_path / "out", "--missing-images", "null")
        assert done.exit_code == 0 and "annotations and pictures (6 of 6 null: 6 missing)" in done.stderr
        words = (
            "pictures: 6 of 6 null: 6 missing; ids 900001, 900002, 900006 …; --image-dir names the folder they lie in"
        )
        assert words in done.stderr
        assert "Pictures: 6 of 6 null: 6 missing." in (tmp_path / "out/README.md").read_text()

    def test_paths_that_were_tried_and_the_folder(self, psg, tmp_path):
        (psg / "coco" / SECOND).unlink()
        done = cli("export", "psg", "--data-dir", psg, "--out", tmp_path / "out")
        tried = ", ".join(str(psg / root / SECOND) for root in ("", "coco", "images"))
        assert f'expected the picture "{SECOND}" at {tried}, got none; name its folder with --image-dir, or take ' in (
            done.stderr
        )
        assert f"`sgeval data info psg --data-dir {psg}` lists what is missing" in done.stderr

    def test_frames_of_videos_made_by_several_processes(self, tmp_path):
        """By hand: the last frame of one video is taken away."""
        folder = make_folder("vipseg", tmp_path / "vipseg")
        graph = records("vipseg", folder)[0]
        place_of(DATA_SETS["vipseg"], DATA_SETS["vipseg"].default_config, folder).frames(graph)[-1].unlink()
        for number in (1, 2):
            options = {"missing_images": "null", "num_proc": number}
            sizes = export("vipseg", tmp_path / str(number), data_dir=folder, **options)
            assert sum(size.nulls.get("missing frame", 0) for size in sizes.values()) == 1


class TestCounts:
    def test_other_counts_are_told_and_on_the_card(self, psg, tmp_path):
        words = (
            r"expected the published number of records, got train 3 \(published: 46,564\), test 3 \(published: 2,186\)"
        )
        with pytest.warns(UserWarning, match=words):
            export("psg", tmp_path / "out", data_dir=psg)
        assert "config `full`, train 3 (published: 46,564), test 3 (published: 2,186);" in (
            (tmp_path / "out/README.md").read_text()
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            export("psg", tmp_path / "filtered", data_dir=psg, filters=["drop_empty"])

    def test_all_together(self, tmp_path):
        """SSG's splits have no published numbers of their own."""
        export("ssg", tmp_path / "out", data_dir=make_folder("ssg", tmp_path / "ssg"))
        assert "(published, all together: 25,500)" in (tmp_path / "out/README.md").read_text()

    def test_strict(self, psg, tmp_path):
        done = cli("export", "psg", "--data-dir", psg, "--out", tmp_path / "to/out", "--strict")
        assert done.exit_code == 2 and done.stderr.startswith("sgeval: psg, full: expected the published number")
        assert not list((tmp_path / "to").iterdir())

    def test_a_split_without_rows(self, psg, tmp_path):
        """The file of another release under the name of the full one."""
        (psg / "psg_val_test.json").replace(psg / "psg.json")
        done = cli("export", "psg", "--data-dir", psg, "--out", tmp_path / "out", "--no-with-images")
        assert done.exit_code == 0 and "no rows in train, so the export has no such split" in done.stderr
        assert "train 0 (published: 46,564) (so no such split)" in (tmp_path / "out/README.md").read_text()


class TestPush:
    @pytest.fixture
    def hub(self, monkeypatch):
        """A Hub that knows who asks; the test says what fails, and what is public."""
        hub = SimpleNamespace(calls=[], faults={}, private=True)

        class Api:
            def __init__(self, token=None):
                pass

            def __getattr__(self, name):
                def call(*_args, **_options):
                    hub.calls.append(name)
                    if name in hub.faults:
                        raise hub.faults[name]
                    return SimpleNamespace(private=hub.private)

                return call

        monkeypatch.setattr("huggingface_hub.HfApi", Api)
        return hub

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--push-to", "me/x y"], 'repository: expected ORG/NAME, of letters, digits, -, _ and . .*, got "me/x y"'),
            (["--push-to", "me"], 'repository: expected ORG/NAME, .*, got "me"'),
            (
                ["--push-to", "me/it", "--public"],
                "expected a private repository: nothing grants that the annotations of psg",
            ),
            (["--public"], "--public: expected --push-to ORG/NAME with it, got none"),
        ],
    )
    def test_refused_before_the_export(self, arguments, words, hub, psg, tmp_path):
        done = cli("export", "psg", "--data-dir", psg, "--out", tmp_path / "out", *arguments)
        (line,) = done.stderr.splitlines()
        assert done.exit_code == 2 and re.search(words, line)
        assert not hub.calls and not (tmp_path / "out").exists()

    def test_no_login(self, hub, psg, tmp_path):
        hub.faults["whoami"] = OSError("no token\nsecond line")
        done = cli("export", "psg", "--data-dir", psg, "--out", tmp_path / "out", "--push-to", "me/it")
        (line,) = done.stderr.splitlines()
        assert done.exit_code == 2 and 'expected a login at the Hub, got "OSError: no token"; `hf auth login`' in line
        assert not (tmp_path / "out").exists()

    def test_an_upload_that_fails(self, hub, psg, tmp_path):
        out = tmp_path / "my out"
        hub.faults["upload_folder"] = ConnectionError("no way")
        done = cli("export", "psg", "--data-dir", psg, "--out", out, "--push-to", "me/it")
        line = done.stderr.splitlines()[-1]
        assert done.exit_code == 2 and (out / "README.md").is_file()
        assert line == (
            f'sgeval: me/it: expected an upload, got "ConnectionError: no way"; the export stands in {out}, and '
            f"`hf upload me/it '{out}' . --repo-type dataset --private` uploads it"
        )

    def test_a_repository_that_is_public_already(self, hub, psg, tmp_path):
        export("psg", tmp_path / "out", data_dir=psg)
        hub.private = False
        with pytest.raises(SgevalError, match="expected a private repository"):
            push(tmp_path / "out", "me/it")
        assert "upload_folder" not in hub.calls


class TestOut:
    @pytest.mark.parametrize("name", ["a[b]", "a*", "a?", "a::b", "[1]/in"])
    def test_names_that_datasets_takes_for_patterns(self, name, psg, tmp_path):
        with pytest.raises(SgevalError, match="which `datasets` takes for patterns, got"):
            export("psg", tmp_path / name, data_dir=psg)
        assert [path.name for path in tmp_path.iterdir()] == ["psg"]

    def test_a_folder_that_cannot_be_made(self, psg):
        done = cli("export", "psg", "--data-dir", psg, "--out", "/proc/x1")
        assert done.exit_code == 2 and done.stderr.startswith("sgeval: /proc/x1: ") and "unfinished" not in done.stderr

    def test_what_was_left_may_be_removed(self, psg, tmp_path):
        left = tmp_path / ".out.abc.unfinished"
        left.mkdir()
        with pytest.warns(UserWarning, match=f"or is still running; `rm -r {left}` removes it, if none is running"):
            export("psg", tmp_path / "out", data_dir=psg)
        assert left.is_dir()

    def test_overwrite(self, psg, tmp_path):
        (tmp_path / "out").mkdir()
        done = cli("export", "psg", "--data-dir", psg, "--out", tmp_path / "out")
        assert "got one that exists; --overwrite replaces an export" in done.stderr
        with pytest.raises(SgevalError, match="exists; overwrite replaces an export"):
            export("psg", tmp_path / "out", data_dir=psg)


class TestFolders:
    def test_a_folder_that_is_none_or_another(self, psg, tmp_path):
        for folder, words in (
            ("/nope", "got /nope, which does not exist"),
            (psg / "psg.json", f"psg.json, which is a file and no folder; they lie in {psg}"),
            (psg / "coco", f"coco; they lie in {psg}"),
            (tmp_path, f"got {tmp_path}; they lie in {psg}"),
        ):
            faults = inspect("psg", folder).faults
            assert words in faults[0] and faults[1].endswith(f"got none in {folder}")
            with pytest.raises(SgevalError, match=words.partition(", got")[0]):
                sgeval.load_dataset("psg", data_dir=folder)

    def test_empty_and_broken_ones_by_id(self, psg):
        (psg / "coco" / FIRST).write_bytes(b"")
        (psg / "coco" / SECOND).write_bytes(b"no picture")
        (psg / "coco/val2017/000000001004.jpg").unlink()
        found = inspect("psg", psg)
        assert found.unsound == {FIRST: "empty", SECOND: "broken"}
        text = cli("info", "psg", "--data-dir", psg).output
        for words in ("empty picture of 900001", "broken picture of 900002", "missing picture of 900004"):
            assert f"  {words}: " in text
        assert "pictures: 2 empty, 1 broken, 1 missing below" in text

    def test_other_sizes_by_id(self, psg):
        draw(psg / "coco" / FIRST, (30, 20))
        text = cli("info", "psg", "--data-dir", psg).output
        assert "pictures of another size than annotated: 2, in 2 pictures; first in 900001, 900006" in text

    def test_no_name(self):
        done = cli("info", "--data-dir", "X")
        assert done.exit_code == 2 and "--data-dir: expected the name of a data set with it" in done.stderr
        assert "visual_genome" in cli("--help").output

    def test_names_as_people_write_them(self, psg):
        for given, name in (("PSG", "psg"), ("vg", "visual_genome"), ("VisualGenome", "visual_genome"), (5, 5)):
            assert known_name(given) == name
        assert "Visual Genome" in cli("info", "visual-genome").output
        assert inspect("PSG", psg).name == "psg"

    def test_near_names(self):
        with pytest.raises(SgevalError, match='got "validation"; did you mean "val"'):
            sgeval.load_dataset("vg150", data_dir=FILES / "vg150", split="validation")

    def test_a_cache_that_cannot_be_made(self, psg):
        with pytest.raises(SgevalError, match=r"cache_dir: expected a folder, or one that can be made, got /proc/x \("):
            sgeval.load_dataset("psg", data_dir=psg, cache_dir="/proc/x")


class TestCutShort:
    def test_a_pickle(self, tmp_path):
        whole = next((FILES / "ssg").rglob("*.pkl"))
        (tmp_path / "half.pkl").write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
        with pytest.raises(SgevalError, match=r"the end of the file.*: it is cut short; fetch it again"):
            read_pickle(tmp_path / "half.pkl")

    def test_a_zip(self, tmp_path):
        (tmp_path / "half.zip").write_bytes(b"PK\x03\x04" + os.urandom(100))
        with pytest.raises(SgevalError, match=r"got a damaged one: .*; it may be cut short: fetch it again"):
            unpack(tmp_path / "half.zip", tmp_path / "to")

    def test_a_file_that_does_not_exist(self, tmp_path):
        folder = make_folder("fgov", tmp_path / "fgov")
        done = cli("info", "fgov", "--data-dir", folder, "--reader", "data_files=nope.json")
        assert "nope.json, which does not exist" in done.output
