"""The PVSG reader against a file whose content is known by hand (tests/data/pvsg/SOURCE.md says what it is)."""

import json
from pathlib import Path

import pytest
from kit import put_at

from sgeval.data.inspect import inspect
from sgeval.errors import SgevalError
from sgeval.readers.pvsg import pvsg_classes, pvsg_unmet, read_pvsg
from sgeval.records import Object, Relation, VideoGraph
from sgeval.spans import to_raw

DATA = Path(__file__).parent / "data" / "pvsg"

# data[0] of pvsg.json. "floor" is the stuff class 1, after 115 things; "adult" is the thing 0, "dog" the thing 43.
# Frames are 1/5 s: [0, 5] is 0 to 6/5; [0, 1] is 0 to 2/5; [3, 3] is 3/5 to 4/5; [2, 4] is 2/5 to 5/5; [4, 5] is 4/5 to 6/5.
# Predicates count through the 57 of `relations`: 30 "looking at", 46 "standing on", 52 "touching"; "squatting on" is none.
FIRST = VideoGraph(
    video_id="9001_0000000001",
    file_name="vidor/videos/9001_0000000001.mp4",
    width=48,
    height=32,
    source="vidor",
    fps=5.0,
    num_frames=6,
    duration=1.2,
    span_unit="frame",
    span_end="inclusive",
    objects=(
        Object(1, "floor", category_id=116, is_thing=False),
        Object(2, "adult", category_id=0, is_thing=True),
        Object(3, "dog", category_id=43, is_thing=True),
    ),
    relations=(
        Relation(2, 1, "standing on", 0, 46, spans=((0.0, 6 / 5),), raw_spans=((0.0, 5.0),)),
        Relation(2, 3, "looking at", 1, 30, spans=((0.0, 2 / 5), (3 / 5, 4 / 5)), raw_spans=((0.0, 1.0), (3.0, 3.0))),
        Relation(2, 3, "squatting on", 2, -1, spans=((2 / 5, 1.0),), raw_spans=((2.0, 4.0),)),
        Relation(3, 2, "touching", 3, 52, spans=((4 / 5, 6 / 5),), raw_spans=((4.0, 5.0),)),
    ),
    extra={
        "captions": [{"time": "0000-0005", "description": "A person (2) moves toward a dog (3)."}],
        "qa_pairs": [{"time": "0002", "question": "Who moves (2)?", "answer": "The person."}],
        "summary": "made clip",
    },
)


@pytest.fixture
def whole():
    return json.loads((DATA / "data/pvsg.json").read_text(encoding="utf-8"))


@pytest.fixture
def read(tmp_path):
    def run(whole, *args, **options):
        (tmp_path / "pvsg.json").write_text(json.dumps(whole), encoding="utf-8")
        return list(read_pvsg(tmp_path, *args, **options))

    return run


def test_the_first_record(whole):
    """FC49: the predicate that no list has stays, with the id -1."""
    categories = whole["objects"]["thing"] + whole["objects"]["stuff"]
    assert [categories.index(name) for name in ("floor", "adult", "dog")] == [116, 0, 43]
    ranks = [whole["relations"].index(name) for name in ("standing on", "looking at", "touching")]
    assert ranks == [46, 30, 52] and "squatting on" not in whole["relations"]
    assert next(read_pvsg(DATA)) == FIRST


def test_sources_and_splits_are_those_of_split():
    found = {graph.video_id: graph.source for graph in read_pvsg(DATA)}
    ego = "00000000-1111-2222-3333-444444444444_1"
    assert found == {"9001_0000000001": "vidor", "P99_01": "epic_kitchen", ego: "ego4d"}
    assert [graph.video_id for graph in read_pvsg(DATA, "train")] == ["9001_0000000001", ego]
    assert [graph.video_id for graph in read_pvsg(DATA, "val")] == ["P99_01"]


def test_names_of_splits_without_a_record(whole, tmp_path):
    """Passed over by the reader, named and counted by `data info`; a record that is not in the form has one all the same."""
    whole["split"]["ego4d"]["train"] += ["gone_1", "gone_2"]
    whole["split"]["vidor"]["val"] = ["gone_3", "gone_4", "gone_5", "gone_6"]
    whole["data"][1]["relations"] = 5
    (tmp_path / "pvsg.json").write_text(json.dumps(whole), encoding="utf-8")
    names = ["gone_3", "gone_4", "gone_5", "gone_6", "gone_1", "gone_2"]  # vidor stands first in `split`
    assert pvsg_unmet(tmp_path) == names and next(iter(whole["split"])) == "vidor"
    found = inspect("pvsg", tmp_path, with_images=False)
    told = ", ".join(f'"{name}"' for name in names[:5])
    assert f"6 videos that a list of a split names have no record: {told} and 1 more" in found.faults
    assert [(state.records, state.unread) for state in found.splits] == [(2, 0), (0, 1)]
    whole["split"]["ego4d"]["train"].remove("gone_2")
    (tmp_path / "pvsg.json").write_text(json.dumps(whole), encoding="utf-8")
    few = f"5 videos that a list of a split names have no record: {told}"
    assert few in inspect("pvsg", tmp_path, with_images=False).faults
    assert not any("no split" in fault for fault in found.faults)
    assert any('(video_id "P99_01").relations: expected a list' in fault for fault in found.faults)
    assert pvsg_unmet(DATA) == []


