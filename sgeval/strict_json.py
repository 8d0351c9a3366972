"""JSON as a careful reader takes it: what is ambiguous, endless or not a number is refused with one line."""

import json
import re
import sys
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from sgeval.errors import SgevalError, one_line, shown

MAX_FILE_BYTES = 2 * 1024**3
MAX_LINE_BYTES = 64 * 1024**2
MAX_DEPTH = 16
BLOCK = 2**20

_SIMPLE = frozenset((str, int, float, bool, type(None)))
"""What JSON has beside lists and objects; most values are such, and this is the quick way to tell."""
_BROKEN_OFF = re.compile(r"[,:]?|-|\.|[eE][+-]?|t(ru?)?|f(a(ls?)?)?|n(ul?)?")
"""What a text that is cut short may end in, from where a parser no longer understands it."""


def parse(text: str, place: str) -> Any:
    """Parse one JSON text.

    Refused, with `place` in the message: doubled keys, NaN and infinities (1e999 too), nesting deeper than
    `MAX_DEPTH`, numbers of thousands of digits, lone surrogates, and whatever is not JSON.

    >>> parse('{"a": 1, "a": 2}', "line 3")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: line 3: expected each key once, got the key "a" twice
    """

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        keys: dict[str, Any] = dict(items)
        if len(keys) != len(items):
            raise SgevalError(f"{place}: expected each key once, got the key {shown(doubled(items))} twice")
        return keys

    def not_a_number(word: str) -> NoReturn:
        raise SgevalError(f"{place}: expected finite numbers, got {word}")

    def finite(digits: str) -> float:
        number = float(digits)
        if number - number != 0.0:
            not_a_number(shown(number) if len(digits) > 20 else digits)
        return number

    return load(text, place, pairs, not_a_number, finite)


def doubled(items: list[tuple[str, Any]]) -> str:
    """The first key that stands twice."""
    seen: set[str] = set()
    return next(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]


def load(
    text: str,
    place: str,
    pairs: Callable[[list[tuple[str, Any]]], Any],
    constant: Callable[[str], Any],
    decimal: Callable[[str], Any] | None = None,
) -> Any:
    """Parse one JSON text as `parse` does, with the caller's say on objects, on NaN and infinities, and on decimals."""
    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_float=decimal)
    except SgevalError:
        raise
    except RecursionError:
        raise SgevalError(f"{place}: expected at most {MAX_DEPTH} levels of nesting, got many more") from None
    except json.JSONDecodeError as fault:
        end = f": cut short at byte {len(text.encode(errors='replace')):,}" if is_cut_short(fault) else ""
        raise SgevalError(
            f"{place}: expected JSON, got {shown(text, 40)} ({fault.msg}, column {fault.colno}){end}"
        ) from None
    except ValueError:  # the one that is left: Python's guard against numbers that take long to read
        most = sys.get_int_max_str_digits()
        raise SgevalError(f"{place}: expected numbers of at most {most:,} digits, got one of more") from None
    if too_deep(value):
        raise SgevalError(f"{place}: expected at most {MAX_DEPTH} levels of nesting, got more")
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise SgevalError(f"{place}: expected whole characters, got half of a surrogate pair") from None
    return value


def is_cut_short(fault: json.JSONDecodeError) -> bool:
    """Whether the text of a fault is the beginning of JSON, and only ends too early. An empty text is not."""
    if fault.msg.startswith("Unterminated string"):
        return True
    rest = fault.doc[fault.pos : fault.pos + 20].strip()
    if fault.msg.startswith("Invalid \\u"):
        return re.fullmatch("u[0-9a-fA-F]{0,4}", rest) is not None
    return fault.doc != "" and not fault.doc.isspace() and _BROKEN_OFF.fullmatch(rest) is not None


def too_deep(value: Any) -> bool:
    """Whether lists and objects nest deeper than `MAX_DEPTH`. Walks level by level, so it cannot overflow itself."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if type(child) not in _SIMPLE and isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def parse_rows(text: str, place: str, most: int) -> list[Any]:
    """The rows of a text of at most `most` characters: one JSON value a line (blank lines skipped), or one JSON list.

    >>> parse_rows('{"a": 1}\\n\\n{"a": 2}', "rows", 100)
    [{'a': 1}, {'a': 2}]
    """
    if len(text) > most:
        raise SgevalError(f"{place}: expected at most {most:,} characters, got {len(text):,}")
    if text.lstrip().startswith("["):
        rows: list[Any] = parse(text, place)
        return rows
    lines = enumerate(text.split("\n"), 1)  # not at U+2028, which may stand inside a text
    return [parse(line, f"{place}, line {number}") for number, line in lines if line.strip()]


def read_text(path: Path) -> str:
    """The text of a UTF-8 file (a byte order mark is dropped), refused above `MAX_FILE_BYTES`."""
    with _readable(path):
        return path.read_text(encoding="utf-8-sig")


def read_bytes(path: Path) -> bytes:
    """The same as bytes, for whoever needs no text of the whole: both together take twice the memory."""
    with _readable(path):
        data = path.read_bytes()
        decoder = getincrementaldecoder("utf-8")()
        try:
            for start in range(0, len(data), BLOCK):
                decoder.decode(data[start : start + BLOCK])
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            data.decode()  # tells where in the whole
        return data.removeprefix(BOM_UTF8)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    place = one_line(str(path))
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise SgevalError(f"{place}: expected at most {MAX_FILE_BYTES:,} bytes, got {size:,}")
        yield
    except UnicodeDecodeError as fault:
        raise SgevalError(f"{place}: expected UTF-8 text, got byte {fault.start} that is none") from None
    except OSError as fault:
        raise SgevalError(f"{place}: cannot be read ({fault.strerror})") from None


def read_file(path: Path) -> Any:
    """One JSON file, whole."""
    return parse(read_text(path), one_line(str(path)))


def read_rows(path: Path, faults: list[str] | None = None) -> Iterator[Any]:
    """The rows of a file: one JSON value a line (blank lines skipped), or one JSON list.

    Lines are read one by one, so a large file needs the memory of its longest line. Errors name file and line; with a
    list for `faults` a line that cannot be read is noted there and left out.
    """
    place = one_line(str(path))
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise SgevalError(f"{place}: expected at most {MAX_FILE_BYTES:,} bytes, got {size:,}")
        if begins_with_bracket(path):
            yield from read_file(path)
            return
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), start=1):
                if len(line) > MAX_LINE_BYTES:
                    raise SgevalError(f"{place}, line {number}: expected at most {MAX_LINE_BYTES:,} bytes, got more")
                try:
                    text = line_text(line, place, number)
                    value = parse(text, f"{place}, line {number}") if text else None
                except SgevalError as fault:
                    if faults is None:
                        raise
                    faults.append(str(fault))
                    continue
                if text:
                    yield value
    except OSError as fault:
        raise SgevalError(f"{place}: cannot be read ({fault.strerror})") from None


def begins_with_bracket(path: Path) -> bool:
    """Whether a file is one list, going by the first character that is no blank."""
    with path.open("rb") as file:
        block = file.read(4096).removeprefix(b"\xef\xbb\xbf")
        while block and not block.strip():
            block = file.read(4096)
        return block.lstrip().startswith(b"[")


def line_text(line: bytes, place: str, number: int) -> str:
    """The text of a line without the blanks around it."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError:
        raise SgevalError(f"{place}, line {number}: expected UTF-8 text, got bytes that are none") from None
