"""The border: what is taken, in which forms; what is unknown is kept and warned of."""

import collections
import copy
import json
import re

import numpy as np
import pytest
from row_kit import dog, faults, mat, on, row

from sgeval.records import SceneGraph, to_dict
from sgeval.schemas import schema
from sgeval.validation import parse_graphs


class TestLabels:
    """What a label needs is said in classes that every validator reads alike: `\\w` knows only ASCII in ECMA 262."""

    @pytest.mark.parametrize("kind", ["image", "video"])
    def test_the_pattern_reads_alike_everywhere(self, kind):
        pattern = schema(kind)["$defs"]["label"]["pattern"]
        assert not re.search(r"\\[wWdDsSbB]", pattern)
        for label in ("dog", "7", "人", "é", "собака", "\U0001f415"):
            assert re.search(pattern, label, re.ASCII), label
        for label in ("", " ", "_", "-", " _-./ ", "\t\n", "\x00", "\u00a0", "\u3000", "\u200b", "\u2028", "—", "…"):
            assert not re.search(pattern, label), label

    def test_an_emoji_is_a_label(self):
        assert parse_graphs([row([dog(category="\U0001f415"), mat()])]).graphs[0].objects[0].category == "\U0001f415"


class TestWhatIsTaken:
    def test_integer_image_id_is_kept_as_text(self):
        [graph] = parse_graphs([row(image_id=2350)]).graphs
        assert graph.image_id == "2350"

    def test_minimal_and_null(self):
        parsed = parse_graphs([{"image_id": "a"}, {"image_id": "b", "objects": None, "relations": None, "width": None}])
        assert parsed.graphs == [SceneGraph("a"), SceneGraph("b")] and not parsed.warnings

    def test_tuples_numpy_and_mappings(self):
        plain = {
            "image_id": np.int64(7),
            "objects": (
                {"id": np.int64(0), "category": np.str_("dog"), "bbox": np.array([5, 5, 10, 10], dtype=np.float32)},
                collections.UserDict(mat(bbox=(20, 10, 10, 10))),
            ),
            "relations": [{**on(), "score": np.float32(0.5)}],
            "image": object(),  # heavy columns of a `datasets` row are passed over
        }
        [graph] = parse_graphs([plain]).graphs
        assert graph == parse_graphs([row(image_id="7", relations=[on(score=0.5)])]).graphs[0]
        assert {type(value) for value in (graph.objects[0].id, graph.relations[0].score)} == {int, float}

    def test_numpy_arrays_of_objects(self):
        """A row as `pandas.read_parquet(...).to_dict("records")` gives it."""
        plain = row()
        objects = np.array([{**item, "bbox": np.array(item["bbox"])} for item in plain["objects"]], dtype=object)
        relations = np.array(plain["relations"], dtype=object)
        [graph] = parse_graphs([{**plain, "objects": objects, "relations": relations}]).graphs
        assert graph == parse_graphs([row()]).graphs[0]

    def test_records_are_taken(self):
        [graph] = parse_graphs([row()]).graphs
        assert parse_graphs([graph]).graphs == [graph]

    def test_inputs_are_not_changed(self):
        rows = [row(foo={"bar": [1]}, extra='{"x": 1}', image=None), row(image_id="b", relations=[on(predicate="")])]
        before = copy.deepcopy(rows)
        parse_graphs(rows, on_invalid="skip")
        assert rows == before

    def test_extra_as_json_text(self):
        """Tables hold `extra` as JSON text (datasets 4 has no Json feature)."""
        assert parse_graphs([row(extra='{"coco": 5}')]).graphs[0].extra == {"coco": 5}
        assert faults([row(extra="{")])[0].startswith("predictions[0].extra: expected JSON")


class TestUnknownKeys:
    def test_kept_by_json_pointer_and_warned(self):
        plain = row([dog(catgory="x"), mat()], [on(confidence=0.5), on(**{"a/b~c": 1})], imageid=4)
        parsed = parse_graphs([plain])
        assert parsed.graphs[0].extra == {
            "/imageid": 4,
            "/objects/0/catgory": "x",
            "/relations/0/confidence": 0.5,
            "/relations/1/a~1b~0c": 1,
        }
        found = {warning.split(": ")[0]: warning.split(": ")[1] for warning in parsed.warnings}
        assert found["predictions[…].imageid"] == 'unknown key, kept in extra; the nearest known key is "image_id"'
        assert found["predictions[…].objects[…].catgory"].endswith('the nearest known key is "category"')
        assert len(found) == 4

    def test_counted_over_the_file(self):
        rows = [row([dog(conf=1), mat(conf=2)], image_id=str(number)) for number in range(3)]
        parsed = parse_graphs(rows)
        assert [warning.split(";")[0] for warning in parsed.warnings] == [
            "predictions[…].objects[…].conf: unknown key, kept in extra (6 times)"
        ]

    def test_very_many_are_counted(self):
        parsed = parse_graphs([row(**{f"key{number}": number for number in range(1_003)})])
        assert len(parsed.graphs[0].extra) == 1_003 and len(parsed.warnings) == 1_001
        assert parsed.warnings[-1] == "predictions: 3 more unknown keys, kept in extra"

    def test_survive_a_round_trip(self):
        [graph] = parse_graphs([row([dog(conf=1), mat()], foo=[1, {"b": None}])]).graphs
        again = parse_graphs([json.loads(json.dumps(to_dict(graph)))])
        assert again.graphs == [graph] and not again.warnings

    def test_nearest_key_of_a_video(self):
        [warning] = parse_graphs([{"video_id": "v", "num_frame": 3}], kind="video").warnings
        assert warning.endswith('the nearest known key is "num_frames"')

    def test_a_key_with_a_line_end_stays_one_line(self):
        [warning] = parse_graphs([row(**{"foo\nbar": 1})]).warnings
        assert len(warning.splitlines()) == 1
