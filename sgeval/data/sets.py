"""The data sets: what each is made of, where that comes from, who reads it, and what is known about it.

One frozen record a data set, all in `DATA_SETS`; those of videos come from `video_sets`. Nothing here knows the host library
`datasets`; `sgeval.hub` does.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from sgeval.data.facts import CITATIONS, FAULTS, LICENCES, WHERE
from sgeval.data.kinds import Classes, DataSet, SourceFile
from sgeval.data.video_sets import NO_LIST, VIDEO_SETS
from sgeval.formats import O365_PATHS
from sgeval.readers import fgov, psg, ssg, vg150, visual_genome
from sgeval.readers.fgov import read_fgov
from sgeval.readers.psg import psg_classes, read_psg
from sgeval.readers.ssg import read_ssg, ssg_classes
from sgeval.readers.vg150 import read_vg150, vg150_classes
from sgeval.readers.vg150_counts import strange_numbers
from sgeval.readers.visual_genome import VisualGenomeConfig, read_visual_genome
from sgeval.records import SceneGraph

DICTIONARY_SUM = "1255873ae0250555f59d20f8d1e5a4bdf22b331119502c850f765173b6963ca1"
"""SHA-256 of VG-SGG-dicts-with-attri.json as published."""


def _read_psg(data_dir: Path, split: str | None, config: psg.PsgConfig) -> Iterator[SceneGraph]:
    return read_psg(data_dir, split, config=config)


def _read_visual_genome(data_dir: Path, split: str | None, config: Literal["v1.4", "v1.0"]) -> Iterator[SceneGraph]:
    return read_visual_genome(data_dir, config=config)


def _visual_genome_columns(data_dir: Path, config: Any) -> Iterator[Any]:
    from sgeval.readers.visual_genome_columns import read_columns

    return read_columns(data_dir, config=config)


def _read_vg150(data_dir: Path, split: str | None, config: Any, **options: Any) -> Iterator[SceneGraph]:
    return read_vg150(data_dir, split, config=config, **options)


def _read_ssg(data_dir: Path, split: str | None, config: Any, **options: Any) -> Iterator[SceneGraph]:
    return read_ssg(data_dir, split, config=config, **options)


def _read_fgov(data_dir: Path, split: str | None, config: Any, **options: Any) -> Iterator[SceneGraph]:
    """FG-OV has no split of its own: "train" and "val" are those of the data set its pictures come from."""
    graphs = read_fgov(data_dir, config=config, **options)
    return (graph for graph in graphs if split is None or fgov_split(graph) == split)


def fgov_split(graph: SceneGraph) -> str:
    """The split of a record's picture in COCO or Objects365."""
    return "val" if str(graph.extra.get("data_split", "")).startswith("val") else "train"


def _psg_classes(data_dir: Path, config: Any) -> Classes:
    classes = psg_classes(data_dir, config=config)
    lists = {"categories": classes.categories, "predicates": classes.predicates}
    return {**lists, "things": classes.things, "stuff": classes.stuff}


def _vg150_classes(data_dir: Path, config: str) -> Classes:
    classes = vg150_classes(data_dir)
    return {
        "categories": classes.categories,
        "predicates": classes.predicates,
        "attributes": classes.attributes,
    }


def _ssg_classes(data_dir: Path, config: str) -> Classes:
    classes = ssg_classes(data_dir)
    return {
        "categories": classes.objects,
        "predicates": classes.predicates,
        "noun_roles": classes.noun_roles,
        "relation_roles": classes.relation_roles,
        "noun_values": classes.noun_values,
        "relation_values": classes.relation_values,
    }


def _open_classes(data_dir: Path, config: str) -> Classes:
    return {}


def _vg_file(stem: str, what: str, *, needed: bool = True) -> tuple[SourceFile, ...]:
    """A file of Visual Genome under the names of both releases."""
    configs: tuple[VisualGenomeConfig, ...] = get_args(VisualGenomeConfig)
    return tuple(
        SourceFile(visual_genome.file_names(stem, config), what, WHERE["vg"], (config,), needed) for config in configs
    )


