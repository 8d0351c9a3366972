"""The VidOR reader against files whose content is known by hand (tests/data/vidor/SOURCE.md says what they are)."""

import json
import random
import shutil
from pathlib import Path

import pytest
from kit import put_at
from typer.testing import CliRunner

from sgeval.cli.app import app
from sgeval.data.inspect import inspect
from sgeval.errors import SgevalError
from sgeval.readers import vidor
from sgeval.readers.vidor import read_vidor, read_vidor_file, vidor_files
from sgeval.records import Object, Relation, TrackPoint, VideoGraph

DATA = Path(__file__).parent / "data" / "vidor"
FIRST_FILE = DATA / "annotation/training/9000/9000000001.json"
FPS = 29.97002997002997

# 13 frames are said, 12 have boxes. Corners are inside: x 4 to 15 is 12 wide, y 5 to 18 is 14 high, 3 pixels on each frame.
# tid 1 is not to be seen in frames 6 and 7: in_front_of [0, 12) lacks it twice, the others never.
FIRST = VideoGraph(
    video_id="9000000001",
    file_name="9000/9000000001.mp4",
    width=96,
    height=64,
    source="vidor",
    fps=FPS,
    num_frames=12,
    span_unit="frame",
    span_end="exclusive",
    objects=(Object(0, "adult"), Object(1, "dog")),
    relations=(
        Relation(0, 1, "in_front_of", 0, spans=((0.0, 12 / FPS),), raw_spans=((0.0, 12.0),)),
        Relation(0, 1, "watch", 1, spans=((0.0, 5 / FPS),), raw_spans=((0.0, 5.0),)),
        Relation(0, 1, "watch", 2, spans=((8 / FPS, 12 / FPS),), raw_spans=((8.0, 12.0),)),
        Relation(1, 0, "play(instrument)", 3, spans=((3 / FPS, 4 / FPS),), raw_spans=((3.0, 4.0),)),
    ),
    extra={
        "version": "VERSION 1.0",
        "video_hash": "0" * 30,
        "frame_count": 13,
        "/num_frames/beyond_trajectories": 1,
        "/relations/0/absent_frames": 2,
        "/relations/2/repeats": 1,
    },
)


@pytest.fixture
def whole():
    return json.loads(FIRST_FILE.read_text(encoding="utf-8"))


@pytest.fixture
def read(tmp_path):
    def run(whole, **options):
        path = tmp_path / "9000000001.json"
        path.write_text(whole if isinstance(whole, str) else json.dumps(whole), encoding="utf-8")
        return read_vidor_file(path, **options)

    return run


def test_the_first_record():
    """FC50: 13 frames are said, 12 have boxes; the lower number is taken and flagged."""
    assert next(read_vidor(DATA)) == FIRST


def test_tracks():
    graph = next(read_vidor(DATA, config="tracks"))
    assert graph.objects[0].track == tuple(
        TrackPoint(
            frame,
            (4.0 + 3 * frame, 5.0, 12.0, 14.0),
            generated=frame % 5 != 0,
            tracker="linear" if frame % 5 else "none",
        )
        for frame in range(12)
    )
    assert [point.frame for point in graph.objects[1].track] == [0, 1, 2, 3, 4, 5, 8, 9, 10, 11]
    assert graph.objects[1].track[6].bbox == (48.0, 15.0, 12.0, 14.0)


def test_splits_and_parts():
    ids = [graph.video_id for graph in read_vidor(DATA)]
    assert ids == ["9000000001", "9000000002"]
    assert [graph.video_id for graph in read_vidor(DATA, "train")] == ids[:1]
    assert [graph.video_id for graph in read_vidor(DATA, "val")] == ids[1:]
    assert [graph.video_id for graph in read_vidor(DATA, part=(1, None))] == ids[1:]
    assert list(read_vidor(DATA, part=(1, 1))) == []


def test_one_split_is_enough(tmp_path):
    shutil.copytree(DATA / "annotation/validation", tmp_path / "annotation/validation")
    (tmp_path / "annotation/validation/9000/._9000000002.json").write_bytes(b"\0")
    assert len(list(read_vidor(tmp_path))) == 1 and vidor_files(tmp_path, "train") == []


