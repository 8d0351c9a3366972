"""How numbers and strangers' texts are shown in a report: in one place, always the same."""

import math
import re
from urllib.parse import urlsplit

from sgeval.phrases import object_words, words

NOTHING = "–"
LABEL_LENGTH = 120  # characters of a label; a longer one is cut on the page, the run's rows keep it whole

METRIC_NAMES = {
    "relclipscore": "RelCLIPScore",
    "relsiglipscore": "RelSigLIPScore",
    "relblipscore": "RelBLIPScore",
    "theta": "θ",
    "ssg_role_values": "SSG role values",
    "svg2_temporal_accuracy": "SVG2 temporal accuracy",
}

_EITHER = re.compile(r"\{([^{}|]*)\|([^{}|]*)\}")


def cut(text: object, limit: int = LABEL_LENGTH) -> str:
    """At most `limit` characters of a text, the cut shown.

    >>> cut("abcdef", 4)
    'abc…'
    """
    whole = str(text)
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"


def number(value: object) -> float | None:
    """The value as a float, or `None` where it is no finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def hundred(value: object) -> str:
    """A fraction times 100 with two decimals, as the papers print scores; a dash where there is none.

    >>> hundred(0.30668), hundred(None)
    ('30.67', '–')
    """
    found = number(value)
    return NOTHING if found is None else f"{found * 100:,.2f}"


def percent(value: object) -> str:
    """A value that is percent already, with two decimals; a dash where there is none.

    >>> percent(66.66666666666667), percent(-1e-9), percent(None)
    ('66.67', '0.00', '–')
    """
    found = number(value)
    return NOTHING if found is None else f"{round(found, 2) + 0.0:,.2f}"


def percent_interval(low: object, high: object) -> str:
    """The same of an interval, or nothing when an end is missing.

    >>> percent_interval(20.0, 30.0), percent_interval(None, 30.0)
    ('20.00 to 30.00', '')
    """
    return "" if number(low) is None or number(high) is None else f"{percent(low)} to {percent(high)}"


def interval(low: object, high: object) -> str:
    """An interval times 100, or nothing when an end is missing.

    >>> interval(0.2, 0.3), interval(None, 0.3)
    ('20.00 to 30.00', '')
    """
    return "" if number(low) is None or number(high) is None else f"{hundred(low)} to {hundred(high)}"


def share(part: int, whole: int) -> str:
    """A share in percent with one decimal; a dash of nothing.

    >>> share(1, 8), share(0, 0)
    ('12.5 %', '–')
    """
    return f"{100 * part / whole:.1f} %" if whole else NOTHING


def agreed(text: str, n: int) -> str:
    """A text whose `{one|many}` parts agree with a number.

    >>> agreed("{relation|relations} that {was|were} scored", 1)
    'relation that was scored'
    """
    return _EITHER.sub(lambda found: found[1] if n == 1 else found[2], text)


def spoken(subject: str, predicate: str, object: str, normalisation: str) -> tuple[str, str, str]:
    """The three labels of a triplet as the scored text holds them.

    >>> spoken("person_1", "sitting_on", "tree-merged", "words")
    ('person', 'sitting on', 'tree')
    """
    if normalisation != "words":
        return subject, predicate, object
    return object_words(subject), words(predicate), object_words(object)


def metric_name(key: str) -> str:
    """The metric as papers write it; an unknown one as it is."""
    return METRIC_NAMES.get(key, key)


def safe_link(link: str | None) -> str | None:
    """The link when it is a plain relative address, else `None`: no scheme, no host, nothing invisible."""
    if not link or not link.isprintable() or link.startswith(("/", "\\")) or "\\" in link:
        return None
    try:
        parts = urlsplit(link)
    except ValueError:
        return None
    return None if parts.scheme or parts.netloc or ":" in parts.path else link
