"""What an archive holds, member by member. Nothing is written here, and nothing an archive says of itself is believed.

`zipfile` and `tarfile` only take headers apart. They believe the lengths that a file tells them, so they see it through a
guard that refuses to hand out more than a header ought to need.
"""

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from sgeval.archives.names import parts_of
from sgeval.errors import SgevalError, one_line, shown

KINDS = "zip, tar, tar.gz, tar.bz2 or tar.xz"
AGAIN = "it may be cut short: fetch it again"
BLOCK = 2**20
MAX_HEADER_BYTES = 2**15  # of a member of a tar, with its long name and attributes
MAX_END_BYTES = 2**24  # zeros after the last member of a tar; up to a megabyte is usual
MAX_DIRECTORY_BYTES = 2**28  # of a zip
MAX_XZ_MEMORY = 2**28  # `xz -9` takes 65 MB
TAR_BLOCK = 512
ZIP_HEADER, ZIP_ENTRY = 30, b"PK\x01\x02"
METHODS = {9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd", 95: "xz", 99: "encryption"}

FAULTS = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError),
    *(ValueError, NotImplementedError, RuntimeError, OverflowError, LookupError),  # RecursionError is a RuntimeError
)
TAR_TYPES = {
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.LNKTYPE: "a hard link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
}
MODES = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


@dataclass(frozen=True, slots=True)
class Member:
    """A file or a folder: the checked parts of its name, the bytes it says it has, and its content piece by piece."""

    name: str
    parts: tuple[str, ...]
    is_folder: bool
    size: int
    pieces: Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Archive:
    """An open archive. `members` are gone through once, all pieces of each before the next; `declared` is the sum of their
    sizes, where a directory tells it beforehand; `position` is how far the archive was read, in bytes."""

    members: Iterator[Member]
    declared: int | None
    position: Callable[[], int]


@contextmanager
def opened(path: Path, most: int) -> Iterator[Archive]:
    """Open an archive, of a kind that its first bytes tell.

    Raises `SgevalError` in one line, here and while going through members: for a file that is no archive, is damaged, cut
    short or encrypted, has more than `most` members, or holds anything but regular files and folders.
    """
    place = one_line(str(path))
    with ExitStack() as open_files:
        file = open_files.enter_context(path.open("rb"))
        head = file.read(TAR_BLOCK)
        file.seek(0)
        if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            with _worded(place):
                entries = _zip_entries(file, place, most)
            file.seek(0)
            declared = sum(entry.file_size for entry in entries.infolist())
            yield Archive(_zip_members(entries, place), declared, file.tell)
            return
        stream: Any = file
        if head[:2] == b"\x1f\x8b":
            stream = open_files.enter_context(gzip.GzipFile(fileobj=file))
        elif head[:3] == b"BZh":
            stream = open_files.enter_context(bz2.BZ2File(file))
        elif head[:6] == b"\xfd7zXZ\x00":
            stream = open_files.enter_context(io.BufferedReader(_Xz(file), BLOCK))
        elif head[257:262] != b"ustar" and not path.name.endswith(".tar"):  # the oldest tars have no mark
            raise SgevalError(f"{place}: expected an archive ({KINDS}), got something else")
        yield Archive(_tar_members(stream, place), None, file.tell)


@contextmanager
def _worded(place: str) -> Iterator[None]:
    """Turn what the parsers raise into one line. Faults of the disk keep their number and pass."""
    try:
        yield
    except SgevalError:
        raise
    except FAULTS as fault:
        words = f"got a damaged one: {_said(fault)}; {AGAIN}"
        raise SgevalError(f"{place}: expected a whole archive ({KINDS}), {words}") from None
    except OSError as fault:
        if fault.errno is not None:
            raise
        raise SgevalError(f"{place}: expected a whole archive, got a damaged one: {_said(fault)}; {AGAIN}") from None


def _said(fault: BaseException) -> str:
    if isinstance(fault, RecursionError):
        return "headers within headers without end"
    return shown(str(fault) or type(fault).__name__)


def _refuse(place: str, name: str, got: str, expected: str = "regular files and folders only") -> SgevalError:
    return SgevalError(f"{place}: member {shown(name)}: expected {expected}, got {got}")


# --- zip


class _ZipGuard:
    """The file as `zipfile` sees it. The directory comes in one read, whose entries are counted before they are parsed."""

    def __init__(self, file: IO[bytes], place: str, most: int) -> None:
        self.file = file
        self.place = place
        self.most = most
        self.size = file.seek(0, io.SEEK_END)
        file.seek(0)
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        left = max(0, self.size - self.file.tell())  # memory is taken for what is asked, not for what there is
        data = self.file.read(min(MAX_DIRECTORY_BYTES + 1, left if size < 0 else min(size, left)))
        if len(data) > MAX_DIRECTORY_BYTES:
            raise ValueError(f"a directory of more than {MAX_DIRECTORY_BYTES:,} bytes")
        if len(data) > self.most and data.count(ZIP_ENTRY) > self.most:
            raise SgevalError(f"{self.place}: expected at most {self.most:,} members, got more")
        return data


