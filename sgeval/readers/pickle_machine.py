"""The instructions of a pickle that build plain data, and a machine that carries out these and no others.

`safe_pickle` says what that is for, and has the last look at what comes out.
"""

import math
import struct
from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

import numpy as np

from sgeval.errors import SgevalError, shown

MAX_ARRAY_SIDES = 8
MAX_ARRAY_LENGTH = 2**31 - 1
MAX_ARRAY_BYTES = 2**63 - 1
HIGHEST_PROTOCOL = 5
MAX_MARKS = 100  # Python opens one or two a level of nesting
BYTES_A_CONTAINER = 3  # Python writes an empty list in two bytes at least, and one that is of use in four or more
FREE_CONTAINERS = 100_000  # some 9 MB, whatever the file's size
STOP = ord(".")
END = "the end of the file"

NUMBER_TYPES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")


class Name(Enum):
    """The names a pickle may say. They stand for themselves: nothing is imported."""

    RECONSTRUCT = "numpy's _reconstruct"
    SCALAR = "numpy's scalar"
    NDARRAY = "numpy's ndarray"
    DTYPE = "numpy's dtype"


NAMES = {
    ("numpy", "ndarray"): Name.NDARRAY,
    ("numpy", "dtype"): Name.DTYPE,
    ("numpy.core.multiarray", "_reconstruct"): Name.RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): Name.RECONSTRUCT,
    ("numpy.core.multiarray", "scalar"): Name.SCALAR,
    ("numpy._core.multiarray", "scalar"): Name.SCALAR,
}


class Unbuilt:
    """An array or a number type that still waits for its state; `places` are the memo places it was put in, if any."""

    __slots__ = ("number_type", "places")

    def __init__(self, number_type: str | None = None) -> None:
        self.number_type = number_type
        self.places: list[int] | None = None


