"""The JSON Schemas (draft 2020-12) of the prediction file format, and what they name."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

Kind = Literal["image", "video"]

FILES: dict[Kind, str] = {"image": "scene_graph.schema.json", "video": "video_graph.schema.json"}


@cache
def schema(kind: Kind) -> dict[str, Any]:
    """The schema of one record.

    >>> schema("image")["required"]
    ['image_id']
    """
    loaded: dict[str, Any] = json.loads((Path(__file__).parent / FILES[kind]).read_text(encoding="utf-8"))
    return loaded


@cache
def validator(kind: Kind) -> Any:
    """The `jsonschema` validator of one record."""
    import jsonschema

    return jsonschema.Draft202012Validator(schema(kind))


def description(part: Mapping[str, Any], kind: Kind) -> str:
    """What a part of the schema expects, in words."""
    if "$ref" in part:
        part = schema(kind)["$defs"][part["$ref"].rsplit("/", 1)[1]]
    return str(part["description"])


@cache
def known_keys(kind: Kind, level: str = "") -> tuple[str, ...]:
    """The keys that a record (or one of its parts: `object`, `relation`, `role`, `track`) knows.

    >>> "track" in known_keys("image", "object"), "track" in known_keys("video", "object")
    (False, True)
    """
    parts = schema(kind)["$defs"]
    where = {
        "": schema(kind),
        "object": parts["object"],
        "relation": parts["relation"],
        "role": parts["roles"]["items"],
        "track": parts["object"]["properties"].get("track", {}).get("items", {"properties": {}}),
    }[level]
    return tuple(where["properties"])
