"""The errors a user meets. Each message is whole: place, what was expected, what arrived."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Place = tuple[str | int, ...]
"""The steps to a value within the rows of a file: the number of its row, then keys and numbers."""

SHOWN_FAULTS = 20
NEAR = 3
"""From how many letters on a name is near to a longer one that begins with it."""
FILES = ("predictions", "references")  # what `sgeval validate` can look at
_flags: ContextVar[bool] = ContextVar("flags", default=False)
"""Whether whoever asks has given flags, and reads of them."""


class SgevalError(ValueError):
    """Bad input: the run stops before a number is made. The command line exits with 2."""


class InvalidInput(SgevalError):
    """Input with one or more faults, all of them in `faults`. `skip` is the option that would leave out what is faulty.

    >>> raise InvalidInput("predictions", ["predictions[0].image_id: expected a string, got null"])
    Traceback (most recent call last):
    ...
    sgeval.errors.InvalidInput: predictions: 1 fault
      predictions[0].image_id: expected a string, got null
    """

    def __init__(self, what: str, faults: Sequence[str], skip: str = "") -> None:
        self.faults = tuple(faults)
        count = len(self.faults)
        lines = [f"{what}: {counted(count, 'fault')}"]
        lines += [f"  {fault}" for fault in self.faults[:SHOWN_FAULTS]]
        if count > SHOWN_FAULTS:
            hint = " (`sgeval validate FILE --json` lists them all)" if what in FILES else ""
            lines.append(f"  … and {count - SHOWN_FAULTS} more{hint}")
        if skip:
            lines.append(f"  {option(skip, 'skip')} leaves out what is faulty, and counts it")
        super().__init__("\n".join(lines))


class Fault(str):
    """A fault as a person reads it, in one line, with what a machine needs: the `place` of what is at fault (none is the
    file as a whole) and the `message`, which is what was expected and what is there.

    >>> fault = Fault("predictions[3].width: expected a whole number, got true", (3, "width"), "expected …, got true")
    >>> fault.pointer, fault.message
    ('/3/width', 'expected …, got true')
    """

    place: Place
    message: str
    file: str = ""
    member: str = ""
    """The file within the archive."""
    line: int | None = None
    """In a file of lines, counted from 1."""

    def __new__(cls, text: str, place: Place = (), message: str = "") -> "Fault":
        """A text without a message of its own is its message."""
        fault = super().__new__(cls, text)
        fault.place, fault.message = place, message or text
        return fault

    @property
    def pointer(self) -> str:
        """The place as a JSON pointer (RFC 6901)."""
        return "".join(map(pointer, self.place))

    def as_dict(self) -> dict[str, Any]:
        """For `--json`: the file (and member, and line, as far as they are known), the pointer and the message."""
        where = {"file": self.file, "member": self.member, "line": self.line}
        known = {key: value for key, value in where.items() if value}
        return {**known, "pointer": self.pointer, "message": self.message}


def pointer(step: object) -> str:
    """One step of a JSON pointer (RFC 6901).

    >>> pointer(0) + pointer("a/b~c")
    '/0/a~1b~0c'
    """
    return "/" + str(step).replace("~", "~0").replace("/", "~1")


def steps(place: Place) -> str:
    """A place as messages write it.

    >>> steps((3, "relations", 0))
    '[3].relations[0]'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{one_line(step)}" for step in place)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, by default in the plural that ends in s.

    >>> counted(1, "record"), counted(2_500, "record"), counted(2, "family", "families")
    ('1 record', '2,500 records', '2 families')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def one_of(name: str, value: object, allowed: Iterable[Any], more: str = "") -> None:
    """Raise `SgevalError` unless `value` is one of the names `allowed`; the message lists them (and `more`) and the
    nearest.

    >>> one_of("penalty", "garded", ("guarded", "none"))
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: penalty: expected one of guarded, none, got "garded"; did you mean "guarded"?
    """
    from difflib import get_close_matches

    names = [str(entry) for entry in allowed]
    if isinstance(value, str) and value in names:
        return
    given = str(value).lower().replace("-", "_")
    alike = {name.lower().replace("-", "_"): name for name in names}
    near = [alike[key] for key in get_close_matches(given, alike, n=1)]
    near = near or [alike[key] for key in alike if min(len(key), len(given)) >= NEAR and given.startswith(key)][:1]
    hint = f"; did you mean {shown(near[0])}?" if near else ""
    raise SgevalError(f"{name}: expected one of {', '.join(names)}{more}, got {shown(value)}{hint}")


@contextmanager
def spelt_as_flags() -> Iterator[None]:
    """Within the block messages spell options as flags of the command line."""
    before = _flags.set(True)
    try:
        yield
    finally:
        _flags.reset(before)


def option(name: str, value: bool | str | None = None) -> str:
    """An option, with a value or without, as whoever asks spells it: in Python, or on the command line.

    >>> option("image_dir"), option("with_images", False), option("missing_images", "null")
    ('image_dir', 'with_images=False', 'missing_images="null"')
    >>> with spelt_as_flags():
    ...     option("image_dir"), option("with_images", False), option("missing_images", "null")
    ('--image-dir', '--no-with-images', '--missing-images null')
    """
    if not _flags.get():
        return name if value is None else f"{name}={shown(value) if isinstance(value, str) else value}"
    flag = ("--no-" if value is False else "--") + name.replace("_", "-")
    return f"{flag} {value}" if isinstance(value, str) else flag


class ModelUnavailable(SgevalError):
    """A model that was asked for cannot be had here."""


class Unfinished(SgevalError):
    """The run stopped, and can be resumed. The command line exits with 3."""


class OutOfMemory(SgevalError):
    """The device has no room for what was asked of it at once; less may fit."""


class BadImage(SgevalError):
    """A picture that cannot be read, or whose size is not the annotated one."""


def shown(value: object, limit: int = 80) -> str:
    """A value as an error message shows it: JSON-like, cut to `limit` characters, control characters escaped.

    >>> shown("a\\nb"), shown(None), shown([1, 2.5])
    ('"a\\\\nb"', 'null', '[1, 2.5]')
    """
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=True)
    except (TypeError, ValueError, RecursionError):
        try:
            text = repr(value)
        except ValueError:  # of a whole number with more digits than Python writes
            text = f"{type(value).__name__} too long to show"
    text = one_line(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str) -> str:
    """The text on one line, every character to be seen: line ends, control, bidirectional and other invisible characters
    become escapes.

    >>> one_line("a\\nb\\u202ec")
    'a\\\\u000ab\\\\u202ec'
    """
    return "".join(char if char.isprintable() else _escape(ord(char)) for char in text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
