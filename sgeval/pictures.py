"""The pictures of a run before any is decoded: their sizes, their names, and whether the boxes fit them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sgeval.errors import BadImage, InvalidInput, shown
from sgeval.images import Size, image_size
from sgeval.matching import corner_hint, fits_only_as_corners
from sgeval.progress import bar
from sgeval.records import SceneGraph
from sgeval.validation import Parsed


def is_list(images: Any) -> bool:
    """Whether pictures came as a list beside the graphs."""
    return isinstance(images, Sequence) and not isinstance(images, (str, bytes))


def beside(images: Sequence[Any], graphs: Parsed, row: str) -> dict[str, Any]:
    """The mapping of a list of pictures that stands beside the rows of graphs; `row` is what one of them is called."""
    if len(images) != graphs.n_rows:
        raise InvalidInput("images", [f"images: expected one a {row} ({graphs.n_rows}), got {len(images)}"])
    return {graph.key: images[position] for graph, position in zip(graphs.graphs, graphs.positions, strict=True)}


def stated_size(*graphs: SceneGraph | None) -> Size | None:
    """The (width, height) that the first of the graphs with one states, or nothing."""
    for graph in graphs:
        if graph is not None and graph.width is not None and graph.height is not None:
            return (graph.width, graph.height)
    return None


def picture_sizes(
    sources: Sequence[Any], stated: Sequence[Size | None], wanted: Sequence[bool]
) -> tuple[list[Size | None], dict[int, str]]:
    """The size of each picture from its header, and by index what is wrong with those that have none. One that is not
    `wanted` is not opened: it has neither."""
    sizes: list[Size | None] = []
    faults: dict[int, str] = {}
    steps = bar(zip(sources, stated, wanted, strict=True), "headers", "picture", total=len(sources))
    for index, (source, size, is_wanted) in enumerate(steps):
        try:
            if isinstance(source, BadImage) and is_wanted:
                raise source
            sizes.append(image_size(source, size) if is_wanted else None)
        except BadImage as fault:
            faults[index] = str(fault)
            sizes.append(None)
    return sizes, faults


def check_boxes(name: str, graphs: Sequence[SceneGraph | None], sizes: Sequence[Size | None]) -> None:
    """Refuse graphs whose boxes are corners: judged over all boxes together. `name` is what the graphs are called."""
    total = faulty = 0
    for graph, size in zip(graphs, sizes, strict=True):
        if graph is None or size is None:
            continue
        boxes = [item.bbox for item in graph.objects if item.bbox is not None]
        total += len(boxes)
        faulty += sum(fits_only_as_corners(box, *size) for box in boxes)
    hint = corner_hint(faulty, total)
    if hint:
        raise InvalidInput(name, [f"{name}[…].objects[…].bbox: {hint}"])


def of_image(key: str, fault: str) -> str:
    """The fault of a picture, with the image it is of."""
    return f"image {shown(key)}: {fault}"


def stamp(source: Any) -> str:
    """A file's name, length and time of change: another file in its place has another stamp."""
    if not isinstance(source, Path):
        return ""
    found = source.stat()
    return f"{source.name} {found.st_size} {found.st_mtime_ns}"


def file_below(source: Any, images: Any) -> str | None:
    """Where a picture lies below the folder of pictures; its bare name where it came another way."""
    if not isinstance(source, (str, Path)):
        return None
    is_folder = isinstance(images, (str, os.PathLike))
    return Path(source).relative_to(Path(images).resolve()).as_posix() if is_folder else Path(source).name