def test_names_stay_as_they_are():
    graph = list(read_vidor(DATA))[1]
    assert [item.category for item in graph.objects] == ["child", "ball/sports_ball", "child"]
    assert graph.relations[1].predicate == "next_to" and graph.relations[1].predicate_id == -1


class TestKept:
    def test_more_boxes_than_frames(self, whole, read):
        whole["frame_count"] = 10
        graph = read(whole, config="tracks")
        assert graph.num_frames == 10 and len(graph.objects[0].track) == 12
        assert graph.extra["/num_frames/beyond_frame_count"] == 2
        assert graph.extra["/relations/0/beyond_clip"] == [0]  # to 12 of 10 frames

    def test_odd_relations(self, whole, read):
        whole["relation_instances"][0] |= {"begin_fid": 9, "end_fid": 2}
        whole["relation_instances"][1] |= {"begin_fid": 3, "end_fid": 3}
        extra = read(whole).extra
        assert extra["/relations/0/inverted"] == [0] and extra["/relations/1/empty"] == [0]

    def test_an_id_that_is_not_the_name_of_the_file(self, whole, read):
        whole["video_id"] = "7"
        assert read(whole).extra["/video_id/not_the_file"] == "9000000001"

    def test_what_the_form_does_not_know(self, whole, read):
        whole |= {"licence": "x", "version": None}
        whole["subject/objects"][1]["colour"] = ["brown"]
        whole["trajectories"][2][0]["bbox"]["score"] = 0.5
        whole["trajectories"][2][0]["note"] = None
        whole["relation_instances"][3]["a/b"] = {}
        extra = read(whole).extra
        assert extra["/licence"] == "x" and "version" not in extra and extra["/objects/1/colour"] == ["brown"]
        assert extra["/trajectories/2/0/bbox/score"] == 0.5 and extra["/trajectories/2/0/note"] is None
        assert extra["/relations/3/a~1b"] == {}

    def test_floats_and_points_without_a_tracker(self, whole, read):
        whole["trajectories"][0][0] = {"tid": 0, "bbox": {"xmin": 0.5, "ymin": -1, "xmax": 2, "ymax": 3.25}}
        point = read(whole, config="tracks").objects[0].track[0]
        assert point == TrackPoint(0, (0.5, -1.0, 2.5, 5.25))  # 2 - 0.5 + 1, 3.25 + 1 + 1

    @pytest.mark.parametrize("config", ["annotations", "tracks"])
    def test_boxes_whose_corners_are_the_wrong_way_round(self, config, whole, read):
        """A last corner one pixel before the first makes a box of no width: 4 - 5 + 1 = 0; ten before it, 5 - 15 + 1 = -9.
        The same pixel twice is a box of one. Tid 1 is the second object."""
        first, second, third = (whole["trajectories"][frame][1] for frame in (0, 1, 2))
        assert {first["tid"], second["tid"], third["tid"]} == {1}
        first["bbox"] |= {"xmin": 5, "xmax": 4}
        second["bbox"] |= {"xmin": 5, "xmax": 5, "ymin": 3, "ymax": 3}
        third["bbox"] |= {"ymin": 15, "ymax": 5}
        graph = read(whole, config=config)
        flags = {key: value for key, value in graph.extra.items() if "inverted_boxes" in key}
        assert flags == {"/objects/1/inverted_boxes": [0, 2]}
        if config == "tracks":
            boxes = [point.bbox for point in graph.objects[1].track[:3]]
            assert (boxes[0][2], boxes[1][2:], boxes[2][3]) == (0.0, (1.0, 1.0), -9.0)


