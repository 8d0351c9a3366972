"""The gold set: every category derived anew from its evidence, parts that share no family, and how it is made."""

import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from reference.judge_gold_reference import Reference

from benchmarks.judge_gold import build, wordnet_asset
from benchmarks.judge_gold.rules import Sources
from sgeval.errors import SgevalError
from sgeval.judges.dictionary import ASSET, dictionary
from sgeval.judges.embedding import STORED
from sgeval.judges.gold import GOLD, gold_digest, read_gold, read_probe

GOLD_SHA = "4cbe5f8ee9dbf53d07dc076ef709296c5942f66ca7d5af6f839e048b43f13139"
WORDNET_SHA = "1c62434a7038e2dfaa8641102a4d6c315f1ac4b280b7c06b73e11707dac27bca"


@pytest.fixture(scope="module")
def rows():
    return [json.loads(line) for line in gzip.decompress(GOLD.read_bytes()).decode("utf-8").splitlines()]


@pytest.fixture(scope="module")
def reference():
    return Reference()


def test_every_category_follows_from_its_evidence(rows, reference):
    wrong = [row for row in rows if reference.category(row) != row["category"]]
    assert wrong == [] and len(rows) >= 2200


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("lvis", {"prediction": "banana"}),
        ("far", {"reference": "dog", "prediction": "puppy"}),
        ("opposites", {"evidence": {"opposites": ["on", "in"], "verb": ""}}),
        ("similar", {"reference": "red", "prediction": "green"}),
        ("inflection", {"prediction": "dogged"}),
        ("sense trap", {"reference": "person", "prediction": "child"}),
        ("sense trap", {"evidence": {"lvis": [1, 2], "senses": ["dog.n.01", "cat.n.01"], "meeting": ["dog.n.01"] * 2}}),
        ("acts apart", {"evidence": {"acts": ["eating", "biting"], "senses": ["eat.v.01", "bite.v.01"]}}),
        ("aim", {"evidence": {"act": "sitting on", "place": "on"}}),
        ("placed act", {"evidence": {"act": "looking at", "place": "at"}}),
        ("same place", {"evidence": {"places": ["on", "in"]}}),
        ("part", {"evidence": {"lvis": [1, 2], "senses": ["dog.n.01", "cat.n.01"]}}),
    ],
)
def test_the_derivation_can_fail(rows, reference, rule, change):
    row = next(row for row in rows if row["rule"] == rule)
    with pytest.raises(ValueError, match="does not hold"):
        reference.category(row | change)


def test_parts_and_families(rows):
    families = {
        part: {one for row in rows if row["part"] == part for one in row["families"]} for part in ("dev", "test")
    }
    assert not families["dev"] & families["test"]
    assert len(read_gold("dev")) + len(read_gold("test")) == len(rows)
    labels = Counter(frozenset((row["kind"], row["reference"], row["prediction"])) for row in rows)
    assert max(labels.values()) == 1  # nor the same pair the other way round
    per_category = Counter(row["category"] for row in rows)
    assert set(per_category) == {"identical", "synonym", "hypernym", "overlap", "mismatch"}
    assert min(per_category.values()) >= 290
    with pytest.raises(SgevalError, match='part: expected one of dev, test, got "tset"; did you mean "test"'):
        read_gold("tset")


def test_no_living_thing_is_a_part(rows, reference):
    """A foal is a member of the horses, and no part of a horse."""
    wordnet = reference.wordnet
    organism = wordnet.named("organism.n.01")
    parts = [row for row in rows if row["rule"] == "part"]
    assert parts and not any(organism in wordnet.above(wordnet.named(row["evidence"]["senses"][0])) for row in parts)
    assert organism in wordnet.above(wordnet.named("foal.n.01")), "the check can fail"


