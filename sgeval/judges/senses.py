"""What WordNet says of two words: how a label is looked up, and what the senses of two labels are to each other."""

from collections.abc import Mapping
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
    """The senses looked at: the usual ones, of verbs the likely ones alone."""
    above_likely: frozenset[int]
    """The senses above the likely ones, without the `TOO_BROAD` ones."""
    usual: frozenset[int]
    """Its `DEPTH` first senses."""
    opposite: frozenset[int]
    """Antonyms of the usual senses: words that are opposites in any of these never meet."""
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
    physical things before all others, since labels name what is seen, and people after things. A form that
    has an entry of its own which is counted in tagged texts (`glasses`) is no plain inflection, nor is a degree of an
    adjective (`larger`). A label that is unknown with blanks is looked up without them, and the other way round. Where the
    whole is unknown, it is read by its head: of a verb the longest beginning that is known, of others the longest end, or
    what stands before a preposition.
    """
    wordnet = dictionary()
    label = without_articles(label)
    own, bases = wordnet.counted(label, part), wordnet.bases(label, part)
    counted = [sense for sense, count in own if count and (part != "n" or _is_physical(wordnet, sense))]
    is_plain = bool(bases) and not counted and part != "a"
    inherited = [pair for base in bases for pair in wordnet.counted(base, part)]
    found = [*inherited, *own] if is_plain else [*own, *inherited]
    if not found:
        found = [pair for word in wordnet.respelt(label) for pair in wordnet.counted(word, part)]
    counts = dict(reversed(found))
    senses = list(dict.fromkeys(sense for sense, _ in found))
    if not senses:
        head, rest = _head(wordnet, label, part)
        if head:
            return replace(read(head, part), forms=_joined((label,)), bases=frozenset((label,)), rest=rest)
    if not senses:
        return Reading(_joined((label,)), frozenset((label,)), _NONE, _NONE, _NONE, _NONE, _NONE, _NONE)
    if part == "n":
        senses = _things_first(wordnet, senses, counts)
    usual = senses[:DEPTH]
    likely = _likely(wordnet, usual, counts, part)
    looked_at = likely if part == "v" else usual
    beside = (other for symbol in BESIDE for sense in looked_at for other in wordnet.pointers(sense, symbol))
    return Reading(
        forms=_joined((label, *bases) if is_plain else (label,)),
        bases=frozenset((label, *bases)),
        first=frozenset(senses[:1]),
        senses=frozenset(looked_at),
        above_likely=_above(wordnet, likely),
        usual=frozenset(usual),
        opposite=frozenset(other for sense in usual for other in wordnet.pointers(sense, "!")),
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


def _things_first(wordnet: Dictionary, senses: list[int], counts: Mapping[int, int]) -> list[int]:
    """Senses of physical things, then of people, then all others. A person stays first who is the likeliest sense, and
    counted: a man. Others are jokes and trades: a dish, a toaster."""
    things = [sense for sense in senses if _is_physical(wordnet, sense)]
    people = {sense for sense in things if _is_person(wordnet, sense)}
    if things and counts[things[0]]:
        people.discard(things[0])
    return [*sorted(things, key=people.__contains__), *(sense for sense in senses if sense not in things)]


def _likely(wordnet: Dictionary, usual: list[int], counts: Mapping[int, int], part: PartOfSpeech) -> list[int]:
    """The likeliest sense, and those that are counted half as often or more. Of a noun that is not counted, the things."""
    most = counts[usual[0]]
    if most or part != "n":
        return [sense for sense in usual if sense == usual[0] or 2 * counts[sense] >= most > 0]
    things = (sense for sense in usual[1:] if _is_physical(wordnet, sense) and not _is_person(wordnet, sense))
    return [usual[0], *things]


@cache
def _person() -> int:
    return dictionary().named("person.n.01")


def _is_person(wordnet: Dictionary, sense: int) -> bool:
    return sense == _person() or _person() in wordnet.ancestors(sense)


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
    2. mismatch: antonyms among the usual senses;
    3. overlap: one is a form of the other, but no plain one (`glasses` and `glass`, `larger` and `large`);
    4. synonym: the likeliest sense of one is among the senses of the other;
    5. hypernym: a sense of one is above a likely one of the other;
    6. overlap: a sense of one is similar to, in a verb group with, or entailed by one of the other;
    7. mismatch. Kinds of one thing are a mismatch: an apple is no banana. So are a thing and its parts.

    That the lower side is taken at its likely senses keeps rare ones from meeting: a dish is no woman, nor a chair a
    president. Of verbs both sides are.

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
    is_above = not plain.senses.isdisjoint(compound.senses) or not plain.senses.isdisjoint(compound.above_likely)
    return _HYPERNYM if is_above else _OVERLAP


_IDENTICAL, _SYNONYM, _HYPERNYM = Relation("identical"), Relation("synonym"), Relation("hypernym")
_OVERLAP, _MISMATCH, _OPPOSITE = Relation("overlap"), Relation("mismatch"), Relation("mismatch", is_opposite=True)


def _of_senses(left: Reading, right: Reading) -> Relation:
    if not left.usual.isdisjoint(right.opposite):
        return _OPPOSITE
    if not left.bases.isdisjoint(right.bases):
        return _OVERLAP
    if not (left.first.isdisjoint(right.senses) and left.senses.isdisjoint(right.first)):
        return _SYNONYM
    if not (left.senses.isdisjoint(right.above_likely) and right.senses.isdisjoint(left.above_likely)):
        return _HYPERNYM
    is_beside = not (left.senses.isdisjoint(right.beside) and right.senses.isdisjoint(left.beside))
    return _OVERLAP if is_beside else _MISMATCH
