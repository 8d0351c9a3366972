"""Where in a file a reader looks, and the one line it raises there: file, record, what was expected, what stands there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgeval.errors import SgevalError, one_line, shown

Kinds = type | tuple[type, ...]
NOTHING = object()


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file, e.g. the box of an object: `Place(path).at("[3]").at(".objects[1]")`."""

    path: Path
    where: str = ""

    def at(self, step: str) -> "Place":
        """A place further down."""
        return Place(self.path, self.where + step)

    def fault(self, expected: str, value: object = NOTHING) -> SgevalError:
        """The error to raise for what stands here.

        >>> Place(Path("rows.json"), "[3].x").fault("a number", "left")
        SgevalError('rows.json: [3].x: expected a number, got "left"')
        """
        where = f"{one_line(self.where.lstrip('.'))}: " if self.where else ""
        return SgevalError(
            f"{self.path}: {where}expected {expected}, got {'nothing' if value is NOTHING else shown(value)}"
        )

    def get(self, owner: Any, key: str, expected: str, kind: Kinds) -> Any:
        """The value of an object under a key, of the right kind."""
        if not isinstance(owner, dict):
            raise self.fault("an object", owner)
        if key not in owner:
            raise self.at(f".{key}").fault(expected)
        return self.at(f".{key}").checked(owner[key], expected, kind)

    def checked(self, value: Any, expected: str, kind: Kinds) -> Any:
        """The value, when it is of the right kind; true and false are no numbers unless asked for."""
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.fault(expected, value)
        return value

    def numbers(self, values: Sequence[Any], count: int, expected: str) -> tuple[float, ...]:
        """So many finite numbers."""
        if len(values) != count or not all(is_number(value) for value in values):
            raise self.fault(expected, list(values))
        return tuple(map(float, values))


def is_number(value: object) -> bool:
    """A finite number that is not true or false."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def pointer_step(key: object) -> str:
    """A key as a step of a JSON pointer.

    >>> pointer_step("cup/glass")
    'cup~1glass'
    """
    return str(key).replace("~", "~0").replace("/", "~1")