class Machine:
    """One pass over the instructions. A stack, marks into it, and a memo; nothing else can be reached."""

    def __init__(self, data: bytes, place: str) -> None:
        self.data = data
        self.place = place
        self.at = 0
        self.start = 0  # of the instruction at work
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: list[Any] = []
        self.odd_places: dict[int, Any] = {}  # memo places out of turn; Python writes none
        self.room = FREE_CONTAINERS + len(data) // BYTES_A_CONTAINER  # for lists, dictionaries, tuples

    def run(self) -> Any:
        """Carry out all instructions; the value they leave."""
        if self.data[:1] != b"\x80":
            self.fail("a pickle of protocol 2 to 5", shown(self.data[:1].decode("latin-1")) if self.data else "nothing")
        data, size = self.data, len(self.data)
        while self.at < size:
            self.start = self.at
            self.at += 1
            code = data[self.start]
            if code == STOP:
                break
            step = STEPS.get(code)
            if step is None:
                self.refuse_instruction(code)
            step(self)
        else:
            self.start = size
            self.fail("an instruction", END)
        if len(self.stack) != 1 or self.marks:
            self.fail("one value at the end", f"{len(self.stack)} and {len(self.marks)} open marks")
        if self.at != size:
            self.start = self.at
            self.fail(END, f"{size - self.at:,} bytes more")
        return self.stack[0]

    def fail(self, expected: str, got: str) -> NoReturn:
        """Refuse the file at the instruction at work."""
        hint = ": it is cut short; fetch it again" if got.startswith(END) else ""
        raise SgevalError(f"{self.place}: byte {self.start}: expected {expected}, got {got}{hint}")

    def refuse_instruction(self, code: int) -> NoReturn:
        """Refuse the file for an instruction that is not carried out here."""
        import pickletools

        known = {ord(entry.code): f"the instruction {entry.name}" for entry in pickletools.opcodes}
        self.fail("plain data", known.get(code, f"the byte {code:#04x}, no instruction"))

    def take(self, count: int) -> bytes:
        """The next bytes of the file."""
        piece = self.data[self.at : self.at + count]
        if len(piece) < count:
            self.fail(f"{count:,} bytes more", f"{END} after {len(piece):,}")
        self.at += count
        return piece

    def line(self) -> str:
        """The text up to the next line end."""
        end = self.data.find(b"\n", self.at)
        if end < 0:
            self.fail("a line end", END)
        piece = self.take(end - self.at)
        self.at += 1
        return self.text(piece)

    def text(self, piece: bytes) -> str:
        """Bytes as UTF-8 text."""
        try:
            return piece.decode("utf-8")
        except UnicodeDecodeError:
            self.fail("UTF-8 text", "bytes that are none")

    def pop(self) -> Any:
        """The topmost value; none that lies below a mark."""
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            self.fail("a value on the stack", "none")
        return self.stack.pop()

    def pop_to_mark(self) -> list[Any]:
        """The values above the last mark, which goes with them."""
        if not self.marks:
            self.fail("a mark on the stack", "none")
        mark = self.marks.pop()
        values = self.stack[mark:]
        del self.stack[mark:]
        return values

    def top(self, kind: type, what: str) -> Any:
        """The topmost value, left in place, which is to be of a kind."""
        if len(self.stack) <= (self.marks[-1] if self.marks else 0) or type(self.stack[-1]) is not kind:
            self.fail(f"{what} on the stack", "something else")
        return self.stack[-1]

    def put(self, place: int) -> None:
        """Remember the topmost value."""
        if not self.stack:
            self.fail("a value on the stack", "none")
        value = self.stack[-1]
        if place == len(self.memo) and not self.odd_places:
            self.memo.append(value)
        else:
            self.set_memo(place, value)
        if type(value) is Unbuilt:
            if value.places is None:
                value.places = []
            value.places.append(place)

    def set_memo(self, place: int, value: Any) -> None:
        """Remember a value at a place."""
        if place == len(self.memo):
            self.memo.append(value)
            self.odd_places.pop(place, None)
        elif place < len(self.memo):
            self.memo[place] = value
        else:
            self.odd_places[place] = value

    def from_memo(self, place: int) -> Any:
        """The value that was remembered at a place."""
        if place < len(self.memo):
            return self.memo[place]
        if place not in self.odd_places:
            self.fail("the memo place of an earlier value", str(place))
        return self.odd_places[place]

    def add_container(self, value: Any) -> None:
        """A new list, dictionary or tuple. They take some hundred bytes each and one in the file, so they are counted."""
        self.room -= 1
        if self.room < 0:
            self.fail(f"a list, dictionary or tuple for every {BYTES_A_CONTAINER} bytes", "more")
        self.stack.append(value)

    def add_items(self, values: list[Any]) -> None:
        """Keys and values by turns into the dictionary on top."""
        owner = self.top(dict, "a dictionary")
        if len(values) % 2:
            self.fail("as many values as keys", f"{len(values)} in all")
        items = iter(values)
        for key, value in zip(items, items):
            if type(key) is not str and type(key) is not int:
                self.fail("keys that are texts or whole numbers", type(key).__name__)
            if key in owner:
                self.fail("each key once", f"the key {shown(key)} twice")
            owner[key] = value

    def name(self, module: Any, name: Any) -> None:
        """A name out of the few allowed ones."""
        if type(module) is not str or type(name) is not str:
            self.fail("a name as two texts", "something else")
        known = NAMES.get((module, name))
        if known is None:
            self.fail("plain data", f"the name {shown(f'{module}.{name}')}")
        self.stack.append(known)

    def reduce(self) -> None:
        """What Python would call: an array or a number type to be built next, or one number of numpy."""
        arguments, called = self.pop(), self.pop()
        given = arguments if type(arguments) is tuple else ()
        if called is Name.RECONSTRUCT and _are(given, (Name.NDARRAY, (0,), b"b")):
            self.stack.append(Unbuilt())
        elif called is Name.DTYPE and len(given) == 3 and type(given[0]) is str:
            if given[0] not in NUMBER_TYPES:
                self.fail(f"a number type ({', '.join(NUMBER_TYPES)})", shown(given[0]))
            self.stack.append(Unbuilt(given[0]))
        elif called is Name.SCALAR and len(given) == 2 and isinstance(given[0], np.dtype) and type(given[1]) is bytes:
            if len(given[1]) != given[0].itemsize:
                self.fail(f"{given[0].itemsize} bytes for one number", f"{len(given[1]):,}")
            self.stack.append(np.frombuffer(given[1], given[0])[0].item())
        else:
            got = f"a call of {called.value} with others" if isinstance(called, Name) else "a call of something else"
            self.fail("the arguments numpy writes for an array or a number", got)

    def build(self) -> None:
        """The state of an array or a number type, which is thereby done."""
        state = self.pop()
        waiting = self.top(Unbuilt, "an array or a number type without its state")
        done = self.array(state) if waiting.number_type is None else self.number_type(waiting.number_type, state)
        self.stack[-1] = done
        for place in waiting.places or ():
            if self.from_memo(place) is waiting:
                self.set_memo(place, done)

    def number_type(self, name: str, state: Any) -> Any:
        """A number type in the state that numpy writes, in either byte order."""
        for order in "|" if name[1] == "1" else "<>":
            if _are(state, (3, order, None, None, None, -1, -1, 0)):
                return np.dtype(order + name)
        self.fail(f"the state numpy writes for the number type {name}", "another")

    def array(self, state: Any) -> Any:
        """A read-only array over the bytes of the file."""
        is_whole = type(state) is tuple and len(state) == 5 and _are(state[:1], (1,))
        parts: Any = state if is_whole else [None] * 5
        _, shape, number_type, is_fortran, raw = parts
        if not isinstance(number_type, np.dtype) or type(is_fortran) is not bool or type(raw) is not bytes:
            self.fail("shape, number type, order and bytes of an array of numbers", "something else")
        sides = shape if type(shape) is tuple and len(shape) <= MAX_ARRAY_SIDES else (None,)
        if not all(type(side) is int and 0 <= side <= MAX_ARRAY_LENGTH for side in sides):
            self.fail(f"a shape of at most {MAX_ARRAY_SIDES} sides from 0 to {MAX_ARRAY_LENGTH:,}", "another")
        length = math.prod(shape) * number_type.itemsize
        if length != len(raw):
            self.fail(f"{length:,} bytes for {' x '.join(map(str, shape))} numbers {number_type}", f"{len(raw):,}")
        if math.prod(side or 1 for side in shape) * number_type.itemsize > MAX_ARRAY_BYTES:  # numpy's own count
            self.fail(f"a shape of at most {MAX_ARRAY_BYTES:,} bytes", "another")
        return np.ndarray(shape, number_type, buffer=raw, order="F" if is_fortran else "C")


