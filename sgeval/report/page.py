"""From data to a page: the one template environment. What reaches a template is escaped and made visible."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sgeval import __version__
from sgeval.errors import SgevalError, one_line
from sgeval.files import atomic_write, check_replaceable

MARK = b'<meta name="generator" content="sgeval '
"""What every page of ours has near its beginning."""
HEAD = 1024  # bytes of a page in which the mark stands


def check_target(out: Path) -> None:
    """Refuse to write a page over anything but an earlier one. Raises `SgevalError`, `OSError` when it cannot be read."""
    check_replaceable(out)
    if not out.exists():
        return
    with out.open("rb") as file:
        if MARK not in file.read(HEAD):
            raise SgevalError(f"{out}: expected a new name or an earlier page of sgeval, got another file")


def write_page(template: str, data: Mapping[str, Any], out: Path) -> Path:
    """Render a template of this package into `out` and return it."""
    with atomic_write(out) as file:
        file.write(rendered(template, data))
    return out


def rendered(template: str, data: Mapping[str, Any]) -> str:
    """The text of a template of this package."""
    return _environment().get_template(template).render(data)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("sgeval", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["version"] = __version__
    return environment


def _shown(value: object) -> object:
    """Every value that a template prints: the output of our own macros as it is, all else as visible text."""
    return value if isinstance(value, Markup) else one_line(str(value))
