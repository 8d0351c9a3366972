"""Frames from clips: those that were put in, by number and by time; and no frame in the place of another."""

import struct
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from clip_kit import av, noises, pixels, write_clip
from data_kit import make_folder, records
from PIL import Image
from typer.testing import CliRunner

from sgeval.cli.app import app
from sgeval.clips import check_whole, clip_facts, clip_frames, clip_frames_at
from sgeval.data.frames import video_frames
from sgeval.data.inspect import inspect
from sgeval.errors import BadImage, SgevalError
from sgeval.hub.export import export

PVSG = Path(__file__).parent / "data" / "pvsg" / "data"
CLIP = PVSG / "vidor/videos/9001_0000000001.mp4"
FRAMES = sorted((PVSG / "vidor/frames/9001_0000000001").glob("*.png"))


@pytest.fixture(scope="module")
def noise():
    return noises()


class TestSamePictures:
    def test_without_loss_they_are_equal(self, tmp_path):
        files = [pixels(Image.open(path)) for path in FRAMES]
        clip = write_clip(tmp_path / "clip.mkv", files)
        for found in (clip_frames(clip, range(6), fps=5.0), clip_frames_at(clip, [number / 5 for number in range(6)])):
            assert all((pixels(frame) == file).all() for frame, file in zip(found, files, strict=True))

    @pytest.mark.parametrize("clip", sorted(PVSG.glob("*/videos/*.mp4")), ids=lambda path: path.parent.parent.name)
    def test_with_loss_each_is_nearest_to_its_own(self, clip):
        folder = clip.parent.parent / "frames" / clip.stem
        files = [pixels(Image.open(path)).astype(float) for path in sorted(folder.glob("*.png"))]
        for number, frame in enumerate(clip_frames(clip, range(6), fps=5.0)):
            apart = [np.abs(pixels(frame) - file).mean() for file in files]
            assert apart[number] == min(apart) and apart[number] < 8  # of 255

    def test_a_record_with_files_and_one_with_a_clip(self, tmp_path):
        folder = make_folder("pvsg", tmp_path / "pvsg")
        files = [pixels(Image.open(path)) for path in FRAMES]
        write_clip(tmp_path / "clip.mkv", files).rename(folder / "data/vidor/videos/9001_0000000001.mp4")
        by_clip, by_files = (records("pvsg", folder, config)[0] for config in ("annotations", "frames"))
        for asked in ({"indices": [3, 0, 3]}, {"times": [0.6, 0.19, 0.79]}):
            both = [video_frames("pvsg", graph, folder, **asked) for graph in (by_clip, by_files)]
            for one, other, number in zip(*both, (3, 0, 3), strict=True):
                assert (pixels(one) == pixels(other)).all() and (pixels(one) == files[number]).all()

    def test_the_clip_of_vidor(self, tmp_path):
        graph = records("vidor", Path(__file__).parent / "data/vidor")[0]
        frames = video_frames("vidor", graph, Path(__file__).parent / "data/vidor", [0, 11])
        assert [frame.size for frame in frames] == [(96, 64)] * 2
        with pytest.raises(SgevalError, match='video "9000000001": expected the number of one of 12 frames, got 12'):
            video_frames("vidor", graph, Path(__file__).parent / "data/vidor", [12])
        longer = replace(graph, num_frames=13)
        with pytest.raises(BadImage, match=r'video "9000000001": .*expected frame 12, got a clip that ends after 12'):
            video_frames("vidor", longer, Path(__file__).parent / "data/vidor", [12])


