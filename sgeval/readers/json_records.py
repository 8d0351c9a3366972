"""Files that are one long JSON list of objects, record by record: memory holds one block, not the file.

`read_records` parses each record by `strict_json`, so what is refused there is refused here. `read_typed` takes whole blocks
through msgspec into a given type, several times as fast, and record by record through `strict_json` whatever does not
fit the type or might be ambiguous: what it refuses is the same, and so is what it says. A `.zip` with one JSON file in it
is read in place, without unpacking it to disk.
"""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

import msgspec
import numpy as np

from sgeval import strict_json
from sgeval.errors import SgevalError, shown

T = TypeVar("T")

BLOCK = 2**18
GUESSES = 32
MAX_RECORD = strict_json.MAX_LINE_BYTES
FREE, RATIO = 2**20, 200
"""Bytes that a member of an archive may unpack to in any case, and how many times its size beyond that."""

ESCAPED_COLON = rb"\u003"
"""How an escaped colon begins, and nothing that is often met."""
PART = 2**20

_BLANKS = re.compile(r"[ \t\r\n]*")
_FINDER = json.JSONDecoder()
_ENCODER = msgspec.json.Encoder()

_START = re.compile(r'\{[ \t\r\n]*"[^"\\]{1,40}"')
"""How a record begins, up to its first key."""
_BEFORE = re.compile(r"\}[ \t\r\n]*,[ \t\r\n]*\Z")
"""What stands before a record that is not the first."""


def read_records(path: Path) -> Iterator[tuple[str, Any]]:
    """The objects of a JSON list in file order, each as its text and its value.

    Raises `SgevalError`, naming the file and the record (counted from 0), for what is no list, an entry that is no object
    or longer than `MAX_RECORD` characters, a file that ends too early or goes on after the list, and what
    `strict_json.parse` refuses.
    """
    with _opened(path) as file:
        window, index = _Window(file, path), 0
        while window.enter(index):
            yield window.record(f"{path}: record {index}")
            index += 1


def read_typed(path: Path, kind: type[T]) -> Iterator[T | dict[str, Any]]:
    """The objects of a JSON list in file order, each as a `kind`, else as the dictionary that `read_records` gives.

    `kind` is a type of msgspec's without fields of any type, so that it bounds nesting and numbers: a struct that forbids
    unknown fields and whose optional fields are UNSET by default, or a dictionary of plain values. The last record of a file,
    and some next to one that does not fit, come as dictionaries although they fit. Raises `SgevalError` as `read_records`.
    """
    decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
    with _opened(path) as file:
        window, index = _Window(file, path), 0
        while window.enter(index):
            values = window.block(decoder)
            if values:
                yield from values
                index += len(values)
            else:
                yield window.record(f"{path}: record {index}")[1]
                index += 1


def typed_block(text: str, decoder: "msgspec.json.Decoder[list[T]]") -> list[T] | None:
    """The values of a JSON list when they are of the decoder's type and each key stands once; else nothing.

    msgspec takes the last of doubled keys without a word. So the values are written anew and the colons counted: one stands
    at each key, the others in texts, which are written in full both times. With a doubled key the given text has more.
    Only a colon that is written as an escape could make up for that, so texts with one are left alone.

    >>> decoder = msgspec.json.Decoder(list[dict[str, int]])
    >>> typed_block('[{"a": 1}]', decoder), typed_block('[{"a": 1, "a": 2}]', decoder)
    ([{'a': 1}], None)
    """
    try:
        data = text.encode()
        if b"\\" in data and ESCAPED_COLON in data:
            return None
        values = decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    anew = bytearray(len(data))
    _ENCODER.encode_into(values, anew)
    return values if colons(np.frombuffer(anew, np.uint8)) == colons(np.frombuffer(data, np.uint8)) else None


def colons(data: Any) -> int:
    """How many colons stand in an array of bytes, a part at a time, since a comparison is as long as what is compared."""
    parts = (data[start : start + PART] for start in range(0, len(data), PART))
    return sum(int(np.count_nonzero(part == ord(":"))) for part in parts)  # ten times as fast as bytes.count


