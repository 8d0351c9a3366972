"""How `sgeval score` ends: its exit codes, and what cannot be written."""

import json
import subprocess
import sys

import numpy as np
import pytest
from kit import parts
from typer.testing import CliRunner

from sgeval.cli.app import app
from sgeval.demo import SCENES


@pytest.fixture
def command(tmp_path, monkeypatch, fake_encoder, picture):
    """Runs `sgeval` with a fake encoder, which it hands back with the outcome; and says what must hold of any end."""
    encoders = []

    def load(*_, **__):
        encoders.append(fake_encoder({"dog nan mat": [np.nan] * 8}))
        encoders[-1].name = "demo"  # the model that is asked for
        return encoders[-1]

    monkeypatch.setattr("sgeval.setup.load_encoder", load)

    def run(*arguments, code):
        outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert outcome.exit_code == code, (outcome.output, outcome.exception)
        assert isinstance(outcome.exception, (SystemExit, type(None))) and "Traceback" not in outcome.output
        return outcome, sum(encoder.n_crops + encoder.n_texts for encoder in encoders)

    return run


@pytest.fixture
def files(tmp_path, picture):
    """The flags of a scoring run on the given rows, all on one picture."""

    def write(rows):
        (tmp_path / "images").mkdir()
        for row in rows:
            picture(0).save(tmp_path / "images" / f"{row['image_id']}.png")
        (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        flags = ("--predictions", tmp_path / "p.jsonl", "--images", tmp_path / "images", "--bootstrap", "0")
        return ("score", "relclipscore", *flags, "--model", "demo", "--json")

    return write


class TestExitCode:
    """0 whole, 3 when parts were left out or there is no headline; each case by itself."""

    LEFT_OUT = ("n_invalid", "n_bad_images", "n_undefined_relations")

    @pytest.mark.parametrize(
        ("case", "code", "left_out"),
        [
            ("whole", 0, {}),
            ("invalid at the border", 3, {"n_invalid": 1}),
            ("invalid on the picture", 3, {"n_invalid": 1}),
            ("undefined relation", 3, {"n_undefined_relations": 1}),
            ("no headline", 3, {}),
        ],
    )
    def test_each(self, command, files, two_objects, tmp_path, case, code, left_out):
        graph = two_objects()
        if case == "invalid at the border":
            graph = two_objects(relations=[(0, "on", 1), (0, "on", 7)])
        elif case == "invalid on the picture":  # its box lies right of the 64 x 48 picture
            graph = two_objects(relations=[(0, "on", 1), (0, "on", 2)])
            graph["objects"].append({"id": 2, "category": "cup", "bbox": [90, 5, 10, 10]})
        elif case == "undefined relation":
            graph = two_objects(relations=[(0, "on", 1), (0, "nan", 1)])
        elif case == "no headline":  # one object makes no pair
            graph = {**two_objects(relations=[]), "objects": two_objects()["objects"][:1]}
        outcome, _ = command(*files([graph]), "--on-invalid", "skip", "--out", tmp_path / "run", code=code)
        result = json.loads(outcome.stdout)
        assert {name: result[name] for name in self.LEFT_OUT if result[name]} == left_out
        assert (result["relclipscore"] is None) == (case == "no headline")
        told = ", ".join(f"{name} {count}" for name, count in left_out.items())
        assert (f"parts left out: {told}" in outcome.stderr) if left_out else ("left out" not in outcome.stderr)
        assert (tmp_path / "run" / "results.json").is_file()

    def test_limit_on_the_command_line(self, command, files, two_objects, tmp_path):
        """Two pictures; `--limit 1` scores the first and stands in the signature, without it nothing does."""
        flags = files([two_objects("a"), two_objects("b")])
        for more, n_images in ((("--limit", "1"), 1), ((), 2)):
            outcome, _ = command(*flags, *more, "--out", tmp_path / f"run{n_images}", code=0)
            result = json.loads(outcome.stdout)
            assert (result["n_images"], parts(result).get("limit")) == (n_images, "1" if more else None)


class TestWhatCannotBeWritten:
    """A name that is taken by a file, or lies below one: one line, exit code 2, and no work done for nothing."""

    @pytest.fixture
    def taken(self, tmp_path):
        path = tmp_path / "taken"
        path.write_text("mine")
        return path

    @pytest.fixture
    def refused(self, command, taken):
        def run(*arguments):
            outcome, encoded = command(*arguments, code=2)
            lines = outcome.stderr.splitlines()
            assert len(lines) == 1 and lines[0].startswith("sgeval: ") and str(taken) in lines[0], lines
            assert encoded == 0 and outcome.stdout == ""
            assert taken.read_text() == "mine"

        return run

    @pytest.mark.parametrize("below", [(), ("run",), ("two", "down")], ids=["a file", "below a file", "far below"])
    @pytest.mark.parametrize("more", [(), ("--resume",), ("--overwrite",)], ids=["new", "resume", "overwrite"])
    def test_score(self, refused, files, two_objects, taken, below, more):
        refused(*files([two_objects()]), *more, "--out", taken.joinpath(*below))

    @pytest.mark.parametrize("below", [(), ("cache",)], ids=["a file", "below a file"])
    def test_score_with_a_cache(self, refused, files, two_objects, taken, tmp_path, below):
        refused(*files([two_objects()]), "--out", tmp_path / "run", "--cache", taken.joinpath(*below))

    @pytest.mark.parametrize("below", [(), ("demo",)], ids=["a file", "below a file"])
    def test_demo(self, refused, taken, below):
        refused("demo", "--out", taken.joinpath(*below))

    def test_report(self, refused, command, files, two_objects, taken, tmp_path):
        command(*files([two_objects()]), "--out", tmp_path / "run", code=0)
        outcome, _ = command("report", tmp_path / "run", "--out", taken / "page.html", code=2)
        assert len(outcome.stderr.splitlines()) == 1 and outcome.stderr.startswith(f"sgeval: {taken}")
        assert taken.read_text() == "mine"
        refused_folder, _ = command("report", tmp_path / "run", "--out", tmp_path, code=2)
        assert len(refused_folder.stderr.splitlines()) == 1 and str(tmp_path) in refused_folder.stderr

    @pytest.mark.parametrize("arguments", [("validate",), ("report",)], ids=" ".join)
    def test_what_cannot_be_read(self, refused, taken, arguments):
        refused(*arguments, taken / "p.jsonl")

    def test_pictures_below_a_file(self, refused, taken):
        refused("validate", SCENES / "predictions_good.jsonl", "--images", taken / "images")
        refused("doctor", "--model", "demo", "--pictures", taken)


def test_nobody_reads_on(tmp_path):
    """`sgeval validate … | head -1`: the rest is not wanted, and that is no fault of any file."""
    row = {"image_id": "a", "objects": [], "relations": [{"subject_id": 0, "object_id": 1, "predicate": "on"}] * 20_000}
    (tmp_path / "p.jsonl").write_text(json.dumps(row))
    program = "from sgeval.cli import main; main()"
    command = [sys.executable, "-c", program, "validate", str(tmp_path / "p.jsonl")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("fault prediction")
        process.stdout.close()
        assert process.stderr.read() == "" and process.wait() == 1
