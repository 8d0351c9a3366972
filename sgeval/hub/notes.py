"""What a build keeps beside its tables, to be told or looked at each time it is found again: pictures that are not as
annotated, and the folders that files were found in, with their times of change; and the ids of videos, which the processes
of a build hold against each other at its end.

A folder changes when a file in it is added, moved or removed. So one look a folder says whether the paths in the rows may
have gone stale, where one a picture would cost seconds.
"""

import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path

SHOWN = 3
"""How many pictures a warning names."""


@dataclass
class Notes:
    """`faults`: in words, one a picture. `folders`: when each was last changed, as it was first looked into. `ids`: of the
    videos, in the order of the rows."""

    faults: list[str] = field(default_factory=list)
    folders: dict[str, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)

    def found(self, path: Path) -> None:
        """Note the folder of a file."""
        folder = str(path.parent)
        if folder not in self.folders:
            self.folders[folder] = changed(folder)

    def write(self, folder: str, split: str, first: int) -> None:
        """Keep those of a stretch of a split. Whoever lists a folder of tables passes over hidden names."""
        path = Path(folder) / f".{split}-{first:09d}.notes.json"
        notes = {"faults": self.faults, "folders": self.folders, "ids": self.ids}
        path.write_text(json.dumps(notes), encoding="utf-8")

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
        """Whether a folder has changed since."""
        return any(changed(folder) != then for folder, then in self.folders.items())


def changed(folder: str) -> int:
    """When a folder was last changed, in nanoseconds; -1 of one that is not there."""
    try:
        return Path(folder).stat().st_ctime_ns
    except OSError:
        return -1


def clear_notes(folder: str) -> None:
    """Remove the notes of a build that was killed, whose stretches may have been others."""
    for path in Path(folder).glob(".*.notes.json"):
        path.unlink()


def read_notes(folder: str, split: str = "*") -> Notes:
    """All notes of a build, or of one of its splits."""
    every = Notes()
    for path in sorted(Path(folder).glob(f".{split}-*.notes.json")):
        one = _entries(path)
        every.faults += one.faults
        every.ids += one.ids
        for of_files, then in one.folders.items():  # of several processes, the first to look
            every.folders[of_files] = min(then, every.folders.get(of_files, then))
    return every


def _entries(path: Path) -> Notes:
    try:
        one = json.loads(path.read_text(encoding="utf-8"))
        return Notes(one["faults"], one["folders"], one["ids"])
    except (OSError, ValueError, KeyError, TypeError):
        return Notes(folders={str(path): 0})  # damaged: such a folder never is as it was
