"""Pickles are data here: what plain data and numpy's arrays become, and that a hostile file does nothing at all.

The hostile files are written by hand, instruction by instruction, from the documentation of `pickletools`. A file
counts as stopped when it ends in one line and nothing in the process or on the disk has changed.
"""

import copyreg
import os
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pickle_kit import (
    START,
    array,
    name,
    number_type,
    raw,
    refused,
    text,
)

from sgeval.errors import SgevalError
from sgeval.readers import safe_pickle
from sgeval.readers.safe_pickle import parse_pickle, read_pickle
from sgeval.strict_json import MAX_DEPTH

# --- plain data

SCALARS: Any = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=300)
)
PLAIN = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.lists(inner, max_size=6).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers(-9, 9), inner, max_size=6)
    ),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(PLAIN, st.sampled_from([3, 4, 5]))
def test_plain_data_is_what_pickle_itself_reads(value: Any, protocol: int):
    data = pickle.dumps(value, protocol)
    ours, theirs = parse_pickle(data, "p"), pickle.loads(data)
    assert ours == theirs == value and repr(ours) == repr(theirs)


def test_long_containers_and_shared_values():
    shared = {"role": "place", "value": "kitchen"}
    value = {
        "rows": [shared] * 3,
        "many": list(range(2500)),
        "long": "x" * 70_000,
        "wide": {f"k{i}": i for i in range(2500)},
    }
    for protocol in (2, 3, 4, 5):
        assert parse_pickle(pickle.dumps(value, protocol), "p") == value


def test_what_is_not_read_though_it_is_harmless():
    """Bytes of protocol 2 and arrays of protocol 5 call names that are not allowed."""
    assert 'got the name "_codecs.encode"' in refused(pickle.dumps(b"x", 2))
    assert '_frombuffer"' in refused(pickle.dumps(np.ones(3), 5))


# --- what a hostile file may try