def _are(values: Any, expected: tuple[Any, ...]) -> bool:
    """Whether values are what is expected, in type too. What a file made is compared only once its type is known."""
    if type(values) is not tuple or len(values) != len(expected):
        return False
    return all(
        _are(value, wanted) if type(wanted) is tuple else type(value) is type(wanted) and value == wanted
        for value, wanted in zip(values, expected)
    )


Step = Callable[[Machine], None]


def _constant(value: Any) -> Step:
    return lambda machine: machine.stack.append(value)


def _new(kind: type) -> Step:
    return lambda machine: machine.add_container(kind())


def _number(form: str) -> Step:
    reader = struct.Struct(form)
    return lambda machine: machine.stack.append(reader.unpack(machine.take(reader.size))[0])


def _unsigned(machine: Machine, width: int) -> int:
    return int.from_bytes(machine.take(width), "little")


def _text(width: int) -> Step:
    return lambda machine: machine.stack.append(machine.text(machine.take(_unsigned(machine, width))))


def _bytes(width: int) -> Step:
    return lambda machine: machine.stack.append(machine.take(_unsigned(machine, width)))


def _tuple(count: int) -> Step:
    def step(machine: Machine) -> None:
        values = [machine.pop() for _ in range(count)]
        machine.add_container(tuple(reversed(values)))

    return step


def _long(machine: Machine) -> None:
    number = int.from_bytes(machine.take(_unsigned(machine, 1)), "little", signed=True)
    if not -(2**63) <= number < 2**64:
        machine.fail("a number that fits 64 bits", f"one of {number.bit_length()} bits")
    machine.stack.append(number)


def _mark(machine: Machine) -> None:
    if len(machine.marks) == MAX_MARKS:
        machine.fail(f"at most {MAX_MARKS} open marks", "more")
    machine.marks.append(len(machine.stack))


def _protocol(machine: Machine) -> None:
    number = machine.take(1)[0]
    if machine.start or not 2 <= number <= HIGHEST_PROTOCOL:
        machine.fail("one protocol, 2 to 5, at the beginning", str(number))


def _frame(machine: Machine) -> None:
    """Frames only help buffered reading; one that promises more than there is, is a cut file."""
    length, left = _unsigned(machine, 8), len(machine.data) - machine.at
    if length > left:
        machine.fail(f"{length:,} bytes more", f"{END} after {left:,}")


def _append(machine: Machine) -> None:
    value = machine.pop()
    machine.top(list, "a list").append(value)


def _appends(machine: Machine) -> None:
    values = machine.pop_to_mark()
    machine.top(list, "a list").extend(values)


def _set_item(machine: Machine) -> None:
    value, key = machine.pop(), machine.pop()
    machine.add_items([key, value])


def _stack_name(machine: Machine) -> None:
    name, module = machine.pop(), machine.pop()
    machine.name(module, name)


STEPS: dict[int, Step] = {
    0x80: _protocol,
    0x95: _frame,
    ord("("): _mark,
    ord("N"): _constant(None),
    0x88: _constant(True),
    0x89: _constant(False),
    ord("K"): _number("<B"),
    ord("M"): _number("<H"),
    ord("J"): _number("<i"),
    ord("G"): _number(">d"),
    0x8A: _long,
    0x8C: _text(1),
    ord("X"): _text(4),
    0x8D: _text(8),
    ord("C"): _bytes(1),
    ord("B"): _bytes(4),
    0x8E: _bytes(8),
    ord("]"): _new(list),
    ord("}"): _new(dict),
    ord(")"): _constant(()),
    0x85: _tuple(1),
    0x86: _tuple(2),
    0x87: _tuple(3),
    ord("t"): lambda machine: machine.add_container(tuple(machine.pop_to_mark())),
    ord("a"): _append,
    ord("e"): _appends,
    ord("s"): _set_item,
    ord("u"): lambda machine: machine.add_items(machine.pop_to_mark()),
    ord("q"): lambda machine: machine.put(_unsigned(machine, 1)),
    ord("r"): lambda machine: machine.put(_unsigned(machine, 4)),
    0x94: lambda machine: machine.put(len(machine.memo) + len(machine.odd_places)),
    ord("h"): lambda machine: machine.stack.append(machine.from_memo(_unsigned(machine, 1))),
    ord("j"): lambda machine: machine.stack.append(machine.from_memo(_unsigned(machine, 4))),
    ord("c"): lambda machine: machine.name(machine.line(), machine.line()),
    0x93: _stack_name,
    ord("R"): lambda machine: machine.reduce(),
    ord("b"): lambda machine: machine.build(),
}
"""All that is carried out, by the byte of the instruction. What is not here is refused."""
