"""Which pictures or videos a split is made of: how many, and the digest of their ids.

A result belongs to a split only when its run is over exactly these ids, whatever they were called in a file's name.
"""

import json
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sgeval.bundle.contents import CONFIGS, OWN_LICENCE
from sgeval.data import reading
from sgeval.data.ids import ids_hash
from sgeval.data.source import source_files
from sgeval.demo import SCENES
from sgeval.errors import SgevalError, counted
from sgeval.formats import read_graphs
from sgeval.progress import bar
from sgeval.runs import describe_file
from sgeval.situation import rows_of_graphs
from sgeval.strict_json import read_rows

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
    references_sha256: str | None
    """The digest that a run on the data has as that of its references."""
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


def warn_of_counts(splits: Iterable[Split]) -> None:
    """Say which splits have another number of ids than was published: results over them are of these ids alone."""
    other = [
        f"{split.config}/{split.split} has {counted(split.number, 'id')}, {split.published:,} are published"
        for split in splits
        if split.number is not None and split.published is not None and split.number != split.published
    ]
    if other:
        warnings.warn(f"not the published splits: {'; '.join(other)}", stacklevel=3)


def digest(ids: Iterable[str]) -> str:
    """The hash of distinct ids, see `ids_hash`."""
    return ids_hash(set(ids))


def known_split(config: str, split: str) -> Split:
    """A split without its ids: what is known of it without the data."""
    found = CONFIGS[config]
    return Split(
        config,
        split,
        found.set or "demo",
        found.reader or "default",
        found.records(split),
        None,
        None,
        None,
        None,
        OWN_LICENCE if found.found is None else found.found.licence.words,
        load_words(config, split),
    )


def make_split(config: str, split: str, folder: Path | None) -> Split:
    """A split of a config; its ids are read from the folder of the data set, or are those of the demo scenes.

    Raises `SgevalError` where a folder does not hold the data set, or not this split of it.
    """
    found = CONFIGS[config]
    if found.found is None:
        files = [SCENES / "references.jsonl"]
        ids = tuple(graph["image_id"] for graph in read_graphs(SCENES / "references.jsonl"))
    elif folder is not None:
        records = reading.read(found.found.name, folder, found.reader, split)
        files = source_files(folder, found.form, found.found.kind)
        ids = tuple(dict.fromkeys(_ids(found.found.name, bar(records, f"{config} {split}", "record"))))
    else:
        return known_split(config, split)
    if not ids:
        raise SgevalError(f"{config}: expected records of the split {split} in {folder}, got none")
    return replace(
        known_split(config, split),
        number=len(set(ids)),
        ids_sha256=digest(ids),
        references_sha256=describe_file(folder or SCENES, files)["sha256"],
        ids=ids,
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


def ids_of(path: Path, split: Split) -> Any:
    """What the file of a split says its ids are: a list of texts, null, or whatever a stranger put there."""
    if CONFIGS[split.config].set is None:
        return [row.get("image_id") if isinstance(row, dict) else None for row in read_graphs(path)]
    return row_of(path).get("ids")


def row_of(path: Path) -> dict[str, Any]:
    """The one row of a split's file, that of `demo` aside."""
    rows = list(read_rows(path))
    if len(rows) != 1 or not isinstance(rows[0], dict):
        raise SgevalError(f"{path}: expected one row of keys and values, got {len(rows)} rows")
    return rows[0]
