"""What builders and exports share: rows with pictures and masks, and the fingerprint of what they are made of."""

import hashlib
import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

import sgeval
from sgeval.data import reading
from sgeval.data.kinds import DataSet
from sgeval.data.masks import record_codes
from sgeval.data.pictures import Place, place_of
from sgeval.errors import SgevalError, shown
from sgeval.hub.features import Heavy, to_table
from sgeval.records import SceneGraph

CODE = ("records.py", "boxes.py", "images.py", "formats.py", "strict_json.py", "readers", "data", "hub", "assets")
"""What rows depend on, below the package."""
SHELF = "datasets_scripts"


@dataclass(frozen=True)
class RowMaker:
    """Makes the rows of records: with their pictures, panoptic maps and masks, as asked for."""

    name: str
    place: Place
    with_images: bool = True
    with_masks: bool = False
    missing_images: str = "error"
    embed: bool = False
    """Whether pictures are put into the row; else it says where they lie."""

    @classmethod
    def of_config(cls, name: str, config: Any, *, embed: bool = False) -> "RowMaker":
        """The maker for a config of a builder."""
        place = place_of(reading.data_set(name), config.name, config.data_dir, config.image_dir)
        return cls(name, place, config.with_images, config.with_masks, config.missing_images, embed)

    def tables(self, graphs: Iterable[SceneGraph], size: int, features: datasets.Features) -> Iterator[pa.Table]:
        """Records as tables of `size` rows, the last one shorter. Raises `SgevalError` for a picture that is not there,
        unless those are to be null."""
        graphs = iter(graphs)
        while batch := list(islice(graphs, size)):
            yield to_table(batch, [self.heavy(graph) for graph in batch], features)

    def heavy(self, graph: SceneGraph) -> Heavy:
        """The record's picture, panoptic map and masks, as asked for."""
        image = self._part(graph, "picture", self.place.picture(graph)) if self.with_images else None
        if not self.with_masks:
            return Heavy(image)
        path = self.place.panoptic_map(graph)
        panoptic_map = self._part(graph, "panoptic map", path)
        return Heavy(image, panoptic_map, record_codes(graph, path) if path is not None else None)

    def _part(self, graph: SceneGraph, what: str, path: Path | None) -> dict[str, Any] | None:
        if path is None:
            if self.missing_images == "null":
                return None
            name = (graph.panoptic_file if what == "panoptic map" else graph.file_name) or f"{graph.image_id}.jpg"
            without = "with_masks=False" if what == "panoptic map" else "with_images=False"
            raise SgevalError(
                f"image {shown(graph.image_id)}: expected the {what} {shown(name)} at {self.place.tried()}, got none; name "
                f'its folder with image_dir, or take {without} or missing_images="null". `sgeval data info {self.name} '
                "--data-dir DIR` lists what is missing"
            )
        if self.embed:
            return {"bytes": path.read_bytes(), "path": path.name}
        return {"bytes": None, "path": str(path)}


def fingerprint(
    name: str, config: str | None, data_dir: str | None, options: Mapping[str, Any], builder: type | None = None
) -> str:
    """16 hex digits over what rows are made of: code, options, and the sources by name, size and time of change.

    Pictures are only named by rows, so the folders that exist count. Masks, and nulls for what is missing, are made from
    the files themselves: then each record is read and each file of it is looked at, which takes as long as reading does.
    """
    found = reading.data_set(name)
    config = reading.config_of(found, config)
    digest = hashlib.sha256(f"{sgeval.__version__} {_code()} {_source(builder)}".encode())

    def add(*parts: Any) -> None:
        digest.update(json.dumps(parts, default=_plain, sort_keys=True).encode() + b"\n")

    add(name, config, data_dir, options)
    if data_dir is None:
        return digest.hexdigest()[:16]
    folder = Path(data_dir)
    for path in _sources(found, config, folder, options.get("reader", {})):
        add(*_stamp(path))
    with_images = options.get("with_images", True)
    if with_images or options.get("with_masks"):
        roots = {pattern.split("{")[0] for pattern in (*found.patterns(config), *found.panoptic)}
        add(sorted(root for root in roots if (folder / root).is_dir()))
    looks_at_files = options.get("with_masks") or (with_images and options.get("missing_images") == "null")
    if looks_at_files and not reading.missing_files(found, folder, config):
        place = place_of(found, config, folder, options.get("image_dir"))
        for graph in reading.read(name, folder, config, **options.get("reader", {})):
            for at in (place.picture(graph), place.panoptic_map(graph) if options.get("with_masks") else None):
                add(*(_stamp(at) if at is not None else ()))
    return digest.hexdigest()[:16]


def _plain(value: Any) -> Any:
    """An option as JSON has it; the order of a set must not count."""
    return sorted(map(str, value)) if isinstance(value, (set, frozenset)) else str(value)


def _sources(found: DataSet, config: str, folder: Path, reader: Mapping[str, Any]) -> Iterator[Path]:
    given = reader.get("data_files") or []
    yield from (folder / name for name in ([given] if isinstance(given, (str, Path)) else given))
    for file in found.files_of(config):
        yield from file.all_found(folder)


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:
        return str(path), -1, -1
    return str(path), status.st_size, status.st_mtime_ns


@cache
def _code() -> str:
    """A digest of the sources of the package that rows depend on."""
    digest = hashlib.sha256()
    root = Path(sgeval.__file__).parent
    for part in CODE:
        files = sorted((root / part).glob("*")) if (root / part).is_dir() else [root / part]
        for file in files:
            if file.suffix in (".py", ".json"):
                digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def _source(builder: type | None) -> str:
    try:
        return inspect.getsource(builder) if builder is not None else ""
    except (OSError, TypeError):
        return repr(builder)


def resolved(path: Any) -> str:
    """A path in full: the host keeps what it built under the path as typed."""
    return str(Path(path).expanduser().resolve())


def folder_of(file: str) -> str:
    """The folder of a file."""
    return str(Path(file).expanduser().resolve().parent)


def shelf() -> Path:
    """The folder of the builders: in a wheel below the package, in a checkout beside it."""
    here = Path(sgeval.__file__).resolve().parent
    for folder in (here / SHELF, here.parent / SHELF):
        if (folder / "psg" / "psg_builder.py").is_file():
            return folder
    raise SgevalError("data sets: their folder is not installed; install sgeval again")


def builder_class(name: str) -> Any:
    """The builder of a data set, from its folder."""
    reading.data_set(name)
    _mount()
    module = importlib.import_module(f"sgeval.{SHELF}.{name}.{name}_builder")
    return next(
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and getattr(thing, "data_set", None) == name and thing.__module__ == module.__name__
    )


def _mount() -> None:
    """Make `sgeval.datasets_scripts` the shelf that belongs to this package, which an installed finder may not know."""
    name = f"sgeval.{SHELF}"
    folder = shelf()
    there = sys.modules.get(name)
    if there is not None and str(folder) in map(str, there.__path__):
        return
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
