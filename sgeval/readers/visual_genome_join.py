"""One picture of Visual Genome, joined from its records in up to three files (`visual_genome` says by which rules)."""

from collections.abc import Mapping
from sys import intern
from typing import Any

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from sgeval.errors import SgevalError
from sgeval.readers.image_data import Picture, file_name
from sgeval.readers.place import NOTHING, Place
from sgeval.readers.visual_genome_records import (
    Form,
    Mention,
    OddMention,
    OddRecord,
    Row,
    Sourced,
    names_of,
    raw,
    rest_of_mention,
    rest_of_record,
    rest_of_row,
)
from sgeval.records import Box, Object, Relation, SceneGraph

ENDS = ("subject", "object")
SIDES = 4
"""Where the sides of its box end in the summary of a mention."""


class Joined:
    """One picture: `objects` and `relations` as they are written, and what the join found out about them.

    `subject_ids` and `object_ids` are the ends of the relations, all of them ids of `objects`; `picture` is the entry of
    `image_data.json`, if need be made up, and `extra` all that has no place of its own.
    """

    def __init__(
        self,
        objects: Sourced | None,
        relationships: Sourced | None,
        attributes: Sourced | None,
        form: Form,
        pictures: Mapping[str, Picture],
    ) -> None:
        self.form = form
        self.extra: dict[str, Any] = {}
        self.objects: list[Mention] = []
        self.relations: list[Row] = []
        self.subject_ids: list[int] = []
        self.object_ids: list[int] = []
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
        beside = attributes if objects is not None else None
        if beside is not None:
            for item in _listed(beside, "attributes"):
                if item.merged_object_ids:
                    self._merge(item)
        if relationships is not None:
            self._take_relations(relationships)
        if beside is not None:  # last: by now all merges are known, and all objects are there
            self._take_attributes(beside)
        self._finish()
        if drives is not None:
            self._take_rest(drives, _key_of(drives), "")
        self._take_rest(beside, "attributes", "/in_attributes")
        self._take_rest(relationships, "relationships", "/in_relationships")
        self.picture = pictures.get(self.image_id) or Picture(self.image_id, file_name(self.url), None, None, {})
        extra = dict(self.picture.extra)
        if self.url is not None and self.url != extra.setdefault("url", self.url):
            extra["image_url"] = self.url
        self.extra = extra | self.extra

    def graph(self) -> SceneGraph:
        """The picture as a record."""
        return SceneGraph(
            image_id=self.image_id,
            objects=tuple(map(_object, self.objects)),
            relations=tuple(map(_relation, self.relations, self.subject_ids, self.object_ids)),
            file_name=self.picture.file_name,
            width=self.picture.width,
            height=self.picture.height,
            source="visual_genome",
            extra=self.extra,
        )

    def _finish(self) -> None:
        """Give each object what others say belongs to it."""
        for object_id, merged in self.merged.items():
            position = self.positions.get(object_id)
            if position is not None:
                own = self.objects[position].merged_object_ids or ()
                known = {*own}
                if others := tuple(number for number in merged if number not in known):
                    self.objects[position] = replace(self.objects[position], merged_object_ids=own + others)
        for position, more in self.attributes.items():
            item = self.objects[position]
            self.objects[position] = replace(item, attributes=(item.attributes or ()) + tuple(more))

    def _take_objects(self, source: Sourced) -> None:
        record = source.record
        self.url = record.image_url or None
        key = _key_of(source)
        self.objects = list(_listed(source, key))
        is_odd = isinstance(record, OddRecord)
        positions = self.positions
        for position, item in enumerate(self.objects):
            if is_odd or (item.names is UNSET) is (item.name is UNSET):
                if item.names is UNSET and item.name is UNSET:
                    raise _nameless(source, f"{key}[{position}]")
                self._keep_rest(position, item, source.place.at(f".{key}[{position}]"))
            first = positions.setdefault(item.object_id, position)
            if first != position:
                self.extra[f"/objects/{position}/repeats"] = f"objects[{first}]"
            if item.merged_object_ids:
                self._merge(item)

    def _take_rest(self, source: Sourced | None, used: str, pointer: str) -> None:
        """What a record has beside the list that is used of it, goes to `extra`; its address, where it is another one."""
        if source is None:
            return
        if more := rest_of_record(source.record, used, self.form):
            self.extra |= source.place.rest(pointer, more, ())
        url = source.record.image_url
        if pointer and url and url != self.url:
            self.extra[f"{pointer}/image_url"] = url

    def _merge(self, item: Mention) -> None:
        for merged_id in item.merged_object_ids or ():
            self.merged.setdefault(item.object_id, {})[merged_id] = None
            self.merged_into.setdefault(merged_id, item.object_id)

    def _keep_rest(self, position: int, item: Mention, place: Place) -> None:
        """What an object has beside its columns goes to `extra`."""
        self.extra |= place.rest(f"/objects/{position}", rest_of_mention(item, self.form), ())

    def _take_attributes(self, source: Sourced) -> None:
        """The attributes of objects that are already there. An entry whose object is nowhere is kept in `extra`."""
        homeless = []
        for index, item in enumerate(_listed(source, "attributes")):
            if item.names is UNSET and item.name is UNSET:
                raise _nameless(source, f"attributes[{index}]")
            position = self.positions.get(item.object_id)
            if position is None and (position := self.positions.get(self._root(item.object_id))) is None:
                homeless.append(source.place.at(f".attributes[{index}]").any_json(raw(item)))
                continue
            if item.attributes:
                self.attributes.setdefault(position, []).extend(item.attributes)
            if more := self._beyond(item, self.objects[position]):
                if isinstance(item, OddMention):
                    more = source.place.at(f".attributes[{index}]").any_json(more)
                self.extra.setdefault(f"/objects/{position}/in_attributes", []).append(more)
        if homeless:
            self.extra["attributes_without_object"] = homeless

    def _take_relations(self, source: Sourced) -> None:
        self.relations = rows = _listed(source, "relationships")
        ends: list[Mention] = []
        for row in rows:
            ends += row.subject, row.object
        for item in ends:
            if item.merged_object_ids:
                self._merge(item)
        ids = [item.object_id for item in ends]
        said, says = _said(self.objects), list(map(_summary, ends))
        is_odd = isinstance(source.record, OddRecord)  # its ends may have more than a summary tells
        differing = [index for index in range(len(ends)) if is_odd or said.get(ids[index]) != says[index]]
        if not all(ids[index] in said for index in differing):
            self._add_ends_without_object(ends, source)
        for index in differing:
            item, theirs = ends[index], said.get(ids[index])
            if is_odd or not theirs or theirs[SIDES:] != says[index][SIDES:]:
                ids[index] = self._differing_end(index, item, source)
            else:  # the box alone is another one
                sides = _other_sides(item, self.objects[self.positions[item.object_id]])
                self.extra[f"/relations/{index // 2}/{ENDS[index % 2]}"] = sides
        if is_odd:
            for index, row in enumerate(rows):
                place = source.place.at(f".relationships[{index}]")
                self.extra |= place.rest(f"/relations/{index}", rest_of_row(row, self.form), ())
        self.subject_ids, self.object_ids = ids[::2], ids[1::2]

    def _differing_end(self, index: int, item: Mention, source: Sourced) -> int:
        """The object of an end that may say something else; if it does, that goes to `extra`."""
        if item.names is UNSET and item.name is UNSET:
            raise _nameless(source, f"relationships[{index // 2}].{ENDS[index % 2]}")
        root = item.object_id if item.object_id in self.positions else self._root(item.object_id)
        owner = self.objects[self.positions[root]]
        more = self._beyond(item, owner)
        if item.attributes and item.attributes != (owner.attributes or ())[: len(item.attributes)]:
            more["attributes"] = list(item.attributes)
        if more:
            if isinstance(item, OddMention):
                more = source.place.at(f".relationships[{index // 2}].{ENDS[index % 2]}").any_json(more)
            self.extra[f"/relations/{index // 2}/{ENDS[index % 2]}"] = more
        return root

    def _add_ends_without_object(self, ends: list[Mention], source: Sourced) -> None:
        found: dict[int, tuple[str, Mention]] = {}
        for index, item in enumerate(ends):
            found.setdefault(item.object_id, (f"relationships[{index // 2}].{ENDS[index % 2]}", item))
        for object_id in list(found):
            root = self._root(object_id)
            if root not in self.positions:
                where, item = found.get(root) or found[object_id]  # merged into what no file has: it stands for itself
                position = self.positions[item.object_id] = len(self.objects)
                self.extra[f"/objects/{position}/found_in"] = where
                self.objects.append(item)
                self._keep_rest(position, item, source.place.at(f".{where}"))

    def _root(self, object_id: int) -> int:
        """The object that an id stands for: its own, else the one it was merged into, however often."""
        seen: set[int] = set()
        while object_id not in self.positions and object_id not in seen and object_id in self.merged_into:
            seen.add(object_id)
            object_id = self.merged_into[object_id]
        for step in seen - {object_id}:  # so that long chains are walked once
            self.merged_into[step] = object_id
        return object_id

    def _beyond(self, item: Mention, owner: Mention) -> dict[str, Any]:
        """What another mention of an object says beyond it. To say less, or the first name alone, is nothing beyond."""
        more: dict[str, Any] = {}
        if item.object_id != owner.object_id:
            more["object_id"] = item.object_id
        if item.x is not None:
            more |= _other_sides(item, owner)
        names, theirs = names_of(item), names_of(owner)
        if names != theirs and names != theirs[: len(names)]:
            entry = raw(item)
            more |= {key: entry[key] for key in self.form.names if key in entry}
        synsets = item.synsets or ()
        if synsets != owner.synsets and synsets != (owner.synsets or ())[: len(synsets)]:
            more["synsets"] = list(synsets)
        if (item.names is not UNSET and item.name is not UNSET) or isinstance(item, OddMention):
            rest = rest_of_mention(item, self.form)
            said = rest_of_mention(owner, self.form)
            more |= {key: value for key, value in rest.items() if repr(value) != repr(said.get(key, NOTHING))}
        return more


