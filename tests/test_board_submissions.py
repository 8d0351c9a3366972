"""What a board answers to a submission, and that its demo results are what the demo systems score."""

import json
import zipfile

import pytest
from board_kit import BOARD, found, gold, make_board, write_rows

from benchmarks.leaderboard.build_demo import HERE
from sgeval.board import Results, read_board, standing
from sgeval.board.reading import answer_to
from sgeval.board.results import About
from sgeval.board.scoring import Scorer, check_board
from sgeval.board.settings import Limits
from sgeval.check import check_references
from sgeval.comparison import compare
from sgeval.demo import SCENES
from sgeval.errors import SgevalError
from sgeval.runs import read_run


@pytest.fixture
def board(tmp_path):
    return make_board(tmp_path / "board")


def answer(board, tmp_path, rows, name="mine", ending=".jsonl", limits=None):
    file = write_rows(tmp_path / f"sent{ending}", rows)
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    return answer_to(board.tasks["videos"], limits or Limits(), file, out, name)


WRONG = {"subject_id": 1, "object_id": 0, "predicate": "eating"}
"""Beside what is right of its pair."""


def timed(end, later=None):
    """All spans from 0 to an end; or, with a shift, those of the references, of a share in tenths, that much later."""

    def of(each):
        if later is None:
            return [{"start": 0, "end": end}]
        length = each["spans"][0]["end"] * end / 10
        return [{"start": later, "end": later + length}]

    return [{**row, "relations": [{**each, "spans": of(each)} for each in row["relations"]]} for row in gold()]


class TestAnswers:
    def test_a_good_one_is_scored(self, board, tmp_path):
        told = answer(board, tmp_path, found(9))
        assert told["faults"] == [] and told["counts"] == {
            "videos": 20,
            "objects": 40,
            "relations": 18,
            "predicates": 2,
        }
        run = read_run(tmp_path / "out" / "run")
        assert (run.name, run.result["triplet_accuracy"]) == ("mine", 45.0)  # 18 of 40
        assert (tmp_path / "out" / "run" / "report.html").is_file()
        assert str(tmp_path) not in (tmp_path / "out" / "run" / "results.json").read_text()

    def test_checked_only(self, board, tmp_path):
        assert answer(board, tmp_path, found(9), name=None)["n_faults"] == 0
        assert not (tmp_path / "out" / "run").exists()

    def test_every_fault_with_its_pointer(self, board, tmp_path):
        rows = found(9)[:-1]  # v19 is missing
        rows[2] = {**rows[2], "duration": float("nan")}
        rows[3] = {**rows[3], "relations": [[0, 1]]}
        rows[4] = {**rows[4], "video_id": "elsewhere"}
        told = answer(board, tmp_path, rows)
        pointers = {fault["pointer"] for fault in told["faults"]}
        words = " ".join(fault["message"] for fault in told["faults"])
        assert {"/2/duration", "/3/relations/0"} <= pointers and {"v19", "v04", "elsewhere"} <= {*_quoted(words)}
        assert told["n_faults"] == len(told["faults"]) == 5 and not (tmp_path / "out" / "run").exists()

    @pytest.mark.parametrize(
        ("limits", "words"),
        [
            (Limits(graphs=19), "at most 19 rows"),
            (Limits(relations=17), "at most 17 relations"),
            (Limits(upload_bytes=100), "at most 100 bytes"),
        ],
    )
    def test_limits(self, board, tmp_path, limits, words):
        told = answer(board, tmp_path, found(9), limits=limits)
        assert told["n_faults"] == 1 and words in told["faults"][0]["message"]

    @pytest.mark.parametrize(
        ("rows", "copied"),
        [
            (gold(), 1.0),
            (found(5), 0.25),  # 10 of 40 pairs
            ([{**row, "relations": row["relations"][:1]} for row in gold()], 0.5),
            ([{**row, "relations": [{**each, "predicate": "x"} for each in row["relations"]]} for row in gold()], 0.0),
            (timed(8), 0.0),  # tIoU 8/10 and 8/12
            (timed(9.5), 0.5),  # 9.5/10 and 9.5/12
            (timed(10, 0.4), 1.0),  # all of it later, which costs no score
            (timed(8, 0.4), 0.0),
            ([{**row, "relations": [*row["relations"], WRONG]} for row in gold()], 0.5),
        ],
    )
    def test_how_much_is_word_for_word(self, board, tmp_path, rows, copied):
        assert answer(board, tmp_path, rows)["copied"] == copied

    def test_answers_of_a_model(self, tmp_path):
        """Object k of an answer is the k-th annotated one; its seconds hold both ends."""
        board = make_board(tmp_path / "b", {**BOARD, "tasks": [{**BOARD["tasks"][0], "form": "answers"}]})
        said = {
            "objects": [{"object 1": "dog"}, {"object 2": "ball"}],
            "relationships": [[1, "chasing", 2, [[0, 9]]], [-1, "running after", 1, [[0, 11]]]],
        }
        rows = [{"video_id": row["video_id"], "answer": json.dumps(said)} for row in gold()]
        told = answer(board, tmp_path, rows)
        assert (told["n_faults"], told["copied"]) == (0, 0.5)  # of two pairs the one
        assert read_run(tmp_path / "out" / "run").result["triplet_accuracy"] == 50.0
        told = answer(board, tmp_path, [rows[0], {"video_id": "v01"}, *rows[2:]])
        assert [fault["pointer"] for fault in told["faults"]] == ["/1"]

    def test_pictures_are_those_of_the_references(self, tmp_path, monkeypatch):
        """A submission does not choose the picture it is looked at with, nor its size."""
        board, seen = read_board(HERE), []
        monkeypatch.setattr("sgeval.board.reading._score", lambda task, rows, gold: seen.append(rows) or 1 / 0)
        sent = [json.loads(line) for line in (SCENES / "predictions_good.jsonl").read_text().splitlines()]
        file = write_rows(tmp_path / "sent.jsonl", [{**row, "file_name": "scene_001.jpg"} for row in sent])
        with pytest.raises(ZeroDivisionError):
            answer_to(board.tasks["demo_relations"], board.limits, file, tmp_path, "mine")
        assert len(seen[0]) == 40 and not any({"file_name", "width", "height"} & row.keys() for row in seen[0])


