"""WordNet 3.0 as judges use it: senses of words, base forms, and six kinds of pointers between senses.

The asset `sgeval/assets/wordnet/wordnet.txt.gz` is made by `benchmarks/judge_gold/wordnet_asset.py`. It has three parts
with an empty line between them:

- one line a sense (synset), whose number is that of its line from 0: part of speech (`n`, `v`, `a`), the two digits of its
  lexicographer file, and its pointers by symbol: `n06 @12,45 #33`;
- one line a word: `couch<TAB>n23639:5,16867<TAB>v86830:1`, the senses of each part of speech, the most frequent first, with
  the count in tagged texts after a colon where there is one;
- one line an irregular form: `nmice<TAB>mouse`.

It is unpacked once, on first use, by one thread; lines are taken apart when they are asked for.
"""

import gzip
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from threading import Lock
from typing import Literal

from sgeval.errors import SgevalError, shown

PartOfSpeech = Literal["n", "v", "a"]
Pointer = Literal["@", "#", "&", "$", "*", "!"]
"""Hypernym, whole (of a member, part or substance), similar to, verb group, entailment, antonym."""

ASSET = Path(__file__).parents[1] / "assets" / "wordnet" / "wordnet.txt.gz"

# Rules of detachment of morphy(7WN): ending of the inflected form, ending of the base form.
_ENDINGS: dict[PartOfSpeech, tuple[tuple[str, str], ...]] = {
    "n": (
        *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z")),
        *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    ),
    "v": (
        *(("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", "")),
        *(("ing", "e"), ("ing", "")),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
}
_PARTS: dict[str, PartOfSpeech] = {"n": "n", "v": "v", "a": "a", "s": "a"}
_MORE_FORMS = {("n", "people"): ("person",)}
"""What the lists of irregular forms lack, and labels have."""


class Dictionary:
    """The loaded asset. Words are lower-case with blanks; senses are numbers."""

    def __init__(self, text: str) -> None:
        synsets, words, forms = text.split("\n\n")
        self._synsets = synsets.split("\n")
        self._words = dict(line.split("\t", 1) for line in words.split("\n"))
        self._spellings: dict[str, list[str]] = {}
        self._joined: dict[str, str] = {}
        for word in self._words:
            if "-" in word:
                self._spellings.setdefault(word.replace("-", " "), []).append(word)
            if "-" in word or " " in word:
                self._joined.setdefault(word.replace("-", "").replace(" ", ""), word)
        self._forms: dict[tuple[str, str], tuple[str, ...]] = {}
        for line in forms.strip().split("\n"):
            form, *bases = line.split("\t")
            self._forms[form[0], form[1:]] = tuple(bases)
        self._forms.update(_MORE_FORMS)
        self.counted = lru_cache(maxsize=32_768)(self._counted)
        self.ancestors = lru_cache(maxsize=32_768)(self._ancestors)
        self.irregular = cache(self._irregular)
        self.bases = lru_cache(maxsize=32_768)(self._bases)

    def senses(self, word: str, part: PartOfSpeech) -> tuple[int, ...]:
        """The senses of a word as it stands, the most frequent first; none of an unknown word.

        A word with blanks is looked up with hyphens too: labels are compared without them.

        >>> len(dictionary().senses("t shirt", "n")), dictionary().senses("tshirtt", "n")
        (1, ())
        """
        return tuple(sense for sense, _ in self.counted(word, part))

    def words(self) -> Iterator[str]:
        """All words, by alphabet."""
        return iter(self._words)

    def _irregular(self, part: PartOfSpeech) -> dict[str, tuple[str, ...]]:
        """The words that have irregular forms, with them."""
        found: dict[str, list[str]] = {}
        for (of, form), bases in self._forms.items():
            for base in bases if of == part else ():
                found.setdefault(base, []).append(form)
        return {base: tuple(forms) for base, forms in found.items()}

    def respelt(self, word: str) -> tuple[str, ...]:
        """The words that are the same but for blanks and hyphens.

        >>> dictionary().respelt("cell phone"), dictionary().respelt("tshirt")
        (('cellphone',), ('t-shirt',))
        """
        joined = word.replace(" ", "")
        found = (joined if joined in self._words else None, self._joined.get(joined))
        return tuple(one for one in found if one and one != word)

    def own_senses(self, word: str, part: PartOfSpeech) -> tuple[int, ...]:
        """The senses of a word in this very spelling, in the order that names such as `couch.n.01` count."""
        return tuple(sense for sense, _ in self._entry(word, part))

    def _entry(self, word: str, part: str) -> Iterator[tuple[int, int]]:
        for entry in self._words.get(word, "").split("\t"):
            if entry[:1] == part:
                for item in entry[1:].split(","):
                    sense, _, count = item.partition(":")
                    yield int(sense), int(count or 0)

    def _counted(self, word: str, part: PartOfSpeech) -> tuple[tuple[int, int], ...]:
        """The senses of a word, each with its count in tagged texts."""
        found: dict[int, int] = {}
        for spelling in (word, *self._spellings.get(word, ())):
            for sense, count in self._entry(spelling, part):
                found.setdefault(sense, count)
        return tuple(found.items())

    def pointers(self, sense: int, symbol: Pointer) -> tuple[int, ...]:
        """Where the pointers of one kind lead from a sense.

        >>> wordnet = dictionary()
        >>> wordnet.pointers(wordnet.named("couch.n.01"), "@") == (wordnet.named("seat.n.03"),)
        True
        """
        for group in self._synsets[sense].split(" ")[1:]:
            if group[0] == symbol:
                return tuple(int(number) for number in group[1:].split(","))
        return ()

    def part(self, sense: int) -> str:
        """The part of speech of a sense."""
        return self._synsets[sense][0]

    def file(self, sense: int) -> int:
        """The number of the lexicographer file of a sense (lexnames(5WN)), such as 6 for `noun.artifact`."""
        return int(self._synsets[sense][1:3])

    def _ancestors(self, sense: int) -> dict[int, int]:
        """The senses above one, by hypernym pointers, with the fewest steps to each."""
        steps: dict[int, int] = {}
        level, step = [sense], 0
        while level:
            step += 1
            level = [above for one in level for above in self.pointers(one, "@")]
            level = [above for above in dict.fromkeys(level) if above not in steps and above != sense]
            steps.update(dict.fromkeys(level, step))
        return steps

    def _bases(self, form: str, part: PartOfSpeech) -> tuple[str, ...]:
        """The words that a form may be an inflection of, itself left out. Of several words a verb's first one is
        inflected, else the last.

        >>> dictionary().bases("mice", "n"), dictionary().bases("picking up", "v"), dictionary().bases("bus", "n")
        (('mouse',), ('pick up',), ())
        """
        listed = self._forms.get((part, form), ())
        if part == "v":
            head, blank, tail = form.partition(" ")
            found = [base + blank + tail for base in self._detached(head, part)]
        else:
            head, blank, tail = form.rpartition(" ")
            found = [head + blank + base for base in self._detached(tail, part)]
        known = [base for base in (*listed, *found) if base != form and self.senses(base, part)]
        return tuple(dict.fromkeys(known))

    def _detached(self, word: str, part: PartOfSpeech) -> Iterator[str]:
        listed = self._forms.get((part, word))
        if listed:
            yield from listed
            return
        for ending, base in _ENDINGS[part]:
            if word.endswith(ending) and len(word) > len(ending):
                yield word[: -len(ending)] + base

    def named(self, name: str) -> int:
        """The sense of a name such as `couch.n.01`: word, part of speech, place among the senses of the word.

        Raises `SgevalError` for a name without a sense.
        """
        word, part, order = ["", "", *name.rsplit(".", 2)][-3:]
        if order.isdigit() and order.isascii():
            senses = self.own_senses(word.replace("_", " ").lower(), _PARTS.get(part, "n"))
            if part in _PARTS and 0 < int(order) <= len(senses):
                return senses[int(order) - 1]
        raise SgevalError(f"sense: expected a name of WordNet 3.0 such as couch.n.01, got {shown(name)}")


_LOCK = Lock()


def dictionary() -> Dictionary:
    """The dictionary, unpacked on first use, once for all threads."""
    with _LOCK:
        return _load()


@cache
def _load() -> Dictionary:
    return Dictionary(gzip.decompress(ASSET.read_bytes()).decode("utf-8"))
