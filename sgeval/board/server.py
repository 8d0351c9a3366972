"""The board as a web server: Gradio behind a guard, and a page for each submission."""

import ctypes
import os
import re
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from sgeval.board.assets import Assets
from sgeval.board.guard import Guard
from sgeval.board.pages import report_page, submission_page
from sgeval.board.remote import Remote, connect
from sgeval.board.results import ID, Results
from sgeval.board.scoring import Scorer, check_board, made_folder, sweep_folders
from sgeval.board.settings import read_board
from sgeval.board.tables import Tables
from sgeval.errors import SgevalError, one_line, shown
from sgeval.hub import space

REPO, TOKEN = "SGEVAL_RESULTS_REPO", "SGEVAL_RESULTS_TOKEN"
SECRET = re.compile("TOKEN|KEY|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
"""In the name of a variable of the environment that the board is started with."""
CSS = """
[role=gridcell] a, td a, #answer-page a { color: var(--link-text-color) !important; text-decoration: underline !important; }
[role=columnheader], [role=columnheader] * { text-align: left !important; justify-content: flex-start !important; }
.download a { pointer-events: none; color: inherit !important; text-decoration: none !important; } /* it is not served */
.block { --block-info-text-color: color-mix(in srgb, var(--body-text-color) 65%, transparent); }
"""
NOT_DUMPABLE = 4  # PR_SET_DUMPABLE of Linux
BAD_INPUT = 2
EVERY = 30  # seconds between looks at the folder of results
FRAME = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-src 'self'"


class Upkeep:
    """Looks at the folder of results now and then, and after each submission: what `sgeval board add` put there comes into
    its table, and what the Hub lacks is uploaded, while nobody waits for the network."""

    def __init__(self, results: Results, tables: Tables, remote: Remote | None) -> None:
        self.results, self.tables, self.remote = results, tables, remote
        self._n_told = 0
        self._wanted = Event()
        self._busy = Lock()

    def added(self, entry: Path) -> None:
        """Note an entry that was scored here: it stands in its table before this returns."""
        self.tables.renew(entry.parent.name)
        self._wanted.set()

    def look(self) -> None:
        """Take in what is new, tell what cannot be, and upload."""
        with self._busy:
            for task in {entry.task for entry in self.results.look()}:
                self.tables.renew(task)
            self.tell()
            if self.remote is not None:
                tasks = self.tables.board.tasks
                self.remote.keep(self.results.place(entry) for task in tasks for entry in self.results.entries(task))

    def tell(self) -> None:
        """A line for each entry that cannot be read."""
        for line in self.results.faults[self._n_told :]:
            print(f"sgeval: {one_line(line)}", file=sys.stderr)
            self._n_told += 1

    def start(self) -> None:
        """Look again and again, in a thread that ends with the process."""
        Thread(target=self._again, name="upkeep", daemon=True).start()

    def _again(self) -> None:
        while True:
            try:
                self.look()
            except Exception as fault:  # whatever it is: the next look may do
                print(f"sgeval: results: not looked at ({type(fault).__name__})", file=sys.stderr)
            self._wanted.wait(EVERY)
            self._wanted.clear()


def make_app(folder: Path, results: Path, uploads: Path, remote: Remote | None = None) -> tuple[Any, Upkeep]:
    """The ASGI app of the board in a folder, and what keeps it up to date; uploads lie where `GRADIO_TEMP_DIR` says, and
    `remote` keeps results elsewhere too."""
    board, about = read_board(folder), _about(folder)
    check_board(board)
    kept = Results(results, board.tasks)
    tables = Tables(board, kept)
    upkeep = Upkeep(kept, tables, remote)
    upkeep.tell()
    scorer = Scorer(board, kept, upkeep.added)

    import gradio as gr  # seconds, and what is wrong is told before
    from fastapi import FastAPI
    from fastapi.responses import HTMLResponse

    from sgeval.board.space import build

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    def page(text: str | None, status: int = 200) -> Any:
        gone = "<!doctype html><title>Not found</title><p>No such submission.</p>"
        return HTMLResponse(text or gone, status if text else 404, headers={"Content-Security-Policy": FRAME})

    @app.get("/submission/{name}")
    def submission(name: str) -> Any:
        entry = kept.find(name) if ID.fullmatch(name) else None
        return page(submission_page(entry, board, tables.of(entry.task), kept) if entry else None)

    @app.get("/submission/{name}/report")
    def report(name: str) -> Any:
        entry = kept.find(name) if ID.fullmatch(name) else None
        return page(report_page(entry, board, kept, uploads.parent / "reports") if entry else None)

    blocks = build(board, tables, scorer, about, uploads)
    blocks.queue(max_size=board.limits.waiting, api_open=False)
    mounted = gr.mount_gradio_app(
        app,
        blocks,
        path="/",
        max_file_size=board.limits.upload_bytes,
        show_error=False,
        footer_links=[],
        ssr_mode=False,
        enable_monitoring=False,
        mcp_server=False,
        pwa=False,
        css=CSS,
        run_history=False,
    )
    return Guard(Assets(mounted), board.limits.upload_bytes, uploads), upkeep


def serve(folder: str | Path, results: str | Path) -> None:
    """Serve the board until it is stopped; its README is the about page. Starts from an empty folder, with no secret left
    in the environment. What is wrong with the board, results that cannot be written or a port that is taken ends the process
    with one line and code 2; entries that cannot be read are left out, with a line each.

    Host and port are those of `GRADIO_SERVER_NAME` and `GRADIO_SERVER_PORT`. With `SGEVAL_RESULTS_REPO` (ORG/NAME of a data
    set repository) results are fetched from there first and added there, with `SGEVAL_RESULTS_TOKEN`.
    """
    try:
        _serve(Path(folder).resolve(), Path(results).resolve())
    except (SgevalError, OSError) as fault:
        print(f"sgeval: {one_line(str(fault))}", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from None
    except KeyboardInterrupt:
        pass


def _serve(folder: Path, results: Path) -> None:
    token = _take_secrets().get(TOKEN)
    host, port = os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"), os.environ.get("GRADIO_SERVER_PORT", "7860")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise SgevalError(f"GRADIO_SERVER_PORT: expected a port, got {shown(port)}")
    sweep_folders()
    with _listening(host, int(port)) as place_to_ask, made_folder() as place:
        import uvicorn

        _check_writable(results)
        remote = connect(repo, token) if (repo := os.environ.get(REPO)) else None
        if remote is not None:
            remote.fetch(results)
        work, uploads = Path(place) / "work", Path(place).resolve() / "uploads"
        work.mkdir()
        os.environ |= {
            "GRADIO_TEMP_DIR": str(uploads),
            "GRADIO_ANALYTICS_ENABLED": "False",
            "GRADIO_FLAGGING_MODE": "never",
            "TMPDIR": str(Path(place).resolve()),
        }
        tempfile.tempdir = None  # where else files are made for a moment, ends with this folder too
        os.chdir(work)
        app, upkeep = make_app(folder, results, uploads, remote)
        upkeep.start()
        words = f"The board is at http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}/ – Ctrl-C ends it"

        class Server(uvicorn.Server):
            """Says where it is once Ctrl-C ends it."""

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                print(words, flush=True)

        config = uvicorn.Config(
            app, log_level="warning", server_header=False, timeout_graceful_shutdown=3, ws="none", proxy_headers=False
        )
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does, with nothing left on the disk
        try:
            Server(config).run([place_to_ask])
        finally:
            upkeep.look()  # an entry may wait for its upload


def _about(folder: Path) -> str:
    """The text of the about page."""
    if not (folder / "README.md").is_file():
        raise SgevalError("README.md: expected the about page, found none")
    try:
        return space.card(str(folder / "app.py"))
    except UnicodeDecodeError:
        raise SgevalError("README.md: expected UTF-8 text, got other bytes") from None


def _check_writable(results: Path) -> None:
    """Make the folder of results, and a file in it that has no name."""
    expected = f"{results.name}: expected a folder of results that can be written"
    if results.exists() and not results.is_dir():
        raise SgevalError(f"{expected}, found a file")
    try:
        results.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=results):
            pass
    except OSError as fault:
        raise SgevalError(f"{expected}, got: {fault.strerror}") from None


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens, taken before the slow part of the start."""
    try:
        return socket.create_server((host, port), reuse_port=False)
    except OSError as fault:
        why = (fault.strerror or str(fault)).partition(" (while ")[0]  # Python adds the address
        raise SgevalError(
            f"{host}:{port}: cannot be listened on ({why}); GRADIO_SERVER_PORT chooses another port"
        ) from None


def _take_secrets() -> dict[str, str]:
    """What is secret in the environment, which it leaves; nor can others of this user read it from the process (as Linux
    lets them, of what a process was started with)."""
    with suppress(AttributeError, OSError):  # another system
        ctypes.CDLL(None).prctl(NOT_DUMPABLE, 0, 0, 0, 0)
    return {name: os.environ.pop(name) for name in list(os.environ) if SECRET.search(name)}