class Canary:
    """Writes a file when something calls it, or sets its state."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


class Stateful:
    def __setstate__(self, state: Any) -> None:
        Path(state["path"]).touch()


RUN = text("touch CANARY")
CALLS = {
    "GLOBAL and REDUCE": b"cos\nsystem\n" + RUN + b"\x85R",
    "posix": b"cposix\nsystem\n" + RUN + b"\x85R",
    "STACK_GLOBAL": name("os", "system") + RUN + b"\x85R",
    "eval": name("builtins", "eval") + text("open('CANARY','w')") + b"\x85R",
    "exec": name("builtins", "exec") + text("open('CANARY','w')") + b"\x85R",
    "the old module": b"c__builtin__\neval\n" + text("open('CANARY','w')") + b"\x85R",
    "getattr": name("builtins", "getattr") + name("os", "path") + text("os") + b"\x86R",
    "import": name("builtins", "__import__") + text("antigravity") + b"\x85R",
    "open": name("builtins", "open") + text("CANARY") + text("w") + b"\x86R",
    "subprocess": name("subprocess", "Popen") + b"(" + text("touch") + text("CANARY") + b"l" + b"\x85R",
    "INST": b"(" + RUN + b"ios\nsystem\n",
    "OBJ": b"(" + name("os", "system") + RUN + b"o",
    "NEWOBJ": name("builtins", "bytearray") + b"K\x09\x85\x81",
    "NEWOBJ_EX": name("builtins", "bytearray") + b"K\x09\x85}\x92",
    "copyreg": name("copyreg", "_reconstructor") + name("os", "system") + b"N\x86R",
    "a codec": name("_codecs", "encode") + text("x") + text("latin1") + b"\x86R",
    "a nested pickle": name("pickle", "loads") + raw(b"cos\nsystem\n" + RUN + b"\x85R.") + b"\x85R",
    "an unpickler": name("_pickle", "Unpickler") + b")R",
    "a module to run": name("runpy", "run_path") + text("CANARY") + b"\x85R",
    "numpy.load": name("numpy", "load") + text("CANARY") + b"N\x88\x87R",
    "numpy's runstring": name("numpy.testing._private.utils", "runstring") + text("1") + b"}\x86R",
    "numpy's f2py": name("numpy.f2py.crackfortran", "myeval") + text("1") + b"\x85R",
    "numpy's memmap": name("numpy", "memmap") + text("CANARY") + b"\x85R",
    "numpy's frombuffer": name("numpy.core.numeric", "_frombuffer") + b")R",
    "dots in the name": name("numpy", "ndarray.__class__") + b")R",
    "dots to another module": name("numpy", "core.os.system") + RUN + b"\x85R",
    "dots in the module": name("numpy.core.multiarray.os", "system") + RUN + b"\x85R",
    "a module of a module": name("numpy.core.multiarray", "os.system") + RUN + b"\x85R",
    "joblib": name("joblib.numpy_pickle", "NumpyArrayWrapper") + b")\x81}b",
    "dill": name("dill._dill", "_create_function") + b")R",
    "cloudpickle": name("cloudpickle.cloudpickle", "_make_function") + b")R",
    "torch": name("torch._utils", "_rebuild_tensor_v2") + b")R",
    "a name of two kinds": b"K\x01" + text("system") + b"\x93",
    "a name that is a list": text("os") + b"]\x93",
    "a name of two lines": b"cos\nsys\ntem\n",
    "a set, which older protocols call": name("builtins", "set") + b"]\x85R",
    "an extension code": b"\x82\x01",
    "an extension code of two bytes": b"\x83\x01\x00",
    "an extension code of four bytes": b"\x84\x01\x00\x00\x00",
    "a persistent id": b"Pid\n",
    "a persistent id from the stack": text("id") + b"Q",
    "a buffer from outside": b"\x97",
    "a buffer to be written to": b"\x98",
    "BUILD on a dictionary": b"}" + b"}" + text("__class__") + text("x") + b"sb",
    "BUILD with __setstate__ on a dictionary": b"}" + text("__setstate__") + name("os", "system") + b"s" + RUN + b"b",
    "BUILD with slots on a name": name("numpy", "ndarray") + b"N}" + text("__doc__") + text("x") + b"s\x86b",
    "BUILD on numpy's function": name("numpy.core.multiarray", "_reconstruct") + b"N}" + text("x") + b"Ns\x86b",
    "BUILD on a list": b"]K\x01b",
    "REDUCE on a text": text("os.system") + RUN + b"\x85R",
    "REDUCE on a dictionary": b"}" + RUN + b"\x85R",
    "REDUCE without a tuple": name("numpy", "dtype") + text("f4") + b"R",
    "APPEND to a name": name("numpy", "ndarray") + b"K\x01a",
    "APPEND to a tuple": b")K\x01a",
    "SETITEM on a list": b"]K\x00K\x01s",
    "ADDITEMS": b"\x8f(K\x01\x90",
    "FROZENSET": b"(K\x01\x91",
    "a name as the value": name("numpy", "ndarray"),
    "a name inside": b"]" + name("numpy", "dtype") + b"a",
    "a name as a key": b"}" + name("numpy", "dtype") + b"K\x01s",
}


@pytest.mark.parametrize("payload", CALLS.values(), ids=CALLS)
def test_nothing_is_called(payload: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    modules = set(sys.modules)
    assert refused(START + payload + b".").startswith(("byte ", "expected plain data"))
    # The same deep inside of data that looks sound, and after a memo place was taken.
    refused(START + b"}" + text("a") + b"](" + payload + b"esq\x00.")
    assert list(tmp_path.iterdir()) == [] and set(sys.modules) - modules <= {"pickletools"}


@pytest.mark.parametrize("protocol", range(6))
def test_objects_that_pickle_would_run(protocol: int, tmp_path: Path):
    canary = tmp_path / "canary"
    path = tmp_path / "file.pkl"
    stateful = Stateful()
    stateful.__dict__["path"] = str(canary)
    for value in (
        Canary(canary),
        {"a": [Canary(canary)]},
        {"a": (1, stateful)},
        copyreg.pickle,
        Stateful,
        1j,
        {1},
        b"".join,
    ):
        path.write_bytes(pickle.dumps(value, protocol))
        with pytest.raises(SgevalError, match=r"file.pkl: .*expected ") as caught:
            read_pickle(path)
        assert "\n" not in str(caught.value) and not canary.exists()
    # The trap works where a pickle is believed.
    path.write_bytes(pickle.dumps(Canary(canary), protocol))
    pickle.loads(path.read_bytes())
    assert canary.exists()


def test_a_nested_pickle_stays_bytes():
    inner = pickle.dumps(Canary(Path("/nowhere/canary")))
    assert parse_pickle(pickle.dumps({"inner": inner}), "p") == {"inner": inner}


# --- stacks, memos, sizes

TRICKS = {
    "nothing on the stack": (b"", "one value at the end, got 0"),
    "two values": (b"NN", "one value at the end, got 2"),
    "an open mark": (b"N(", "one value at the end, got 1 and 1 open marks"),
    "a mark and nothing else": (b"(", "one value at the end, got 0 and 1 open marks"),
    "no mark": (b"]K\x01e", "a mark on the stack, got none"),
    "a tuple of nothing": (b"\x85", "a value on the stack, got none"),
    "below a mark": (b"K\x01(\x85", "a value on the stack, got none"),
    "a list below a mark": (b"](K\x01a", "a list on the stack, got something else"),
    "POP": (b"NN0", "plain data, got the instruction POP"),
    "POP_MARK": (b"N(N1", "plain data, got the instruction POP_MARK"),
    "DUP": (b"N2\x86", "plain data, got the instruction DUP"),
    "a key without a value": (b"}(K\x01u", "as many values as keys, got 1 in all"),
    "a key that is a list": (b"}]K\x01s", "keys that are texts or whole numbers, got list"),
    "a key that is a tuple": (b"})K\x01s", "keys that are texts or whole numbers, got tuple"),
    "a key that is null": (b"}NK\x01s", "keys that are texts or whole numbers, got NoneType"),
    "a key that is true": (b"}\x88K\x01s", "keys that are texts or whole numbers, got bool"),
    "a key twice": (b"}(K\x01NK\x01Nu", "each key once, got the key 1 twice"),
    "an unknown memo place": (b"h\x07", "the memo place of an earlier value, got 7"),
    "a negative memo place": (b"Ng-1\n", "plain data, got the instruction GET"),
    "memo of nothing": (b"q\x00", "a value on the stack, got none"),
    "protocol 0 numbers": (b"I1\n", "plain data, got the instruction INT"),
    "protocol 0 texts": (b"S'a'\n", "plain data, got the instruction STRING"),
    "protocol 0 lists": (b"(l", "plain data, got the instruction LIST"),
    "Python 2 texts": (b"U\x01a", "plain data, got the instruction SHORT_BINSTRING"),
    "a byte that is none": (b"\xff", "plain data, got the byte 0xff, no instruction"),
    "the protocol again": (b"N\x80\x04", "one protocol, 2 to 5, at the beginning, got 4"),
    "half a character": (b"X\x03\x00\x00\x00\xed\xa0\x80", "UTF-8 text, got bytes that are none"),
    "bytes that are no text": (b"\x8c\x01\xff", "UTF-8 text, got bytes that are none"),
    "a number of 65 bits": (b"\x8a\x09" + b"\x00" * 8 + b"\x01", "a number that fits 64 bits, got one of 65 bits"),
    "a number of 2,000 digits": (b"\x8b\x00\x04\x00\x00" + b"\x01" * 1024, "plain data, got the instruction LONG4"),
    "a text longer than the file": (b"\x8d" + b"\xff" * 8, "bytes more, got the end of the file after 1"),
    "bytes longer than the file": (b"\x8e" + struct.pack("<Q", 2**40), "1,099,511,627,776 bytes more"),
    "bytes to be written to": (b"\x96" + struct.pack("<Q", 2**40), "plain data, got the instruction BYTEARRAY8"),
    "a frame longer than the file": (b"\x95" + struct.pack("<Q", 2**62) + b"N", "bytes more, got the end of the file"),
}


@pytest.mark.parametrize(("payload", "message"), TRICKS.values(), ids=TRICKS)
def test_tricks_with_the_stack(payload: bytes, message: str):
    assert message in refused(START + payload + b".")


def test_a_huge_memo_place_allocates_nothing():
    assert parse_pickle(START + b"Nr\xff\xff\xff\xff.", "p") is None


def test_memo_bombs():
    """Ten lists, each holding the one before ten times: some 250 bytes that unfold to ten thousand million values."""
    bomb = START + b"](" + b"](" + b"N" * 10 + b"e\x94"
    for level in range(9):
        bomb += b"](" + bytes((ord("h"), level)) * 10 + b"e\x94"
    assert "values that unfold to far more" in refused(bomb + b"e.")
    # One array of 4,000 numbers used in 1,000 places.
    shared = (
        START + b"](" + array(b"M\xa0\x0f\x85", number_type(), raw(bytes(16_000))) + b"q\x00" + b"h\x00" * 999 + b"e."
    )
    assert "values that unfold to far more" in refused(shared)


def test_values_that_hold_themselves():
    assert "levels of nesting" in refused(START + b"]q\x00h\x00a.")
    assert "levels of nesting" in refused(START + b"}q\x00" + text("a") + b"h\x00s.")
    endless: Any = ([],)
    endless[0].append(endless)
    assert "got the instruction POP" in refused(pickle.dumps(endless))


def test_depth():
    def nested(depth: int) -> bytes:
        return START + b"]" * depth + b"a" * (depth - 1) + b"."

    assert parse_pickle(nested(MAX_DEPTH), "p") == eval("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 100_000):
        assert refused(nested(depth)) == f"expected at most {MAX_DEPTH} levels of nesting, got more"
    assert "levels of nesting" in refused(START + b")" + b"\x85" * 100_000 + b".")
    assert "got tuple" in refused(START + b"})" + b"\x85" * 100_000 + b"Ns.")


@pytest.mark.parametrize("protocol", [3, 4])
def test_a_file_cut_anywhere(protocol: int):
    data = pickle.dumps(
        {"bbox": np.ones((1, 4), "f4"), "names": ["a" * 300, 70_000, 0.5, b"x"], "more": (1, 2, 3, None)}, protocol
    )
    for end in range(len(data)):
        refused(data[:end])


def test_what_follows_the_end():
    data = pickle.dumps([1])
    assert refused(data + b"\n").endswith("expected the end of the file, got 1 bytes more")
    assert "expected the end of the file" in refused(data + data)
    assert "expected the end of the file" in refused(data + b"cos\nsystem\n" + RUN + b"\x85R.")


def test_what_is_no_pickle(tmp_path: Path):
    assert refused(b"") == "byte 0: expected a pickle of protocol 2 to 5, got nothing"
    assert refused(b"{}") == 'byte 0: expected a pickle of protocol 2 to 5, got "{"'
    assert refused(b"\x80\x06N.") == "byte 0: expected one protocol, 2 to 5, at the beginning, got 6"
    assert refused(pickle.dumps([1], 0)).startswith("byte 0: expected a pickle of protocol 2 to 5")
    with pytest.raises(SgevalError, match=r"none.pkl: cannot be read \(No such file or directory\)"):
        read_pickle(tmp_path / "none.pkl")
    with pytest.raises(SgevalError, match="cannot be read"):
        read_pickle(tmp_path)


def test_the_size_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "large.pkl"
    path.write_bytes(pickle.dumps("x" * 100))
    monkeypatch.setattr(safe_pickle.strict_json, "MAX_FILE_BYTES", 50)
    with pytest.raises(SgevalError, match="expected at most 50 bytes, got 1"):
        read_pickle(path)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 200), st.integers(0, 255))
def test_noise_ends_in_one_line_or_in_plain_data(noise: bytes, at: int, byte: int):
    sound = pickle.dumps({"bbox": np.ones((1, 4), "f4"), "names": ["a", None, 0.5]}, 4)
    for data in (START + noise, START + noise + b".", sound[:at] + bytes([byte]) + sound[at + 1 :], sound[:at] + noise):
        try:
            parse_pickle(data, "p")
        except SgevalError as fault:
            assert "\n" not in str(fault)
