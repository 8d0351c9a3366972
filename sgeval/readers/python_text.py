"""Answers that a model wrote as Python shows values: quotes, words and brackets become those of JSON. Nothing is run."""

import re

MOST_CHARACTERS = 1_000_000
"""Of a text that is looked at; longer ones stay as they are."""

_START = re.compile(r"[\[{]\s{0,99}\{?\s{0,99}'(?:[Oo]bject|relationships)")
_PART = re.compile(
    r"""'(?P<text>(?:[^'\\\n]|\\(?:.|\Z))*)(?P<end>'?)|"(?:[^"\\\n]|\\(?:.|\Z))*"?|\b(?:True|False|None)\b|[()]""",
    re.DOTALL,
)
"""A text in either quotes, or a word or bracket that JSON has not. Each match is taken whole, so the time is linear."""
_ESCAPE = re.compile(r"\\.|\"", re.DOTALL)
_JSON = {"True": "true", "False": "false", "None": "null", "(": "[", ")": "]", "\\'": "'", '"': '\\"'}


def python_start(text: str) -> int | None:
    """Where an answer in Python's quotes begins; nothing where none does, or the text is too long."""
    found = _START.search(text) if len(text) <= MOST_CHARACTERS else None
    return found and found.start()


def as_json(text: str) -> str:
    """The text with what is written as Python would in the form of JSON. Escapes stay what they are: of those that JSON has
    not, a reader of JSON is told.

    >>> print(as_json("{'a': (True, None), 'b': [1, 'c']}"))
    {"a": [true, null], "b": [1, "c"]}
    """
    return _PART.sub(_exchanged, text)


def _exchanged(found: re.Match[str]) -> str:
    if found["text"] is None:
        return _JSON.get(found[0], found[0])
    if not found["end"]:
        return found[0]
    inner = _ESCAPE.sub(lambda part: _JSON.get(part[0], part[0]), found["text"])
    return f'"{inner}"'
