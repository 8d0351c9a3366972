"""The vocabularies beside FG-OV, whole and real (SOURCE.md in tests/data/fgov)."""

import json
from pathlib import Path
from typing import Any

import pytest
from fgov_kit import REAL, VOCABULARY

from sgeval.errors import SgevalError
from sgeval.readers.fgov import o365_classes, rlipv2_counts


def test_the_classes_of_objects365():
    names = o365_classes(REAL / "o365_categories.json")
    # 365 names, ids from 1: {"name": "Person", "id": 1}, {"name": "Cup", "id": 11}, {"name": "Cigar/Cigarette ", "id": 197},
    # {"name": "Formula 1 ", "id": 309}, {"name": "Table Tennis ", "id": 365}; only those three end in a blank.
    assert len(names) == len(set(names)) == 365
    assert (names[0], names[10]) == ("Person", "Cup")
    blank = {at: name for at, name in enumerate(names) if name != name.strip()}
    assert blank == {196: "Cigar/Cigarette ", 308: "Formula 1 ", 364: "Table Tennis "}


def test_the_counts_of_rlipv2():
    counts = rlipv2_counts(REAL / VOCABULARY)
    assert (len(counts.predicates), len(counts.objects)) == (1141, 80)
    assert list(counts.predicates.items())[:3] == [("near", 445342), ("next to", 277600), ("on", 192965)]
    assert list(counts.predicates.items())[-1] == ("affixed to", 1)
    assert list(counts.objects.items())[::79] == [("person", 257252), ("hair drier", 198)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "expected a list of classes {name, id}, got {}"),
        ([{"name": "Person", "id": 0}], "[0].id: expected 1, as ids count from 1, got 0"),
        ([{"name": "Person", "id": "1"}], '[0].id: expected a whole number, got "1"'),
        ([{"id": 1}], "[0].name: expected a text, got nothing"),
        (["Person"], '[0]: expected an object, got "Person"'),
    ],
)
def test_faults_of_the_classes(tmp_path: Path, content: Any, message: str):
    path = tmp_path / "classes.json"
    path.write_text(json.dumps(content))
    with pytest.raises(SgevalError) as caught:
        o365_classes(path)
    assert str(caught.value) == f"{path}: {message}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relationship_names": None}, "relationship_names: expected a list of names, got null"),
        ({"relationship_names": [1]}, "relationship_names[0]: expected a text, got 1"),
        ({"object_freq": {}}, "object_freq: expected one count for each of the 1 names, got 0"),
        ({"object_freq": {"cat": 1}}, "object_freq.dog: expected a whole number, got nothing"),
        ({"object_freq": {"dog": 0.5}}, "object_freq.dog: expected a whole number, got 0.5"),
    ],
)
def test_faults_of_the_counts(tmp_path: Path, changes: Any, message: str):
    sound = {
        "relationship_names": ["on"],
        "relationship_freq": {"on": 2},
        "object_names": ["dog"],
        "object_freq": {"dog": 1},
    }
    path = tmp_path / "counts.json"
    path.write_text(json.dumps({**sound, **changes}))
    with pytest.raises(SgevalError) as caught:
        rlipv2_counts(path)
    assert str(caught.value) == f"{path}: {message}"
