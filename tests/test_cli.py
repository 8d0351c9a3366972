"""The command line as a user meets it: what it prints, what it writes, how it ends."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from sgeval import __version__
from sgeval.cli.app import app
from sgeval.demo import SCENES
from sgeval.runs import PROGRESS

GOOD = SCENES / "predictions_good.jsonl"
GOLD = SCENES / "references.jsonl"
IMAGES = SCENES / "images"


def run(*arguments, code: int = 0):
    outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    assert "Traceback" not in outcome.output
    return outcome


def score(out, *more, predictions=GOOD, images=IMAGES, code: int = 0):
    base = ("--predictions", predictions, "--images", images, "--out", out, "--model", "demo", "--bootstrap", "20")
    return run("score", "relclipscore", *base, *more, code=code)


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    outcome = run("demo", "--out", folder, "--json")
    return folder, outcome


def test_demo_ranks_the_three_systems(demo_folder):
    folder, outcome = demo_folder
    results = json.loads(outcome.stdout)
    scores = {name: result["relclipscore"] for name, result in results.items()}
    assert max(scores, key=scores.get) == "good"
    # the good system stands apart: its interval lies above the others'
    assert results["good"]["relclipscore_low"] > max(results[n]["relclipscore_high"] for n in ("swapped", "guessing"))
    assert (folder / "report.html").is_file()
    for name in results:
        assert {path.name for path in (folder / name).iterdir()} >= {"results.json", "items.parquet", "report.html"}


def test_demo_table_for_a_person(tmp_path, monkeypatch):
    outcome = run("demo", "--out", tmp_path)
    assert "95 %" in outcome.stdout and "Open" in outcome.stderr and "mean nothing elsewhere" in outcome.stderr


def test_results_are_a_pure_function_of_the_input(tmp_path):
    score(tmp_path / "a", "--references", GOLD)
    score(tmp_path / "b", "--references", GOLD)
    assert (tmp_path / "a" / "results.json").read_bytes() == (tmp_path / "b" / "results.json").read_bytes()
    assert (tmp_path / "a" / "items.parquet").read_bytes() == (tmp_path / "b" / "items.parquet").read_bytes()


def test_pairs_of_the_references(tmp_path):
    result = json.loads(score(tmp_path / "run", "--references", GOLD, "--pairs", "gold", "--json").stdout)
    assert result["n_gold_pairs"] > 100 and "|pairs:gold|" in result["signature"]
    refused = score(tmp_path / "alone", "--pairs", "gold", code=2)
    assert 'pairs: "gold" needs references' in refused.stderr and not (tmp_path / "alone" / "results.json").exists()


def test_score_json_report_and_limit(tmp_path):
    outcome = score(tmp_path / "run", "--references", GOLD, "--limit", "3", "--json")
    result = json.loads(outcome.stdout)
    assert result["n_images"] == 3 and "relclipscore_low" in result
    stored = json.loads((tmp_path / "run" / "results.json").read_text())
    assert stored["result"] == result and stored["name"] == "predictions_good"
    assert len(stored["inputs"]["predictions"]["sha256"]) == 64
    run("report", tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert result["signature"].split("|")[0] in page and "data:image/jpeg" in page


def test_report_of_two_runs_ranks_them(tmp_path):
    for name in ("good", "swapped"):
        score(tmp_path / name, "--references", GOLD, predictions=SCENES / f"predictions_{name}.jsonl")
    run("report", tmp_path / "good", tmp_path / "swapped", "--out", tmp_path / "ranking.html")
    page = (tmp_path / "ranking.html").read_text(encoding="utf-8")
    assert page.index("predictions_good") < page.index("predictions_swapped")


def test_a_run_is_not_overwritten_unasked(tmp_path):
    score(tmp_path / "run", "--limit", "1")
    assert "--overwrite" in score(tmp_path / "run", "--limit", "1", code=2).stderr
    score(tmp_path / "run", "--limit", "1", "--overwrite")


def test_options_from_a_yaml_file(tmp_path):
    config = tmp_path / "run.yaml"
    config.write_text("penalty: none\ncontext: px:20\nlimit: 2\n")
    result = json.loads(score(tmp_path / "a", "--config", config, "--json").stdout)
    assert result["relclipscore"] == result["mean_score"] and result["n_images"] == 2
    assert "context:px20each" in result["signature"]
    flag_wins = json.loads(score(tmp_path / "b", "--config", config, "--penalty", "guarded", "--json").stdout)
    assert "penalty:guarded" in flag_wins["signature"]
    config.write_text("penality: none\n")
    assert 'did you mean "penalty"' in score(tmp_path / "c", "--config", config, code=2).stderr
    config.write_text("- a\n- b: [\n")
    assert "expected YAML" in score(tmp_path / "c", "--config", config, code=2).stderr


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--penalty", "mild"), "penalty: expected one of guarded, bounded, literal, none"),
        (("--context", "px:many"), "context: expected none, openvocsgg, ratio:SHARE or px:PIXELS"),
        (("--matching", "pair_iou"), "needs references"),
        (("--limit", "0"), "limit: expected a whole number of 1 or more"),
        (("--template", "{subject} {verb}"), "template: expected the slots"),
        (("--model", "no-such-model"), "model: expected one of demo, clip-l14"),
        (("--format", "yolo"), "format: expected one of"),
        (("--batch-size", "0"), "batch_size: expected a whole number from 1"),
        (("--missing", "zero"), "needs references"),
    ],
)
def test_bad_options_end_in_one_message_and_code_2(tmp_path, flags, words):
    outcome = score(tmp_path / "run", *flags, code=2)
    assert words in outcome.stderr
    assert not (tmp_path / "run" / "results.json").exists()


def test_a_missing_model_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert "the model demo" in score(tmp_path / "run", "--model", "clip-b32", code=2).stderr


def test_fc07_a_broken_picture_is_skipped_counted_and_told(tmp_path):
    """FC07: two readable pictures and one cut after 200 bytes; skip writes id and reason, exit code 3 tells."""
    images = tmp_path / "images"
    images.mkdir()
    rows = [json.loads(line) for line in GOOD.read_text().splitlines()[:3]]
    for row in rows:
        name = f"{row['image_id']}.jpg"
        (images / name).write_bytes((IMAGES / name).read_bytes())
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    broken = images / f"{rows[1]['image_id']}.jpg"
    broken.write_bytes(broken.read_bytes()[:200])
    files = {"predictions": tmp_path / "p.jsonl", "images": images}
    assert broken.name in score(tmp_path / "a", code=2, **files).stderr
    outcome = score(tmp_path / "b", "--on-bad-image", "skip", "--json", code=3, **files)
    result = json.loads(outcome.stdout)
    assert result["n_bad_images"] == 1 and result["n_images"] == 3
    assert result["n_relations"] == len(rows[0]["relations"]) + len(rows[2]["relations"])
    assert "n_bad_images 1" in outcome.stderr
    from sgeval.runs import read_run

    bad = [row for row in read_run(tmp_path / "b").rows.images if row.status == "bad_image"]
    assert [row.image_id for row in bad] == [rows[1]["image_id"]] and broken.name in bad[0].reason


def test_validate_a_good_file():
    outcome = run("validate", GOOD, "--references", GOLD, "--images", IMAGES)
    assert "no faults" in outcome.stdout


def test_validate_lists_every_fault_at_once(tmp_path):
    rows = [
        '{"image_id": "scene_001", "objects": [{"id": 0, "category": "dog", "bbox": [1, 2, 0, 4]}]}',
        '{"image_id": "scene_002", "image_id": "scene_003"}',
        '{"image_id": "nowhere", "relations": [{"subject_id": 0, "object_id": 1, "predicate": "  "}], "relation": 1}',
        '{"image_id": "scene_004", "relations": [{"subject_id": 0, "object_id": 1, "predicate": "on", "score": NaN}]}',
        "not json",
    ]
    file = tmp_path / "p.jsonl"
    file.write_text("\n".join(rows))
    outcome = run("validate", file, "--references", GOLD, "--images", IMAGES, "--json", code=2)
    found = json.loads(outcome.stdout)
    faults = [(fault["pointer"], fault["line"], fault["message"]) for fault in found["faults"]]
    wanted = [
        ("/0/objects/0/bbox/2", 1, "expected a number of pixels above 0 (at most 1,000,000,000), got 0"),
        ("/1/image_id", 2, 'expected each key once, got the key "image_id" twice'),
        ("/2/relations/0/predicate", 3, "expected a text"),
        ("/3/relations/0/score", 4, "expected a finite number, got NaN"),
        ("/4", 5, 'expected JSON, got "not json"'),
        ("/2/image_id", 3, 'expected an id of the references, got "nowhere"'),
        ("/2/image_id", 3, "expected the picture"),
    ]
    for pointer, line, words in wanted:
        assert any(found[:2] == (pointer, line) and words in found[2] for found in faults), (words, faults)
    assert {fault["file"] for fault in found["faults"]} == {str(file)}
    # the predictions of the other scenes may stand in the lines that could not be read
    assert not any("of the references, got none" in fault["message"] for fault in found["faults"])
    assert any('nearest known key is "relations"' in warning for warning in found["warnings"])
    shown = run("validate", file, code=2).stdout
    assert "fault" in shown and "5 faults" not in shown.splitlines()[0]


def test_validate_corner_boxes(tmp_path):
    """FC03 at the command line: corners handed in as x, y, width, height."""
    Image.new("RGB", (640, 480)).save(tmp_path / "a.png")
    file = tmp_path / "p.jsonl"
    box = {"id": 0, "category": "dog", "bbox": [500, 400, 550, 440]}
    file.write_text(json.dumps({"image_id": "a", "objects": [box]}))
    assert "fit as corners" in run("validate", file, "--images", tmp_path, code=2).stdout


def test_validate_references_in_another_format(tmp_path):
    """The form of the references is that of the file, unless it is named."""
    objects = [{"object_id": n, "names": "dog", "x": 10 * n, "y": 5, "w": 8, "h": 8} for n in range(2)]
    relation = {"relationship_id": 0, "subject_id": 0, "object_id": 1, "predicate": "near"}
    theirs, ours = tmp_path / "p.json", tmp_path / "g.jsonl"
    theirs.write_text(json.dumps([{"image_id": "a", "objects": objects, "relationships": [relation]}]))
    boxes = [{"id": n, "category": "dog", "bbox": [10 * n, 5, 8, 8]} for n in range(2)]
    ours.write_text(json.dumps({"image_id": "a", "objects": boxes}))
    base = ("validate", theirs, "--format", "rlipv2", "--references")
    assert "no faults" in run(*base, ours, "--references-format", "sgeval").stdout
    assert "no faults" in run(*base, theirs).stdout
    run(*base, ours, code=2)


def test_validate_and_score_refuse_an_empty_file(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text("")
    words = "predictions: expected at least one image, got none"
    assert words in run("validate", file, code=2).stdout
    assert words in score(tmp_path / "run", predictions=file, code=2).stderr


def test_score_names_every_broken_line(tmp_path):
    file = tmp_path / "p.jsonl"
    file.write_text('{"image_id":\n{"image_id": "scene_001"}\nnot json\n')
    words = score(tmp_path / "run", predictions=file, code=2).stderr
    assert "line 1: expected JSON" in words and "line 3: expected JSON" in words


@pytest.mark.parametrize("arguments", [["validate", "none.jsonl"], ["report", "no-run"]])
def test_missing_files_end_in_code_2(arguments):
    run(*arguments, code=2)


def test_validate_unknown_kind_and_format():
    assert "kind: expected one of image, video" in run("validate", GOOD, "--kind", "film", code=2).stderr
    assert "format" in run("validate", GOOD, "--format", "yolo", code=2).stderr


def test_a_run_folder_of_another_form_is_refused(tmp_path):
    (tmp_path / "results.json").write_text("{}")
    assert "expected the results of a run" in run("report", tmp_path, code=2).stderr


def test_version_and_help():
    assert run("--version").stdout.strip() == f"sgeval {__version__}"
    assert "Example" in run("score", "relclipscore", "--help").stdout


def test_interrupt_ends_with_130(tmp_path):
    """SIGINT while scoring: one line, exit code 130, no results."""
    many = tmp_path / "many.jsonl"
    rows = [json.loads(line) for line in GOOD.read_text().splitlines()]
    again = (
        {**row, "image_id": f"{number}-{row['image_id']}", "file_name": f"{row['image_id']}.jpg"}
        for number in range(150)
        for row in rows
    )
    many.write_text("\n".join(map(json.dumps, again)))
    code = "from sgeval.cli import main; main()"
    arguments = ["score", "relclipscore", "--predictions", many, "--images", IMAGES, "--out", tmp_path / "run"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments), "--model", "demo"], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    journal = tmp_path / "run" / PROGRESS  # there once the work begins
    while not journal.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=120)
    assert process.returncode == 130 and "interrupted" in words and "Traceback" not in words
    assert not (tmp_path / "run" / "results.json").exists()


def test_paths_in_the_readme_command(tmp_path, monkeypatch):
    """The default folder of the demo is made where the user stands."""
    monkeypatch.chdir(tmp_path)
    run("demo")
    assert Path("sgeval-demo/report.html").is_file()
