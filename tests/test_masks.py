"""Masks: boxes around them and back, and files of one channel and of three. `test_data_loading` has hostile codes."""

import numpy as np
import pytest
from PIL import Image
from reference.rle_reference import runs_of

from sgeval import masks
from sgeval.errors import SgevalError
from sgeval.masks import segments


def test_boxes_on_random_maps():
    rng = np.random.default_rng(1)
    for _ in range(200):
        ids = rng.integers(0, 5, rng.integers(1, 20, 2))
        for number, segment in masks.segments(ids).items():
            rows, columns = np.nonzero(ids == number)
            x, y = columns.min(), rows.min()
            assert segment.box == (x, y, columns.max() - x + 1, rows.max() - y + 1)
            assert masks.box_of_code(segment.code) == segment.box


def test_only_the_ids_that_are_asked_for():
    """A map of strangers may hold as many ids as pixels: those that nobody asked for cost nothing."""
    ids = np.arange(1, 90_001).reshape(300, 300)
    assert segments(ids, [5, 300, 100_000]).keys() == {5, 300}
    assert segments(ids, [5])[5] == segments(np.where(ids == 5, 5, 0))[5]


def test_boxes_and_back():
    rng = np.random.default_rng(2)
    for _ in range(100):
        width, height = map(int, rng.integers(1, 20, 2))
        x, y = int(rng.integers(0, width)), int(rng.integers(0, height))
        box = (float(x), float(y), float(rng.integers(1, width - x + 1)), float(rng.integers(1, height - y + 1)))
        code = masks.code_of_box(box, (width, height))
        assert masks.box_of_code(code) == box and masks.mask_of(code).sum() == box[2] * box[3]


@pytest.mark.parametrize(
    ("box", "found"),
    [
        (
            (0.5, 0.5, 1.0, 1.0),
            (0.0, 0.0, 1.0, 1.0),
        ),  # the middles 0.5 and 1.5: the first edge is inside, the last is not
        ((0.5, 1.5, 1.5, 1.0), (0.0, 1.0, 2.0, 1.0)),  # across 0.5 and 1.5 of up to 2.0, down 1.5 of up to 2.5
        ((0.6, 0.6, 0.8, 0.8), None),  # between the middles
    ],
)
def test_a_box_whose_edge_is_the_middle_of_a_pixel(box, found):
    assert masks.box_of_code(masks.code_of_box(box, (3, 3))) == found


def test_long_numbers():
    """15 in groups of 5 bits: 15, then groups of 0; "_" is 48 + 15 + 32, "P" 48 + 0 + 32. Seven groups are the most."""
    assert masks.checked_counts({"size": [3, 5], "counts": "_PPPPP0"}) == [15]
    with pytest.raises(SgevalError, match="numbers of at most 7 characters, got a longer one"):
        masks.checked_counts({"size": [3, 5], "counts": "_PPPPPP0"})


WORDS = {
    "longer": "expected numbers of at most 7 characters, got a longer one",
    "negative": "expected runs of 0 pixels or more, got {}",
    "unfinished": "expected the end of the last number, got the end of the text",
    "sum": "expected runs over {total} pixels, got {}",
}


def check_against_the_reference(text, total):
    """The same runs or the same fault as a reading of one character after the other; which of them it was."""
    verdict, value = runs_of(text, total)
    for counts in (text, text.encode()):
        code = {"size": [1, total], "counts": counts}
        if verdict == "sound":
            assert masks.checked_counts(code) == value
            assert masks.mask_of(code).sum() == sum(value[1::2])
        else:
            with pytest.raises(SgevalError) as caught:
                masks.checked_counts(code)
            assert str(caught.value) == "segmentation.counts: " + WORDS[verdict].format(value, total=total)
    return verdict


def test_sound_codes_as_the_slow_reference_reads_them():
    rng = np.random.default_rng(3)
    for _ in range(300):
        runs = rng.integers(0, 10 ** rng.integers(1, 6), rng.integers(1, 60)).tolist()
        if 0 < sum(runs) < 10**7:
            assert check_against_the_reference(masks.counts_text(runs), sum(runs)) == "sound"


