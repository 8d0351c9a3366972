"""The `evaluate` face of θ: the same numbers as the core, exactly, and the same refusals."""

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import evaluate
import numpy as np
import pytest
from PIL import Image

import sgeval
from sgeval import strict_json
from sgeval.alignment import CONFIGS, Options
from sgeval.demo import SCENES
from sgeval.errors import InvalidInput, SgevalError

IMAGES = SCENES / "images"
OPTIONS = {"images": IMAGES, "model": "demo"}


@pytest.fixture(scope="module")
def graphs():
    return list(strict_json.read_rows(SCENES / "references.jsonl"))[:10]


@pytest.fixture(scope="module")
def lists():
    return evaluate.load(sgeval.path("theta"))


@pytest.fixture(scope="module")
def metric():
    return evaluate.load(sgeval.path("theta"), "graphs")


class TestLists:
    def test_same_as_the_core(self, lists):
        scores = np.random.default_rng(0).uniform(size=(30, 5)).tolist()
        options = {"bootstrap": 50, "return_items": True, "singletons": "include"}
        module = lists.compute(predictions=scores, references=[2] * 30, **options)
        assert module == sgeval.theta(scores, [2] * 30, **options)
        for row in scores:
            lists.add(prediction=row, reference=2)
        assert lists.compute(**options) == module

    def test_the_example_of_the_card(self, lists):
        assert lists.compute(predictions=[[0.20, 0.10, 0.05, 0.90]], references=[0])["theta"] == 0.75

    def test_skipped_lists_keep_their_place(self, lists):
        given = {"predictions": [[0.1, 0.2], [], [0.3, 0.2]], "references": [0, 0, 0]}
        options = {"on_invalid": "skip", "return_items": True}
        module = lists.compute(**given, **options)
        assert module == sgeval.theta(**given, **options)
        assert [item["index"] for item in module["items"]] == [0, 2] and module["n_invalid"] == 1

    def test_refusals(self, lists):
        with pytest.raises(InvalidInput, match=r"references\[0\]: expected the position of one of the 2 scores, got 5"):
            lists.add_batch(predictions=[[0.1, 0.2]], references=[5])
        with pytest.raises(SgevalError, match='model: only config="graphs"'):
            lists.compute(predictions=[[0.1, 0.2]], references=[0], model="demo")
        with pytest.raises(SgevalError, match="references: expected one a row, got nothing"):
            lists.compute(predictions=[[0.1, 0.2]])
        with pytest.raises(SgevalError, match="expected at least one, got none"):
            lists.compute()


class TestGraphs:
    def test_same_as_the_core(self, metric, graphs):
        options = {**OPTIONS, "bootstrap": 50, "return_items": True}
        module = metric.compute(references=graphs, **options)
        assert module == sgeval.theta(references=graphs, config="graphs", **options)
        json.dumps(module, allow_nan=False)
        metric.add_batch(references=graphs[:4])
        for graph in graphs[4:]:
            metric.add(reference=graph)
        assert metric.compute(**options) == module

    def test_vocabularies(self, metric, graphs):
        for more in (
            {"vocabulary_graphs": [{**graph, "image_id": f"{graph['image_id']}x"} for graph in graphs[5:]]},
            {"vocabulary": {("dog", "cat"): ["left of", "right of"]}, "on_invalid": "skip"},
        ):
            module = metric.compute(references=graphs[:5], **OPTIONS, **more)
            assert module == sgeval.theta(references=graphs[:5], config="graphs", **OPTIONS, **more)

    def test_faulty_parts_are_counted_as_in_the_core(self, metric, graphs):
        broken = json.loads(json.dumps(graphs))
        broken[0]["relations"][0]["object_id"] = 99
        broken.append({"image_id": None})
        options = {**OPTIONS, "on_invalid": "skip"}
        module = metric.compute(references=broken, **options)
        assert module == sgeval.theta(references=broken, config="graphs", **options) and module["n_invalid"] == 2
        metric.add_batch(references=broken, on_invalid="skip")
        assert metric.compute(**OPTIONS) == module

    def test_combined_with_relclipscore(self, metric, graphs):
        """`combine` hands every input and every option to every module: what is another's is passed over, and said."""
        pair = evaluate.combine({"a": sgeval.load("relclipscore"), "b": metric})
        with pytest.warns(UserWarning) as told:
            found = pair.compute(predictions=graphs, references=graphs, penalty="none", singletons="include", **OPTIONS)
        words = {str(one.message) for one in told}
        assert {
            "relclipscore: passes over singletons, of another metric",
            "theta: passes over penalty, of another metric",
        } <= words
        alone = sgeval.theta(references=graphs, config="graphs", singletons="include", **OPTIONS)
        assert found["theta"] == alone["theta"]
        assert (
            found["relclipscore"]
            == sgeval.relclipscore(graphs, references=graphs, penalty="none", **OPTIONS)["relclipscore"]
        )

    def test_the_same_image_in_two_batches(self, metric, graphs):
        """Refused as by the core; with "skip" the first stays and the other is counted."""
        metric.add_batch(references=graphs[:2])
        metric.add_batch(references=graphs[1:3])
        with pytest.raises(InvalidInput, match=r"references: expected each id once, got .* 2 times"):
            metric.compute(bootstrap=20, **OPTIONS)
        metric.add_batch(references=graphs[:2], on_invalid="skip")
        metric.add_batch(references=graphs[1:3], on_invalid="skip")
        found = metric.compute(**OPTIONS)
        assert (found["n_images"], found["n_invalid"]) == (3, 1)

    def test_a_limit_serves_one_process(self, graphs, tmp_path):
        """Which rows are the first hangs on how they were dealt out."""
        several = {"num_process": 2, "experiment_id": "limit", "cache_dir": str(tmp_path)}
        for rank in range(2):
            part = evaluate.load(sgeval.path("theta"), "graphs", process_id=rank, **several)
            with pytest.raises(SgevalError, match="limit: expected none with several processes"):
                part.compute(references=graphs[rank::2], limit=4, **OPTIONS)

    def test_an_option_that_nobody_knows(self, metric, graphs):
        with pytest.raises(SgevalError, match='did you mean "protocol"'):
            metric.compute(references=graphs, protocl="paper", **OPTIONS)
        with pytest.raises(SgevalError, match="config: expected one of scores, graphs"):
            evaluate.load(sgeval.path("theta"), "graph")


