"""A data folder looked at: which files are there, what they hold against what was published, which pictures are missing."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sgeval.data import reading
from sgeval.data.findings import FileState, Inspection, SplitState
from sgeval.data.kinds import DataSet, SourceFile
from sgeval.data.look import Look, look
from sgeval.data.pictures import Place, place_of
from sgeval.data.processes import in_order, stretches
from sgeval.errors import SgevalError, counted, one_line, option, shown
from sgeval.progress import bar

BLOCK = 2**20
AT_ONCE = 50
"""Records that a process looks at before it tells."""
NAMED = 5
"""How many of a kind are named in a fault."""


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
    frames and masks are looked for, where the config names them, else the clip; of frames the header is read, as of pictures.
    `with_masks` decodes each mask, some 150,000 of PVSG: ids that no object has and objects that are not where they are said
    to be are counted as odd. `with_video` looks for the clip in any case and reads it through, by PyAV: a broken one is
    amiss, and those of another size, rate, length or start than their record are counted as odd, as are spans beyond it.

    `num_proc` processes share the work where records can be had without reading those before them (vidor, vipseg, svg2_test);
    of the other sets each would read the whole file.

    Faults are gathered, not raised, and videos after one that is not in the form are read on. `SgevalError` is for unknown
    names, for folders of pictures that are none, and for masks or clips that a config does not have.
    """
    found = reading.data_set(name := reading.known_name(name))
    config = reading.config_of(found, config)
    reading.check_options(found, config, reader)
    reading.check_parts(found, config, with_masks=with_masks, with_video=with_video)
    data_dir, image_dir = reading.path_of("data_dir", data_dir), reading.path_of("image_dir", image_dir)
    if type(num_proc) is not int or num_proc < 1:
        raise SgevalError(f"num_proc: expected a whole number of 1 or more, got {shown(num_proc)}")
    out = Inspection(name, config, None if data_dir is None else str(data_dir))
    out.files = [_file_state(file, data_dir) for file in found.files_of(config)]
    if data_dir is None:
        return out
    lacks = not reader.get("data_files") and bool(reading.missing_files(found, data_dir, config))
    if lacks and (words := reading.folder_words(found, data_dir, config)):
        out.faults.append(f"{option('data_dir')}: expected the folder of the files, got {one_line(data_dir)}{words}")
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
        if found.strange is not None:
            out.faults += found.strange(Path(data_dir))
        _count(out, found, place, reader, (with_images, with_masks, with_video), num_proc)
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
        words = f"expected the file ({file.what}; from {file.where}), got none in {one_line(str(data_dir))}"
        return FileState(*facts, fault=words if data_dir is not None and file.needed else "")
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
        look_at = partial(look, found.name, out.config, out.data_dir, split, place, reader, asked)
        looks: list[Look] = []
        if num_proc > 1 and total is not None and not reader.get("filters"):
            parts = bar(stretches(total, AT_ONCE), f"{found.name} {split}", "stretch")
            looks = list(in_order(look_at, parts, num_proc))
        keys = [key for one in looks for key in one.keys]
        if not looks or len({*keys}) < len(keys):  # readers refuse repeats, and know those of their own stretch alone
            looks = [look_at(None)]
            keys = looks[0].keys
        for one in looks:
            out.add(one)
        if found.kind == "video" and (again := [key for key in keys if key in every]):
            what = counted(len(again), "video has an id", "videos have ids")
            out.faults.append(f"{split}: {what} of an earlier split: {_some(again)}")
        every.update(keys)
        unread = [fault for one in looks for fault in one.unread]
        out.splits.append(SplitState(split, len(keys), len({*keys}), published.get(split), len(unread)))
        if unread:
            named = f"the first {NAMED} of them are named" if len(unread) > NAMED else "each is named"
            out.faults += [f"{split}: {counted(len(unread), 'video')} cannot be read; {named}", *unread[:NAMED]]
    if found.leaves_unsplit:
        unread = []
        total = reading.count(found.name, out.data_dir, out.config, faults=unread, **reader) + len(unread)
        if rest := total - sum(state.records + state.unread for state in out.splits):
            out.faults.append(f"{counted(rest, 'record is', 'records are')} in no split, so no split holds them")
    if found.unmet is not None and (names := found.unmet(Path(out.data_dir), out.config)):
        what = counted(len(names), "video that a list of a split names has", "videos that a list of a split names have")
        out.faults.append(f"{what} no record: {_some(names)}")


def _some(names: Sequence[str]) -> str:
    """The first of some names."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(shown, names[:NAMED])) + more


def _differences(out: Inspection, found: DataSet, has_all: bool) -> Iterator[str]:
    """In words: counts other than the published ones, and what is missing."""
    published = found.published.get(out.config, {})
    counts = {state.split: state.records for state in out.splits}
    for split, number in published.items():
        got = counts.get(split, sum(counts.values()))
        if got != number and has_all:
            yield f"{split}: expected the published {counted(number, 'record')}, got {got:,}"
    names = ("pictures", "panoptic maps") if found.kind == "image" else ("clips or frames", "masks")
    for what, missing in zip(names, (out.missing_pictures, out.missing_maps)):
        if missing:
            folder = one_line(str(out.data_dir))
            states = Counter(out.unsound.get(name, "missing") for _, name in missing)
            each = ", ".join(f"{n:,} {state}" for state, n in states.items())
            yield f"{what}: {each} below {folder} (from {found.pictures_from})"
    if out.broken_masks:
        how_many = f"{len(out.broken_masks):,}"
        yield f"masks: {how_many} that are none, or not those of their record; the first: {out.broken_masks[0]}"
