"""What the Spaces of the metrics share. A Space is pushed alone: its folder, and this package from `requirements.txt`."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sgeval import strict_json
from sgeval.errors import SgevalError

MAX_TEXT = 200_000
"""Characters of a text that a visitor may paste."""


def parsed(text: str, place: str) -> Any:
    """The JSON value of a pasted text. Raises `SgevalError` for one that is none, or too long.

    >>> parsed('{"a": 1}', "graph")
    {'a': 1}
    """
    if len(text) > MAX_TEXT:
        raise SgevalError(f"{place}: expected at most {MAX_TEXT:,} characters, got {len(text):,}")
    return strict_json.parse(text, place)


def parsed_rows(text: str, place: str) -> list[Any]:
    """The rows of a pasted text: one JSON value a line, or one list (see `sgeval.strict_json.parse_rows`)."""
    return strict_json.parse_rows(text, place, MAX_TEXT)


def one_a_line(rows: Iterable[Any]) -> str:
    """Rows as `parsed_rows` reads them.

    >>> one_a_line([{"a": 1}, {"a": 2}]).split("\\n")
    ['{"a": 1}', '{"a": 2}']
    """
    return "\n".join(json.dumps(row) for row in rows)


def spread(value: Mapping[str, Any]) -> str:
    """A JSON object with one entry of its lists a line: short enough to read, long enough to edit.

    >>> print(spread({"id": "a", "objects": [{"id": 0}, {"id": 1}]}))
    {
     "id": "a",
     "objects": [
      {"id": 0},
      {"id": 1}
     ]
    }
    """
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {_spread(entry)}" for key, entry in value.items()) + "\n}"


def listed(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as a JSON list, each spread: what `parsed_rows` reads too.

    >>> parsed_rows(listed([{"a": [1, 2]}, {"a": []}]), "rows")
    [{'a': [1, 2]}, {'a': []}]
    """
    return f"[{', '.join(map(spread, rows))}]"


def _spread(value: Any) -> str:
    if not isinstance(value, list):
        return json.dumps(value)
    return "[\n" + ",\n".join(f"  {json.dumps(entry)}" for entry in value) + "\n ]"


def card(app: str) -> str:
    """The card beside an app, without its front matter. `app`: the app's `__file__`."""
    return (Path(app).parent / "README.md").read_text(encoding="utf-8").split("---", 2)[-1]
