"""Archives made by hand that try to get out, to fill the disk or to confuse."""

import bz2
import gzip
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from archive_kit import tar_of, zip_of

# --- hostile zips

ENTRY = b"PK\x01\x02\x14\x03\x14\x00"
"""How an entry of the directory begins that Python writes on Unix; flags follow."""


def _info(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.create_system, entry.external_attr = 3, mode << 16
    return entry


def _zip(*names: Any, content: bytes = b"x") -> Callable[[Path], Path]:
    return lambda path: zip_of(path, [(name, content) for name in names])


def _replaced(make: Callable[[Path], Path], old: bytes, new: bytes) -> Callable[[Path], Path]:
    """The archive with some bytes in the place of others; names are thus changed in both headers of a zip."""

    def changed(path: Path) -> Path:
        data = make(path).read_bytes()
        assert old in data and len(old) == len(new)
        path.write_bytes(data.replace(old, new))
        return path

    return changed


def _cut(make: Callable[[Path], Path], part: float) -> Callable[[Path], Path]:
    def cut(path: Path) -> Path:
        data = make(path).read_bytes()
        path.write_bytes(data[: int(len(data) * part)])
        return path

    return cut


def _lying(field: int, value: int) -> Callable[[Path], Path]:
    """A zip whose central directory says another number, at this place of its entry (APPNOTE 4.3.12)."""

    def lie(path: Path) -> Path:
        data = bytearray(zip_of(path, [("a.bin", b"content " * 100)]).read_bytes())
        at = data.index(b"PK\x01\x02") + field
        struct.pack_into("<I", data, at, value)
        path.write_bytes(data)
        return path

    return lie


def _overlapping(path: Path) -> Path:
    """Many entries of the directory that share one local header, as in zip bombs without nesting."""
    data = zip_of(path, [("a", bytes(100_000))]).read_bytes()
    at, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry, count = data[at:end], 50
    record = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(entry) * count, at, 0)
    path.write_bytes(data[:at] + entry * count + record)
    return path


def _quoting(path: Path) -> Path:
    """The first entry says that it goes on over the second one."""
    data = bytearray(zip_of(path, [("a", b"1" * 50), ("b", b"2" * 50)], zipfile.ZIP_STORED).read_bytes())
    at = data.index(b"PK\x01\x02")
    struct.pack_into("<II", data, at + 20, 130, 130)
    path.write_bytes(data)
    return path


def _other_local_name(path: Path) -> Path:
    data = bytearray(zip_of(path, [("aaaa", b"x")]).read_bytes())
    data[30:34] = b"../b"
    path.write_bytes(data)
    return path


def empty_members(path: Path) -> Path:
    """Ten thousand files without content: 10,000 names in some 900 kB."""
    return zip_of(path, [(f"{number:05d}", b"") for number in range(10_000)])


# --- hostile tars


def _entry(name: str, kind: bytes, link: str = "", **more: Any) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    for key, value in more.items():
        setattr(entry, key, value)
    return entry


def _tar(*members: Any, mode: str = "w") -> Callable[[Path], Path]:
    return lambda path: tar_of(
        path, [member if isinstance(member, tuple) else (member, b"") for member in members], mode
    )


def header(name: bytes, size: bytes, kind: bytes = b"0") -> bytes:
    """One header of a tar, in the form of POSIX.1-1988, with `size` as it stands there."""
    block = bytearray(512)
    block[:100] = name.ljust(100, b"\0")
    block[100:108], block[108:116], block[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
    block[124:136], block[136:148] = size.ljust(12, b"\0"), b"00000000000\0"
    block[148:156], block[156:157], block[257:265] = b" " * 8, kind, b"ustar\x0000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def octal(size: int) -> bytes:
    return b"%011o\0" % size


def filled(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


END = bytes(1024)


def _blocks(*blocks: bytes, end: bytes = END) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        path.write_bytes(b"".join(blocks) + end)
        return path

    return write


def pax(**values: str) -> bytes:
    """A header of POSIX.1-2001 that gives the next member other values."""
    records = b""
    for key, value in values.items():
        rest = f" {key.replace('__', '.')}={value}\n".encode()
        length = len(rest) + 1
        while length != len(rest) + len(str(length)):
            length = len(rest) + len(str(length))
        records += str(length).encode() + rest
    return header(b"pax", octal(len(records)), b"x") + filled(records)


FILE = header(b"a.bin", octal(5)) + filled(b"hello")


def _packed(pack: Callable[[bytes], bytes], make: Callable[[Path], Path]) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        path.write_bytes(pack(make(path).read_bytes()))
        return path

    return write


def _bad_sum(data: bytes) -> bytes:
    return data[:-8] + bytes(4) + data[-4:]


def _huge_dictionary(data: bytes) -> bytes:
    """An xz file that asks for a dictionary of 1.5 GiB (byte 37 of the LZMA2 filter) to be kept for it."""
    packed = bytearray(lzma.compress(data, lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 2**20}]))
    length = (packed[12] + 1) * 4  # of the block header, which follows the 12 bytes of the stream header
    at = packed.index(b"\x21\x01", 12, 12 + length) + 2
    packed[at] = 37
    packed[12 + length - 4 : 12 + length] = struct.pack("<I", zlib.crc32(bytes(packed[12 : 12 + length - 4])))
    return bytes(packed)


