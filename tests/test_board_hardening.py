"""The leaderboard against those who do not mean well: addresses of public advisories, uploads, visitors."""

import gzip
import json
import os
import pickle
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from board_attack_kit import GOOD, LINUX, SECRETS, another, digest, zipped

from benchmarks.perf.board_client import ANSWER, FAULTS, FILE, LEADERBOARD, LINK, Visitor, copied, serving
from sgeval.board import Results, read_board, standing
from sgeval.board.pages import submission_page
from sgeval.board.results import ENTRY, RUN
from sgeval.board.space import _stands

VIDEOS = (LEADERBOARD / "submissions/videos/careful.jsonl").read_bytes()
CANARY = "CANARY-7f3a9b-of-a-file"
SMALL = 2_000_000
OLD, SPOILT = "20251130-120000-0123abcd", "20251130-120000-0123abce"


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A board on loopback with small limits, secrets in its environment, and files that nobody may read."""
    pytest.importorskip("gradio")
    root = tmp_path_factory.mktemp("hardening")
    folder = copied(root / "board")
    with (folder / "board.yaml").open("a", encoding="utf-8") as file:
        file.write(f"limits: {{seconds: 60, upload_bytes: {SMALL}, unpacked_bytes: 8000000, an_hour: 2}}\n")
    for place in (root, folder, folder / "results", root / "tmp"):
        place.mkdir(exist_ok=True)
        (place / "canary.txt").write_text(CANARY, encoding="utf-8")
    _make_odd_results(folder / "results")
    with serving(folder, root / "log", {**SECRETS, "TMPDIR": str(root / "tmp")}) as served:
        yield served


def _make_odd_results(results):
    """An entry without its run, one of a task that the board no longer has, and one that cannot be read."""
    bare, old = sorted((results / "demo_situations").iterdir())[:2]
    shutil.rmtree(bare / RUN)
    gone = shutil.copytree(old, results / "gone" / OLD)
    whole = json.loads((gone / ENTRY).read_text(encoding="utf-8"))
    (gone / ENTRY).write_text(json.dumps({**whole, "id": OLD, "task": "gone"}), encoding="utf-8")
    spoilt = results / "demo_situations" / SPOILT
    spoilt.mkdir()
    (spoilt / ENTRY).write_text("[]", encoding="utf-8")


def raw(port, request, body=b"", *, head="Host: 127.0.0.1"):
    """What a server answers to bytes as they are."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as one:
        with_length = f"{head}\r\nContent-Length: {len(body)}" if body else head
        one.sendall(f"{request} HTTP/1.1\r\n{with_length}\r\nConnection: close\r\n\r\n".encode("latin-1") + body)
        found = b""
        while block := one.recv(1 << 16):
            found += block
        return found


