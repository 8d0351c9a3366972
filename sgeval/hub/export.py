"""A data set as a folder that the Hub's viewer shows and plain `datasets.load_dataset(folder)` reads: Parquet, class lists
and a card.

    OUT/README.md                                   the card; its YAML says which files make which split
    OUT/classes.json                                class lists, null where names are open
    OUT/<config>/<split>-00000-of-00001.parquet     one row a picture or a video
    OUT/pair_vocabulary/<split>-….parquet           subject, predicate, object, count, split

Everything is written below a hidden name beside OUT and takes its name last, so what bears the name is whole.
"""

import glob
import json
import shlex
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq

from sgeval.clips import has_pyav
from sgeval.data import reading
from sgeval.data.exported import PAIRS, marked
from sgeval.data.ids import ids_hash
from sgeval.data.processes import in_order, stretches
from sgeval.errors import SgevalError, counted, one_line
from sgeval.files import check_new_folder, give_name, make_folder
from sgeval.hub.builder import ROWS_AT_ONCE, GraphConfig, check_options, check_running, count_words
from sgeval.hub.card import Size, card_text
from sgeval.hub.notes import Notes
from sgeval.hub.rows import RowMaker, resolved, tables_of
from sgeval.hub.schema import features_of
from sgeval.progress import bar
from sgeval.readers.parquet import text_columns
from sgeval.schemas import Kind
from sgeval.vocabulary import vocabulary_of_tables

PICTURE_ROWS = 100
"""Rows of a row group where pictures are in the file: what a viewer reads at once."""
PLAIN_ROWS = 1_000
UNFINISHED = ".unfinished"
SHARD_BYTES = 500 * 10**6
PATTERNS = ("*", "?", "[", "]", "::")
"""What `datasets` takes for a pattern or an address within an archive in the name of a folder."""
PAIR_FEATURES = datasets.Features(
    {
        "subject": datasets.Value("string"),
        "predicate": datasets.Value("string"),
        "object": datasets.Value("string"),
        "count": datasets.Value("int64"),
        "split": datasets.Value("string"),
    }
)


