"""What stands before Gradio: only the addresses that the board needs, bodies of a limited size, headers that keep pages in.

Gradio serves files, proxies addresses and takes uploads under many paths; advisories named one after the other. A path that
is not on this list is not there.
"""

import re
from collections.abc import Awaitable, Callable, MutableMapping
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
POSTS = re.compile(r"/gradio_api/(?:run/predict|queue/join|upload|cancel|reset)")
UPLOAD = "/gradio_api/upload"
SMALL_BODY = 1_000_000
"""Bytes of a request that is no upload."""
ENVELOPE = 100_000
"""Bytes of an upload beside its file."""
QUERY = re.compile(r"[A-Za-z0-9_=&%.+:/?-]{0,2000}")
HEADERS = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))


class Guard:
    """An ASGI app around another one."""

    def __init__(self, app: Any, upload_bytes: int) -> None:
        self.app, self.upload_bytes = app, upload_bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Hand on what is allowed; answer the rest with 404, or 413 for a body that is too large."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http" or not _is_allowed(scope):
            await _refuse(scope, send, 404, b"Not found")
            return
        most = self.upload_bytes + ENVELOPE if scope["path"] == UPLOAD else SMALL_BODY
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > most:
            await _refuse(scope, send, 413, b"Too large")
            return
        seen, has_begun = 0, False

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            return message if seen <= most else {"type": "http.disconnect"}

        async def told(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        await self.app(scope, counted, told)


def _is_allowed(scope: Message) -> bool:
    path, raw = scope["path"], scope.get("raw_path") or scope["path"].encode()
    if raw.decode("latin-1") != path or unquote(path) != path or ".." in path or "//" in path:
        return False
    if not QUERY.fullmatch(scope.get("query_string", b"").decode("latin-1")):
        return False
    method = scope["method"]
    return bool((method in ("GET", "HEAD") and GETS.fullmatch(path)) or (method == "POST" and POSTS.fullmatch(path)))


async def _refuse(scope: Message, send: Send, status: int, words: bytes) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    await send(
        {"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain"), *HEADERS]}
    )
    await send({"type": "http.response.body", "body": words})
