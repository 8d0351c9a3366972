"""VG150 (the 150 classes and 50 predicates of Visual Genome) as its files say it: every row, nothing dropped.

The form. `VG-SGG-with-attri.h5` holds arrays over N boxes, M relations and I pictures: `labels` (N, 1), `boxes_1024` (N, 4)
`[xc, yc, w, h]` of a picture whose longer side is 1024, `attributes` (N, 10) with 0 for none, `predicates` (M, 1),
`relationships` (M, 2) (subject and object, as rows of the boxes), `img_to_first_box`, `img_to_last_box`,
`img_to_first_rel`, `img_to_last_rel` (I) with the last one included and -1 for none, and `split` (I): 0 train, 2 test.
`VG-SGG.h5` has no attributes. `VG-SGG-dicts-with-attri.json` names labels, predicates and attributes, which count from 1.
Row i belongs to entry i of `image_data.json`, once the four pictures of `CORRUPTED` are taken out of it; which picture
files exist plays no part.

Boxes. xc is x + floor(w / 2), on the scale of 1024. `reference` decodes it as the published code does: xc - w / 2, cut
towards zero to a whole number, so the left edge of a box of odd width comes out one unit too small (that of x = 0 does
not); published numbers rest on it. `exact` takes xc - floor(w / 2). Both then divide by 1024 and multiply by the longer
side. Boxes may reach past the shorter side.

Left out are `boxes_512` (the same boxes, coarser) and `active_object_mask` (the objects that relations name).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sgeval import strict_json
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.readers import hdf5
from sgeval.readers.image_data import Picture, read_pictures
from sgeval.readers.place import Place
from sgeval.records import Box, Object, Relation, SceneGraph

if TYPE_CHECKING:
    import numpy as np

Vg150Config = Literal["reference", "exact"]
ValRule = Literal["with_relations", "with_boxes"]

CONFIGS = ("reference", "exact")
SPLITS = ("train", "val", "test")
VAL_RULES = ("with_relations", "with_boxes")
H5_FILES = ("VG-SGG-with-attri.h5", "VG-SGG.h5")
DICTIONARY = "VG-SGG-dicts-with-attri.json"
CORRUPTED = ("1592", "1722", "4616", "4617")
N_VAL = 5000
IMAGE_DATA = ("image_data.json", "image_data.json.zip")
H5_BYTES = 150_724_042
"""How long the first of `H5_FILES` is as published."""
PUBLISHED = f"; {H5_FILES[0]} was published with {H5_BYTES:,} bytes"
WHERE = "https://github.com/KaihuaTang/Scene-Graph-Benchmark.pytorch/blob/master/DATASET.md"

TRAIN, TEST = 0, 2


@dataclass(frozen=True, slots=True)
class Vg150Classes:
    """The class lists of VG150, counted from 0 as `category_id` and `predicate_id` are (the files count from 1)."""

    categories: tuple[str, ...]
    predicates: tuple[str, ...]
    attributes: tuple[str, ...]


class Files(NamedTuple):
    """The files of a folder that belong together; the dictionary may be the one of this package."""

    h5: Path
    dictionary: Path | None
    image_data: Path


def read_vg150(
    data_dir: str | Path,
    split: str | None = None,
    *,
    config: Vg150Config = "reference",
    val_rule: ValRule = "with_relations",
    n_val: int = N_VAL,
) -> Iterator[SceneGraph]:
    """Scene graphs of a folder that holds `VG-SGG-with-attri.h5` (else `VG-SGG.h5`) and `image_data.json`, in row order.

    Names come from `VG-SGG-dicts-with-attri.json` of the folder, else from the copy that comes with this package.

    "test" is the rows whose split is 2. "val" is the first `n_val` rows of split 0 that have a box and, by
    `val_rule="with_relations"`, a relation; "with_boxes" is what the published code takes when pictures without relations
    are kept, and is another set. "train" is all other rows of split 0. `split=None` gives all rows. Rows without boxes
    or relations are all kept (`sgeval.readers.filters.drop_empty` drops them, as the published code does).

    `config` is how boxes are decoded (see the module). They come out as `(x, y, width, height)` in pixels, unclipped. An
    object's id is its position, attributes are names, `extra` holds what `image_data.json` says besides the size.

    Raises `SgevalError`: at once for an unknown name and for files that are not there; before the first record, for an h5
    file that is cut short, is no plain HDF5 file of whole numbers or whose arrays or indices do not fit together; while
    reading, for a label or predicate that the dictionary does not name.

    >>> read_vg150(".", "validation")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: split: expected one of train, val, test, got "validation"; did you mean "val"?
    """
    one_of("config", config, CONFIGS)
    if split is not None:
        one_of("split", split, SPLITS)
    one_of("val_rule", val_rule, VAL_RULES)
    if type(n_val) is not int or n_val < 0:
        raise SgevalError(f"n_val: expected a number of pictures, got {shown(n_val)}")
    return _graphs(find(Path(data_dir)), split, config, val_rule, n_val)


def vg150_classes(data_dir: str | Path | None = None) -> Vg150Classes:
    """The class lists of a folder's dictionary, else (and without a folder) of the one that comes with this package.

    >>> classes = vg150_classes()
    >>> classes.categories[0], classes.predicates[0], classes.attributes[0]
    ('airplane', 'above', 'white')
    """
    path = Path(data_dir) / DICTIONARY if data_dir is not None else None
    return _classes(path if path and path.is_file() else None)


def find(folder: Path) -> Files:
    """The files of a folder. Raises `SgevalError`."""
    expected = f"{H5_FILES[0]} or {H5_FILES[1]}, and image_data.json"
    if not folder.is_dir():
        raise SgevalError(
            f'data_dir: expected a folder that holds {expected} (from {WHERE}), got "{one_line(str(folder))}"'
        )

    def first(*names: str) -> Path | None:
        return next((folder / name for name in names if (folder / name).is_file()), None)

    h5, image_data = first(*H5_FILES), first(*IMAGE_DATA)
    if h5 is None or image_data is None:
        there = [path.name for path in (h5, first(DICTIONARY), image_data) if path]
        got = f"only {', '.join(there)}" if there else "none of them"
        raise SgevalError(f"{folder}: expected {expected} (from {WHERE}), got {got}")
    return Files(h5, first(DICTIONARY), image_data)


def _graphs(found: Files, split: str | None, config: str, val_rule: str, n_val: int) -> Iterator[SceneGraph]:
    classes = _classes(found.dictionary)
    rows = _Rows(found.h5)
    pictures = _pictures(found.image_data, found.h5, len(rows.split))
    for row in rows.chosen(split, val_rule, n_val):
        yield _graph(rows, row, pictures[row], classes, config)


def _pictures(path: Path, h5: Path, n_rows: int) -> list[Picture]:
    """The entries that the rows belong to."""
    pictures = [picture for picture in read_pictures(path) if picture.image_id not in CORRUPTED]
    if len(pictures) != n_rows:
        expected = f"{n_rows} pictures besides {', '.join(CORRUPTED)}, one for each row of {h5.name}"
        raise SgevalError(f"{path}: expected {expected}, got {len(pictures)}")
    for picture in pictures:
        if picture.width is None or picture.height is None:
            place = f"{path}: the entry of image_id {shown(picture.image_id)}"
            raise SgevalError(f"{place}: expected a width and a height, which boxes are scaled by, got none")
    return pictures


class _Rows:
    """The arrays of an h5 file, whose shapes and indices fit together."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with hdf5.opened(path, PUBLISHED) as root:
            self.split = hdf5.whole_numbers(root, "split", path, (None,))
            n_images = len(self.split)
            self.labels = hdf5.whole_numbers(root, "labels", path, (None, 1))
            n_boxes = len(self.labels)
            self.boxes = hdf5.whole_numbers(root, "boxes_1024", path, (n_boxes, 4))
            self.predicates = hdf5.whole_numbers(root, "predicates", path, (None, 1))
            n_relations = len(self.predicates)
            self.ends = hdf5.whole_numbers(root, "relationships", path, (n_relations, 2))
            self.attributes = (
                hdf5.whole_numbers(root, "attributes", path, (n_boxes, None)) if hdf5.has(root, "attributes") else None
            )
            self.first_box, self.last_box = self._ranges(root, "box", n_images, n_boxes)
            self.first_relation, self.last_relation = self._ranges(root, "rel", n_images, n_relations)
        self._within("boxes_1024", self.boxes, -(2**31), 2**31 - 1)
        self._within("relationships", self.ends, 0, n_boxes - 1)
        for row in (self.split != TRAIN).nonzero()[0]:
            if self.split[row] != TEST:
                raise SgevalError(f"{path}: split[{row}]: expected 0 (train) or 2 (test), got {self.split[row]}")

    def _ranges(self, root: Any, what: str, n_images: int, n_entries: int) -> "tuple[np.ndarray[Any, Any], ...]":
        names = (f"img_to_first_{what}", f"img_to_last_{what}")
        first, last = (hdf5.whole_numbers(root, name, self.path, (n_images,)) for name in names)
        for name, array in zip(names, (first, last)):
            self._within(name, array, -1, n_entries - 1)
        first, last = first.astype("int64"), last.astype("int64")
        for row in (((first == -1) != (last == -1)) | (first > last)).nonzero()[0]:
            expected = f"-1 in {names[0]} and {names[1]}, or a first that is not after the last"
            raise SgevalError(f"{self.path}: row {row}: expected {expected}, got {first[row]} and {last[row]}")
        if (total := int((last - first + 1)[first >= 0].sum())) > n_entries:
            expected = f"each entry in one row, {n_entries} in all"
            raise SgevalError(f"{self.path}: {names[0]}, {names[1]}: expected {expected}, got {total}")
        return first, last

    def _within(self, name: str, array: "np.ndarray[Any, Any]", least: int, most: int) -> None:
        for index in zip(*((array < least) | (array > most)).nonzero()):
            where = "".join(f"[{step}]" for step in index)
            expected = f"a whole number from {least} to {most}"
            raise SgevalError(f"{self.path}: {name}{where}: expected {expected}, got {array[index]}")

    def chosen(self, split: str | None, val_rule: str, n_val: int) -> list[int]:
        """The rows of a split, in order."""
        if split is None:
            return list(range(len(self.split)))
        if split == "test":
            return [*map(int, (self.split == TEST).nonzero()[0])]
        eligible = (self.split == TRAIN) & (self.first_box >= 0)
        if val_rule == "with_relations":
            eligible &= self.first_relation >= 0
        val = [*map(int, eligible.nonzero()[0][:n_val])]
        if split == "val":
            return val
        taken = set(val)
        return [row for row in map(int, (self.split == TRAIN).nonzero()[0]) if row not in taken]

    def boxes_of(self, row: int) -> slice:
        """Where the boxes of a picture stand."""
        first, last = int(self.first_box[row]), int(self.last_box[row])
        return slice(first, last + 1) if first >= 0 else slice(0, 0)

    def relations_of(self, row: int) -> slice:
        """Where the relations of a picture stand."""
        first, last = int(self.first_relation[row]), int(self.last_relation[row])
        return slice(first, last + 1) if first >= 0 else slice(0, 0)


