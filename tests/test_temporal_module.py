"""The `evaluate` face of SVG2 temporal accuracy: the same numbers as the core, exactly, and the same refusals; card and
Space."""

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import evaluate
import jsonschema
import pytest
from temporal_kit import graph, judge_of, random_graphs, relation

import sgeval
from sgeval.errors import InvalidInput, SgevalError
from sgeval.hub.space import one_a_line
from sgeval.readers.answers import answer_graph, read_answer
from sgeval.readers.pvsg import read_pvsg
from sgeval.readers.svg2_test import read_svg2_test
from sgeval.readers.vidor import read_vidor
from sgeval.temporal import Options

FOLDER = Path(sgeval.path("svg2_temporal_accuracy"))
CARD = (FOLDER / "README.md").read_text(encoding="utf-8")
DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def metric():
    return evaluate.load(sgeval.path("svg2_temporal_accuracy"))


@pytest.fixture(scope="module")
def rows():
    return random_graphs(4, 12)


def answers(gold):
    """An answer about each graph, numbered by the objects in their order."""
    found = []
    for row in gold:
        number = {item["id"]: place for place, item in enumerate(row["objects"], 1)} | {-1: -1}
        said = {
            "objects": [{f"object {number[item['id']]}": item["category"]} for item in row["objects"]],
            "relationships": [
                [number[item["subject_id"]], item["predicate"], number[item["object_id"]], [[0, 3]]]
                for item in row["relations"]
            ],
        }
        faults = []
        text = json.dumps(said)[:-3]  # cut off
        given = {"given": [item["id"] for item in row["objects"]]} if len(found) % 2 else {}
        found.append(answer_graph({"video_id": row["video_id"], "answer": text, **given}, (0,), faults))
        assert not faults
    return found


