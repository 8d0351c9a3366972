"""The commands of `sgeval data`: the data sets of the papers, from their original files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sgeval.cli.ending import BAD_INPUT, ends_well, print_json, say
from sgeval.cli.flags import key_values

if TYPE_CHECKING:
    from sgeval.archives import Unpacked
    from sgeval.data.inspect import Inspection
    from sgeval.data.kinds import DataSet

data_app = typer.Typer(
    help="Data sets of pictures and videos: what to get, archives unpacked, whether a folder is whole, tables of `datasets`, "
    "Parquet.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

SHOWN = 20

NAMES = "psg, visual_genome, vg150, ssg or fgov; of videos pvsg, vidor, vipseg or svg2_test"
Name = Annotated[str, typer.Argument(help=f"{NAMES}.", show_default=False)]
Folder = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder that holds the files under their published names.")
]
Config = Annotated[str | None, typer.Option(help="Config; the first that `sgeval data info NAME` lists by default.")]
Images = Annotated[Path | None, typer.Option(help="Folder of the pictures, where they are not below --data-dir.")]
WithImages = Annotated[
    bool, typer.Option(help="Whether rows have pictures; of videos, whether their files are looked for.")
]
WithMasks = Annotated[
    bool, typer.Option("--with-masks", help="A mask for each object (psg, vipseg, and the config masks of pvsg).")
]
WithVideo = Annotated[bool, typer.Option("--with-video", help="Clips, in data sets of videos.")]
Missing = Annotated[str, typer.Option(help="Pictures that are not there: error, or null.")]
Reader = Annotated[
    list[str] | None,
    typer.Option(
        "--reader", help="Option of the reader as KEY=VALUE, e.g. val_rule=with_boxes; JSON or text; repeatable."
    ),
]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        help="drop_empty, dedupe=triplet, dedupe=pair_random:SEED, only_listed_predicates, drop_crowd, clip_boxes, "
        "visible_only, or a step on the spans of videos; repeatable, applied in order.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


@data_app.command()
@ends_well
def info(
    name: Annotated[str | None, typer.Argument(help=f"{NAMES}; all by default.", show_default=False)] = None,
    data_dir: Folder = None,
    config: Config = None,
    image_dir: Images = None,
    with_images: WithImages = True,
    with_masks: WithMasks = False,
    with_video: WithVideo = False,
    reader: Reader = None,
    as_json: AsJson = False,
) -> None:
    """Say what a data set is made of and where to get it; with --data-dir, whether a folder is whole.

    A folder is read through: counts are held against the published ones, sizes and sums too where they are known, and
    pictures that are missing or empty are listed by id. --with-masks decodes each mask of a video and holds its ids against
    the record's, --with-video opens each clip and does so with its size, rate and length. Exit code 2 when something is
    amiss. Nothing is downloaded.

    Examples: `sgeval data info` · `sgeval data info psg` · `sgeval data info psg --data-dir psg/ --with-masks`
    """
    from sgeval.data.inspect import inspect
    from sgeval.data.reading import data_set
    from sgeval.data.sets import DATA_SETS

    if name is None:
        _show_all(list(DATA_SETS.values()), as_json)
        return
    found = data_set(name)
    look = inspect(
        name,
        data_dir,
        config=config,
        image_dir=image_dir,
        with_images=with_images,
        with_masks=with_masks,
        with_video=with_video,
        **key_values(reader, "--reader"),
    )
    if as_json:
        print_json({**_facts(found), **look.as_dict()})
    else:
        _show(found, look)
    if look.faults:
        raise typer.Exit(BAD_INPUT)


@data_app.command()
@ends_well
def unpack(
    archives: Annotated[list[Path], typer.Argument(help="zip, tar, tar.gz, tar.bz2 or tar.xz.", show_default=False)],
    into: Annotated[Path, typer.Option(help="Folder to unpack into; it may hold other files.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Unpack archives that you downloaded: each gets into the folder whole, or not at all.

    Only regular files below the folder are written. Links, names that lead elsewhere, archives that are cut short,
    encrypted, or unpack to far more than they hold are refused in one line (exit code 2), and leave nothing behind. Files
    that are there stay: the same content is passed over, another is refused. After a kill the same command finishes.
    Archives inside an archive stay packed and are listed: unpack them next.

    Examples: `sgeval data unpack images.zip images2.zip --into vg/` · `sgeval data unpack train2017.zip val2017.zip --into
    psg/coco/`
    """
    from dataclasses import asdict

    from sgeval.archives import unpack as unpack_one

    done = []
    for archive in archives:
        one = unpack_one(archive, into)
        done.append(one)
        if not as_json:
            _show_unpacked(one)
    if as_json:
        print_json([asdict(one) for one in done])