@pytest.mark.parametrize("config", ["annotations", "tracks"])
def test_both_roads_give_the_same(config, whole, read, monkeypatch):
    """The one through msgspec, and the one that takes files apart; on changed files too."""
    rng = random.Random(5)
    for _ in range(20):
        for points in whole["trajectories"]:
            rng.shuffle(points)
        row = rng.choice(whole["relation_instances"])
        row["begin_fid"], row["end_fid"] = rng.randrange(-3, 20), rng.randrange(-3, 20)
        fast = read(whole, config=config)
        with monkeypatch.context() as patch:
            patch.setattr(vidor, "typed_block", lambda *_: None)
            assert read(whole, config=config) == fast


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("video_id",), " ", "video_id: expected a text that is not empty"),
        (("video_id",), 5, "video_id: expected a text"),
        (("video_path",), ..., "video_path: expected a text, got nothing"),
        (("fps",), 0, "fps: expected frames a second from 0.001"),
        (("fps",), None, "fps: expected frames a second, got null"),
        (("width",), 0, "width: expected a whole number of pixels from 1 up, got 0"),
        (("height",), None, "height: expected a whole number of pixels from 1 up, got null"),
        (("frame_count",), 10**7, "frame_count: expected a whole number from 0 to 1,000,000"),
        (("version",), 1, "version: expected a text, got 1"),
        (("subject/objects",), {}, "subject/objects: expected a list"),
        (("subject/objects", 1, "tid"), 0, r"subject/objects: expected each tid once, got \[0, 0\]"),
        (("subject/objects", 1, "tid"), 2**63, r"subject/objects\[1\].tid: expected a whole number"),
        (("trajectories", 3), None, r"trajectories\[3\]: expected a list, got null"),
        (("trajectories", 3, 1), 7, r"trajectories\[3\]\[1\]: expected an object with tid and bbox, got 7"),
        (
            ("trajectories", 3, 1, "tid"),
            9,
            r"trajectories\[3\]\[1\].tid: expected the tid of one of the 2 objects, got 9",
        ),
        (("trajectories", 3, 1, "tid"), 0, r"trajectories\[3\]\[1\].tid: expected each tid once a frame, got 0"),
        (("trajectories", 3, 1, "bbox", "xmax"), ..., r"bbox.xmax: expected a number of pixels, got nothing"),
        (("trajectories", 3, 1, "bbox", "xmax"), True, r"bbox.xmax: expected a number of pixels, got true"),
        (("trajectories", 3, 1, "bbox", "xmax"), 2**40, r"bbox.xmax: expected a number of pixels"),
        (("trajectories", 3, 1, "generated"), 2, r"generated: expected 0 or 1, got 2"),
        (("trajectories", 3, 1, "tracker"), 2, r"tracker: expected a text, got 2"),
        (
            ("relation_instances", 0, "subject_tid"),
            5,
            r"\[0\].subject_tid: expected the tid of one of the 2 objects, got 5",
        ),
        (
            ("relation_instances", 0, "object_tid"),
            5,
            r"\[0\].object_tid: expected the tid of one of the 2 objects, got 5",
        ),
        (("relation_instances", 0, "end_fid"), 2**40, r"\[0\].end_fid: expected a whole number from"),
        (("relation_instances", 0, "end_fid"), 2.5, r"\[0\].end_fid: expected a whole number, got 2.5"),
        (("relation_instances", 0), [], r"relation_instances\[0\]: expected an object, got \[\]"),
    ],
)
def test_faults_name_the_video(path, value, words, whole, read):
    put_at(whole, path, value)
    with pytest.raises(SgevalError, match=words) as caught:
        read(whole)
    assert "\n" not in str(caught.value) and "9000000001" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "expected an object with video_id"),
        ("{", "expected JSON"),
        ("", "expected JSON"),
        ('{"a": 1}, {"a": 1}', "expected JSON"),
        ('{"fps": NaN}', "expected finite numbers"),
        ('{"video_id": "1", "video_id": "2"}', "each key once"),
        ("[" * 100_000, "levels of nesting"),
    ],
)
def test_files_that_are_none(text, words, read):
    with pytest.raises(SgevalError, match=words):
        read(text)


def test_a_doubled_key_in_a_file_that_is_sound_otherwise(read):
    text = FIRST_FILE.read_text(encoding="utf-8")
    with pytest.raises(SgevalError, match='got the key "tid" twice'):
        read(text.replace('"tid": 0', '"tid": 0, "tid": 0', 1))


