"""θ of a model that knows what it sees, and of models that do not: the demo model beside random ones, on scenes and pairs
of classes that no training has shown."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import sgeval
from sgeval import strict_json
from sgeval.demo import SCENES

HELD_OUT = {
    frozenset(pair.split("/"))
    for pair in (
        *("dog/cat", "cat/car", "car/ball", "ball/cup", "cup/apple"),
        *("apple/dog", "box/cat", "box/cup", "table/dog", "table/ball"),
    )
}
"""Pairs of classes that are in no training caption (see the card of the demo model)."""


@pytest.fixture(scope="module")
def graphs():
    return list(strict_json.read_rows(SCENES / "references.jsonl"))


def score(graphs, model, **options):
    return sgeval.theta(
        references=graphs, config="graphs", images=SCENES / "images", model=model, bootstrap=500, **options
    )


def test_the_demo_model_is_well_above_chance(graphs):
    found = score(graphs, "demo")
    ends = found["theta_low"] or found["theta"]  # without spread there is no interval
    assert ends > found["chance_theta"] + 0.2 and found["precision"] > 0.9
    assert found["direction_accuracy_low"] > 0.9 and found["above_random_predicate"] > 0.9


def test_also_on_pairs_it_was_never_told_of(graphs):
    labels = [{item["id"]: item["category"] for item in graph["objects"]} for graph in graphs]
    unseen = [
        {
            **graph,
            "relations": [
                one
                for one in graph["relations"]
                if frozenset((names[one["subject_id"]], names[one["object_id"]])) in HELD_OUT
            ],
        }
        for graph, names in zip(graphs, labels, strict=True)
    ]
    found = score(unseen, "demo", vocabulary_graphs=None)
    assert found["n_relations"] > 50
    assert found["theta"] > found["chance_theta"] + 0.15 and found["direction_accuracy_low"] > 0.8


def test_scores_that_say_nothing_are_at_chance(graphs, fake_encoder):
    """A seeded vector for each crop and each text."""
    found = score(graphs, fake_encoder())
    assert found["theta_low"] < found["chance_theta"] < found["theta_high"]
    assert found["precision_low"] < found["chance_precision"] < found["precision_high"]
    assert found["direction_accuracy_low"] < 0.5 < found["direction_accuracy_high"]


@pytest.mark.slow
def test_random_weights_are_at_chance_on_average(graphs, tmp_path):
    """The demo model's architecture with eight sets of random weights. One such model prefers some words to others,
    whatever it sees, so it lies a few points to one side; their mean is at chance, within two standard errors."""
    import torch
    from safetensors.torch import load_file, save_file

    demo = Path(sgeval.__file__).parent / "assets" / "demo_model"
    thetas, directions = [], []
    for seed in range(8):
        folder = tmp_path / str(seed)
        shutil.copytree(demo, folder)
        weights = load_file(folder / "open_clip_model.safetensors")
        generator = torch.Generator().manual_seed(seed)
        for name, tensor in weights.items():
            if tensor.ndim > 1:
                weights[name] = torch.randn(tensor.shape, generator=generator) * tensor.std()
        save_file(weights, folder / "open_clip_model.safetensors")
        found = score(graphs, str(folder))
        thetas.append(found["theta"] - found["chance_theta"])
        directions.append(found["direction_accuracy"] - 0.5)
    for values in (thetas, directions):
        assert abs(np.mean(values)) < 2 * np.std(values, ddof=1) / np.sqrt(len(values))
