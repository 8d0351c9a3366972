"""PSG (Panoptic Scene Graph) as its files say it: every record, in file order, nothing dropped and nothing repaired.

The form. One JSON object: `data`, `thing_classes`, `stuff_classes`, `predicate_classes`, `test_image_ids`. A record of
`data` holds `image_id` (the Visual Genome id), `coco_image_id`, `file_name` and `pan_seg_file_name` (below the COCO
root), `width`, `height`, and three lists: `segments_info` (id in the panoptic PNG, category_id, isthing, iscrowd,
area), `annotations` (bbox `[x0, y0, x1, y1]` in pixels, category_id; the n-th belongs to the n-th segment, by position
alone) and `relations` (`[subject, object, predicate]`: two positions among the segments and one in
`predicate_classes`). All counting starts at 0; a category_id counts through the things, then the stuff. Should a
segment name another class than its box, the box decides and the segment's id is kept in `extra`. Keys that the form does
not know are kept there too: of a record under `/KEY`, of the N-th segment and its box under `/objects/N/segments_info/KEY`
and `/objects/N/annotations/KEY`.

Repeated triplets, several predicates on one pair, pictures without relations, crowd segments and repeated image ids are
all in the published files, and are all kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sgeval import strict_json
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.readers.place import PIXELS, Place, is_kind
from sgeval.records import Box, Object, Relation, SceneGraph

PsgConfig = Literal["full", "competition", "sgg_benchmark"]

FULL = ("psg.json", "psg_sample.json")
TRAIN_VAL = "psg_train_val.json"
VAL_TEST = "psg_val_test.json"
RECORD = (
    "file_name", "height", "width", "image_id", "pan_seg_file_name", "coco_image_id", "segments_info", "annotations",
    "relations",
)  # fmt: skip
SEGMENT = ("id", "category_id", "iscrowd", "isthing", "area")
BOX = ("bbox", "bbox_mode", "category_id")
SPLITS: dict[str, tuple[str, ...]] = {
    "full": ("train", "test"),
    "competition": ("train", "val", "test"),
    "sgg_benchmark": ("train", "val", "test"),
}
N_VAL = 1000
"""How many records `sgg_benchmark` takes for val."""


@dataclass(frozen=True, slots=True)
class PsgClasses:
    """The class lists of a PSG file. A category_id is a position in `categories`, a predicate_id in `predicates`."""

    things: tuple[str, ...]
    stuff: tuple[str, ...]
    predicates: tuple[str, ...]

    @property
    def categories(self) -> tuple[str, ...]:
        """Things, then stuff."""
        return self.things + self.stuff


def read_psg(data_dir: str | Path, split: str | None = None, *, config: PsgConfig = "full") -> Iterator[SceneGraph]:
    """Scene graphs of a folder that holds PSG files under their published names, in file order.

    `config="full"` reads `psg.json` (else `psg_sample.json`): the split "test" is the images named in `test_image_ids`
    (2,186 as published, 9 of them without relations), "train" is all others.

    `config="competition"` reads the two files of the challenge. "train" and "val" (1,000) are the images of
    `psg_train_val.json` outside and inside its `test_image_ids`, so val is a part of the full config's test split.
    "test" (1,177) is what `psg_val_test.json` holds beyond the other file; its relations were emptied by the publisher.

    `config="sgg_benchmark"` is how SGG-Benchmark and its copy on the Hub divide `psg.json`: "test" as in the full config,
    "val" the first 1,000 records of its train split, in file order, "train" the rest (45,564). With `filter_empty_rels`, its
    default, that code leaves out records without relations before it counts, so its val may reach further.

    `split=None` gives all records; of the competition, the first file whole and then "test". Boxes come out as
    `(x, y, width, height)` in absolute pixels, unclipped; an object's id is its position, `segment_id` its id in the
    panoptic PNG, `extra` holds `coco_image_id`.

    Raises `SgevalError`: at once for an unknown config or split and for files that are not there; while reading, for a
    file that is not in the PSG form, with file, record, what was expected and what stands there.

    >>> read_psg(".", "validation")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: split: expected one of train, test (of the config full), got "validation"
    """
    one_of("config", config, SPLITS)
    if split is not None:
        one_of("split", split, SPLITS[config], f" (of the config {config})")
    files = _files(Path(data_dir), config)
    if config == "competition":
        return _competition(files[0], files[1], split)
    return _full(files[0], split, N_VAL if config == "sgg_benchmark" else 0)


def read_psg_file(path: str | Path) -> Iterator[SceneGraph]:
    """All records of one file in the PSG form, whatever its name, in file order. Raises `SgevalError` as `read_psg`."""
    source = _Source(Path(path))
    for index in range(len(source.data)):
        yield source.graph(index)


def psg_classes(data_dir: str | Path, *, config: PsgConfig = "full") -> PsgClasses:
    """The class lists that the ids of `read_psg` with the same config count in. Raises `SgevalError` as `read_psg`."""
    one_of("config", config, SPLITS)
    return _Source(_files(Path(data_dir), config)[0]).classes


def _full(path: Path, split: str | None, n_val: int) -> Iterator[SceneGraph]:
    source = _Source(path)
    n_train = 0
    for index, image_id in enumerate(source.image_ids):
        part = "test"
        if image_id not in source.test_image_ids:
            part = "val" if n_train < n_val else "train"
            n_train += 1
        if split in (None, part):
            yield source.graph(index)


def _competition(train_val: Path, val_test: Path, split: str | None) -> Iterator[SceneGraph]:
    first = _Source(train_val)
    if split != "test":
        for index, image_id in enumerate(first.image_ids):
            if split is None or (image_id in first.test_image_ids) == (split == "val"):
                yield first.graph(index)
    if split in ("test", None):
        second, with_truth = _Source(val_test), set(first.image_ids)
        if second.classes != first.classes:
            raise SgevalError(f"{val_test}: expected the class lists of {train_val.name}, got others")
        for index, image_id in enumerate(second.image_ids):
            if image_id not in with_truth:
                yield second.graph(index)


def _files(folder: Path, config: str) -> tuple[Path, ...]:
    is_full = config != "competition"
    expected = f"{FULL[0]} or {FULL[1]}" if is_full else f"{TRAIN_VAL} and {VAL_TEST}"
    if not folder.is_dir():
        raise SgevalError(f'data_dir: expected a folder that holds {expected}, got "{one_line(str(folder))}"')
    there = [name for name in (*FULL, TRAIN_VAL, VAL_TEST) if (folder / name).is_file()]
    wanted = [name for name in there if name in FULL][:1] if is_full else [TRAIN_VAL, VAL_TEST]
    if wanted and set(wanted) <= set(there):
        return tuple(folder / name for name in wanted)
    got = f"only {', '.join(there)}" if there else "none of the PSG files"
    raise SgevalError(f'{folder}: expected {expected} for the config "{config}", got {got}')


class _Source:
    """One parsed file. The heads of all records are checked when it is opened, a record's lists when it is built."""

    def __init__(self, path: Path) -> None:
        self.place = place = Place(path)
        whole = strict_json.read_file(path)
        if not isinstance(whole, dict) or not isinstance(whole.get("data"), list):
            got = f"an object with the keys {shown(list(whole))}" if isinstance(whole, dict) else shown(whole)
            raise SgevalError(f"{path}: expected a PSG file (an object with a list data), got {got}")
        self.data: list[Any] = whole["data"]
        self.classes = PsgClasses(
            *(_names(place, whole, key) for key in ("thing_classes", "stuff_classes", "predicate_classes"))
        )
        self.categories = self.classes.categories
        self.test_image_ids = {str(entry) for entry in place.get(whole, "test_image_ids", "a list of ids", list)}
        self.image_ids = [place.at(f"data[{index}]").image_id(record) for index, record in enumerate(self.data)]

    def graph(self, index: int) -> SceneGraph:
        """The record at a position of `data`."""
        record, image_id = self.data[index], self.image_ids[index]
        place = self.place.at(f"data[{index}] (image_id {shown(image_id)})")
        segments = place.get(record, "segments_info", "a list of segments", list)
        boxes = place.get(record, "annotations", "a list of boxes", list)
        relations = place.get(record, "relations", "a list of relations", list)
        if len(boxes) != len(segments):
            raise place.at(".annotations").fault(f"one box for each of the {len(segments)} segments_info", len(boxes))
        coco_id = place.at(".coco_image_id").any_json(record.get("coco_image_id"))
        extra = {"coco_image_id": coco_id} if coco_id is not None else {}
        for position, (segment, box) in enumerate(zip(segments, boxes)):
            theirs = segment.get("category_id") if isinstance(segment, dict) else None
            if theirs is not None and isinstance(box, dict) and theirs != box.get("category_id"):
                at = place.at(f".segments_info[{position}].category_id")
                extra[f"/objects/{position}/segment_category_id"] = at.any_json(theirs)
        objects = tuple(self._object(at, *pair, place) for at, pair in enumerate(zip(segments, boxes)))
        extra |= place.rest("", record, RECORD)
        for position, pair in enumerate(zip(segments, boxes)):
            for key, item, known in zip(("segments_info", "annotations"), pair, (SEGMENT, BOX), strict=True):
                extra |= place.at(f".{key}[{position}]").rest(f"/objects/{position}/{key}", item, known)
        return SceneGraph(
            image_id=image_id,
            objects=objects,
            relations=tuple(
                self._relation(at, row, len(segments), place.at(f".relations[{at}]"))
                for at, row in enumerate(relations)
            ),
            file_name=place.get(record, "file_name", "a text", str),
            width=_side(place, record, "width"),
            height=_side(place, record, "height"),
            source="psg",
            panoptic_file=place.get(record, "pan_seg_file_name", "a text", str),
            extra=extra,
        )

    def _object(self, position: int, segment: Any, box: Any, place: Place) -> Object:
        at_segment, at_box = place.at(f".segments_info[{position}]"), place.at(f".annotations[{position}]")
        category_id = at_box.get(box, "category_id", "a whole number", int)
        _check_index(at_box.at(".category_id"), category_id, self.categories, "classes")
        area = at_segment.get(segment, "area", "a number of square pixels", (int, float))
        return Object(
            id=position,
            category=self.categories[category_id],
            bbox=_bbox(at_box, box),
            category_id=category_id,
            is_thing=_flag(at_segment, segment, "isthing"),
            iscrowd=_flag(at_segment, segment, "iscrowd"),
            area=float(area),
            segment_id=at_segment.get(segment, "id", "a whole number", int),
        )

    def _relation(self, position: int, row: Any, n_segments: int, place: Place) -> Relation:
        if not isinstance(row, list) or len(row) != 3 or not all(is_kind(entry, int) for entry in row):
            raise place.fault("[subject, object, predicate] as three whole numbers", row)
        predicates = self.classes.predicates
        for step, names, what in (
            (0, range(n_segments), "segments"), (1, range(n_segments), "segments"), (2, predicates, "predicates")
        ):  # fmt: skip
            _check_index(place.at(f"[{step}]"), row[step], names, what)
        return Relation(row[0], row[1], predicates[row[2]], id=position, predicate_id=row[2])


