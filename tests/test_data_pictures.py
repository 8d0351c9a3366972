"""Pictures as annotated on every road, and nothing told once only: turned by EXIF, of another size, moved, removed."""

import io
import json
import os
import warnings
from pathlib import Path

import datasets
import numpy as np
import pytest
from data_kit import draw, make_folder, records
from PIL import Image
from typer.testing import CliRunner

from sgeval.cli.app import app
from sgeval.data.inspect import inspect
from sgeval.errors import SgevalError
from sgeval.hub.export import export
from sgeval.hub.notes import Notes, read_notes
from sgeval.images import ORIENTATION, turned_back

pytestmark = pytest.mark.filterwarnings("ignore:.*published number of records")
FIRST = "train2017/000000001001.jpg"
"""The picture of two records of PSG's train split, 64 x 64; 1002 is the other's, 64 x 48."""
SECOND = "train2017/000000001002.jpg"


@pytest.fixture
def psg(tmp_path):
    return make_folder("psg", tmp_path / "psg")


def turned(path, size, orientation=6, form="JPEG", order="II"):
    """A picture whose left half is black, stored with an orientation tag; its pixels as stored."""
    pixels = np.full((size[1], size[0], 3), 255, np.uint8)
    pixels[:, : size[0] // 2] = 0
    exif = Image.Exif()
    exif.endian = {"II": "<", "MM": ">"}[order]
    exif[ORIENTATION] = orientation
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, form, exif=exif.tobytes(), quality=95)
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def written_over(path, size, colour, orientation=None):
    """A picture of one colour, written into the file that is there."""
    exif = Image.Exif()
    if orientation is not None:
        exif[ORIENTATION] = orientation
    with path.open("r+b") as file:
        file.truncate()
        Image.new("RGB", size, colour).save(file, "JPEG", exif=exif.tobytes())


def near(image, colour):
    """Whether a picture is of a colour, as far as a JPEG keeps it."""
    wanted = {"red": (255, 0, 0), "blue": (0, 0, 255)}[colour]
    return np.allclose(np.asarray(image.convert("RGB")).mean((0, 1)), wanted, atol=3)


class TestTurned:
    """A picture annotated as 64 x 48 and stored so, with a tag by which viewers show 48 x 64."""

    def test_load_stream_and_export(self, psg, load, tmp_path):
        stored = turned(psg / "coco" / SECOND, (64, 48))
        export("psg", tmp_path / "out", data_dir=psg)
        roads = [
            load("psg", data_dir=psg, split="train"),
            load("psg", data_dir=psg, split="train", streaming=True),
            datasets.load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "plain")),
        ]
        for rows in roads:
            row = next(row for row in rows if row["file_name"] == SECOND)
            assert row["image"].size == (row["width"], row["height"]) == (64, 48)
            assert (np.asarray(row["image"]) == stored).all()
        plain = roads[0].cast_column("image", datasets.Image(decode=False))  # all others are only named
        assert [row["image"]["bytes"] is None for row in plain] == [row["file_name"] != SECOND for row in plain]

    def test_columns_of_visual_genome(self, load, tmp_path):
        folder = make_folder("visual_genome", tmp_path / "vg")
        graph = next(graph for graph in records("visual_genome", folder) if graph.width != graph.height)
        turned(folder / "images" / graph.file_name, (graph.width, graph.height))
        rows = load("visual_genome", data_dir=folder, split="train")
        row = next(row for row in rows if row["image_id"] == graph.image_id)
        assert row["image"].size == (graph.width, graph.height)

    def test_annotated_as_viewers_show_it(self, psg, load):
        turned(psg / "coco" / SECOND, (48, 64))
        row = next(row for row in load("psg", data_dir=psg, split="train") if row["file_name"] == SECOND)
        assert row["image"].size == (64, 48)

    @pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
    @pytest.mark.parametrize("order", ["II", "MM"])
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_bytes(self, form, order, orientation, tmp_path):
        stored = turned(tmp_path / "a.jpg", (6, 4), orientation, form, order)
        data = turned_back(tmp_path / "a.jpg", (6, 4))
        assert (data is not None) == (orientation > 4)  # up to 4 the size is the same both ways: shown as the tag says
        assert turned_back(tmp_path / "a.jpg", (4, 6) if orientation > 4 else (6, 4)) is None
        if data is not None:
            with Image.open(io.BytesIO(data)) as image:
                assert image.getexif().get(ORIENTATION, 1) == 1 and (np.asarray(image.convert("RGB")) == stored).all()
            before = (tmp_path / "a.jpg").read_bytes()
            is_patched = len(data) == len(before)
            assert is_patched == (form == "JPEG")  # nothing but the tag differs
            assert not is_patched or sum(one != other for one, other in zip(data, before)) == 1

    def test_a_tag_that_is_not_in_the_usual_place(self, tmp_path):
        """In the XMP of a JPEG; Pillow reads it there."""
        xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description tiff:Orientation="6"/></rdf:RDF></x:xmpmeta>'
        Image.new("RGB", (6, 4)).save(tmp_path / "a.jpg", xmp=xmp)
        with Image.open(io.BytesIO(turned_back(tmp_path / "a.jpg", (6, 4)))) as image:
            assert image.size == (6, 4) and image.getexif().get(ORIENTATION, 1) == 1


