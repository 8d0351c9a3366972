"""The judge `embedding:MODEL`: cuts, their fitting against all possible ones, and a tiny real model."""

import itertools
import random
import re
import warnings

import numpy as np
import pytest

from sgeval.errors import ModelUnavailable
from sgeval.judges import make_judge
from sgeval.judges.embedding import NEVER, Cuts, Embedding, _loaded, fit_cuts, stored_cuts
from sgeval.judges.verdicts import CATEGORIES, Pair

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
CUTS = Cuts(identical=0.9, synonym=0.7, hypernym=0.5, overlap=0.3)


def encode_by(table):
    """An encoder by a table of angles in degrees: the cosine of two texts is that of the difference."""

    def encode(texts):
        encode.seen.append(list(texts))
        angles = np.radians([table[text] for text in texts])
        return 3.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)  # of any length

    encode.seen = []
    return encode


def test_categories_by_cosine():
    # cosines 1, 0.766, 0.643, 0.5 (60°, a shade below in floats or above) and 0 (90°)
    encode = encode_by({"dog": 0, "puppy": 0, "hound": 40, "pet": 50, "stone": 90, "cat": 70})
    judge = Embedding("table", encode, CUTS)
    pairs = [Pair("object", "dog", other) for other in ("puppy", "hound", "pet", "cat", "stone")]
    assert [one.category for one in judge(pairs)] == ["identical", "synonym", "hypernym", "overlap", "mismatch"]
    assert judge.cosines(pairs) == pytest.approx(np.cos(np.radians([0, 40, 50, 70, 90])))
    assert judge([]) == [] and judge.name == "embedding:table"


def test_each_text_is_encoded_once_in_its_normal_form():
    encode = encode_by({"dog": 0, "big cat": 10})
    judge = Embedding("table", encode, CUTS)
    judge([Pair("object", "Big_Cat", "dog (uncertain)"), Pair("object", "dog", "big-cat")])
    assert encode.seen == [["big cat", "dog"]]


def test_a_vector_of_zeros_is_near_nothing():
    judge = Embedding("zeros", lambda texts: np.zeros((len(texts), 4)), CUTS)
    assert judge([Pair("object", "a", "b")])[0].category == "mismatch"


def recall_of(cuts, cosines, categories):
    """The mean over the categories that occur of the share of their pairs that the cuts put right."""
    shares = []
    for category in set(categories):
        held = [cuts.category(cosine) == category for cosine, one in zip(cosines, categories) if one == category]
        shares.append(sum(held) / len(held))
    return sum(shares) / len(shares)


@pytest.mark.parametrize("seed", range(25))
def test_fitted_cuts_are_the_best_of_all(seed):
    """Against every way to place four cuts, on cosines with ties."""
    rng = random.Random(seed)
    cosines = [rng.choice([-0.2, 0.1, 0.3, 0.4, 0.6, 0.8, 0.9]) for _ in range(9)]
    categories = [rng.choice(CATEGORIES[rng.randrange(2) :]) for _ in cosines]
    places = [NEVER, -NEVER, *(value - 1e-9 for value in set(cosines))]
    ways = itertools.combinations_with_replacement(sorted(places, reverse=True), 4)
    best = max(recall_of(Cuts(*way), cosines, categories) for way in ways)
    assert recall_of(fit_cuts(cosines, categories), cosines, categories) == pytest.approx(best)


def test_cuts_lie_half_way():
    # 0.9 identical, 0.7 synonym, 0.5 hypernym, 0.3 overlap, 0.1 mismatch
    assert fit_cuts([0.1, 0.3, 0.5, 0.7, 0.9], CATEGORIES[::-1]) == Cuts(
        *(pytest.approx(value) for value in (0.8, 0.6, 0.4, 0.2))
    )


def test_cuts_are_stored_for_a_whole_repository():
    """Another owner's model of the same name is another model."""
    stored = stored_cuts("sentence-transformers/all-MiniLM-L6-v2")
    assert stored_cuts("another") is stored_cuts("evil/all-MiniLM-L6-v2") is stored_cuts("all-MiniLM-L6-v2") is None
    assert 1 > stored.identical > stored.synonym > stored.hypernym > stored.overlap > 0


