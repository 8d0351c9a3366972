"""PSG (Panoptic Scene Graph) as its files say it: every record, in file order, nothing dropped and nothing repaired.

The form. One JSON object: `data`, `thing_classes`, `stuff_classes`, `predicate_classes`, `test_image_ids`. A record of
`data` holds `image_id` (the Visual Genome id), `coco_image_id`, `file_name` and `pan_seg_file_name` (below the COCO
root), `width`, `height`, and three lists: `segments_info` (id in the panoptic PNG, category_id, isthing, iscrowd,
area), `annotations` (bbox `[x0, y0, x1, y1]` in pixels, category_id; the n-th belongs to the n-th segment, by position
alone) and `relations` (`[subject, object, predicate]`: two positions among the segments and one in
`predicate_classes`). All counting starts at 0; a category_id counts through the things, then the stuff. Should a
segment name another class than its box, the box decides and the segment's id is kept in `extra`.

Repeated triplets, several predicates on one pair, pictures without relations, crowd segments and repeated image ids are
all in the published files, and are all kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sgeval import strict_json
from sgeval.errors import SgevalError, shown
from sgeval.records import Box, Object, Relation, SceneGraph

PsgConfig = Literal["full", "competition"]

FULL = ("psg.json", "psg_sample.json")
TRAIN_VAL = "psg_train_val.json"
VAL_TEST = "psg_val_test.json"
SPLITS: dict[str, tuple[str, ...]] = {"full": ("train", "test"), "competition": ("train", "val", "test")}


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

    `split=None` gives all records; of the competition, the first file whole and then "test". Boxes come out as
    `(x, y, width, height)` in absolute pixels, unclipped; an object's id is its position, `segment_id` its id in the
    panoptic PNG, `extra` holds `coco_image_id`.

    Raises `SgevalError`: at once for an unknown config or split and for files that are not there; while reading, for a
    file that is not in the PSG form, with file, record, what was expected and what stands there.

    >>> read_psg(".", "validation")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: split: expected one of "train", "test" of the config "full", or none, got "validation"
    """
    if config not in SPLITS:
        raise SgevalError(f"config: expected one of {_quoted(SPLITS)}, got {shown(config)}")
    if split is not None and split not in SPLITS[config]:
        expected = f'one of {_quoted(SPLITS[config])} of the config "{config}", or none'
        raise SgevalError(f"split: expected {expected}, got {shown(split)}")
    files = _files(Path(data_dir), config)
    return _full(files[0], split) if config == "full" else _competition(files[0], files[1], split)


def read_psg_file(path: str | Path) -> Iterator[SceneGraph]:
    """All records of one file in the PSG form, whatever its name, in file order. Raises `SgevalError` as `read_psg`."""
    source = _Source(Path(path))
    for index in range(len(source.data)):
        yield source.graph(index)


def psg_classes(data_dir: str | Path, *, config: PsgConfig = "full") -> PsgClasses:
    """The class lists that the ids of `read_psg` with the same config count in. Raises `SgevalError` as `read_psg`."""
    if config not in SPLITS:
        raise SgevalError(f"config: expected one of {_quoted(SPLITS)}, got {shown(config)}")
    return _Source(_files(Path(data_dir), config)[0]).classes


def _full(path: Path, split: str | None) -> Iterator[SceneGraph]:
    source = _Source(path)
    for index, image_id in enumerate(source.image_ids):
        if split is None or (image_id in source.test_image_ids) == (split == "test"):
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
    expected = f"{FULL[0]} or {FULL[1]}" if config == "full" else f"{TRAIN_VAL} and {VAL_TEST}"
    if not folder.is_dir():
        raise SgevalError(f"data_dir: expected a folder that holds {expected}, got {shown(str(folder))}")
    there = [name for name in (*FULL, TRAIN_VAL, VAL_TEST) if (folder / name).is_file()]
    wanted = [name for name in there if name in FULL][:1] if config == "full" else [TRAIN_VAL, VAL_TEST]
    if wanted and set(wanted) <= set(there):
        return tuple(folder / name for name in wanted)
    got = f"only {', '.join(there)}" if there else "none of the PSG files"
    raise SgevalError(f'{folder}: expected {expected} for the config "{config}", got {got}')


