"""What is written is what is read: records as JSON Lines, run folders, and files that are whole or not there."""

import json
import warnings

import pytest

from sgeval.errors import SgevalError
from sgeval.files import atomic_write
from sgeval.records import Object, Relation, Role, SceneGraph, TrackPoint, VideoGraph, to_dict, write_graphs
from sgeval.relclip import make_options, score, summarise
from sgeval.runs import describe_file, read_run, versions, write_run
from sgeval.strict_json import read_rows
from sgeval.validation import parse_graphs

MASK = {"size": [4, 6], "counts": "abc"}
RICH_IMAGE = SceneGraph(
    image_id="7",
    file_name="VG_100K/7.jpg",
    width=640,
    height=480,
    source="psg",
    video_id="v",
    frame_index=3,
    panoptic_file="7.png",
    extra={"/conf": 0.5, "note": {"a": [1, None, "\u00e9"]}},
    objects=(
        Object(
            *(0, "person", (1.5, -2.0, 3.25, 4.0), 17, ("person", "man"), ("person.n.01",), (4, 5), True, False),
            *(("tall",), ("size",), "main", (Role("tool", "knife"), Role("place", "desk")), 13.5, 99, MASK),
        ),
        Object(2, "mat"),
    ),
    relations=(
        Relation(0, 2, "on", 11, 4, "contacting", ("on.r.01",), 0.25, (Role("why", "rest"),)),
        Relation(2, 2, "near"),
    ),
)
RICH_VIDEO = VideoGraph(
    video_id="v1",
    file_name="v1.mp4",
    width=640,
    height=480,
    source="pvsg",
    fps=5.0,
    num_frames=10,
    duration=2.0,
    frame_files=("0.png", "1.png"),
    mask_files=("m0.png",),
    mask_encoding="palette_object_id",
    span_unit="frame",
    span_end="inclusive",
    extra={"summary": "x"},
    objects=(
        Object(
            *(1, "cat"),
            track=(TrackPoint(0, (1.0, 2.0, 3.0, 4.0), MASK, True, "sort"), TrackPoint(1)),
            attributes=("black",),
        ),
    ),
    relations=(Relation(-1, 1, "looks at", spans=((0.0, 1.0), (1.5, 2.0)), raw_spans=((0.0, 4.0), (7.0, 9.0))),),
)


