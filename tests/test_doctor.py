"""`doctor` says what is verified, what is not, and touches no network."""

import json
import shutil
import socket
import urllib.request
from dataclasses import replace
from pathlib import Path

import open_clip
import pytest
import torch
from huggingface_hub import constants
from PIL import Image
from tiny_open_clip import CLIP, tiny_clip, write_folder
from typer.testing import CliRunner

from sgeval.cli.app import app
from sgeval.doctor import examine
from sgeval.encoders import load_encoder, selftest
from sgeval.encoders.aliases import ALIASES, Alias
from sgeval.encoders.machine import Reach, reach
from sgeval.errors import SgevalError

WITHOUT_WEIGHTS = ("clip-l14", "clip-b32", "negclip-b32", "siglip-so400m", "blip2-itm-g")


@pytest.fixture(autouse=True)
def no_network(request, monkeypatch, tmp_path):
    """Neither a connection nor what is in this machine's cache."""
    if "network" in request.keywords:
        return

    def refuse(*_):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


def run(*arguments, code=0):
    outcome = CliRunner().invoke(app, ["doctor", *map(str, arguments)])
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    assert "Traceback" not in outcome.output
    return outcome


def test_doctor_says_what_is_verified_and_what_is_not():
    outcome = run()
    assert "demo verified: self-tests pass, golden values are reproduced (in the package)" in outcome.stdout
    for name in WITHOUT_WEIGHTS:
        assert f"{name} unverified here: weights are not on this machine" in outcome.stdout
    assert "1 checked, 5 unverified here; nothing wrong" in outcome.stdout
    assert f"torch {torch.__version__.split('+')[0]}" in outcome.stdout and "CPU with" in outcome.stdout


def test_doctor_as_json():
    found = json.loads(run("--json").stdout)
    assert found["ok"] is True and set(found) == {"ok", "versions", "devices", "hub", "models"}
    status = {model["name"]: model["status"] for model in found["models"]}
    assert status == {"demo": "verified", **dict.fromkeys(WITHOUT_WEIGHTS, "unverified")}
    assert {check["name"] for check in found["models"][0]["checks"]} >= {"weights", "right pair", "golden value"}
    assert found["devices"]["cpu"]["cores"] >= 1 and isinstance(found["devices"]["gpus"], list)
    assert {"datasets", "evaluate", "pillow", "open_clip_torch"} <= set(found["versions"])


def test_fc20_drift_is_found(monkeypatch):
    golden = selftest.GOLDEN["demo"][0]
    moved = (golden.expected[0] + 0.01, golden.expected[1])
    monkeypatch.setitem(selftest.GOLDEN, "demo", (replace(golden, expected=moved),))
    outcome = run("--model", "demo", code=2)
    assert "demo DRIFT: self-tests pass, but golden values are not reproduced" in outcome.stdout
    assert "open_clip_torch" in outcome.stdout.split("DRIFT")[1] and "1.0e-02 apart" in outcome.stdout
    assert json.loads(run("--model", "demo", "--json", code=2).stdout)["ok"] is False


def test_other_weights_than_recorded_are_found(monkeypatch):
    monkeypatch.setitem(ALIASES, "demo", replace(ALIASES["demo"], weights="0" * 12))
    found = examine("demo")
    assert found.models[0].status == "failed" and not found.is_well
    check = next(check for check in found.models[0].checks if check.name == "weights")
    assert check.ok is False and "recorded is 000000000000" in check.words


def test_fc21_a_checkpoint_that_contradicts_its_alias_fails(tmp_path, monkeypatch):
    folder = write_folder(tmp_path / "model", quick_gelu=True)
    monkeypatch.setitem(ALIASES, "wrong", Alias("open_clip", str(folder), "cosine", "gelu"))
    outcome = run("--model", "wrong", code=2)
    assert "wrong failed:" in outcome.stdout and "expected activation gelu, got quickgelu" in outcome.stdout


def test_a_model_by_any_name(tmp_path):
    """Random weights: whether the right text wins is chance, everything else holds."""
    folder = write_folder(tmp_path / "model")
    (model,) = examine(str(folder)).models
    assert model.place == str(folder) and model.weights
    assert {check.name: check.ok for check in model.checks if check.name != "right pair"} == {
        **{"weights": None, "golden value": None},
        **dict.fromkeys(("activation", "padding", "truncation", "finite", "batches"), True),
    }
    assert model.status in ("self-tested", "failed")


def test_a_file_run_with_gelu_is_spoken_of(tmp_path, monkeypatch):
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / "tiny-doctor.json").write_text(json.dumps(CLIP))
    open_clip.add_model_config(configs)
    torch.save(tiny_clip().state_dict(), tmp_path / "negclip.pt")
    (model,) = examine(f"open_clip:tiny-doctor@{tmp_path / 'negclip.pt'}").models
    (warning,) = (check for check in model.checks if check.name == "warning")
    assert warning.ok is None and "trained with QuickGELU" in warning.words


@pytest.mark.parametrize(
    "model, message",
    [
        ("clip-l15", 'did you mean "clip-l14"'),
        ("open_clip:ViT-B-32/openay", 'open_clip has no weights "openay" for "ViT-B-32"'),
        ("open_clip:ViT-B-32", "got no weights"),
    ],
)
def test_unknown_models_are_bad_input(model, message):
    assert message in run("--model", model, code=2).stderr


