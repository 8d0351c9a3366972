"""Folders of the data sets as a user has them: the small annotation files, and a plain picture for each record; of videos the
clips, frames and masks as well."""

import shutil
from pathlib import Path

from PIL import Image

from sgeval.data import reading
from sgeval.data.sets import DATA_SETS

FILES = Path(__file__).resolve().parent / "data"
ROOTS = {"visual_genome": "images", "vg150": ".", "ssg": "frames", "fgov": "coco"}
EVERY = [(name, config) for name, found in DATA_SETS.items() for config in found.configs if config != "v1.0"]
"""Every config whose files are among the tests' data; `make_folder` makes those of release 1.0 too."""
OF_PICTURES = [(name, config) for name, config in EVERY if DATA_SETS[name].kind == "image"]
OF_VIDEOS = [pair for pair in EVERY if pair not in OF_PICTURES]


def make_folder(name, folder):
    """A data folder with all annotation files and all pictures."""
    folder.mkdir(parents=True)
    if name == "psg" or DATA_SETS[name].kind == "video":
        shutil.copytree(FILES / name, folder, dirs_exist_ok=True)
        return folder
    if name == "fgov":
        for file in ("data_COCO_llava_OV.json", "obj365_llava_OV.json", "image_id_to_filepath.json"):
            shutil.copy(FILES / "formats" / file, folder)
    else:
        shutil.copytree(FILES / name, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("real", "*.md"))
    for config in DATA_SETS[name].configs:
        if (name, config) in EVERY:
            for number, graph in enumerate(reading.read(name, folder, config)):
                root = "object365/images" if config == "o365" else ROOTS[name]
                if graph.file_name is not None:
                    draw(folder / root / graph.file_name, (graph.width or 64, graph.height or 48), number)
    return folder


def draw(path, size, number=0):
    """A picture of one colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (40 * number % 256, 90, 160)).save(path)


def records(name, folder, config=None, split=None, **options):
    """What the reader gives, as a list."""
    return list(reading.read(name, folder, config, split, **options))
