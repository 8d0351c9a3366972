"""The process that reads a submission: what it reaches, what it may take, how it ends, and what is left of it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from board_attack_kit import GOOD, LINUX, SECRETS, zipped

from benchmarks.perf.board_client import LEADERBOARD, copied
from sgeval.board import Results, child, read_board, scoring
from sgeval.board.results import About
from sgeval.board.scoring import Scorer
from sgeval.errors import SgevalError


@pytest.fixture
def scorer(tmp_path):
    """A scorer of a board with these limits, and with results of its own."""

    def make(keep=None, **limits):
        folder = copied(tmp_path / "board")
        with (folder / "board.yaml").open("a", encoding="utf-8") as file:
            file.write(f"limits: {json.dumps(limits)}\n")
        board = read_board(folder)
        return Scorer(board, Results(tmp_path / "results", board.tasks), keep)

    return make


def written(folder, data, name="x.jsonl"):
    """A file with these bytes."""
    path = folder / name
    path.write_bytes(data)
    return path


PROBE = """
import json, os, resource, socket, subprocess, sys
os.symlink("/proc", "odd")
from sgeval.board import child
child._limit(2000, 60)
def tried(do):
    try:
        do()
    except PermissionError:
        return "refused"
    except Exception as fault:
        return type(fault).__name__
    return "done"
