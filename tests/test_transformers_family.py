"""The transformers family on tiny random models built from configs: no pretrained weights can be had where tests run."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from tiny_models import KINDS, SQUARE, WORDS

from sgeval.encoders import load_encoder
from sgeval.encoders.aliases import ALIASES, Alias
from sgeval.encoders.dual import similarity, weights_hash
from sgeval.encoders.itm import MATCH, ROWS
from sgeval.encoders.transformers_family import FAMILIES
from sgeval.errors import ModelUnavailable, SgevalError
from sgeval.phrases import BLIP_TEMPLATE, DUAL_ENCODER_TEMPLATE

BORDERS = {"clip": 75, "siglip": 7, "blip-2": 30}
"""Words that fit: 77 places less start and end; 8 less the end; 32 less [CLS] and [SEP]."""


@pytest.fixture(scope="module")
def folders(checkpoints):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # tensors this small are slower on many
    yield checkpoints
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def encoders(folders):
    return {kind: load_encoder(str(folders[kind])) for kind in KINDS}


@pytest.fixture(scope="module")
def crops():
    generator = np.random.default_rng(0)
    return [Image.fromarray(generator.integers(0, 255, (40, 60, 3), dtype=np.uint8)) for _ in range(5)]


@pytest.fixture
def copied(folders, tmp_path):
    """A folder of one's own to damage, with changes to its config files."""

    def copy(kind, without=(), **changes):
        folder = tmp_path / "model"
        shutil.copytree(folders[kind], folder)
        for name in without:
            (folder / name).unlink()
        for name, change in changes.items():
            path = folder / f"{name}.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
        return folder

    return copy


def edit_weights(folder, *, without="nothing", **changes):
    stored = {**load_file(folder / "model.safetensors"), **changes}
    kept = {name: weights for name, weights in stored.items() if without not in name}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})


def features(encoder, crops):
    return encoder.encode_images([encoder.prepare(crop) for crop in crops])


def refused(folder, words, kind=ModelUnavailable):
    with pytest.raises(kind, match=words) as fault:
        load_encoder(str(folder))
    assert "\n" not in str(fault.value) and type(fault.value) is kind


def facts(encoder):
    """The signature without name and hashes."""
    found = encoder.signature()
    text, image = (found[key].rpartition("-")[0] for key in ("text", "image"))
    return found["act"], text, image, found["score"], found["precision"], found["prep"]


def test_what_is_read_from_the_folder(encoders, folders):
    clip, siglip, blip = encoders.values()
    assert facts(clip) == ("quickgelu", "77tok-end", "32px-shortest-bicubic", "cosine", "fp32", "pil")
    assert facts(siglip) == ("gelu_tanh", "8tok-full", "32px-squash-bicubic", "sigmoid", "fp32", "pil")
    assert facts(blip) == ("gelu", "32tok-end", "32px-squash-bicubic", "itm", "fp32", "pil")
    assert (clip.template, siglip.template, blip.template) == (DUAL_ENCODER_TEMPLATE,) * 2 + (BLIP_TEMPLATE,)
    # by hand: CLIP's mean pixel is 0.48145466, 0.4578275, 0.40821073 of 255
    assert clip.fill == (123, 117, 104) and clip.pixels.mean == (0.48145466, 0.4578275, 0.40821073)
    assert all((found.name, found.device, found.image_size) == (kind, "cpu", 32) for kind, found in encoders.items())
    stored = load_file(folders["siglip"] / "model.safetensors")
    assert siglip.facts.scale == pytest.approx(math.exp(stored["logit_scale"].item()))
    assert siglip.facts.bias == stored["logit_bias"].item()


