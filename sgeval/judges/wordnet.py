"""The judge `wordnet`: WordNet 3.0 and a table of places, offline. How labels of each kind are judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sgeval.judges import places
from sgeval.judges.dictionary import PartOfSpeech, dictionary
from sgeval.judges.labels import normal
from sgeval.judges.senses import Reading, Relation, is_negated, read, relate, without_articles
from sgeval.judges.verdicts import CATEGORIES, Category, Kind, Pair, Verdict

PARTS_OF_SPEECH: dict[Kind, tuple[PartOfSpeech, ...]] = {
    "object": ("n",),
    "attribute": ("a", "n", "v"),
    "predicate": ("v", "a", "n"),
}
SUBSTANCE = 27
"""The lexicographer file noun.substance."""
SEEN = (29, 34, 35, 38, 39)
"""Lexicographer files of what can be seen: verb.body, consumption, contact, motion, perception."""
PLACELESS = (31, 32, 34, 37, 39)
"""Files of verbs that do not bring one to a place: cognition, communication, consumption, emotion, perception."""
_AIM_AT = (*PLACELESS, 29)
_MOTION = 38
_AUXILIARIES = {"is", "are", "was", "were", "be", "being", "been"}
_RANK = {category: rank for rank, category in enumerate(CATEGORIES)}


class WordNet:
    """Judge by WordNet 3.0 (see `sgeval.judges.senses.relate`) and a table of places (`sgeval.judges.places`).

    Objects are read as nouns. Attributes are read as adjectives, nouns and verbs, and the closest relation counts, unless one
    reading makes them antonyms. `/` stands between alternatives: of the annotation the closest counts, of a prediction the
    furthest, so that naming everything does not help. Predicates are taken apart into a verb and a place:

    | reference | prediction | category | by the rule |
    | --- | --- | --- | --- |
    | sitting on | sits on top of | synonym | both have both: the further of the two parts |
    | sitting on | standing on | mismatch | kinds of one relation, as with objects |
    | sitting on | sitting under | mismatch | places that exclude each other |
    | sitting on | on | hypernym | one has a place alone: hypernym where the places agree |
    | sitting on | in | overlap | and overlap where they overlap |
    | looking at | on | mismatch | "at" and "to" tell whom, and no place, unless the verb brings one there |
    | riding on | riding | hypernym | one has a verb alone: hypernym where the verbs agree |
    | carrying | with | mismatch | a verb alone against a place alone |
    | carrying | carried by | mismatch | the passive turns the relation round |
    | near | not near | mismatch | one is denied |
    | facing | facing away from | mismatch | away turns a verb round |
    | leaving | going away | synonym | unless WordNet has the whole in one sense with it |
    | picking up | lifting | synonym | the whole as one verb of WordNet, where that brings them closer |

    But for labels with `/` the category is the same when the two change places.

    >>> pairs = [Pair("object", "couch", "sofa"), Pair("object", "dog", "animal"), Pair("predicate", "above", "below")]
    >>> [verdict.category for verdict in WordNet()(pairs)]
    ['synonym', 'hypernym', 'mismatch']
    """

    name = "wordnet"

    def __call__(self, pairs: Sequence[Pair]) -> list[Verdict]:
        """One verdict a pair, in order."""
        return [
            Verdict(category_of(pair.kind, normal(pair.reference, pair.kind), normal(pair.prediction, pair.kind)))
            for pair in pairs
        ]


def category_of(kind: Kind, left: str, right: str) -> Category:
    """The category of two normalised labels, the first of the annotation, the second predicted."""
    if left == right:
        return "identical"
    if kind == "predicate":
        return _of_predicates(_take_apart(left), _take_apart(right))
    return max(
        (
            min((_of_words(kind, one, other) for one in _alternatives(left)), key=_RANK.__getitem__)
            for other in _alternatives(right)
        ),
        key=_RANK.__getitem__,
    )


def _of_words(kind: Kind, left: str, right: str) -> Category:
    relation = _closest(PARTS_OF_SPEECH[kind], left, right)
    if kind == "attribute" and relation.category == "mismatch" and not relation.is_opposite:
        return _of_attributes(left, right)
    return relation.category


def _of_attributes(left: str, right: str) -> Category:
    """What attributes have beyond senses: the stuff that one in -en is made of, and shades that end in their colour."""
    if _stuff(left) in (right, _stuff(right)) or _stuff(right) == left:
        return "synonym"
    short, long = sorted((left, right), key=len)
    is_shade = long.endswith(f" {short}") and not is_negated(long)
    return "hypernym" if is_shade else "mismatch"


def _stuff(label: str) -> str:
    """The stuff of which things called so are made: wood of wooden. The label itself where it names no stuff."""
    stem = label.removesuffix("en")
    senses = dictionary().senses(stem, "n") if stem != label else ()
    return stem if any(dictionary().file(sense) == SUBSTANCE for sense in senses) else label


def _alternatives(label: str) -> list[str]:
    return [part.strip() for part in label.split("/") if part.strip()] or [label]


def _closest(parts: Sequence[PartOfSpeech], left: str, right: str) -> Relation:
    """The closest relation of two labels over parts of speech; that of antonyms where they are. Where the first part of
    speech knows both, a form in common as another one is an overlap: dry and dried are two adjectives."""
    found: list[Relation] = []
    are_known = False
    for part in parts:
        ours, theirs = read(left, part), read(right, part)
        relation = relate(ours, theirs)
        if relation.category == "identical" and found and are_known:
            relation = Relation("overlap")
        if relation.category == "identical" or relation.is_opposite:
            return relation
        are_known = bool(ours.senses and theirs.senses) if not found else are_known
        found.append(relation)
    return min(found, key=lambda relation: _RANK[relation.category])


@dataclass(frozen=True)
class Phrase:
    """A predicate taken apart."""

    whole: str
    verb: str
    """Empty in "on top of"."""
    place: str | None
    """A meaning of `places.GROUPS`; none in "riding"."""
    is_passive: bool


@lru_cache(maxsize=262_144)
def _take_apart(label: str) -> Phrase:
    words = without_articles(label.replace("(", " ").replace(")", " ")).split()
    while len(words) > 1 and words[0] in _AUXILIARIES:
        words = words[1:]
    whole = " ".join(words)
    for start in range(max(0, len(words) - places.LONGEST), len(words)):
        place = places.meaning_of(" ".join(words[start:]))
        if place:
            verb = " ".join(words[:start])
            is_passive = words[start:] == ["by"] and bool(verb) and not words[start - 1].endswith("ing")
            if _is_aim(verb, words[start:]):
                place = places.AIM
            return Phrase(whole, verb, place, is_passive)
    return Phrase(whole, whole, None, False)


def _is_aim(verb: str, place: list[str]) -> bool:
    """Whether "at" or "to" tells whom or what the verb is about, and no place: looking at, talking to, attached to."""
    if not verb or place not in (["at"], ["to"]):
        return False
    file = _file(verb)
    return file in _AIM_AT if place == ["at"] else file != _MOTION


def _file(verb: str) -> int | None:
    """The lexicographer file of a verb's likeliest sense."""
    return next((dictionary().file(sense) for sense in read(verb, "v").first), None)