found = {
    "connect": tried(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)),
    "bind": tried(lambda: socket.socket().bind(("127.0.0.1", 0))),
    "name": tried(lambda: socket.getaddrinfo("localhost", 80)),
    "datagram": tried(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))),
    "run": tried(lambda: subprocess.run(["true"])),
    "system": tried(lambda: os.system("true")),
    "exec": tried(lambda: os.execv("/bin/true", ["true"])),
    "fork": tried(lambda: os.fork() or os._exit(0)),
    "spawn": tried(lambda: os.posix_spawn("/bin/true", ["true"], {})),
    "parent": tried(lambda: open(f"/proc/{os.getppid()}/environ")),
    "itself": tried(lambda: open("/proc/self/../self/environ")),
    "two slashes": tried(lambda: open("//proc/self/environ")),
    "bytes": tried(lambda: open(b"//proc/self/environ")),
    "a link": tried(lambda: open("odd/self/environ")),
    "the folder": tried(lambda: os.open("/proc", os.O_RDONLY)),
    "big": tried(lambda: bytearray(3_000_000_000)),
}
found["status"] = tried(lambda: open("/proc/self/status"))
found["seconds"] = resource.getrlimit(resource.RLIMIT_CPU)
print(json.dumps(found))
"""


@LINUX
def test_a_child_reaches_nothing(nobody, tmp_path):
    port, came = nobody
    given = {**os.environ, "PYTHONPATH": str(LEADERBOARD.parents[1])}
    command = [sys.executable, "-c", PROBE, str(port)]
    told = subprocess.run(command, capture_output=True, timeout=60, cwd=tmp_path, env=given)
    found = json.loads(told.stdout.splitlines()[-1])
    assert found.pop("big") == "MemoryError" and found.pop("status") == "done"
    soft, hard = found.pop("seconds")
    assert soft < hard  # else the signal is that of too much memory
    assert set(found.values()) == {"refused"}, (found, told.stderr)
    assert came == []


def test_a_child_is_told_of_no_secret(scorer, tmp_path, monkeypatch):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SGEVAL_SOMETHING", "CANARY")
    seen = []

    def look(command, folder, environment, seconds):
        seen.append((command, environment, list(folder.iterdir())))
        return 0, ""

    monkeypatch.setattr(scoring, "_finished", look)
    made = scorer()
    with pytest.raises(SgevalError, match="the scorer stopped; nothing was added"):
        made.check(made.board.tasks["demo_situations"], written(tmp_path, GOOD))
    ((_, environment, work),) = seen
    assert work == [] and "CANARY" not in str(environment)
    allowed = {
        *scoring.KEPT_ENVIRONMENT,
        "PYTHONPATH",
        "HOME",
        "TMPDIR",
        "HF_HUB_OFFLINE",
        "TQDM_DISABLE",
        "OMP_NUM_THREADS",
    }
    assert environment.keys() <= allowed


@LINUX
@pytest.mark.parametrize("limits, words", [({"memory_mb": 400}, "needed more than 400 MB"), ({"seconds": 1}, "in 1 s")])
def test_a_submission_that_takes_too_much_is_told_so(scorer, tmp_path, monkeypatch, limits, words):
    monkeypatch.setattr(scoring, "GRACE", 0)
    made = scorer(**limits, graphs=10**8)
    many = zipped(("x.json", b"[" + b'{"a":[]},' * 2_000_000 + b"0]"))
    with pytest.raises(SgevalError, match=words) as told:
        made.submit(made.board.tasks["demo_situations"], written(tmp_path, many, "x.zip"), About("greedy"))
    assert "\n" not in str(told.value)
    assert not (tmp_path / "results").exists()


@LINUX
@pytest.mark.parametrize("end", ["time", "killed"])
def test_all_processes_of_a_child_end_with_it(tmp_path, end):
    mark = tmp_path / "alive"
    tick = f"import time\nwhile True: open({str(mark)!r}, 'w').write(str(time.time())); time.sleep(0.05)"
    suicide = "os.kill(os.getpid(), 9)" if end == "killed" else "time.sleep(60)"
    code = f"import os, subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {tick!r}]); time.sleep(1)\n{suicide}"
    found, _ = scoring._finished(
        [sys.executable, "-c", code], tmp_path, {"PATH": os.environ["PATH"]}, 2 - scoring.GRACE
    )
    assert found == (-signal.SIGKILL if end == "killed" else None)
    said = mark.read_text()
    time.sleep(0.4)
    assert mark.read_text() == said


@LINUX
@pytest.mark.parametrize(
    "number, words",
    [
        (signal.SIGKILL, "expected to be scored, the scorer was stopped from outside"),
        (getattr(signal, "SIGXCPU", 0), "expected to be scored in 1200 s of processor time, took longer"),  # 4 × 300
        (signal.SIGSEGV, "expected to be scored, the scorer stopped"),
    ],
)
def test_a_child_that_dies_adds_nothing(scorer, tmp_path, monkeypatch, number, words):
    monkeypatch.setattr(scoring, "_finished", lambda *_: (-number, ""))
    made = scorer()
    with pytest.raises(SgevalError, match=words):
        made.submit(made.board.tasks["demo_situations"], written(tmp_path, GOOD), About("dead"))
    assert not (tmp_path / "results").exists()


@LINUX
def test_a_child_without_its_parent_ends_at_once(tmp_path):
    command = [sys.executable, child.__file__, str(tmp_path / "job.json"), str(os.getpid() + 1)]
    told = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (child.ORPHANED, b"", b"")


@LINUX
def test_a_child_ends_with_its_parent_from_the_start(tmp_path):
    os.mkfifo(job := tmp_path / "job.json")  # it waits for its job for ever
    code = (
        "import os, subprocess, sys, time; from pathlib import Path\n"
        f"made = subprocess.Popen([sys.executable, {child.__file__!r}, {str(job)!r}, str(os.getpid())])\n"
        "print(made.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        number = int(parent.stdout.readline())
        with job.open("wb"):  # opens once the child reads
            parent.kill()
            parent.wait()
            assert _ends(number)


def _ends(number):
    """Whether a process ends within some seconds."""
    place = Path(f"/proc/{number}/stat")
    for _ in range(200):
        with suppress(OSError):
            if place.read_text().rpartition(")")[2].split()[0] != "Z":
                time.sleep(0.05)
                continue
        return True
    os.kill(number, signal.SIGKILL)
    return False


def test_a_full_disk_is_told_and_the_file_stays(scorer, tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device", "/secret/place")

    kept = []
    made = scorer(kept.append)
    file = written(tmp_path, GOOD)
    monkeypatch.setattr(Results, "add", full)
    words = r"submission: cannot be scored or added now \(No space left on device\); please try again later"
    with pytest.raises(SgevalError, match=f"^{words}$"):
        made.submit(made.board.tasks["demo_situations"], file, About("full"))
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(SgevalError, match=f"^{words}$"):
        made.check(made.board.tasks["demo_situations"], file)
    assert file.read_bytes() == GOOD and kept == []
    assert capsys.readouterr().err.count("/secret/place") == 2  # the keeper's log says where


@LINUX
def test_folders_of_processes_that_were_killed_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with scoring.made_folder() as mine:
        kept = [
            Path(mine).name,
            "sgeval-board-x-1",
            "sgeval-board-1-x",
            "sgeval-boards",
            "sgeval-board-99999999999999999999-x",
        ]
        for name in (f"sgeval-board-{dead.pid}-x", *kept[1:]):
            (tmp_path / name / "work").mkdir(parents=True)
        (tmp_path / f"sgeval-board-{dead.pid}-link").symlink_to(tmp_path / kept[1])
        scoring.sweep_folders()
        assert {*kept, f"sgeval-board-{dead.pid}-link"} == {path.name for path in tmp_path.iterdir()}