def _quoted(words):
    return [part for part in words.split('"') if part.isalnum()]


class TestPictures:
    """What the task refuses is a fault of the check, all of it at once."""

    def test_boxes_that_are_not_the_references(self, tmp_path):
        board = read_board(HERE)
        gold = [json.loads(line) for line in (SCENES / "references.jsonl").read_text().splitlines()]
        sent = [json.loads(line) for line in (SCENES / "predictions_good.jsonl").read_text().splitlines()]
        for row, known in zip(sent[:5], gold, strict=False):
            row["objects"] = known["objects"]
            row["objects"][1]["bbox"][0] += 3
        for name in (None, "mine"):
            file = write_rows(tmp_path / "sent.jsonl", sent)
            told = answer_to(board.tasks["demo_relations"], board.limits, file, tmp_path, name)
            assert [fault["pointer"] for fault in told["faults"]] == [f"/{n}/objects/1/bbox" for n in range(5)]
            assert all(fault["message"].startswith("expected the reference's [") for fault in told["faults"])
            assert told["n_faults"] == 5 and "pair_iou" not in json.dumps(told)
        assert board.tasks["demo_relations"].validate_command.endswith("--matching given")

    def test_a_missing_picture_is_named_beside_a_line_that_cannot_be_read(self, tmp_path):
        board = read_board(HERE)
        lines = (SCENES / "predictions_good.jsonl").read_text().splitlines(keepends=True)
        file = tmp_path / "sent.jsonl"
        file.write_text("".join([*lines[:5], *lines[6:20], "{bad\n", *lines[21:]]))
        told = answer_to(board.tasks["demo_relations"], board.limits, file, tmp_path, None)
        assert [fault["pointer"] for fault in told["faults"]] == ["/19"]
        assert told["warnings"] == [  # which of the two the line holds nobody knows
            'ids of the references without a prediction: 2 ("scene_006", "scene_021"); at most 1 of them can be in 1 row '
            "whose id could not be read"
        ]


class TestReferences:
    """Faults of the keeper's are the keeper's."""

    def test_the_start(self, board, capsys):
        check_board(board)
        with (board.folder / "gold.jsonl").open("a") as file:
            file.write("{bad\n" + json.dumps({"video_id": "v99", "duration": -1}) + "\n")
        with pytest.raises(SgevalError, match=r"^board: expected references without faults, got 2 faults$"):
            check_board(board)
        first, second = sorted(capsys.readouterr().err.splitlines())
        assert first.startswith("sgeval: videos: gold.jsonl/20: ")
        assert second.startswith("sgeval: videos: gold.jsonl/21/duration: expected")

    def test_the_demo_board(self):
        check_board(read_board(HERE))

    def test_a_picture_that_is_not_there(self, tmp_path):
        gold = write_rows(tmp_path / "gold.jsonl", [{"image_id": "a", "objects": []}])
        [fault] = check_references(gold, images=tmp_path).faults
        assert fault.pointer == "/0/image_id" and "a" in fault.message

    def test_broken_while_it_runs(self, board, tmp_path, capsys):
        scorer = Scorer(board, Results(tmp_path / "results", board.tasks))
        file = write_rows(tmp_path / "sent.jsonl", found(9))
        with (board.folder / "gold.jsonl").open("a") as gold:
            gold.write("{bad\n")
        words = "^videos: the board is not in order, and its keeper has to mend it; the submission is not at fault"
        with pytest.raises(SgevalError, match=words):
            scorer.submit(board.tasks["videos"], file, About.checked("mine"))
        assert "sgeval: videos: " in capsys.readouterr().err
        (board.folder / "board.yaml").write_text("{")
        with pytest.raises(SgevalError, match=words):
            scorer.check(board.tasks["videos"], file)


