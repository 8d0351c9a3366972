"""The data sets in `datasets`: load them from the original files, or make the host's own `load_dataset` know them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets

from sgeval.data import reading
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError, one_line, one_of, option, shown
from sgeval.files import make_folder
from sgeval.hub.builder import MissingImages, check_running
from sgeval.hub.rows import builder_class, resolved


def load_dataset(
    name: str,
    config: str | None = None,
    *,
    data_dir: str | Path | None = None,
    image_dir: str | Path | None = None,
    split: Any = None,
    streaming: bool = False,
    with_images: bool = True,
    with_masks: bool = False,
    with_video: bool = False,
    missing_images: MissingImages = "error",
    cast_class_labels: bool = False,
    filters: Sequence[str] = (),
    num_proc: int | None = None,
    cache_dir: str | Path | None = None,
    download_mode: Any = None,
    verification_mode: Any = None,
    **reader: Any,
) -> Any:
    """A data set from its original files: of pictures psg, visual_genome, vg150, ssg or fgov, of videos pvsg, vidor,
    vipseg or svg2_test.

    `data_dir` holds the files under their published names; `sgeval data info NAME` tells which, and where to get them.
    Nothing is downloaded. `config`: see the same command; the first is the default. Without `split` all splits come, as a
    `DatasetDict` (streaming: an `IterableDatasetDict`); with one, as `datasets` reads it (`"test[:10%]"`, `"train+val"`,
    `datasets.Split.TEST`, a `datasets.ReadInstruction`), a `Dataset`; with a list of them, a list.
    `sgeval.hub.features.to_record` makes the record of a row.

    Pictures are looked for below `data_dir`, or in `image_dir`; rows name them and do not copy them. One that is missing,
    empty or has no picture's header is an error, or null with `missing_images="null"`, and a warning counts those;
    `with_images=False` leaves all null. One that has the annotated size only
    without its EXIF orientation is copied into its row without that tag, so that `datasets` shows it as it is annotated; a
    warning tells of those that have another size. `with_masks` (psg) gives
    `panoptic_map` and a run-length code for each segment.

    Rows of videos name their frames and masks (`frame_files`, `mask_files`, in the configs that have them); `with_images`
    then looks whether each is there, and one that is missing is an error, or null in its place. `with_masks` (pvsg, vipseg)
    draws each object's track from them, a box and a run-length code a frame. `with_video` fills `video` with the clip, which
    `datasets` decodes with torchcodec; `sgeval.data.frames` gives frames without it.

    `cast_class_labels` makes ids `ClassLabel` where the classes are closed. `filters` leave out what papers leave out, one
    after the other, as `["drop_empty", "dedupe=triplet"]`; `sgeval.data.reading.read` lists them. Other keywords go to the
    reader (`val_rule=` of vg150, `keep=` of ssg, `data_files=` of fgov …).

    What is built is kept in the cache of `datasets` and found again by code, sources (name, size, times of change) and
    options: a change of any builds anew, and so does a file that is added to, moved in or taken from a folder of pictures,
    and a picture that is written over in place. For that each load looks at each picture whose record says a size (at its
    name, size and times of change), a second for 100,000 on a local disk; a change that leaves all of these is not noticed.
    `with_masks` and `missing_images="null"` look at each file of each record for that. Counts other than the published ones
    are told each time by a warning, under `verification_mode="all_checks"` by an error.

    Raises `SgevalError`: for unknown names, for files and pictures that are not there, and for files that are not in the
    form, with file, record, what was expected and what stands there.

    >>> load_dataset("psg")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: psg: data_dir: expected a folder that holds psg.json or psg_sample.json ...
    """
    name = reading.known_name(name)
    check_running(download_mode, verification_mode, num_proc)
    if not isinstance(streaming, bool):
        raise SgevalError(f"streaming: expected true or false, got {shown(streaming)}")
    builder = make_builder(
        name,
        config,
        data_dir=data_dir,
        image_dir=image_dir,
        with_images=with_images,
        with_masks=with_masks,
        with_video=with_video,
        missing_images=missing_images,
        cast_class_labels=cast_class_labels,
        cache_dir=cache_dir,
        for_streaming=streaming,
        reader={
            **reader,
            **({"filters": [*filters] if isinstance(filters, (list, tuple)) else filters} if filters else {}),
        },
    )
    split = checked_split(name, builder.config.name, split, streaming=streaming)
    if streaming:
        return builder.as_streaming_dataset(split=split)
    builder.download_and_prepare(num_proc=num_proc, download_mode=download_mode, verification_mode=verification_mode)
    try:
        return builder.as_dataset(split=split)
    except (ValueError, AssertionError) as fault:
        if split is None or isinstance(fault, SgevalError):
            raise
        rows = ", ".join(f"{each} {one.num_examples:,}" for each, one in builder.info.splits.items())
        words = f"expected rows that are there ({rows}), got {shown(split)}"
        raise SgevalError(f"split of {name}, {builder.config.name}: {words} ({one_line(str(fault))})") from None


def make_builder(name: str, config: str | None = None, *, data_dir: Any, reader: Any = None, **options: Any) -> Any:
    """The builder of a data set whose files are there. Raises `SgevalError` as `load_dataset`."""
    found = reading.data_set(name := reading.known_name(name))
    config = reading.config_of(found, config)
    reader = reader or {}
    data_dir = reading.path_of("data_dir", data_dir)
    data_dir = None if data_dir is None else resolved(data_dir)
    cache_dir = reading.path_of("cache_dir", options.get("cache_dir"))
    reading.check_options(found, config, reader, with_masks=options.get("with_masks", False))
    reading.check_files(found, data_dir, config, reader)
    if cache_dir is not None:
        try:
            make_folder(Path(cache_dir).expanduser())
        except OSError as fault:
            words = f"got {one_line(cache_dir)} ({fault.strerror})"
            raise SgevalError(f"{option('cache_dir')}: expected a folder, or one that can be made, {words}") from None
    if options.get("cast_class_labels") is False:
        del options["cast_class_labels"]
    return builder_class(name)(config_name=config, data_dir=data_dir, reader=reader or None, **options)


def checked_split(name: str, config: str, split: Any, *, streaming: bool) -> Any:
    """A split in the forms that `datasets` takes. Raises `SgevalError` for the name of one that the config does not have,
    and for parts that cannot be read; a stream knows neither parts nor sums."""
    if isinstance(split, (list, tuple)) and not streaming:
        return [checked_split(name, config, each, streaming=streaming) for each in split]
    if split is None or (isinstance(split, datasets.ReadInstruction) and not streaming):
        return split
    if not isinstance(split, (str, datasets.NamedSplit)):
        forms = "the name of a split" if streaming else "a text, a datasets.Split, or a list of them"
        raise SgevalError(f"split: expected {forms}, got {shown(split)}")
    split = str(split)
    splits = reading.data_set(name).configs[config]
    for part in [split] if streaming else split.split("+"):
        base = part if streaming else part.split("[")[0].strip()
        one_of(f"split of {name}, {config}", base, splits if streaming else (*splits, "all"))
    if not streaming:
        try:
            datasets.ReadInstruction.from_spec(split)
        except (ValueError, AssertionError):
            raise SgevalError(
                f"split: expected NAME or NAME[FROM:TO], in rows or per cent, with + between several, got {shown(split)}"
            ) from None
    return split


def register() -> None:
    """Make plain `datasets.load_dataset("psg", data_dir=…)` work in this process, for each data set.

    With `data_dir` the host lists the whole folder first, which takes long in one with many pictures; with
    `data_files={"train": "…/psg.json"}` it does not: the folder of that file is meant. With neither the host takes whatever
    lies in the working folder; that is refused unless it is the data set's own files and nothing else.

    Options are those of `load_dataset`, those of the reader as `reader={…}`. The host has no public way to do this; it may
    change with a version of it.
    """
    from datasets.packaged_modules import _PACKAGED_DATASETS_MODULES

    for name in DATA_SETS:
        _PACKAGED_DATASETS_MODULES[name] = (builder_class(name).__module__, "")


def hide_bars() -> None:
    """Keep the progress bars of `datasets` out of what nobody watches."""
    datasets.disable_progress_bars()
