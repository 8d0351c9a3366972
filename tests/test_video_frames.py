"""Frames of a record, from files or from its clip: each its own, and what is missing or asked for wrongly in one line."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from data_kit import make_folder, records
from PIL import Image

import sgeval
from sgeval.data.frames import video_frames
from sgeval.errors import BadImage, SgevalError
from sgeval.hub.features import to_record

pytest.importorskip("av")
pytestmark = pytest.mark.filterwarnings("ignore:.*published number of records")


def pixels(image):
    return np.asarray(image.convert("RGB"))


@pytest.fixture
def folder(tmp_path):
    return make_folder("pvsg", tmp_path / "pvsg")


def test_a_missing_frame(folder):
    graph = records("pvsg", folder, "frames")[0]
    (folder / "data/vidor/frames/9001_0000000001/0003.png").unlink()
    assert len(video_frames("pvsg", graph, folder, [2, 4])) == 2
    with pytest.raises(BadImage, match=r'video "9001_0000000001": expected frame 3, "vidor/frames/.*/0003.png"'):
        video_frames("pvsg", graph, folder, [3])


def test_what_goes_after_a_build(folder, tmp_path):
    """A row that is loaded names the frame; opening it says which is gone, and what to do. Others stay who they are. Loading
    it again names the one that is gone, or gives null in its place."""
    options = {"data_dir": folder, "split": "train", "cache_dir": tmp_path / "cache"}
    graph = to_record(sgeval.load_dataset("pvsg", "frames", **options)[0])
    before = video_frames("pvsg", graph, folder, range(6))
    (folder / "data/vidor/frames/9001_0000000001/0003.png").unlink()
    with pytest.raises(SgevalError, match=r'video "9001_0000000001": expected the frame ".*0003.png" at .*, got none'):
        sgeval.load_dataset("pvsg", "frames", **options)
    words = (
        r'video "9001_0000000001": expected frame 3, ".*0003.png", at .*/data/vidor/frames/[^{]*0003.png, got none; put it '
        "back or name its folder"
    )
    for asked in ({"indices": range(6)}, {"times": [0.0, 0.7]}):
        with pytest.raises(BadImage, match=words) as caught:
            video_frames("pvsg", graph, folder, **asked)
        assert "\n" not in str(caught.value) and "`sgeval data info pvsg --data-dir DIR`" in str(caught.value)
    for index in (0, 1, 2, 4, 5):
        assert (pixels(video_frames("pvsg", graph, folder, [index])[0]) == pixels(before[index])).all()
    nulls = to_record(sgeval.load_dataset("pvsg", "frames", missing_images="null", **options)[0])
    assert (pixels(video_frames("pvsg", nulls, folder, [4])[0]) == pixels(before[4])).all()
    with pytest.raises(BadImage, match=r'"9001_0000000001": expected frame 3, got none: it was missing when the row'):
        video_frames("pvsg", nulls, folder, [2, 3])


def test_a_frame_of_another_size(folder):
    graph = records("pvsg", folder, "frames")[0]
    Image.new("RGB", (40, 32)).save(folder / "data/vidor/frames/9001_0000000001/0003.png")
    with pytest.raises(BadImage, match=r'video "9001_0000000001": .*0003.png: expected the annotated 48 x 32'):
        video_frames("pvsg", graph, folder, [3])


def test_frames_that_count_from_one_or_at_another_rate(folder):
    """FC51. Never a shifted frame: 0001.png is no second frame where there is no first, nor the second of 25 a second."""
    graph = records("pvsg", folder, "frames")[0]
    frames = folder / "data/vidor/frames/9001_0000000001"
    for number in range(6, 30):
        shutil.copy(frames / "0005.png", frames / f"{number:04d}.png")
    with pytest.raises(SgevalError, match=r'video "9001_0000000001": expected 6 files, got .* at another rate'):
        video_frames("pvsg", graph, folder, [1])
    for number in range(7, 30):
        (frames / f"{number:04d}.png").unlink()
    (frames / "0000.png").unlink()
    with pytest.raises(SgevalError, match=r'video "9001_0000000001": expected files that count from .*another number'):
        video_frames("pvsg", graph, folder, [1])


def test_frames_from_one_and_one_fewer(folder):
    """Dumped from 1 by a reader that lost a frame: 0001 to 0005 of six. It looks like a first frame that is lost."""
    graph = records("pvsg", folder, "frames")[0]
    frames = folder / "data/vidor/frames/9001_0000000001"
    (frames / "0000.png").unlink()
    words = (
        r'video "9001_0000000001": expected files that count from ".*0000.png", got none of that name and .*0001.png: '
    )
    for asked in ({"indices": [2]}, {"times": [0.4]}):
        with pytest.raises(SgevalError, match=words + "they may have been dumped from 1") as caught:
            video_frames("pvsg", graph, folder, **asked)
        assert "null" not in str(caught.value) and "\n" not in str(caught.value)
    (frames / "0001.png").unlink()  # no such shift leaves out the second too
    assert len(video_frames("pvsg", graph, folder, [2])) == 1


def test_a_lost_first_frame_of_a_source(tmp_path):
    """VIPSeg's names are numbers of the source, 20, 25 and 30 here: none is another's."""
    folder = make_folder("vipseg", tmp_path / "vipseg")
    graph = records("vipseg", folder)[0]
    (folder / graph.frame_files[0]).unlink()
    assert len(video_frames("vipseg", graph, folder, [1, 2])) == 2


def test_a_missing_clip(folder):
    graph = records("pvsg", folder)[0]
    (folder / "data" / graph.file_name).unlink()
    words = r'video "9001_0000000001": expected the clip "vidor/videos/.* got none; put it back or name its folder'
    with pytest.raises(BadImage, match=words):
        video_frames("pvsg", graph, folder, [0])


@pytest.mark.parametrize("config", ["annotations", "frames"])
def test_a_clip_that_is_longer_than_its_record(config, folder):
    """The clip and the files have 6 frames, the record 4: frames 4 and 5 are none of its own, by number or by time."""
    graph = replace(records("pvsg", folder, config)[0], num_frames=4)
    assert len(video_frames("pvsg", graph, folder, [3])) == len(video_frames("pvsg", graph, folder, times=[0.79])) == 1
    for asked in ({"indices": [0, 4]}, {"times": [0.8]}, {"indices": [-1]}):
        with pytest.raises(SgevalError, match='video "9001_0000000001": expected the number of one of 4 frames'):
            video_frames("pvsg", graph, folder, **asked)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "expected either indices or times"),
        ({"indices": [0], "times": [0.0]}, "expected either indices or times"),
        ({"indices": [6]}, "expected the number of one of 6 frames, got 6"),
        ({"indices": [-1]}, "expected the number of one of 6 frames, got -1"),
        ({"times": [1.2]}, "expected the number of one of 6 frames, got 6"),
        ({"times": [float("nan")]}, "expected seconds from 0 up, got NaN"),
        ({"times": [0.2, "a"]}, 'expected seconds from 0 up, got "a"'),
        ({"times": [None]}, "expected seconds from 0 up, got null"),
        ({"times": [True]}, "expected seconds from 0 up, got true"),
        ({"times": [float("inf")]}, "expected seconds from 0 up, got Infinity"),
        ({"times": [10**400]}, "expected seconds from 0 up, got 1000"),
        ({"times": "01"}, 'times: expected a list of numbers, got "01"'),
        ({"times": 0.2}, r"times: expected a list of numbers, got 0\.2"),
        ({"indices": 3}, "indices: expected a list of numbers, got 3"),
        ({"indices": ["a"]}, 'expected the number of one of 6 frames, got "a"'),
        ({"indices": [[0]]}, r"expected the number of one of 6 frames, got \[0\]"),
    ],
)
def test_numbers_that_are_none(asked, words, folder):
    for config in ("frames", "annotations"):
        with pytest.raises(SgevalError, match=f'video "9001_0000000001": .*{words}'):
            video_frames("pvsg", records("pvsg", folder, config)[0], folder, **asked)


def test_numbers_that_a_clip_alone_can_judge(folder):
    """Where the record says neither rate nor length, the clip is asked; its words are told with the video."""
    graph = replace(records("pvsg", folder)[0], fps=None, num_frames=None)
    for asked, words in (
        ({"times": ["a"]}, 'times: expected seconds from 0 up, got "a"'),
        ({"times": [9.0]}, "mp4: expected a frame at 9 s"),
        ({"indices": [-1]}, "mp4: expected numbers of frames from 0 up, got -1"),
        ({"indices": [[0]]}, r"mp4: expected numbers of frames from 0 up, got \[0\]"),
        ({"indices": [9]}, "mp4: expected frame 9, got a clip that ends after 6 frames"),
    ):
        with pytest.raises(SgevalError, match=f'video "9001_0000000001": .*{words}'):
            video_frames("pvsg", graph, folder, **asked)
    assert len(video_frames("pvsg", graph, folder, times=np.array([0.0, 0.3], dtype=np.float32))) == 2