@pytest.mark.parametrize(
    "model", ["transformers:openai/clip-vit-base-patch32", "hf-hub:org/none", "transformers:a/b/c"]
)
def test_other_names_out_of_reach(model):
    (found,) = examine(model).models
    assert found.status == "unverified" and found.words == "unverified here: weights are not on this machine"


def cache(hub: Path, repository: str, files: dict[str, str], commit: str = "c0ffee") -> Path:
    """A folder as the Hub's cache has it."""
    root = hub / f"models--{repository.replace('/', '--')}"
    snapshot = root / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(commit)
    for name, text in files.items():
        (snapshot / name).write_text(text)
    return snapshot


def test_files_in_the_cache_are_in_reach(tmp_path):
    hub = tmp_path / "hub"
    cache(hub, "timm/vit_base_patch32_clip_224.openai", {"open_clip_model.safetensors": "not weights"})
    assert reach("clip-b32", ALIASES["clip-b32"]) == Reach("timm/vit_base_patch32_clip_224.openai", (), "c0ffee")
    cache(hub, "timm/ViT-SO400M-14-SigLIP-384", {"open_clip_model.safetensors": "not weights"})
    assert reach("siglip-so400m", ALIASES["siglip-so400m"]).missing == ("tokenizer (timm/ViT-B-16-SigLIP)",)
    assert "tokenizer (timm/ViT-B-16-SigLIP) is not on" in examine("siglip-so400m").models[0].words
    blip = cache(hub, "Salesforce/blip2-itm-vit-g", dict.fromkeys(("config.json", "vocab.txt"), "{}"))
    (blip / "preprocessor_config.json").write_text("{}")
    assert reach("blip2-itm-g", ALIASES["blip2-itm-g"]).missing == ("weights",)
    shards = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (blip / "model.safetensors.index.json").write_text(json.dumps(shards))
    (blip / "model-1.safetensors").write_text("")
    assert reach("blip2-itm-g", ALIASES["blip2-itm-g"]).missing == ("weights",)
    (blip / "model-2.safetensors").write_text("")
    assert reach("blip2-itm-g", ALIASES["blip2-itm-g"]).missing == ()


def test_weights_that_are_here_and_broken_fail(tmp_path):
    cache(tmp_path / "hub", "timm/vit_base_patch32_clip_224.openai", {"open_clip_model.safetensors": "not weights"})
    before = constants.HF_HUB_OFFLINE
    outcome = run("--model", "clip-b32", code=2)
    assert "clip-b32 failed:" in outcome.stdout and "at c0ffee" in outcome.stdout
    assert "wrong: clip-b32" in outcome.stdout
    assert before == constants.HF_HUB_OFFLINE


def test_golden_pictures(tmp_path):
    picture = selftest.Picture("000000039769.jpg", "http://somewhere/000000039769.jpg", "0" * 64)
    assert "give its folder with --pictures" in selftest.find_picture(picture, None)[1]
    assert "not found in" in selftest.find_picture(picture, tmp_path)[1]
    Image.new("RGB", (8, 8)).save(tmp_path / "000000039769.png")
    assert selftest.find_picture(picture, tmp_path) == (tmp_path / "000000039769.png", "")
    Image.new("RGB", (8, 8)).save(tmp_path / "000000039769.jpg")
    assert "is another picture than" in selftest.find_picture(picture, tmp_path)[1]
    with pytest.raises(SgevalError, match="expected a folder of pictures"):
        examine("demo", tmp_path / "none")


def test_golden_values_from_a_folder_of_pictures(tmp_path, monkeypatch):
    """The demo model on a picture of the folder: lacking, right, and broken."""
    packaged = selftest.GOLDEN["demo"][0]
    picture = selftest.Picture("scene.jpg", "http://somewhere/scene.jpg", packaged.picture.sha256)
    monkeypatch.setitem(selftest.GOLDEN, "demo", (packaged, replace(packaged, picture=picture)))
    statuses = []
    for content in (None, "right", "broken"):
        if content == "right":
            shutil.copy(selftest.PACKAGE / packaged.picture.name, tmp_path / "scene.jpg")
        elif content == "broken":
            monkeypatch.setitem(
                selftest.GOLDEN,
                "demo",
                (packaged, replace(packaged, picture=replace(picture, sha256=None))),
            )
            (tmp_path / "scene.jpg").write_bytes(b"no picture")
        (model,) = examine("demo", tmp_path).models
        statuses.append((model.status, [check.ok for check in model.checks if check.name == "golden value"]))
    assert statuses == [("verified", [True, None]), ("verified", [True, True]), ("verified", [True, None])]


@pytest.mark.network
def test_golden_values_of_clip_b32(tmp_path):
    load_encoder("clip-b32")
    for golden in selftest.GOLDEN["clip-b32"]:
        urllib.request.urlretrieve(golden.picture.url, tmp_path / golden.picture.name)
    (model,) = examine("clip-b32", tmp_path).models
    assert model.status == "verified", model
    assert [check.ok for check in model.checks if check.name == "golden value"] == [True, True]
