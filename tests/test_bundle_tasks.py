"""Every ranked number, end to end on made data sets: the task's own command scores gold against itself, and its ids and its
protocol are those of the bundle that was built of the same folder."""

import shlex
from dataclasses import replace

import pytest
from data_kit import make_folder
from typer.testing import CliRunner

from sgeval.bundle import build, entry_of, tasks
from sgeval.bundle.contents import CONFIGS
from sgeval.bundle.manifests import read_manifest
from sgeval.bundle.results import differing
from sgeval.cli.app import app
from sgeval.comparison import units
from sgeval.data import reading
from sgeval.errors import SgevalError
from sgeval.records import write_graphs
from sgeval.runs import read_run

OWN = [task for task in tasks() if task.config != "demo"]


@pytest.fixture(params=OWN, ids=[task.id for task in OWN])
def made(request, tmp_path, monkeypatch):
    """A run of the task's command, and the bundle. NegCLIP is not here: the demo model stands in for it."""
    task = request.param
    config = CONFIGS[task.config]
    folder = make_folder(config.set, tmp_path / config.place)
    gold = list(reading.read(config.set, folder, config.reader, task.split))
    write_graphs(gold, tmp_path / "mine.jsonl")
    build(tmp_path / "bundle", data={task.config: folder}, repo="me/scenes")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(task.command().replace("negclip-b32", "demo"))[1:]
    if "--images" in words and "--model" not in words:
        words += ["--model", "demo"]
    done = CliRunner().invoke(app, [*words, "--bootstrap", "0"])
    assert (tmp_path / "runs/mine/results.json").is_file(), done.output
    return task, read_run(tmp_path / "runs/mine"), read_manifest(tmp_path / "bundle")


def test_task(made):
    task, run, bundle = made
    split = bundle.split(task.config, task.split)
    assert units(run) == bundle.ids(split) and len(units(run)) == split.number > 0
    other = differing(run, task, bundle.sgeval)
    assert other == ([("model", "negclip-b32", "demo")] if task.metric == "relclipscore" else [])
    value = run.result[task.key]
    if task.metric in ("ssg_role_values", "svg2_temporal_accuracy") and value is not None:
        assert value == 100  # gold against itself
    if value is None and not other:  # θ of relations without other candidates
        with pytest.raises(SgevalError, match="undefined or withheld"):
            entry_of(run, task, bundle)
    elif not other:
        entry = entry_of(run, task, bundle)
        assert (entry.dataset_id, entry.task_id) == ("me/scenes", task.id) and split.name in entry.notes
    assert split.references_sha256 == run.inputs["references"]["sha256"]
    others = {"references": {"file": task.config, "sha256": "0" * 64}}
    with pytest.raises(SgevalError, match=f"references: expected {split.references_sha256[:12]}, got 000000000000"):
        entry_of(replace(run, inputs=run.inputs | others), task, bundle)
    with pytest.raises(SgevalError, match="expected the vocabulary of the references"):
        entry_of(replace(run, inputs=run.inputs | {"vocabulary": others["references"]}), task, bundle)
