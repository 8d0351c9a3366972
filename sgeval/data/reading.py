"""Records of a data set by its name; and what is missing where they cannot be had."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from sgeval.archives import check_unpacked
from sgeval.data.filtering import check_filters, filtered
from sgeval.data.kinds import Classes, DataSet, SourceFile
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError, one_line, one_of, option, shown
from sgeval.readers.video_form import Once

ALIASES = {"vg": "visual_genome"}
"""Names that people say for names of data sets."""
LOOKED_INTO = 1_000
"""How many entries of a folder are looked into at most, for files that it lacks."""
MASKS = "masks"
"""The config of a data set that has masks in its annotations."""


def data_set(name: str) -> DataSet:
    """The data set of a name. Raises `SgevalError` with the nearest name.

    >>> data_set("pgs")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: data set: expected one of psg, visual_genome, ..., got "pgs"; did you mean "psg"?
    """
    one_of("data set", name, DATA_SETS)
    return DATA_SETS[name]


def known_name(given: Any) -> Any:
    """The name of the data set that is meant; what means none comes back as it is.

    >>> known_name("VG"), known_name("Visual Genome"), known_name("svg2-test"), known_name("pgs")
    ('visual_genome', 'visual_genome', 'svg2_test', 'pgs')
    """
    if not isinstance(given, str):
        return given
    plain = given.lower().replace("-", "_").replace(" ", "_")
    fitting = {name.replace("_", ""): name for name in DATA_SETS}
    return ALIASES.get(plain, fitting.get(plain.replace("_", ""), given))


def config_of(found: DataSet, config: str | None) -> str:
    """The config of a name, or the default one."""
    if config is None:
        return found.default_config
    one_of(f"config of {found.name}", config, found.configs)
    return config


def read(
    name: str,
    data_dir: str | Path,
    config: str | None = None,
    split: str | None = None,
    *,
    part: tuple[int, int | None] | None = None,
    filters: Sequence[str] = (),
    faults: list[str] | None = None,
    **options: Any,
) -> Iterator[Any]:
    """The records of a data set, in file order; `split=None` gives those of all splits, `part` a stretch of them by
    position, as a slice does.

    `filters` are names out of `filtering.FILTERS`, as `NAME` or `NAME=VALUE`, and are applied in their order: `drop_empty`,
    `dedupe=triplet` (or `pair_random`, `pair_random:SEED`), `only_listed_predicates`, `drop_crowd`, `clip_boxes`,
    `visible_only`, and those of `video_filters` for videos; which of them a config has is told by `filtering.filters_of`.
    `part` then counts in what is left. Tracks that masks draw come later, so that `visible_only` of PVSG is for tables and
    exports alone.

    `options` are keywords of its reader. With a list for `faults`, videos that are not in the form are passed over and what
    is wrong with them is noted there. Raises `SgevalError`: for an unknown name, and for a folder that lacks files, with
    what to get and from where; while reading, as the reader does.
    """
    found = data_set(name)
    config = config_of(found, config)
    if split is not None:
        one_of(f"split of {name}, {config}", split, found.configs[config])
    check_options(found, config, {**options, "filters": filters})
    check_files(found, data_dir, config, options)
    if faults is not None and found.kind == "video":
        options["faults"] = faults
    if filters:
        left = filtered(found.read(Path(data_dir), split, config, **options), filters, found.kind)
        return left if part is None else islice(left, *part)
    if part is not None and found.count is not None:
        return found.read(Path(data_dir), split, config, part=part, **options)
    graphs = found.read(Path(data_dir), split, config, **options)
    return graphs if part is None else islice(graphs, *part)


def count(name: str, data_dir: str | Path, config: str | None = None, split: str | None = None, **options: Any) -> int:
    """How many records `read` gives; they are read for it, unless the data set can tell."""
    found = data_set(name)
    is_whole = not options.get("filters")
    known = known_count(found, data_dir, config_of(found, config), split) if is_whole else None
    return sum(1 for _ in read(name, data_dir, config, split, **options)) if known is None else known


def known_count(found: DataSet, data_dir: str | Path, config: str, split: str | None) -> int | None:
    """How many records a split has, where that can be told without reading them."""
    return None if found.count is None else found.count(Path(data_dir), split, config)


def classes(name: str, data_dir: str | Path, config: str | None = None) -> Classes:
    """The class lists that the ids of `read` count in; empty where names are open."""
    found = data_set(name)
    return found.classes(Path(data_dir), config_of(found, config))


def check_options(found: DataSet, config: str, options: Mapping[str, Any], *, with_masks: bool = False) -> None:
    """Raise `SgevalError` for a keyword that the reader does not have, and for filters that records of a config do not, as
    they are read or, `with_masks`, as masks draw them."""
    given = [name for name, value in options.items() if value is not None] + (["with_masks"] if with_masks else [])
    for name, value in options.items():
        if name == "filters":
            check_filters(value, found, config, given)
            continue
        if not found.options:
            raise SgevalError(f"option of {found.name}: expected none, got {shown(name)}")
        one_of(f"option of {found.name}", name, found.options)
        if name in found.lists and not _is_list(value):
            raise SgevalError(f"{name}: expected a list of texts, got {shown(value)}")


def _is_list(given: object) -> bool:
    """Whether an option is texts or paths, or one of them, which the reader may take too."""
    if isinstance(given, Collection) and not isinstance(given, (str, bytes, Mapping)):
        return all(isinstance(each, (str, Path)) for each in given)
    return isinstance(given, (str, Path))


def path_of(name: str, given: object) -> str | None:
    """The path that an option gives, or nothing. Raises `SgevalError` for what is no path.

    >>> path_of("data_dir", b"psg/")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: data_dir: expected a path, as a text, got b'psg/'
    """
    if given is None:
        return None
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(path, str) or "\0" in path:
        raise SgevalError(f"{name}: expected a path, as a text, got {shown(given)}")
    return path


def check_parts(found: DataSet, config: str, *, with_masks: bool, with_video: bool) -> None:
    """Raise `SgevalError` for masks or clips that are asked for and that a config does not have."""
    if with_masks and not found.panoptic:
        there = f"; its masks are in the config {MASKS} (--config {MASKS}), without this option"
        by_config = there if MASKS in found.configs else ""
        raise SgevalError(f"with_masks: expected a data set with masks, got {shown(found.name)}{by_config}")
    if with_masks and not found.has_maps(config):
        have = " or ".join(found.with_maps)
        raise SgevalError(f"with_masks: expected a config that has masks ({have}), got {shown(config)}")
    if with_video and not found.clips:
        raise SgevalError(f"with_video: expected a data set with clips, got {shown(found.name)}")


def check_files(found: DataSet, data_dir: str | Path | None, config: str, options: Mapping[str, Any]) -> None:
    """Raise `SgevalError` unless every needed file is there, with what to get and from where, and none half unpacked."""
    check_in_place(found, data_dir, config)
    lacking = [] if options.get("data_files") else missing_files(found, data_dir, config)
    if lacking:
        wanted = "; ".join(f"{' or '.join(file.names)} ({file.what}; from {file.where})" for file in lacking)
        asks = f" {found.asks}." if found.asks else ""
        folder = "no folder" if data_dir is None else one_line(str(data_dir)) + folder_words(found, data_dir, config)
        raise SgevalError(
            f"{found.name}: {option('data_dir')}: expected a folder that holds {wanted}, got {folder}.{asks} "
            f"`sgeval data info {found.name}` lists what to get; nothing is downloaded for you"
        )


def folder_words(found: DataSet, data_dir: str | Path, config: str) -> str:
    """What is to be said of a folder that lacks files: that it does not exist or is none, and which folder next to it, one
    level up or down, has all of them."""
    folder = Path(data_dir)
    words = ""
    if not folder.is_dir():
        words = ", which is a file and no folder" if folder.exists() else ", which does not exist"
    near = [folder.absolute().parent]
    if folder.is_dir():
        with suppress(OSError), os.scandir(folder) as entries:
            near += sorted(Path(entry.path) for entry in islice(entries, LOOKED_INTO) if entry.is_dir())
    needed = [name for file in found.files_of(config) if file.needed for name in file.names]
    if any("*" in name for name in needed):  # whatever fits may be anything
        return words
    there = next((each for each in near if not missing_files(found, each, config)), None)
    return words if there is None else f"{words}; they lie in {one_line(str(there))}"


def check_once(
    found: DataSet, data_dir: str | Path, ids: Mapping[str, Sequence[str]], filters: Sequence[str] = ()
) -> None:
    """Raise `SgevalError`, naming both places, for a video that comes twice in what was read of the splits of a data set.

    A reader refuses those that it reads itself, but each of several processes reads a stretch of a split, and nobody two
    splits at once. Pictures may come twice: published sets have some that do, and `sgeval data info` counts them.
    """
    if found.kind != "video":
        return
    has_files = found.files_each is not None and not filters  # filters may leave records out
    videos = Once()
    for split, keys in ids.items():
        files = found.files_each(Path(data_dir), split) if found.files_each is not None and has_files else None
        for position, key in enumerate(keys):
            videos.add(key, f"{split}: record {position}" if files is None else str(files[position]))


def check_in_place(found: DataSet, data_dir: str | Path | None, config: str) -> None:
    """Raise `SgevalError` if an archive may be half in place in a folder that files are looked for in."""
    if data_dir is not None:
        for folder in found.roots(config):
            check_unpacked(Path(data_dir) / folder)


def missing_files(found: DataSet, data_dir: str | Path | None, config: str) -> list[SourceFile]:
    """The needed files that a folder lacks; of no folder, all."""
    needed = [file for file in found.files_of(config) if file.needed]
    return [file for file in needed if data_dir is None or file.found(Path(data_dir)) is None]
