"""The commands of `sgeval data`: the data sets of the papers, from their original files."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sgeval.cli.ending import BAD_INPUT, ends_well, print_json, say
from sgeval.cli.flags import key_values

NAMES = "psg, visual_genome (vg), vg150, ssg or fgov; of videos pvsg, vidor, vipseg or svg2_test"
data_app = typer.Typer(
    help="Data sets of pictures and videos: what to get, archives unpacked, whether a folder is whole, tables of `datasets`, "
    f"Parquet. Names: {NAMES}.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

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
Missing = Annotated[str, typer.Option(help="Pictures that are not there, empty or broken: error, or null.")]
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
        "visible_only, or a step on the spans of videos; `sgeval data info NAME` lists those that a data set has. "
        "Repeatable, applied in order.",
    ),
]
Processes = Annotated[
    int,
    typer.Option(
        "--num-proc",
        min=1,
        help="Processes. They serve vidor, vipseg and svg2_test; the files of the others are read by one.",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse counts other than the published ones.")]
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
    num_proc: Processes = 1,
    reader: Reader = None,
    as_json: AsJson = False,
) -> None:
    """Say what a data set is made of and where to get it; with --data-dir, whether a folder is whole.

    A folder is read through: counts are held against the published ones, sizes and sums too where they are known; pictures
    and frames that are missing, empty or broken are listed by id, those of another size than annotated counted. --with-masks
    decodes each mask and holds its ids against the record's, --with-video opens each clip and does so with its size, rate,
    length and start. Exit code 2 when something is amiss. Nothing is downloaded.

    Examples: `sgeval data info` · `sgeval data info psg` · `sgeval data info psg --data-dir psg/ --with-masks`
    """
    from sgeval.cli.data_shown import facts, show, show_all
    from sgeval.data.inspect import inspect
    from sgeval.data.reading import data_set, known_name
    from sgeval.data.sets import DATA_SETS
    from sgeval.errors import SgevalError

    if name is None:
        given = {"--data-dir": data_dir, "--config": config, "--image-dir": image_dir, "--reader": reader}
        if flags := [flag for flag, value in given.items() if value is not None]:
            raise SgevalError(f"{', '.join(flags)}: expected the name of a data set with it, got none ({NAMES})")
        show_all(list(DATA_SETS.values()), as_json)
        return
    found = data_set(name := known_name(name))
    look = inspect(
        name,
        data_dir,
        config=config,
        image_dir=image_dir,
        with_images=with_images,
        with_masks=with_masks,
        with_video=with_video,
        num_proc=num_proc,
        **key_values(reader, "--reader"),
    )
    if as_json:
        print_json({**facts(found), **look.as_dict()})
    else:
        show(found, look)
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
    from sgeval.cli.data_shown import show_unpacked

    done = []
    for archive in archives:
        one = unpack_one(archive, into)
        done.append(one)
        if not as_json:
            show_unpacked(one)
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
    strict: Strict = False,
    reader: Reader = None,
    filters: Filters = None,
    as_json: AsJson = False,
) -> None:
    """Build the tables of `datasets` ahead of time, so that `sgeval.load_dataset` with the same options finds them.

    Example: `sgeval data build psg --data-dir psg/ --num-proc 8`
    """
    from sgeval.hub.data import hide_bars, make_builder

    if not sys.stderr.isatty():
        hide_bars()
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
    num_proc: Processes = 1,
    shard_mb: Annotated[int, typer.Option(min=1, help="About how long a file may get, in MB before packing.")] = 500,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier export in --out.")] = False,
    strict: Strict = False,
    push_to: Annotated[
        str | None,
        typer.Option(
            help="ORG/NAME: upload to the Hub afterwards; name, licence and login are checked before. Nothing is uploaded "
            "without it."
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Make the repository public, where the licence grants it; else private.")
    ] = False,
    reader: Reader = None,
    filters: Filters = None,
    as_json: AsJson = False,
) -> None:
    """Write Parquet with pictures, class lists, pair vocabulary and card, for the Hub's viewer and plain `load_dataset`.

    The folder appears whole or not at all. Labels are spelt as in the source, in the pair vocabulary too; readers of it take
    spellings of one label together. Examples: `sgeval data export psg --data-dir psg/ --out psg-parquet` · `sgeval
    data export vg150 --data-dir vg/ --out vg150 --no-with-images --push-to me/vg150`
    """
    from sgeval.cli.data_shown import written_words
    from sgeval.data.reading import data_set, known_name
    from sgeval.errors import SgevalError
    from sgeval.hub.card import null_parts
    from sgeval.hub.export import export as write
    from sgeval.hub.pushing import check_push, push

    name = known_name(name)
    has = {"with_images": with_images, "with_masks": with_masks, "with_video": with_video}
    if public and push_to is None:
        raise SgevalError("--public: expected --push-to ORG/NAME with it, got none")
    if push_to is not None:
        pictures = with_images and data_set(name).kind == "image"
        check_push(name, push_to, private=not public, has_media=pictures or with_masks or with_video)
    sizes = write(
        name,
        out,
        data_dir=data_dir,
        config=config,
        image_dir=image_dir,
        **has,
        missing_images=missing_images,
        shard_bytes=shard_mb * 10**6,
        num_proc=num_proc,
        overwrite=overwrite,
        strict=strict,
        **_reader(reader, filters),
    )
    if as_json:
        print_json({"folder": str(out), "splits": {split: size.rows for split, size in sizes.items()}})
    else:
        print(", ".join(f"{split} {size.rows:,}" for split, size in sizes.items()))
    say(written_words(name, config, null_parts(sizes), **has))
    say(f'The export is in {out}; `datasets.load_dataset("{out}")` reads it')
    if push_to is not None:
        say(f"Uploaded to {push(out, push_to, private=not public)}")


@data_app.command()
@ends_well
def overlap(
    folders: Annotated[
        list[str],
        typer.Argument(help="NAME=DIR or NAME:CONFIG=DIR, for each data set; coco=DIR for COCO.", show_default=False),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the shared ids too, as JSON.")] = False,
) -> None:
    """Say which pictures data sets share, split by split, by their ids in Visual Genome and COCO.

    The splits of COCO 2017 are compared as well: as the names of files of psg and fgov tell them ("val2017/…"), or with
    coco=DIR as the pictures or the annotations in that folder do. Example: `sgeval data overlap psg=psg/ visual_genome=vg/
    fgov=fgov/ coco=coco/`
    """
    from dataclasses import asdict

    from sgeval.cli.data_shown import show_overlaps
    from sgeval.data.coco import coco_ids
    from sgeval.data.overlap import COCO, coco_parts, overlaps, part_of
    from sgeval.data.reading import config_of, data_set, known_name, read
    from sgeval.errors import SgevalError, shown
    from sgeval.progress import bar

    parts, told, seen = [], None, set()
    for entry in folders:
        label, mark, folder = entry.partition("=")
        if not mark or not folder:
            raise SgevalError(f"overlap: expected NAME=DIR, got {shown(entry)}")
        name, _, config = label.partition(":")
        name = known_name(name)
        if label != COCO:
            config = config_of(data_set(name), config or None)
        if (name, config) in seen:
            raise SgevalError(f"overlap: expected each config of a data set once, got {shown(label)} again")
        seen.add((name, config))
        if label == COCO:
            told = coco_ids(folder)
            continue
        found = data_set(name)
        for split in found.configs[config]:
            graphs = bar(read(name, folder, config, split), f"{name} {split}", "record")
            parts.append(part_of(found, split, graphs, config))
    coco = coco_parts(parts, told)
    shared = overlaps([*parts, *coco])
    places = {key: part.split for part in coco for key in part.coco}
    counts: dict[str, dict[str, Any]] = {}
    for part in parts:
        splits = dict.fromkeys([*(one.split for one in coco), "unknown"], 0)
        for key in part.coco:
            splits[places.get(key, "unknown")] += 1
        counts[part.label] = {
            "records": part.number,
            "vg": len(part.vg),
            "coco": len(part.coco),
            "coco_splits": splits,
        }
    if as_json:
        print_json({"parts": counts, "overlaps": [asdict(entry) for entry in shared]})
        return
    numbers = {part.label: part.number for part in (*parts, *(coco if told else ()))}
    show_overlaps(shared, numbers)
    for label, facts in counts.items():
        if unknown := facts["coco_splits"]["unknown"]:
            say(
                f"{label}: of {unknown:,} of its {facts['coco']:,} pictures of COCO nothing tells the split; coco=DIR may"
            )


def _reader(reader: list[str] | None, filters: list[str] | None) -> dict[str, Any]:
    """Options of the reader, the filters among them."""
    return {**key_values(reader, "--reader"), **({"filters": filters} if filters else {})}
