"""HDF5 files made to do harm, in the place of a VG150 file: each is refused with one line and nothing is followed."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from sgeval.errors import SgevalError
from sgeval.readers import hdf5
from sgeval.readers.vg150 import read_vg150

DATA = Path(__file__).parent / "data" / "vg150"
H5 = "VG-SGG-with-attri.h5"
LABELS = (9, 1)
has_pipes = pytest.mark.skipif(os.name != "posix", reason="named pipes of POSIX")


def attacked(path: Path, attack: Callable[[h5py.File], None], name: str = "labels") -> Path:
    """The made files with one data set taken out, and what `attack` puts there."""
    shutil.copy(DATA / "image_data.json", path)
    with h5py.File(DATA / H5) as old, h5py.File(path / H5, "w") as new:
        for key in old:
            if key != name:
                new[key] = old[key][:]
        attack(new)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(SgevalError) as caught:
        list(read_vg150(path))
    text = str(caught.value)
    assert "\n" not in text
    return text.replace(f"{path}/{H5}: ", "")


def low_level(file: h5py.File, kind: Any, plan: Any = None, shape: tuple[int, ...] = LABELS) -> None:
    h5py.h5d.create(file.id, b"labels", kind, h5py.h5s.create_simple(shape), plan)


def sized(n_bytes: int, precision: int | None = None) -> Any:
    kind = h5py.h5t.STD_I64LE.copy()
    if precision is not None:
        kind.set_precision(precision)
    kind.set_size(n_bytes)
    return kind


def with_filter(code: int) -> Any:
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((9, 1))
    plan.set_filter(code, h5py.h5z.FLAG_OPTIONAL, ())
    return plan


def big_chunk(file: h5py.File) -> None:
    file.create_dataset("labels", shape=LABELS, maxshape=(None, 1), chunks=(2**27, 1), dtype="int32")


def unlimited_virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=LABELS, maxshape=(None, 1), dtype="int64")
    source = h5py.VirtualSource("elsewhere.h5", "labels", shape=LABELS, maxshape=(None, 1))
    layout[: h5py.h5s.UNLIMITED] = source[: h5py.h5s.UNLIMITED]
    file.create_virtual_dataset("labels", layout)


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout(shape=LABELS, dtype="int64")
    layout[:] = h5py.VirtualSource("elsewhere.h5", "labels", shape=LABELS)
    file.create_virtual_dataset("labels", layout)


def put(value: Any) -> Callable[[h5py.File], None]:
    def attack(file: h5py.File) -> None:
        file["labels"] = value

    return attack


ELSEWHERE: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "never written": (
        lambda file: low_level(file, h5py.h5t.STD_I64LE),
        "labels: expected 72 bytes in the file for its shape, got 0",
    ),
    "chunks never written": (
        lambda file: file.create_dataset("labels", LABELS, "int64", chunks=(3, 1)) and None,
        "labels: expected 72 bytes in the file for its shape, got 0",
    ),
    "external link": (
        put(h5py.ExternalLink("elsewhere.h5", "/labels")),
        "labels: expected a data set in this file, got a link to another file",
    ),
    "external storage": (
        lambda file: file.create_dataset("labels", LABELS, "int64", external=[("elsewhere.h5", 0, 72)]) and None,
        "labels: expected data in this file, got data in an external file",
    ),
    "virtual": (virtual, "labels: expected data in this file, got a virtual data set, made of other files"),
    "unlimited virtual": (
        unlimited_virtual,
        "labels: expected data in this file, got a virtual data set, made of other files",
    ),
}
WHOLE = "labels: expected whole numbers of 1, 2, 4 or 8 bytes, got"
PLAIN = "labels: expected plain data, as published, got the filter"
REPACK = "(`h5repack -f NONE` takes it off)"
HERE: dict[str, tuple[Callable[[h5py.File], None], str]] = {
    "soft link": (put(h5py.SoftLink("/split")), "labels: expected a data set in this file, got a soft link"),
    "soft link to nothing": (put(h5py.SoftLink("/x")), "labels: expected a data set in this file, got a soft link"),
    "soft link to itself": (put(h5py.SoftLink("/labels")), "labels: expected a data set in this file, got a soft link"),
    "group": (lambda file: file.create_group("labels") and None, "labels: expected a data set, got something else"),
    "type": (put(np.dtype("int64")), "labels: expected a data set, got something else"),
    "nothing": (lambda file: None, "labels: expected a data set, got nothing"),
    "fractions": (put(np.ones(LABELS)), f"{WHOLE} fractions"),
    "compound": (put(np.ones(LABELS, dtype=[("a", "i4"), ("b", "i4")])), f"{WHOLE} compounds"),
    "texts": (put(np.full(LABELS, b"12345678")), f"{WHOLE} texts"),
    "texts of any length": (
        lambda file: file.create_dataset("labels", LABELS, h5py.string_dtype()) and None,
        f"{WHOLE} texts",
    ),
    "lists of any length": (
        lambda file: file.create_dataset("labels", LABELS, h5py.vlen_dtype(np.int64)) and None,
        f"{WHOLE} lists of any length",
    ),
    "references": (
        lambda file: file.create_dataset("labels", LABELS, h5py.ref_dtype) and None,
        f"{WHOLE} references",
    ),
    "named values": (put(np.ones(LABELS, dtype=bool)), f"{WHOLE} named values"),
    "opaque": (put(np.zeros(LABELS, dtype="V8")), f"{WHOLE} opaque data"),
    "arrays": (
        lambda file: file.create_dataset("labels", LABELS, np.dtype(("int32", (2,)))) and None,
        f"{WHOLE} arrays",
    ),
    "16 bytes": (lambda file: low_level(file, sized(16)), f"{WHOLE} whole numbers of 16 bytes, 64 bits of them in use"),
    "5 bytes": (
        lambda file: low_level(file, sized(5, 40)),
        f"{WHOLE} whole numbers of 5 bytes, 40 bits of them in use",
    ),
    "48 bits": (
        lambda file: low_level(file, sized(8, 48)),
        f"{WHOLE} whole numbers of 8 bytes, 48 bits of them in use",
    ),
    "deflate": (
        lambda file: file.create_dataset("labels", data=np.ones(LABELS, dtype=int), compression="gzip") and None,
        f"{PLAIN} deflate {REPACK}",
    ),
    "lzf": (
        lambda file: file.create_dataset("labels", data=np.ones(LABELS, dtype=int), compression="lzf") and None,
        f"{PLAIN} lzf {REPACK}",
    ),
    "plug-in": (lambda file: low_level(file, h5py.h5t.STD_I64LE, with_filter(32015)), f"{PLAIN} 32015 {REPACK}"),
    "a single number": (put(7), "labels: expected the shape any x 1, got a single number"),
    "one dimension": (put(np.ones(9, dtype=int)), "labels: expected the shape any x 1, got 9"),
    "wide": (put(np.ones((9, 2), dtype=int)), "labels: expected the shape any x 1, got 9 x 2"),
    "no space": (
        lambda file: file.create_dataset("labels", dtype="int64", data=h5py.Empty("int64")) and None,
        "labels: expected an array, got a data set without any place for values",
    ),
    "endless and sparse": (
        lambda file: file.create_dataset("labels", (2**40, 1), "int64", chunks=(1024, 1)) and None,
        f"labels: expected at most 268,435,456 bytes, got {2**43:,}",
    ),
    "endless chunk": (big_chunk, f"labels: expected at most 268,435,456 bytes in a chunk, got {2**29:,}"),
    "one label more": (put(np.ones((10, 1), dtype=int)), "boxes_1024: expected the shape 10 x 4, got 9 x 4"),
}


@pytest.mark.parametrize("name", [*ELSEWHERE, *HERE])
def test_refused(tmp_path: Path, name: str):
    attack, expected = (ELSEWHERE | HERE)[name]
    assert refusal(attacked(tmp_path, attack)) == expected


@has_pipes
@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_other_file_is_not_opened(tmp_path: Path, name: str):
    """It is a named pipe that nobody writes to: whoever opened it would wait for ever."""
    attacked(tmp_path, ELSEWHERE[name][0])
    os.mkfifo(tmp_path / "elsewhere.h5")
    code = f"from sgeval.readers.vg150 import read_vg150\nlist(read_vg150({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines()[-1].endswith(ELSEWHERE[name][1])


@has_pipes
def test_the_check_above_can_fail(tmp_path: Path):
    """Without the reader's care, the same file does open the pipe."""
    attacked(tmp_path, ELSEWHERE["external link"][0])
    os.mkfifo(tmp_path / "elsewhere.h5")
    code = f"import h5py\nh5py.File({str(tmp_path / H5)!r})['labels']"
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=3)


