"""Visual Genome as its files say it: every record, in file order, nothing dropped and nothing repaired.

The form (release 1.4). JSON lists with one record a picture. `objects.json`: `image_id`, `image_url` and `objects`, each with
`object_id`, `x`, `y`, `w`, `h` (left, top, width and height in pixels, some negative or outside the picture), and the
lists `names`, `synsets` and `merged_object_ids`. `relationships.json`: `image_id` and `relationships`, each with
`relationship_id`, `predicate`, `synsets` and the ends `subject` and `object`: an object written out, with `name` or
`names`, sometimes with `merged_object_ids`. `attributes.json`: the objects again under `attributes`, each with a list
`attributes` or without. `image_data.json`: `image_id`, `url`, `width`, `height`, `coco_id`, `flickr_id`. Release 1.0
says `id` and `object_names`.

An end of a relation is an object by its id; an id that no object of the picture has is looked up in the
`merged_object_ids` of objects and ends alike. What an end says beyond its object (another box, a name or synset more, the
id before merging) stands in the graph's `extra` under `/relations/N/subject` or `/relations/N/object`; box and names of
the object hold. An end whose object is nowhere becomes an object after those of the file, and
`extra["/objects/N/found_in"]` says where it was found (`relationships[3].subject`). A second object with the id of another
stays, `extra["/objects/N/repeats"]` names the first (`objects[0]`), and relations mean the first.

Pictures whose size, folder or file is wrong in the published files are read as the files have them.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sgeval import strict_json
from sgeval.errors import SgevalError, shown
from sgeval.readers import fields
from sgeval.readers.image_data import Picture, file_name, read_pictures
from sgeval.readers.json_records import read_records
from sgeval.records import Box, Object, Relation, SceneGraph

VisualGenomeConfig = Literal["v1.4", "v1.0"]

LARGEST_SIDE = 2**53  # whole numbers up to here are exact as floats
HOME = "https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/"


class _Form(NamedTuple):
    """How a release names things: its files, and the keys to try, first found wins."""

    endings: tuple[tuple[str, ...], ...]
    """What stands before `.json`, in groups: files of one group go together."""
    image_id: tuple[str, ...]
    object_id: tuple[str, ...]
    relation_id: tuple[str, ...]
    names: tuple[str, ...]
    hint: str = ""


FORMS: dict[str, _Form] = {
    "v1.4": _Form(
        endings=(("", "_v1_4", "_v1.4"),),
        image_id=("image_id",),
        object_id=("object_id",),
        relation_id=("relationship_id",),
        names=("names", "name"),
        hint=' (release 1.0 is read with config="v1.0")',
    ),
    "v1.0": _Form(
        endings=(("_v1_0", "_v1.0", "_v1"), ("",)),
        image_id=("id", "image_id", "image"),
        object_id=("id", "object_id"),
        relation_id=("id", "relationship_id"),
        names=("object_names", "names", "name"),
    ),
}


class _Files(NamedTuple):
    objects: Path | None
    attributes: Path | None
    relationships: Path
    image_data: Path


class _Record(NamedTuple):
    """A picture's record in one of the files."""

    number: int
    place: str
    image_id: str
    value: Mapping[str, Any]
    text: str


def read_visual_genome(data_dir: str | Path, *, config: VisualGenomeConfig = "v1.4") -> Iterator[SceneGraph]:
    """Scene graphs of a folder that holds the Visual Genome files under their published names.

    Looked for are `relationships`, `objects`, `attributes` and `image_data` with the endings `.json` and `.json.zip`, plain
    or with the version in the name (`objects_v1_4.json.zip`); a name without a version is the first choice of "v1.4" and
    the last of "v1.0". One of objects and attributes may be missing. There is no official split.

    The order is that of `objects.json` (else `attributes.json`); pictures that only the other files have follow. Records
    of one picture are joined by its id: a repeated id by its first, second, … record in each file. A picture without an
    entry in `image_data.json` has no size, and an entry there alone makes no record.

    `category` is an object's first name ("" without any), `names` all of them, raw as the predicates are. Boxes come out as
    `(x, y, width, height)` in absolute pixels, unclipped, or None. `file_name` is `VG_100K/…` or `VG_100K_2/…` as the
    address says. `extra` holds `url`, `coco_id`, `flickr_id`, and what the module says by JSON pointer.

    Memory holds one record of each file, `image_data.json`, and, zipped, what came too early when the files differ in order.

    Raises `SgevalError`: at once for an unknown config and for files that are not there; while reading, for a file that is
    not in the form, with file, record, what was expected and what stands there.

    >>> read_visual_genome(".", config="v2")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: config: expected one of "v1.4", "v1.0", got "v2"
    """
    if config not in FORMS:
        raise SgevalError(f"config: expected one of {fields.quoted(FORMS)}, got {shown(config)}")
    return _graphs(_find(Path(data_dir), config), FORMS[config])


