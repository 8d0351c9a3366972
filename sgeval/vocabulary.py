"""Which predicates are annotated for each ordered pair of classes: the candidates that θ ranks.

A class and a predicate are known by the form that equal labels share (see `sgeval.phrases`); a predicate is spelt as it
is most often, then by alphabet, so that the order of a file does not choose the text. Rows `{"subject", "predicate",
"object", "count"}`, one JSON object a line, are its form on disk; the Parquet of an exported data set has them too.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from sgeval import strict_json
from sgeval.errors import InvalidInput, SgevalError, one_line, shown
from sgeval.phrases import Normalisation, canonical, object_words, words
from sgeval.records import Graph

Pair = tuple[str, str]
COLUMNS = ("subject", "predicate", "object")


@dataclass(frozen=True)
class Entry:
    """A predicate of a pair of classes: its spelling and how often it is annotated."""

    spelling: str
    count: int


@dataclass(frozen=True)
class Vocabulary:
    """The predicates of each ordered pair of classes, in the order in which they were first seen."""

    pairs: Mapping[Pair, Mapping[str, Entry]]
    """By class keys of subject and object, then by predicate key."""
    normalisation: Normalisation = "words"

    def candidates(self, subject: str, object: str) -> Mapping[str, str]:
        """Key and spelling of the predicates of the classes of two labels, in first-seen order; none of an unknown pair.

        >>> vocabulary_of_rows([{"subject": "dog", "predicate": "on", "object": "mat"}]).candidates("Dog_1", "mat")
        {'on': 'on'}
        """
        pair = (class_key(subject, self.normalisation), class_key(object, self.normalisation))
        return {key: entry.spelling for key, entry in self.pairs.get(pair, {}).items()}

    @cached_property
    def predicates(self) -> dict[str, str]:
        """Key and spelling of all predicates, by alphabet of the key. Of several pairs' spellings the first by alphabet
        stands: counts are not in the digest, so they must not choose."""
        found: dict[str, str] = {}
        for entries in self.pairs.values():
            for key, entry in entries.items():
                found[key] = min(found.get(key, entry.spelling), entry.spelling)
        return dict(sorted(found.items()))

    def digest(self, ordered: bool = False) -> str:
        """The first 12 hex digits of a SHA-256 over pairs and spellings; `ordered` also over the first-seen order."""
        parts = [
            (pair, spellings if ordered else sorted(spellings))
            for pair, spellings in (
                (pair, [entry.spelling for entry in of.values()]) for pair, of in self.pairs.items()
            )
        ]
        return hashlib.sha256(json.dumps(parts if ordered else sorted(parts)).encode()).hexdigest()[:12]

    def rows(self) -> list[dict[str, Any]]:
        """One row a pair and predicate, in first-seen order; `vocabulary_of_rows` reads them back."""
        return [
            {"subject": subject, "predicate": entry.spelling, "object": obj, "count": entry.count}
            for (subject, obj), entries in self.pairs.items()
            for entry in entries.values()
        ]

    def text(self) -> str:
        """The rows as JSON Lines."""
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows())


@lru_cache(maxsize=65_536)
def class_key(label: str, normalisation: Normalisation = "words") -> str:
    """The form that labels of the same class share."""
    return canonical(object_words(label)) if normalisation == "words" else label


@lru_cache(maxsize=65_536)
def predicate_key(label: str, normalisation: Normalisation = "words") -> str:
    """The form that equal predicates share."""
    return canonical(label) if normalisation == "words" else label


def vocabulary_of_graphs(graphs: Iterable[Graph], normalisation: Normalisation = "words") -> Vocabulary:
    """The vocabulary of annotated graphs. A relation of an object with itself, or with an end that is not among the
    objects, says nothing of a pair of classes and is passed over.

    >>> from sgeval.records import Object, Relation, SceneGraph
    >>> ends = (Object(0, "dog"), Object(1, "mat"))
    >>> vocabulary_of_graphs([SceneGraph("a", ends, (Relation(0, 1, "lying_on"),))]).rows()
    [{'subject': 'dog', 'predicate': 'lying on', 'object': 'mat', 'count': 1}]
    """
    rows = (
        (
            [(item.id, item.category) for item in graph.objects],
            [(item.subject_id, item.predicate, item.object_id) for item in graph.relations],
        )
        for graph in graphs
    )
    return _counted(_triplets(rows), normalisation)


def vocabulary_of_tables(tables: Iterable[Any], normalisation: Normalisation = "words") -> Vocabulary:
    """The same of records as Arrow tables (see `sgeval.hub.features`)."""
    rows = (
        row
        for table in tables
        for row in zip(
            _lists(table.column("objects"), "id", "category"),
            _lists(table.column("relations"), "subject_id", "predicate", "object_id"),
            strict=True,
        )
    )
    return _counted(_triplets(rows), normalisation)


def _lists(column: Any, *names: str) -> Iterator[list[tuple[Any, ...]]]:
    """Fields of a column of lists of structs, a list a row."""
    for chunk in column.chunks:
        values = chunk.flatten()
        flat = list(zip(*(values.field(name).to_pylist() for name in names), strict=True))
        ends = chunk.value_lengths().to_numpy(zero_copy_only=False).cumsum().tolist()
        yield from (flat[start:end] for start, end in zip([0, *ends], ends, strict=False))


_Objects = Sequence[tuple[int, str]]
_Relations = Sequence[tuple[int, str, int]]


def _triplets(rows: Iterable[tuple[_Objects, _Relations]]) -> Iterator[tuple[str, str, str, int]]:
    for objects, relations in rows:
        labels = dict(objects)
        for subject, predicate, obj in relations:
            if subject != obj and subject in labels and obj in labels:
                yield labels[subject], predicate, labels[obj], 1


def vocabulary_of_rows(rows: Iterable[Any], normalisation: Normalisation = "words") -> Vocabulary:
    """The vocabulary of rows `{"subject", "predicate", "object"}`, with or without `count`.

    Raises `InvalidInput` with every fault.
    """
    triplets: list[tuple[str, str, str, int]] = []
    faults: list[str] = []
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            faults.append(f"vocabulary[{index}]: expected subject, predicate and object, got {shown(row)}")
            continue
        bad = [name for name in COLUMNS if not isinstance(row.get(name), str) or not row[name].strip()]
        faults += [f"vocabulary[{index}].{name}: expected a text, got {shown(row.get(name))}" for name in bad]
        count = row.get("count", 1)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            faults.append(f"vocabulary[{index}].count: expected a whole number of 1 or more, got {shown(count)}")
        elif not bad:
            triplets.append((row["subject"], row["predicate"], row["object"], count))
    if faults:
        raise InvalidInput("vocabulary", faults)
    return _counted(triplets, normalisation)


def make_vocabulary(given: Any, normalisation: Normalisation = "words") -> Vocabulary:
    """The vocabulary that a user gives: rows, the path of a file of rows or of a folder of them, or a mapping of (subject,
    object) to predicates.

    >>> make_vocabulary({("dog", "mat"): ["on", "beside"]}).candidates("dog", "mat")
    {'on': 'on', 'beside': 'beside'}
    """
    if isinstance(given, Vocabulary):
        return given
    if isinstance(given, (str, Path)):
        return vocabulary_of_rows(chain.from_iterable(map(_file_rows, vocabulary_files(Path(given)))), normalisation)
    if isinstance(given, Mapping):
        return vocabulary_of_rows(_mapping_rows(given), normalisation)
    if not isinstance(given, Iterable):
        raise SgevalError(f"vocabulary: expected rows, a file or a mapping, got {shown(given)}")
    return vocabulary_of_rows(given, normalisation)


def vocabulary_files(path: Path) -> list[Path]:
    """The files of rows that a path stands for: itself, or the Parquet files of a folder (an export's `pair_vocabulary/`)."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise SgevalError(
            f"{one_line(str(path))}: expected a file of rows, or a folder of Parquet files, got a folder without"
        )
    return files