def test_names_that_are_not_needed_are_not_looked_at(tmp_path: Path):
    def attack(file: h5py.File) -> None:
        file["labels"] = np.array([[78], [64], [60], [136], [12], [26], [124], [37], [37]])
        file["labels"].attrs["note"] = np.void(b"cos\nsystem\n(S'touch owned'\ntR.")
        file["more"] = h5py.ExternalLink("elsewhere.h5", "/")

    assert list(read_vg150(attacked(tmp_path, attack))) == list(read_vg150(DATA))


def test_an_optional_name_is_looked_at_as_well(tmp_path: Path):
    """`attributes` may be missing, but not lead elsewhere."""

    def attack(file: h5py.File) -> None:
        file["attributes"] = h5py.ExternalLink("elsewhere.h5", "/")

    expected = "attributes: expected a data set in this file, got a link to another file"
    assert refusal(attacked(tmp_path, attack, "attributes")) == expected


@pytest.mark.parametrize(("kind", "value"), [("uint64", 2**64 - 1), ("int64", -(2**63)), ("int64", 2**40)])
@pytest.mark.parametrize("name", ["img_to_first_box", "img_to_last_rel", "relationships", "boxes_1024", "labels"])
def test_numbers_at_the_ends_of_their_range(tmp_path: Path, name: str, kind: str, value: int):
    with h5py.File(DATA / H5) as file:
        array = np.maximum(file[name][:], 0).astype(kind)
    array[(0,) * array.ndim] = value

    def attack(file: h5py.File) -> None:
        file[name] = array

    assert str(value) in refusal(attacked(tmp_path, attack, name))


