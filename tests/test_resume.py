"""A run stopped anywhere goes on and ends in the same bytes; nothing that was committed is encoded again.

Children are forked, so that they start at once: they run the command line's own job with a fake encoder.
"""

import json
import os
import random
import signal
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest
from kit import in_child

import sgeval.runs
from sgeval.cli.scoring import Job, run_job
from sgeval.errors import InvalidInput, SgevalError, Unfinished
from sgeval.journal import Journal
from sgeval.runs import PROGRESS, RESULTS, read_run

BATCH = 8
FILES = ("results.json", "items.parquet", "images.parquet")


@pytest.fixture
def case(tmp_path, random_graphs, fake_encoder, monkeypatch):
    """A prediction file with references and pictures, and a fake encoder that writes down what it encodes."""
    graphs, pictures = random_graphs(3, 12)
    (tmp_path / "images").mkdir()
    for name, picture in pictures.items():
        picture.save(tmp_path / "images" / f"{name}.png")
    lines = [json.dumps(graph) + "\n" for graph in graphs]
    (tmp_path / "p.jsonl").write_text("".join(lines))
    (tmp_path / "g.jsonl").write_text("".join(lines))
    log = tmp_path / "encoded.log"

    class Logging(fake_encoder):
        def encode_images(self, crops):
            with log.open("a") as file:
                file.write("regions\n")
            return super().encode_images(crops)

        def encode_texts(self, texts):
            with log.open("a") as file:
                file.write("texts\n")
            return super().encode_texts(texts).astype(np.float32)

    monkeypatch.setattr("sgeval.relclip.setup.load_encoder", lambda *_, **__: Logging())
    monkeypatch.setattr("sgeval.relclip.setup.check_setup", lambda *_: (None, "cpu"))
    return Case(tmp_path, log)


class Case:
    def __init__(self, folder: Path, log: Path) -> None:
        self.folder, self.log = folder, log

    def job(self, out: str = "run", **more) -> Job:
        flags = {"model": "demo", "on_invalid": "skip", "batch_size": BATCH, "bootstrap": 20, **more}
        given = (self.folder / "p.jsonl", self.folder / "images", self.folder / out, self.folder / "g.jsonl")
        return Job.make(*given, flags, None)

    def encoded(self) -> tuple[int, int]:
        """Calls so far: of regions, of texts."""
        lines = self.log.read_text().split() if self.log.exists() else []
        return lines.count("regions"), lines.count("texts")

    def committed(self, out: str = "run") -> tuple[int, int]:
        """Batches in the journal: of regions, of texts."""
        path = self.folder / out / PROGRESS
        if not path.exists():
            return 0, 0
        base = sqlite3.connect(path)
        try:
            kinds = [kind for (kind,) in base.execute("SELECT kind FROM batches")]
        except sqlite3.OperationalError:  # killed before the tables were made
            kinds = []
        finally:
            base.close()
        return kinds.count("regions"), kinds.count("texts")

    def bytes(self, out: str = "run") -> list[bytes]:
        return [(self.folder / out / name).read_bytes() for name in FILES]


class Steps:
    """Wraps every step that leaves something on disk, and kills the process before or after the n-th of them."""

    def __init__(self, fatal: int | None) -> None:
        self.fatal, self.count = fatal, 0

    def wrap(self, function):
        def counted(*args, **keywords):
            self.step()
            out = function(*args, **keywords)
            self.step()
            return out

        return counted

    def step(self) -> None:
        if self.count == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1

    def install(self) -> None:
        Journal.put = self.wrap(Journal.put)
        Path.replace = self.wrap(Path.replace)
        sgeval.runs._new_table = self.wrap(sgeval.runs._new_table)
        Journal.finish = self.wrap(Journal.finish)


def all_steps(case) -> int:
    """How many steps an unbroken run has."""
    reader, writer = os.pipe()

    def work():
        steps = Steps(None)
        steps.install()
        run_job(case.job("count"))
        os.write(writer, str(steps.count).encode())

    assert in_child(work) == 0
    return int(os.read(reader, 99))


