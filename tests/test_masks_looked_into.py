"""Masks of videos decoded by `sgeval data info --with-masks`: what differs from the record is counted, with the first video
and frame."""

import json
from dataclasses import replace

import numpy as np
import pytest
from data_kit import make_folder, records
from PIL import Image
from typer.testing import CliRunner
from vipseg_kit import A, B

from sgeval import masks
from sgeval.cli.app import app
from sgeval.data.inspect import inspect
from sgeval.data.pictures import place_of
from sgeval.data.sets import DATA_SETS
from sgeval.data.tracks import look_into_masks, track_of_masks
from sgeval.errors import BadImage
from sgeval.readers.vipseg import read_vipseg
from sgeval.records import Object, Relation, TrackPoint, VideoGraph

FIRST = "9001_0000000001"


@pytest.fixture
def pvsg(tmp_path):
    return make_folder("pvsg", tmp_path / "pvsg")


def mask(folder, number):
    return folder / f"data/vidor/masks/{FIRST}/{number:04d}.png"


def changed(path, change):
    """A mask after a change of its values; its palette stays."""
    image = Image.open(path)
    values = np.asarray(image).copy()
    change(values)
    other = Image.fromarray(values, image.mode)
    if image.mode == "P":
        other.putpalette(image.getpalette())
    other.save(path)


def odd(found):
    return {entry.what: (entry.count, entry.ids, entry.frame) for entry in found.oddities}


def look(folder, **options):
    return inspect("pvsg", folder, config="masks", **{"with_masks": True, **options})


class TestPvsg:
    def test_ids_that_no_object_has(self, pvsg):
        def dot(values):
            values[3, 4] = 9

        changed(mask(pvsg, 5), dot)
        changed(mask(pvsg, 2), dot)
        words = "videos whose masks show ids that no object has"
        assert odd(look(pvsg))[words] == (1, [FIRST], 2)
        assert words not in odd(look(pvsg, with_masks=False))

    def test_an_object_that_no_mask_shows(self, pvsg):
        """The dog is object 3. Where a mask is missing nobody can tell."""

        def gone(values):
            values[values == 3] = 0

        for number in range(6):
            changed(mask(pvsg, number), gone)
        assert odd(look(pvsg))["objects that no mask shows"] == (1, [FIRST], None)
        mask(pvsg, 4).unlink()
        assert "objects that no mask shows" not in odd(look(pvsg))

    def test_relations_while_an_end_is_away(self, pvsg):
        """As with tracks: three relations of the first video (see `test_video_rows`)."""
        count, ids, frame = odd(look(pvsg))["relations that hold while an end of theirs is not to be seen"]
        assert ids[0] == FIRST and count >= 3 and frame is None

    def test_masks_that_are_none(self, pvsg):
        mask(pvsg, 1).write_bytes(b"no picture")
        Image.new("P", (40, 32)).save(mask(pvsg, 2))
        mask(pvsg, 3).write_bytes(b"")
        found = look(pvsg)
        assert len(found.broken_masks) == 2 and found.missing_maps == [(FIRST, f"vidor/masks/{FIRST}/0003.png")]
        (fault,) = [fault for fault in found.faults if "are none" in fault]
        words = f'masks: 2 that are none, or not those of their record; the first: video "{FIRST}": '
        assert fault.startswith(words) and "0001.png: expected a picture" in fault
        assert "0002.png: expected the annotated 48 x 32, got 40 x 32" in found.broken_masks[1]

    def test_missing_masks_are_looked_for_at_any_rate(self, pvsg):
        mask(pvsg, 1).unlink()
        missing = [(FIRST, f"vidor/masks/{FIRST}/0001.png")]
        assert look(pvsg, with_masks=False).missing_maps == look(pvsg).missing_maps == missing
        assert look(pvsg, with_masks=False, with_images=False).missing_maps == []

    def test_the_command(self, pvsg, monkeypatch):
        monkeypatch.setenv("COLUMNS", "250")

        def dot(values):
            values[0, 0] = 77

        changed(mask(pvsg, 4), dot)
        arguments = ["data", "info", "pvsg", "--config", "masks", "--data-dir", str(pvsg), "--with-masks"]
        done = CliRunner().invoke(app, arguments)
        words = f"odd       videos whose masks show ids that no object has: 1, in 1 video; first in {FIRST}, frame 4"
        assert words in done.stdout and "masks:" not in done.stdout
        mask(pvsg, 4).write_bytes(b"no picture")
        done = CliRunner().invoke(app, arguments)
        assert (
            done.exit_code == 2
            and "amiss     masks: 1 that are none, or not those of their record; the first: " in done.stdout
        )
        assert len(json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)["broken_masks"]) == 1


