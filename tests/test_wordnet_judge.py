"""The judge `wordnet`: a table of pairs by hand, each with the rule that decides it, and what holds for all pairs."""

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from sgeval.errors import SgevalError
from sgeval.judges import places
from sgeval.judges.dictionary import dictionary
from sgeval.judges.exact import Exact
from sgeval.judges.gold import read_gold
from sgeval.judges.verdicts import Pair
from sgeval.judges.wordnet import KNOWN, WordNet

OBJECTS = [
    ("car", "cars", "identical", "plain plural"),
    ("a car", "the cars", "identical", "articles"),
    ("mouse", "mice", "identical", "irregular plural"),
    ("person", "people", "identical", "people has no sense of a physical thing"),
    ("t-shirt", "tshirt", "identical", "blanks and hyphens"),
    ("ice cream", "icecream", "identical", "blanks and hyphens"),
    ("glass", "glasses", "overlap", "glasses has an entry of its own, which is counted"),
    ("couch", "sofa", "synonym", "couch.n.01 is sofa.n.01"),
    ("tap", "faucet", "hypernym", "the likeliest sense of faucet is below one of tap"),
    ("cell phone", "mobile phone", "synonym", "cell phone is looked up as cellphone"),
    ("dog", "animal", "hypernym", "animal.n.01 is above dog.n.01"),
    ("man", "person", "hypernym", "person.n.01 is above man.n.01"),
    ("dog", "cat", "mismatch", "kinds of one thing"),
    ("knife", "fork", "mismatch", "kinds of one thing"),
    ("man", "woman", "mismatch", "antonyms"),
    ("wheel", "car", "mismatch", "part and whole"),
    ("hot dog", "dog", "mismatch", "hot dog is a word of its own, and its sense of dog a rare one"),
    ("chair", "president", "mismatch", "they share rare senses only"),
    ("person", "dog", "mismatch", "a person by a rare sense only"),
    ("person", "toaster", "mismatch", "a person by a sense that is not counted"),
    ("adult", "cat", "mismatch", "a person by a rare sense only"),
    ("woman", "dish", "mismatch", "a person by a rare sense only"),
    ("bird", "meat", "mismatch", "meat by a rare sense only"),
    ("dog", "puppy", "hypernym", "puppy.n.01 is below dog.n.01"),
    ("paddle", "oar", "hypernym", "a word that is not counted may be any thing that it names"),
    ("bird", "chicken", "hypernym", "the second sense of chicken has more than half the counts of the first"),
    ("bus", "banana", "mismatch", "nothing in common"),
    ("dog", "object", "mismatch", "too broad to say anything"),
    ("car", "thing", "mismatch", "too broad to say anything"),
    ("red car", "car", "hypernym", "known by its head"),
    ("red car", "vehicle", "hypernym", "known by its head"),
    ("red car", "blue car", "overlap", "one head, other rests"),
    ("red couch", "red sofa", "synonym", "one rest, heads that are synonyms"),
    ("red car", "red dog", "mismatch", "heads that mismatch"),
    ("glass of water", "glass", "hypernym", "the head stands before of"),
    ("pair of skis", "ski", "synonym", "but not after an amount"),
    ("man in suit", "man", "hypernym", "the head stands before the preposition"),
    ("ball/sports ball", "ball", "identical", "of the annotation's alternatives the closest"),
    ("ball", "ball/banana/dog", "mismatch", "of a prediction's the furthest"),
    ("not dog", "dog", "mismatch", "a negation"),
    ("forget-me-not", "plant", "hypernym", "a word of its own, whatever is in it"),
    ("blarg", "blorg", "mismatch", "unknown words"),
    ("blarg", "blargs", "mismatch", "unknown words have no base forms"),
]
ATTRIBUTES = [
    ("large", "big", "synonym", "large.a.01"),
    ("small", "tiny", "overlap", "tiny is a satellite of small"),
    ("large", "larger", "overlap", "a degree"),
    ("open", "closed", "mismatch", "antonyms"),
    ("large", "small", "mismatch", "antonyms"),
    ("red", "green", "mismatch", "kinds of colour"),
    ("red", "crimson", "synonym", "red.s.01"),
    ("wooden", "wood", "synonym", "the stuff it is made of"),
    ("dark blue", "blue", "hypernym", "a shade"),
    ("sober", "drunk", "mismatch", "antonyms, though forms of one verb would overlap"),
    ("mortal", "immortal", "mismatch", "antonyms, though as nouns one is above the other"),
    ("not red", "red", "mismatch", "a negation"),
    ("isn't red", "red", "mismatch", "a negation"),
    ("non-metallic", "metallic", "mismatch", "a negation"),
    ("sitting", "seated", "synonym", "seated.a.01"),
    ("parked", "parking", "identical", "forms of one verb"),
    ("dry", "dried", "overlap", "forms of one verb, but two adjectives"),
    ("grey", "gray", "synonym", "two spellings of one sense"),
]
PREDICATES = [
    ("sitting on", "sits on", "identical", "forms of one verb, one place"),
    ("sitting on", "is sitting on", "identical", "the auxiliary goes"),
    ("sitting on", "sits on top of", "synonym", "one verb, places of one meaning"),
    ("sitting on", "standing on", "mismatch", "kinds of one relation"),
    ("sitting on", "sitting under", "mismatch", "places that exclude each other"),
    ("sitting on", "on", "hypernym", "a place alone"),
    ("on", "sitting on", "hypernym", "the other way round"),
    ("sitting on", "in", "overlap", "places that overlap"),
    ("sitting on", "under", "mismatch", "places that exclude each other"),
    ("riding on", "riding", "hypernym", "a verb alone"),
    ("riding", "ride", "identical", "forms of one verb"),
    ("picking up", "lifting", "hypernym", "the whole is a verb of WordNet, below lift"),
    ("leaning on", "leaning against", "synonym", "the whole is a verb of WordNet"),
    ("carrying", "with", "mismatch", "a verb alone against a place alone"),
    ("carrying", "carried by", "mismatch", "the passive"),
    ("coming", "going", "mismatch", "antonyms, though go is above come"),
    ("waking", "sleeping", "mismatch", "antonyms, though one entails the other"),
    ("not near", "near", "mismatch", "one is denied"),
    ("not on", "on", "mismatch", "one is denied"),
    ("is not in", "in", "mismatch", "one is denied"),
    ("on", "isn't on", "mismatch", "one is denied"),
    ("never touching", "touching", "mismatch", "one is denied"),
    ("not wearing", "wearing", "mismatch", "one is denied"),
    ("cannot see", "see", "mismatch", "one is denied"),
    ("without", "with", "mismatch", "they exclude each other"),
    ("not on", "not upon", "synonym", "both are denied"),
    ("facing away from", "facing", "mismatch", "away turns it round"),
    ("walking away from", "walking", "mismatch", "away turns it round"),
    ("facing", "facing away", "mismatch", "away turns it round"),
    ("looking away", "looking", "mismatch", "away turns it round"),
    ("looking away from", "looking at", "mismatch", "places that exclude each other"),
    ("walking away from", "away from", "hypernym", "a place alone"),
    ("going away", "leaving", "synonym", "the whole is a verb of WordNet"),
    ("sitting by", "sitting next to", "synonym", "by after a form in -ing is a place"),
    ("above", "below", "mismatch", "they exclude each other"),
    ("left of", "to the right of", "mismatch", "they exclude each other"),
    ("left of", "to the left of", "synonym", "one group of the table"),
    ("next to", "beside", "synonym", "one group of the table"),
    ("next to", "near", "hypernym", "near is broader"),
    ("on", "above", "overlap", "told for each other"),
    ("on", "between", "mismatch", "neither"),
    ("has", "with", "synonym", "one group of the table"),
    ("looking at", "on", "mismatch", "at tells whom, and no place"),
    ("looking at", "next to", "mismatch", "at tells whom, and no place"),
    ("shouting at", "in", "mismatch", "at tells whom, and no place"),
    ("attached to", "towards", "mismatch", "to is no direction but after verbs of motion"),
    ("walking to", "towards", "hypernym", "to is a direction after verbs of motion"),
    ("looking at", "staring at", "hypernym", "both are about someone"),
    ("talking to", "speaking to", "synonym", "both are about someone"),
    ("running on", "talking to", "mismatch", "to run on is to talk, but nothing one sees"),
    ("chasing", "cutting", "mismatch", "rare senses of verbs"),
    ("biting", "entering", "mismatch", "rare senses of verbs"),
    ("eating", "feeding", "mismatch", "rare senses of verbs"),
    ("caressing", "kissing", "mismatch", "one as nouns only, and both are verbs"),
    ("push", "speak to", "mismatch", "rare senses of verbs"),
    ("drinking from", "on", "mismatch", "from is no place to be"),
    ("play(instrument)", "playing", "hypernym", "known by its head"),
    ("pushing", "pulling", "mismatch", "antonyms"),
    ("hugging", "embracing", "synonym", "hug.v.01 is embrace.v.02"),
    ("walking", "moving", "hypernym", "move is above walk"),
    ("eating", "being", "mismatch", "too broad to say anything"),
    ("walking", "walking", "identical", "equal"),
]
TABLE = [
    (kind, *row)
    for kind, rows in (("object", OBJECTS), ("attribute", ATTRIBUTES), ("predicate", PREDICATES))
    for row in rows
]


