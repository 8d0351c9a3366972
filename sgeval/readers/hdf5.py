"""HDF5 files of strangers: plain arrays of whole numbers are read by name, and nothing else is ever followed or run.

Before a data set is read its link, layout, type and size are looked at. Refused are links to elsewhere (soft, external,
user-defined), groups, virtual data sets and external storage (they read other files), filters (they run code of plug-ins,
and unpack to any size), and types other than whole numbers of 1 to 8 bytes. Attributes are never read.
"""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgeval.errors import SgevalError, one_line

if TYPE_CHECKING:
    import numpy as np

MAX_BYTES = 2**28
"""Of one data set, and of one of its chunks."""


@contextmanager
def opened(path: Path, hint: str = "") -> Iterator[Any]:
    """The root of an HDF5 file, open for reading. `hint` ends the message about a file that is cut short.

    Raises `SgevalError` for what is no whole HDF5 file, and for damage found while reading.
    """
    import h5py

    try:
        file = h5py.File(path, "r", locking="best-effort")
    except (OSError, RuntimeError, ValueError) as damage:
        raise SgevalError(_unreadable(path, str(damage), hint)) from None
    with file:
        try:
            yield file.id
        except (OSError, RuntimeError, KeyError) as damage:
            raise SgevalError(
                f"{path}: expected a sound HDF5 file, got a damaged one ({one_line(str(damage))})"
            ) from None


def _said(damage: Exception) -> str:
    return one_line(str(damage.args[0] if len(damage.args) == 1 else damage))


def _unreadable(path: Path, damage: str, hint: str) -> str:
    if "truncated" in damage:
        promised = re.search(r"stored_eof = (\d+)", damage)
        expected = f"{int(promised[1]):,} bytes, as its head says" if promised else "a whole file"
        return f"{path}: expected {expected}, got {path.stat().st_size:,}: it is cut short; fetch it again{hint}"
    if "signature" in damage:
        return f"{path}: expected an HDF5 file, got one that is none"
    return f"{path}: cannot be read as HDF5 ({one_line(damage)})"


def has(root: Any, name: str) -> bool:
    """Whether a name stands in the root group, whatever it is."""
    return root.links.exists(name.encode())  # type: ignore[no-any-return]


def whole_numbers(root: Any, name: str, path: Path, shape: Sequence[int | None]) -> "np.ndarray[Any, Any]":
    """The array of a name in the root group, of its own integer type. None in `shape` is any length.

    Raises `SgevalError` for whatever else stands there.
    """
    import h5py
    import numpy as np

    def refused(expected: str, got: str) -> SgevalError:
        return SgevalError(f"{path}: {name}: expected {expected}, got {got}")

    if not has(root, name):
        raise refused("a data set", "nothing")
    link = root.links.get_info(name.encode()).type
    if link != h5py.h5l.TYPE_HARD:
        kinds = {h5py.h5l.TYPE_SOFT: "a soft link", h5py.h5l.TYPE_EXTERNAL: "a link to another file"}
        raise refused("a data set in this file", kinds.get(link, "a link of a foreign kind"))
    found = h5py.h5o.open(root, name.encode())
    if not isinstance(found, h5py.h5d.DatasetID):
        raise refused("a data set", "something else")
    plan = found.get_create_plist()
    if plan.get_layout() == h5py.h5d.VIRTUAL:
        raise refused("data in this file", "a virtual data set, made of other files")
    if plan.get_external_count():
        raise refused("data in this file", "data in an external file")
    if plan.get_nfilters():
        code, _, _, label = plan.get_filter(0)
        got = f"the filter {one_line(label.decode(errors='replace')) or code} (`h5repack -f NONE` takes it off)"
        raise refused("plain data, as published", got)
    kind = found.get_type()
    is_whole = isinstance(kind, h5py.h5t.TypeIntegerID) and kind.get_precision() == 8 * kind.get_size()
    if not is_whole or kind.get_size() not in (1, 2, 4, 8):
        raise refused("whole numbers of 1, 2, 4 or 8 bytes", _described(kind))
    got_shape = found.shape
    if got_shape is None:
        raise refused("an array", "a data set without any place for values")
    if len(got_shape) != len(shape) or any(want not in (None, have) for want, have in zip(shape, got_shape)):
        wanted = " x ".join("any" if side is None else str(side) for side in shape)
        raise refused(f"the shape {wanted}", " x ".join(map(str, got_shape)) or "a single number")
    chunk = plan.get_chunk() if plan.get_layout() == h5py.h5d.CHUNKED else got_shape
    for what, sides in (("", got_shape), (" in a chunk", chunk)):
        if (size := math.prod(sides) * kind.get_size()) > MAX_BYTES:
            raise refused(f"at most {MAX_BYTES:,} bytes{what}", f"{size:,}")
    size = math.prod(got_shape) * kind.get_size()
    if (stored := found.get_storage_size()) < size:
        raise refused(f"{size:,} bytes in the file for its shape", f"{stored:,}")
    out = np.empty(got_shape, dtype=found.dtype)
    if out.size:
        found.read(h5py.h5s.ALL, h5py.h5s.ALL, out)
    return out


def _described(kind: Any) -> str:
    import h5py

    if kind.get_class() == h5py.h5t.INTEGER:
        return f"whole numbers of {kind.get_size()} bytes, {kind.get_precision()} bits of them in use"
    names = {
        h5py.h5t.FLOAT: "fractions",
        h5py.h5t.STRING: "texts",
        h5py.h5t.COMPOUND: "compounds",
        h5py.h5t.REFERENCE: "references",
        h5py.h5t.VLEN: "lists of any length",
        h5py.h5t.ENUM: "named values",
        h5py.h5t.OPAQUE: "opaque data",
        h5py.h5t.ARRAY: "arrays",
    }
    return names.get(kind.get_class(), "another type")
