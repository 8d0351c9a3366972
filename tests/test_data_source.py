"""Graphs of a file or of a data set's folder, and the commands that take either."""

import json

import pytest
from data_kit import make_folder, records
from typer.testing import CliRunner

from sgeval.check import check_file
from sgeval.cli.app import app
from sgeval.data.source import check_split, read_source, source_files
from sgeval.errors import SgevalError
from sgeval.records import write_graphs
from sgeval.runs import read_run

SCORED = [
    # data set, its folder of pictures, and the split that is scored
    ("psg", "coco", "test"),
    ("visual_genome", "images", "train"),
    ("vg150:exact", ".", "test"),
    ("fgov:coco", "coco", "train"),
    ("ssg", "frames", "test"),
]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    made = {}

    def folder(name):
        if name not in made:
            made[name] = make_folder(name, tmp_path_factory.mktemp("sets") / name)
        return made[name]

    return folder


def run(*arguments, code=0):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, done.output
    return done


def test_a_folder_is_read_as_its_reader_reads_it(folder_of):
    for form, _, split in SCORED:
        name, _, config = form.partition(":")
        assert read_source(folder_of(name), form, split=split) == records(name, folder_of(name), config or None, split)
        assert read_source(folder_of(name), form) == records(name, folder_of(name), config or None)


def test_a_file_is_read_by_its_form(folder_of):
    lines = read_source(folder_of("psg") / "psg.json", "psg")
    assert [row["image_id"] for row in lines] == [graph.image_id for graph in records("psg", folder_of("psg"))]
    assert source_files(folder_of("psg") / "psg.json", "psg") == [folder_of("psg") / "psg.json"]


def test_source_files_are_those_of_the_config(folder_of):
    names = [path.name for path in source_files(folder_of("vg150"), "vg150")]
    assert names == ["VG-SGG-with-attri.h5", "image_data.json"]
    assert [path.name for path in source_files(folder_of("psg"), "psg:full")] == ["psg.json"]


@pytest.mark.parametrize(
    ("form", "split", "words"),
    [
        ("vg150:exat", None, 'config of vg150: expected one of reference, exact, got "exat"; did you mean "exact"?'),
        ("vg150", "val2", "split of vg150, reference: expected one of train, val, test"),
        ("vg51", None, "format: expected one of sgeval, rlipv2, coco-rel, psg, visual_genome, vg150, ssg, fgov, got"),
        ("psg:full", None, "psg: data_dir: expected a folder that holds psg.json"),
    ],
)
def test_what_a_form_cannot_mean(folder_of, form, split, words):
    with pytest.raises(SgevalError) as fault:
        read_source(folder_of("vg150"), form, split=split)
    assert words in str(fault.value)


def test_a_folder_where_a_file_is_meant_and_the_other_way_round(folder_of):
    file = folder_of("vg150") / "image_data.json"
    with pytest.raises(
        SgevalError, match=r'format "vg150": expected the folder of the data set, got .*image_data\.json'
    ):
        read_source(file, "vg150")
    with pytest.raises(SgevalError, match='format: expected no config for a file, got "psg:full"'):
        read_source(file, "psg:full")
    with pytest.raises(
        SgevalError, match=r"vg150: expected a file, or a folder that `sgeval data export` wrote, got anot"
    ):
        read_source(folder_of("vg150"), "sgeval")
    with pytest.raises(SgevalError, match=r'split: expected none, since no data set is read, got "test"'):
        check_split("test", [(file, "sgeval")])
    with pytest.raises(SgevalError, match=r'format: expected one of sgeval, answers, pvsg, .*got "vg150"'):
        read_source(folder_of("vg150"), "vg150", kind="video")
    with pytest.raises(SgevalError, match=r"format: expected one of sgeval, .*, fgov, got \"pvsg\""):
        read_source(folder_of("vg150"), "pvsg")


@pytest.mark.parametrize(("form", "images", "split"), SCORED)
def test_both_metrics_on_a_data_set(folder_of, tmp_path, form, images, split):
    name, _, config = form.partition(":")
    folder = folder_of(name)
    gold = [graph for graph in records(name, folder, config or None, split) if graph.relations]
    write_graphs(gold, tmp_path / "predictions.jsonl")
    data_set = ("--references", folder, "--split", split, "--images", folder / images, "--model", "demo")
    lenient = ("--on-invalid", "skip", "--bootstrap", 0)
    ends_well = (0, 3)  # the made files hold faults on purpose, which are left out and counted

    mine = ("score", "relclipscore", "--predictions", tmp_path / "predictions.jsonl", "--references-format", form)
    done = CliRunner().invoke(
        app, list(map(str, (*mine, *data_set, *lenient, "--missing", "zero", "--out", tmp_path / "r")))
    )
    assert done.exit_code in ends_well, done.output
    scored = read_run(tmp_path / "r")
    assert scored.inputs["split"] == split and scored.inputs["references"]["file"] == name
    assert scored.result["exact_match"] == 1.0 and scored.result["relclipscore"] is not None

    done = CliRunner().invoke(
        app, list(map(str, ("score", "theta", "--format", form, *data_set, *lenient, "--out", tmp_path / "t")))
    )
    assert done.exit_code in ends_well, done.output
    theta = read_run(tmp_path / "t")
    assert theta.result["n_relations"] + theta.result["n_singletons"] > 0


def test_another_source_is_another_run(folder_of, tmp_path):
    command = ("score", "theta", "--format", "psg", "--images", folder_of("psg") / "coco", "--model", "demo")
    base = (*command, "--references", folder_of("psg"), "--out", tmp_path / "run", "--bootstrap", 0)
    run(*base, "--split", "train", code=0)
    done = run(*base, "--split", "test", "--resume", code=2)
    assert 'holds a complete run with split "train", this one has "test"' in done.stderr


def test_vocabulary_of_all_splits(folder_of, tmp_path):
    folder = folder_of("psg")
    base = ("score", "theta", "--format", "psg", "--references", folder, "--split", "test", "--images", folder / "coco")
    more = ("--model", "demo", "--bootstrap", 0, "--vocabulary-graphs", folder)
    run(*base, *more, "--out", tmp_path / "run", code=3)  # each pair has one predicate: nothing to rank
    rows = [json.loads(line) for line in (tmp_path / "run" / "vocabulary.jsonl").read_text().splitlines()]
    annotated = {
        (item.category, relation.predicate)
        for graph in records("psg", folder)
        for relation in graph.relations
        for item in graph.objects
        if item.id == relation.subject_id
    }
    assert {row["predicate"] for row in rows} == {predicate for _, predicate in annotated}


def test_validate_takes_a_data_set(folder_of, tmp_path):
    folder = folder_of("fgov")
    gold = records("fgov", folder, "coco", "train")
    write_graphs(gold, tmp_path / "predictions.jsonl")
    found = check_file(tmp_path / "predictions.jsonl", references=folder, references_format="fgov", split="train")
    assert found.faults == [] and found.counts["images"] == len(gold)
    whole = check_file(tmp_path / "predictions.jsonl", references=folder, references_format="fgov")
    assert len(whole.faults) == len(records("fgov", folder, "coco")) - len(gold)
