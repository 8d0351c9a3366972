"""What is told of a data folder, and which pictures data sets share."""

import hashlib
import json

import h5py
import pytest
from data_kit import EVERY, FILES, OF_PICTURES, draw, make_folder, records
from typer.testing import CliRunner

import sgeval
from sgeval.cli.app import app
from sgeval.data.inspect import inspect
from sgeval.data.overlap import Part, overlaps, part_of
from sgeval.data.pictures import place_of
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError
from sgeval.records import SceneGraph


@pytest.fixture
def psg(tmp_path):
    return make_folder("psg", tmp_path / "psg")


@pytest.fixture
def cli(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)

    def run(*arguments):
        return CliRunner().invoke(app, ["data", *map(str, arguments)])

    return run


@pytest.mark.parametrize(("name", "config"), OF_PICTURES)
def test_pictures_are_found_where_the_places_say(name, config, tmp_path):
    found = DATA_SETS[name]
    example = found.examples.get(f"pictures:{config}", found.examples.get("pictures"))
    places = found.places()
    for number, path in enumerate(places.get(f"pictures of {config}", places.get("pictures"))):
        folder = tmp_path / str(number)
        draw(folder / path, (4, 4))
        assert place_of(found, config, folder, None).picture(SceneGraph("1", file_name=example)) == folder / path


# By hand, from the picture roots that the layout of each data set names, the first choice first.
ROOTS_IN_ORDER = {
    "psg": ["train2017/1.jpg", "coco/train2017/1.jpg", "images/train2017/1.jpg"],
    "visual_genome": ["VG_100K_2/1.jpg", "images/VG_100K_2/1.jpg"],
    "vg150": ["VG_100K_2/1.jpg", "VG_100K/1.jpg", "images/VG_100K_2/1.jpg", "images/1.jpg"],
}


@pytest.mark.parametrize("name", ROOTS_IN_ORDER)
def test_the_first_root_with_a_picture_wins(name, tmp_path):
    found, paths = DATA_SETS[name], ROOTS_IN_ORDER[name]
    graph = SceneGraph("1", file_name=paths[0], panoptic_file=paths[0])
    for path in paths:
        draw(tmp_path / path, (4, 4))
    place = place_of(found, found.default_config, tmp_path)
    for path in paths:
        assert place.picture(graph) == tmp_path / path
        assert place.panoptic_map(graph) == (tmp_path / path if name == "psg" else None)
        (tmp_path / path).unlink()
    assert place.picture(graph) is None


def test_ids_that_come_twice_are_counted_once(psg):
    """train is 900001, 900002 and 900006; the second is given the id of the first."""
    whole = json.loads((psg / "psg.json").read_text())
    whole["data"][1]["image_id"] = "900001"
    (psg / "psg.json").write_text(json.dumps(whole))
    train = inspect("psg", psg).splits[0]
    assert (train.split, train.records, train.distinct_ids) == ("train", 3, 2)


def test_info_says_where_files_go_and_which_options_there_are(cli):
    text = cli("info", "fgov").output
    assert "pictures of o365: object365/images/train/patch16/objects365_v2_00900001.jpg, below --data-dir" in text
    assert "coco/train2017/000000417720.jpg" in text and "options   data_files" in text
    assert "frames/VIDEO.mp4/000123.png" in cli("info", "ssg").output
    assert json.loads(cli("info", "vg150", "--json").output)["reader_options"] == ["val_rule", "n_val"]


def test_info_says_which_filters_a_set_can_run(cli):
    assert "filters   drop_empty, visible_only (config tracks), drop_spans_outside, " in cli("info", "vidor").output
    assert "visible_only (config masks with with_masks)" in cli("info", "pvsg").output
    assert "filters " not in cli("info", "vipseg").output
    by_config = json.loads(cli("info", "svg2_test", "--json").output)["filters"]
    plain = ["drop_empty", "drop_odd_spans", "merge_spans", "merge_instances"]
    assert by_config == {"annotations": plain, "masks": ["drop_empty", "visible_only", *plain[1:]]}


def test_info_gives_the_sums_of_archives(cli):
    """Those of tools/unzip_and_extract.py in the authors' code."""
    assert "md5       VidOR/vidor_masks.zip: 17bfa5ec13235d86273bc9d067776862" in cli("info", "pvsg").output
    sums = json.loads(cli("info", "pvsg", "--json").output)["md5"]
    assert len(sums) == 6 and sums["Ego4D/ego4d_videos.zip"] == "9334c74f5c831c80774862afa9d3f7f0"
    assert {name for name, found in DATA_SETS.items() if found.md5} == {"pvsg"}


