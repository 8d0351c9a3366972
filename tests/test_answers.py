"""Answers of models in the paper's JSON form: what is whole is read, what is not is counted, nothing is guessed."""

import json
import random
from pathlib import Path

import jsonschema
import pytest
from temporal_kit import graph, relation

import sgeval.schemas
from sgeval.errors import InvalidInput, SgevalError
from sgeval.readers.answers import answer_graph, graphs_of_answers, read_answer, read_answers, with_own_ids
from sgeval.temporal import svg2_temporal_accuracy

ANSWER = {
    "objects": [
        {"object 1": "dog", "attributes": ["brown", "wet"]},
        {"object 2": "ball", "attributes": []},
        {"object 3": "grass"},
    ],
    "relationships": [
        [1, "chasing", 2, [[3, 7], [11, 12]]],
        [2, "lying on", 3, [[0, 2]], "spatial"],
        [-1, "follows", 1, [[0, 12]]],
    ],
}
TEXT = json.dumps(ANSWER)
CUT = TEXT.index('[-1, "follows"')


def same_as_whole(found):
    return (found.objects, found.relations) == (read_answer(ANSWER).objects, read_answer(ANSWER).relations)


def test_whole_answers():
    found = read_answer(TEXT)
    assert found.objects == {1: ("dog", ("brown", "wet")), 2: ("ball", ()), 3: ("grass", ())}
    assert found.relations[0] == (1, "chasing", 2, ((3.0, 7.0), (11.0, 12.0)), None)
    assert found.relations[1][-1] == "spatial" and found.relations[2][0] == -1
    assert (found.repairs, found.n_lost) == ([], 0)
    assert same_as_whole(read_answer(json.dumps(ANSWER, indent=2)))


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"```json\n{TEXT}\n```", ["fence"]),
        (f"```\n{TEXT}```", ["fence"]),
        (f"```json\n{TEXT}", ["fence"]),  # the fence was never closed
        (f"Sure! Here it is:\n```json\n{TEXT}\n```\nHope it helps.", ["fence"]),
        (f"Here is the graph: {TEXT} I hope it helps.", ["prose"]),
    ],
)
def test_wrapped_answers(text, repairs):
    found = read_answer(text)
    assert same_as_whole(found) and (found.repairs, found.n_lost) == (repairs, 0)


def test_cut_off_in_the_middle():
    found = read_answer(TEXT[: CUT + 8])
    assert len(found.objects) == 3 and len(found.relations) == 2
    assert (found.repairs, found.n_lost) == (["cut off"], 1)


def test_cut_off_at_any_place_never_invents():
    whole = read_answer(ANSWER)
    for end in range(len(TEXT)):
        found = read_answer(TEXT[:end])
        assert found.objects.items() <= whole.objects.items()
        assert found.relations == whole.relations[: len(found.relations)]
        assert found.repairs


@pytest.mark.parametrize(
    ("spoil", "n_objects", "n_relations"),
    [
        (('"chasing", 2', '"chasing, 2'), 3, 2),  # a quote is missing: that entry alone is lost
        (('"ball", "attributes": []', '"ball" "attributes": []'), 2, 3),
        (("[[0, 2]]", "[[0, 2]"), 3, 2),
        (("[[0, 2]]", "[[0, NaN]]"), 3, 2),
    ],
)
def test_one_spoilt_entry(spoil, n_objects, n_relations):
    assert spoil[0] in TEXT
    found = read_answer(TEXT.replace(*spoil, 1))
    assert (len(found.objects), len(found.relations)) == (n_objects, n_relations)
    assert found.repairs == ["spoilt entry"] and found.n_lost >= 1


