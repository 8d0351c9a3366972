"""A data folder looked at: which files are there, what they hold against what was published, which pictures are missing."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sgeval.data import reading
from sgeval.data.kinds import DataSet, SourceFile
from sgeval.data.pictures import Place, place_of
from sgeval.errors import SgevalError, one_line
from sgeval.progress import bar
from sgeval.records import SceneGraph

BLOCK = 2**20


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
class Inspection:
    """What was found. `faults` say in a line each why the folder is not the published data set, whole."""

    name: str
    config: str
    data_dir: str | None
    files: list[FileState] = field(default_factory=list)
    splits: list[SplitState] = field(default_factory=list)
    n_pictures: int = 0
    missing_pictures: list[tuple[str, str]] = field(default_factory=list)
    """Image id and file name of each picture that is not there, or is empty."""
    missing_maps: list[tuple[str, str]] = field(default_factory=list)
    """The same for panoptic maps, where they were asked for."""
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
    **reader: Any,
) -> Inspection:
    """Look at a data set's folder; without `data_dir`, only say which files it takes.

    Every record of every split is read and each of its pictures looked for, by name: pictures are not opened, folders not
    listed. Faults are gathered, not raised; `SgevalError` is for unknown names and folders of pictures that are none.
    """
    found = reading.data_set(name)
    config = reading.config_of(found, config)
    reading.check_options(found, reader)
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
        _count(out, found, place, reader, (with_images, with_masks))
    except SgevalError as fault:
        out.faults.append(str(fault))
        return out
    out.faults += list(_differences(out, found, bool(reader)))
    return out


def _file_state(file: SourceFile, data_dir: str | Path | None) -> FileState:
    path = None if data_dir is None else file.found(Path(data_dir))
    facts = (file.names, file.what, file.where, file.needed, file.size)
    if path is None:
        lacks = data_dir is not None and file.needed
        return FileState(*facts, fault=f"expected the file ({file.what}; from {file.where}), got none" if lacks else "")
    size = path.stat().st_size
    fault = ""
    if path.name == file.names[0]:  # the size and the sum are those of the first name
        if file.size is not None and size != file.size:
            fault = f"expected {file.size:,} bytes as published, got {size:,}"
        elif file.sha256 is not None and (digest := _sha256(path)) != file.sha256:
            fault = f"expected the published SHA-256 {file.sha256}, got {digest}"
    return FileState(*facts, path=str(path), bytes=size, fault=fault)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _count(out: Inspection, found: DataSet, place: Place, reader: dict[str, Any], parts: tuple[bool, bool]) -> None:
    assert out.data_dir is not None
    published = found.published.get(out.config, {})
    for split in found.configs[out.config]:
        number, ids = 0, set()
        records = reading.read(found.name, out.data_dir, out.config, split, **reader)
        for graph in bar(records, f"{found.name} {split}", "record"):
            number += 1
            ids.add(graph.image_id)
            _look_for_files(out, place, graph, *parts)
        out.splits.append(SplitState(split, number, len(ids), published.get(split)))
    if found.leaves_unsplit:
        total = sum(1 for _ in reading.read(found.name, out.data_dir, out.config, **reader))
        if rest := total - sum(state.records for state in out.splits):
            out.faults.append(f"{rest:,} records are in no split, so no split holds them")


def _look_for_files(out: Inspection, place: Place, graph: SceneGraph, with_images: bool, with_masks: bool) -> None:
    if with_images:
        path = place.picture(graph)
        if path is None or not path.stat().st_size:
            out.missing_pictures.append((graph.image_id, graph.file_name or f"{graph.image_id}.jpg"))
        else:
            out.n_pictures += 1
    if with_masks and ((path := place.panoptic_map(graph)) is None or not path.stat().st_size):
        out.missing_maps.append((graph.image_id, graph.panoptic_file or ""))


def _differences(out: Inspection, found: DataSet, is_chosen: bool) -> Iterator[str]:
    """In words: counts other than the published ones, and what is missing."""
    published = found.published.get(out.config, {})
    counts = {state.split: state.records for state in out.splits}
    for split, number in published.items():
        got = counts.get(split, sum(counts.values()))
        if got != number and not is_chosen:
            yield f"{split}: expected the published {number:,} records, got {got:,}"
    for what, missing in (("pictures", out.missing_pictures), ("panoptic maps", out.missing_maps)):
        if missing:
            folder = one_line(str(out.data_dir))
            yield f"{what}: {len(missing):,} missing or empty below {folder} (from {found.pictures_from})"
