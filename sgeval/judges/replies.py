"""What a server answered, read strictly: a verdict exists only where it can be read for certain."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from sgeval import strict_json
from sgeval.errors import SgevalError
from sgeval.judges.verdicts import CATEGORIES, Category

ReplyFault = Literal["refused", "truncated", "empty", "not json", "schema", "word", "ids", "missing"]
"""Why an answer holds no verdict: the model refused or was cut off; no text; no JSON; other JSON; a category that is none;
ids that are doubled or nobody's; an id without an answer."""

# Version 1: other spellings that are taken, after trimming and folding of case. A new entry needs a new `CACHE_SCHEMA`.
SPELLINGS: dict[str, Category] = {
    **{word: word for word in CATEGORIES},
    "hypernym/hyponym": "hypernym",
    "hyponym": "hypernym",
    "semantic overlap": "overlap",
}


@dataclass(frozen=True, slots=True)
class Message:
    """The text of a chat completion, or why there is none, and what the server says of itself."""

    text: str = ""
    fault: ReplyFault | None = None
    model: str = ""
    fingerprint: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """Categories by id, and the faults of those ids that have none. `is_mended` where the text was not read as it came."""

    found: dict[str, Category] = field(default_factory=dict)
    faults: dict[str, ReplyFault] = field(default_factory=dict)
    is_mended: bool = False


def read_message(body: bytes) -> Message:
    """The message of a chat completion.

    >>> read_message(b'{"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]}').fault
    'truncated'
    """
    try:
        whole = strict_json.parse(body.decode("utf-8-sig"), "reply")
    except (SgevalError, UnicodeDecodeError):
        return Message(fault="not json")
    if not isinstance(whole, dict):
        return Message(fault="schema")
    usage = whole.get("usage")
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    common: dict[str, Any] = {
        "model": _words(whole.get("model")),
        "fingerprint": _words(whole.get("system_fingerprint")),
        "prompt_tokens": _count(usage, "prompt_tokens"),
        "completion_tokens": _count(usage, "completion_tokens"),
        "cached_tokens": _count(details, "cached_tokens") or 0,
    }
    choices = whole.get("choices")
    choice = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return Message(fault="schema", **common)
    reason, text = choice.get("finish_reason"), message.get("content")
    if message.get("refusal") or reason == "content_filter":
        return Message(fault="refused", **common)
    if reason == "length":
        return Message(fault="truncated", **common)
    if text is None or (isinstance(text, str) and not text.strip()):
        return Message(fault="empty", **common)
    return Message(text, None, **common) if isinstance(text, str) else Message(fault="schema", **common)


def read_verdicts(text: str, ids: Collection[str]) -> Reply:
    """The categories of the ids that were asked about.

    The text is one JSON object of the schema, perhaps in a fence or with prose around it; nothing else is guessed. An id
    that is doubled or nobody's voids all of it. Keys beside the id and the category are passed over.

    >>> read_verdicts('```json\\n{"verdicts": [{"id": "1f", "category": "Synonym"}]}\\n```', ["1f", "2e"])
    Reply(found={'1f': 'synonym'}, faults={'2e': 'missing'}, is_mended=True)
    """
    value, is_mended = _object(text)
    if value is None:
        return _void("not json", ids)
    entries = value.get("verdicts") if set(value) == {"verdicts"} else None
    if not isinstance(entries, list):
        return _void("schema", ids)
    found: dict[str, Category] = {}
    faults: dict[str, ReplyFault] = {}
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(name := entry.get("id"), str):
            return _void("schema", ids)
        if name not in ids or name in found or name in faults:
            return _void("ids", ids)
        word = entry.get("category")
        if not isinstance(word, str) or (category := SPELLINGS.get(word.strip().casefold())) is None:
            faults[name] = "word"
            continue
        found[name] = category
        is_mended |= word != category or len(entry) > 2
    faults |= {name: "missing" for name in ids if name not in found and name not in faults}
    return Reply(found, faults, is_mended)


def _object(text: str) -> tuple[dict[str, Any] | None, bool]:
    """The one JSON object of a text, and whether something stood around it."""
    inner = text[text.find("{") : text.rfind("}") + 1]
    try:
        value = strict_json.parse(inner, "reply")
    except SgevalError:
        return None, False
    return (value, inner != text.strip()) if isinstance(value, dict) else (None, False)


def _void(fault: ReplyFault, ids: Collection[str]) -> Reply:
    return Reply(faults=dict.fromkeys(ids, fault))


def _words(value: object) -> str:
    return value[:100] if isinstance(value, str) else ""


def _count(value: object, key: str) -> int | None:
    count = value.get(key) if isinstance(value, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 1 << 40 else None
