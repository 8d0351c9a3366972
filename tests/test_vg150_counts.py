"""FC70, labels moved by one: the numbers of the h5 against the counts of the published dictionary.

There the commonest class is "man" (78) with 54,659 of 1,174,615, the commonest predicates are "on" (31) with 712,409, "has"
(20), "in" (22) and "of" (30), of 2,046,006. "of" is the neighbour of "on": moved down by one, the commonest predicate is
still a common one.
"""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner
from vg150_kit import DATA, folder

from sgeval.cli.app import app
from sgeval.data.inspect import inspect
from sgeval.readers.vg150 import DICTIONARY, vg150_classes
from sgeval.readers.vg150_counts import strange_numbers

PUBLISHED = json.loads((files("sgeval.assets") / "vg150_classes.json").read_text())


def as_common(kind: str, counted: str, per: int) -> list[int]:
    """Numbers as common as the published file counts their names: one for each `per`, rounded."""
    numbers = PUBLISHED[f"{kind}_to_idx"]
    return sorted(numbers[name] for name, count in PUBLISHED[counted].items() for _ in range(round(count / per)))


LABELS = as_common("label", "object_count", 1000)
PREDICATES = as_common("predicate", "predicate_count", 10_000)


def made(path: Path, labels: list[int] = LABELS, predicates: list[int] = PREDICATES, step: int = 0) -> Path:
    """A folder whose five rows have the first boxes and relations of many, all numbers moved by `step`."""
    path.mkdir(exist_ok=True)
    few = len(labels)
    arrays: dict[str, Any] = {
        "labels": np.array(labels)[:, None] + step,
        "predicates": np.array(predicates)[:, None] + step,
        "boxes_1024": np.tile([[60, 60, 50, 50]], (few, 1)),
        "relationships": np.tile([[0, 1]], (len(predicates), 1)),
        "attributes": None,
    }
    return folder(path, **arrays)


def test_the_names_that_the_numbers_stand_for():
    """What the numbers above mean in the file, which counts from 1."""
    classes = vg150_classes()
    assert classes.categories[78 - 1] == "man"
    assert [classes.predicates[n - 1] for n in (31, 20, 22, 30)] == ["on", "has", "in", "of"]


def test_numbers_as_published(tmp_path: Path):
    assert list(strange_numbers(made(tmp_path))) == []
    assert list(strange_numbers(DATA)) == []  # too few to say


@pytest.mark.parametrize(
    ("step", "label", "predicate", "sign"),
    [(1, '79 ("men")', '32 ("on back of")', "less"), (-1, '77 ("logo")', '30 ("of")', "plus")],
)
def test_numbers_moved_by_one(tmp_path: Path, step: int, label: str, predicate: str, sign: str):
    labels, predicates = strange_numbers(made(tmp_path, step=step))
    assert f"labels: expected them as common as {DICTIONARY} counts them" in labels
    assert f'"man" (78) before all, got {label}, 55 of {len(LABELS):,}; moved by one? ' in labels
    assert f'predicates: expected them as common as {DICTIONARY} counts them, "on" (31) before all' in predicates
    assert f"got {predicate}, 71 of {len(PREDICATES)}; moved by one? " in predicates
    assert all(line.endswith(f"{sign} 1") and "\n" not in line for line in (labels, predicates))


def test_shares_that_fit(tmp_path: Path):
    """Two classes with 3 and 1 of 4, and numbers moved up by one: 2 (100 of 100). As they are min(1/4, 1) = 25 % fit, less
    1 min(3/4, 1) = 75 %."""
    made(tmp_path, [2] * 100, [1] * 100)
    names = {"1": "a", "2": "b"}
    counts = {"object_count": {"a": 3, "b": 1}, "predicate_count": {"a": 4, "b": 0}}
    tables = {f"idx_to_{kind}": names for kind in ("label", "predicate", "attribute")}
    (tmp_path / DICTIONARY).write_text(json.dumps({**tables, **counts}))
    (line,) = strange_numbers(tmp_path)
    assert line.endswith('"a" (1) before all, got 2 ("b"), 100 of 100; moved by one? 25% fit as they are, 75% less 1')


def test_numbers_of_another_dictionary(tmp_path: Path):
    """The commonest is 150, "zebra"; neither it nor its neighbours are common."""
    (line,) = strange_numbers(made(tmp_path, [150] * 200))
    assert '"man" (78) before all, got 150 ("zebra"), 200 of 200; are they of another dictionary?' in line


def test_a_part_of_the_data_may_have_another_first(tmp_path: Path):
    """91, "person", is the fourth of the dictionary, and comes 91 times here."""
    assert list(strange_numbers(made(tmp_path, [*LABELS, *[91] * 50]))) == []


@pytest.mark.parametrize("counts", [{}, {"object_count": 5}, {"object_count": {"man": "x"}}, {"object_count": {}}])
def test_a_dictionary_without_counts(tmp_path: Path, counts: Any):
    tables = {f"idx_to_{kind}": {str(n): f"{n}" for n in range(1, 151)} for kind in ("label", "predicate", "attribute")}
    made(tmp_path, step=1)
    (tmp_path / DICTIONARY).write_text(json.dumps({**tables, **counts}))
    assert list(strange_numbers(tmp_path)) == []


@pytest.mark.parametrize("number", [-(2**62), 2**62, 152])
def test_numbers_far_outside(tmp_path: Path, number: int):
    (line,) = strange_numbers(made(tmp_path, [number] * 200))
    assert f"got {number} (null), 200 of 200" in line


def test_info_says_so(tmp_path: Path):
    """Though each record by itself is in the form; and also where 150 has become 151, which no record may have."""
    for name, labels in (("a", [n for n in LABELS if n != 150]), ("b", LABELS)):
        found = inspect("vg150", made(tmp_path / name, labels, step=1), with_images=False)
        moved = [fault for fault in found.faults if re.search("labels: .* moved by one", fault)]
        assert len(moved) == 1
    done = CliRunner().invoke(app, ["data", "info", "vg150", "--data-dir", str(tmp_path / "a"), "--no-with-images"])
    assert done.exit_code == 2 and "amiss" in done.stdout and "moved by one?" in done.stdout
