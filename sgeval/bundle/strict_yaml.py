"""YAML as a careful reader takes it: plain values, each key once, no aliases, no tags, nothing endless."""

import math
import re
from pathlib import Path
from typing import Any

import yaml

from sgeval.errors import SgevalError, one_line, shown
from sgeval.strict_json import MAX_DEPTH, too_deep

MAX_BYTES = 4 * 1024**2


class _Loader(yaml.SafeLoader):
    """Refuses aliases (a few lines of them make billions of values), tags, doubled keys and numbers that are not finite;
    dates and times stay texts."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise SgevalError("expected plain values, got an alias (*)")
        if getattr(event, "tag", None) is not None:
            raise yaml.MarkedYAMLError(problem=f"the tag {shown(event.tag)}", problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for part, _ in node.value:
            key = self.construct_object(part, deep=True)
            if not isinstance(key, str):
                raise SgevalError(f"expected texts as keys, got {shown(key)}")
            if key in seen:
                raise SgevalError(f"expected each key once, got the key {shown(key)} twice")
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_yaml_float(self, node: Any) -> float:
        value = super().construct_yaml_float(node)
        if not math.isfinite(value):
            raise SgevalError(f"expected finite numbers, got {shown(node.value)}")
        return value


TAG = "tag:yaml.org,2002:"
NUMBERS = {
    "int": r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)",
    "float": r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+][0-9]+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)",
}
"""How numbers are written; 1:30 is a text."""
PLAIN = {f"{TAG}{name}" for name in ("bool", "null")}

_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag in PLAIN]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _name, _pattern in NUMBERS.items():
    _Loader.add_implicit_resolver(f"{TAG}{_name}", re.compile(rf"(?:{_pattern})\Z"), list("-+.0123456789"))
_Loader.add_constructor(f"{TAG}float", _Loader.construct_yaml_float)


def parse_yaml(text: str, place: str) -> Any:
    """Parse one YAML document. Raises `SgevalError` with `place` for whatever is no plain value.

    >>> parse_yaml("a: [1, x]", "file.yaml")
    {'a': [1, 'x']}
    >>> parse_yaml("a: !!python/name:os.system", "file.yaml")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: file.yaml: expected plain YAML, got ... (line 1)
    """
    if len(text) > MAX_BYTES:
        raise SgevalError(f"{place}: expected at most {MAX_BYTES:,} characters of YAML, got {len(text):,}")
    try:
        value = yaml.load(text, _Loader)
    except SgevalError as fault:
        raise SgevalError(f"{place}: {fault}") from None
    except RecursionError:
        raise SgevalError(f"{place}: expected at most {MAX_DEPTH} levels of nesting, got many more") from None
    except (yaml.YAMLError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as fault:
        mark = getattr(fault, "problem_mark", None)
        words = one_line(str(getattr(fault, "problem", None) or fault))
        line = f" (line {mark.line + 1})" if mark else ""
        raise SgevalError(f"{place}: expected plain YAML, got {words}{line}") from None
    if too_deep(value):
        raise SgevalError(f"{place}: expected at most {MAX_DEPTH} levels of nesting, got more")
    return value


def read_yaml(path: Path, place: str | None = None) -> Any:
    """Parse a file; `place` is what messages call it."""
    place = place or str(path)
    if not path.is_file():
        raise SgevalError(f"{place}: expected a regular file, found none")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SgevalError(f"{place}: expected at most {MAX_BYTES:,} bytes of YAML, got {path.stat().st_size:,}")
        text = path.read_text(encoding="utf-8")
    except OSError as fault:
        raise SgevalError(f"{place}: cannot be read ({fault.strerror})") from None
    except UnicodeDecodeError:
        raise SgevalError(f"{place}: expected UTF-8, got other bytes") from None
    return parse_yaml(text, place)
