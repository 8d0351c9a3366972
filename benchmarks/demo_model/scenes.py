"""Make pictures of everyday objects in known relations, and write the demo scenes."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from . import sprites
from .vocabulary import BOX, INVERSE, PAIRS, TABLE, THINGS, Pair

CANVAS = 320
JPEG_QUALITY = 90
SMALLEST, LARGEST = 4, 12  # objects in a scene
STEP = 4  # sprite sizes are multiples of this, so that few sprites are drawn and all are kept
GROUP_MARGIN = 6  # pixels between groups that do not touch
ATTEMPTS = 30  # places tried for a group before it is left out
AXIS_RATIO = 2.0  # centres differ along one axis by at least twice the difference along the other
GAP_SHARE = 0.9  # a gap is small when below this share of the two objects' mean extent along the axis
ABOVE_TABLE_GAP = 14  # pixels; closer than this, "above" a table and "on" it look alike
ANNOTATED_SHARE = 1 / 3  # annotated pairs, so that relations stay below m(m - 1) / 2
SHIPPED_SEED = 11
SHIPPED_SCENES = 40
FEWEST_PAIRS = 2  # annotated pairs in a shipped scene

Box = tuple[int, int, int, int]  # x1, y1, x2, y2; whole pixels


@dataclass(frozen=True)
class Item:
    """One object: its class, its box, and what is needed to draw it."""

    category: str
    box: Box
    look: int  # colour of a box or table; 1 for a mirrored thing


@dataclass(frozen=True)
class Group:
    """What touches: a thing alone, a box or a table, each with or without content. The first one is the anchor."""

    items: tuple[Item, ...]
    links: tuple[tuple[int, int, str], ...]  # subject, object (indices of items), predicate


@dataclass(frozen=True)
class Link:
    """One annotated pair, in one direction; the other direction follows."""

    subject: int
    object: int
    predicate: str


@dataclass(frozen=True)
class Scene:
    """A picture and its annotation."""

    picture: Image.Image
    items: tuple[Item, ...]
    links: tuple[Link, ...]


def move(item: Item, dx: int, dy: int) -> Item:
    """Return the object moved by whole pixels."""
    x1, y1, x2, y2 = item.box
    return Item(item.category, (x1 + dx, y1 + dy, x2 + dx, y2 + dy), item.look)


def hull(boxes: list[Box]) -> Box:
    """Return the smallest box around boxes.

    >>> hull([(0, 0, 2, 2), (5, 1, 6, 9)])
    (0, 0, 6, 9)
    """
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def size_between(low: float, high: float, rng: np.random.Generator) -> int:
    """Return a sprite size, a multiple of STEP."""
    return STEP * int(rng.integers(round(low / STEP), round(high / STEP) + 1))


def make_thing(category: str, size: int, rng: np.random.Generator) -> Item:
    """Return a thing at the origin."""
    mirrored = int(rng.integers(2))
    width, height = sprites.thing(category, size, bool(mirrored)).size
    return Item(category, (0, 0, width, height), mirrored)


def make_box(content: str | None, scale: float, rng: np.random.Generator) -> Group:
    """Return a box, with a thing standing in it when `content` names one."""
    colour = int(rng.integers(len(sprites.BOX_COLOURS)))
    if content is None:
        width, height = size_between(56 * scale, 92 * scale, rng), size_between(48 * scale, 80 * scale, rng)
        return Group((Item(BOX, (0, 0, width, height), colour),), ())
    held = make_thing(content, size_between(44 * scale, 68 * scale, rng), rng)
    _, _, inner_width, inner_height = held.box
    width = inner_width + 2 * size_between(8, 16, rng)
    height = round(inner_height * 1.1) + size_between(4, 16, rng)
    left = int(rng.integers(sprites.WALL + 1, width - inner_width - sprites.WALL))
    top = height - inner_height - int(rng.integers(3, 8))
    return Group((Item(BOX, (0, 0, width, height), colour), move(held, left, max(top, 1))), ((1, 0, "inside"),))


def make_table(load: list[str], scale: float, rng: np.random.Generator) -> Group:
    """Return a table with up to two objects on it; of two, one is clearly taller, so that no crop is ambiguous."""
    colour = int(rng.integers(len(sprites.TABLE_COLOURS)))
    width, height = size_between(84 * scale, 132 * scale, rng), size_between(44 * scale, 72 * scale, rng)
    desk = Item(TABLE, (0, 0, width, height), colour)
    placed: list[Item] = []
    links: list[tuple[int, int, str]] = []
    for position, category in enumerate(load):
        size = size_between(52 * scale, 64 * scale, rng) if position == 0 else size_between(32 * scale, 40 * scale, rng)
        item = make_box(None, 0.8 * scale, rng).items[0] if category == BOX else make_thing(category, size, rng)
        free = width // len(load) - item.box[2]
        left = position * (width // len(load)) + int(rng.integers(min(0, free), max(1, free + 1)))
        placed.append(move(item, max(left, 0), 3 - item.box[3]))
        links.append((len(placed), 0, "on"))
    if len(placed) == 2 and placed[0].box[2] < placed[1].box[0] and rng.random() < 0.5:
        links.append((1, 2, "left of"))
    return Group((desk, *placed), tuple(links))


def random_group(scale: float, rng: np.random.Generator) -> Group:
    """Return one of the kinds of group with things drawn at random."""
    kind = rng.random()
    names = [str(name) for name in rng.permutation(np.array(THINGS))]
    if kind < 0.22:
        return make_box(names[0], scale, rng)
    if kind < 0.28:
        return make_box(None, scale, rng)
    if kind < 0.44:
        return make_table([BOX if rng.random() < 0.15 else names[0]], scale, rng)
    if kind < 0.50:
        return make_table(names[:2], scale, rng)
    if kind < 0.55:
        return make_table([], scale, rng)
    return Group((make_thing(names[0], size_between(44 * scale, 80 * scale, rng), rng),), ())


def overlaps(first: Box, second: Box, margin: int) -> bool:
    """Say whether two boxes come closer than `margin` pixels."""
    return (
        first[0] < second[2] + margin
        and second[0] < first[2] + margin
        and first[1] < second[3] + margin
        and second[1] < first[3] + margin
    )


def place(group: Group, taken: list[Box], rng: np.random.Generator) -> Group | None:
    """Return the group at a free place, or None when none was found."""
    left, top, right, bottom = hull([item.box for item in group.items])
    if right - left > CANVAS - 8 or bottom - top > CANVAS - 8:
        return None
    for _ in range(ATTEMPTS):
        dx = int(rng.integers(4 - left, CANVAS - 4 - right + 1))
        dy = int(rng.integers(4 - top, CANVAS - 4 - bottom + 1))
        spot = (left + dx, top + dy, right + dx, bottom + dy)
        if not any(overlaps(spot, other, GROUP_MARGIN) for other in taken):
            return Group(tuple(move(item, dx, dy) for item in group.items), group.links)
    return None


def lay_out(rng: np.random.Generator) -> list[Group]:
    """Return groups at free places, SMALLEST to LARGEST objects in all; crowded scenes have smaller objects."""
    while True:
        wanted = int(rng.integers(SMALLEST, LARGEST + 1))
        scale = float(np.interp(wanted, (SMALLEST, LARGEST), (1.1, 0.72)) * rng.uniform(0.9, 1.05))
        groups: list[Group] = []
        count = 0
        for _ in range(3 * wanted):
            group = random_group(scale, rng)
            if count + len(group.items) > wanted:
                continue
            placed = place(group, [hull([item.box for item in other.items]) for other in groups], rng)
            if placed is not None:
                groups.append(placed)
                count += len(placed.items)
            if count == wanted:
                break
        if count >= SMALLEST:
            return groups


def direction(first: Box, second: Box) -> str | None:
    """Return what the first box is to the second, or None when no direction is clear or the gap is wide.

    >>> direction((0, 0, 10, 10), (14, 1, 24, 11)), direction((0, 0, 10, 10), (90, 0, 99, 10))
    ('left of', None)
    """
    dx = (second[0] + second[2] - first[0] - first[2]) / 2
    dy = (second[1] + second[3] - first[1] - first[3]) / 2
    axis = 0 if abs(dx) >= abs(dy) else 1
    major, minor = (dx, dy) if axis == 0 else (dy, dx)
    near, far = (first, second) if major > 0 else (second, first)
    gap = far[axis] - near[axis + 2]
    extent = (first[axis + 2] - first[axis] + second[axis + 2] - second[axis]) / 2
    if abs(major) < AXIS_RATIO * abs(minor) or not 0 <= gap <= GAP_SHARE * extent:
        return None
    words = ("left of", "right of") if axis == 0 else ("above", "below")
    return words[0] if major > 0 else words[1]


def directional_links(groups: list[Group], starts: list[int]) -> Iterator[Link]:
    """Yield the directional relations between the anchors of the groups."""
    for i, first in enumerate(groups):
        for j in range(i + 1, len(groups)):
            one, two = first.items[0], groups[j].items[0]
            word = direction(one.box, two.box)
            if word is None or (word in ("above", "below") and near_table(one, two)):
                continue
            yield Link(starts[i], starts[j], word)


def near_table(one: Item, two: Item) -> bool:
    """Say whether an object hangs so closely above a table that it could stand on it."""
    upper, lower = (one, two) if one.box[1] < two.box[1] else (two, one)
    return lower.category == TABLE and lower.box[1] - upper.box[3] < ABOVE_TABLE_GAP


def all_links(groups: list[Group]) -> tuple[list[Link], list[Link]]:
    """Return the relations by contact and those by direction."""
    starts = [0]
    for group in groups:
        starts.append(starts[-1] + len(group.items))
    contact = [
        Link(start + subject, start + other, predicate)
        for group, start in zip(groups, starts, strict=False)
        for subject, other, predicate in group.links
    ]
    return contact, list(directional_links(groups, starts))


def classes(items: Sequence[Item], link: Link) -> Pair:
    """Return the classes of subject and object."""
    return frozenset((items[link.subject].category, items[link.object].category))


def shuffled(links: list[Link], rng: np.random.Generator) -> list[Link]:
    """Return the links in random order."""
    return [links[index] for index in rng.permutation(len(links))]


def annotate(groups: list[Group], pairs: frozenset[Pair], share: float, rng: np.random.Generator) -> tuple[Link, ...]:
    """Return links between the given pairs of classes, in random direction, at most a share of all object pairs.

    Contact comes first, since direction alone is common.
    """
    items = [item for group in groups for item in group.items]
    room = int(len(items) * (len(items) - 1) / 2 * share)
    chosen: list[Link] = []
    for links in all_links(groups):
        chosen += shuffled([link for link in links if classes(items, link) in pairs], rng)
    return tuple(reverse(link) if rng.random() < 0.5 else link for link in shuffled(chosen[:room], rng))


def reverse(link: Link) -> Link:
    """Return the same relation told from the other side."""
    return Link(link.object, link.subject, INVERSE[link.predicate])


def draw_group(picture: Image.Image, group: Group) -> None:
    """Draw the objects of a group: a box's back, its content, its front; a table, then what is on it."""
    fronts: list[tuple[Image.Image, Box]] = []
    for item in group.items:
        x1, y1, x2, y2 = item.box
        if item.category == BOX:
            back, front = sprites.box(x2 - x1, y2 - y1, item.look)
            picture.paste(back, (x1, y1), back)
            fronts.append((front, item.box))
        elif item.category == TABLE:
            layer = sprites.table(x2 - x1, y2 - y1, item.look)
            picture.paste(layer, (x1, y1), layer)
        else:
            layer = sprites.thing(item.category, max(x2 - x1, y2 - y1), bool(item.look))
            picture.paste(layer, (x1, y1), layer)
    for front, (x1, y1, _, _) in fronts:
        picture.paste(front, (x1, y1), front)


