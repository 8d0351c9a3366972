"""From labels to the text that is scored, and to the form that tables and duplicates are grouped by.

The labels of a record stay as they are. Two named normalisations exist:

- `words` (default): Unicode NFC, underscores to blanks, runs of blanks to one, ends trimmed; for objects also the
  instance number (`person_1`, `1_person`) and the suffixes of the COCO panoptic class names (`-other`, `-merged`,
  `-stuff`) go. Case and hyphens stay.
- `none`: the label, untouched.
"""

import re
import unicodedata
from string import Formatter
from typing import Literal

from sgeval.errors import SgevalError, shown

Normalisation = Literal["words", "none"]

DUAL_ENCODER_TEMPLATE = "{subject} {predicate} {object}"
BLIP_TEMPLATE = "a photo of a {subject} {predicate} {object}"
SLOTS = ("subject", "predicate", "object")

_INSTANCE = re.compile(r"^\d+_(?=\D)|(?<=\D)_\d+$")
_PANOPTIC = re.compile(r"(-other)?(-merged)?$|-stuff$")


def words(label: str) -> str:
    """A predicate (or any label) as words.

    >>> words(" in_front_of  ")
    'in front of'
    """
    return " ".join(unicodedata.normalize("NFC", label).replace("_", " ").split())


def object_words(label: str) -> str:
    """An object label as words, without instance number and panoptic suffix. A label of nothing else stays as it is.

    >>> object_words("person_1"), object_words("wall-other-merged"), object_words("t-shirt")
    ('person', 'wall', 't-shirt')
    """
    bare = _PANOPTIC.sub("", _INSTANCE.sub("", label.strip()))
    return words(bare) or words(label)


def canonical(label: str) -> str:
    """The form that equal predicates share: words, case folded, hyphens as blanks.

    >>> {canonical("in_front_of"), canonical("in-front-of "), canonical("In front of")}
    {'in front of'}
    """
    return words(label.replace("-", " ")).casefold()


def check_template(template: str) -> str:
    """The template, if it has each of the three slots and no other.

    >>> check_template("a photo of {subject}")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: template: expected the slots {subject}, {predicate} and {object}, got "a photo of {subject}"
    """
    if not isinstance(template, str):
        raise SgevalError(f"template: expected a text, got {shown(template)}")
    try:
        parts = [(slot, form, how) for _, slot, form, how in Formatter().parse(template) if slot is not None]
    except ValueError:
        parts = []
    if {slot for slot, _, _ in parts} != set(SLOTS) or any(form or how for _, form, how in parts):
        raise SgevalError(
            f"template: expected the slots {{subject}}, {{predicate}} and {{object}}, got {shown(template)}"
        )
    return template


def triplet_text(
    subject: str,
    predicate: str,
    object: str,
    template: str = DUAL_ENCODER_TEMPLATE,
    normalisation: Normalisation = "words",
) -> str:
    """The text of a triplet, as the encoder reads it; with an empty predicate, that of the two objects alone.

    >>> triplet_text("person_1", "sitting_on", "horse", "a photo of a {subject} {predicate} {object}")
    'a photo of a person sitting on horse'
    >>> triplet_text("person", "", "horse")
    'person horse'
    """
    if normalisation == "words":
        subject, predicate, object = object_words(subject), words(predicate), object_words(object)
    text = template.format(subject=subject, predicate=predicate, object=object)
    return text if predicate else " ".join(text.split())
