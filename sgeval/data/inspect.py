"""A data folder looked at: which files are there, what they hold against what was published, which pictures are missing."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sgeval.clips import clip_differences, clip_facts
from sgeval.data import reading
from sgeval.data.kinds import DataSet, SourceFile
from sgeval.data.pictures import Place, place_of
from sgeval.data.processes import in_order, stretches
from sgeval.errors import BadImage, SgevalError, counted, one_line, shown
from sgeval.images import image_size
from sgeval.progress import bar
from sgeval.readers.flags import flag_words
from sgeval.records import Graph, SceneGraph, VideoGraph, label

BLOCK = 2**20
AT_ONCE = 50
"""Records that a process looks at before it tells."""


@dataclass(frozen=True, slots=True)
class FileState:
    """One source file: where it is, or where to get it, and what is wrong with it."""

    names: tuple[str, ...]
    what: str
    where: str
    needed: bool
    published_bytes: int | None
    path: str | None = None
    bytes: int | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class SplitState:
    """How many records a split has; `published` is none where nobody said."""

    split: str
    records: int
    distinct_ids: int
    published: int | None


@dataclass
class Oddity:
    """Something odd that records were kept with: in words, how often, and in which of them."""

    what: str
    count: int = 0
    ids: list[str] = field(default_factory=list)


@dataclass
class Inspection:
    """What was found. `faults` say in a line each why the folder is not the published data set, whole."""

    name: str
    config: str
    data_dir: str | None
    files: list[FileState] = field(default_factory=list)
    splits: list[SplitState] = field(default_factory=list)
    n_pictures: int = 0
    missing_pictures: list[tuple[str, str]] = field(default_factory=list)
    """Id of the record and file name of each picture, frame or clip that is not there or empty, and of each picture that
    cannot be read."""
    missing_maps: list[tuple[str, str]] = field(default_factory=list)
    """The same for panoptic maps and masks, where they were asked for."""
    oddities: list[Oddity] = field(default_factory=list)
    """What records were kept with; it is not amiss, since the published files are so."""
    faults: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """All of it, plain."""
        return asdict(self)


def inspect(
    name: str,
    data_dir: str | Path | None = None,
    *,
    config: str | None = None,
    image_dir: str | Path | None = None,
    with_images: bool = True,
    with_masks: bool = False,
    with_video: bool = False,
    num_proc: int = 1,
    **reader: Any,
) -> Inspection:
    """Look at a data set's folder; without `data_dir`, only say which files it takes.

    Every record of every split is read and each of its pictures looked for, by name; folders are not listed. Of a picture the
    header is read: one that has not the annotated size, turned by its EXIF tag or not, is counted as odd. Of a video the
    frames are looked for, where the config names them, else the clip. `with_video` looks for the clip in any case and opens
    it, through PyAV: clips of another size, rate or length than their record are counted as odd.

    `num_proc` processes share the work where records can be had without reading those before them (vidor, vipseg, svg2_test);
    of the other sets each would read the whole file.

    Faults are gathered, not raised;
    `SgevalError` is for unknown names and folders of pictures that are none.
    """
    found = reading.data_set(name)
    config = reading.config_of(found, config)
    reading.check_options(found, reader)
    data_dir, image_dir = reading.path_of("data_dir", data_dir), reading.path_of("image_dir", image_dir)
    if type(num_proc) is not int or num_proc < 1:
        raise SgevalError(f"num_proc: expected a whole number of 1 or more, got {shown(num_proc)}")
    if with_video and not found.clips:
        raise SgevalError(f"with_video: expected a data set with clips, got {shown(name)}")
    out = Inspection(name, config, None if data_dir is None else str(data_dir))
    out.files = [_file_state(file, data_dir) for file in found.files_of(config)]
    if data_dir is None:
        return out
    place = place_of(found, config, data_dir, image_dir)
    out.faults += [f"{' or '.join(state.names)}: {state.fault}" for state in out.files if state.fault]
    try:
        reading.check_in_place(found, data_dir, config)
    except SgevalError as fault:
        out.faults.append(str(fault))
        return out
    try:
        reading.check_files(found, data_dir, config, reader)
    except SgevalError as fault:
        out.faults = out.faults or [str(fault)]
        return out
    try:
        _count(out, found, place, reader, (with_images, with_masks, with_video), num_proc)
    except SgevalError as fault:
        out.faults.append(str(fault))
        return out
    out.faults += list(_differences(out, found, bool(reader)))
    return out


def _file_state(file: SourceFile, data_dir: str | Path | None) -> FileState:
    paths = [] if data_dir is None else list(file.all_found(Path(data_dir)))
    if paths and "*" not in "".join(file.names):
        paths = paths[:1]  # the first name that is there is read, of patterns whatever fits
    path = paths[0] if paths else None
    facts = (file.names, file.what, file.where, file.needed, file.size)
    if path is None:
        lacks = data_dir is not None and file.needed
        return FileState(*facts, fault=f"expected the file ({file.what}; from {file.where}), got none" if lacks else "")
    size = sum(each.stat().st_size for each in paths)
    fault = ""
    if path.name == file.names[0]:  # the size and the sum are those of the first name
        if file.size is not None and size != file.size:
            fault = f"expected {file.size:,} bytes as published, got {size:,}"
        elif file.sha256 is not None and (digest := _sha256(path)) != file.sha256:
            fault = f"expected the published SHA-256 {file.sha256}, got {digest}"
    more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
    return FileState(*facts, path=f"{path}{more}", bytes=size, fault=fault)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _count(
    out: Inspection,
    found: DataSet,
    place: Place,
    reader: dict[str, Any],
    asked: tuple[bool, bool, bool],
    num_proc: int,
) -> None:
    assert out.data_dir is not None
    published = found.published.get(out.config, {})
    every: set[str] = set()
    for split in found.configs[out.config]:
        total = reading.known_count(found, out.data_dir, out.config, split)
        look = partial(_look, found.name, out.config, out.data_dir, split, place, reader, asked)
        keys: list[str] = []
        if num_proc == 1 or total is None or reader.get("filters"):
            looks: Iterator[_Look] = iter([look(None)])
        else:
            looks = in_order(look, bar(stretches(total, AT_ONCE), f"{found.name} {split}", "stretch"), num_proc)
        for one in looks:
            keys += one.keys
            _add(out, one)
        if found.kind == "video":
            for key in keys:
                if key in every:
                    _note(out, "videos with an id that came before", key)
                every.add(key)
        out.splits.append(SplitState(split, len(keys), len(set(keys)), published.get(split)))
    if found.leaves_unsplit:
        total = reading.count(found.name, out.data_dir, out.config, **reader)
        if rest := total - sum(state.records for state in out.splits):
            out.faults.append(f"{counted(rest, 'record is', 'records are')} in no split, so no split holds them")


@dataclass
class _Look(Inspection):
    """What was found in a stretch of a split."""

    keys: list[str] = field(default_factory=list)


def _look(
    name: str,
    config: str,
    data_dir: str,
    split: str,
    place: Place,
    reader: dict[str, Any],
    asked: tuple[bool, bool, bool],
    part: tuple[int, int] | None,
) -> _Look:
    """The records of a split, or of a stretch of it, looked at with what they name."""
    found = reading.data_set(name)
    out = _Look(name, config, data_dir)
    is_closed = found.kind == "video" and "predicates" in reading.classes(name, data_dir, config)
    graphs = reading.read(name, data_dir, config, split, part=part, **reader)
    if part is None:
        graphs = bar(graphs, f"{name} {split}", "record", reading.known_count(found, data_dir, config, split))
    for graph in graphs:
        out.keys.append(graph.key)
        _look_for_files(out, place, graph, *asked)
        if isinstance(graph, VideoGraph):
            _note_oddities(out, graph, is_closed)
    return out


def _add(out: Inspection, one: Inspection) -> None:
    out.n_pictures += one.n_pictures
    out.missing_pictures += one.missing_pictures
    out.missing_maps += one.missing_maps
    out.faults += one.faults
    for oddity in one.oddities:
        for key in oddity.ids:
            _note(out, oddity.what, key)
        _note(out, oddity.what, oddity.ids[-1], oddity.count - len(oddity.ids))


def _look_for_files(
    out: Inspection, place: Place, graph: Graph, with_images: bool, with_masks: bool, with_video: bool
) -> None:
    clips = with_video or (with_images and isinstance(graph, VideoGraph) and graph.frame_files is None)
    try:
        files = list(place.files(graph, images=with_images, masks=with_masks, clips=clips))
    except SgevalError as fault:
        if isinstance(graph, VideoGraph):  # files that count from another number: the other videos are looked at too
            out.faults.append(str(fault))
            return
        raise
    for file in files:
        is_map = file.what in ("panoptic map", "mask")
        if file.path is None or not file.path.stat().st_size:
            (out.missing_maps if is_map else out.missing_pictures).append((graph.key, file.name))
        elif not is_map:
            if isinstance(graph, SceneGraph) and not _is_picture(out, graph, file.path):
                out.missing_pictures.append((graph.key, file.name))
                continue
            out.n_pictures += 1
            if with_video and file.what == "clip" and isinstance(graph, VideoGraph):
                _look_into_clip(out, graph, file.path)
    if with_images and isinstance(graph, VideoGraph) and place.beyond(graph) is not None:
        _note(out, "videos with more frames on the disk than num_frames", graph.key)


def _is_picture(out: Inspection, graph: SceneGraph, path: Path) -> bool:
    """Whether a file is a picture, by its header. One of another size than annotated is noted."""
    try:
        image_size(path)
    except BadImage:
        return False
    if graph.width is not None and graph.height is not None:
        try:
            image_size(path, (graph.width, graph.height))
        except BadImage:
            _note(out, "pictures of another size than annotated", graph.key)
    return True


def _look_into_clip(out: Inspection, graph: VideoGraph, path: Path) -> None:
    try:
        facts = clip_facts(path)
    except BadImage as fault:
        out.faults.append(f"{label(graph)}: {fault}")
        return
    for word in clip_differences(graph, facts):
        _note(out, f"videos whose clip has another {word} than the record", graph.key)


def _note_oddities(out: Inspection, graph: VideoGraph, is_closed: bool) -> None:
    for pointer in graph.extra:
        if words := flag_words(pointer):
            _note(out, words, graph.key)
    for relation in graph.relations:
        if is_closed and relation.predicate_id == -1:
            _note(out, "relations whose predicate is not in the class list", graph.key)


def _note(out: Inspection, what: str, key: str, number: int = 1) -> None:
    oddity = next((entry for entry in out.oddities if entry.what == what), None)
    if oddity is None:
        out.oddities.append(oddity := Oddity(what))
    oddity.count += number
    if oddity.ids[-1:] != [key]:
        oddity.ids.append(key)


def _differences(out: Inspection, found: DataSet, is_chosen: bool) -> Iterator[str]:
    """In words: counts other than the published ones, and what is missing."""
    published = found.published.get(out.config, {})
    counts = {state.split: state.records for state in out.splits}
    for split, number in published.items():
        got = counts.get(split, sum(counts.values()))
        if got != number and not is_chosen:
            yield f"{split}: expected the published {counted(number, 'record')}, got {got:,}"
    names = ("pictures", "panoptic maps") if found.kind == "image" else ("clips or frames", "masks")
    for what, missing in zip(names, (out.missing_pictures, out.missing_maps)):
        if missing:
            folder = one_line(str(out.data_dir))
            yield f"{what}: {len(missing):,} missing, empty or broken below {folder} (from {found.pictures_from})"
