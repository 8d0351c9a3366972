"""A quick check of records: types of msgspec, derived from the shipped JSON Schema, which stays the only place of a rule.

What is accepted here has no fault under the schema. What is not accepted may have none either: jsonschema decides that,
and words the faults.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union

import msgspec

from sgeval.schemas import Kind, schema

SIMPLE = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}
BOUNDS = {"minimum": "ge", "exclusiveMinimum": "gt", "maximum": "le", "exclusiveMaximum": "lt"}
LENGTHS = {"minItems": "min_length", "maxItems": "max_length"}
TEXTS = {"pattern": "pattern", "maxLength": "max_length", "minLength": "min_length"}
WORDS = {"$schema", "$defs", "title", "description"}
"""What a schema says to people."""
KNOWN = {
    *WORDS,
    *("type", "enum", "$ref", "properties", "required", "items", "prefixItems"),
    *BOUNDS,
    *LENGTHS,
    *TEXTS,
}


def is_sound(plain: Any, kind: Kind) -> bool:
    """Whether a row of plain JSON values is sure to have no fault under the schema; without that it may have one or not.

    Numbers are taken to be finite.

    >>> is_sound({"image_id": "a"}, "image"), is_sound({"image_id": ""}, "image")
    (True, False)
    """
    return _is(plain, _record(kind))


@cache
def _record(kind: Kind) -> Any:
    return derived(schema(kind))


def suspects(plain: Mapping[str, Any], kind: Kind) -> tuple[dict[str, Any], list[tuple[str, int, Mapping[str, Any]]]]:
    """Where in a row there may be faults: the row without its objects and relations, and, by key and number, those of them
    that are not sure to have none, each with its part of the schema. It has no others.

    >>> rest, found = suspects({"image_id": "a", "objects": [{"id": 0, "category": "dog"}, 3]}, "image")
    >>> rest, found
    ({'image_id': 'a', 'objects': []}, [('objects', 1, {'$ref': '#/$defs/object'})])
    """
    rest = dict(plain)
    found = []
    for name, (part, of_items) in _lists(kind).items():
        if isinstance(plain.get(name), list):
            rest[name] = []
            found += [(name, index, part) for index, item in enumerate(plain[name]) if not _is(item, of_items)]
    return rest, found


@cache
def _lists(kind: Kind) -> dict[str, tuple[Mapping[str, Any], Any]]:
    """The lists of a record of which the schema says no more than what their items are: its part for these, and the type."""
    whole = schema(kind)
    return {
        name: (part["items"], derived({"$defs": whole["$defs"], **part["items"]}))
        for name, part in whole["properties"].items()
        if part.keys() - WORDS == {"type", "items"}
    }


def _is(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, OverflowError, RecursionError):
        return False
    return True


def derived(whole: Mapping[str, Any]) -> Any:
    """The type of msgspec for a JSON Schema of draft 2020-12. Raises `ValueError` for a keyword, or a use of one, that has
    no counterpart: a rule must not be lost on the way.

    >>> msgspec.convert([1, 2], derived({"type": "array", "items": {"type": "integer", "minimum": 1}}))
    [1, 2]
    """
    named: dict[str, Any] = {}

    def look_up(part: Mapping[str, Any]) -> Any:
        if "$ref" not in part:
            return _type(part, look_up)
        name = part["$ref"].removeprefix("#/$defs/")
        if part.keys() - WORDS != {"$ref"} or name not in whole["$defs"]:
            raise ValueError(f"expected a reference to one of $defs and nothing beside it, got {dict(part)}")
        if name not in named:
            named[name] = look_up(whole["$defs"][name])
        return named[name]

    return look_up(whole)


def _type(part: Mapping[str, Any], look_up: Callable[[Mapping[str, Any]], Any]) -> Any:
    unknown = part.keys() - KNOWN
    if unknown:
        raise ValueError(f"expected the keywords {sorted(KNOWN)}, got {sorted(unknown)}")
    if "enum" in part:
        if part.keys() - WORDS != {"enum"} or not all(
            value is None or isinstance(value, str) for value in part["enum"]
        ):
            raise ValueError(f"expected an enum of texts and null alone, got {dict(part)}")
        return Literal[tuple(part["enum"])]
    names = [part["type"]] if isinstance(part["type"], str) else part["type"]
    return Union[tuple(_one(name, part, look_up) for name in names)]  # noqa: UP007


def _one(name: str, part: Mapping[str, Any], look_up: Callable[[Mapping[str, Any]], Any]) -> Any:
    """The type for one of the types that a schema names."""
    if name == "object":
        return _object(part, look_up)
    if name == "array":
        return _array(part, look_up)
    words = TEXTS if name == "string" else BOUNDS if name in ("integer", "number") else {}
    rules = {words[key]: part[key] for key in words if key in part}
    return Annotated[SIMPLE[name], msgspec.Meta(**rules)] if rules else SIMPLE[name]


def _object(part: Mapping[str, Any], look_up: Callable[[Mapping[str, Any]], Any]) -> Any:
    needed, properties = part.get("required", []), part.get("properties", {})
    if not properties and not needed:
        return dict
    if not {*needed} <= properties.keys():
        raise ValueError(f"expected properties for all that is required, got {sorted(properties)}")
    fields: list[Any] = [(key, look_up(properties[key])) for key in needed]
    fields += [(key, look_up(properties[key]), None) for key in properties if key not in needed]
    return msgspec.defstruct("Checked", fields, gc=False)  # a default is not checked: without the key there is no fault


def _array(part: Mapping[str, Any], look_up: Callable[[Mapping[str, Any]], Any]) -> Any:
    lengths = {LENGTHS[key]: part[key] for key in LENGTHS if key in part}
    if "prefixItems" not in part:
        kind = list[look_up(part["items"])] if "items" in part else list  # type: ignore[misc]
        return Annotated[kind, msgspec.Meta(**lengths)] if lengths else kind
    places = part["prefixItems"]
    if "items" in part or {*lengths.values()} != {len(places)} or len(lengths) != len(LENGTHS):
        raise ValueError(f"expected minItems and maxItems to be the number of prefixItems, got {lengths}")
    return tuple[tuple(map(look_up, places))]  # type: ignore[misc]
