"""The builder that the data sets share: records of a reader as rows of `datasets`.

`datasets` keeps what it has built, and looks at neither code nor sources when it is asked again. So every builder names its
rows by a fingerprint of the code, the source files (name, size, time of change) and the options, whoever makes it.

The host replaces `open`, `Path` and functions of `os` in the modules of builders by its own; this one uses none of them.
"""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

import datasets
from datasets import DownloadMode, VerificationMode
from datasets.exceptions import DatasetGenerationError
from datasets.filesystems import is_remote_filesystem

from sgeval.data import reading
from sgeval.errors import SgevalError, one_of, shown
from sgeval.hub.notes import clear_notes, read_notes
from sgeval.hub.rows import RowMaker, fingerprint, folder_of_files, reader_of, resolved, tables_of
from sgeval.hub.schema import features_of

MissingImages = Literal["error", "null"]
COUNTED = VerificationMode.ALL_CHECKS
"""The `verification_mode` under which a count other than the published one is an error, and no warning."""


@dataclass(eq=False)
class GraphConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """A config with its options. Those of the reader go to `reader`."""

    image_dir: str | None = None
    with_images: bool = True
    with_masks: bool = False
    with_video: bool = False
    missing_images: MissingImages = "error"
    cast_class_labels: bool = False
    reader: Mapping[str, Any] = field(default_factory=dict)


ROWS_AT_ONCE = {"image": 100, "video": 10}
"""A video's tracks may hold megabytes."""
OPTIONS = tuple(
    item.name
    for item in dataclasses.fields(GraphConfig)
    if item.name not in datasets.BuilderConfig.__dataclass_fields__
)