class TestTimes:
    def test_a_frame_lasts_until_the_next(self, tmp_path, noise):
        """Frames at 0, 100, 150 and 600 ms; the last is shown for one frame of the average rate."""
        clip = write_clip(tmp_path / "clip.mkv", noise[:4], rate=10, times=[0, 100, 150, 600])
        times = [0.0, 0.0999, 0.1, 0.149, 0.15, 0.599, 0.6, 0.61]
        found = clip_frames_at(clip, times)
        for frame, number in zip(found, [0, 0, 1, 1, 2, 2, 3, 3], strict=True):
            assert (pixels(frame) == noise[number]).all()

    def test_past_the_end(self):
        with pytest.raises(BadImage, match=r"expected a frame at 1.2 s, got a clip that ends at 1.2 s"):
            clip_frames_at(CLIP, [0.0, 1.2])

    def test_order_and_repeats(self, tmp_path, noise):
        clip = write_clip(tmp_path / "clip.mkv", noise)
        found = clip_frames_at(clip, [3.0, 0.0, 3.0])
        assert [(pixels(frame) == noise[number]).all() for frame, number in zip(found, (15, 0, 15))] == [True] * 3
        assert clip_frames_at(clip, []) == clip_frames(clip, []) == []


class TestBadClips:
    @pytest.mark.parametrize(("codec", "form", "ending"), [("mpeg4", "yuv420p", ".mp4"), ("ffv1", "bgr0", ".mkv")])
    def test_cut_off_anywhere(self, codec, form, ending, tmp_path, noise):
        """A frame comes out as it is in the whole clip, or not at all."""
        options = {"movflags": "faststart"} if ending == ".mp4" else {}
        whole = write_clip(tmp_path / f"whole{ending}", noise, codec, form, **options)
        frames = [pixels(frame) for frame in clip_frames(whole, range(20))]
        data, cut = whole.read_bytes(), tmp_path / f"cut{ending}"
        n_refused = 0
        for size in range(len(data) // 4, len(data), len(data) // 29):
            cut.write_bytes(data[:size])
            for number in (2, 9, 18):
                try:
                    (frame,) = clip_frames(cut, [number], fps=5.0)
                except BadImage as fault:
                    assert str(cut) in str(fault) and "\n" not in str(fault)
                    n_refused += 1
                else:
                    assert (pixels(frame) == frames[number]).all()
        assert n_refused > 20

    @pytest.mark.parametrize(
        ("codec", "form", "ending", "head"),
        [
            ("mpeg4", "yuv420p", ".mp4", {"movflags": "faststart"}),
            ("mpeg4", "yuv420p", ".mp4", {}),
            ("ffv1", "bgr0", ".mkv", {}),
        ],
    )
    def test_cut_short_is_seen_without_decoding(self, codec, form, ending, head, tmp_path, noise):
        """Wherever the head stands: a clip that has lost a tenth, or half, or nearly all. Whole, its facts are those of its
        head, and its frames are counted."""
        whole = write_clip(tmp_path / f"whole{ending}", noise, codec, form, **head)
        assert check_whole(whole) == replace(clip_facts(whole), num_frames=20)
        data, cut = whole.read_bytes(), tmp_path / f"cut{ending}"
        for part in (0.9, 0.5, 0.25):
            cut.write_bytes(data[: int(part * len(data))])
            with pytest.raises(BadImage, match=r"cut short|cannot be opened|is broken") as caught:
                check_whole(cut)
            assert str(cut) in str(caught.value) and "\n" not in str(caught.value)

    @pytest.mark.parametrize("number", [19, 12])
    def test_cut_between_two_frames(self, number, tmp_path, noise):
        """No piece is damaged, there are only fewer than the head says."""
        whole = write_clip(tmp_path / "whole.mp4", noise, "mpeg4", "yuv420p", movflags="faststart")
        with av.open(str(whole)) as container:
            starts = [packet.pos for packet in container.demux(video=0) if packet.size]
        cut = tmp_path / "cut.mp4"
        cut.write_bytes(whole.read_bytes()[: starts[number]])
        with pytest.raises(BadImage, match=f"expected 20 frames, got a clip that is cut short after {number}"):
            check_whole(cut)
        cut.write_bytes(whole.read_bytes()[: starts[number] + 9])
        with pytest.raises(BadImage, match=f"the clip is cut short or damaged, after {number} frames"):
            check_whole(cut)

    def test_sound_that_lasts_longer(self, tmp_path, noise):
        """In Matroska the length is that of all; where there is sound beside the pictures, it says nothing of these."""
        path = tmp_path / "clip.mkv"
        with av.open(str(path), "w") as container:
            video, audio = container.add_stream("ffv1", rate=5), container.add_stream("pcm_s16le", rate=8_000)
            video.height, video.width = noise[0].shape[:2]
            video.pix_fmt = "bgr0"
            for picture in noise[:5]:
                container.mux(video.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 80_000), np.int16), format="s16", layout="mono")
            frame.sample_rate = 8_000
            container.mux(audio.encode(frame))
            for stream in (video, audio):
                container.mux(stream.encode(None))
        assert check_whole(path) == replace(clip_facts(path), num_frames=5)

    @pytest.mark.parametrize(("codec", "form", "ending"), [("mpeg4", "yuv420p", ".avi"), ("mpeg4", "yuv420p", ".ts")])
    def test_forms_that_do_not_say_their_length(self, codec, form, ending, tmp_path, noise):
        """AVI counts the steps of its clock, a thousandth of a second here; MPEG-TS nothing."""
        clip = write_clip(tmp_path / f"clip{ending}", noise, codec, form)
        assert check_whole(clip) == replace(clip_facts(clip), num_frames=4_000 if ending == ".avi" else 20)

    def test_a_clip_of_uneven_times_is_whole(self, tmp_path, noise):
        times = [number * 200 + 90 * (number % 2) for number in range(20)]
        for ending in (".mp4", ".mkv"):
            clip = write_clip(tmp_path / f"clip{ending}", noise, "mpeg4", "yuv420p", times=times)
            assert check_whole(clip) == replace(clip_facts(clip), num_frames=20)

    def test_a_frame_that_was_lost_on_the_way(self, tmp_path, noise):
        times = [number * 200 for number in range(20) if number != 7]
        clip = write_clip(tmp_path / "clip.mkv", noise[:7] + noise[8:], times=times)
        assert (pixels(clip_frames(clip, [6], fps=5.0)[0]) == noise[6]).all()
        with pytest.raises(BadImage, match="frames before it are lost, or the rate varies; ask by time"):
            clip_frames(clip, [8], fps=5.0)
        assert (pixels(clip_frames_at(clip, [1.6])[0]) == noise[8]).all()

    def test_another_rate_or_size(self):
        with pytest.raises(BadImage, match=r"expected a clip of 30 frames a second, got 5: numbers .* ask by time"):
            clip_frames(CLIP, [0], fps=30.0)
        with pytest.raises(BadImage, match="expected the annotated 32 x 32, got 48 x 32"):
            clip_frames(CLIP, [0], expected=(32, 32))

    @pytest.mark.parametrize(
        "content", [b"", b"no clip", b"#EXTM3U\n#EXTINF:1,\n{}\n", b"ffconcat version 1.0\nfile {}\n"]
    )
    def test_what_is_no_clip(self, content, tmp_path):
        for name in ("x.mp4", "x.m3u8", "x.ffconcat"):
            path = tmp_path / name
            path.write_bytes(content.replace(b"{}", str(CLIP).encode()))
            with pytest.raises(BadImage, match=f"{name}: the clip cannot be opened"):
                clip_frames(path, [0])

    def test_a_sound_track_alone(self, tmp_path):
        with av.open(str(tmp_path / "x.mp4"), "w") as container:
            stream = container.add_stream("aac", rate=8000, layout="mono")
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            frame.rate = 8000
            container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
        with pytest.raises(BadImage, match="expected a clip with pictures"):
            clip_frames(tmp_path / "x.mp4", [0])

    def test_no_file(self, tmp_path):
        for path in (tmp_path, tmp_path / "none.mp4"):
            with pytest.raises(BadImage, match="no such file"):
                clip_frames(path, [0])

    @pytest.mark.parametrize("numbers", [b"\0", "0", 0, None])
    def test_what_is_no_list_of_numbers(self, numbers):
        for read, what in ((clip_frames, "numbers of frames"), (clip_frames_at, "seconds")):
            with pytest.raises(SgevalError, match=f"expected a list of {what}, got"):
                read(CLIP, numbers)

    @pytest.mark.parametrize("indices", [[-1], [1.0], [True]])
    def test_numbers_that_are_none(self, indices):
        with pytest.raises(SgevalError, match="expected numbers of frames from 0 up"):
            clip_frames(CLIP, indices)
        with pytest.raises(SgevalError, match="expected seconds from 0 up"):
            clip_frames_at(CLIP, [-0.1])

    def test_without_pyav(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "av", None)
        with pytest.raises(SgevalError, match=r'expected PyAV, got none; pip install "sgeval\[video\]"'):
            clip_frames(CLIP, [0])


