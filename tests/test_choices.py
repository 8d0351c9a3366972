"""Multiple choice: what is right, what is wrong and why, and that nothing but an option or its position is one."""

import warnings

import numpy as np
import pytest

import sgeval
from sgeval.errors import InvalidInput, SgevalError
from sgeval.situation.choices import ChoiceState, choose, parse_answers, parse_questions, state_of, summarise_choices
from sgeval.situation.options import Options


def question(number, answer, task="verb", options=("hold", "wipe", "touch"), **more):
    return {"question_id": number, "task": task, "options": list(options), "answer": answer, **more}


def answer(number, value):
    return {"question_id": number, "answer": value}


GOLD = [
    question(1, "hold"),
    question(2, 1),
    question(3, "desk", "place", ("desk", "bed")),
    question(4, 0, None, ("1", "2")),
]


def score(predictions, references=GOLD, **options):
    return sgeval.ssg_role_values(predictions, references, config="vqa", **options)


def test_texts_and_positions():
    """Three of four right; by task verb 2/2, place 0/1; the question without a task counts overall only. Guessing gets
    (1/3 + 1/3 + 1/2 + 1/2) / 4 = 5/12."""
    found = score([answer(4, "1"), answer(3, 1), answer(2, "wipe"), answer("1", 0)], return_items=True)
    assert (found["accuracy"], found["accuracy/verb"], found["accuracy/place"]) == (75, 100, 0)
    assert (found["task_accuracy"], found["chance_accuracy"]) == (50, pytest.approx(500 / 12))
    assert (found["n_questions"], found["n_tasks"]) == (4, 2)
    assert found["tasks"] == [
        {"task": "place", "n": 1, "accuracy": 0},
        {"task": "verb", "n": 2, "accuracy": 100},
        {"task": None, "n": 1, "accuracy": 100},
    ]
    assert [item["verdict"] for item in found["items"]] == ["right", "right", "wrong", "right"]
    assert found["signature"].startswith("metric:ssg_role_values|input:vqa|missing:zero|")


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (None, "n_refused"),
        ("  ", "n_refused"),
        (3, "n_out_of_range"),
        (-1, "n_out_of_range"),
        (10**30, "n_out_of_range"),
        ("I cannot tell", "n_no_option"),
        ("A", "n_no_option"),
        ("0", "n_no_option"),  # a text is an option, never a position
        ("Hold", "n_no_option"),
    ],
)
def test_what_is_wrong_and_why(given, count):
    found = score([answer(1, given)], GOLD[:1])
    counts = {
        key: value for key, value in found.items() if key.startswith("n_") and key not in ("n_questions", "n_tasks")
    }
    assert found["accuracy"] == 0 and {key for key, value in counts.items() if value} == {count}


def test_a_digit_that_is_an_option_is_that_option():
    assert score([answer(4, "1")], GOLD[3:])["accuracy"] == 100 and score([answer(4, 1)], GOLD[3:])["accuracy"] == 0


def test_missing_and_unknown():
    assert (score([answer(1, 0)], GOLD)["accuracy"], score([], GOLD)["n_missing"]) == (25, 4)
    with pytest.raises(InvalidInput, match='predictions: expected an answer to the question "2", got none'):
        score([answer(1, 0)], GOLD, missing="error")
    with pytest.raises(InvalidInput, match='predictions: expected a question of the references, got "9"'):
        score([answer(9, 0)], GOLD)
    assert score([answer(1, 0)], GOLD, limit=1)["accuracy"] == 100


