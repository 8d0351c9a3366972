"""A file of graphs as it is handed in: as it stands, or alone in a zip. What it is tells its content, not its name."""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sgeval import archives
from sgeval.errors import Fault, InvalidInput, SgevalError, counted, one_line, shown
from sgeval.every_row import Reading
from sgeval.limits import Limits

ENDINGS = (".json", ".jsonl", ".ndjson")
EXPECTED = "JSON lines, a JSON list, or a zip of one such file"
ZIP = "a zip archive"
NAMED = 5
"""So many files of an archive are named."""

CONTENTS = (
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", ZIP),
    (0, b"\x1f\x8b", "a gzip file"),
    (0, b"BZh", "a bzip2 file"),
    (0, b"\xfd7zXZ\x00", "an xz file"),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a rar archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x89PNG\r\n", "a PNG picture"),
    (0, b"\xff\xd8\xff", "a JPEG picture"),
    (0, b"GIF8", "a GIF picture"),
    (8, b"WEBP", "a WebP picture"),
    (0, b"%PDF-", "a PDF"),
    (0, b"PAR1", "a Parquet file"),
    (0, b"ARROW1", "an Arrow file"),
    (0, b"\x89HDF\r\n", "an HDF5 file"),
    (0, b"\x93NUMPY", "a numpy array"),
    *((0, bytes((0x80, protocol)), "a Python pickle") for protocol in range(2, 6)),
    (0, b"SQLite format 3\x00", "an SQLite database"),
    (0, b"\x7fELF", "a program"),
    (0, b"\xff\xfe", "UTF-16 text, where UTF-8 is read"),
    (0, b"\xfe\xff", "UTF-16 text, where UTF-8 is read"),
)
"""Where in a file that begins as no JSON text does, which bytes, and what they say it is."""


@contextmanager
def handed_in(path: Path, reading: Reading) -> Iterator[Path]:
    """The file of rows: the path itself, or a copy of the one file in a zip, in a temporary folder that goes at the end.

    `reading` gets the name within the archive, and the fault of a file that lies in a folder there. Raises `SgevalError` in
    one line for more than its limits allow, for what is no text, for a zip that is not called so and the other way round,
    and for an archive that `archives.unpack` refuses or that holds anything but one file ending in .json, .jsonl or .ndjson
    (what macOS adds is passed over). What is raised inside names the file within the archive, not the copy.
    """
    place = one_line(str(path))
    what = _content(path)
    if path.is_file():
        reading.limits.refuse(place, "bytes", path.stat().st_size, "bytes")
    is_named = path.suffix.lower() == ".zip"
    if is_named != (what == ZIP) or (what and not is_named):
        got = f"{what or 'something else'}{'' if is_named or what != ZIP else ', whose name has to end in .zip'}"
        raise SgevalError(f"{place}: expected {ZIP if is_named else EXPECTED}, got {got}")
    if not is_named:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="sgeval-") as folder:
        name = _member(path, Path(folder) / "files", place, reading.limits)
        copy = Path(folder) / "files" / name
        reading.member, reading.name = name, f"{place}: member {shown(name)}"
        if what := _content(copy):
            raise SgevalError(f"{reading.name}: expected JSON lines or a JSON list, got {what}")
        if "/" in name:
            message = (
                f"expected the file at the top of the archive, got it in the folder {shown(name.rpartition('/')[0])}"
            )
            reading.faults.append(Fault(f"{reading.name}: {message}", (), message))
        try:
            yield copy
        except InvalidInput as fault:
            raise InvalidInput(reading.name, [_renamed(each, copy, reading.name) for each in fault.faults]) from None
        except SgevalError as fault:
            raise SgevalError(_renamed(str(fault), copy, reading.name)) from None


def _content(path: Path) -> str:
    """What the first bytes of a file say it is, if they are of something else than text."""
    if not path.is_file():
        if path.exists() and not path.is_dir():
            raise SgevalError(f"{one_line(str(path))}: expected a file, got something else")
        return ""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as fault:
        raise SgevalError(f"{one_line(str(path))}: cannot be read ({fault.strerror})") from None
    if head.lstrip().startswith((b"{", b"[")):
        return ""
    return next((what for at, mark, what in CONTENTS if head.startswith(mark, at)), "")


def _member(path: Path, folder: Path, place: str, limits: Limits) -> str:
    """Unpack an archive, and give the name of the one file that it holds."""
    files, _ = archives.extract(path, folder, archives.Limits(files=limits.members, bytes=limits.unpacked))
    names = [name for name, _, _ in files]
    if len(names) != 1:
        some = ", ".join(map(shown, sorted(names)[:NAMED])) + (", …" if len(names) > NAMED else "")
        got = f"{counted(len(names), 'file')}: {some}" if names else "none"
        raise SgevalError(f"{place}: expected one file in the archive ({', '.join(ENDINGS)}), got {got}")
    if not names[0].lower().endswith(ENDINGS):
        raise SgevalError(f"{place}: expected a file that ends in {', '.join(ENDINGS)}, got {shown(names[0])}")
    return names[0]


def _renamed(text: str, copy: Path, name: str) -> Fault:
    """The text, or the fault, without the place of the copy."""
    whole, folder = one_line(str(copy)), f"{one_line(str(copy.parent))}/"
    new = text.replace(whole, name).replace(folder, f"{name.partition(': member')[0]}: member ")
    return Fault(new, text.place, text.message) if isinstance(text, Fault) else Fault(new)


def within(rows: Iterable[Any], reading: Reading, place: str) -> Iterator[Any]:
    """The rows, counted against the limits. Raises `SgevalError` at the first one that holds too much."""
    total, limits = 0, reading.limits
    for index, row in enumerate(rows):
        limits.refuse(place, "rows", index + 1, "rows")
        found = {name: _length(row, name) for name in ("objects", "relations")}
        for name, count in found.items():
            limits.refuse(f"{place}: row {index}", name, count, f"{name} in a graph")
        total += found["relations"]
        limits.refuse(place, "all_relations", total, "relations in all graphs")
        yield row


def _length(row: Any, name: str) -> int:
    values = row.get(name) if isinstance(row, dict) else getattr(row, name, None)
    return len(values) if isinstance(values, (list, tuple)) else 0
