"""The records of a split, or of a stretch of it, looked at with the pictures, masks and clips that they name."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sgeval.clips import HALF, check_whole, clip_differences
from sgeval.data import reading
from sgeval.data.findings import Inspection
from sgeval.data.frames import has_fewer_frames_than_masks
from sgeval.data.pictures import Place
from sgeval.data.tracks import look_into_masks
from sgeval.errors import BadImage, SgevalError, one_line
from sgeval.images import Size, image_size
from sgeval.masks import areas_of_ids, check_segments, panoptic_ids
from sgeval.progress import bar
from sgeval.readers.flags import RELATION_FLAGS, first_frame, flag_words, picture_flag_words
from sgeval.records import Graph, SceneGraph, VideoGraph, label
from sgeval.spans import odd_spans

BEYOND = "beyond_clip"


@dataclass
class Look(Inspection):
    """What was found in a stretch of a split."""

    keys: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """What is wrong with each video that is not in the form."""


def look(
    name: str,
    config: str,
    data_dir: str,
    split: str,
    place: Place,
    reader: dict[str, Any],
    asked: tuple[bool, bool, bool],
    part: tuple[int, int] | None,
) -> Look:
    """The records of a split, or of a stretch of it, looked at with what they name. `asked`: for pictures, masks, clips.

    Of a whole split a bar shows how far it has come; of a stretch whoever leads the processes shows it.
    """
    found = reading.data_set(name)
    out = Look(name, config, data_dir)
    is_closed = found.kind == "video" and "predicates" in reading.classes(name, data_dir, config)
    graphs = reading.read(name, data_dir, config, split, part=part, faults=out.unread, **reader)
    if part is None:
        graphs = bar(graphs, f"{name} {split}", "record", reading.known_count(found, data_dir, config, split))
    for graph in graphs:
        out.keys.append(graph.key)
        _look_for_files(out, place, graph, *asked, with_bar=part is None)
        if isinstance(graph, VideoGraph):
            _note_oddities(out, graph, is_closed)
            continue
        for words in filter(None, map(picture_flag_words, graph.extra)):
            out.note(words, graph.key)
    return out


def _look_for_files(
    out: Look, place: Place, graph: Graph, with_images: bool, with_masks: bool, with_video: bool, *, with_bar: bool
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
    size = _annotated(graph)
    for number, file in enumerate(files):  # frames come first, each at its own number
        is_map = file.what in ("panoptic map", "mask")
        if file.path is None or not file.path.stat().st_size:
            (out.missing_maps if is_map else out.missing_pictures).append((graph.key, file.name))
            if file.path is not None:
                out.unsound[file.name] = "empty"
        elif file.what == "clip":
            out.n_pictures += 1
            if with_video and isinstance(graph, VideoGraph):
                _look_into_clip(out, graph, file.path)
        elif file.what == "panoptic map" and isinstance(graph, SceneGraph):
            _look_into_map(out, graph, file.path)
        elif not is_map:
            got = _size_of(out, graph, file.path, size, number)
            size = size or got
            if got is None:
                out.missing_pictures.append((graph.key, file.name))
                out.unsound[file.name] = "broken"
            else:
                out.n_pictures += 1
    if with_masks and isinstance(graph, VideoGraph) and graph.mask_files is not None:
        _look_into_masks(out, graph, [file.path for file in files if file.what == "mask"], with_bar)
    if with_images and isinstance(graph, VideoGraph) and place.beyond(graph) is not None:
        out.note("videos with more frames on the disk than num_frames", graph.key)


def _annotated(graph: Graph) -> Size | None:
    return (graph.width, graph.height) if graph.width is not None and graph.height is not None else None


def _size_of(out: Look, graph: Graph, path: Path, expected: Size | None, number: int) -> Size | None:
    """The size of a picture, or of the frame of this number, by its header; nothing for a file that is none. One of another
    size than annotated is noted, and so is a frame of another size than the first where none is annotated."""
    try:
        return image_size(path, expected)
    except BadImage:
        try:
            got = image_size(path)
        except BadImage:
            return None
    if isinstance(graph, SceneGraph):
        out.note("pictures of another size than annotated", graph.key)
    else:
        whose = "annotated" if _annotated(graph) else "the first of their video"
        out.note(f"frames of another size than {whose}", graph.key, frame=number)
    return got


def _look_into_map(out: Look, graph: SceneGraph, path: Path) -> None:
    try:
        areas = areas_of_ids(panoptic_ids(path, _annotated(graph)))
        check_segments(graph, path, areas)
    except BadImage as fault:
        out.broken_masks.append(f"{label(graph)}: {fault}")
        return
    if areas.keys() - {item.segment_id for item in graph.objects}:
        out.note("pictures whose panoptic map shows ids that no object has", graph.key)


def _look_into_masks(out: Look, graph: VideoGraph, paths: list[Path | None], with_bar: bool) -> None:
    paths = [path if path is not None and path.stat().st_size else None for path in paths]  # missing ones are counted
    steps = bar(paths, f"masks of {one_line(graph.key)}", "mask") if with_bar else paths
    flags, faults = look_into_masks(graph, steps)
    for pointer, value in flags.items():
        out.note(flag_words(pointer) or pointer, graph.key, frame=first_frame(pointer, value))
    out.broken_masks += map(str, faults)


def _look_into_clip(out: Look, graph: VideoGraph, path: Path) -> None:
    try:
        facts = check_whole(path)
    except BadImage as fault:
        out.faults.append(f"{label(graph)}: {fault}")
        return
    rate = reading.data_set(out.name).clip_rates.get(graph.source or "") if graph.fps is None else None
    for word in clip_differences(graph if rate is None else replace(graph, fps=rate), facts):
        whose = "its source says" if rate is not None and word == "rate" else "the record"
        out.note(f"videos whose clip has another {word} than {whose}", graph.key)
    if has_fewer_frames_than_masks(graph, facts):
        out.note("videos whose clip has fewer frames than masks", graph.key)
    if graph.num_frames is None and graph.duration is None and facts.fps is not None and facts.num_frames is not None:
        _note_beyond(out, graph, (facts.num_frames + HALF) / facts.fps)  # a span ends at the nearest frame


def _note_beyond(out: Look, graph: VideoGraph, length: float) -> None:
    """Note relations that reach beyond the clip, of a record that does not say how long it is."""
    for number, relation in enumerate(graph.relations):
        is_told = f"/relations/{number}/{BEYOND}" in graph.extra
        if BEYOND in odd_spans(relation.spans or (), end="exclusive", length=length) and not is_told:
            out.note(RELATION_FLAGS[BEYOND], graph.key)


def _note_oddities(out: Look, graph: VideoGraph, is_closed: bool) -> None:
    for pointer in graph.extra:
        if words := flag_words(pointer):
            out.note(words, graph.key, frame=first_frame(pointer, graph.extra[pointer]))
    for relation in graph.relations:
        if is_closed and relation.predicate_id == -1:
            out.note("relations whose predicate is not in the class list", graph.key)