@pytest.mark.parametrize(
    ("gold", "said", "words"),
    [
        ([{}], [], r"references\[0\]\.question_id: expected an id \(a text or a whole number\), got nothing"),
        (
            [question(1, 0), question("1", 0)],
            [],
            r'references\[1\]\.question_id: expected each question once, got "1" again',
        ),
        (
            [{**question(1, 0), "options": "hold"}],
            [],
            r"references\[0\]\.options: expected a list of two texts or more",
        ),
        ([question(1, 0, options=["a"])], [], r"\.options: expected a list of two texts or more"),
        ([question(1, 0, options=[1, 2])], [], r"\.options: expected a list of two texts or more"),
        ([question(1, 0, options=["a", "a "])], [], r"\.options: expected each option once"),
        ([question(1, 3)], [], r"references\[0\]\.answer: expected one of the options, or its position from 0, got 3"),
        ([question(1, None)], [], r"\.answer: expected one of the options, or its position from 0, got null"),
        ([question(1, 0, task=0.5)], [], r"\.task: expected a text, or null, got 0\.5"),
        (GOLD, [{"question_id": 1}], r"predictions\[0\]\.answer: expected one .*, or null for a refusal, got nothing"),
        (GOLD, [answer(1, True)], r"\.answer: expected one .* got true"),
        (GOLD, [answer(1, 0.0)], r"\.answer: expected one .* got 0\.0"),
        (GOLD, ["hold"], r"predictions\[0\]: expected a row \{question_id, answer\}, got \"hold\""),
        ([], [], "references: expected at least one question, got none"),
        (5, [], r"references: expected a list of rows \{question_id, task, options, answer, frame_id\}, got 5"),
    ],
)
def test_refusals(gold, said, words):
    with pytest.raises(SgevalError, match=words):
        score(said, gold)


def test_answers_to_unknown_questions_are_counted():
    """Question 5 is faulty, so its answer is no stranger; 8 and 9 were never asked."""
    gold, said = [*GOLD, question(5, 9)], [answer(name, 0) for name in (1, 5, 8, 9)]
    found = score(said, gold, on_invalid="skip")
    assert (found["n_unknown_questions"], found["n_invalid"], found["n_questions"]) == (2, 1, 4)
    assert score(said, gold, on_invalid="skip", limit=1)["n_unknown_questions"] == 0
    counts = {"n_unknown_questions": 2, "n_invalid": 1}
    merged = state_of([], counts).merge(state_of([], counts))
    assert summarise_choices(merged)["n_unknown_questions"] == 4


def test_ids_are_read_as_those_of_frames():
    """5.0 is 5; what cannot be written is refused with its place."""
    assert score([answer(5.0, 0)], [question("5", 0)])["accuracy"] == 100
    for given, words in (
        ([answer("a\ud800", 0)], r"predictions\[0\]\.question_id: expected an id"),
        ([answer(10**5000, 0)], r"predictions\[0\]\.question_id: expected an id .* got int too long to show"),
        ([answer(1, 10**5000)], r"predictions\[0\]\.answer: expected one of the options"),
        ([answer(1, "hold\ud800")], r"predictions\[0\]\.answer: expected one of the options"),
    ):
        with pytest.raises(InvalidInput, match=words):
            score(given)
    with pytest.raises(InvalidInput, match=r"references\[0\]\.options: expected a list of two texts"):
        score([], [question(1, 0, options=("a", "b\ud800"))])


def test_options_of_numpy():
    assert score([answer(1, "b")], [{**question(1, 1), "options": np.array(["a", "b"])}])["accuracy"] == 100


def test_faulty_rows_are_left_out():
    gold = [*GOLD, question(5, 9), question(1, 1)]
    found = score([answer(1, 0), answer(5, 0), answer(2, True), answer(8, 0)], gold, on_invalid="skip")
    assert (found["n_invalid"], found["n_questions"], found["accuracy"]) == (3, 4, 25)


def test_unknown_keys_are_told():
    with pytest.warns(UserWarning, match="unknown key, not looked at"):
        score([{**answer(1, 0), "anwser": 1}], GOLD[:1])


def test_intervals_are_over_pictures():
    """Two pictures, one with right and one with wrong answers: replicates are 0, 50 or 100."""
    gold = [question(number, 0, frame_id="p" if number < 20 else "q") for number in range(40)]
    said = [answer(number, int(number >= 20)) for number in range(40)]
    assert score(said, gold, bootstrap=100)["accuracy_percentile_low"] == 0
    single = [{**row, "frame_id": None} for row in gold]
    assert 30 < score(said, single, bootstrap=100)["accuracy_percentile_low"] < 50


def test_parts_merge():
    rng = np.random.default_rng(0)
    gold = [question(number, int(rng.integers(3)), f"task {rng.integers(4)}") for number in range(50)]
    values = [int(rng.integers(-1, 4)) if rng.random() < 0.8 else None for _ in gold]
    said = [answer(number, value) for number, value in enumerate(values)]
    options = Options()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = choose(parse_answers(said, options), parse_questions(gold, options), options)
    total = ChoiceState()
    for part in range(3):
        total = total.merge(state_of(found[part::3]))
    assert summarise_choices(total) == summarise_choices(state_of(found))