class TestDataInfo:
    @pytest.fixture
    def look(self, tmp_path, noise):
        """The folder of PVSG with its first clip replaced; its record has 6 frames of 48 x 32 at 5 a second."""
        folder = make_folder("pvsg", tmp_path / "pvsg")
        clip = folder / "data/vidor/videos/9001_0000000001.mp4"

        def run(size=None, number=6, **options):
            if size is not None:
                pictures = [picture[: size[1], : size[0]] for picture in noise[:number]]
                write_clip(tmp_path / "clip.mp4", pictures, "mpeg4", "yuv420p", **options).rename(clip)
            found = inspect("pvsg", folder, with_video=True)
            return (
                clip,
                found,
                {entry.what.split()[5]: entry.ids for entry in found.oddities if "clip has" in entry.what},
            )

        return run

    @pytest.mark.parametrize(
        ("size", "number", "rate", "odd"),
        [
            (None, 6, 5, set()),
            ((48, 32), 6, 5, set()),
            ((32, 48), 6, 5, set()),  # players may turn it
            ((48, 32), 7, 5, set()),  # one frame more
            ((48, 32), 8, 5, {"length"}),  # two
            ((64, 32), 6, 5, {"size"}),
            ((48, 32), 12, 10, {"rate"}),  # twice the frames in the same time
            ((32, 32), 6, 10, {"size", "rate", "length"}),
        ],
    )
    def test_differences_are_counted_by_video(self, size, number, rate, odd, look):
        _, found, told = look(size, number, rate=rate)
        assert told == {word: ["9001_0000000001"] for word in odd} and not any(
            "clip" in fault for fault in found.faults
        )

    @pytest.mark.parametrize(("first", "odd"), [(0, set()), (1, {"start"}), (2, {"start", "length"})])
    def test_a_clip_that_lost_its_beginning(self, first, odd, look):
        _, _, told = look((48, 32), 6 - first, times=[200 * number for number in range(first, 6)])
        assert told == {word: ["9001_0000000001"] for word in odd}

    def test_a_clip_that_cannot_be_opened(self, look, tmp_path):
        clip, _, _ = look()
        clip.write_bytes(clip.read_bytes()[:200])
        _, found, told = look()
        assert told == {} and sum(state.records for state in found.splits) == 3
        (fault,) = [fault for fault in found.faults if "cannot be opened" in fault]
        assert fault.startswith('video "9001_0000000001": ')

    def test_a_clip_that_is_cut_short(self, look, tmp_path, noise):
        """Its head is whole."""
        clip, _, _ = look()
        write_clip(tmp_path / "whole.mp4", noise[:6], "mpeg4", "yuv420p", movflags="faststart")
        clip.write_bytes((tmp_path / "whole.mp4").read_bytes()[:-2_000])
        assert clip_facts(clip).num_frames == 6
        _, found, _ = look()
        (fault,) = [fault for fault in found.faults if "cut short" in fault]
        assert fault.startswith('video "9001_0000000001": ')

    def test_an_export_of_it(self, look, tmp_path, noise, monkeypatch):
        """It is copied as it is, and told; so it is when nobody can look."""
        clip, _, _ = look()
        folder = clip.parents[3]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*published number of records")
            export("pvsg", tmp_path / "sound", data_dir=folder, with_video=True)
        write_clip(tmp_path / "whole.mp4", noise[:6], "mpeg4", "yuv420p", movflags="faststart")
        clip.write_bytes((tmp_path / "whole.mp4").read_bytes()[:-2_000])
        words = r'^1 broken clip copied unchanged; the first: video "9001_0000000001": .*mp4: .* cut short'
        with pytest.warns(UserWarning, match=words):
            export("pvsg", tmp_path / "out", data_dir=folder, with_video=True)
        arguments = ["data", "export", "pvsg", "--data-dir", str(folder), "--with-video", "--out"]
        done = CliRunner().invoke(app, [*arguments, str(tmp_path / "told")])
        assert done.exit_code == 0 and "warning: 1 broken clip" in done.stderr
        monkeypatch.setitem(sys.modules, "av", None)
        with pytest.warns(UserWarning, match="clips are copied and not looked into: expected PyAV, got none"):
            export("pvsg", tmp_path / "unseen", data_dir=folder, with_video=True)

    def test_a_length_that_is_counted(self, look, tmp_path, noise):
        """The head of a clip in Matroska does not say how many frames there are: here 8 of 6."""
        clip, _, _ = look()
        write_clip(clip, [picture[:32, :48] for picture in noise[:8]], "mpeg4", "yuv420p", form_of_file="matroska")
        assert look()[2] == {"length": ["9001_0000000001"]}

    def test_the_command(self, look):
        clip, _, _ = look((64, 32))
        folder = clip.parents[3]
        done = CliRunner().invoke(app, ["data", "info", "pvsg", "--data-dir", str(folder), "--with-video"])
        assert (
            "videos whose clip has another size than the record: 1, in 1 video; first in 9001_0000000001\n"
            in done.stdout
        )
        done = CliRunner().invoke(app, ["data", "info", "psg", "--with-video"])
        assert done.exit_code == 2 and 'with_video: expected a data set with clips, got "psg"' in done.stderr


