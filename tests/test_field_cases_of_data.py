"""Field cases of data and splits, in tables and exports. FC72 to FC75 are in `test_relclip` and `test_validation`."""

import json
import re
from pathlib import Path

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
from data_kit import make_folder, records

import sgeval
from sgeval import masks
from sgeval.data.sets import DATA_SETS
from sgeval.errors import SgevalError
from sgeval.hub.export import PICTURE_ROWS, export
from sgeval.hub.features import to_record
from sgeval.matching import align
from sgeval.vocabulary import vocabulary_of_graphs

ROOT = Path(sgeval.__file__).parent.parent


@pytest.fixture(scope="module")
def psg(tmp_path_factory):
    return make_folder("psg", tmp_path_factory.mktemp("sets") / "psg")


def test_fc71_which_psg_test_set(psg):
    """The splits called test differ in name of config and in published size, and a pass over the smaller one is refused with
    the ids that it lacks."""
    published = DATA_SETS["psg"].published
    assert (published["full"]["test"], published["competition"]["test"], published["competition"]["val"]) == (
        2_186, 1_177, 1_000,
    )  # fmt: skip
    both = published["sgg_benchmark"]  # the train pictures of the full set, 1,000 of them as another "val"
    assert both["train"] + both["val"] == published["full"]["train"] and both["test"] == 2_186
    test = records("psg", psg, "full", "test")
    with pytest.raises(SgevalError, match=re.escape(json.dumps(test[-1].image_id))):
        align(test[:-1], test)
    with pytest.raises(SgevalError, match='split of psg, full: expected one of train, test, got "val"'):
        records("psg", psg, "full", "val")


def test_fc74_pictures_without_relations_and_splits_without_records(psg):
    """They stay in the table, and nothing is drawn out of nothing: an empty record has no pairs, and `drop_empty` leaves it
    out."""
    graphs = records("psg", psg)
    empty = [graph for graph in graphs if not graph.relations]
    assert empty and vocabulary_of_graphs(empty).rows() == []
    left = records("psg", psg, filters=["drop_empty"])
    assert len(left) == len(graphs) - len(empty)


def test_fc76_masks_are_text_and_fit_their_picture(psg, tmp_path):
    """Exported codes are texts that JSON takes, of the size of their picture, height first."""
    export("psg", tmp_path / "out", data_dir=psg, with_masks=True)
    rows = pq.read_table(next((tmp_path / "out" / "full").glob("train-*"))).to_pylist()
    codes = [(row, item["segmentation"]) for row in rows for item in row["objects"] if item["segmentation"]]
    assert codes and json.dumps([code for _, code in codes])
    for row, code in codes:
        assert isinstance(code["counts"], str) and code["size"] == [row["height"], row["width"]]
        assert masks.mask_of(code).shape == (row["height"], row["width"])


def test_fc76_a_size_the_wrong_way_round_shows():
    """[w, h] of a 3 x 2 picture is another, legal mask; so the size is held against the picture where maps are read."""
    ids = np.array([[0, 5, 5], [0, 0, 5]])
    code = masks.segment_codes(ids)[5]
    assert code["size"] == [2, 3] and (masks.mask_of(code) == (ids == 5)).all()
    picture = np.zeros((2, 3, 3), np.uint8)
    assert masks.panoptic_ids(picture, (3, 2)).shape == (2, 3)
    with pytest.raises(SgevalError, match="expected the annotated 2 x 3, got 3 x 2"):
        masks.panoptic_ids(picture, (2, 3))


@pytest.mark.parametrize("counts", [b"021O", [0, 2, 1, 1]])
def test_fc76_counts_as_bytes_and_as_a_list(counts):
    """ "021O" by hand: runs of 0, 2, 1 and, told as the difference of -1 to the second, 1: the 4 pixels of 2 x 2."""
    text = {"size": [2, 2], "counts": "021O"}
    assert masks.checked_counts(text) == [0, 2, 1, 1]
    other = {**text, "counts": counts}
    assert masks.checked_counts(other) == [0, 2, 1, 1] and masks.box_of_code(other) == masks.box_of_code(text)
    assert (masks.mask_of(other) == masks.mask_of(text)).all()


def test_fc77_no_loading_script(psg, tmp_path):
    """An export is Parquet, a card and class lists; no text tells anybody to trust remote code."""
    export("psg", tmp_path / "out", data_dir=psg, with_images=False)
    assert {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()} == {".parquet", ".json", ".md"}
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert set(loaded) == {"train", "test"}
    texts = [*ROOT.glob("*.md"), *(ROOT / "datasets_scripts").rglob("*.md"), *(ROOT / "metrics").rglob("*.md")]
    assert texts and not any("trust_remote_code" in text.read_text(encoding="utf-8") for text in texts)


def test_fc78_lists_of_structs_stay_so(psg, tmp_path):
    """From Parquet to a metric: relations are a list of objects, and θ's vocabulary takes them as the reader's."""
    export("psg", tmp_path / "out", data_dir=psg, with_images=False)
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"), split="train")
    for column in ("objects", "relations"):
        assert isinstance(loaded.features[column], datasets.List)
        assert all(isinstance(row[column], list) and all(isinstance(it, dict) for it in row[column]) for row in loaded)
    graphs = [to_record(row) for row in loaded]
    found = records("psg", psg, split="train")
    assert graphs == found and vocabulary_of_graphs(graphs).rows() == vocabulary_of_graphs(found).rows()


def test_fc79_row_groups_fit_a_viewer(psg, tmp_path):
    """At most 100 rows with pictures. `test_data_export` shows it on 249 rows."""
    export("psg", tmp_path / "out", data_dir=psg, with_masks=True)
    for path in (tmp_path / "out").rglob("full/*.parquet"):
        meta = pq.ParquetFile(path).metadata
        groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
        assert all(group.num_rows <= PICTURE_ROWS <= 100 and group.total_byte_size <= 100 * 10**6 for group in groups)
