"""The options of SVG2 temporal accuracy, checked once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

from sgeval.errors import SgevalError, shown
from sgeval.judges.labels import Identical
from sgeval.matching import Missing
from sgeval.options import check_limit, check_options, options_of
from sgeval.spans import SpanEnd
from sgeval.validation import OnInvalid

KEY = "svg2_temporal_accuracy"
HEADLINE = "triplet_accuracy"
KINDS = ("object", "attribute", "relation", "triplet")
HEADLINE_THRESHOLD = 0.5  # paper 2, Table 2

Denominator = Literal["references", "predictions"]
Average = Literal["items", "video"]
Assignment = Literal["any", "one_to_one"]
Strict = Literal["judge", "string"]
EndpointMatch = Literal["lenient", "same"]
MissingInterval = Literal["whole", "fail"]


@dataclass(frozen=True)
class Options:
    """What moves the number or decides what is done with faults. Defaults are the paper's, where it says."""

    thresholds: tuple[float, ...] = (HEADLINE_THRESHOLD,)
    """tIoU must be above one of these; 0.5 is the headline, whatever else is asked for."""
    denominator: Denominator = "references"
    """`predictions` adds keys `…_precision`: shares of the predicted items. Annotations are incomplete, so these are lower
    than the truth."""
    average: Average = "items"
    """Over all items of all videos, or the mean of the videos' own shares."""
    assignment: Assignment = "any"
    """Whether one predicted relation may satisfy several annotated ones of its pair, one attribute several of its object, or
    one at most."""
    max_per_pair: int | None = None
    """How many predicted relations of an ordered pair, and attributes of an object, are held against the annotation: the
    first by falling score, then by position, once repeats are one. The others are wrong, and no judge is asked of them."""
    ignore_direction: bool = False
    """Adds keys `…_ignoring_direction`: a prediction from object to subject counts too. A diagnosis, not a score."""
    merge_same_predicate: bool = False
    """Whether predictions of one pair with equal predicates are one, with all their spans."""
    strict: Strict = "judge"
    """What passes in the strict keys: what the judge calls identical, or equal strings alone."""
    endpoint_match: EndpointMatch = "lenient"
    """What subject and object of a strict triplet need: paper 2 asks for lenient labels; `same` asks for strict ones."""
    missing_interval: MissingInterval = "whole"
    """A relation without a span holds through the whole video, or never overlaps."""
    levels: tuple[str, ...] | None = None
    """Levels of objects that count (SVG2 test has L1, L2, L3); all by default."""
    restrict_to_given: bool = False
    """Leave out annotated objects that the prediction was not given, with their relations."""
    identical: Identical = "judge"
    """`canonical`: no label but an equal one is identical, whatever the judge says."""
    prediction_span_end: SpanEnd = "exclusive"
    """Whether the end of a predicted span is a second of it: [a, b] then means [a, b + 1)."""
    max_unjudged: float = 0.0
    """The share of items that may stay undecided before a headline is withheld."""
    on_invalid: OnInvalid = "error"
    missing: Missing = "error"
    bootstrap: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_options(self, _CHOICES)
        for name in ("ignore_direction", "merge_same_predicate", "restrict_to_given"):
            if not isinstance(getattr(self, name), bool):
                raise SgevalError(f"{name}: expected true or false, got {shown(getattr(self, name))}")
        object.__setattr__(self, "thresholds", _thresholds(self.thresholds))
        object.__setattr__(self, "levels", _levels(self.levels))
        check_limit(self.max_per_pair, "max_per_pair")
        if self.max_per_pair is not None:
            object.__setattr__(self, "max_per_pair", int(self.max_per_pair))
        share = self.max_unjudged
        if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= float(share) <= 1:
            raise SgevalError(f"max_unjudged: expected a share from 0 to 1, got {shown(share)}")

    def signature(self) -> dict[str, object]:
        """The options' part of the signature."""
        parts: dict[str, object] = {
            "tiou": "+".join(f">{threshold:g}" for threshold in self.thresholds),
            "average": self.average,
            "assignment": self.assignment,
            "merge": "equal" if self.merge_same_predicate else "none",
            "strict": self.strict,
            "ends": self.endpoint_match,
            "nospan": self.missing_interval,
            "levels": "all" if self.levels is None else "+".join(self.levels),
            "objects": "given" if self.restrict_to_given else "all",
            "identical": self.identical,
            "spanend": self.prediction_span_end,
            "maxunjudged": f"{self.max_unjudged:g}",
            "invalid": self.on_invalid,
            "missing": self.missing,
        }
        return parts if self.max_per_pair is None else {**parts, "maxperpair": self.max_per_pair}


_CHOICES: dict[str, Any] = {
    "denominator": Denominator,
    "average": Average,
    "assignment": Assignment,
    "strict": Strict,
    "endpoint_match": EndpointMatch,
    "missing_interval": MissingInterval,
    "identical": Identical,
    "prediction_span_end": SpanEnd,
    "on_invalid": OnInvalid,
    "missing": Missing,
}


def _thresholds(given: object) -> tuple[float, ...]:
    """In rising order, each once, 0.5 among them."""
    several: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    for value in several:
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
            raise SgevalError(f"thresholds: expected numbers from 0 to below 1, got {shown(value)}")
    return tuple(sorted({HEADLINE_THRESHOLD, *(float(value) for value in several)}))


def _levels(given: object) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SgevalError(f"levels: expected a list of levels, got {shown(given)}")
    found = list(given)
    for entry in found:
        if not isinstance(entry, str) or not entry:
            raise SgevalError(f"levels: expected a list of levels, got {shown(entry)} in it")
    return tuple(sorted(set(found)))


def make_options(given: Mapping[str, Any]) -> Options:
    """Options from keywords; an unknown one is an error that names the known ones."""
    return options_of(Options, given)
