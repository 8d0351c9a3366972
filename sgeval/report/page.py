"""From data to a page: the one template environment. What reaches a template is escaped and made visible."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sgeval.files import atomic_write
from sgeval.report.text import visible


def write_page(template: str, data: Mapping[str, Any], out: Path) -> Path:
    """Render a template of this package into `out` and return it."""
    html = _environment().get_template(template).render(data)
    with atomic_write(out) as file:
        file.write(html)
    return out


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("sgeval", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: object) -> object:
    """Every value that a template prints: the output of our own macros as it is, all else as visible text."""
    return value if isinstance(value, Markup) else visible(str(value))
