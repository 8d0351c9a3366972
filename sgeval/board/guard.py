"""What stands before Gradio: only the addresses that the board needs, bodies of a limited size, headers that keep pages in.

Gradio serves files, proxies addresses and takes uploads under many paths; advisories named one after the other. A path that
is not on this list is not there, a file that an event names has to be an upload, and no answer says why something failed.

What it does not promise: it limits sizes and what lies in the folder of uploads, not how many connections a visitor opens or
how slowly one sends; that is for the proxy before it. Uploads of the last minutes can fill their folder, and then others have
to wait. No upload goes because it was scored: Gradio lays files of the same name and content in one place, where others may
still want it. Whoever uploads is told the path of the upload on this machine, for that is how Gradio names it. What passes is
Gradio's to handle: a fault of its queue or of its parser of forms is not caught here.
"""

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

GETS = re.compile(
    r"/|/config|/theme\.css|/favicon\.ico|/robots\.txt|/manifest\.json"
    r"|/(?:assets|static)/(?:[A-Za-z0-9_-]+/)*[A-Za-z0-9_.-]+"
    r"|/gradio_api/(?:info|queue/data|startup-events|heartbeat/[a-z0-9]+|upload_progress)"
    r"|/submission/[0-9a-f-]+(?:/report)?"
)
EVENTS = re.compile(r"/gradio_api/(?:run/predict|queue/join|cancel|reset)")
UPLOAD = "/gradio_api/upload"
SMALL_BODY = 1_000_000
"""Bytes of a request that is no upload."""
ENVELOPE = 100_000
"""Bytes of an upload beside its file."""
KEPT_SECONDS = 1_800
"""How long an upload lies there after it was last named."""
KEPT_WHEN_FULL = 300
"""The same where room is short."""
MOST_UPLOADS = 20
"""Uploads of full size that may lie there at once."""
MOST_FILES = 1_000
"""Uploads of any size."""
QUERY = re.compile(r"[A-Za-z0-9_=&%.+:/?-]{0,2000}")
HOST = re.compile(rb"[A-Za-z0-9.:_-]{1,255}|\[[0-9a-fA-F:]{2,45}\](?::[0-9]{1,5})?")
BUSY = "The board is busy; please come again in some minutes"
FULL = "Files of others take all the room for uploads; please come again in some minutes"
HEADERS = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))


class Guard:
    """An ASGI app around another one, whose uploads lie in a folder."""

    def __init__(self, app: Any, upload_bytes: int, uploads: Path) -> None:
        self.app, self.upload_bytes, self.uploads = app, upload_bytes, uploads
        self.untrusted = (b"x-gradio-",) if os.environ.get("SPACE_ID") else (b"x-gradio-", b"x-forwarded-")
        """How headers begin that a visitor may have written: only on a Space a proxy writes those of the second kind."""
        self._uploading, self._reserved = 0, 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Hand on what is allowed; answer the rest with 404, 413 for a body that is too large, or 503 where uploads take
        too much room."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http" or not _is_allowed(scope):
            await _refuse(scope, send, 404)
            return
        most = self.upload_bytes + ENVELOPE if scope["path"] == UPLOAD else SMALL_BODY
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > most:
            await _refuse(scope, send, 413)
            return
        kept = [pair for pair in scope["headers"] if not pair[0].startswith(self.untrusted)]
        scope = {**scope, "headers": kept}
        if scope["path"] == UPLOAD:
            is_told = b"content-length" in headers and b"transfer-encoding" not in headers
            await self._upload(scope, receive, send, most, int(length) if is_told else most)
        elif scope["method"] == "POST":
            await self._event(scope, receive, send, most)
        else:
            await self._hand_on(scope, receive, _Answer(scope["path"], send))

    async def _hand_on(self, scope: Message, receive: Receive, answer: "_Answer") -> None:
        """To Gradio; what it raises ends here, with one line in the log that has nothing of the request's body."""
        try:
            await self.app(scope, receive, answer)
        except Exception as fault:
            if not answer.is_muted:
                print(f"{scope['method']} {scope['path']}: {type(fault).__name__}", file=sys.stderr)

    async def _upload(self, scope: Message, receive: Receive, send: Send, most: int, announced: int) -> None:
        """A body that is counted as it comes; room is kept for the bytes that were announced."""
        self._sweep(KEPT_SECONDS)
        if not self._has_room(announced):
            self._sweep(KEPT_WHEN_FULL)
        if not self._has_room(announced):
            await _say(send, 503, FULL)
            return
        seen, answer = 0, _Answer(scope["path"], send)

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen <= most:
                return message
            answer.is_muted = True
            return {"type": "http.disconnect"}

        self._uploading += 1
        self._reserved += announced
        try:
            await self._hand_on(scope, counted, answer)
        finally:
            self._uploading -= 1
            self._reserved -= announced
        self._sweep(KEPT_SECONDS)
        if answer.is_muted:
            await _refuse(scope, send, 413)

    async def _event(self, scope: Message, receive: Receive, send: Send, most: int) -> None:
        """A body that is looked into before Gradio sees it, for Gradio fetches an address that stands in the place of a
        file."""
        body = b""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            if len(body) > most:
                await _refuse(scope, send, 413)
                return
            if not message.get("more_body"):
                break
        if not names_uploads_alone(body, self.uploads):
            await _refuse(scope, send, 400)
            return
        for path in {*map(str, _named(body))}:
            with suppress(OSError):  # it is gone; the answer to the event says so
                os.utime(Path(path).parent)
        has_told = False

        async def again() -> Message:
            nonlocal has_told
            if has_told:
                return await receive()
            has_told = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._hand_on(scope, again, _Answer(scope["path"], send))

    def _sweep(self, seconds: float) -> None:
        """Remove what has lain there for long, and what is left of uploads that were cut."""
        now = time.time()
        for path in self.uploads.glob("*"):
            with suppress(OSError):  # another request may have removed it
                if path.is_file() and not self._uploading:
                    path.unlink()
                elif now - path.stat().st_mtime > seconds:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _has_room(self, announced: int) -> bool:
        """Whether another upload of so many bytes may come."""
        used, n_files = self._reserved, self._uploading
        for path in self.uploads.glob("*/*"):
            with suppress(OSError):
                used, n_files = used + path.stat().st_size, n_files + 1
        return n_files < MOST_FILES and used + announced <= MOST_UPLOADS * self.upload_bytes


