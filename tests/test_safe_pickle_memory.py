"""How much memory a pickle can make us use: each file is read by a process of its own, whose peak is measured."""

import pickle
import struct
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from pickle_kit import EMPTY, NDARRAY, RECONSTRUCT, START, refused, text
from ssg_kit import DATA

from sgeval.readers.safe_pickle import FREE_TEXT, MAX_UNFOLDED_TEXT, parse_pickle
from sgeval.readers.ssg import read_ssg

SIZE = 1_000_000
MOST_TIMES, MOST_BESIDE = 32, 2**24  # times the file's size, and bytes beside that

CHILD = """
import sys
from sgeval.errors import SgevalError
from sgeval.readers.safe_pickle import parse_pickle, read_pickle

def peak():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

parse_pickle(b"\\x80\\x04N.", "whatever is imported late")
before = peak()
try:
    read_pickle(sys.argv[1])
    words = "read"
except SgevalError as fault:
    words = str(fault)
print(peak() - before, words)
"""


def peak(path: Path) -> tuple[int, str]:
    """Bytes by which the peak of a process grows that reads a pickle, and what it ends in."""
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True)
    kilobytes, words = done.stdout.split(maxsplit=1)
    return int(kilobytes) * 1024, words


def filled(piece: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    return START + before + piece * ((SIZE - len(before) - len(after)) // len(piece)) + after + b"."


def integers(count: int) -> list[bytes]:
    return [b"J" + struct.pack("<i", number) for number in range(1000, 1000 + count)]


LETTERS = [bytes(letters) for letters in product(range(97, 123), repeat=4)]
SHARED_ARGUMENTS = RECONSTRUCT + b"\x94" + NDARRAY + b"K\x00\x85C\x01b\x87\x94"
FILES = {
    "lists": filled(b"]", b"(", b"t"),
    "lists on the stack": filled(b"]"),
    "dictionaries": filled(b"}", b"](", b"e"),
    "empty tuples": filled(b")", b"](", b"e"),
    "tuples of one": filled(b"N\x85", b"](", b"e"),
    "tuples in tuples": filled(b"\x85", b"N"),
    "tuples by marks": filled(b"(t", b"](", b"e"),
    "marks": filled(b"("),
    "null": filled(b"N", b"](", b"e"),
    "memo places": filled(b"\x94", b"N"),
    "memo places out of turn": START
    + b"N"
    + b"".join(b"r" + struct.pack("<I", 2 * number + 9) for number in range(SIZE // 5))
    + b".",
    "whole numbers": filled(b"M\x00\x10", b"](", b"e"),
    "short texts": START + b"](" + b"".join(b"\x8c\x04" + letters for letters in LETTERS) + b"e.",
    "wide texts": filled(b"\x8c\x02\xc4\x80", b"](", b"e"),
    "one wide character": START + text("a" * (SIZE - 10) + "😀") + b".",
    "bytes": filled(b"C\x02ab", b"](", b"e"),
    "numbers as keys": START + b"}(" + b"N".join(integers(SIZE // 6)) + b"Nu.",
    "arrays not built": filled(b"h\x00h\x01R", b"](" + SHARED_ARGUMENTS, b"e"),
    "arrays not built, remembered": filled(EMPTY + b"q\x00q\x01", b"](", b"e"),
    "one list everywhere": filled(b"h\x00", b"](]\x94", b"e"),
    "lists of one list": filled(b"h\x02", b"](]\x94](h\x00h\x00h\x00e\x94](h\x01h\x01e\x94", b"e"),
    "a long text everywhere": filled(b"h\x00", b"](" + text("x" * 1_000_000) + b"\x94", b"e"),
    "long bytes everywhere": filled(b"h\x00", b"](B" + struct.pack("<I", 1_000_000) + bytes(1_000_000) + b"\x94", b"e"),
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_memory_stays_in_proportion(data: bytes, tmp_path: Path):
    path = tmp_path / "file.pkl"
    path.write_bytes(data)
    grown, words = peak(path)
    assert grown < MOST_TIMES * len(data) + MOST_BESIDE, words


def test_how_many_containers():
    """100,000 and one for every three bytes: more than Python writes for anything but lists of empty lists."""
    assert refused(filled(b"]", b"(", b"t")).startswith(
        "byte 433337: expected a list, dictionary or tuple for every 3 b"
    )
    many = [{"a": {}, "b": [], "c": (1,)} for _ in range(100_000)]
    assert parse_pickle(pickle.dumps(many, 4), "p") == many
    empty: list[list[int]] = [[] for _ in range(100_000)]
    assert parse_pickle(pickle.dumps(empty, 4), "p") == empty


def test_shared_texts():
    """A text of 30 letters stands in each place for two or five bytes, and one mebibyte is free."""
    names = ["other relationship, not listed"]
    assert len(parse_pickle(pickle.dumps(names * 300_000, 4), "p")) == 300_000
    long = "x" * 10_000
    free = FREE_TEXT // len(long)  # 104 of them; the file's own bytes allow 16 for each
    data = pickle.dumps([long] * free, 4)
    assert parse_pickle(data, "p") == [long] * free
    most = (FREE_TEXT + MAX_UNFOLDED_TEXT * len(data)) // len(long) + 10
    assert refused(pickle.dumps([long] * most, 4)).endswith("got values that unfold to far more")
    assert refused(pickle.dumps([long.encode()] * most, 4)).endswith("got values that unfold to far more")


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [3, 4])
def test_frames_as_many_as_in_ssg(protocol: int, tmp_path: Path):
    """25,500 frames made of the six that tests/data/ssg holds: records in order, memory in proportion."""
    names = ("ssg_dataset.pkl", "ag_ssg_combined_person.pkl")
    few = {file: list(pickle.loads((DATA / "data" / file).read_bytes()).values()) for file in names}  # our own files
    for path in (DATA / "data").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    keys = [f"ZZ{number // 30:03d}.mp4/{number:06d}.png" for number in range(25_500)]
    for file, frames in few.items():
        value = {key: pickle.loads(pickle.dumps(frames[at % len(frames)])) for at, key in enumerate(keys)}
        (tmp_path / file).write_bytes(pickle.dumps(value, protocol))
        grown, words = peak(tmp_path / file)
        assert words == "read\n"
        assert grown < MOST_TIMES * (tmp_path / file).stat().st_size + MOST_BESIDE
    assert [graph.image_id for graph in read_ssg(tmp_path)] == keys
