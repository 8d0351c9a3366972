"""The masks of SVG2's test set: joined by id, checked, drawn as tracks."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from data_kit import make_folder
from svg2_kit import DATA, FIRST, LAST, SAV, SHARD, parts, read_changed, table, write

from sgeval.data.inspect import inspect
from sgeval.errors import SgevalError
from sgeval.masks import counts_text, mask_of
from sgeval.readers import svg2_masks
from sgeval.readers.svg2_test import read_svg2_test
from sgeval.records import TrackPoint


@pytest.fixture
def folder(tmp_path):
    return make_folder("svg2_test", tmp_path / "svg2_test")


@pytest.fixture
def read(folder):
    return partial(read_changed, folder)


class TestMasks:
    def test_tracks(self):
        """A box of 16 x 8 that moves one pixel to the right each frame, 24 of them; objects lie 8 rows apart. The code of
        object 2 in frame 5 is one of nothing. "l4" is 28 + 4 x 32 = 156 = 4 x 36 + 12: column 4, row 12."""
        first, last = read_svg2_test(DATA, config="masks")
        assert (first.width, first.height, first.num_frames, first.fps) == (64, 36, None, None)
        assert first.extra == {**FIRST.extra, "/masks/num_frames": 24, "/masks/num_objects": 3}
        for number, item in enumerate(first.objects):
            frames = [frame for frame in range(24) if (number, frame) != (2, 5)]
            boxes = tuple((4.0 + frame, 4.0 + 8 * number, 16.0, 8.0) for frame in frames)
            assert [point.frame for point in item.track] == frames
            assert tuple(point.bbox for point in item.track) == boxes
        mask = mask_of(first.objects[1].track[3].segmentation)
        assert mask[12:20, 7:23].all() and mask.sum() == 16 * 8 and mask.shape == (36, 64)
        assert [len(item.track) for item in last.objects] == [15, 15]  # fewer than the 18 frames of the video
        assert last.objects[1].track[0].bbox == (4.0, 28.0, 16.0, 8.0)  # by the column 3, not by the position 1

    def test_only_the_masks_differ(self):
        for graph, plain in zip(read_svg2_test(DATA, config="masks"), (FIRST, LAST), strict=True):
            assert [(item.id, item.category) for item in graph.objects] == [
                (item.id, item.category) for item in plain.objects
            ]
            assert graph.relations == plain.relations

    def code(self, values):
        runs = np.diff(np.concatenate(([0], np.flatnonzero(np.diff(values)) + 1, [len(values)]))).tolist()
        return counts_text(runs if values[0] == 0 else [0, *runs])

    def test_joined_by_id_and_never_by_position(self, folder):
        """Five videos in two row groups of each file, in another order in each; one of them has no masks."""
        names = [f"v{number}" for number in range(5)]
        row, mask = table(folder).to_pylist()[0], table(folder, what="masks").to_pylist()[0]
        write(folder, [{**row, "video_id": name} for name in names], row_group_size=2)
        mask |= {"num_objects": 1, "num_frames": 1, "mask_height": 1, "mask_width": 5}
        codes = {name: self.code(np.arange(5) == number) for number, name in enumerate(names)}
        order = ["v3", "v0", "stray", "v1", "v4"]
        rows = [{**mask, "video_id": name, "counts": [codes.get(name, codes["v0"])]} for name in order]
        write(folder, rows, what="masks", row_group_size=3)
        found = {graph.video_id: graph for graph in read_svg2_test(folder, config="masks")}
        for number, name in enumerate(names):
            if name == "v2":
                assert found[name].extra["/masks/missing"] is True and found[name].objects[0].track is None
            else:
                code = {"size": [1, 5], "counts": codes[name]}
                assert found[name].objects[0].track == (TrackPoint(0, (float(number), 0.0, 1.0, 1.0), code),)
        told = {entry.what: entry.ids for entry in inspect("svg2_test", folder, config="masks").oddities}
        assert told["videos without masks"] == ["v2"]

    def test_masks_that_come_backwards_in_one_group(self, folder):
        row, mask = table(folder).to_pylist()[0], table(folder, what="masks").to_pylist()[0]
        write(folder, [{**row, "video_id": name} for name in "abc"])
        mask |= {"num_objects": 1, "num_frames": 1, "mask_height": 1, "mask_width": 5}
        codes = {name: self.code(np.arange(5) == number) for number, name in enumerate("abc")}
        write(folder, [{**mask, "video_id": name, "counts": [codes[name]]} for name in "cba"], what="masks")
        found = {graph.video_id: graph for graph in read_svg2_test(folder, config="masks")}
        for number, name in enumerate("abc"):
            code = {"size": [1, 5], "counts": codes[name]}
            assert found[name].objects[0].track == (TrackPoint(0, (float(number), 0.0, 1.0, 1.0), code),)

    def test_the_first_object_past_the_columns(self, read):
        """Three columns are those of objects 0, 1 and 2; object 3 has none, object 2 its own."""

        def change(row):
            parts(row, "objects", lambda items: items.append({"object_3": "late"}))

        read(change)
        graph = read(lambda row: None, what="masks", config="masks")
        assert [item.track is None for item in graph.objects] == [False, False, False, True]
        assert {key for key in graph.extra if key.endswith("no_mask")} == {"/objects/3/no_mask"}

    def test_an_object_without_a_column_and_a_column_without_an_object(self, read):
        def change(row):
            parts(row, "objects", lambda items: [items.pop(1), items.append({"object_7": "late"})])
            row["relationships"] = "[]"

        read(change)
        graph = read(lambda row: None, what="masks", config="masks")
        assert [item.id for item in graph.objects] == [0, 2, 7]
        assert graph.objects[2].track is None and graph.extra["/objects/2/no_mask"] is True
        assert graph.extra["/masks/unlisted_ids"] == {"1": list(range(24))}

    def test_one_row_in_memory_at_a_time(self, folder, monkeypatch):
        """Masks in the order of annotations are read once; batches have one row."""
        row, mask = table(folder).to_pylist()[0], table(folder, what="masks").to_pylist()[0]
        names = [f"v{number}" for number in range(7)]
        write(folder, [{**row, "video_id": name} for name in names])
        write(folder, [{**mask, "video_id": name} for name in names], what="masks", row_group_size=3)
        asked = []
        rows = svg2_masks.rows
        monkeypatch.setattr(svg2_masks, "rows", lambda *args, **kw: asked.append((args, kw)) or rows(*args, **kw))
        (folder / "data/SVG2_test/vipseg" / SHARD).unlink()
        assert len(list(read_svg2_test(folder, config="masks"))) == 7
        of_masks = [keywords for args, keywords in asked if len(args[2]) > 1]
        assert [keywords["group"] for keywords in of_masks] == [0, 1, 2]
        assert all(keywords["at_once"] == 1 for keywords in of_masks)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"num_frames": 23}, r"counts: expected 69 codes \(23 frames of 3 objects\), got 72"),
            ({"num_frames": 25}, r"counts: expected 75 codes"),
            ({"num_frames": -1}, r"num_frames: expected a whole number from 0"),
            ({"num_objects": -3}, r"num_objects: expected a whole number from 0"),
            ({"num_objects": None}, r"num_objects: expected a whole number, got null"),
            ({"mask_height": 0}, r"mask_height: expected a whole number from 1"),
            ({"mask_width": -64}, r"mask_width: expected a whole number from 1"),
            ({"mask_height": 2**31 - 1}, r"mask_height: expected a whole number from 1"),
            ({"mask_height": 10**5, "mask_width": 10**5}, r"expected masks of at most 89,478,485 pixels"),
            ({"mask_height": 35}, r"counts\[0\] \(frame 0, object 0\): expected runs over 2240 pixels, got 2304"),
            ({"counts": None}, r"counts: expected a list of texts, got null"),
        ],
    )
    def test_rows_that_are_not_in_the_form(self, change, words, read):
        with pytest.raises(SgevalError, match=words) as caught:
            read(lambda row: row.update(change), what="masks", config="masks")
        assert "\n" not in str(caught.value) and SAV in str(caught.value) and "masks/SVG2_test/sav" in str(caught.value)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "expected runs over 2304 pixels, got 0"),
            ("P", "expected the end of the last number, got the end of the text"),
            ("o" * 64, "expected numbers of at most 7 characters, got a longer one"),
            (":5", "expected runs over 2304 pixels, got 15"),
            ("PX2PX2", "expected runs over 2304 pixels, got 4608"),
            ("O", "expected runs of 0 pixels or more, got -1"),
            ("é", 'expected a text of the characters "0" to "o", got "é"'),
            ("0" * (7 * 2306 + 1), "expected at most 16,142 characters, got 16,143"),
        ],
    )
    def test_hostile_codes(self, text, words, read):
        def change(row):
            row["counts"][7] = text  # 7 = 2 * 3 + 1

        with pytest.raises(SgevalError, match=words) as caught:
            read(change, what="masks", config="masks")
        assert f'row 0 (video_id "{SAV}").counts[7] (frame 2, object 1): ' in str(caught.value)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 500

    def test_a_code_that_is_null_shows_nothing(self, read):
        def change(row):
            row["counts"][7] = None

        graph = read(change, what="masks", config="masks")
        assert [point.frame for point in graph.objects[1].track][:3] == [0, 1, 3]

    @pytest.mark.parametrize("counts", [[None] * 72, [], None])
    @pytest.mark.parametrize("kind", [pa.list_(pa.null()), pa.large_list(pa.null()), pa.null()])
    def test_a_file_in_which_no_code_stands(self, counts, kind, folder):
        """Such a column has no type of its own, as `pyarrow` and `pandas` write it. 24 frames of 3 objects are 72 codes."""
        if counts is not None and pa.types.is_null(kind):
            return
        masks = table(folder, what="masks")
        n_frames = 24 if counts else 0
        row = {**masks.to_pylist()[0], "num_frames": n_frames}
        del row["counts"]
        plain = pa.Table.from_pylist([row], masks.schema.remove(masks.schema.get_field_index("counts")))
        write(folder, plain.append_column("counts", pa.array([counts], kind)), what="masks")
        graph = next(read_svg2_test(folder, config="masks"))
        assert [item.track for item in graph.objects] == [(), (), ()] and graph.extra["/masks/num_frames"] == n_frames

    def test_videos_that_come_twice(self, folder):
        row = table(folder, what="masks").to_pylist()[0]
        write(folder, [row, row], what="masks")
        words = rf'row 1: expected each video once, got "{SAV}" again \(first in .*: row 0\)'
        with pytest.raises(SgevalError, match=words):
            list(read_svg2_test(folder, config="masks"))
