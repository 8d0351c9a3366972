"""What the name of a config stands for: the model it takes by default, and the key of the headline."""

from typing import Any

from sgeval.errors import SgevalError, one_of, shown
from sgeval.planning import Encoder
from sgeval.relclip.options import CONFIGS, KEYS
from sgeval.setup import Setup


def make_setup(model: Any = None, config: str = "clip", **how: str) -> Setup:
    """The setup of a model, or of the config's model where none is named. `how`: as in `Setup`."""
    one_of("config", config, CONFIGS)
    return Setup(CONFIGS[config][0] if model is None else model, **how)


def check_config(config: str, encoder: Encoder) -> None:
    """Refuse a config whose headline the model's score rule does not give; plain `clip` takes any model."""
    key = CONFIGS[config][1]
    if config != "clip" and KEYS[encoder.score_rule] != key:
        raise SgevalError(
            f"config {shown(config)}: expected a model that gives {key}, got {shown(encoder.name)} that gives "
            f"{KEYS[encoder.score_rule]}"
        )