def export(
    name: str,
    out: str | Path,
    *,
    data_dir: str | Path | None,
    config: str | None = None,
    image_dir: str | Path | None = None,
    with_images: bool = True,
    with_masks: bool = False,
    with_video: bool = False,
    missing_images: str = "error",
    shard_bytes: int = SHARD_BYTES,
    num_proc: int = 1,
    overwrite: bool = False,
    strict: bool = False,
    **reader: Any,
) -> dict[str, Size]:
    """Write one config of a data set into the folder `out`, with its `pair_vocabulary`; the size by split.

    Pictures and clips are copied into the files, frames of videos only named. Clips that are broken are copied too; a warning
    counts them and names the first. Rows give the records of the reader back, exactly (`features.to_record`). The pair
    vocabulary is counted within each split, by labels as the rows spell them; `sgeval.vocabulary` takes spellings of one
    label together when it reads it. A split without rows has no file, since the host refuses empty ones; a warning names it.
    Pictures that have the annotated size only without their EXIF orientation lose that tag; a warning tells of those that
    have another size. Counts other than the published ones are told by a warning and on the card, with `strict` by an error.
    With `missing_images="null"` pictures that are missing, empty or have no picture's header are null; they are counted on
    the card and in a warning.

    Raises `SgevalError` as `sgeval.load_dataset`, for an `out` in whose path `datasets` would see a pattern, and for one that
    exists: with `overwrite` an earlier export is replaced, nothing else is. `num_proc` processes make the rows where records
    can be had without reading those before them (vidor, vipseg, svg2_test).
    """
    found = reading.data_set(name := reading.known_name(name))
    config = reading.config_of(found, config)
    options: dict[str, Any] = {"with_images": with_images, "with_masks": with_masks, "with_video": with_video}
    options |= {"missing_images": missing_images, "reader": reader}
    check_options(name, config, options)
    check_running(None, None, num_proc)
    data_dir, image_dir = reading.path_of("data_dir", data_dir), reading.path_of("image_dir", image_dir)
    reading.check_files(found, data_dir, config, reader)
    folder = Path(out)
    check_pattern(folder)
    check_target(folder, overwrite)
    where = str(data_dir)
    made = GraphConfig(name=config, data_dir=where, image_dir=str(image_dir) if image_dir else None, **options)
    broken: list[str] = []
    make = RowMaker.of_config(name, made, embed=True, broken=broken if has_pyav() else None)
    if with_video and not has_pyav():
        words = 'clips are copied and not looked into: expected PyAV, got none; pip install "sgeval[video]"'
        warnings.warn(words, stacklevel=2)
    make_folder(folder.absolute().parent)
    for left in folder.absolute().parent.glob(f".{glob.escape(folder.name)}.*{UNFINISHED}"):
        words = f"`rm -r {shlex.quote(str(left))}` removes it, if none is running"
        warnings.warn(
            f"{one_line(str(left))}: of an export that was stopped, or is still running; {one_line(words)}",
            stacklevel=2,
        )
    work = _work_folder(folder)
    try:
        features = features_of(found.kind)
        size = _rows_of_a_group(found.kind, make)
        splits: dict[str, Size] = {}
        every: dict[str, list[str]] = {}
        with_pairs = []
        for split in found.configs[config]:
            total = reading.known_count(found, where, config, split)
            making = replace(make, notes=Notes())
            with _Writer(work / config, split, features, shard_bytes) as rows:
                tables = tables_of(making, made, split, size, features)
                if num_proc > 1 and total is not None and not reader.get("filters"):
                    make_rows = partial(_stretch, making, made, split, size, features)
                    tables = _gathered(in_order(make_rows, stretches(total, size), num_proc), making, broken)
                ids = every[split] = []
                written = _noting(_written(tables, rows, size, f"{name} {split}", total), f"{found.kind}_id", ids)
                pairs = vocabulary_of_tables(written, "none").rows()
            asked, nulls = making.notes.sums()
            splits[split] = rows.size._replace(ids_hash=ids_hash(ids), asked=asked, nulls=nulls)
            make.notes.add(making.notes)
            if pairs:
                with_pairs.append(split)
                with _Writer(work / PAIRS, split, PAIR_FEATURES, shard_bytes) as writer:
                    writer.write(_pair_table(pairs, split), PLAIN_ROWS)
        other = count_words(name, made, {split: size.rows for split, size in splits.items()})
        if other and strict:
            raise SgevalError(other)

        reading.check_once(found, where, every, reader.get("filters", ()))
        lists: Any = reading.classes(name, where, config) or {"categories": None, "predicates": None}
        _put(work / "classes.json", json.dumps(lists, ensure_ascii=False, indent=1) + "\n")
        _put(work / "README.md", card_text(name, made, splits, with_pairs))
        work.chmod(0o755)
        check_target(folder, overwrite)
        give_name(work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    make.notes.tell(f"{name}, {config}")
    if other:
        warnings.warn(other, stacklevel=2)
    if empty := [split for split, size in splits.items() if not size.rows]:
        words = f"{name}, {config}: no rows in {', '.join(empty)}, so the export has no such split"
        warnings.warn(words, stacklevel=2)
    if broken:
        words = f"{counted(len(broken), 'broken clip')} copied unchanged; the first: {broken[0]}"
        warnings.warn(words, stacklevel=2)
    return splits


def _work_folder(folder: Path) -> Path:
    """A hidden folder beside the one that is to be written. Raises `OSError` that names the latter."""
    try:
        return Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=UNFINISHED, dir=folder.absolute().parent))
    except OSError as fault:
        raise OSError(fault.errno, fault.strerror, str(folder)) from None


