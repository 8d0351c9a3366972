"""What strangers hand in as predictions: refused in one line each, or read to the end, with little memory and no trace."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from archive_attacks_kit import ZIPS, empty_members
from archive_kit import tree, zip_of
from submission_kit import FILES, OWN_ZIPS, SOUND
from typer.testing import CliRunner

from sgeval.check import check_file
from sgeval.cli.app import app
from sgeval.data.source import read_source
from sgeval.errors import SgevalError
from sgeval.limits import Limits
from sgeval.runs import read_run

ROWS = SOUND + b"\n" + SOUND.replace(b'"a"', b'"b"') + b"\n"
TIGHT = {"bytes": 100_000_000, "rows": 1000, "commas": 1_000_000, "line_bytes": 10_000_000}
BOUNDED: dict[str, tuple[bytes, dict[str, int], str]] = {
    # the bytes, the limits, what is said
    "ten million numbers": (b"[" + b"1," * 10_000_000 + b"1]", TIGHT, "at most 1,000,000 commas (the limit `commas`)"),
    "ten million objects": (b"[" + b"{}," * 10_000_000 + b"1]", TIGHT, "got 10,000,000 or more"),
    "ten million lines": (b"{}\n" * 10_000_000, TIGHT, "at most 1,000 rows (the limit `rows`), got 1,001 or more"),
    "ten million objects in a line": (
        b'{"objects": [' + b"{}," * 10_000_000 + b"1]}",
        TIGHT,
        "line 1: expected at most 10,000,000 bytes (the limit `line_bytes`)",
    ),
    "three million objects in a line": (
        b'{"objects": [' + b"{}," * 3_000_000 + b"1]}",
        TIGHT,
        "line 1: expected at most 1,000,000 commas",
    ),
    "a line without end": (b" " * 20_000_000, TIGHT, "the limit `line_bytes`"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("submissions")


@pytest.fixture(scope="module")
def told(place):
    """What one child with 512 MB says of all files, by name."""
    asked = {}
    files = place / "files"
    files.mkdir()
    for number, (name, (data, _, _)) in enumerate(FILES.items()):
        asked[name] = [files / f"{number}.jsonl", None]
        asked[name][0].write_bytes(data)
    for number, (name, (data, limits, _)) in enumerate(BOUNDED.items()):
        asked[f"limit: {name}"] = [files / f"limit{number}.json", limits]
        asked[f"limit: {name}"][0].write_bytes(data)
    huge = place / "huge.jsonl"
    with huge.open("wb") as file:
        file.truncate(3 * 2**30)  # of no room on the disk
    asked["limit: three gigabytes"] = [huge, None]
    for number, (name, (_, make, _)) in enumerate(ZIPS.items()):
        asked[f"attack: {name}"] = [make(files / f"attack{number}.zip"), None]
    for number, (name, (make, _)) in enumerate(OWN_ZIPS.items()):
        asked[f"zip: {name}"] = [make(files / f"own{number}.zip"), None]
    scratch = place / "scratch"
    scratch.mkdir()
    before = tree(files)
    child = subprocess.run(
        [sys.executable, Path(__file__).with_name("submission_child.py")],
        input=json.dumps({name: [str(path), limits] for name, (path, limits) in asked.items()}),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=place,
        env={**os.environ, "TMPDIR": str(scratch), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert child.returncode == 0, child.stderr[-2000:]
    found = json.loads(child.stdout)
    assert tree(files) == before and list(scratch.iterdir()) == [] and {*place.iterdir()} == {files, scratch, huge}
    assert {path for path in found.pop("") if not path.startswith(str(scratch))} == set()
    assert found.keys() == asked.keys() and len(found) > 200
    return found


def messages(outcome):
    """The faults of a file that was refused: each one line, whoever asked."""
    code, out, err = outcome
    assert code == 2 and "Traceback" not in err, outcome
    faults = json.loads(out)["faults"] if out else [{"pointer": "", "message": err.strip()}]
    assert faults
    for fault in faults:
        assert fault["message"].isprintable() and len(fault["message"]) < 700, fault
    return faults


@pytest.mark.parametrize("name", FILES)
def test_a_file(told, name):
    """Exit code 2, with the fault and its pointer; no other fault is made up."""
    _, words, pointer = FILES[name]
    found = [(fault["pointer"], fault["message"]) for fault in messages(told[name])]
    assert any(words in message and pointer in (None, where) for where, message in found), found[:5]
    assert len(found) <= (10_000 if "ten thousand" in name else 3)


@pytest.mark.parametrize("name", ZIPS)
def test_an_archive_that_attacks(told, name):
    [fault] = messages(told[f"attack: {name}"])
    assert ZIPS[name][2] in fault["message"]


@pytest.mark.parametrize("name", OWN_ZIPS)
def test_another_archive(told, name):
    [fault] = messages(told[f"zip: {name}"])
    assert OWN_ZIPS[name][1] in fault["message"]


@pytest.mark.parametrize("name", BOUNDED)
def test_more_than_a_limit(told, name):
    [fault] = messages(told[f"limit: {name}"])
    assert BOUNDED[name][2] in fault["message"]


def test_more_than_is_read_anywhere(told):
    [fault] = messages(told["limit: three gigabytes"])
    assert fault["message"] == "expected at most 2,147,483,648 bytes (the limit `bytes`), got 3,221,225,472"


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"bytes": 300}, "expected at most 300 bytes (the limit `bytes`), got "),
        ({"rows": 1}, "expected at most 1 rows (the limit `rows`), got 2 or more"),
        ({"objects": 1}, "row 0: expected at most 1 objects in a graph (the limit `objects`), got 2 or more"),
        ({"relations": 0}, "row 0: expected at most 0 relations in a graph (the limit `relations`), got 1 or more"),
        ({"all_relations": 1}, "expected at most 1 relations in all graphs (the limit `all_relations`), got 2 or more"),
        ({"line_bytes": 50}, "line 1: expected at most 50 bytes (the limit `line_bytes`), got 51 or more"),
        ({"commas": 3}, "line 1: expected at most 3 commas (the limit `commas`), got "),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("form", ["lines", "list", "zip"])
def test_each_limit(tmp_path, form, limits, words):
    """A list has no lines; a zip is smaller than what it holds."""
    if form == "zip":
        path = zip_of(tmp_path / "p.zip", [("p.jsonl", ROWS)])
    else:
        path = tmp_path / "p.jsonl"
        path.write_bytes(ROWS if form == "lines" else b"[" + ROWS.strip().replace(b"\n", b",") + b"]")
    if form == "list":
        words = words.removeprefix("line 1: ")
    found = check_file(path, limits=Limits(**limits)).faults
    if form == "list" and "line_bytes" in limits:
        assert found == []
    elif form != "zip" or "bytes" not in limits:
        [fault] = found
        assert words in fault and fault.message in fault
    assert check_file(path).faults == []


def test_limits_of_an_archive(tmp_path):
    path = zip_of(tmp_path / "p.zip", [("p.jsonl", ROWS)])
    [fault] = check_file(path, limits=Limits(unpacked=100)).faults
    assert fault.message.startswith("expected at most 100 bytes (the most that is unpacked), got ")
    large = zip_of(tmp_path / "large.zip", [("p.jsonl", b"\n" * 100_000 + ROWS)])
    assert check_file(large, limits=Limits(bytes=large.stat().st_size)).faults == []
    [fault] = check_file(empty_members(tmp_path / "many.zip"), limits=Limits(members=50)).faults
    assert "expected at most 50 members, got more" in fault


def test_a_name_with_control_characters(tmp_path):
    """A terminal sees escapes, a machine the name."""
    name = "p\x1b[31m\n.jsonl"
    for data in (ROWS, b"{", b"[", b"\xff", SOUND + b"\n" + SOUND, b"PK\x03\x04", b'{"frame_id": 1}'):
        path = tmp_path / name
        path.write_bytes(data)
        out = CliRunner().invoke(app, ["validate", str(path)])
        assert "\x1b" not in out.output and "\\u001b[31m\\u000a.jsonl: " in out.output
        out = CliRunner().invoke(app, ["validate", str(path), "--json"])
        assert json.loads(out.stdout)["file"] == str(path)
    inside = zip_of(tmp_path / "p\x1b.zip", [("p.jsonl", b"{")])
    [fault] = check_file(inside).faults
    assert fault.startswith(f'{tmp_path}/p\\u001b.zip: member "p.jsonl", line 1: expected JSON')
    with pytest.raises(SgevalError, match=r"none\\u001b: "):
        check_file(tmp_path / "none\x1b")


@pytest.mark.parametrize("row", [b"1", SOUND.replace(b'"bbox"', b'"box"')], ids=["no row", "no box"])
def test_more_faults_than_are_listed(tmp_path, row):
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"".join(row.replace(b'"a"', b'"%d"' % number) + b"\n" for number in range(9)))
    found = check_file(path, limits=Limits(faults=3)).faults
    assert len(found) == 4 and found[-1] == "expected at most 3 faults, got more; the rest is not listed"


def test_strange_keys_are_told_and_kept(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_bytes(SOUND[:-1] + b', "__proto__": {"image_id": "x"}, "constructor": 1}')
    found = check_file(path)
    assert found.faults == [] and len(found.warnings) == 2


def test_one_broken_line_hides_no_other(tmp_path):
    """A doubled key, a line that is none, NaN and a label: each at its place, by row and line."""
    path = tmp_path / "p.jsonl"
    lines = [SOUND, b'{"image_id": "b", "image_id": "b"}', b"", b"{", b'{"image_id": "c", "extra": {"x": NaN}}', SOUND]
    path.write_bytes(b"\n".join(lines))
    found = [(fault.pointer, fault.line) for fault in check_file(path).faults]
    assert found == [("/1/image_id", 2), ("/2", 4), ("/3/extra/x", 5), ("/4/image_id", 6)]


class TestFC85:
    """A zip with a folder at its top, a relation of length two, a missing image and a NaN: four faults in one answer."""

    @pytest.fixture
    def files(self, tmp_path):
        rows = [SOUND.replace(b'{"subject_id": 0, "object_id": 1, "predicate": "on"}', b"[0, 1]")]
        rows.append(SOUND.replace(b'"a"', b'"b"').replace(b'"on"', b'"on", "score": NaN'))
        path = zip_of(
            tmp_path / "submission.zip", [("run7/p.jsonl", b"\n".join(rows)), ("__MACOSX/run7/._p.jsonl", b"x")]
        )
        gold = tmp_path / "gold.jsonl"
        gold.write_bytes(b"\n".join(SOUND.replace(b'"a"', name) for name in (b'"a"', b'"b"', b'"c"')))
        return path, gold

    def test_every_fault_at_once(self, files):
        path, gold = files
        found = [fault.as_dict() for fault in check_file(path, references=gold).faults]
        assert {(fault.pop("file"), fault.pop("member")) for fault in found} == {(str(path), "run7/p.jsonl")}
        assert found == [
            {"pointer": "", "message": 'expected the file at the top of the archive, got it in the folder "run7"'},
            {
                "line": 1,
                "pointer": "/0/relations/0",
                "message": "expected an object with subject_id, object_id and predicate, got [0, 1]",
            },
            {"line": 2, "pointer": "/1/relations/0/score", "message": "expected a finite number, got NaN"},
            {"pointer": "", "message": 'expected a graph with the image_id "c" of the references, got none'},
        ]

    def test_scoring_refuses_the_folder(self, files):
        with pytest.raises(
            SgevalError, match='expected the file at the top of the archive, got it in the folder "run7"'
        ):
            read_source(files[0])


class TestHonestArchives:
    @pytest.mark.parametrize("name", ["p.jsonl", "p.json", "P.NDJSON"])
    def test_read_as_the_file_in_it(self, tmp_path, name):
        path = zip_of(tmp_path / "p.ZIP", [("__MACOSX/._p", b"x"), (name, ROWS)])
        plain = tmp_path / "p.jsonl"
        plain.write_bytes(ROWS)
        assert read_source(path) == read_source(plain) and len(read_source(path)) == 2
        found = check_file(path)
        assert found.faults == [] and found.counts == check_file(plain).counts

    @pytest.mark.parametrize("at", [8, 257])
    @pytest.mark.parametrize("word", ["WEBP", "ustar"])
    def test_words_in_rows_say_nothing_of_the_file(self, tmp_path, word, at):
        path = tmp_path / "p.jsonl"
        path.write_bytes(b'{"k":"' + b"x" * (at - 6) + word.encode() + b'", ' + SOUND[1:])
        assert check_file(path).faults == []

    def test_faults_name_the_file_in_it(self, tmp_path):
        path = zip_of(tmp_path / "p.zip", [("p.jsonl", b"x")])
        with pytest.raises(SgevalError) as caught:
            read_source(path)
        assert f'{path}: member "p.jsonl", line 1: expected JSON' in str(caught.value)
        [fault] = check_file(path).faults
        assert fault.startswith(f'{path}: member "p.jsonl", line 1: expected JSON') and fault.line == 1

    def test_answers_and_videos(self, tmp_path):
        row = b'{"video_id": "v", "answer": {"objects": [], "relationships": []}}'
        path = zip_of(tmp_path / "p.zip", [("p.jsonl", row)])
        assert check_file(path, kind="video", format="answers").faults == []
        assert read_source(path, "answers", kind="video")[0].video_id == "v"
        [fault] = check_file(
            zip_of(tmp_path / "q.zip", [("p.jsonl", b'{"answer": 1}')]), kind="video", format="answers"
        ).faults
        assert "expected" in fault.message and "/tmp" not in fault.message


@pytest.mark.parametrize("metric", ["ssg_role_values", "svg2_temporal_accuracy"])
def test_score_takes_a_zip(tmp_path, metric):
    """Rows of frames, and graphs of videos: the result is that of the file in it."""
    if metric == "ssg_role_values":
        row = {"frame_id": "f", "kind": "object", "object_id": 1, "roles": [{"role": "colour", "value": "red"}]}
        more = []
    else:
        relation = {"subject_id": 0, "object_id": 1, "predicate": "by", "spans": [{"start": 0, "end": 1}]}
        objects = [{"id": number, "category": "dog"} for number in range(2)]
        row = {"video_id": "v", "duration": 4, "objects": objects, "relations": [relation]}
        more = ["--judge", "exact"]
    gold = tmp_path / "gold.jsonl"
    gold.write_text(json.dumps(row))
    zipped = zip_of(tmp_path / "gold.zip", [("gold.jsonl", gold.read_bytes())])
    results = []
    for path in (gold, zipped):
        out = tmp_path / f"run{len(results)}"
        given = ["--predictions", str(path), "--references", str(gold), "--out", str(out), *more]
        outcome = CliRunner().invoke(app, ["score", metric, *given])
        assert outcome.exit_code == 0, outcome.output
        results.append(read_run(out).result)
    assert results[0] == results[1]