@pytest.mark.parametrize(
    ("objects", "kept", "lost"),
    [
        ([{"object 1": "dog"}, {"object 1": "cat"}], {1: ("dog", ())}, 1),  # a number twice: the first stays
        ([{"object 1": ""}], {}, 1),
        ([{"label": "dog"}], {}, 1),
        ([{"object 1": "dog", "object 2": "cat"}], {}, 1),
        (["dog"], {}, 1),
        ([{"object_4": "dog"}, {"object5": "cat"}], {4: ("dog", ()), 5: ("cat", ())}, 0),
        ([{"object 1": "dog", "attributes": ["wet", 3, " "]}], {1: ("dog", ("wet",))}, 2),
        ([{"object 1": "dog", "attributes": "wet"}], {1: ("dog", ("wet",))}, 0),
    ],
)
def test_objects(objects, kept, lost):
    found = read_answer({"objects": objects})
    assert (found.objects, found.n_lost) == (kept, lost)


@pytest.mark.parametrize(
    ("entry", "spans", "lost"),
    [
        ([1, "on", 2, [[0, 1], ["a", 2]]], ((0.0, 1.0),), 1),
        ([1, "on", 2, []], (), 0),
        ([1, "on", 2, [3, 7]], ((3.0, 7.0),), 0),  # one span without a list around it
        ([1, "on", 2, [[7, 3]]], ((7.0, 3.0),), 0),  # kept: it overlaps with nothing
        ([1, "on", 2, [["a", "b"]]], None, 2),
        ([1, "on", 2], None, 1),
        (["1", "on", 2, [[0, 1]]], None, 1),
        ([True, "on", 2, [[0, 1]]], None, 1),
        ([1, "", 2, [[0, 1]]], None, 1),
        ([1, "on", 2, "0-1"], None, 1),
        ({"subject": 1}, None, 1),
        ([1, "on", 2, [[0, 1e400]]], None, 2),
    ],
)
def test_relations(entry, spans, lost):
    found = read_answer({"objects": [], "relationships": [entry]})
    assert [row[3] for row in found.relations] == ([] if spans is None else [spans])
    assert found.n_lost == lost


DRAFT = json.dumps({"objects": [{"object 1": "cat"}], "relationships": [[1, "under", -1, [[0, 1]]]]})
TEMPLATE = '{"objects": [], "relationships": []}'


@pytest.mark.parametrize(
    ("text", "repairs", "lost"),
    [
        (f"<think>perhaps {DRAFT}</think>\n{TEXT}", ["thinking"], 0),  # thoughts are no answer
        (f"perhaps {DRAFT} no</think>{TEXT}", ["thinking"], 0),  # the opening tag was part of the prompt
        (f'<think>maybe {{"objects": []}}</think>```json\n{TEXT}\n```', ["thinking", "fence"], 0),
        (f"First try: ```json\n{DRAFT}\n``` Better: ```json\n{TEXT}\n```", ["fence", "several answers"], 1),
        (f"{DRAFT}\n{TEXT}", ["several answers"], 1),
        (f"{TEXT} I repeat: {TEXT}", [], 0),
        (f"The format is {TEMPLATE}. Here: {TEXT}", ["prose"], 0),  # there was nothing in it to lose
        (f"{TEXT} The format was {TEMPLATE}.", ["prose"], 0),
        (f"[{TEXT}]", ["list around it"], 0),
    ],
)
def test_the_last_answer_counts(text, repairs, lost):
    found = read_answer(text)
    assert same_as_whole(found) and (found.repairs, found.n_lost) == (repairs, lost)


def test_two_answers_are_never_mixed():
    """Objects in one, relationships in the other: the last one alone, the other is lost."""
    objects, relations = ({name: ANSWER[name]} for name in ("objects", "relationships"))
    found = read_answer(f"{json.dumps(objects)} and {json.dumps(relations)}")
    assert found.objects == {} and len(found.relations) == 3
    assert (found.repairs, found.n_lost) == (["several answers"], 1)
    # A last answer that breaks off before its first entry leaves the one before it.
    found = read_answer(f'{TEXT} Or rather: {{"objects": [{{"obj')
    assert same_as_whole(found) and found.n_lost == 0
    # One that breaks off later counts, as far as it goes.
    found = read_answer(f"{TEXT} Or rather: {DRAFT[:-8]}")
    assert found.objects == {1: ("cat", ())} and found.relations == []
    assert (found.repairs, found.n_lost) == (["cut off", "several answers"], 2)