PROCESS = """
import sys, json, evaluate, sgeval
from sgeval import strict_json
from sgeval.demo import SCENES
rank = int(sys.argv[1])
rows = list(strict_json.read_rows(SCENES / "references.jsonl"))[:10]
metric = evaluate.load(sgeval.path("theta"), "graphs", num_process=2, process_id=rank, experiment_id="run",
                       cache_dir=sys.argv[2])
metric.add_batch(references=rows[rank::2])
print(json.dumps(metric.compute(images=SCENES / "images", model="demo")))
"""


def test_two_processes_merge_to_the_same_numbers(graphs, tmp_path):
    ranks = [
        subprocess.Popen([sys.executable, "-c", PROCESS, str(rank), str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    outputs = [json.loads(process.communicate(timeout=240)[0].strip().splitlines()[-1]) for process in ranks]
    assert outputs == [sgeval.theta(references=graphs, config="graphs", **OPTIONS), None]


def test_the_space_computes_its_examples():
    gradio = pytest.importorskip("gradio")
    spec = importlib.util.spec_from_file_location("theta_space", Path(sgeval.path("theta")) / "app.py")
    space = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(space)
    assert space.score_lists(space.LISTS)["theta"] == (0.75 + 1) / 2
    graph, picture, vocabulary = space.example()
    result, rows = space.score_graph(graph, Image.open(picture), vocabulary, "demo")
    assert result["n_annotated"] == len(rows) > 0 and result["theta"] > result["chance_theta"]
    assert "vocabulary" not in result and rows[0][1].startswith("1 of ")
    for text, words in (
        ("{", "expected JSON"),
        ("[1]", "expected .{.scores"),
        ('[{"scores": [], "truth": 0}]', "at least one"),
    ):
        with pytest.raises(gradio.Error, match=words):
            space.score_lists(text)
    with pytest.raises(gradio.Error, match="vocabulary, line 2: expected JSON"):
        space.score_graph(graph, Image.open(picture), vocabulary.splitlines()[0] + "\n{", "demo")
    assert isinstance(space.build(), gradio.Blocks)


def test_the_card_names_every_option_and_key(metric, graphs):
    card = (Path(sgeval.path("theta")) / "README.md").read_text(encoding="utf-8")
    options = {item.name for item in fields(Options)} | {"vocabulary", "vocabulary_graphs", *CONFIGS}
    assert {name for name in options if f"`{name}`" not in card} == set()
    found = metric.compute(references=graphs[:2], **OPTIONS)
    told = {f"{start}…" for start in ("above_", "gap_")}
    assert {key for key in found if f"`{key}`" not in card} == set() and all(f"`{one}`" in card for one in told)


def test_the_intervals_are_those_of_the_card(metric, lists, graphs):
    card = (Path(sgeval.path("theta")) / "README.md").read_text(encoding="utf-8")
    start = card.index("95 % intervals over pictures")
    told = set(re.findall("`([^` ]+)`", card[start : card.index("\n\n", start)].partition("A row of `slices`")[0]))
    ends = {"low", "high", "percentile_low", "percentile_high"}
    assert {f"…_{end}" for end in ends} <= told
    of_lists = {"theta", "precision", "mean_score"}
    others = {"direction_accuracy", "above_…", "gap_…"}
    assert {name for name in told if not name.startswith("…")} == of_lists | others
    compared = {f"{measure}_{with_what}_predicate" for measure in ("above", "gap") for with_what in ("no", "random")}
    scores = {"predictions": [[0.1, 0.2], [0.3, 0.1], [0.5, 0.6]], "references": [0, 0, 1]}
    for measures, module, given in (
        (of_lists | {"direction_accuracy"} | compared, metric, {"references": graphs[:3], **OPTIONS}),
        (of_lists, lists, scores),
    ):
        plain, found = (module.compute(**given, bootstrap=bootstrap) for bootstrap in (0, 20))
        assert found.keys() - plain.keys() == {f"{name}_{end}" for name in measures for end in ends}
