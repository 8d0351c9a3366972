"""The rules of the gold set. Each yields candidate pairs of one category, with the evidence that the label stands on.

`tests/reference/judge_gold_reference.py` derives every label of the shipped set anew from its evidence.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

from benchmarks.judge_gold import words
from sgeval.judges.dictionary import Dictionary, PartOfSpeech, Pointer
from sgeval.judges.verdicts import Category, Kind
from sgeval.phrases import canonical

OPPOSITES = (
    *(("above", "below"), ("above", "under"), ("over", "under"), ("over", "beneath"), ("on", "under")),
    *(("on", "below"), ("on top of", "underneath"), ("on top of", "beneath"), ("in front of", "behind")),
    *(("in front of", "in back of"), ("left of", "right of"), ("to the left of", "to the right of")),
    *(("on the left of", "on the right of"), ("inside", "outside"), ("in", "outside of"), ("into", "out of")),
    *(("toward", "away from"), ("near", "far from"), ("with", "without"), ("up", "down")),
)
"""Twenty pairs of spatial words that exclude each other: a closed list."""
PLACES = OPPOSITES[:16]
"""Those that tell where a thing is."""
LINKS: dict[Literal["v", "a"], dict[Pointer, tuple[Category, str]]] = {
    "v": {
        "@": ("hypernym", "hypernym"),
        "$": ("overlap", "group"),
        "!": ("mismatch", "antonym"),
    },
    "a": {"&": ("overlap", "similar"), "!": ("mismatch", "antonym")},
}
"""What a pointer between two clear senses stands for, with the name of the rule. Not what a verb entails: that may come
before it (awaking entails sleeping) or go wrong in it (tripping entails walking)."""
LIKE_SPELLING = 0.86
STANCES = ("sitting", "standing", "lying", "parked", "walking", "flying")
"""Verbs of Visual Genome's most frequent relations that go with a place."""


@dataclass(frozen=True)
class Candidate:
    """A pair with its label, and what the label stands on."""

    kind: Kind
    labels: tuple[str, str]
    category: Category
    rule: str
    families: tuple[str, ...]
    """Of each label's sense; one where it is the same. The first is the unit of the bootstrap."""
    evidence: dict[str, Any] = field(hash=False)

    @cached_property
    def order(self) -> str:
        """A digest that orders candidates, so that none is chosen by its place in a file."""
        return digest(self.rule, *sorted(self.labels))


