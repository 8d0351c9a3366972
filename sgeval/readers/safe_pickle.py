"""Pickles of strangers as data, never as programs.

A pickle is a list of instructions that may import and call whatever its author likes. Nothing here hands one to
`pickle`: this module carries out the few instructions that build plain data, and refuses the file at any other.

What can be built: texts, bytes, whole numbers of at most 64 bits, floats, true, false and null; lists, tuples, and
dictionaries whose keys are texts or whole numbers; numpy arrays and single numbers of plain number types, under the
names `numpy.core` and `numpy._core`. Those names are recognised as words and nothing is imported or called through
them: an array is a read-only view of the bytes that stand in the file, and only when their number is what shape and type
ask for. What cannot: any other name, objects of any class, sets, arrays of objects, persistent ids, extension codes, and
the instructions of protocols 0 and 1. Protocols 2 to 5 are read as Python 3 writes them, but for bytes in protocol 2 and
arrays in protocol 5, which call yet other names.

Memory stays in proportion to the file, at most some 32 times its size: lengths are checked against what is left of it, a
memo place out of turn allocates nothing before it, lists, dictionaries, tuples and marks are counted, nesting is at most
`strict_json.MAX_DEPTH`, and what is used in many places may not unfold to more than `MAX_UNFOLDED` values and
`MAX_UNFOLDED_TEXT` characters for each byte of the file.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sgeval import strict_json
from sgeval.errors import SgevalError
from sgeval.readers.pickle_machine import Machine, Name

MAX_UNFOLDED = 4  # an unshared value takes a byte at least, so only sharing on purpose gets near
MAX_UNFOLDED_TEXT = 16  # a text that is used once more takes two bytes at least: 32 characters in each place
FREE_TEXT = 2**20  # characters and bytes, whatever the file's size
LEAVES = frozenset((int, float, bool, type(None)))


def read_pickle(path: str | Path) -> Any:
    """The plain data of a pickle file.

    Raises `SgevalError` in one line, with file, byte, what was expected and what stands there: for a file that cannot be
    read or is larger than `strict_json.MAX_FILE_BYTES`, and for all that `parse_pickle` refuses.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > strict_json.MAX_FILE_BYTES:
            raise SgevalError(f"{path}: expected at most {strict_json.MAX_FILE_BYTES:,} bytes, got {size:,}")
        data = path.read_bytes()
    except OSError as fault:
        raise SgevalError(f"{path}: cannot be read ({fault.strerror})") from None
    return parse_pickle(data, str(path))


def parse_pickle(data: bytes, place: str) -> Any:
    """The plain data of one pickle; see the module for what that can be. Faults name the `place`.

    >>> parse_pickle(b"\\x80\\x03]q\\x00(K\\x01X\\x02\\x00\\x00\\x00hie.", "two values")
    [1, 'hi']
    >>> parse_pickle(b"\\x80\\x03cos\\nsystem\\nX\\x02\\x00\\x00\\x00ls\\x85R.", "a trap")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: a trap: byte 2: expected plain data, got the name "os.system"
    """
    value = Machine(data, place).run()
    _check_whole(value, len(data), place)
    return value


def _check_whole(value: Any, size: int, place: str) -> None:
    """Refuse what is no plain data, nests too deep, holds itself, or unfolds to far more than the `size` of the file.

    Value by value, with one iterator for each level that is open: neither recursion nor a list of all values.
    """
    most_values, most_text = MAX_UNFOLDED * size, MAX_UNFOLDED_TEXT * size + FREE_TEXT
    open_levels: list[Iterator[Any]] = [iter((value,))]
    count = text = 0
    while open_levels:
        for child in open_levels[-1]:
            kind = type(child)
            if kind is str or kind is bytes:
                text += len(child)
            elif kind is list or kind is tuple or kind is dict:
                count += len(child)
                open_levels.append(iter(child.values() if kind is dict else child))
                break
            elif kind is np.ndarray:
                count += child.size
            elif kind not in LEAVES:
                got = f"{child.value} itself" if isinstance(child, Name) else "half an array or a number type"
                raise SgevalError(f"{place}: expected plain data, got {got}")
        else:
            open_levels.pop()
        if len(open_levels) > strict_json.MAX_DEPTH + 1:
            raise SgevalError(f"{place}: expected at most {strict_json.MAX_DEPTH} levels of nesting, got more")
        if count > most_values or text > most_text:
            raise SgevalError(f"{place}: expected data of the file's own size, got values that unfold to far more")
