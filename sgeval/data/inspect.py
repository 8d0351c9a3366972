"""A data folder looked at: which files are there, what they hold against what was published, which pictures are missing."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sgeval.clips import check_whole, clip_differences
from sgeval.data import reading
from sgeval.data.kinds import DataSet, SourceFile
from sgeval.data.pictures import Place, place_of
from sgeval.data.tracks import look_into_masks
from sgeval.errors import BadImage, SgevalError, one_line, shown
from sgeval.progress import bar
from sgeval.readers.flags import first_frame, flag_words
from sgeval.records import Graph, VideoGraph, label

BLOCK = 2**20
NAMED = 5
"""How many of a kind are named in a fault."""


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
    unread: int = 0
    """Videos that are not in the form; they are no records."""


@dataclass
class Oddity:
    """Something odd that records were kept with: in words, how often, in which of them, and where first."""

    what: str
    count: int = 0
    ids: list[str] = field(default_factory=list)
    frame: int | None = None
    """The first frame of the first record that has it, where frames have it."""


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
    """Id of the record and file name of each picture, frame or clip that is not there, or is empty."""
    missing_maps: list[tuple[str, str]] = field(default_factory=list)
    """The same for masks of videos, and for panoptic maps where they were asked for."""
    broken_masks: list[str] = field(default_factory=list)
    """What is wrong with each mask of a video that was decoded and is none, or is of another size than its record."""
    oddities: list[Oddity] = field(default_factory=list)
    """What videos were kept with; it is not amiss, since the published files are so."""
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
    **reader: Any,
) -> Inspection:
    """Look at a data set's folder; without `data_dir`, only say which files it takes.

    Every record of every split is read and each of its pictures looked for, by name: pictures are not opened, folders not
    listed. Of a video that means its frames and masks, where the config names them, else its clip. `with_masks` decodes
    each mask of a video, some 150,000 of PVSG: ids that no object has and objects that are not where they are said to be
    are counted as odd. `with_video` looks for the clip in any case and reads it through, by PyAV: a broken one is amiss, and
    those of another size, rate or length than their record are counted as odd.

    Faults are gathered, not raised, and videos after one that is not in the form are read on. `SgevalError` is for unknown
    names, for folders of pictures that are none, and for masks or clips that a config does not have.
    """
    found = reading.data_set(name)
    config = reading.config_of(found, config)
    reading.check_options(found, reader)
    reading.check_parts(found, config, with_masks=with_masks, with_video=with_video)
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
        _count(out, found, place, reader, (with_images, with_masks, with_video))
    except SgevalError as fault:
        out.faults.append(str(fault))
        return out
    out.faults += list(_differences(out, found, found.counts_as_published(reader)))
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
    out: Inspection, found: DataSet, place: Place, reader: dict[str, Any], parts: tuple[bool, bool, bool]
) -> None:
    assert out.data_dir is not None
    published = found.published.get(out.config, {})
    is_closed = found.kind == "video" and "predicates" in reading.classes(found.name, out.data_dir, out.config)
    every: set[str] = set()
    for split in found.configs[out.config]:
        number, ids = 0, set()
        unread: list[str] = []
        records = reading.read(found.name, out.data_dir, out.config, split, faults=unread, **reader)
        total = reading.known_count(found, out.data_dir, out.config, split)
        for graph in bar(records, f"{found.name} {split}", "record", total):
            number += 1
            if isinstance(graph, VideoGraph) and graph.key in every:
                _note(out, "videos with an id that came before", graph)
            ids.add(graph.key)
            every.add(graph.key)
            _look_for_files(out, place, graph, *parts)
            if isinstance(graph, VideoGraph):
                _note_oddities(out, graph, is_closed)
        out.splits.append(SplitState(split, number, len(ids), published.get(split), len(unread)))
        if unread:
            named = f"the first {NAMED} of them are named" if len(unread) > NAMED else "they are named"
            out.faults += [f"{split}: {len(unread):,} videos cannot be read; {named}", *unread[:NAMED]]
    if found.leaves_unsplit:
        unread = []
        total = reading.count(found.name, out.data_dir, out.config, faults=unread, **reader) + len(unread)
        if rest := total - sum(state.records + state.unread for state in out.splits):
            out.faults.append(f"{rest:,} records are in no split, so no split holds them")
    if found.unmet is not None and (names := found.unmet(Path(out.data_dir), out.config)):
        out.faults.append(f"{len(names):,} videos that a list of a split names have no record: {_some(names)}")


def _some(names: Sequence[str]) -> str:
    """The first of some names."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(shown, names[:NAMED])) + more


