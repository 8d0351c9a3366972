"""Arrays and numbers of numpy in pickles: sound ones come out as they were, misused ones are refused."""

import pickle
import struct

import numpy as np
import pytest
from pickle_kit import (
    DTYPE,
    EMPTY,
    FOUR,
    HUGE,
    MINUS,
    NDARRAY,
    ONES,
    RECONSTRUCT,
    SCALAR,
    START,
    array,
    number_type,
    raw,
    refused,
    text,
)

from sgeval.readers.safe_pickle import parse_pickle


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize("kind", ["?", "i1", "u1", "<i2", ">i4", "<i8", "<u8", "<f2", "<f4", ">f4", "<f8"])
@pytest.mark.parametrize("shape", [(), (0, 4), (3,), (2, 3), (1, 2, 3)])
def test_arrays_of_numbers(protocol: int, kind: str, shape: tuple[int, ...]):
    array = np.arange(np.prod(shape, dtype=int)).astype(kind).reshape(shape)
    (ours,) = parse_pickle(pickle.dumps([array], protocol), "p")
    assert type(ours) is np.ndarray and ours.dtype == array.dtype and ours.shape == shape
    assert np.array_equal(ours, array) and not ours.flags.writeable


def test_arrays_in_columns_order_and_number_types_shared():
    array = np.arange(6.0).reshape(2, 3)
    first, second, third = parse_pickle(pickle.dumps([np.asfortranarray(array), array + 1, array], 4), "p")
    assert np.array_equal(first, array) and np.array_equal(second, array + 1) and np.array_equal(third, array)


def test_both_names_of_numpy_and_its_single_numbers():
    array, number = np.arange(3, dtype="<f4"), np.float64(0.1)
    now = pickle.dumps({"array": array, "number": number}, 3)
    new, old = b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n"
    assert now.count(new) + now.count(old) == 2
    for data in (now.replace(old, new), now.replace(new, old)):
        got = parse_pickle(data, "p")
        # 0.1 as a float of 64 bits is the literal 0.1; the single number comes out as Python's own.
        assert np.array_equal(got["array"], array) and got["number"] == 0.1 and type(got["number"]) is float


def test_the_hand_written_array_is_one():
    got = parse_pickle(START + array(FOUR, number_type(), ONES) + b".", "p")
    assert got.tolist() == [[1.0, 2.0, 3.0, 4.0]] and got.dtype == np.float32


