"""From names, files and folders to encoders of open_clip: tiny random models, and what is refused."""

import json
import warnings
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from safetensors.torch import save_file
from tiny_open_clip import CLIP, SIGLIP, encoder, features, preprocess_cfg, siglip_tokens, tiny_model

from sgeval.encoders import load_encoder
from sgeval.encoders.aliases import ALIASES, Alias
from sgeval.encoders.dual import weights_hash
from sgeval.encoders.open_clip_family import load
from sgeval.errors import ModelUnavailable, SgevalError


def write_folder(folder: Path, weights: bool = True) -> Path:
    folder.mkdir(exist_ok=True)
    config = {"model_cfg": CLIP, "preprocess_cfg": preprocess_cfg(resize_mode="longest", fill_color=0)}
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    if weights:
        save_file(tiny_model(CLIP).state_dict(), folder / "open_clip_model.safetensors")
    return folder


def test_local_folder(tmp_path, crops):
    loaded = load_encoder(str(write_folder(tmp_path / "model")))
    assert loaded.image_mode == "longest" and loaded.fill == (0, 0, 0) and loaded.facts.text_length == 77
    assert loaded.facts.weights == weights_hash(tiny_model(CLIP))
    assert features(loaded, crops).shape == (7, 16)


def test_local_folder_without_weights_is_refused(tmp_path):
    """open_clip would go on with random weights."""
    with pytest.raises(ModelUnavailable, match="folder could not be loaded"):
        load_encoder(str(write_folder(tmp_path / "model", weights=False)))


def test_local_folder_without_config_is_refused(tmp_path):
    with pytest.raises(SgevalError, match=r"expected open_clip_config\.json in the folder, found none"):
        load_encoder(str(tmp_path))


def test_architecture_with_a_file(tmp_path, monkeypatch, crops):
    """`open_clip:ARCH@FILE`, and FC21's loud warning for a file that is run with GELU."""
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / "tiny-clip.json").write_text(json.dumps(CLIP))
    (configs / "tiny-clip-quickgelu.json").write_text(json.dumps({**CLIP, "quick_gelu": True}))
    open_clip.add_model_config(configs)
    weights = tmp_path / "negclip.pt"
    torch.save(tiny_model(CLIP).state_dict(), weights)
    with pytest.warns(UserWarning, match="run with GELU"):
        plain = load_encoder(f"open_clip:tiny-clip@{weights}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick = load_encoder(f"open_clip:tiny-clip-quickgelu@{weights}")
    assert plain.signature()["act"] == "gelu" and quick.signature()["act"] == "quickgelu"
    assert np.abs(features(plain, crops) - features(quick, crops)).max() > 1e-5
    with pytest.raises(ModelUnavailable, match="no such file"):
        load_encoder(f"open_clip:tiny-clip@{tmp_path / 'none.pt'}")


def test_fc21_a_tag_trained_with_quick_gelu_gets_it(tmp_path, monkeypatch):
    """FC21: `ARCH/openai` without -quickgelu in its name runs with what open_clip lists for the tag."""
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / "tiny-tagged.json").write_text(json.dumps(CLIP))
    open_clip.add_model_config(configs)
    weights = tmp_path / "openai.pt"
    torch.save(tiny_model(CLIP).state_dict(), weights)
    from open_clip import pretrained

    tags = {"openai": {"url": "", "quick_gelu": True}}
    monkeypatch.setitem(pretrained._PRETRAINED, "tiny-tagged", tags)
    monkeypatch.setattr("open_clip.factory.download_pretrained", lambda *_, **__: str(weights))
    assert load_encoder("open_clip:tiny-tagged/openai").signature()["act"] == "quickgelu"


def test_names_known_for_quick_gelu_are_warned_of(tmp_path):
    folder = write_folder(tmp_path / "my-NegCLIP")
    with pytest.warns(UserWarning, match="run with GELU"):
        load_encoder(str(folder))


@pytest.mark.parametrize("name", ["siglip-runs", "mymodel"])
def test_the_score_rule_follows_the_model_not_its_name(tmp_path, name):
    """A folder whose name says SigLIP holds a CLIP, which has no bias of a sigmoid."""
    assert load_encoder(str(write_folder(tmp_path / name))).score_rule == "cosine"


