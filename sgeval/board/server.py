"""The board as a web server: Gradio behind a guard, and a page for each submission."""

import os
import tempfile
from pathlib import Path
from typing import Any

from sgeval.board.guard import Guard
from sgeval.board.pages import submission_page
from sgeval.board.remote import Remote, connect
from sgeval.board.results import ID, REPORT, Results
from sgeval.board.scoring import Scorer
from sgeval.board.settings import read_board
from sgeval.board.tables import Tables
from sgeval.hub import space

REPO, TOKEN = "SGEVAL_RESULTS_REPO", "SGEVAL_RESULTS_TOKEN"
SECRETS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", TOKEN)
CSS = "td a { text-decoration: underline; }"
FRAME = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-src 'self'"


def make_app(folder: Path, results: Path, remote: Remote | None = None) -> Any:
    """The ASGI app of the board in a folder; `remote` keeps its results elsewhere too."""
    import gradio as gr
    from fastapi import FastAPI
    from fastapi.responses import HTMLResponse

    from sgeval.board.space import build

    board = read_board(folder)
    kept = Results(results)
    tables = Tables(board, kept)
    scorer = Scorer(board, kept, remote.keep if remote else None)
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
        return page((kept.place(entry) / REPORT).read_text(encoding="utf-8") if entry else None)

    blocks = build(board, tables, scorer, space.card(str(folder / "app.py")))
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
    return Guard(mounted, board.limits.upload_bytes)


def serve(folder: str | Path, results: str | Path) -> None:
    """Serve the board until it is stopped; its README is the about page. Starts from an empty folder, with no secret left
    in the environment.

    Host and port are those of `GRADIO_SERVER_NAME` and `GRADIO_SERVER_PORT`. With `SGEVAL_RESULTS_REPO` (ORG/NAME of a data
    set repository) results are fetched from there first and added there, with `SGEVAL_RESULTS_TOKEN`.
    """
    import uvicorn

    folder, results = Path(folder).resolve(), Path(results).resolve()
    secrets = {name: os.environ.pop(name, None) for name in SECRETS}
    remote = connect(repo, secrets[TOKEN]) if (repo := os.environ.get(REPO)) else None
    if remote is not None:
        remote.fetch(results)
    with tempfile.TemporaryDirectory(prefix="sgeval-board-") as place:
        work = Path(place) / "work"
        work.mkdir()
        os.environ |= {
            "GRADIO_TEMP_DIR": str(Path(place) / "uploads"),
            "GRADIO_ANALYTICS_ENABLED": "False",
            "GRADIO_FLAGGING_MODE": "never",
        }
        os.chdir(work)
        host, port = (
            os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"),
            int(os.environ.get("GRADIO_SERVER_PORT", "7860")),
        )
        uvicorn.run(make_app(folder, results, remote), host=host, port=port, log_level="warning", server_header=False)