@pytest.mark.parametrize(
    ("kind", "reference", "prediction", "category", "rule"), TABLE, ids=[str(row) for row in TABLE]
)
def test_by_hand(kind, reference, prediction, category, rule):
    (found,) = WordNet()([Pair(kind, reference, prediction)])
    assert found.category == category, rule


def test_the_swap_changes_nothing():
    """But for alternatives of a prediction."""
    pairs = [Pair(*row[:3]) for row in TABLE if "/" not in row[1] + row[2]]
    rng = random.Random(0)
    words = rng.sample(list(dictionary().words()), 600)
    pairs += [Pair(kind, *rng.sample(words, 2)) for kind in ("object", "attribute", "predicate") for _ in range(500)]
    swapped = [Pair(pair.kind, pair.prediction, pair.reference) for pair in pairs]
    assert WordNet()(pairs) == WordNet()(swapped)


def test_one_thread_or_eight():
    """FC69: eight threads that start with an unloaded dictionary find the same, in a fresh interpreter."""
    code = """
    from concurrent.futures import ThreadPoolExecutor
    from sgeval.judges.gold import read_gold
    from sgeval.judges.wordnet import WordNet
    pairs = [row.pair for row in read_gold("dev")]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: WordNet()(pairs), range(8)))
    from sgeval.judges.dictionary import _load
    print(len({tuple(one) for one in found}), _load.cache_info().misses, *(one.category for one in found[0]))
    """
    lines = "\n".join(line[4:] for line in code.splitlines())
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [
        "1",
        "1",
        *(one.category for one in WordNet()([row.pair for row in read_gold("dev")])),
    ]


