"""How often θ asks the encoder: once a unique union and once a unique text, whatever the number of relations."""

import pytest

from benchmarks.perf.counting import Counting
from benchmarks.perf.made import PREDICATES
from benchmarks.perf.made_theta import make_annotated
from sgeval.alignment import score_annotations


def run(work, encoder):
    found = score_annotations(work.rows, images=work.folder, vocabulary=work.vocabulary, model=encoder)
    assert {item.status for item in found.rows.items} == {"scored"}
    return found


@pytest.fixture
def work(tmp_path):
    return make_annotated(tmp_path / "made", 4)


class TestCounts:
    def test_the_input(self, work):
        """Three pictures of four unions and one of five, ten relations each; relations of a pair share its candidates."""
        counts = work.counts()
        assert (counts["relations"], counts["unions"]) == (40, 17)
        assert counts["unique_candidates"] < 0.7 * counts["candidates"]

    def test_each_union_and_each_text_is_encoded_once(self, work, fake_encoder):
        inner = fake_encoder()
        encoder = Counting(inner)
        found = run(work, encoder)
        expected = work.texts(item.random_predicate for item in found.rows.items)
        assert len(encoder.texts) == inner.n_texts == len(expected) and set(encoder.texts) == expected
        assert encoder.images == inner.n_crops == len({crop for call in inner.crops for crop in call}) == 17

    def test_twice_the_relations_are_encoded_no_oftener(self, tmp_path, fake_encoder):
        """With every predicate a candidate of every pair, one that is drawn at random makes no new text."""
        once = make_annotated(tmp_path / "made", 3, PREDICATES, (len(PREDICATES), len(PREDICATES)))
        calls, results = [], []
        for work in (once, once.twice()):
            encoder = Counting(fake_encoder())
            results.append(run(work, encoder).result())
            calls.append((encoder.images, sorted(encoder.texts)))
        assert calls[0] == calls[1]
        assert [result["n_relations"] for result in results] == [30, 60]
        assert results[0]["theta"] == pytest.approx(results[1]["theta"], abs=1e-12)
