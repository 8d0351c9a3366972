"""`image_data.json` of Visual Genome: one entry a picture, with its address, size and ids elsewhere."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from sgeval.errors import SgevalError, shown
from sgeval.readers.json_records import read_typed
from sgeval.readers.place import LARGEST, Place, is_kind

Entry = dict[str, str | Annotated[int, Meta(ge=-LARGEST - 1, le=LARGEST)] | float | bool | None]
"""An entry as published: plain values by name."""

FOLDERS = re.compile(r"/(VG_100K(?:_2)?/[0-9A-Za-z_-]{1,80}\.(?:jpg|jpeg|png))$")


class Picture(NamedTuple):
    """An entry of `image_data.json`. `extra` holds its url and whatever else it says, nulls left out."""

    image_id: str
    file_name: str | None
    width: int | None
    height: int | None
    extra: Mapping[str, Any]


def read_pictures(path: Path, id_keys: tuple[str, ...] = ("image_id",), hint: str = "") -> Iterator[Picture]:
    """All entries, in file order; the first of `id_keys` that an entry has is its id. Raises `SgevalError`."""
    whole = Place(path)
    for index, entry in enumerate(read_typed(path, Entry)):
        try:
            picture = _picture(entry, id_keys, whole, whole, hint)
        except SgevalError:  # once more, to say where
            place = Place(path, f"record {index}")
            key = next((key for key in id_keys if key in entry), "")
            picture = _picture(entry, id_keys, place, place.at(f" (image_id {shown(str(entry.get(key)))})"), hint)
        yield picture


def _picture(entry: dict[str, Any], id_keys: tuple[str, ...], record: Place, place: Place, hint: str) -> Picture:
    key = id_keys[0] if id_keys[0] in entry else next((key for key in id_keys if key in entry), None)
    if key is None:
        raise record.at(f".{id_keys[0]}").fault("the id of a picture", hint=hint)
    image_id = entry[key]
    return Picture(
        image_id=str(image_id) if is_kind(image_id, int) else record.at(f".{key}").text_id(image_id),
        file_name=file_name(place.text(entry, "url")),
        width=place.pixels(entry, "width"),
        height=place.pixels(entry, "height"),
        extra={
            name: value if type(value) is str else place.at(f".{name}").any_json(value)
            for name, value in entry.items()
            if value is not None and name not in (key, "width", "height")
        },
    )


def file_name(url: str | None) -> str | None:
    """Where the picture of an address lies below the pictures' root: in the folder that its address names. The two folders
    hold different pictures, so they are not to be guessed or merged.

    >>> file_name("https://cs.stanford.edu/people/rak248/VG_100K_2/1.jpg")
    'VG_100K_2/1.jpg'
    """
    found = FOLDERS.search(url) if url else None
    return found[1] if found else None
