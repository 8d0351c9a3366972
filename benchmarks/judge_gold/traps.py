"""Rules of the gold set for what a judge may accept by mistake: labels that only rare senses bring together, and predicates.

They stand on the lexicographer files and pointers of WordNet, on LVIS, and on the tables of `acts`.
"""

from collections.abc import Iterator
from itertools import combinations, product

from benchmarks.judge_gold import acts
from benchmarks.judge_gold.rules import LINKS, Candidate, Sources, relations, senses_related
from benchmarks.judge_gold.words import names_of
from sgeval.judges.dictionary import Dictionary
from sgeval.phrases import canonical

PERSON = 793
"""The category of people in LVIS."""
PEOPLE = ("adult",)
"""What data sets call people, beside the names that LVIS has for them."""
ANIMAL, ARTIFACT, FOOD, PLANT = 5, 6, 13, 20  # lexicographer files of nouns
KINDS_APART = ({ANIMAL, ARTIFACT}, {ANIMAL, PLANT}, {ARTIFACT, FOOD})
"""Files whose things nobody takes for one another. Food stands apart from artifacts alone: a fish is eaten, so is a nut."""
RARE = 10
"""A sense is rare that has at most one in so many of a word's counts in tagged texts, and no more than the sense meant."""


def sense_traps(sources: Sources) -> Iterator[Candidate]:
    """Mismatch, hard: a thing and another, or a person, of kinds apart, where one of the words has a rare sense that is at,
    above or below a sense of the other: a dish is no woman, though the one may be called the other."""
    for left, right in combinations(sources.categories, 2):
        files = {sources.wordnet.file(one.sense) for one in (left, right)}
        if files in KINDS_APART and not senses_related(sources.wordnet, left.sense, right.sense):
            for labels in product(left.names, right.names):
                yield from _trap(sources, labels, (left.sense, right.sense), (left.id, right.id))
    people = next(one for one in sources.categories if one.id == PERSON)
    for thing in sources.categories:
        if not is_person(sources.wordnet, thing.sense):
            for name, word in product(thing.names, people_words(sources)):
                sense = person_sense(sources.wordnet, word)
                yield from _trap(sources, (name, word), (thing.sense, sense), (thing.id, people.id))


def people_words(sources: Sources) -> list[str]:
    """Words for people whose likeliest sense in WordNet is a person."""
    words = [name for name in names_of(PERSON) if "(" not in name] + [*PEOPLE]
    return [word for word in words if person_sense(sources.wordnet, word) >= 0]


def person_sense(wordnet: Dictionary, word: str) -> int:
    """The likeliest sense of a word where it is a person; -1 where it is none."""
    first = wordnet.senses(canonical(word), "n")[0]
    return first if is_person(wordnet, first) else -1


def is_person(wordnet: Dictionary, sense: int) -> bool:
    """Whether a sense is a person or a kind of one."""
    person = wordnet.named("person.n.01")
    return sense == person or person in wordnet.ancestors(sense)


def _trap(
    sources: Sources, labels: tuple[str, str], meant: tuple[int, int], numbers: tuple[int, int]
) -> Iterator[Candidate]:
    wordnet = sources.wordnet
    senses = [wordnet.senses(canonical(label), "n") for label in labels]
    meeting = [
        (one, other)
        for one, other in product(*senses)
        if one == other or one in wordnet.ancestors(other) or other in wordnet.ancestors(one)
    ]
    if meeting and all(is_rare(wordnet, *one) for pair in meeting for one in zip(labels, meant, pair)):
        by_id = {one.id: one for one in sources.categories}
        plain = (labels[0].replace("_", " "), labels[1].replace("_", " "))
        evidence = {
            "lvis": list(numbers),
            "senses": [sources.name_of(sense) for sense in meant],
            "meeting": [sources.name_of(sense) for sense in meeting[0]],
        }
        families = (sources.family_of(by_id[numbers[0]]), sources.family_of(by_id[numbers[1]]))
        yield Candidate("object", plain, "mismatch", "sense trap", families, evidence)


def is_rare(wordnet: Dictionary, label: str, meant: int, sense: int) -> bool:
    """Whether a sense of a label is the one that is meant, or a rare one beside it."""
    counts = dict(wordnet.counted(canonical(label), "n"))
    return sense == meant or (counts[sense] <= counts[meant] and RARE * counts[sense] <= sum(counts.values()))


def acts_apart(sources: Sources) -> Iterator[Candidate]:
    """Mismatch: acts of two groups whose senses WordNet relates in no way."""
    for one, other in combinations(acts.ACTS.values(), 2):
        for (left, left_name), (right, right_name) in product(one.items(), other.items()):
            senses = [sources.wordnet.named(name) for name in (left_name, right_name)]
            if not relations(sources.wordnet, {senses[0]}, {senses[1]}):
                evidence = {"acts": [left, right], "senses": [left_name, right_name]}
                families = (*verb_families(sources, senses[0]), *verb_families(sources, senses[1]))
                yield Candidate("predicate", (left, right), "mismatch", "acts apart", families, evidence)


def verb_families(sources: Sources, sense: int) -> tuple[str, ...]:
    """The family of a verb's sense: that of the verbs with one clear sense if it is there, else those it is joined to by a
    pointer, else its own."""
    linked = sources.linked("v")
    if sense in linked:
        return (linked[sense],)
    near = {other for symbol in LINKS["v"] for other in sources.wordnet.pointers(sense, symbol)}
    near |= {other for other in linked for symbol in LINKS["v"] if sense in sources.wordnet.pointers(other, symbol)}
    return tuple(sorted({linked[other] for other in near if other in linked})) or (f"v:{sense}",)


def aims(sources: Sources) -> Iterator[Candidate]:
    """Mismatch: an act that is about someone, and a place: who looks at a man may be anywhere."""
    for act, place in product(acts.AIMED, acts.BARE):
        evidence = {"act": act, "place": place}
        yield Candidate("predicate", (act, place), "mismatch", "aim", _of_act(sources, act, place), evidence)


def placed_acts(sources: Sources) -> Iterator[Candidate]:
    """Hypernym: an act at a place, and the place."""
    for act, place in acts.PLACED:
        evidence = {"act": act, "place": place}
        yield Candidate("predicate", (act, place), "hypernym", "placed act", _of_act(sources, act, place), evidence)


def _of_act(sources: Sources, act: str, place: str) -> tuple[str, ...]:
    name = next(group[act] for group in acts.ACTS.values() if act in group)
    return (*verb_families(sources, sources.wordnet.named(name)), f"place:{place}")


def same_places(_: Sources) -> Iterator[Candidate]:
    """Synonym: words for one place."""
    for pair in acts.SAME_PLACE:
        families = (f"place:{pair[0]}", f"place:{pair[1]}")
        yield Candidate("predicate", pair, "synonym", "same place", families, {"places": list(pair)})


TRAPS = (sense_traps, acts_apart, aims, placed_acts, same_places)
