"""Pickles written by hand, instruction by instruction, from the documentation of `pickletools`."""

import struct

import pytest

from sgeval.errors import SgevalError
from sgeval.readers.safe_pickle import parse_pickle

START = b"\x80\x04"


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def raw(value: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(value)) + value


def name(module: str, attribute: str) -> bytes:
    """A name as protocol 4 writes it."""
    return text(module) + text(attribute) + b"\x93"


def refused(data: bytes) -> str:
    """The one line a pickle ends in."""
    with pytest.raises(SgevalError) as caught:
        parse_pickle(data, "p")
    assert str(caught.value).startswith("p: ") and "\n" not in str(caught.value)
    return str(caught.value).removeprefix("p: ")


# --- arrays of numpy

RECONSTRUCT, SCALAR = name("numpy.core.multiarray", "_reconstruct"), name("numpy.core.multiarray", "scalar")
NDARRAY, DTYPE = name("numpy", "ndarray"), name("numpy", "dtype")
EMPTY = RECONSTRUCT + NDARRAY + b"K\x00\x85C\x01b\x87R"
MINUS = b"J" + struct.pack("<i", -1)
HUGE = b"J" + struct.pack("<i", 2**31 - 1)


def number_type(kind: str = "f4", order: str = "<", tail: bytes = b"NNN" + MINUS + MINUS + b"K\x00") -> bytes:
    return DTYPE + text(kind) + b"\x89\x88\x87R(K\x03" + text(order) + tail + b"tb"


def array(shape: bytes, kind: bytes, content: bytes, order: bytes = b"\x89", version: bytes = b"K\x01") -> bytes:
    return EMPTY + b"(" + version + shape + kind + order + content + b"tb"


FOUR = b"K\x01K\x04\x86"
ONES = raw(struct.pack("<4f", 1, 2, 3, 4))