DATA_SETS: dict[str, DataSet] = {
    "psg": DataSet(
        name="psg",
        title="PSG (Panoptic Scene Graph)",
        configs=psg.SPLITS,
        read=_read_psg,
        classes=_psg_classes,
        pictures={"": ("{file_name}", "coco/{file_name}", "images/{file_name}")},
        panoptic=("{file_name}", "coco/{file_name}", "images/{file_name}"),
        examples={"pictures": "train2017/000000417720.jpg", "masks": "panoptic_train2017/000000417720.png"},
        pictures_from="COCO 2017, https://cocodataset.org/#download: train2017.zip (18 GB), val2017.zip (1 GB), and for "
        "masks panoptic_annotations_trainval2017.zip (821 MB), or coco.zip beside the annotations",
        files=(
            SourceFile(psg.FULL, "the full set", WHERE["psg"], ("full", "sgg_benchmark")),
            SourceFile((psg.TRAIN_VAL,), "46,697 records with truth", WHERE["psg"], ("competition",)),
            SourceFile((psg.VAL_TEST,), "val, and test without truth", WHERE["psg"], ("competition",)),
        ),
        licence=LICENCES["psg"],
        published={
            "full": {"train": 46_564, "test": 2_186},
            "competition": {"train": 45_697, "val": 1_000, "test": 1_177},
            "sgg_benchmark": {"train": 45_564, "val": psg.N_VAL, "test": 2_186},
        },
        faults=FAULTS["psg"],
        citation=CITATIONS["psg"],
        asks="The files lie on the authors' OneDrive and are to be fetched by hand",
        vg_id=lambda graph: graph.image_id,
        coco_id=lambda graph: graph.extra.get("coco_image_id"),
    ),
    "visual_genome": DataSet(
        name="visual_genome",
        title="Visual Genome",
        configs={config: ("train",) for config in visual_genome.FORMS},
        read=_read_visual_genome,
        columns=_visual_genome_columns,
        classes=_open_classes,
        pictures={"": ("{file_name}", "images/{file_name}")},
        examples={"pictures": "VG_100K_2/1.jpg"},
        pictures_from=WHERE["vg_pictures"],
        files=(
            *_vg_file("relationships", "relations"),
            *_vg_file("objects", "objects; attributes alone do too", needed=False),
            *_vg_file("attributes", "attributes; objects alone do too", needed=False),
            *_vg_file("image_data", "sizes, addresses and ids elsewhere"),
        ),
        licence=LICENCES["visual_genome"],
        published={"v1.4": {"train": 108_077}, "v1.0": {"train": 108_077}},
        faults=FAULTS["visual_genome"],
        citation=CITATIONS["visual_genome"],
        unfit=NO_LIST,
        vg_id=lambda graph: graph.image_id,
        coco_id=lambda graph: graph.extra.get("coco_id"),
    ),
    "vg150": DataSet(
        name="vg150",
        title="VG150 (150 classes and 50 predicates of Visual Genome)",
        configs={config: vg150.SPLITS for config in vg150.CONFIGS},
        read=_read_vg150,
        classes=_vg150_classes,
        pictures={"": ("{file_name}", "VG_100K/{name}", "images/{file_name}", "images/{name}")},
        examples={"pictures": "VG_100K_2/1.jpg"},
        pictures_from=WHERE["vg_pictures"],
        files=(
            SourceFile(
                vg150.H5_FILES,
                "boxes, relations, splits; the second without attributes",
                WHERE["vg150"],
                size=vg150.H5_BYTES,
            ),
            SourceFile(
                (vg150.DICTIONARY,),
                "names; a copy comes with sgeval",
                WHERE["vg150"],
                needed=False,
                size=18_482,
                sha256=DICTIONARY_SUM,
            ),
            SourceFile(vg150.IMAGE_DATA, "sizes, addresses and ids elsewhere", WHERE["vg150"]),
        ),
        licence=LICENCES["vg150"],
        published={config: {"train": 70_651, "val": vg150.N_VAL, "test": 32_422} for config in vg150.CONFIGS},
        faults=FAULTS["vg150"],
        citation=CITATIONS["vg150"],
        asks="The h5 file lies on a OneDrive and is to be fetched by hand",
        options=("val_rule", "n_val"),
        strange=strange_numbers,
        vg_id=lambda graph: graph.image_id,
        coco_id=lambda graph: graph.extra.get("coco_id"),
    ),
    "ssg": DataSet(
        name="ssg",
        title="SSG (Situational Scene Graph, on frames of Action Genome)",
        configs={config: ssg.SPLITS for config in get_args(ssg.SsgConfig)},
        read=_read_ssg,
        classes=_ssg_classes,
        pictures={"": ("frames/{file_name}",)},
        examples={"pictures": "VIDEO.mp4/000123.png"},
        pictures_from="frames dumped with tools/dump_frames.py of https://github.com/JingweiJ/ActionGenome from the 480p "
        "videos of Charades (https://prior.allenai.org/projects/charades, 13 GB)",
        files=tuple(
            SourceFile((name, f"data/{name}"), what, WHERE["ssg"], needed=needed)
            for name, what, needed in (
                (ssg.OBJECTS, "objects and relations of each frame", True),
                (ssg.PERSONS, "persons of each frame", True),
                (ssg.OBJECT_CLASSES, "names of classes", True),
                (ssg.PREDICATES, "names of predicates", True),
                (ssg.ROLES, "names of roles; for class lists only", False),
                (ssg.NOUN_VALUES, "values of roles; for class lists only", False),
                (ssg.RELATION_VALUES, "values of roles; for class lists only", False),
            )
        ),
        licence=LICENCES["ssg"],
        published={"default": {"all": 25_500}},
        faults=FAULTS["ssg"],
        citation=CITATIONS["ssg"],
        asks="The files lie on a Google Drive and are to be fetched by hand; the videos have terms of their own",
        options=("exclude", "videos", "keep"),
        lists=("exclude", "videos", "keep"),
        leaves_unsplit=True,
    ),
    "fgov": DataSet(
        name="fgov",
        title="FG-OV (fine-grained, open-vocabulary relations on COCO and Objects365)",
        configs={config: ("train", "val") for config in fgov.DATASETS},
        read=_read_fgov,
        classes=_open_classes,
        pictures={"coco": ("coco/{file_name}",), "o365": ("object365/images/{file_name}",)},
        examples={
            "pictures:coco": "train2017/000000417720.jpg",
            "pictures:o365": "train/patch16/objects365_v2_00900001.jpg",
        },
        pictures_from="COCO 2017 (https://cocodataset.org/#download, 19 GB) or Objects365 (https://www.objects365.org, which "
        "asks for a form)",
        files=(
            SourceFile(("*.json",), "the annotations in the RLIPv2 form", WHERE["fgov"]),
            SourceFile((O365_PATHS,), "where pictures of Objects365 lie", WHERE["rlipv2"], ("o365",)),
        ),
        licence=LICENCES["fgov"],
        published={"coco": {"all": 122_218}, "o365": {"all": 80_000}},
        faults=FAULTS["fgov"],
        citation=CITATIONS["fgov"],
        unfit={**NO_LIST, "clip_boxes": "no file of it says how large a picture is"},
        asks=fgov.SOURCE,
        options=("data_files",),
        lists=("data_files",),
        coco_id=lambda graph: (
            Path(graph.file_name or "").stem if graph.extra.get("dataset") == fgov.DATASETS["coco"] else None
        ),
    ),
    **VIDEO_SETS,
}
