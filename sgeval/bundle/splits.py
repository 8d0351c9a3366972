"""Which pictures or videos a split is made of: how many, and the digest of their ids.

A result belongs to a split only when its run is over exactly these ids, whatever they were called in a file's name.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sgeval.bundle.contents import CONFIGS
from sgeval.data import reading
from sgeval.demo import SCENES
from sgeval.errors import SgevalError, one_line
from sgeval.formats import read_graphs
from sgeval.progress import bar
from sgeval.situation import rows_of_graphs

DATA = "data"


@dataclass(frozen=True)
class Split:
    """A split as its file in the bundle tells it."""

    config: str
    split: str
    data_set: str
    reader: str
    """Config of the reader of sgeval."""
    published: int | None
    """Records as published, where that is known."""
    number: int | None
    """Ids, where the data was at hand when the bundle was built."""
    ids_sha256: str | None
    ids: tuple[str, ...] | None
    licence: str
    load: str
    """How its records are had."""

    @property
    def file(self) -> str:
        """Its place in the bundle."""
        return f"{DATA}/{self.config}/{self.split}.jsonl"

    def line(self) -> str:
        """The row of its file."""
        return json.dumps(asdict(self), ensure_ascii=False, allow_nan=False) + "\n"


def digest(ids: Iterable[str]) -> str:
    """SHA-256 of distinct ids in their order by code point, each followed by a line feed.

    >>> digest(["b", "a"]) == digest(["a", "b"]) == hashlib.sha256(b"a\\nb\\n").hexdigest()
    True
    """
    return hashlib.sha256("".join(f"{one_line(each)}\n" for each in sorted(set(ids))).encode()).hexdigest()


def make_split(config: str, split: str, folder: Path | None) -> Split:
    """A split of a config; its ids are read from the folder of the data set, or are those of the demo scenes.

    Raises `SgevalError` where a folder does not hold the data set, or not this split of it.
    """
    found = CONFIGS[config]
    ids: tuple[str, ...] | None = None
    if found.set is None:
        ids = tuple(graph["image_id"] for graph in demo_rows())
    elif folder is not None:
        records = reading.read(found.set, folder, found.reader, split)
        ids = tuple(dict.fromkeys(_ids(found.set, bar(records, f"{config} {split}", "record"))))
        if not ids:
            raise SgevalError(f"{config}: expected records of the split {split} in {folder}, got none")
    known = None if ids is None else (len(set(ids)), digest(ids))
    licence = "Apache-2.0" if found.found is None else found.found.licence.words
    return Split(
        config,
        split,
        found.set or "demo",
        found.reader or "default",
        found.records(split),
        known[0] if known else None,
        known[1] if known else None,
        ids,
        licence,
        load_words(config, split),
    )


def _ids(name: str, records: Iterable[Any]) -> Iterable[str]:
    """What a run of the data set's metric calls its pictures or videos."""
    if name == "ssg":
        rows = (row for record in records for row in rows_of_graphs([record]))
        return (str(row["frame_id"]) for row in rows if row["roles"] or row["verb"])
    return (record.key for record in records)


def load_words(config: str, split: str) -> str:
    """The line of Python that gives the records of a split."""
    found = CONFIGS[config]
    if found.set is None:
        return f'datasets.load_dataset(REPO, "{config}", split="{split}")'
    return f'sgeval.load_dataset("{found.set}", "{found.reader}", data_dir="{found.place}", split="{split}")'


def demo_rows() -> list[dict[str, Any]]:
    """The annotated demo scenes."""
    return list(read_graphs(SCENES / "references.jsonl"))