def test_25_kills_give_the_same_bytes(case):
    """Kill -9 before or after each of 25 seeded steps, first and last among them, then --resume."""
    run_job(case.job("whole"))
    total = all_steps(case)
    points = [0, total - 1, *random.Random(0).sample(range(1, total - 1), 23)]
    whole = case.encoded()
    batches = whole[0] // 2, whole[1] // 2  # the whole run and the counted one
    for point in points:
        case.log.unlink()
        out = f"run{point}"

        def broken(point=point, out=out):
            Steps(point).install()
            run_job(case.job(out))

        assert in_child(broken) == -signal.SIGKILL
        done, before = case.committed(out), case.encoded()
        assert in_child(lambda out=out: run_job(case.job(out), resume=True)) == 0
        after = case.encoded()
        if (case.folder / out / PROGRESS).exists() or done != (0, 0):
            assert (after[0] - before[0], after[1] - before[1]) == (batches[0] - done[0], batches[1] - done[1])
        assert case.bytes(out) == case.bytes("whole"), f"killed at step {point} of {total}"
        assert not (case.folder / out / PROGRESS).exists()


def test_kills_at_any_moment(case):
    """Kill after a random time, again and again, until the run comes through."""
    run_job(case.job("whole"))
    generator = random.Random(1)
    for attempt in range(12):
        delay = generator.uniform(0.005, 0.06) * (1 + attempt / 3)

        def doomed(delay=delay):
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, delay)  # ends the process without a word
            run_job(case.job(), resume=True)
            signal.setitimer(signal.ITIMER_REAL, 0)

        assert in_child(doomed) in (0, -signal.SIGALRM)
    run_job(case.job(), resume=True)
    assert case.bytes() == case.bytes("whole")


def test_resume_of_nothing_and_of_a_complete_run(case):
    """Nothing there: it starts. Complete: it is read and left alone, not even the encoder is asked."""
    first = run_job(case.job(), resume=True)
    before, encoded = case.bytes(), case.encoded()
    again = run_job(case.job(), resume=True)
    assert again.result == first.result and case.bytes() == before and case.encoded() == encoded


def test_other_options_are_refused(case):
    run_job(case.job(), resume=True)
    with pytest.raises(SgevalError, match="holds a complete run with penalty"):
        run_job(case.job(penalty="none"), resume=True)

    def stopped():
        Steps(6).install()
        run_job(case.job("broken"))

    assert in_child(stopped) == -signal.SIGKILL
    with pytest.raises(SgevalError, match="the unfinished run has batch_size"):
        run_job(case.job("broken", batch_size=BATCH + 1), resume=True)
    with pytest.raises(SgevalError, match="holds a run that is not complete; go on with --resume"):
        run_job(case.job("broken"))
    (case.folder / "p.jsonl").write_text((case.folder / "p.jsonl").read_text() + "\n")
    with pytest.raises(SgevalError, match="the unfinished run has predictions"):
        run_job(case.job("broken"), resume=True)
    run_job(case.job("broken"), overwrite=True)


def test_old_results_stay_until_the_new_ones_are_whole(case):
    """A run that replaces another is killed at each step: what can be read is the old result or the new one."""
    old = run_job(case.job()).result
    new = run_job(case.job("new", penalty="none")).result
    total = all_steps(case)
    seen = set()
    for point in range(total - 10, total):
        run_job(case.job(), overwrite=True)

        def broken(point=point):
            Steps(point).install()
            run_job(case.job(penalty="none"), overwrite=True)

        assert in_child(broken) == -signal.SIGKILL
        stored = json.loads((case.folder / "run" / RESULTS).read_text())["result"]
        assert stored in (old, new)
        try:
            assert read_run(case.folder / "run").result in (old, new)
            seen.add("old" if stored == old else "new")
        except SgevalError as fault:
            assert "--resume or --overwrite" in str(fault)
            seen.add("mixed tables, told apart")
        run_job(case.job(penalty="none"), resume=True)
        assert case.bytes() == case.bytes("new")
    assert {"old", "new"} <= seen


def test_a_full_disk_is_unfinished_and_goes_on(case, monkeypatch):
    """FM4: a commit that finds no room ends the run resumably; with room it ends in the same bytes."""
    run_job(case.job("whole"))
    put, count = Journal.put, [0]

    def full(self, *args):
        count[0] += 1
        if count[0] == 4:
            with self._room(100):
                raise sqlite3.OperationalError("database or disk is full")
        put(self, *args)

    monkeypatch.setattr(Journal, "put", full)
    with pytest.raises(
        Unfinished, match=r"progress\.sqlite: cannot be written, .* \(database or disk is full\); about"
    ):
        run_job(case.job())
    assert not (case.folder / "run" / RESULTS).exists()
    run_job(case.job(), resume=True)
    assert case.bytes() == case.bytes("whole")


