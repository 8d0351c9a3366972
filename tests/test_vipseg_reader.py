"""The VIPSeg reader: what holds for both forms, and the masks of both, against records that are known by hand."""

import shutil
import warnings

import numpy as np
import pytest
from data_kit import make_folder
from PIL import Image
from vipseg_kit import DATA, OF_720P, OF_RAW, STEMS, TRAIN, A, B, C

import sgeval
from sgeval.data.inspect import inspect
from sgeval.data.pictures import place_of
from sgeval.data.sets import DATA_SETS
from sgeval.data.tracks import track_of_masks
from sgeval.errors import BadImage, SgevalError
from sgeval.hub.features import to_record
from sgeval.readers.vipseg import count_vipseg, read_vipseg, vipseg_classes, vipseg_unmet
from sgeval.records import VideoGraph

pytestmark = pytest.mark.filterwarnings("ignore:.*published number of records")


@pytest.fixture
def folder(tmp_path):
    return make_folder("vipseg", tmp_path / "vipseg")


class TestRecords:
    def test_the_first_of_each_form(self):
        assert next(read_vipseg(DATA)) == OF_720P
        assert next(read_vipseg(DATA, config="raw")) == OF_RAW

    def test_the_last_of_each_form(self):
        """Of the 720p form the clip of val, without the pixel of 200; of the raw one the test clip, which has no masks."""
        *_, last = read_vipseg(DATA)
        assert [(item.id, item.category) for item in last.objects][4:] == [(21485, "dog")] and last.video_id == B
        assert last.extra["/objects/0/areas"] == [400, 400, 400]
        *_, last = read_vipseg(DATA, config="raw")
        frames = tuple(f"imgs/{C}/{stem}.jpg" for stem in STEMS)
        assert last == VideoGraph(C, source="vipseg", num_frames=3, frame_files=frames)

    def test_splits_parts_and_counts(self):
        def ids(*args, **options):
            return [graph.video_id for graph in read_vipseg(DATA, *args, **options)]

        assert ids() == [A, B] and ids("train") == [A] and ids("val") == [B]
        assert ids(config="raw") == [A, B, C] and ids("test", config="raw") == [C]
        assert ids(part=(1, None)) == [B] and ids(config="raw", part=(1, 2)) == [B]
        assert [count_vipseg(DATA, split) for split in (None, "train", "val")] == [2, 1, 1]
        assert [count_vipseg(DATA, split, config="raw") for split in (None, "test")] == [3, 1]

    def test_class_lists(self):
        for config in ("720p", "raw"):
            names = vipseg_classes(DATA, config=config).names
            assert len(names) == 63 and (names[0], names[60], names[62]) == ("wall", "person", "dog")
            assert names[2] == "unnamed 2"

    def test_frames_a_second(self):
        assert next(read_vipseg(DATA)).fps is None
        assert next(read_vipseg(DATA, fps=6)).fps == next(read_vipseg(DATA, config="raw", fps=6)).fps == 6.0
        for fps in (0, -6, "6", True, float("nan")):
            with pytest.raises(SgevalError, match="fps: expected frames a second"):
                read_vipseg(DATA, fps=fps)

    @pytest.mark.parametrize("flat", [False, True])
    def test_the_published_folder_itself(self, flat, folder):
        """`data_dir` may be VIPSeg/, with VIPSeg_720P/ in it, as the scripts leave it."""
        (folder / "VIPSeg_720P").rename(folder / "VIPSeg/VIPSeg_720P")
        (folder / "panoVIPSeg_categories.json").rename(folder / "VIPSeg/panoVIPSeg_categories.json")
        data_dir = folder / "VIPSeg" if flat else folder
        assert next(read_vipseg(data_dir)) == OF_720P and next(read_vipseg(data_dir, config="raw")) == OF_RAW
        for config in ("720p", "raw"):
            assert not inspect("vipseg", data_dir, config=config, with_masks=True).missing_maps
            assert not inspect("vipseg", data_dir, config=config).missing_pictures


