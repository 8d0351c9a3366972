"""Records of videos as rows: every field there and back, files that are missing, masks and tracks, nothing stale."""

import json
import shutil

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
from data_kit import FILES, OF_VIDEOS, make_folder, records
from PIL import Image
from typer.testing import CliRunner

import sgeval
from sgeval import masks
from sgeval.cli.app import app
from sgeval.data import reading
from sgeval.data.inspect import inspect
from sgeval.data.pictures import name_after
from sgeval.data.sets import DATA_SETS
from sgeval.errors import BadImage, SgevalError
from sgeval.hub.export import export
from sgeval.hub.features import to_record, to_row, to_table
from sgeval.hub.schema import VIDEO, video_features
from sgeval.readers import vidor
from sgeval.records import Object, Relation, Role, TrackPoint, VideoGraph, to_dict
from sgeval.validation import parse_graphs

pytestmark = pytest.mark.filterwarnings("ignore:.*published number of records")
FIRST = "9001_0000000001"
EGO = "00000000-1111-2222-3333-444444444444_1"

FULL = VideoGraph(
    "7",
    (
        Object(
            3,
            "dog",
            None,
            5,
            ("dog", "hound"),
            ("dog.n.01",),
            (9, 2**62),
            True,
            False,
            ("wet",),
            ("state",),
            "part",
            (Role("r", "v"),),
            track=(
                TrackPoint(0, (0.1, -2.0, 3.5, 4.0), {"size": [2, 2], "counts": "021O"}, True, "linear"),
                TrackPoint(7),
            ),
        ),
        Object(4, "", track=()),
        Object(5, "x"),
    ),
    (
        Relation(
            3, -1, "on", 0, 7, "spatial", ("on.r.01",), 0.1, (Role("a", ""),), ((0.1, 0.1), (3.0, 1.0)), ((1.5, 1.5),)
        ),
        Relation(4, 4, "ON ", spans=(), raw_spans=()),
        Relation(4, 4, "ON "),
    ),
    *("a/b.mp4", 640, 480, "made", 29.97, 12, 0.4),
    *(("f/0.png", None), (), "palette_object_id", "frame", "inclusive"),
    {"a": [1, 2.5, None, {"ä": "\u2028"}], "/relations/0/inverted": [1], "big": 2**70},
)


@pytest.fixture
def pvsg(tmp_path):
    return make_folder("pvsg", tmp_path / "pvsg")


def graphs(rows):
    return [to_record(row) for row in rows]


class TestRows:
    def test_every_field(self):
        """Each field of the record is set somewhere; so a new one that has no column is found here."""
        for field, value in to_dict(FULL).items():
            assert value not in (None, ()), field
        assert to_record(to_row(FULL)) == FULL
        rows = datasets.Dataset.from_list([to_row(FULL), to_row(VideoGraph("8"))], features=VIDEO)
        assert graphs(rows) == [FULL, VideoGraph("8")]

    def test_through_parquet(self, tmp_path):
        pq.write_table(to_table([FULL, VideoGraph("8"), FULL]), tmp_path / "x.parquet")
        rows = datasets.Dataset.from_parquet(str(tmp_path / "x.parquet"), cache_dir=str(tmp_path / "cache"))
        assert rows.features == VIDEO and graphs(rows) == [FULL, VideoGraph("8"), FULL]

    def test_the_prediction_file_form(self):
        plain = to_dict(records("pvsg", FILES / "pvsg", "masks")[0])
        (again,) = parse_graphs([plain], kind="video").graphs
        assert again == records("pvsg", FILES / "pvsg", "masks")[0]
        plain["frame_files"][2] = None
        assert parse_graphs([plain], kind="video").graphs[0].frame_files[2] is None

    def test_values_that_no_column_holds(self):
        with pytest.raises(
            SgevalError, match=r'video "7": expected values that fit their columns: num_frames \(int32\)'
        ):
            to_table([VideoGraph("6"), VideoGraph("7", num_frames=2**31)])
        with pytest.raises(SgevalError, match=r'video "7": .*: frame \(int32\)'):
            to_row(VideoGraph("7", (Object(0, "dog", track=(TrackPoint(2**31),)),)))
        with pytest.raises(SgevalError, match=r'video "7": object 3: expected no bbox in a video'):
            to_row(VideoGraph("7", (Object(3, "dog", (0.0, 0.0, 1.0, 1.0)),)))

    def test_class_labels(self):
        labels = video_features({"categories": ("dog",), "predicates": ("on",)})
        graph = VideoGraph("7", (Object(0, "dog", category_id=0),), (Relation(0, 0, "by"),))
        rows = datasets.Dataset(to_table([graph], features=labels))
        assert graphs(rows) == [graph] and rows.features["relations"].feature["predicate_id"].names == ["on"]