def _find(folder: Path, config: str) -> _Files:
    expected = "relationships.json, objects.json or attributes.json, and image_data.json (or each as .json.zip)"
    if not folder.is_dir():
        raise SgevalError(f"data_dir: expected a folder that holds {expected} from {HOME}, got {shown(str(folder))}")

    def there(stem: str, endings: tuple[str, ...]) -> Path | None:
        names = (f"{stem}{ending}{suffix}" for ending in endings for suffix in (".json", ".json.zip"))
        return next((folder / name for name in names if (folder / name).is_file()), None)

    endings = FORMS[config].endings
    every = tuple(ending for group in endings for ending in group)
    image_data = there("image_data", (*every, ""))
    for group in endings:
        objects, attributes, relationships = (there(stem, group) for stem in ("objects", "attributes", "relationships"))
        if relationships and image_data and (objects or attributes):
            return _Files(objects, attributes, relationships, image_data)
    stems = ("relationships", "objects", "attributes", "image_data")
    found = [path.name for stem in stems if (path := there(stem, every))]
    got = f"only {', '.join(found)}" if found else "none of them"
    raise SgevalError(f'{folder}: expected {expected} for the config "{config}", from {HOME}, got {got}')


def _graphs(files: _Files, form: _Form) -> Iterator[SceneGraph]:
    pictures = {picture.image_id: picture for picture in read_pictures(files.image_data, form.image_id, form.hint)}
    beside = [_Beside(path, form) for path in (files.relationships, files.attributes if files.objects else None)]
    relationships, attributes = beside
    for record in _records(files.objects or files.attributes, form):
        image_id = record.image_id
        yield _Graph(record, relationships.take(image_id), attributes.take(image_id), form).graph(pictures)
    for record in relationships.rest():
        yield _Graph(None, record, attributes.take(record.image_id), form).graph(pictures)
    for record in attributes.rest():
        yield _Graph(None, None, record, form).graph(pictures)


def _records(path: Path | None, form: _Form) -> Iterator[_Record]:
    for index, (text, value) in enumerate(read_records(path) if path else ()):
        image_id = fields.text_id(*_first(value, form.image_id, f"{path}: record {index}", "the id of a picture", form))
        yield _Record(index, f"{path}: record {index} (image_id {shown(image_id)})", image_id, value, text)


def _first(value: Mapping[str, Any], keys: tuple[str, ...], place: str, what: str, form: _Form) -> tuple[Any, str]:
    """What stands under the first of the keys that is there, and its place."""
    for key in keys:
        if key in value:
            return value[key], f"{place}.{key}"
    raise fields.absent(f"{place}.{keys[0]}", what, form.hint)


class _Beside:
    """A file that is read alongside another one. Records that come before their turn wait as zipped text."""

    def __init__(self, path: Path | None, form: _Form) -> None:
        self.records = _records(path, form)
        self.waiting: dict[str, list[tuple[int, str, bytes]]] = {}

    def take(self, image_id: str) -> _Record | None:
        """The next record of a picture."""
        early = self.waiting.get(image_id)
        if early:
            entry = early.pop(0)
            if not early:
                del self.waiting[image_id]
            return _unpacked(image_id, entry)
        for record in self.records:
            if record.image_id == image_id:
                return record
            entry = (record.number, record.place, zlib.compress(record.text.encode(), 1))
            self.waiting.setdefault(record.image_id, []).append(entry)
        return None

    def rest(self) -> Iterator[_Record]:
        """What nobody took, in file order."""
        early = sorted((entry, image_id) for image_id, entries in self.waiting.items() for entry in entries)
        self.waiting = {}
        for entry, image_id in early:
            yield _unpacked(image_id, entry)
        yield from self.records


