"""The reader of SVG2's test set against files whose content is known by hand (tests/data/svg2_test/SOURCE.md says what they
are)."""

import json
import shutil
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from data_kit import make_folder
from svg2_kit import DATA, FIRST, LAST, SAV, SHARD, VIPSEG, parts, read_changed, table, write

from sgeval.data.inspect import inspect
from sgeval.errors import SgevalError
from sgeval.readers.svg2_test import count_svg2_test, read_svg2_test
from sgeval.records import Object


@pytest.fixture
def folder(tmp_path):
    return make_folder("svg2_test", tmp_path / "svg2_test")


@pytest.fixture
def read(folder):
    return partial(read_changed, folder)


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
            "/relations/2/no_spans": True,
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
            (
                "relationships",
                '[[0, "on", 1, [[0, 2147483648]]]]',
                r"\[3\]\[0\]: expected \[start, end\] as two numbers",
            ),
            (
                "relationships",
                '[[0, "on", 1, [], null, 7]]',
                r"relationships\[0\]: expected \[subject, predicate, object",
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


def test_the_rate_is_that_of_the_option():
    """No file says it; by part, since VIPSeg's frames are played at another rate than videos of SA-V."""

    def rates(**options):
        return {graph.source: graph.fps for graph in read_svg2_test(DATA, **options)}

    assert rates() == {"sav": None, "vipseg": None} and rates(fps=6) == {"sav": 6.0, "vipseg": 6.0}
    assert rates(fps={"vipseg": 6}) == {"sav": None, "vipseg": 6.0}
    for fps, words in (
        ({"vipsag": 6}, 'part in fps: expected one of sav, vipseg, got "vipsag"'),
        ("x", "fps: expected"),
    ):
        with pytest.raises(SgevalError, match=words):
            read_svg2_test(DATA, fps=fps)
