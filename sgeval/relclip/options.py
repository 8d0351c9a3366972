"""The options of RelCLIPScore, checked once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sgeval.matching import IOU_THRESHOLD, Matching, Missing
from sgeval.options import check_options, options_of
from sgeval.phrases import Normalisation, check_template
from sgeval.regions import Context, Fit, check_context, context_name
from sgeval.relscore import Penalty
from sgeval.running import OnBadImage
from sgeval.validation import OnInvalid

Empty = Literal["zero", "skip"]
RefFormula = Literal["harmonic", "openvocsgg"]
Pairs = Literal["predicted", "gold"]

CONFIGS: dict[str, tuple[str, str]] = {
    "clip": ("clip-l14", "relclipscore"),
    "negclip": ("negclip-b32", "relclipscore"),
    "siglip": ("siglip-so400m", "relsiglipscore"),
    "blip2": ("blip2-itm-g", "relblipscore"),
}
"""Config name to its default model and the key of its headline."""

KEYS = {"cosine": "relclipscore", "sigmoid": "relsiglipscore", "itm": "relblipscore"}
"""Score rule of a model to the key of the headline."""


@dataclass(frozen=True)
class Options:
    """What moves the number or decides what is done with faults. Defaults are the paper's, but for the guarded penalty."""

    matching: Matching = "given"
    penalty: Penalty = "guarded"
    context: Context = "none"
    fit: Fit = "model"
    template: str | None = None
    normalisation: Normalisation = "words"
    empty: Empty = "zero"
    missing: Missing = "error"
    pairs: Pairs = "predicted"
    """What is averaged: the predicted triplets (the paper), or the pairs that the references relate, unanswered ones as 0."""
    ref_formula: RefFormula = "harmonic"
    on_invalid: OnInvalid = "error"
    on_bad_image: OnBadImage = "error"
    batch_size: int = 32
    bootstrap: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_options(self, _CHOICES)
        object.__setattr__(self, "context", check_context(self.context))
        if self.template is not None:
            check_template(self.template)

    def signature(self, template: str, with_references: bool) -> dict[str, object]:
        """The options' part of the signature."""
        matching = self.matching if self.matching == "given" else f"{self.matching}{IOU_THRESHOLD:g}"
        parts: dict[str, object] = {
            "template": template,
            "norm": self.normalisation,
            "context": context_name(self.context),
            "fit": self.fit,
            "penalty": self.penalty,
            "matching": matching,
            "empty": self.empty,
            "missing": self.missing,
            "invalid": self.on_invalid,
            "badimage": self.on_bad_image,
            "dedup": "merge",
        }
        parts["refs"] = self.ref_formula if with_references else "none"
        return parts if self.pairs == "predicted" else {**parts, "pairs": self.pairs}


_CHOICES: dict[str, Any] = {
    "matching": Matching,
    "pairs": Pairs,
    "penalty": Penalty,
    "fit": Fit,
    "normalisation": Normalisation,
    "empty": Empty,
    "missing": Missing,
    "ref_formula": RefFormula,
    "on_invalid": OnInvalid,
    "on_bad_image": OnBadImage,
}


def make_options(given: Mapping[str, Any]) -> Options:
    """Options from keywords; an unknown one is an error that names the known ones."""
    return options_of(Options, given)