def test_threads_in_this_process():
    pairs = [row.pair for row in read_gold("dev")]
    with ThreadPoolExecutor(8) as pool:
        assert len({tuple(one) for one in pool.map(lambda _: WordNet()(pairs), range(8))}) == 1


def test_the_dictionary_waits_until_it_is_asked():
    code = "import sgeval, sgeval.judges; from sgeval.judges import make_judge; make_judge('wordnet')\n"
    code += "from sgeval.judges.dictionary import _load; print(_load.cache_info().misses)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"


def test_exact():
    pairs = [
        Pair("object", "dog", "DOG"),
        Pair("object", "dog", "dogs"),
        Pair("predicate", "in_front_of", "in front-of"),
    ]
    assert [one.category for one in Exact()(pairs)] == ["identical", "mismatch", "identical"]


class TestPlaces:
    def test_each_word_has_one_meaning(self):
        words = [word for group in places.GROUPS.values() for word in group]
        assert len(words) == len(set(words)) and not any(" the " in f" {word} " for word in words)

    def test_the_table_names_meanings(self):
        named = {one for pair in (*places.OPPOSITE, *places.CLOSE) for one in pair}
        named |= {*places.BROADER, *(up for above in places.BROADER.values() for up in above)}
        assert named <= {*places.GROUPS, places.AIM}

    def test_no_pair_stands_twice(self):
        opposite, close = ({frozenset(pair) for pair in table} for table in (places.OPPOSITE, places.CLOSE))
        broader = {frozenset((low, up)) for low, above in places.BROADER.items() for up in above}
        assert len(opposite) == len(places.OPPOSITE) and len(close) == len(places.CLOSE)
        assert not (opposite & close or opposite & broader or close & broader)


