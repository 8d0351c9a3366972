"""Exports of data sets where graphs and pictures are asked for: they score as the folders that they were made from."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_kit import make_folder, records
from typer.testing import CliRunner

from sgeval.cli.app import app
from sgeval.data.exported import ExportedImages, exported_files, made_from, read_exported
from sgeval.data.source import image_folder, read_source, source_files
from sgeval.errors import SgevalError
from sgeval.hub.export import export
from sgeval.hub.features import to_record
from sgeval.images import ImageFolder, load_image
from sgeval.records import write_graphs
from sgeval.runs import read_run
from sgeval.validation import parse_graphs

SCORED = [
    # data set with config, the split that is scored, and a place in it that pictures lie below
    ("psg:full", "test", "coco"),
    ("visual_genome:v1.4", "train", "images"),
    ("vg150:reference", "test", "VG_100K"),
    ("fgov:coco", "train", "coco"),
    ("ssg:default", "test", "frames"),
]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a data set and its export, by the name of both."""
    found = {}

    def make(form, **options):
        if (form, *options) not in found:
            name, _, config = form.partition(":")
            base = tmp_path_factory.mktemp("sets")
            folder = make_folder(name, base / name)
            export(name, base / "export", data_dir=folder, config=config, missing_images="null", **options)
            found[(form, *options)] = folder, base / "export"
        return found[(form, *options)]

    return make


def run(*arguments, codes=(0, 3)):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code in codes, (done.output, done.exception)
    return done


@pytest.mark.parametrize(("form", "split", "below"), SCORED)
def test_theta_of_a_folder_and_of_its_export(made, tmp_path, form, split, below):
    """Without --images, with the folder of the data set as --images, with that of its pictures, and from the export."""
    folder, exported = made(form)
    lenient = ("--on-invalid", "skip", "--on-bad-image", "skip", "--split", split, "--model", "demo", "--bootstrap", 0)
    of_folder = ("--references", folder, "--format", form)
    roads = {
        "alone": of_folder,
        "whole": (*of_folder, "--images", folder),
        "below": (*of_folder, "--images", folder / below),
        "export": ("--references", exported),
        "apart": ("--references", exported, "--images", folder),
    }
    results = {}
    for name, flags in roads.items():
        run("score", "theta", *flags, *lenient, "--out", tmp_path / name)
        found = read_run(tmp_path / name).result
        results[name] = {key: value for key, value in found.items() if key != "signature"}
    assert results["alone"]["n_relations"] + results["alone"]["n_singletons"] > 0
    assert results["alone"]["n_bad_images"] < results["alone"]["n_images"]
    for name, result in results.items():
        assert result == pytest.approx(results["alone"], abs=1e-6), name


def test_references_of_an_export(made, tmp_path):
    folder, exported = made("psg:full")
    graphs = [graph for graph in records("psg", folder, "full", "test") if graph.relations]
    write_graphs(graphs, tmp_path / "p.jsonl")
    common = ("score", "relclipscore", "--predictions", tmp_path / "p.jsonl", "--split", "test", "--model", "demo")
    lenient = ("--on-invalid", "skip", "--missing", "zero", "--bootstrap", 0)
    run(*common, *lenient, "--references", exported, "--out", tmp_path / "a")
    run(*common, *lenient, "--references", folder, "--references-format", "psg", "--out", tmp_path / "b")
    a, b = (read_run(tmp_path / name).result for name in "ab")
    assert a == pytest.approx({**b, "signature": a["signature"]}) and a["exact_match"] == 1.0
    run("report", tmp_path / "a")
    page = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    assert "data:image/jpeg" in page and "the run keeps no file name" not in page


def test_validate_takes_an_export(made, tmp_path):
    _, exported = made("psg:full")
    done = run("validate", exported, "--split", "test", "--images", exported, "--json", codes=(2,))
    assert "expected the picture" in done.output  # an export is no folder of files
    found = json.loads(run("validate", exported, "--split", "test", "--json", codes=(0,)).output)
    assert found["counts"]["images"] == 3


def test_videos_of_an_export(made, tmp_path):
    folder, exported = made("pvsg:annotations")
    common = ("score", "svg2_temporal_accuracy", "--judge", "exact", "--bootstrap", 0)
    for name, path, form in (("a", exported, "sgeval"), ("b", folder, "pvsg")):
        flags = ("--predictions", path, "--references", path, "--format", form, "--references-format", form)
        run(*common, *flags, "--out", tmp_path / name)
    a, b = (read_run(tmp_path / name).result for name in "ab")
    assert a == b and a["relation_accuracy"] == 100.0
    with pytest.raises(SgevalError, match="expected rows of videos, got those of pictures"):
        read_source(made("psg:full")[1], kind="video")


def test_rows_are_the_records(made):
    folder, exported = made("psg:full")
    for split in ("train", "test"):
        rows = read_source(exported, split=split)
        assert [to_record(row) for row in rows] == records("psg", folder, "full", split)
        assert not parse_graphs(rows, "rows").warnings
    assert len(read_source(exported)) == 6
    assert read_source(exported / "full", split="test") == rows  # the folder of the config
    (file,) = exported_files(exported, "test")
    assert read_source(file) == rows and source_files(file, "sgeval") == [file]
    assert [path.name[:5] for path in source_files(exported, "sgeval")] == ["test-", "train"]
    assert made_from(exported)[1] == made_from(exported / "full")[1] == "full"