def advisories(folder, work, port, event):
    """Requests of public advisories about Gradio and its like: a line, and a body for some."""
    canary, passwd, own = folder / "canary.txt", "/etc/passwd", folder / "board.yaml"
    api = "/gradio_api"
    gets = [
        *(f"{api}/file={path}" for path in (canary, passwd, own)),  # CVE-2024-1561, CVE-2023-51449
        f"/file={canary}",
        f"/file/{canary}",
        f"{api}/file/{canary}",
        f"{api}/FILE={canary}",  # GHSA-j2jg-fq62-7c3h: case
        f"{api}/file={str(canary).upper()}",
        f"{api}/file=..%2f..%2f..%2f..%2fetc%2fpasswd",
        f"{api}/file=%2Fetc%2Fpasswd",
        f"{api}/f%69le={canary}",
        f"{api}/file=\\\\127.0.0.1:{port}\\x",  # shares of Windows, CVE-2024-51751
        f"{api}/file=..\\..\\..\\..\\etc\\passwd",
        f"{api}/file=http://127.0.0.1:{port}/x",  # CVE-2023-41626
        f"{api}/file=file://{canary}",
        f"{api}/proxy=http://127.0.0.1:{port}/x",  # CVE-2026-28416
        f"{api}/proxy=https://x.hf.space@127.0.0.1:{port}/x",
        f"/static/../../../../../..{passwd}",  # CVE-2026-28414
        "/static/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/static//etc/passwd",
        "/static/c:/windows/win.ini",
        "/assets/..%5c..%5cboard.yaml",
        "/assets/%252e%252e/%252e%252e/etc/passwd",
        "/svelte/../../../../etc/passwd",
        f"{api}/custom_component/11/client/component/../../../../../../etc/passwd",
        f"{api}/custom_component/11/client/component/%2Fetc%2Fpasswd",
        f"{api}/stream/a/b/11/playlist-file",
        f"{api}/stream/..%2f..%2fetc/1/2/passwd.ts",
        f"{api}/deep_link?deep_link=../../canary",
        "/?deep_link=..%2f..%2fcanary",
        "/monitoring/summary",
        f"{api}/openapi.json",
        f"{api}/token",
        f"{api}/runs",
        "/canary.txt",
        "/board.yaml",
        "/results/canary.txt",
        "/submission/../board.yaml",
        "/submission/20261130-120000-a9b8854b/../../../canary.txt/report",
        "/theme.css/../../canary.txt",
        f"http://127.0.0.1:{port}/x",
        f"//127.0.0.1:{port}/x",
    ]
    lines = [(f"GET {each}", b"", "Host: 127.0.0.1") for each in gets]
    files = (
        {"path": str(canary), "meta": {"_type": "gradio.FileData"}},
        {"path": passwd, "orig_name": "x.jsonl", "meta": {"_type": "gradio.FileData"}},
        {"path": f"http://127.0.0.1:{port}/x.jsonl", "meta": {"_type": "gradio.FileData"}},
        {"path": f"http://2130706433:{port}/x.jsonl", "meta": {"_type": "gradio.FileData"}},
        {"url": f"http://127.0.0.1:{port}/x.jsonl", "path": "x", "meta": {"_type": "gradio.FileData"}},
        {"path": f"{work}/uploads/../work/../../canary.txt", "meta": {"_type": "gradio.FileData"}},
        {"path": ["/etc/passwd"], "meta": {"_type": "gradio.FileData"}},
    )
    for place in ("queue/join", "run/predict", "run/run", "api/run", "call/run"):
        for given in files:
            data = ["demo_situations", given, "x", "", "", 0]
            body = {"fn_index": event, "data": data, "session_hash": "advisory", "trigger_id": None}
            lines.append(
                (f"POST {api}/{place}", json.dumps(body).encode(), "Content-Type: application/json\r\nHost: a")
            )
    component = {"data": str(canary), "component_id": 47, "fn_name": "preprocess", "session_hash": "advisory"}
    lines.append((f"POST {api}/component_server", json.dumps(component).encode(), "Content-Type: application/json"))
    lines += [
        (f"POST {api}/stream/abc", b"{}", "Host: a"),
        (f"POST {api}/process_recording", b"{}", "Host: a"),
        (f"POST {api}/vibe-edit", b"{}", "Host: a"),
        (f"PUT {api}/upload", b"x", "Host: a"),
        ("DELETE /results", b"", "Host: a"),
        ("TRACE /", b"", "Host: a"),
        ("PROPFIND /", b"", "Host: a"),
        (f"CONNECT 127.0.0.1:{port}", b"", "Host: a"),
        (f"GET {api}/file={canary}", b"", "Host: a\r\nRange: bytes=0-9"),
        ("GET /config", b"", 'Host: "><img src=x onerror=alert(1)>'),
        ("GET /", b"", "Host: a\r\nX-Forwarded-Host: <script>alert(1)</script>"),
        ("GET /", b"", f"Host: a\r\nX-Gradio-Server: http://127.0.0.1:{port}/"),
        (f"GET {api}/queue/data?session_hash=a", b"", "Host: a\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13"),
    ]
    return lines


