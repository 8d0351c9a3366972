"""Labels before they reach a judge: the form that is compared, the gate for predictions, and what needs no judge."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal

from sgeval.errors import SgevalError, one_of, shown
from sgeval.judges.verdicts import CATEGORIES, Judge, Kind, Pair, Verdict
from sgeval.phrases import canonical, object_words

Identical = Literal["judge", "canonical"]
"""Who may say identical: the judge too (as in the paper), or equal normal forms alone."""
IDENTICAL: tuple[Identical, ...] = ("judge", "canonical")

NORMALISATION = "labels-2"
"""The name of `normal`: verdicts that are kept hold for labels in this form. Changes when it does."""
ILLEGAL = "illegal_label"
MOST_CHARACTERS, MOST_WORDS = 64, 8
_UNCERTAIN = re.compile(r"\(\s*uncertain\s*\)", re.IGNORECASE)
_MARKS = " _-'/"
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u201b\u02bc\u2032", "'"))
_BREAKS = re.compile(r"[ _\-/]+")


@lru_cache(maxsize=262_144)
def normal(label: str, kind: Kind = "object") -> str:
    """A label as judges compare it: Unicode NFKC, straight apostrophes, without the note "(uncertain)", and then the form
    that equal labels share (`sgeval.phrases.canonical`): lower case, underscores and hyphens as blanks, single blanks. Of
    objects also the instance number and the panoptic suffix go (`object_words`). Cyrillic stays Cyrillic.

    >>> normal("Dining_Table (uncertain)"), normal("person_1"), normal("play(instrument)", "predicate")
    ('dining table', 'person', 'play(instrument)')
    """
    bare = _without_note(_plain(label))
    return canonical(object_words(bare) if kind == "object" else bare)


def _plain(label: str) -> str:
    return unicodedata.normalize("NFKC", label).translate(_APOSTROPHES)


def _without_note(label: str) -> str:
    """The label without its notes; one that is nothing else stays as it is."""
    bare = _UNCERTAIN.sub(" ", label)
    return bare if bare.strip() else label


@lru_cache(maxsize=262_144)
def gate(label: str) -> str | None:
    """Why a predicted label is not put before a judge, in words; `None` when it may pass.

    After NFKC, without "(uncertain)" and with single blanks: 1 to 64 characters, 1 to 8 words (hyphens, slashes and
    underscores part words too), letters, digits and ``_-'/`` only, so no control, bidirectional or invisible character
    and no JSON or markup. One bracket at the end is legal, as in VidOR's `play(instrument)`. Annotated labels are trusted
    and do not pass here.

    >>> gate("play(instrument)"), gate("ball/sports_ball")
    (None, None)
    >>> gate("dog]}, ignore this")
    "expected letters, digits, blanks and _ - ' / only, got U+005D"
    """
    if len(label) > 16 * MOST_CHARACTERS:
        return f"expected at most {MOST_CHARACTERS} characters, got {len(label)}"
    text = " ".join(filter(None, _without_note(_plain(label)).split(" ")))
    if not 1 <= len(text) <= MOST_CHARACTERS:
        return f"expected 1 to {MOST_CHARACTERS} characters, got {len(text)}"
    count = len([word for word in _BREAKS.split(text) if word])
    if count > MOST_WORDS:
        return f"expected at most {MOST_WORDS} words, got {count}"
    head, bracket, note = text.partition("(")
    if bracket and head.strip(" ") and note.endswith(")"):
        text = head + note[:-1]
    for character in text:
        if character not in _MARKS and unicodedata.category(character)[0] not in "LMN":
            return f"expected letters, digits, blanks and _ - ' / only, got U+{ord(character):04X}"
    if not any(unicodedata.category(character)[0] in "LN" for character in text):
        return "expected a word, got none"
    return None


def settled(pair: Pair) -> Verdict | None:
    """The verdict on a pair that needs no judge: identical for equal normal forms, mismatch for a prediction that the
    gate refuses (reason `illegal_label`); `None` for all others.

    >>> settled(Pair("object", "traffic_light", "Traffic light"))
    Verdict(category='identical', reason=None, is_cached=False, is_repaired=False)
    >>> settled(Pair("object", "dog", "puppy")) is None
    True
    """
    if normal(pair.reference, pair.kind) == normal(pair.prediction, pair.kind):
        return Verdict("identical")
    if gate(pair.prediction) is not None:
        return Verdict("mismatch", ILLEGAL)
    return None


def judge_pairs(judge: Judge, pairs: Sequence[Pair], identical: Identical = "judge") -> list[Verdict]:
    """One verdict a pair, in order. What `settled` decides is not asked; of the rest each distinct pair of normal forms is
    asked once, in the order of the alphabet, so that neither order nor repeats move a verdict.

    With `identical="canonical"` a judge's identical counts as synonym: only equal normal forms are identical.

    Raises `SgevalError` when the judge does not give one verdict a pair, or one of no known category.

    >>> from sgeval.judges.exact import Exact
    >>> pairs = [Pair("object", "dog", "Dog"), Pair("object", "dog", "puppy"), Pair("object", "dog", "<b>")]
    >>> [(verdict.category, verdict.reason) for verdict in judge_pairs(Exact(), pairs)]
    [('identical', None), ('mismatch', None), ('mismatch', 'illegal_label')]
    """
    one_of("identical", identical, IDENTICAL)
    found = [settled(pair) for pair in pairs]
    asked = _in_order(_normal_pair(pair) for pair, verdict in zip(pairs, found) if verdict is None)
    name = f"judge {shown(judge.name)}"
    answers = answer_list(name, judge(asked)) if asked else []
    if len(answers) != len(asked):
        raise SgevalError(f"{name}: expected {len(asked)} verdicts, got {len(answers)}")
    for answer in answers:
        if not isinstance(answer, Verdict):
            raise SgevalError(f"{name}: expected a Verdict for each pair, got {shown(answer)}")
        if answer.category is not None:
            one_of(name, answer.category, CATEGORIES, ", or None for no verdict")
    if identical == "canonical":
        answers = [_demoted(answer) for answer in answers]
    verdicts = dict(zip(asked, answers))
    return [verdicts[_normal_pair(pair)] if verdict is None else verdict for pair, verdict in zip(pairs, found)]


def answer_list(name: str, answers: object) -> list[Any]:
    """What a judge gave, as a list. Raises `SgevalError` for what holds no answers."""
    if not isinstance(answers, Iterable) or isinstance(answers, (str, bytes)):
        raise SgevalError(f"{name}: expected a list of verdicts, one for each pair, got {shown(answers)}")
    return list(answers)


def open_pairs(pairs: Iterable[Pair]) -> list[Pair]:
    """What `judge_pairs` would ask: the distinct pairs of normal forms that are not settled, in the order of the alphabet.

    >>> open_pairs([Pair("object", "dog", "Dog"), Pair("object", "dog", "Puppy"), Pair("object", "dogs", "puppy")])
    [Pair(kind='object', reference='dog', prediction='puppy'), Pair(kind='object', reference='dogs', prediction='puppy')]
    """
    return _in_order(_normal_pair(pair) for pair in pairs if settled(pair) is None)


def _in_order(pairs: Iterable[Pair]) -> list[Pair]:
    return sorted(set(pairs), key=lambda pair: (pair.kind, pair.reference, pair.prediction))


def _normal_pair(pair: Pair) -> Pair:
    return Pair(pair.kind, normal(pair.reference, pair.kind), normal(pair.prediction, pair.kind))


def _demoted(verdict: Verdict) -> Verdict:
    if verdict.category != "identical":
        return verdict
    return Verdict("synonym", verdict.reason, verdict.is_cached, verdict.is_repaired)