def test_stored_cuts_are_taken_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judges = [Embedding(name, encode_by({})) for name in ("all-MiniLM-L6-v2", MINILM)]
    assert judges[0].cuts == judges[1].cuts == stored_cuts(MINILM)
    assert judges[0].name == judges[1].name == f"embedding:{MINILM}"


def by_letters(texts):
    return np.array([[len(text), 1 + text.count("a")] for text in texts], float)


def test_a_folder_is_named_by_its_weights(tmp_path, monkeypatch):
    """Whatever a folder is called it gets no stored cuts, also where it lies at the path that a repository's id would be."""
    monkeypatch.chdir(tmp_path)
    names = []
    for place, weights in (("all-MiniLM-L6-v2", b"one"), (MINILM, b"two"), ("copy/all-MiniLM-L6-v2", b"one")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "model.safetensors").write_bytes(weights)
        (tmp_path / place / "README.md").write_text(place)
        with pytest.warns(UserWarning, match="no cuts are stored for this model"):
            judge = Embedding(place, by_letters)
        assert judge.cuts != stored_cuts(MINILM)
        names.append(judge.name)
    assert names[0] == names[2] != names[1]
    assert all(re.fullmatch(r"embedding:all-MiniLM-L6-v2 \(folder [0-9a-f]{12}\)", name) for name in names)


def test_another_model_is_fitted_and_says_so():
    with pytest.warns(
        UserWarning, match="embedding:mine: no cuts are stored for this model; fitted on the 303 dev pairs"
    ):
        judge = Embedding("mine", by_letters)
    assert judge.cuts.identical >= judge.cuts.synonym >= judge.cuts.hypernym >= judge.cuts.overlap


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A random BERT of a few thousand numbers, saved as sentence-transformers saves models."""
    pytest.importorskip("sentence_transformers")
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(words))
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    torch.manual_seed(0)
    bert = BertModel(BertConfig(vocab_size=len(words), max_position_embeddings=64, **sizes))
    bert.save_pretrained(folder / "bert")
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    layer = modules.Transformer(str(folder / "bert"))
    SentenceTransformer(modules=[layer, modules.Pooling(16)], device="cpu").save(str(folder / "my-model"))
    return folder / "my-model"


def test_a_real_model_from_a_folder(tiny):
    with pytest.warns(UserWarning, match="no cuts are stored"):
        judge = make_judge(f"embedding:{tiny}")
    assert re.fullmatch(r"embedding:my-model \(folder [0-9a-f]{12}\)", judge.name)  # no path
    same, other = judge.cosines([Pair("object", "dog", "Dog"), Pair("object", "dog", "a bicycle")])
    assert same == pytest.approx(1.0, abs=1e-6) and other < 0.9999
    again = Embedding(str(tiny), cuts=judge.cuts)
    pairs = [Pair("object", "dog", "animal"), Pair("predicate", "on", "under")]
    assert again(pairs) == judge(pairs)


def test_a_model_that_is_not_there(monkeypatch, tmp_path):
    pytest.importorskip("sentence_transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelUnavailable, match=r"judge embedding:.*empty: the model cannot be had: ") as caught:
        make_judge(f"embedding:{tmp_path / 'empty'}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("cached", "answers", "tries"),
    [
        (None, False, [True]),
        (None, True, [False]),
        ("modules.json", False, [True]),
        ("modules.json", True, [True, False]),
    ],
)
def test_the_hub_is_asked_once_and_for_what_is_not_here(monkeypatch, cached, answers, tries):
    """Where it does not answer the model is looked for in the cache alone, without tries that take minutes. What is there in
    part is fetched."""
    import huggingface_hub

    made = []

    def ask(self, name, timeout):
        if not answers:
            raise ConnectionError(name)

    def load(name, *, local_files_only, model_kwargs):
        made.append(local_files_only)
        if local_files_only and answers:
            raise OSError("not all of it is here")
        return name

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda *_: cached)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", ask)
    assert _loaded(load, "nope/nope") == "nope/nope" and made == tries


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    with pytest.raises(
        ModelUnavailable, match=r'expected sentence-transformers \(pip install "sgeval\[embedding\]"\), got'
    ):
        make_judge("embedding:all-MiniLM-L6-v2")