class TestSame:
    def test_as_the_core(self, metric, rows):
        predictions, references = rows
        options = {
            "judge": "wordnet",
            "bootstrap": 20,
            "return_items": True,
            "thresholds": [0.1],
            "denominator": "predictions",
        }
        module = metric.compute(predictions=predictions, references=references, **options)
        assert module == sgeval.svg2_temporal_accuracy(predictions, references, **options)
        assert 0 < module["relation_accuracy"] < 100 and module["n_videos"] == 12
        json.dumps(module, allow_nan=False)
        metric.add_batch(references=references[:5])  # the two sides may come apart, in any order
        for row in reversed(predictions):
            metric.add(prediction=row)
        metric.add_batch(references=references[5:])
        assert metric.compute(**options) == module

    @pytest.mark.parametrize(
        ("read", "folder"), [(read_pvsg, "pvsg"), (read_vidor, "vidor"), (read_svg2_test, "svg2_test")]
    )
    def test_gold_against_itself_is_100(self, metric, read, folder):
        gold = list(read(DATA / folder))
        module = metric.compute(predictions=gold, references=gold, judge="wordnet", return_items=True)
        assert module == sgeval.svg2_temporal_accuracy(gold, gold, judge="wordnet", return_items=True)
        keys = [key for key in module if key.endswith(("_accuracy", "_accuracy_strict"))]
        assert len(keys) == 8 and all(module[key] in (100, None) for key in keys) and module["triplet_accuracy"] == 100

    def test_answers(self, metric, rows):
        said = answers(rows[1])
        options = {"judge": "wordnet", "restrict_to_given": True, "return_items": True}
        module = metric.compute(predictions=said, references=rows[1], **options)
        assert module == sgeval.svg2_temporal_accuracy(said, rows[1], **options)
        assert module["n_repaired_answers"] == module["n_videos"] and module["n_lost"] > 0

    def test_missing_numbers_and_texts_come_first(self, metric):
        bare = graph("v", ["dog"], [])
        module = metric.compute(predictions=[], references=[bare], judge="exact", missing="zero")
        assert module["object_accuracy"] == 0 and module["n_missing_videos"] == 1
        late = graph("w", ["dog", "cat"], [relation(0, "near", 1, (0, 1 / 3))], duration=1 / 3)
        assert (
            metric.compute(predictions=[bare, late], references=[bare, late], judge="exact")["relation_accuracy"] == 100
        )

    def test_attributes_with_fewer_types_than_texts(self, metric):
        row = graph("v", ["dog"], [], {0: ["brown", "small"]})
        row["objects"][0]["attribute_types"] = ["colour"]
        assert metric.compute(predictions=[row], references=[row], judge="exact")["n_attributes"] == 2

    def test_a_callable_and_open_verdicts(self, metric, rows):
        judge = judge_of({("object", "dog", "puppy"): None}, default="synonym")
        module = metric.compute(predictions=rows[0], references=rows[1], judge=judge)
        assert module == sgeval.svg2_temporal_accuracy(*rows, judge=judge) and module["judge"] == "table"
        assert module["object_accuracy"] is None and module["n_unjudged_timeout"] == 1
        assert module["object_accuracy_at_least"] < module["object_accuracy_at_most"]

    def test_faulty_parts_are_counted_as_in_the_core(self, metric, rows):
        gold = [*rows[1], {"video_id": "broken", "objects": 3}]
        gold[0] = {**gold[0], "relations": [*gold[0]["relations"], relation(0, "near", 1, (5, 2)), {"subject_id": 0}]}
        module = metric.compute(predictions=rows[0], references=gold, judge="exact", on_invalid="skip")
        assert module == sgeval.svg2_temporal_accuracy(rows[0], gold, judge="exact", on_invalid="skip")
        assert module["n_invalid"] == 3
        metric.add_batch(predictions=rows[0], references=gold, on_invalid="skip")
        assert metric.compute(judge="exact") == module

    def test_refusals(self, metric):
        gold = graph("v", ["dog", "ball"], [relation(0, "on", 1, (0, 5))])
        with pytest.raises(InvalidInput, match=r"references\[0\]\.relations\[0\]\.spans\[0\]: expected an end"):
            metric.add_batch(references=[{**gold, "relations": [relation(0, "on", 1, (5, 0))]}])
        with pytest.raises(InvalidInput, match=r'video_id: expected an id of the references, got "w"'):
            metric.compute(predictions=[gold, {**gold, "video_id": "w"}], references=[gold], judge="exact")
        with pytest.raises(InvalidInput, match='expected a graph with the video_id "v" of the references, got none'):
            metric.compute(predictions=[], references=[gold], judge="exact")
        with pytest.raises(SgevalError, match='did you mean "thresholds"'):
            metric.compute(predictions=[gold], references=[gold], threshold=0.1)
        with pytest.raises(SgevalError, match=r'judge: expected one of exact.* did you mean "wordnet"'):
            metric.compute(predictions=[gold], references=[gold], judge="wordnett")
        with pytest.raises(SgevalError, match="config: expected one of svg2_temporal_accuracy"):
            evaluate.load(sgeval.path("svg2_temporal_accuracy"), "lenient")
        metric.add_batch(references=[gold])
        metric.add_batch(references=[gold])
        with pytest.raises(InvalidInput, match="references: expected each id once"):
            metric.compute(predictions=[gold], judge="exact")
        with pytest.raises(SgevalError, match="references: expected at least one video, got none"):
            metric.compute()


def test_combined_under_two_names(metric, rows):
    pair = evaluate.combine({"one": metric, "two": sgeval.load("svg2_temporal_accuracy")})
    alone = sgeval.svg2_temporal_accuracy(*rows, judge="exact")
    found = pair.compute(predictions=rows[0], references=rows[1], judge="exact")
    assert found == {f"{name}_{key}": value for name in ("one", "two") for key, value in alone.items()}