@data_app.command()
@ends_well
def build(
    name: Name,
    data_dir: Folder = None,
    config: Config = None,
    image_dir: Images = None,
    with_images: WithImages = True,
    with_masks: WithMasks = False,
    with_video: WithVideo = False,
    missing_images: Missing = "error",
    cache_dir: Annotated[Path | None, typer.Option(help="Where to build; the cache of `datasets` by default.")] = None,
    num_proc: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse counts other than the published ones.")] = False,
    reader: Reader = None,
    filters: Filters = None,
    as_json: AsJson = False,
) -> None:
    """Build the tables of `datasets` ahead of time, so that `sgeval.load_dataset` with the same options finds them.

    Example: `sgeval data build psg --data-dir psg/ --num-proc 8`
    """
    from sgeval.hub.data import make_builder

    builder = make_builder(
        name,
        config,
        data_dir=data_dir,
        image_dir=image_dir,
        with_images=with_images,
        with_masks=with_masks,
        with_video=with_video,
        missing_images=missing_images,
        cache_dir=cache_dir,
        reader=_reader(reader, filters),
    )
    builder.download_and_prepare(num_proc=num_proc, verification_mode="all_checks" if strict else None)
    counts = {split: entry.num_examples for split, entry in builder.info.splits.items()}
    if as_json:
        print_json({"folder": builder.cache_dir, "splits": counts})
    else:
        print(", ".join(f"{split} {number:,}" for split, number in counts.items()))
    say(f"Built in {builder.cache_dir}")


@data_app.command()
@ends_well
def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="Folder to write.", show_default=False)],
    data_dir: Folder = None,
    config: Config = None,
    image_dir: Images = None,
    with_images: WithImages = True,
    with_masks: WithMasks = False,
    with_video: WithVideo = False,
    missing_images: Missing = "error",
    shard_mb: Annotated[int, typer.Option(min=1, help="About how long a file may get, in MB before packing.")] = 500,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier export in --out.")] = False,
    push_to: Annotated[
        str | None, typer.Option(help="ORG/NAME: upload to the Hub afterwards. Nothing is uploaded without it.")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Make the repository public, where the licence grants it; else private.")
    ] = False,
    reader: Reader = None,
    filters: Filters = None,
    as_json: AsJson = False,
) -> None:
    """Write Parquet with pictures, class lists, pair vocabulary and card, for the Hub's viewer and plain `load_dataset`.

    The folder appears whole or not at all. Examples: `sgeval data export psg --data-dir psg/ --out psg-parquet` · `sgeval
    data export vg150 --data-dir vg/ --out vg150 --no-with-images --push-to me/vg150`
    """
    from sgeval.hub.export import export as write
    from sgeval.hub.export import push

    sizes = write(
        name,
        out,
        data_dir=data_dir,
        config=config,
        image_dir=image_dir,
        with_images=with_images,
        with_masks=with_masks,
        with_video=with_video,
        missing_images=missing_images,
        shard_bytes=shard_mb * 10**6,
        overwrite=overwrite,
        **_reader(reader, filters),
    )
    if as_json:
        print_json({"folder": str(out), "splits": {split: size.rows for split, size in sizes.items()}})
    else:
        print(", ".join(f"{split} {size.rows:,}" for split, size in sizes.items()))
    say(f'The export is in {out}; `datasets.load_dataset("{out}")` reads it')
    if push_to is not None:
        say(f"Uploaded to {push(out, push_to, private=not public)}")


@data_app.command()
@ends_well
def overlap(
    folders: Annotated[
        list[str], typer.Argument(help="NAME=DIR or NAME:CONFIG=DIR, for each data set.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the shared ids too, as JSON.")] = False,
) -> None:
    """Say which pictures data sets share, split by split, by their ids in Visual Genome and COCO.

    Example: `sgeval data overlap psg=psg/ vg150=vg/ visual_genome=vg/`
    """
    from dataclasses import asdict

    from sgeval.data.overlap import overlaps, part_of
    from sgeval.data.reading import config_of, data_set, read
    from sgeval.errors import SgevalError, shown
    from sgeval.progress import bar

    parts = []
    for entry in folders:
        label, mark, folder = entry.partition("=")
        if not mark or not folder:
            raise SgevalError(f"overlap: expected NAME=DIR, got {shown(entry)}")
        name, _, config = label.partition(":")
        found = data_set(name)
        config = config_of(found, config or None)
        for split in found.configs[config]:
            parts.append(part_of(found, split, bar(read(name, folder, config, split), f"{name} {split}", "record")))
    shared = overlaps(parts)
    if as_json:
        counts = {part.label: {"records": part.number, "vg": len(part.vg), "coco": len(part.coco)} for part in parts}
        print_json({"parts": counts, "overlaps": [asdict(entry) for entry in shared]})
        return
    from rich.console import Console
    from rich.table import Table

    numbers = {part.label: part.number for part in parts}
    table = Table(title="Pictures in both")
    for heading in ("left", "right", "by id of", "shared", "of left", "of right", "train and test"):
        table.add_column(heading, justify="right" if heading.startswith(("shared", "of")) else "left", no_wrap=True)
    for one in shared:
        count = len(one.ids)
        sides = [f"{count / max(1, numbers[side]):.1%}" for side in (one.left, one.right)]
        by = {"vg": "Visual Genome", "coco": "COCO"}[one.by]
        table.add_row(one.left, one.right, by, f"{count:,}", *sides, "yes" if one.crosses else "")
    Console(highlight=False).print(table if shared else "No picture is in two of them.")