def test_no_request_of_an_advisory_gets_a_byte_of_a_file(board, nobody):
    port, came = nobody
    before = digest(board.folder)
    visitor = Visitor(board)
    work = Path(visitor.upload(b"{}", "x.jsonl")).parents[2]
    lines = advisories(board.folder, work, port, visitor.buttons[1])
    assert len(lines) >= 90
    forbidden = [
        CANARY.encode(),
        b"root:",
        b"demo model, which knows nothing else.\n",  # board.yaml, folded as in the file
        b"settings: {",
        b"import ",
        b"Traceback",
        str(board.folder).encode(),
        b"onerror",
        b"<script>alert",
        *(value.encode() for value in SECRETS.values()),
    ]
    for line, body, head in lines:
        if line.endswith("queue/data?session_hash=a"):
            continue  # waits for events; below
        found = raw(board.port, line, body, head=head)
        told = found.replace(b"https://raw.githubusercontent.com", b"")
        page = line.startswith("GET /") and (found.startswith(b"HTTP/1.1 200"))
        hits = [word for word in forbidden if word in told and not (page and word in (b"import ", b"onerror"))]
        assert not hits, (line, head, hits, found[:300])
        if not page:
            assert found.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")) or b'"event_id"' not in found, (line, found[:300])
            assert len(found.split(b"\r\n\r\n", 1)[-1].splitlines()) <= 1, (line, found)
    assert came == []
    after = {name: there for name, there in digest(board.folder).items() if "__pycache__" not in name}
    assert after == {name: there for name, there in before.items() if "__pycache__" not in name}


def test_pages_of_odd_addresses_are_the_boards_own(board):
    for path in ("/?deep_link=..%2f..%2fcanary", "/", "/config"):
        assert raw(board.port, f"GET {path}").startswith(b"HTTP/1.1 200")
    for target in ("/submission/20261130-120000-00000000", "/submission/0", "/submission/0/report"):
        found = raw(board.port, f"GET {target}")
        assert found.startswith(b"HTTP/1.1 404") and b"No such submission." in found
    name = sorted((board.folder / "results/demo_relations").glob("2026*"))[0].name
    assert b"default-src 'none'" in raw(board.port, f"GET /submission/{name}")


def test_pages_of_odd_results(board):
    bare = sorted((board.folder / "results/demo_situations").glob("2026*"))[0]
    assert raw(board.port, f"GET /submission/{bare.name}").startswith(b"HTTP/1.1 200")
    for target in (f"{bare.name}/report", OLD, SPOILT):
        found = raw(board.port, f"GET /submission/{target}")
        assert found.startswith(b"HTTP/1.1 404") and b"No such submission." in found
    whole = sorted((board.folder / "results/demo_situations").glob("2026*"))[1]
    for _ in ("made", "kept"):
        found = raw(board.port, f"GET /submission/{whole.name}/report")
        assert found.startswith(b"HTTP/1.1 200") and b"SSG role values" in found
    told = board.log.read_text(encoding="utf-8").splitlines()
    for name in (OLD, SPOILT):
        assert [line.startswith("sgeval: ") for line in told if name in line] == [True]


def test_an_entry_that_is_in_no_table_yet_has_no_page():
    found = read_board(LEADERBOARD)
    results = Results(LEADERBOARD / "results", found.tasks)
    first, *others = results.entries("demo_videos")
    place = standing(found.tasks["demo_videos"], others)
    assert submission_page(first, found, place, results) is None
    assert others[0].about.system in submission_page(others[0], found, place, results)


