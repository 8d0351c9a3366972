"""Gradio's own files, kept ready: Gradio reads and compresses each of them anew for each visitor, some eighty a page."""

from typing import Any

from sgeval.board.guard import Message, Receive, Send

FOLDERS = ("/assets/", "/static/")
MOST_BYTES = 64 * 1024**2
"""Of all that is kept; Gradio's files are fewer."""


class Assets:
    """An ASGI app around another one. What is kept are whole answers of files that are there, so strangers add nothing."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._kept: dict[tuple[str, bytes], list[Message]] = {}
        self._bytes = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer from what is kept, else keep the answer."""
        path = scope.get("path", "")
        if scope["type"] != "http" or scope["method"] != "GET" or not path.startswith(FOLDERS):
            await self.app(scope, receive, send)
            return
        asked = dict(scope["headers"])
        if any(name == b"range" or name.startswith(b"if-") for name in asked):
            await self.app(scope, receive, send)
            return
        encoding = b"br" if b"br" in asked.get(b"accept-encoding", b"") else b"identity"
        if (path, encoding) not in self._kept:
            said: list[Message] = []

            async def note(message: Message) -> None:
                said.append(message)

            headers = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
            await self.app({**scope, "headers": [*headers, (b"accept-encoding", encoding)]}, receive, note)
            size = sum(len(message.get("body", b"")) for message in said)
            if not said or said[0].get("status") != 200 or self._bytes + size > MOST_BYTES:
                for message in said:
                    await send(message)
                return
            self._kept[path, encoding] = said
            self._bytes += size
        for message in self._kept[path, encoding]:
            await send(dict(message))