def test_pictures_are_those_of_the_source(made):
    folder, exported = made("psg:full")
    images = ExportedImages(exported_files(exported))
    graphs = records("psg", folder, "full")
    assert {*images} == {graph.image_id for graph in graphs} and len(images) == 6
    for graph in reversed(graphs):
        data = (folder / "coco" / graph.file_name).read_bytes()
        assert images[graph.image_id]["bytes"] == data
        assert load_image(images[graph.image_id]).size == (graph.width, graph.height)


def test_a_picture_that_is_not_there_is_none(tmp_path):
    folder = make_folder("psg", tmp_path / "psg")
    gone = records("psg", folder, "full")[1]
    (folder / "coco" / gone.file_name).unlink()
    export("psg", tmp_path / "export", data_dir=folder, missing_images="null")
    images = ExportedImages(exported_files(tmp_path / "export"))
    assert gone.image_id not in images and len(images) == 5
    theta = ("score", "theta", "--references", tmp_path / "export", "--model", "demo", "--out", tmp_path / "run")
    done = run(*theta, codes=(2,))
    assert f'image "{gone.image_id}": images: expected a picture under "{gone.image_id}", got nothing' in done.stderr


def test_where_pictures_are_looked_for(made, tmp_path):
    folder, exported = made("vg150:reference")
    own = image_folder(None, [(folder, "vg150")])
    assert isinstance(own, ImageFolder) and own.path == folder and "VG_100K/{name}" in own.patterns
    other = image_folder(tmp_path, [(exported, "sgeval")])
    assert other.path == tmp_path and other.patterns[0] == "{file_name}" and "images/{name}" in other.patterns
    assert image_folder(tmp_path, [(tmp_path / "p.jsonl", "sgeval")]) == tmp_path
    with pytest.raises(SgevalError, match="images: expected the folder of the pictures, got none"):
        image_folder(None, [(tmp_path / "p.jsonl", "sgeval")])


def test_an_export_without_pictures_asks_for_them(made, tmp_path):
    folder, exported = made("psg:full", with_images=False)
    theta = ("score", "theta", "--references", exported, "--model", "demo", "--out", tmp_path / "run", "--bootstrap", 0)
    done = run(*theta, codes=(2,))
    assert done.stderr.count("\n") == 1 and "export holds no pictures" in done.stderr
    run(*theta, "--images", folder, codes=(0,))


def test_a_vocabulary_of_an_export(made, tmp_path):
    _, exported = made("psg:full")
    theta = ("score", "theta", "--references", exported, "--split", "test", "--model", "demo", "--bootstrap", 0)
    run(*theta, "--vocabulary", exported / "pair_vocabulary", "--out", tmp_path / "a")
    run(*theta, "--vocabulary-graphs", exported, "--out", tmp_path / "b")
    a, b = ((tmp_path / name / "vocabulary.jsonl").read_text() for name in "ab")
    triplets = [{json.dumps({**json.loads(line), "count": 0}) for line in text.splitlines()} for text in (a, b)]
    assert triplets[0] == triplets[1]  # counts differ: those of test are counted twice with --vocabulary-graphs
    done = run(*theta, "--vocabulary", exported / "full" / "..", "--out", tmp_path / "c", codes=(2,))
    assert "expected a file of rows, or a folder of Parquet files, got a folder without" in done.stderr


class TestBadInput:
    def test_other_folders(self, made, tmp_path):
        folder, exported = made("psg:full")
        with pytest.raises(
            SgevalError, match=r"expected a file, or a folder that `sgeval data export` wrote, got anoth"
        ):
            read_source(folder)
        with pytest.raises(SgevalError, match="split of export: expected one of test, train"):
            read_source(exported, split="val")
        (tmp_path / "hub").mkdir()
        for config in ("a", "b"):
            (tmp_path / "hub" / config).symlink_to(exported / "full")
        with pytest.raises(SgevalError, match='expected an export of one config, got "a", "b"; name the folder of one'):
            read_source(tmp_path / "hub")
        assert len(read_source(tmp_path / "hub" / "a")) == 6

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"PAR1 no, this is none PAR1", "expected a sound Parquet file"),
            ({"image_id": [1]}, "column image_id: expected text, got int64"),
            ({"name": ["a"]}, "expected a column image_id of text"),
        ],
    )
    def test_other_parquet(self, tmp_path, data, words):
        path = tmp_path / "test.parquet"
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            pq.write_table(pa.table(data), path)
        with pytest.raises(SgevalError, match=words) as fault:
            list(read_exported([path], "image"))
        assert "\n" not in str(fault.value) and str(path) in str(fault.value)

    def test_a_card_that_lies(self, made, tmp_path):
        _, exported = made("psg:full")
        (tmp_path / "full").symlink_to(exported / "full")
        for words in (
            "<!-- made by sgeval data export: nothing full pictures -->",
            "<!-- made by sgeval data export:",
            "\x80",
        ):
            (tmp_path / "README.md").write_bytes(words.encode("latin-1"))
            assert made_from(tmp_path) is None
        assert len(read_source(tmp_path)) == 6
