"""Which encoder a call asks for, and how it is to run."""

from dataclasses import dataclass
from pathlib import Path

from sgeval.encoders import check_setup, load_encoder
from sgeval.errors import SgevalError, one_of, shown
from sgeval.planning import Encoder
from sgeval.relclip.options import CONFIGS, KEYS

ENCODER_PARTS = (
    *Encoder.__annotations__,
    "signature",
    "prepare",
    "encode_images",
    "encode_texts",
    "truncated",
    "score",
)


@dataclass(frozen=True)
class Setup:
    """A model's name or an encoder object, the config it stands for, and how it runs."""

    model: str | Path | Encoder | None = None
    config: str = "clip"
    device: str = "auto"
    precision: str = "fp32"
    preprocess: str = "pil"

    @property
    def name(self) -> str | None:
        """The model's name; nothing for an encoder object."""
        if isinstance(self.model, (str, Path)):
            return str(self.model)
        return CONFIGS[self.config][0] if self.model is None else None

    def check(self) -> None:
        """Refuse what cannot run here, before any data is read or any weights are loaded."""
        one_of("config", self.config, CONFIGS)
        lacks = [part for part in ENCODER_PARTS if not hasattr(self.model, part)]
        if not isinstance(self.model, (str, Path, type(None))) and lacks:
            raise SgevalError(
                f"model: expected a name, a folder or an encoder object, got {type(self.model).__name__} without "
                f"{', '.join(lacks)}"
            )
        if self.name is not None:
            check_setup(self.name, self.device, self.precision, self.preprocess)

    def device_kind(self) -> str:
        """`cpu`, `cuda` …: numbers made on one differ from the other's in their last digits."""
        if self.name is None:
            return str(getattr(self.model, "device", "cpu")).partition(":")[0]
        return check_setup(self.name, self.device, self.precision, self.preprocess)[1].partition(":")[0]

    def encoder(self) -> Encoder:
        """The encoder; a config whose headline the model's score rule does not give is refused."""
        self.check()
        if self.name is not None:
            encoder: Encoder = load_encoder(
                self.name, self.device, precision=self.precision, preprocess=self.preprocess
            )
        else:
            assert self.model is not None and not isinstance(self.model, (str, Path))
            encoder = self.model
        key = CONFIGS[self.config][1]
        if self.config != "clip" and KEYS[encoder.score_rule] != key:
            raise SgevalError(
                f"config {shown(self.config)}: expected a model that gives {key}, got {shown(encoder.name)} that gives "
                f"{KEYS[encoder.score_rule]}"
            )
        return encoder
