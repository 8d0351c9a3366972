"""Where in a file a reader looks, what it wants there, and the one line it raises: file, record, expectation, value.

All readers check with this. JSON and pickles have whole numbers of any length; those beyond 64 bits are refused everywhere.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any

from sgeval.errors import SgevalError, one_line, shown

Kinds = type | tuple[type, ...]
NOTHING = object()
LARGEST = 2**63 - 1
MOST_PIXELS = 2**31 - 1
PIXELS = "a whole number of pixels from 1 up"
MOST_FRAMES = 1_000_000  # of one video: 55 hours at 5 frames a second


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file, e.g. the box of an object: `Place(path).at("[3]").at(".objects[1]")`."""

    path: Path
    where: str = ""

    def at(self, step: str) -> "Place":
        """A place further down."""
        return Place(self.path, self.where + step)

    def fault(self, expected: str, value: object = NOTHING, hint: str = "") -> SgevalError:
        """The error to raise for what stands here.

        >>> Place(Path("rows.json"), "[3].x").fault("a number", "left")
        SgevalError('rows.json: [3].x: expected a number, got "left"')
        """
        where = f"{one_line(self.where.lstrip('.'))}: " if self.where else ""
        return SgevalError(
            f"{self.path}: {where}expected {expected}, got {'nothing' if value is NOTHING else shown(value)}{hint}"
        )

    def checked(self, value: Any, expected: str, kind: Kinds) -> Any:
        """The value, when it is of the right kind (`is_kind`)."""
        if not is_kind(value, kind):
            raise self.fault(expected, value)
        return value

    def get(self, owner: Any, key: str, expected: str, kind: Kinds) -> Any:
        """The value of an object under a key, of the right kind."""
        if not isinstance(owner, dict):
            raise self.fault("an object", owner)
        if key not in owner:
            raise self.at(f".{key}").fault(expected)
        if not is_kind(owner[key], kind):
            raise self.at(f".{key}").fault(expected, owner[key])
        return owner[key]

    def numbers(self, values: Sequence[Any], count: int, expected: str) -> tuple[float, ...]:
        """So many finite numbers."""
        if len(values) != count or not all(is_number(value) for value in values):
            raise self.fault(expected, list(values))
        return tuple(map(float, values))

    def text(self, owner: dict[str, Any], key: str) -> str | None:
        """The text under a key, if there is one."""
        value = owner.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.at(f".{key}").fault("a text", value)
        return intern(value)

    def texts(self, owner: dict[str, Any], key: str) -> tuple[str, ...]:
        """The list of texts under a key; none where the key or its value is missing."""
        value = owner.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self.at(f".{key}").fault("a list of texts", value)
        return tuple(map(intern, value))

    def number_id(self, value: Any) -> int:
        """A whole number that can be an id: 0 or more, in 64 bits."""
        if not is_kind(value, int) or value < 0:
            raise self.fault("a whole number from 0 up", value)
        return int(value)

    def number_ids(self, owner: dict[str, Any], key: str) -> tuple[int, ...]:
        """The list of ids under a key; none where the key or its value is missing."""
        value = owner.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.at(f".{key}").fault("a list of whole numbers", value)
        return tuple(self.at(f".{key}[{index}]").number_id(entry) for index, entry in enumerate(value))

    def text_id(self, value: Any) -> str:
        """An id of a picture, a text or a whole number, as text."""
        if not is_kind(value, (int, str)) or not str(value).strip():
            raise self.fault("a whole number or a text that is not empty", value)
        return str(value)

    def image_id(self, owner: Any) -> str:
        """What stands under `image_id`, as text; its kind and its emptiness are told apart."""
        image_id = self.get(owner, "image_id", "a text or a whole number", (str, int))
        if not str(image_id).strip():
            raise self.at(".image_id").fault("a text that is not empty", image_id)
        return str(image_id)

    def any_json(self, value: Any) -> Any:
        """A value of any kind, for `extra`; its whole numbers have 64 bits at most."""
        if type(value) is int and not is_kind(value, int):
            raise self.fault("a number that fits 64 bits", value)
        if isinstance(value, (list, dict)):
            for step, entry in value.items() if isinstance(value, dict) else enumerate(value):
                self.at(f".{step}" if isinstance(value, dict) else f"[{step}]").any_json(entry)
        return value

    def rest(self, pointer: str, item: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
        """What stands in an object beside the known keys, for `extra`: by JSON pointer below `pointer`.

        >>> Place(Path("rows.json")).rest("/objects/0", {"id": 7, "a/b": [1]}, ("id",))
        {'/objects/0/a~1b': [1]}
        """
        return {
            f"{pointer}/{pointer_step(key)}": self.at(f".{key}").any_json(value)
            for key, value in item.items()
            if key not in known
        }

    def pixels(self, owner: Mapping[str, Any], key: str) -> int | None:
        """A width or height in whole pixels, if there is one."""
        value = owner.get(key)
        if value is None:
            return None
        if type(value) is not int or not 0 < value <= MOST_PIXELS:
            raise self.at(f".{key}").fault(PIXELS, value)
        return value


def is_kind(value: object, kind: Kinds) -> bool:
    """Like `isinstance`, but true and false are no numbers unless asked for, and whole numbers have 64 bits at most.

    >>> is_kind(True, int), is_kind(2**63, int), is_kind(2**63 - 1, int)
    (False, False, True)
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds):
        return False
    if isinstance(value, bool):
        return bool in kinds
    return not isinstance(value, int) or -LARGEST - 1 <= value <= LARGEST


def is_number(value: object) -> bool:
    """A finite number that is not true or false; whole ones of 64 bits at most."""
    return is_kind(value, (int, float)) and math.isfinite(value)  # type: ignore[arg-type]


def pointer_step(key: object) -> str:
    """A key as a step of a JSON pointer.

    >>> pointer_step("cup/glass")
    'cup~1glass'
    """
    return str(key).replace("~", "~0").replace("/", "~1")


def quoted(names: Iterable[str]) -> str:
    """Names as messages list them.

    >>> quoted(("train", "test"))
    '"train", "test"'
    """
    return ", ".join(f'"{name}"' for name in names)
