"""VIPSeg (panoptic masks of videos in the wild) as its files say it: every clip, nothing dropped and nothing repaired.

Config `raw` is the published form (`VIPSeg/{train,val,test}.txt`, `imgs/`, `panomasks/`; see `vipseg_raw`), `720p` the one
that the authors' scripts make of it (`VIPSeg_720P/`; see `vipseg_720p`). There are objects and no relations.

The record. The id of an object is the value of its pixels: in `raw` the value of the 16-bit mask, in `720p` R + 256 G + 65536
B. Ids hold within a clip. `category_id` counts from 0, one less than in raw masks; the class "others", 0 there, is nothing
here. `track` has a point for each frame that shows the object, without a box until the masks are asked for. Frames are .jpg
and masks .png of the same name, which is the number of the frame in the source, not 0, 1, 2. No file says how many frames a
second has: `fps` is null unless the option of this name says it. In `extra`: `/objects/N/areas`, in pixels, for each point of
the track (`720p`), whatever else a file says by JSON pointer, and the flags of `sgeval.readers.flags`: `stuff_as_thing`, a
value like 200 that makes an instance of a class of stuff; `thing_without_instance`; `/mask_files/missing`, frames without a
mask.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from sgeval.errors import one_of
from sgeval.readers.video_form import rate_option, records_of
from sgeval.readers.vipseg_720p import SPLITS as SPLITS_720P
from sgeval.readers.vipseg_720p import unmet_names, video_files, videos_of
from sgeval.readers.vipseg_form import SPLITS as SPLITS_RAW
from sgeval.readers.vipseg_form import Categories, read_categories
from sgeval.readers.vipseg_raw import raw_clips, read_raw
from sgeval.records import VideoGraph

VipsegConfig = Literal["720p", "raw"]

SPLITS = {"720p": SPLITS_720P, "raw": SPLITS_RAW}


def read_vipseg(
    data_dir: str | Path,
    split: str | None = None,
    *,
    config: VipsegConfig = "720p",
    fps: float | None = None,
    part: tuple[int, int | None] | None = None,
    faults: list[str] | None = None,
) -> Iterator[VideoGraph]:
    """The clips of a folder that holds `VIPSeg_720P/` (config `720p`) or `VIPSeg/` (config `raw`), or is the latter.

    `split`: "train" (2,806 clips as published), "val" (343) or, raw only, "test" (387, without masks); `None` gives all, and
    in `720p` those of a file that no list names too. `fps`: frames a second, which no file says; SVG2 plays the 720p frames
    at 6. `part` reads a stretch of the clips only. `raw` decodes each mask of a clip; one clip is in memory at a time.
    `faults`: see `video_form.records_of`.

    Raises `SgevalError`: at once for an unknown config, split or rate and for files that are not there; while reading, for
    what is not in the form, with file, video, what was expected and what stands there.

    >>> read_vipseg(".", "test")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: split: expected one of train, val, or none, got "test"
    """
    _check(config, split)
    fps = rate_option(fps)
    stretch = slice(*(part or (None,)))
    if config == "raw":
        return read_raw(Path(data_dir), raw_clips(Path(data_dir), split)[stretch], fps, faults)
    videos = videos_of(Path(data_dir), split)[stretch]
    return records_of(lambda found: found[0].graph(found[1], fps), videos, faults)


def count_vipseg(data_dir: str | Path, split: str | None = None, *, config: VipsegConfig = "720p") -> int:
    """How many clips `read_vipseg` gives. Raises `SgevalError` as it does."""
    _check(config, split)
    return len((raw_clips if config == "raw" else videos_of)(Path(data_dir), split))


def vipseg_unmet(data_dir: str | Path, *, config: VipsegConfig = "720p") -> list[str]:
    """The clips that lists of splits name and that have no record: of the config raw none, as its records are those of the
    lists. Raises `SgevalError` as `read_vipseg`."""
    _check(config, None)
    return [] if config == "raw" else unmet_names(Path(data_dir))


def vipseg_classes(data_dir: str | Path, *, config: VipsegConfig = "720p") -> Categories:
    """The classes that ids count in. Raises `SgevalError` as `read_vipseg`."""
    _check(config, None)
    return read_categories(Path(data_dir)) if config == "raw" else video_files(Path(data_dir))[0].categories


def _check(config: str, split: str | None) -> None:
    one_of("config", config, get_args(VipsegConfig))
    if split is not None:
        one_of("split", split, SPLITS[config], ", or none")
