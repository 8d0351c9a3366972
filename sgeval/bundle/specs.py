"""Specs: what a ranked number is, and what a published table printed, as files of a bundle.

A spec is a YAML file below `specs/`, of the kind `task` (one ranked number: metric, key, data, settings) or `table` (a
published table: its numbers, and the runs that come close to it). Both give the command line that makes the number.
"""

import math
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from sgeval import alignment, relclip, situation, temporal
from sgeval.bundle.contents import CONFIGS
from sgeval.bundle.strict_yaml import read_yaml
from sgeval.encoders.aliases import ALIASES
from sgeval.errors import SgevalError, one_of, shown
from sgeval.options import options_of
from sgeval.phrases import DUAL_ENCODER_TEMPLATE
from sgeval.runs import FORMS
from sgeval.signature import parts_of, signature

SPECS = "specs"
NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")
MODULES = (relclip.KEYS["cosine"], alignment.KEY, situation.KEY, temporal.KEY)
"""The metrics that a spec may name."""
ENCODER_SETTINGS = {"model": None, "precision": "fp32", "preprocess": "pil"}
"""What decides which encoder scores, and its defaults; not among the options of a metric."""
UNITS = ("percent", "count")


@dataclass(frozen=True)
class Task:
    """One ranked number of a benchmark: one leaderboard."""

    id: str
    title: str
    ranks: str
    """What stands in the rows of its board: `systems`, or `scoring models`."""
    metric: str
    key: str
    config: str
    split: str
    settings: Mapping[str, Any]
    """Options of the metric that are not its defaults, and the model or judge."""
    pins: Mapping[str, str]
    """Parts of the signature that no setting says, such as the hash of the weights."""

    def protocol(self) -> dict[str, str]:
        """The parts that a run's signature has to have, by name; those that no setting says only where pinned."""
        given = dict(self.settings)
        how = {name: given.pop(name, default) for name, default in ENCODER_SETTINGS.items()}
        judge = given.pop("judge", "wordnet")
        options = options_of(FORMS[self.metric].options, given)
        parts: dict[str, object] = {"metric": self.metric}
        if self.metric in (situation.KEY, temporal.KEY):
            parts |= {"judge": judge} if self.metric == temporal.KEY else {}
            parts |= options.signature()
        else:
            model = str(how["model"] or alignment.DEFAULT_MODEL)
            template = options.template or (ALIASES[model].template if model in ALIASES else DUAL_ENCODER_TEMPLATE)
            parts |= {"model": model, "precision": how["precision"], "prep": how["preprocess"]}
            parts |= options.signature(template) if self.metric == alignment.KEY else options.signature(template, True)
        return {**parts_of(signature(parts)), **self.pins}

    def command(self) -> str:
        """The command line that scores a system."""
        settings = {**CONFIGS[self.config].flags(self.metric, self.split), **self.settings}
        return command_line(self.metric, settings, "runs/mine")


@dataclass(frozen=True)
class Column:
    """A column of printed numbers."""

    name: str
    printed: str
    """Its heading in the paper."""
    unit: str
    decimals: int
    key: str | None
    """The key of the result that comes closest."""
    run: Mapping[str, Any]
    """Settings of the run that gives it, beyond those of the table and the row."""

    def text(self, value: float) -> str:
        """A number as it is printed."""
        return f"{value:,.{self.decimals}f}"


@dataclass(frozen=True)
class Table:
    """A published table."""

    id: str
    title: str
    source: str
    metric: str | None
    labels: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], tuple[float, ...]], ...]
    """The labels of a row, and its numbers."""
    run: Mapping[str, Any]
    by: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """Settings that hang on a label: by its name and its value."""
    missing: tuple[str, ...]
    """What of the table is not here."""
    cannot: tuple[str, ...]
    """What cannot be reproduced, and why."""

    def records(self) -> list[dict[str, Any]]:
        """A row as labels and numbers by name."""
        names = [column.name for column in self.columns]
        return [dict(zip((*self.labels, *names), (*labels, *values), strict=True)) for labels, values in self.rows]

    def commands(self) -> Iterator[str]:
        """The command lines of the runs that come close to the numbers, each once."""
        if self.metric is None:
            return
        seen: dict[str, None] = {}
        for labels, _ in self.rows:
            values = dict(zip(self.labels, labels, strict=True))
            of_row = [self.by.get(name, {}).get(value, {}) for name, value in values.items()]
            for column in self.columns:
                settings: dict[str, Any] = {}
                for part in (self.run, *of_row, column.run):
                    settings |= part
                filled = {key: _filled(value, values) for key, value in settings.items()}
                out = f"runs/{self.id}/{len(seen) + 1}"
                line = command_line(self.metric, filled, "")
                if line not in seen:
                    seen[line] = None
                    yield f"{line} --out {out}"


