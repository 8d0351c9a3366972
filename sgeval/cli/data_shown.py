"""What the commands of `sgeval data` print."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sgeval.archives import Unpacked
from sgeval.cli.ending import print_json, say
from sgeval.data.filtering import filter_conditions, filters_of
from sgeval.data.findings import Inspection
from sgeval.data.kinds import DataSet
from sgeval.data.overlap import Overlap
from sgeval.data.reading import config_of, data_set
from sgeval.errors import counted, one_line

SHOWN = 20
NAMED = 5
"""How many ids are named of an oddity that has no frame."""


def show_overlaps(shared: Sequence[Overlap], numbers: Mapping[str, int]) -> None:
    """A table of what parts share; of parts without a number, how much that is of them is left out."""
    if not shared:
        print("No picture is in two of them.")
        return
    table = Table(title="Pictures in both")
    for heading in ("left", "right", "by id of", "shared", "of left", "of right", "train and test"):
        table.add_column(heading, justify="right" if heading.startswith(("shared", "of")) else "left", no_wrap=True)
    for one in shared:
        count = len(one.ids)
        sides = [f"{count / numbers[side]:.1%}" if numbers.get(side) else "" for side in (one.left, one.right)]
        by = {"vg": "Visual Genome", "coco": "COCO"}[one.by]
        table.add_row(one.left, one.right, by, f"{count:,}", *sides, "yes" if one.crosses else "")
    console = Console(highlight=False)
    width = console.measure(table, options=console.options.update(max_width=10_000)).maximum
    Console(highlight=False, width=width).print(table)  # nothing is cut, in a pipe too


def written_words(name: str, config: str | None, nulls: Mapping[str, str], **has: bool) -> str:
    """What an export holds, how much of it is null (`nulls`: in words, by kind of file), and by which flags it would hold
    more."""
    found = data_set(name)
    config = config_of(found, config)
    parts = {"with_images": "pictures"} if found.kind == "image" else {}
    parts |= {"with_masks": "masks"} if found.has_maps(config) else {}
    parts |= {"with_video": "clips"} if found.clips else {}
    kinds = {"pictures": ("picture",), "masks": ("panoptic map", "mask"), "clips": ("clip",)}
    have = []
    for flag, what in parts.items():
        if has[flag]:
            missing = [nulls[kind] for kind in kinds[what] if kind in nulls]
            have.append(what + (f" ({', '.join(missing)})" if missing else ""))
    lacks = [f"{what} (--{flag.replace('_', '-')})" for flag, what in parts.items() if not has[flag]]
    others = [f"--config {other}" for other in found.configs if other != config]
    words = f"Written: config {config}, {' and '.join(['annotations', *have])}"
    words += f"; without {' and '.join(lacks)}" if lacks else ""
    return words + (f"; other configs: {', '.join(others)}" if others else "")


def show_unpacked(one: Unpacked) -> None:
    """What was done with an archive."""

    def some(names: tuple[str, ...], most: int = 5) -> str:
        return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")

    how = "was unpacked before" if one.already else "unpacked"
    name, folder = one_line(one.archive), one_line(one.folder)
    print(f"{name}: {how}, {counted(one.files, 'file')} of {counted(one.bytes, 'byte')} in {folder}: {some(one.top)}")
    if one.left_out:
        print(f"  left out {counted(len(one.left_out), 'file')} of macOS: {some(one.left_out)}")
    if one.archives:
        print(f"  still packed, unpack them next: {some(one.archives)}")


def facts(found: DataSet) -> dict[str, Any]:
    """What is on record of a data set, plain."""
    return {
        "title": found.title,
        "configs": {config: list(splits) for config, splits in found.configs.items()},
        "pictures_from": found.pictures_from,
        "places": found.places(),
        "md5": found.md5,
        "reader_options": found.options,
        "filters": {config: filters_of(found, config) for config in found.configs},
        "asks": found.asks,
        "licence": found.licence.words,
        "allows": found.licence.allows,
        "published": found.published,
        "known_faults": found.faults,
    }


def show_all(every: list[DataSet], as_json: bool) -> None:
    """The data sets, a line each."""
    if as_json:
        print_json({found.name: facts(found) for found in every})
        return
    table = Table()
    for heading in ("name", "data set", "configs: splits", "licence"):
        table.add_column(heading, no_wrap=heading == "name")
    for found in every:
        configs = "\n".join(f"{config}: {', '.join(splits)}" for config, splits in found.configs.items())
        table.add_row(found.name, found.title, configs, found.licence.hub_id)
    Console(highlight=False).print(table)
    say("`sgeval data info NAME` says what to get and from where")


def show(found: DataSet, look: Inspection) -> None:
    """What is on record, then what was found in the folder."""

    def line(text: str, colour: str = "") -> None:
        console.print(f"[{colour}]{escape(text)}[/]" if colour else escape(text))

    console = Console(highlight=False, soft_wrap=True)
    console.print(f"[bold]{escape(found.title)}[/], config {look.config} of {', '.join(found.configs)}")
    line(f"licence   {found.licence.words} {found.licence.allows}")
    if found.asks:
        line(f"access    {found.asks}.")
    for state in look.files:
        size = f", {state.published_bytes:,} bytes" if state.published_bytes else ""
        if state.path is None:
            missing = "missing" if look.data_dir and state.needed else "needed" if state.needed else "optional"
            line(
                f"{missing:<9} {' or '.join(state.names)} ({state.what}{size}) from {state.where}",
                "red" if missing == "missing" else "",
            )
        else:
            line(f"there     {state.path} ({state.bytes:,} bytes)" + (f": {state.fault}" if state.fault else ""))
    pictures = "pictures" if found.kind == "image" else "videos"
    line(f"{pictures:<9} {found.pictures_from}")
    if look.data_dir is None:
        for archive, digest in found.md5.items():
            line(f"md5       {archive}: {digest}")
        for what, paths in found.places().items():
            line(f"place     {what}: {' or '.join(paths)}, below --data-dir")
        if found.options:
            line(f"options   {', '.join(found.options)}, as --reader KEY=VALUE")
        filters = [f"{name} ({takes})" if takes else name for name, takes in filter_conditions(found).items()]
        if filters:
            line(f"filters   {', '.join(filters)}, as --filter NAME")
    for split in look.splits:
        published = f"published {split.published:,}" if split.published is not None else "no published count"
        numbers = f"{counted(split.records, 'record')}, {counted(split.distinct_ids, 'distinct id')}"
        line(f"{split.split:<9} {numbers} ({published})")
    if look.splits:
        files = "pictures" if found.kind == "image" else "files"
        line(f"{files:<9} {look.n_pictures:,} there, {len(look.missing_pictures):,} missing, empty or broken")
    names = ("picture", "map") if found.kind == "image" else ("file", "mask")
    for what, missing_files in zip(names, (look.missing_pictures, look.missing_maps)):
        for image_id, file_name in missing_files[:SHOWN]:
            line(f"  {look.unsound.get(file_name, 'missing')} {what} of {image_id}: {file_name}", "yellow")
        if len(missing_files) > SHOWN:
            line(f"  … and {len(missing_files) - SHOWN:,} more; --json lists all")
    kind = "picture" if found.kind == "image" else "video"
    for oddity in look.oddities:
        first = ", ".join(oddity.ids[:NAMED]) if oddity.frame is None else f"{oddity.ids[0]}, frame {oddity.frame}"
        where = f"in {counted(len(oddity.ids), kind)}; first in {first}"
        line(f"odd       {oddity.what}: {oddity.count:,}, {where}", "yellow")
    if look.data_dir is None:
        for fault in found.faults:
            line(f"known     {fault}")
    for fault in look.faults:
        line(f"amiss     {fault}", "red")
    if look.data_dir is not None and not look.faults:
        line("nothing amiss", "green")