@pytest.mark.parametrize(("name", "config"), EVERY)
class TestEverySet:
    def test_without_a_folder_it_says_what_to_get(self, name, config):
        found = inspect(name, config=config)
        assert not found.faults and not found.splits
        assert all(state.where and state.what and state.path is None for state in found.files)
        assert any(state.needed for state in found.files)

    def test_counts(self, name, config, folders):
        found = inspect(name, folders[name], config=config)
        for state in found.splits:
            graphs = records(name, folders[name], config, state.split)
            assert (state.records, state.distinct_ids) == (len(graphs), len({graph.key for graph in graphs}))
        published = DATA_SETS[name].published.get(config, {})
        assert len([fault for fault in found.faults if "published" in fault and "records" in fault]) == len(published)
        named = {image_id for image_id, _ in found.missing_pictures}
        graphs = records(name, folders[name], config)
        assert named == {graph.key for graph in graphs if not (graph.file_name or getattr(graph, "frame_files", None))}


class TestFaults:
    def test_missing_and_empty_pictures_by_id(self, psg):
        (psg / "coco/train2017/000000001001.jpg").unlink()
        (psg / "coco/val2017/000000001004.jpg").write_bytes(b"")
        (psg / "coco/panoptic_val2017/000000001003.png").unlink()
        found = inspect("psg", psg, with_masks=True)
        one = ("900001", "train2017/000000001001.jpg")
        assert one in found.missing_pictures and ("900004", "val2017/000000001004.jpg") in found.missing_pictures
        assert found.missing_maps == [("900003", "panoptic_val2017/000000001003.png")]
        assert found.n_pictures + len(found.missing_pictures) == 6
        assert inspect("psg", psg, with_images=False).missing_pictures == []

    def test_image_dir(self, psg, tmp_path):
        (psg / "coco").rename(tmp_path / "elsewhere")
        assert len(inspect("psg", psg).missing_pictures) == 6
        assert inspect("psg", psg, image_dir=tmp_path / "elsewhere", with_masks=True).missing_maps == []
        with pytest.raises(SgevalError, match="image_dir: expected a folder"):
            inspect("psg", psg, image_dir=tmp_path / "none")

    def test_sizes_and_sums(self, folders, tmp_path, cli):
        folder = make_folder("vg150", tmp_path / "vg150")
        names = FILES.parent.parent / "sgeval/assets/vg150_classes.json"
        written = names.read_bytes()
        (folder / "VG-SGG-dicts-with-attri.json").write_bytes(written)
        faults = inspect("vg150", folder).faults
        assert any(fault.startswith("VG-SGG-with-attri.h5") and "150,724,042 bytes" in fault for fault in faults)
        published = DATA_SETS["vg150"].files[1]
        is_whole = len(written) == published.size
        assert any("dicts" in fault for fault in faults) != is_whole
        changed = written.replace(b"airplane", b"airplant").ljust(published.size or 0)[: published.size]
        (folder / "VG-SGG-dicts-with-attri.json").write_bytes(changed)
        sums = f"expected the published SHA-256 {published.sha256}, got {hashlib.sha256(changed).hexdigest()}"
        assert f"VG-SGG-dicts-with-attri.json: {sums}" in inspect("vg150", folder).faults
        done = cli("info", "vg150", "--data-dir", folder)
        assert done.exit_code == 2 and sums in done.stdout

    def test_the_other_h5_has_no_published_size(self, folders, tmp_path):
        folder = make_folder("vg150", tmp_path / "vg150")
        (folder / "VG-SGG-with-attri.h5").rename(folder / "VG-SGG.h5")
        with h5py.File(folder / "VG-SGG.h5", "a") as file:
            del file["attributes"]
        assert not any("bytes" in fault for fault in inspect("vg150", folder).faults)

    def test_files_that_are_not_there(self, tmp_path):
        (fault,) = inspect("psg", tmp_path).faults
        assert fault.startswith(
            "psg.json or psg_sample.json: expected the file (the full set; from https://psgdataset.org"
        )

    def test_a_file_that_cannot_be_read(self, psg):
        (psg / "psg.json").write_text("{")
        assert any("psg.json" in fault for fault in inspect("psg", psg).faults)

    def test_nothing_amiss(self, psg, monkeypatch):
        published = {"full": {"train": 3, "test": 3}}
        monkeypatch.setattr("sgeval.data.kinds.DataSet.published", published, raising=False)
        assert inspect("psg", psg, with_masks=True).faults == []

    def test_frames_without_a_split(self, folders, monkeypatch):
        from sgeval.data import inspect as module

        read = module.reading.read

        def more(name, data_dir, config=None, split=None, **options):
            yield from read(name, data_dir, config, split, **options)
            if split is None:
                yield SceneGraph("ZZ009.mp4/000001.png")

        monkeypatch.setattr(module.reading, "read", more)
        assert "1 record is in no split, so no split holds them" in inspect("ssg", folders["ssg"]).faults