def test_where_an_entry_stands_has_no_stray_blank():
    tasks = read_board(LEADERBOARD).tasks
    row = standing(tasks["demo_videos"], Results(LEADERBOARD / "results", tasks).entries("demo_videos")).ranked[0]
    row = replace(row, score=100.0, rank=1, interval="[90.00, 100.00]")
    assert _stands(row, 3) == "with 100.00 [90.00, 100.00], rank 1 of 3"
    assert _stands(replace(row, interval=""), 3) == "with 100.00, rank 1 of 3"


@LINUX
def test_no_secret_is_left_in_the_server(board):
    environment = Path(f"/proc/{board.process.pid}/environ")
    if os.geteuid():
        with pytest.raises(PermissionError):
            environment.read_bytes()
    answers = [raw(board.port, f"GET {path}") for path in ("/", "/config", "/gradio_api/info")]
    assert not [value for value in SECRETS.values() for found in answers if value.encode() in found]
    assert "CANARY" not in board.log.read_text(encoding="utf-8")


def test_secrets_leave_the_environment(tmp_path):
    code = (
        "import json, os; from sgeval.board.server import _take_secrets;"
        "print(json.dumps([_take_secrets(), dict(os.environ)]))"
    )
    found = subprocess.run([sys.executable, "-c", code], env={**os.environ, **SECRETS}, capture_output=True, check=True)
    taken, environment = json.loads(found.stdout)
    assert taken["SGEVAL_RESULTS_TOKEN"] == SECRETS["SGEVAL_RESULTS_TOKEN"]
    assert not [value for value in environment.values() if "CANARY" in value]


# uploads


class Evil:
    """What runs where somebody unpickles it."""

    def __reduce__(self):
        return os.system, ("touch /tmp/CANARY-was-here",)


UPLOADS = {
    "a picture": ("x.jsonl", b"\x89PNG\r\n\x1a\n" + bytes(300)),
    "a pickle": ("x.json", pickle.dumps(Evil())),
    "gzip": ("x.jsonl", gzip.compress(GOOD)),
    "gzip by name": ("x.jsonl.gz", gzip.compress(GOOD)),
    "a program": ("x.py", b"print(1)"),
    "markup": ("x.html", b"<script>alert(1)</script>"),
    "nothing": ("x.jsonl", b""),
    "not UTF-8": ("x.jsonl", b"\xff\xfe\x00"),
    "deeply nested": ("x.json", b"[" * 900_000),
    "nested objects": ("x.jsonl", b'{"a":' * 200_000 + b"1" + b"}" * 200_000),
    "a zip bomb": ("x.zip", zipped(("x.jsonl", b" " * 100_000_000))),
    "a list of 10,000,000": ("x.zip", zipped(("x.json", b"[" + b"0," * 9_999_999 + b"0]"))),
    "a zip of many": ("x.zip", zipped(*((f"{at}.jsonl", b"{}") for at in range(50)))),
    "a zip that climbs": ("x.zip", zipped(("../../x.jsonl", GOOD))),
    "no zip": ("x.zip", b"PK\x03\x04" + bytes(50)),
    "a huge number": ("x.jsonl", b'{"frame_id": ' + b"9" * 100_000 + b"}"),
    "a name": ("<img src=x onerror=alert(1)>.jsonl", b"<script>alert(1)</script>"),
    "a name that climbs": ("../../../../results/x.jsonl", b"{"),
    "a long name": ("x" * 500 + ".jsonl", b"{"),
}


def is_one_line(answer, board):
    """A line for a reader: no traceback, no path of this machine."""
    return (
        answer
        and len(answer.splitlines()) == 1
        and len(answer) < 500
        and not any(word in answer for word in ("Traceback", str(board.folder), "/tmp", "site-packages", sys.prefix))
    )


@pytest.fixture(scope="module")
def told(board):
    """By name what comes of each upload; what the folder of results held before and after; the folder of uploads."""
    before = digest(board.folder / "results")
    paths = {name: Visitor(board).upload(data, file) for name, (file, data) in UPLOADS.items()}

    def submit(path):
        try:
            return Visitor(board).submit_uploaded("demo_situations", path, "somebody")
        except RuntimeError as fault:
            return str(fault)

    with ThreadPoolExecutor(4) as pool:
        answers = dict(zip(paths, pool.map(submit, paths.values()), strict=True))
    return answers, paths, before, digest(board.folder / "results")