def _zip_entries(file: IO[bytes], place: str, most: int) -> zipfile.ZipFile:
    entries = zipfile.ZipFile(_ZipGuard(file, place, most))
    if len(entries.infolist()) > most:
        raise SgevalError(f"{place}: expected at most {most:,} members, got {len(entries.infolist()):,}")
    ordered = sorted(entries.infolist(), key=lambda entry: entry.header_offset)
    ends = [entry.header_offset + ZIP_HEADER + len(entry.orig_filename) + entry.compress_size for entry in ordered]
    for entry, end, limit in zip(ordered, ends, [*(after.header_offset for after in ordered[1:]), entries.start_dir]):
        if end > limit:
            raise _refuse(place, entry.orig_filename, "one that overlaps what follows it", "members one after another")
    return entries


def _zip_members(entries: zipfile.ZipFile, place: str) -> Iterator[Member]:
    for entry in sorted(entries.infolist(), key=lambda entry: entry.header_offset):
        name, mode = entry.filename, stat.S_IFMT(entry.external_attr >> 16)
        if "\0" in entry.orig_filename:  # zipfile cuts names there
            name = entry.orig_filename
        parts = parts_of(name, place)
        if entry.flag_bits & 0x2041:
            raise _refuse(place, name, "one encrypted with a password", "no encryption")
        if mode not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _refuse(place, name, MODES.get(mode, "something else"))
        is_folder = name.endswith("/") or mode == stat.S_IFDIR
        if is_folder and entry.file_size:
            raise _refuse(place, name, "a folder with content")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            method = METHODS.get(entry.compress_type, f"method {entry.compress_type}")
            raise _refuse(place, name, f"{method}, which is not unpacked here", "members stored or deflated")
        yield Member(name, parts, is_folder, entry.file_size, partial(_zip_pieces, entries, entry, place))


def _zip_pieces(entries: zipfile.ZipFile, entry: zipfile.ZipInfo, place: str) -> Iterator[bytes]:
    with _worded(place), entries.open(entry) as content:
        while piece := content.read(BLOCK):
            yield piece


# --- tar


class _TarGuard:
    """A stream of a tar, read once from front to back, as `tarfile` sees it: a header at a time."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.at = 0
        self.left = MAX_HEADER_BYTES
        self.last = b""

    def tell(self) -> int:
        return self.at

    def read(self, size: int) -> bytes:
        self.left -= size
        if size < 0 or self.left < 0:
            raise ValueError(f"a header of a negative length, or of more than {MAX_HEADER_BYTES:,} bytes")
        self.last = self.stream.read(size)
        self.at += len(self.last)
        return self.last

    def seek(self, position: int) -> None:
        """Forward over what fills a member's last block; all else would be a lie about lengths."""
        if not 0 <= position - self.at < TAR_BLOCK:
            raise ValueError("a header that points elsewhere")
        self.read(position - self.at)

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next bytes, which are content."""
        while size:
            piece = self.stream.read(min(size, BLOCK))
            if not piece:
                raise EOFError("it ends in the middle of a member")
            self.at += len(piece)
            size -= len(piece)
            yield piece


def _tar_members(stream: IO[bytes], place: str) -> Iterator[Member]:
    guard = _TarGuard(stream)
    with _worded(place):
        tar = tarfile.TarFile(fileobj=guard, encoding="utf-8", errors="surrogateescape")  # type: ignore[arg-type]
    has_members = vars(tar)["firstmember"] is not None  # read already; without one, Python 3.10 fails to look for more
    while has_members:
        with _worded(place):
            guard.left = MAX_HEADER_BYTES
            entry = tar.next()
        if entry is None:
            break
        tar.members = []  # type: ignore[attr-defined]
        parts = parts_of(entry.name, place)
        if entry.issparse():
            raise _refuse(place, entry.name, "a sparse file")
        if not entry.isreg() and not entry.isdir():
            raise _refuse(place, entry.name, TAR_TYPES.get(entry.type, f"an entry of type {shown(chr(entry.type[0]))}"))
        if entry.size < 0 or entry.offset_data != guard.at or (entry.isdir() and entry.size):
            raise _refuse(place, entry.name, "one whose length cannot be", "members one after another")
        if entry.isreg() and entry.name.endswith("/"):
            raise _refuse(place, entry.name, "a file whose name is that of a folder")
        yield Member(entry.name, parts, entry.isdir(), entry.size, partial(_tar_pieces, guard, entry.size, place))
    with _worded(place):
        if guard.last != bytes(TAR_BLOCK):
            raise EOFError("it does not end in empty blocks; it is cut short, or something else begins in its middle")
        end = guard.at + MAX_END_BYTES
        while piece := stream.read(BLOCK):  # which checks the sum of a compressed stream, too
            guard.at += len(piece)
            if piece.count(0) != len(piece) or guard.at > end:
                raise ValueError("something stands after its end")


def _tar_pieces(guard: _TarGuard, size: int, place: str) -> Iterator[bytes]:
    with _worded(place):
        yield from guard.pieces(size)


class _Xz(io.RawIOBase):
    """What an xz file unpacks to. `lzma.open` takes as much memory as the file asks for, this at most `MAX_XZ_MEMORY`."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.decoder = self._new()

    def _new(self) -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            packed = b""
            if self.decoder.eof:  # several streams may follow each other, with zeros between
                packed = self.decoder.unused_data.lstrip(b"\0")
                while not packed:
                    block = self.file.read(BLOCK)
                    if not block:
                        return 0
                    packed = block.lstrip(b"\0")
                self.decoder = self._new()
            elif self.decoder.needs_input:
                packed = self.file.read(BLOCK)
                if not packed:
                    raise EOFError("it ends before the end of its compressed stream")
            if piece := self.decoder.decompress(packed, len(buffer)):
                buffer[: len(piece)] = piece
                return len(piece)
