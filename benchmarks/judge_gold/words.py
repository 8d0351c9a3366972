"""What the rules of the gold set stand on: LVIS categories, words with one clear sense, names of senses, verb forms."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sgeval.errors import SgevalError
from sgeval.judges.dictionary import Dictionary, PartOfSpeech
from sgeval.phrases import canonical

LVIS = Path(__file__).with_name("lvis_v1_categories.json.gz")

LEAST_COUNT, LEAST_SHARE = 2, 0.6
VISIBLE_VERBS = (29, 34, 35, 38, 39)
"""Lexicographer files: body, consumption, contact, motion, perception."""


@dataclass(frozen=True)
class Category:
    """A category of LVIS whose sense WordNet 3.0 has, with the names that WordNet has in that sense and no other category
    uses. Names with a note in brackets are left out."""

    id: int
    name: str
    sense: int
    names: tuple[str, ...]


@cache
def lvis_rows() -> dict[int, dict[str, object]]:
    """The rows of the category list, by id."""
    rows: list[dict[str, object]] = json.loads(gzip.decompress(LVIS.read_bytes()))
    return {int(str(row["id"])): row for row in rows}


def categories(wordnet: Dictionary) -> list[Category]:
    """The usable categories of LVIS, by id. One of 1,203 is left out: its sense is not in WordNet 3.0."""
    users: dict[str, int] = {}
    for row in lvis_rows().values():
        for name in _synonyms(row):
            users[name] = users.get(name, 0) + 1
    found = []
    for number, row in sorted(lvis_rows().items()):
        try:
            sense = wordnet.named(str(row["synset"]))
        except SgevalError:
            continue
        names = [name for name in _synonyms(row) if "(" not in name and users[name] == 1]
        held = [name for name in names if sense in wordnet.senses(canonical(name), "n")]
        if held:
            found.append(Category(number, str(row["name"]), sense, tuple(held)))
    return found


def names_of(number: int) -> list[str]:
    """All names that LVIS has for a category."""
    return _synonyms(lvis_rows()[number])


def _synonyms(row: dict[str, object]) -> list[str]:
    given = row["synonyms"]
    return [str(name) for name in given] if isinstance(given, list) else []


def clear_words(wordnet: Dictionary, part: PartOfSpeech) -> Iterator[tuple[str, int]]:
    """Words of one part of speech, without blanks, that have one clear sense: counted `LEAST_COUNT` times or more in tagged
    texts, and `LEAST_SHARE` of all counts of the word."""
    for word in wordnet.words():
        if not word.isalpha():
            continue
        counted = wordnet.counted(word, part)
        if not counted:
            continue
        sense, most = counted[0]
        total = sum(count for _, count in counted)
        if most >= max(LEAST_COUNT, LEAST_SHARE * total):
            yield word, sense


class SenseNames:
    """A name of each sense, such as `couch.n.01`: of its words the one of which it is the first sense, then by alphabet."""

    def __init__(self, wordnet: Dictionary) -> None:
        self._names: dict[int, tuple[int, str, str]] = {}
        parts: tuple[PartOfSpeech, ...] = ("n", "v", "a")
        for word in wordnet.words():
            for part in parts:
                for order, name in enumerate(wordnet.own_senses(word, part), 1):
                    entry = (order, word.replace(" ", "_"), part)
                    self._names[name] = min(self._names.get(name, entry), entry)

    def __call__(self, sense: int) -> str:
        """The name of a sense."""
        order, word, part = self._names[sense]
        return f"{word}.{part}.{order:02d}"


def gerund(wordnet: Dictionary, verb: str) -> str | None:
    """The form in -ing that WordNet's rules lead back to the verb, and to nothing else; none where there is no such form, or
    where it names a thing too, as clothing does."""
    thing = wordnet.named("physical_entity.n.01")
    listed = [form for form in wordnet.irregular("v").get(verb, ()) if form.endswith("ing")]
    regular = verb[:-1] + "ing" if verb.endswith("e") and verb[-2:] not in ("ee", "oe", "ye") else verb + "ing"
    for form in listed or [regular]:
        names_a_thing = any(thing in wordnet.ancestors(sense) for sense in wordnet.senses(form, "n"))
        if wordnet.bases(form, "v") == (verb,) and not wordnet.senses(form, "v") and not names_a_thing:
            return form
    return None


def plural(wordnet: Dictionary, noun: str) -> str | None:
    """The plural that WordNet's rules lead back to the noun alone and that is no word of its own; none of a word in -s, or
    with an irregular plural."""
    last = noun.rpartition(" ")[2]
    if noun.endswith("s") or last in wordnet.irregular("n"):
        return None
    forms = [noun + "s"]
    if noun.endswith(("x", "ch", "sh")):
        forms = [noun + "es"]
    elif noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        forms = [noun[:-1] + "ies"]
    for form in forms:
        if wordnet.bases(form, "n") == (noun,) and not wordnet.senses(form, "n"):
            return form
    return None
