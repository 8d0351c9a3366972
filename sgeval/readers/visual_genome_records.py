"""Records of the Visual Genome files, before those of one picture are joined.

A file in the published form is parsed by msgspec straight into these structs. Whatever is not (a key that the form does not
know, a text where a number should stand, release 1.0, …) is taken apart here, key by key: what may be read comes out as the
same structs, with the written entry in `raw`, and the rest is refused with its place.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from sgeval.errors import shown
from sgeval.readers.json_records import read_records, read_typed
from sgeval.readers.place import LARGEST, Place

COLUMNS = frozenset(("x", "y", "w", "h", "synsets", "merged_object_ids", "attributes"))
"""The keys of an object that have a column under whatever form, beside its id and its names."""
LISTS = ("objects", "attributes", "relationships")
LARGEST_SIDE = 2**53  # whole numbers up to here are exact as floats

Id = Annotated[int, Meta(ge=0, le=LARGEST)]
ImageId = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Side = (
    Annotated[int, Meta(gt=-LARGEST_SIDE, lt=LARGEST_SIDE)] | Annotated[float, Meta(gt=-LARGEST_SIDE, lt=LARGEST_SIDE)]
)
Texts = tuple[str, ...]


class Form(NamedTuple):
    """How a release names things: its files, and the keys to try, first found wins."""

    endings: tuple[tuple[str, ...], ...]
    """What stands before `.json`, in groups: files of one group go together."""
    image_id: tuple[str, ...]
    object_id: tuple[str, ...]
    relation_id: tuple[str, ...]
    names: tuple[str, ...]
    hint: str = ""


class Mention(Struct, gc=False, forbid_unknown_fields=True, kw_only=True):
    """An object as one of the files writes it out. Published are all sides of the box, and `names` or `name`.

    The fields are in the order of the files, in which msgspec finds them soonest.
    """

    name: str | UnsetType = UNSET
    h: Side
    merged_object_ids: tuple[Id, ...] | UnsetType = UNSET
    synsets: Texts | UnsetType = UNSET
    object_id: Id
    names: Texts | UnsetType = UNSET
    w: Side
    attributes: Texts | UnsetType = UNSET
    y: Side
    x: Side


class Row(Struct, gc=False, forbid_unknown_fields=True, kw_only=True):
    """A relation."""

    predicate: str
    object: Mention
    relationship_id: Id
    synsets: Texts | UnsetType = UNSET
    subject: Mention


class Record(Struct, gc=False, forbid_unknown_fields=True):
    """A picture's record in one of the files."""

    image_id: ImageId | str
    image_url: str | UnsetType = UNSET
    objects: list[Mention] | UnsetType = UNSET
    attributes: list[Mention] | UnsetType = UNSET
    relationships: list[Row] | UnsetType = UNSET


class OddMention(Mention, gc=False, kw_only=True):
    """One that is not in the published form. Without a box its sides are None; `names` holds the one name, too."""

    raw: Mapping[str, Any] = {}


class OddRow(Row, gc=False, kw_only=True):
    """One that is not in the published form."""

    raw: Mapping[str, Any] = {}


class OddRecord(Record, gc=False):
    """One that is not in the published form."""

    raw: Mapping[str, Any] = {}


class Sourced(NamedTuple):
    """A record, the file it is from, and its number there."""

    path: Path
    number: int
    record: Record

    @property
    def image_id(self) -> str:
        """The id of the picture, as text."""
        return str(self.record.image_id)

    @property
    def place(self) -> Place:
        """Where the record stands."""
        return _place(self.path, self.number, self.image_id)


def read_file(path: Path | None, form: Form) -> Iterator[Sourced]:
    """The records of a file, in file order. Without a path none. Raises `SgevalError`."""
    if path is None:
        return
    is_published = form.object_id == ("object_id",)
    records: Iterator[Any] = read_typed(path, Record) if is_published else (value for _, value in read_records(path))
    for number, record in enumerate(records):
        if not isinstance(record, Record):
            record = odd_record(record, path, number, form)
        elif isinstance(record.image_id, str):
            Place(path, f"record {number}.image_id").text_id(record.image_id)
        yield Sourced(path, number, record)


def names_of(mention: Mention) -> Texts:
    """All names of an object."""
    return (mention.name,) if mention.names is UNSET else mention.names  # type: ignore[return-value]


def raw(mention: Mention) -> Mapping[str, Any]:
    """A mention as it is written."""
    return mention.raw if isinstance(mention, OddMention) else _plain(mention)


def _plain(value: Struct) -> Any:
    """A struct of the published form as it is written."""
    return msgspec.json.decode(msgspec.json.encode(value))


def rest_of_mention(item: Mention, form: Form) -> dict[str, Any]:
    """What an object has beside its columns: keys that the form does not know, and names under a second key that the first
    does not have."""
    more: dict[str, Any] = {}
    if isinstance(item, OddMention):
        known = {*COLUMNS, _first_key(item.raw, form.object_id), *form.names}
        more = {key: value for key, value in item.raw.items() if key not in known}
        given = {key: item.raw[key] for key in form.names if item.raw.get(key) is not None}
    elif item.names is UNSET or item.name is UNSET:
        return more
    else:
        given = {"name": item.name}
    names = names_of(item)
    for key, value in given.items():
        entries = value if isinstance(value, list) else [value]
        if not all(entry in names for entry in entries):
            more[key] = value
    return more