def _gzipped_zeros(count: int) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        with gzip.open(path, "wb", 9) as file:
            file.write(header(b"zeros", octal(count)))
            for _ in range(count >> 20):
                file.write(bytes(2**20))
            file.write(END)
        return path

    return write


ZEROS = 200 * 2**20
"""Bytes that a bomb unpacks to: more than 200 for each of its own, and more than the 64 MB that are free."""

Attack = tuple[str, Callable[[Path], Path], str]

ZIPS: dict[str, Attack] = {
    "climbs out": ("zip", _zip("../x"), 'member "../x": expected a name below the folder, got one with ".."'),
    "climbs out from inside": ("zip", _zip("good.jpg", "a/../../x"), 'got one with ".."'),
    "to a folder whose name begins alike": ("zip", _zip("../into-evil/x"), 'got one with ".."'),
    "absolute": ("zip", _zip("/tmp/x"), "got an absolute one"),
    "a share": ("zip", _zip("//host/share/x"), "got an absolute one"),
    "a drive": ("zip", _zip("C:/x"), "got one with a backslash or a colon"),
    "a drive without a path": ("zip", _zip("C:x"), "got one with a backslash or a colon"),
    "a second stream": ("zip", _zip("a.jpg:x"), "got one with a backslash or a colon"),
    "backslashes": ("zip", _zip("..\\x"), "got one with a backslash or a colon"),
    "NUL": ("zip", _replaced(_zip("a.jpgZ.exe"), b"a.jpgZ.exe", b"a.jpg\0.exe"), r'member "a.jpg\u0000.exe"'),
    "right to left": ("zip", _zip("a\u202egpj.exe"), r'member "a\u202egpj.exe": expected a name of printable'),
    "escapes of a terminal": ("zip", _zip("a\x1b[2Jb"), "expected a name of printable"),
    "two lines": ("zip", _zip("a\nsgeval: all is well"), "expected a name of printable"),
    "a part too long": ("zip", _zip("a" * 256), "and 255 in a part, got a longer name"),
    "a name too long": ("zip", _zip("/".join(["a" * 200] * 6)), "expected at most 1,024 bytes"),
    "too many folders": ("zip", _zip("/".join("a" * 40)), "expected at most 32 parts, got 40"),
    "ends in a dot": ("zip", _zip("a."), "end in no dot and no blank"),
    "a folder that ends in a blank": ("zip", _zip("a /b"), "end in no dot and no blank"),
    "three dots": ("zip", _zip(".../b"), "end in no dot and no blank"),
    "a device of Windows": ("zip", _zip("pictures/aux.jpg"), 'no name of a device of Windows, got "aux.jpg"'),
    "another device of Windows": ("zip", _zip("Com1/a"), 'no name of a device of Windows, got "Com1"'),
    "our own name": ("zip", _zip(".sgeval-unpacking/manifest.json"), "which unpacking uses itself"),
    "our own name in capitals": ("zip", _zip("a/.SGEVAL-unpacked/x"), "which unpacking uses itself"),
    "a name twice": ("zip", _zip("a.jpg", "a.jpg"), 'member "a.jpg": expected each name once, got it twice'),
    "names that differ in case": ("zip", _zip("a.jpg", "A.jpg"), 'got "a.jpg" too, which is the same name where case'),
    "folders that differ in case": ("zip", _zip("a/1.jpg", "A/2.jpg"), 'got "a" too, which is the same name'),
    "composed letters": ("zip", _zip("\u00e9", "e\u0301"), "which is the same name"),
    "a file that is a folder": (
        "zip",
        _zip("a", "a/b"),
        'member "a": expected each name once, got a file and a folder',
    ),
    "a folder that is a file": (
        "zip",
        _zip("a/b", "a"),
        'member "a": expected each name once, got a file and a folder',
    ),
    "no name": ("zip", _zip("./."), 'member "./.": expected a name, got none'),
    "a link": ("zip", _zip(_info("link", 0o120777), content=b"/etc"), "only, got a symbolic link"),
    "a link and a file behind it": ("zip", _zip(_info("l", 0o120777), "l/x", content=b".."), "got a symbolic link"),
    "a device": ("zip", _zip(_info("dev", 0o020666)), "got a device"),
    "a pipe": ("zip", _zip(_info("pipe", 0o010666)), "got a pipe"),
    "a folder with content": ("zip", _zip(_info("dir/", 0o040755)), "got a folder with content"),
    "encrypted": ("zip", _replaced(_zip("a"), ENTRY + b"\x00", ENTRY + b"\x01"), "got one encrypted with a password"),
    "says less than it holds": ("zip", _lying(24, 100), "got a damaged one"),
    "says more than it holds": ("zip", _lying(24, 900), 'member "a.bin": expected 900 bytes, got 800'),
    "another sum": ("zip", _lying(16, 1), "got a damaged one"),
    "one content for fifty members": ("zip", _overlapping, "got one that overlaps what follows it"),
    "a member over the next": ("zip", _quoting, "got one that overlaps what follows it"),
    "another name before the content": ("zip", _other_local_name, "got a damaged one"),
    "a bomb": (
        "zip",
        _zip("a", content=bytes(ZEROS)),
        "expected at most 67,108,864 bytes (200 for each of the archive's",
    ),
    "a bomb that says it is small": (
        "zip",
        lambda path: _bomb_that_lies(path),
        "got a damaged one",
    ),
    "cut": ("zip", _cut(_zip("a", "b", content=b"x" * 999), 0.6), "got a damaged one"),
    "another compression": (
        "zip",
        lambda path: zip_of(path, [("a", b"x" * 99)], zipfile.ZIP_BZIP2),
        "got bzip2, which is not unpacked here",
    ),
}

