"""What README and card show is run here as it stands there, with the demo model in place of one that is downloaded."""

import json
import re
import shlex
from pathlib import Path

import pytest
from archive_kit import zip_of
from typer.testing import CliRunner

from sgeval.board import read_board
from sgeval.cli.app import app
from sgeval.demo import SCENES
from sgeval.formats import read_graphs
from sgeval.relclip import Options, relclipscore
from sgeval.validation import parse_graphs

ROOT = Path(__file__).resolve().parent.parent
README, CARD = ROOT / "README.md", ROOT / "metrics" / "relclipscore" / "README.md"
SCORING, BOARD = ROOT / "docs" / "scoring.md", ROOT / "docs" / "board.md"
THETA_CARD = ROOT / "metrics" / "theta" / "README.md"
N = 4  # scenes


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def offline(text: str) -> str:
    """The text with the demo model for the one it names; a snippet that names none would download one."""
    assert "clip-b32" in text
    return text.replace("clip-b32", "demo")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files that the snippets name."""
    for name, source in (
        ("predictions", "predictions_good"),
        ("theirs", "predictions_swapped"),
        ("gold", "references"),
    ):
        lines = (SCENES / f"{source}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / f"{name}.jsonl").write_text("".join(lines[:N]), encoding="utf-8")
    zip_of(tmp_path / "submission.zip", [("predictions.jsonl", (tmp_path / "predictions.jsonl").read_bytes())])
    frame = re.findall(r"^A line is `(\{.*?\})`", SCORING.read_text(encoding="utf-8"), re.MULTILINE)
    for name in ("said", "frames"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(frame), encoding="utf-8")
    video = re.findall(r"^A video is `(\{.*?\})`", SCORING.read_text(encoding="utf-8"), re.MULTILINE)
    for name in ("seen", "videos"):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(video), encoding="utf-8")
    (tmp_path / "photos").symlink_to(SCENES / "images")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("page", "metric"),
    [(README, "relclipscore"), (SCORING, "relclipscore"), (CARD, "relclipscore"), (THETA_CARD, "theta")],
    ids=["readme", "scoring", "card", "theta"],
)
def test_python_snippets(here, page, metric):
    names: dict = {}
    found = blocks(page, "python")
    assert found
    exec(offline("\n".join(found)), names)
    assert names["result"]["n_images"] == N and names["result"]["n_relations"] > 0
    assert names["result"]["signature"].startswith(f"metric:{metric}|model:demo|")


@pytest.mark.parametrize(
    ("page", "made"),
    [
        (README, ["runs/mine/report.html"]),
        (
            SCORING,
            [
                *(f"runs/{run}/report.html" for run in ("mine", "theta", "values", "videos")),
                "table.tex",
                "ranking.html",
            ],
        ),
    ],
    ids=["readme", "scoring"],
)
def test_commands(here, page, made):
    """The page's own commands, one after the other; those that install are the build's."""
    commands = [line for block in blocks(page, "bash") for line in block.splitlines() if line.startswith("sgeval ")]
    for line in commands:
        program, *arguments = shlex.split(line.replace("clip-b32", "demo"), comments=True)
        assert program == "sgeval"
        outcome = CliRunner().invoke(app, arguments)
        assert outcome.exit_code == 0, (line, outcome.output)
    assert [name for name in made if not (here / name).is_file()] == []


def test_the_board_of_the_page_is_one(tmp_path):
    (text,) = blocks(BOARD, "yaml")
    (tmp_path / "data" / "images").mkdir(parents=True)
    (tmp_path / "data" / "gold.jsonl").touch()
    (tmp_path / "board.yaml").write_text(text, encoding="utf-8")
    (task,) = read_board(tmp_path).tasks.values()
    assert task.options().pairs == "gold"


def test_links_within_the_pages():
    """Every relative link of README and docs leads to a file of the repository."""
    pages = [README, *sorted((ROOT / "docs").glob("*.md"))]
    links = {(page, link) for page in pages for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))}
    missing = [str(link) for page, link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", [SCORING, CARD], ids=["scoring", "card"])
def test_json_examples_pass_the_border(page):
    found = blocks(page, "json")
    assert found
    parsed = parse_graphs([json.loads(text) for text in found])
    assert not parsed.warnings and len(parsed.graphs[0].relations) == 1


def test_the_card_names_every_key_and_option(fake_encoder):
    """A result with references, of a model with cosines and of one without; the ends of intervals are said by pattern."""
    rows, gold = (read_graphs(SCENES / f"{name}.jsonl")[:N] for name in ("predictions_good", "references"))
    sigmoid = fake_encoder()
    sigmoid.score_rule = "sigmoid"
    card = CARD.read_text(encoding="utf-8")
    for encoder in (fake_encoder(), sigmoid):
        result = relclipscore(rows, references=gold, images=SCENES / "images", model=encoder, bootstrap=20)
        pooled = {key for key in result if key.startswith("exact_match") and key.endswith("_relations")}
        intervals = {key for key in result if key.endswith(("_low", "_high"))}
        with_intervals = {key.removesuffix("_percentile_low") for key in intervals if key.endswith("_percentile_low")}
        held = {"exact_match", "exact_match_normalised", "ref_relclipscore"} & {*result}
        assert with_intervals == {next(iter(result)), "mean_score", "mean_score_relations"} | held | pooled
        absent = [key for key in result if key not in pooled | intervals and f"`{key}`" not in card]
        assert not absent
    options = card[card.index("## Options") :]
    assert not [name for name in Options.__dataclass_fields__ if f"`{name}`" not in options]