class TestOverlap:
    def test_by_hand(self):
        parts = [
            Part("a", "train", 3, frozenset("123"), frozenset("78")),
            Part("a", "test", 1, frozenset("4"), frozenset("8")),
            Part("b", "val", 2, frozenset("23"), frozenset()),
            Part("c", "train", 1, frozenset(), frozenset("9")),
        ]
        found = [(entry.left, entry.right, entry.by, entry.ids, entry.crosses) for entry in overlaps(parts)]
        assert found == [
            ("a/train", "a/test", "coco", ("8",), True),
            ("a/train", "b/val", "vg", ("2", "3"), True),
        ]

    def test_ids_of_each_set(self, folders):
        def ids(name, config=None, split="train"):
            part = part_of(DATA_SETS[name], split, records(name, folders[name], config, split))
            return part.vg, part.coco

        assert ids("psg") == ({"900001", "900002", "900006"}, {"1001", "1002"})
        vg, coco = ids("visual_genome")
        assert vg == {"900", "901", "902"} and coco == {
            str(graph.extra["coco_id"])
            for graph in records("visual_genome", folders["visual_genome"])
            if graph.extra.get("coco_id") is not None
        }
        assert ids("vg150", split="test")[0] <= {"1590", "1593", "1594", "1595", "1596"}
        assert ids("fgov", "coco") == (set(), {"1001", "1002"}) and ids("fgov", "coco", "val")[1] == {"1003"}
        assert ids("fgov", "o365") == ids("ssg") == (set(), set())

    def test_psg_and_fgov_share_pictures_of_coco(self, folders, cli):
        done = cli("overlap", f"psg={folders['psg']}", f"fgov:coco={folders['fgov']}", "--json")
        told = json.loads(done.stdout)
        pairs = {(entry["left"], entry["right"]): (entry["ids"], entry["crosses"]) for entry in told["overlaps"]}
        assert pairs["psg:full/train", "fgov:coco/train"] == (["1001", "1002"], False)
        assert pairs["psg:full/test", "fgov:coco/val"] == (["1003"], False)
        splits = {"train2017": 2, "val2017": 0, "unknown": 0}
        assert told["parts"]["psg:full/train"] == {"records": 3, "vg": 3, "coco": 2, "coco_splits": splits}

    def test_nothing_is_cut_in_a_pipe(self, folders, cli, monkeypatch):
        monkeypatch.setenv("COLUMNS", "40")
        table = cli("overlap", f"psg:competition={folders['psg']}", f"fgov={folders['fgov']}").stdout
        row = next(line for line in table.splitlines() if "fgov:coco/val" in line)
        assert [cell.strip() for cell in row.strip("│").split("│")] == (
            ["psg:competition/val", "fgov:coco/val", "COCO", "1", "100.0%", "100.0%", ""]
        )
        assert "…" not in table

    def test_two_configs_of_one_set(self, folders, cli):
        both = [f"psg={folders['psg']}", f"psg:competition={folders['psg']}"]
        told = json.loads(cli("overlap", *both, "--json").stdout)
        assert {label: part["records"] for label, part in told["parts"].items()} == {
            "psg:full/train": 3,
            "psg:full/test": 3,
            "psg:competition/train": 2,
            "psg:competition/val": 1,
            "psg:competition/test": 1,
        }
        done = cli("overlap", both[0], both[0].replace("psg=", "psg:full="))
        assert done.exit_code == 2 and 'expected each config of a data set once, got "psg:full" again' in done.stderr

    @pytest.mark.parametrize("by", ["names", "pictures", "annotations"])
    def test_splits_of_coco(self, by, folders, cli, tmp_path):
        """PSG's test pictures are 1003 and 1004 of val2017, and 1005 of train2017."""
        coco = {"names": [], "pictures": [f"coco={folders['psg'] / 'coco'}"], "annotations": [f"coco={tmp_path}"]}[by]
        (tmp_path / "annotations").mkdir()
        for split, ids in {"train2017": [1001, 1002, 1005], "val2017": [1003, 1004]}.items():
            file = {"info": {}, "images": [{"id": key, "file_name": f"{key:012d}.jpg"} for key in ids], "licenses": []}
            (tmp_path / f"annotations/instances_{split}.json").write_text(json.dumps(file))
        told = json.loads(cli("overlap", f"psg={folders['psg']}", f"fgov={folders['fgov']}", *coco, "--json").stdout)
        found = {
            (entry["left"], entry["right"]): (set(entry["ids"]), entry["crosses"])
            for entry in told["overlaps"]
            if entry["right"].startswith("coco/")
        }
        wanted = {
            ("psg:full/train", "coco/train2017"): ({"1001", "1002"}, False),
            ("psg:full/test", "coco/val2017"): ({"1003", "1004"}, False),
            ("psg:full/test", "coco/train2017"): ({"1005"}, True),
            ("fgov:coco/train", "coco/train2017"): ({"1001", "1002"}, False),
            ("fgov:coco/val", "coco/val2017"): ({"1003"}, False),
        }
        assert found == wanted

    def test_the_split_of_visual_genomes_pictures(self, folders, cli, tmp_path):
        """No name tells it; a folder of COCO does."""
        graphs = records("visual_genome", folders["visual_genome"])
        (key,) = {graph.extra["coco_id"] for graph in graphs if graph.extra.get("coco_id") is not None}
        done = cli("overlap", f"visual_genome={folders['visual_genome']}")
        assert "of 1 of its 1 pictures of COCO nothing tells the split; coco=DIR may" in done.stderr
        draw(tmp_path / f"val2017/{key:012d}.jpg", (4, 4))
        told = json.loads(
            cli("overlap", f"visual_genome={folders['visual_genome']}", f"coco={tmp_path}", "--json").stdout
        )
        (entry,) = told["overlaps"]
        assert (entry["left"], entry["right"]) == ("visual_genome:v1.4/train", "coco/val2017")
        assert entry["ids"] == [str(key)] and entry["crosses"]