def command_line(metric: str, settings: Mapping[str, Any], out: str) -> str:
    """`sgeval score METRIC` with these settings as flags; texts are quoted for a shell.

    >>> command_line("theta", {"references": "psg", "threshold": [0.1]}, "runs/a b")
    "sgeval score theta --references psg --threshold 0.1 --out 'runs/a b'"
    """
    words = ["sgeval", "score", metric]
    for name, value in {**settings, **({"out": out} if out else {})}.items():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            words += [f"--{name.replace('_', '-')}", str(each)]
    return shlex.join(words)


def _filled(value: Any, labels: Mapping[str, str]) -> Any:
    """A text with `{label}` replaced by the label as a file name has it."""
    if isinstance(value, str):
        for name, label in labels.items():
            value = value.replace("{" + name + "}", re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-."))
    return value


def read_specs(folder: Path, faults: list[str]) -> tuple[list[Task], list[Table]]:
    """The tasks and tables of a bundle, by name; what is wrong with others goes to `faults`."""
    tasks, tables = [], []
    paths = sorted((folder / SPECS).glob("*.yaml"), key=_in_order) if (folder / SPECS).is_dir() else []
    if not paths:
        faults.append(f"{SPECS}: expected one spec or more, found none")
    for path in paths:
        place = f"{SPECS}/{path.name}"
        try:
            spec = _spec(path.stem, read_yaml(path, place), place)
        except SgevalError as fault:
            faults.append(str(fault))
            continue
        if isinstance(spec, Task):
            tasks.append(spec)
        else:
            tables.append(spec)
    return tasks, tables


def _in_order(path: Path) -> list[tuple[str, int]]:
    """Names by alphabet, the numbers in them by size."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D+)(\d{0,9})", path.stem)]


def _spec(name: str, value: Any, place: str) -> Task | Table:
    if not NAME.fullmatch(name):
        raise SgevalError(f"{place}: expected a name of lower-case letters, digits and _, got {shown(name)}")
    if not isinstance(value, dict):
        raise SgevalError(f"{place}: expected keys and values, got {shown(value)}")
    one_of(f"{place}: kind", value.get("kind"), ("task", "table"))
    given = {key: entry for key, entry in value.items() if key != "kind"}
    return _task(name, given, place) if value["kind"] == "task" else _table(name, given, place)


def _only(given: Mapping[str, Any], kind: type[Any], place: str, more: tuple[str, ...] = ()) -> None:
    """Refuse keys that are unknown or missing."""
    names = [item.name for item in fields(kind) if item.name not in ("id", *more)]
    for key in given:
        one_of(f"{place}: key", key, [*names, *more])
    if absent := [name for name in names if name not in given]:
        raise SgevalError(f"{place}: expected the keys {', '.join(names)}, got none named {', '.join(absent)}")


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise SgevalError(f"{place}: expected a text of one line, got {shown(value)}")
    return value


def _texts(value: Any, place: str) -> tuple[str, ...]:
    return tuple(_text(entry, f"{place}[{at}]") for at, entry in enumerate(_of(list, value, place)))


def _of(kind: type[Any], value: Any, place: str) -> Any:
    if not isinstance(value, kind):
        words = "a list" if kind is list else "keys and values"
        raise SgevalError(f"{place}: expected {words}, got {shown(value)}")
    return value


def _task(name: str, given: Mapping[str, Any], place: str) -> Task:
    _only(given, Task, place)
    texts = {
        key: _text(given[key], f"{place}: {key}") for key in ("title", "ranks", "metric", "key", "config", "split")
    }
    settings, pins = (_of(dict, given[key], f"{place}: {key}") for key in ("settings", "pins"))
    one_of(f"{place}: metric", texts["metric"], MODULES)
    one_of(f"{place}: ranks", texts["ranks"], ("systems", "scoring models"))
    one_of(f"{place}: config", texts["config"], CONFIGS)
    one_of(f"{place}: split", texts["split"], CONFIGS[texts["config"]].splits)
    task = Task(name, **texts, settings=settings, pins={key: _text(value, place) for key, value in pins.items()})
    try:
        task.protocol()
    except SgevalError as fault:
        raise SgevalError(f"{place}: settings: {fault}") from None
    return task


def _table(name: str, given: Mapping[str, Any], place: str) -> Table:
    _only(given, Table, place)
    if given["metric"] is not None:
        one_of(f"{place}: metric", given["metric"], MODULES)
    labels = _texts(given["labels"], f"{place}: labels")
    columns = []
    for at, entry in enumerate(_of(list, given["columns"], f"{place}: columns")):
        columns.append(_column(_of(dict, entry, f"{place}: columns[{at}]"), f"{place}: columns[{at}]"))
    rows = tuple(
        _row(entry, labels, columns, f"{place}: rows[{at}]")
        for at, entry in enumerate(_of(list, given["rows"], f"{place}: rows"))
    )
    if not rows or not columns or not labels:
        raise SgevalError(f"{place}: expected labels, columns and rows, got none of one of them")
    by = _of(dict, given["by"], f"{place}: by")
    for label, values in by.items():
        one_of(f"{place}: by", label, labels)
        for value, settings in _of(dict, values, f"{place}: by.{label}").items():
            _of(dict, settings, f"{place}: by.{label}.{value}")
    return Table(
        name,
        _text(given["title"], f"{place}: title"),
        _text(given["source"], f"{place}: source"),
        given["metric"],
        labels,
        tuple(columns),
        rows,
        _of(dict, given["run"], f"{place}: run"),
        by,
        _texts(given["missing"], f"{place}: missing"),
        _texts(given["cannot"], f"{place}: cannot"),
    )


def _column(given: Mapping[str, Any], place: str) -> Column:
    entry = {"run": {}, **given}
    _only(entry, Column, place)
    one_of(f"{place}: unit", entry["unit"], UNITS)
    decimals = entry["decimals"]
    if isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= 4:
        raise SgevalError(f"{place}: decimals: expected a whole number from 0 to 4, got {shown(decimals)}")
    key = None if entry["key"] is None else _text(entry["key"], f"{place}: key")
    name, printed = (_text(entry[part], f"{place}: {part}") for part in ("name", "printed"))
    return Column(name, printed, entry["unit"], decimals, key, _of(dict, entry["run"], f"{place}: run"))


def _row(value: Any, labels: tuple[str, ...], columns: list[Column], place: str) -> Any:
    wide = len(labels) + len(columns)
    if not isinstance(value, list) or len(value) != wide:
        raise SgevalError(f"{place}: expected {len(labels)} labels and {len(columns)} numbers, got {shown(value)}")
    texts = tuple(_text(entry, f"{place}.{label}") for label, entry in zip(labels, value, strict=False))
    numbers = [
        _number(entry, column, f"{place}.{column.name}")
        for column, entry in zip(columns, value[len(labels) :], strict=True)
    ]
    return texts, tuple(numbers)


def _number(value: Any, column: Column, place: str) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    most = 100 if column.unit == "percent" else math.inf
    if not is_number or not 0 <= value <= most or round(value, column.decimals) != value:
        what = f"a {'percentage' if column.unit == 'percent' else 'count'} with {column.decimals} decimals"
        raise SgevalError(f"{place}: expected {what}, got {shown(value)}")
    return float(value)


def shelf() -> Path:
    """The folder of the bundle that comes with sgeval."""
    here = Path(__file__).resolve().parent.parent
    for place in (here / "benchmarks", here.parent / "benchmarks"):  # in a wheel, in a checkout
        if (place / "sgeval_bundle" / SPECS).is_dir():
            return place / "sgeval_bundle"
    raise SgevalError("bundle: its folder is not installed; install sgeval again")


@cache
def _shipped() -> tuple[tuple[Task, ...], tuple[Table, ...]]:
    faults: list[str] = []
    tasks, tables = read_specs(shelf(), faults)
    if faults:
        raise SgevalError(faults[0])
    return tuple(tasks), tuple(tables)


def tasks() -> tuple[Task, ...]:
    """The ranked numbers that come with sgeval."""
    return _shipped()[0]


def tables() -> tuple[Table, ...]:
    """The published tables that come with sgeval."""
    return _shipped()[1]


def published(name: str) -> list[dict[str, Any]]:
    """The rows of a published table, as labels and numbers by name; the one place where they are.

    >>> published("paper1_table1")[0]
    {'data': 'PSG', 'model': 'NegCLIP B-32', 'method': 'cosine', 'score': 24.47, 'precision': 30.18, 'theta': 66.1}
    """
    by_name = {table.id: table for table in tables()}
    one_of("table", name, by_name)
    return by_name[name].records()