def test_thoughts_without_an_end():
    found = read_answer(f"<think>perhaps {TEXT}")
    assert (found.objects, found.repairs) == ({}, ["thinking", "no answer"])


@pytest.mark.parametrize("text", ["", "I cannot help with that.", "null", "{}", "{'objects", "{'objects': nothing"])
def test_nothing_to_read_is_said(text):
    assert read_answer(text).repairs[-1] == "no answer"


PYTHON = repr(json.loads(TEXT))


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (PYTHON, ["quotes"]),
        (f"Sure, here's the graph:\n{PYTHON}\nHope it helps", ["prose", "quotes"]),
        (f"It's this:\n```python\n{PYTHON}\n```", ["fence", "quotes"]),
        (f"<think>{{'objects': []}}</think>{PYTHON}", ["thinking", "quotes"]),
        (PYTHON.replace("[[", "([").replace("]]", "])"), ["quotes"]),
    ],
)
def test_answers_in_the_quotes_of_python(text, repairs):
    """FC56: salvaged, each repair counted; the entries are those of the same answer in JSON."""
    found, whole = read_answer(text), read_answer(TEXT)
    assert (found.objects, found.relations, found.n_lost) == (whole.objects, whole.relations, 0)
    assert whole.objects and whole.relations and found.repairs[: len(repairs)] == repairs


def test_parts_of_answers_in_the_quotes_of_python():
    """Both kinds of quotes in one answer, escapes, null; a spoilt entry and one that breaks off are lost and counted."""
    text = """{'objects': [{'object 1': "man's hat", 'attributes': None}, {'object 2': 'bird\\'s "nest"'}]}"""
    assert read_answer(text).objects == {1: ("man's hat", ()), 2: ('bird\'s "nest"', ())}
    found = read_answer(
        "{'objects': [{'object 1': 'man's hat'}, {'object 2': 'dog'}], 'relationships': [[1, 'on', 2, [[0,"
    )
    assert (found.objects, found.relations, found.n_lost) == ({2: ("dog", ())}, [], 2)
    assert found.repairs == ["quotes", "spoilt entry", "cut off"]
    found = read_answer("{'objects': [{'object 1': __import__('os')}, {'object 2': 'a' * 9}, {'object 3': 'dog'}]}")
    assert list(found.objects) == [3] and found.n_lost == 2


def test_what_is_lost_of_whole_json_is_a_repair_too():
    """Numbers in quotes are no numbers; `Object 1` is read, and said to be odd."""
    found = read_answer('{"objects": [{"Object 1": "dog"}], "relationships": [["1", "on", "-1", [[0, 1]]]]}')
    assert (found.objects, found.relations, found.n_lost) == ({1: ("dog", ())}, [], 1)
    assert found.repairs == ["capital", "spoilt entry"]


def test_many_unread_answers_are_told(recwarn):
    """More than one of ten. 2 of 20 is no more than that."""
    for n, words in ((2, None), (3, "in 3 of 20 answers nothing could be read")):
        rows = [{"video_id": f"v{k}", "answer": "no" if k < n else TEXT} for k in range(20)]
        graphs_of_answers(rows, "said.jsonl", "")
        told = [str(each.message) for each in recwarn.list]
        assert not told if words is None else words in told[0] and "n_unread_answers" in told[0]


def test_texts_without_an_answer():
    for text in ("", "I cannot help with that.", "{}", "[]", "null", "```json\n```", '{"objects": 3}'):
        found = read_answer(text) if text != "null" else read_answer("null")
        assert (found.objects, found.relations) == ({}, [])
    with pytest.raises(SgevalError, match="expected a text, or an object with objects and relationships, got 3"):
        read_answer(3)
    with pytest.raises(SgevalError, match="expected at most 4,000,000 characters, got 4,000,001"):
        read_answer("x" * 4_000_001)