def _graph(rows: _Rows, row: int, picture: Picture, classes: Vg150Classes, config: str) -> SceneGraph:
    boxes, relations = rows.boxes_of(row), rows.relations_of(row)
    place = f"{rows.path}: row {row} (image_id {shown(picture.image_id)})"
    longer = max(picture.width or 0, picture.height or 0)
    labels = rows.labels[boxes, 0].tolist()
    attributes = rows.attributes[boxes].tolist() if rows.attributes is not None else [()] * len(labels)
    objects = []
    for position, (label, box, numbers) in enumerate(zip(labels, rows.boxes[boxes].tolist(), attributes)):
        at = f"{place}: object {position}"
        objects.append(
            Object(
                id=position,
                category=_name(label, classes.categories, at, "labels"),
                bbox=_box(box, longer, config),
                category_id=label - 1,
                attributes=tuple(_name(number, classes.attributes, at, "attributes") for number in numbers if number),
            )
        )
    return SceneGraph(
        image_id=picture.image_id,
        objects=tuple(objects),
        relations=tuple(
            _relation(position, ends, predicate, boxes, classes, f"{place}: relation {position}")
            for position, (ends, predicate) in enumerate(
                zip(rows.ends[relations].tolist(), rows.predicates[relations, 0].tolist())
            )
        ),
        file_name=picture.file_name,
        width=picture.width,
        height=picture.height,
        source="vg150",
        extra=picture.extra,
    )


