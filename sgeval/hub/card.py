"""The card of a data set: what stands in its folder, and what an export makes of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import datasets
import yaml

from sgeval import __version__
from sgeval.data.exported import MARK, PAIRS
from sgeval.data.filtering import filter_conditions
from sgeval.data.kinds import DataSet
from sgeval.data.reading import data_set
from sgeval.errors import SgevalError
from sgeval.hub.builder import other_counts
from sgeval.hub.notes import null_words
from sgeval.hub.rows import shelf
from sgeval.hub.schema import features_of

TASKS = {"image": "image-to-text", "video": "video-classification"}


ROWS = """\
Each row is one picture: `image`, `image_id`, `file_name`, `width`, `height`, `source`, `objects` (`id`, `category`,
`category_id`, `bbox` as x, y, width, height in pixels, …), `relations` (`subject_id` and `object_id` are ids of objects,
`predicate`, `predicate_id`, …) and `extra`, a JSON text of whatever has no column. Ids of classes count from 0; -1 is outside
the class list. Order and repeats are those of the source; nothing is dropped, clipped or repaired. What is unknown is null.
`pair_vocabulary` says which predicates are annotated for which pair of classes, and how often, by split; labels are spelt as
in the rows."""
"""What the rows of every data set of pictures hold."""


class Size(NamedTuple):
    """How many rows were written, and their bytes in memory."""

    rows: int = 0
    bytes: int = 0
    ids_hash: str = ""
    """Of the ids of the rows (`sgeval.data.ids`)."""
    asked: Mapping[str, int] = Counter()
    """How many files of a kind the rows were to have."""
    nulls: Mapping[str, int] = Counter()
    """How many of them are null, by why and kind ("missing picture")."""


def null_parts(splits: Mapping[str, Size]) -> dict[str, str]:
    """By kind of file ("picture" …), how many are null in all splits, in words; of kinds of which some are."""
    asked: Counter[str] = Counter()
    nulls: Counter[str] = Counter()
    for size in splits.values():
        asked.update(size.asked)
        nulls.update(size.nulls)
    return null_words(asked, nulls)


def facts_text(found: DataSet) -> str:
    """What a card says that is a matter of record: rows of pictures, licence, sources, counts, faults, citation."""
    files: dict[str, None] = {}
    for file in found.files:
        configs = f" (config {', '.join(file.configs)})" if file.configs else ""
        files.setdefault(f"`{file.names[0]}`{configs}: {file.what}. From {file.where}.", None)
    sums = [f"- `{archive}`: `{digest}`" for archive, digest in found.md5.items()]
    counts = [
        f"| `{config}` | {'all splits together' if split == 'all' else f'`{split}`'} | {number:,} |"
        for config, by_split in found.published.items()
        for split, number in by_split.items()
    ]
    parts = [
        *(["## Rows", ROWS] if found.kind == "image" else []),
        "## Licence",
        f"{found.licence.words} {found.licence.allows}",
        "## Where the files come from",
        *([f"{found.asks}. Nothing is downloaded by itself."] if found.asks else []),
        "\n".join(f"- {line}" for line in files),
        f"{'Pictures' if found.kind == 'image' else 'Clips and frames'}: {found.pictures_from}.",
        *(["MD5 of the archives, as published:", "\n".join(sums)] if sums else []),
        "Files are looked for below `data_dir`, for example, the first that is there:",
        "\n".join(f"- {what}: {' or '.join(f'`{path}`' for path in paths)}" for what, paths in found.places().items()),
        f"Options of the reader: {', '.join(f'`{option}`' for option in found.options) or 'none'}. "
        f"Filters, off by default: {_filters_text(found)}.",
        "## Counts",
        "As published, in records:",
        "\n".join(["| config | split | records |", "| --- | --- | ---: |", *counts]),
        "## Known faults of the data",
        "\n".join(f"- {line}" for line in found.faults),
        "## Citation",
        f"```bibtex\n{found.citation}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _filters_text(found: DataSet) -> str:
    """The filters that a data set can have, and what they take."""
    each = filter_conditions(found).items()
    return ", ".join(f"`{name}`{f' ({takes})' if takes else ''}" for name, takes in each) or "none"


def _front(found: DataSet, configs: Mapping[str, Sequence[str]], more: Mapping[str, Any] | None = None) -> str:
    """The YAML of a card: the splits of each config, whose files lie in a folder of its name. The first is the default."""
    files = {
        name: [{"split": split, "path": f"{name}/{split}-*.parquet"} for split in splits]
        for name, splits in configs.items()
        if splits
    }
    head: dict[str, Any] = {
        "pretty_name": found.title,
        "license": found.licence.hub_id,
        **({"license_name": f"{found.name}-see-below"} if found.licence.hub_id == "other" else {}),
        "task_categories": ["object-detection", TASKS[found.kind]],
        "tags": ["scene-graph", "visual-relationship", "sgeval"],
        "configs": [
            {"config_name": name, **({"default": True} if name != PAIRS else {}), "data_files": paths}
            for name, paths in files.items()
        ],
        **(more or {}),
    }
    return yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=120)


def card_text(name: str, config: Any, splits: Mapping[str, Size], pairs: Sequence[str]) -> str:
    """The card of an export: that of the data set, with the files and numbers of rows that were written. `pairs` are
    the splits that have a pair vocabulary."""
    found = data_set(name)
    path = shelf() / name / "README.md"
    body = path.read_text(encoding="utf-8").split("\n---\n", 1)
    if len(body) != 2:
        raise SgevalError(f"{path}: expected a card that begins with YAML, got none")
    info = {
        "dataset_info": [
            {
                "config_name": config.name,
                "features": features_of(found.kind)._to_yaml_list(),
                "splits": [
                    {"name": split, "num_bytes": size.bytes, "num_examples": size.rows}
                    for split, size in splits.items()
                    if size.rows
                ],
            }
        ]
    }
    counts = {split: size.rows for split, size in splits.items()}
    other = other_counts(name, config, counts)
    rows = ", ".join(
        f"{split} {number:,}"
        + (f" (published: {other[split]:,})" if split in other else "")
        + ("" if number else " (so no such split)")
        for split, number in counts.items()
    )
    rows += f" (published, all together: {other['all']:,})" if "all" in other else ""
    nulls = "".join(f" {what.capitalize()}s: {words}." for what, words in null_parts(splits).items())
    has_pictures = config.with_images and found.kind == "image"
    has = {"pictures": has_pictures, "masks": config.with_masks, "clips": config.with_video}
    parts = [part for part in has if has[part]]
    options = {key: value for key, value in config.reader.items() if key != "filters"}
    given = f" Reader: {', '.join(f'{key}={value!r}' for key, value in options.items())}." if options else ""
    if config.reader.get("filters"):
        given += f" Filters, in this order: {', '.join(f'`{text}`' for text in config.reader['filters'])}."
    mark = f"{MARK} {name} {config.name} {' '.join(parts) or 'annotations'} sgeval {__version__} -->"
    made = (
        f"This copy: config `{config.name}`, {rows}; {' and '.join(parts) or 'annotations only'}. "
        f"Made with sgeval {__version__} and datasets {datasets.__version__}.{given}{nulls}"
    )
    front = _front(found, {config.name: [split for split, size in splits.items() if size.rows], PAIRS: pairs}, info)
    hashes = [f"| `{split}` | {size.rows:,} | `{size.ids_hash}` |" for split, size in splits.items()]
    table = "\n".join(["| split | records | SHA-256 of the sorted ids, one a line |", "| --- | ---: | --- |", *hashes])
    return f"---\n{front}---\n{mark}\n\n{made}\n\n{table}\n{body[1]}"
