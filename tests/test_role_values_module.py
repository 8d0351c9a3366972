"""The `evaluate` face of the role values: the same numbers as the core, exactly, and the same refusals; card and Space."""

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import evaluate
import pytest
from ssg_kit import DATA
from ssg_rows_kit import contact, frame, random_rows

import sgeval
from sgeval.errors import InvalidInput, SgevalError
from sgeval.hub.space import one_a_line
from sgeval.readers.ssg import read_ssg
from sgeval.situation import CONFIGS, Options

pytestmark = pytest.mark.filterwarnings("ignore:predictions. have nothing")
FOLDER = Path(sgeval.path("ssg_role_values"))
CARD = (FOLDER / "README.md").read_text(encoding="utf-8")
QUESTIONS = [
    {"question_id": 1, "task": "verb", "options": ["hold", "wipe"], "answer": "wipe", "frame_id": "f"},
    {"question_id": 2, "task": None, "options": ["x", "y", "z"], "answer": 0},
    {"question_id": 3, "task": "verb", "options": ["a", "b"], "answer": 0},
]
ANSWERS = [{"question_id": 3, "answer": 10**30}, {"question_id": 2, "answer": None}, {"question_id": 1, "answer": 1}]


@pytest.fixture(scope="module")
def metric():
    return evaluate.load(sgeval.path("ssg_role_values"))


@pytest.fixture(scope="module")
def rows():
    return random_rows(4, 30)


class TestSame:
    def test_as_the_core(self, metric, rows):
        predictions, references = rows
        options = {"bootstrap": 20, "return_items": True}
        module = metric.compute(predictions=predictions, references=references, **options)
        assert module == sgeval.ssg_role_values(predictions, references, **options)
        json.dumps(module, allow_nan=False)
        metric.add_batch(references=references[:7])  # the two sides may come apart, in any order
        for row in predictions:
            metric.add(prediction=row)
        metric.add_batch(references=references[7:])
        assert {key: value for key, value in metric.compute(**options).items() if key != "items"} == {
            key: value for key, value in module.items() if key != "items"
        }

    def test_graphs(self, metric):
        gold = list(read_ssg(DATA))
        module = metric.compute(predictions=gold, references=gold)
        assert module == sgeval.ssg_role_values(gold, gold) and module["value"] == 100

    def test_questions(self):
        module = sgeval.load("ssg_role_values", "vqa")
        options = {"bootstrap": 20, "return_items": True}
        found = module.compute(predictions=ANSWERS, references=QUESTIONS, **options)
        assert found == sgeval.ssg_role_values(ANSWERS, QUESTIONS, config="vqa", **options)
        for row in ANSWERS:
            module.add(prediction=row)
        for row in QUESTIONS:
            module.add(reference=row)
        assert module.compute(**options) == found

    def test_faulty_parts_are_counted_as_in_the_core(self, metric):
        gold = [frame("A", {"a": "x"}), {"frame_id": "B"}, {**frame("C"), "roles": None}]
        said = [frame("A", {"a": "x"}), frame("C", {"a": "x"}), frame("D", {"a": "x"})]
        module = metric.compute(predictions=said, references=gold, on_invalid="skip")
        assert module == sgeval.ssg_role_values(said, gold, on_invalid="skip")
        assert (module["n_invalid"], module["n_unknown_frames"], module["value"]) == (2, 1, 100)
        metric.add_batch(predictions=said, references=gold, on_invalid="skip")
        assert metric.compute() == module
        questions = sgeval.load("ssg_role_values", "vqa")
        broken = [*QUESTIONS, {"question_id": 9, "options": [], "answer": 0}, {}]
        given = [*ANSWERS, {"question_id": 9, "answer": 0}]
        found = questions.compute(predictions=given, references=broken, on_invalid="skip")
        assert (
            found == sgeval.ssg_role_values(given, broken, config="vqa", on_invalid="skip") and found["n_invalid"] == 2
        )

    def test_refusals(self, metric):
        gold = [frame("A", {"a": "x"})]
        with pytest.raises(InvalidInput, match=r"references\[0\]\.roles: expected a list of"):
            metric.add_batch(references=[{**gold[0], "roles": None}])
        with pytest.raises(InvalidInput, match='expected a frame of the references, got the object "1" in frame "B"'):
            metric.compute(predictions=[frame("B", {"a": "x"})], references=gold)
        with pytest.raises(SgevalError, match='did you mean "verb_setting"'):
            metric.compute(predictions=gold, references=gold, verb_seting="gold")
        with pytest.raises(SgevalError, match="config: expected one of roles, gold_verb, vqa"):
            evaluate.load(sgeval.path("ssg_role_values"), "top1")
        metric.add_batch(references=gold)
        metric.add_batch(references=gold)
        with pytest.raises(InvalidInput, match="expected each person and object once"):
            metric.compute(predictions=gold)
        with pytest.raises(SgevalError, match="references: expected at least one, got none"):
            metric.compute()


