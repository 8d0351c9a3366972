"""What a language model is asked: the instructions, the slot that labels travel in, and the form of the answer.

Labels stand only inside the JSON of the user message, instructions only in the system message. Ids are drawn anew for each
request, so that no label can name another pair's.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal

from sgeval.judges.verdicts import CATEGORIES, Kind, Pair

PROMPT = "prompt-3"
"""The version. Other words in the file need another version, and a test says so."""

ReplyFormat = Literal["json_schema", "json_object", "text"]
"""How the form of the answer is asked for: a schema, any JSON object, or the instructions alone."""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "category": {"type": "string", "enum": list(CATEGORIES)}},
                "required": ["id", "category"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}

# Pairs whose category is beyond doubt, two of which travel with each batch: synonyms, and mismatches. None of them is in the
# gold set, nor is any example in the prompt.
CANARIES: Mapping[Kind, tuple[str, str]] = {
    "object": (
        "taxi/cab, automobile/car, lorry/truck, bicycle/bike, rug/carpet",
        "spoon/airplane, horse/bathtub, carrot/traffic light, sofa/giraffe, kite/oven",
    ),
    "attribute": (
        "tiny/minuscule, small/little, gray/grey, wealthy/rich, unhappy/sad",
        "open/closed, wooden/laughing, wet/striped, empty/full, young/metallic",
    ),
    "predicate": (
        "fixing/repairing, photographing/taking a picture of, above/over, grasping/gripping, atop/on top of",
        "carrying/standing behind, eating/parked on, kicking/sleeping in, riding/reading, wearing/parked behind",
    ),
}


@cache
def canaries(kind: Kind) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """The known pairs of a kind: synonyms, and mismatches."""
    synonyms, mismatches = (
        tuple(Pair(kind, *entry.split("/")) for entry in entries.split(", ")) for entries in CANARIES[kind]
    )
    return synonyms, mismatches


@cache
def instructions() -> str:
    """The system message: the prompt file as it is, so that its hash is that of the bytes that are sent."""
    return Path(__file__).with_name(f"{PROMPT}.txt").read_bytes().decode("utf-8")


@cache
def prompt_digest() -> str:
    """SHA-256, in hex, of the system message and of the template of the user message."""
    template = user_message("object", {"ID": Pair("object", "A", "B")})
    return hashlib.sha256(f"{instructions()}\0{template}".encode()).hexdigest()


@cache
def schema_digest() -> str:
    """SHA-256, in hex, of the schema of the answer."""
    return hashlib.sha256(json.dumps(SCHEMA, sort_keys=True).encode()).hexdigest()


def user_message(kind: Kind, pairs: Mapping[str, Pair]) -> str:
    """The pairs by id, as the model reads them: data in JSON, nothing else.

    >>> user_message("object", {"1f": Pair("object", "dog", 'a "dog"')})
    '{"kind": "object", "pairs": [{"id": "1f", "a": "dog", "b": "a \\\\"dog\\\\""}]}'
    """
    entries = [{"id": name, "a": pair.reference, "b": pair.prediction} for name, pair in pairs.items()]
    return json.dumps({"kind": kind, "pairs": entries}, ensure_ascii=False)


def with_ids(pairs: Sequence[Pair]) -> dict[str, Pair]:
    """The pairs by ids that nobody can foresee: eight hexadecimal digits each."""
    while True:
        digits = secrets.token_hex(4 * len(pairs))
        named = {digits[8 * place : 8 * place + 8]: pair for place, pair in enumerate(pairs)}
        if len(named) == len(pairs):  # else two ids were equal
            return named


def with_canaries(pairs: Sequence[Pair]) -> tuple[list[Pair], dict[int, bool]]:
    """The pairs of one kind with a synonym and a mismatch put in at random places; the places, and which is the synonym."""
    synonyms, mismatches = canaries(pairs[0].kind)
    draw = Random(secrets.randbits(128))
    spots = draw.sample(range(len(pairs) + 2), 2)
    places = {spots[0]: True, spots[1]: False}
    mixed = list(pairs)
    for spot in sorted(places):
        mixed.insert(spot, draw.choice(synonyms if places[spot] else mismatches))
    return mixed, places


def response_format(form: ReplyFormat) -> dict[str, Any] | None:
    """The field of that name of a request; nothing where the server takes none."""
    if form == "json_schema":
        return {"type": "json_schema", "json_schema": {"name": "verdicts", "strict": True, "schema": SCHEMA}}
    return {"type": "json_object"} if form == "json_object" else None
