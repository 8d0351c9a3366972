"""What the options of all metrics share: checked once, when they are made."""

from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral
from typing import Any, TypeVar, get_args

from sgeval.errors import SgevalError, one_of, shown

LEAST_BOOTSTRAP = 20  # fewer replicates have no 2.5 % and 97.5 % ends
COUNTS = (("batch_size", 1, 65_536), ("bootstrap", 0, 100_000), ("seed", 0, 2**63))
"""Whole numbers that any metric may have among its options: name, least, most."""

OptionsT = TypeVar("OptionsT")


def check_options(options: Any, choices: Mapping[str, Any]) -> None:
    """Check a frozen dataclass of options: `choices` by name as `Literal` types, and the `COUNTS` that it has."""
    for name, kind in choices.items():
        one_of(name, getattr(options, name), get_args(kind))
    for name, least, most in COUNTS:
        if not hasattr(options, name):
            continue
        value = getattr(options, name)
        number = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else least - 1
        if not least <= number <= most:
            raise SgevalError(f"{name}: expected a whole number from {least} to {most}, got {shown(value)}")
        object.__setattr__(options, name, number)
    if 0 < options.bootstrap < LEAST_BOOTSTRAP:
        raise SgevalError(f"bootstrap: expected 0 (none) or at least {LEAST_BOOTSTRAP}, got {options.bootstrap}")


def check_limit(limit: object, name: str = "limit") -> None:
    """Refuse a limit that is there and no whole number of 1 or more; `name` is the option's."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, Integral) or limit < 1):
        raise SgevalError(f"{name}: expected a whole number of 1 or more, got {shown(limit)}")


def options_of(kind: type[OptionsT], given: Mapping[str, Any]) -> OptionsT:
    """Options from keywords; an unknown one is an error that names the known ones."""
    names = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    for name in given:
        one_of("option", name, names)
    return kind(**given)
