"""The reader of SVG2's test set against files whose content is known by hand (tests/data/svg2_test/SOURCE.md says what they
are)."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_kit import make_folder

from sgeval.data.inspect import inspect
from sgeval.errors import SgevalError
from sgeval.masks import counts_text, mask_of
from sgeval.readers import svg2_masks
from sgeval.readers.svg2_test import count_svg2_test, read_svg2_test
from sgeval.records import Object, Relation, TrackPoint, VideoGraph

DATA = Path(__file__).parent / "data" / "svg2_test"
SAV, VIPSEG = "sav_900001", "9002_madeValBBBBB"
SHARD = "train-00000-of-00001.parquet"

FIRST = VideoGraph(
    SAV,
    (
        Object(
            0,
            "person",
            attributes=("standing", "wearing a red jacket"),
            attribute_types=("action", "appearance"),
            level="L1",
        ),
        Object(1, "bicycle", attributes=("black",), attribute_types=("color",), level="L1"),
        Object(2, "bicycle wheel", attribute_types=(), level="L2"),
    ),
    (
        Relation(0, 1, "riding", 0, spans=((0.0, 2.0),), raw_spans=((0.0, 2.0),)),
        Relation(2, 1, "part of", 1, spans=((0.0, 2.5),), raw_spans=((0.0, 2.5),)),
        Relation(0, -1, "looking at", 2, spans=((1.0, 1.0), (2.0, 3.0)), raw_spans=((1.0, 1.0), (2.0, 3.0))),
    ),
    file_name=f"sav/{SAV}.mp4",
    source="sav",
    span_unit="second",
    span_end="exclusive",
    extra={"/relations/2/empty": [0]},
)
LAST = VideoGraph(
    VIPSEG,
    (
        Object(0, "dog", attributes=("brown", "small"), attribute_types=("color", "size"), level="L1"),
        Object(3, "ball", attributes=("round",), attribute_types=("shape",), level="L1"),
    ),
    (Relation(0, 3, "chasing", 0, spans=((0.0, 1.0), (2.0, 3.0)), raw_spans=((0.0, 1.0), (2.0, 3.0))),),
    file_name=f"vipseg/{VIPSEG}.mp4",
    source="vipseg",
    span_unit="second",
    span_end="exclusive",
)


@pytest.fixture
def folder(tmp_path):
    return make_folder("svg2_test", tmp_path / "svg2_test")


def table(folder, part="sav", what="data"):
    return pq.read_table(folder / f"{what}/SVG2_test/{part}/{SHARD}")


def write(folder, rows, part="sav", what="data", **options):
    """Put rows, or a table, in the place of a file."""
    if not isinstance(rows, pa.Table):
        rows = pa.Table.from_pylist(rows, table(folder, part, what).schema)
    pq.write_table(rows, folder / f"{what}/SVG2_test/{part}/{SHARD}", **options)


@pytest.fixture
def read(folder):
    """The first record, once a change has been made to its row."""

    def run(change, what="data", config="annotations"):
        row = table(folder, what=what).to_pylist()[0]
        change(row)
        write(folder, [row], what=what)
        return next(read_svg2_test(folder, config=config))

    return run


def parts(row, key, change):
    """Change what a column's JSON says."""
    value = json.loads(row[key])
    change(value)
    row[key] = json.dumps(value)