def _look_for_files(
    out: Inspection, place: Place, graph: Graph, with_images: bool, with_masks: bool, with_video: bool
) -> None:
    is_video = isinstance(graph, VideoGraph)
    clips = with_video or (with_images and isinstance(graph, VideoGraph) and graph.frame_files is None)
    masks = with_masks or (with_images and is_video)
    try:
        files = list(place.files(graph, images=with_images, masks=masks, clips=clips))
    except SgevalError as fault:
        if is_video:  # files that count from another number: the other videos are looked at too
            out.faults.append(str(fault))
            return
        raise
    for file in files:
        is_map = file.what in ("panoptic map", "mask")
        if file.path is None or not file.path.stat().st_size:
            (out.missing_maps if is_map else out.missing_pictures).append((graph.key, file.name))
        elif not is_map:
            out.n_pictures += 1
            if with_video and file.what == "clip" and isinstance(graph, VideoGraph):
                _look_into_clip(out, graph, file.path)
    if with_masks and isinstance(graph, VideoGraph) and graph.mask_files is not None:
        _look_into_masks(out, graph, [file.path for file in files if file.what == "mask"])
    if with_images and isinstance(graph, VideoGraph) and place.beyond(graph) is not None:
        _note(out, "videos with more frames on the disk than num_frames", graph)


def _look_into_masks(out: Inspection, graph: VideoGraph, paths: list[Path | None]) -> None:
    paths = [path if path is not None and path.stat().st_size else None for path in paths]  # missing ones are counted
    flags, faults = look_into_masks(graph, bar(paths, f"masks of {one_line(graph.key)}", "mask"))
    for pointer, value in flags.items():
        _note(out, flag_words(pointer) or pointer, graph, first_frame(pointer, value))
    out.broken_masks += map(str, faults)


def _look_into_clip(out: Inspection, graph: VideoGraph, path: Path) -> None:
    try:
        facts = check_whole(path)
    except BadImage as fault:
        out.faults.append(f"{label(graph)}: {fault}")
        return
    for word in clip_differences(graph, facts):
        _note(out, f"videos whose clip has another {word} than the record", graph)


def _note_oddities(out: Inspection, graph: VideoGraph, is_closed: bool) -> None:
    for pointer in graph.extra:
        if words := flag_words(pointer):
            _note(out, words, graph, first_frame(pointer, graph.extra[pointer]))
    for relation in graph.relations:
        if is_closed and relation.predicate_id == -1:
            _note(out, "relations whose predicate is not in the class list", graph)


def _note(out: Inspection, what: str, graph: VideoGraph, frame: int | None = None) -> None:
    oddity = next((entry for entry in out.oddities if entry.what == what), None)
    if oddity is None:
        out.oddities.append(oddity := Oddity(what, frame=frame))
    oddity.count += 1
    if oddity.ids[-1:] != [graph.key]:
        oddity.ids.append(graph.key)


def _differences(out: Inspection, found: DataSet, has_all: bool) -> Iterator[str]:
    """In words: counts other than the published ones, and what is missing."""
    published = found.published.get(out.config, {})
    counts = {state.split: state.records for state in out.splits}
    for split, number in published.items():
        got = counts.get(split, sum(counts.values()))
        if got != number and has_all:
            yield f"{split}: expected the published {number:,} records, got {got:,}"
    names = ("pictures", "panoptic maps") if found.kind == "image" else ("clips or frames", "masks")
    for what, missing in zip(names, (out.missing_pictures, out.missing_maps)):
        if missing:
            folder = one_line(str(out.data_dir))
            yield f"{what}: {len(missing):,} missing or empty below {folder} (from {found.pictures_from})"
    if out.broken_masks:
        yield f"masks: {len(out.broken_masks):,} that are none, or of another size; the first: {out.broken_masks[0]}"