@pytest.mark.parametrize(("name", "config"), OF_VIDEOS)
def test_spans_survive(name, config, tmp_path):
    """Original files → Parquet → plain `datasets.load_dataset` → records: seconds and source numbers, bit by bit."""
    folder = make_folder(name, tmp_path / name)
    export(name, tmp_path / "out", data_dir=folder, config=config)
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    for split, rows in loaded.items():
        wanted = records(name, folder, config, split)
        for row, graph in zip(rows, wanted, strict=True):
            for one, relation in zip(row["relations"], graph.relations, strict=True):
                assert [(span["start"], span["end"]) for span in one["spans"]] == list(relation.spans)
                assert [tuple(span) for span in one["raw_spans"]] == list(relation.raw_spans)
            assert (row["span_unit"], row["span_end"]) == (graph.span_unit, graph.span_end)


class TestFiles:
    def test_a_missing_frame_or_mask(self, pvsg, load):
        for what in ("frame", "mask"):
            path = pvsg / f"data/vidor/{what}s/{FIRST}/0003.png"
            path.rename(pvsg / "away.png")
            with pytest.raises(
                SgevalError,
                match=rf'video "{FIRST}": expected the {what} "vidor/{what}s/.*/0003.png" at .*/data/vidor/{what}s/.*png',
            ):
                load("pvsg", "masks", data_dir=pvsg)
            row = load("pvsg", "masks", data_dir=pvsg, split="train", missing_images="null")[0]
            names = row[f"{what}_files"]
            assert names[3] is None and names[4].endswith("0004.png") and len(names) == 6
            (pvsg / "away.png").rename(path)
        assert None not in load("pvsg", "masks", data_dir=pvsg, split="train", missing_images="null")[0]["frame_files"]

    def test_names_stay_when_nothing_is_looked_for(self, pvsg, load):
        shutil.rmtree(pvsg / "data/vidor/frames")
        rows = load("pvsg", "frames", data_dir=pvsg, split="train", with_images=False)
        assert graphs(rows) == records("pvsg", pvsg, "frames", "train")

    @pytest.mark.parametrize("missing", ["error", "null"])
    def test_frames_that_count_from_one(self, missing, pvsg, load):
        """FC51. 0001.png would be taken for the second frame, and 0006.png for none."""
        folder = pvsg / f"data/vidor/frames/{FIRST}"
        for number in reversed(range(6)):
            (folder / f"{number:04d}.png").rename(folder / f"{number + 1:04d}.png")
        words = rf'video "{FIRST}": expected files that count from ".*0000.png".*0006.png.*another number'
        with pytest.raises(SgevalError, match=words):
            load("pvsg", "frames", data_dir=pvsg, missing_images=missing)
        assert any("another number" in fault for fault in inspect("pvsg", pvsg, config="frames").faults)

    @pytest.mark.parametrize("missing", ["error", "null"])
    @pytest.mark.parametrize("what", ["frame", "mask"])
    def test_files_from_one_and_one_fewer(self, what, missing, pvsg, load):
        """With nulls each would be a frame late; the way to that is not offered."""
        (pvsg / f"data/vidor/{what}s/{FIRST}/0000.png").unlink()
        words = rf'video "{FIRST}": expected files that count from ".*0000.png", got none of that name and .*0001.png'
        with pytest.raises(SgevalError, match=words) as caught:
            load("pvsg", "masks", data_dir=pvsg, with_masks=True, missing_images=missing)
        assert "null" not in str(caught.value)
        found = inspect("pvsg", pvsg, config="masks")
        assert sum(FIRST in fault and "dumped from 1" in fault for fault in found.faults) == 1

    def test_more_frames_than_said(self, pvsg):
        folder = pvsg / f"data/vidor/frames/{FIRST}"
        shutil.copy(folder / "0005.png", folder / "0006.png")
        (odd,) = [entry for entry in inspect("pvsg", pvsg, config="frames").oddities if "more frames" in entry.what]
        assert (odd.count, odd.ids) == (1, [FIRST])

    def test_image_dir(self, pvsg, tmp_path, load):
        (pvsg / "data/vidor").rename(tmp_path / "vidor")
        with pytest.raises(SgevalError, match="image_dir"):
            load("pvsg", "frames", data_dir=pvsg)
        shutil.copytree(pvsg / "data/ego4d", tmp_path / "ego4d")
        shutil.copytree(pvsg / "data/epic_kitchen", tmp_path / "epic_kitchen")
        assert load("pvsg", "masks", data_dir=pvsg, image_dir=tmp_path, with_masks=True)["train"].num_rows == 2

    def test_a_frame_of_another_video_is_never_taken(self, pvsg, tmp_path, load):
        (tmp_path / "flat").mkdir()
        for number in range(6):
            shutil.copy(pvsg / f"data/vidor/frames/{FIRST}/{number:04d}.png", tmp_path / "flat")
        with pytest.raises(SgevalError, match="expected the frame"):
            load("pvsg", "frames", data_dir=pvsg, image_dir=tmp_path / "flat")

    def test_names_that_lead_out(self, pvsg, load):
        file = pvsg / "data/pvsg.json"
        file.write_text(file.read_text().replace(FIRST, "../../../etc"))
        with pytest.raises(SgevalError, match="frame_files: expected a name below the folder of pictures"):
            load("pvsg", "frames", data_dir=pvsg)

    def test_clips(self, pvsg, load, tmp_path):
        rows = load("pvsg", data_dir=pvsg, with_video=True, split="train")
        paths = [clip["path"] for clip in rows.cast_column("video", datasets.Video(decode=False))["video"]]
        assert paths == [str(pvsg / "data" / name) for name in rows["file_name"]]
        assert load("pvsg", data_dir=pvsg, split="train")["video"][:] == [None, None]
        (pvsg / "data/vidor/videos" / f"{FIRST}.mp4").unlink()
        with pytest.raises(SgevalError, match=rf'video "{FIRST}": expected the clip "vidor/.*with_video=False'):
            load("pvsg", data_dir=pvsg, with_video=True, download_mode="force_redownload")
        nulls = load("pvsg", data_dir=pvsg, with_video=True, missing_images="null", split="train")
        nulls = nulls.cast_column("video", datasets.Video(decode=False))["video"][:]
        assert nulls[0] is None and nulls[1] is not None

    def test_an_export_holds_its_clips(self, pvsg, tmp_path):
        before = (pvsg / f"data/vidor/videos/{FIRST}.mp4").read_bytes()
        export("pvsg", tmp_path / "out", data_dir=pvsg, with_video=True)
        shutil.rmtree(pvsg)
        rows = datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
        assert rows.cast_column("video", datasets.Video(decode=False))[0]["video"]["bytes"] == before
        assert "clips" in (tmp_path / "out/README.md").read_text().split("-->")[0].split("sgeval data export:")[1]

    @pytest.mark.parametrize(
        ("name", "options", "words"),
        [
            ("psg", {"with_video": True}, 'with_video: expected a data set with clips, got "psg"'),
            ("pvsg", {"with_masks": True}, r'expected a config that has masks \(masks\), got "annotations"'),
            ("vidor", {"with_masks": True}, 'expected a data set with masks, got "vidor"'),
            ("pvsg", {"config": "mask"}, 'did you mean "masks"'),
            ("vidor", {"split": "validation"}, "expected one of train, val, all"),
        ],
    )
    def test_options_that_a_set_does_not_have(self, name, options, words, tmp_path, load):
        folder = make_folder(name, tmp_path / name)
        with pytest.raises(SgevalError, match=words):
            load(name, data_dir=folder, **options)