class TestRecords:
    def test_the_first_and_the_last(self):
        assert list(read_svg2_test(DATA)) == [FIRST, LAST]

    def test_parts_and_counts(self):
        assert list(read_svg2_test(DATA, "test", part=(1, 2))) == [LAST] and count_svg2_test(DATA) == 2
        assert [graph.video_id for graph in read_svg2_test(DATA, config="masks", part=(0, 1))] == [SAV]

    def test_labels_stay_as_they_are(self, read):
        names = ("wheel_rim/tyre", "Man (uncertain)", " ")

        def change(row):
            parts(
                row, "objects", lambda items: [item.update({f"object_{n}": names[n]}) for n, item in enumerate(items)]
            )

        graph = read(change)
        assert tuple(item.category for item in graph.objects) == names

    def test_camera_on_either_side(self, read):
        graph = read(
            lambda row: row.update(relationships='[[-1, "moves towards", 0, [[0, 1]]], [-1, "x", -1, [[0, 1]]]]')
        )
        assert [(relation.subject_id, relation.object_id) for relation in graph.relations] == [(-1, 0), (-1, -1)]
        assert -1 not in {item.id for item in graph.objects}

    def test_odd_spans_and_repeats(self, read):
        rows = [
            [0, "on", 1, [[2, 12], [2, 13]]],
            [0, "on", 1, [[4, 2.5]]],
            [0, "by", 1, []],
            [0, "by", 2],
            [1, "by", 2, None],
        ]
        graph = read(lambda row: row.update(relationships=json.dumps(rows)))
        assert [relation.spans for relation in graph.relations] == [
            ((2.0, 12.0), (2.0, 13.0)),
            ((4.0, 2.5),),
            (),
            None,
            None,
        ]
        assert graph.extra == {
            "/relations/0/overlapping": [1],
            "/relations/1/inverted": [0],
            "/relations/1/repeats": 0,
        }

    def test_the_type_of_a_relation(self, read):
        rows = [[0, "on", 1, [[0, 1]], "spatial"], [0, "on", 2, [[0, 1]], None]]
        graph = read(lambda row: row.update(relationships=json.dumps(rows)))
        assert [relation.type for relation in graph.relations] == ["spatial", None]

    @pytest.mark.parametrize("text", [None, "", "  ", "[]"])
    def test_no_objects_or_relations(self, text, read):
        graph = read(lambda row: row.update(objects=text, relationships=text))
        assert graph.objects == graph.relations == ()


class TestTypedAttributes:
    @pytest.mark.parametrize(
        ("typed", "types", "is_kept"),
        [
            ([{"name": "color", "value": "black"}], ("color",), False),
            ([{"name": "black", "type": "color"}], ("color",), True),  # the other reading of an unsure form
            ([{"value": "black", "name": "black"}], ("black",), False),
            ([{"name": "black"}], None, True),
            ([{"name": "color", "value": "black", "by": "x"}], None, True),
            ([], None, True),
            (["black"], None, True),
            ([{"name": "color", "value": "white"}], None, True),
        ],
    )
    def test_forms(self, typed, types, is_kept, read):
        graph = read(lambda row: parts(row, "objects", lambda items: items[1].update(attributes_typed=typed)))
        assert graph.objects[1].attribute_types == types
        assert graph.extra.get("/objects/1/attributes_typed") == (typed if is_kept else None)
        assert graph.extra.get("/objects/1/untyped_attributes", False) == (types is None)

    def test_none(self, read):
        def change(items):
            del items[1]["attributes_typed"], items[1]["level"]
            items[2] = {"object_2": "wheel", "colour": {"a": 1}}

        graph = read(lambda row: parts(row, "objects", change))
        assert graph.objects[1:] == (
            Object(1, "bicycle", attributes=("black",)),
            Object(2, "wheel"),
        )
        assert graph.extra["/objects/2/colour"] == {"a": 1}


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

    def test_videos_that_come_twice(self, folder):
        row = table(folder, what="masks").to_pylist()[0]
        write(folder, [row, row], what="masks")
        words = rf'row 1: expected each video once, got "{SAV}" again \(first in .*: row 0\)'
        with pytest.raises(SgevalError, match=words):
            list(read_svg2_test(folder, config="masks"))


