"""YAML as a careful reader takes it: plain values, each key once, no aliases, no tags, nothing endless."""

from pathlib import Path
from typing import Any

import yaml

from sgeval.errors import SgevalError, one_line, shown
from sgeval.strict_json import MAX_DEPTH, too_deep

MAX_BYTES = 4 * 1024**2


class _Loader(yaml.SafeLoader):
    """Refuses aliases (a few lines of them make billions of values) and doubled keys; dates stay texts."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise SgevalError("expected plain values, got an alias (*)")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for at, key in enumerate(keys):
            if not isinstance(key, str):
                raise SgevalError(f"expected texts as keys, got {shown(key)}")
            if key in keys[:at]:
                raise SgevalError(f"expected each key once, got the key {shown(key)} twice")
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if not tag.endswith((":timestamp", ":merge"))]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


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
    except (yaml.YAMLError, ValueError) as fault:
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
