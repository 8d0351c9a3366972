"""How a plan is run: memory that runs out, embeddings on disk, and pictures that break."""

import numpy as np
import pytest
from kit import exit_code, forked

from sgeval.cache import EmbeddingCache
from sgeval.errors import InvalidInput, OutOfMemory, Unfinished
from sgeval.relclip import relclipscore


@pytest.fixture
def case(random_graphs):
    """Rows and pictures that leave some parts out, and a run that can be asked for with any encoder."""
    graphs, pictures = random_graphs(6, 12)

    def run(encoder, images=pictures, **more):
        return relclipscore(graphs, images=images, model=encoder, on_invalid="skip", return_items=True, **more)

    return run


class TestMemory:
    @pytest.fixture
    def narrow(self, fake_encoder):
        """An encoder with room for `room` regions or texts at once."""

        class Narrow(fake_encoder):
            room = 3

            def encode_images(self, crops):
                self.check(crops)
                return super().encode_images(crops)

            def encode_texts(self, texts):
                self.check(texts)
                return super().encode_texts(texts)

            def check(self, work):
                if len(work) > self.room:
                    raise OutOfMemory("no room")

        return Narrow

    def test_fm24_batches_are_halved_until_they_fit(self, case, narrow, fake_encoder):
        """FM24: 16 at once, then 8, 4 and 2, which fits; nothing is encoded twice and no number moves."""
        plenty, encoder = fake_encoder(), narrow()
        with pytest.warns(UserWarning, match="no more than 2 regions or texts are encoded at once"):
            found = case(encoder, batch_size=16)
        assert found == case(plenty, batch_size=16)
        assert max(map(len, encoder.crops)) == max(map(len, encoder.texts)) == 2
        assert encoder.n_crops == plenty.n_crops and encoder.n_texts == plenty.n_texts

    def test_no_room_for_one_is_unfinished(self, case, narrow):
        encoder = narrow()
        encoder.room = 0
        with pytest.warns(UserWarning), pytest.raises(Unfinished, match=r"one region or text at a time \(no room\)"):
            case(encoder)

    def test_room_is_remembered(self, case, narrow):
        """After the first batch no larger one is tried again."""
        tried = []

        class Watched(narrow):
            def check(self, work):
                tried.append(len(work))
                super().check(work)

        with pytest.warns(UserWarning):
            case(Watched(), batch_size=8)
        assert tried.count(8) == 2, "once for texts, once for regions"


class TestCache:
    @pytest.fixture
    def vectors(self, fake_encoder):
        """Float32 features, which is what a cache keeps."""

        class Vectors(fake_encoder):
            weights = "one"

            def signature(self):
                return {**super().signature(), "weights": self.weights}

            def encode_images(self, crops):
                return super().encode_images(crops).astype(np.float32)

            def encode_texts(self, texts):
                return super().encode_texts(texts).astype(np.float32)

        return Vectors

    def test_a_warm_run_encodes_nothing(self, case, vectors, tmp_path):
        first, second = vectors(), vectors()
        cold = case(first, cache=tmp_path / "cache")
        warm = case(second, cache=tmp_path / "cache")
        assert warm == cold == case(vectors())
        assert first.n_crops > 10 and first.n_texts > 10
        assert second.n_crops == second.n_texts == 0

    def test_other_weights_and_other_crops_are_other_entries(self, case, vectors, tmp_path):
        case(vectors(), cache=tmp_path)
        other = vectors()
        other.weights = "two"
        case(other, cache=tmp_path)
        assert other.n_crops > 10 and other.n_texts > 10
        wider = vectors()
        case(wider, cache=tmp_path, context=("px", 3))
        assert wider.n_texts == 0 and wider.n_crops > 10

    def test_two_processes_encode_each_region_and_text_once(self, case, vectors, tmp_path):
        """Two processes score the same pictures at the same time with one cache: together they encode what one would."""
        alone = vectors()
        expected = case(alone, batch_size=4)
        log = tmp_path / "log"

        def work():
            encoder = vectors()
            found = case(encoder, cache=tmp_path / "cache", batch_size=4)
            with log.open("a") as file:
                file.write(f"{encoder.n_crops} {encoder.n_texts}\n")
            assert found["mean_score"] == pytest.approx(expected["mean_score"], abs=1e-9)

        children = [forked(work) for _ in range(2)]
        assert [exit_code(pid) for pid in children] == [0, 0]
        counts = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
        assert tuple(map(sum, zip(*counts, strict=True))) == (alone.n_crops, alone.n_texts)

    def test_pairs_of_a_matching_head_are_not_embeddings(self, case, vectors, tmp_path):
        """Image features of BLIP-2 are a thousand times an embedding and its texts are tokens: neither is kept."""

        class Matching(vectors):
            score_rule = "itm"

        case(Matching(), cache=tmp_path)
        again = Matching()
        case(again, cache=tmp_path)
        assert again.n_crops > 10
        with EmbeddingCache(tmp_path) as cache:
            assert cache.found == 0


class TestBrokenPictures:
    def test_all_are_named_with_their_ids_and_nothing_is_encoded_for_nothing(self, case, fake_encoder, random_graphs):
        """Two broken pictures among nine: both are named. Once one is known, scores would be thrown away."""
        _, pictures = random_graphs(6, 12)
        broken = {**pictures, "img001": truncated(pictures["img001"]), "img007": truncated(pictures["img007"])}
        encoder, whole = fake_encoder(), fake_encoder()
        with pytest.raises(InvalidInput) as fault:
            case(encoder, images=broken, batch_size=2)
        assert [line.split(":")[0] for line in fault.value.faults] == ['image "img001"', 'image "img007"']
        case(whole, batch_size=2)
        assert encoder.n_crops < whole.n_crops / 2


def truncated(picture):
    """A JPEG that has its header and breaks while it is decoded."""
    import io

    file = io.BytesIO()
    picture.save(file, "JPEG", quality=95)
    return file.getvalue()[:-400]
