"""Parquet files of strangers: columns of known names and kinds, a few rows in memory at a time.

A row group may be as large as a file, so its rows are read in small batches. Columns beyond the expected ones are read too
where they hold plain values, since a record keeps what it has no column for.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from sgeval.errors import SgevalError, one_line, shown
from sgeval.strict_json import MAX_FILE_BYTES

ColumnKind = Literal["texts", "text", "whole numbers"]
Columns = Mapping[str, ColumnKind]

LIMITS = {"thrift_string_size_limit": 2**24, "thrift_container_size_limit": 2**20}
"""How much of a file's footer is believed."""


def text_columns(schema: pa.Schema) -> list[str]:
    """The columns of texts by the paths that Parquet gives them: what a dictionary is worth its time for, when written. Ids
    and sides of boxes hardly repeat, so that one of them makes files larger and takes longer.

    >>> text_columns(pa.schema({"id": pa.int64(), "names": pa.list_(pa.string())}))
    ['names.list.element']
    """
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink)
    columns = [*pq.ParquetFile(sink.getvalue()).schema]
    return [column.path for column in columns if column.logical_type.type == "STRING"]


def row_counts(path: Path, columns: Columns) -> list[int]:
    """How many rows each row group has. Raises `SgevalError` as `rows`."""
    with _opened(path, columns) as file:
        return [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]


def rows(
    path: Path, columns: Columns, names: Sequence[str] | None = None, *, group: int | None = None, at_once: int = 16
) -> Iterator[dict[str, Any]]:
    """The rows of a file, or of one of its row groups, in order: the columns `names`, by default the expected `columns` and
    all others of plain values (texts, numbers, true or false).

    Raises `SgevalError`, naming the file, for what is no Parquet file, a column that is missing or of another kind (a "text",
    "whole numbers" or a list of "texts"), a row group of more than 2 GiB, and damage on the way.
    """
    with _opened(path, columns) as file:
        schema = file.schema_arrow
        if names is None:
            names = [field.name for field in schema if field.name in columns or _is_plain(field.type)]
        for number in range(file.num_row_groups) if group is None else (group,):
            yield from _group(path, file, number, names, at_once)


def column_names(path: Path) -> list[str]:
    """The columns of a file. Raises `SgevalError` as `rows`."""
    with _opened(path, {}) as file:
        return list(file.schema_arrow.names)


def placed(path: Path, columns: Sequence[str], group: int | None = None) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Row group, place in it and row of each row, or of those of one group: the given columns, or parts of columns
    (`image.bytes`), as they stand. Raises `SgevalError` as `rows`."""
    with _opened(path, {}) as file:
        for number in range(file.num_row_groups) if group is None else (group,):
            for row, item in enumerate(_group(path, file, number, columns)):
                yield number, row, item


def _group(path: Path, file: Any, number: int, columns: Sequence[str], at_once: int = 16) -> Iterator[dict[str, Any]]:
    size = file.metadata.row_group(number).total_byte_size
    if not 0 <= size <= MAX_FILE_BYTES:
        raise SgevalError(f"{path}: expected row groups of at most {MAX_FILE_BYTES:,} bytes, got {size:,}")
    for batch in file.iter_batches(batch_size=at_once, row_groups=[number], columns=list(columns)):
        yield from batch.to_pylist()


@contextmanager
def _opened(path: Path, columns: Columns) -> Iterator[Any]:
    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20, **LIMITS) as file:
            _check(path, file.schema_arrow, columns)
            yield file
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as fault:
        words = one_line(str(fault))[:200]
        raise SgevalError(f"{one_line(str(path))}: expected a sound Parquet file, got a fault ({words})") from None


def _check(path: Path, schema: Any, columns: Columns) -> None:
    if len(set(schema.names)) < len(schema.names):
        raise SgevalError(f"{path}: expected each column once, got {shown(schema.names)}")
    for name, kind in columns.items():
        if name not in schema.names:
            raise SgevalError(f"{path}: expected a column {name} of {kind}, got the columns {shown(schema.names)}")
        found = schema.field(name).type
        if not _is_of_kind(found, kind):
            raise SgevalError(f"{path}: column {name}: expected {kind}, got {one_line(str(found))[:80]}")


def _is_of_kind(found: Any, kind: ColumnKind) -> bool:
    if kind == "whole numbers":
        return bool(pa.types.is_integer(found))
    if kind == "texts":
        is_list = pa.types.is_list(found) or pa.types.is_large_list(found)
        return _is_text(found.value_type) if is_list else bool(pa.types.is_null(found))
    return _is_text(found)


def _is_text(found: Any) -> bool:
    """Whether a column holds texts; one without any value has no type of its own."""
    return bool(pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_null(found))


def _is_plain(found: Any) -> bool:
    return _is_text(found) or any(
        check(found) for check in (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    )
