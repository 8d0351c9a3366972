"""From a scored relation to its card: the crop of the picture with the overlay, or the reason why there is none."""

import base64
import io
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

from PIL import Image

from sgeval.data.exported import ExportedImages, exported_files
from sgeval.errors import BadImage, SgevalError, shown
from sgeval.images import load_image
from sgeval.report.draw import SIDE, Overlay, Window, overlay, shown_window
from sgeval.report.text import cut, spoken
from sgeval.rows import Corners, ImageRow, RelationRow
from sgeval.runs import Run

QUALITY = 82


@dataclass(frozen=True)
class Drawing:
    """A crop as a data URI with its overlay; with neither, `reason` says why."""

    href: str | None
    overlay: Overlay | None
    reason: str | None = None


def check_folder(folder: Path | None) -> None:
    """Refuse a folder of pictures that is none."""
    if folder is not None and not folder.is_dir():
        raise SgevalError(f"images: expected a folder, got {shown(str(folder))}")


class Pictures:
    """The pictures of a run, read when needed; the last one is kept.

    `folder`: where they are, if no longer where the run says. Raises `SgevalError` when that is no folder.
    """

    def __init__(self, run: Run, folder: Path | None = None) -> None:
        check_folder(folder)
        self.folder = folder or run.images
        self.normalisation = run.options.normalisation
        self.rows: Mapping[str, ImageRow] = {row.image_id: row for row in run.rows.images}
        self._last: tuple[str, Image.Image] | None = None

    def draw(self, item: RelationRow, arrow: bool = True) -> Drawing:
        """The drawing of a relation. Never raises for a picture that is missing or broken."""
        boxes = [box for box in (item.subject_box, item.object_box) if _usable(box)]
        if len(boxes) < 2:
            return Drawing(None, None, "the run keeps no boxes for this relation")
        try:
            image = self._image(item.image_id)
        except SgevalError as fault:  # a BadImage, or an export that is none any more
            return Drawing(None, None, cut(self.plain(str(fault)), 240))
        crop = item.crop if _usable(item.crop) else None
        window = shown_window([*boxes, *([crop] if crop else [])], *image.size)
        subject, _, obj = spoken(item.subject, item.predicate, item.object, self.normalisation)
        over = overlay(window, boxes[0], boxes[1], (subject, obj), crop, arrow)
        return Drawing(jpeg_uri(image, window), over)

    def plain(self, words: str) -> str:
        """A message without the path of the picture folder in front of file names."""
        if self.folder is None:
            return words
        names = [str(self.folder)]
        with suppress(OSError, ValueError, RuntimeError):
            names.append(str(self.folder.resolve()))
        for name in sorted(names, key=len, reverse=True):
            words = words.replace(f"{name}/", "")
        return words

    def _image(self, image_id: str) -> Image.Image:
        if self._last and self._last[0] == image_id:
            return self._last[1]
        row = self.rows.get(image_id)
        if row is None:
            raise BadImage("the run knows no such picture")
        size = (row.width, row.height) if row.width and row.height else None
        embedded = self._embedded.get(image_id) if row.file is None else None
        image = load_image(embedded or self._path(row), size)
        self._last = (image_id, image)
        return image

    @cached_property
    def _embedded(self) -> Mapping[str, Any]:
        """The pictures in the files of an export, where the run was made from one."""
        return ExportedImages([] if self.folder is None else exported_files(self.folder))

    def _path(self, row: ImageRow) -> Path:
        """The file of a picture, inside the folder."""
        if row.file is None:
            raise BadImage("the run keeps no file name for this picture")
        if self.folder is None:
            raise BadImage("the run was not made from a folder of pictures, and none was given for the report")
        try:
            folder = self.folder.resolve()
            path = (folder / row.file).resolve()
            found = path.is_relative_to(folder) and path.is_file()
        except (OSError, ValueError, RuntimeError):
            found = False
        if not found:
            raise BadImage(f"{cut(row.file)}: no such file in the picture folder")
        return path


def _usable(box: Corners | None) -> TypeGuard[Corners]:
    return box is not None and all(map(math.isfinite, box)) and box[0] < box[2] and box[1] < box[3]


def jpeg_uri(image: Image.Image, window: Window) -> str:
    """A window of a picture as a JPEG data URI, at most `SIDE` pixels a side and never enlarged."""
    part = image.crop(window)
    part.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    part.save(file, "JPEG", quality=QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode("ascii")
