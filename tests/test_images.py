"""One way to a picture for every road: same pixels, same side up, and one line for whatever is broken."""

import contextlib
import io
import struct
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image

from sgeval.errors import BadImage, InvalidInput, SgevalError
from sgeval.images import MAX_PIXELS, image_size, image_sources, load_image
from sgeval.records import SceneGraph
from sgeval.relclip import relclipscore


def encoded(image, kind="PNG", **how):
    file = io.BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def pixels(image):
    assert image.mode == "RGB"
    return np.asarray(image)


def broken(source, expected=None):
    with pytest.raises(BadImage) as caught:
        load_image(source, expected)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def exif(orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    return tags


def png_header(width, height):
    """A PNG that claims a size and has no pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


class TestExif:
    """FC05: a JPEG stored 40 x 20 with orientation 6 is 20 x 40 upright."""

    @pytest.fixture
    def turned(self, picture):
        return encoded(picture(0, 40, 20), "JPEG", exif=exif(6), quality=95)

    def test_fc05_the_annotation_decides(self, turned):
        stored = pixels(Image.open(io.BytesIO(turned)))
        upright = np.rot90(stored, -1)  # orientation 6: turn by 90 degrees clockwise to see it upright
        for expected in (None, (20, 40)):
            assert image_size(turned, expected) == (20, 40)
            assert (pixels(load_image(turned, expected)) == upright).all()
        assert image_size(turned, (40, 20)) == (40, 20)
        assert (pixels(load_image(turned, (40, 20))) == stored).all()

    def test_fc05_mismatch_shows_both_sizes(self, turned):
        expected = (
            "picture given as bytes: expected the annotated 41 x 20, got 40 x 20 (turned by its EXIF tag: 20 x 40)"
        )
        assert broken(turned, (41, 20)) == expected
        with pytest.raises(BadImage, match="expected the annotated 41 x 20"):
            image_size(turned, (41, 20))

    def test_fc05_without_a_tag(self, picture):
        data = encoded(picture(0, 40, 20))
        assert broken(data, (20, 40)) == "picture given as bytes: expected the annotated 20 x 40, got 40 x 20"

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_fc05_every_orientation(self, orientation, picture):
        """Against the EXIF standard's rows and columns: where row 0, column 0 of the stored picture belongs."""
        data = encoded(picture(0, 6, 4), exif=exif(orientation))
        stored = pixels(picture(0, 6, 4))
        upright = {
            1: stored,
            2: stored[:, ::-1],
            3: stored[::-1, ::-1],
            4: stored[::-1],
            5: stored.transpose(1, 0, 2),
            6: np.rot90(stored, -1),
            7: stored[::-1, ::-1].transpose(1, 0, 2),
            8: np.rot90(stored, 1),
        }[orientation]
        assert (pixels(load_image(data)) == upright).all()
        assert image_size(data) == (upright.shape[1], upright.shape[0])

    def test_fc05_a_square_fits_both_ways_and_is_turned(self, picture):
        data = encoded(picture(0, 8, 8), exif=exif(6))
        assert (pixels(load_image(data, (8, 8))) == np.rot90(pixels(picture(0, 8, 8)), -1)).all()

    def test_fc05_the_crop_follows(self, turned, two_objects, fake_encoder):
        """A box as wide as the stored picture: with 40 x 20 annotated it is whole, else it is cut at 20."""
        graph = two_objects()
        graph["objects"][0]["bbox"], graph["objects"][1]["bbox"] = [0, 0, 40, 20], [0, 0, 5, 5]
        for size, crop in (((40, 20), (0, 0, 40, 20)), (None, (0, 0, 20, 20))):
            row = {**graph, "width": size and size[0], "height": size and size[1]}
            result = relclipscore([row], images=[turned], model=fake_encoder(), return_items=True)
            assert result["items"][0]["crop"] == crop

    @pytest.mark.parametrize("value", [0, 9, 65535])
    def test_unknown_orientation_is_none(self, value, picture):
        assert (pixels(load_image(encoded(picture(0), exif=exif(value)))) == pixels(picture(0))).all()

    def test_annotation_of_one_side_only_is_no_annotation(self, picture, two_objects, fake_encoder):
        row = two_objects(width=999)
        assert relclipscore([row], images=[picture(0)], model=fake_encoder())["n_relations"] == 1

    @pytest.mark.filterwarnings("ignore")
    def test_damaged_exif_is_a_bad_image_or_none(self, picture):
        """400 JPEGs with a few bytes of their EXIF block changed: read, or refused in one line."""
        tags = exif(6)
        tags[0x010F], tags[0x0110] = "maker", "x" * 30
        whole = encoded(picture(1, 40, 20), "JPEG", exif=tags)
        start = whole.index(b"Exif") + 6
        rng = np.random.default_rng(0)
        for _ in range(400):
            data = bytearray(whole)
            for place in rng.integers(0, 90, size=3):
                data[start + place] = rng.integers(256)
            with contextlib.suppress(BadImage):
                load_image(bytes(data))


class TestModes:
    """FC06: the same scene in any mode comes out as RGB by a written rule."""

    def test_fc06_grey(self, picture):
        grey = picture(0).convert("L")
        assert (pixels(load_image(encoded(grey))) == pixels(grey.convert("RGB"))).all()

    def test_fc06_grey_scores_as_the_same_picture_in_rgb(self, picture, two_objects, fake_encoder):
        grey = picture(0).convert("L")
        both = [
            relclipscore([two_objects()], images=[one], model=fake_encoder())["mean_score"]
            for one in (encoded(grey), encoded(grey.convert("RGB")))
        ]
        assert both[0] == both[1]

    def test_fc06_sixteen_bit_is_scaled(self):
        """v / 257, rounded: 0, 257, 32896 = 128 · 257, 65535 = 255 · 257, and 385 = 1.498 · 257 → 1."""
        values = np.array([[0, 257, 32896, 65535, 385]], dtype=np.uint16)
        expected = [0, 1, 128, 255, 1]
        for source in (encoded(Image.fromarray(values)), values, Image.fromarray(values)):
            assert pixels(load_image(source))[0, :, 0].tolist() == expected

    def test_fc06_alpha_goes_over_white(self):
        """Red at alpha 0, 128, 255 over white: 255 − 128 = 127 of white left in green and blue."""
        values = np.array([[[255, 0, 0, 0], [255, 0, 0, 128], [255, 0, 0, 255]]], dtype=np.uint8)
        expected = [[255, 255, 255], [255, 127, 127], [255, 0, 0]]
        for source in (encoded(Image.fromarray(values)), values):
            assert pixels(load_image(source))[0].tolist() == expected

    def test_fc06_grey_with_alpha(self):
        image = Image.new("LA", (2, 1), (0, 255))
        image.putpixel((0, 0), (0, 0))
        assert pixels(load_image(encoded(image)))[0].tolist() == [[255] * 3, [0] * 3]

    def test_fc06_palette(self, picture):
        image = picture(0).quantize(32)
        assert (pixels(load_image(encoded(image))) == pixels(image.convert("RGB"))).all()

    def test_fc06_transparent_palette(self):
        image = Image.new("P", (2, 1))
        image.putpalette([255, 0, 0, 0, 0, 255])
        image.putpixel((1, 0), 1)
        assert pixels(load_image(encoded(image, transparency=0)))[0].tolist() == [[255] * 3, [0, 0, 255]]

    def test_fc06_cmyk(self, picture):
        data = encoded(picture(0).convert("CMYK"), "JPEG", quality=95)
        assert (pixels(load_image(data)) == pixels(Image.open(io.BytesIO(data)).convert("RGB"))).all()

    @pytest.mark.parametrize(
        "mode", ["1", "L", "LA", "P", "PA", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV", "I;16", "I;16B"]
    )
    def test_fc06_nothing_is_skipped(self, mode, two_objects, fake_encoder):
        result = relclipscore([two_objects()], images=[Image.new(mode, (64, 48))], model=fake_encoder())
        assert (result["n_bad_images"], result["n_relations"]) == (0, 1)

    def test_floating_point_is_refused(self):
        assert "expected 8 or 16 bit a channel, got floating point" in broken(Image.new("F", (4, 4)))

    def test_fc06_transparent_colour(self):
        data = encoded(Image.new("RGB", (2, 2), (255, 0, 0)), transparency=(255, 0, 0))
        assert pixels(load_image(data))[0, 0].tolist() == [255, 255, 255]

    def test_animation_gives_its_first_frame(self, picture):
        frames = [picture(number, 8, 8) for number in (0, 1)]
        data = encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
        assert (pixels(load_image(data)) == pixels(frames[0])).all()


class TestSources:
    def test_every_road_gives_the_same_pixels(self, picture, tmp_path):
        image = picture(0)
        path = tmp_path / "a.png"
        path.write_bytes(encoded(image))
        array = np.asarray(image)
        row, fields = {"bytes": encoded(image), "path": None}, {"bytes": None, "path": str(path)}
        for source in (image, path, str(path), encoded(image), array, row, fields, Image.open(path)):
            assert (pixels(load_image(source)) == array).all()
            assert image_size(source) == image.size

    @pytest.mark.parametrize("shape", [(4, 6), (4, 6, 1), (4, 6, 3), (4, 6, 4)])
    def test_arrays(self, shape):
        array = np.full(shape, 255, dtype=np.uint8)
        assert pixels(load_image(array)).shape == (4, 6, 3)
        assert image_size(array) == (6, 4)

    @pytest.mark.parametrize(
        "array",
        [np.zeros((4, 6, 2), np.uint8), np.zeros((4, 6, 3)), np.zeros((0, 6, 3), np.uint8), np.zeros(4, np.uint8)],
        ids=lambda array: f"{array.dtype}{array.shape}",
    )
    def test_other_arrays_are_refused(self, array):
        assert broken(array).startswith("array: expected uint8 or uint16 of shape (H, W), (H, W, 3) or (H, W, 4), got")

    @pytest.mark.parametrize(
        "source",
        [None, 5, [], {}, {"bytes": b"", "path": None}, bytearray(b"x"), object()],
        ids=lambda each: type(each).__name__,
    )
    def test_no_source_at_all(self, source):
        broken(source)

    def test_a_given_picture_is_not_changed(self, picture, two_objects, fake_encoder):
        image, array = picture(0).convert("RGBA"), np.array(picture(0))
        before, kept = image.tobytes(), array.copy()
        relclipscore([two_objects()], images=[image], model=fake_encoder())
        relclipscore([two_objects()], images=[array], model=fake_encoder())
        assert image.mode == "RGBA" and image.tobytes() == before and (array == kept).all()


class TestBrokenFiles:
    @pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP"])
    @pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99])
    def test_fc07_cut_anywhere(self, picture, kind, share):
        """A cut picture is refused whole: never half grey, never a traceback."""
        data = encoded(picture(0), kind)
        broken(data[: int(len(data) * share)])

    @pytest.mark.parametrize("cut", [2, 4, 20, 159, 161, 200, 600])
    def test_fc07_jpeg_cut_in_its_header(self, picture, cut):
        broken(encoded(picture(0), "JPEG")[:cut])

    @pytest.mark.parametrize(
        "content", [b"", b"\0" * 100, b"<!DOCTYPE html><html>404</html>", b"\xff\xd8\xff", b"GIF89a"]
    )
    def test_fc07_something_else_under_a_picture_name(self, content, tmp_path):
        path = tmp_path / "a.jpg"
        path.write_bytes(content)
        assert broken(path).startswith(f"{path}: ")

    def test_formats_that_are_not_asked_for_stay_closed(self, picture):
        for kind in ("TIFF", "GIF", "EPS", "PPM"):
            assert "expected a picture (JPEG, PNG, WEBP, BMP), got something else" in broken(encoded(picture(0), kind))

    def test_a_name_with_a_line_end(self, tmp_path):
        (tmp_path / "a\nb.jpg").write_bytes(b"no picture")
        broken(tmp_path / "a\nb.jpg")

    def test_a_folder_and_no_file(self, tmp_path):
        assert broken(tmp_path / "a.jpg") == f"{tmp_path / 'a.jpg'}: no such file"
        assert broken(tmp_path).startswith(f"{tmp_path}: the picture cannot be opened")

    @pytest.mark.parametrize("size", [(MAX_PIXELS, 2), (20_000, 20_000), (2**31 - 1, 2**31 - 1), (MAX_PIXELS + 1, 1)])
    def test_bombs_are_refused_from_their_header(self, size):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            data = png_header(*size)
            broken(data)
            with pytest.raises(BadImage):
                image_size(data)

    def test_a_large_picture_below_the_limit_is_only_broken(self):
        assert image_size(png_header(9000, 9000)) == (9000, 9000)