def test_a_name_says_nothing_of_the_source(whole, read):
    whole["data"][1]["video_id"] = "0042_P"
    whole["split"]["epic_kitchen"]["val"] = ["0042_P"]
    assert read(whole, "val")[0].source == "epic_kitchen"


def test_spans_beyond_the_clip_are_kept_and_flagged():
    last = list(read_pvsg(DATA))[-1]
    assert [relation.raw_spans for relation in last.relations] == [((4.0, 9.0),), ((20.0, 30.0),)]
    assert [relation.spans for relation in last.relations] == [((4 / 5, 2.0),), ((4.0, 31 / 5),)]
    flags = {key: value for key, value in last.extra.items() if key.startswith("/")}
    assert flags == {"/relations/0/beyond_clip": [0], "/relations/1/beyond_clip": [0]}


def test_the_numbers_come_back_from_the_seconds():
    for graph in read_pvsg(DATA):
        for relation in graph.relations:
            raw = to_raw(relation.spans, unit=graph.span_unit, end=graph.span_end, fps=graph.fps)
            assert raw == relation.raw_spans


def test_files_of_each_config():
    plain, frames, masks = (next(read_pvsg(DATA, config=config)) for config in ("annotations", "frames", "masks"))
    names = [f"vidor/{{}}/9001_0000000001/{number:04d}.png" for number in range(6)]
    assert plain.frame_files is plain.mask_files is frames.mask_files is frames.mask_encoding is None
    assert frames.frame_files == masks.frame_files == tuple(name.format("frames") for name in names)
    assert masks.mask_files == tuple(name.format("masks") for name in names)
    assert masks.mask_encoding == "palette_object_id"


def test_the_class_lists():
    classes = pvsg_classes(DATA)
    assert (len(classes.things), len(classes.stuff), len(classes.predicates)) == (115, 11, 57)
    assert classes.categories == classes.things + classes.stuff


def test_where_the_file_may_lie(whole, tmp_path):
    for name in ("pvsg_sample.json", "data/pvsg.json", "pvsg.json"):  # each wins over those before
        (tmp_path / "data").mkdir(exist_ok=True)
        whole["data"][0]["summary"] = name
        (tmp_path / name).write_text(json.dumps(whole))
        assert next(read_pvsg(tmp_path)).extra["summary"] == name


class TestKept:
    def test_what_the_form_does_not_know(self, whole, read):
        whole["data"][0]["rating"] = 5
        whole["data"][0]["meta"]["codec"] = "mpeg4"
        whole["data"][0]["objects"][1] |= {"status": ["moving"], "a/b": 1}
        extra = read(whole)[0].extra
        assert extra["/rating"] == 5 and extra["/meta/codec"] == "mpeg4"
        assert extra["/objects/1/status"] == ["moving"] and extra["/objects/1/a~1b"] == 1

    def test_odd_spans(self, whole, read):
        whole["data"][0]["relations"] = [
            [2, 3, "on", [[4, 2], [0, 3], [3, 5]]],
            [2, 3, "on", []],
            [2, 2, "on", [[0, 0]]],
        ]
        graph = read(whole)[0]
        assert graph.relations[0].raw_spans == ((4.0, 2.0), (0.0, 3.0), (3.0, 5.0))
        assert graph.relations[0].spans == ((4 / 5, 3 / 5), (0.0, 4 / 5), (3 / 5, 6 / 5))
        flags = {key: value for key, value in graph.extra.items() if key.startswith("/")}
        assert flags == {
            "/relations/0/inverted": [0],
            "/relations/0/overlapping": [2],
            "/relations/1/no_spans": True,
            "/relations/1/repeats": 0,
        }

    def test_a_video_that_no_split_names(self, whole, read):
        whole["split"]["vidor"]["train"] = []
        graph = read(whole, config="frames")[0]
        assert graph.source is graph.file_name is graph.frame_files is None and graph.extra["/source/unlisted"]
        assert len(read(whole, "train")) + len(read(whole, "val")) == 2

    def test_a_duration_that_is_not_that_of_the_frames(self, whole, read):
        whole["data"][0]["meta"]["duration"] = 1.41  # a frame and more beyond 6/5
        assert read(whole)[0].extra["/duration/differs_from_frames"] == 6 / 5
        whole["data"][0]["meta"]["duration"] = 1.39
        assert "/duration/differs_from_frames" not in read(whole)[0].extra
        whole["data"][0]["meta"] |= {"fps": 1, "duration": 5.0}  # 6 frames, a frame less: no more than a frame apart
        assert "/duration/differs_from_frames" not in read(whole)[0].extra