class _Window:
    """The part of a file that is being looked at: `text`, of which everything before `at` is done with."""

    def __init__(self, file: TextIO, path: Path) -> None:
        self.file, self.path = file, path
        self.text, self.at, self.n_read = "", 0, 0
        self.first_key = ""
        """How the first record begins; all are expected to."""
        self.one_by_one = 0
        """The records before this character of the file are not taken in blocks."""

    def enter(self, index: int) -> bool:
        """Go to the start of the record with this number. False when the list, and with it the file, has ended."""
        mark = self.next_character()
        if index == 0:
            if mark != "[":
                got = shown(self.text[self.at :][:BLOCK], 40)
                raise SgevalError(f"{self.path}: expected a list of records, got {got}")
            self.at += 1
            if (mark := self.next_character()) != "]":
                return True
        elif mark not in (",", "]"):
            got = shown(mark) if mark else self._end()
            raise SgevalError(f'{self.path}: after record {index - 1}: expected "," or "]", got {got}')
        self.at += 1
        if mark == ",":
            return True
        if mark := self.next_character():
            raise SgevalError(f"{self.path}: expected the end of the file after the list, got {shown(mark)}")
        return False

    def block(self, decoder: "msgspec.json.Decoder[list[T]]") -> list[T] | None:
        """As many whole records as the window holds, if they are sound and of a type.

        Where a record begins is guessed from how the first one does. A wrong guess does no harm: what stands between two
        brackets either is a list of whole records, and then also the next part of the file's, or is no JSON.
        """
        if self.next_character() != "{" or self.n_read - len(self.text) + self.at < self.one_by_one:
            return None
        if len(self.text) - self.at < BLOCK:
            self._more()
        if not self.first_key and (first := _START.match(self.text, self.at)):
            self.first_key = first[0]
        start = self.n_read - len(self.text)
        end = self._last_record()
        values = typed_block(f"[{self.text[self.at : end]}]", decoder) if end else None
        if values is None:
            self.one_by_one = start + (end or len(self.text))
            return None
        self.at = end
        return values

    def _last_record(self) -> int:
        """Where the last record but one ends in the window, by a guess; 0 where none is found."""
        cut = len(self.text)
        for _ in range(GUESSES if self.first_key else 0):
            cut = self.text.rfind(self.first_key, self.at + 1, cut)
            if cut < 0:
                break
            if before := _BEFORE.search(self.text, max(self.at, cut - 80), cut):
                return before.start() + 1
        return 0

    def next_character(self) -> str:
        """The next character that is no blank, without going past it; "" at the end."""
        while True:
            match = _BLANKS.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._more():
                return ""

    def record(self, place: str) -> tuple[str, Any]:
        """The object that starts here. Its end is found first, by a parser that is fast and not strict."""
        if (mark := self.next_character()) != "{":
            raise SgevalError(f"{place}: expected an object, got {shown(mark) if mark else self._end()}")
        while True:
            try:
                _, end = _FINDER.raw_decode(self.text, self.at)
                break
            except RecursionError:
                raise SgevalError(
                    f"{place}: expected at most {strict_json.MAX_DEPTH} levels of nesting, got many more"
                ) from None
            except json.JSONDecodeError as fault:
                where = fault.pos - self.at
                is_too_long = len(self.text) - self.at > MAX_RECORD
                if is_too_long or not self._more():
                    got = f"{shown(self.text[self.at : self.at + 40], 40)} ({fault.msg}, character {where})"
                    if strict_json.is_cut_short(fault) and not is_too_long:
                        got += f" and {self._end()}"
                    raise SgevalError(
                        f"{place}: expected JSON of at most {MAX_RECORD:,} characters, got {got}"
                    ) from None
            except ValueError:  # a number of thousands of digits
                strict_json.parse(self.text[self.at :], place)
                raise
        text = self.text[self.at : end]
        self.at = end
        return text, strict_json.parse(text, place)

    def _end(self) -> str:
        """The end of the file, in words; it has been reached where more had to come."""
        return f"the end of the file at byte {self.file.buffer.tell():,}: it is cut short"

    def _more(self) -> bool:
        """Take in the next block, twice as much each time when one record fills the window."""
        rest = self.text[self.at :]
        block = self.file.read(max(BLOCK, len(rest)))
        self.text, self.at = rest + block, 0
        self.n_read += len(block)
        if self.n_read > strict_json.MAX_FILE_BYTES:
            raise SgevalError(f"{self.path}: expected at most {strict_json.MAX_FILE_BYTES:,} characters, got more")
        return bool(block)


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """The text of a file, or of the one JSON file in a zip archive."""
    try:
        if path.suffix.lower() != ".zip":
            with path.open(encoding="utf-8-sig", newline="\n") as file:
                yield file
            return
        with zipfile.ZipFile(path) as archive, archive.open(_member(archive, path)) as raw:
            yield io.TextIOWrapper(raw, encoding="utf-8-sig", newline="\n")
    except UnicodeDecodeError:
        raise SgevalError(f"{path}: expected UTF-8 text, got bytes that are none") from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as damage:
        raise SgevalError(
            f"{path}: expected a sound zip archive, got a damaged one ({damage}); fetch it again"
        ) from None
    except OSError as damage:
        raise SgevalError(f"{path}: cannot be read ({damage.strerror or damage})") from None


def _member(archive: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    members = [
        item
        for item in archive.infolist()
        if item.filename.endswith(".json") and not item.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        raise SgevalError(f"{path}: expected one JSON file in the archive, got {len(members)}")
    member = members[0]
    if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise SgevalError(f"{path}: expected {shown(member.filename)} stored or deflated and without a password")
    if member.file_size > max(FREE, RATIO * member.compress_size):
        expected = f"{shown(member.filename)} to unpack to at most {RATIO} times its size"
        raise SgevalError(f"{path}: expected {expected}, got {member.compress_size:,} bytes for {member.file_size:,}")
    return member
