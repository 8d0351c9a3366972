"""The video data sets, as `sgeval.data.sets` has those of pictures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sgeval.data.facts import CITATIONS, FAULTS, LICENCES, WHERE
from sgeval.data.kinds import Classes, DataSet, SourceFile
from sgeval.readers import pvsg
from sgeval.records import VideoGraph


def _read_pvsg(data_dir: Path, split: str | None, config: Any) -> Iterator[VideoGraph]:
    return pvsg.read_pvsg(data_dir, split, config=config)


def _pvsg_classes(data_dir: Path, config: str) -> Classes:
    classes = pvsg.pvsg_classes(data_dir)
    lists = {"categories": classes.categories, "predicates": classes.predicates}
    return {**lists, "things": classes.things, "stuff": classes.stuff}


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
}
