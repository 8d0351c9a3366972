"""From a model name to an encoder: what is refused, what is warned of, and in which words."""

import warnings
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from sgeval.encoders import load_encoder
from sgeval.encoders.aliases import ALIASES
from sgeval.encoders.device import check_precision
from sgeval.errors import ModelUnavailable, SgevalError

FORMS = ("open_clip:ARCH/TAG", "open_clip:ARCH@FILE", "hf-hub:ORG/REPO", "transformers:ORG/REPO", "demo")


def refusal(model: str) -> str:
    """The one line with which a name is refused."""
    with pytest.raises(SgevalError) as caught:
        load_encoder(model)
    message = str(caught.value)
    assert message.startswith("model") and "\n" not in message
    return message


def test_other_weights_than_recorded_are_warned_of(monkeypatch):
    recorded = ALIASES["demo"].weights
    monkeypatch.setitem(ALIASES, "demo", replace(ALIASES["demo"], weights="0" * 12))
    with pytest.warns(UserWarning, match=f"expected weights 000000000000, got {recorded}; scores may differ") as caught:
        assert load_encoder("demo").facts.weights == recorded
    assert [warning.filename for warning in caught] == [__file__], "it points at the caller"


def test_recorded_weights_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_encoder("demo")


@pytest.mark.parametrize(
    "facts, message",
    [
        ({"text_length": 13}, "expected text length 13, got 12 from the checkpoint"),
        ({"padding": "full"}, "expected padding full, got end from the checkpoint"),
        ({"image_mode": "squash"}, "expected image mode squash, got longest from the checkpoint"),
    ],
)
def test_a_checkpoint_that_contradicts_its_alias_is_refused(facts, message, monkeypatch):
    monkeypatch.setitem(ALIASES, "demo", replace(ALIASES["demo"], **facts))
    with pytest.raises(ModelUnavailable, match=f'^model "demo": {message}$'):
        load_encoder("demo")


@pytest.mark.parametrize("model", ["", " ", "open_clip:", "open-clip:ViT-B-32/openai", "openai/clip-vit-base-patch32"])
def test_a_name_of_no_form_is_answered_with_the_forms(model):
    message = refusal(model)
    assert all(form in message for form in FORMS) and f'got "{model}"' in message


@pytest.mark.parametrize("model", ["", "open_clip:", "transformers:"])
@pytest.mark.parametrize("config", ["config.json", "open_clip_config.json"])
def test_a_name_without_its_end_is_not_the_current_folder(model, config, tmp_path, monkeypatch):
    (tmp_path / config).write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert "ORG/REPO" in refusal(model)


@pytest.mark.parametrize("form", ["hf-hub", "transformers"])
@pytest.mark.parametrize("name", ["", "foo", "/foo", "foo/"])
def test_half_a_repository_is_answered_with_the_whole_form(form, name):
    assert refusal(f"{form}:{name}") == f'model: expected {form}:ORG/REPO, got "{form}:{name}"'


def test_a_repository_behind_open_clip_is_looked_at_too():
    assert refusal("open_clip:hf-hub:foo") == 'model: expected hf-hub:ORG/REPO, got "open_clip:hf-hub:foo"'


def test_a_revision_alone_is_no_repository():
    assert "expected transformers:ORG/REPO" in refusal("transformers:@abc")


@pytest.mark.parametrize("name", ["x/model.safetensors", "x/weights"])
def test_a_bare_file_of_weights_is_told_of_its_architecture(name, tmp_path):
    file = tmp_path / name
    file.parent.mkdir()
    file.write_bytes(b"")
    assert "expected open_clip:ARCH@FILE" in refusal(str(file))


def test_a_bare_file_that_is_not_there_is_too():
    assert "expected open_clip:ARCH@FILE" in refusal("x/model.safetensors")


def test_a_numbered_cpu_is_a_cpu(monkeypatch):
    monkeypatch.setattr("sgeval.encoders.device.cpu_has_bf16", lambda: False)
    with pytest.raises(SgevalError, match="no hardware support on this CPU"):
        check_precision("bf16", "cpu:0")
    check_precision("fp32", "cpu:0")


def test_the_named_gpu_is_asked_for_its_precision(monkeypatch):
    """Of two, the first has bfloat16 and the second has not."""
    current = ["cuda:0"]

    @contextmanager
    def on(device):
        current.append(device)
        yield
        current.pop()

    monkeypatch.setattr(torch.cuda, "device", on)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: current[-1] == "cuda:0")
    check_precision("bf16", "cuda:0")
    with pytest.raises(SgevalError, match="no hardware support on this GPU"):
        check_precision("bf16", "cuda:1")
