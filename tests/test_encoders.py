"""The open_clip family on tiny random models built from configs: no pretrained weights can be had where tests run."""

import math

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from tiny_open_clip import CLIP, SIGLIP, encoder, features, siglip_tokens, tiny_model

from sgeval.encoders import load_encoder
from sgeval.encoders.dual import similarity, weights_hash
from sgeval.errors import SgevalError


def test_features_are_unit_float32(crops):
    found = features(encoder(), crops)
    assert found.shape == (7, 16) and found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    texts = encoder().encode_texts(["dog on table", "cat"])
    assert texts.shape == (2, 16) and np.allclose(np.linalg.norm(texts, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("config", [CLIP, SIGLIP], ids=["clip", "siglip"])
def test_batches_do_not_matter(config, crops):
    tiny = encoder(config, None if config is CLIP else siglip_tokens)
    texts = ["dog on table", "a", "cat left of dog and cup"]
    together = features(tiny, crops), tiny.encode_texts(texts)
    alone = [features(tiny, [crop])[0] for crop in crops], [tiny.encode_texts([text])[0] for text in texts]
    for whole, parts in zip(together, alone, strict=True):
        assert np.abs(whole - np.stack(parts)).max() < 1e-5


def test_trimming_texts_changes_nothing():
    """CLIP's tower never reads what follows the end token: cut or padded to full length, the features are the same."""
    tiny, texts = encoder(), ["dog on table", "a", " ".join(["dog"] * 75), " ".join(["dog"] * 90)]
    tokens = open_clip.SimpleTokenizer()(texts, context_length=77)
    with torch.inference_mode():
        whole = torch.nn.functional.normalize(tiny.towers.model.encode_text(tokens), dim=-1).numpy()
    assert np.abs(tiny.encode_texts(texts) - whole).max() < 2e-6
    assert np.abs(tiny.encode_texts(texts[:2]) - whole[:2]).max() < 2e-6, "alone, where they are cut short"


def test_fc26_half_precision_without_hardware_is_refused_before_weights_are_looked_for(monkeypatch):
    """FC26: on a CPU that lacks it, with what to do; unknown names are refused by name."""
    monkeypatch.setattr("sgeval.encoders.device.cpu_has_bf16", lambda: False)
    with pytest.raises(SgevalError, match='"bf16" has no hardware support on this CPU; use "fp32"'):
        load_encoder("clip-b32", device="cpu", precision="bf16")
    with pytest.raises(SgevalError, match='precision: expected one of fp32, bf16, got "fp16"'):
        load_encoder("demo", precision="fp16")
    with pytest.raises(SgevalError, match="preprocess: expected one of pil, tensor"):
        load_encoder("demo", preprocess="fast")


def test_bf16_is_close_and_signed(crops, monkeypatch):
    """Weights in bfloat16 (8 bits of mantissa): cosines move by less than 0.02, the hash is that of the stored weights."""
    monkeypatch.setattr("sgeval.encoders.device.cpu_has_bf16", lambda: True)
    half, full = load_encoder("demo", precision="bf16"), load_encoder("demo")
    assert half.signature()["precision"] == "bf16" and half.facts.weights == full.facts.weights
    first, second = features(half, crops), features(full, crops)
    assert first.dtype == np.float32 and np.allclose(np.linalg.norm(first, axis=1), 1, atol=1e-6)
    assert 0 < np.abs(similarity(first, second) - 1).max() < 0.02


@pytest.mark.parametrize("mode", ["shortest", "longest", "squash"])
def test_tensor_preprocessing_is_close_in_every_mode(mode):
    """uint8 and antialiased: on smooth pictures within 2 levels of 255 of Pillow's way (std 0.5, so 2 levels = 0.016)."""
    from sgeval.encoders.pixels import Pixels

    rows, columns = np.mgrid[0:90, 0:130]
    smooth = np.stack([rows * 2, columns, 255 - rows * 2], axis=-1).astype(np.uint8)
    for crop in (Image.fromarray(smooth), Image.fromarray(smooth.transpose(1, 0, 2).copy())):
        half = (0.5, 0.5, 0.5)
        exact = Pixels(32, mode, half, half, fill=(10, 20, 30))
        fast = Pixels(32, mode, half, half, fill=(10, 20, 30), path="tensor")
        expected = exact.batch([exact.prepare(crop)], "cpu", torch.float32)
        found = fast.batch([fast.prepare(crop)], "cpu", torch.float32)
        assert found.shape == expected.shape == (1, 3, 32, 32)
        assert (found - expected).abs().max() < 0.017


def test_out_of_memory_is_told_apart():
    from sgeval.encoders.device import memory_guard
    from sgeval.errors import OutOfMemory

    for fault in (torch.OutOfMemoryError("CUDA out of memory"), MemoryError(), RuntimeError("can't allocate memory")):
        with pytest.raises(OutOfMemory), memory_guard():
            raise fault
    with pytest.raises(RuntimeError, match="shape"), memory_guard():
        raise RuntimeError("shape mismatch")


def test_fc22_siglip_text_scores_the_same_beside_a_long_text():
    """FC22: padding is to the full length always, whatever else is in the batch."""
    tiny = encoder(SIGLIP, siglip_tokens, rule="sigmoid")
    alone = tiny.encode_texts(["man on horse"])
    beside = tiny.encode_texts(["man on horse", " ".join(["word"] * 30)])
    assert np.abs(alone[0] - beside[0]).max() < 1e-6


def test_siglip_score_is_the_sigmoid_of_scaled_cosine():
    tiny = encoder(SIGLIP, siglip_tokens, rule="sigmoid")
    first = np.array([[1.0] + [0.0] * 15, [1.0] + [0.0] * 15], dtype=np.float32)
    second = np.array([[1.0] + [0.0] * 15, [0.0, 1.0] + [0.0] * 14], dtype=np.float32)
    # by hand: cosines 1 and 0; open_clip starts with scale 1/0.07 and the config's bias is -10
    expected = [1 / (1 + math.exp(-(1 / 0.07 - 10))), 1 / (1 + math.exp(10))]
    assert tiny.score(first, second) == pytest.approx(expected, abs=1e-6)


def test_fc23_long_texts_keep_their_end_token():
    """FC23: the cut keeps the end token; what is cut is counted; the score changes smoothly across the border."""
    tiny = encoder()
    tokenizer = open_clip.SimpleTokenizer()
    texts = [" ".join(["dog"] * n) for n in (74, 75, 76, 200)]
    tokens = tokenizer(texts, context_length=77)
    assert (tokens == tokenizer.eot_token_id).sum(dim=1).tolist() == [1, 1, 1, 1]
    # by hand: 77 places, two of them for start and end, so 75 words fit
    assert tiny.truncated(texts).tolist() == [False, False, True, True]
    features = tiny.encode_texts(texts)
    assert similarity(features[1:2], features[2:3])[0] == pytest.approx(1, abs=1e-6)
    assert similarity(features[1:2], features[3:4])[0] == pytest.approx(1, abs=1e-6)


def test_siglip_truncation_is_counted():
    tiny = encoder(SIGLIP, siglip_tokens)
    # by hand: 8 places, one for the end, so 7 words fit
    assert tiny.truncated(["a b c d e f g", "a b c d e f g h"]).tolist() == [False, True]
    assert tiny.truncated([]).tolist() == []


def test_quick_gelu_moves_the_features_and_stands_in_the_signature(crops):
    """FC21: the two activations differ by x·sigmoid(1.702x) against GELU, so the numbers move."""
    gelu, quick = encoder(quick_gelu=False), encoder(quick_gelu=True)
    assert gelu.facts.weights == quick.facts.weights
    assert np.abs(features(gelu, crops) - features(quick, crops)).max() > 1e-5
    assert (gelu.signature()["act"], quick.signature()["act"]) == ("gelu", "quickgelu")


def test_fc25_a_zero_feature_is_nan_not_zero(crops):
    """FC25: a zero norm gives NaN, which the caller counts; other rows are untouched."""
    tiny = encoder()
    whole = features(tiny, crops[:2])
    real = tiny.towers.model.encode_image
    tiny.towers.model.encode_image = lambda pixels: real(pixels) * torch.tensor([[0.0], [1.0]])
    found = features(tiny, crops[:2])
    assert np.isnan(found[0]).all() and np.allclose(found[1], whole[1])


def test_weights_hash_follows_the_weights():
    assert weights_hash(tiny_model(CLIP, 0)) == weights_hash(tiny_model(CLIP, 0))
    assert weights_hash(tiny_model(CLIP, 0)) != weights_hash(tiny_model(CLIP, 1))


def test_demo_model_loads_and_pads_by_itself():
    demo = load_encoder("demo")
    assert demo.image_mode == "longest" and demo.score_rule == "cosine"
    assert demo.truncated(["dog left of cat", " ".join(["dog"] * 40)]).tolist() == [False, True]


def test_fc27_arrays_and_pictures_give_the_same_features():
    """FC27: arrays become pictures first, so the same pixels give the same features."""
    from sgeval.images import load_image

    array = np.random.default_rng(0).integers(0, 255, (700, 1000, 3), dtype=np.uint8)
    demo = load_encoder("demo")
    first = features(demo, [load_image(array)])
    second = features(demo, [load_image(Image.fromarray(array))])
    assert np.abs(first - second).max() < 1e-5


@pytest.mark.parametrize("mode", ["shortest", "longest", "squash"])
def test_the_exact_path_is_open_clips_to_the_last_bit(mode, crops):
    """Normalised batch by batch on uint8: the same float32 as open_clip's own transform gives crop by crop."""
    from sgeval.encoders.pixels import Pixels

    mean, std = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    pixels = Pixels(32, mode, mean, std, fill=(10, 20, 30))
    own = open_clip.image_transform(
        32, is_train=False, mean=mean, std=std, resize_mode=mode, interpolation="bicubic", fill_color=(10, 20, 30)
    )
    found = pixels.batch([pixels.prepare(crop) for crop in crops], "cpu", torch.float32)
    assert torch.equal(found, torch.stack([own(crop) for crop in crops]))


def test_truncation_is_counted_where_the_end_is_also_the_padding(tmp_path):
    """SigLIP's tokenizer pads with its end token. By hand: 8 places, one for the end, so 7 words fit."""
    import transformers
    from tiny_models import siglip_parts

    siglip_parts()[1].save_pretrained(tmp_path)
    tokenizer = open_clip.tokenizer.HFTokenizer(str(tmp_path), context_length=8, clean="canonicalize")
    assert isinstance(tokenizer.tokenizer, transformers.PreTrainedTokenizerBase)
    assert tokenizer.tokenizer.pad_token_id == tokenizer.tokenizer.eos_token_id
    tiny = encoder(SIGLIP, tokenizer)
    assert tiny.truncated(["dog cat man on a table left", "dog cat man on a table left of"]).tolist() == [False, True]