class TestTracks:
    @pytest.fixture
    def first(self, pvsg, load):
        return to_record(load("pvsg", "masks", data_dir=pvsg, split="train", with_masks=True)[0])

    def test_boxes_and_codes_are_those_of_the_masks(self, pvsg, first):
        """Against a slow reading: the pixels with the object's id, their outermost rows and columns."""
        for item in first.objects:
            frames = {point.frame: point for point in item.track}
            for number, name in enumerate(first.mask_files):
                wanted = np.asarray(Image.open(pvsg / "data" / name)) == item.id
                assert (number in frames) == wanted.any()
                if wanted.any():
                    rows, columns = np.nonzero(wanted)
                    x, y = columns.min(), rows.min()
                    box = (x, y, columns.max() - x + 1, rows.max() - y + 1)
                    assert frames[number].bbox == box == masks.box_of_code(frames[number].segmentation)
                    assert (masks.mask_of(frames[number].segmentation) == wanted).all()

    def test_relations_of_what_is_not_to_be_seen(self, first):
        """Frame 5 is background all over, object 3 is absent in frame 4 too. [0, 5] of floor and adult lacks frame 5; [0, 1]
        and [3, 3] lack none; [2, 4] of adult and dog lacks 4; [4, 5] of dog and adult lacks both."""
        flags = {key: value for key, value in first.extra.items() if key.startswith("/")}
        assert flags == {
            "/relations/0/absent_frames": 1,
            "/relations/2/absent_frames": 1,
            "/relations/3/absent_frames": 2,
        }

    def test_a_missing_mask_says_nothing(self, pvsg, load):
        """Frame 5 is no longer looked at, so nobody is absent there."""
        (pvsg / f"data/vidor/masks/{FIRST}/0005.png").unlink()
        options = {"with_masks": True, "missing_images": "null", "split": "train"}
        graph = to_record(load("pvsg", "masks", data_dir=pvsg, **options)[0])
        flags = {key: value for key, value in graph.extra.items() if key.startswith("/")}
        assert flags == {"/relations/2/absent_frames": 1, "/relations/3/absent_frames": 1}

    def test_ids_that_no_object_has(self, pvsg, load):
        path = pvsg / f"data/vidor/masks/{FIRST}/0005.png"
        image = Image.open(path)
        image.putpixel((3, 4), 9)
        image.save(path)
        graph = to_record(load("pvsg", "masks", data_dir=pvsg, split="train", with_masks=True)[0])
        assert graph.extra["/mask_files/unlisted_ids"] == {"9": [5]}

    @pytest.mark.parametrize(
        ("picture", "words"),
        [
            (Image.new("P", (40, 32)), "expected the annotated 48 x 32, got 40 x 32"),
            (Image.new("RGB", (48, 32)), "expected one value a pixel, as palette index or grey, got RGB"),
            (b"no picture", "expected a picture"),
        ],
    )
    def test_masks_that_are_none(self, picture, words, pvsg, load):
        path = pvsg / f"data/vidor/masks/{FIRST}/0002.png"
        path.write_bytes(picture) if isinstance(picture, bytes) else picture.save(path)
        with pytest.raises(BadImage, match=rf'video "{FIRST}": .*0002.png: {words}'):
            load("pvsg", "masks", data_dir=pvsg, with_masks=True)

    def test_a_changed_mask_is_noticed(self, pvsg, load, first):
        path = pvsg / f"data/vidor/masks/{FIRST}/0000.png"
        Image.open(path).transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(path)
        again = to_record(load("pvsg", "masks", data_dir=pvsg, split="train", with_masks=True)[0])
        assert again.objects[1].track[0].bbox != first.objects[1].track[0].bbox


