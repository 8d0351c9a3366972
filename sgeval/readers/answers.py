"""A model's answer in the JSON form of paper 2 (arXiv 2602.23543) as a video graph.

    {"objects": [{"object 1": "dog", "attributes": ["brown"]}, …],
     "relationships": [[1, "chasing", 2, [[3, 7], [11, 12]]], [2, "seen by", -1, [[0, 4]]], …]}

Object k is the k-th trajectory that the model was given; -1 is the camera; spans are indices on a clock of one a second,
both ends included, so [3, 7] is 3 to 8 seconds. A fifth entry of a relationship is its type.

Models think aloud, wrap such an answer in a fence or in prose, break off in the middle, write it as Python would, or spoil
an entry. What is whole is taken, entry by entry, nothing is guessed; what was done and what was lost is counted. Of several
answers in one text the last counts, and no two are mixed.
"""

import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sgeval import strict_json
from sgeval.errors import Fault, InvalidInput, Place, SgevalError, counted, one_line, shown, steps
from sgeval.readers.python_text import as_json, python_start
from sgeval.records import CAMERA, Object, Relation, VideoGraph
from sgeval.spans import to_seconds

ANSWER = "/answer"
"""The key in a graph's `extra` under which stands how the answer was read."""
MOST_CHARACTERS = 4_000_000
MOST_ENTRIES = 100_000
MOST_ANSWERS = 100
MOST_FAULTS = 100  # spoilt entries of a list after which the rest of it is lost
NO_ANSWER = "no answer"
"""Among the repairs of an answer in which there was nothing to read."""
QUOTES = "quotes"
"""Among the repairs of an answer that was written as Python would."""
MANY = 0.1
"""The share of answers without anything to read above which a warning says so."""

_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_START = re.compile(r'\{\s*"(?:objects|relationships)"\s*:')
_LIST = {name: re.compile(rf'"{name}"\s*:\s*\[') for name in ("objects", "relationships")}
_NEXT = {"objects": re.compile(r'\{\s*"[Oo]bject'), "relationships": re.compile(r'\[\s*-?\d+\s*,\s*"')}
_OBJECT_KEY = re.compile(r"[Oo]bject[ _]?(\d{1,9})")
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
    gives none, and "no answer" among the `repairs`.

    >>> found = read_answer('Sure: {"objects": [{"object 1": "dog"}], "relationships": [[1, "on", -1, [[0, 2]]], [1, "o')
    >>> found.objects, len(found.relations), found.repairs, found.n_lost
    ({1: ('dog', ())}, 1, ['prose', 'cut off'], 1)
    """
    out = Reading()
    if isinstance(answer, str):
        if len(answer) > MOST_CHARACTERS:
            raise SgevalError(f"expected at most {MOST_CHARACTERS:,} characters, got {len(answer):,}")
        answer = _value(answer, out)
        if answer is None:
            out.repairs.append(NO_ANSWER)
            return out
    if (
        isinstance(answer, list)
        and len(answer) == 1
        and isinstance(answer[0], Mapping)
        and _LIST.keys() & answer[0].keys()
    ):
        answer = answer[0]
        _note(out, "list around it")
    if isinstance(answer, list):  # the objects alone, as one of the prompts asks for
        answer = {"objects": answer}
    if isinstance(answer, Mapping) and not _LIST.keys() & answer.keys():
        _note(out, NO_ANSWER)
    if not isinstance(answer, Mapping):
        raise SgevalError(f"expected a text, or an object with objects and relationships, got {shown(answer)}")
    for name, take in (("objects", _take_object), ("relationships", _take_relation)):
        entries, n_lost = answer.get(name) or [], out.n_lost
        if not isinstance(entries, Sequence) or isinstance(entries, str):
            entries, out.n_lost = [], out.n_lost + 1
        for entry in entries[:MOST_ENTRIES]:
            take(entry, out)
        out.n_lost += max(0, len(entries) - MOST_ENTRIES)
        if out.n_lost > n_lost:
            _note(out, "spoilt entry")
    return out


def _value(text: str, out: Reading) -> Any:
    """The JSON value of a text, or what is whole of it."""
    value = _parsed(text.strip())
    if value is not None:
        return value
    told = _without_thinking(text)
    if told != text:
        _note(out, "thinking")
        return _value(told, out)
    fences = [found.group(1).strip() for found in _FENCE.finditer(text)]
    found = _candidates(text)
    if found:
        _note_wrapping(text, found, bool(fences), out)
        return _last(found, out)
    start = text.find("{")
    prose = text[start : text.rfind("}") + 1] if start >= 0 else ""
    for repair, part in (*(("fence", fence) for fence in reversed(fences)), ("prose", prose)):
        value = _parsed(part)
        if value is not None:
            _note(out, repair)
            return value
    # What began the answer is spoilt; its lists may be there.
    at = max((found.start() for found in _LIST["objects"].finditer(text)), default=0)
    rest = _salvaged(text[at:], 0)
    if rest.value:
        _note_wrapping(text, [rest], bool(fences), out)
        return _last([rest], out)
    begin = python_start(text)
    if begin is None or QUOTES in out.repairs:
        return None
    if text[:begin].strip():
        _note(out, "fence" if fences else "prose")
    _note(out, QUOTES)
    return _value(as_json(text[begin:]), out)


def _without_thinking(text: str) -> str:
    """What follows the model's thoughts; nothing where they never end."""
    end = max(text.rfind(tag) + len(tag) if tag in text else 0 for tag in ("</think>", "</thinking>"))
    return "" if not end and text.lstrip().startswith(("<think>", "<thinking>")) else text[end:]


