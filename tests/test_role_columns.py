"""The columnar road: the same scores as from rows, whatever the columns are made of."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from ssg_rows_kit import random_rows, single_valued

import sgeval
from sgeval.errors import SgevalError
from sgeval.situation import score_columns


def as_columns(predictions, references):
    """What the references hold beside what was predicted, one value a role."""
    keys = ("frame_id", "kind", "subject_id", "object_id")
    said = {tuple(row[key] for key in keys): row for row in predictions}
    out = {
        name: [] for name in ("roles", "predicted", "gold", "lengths", "kinds", "verbs", "predicted_verbs", "frame_ids")
    }
    for row in references:
        mine = said.get(tuple(row[key] for key in keys), {"verb": None, "roles": []})
        values = {role["role"]: role["value"] for role in mine["roles"]}
        out["lengths"].append(len(row["roles"]))
        for name, value in (("kinds", row["kind"]), ("verbs", row["verb"]), ("predicted_verbs", mine["verb"])):
            out[name].append(value)
        out["frame_ids"].append(row["frame_id"])
        for role in row["roles"]:
            out["roles"].append(role["role"])
            out["gold"].append(role["value"])
            out["predicted"].append(values.get(role["role"]))
    return out


def numbers(columns):
    """The same as codes; −1 for nothing."""
    out = dict(columns)
    for names in (("roles",), ("gold", "predicted"), ("verbs", "predicted_verbs"), ("frame_ids",)):
        known = {None: -1}
        for name in names:
            out[name] = np.array([known.setdefault(value, len(known) - 1) for value in columns[name]])
    return {**out, "lengths": np.array(columns["lengths"])}


def arrow(columns):
    return {name: pa.array(column) for name, column in columns.items()}


def dictionaries(columns):
    found = {name: column.dictionary_encode() for name, column in arrow(columns).items() if name != "lengths"}
    chunks = {name: pa.chunked_array([column.slice(0, 2), column.slice(2)]) for name, column in found.items()}
    return {**chunks, "lengths": np.array(columns["lengths"], dtype=np.uint8)}


def large(columns):
    """Codes that are no small numbers."""
    found = numbers(columns)
    return {name: np.where(column < 0, -1, column * 10**12) if name in ("gold", "predicted", "roles") else column
            for name, column in found.items()}  # fmt: skip


FORMS = (dict, numbers, arrow, dictionaries, large, lambda columns: {k: tuple(v) for k, v in columns.items()})


@pytest.mark.parametrize("setting", ["top1", "gold"])
@pytest.mark.parametrize("seed", range(3))
def test_the_same_as_from_rows(seed, setting):
    predictions, references = single_valued(random_rows(seed, 30))
    columns = as_columns(predictions, references)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = sgeval.ssg_role_values(predictions, references, verb_setting=setting, bootstrap=20)
    for form in FORMS:
        found = score_columns(**form(columns), verb_setting=setting, bootstrap=20)
        assert found.pop("signature") == rows["signature"].replace("input:rows", "input:columns")
        # intervals draw pictures by their place here and by their name there; codes and names are places of their own
        same = {key for key in found if not key.endswith(("_low", "_high"))}
        assert {key: found[key] for key in same} == {key: rows[key] for key in same}
        assert same >= {
            "value",
            "person_role_accuracy",
            "verb_f1",
            "per_role_value_two",
            "n_missing_roles",
            "n_empty_frames",
        }


def test_verbs_without_roles():
    """Three pairs, of which one has a role: two of three verbs are right; the role stands under a right one."""
    found = score_columns(
        roles=["a"], gold=["x"], predicted=["x"], lengths=[0, 1, 0], kinds="verb", verbs=["hold", "wipe", "hold"],
        predicted_verbs=["hold", "wipe", "wipe"],
    )  # fmt: skip
    assert (found["verb_accuracy"], found["n_verbs"], found["n_verb_frames"]) == (200 / 3, 3, 1)
    assert (found["verb_value_all"], found["value"], found["n_empty_frames"], found["n_wrong_verbs"]) == (
        100,
        100,
        2,
        1,
    )


def test_verbs_that_nobody_predicted_are_told():
    given = {"roles": ["a"], "gold": ["x"], "predicted": ["x"], "lengths": [1], "kinds": "verb", "verbs": ["hold"]}
    for said in (None, [None]):
        with pytest.warns(UserWarning, match="under the top-1 rule all of them are wrong"):
            assert score_columns(**given, predicted_verbs=said)["value"] == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score_columns(**given, verb_setting="gold")["value"] == 100


def test_units_of_the_bootstrap():
    """Two pictures of which one is right and one wrong: replicates are 0, 50 or 100. Frame by frame they are finer."""
    given = {"roles": ["a"] * 40, "gold": ["x"] * 40, "predicted": ["x"] * 20 + ["y"] * 20, "lengths": [1] * 40}
    by_frame = score_columns(**given, bootstrap=200)
    by_picture = score_columns(**given, bootstrap=200, frame_ids=["p"] * 20 + ["q"] * 20)
    assert by_picture["value_percentile_low"] == 0 < by_frame["value_percentile_low"] < 50


def test_tables():
    found = score_columns(roles=["a", "b"], gold=["x", "y"], predicted=["x", "z"], lengths=[2], return_tables=True)
    assert [(row["kind"], row["role"], row["accuracy"]) for row in found["roles"]] == [
        ("object", "a", 100),
        ("object", "b", 0),
    ]
    assert found["verbs"] == []


def test_verbs_of_other_kinds_are_not_looked_at():
    found = score_columns(
        roles=["a", "a"], gold=["x", "x"], predicted=["x", "x"], lengths=[1, 1], kinds=["person", "verb"],
        verbs=[None, "hold"], predicted_verbs=["wipe", "hold"],
    )  # fmt: skip
    assert (found["verb_accuracy"], found["value"]) == (100, 100)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gold": ["x"]}, "gold: expected one value a role (2), got 1"),
        ({"lengths": [1]}, "lengths: expected 2 roles in all, got 1"),
        ({"lengths": [3, -1]}, "lengths: expected numbers of roles, got -1"),
        ({"lengths": [1.0, 1.0]}, "lengths: expected a column of texts or of whole numbers, got one of double"),
        ({"lengths": []}, "lengths: expected a column of whole numbers"),
        ({"gold": ["x", None]}, "gold: expected a value in each place, got none at 1"),
        ({"gold": [0.5, 1.5]}, "gold: expected a column of texts or of whole numbers, got one of double"),
        ({"gold": ["x", 1]}, "gold: expected a column of texts or of whole numbers, got another"),
        ({"gold": [1, 2]}, "gold and predicted: expected texts on both sides or whole numbers on both"),
        (
            {"gold": np.array([-2, 1]), "predicted": [1, 1]},
            "gold: expected whole numbers from 0, or -1 for nothing, got -2",
        ),
        ({"gold": [[1], [2]]}, "gold: expected a column of texts or of whole numbers, got one of list"),
        ({"gold": 5}, "gold: expected a column of texts or of whole numbers, got another"),
        ({"gold": [2**70, 1]}, "gold: expected a column of texts or of whole numbers"),
        ({"kinds": "thing"}, "kinds: expected one of person, object, verb"),
        ({"kinds": ["verb", "thing"]}, "kinds: expected one of person, object, verb"),
        ({"kinds": ["object"]}, "kinds: expected one a frame (2), got 1"),
        ({"kinds": "verb"}, "verbs: expected one a frame, since some are of the kind verb, got nothing"),
        ({"kinds": "verb", "verbs": ["hold"]}, "verbs: expected one a frame (2), got 1"),
        ({"kinds": "verb", "verbs": ["hold", None]}, "verbs: expected a value in each place, got none at 1"),
        ({"frame_ids": ["p"]}, "frame_ids: expected one a frame (2), got 1"),
        ({"verb_setting": "top"}, "verb_setting: expected one of top1, gold"),
    ],
)
def test_refusals(change, words):
    given = {"roles": ["a", "b"], "gold": ["x", "y"], "predicted": ["x", "y"], "lengths": [1, 1]}
    with pytest.raises(SgevalError) as caught:
        score_columns(**{**given, **change})
    assert words in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_frames_without_roles():
    given = {"roles": ["a"], "gold": ["x"], "predicted": ["x"], "lengths": [0, 1, 0]}
    assert score_columns(**given)["n_empty_frames"] == 2
    with pytest.raises(SgevalError, match="lengths: expected at least one frame with roles, got 2 without any"):
        score_columns(roles=[], gold=[], predicted=[], lengths=[0, 0])
