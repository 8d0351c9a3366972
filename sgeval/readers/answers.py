"""A model's answer in the JSON form of paper 2 (arXiv 2602.23543) as a video graph.

    {"objects": [{"object 1": "dog", "attributes": ["brown"]}, …],
     "relationships": [[1, "chasing", 2, [[3, 7], [11, 12]]], [2, "seen by", -1, [[0, 4]]], …]}

Object k is the k-th trajectory that the model was given; -1 is the camera; spans are indices on a clock of one a second,
both ends included, so [3, 7] is 3 to 8 seconds. A fifth entry of a relationship is its type.

Models wrap such an answer in a fence or in prose, break off in the middle, or spoil an entry. What is whole is taken, entry
by entry, nothing is guessed; what was done and what was lost is counted.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sgeval import strict_json
from sgeval.errors import InvalidInput, SgevalError, shown
from sgeval.records import CAMERA, Object, Relation, VideoGraph
from sgeval.spans import to_seconds

ANSWER = "/answer"
"""The key in a graph's `extra` under which stands how the answer was read."""
MOST_CHARACTERS = 4_000_000
MOST_ENTRIES = 100_000

_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_LIST = {name: re.compile(rf'"{name}"\s*:\s*\[') for name in ("objects", "relationships")}
_NEXT = {"objects": re.compile(r'\{\s*"object'), "relationships": re.compile(r'\[\s*-?\d+\s*,\s*"')}
_OBJECT_KEY = re.compile(r"object[ _]?(\d{1,9})")
_SKIP = re.compile(r"[\s,]*")