class TestOtherSize:
    WORDS = (
        r'psg, full.*: 2 pictures are not as annotated: image "900001": .*1001.jpg: .* annotated 64 x 64, got 30 x 20;'
    )

    def test_told_each_time(self, psg, load):
        draw(psg / "coco" / FIRST, (30, 20))
        for _ in range(2):
            with pytest.warns(UserWarning, match=self.WORDS):
                load("psg", data_dir=psg)
        with pytest.warns(UserWarning, match=self.WORDS):
            list(load("psg", data_dir=psg, streaming=True, split="train"))
        with pytest.warns(UserWarning, match=self.WORDS):
            load("psg", data_dir=psg, num_proc=2, download_mode="force_redownload")

    def test_export_and_info(self, psg, tmp_path):
        draw(psg / "coco" / FIRST, (30, 20))
        (psg / "coco" / SECOND).write_bytes(b"no picture")
        found = inspect("psg", psg)
        assert [(odd.what, odd.count, odd.ids) for odd in found.oddities] == [
            ("pictures of another size than annotated", 2, ["900001", "900006"])
        ]
        assert found.missing_pictures == [("900002", SECOND)]
        draw(psg / "coco" / SECOND, (64, 48))
        with pytest.warns(UserWarning, match=self.WORDS):
            export("psg", tmp_path / "out", data_dir=psg)

    def test_what_is_no_picture_is_named(self, psg, load):
        (psg / "coco" / SECOND).write_bytes(b"no picture")
        with pytest.raises(
            SgevalError, match=r'image "900002": .*expected a picture .*, got something else; put a sound'
        ):
            load("psg", data_dir=psg)

    def test_nothing_to_tell(self, psg, load):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*published number of records")
            load("psg", data_dir=psg)


def test_pictures_that_the_map_of_objects365_lacks(load, tmp_path):
    """They are missing like any others: an error, or null; and `data info` counts them, as it does objects that repeat."""
    folder = make_folder("fgov", tmp_path / "fgov")
    (folder / "image_id_to_filepath.json").write_text('{"636013": "val/patch13/objects365_v1_00636013.jpg"}')
    file = folder / "obj365_llava_OV.json"
    whole = json.loads(file.read_text())
    whole[1]["objects"] *= 2
    file.write_text(json.dumps(whole))
    with pytest.raises(SgevalError, match=r'image "900001": expected the picture "900001.jpg" at .*, got none'):
        load("fgov", "o365", data_dir=folder)
    rows = load("fgov", "o365", data_dir=folder, missing_images="null")
    assert rows["train"][0]["image"] is None and rows["train"][0]["file_name"] is None
    assert rows["val"][0]["image"].size == (64, 48)
    found = inspect("fgov", folder, config="o365")
    assert found.missing_pictures == [("900001", "900001.jpg")]
    assert [(odd.what, odd.count, odd.ids) for odd in found.oddities] == [
        ("pictures that the map of paths does not have", 1, ["900001"]),
        ("objects with the id of an earlier one of their picture", 1, ["636013"]),
    ]