class TestScorer:
    """Through the child process; `test_board_hardening` attacks it."""

    def test_from_file_to_entry(self, board, tmp_path):
        results = Results(tmp_path / "results", board.tasks)
        scorer = Scorer(board, results)
        file = write_rows(tmp_path / "sent.jsonl", found(9))
        with zipfile.ZipFile(tmp_path / "sent.zip", "w") as packed:
            packed.write(file, "sent.jsonl")
        outcome = scorer.submit(board.tasks["videos"], tmp_path / "sent.zip", About.checked("mine"))
        (entry,) = results.entries("videos")
        assert outcome.entry == entry and entry.result["triplet_accuracy"] == 45.0
        assert (entry.scored_here, entry.copied, entry.differs) == (True, 0.45, ())
        with pytest.raises(SgevalError, match=f"is on the board already, as {entry.id}"):
            scorer.submit(board.tasks["videos"], tmp_path / "sent.zip", About.checked("mine"))
        turned = [{**row, "relations": row["relations"][::-1]} for row in found(9)[::-1]]
        with pytest.raises(SgevalError, match=f"is on the board already, as {entry.id}"):
            scorer.submit(board.tasks["videos"], write_rows(tmp_path / "turned.jsonl", turned), About.checked("other"))
        bad = write_rows(tmp_path / "bad.jsonl", found(9)[:5])
        outcome = scorer.submit(board.tasks["videos"], bad, About.checked("mine"))
        assert outcome.n_faults == 15 and outcome.entry is None and len(results.entries("videos")) == 1


class TestDemo:
    """The results that come with the board. Where a change moves them, `build_demo` makes them anew."""

    def test_ranked_as_compare_ranks_their_runs(self):
        board = read_board(HERE)
        results = Results(HERE / "results", board.tasks)
        for task in board.tasks.values():
            found = standing(task, results.entries(task.id))
            runs = [read_run(results.place(row.entry) / "run") for row in found.ranked]
            direct = compare(runs[::-1], (task.key,))
            assert len(direct.groups) == 1
            assert [(row.rank, row.entry.about.system) for row in found.ranked] == [
                (line.rank, line.name) for line in direct.groups[0].lines[task.key]
            ]

    def test_the_floor_is_shown(self):
        """And its score stands in the text of the task."""
        board = read_board(HERE)
        rows = standing(
            board.tasks["demo_relations"], Results(HERE / "results", board.tasks).entries("demo_relations")
        ).ranked
        (floor,) = [row for row in rows if row.entry.about.system == "floor: near for every pair"]
        assert f"gets {floor.score}" in board.tasks["demo_relations"].what

    def test_the_command_that_makes_a_run_which_ranks(self):
        task = read_board(HERE).tasks["demo_situations"]
        assert task.score_command == (
            f"sgeval score ssg_role_values --predictions FILE --references {HERE.resolve()}/data/situations.jsonl "
            "--max-values 1 --missing zero --bootstrap 1000 --out runs/mine"
        )

    def test_another_judge_stands_apart(self):
        board = read_board(HERE)
        results = Results(HERE / "results", board.tasks)
        apart = [
            (row.entry.about.system, row.protocol)
            for task in board.tasks.values()
            for row in standing(task, results.entries(task.id)).apart
        ]
        assert apart == [
            ("references sent back", "repeats the references"),
            ("good, wider crop", "context ratio0.5each (ranked: none)"),
            ("careful, judged exactly", "judge exact (ranked: wordnet)"),
        ]

    def test_they_are_of_this_version(self, tmp_path):
        """Scored again, a system has the number and the protocol that stand on the board."""
        board = read_board(HERE)
        results = Results(HERE / "results", board.tasks)
        for task_id in ("demo_videos", "demo_situations"):
            entry = results.entries(task_id)[0]
            file = HERE / "submissions" / task_id.removeprefix("demo_") / f"{entry.about.system}.jsonl"
            answer_to(board.tasks[task_id], board.limits, file, tmp_path / task_id, "again")
            run = read_run(tmp_path / task_id / "run")
            assert run.result == json.loads(json.dumps(dict(entry.result))) | {
                key: value for key, value in run.result.items() if key not in entry.result
            }
