"""What builders and exports share: rows with pictures and masks, and the fingerprint of what they are made of."""

import hashlib
import importlib
import importlib.util
import inspect
import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa

import sgeval
from sgeval.clips import check_whole
from sgeval.data import reading
from sgeval.data.filtering import around_tracks, filtered
from sgeval.data.kinds import DataSet
from sgeval.data.pictures import Place, place_of
from sgeval.data.tracks import track_of_masks
from sgeval.errors import BadImage, SgevalError, one_line, option, shown
from sgeval.hub.features import Heavy, to_table
from sgeval.hub.notes import Notes, stamp
from sgeval.images import image_size, turned_back, unsound
from sgeval.masks import record_codes
from sgeval.records import Graph, SceneGraph, VideoGraph, label

CODE = (
    "records.py",
    "boxes.py",
    "spans.py",
    "images.py",
    "masks.py",
    "formats.py",
    "strict_json.py",
    "readers",
    "data",
    "hub",
    "assets",
)
"""What rows depend on, below the package."""
SHELF = "datasets_scripts"
CLIP_ENDINGS = (".mp4", ".avi", ".mkv", ".mov", ".webm")


@dataclass(frozen=True)
class RowMaker:
    """Makes the rows of records: with their pictures, panoptic maps, masks and clips, as asked for."""

    name: str
    place: Place
    with_images: bool = True
    with_masks: bool = False
    with_video: bool = False
    missing_images: str = "error"
    embed: bool = False
    """Whether pictures and clips are put into the row; else it says where they lie."""
    broken: list[str] | None = None
    """Where it is noted which of the clips that are put into rows are broken; they are put there all the same."""
    notes: Notes = field(default_factory=Notes)

    @classmethod
    def of_config(cls, name: str, config: Any, *, embed: bool = False, broken: list[str] | None = None) -> "RowMaker":
        """The maker for a config of a builder."""
        place = place_of(reading.data_set(name), config.name, config.data_dir, config.image_dir)
        options = (config.with_images, config.with_masks, config.with_video, config.missing_images)
        return cls(name, place, *options, embed, broken)

    def tables(
        self, graphs: Iterable[Graph], size: int, features: datasets.Features, filters: Sequence[str] = ()
    ) -> Iterator[pa.Table]:
        """Records as tables of `size` rows, the last one shorter. `filters`: those that wait for tracks. Raises `SgevalError`
        for a picture that is not there, is empty or has no picture's header, unless those are to be null."""
        whole: Iterator[Graph] = filtered(map(self.record, graphs), filters, reading.data_set(self.name).kind)
        while batch := list(islice(whole, size)):
            self.notes.ids += [graph.video_id for graph in batch if isinstance(graph, VideoGraph)]
            yield to_table(batch, [self.heavy(graph) for graph in batch], features)

    def of_batches(self, batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
        """Batches of a reader's columns as tables of at most `size` rows, with their pictures as asked for."""
        for batch in batches:
            for start in range(0, batch.num_rows, size):
                table = pa.Table.from_batches([batch.slice(start, size)])
                if self.with_images:
                    names = ("image_id", "file_name", "width", "height")
                    values = zip(*(table[name].to_pylist() for name in names), strict=True)
                    bare = [SceneGraph(**dict(zip(names, each, strict=True))) for each in values]
                    images = [self._part(graph, "picture", self.place.picture(graph)) for graph in bare]
                    field = table.schema.field("image")
                    column = pa.array(images, field.type)
                    table = table.set_column(table.schema.get_field_index("image"), field, column)
                yield table

    def record(self, graph: Graph) -> Graph:
        """A video's record with its files looked for, and with the tracks that its masks draw, as asked for. One that is
        not there is an error, or null in its place."""
        if isinstance(graph, SceneGraph) or not (self.with_images or self.with_masks):
            return graph
        masks = self.place.masks(graph)
        graph = replace(graph, mask_files=self._names(graph, "mask", graph.mask_files, masks))
        if self.with_images:
            frames = self.place.frames(graph)
            graph = replace(graph, frame_files=self._names(graph, "frame", graph.frame_files, frames))
        return track_of_masks(graph, masks) if self.with_masks else graph

    def _names(
        self, graph: VideoGraph, what: str, names: Sequence[str | None] | None, paths: Sequence[Path | None]
    ) -> tuple[str | None, ...] | None:
        """The names of files, null for those that are not there."""
        if names is None:
            return None
        for name, path in zip(names, paths, strict=True):
            if name is not None:
                self._ask(what)
            if path is not None:
                self.notes.found(path)
            elif name is not None:
                self._lacks(graph, what, name)
        return tuple(name if path is not None else None for name, path in zip(names, paths, strict=True))

    def heavy(self, graph: Graph) -> Heavy:
        """The record's picture, panoptic map and masks, or its clip, as asked for."""
        if isinstance(graph, VideoGraph):
            return Heavy(video=self._part(graph, "clip", self.place.clip(graph)) if self.with_video else None)
        image = self._part(graph, "picture", self.place.picture(graph)) if self.with_images else None
        if not self.with_masks:
            return Heavy(image)
        path = self.place.panoptic_map(graph)
        panoptic_map = self._part(graph, "panoptic map", path)
        if path is None or panoptic_map is None:
            return Heavy(image)
        return Heavy(image, panoptic_map, record_codes(graph, path))

    def _ask(self, what: str) -> None:
        self.notes.asked[what] = self.notes.asked.get(what, 0) + 1

    def _part(self, graph: Graph, what: str, path: Path | None) -> dict[str, Any] | None:
        self._ask(what)
        if path is None:
            is_map = isinstance(graph, SceneGraph) and what == "panoptic map"
            self._lacks(graph, what, (graph.panoptic_file if is_map else graph.file_name) or f"{graph.key}.jpg")  # type: ignore[union-attr]
            return None
        self.notes.found(path)
        data = None
        if what == "clip":
            self._check_clip(graph, path)
        else:
            self.notes.opening(path)
            try:
                data = self._upright(graph, what, path)
            except BadImage as fault:
                if (wrong := unsound(path)) is not None:
                    self._lacks(graph, what, path.name, *wrong)
                    return None
                self.notes.faults.append(f"{label(graph)}: {one_line(str(fault))}")
        if self.embed:
            return {"bytes": path.read_bytes() if data is None else data, "path": path.name}
        return {"bytes": data, "path": str(path)}

    def _check_clip(self, graph: Graph, path: Path) -> None:
        """Note a clip that is broken, before it is put into a row. An annotation of strangers has named it: what is called
        something else is refused."""
        if not self.embed:
            return
        if path.suffix.lower() not in CLIP_ENDINGS:
            raise SgevalError(f"{label(graph)}: expected a clip ({', '.join(CLIP_ENDINGS)}), got {shown(path.name)}")
        if self.broken is not None:
            try:
                check_whole(path)
            except BadImage as fault:
                self.broken.append(f"{label(graph)}: {fault}")

    def _upright(self, graph: Graph, what: str, path: Path) -> bytes | None:
        """The picture without its EXIF orientation, where only so it has the annotated size. Raises `BadImage` for one that
        has another size, or whose header is none; nothing but a picture is passed on, whatever names a file."""
        if what != "picture" or graph.width is None or graph.height is None:
            image_size(path)
            return None
        return turned_back(path, (graph.width, graph.height))

    def _lacks(self, graph: Graph, what: str, name: str, why: str = "missing", words: str = "") -> None:
        """Raise `SgevalError` for a file that is not there, or is none of its kind, as `words` say; unless those are to be
        null."""
        if self.missing_images == "null":
            self.notes.nulls.setdefault(f"{why} {what}", []).append(graph.key)
            return
        without = option({"panoptic map": "with_masks", "clip": "with_video"}.get(what, "with_images"), False)
        way = f"put a sound one there, or take {without}"
        if not words:
            tried = self.place.tried(what, name)
            words = f"expected the {what} {shown(name)} at {tried}, got none"
            way = f"name its folder with {option('image_dir')}, or take {without}"
        folder = shlex.quote(one_line(str(self.place.panoptic_folder)))
        raise SgevalError(
            f"{label(graph)}: {words}; {way} or {option('missing_images', 'null')}. `sgeval data info {self.name} "
            f"--data-dir {folder}` lists what is missing"
        )


def tables_of(
    make: RowMaker,
    config: Any,
    split: str,
    size: int,
    features: datasets.Features,
    part: tuple[int, int | None] = (0, None),
) -> Iterator[pa.Table]:
    """The rows of a split, or of a stretch of it, as tables of at most `size` rows. `config` is a builder's."""
    found = reading.data_set(make.name)
    if found.columns is None or config.reader.get("filters"):
        reader, filters = reader_of(config)
        graphs = reading.read(make.name, config.data_dir, config.name, split, part=part, **reader)
        return make.tables(graphs, size, features, filters)
    reading.check_files(found, config.data_dir, config.name, config.reader)
    return make.of_batches(_stretch(found.columns(Path(config.data_dir), config.name), *part), size)


def reader_of(config: Any) -> tuple[dict[str, Any], Sequence[str]]:
    """The options of the reader of a builder's config, and the filters that wait until masks have drawn tracks."""
    before, after = around_tracks(config.reader.get("filters", ()), are_drawn=config.with_masks)
    return {**config.reader, **({"filters": before} if "filters" in config.reader else {})}, after


def _stretch(batches: Iterable[pa.RecordBatch], first: int, last: int | None) -> Iterator[pa.RecordBatch]:
    """The rows from `first` to before `last`."""
    at = 0
    for batch in batches:
        start, stop = max(first - at, 0), batch.num_rows if last is None else min(last - at, batch.num_rows)
        if start < stop:
            yield batch.slice(start, stop - start)
        at += batch.num_rows
        if last is not None and at >= last:
            return


def fingerprint(
    name: str, config: str | None, data_dir: str | None, options: Mapping[str, Any], builder: type | None = None
) -> str:
    """16 hex digits over what rows are made of: code, options, and the sources by name, size and times of change.

    Of pictures the folders that exist count; a build notes when those changed, and each picture that it opened (see
    `sgeval.hub.notes`). Masks, and nulls for what is missing, are made from the files themselves: then each record is read
    and each file of it is looked at, which takes as long as reading does.
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
        add(str(path), *stamp(path))
    with_images = options.get("with_images", True)
    if with_images or options.get("with_masks") or options.get("with_video"):
        roots = {pattern.split("{")[0] for pattern in (*found.patterns(config), *found.panoptic, *found.clips)}
        add(sorted(root for root in roots if (folder / root).is_dir()))
    has_nulls = options.get("missing_images") == "null" and (with_images or options.get("with_video"))
    is_listed = config in found.listed and options.get("image_dir") is None
    looks_at_files = (options.get("with_masks") or has_nulls) and not is_listed
    if looks_at_files and not reading.missing_files(found, folder, config):
        place = place_of(found, config, folder, options.get("image_dir"))
        reader = {key: value for key, value in options.get("reader", {}).items() if key != "filters"}
        for graph in reading.read(name, folder, config, **reader):
            masks = options.get("with_masks") or found.kind == "video"  # their names may become null
            for file in place.files(graph, images=True, masks=masks, clips=options.get("with_video", False)):
                add(*((str(file.path), *stamp(file.path)) if file.path is not None else ()))
    return digest.hexdigest()[:16]


def _plain(value: Any) -> Any:
    """An option as JSON has it; the order of a set must not count."""
    return sorted(map(str, value)) if isinstance(value, (set, frozenset)) else str(value)


def _sources(found: DataSet, config: str, folder: Path, reader: Mapping[str, Any]) -> Iterator[Path]:
    given = reader.get("data_files") or []
    files = [folder / name for name in ([given] if isinstance(given, (str, Path)) else given)]
    yield from files
    for place in dict.fromkeys((folder, *(file.parent for file in files))):  # what belongs to a file may lie beside it
        for file in found.files_of(config):
            yield from file.all_found(place)
    for pattern in found.listed.get(config, ()):
        yield from sorted(path for path in folder.glob(pattern) if path.is_dir())


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


def folder_of_files(name: str, config: str | None, files: Sequence[str]) -> str:
    """The data folder that files of a data set lie in, by the first of them. Raises `SgevalError` for one that is none of
    its files: where nothing is named the host takes whatever lies in the working folder."""
    found = reading.data_set(name)
    sources = found.files_of(reading.config_of(found, config))
    every = [each for file in sources for each in file.names]
    names = sorted(every, key=lambda each: -each.count("/"))  # the longest first
    folders = []
    for path in map(Path, map(resolved, files)):
        fitting = next((each for each in names if path.match(each)), None)
        if fitting is None:
            raise SgevalError(
                f"{name}: data_files: expected files of the data set ({', '.join(names)}), got {one_line(str(path))}; "
                "name their folder with data_dir"
            )
        folders.append(path.parents[fitting.count("/")])
    return str(folders[0])


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