class _Answer:
    """Sends on what an app answers, with our headers; of what Gradio says of a failure only the number."""

    def __init__(self, path: str, send: Send) -> None:
        self.send = send
        self.is_api = path.startswith("/gradio_api/")
        self.is_muted = False
        self._is_replaced = False

    async def __call__(self, message: Message) -> None:
        if self.is_muted or self._is_replaced:
            return
        if message["type"] == "http.response.start":
            if message["status"] >= 400 and self.is_api:
                self._is_replaced = True
                await _say(self.send, message["status"])
                return
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
        await self.send(message)


def names_uploads_alone(body: bytes, uploads: Path) -> bool:
    """Whether a body is JSON in which every `path` is that of a file in the folder of uploads, as Gradio lays them.

    >>> names_uploads_alone(b'{"data": [{"path": "/up/0a/x.json"}]}', Path("/up"))
    True
    >>> names_uploads_alone(b'{"data": [{"path": "http://example.org/x.json"}]}', Path("/up"))
    False
    """
    try:
        return all(isinstance(path, str) and is_upload(Path(path), uploads) for path in _named(body))
    except (ValueError, RecursionError):
        return False


def _named(body: bytes) -> list[Any]:
    """Whatever stands under `path` in JSON."""
    found, open_values = [], [json.loads(body or b"null")]
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict):
            found += [value["path"]] if "path" in value else []
            open_values += value.values()
        elif isinstance(value, list):
            open_values += value
    return found


def is_upload(path: Path, uploads: Path) -> bool:
    """Whether a path is `uploads/DIGEST/NAME`.

    >>> [is_upload(Path(each), Path("/up")) for each in ("/up/0a/x.json", "/up/0a", "/up/0a/../x", "/etc/passwd")]
    [True, False, False, False]
    """
    return path.parent.parent == uploads and bool(re.fullmatch("[0-9a-f]+", path.parent.name)) and path.name != ".."


def _is_allowed(scope: Message) -> bool:
    path, raw = scope["path"], scope.get("raw_path") or scope["path"].encode()
    if raw.decode("latin-1") != path or unquote(path) != path or ".." in path or "//" in path:
        return False
    if not QUERY.fullmatch(scope.get("query_string", b"").decode("latin-1")):
        return False
    hosts = [value for name, value in scope["headers"] if name in (b"host", b"x-forwarded-host")]
    if not all(map(HOST.fullmatch, hosts)):
        return False
    method = scope["method"]
    if method == "POST":
        return bool(path == UPLOAD or EVENTS.fullmatch(path))
    return method in ("GET", "HEAD") and bool(GETS.fullmatch(path))


async def _refuse(scope: Message, send: Send, status: int) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    await _say(send, status)


async def _say(send: Send, status: int, words: str = "") -> None:
    """One line, as JSON, for it is what Gradio's pages read."""
    words = words or (BUSY if status == HTTPStatus.SERVICE_UNAVAILABLE else HTTPStatus(status).phrase)
    body = json.dumps({"detail": words}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *HEADERS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
