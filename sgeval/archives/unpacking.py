"""Unpacking: into a hidden folder first, and into place by renames once everything is there.

Below the folder that is unpacked into, `.sgeval-unpacking` holds what is not in place yet, and `.sgeval-unpacked` a
manifest of each archive that is: names, sizes and SHA-256 of all files. The manifest is written when the last file is;
from then on, whatever stops the work, the next call goes on with the renames. An archive that stopped earlier left
nothing but the hidden folder, which the next call clears. Only an archive with several entries at its top, or one that
is merged into folders that are there, can be half in place; `check_unpacked` says so.
"""

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgeval.archives.members import BLOCK
from sgeval.archives.names import OWN
from sgeval.archives.writing import USUAL, Limits, extract
from sgeval.errors import SgevalError, one_line
from sgeval.files import atomic_write, make_folder, naming

WORK, RECORDS, MANIFEST, STAGED, LOCK = f"{OWN}unpacking", f"{OWN}unpacked", "manifest.json", "files", "lock"
PACKED = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What came of an archive. `already` says that it had been unpacked before and was left alone; `left_out` names files
    of macOS that are no content; `archives` names the archives that it holds, which stay packed."""

    archive: str
    folder: str
    files: int
    bytes: int
    top: tuple[str, ...]
    left_out: tuple[str, ...]
    archives: tuple[str, ...]
    already: bool


def unpack(archive: str | Path, into: str | Path, *, limits: Limits = USUAL) -> Unpacked:
    """Unpack a zip, tar, tar.gz, tar.bz2 or tar.xz into a folder, which may hold other files.

    All of it gets there or nothing does. Regular files only, with mode 644; archives inside stay packed. A file that is
    there with the same content stays, and so does an archive that was unpacked there before (same name, size and time of
    change, all files there). After a kill the same call clears up and finishes.

    Raises `SgevalError` in one line, and changes nothing below `into` or elsewhere: for what is no archive, is damaged,
    cut short or encrypted; for links, devices, sparse files; for names that are absolute, lead out of the folder, come
    twice, or mean something else on another system; for more than `limits` or the disk allow; where another file is in
    the way; and while another process unpacks there. Raises `OSError` with a name for faults of the disk.

    >>> import tempfile, zipfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with zipfile.ZipFile(folder / "pictures.zip", "w") as file:
    ...     file.writestr("VG_100K/1.jpg", b"...")
    >>> unpack(folder / "pictures.zip", folder / "vg").files
    1
    """
    archive, folder = Path(archive), Path(into)
    if os.open not in os.supports_dir_fd:
        raise SgevalError("unpack: expected a system that opens files below a folder that is open, got Windows")
    if not archive.is_file():
        raise SgevalError(
            f"{one_line(str(archive))}: expected an archive, got {'a folder' if archive.is_dir() else 'none'}"
        )
    source = _identity(archive)
    with _workplace(folder) as work:
        _put_in_place(folder, work)
        if done := _unpacked_before(folder, source):
            return _result(done, folder, True)
        files, left_out = extract(archive, work / STAGED, limits)
        manifest = {**source, "files": files, "left_out": left_out}
        list(_moves(work / STAGED, folder, _sums(manifest)))  # raises where something is in the way
        os.sync()  # one call for all files, where one for each would take minutes
        with atomic_write(work / MANIFEST) as file:
            json.dump(manifest, file, indent=0)
        _put_in_place(folder, work)
        return _result(manifest, folder, False)


def check_unpacked(folder: str | Path) -> None:
    """Raise `SgevalError` if an archive may be half in place in a folder. One look at one name.

    >>> check_unpacked(".")
    """
    path = Path(folder) / WORK / MANIFEST
    if path.exists():
        name = one_line(str((_read(path) or {}).get("archive", "an archive")))
        raise SgevalError(
            f"{one_line(str(folder))}: expected whole files, got some of {name}, whose unpacking was stopped; "
            "the same `sgeval data unpack` finishes it"
        )


def _identity(archive: Path) -> dict[str, Any]:
    state = archive.stat()
    return {"archive": archive.name, "archive_bytes": state.st_size, "archive_modified": state.st_mtime_ns}


def _result(manifest: Mapping[str, Any], folder: Path, already: bool) -> Unpacked:
    names = [name for name, _, _ in manifest["files"]]
    top = dict.fromkeys(name.split("/")[0] for name in names)
    packed = tuple(name for name in names if name.lower().endswith(PACKED))
    total = sum(size for _, size, _ in manifest["files"])
    left_out = tuple(manifest["left_out"])
    return Unpacked(manifest["archive"], str(folder), len(names), total, tuple(top), left_out, packed, already)


def _sums(manifest: Mapping[str, Any]) -> dict[str, tuple[int, str]]:
    return {name: (size, digest) for name, size, digest in manifest["files"]}


# --- the folder at work


@contextmanager
def _workplace(folder: Path) -> Iterator[Path]:
    """The hidden folder, ours alone. At the end it goes, unless an archive is half in place; then new folders go too."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    make_folder(folder)
    work = folder / WORK
    with naming(folder):
        try:
            _own_folder(work)
            with _locked(work / LOCK):
                try:
                    yield work
                finally:
                    if not (work / MANIFEST).exists():
                        shutil.rmtree(work, ignore_errors=True)
        finally:
            for path in (work, *new):
                with suppress(OSError):  # it holds something, so it stays
                    path.rmdir()