def digest(*parts: str) -> str:
    """A digest of texts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Sources:
    """What all rules look at, looked up once."""

    def __init__(self, wordnet: Dictionary) -> None:
        self.wordnet = wordnet
        self.name_of = words.SenseNames(wordnet)
        self.categories = words.categories(wordnet)
        self._linked: dict[str, dict[int, str]] = {}
        self.family = {
            sense: f"lvis:{root}" for sense, root in _families(wordnet, {one.sense for one in self.categories}).items()
        }

    def family_of(self, category: words.Category) -> str:
        """The family of a category: all categories that are joined by kind-of pointers, three at most between two."""
        return self.family[category.sense]

    @cached_property
    def verbs(self) -> tuple[tuple[str, int], ...]:
        """Verbs of what can be seen, with their one clear sense."""
        found = words.clear_words(self.wordnet, "v")
        return tuple((word, sense) for word, sense in found if self.wordnet.file(sense) in words.VISIBLE_VERBS)

    @cached_property
    def adjectives(self) -> tuple[tuple[str, int], ...]:
        """Adjectives with their one clear sense."""
        return tuple(words.clear_words(self.wordnet, "a"))

    def linked(self, part: Literal["v", "a"]) -> dict[int, str]:
        """The families of the clear senses of a part of speech: joined by any pointer between two of them."""
        if part not in self._linked:
            senses = {sense for _, sense in (self.verbs if part == "v" else self.adjectives)}
            links = [
                (one, other)
                for one in senses
                for symbol in LINKS[part]
                for other in self.wordnet.pointers(one, symbol)
                if other in senses
            ]
            self._linked[part] = {sense: f"{part}:{root}" for sense, root in join(senses, links).items()}
        return self._linked[part]

    @cached_property
    def every_sense(self) -> dict[int, frozenset[int]]:
        """By category: all noun senses of all its names, those with notes in brackets too."""
        return {
            one.id: frozenset(
                sense
                for name in (*one.names, one.name.partition("(")[0])
                for sense in self.wordnet.senses(canonical(name), "n")
            )
            for one in self.categories
        }


def _families(wordnet: Dictionary, senses: set[int]) -> dict[int, str]:
    """Senses joined by hypernym pointers, at most `STEPS` of them: each with the smallest of its family."""
    return join(senses, ((one, up) for one in senses for up in near_ancestors(wordnet, one) if up in senses))


def join(members: Iterable[int], links: Iterable[tuple[int, int]]) -> dict[int, str]:
    """Each member with the smallest number of its connected component, as text."""
    root = {member: member for member in members}

    def find(one: int) -> int:
        while root[one] != one:
            root[one] = one = root[root[one]]
        return one

    for left, right in links:
        low, high = sorted((find(left), find(right)))
        root[high] = low
    return {member: str(find(member)) for member in root}


STEPS = 3


def near_ancestors(wordnet: Dictionary, sense: int) -> dict[int, int]:
    """The senses at most `STEPS` hypernym pointers above."""
    return {up: steps for up, steps in wordnet.ancestors(sense).items() if steps <= STEPS}


def path_up(wordnet: Dictionary, low: int, high: int) -> list[int]:
    """A shortest way by hypernym pointers from a sense to one above it, both ends included."""
    ways = [[low]]
    while True:
        for way in ways:
            if way[-1] == high:
                return way
        ways = [[*way, up] for way in ways for up in wordnet.pointers(way[-1], "@")]


def spelling_variants(sources: Sources) -> Iterator[Candidate]:
    """Identical: one label in two spellings (capitals, underscores, hyphens)."""
    for one in sources.categories:
        for name in one.names:
            plain = name.replace("_", " ")
            for other in (plain.title(), plain.replace(" ", "-"), plain):
                if other != name:
                    evidence = {"form": canonical(name)}
                    yield Candidate(
                        "object", (name, other), "identical", "spelling", (sources.family_of(one),), evidence
                    )


def inflections(sources: Sources) -> Iterator[Candidate]:
    """Identical: a name and its plural, which WordNet leads back to it and which is no word of its own."""
    for one in sources.categories:
        for name in one.names:
            plain = canonical(name)
            form = words.plural(sources.wordnet, plain)
            if form and form != plain:
                evidence = {"lvis": one.id, "form": form, "base": plain, "part": "n"}
                yield Candidate(
                    "object",
                    (name.replace("_", " "), form),
                    "identical",
                    "inflection",
                    (sources.family_of(one),),
                    evidence,
                )


def articles(sources: Sources) -> Iterator[Candidate]:
    """Identical: a name with and without its article."""
    for one in sources.categories:
        for name in one.names:
            plain = name.replace("_", " ")
            for article in ("an",) if plain[0] in "aeio" else ("the", "a") if plain[0] not in "uh" else ("the",):
                evidence = {"article": article}
                labels = (plain, f"{article} {plain}")
                yield Candidate("object", labels, "identical", "article", (sources.family_of(one),), evidence)


def verb_forms(sources: Sources) -> Iterator[Candidate]:
    """Identical: a verb's plain form and its form in -ing."""
    for verb, sense in sources.verbs:
        form = words.gerund(sources.wordnet, verb)
        if form:
            evidence = {"form": form, "base": verb, "part": "v"}
            family = (sources.linked("v")[sense],)
            yield Candidate("predicate", (form, verb), "identical", "inflection", family, evidence)


def lvis_synonyms(sources: Sources) -> Iterator[Candidate]:
    """Synonym: two names of one category that WordNet too has in its sense, and that are no spellings of one word."""
    for one in sources.categories:
        for left, right in combinations(one.names, 2):
            forms = {canonical(left), canonical(right)}
            if not is_respelt(canonical(left), canonical(right)) and not _share_base(sources.wordnet, forms, "n"):
                evidence = {"lvis": one.id, "sense": sources.name_of(one.sense)}
                labels = (left.replace("_", " "), right.replace("_", " "))
                yield Candidate("object", labels, "synonym", "lvis", (sources.family_of(one),), evidence)


