"""The options of the role values, checked once."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from sgeval.errors import SgevalError, one_of, shown
from sgeval.options import check_limit, check_options, options_of
from sgeval.roles import VerbSetting
from sgeval.validation import OnInvalid

KEY = "ssg_role_values"
HEADLINE = "value"
CONFIGS = ("roles", "gold_verb", "vqa")
"""What is scored: role values under `top1`, the same under `gold`, or multiple choice."""

Missing = Literal["zero", "error"]


@dataclass(frozen=True)
class Options:
    """What moves the number or decides what is done with faults. Defaults are the paper's."""

    verb_setting: VerbSetting = "top1"
    max_values: int | None = None
    """How many predicted values of a role count, the first; all by default: then whoever names every value is right."""
    missing: Missing = "zero"
    on_invalid: OnInvalid = "error"
    bootstrap: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_options(self, _CHOICES)
        check_limit(self.max_values, "max_values")
        if self.max_values is not None:
            object.__setattr__(self, "max_values", int(self.max_values))

    def signature(self, input: str = "rows") -> dict[str, object]:
        """The options' part of the signature."""
        verbs: dict[str, object] = {} if input == "vqa" else {"verbs": self.verb_setting}
        parts = {"input": input, **verbs, "missing": self.missing, "invalid": self.on_invalid}
        return parts if self.max_values is None else {**parts, "maxvalues": self.max_values}


_CHOICES: dict[str, Any] = {"verb_setting": VerbSetting, "missing": Missing, "on_invalid": OnInvalid}


def make_options(given: Mapping[str, Any], config: str = "roles") -> Options:
    """Options from keywords, `verb_setting` left out or `None` where the config says it; an unknown one is an error that
    names the known ones."""
    one_of("config", config, CONFIGS)
    setting = given.get("verb_setting")
    options = options_of(Options, {name: value for name, value in given.items() if name != "verb_setting"})
    if config == "vqa" and options.max_values is not None:
        raise SgevalError(f'max_values: expected none with config="vqa", which has no roles, got {options.max_values}')
    if setting is None:
        return replace(options, verb_setting="gold") if config == "gold_verb" else options
    if config == "vqa":
        raise SgevalError(f'verb_setting: expected none with config="vqa", which has no verbs, got {shown(setting)}')
    made = Options(**{**asdict(options), "verb_setting": setting})
    if config == "gold_verb" and made.verb_setting != "gold":
        raise SgevalError(f'verb_setting: expected "gold" with config="gold_verb", got {shown(setting)}')
    return made