class TestTwice:
    def test_the_same_file_name(self, tmp_path):
        shutil.copytree(DATA, tmp_path / "vidor")
        other = tmp_path / "vidor/annotation/validation/9001/9000000001.json"
        other.parent.mkdir()
        shutil.copy(FIRST_FILE, other)
        for split in (None, "train", "val"):
            with pytest.raises(
                SgevalError, match=r'9001/9000000001.json: expected each video once, got "9000000001" again'
            ):
                read_vidor(tmp_path / "vidor", split)

    def test_the_same_id_in_files_of_other_names(self, tmp_path):
        shutil.copytree(DATA, tmp_path / "vidor")
        shutil.copy(FIRST_FILE, tmp_path / "vidor/annotation/training/9000/9000000009.json")
        with pytest.raises(
            SgevalError, match=r'000009.json: .* got "9000000001" again \(first in .*/9000000001.json\)'
        ):
            list(read_vidor(tmp_path / "vidor", "train"))

    def test_the_same_id_in_both_splits_is_told(self, tmp_path):
        """A reader of one split does not see the other one's files; `data info` does."""
        shutil.copytree(DATA, tmp_path / "vidor")
        shutil.copy(FIRST_FILE, tmp_path / "vidor/annotation/validation/9000/9000000009.json")
        found = inspect("vidor", tmp_path / "vidor", with_images=False)
        assert 'val: 1 video has an id of an earlier split: "9000000001"' in found.faults
        assert [(state.records, state.distinct_ids) for state in found.splits] == [(1, 1), (2, 2)]


class TestInspect:
    def test_a_faulty_file_does_not_hide_the_others(self, tmp_path):
        """Eight files of train: one sound, seven that are none. All are counted, the first five named."""
        folder = tmp_path / "vidor"
        shutil.copytree(DATA, folder)
        for number in range(12, 19):
            (folder / f"annotation/training/9000/90000000{number}.json").write_text("{")
        found = inspect("vidor", folder, with_images=False)
        assert [(state.split, state.records, state.unread) for state in found.splits] == [
            ("train", 1, 7),
            ("val", 1, 0),
        ]
        at = found.faults.index("train: 7 videos cannot be read; the first 5 of them are named")
        named = [fault for fault in found.faults if "expected JSON" in fault]
        assert (
            found.faults[at + 1 : at + 6] == named and "9000000012.json" in named[0] and "9000000016.json" in named[4]
        )
        assert "train: expected the published 7,000 records, got 1" in found.faults
        done = CliRunner().invoke(app, ["data", "info", "vidor", "--data-dir", str(folder)])
        assert done.exit_code == 2 and "9000000016.json" in done.stdout
        for number in (17, 18):
            (folder / f"annotation/training/9000/90000000{number}.json").unlink()
        found = inspect("vidor", folder, with_images=False)
        assert "train: 5 videos cannot be read; each is named" in found.faults

    def test_flags_are_counted(self, tmp_path, whole):
        folder = tmp_path / "vidor"
        shutil.copytree(DATA, folder)
        whole["trajectories"][0][0]["bbox"] |= {"xmin": 9, "xmax": 2}
        (folder / FIRST_FILE.relative_to(DATA)).write_text(json.dumps(whole))
        odd = {entry.what: entry.ids for entry in inspect("vidor", folder, with_images=False).oddities}
        assert odd["objects with boxes whose last corner lies before the first"] == ["9000000001"]

    @pytest.mark.parametrize("value", [["a", 3], [[1]], {"x": 5}, {"x": ["b"]}, "abc", None, True])
    def test_a_key_that_is_named_like_a_flag(self, value, tmp_path, whole):
        folder = tmp_path / "vidor"
        shutil.copytree(DATA, folder)
        whole["subject/objects"][0]["inverted_boxes"] = value
        (folder / FIRST_FILE.relative_to(DATA)).write_text(json.dumps(whole))
        assert len(inspect("vidor", folder, with_images=False).splits) == 2

    def test_a_reader_by_itself_stops(self, tmp_path):
        folder = tmp_path / "vidor"
        shutil.copytree(DATA, folder)
        (folder / "annotation/training/9000/9000000000.json").write_text("{")
        with pytest.raises(SgevalError, match=r"9000000000.json: .*expected JSON"):
            list(read_vidor(folder))
        faults = []
        assert len(list(read_vidor(folder, faults=faults))) == 2 and len(faults) == 1


def test_no_files(tmp_path):
    with pytest.raises(SgevalError, match=r"expected a folder that holds annotation/training.*shangxd/vidor"):
        read_vidor(tmp_path)
