"""The files of an archive, written below a fresh folder; bytes are counted before they are written."""

import hashlib
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sgeval.archives.members import Archive, Member, opened
from sgeval.archives.names import Names
from sgeval.errors import SgevalError, one_line, shown
from sgeval.progress import bar

FREE_BYTES = 64 * 2**20  # below this the ratio does not count
ROOM = 0.95  # of what is free on the disk
FILE_MODE, FOLDER_MODE = 0o644, 0o755
LEFT_OUT = ("__MACOSX", ".DS_Store")  # what macOS adds, beside files called ._NAME

File = tuple[str, int, str]
"""Name, size and SHA-256."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an archive may grow to: files and folders, bytes, and bytes for each byte of the archive (from 64 MB on). They
    are counted while files are written, whatever the archive says."""

    files: int = 1_000_000
    bytes: int = 2 * 10**12
    ratio: int = 200


USUAL = Limits()


class Counter:
    """Bytes written so far, against the lowest of what is allowed."""

    def __init__(self, place: str, limits: Limits, size: int, room: int) -> None:
        self.place = place
        self.written = 0
        self.most, self.why = min(
            (limits.bytes, "the most that is unpacked"),
            (max(FREE_BYTES, limits.ratio * size), f"{limits.ratio} for each of the archive's {size:,}"),
            (room, f"{ROOM:.0%} of what is free on the disk"),
        )

    def add(self, count: int) -> None:
        """Count bytes before they are written."""
        self.written += count
        self.check(self.written)

    def check(self, count: int) -> None:
        """Raise `SgevalError` if so many bytes are more than allowed."""
        if count > self.most:
            raise SgevalError(
                f"{self.place}: expected at most {self.most:,} bytes ({self.why}), got at least {count:,}"
            )


class Writer:
    """Files below a fresh folder, opened by the open folder above them: nothing that a link names is written or passed."""

    def __init__(self, root: Path) -> None:
        self.parts: list[str] = []
        self.open_folders = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)]

    def close(self) -> None:
        """Close all folders."""
        while self.open_folders:
            os.close(self.open_folders.pop())

    def folder(self, parts: tuple[str, ...]) -> int:
        """Make a folder with those above it, and open it."""
        depth = 0
        while depth < min(len(parts), len(self.parts)) and parts[depth] == self.parts[depth]:
            depth += 1
        while len(self.parts) > depth:
            os.close(self.open_folders.pop())
            self.parts.pop()
        for part in parts[depth:]:
            with suppress(FileExistsError):
                os.mkdir(part, FOLDER_MODE, dir_fd=self.open_folders[-1])
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            self.open_folders.append(os.open(part, flags, dir_fd=self.open_folders[-1]))
            self.parts.append(part)
        return self.open_folders[-1]

    def file(self, member: Member, counter: Counter, step: Any) -> str:
        """Write a file that is not there yet; its SHA-256."""
        folder = self.folder(member.parts[:-1])
        digest, size = hashlib.sha256(), 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(member.parts[-1], flags, FILE_MODE, dir_fd=folder), "wb", buffering=0) as file:
            for piece in member.pieces():
                size += len(piece)
                counter.add(len(piece))
                digest.update(piece)
                left = memoryview(piece)
                while left:
                    left = left[file.write(left) :]
                step()
        if size != member.size:
            got = f"{size:,}"
            raise SgevalError(
                f"{counter.place}: member {shown(member.name)}: expected {member.size:,} bytes, got {got}"
            )
        return digest.hexdigest()


def extract(archive: Path, staged: Path, limits: Limits) -> tuple[list[File], list[str]]:
    """Write all files of an archive below a folder that is made for them, in place of an earlier one. These files, and the
    names of those left out. Raises as `unpack`; what was written until then stays."""
    place = one_line(str(archive))
    if staged.exists():
        shutil.rmtree(staged)
    staged.mkdir(mode=FOLDER_MODE)
    size = archive.stat().st_size
    with opened(archive, limits.files) as content, bar(None, f"unpack {archive.name}", "B", size) as progress:
        counter = Counter(place, limits, size, int(shutil.disk_usage(staged).free * ROOM))
        if content.declared is not None:
            counter.check(content.declared)
        writer = Writer(staged)
        try:
            return _write_all(content, writer, counter, Names(place, limits.files), progress)
        finally:
            writer.close()


def _write_all(
    content: Archive, writer: Writer, counter: Counter, names: Names, progress: Any
) -> tuple[list[File], list[str]]:
    files: list[File] = []
    left_out: list[str] = []
    for member in content.members:
        if not member.parts:
            if member.is_folder:
                continue  # the top folder itself
            raise SgevalError(f"{counter.place}: member {shown(member.name)}: expected a name, got none")
        names.add(member.parts, member.is_folder)
        if any(part in LEFT_OUT or part.startswith("._") for part in member.parts):
            left_out.append("/".join(member.parts))
            for piece in member.pieces() if not member.is_folder else ():
                counter.add(len(piece))
        elif member.is_folder:
            writer.folder(member.parts)
        else:
            digest = writer.file(member, counter, lambda: progress.update(content.position() - progress.n))
            files.append(("/".join(member.parts), member.size, digest))
    return files, left_out