class TestOneFileForAll:
    @pytest.fixture
    def one(self, folder):
        for split in ("train", "val"):
            (folder / f"VIPSeg_720P/panoptic_gt_VIPSeg_{split}.json").unlink()
        return folder

    def test_lists_tell_the_splits(self, one):
        assert next(read_vipseg(one, "train")) == OF_720P
        assert [graph.video_id for graph in read_vipseg(one, "val")] == [B]
        (one / "VIPSeg/val.txt").write_text("")
        assert [graph.video_id for graph in read_vipseg(one)] == [A, B] and not list(read_vipseg(one, "val"))
        assert "1 record is in no split, so no split holds them" in inspect("vipseg", one).faults

    def test_names_of_lists_without_a_record(self, one):
        (one / "VIPSeg/val.txt").write_text(f"gone\n{B}\n")
        assert vipseg_unmet(one) == ["gone"] and vipseg_unmet(one, config="raw") == []
        assert '1 video that a list of a split names has no record: "gone"' in inspect("vipseg", one).faults

    def test_without_lists(self, one):
        shutil.rmtree(one / "VIPSeg")
        assert len(list(read_vipseg(one))) == 2
        with pytest.raises(SgevalError, match=r"panoptic_gt_VIPSeg_val.json beside it, or a list of clips val.txt"):
            read_vipseg(one, "val")


def test_a_split_without_a_list_is_empty(folder, tmp_path):
    """In both forms, where another split has one: a table of train is to be had with train's list alone."""
    for name in ("train", "val"):
        (folder / f"VIPSeg_720P/panoptic_gt_VIPSeg_{name}.json").unlink()
    (folder / "VIPSeg/val.txt").unlink()
    for config in ("720p", "raw"):
        assert [graph.video_id for graph in read_vipseg(folder, "train", config=config)] == [A]
        assert list(read_vipseg(folder, "val", config=config)) == []
        with pytest.warns(UserWarning, match=r"expected the published number of records, got .*val 0"):
            table = sgeval.load_dataset("vipseg", config, data_dir=folder, split="train", cache_dir=tmp_path / "cache")
        assert table["video_id"][:] == [A]


def test_lists_of_splits_without_a_file_ask_for_nothing(folder):
    (folder / "VIPSeg/train.txt").write_text(f"{A}\ngone\n")
    assert vipseg_unmet(folder) == ["gone"]
    (folder / TRAIN).unlink()
    assert vipseg_unmet(folder) == []


class TestCounts:
    """The option `fps` leaves the number of clips as it is, so that the published number is held against it all the same."""

    def test_of_a_folder(self, folder):
        for options in ({}, {"fps": 6}):
            assert "train: expected the published 2,806 records, got 1" in inspect("vipseg", folder, **options).faults

    def test_filters_may_change_it(self, tmp_path):
        """Of another data set, since VIPSeg has no filters."""
        other = make_folder("svg2_test", tmp_path / "svg2_test")
        assert not any("published" in fault for fault in inspect("svg2_test", other, filters=["drop_empty"]).faults)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sgeval.load_dataset("svg2_test", data_dir=other, cache_dir=tmp_path / "cache", filters=["drop_empty"])

    def test_of_a_table(self, folder, tmp_path):
        for options in ({}, {"fps": 6}):
            with pytest.warns(UserWarning, match=r"train 1 \(published: 2,806\)"):
                sgeval.load_dataset("vipseg", data_dir=folder, cache_dir=tmp_path / f"cache{len(options)}", **options)
            with pytest.raises(SgevalError, match=r"train 1 \(published: 2,806\)"):
                sgeval.load_dataset(
                    "vipseg",
                    data_dir=folder,
                    cache_dir=tmp_path / f"strict{len(options)}",
                    verification_mode="all_checks",
                    **options,
                )


