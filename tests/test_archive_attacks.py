"""Hostile archives do nothing: one line, nothing below the folder, and nothing changed anywhere else."""

import subprocess
import sys
from pathlib import Path

import pytest
from archive_attacks_kit import ATTACKS, Attack, empty_members
from archive_kit import tree, zip_of

from sgeval.archives import Limits, unpack
from sgeval.errors import SgevalError


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with what an attack might reach: files, folders whose names begin alike, a link."""
    for name in ("outside/secret.txt", "into-evil/x", "x", "secret"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("as it was")
    (tmp_path / "link").symlink_to("outside")
    (tmp_path / "archives").mkdir()
    return tmp_path


def refused(archive: Path, into: Path, **limits: int) -> str:
    with pytest.raises(SgevalError) as caught:
        unpack(archive, into, limits=Limits(**limits))
    assert "\n" not in str(caught.value) and str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_nothing_happens(attack: Attack, place: Path):
    ending, make, words = attack
    archive = make(place / f"archives/attack.{ending}")
    (place / "full").mkdir()
    (place / "full/a.jpg").write_text("a picture of before")
    before = tree(place)
    assert words in refused(archive, place / "into/deeper")
    assert tree(place) == before  # the new folder and the one above it went, too
    assert words in refused(archive, place / "full")
    assert tree(place) == before


def test_there_are_enough_of_them():
    assert len(ATTACKS) >= 45


def test_ten_thousand_empty_members(place: Path):
    """They are harmless, and counted: files and folders alike, in the directory of a zip before it is taken apart."""
    archive = empty_members(place / "archives/empty.zip")
    before = tree(place)
    assert "expected at most 9,999 members, got more" in refused(archive, place / "into", files=9_999)
    folders = zip_of(place / "folders.zip", [(f"{number}/a/b/c", b"") for number in range(10)])
    before = tree(place)
    # Ten files and three folders for each: 40.
    assert "expected at most 39 files and folders, got more" in refused(folders, place / "into", files=39)
    assert tree(place) == before
    assert unpack(folders, place / "into", limits=Limits(files=40)).files == 10
    assert unpack(archive, place / "empty").bytes == 0 and len(list((place / "empty").glob("0*"))) == 10_000


def test_bytes_are_counted_over_all_members(place: Path):
    archive = zip_of(place / "a.zip", [(str(number), bytes(100)) for number in range(10)])
    before = tree(place)
    told = refused(archive, place / "i", bytes=999)
    assert "at most 999 bytes (the most that is unpacked), got at least 1,000" in told
    assert tree(place) == before
    assert unpack(archive, place / "i", limits=Limits(bytes=1000)).bytes == 1000


def test_a_disk_without_room(place: Path, monkeypatch: pytest.MonkeyPatch):
    archive = zip_of(place / "a.zip", [("a", bytes(1000))])
    before = tree(place)
    monkeypatch.setattr("sgeval.archives.writing.ROOM", 0.0)
    assert "expected at most 0 bytes (0% of what is free on the disk), got at least 1,000" in refused(
        archive, place / "i"
    )
    assert tree(place) == before


def test_archives_inside_stay_packed(place: Path):
    """42.zip in small: what is inside is a file like others, at any depth."""
    inner = zip_of(place / "inner.zip", [("bomb", bytes(2**20))])
    for level in range(3):
        inner = zip_of(place / f"level{level}.zip", [(f"{number}.zip", inner.read_bytes()) for number in range(4)])
    told = unpack(inner, place / "into")
    assert told.archives == ("0.zip", "1.zip", "2.zip", "3.zip") and told.files == 4
    assert told.bytes == 4 * (place / "level1.zip").stat().st_size


class TestLinksOnTheDisk:
    """Links that are there already are never written through, whoever made them."""

    def test_a_folder_that_is_a_link(self, place: Path):
        (place / "into").mkdir()
        (place / "into/pictures").symlink_to(place / "outside")
        before = tree(place)
        archive = zip_of(place / "a.zip", [("pictures/secret.txt", b"x")])
        before = tree(place)
        assert "into/pictures: expected nothing there" in refused(archive, place / "into")
        assert tree(place) == before

    def test_a_file_that_is_a_link(self, place: Path):
        archive = zip_of(place / "a.zip", [("a.txt", b"as it was")])
        (place / "into").mkdir()
        (place / "into/a.txt").symlink_to(place / "outside/secret.txt")
        before = tree(place)
        assert "into/a.txt: expected nothing there" in refused(archive, place / "into")
        assert tree(place) == before

    @pytest.mark.parametrize("name", [".sgeval-unpacking", ".sgeval-unpacked"])
    def test_our_own_folders(self, name: str, place: Path):
        archive = zip_of(place / "a.zip", [("a.txt", b"x")])
        (place / "into").mkdir()
        (place / "into" / name).symlink_to(place / "outside")
        refused(archive, place / "into")
        assert [path.name for path in (place / "outside").iterdir()] == ["secret.txt"]

    def test_a_planted_leftover(self, place: Path):
        """A manifest and a link in its folder, as a stranger's data folder may bring them: nothing behind it is moved."""
        archive = zip_of(place / "a.zip", [("a.txt", b"x")])
        work = place / "into/.sgeval-unpacking"
        work.mkdir(parents=True)
        (work / "manifest.json").write_text(
            '{"archive": "x", "archive_bytes": 1, "archive_modified": 1, "left_out": [], "files": [["../secret", 1, ""]]}'
        )
        (work / "files").symlink_to(place / "outside")
        with pytest.raises((SgevalError, OSError)):
            unpack(archive, place / "into")
        assert (place / "outside/secret.txt").read_text() == (place / "secret").read_text() == "as it was"

    def test_a_planted_lock(self, place: Path):
        archive = zip_of(place / "a.zip", [("a.txt", b"x")])
        (place / "into/.sgeval-unpacking").mkdir(parents=True)
        (place / "into/.sgeval-unpacking/lock").symlink_to(place / "outside/new")
        with pytest.raises((SgevalError, OSError)):
            unpack(archive, place / "into")
        assert not (place / "outside/new").exists()


MEMORY = """
import resource, sys
from sgeval.archives import unpack
from sgeval.errors import SgevalError

resource.setrlimit(resource.RLIMIT_AS, (700 * 2**20, 700 * 2**20))
try:
    unpack(sys.argv[1], sys.argv[2])
except SgevalError as fault:
    print(fault)
"""


@pytest.mark.parametrize(
    "name",
    [
        *("zip: a bomb", "zip: one content for fifty members", "tar: a bomb of bzip2", "tar: a name of a gigabyte"),
        *("tar: an endless map of a sparse file", "tar: headers within headers", "tar: xz that wants gigabytes"),
    ],
)
def test_memory(name: str, tmp_path: Path):
    """They end in the same words in a process that may take 700 MB of addresses in all."""
    ending, make, words = ATTACKS[name]
    archive = make(tmp_path / f"attack.{ending}")
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(archive), str(tmp_path / "into")], capture_output=True, text=True
    )
    assert words in done.stdout, done.stderr