def _relation(
    position: int, ends: list[int], predicate: int, boxes: slice, classes: Vg150Classes, place: str
) -> Relation:
    for end, box in zip(("subject", "object"), ends):
        if not boxes.start <= box < boxes.stop:
            expected = (
                f"a box of this picture ({boxes.start} to {boxes.stop - 1})"
                if boxes.stop
                else "a box of this picture (none)"
            )
            raise SgevalError(f"{place}: {end}: expected {expected}, got {box}")
    return Relation(
        subject_id=ends[0] - boxes.start,
        object_id=ends[1] - boxes.start,
        predicate=_name(predicate, classes.predicates, place, "predicates"),
        id=position,
        predicate_id=predicate - 1,
    )


def _name(number: int, names: tuple[str, ...], place: str, what: str) -> str:
    if not 1 <= number <= len(names):
        raise SgevalError(f"{place}: expected the number of one of the {len(names)} {what}, from 1 up, got {number}")
    return names[number - 1]


def _box(box: list[int], longer: int, config: str) -> Box:
    """A box in pixels from `[xc, yc, w, h]` on the scale of 1024."""
    x_centre, y_centre, width, height = box
    if config == "reference":
        left, top = int(x_centre - width / 2), int(y_centre - height / 2)  # int() cuts towards zero
    else:
        left, top = x_centre - width // 2, y_centre - height // 2
    return left / 1024 * longer, top / 1024 * longer, width / 1024 * longer, height / 1024 * longer


