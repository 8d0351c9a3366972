"""Each road into the metric: signature, models, pictures and keywords."""

import inspect
import io
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from kit import parts
from PIL import Image

import sgeval
import sgeval.assets
from sgeval.errors import InvalidInput, SgevalError
from sgeval.relclip import Options, relclipscore
from sgeval.running import fitted
from sgeval.setup import Setup

DEMO_MODEL = Path(sgeval.assets.__file__).parent / "demo_model"


class TestFit:
    def test_pad_leaves_the_crop_to_an_encoder_that_pads(self, fake_encoder, picture):
        """`longest` scales the longest side and pads by itself: padding here would make its content smaller."""
        encoder, crop = fake_encoder(), picture(0, 30, 10)
        encoder.image_mode = "longest"
        assert fitted(crop, encoder, "pad") is crop

    @pytest.mark.parametrize("mode", ["shortest", "squash"])
    def test_pad_makes_a_square_for_the_others(self, fake_encoder, picture, mode):
        """30 x 10 in the middle of 30 x 30: rows 10 to 19, the fill colour above and below."""
        encoder, crop = fake_encoder(), picture(0, 30, 10)
        encoder.image_mode = mode
        found = np.asarray(fitted(crop, encoder, "pad"))
        assert found.shape == (30, 30, 3)
        assert (found[10:20] == np.asarray(crop)).all()
        assert (found[:10] == encoder.fill).all() and (found[20:] == encoder.fill).all()

    def test_pad_reaches_the_encoder(self, fake_encoder, two_objects, picture):
        """The union of the two boxes is x 5–30, y 5–20: 25 x 15, or 25 x 25 when padded."""
        for mode, size in (("longest", (25, 15)), ("shortest", (25, 25))):
            encoder = fake_encoder()
            encoder.image_mode = mode
            relclipscore([two_objects()], images=[picture(0)], model=encoder, fit="pad")
            assert [crop[0] for crop in encoder.crops[0]] == [size]


class TestSignature:
    @pytest.fixture
    def run(self, two_objects, picture, fake_encoder):
        def go(**options):
            graphs = [two_objects(name) for name in "abc"]
            pictures = [picture(number) for number in range(3)]
            return relclipscore(graphs, references=graphs, images=pictures, model=fake_encoder(), **options)

        return go

    @pytest.mark.parametrize(
        ("option", "part", "default", "other"),
        [
            ("missing", "missing", "error", "zero"),
            ("on_invalid", "invalid", "error", "skip"),
            ("on_bad_image", "badimage", "error", "skip"),
            ("empty", "empty", "zero", "skip"),
            ("matching", "matching", "given", "pair_iou"),
            ("ref_formula", "refs", "harmonic", "openvocsgg"),
        ],
    )
    def test_what_is_done_with_faults_stands_in_it(self, run, option, part, default, other):
        expected = f"{other}0.5" if option == "matching" else other  # an IoU has its threshold beside it
        assert (parts(run())[part], parts(run(**{option: other}))[part]) == (default, expected)

    @pytest.mark.parametrize("limit", [1, 2, 3, 9])
    def test_limit_stands_in_it_when_given(self, run, limit):
        result = run(limit=limit)
        assert parts(result)["limit"] == str(limit)
        assert result["n_images"] == min(limit, 3)

    def test_no_limit_no_part(self, run):
        assert "limit" not in parts(run()) and run()["signature"] == run(limit=None)["signature"]

    def test_no_part_stands_twice(self, run):
        names = Counter(part.split(":")[0] for part in run(limit=2)["signature"].split("|"))
        assert set(names.values()) == {1}


class TestModel:
    @pytest.mark.parametrize("model", [5, object(), [], b"demo"], ids=lambda model: type(model).__name__)
    def test_no_model_at_all(self, model, two_objects, picture):
        """Refused before any row is read; the message names what an encoder has."""
        with pytest.raises(SgevalError) as caught:
            relclipscore([two_objects()], images=[picture(0)], model=model)
        words = str(caught.value)
        start = f"model: expected a name, a folder or an encoder object, got {type(model).__name__} without "
        assert words.startswith(start)
        for part in ("template", "image_mode", "signature", "encode_images", "encode_texts", "score"):
            assert part in words.removeprefix(start).split(", ")

    def test_an_encoder_that_lacks_one_part(self, fake_encoder, two_objects, picture):
        class Half(fake_encoder):
            @property
            def truncated(self):
                raise AttributeError

        with pytest.raises(SgevalError, match=r"^model: expected .*, got Half without truncated$"):
            relclipscore([two_objects()], images=[picture(0)], model=Half())

    def test_a_folder_may_be_a_path(self, two_objects, picture):
        given = {"images": [picture(0)], "return_items": True}
        assert relclipscore([two_objects()], model=DEMO_MODEL, **given) == relclipscore(
            [two_objects()], model=str(DEMO_MODEL), **given
        )