TARS: dict[str, Attack] = {
    "climbs out": ("tar", _tar("../x"), 'got one with ".."'),
    "to a folder whose name begins alike": ("tar", _tar("../into-evil/x"), 'got one with ".."'),
    "absolute": ("tar", _tar("/tmp/x"), "got an absolute one"),
    "climbs out by a long name": ("tar", _tar("a/" * 60 + "../" * 62 + "x"), 'got one with ".."'),
    "climbs out by another header": ("tar", _blocks(pax(path="../x"), FILE), 'member "../x"'),
    "NUL by another header": ("tar", _blocks(pax(path="a\0b"), FILE), "expected a name of printable"),
    "bytes that are no UTF-8": ("tar", _blocks(header(b"a\xff", octal(0))), "expected a name of printable"),
    "names that differ in case": ("tar", _tar("a", "A"), "which is the same name"),
    "a name twice": ("tar", _tar("a", "a"), "got it twice"),
    "a link": ("tar", _tar(_entry("l", tarfile.SYMTYPE, "/etc")), "got a symbolic link"),
    "a link and a file behind it": (
        "tar",
        _tar(_entry("l", tarfile.SYMTYPE, ".."), ("l/x", b"x")),
        "got a symbolic link",
    ),
    "a chain of links": (
        "tar",
        _tar(_entry("a", tarfile.SYMTYPE, "."), _entry("b", tarfile.SYMTYPE, "a/.."), ("b/x", b"x")),
        "got a symbolic link",
    ),
    "a hard link": ("tar", _tar(_entry("l", tarfile.LNKTYPE, "/etc/passwd")), "got a hard link"),
    "a hard link inside": ("tar", _tar(("a", b"x"), _entry("l", tarfile.LNKTYPE, "a")), "got a hard link"),
    "a device": ("tar", _tar(_entry("d", tarfile.CHRTYPE, devmajor=1, devminor=5)), "got a device"),
    "a disk": ("tar", _tar(_entry("d", tarfile.BLKTYPE, devmajor=8, devminor=0)), "got a device"),
    "a pipe": ("tar", _tar(_entry("p", tarfile.FIFOTYPE)), "got a pipe"),
    "an unknown type": ("tar", _blocks(header(b"a", octal(0), b"Z")), 'got an entry of type "Z"'),
    "a sparse file": ("tar", _blocks(header(b"a", octal(0), b"S")), "got a sparse file"),
    "a sparse file by another header": (
        "tar",
        _blocks(pax(GNU__sparse__map="0,5", GNU__sparse__size="99999999999", GNU__sparse__numblocks="1"), FILE),
        "got a sparse file",
    ),
    "an endless map of a sparse file": (
        "tar",
        _blocks(pax(GNU__sparse__major="1", GNU__sparse__minor="0"), header(b"a", octal(2**30)), b"9999999\n" * 99_999),
        "got a damaged one",
    ),
    "a name of a gigabyte": (
        "tar",
        _blocks(header(b"././@LongLink", octal(2**30), b"L"), b"a" * 2**20),
        "more than 32,768",
    ),
    "a header of a gigabyte": ("tar", _blocks(header(b"pax", octal(2**30), b"x"), b"a" * 2**20), "more than 32,768"),
    "headers within headers": (
        "tar",
        _blocks((header(b"l", octal(1), b"L") + filled(b"a")) * 5000),
        "got a damaged one",
    ),
    "a negative length": ("tar", _blocks(FILE, header(b"a", b"\xff" * 11 + b"\x00")), "whose length cannot be"),
    "a negative length by another header": ("tar", _blocks(pax(size="-1024"), FILE), "whose length cannot be"),
    "a header of a negative length": (
        "tar",
        _blocks(header(b"pax", b"\xff" * 10 + b"\xfc\x00", b"x"), FILE),
        "negative",
    ),
    "terabytes": ("tar", _blocks(header(b"a", octal(2**32))), "it ends in the middle of a member"),
    "cut in a member": ("tar", _blocks(FILE[:514], end=b""), "it ends in the middle of a member"),
    "cut between members": (
        "tar",
        _blocks(FILE, FILE.replace(b"a.bin", b"b.bin"), end=b""),
        "it does not end in empty",
    ),
    "noise in its middle": ("tar", _blocks(FILE, b"noise" * 99), "it does not end in empty blocks"),
    "something after its end": ("tar", _blocks(FILE, END, FILE), "something stands after its end"),
    "a bomb": ("tar.gz", _gzipped_zeros(ZEROS), "(200 for each of the archive's"),
    "a bomb of bzip2": (
        "tar.bz2",
        _packed(bz2.compress, _blocks(header(b"z", octal(ZEROS)), bytes(ZEROS))),
        "(200 for each",
    ),
    "gzip cut": ("tar.gz", _cut(_tar(("a", os.urandom(5000)), mode="w:gz"), 0.7), "got a damaged one"),
    "gzip with another sum": (
        "tar.gz",
        _packed(lambda data: _bad_sum(gzip.compress(data)), _tar(("a", b"x"))),
        "damaged",
    ),
    "bzip2 cut": ("tar.bz2", _cut(_tar(("a", os.urandom(5000)), mode="w:bz2"), 0.7), "got a damaged one"),
    "xz cut": ("tar.xz", _cut(_tar(("a", os.urandom(5000)), mode="w:xz"), 0.7), "got a damaged one"),
    "xz that wants gigabytes": ("tar.xz", _packed(_huge_dictionary, _tar(("a", b"x"))), "Memory usage limit"),
    "gzip without a tar": ("tar.gz", _packed(gzip.compress, _blocks(b"[1, 2]" * 200)), "got a damaged one"),
    "no archive": ("tar", _blocks(b"no archive " * 99), "got a damaged one"),
}

ATTACKS = {f"{kind}: {name}": attack for kind, of in (("zip", ZIPS), ("tar", TARS)) for name, attack in of.items()}


def _bomb_that_lies(path: Path) -> Path:
    data = bytearray(zip_of(path, [("a", bytes(ZEROS))]).read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 1000)
    path.write_bytes(data)
    return path