class _Source:
    """One parsed file. The heads of all records are checked when it is opened, a record's lists when it is built."""

    def __init__(self, path: Path) -> None:
        self.path = path
        whole = strict_json.read_file(path)
        if not isinstance(whole, dict) or not isinstance(whole.get("data"), list):
            got = f"an object with the keys {shown(list(whole))}" if isinstance(whole, dict) else shown(whole)
            raise SgevalError(f"{path}: expected a PSG file (an object with a list data), got {got}")
        self.data: list[Any] = whole["data"]
        self.classes = PsgClasses(
            *(self._texts(whole, key) for key in ("thing_classes", "stuff_classes", "predicate_classes"))
        )
        self.categories = self.classes.categories
        self.test_image_ids = {str(entry) for entry in self._get(whole, "test_image_ids", "", "a list of ids", list)}
        self.image_ids = [self._image_id(record, f"data[{index}]") for index, record in enumerate(self.data)]

    def graph(self, index: int) -> SceneGraph:
        """The record at a position of `data`."""
        record, image_id = self.data[index], self.image_ids[index]
        place = f"data[{index}] (image_id {shown(image_id)})"
        segments = self._get(record, "segments_info", place, "a list of segments", list)
        boxes = self._get(record, "annotations", place, "a list of boxes", list)
        relations = self._get(record, "relations", place, "a list of relations", list)
        if len(boxes) != len(segments):
            expected = f"one box for each of the {len(segments)} segments_info"
            raise SgevalError(f"{self.path}: {place}.annotations: expected {expected}, got {len(boxes)}")
        extra = {"coco_image_id": record["coco_image_id"]} if record.get("coco_image_id") is not None else {}
        for position, (segment, box) in enumerate(zip(segments, boxes)):
            theirs = segment.get("category_id") if isinstance(segment, dict) else None
            if theirs is not None and isinstance(box, dict) and theirs != box.get("category_id"):
                extra[f"/objects/{position}/segment_category_id"] = theirs
        return SceneGraph(
            image_id=image_id,
            objects=tuple(self._object(at, *pair, place) for at, pair in enumerate(zip(segments, boxes))),
            relations=tuple(self._relation(at, row, len(segments), place) for at, row in enumerate(relations)),
            file_name=self._get(record, "file_name", place, "a text", str),
            width=self._get(record, "width", place, "a whole number of pixels", int),
            height=self._get(record, "height", place, "a whole number of pixels", int),
            source="psg",
            panoptic_file=self._get(record, "pan_seg_file_name", place, "a text", str),
            extra=extra,
        )

    def _object(self, position: int, segment: Any, box: Any, place: str) -> Object:
        at_segment, at_box = f"{place}.segments_info[{position}]", f"{place}.annotations[{position}]"
        names = self.categories
        category_id = self._index(
            self._get(box, "category_id", at_box, "a whole number", int), names, f"{at_box}.category_id", "classes"
        )
        area = self._get(segment, "area", at_segment, "a number of square pixels", (int, float))
        return Object(
            id=position,
            category=names[category_id],
            bbox=self._bbox(box, at_box),
            category_id=category_id,
            is_thing=self._flag(segment, "isthing", at_segment),
            iscrowd=self._flag(segment, "iscrowd", at_segment),
            area=float(area),
            segment_id=self._get(segment, "id", at_segment, "a whole number", int),
        )

    def _relation(self, position: int, row: Any, n_segments: int, place: str) -> Relation:
        place = f"{place}.relations[{position}]"
        if not isinstance(row, list) or len(row) != 3 or not all(_is(entry, int) for entry in row):
            raise self._fault(place, "[subject, object, predicate] as three whole numbers", row)
        subject_id = self._index(row[0], range(n_segments), f"{place}[0]", "segments")
        object_id = self._index(row[1], range(n_segments), f"{place}[1]", "segments")
        predicate_id = self._index(row[2], self.classes.predicates, f"{place}[2]", "predicates")
        return Relation(
            subject_id, object_id, self.classes.predicates[predicate_id], id=position, predicate_id=predicate_id
        )

    def _bbox(self, box: Mapping[str, Any], place: str) -> Box:
        mode = self._get(box, "bbox_mode", place, "0 (corners in pixels)", int)
        if mode != 0:
            raise self._fault(f"{place}.bbox_mode", "0 (corners in pixels)", mode)
        sides = self._get(box, "bbox", place, "four numbers [x0, y0, x1, y1]", list)
        if len(sides) != 4 or not all(_is(side, (int, float)) for side in sides):
            raise self._fault(f"{place}.bbox", "four numbers [x0, y0, x1, y1]", sides)
        left, top, right, bottom = map(float, sides)
        return left, top, right - left, bottom - top

    def _image_id(self, record: Any, place: str) -> str:
        image_id = self._get(record, "image_id", place, "a text or a whole number", (str, int))
        if not str(image_id).strip():
            raise self._fault(f"{place}.image_id", "a text that is not empty", image_id)
        return str(image_id)

    def _texts(self, whole: Mapping[str, Any], key: str) -> tuple[str, ...]:
        texts = self._get(whole, key, "", "a list of names", list)
        if not all(isinstance(text, str) for text in texts):
            raise self._fault(key, "a list of names", texts)
        return tuple(texts)

    def _flag(self, segment: Mapping[str, Any], key: str, place: str) -> bool:
        flag = self._get(segment, key, place, "0 or 1", (int, bool))
        if flag not in (0, 1):
            raise self._fault(f"{place}.{key}", "0 or 1", flag)
        return bool(flag)

    def _index(self, value: int, names: Sequence[Any], place: str, what: str) -> int:
        if not 0 <= value < len(names):
            raise self._fault(place, f"the index of one of the {len(names)} {what}", value)
        return value

    def _get(self, owner: Any, key: str, place: str, expected: str, kind: type | tuple[type, ...]) -> Any:
        """The value under a key, of the right kind."""
        if not isinstance(owner, dict):
            raise self._fault(place, "an object", owner)
        where = f"{place}.{key}" if place else key
        if key not in owner:
            raise SgevalError(f"{self.path}: {where}: expected {expected}, got nothing")
        if not _is(owner[key], kind):
            raise self._fault(where, expected, owner[key])
        return owner[key]

    def _fault(self, place: str, expected: str, value: object) -> SgevalError:
        return SgevalError(f"{self.path}: {place + ': ' if place else ''}expected {expected}, got {shown(value)}")


def _is(value: object, kind: type | tuple[type, ...]) -> bool:
    """`isinstance`, but true and false are no numbers unless asked for."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)


def _quoted(names: Mapping[str, Any] | Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
