"""Writing files so that a reader finds the old one or the new one, never half of one; and setting damaged ones aside."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO

from sgeval.errors import SgevalError, one_line, option


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[str]]:
    """Open a text file that takes its name only when the block ends without an error.

    Raises `SgevalError` when something else than a regular file has the name (see `check_replaceable`), and `OSError`,
    with the name, when the file cannot be written.
    """
    check_replaceable(path)
    with naming(path):
        make_folder(path.parent)
        try:
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        except OSError as fault:  # it names the temporary file
            raise OSError(fault.errno, fault.strerror, str(path)) from fault
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o666 & ~_umask())
            check_replaceable(path)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def check_replaceable(path: Path) -> None:
    """Raise `SgevalError` unless `path` is a regular file or nothing: folders, links, pipes and devices stay as they are."""
    if path.is_dir():
        raise SgevalError(f"{path}: expected the name of a file, got a folder; name a file inside it")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        got = "a link" if path.is_symlink() else "a device, a pipe or a socket"
        raise SgevalError(f"{path}: expected a regular file or a new name, got {got}")


def make_folder(path: Path) -> None:
    """Make a folder with those above it, where it is not there. Raises `OSError` that names what stands in the way."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None


def check_new_folder(folder: Path, overwrite: bool, is_ours: Callable[[Path], bool], what: str) -> None:
    """Raise `SgevalError` unless the name is free or, with `overwrite`, that of a folder of ours; `what` is such a one."""
    place = one_line(str(folder))
    if not folder.exists() and not folder.is_symlink():
        return
    if not overwrite:
        raise SgevalError(f"{place}: expected a new name, got one that exists; {option('overwrite')} replaces {what}")
    if folder.is_symlink() or not is_ours(folder):
        raise SgevalError(f"{place}: expected an earlier {what.split()[-1]} to replace, got something else")


def give_name(work: Path, folder: Path) -> None:
    """Give a finished folder its name. One that has the name steps aside first, and is removed after."""
    if not folder.exists():
        work.rename(folder)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".replaced", dir=folder.absolute().parent))
    folder.rename(aside / "old")
    try:
        work.rename(folder)
    except BaseException:
        (aside / "old").rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def set_aside(path: Path) -> str:
    """Give an SQLite file, its log and the log's index another name that is free, and return that name."""
    ends = ("-wal", "-shm", "-journal", "")  # the file itself last: until then it is still found corrupt
    names = (f"{path.name}.set-aside-{number}" for number in count(1))
    name = next(name for name in names if not any(path.with_name(name + end).exists() for end in ends))
    for end in ends:
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).rename(path.with_name(name + end))
    return name


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give `path` to any `OSError` of the block that names no file, such as that of a full disk."""
    try:
        yield
    except OSError as fault:
        if fault.filename is not None:
            raise
        raise OSError(fault.errno, fault.strerror or str(fault), str(path)) from fault


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
