"""Archives made by hand: honest ones of every kind. Hostile ones are in `archive_attacks_kit`."""

import hashlib
import io
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HONEST: dict[str, bytes] = {
    "annotations/list.json": b'{"a": 1}' * 400,
    "pictures/0001/a.jpg": bytes(range(256)) * 40,
    "pictures/0001/b.jpg": b"",
    "pictures/0002/Käfer – 甲虫.jpg": b"beetle",
    "README.txt": b"read me",
}
"""What honest archives hold; three entries at the top."""

Pieces = Iterable[tuple[Any, bytes]]


def zip_of(path: Path, members: Pieces, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """A zip of names (or `ZipInfo`) and contents, as Python writes it."""
    with zipfile.ZipFile(path, "w", method) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of doubled names
        for name, content in members:
            file.writestr(name, content, compress_type=method)
    return path


def tar_of(path: Path, members: Pieces, mode: str = "w") -> Path:
    """A tar of names (or `TarInfo`) and contents; `mode` "w:gz" and the like compress."""
    with tarfile.open(path, mode, format=tarfile.GNU_FORMAT) as file:  # type: ignore[call-overload]
        for member, content in members:
            entry = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
            if content:
                entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))
    return path


def honest(folder: Path, kind: str, contents: Mapping[str, bytes] = HONEST) -> Path:
    """An honest archive of a kind, with entries for its folders where that is usual."""
    path = folder / f"honest.{kind}"
    if kind == "zip":
        return zip_of(path, contents.items())
    if kind == "stored.zip":
        return zip_of(path, contents.items(), zipfile.ZIP_STORED)
    return tar_of(path, contents.items(), {"tar": "w", "tgz": "w:gz"}.get(kind, f"w:{kind.removeprefix('tar.')}"))


def tree(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Everything below a folder: kind, mode, time of change and what it holds."""
    found: dict[str, tuple[Any, ...]] = {}
    for path in sorted(folder.rglob("*")):
        state = path.lstat()
        kind = stat.S_IFMT(state.st_mode)
        content = path.readlink() if path.is_symlink() else ""
        if stat.S_ISREG(state.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        when = 0 if stat.S_ISDIR(state.st_mode) else state.st_mtime_ns
        found[str(path.relative_to(folder))] = (kind, stat.S_IMODE(state.st_mode), when, content)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder that are not sgeval's own."""
    files = (path for path in folder.rglob("*") if path.is_file())
    names = {str(path.relative_to(folder)): path for path in files}
    return {name: path.read_bytes() for name, path in names.items() if not name.startswith(".sgeval-")}


OURS = [".sgeval-unpacked"]
"""What stays of our own below a folder."""


def own(folder: Path) -> list[str]:
    """What there is of our own."""
    return sorted(path.name for path in folder.glob(".sgeval-*"))
