"""Clips of given pictures; tests that take them are skipped without PyAV."""

from fractions import Fraction

import numpy as np
import pytest

av = pytest.importorskip("av")


def noises():
    """Twenty pictures of noise, 64 x 48."""
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (48, 64, 3), dtype=np.uint8) for _ in range(20)]


def pixels(image):
    return np.asarray(image.convert("RGB"))


def write_clip(path, pictures, codec="ffv1", form="bgr0", rate=5, times=None, b_frames=0, form_of_file=None, **options):
    """A clip of these pictures; with ffv1 and bgr0 nothing is lost."""
    with av.open(str(path), "w", form_of_file, options=options) as container:
        stream = container.add_stream(codec, rate=rate)
        stream.height, stream.width = pictures[0].shape[:2]
        stream.pix_fmt = form
        if b_frames:
            stream.options, stream.bit_rate = {"bf": str(b_frames)}, 4_000_000
        stream.codec_context.time_base = Fraction(1, 1000)
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts = number * 1000 // rate if times is None else times[number]
            frame.time_base = Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path
