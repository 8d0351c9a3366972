"""What a build keeps beside its tables, to be told or looked at each time it is found again: pictures that are not as
annotated, and the folders that files were found in, with their times of change.

A folder changes when a file in it is added, moved or removed. So one look a folder says whether the paths in the rows may
have gone stale, where one a picture would cost seconds.
"""

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHOWN = 3
"""How many pictures a warning names."""


@dataclass
class Notes:
    """`faults`: in words, one a picture. `folders`: when each was last changed, as it was first looked into."""

    faults: list[str] = field(default_factory=list)
    folders: dict[str, int] = field(default_factory=dict)

    def found(self, path: Path) -> None:
        """Note the folder of a file."""
        folder = str(path.parent)
        if folder not in self.folders:
            self.folders[folder] = changed(folder)

    def write(self, folder: str, split: str, first: int) -> None:
        """Keep those of a stretch of a split. Whoever lists a folder of tables passes over hidden names."""
        path = Path(folder) / f".{split}-{first:09d}.notes.json"
        path.write_text(json.dumps({"faults": self.faults, "folders": self.folders}), encoding="utf-8")

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


def read_notes(folder: str) -> Notes:
    """All notes of a build."""
    every = Notes()
    for path in sorted(Path(folder).glob(".*.notes.json")):
        for fault, folders in _entries(path):
            every.faults += fault
            for folder, then in folders.items():  # of several processes, the first to look
                every.folders[folder] = min(then, every.folders.get(folder, then))
    return every


def _entries(path: Path) -> Iterator[tuple[list[str], dict[str, Any]]]:
    try:
        one = json.loads(path.read_text(encoding="utf-8"))
        yield one["faults"], one["folders"]
    except (OSError, ValueError, KeyError, TypeError):
        yield [], {str(path): 0}  # damaged: such a folder never is as it was