def test_hostile_texts_end_soon_and_do_nothing():
    for text in (
        "[" * 100_000,
        '{"objects": [' + "[" * 50_000,
        '{"objects": [' + '{"object' * 50_000,
        '{"objects": [], "relationships": [' + '[1, "' * 50_000,
        "```" * 100_000,
        '{"objects": [{"object 1": ' + "9" * 10_000 + "}]}",
        '{"objects": [{"object 1": "\\ud800"}]}',
        '{"objects": [' * 300_000,
        '{"objects": [' + '{"objects":' * 300_000,
        "<think>" * 500_000,
        "</think>" * 500_000,
        "{'objects': " + "'\\" * 490_000,
        "{'objects': '" + "\\" * 900_001,
        "{'objects" * 110_000,
        "{'objects': [" + "(" * 900_000,
        "[ { " * 1_000_000,
        "{'objects': [" + "\"'" * 400_000,
    ):
        found = read_answer(text)
        assert found.objects == {} and found.relations == []
        json.dumps([found.repairs, found.n_lost])


def test_of_very_many_spoilt_entries_the_rest_is_lost():
    """101 spoilt entries, then a whole one that is not looked at: 102 lost."""
    text = '{"objects": [' + '{"object 1": oops}, ' * 101 + '{"object 2": "dog"}], "relationships": []'
    found = read_answer(text)
    assert (found.objects, found.n_lost) == ({}, 102)
    found = read_answer(text.replace('{"object 1": oops}, ', "", 1))
    assert (list(found.objects), found.n_lost) == ([2], 100)


def test_random_damage_never_invents():
    """An entry that is read stands in the text, word for word, but for the damage."""
    rng = random.Random(5)
    labels = {"dog", "ball", "grass"}
    for _ in range(400):
        at = rng.randrange(len(TEXT))
        found = read_answer(TEXT[:at] + rng.choice('[]{}",: x1') + TEXT[at + 1 :])
        untouched = [label for label, _ in found.objects.values() if label in labels]
        assert len(untouched) >= len(found.objects) - 1