def _of_predicates(left: Phrase, right: Phrase) -> Category:
    if left.whole == right.whole:
        return "identical"
    if left.is_passive != right.is_passive or is_negated(left.whole) != is_negated(right.whole):
        return "mismatch"
    if left.place and right.place and places.excludes(left.place, right.place):
        return "mismatch"
    readings = read(left.whole, "v"), read(right.whole, "v")
    whole = relate(*readings)
    if whole.is_opposite:
        return "mismatch"
    if {left.place, right.place} == {"away", None}:
        is_known = not any(reading.rest for reading in readings)
        return whole.category if is_known and whole.category in ("identical", "synonym") else "mismatch"
    by_parts = _of_parts(left, right)
    are_words = all(_is_seen_whole(*one) for one in zip((left, right), readings))
    return min(whole.category, by_parts, key=_RANK.__getitem__) if are_words else by_parts


def _is_seen_whole(phrase: Phrase, reading: Reading) -> bool:
    """Whether WordNet has the whole predicate as one verb, of something seen where it looks like a verb and a place: to run
    on is to talk, and nobody's running on the road."""
    if reading.rest or not reading.senses:
        return False
    return phrase.place is None or any(dictionary().file(sense) in SEEN for sense in reading.senses)


def _of_parts(left: Phrase, right: Phrase) -> Category:
    by_place = places.compare(left.place, right.place) if left.place and right.place else None
    if not left.verb and not right.verb:
        return by_place or "mismatch"
    if left.verb and right.verb:
        by_verb = _of_acts(left.verb, right.verb)
        if left.place is None and right.place is None:
            return by_verb
        if by_place is None:
            return _as_broader(by_verb)
        if by_place == "synonym" and by_verb == "identical":
            return "identical" if _same_words_of_place(left, right) else "synonym"
        return max(by_verb, by_place, key=_RANK.__getitem__)
    verb, place = (left.verb, left.place) if left.verb else (right.verb, right.place)
    if place in (places.AIM, "from") or _file(verb) in PLACELESS:
        return "mismatch"
    return _as_broader(by_place or "mismatch")


def _of_acts(left: str, right: str) -> Category:
    verbs = read(left, "v"), read(right, "v")
    if all(reading.senses for reading in verbs):
        return relate(*verbs).category
    return _closest(PARTS_OF_SPEECH["predicate"], left, right).category


def _same_words_of_place(left: Phrase, right: Phrase) -> bool:
    return left.whole[len(left.verb) :] == right.whole[len(right.verb) :]


def _as_broader(category: Category) -> Category:
    """The category where one side says less than the other: at best its hypernym."""
    return max(category, "hypernym", key=_RANK.__getitem__)


class _Known:
    """The normalised labels that WordNet or the table of places has, as a container. The names of categories are left out:
    as labels they are likelier to speak to a judge than to name what is seen."""

    def __contains__(self, label: object) -> bool:
        if not isinstance(label, str) or label in CATEGORIES:
            return False
        phrase = _take_apart(label)
        return _is_word(label) or (phrase.place is not None and (not phrase.verb or _is_word(phrase.verb)))


def _is_word(label: str) -> bool:
    readings = (read(label, part) for part in PARTS_OF_SPEECH["attribute"])
    return any(reading.senses and not reading.rest for reading in readings)


KNOWN = _Known()
"""The vocabulary outside which a language model's verdicts get a second look. Loads nothing until it is asked."""