def _key_of(source: Sourced) -> str:
    """The list of a record that says which objects there are."""
    return "attributes" if source.record.objects is UNSET else "objects"


def _listed(source: Sourced, key: str) -> list[Any]:
    """The list under a key that a record must have."""
    entries = getattr(source.record, key)
    if entries is UNSET:
        raise source.place.at(f".{key}").fault("a list")
    return entries  # type: ignore[no-any-return]


def _nameless(source: Sourced, where: str) -> SgevalError:
    return source.place.at(f".{where}.names").fault("a list of texts")


def _summary(item: Mention) -> tuple[Any, ...]:
    """What a mention in the published form says: sides of its box, its name if that is the only one, synsets, attributes."""
    names = item.names
    name = item.name if names is UNSET else names[0] if len(names) == 1 and item.name is UNSET else None
    return item.x, item.y, item.w, item.h, name, item.synsets, item.attributes or UNSET


def _said(objects: list[Mention]) -> dict[int, tuple[Any, ...]]:
    """By id, the summary of an end that says nothing beyond its object. Of a repeated id the first object counts."""
    said = {}
    for item in reversed(objects):
        names = item.names
        name = item.name if names is UNSET else names[0] if names else NOTHING
        said[item.object_id] = item.x, item.y, item.w, item.h, name, item.synsets, UNSET
    return said