def is_respelt(left: str, right: str) -> bool:
    """Whether two labels look like spellings of one: `yoghurt` and `yoghourt`, `t shirt` and `tshirt`."""
    return SequenceMatcher(None, left.replace(" ", ""), right.replace(" ", ""), autojunk=False).ratio() > LIKE_SPELLING


def _share_base(wordnet: Dictionary, forms: set[str], part: PartOfSpeech) -> bool:
    left, right = ({form, *wordnet.bases(form, part)} for form in sorted(forms))
    return bool(left & right)


def lvis_hypernyms(sources: Sources) -> Iterator[Candidate]:
    """Hypernym: a category and another that is at most `STEPS` pointers above it."""
    by_sense = {one.sense: one for one in sources.categories}
    for low in sources.categories:
        for sense in near_ancestors(sources.wordnet, low.sense):
            high = by_sense.get(sense)
            if high is None or sources.every_sense[low.id] & {high.sense} or sources.every_sense[high.id] & {low.sense}:
                continue
            for name in low.names[:2]:
                labels = (name.replace("_", " "), high.names[0].replace("_", " "))
                path = path_up(sources.wordnet, low.sense, high.sense)
                evidence = {"lvis": [low.id, high.id], "path": [sources.name_of(step) for step in path]}
                yield Candidate("object", labels, "hypernym", "lvis", (sources.family_of(low),), evidence)


def far_apart(sources: Sources) -> Iterator[Candidate]:
    """Mismatch, easy: categories of different lexicographer files, none of whose senses are related in any way."""
    cats = sorted(sources.categories, key=lambda one: digest("far", one.name))
    for left, right in zip(cats, cats[1:] + cats[:1]):
        files = [sources.wordnet.file(one.sense) for one in (left, right)]
        if files[0] != files[1] and is_unrelated(sources, left, right):
            labels = (left.names[0].replace("_", " "), right.names[0].replace("_", " "))
            evidence = {"lvis": [left.id, right.id], "files": files}
            families = (sources.family_of(left), sources.family_of(right))
            yield Candidate("object", labels, "mismatch", "far", families, evidence)


def is_unrelated(sources: Sources, left: words.Category, right: words.Category) -> bool:
    """Whether no sense of any name of one is, is above, or is part of, one of the other's, and no word is shared."""
    return not any(
        senses_related(sources.wordnet, one, other)
        for one in sources.every_sense[left.id]
        for other in sources.every_sense[right.id]
    )


def senses_related(wordnet: Dictionary, one: int, other: int) -> bool:
    """Whether two senses are one, one is above the other, one is a part of the other, or they are kinds of one thing."""
    if one == other or one in wordnet.ancestors(other) or other in wordnet.ancestors(one):
        return True
    if other in wordnet.pointers(one, "#") or one in wordnet.pointers(other, "#"):
        return True
    return bool({*wordnet.pointers(one, "@")} & {*wordnet.pointers(other, "@")})


def shared_word(sources: Sources) -> Iterator[Candidate]:
    """Mismatch, hard: unrelated categories whose names share a word that is not the head of both."""
    by_word: dict[str, list[tuple[words.Category, str]]] = {}
    for one in sources.categories:
        for name in one.names:
            for word in set(canonical(name).split(" ")):
                if len(word) > 2:
                    by_word.setdefault(word, []).append((one, canonical(name)))
    for word, holders in sorted(by_word.items()):
        for (left, left_name), (right, right_name) in combinations(holders, 2):
            if left.id == right.id or left_name.split(" ")[-1] == right_name.split(" ")[-1]:
                continue
            if is_unrelated(sources, left, right):
                evidence = {"lvis": [left.id, right.id], "word": word}
                families = (sources.family_of(left), sources.family_of(right))
                yield Candidate("object", (left_name, right_name), "mismatch", "shared word", families, evidence)


def parts(sources: Sources) -> Iterator[Candidate]:
    """Mismatch, hard: a category and a whole that it is a part of. Living things are no parts: WordNet calls a foal a
    member of horses."""
    by_sense = {one.sense: one for one in sources.categories}
    living = sources.wordnet.named("organism.n.01")
    for part in sources.categories:
        if living in sources.wordnet.ancestors(part.sense):
            continue
        for sense in sources.wordnet.pointers(part.sense, "#"):
            whole = by_sense.get(sense)
            if whole and not _akin(sources, part, whole):
                labels = (part.names[0].replace("_", " "), whole.names[0].replace("_", " "))
                evidence = {
                    "lvis": [part.id, whole.id],
                    "senses": [sources.name_of(one.sense) for one in (part, whole)],
                }
                families = (sources.family_of(part), sources.family_of(whole))
                yield Candidate("object", labels, "mismatch", "part", families, evidence)