class TestInspect:
    def test_oddities_are_counted(self, pvsg):
        found = {entry.what: (entry.count, entry.ids) for entry in inspect("pvsg", pvsg).oddities}
        assert found == {
            "relations whose predicate is not in the class list": (1, [FIRST]),
            "relations with spans that reach beyond the clip": (2, [EGO]),
        }

    def test_oddities_of_vidor(self, tmp_path):
        found = {entry.what: entry.count for entry in inspect("vidor", make_folder("vidor", tmp_path / "v")).oddities}
        assert found == {
            "videos that are said to have more frames than have boxes": 1,
            "relations that hold while an end of theirs is not to be seen": 1,
            "relations whose triplet an earlier one has": 1,
        }

    def test_missing_clips_by_id(self, pvsg):
        (pvsg / f"data/vidor/videos/{FIRST}.mp4").unlink()
        found = inspect("pvsg", pvsg)
        assert found.missing_pictures == [(FIRST, f"vidor/videos/{FIRST}.mp4")] and found.n_pictures == 2

    def test_missing_masks(self, pvsg):
        (pvsg / f"data/vidor/masks/{FIRST}/0001.png").write_bytes(b"")
        found = inspect("pvsg", pvsg, config="masks", with_masks=True)
        assert found.missing_maps == [(FIRST, f"vidor/masks/{FIRST}/0001.png")] and found.n_pictures == 18

    def test_the_command(self, pvsg, monkeypatch):
        monkeypatch.setenv("COLUMNS", "250")
        done = CliRunner().invoke(app, ["data", "info", "pvsg", "--data-dir", str(pvsg)])
        assert (
            f"odd       relations with spans that reach beyond the clip: 2, in 1 video; first in {EGO}\n" in done.stdout
        )
        assert "train     2 records, 2 distinct ids (published 338)" in done.stdout and done.exit_code == 2
        plain = json.loads(CliRunner().invoke(app, ["data", "info", "pvsg", "--data-dir", str(pvsg), "--json"]).stdout)
        assert plain["oddities"][0]["ids"] == [FIRST]
        for name in ("pvsg", "vidor"):
            told = CliRunner().invoke(app, ["data", "info", name]).stdout
            assert "huggingface.co/datasets" in told and DATA_SETS[name].licence.words in told

    def test_an_id_that_came_before(self, pvsg):
        file = pvsg / "data/pvsg.json"
        whole = json.loads(file.read_text())
        file.write_text(json.dumps({**whole, "data": [*whole["data"], whole["data"][1]]}))
        (fault,) = inspect("pvsg", pvsg).faults
        assert 'data[3]: expected each video once, got "P99_01" again' in fault

    def test_many_files_of_one_kind(self, tmp_path):
        found = inspect("vidor", make_folder("vidor", tmp_path / "v"))
        assert found.files[0].path.endswith("9000000001.json and 1 more")


