"""The options of θ, checked once."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from sgeval.errors import SgevalError, shown
from sgeval.options import check_options, options_of
from sgeval.phrases import Normalisation, canonical, check_template
from sgeval.regions import Context, Fit, check_context, context_name
from sgeval.running import OnBadImage
from sgeval.validation import OnInvalid

KEY = "theta"
CONFIGS = ("scores", "graphs")
DEFAULT_MODEL = "clip-l14"

Score = Literal["cosine", "softmax100"]
Protocol = Literal["paper", "openvocsgg"]
Singletons = Literal["skip", "include"]
Cooccurring = Literal["keep", "exclude"]
Confusers = Literal["top", "all"]

ONLY_GRAPHS = '{}: only config="graphs" has a use for it; config="scores" takes no pictures'

SYMMETRIC = (
    "across from",
    "adjacent to",
    "alongside",
    "and",
    "beside",
    "close to",
    "connected to",
    "kissing",
    "near",
    "near to",
    "next to",
    "opposite",
    "side by side with",
    "together with",
    "touching",
)
"""Predicates that hold in both directions: swapping subject and object says the same."""


@dataclass(frozen=True)
class Options:
    """What moves the number or decides what is done with faults. Defaults are the paper's."""

    score: Score = "cosine"
    protocol: Protocol = "paper"
    singletons: Singletons = "skip"
    cooccurring: Cooccurring = "keep"
    confusers: Confusers = "top"
    symmetric: tuple[str, ...] = SYMMETRIC
    context: Context = "none"
    fit: Fit = "model"
    template: str | None = None
    normalisation: Normalisation = "words"
    on_invalid: OnInvalid = "error"
    on_bad_image: OnBadImage = "error"
    batch_size: int = 32
    bootstrap: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_options(self, _CHOICES)
        object.__setattr__(self, "context", check_context(self.context))
        object.__setattr__(self, "symmetric", _predicates(self.symmetric))
        if self.template is not None:
            check_template(self.template)

    def signature(self, template: str) -> dict[str, object]:
        """The options' part of the signature of the config `graphs`."""
        return {
            "value": self.score,
            "protocol": self.protocol,
            "singletons": self.singletons,
            "cooccurring": self.cooccurring,
            "symmetric": "default" if self.symmetric == SYMMETRIC else "+".join(self.symmetric) or "none",
            "draw": self.seed,
            "template": template,
            "norm": self.normalisation,
            "context": context_name(self.context),
            "fit": self.fit,
            "invalid": self.on_invalid,
            "badimage": self.on_bad_image,
            "dedup": "merge",
        }

    def list_signature(self) -> dict[str, object]:
        """The options' part of the signature of the config `scores`."""
        return {
            "value": self.score,
            "protocol": self.protocol,
            "singletons": self.singletons,
            "invalid": self.on_invalid,
        }

    def check_for_lists(self) -> None:
        """Refuse options that only graphs have a use for."""
        default = asdict(Options())
        for item in fields(self):
            if item.name not in LIST_OPTIONS and getattr(self, item.name) != default[item.name]:
                raise SgevalError(ONLY_GRAPHS.format(item.name))


LIST_OPTIONS = ("score", "protocol", "singletons", "on_invalid", "bootstrap", "seed")
"""The options of the config `scores`."""

_CHOICES: dict[str, Any] = {
    "score": Score,
    "protocol": Protocol,
    "singletons": Singletons,
    "cooccurring": Cooccurring,
    "confusers": Confusers,
    "fit": Fit,
    "normalisation": Normalisation,
    "on_invalid": OnInvalid,
    "on_bad_image": OnBadImage,
}


def _predicates(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SgevalError(f"symmetric: expected a list of predicates, got {shown(given)}")
    found = list(given)
    for entry in found:
        if not isinstance(entry, str) or not entry.strip():
            raise SgevalError(f"symmetric: expected a list of predicates, got {shown(entry)} in it")
    return tuple(sorted({canonical(entry) for entry in found}))


def make_options(given: Mapping[str, Any]) -> Options:
    """Options from keywords; an unknown one is an error that names the known ones."""
    return options_of(Options, given)
