"""An unpacking that stops at any point leaves nothing that looks whole, and the next one finishes it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from archive_kit import HONEST, OURS, contents, honest, own, zip_of
from data_kit import make_folder
from typer.testing import CliRunner

import sgeval
from sgeval.archives import check_unpacked, unpack
from sgeval.cli.app import app
from sgeval.data.inspect import inspect
from sgeval.errors import SgevalError

CHILD = """
import os, signal, sys

last, archive, into = int(sys.argv[1]), *sys.argv[2:]
from sgeval.archives import unpack, writing

events = []
WATCHED = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}

def happened(event):
    events.append(event)
    if len(events) == last:
        os.kill(os.getpid(), signal.SIGKILL)

def hook(event, _):
    if event in WATCHED:
        happened(event)

count = writing.Counter.add

def add(self, number):
    happened("piece")
    return count(self, number)

writing.Counter.add = add
unpack(archive, into + "-before")  # whatever is imported late
events.clear()
sys.addaudithook(hook)
unpack(archive, into)
print(*events)
"""


def child(last: int, archive: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """Unpack into a folder, in a process of its own that kills itself at the last-th event; 0 for none."""
    into.mkdir(exist_ok=True)
    arguments = [sys.executable, "-c", CHILD, str(last), str(archive), str(into)]
    return subprocess.run(arguments, capture_output=True, text=True)


def points(events: list[str], number: int) -> list[int]:
    """Where to kill: the first and the last event, each rename as long as there is room, and some between."""
    renames = [at for at, event in enumerate(events, 1) if event == "os.rename"]
    spread = [1 + at * (len(events) - 1) // (number - 1) for at in range(number)]
    chosen = [1, len(events), *renames, *(at + 1 for at in renames if at < len(events)), *spread]
    return sorted(dict.fromkeys(chosen[: 2 * number]))


SEVERAL = {**HONEST, "large.bin": os.urandom(3 * 2**20)}
ONE = {f"VG_100K/{name}": content for name, content in SEVERAL.items()}


@pytest.mark.parametrize(("kind", "whole"), [("zip", ONE), ("tar.gz", SEVERAL)], ids=["one at the top", "several"])
def test_killed_anywhere(kind: str, whole: dict[str, bytes], tmp_path: Path):
    archive = honest(tmp_path, kind, whole)
    done = child(0, archive, tmp_path / "counted")
    events = done.stdout.split()
    assert events.count("piece") >= 5 and "os.rename" in events, done.stderr
    chosen = points(events, 10)
    assert len(chosen) >= 10
    seen = set()
    for last in chosen:
        into = tmp_path / f"into{last}"
        into.mkdir()
        (into / "mine.txt").write_bytes(b"mine")
        assert child(last, archive, into).returncode in (-signal.SIGKILL, 0)
        there = contents(into)
        assert there.pop("mine.txt") == b"mine" and there.items() <= whole.items()
        seen.add(len(there))
        if 0 < len(there) < len(whole):
            assert whole is SEVERAL
            with pytest.raises(SgevalError, match=f"got some of {archive.name}, whose unpacking was stopped"):
                check_unpacked(into)
        told = unpack(archive, into)
        assert told.files == len(whole) and contents(into) == {**whole, "mine.txt": b"mine"}
        assert own(into) == OURS
        check_unpacked(into)
    assert {0, len(whole)} <= seen and (len(seen) > 2) == (whole is SEVERAL)


@pytest.fixture
def half(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """An archive of pictures and annotations for PSG, and a folder it is half in: killed after the first rename."""
    psg = make_folder("psg", tmp_path / "from")
    files = [(str(path.relative_to(psg)), path.read_bytes()) for path in sorted(psg.rglob("*")) if path.is_file()]
    archive = zip_of(tmp_path / "psg.zip", files)
    events = child(0, archive, tmp_path / "counted").stdout.split()
    renames = [at for at, event in enumerate(events, 1) if event == "os.rename"]
    for last in renames[2:]:  # the first puts the manifest in its place
        if child(last, archive, tmp_path / "half").returncode and contents(tmp_path / "half"):
            break
    yield archive, tmp_path / "half"


def test_a_folder_that_is_half_there_is_told_and_not_read(half: tuple[Path, Path]):
    archive, folder = half
    words = "got some of psg.zip, whose unpacking was stopped; the same `sgeval data unpack` finishes it"
    assert any(words in fault for fault in inspect("psg", folder).faults)
    with pytest.raises(SgevalError, match="whose unpacking was stopped"):
        sgeval.load_dataset("psg", data_dir=folder)
    done = CliRunner().invoke(app, ["data", "info", "psg", "--data-dir", str(folder)])
    assert done.exit_code == 2 and words in done.stdout
    assert unpack(archive, folder).files == len(contents(folder))
    assert not any("unpacking" in fault for fault in inspect("psg", folder).faults)


def test_another_archive_finishes_what_stopped_first(half: tuple[Path, Path], tmp_path: Path):
    archive, folder = half
    unpack(zip_of(tmp_path / "other.zip", [("other.txt", b"x")]), folder)
    unpack(archive, tmp_path / "whole")
    assert contents(folder) == {**contents(tmp_path / "whole"), "other.txt": b"x"}
    assert unpack(archive, folder).already


def test_below_the_folder_and_in_image_dir(tmp_path: Path):
    psg = make_folder("psg", tmp_path / "psg")
    work = psg / "coco/.sgeval-unpacking"
    work.mkdir()
    (work / "manifest.json").write_text("{}")
    assert any("got some of an archive" in fault for fault in inspect("psg", psg).faults)
    work.rename(psg / "elsewhere")
    (psg / "elsewhere").rename(tmp_path / ".sgeval-unpacking")
    with pytest.raises(SgevalError, match="whose unpacking was stopped"):
        inspect("psg", psg, image_dir=tmp_path)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError(28, "No space left on device"), MemoryError])
def test_stopped_by_other_things(fault: BaseException | type[BaseException], tmp_path: Path, monkeypatch):
    archive = honest(tmp_path, "zip", SEVERAL)
    (tmp_path / "into").mkdir()
    calls = []

    def add(self, number):
        calls.append(number)
        if len(calls) == 4:
            raise fault

    with monkeypatch.context() as patch:
        patch.setattr("sgeval.archives.writing.Counter.add", add)
        with pytest.raises(fault if isinstance(fault, type) else type(fault)) as caught:
            unpack(archive, tmp_path / "into")
    if isinstance(caught.value, OSError):
        assert caught.value.filename == str(tmp_path / "into")
    assert list((tmp_path / "into").iterdir()) == []
    unpack(archive, tmp_path / "into")
    assert contents(tmp_path / "into") == SEVERAL


def test_two_at_once(tmp_path: Path):
    import fcntl

    archive = honest(tmp_path, "zip")
    (tmp_path / "into/.sgeval-unpacking").mkdir(parents=True)
    with (tmp_path / "into/.sgeval-unpacking/lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SgevalError, match="into: expected no one else, got another `sgeval data unpack`"):
            unpack(archive, tmp_path / "into")
    unpack(archive, tmp_path / "into")
    assert contents(tmp_path / "into") == HONEST and own(tmp_path / "into") == OURS
