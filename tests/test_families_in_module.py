"""Every config of the evaluate module computes with a model of its family, and gives what the core gives."""

import evaluate
import pytest

import sgeval
from sgeval.errors import SgevalError
from sgeval.relclip import CONFIGS

FAMILY = {"clip": "clip", "negclip": "clip", "siglip": "siglip", "blip2": "blip-2"}


@pytest.mark.parametrize("config", CONFIGS)
def test_every_config_computes(config, checkpoints, random_graphs):
    """The headline's key is the config's; scores are fractions; the core gives the same numbers, exactly."""
    graphs, pictures = random_graphs(2, 4)
    options = {"images": pictures, "model": str(checkpoints[FAMILY[config]]), "on_invalid": "skip"}
    metric = evaluate.load(sgeval.path("relclipscore"), config)
    result = metric.compute(predictions=graphs, references=graphs, **options)
    key = CONFIGS[config][1]
    assert result == sgeval.relclipscore(graphs, references=graphs, config=config, **options)
    assert result["n_relations"] > 5 and 0 <= result["mean_score"] <= 1 and result[key] is not None
    assert ("ref_relclipscore" in result) == (key == "relclipscore"), "eq. 5 means two cosines"
    assert f"metric:{key}" in result["signature"] and "precision:fp32|prep:pil" in result["signature"]


def test_a_model_of_another_family_is_refused(checkpoints, random_graphs):
    graphs, pictures = random_graphs(2, 4)
    with pytest.raises(SgevalError, match=r"expected a model that gives relblipscore, got .* that gives relclipscore"):
        sgeval.relclipscore(graphs, images=pictures, config="blip2", model=str(checkpoints["clip"]), on_invalid="skip")


@pytest.mark.parametrize("config", ["clip", "blip2"])
def test_batches_and_preprocessing_move_little(config, checkpoints, random_graphs):
    """Within 1e-5 across batch sizes; the tensor path within 0.01, and signed."""
    graphs, pictures = random_graphs(2, 4)
    options = {"images": pictures, "model": str(checkpoints[FAMILY[config]]), "on_invalid": "skip", "config": config}
    first = sgeval.relclipscore(graphs, **options)
    second = sgeval.relclipscore(graphs, batch_size=3, **options)
    assert second["mean_score"] == pytest.approx(first["mean_score"], abs=1e-5)
    fast = sgeval.relclipscore(graphs, preprocess="tensor", **options)
    assert fast["mean_score"] == pytest.approx(first["mean_score"], abs=0.01)
    assert "prep:tensor" in fast["signature"]


def test_half_precision_that_cannot_run_is_refused_before_the_data(monkeypatch):
    """The rows are nonsense, and are not looked at."""
    monkeypatch.setattr("sgeval.encoders.device.cpu_has_bf16", lambda: False)
    with pytest.raises(SgevalError, match='"bf16" has no hardware support on this CPU'):
        sgeval.relclipscore([{"nonsense": 1}], images={}, model="demo", device="cpu", precision="bf16")