def _akin(sources: Sources, left: words.Category, right: words.Category) -> bool:
    """Whether any senses are one, or one above the other."""
    return any(
        one == other or one in sources.wordnet.ancestors(other) or other in sources.wordnet.ancestors(one)
        for one in sources.every_sense[left.id]
        for other in sources.every_sense[right.id]
    )


def opposite_places(_: Sources) -> Iterator[Candidate]:
    """Mismatch, hard: words of place that exclude each other, alone and after a verb."""
    for pair in OPPOSITES:
        for verb in ("", *STANCES):
            if not verb or (pair in PLACES and int(digest(verb, *pair), 16) % 4 == 0):
                left, right = (f"{verb} {place}".strip() for place in pair)
                evidence = {"opposites": list(pair), "verb": verb}
                yield Candidate("predicate", (left, right), "mismatch", "opposites", (f"place:{pair[0]}",), evidence)


def clear_pairs(sources: Sources) -> Iterator[Candidate]:
    """Verbs and adjectives with one clear sense, whose senses are one, or joined by one pointer of WordNet.

    One sense is synonym, the pointers are as `LINKS` says. A pair with a relation of another category between any of its
    senses is left out.
    """
    plans: tuple[tuple[Kind, Literal["v", "a"], tuple[tuple[str, int], ...]], ...] = (
        ("predicate", "v", sources.verbs),
        ("attribute", "a", sources.adjectives),
    )
    for kind, part, known in plans:
        users: dict[int, list[str]] = {}
        for word, sense in known:
            if part == "a" or words.gerund(sources.wordnet, word):
                users.setdefault(sense, []).append(word)
        for one, holders in users.items():
            for left, right in combinations(sorted(holders), 2):
                yield from _clear(sources, kind, part, (left, right), (one, one), ("synonym", "synonym"))
            for symbol, label_of in LINKS[part].items():
                for other in sources.wordnet.pointers(one, symbol):
                    for pair in ((left, right) for left in holders for right in users.get(other, ())):
                        yield from _clear(sources, kind, part, pair, (one, other), label_of)


def _clear(
    sources: Sources,
    kind: Kind,
    part: Literal["v", "a"],
    pair: tuple[str, str],
    senses: tuple[int, int],
    label_of: tuple[Category, str],
) -> Iterator[Candidate]:
    wordnet = sources.wordnet
    left, right = ({*wordnet.senses(word, part)} for word in pair)
    if relations(wordnet, left, right) != {label_of[0]} or pair[0] == pair[1] or is_respelt(*pair):
        return
    labels = tuple((words.gerund(wordnet, word) or word) if part == "v" else word for word in pair)
    evidence = {"words": list(pair), "part": part, "senses": [sources.name_of(sense) for sense in senses]}
    yield Candidate(kind, (labels[0], labels[1]), *label_of, (sources.linked(part)[senses[0]],), evidence)


def relations(wordnet: Dictionary, left: set[int], right: set[int]) -> set[Category]:
    """All categories that any two senses of two words stand for."""
    found: set[Category] = {"synonym"} if left & right else set()
    for one in left:
        for other in right - {one}:
            if one in wordnet.ancestors(other) or other in wordnet.ancestors(one):
                found.add("hypernym")
            for symbol, category in _SIDEWAYS:
                if other in wordnet.pointers(one, symbol) or one in wordnet.pointers(other, symbol):
                    found.add(category)
    return found


_SIDEWAYS: tuple[tuple[Pointer, Category], ...] = (
    *(("&", "overlap"), ("$", "overlap")),
    *(("*", "overlap"), ("!", "mismatch")),
)

RULES: tuple[Callable[[Sources], Iterator[Candidate]], ...] = (
    *(spelling_variants, inflections, articles, verb_forms, lvis_synonyms, lvis_hypernyms),
    *(far_apart, shared_word, parts, opposite_places, clear_pairs),
)
