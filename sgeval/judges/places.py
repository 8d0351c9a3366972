"""A table of the words that tell a place or a relation without a verb, which WordNet does not have.

Each of `GROUPS` holds words of one meaning. Between two meanings stands one of the categories of a verdict:

- synonym: one group;
- hypernym: one is broader (`BROADER`, over several steps): beside is a way of being near;
- mismatch, and stronger than anything a verb may say: they exclude each other (`OPPOSITE`): above and below;
- overlap: they often hold together, or are told for each other (`CLOSE`): on and in a bus;
- mismatch: all others.

Direction counts as place: "into" is with "in", "onto" with "on", since verbs tell the movement.
"""

from functools import cache

from sgeval.judges.verdicts import Category

GROUPS: dict[str, tuple[str, ...]] = {
    "on": ("on", "upon", "onto", "on top of", "atop", "on top", "on surface of", "on back of"),
    "above": ("above", "over", "up above"),
    "below": ("below", "under", "beneath", "underneath", "at bottom of", "on bottom of"),
    "in": ("in", "inside", "inside of", "within", "into"),
    "outside": ("outside", "outside of", "out of", "out"),
    "near": ("near", "near to", "close to", "nearby", "in vicinity of", "around"),
    "far": ("far from", "far away from", "distant from"),
    "beside": ("beside", "next to", "by", "alongside", "alongside of", "adjacent to", "at side of", "on side of"),
    "front": ("in front of", "before", "ahead of", "in front"),
    "behind": ("behind", "in back of", "at back of", "after"),
    "left": (
        "left of",
        "to left of",
        "on left of",
        "at left of",
        "on left side of",
        "to left side of",
        "on left",
        "left",
    ),
    "right": (
        *("right of", "to right of", "on right of", "at right of", "on right side of", "to right side of"),
        *("on right", "right"),
    ),
    "against": ("against", "up against"),
    "at": ("at",),
    "between": ("between", "in between"),
    "among": ("among", "amongst", "amid", "in middle of", "in center of", "in centre of"),
    "surrounding": ("all around", "round"),
    "through": ("through", "throughout"),
    "across": ("across",),
    "facing": ("opposite", "opposite to", "across from", "opposite of"),
    "along": ("along", "down along"),
    "toward": ("toward", "towards", "to"),
    "away": ("away from", "away"),
    "from": ("from",),
    "off": ("off", "off of"),
    "up": ("up",),
    "down": ("down",),
    "with": ("with", "together with", "along with", "has", "have", "having"),
    "without": ("without",),
    "of": ("of", "belonging to", "part of"),
    "for": ("for",),
    "about": ("about",),
    "like": ("like",),
}
BROADER: dict[str, tuple[str, ...]] = {
    "beside": ("near",),
    "against": ("near",),
    "at": ("near",),
    "among": ("in",),
    "surrounding": ("near",),
}
OPPOSITE: tuple[tuple[str, str], ...] = (
    *(("above", "below"), ("on", "below"), ("in", "outside"), ("near", "far"), ("beside", "far"), ("against", "far")),
    *(
        ("at", "far"),
        ("front", "behind"),
        ("left", "right"),
        ("toward", "away"),
        ("toward", "from"),
        ("on", "off"),
        ("up", "down"),
    ),
    *(("with", "without"), ("at", "away"), ("aim", "away"), ("among", "outside")),
)
CLOSE: tuple[tuple[str, str], ...] = (
    *(("on", "above"), ("on", "in"), ("on", "against"), ("on", "at"), ("in", "at"), ("in", "through"), ("on", "along")),
    *(("beside", "against"), ("beside", "at"), ("beside", "along"), ("beside", "left"), ("beside", "right")),
    *(
        ("at", "toward"),
        ("aim", "at"),
        ("aim", "toward"),
        ("across", "through"),
        ("across", "on"),
        ("across", "facing"),
        ("between", "among"),
    ),
    *(
        ("front", "facing"),
        ("away", "off"),
        ("from", "away"),
        ("from", "off"),
        ("from", "on"),
        ("from", "of"),
        ("away", "outside"),
        ("surrounding", "among"),
        ("up", "above"),
        ("down", "below"),
    ),
)

AIM = "aim"
"""The meaning of "at" and "to" where they tell whom or what a verb is about: looking at, talking to."""

_MEANING = {word: meaning for meaning, words in GROUPS.items() for word in words}
LONGEST = max(word.count(" ") + 1 for word in _MEANING)


def meaning_of(words: str) -> str | None:
    """The meaning of words of place, given without articles; `None` where they are none.

    >>> meaning_of("on top of"), meaning_of("riding")
    ('on', None)
    """
    return _MEANING.get(words)


@cache
def excludes(left: str, right: str) -> bool:
    """Whether two meanings exclude each other.

    >>> excludes("above", "below"), excludes("on", "in")
    (True, False)
    """
    return (left, right) in OPPOSITE or (right, left) in OPPOSITE


@cache
def compare(left: str, right: str) -> Category:
    """The category of two meanings.

    >>> compare("near", "beside"), compare("left", "right"), compare("on", "in")
    ('hypernym', 'mismatch', 'overlap')
    """
    if left == right:
        return "synonym"
    if excludes(left, right):
        return "mismatch"
    if right in _broader(left) or left in _broader(right):
        return "hypernym"
    return "overlap" if (left, right) in CLOSE or (right, left) in CLOSE else "mismatch"


def _broader(meaning: str) -> set[str]:
    above = {*BROADER.get(meaning, ())}
    return above.union(*(_broader(one) for one in above))
