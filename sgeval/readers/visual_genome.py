"""Visual Genome as its files say it: every record, in file order, nothing dropped and nothing repaired.

The form (release 1.4). JSON lists with one record a picture. `objects.json`: `image_id`, `image_url` and `objects`, each with
`object_id`, `x`, `y`, `w`, `h` (left, top, width and height in pixels, some negative or outside the picture), and the
lists `names`, `synsets` and `merged_object_ids`. `relationships.json`: `image_id` and `relationships`, each with
`relationship_id`, `predicate`, `synsets` and the ends `subject` and `object`: an object written out, with `name` or
`names`, sometimes with `merged_object_ids`. `attributes.json`: the objects again under `attributes`, each with a list
`attributes` or without. `image_data.json`: `image_id`, `url`, `width`, `height`, `coco_id`, `flickr_id`. Release 1.0
says `id` and `object_names`.

An end of a relation, or an entry of `attributes.json`, is an object by its id; an id that no object of the picture has is
looked up in the `merged_object_ids` of all objects, entries and ends of the picture. Where several claim the same id the
first holds: objects before attributes before ends, each in file order. What an end says beyond its object (another box, a
name or synset more, the
id before merging) stands in the graph's `extra` under `/relations/N/subject` or `/relations/N/object`; box and names of
the object hold. An end whose object is nowhere becomes an object after those of the file, and
`extra["/objects/N/found_in"]` says where it was found (`relationships[3].subject`). A second object with the id of another
stays, `extra["/objects/N/repeats"]` names the first (`objects[0]`), and relations mean the first.

Keys that the form does not know are kept in `extra`: of a record under `/KEY` (in the other files `/in_attributes/KEY`,
`/in_relationships/KEY`), of an object under `/objects/N/KEY`, of a relation under `/relations/N/KEY`, and of an entry of
`attributes.json` or an end with the rest of what it says beyond its object, an end's `attributes` among it.

A predicate that is null comes out as "", and stands as null under `/relations/N/predicate`, so that it is not taken for one
that is empty.

Pictures whose size, folder or file is wrong in the published files are read as the files have them.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sgeval.errors import SgevalError, one_line, one_of
from sgeval.readers.image_data import Picture, read_pictures
from sgeval.readers.visual_genome_join import Joined
from sgeval.readers.visual_genome_records import Form, OddRecord, Sourced, packed, read_file, unpacked
from sgeval.records import SceneGraph

VisualGenomeConfig = Literal["v1.4", "v1.0"]

HOME = "https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/"


FORMS: dict[str, Form] = {
    "v1.4": Form(
        endings=(("", "_v1_4", "_v1.4"),),
        image_id=("image_id",),
        object_id=("object_id",),
        relation_id=("relationship_id",),
        names=("names", "name"),
        hint=' (release 1.0 is read with config="v1.0")',
    ),
    "v1.0": Form(
        endings=(("_v1_0", "_v1.0", "_v1"), ("",)),
        image_id=("id", "image_id", "image"),
        object_id=("id", "object_id"),
        relation_id=("id", "relationship_id"),
        names=("object_names", "names", "name"),
    ),
}


class Files(NamedTuple):
    """The files of a folder that belong together."""

    objects: Path | None
    attributes: Path | None
    relationships: Path
    image_data: Path


def read_visual_genome(data_dir: str | Path, *, config: VisualGenomeConfig = "v1.4") -> Iterator[SceneGraph]:
    """Scene graphs of a folder that holds the Visual Genome files under their published names.

    Looked for are `relationships`, `objects`, `attributes` and `image_data` with the endings `.json` and `.json.zip`, plain
    or with the version in the name (`objects_v1_4.json.zip`); a name without a version is the first choice of "v1.4" and
    the last of "v1.0". One of objects and attributes may be missing. There is no official split.

    The order is that of `objects.json` (else `attributes.json`); pictures that only the other files have follow. Records
    of one picture are joined by its id: a repeated id by its first, second, … record in each file. A picture without an
    entry in `image_data.json` has no size, and an entry there alone makes no record. Of several entries there the first
    holds; the others stand in `extra`, under `/in_image_data/repeats`.

    `category` is an object's first name ("" without any), `names` all of them, raw as the predicates are. Boxes come out as
    `(x, y, width, height)` in absolute pixels, unclipped, or None. `file_name` is `VG_100K/…` or `VG_100K_2/…` as the
    address says. `extra` holds `url`, `coco_id`, `flickr_id`, and what the module says by JSON pointer.

    Memory holds one block of each file, `image_data.json`, and, zipped, what came too early when the files differ in order.

    Raises `SgevalError`: at once for an unknown config and for files that are not there; while reading, for a file that is
    not in the form, with file, record, what was expected and what stands there.

    >>> read_visual_genome(".", config="v2")
    Traceback (most recent call last):
    ...
    sgeval.errors.SgevalError: config: expected one of v1.4, v1.0, got "v2"
    """
    files, form = find(data_dir, config)
    return (joined.graph() for joined in joined_pictures(files, form))


def find(data_dir: str | Path, config: str) -> tuple[Files, Form]:
    """The files of a folder, and how they name things. Raises `SgevalError`."""
    one_of("config", config, FORMS)
    return _find(Path(data_dir), config), FORMS[config]


def joined_pictures(files: Files, form: Form) -> Iterator[Joined]:
    """All pictures in the order of `read_visual_genome`."""
    pictures = _by_id(read_pictures(files.image_data, form.image_id, form.hint))
    relationships = _Beside(files.relationships, form)
    attributes = _Beside(files.attributes if files.objects else None, form)
    for record in read_file(files.objects or files.attributes, form):
        image_id = record.image_id
        yield Joined(record, relationships.take(image_id), attributes.take(image_id), form, pictures)
    for record in relationships.rest():
        yield Joined(None, record, attributes.take(record.image_id), form, pictures)
    for record in attributes.rest():
        yield Joined(None, None, record, form, pictures)


def _by_id(pictures: Iterable[Picture]) -> dict[str, Picture]:
    """The first entry of each picture, with what later ones say in its `extra`."""
    first: dict[str, Picture] = {}
    later: dict[str, list[Mapping[str, Any]]] = {}
    for picture in pictures:
        if first.setdefault(picture.image_id, picture) is not picture:
            sides = {"width": picture.width, "height": picture.height}
            given = {key: side for key, side in sides.items() if side is not None}
            later.setdefault(picture.image_id, []).append({**given, **picture.extra})
    for image_id, entries in later.items():
        picture = first[image_id]
        first[image_id] = picture._replace(extra={**picture.extra, "/in_image_data/repeats": entries})
    return first


def file_names(stem: str, config: VisualGenomeConfig) -> tuple[str, ...]:
    """The names that a file may have, the first choice first.

    >>> file_names("objects", "v1.0")[:3]
    ('objects_v1_0.json', 'objects_v1_0.json.zip', 'objects_v1.0.json')
    """
    return _names(stem, _endings(config))


def _endings(config: str) -> tuple[str, ...]:
    return tuple(ending for group in FORMS[config].endings for ending in group)


def _names(stem: str, endings: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{stem}{ending}{suffix}" for ending in endings for suffix in (".json", ".json.zip"))


def _find(folder: Path, config: str) -> Files:
    expected = "relationships.json, objects.json or attributes.json, and image_data.json (or each as .json.zip)"
    if not folder.is_dir():
        got = f'"{one_line(str(folder))}"'
        raise SgevalError(f"data_dir: expected a folder that holds {expected} from {HOME}, got {got}")

    def there(stem: str, endings: tuple[str, ...]) -> Path | None:
        return next((folder / name for name in _names(stem, endings) if (folder / name).is_file()), None)

    every = _endings(config)
    image_data = there("image_data", (*every, ""))
    for group in FORMS[config].endings:
        objects, attributes, relationships = (there(stem, group) for stem in ("objects", "attributes", "relationships"))
        if relationships and image_data and (objects or attributes):
            return Files(objects, attributes, relationships, image_data)
    stems = ("relationships", "objects", "attributes", "image_data")
    found = [path.name for stem in stems if (path := there(stem, every))]
    got = f"only {', '.join(found)}" if found else "none of them"
    raise SgevalError(f'{folder}: expected {expected} for the config "{config}", from {HOME}, got {got}')


class _Beside:
    """A file that is read alongside another one. Records that come before their turn wait as zipped text."""

    def __init__(self, path: Path | None, form: Form) -> None:
        self.path, self.form = path, form
        self.records = read_file(path, form)
        self.waiting: dict[str, list[tuple[int, bool, bytes]]] = {}

    def take(self, image_id: str) -> Sourced | None:
        """The next record of a picture."""
        early = self.waiting.get(image_id)
        if early:
            entry = early.pop(0)
            if not early:
                del self.waiting[image_id]
            return self._unpacked(entry)
        for source in self.records:
            if source.image_id == image_id:
                return source
            entry = (source.number, isinstance(source.record, OddRecord), zlib.compress(packed(source.record), 1))
            self.waiting.setdefault(source.image_id, []).append(entry)
        return None

    def rest(self) -> Iterator[Sourced]:
        """What nobody took, in file order."""
        early = sorted(entry for entries in self.waiting.values() for entry in entries)
        self.waiting = {}
        yield from map(self._unpacked, early)
        yield from self.records

    def _unpacked(self, entry: tuple[int, bool, bytes]) -> Sourced:
        number, is_odd, data = entry
        assert self.path is not None
        return unpacked(zlib.decompress(data), self.path, number, is_odd, self.form)
