"""What the tests of the FG-OV reader share: its files, and folders with one of them changed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "formats"
REAL = Path(__file__).parent / "data" / "fgov" / "real"
COCO, O365, MAP = "data_COCO_llava_OV.json", "obj365_llava_OV.json", "image_id_to_filepath.json"
VOCABULARY = "RLIPv2_train2017_threshold20_Tagger2_Noi24_20e_keep_names_freq.json"


def copy(folder: Path, change: Callable[[Any], Any], name: str = COCO) -> Path:
    """The folder with a changed copy of one file, and with the map."""
    whole = json.loads((DATA / name).read_text())
    (folder / name).write_text(json.dumps(change(whole) or whole))
    shutil.copy(DATA / MAP, folder)
    return folder