def _reader(reader: list[str] | None, filters: list[str] | None) -> dict[str, Any]:
    """Options of the reader, the filters among them."""
    return {**key_values(reader, "--reader"), **({"filters": filters} if filters else {})}


def _show_unpacked(one: "Unpacked") -> None:
    from sgeval.errors import one_line

    def some(names: tuple[str, ...], most: int = 5) -> str:
        return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")

    how = "was unpacked before" if one.already else "unpacked"
    name, folder = one_line(one.archive), one_line(one.folder)
    print(f"{name}: {how}, {one.files:,} files of {one.bytes:,} bytes in {folder}: {some(one.top)}")
    if one.left_out:
        print(f"  left out {len(one.left_out):,} files of macOS: {some(one.left_out)}")
    if one.archives:
        print(f"  still packed, unpack them next: {some(one.archives)}")


def _facts(found: "DataSet") -> dict[str, Any]:
    return {
        "title": found.title,
        "configs": {config: list(splits) for config, splits in found.configs.items()},
        "pictures_from": found.pictures_from,
        "places": found.places(),
        "reader_options": found.options,
        "asks": found.asks,
        "licence": found.licence.words,
        "allows": found.licence.allows,
        "published": found.published,
        "known_faults": found.faults,
    }


def _show_all(every: "list[DataSet]", as_json: bool) -> None:
    if as_json:
        print_json({found.name: _facts(found) for found in every})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for heading in ("name", "data set", "configs: splits", "licence"):
        table.add_column(heading, no_wrap=heading == "name")
    for found in every:
        configs = "\n".join(f"{config}: {', '.join(splits)}" for config, splits in found.configs.items())
        table.add_row(found.name, found.title, configs, found.licence.hub_id)
    Console(highlight=False).print(table)
    say("`sgeval data info NAME` says what to get and from where")


def _show(found: "DataSet", look: "Inspection") -> None:
    """What is on record, then what was found in the folder."""
    from rich.console import Console
    from rich.markup import escape

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
        for what, paths in found.places().items():
            line(f"place     {what}: {' or '.join(paths)}, below --data-dir")
        if found.options:
            line(f"options   {', '.join(found.options)}, as --reader KEY=VALUE")
    for split in look.splits:
        published = f"published {split.published:,}" if split.published is not None else "no published count"
        line(f"{split.split:<9} {split.records:,} records, {split.distinct_ids:,} distinct ids ({published})")
    if look.splits:
        files = "pictures" if found.kind == "image" else "files"
        line(f"{files:<9} {look.n_pictures:,} there, {len(look.missing_pictures):,} missing or empty")
    names = ("picture", "map") if found.kind == "image" else ("file", "mask")
    for what, missing_files in zip(names, (look.missing_pictures, look.missing_maps)):
        for image_id, file_name in missing_files[:SHOWN]:
            line(f"  missing {what} of {image_id}: {file_name}", "yellow")
        if len(missing_files) > SHOWN:
            line(f"  … and {len(missing_files) - SHOWN:,} more; --json lists all")
    for oddity in look.oddities:
        frame = "" if oddity.frame is None else f", frame {oddity.frame}"
        first = f"; first in {oddity.ids[0]}{frame}"
        line(f"odd       {oddity.count:,} {oddity.what}, in {len(oddity.ids):,} videos{first}", "yellow")
    if look.data_dir is None:
        for fault in found.faults:
            line(f"known     {fault}")
    for fault in look.faults:
        line(f"amiss     {fault}", "red")
    if look.data_dir is not None and not look.faults:
        line("nothing amiss", "green")