class GraphBuilder(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """A data set of pictures or videos. A subclass says which (`data_set`), and its `VERSION`; nothing else."""

    data_set: ClassVar[str]
    BUILDER_CONFIG_CLASS = GraphConfig

    def __init_subclass__(cls) -> None:
        found = reading.data_set(cls.data_set)
        cls.BUILDER_CONFIGS = [GraphConfig(name=name, version=cls.VERSION) for name in found.configs]
        cls.DEFAULT_CONFIG_NAME = found.default_config

    def __init__(
        self,
        cache_dir: str | None = None,
        dataset_name: str | None = None,
        config_name: str | None = None,
        hash: str | None = None,
        data_dir: Any = None,
        data_files: Any = None,
        for_streaming: bool = False,
        **keywords: Any,
    ) -> None:
        """`data_files` stands in for `data_dir`: the folder of its first file is meant. `for_streaming` saves the
        fingerprint, which a stream does not need."""
        options = {name: keywords.pop(name) for name in OPTIONS if keywords.get(name) is not None}
        if not isinstance(options.get("reader", {}), Mapping):
            raise SgevalError(f"reader: expected options by name, got {shown(options['reader'])}")
        options["reader"] = dict(options.get("reader", {}))
        named = [str(file) for files in (data_files or {}).values() for file in files] if data_dir is None else []
        if named:
            data_dir = folder_of_files(self.data_set, config_name, named)
            if "data_files" in reading.data_set(self.data_set).options:
                options["reader"].setdefault("data_files", [resolved(name) for name in named])
        if not options["reader"]:
            del options["reader"]
        check_options(self.data_set, config_name, options)
        if options.get("image_dir") is not None:
            options["image_dir"] = resolved(options["image_dir"])
        data_dir = reading.path_of("data_dir", data_dir)
        data_dir = None if data_dir is None else resolved(data_dir)
        stamp = None
        if not for_streaming:
            stamp = fingerprint(self.data_set, config_name, data_dir, options, type(self))
        super().__init__(
            cache_dir=None if cache_dir is None else str(cache_dir),
            dataset_name=dataset_name or self.data_set,
            config_name=config_name,
            hash=stamp,
            data_dir=data_dir,
            **options,
            **keywords,
        )

    def _info(self) -> Any:
        found = reading.data_set(self.data_set)
        classes = None
        if self.config.cast_class_labels:
            reading.check_files(found, self.config.data_dir, self.config.name, self.config.reader)
            classes = reading.classes(self.data_set, self.config.data_dir, self.config.name)
            if "categories" not in classes:
                raise SgevalError(f"cast_class_labels: expected a data set with class lists, got {found.name}")
        return datasets.DatasetInfo(
            description=found.title,
            features=features_of(found.kind, classes),
            citation=found.citation,
            license=found.licence.hub_id,
        )

    def _make_split_generators_kwargs(self, prepare_split_kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {"num_proc": prepare_split_kwargs.get("num_proc") or 1}

    def _split_generators(self, dl_manager: Any, num_proc: int = 1) -> list[Any]:
        found, config = reading.data_set(self.data_set), self.config
        reading.check_files(found, config.data_dir, config.name, config.reader)
        if not dl_manager.is_streaming:
            clear_notes(self._output_dir)
        splits = []
        for split in found.configs[config.name]:
            total = None if dl_manager.is_streaming else self._total(split, num_proc)
            options = {
                "split": split,
                "parts": _parts(total, num_proc),
                "is_streaming": dl_manager.is_streaming,
            }
            splits.append(datasets.SplitGenerator(name=split, gen_kwargs=options))
            if total is not None:
                splits[
                    -1
                ].split_info.num_examples = total  # where the bar ends; the host writes the number of rows there
        return splits

    def _download_and_prepare(self, dl_manager: Any, verification_mode: Any, **keywords: Any) -> None:
        """As the host's, which gives the folder its name afterwards; what one split or stretch cannot know is looked at."""
        super()._download_and_prepare(dl_manager, verification_mode, **keywords)
        if not is_remote_filesystem(self._fs):
            found, config = reading.data_set(self.data_set), self.config
            ids = {split: read_notes(self._output_dir, split).ids for split in found.configs[config.name]}
            reading.check_once(found, config.data_dir, ids, config.reader.get("filters", ()))

    def _total(self, split: str, num_proc: int) -> int | None:
        """How many records are read for a split: if that is known, and in any case where several processes share them."""
        config = self.config
        if num_proc > 1:
            reader = reader_of(config)[0]
            return reading.count(self.data_set, config.data_dir, config.name, split, **reader)
        if config.reader.get("filters"):
            return None
        return reading.known_count(reading.data_set(self.data_set), config.data_dir, config.name, split)

    def _generate_tables(
        self, split: str, parts: list[tuple[int, int | None]], is_streaming: bool
    ) -> Iterator[tuple[int, Any]]:
        make = RowMaker.of_config(self.data_set, self.config)
        size = ROWS_AT_ONCE[reading.data_set(self.data_set).kind]
        part = (parts[0][0], parts[-1][1])
        yield from enumerate(tables_of(make, self.config, split, size, self.info.features, part))
        if is_streaming:
            make.notes.tell(f"{self.data_set}, {self.config.name}, {split}")
        elif not is_remote_filesystem(self._fs):
            make.notes.write(self._output_dir, split, part[0])

    def _prepare_split_single(self, **keywords: Any) -> Iterator[Any]:
        try:
            yield from super()._prepare_split_single(**keywords)
        except DatasetGenerationError as fault:
            raise _cause(fault) from None

    def _as_dataset(self, split: Any = datasets.Split.TRAIN, in_memory: bool = False) -> Any:
        """A split without records is an empty table; the host calls it an error."""
        name = str(split)
        if name in self.info.splits and self.info.splits[name].num_examples == 0:
            features = self.info.features
            return datasets.Dataset.from_dict(
                {column: [] for column in features}, features, split=datasets.NamedSplit(name)
            )
        return super()._as_dataset(split=split, in_memory=in_memory)

    def download_and_prepare(
        self,
        output_dir: str | None = None,
        *args: Any,
        download_mode: Any = None,
        verification_mode: Any = None,
        num_proc: int | None = None,
        **keywords: Any,
    ) -> None:
        """As the host's; and each time, also of what is found built, counts and pictures that are not as published are
        told. What was built is built anew where a folder of its files, or a picture, has changed."""
        check_running(download_mode, verification_mode, num_proc)
        built = str(output_dir or self.cache_dir)
        if read_notes(built).is_stale:
            download_mode = DownloadMode.FORCE_REDOWNLOAD
        try:
            super().download_and_prepare(
                output_dir,
                *args,
                download_mode=download_mode,
                verification_mode=verification_mode,
                num_proc=num_proc,
                **keywords,
            )
        except Exception as fault:
            if _is_interrupt(fault):
                raise KeyboardInterrupt from None
            raise
        read_notes(built).tell(f"{self.data_set}, {self.config.name}", stacklevel=3)
        self._check_counts(verification_mode)

    def _check_counts(self, verification_mode: Any) -> None:
        counts = {name: split.num_examples for name, split in self.info.splits.items()}
        words = count_words(self.data_set, self.config, counts)
        if words and verification_mode in (COUNTED, COUNTED.value):
            raise SgevalError(words)
        if words:
            warnings.warn(words, stacklevel=4)


def other_counts(name: str, config: GraphConfig, counts: Mapping[str, int]) -> dict[str, int]:
    """The published number of records of each split that has another; "all" are the splits together."""
    found = reading.data_set(name)
    if not found.counts_as_published(config.reader):
        return {}
    every = {**counts, "all": sum(counts.values())}
    return {split: n for split, n in found.published.get(config.name, {}).items() if every[split] != n}


def count_words(name: str, config: GraphConfig, counts: Mapping[str, int]) -> str:
    """What is said of counts other than the published ones; nothing where there are none."""
    every = {**counts, "all": sum(counts.values())}
    other = [f"{split} {every[split]:,} (published: {n:,})" for split, n in other_counts(name, config, counts).items()]
    words = f"{name}, {config.name}: expected the published number of records, got {', '.join(other)}"
    return words if other else ""


def _parts(total: int | None, num_proc: int) -> list[tuple[int, int | None]]:
    """Stretches of a split, one a process, so that rows come in file order however many there are."""
    if num_proc == 1 or total is None:
        return [(0, None)]
    number = max(1, min(num_proc, total))
    return list(pairwise(total * step // number for step in range(number + 1)))


def check_options(name: str, config: str | None, options: Mapping[str, Any]) -> None:
    """Raise `SgevalError` for a config or an option that a data set does not have."""
    found = reading.data_set(name)
    config = reading.config_of(found, config)
    reading.check_options(found, config, options.get("reader", {}), with_masks=options.get("with_masks", False))
    reading.path_of("image_dir", options.get("image_dir"))
    for flag in ("with_images", "with_masks", "with_video", "cast_class_labels"):
        if not isinstance(options.get(flag, False), bool):
            raise SgevalError(f"{flag}: expected true or false, got {shown(options[flag])}")
    if "missing_images" in options:
        one_of("missing_images", options["missing_images"], get_args(MissingImages))
    reading.check_parts(
        found, config, with_masks=options.get("with_masks", False), with_video=options.get("with_video", False)
    )


def check_running(download_mode: Any, verification_mode: Any, num_proc: Any) -> None:
    """Raise `SgevalError` for what is no way to run a build."""
    for name, given, modes in (
        ("download_mode", download_mode, DownloadMode),
        ("verification_mode", verification_mode, VerificationMode),
    ):
        if given is not None and not isinstance(given, modes):
            one_of(name, given, [mode.value for mode in modes])
    if num_proc is not None and (type(num_proc) is not int or num_proc < 1):
        raise SgevalError(f"num_proc: expected a whole number of 1 or more, or none, got {shown(num_proc)}")


def _is_interrupt(fault: BaseException | None) -> bool:
    """Whether a fault came of Ctrl-C: the host asks its processes for results meanwhile, and calls their silence an error."""
    for _ in range(10):  # faults may come of each other in a circle
        if fault is None or isinstance(fault, KeyboardInterrupt):
            break
        fault = fault.__context__
    return isinstance(fault, KeyboardInterrupt)


def _cause(fault: BaseException) -> BaseException:
    """What the host has wrapped, where it is a fault of ours."""
    return fault.__cause__ if isinstance(fault.__cause__, (SgevalError, OSError)) else fault
