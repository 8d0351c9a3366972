"""What a user may give when a data set is loaded, built, looked at or exported, and what is said of what they may not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_kit import make_folder
from typer.testing import CliRunner

import sgeval
from sgeval.cli.app import app
from sgeval.data.inspect import inspect
from sgeval.data.processes import in_order
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError
from sgeval.hub.builder import OPTIONS
from sgeval.hub.export import export

SAV = "data/SVG2_test/sav/train-00000-of-00001.parquet"
ROOT = Path(sgeval.__file__).parent.parent
pytestmark = pytest.mark.filterwarnings("ignore:.*published number of records")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    names = ("psg", "ssg", "fgov", "vg150", "vidor", "svg2_test")
    return {name: make_folder(name, tmp_path_factory.mktemp("sets") / name) for name in names}


@pytest.fixture(scope="module")
def load(folders, tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")

    def run(name, *args, **options):
        options = {"data_dir": folders[name], "cache_dir": cache, **options}
        return sgeval.load_dataset(name, *args, **options)

    return run


class TestSplits:
    """PSG's train and test have three rows each."""

    @pytest.mark.parametrize(
        ("split", "rows"),
        [
            (datasets.Split.TRAIN, 3),
            ("train[:34%]", 1),
            ("train[1:]+test[-1:]", 3),
            ("all", 6),
            (datasets.ReadInstruction("test", to=2, unit="abs"), 2),
            (["train", datasets.Split.TEST, "test[:1]"], [3, 3, 1]),
            ([], []),
        ],
    )
    def test_as_datasets_reads_them(self, split, rows, load, folders, tmp_path):
        loaded = load("psg", split=split)
        assert ([len(each) for each in loaded] if isinstance(loaded, list) else len(loaded)) == rows
        export("psg", tmp_path / "out", data_dir=folders["psg"], with_images=False)
        plain = datasets.load_dataset(str(tmp_path / "out"), split=split, cache_dir=str(tmp_path / "cache"))
        assert ([len(each) for each in plain] if isinstance(plain, list) else len(plain)) == rows

    def test_of_a_stream(self, load):
        assert len(list(load("psg", split=datasets.Split.TEST, streaming=True))) == 3
        with pytest.raises(SgevalError, match=r'expected the name of a split, got \["train"\]'):
            load("psg", split=["train"], streaming=True)

    @pytest.mark.parametrize(
        ("split", "words"),
        [
            ("train[:10", r'split: expected NAME or NAME\[FROM:TO\].*, got "train\[:10"'),
            ("train[a:b]", "expected NAME"),
            ("train[::2]", "expected NAME"),
            ("train[:300%]", "expected NAME"),
            ("", "split of psg, full: expected one of train, test, all"),
            (["train", "vall"], 'got "vall"'),
            (["train", 5], "split: expected a text, a datasets.Split, or a list of them, got 5"),
            (b"train", "expected a text"),
            ({"a": "train"}, "expected a text"),
            (datasets.ReadInstruction("vall"), r"expected rows that are there \(train 3, test 3\)"),
        ],
    )
    def test_refused_in_one_line(self, split, words, load):
        with pytest.raises(SgevalError, match=words) as caught:
            load("psg", split=split)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_proc": 0}, "num_proc: expected a whole number of 1 or more, or none, got 0"),
        ({"num_proc": True}, "num_proc: .*got true"),
        ({"num_proc": "2"}, "num_proc: "),
        ({"verification_mode": "all"}, "verification_mode: expected one of all_checks, basic_checks, no_checks, got"),
        ({"download_mode": 5}, "download_mode: expected one of reuse_dataset_if_exists, "),
        ({"data_dir": b"psg"}, "data_dir: expected a path, as a text, got b'psg'"),
        ({"data_dir": "a\0b"}, "data_dir: expected a path"),
        ({"image_dir": 5}, "image_dir: expected a path"),
        ({"cache_dir": 5}, "cache_dir: expected a path"),
        ({"with_masks": "no"}, 'with_masks: expected true or false, got "no"'),
        ({"cast_class_labels": "no"}, "cast_class_labels: expected true or false"),
        ({"streaming": 1}, "streaming: expected true or false"),
        ({"filters": 5}, "filters: expected a list of texts"),
        ({"name": "ssg", "exclude": 5}, "exclude: expected a list of texts, got 5"),
        ({"name": "ssg", "exclude": "invisible"}, 'exclude: expected a list of names, got "invisible"'),
        ({"name": "ssg", "videos": ["a", 5]}, "videos: expected a list of texts"),
        ({"name": "ssg", "keep": None}, "keep: expected a list of texts, got null"),
        ({"name": "fgov", "data_files": 5}, "data_files: expected a list of texts"),
    ],
)
def test_odd_values(options, words, load):
    with pytest.raises(SgevalError, match=words) as caught:
        load(options.pop("name", "psg"), **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("call", [inspect, lambda name, data_dir, **_: export(name, "unused", data_dir=data_dir)])
def test_a_folder_that_is_no_path(call):
    with pytest.raises(SgevalError, match="data_dir: expected a path, as a text, got 5"):
        call("psg", 5)


def test_options_are_known_by_name():
    assert OPTIONS == (
        "image_dir",
        "with_images",
        "with_masks",
        "with_video",
        "missing_images",
        "cast_class_labels",
        "reader",
    )


class TestRegister:
    @pytest.fixture(autouse=True)
    def registered(self):
        sgeval.register()

    def test_without_a_folder(self, tmp_path, monkeypatch):
        """The host then takes whatever lies in the working folder."""
        (tmp_path / "mine.json").write_text("{}")
        monkeypatch.chdir(tmp_path)
        words = r"psg: data_files: expected files of the data set \(psg.json.*got .*mine.json; name their folder with data_d"
        with pytest.raises(SgevalError, match=words):
            datasets.load_dataset("psg", cache_dir=str(tmp_path / "cache"))

    def test_in_a_folder_of_the_set_with_its_pictures(self, folders, tmp_path, monkeypatch):
        monkeypatch.chdir(folders["psg"])
        with pytest.raises(SgevalError, match="name their folder with data_dir"):
            datasets.load_dataset("psg", cache_dir=str(tmp_path / "cache"))

    def test_files_deep_in_the_folder(self, folders, tmp_path):
        """The folder is the one that a name of the set begins in."""
        file = next((folders["vidor"] / "annotation/training").glob("*/*.json"))
        given = {"data_files": {"train": str(file)}, "cache_dir": str(tmp_path)}
        assert len(datasets.load_dataset("vidor", split="train", **given)) == 1

    def test_options_that_are_none(self, folders, tmp_path):
        with pytest.raises(SgevalError, match="reader: expected options by name, got 5"):
            datasets.load_dataset("psg", data_dir=str(folders["psg"]), cache_dir=str(tmp_path), reader=5)


SLOW = """
import os, time
from sgeval.hub import rows
inner = rows.RowMaker.heavy
def heavy(self, graph):
    os.write(1, b"row\\n")
    time.sleep(30)
    return inner(self, graph)
rows.RowMaker.heavy = heavy
from sgeval.cli import main
main()
"""


@pytest.mark.parametrize("whom", ["everyone", "the first"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build(whom, number, folders, tmp_path):
    """Ctrl-C reaches every process of the group; `kill` the first alone."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    command = ["data", "build", "psg", "--data-dir", str(folders["psg"]), "--cache-dir", str(tmp_path / "cache")]
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW, *command, "--num-proc", "2"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for _ in range(2):  # both are at work
        assert child.stdout.readline() == "row\n"
    (os.killpg if whom == "everyone" else os.kill)(child.pid, number)
    _, told = child.communicate(timeout=20)
    assert child.returncode == 130 and told == "sgeval: interrupted; no results were written\n"
    for _ in range(50):  # of the group nobody is left
        try:
            os.killpg(child.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("a process is left")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.suffix in (".arrow", ".json", ".incomplete")]


class TestProcesses:
    def test_the_same_from_several(self, folders, tmp_path):
        for name in ("vidor", "psg"):
            looks = [inspect(name, folders[name], num_proc=number).as_dict() for number in (1, 2)]
            assert looks[0] == looks[1] and looks[0]["splits"]
        files = []
        for number in (1, 2):
            export("vidor", tmp_path / str(number), data_dir=folders["vidor"], num_proc=number)
            folder = tmp_path / str(number)
            files.append({path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.parquet")})
        assert files[0] == files[1] and files[0]

    def test_the_same_of_what_is_amiss(self, tmp_path, monkeypatch):
        """Stretches of one record each: files in no form and one that repeats a video, a faulty row, masks that are none."""
        monkeypatch.setattr("sgeval.data.inspect.AT_ONCE", 1)
        vidor = make_folder("vidor", tmp_path / "vidor")
        training = vidor / "annotation/training/9000"
        for number in range(12, 19):
            (training / f"90000000{number}.json").write_text("{")
        (training / "9000000019.json").write_bytes((training / "9000000001.json").read_bytes())
        svg2 = make_folder("svg2_test", tmp_path / "svg2_test")
        row = pq.read_table(svg2 / SAV).to_pylist()[0]
        pq.write_table(pa.Table.from_pylist([{**row, "video_id": ""}, row]), svg2 / SAV)
        vipseg = make_folder("vipseg", tmp_path / "vipseg")
        for path in sorted(vipseg.rglob("*.png"))[::2]:
            path.write_bytes(b"no picture")
        unread = {}
        for name, folder, masks in (("vidor", vidor, False), ("svg2_test", svg2, False), ("vipseg", vipseg, True)):
            looks = [inspect(name, folder, num_proc=number, with_masks=masks) for number in (1, 2)]
            assert looks[0].as_dict() == looks[1].as_dict()
            unread[name] = [(state.records, state.unread) for state in looks[1].splits]
            assert bool(looks[1].broken_masks) == masks
        assert unread["vidor"] == [(1, 8), (1, 0)] and unread["svg2_test"] == [(2, 1)]
        found = inspect("vidor", vidor, num_proc=2).faults
        assert "train: 8 videos cannot be read; the first 5 of them are named" in found
        (training / "9000000019.json").unlink()
        found = [fault for fault in inspect("vidor", vidor, num_proc=2).faults if "expected JSON" in fault]
        assert [Path(fault.partition(":")[0]).stem for fault in found] == [f"90000000{n}" for n in range(12, 17)]

    def test_broken_clips_of_an_export(self, folders, tmp_path):
        """By hand: both clips of VidOR are cut after 200 bytes."""
        pytest.importorskip("av")
        folder = make_folder("vidor", tmp_path / "vidor")
        clips = sorted(folder.rglob("*.mp4"))
        for path in clips:
            path.write_bytes(path.read_bytes()[:200])
        told = []
        for number in (1, 2):
            with pytest.warns(UserWarning, match="broken clip") as caught:
                export("vidor", tmp_path / str(number), data_dir=folder, with_video=True, num_proc=number)
            told.append([str(one.message) for one in caught])
        assert told[0] == told[1] and told[0][-1].startswith(
            '2 broken clips copied unchanged; the first: video "9000000001"'
        )

    def test_order_and_faults(self):
        assert list(in_order(abs, range(-20, 0), 2)) == list(range(20, 0, -1))
        with pytest.raises(ValueError, match="invalid literal"):
            list(in_order(int, ["1", "x"], 2))
        with pytest.raises(SgevalError, match="a process ended in the middle of its work"):
            list(in_order(os._exit, [1], 2))
        assert list(in_order(abs, [], 10**6)) == [] and list(in_order(abs, [-1], 10**6)) == [1]

    def test_odd_numbers(self, folders, tmp_path):
        with pytest.raises(SgevalError, match="num_proc: expected a whole number"):
            inspect("vidor", folders["vidor"], num_proc=0)
        with pytest.raises(SgevalError, match="num_proc: expected a whole number"):
            export("vidor", tmp_path / "out", data_dir=folders["vidor"], num_proc=0)


class TestWords:
    def run(self, *arguments):
        return CliRunner().invoke(app, ["data", *map(str, arguments)])

    @pytest.mark.parametrize(
        ("name", "flags", "words"),
        [
            (
                "psg",
                ["--no-with-images"],
                "config full, annotations; without pictures (--with-images) and masks (--with-masks); other configs: "
                "--config competition, --config sgg_benchmark",
            ),
            (
                "psg",
                ["--with-masks"],
                "config full, annotations and pictures and masks; other configs: --config competition, "
                "--config sgg_benchmark",
            ),
            (
                "svg2_test",
                [],
                "config annotations, annotations; without clips (--with-video); other configs: --config masks",
            ),
            (
                "vg150",
                ["--config", "exact"],
                "config exact, annotations and pictures; other configs: --config reference",
            ),
        ],
    )
    def test_an_export_says_what_it_lacks(self, name, flags, words, folders, tmp_path):
        done = self.run("export", name, "--data-dir", folders[name], "--out", tmp_path / "out", *flags)
        assert done.exit_code == 0 and f"Written: {words}\n" in done.stderr

    def test_masks_of_svg2(self, folders, tmp_path):
        done = self.run("build", "svg2_test", "--data-dir", folders["svg2_test"], "--with-masks")
        assert done.exit_code == 2
        assert 'got "svg2_test"; its masks are in the config masks (--config masks), without' in done.stderr

    def test_one_is_not_many(self, folders):
        done = self.run("info", "vidor", "--data-dir", folders["vidor"])
        assert "train     1 record, 1 distinct id (published 7,000)" in done.stdout
        assert "in 1 video; first in " in done.stdout and "1 videos" not in done.stdout

    def test_a_bad_option_of_the_reader_is_one_line(self, folders, tmp_path):
        done = self.run("build", "ssg", "--data-dir", folders["ssg"], "--reader", "exclude=5")
        assert done.exit_code == 2 and done.stderr == "sgeval: exclude: expected a list of texts, got 5\n"

    def test_help_names_the_processes(self):
        for command in ("info", "build", "export"):
            assert "--num-proc" in CliRunner().invoke(app, ["data", command, "--help"], env={"COLUMNS": "200"}).stdout


def test_no_other_set_has_lists_that_are_not_options():
    for found in DATA_SETS.values():
        assert set(found.lists) <= set(found.options)
