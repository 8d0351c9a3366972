"""A submission, scored in a child process: nothing of a stranger's is read in the process that serves the board.

The child (see `child`) gets a copy of the file, an empty working folder, no secrets and no network; its memory, time and
files are limited. What it leaves is a run folder and an answer of a few lines.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import sgeval
from sgeval import strict_json
from sgeval.board import child
from sgeval.board.results import RUN, About, Entry, Results, make_entry
from sgeval.board.settings import Board, Task
from sgeval.errors import SgevalError, counted, one_line, shown
from sgeval.runs import read_run
from sgeval.submission import ENDINGS as OF_ROWS

JOB, SUBMISSION = "job.json", "submission"
ENDINGS = (*OF_ROWS, ".zip")
FOLDERS = "sgeval-board-"
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV", "SYSTEMROOT")
"""All that a child is told of the environment: keys and tokens are not among it."""
GRACE = 5  # seconds a child gets beyond its own limit


@dataclass(frozen=True)
class Outcome:
    """What came of a submission: faults, or counts of what is in it and, where it was scored, its entry."""

    faults: tuple[Mapping[str, Any], ...] = ()
    """Each with `pointer` and `message`."""
    n_faults: int = 0
    counts: Mapping[str, int] | None = None
    warnings: tuple[str, ...] = ()
    entry: Entry | None = None


class Scorer:
    """Scores submissions to a board and adds them to its results."""

    def __init__(self, board: Board, results: Results, keep: Callable[[Path], None] | None = None) -> None:
        """`keep` is called with the folder of each entry that was added."""
        self.board, self.results, self.keep = board, results, keep
        self._adding = Lock()

    def check(self, task: Task, file: Path) -> Outcome:
        """List what is wrong with a submission."""
        with _room() as place:
            return _outcome(self._run(task, file, place, None))

    def submit(self, task: Task, file: Path, about: About) -> Outcome:
        """Score a submission and add it, unless something is wrong with it.

        Raises `SgevalError` in one line for what is no submission, takes more than the limits allow, or is on the board,
        and where the disk takes no more. The file stays as it is.
        """
        if not task.submissions:
            raise SgevalError(f"{task.id}: takes no submissions; its results are added by the board's keeper")
        with _room() as place:
            answer = self._run(task, file, place, about.system)
            outcome = _outcome(answer)
            if outcome.faults:
                return outcome
            run = read_run(place / RUN)
            entry = make_entry(run, task, about, copied=float(answer["copied"]), scored_here=True)
            with self._adding:
                folder = self.results.add(entry, run)
        if self.keep is not None:
            self.keep(folder)
        return Outcome(counts=outcome.counts, warnings=outcome.warnings, entry=entry)

    def _run(self, task: Task, file: Path, place: Path, name: str | None) -> dict[str, Any]:
        """The answer of a child; it scores what is to be known under a name."""
        limits = self.board.limits
        ending = file.suffix.lower()
        if ending not in ENDINGS:
            raise SgevalError(f"submission: expected a file that ends in {', '.join(ENDINGS)}, got {shown(ending)}")
        size = file.stat().st_size
        if size > limits.upload_bytes:
            raise SgevalError(f"submission: expected at most {limits.upload_bytes:,} bytes, got {size:,}")
        copy = shutil.copyfile(file, place / f"{SUBMISSION}{ending}")
        work = place / "work"
        work.mkdir()
        job = {
            "board": str(self.board.folder),
            "task": task.id,
            "file": copy.name,
            "out": str(place),
            "name": name,
        }
        (place / JOB).write_text(json.dumps(job), encoding="utf-8")
        command = [sys.executable, child.__file__, str(place / JOB), str(os.getpid())]
        kept = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
        given = {
            "PYTHONPATH": str(Path(sgeval.__file__).parents[1]),
            "HOME": str(work),
            "TMPDIR": str(work),
            "HF_HUB_OFFLINE": "1",
            "TQDM_DISABLE": "1",
            "OMP_NUM_THREADS": "1",
        }
        code, words = _finished(command, work, kept | given, limits.seconds)
        answer = place / child.ANSWER
        if code is None:
            raise SgevalError(f"submission: expected to be scored in {limits.seconds} s, took longer")
        if code == -getattr(signal, "SIGXCPU", 0) != 0:
            most = limits.seconds * child.PROCESSOR_TIMES
            raise SgevalError(f"submission: expected to be scored in {most} s of processor time, took longer")
        if code != 0 or not answer.is_file():
            raise SgevalError(f"submission: expected to be scored, {_why_stopped(code, words, limits.memory_mb)}")
        found: dict[str, Any] = strict_json.read_file(answer)
        if child.OUT_OF_ORDER in found:
            print(f"sgeval: {task.id}: {one_line(str(found[child.OUT_OF_ORDER]))}", file=sys.stderr)
            words = "the board is not in order, and its keeper has to mend it; the submission is not at fault"
            raise SgevalError(f"{task.id}: {words}, and nothing was added")
        return found


def _why_stopped(code: int, words: str, memory_mb: int) -> str:
    """Why a child left no answer. Its own limit of memory is told by what it says; a kill comes from outside."""
    if "MemoryError" in words or "bad_alloc" in words:
        return f"needed more than {memory_mb:,} MB"
    if code == -signal.SIGKILL:
        return (
            "the scorer was stopped from outside, maybe for want of memory; nothing was added; please try again later"
        )
    return "the scorer stopped; nothing was added"


def check_board(board: Board) -> None:
    """Check the references of every task that takes submissions, before any comes. Raises `SgevalError` where one has a
    fault, after a line a fault to standard error."""
    from sgeval.board.reading import faults_of_references

    n_faults = 0
    for task in board.tasks.values():
        faults = faults_of_references(task) if task.submissions else ()
        for fault in faults:
            print(
                f"sgeval: {task.id}: {one_line(task.references.name)}{fault.pointer}: {fault.message}", file=sys.stderr
            )
        n_faults += len(faults)
    if n_faults:
        raise SgevalError(f"{board.folder.name}: expected references without faults, got {counted(n_faults, 'fault')}")


@contextmanager
def _room() -> Iterator[Path]:
    """A folder for a moment. Where the disk fails, the visitor is told in one line, and the log where."""
    try:
        with made_folder() as place:
            yield Path(place)
    except OSError as fault:
        print(f"sgeval: submission: {one_line(str(fault))}", file=sys.stderr)
        why = fault.strerror or type(fault).__name__
        raise SgevalError(f"submission: cannot be scored or added now ({why}); please try again later") from None


def made_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for a moment, named after this process."""
    return tempfile.TemporaryDirectory(prefix=f"{FOLDERS}{os.getpid()}-", ignore_cleanup_errors=True)


def sweep_folders() -> None:
    """Remove what `made_folder` made for processes of this user that were killed."""
    if os.name != "posix":
        return
    for path in Path(tempfile.gettempdir()).glob(f"{FOLDERS}*-*"):
        number = path.name.removeprefix(FOLDERS).split("-")[0]
        if not number.isascii() or not number.isdigit():
            continue
        with suppress(OSError, OverflowError):  # gone meanwhile, or of another user
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            try:
                os.kill(int(number), 0)
            except ProcessLookupError:
                shutil.rmtree(path, ignore_errors=True)


def _finished(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: int
) -> tuple[int | None, str]:
    """Exit code and last words of a command; no code where it took too long. All its processes end with it."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(timeout=seconds + GRACE)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if hasattr(os, "killpg"):
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
        said.seek(max(0, said.tell() - 4_000))
        return code, said.read().decode(errors="replace")


def _outcome(answer: Mapping[str, Any]) -> Outcome:
    if "refused" in answer:
        raise SgevalError(one_line(str(answer["refused"])))
    return Outcome(tuple(answer["faults"]), int(answer["n_faults"]), dict(answer["counts"]), tuple(answer["warnings"]))
