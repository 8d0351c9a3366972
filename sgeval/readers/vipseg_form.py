"""What the two forms of VIPSeg share: class lists, lists of clips, and how segments of frames become objects of a video."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sgeval import strict_json
from sgeval.errors import SgevalError, one_line
from sgeval.readers.place import Place, is_kind
from sgeval.records import Object, TrackPoint

SOURCE = "https://github.com/VIPSeg-Dataset/VIPSeg-Dataset"
ROOTS = ("VIPSeg", ".")
"""Where the published folder lies below `data_dir`: in a folder of its name, or it is `data_dir` itself."""
SPLITS = ("train", "val", "test")
LISTS = tuple(f"{folder}{split}.txt" for folder in ("VIPSeg/", "") for split in SPLITS)
CATEGORIES = tuple(
    f"{folder}panoVIPSeg_categories.json" for folder in ("VIPSeg/", "", "VIPSeg/VIPSeg_720P/", "VIPSeg_720P/")
)
MOST_CATEGORIES = 1_000


@dataclass(frozen=True, slots=True)
class Category:
    """A class: its name, and whether its instances are told apart."""

    name: str
    is_thing: bool


@dataclass(frozen=True, slots=True)
class Categories:
    """The classes by their ids, which count from 0."""

    by_id: Mapping[int, Category]

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the order of ids; an id that the file leaves out keeps its place.

        >>> Categories({0: Category("wall", False), 2: Category("dog", True)}).names
        ('wall', 'unnamed 1', 'dog')
        """
        found = self.by_id
        return tuple(
            found[number].name if number in found else f"unnamed {number}"
            for number in range(max(found, default=-1) + 1)
        )

    @classmethod
    def of(cls, place: Place, rows: Any) -> "Categories":
        """The checked `categories`: a list of id, name, isthing and color."""
        found: dict[int, Category] = {}
        for index, row in enumerate(place.checked(rows, "a list of classes", list)):
            at = place.at(f"[{index}]")
            number = at.get(row, "id", "a whole number", int)
            if not 0 <= number < MOST_CATEGORIES or number in found:
                raise at.at(".id").fault(f"a whole number from 0 to {MOST_CATEGORIES - 1}, each once", number)
            is_thing = at.get(row, "isthing", "0 or 1", (int, bool))
            if is_thing not in (0, 1):
                raise at.at(".isthing").fault("0 or 1", is_thing)
            found[number] = Category(at.get(row, "name", "a text", str), bool(is_thing))
        return cls(found)


def read_categories(data_dir: Path) -> Categories:
    """The classes of `panoVIPSeg_categories.json`. Raises `SgevalError` where it is not there or not in the form."""
    path = next((data_dir / name for name in CATEGORIES if (data_dir / name).is_file()), None)
    if path is None:
        raise SgevalError(
            f"{one_line(str(data_dir))}: expected {' or '.join(CATEGORIES)}, from {SOURCE}, got none of them"
        )
    return Categories.of(Place(path), strict_json.read_file(path))


def clip_list(data_dir: Path, split: str) -> tuple[Path, list[str]] | None:
    """The names of a split's clips, in the order of its list, and where that lies; nothing where there is no list.

    Raises `SgevalError` for a line that is no name of a folder.
    """
    path = next(
        (data_dir / root / f"{split}.txt" for root in ROOTS if (data_dir / root / f"{split}.txt").is_file()), None
    )
    if path is None:
        return None
    names = []
    for number, line in enumerate(strict_json.read_text(path).splitlines(), start=1):
        name = line.strip()
        if name:
            names.append(Place(path).at(f"line {number}").checked(name, "a text", str))
            check_name(Place(path).at(f"line {number}"), name)
    return path, names


def check_name(place: Place, name: str) -> None:
    """Raise `SgevalError` for a name of a clip that is no name of a folder."""
    if not name.strip() or name in (".", "..") or any(mark in name for mark in "/\\:") or not name.isprintable():
        raise place.fault("the name of a clip's folder", name)


def is_number(stem: str) -> bool:
    """Whether the name of a frame is a number, as published ones are."""
    return stem.isascii() and stem.isdecimal()


def rank(stem: str) -> tuple[int, str]:
    """The order of names that are numbers, whatever zeros are before them and however long they are.

    >>> sorted(["100", "9", "0010"], key=rank)
    ['9', '0010', '100']
    """
    digits = stem.lstrip("0")
    return len(digits), digits


@dataclass
class Segment:
    """An object as frame after frame shows it."""

    category_id: int
    frames: list[int] = field(default_factory=list)
    areas: list[int | None] = field(default_factory=list)
    crowd: list[int | None] = field(default_factory=list)


def objects_of(found: Mapping[int, Segment], categories: Categories) -> tuple[tuple[Object, ...], dict[str, Any]]:
    """The objects of a video, in the order in which they are first seen, each with a point for each frame that shows it and
    no box; and for `extra` what frames say of them: `areas`, and `iscrowd` where it changes."""
    objects, extra = [], {}
    for position, (number, segment) in enumerate(found.items()):
        category = categories.by_id[segment.category_id]
        objects.append(
            Object(
                number,
                category.name,
                category_id=segment.category_id,
                is_thing=category.is_thing,
                iscrowd=_any(segment.crowd),
                track=tuple(map(TrackPoint, segment.frames)),
            )
        )
        if any(area is not None for area in segment.areas):
            extra[f"/objects/{position}/areas"] = segment.areas
        if len(set(segment.crowd)) > 1:
            extra[f"/objects/{position}/iscrowd"] = segment.crowd
    return tuple(objects), extra


def _any(values: Sequence[int | None]) -> bool | None:
    known = [bool(value) for value in values if value is not None]
    return any(known) if known else None


def flag_or_none(place: Place, row: Mapping[str, Any], key: str) -> int | None:
    """0 or 1 under a key, if anything is."""
    value = row.get(key)
    if value is not None and not (is_kind(value, (int, bool)) and value in (0, 1)):
        raise place.at(f".{key}").fault("0 or 1", value)
    return None if value is None else int(value)