def test_the_schema_accepts_what_is_read_without_loss():
    schema = json.loads((Path(sgeval.schemas.__file__).parent / "video_answer.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    assert validator.is_valid(ANSWER)
    for broken in (
        {"objects": [{"object 1": ""}], "relationships": []},
        {"objects": [{"label": "dog"}], "relationships": []},
        {"objects": [], "relationships": [[1, "on", 2]]},
        {"objects": [], "relationships": [["1", "on", 2, [[0, 1]]]]},
        {"objects": [], "relationships": [[1, "on", 2, [["a", 1]]]]},
    ):
        assert not validator.is_valid(broken) and read_answer(broken).n_lost > 0


class TestGraphs:
    def graph(self, **more):
        faults = []
        found = answer_graph({"video_id": "v", "answer": TEXT, **more}, (0,), faults)
        assert not faults
        return found

    def test_seconds_are_half_open(self):
        found = self.graph()
        assert found.relations[0].spans == ((3.0, 8.0), (11.0, 13.0))
        assert found.relations[0].raw_spans == ((3.0, 7.0), (11.0, 12.0))
        assert (found.span_unit, found.span_end) == ("index_1fps", "inclusive")

    def test_long_videos_are_sampled_more_rarely(self):
        """256 seconds in 128 frames: index 3 is second 6, and lasts to 8."""
        assert self.graph(seconds_per_index=2).relations[0].spans == ((6.0, 16.0), (22.0, 26.0))

    def test_numbers_become_ids(self):
        gold = graph("v", [], [])
        reference = answer_reference([11, 5, 8])
        found = with_own_ids(self.graph(), reference)
        assert [item.id for item in found.objects] == [11, 5, 8]
        assert [(item.subject_id, item.object_id) for item in found.relations] == [(11, 5), (5, 8), (-1, 11)]
        assert gold["objects"] == []

    def test_given_ids_in_the_order_they_were_seen(self):
        found = with_own_ids(self.graph(given=[8, 11]), answer_reference([11, 5, 8]))
        # object 3 was never given: its id is one that no object has
        assert [item.id for item in found.objects] == [8, 11, 15]
        assert found.relations[1].object_id == 15

    @pytest.mark.parametrize(
        ("row", "words"),
        [
            ({"answer": "{}"}, "[0]: expected an object with video_id and answer, got"),
            ({"video_id": "v"}, "[0]: expected an object with video_id and answer, got"),
            ({"video_id": True, "answer": ""}, "[0].video_id: expected a text or a whole number, got true"),
            (
                {"video_id": "v", "answer": "", "given": [1, 1]},
                "[0].given: expected a list of ids, each once, got [1, 1]",
            ),
            (
                {"video_id": "v", "answer": "", "seconds_per_index": 0},
                "[0].seconds_per_index: expected a number above 0",
            ),
            ({"video_id": "v", "answer": 5}, "[0].answer: expected a text, or an object"),
        ],
    )
    def test_rows_that_are_none(self, row, words):
        faults = []
        assert answer_graph(row, (0,), faults) is None
        assert len(faults) == 1 and words in faults[0]


def answer_reference(ids):
    from sgeval.records import Object, VideoGraph

    return VideoGraph("v", tuple(Object(number, f"label {number}") for number in ids))


def test_files_are_read_and_scored(tmp_path):
    path = tmp_path / "answers.jsonl"
    rows = [
        {"video_id": "v", "answer": f"```json\n{TEXT}\n```", "given": [4, 7, 9]},
        {"video_id": 2, "answer": TEXT[:-9]},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    answers = read_answers(path)
    spans = ((3, 8), (11, 13))
    gold = [
        {"video_id": "v", "objects": labelled([4, 7, 9]), "relations": [relation(4, "chasing", 7, *spans)]},
        {"video_id": "2", "objects": labelled([0, 1]), "relations": [relation(0, "chasing", 1, *spans)]},
    ]
    result = svg2_temporal_accuracy(answers, gold, judge="exact")
    assert (result["object_accuracy"], result["triplet_accuracy"]) == (100.0, 100.0)
    assert result["n_repaired_answers"] == 2 and result["n_lost"] == 1
    assert svg2_temporal_accuracy(rows, gold, judge="exact") == result
    with pytest.raises(InvalidInput, match=r"predictions\[1\]: expected an object with video_id and answer"):
        svg2_temporal_accuracy([rows[0], gold[1]], gold, judge="exact")
    # in the second the third object is none of the two that the annotation has
    assert result["n_unknown_objects"] == 1
    path.write_text('{"video_id": "v"}\n{"video_id": "w", "answer": 4}')
    with pytest.raises(InvalidInput) as caught:
        read_answers(path)
    assert len(caught.value.faults) == 2


def labelled(ids):
    return [{"id": number, "category": label} for number, label in zip(ids, ("dog", "ball", "grass"), strict=False)]


def test_a_relation_of_an_object_without_a_label_still_counts():
    gold = {"video_id": "v", "objects": labelled([0, 1]), "relations": [relation(0, "on", 1, (0, 3))]}
    answer = {"objects": [{"object 1": "dog"}], "relationships": [[1, "on", 2, [[0, 2]]]]}
    found = answer_graph({"video_id": "v", "answer": answer}, (0,), [])
    result = svg2_temporal_accuracy([found], [gold], judge="exact")
    assert (result["object_accuracy"], result["relation_accuracy"], result["triplet_accuracy"]) == (50.0, 100.0, 0.0)


def test_every_fault_of_a_file_at_its_row(tmp_path):
    """A line that cannot be read counts as a row."""
    path = tmp_path / "answers.jsonl"
    path.write_text('{"video_id": "v", "answer": 1}\n{\n\n{"video_id": "", "answer": "x"}\n')
    with pytest.raises(InvalidInput) as caught:
        read_answers(path)
    line, *rows = caught.value.faults
    assert line.startswith(f"{path}, line 2: expected JSON")
    assert [fault.pointer for fault in rows] == ["/0/answer", "/2/video_id"]
    assert rows[1] == '[2].video_id: expected a text or a whole number, got ""'
