"""Which encoder a call asks for, and how it is to run."""

from dataclasses import dataclass
from pathlib import Path

from sgeval.encoders import check_setup, load_encoder
from sgeval.errors import SgevalError
from sgeval.planning import Encoder

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
    """A model's name or folder, or an encoder object, and how it runs."""

    model: str | Path | Encoder
    device: str = "auto"
    precision: str = "fp32"
    preprocess: str = "pil"

    @property
    def name(self) -> str | None:
        """The model's name; nothing for an encoder object."""
        return str(self.model) if isinstance(self.model, (str, Path)) else None

    def check(self) -> None:
        """Refuse what cannot run here, before any data is read or any weights are loaded."""
        lacks = [part for part in ENCODER_PARTS if not hasattr(self.model, part)]
        if self.name is None and lacks:
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
        """The encoder."""
        self.check()
        if isinstance(self.model, (str, Path)):
            return load_encoder(str(self.model), self.device, precision=self.precision, preprocess=self.preprocess)
        return self.model