def test_a_disk_that_is_really_full(case):
    """The same with limits that the system sets on the size of files: from too small for a journal to nearly enough."""
    import resource

    def limited(limit):
        def work():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            try:
                run_job(case.job(), resume=True)
            except SgevalError as fault:
                os._exit(3 if "cannot be written" in str(fault) else 98)

        return work

    run_job(case.job("whole"))
    ends = [in_child(limited(limit)) for limit in (500, 5_000, 9_000, 13_000, 17_000, 10**9)]
    assert ends[0] == 3 and ends[-1] == 0 and set(ends) == {0, 3}
    assert case.bytes() == case.bytes("whole")


def test_a_folder_that_cannot_be_written_is_told_before_any_work(case):
    (case.folder / "run").write_text("a file")
    with pytest.raises(SgevalError, match="expected a folder, got the file"):
        run_job(case.job())
    assert case.encoded() == (0, 0)


def test_a_second_process_is_refused(case):
    job = case.job()
    journal = Journal(job.out / PROGRESS, {"a": "1"}, resume=False)
    try:
        with pytest.raises(SgevalError, match="another process is working on this run"):
            run_job(job, overwrite=True)
        assert journal.get("regions", 0, "x") is None, "it is still whole"
    finally:
        journal.close()


def test_a_damaged_journal_is_kept_and_the_run_starts_anew(case):
    """FM7: moved aside, never deleted."""
    run_job(case.job("whole"))
    (case.folder / "run").mkdir()
    (case.folder / "run" / PROGRESS).write_bytes(b"not a database at all" * 100)
    with pytest.warns(UserWarning, match=r"kept as progress\.sqlite\.set-aside-1, starting anew"):
        run_job(case.job(), resume=True)
    assert (case.folder / "run" / f"{PROGRESS}.set-aside-1").exists()
    assert case.bytes() == case.bytes("whole")


def test_what_lies_beside_a_damaged_journal_goes_along(tmp_path):
    """A rollback file with an emptied header is one that SQLite leaves alone."""
    (tmp_path / "j").write_bytes(b"not a database at all" * 100)
    (tmp_path / "j-journal").write_bytes(bytes(28))
    with pytest.warns(UserWarning, match=r"kept as j\.set-aside-1, starting anew"):
        Journal(tmp_path / "j", {}, resume=True).close()
    assert (tmp_path / "j.set-aside-1-journal").read_bytes() == bytes(28)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["j", "j.set-aside-1", "j.set-aside-1-journal"]


def test_a_newer_journal_is_refused_by_name(case):
    (case.folder / "run").mkdir()
    base = sqlite3.connect(case.folder / "run" / PROGRESS)
    base.execute("PRAGMA user_version = 99")
    base.commit()
    base.close()
    with pytest.raises(SgevalError, match="expected a journal of format 1, got 99"):
        run_job(case.job(), resume=True)


def test_broken_pictures_are_listed_with_their_ids_and_mended_ones_are_scored(case):
    """All broken pictures are named at the end; the rest is kept; mended, only their batches are encoded."""
    run_job(case.job("whole"))
    batches = case.encoded()[0]
    whole = {}
    for name in ("img002", "img009"):
        path = case.folder / "images" / f"{name}.png"
        whole[path] = path.read_bytes()
        path.write_bytes(whole[path][:200])
    before = case.encoded()
    with pytest.raises(InvalidInput) as fault:
        run_job(case.job())
    assert [line.split(":")[0] for line in fault.value.faults] == ['image "img002"', 'image "img009"']
    done = case.committed()
    assert 0 < done[0] < batches
    for path, data in whole.items():
        path.write_bytes(data)
    middle = case.encoded()
    assert middle[0] > before[0]
    run_job(case.job(), resume=True)
    assert case.encoded()[0] - middle[0] == batches - done[0]
    assert case.bytes() == case.bytes("whole")


