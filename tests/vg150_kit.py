"""What the tests of the VG150 reader share: its files with an array changed, and the message of a fault."""

import shutil
from pathlib import Path
from typing import Any

import h5py
import pytest

from sgeval.errors import SgevalError
from sgeval.readers.vg150 import read_vg150

DATA = Path(__file__).parent / "data" / "vg150"
H5 = "VG-SGG-with-attri.h5"


def folder(path: Path, **arrays: Any) -> Path:
    """The files of DATA in a folder of their own, some arrays changed, those that are None left out."""
    shutil.copy(DATA / "image_data.json", path)
    with h5py.File(DATA / H5) as old, h5py.File(path / H5, "w") as new:
        for name in {*old, *arrays}:
            array = arrays.get(name, old[name][:] if name in old else None)
            if array is not None:
                new[name] = array
    return path


def changed(name: str, *place: int, value: int) -> dict[str, Any]:
    """One array with a number put at a place."""
    with h5py.File(DATA / H5) as file:
        array = file[name][:]
    array[place] = value
    return {name: array}


def message(path: Path, split: str | None = None) -> str:
    with pytest.raises(SgevalError) as caught:
        list(read_vg150(path, split))
    text = str(caught.value)
    assert "\n" not in text
    return text.replace(f"{path}/", "")
