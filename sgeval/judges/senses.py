"""What WordNet says of two words: how a label is looked up, and what the senses of two labels are to each other."""

from dataclasses import dataclass, replace
from functools import cache, lru_cache

from sgeval.judges.dictionary import Dictionary, PartOfSpeech, Pointer, dictionary
from sgeval.judges.verdicts import Category

DEPTH = 4
"""How many senses of a word are looked at, the likeliest first: the fewest that are best on the dev part of the gold set."""

BESIDE: tuple[Pointer, ...] = ("&", "$", "*")
KEPT = 65_536  # readings held at once
_NONE: frozenset[int] = frozenset()
TOO_BROAD = (
    *(
        "entity.n.01",
        "physical_entity.n.01",
        "abstraction.n.06",
        "object.n.01",
        "whole.n.02",
        "thing.n.12",
        "matter.n.03",
    ),
    *("causal_agent.n.01", "living_thing.n.01", "organism.n.01", "artifact.n.01", "instrumentality.n.03", "unit.n.05"),
    *("psychological_feature.n.01", "attribute.n.02", "relation.n.01", "measure.n.02", "group.n.01", "part.n.02"),
    *("act.v.01", "be.v.01", "have.v.01", "make.v.03", "change.v.01", "change.v.02", "get.v.01"),
)
"""Senses that are above nearly everything. As labels they say nothing, so they are nobody's hypernym here: a system that
calls each thing "object" must not pass."""

_ARTICLES = ("a", "an", "the")
NEGATIONS = {"no", "not", "non", "never", "without", "cannot"}
_TAILS = {"in", "on", "with", "at", "from", "for", "of", "near", "behind", "under", "by"}
_AMOUNTS = {
    *(
        "pair",
        "piece",
        "slice",
        "group",
        "bunch",
        "set",
        "stack",
        "row",
        "pile",
        "kind",
        "type",
        "lot",
        "number",
        "couple",
    ),
    *("crowd", "flock", "herd", "bit", "part"),
}
"""Words before "of" that count or part what the label is about: of a pair of shoes the head is shoes."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A label as one part of speech. Without senses it is unknown."""

    forms: frozenset[str]
    """The label and, where it is a plain inflection, its base forms; without blanks, so that t-shirt and tshirt meet."""
    bases: frozenset[str]
    """The label and all words it may be a form of."""
    first: frozenset[int]
    """Its likeliest sense."""
    senses: frozenset[int]
    """The senses looked at."""
    above_first: frozenset[int]
    """The senses above the likeliest one, without the `TOO_BROAD` ones; `above` those above any."""
    above: frozenset[int]
    opposite: frozenset[int]
    """Antonyms of the senses looked at."""
    beside: frozenset[int]
    """Senses similar to them, in a group with them, or entailed by them."""
    rest: str = ""
    """What stands beside the head, where only the head is known: "red" of "red car"."""


def is_negated(label: str) -> bool:
    """Whether a word of a normalised label denies the rest.

    >>> is_negated("not near"), is_negated("isn't on"), is_negated("knot")
    (True, True, False)
    """
    return any(word in NEGATIONS or word.endswith("n't") for word in label.split(" "))


def without_articles(label: str) -> str:
    """The label without articles, unless it is nothing else.

    >>> without_articles("the left of a car"), without_articles("a")
    ('left of car', 'a')
    """
    return " ".join(word for word in label.split(" ") if word not in _ARTICLES) or label


@lru_cache(maxsize=KEPT)
def read(label: str, part: PartOfSpeech) -> Reading:
    """Look a normalised label up as one part of speech.

    Of a plain inflection the senses of the base forms come before its own, else after them; of nouns the senses of
    physical things before all others, since labels name what is seen. A form that has an entry of its own which is counted
    in tagged texts (`glasses`) is no plain inflection, nor is a degree of an adjective (`larger`). A label that is unknown
    with blanks is looked up without them, and the other way round. Where the whole is unknown, it is read by its head: of
    a verb the longest beginning that is known, of others the longest end, or what stands before a preposition.
    """
    wordnet = dictionary()
    label = without_articles(label)
    own, bases = wordnet.counted(label, part), wordnet.bases(label, part)
    counted = [sense for sense, count in own if count and (part != "n" or _is_physical(wordnet, sense))]
    is_plain = bool(bases) and not counted and part != "a"
    inherited = [sense for base in bases for sense in wordnet.senses(base, part)]
    listed = [sense for sense, _ in own]
    senses = list(dict.fromkeys([*inherited, *listed] if is_plain else [*listed, *inherited]))
    if not senses:
        senses = [sense for word in wordnet.respelt(label) for sense in wordnet.senses(word, part)]
    if not senses:
        head, rest = _head(wordnet, label, part)
        if head:
            return replace(read(head, part), forms=_joined((label,)), bases=frozenset((label,)), rest=rest)
    if not senses:
        return Reading(_joined((label,)), frozenset((label,)), _NONE, _NONE, _NONE, _NONE, _NONE, _NONE)
    if part == "n":
        senses.sort(key=lambda sense: not _is_physical(wordnet, sense))
    first, looked_at = senses[:1], senses[:DEPTH]
    beside = (other for symbol in BESIDE for sense in looked_at for other in wordnet.pointers(sense, symbol))
    return Reading(
        forms=_joined((label, *bases) if is_plain else (label,)),
        bases=frozenset((label, *bases)),
        first=frozenset(first),
        senses=frozenset(looked_at),
        above_first=_above(wordnet, first),
        above=_above(wordnet, looked_at),
        opposite=frozenset(other for sense in looked_at for other in wordnet.pointers(sense, "!")),
        beside=frozenset(beside),
    )


