"""The leaderboard against those who do not mean well: addresses of public advisories, uploads, and what a scorer may do."""

import asyncio
import gzip
import hashlib
import io
import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.perf.board_client import ANSWER, FAULTS, FILE, LEADERBOARD, LINK, Visitor, copied, free_port, serving
from sgeval.board import Results, child, read_board, scoring, server, standing
from sgeval.board.guard import FULL, KEPT_SECONDS, KEPT_WHEN_FULL, Guard, names_uploads_alone
from sgeval.board.pages import submission_page
from sgeval.board.remote import Remote
from sgeval.board.results import ENTRY, RUN, About
from sgeval.board.scoring import Scorer
from sgeval.board.space import Visitors, _stands, _visitor
from sgeval.errors import SgevalError

GOOD = (LEADERBOARD / "submissions/situations/average.jsonl").read_bytes()
VIDEOS = (LEADERBOARD / "submissions/videos/careful.jsonl").read_bytes()
CANARY = "CANARY-7f3a9b-of-a-file"
SECRETS = {
    name: f"CANARY-secret-{name}"
    for name in ("SGEVAL_RESULTS_TOKEN", "HF_TOKEN", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "ANTHROPIC_API_KEY")
}
SMALL = 2_000_000
OLD, SPOILT = "20251130-120000-0123abcd", "20251130-120000-0123abce"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


def another(number):
    """A submission like `GOOD` that says one other thing."""
    return GOOD.replace(b'"carefully"', f'"in manner {number}"'.encode(), 1)


def digest(folder):
    """What a folder holds: names and bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


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


@pytest.fixture
def nobody():
    """A port of this machine that nobody should come to; the visitors that came."""
    came, server = [], socket.create_server(("127.0.0.1", 0))

    def listen():
        while True:
            try:
                one, _ = server.accept()
            except OSError:
                return
            came.append(one.recv(100))
            one.close()

    threading.Thread(target=listen, daemon=True).start()
    yield server.getsockname()[1], came
    server.close()


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


def test_tables_do_not_wait_for_the_network():
    calls = []
    tables = SimpleNamespace(renew=lambda task: calls.append(("renew", task)))
    remote = SimpleNamespace(keep=lambda folder: calls.append(("keep", folder.name)))
    server._after_adding(tables, remote)(Path("results/videos/1"))
    server._after_adding(tables, None)(Path("results/videos/2"))
    assert calls == [("renew", "videos"), ("keep", "1"), ("renew", "videos")]


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


def zipped(*files):
    """A zip of names and bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return out.getvalue()


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
    assert {path.name for path in left} == {"work", "uploads", "reports"}


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


def test_the_folder_of_uploads_is_swept_and_has_an_end(tmp_path):
    guard = Guard(None, 100, tmp_path)
    for number in range(19):
        (tmp_path / f"{number:x}").mkdir()
        (tmp_path / f"{number:x}" / "x.json").write_bytes(bytes(100))
    assert guard._has_room(100) and not guard._has_room(101)  # of 20 × 100
    (tmp_path / "f" / "y.json").write_bytes(bytes(90))
    assert guard._has_room(10) and not guard._has_room(11)
    for path in (tmp_path / "0", tmp_path / "1"):
        os.utime(path, (time.time() - KEPT_SECONDS - 60,) * 2)
    (tmp_path / "tmp0").write_bytes(b"of an upload that was cut")
    guard._sweep(KEPT_SECONDS)
    assert guard._has_room(210) and not (tmp_path / "0").exists() and not (tmp_path / "tmp0").exists()


def send(guard, path, body, announced=None):
    """What a guard answers to a POST; without an announcement it comes in chunks."""
    said, headers = [], [(b"host", b"a")]
    if announced is not None:
        headers.append((b"content-length", str(announced).encode()))

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def note(message):
        said.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    asyncio.run(guard(scope, receive, note))
    return said[0]["status"], said[1]["body"]


async def fine(scope, receive, send):
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": b""})


def test_an_upload_takes_the_room_that_it_announces(tmp_path):
    guard = Guard(fine, 1_000_000, tmp_path)
    guard._uploading, guard._reserved = 21, 21 * 1_000  # small ones that are under way
    assert send(guard, "/gradio_api/upload", b"1", 1)[0] == 200
    guard._reserved = 19_500_000  # of 20,000,000
    assert send(guard, "/gradio_api/upload", b"1", 500_000)[0] == 200
    status, body = send(guard, "/gradio_api/upload", b"1", 500_001)
    assert status == 503 and json.loads(body) == {"detail": FULL}
    assert send(guard, "/gradio_api/upload", b"1")[0] == 503  # of which nobody said how much it is
    assert (guard._uploading, guard._reserved) == (21, 19_500_000)