def test_cut_short(tmp_path: Path):
    shutil.copy(DATA / "image_data.json", tmp_path)
    (tmp_path / H5).write_bytes((DATA / H5).read_bytes()[:5000])
    assert refusal(tmp_path) == (
        "expected 7,400 bytes, as its head says, got 5,000: it is cut short; fetch it again; VG-SGG-with-attri.h5 was"
        " published with 150,724,042 bytes"
    )


@pytest.mark.parametrize("content", [b"", b"<html>Sign in</html>", b"PK\x03\x04" + bytes(600), b"\x89HDF\r\n\x1a\n"])
def test_something_else(tmp_path: Path, content: bytes):
    shutil.copy(DATA / "image_data.json", tmp_path)
    (tmp_path / H5).write_bytes(content)
    assert "HDF5" in refusal(tmp_path)


def test_damaged_anywhere(tmp_path: Path):
    """500 seeded damages, in a process of its own with 3 GB: records come out or one line, and nothing else."""
    code = f"""
import random, shutil
from pathlib import Path
from sgeval.errors import SgevalError
from sgeval.readers.vg150 import read_vg150
data, here = Path({str(DATA)!r}), Path({str(tmp_path)!r})
shutil.copy(data / "image_data.json", here)
whole = (data / {H5!r}).read_bytes()
counts = [0, 0]
for seed in range(500):
    chance, damaged = random.Random(seed), bytearray(whole)
    for _ in range(chance.choice((1, 2, 4, 16))):
        damaged[chance.randrange(len(damaged))] = chance.choice((0, 255, chance.randrange(256)))
    (here / {H5!r}).write_bytes(damaged)
    try:
        list(read_vg150(here))
        counts[0] += 1
    except SgevalError as fault:
        assert "\\n" not in str(fault)
        counts[1] += 1
print(*counts)
"""
    limit = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))\n" if os.name == "posix" else ""
    )
    done = subprocess.run([sys.executable, "-c", limit + code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    read, refused = map(int, done.stdout.split())
    assert read + refused == 500 and min(read, refused) > 50


def test_arrays_come_out_as_they_stand(tmp_path: Path):
    """Every shape and byte order, against what was written."""
    chance = random.Random(0)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        arrays = {}
        for index, kind in enumerate(("<i8", ">i8", "<i4", ">i2", "u1", "i1", "<u8")):
            shape = tuple(chance.randrange(5) for _ in range(index % 3 + 1))
            arrays[kind] = np.arange(int(np.prod(shape))).reshape(shape).astype(kind)
            file[f"array {index}"] = arrays[kind]
    with hdf5.opened(tmp_path / "a.h5") as root:
        for index, array in enumerate(arrays.values()):
            out = hdf5.whole_numbers(root, f"array {index}", tmp_path / "a.h5", (None,) * array.ndim)
            assert out.tolist() == array.tolist() and out.dtype == array.dtype