class TestPictures:
    """What may stand in `images=`, and the id beside what may not."""

    @pytest.fixture
    def fault(self, two_objects, picture, fake_encoder):
        def of(source):
            with pytest.raises(InvalidInput) as caught:
                relclipscore(
                    [two_objects("a"), two_objects("b")], images={"a": picture(0), "b": source}, model=fake_encoder()
                )
            (line,) = caught.value.faults
            return line

        return of

    @pytest.mark.parametrize("most", [1, 200, 255])
    @pytest.mark.parametrize("kind", ["array", "I", "I;16"])
    def test_eight_bit_values_in_a_wider_type_are_refused(self, fault, kind, most):
        """Scaled by 1/257 they would come out black."""
        values = np.zeros((48, 64), dtype=np.uint16)
        values[3, 4] = most
        source = {"array": values, "I": Image.fromarray(values.astype(np.int32)), "I;16": Image.fromarray(values)}[kind]
        assert kind == "array" or source.mode == kind
        assert fault(source) == (
            f'image "b": expected 16-bit values up to 65,535, got none above {most}; give 8-bit values as uint8'
        )

    @pytest.mark.parametrize("most", [0, 256, 65535])
    def test_other_values_are_taken(self, two_objects, fake_encoder, most):
        """All black is black in either depth."""
        values = np.full((48, 64), most, dtype=np.uint16)
        for source in (values, Image.fromarray(values.astype(np.int32))):
            assert relclipscore([two_objects()], images=[source], model=fake_encoder())["n_relations"] == 1

    @pytest.mark.parametrize("source", [None, 5, io.BytesIO(b"x"), bytearray(b"x")], ids=lambda one: type(one).__name__)
    def test_what_is_no_picture(self, fault, source):
        kind = type(source).__name__
        assert fault(source) == f'image "b": expected a path, encoded bytes, a PIL image or an array, got {kind}'

    def test_an_open_file(self, fault, picture, tmp_path):
        picture(0).save(tmp_path / "a.png")
        with (tmp_path / "a.png").open("rb") as file:
            words = fault(file)
        assert words.startswith('image "b": expected a path, encoded bytes, a PIL image or an array, got ')


class TestKeywords:
    """The function's keywords are written out for the reader; the options behind it are written out again."""

    BESIDE = ("predictions", "images", "references", "cache", "limit", "return_items", "unknown")

    def test_names_and_defaults_are_those_of_the_options_and_the_setup(self):
        keywords = inspect.signature(sgeval.relclipscore).parameters
        expected = {item.name: item.default for kind in (Options, Setup) for item in fields(kind)}
        expected |= {"model": None, "config": "clip"}  # the config's model where none is named
        assert {name: keywords[name].default for name in keywords if name not in self.BESIDE} == expected
        assert {keywords[name].kind for name in expected} == {inspect.Parameter.KEYWORD_ONLY}

    def test_each_keyword_arrives(self, monkeypatch):
        """Every option and every part of the setup with another value than its default."""
        options = {
            "matching": "pair_iou",
            "penalty": "none",
            "context": ("px", 3.0),
            "fit": "pad",
            "template": "{subject} {predicate} {object}",
            "normalisation": "none",
            "empty": "skip",
            "missing": "zero",
            "pairs": "gold",
            "ref_formula": "openvocsgg",
            "on_invalid": "skip",
            "on_bad_image": "skip",
            "batch_size": 3,
            "bootstrap": 77,
            "seed": 5,
        }
        setup = {"model": "a", "config": "siglip", "device": "cpu", "precision": "bf16", "preprocess": "tensor"}
        seen = {}

        class Scored:
            def result(self, return_items):
                return {"asked": return_items}

        def score(predictions, **given):
            seen.update(given, predictions=predictions)
            return Scored()

        monkeypatch.setattr("sgeval.relclip.scoring.score", score)
        beside = {"images": "i", "references": "r", "cache": "c", "limit": 4}
        assert relclipscore("p", return_items=True, **beside, **options, **setup) == {"asked": True}
        assert {item.name: getattr(seen["options"], item.name) for item in fields(Options)} == options
        assert {name: seen[name] for name in (*setup, *beside)} == {**setup, **beside} and seen["predictions"] == "p"
        assert {"config", *(item.name for item in fields(Setup))} == {*setup}