def test_vipseg_masks_that_differ_from_the_file(tmp_path):
    """In frame 1 of the first clip the second person (17388) becomes the first, a pixel is nobody's, another the dog's."""
    folder = make_folder("vipseg", tmp_path / "vipseg")
    graph = next(read_vipseg(folder))

    def colour(number):
        return (number % 256, number // 256, 0)

    def change(values):
        values[(values == colour(17388)).all(axis=-1)] = colour(13291)
        values[0, 0] = colour(7)
        values[0, 1] = colour(25582)

    changed(folder / graph.mask_files[1], change)
    found = odd(inspect("vipseg", folder, with_masks=True))
    assert found == {
        "objects that some masks do not show where they are said to be seen": (1, [A], 1),
        "objects that some masks show where they are not said to be seen": (1, [A], 1),
        "videos whose masks show ids that no object has": (1, [A], 1),
        "objects that some masks show with another area than the file says": (2, [A], 1),
    }
    assert odd(inspect("vipseg", folder)) == {}
    extra = track_of_masks(graph, place_of(DATA_SETS["vipseg"], "720p", folder).masks(graph)).extra
    frames = {key: value for key, value in extra.items() if key.endswith("_areas")}
    assert frames == {"/objects/0/other_areas": [1], "/objects/2/other_areas": [1]}  # the wall lost two pixels
    (folder / f"VIPSeg_720P/panomasksRGB/{B}/00000025.png").write_bytes(b"no picture")
    look = inspect("vipseg", folder, with_masks=True)
    assert [state.records for state in look.splits] == [1, 1] and f'video "{B}"' in look.broken_masks[0]


def test_vipseg_masks_that_changed_places(tmp_path):
    """The masks of frames 0 and 2 of the second clip, which show the same objects: only areas and the dog tell."""
    folder = make_folder("vipseg", tmp_path / "vipseg")
    first, last = (folder / f"VIPSeg_720P/panomasksRGB/{A}/000000{number}.png" for number in (20, 30))
    first.rename(folder / "away.png")
    last.rename(first)
    (folder / "away.png").rename(last)
    found = odd(inspect("vipseg", folder, with_masks=True))
    assert {what: frame for what, (_, _, frame) in found.items()} == {
        "objects that some masks do not show where they are said to be seen": 0,
        "objects that some masks show where they are not said to be seen": 2,
        "objects that some masks show with another area than the file says": 0,
    }


def test_a_frame_without_a_mask_says_nothing(tmp_path):
    """Objects 1 and 2 are said to be in frames 0 and 1. The first mask has three pixels of 1, said to be three, and two of 2,
    said to be one; the second is missing. An area of null is none."""
    Image.fromarray(np.array([[1, 1, 1], [2, 2, 0]], dtype=np.uint16)).save(tmp_path / "0.png")
    track = (TrackPoint(0), TrackPoint(1))
    graph = VideoGraph(
        "v",
        (Object(1, "x", track=track), Object(2, "y", track=track), Object(4, "z")),
        mask_files=("0.png", "1.png"),
        mask_encoding="grey_object_id",
        extra={"/objects/0/areas": [3, 9], "/objects/1/areas": [1, None]},
    )
    flags, _ = look_into_masks(graph, [tmp_path / "0.png", None])
    assert flags == {"/objects/1/other_areas": [0]}
    graph = replace(graph, extra={"/objects/0/areas": [None, 9]})
    assert look_into_masks(graph, [tmp_path / "0.png", None])[0] == {}


def test_masks_of_two_sizes_where_the_record_says_none(tmp_path):
    """The first mask that is there says the size: 3 x 2. The last is turned, and the last but one has it."""
    for number, size in enumerate([(3, 2), (3, 2), (2, 3)]):
        Image.new("L", size, 1).save(tmp_path / f"{number}.png")
    paths = [None, *(tmp_path / f"{number}.png" for number in range(3))]
    graph = VideoGraph("v", (Object(1, "x"),), mask_files=("a", "b", "c", "d"), mask_encoding="grey_object_id")
    whole = track_of_masks(graph, paths[:3])
    assert (whole.width, whole.height) == (3, 2) and [point.frame for point in whole.objects[0].track] == [1, 2]
    words = r'video "v": .*2\.png: expected 3 x 2 as the first mask, got 2 x 3'
    with pytest.raises(BadImage, match=words):
        track_of_masks(graph, paths)
    _, faults = look_into_masks(graph, paths)
    assert len(faults) == 1 and "2.png: expected 3 x 2 as the first mask" in str(faults[0])
    with pytest.raises(BadImage, match=r'video "v": .*0\.png: expected 4 x 2 as the record, got 3 x 2'):
        track_of_masks(replace(graph, width=4), paths)
    empty = track_of_masks(graph, [None])
    assert (empty.width, empty.height) == (None, None)


class TestRecordsWithoutSize:
    def test_pvsg(self, pvsg):
        """A mask of 11 x 7 among those of 48 x 32."""
        file = pvsg / "data/pvsg.json"
        whole = json.loads(file.read_text())
        for record in whole["data"]:
            del record["meta"]["width"], record["meta"]["height"]
        file.write_text(json.dumps(whole))
        graph = records("pvsg", pvsg, "masks")[0]
        place = place_of(DATA_SETS["pvsg"], "masks", pvsg)
        tracked = track_of_masks(graph, place.masks(graph))
        assert (graph.width, tracked.width, tracked.height) == (None, 48, 32)
        Image.open(mask(pvsg, 2)).resize((11, 7), 0).save(mask(pvsg, 2))
        with pytest.raises(BadImage, match=rf'video "{FIRST}": .*0002.png: expected 48 x 32 as the first mask, got 11'):
            track_of_masks(graph, place.masks(graph))
        assert len(look(pvsg).broken_masks) == 1

    def test_vipseg(self, tmp_path):
        folder = make_folder("vipseg", tmp_path / "vipseg")
        for file in (folder / "VIPSeg_720P").glob("*.json"):
            whole = json.loads(file.read_text())
            for image in (image for video in whole["videos"] for image in video["images"]):
                image.pop("width", None), image.pop("height", None)
            file.write_text(json.dumps(whole))
        graph = next(read_vipseg(folder))
        path = folder / graph.mask_files[1]
        Image.open(path).resize((20, 12), 0).save(path)
        found = inspect("vipseg", folder, with_masks=True)
        assert [A in fault and "expected 40 x 24 as the first mask" in fault for fault in found.broken_masks] == [True]


def test_how_many_other_ids_a_mask_may_hold(tmp_path, monkeypatch):
    monkeypatch.setattr("sgeval.data.tracks.MOST_UNLISTED", 2)
    graph = VideoGraph("v", (Object(1, "x"),), mask_files=("0.png",), mask_encoding="grey_object_id")
    for others, n_faults in ((2, 0), (3, 1)):
        Image.fromarray(np.arange(2 + others, dtype=np.uint16)[None]).save(tmp_path / "0.png")  # 0, 1 and others
        _, faults = look_into_masks(graph, [tmp_path / "0.png"])
        assert len(faults) == n_faults
    assert "expected ids of its objects, got 3 others" in str(faults[0])


def test_the_same_flags_as_drawing_tracks(tmp_path):
    """On random masks and records, with and without tracks and missing masks."""
    rng = np.random.default_rng(6)
    place = place_of(DATA_SETS["vipseg"], "raw", tmp_path)
    for case in range(40):
        names, n_frames = [], int(rng.integers(1, 6))
        for frame in range(n_frames):
            values = rng.choice([0, 1, 2, 3, 9], (6, 7), p=[0.4, 0.3, 0.2, 0.08, 0.02])
            name = f"{case}/{frame}.png"
            (tmp_path / str(case)).mkdir(exist_ok=True)
            if rng.random() < 0.9:
                Image.fromarray(values.astype(np.uint16)).save(tmp_path / name)
                assert masks.areas_of_ids(values) == {
                    number: int((values == number).sum()) for number in (1, 2, 3, 9) if (values == number).any()
                }
            names.append(name)
        tracks = [
            tuple(TrackPoint(frame) for frame in range(n_frames) if rng.random() < 0.8) if rng.random() < 0.5 else None
            for _ in range(3)
        ]
        graph = VideoGraph(
            "v",
            tuple(Object(number, "x", track=track) for number, track in zip((1, 2, 3), tracks, strict=True)),
            (Relation(1, 3, "on", spans=((0.0, 2.0),), raw_spans=((0.0, 2.0),)),),
            fps=1.0,
            num_frames=n_frames,
            mask_files=tuple(names),
            mask_encoding="grey_object_id",
        )
        paths = place.masks(graph)
        flags, faults = look_into_masks(graph, paths)
        assert not faults and flags == track_of_masks(graph, paths).extra


def test_flags_of_a_video_without_objects_or_masks():
    assert look_into_masks(VideoGraph("7"), []) == ({}, [])
    assert look_into_masks(VideoGraph("7", (Object(1, "x"),)), []) == ({}, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pvsg"], 'with_masks: expected a config that has masks (masks), got "annotations"'),
        (["vidor"], 'with_masks: expected a data set with masks, got "vidor"'),
        (["vg150"], 'with_masks: expected a data set with masks, got "vg150"'),
    ],
)
def test_sets_and_configs_without_masks(arguments, words):
    """Asked for and not there is a fault, and not nothing."""
    done = CliRunner().invoke(app, ["data", "info", *arguments, "--with-masks"])
    assert done.exit_code == 2 and words in done.stderr


def test_sets_of_pictures_keep_their_masks_on_request(tmp_path):
    folder = make_folder("psg", tmp_path / "psg")
    (folder / "coco/panoptic_val2017/000000001003.png").unlink()
    assert inspect("psg", folder).missing_maps == []
