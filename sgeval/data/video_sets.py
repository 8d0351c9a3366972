"""The video data sets, as `sgeval.data.sets` has those of pictures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sgeval.data.facts import CITATIONS, FAULTS, LICENCES, WHERE
from sgeval.data.kinds import Classes, DataSet, SourceFile
from sgeval.readers import pvsg, vidor
from sgeval.records import VideoGraph


def _read_pvsg(data_dir: Path, split: str | None, config: Any) -> Iterator[VideoGraph]:
    return pvsg.read_pvsg(data_dir, split, config=config)


def _pvsg_classes(data_dir: Path, config: str) -> Classes:
    classes = pvsg.pvsg_classes(data_dir)
    lists = {"categories": classes.categories, "predicates": classes.predicates}
    return {**lists, "things": classes.things, "stuff": classes.stuff}


def _read_vidor(
    data_dir: Path, split: str | None, config: Any, part: tuple[int, int | None] | None = None
) -> Iterator[VideoGraph]:
    return vidor.read_vidor(data_dir, split, config=config, part=part)


def _count_vidor(data_dir: Path, split: str | None, config: str) -> int:
    return len(vidor.vidor_files(data_dir, split))


def _open_classes(data_dir: Path, config: str) -> Classes:
    return {}


VIDEO_SETS: dict[str, DataSet] = {
    "pvsg": DataSet(
        name="pvsg",
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
        leaves_unsplit=True,
    ),
    "vidor": DataSet(
        name="vidor",
        title="VidOR (objects and relations in videos)",
        kind="video",
        configs={config: vidor.SPLITS for config in ("annotations", "tracks")},
        read=_read_vidor,
        count=_count_vidor,
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
    ),
}
