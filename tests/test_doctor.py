"""The self-tests find planted faults; `doctor` says what is verified, what is not, and touches no network."""

import json
import shutil
import socket
import urllib.request
import warnings
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from huggingface_hub import constants
from PIL import Image
from safetensors.torch import save_file
from transformers import CLIPConfig, CLIPModel
from typer.testing import CliRunner

from sgeval.cli.app import app
from sgeval.doctor import examine
from sgeval.encoders import load_encoder, selftest
from sgeval.encoders.aliases import ALIASES, Alias
from sgeval.encoders.dual import DualEncoder, Facts
from sgeval.encoders.open_clip_family import encoder as open_clip_encoder
from sgeval.encoders.pixels import Pixels
from sgeval.errors import SgevalError

CLIP = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "patch_size": 16, "width": 32, "layers": 1, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}
PREPROCESSING = {"size": 32, "mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "resize_mode": "shortest"}
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


tokenizer = lru_cache(open_clip.SimpleTokenizer)


def tiny_clip(quick_gelu: bool = False):
    torch.manual_seed(0)
    return open_clip.CLIP(**CLIP, quick_gelu=quick_gelu)


def tiny_encoder(holds_quick_gelu: bool, states_quick_gelu: bool, name: str = "tiny"):
    return open_clip_encoder(
        tiny_clip(holds_quick_gelu),
        tokenizer(),
        PREPROCESSING,
        name=name,
        score_rule="cosine",
        template="{subject} {predicate} {object}",
        quick_gelu=states_quick_gelu,
    )


def write_folder(folder: Path, **config) -> Path:
    folder.mkdir()
    whole = {"model_cfg": {**CLIP, **config}, "preprocess_cfg": PREPROCESSING}
    (folder / "open_clip_config.json").write_text(json.dumps(whole))
    save_file(tiny_clip().state_dict(), folder / "open_clip_model.safetensors")
    return folder


class StubTowers:
    """A bag of embeddings, each weighed by its place: one token a word, 1 ends a text, 0 pads it to 16 places."""

    limit = 16

    def __init__(self, pads="full", keeps_end=True, counts=True, image=lambda pixels: pixels.flatten(1)[:, :8]):
        self.pads, self.keeps_end, self.counts, self.images = pads, keeps_end, counts, image
        self.table = torch.randn(100, 8, generator=torch.Generator().manual_seed(0))
        self.model = torch.nn.GELU()

    def texts(self, texts):
        rows = [[2 + sum(map(ord, word)) % 98 for word in text.split()] for text in texts]
        rows = [[*row, 1] if len(row) < self.limit else self._cut(row) for row in rows]
        length = self.limit if self.pads == "full" else max(map(len, rows))
        ids = torch.tensor([row + [0] * (length - len(row)) for row in rows])
        return (self.table[ids] * torch.arange(1, length + 1)[:, None]).sum(1)

    def _cut(self, row):
        return [*row[: self.limit - 1], 1] if self.keeps_end else row[: self.limit]

    def truncated(self, texts):
        return np.array([self.counts and len(text.split()) >= self.limit for text in texts], dtype=bool)


def stub(towers, rule="sigmoid", activation="gelu"):
    facts = Facts("stub", "0" * 12, rule, "{subject}", activation, StubTowers.limit, "full")
    return DualEncoder(towers, Pixels(8, "squash", (0.4,) * 3, (0.5,) * 3), facts)


class MatchingStub:
    """Logits [no match, match] of [-2, 3] for the right text and [3, -2] for any other; `read` makes a score of them."""

    def __init__(self, read):
        self.read = read
        self.model = torch.nn.GELU()
        self.facts = Facts("stub", "0" * 12, "itm", "{subject}", "gelu", 32, "end")

    def prepare(self, crop):
        return crop

    def encode_images(self, crops):
        return np.zeros((len(crops), 2, 4))

    def encode_texts(self, texts):
        return np.array(texts, dtype=object)

    def truncated(self, texts):
        return np.array([len(text.split()) > 30 for text in texts])

    def score(self, images, texts):
        assert len(images) == len(texts)
        return np.array([self.read([-2.0, 3.0] if text == selftest.DISC[0] else [3.0, -2.0]) for text in texts])


def softmax(pair):
    powers = np.exp(np.array(pair) - max(pair))
    return powers / powers.sum()


def broken(encoder, **more):
    """The names of the self-tests that fail."""
    return [finding.name for finding in selftest.selftest(encoder, **more) if not finding.ok]


def words(encoder, name, **more):
    return next(finding.words for finding in selftest.selftest(encoder, **more) if finding.name == name)


def run(*arguments, code=0):
    outcome = CliRunner().invoke(app, ["doctor", *map(str, arguments)])
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    assert "Traceback" not in outcome.output
    return outcome


def test_demo_passes_every_self_test():
    findings = selftest.selftest(load_encoder("demo"))
    assert [finding.name for finding in findings if finding.ok] == [
        *("right pair", "activation", "padding", "truncation", "finite", "batches")
    ]


@pytest.mark.parametrize("quick_gelu", [False, True])
def test_fc21_an_activation_as_stated_passes(quick_gelu):
    assert broken(tiny_encoder(quick_gelu, quick_gelu), trained=False) == []


def test_fc21_an_activation_other_than_stated_is_found():
    assert broken(tiny_encoder(holds_quick_gelu=False, states_quick_gelu=True), trained=False) == ["activation"]
    assert broken(tiny_encoder(holds_quick_gelu=True, states_quick_gelu=False), trained=False) == ["activation"]
    # what the table says of a name counts, whatever was said at loading
    assert broken(tiny_encoder(False, False, name="negclip-b32"), trained=False) == ["activation"]


@pytest.mark.parametrize("hidden_act, expected", [("quick_gelu", []), ("gelu", ["activation"])])
def test_fc21_activations_of_transformers(hidden_act, expected):
    small = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    text, vision = (
        {**small, "hidden_act": hidden_act, **more} for more in ({"vocab_size": 9}, {"image_size": 8, "patch_size": 4})
    )
    towers = StubTowers()
    towers.model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision))
    assert broken(stub(towers, activation="quickgelu"), trained=False) == expected