def make_scene(
    rng: np.random.Generator, pairs: frozenset[Pair] = frozenset(PAIRS), share: float = ANNOTATED_SHARE
) -> Scene:
    """Return one random scene, drawn; of the given pairs of classes at most a share is annotated."""
    groups = lay_out(rng)
    links = annotate(groups, pairs, share, rng)
    picture = sprites.background(CANVAS, rng)
    for group in groups:
        draw_group(picture, group)
    return Scene(picture, tuple(item for group in groups for item in group.items), links)


def as_jpeg(picture: Image.Image) -> bytes:
    """Return the bytes of the JPEG that is shipped."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()


def through_jpeg(picture: Image.Image) -> Image.Image:
    """Return the picture as a reader of the JPEG sees it."""
    return Image.open(io.BytesIO(as_jpeg(picture))).convert("RGB")


def union_crop(scene: Scene, link: Link) -> Box:
    """Return the box around subject and object, in whole pixels."""
    return hull([scene.items[link.subject].box, scene.items[link.object].box])


def record(scene: Scene, image_id: str) -> dict[str, Any]:
    """Return the gold graph of a scene, every relation told from both sides."""
    objects = [
        {"id": number, "category": item.category, "bbox": [float(x1), float(y1), float(x2 - x1), float(y2 - y1)]}
        for number, item in enumerate(scene.items)
        for x1, y1, x2, y2 in [item.box]
    ]
    relations = [
        {"subject_id": told.subject, "object_id": told.object, "predicate": told.predicate}
        for link in scene.links
        for told in (link, reverse(link))
    ]
    return {
        "image_id": image_id,
        "file_name": f"{image_id}.jpg",
        "width": CANVAS,
        "height": CANVAS,
        "objects": objects,
        "relations": relations,
    }


def shipped_scenes(count: int, seed: int) -> Iterator[Scene]:
    """Yield the scenes to ship, those with enough annotated pairs."""
    rng = np.random.default_rng(seed)
    found = 0
    while found < count:
        scene = make_scene(rng)
        if len(scene.links) >= FEWEST_PAIRS:
            found += 1
            yield scene


def write_scenes(folder: Path, count: int, seed: int) -> None:
    """Write the pictures and `references.jsonl`."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    lines = []
    for number, scene in enumerate(shipped_scenes(count, seed), start=1):
        gold = record(scene, f"scene_{number:03d}")
        (folder / "images" / gold["file_name"]).write_bytes(as_jpeg(scene.picture))
        lines.append(json.dumps(gold))
    (folder / "references.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for images/ and references.jsonl")
    parser.add_argument("--count", type=int, default=SHIPPED_SCENES, help="number of scenes")
    parser.add_argument("--seed", type=int, default=SHIPPED_SEED, help="seed of the scenes")
    return parser.parse_args()


def main() -> None:
    """Write the demo scenes."""
    options = arguments()
    write_scenes(options.out, options.count, options.seed)


if __name__ == "__main__":
    main()
