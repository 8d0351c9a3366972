"""`sgeval doctor`: what is on this machine, and which models of it are what their names say."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from sgeval.encoders import check_setup, load_encoder
from sgeval.encoders.aliases import ALIASES, Alias
from sgeval.errors import BadImage, SgevalError, one_line
from sgeval.runs import versions

PACKAGES = (
    "torchvision",
    "timm",
    "tokenizers",
    "sentencepiece",
    "safetensors",
    "huggingface_hub",
    "datasets",
    "evaluate",
    "pyarrow",
)
"""Beside those that a run records."""

Status = Literal["verified", "self-tested", "DRIFT", "failed", "unverified"]
MEANING: dict[Status, str] = {
    "verified": "self-tests pass, golden values are reproduced",
    "self-tested": "self-tests pass; no golden value was compared",
    "DRIFT": "self-tests pass, but golden values are not reproduced",
    "failed": "a check fails",
}
FAULTY: tuple[Status, ...] = ("DRIFT", "failed")
GOLDEN_VALUE = "golden value"


@dataclass(frozen=True)
class Check:
    """One line on a model: what was looked at and what was seen. `ok` is `None` where it could not be looked at."""

    name: str
    ok: bool | None
    words: str


@dataclass(frozen=True)
class Model:
    """What is known of a model on this machine."""

    name: str
    status: Status
    words: str
    place: str
    revision: str | None = None
    weights: str | None = None
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Report:
    """What `doctor` found."""

    versions: dict[str, str]
    devices: dict[str, Any]
    hub: dict[str, Any]
    models: tuple[Model, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing that was checked is wrong."""
        return all(model.status not in FAULTY for model in self.models)

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {"ok": self.is_well, **asdict(self)}


def examine(model: str | None = None, pictures: Path | None = None) -> Report:
    """Look at this machine and at each model of the table, or at one model by any name `load_encoder` takes.

    Models whose files are here are loaded, self-tested and compared with golden values; the others are named as not
    verified. Nothing is downloaded. `pictures`: a folder with the pictures that the golden values are of.

    Raises `SgevalError` for a name of no known form and a folder that is none.
    """
    from sgeval.encoders.machine import devices

    if pictures is not None and not pictures.is_dir():
        raise SgevalError(f"{pictures}: expected a folder of pictures, found none")
    names = list(ALIASES) if model is None else [model]
    return Report(all_versions(), devices(), hub_settings(), tuple(_examine(name, pictures) for name in names))


def all_versions() -> dict[str, str]:
    """Versions of Python, sgeval and the packages it stands on."""
    found = versions()
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def hub_settings() -> dict[str, Any]:
    """Whether the Hub may be asked, and where its files are kept."""
    from huggingface_hub import constants

    return {"offline": bool(constants.HF_HUB_OFFLINE), "cache": str(constants.HF_HUB_CACHE)}


def _examine(name: str, pictures: Path | None) -> Model:
    from sgeval.encoders.machine import reach

    alias, _ = check_setup(name, "auto", "fp32", "pil")
    where = reach(name, alias)
    if where.missing:
        lacking = "weights" if "weights" in where.missing else " and ".join(where.missing)
        are = "are" if lacking == "weights" or len(where.missing) > 1 else "is"
        words = f"unverified here: {lacking} {are} not on this machine"
        return Model(name, "unverified", words, where.place, where.revision)
    try:
        weights, checks = _checks(name, alias, pictures)
    except Exception as fault:  # whatever a library raises on one model, the others are looked at too
        kind = "" if isinstance(fault, SgevalError) else f"{type(fault).__name__}: "
        return Model(name, "failed", kind + one_line(str(fault)), where.place, where.revision)
    status = _status(checks)
    words = MEANING[status]
    if status == "DRIFT":
        words += " with " + ", ".join(f"{package} {found}" for package, found in versions().items())
    return Model(name, status, words, where.place, where.revision, weights, checks)


def _checks(name: str, alias: Alias, pictures: Path | None) -> tuple[str, tuple[Check, ...]]:
    """Load the model and look at it: the hash of its weights, and every check."""
    from sgeval.encoders.selftest import GOLDEN, SelfTestWarning, check_golden, find_picture, selftest

    with _offline(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", SelfTestWarning)  # what it would say is said below
        encoder = load_encoder(name)
    weights = encoder.facts.weights
    checks = [_weights(alias, weights)]
    if name not in ALIASES:  # what loading says of a model that nothing is recorded of
        texts = dict.fromkeys(str(warning.message) for warning in caught)
        checks += [Check("warning", None, text) for text in texts if text.startswith("model ")]
    checks += [Check(finding.name, finding.ok, finding.words) for finding in selftest(encoder)]
    for golden in GOLDEN.get(name, ()):
        path, lacking = find_picture(golden.picture, pictures)
        try:
            if path is None:
                raise BadImage(lacking)
            finding = check_golden(encoder, golden, path)
            checks.append(Check(GOLDEN_VALUE, finding.ok, finding.words))
        except BadImage as fault:
            checks.append(Check(GOLDEN_VALUE, None, f"not checked: {fault}"))
    if name not in GOLDEN:
        checks.append(Check(GOLDEN_VALUE, None, "not checked: none is known for this model"))
    return weights, tuple(checks)


def _weights(alias: Alias, found: str) -> Check:
    if alias.weights is None:
        return Check("weights", None, f"{found}; there is no recorded hash to compare with")
    is_same = alias.weights == found
    return Check("weights", is_same, f"{found}, as recorded" if is_same else f"{found}, recorded is {alias.weights}")


def _status(checks: tuple[Check, ...]) -> Status:
    if any(check.ok is False for check in checks if check.name != GOLDEN_VALUE):
        return "failed"
    compared = [check.ok for check in checks if check.name == GOLDEN_VALUE and check.ok is not None]
    if not all(compared):
        return "DRIFT"
    return "verified" if compared else "self-tested"


@contextmanager
def _offline() -> Iterator[None]:
    """The Hub client answers from its cache alone."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