def read_dictionary(path: Path | None) -> tuple[Place, Any]:
    """A dictionary, without a path the one that comes with this package."""
    if path is not None:
        return Place(path), strict_json.read_file(path)
    place = Place(Path("vg150_classes.json"))
    return place, json.loads((files("sgeval.assets") / place.path.name).read_text(encoding="utf-8"))


def _classes(path: Path | None) -> Vg150Classes:
    place, whole = read_dictionary(path)
    return Vg150Classes(*(_table(place, whole, name) for name in ("label", "predicate", "attribute")))


def _table(place: Place, whole: Any, name: str) -> tuple[str, ...]:
    """The names that the numbers of `idx_to_…` stand for: 1, 2, … without a gap."""
    key = f"idx_to_{name}"
    table = place.at(key).checked(place.get(whole, key, "the names by number", object), "an object", dict)
    names = [table.get(str(number)) for number in range(1, len(table) + 1)]
    for number, text in enumerate(names, start=1):
        place.at(f'{key}["{number}"]').checked(text, "a name", str)
    back = whole.get(f"{name}_to_idx")
    if isinstance(back, dict) and back != {text: number for number, text in enumerate(names, start=1)}:
        raise SgevalError(f"{place.path}: expected {name}_to_idx to say the same as {key}, got another table")
    return tuple(map(str, names))
