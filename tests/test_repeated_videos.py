"""Videos that come twice where no single reader sees both: in stretches of several processes, and in two splits."""

import json
import warnings
from pathlib import Path

import pytest
from data_kit import make_folder

import sgeval
from sgeval.data import reading
from sgeval.errors import SgevalError
from sgeval.hub.export import export

VIDEO = json.loads(
    (Path(__file__).parent / "data/vidor/annotation/training/9000/9000000001.json").read_text(encoding="utf-8")
)
STRETCHES = {"training/a/1": "1", "training/b/2": "1", "validation/a/3": "3"}
SPLITS = {"training/a/1": "1", "training/a/2": "2", "validation/a/3": "1"}
APART = {"training/a/1": "1", "training/b/2": "2", "validation/a/3": "3"}


@pytest.fixture
def vidor(tmp_path):
    def make(ids):
        for name, video_id in ids.items():
            path = tmp_path / "vidor" / "annotation" / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({**VIDEO, "video_id": video_id}), encoding="utf-8")
        return tmp_path / "vidor"

    return make


def load(folder, cache, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # counts are not the published ones
        return sgeval.load_dataset("vidor", data_dir=folder, cache_dir=cache, with_images=False, **options)


@pytest.mark.parametrize("num_proc", [None, 2])
@pytest.mark.parametrize(("ids", "last"), [(STRETCHES, "training/b/2"), (SPLITS, "validation/a/3")])
def test_a_table(num_proc, ids, last, vidor, tmp_path):
    """Refused with both files, and nothing of it is found built the next time."""
    folder, cache = vidor(ids), tmp_path / "cache"
    words = rf'/annotation/{last}\.json: expected each video once, got "1" again \(first in .*/training/a/1\.json\)'
    for again in (num_proc, None):
        with pytest.raises(SgevalError, match=words):
            load(folder, cache, num_proc=again)
    with pytest.raises(SgevalError, match=words):
        load(folder, cache, split="train", num_proc=num_proc)


def test_videos_apart(vidor, tmp_path):
    for num_proc in (2, None):
        tables = load(vidor(APART), tmp_path / "cache", num_proc=num_proc)
        assert {split: table["video_id"][:] for split, table in tables.items()} == {"train": ["1", "2"], "val": ["3"]}


@pytest.mark.parametrize("num_proc", [1, 2])
@pytest.mark.parametrize(("ids", "last"), [(STRETCHES, "training/b/2"), (SPLITS, "validation/a/3")])
def test_an_export(num_proc, ids, last, vidor, tmp_path, monkeypatch):
    monkeypatch.setattr("sgeval.hub.export.ROWS_AT_ONCE", {"video": 1})  # else one stretch holds both
    out = tmp_path / "out"
    with pytest.raises(SgevalError, match=rf'{last}\.json: expected each video once, got "1" again'):
        export("vidor", out, data_dir=vidor(ids), with_images=False, num_proc=num_proc)
    assert not [*tmp_path.glob("*out*")]


def test_with_filters_the_split_and_the_row_are_named(vidor, tmp_path):
    """Which file a row comes from is not known when others may have been left out."""
    words = r'val: record 0: expected each video once, got "1" again \(first in train: record 0\)'
    with pytest.raises(SgevalError, match=words):
        load(vidor(SPLITS), tmp_path / "cache", filters=["drop_empty"])


def test_pictures_may_come_twice():
    """The published PSG has an id twice."""
    reading.check_once(reading.data_set("psg"), ".", {"train": ["1", "1"]})
    with pytest.raises(SgevalError, match=r'train: record 1: expected each video once, got "1" again'):
        reading.check_once(reading.data_set("pvsg"), ".", {"train": ["1", "1"]})


def test_files_stand_in_the_order_of_records(tmp_path):
    for name, found in reading.DATA_SETS.items():
        if found.files_each is not None:
            folder = make_folder(name, tmp_path / name)
            for split in found.configs[found.default_config]:
                names = [path.stem for path in found.files_each(folder, split)]
                assert names == [graph.key for graph in reading.read(name, folder, None, split)]