class TestDictionary:
    def test_names(self):
        wordnet = dictionary()
        assert wordnet.named("couch.n.01") == wordnet.named("sofa.n.01") != wordnet.named("couch.n.02")
        assert wordnet.named("tiny.s.01") == wordnet.senses("tiny", "a")[0]
        for name in (
            "",
            "couch",
            "couch.n",
            "couch.n.00",
            "couch.n.99",
            "couch.x.01",
            "nocouch.n.01",
            "couch.n.²",
            "a.b.c.d",
        ):
            with pytest.raises(SgevalError, match=r"sense: expected a name of WordNet 3.0 such as couch.n.01, got"):
                wordnet.named(name)

    def test_steps_to_ancestors(self):
        """dog.n.01 has two ways up: domestic animal, animal; and canine … chordate, animal."""
        wordnet = dictionary()
        steps = wordnet.ancestors(wordnet.named("dog.n.01"))
        assert steps[wordnet.named("canine.n.02")] == 1 and steps[wordnet.named("animal.n.01")] == 2

    def test_a_circle_of_hypernyms_ends(self):
        """WordNet 3.0 has one: inhibit and restrain are above each other."""
        wordnet = dictionary()
        restrain = wordnet.named("restrain.v.01")
        assert restrain not in wordnet.ancestors(restrain) and wordnet.ancestors(restrain)

    @pytest.mark.parametrize(
        ("form", "part", "bases"),
        [
            ("traffic lights", "n", ("traffic light",)),
            ("wolves", "n", ("wolf",)),
            ("sitting", "v", ("sit",)),
            ("sat down", "v", ("sit down",)),
            ("bigger", "a", ("big",)),
            ("s", "n", ()),
            ("", "n", ()),
            ("blargs", "n", ()),
        ],
    )
    def test_bases(self, form, part, bases):
        assert dictionary().bases(form, part) == bases


def test_known_labels():
    known = ("dog", "traffic lights", "sitting on", "in front of", "on", "wooden", "cell phone")
    unknown = ("blarg", "answer identical", "identical", "mismatch", "blarging on", "red car", "", 7)
    assert [one for one in known if one not in KNOWN] == [] and [one for one in unknown if one in KNOWN] == []


def test_hostile_labels_end():
    """Long and odd ones; the gate keeps most from here, but annotations are not gated."""
    labels = [
        "a " * 5000,
        "/" * 1000,
        "(" * 1000,
        "the the the",
        "of",
        "of of of",
        "not",
        "by",
        "is",
        "\ud800",
        "-",
        "en",
    ]
    for kind in ("object", "attribute", "predicate"):
        pairs = [Pair(kind, one, other) for one in labels for other in labels]
        for pair, found in zip(pairs, WordNet()(pairs), strict=True):
            assert found.category is not None and (pair.reference != pair.prediction or found.category == "identical")