class TestBadInput:
    @pytest.mark.parametrize(
        ("key", "value", "words"),
        [
            ("video_id", None, "row 0.video_id: expected a text that is not empty, got null"),
            ("video_id", " ", "row 0.video_id: expected a text that is not empty"),
            ("objects", "{}", "objects: expected a list, got {}"),
            ("objects", "[", "objects: expected JSON"),
            ("objects", '[{"object_0": "a", "object_0": "b"}]', 'each key once, got the key "object_0" twice'),
            ("objects", "[NaN]", "objects: expected finite numbers, got NaN"),
            ("objects", "[" * 100_000, "levels of nesting"),
            ("objects", '["dog"]', r'objects\[0\]: expected an object with a key object_N, got "dog"'),
            ("objects", '[{"label": "dog"}]', r'objects\[0\]: expected one key object_N, got \["label"\]'),
            ("objects", '[{"object_0": "a", "object_1": "b"}]', r"objects\[0\]: expected one key object_N"),
            ("objects", '[{"object_01": "a"}]', r"objects\[0\]: expected one key object_N"),
            ("objects", '[{"object_99999999999999999999": "a"}]', r"objects\[0\]: expected one key object_N"),
            ("objects", '[{"object_0": 5}]', r"objects\[0\].object_0: expected a text, got 5"),
            (
                "objects",
                '[{"object_0": "a"}, {"object_0": "b"}]',
                r"objects: expected each object_N once, got \[0, 0\]",
            ),
            ("objects", '[{"object_0": "a", "attributes": "x"}]', "attributes: expected a list of texts"),
            ("objects", '[{"object_0": "a", "attributes_typed": {}}]', "attributes_typed: expected a list of objects"),
            ("objects", '[{"object_0": "a", "level": 1}]', "level: expected a text, got 1"),
            ("objects", '[{"object_0": "a", "x": 18446744073709551616}]', "x: expected a number that fits 64 bits"),
            ("relationships", "[7]", r"relationships\[0\]: expected \[subject, predicate, object"),
            ("relationships", '[[0, "on"]]', r"relationships\[0\]: expected \[subject, predicate, object"),
            ("relationships", "[[0, 5, 1, []]]", r"relationships\[0\]: expected \[subject, predicate, object"),
            (
                "relationships",
                '[[0, "on", 9, []]]',
                r"\[0\]\[2\]: expected the number of one of the 3 objects, or -1, got 9",
            ),
            ("relationships", '[[-2, "on", 1, []]]', r"\[0\]\[0\]: expected the number of one of the 3 objects"),
            ("relationships", '[[true, "on", 1, []]]', r"\[0\]\[0\]: expected the number of one of the 3 objects"),
            ("relationships", '[[0, "on", 1, {}]]', r"\[0\]\[3\]: expected a list of \[start, end\]"),
            ("relationships", '[[0, "on", 1, [[1]]]]', r"\[0\]\[3\]\[0\]: expected \[start, end\] as two numbers"),
            ("relationships", '[[0, "on", 1, [["0", 1]]]]', r"\[0\]\[3\]\[0\]: expected \[start, end\] as two numbers"),
            (
                "relationships",
                '[[0, "on", 1, [[0, 1e300]]]]',
                r"\[0\]\[3\]\[0\]: expected \[start, end\] as two numbers",
            ),
            ("relationships", '[[0, "on", 1, [], 7]]', r"\[0\]\[4\]: expected the type of the relation"),
        ],
    )
    def test_rows(self, key, value, words, read):
        with pytest.raises(SgevalError, match=words) as caught:
            read(lambda row: row.update({key: value}))
        assert "\n" not in str(caught.value) and f"data/SVG2_test/sav/{SHARD}: row 0" in str(caught.value)
        assert key == "video_id" or SAV in str(caught.value)

    def test_a_faulty_row_does_not_hide_the_others(self, read, folder):
        """For `data info`: of both parts the first is faulty, or its masks are; parts count faulty rows too."""
        with pytest.raises(SgevalError, match="objects"):
            read(lambda row: row.update(objects="{}"))
        faults = []
        assert [graph.video_id for graph in read_svg2_test(folder, faults=faults)] == [VIPSEG] and len(faults) == 1
        assert list(read_svg2_test(folder, part=(0, 1), faults=faults)) == [] and len(faults) == 2
        assert [graph.video_id for graph in read_svg2_test(folder, part=(1, 2), faults=faults)] == [VIPSEG]
        (state,) = inspect("svg2_test", folder, with_images=False).splits
        assert (state.records, state.unread) == (1, 1)

    def test_a_video_that_comes_twice(self, folder):
        row = table(folder).to_pylist()[0]
        write(folder, [row], "vipseg")
        words = rf'vipseg/{SHARD}: row 0: expected each video once, got "{SAV}" again \(first in .*sav/'
        with pytest.raises(SgevalError, match=words):
            list(read_svg2_test(folder))

    def test_names_that_lead_out(self, read, folder):
        read(lambda row: row.update(video_id="../../secret"))
        faults = inspect("svg2_test", folder).faults
        assert any('video "../../secret": file_name: expected a name below' in fault for fault in faults)

    def test_columns(self, folder):
        whole = table(folder)
        for changed, words in (
            (whole.drop_columns("objects"), r'expected a column objects of text, got the columns \["video_id"'),
            (whole.set_column(1, "objects", pa.array([[1]])), r"column objects: expected text, got list"),
            (whole.set_column(1, "objects", pa.array([b"[]"])), r"column objects: expected text, got binary"),
        ):
            write(folder, changed)
            with pytest.raises(SgevalError, match=words):
                list(read_svg2_test(folder))
        write(folder, whole)
        masks = table(folder, what="masks")
        for name, array, words in (
            ("counts", pa.array([[1, 2]]), "column counts: expected texts, got list"),
            ("counts", pa.array(["x"]), "column counts: expected texts, got string"),
            ("num_frames", pa.array([24.0]), "column num_frames: expected whole numbers, got double"),
        ):
            write(folder, masks.set_column(masks.schema.get_field_index(name), name, array), what="masks")
            with pytest.raises(SgevalError, match=words):
                list(read_svg2_test(folder, config="masks"))

    def test_columns_beyond_the_form_are_kept(self, folder):
        more = {"fps": pa.array([6.0]), "source": pa.array(["SA-V"]), "split": pa.array([None], pa.string())}
        whole = table(folder)
        for name, array in more.items():
            whole = whole.append_column(name, array)
        write(folder, whole.append_column("blob", pa.array([[b"x"]])))
        graph = next(read_svg2_test(folder))
        assert graph.extra == {**FIRST.extra, "/fps": 6.0, "/source": "SA-V"}
        write(folder, table(folder).drop_columns("fps").append_column("fps", pa.array([float("nan")])))
        with pytest.raises(SgevalError, match=rf'"{SAV}"\).fps: expected a finite number'):
            next(read_svg2_test(folder))

    @pytest.mark.parametrize("what", ["data", "masks"])
    def test_files_that_are_none(self, what, folder):
        path = folder / f"{what}/SVG2_test/sav/{SHARD}"
        sound = path.read_bytes()
        rng = np.random.default_rng(3)
        for damaged in (b"", b"no parquet", b"PAR1" + b"\0" * 20 + b"PAR1", sound[: len(sound) // 2]):
            path.write_bytes(damaged)
            with pytest.raises(SgevalError, match="expected a sound Parquet file") as caught:
                list(read_svg2_test(folder, config="masks"))
            assert "\n" not in str(caught.value) and str(path) in str(caught.value)
        for _ in range(300):  # a few bytes changed anywhere: either the same, other values, or one line
            damaged = bytearray(sound)
            for place in rng.integers(0, len(sound), 3):
                damaged[place] = rng.integers(0, 256)
            path.write_bytes(damaged)
            try:
                list(read_svg2_test(folder, config="masks"))
            except SgevalError as fault:
                assert "\n" not in str(fault)

    def test_no_files(self, folder):
        shutil.rmtree(folder / "masks")
        assert len(list(read_svg2_test(folder))) == 2
        with pytest.raises(SgevalError, match=r"expected a folder that holds masks/SVG2_test.*UWGZQ/Synthetic"):
            read_svg2_test(folder, config="masks")
        with pytest.raises(SgevalError, match=r"expected a folder that holds data/SVG2_test"):
            read_svg2_test(folder.parent)
