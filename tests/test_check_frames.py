"""`validate` over rows of frames: what scoring of role values would refuse, all of it, with its place."""

import json
import zipfile

import pytest
from ssg_rows_kit import contact, frame
from typer.testing import CliRunner

import sgeval
from sgeval.check import check_file
from sgeval.cli.app import app
from sgeval.errors import InvalidInput, SgevalError
from sgeval.limits import Limits
from sgeval.situation.options import Options

GOLD = [
    frame("A", {"pose": "sitting"}, "person", None, 0, None),
    frame("A", {"tool": "pen", "place": "desk"}),
    contact("A", "hold", {"tool": "hand"}),
    frame("B", {"tool": "cup"}),
]


@pytest.fixture
def file(tmp_path):
    """A file of rows, of which texts are written as they are."""

    def write(name, rows):
        path = tmp_path / name
        path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
        return path

    return write


@pytest.fixture
def check(file):
    def run(rows, references=None, **more):
        gold = None if references is None else file("references.jsonl", references)
        return check_file(file("predictions.jsonl", rows), references=gold, **more)

    return run


def text(row, old, new):
    written = json.dumps(row)
    assert old in written
    return written.replace(old, new, 1)


def told(found):
    return [(fault.pointer, fault.line, fault.message) for fault in found.faults]


def test_sound(check):
    for references in (None, GOLD):
        found = check(GOLD, references)
        assert (found.faults, found.warnings, found.counts) == ([], [], {"rows": 4, "frames": 4})
    again = [*GOLD, contact("A", "wipe", {})]  # a second verb of a pair
    assert check(again, GOLD).counts == {"rows": 5, "frames": 4}


def test_every_fault_at_once(check):
    once = 'each person and object once, got the object "1" in frame "B" again (first in predictions[3])'
    rows = [
        text(GOLD[0], '"sitting"', "NaN"),
        text(GOLD[1], '"pen"', '"pen", "value": "cup"'),
        "{",
        GOLD[3],
        GOLD[3],
        {"kind": "verb", "roles": 5},
        frame("nowhere", {"tool": 0.5}),
        text(frame("C"), '"C"', '"D", "frame_id": "C"'),
    ]
    found = check(rows, GOLD)
    assert told(found) == [
        ("/0/roles/0/value", 1, "expected a finite number, got NaN"),
        ("/1/roles/0/value", 2, 'expected each key once, got the key "value" twice'),
        ("/7/frame_id", 8, 'expected each key once, got the key "frame_id" twice'),
        (
            "/2",
            3,
            'expected JSON, got "{" (Expecting property name enclosed in double quotes, column 2): cut short at byte 1',
        ),
        ("/5/frame_id", 6, "expected an id (a text or a whole number), got nothing"),
        ("/5/subject_id", 6, "expected an id (a text or a whole number), got nothing"),
        ("/5/object_id", 6, "expected an id (a text or a whole number), got nothing"),
        ("/5/roles", 6, "expected a list of {role, value}, got 5"),
        ("/6/roles/0/value", 7, "expected a value (a text or a whole number), or null, got 0.5"),
        ("/4", 5, f"expected {once}"),
        ("/6", 7, 'expected a frame of the references, got the object "1" in frame "nowhere"'),
    ]
    assert not any("without a prediction" in words for words in found.warnings)  # it may stand in a row that is lost


def test_faults_are_those_of_scoring(check):
    rows = [{**GOLD[0], "verb": "sit"}, {**GOLD[1], "kind": "thing"}, 3, {**GOLD[3], "roles": [{"role": "a"}, 1]}]
    with pytest.raises(InvalidInput) as caught:
        sgeval.ssg_role_values(rows, GOLD)
    assert check(rows, GOLD).faults == check(rows).faults == list(caught.value.faults)


def test_missing_frames_are_a_number_unless_scoring_refuses_them(check):
    found = check(GOLD[:2], GOLD)
    assert found.faults == [] and found.counts == {"rows": 2, "frames": 2}
    assert "frames of the references without a prediction, which count as wrong: 2" in found.warnings
    faults = check(GOLD[:2], GOLD, role_values=Options(missing="error")).faults
    assert told(check(GOLD[:2], GOLD, role_values=Options(missing="error"))) == [
        ("", None, 'expected the verb of "0" and "1" in frame "A", got none'),
        ("", None, 'expected the object "1" in frame "B", got none'),
    ]
    assert all(fault.file.endswith("predictions.jsonl") for fault in faults)


def test_missing_beside_unknown(check):
    """Both are told; a row at fault whose key is known is not missing."""
    found = check([frame("X"), {**GOLD[0], "roles": 5}], GOLD)
    assert [fault.pointer for fault in found.faults] == ["/1/roles", "/0"]
    assert "frames of the references without a prediction, which count as wrong: 3" in found.warnings