def _file_rows(path: Path) -> Iterable[Any]:
    if path.suffix != ".parquet":
        return strict_json.read_rows(path)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as fault:
        raise SgevalError(f"{one_line(str(path))}: expected a Parquet file ({one_line(str(fault))})") from None
    rows: list[Any] = table.select([name for name in (*COLUMNS, "count") if name in table.column_names]).to_pylist()
    return rows


def _mapping_rows(given: Mapping[Any, Any]) -> list[dict[str, Any]]:
    rows = []
    for pair, predicates in given.items():
        is_list = isinstance(predicates, Iterable) and not isinstance(predicates, (str, bytes))
        if not (isinstance(pair, tuple) and len(pair) == 2 and is_list):
            raise SgevalError(
                "vocabulary: expected (subject, object) with a list of predicates each, got "
                f"{shown(pair)} with {shown(predicates)}"
            )
        rows += [{"subject": pair[0], "predicate": predicate, "object": pair[1]} for predicate in predicates]
    return rows


def _counted(triplets: Iterable[tuple[str, str, str, int]], normalisation: Normalisation) -> Vocabulary:
    totals: Counter[tuple[str, str, str]] = Counter()  # the same few triplets over and over: spelt once
    for *triplet, count in triplets:
        totals[tuple(triplet)] += count  # type: ignore[index]
    found: dict[Pair, dict[str, Counter[str]]] = {}
    for (subject, predicate, obj), count in totals.items():
        pair = (class_key(subject, normalisation), class_key(obj, normalisation))
        spelling = words(predicate) if normalisation == "words" else predicate
        found.setdefault(pair, {}).setdefault(predicate_key(predicate, normalisation), Counter())[spelling] += count
    return Vocabulary(
        {
            pair: {key: Entry(_most_frequent(of), of.total()) for key, of in entries.items()}
            for pair, entries in found.items()
        },
        normalisation,
    )


def _most_frequent(spellings: Counter[str]) -> str:
    most = max(spellings.values())
    return min(spelling for spelling, count in spellings.items() if count == most)