class TestCombine:
    def test_two_configs_on_the_same_input(self, metric, rows):
        predictions, references = rows
        pair = evaluate.combine({"top1": metric, "gold": sgeval.load("ssg_role_values", "gold_verb")})
        found = pair.compute(predictions=predictions, references=references)
        for name, setting in (("top1", "top1"), ("gold", "gold")):
            alone = sgeval.ssg_role_values(predictions, references, verb_setting=setting)
            assert {key: found[f"{name}_{key}"] for key in alone} == alone
        assert found["top1_verb_value"] < found["gold_verb_value"]

    def test_with_another_metric_whose_options_are_passed_over(self, metric):
        gold = [contact("f", "hold", {"a": "x"})]
        with pytest.warns(UserWarning, match="ssg_role_values: passes over model, of another metric"):
            found = evaluate.combine([metric]).compute(predictions=gold, references=gold, model="demo")
        assert found["value"] == 100


PROCESS = """
import json, sys, warnings
sys.path.insert(0, sys.argv[3])
import evaluate, sgeval
from ssg_rows_kit import random_rows
warnings.simplefilter("ignore")
rank = int(sys.argv[1])
metric = evaluate.load(sgeval.path("ssg_role_values"), num_process=2, process_id=rank, experiment_id="run",
                       cache_dir=sys.argv[2])
predictions, references = ([row for row in side if sum(map(ord, row["frame_id"])) % 2 == rank] for side in random_rows(4, 30))
metric.add_batch(predictions=predictions, references=references)
print(json.dumps(metric.compute(bootstrap=20)))
"""


def test_two_processes_merge_to_the_same_numbers(rows, tmp_path):
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(rank), str(tmp_path), str(Path(__file__).parent)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    outputs = [json.loads(process.communicate(timeout=240)[0].strip().splitlines()[-1]) for process in ranks]
    assert outputs == [sgeval.ssg_role_values(*rows, bootstrap=20), None]


def test_the_snippets_of_the_card_run():
    found = re.findall(r"^```python\n(.*?)^```", CARD, re.MULTILINE | re.DOTALL)
    assert found
    names: dict = {}
    exec("\n".join(found), names)
    assert names["result"]["n_frames"] == 3 and names["result"]["n_wrong_verbs"] == 1


def test_the_card_names_every_key_option_and_config(metric, rows):
    plain = metric.compute(predictions=rows[0], references=rows[1])
    kinds = re.compile("^(person|object|verb)_(?=value|role_|per_role)")  # said by pattern: `person_…`
    absent = {kinds.sub("", key) for key in plain}
    assert {key for key in absent if f"`{key}`" not in CARD} == set()
    options = {item.name for item in fields(Options)} | {"limit", "return_items", *CONFIGS}
    assert {name for name in options if f"`{name}`" not in CARD[CARD.index("## Options") :]} == set()
    asked = sgeval.ssg_role_values(ANSWERS, QUESTIONS, config="vqa")
    assert {key for key in asked if f"`{key.replace('/verb', '/TASK')}`" not in CARD} == set()


def test_the_intervals_are_those_of_the_card(metric, rows):
    plain, found = (metric.compute(predictions=rows[0], references=rows[1], bootstrap=n) for n in (0, 20))
    start = CARD.index("95 % intervals over pictures")
    told = set(re.findall("`([^` ]+)`", CARD[start : CARD.index("\n\n", start)]))
    assert told >= {"…_low", "…_high", "…_percentile_low", "…_percentile_high"}
    new = {
        key.removesuffix("_percentile_low") for key in found.keys() - plain.keys() if key.endswith("_percentile_low")
    }
    pooled = {key for key in new if not key.startswith(("person_", "object_", "verb_"))}
    named = {name for name in told if not name.startswith("…")} - {
        "frame_id",
        "per_role_…",
        "verb_accuracy",
        "accuracy",
    }
    assert {key for key in pooled if not key.startswith("per_role_")} == named
    assert new == pooled | {f"{kind}_{key}" for kind in ("person", "object", "verb") for key in pooled} | {
        "verb_accuracy"
    }


def test_the_space_computes_its_examples():
    gradio = pytest.importorskip("gradio")
    spec = importlib.util.spec_from_file_location("role_values_space", FOLDER / "app.py")
    space = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(space)
    said, gold = one_a_line(space.SAID), one_a_line(space.GOLD)
    table, frames, result = space.score_frames(said, gold, "top1")
    assert table[0] == ["value", "66.67", "100.00", "100.00", "0.00"] and table[-1][-1] == "0.00"
    assert frames[1] == ["v1/3 object 1", "color", "red", "blue", "no"] and result["n_frames"] == 3
    assert frames[3][0] == "v1/3 verb 0 and 1: hold, predicted wipe"
    assert space.score_frames(said, gold, "gold")[0][0][-1] == "100.00"
    answered, items = space.score_choices(one_a_line(space.ANSWERS), one_a_line(space.QUESTIONS))
    assert answered["accuracy"] == 50 and [item[-1] for item in items] == ["right", "wrong"]
    with pytest.raises(gradio.Error, match="predictions, line 1: expected JSON"):
        space.score_frames("{", gold, "top1")
    with pytest.raises(gradio.Error, match="references: expected at least one frame"):
        space.score_frames(said, "", "top1")
    assert isinstance(space.build(), gradio.Blocks)
