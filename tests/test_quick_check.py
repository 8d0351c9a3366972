"""The quick check of rows accepts nothing in which jsonschema finds a fault, and is of use for what files really hold."""

import copy
import json
import random
from collections import Counter

import msgspec
import pytest

from sgeval.check import check_file
from sgeval.demo import SCENES
from sgeval.records import to_dict
from sgeval.schemas import schema, validator
from sgeval.schemas.quick import derived, is_sound
from sgeval.validation import MOST, _errors, parse_graphs

POOL = [
    *(None, True, False, 0, 1, -1, -2, 7, 2**63, 10**400, 0.0, 1.0, -1.0, 0.5, 1e10, 1e-300, -1e300),
    *("", " ", "x", "\u200b", "\n", "_", "dog", "0", "frame", "inclusive", "x" * 1025, "x" * 10_001),
    *([], [1, 2, 3, 4], [1, 2], ["x"], [None], [[1, 2]], [[]], {}, {"id": 1}, {"role": "a", "value": "b"}),
    *({"start": 0, "end": 1}, {"size": [1, 2], "counts": "x"}, {"frame": 3}, {"x": {}}),
]
MASK = {"size": [4, 5], "counts": "abc"}
ROLES = [{"role": "tool", "value": "pen"}]
TEXTS = {name: ["a", "b"] for name in ("names", "synsets", "attributes", "attribute_types")}
OBJECT = {
    "id": 0,
    "category": "dog",
    "category_id": -1,
    "merged_ids": [3],
    "is_thing": True,
    "iscrowd": False,
    "level": "x",
}
OBJECT |= {"roles": ROLES, **TEXTS}
RELATION = {"id": 1, "subject_id": 0, "object_id": 0, "predicate": "on", "predicate_id": 2, "type": "x", "score": 0.5}
RELATION |= {"synsets": ["a"], "roles": ROLES}
SPANS = {"spans": [{"start": 0, "end": 1.5}], "raw_spans": [[0, 1]]}
COMMON = {"file_name": "a.jpg", "width": 640, "height": 480, "source": None, "extra": {"x": [1]}}
POINT = {"frame": 0, "bbox": [1, 2, 3.5, 4], "segmentation": MASK, "generated": False, "tracker": None}
TIMES = {"fps": 2.5, "num_frames": 3, "duration": 0, "span_unit": "second", "span_end": None, "mask_encoding": "x"}
FULL = {
    "image": {
        **COMMON,
        **{"image_id": 5, "video_id": "v", "frame_index": 2, "panoptic_file": "p.png"},
        "objects": [{**OBJECT, "bbox": [0, 0, 1, 2.5], "area": 4, "segment_id": 7, "segmentation": MASK}],
        "relations": [RELATION],
    },
    "video": {
        **COMMON,
        **TIMES,
        **{"video_id": "v", "frame_files": ["a", None], "mask_files": None},
        "objects": [{**OBJECT, "track": [POINT]}],
        "relations": [{**RELATION, **SPANS}],
    },
}
"""A row of each kind with every key that its schema names."""


def places(value, above=()):
    """Every place of a value where something stands, from the top."""
    yield above
    if isinstance(value, (dict, list)):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(entry, (*above, key))


def mutated(row, rng):
    """The row with one to three values replaced, taken out or put in."""
    whole = {"row": copy.deepcopy(row)}
    for _ in range(rng.randrange(1, 4)):
        *above, last = rng.choice([place for place in places(whole) if place])
        holder = whole
        for step in above:
            holder = holder[step]
        what = rng.random()
        if what < 0.15 and above:
            del holder[last]
        elif what < 0.3 and isinstance(holder, list):
            holder.append(rng.choice(POOL))
        elif what < 0.4 and isinstance(holder[last], (int, float)) and holder[last] < 1e300:
            holder[last] = -holder[last]
        else:
            holder[last] = copy.deepcopy(rng.choice(POOL))
    return whole["row"]


@pytest.mark.parametrize("kind", FULL)
def test_what_is_accepted_has_no_fault(kind):
    """1,200 rows, each with one to three changes; both answers come up often enough to say something."""
    rng = random.Random(f"quick {kind}")
    accepted = 0
    for _ in range(1200):
        row = mutated(FULL[kind], rng)
        if is_sound(row, kind):
            accepted += 1
            assert validator(kind).is_valid(row), row
    assert 150 < accepted < 1000


@pytest.mark.parametrize("kind", FULL)
def test_no_fault_is_lost_by_looking_where_one_may_be(kind):
    """jsonschema over the whole row, and over its suspected parts: the same faults at the same places."""
    rng = random.Random(f"parts {kind}")
    n_faulty = 0
    for _ in range(300):
        row = mutated({**FULL[kind], **{name: FULL[kind][name] * 3 for name in ("objects", "relations")}}, rng)
        whole = Counter((tuple(error.absolute_path), error.message) for error in validator(kind).iter_errors(row))
        parts = Counter((place, error.message) for place, error in _errors(row, kind, True))
        assert parts == whole, row
        n_faulty += bool(whole)
    assert 100 < n_faulty < 300