@dataclass
class Reading:
    """What was read of an answer: its entries, what had to be done, and how many parts were lost."""

    objects: dict[int, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    relations: list[tuple[int, str, int, tuple[tuple[float, float], ...], str | None]] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    n_lost: int = 0


def read_answer(answer: Any) -> Reading:
    """The entries of an answer: a text, or the value that it would be.

    Raises `SgevalError` for what is neither, and for a text of more than 4,000,000 characters. A text without any entry
    gives none, with `repairs` that say so.

    >>> found = read_answer('Sure: {"objects": [{"object 1": "dog"}], "relationships": [[1, "on", -1, [[0, 2]]], [1, "o')
    >>> found.objects, len(found.relations), found.repairs, found.n_lost
    ({1: ('dog', ())}, 1, ['prose', 'cut off'], 1)
    """
    out = Reading()
    if isinstance(answer, str):
        if len(answer) > MOST_CHARACTERS:
            raise SgevalError(f"expected at most {MOST_CHARACTERS:,} characters, got {len(answer):,}")
        answer = _value(answer, out)
    if isinstance(answer, list):  # the objects alone, as one of the prompts asks for
        answer = {"objects": answer}
    if not isinstance(answer, Mapping):
        raise SgevalError(f"expected a text, or an object with objects and relationships, got {shown(answer)}")
    for name, take in (("objects", _take_object), ("relationships", _take_relation)):
        entries = answer.get(name) or []
        if not isinstance(entries, Sequence) or isinstance(entries, str):
            out.n_lost += 1
            continue
        for entry in entries[:MOST_ENTRIES]:
            take(entry, out)
        out.n_lost += max(0, len(entries) - MOST_ENTRIES)
    return out


def _value(text: str, out: Reading) -> Any:
    """The JSON value of a text, or what is whole of it."""
    fence = _FENCE.search(text)
    tries = [("", text.strip()), *([("fence", fence.group(1).strip())] if fence else [])]
    start = text.find("{")
    if start >= 0:
        tries.append(("prose", text[start : text.rfind("}") + 1]))
    for repair, part in tries:
        try:
            value = strict_json.parse(part, "answer")
        except SgevalError:
            continue
        if isinstance(value, (dict, list)):
            out.repairs += [repair] if repair else []
            return value
    if fence:
        out.repairs.append("fence")
    elif text[:start].strip() if start > 0 else start < 0:
        out.repairs.append("prose")
    lists = {name: _entries(text, name, out) for name in _LIST}
    if set(out.repairs) <= {"fence", "prose"}:  # both lists are whole, the end of the answer is missing
        _note(out, "cut off")
    return lists


def _entries(text: str, name: str, out: Reading) -> list[Any]:
    """The whole entries of a list in a text that is no JSON."""
    found = _LIST[name].search(text)
    if found is None:
        _note(out, f"no {name}")
        return []
    entries: list[Any] = []
    at = found.end()
    while len(entries) < MOST_ENTRIES:
        at = _SKIP.match(text, at).end()  # type: ignore[union-attr]
        if at >= len(text):
            _note(out, "cut off")
            return entries
        if text[at] == "]":
            return entries
        entry, end = _entry(text, at)
        if entry is not None:
            entries.append(entry)
            at = end
            continue
        out.n_lost += 1
        following = _NEXT[name].search(text, at + 1)
        close = _LIST["relationships"].search(text, at) if name == "objects" else None
        if following is None or (close is not None and close.start() < following.start()):
            ends_whole = close is not None or text.rstrip().rstrip("`").rstrip().endswith("}")
            _note(out, "spoilt entry" if ends_whole else "cut off")
            return entries
        _note(out, "spoilt entry")
        at = following.start()
    return entries


def _entry(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins here and where it ends, or nothing."""
    try:
        _, end = _DECODER.raw_decode(text, at)
        return strict_json.parse(text[at:end], "entry"), end
    except (ValueError, RecursionError, SgevalError):
        return None, at


_DECODER = json.JSONDecoder()


def _note(out: Reading, repair: str) -> None:
    if repair not in out.repairs:
        out.repairs.append(repair)


def _take_object(entry: Any, out: Reading) -> None:
    keys = (
        [(key, found) for key in entry if (found := _OBJECT_KEY.fullmatch(key))] if isinstance(entry, Mapping) else []
    )
    if len(keys) != 1:
        out.n_lost += 1
        return
    (key, found), attributes = keys[0], entry.get("attributes") or []
    number, label = int(found.group(1)), entry[key]
    if not isinstance(label, str) or not label.strip() or number in out.objects:
        out.n_lost += 1
        return
    listed = attributes if isinstance(attributes, list) else [attributes]
    texts = tuple(text for text in listed if isinstance(text, str) and text.strip())
    out.n_lost += len(listed) - len(texts)
    out.objects[number] = (label, texts)


def _take_relation(entry: Any, out: Reading) -> None:
    if not isinstance(entry, list) or len(entry) not in (4, 5):
        out.n_lost += 1
        return
    subject, predicate, obj, spans = entry[:4]
    ends_fit = all(isinstance(end, int) and not isinstance(end, bool) and -1 <= end < 10**9 for end in (subject, obj))
    if not ends_fit or not isinstance(predicate, str) or not predicate.strip() or not isinstance(spans, list):
        out.n_lost += 1
        return
    if len(spans) == 2 and all(map(_is_time, spans)):  # one span, not in a list of its own
        spans = [spans]
        _note(out, "bare span")
    whole = [span for span in spans if isinstance(span, list) and len(span) == 2 and all(map(_is_time, span))]
    out.n_lost += len(spans) - len(whole)
    if spans and not whole:
        out.n_lost += 1
        return
    kind = entry[4] if len(entry) == 5 and isinstance(entry[4], str) else None
    out.relations.append((subject, predicate, obj, tuple((float(a), float(b)) for a, b in whole), kind))


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9


def answer_graph(row: Any, place: str, faults: list[str]) -> VideoGraph | None:
    """The graph of a row `{"video_id", "answer"}`, with or without `given` and `seconds_per_index`; nothing, and a line in
    `faults`, for a row that has not this form.

    `given` lists the ids of the trajectories in the order in which the model saw them; without it object k is the k-th of
    the annotation. `seconds_per_index` is other than 1 where a long video was sampled at less than one frame a second.
    """
    if not isinstance(row, Mapping) or not {"video_id", "answer"} <= row.keys():
        faults.append(f"{place}: expected an object with video_id and answer, got {shown(row)}")
        return None
    key, given, scale = row["video_id"], row.get("given"), row.get("seconds_per_index", 1)
    if isinstance(key, bool) or not isinstance(key, (str, int)) or not str(key).strip():
        faults.append(f"{place}.video_id: expected a text or a whole number, got {shown(key)}")
        return None
    if given is not None and not _are_ids(given):
        faults.append(f"{place}.given: expected a list of ids, each once, got {shown(given)}")
        return None
    if not _is_time(scale) or not 0 < scale <= 10_000:
        faults.append(f"{place}.seconds_per_index: expected a number above 0, got {shown(scale)}")
        return None
    try:
        found = read_answer(row["answer"])
    except SgevalError as fault:
        faults.append(f"{place}.answer: {fault}")
        return None
    told = {"repairs": found.repairs, "n_lost": found.n_lost}
    return VideoGraph(
        str(key),
        tuple(
            Object(number, label, attributes=attributes)
            for number, (label, attributes) in sorted(found.objects.items())
        ),
        tuple(
            Relation(
                subject,
                obj,
                predicate,
                id=position,
                type=kind,
                raw_spans=raw,
                spans=tuple((start * scale, end * scale) for start, end in _seconds(raw)),
            )
            for position, (subject, predicate, obj, raw, kind) in enumerate(found.relations)
        ),
        span_unit="index_1fps",
        span_end="inclusive",
        extra={ANSWER: told | ({} if given is None else {"given": list(given)}) | {"is_numbered": True}},
    )


def _seconds(raw: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    return to_seconds(raw, unit="index_1fps", end="inclusive")


def _are_ids(given: Any) -> bool:
    is_list = isinstance(given, list) and all(isinstance(end, int) and not isinstance(end, bool) for end in given)
    return is_list and len(set(given)) == len(given) and all(end >= 0 for end in given)


def with_own_ids(graph: VideoGraph, reference: VideoGraph | None) -> VideoGraph:
    """A graph of an answer with the ids of the annotation in place of the numbers of the answer. A number beyond those given
    gets an id that no object has."""
    told = graph.extra.get(ANSWER, {})
    if not told.get("is_numbered"):
        return graph
    known = [item.id for item in reference.objects] if reference is not None else []
    given = told.get("given", known)
    free = max([-1, *given, *known]) + 1

    def own(number: int) -> int:
        return number if number == CAMERA else given[number - 1] if 0 < number <= len(given) else free + number

    return replace(
        graph,
        objects=tuple(replace(item, id=own(item.id)) for item in graph.objects),
        relations=tuple(
            replace(item, subject_id=own(item.subject_id), object_id=own(item.object_id)) for item in graph.relations
        ),
        extra={**graph.extra, ANSWER: {**told, "given": list(given), "is_numbered": False}},
    )


def read_answers(path: Path) -> list[VideoGraph]:
    """The graphs of a file of answers, one object a line or a JSON list. Raises `SgevalError`, naming every fault."""
    return graphs_of_answers(strict_json.read_rows(path), str(path), "")


def graphs_of_answers(rows: Iterable[Any], name: str, label: str) -> list[VideoGraph]:
    """The graphs of rows of answers. Raises `InvalidInput` of `name` with every fault, each at its place after `label`."""
    faults: list[str] = []
    found = [answer_graph(row, f"{label}[{index}]", faults) for index, row in enumerate(rows)]
    if faults:
        raise InvalidInput(name, faults)
    return [graph for graph in found if graph is not None]