def test_a_picture_that_changed_is_scored_anew(case):
    """A batch is read from the journal only while its pictures are the same files."""

    def stopped():
        Steps(10).install()
        run_job(case.job())

    assert in_child(stopped) == -signal.SIGKILL
    assert case.committed()[0] > 0
    from PIL import Image

    names = [json.loads(line)["image_id"] for line in (case.folder / "p.jsonl").read_text().splitlines()]
    for name in names:
        with Image.open(case.folder / "images" / f"{name}.png") as picture:
            size = picture.size
        Image.new("RGB", size, (9, 9, 9)).save(case.folder / "images" / f"{name}.png")
    run_job(case.job(), resume=True)
    run_job(case.job("whole"))
    assert case.bytes() == case.bytes("whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_command_resumably(case, number, capfd):
    """Exit 130 and the way to go on; then the same bytes."""
    from typer.testing import CliRunner

    from sgeval.cli.app import app

    run_job(case.job("whole"))
    arguments = ["score", "relclipscore", "--predictions", str(case.folder / "p.jsonl")]
    arguments += ["--references", str(case.folder / "g.jsonl"), "--images", str(case.folder / "images")]
    arguments += ["--out", str(case.folder / "run"), "--model", "demo", "--on-invalid", "skip"]
    arguments += ["--batch-size", str(BATCH), "--bootstrap", "20"]

    def stopped():
        put, count = Journal.put, [0]

        def signalled(self, *args):
            put(self, *args)
            count[0] += 1
            if count[0] == 5:
                os.kill(os.getpid(), number)
                time.sleep(1)

        Journal.put = signalled
        os._exit(CliRunner().invoke(app, arguments).exit_code)

    assert in_child(stopped) == 130
    assert case.committed() != (0, 0)
    result = CliRunner().invoke(app, [*arguments, "--resume"])
    assert result.exit_code == 0 or "n_invalid" in result.stderr
    assert case.bytes() == case.bytes("whole")


def test_a_run_that_was_to_be_replaced_is_not_taken_for_the_new_one(case):
    """Killed before its first commit, --overwrite leaves old results; --resume then scores, and does not show them."""
    run_job(case.job())

    def stopped():
        Steps(0).install()
        run_job(case.job(penalty="none"), overwrite=True)

    assert in_child(stopped) == -signal.SIGKILL
    assert case.committed() == (0, 0) and (case.folder / "run" / RESULTS).exists()
    resumed = run_job(case.job(penalty="none"), resume=True)
    assert resumed.options.penalty == "none" and resumed.result == run_job(case.job("new", penalty="none")).result
    with pytest.raises(SgevalError, match="expected one of them, got both"):
        run_job(case.job(), resume=True, overwrite=True)


def test_defaults_that_are_spelt_out_are_the_same_run(case):
    first = run_job(case.job())
    again = run_job(case.job(precision="fp32", preprocess="pil", format="sgeval"), resume=True)
    assert again.result == first.result


@pytest.mark.parametrize("tables", ["CREATE TABLE notes (a)", "CREATE TABLE batches (a)"])
def test_a_database_of_another_program_is_kept(case, tables):
    """A stranger's SQLite file under the journal's name is set aside with all it holds."""
    (case.folder / "run").mkdir()
    base = sqlite3.connect(case.folder / "run" / PROGRESS)
    base.execute(tables)
    base.execute(f"INSERT INTO {tables.split()[2]} VALUES (7)")
    base.commit()
    base.close()
    with pytest.warns(UserWarning, match="made by another program"):
        run_job(case.job(), resume=True)
    kept = sqlite3.connect(case.folder / "run" / f"{PROGRESS}.set-aside-1")
    assert kept.execute(f"SELECT a FROM {tables.split()[2]}").fetchall() == [(7,)]
    kept.close()


def test_the_journal_is_held_until_the_results_stand(case, monkeypatch):
    """While results are written a second process finds the run taken."""
    write = sgeval.runs.write_run

    def writing(*args):
        with pytest.raises(SgevalError, match="another process is working on this run"):
            Journal(case.folder / "run" / PROGRESS, {}, resume=True)
        return write(*args)

    monkeypatch.setattr("sgeval.cli.scoring.write_run", writing)
    run_job(case.job())