def _names(place: Place, whole: Any, key: str) -> tuple[str, ...]:
    names = place.get(whole, key, "a list of names", list)
    if not all(isinstance(name, str) for name in names):
        raise place.at(key).fault("a list of names", names)
    return tuple(names)


def _bbox(place: Place, box: Any) -> Box:
    mode = place.get(box, "bbox_mode", "0 (corners in pixels)", int)
    if mode != 0:
        raise place.at(".bbox_mode").fault("0 (corners in pixels)", mode)
    expected = "four numbers [x0, y0, x1, y1]"
    left, top, right, bottom = place.at(".bbox").numbers(place.get(box, "bbox", expected, list), 4, expected)
    return left, top, right - left, bottom - top


def _side(place: Place, record: Any, key: str) -> int | None:
    place.get(record, key, PIXELS, int)
    return place.pixels(record, key)


def _flag(place: Place, segment: Any, key: str) -> bool:
    flag = place.get(segment, key, "0 or 1", (int, bool))
    if flag not in (0, 1):
        raise place.at(f".{key}").fault("0 or 1", flag)
    return bool(flag)


def _check_index(place: Place, value: int, names: Sequence[Any], what: str) -> None:
    if not 0 <= value < len(names):
        raise place.fault(f"the index of one of the {len(names)} {what}", value)