def _stretch(
    make: RowMaker, made: GraphConfig, split: str, size: int, features: datasets.Features, part: tuple[int, int]
) -> tuple[list[pa.Table], Notes, list[str]]:
    """The rows of a stretch of a split, made in a process of its own, what was noted, and what is wrong with their clips."""
    broken: list[str] = []
    make = replace(make, broken=None if make.broken is None else broken, notes=Notes())
    return list(tables_of(make, made, split, size, features, part)), make.notes, broken


def _gathered(
    stretches: Iterable[tuple[list[pa.Table], Notes, list[str]]], make: RowMaker, broken: list[str]
) -> Iterator[pa.Table]:
    """The rows of all stretches; what was noted is added to the notes of `make`, and to the list of broken clips."""
    for tables, notes, faults in stretches:
        make.notes.add(notes)
        broken += faults
        yield from tables


def _rows_of_a_group(kind: Kind, make: RowMaker) -> int:
    if kind == "video":
        return ROWS_AT_ONCE[kind]
    return PICTURE_ROWS if make.with_images or make.with_masks else PLAIN_ROWS


def _written(
    tables: Iterable[pa.Table], writer: "_Writer", size: int, title: str, total: int | None
) -> Iterator[pa.Table]:
    """The tables, each handed on once it is on its way to the disk."""
    with bar(None, title, "record", total) as shown_bar:
        for table in tables:
            writer.write(table, size)
            shown_bar.update(table.num_rows)
            yield table


def _noting(tables: Iterable[pa.Table], column: str, ids: list[str]) -> Iterator[pa.Table]:
    """The tables as they are; their ids are added to the list."""
    for table in tables:
        ids += table[column].to_pylist()
        yield table


def _pair_table(pairs: list[dict[str, Any]], split: str) -> pa.Table:
    return pa.Table.from_pylist([{**row, "split": split} for row in pairs], PAIR_FEATURES.arrow_schema)


class _Writer:
    """Parquet files of one split, each about as long as asked for; none where there are no rows."""

    def __init__(self, folder: Path, split: str, features: datasets.Features, shard_bytes: int) -> None:
        self.folder, self.split, self.features, self.shard_bytes = folder, split, features, shard_bytes
        self.paths: list[Path] = []
        self.file: pq.ParquetWriter | None = None
        self.written = 0
        self.size = Size()
        folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._close()
        if kind is None:  # their names tell how many there are
            for number, path in enumerate(self.paths):
                path.rename(self.folder / f"{self.split}-{number:05d}-of-{len(self.paths):05d}.parquet")

    def write(self, table: pa.Table, size: int) -> None:
        """Append rows, in groups of at most `size`."""
        if not table.num_rows:
            return
        if self.file is None or self.written >= self.shard_bytes:
            self._close()
            self.paths.append(self.folder / f"{self.split}-{len(self.paths):05d}.part")
            schema = self.features.arrow_schema
            texts = text_columns(schema)
            self.file = pq.ParquetWriter(self.paths[-1], schema, compression="zstd", use_dictionary=texts)
        self.file.write_table(table, row_group_size=size)
        self.written += table.nbytes
        self.size = Size(self.size.rows + table.num_rows, self.size.bytes + table.nbytes)

    def _close(self) -> None:
        if self.file is not None:
            self.file.close()
        self.file, self.written = None, 0


def check_pattern(folder: Path) -> None:
    """Raise `SgevalError` for a path in which `datasets` would see a pattern, so that it could not read the export."""
    path = resolved(folder)
    if seen := [mark for mark in PATTERNS if mark in path]:
        raise SgevalError(
            f"{one_line(path)}: expected a path without {' '.join(PATTERNS)}, which `datasets` takes for patterns, "
            f"got {' '.join(seen)}"
        )


def check_target(folder: Path, overwrite: bool) -> None:
    """Raise `SgevalError` where something stands in the way of an export."""
    check_new_folder(folder, overwrite, is_export, "an export")


def is_export(folder: Path) -> bool:
    """Whether a folder is an export of ours, by the mark in its card."""
    return marked(folder) is not None


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