class TestFolder:
    @pytest.fixture
    def folder(self, tmp_path, picture):
        """a.png and sub/b.jpg inside; secret.png beside the folder; a link out of it and one within."""
        inside = tmp_path / "images"
        (inside / "sub").mkdir(parents=True)
        (tmp_path / "secret.png").write_bytes(encoded(picture(9)))
        (inside / "a.png").write_bytes(encoded(picture(0)))
        (inside / "sub" / "b.jpg").write_bytes(encoded(picture(1), "JPEG"))
        (inside / "out.png").symlink_to(tmp_path / "secret.png")
        (inside / "within.png").symlink_to(inside / "a.png")
        return inside

    def found(self, folder, name=None, image_id="x", reference=None):
        [source] = image_sources(folder, [(SceneGraph(image_id, file_name=name), reference)])
        return source

    def test_by_file_name_else_by_id(self, folder):
        assert self.found(folder, "a.png") == folder / "a.png"
        assert self.found(folder, "sub/b.jpg") == folder / "sub" / "b.jpg"
        assert self.found(str(folder), "within.png") == folder / "a.png"
        assert self.found(folder, image_id="a") == folder / "a.png"
        assert self.found(folder, "a.png", reference=SceneGraph("x", file_name="sub/b.jpg")) == folder / "sub" / "b.jpg"
        assert self.found(folder, "a.png", reference=SceneGraph("x")) == folder / "a.png"

    @pytest.mark.parametrize(
        "name",
        [
            *("../secret.png", "sub/../../secret.png", "out.png", "none.png", "..", ".", "sub"),
            *("nul\0.png", "x" * 5000, "/etc/passwd", "~/secret.png", "a.png\n"),
        ],
        ids=range(12),
    )
    def test_nothing_outside_is_opened(self, folder, name):
        source = self.found(folder, name)
        assert isinstance(source, BadImage)
        words = "got a link out of it" if name == "out.png" else "inside, got none"
        assert len(str(source).splitlines()) == 1 and words in str(source)

    def test_absolute_name(self, folder):
        assert isinstance(self.found(folder, str(folder.parent / "secret.png")), BadImage)
        assert isinstance(self.found(folder, image_id="../secret"), BadImage)

    def test_a_loop_of_links(self, folder):
        (folder / "loop.png").symlink_to("loop.png")
        assert isinstance(self.found(folder, "loop.png"), BadImage)

    def test_no_folder(self, folder):
        with pytest.raises(SgevalError, match=r"^images: expected a folder, got"):
            image_sources(folder / "none", [(SceneGraph("a"), None)])
        for images in (None, 5, object(), b"abc"):
            with pytest.raises(
                SgevalError, match=r"^images: expected a folder, a mapping from image_id, or a list, got"
            ):
                image_sources(images, [(SceneGraph("a"), None)])

    def test_the_three_roads_score_alike(self, folder, two_objects, fake_encoder):
        rows = [two_objects("a", file_name="a.png"), two_objects("b", file_name="sub/b.jpg")]
        paths = [folder / "a.png", folder / "sub" / "b.jpg"]
        roads = (folder, dict(zip("ab", paths)), paths)
        found = [relclipscore(rows, images=images, model=fake_encoder(), return_items=True) for images in roads]
        for result in found:  # the rows of the pictures say where each came from
            result["images"] = [{**row, "file": None} for row in result["images"]]
        assert found[0] == found[1] == found[2]


