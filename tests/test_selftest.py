"""The self-tests find planted faults, each by its own test."""

import warnings
from functools import lru_cache

import numpy as np
import open_clip
import pytest
import torch
from tiny_open_clip import PREPROCESSING, tiny_clip
from transformers import CLIPConfig, CLIPModel

from sgeval.encoders import load_encoder, selftest
from sgeval.encoders.aliases import ALIASES
from sgeval.encoders.dual import DualEncoder, Facts
from sgeval.encoders.open_clip_family import encoder as open_clip_encoder
from sgeval.encoders.pixels import Pixels

tokenizer = lru_cache(open_clip.SimpleTokenizer)


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