@pytest.mark.parametrize(
    "row", ["{", text(GOLD[3], '"B"', '"B", "frame_id": "A"'), {**GOLD[3], "frame_id": None}], ids=str
)
def test_what_may_stand_in_a_lost_row_is_not_missing(check, row):
    for options in (None, Options(missing="error")):
        found = check([*GOLD[:3], row], GOLD, role_values=options)
        assert {fault.pointer[:2] for fault in found.faults} == {"/3"}
        assert not any("without a prediction" in words for words in found.warnings)


def test_of_the_references(check):
    found = check(GOLD, [GOLD[0], GOLD[1], GOLD[2], {**GOLD[3], "frame_id": None}])
    [fault] = found.faults  # whether B is unknown cannot be said
    assert (fault.pointer, fault.line) == ("/3/frame_id", 4) and fault.file.endswith("references.jsonl")
    for references, words in (([frame("A")], "with roles, got 1 without any"), ([], "at least one frame, got none")):
        [fault] = check([frame("A")], references).faults
        assert words in fault.message and fault.file.endswith("references.jsonl")


def test_keys_that_are_not_looked_at_are_warnings(check):
    assert check([{**GOLD[0], "verbs": 1}], GOLD[:1]).warnings == [
        'predictions[…].verbs: unknown key, not looked at (1 times); the nearest known key is "verb"'
    ]


def test_graphs_with_roles_against_frames(check):
    """Scoring takes both; a fault leads into the graph."""
    person = {"id": 0, "category": "person", "roles": [{"role": "pose", "value": "sitting"}]}
    graphs = [{"image_id": "A", "objects": [person]}]
    assert check(graphs, GOLD[:1]).faults == check(GOLD[:1], graphs).faults == []
    strange = [{"image_id": "X", "objects": [person]}, {"image_id": "Y", "objects": [{**person, "category": ""}]}]
    found = check([*graphs, *strange], GOLD[:1])
    assert [fault.pointer for fault in found.faults] == ["/2/objects/0/category", "/1"]
    lost = [{"image_id": "A", "objects": [{**person, "category": ""}]}]
    found = check(lost, GOLD[:1])  # the frame may be that of the object
    assert len(found.faults) == 1 and not any("without a prediction" in words for words in found.warnings)


def test_limits_and_archives(file, tmp_path):
    path = file("p.jsonl", GOLD)
    [fault] = check_file(path, limits=Limits(rows=3), role_values=Options()).faults
    assert "at most 3 rows (the limit `rows`)" in fault
    faults = check_file(file("f.jsonl", [{"frame_id": n} for n in range(9)]), limits=Limits(faults=2)).faults
    assert len(faults) == 3 and "more; the rest is not listed" in faults[2]
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr("p.jsonl", '{"frame_id": 5}')
    fault = check_file(tmp_path / "p.zip").faults[0]
    assert (fault.member, fault.line, fault.pointer) == ("p.jsonl", 1, "/0/kind")


def test_very_many_faults_in_a_row(check):
    """10,000 of them are listed; then the row goes whole."""
    found = check([{**GOLD[1], "roles": [1] * 30_000}])
    assert len(found.faults) == 10_001
    assert found.faults[-1].endswith("expected fewer than 10,000 faults in a row, got 10,000 or more")


@pytest.mark.parametrize("data", ["", "[]", "\n"])
def test_nothing(check, data):
    for references in (None, GOLD):
        [fault] = check([data], references, role_values=Options()).faults
        assert fault == "expected at least one frame, got none"
    [fault] = check([data], GOLD).faults
    assert "got none" in fault


def test_pictures_are_refused(check, tmp_path):
    with pytest.raises(SgevalError, match="images: expected none, since frames are compared without, got"):
        check(GOLD, images=tmp_path)


def test_on_the_command_line(file):
    path, gold = file("p.jsonl", [GOLD[0], {**GOLD[1], "kind": 5}]), file("g.jsonl", GOLD)
    ended = CliRunner().invoke(app, ["validate", str(path), "--references", str(gold), "--json"])
    found = json.loads(ended.stdout)
    assert ended.exit_code == 2 and found["counts"] == {"rows": 2, "frames": 1}
    assert [(fault["pointer"], fault["line"]) for fault in found["faults"]] == [("/1/kind", 2)]
    ended = CliRunner().invoke(app, ["validate", str(gold), "--references", str(gold)])
    assert ended.exit_code == 0 and "no faults; 4 rows, 4 frames" in ended.output.replace("\n", "")