def _other_sides(item: Mention, owner: Mention) -> dict[str, Any]:
    """The sides of a mention's box that are not those of its object."""
    sides: dict[str, Any] = {}
    if item.x != owner.x:
        sides["x"] = item.x
    if item.y != owner.y:
        sides["y"] = item.y
    if item.w != owner.w:
        sides["w"] = item.w
    if item.h != owner.h:
        sides["h"] = item.h
    return sides


def box_of(item: Mention) -> Box | None:
    """The box of a mention: x, y, width and height in pixels."""
    if item.x is None:
        return None
    return float(item.x), float(item.y), float(item.w), float(item.h)


def _object(item: Mention) -> Object:
    names = _interned(names_of(item))
    return Object(
        id=item.object_id,
        category=names[0] if names else "",
        bbox=box_of(item),
        names=names,
        synsets=_interned(item.synsets),
        merged_ids=item.merged_object_ids or (),
        attributes=_interned(item.attributes),
    )


def _relation(row: Row, subject_id: int, object_id: int) -> Relation:
    return Relation(
        subject_id=subject_id,
        object_id=object_id,
        predicate=intern(row.predicate),
        id=row.relationship_id,
        synsets=_interned(row.synsets),
    )


def _interned(texts: tuple[str, ...] | UnsetType) -> tuple[str, ...]:
    """Texts that many records share, each held in memory once."""
    return tuple(map(intern, texts)) if texts else ()