def test_hostile_codes_as_the_slow_reference_reads_them():
    """Random characters: mostly short numbers, mostly continued ones, and sound codes with one character changed."""
    rng = np.random.default_rng(4)
    verdicts = set()
    for case in range(3_000):
        if case % 3 == 0:
            text = bytes(rng.integers(48, 112, rng.integers(1, 12)).tolist()).decode()
        elif case % 3 == 1:
            text = bytes(rng.choice([48, 49, 50, 79, 80, 111], rng.integers(1, 30)).tolist()).decode()
        else:
            characters = list(masks.counts_text(rng.integers(0, 200, 20).tolist()))
            characters[rng.integers(len(characters))] = chr(rng.integers(48, 112))
            text = "".join(characters)
        total = int(rng.integers(20, 3_000))
        verdicts.add(check_against_the_reference(text, total))
        found, value = runs_of(text, total)
        if found == "sum" and 0 < value < 10**7:  # the same runs over as many pixels as they fill
            verdicts.add(check_against_the_reference(text, value))
    assert verdicts == {"longer", "negative", "unfinished", "sum", "sound"}


def test_the_first_fault_is_told():
    """By hand: "O" is -1, "o" goes on. A negative run before a number that is too long, and the other way round."""
    for text, words in (("Ooooooooo", "got -1"), ("oooooooooO", "longer one"), ("1oooooo", "end of the text")):
        with pytest.raises(SgevalError, match=words):
            masks.checked_counts({"size": [3, 5], "counts": text})


def test_a_sum_beyond_64_bits():
    """100,000 numbers of 7 characters, 2**34 - 1 each: the runs at odd places are 1, 2, … 50,000 times that, those at even
    ones 1, then 1, 2, … 49,999 times. The sum is told and does not wrap."""
    runs = (2**34 - 1) * (1 + 50_000 * 50_001 // 2 + 49_999 * 50_000 // 2)
    with pytest.raises(SgevalError, match=f"expected runs over 1000000 pixels, got {runs}"):
        masks.checked_counts({"size": [10**3, 10**3], "counts": "oooooo?" * 100_000})
    assert runs > 2**63


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([0, 16], "expected runs over 15 pixels, got 16"),
        ([16, -1], "expected runs of 0 pixels or more, got -1"),
        ([14, True], "expected runs in whole pixels, got true"),
        ([7.5, 7.5], r"expected runs in whole pixels, got 7\.5"),
        ([10**40], "expected runs over 15 pixels, got 1"),
        ([], "expected runs over 15 pixels, got 0"),
        (b"\xff", 'expected a text of the characters "0" to "o"'),
        (("0", "5"), 'expected a text of the characters "0" to "o"'),
        (None, 'expected a text of the characters "0" to "o", got null'),
    ],
)
def test_counts_that_are_none(counts, words):
    with pytest.raises(SgevalError, match=f"segmentation.counts: {words}") as caught:
        masks.box_of_code({"size": [3, 5], "counts": counts})
    assert len(str(caught.value)) < 200


def test_a_box_outside():
    code = masks.code_of_box((50.0, 50.0, 4.0, 4.0), (8, 6))
    assert not masks.mask_of(code).any() and masks.box_of_code(code) is None


def test_hostile_codes():
    with pytest.raises(SgevalError, match="4096 pixels, got 15"):
        masks.box_of_code({"size": [64, 64], "counts": ":5"})
    with pytest.raises(SgevalError, match="at most"):
        masks.code_of_box((0.0, 0.0, 1.0, 1.0), (10**6, 10**6))


@pytest.mark.parametrize("bits", [8, 16])
def test_grey_values_stand_as_they_are(bits, tmp_path):
    values = np.arange(48).reshape(6, 8) * (5 if bits == 8 else 130)
    Image.fromarray(values.astype(np.uint8 if bits == 8 else np.uint16)).save(tmp_path / "x.png")
    assert (masks.mask_ids(tmp_path / "x.png", "grey_object_id") == values).all()


def test_three_channels(tmp_path):
    Image.new("RGB", (2, 2), (1, 2, 3)).save(tmp_path / "x.png")
    assert (masks.mask_ids(tmp_path / "x.png", "rgb_object_id") == 1 + 2 * 256 + 3 * 65536).all()
    with pytest.raises(SgevalError, match="mask_encoding: expected one of palette_object_id"):
        masks.mask_ids(tmp_path / "x.png", None)
