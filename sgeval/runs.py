"""Run folders: what a scoring run leaves behind, and how it is read again.

`results.json` holds the result, its options and what it was made from; `items.parquet` one row a relation or frame;
`images.parquet` one row a picture (`videos.parquet` a video), where the metric looks at any; a metric may put more files
beside them (θ its vocabulary); `progress.sqlite` is the journal of a run that is not complete. `results.json` is written
last and whole and names the others by digest, so a folder that has it is complete, or says that it is not.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import UnionType
from typing import Any, Protocol, get_args, get_origin, get_type_hints

from sgeval import __version__, alignment, relclip, situation, strict_json, temporal
from sgeval.edited import refuse_edited
from sgeval.errors import SgevalError, one_of
from sgeval.files import atomic_write
from sgeval.options import options_of
from sgeval.rows import ImageRow, Rows
from sgeval.signature import parts_of
from sgeval.summary import Sample

RESULTS = "results.json"
ITEMS = "items.parquet"
IMAGES = "images.parquet"
PROGRESS = "progress.sqlite"
FORMAT = 1
NO_NAME = "(no name)"
"""What a run is called whose name is empty or blank."""
PACKAGES = ("numpy", "pillow", "torch", "open_clip_torch", "transformers")


class Scoring(Protocol):
    """A metric's rows, with what is needed to summarise them."""

    @property
    def rows(self) -> Any:
        """What `FORMS` says of the metric's rows."""

    @property
    def options(self) -> Any:
        """The metric's own options."""

    @property
    def key(self) -> str:
        """The metric, by its name among `FORMS`."""

    @property
    def files(self) -> Mapping[str, str]:
        """Name and text of what stands beside the tables."""

    def result(self) -> dict[str, Any]:
        """The flat result."""


@dataclass(frozen=True)
class Form:
    """What the runs of a metric are made of."""

    options: type[Any]
    headline: str
    """The key of the headline."""
    tables: Mapping[str, tuple[str, type[Any]]]
    """By file: the field of the rows that it holds, and what a row of it is."""
    result: Callable[[Any, Any, str], dict[str, Any]]
    """From rows, options and signature to the flat result."""
    sample: Callable[[Any, Any], Sample]
    """From rows and options to what the scores are made of, unit by unit."""
    factor: float = 1.0
    """What a score is multiplied with to be shown as papers do."""
    unit: str = "picture"
    """What the bootstrap draws."""
    rows: type[Any] = Rows
    """The dataclass of all of them; its other fields are plain and stand in `results.json`."""

    @property
    def border(self) -> tuple[str, ...]:
        """The fields of the rows that are no table."""
        held = {field for field, _ in self.tables.values()}
        return tuple(item.name for item in fields(self.rows) if item.name not in held)


def _of_pictures(item: type[Any]) -> dict[str, tuple[str, type[Any]]]:
    return {ITEMS: ("items", item), IMAGES: ("images", ImageRow)}


def _of_relations(key: str) -> Form:
    """RelCLIPScore, or a relative, by the key of its headline."""

    def result(rows: Any, options: Any, signature: str) -> dict[str, Any]:
        return relclip.summarise(rows, options, key, signature)

    tables = _of_pictures(relclip.Item)
    return Form(relclip.Options, key, tables, result, partial(relclip.sample, key=key), factor=100.0)


def _of_videos(rows: Any, options: Any, signature: str) -> dict[str, Any]:
    return temporal.summarise(rows, options, parts_of(signature).get("judge", ""), signature)


FORMS = {
    **{key: _of_relations(key) for key in relclip.KEYS.values()},
    alignment.KEY: Form(
        alignment.Options,
        alignment.KEY,
        _of_pictures(alignment.Item),
        alignment.summarise,
        alignment.sample,
        factor=100.0,
    ),
    situation.KEY: Form(
        situation.Options,
        situation.HEADLINE,
        {ITEMS: ("items", situation.FrameRow)},
        situation.summarise,
        situation.sample,
    ),
    temporal.KEY: Form(
        temporal.Options,
        temporal.HEADLINE,
        {
            ITEMS: ("items", temporal.Item),
            "matches.parquet": ("matches", temporal.Match),
            "videos.parquet": ("videos", temporal.VideoRow),
        },
        _of_videos,
        temporal.sample,
        unit="video",
        rows=temporal.Rows,
    ),
}
"""By the metric's name in `results.json`."""


@dataclass(frozen=True)
class Run:
    """A run folder, read."""

    folder: Path
    name: str
    metric: str
    result: dict[str, Any]
    options: Any
    """The metric's own options."""
    inputs: dict[str, Any]
    versions: dict[str, str]
    rows: Any
    """The metric's own rows."""

    @property
    def form(self) -> Form:
        """What runs of the metric are made of."""
        return FORMS[self.metric]

    @property
    def headline(self) -> str:
        """The key of the headline."""
        return self.form.headline

    @property
    def signature(self) -> str:
        """The line of all that moved the numbers; empty where the result has none."""
        return str(self.result.get("signature", ""))

    @cached_property
    def sample(self) -> Sample:
        """What the scores are made of, picture by picture or video by video; worked out once."""
        return self.form.sample(self.rows, self.options)

    @property
    def images(self) -> Path | None:
        """The folder the pictures were read from, if it was a folder."""
        folder = self.inputs.get("images")
        return Path(folder) if folder else None


