"""What stands before Gradio, by itself: headers and files that pass, the room that uploads take, who a visitor is."""

import asyncio
import json
import os
import time

import pytest

from sgeval.board.guard import FULL, KEPT_SECONDS, KEPT_WHEN_FULL, Guard, names_uploads_alone
from sgeval.board.space import Visitors, _visitor
from sgeval.errors import SgevalError


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


@pytest.mark.parametrize(("space", "kept"), [("", {b"host"}), ("somebody/board", {b"host", b"x-forwarded-host"})])
def test_a_visitor_chooses_no_address_for_the_page(tmp_path, monkeypatch, space, kept):
    """On a Space a proxy writes these headers; elsewhere whoever asks may."""
    monkeypatch.setenv("SPACE_ID", space)
    seen = []

    async def app(scope, receive, send):
        seen.append({name for name, _ in scope["headers"]})
        await fine(scope, receive, send)

    names = (b"host", b"x-forwarded-host", b"x-gradio-user")
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "raw_path": b"/"}
    asyncio.run(Guard(app, 100, tmp_path)({**scope, "headers": [(name, b"a") for name in names]}, None, _nowhere))
    assert seen == [kept]


async def _nowhere(message):
    pass


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