class TestListBesideThePredictions:
    """`images=[…]` stands beside the predictions, whatever order the references have."""

    @pytest.fixture
    def run(self, two_objects, picture, fake_encoder):
        rows = [two_objects("b", [(0, "under", 1)]), two_objects("a"), two_objects("c")]
        pictures = [picture(1), picture(0), picture(2)]

        def go(images="list", rows=rows, **more):
            images = pictures if images == "list" else dict(zip("bac", pictures))
            return relclipscore(rows, images=images, model=fake_encoder(), return_items=True, **more)["items"]

        return go

    def test_without_references(self, run):
        assert run("list") == run("mapping")

    def test_with_references_in_another_order(self, run, two_objects):
        gold = [two_objects(name) for name in "abc"]
        assert run("list", references=gold) == run("mapping", references=gold)

    def test_with_a_limit(self, run):
        assert run("list", limit=2) == run("mapping", limit=2)

    def test_with_a_skipped_prediction(self, run, two_objects):
        rows = [two_objects("b", width=-1), two_objects("a"), two_objects("c")]
        assert run("list", rows=rows, on_invalid="skip") == run("mapping", rows=rows, on_invalid="skip")

    def test_another_length_is_an_error(self, run, two_objects):
        with pytest.raises(InvalidInput, match=r"images: expected one a prediction \(2\), got 3"):
            run("list", rows=[two_objects("b"), two_objects("a")])
