"""`sgeval score theta`: the run folder, going on where it stopped, options from a file, and how it ends."""

import json
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import sgeval
from sgeval import strict_json
from sgeval.cli.app import app
from sgeval.demo import SCENES
from sgeval.runs import read_run

FILES = ("results.json", "items.parquet", "images.parquet", "vocabulary.jsonl")


@pytest.fixture
def command(tmp_path):
    lines = (SCENES / "references.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "gold.jsonl").write_text("".join(lines[:8]), encoding="utf-8")
    (tmp_path / "more.jsonl").write_text("".join(lines[8:16]), encoding="utf-8")

    def run(*arguments, out="run"):
        given = ["--references", tmp_path / "gold.jsonl", "--images", SCENES / "images", "--out", tmp_path / out]
        whole = ["score", "theta", *map(str, given), *map(str, arguments)]
        return CliRunner().invoke(app, whole if "--model" in whole else [*whole, "--model", "demo"])

    return run


def rows(tmp_path, name):
    return list(strict_json.read_rows(tmp_path / f"{name}.jsonl"))


def test_the_run_holds_what_the_function_gives(command, tmp_path):
    assert command("--bootstrap", 50).exit_code == 0
    run = read_run(tmp_path / "run")
    core = sgeval.theta(
        references=rows(tmp_path, "gold"), config="graphs", images=SCENES / "images", model="demo", bootstrap=50,
        return_items=True,
    )  # fmt: skip
    assert (run.name, run.metric) == ("demo", "theta")
    assert run.result == {key: core[key] for key in run.result}
    assert [item.confusers for item in run.rows.items] == [tuple(item["confusers"]) for item in core["items"]]
    assert rows(tmp_path / "run", "vocabulary") == core["vocabulary"]
    assert json.loads(command("--bootstrap", 50, "--json", out="again").stdout) == run.result


def test_vocabularies_from_files(command, tmp_path):
    assert command("--vocabulary-graphs", tmp_path / "more.jsonl", "--bootstrap", 0).exit_code == 0
    given = tmp_path / "run" / "vocabulary.jsonl"
    assert command("--vocabulary", given, "--bootstrap", 0, out="second").exit_code == 0
    first, second = read_run(tmp_path / "run"), read_run(tmp_path / "second")
    assert first.result == second.result and "vocabulary_graphs" in first.inputs
    core = sgeval.theta(
        references=rows(tmp_path, "gold"), config="graphs", images=SCENES / "images", model="demo",
        vocabulary_graphs=rows(tmp_path, "more"),
    )  # fmt: skip
    assert first.result == core


def test_a_changed_vocabulary_is_told(command, tmp_path):
    command("--bootstrap", 0)
    (tmp_path / "run" / "vocabulary.jsonl").write_text("")
    with pytest.raises(sgeval.errors.SgevalError, match=r"vocabulary\.jsonl: expected the file that results\.json"):
        read_run(tmp_path / "run")


def test_options_from_a_yaml_file(command, tmp_path):
    (tmp_path / "run.yaml").write_text("protocol: openvocsgg\nsymmetric: [near]\ncontext: openvocsgg\nbootstrap: 0\n")
    assert command("--config", tmp_path / "run.yaml", "--score", "softmax100").exit_code == 0
    options = read_run(tmp_path / "run").options
    assert (options.protocol, options.symmetric, options.context) == ("openvocsgg", ("near",), "openvocsgg")
    (tmp_path / "run.yaml").write_text("penalty: none\n")
    refused = command("--config", tmp_path / "run.yaml", out="other")
    assert refused.exit_code == 2 and "option: expected one of format, split, limit" in refused.stderr


KILLED = """
import os, signal
from sgeval.cli import main
from sgeval.journal import Journal
put, left = Journal.put, [4]
def counting(self, *given):
    put(self, *given)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
Journal.put = counting
main()
"""
"""A run that is killed right after its fourth commit."""


def test_a_stopped_run_goes_on_and_ends_in_the_same_bytes(command, tmp_path):
    assert command("--bootstrap", 20, "--batch-size", 8, out="whole").exit_code == 0

    given = ["--references", tmp_path / "gold.jsonl", "--images", SCENES / "images", "--out", tmp_path / "run"]
    given += ["--model", "demo", "--bootstrap", 20, "--batch-size", 8]
    ended = subprocess.run([sys.executable, "-c", KILLED, "score", "theta", *map(str, given)], capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    refused = command("--bootstrap", 20, "--batch-size", 8)
    assert refused.exit_code == 2 and "--resume" in refused.stderr
    other = command("--bootstrap", 20, "--batch-size", 8, "--protocol", "openvocsgg", "--resume")
    assert other.exit_code == 2 and "protocol" in other.stderr
    assert command("--bootstrap", 20, "--batch-size", 8, "--resume").exit_code == 0
    assert [(tmp_path / "run" / name).read_bytes() for name in FILES] == [
        (tmp_path / "whole" / name).read_bytes() for name in FILES
    ]


def test_nothing_ranked_ends_with_3(command, tmp_path):
    given = tmp_path / "v.jsonl"
    given.write_text('{"subject": "zebra", "predicate": "on", "object": "moon"}\n')
    refused = command("--vocabulary", given)
    assert refused.exit_code == 2 and "expected one of the vocabulary's 0 predicates of" in refused.stderr
    outcome = command("--vocabulary", given, "--on-invalid", "skip")
    assert outcome.exit_code == 3
    assert "none was ranked" in " ".join(outcome.stdout.split())
    assert read_run(tmp_path / "run").result["theta"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--vocabulary", "none.jsonl"], "none.jsonl"),
        (["--protocol", "old"], "protocol: expected one of paper, openvocsgg"),
        (["--model", "clop"], "model: expected one of"),
    ],
    ids=str,
)
def test_refusals(command, arguments, words):
    outcome = command(*arguments)
    assert outcome.exit_code == 2 and words in outcome.stderr
    assert "Traceback" not in outcome.output