MISUSES = {
    "a huge shape": (array(HUGE + HUGE + HUGE + b"\x87", number_type(), ONES), "bytes for 2147483647 x 2147483647 x"),
    "a shape of more than the bytes": (
        array(b"K\x05\x85", number_type(), ONES),
        "20 bytes for 5 numbers float32, got 16",
    ),
    "a shape of less than the bytes": (
        array(b"K\x03\x85", number_type(), ONES),
        "12 bytes for 3 numbers float32, got 16",
    ),
    "a negative side": (array(MINUS + MINUS + b"\x86", number_type(), ONES), "a shape of at most 8 sides"),
    "a side beyond 32 bits": (
        array(b"K\x00\x8a\x05\x00\x00\x00\x00\x01\x86", number_type(), raw(b"")),
        "a shape of at",
    ),
    "a huge shape without numbers": (
        array(b"(" + HUGE * 5 + b"K\x00t", number_type(), raw(b"")),
        "a shape of at most 9,223,372,036,854,775,807 bytes",
    ),
    "many sides": (array(b"(" + b"K\x01" * 9 + b"t", number_type(), raw(b"1234")), "a shape of at most 8 sides"),
    "a side that is true": (array(b"\x88\x85", number_type(), raw(b"1234")), "a shape of at most 8 sides"),
    "a shape that is a list": (array(b"](K\x04e", number_type(), ONES), "a shape of at most 8 sides"),
    "a shape that is an array": (array(array(FOUR, number_type(), ONES), number_type(), ONES), "a shape of at most"),
    "objects": (array(FOUR, number_type("O8", "|"), b"](NNNNe"), 'got "O8"'),
    "objects by another name": (DTYPE + text("O") + b"\x89\x88\x87R", 'got "O"'),
    "texts": (DTYPE + text("U9") + b"\x89\x88\x87R", 'got "U9"'),
    "records": (DTYPE + text("V16") + b"\x89\x88\x87R", 'got "V16"'),
    "dates": (DTYPE + text("M8") + b"\x89\x88\x87R", 'got "M8"'),
    "a list of fields": (DTYPE + text("f4,O") + b"\x89\x88\x87R", 'got "f4,O"'),
    "a class as number type": (DTYPE + NDARRAY + b"\x89\x88\x87R", "a call of numpy's dtype with others"),
    "a type with fields": (number_type(tail=b"N" + text("a") + b"\x85}" + MINUS + MINUS + b"K\x00"), "the state numpy"),
    "a type that is a subarray": (
        number_type(tail=number_type() + b"K\x02\x85\x86NN" + MINUS + MINUS + b"K\x00"),
        "the state numpy",
    ),
    "a type that says objects in its flags": (number_type(tail=b"NNN" + MINUS + MINUS + b"K\x3f"), "the state numpy"),
    "a type of another size": (number_type(tail=b"NNNK\x40" + MINUS + b"K\x00"), "the state numpy"),
    "a type with metadata": (
        DTYPE + text("f4") + b"\x89\x88\x87R(K\x04" + text("<") + b"NNN" + MINUS + MINUS + b"K\x00}tb",
        "the state numpy",
    ),
    "a type of no byte order": (number_type(order="|"), "the state numpy"),
    "a state of a list in a type's place": (DTYPE + text("f4") + b"\x89\x88\x87R]b", "the state numpy"),
    "numbers in a list": (
        array(FOUR, number_type(), b"](G" + struct.pack(">d", 1) + b"e"),
        "bytes of an array of numbers",
    ),
    "another version": (array(FOUR, number_type(), ONES, version=b"K\x02"), "bytes of an array of numbers"),
    "an order that is a number": (array(FOUR, number_type(), ONES, order=b"K\x01"), "bytes of an array of numbers"),
    "a name as number type": (array(FOUR, NDARRAY, ONES), "bytes of an array of numbers"),
    "a type without its state": (
        array(FOUR, DTYPE + text("f4") + b"\x89\x88\x87R", ONES),
        "bytes of an array of numbers",
    ),
    "an array without its state": (b"]" + EMPTY + b"a", "got half an array or a number type"),
    "a second copy left without": (
        b"](" + EMPTY + b"q\x00h\x00(K\x01" + FOUR + number_type() + b"\x89" + ONES + b"tbe",
        "got half an array or a number type",
    ),
    "a type as a value": (b"]" + number_type() + b"a", "got half an array or a number type"),
    "another class": (RECONSTRUCT + DTYPE + b"K\x00\x85C\x01b\x87R", "numpy's _reconstruct with others"),
    "a shape at once": (RECONSTRUCT + NDARRAY + HUGE + b"\x85C\x01b\x87R", "numpy's _reconstruct with others"),
    "objects at once": (RECONSTRUCT + NDARRAY + b"K\x00\x85C\x01O\x87R", "numpy's _reconstruct with others"),
    "false as a side": (RECONSTRUCT + NDARRAY + b"\x89\x85C\x01b\x87R", "numpy's _reconstruct with others"),
    "an array as argument": (
        RECONSTRUCT + NDARRAY + array(FOUR, number_type(), ONES) + b"C\x01b\x87R",
        "numpy's _reconstruct with others",
    ),
    "ndarray called": (NDARRAY + HUGE + b"\x85R", "a call of numpy's ndarray with others"),
    "a state set twice": (array(FOUR, number_type(), ONES) + b"Nb", "an array or a number type without its state"),
    "a number of other bytes": (SCALAR + number_type("f8") + ONES + b"\x86R", "8 bytes for one number, got 16"),
    "a number that is an object": (SCALAR + DTYPE + text("O8") + b"\x89\x88\x87RN\x86R", 'got "O8"'),
    "a number without bytes": (SCALAR + number_type() + b"N\x86R", "numpy's scalar with others"),
}


@pytest.mark.parametrize(("payload", "message"), MISUSES.values(), ids=MISUSES)
def test_misuses_of_arrays(payload: bytes, message: str):
    assert message in refused(START + payload + b".")


def test_arrays_of_objects_as_numpy_writes_them():
    for values in (
        np.array([{}, []], dtype=object),
        np.array(["a", "b"]),
        np.zeros(2, [("a", "f4")]),
        np.ma.masked_array([1]),
    ):
        for protocol in (3, 4):
            assert "expected" in refused(pickle.dumps(values, protocol))