def test_a_clip_that_is_not_in_the_form_does_not_hide_the_others(folder):
    for config, change in (("720p", "JSON"), ("raw", "a mask")):
        if change == "JSON":
            file = folder / TRAIN
            file.write_text(file.read_text().replace('"id": 5097', '"id": 0', 1))
        else:
            (folder / f"VIPSeg/panomasks/{A}/{STEMS[0]}.png").write_bytes(b"no picture")
        found = inspect("vipseg", folder, config=config, with_images=False)
        assert [(state.records, state.unread) for state in found.splits][:2] == [(0, 1), (1, 0)]
        assert "train: 1 video cannot be read; each is named" in found.faults
        assert any(A in fault for fault in found.faults) and not any("no split" in fault for fault in found.faults)


def test_one_split_is_enough(folder):
    (folder / "VIPSeg_720P/panoptic_gt_VIPSeg_val.json").unlink()
    assert [graph.video_id for graph in read_vipseg(folder)] == [A] and list(read_vipseg(folder, "val")) == []


class TestMasks:
    # Persons: columns 4 to 11 and 24 to 31, rows 6 to 19 and 8 to 19; the first moves 5 to the right each frame.
    BOXES = ((4.0, 6.0, 8.0, 14.0), (9.0, 6.0, 8.0, 14.0), (14.0, 6.0, 8.0, 14.0))

    @pytest.mark.parametrize(("config", "wall", "person"), [("720p", 5097, 13291), ("raw", 1, 6100)])
    def test_boxes(self, config, wall, person, folder, tmp_path):
        rows = sgeval.load_dataset(
            "vipseg", config, data_dir=folder, split="train", with_masks=True, cache_dir=tmp_path / "cache"
        )
        graph = to_record(rows[0])
        tracks = {item.id: item.track for item in graph.objects}
        assert tuple(point.bbox for point in tracks[person]) == self.BOXES
        assert tracks[wall][0].bbox == (0.0, 0.0, 40.0, 12.0)
        dog = next(item for item in graph.objects if item.category == "dog")
        assert [(point.frame, point.bbox) for point in dog.track] == [(2, (30.0, 14.0, 6.0, 6.0))]
        speck = next(item for item in graph.objects if item.category == "ceiling")
        assert [(point.frame, point.bbox) for point in speck.track] == [(2, (0.0, 0.0, 1.0, 1.0))]
        assert not {"/mask_files/unlisted_ids"} & set(graph.extra)

    def test_both_forms_agree(self, folder):
        """The 720p masks are made of the raw ones: the same boxes and codes, under other ids."""
        tracks = []
        for config in ("720p", "raw"):
            graph = next(read_vipseg(folder, config=config))
            place = place_of(DATA_SETS["vipseg"], config, folder)
            found = track_of_masks(graph, place.masks(graph))
            assert [item.track and [p.frame for p in item.track] for item in found.objects] == [
                [p.frame for p in item.track] for item in graph.objects
            ]
            tracks.append([(item.category, item.track) for item in found.objects])
        assert tracks[0] == tracks[1]

    def test_masks_that_differ_from_the_file(self, folder):
        graph = next(read_vipseg(folder))
        path = folder / graph.mask_files[1]
        pixels = np.asarray(Image.open(path)).copy()
        pixels[pixels[..., 0] == 17388 % 256] = (13291 % 256, 13291 // 256, 0)  # the second person becomes the first
        pixels[0, 0] = (7, 0, 0)
        pixels[0, 1] = (25582 % 256, 25582 // 256, 0)
        Image.fromarray(pixels).save(path)
        extra = track_of_masks(graph, place_of(DATA_SETS["vipseg"], "720p", folder).masks(graph)).extra
        assert extra["/objects/3/not_in_masks"] == [1] and extra["/objects/5/only_in_masks"] == [1]
        assert extra["/mask_files/unlisted_ids"] == {"7": [1]} and "/objects/2/not_in_masks" not in extra

    def test_a_mask_of_another_size(self, folder):
        graph = next(read_vipseg(folder))
        Image.new("RGB", (41, 24)).save(folder / graph.mask_files[1])
        with pytest.raises(
            BadImage, match=rf'video "{A}": .*00000025.png: expected the annotated 40 x 24, got 41 x 24'
        ):
            track_of_masks(graph, place_of(DATA_SETS["vipseg"], "720p", folder).masks(graph))