def test_fc21_one_tower_of_two_is_enough():
    towers = StubTowers()
    towers.model = torch.nn.Sequential(open_clip.transformer.QuickGELU(), torch.nn.GELU())
    assert broken(stub(towers, activation="quickgelu"), trained=False) == ["activation"]
    assert broken(stub(towers, activation="quickgelu/gelu_tanh"), trained=False) == []


def test_fc19_one_softmax_of_class_one_passes():
    encoder = MatchingStub(lambda logits: softmax(logits)[1])
    assert broken(encoder) == []
    # by hand: 1 / (1 + e^-5) = 0.9933, 1 / (1 + e^5) = 0.0067
    assert '0.9933, "a photo of a dog" 0.0067' in words(encoder, "right pair")


def test_fc19_swapped_classes_are_found():
    encoder = MatchingStub(lambda logits: softmax(logits)[0])
    assert broken(encoder) == ["right pair"]
    assert '0.0067, "a photo of a dog" 0.9933' in words(encoder, "right pair")


def test_fc19_a_second_softmax_is_found():
    """It keeps the order: by hand, 1 / (1 + e^-(0.9933 - 0.0067)) = 0.7284 and 0.2716, inside 0.27-0.73."""
    encoder = MatchingStub(lambda logits: softmax(softmax(logits))[1])
    assert broken(encoder) == ["right pair"]
    assert "second softmax" in words(encoder, "right pair") and "0.7284" in words(encoder, "right pair")


def test_fc22_padding_to_the_longest_is_found():
    assert broken(stub(StubTowers()), trained=False) == []
    assert broken(stub(StubTowers(pads="longest")), trained=False) == ["padding"]


def test_fc23_a_cut_that_loses_the_end_token_is_found():
    assert broken(stub(StubTowers(keeps_end=False)), trained=False) == ["truncation"]
    assert "over 15 words are cut" in words(stub(StubTowers()), "truncation")  # by hand: 16 places, one for the end


def test_fc23_a_cut_that_is_not_counted_is_found():
    assert broken(stub(StubTowers(counts=False)), trained=False) == ["truncation"]


def test_fc25_a_feature_that_is_not_finite_is_found():
    encoder = stub(StubTowers(image=lambda pixels: pixels.flatten(1)[:, :8] * torch.nan))
    assert "finite" in broken(encoder, trained=False)


def test_a_picture_that_depends_on_its_batch_is_found():
    def shaky(pixels):
        return pixels.flatten(1)[:, :8] + torch.eye(8)[0] * 1e-3 * len(pixels)

    assert broken(stub(StubTowers(image=shaky)), trained=False) == ["batches"]


def test_on_load_named_models_are_tested_and_others_are_not():
    wrong = tiny_encoder(holds_quick_gelu=False, states_quick_gelu=True, name="clip-b32")
    with pytest.warns(
        selftest.SelfTestWarning, match=r"(?s)clip-b32.*fails its self-test \(.*activation: .*holds gelu"
    ):
        selftest.check_on_load("clip-b32", wrong)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selftest.check_on_load("open_clip:ViT-B-32/openai", wrong)
        selftest.check_on_load("blip2-itm-g", MatchingStub(lambda logits: softmax(logits)[1]))


def test_on_load_few_pictures_are_encoded():
    rows = []

    def counted(pixels):
        rows.append(len(pixels))
        return pixels.flatten(1)[:, :8]

    selftest.selftest(stub(StubTowers(image=counted)))
    assert sum(rows) == 3


def test_golden_table_is_well_formed():
    assert {name for name in ALIASES if name not in selftest.GOLDEN} == {"negclip-b32"}
    for golden in (golden for goldens in selftest.GOLDEN.values() for golden in goldens):
        assert len(golden.texts) == len(golden.expected) and 0 < golden.tolerance <= 0.1 and golden.source
        assert all(-1 <= value <= 1 for value in golden.expected)
        assert golden.picture.sha256 is None or len(golden.picture.sha256) == 64


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
    assert selftest.reach("clip-b32", ALIASES["clip-b32"]) == selftest.Reach(
        "timm/vit_base_patch32_clip_224.openai", (), "c0ffee"
    )
    cache(hub, "timm/ViT-SO400M-14-SigLIP-384", {"open_clip_model.safetensors": "not weights"})
    assert selftest.reach("siglip-so400m", ALIASES["siglip-so400m"]).missing == ("tokenizer (timm/ViT-B-16-SigLIP)",)
    assert "tokenizer (timm/ViT-B-16-SigLIP) is not on" in examine("siglip-so400m").models[0].words
    blip = cache(hub, "Salesforce/blip2-itm-vit-g", dict.fromkeys(("config.json", "vocab.txt"), "{}"))
    (blip / "preprocessor_config.json").write_text("{}")
    assert selftest.reach("blip2-itm-g", ALIASES["blip2-itm-g"]).missing == ("weights",)
    shards = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (blip / "model.safetensors.index.json").write_text(json.dumps(shards))
    (blip / "model-1.safetensors").write_text("")
    assert selftest.reach("blip2-itm-g", ALIASES["blip2-itm-g"]).missing == ("weights",)
    (blip / "model-2.safetensors").write_text("")
    assert selftest.reach("blip2-itm-g", ALIASES["blip2-itm-g"]).missing == ()


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
