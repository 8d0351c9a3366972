"""`manifest.json` of a bundle, read with care: it may be a stranger's."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgeval import strict_json
from sgeval.bundle.building import FORMAT, KIND, MANIFEST, check_repo
from sgeval.bundle.contents import CONFIGS
from sgeval.bundle.splits import digest, ids_of, known_split
from sgeval.errors import SgevalError, one_line, shown

DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class KnownSplit:
    """A split as the manifest names it."""

    config: str
    split: str
    number: int | None
    ids_sha256: str | None
    references_sha256: str | None = None

    @property
    def name(self) -> str:
        """The split with its size and the start of the digest, as it is to be quoted.

        >>> KnownSplit("demo", "test", 2, "0123456789abcdef").name
        'demo/test-2-0123456789ab'
        """
        place = f"{self.config}/{self.split}"
        return place if self.ids_sha256 is None else f"{place}-{self.number}-{self.ids_sha256[:12]}"


@dataclass(frozen=True)
class Manifest:
    """What a bundle says that it is."""

    folder: Path
    repo: str
    sgeval: str
    splits: tuple[KnownSplit, ...]
    files: Mapping[str, str]

    def split(self, config: str, split: str) -> KnownSplit:
        """A split; one without a digest where the bundle has none of the name."""
        named = (one for one in self.splits if (one.config, one.split) == (config, split))
        return next(named, KnownSplit(config, split, None, None))

    def ids(self, known: KnownSplit) -> frozenset[str]:
        """The ids of a split that has a digest, from its file. Raises `SgevalError` where the digest is of others."""
        split = known_split(known.config, known.split)
        ids = ids_of(self.folder / split.file, split)
        if (
            not isinstance(ids, list)
            or not all(isinstance(each, str) for each in ids)
            or digest(ids) != known.ids_sha256
        ):
            raise SgevalError(
                f"{split.file}: expected the ids of {known.name}, got others; `sgeval bundle check` says more"
            )
        return frozenset(ids)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder. Raises `SgevalError` where it is none or of another form."""
    path = folder / MANIFEST
    if not path.is_file():
        raise SgevalError(f"{one_line(str(folder))}: expected a bundle with {MANIFEST}, found none")
    whole = strict_json.read_file(path)
    try:
        if (whole["kind"], whole["format"]) != (KIND, FORMAT):
            raise SgevalError(f"{MANIFEST}: expected a {KIND} of format {FORMAT}, got {shown(whole['format'])}")
        check_repo(str(whole["repo"]))
        splits = tuple(_split(entry, f"{MANIFEST}: splits[{at}]") for at, entry in enumerate(whole["splits"]))
        files = {name: _digest(value, f"{MANIFEST}: files: {one_line(name)}") for name, value in whole["files"].items()}
        return Manifest(folder, whole["repo"], str(whole["sgeval"]), splits, files)
    except (KeyError, TypeError, AttributeError) as fault:
        raise SgevalError(
            f"{MANIFEST}: expected the manifest of a bundle, got another form ({one_line(str(fault))})"
        ) from None


def _split(entry: Mapping[str, Any], place: str) -> KnownSplit:
    found = KnownSplit(
        entry["config"], entry["split"], entry["number"], entry["ids_sha256"], entry.get("references_sha256")
    )
    if found.config not in CONFIGS or found.split not in CONFIGS[found.config].splits:
        raise SgevalError(
            f"{place}: expected a config and split of the bundle, got {shown([found.config, found.split])}"
        )
    if found.references_sha256 is not None:
        _digest(found.references_sha256, place)
    if found.ids_sha256 is None and found.number is None:
        return found
    _digest(found.ids_sha256, place)
    if isinstance(found.number, bool) or not isinstance(found.number, int) or found.number < 1:
        raise SgevalError(f"{place}: expected a number of ids beside their digest, got {shown(found.number)}")
    return found


def _digest(value: Any, place: str) -> str:
    if not isinstance(value, str) or not DIGEST.fullmatch(value):
        raise SgevalError(f"{place}: expected a SHA-256, got {shown(value)}")
    return value
