"""The process that reads one submission: `python child.py JOB PARENT`, where PARENT is the process that started it.

It ends with that process, from its first line on: started as a file, it imports nothing of sgeval before. It limits itself
before it looks at the submission: memory, processor time, size of what it writes, no sockets, no programs, no look into
other processes. The answer is `answer.json`: `refused` (one line), `out_of_order` (what is wrong with the board), or faults,
counts and warnings; and, where it scored, how much of the references the submission repeats, with a run folder beside it.
"""

import ctypes
import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

ANSWER = "answer.json"
OUT_OF_ORDER = "out_of_order"
FORBIDDEN = (
    "socket.connect",
    "socket.bind",
    "socket.getaddrinfo",
    "socket.sendto",
    "socket.sendmsg",
    "os.system",
    "subprocess.Popen",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.startfile",
)
PROCESSES = "/proc/"
ORPHANED = 3
"""The exit code of a process whose parent is gone."""
ALLOWED_THERE = ("/proc/cpuinfo", "/proc/meminfo", "/proc/self/status", "/proc/self/maps")
"""What libraries look up about the machine and themselves."""
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux
LARGEST_OUTPUT = 512 * 1024**2
PROCESSOR_TIMES = 4
"""Processor time by wall time that is allowed."""
LAST_SECONDS = 5
"""Of processor time between the signal that says it is used up and the one that kills."""


def main() -> None:
    """Do the job and write the answer."""
    _end_with(int(sys.argv[2]))
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    from sgeval.board.settings import OutOfOrder
    from sgeval.errors import SgevalError
    from sgeval.files import atomic_write

    answer: dict[str, Any]
    try:
        answer = _answer(job)
    except OutOfOrder as fault:
        answer = {OUT_OF_ORDER: str(fault)}
    except SgevalError as fault:
        answer = {"refused": str(fault)}
    with atomic_write(Path(job["out"]) / ANSWER) as file:
        json.dump(answer, file)


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    from sgeval.board.settings import OutOfOrder, read_board
    from sgeval.errors import SgevalError

    try:
        board = read_board(job["board"])
        task = board.tasks[job["task"]]
    except (SgevalError, KeyError) as fault:  # it was changed since the start
        raise OutOfOrder(str(fault)) from None
    _limit(board.limits.memory_mb, board.limits.seconds)
    from sgeval.board.reading import answer_to

    out = Path(job["out"])
    os.chdir(out)  # the file goes by its name alone, so that no message tells where it lies
    return answer_to(task, board.limits, Path(job["file"]), out, job["name"])


def _end_with(parent: int) -> None:
    """End when the parent does, and at once where it has ended."""
    with suppress(AttributeError, OSError):  # another system
        ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise SystemExit(ORPHANED)


def _limit(memory_mb: int, seconds: int) -> None:
    """Take from this process what reading and scoring a file does not need."""
    import resource

    for what, most, more in (
        (resource.RLIMIT_DATA, memory_mb * 1024**2, 0),
        (resource.RLIMIT_CPU, seconds * PROCESSOR_TIMES, LAST_SECONDS),  # SIGXCPU first: SIGKILL may be anybody's
        (resource.RLIMIT_FSIZE, LARGEST_OUTPUT, 0),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        resource.setrlimit(what, (most, most + more))
    sys.addaudithook(_refuse)


def _refuse(event: str, given: Any) -> None:
    if event in FORBIDDEN or (event == "open" and _is_of_process(given[0])):
        raise PermissionError(f"{event} is not for the scorer of a board")


def _is_of_process(path: Any) -> bool:
    """Whether a path leads to what the system tells of processes, however it is written."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return False
    named = os.path.normpath(Path.cwd() / os.fsdecode(path)).lstrip("/")  # two slashes at the start would stay
    if f"/{named}" in ALLOWED_THERE:
        return False
    return any(f"{whole}/".startswith(PROCESSES) for whole in (f"/{named}", os.path.realpath(f"/{named}")))


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file, whose names are no top-level modules
    main()
