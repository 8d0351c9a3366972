"""The data sets in `datasets`: load them from the original files, or make the host's own `load_dataset` know them."""

from pathlib import Path
from typing import Any

from sgeval.data import reading
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError, one_of
from sgeval.hub.builder import MissingImages
from sgeval.hub.rows import builder_class, resolved


def load_dataset(
    name: str,
    config: str | None = None,
    *,
    data_dir: str | Path | None = None,
    image_dir: str | Path | None = None,
    split: str | None = None,
    streaming: bool = False,
    with_images: bool = True,
    with_masks: bool = False,
    with_video: bool = False,
    missing_images: MissingImages = "error",
    cast_class_labels: bool = False,
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
    `DatasetDict` (streaming: an `IterableDatasetDict`); with one, as `datasets` reads it (`"test[:10]"`, `"train+val"`), a
    `Dataset`. `sgeval.hub.features.to_record` makes the record of a row.

    Pictures are looked for below `data_dir`, or in `image_dir`; rows name them and do not copy them. One that is missing is
    an error, or null with `missing_images="null"`; `with_images=False` leaves all null. `with_masks` (psg) gives
    `panoptic_map` and a run-length code for each segment.

    Rows of videos name their frames and masks (`frame_files`, `mask_files`, in the configs that have them); `with_images`
    then looks whether each is there, and one that is missing is an error, or null in its place. `with_masks` (pvsg, vipseg)
    draws each object's track from them, a box and a run-length code a frame. `with_video` fills `video` with the clip, which
    `datasets` decodes with torchcodec; `sgeval.data.frames` gives frames without it.

    `cast_class_labels` makes ids `ClassLabel` where the classes are
    closed. Other keywords go to the reader (`val_rule=` of vg150, `keep=` of ssg, `data_files=` of fgov …).

    What is built is kept in the cache of `datasets` and found again by code, sources (name, size, time of change) and
    options: a change of any builds anew. `with_masks` and `missing_images="null"` look at each file of each record for
    that. Counts other than the published ones are told by a warning, under `verification_mode="all_checks"` by an error.

    Raises `SgevalError`: for unknown names, for files and pictures that are not there, and for files that are not in the
    form, with file, record, what was expected and what stands there.

    >>> load_dataset("psg")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: psg: data_dir: expected a folder that holds psg.json or psg_sample.json ...
    """
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
        reader=reader,
    )
    check_split(name, builder.config.name, split, streaming=streaming)
    if streaming:
        return builder.as_streaming_dataset(split=split)
    builder.download_and_prepare(num_proc=num_proc, download_mode=download_mode, verification_mode=verification_mode)
    return builder.as_dataset(split=split)


def make_builder(name: str, config: str | None = None, *, data_dir: Any, reader: Any = None, **options: Any) -> Any:
    """The builder of a data set whose files are there. Raises `SgevalError` as `load_dataset`."""
    found = reading.data_set(name)
    config = reading.config_of(found, config)
    reader = reader or {}
    data_dir = None if data_dir is None else resolved(data_dir)
    reading.check_options(found, reader)
    reading.check_files(found, data_dir, config, reader)
    if options.get("cast_class_labels") is False:
        del options["cast_class_labels"]
    return builder_class(name)(config_name=config, data_dir=data_dir, reader=reader or None, **options)


def check_split(name: str, config: str, split: str | None, *, streaming: bool) -> None:
    """Raise `SgevalError` for the name of a split that the config does not have; a stream knows neither parts nor sums."""
    if split is None:
        return
    if not isinstance(split, str):
        raise SgevalError(f"split: expected a text, got {type(split).__name__}")
    splits = reading.data_set(name).configs[config]
    for part in [split] if streaming else split.split("+"):
        base = part if streaming else part.split("[")[0].strip()
        one_of(f"split of {name}, {config}", base, splits if streaming else (*splits, "all"))


def register() -> None:
    """Make plain `datasets.load_dataset("psg", data_dir=…)` work in this process, for each data set.

    With `data_dir` the host lists the whole folder first, which takes long in one with many pictures; with
    `data_files={"train": "…/psg.json"}` it does not: the folder of that file is meant. Options are those of `load_dataset`,
    those of the reader as `reader={…}`. The host has no public way to do this; it may change with a version of it.
    """
    from datasets.packaged_modules import _PACKAGED_DATASETS_MODULES

    for name in DATA_SETS:
        _PACKAGED_DATASETS_MODULES[name] = (builder_class(name).__module__, "")