def test_what_is_just_allowed(whole, read):
    """A clip of no duration, and a class that is listed twice: its id is the first place."""
    whole["data"][0]["meta"]["duration"] = 0
    assert read(whole)[0].duration == 0.0
    whole["objects"]["thing"].append("adult")
    whole["relations"].append("touching")
    graph = read(whole)[0]
    assert {item.category: item.category_id for item in graph.objects} == {"floor": 117, "adult": 0, "dog": 43}
    assert graph.relations[3].predicate_id == 52


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("data",), 3, "expected a PVSG file .* got an object with the keys"),
        (("relations",), ["on", 3], r"relations: expected a list of texts"),
        (("objects", "stuff"), ..., r"objects.stuff: expected a list of names, got nothing"),
        (("split", "youtube"), {"val": ["x"]}, r'sources among "vidor", .* got "youtube" of video "x"'),
        (("split", "vidor", "test"), ["x"], r'expected splits among "train", "val", got "test" of video "x"'),
        (
            ("split", "ego4d", "val"),
            ["P99_01"],
            r'each video in one split, got "P99_01", which is in the split val of epic_kitchen too',
        ),
        (("split", "vidor", "train", 0), 7, r"split.vidor.train\[0\]: expected a text, got 7"),
        (("data", 1, "video_id"), " ", r"data\[1\].video_id: expected a text that is not empty"),
        (("data", 1, "meta", "fps"), 0, r'video_id "P99_01"\).meta.fps: expected frames a second'),
        (("data", 1, "meta", "fps"), "5", r'video_id "P99_01"\).meta.fps: expected frames a second, got "5"'),
        (("data", 1, "meta", "num_frames"), 10**9, r"num_frames: expected a whole number from 0 to 1,000,000"),
        (("data", 1, "meta", "duration"), -1, r"duration: expected a number of seconds"),
        (("data", 1, "meta", "width"), 0, r"width: expected a whole number of pixels"),
        (
            ("data", 1, "objects", 1, "object_id"),
            1,
            r'"P99_01"\).objects: expected each object_id once, got \[1, 1, 3\]',
        ),
        (("data", 1, "objects", 1, "object_id"), -1, r"object_id: expected a whole number from 0 up"),
        (("data", 1, "objects", 1, "is_thing"), 1, r"is_thing: expected true or false"),
        (("data", 1, "objects", 1), 3, r"objects\[1\]: expected an object, got 3"),
        (
            ("data", 1, "relations", 0, 0),
            9,
            r"relations\[0\]\[0\]: expected the object_id of one of the 3 objects, got 9",
        ),
        (
            ("data", 1, "relations", 0, 1),
            9,
            r"relations\[0\]\[1\]: expected the object_id of one of the 3 objects, got 9",
        ),
        (
            ("data", 1, "relations", 0, 3, 0, 1),
            2**31,
            r"relations\[0\]\[3\]\[0\]: expected \[start, end\] as two numbers",
        ),
        (("data", 1, "relations", 0, 2), None, r"relations\[0\]: expected \[subject_id, object_id, name"),
        (("data", 1, "relations", 0, 3, 0), [1], r"relations\[0\]\[3\]\[0\]: expected \[start, end\]"),
        (("data", 1, "relations", 0, 3, 0), [1, 2**40], r"expected \[start, end\] as two numbers of frames"),
        (("data", 1, "relations", 0, 3, 0), [1, 2.5], r"expected \[start, end\] as two numbers of frames"),
        (("data", 1, "captions"), [2**70], r"captions\[0\]: expected a number that fits 64 bits"),
    ],
)
def test_faults_name_the_video(path, value, words, whole, read):
    put_at(whole, path, value)
    with pytest.raises(SgevalError, match=words) as caught:
        read(whole)
    assert "\n" not in str(caught.value) and "pvsg.json" in str(caught.value)


def test_the_same_id_twice(whole, read):
    whole["data"].append(whole["data"][0])
    words = r'data\[3\]: expected each video once, got "9001_0000000001" again \(first in .*data\[0\]\)'
    for split in (None, "val"):  # the one that is asked for does not matter
        with pytest.raises(SgevalError, match=words):
            read(whole, split)


def test_no_file(tmp_path):
    with pytest.raises(SgevalError, match=r"expected pvsg.json or .*Jingkang/PVSG, got none of them"):
        read_pvsg(tmp_path)
    with pytest.raises(SgevalError, match="data_dir: expected a folder"):
        read_pvsg(tmp_path / "none")