@pytest.mark.parametrize("name", UPLOADS)
def test_an_upload_that_is_no_submission_is_answered_with_a_line(board, told, name):
    answers, paths, before, after = told
    path, answer = Path(paths[name]), answers[name]
    assert path.parents[1].name == "uploads" and board.folder.parent in path.parents
    if UPLOADS[name][0].endswith((".jsonl", ".json", ".zip")):
        words = [answer[ANSWER], *(cell for row in answer[FAULTS]["data"] for cell in row)]
        assert answer[LINK] == "" and all(is_one_line(each, board) for each in words if each), words
        assert path.exists()  # others may have sent the same
    else:
        assert "Invalid file type. Please upload" in answer
    assert after == before and not Path("/tmp/CANARY-was-here").exists()


def test_nothing_grows_where_files_are_made_for_a_moment(board, told):
    left = [path for path in (board.folder.parent / "tmp").glob("*/*") if path.is_dir()]
    assert {path.name for path in left} <= {"work", "uploads", "reports"}


def test_a_body_that_is_too_large_is_refused(board):
    uploads = Path(Visitor(board).upload(b"1", "x.json")).parents[1]
    before, there = digest(board.folder), digest(uploads)
    for target, most in (("upload", SMALL + 100_000), ("queue/join", 1_000_000)):
        line = f"POST /gradio_api/{target}"
        told = raw(board.port, line, head=f"Host: a\r\nContent-Length: {most + 1}")
        assert told.startswith(b"HTTP/1.1 413") and told.endswith(b'"}')
        kind = (
            "Content-Type: multipart/form-data; boundary=x" if target == "upload" else "Content-Type: application/json"
        )
        part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="x.json"\r\n\r\n' + b"1" * 100_000
        with socket.create_connection(("127.0.0.1", board.port), timeout=20) as one:
            one.sendall(f"{line} HTTP/1.1\r\nHost: a\r\n{kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            answer = b""
            with suppress(OSError):  # the server may hang up
                for _ in range(40):  # 4 MB, of which nobody said how much it is
                    one.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                    part = b"1" * 100_000
                one.sendall(b"0\r\n\r\n")
            with suppress(OSError):
                answer = one.recv(1000)
        assert answer.startswith(b"HTTP/1.1 413"), answer
    raw(board.port, "POST /gradio_api/upload", head="Host: a\r\nContent-Length: -1")
    assert digest(board.folder) == before
    assert digest(uploads) == there


def test_the_same_file_of_several_at_once_is_added_once_and_lost_to_none(board):
    def submit(visitor):
        return visitor.submit("demo_situations", another(1), "twice", file="same.jsonl")

    with ThreadPoolExecutor(6) as pool:
        told = list(pool.map(submit, [Visitor(board) for _ in range(6)]))
    (first,) = [each for each in told if each[ANSWER].startswith("Published with ")]
    assert first[LINK].startswith('<a href="submission/') and first[FILE] is None
    others = [each for each in told if each is not first]
    assert all("on the board already" in each[ANSWER] and each[LINK] == "" for each in others), others
    assert raw(board.port, f"GET /{first[LINK].split(chr(34))[1]}").startswith(b"HTTP/1.1 200")


def test_a_visitor_has_so_many_an_hour(board):
    visitor = Visitor(board)
    path = visitor.upload(b"", "x.jsonl")
    told = [visitor.submit_uploaded("demo_relations", path, None)[ANSWER] for _ in range(3)]
    assert told[0] == told[1] != told[2] and "expected at most 2 in an hour" in told[2]
    assert Visitor(board).submit_uploaded("demo_relations", path, None)[ANSWER] == told[0]