@pytest.mark.parametrize("kind", FULL)
def test_every_key_of_the_schema_is_checked(kind):
    """Each value of the full row in turn gives way to one that nothing allows."""

    def keys(part):
        named = part.get("properties", {})
        inner = [*named.values(), *([part["items"]] if "items" in part else [])]
        return {*named, *(key for each in inner for key in keys(each))}

    whole = schema(kind)
    wanted = keys(whole).union(*(keys(part) for part in whole["$defs"].values()))
    assert {step for place in places(FULL[kind]) for step in place if isinstance(step, str)} - {"x"} == wanted
    assert is_sound(FULL[kind], kind)
    for place in places(FULL[kind]):
        if place and "x" not in place:
            row = copy.deepcopy(FULL[kind])
            holder = row
            for step in place[:-1]:
                holder = holder[step]
            holder[place[-1]] = (None,) * 9 if isinstance(place[-1], int) else b"\0"
            assert not is_sound(row, kind), place


def test_shipped_files_are_accepted():
    """Else they would be checked at jsonschema's pace."""
    files = sorted(SCENES.glob("*.jsonl"))
    assert len(files) >= 4
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            assert is_sound(json.loads(line), "image"), (file, line)
    for kind, row in FULL.items():
        [graph] = parse_graphs([row], kind=kind).graphs
        assert is_sound(json.loads(json.dumps(to_dict(graph))), kind)


@pytest.mark.parametrize("before", [" ", "", "\t", "\r", "-", " -", " [1, ", " [1,", " [", " [\t"], ids=repr)
@pytest.mark.parametrize(
    ("digits", "words"),
    [
        (str(2**63), "expected a number that fits 64 bits, got one of 64 bits"),
        (str(2**63 - 1), ""),
        ("1e999", "expected a finite number, got "),
        ("9" * 400 + ".5", "expected a finite number, got "),
        ("9e999", "expected a finite number, got "),
        ("1.5E+999", "expected a finite number, got "),
        ("NaN", "expected a finite number, got NaN"),
        ("Infinity", "expected a finite number, got "),
    ],
    ids=lambda text: text[:22],
)
def test_numbers_that_no_file_can_hold_are_seen_in_the_text(tmp_path, before, digits, words):
    """However they stand there. 2^63 has nineteen digits, as has the largest number of 64 bits, 2^63 - 1."""
    if digits == "NaN" and "-" in before:
        return
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"image_id": "a", "extra": {{"x":{before}{digits}{"]" * before.count("[")}}}}}')
    found = [fault.message for fault in check_file(path).faults]
    assert len(found) == bool(words) and all(message.startswith(words) for message in found)


@pytest.mark.parametrize("value", [{1, 2}, frozenset({1}), b"x", 1j], ids=lambda value: type(value).__name__)
def test_what_json_cannot_hold_is_left_to_jsonschema(value):
    """msgspec takes a set for a list."""
    row = copy.deepcopy(FULL["image"])
    row["objects"][0]["merged_ids"] = value
    faults = parse_graphs([row], on_invalid="skip").faults
    assert [fault.pointer for fault in faults] == ["/0/objects/0/merged_ids"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "string", "format": "uri"},
        {"type": "object", "additionalProperties": False},
        {"type": "object", "required": ["a"]},
        {"type": "array", "uniqueItems": True},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"type": "array", "prefixItems": [{"type": "string"}], "minItems": 1, "maxItems": 2},
        {"enum": [1]},
        {"$ref": "#/$defs/none"},
        {"$ref": "other.json"},
    ],
    ids=str,
)
def test_a_rule_without_a_counterpart_is_no_rule_less(part):
    with pytest.raises(ValueError, match="expected"):
        derived({"type": "object", "properties": {"a": part}, "$defs": {}})


def test_bounds_hold_for_their_type_alone():
    """A bound on numbers says nothing of a text, and the other way round."""
    kind = derived({"type": ["string", "number"], "minimum": 3, "maxLength": 1})

    assert [msgspec.convert(value, kind) for value in ("9", 3, 10.5)] == ["9", 3.0, 10.5]
    for value in ("10", 2, None):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(value, kind)


@pytest.mark.parametrize("n_faults", [MOST - 1, MOST, MOST + 1])
def test_a_row_of_very_many_faults_goes_whole(n_faults):
    """Up to 9,999 the faulty relations go, and the sound one stays."""
    row = {"image_id": "a", "relations": [1] * n_faults + [{"subject_id": 0, "object_id": 1, "predicate": "on"}]}
    parsed = parse_graphs([row, {"image_id": "b"}], on_invalid="skip")
    is_whole = n_faults < MOST
    assert [len(graph.relations) for graph in parsed.graphs] == ([1, 0] if is_whole else [0])
    assert len(parsed.faults) == (n_faults if is_whole else MOST + 1)
    if not is_whole:
        assert parsed.faults[-1] == "predictions[0]: expected fewer than 10,000 faults in a row, got 10,000 or more"


def test_after_very_many_faults_nothing_more_is_looked_for():
    parsed = parse_graphs([{"image_id": ""}] * 9, on_invalid="skip", most_faults=2)
    assert [fault.pointer for fault in parsed.faults] == ["/0/image_id", "/1/image_id", "/2/image_id", "/3"]
    assert "expected at most 2 faults, got more" in parsed.faults[-1]