class TestCommands:
    def test_info(self, psg, cli):
        (psg / "coco/train2017/000000001001.jpg").unlink()
        done = cli("info", "psg", "--data-dir", psg)
        assert done.exit_code == 2
        assert "missing picture of 900001: train2017/000000001001.jpg" in done.stdout
        assert "train     3 records, 3 distinct ids (published 46,564)" in done.stdout
        plain = json.loads(cli("info", "psg", "--data-dir", psg, "--json").stdout)
        assert ["900001", "train2017/000000001001.jpg"] in plain["missing_pictures"]
        assert plain["title"] == DATA_SETS["psg"].title

    def test_info_without_a_folder(self, cli):
        every = cli("info")
        assert every.exit_code == 0 and all(name in every.stdout for name in DATA_SETS)
        for name, found in DATA_SETS.items():
            one = cli("info", name)
            assert one.exit_code == 0 and all(file.where in one.stdout for file in found.files_of(found.default_config))
            assert all(fault in one.stdout for fault in found.faults) and found.licence.words in one.stdout
        assert set(json.loads(cli("info", "--json").stdout)) == set(DATA_SETS)

    def test_build_is_what_load_dataset_finds(self, psg, cli, tmp_path):
        done = cli("build", "psg", "--data-dir", psg, "--cache-dir", tmp_path / "cache", "--json")
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert told["splits"] == {"train": 3, "test": 3}
        rows = sgeval.load_dataset("psg", data_dir=psg, cache_dir=tmp_path / "cache", split="train")
        assert rows.cache_files[0]["filename"].startswith(told["folder"])
        assert cli("build", "psg", "--data-dir", psg, "--cache-dir", tmp_path / "strict", "--strict").exit_code == 2

    def test_export(self, psg, cli, tmp_path):
        done = cli("export", "psg", "--data-dir", psg, "--out", tmp_path / "out", "--json")
        assert done.exit_code == 0 and json.loads(done.stdout)["splits"] == {"train": 3, "test": 3}
        assert (tmp_path / "out/README.md").is_file()
        assert cli("export", "psg", "--data-dir", psg, "--out", tmp_path / "out").exit_code == 2

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["info", "pgs"], 'did you mean "psg"'),
            (["build", "psg"], "expected a folder that holds psg.json"),
            (["export", "psg", "--out", "x", "--data-dir", "nowhere"], "which does not exist"),
            (["overlap", "psg"], 'expected NAME=DIR, got "psg"'),
            (["overlap", "psg:ful=x"], 'did you mean "full"'),
            (["info", "vg150", "--reader", "val_rule"], "expected KEY=VALUE"),
            (["info", "vg150", "--reader", "val_rul=3"], 'did you mean "val_rule"'),
        ],
    )
    def test_faults_are_one_line(self, arguments, words, cli):
        done = cli(*arguments)
        assert done.exit_code == 2
        (line,) = done.stderr.strip().splitlines()
        assert words in line

    def test_reader_options(self, folders, cli, tmp_path):
        options = ["--data-dir", folders["vg150"], "--cache-dir", tmp_path / "cache", "--json"]
        done = cli("build", "vg150", *options, "--reader", "n_val=1", "--reader", "val_rule=with_boxes")
        assert json.loads(done.stdout)["splits"]["val"] == 1
