"""What a page, a file and a demo take the place of, and what they leave alone."""

import errno
import os
import re
from pathlib import Path

import pytest
from report_kit import FakeEncoder, graph, make_run

from sgeval import demo
from sgeval.errors import SgevalError
from sgeval.files import atomic_write
from sgeval.relclip import score
from sgeval.report import render_ranking, render_report
from sgeval.runs import read_run


@pytest.mark.parametrize("ranking", [False, True])
def test_a_page_replaces_nothing_but_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranking: bool) -> None:
    run = make_run(tmp_path, "mine", [graph("a", [(0, 1, "on")])])

    def render(out: Path, images: Path | None = None) -> Path:
        return render_ranking([run], out, images) if ranking else render_report(run, out, images)

    page = render(tmp_path / "page.html")
    assert render(page).read_text(encoding="utf-8").startswith("<!doctype html>")

    module = "sgeval.report.ranking" if ranking else "sgeval.report.single"
    monkeypatch.setattr(f"{module}.write_page", lambda *_: pytest.fail("rendered before it was refused"))
    other = tmp_path / "other.html"
    other.write_text("<!doctype html><title>Mine</title>")
    link, pipe = tmp_path / "link.html", tmp_path / "pipe"
    link.symlink_to(page)
    os.mkfifo(pipe)
    for out, words in (
        (run.folder / "results.json", "expected a new name or an earlier page of sgeval, got another file"),
        (other, "expected a new name or an earlier page of sgeval, got another file"),
        (tmp_path, "expected the name of a file, got a folder"),
        (link, "expected a regular file or a new name, got a link"),
        (pipe, "expected a regular file or a new name, got a device, a pipe or a socket"),
    ):
        with pytest.raises(SgevalError, match=re.escape(f"{out}: {words}")):
            render(out)
    assert other.read_text() == "<!doctype html><title>Mine</title>" and link.is_symlink() and pipe.is_fifo()
    assert read_run(run.folder).result == run.result
    with pytest.raises(SgevalError, match=r'^images: expected a folder, got ".*nope"$'):
        render(tmp_path / "new.html", images=tmp_path / "nope")


def test_atomic_write_replaces_only_files_and_names_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    file.write_text("old")
    for path in (pipe, tmp_path):
        with pytest.raises(SgevalError, match=re.escape(str(path))), atomic_write(path) as out:
            out.write("new")
    assert pipe.is_fifo()
    with pytest.raises(NotADirectoryError) as caught, atomic_write(file / "x.html") as out:
        out.write("new")
    assert caught.value.filename == str(file)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a full disk says it: without a name

    monkeypatch.setattr("sgeval.files.os.fsync", full)
    with pytest.raises(OSError, match="No space left") as caught, atomic_write(file) as out:
        out.write("new")
    assert caught.value.filename == str(file) and file.read_text() == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "pipe"]

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), f"{tmp_path}/.file.x1y2z3")

    monkeypatch.setattr("sgeval.files.tempfile.mkstemp", refused)
    with pytest.raises(PermissionError) as denied, atomic_write(file) as out:
        out.write("new")
    assert denied.value.filename == str(file)


def test_the_demo_replaces_only_a_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeEncoder(name="demo")
    monkeypatch.setattr(demo, "BOOTSTRAP", 0)
    monkeypatch.setattr(demo, "SYSTEMS", ("good",))
    monkeypatch.setattr(demo, "score", lambda rows, **given: score(rows, **(given | {"model": fake})))
    out = tmp_path / "demo"
    for _ in range(2):  # the second replaces the first
        assert demo.run_demo(out).report == out / "report.html"

    monkeypatch.setattr(demo, "score", lambda *_, **__: pytest.fail("scored before it was refused"))
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(SgevalError, match="file: expected a folder, got a file"):
        demo.run_demo(file)
    with pytest.raises(NotADirectoryError) as caught:
        demo.run_demo(file / "demo")
    assert str(file) in caught.value.filename and file.read_text() == "mine"

    mine = make_run(tmp_path, "good", [graph("a", [(0, 1, "on")])])
    mine.folder.rename(tmp_path / "good")  # a run of one's own by that name
    (tmp_path / "notes" / "good").mkdir(parents=True)
    (tmp_path / "notes" / "good" / "notes.txt").write_text("mine")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "good").write_text("mine")
    for place in (tmp_path, tmp_path / "notes", tmp_path / "plain"):
        before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        with pytest.raises(SgevalError, match="holds good, which `sgeval demo` did not make"):
            demo.run_demo(place)
        assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "report.html").write_text("mine")
    with pytest.raises(SgevalError, match="expected a new name or an earlier page of sgeval"):
        demo.run_demo(tmp_path / "page")
