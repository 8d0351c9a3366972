"""`image_data.json` of Visual Genome: one entry a picture, with its address, size and ids elsewhere."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sgeval.errors import shown
from sgeval.readers.fields import absent, pixels, text, text_id
from sgeval.readers.json_records import read_records

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
    for index, (_, entry) in enumerate(read_records(path)):
        place = f"{path}: record {index}"
        key = next((key for key in id_keys if key in entry), None)
        if key is None:
            raise absent(f"{place}.{id_keys[0]}", "the id of a picture", hint)
        image_id = text_id(entry[key], f"{place}.{key}")
        place = f"{place} (image_id {shown(image_id)})"
        yield Picture(
            image_id=image_id,
            file_name=file_name(text(entry, "url", place)),
            width=pixels(entry, "width", place),
            height=pixels(entry, "height", place),
            extra={
                name: value
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
