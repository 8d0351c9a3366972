"""The signature: one short line with everything that moves a number."""

from collections.abc import Mapping

from sgeval import __version__
from sgeval.errors import one_line


def signature(parts: Mapping[str, object]) -> str:
    """`name:value` parts joined by `|`, the version last. Line breaks and bars inside a value become escapes.

    >>> signature({"metric": "relclipscore", "context": ("px", 20.0)}).rsplit("|", 1)[0]
    'metric:relclipscore|context:px20'
    """
    return "|".join(f"{name}:{_plain(value)}" for name, value in {**parts, "version": __version__}.items())


def parts_of(signature: str) -> dict[str, str]:
    """The `name:value` parts of a signature, in order.

    >>> parts_of("metric:relclipscore|template:a:b")
    {'metric': 'relclipscore', 'template': 'a:b'}
    """
    return {name: value for name, _, value in (part.partition(":") for part in signature.split("|"))}


def _plain(value: object) -> str:
    if isinstance(value, (tuple, list)):
        return "".join(_plain(part) for part in value)
    if isinstance(value, float):
        return f"{value:g}"
    return one_line(str(value)).replace("|", "\\u007c")