def _own_folder(path: Path) -> None:
    """Make a folder of ours; never a link to one."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    if not stat.S_ISDIR(path.lstat().st_mode):
        raise SgevalError(f"{one_line(str(path))}: expected a folder of sgeval or nothing, got something else")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock on a file that others of us try for too. Where the disk knows no locks, go on without: whoever comes
    second clears the folder away from under the first, which then ends in an error."""
    import fcntl

    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "rb+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
        except BlockingIOError:
            is_ours = False
        except OSError:
            is_ours = True
        if not is_ours:
            raise SgevalError(
                f"{one_line(str(path.parent.parent))}: expected no one else, got another `sgeval data unpack`"
            )
        yield


# --- into place


def _put_in_place(folder: Path, work: Path) -> None:
    """Move the files of a complete manifest, those that are not moved yet, and keep the manifest."""
    manifest = _read(work / MANIFEST)
    if manifest is None:
        (work / MANIFEST).unlink(missing_ok=True)
        return
    moves = list(_moves(work / STAGED, folder, _sums(manifest)))
    for origin, goal in moves:
        origin.rename(goal)
    for parent in {goal.parent for _, goal in moves}:
        _flush(parent)
    _own_folder(folder / RECORDS)
    (work / MANIFEST).rename(folder / RECORDS / _record_name(manifest))
    _flush(folder / RECORDS)


def _moves(
    origin: Path, goal: Path, sums: Mapping[str, tuple[int, str]], name: str = ""
) -> Iterator[tuple[Path, Path]]:
    """What to rename to what: whole folders where nothing is there yet. Files that are there with the same content stay.

    Raises `SgevalError` where something else is in the way."""
    for entry in sorted(origin.iterdir()) if _is_folder(origin) else ():
        path, inner = goal / entry.name, f"{name}{entry.name}"
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            yield entry, path
            continue
        if _is_folder(entry) and stat.S_ISDIR(mode):
            if _disk(entry) != _disk(path):  # a rename would fail half-way
                raise SgevalError(f"{one_line(str(path))}: expected a folder on the disk of the one above, got a mount")
            yield from _moves(entry, path, sums, f"{inner}/")
        elif inner not in sums or not stat.S_ISREG(mode) or _sum(path, sums[inner][0]) != sums[inner]:
            expected = "nothing there, or the file of the archive"
            raise SgevalError(f"{one_line(str(path))}: expected {expected}, got something else; move it away first")


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _disk(path: Path) -> int:
    return path.stat().st_dev


def _sum(path: Path, size: int) -> tuple[int, str]:
    """Size and SHA-256 of a file; the sum is left out where the size is another."""
    there = path.stat().st_size
    if there != size:
        return there, ""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return there, digest.hexdigest()


def _unpacked_before(folder: Path, source: Mapping[str, Any]) -> dict[str, Any] | None:
    """The manifest of the same archive, if all its files are there."""
    manifest = _read(folder / RECORDS / _record_name(source))
    if manifest is None or any(manifest[key] != value for key, value in source.items()):
        return None
    for name, size, _ in manifest["files"]:
        try:
            state = (folder / name).lstat()
        except OSError:
            return None
        if not stat.S_ISREG(state.st_mode) or state.st_size != size:
            return None
    return manifest


def _record_name(source: Mapping[str, Any]) -> str:
    words = json.dumps([source["archive"], source["archive_bytes"], source["archive_modified"]])
    return hashlib.sha256(words.encode()).hexdigest()[:16] + ".json"


def _read(path: Path) -> dict[str, Any] | None:
    """A manifest; nothing if there is none, or a file that is none."""
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        ok = isinstance(manifest["archive"], str) and all(
            isinstance(name, str) and isinstance(size, int) and isinstance(digest, str)
            for name, size, digest in manifest["files"]
        )
        ok = ok and all(isinstance(name, str) for name in manifest["left_out"])
        return manifest if ok and {"archive_bytes", "archive_modified"} <= manifest.keys() else None
    except (FileNotFoundError, NotADirectoryError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _flush(folder: Path) -> None:
    """Make renames in a folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
