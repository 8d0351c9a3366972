"""What stands under a key of a parsed file, checked: a fault names the place, what was expected and what stands there.

A place is a whole one, as messages show it: `objects.json: record 3 (image_id "7").objects[2]`. JSON has whole numbers of
any length; those beyond 64 bits are refused.
"""

from collections.abc import Iterable, Mapping
from sys import intern
from typing import Any

from sgeval.errors import SgevalError, shown

LARGEST = 2**63 - 1


def fault(place: str, expected: str, value: object) -> SgevalError:
    """The error to raise at a place."""
    return SgevalError(f"{place}: expected {expected}, got {shown(value)}")


def absent(place: str, expected: str, more: str = "") -> SgevalError:
    """The error to raise where nothing stands; `more` is a hint."""
    return SgevalError(f"{place}: expected {expected}, got nothing{more}")


def mapping(value: Any, place: str) -> Mapping[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise fault(place, "an object", value)
    return value


def entries(owner: Mapping[str, Any], key: str, place: str) -> list[Any]:
    """The list under a key that must be there."""
    if key not in owner:
        raise absent(f"{place}.{key}", "a list")
    if not isinstance(owner[key], list):
        raise fault(f"{place}.{key}", "a list", owner[key])
    return owner[key]  # type: ignore[no-any-return]


def texts(owner: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    """The list of texts under a key; none where the key or its value is missing."""
    value = owner.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise fault(f"{place}.{key}", "a list of texts", value)
    try:
        return tuple([intern(entry) for entry in value])
    except TypeError:
        raise fault(f"{place}.{key}", "a list of texts", value) from None


def text(owner: Mapping[str, Any], key: str, place: str) -> str | None:
    """The text under a key, if there is one."""
    value = owner.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise fault(f"{place}.{key}", "a text", value)
    return intern(value)


def number_id(value: Any, place: str) -> int:
    """A whole number that can be an id: 0 or more, in 64 bits."""
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise fault(place, "a whole number from 0 up", value)
    return value


def number_ids(owner: Mapping[str, Any], key: str, place: str) -> tuple[int, ...]:
    """The list of ids under a key; none where the key or its value is missing."""
    value = owner.get(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise fault(f"{place}.{key}", "a list of whole numbers", value)
    return tuple(number_id(entry, f"{place}.{key}[{index}]") for index, entry in enumerate(value))


def text_id(value: Any, place: str) -> str:
    """An id of a picture, a text or a whole number, as text."""
    if type(value) is int and -LARGEST <= value <= LARGEST:
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise fault(place, "a whole number or a text that is not empty", value)
    return value


def pixels(owner: Mapping[str, Any], key: str, place: str) -> int | None:
    """A width or height in whole pixels, if there is one."""
    value = owner.get(key)
    if value is None:
        return None
    if type(value) is not int or not 0 < value < 2**31:
        raise fault(f"{place}.{key}", "a whole number of pixels from 1 up", value)
    return value


def quoted(names: Iterable[str]) -> str:
    """Names as messages list them.

    >>> quoted(("train", "test"))
    '"train", "test"'
    """
    return ", ".join(f'"{name}"' for name in names)