@dataclass
class _Candidate:
    """An answer within a text: its value, or its whole entries where it is spoilt."""

    start: int
    end: int
    value: Mapping[str, Any]
    repairs: list[str]
    n_lost: int = 0

    @property
    def is_empty(self) -> bool:
        return not any(self.value.get(name) for name in _LIST)


def _candidates(text: str) -> list[_Candidate]:
    """The answers that begin in a text, one after the other; of very many the last ones."""
    starts = [found.start() for found in _START.finditer(text)][-MOST_ANSWERS:]
    out: list[_Candidate] = []
    for start, following in zip(starts, [*starts[1:], len(text)], strict=False):
        if out and start < out[-1].end:
            continue
        value, end = _entry(text, start)
        if isinstance(value, dict):
            out.append(_Candidate(start, end, value, []))
        else:
            out.append(_salvaged(text[start:following], start))
    return out


def _salvaged(part: str, start: int) -> _Candidate:
    """The whole entries of an answer that is no JSON; no value where it has neither of the lists."""
    reading = Reading()
    lists = {name: _entries(part, name, reading) for name in _LIST if _LIST[name].search(part)}
    for name in _LIST.keys() - lists.keys():
        _note(reading, f"no {name}")
    if not reading.repairs:  # both lists are whole, the end of the answer is missing
        _note(reading, "cut off")
    return _Candidate(start, start + len(part), lists, reading.repairs, reading.n_lost)


def _last(found: Sequence[_Candidate], out: Reading) -> Mapping[str, Any]:
    """The last answer that has an entry. Others with other entries were taken back: each counts as one lost part."""
    said = [each for each in found if not each.is_empty] or found[-1:]
    last = said[-1]
    others = [each for each in said if each.value != last.value]
    for repair in [*last.repairs, *(["several answers"] if others else [])]:
        _note(out, repair)
    out.n_lost += last.n_lost + len(others)
    return last.value


def _note_wrapping(text: str, found: Sequence[_Candidate], is_fenced: bool, out: Reading) -> None:
    if is_fenced:
        _note(out, "fence")
    elif text[: found[0].start].strip() or text[found[-1].end :].strip():
        _note(out, "prose")


def _parsed(part: str) -> dict[str, Any] | list[Any] | None:
    try:
        value = strict_json.parse(part, "answer")
    except SgevalError:
        return None
    return value if isinstance(value, (dict, list)) else None


def _entries(text: str, name: str, out: Reading) -> list[Any]:
    """The whole entries of a list in a text that is no JSON."""
    found = _LIST[name].search(text)
    assert found is not None
    entries: list[Any] = []
    n_faults = 0
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
        n_faults += 1
        if n_faults > MOST_FAULTS:  # each costs a look at the whole text
            _note(out, "spoilt entry")
            out.n_lost += sum(1 for _ in _NEXT[name].finditer(text, at + 1))
            return entries
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
    if key[0] == "O":
        _note(out, "capital")
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


def answer_graph(row: Any, place: Place, faults: list[Fault]) -> VideoGraph | None:
    """The graph of a row `{"video_id", "answer"}`, with or without `given` and `seconds_per_index`; nothing, and a fault at
    its place in `faults`, for a row that has not this form.

    `given` lists the ids of the trajectories in the order in which the model saw them; without it object k is the k-th of
    the annotation. `seconds_per_index` is other than 1 where a long video was sampled at less than one frame a second.
    """
    if not isinstance(row, Mapping) or not {"video_id", "answer"} <= row.keys():
        faults.append(_fault(place, f"expected an object with video_id and answer, got {shown(row)}"))
        return None
    key, given, scale = row["video_id"], row.get("given"), row.get("seconds_per_index", 1)
    if isinstance(key, bool) or not isinstance(key, (str, int)) or not str(key).strip():
        faults.append(_fault((*place, "video_id"), f"expected a text or a whole number, got {shown(key)}"))
        return None
    if given is not None and not _are_ids(given):
        faults.append(_fault((*place, "given"), f"expected a list of ids, each once, got {shown(given)}"))
        return None
    if not _is_time(scale) or not 0 < scale <= 10_000:
        faults.append(_fault((*place, "seconds_per_index"), f"expected a number above 0, got {shown(scale)}"))
        return None
    try:
        found = read_answer(row["answer"])
    except SgevalError as fault:
        faults.append(_fault((*place, "answer"), str(fault)))
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


def _fault(place: Place, message: str) -> Fault:
    return Fault(f"{steps(place)}: {message}", place, message)


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
    broken: list[str] = []
    return graphs_of_answers(strict_json.read_rows(path, broken), one_line(str(path)), "", broken)


def graphs_of_answers(rows: Iterable[Any], name: str, label: str, broken: Sequence[str] = ()) -> list[VideoGraph]:
    """The graphs of rows of answers. Raises `InvalidInput` of `name` with every fault, each at its place after `label`, and
    with the lines that are `broken`, which grow while rows are read and count as rows."""
    faults: list[Fault] = []
    found = [answer_graph(row, (index + len(broken),), faults) for index, row in enumerate(rows)]
    if broken or faults:
        raise InvalidInput(name, [*broken, *(Fault(f"{label}{fault}", fault.place, fault.message) for fault in faults)])
    graphs = [graph for graph in found if graph is not None]
    n_unread = sum(NO_ANSWER in graph.extra[ANSWER]["repairs"] for graph in graphs)
    if n_unread > MANY * len(graphs):
        warnings.warn(
            f"{name}: in {n_unread:,} of {counted(len(graphs), 'answer')} nothing could be read; they count as answers that "
            "say nothing (n_unread_answers)",
            stacklevel=2,
        )
    return graphs
