"""Pictures that break, are mended or change between two parts of a run."""

import json
import sqlite3

import numpy as np
import pytest
from PIL import Image

from sgeval.errors import BadImage
from sgeval.journal import Journal
from sgeval.planning import PicturePlan, Texts
from sgeval.running import encode_texts, score_pictures

SIZE = (24, 16)


@pytest.fixture
def case(tmp_path, fake_encoder):
    """Six pictures of one size as BMP, which all have the same length; two unions each, in batches of four."""

    class Vectors(fake_encoder):
        def encode_texts(self, texts):
            return super().encode_texts(texts).astype(np.float32)

    def write(number, colour):
        Image.new("RGB", SIZE, (colour, number, 7)).save(tmp_path / f"{number}.bmp")

    for number in range(6):
        write(number, 50)

    def run(encoder, journal=None, policy="skip"):
        from sgeval.pictures import stamp

        texts, plans = Texts(), []
        for number in range(6):
            source = tmp_path / f"{number}.bmp"
            plans.append(PicturePlan(source, SIZE, stamp(source)))
            for side in (9, 12):
                plans[-1].add((0, 0, side, side), texts.add(f"text {side}"))
        table = encode_texts(texts.texts, encoder, journal=journal)
        found = score_pictures(
            plans, texts.texts, table.features, encoder, batch_size=4, journal=journal, on_bad_image=policy
        )
        return [str(one) if isinstance(one, BadImage) else [value.tolist() for value in one] for one in found]

    return run, write, tmp_path, Vectors


def journal(folder):
    return Journal(folder / "progress.sqlite", {"a": "1"}, resume=True)


def test_a_picture_of_the_same_length_that_changed_is_scored_anew(case):
    """Only its batch: pictures 0 and 1, 2 and 3, 4 and 5 share one each."""
    run, write, folder, encoder = case
    book = journal(folder)
    first = run(encoder(), book)
    write(3, 200)
    again = encoder()
    second = run(again, book)
    book.close()
    assert second == run(encoder()) and second[3] != first[3] and second[:2] == first[:2]
    assert again.n_crops == 4 and again.n_texts == 0


def test_skipped_pictures_stay_skipped_with_their_reason_and_are_scored_when_mended(case):
    """Under on_bad_image="skip" a batch with a broken picture is committed, and goes on being asked for it."""
    run, _, folder, encoder = case
    path = folder / "2.bmp"
    whole = path.read_bytes()
    path.write_bytes(whole[:400])
    book = journal(folder)
    first = run(encoder(), book)
    assert "2.bmp" in first[2] and "broken" in first[2]
    again = encoder()
    assert run(again, book) == first and again.n_crops == 0
    path.write_bytes(whole)
    mended = encoder()
    assert run(mended, book) == run(encoder()) and mended.n_crops == 4
    book.close()


def test_a_disk_that_failed_for_a_moment_is_forgiven(case, monkeypatch):
    """The same file, readable by now: what was committed as broken is done anew."""
    import sgeval.running

    run, _, folder, encoder = case
    load = sgeval.running.load_image

    def failing(source, size=None):
        if source.name == "4.bmp":
            raise BadImage("4.bmp: Input/output error")
        return load(source, size)

    book = journal(folder)
    monkeypatch.setattr(sgeval.running, "load_image", failing)
    assert run(encoder(), book)[4] == "4.bmp: Input/output error"
    monkeypatch.setattr(sgeval.running, "load_image", load)
    assert run(encoder(), book) == run(encoder())
    book.close()


def test_a_damaged_entry_is_done_anew(case):
    """FM6: a payload whose check sum is wrong is not read."""
    run, _, folder, encoder = case
    book = journal(folder)
    first = run(encoder(), book)
    book.close()
    base = sqlite3.connect(folder / "progress.sqlite")
    payload = bytearray(base.execute("SELECT payload FROM batches WHERE kind='regions' AND number=1").fetchone()[0])
    payload[-3] ^= 64
    base.execute("UPDATE batches SET payload = ? WHERE kind='regions' AND number=1", (bytes(payload),))
    base.commit()
    base.close()
    book, again = journal(folder), encoder()
    assert run(again, book) == first and again.n_crops == 4
    book.close()


def test_commits_are_flushed_and_the_file_is_held(tmp_path):
    """synchronous=FULL (2) and a rollback journal: what was committed outlives the machine's power."""
    book = journal(tmp_path)
    asked = [
        book._base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode", "locking_mode")
    ]
    book.close()
    assert asked == [2, "delete", "exclusive"]


def test_another_signature_is_refused(tmp_path):
    """Other weights, options or versions: each part of the identity counts."""
    Journal(tmp_path / "j", {"signature": "weights:a", "torch": "2"}, resume=False).close()
    from sgeval.errors import SgevalError

    for other in ({"signature": "weights:b", "torch": "2"}, {"signature": "weights:a", "torch": "3"}):
        with pytest.raises(SgevalError, match=r"the unfinished run has (signature|torch)"):
            Journal(tmp_path / "j", other, resume=True)


def test_embeddings_are_kept_apart_by_all_that_moves_them(fake_encoder):
    """Every part of a signature but the score rule, and the model's name where no weights tell models apart."""
    from sgeval.running import _space

    def space(device="cpu", **parts):
        encoder = fake_encoder()
        encoder.device = device
        encoder.signature = lambda: {"model": "a", "weights": "w", "precision": "fp32", "prep": "pil", **parts}
        return _space(encoder)

    changed = [
        space(weights="v"),
        space(precision="bf16"),
        space(prep="tensor"),
        space(image="x"),
        space(device="cuda:0"),
    ]
    assert len({space(), *changed}) == 6
    assert space(model="b") == space() and space(score="sigmoid") == space()
    assert space(model="a", weights=None) != space(model="b", weights=None)
    assert json.dumps(space())
