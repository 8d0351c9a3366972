"""The wheel, not the checkout: what is in it, and that the metric works from it elsewhere."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.slow

SETS = ("psg", "visual_genome", "vg150", "ssg", "fgov", "pvsg", "vidor", "vipseg", "svg2_test")
NEEDED = (
    "sgeval/py.typed",
    "sgeval/schemas/scene_graph.schema.json",
    "sgeval/schemas/video_graph.schema.json",
    "sgeval/report/report.html",
    "sgeval/report/ranking.html",
    "sgeval/report/report.css",
    "sgeval/assets/demo_model/open_clip_model.safetensors",
    "sgeval/assets/demo_model/open_clip_config.json",
    "sgeval/assets/demo_model/README.md",
    "sgeval/assets/demo_scenes/references.jsonl",
    "sgeval/assets/demo_scenes/images/scene_001.jpg",
    "sgeval/assets/vg150_classes.json",
    *(f"sgeval/assets/wordnet/{name}" for name in ("wordnet.txt.gz", "LICENSE.txt", "README.md")),
    *(
        f"sgeval/assets/judge_gold/{name}"
        for name in ("gold.jsonl.gz", "probe.jsonl.gz", "embedding_cuts.json", "README.md")
    ),
    "sgeval/benchmarks/judge_gold/lvis_v1_categories.json.gz",
    "sgeval/metrics/relclipscore/relclipscore.py",
    "sgeval/metrics/relclipscore/README.md",
    "sgeval/metrics/relclipscore/app.py",
    "sgeval/metrics/relclipscore/requirements.txt",
    "sgeval/metrics/theta/theta.py",
    "sgeval/metrics/theta/README.md",
    "sgeval/metrics/theta/app.py",
    "sgeval/metrics/ssg_role_values/ssg_role_values.py",
    "sgeval/metrics/ssg_role_values/README.md",
    "sgeval/metrics/ssg_role_values/app.py",
    "sgeval/metrics/ssg_role_values/requirements.txt",
    *(
        f"sgeval/metrics/svg2_temporal_accuracy/{name}"
        for name in ("svg2_temporal_accuracy.py", "README.md", "app.py", "requirements.txt")
    ),
    "sgeval/schemas/video_answer.schema.json",
    "sgeval/report/theta.html",
    "sgeval/report/temporal.html",
    "sgeval/report/role_values.html",
    "sgeval/judges/prompt-3.txt",
    "sgeval/benchmarks/demo_model/train.py",
    *(
        f"sgeval/benchmarks/sgeval_bundle/{name}"
        for name in ("README.md", "eval.yaml", "manifest.json", "specs/paper1_table1.yaml", "data/demo/test.jsonl")
    ),
    "sgeval/benchmarks/sgeval_bundle/data/psg/test.jsonl",
    "sgeval/benchmarks/sgeval_bundle/data/demo/images/scene_001.jpg",
    *(f"sgeval/datasets_scripts/{name}/{name}_builder.py" for name in SETS),
    *(f"sgeval/datasets_scripts/{name}/README.md" for name in SETS),
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy: a stale build folder would bring deleted modules back."""
    folder = tmp_path_factory.mktemp("wheel")
    ignore = shutil.ignore_patterns(".git", ".venv*", "build", "*.egg-info", "sgeval-demo", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, folder / "source", ignore=ignore)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(folder / "source")],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def test_file_list(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert set(NEEDED) <= names
    outside = {name for name in names if not name.startswith(("sgeval/", "sgeval-"))}
    assert not outside
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "sgeval").rglob("*.py")}
    assert modules <= names


def test_size(wheel):
    """The demo's weights stay below 5 MB, the wheel below 10."""
    weights = ROOT / "sgeval/assets/demo_model/open_clip_model.safetensors"
    assert weights.stat().st_size < 5_000_000 and wheel.stat().st_size < 10_000_000


SCRIPT = """
import evaluate, sgeval, sgeval.hub, sys
from sgeval import strict_json
from sgeval.demo import SCENES
assert sgeval.__file__.startswith(sys.argv[1]), sgeval.__file__
assert sgeval.path("relclipscore").startswith(sys.argv[1])
rows = list(strict_json.read_rows(SCENES / "predictions_good.jsonl"))[:4]
metric = evaluate.load(sgeval.path("relclipscore"))
module = metric.compute(predictions=rows, images=SCENES / "images", model="demo")
assert module == sgeval.relclipscore(rows, images=SCENES / "images", model="demo")
lists = evaluate.load(sgeval.path("theta"))
assert lists.compute(predictions=[[0.2, 0.1, 0.05, 0.9]], references=[0])["theta"] == 0.75
frame = {"frame_id": "f", "kind": "object", "object_id": 1, "roles": [{"role": "tool", "value": "pen"}]}
values = evaluate.load(sgeval.path("ssg_role_values"))
assert values.compute(predictions=[frame], references=[frame])["value"] == 100
video = {"video_id": "v", "objects": [{"id": 0, "category": "dog"}]}
graphs = evaluate.load(sgeval.path("svg2_temporal_accuracy"))
assert graphs.compute(predictions=[video], references=[video], judge="wordnet")["object_accuracy"] == 100
from sgeval.hub.rows import builder_class
import inspect
assert inspect.getfile(builder_class("psg")).startswith(sys.argv[1])
from sgeval.bundle import check, shelf
assert str(shelf()).startswith(sys.argv[1]) and check(shelf()) == []
print("same", module["n_relations"])
"""


def test_installed_elsewhere(wheel, tmp_path):
    site = tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    assert {path.name.split("-")[0] for path in site.iterdir()} <= {"sgeval", "bin"}
    environment = {**os.environ, "PYTHONPATH": str(site), "HF_HUB_OFFLINE": "1"}
    outcome = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(site)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert outcome.returncode == 0, outcome.stderr
    assert "same" in outcome.stdout