class TestRoundTrip:
    @pytest.mark.parametrize(("record", "kind"), [(RICH_IMAGE, "image"), (RICH_VIDEO, "video")], ids=["image", "video"])
    def test_every_field(self, tmp_path, record, kind):
        blank = type(record)("other")
        assert write_graphs([record, blank], tmp_path / "x.jsonl") == 2
        parsed = parse_graphs(read_rows(tmp_path / "x.jsonl"), kind=kind)
        assert parsed.graphs == [record, blank] and not parsed.warnings

    @pytest.mark.parametrize(
        "record",
        [
            Relation(0, 1, "on", spans=()),
            Object(0, "x", attribute_types=()),
            Object(0, "x", track=()),
        ],
        ids=["spans", "attribute_types", "track"],
    )
    def test_empty_is_not_null(self, record):
        relations, objects = ((record,), ()) if isinstance(record, Relation) else ((), (record,))
        graph = VideoGraph("v", objects, relations)
        assert parse_graphs([to_dict(graph)], kind="video").graphs == [graph]

    def test_half_a_file_is_never_left(self, tmp_path):
        """A record that cannot be written: the old file stays, and nothing else lies beside it."""
        path = tmp_path / "x.jsonl"
        write_graphs([SceneGraph("old")], path)
        with pytest.raises(ValueError, match="JSON"):
            write_graphs([SceneGraph("new"), SceneGraph("bad", extra={"x": float("nan")})], path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["x.jsonl"]
        assert list(read_rows(path)) == [{"image_id": "old", "objects": [], "relations": []}]


class TestAtomicWrite:
    def test_nothing_is_left_of_an_interrupted_write(self, tmp_path):
        path = tmp_path / "deep" / "x.txt"
        with atomic_write(path) as file:
            file.write("old")
        with pytest.raises(KeyboardInterrupt), atomic_write(path) as file:
            file.write("new")
            raise KeyboardInterrupt
        assert path.read_text() == "old"
        assert [entry.name for entry in path.parent.iterdir()] == ["x.txt"]

    def test_the_file_is_not_there_before_the_end(self, tmp_path):
        with atomic_write(tmp_path / "x.txt") as file:
            file.write("é")
            assert not (tmp_path / "x.txt").exists()
        assert (tmp_path / "x.txt").read_bytes() == "é".encode()

    def test_mode_follows_the_umask(self, tmp_path):
        (tmp_path / "plain").write_text("")
        with atomic_write(tmp_path / "x.txt") as file:
            file.write("")
        assert (tmp_path / "x.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


class TestRunFolder:
    @pytest.fixture
    def scoring(self, random_graphs, fake_encoder, picture):
        """Rows of every kind: scored, doubles, self relations, boxes over the edge, missing and broken pictures."""
        graphs, pictures = random_graphs(4, 8)
        gold = [{**graph, "relations": graph["relations"][::2]} for graph in graphs]
        pictures["img003"] = b"no picture"
        options = {
            "missing": "zero",
            "on_bad_image": "skip",
            "on_invalid": "skip",
            "context": ["px", 3],
            "bootstrap": 29,
        }
        given = {"images": pictures, "references": gold, "model": fake_encoder()}
        return score(graphs[1:], options=make_options(options), **given)

    def test_written_and_read(self, scoring, tmp_path):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = write_run(tmp_path / "run", "mine", scoring, {"predictions": "x"})
        run = read_run(tmp_path / "run")
        assert (run.name, run.metric, run.options) == ("mine", "relclipscore", scoring.options)
        assert run.result == result == scoring.result() and run.inputs == {"predictions": "x"}
        assert set(run.rows.images) == set(scoring.rows.images)
        assert set(run.rows.items) == set(scoring.rows.items)
        assert {item.status for item in run.rows.items} >= {"scored", "duplicate", "self", "bad_image"}
        assert {row.status for row in run.rows.images} == {"ok", "missing", "bad_image"}
        assert run.versions["sgeval"] == versions()["sgeval"]

    def test_results_are_a_function_of_the_rows(self, scoring, tmp_path):
        result = write_run(tmp_path, "mine", scoring, {})
        run = read_run(tmp_path)
        assert summarise(run.rows, run.options, run.metric, result["signature"]) == result

    def test_same_bytes_twice(self, scoring, tmp_path):
        for name in ("one", "two"):
            write_run(tmp_path / name, "mine", scoring, {})
        for file in ("results.json", "items.parquet", "images.parquet"):
            assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
        assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
            "images.parquet",
            "items.parquet",
            "results.json",
        ]

    def test_a_run_that_breaks_leaves_the_old_one_whole(self, scoring, tmp_path, monkeypatch):
        write_run(tmp_path, "old", scoring, {})
        monkeypatch.setattr("sgeval.runs._new_table", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_run(tmp_path, "new", scoring, {})
        assert read_run(tmp_path).name == "old"

    def test_tables_of_another_run_are_told_apart(self, scoring, tmp_path, picture, two_objects, fake_encoder):
        write_run(tmp_path / "mine", "mine", scoring, {})
        other = score([two_objects()], images=[picture(0)], model=fake_encoder())
        write_run(tmp_path / "other", "other", other, {})
        (tmp_path / "other" / "items.parquet").replace(tmp_path / "mine" / "items.parquet")
        with pytest.raises(SgevalError, match=r"items\.parquet: expected the file that results\.json was made with"):
            read_run(tmp_path / "mine")

    def test_boxes_over_the_edge(self, two_objects, picture, fake_encoder, tmp_path):
        graph = two_objects()
        graph["objects"][0]["bbox"] = [-5, 5, 15, 10]
        result = write_run(tmp_path, "mine", score([graph], images=[picture(0)], model=fake_encoder()), {})
        assert result["n_clipped_boxes"] == 1 and read_run(tmp_path).result == result

    def test_huge_object_id(self, two_objects, picture, fake_encoder, tmp_path):
        graph = two_objects(relations=[(2**70, "on", 1)])
        graph["objects"][0]["id"] = 2**70
        try:
            scoring = score([graph], images=[picture(0)], model=fake_encoder())
        except SgevalError:
            return  # refused at the border: as good
        write_run(tmp_path, "mine", scoring, {})

    def test_empty_tables(self, two_objects, picture, fake_encoder, tmp_path):
        """No relation at all: an items table of no rows, read back as such."""
        scoring = score([two_objects(relations=[])], images=[picture(0)], model=fake_encoder())
        write_run(tmp_path, "mine", scoring, {})
        assert read_run(tmp_path).rows == scoring.rows

    @pytest.mark.parametrize(
        "content",
        ["{}", "[]", "null", '{"format": 1}', '{"format": 99}', "{", '{"format": NaN}', '{"format": 1, "format": 1}'],
    )
    def test_foreign_results(self, scoring, tmp_path, content):
        write_run(tmp_path, "mine", scoring, {})
        (tmp_path / "results.json").write_text(content)
        with pytest.raises(SgevalError) as caught:
            read_run(tmp_path)
        assert str(tmp_path / "results.json") in str(caught.value) and len(str(caught.value).splitlines()) == 1

    def test_options_of_another_version(self, scoring, tmp_path):
        write_run(tmp_path, "mine", scoring, {})
        whole = json.loads((tmp_path / "results.json").read_text())
        whole["options"]["penalti"] = "none"
        (tmp_path / "results.json").write_text(json.dumps(whole))
        with pytest.raises(SgevalError, match="penalti"):
            read_run(tmp_path)

    @pytest.mark.parametrize("file", ["items.parquet", "images.parquet"])
    @pytest.mark.parametrize("damage", ["gone", "cut", "text", "swapped"])
    def test_damaged_tables(self, scoring, tmp_path, file, damage):
        write_run(tmp_path, "mine", scoring, {})
        path = tmp_path / file
        other = tmp_path / ("images.parquet" if file.startswith("items") else "items.parquet")
        if damage == "gone":
            path.unlink()
        else:
            damaged = {"cut": path.read_bytes()[:-20], "text": b"hello", "swapped": other.read_bytes()}[damage]
            path.write_bytes(damaged)
        with pytest.raises(SgevalError, match=file.replace(".", r"\.")):
            read_run(tmp_path)

    def test_describe_file(self, tmp_path):
        """SHA-256 of `abc`, from FIPS 180-2, appendix B.1."""
        (tmp_path / "x").write_bytes(b"abc")
        digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        assert describe_file(tmp_path / "x") == {"file": "x", "sha256": digest}


def test_a_folder_of_annotations_is_described_by_its_files(tmp_path):
    """SHA-256 of "ab" is fb8e20fc…; other files of the folder do not count."""
    (tmp_path / "1.json").write_text("a")
    (tmp_path / "2.json").write_text("b")
    (tmp_path / "3.png").write_text("c")
    parts = [tmp_path / "1.json", tmp_path / "2.json"]
    assert describe_file(tmp_path, parts)["sha256"].startswith("fb8e20fc")
    with pytest.raises(SgevalError, match=r"none\.json: cannot be read"):
        describe_file(tmp_path / "none.json")
