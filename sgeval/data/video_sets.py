"""The video data sets, as `sgeval.data.sets` has those of pictures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sgeval.data.facts import CITATIONS, FAULTS, LICENCES, PVSG_MD5, WHERE
from sgeval.data.filtering import FILTERS
from sgeval.data.kinds import Classes, DataSet, SourceFile
from sgeval.readers import pvsg, svg2_test, vidor, vipseg, vipseg_form
from sgeval.records import VideoGraph


def _read_pvsg(data_dir: Path, split: str | None, config: Any, **options: Any) -> Iterator[VideoGraph]:
    return pvsg.read_pvsg(data_dir, split, config=config, **options)


def _pvsg_unmet(data_dir: Path, config: str) -> list[str]:
    return pvsg.pvsg_unmet(data_dir)


def _pvsg_classes(data_dir: Path, config: str) -> Classes:
    classes = pvsg.pvsg_classes(data_dir)
    lists = {"categories": classes.categories, "predicates": classes.predicates}
    return {**lists, "things": classes.things, "stuff": classes.stuff}


def _read_vidor(data_dir: Path, split: str | None, config: Any, **options: Any) -> Iterator[VideoGraph]:
    return vidor.read_vidor(data_dir, split, config=config, **options)


def _count_vidor(data_dir: Path, split: str | None, config: str) -> int:
    return len(vidor.vidor_files(data_dir, split))


def _read_vipseg(data_dir: Path, split: str | None, config: Any, **options: Any) -> Iterator[VideoGraph]:
    return vipseg.read_vipseg(data_dir, split, config=config, **options)


def _count_vipseg(data_dir: Path, split: str | None, config: Any) -> int:
    return vipseg.count_vipseg(data_dir, split, config=config)


def _vipseg_unmet(data_dir: Path, config: Any) -> list[str]:
    return vipseg.vipseg_unmet(data_dir, config=config)


def _vipseg_classes(data_dir: Path, config: Any) -> Classes:
    classes = vipseg.vipseg_classes(data_dir, config=config)
    return {
        "categories": classes.names,
        "things": tuple(each.name for each in classes.by_id.values() if each.is_thing),
        "stuff": tuple(each.name for each in classes.by_id.values() if not each.is_thing),
    }


def _read_svg2_test(data_dir: Path, split: str | None, config: Any, **options: Any) -> Iterator[VideoGraph]:
    return svg2_test.read_svg2_test(data_dir, split, config=config, **options)


def _count_svg2_test(data_dir: Path, split: str | None, config: str) -> int:
    return svg2_test.count_svg2_test(data_dir, split)


def _open_classes(data_dir: Path, config: str) -> Classes:
    return {}


NO_LIST = {"only_listed_predicates": "no file of it holds a list of predicates"}
_NO_LENGTH = dict.fromkeys(("drop_spans_outside", "clip_spans"), "no file of it says how long a video is")
_OF_LISTS = "clips of the split train; those of the others are in `VIPSeg/val.txt` and `VIPSeg/test.txt`"

VIDEO_SETS: dict[str, DataSet] = {
    "pvsg": DataSet(
        name="pvsg",
        examples={
            "pictures": "vidor/frames/VIDEO/0000.png",
            "masks": "vidor/masks/VIDEO/0000.png",
            "clips": "vidor/videos/VIDEO.mp4",
        },
        title="PVSG (Panoptic Video Scene Graph)",
        kind="video",
        configs={config: pvsg.SPLITS for config in ("annotations", "frames", "masks")},
        read=_read_pvsg,
        classes=_pvsg_classes,
        pictures={"": ("{file_name}", "data/{file_name}")},
        panoptic=("{file_name}", "data/{file_name}"),
        with_maps=("masks",),
        clips=("{file_name}", "data/{file_name}"),
        pictures_from="<source>_videos.zip (Ego4D 3.8 GB, EpicKitchen 3.5 GB, VidOR 1.4 GB) and <source>_masks.zip (940, 742 "
        "and 353 MB) beside the annotations; unpack into vidor/, epic_kitchen/ and ego4d/, each with videos/ and "
        "masks/<video_id>/, and dump frames into frames/<video_id>/0000.png and on, as "
        "https://github.com/LilyDaytoy/OpenPVSG shows",
        files=(SourceFile(pvsg.FILES, "annotations and class lists, 3.9 MB", WHERE["pvsg"]),),
        licence=LICENCES["pvsg"],
        published={config: {"train": 338, "val": 62} for config in ("annotations", "frames", "masks")},
        faults=FAULTS["pvsg"],
        citation=CITATIONS["pvsg"],
        tracked={"masks": "with_masks"},
        md5=PVSG_MD5,
        leaves_unsplit=True,
        unmet=_pvsg_unmet,
    ),
    "vidor": DataSet(
        name="vidor",
        examples={"clips": "0000/VIDEO.mp4"},
        title="VidOR (objects and relations in videos)",
        kind="video",
        configs={config: vidor.SPLITS for config in ("annotations", "tracks")},
        read=_read_vidor,
        count=_count_vidor,
        files_each=vidor.vidor_files,
        classes=_open_classes,
        pictures={},
        clips=("video/{file_name}", "{file_name}"),
        pictures_from="training-video-part1.zip and on, and validation-video.zip, beside the annotations; unpack into video/",
        files=(
            SourceFile(
                tuple(f"annotation/{folder}/*/*.json" for folder in vidor.FOLDERS.values()),
                "annotations, a file a video; of either split or of both",
                WHERE["vidor"],
            ),
        ),
        licence=LICENCES["vidor"],
        published={config: {"train": 7_000, "val": 835} for config in ("annotations", "tracks")},
        faults=FAULTS["vidor"],
        citation=CITATIONS["vidor"],
        unfit=NO_LIST,
        tracked={"tracks": ""},
    ),
    "vipseg": DataSet(
        name="vipseg",
        examples={
            "pictures:720p": "VIPSeg_720P/images/CLIP/00000020.jpg",
            "pictures:raw": "imgs/CLIP/00000020.jpg",
            "masks:720p": "VIPSeg_720P/panomasksRGB/CLIP/00000020.png",
            "masks:raw": "panomasks/CLIP/00000020.png",
        },
        title="VIPSeg (video panoptic segmentation in the wild)",
        kind="video",
        configs=vipseg.SPLITS,
        read=_read_vipseg,
        count=_count_vipseg,
        classes=_vipseg_classes,
        pictures={"": ("VIPSeg/{file_name}", "{file_name}")},
        panoptic=("VIPSeg/{file_name}", "{file_name}"),
        pictures_from="imgs/ of the same archive; for 720p the images/ that change2_720p.py makes of it",
        files=(
            SourceFile(
                tuple(f"{folder}VIPSeg_720P/panoptic_gt_VIPSeg*.json" for folder in ("", "VIPSeg/")),
                "segments of each frame, and classes; panomasksRGB/ beside it",
                f"the archive that is linked at {WHERE['vipseg_code']}, by the scripts there: change2_720p.py, "
                "create_panoptic_video_labels.py, splitjson.py",
                ("720p",),
            ),
            SourceFile(
                vipseg_form.LISTS,
                f"{_OF_LISTS}, where the file above is one for all splits",
                WHERE["vipseg"],
                ("720p",),
                needed=False,
            ),
            SourceFile(vipseg_form.LISTS, _OF_LISTS, WHERE["vipseg"], ("raw",)),
            SourceFile(vipseg_form.CATEGORIES, "classes", WHERE["vipseg_code"], ("raw",)),
            SourceFile(
                ("VIPSeg/panomasks/*/*.png", "panomasks/*/*.png"),
                "masks of train and val; imgs/ beside them",
                WHERE["vipseg"],
                ("raw",),
            ),
        ),
        listed={"raw": ("VIPSeg/imgs/*", "imgs/*", "VIPSeg/panomasks/*", "panomasks/*")},
        licence=LICENCES["vipseg"],
        published={"720p": {"train": 2_806, "val": 343}, "raw": {"train": 2_806, "val": 343, "test": 387}},
        faults=FAULTS["vipseg"],
        citation=CITATIONS["vipseg"],
        unfit=dict.fromkeys(FILTERS, "it has no relations"),
        asks="The archive lies on a Google Drive and is to be fetched by hand",
        options=("fps",),
        keeps_count=("fps",),
        leaves_unsplit=True,
        unmet=_vipseg_unmet,
    ),
    "svg2_test": DataSet(
        name="svg2_test",
        examples={"clips": "sav/VIDEO.mp4"},
        title="SVG2 test (Synthetic Visual Genome 2, the part verified by people)",
        kind="video",
        configs={config: svg2_test.SPLITS for config in ("annotations", "masks")},
        read=_read_svg2_test,
        count=_count_svg2_test,
        classes=_open_classes,
        pictures={},
        clips=("videos/{file_name}", "{file_name}"),
        clip_rates={"vipseg": 6.0},
        pictures_from="the sources, into videos/<part>/<video_id>.mp4: for vipseg the frames of VIPSeg at 720p "
        "(https://github.com/VIPSeg-Dataset/VIPSeg-Dataset), made into clips of 6 frames a second; for sav SA-V "
        "(https://ai.meta.com/datasets/segment-anything-video-downloads/, on request)",
        files=(
            SourceFile((svg2_test.DATA,), "objects and relations of each video", WHERE["svg2"]),
            SourceFile((svg2_test.MASKS,), "masks of each object in each frame", WHERE["svg2"], ("masks",)),
        ),
        licence=LICENCES["svg2_test"],
        published={config: {"test": 100} for config in ("annotations", "masks")},
        faults=FAULTS["svg2_test"],
        citation=CITATIONS["svg2_test"],
        options=("fps",),
        keeps_count=("fps",),
        unfit={**NO_LIST, **_NO_LENGTH},
        tracked={"masks": "fps"},
    ),
}