def rest_of_row(row: Row, form: Form) -> dict[str, Any]:
    """What a relation has beside its columns."""
    if not isinstance(row, OddRow):
        return {}
    known = {"predicate", "synsets", "subject", "object", _first_key(row.raw, form.relation_id)}
    rest = {key: value for key, value in row.raw.items() if key not in known}
    return rest if row.raw["predicate"] is not None else rest | {"predicate": None}


def rest_of_record(record: Record, used: str, form: Form) -> dict[str, Any]:
    """What a record has beside its id, its address and the list that is used of it."""
    if isinstance(record, OddRecord):
        known = {"image_url", used, _first_key(record.raw, form.image_id)}
        return {key: value for key, value in record.raw.items() if key not in known}
    others = {key: getattr(record, key) for key in LISTS if key != used}
    return {key: [*map(_plain, entries)] for key, entries in others.items() if entries is not UNSET}


def _first_key(value: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next(key for key in keys if key in value)


def packed(record: Record) -> bytes:
    """A record as JSON."""
    return msgspec.json.encode(record.raw if isinstance(record, OddRecord) else record)


def unpacked(data: bytes, path: Path, number: int, is_odd: bool, form: Form) -> Sourced:
    """What was packed."""
    if is_odd:
        return Sourced(path, number, odd_record(msgspec.json.decode(data), path, number, form))
    return Sourced(path, number, _DECODER.decode(data))


_DECODER = msgspec.json.Decoder(Record)


def _place(path: Path, number: int, image_id: str) -> Place:
    return Place(path, f"record {number} (image_id {shown(image_id)})")


def odd_record(value: dict[str, Any], path: Path, number: int, form: Form) -> OddRecord:
    """A record of any form, checked key by key."""
    given, at = _first(value, form.image_id, Place(path, f"record {number}"), "a picture", form)
    image_id = at.text_id(given)
    place = _place(path, number, image_id)
    lists: dict[str, Any] = {
        key: [
            _odd_mention(entry, place.at(f".{key}[{index}]"), form)
            for index, entry in enumerate(place.get(value, key, "a list", list))
        ]
        for key in ("objects", "attributes")
        if key in value
    }
    if "relationships" in value:
        rows = enumerate(place.get(value, "relationships", "a list", list))
        lists["relationships"] = [_odd_row(row, place.at(f".relationships[{index}]"), form) for index, row in rows]
    return OddRecord(image_id, place.text(value, "image_url") or UNSET, raw=value, **lists)


def _odd_row(row: Any, place: Place, form: Form) -> OddRow:
    place.checked(row, "an object", dict)
    for end in ("subject", "object"):
        if end not in row:
            raise place.at(f".{end}").fault("an object written out")
    subject, object_ = (_odd_mention(row[end], place.at(f".{end}"), form) for end in ("subject", "object"))
    relation_id, at = _first(row, form.relation_id, place, "a relation", form)
    if "predicate" not in row:
        raise place.at(".predicate").fault("a text")
    predicate = place.text(row, "predicate") or ""
    return OddRow(
        predicate=predicate,
        object=object_,
        relationship_id=at.number_id(relation_id),
        synsets=place.texts(row, "synsets"),
        subject=subject,
        raw=row,
    )


def _odd_mention(entry: Any, place: Place, form: Form) -> OddMention:
    place.checked(entry, "an object", dict)
    names = _odd_names(entry, place, form)
    object_id, at = _first(entry, form.object_id, place, "an object", form)
    return OddMention(
        object_id=at.number_id(object_id),
        **_odd_sides(entry, place),
        names=names,
        synsets=place.texts(entry, "synsets"),
        merged_object_ids=place.number_ids(entry, "merged_object_ids"),
        attributes=place.texts(entry, "attributes"),
        raw=entry,
    )


def _first(value: dict[str, Any], keys: tuple[str, ...], place: Place, of: str, form: Form) -> tuple[Any, Place]:
    """What stands under the first of the keys that is there, and its place."""
    for key in keys:
        if key in value:
            return value[key], place.at(f".{key}")
    raise place.at(f".{keys[0]}").fault(f"the id of {of}", hint=form.hint)


def _odd_names(entry: dict[str, Any], place: Place, form: Form) -> Texts:
    for key in form.names:
        if isinstance(entry.get(key), str):
            return (place.text(entry, key) or "",)
        if key in entry:
            return place.texts(entry, key)
    raise place.at(f".{form.names[0]}").fault("a list of texts")


def _odd_sides(entry: dict[str, Any], place: Place) -> dict[str, Any]:
    sides = {key: entry.get(key) for key in "xywh"}
    if any(side is not None for side in sides.values()):
        for key, side in sides.items():
            if type(side) not in (int, float) or not -LARGEST_SIDE < side < LARGEST_SIDE:  # type: ignore[operator]
                raise place.at(f".{key}").fault("a number of pixels", side)
    return sides