def test_siglip_is_known_by_its_bias(tmp_path, monkeypatch):
    folder = tmp_path / "mymodel"
    folder.mkdir()
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": SIGLIP, "preprocess_cfg": preprocess_cfg()}))
    save_file(tiny_model(SIGLIP).state_dict(), folder / "open_clip_model.safetensors")
    monkeypatch.setattr("open_clip.get_tokenizer", lambda *_, **__: siglip_tokens)
    assert load_encoder(str(folder)).score_rule == "sigmoid"


def test_a_changed_folder_is_loaded_anew(tmp_path):
    folder = write_folder(tmp_path / "model")
    first = load_encoder(str(folder))
    assert load_encoder(str(folder)) is first
    save_file(tiny_model(CLIP, seed=7).state_dict(), folder / "open_clip_model.safetensors")
    assert load_encoder(str(folder)).facts.weights == weights_hash(tiny_model(CLIP, seed=7)) != first.facts.weights


def test_preprocessing_and_tokenizer_stand_in_the_signature(tmp_path):
    """Other colours or another tokenizer move the score, so they move the signature."""
    first = load_encoder(str(write_folder(tmp_path / "model"))).signature()
    config = json.loads((tmp_path / "model" / "open_clip_config.json").read_text())
    config["preprocess_cfg"]["mean"] = [0.1, 0.2, 0.3]
    (tmp_path / "model" / "open_clip_config.json").write_text(json.dumps(config))
    second = load_encoder(str(tmp_path / "model")).signature()
    assert {name for name in first if first[name] != second[name]} == {"image"}
    other = encoder(SIGLIP, siglip_tokens).facts.vocabulary
    assert len({other, encoder().facts.vocabulary, load_encoder("demo").facts.vocabulary}) == 3


def test_a_path_stands_in_the_signature_by_its_last_part(tmp_path):
    assert load_encoder(str(write_folder(tmp_path / "mine"))).signature()["model"] == "mine"


def test_forced_quick_gelu_of_an_alias(tmp_path):
    """NegCLIP's alias forces QuickGELU even where the stored config forgets it."""
    folder = write_folder(tmp_path / "model")
    loaded = load("negclip-like", Alias("open_clip", str(folder), "cosine", "quickgelu"), "cpu", "fp32", "pil")
    names = {type(module).__name__ for module in loaded.towers.model.modules()}
    assert "QuickGELU" in names and loaded.signature()["act"] == "quickgelu"


def test_alias_table_is_pinned():
    assert all(ALIASES[name].activation == "quickgelu" for name in ("negclip-b32", "clip-l14", "clip-b32"))
    assert ALIASES["siglip-so400m"].score_rule == "sigmoid"
    for name in ("clip-l14", "clip-b32", "siglip-so400m"):
        arch, tag = ALIASES[name].identifier.split("/")
        assert tag in open_clip.list_pretrained_tags_by_model(arch)


def test_what_is_broken_is_said_as_it_is(tmp_path):
    """A corrupt file and an unknown architecture are not "could not be downloaded"."""
    (tmp_path / "weights.pt").write_text("no weights")
    with pytest.raises(ModelUnavailable, match="the file could not be loaded"):
        load_encoder(f"open_clip:ViT-B-32@{tmp_path / 'weights.pt'}")
    with pytest.raises(ModelUnavailable, match='knows no architecture "ViT-B-33"; did you mean "ViT-B-32"'):
        load_encoder("open_clip:ViT-B-33/openai")


@pytest.mark.parametrize("model", ["clip-b32", "negclip-b32", "hf-hub:no-such-org/no-such-model"])
def test_missing_weights_are_one_clear_line(model, monkeypatch, caplog):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelUnavailable) as fault:
        load_encoder(model)
    words = str(fault.value)
    assert "\n" not in words and model in words and "the model demo" in words
    assert not caplog.records, "the libraries' own lines are kept back"


def test_unknown_names_are_refused():
    with pytest.raises(SgevalError, match='did you mean "clip-l14"'):
        load_encoder("clip-l15")
    with pytest.raises(SgevalError, match="got no weights"):
        load_encoder("open_clip:ViT-B-32")
    with pytest.raises(SgevalError, match="cannot be used here"):
        load_encoder("demo", device="no-such-device")