def test_facts():
    facts = clip_facts(CLIP)
    assert (facts.width, facts.height, facts.fps, facts.num_frames) == (48, 32, 5.0, 6)


class TestTurned:
    """A phone writes how to turn its pictures into the head of the track (tkhd): here a quarter turn clockwise."""

    QUARTER = struct.pack(">9i", 0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000)

    @pytest.fixture
    def clip(self, tmp_path):
        picture = np.zeros((32, 48, 3), np.uint8)
        picture[:, :24] = (255, 0, 0)  # red on the left
        path = write_clip(tmp_path / "clip.mp4", [picture] * 3, "mpeg4", "yuv420p")
        data = bytearray(path.read_bytes())
        at = data.find(b"tkhd") + 4 + 40  # the matrix, after version, times, id, duration, layer and volume
        data[at : at + 36] = self.QUARTER
        path.write_bytes(data)
        return path

    def test_by_the_annotated_size(self, clip):
        for expected, size in ((None, (32, 48)), ((32, 48), (32, 48)), ((48, 32), (48, 32))):
            (frame,) = clip_frames(clip, [0], expected=expected)
            assert frame.size == size
        upright = pixels(clip_frames(clip, [0])[0])
        assert upright[4, 16, 0] > 200 and upright[44, 16, 0] < 50  # what was left is on top
        with pytest.raises(BadImage, match="expected the annotated 40 x 40"):
            clip_frames(clip, [0], expected=(40, 40))
