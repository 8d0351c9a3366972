"""A small board of videos for tests: three videos of two relations each, and runs of systems that find some of them."""

import json
from datetime import datetime, timedelta, timezone

from sgeval import temporal
from sgeval.board import read_board
from sgeval.board.results import About, make_entry
from sgeval.judges import make_judge
from sgeval.runs import describe_file, read_run, write_run

N_VIDEOS = 20
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
SETTINGS = {"judge": "exact", "assignment": "one_to_one", "denominator": "predictions", "bootstrap": 20}
BOARD = {
    "title": "A board",
    "tasks": [
        {
            "id": "videos",
            "title": "Videos",
            "what": "Made videos.",
            "metric": "svg2_temporal_accuracy",
            "key": "triplet_accuracy",
            "also": ["triplet_precision"],
            "settings": SETTINGS,
            "references": "gold.jsonl",
        }
    ],
}


def gold():
    """A dog that chases a ball for the first ten seconds, and the camera that follows it."""
    objects = [{"id": 0, "category": "dog"}, {"id": 1, "category": "ball"}]
    relations = [
        {"subject_id": 0, "object_id": 1, "predicate": "chasing", "spans": [{"start": 0, "end": 10}]},
        {"subject_id": -1, "object_id": 0, "predicate": "following", "spans": [{"start": 0, "end": 12}]},
    ]
    return [
        {"video_id": f"v{number:02}", "duration": 12, "objects": objects, "relations": relations}
        for number in range(N_VIDEOS)
    ]


def found(n):
    """What a system says that finds the relations of the first n videos, and nothing in the others."""
    return [row if number < n else {**row, "relations": []} for number, row in enumerate(gold())]


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def make_board(folder, board=BOARD):
    """A board in a folder, read."""
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / "gold.jsonl", gold())
    (folder / "board.yaml").write_text(json.dumps(board), encoding="utf-8")  # JSON is YAML
    return read_board(folder)


def make_run(folder, name, rows, board, **more):
    """A run under the task's settings, or others."""
    settings = {**SETTINGS, **more}
    judge = make_judge(settings.pop("judge"))
    scoring = temporal.score(rows, gold(), judge=judge, options=temporal.Options(**settings))
    inputs = {"references": describe_file(board.folder / "gold.jsonl")}
    write_run(folder, name, scoring, inputs)
    return read_run(folder)


class Filled:
    """Entries of runs, a second apart."""

    def __init__(self, board, results, root):
        self.board, self.results, self.root, self.n = board, results, root, 0

    def add(self, name, n, copied=None, scored_here=False, team="", **more):
        rows = found(n)
        objects = [
            {**item, "attributes": [f"mark {self.n}"]} for item in rows[0]["objects"]
        ]  # no two entries are the same
        run = make_run(
            self.root / f"{name}-{self.n}", name, [{**rows[0], "objects": objects}, *rows[1:]], self.board, **more
        )
        when = START + timedelta(seconds=self.n)
        self.n += 1
        about = About.checked(name, team)
        entry = make_entry(run, self.board.tasks["videos"], about, copied=copied, scored_here=scored_here, now=when)
        self.results.add(entry, run)
        return entry, run


def tree(folder):
    """The bytes of the files below a folder, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
