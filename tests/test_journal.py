"""The journal of a run: disks that are full, files that are damaged or another's, and a second process."""

import os
import signal
import sqlite3

import pytest
from kit import in_child
from resume_kit import prepared

import sgeval.runs
from sgeval.cli.scoring import run_job
from sgeval.errors import SgevalError, Unfinished
from sgeval.journal import Journal
from sgeval.runs import PROGRESS, RESULTS

case = pytest.fixture(prepared)


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
