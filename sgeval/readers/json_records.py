"""Files that are one long JSON list of objects, record by record: memory holds one record, not the file.

Each record is parsed by `strict_json`, so what is refused there is refused here. A `.zip` with one JSON file in it is
read in place, without unpacking it to disk.
"""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from sgeval import strict_json
from sgeval.errors import SgevalError, shown

BLOCK = 2**20
MAX_RECORD = strict_json.MAX_LINE_BYTES

_BLANKS = re.compile(r"[ \t\r\n]*")
_FINDER = json.JSONDecoder()


def read_records(path: Path) -> Iterator[tuple[str, Any]]:
    """The objects of a JSON list in file order, each as its text and its value.

    Raises `SgevalError`, naming the file and the record (counted from 0), for what is no list, an entry that is no object
    or longer than `MAX_RECORD` characters, a file that ends too early or goes on after the list, and what
    `strict_json.parse` refuses.
    """
    with _opened(path) as file:
        window = _Window(file, path)
        if window.next_character() != "[":
            raise SgevalError(f"{path}: expected a list of records, got {shown(window.text[window.at :][:BLOCK], 40)}")
        window.at += 1
        index = 0
        if window.next_character() != "]":
            while True:
                yield window.record(f"{path}: record {index}")
                index += 1
                mark = window.next_character()
                if mark not in (",", "]"):
                    got = shown(mark) if mark else "the end of the file"
                    raise SgevalError(f'{path}: after record {index - 1}: expected "," or "]", got {got}')
                if mark == "]":
                    break
                window.at += 1
        window.at += 1
        if mark := window.next_character():
            raise SgevalError(f"{path}: expected the end of the file after the list, got {shown(mark)}")


class _Window:
    """The part of a file that is being looked at: `text`, of which everything before `at` is done with."""

    def __init__(self, file: TextIO, path: Path) -> None:
        self.file, self.path = file, path
        self.text, self.at, self.n_read = "", 0, 0

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
            raise SgevalError(f"{place}: expected an object, got {shown(mark) if mark else 'the end of the file'}")
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
                if len(self.text) - self.at > MAX_RECORD or not self._more():
                    got = f"{shown(self.text[self.at : self.at + 40], 40)} ({fault.msg}, character {where})"
                    raise SgevalError(
                        f"{place}: expected JSON of at most {MAX_RECORD:,} characters, got {got}"
                    ) from None
            except ValueError:  # a number of thousands of digits
                strict_json.parse(self.text[self.at :], place)
                raise
        text = self.text[self.at : end]
        self.at = end
        return text, strict_json.parse(text, place)

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
            with path.open(encoding="utf-8-sig", newline="") as file:
                yield file
            return
        with zipfile.ZipFile(path) as archive, archive.open(_member(archive, path)) as raw:
            yield io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
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
    return member