def test_an_upload_that_is_named_stays(tmp_path):
    guard = Guard(fine, 100, tmp_path)
    old = time.time() - KEPT_WHEN_FULL - 60
    for name in ("0a", "0b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_bytes(bytes(1_000))
        os.utime(tmp_path / name, (old, old))
    event = {"data": [{"path": str(tmp_path / "0a/x.json")}, {"path": str(tmp_path / "0c/x.json")}]}
    assert send(guard, "/gradio_api/queue/join", json.dumps(event).encode(), 100)[0] == 200
    assert send(guard, "/gradio_api/upload", b"1", 1)[0] == 200  # room is short: what nobody named goes
    assert [path.name for path in tmp_path.iterdir()] == ["0a"]


def test_a_body_names_uploads_alone(tmp_path):
    up = tmp_path / "uploads"
    fine = [{"path": f"{up}/0a/x.json"}, {"a": [1, "http://x"]}, [], None]
    odd = ["http://x", "/etc/passwd", f"{up}", f"{up}/0a", f"{up}/0a/..", f"{up}/../a/b", f"{up}/0a/b/c", 3, None, {}]
    assert all(names_uploads_alone(json.dumps(each).encode(), up) for each in fine)
    assert not any(names_uploads_alone(json.dumps({"data": [{"path": each}]}).encode(), up) for each in odd)
    assert not names_uploads_alone(b"[" * 100_000, up) and not names_uploads_alone(b"\xff", up)


# submitting


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


@pytest.mark.parametrize(
    ("lines", "space", "name"),
    [
        ([b"6.6.6.6"], "", "1.2.3.4"),  # no proxy: whoever writes the header may write anything
        ([b"6.6.6.6, 7.7.7.7"], "me/board", "7.7.7.7"),
        ([b"6.6.6.6", b"7.7.7.7, 8.8.8.8"], "me/board", "8.8.8.8"),
        ([], "me/board", "1.2.3.4"),
    ],
)
def test_who_a_visitor_is(monkeypatch, lines, space, name):
    gradio = pytest.importorskip("gradio")
    fastapi = pytest.importorskip("fastapi")
    monkeypatch.setenv("SPACE_ID", space)
    headers = [(b"x-forwarded-for", line) for line in lines]
    scope = {"type": "http", "headers": headers, "client": ("1.2.3.4", 5)}
    assert _visitor(gradio.Request(fastapi.Request(scope))) == name


def test_visitors_are_forgotten_after_an_hour():
    clock = [0.0]
    visitors = Visitors(1, lambda: clock[0])
    visitors.count("a")
    with pytest.raises(SgevalError, match="at most 1 in an hour"):
        visitors.count("a")
    visitors.count("b")
    clock[0] = 3600
    visitors.count("a")
    assert visitors._seen.keys() == {"a"}


# the child


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
        (signal.SIGKILL, "expected to be scored, needed more than 4,000 MB"),
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


# results elsewhere


class Hub:
    """A repository that fails as often as it is told."""

    def __init__(self, fails):
        self.fails, self.there = fails, []

    def file_exists(self, repo, name, repo_type):
        return name in self.there

    def upload_folder(self, *, path_in_repo, folder_path, **_):
        if self.fails:
            self.fails -= 1
            raise ConnectionError("hub\nis <b>away</b>")
        self.there += [f"{path_in_repo}/{path.name}" for path in folder_path.iterdir()]


def test_an_entry_that_cannot_be_uploaded_stays_and_is_tried_again(scorer, tmp_path):
    said, hub = [], Hub(1)
    made = scorer(Remote("org/results", hub, said.append).keep)
    task = made.board.tasks["demo_situations"]
    first = made.submit(task, written(tmp_path, another(1)), About("first")).entry
    assert hub.there == [] and len(said) == 1 and "\n" not in said[0] and "not uploaded to org/results yet" in said[0]
    assert [each.id for each in Results(tmp_path / "results", {task.id: task}).entries(task.id)] == [first.id]
    second = made.submit(task, written(tmp_path, another(2)), About("second")).entry
    assert {f"{task.id}/{each.id}/entry.json" for each in (first, second)} <= {*hub.there}


# starting and ending


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