class TestStale:
    def test_a_picture_that_is_gone(self, psg, load, tmp_path):
        load("psg", data_dir=psg)
        (psg / "coco" / SECOND).rename(tmp_path / "gone.jpg")
        words = r'image "900002": expected the picture "train2017/000000001002.jpg" at .*, got none; name its folder'
        with pytest.raises(SgevalError, match=words):
            load("psg", data_dir=psg)
        with pytest.raises(SgevalError, match=words):
            export("psg", tmp_path / "out", data_dir=psg)
        (tmp_path / "gone.jpg").rename(psg / "coco" / SECOND)
        assert load("psg", data_dir=psg)["train"][1]["image"].size == (64, 48)

    def test_a_turned_picture_that_is_written_over(self, psg, load):
        """Its bytes lie in the row, and writing in place does not change the folder."""
        for colour in ("red", "blue"):
            written_over(psg / "coco" / SECOND, (64, 48), colour, orientation=6)
            image = load("psg", data_dir=psg, split="train")[1]["image"]
            assert image.size == (64, 48) and near(image, colour)

    def test_a_picture_that_is_written_over_by_a_turned_one(self, psg, load):
        """And back: each time the pixels as stored, 64 x 48, are what is annotated."""
        for colour, orientation in (("red", None), ("blue", 6), ("red", None)):
            written_over(psg / "coco" / SECOND, (64, 48), colour, orientation)
            image = load("psg", data_dir=psg, split="train")[1]["image"]
            assert image.size == (64, 48) and near(image, colour)

    def test_a_picture_that_changed_between_two_processes(self, tmp_path):
        """Two stretches saw it in two ways: whatever it is now, the rows of one are stale."""
        path = tmp_path / "1.jpg"
        for first, content in enumerate((b"a", b"ab")):
            path.write_bytes(content)
            notes = Notes()
            notes.opening(path)
            notes.write(str(tmp_path), "train", first)
            assert read_notes(str(tmp_path)).is_stale is bool(first)

    def test_a_map_beside_files_of_elsewhere(self, load, tmp_path):
        """`data_files` outside `data_dir`: the map that belongs to them lies beside them."""
        folder, outside = make_folder("fgov", tmp_path / "fgov"), tmp_path / "outside"
        outside.mkdir()
        for name in ("obj365_llava_OV.json", "image_id_to_filepath.json"):
            (folder / name).rename(outside / name)
        options = {"data_dir": folder, "data_files": [str(outside / "obj365_llava_OV.json")], "split": "train"}
        assert load("fgov", "o365", with_images=False, **options)["file_name"] == [
            "train/patch16/objects365_v2_00900001.jpg"
        ]
        (outside / "image_id_to_filepath.json").write_text('{"900001": "train/1.jpg", "636013": "val/2.jpg"}')
        assert load("fgov", "o365", with_images=False, **options)["file_name"] == ["train/1.jpg"]

    def test_a_folder_that_moved(self, psg, load):
        """From coco/train2017 to images/train2017, where it is looked for too."""
        before = load("psg", data_dir=psg, split="train")
        (psg / "images").mkdir()
        (psg / "images/kept").touch()
        (psg / "coco/train2017").rename(psg / "images/train2017")
        after = load("psg", data_dir=psg, split="train")
        paths = [
            rows.cast_column("image", datasets.Image(decode=False))[0]["image"]["path"] for rows in (before, after)
        ]
        assert "/coco/train2017/" in paths[0] and "/images/train2017/" in paths[1]
        assert after[0]["image"].size == (64, 64)

    def test_a_folder_of_pictures_that_is_gone(self, psg, load, tmp_path):
        (psg / "coco").rename(tmp_path / "elsewhere")
        load("psg", data_dir=psg, image_dir=tmp_path / "elsewhere")
        (tmp_path / "elsewhere").rename(tmp_path / "moved")
        with pytest.raises(SgevalError, match=r"image_dir: expected a folder of pictures, got .*elsewhere"):
            load("psg", data_dir=psg, image_dir=tmp_path / "elsewhere")

    def test_frames_of_a_video(self, load, tmp_path):
        folder = make_folder("pvsg", tmp_path / "pvsg")
        load("pvsg", "frames", data_dir=folder)
        frame = sorted(folder.rglob("frames/*/0001.png"))[0]
        frame.unlink()
        with pytest.raises(SgevalError, match="expected the frame"):
            load("pvsg", "frames", data_dir=folder)

    def test_a_source_of_the_same_size_and_time(self, psg, load):
        before = load("psg", data_dir=psg, split="train")["height"][0]
        file = psg / "psg.json"
        status = file.stat()
        text = file.read_text()
        whole = json.loads(text)
        key = f'"height": {whole["data"][0]["height"]}'
        file.write_text(text.replace(key, key[:-2] + "99"))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert (file.stat().st_size, file.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
        assert before == 64 and load("psg", data_dir=psg, split="train")["height"][0] == 99

    def test_what_did_not_change_is_found_again(self, psg, load):
        first = load("psg", data_dir=psg, split="train")
        stamp = Path(first.cache_files[0]["filename"]).stat().st_mtime_ns
        (psg / "notes.txt").touch()  # no picture lies beside it
        again = load("psg", data_dir=psg, split="train")
        assert Path(again.cache_files[0]["filename"]).stat().st_mtime_ns == stamp

    def test_damaged_notes(self, psg, load):
        first = load("psg", data_dir=psg, split="train")
        (note,) = Path(first.cache_files[0]["filename"]).parent.glob(".train*")
        note.write_text("{")
        assert len(load("psg", data_dir=psg, split="train")) == 3


class TestCounts:
    def test_each_time(self, psg, load):
        for _ in range(2):
            with pytest.warns(UserWarning, match=r"train 3 \(published: 46,564\)"):
                load("psg", data_dir=psg)
        with pytest.raises(SgevalError, match="published number of records"):
            load("psg", data_dir=psg, verification_mode="all_checks")
        with pytest.raises(SgevalError, match="published number of records"):
            load("psg", data_dir=psg, verification_mode=datasets.VerificationMode.ALL_CHECKS)

    def test_on_the_command_line(self, psg, tmp_path):
        def build(*more):
            command = ["data", "build", "psg", "--data-dir", str(psg), "--cache-dir", str(tmp_path / "cache"), *more]
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                return CliRunner().invoke(app, command)

        for _ in range(2):
            done = build()
            assert done.exit_code == 0 and "warning: psg, full: expected the published number" in done.stderr
        for _ in range(2):
            done = build("--strict")
            assert done.exit_code == 2
            assert done.stderr.startswith("sgeval: psg, full: expected the published number") and done.stdout == ""