@pytest.mark.parametrize(("name", "config"), OF_VIDEOS)
def test_the_hosts_own_call(name, config, tmp_path):
    sgeval.register()
    folder = make_folder(name, tmp_path / name)
    split = DATA_SETS[name].configs[config][-1]
    loaded = datasets.load_dataset(name, config, data_dir=str(folder), cache_dir=str(tmp_path / "cache"), split=split)
    assert graphs(loaded) == records(name, folder, config, split) != []


def test_next_names():
    assert name_after(["v/00000020.jpg", "v/00000025.jpg"]) == "v/00000030.jpg"
    assert name_after(["v/8.png", "v/9.png"]) == "v/10.png"
    for names in ([], ["a/0.png"], ["a/1.png", "a/1.png"], ["a", "b"], [None, "a/1.png"], ["5.png", "3.png"]):
        assert name_after(names) is None


def test_a_part_is_read_alone(tmp_path, monkeypatch):
    """Several processes each open their own files of VidOR, and no others."""
    folder = make_folder("vidor", tmp_path / "vidor")
    opened = []
    read = vidor.read_vidor_file
    monkeypatch.setattr(
        vidor, "read_vidor_file", lambda path, **options: opened.append(path.name) or read(path, **options)
    )
    assert reading.count("vidor", folder) == 2 and not opened
    assert len(list(reading.read("vidor", folder, part=(1, 2)))) == 1 and opened == ["9000000002.json"]
    assert len(list(reading.read("pvsg", FILES / "pvsg", part=(1, 3)))) == 2
