"""The `evaluate` face of RelCLIPScore: the same numbers as the core, exactly, and the same refusals."""

import importlib.util
import json
import socket
import subprocess
import sys
from pathlib import Path

import evaluate
import numpy as np
import pytest

import sgeval
from sgeval import strict_json
from sgeval.demo import SCENES
from sgeval.errors import InvalidInput, SgevalError
from sgeval.relclip import CONFIGS

IMAGES = SCENES / "images"
OFFLINE = "an attempt to reach the network"


@pytest.fixture(scope="module")
def graphs():
    read = {name: list(strict_json.read_rows(SCENES / f"{name}.jsonl")) for name in ("predictions_good", "references")}
    return read["predictions_good"][:12], read["references"][:12]


@pytest.fixture(scope="module")
def metric():
    return evaluate.load(sgeval.path("relclipscore"))


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """FC84: a metric from a folder needs no Hub; a connection that is tried fails the test."""

    def refused(*_):
        raise AssertionError(OFFLINE)

    monkeypatch.setattr(socket.socket, "connect", refused)


def test_same_numbers_as_the_core(metric, graphs):
    predictions, references = graphs
    options = {"model": "demo", "bootstrap": 50, "return_items": True}
    module = metric.compute(predictions=predictions, references=references, images=IMAGES, **options)
    core = sgeval.relclipscore(predictions, references=references, images=IMAGES, **options)
    assert module == core
    json.dumps(module, allow_nan=False)


def test_relative_folder_from_the_checkout(graphs, monkeypatch):
    """`evaluate.load("metrics/relclipscore")` works inside a checkout."""
    monkeypatch.chdir(Path(sgeval.path("relclipscore")).parent.parent)
    local = evaluate.load("metrics/relclipscore")
    core = sgeval.relclipscore(graphs[0], images=IMAGES, model="demo")
    assert local.compute(predictions=graphs[0], images=IMAGES, model="demo") == core


def test_references_are_optional_and_aligned_by_id(metric, graphs):
    predictions, references = graphs
    core = sgeval.relclipscore(predictions, references=references, images=IMAGES, model="demo")
    turned = metric.compute(predictions=predictions, references=references[::-1], images=IMAGES, model="demo")
    assert turned == core
    without = metric.compute(predictions=predictions, images=IMAGES, model="demo")
    assert "ref_relclipscore" not in without and without["signature"].split("|")[-2] == "refs:none"


def test_more_references_than_predictions(metric, graphs):
    """`missing="zero"`: the shorter column is filled up; the filler is no graph."""
    predictions, references = graphs
    found = metric.compute(
        predictions=predictions[:9], references=references, images=IMAGES, model="demo", missing="zero"
    )
    assert (found["n_images"], found["n_missing"]) == (12, 3)
    with pytest.raises(InvalidInput, match="of the references, got none"):
        metric.compute(predictions=predictions[:9], references=references, images=IMAGES, model="demo")


