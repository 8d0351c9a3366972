"""The border of the role values: every fault at once, with its place; nothing lost, nothing half taken."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from ssg_rows_kit import contact, frame

import sgeval
from sgeval.errors import InvalidInput, SgevalError
from sgeval.situation.border import parse_side

GOOD = frame("A", {"tool": "pen"})


def faults(rows, **options):
    with pytest.raises(InvalidInput) as caught:
        parse_side(rows, "references", **options)
    assert all(len(fault.splitlines()) == 1 for fault in caught.value.faults)
    return list(caught.value.faults)


def without(row, key):
    return {name: value for name, value in row.items() if name != key}


def roles(*items):
    return {**GOOD, "roles": list(items)}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ([], ": expected a row {frame_id, kind, subject_id, object_id, verb, roles}, got []"),
        (without(GOOD, "frame_id"), ".frame_id: expected an id (a text or a whole number), got nothing"),
        ({**GOOD, "frame_id": " "}, '.frame_id: expected an id (a text or a whole number), got " "'),
        ({**GOOD, "frame_id": True}, ".frame_id: expected an id (a text or a whole number), got true"),
        ({**GOOD, "frame_id": "a\ud800"}, '.frame_id: expected an id (a text or a whole number), got "a\\ud800"'),
        ({**GOOD, "kind": "thing"}, '.kind: expected person, object or verb, got "thing"'),
        ({**GOOD, "kind": ["verb"]}, '.kind: expected person, object or verb, got ["verb"]'),
        ({**GOOD, "object_id": 1.5}, ".object_id: expected an id (a text or a whole number), or null, got 1.5"),
        ({**GOOD, "verb": "hold"}, '.verb: expected null where the kind is not verb, got "hold"'),
        (contact("A", None, {"a": "x"}), ".verb: expected a verb, got null"),
        ({**contact("A", "hold", {}), "object_id": None}, ".object_id: expected an id (a text or a whole number), got null"),
        (without(GOOD, "roles"), ".roles: expected a list of {role, value}, got nothing"),
        ({**GOOD, "roles": {"tool": "pen"}}, '.roles: expected a list of {role, value}, got {"tool": "pen"}'),
        (roles("pen"), '.roles[0]: expected a role {role, value}, got "pen"'),
        (roles({"value": "pen"}), ".roles[0].role: expected the name of a role, got nothing"),
        (roles({"role": "a"}), ".roles[0].value: expected a value (a text or a whole number), got nothing"),
        (roles({"role": "a", "value": ["x"]}), '.roles[0].value: expected a value (a text or a whole number), got ["x"]'),
        (roles({"role": "a", "values": "x"}), '.roles[0].values: expected a list of values, got "x"'),
        (roles({"role": "a", "values": []}), ".roles[0].values: expected at least one value, got []"),
        (
            roles({"role": "a", "values": ["x", 0.5]}),
            ".roles[0].values[1]: expected a value (a text or a whole number), got 0.5",
        ),
        (
            roles({"role": "a", "value": "x", "values": ["x"]}),
            '.roles[0]: expected value or values, not both, got {"role": "a", "value": "x", "values": ["x"]}',
        ),
        (
            roles({"role": "a", "value": "x"}, {"role": "a", "value": "y"}),
            '.roles[1].role: expected each role once (several values of one stand in a list under values), got "a"',
        ),
    ],
)  # fmt: skip
def test_one_fault(row, fault):
    assert faults([frame("Z", {"a": "x"}), row]) == [f"references[1]{fault}"]


def test_all_faults_are_listed():
    rows = [{}, roles({"role": "a"}, {"role": "b", "value": None})]
    assert len(faults(rows)) == 3 + 2
    with pytest.raises(SgevalError, match="references: expected a list of rows or of scene graphs, got"):
        parse_side({"frame_id": "a"}, "references")


def test_a_person_or_object_comes_once():
    again = [GOOD, {**GOOD, "roles": []}]
    expected = 'each person and object once, got the object "1" in frame "A" again (first in references[0])'
    assert faults(again) == [f"references[1]: expected {expected}"]
    side = parse_side(again, "references", "skip")
    assert (len(side.rows), side.n_invalid, side.rows[0].roles) == (1, 1, {"tool": ("pen",)})


def test_predictions_may_say_nothing():
    given = [contact("A", None, {"a": None}), {**GOOD, "roles": [{"role": "b", "values": []}]}]
    first, second = parse_side(given, "predictions", is_predicted=True).rows
    assert (first.verb, first.roles, second.roles) == (None, {"a": ()}, {"b": ()})


def test_the_smallest_faulty_part_is_left_out():
    gold = [
        roles({"role": "tool", "value": "pen"}, {"role": "place", "value": 0.5}),
        {"kind": "object"},
        frame("B", {"a": "x"}),
    ]
    said = [{**GOOD, "roles": "pen"}, frame("B", {"a": "x"})]
    found = sgeval.ssg_role_values(said, gold, on_invalid="skip")
    # of the references a role and a row; of the predictions a row, whose frame is wrong and no reason to refuse
    assert (found["n_invalid"], found["n_frames"], found["n_roles"], found["value"]) == (3, 2, 2, 50)
    assert sgeval.ssg_role_values(said, gold, on_invalid="skip", missing="error")["value"] == 50
    assert "|invalid:skip|" in found["signature"]


def test_a_prediction_of_a_faulty_frame_is_no_stranger():
    gold = [{**GOOD, "roles": None}, frame("B", {"a": "x"})]
    found = sgeval.ssg_role_values([GOOD, frame("B", {"a": "x"})], gold, on_invalid="skip")
    assert (found["n_unknown_frames"], found["value"]) == (0, 100)


def test_unknown_keys_are_told():
    given = [{**GOOD, "verbs": None, "roles": [{"role": "a", "value": "x", "valeu": 1}]}] * 1
    with pytest.warns(UserWarning) as told:
        parse_side(given, "references")
    words = {str(one.message) for one in told}
    assert words == {
        'references[…].verbs: unknown key, not looked at (1 times); the nearest known key is "verb"',
        'references[…].roles[…].valeu: unknown key, not looked at (1 times); the nearest known key is "value"',
    }


def test_rows_of_tables():
    """Of Arrow and of numpy, with nulls where a struct has no such key."""
    plain = [
        {**GOOD, "roles": [{"role": "a", "value": "x", "values": None}, {"role": "b", "value": None, "values": ["y"]}]}
    ]
    table = pa.Table.from_pylist(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sgeval.ssg_role_values(table, table)
    assert (found["value_all"], found["n_roles"]) == (100, 2)
    numbers = [
        {**GOOD, "frame_id": np.int64(3), "object_id": np.int32(1), "roles": ({"role": "a", "value": np.int64(7)},)}
    ]
    assert sgeval.ssg_role_values(numbers, [{**numbers[0], "frame_id": "3"}])["value"] == 100


def test_arrays_of_numpy_and_an_empty_list_beside_a_value():
    """As pandas reads Parquet: lists are arrays, and a key that a role lacks may be an empty list."""
    given = np.array([{"role": "a", "values": np.array(["x", "y"])}, {"role": "b", "value": "z", "values": []}])
    (row,) = parse_side([{**GOOD, "roles": given}], "references").rows
    assert row.roles == {"a": ("x", "y"), "b": ("z",)}


def test_a_number_too_long_to_write():
    expected = ".frame_id: expected an id (a text or a whole number), got int too long to show"
    assert faults([{**GOOD, "frame_id": 10**5000}]) == [f"references[0]{expected}"]


def test_values_twice_are_one():
    (row,) = parse_side([roles({"role": "a", "values": ["x", "y", "x"]})], "references").rows
    assert row.roles == {"a": ("x", "y")}
