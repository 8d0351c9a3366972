"""Clips that lost their first frames, and clips of records that say neither rate nor length."""

import numpy as np
import pytest
from clip_kit import av, noises, pixels, write_clip
from data_kit import make_folder, records

from sgeval.clips import check_whole, clip_facts, clip_frames, clip_frames_at
from sgeval.data.frames import video_frames
from sgeval.data.inspect import inspect
from sgeval.errors import BadImage


@pytest.fixture(scope="module")
def noise():
    return noises()


class TestFirstFramesThatAreLost:
    """Twenty greys, 10 apart, at 5 frames a second; of a clip that lost `lost` of them the first is shown at lost / 5 s."""

    @pytest.fixture
    def clip(self, tmp_path):
        def write(lost, ending=".mp4", **options):
            greys = [np.full((48, 64, 3), 10 * number, np.uint8) for number in range(lost, 20)]
            times = [200 * number for number in range(lost, 20)]
            return write_clip(tmp_path / f"x{ending}", greys, "mpeg4", "yuv420p", times=times, **options)

        return write

    @staticmethod
    def numbers(frames):
        return [round(float(pixels(frame).mean()) / 10) for frame in frames]

    @pytest.mark.parametrize("b_frames", [0, 2])
    @pytest.mark.parametrize("ending", [".mp4", ".mkv"])
    def test_no_frame_stands_in_for_another(self, ending, b_frames, clip):
        path = clip(3, ending, b_frames=b_frames)
        with pytest.raises(
            BadImage, match=r"expected frame 0 at the clip's beginning, got it at 0\.6 s: .*ask by time"
        ):
            clip_frames(path, [0], fps=5.0)
        with pytest.raises(BadImage, match=r"expected a frame at 0\.5 s, got a clip whose first is at 0\.6 s"):
            clip_frames_at(path, [0.5, 1.0])
        assert self.numbers(clip_frames_at(path, [0.6, 0.79, 1.0])) == [3, 3, 5]
        assert clip_facts(path).late == check_whole(path).late == pytest.approx(0.6)

    @pytest.mark.parametrize("ending", [".mp4", ".mkv"])
    def test_one_alone(self, ending, clip):
        with pytest.raises(BadImage, match=r"got it at 0\.2 s"):
            clip_frames(clip(1, ending), [0])

    def test_a_clip_that_has_all_may_begin_late(self, clip):
        """Seventeen frames of seventeen: none is lost, and the first is number 0, at 0 s."""
        path = clip(3)
        assert self.numbers(clip_frames(path, [0, 16], fps=5.0, num_frames=17)) == [3, 19]
        assert self.numbers(clip_frames_at(path, [0.0, 3.3], num_frames=17)) == [3, 19]
        with pytest.raises(BadImage, match="frames before it may be lost"):
            clip_frames(path, [0], fps=5.0, num_frames=20)

    @pytest.mark.parametrize(
        ("ending", "options"), [(".mp4", {}), (".mp4", {"use_editlist": "0"}), (".mkv", {}), (".ts", {})]
    )
    def test_frames_stored_in_another_order_are_not_late(self, ending, options, clip):
        """Without an edit list the first frame of the MP4 is shown at 0.2 s: it waits for those stored out of turn."""
        path = clip(0, ending, b_frames=2, **options)
        assert self.numbers(clip_frames(path, range(20), fps=5.0)) == list(range(20))
        assert self.numbers(clip_frames_at(path, [number / 5 + 0.1 for number in range(20)])) == list(range(20))
        assert check_whole(path).late == 0

    def test_less_than_a_frame_is_not_late(self, tmp_path, noise):
        path = write_clip(tmp_path / "x.mp4", noise[:5], "mpeg4", "yuv420p", times=[140 + 200 * n for n in range(5)])
        assert len(clip_frames(path, range(5), fps=5.0)) == len(clip_frames_at(path, [0.0, 0.9])) + 3 == 5

    def test_a_stream_that_counts_from_anywhere(self, clip):
        """An MPEG-TS usually begins at 1.4 s; where it begins says nothing."""
        assert self.numbers(clip_frames(clip(7, ".ts"), [0, 1], fps=5.0)) == [7, 8]


class TestClipsOfSvg2:
    """The clip of vipseg has 18 frames at 6 a second, 3 s as its spans; 15 frames have masks. Its record says no rate."""

    NAME = "9002_madeValBBBBB"

    @pytest.fixture
    def svg2(self, tmp_path, noise):
        folder = make_folder("svg2_test", tmp_path / "svg2")
        clip = folder / f"videos/vipseg/{self.NAME}.mp4"
        with av.open(str(clip)) as container:
            width, height = (getattr(container.streams.video[0], side) for side in ("width", "height"))

        def change(number, rate):
            write_clip(clip, [picture[:height, :width] for picture in noise[:number]], "mpeg4", "yuv420p", rate=rate)
            return folder

        return change

    @staticmethod
    def odd(folder, config="masks"):
        found = inspect("svg2_test", folder, config=config, with_video=True)
        return {entry.what: entry.ids for entry in found.oddities if "clip" in entry.what}

    RATE = "videos whose clip has another rate than its source says"
    FEWER = "videos whose clip has fewer frames than masks"
    BEYOND = "relations with spans that reach beyond the clip"

    @pytest.mark.parametrize(
        ("number", "rate", "odd"),
        [
            (18, 6, set()),
            (17, 6, {BEYOND}),  # the last span ends at 3 s, frame 18 of 17
            (15, 6, {BEYOND}),
            (14, 6, {BEYOND, FEWER}),
            (3, 30, {RATE, BEYOND, FEWER}),
            (19, 5, {RATE}),
        ],
    )
    def test_what_data_info_tells(self, number, rate, odd, svg2):
        folder = svg2(number, rate)
        assert self.odd(folder) == {what: [self.NAME] for what in odd}
        assert set(self.odd(folder, "annotations")) == odd - {self.FEWER}

    def test_the_clips_as_they_are(self, tmp_path):
        """That of sav has 24 frames at 8 a second, and nothing says another rate."""
        assert self.odd(make_folder("svg2_test", tmp_path / "svg2")) == {}

    def test_frames_by_number(self, svg2):
        folder = svg2(18, 6)
        last = records("svg2_test", folder, "masks")[-1]
        assert len(video_frames("svg2_test", last, folder, [0, 17])) == 2
        words = (
            rf'video "{self.NAME}": .*mp4: expected a clip of 15 frames or more, as many as have masks, got 14: numbers'
        )
        with pytest.raises(BadImage, match=words):
            video_frames("svg2_test", last, svg2(14, 6), [0])
        with pytest.raises(BadImage, match=rf'"{self.NAME}": .*expected a clip of 6 frames a second, got 30\.'):
            video_frames("svg2_test", last, svg2(20, 30), [0])
        assert len(video_frames("svg2_test", last, svg2(20, 30), times=[0.5])) == 1