def test_shapes_and_types(encoders, crops):
    texts = ["dog on table", "cat"]
    for kind, size in (("clip", 16), ("siglip", 32)):
        for found, count in ((features(encoders[kind], crops), 5), (encoders[kind].encode_texts(texts), 2)):
            assert found.shape == (count, size) and found.dtype == np.float32
            assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    # by hand: 2 x 2 patches and the class token; 32 places
    states, ids = features(encoders["blip-2"], crops), encoders["blip-2"].encode_texts(texts)
    assert states.shape == (5, 5, 32) and states.dtype == np.float32
    assert ids.shape == (2, 32) and ids.dtype == np.int64
    assert [row[row > 0].tolist() for row in ids] == [[2, 8, 12, 13, 3], [2, 9, 3]]
    scores = encoders["blip-2"].score(states[np.array([0, 0])], ids)
    assert scores.shape == (2,) and scores.dtype == np.float64 and (scores > 0).all() and (scores < 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_those_of_the_librarys_own_forward(kind, encoders, folders, crops):
    encoder, texts = encoders[kind], ["dog on table", "cat", "man on horse left of cat", "a photo of a dog", "a"]
    model = getattr(transformers, FAMILIES[kind].model_class).from_pretrained(folders[kind])
    assert encoder.facts.weights == weights_hash(model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[kind])
    padding = {"padding": "max_length", "max_length": 8} if kind == "siglip" else {"padding": True}
    inputs = tokenizer(texts, return_tensors="pt", return_token_type_ids=False, **padding)
    if kind == "siglip":
        del inputs["attention_mask"]  # it was trained without
    inputs["pixel_values"] = encoder.pixels.batch([encoder.prepare(crop) for crop in crops], "cpu", torch.float32)
    pillow = transformers.AutoImageProcessor.from_pretrained(folders[kind], backend="pil")
    assert (inputs["pixel_values"] - pillow(crops, return_tensors="pt")["pixel_values"]).abs().max() < 1e-5
    more = {"use_image_text_matching_head": True} if kind == "blip-2" else {}
    with torch.inference_mode():
        output = model(**inputs, **more)
    images, words = features(encoder, crops), encoder.encode_texts(texts)
    if kind == "blip-2":
        expected = output.logits_per_image.softmax(dim=1)[:, 1]
    else:
        assert np.abs(images - output.image_embeds.numpy()).max() < 1e-6
        assert np.abs(words - output.text_embeds.numpy()).max() < 1e-6
        logits = output.logits_per_image.diagonal()
        expected = logits.sigmoid() if kind == "siglip" else logits / encoder.facts.scale
    assert np.abs(encoder.score(images, words) - expected.numpy()).max() < 1e-5 and np.ptp(expected.numpy()) > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_batches_do_not_matter(kind, encoders, crops):
    encoder, texts = encoders[kind], ["dog on table", "a", "man on horse left of cat", "cat", "dog"]
    whole = features(encoder, crops), encoder.encode_texts(texts)
    singly = [features(encoder, [crop]) for crop in crops], [encoder.encode_texts([text]) for text in texts]
    parts = tuple(map(np.concatenate, singly))
    for together, alone in zip(whole, parts, strict=True):
        assert np.abs(together - alone).max() < 1e-5
    alone = [encoder.score(parts[0][[row]], parts[1][[row]])[0] for row in range(5)]
    assert np.abs(encoder.score(*whole) - alone).max() < 1e-5


def test_itm_rows_beyond_a_chunk(encoders, crops):
    encoder, rows = encoders["blip-2"], np.arange(ROWS + 3) % 5
    states, ids = features(encoder, crops), encoder.encode_texts(["dog", "cat on table", "a", "man", "horse"])
    expected = encoder.score(states, ids)
    for kept in (states, torch.from_numpy(states.copy())):  # the latter as on a GPU
        assert np.abs(encoder.score(kept[rows], ids[rows]) - expected[rows]).max() < 1e-5
    assert encoder.score(states[:0], ids[:0]).shape == (0,)
    states.flags.writeable = False
    assert np.abs(encoder.score(states, ids) - expected).max() < 1e-6


def test_fc19_class_one_is_the_match_under_one_softmax(copied, crops):
    """FC19: logits [no match, match] = [-2, 3] are 1 / (1 + exp(-5)) = 0.99330715; twice the softmax gave 0.73."""
    folder = copied("blip-2")
    edit_weights(folder, **{"itm_head.weight": torch.zeros(2, 32), "itm_head.bias": torch.tensor([-2.0, 3.0])})
    encoder = load_encoder(str(folder))
    scores = encoder.score(features(encoder, crops[:2]), encoder.encode_texts(["dog on table", "cat"]))
    assert scores == pytest.approx([0.99330715] * 2, abs=1e-7) and MATCH == 1


def test_vision_tower_runs_once_a_crop(encoders, crops):
    encoder, calls = encoders["blip-2"], []
    hook = encoder.model.vision_model.register_forward_hook(lambda module, args, output: calls.append(len(output[0])))
    states = features(encoder, crops)
    encoder.score(states[np.array([0, 1, 1, 4, 4, 4])], encoder.encode_texts(["dog", "cat", "a", "man", "on", "of"]))
    hook.remove()
    assert calls == [5]


def test_fc25_what_is_not_finite_is_nan(encoders, crops, monkeypatch):
    """FC25: the row is NaN, and the caller counts it; other rows are untouched."""
    encoder = encoders["blip-2"]
    states, ids = features(encoder, crops), encoder.encode_texts(["dog", "cat", "a", "man", "on"])
    whole = encoder.score(states, ids)
    states[1, 2, 3], states[2, 0, 0] = math.nan, math.inf
    found = encoder.score(states, ids)
    assert np.isnan(found[[1, 2]]).all() and found[[0, 3, 4]] == pytest.approx(whole[[0, 3, 4]], abs=1e-6)
    logits = torch.tensor([-math.inf, 0.0]).expand(5, 4, 2)  # whose softmax would be a score of 1
    monkeypatch.setattr(encoder.model.itm_head, "forward", lambda states: logits)
    assert np.isnan(encoder.score(states, ids)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_fc23_long_texts_keep_their_end_token(kind, encoders):
    """FC23: the cut keeps the end token, what is cut is counted, and the border makes no jump."""
    encoder, border = encoders[kind], BORDERS[kind]
    texts = [" ".join(["a"] * count) for count in (border - 1, border, border + 1, 3 * border)]
    assert encoder.truncated(texts).tolist() == [False, False, True, True]
    assert encoder.truncated([]).tolist() == []
    tokens = encoder.tokens if kind == "blip-2" else encoder.towers.tokens
    rows = tokens.ids(texts)
    assert (rows[1] == rows[2]).all() and (rows[1] == rows[3]).all()
    assert rows[1, -1] == {"clip": 513, "siglip": 0, "blip-2": 3}[kind] and rows[1, -2] == rows[1, -3] != rows[1, -1]
    if kind != "blip-2":
        found = encoder.encode_texts(texts)
        assert similarity(found[[1, 1]], found[2:]) == pytest.approx([1, 1], abs=1e-6)
        assert similarity(found[:1], found[1:2])[0] < 1 - 1e-6


def test_fc22_siglip_text_scores_the_same_beside_a_long_text(encoders):
    """FC22: padding is to the full length always, whatever else is in the batch."""
    encoder = encoders["siglip"]
    alone, beside = (encoder.encode_texts(["man on horse", *more]) for more in ([], ["dog " * 30]))
    assert np.abs(alone[0] - beside[0]).max() < 1e-6


def test_old_clip_configs_pool_at_the_highest_id(encoders, folders, copied):
    """OpenAI's configs say 2 for the end token's id; the library then takes the place of the highest id."""
    config = json.loads((folders["clip"] / "config.json").read_text())
    old = load_encoder(str(copied("clip", config={"text_config": {**config["text_config"], "eos_token_id": 2}})))
    assert old.towers.model.config.text_config.eos_token_id == 2
    assert np.abs(old.encode_texts(WORDS) - encoders["clip"].encode_texts(WORDS)).max() < 1e-6


READ = [
    ({"size": 32, "crop_size": 32}, "32px-shortest-bicubic"),
    ({"size": SQUARE, "do_center_crop": False, "resample": 2}, "32px-squash-bilinear"),
    ({"size": SQUARE}, "32px-squash-bicubic"),
]
NOT_READ = [{"do_center_crop": False}, {"resample": 0}, {"do_normalize": False}, {"rescale_factor": 1.0}]
NOT_READ += [{"size": {"shortest_edge": 36}}, {"size": {"height": 32, "width": 40}}, {"size": 48, "crop_size": 48}]


@pytest.mark.parametrize(("change", "image"), READ)
def test_preprocessing_that_is_read(change, image, copied):
    assert facts(load_encoder(str(copied("clip", preprocessor_config=change))))[2] == image


@pytest.mark.parametrize("change", NOT_READ)
def test_preprocessing_that_is_refused(change, copied):
    refused(copied("clip", preprocessor_config=change), "preprocessing that resizes to a square of 32 pixels")


@pytest.mark.parametrize("kind", KINDS)
def test_tensor_preprocessing_is_close(kind, encoders, folders, crops):
    """Measured on noise: cosines with the exact path above 0.999999, ITM scores 2e-5 away."""
    tensor = load_encoder(str(folders[kind]), preprocess="tensor")
    assert tensor.signature()["prep"] == "tensor" and tensor.prepare(crops[0]).dtype == torch.uint8
    exact, fast = features(encoders[kind], crops), features(tensor, crops)
    if kind == "blip-2":
        ids = tensor.encode_texts(["dog on table"] * 5)
        assert np.abs(tensor.score(exact, ids) - tensor.score(fast, ids)).max() < 1e-3
    else:
        assert similarity(exact, fast).min() > 0.9999


@pytest.mark.parametrize("kind", KINDS)
def test_bf16(kind, encoders, folders, crops, monkeypatch):
    monkeypatch.setattr("sgeval.encoders.device.cpu_has_bf16", lambda: False)
    with pytest.raises(SgevalError, match="no hardware support on this CPU"):
        load_encoder(str(folders[kind]), precision="bf16")
    monkeypatch.setattr("sgeval.encoders.device.cpu_has_bf16", lambda: True)
    half, whole = load_encoder(str(folders[kind]), precision="bf16"), encoders[kind]
    assert half.signature() == {**whole.signature(), "precision": "bf16"}  # the same weights as stored
    images, words = features(half, crops), half.encode_texts(WORDS[:5])
    whole_images, whole_words = features(whole, crops), whole.encode_texts(WORDS[:5])
    assert images.dtype == np.float32
    assert np.abs(half.score(images, words) - whole.score(whole_images, whole_words)).max() < 0.05
    if kind != "blip-2":
        assert np.abs(images - whole_images).max() < 0.05 and np.abs(words - whole_words).max() < 0.05
        assert np.allclose(np.linalg.norm(images, axis=1), 1, atol=1e-6)


def test_folders_without_safe_weights(copied, folders):
    folder = copied("clip", without=["model.safetensors"])
    refused(folder, "its weights could not be loaded .*no file named model.safetensors")
    torch.save(load_file(folders["clip"] / "model.safetensors"), folder / "pytorch_model.bin")
    refused(folder, "its weights could not be loaded .*no file named model.safetensors")


def test_random_weights_are_refused(copied):
    edit_weights(folder := copied("blip-2"), **{"itm_head.bias": torch.zeros(3)})
    refused(folder, r"none of the right shape for itm_head\.bias$")
    edit_weights(folder, without="itm_head")
    refused(folder, r"for Blip2ForImageTextRetrieval, got none .* itm_head\.bias and 1 more$")


def test_folders_without_tokenizer_or_preprocessing(copied):
    """Without files the library makes up a tokenizer that knows no word."""
    folder = copied("clip", without=["tokenizer.json", "tokenizer_config.json"])
    refused(folder, "expected a tokenizer with a vocabulary, got an empty one")
    (folder / "preprocessor_config.json").unlink()
    refused(folder, "its preprocessing could not be loaded")


def test_tokenizer_without_the_end_token(copied):
    kind = {"tokenizer_class": "TokenizersBackend"}
    folder = copied("clip", tokenizer={"post_processor": None}, tokenizer_config=kind)
    refused(folder, "ends texts with token 513, got 320")  # "a" at the end of a word: 256 + 97 - 33


OTHERS = [("bert", 'clip, siglip, blip-2, got "bert"$'), ("siglip2", "NaFlex"), (None, "null$")]


@pytest.mark.parametrize(("model_type", "words"), OTHERS)
def test_other_model_types_are_refused(model_type, words, copied):
    refused(copied("clip", config={"model_type": model_type}), words, SgevalError)


def test_alias_must_tell_the_truth(folders, monkeypatch):
    right = Alias("transformers", str(folders["clip"]), "cosine", "quickgelu", 77, "end", "shortest", "{subject}")
    monkeypatch.setitem(ALIASES, "tiny", right)
    assert load_encoder("tiny").template == "{subject}"
    bare = dict.fromkeys(("score_rule", "activation", "text_length", "padding", "image_mode"))
    for kind, change, words in (
        ("clip", {"activation": "gelu"}, "expected activation gelu, got quickgelu"),
        ("siglip", {"padding": "end"}, "expected padding end, got full"),
        ("blip-2", {"text_length": 99}, "expected text length 99, got 40"),
        ("clip", {"score_rule": "itm"}, 'expected a model scored by itm, got "clip", scored by cosine'),
    ):
        monkeypatch.setitem(ALIASES, "tiny", replace(right, identifier=str(folders[kind]), **{**bare, **change}))
        refused("tiny", words)


@pytest.mark.parametrize("model", ["transformers:no-such-org/no-such-model@abc", "blip2-itm-g"])
def test_hub_names_offline_are_one_clear_line(model, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    refused(model, f"{model}.*not on this machine .*or name a local folder, or the model demo$")


def test_named_folder_and_quiet_loading(folders, capfd):
    load_encoder(f"transformers:{folders['clip']}")
    assert capfd.readouterr() == ("", "")


@pytest.mark.network
def test_blip2_itm_tells_a_right_text_from_a_wrong_one():
    encoder = load_encoder("blip2-itm-g")
    picture = Image.new("RGB", (224, 224), "white")
    picture.paste((255, 0, 0), (40, 40, 184, 184))
    texts = ["a red square on a white background", "a brown dog sleeping on a sofa"]
    right, wrong = encoder.score(features(encoder, [picture])[[0, 0]], encoder.encode_texts(texts))
    assert right > 0.5 > wrong
