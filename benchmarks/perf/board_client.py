"""A board started as its README says, and a visitor of it without a browser."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LEADERBOARD = Path(__file__).parents[1] / "leaderboard"
PATIENCE = 120
ANSWER, LINK, FAULTS, FILE = range(4)
"""Places in what comes back from a submission."""


def copied(folder: Path) -> Path:
    """The leaderboard with its demo results, in a folder where it may change."""
    return Path(shutil.copytree(LEADERBOARD, folder, ignore=shutil.ignore_patterns("__pycache__")))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@dataclass(frozen=True)
class Served:
    """A board that runs."""

    port: int
    folder: Path
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def serving(folder: Path, log: Path, environment: Mapping[str, str] | None = None) -> Iterator[Served]:
    """`python app.py` in a folder, from when it answers."""
    port = free_port()
    given = {
        "PYTHONPATH": str(LEADERBOARD.parents[1]),
        "GRADIO_SERVER_PORT": str(port),
        "HF_HUB_OFFLINE": "1",
        "SPACE_ID": "somebody/board",  # as behind the proxy of a Space, which names the visitor
    }
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "app.py"],
            cwd=folder,
            env={**os.environ, **given, **(environment or {})},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + PATIENCE
        while b"The board is at" not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(log.read_text())
            time.sleep(0.05)
        served = Served(port, folder, log, process)
        with urllib.request.urlopen(f"{served.url}/robots.txt", timeout=PATIENCE):
            yield served
    finally:
        process.terminate()
        process.wait(PATIENCE)


class Visitor:
    """Sends events as the board's page does. `name` is where it seems to come from."""

    def __init__(self, served: Served, name: str = "") -> None:
        self.served, self.name = served, name or str(uuid.uuid4())
        config = json.loads(self.get("/config"))
        ids = {part["props"].get("elem_id"): part["id"] for part in config["components"]}
        self.events = {event["id"]: event for event in config["dependencies"]}
        self.buttons = [number for number, event in self.events.items() if ids["answer"] in event["outputs"]]
        """Validate only; validate, score and publish."""

    def get(self, path: str) -> bytes:
        """The body of an answer."""
        return self._ask(urllib.request.Request(self.served.url + path))

    def upload(self, data: bytes, file: str) -> str:
        """Send a file; where it lies."""
        end = uuid.uuid4().hex
        head = f'--{end}\r\nContent-Disposition: form-data; name="files"; filename="{file}"\r\n\r\n'
        body = head.encode() + data + f"\r\n--{end}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={end}"}
        found: list[str] = json.loads(
            self._ask(urllib.request.Request(f"{self.served.url}/gradio_api/upload", body, kind))
        )
        return found[0]

    def filter(self, number: int, *given: str) -> Any:
        """What a table shows for the number of an event and its four filters."""
        return self._post("run/predict", {"fn_index": number, "data": list(given), "session_hash": "a"})["data"]

    def submit(
        self, task: str, data: bytes, system: str | None, *, team: str = "", link: str = "", file: str = "x.jsonl"
    ) -> list[Any]:
        """Validate a file, and publish it under a name: answer, link, faults and file."""
        path = self.upload(data, file)
        return self.submit_uploaded(task, path, system, team=team, link=link)

    def submit_uploaded(
        self, task: str, path: str, system: str | None, *, team: str = "", link: str = "", size: float = 0
    ) -> list[Any]:
        """The same with a file that lies there."""
        number = self.buttons[system is not None]
        given = {"path": path, "meta": {"_type": "gradio.FileData"}}
        session = uuid.uuid4().hex
        data = [task, given, system or "", team, link, size]
        self._post("queue/join", {"fn_index": number, "data": data, "session_hash": session, "trigger_id": None})
        request = self._request(f"/gradio_api/queue/data?session_hash={session}")
        with urllib.request.urlopen(request, timeout=PATIENCE) as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    told = json.loads(line[5:])
                    if told["msg"] == "process_completed":
                        if not told["success"]:
                            raise RuntimeError(str(told["output"]))
                        return [
                            each["value"] if isinstance(each, dict) and "value" in each else each
                            for each in told["output"]["data"]
                        ]
        raise RuntimeError("the answer never came")

    def _post(self, place: str, value: Mapping[str, Any]) -> Any:
        request = self._request(f"/gradio_api/{place}", json.dumps(value).encode())
        request.add_header("Content-Type", "application/json")
        return json.loads(self._ask(request))

    def _request(self, path: str, body: bytes | None = None) -> urllib.request.Request:
        return urllib.request.Request(self.served.url + path, body, {"X-Forwarded-For": self.name})

    def _ask(self, request: urllib.request.Request) -> bytes:
        request.add_header("X-Forwarded-For", self.name)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as fault:
            raise RuntimeError(f"{fault.code} {fault.read(200).decode(errors='replace')}") from None
