"""What a build keeps beside its tables, to be told or looked at each time it is found again: pictures that are not as
annotated, and the folders and pictures that its rows come of, with their times of change.

A folder changes when a file in it is added, moved or removed. So one look a folder says whether the paths in the rows may
have gone stale. What a picture's header decided, or its bytes in a row, go stale when it is written over in place, which its
folder does not tell; so each picture that was opened is looked at too, 100,000 of them in less than a second.
"""

import json
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path

Stamp = list[int]
SHOWN = 3
"""How many pictures a warning names."""


@dataclass
class Notes:
    """`faults`: in words, one a picture. `folders`: when each was last changed, as it was first looked into. `pictures`:
    the size and times of each that was opened, before it was."""

    faults: list[str] = field(default_factory=list)
    folders: dict[str, int] = field(default_factory=dict)
    pictures: dict[str, Stamp] = field(default_factory=dict)

    def found(self, path: Path) -> None:
        """Note the folder of a file."""
        folder = str(path.parent)
        if folder not in self.folders:
            self.folders[folder] = changed(folder)

    def opening(self, path: Path) -> None:
        """Note a picture that decides something."""
        self.keep(str(path), stamp(path))

    def keep(self, path: str, then: Stamp) -> None:
        """Note how a picture was. One that was in two ways is as it was in neither."""
        if self.pictures.setdefault(path, then) != then:
            self.pictures[path] = []

    def write(self, folder: str, split: str, first: int) -> None:
        """Keep those of a stretch of a split. Whoever lists a folder of tables passes over hidden names."""
        path = Path(folder) / f".{split}-{first:09d}.notes.json"
        path.write_text(json.dumps(vars(self)), encoding="utf-8")

    def tell(self, title: str, stacklevel: int = 2) -> None:
        """Warn of the pictures that are not as annotated, if there are any."""
        if not self.faults:
            return
        number = len(self.faults)
        more = f"; and {number - SHOWN:,} more" if number > SHOWN else ""
        words = "picture is" if number == 1 else "pictures are"
        warnings.warn(
            f"{title}: {number:,} {words} not as annotated: {'; '.join(self.faults[:SHOWN])}{more}",
            stacklevel=stacklevel + 1,
        )

    @property
    def is_stale(self) -> bool:
        """Whether a folder or a picture has changed since."""
        return any(changed(folder) != then for folder, then in self.folders.items()) or any(
            stamp(path) != then for path, then in self.pictures.items()
        )


def changed(folder: str) -> int:
    """When a folder was last changed, in nanoseconds; -1 of one that is not there."""
    try:
        return Path(folder).stat().st_ctime_ns
    except OSError:
        return -1


def stamp(path: str | Path) -> Stamp:
    """A file's size, and when it was last changed by its own word and by the system's, in nanoseconds; -1 of one that is not
    there. The system sets the last at each change of what a file holds or is called; the one before can be set back."""
    try:
        status = os.stat(path)  # noqa: PTH116, a Path for each of 100,000 takes three times as long
    except OSError:
        return [-1, -1, -1]
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def clear_notes(folder: str) -> None:
    """Remove the notes of a build that was killed, whose stretches may have been others."""
    for path in Path(folder).glob(".*.notes.json"):
        path.unlink()


def read_notes(folder: str) -> Notes:
    """All notes of a build."""
    every = Notes()
    for path in sorted(Path(folder).glob(".*.notes.json")):
        one = _read(path)
        every.faults += one.faults
        for folder, then in one.folders.items():  # of several processes, the first to look
            every.folders[folder] = min(then, every.folders.get(folder, then))
        for picture, was in one.pictures.items():
            every.keep(picture, was)
    return every


def _read(path: Path) -> Notes:
    try:
        return Notes(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Notes(folders={str(path): 0})  # damaged: such a folder never is as it was
