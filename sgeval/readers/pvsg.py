"""PVSG (Panoptic Video Scene Graph) as its file says it: every video, in file order, nothing dropped and nothing repaired.

The form. One JSON object: `objects` (the class lists `thing` and `stuff`), `relations` (names of predicates), `split`
(`{source: {train: [id], val: [id]}}`; the sources are vidor, epic_kitchen and ego4d) and `data`. A record of `data` holds
`video_id`, `meta` (height, width, fps, duration in seconds, num_frames), `objects` (object_id, category, is_thing, status),
`relations` (`[subject_id, object_id, name, [[start, end], …]]`) and `captions`, `qa_pairs`, `summary`. Spans are numbers of
frames, from 0, both ends inside. Frames and masks are `<source>/frames/<video_id>/0000.png` and `<source>/masks/…`, beside
`<source>/videos/<video_id>.mp4`; a mask is a palette PNG whose value is the object_id, 0 is nothing.

The record. Ids are those of the file; `category_id` counts through the things, then the stuff, `predicate_id` through
`relations`; -1 is a name outside the list, of which the published file has some. The source is the one that `split` names; a
video that no split names has none, and so no files. In `extra`: `captions`, `qa_pairs`, `summary`, `/objects/N/status`
where it is not empty, whatever else the file says, and the flags of `sgeval.readers.flags`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from sgeval import strict_json
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.readers.flags import relation_flags
from sgeval.readers.place import MOST_FRAMES, Place, is_kind, is_number, quoted
from sgeval.readers.video_form import Once, rate, records_of, video_id_of, whole_number
from sgeval.records import Object, Relation, VideoGraph
from sgeval.spans import to_seconds

PvsgConfig = Literal["annotations", "frames", "masks"]

FILES = ("pvsg.json", "data/pvsg.json", "pvsg_sample.json")
SPLITS = ("train", "val")
SOURCES = ("vidor", "epic_kitchen", "ego4d")
TEXTS = ("captions", "qa_pairs", "summary")
KNOWN = {
    "": ("video_id", "meta", "objects", "relations", *TEXTS),
    "meta": ("height", "width", "fps", "duration", "num_frames"),
    "objects": ("object_id", "category", "is_thing"),
}


@dataclass(frozen=True, slots=True)
class PvsgClasses:
    """The class lists of a PVSG file. A category_id is a position in `categories`, a predicate_id in `predicates`."""

    things: tuple[str, ...]
    stuff: tuple[str, ...]
    predicates: tuple[str, ...]

    @property
    def categories(self) -> tuple[str, ...]:
        """Things, then stuff."""
        return self.things + self.stuff


def read_pvsg(
    data_dir: str | Path,
    split: str | None = None,
    *,
    config: PvsgConfig = "annotations",
    faults: list[str] | None = None,
) -> Iterator[VideoGraph]:
    """The videos of a folder that holds `pvsg.json` (itself or in `data/`), in file order.

    `split`: "train" (338 as published) or "val" (62), of all three sources; `None` gives all videos, those that no split
    names too. `config="frames"` names the frames of each video, `"masks"` its masks as well: `num_frames` names, counted
    from 0000.png, below the folder of the file. Whether the files are there is not looked at. `faults`: see
    `video_form.records_of`.

    Raises `SgevalError`: at once for an unknown config or split and for a file that is not there; while reading, for a
    file that is not in the PVSG form, with file, video, what was expected and what stands there.

    >>> read_pvsg(".", "test")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: split: expected one of train, val, or none, got "test"
    """
    one_of("config", config, get_args(PvsgConfig))
    if split is not None:
        one_of("split", split, SPLITS, ", or none")
    return _read(_file(Path(data_dir)), split, config, faults)


def pvsg_classes(data_dir: str | Path) -> PvsgClasses:
    """The class lists that the ids of `read_pvsg` count in. Raises `SgevalError` as `read_pvsg`."""
    return _Source(_file(Path(data_dir))).classes


def pvsg_unmet(data_dir: str | Path) -> list[str]:
    """The videos that `split` names and that have no record, in its order. Raises `SgevalError` as `read_pvsg`."""
    source = _Source(_file(Path(data_dir)))
    with_record = {*source.video_ids}
    return [name for name in source.split_of if name not in with_record]


def _file(folder: Path) -> Path:
    expected = f"{' or '.join(FILES)}, from https://huggingface.co/datasets/Jingkang/PVSG"
    if not folder.is_dir():
        raise SgevalError(f"data_dir: expected a folder that holds {expected}, got {one_line(str(folder))}")
    found = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if found is None:
        raise SgevalError(f"{folder}: expected {expected}, got none of them")
    return found


def _read(path: Path, split: str | None, config: str, faults: list[str] | None) -> Iterator[VideoGraph]:
    source = _Source(path)
    chosen = (
        index
        for index, video_id in enumerate(source.video_ids)
        if split is None or source.split_of.get(video_id, (None, None))[1] == split
    )
    yield from records_of(lambda index: source.graph(index, config), chosen, faults)


class _Source:
    """The parsed file. Ids and splits are checked when it is opened, a video when its record is built."""

    def __init__(self, path: Path) -> None:
        self.place = place = Place(path)
        whole = strict_json.read_file(path)
        if not isinstance(whole, dict) or not isinstance(whole.get("data"), list):
            got = f"an object with the keys {shown(list(whole))}" if isinstance(whole, dict) else shown(whole)
            raise SgevalError(f"{path}: expected a PVSG file (an object with a list data), got {got}")
        self.data: list[Any] = whole["data"]
        objects = place.get(whole, "objects", "an object with the lists thing and stuff", dict)
        lists = [(place.at(".objects"), objects, key) for key in ("thing", "stuff")]
        self.classes = PvsgClasses(*(_names(*found) for found in (*lists, (place, whole, "relations"))))
        self.category_ids = _ranks(self.classes.categories)
        self.predicate_ids = _ranks(self.classes.predicates)
        self.split_of = _splits(place, whole)
        videos = Once()
        self.video_ids = [
            videos.add(video_id_of(place.at(f"data[{index}]"), record), f"{path}: data[{index}]")
            for index, record in enumerate(self.data)
        ]

    def graph(self, index: int, config: str) -> VideoGraph:
        """The record at a position of `data`."""
        record, video_id = self.data[index], self.video_ids[index]
        place = self.place.at(f"data[{index}] (video_id {shown(video_id)})")
        source = self.split_of.get(video_id, (None, None))[0]
        meta = _Meta.of(place.at(".meta"), place.get(record, "meta", "an object", dict))
        extra = {
            **{key: place.at(f".{key}").any_json(record[key]) for key in TEXTS if key in record},
            **place.rest("", record, KNOWN[""]),
            **place.at(".meta").rest("/meta", record["meta"], KNOWN["meta"]),
        }
        objects = place.get(record, "objects", "a list of objects", list)
        built = tuple(self._object(place.at(f".objects[{at}]"), item) for at, item in enumerate(objects))
        for at, item in enumerate(objects):
            kept = {key: value for key, value in item.items() if (key, value) != ("status", [])}
            extra |= place.at(f".objects[{at}]").rest(f"/objects/{at}", kept, KNOWN["objects"])
        ids = {item.id for item in built}
        if len(ids) < len(built):
            raise place.at(".objects").fault("each object_id once", [item.id for item in built])
        rows = place.get(record, "relations", "a list of relations", list)
        relations = tuple(
            self._relation(place.at(f".relations[{at}]"), at, row, ids, meta.fps) for at, row in enumerate(rows)
        )
        folders = {"annotations": (), "frames": ("frames",), "masks": ("frames", "masks")}[config] if source else ()
        files = {
            name: tuple(f"{source}/{name}/{video_id}/{number:04d}.png" for number in range(meta.num_frames))
            for name in folders
        }
        return VideoGraph(
            video_id=video_id,
            objects=built,
            relations=relations,
            file_name=f"{source}/videos/{video_id}.mp4" if source else None,
            width=meta.width,
            height=meta.height,
            source=source,
            fps=meta.fps,
            num_frames=meta.num_frames,
            duration=meta.duration,
            frame_files=files.get("frames"),
            mask_files=files.get("masks"),
            mask_encoding="palette_object_id" if "masks" in files else None,
            span_unit="frame",
            span_end="inclusive",
            extra={
                **extra,
                **_flags(source, meta),
                **relation_flags(relations, end="inclusive", length=meta.num_frames),
            },
        )

    def _object(self, place: Place, item: Any) -> Object:
        category = place.get(item, "category", "a text", str)
        return Object(
            id=place.at(".object_id").number_id(place.get(item, "object_id", "a whole number", int)),
            category=category,
            category_id=self.category_ids.get(category, -1),
            is_thing=place.get(item, "is_thing", "true or false", bool),
        )

    def _relation(self, place: Place, position: int, row: Any, ids: set[int], fps: float) -> Relation:
        if not isinstance(row, list) or len(row) != 4 or not isinstance(row[2], str) or not isinstance(row[3], list):
            raise place.fault("[subject_id, object_id, name, [[start, end], …]]", row)
        for step in (0, 1):
            if not is_kind(row[step], int) or row[step] not in ids:
                raise place.at(f"[{step}]").fault(f"the object_id of one of the {len(ids)} objects", row[step])
        raw = tuple(_span(place.at(f"[3][{at}]"), span) for at, span in enumerate(row[3]))
        return Relation(
            row[0],
            row[1],
            row[2],
            id=position,
            predicate_id=self.predicate_ids.get(row[2], -1),
            spans=to_seconds(raw, unit="frame", end="inclusive", fps=fps),
            raw_spans=raw,
        )


@dataclass(frozen=True, slots=True)
class _Meta:
    """What a record says of its clip."""

    width: int | None
    height: int | None
    fps: float
    num_frames: int
    duration: float | None

    @classmethod
    def of(cls, place: Place, meta: Mapping[str, Any]) -> "_Meta":
        """The checked `meta` of a record."""
        fps, num_frames = rate(place, meta), whole_number(place, meta, "num_frames", 0, MOST_FRAMES)
        duration = meta.get("duration")
        if duration is not None and not (is_number(duration) and duration >= 0):
            raise place.at(".duration").fault("a number of seconds, or none", duration)
        width, height = (place.pixels(dict(meta), side) for side in ("width", "height"))
        return cls(width, height, fps, num_frames, None if duration is None else float(duration))


def _flags(source: str | None, meta: _Meta) -> dict[str, Any]:
    flags: dict[str, Any] = {} if source else {"/source/unlisted": True}
    seconds = meta.num_frames / meta.fps
    if meta.duration is not None and abs(meta.duration - seconds) > 1 / meta.fps:  # more than a frame apart
        flags["/duration/differs_from_frames"] = seconds
    return flags


def _splits(place: Place, whole: Any) -> dict[str, tuple[str, str]]:
    """Source and split of each video."""
    found: dict[str, tuple[str, str]] = {}
    by_source = place.get(whole, "split", "an object from source to train and val", dict)
    for source, by_split in by_source.items():
        at = place.at(f".split.{source}")
        for split in at.checked(by_split, "an object with the lists train and val", dict):
            for index, video_id in enumerate(at.get(by_split, split, "a list of ids", list)):
                here = at.at(f".{split}[{index}]")
                if source not in SOURCES:
                    hint = f" of video {shown(video_id)}"
                    raise place.at(".split").fault(f"sources among {quoted(SOURCES)}", source, hint)
                if split not in SPLITS:
                    raise at.fault(f"splits among {quoted(SPLITS)}", split, f" of video {shown(video_id)}")
                if here.checked(video_id, "a text", str) in found:
                    first = "split {1} of {0}".format(*found[video_id])
                    raise here.fault("each video in one split", video_id, f", which is in the {first} too")
                found[video_id] = (source, split)
    return found


def _names(place: Place, owner: dict[str, Any], key: str) -> tuple[str, ...]:
    place.get(owner, key, "a list of names", list)
    return place.texts(owner, key)


def _ranks(names: Sequence[str]) -> dict[str, int]:
    """Position by name; of a name that stands twice, the first."""
    return {name: rank for rank, name in reversed([*enumerate(names)])}


def _span(place: Place, span: Any) -> tuple[float, float]:
    if not isinstance(span, list) or len(span) != 2 or not all(is_kind(end, int) and abs(end) < 2**31 for end in span):
        raise place.fault("[start, end] as two numbers of frames", span)
    return float(span[0]), float(span[1])