def _unpacked(image_id: str, entry: tuple[int, str, bytes]) -> _Record:
    number, place, packed = entry
    text = zlib.decompress(packed).decode()
    return _Record(number, place, image_id, strict_json.parse(text, place), text)


class _Graph:
    """One picture in the making, from its records in up to three files."""

    def __init__(
        self, objects: _Record | None, relationships: _Record | None, attributes: _Record | None, form: _Form
    ) -> None:
        self.form = form
        self.extra: dict[str, Any] = {}
        self.objects: list[Object] = []
        self.positions: dict[int, int] = {}
        """The position of the first object with an id."""
        self.attributes: dict[int, list[str]] = {}
        """What attributes.json adds, by position."""
        self.merged: dict[int, dict[int, None]] = {}
        """Of each object: the ids merged into it, in order of appearance."""
        self.merged_into: dict[int, int] = {}
        drives = objects or attributes
        self.image_id = (drives or relationships).image_id  # type: ignore[union-attr]
        self.url: str | None = None
        if drives is not None:
            self._take_objects(drives)
        if objects is not None and attributes is not None:
            self._take_attributes(attributes)
        self.relations = self._take_relations(relationships) if relationships is not None else ()

    def graph(self, pictures: Mapping[str, Picture]) -> SceneGraph:
        """The finished record."""
        picture = pictures.get(self.image_id) or Picture(self.image_id, file_name(self.url), None, None, {})
        extra = dict(picture.extra)
        if self.url is not None and self.url != extra.setdefault("url", self.url):
            extra["image_url"] = self.url
        return SceneGraph(
            image_id=self.image_id,
            objects=tuple(self._finished(position, item) for position, item in enumerate(self.objects)),
            relations=self.relations,
            file_name=picture.file_name,
            width=picture.width,
            height=picture.height,
            source="visual_genome",
            extra=extra | self.extra,
        )

    def _finished(self, position: int, item: Object) -> Object:
        first = self.positions[item.id] == position
        merged = tuple(self.merged.get(item.id, ())) if first else item.merged_ids
        more = tuple(self.attributes.get(position, ()))
        if merged == item.merged_ids and not more:
            return item
        return replace(item, merged_ids=merged, attributes=item.attributes + more)

    def _take_objects(self, record: _Record) -> None:
        key = "objects" if "objects" in record.value else "attributes"
        self.url = fields.text(record.value, "image_url", record.place)
        for index, entry in enumerate(fields.entries(record.value, key, record.place)):
            place = f"{record.place}.{key}[{index}]"
            self._add(self._object(entry, place))

    def _add(self, item: Object) -> None:
        position = len(self.objects)
        first = self.positions.setdefault(item.id, position)
        if first != position:
            self.extra[f"/objects/{position}/repeats"] = f"objects[{first}]"
        self.objects.append(item)
        self._merge(item.id, item.merged_ids)

    def _merge(self, owner: int, merged_ids: tuple[int, ...]) -> None:
        for merged_id in merged_ids:
            self.merged.setdefault(owner, {})[merged_id] = None
            self.merged_into.setdefault(merged_id, owner)

    def _take_attributes(self, record: _Record) -> None:
        """The attributes of objects that are already there. An entry whose object is nowhere is kept in `extra`."""
        homeless = []
        for index, entry in enumerate(fields.entries(record.value, "attributes", record.place)):
            item = self._object(entry, f"{record.place}.attributes[{index}]")
            self._merge(item.id, item.merged_ids)
            position = self.positions.get(self._root(item.id))
            if position is None:
                homeless.append(entry)
                continue
            self.attributes.setdefault(position, []).extend(item.attributes)
            if more := self._beyond(entry, item, self.objects[position]):
                self.extra.setdefault(f"/objects/{position}/in_attributes", []).append(more)
        if homeless:
            self.extra["attributes_without_object"] = homeless

    def _take_relations(self, record: _Record) -> tuple[Relation, ...]:
        rows = []
        for index, entry in enumerate(fields.entries(record.value, "relationships", record.place)):
            place = f"{record.place}.relationships[{index}]"
            row = fields.mapping(entry, place)
            for end in ("subject", "object"):
                if end not in row:
                    raise fields.absent(f"{place}.{end}", "an object written out")
            ends = tuple((row[end], self._object(row[end], f"{place}.{end}")) for end in ("subject", "object"))
            rows.append((row, place, ends))
        for _, _, ends in rows:
            for _, item in ends:
                self._merge(item.id, item.merged_ids)
        self._add_ends_without_object([[item for _, item in ends] for _, _, ends in rows])
        return tuple(self._relation(index, *row) for index, row in enumerate(rows))

    def _add_ends_without_object(self, rows: list[list[Object]]) -> None:
        found: dict[int, tuple[str, Object]] = {}
        for index, ends in enumerate(rows):
            for end, item in zip(("subject", "object"), ends):
                found.setdefault(item.id, (f"relationships[{index}].{end}", item))
        for object_id in list(found):
            root = self._root(object_id)
            if root not in self.positions:
                where, item = found[root]
                self.extra[f"/objects/{len(self.objects)}/found_in"] = where
                self._add(item)

    def _relation(self, index: int, row: Mapping[str, Any], place: str, ends: tuple[Any, ...]) -> Relation:
        ids = []
        for end, (entry, item) in zip(("subject", "object"), ends):
            ids.append(self._root(item.id))
            if more := self._beyond(entry, item, self.objects[self.positions[ids[-1]]]):
                self.extra[f"/relations/{index}/{end}"] = more
        relation_id, where = _first(row, self.form.relation_id, place, "the id of a relation", self.form)
        if "predicate" not in row:
            raise fields.absent(f"{place}.predicate", "a text")
        return Relation(
            subject_id=ids[0],
            object_id=ids[1],
            predicate=fields.text(row, "predicate", place) or "",
            id=fields.number_id(relation_id, where),
            synsets=fields.texts(row, "synsets", place),
        )

    def _root(self, object_id: int) -> int:
        """The object that an id stands for: its own, else the one it was merged into, however often."""
        seen: set[int] = set()
        while object_id not in self.positions and object_id not in seen and object_id in self.merged_into:
            seen.add(object_id)
            object_id = self.merged_into[object_id]
        for step in seen - {object_id}:  # so that long chains are walked once
            self.merged_into[step] = object_id
        return object_id

    def _beyond(self, entry: Mapping[str, Any], item: Object, owner: Object) -> dict[str, Any]:
        """What another mention of an object says beyond it. To say less, or the first name alone, is nothing beyond."""
        more = {}
        if item.id != owner.id:
            more["object_id"] = item.id
        if item.bbox is not None and item.bbox != owner.bbox:
            more |= {
                key: entry[key] for key, new, old in zip("xywh", item.bbox, owner.bbox or (None,) * 4) if new != old
            }
        if item.names != owner.names[: len(item.names)]:
            more |= {key: entry[key] for key in self.form.names if key in entry}
        if item.synsets != owner.synsets[: len(item.synsets)]:
            more["synsets"] = entry["synsets"]
        return more

    def _object(self, entry: Any, place: str) -> Object:
        entry = fields.mapping(entry, place)
        names = self._names(entry, place)
        return Object(
            id=fields.number_id(*_first(entry, self.form.object_id, place, "the id of an object", self.form)),
            category=names[0] if names else "",
            bbox=_box(entry, place),
            names=names,
            synsets=fields.texts(entry, "synsets", place),
            merged_ids=fields.number_ids(entry, "merged_object_ids", place),
            attributes=fields.texts(entry, "attributes", place),
        )

    def _names(self, entry: Mapping[str, Any], place: str) -> tuple[str, ...]:
        for key in self.form.names:
            if isinstance(entry.get(key), str):
                return (fields.text(entry, key, place) or "",)
            if key in entry:
                return fields.texts(entry, key, place)
        raise fields.absent(f"{place}.{self.form.names[0]}", "a list of texts")


def _box(entry: Mapping[str, Any], place: str) -> Box | None:
    get = entry.get
    sides = x, y, w, h = get("x"), get("y"), get("w"), get("h")
    if not type(x) is type(y) is type(w) is type(h) is int:  # as published
        if sides == (None, None, None, None):
            return None
        for key, side in zip("xywh", sides):
            if type(side) not in (int, float):
                raise fields.fault(f"{place}.{key}", "a number of pixels", side)
    for key, side in zip("xywh", sides):
        if not -LARGEST_SIDE < side < LARGEST_SIDE:  # type: ignore[operator]
            raise fields.fault(f"{place}.{key}", "a number of pixels", side)
    return float(x), float(y), float(w), float(h)  # type: ignore[arg-type]