def write_run(folder: Path, name: str, scoring: Scoring, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Write a run folder and return the result. `inputs` says what it was made from (see `describe_file`).

    Old results stay whole until the new ones take their place.
    """
    result = scoring.result()
    folder.mkdir(parents=True, exist_ok=True)
    rows, form = scoring.rows.in_order(), FORMS[scoring.key]
    beside = {
        **{file: _new_table(folder / file, getattr(rows, field), row) for file, (field, row) in form.tables.items()},
        **{file: _new_file(folder / file, text) for file, text in scoring.files.items()},
    }
    whole = {
        "format": FORMAT,
        "name": name,
        "metric": scoring.key,
        "result": result,
        "options": asdict(scoring.options),
        "border": {name: getattr(rows, name) for name in form.border},
        "inputs": dict(inputs),
        "versions": versions(),
        "files": {name: describe_file(path)["sha256"] for name, path in beside.items()},
    }
    with atomic_write(folder / RESULTS) as file:
        json.dump(whole, file, ensure_ascii=False, allow_nan=False, indent=2, sort_keys=False)
        file.write("\n")
        for name, path in beside.items():
            path.replace(folder / name)
    return result


def read_run(folder: str | Path) -> Run:
    """Read a run folder. Raises `SgevalError` when it is none, is not complete, or has results that its rows and options do
    not give (see `sgeval.edited`)."""
    run = read_own(folder)
    refuse_edited(run)
    return run


def read_own(folder: str | Path) -> Run:
    """The same for a folder that the caller has just written: its results are not made again."""
    folder = Path(folder)
    if not (folder / RESULTS).is_file():
        raise SgevalError(f"{folder}: expected a run folder with {RESULTS}, found none")
    whole = strict_json.read_file(folder / RESULTS)
    try:
        if whole["format"] != FORMAT:
            raise SgevalError(f"{folder / RESULTS}: expected format {FORMAT}, got {whole['format']}")
        one_of(f"{folder / RESULTS}: metric", whole["metric"], FORMS)
        form = FORMS[whole["metric"]]
        _check_files(folder, whole["files"], tuple(form.tables))
        tables = {field: _read_table(folder / file, row) for file, (field, row) in form.tables.items()}
        rows = form.rows(**tables, **{name: whole["border"][name] for name in form.border})
        options: Any = options_of(form.options, whole["options"])
        name = str(whole["name"])
        head = (name if name.strip() else NO_NAME, str(whole["metric"]), dict(whole["result"]))
        return Run(folder, *head, options, dict(whole["inputs"]), dict(whole["versions"]), rows)
    except (KeyError, TypeError, AttributeError) as fault:
        raise SgevalError(f"{folder / RESULTS}: expected the results of a run, got another form ({fault})") from None


def _check_files(folder: Path, digests: Mapping[str, str], tables: Sequence[str]) -> None:
    """Refuse files that are not those the results were made with. Names are of this folder: results may be a stranger's."""
    for name in {**dict.fromkeys(tables, ""), **digests}:
        path = folder / Path(name).name
        if not path.is_file():
            raise SgevalError(f"{path}: expected the file of this run, found none")
        if describe_file(path)["sha256"] != digests[name]:
            raise SgevalError(
                f"{path}: expected the file that {RESULTS} was made with, got another; a run that was to replace it "
                "may have been stopped: score again with --resume or --overwrite"
            )


def describe_file(path: Path, parts: Iterable[Path] | None = None) -> dict[str, str]:
    """The name and SHA-256 of a file, or of the `parts` of a folder, one after the other.

    Raises `SgevalError` when it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for part in [path] if parts is None else parts:
            with part.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
    except OSError as fault:
        raise SgevalError(f"{path}: cannot be read ({fault.strerror})") from None
    return {"file": path.name, "sha256": digest.hexdigest()}


def versions() -> dict[str, str]:
    """Versions of Python, sgeval and the packages that can move a score."""
    found = {"python": platform.python_version(), "sgeval": __version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _new_file(path: Path, text: str) -> Path:
    """Write a text beside its place, and say where."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    return beside


def _new_table(path: Path, rows: Sequence[Any], kind: type) -> Path:
    """Write a table beside its place, and say where."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {item.name: [getattr(row, item.name) for row in rows] for item in fields(kind)}
    types = _arrow_types(kind)
    table = pa.table({name: pa.array(column, types[name]) for name, column in columns.items()})
    beside = path.with_name(f".{path.name}.new")
    pq.write_table(table, beside, compression="zstd")
    return beside


def _read_table(path: Path, kind: type) -> tuple[Any, ...]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as fault:
        raise SgevalError(f"{path}: cannot be read ({fault})") from None
    types = _arrow_types(kind)
    found = {item.name: item.type for item in table.schema}
    if found != types:
        expected, got = (", ".join(f"{name} {of}" for name, of in sorted(side.items())) for side in (types, found))
        raise SgevalError(f"{path}: expected the columns {expected}, got {got}")
    columns = {name: table.column(name).to_pylist() for name in types}
    tuples = {name for name, of in types.items() if str(of).startswith(("list", "fixed_size_list"))}
    return tuple(
        kind(**{name: tuple(value) if name in tuples and value is not None else value for name, value in row.items()})
        for row in (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
    )


def _arrow_types(kind: type) -> dict[str, Any]:
    """Arrow types of a row's fields, from their annotations: text, int, float, bool, and tuples of one of these."""
    import pyarrow as pa

    plain = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}

    def arrow(hint: Any) -> Any:
        if isinstance(hint, UnionType):
            return arrow(next(part for part in get_args(hint) if part is not type(None)))
        if get_origin(hint) is tuple:
            parts = get_args(hint)
            return pa.list_(plain[parts[0]], -1 if Ellipsis in parts else len(parts))
        return plain.get(hint, pa.string())

    return {name: arrow(hint) for name, hint in get_type_hints(kind).items()}
