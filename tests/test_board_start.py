"""A board that is started and ended: what is wrong at the start is one line, and an end leaves nothing."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from board_attack_kit import LINUX

from benchmarks.perf.board_client import LEADERBOARD, copied, free_port


def started(folder, **environment):
    """`python app.py`, its output in one pipe."""
    root = str(LEADERBOARD.parents[1])
    given = {**os.environ, "PYTHONPATH": root, "TMPDIR": str(folder.parent), **environment}
    command = [sys.executable, "app.py"]
    return subprocess.Popen(command, cwd=folder, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


WRONG = {
    "port": "expected a port",
    "taken": "cannot be listened on (Address already in use); GRADIO_SERVER_PORT chooses",
    "board": "board/board.yaml: tasks[0]",
    "no README": "README.md: expected the about page, found none",
    "a README of bytes": "README.md: expected UTF-8 text",
    "a file": "results: expected a folder of results that can be written, found a file",
    "nowhere": "expected a folder of results that can be written, got: ",
}


STARTS = """
import json, os, sys
from sgeval.board.server import serve
here, place = os.getcwd(), os.environ["TMPDIR"]
for folder, port in json.loads(sys.argv[1]):
    os.environ |= {"GRADIO_SERVER_PORT": port, "TMPDIR": place}
    try:
        serve(folder, folder + "/results")
    except SystemExit as end:
        print(end.code, file=sys.stderr)
    os.chdir(here)
"""


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """By fault what a start says: all in one process, which loads the package once."""
    root, taken = tmp_path_factory.mktemp("wrong"), socket.create_server(("127.0.0.1", 0))
    cases = []
    for fault in WRONG:
        folder = copied(root / fault.replace(" ", "_"))
        results = folder / "results"
        if fault == "board":
            (folder / "board.yaml").write_text("title: x\ntasks: [{id: A}]\n", encoding="utf-8")
        elif fault == "no README":
            (folder / "README.md").unlink()
        elif fault == "a README of bytes":
            (folder / "README.md").write_bytes(b"\xff")
        elif fault in ("a file", "nowhere"):
            shutil.rmtree(results)
            results.write_bytes(b"") if fault == "a file" else results.symlink_to("/proc/nothing")
        port = {"port": "no", "taken": str(taken.getsockname()[1])}.get(fault) or str(free_port())
        cases.append((str(folder), port))
    given = {**os.environ, "PYTHONPATH": str(LEADERBOARD.parents[1]), "TMPDIR": str(root)}
    command = [sys.executable, "-c", STARTS, json.dumps(cases)]
    told = subprocess.run(command, env=given, capture_output=True, text=True, timeout=60)
    taken.close()
    lines = told.stderr.splitlines()
    assert told.stdout == "" and len(lines) == 2 * len(WRONG), told
    return dict(zip(WRONG, zip(lines[::2], lines[1::2], strict=True), strict=True))


@LINUX
@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_at_the_start_is_one_line(wrong, fault):
    line, code = wrong[fault]
    assert line.startswith("sgeval: ") and line.count(WRONG[fault]) == 1 and code == "2"


@LINUX
def test_a_board_is_ended_without_a_trace(tmp_path):
    pytest.importorskip("gradio")
    folder = copied(tmp_path / "board")
    before = started(folder, GRADIO_SERVER_PORT="no")
    before.communicate(timeout=60)
    (tmp_path / f"sgeval-board-{before.pid}-x").mkdir()  # of one that was killed
    process = started(folder, GRADIO_SERVER_PORT=str(free_port()))
    assert process.stdout.readline().startswith("The board is at http://127.0.0.1:")
    (work,) = tmp_path.glob("sgeval-board-*")
    assert work.name.startswith(f"sgeval-board-{process.pid}-")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and said == ""
    assert not list(tmp_path.glob("sgeval-board-*"))
