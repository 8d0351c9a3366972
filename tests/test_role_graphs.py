"""From scene graphs to rows and back, and scores of graphs."""

import json

import pytest
from ssg_kit import DATA, EXPECTED

import sgeval
from sgeval.data.source import read_source
from sgeval.errors import InvalidInput, SgevalError
from sgeval.readers.ssg import read_ssg
from sgeval.records import Object, Relation, Role, SceneGraph, to_dict
from sgeval.situation import graphs_of_rows, rows_of_graphs

FIRST = "ZZ001.mp4/000003.png"


def listed(**roles):
    return [{"role": role.replace("_", " "), "value": value} for role, value in roles.items()]


def row(kind, subject_id, object_id, verb, **roles):
    ids = {"frame_id": FIRST, "kind": kind, "subject_id": subject_id, "object_id": object_id}
    return {**ids, "verb": verb, "roles": listed(**roles)}


# The frame of ssg_kit: a person, a cup that is held and drunk from, a table, a book without roles. Relations of attention
# and of space are no verbs.
ROWS = [
    row("person", "0", None, None, pose="standing", emotion="neutral", clothing="shirt", gaze="down"),
    row("object", None, "1", None, color="red", material="plastic", state="open"),
    row("object", None, "2", None, material="wooden", shape="round"),
    row("object", None, "3", None),
    row("verb", "0", "1", "holding", place="kitchen", body_part="hand"),
    row("verb", "0", "1", "drinking_from", place="kitchen", manner="slowly"),
    row("verb", "0", "2", "not_contacting", place="kitchen"),
]


def test_rows_of_the_reader():
    assert rows_of_graphs([next(iter(read_ssg(DATA)))]) == rows_of_graphs([EXPECTED[0]]) == ROWS


def test_there_and_back():
    for records in (list(read_ssg(DATA)), EXPECTED):
        rows = rows_of_graphs(records)
        back = graphs_of_rows(rows, records)
        assert rows_of_graphs(back) == rows
        for record, made in zip(records, back, strict=True):
            assert [(item.id, item.bbox, item.category) for item in made.objects] == [
                (item.id, item.bbox, item.category) for item in record.objects
            ]
            assert [one for one in made.relations if one.type != "contacting"] == [
                one for one in record.relations if one.type != "contacting"
            ]


def test_back_without_records():
    rows = [each for each in ROWS if each["roles"]]
    (graph,) = graphs_of_rows(rows)
    assert [(item.id, item.category) for item in graph.objects] == [(0, "person"), (1, "object"), (2, "object")]
    assert rows_of_graphs([graph]) == rows
    whole = json.loads(json.dumps(to_dict(graph)))  # a line of a prediction file
    assert sgeval.ssg_role_values([whole], [EXPECTED[0]])["value_all"] == 100


def test_a_person_without_an_id():
    person = {**ROWS[0], "subject_id": None}
    (graph,) = graphs_of_rows([person], [EXPECTED[0]])
    assert graph.objects[0].roles == EXPECTED[0].objects[0].roles
    with pytest.raises(SgevalError, match=f'frame "{FIRST}": expected the id of the person, got none'):
        graphs_of_rows([person])
    with pytest.raises(SgevalError, match="expected ids that are whole numbers"):
        graphs_of_rows([{**ROWS[1], "object_id": "cup"}])


def test_a_role_that_stands_twice_has_several_values():
    graph = SceneGraph(
        "f", (Object(0, "cup", roles=(Role("color", "red"), Role("color", "blue"), Role("size", "big"))),)
    )
    (found,) = rows_of_graphs([graph])
    assert found["roles"] == [{"role": "color", "values": ["red", "blue"]}, {"role": "size", "value": "big"}]
    assert graphs_of_rows([found], [graph])[0] == graph


def test_the_surest_predicted_verb_comes_first():
    """And persons and objects without a role give no row, since there is nothing to compare."""
    relations = (
        Relation(0, 1, "wiping", score=0.2, type="contacting"),
        Relation(0, 1, "in_front_of", score=0.9, type="spatial"),
        Relation(0, 1, "holding", score=0.7),
    )
    graph = SceneGraph("f", (Object(0, "person"), Object(1, "cup")), relations)
    assert [found["verb"] for found in rows_of_graphs([graph], is_predicted=True)] == ["holding", "wiping"]
    assert [found["verb"] for found in rows_of_graphs([graph])] == [None, None, "wiping", "holding"]


def test_scores_of_graphs_are_those_of_their_rows():
    gold = list(read_ssg(DATA))
    plain = read_source(DATA, "ssg")
    rows = rows_of_graphs(gold)
    expected = sgeval.ssg_role_values(rows, rows)
    assert (
        expected["value"] == expected["verb_accuracy"] == 100 and expected["value_two"] == expected["value_two_ceiling"]
    )
    for one, other in ((gold, gold), (plain, gold), (rows, plain)):
        assert sgeval.ssg_role_values(one, other) == expected
    # 6 frames: a person each (one without box and roles) and its cup, table and empty book; verbs with and without roles
    assert expected["n_empty_frames"] == 6 + 1 + 1 and expected["n_extra_verb_frames"] == 5


def test_faults_of_graphs_are_those_of_their_border():
    broken = to_dict(EXPECTED[0])
    broken["relations"][0]["object_id"] = 77
    with pytest.raises(InvalidInput, match=r"predictions\[0\]\.relations\[0\]\.object_id"):
        sgeval.ssg_role_values([broken], [EXPECTED[0]])
    assert sgeval.ssg_role_values([broken], [EXPECTED[0]], on_invalid="skip")["n_invalid"] == 1


def test_rows_of_the_data_set():
    """What `load_dataset` gives is scored as it comes."""
    table = sgeval.load_dataset("ssg", data_dir=DATA, with_images=False, split="test")
    found = sgeval.ssg_role_values(table, list(read_ssg(DATA, "test")))
    assert found["value"] == found["verb_accuracy"] == 100