def _above(wordnet: Dictionary, senses: list[int]) -> frozenset[int]:
    return _NONE.union(*(wordnet.ancestors(sense) for sense in senses)) - _too_broad()


def _joined(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word.replace(" ", "") for word in words)


def _head(wordnet: Dictionary, label: str, part: PartOfSpeech) -> tuple[str, str]:
    """The head of a label and what stands beside it; both empty where no head is known."""
    words = label.split(" ")
    if part == "v":
        for end in range(len(words) - 1, 0, -1):
            head = " ".join(words[:end])
            if wordnet.senses(head, part) or wordnet.bases(head, part):
                return head, " ".join(words[end:])
        return "", ""
    if part == "n":
        cut = next((index for index, word in enumerate(words) if index and word in _TAILS), 0)
        if cut and words[cut] == "of" and words[cut - 1] in _AMOUNTS and cut + 1 < len(words):
            words, cut = words[cut + 1 :], 0
        if cut:
            head = " ".join(words[:cut])
            return (head, " ".join(words[cut:])) if read(head, part).senses else ("", "")
    for start in range(len(words)):
        head = " ".join(words[start:])
        if wordnet.senses(head, part) or wordnet.bases(head, part):
            return head, " ".join(words[:start])
    return "", ""


@cache
def _too_broad() -> frozenset[int]:
    wordnet = dictionary()
    return frozenset(wordnet.named(name) for name in TOO_BROAD)


@cache
def _physical() -> int:
    return dictionary().named("physical_entity.n.01")


def _is_physical(wordnet: Dictionary, sense: int) -> bool:
    return _physical() in wordnet.ancestors(sense)


@dataclass(frozen=True)
class Relation:
    """What two readings are to each other."""

    category: Category
    is_opposite: bool = False
    """Whether WordNet calls them antonyms; then no other reading of the labels may bring them together."""


def relate(left: Reading, right: Reading) -> Relation:
    """The relation of two readings of one part of speech, by the first rule that holds:

    1. identical: a form in common;
    2. mismatch: antonyms among the senses looked at;
    3. overlap: one is a form of the other, but no plain one (`glasses` and `glass`, `larger` and `large`);
    4. synonym: the likeliest sense of one is among the senses of the other;
    5. hypernym: it is above one of the other's senses, or below one;
    6. overlap: a sense of one is similar to, in a verb group with, or entailed by one of the other;
    7. mismatch. Kinds of one thing are a mismatch: an apple is no banana. So are a thing and its parts.

    That one side is taken at its likeliest sense keeps rare senses from meeting: a chair is no president.

    A label known by its head alone stands below the head (`red car` below `car`): where both are, equal rests give the
    category of the heads, other rests overlap where one head is at or above the other. A "not" on one side is a mismatch.
    """
    if not left.forms.isdisjoint(right.forms):
        return _IDENTICAL
    if not left.senses or not right.senses:
        return _MISMATCH
    found = _of_senses(left, right)
    if left.rest == right.rest:
        return found
    if is_negated(left.rest) or is_negated(right.rest):
        return _OPPOSITE
    if found.category in ("overlap", "mismatch"):
        return found
    if left.rest and right.rest:
        return _OVERLAP
    compound, plain = (left, right) if left.rest else (right, left)
    is_above = not plain.senses.isdisjoint(compound.senses) or not plain.senses.isdisjoint(compound.above)
    return _HYPERNYM if is_above else _OVERLAP


_IDENTICAL, _SYNONYM, _HYPERNYM = Relation("identical"), Relation("synonym"), Relation("hypernym")
_OVERLAP, _MISMATCH, _OPPOSITE = Relation("overlap"), Relation("mismatch"), Relation("mismatch", is_opposite=True)


def _of_senses(left: Reading, right: Reading) -> Relation:
    if not left.senses.isdisjoint(right.opposite):
        return _OPPOSITE
    if not left.bases.isdisjoint(right.bases):
        return _OVERLAP
    if not (left.first.isdisjoint(right.senses) and left.senses.isdisjoint(right.first)):
        return _SYNONYM
    ways = (
        (left.first, right.above),
        (right.first, left.above),
        (left.senses, right.above_first),
        (right.senses, left.above_first),
    )
    if not all(one.isdisjoint(above) for one, above in ways):
        return _HYPERNYM
    is_beside = not (left.senses.isdisjoint(right.beside) and right.senses.isdisjoint(left.beside))
    return _OVERLAP if is_beside else _MISMATCH