PROCESS = """
import json, sys
sys.path.insert(0, sys.argv[3])
import evaluate, sgeval
from temporal_kit import random_graphs
rank = int(sys.argv[1])
metric = evaluate.load(sgeval.path("svg2_temporal_accuracy"), num_process=2, process_id=rank, experiment_id="run",
                       cache_dir=sys.argv[2])
predictions, references = (side[rank::2] for side in random_graphs(4, 12))
metric.add_batch(predictions=predictions, references=references)
print(json.dumps(metric.compute(judge="wordnet", bootstrap=20, return_items=True)))
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
    core = sgeval.svg2_temporal_accuracy(*rows, judge="wordnet", bootstrap=20, return_items=True)
    assert outputs == [json.loads(json.dumps(core)), None]


def test_the_snippets_of_the_card_run():
    names: dict = {}
    exec("\n".join(re.findall(r"^```python\n(.*?)^```", CARD, re.MULTILINE | re.DOTALL)), names)
    assert names["result"]["triplet_accuracy"] == 50 and names["result"]["judge"] == "wordnet"


def test_the_answer_of_the_card_passes_its_schema():
    (text,) = re.findall(r"^```json\n(.*?)^```", CARD, re.MULTILINE | re.DOTALL)
    schema = Path(sgeval.__file__).parent / "schemas" / "video_answer.schema.json"
    assert f"sgeval/schemas/{schema.name}" in CARD
    jsonschema.validate(json.loads(text), json.loads(schema.read_text(encoding="utf-8")))
    found = read_answer(text)
    assert len(found.objects) == len(found.relations) == 2 and not found.repairs and not found.n_lost


def test_the_figures_of_the_card_are_those_of_the_gold_set():
    gold = (Path(sgeval.__file__).parent / "assets" / "judge_gold" / "README.md").read_text(encoding="utf-8")
    for name in ("`exact`", "`wordnet` (circular)", "`embedding:all-MiniLM-L6-v2`"):
        (here,), (there,) = (
            [row.strip("| ").split(" | ") for row in page.splitlines() if row.startswith(f"| {name} |")]
            for page in (CARD, gold)
        )
        assert here == [*there[:4], there[5]]  # without the flips


def test_the_card_names_every_key_and_option(metric, rows):
    judge = judge_of({("object", "dog", "puppy"): None}, default="synonym")
    plain = metric.compute(predictions=rows[0], references=rows[1], judge=judge)
    absent = {re.sub("^n_unjudged_(?!pairs)[a-z]+$", "n_unjudged_REASON", key) for key in plain}
    assert {key for key in absent if f"`{key}`" not in CARD} == set()
    options = {item.name for item in fields(Options)} | {"judge", "limit", "return_items"}
    assert {name for name in options if f"`{name}`" not in CARD[CARD.index("## Options") :]} == set()
    more = metric.compute(predictions=rows[0], references=rows[1], judge="exact", bootstrap=20)
    ends = {key for key in more if key.endswith(("_low", "_high"))}
    assert ends and {"…_low", "…_high", "…_percentile_low", "…_percentile_high"} <= set(re.findall("`([^` ]+)`", CARD))


def test_the_space_computes_its_examples():
    gradio = pytest.importorskip("gradio")
    spec = importlib.util.spec_from_file_location("temporal_space", FOLDER / "app.py")
    space = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(space)
    said, gold = one_a_line(space.SAID), one_a_line(space.GOLD)
    table, matches, result = space.score(said, gold, "wordnet", "exclusive")
    assert table[0] == ["object", "100.00", "50.00"] and table[3] == ["triplet", "50.00", "50.00"]
    assert ["v1", "relation", "chasing", "chasing", "identical", "0.50"] in matches and result["n_videos"] == 1
    assert space.score(said, gold, "exact", "inclusive")[0][2] == ["relation", "100.00", "100.00"]  # [0, 6) of [0, 10)
    with pytest.raises(gradio.Error, match="predictions, line 1: expected JSON"):
        space.score("{", gold, "exact", "exclusive")
    with pytest.raises(gradio.Error, match="references: expected at least one video"):
        space.score("", "", "exact", "exclusive")
    assert isinstance(space.build(), gradio.Blocks)
