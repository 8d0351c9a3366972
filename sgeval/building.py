"""From a checked plain row to a record. What a record knows is what its schema names; the rest is kept in `extra`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sgeval.errors import pointer
from sgeval.records import Graph, Object, Relation, Role, SceneGraph, TrackPoint, VideoGraph
from sgeval.schemas import Kind, known_keys

WORDS = ("category", "predicate")
TUPLES = frozenset(("names", "synsets", "merged_ids", "attributes", "attribute_types", "frame_files", "mask_files"))


@dataclass
class Builder:
    """Builds the records of one kind and keeps the keys it does not know, by JSON pointer."""

    kind: Kind
    unknown: dict[str, Any] = field(default_factory=dict)

    def graph(self, plain: Mapping[str, Any]) -> Graph:
        """The record of a row that has passed the schema."""
        self.unknown = {}
        values = self._known("", "", plain)
        key = "image_id" if self.kind == "image" else "video_id"
        values[key] = id_text(values[key])
        for name, build in (("objects", self._object), ("relations", self._relation)):
            items = values.get(name, ())
            values[name] = tuple(build(item, f"/{name}/{index}") for index, item in enumerate(items))
        values["extra"] = {**values.get("extra", {}), **self.unknown}
        return SceneGraph(**values) if self.kind == "image" else VideoGraph(**values)

    def _known(self, level: str, above: str, plain: Mapping[str, Any]) -> dict[str, Any]:
        names = _names(self.kind, level)
        values = {key: value for key, value in plain.items() if value is not None and key in names}
        if len(values) < len(plain):
            self.unknown |= {above + pointer(key): value for key, value in plain.items() if key not in names}
        if not TUPLES.isdisjoint(values):
            values |= {name: tuple(values[name]) for name in values.keys() & TUPLES}
        for name in WORDS:
            if name in values:
                values[name] = sys.intern(str(values[name]))  # the same few words over and over: kept once
        if "bbox" in values:
            values["bbox"] = tuple(map(float, values["bbox"]))
        if "roles" in values:
            values["roles"] = tuple(
                Role(**self._known("role", f"{above}/roles/{index}", role))
                for index, role in enumerate(values["roles"])
            )
        return values

    def _object(self, plain: Mapping[str, Any], above: str) -> Object:
        values = self._known("object", above, plain)
        values["id"] = int(values["id"])
        if "track" in values:
            values["track"] = tuple(
                TrackPoint(**self._known("track", f"{above}/track/{index}", point))
                for index, point in enumerate(values["track"])
            )
        return Object(**values)

    def _relation(self, plain: Mapping[str, Any], above: str) -> Relation:
        values = self._known("relation", above, plain)
        for name in ("subject_id", "object_id"):
            values[name] = int(values[name])
        if "spans" in values:
            values["spans"] = tuple((float(span["start"]), float(span["end"])) for span in values["spans"])
        if "raw_spans" in values:
            values["raw_spans"] = tuple((float(start), float(end)) for start, end in values["raw_spans"])
        return Relation(**values)


@cache
def _names(kind: Kind, level: str) -> frozenset[str]:
    return frozenset(known_keys(kind, level))


def id_text(value: Any) -> str:
    """An id as text; a whole number without its decimal point.

    >>> id_text(5), id_text(5.0), id_text("05")
    ('5', '5', '05')
    """
    return str(int(value)) if isinstance(value, float) else str(value)