def test_add_and_add_batch_come_to_the_same(metric, graphs):
    predictions, references = graphs
    whole = metric.compute(predictions=predictions, references=references, images=IMAGES, model="demo")
    for prediction, reference in zip(predictions, references, strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert metric.compute(images=IMAGES, model="demo") == whole
    metric.add_batch(predictions=predictions[:5], references=references[:5])
    metric.add_batch(predictions=predictions[5:], references=references[5:])
    assert metric.compute(images=IMAGES, model="demo") == whole


def test_images_as_list_of_pictures_and_arrays(metric, graphs):
    from PIL import Image

    paths = [IMAGES / f"{graph['image_id']}.jpg" for graph in graphs[0]]
    by_path = metric.compute(predictions=graphs[0], images=paths, model="demo")
    pictures = [Image.open(path) for path in paths]
    assert metric.compute(predictions=graphs[0], images=pictures, model="demo") == by_path
    arrays = {graph["image_id"]: np.asarray(Image.open(path)) for graph, path in zip(graphs[0], paths, strict=True)}
    assert metric.compute(predictions=graphs[0], images=arrays, model="demo") == by_path


def test_rows_are_checked_before_the_host_sees_them(metric):
    with pytest.raises(InvalidInput, match=r"predictions\[1\].relations\[0\].predicate: expected a text .* got null"):
        metric.add_batch(
            predictions=[
                {"image_id": "a"},
                {"image_id": "b", "relations": [{"subject_id": 0, "object_id": 1, "predicate": None}]},
            ]
        )


def test_skipped_parts_are_counted(metric, graphs):
    """on_invalid="skip" at the border of the adapter counts as in the core."""
    broken = json.loads(json.dumps(graphs[0]))
    broken[0]["relations"][0]["predicate"] = "  "
    broken.append({"image_id": None})
    options = {"images": IMAGES, "model": "demo", "on_invalid": "skip"}
    module, core = metric.compute(predictions=broken, **options), sgeval.relclipscore(broken, **options)
    assert module == core and core["n_invalid"] == 2


def test_a_list_of_images_stays_beside_its_rows(metric, graphs):
    """A row that is left out keeps its place in the list of images; its reference is left out with it."""
    predictions, references = graphs
    broken = [*predictions[:3], {**predictions[3], "width": -1}, *predictions[4:]]
    paths = [IMAGES / f"{graph['image_id']}.jpg" for graph in predictions]
    options = {"references": references[::-1], "images": paths, "model": "demo", "on_invalid": "skip"}
    module, core = metric.compute(predictions=broken, **options), sgeval.relclipscore(broken, **options)
    assert module == core and (core["n_images"], core["n_invalid"]) == (11, 1)
    rest = [row for row in predictions if row is not predictions[3]]
    gold = [row for row in references if row["image_id"] != predictions[3]["image_id"]]
    whole = sgeval.relclipscore(rest, references=gold, images=IMAGES, model="demo")
    assert core["mean_score"] == whole["mean_score"]


def test_counts_of_relations_are_those_of_the_core(metric, graphs):
    """A relation with an unknown object, one of an object that goes, and a record twice."""
    broken = json.loads(json.dumps(graphs[0][:4]))
    broken[0]["relations"][0]["object_id"] = 99
    broken[1]["objects"][0]["category"] = ""
    broken.insert(2, broken[0])
    options = {"images": IMAGES, "model": "demo", "on_invalid": "skip"}
    module, core = metric.compute(predictions=broken, **options), sgeval.relclipscore(broken, **options)
    assert module == core and core["n_images"] == 4
    given = sum(len(graph["relations"]) for graph in graphs[0][:4])
    assert core["n_predicted"] == given and core["n_invalid_relations"] == given - core["n_relations"] > 1


@pytest.mark.parametrize("references", [None, []])
def test_an_empty_list_of_references_is_not_none(metric, graphs, references):
    """The core knows no id of an empty list; without references there is nothing to know."""
    options = {"predictions": graphs[0][:2], "references": references, "images": IMAGES, "model": "demo"}
    if references is None:
        assert metric.compute(**options) == sgeval.relclipscore(**options)
        return
    for compute in (metric.compute, sgeval.relclipscore):
        with pytest.raises(InvalidInput, match="expected an id of the references"):
            compute(**options)


def test_the_signature_says_that_a_batch_was_skipped(metric, graphs):
    """The most lenient policy of any batch holds for the whole."""
    broken = {**graphs[0][1], "relations": [{"subject_id": 0, "object_id": 99, "predicate": "on"}]}
    core = sgeval.relclipscore([graphs[0][0], broken], images=IMAGES, model="demo", on_invalid="skip")
    metric.add(prediction=graphs[0][0])
    metric.add_batch(predictions=[broken], on_invalid="skip")
    found = metric.compute(images=IMAGES, model="demo")
    assert found == core and found["n_invalid"] == 1 and "invalid:skip" in found["signature"].split("|")
    metric.add(prediction=graphs[0][0])
    assert "invalid:error" in metric.compute(images=IMAGES, model="demo")["signature"].split("|")


def test_a_list_of_images_serves_one_process(graphs, tmp_path):
    paths = [IMAGES / f"{graph['image_id']}.jpg" for graph in graphs[0]]
    several = {"num_process": 2, "experiment_id": "list", "cache_dir": str(tmp_path)}
    for rank in range(2):
        metric = evaluate.load(sgeval.path("relclipscore"), process_id=rank, **several)
        with pytest.raises(SgevalError, match="images: expected a folder or a mapping from image_id with several"):
            metric.compute(predictions=graphs[0], images=paths, model="demo")


def test_the_same_image_in_two_batches(metric, graphs):
    """With "skip" the first stays and the other is counted, as within one batch."""
    rows = graphs[0][:3]
    options = {"images": IMAGES, "model": "demo"}
    core = sgeval.relclipscore([*rows[:2], *rows[1:]], on_invalid="skip", **options)
    metric.add_batch(predictions=rows[:2], on_invalid="skip")
    metric.add_batch(predictions=rows[1:], on_invalid="skip")
    assert metric.compute(**options) == core and (core["n_images"], core["n_invalid"]) == (3, 1)


def test_the_same_image_in_two_batches_is_refused(metric, graphs):
    metric.add_batch(predictions=graphs[0][:2])
    metric.add_batch(predictions=graphs[0][1:3])
    with pytest.raises(InvalidInput, match=r"expected each id once, got .* 2 times"):
        metric.compute(images=IMAGES, model="demo")


def test_unknown_options_and_configs_are_refused(metric, graphs):
    with pytest.raises(SgevalError, match='did you mean "penalty"'):
        metric.compute(predictions=graphs[0], images=IMAGES, model="demo", penality="none")
    with pytest.raises(SgevalError, match="penalty: expected one of guarded, bounded, literal, none"):
        metric.compute(predictions=graphs[0], images=IMAGES, model="demo", penalty="mild")
    with pytest.raises(SgevalError, match="config: expected one of clip, negclip, siglip, blip2"):
        evaluate.load(sgeval.path("relclipscore"), "clop")
    with pytest.raises(SgevalError, match="options of the metric go to compute"):
        evaluate.load(sgeval.path("relclipscore"), model="demo")
    with pytest.raises(SgevalError, match="images: expected a folder"):
        metric.compute(predictions=graphs[0], model="demo")
    with pytest.raises(SgevalError, match="at least one image"):
        metric.compute(images=IMAGES, model="demo")


def test_a_config_and_a_model_of_another_score_rule(graphs):
    siglip = evaluate.load(sgeval.path("relclipscore"), "siglip")
    with pytest.raises(SgevalError, match="expected a model that gives relsiglipscore"):
        siglip.compute(predictions=graphs[0], images=IMAGES, model="demo")


def test_after_an_error_the_next_call_is_clean(metric, graphs):
    whole = metric.compute(predictions=graphs[0], images=IMAGES, model="demo")
    with pytest.raises(SgevalError):
        metric.compute(predictions=graphs[0][:3], images={}, model="demo")
    assert metric.compute(predictions=graphs[0], images=IMAGES, model="demo") == whole


def test_combine_of_two(graphs):
    """`evaluate.combine` takes equal inputs and hands every option to every module."""
    pair = evaluate.combine([sgeval.load("relclipscore"), sgeval.load("relclipscore", "negclip")])
    found = pair.compute(predictions=graphs[0], references=graphs[1], images=IMAGES, model="demo")
    core = sgeval.relclipscore(graphs[0], references=graphs[1], images=IMAGES, model="demo")
    assert [found[key] for key in found if key.endswith("_relclipscore") and "ref" not in key] == [
        core["relclipscore"]
    ] * 2


PROCESS = """
import sys, json, evaluate, sgeval
from sgeval import strict_json
from sgeval.demo import SCENES
rank = int(sys.argv[1])
rows = [list(strict_json.read_rows(SCENES / n)) for n in ("predictions_good.jsonl", "references.jsonl")]
metric = evaluate.load(sgeval.path("relclipscore"), num_process=2, process_id=rank, experiment_id=sys.argv[2],
                       cache_dir=sys.argv[3])
metric.add_batch(predictions=rows[0][:12][rank::2], references=rows[1][:12][rank::2])
print(json.dumps(metric.compute(images=SCENES / "images", model="demo")))
"""


def test_two_processes_merge_to_the_same_numbers(graphs, tmp_path):
    arguments = ["run", str(tmp_path / "cache")]
    ranks = [
        subprocess.Popen([sys.executable, "-c", PROCESS, str(rank), *arguments], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    outputs = [json.loads(process.communicate(timeout=240)[0].strip().splitlines()[-1]) for process in ranks]
    core = sgeval.relclipscore(graphs[0], references=graphs[1], images=IMAGES, model="demo")
    assert outputs == [core, None]


def test_path_names_the_known_metrics():
    with pytest.raises(SgevalError, match='did you mean "relclipscore"'):
        sgeval.path("relclip_score")
    assert isinstance(sgeval.path("relclipscore"), str)


def test_the_card_and_the_configs_agree():
    card = (Path(sgeval.path("relclipscore")) / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in card for name in CONFIGS)


def test_the_space_computes_its_example():
    gradio = pytest.importorskip("gradio")
    spec = importlib.util.spec_from_file_location("space_app", Path(sgeval.path("relclipscore")) / "app.py")
    space = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(space)
    from PIL import Image

    text, picture = space.example()
    result, rows = space.score(text, Image.open(picture), "demo", "guarded")
    assert result["n_relations"] == len(rows) > 0 and 0 < result["mean_score"] <= 1
    with pytest.raises(gradio.Error, match="expected JSON"):
        space.score("{", Image.open(picture), "demo", "guarded")
    assert isinstance(space.build(), gradio.Blocks)
