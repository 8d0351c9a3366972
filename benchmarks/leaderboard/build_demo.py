"""Score the demo systems and put them on the board of this folder: `python -m benchmarks.leaderboard.build_demo`.

`results/` is made anew. A change of version, of a metric or of the demo model asks for it, since numbers of two versions are
not mixed. Among the results are a run with another judge, one with another crop, one that says one word of all, and the
references sent back.
"""

import json
import shutil
import tempfile
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import sgeval
from benchmarks.leaderboard.made_data import SYSTEMS
from sgeval.board import Board, Results, read_board
from sgeval.board.reading import answer_to
from sgeval.board.results import REPORT, RUN, About, make_entry
from sgeval.board.settings import Task
from sgeval.runs import read_run

HERE = Path(__file__).parent
SCENES = Path(sgeval.__file__).parent / "assets" / "demo_scenes"
SIZES = {"good": 7.0, "swapped": 0.4, "guessing": 0.1, "careful": 8.0, "hasty": 3.0, "attentive": 72.0, "average": 7.0}
"""Made up, as the systems are; others tell no size."""
FLOOR = "near"
"""What one entry says of every pair: whoever looks at the pictures should get more."""
Job = tuple[str, str, Path, dict[str, object], str]
"""Task, system, file, settings beyond those of the task, name on the board."""
MORE: tuple[Job, ...] = (
    ("demo_relations", "good", SCENES / "predictions_good.jsonl", {"context": ("ratio", 0.5)}, "good, wider crop"),
    (
        "demo_videos",
        "careful",
        HERE / "submissions/videos/careful.jsonl",
        {"judge": "exact"},
        "careful, judged exactly",
    ),
)
"""Runs under other settings."""


def main() -> None:
    """Make `results/`."""
    board = read_board(HERE)
    shutil.rmtree(HERE / "results", ignore_errors=True)
    results = Results(HERE / "results", board.tasks)
    with tempfile.TemporaryDirectory() as made:
        _build(board, results, _one_word(Path(made)))


def _one_word(folder: Path) -> Path:
    """The annotated pairs of the drawn scenes, each with the same word."""
    rows = [json.loads(line) for line in (SCENES / "references.jsonl").read_text(encoding="utf-8").splitlines()]
    path = folder / "floor.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            said = [{**relation, "predicate": FLOOR} for relation in row["relations"]]
            file.write(json.dumps({"image_id": row["image_id"], "relations": said}) + "\n")
    return path


def _build(board: Board, results: Results, floor: Path) -> None:
    drawn = ("good", "guessing", "swapped")
    jobs: list[Job] = [("demo_relations", name, SCENES / f"predictions_{name}.jsonl", {}, name) for name in drawn]
    jobs.append(("demo_relations", "floor", floor, {}, f"floor: {FLOOR} for every pair"))
    jobs.append(("demo_relations", "references", SCENES / "references.jsonl", {}, "references sent back"))
    for kind, systems in SYSTEMS.items():
        jobs += [(f"demo_{kind}", name, HERE / "submissions" / kind / f"{name}.jsonl", {}, name) for name in systems]
    for number, (task_id, name, file, settings, shown) in enumerate((*jobs, *MORE)):
        task = board.tasks[task_id]
        with tempfile.TemporaryDirectory() as out:
            answer = answer_to(_with(task, settings), board.limits, file, Path(out), shown)
            run = read_run(Path(out) / RUN)
            (run.folder / REPORT).unlink()  # the board makes one when it is asked for
            entry = make_entry(
                run,
                task,
                About.checked(shown, "the demo", "", SIZES.get(name)),
                copied=answer["copied"],
                scored_here=not settings,
                now=datetime(2026, 11, 30, 12, 0, number, tzinfo=timezone.utc),
            )
            print(results.add(entry, run).relative_to(HERE), shown, entry.result[task.key])


def _with(task: Task, settings: dict[str, object]) -> Task:
    return replace(task, settings={**task.settings, **settings})


if __name__ == "__main__":
    main()