def test_forms_of_verbs_name_no_thing(rows, reference):
    """Where the forms were made from WordNet. Nor is what a verb entails taken for something like it."""
    wordnet = reference.wordnet
    thing = wordnet.named("physical_entity.n.01")
    named = {
        label
        for row in rows
        if row["kind"] == "predicate" and row["rule"] in ("inflection", "synonym", "hypernym", "antonym")
        for label in (row["reference"], row["prediction"])
        if label.endswith("ing") and any(thing in wordnet.above(one) for one in wordnet.all_senses(label, "n"))
    }
    assert named == set() and "entailment" not in {row["rule"] for row in rows}
    assert any(thing in wordnet.above(one) for one in wordnet.all_senses("clothing", "n")), "the check can fail"


def test_it_is_made_again_the_same(rows):
    sources = Sources(dictionary())
    made = build.gold_rows(sources)
    assert json.loads(json.dumps(made)) == rows
    assert hashlib.sha256(build.json_lines(made).encode()).hexdigest() == gold_digest() == GOLD_SHA
    probe = [(row["kind"], row["reference"], row["prediction"]) for row in build.probe_rows(sources)]
    assert probe == [(pair.kind, pair.reference, pair.prediction) for pair in read_probe()] and len(probe) == 500


def test_the_stored_cuts_are_of_this_gold_set():
    assert json.loads(STORED.read_text())["gold"] == gold_digest()


def test_wordnet_asset():
    text = gzip.decompress(ASSET.read_bytes())
    assert hashlib.sha256(text).hexdigest() == WORDNET_SHA
    licence = ASSET.with_name("LICENSE.txt").read_text()
    assert "WordNet 3.0 Copyright 2006 by Princeton University" in licence and "the disclaimer" in licence


DICT = {
    "data.noun": (
        "  1 This software and database is being provided to you\n"
        "00000010 03 n 01 entity 0 001 ~ 00000020 n 0000 | that which is\n"
        "00000020 05 n 02 hot_dog 0 Fido 1 002 @ 00000010 n 0000 #p 00000010 n 0000 | a dog | and more\n"
    ),
    "index.noun": (
        "  1 This software\nentity n 1 1 ~ 1 1 00000010\nfido n 1 1 @ 1 0 00000020\nhot_dog n 2 1 @ 2 1 00000020 00000010\n"
    ),
    "noun.exc": "hot_dogses hot_dog\n",
    "data.verb": "00000030 38 v 01 go 0 001 $ 00000030 v 0000 01 + 02 00 | move\n",
    "index.verb": "go v 1 1 $ 1 1 00000030\n",
    "verb.exc": "went go\ngone go\n",
    "data.adj": (
        "00000040 00 a 01 wet(p) 0 002 ! 00000050 a 0101 = 00000010 n 0000 | soaked\n"
        "00000050 00 s 01 dry 0 001 & 00000040 a 0000 | not wet\n"
    ),
    "index.adj": "dry a 1 1 & 1 0 00000050\nwet a 1 1 ! 1 1 00000040\n",
    "adj.exc": "",
    "cntlist.rev": "hot_dog%1:05:00:: 2 7\ngo%2:38:00:: 1 9\nslow%4:02:00:: 1 3\n",
}


def test_the_asset_from_dictionary_files(tmp_path):
    for name, text in DICT.items():
        (tmp_path / name).write_text(text)
    assert wordnet_asset.asset_text(tmp_path) == (
        "n03\nn05 #0 @0\nv38 $2\na00 !4\na00 &3\n"
        "\n"
        "dry\ta4\nentity\tn0\nfido\tn1\ngo\tv2:9\nhot dog\tn1,0:7\nwet\ta3\n"
        "\n"
        "nhot dogses\thot dog\nvgone\tgo\nvwent\tgo\n"
    )


def test_packing_holds_neither_name_nor_time(tmp_path):
    for name in ("one.gz", "two.gz"):
        wordnet_asset.write_packed("text", tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.gz", "two.gz"))
    assert one == two and gzip.decompress(one) == b"text" and Path(tmp_path / "one.gz").name.encode() not in one
