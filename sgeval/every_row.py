"""All rows of a file of graphs, whatever is wrong with some of them, so that every fault is found at once.

Where `strict_json` refuses, this goes on: NaN, infinities and doubled keys come out as they stand, for the one who knows
the place of what holds them (`validation`); in place of a line that is no JSON comes an `Unread`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgeval import strict_json
from sgeval.errors import Fault, SgevalError, one_line
from sgeval.limits import USUAL, Limits


class Doubled(dict[str, Any]):
    """An object with a key that stands twice; the last one counts."""

    key: str


class Clean(dict[str, Any]):
    """A row in which no key stands twice, and in whose text no number can be one that is not finite or not of 64 bits."""


@dataclass(frozen=True)
class Unread:
    """In place of a row that cannot be read: why, and the line that says so."""

    message: str
    text: str


@dataclass
class Reading:
    """How a file is read to its end, and what is to be known of it beside its rows."""

    limits: Limits = USUAL
    lines: list[int] = field(default_factory=list)
    """The line of each row, counted from 1; none where rows are no lines."""
    member: str = ""
    """The name of the file within an archive."""
    name: str = ""
    """What messages call the file, where not by its path."""
    faults: list[Fault] = field(default_factory=list)
    """What is wrong with the file beside its rows."""


def read_every(path: Path, reading: Reading) -> Iterator[Any]:
    """The rows of a file, as `strict_json.read_rows` goes through it; their lines are noted.

    Raises `SgevalError` for a file that cannot be read, for one that is a list and no JSON, and for more than the limits
    allow, at once.
    """
    limits, name = reading.limits, reading.name or one_line(str(path))
    try:
        limits.refuse(name, "unpacked" if reading.member else "bytes", path.stat().st_size, "bytes")
        if strict_json.begins_with_bracket(path):
            text = strict_json.read_text(path)
            limits.refuse(name, "commas", text.count(","), "commas")
            rows = _parsed(text, name)
            limits.refuse(name, "rows", len(rows), "rows")
            yield from rows
            return
        with path.open("rb") as file:
            n_unread = 0
            lines = enumerate(iter(lambda: file.readline(limits.line_bytes + 1), b""), start=1)
            for number, line in lines:
                place = f"{name}, line {number}"
                limits.refuse(place, "line_bytes", len(line), "bytes")
                limits.refuse(place, "commas", line.count(b","), "commas")
                try:
                    text = strict_json.line_text(line, name, number)
                    row = _parsed(text, place) if text else None
                except SgevalError as fault:
                    row = Unread(str(fault).removeprefix(f"{place}: "), str(fault))
                    n_unread += 1
                    limits.refuse(name, "faults", n_unread, "faults")
                else:
                    if not text:
                        continue
                reading.lines.append(number)
                limits.refuse(name, "rows", len(reading.lines), "rows")
                yield row
    except OSError as fault:
        raise SgevalError(f"{name}: cannot be read ({fault.strerror})") from None


_ODD = (re.compile(r"[-:,\[\s][0-9]{19}"), re.compile(r"[eE](?<=[0-9].)"))
"""What a text has that holds such numbers, beside their names: nineteen digits before any point, or an exponent. Texts of
labels may have it, too. Two searches for what is rare take less than half the time of one."""


def _parsed(text: str, place: str) -> Any:
    is_odd = any(odd.search(text) for odd in _ODD)

    def constant(word: str) -> float:
        nonlocal is_odd
        is_odd = True
        return float(word)

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = dict(items)
        if len(keys) == len(items):
            return keys
        nonlocal is_odd
        is_odd = True
        both = Doubled(keys)
        both.key = strict_json.doubled(items)
        return both

    value = strict_json.load(text, place, pairs, constant)
    if is_odd:
        return value
    if isinstance(value, list):
        return [Clean(row) if isinstance(row, dict) else row for row in value]
    return Clean(value) if isinstance(value, dict) else value
