"""What each option does to the number, to its counts and to its intervals; values worked by hand."""

import itertools

import numpy as np
import pytest
from kit import parts
from scipy import stats

from sgeval.errors import InvalidInput, SgevalError
from sgeval.relclip import relclipscore
from sgeval.summary import bootstrap

ENDS = ("low", "high", "percentile_low", "percentile_high")


def relabelled(graph, number, category):
    """The row with another category for one object."""
    objects = [{**item, "category": category} if item["id"] == number else item for item in graph["objects"]]
    return {**graph, "objects": objects}


class TestTexts:
    TEMPLATE = "a photo of {subject} {predicate} {object}"

    def test_reference_texts_take_the_template(self, steady_encoder, two_objects, picture):
        """Prediction and reference say the same, so r = 1 and eq. 5 is 2·0.24·1 / 1.24.

        Had the reference's text no template, it would be another text than the prediction's: r = 0.5, 0.24 / 0.74.
        """
        encoder = steady_encoder({"a photo of dog on mat": 0.24, "dog on mat": 0.9})
        graphs = [two_objects()]
        result = relclipscore(
            graphs, references=graphs, images=[picture(0)], model=encoder, template=self.TEMPLATE, penalty="none"
        )
        assert result["relclipscore"] == pytest.approx(0.24)
        assert result["ref_relclipscore"] == pytest.approx(0.48 / 1.24)
        assert encoder.texts == [["a photo of dog on mat"]]

    def test_a_different_reference_text_takes_it_too(self, fake_encoder, two_objects, picture):
        encoder = fake_encoder()
        gold = [two_objects(relations=[(0, "by", 1)])]
        relclipscore([two_objects()], references=gold, images=[picture(0)], model=encoder, template=self.TEMPLATE)
        assert sorted(itertools.chain(*encoder.texts)) == ["a photo of dog by mat", "a photo of dog on mat"]

    def test_labels_are_the_predictions_where_both_give_them(self, steady_encoder, two_objects, picture):
        """The prediction calls object 0 a puppy, the reference a dog: "puppy on mat" is scored, 0.3.

        r is that of the reference's own words, "dog on mat": another text, so 0.5 and 2·0.3·0.5 / 0.8 = 0.375. Without
        predicted objects the reference's word is scored, 0.9, and r = 1: 1.8 / 1.9.
        """
        encoder = steady_encoder({"puppy on mat": 0.3, "dog on mat": 0.9})
        for objects, text, score, ref_score in (
            (relabelled(two_objects(), 0, "puppy")["objects"], "puppy on mat", 0.3, 0.375),
            ([], "dog on mat", 0.9, 1.8 / 1.9),
        ):
            result = relclipscore(
                [{**two_objects(), "objects": objects}],
                references=[two_objects()],
                images=[picture(0)],
                model=encoder,
                penalty="none",
                return_items=True,
            )
            (item,) = result["items"]
            assert (item["subject"], item["object"], item["text"]) == (text.split()[0], "mat", text)
            assert result["relclipscore"] == pytest.approx(score)
            assert result["ref_relclipscore"] == pytest.approx(ref_score)

    @pytest.mark.parametrize(
        ("template", "expected"),
        [(None, "an own {subject} {predicate} {object}"), (TEMPLATE, TEMPLATE)],
        ids=["the encoder's", "given"],
    )
    def test_without_a_template_the_encoders_own_counts(self, fake_encoder, two_objects, picture, template, expected):
        encoder = fake_encoder()
        encoder.template = "an own {subject} {predicate} {object}"
        result = relclipscore([two_objects()], images=[picture(0)], model=encoder, template=template)
        assert encoder.texts == [[expected.format(subject="dog", predicate="on", object="mat")]]
        assert parts(result)["template"] == expected


class TestRepeats:
    @pytest.mark.parametrize(("normalisation", "k", "mean"), [("words", 1, 0.8), ("none", 2, 0.5)])
    def test_spellings_are_triplets_of_their_own_without_normalisation(
        self, steady_encoder, two_objects, picture, normalisation, k, mean
    ):
        """On 0.8 and on 0.2: one triplet under `words`, with the first spelling; else two, (0.8 + 0.2) / 2 = 0.5."""
        encoder = steady_encoder({"dog On mat": 0.8, "dog on mat": 0.2})
        graph = two_objects(relations=[(0, "On", 1), (0, "on", 1)])
        result = relclipscore([graph], images=[picture(0)], model=encoder, normalisation=normalisation)
        assert result["mean_score"] == pytest.approx(mean)
        assert (result["n_relations"], result["n_duplicates"]) == (k, 2 - k)

    @pytest.mark.parametrize("order", list(itertools.permutations(["in-front-of", "In front of", "in front of"])))
    def test_the_first_spelling_is_scored_whatever_the_order(self, steady_encoder, two_objects, picture, order):
        """Capitals come first in the alphabet of code points, then the blank, then the hyphen: "In front of", 0.7."""
        encoder = steady_encoder({"dog In front of mat": 0.7, "dog in front of mat": 0.2, "dog in-front-of mat": 0.1})
        graph = two_objects(relations=[(0, word, 1) for word in order])
        result = relclipscore([graph], images=[picture(0)], model=encoder, return_items=True)
        assert result["mean_score"] == pytest.approx(0.7)
        assert [item["predicate"] for item in result["items"] if item["status"] == "scored"] == ["In front of"]
        assert result["n_duplicates"] == 2 and encoder.texts == [["dog In front of mat"]]

    @pytest.mark.parametrize("order", [("On", "on"), ("on", "On"), ("On", "on", "On"), ("on", "on", "On")], ids=str)
    def test_two_spellings_any_order(self, steady_encoder, two_objects, picture, order):
        encoder = steady_encoder({"dog On mat": 0.8, "dog on mat": 0.2})
        graph = two_objects(relations=[(0, word, 1) for word in order])
        result = relclipscore([graph], images=[picture(0)], model=encoder, return_items=True)
        scored = [item for item in result["items"] if item["status"] == "scored"]
        assert [(item["predicate"], item["score"]) for item in scored] == [("On", pytest.approx(0.8))]
        assert scored[0]["index"] == order.index("On"), "of equal spellings the first in the file"


class TestCounts:
    def test_faults_of_references_count(self, fake_encoder, two_objects, picture):
        """Left out: relation 1 of reference a (object 7 is not there), and reference b whole (no width is −1): 2.

        Prediction b has no reference any more and is passed over. Nothing of the predictions was left out.
        """
        gold = [two_objects("a", [(0, "on", 1), (0, "by", 7)]), two_objects("b", width=-1)]
        mine = [two_objects("a"), two_objects("b")]
        result = relclipscore(
            mine, references=gold, images=[picture(0), picture(1)], model=fake_encoder(), on_invalid="skip"
        )
        assert (result["n_invalid"], result["n_invalid_relations"], result["n_images"]) == (2, 0, 1)

    def test_faults_of_both_sides_add_up(self, fake_encoder, two_objects, picture):
        """One relation of the prediction, two of the reference."""
        gold = [two_objects("a", [(0, "on", 1), (0, "by", 7), (8, "by", 1)])]
        mine = [two_objects("a", [(0, "on", 1), (9, "on", 1)])]
        result = relclipscore(mine, references=gold, images=[picture(0)], model=fake_encoder(), on_invalid="skip")
        assert (result["n_invalid"], result["n_invalid_relations"], result["n_predicted"]) == (3, 1, 2)

    def test_a_missing_prediction_counts_0_where_empty_ones_are_left_out(self, steady_encoder, two_objects, picture):
        """a 0.4, b predicts nothing (left out), c has no prediction (0): (0.4 + 0) / 2 = 0.2."""
        result = relclipscore(
            [two_objects("a"), two_objects("b", [])],
            references=[two_objects(name) for name in "abc"],
            images={"a": picture(0), "b": picture(1)},
            model=steady_encoder({"dog on mat": 0.4}),
            empty="skip",
            missing="zero",
            penalty="none",
        )
        assert result["relclipscore"] == pytest.approx(0.2) and result["mean_score"] == pytest.approx(0.2)
        assert (result["n_missing"], result["n_scored_images"], result["n_undefined"]) == (1, 2, 1)

    def test_an_undefined_picture_is_not_an_empty_one(self, steady_encoder, two_objects, picture):
        """a 0.4; b predicts one relation without a finite score: undefined; c predicts nothing: 0. (0.4 + 0) / 2."""
        encoder = steady_encoder({"dog on mat": 0.4, "dog by mat": float("nan")})
        graphs = [two_objects("a"), two_objects("b", [(0, "by", 1)]), two_objects("c", [])]
        result = relclipscore(graphs, images=[picture(n) for n in range(3)], model=encoder, penalty="none")
        assert result["mean_score"] == pytest.approx(0.2)
        assert (result["n_empty"], result["n_undefined"], result["n_undefined_relations"]) == (1, 1, 1)

    @pytest.mark.parametrize("penalty", ["guarded", "bounded"])
    def test_an_empty_picture_is_not_a_guarded_one(self, fake_encoder, two_objects, picture, penalty):
        """m = 2, p = 1. One relation: p − k = 0, guarded. None: p − k = 1 too, but 0 needs no guard."""
        graphs = [two_objects("a"), two_objects("b", [])]
        result = relclipscore(graphs, images=[picture(0), picture(1)], model=fake_encoder(), penalty=penalty)
        assert (result["n_guarded"], result["n_empty"]) == (1, 1)


class TestAtTheBorder:
    """`on_invalid="skip"` with references: who stands without a partner, and what `limit` counts."""

    @pytest.fixture
    def run(self, steady_encoder, two_objects, picture):
        """Scores 0.2, 0.4, 0.6 for a, b, c; records named in `broken` have a width of −1."""
        words = dict(zip("abc", ("on", "by", "at")))
        encoder = steady_encoder({"dog on mat": 0.2, "dog by mat": 0.4, "dog at mat": 0.6})

        def side(broken):
            return [
                two_objects(name, [(0, words[name], 1)], **({"width": -1} if name in broken else {})) for name in "abc"
            ]

        def go(broken="", broken_references="", **more):
            return relclipscore(
                side(broken),
                references=side(broken_references),
                images={name: picture(number) for number, name in enumerate("abc")},
                model=encoder,
                penalty="none",
                on_invalid="skip",
                return_items=True,
                **more,
            )

        return go

    def test_limit_counts_references_before_skipped_predictions_go(self, run):
        """The first two references are a and b; a's prediction was left out, so b alone is scored: 0.4."""
        result = run(broken="a", limit=2)
        assert [row["image_id"] for row in result["images"]] == ["b"]
        assert result["relclipscore"] == pytest.approx(0.4)

    def test_limit_with_missing_zero(self, run):
        """a is kept without a prediction: (0 + 0.4) / 2 = 0.2."""
        result = run(broken="a", limit=2, missing="zero")
        assert [(row["image_id"], row["status"]) for row in result["images"]] == [("a", "missing"), ("b", "ok")]
        assert result["relclipscore"] == pytest.approx(0.2)

    @pytest.mark.parametrize("missing", ["error", "zero"])
    def test_a_prediction_whose_reference_was_skipped_is_passed_over(self, run, missing):
        """b's reference was left out, b's prediction goes with it: (0.2 + 0.6) / 2 = 0.4, one part left out."""
        result = run(broken_references="b", missing=missing)
        assert [row["image_id"] for row in result["images"]] == ["a", "c"]
        assert result["relclipscore"] == pytest.approx(0.4)
        assert (result["n_invalid"], result["n_missing"]) == (1, 0)

    def test_a_stranger_among_the_predictions_stays_a_fault(self, two_objects, picture, fake_encoder):
        """Skipping is for what was left out at the border, not for ids that the references never had."""
        with pytest.raises(
            InvalidInput, match=r"predictions\[1\].image_id: expected an id of the references, got \"x\""
        ):
            relclipscore(
                [two_objects("a"), two_objects("x")],
                references=[two_objects("a")],
                images=[picture(0), picture(1)],
                model=fake_encoder(),
                on_invalid="skip",
            )

    @pytest.mark.parametrize("references", ["right", "also corners"])
    @pytest.mark.parametrize("matching", ["given", "pair_iou"])
    def test_corner_boxes_beside_references(self, two_objects, picture, fake_encoder, references, matching):
        """30, 20, 50, 40 as x, y, width, height ends at x = 80, outside the 64 x 48 picture; as corners it fits.

        The boxes differ from the reference's only because they are corners, so no word of another matching.
        """
        gold, mine = two_objects(), two_objects()
        for number, (x, y, width, height) in enumerate([(30, 20, 20, 20), (36, 22, 20, 20)]):
            gold["objects"][number]["bbox"] = [x, y, width, height]
            mine["objects"][number]["bbox"] = [x, y, x + width, y + height]
        with pytest.raises(InvalidInput) as caught:
            relclipscore(
                [mine],
                references=[gold if references == "right" else mine],
                images=[picture(0)],
                model=fake_encoder(),
                matching=matching,
            )
        assert "predictions[…].objects[…].bbox: expected boxes as [x, y, width, height], got 2 of 2" in str(
            caught.value
        )
        assert "fit as corners [x1, y1, x2, y2]" in str(caught.value)
        assert "matching" not in str(caught.value)

    def test_corner_boxes_of_the_references(self, two_objects, picture, fake_encoder):
        gold = two_objects()
        gold["objects"][0]["bbox"], gold["objects"][1]["bbox"] = [30, 20, 50, 40], [36, 22, 56, 42]
        mine = {**two_objects(), "objects": []}
        with pytest.raises(
            InvalidInput, match=r"^references: .*\n  references\[…\].objects\[…\].bbox: .* 2 of 2 boxes"
        ):
            relclipscore([mine], references=[gold], images=[picture(0)], model=fake_encoder())


class TestIntervals:
    def test_of_images_and_of_relations(self, steady_encoder, two_objects, picture):
        """Four pictures A 0.9, B 0.1, C 0.4, D 0.6 with k = 1, 3, 2, 1 relations; 4^4 = 256 equally likely resamples.

        Mean over images (sums of four over 4), from below: BBBB 1 way 0.1, BBBC 4 ways 0.175, BBBD 4 ways 0.225: up to
        5/256 = 2.0 % and 9/256 = 3.5 %, so the 2.5 % end is 0.9/4 = 0.225. From above: AAAA 1 way, AAAD 4 ways, AAAC 4
        ways: the 97.5 % end is AAAC, 3.1/4 = 0.775.

        Pooled over relations (sums A 0.9, B 0.3, C 0.8, D 0.6 over k): BBBB 1 way 1.2/12, BBBD 4 ways 1.5/10 = 0.15,
        BBBC 4 ways 1.7/11 = 0.1545, BBBA 4 ways 1.8/10: the 2.5 % end is 1.7/11. From above: AAAA 1 way 0.9, AAAD 4
        ways 3.3/4, AADD 6 ways 3/4, AAAC 4 ways 3.5/5 = 0.7: 5/256 = 2.0 % and 11/256 = 4.3 %, so it is 0.75.
        20,000 draws know those shares within 0.1 % (one standard deviation).
        """
        values = {"A": (0.9, 1), "B": (0.1, 3), "C": (0.4, 2), "D": (0.6, 1)}
        texts = {f"dog {name}{number} mat": value for name, (value, k) in values.items() for number in range(k)}
        graphs = [two_objects(name, [(0, f"{name}{n}", 1) for n in range(k)]) for name, (_, k) in values.items()]
        result = relclipscore(
            graphs,
            images=[picture(number) for number in range(4)],
            model=steady_encoder(texts),
            penalty="none",
            bootstrap=20_000,
        )
        assert result["mean_score"] == pytest.approx(2.0 / 4) and result["mean_score_relations"] == pytest.approx(
            2.6 / 7
        )

        def ends(name):
            return result[f"{name}_percentile_low"], result[f"{name}_percentile_high"]

        assert ends("mean_score") == ends("relclipscore") == pytest.approx((0.225, 0.775))
        assert ends("mean_score_relations") == pytest.approx((1.7 / 11, 0.75))

    def test_bca_takes_the_bias_into_account(self):
        """(1/12)^4 … (12/12)^4, against scipy's own bootstrap. Without the bias correction the ends would lie 0.006 and
        0.013 lower; between two runs of 50,000 replicates both ends differ by about 0.0015 (one standard deviation)."""
        sample = (np.arange(1, 13) / 12) ** 4
        ours = bootstrap({"x": (sample, np.ones(12))}, 50_000)["x"]
        theirs = stats.bootstrap((sample,), np.mean, n_resamples=50_000, method="BCa", rng=np.random.default_rng(1))
        assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.006)

    def test_bca_of_a_pooled_mean(self):
        """A ratio of sums with unequal denominators: scipy resamples numerators and denominators as pairs."""
        rng = np.random.default_rng(2)
        den = rng.integers(1, 12, size=25).astype(float)
        num = den * rng.beta(0.5, 2.0, size=25)
        ours = bootstrap({"x": (num, den)}, 20_000)["x"]
        theirs = stats.bootstrap(
            (num, den),
            lambda n, d, axis: n.sum(axis) / d.sum(axis),
            paired=True,
            n_resamples=20_000,
            method="BCa",
            rng=np.random.default_rng(1),
        )
        assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval), abs=0.005)

    @pytest.mark.parametrize("count", [1, 3])
    def test_nothing_to_tell_from(self, steady_encoder, two_objects, picture, count):
        """One picture, or three of 0.4: no interval, rather than one without width."""
        graphs = [two_objects(name) for name in "abc"[:count]]
        pictures = [picture(number) for number in range(count)]
        encoder = steady_encoder({"dog on mat": 0.4})
        result = relclipscore(graphs, images=pictures, model=encoder, bootstrap=50)
        assert result["mean_score"] == pytest.approx(0.4)
        for name in ("relclipscore", "mean_score", "mean_score_relations"):
            assert [result[f"{name}_{end}"] for end in ENDS] == [None] * 4, name

    def test_ten_equal_pictures(self, steady_encoder, two_objects, picture):
        """0.1 has no exact binary form, so sums of ten differ by rounding: that is no spread either."""
        graphs, encoder = [two_objects(str(number)) for number in range(10)], steady_encoder({"dog on mat": 0.1})
        result = relclipscore(graphs, images=[picture(n) for n in range(10)], model=encoder, bootstrap=200)
        assert [result[f"mean_score_{end}"] for end in ENDS] == [None] * 4

    def test_one_defined_picture_of_five(self, steady_encoder, two_objects, picture):
        """b to e have one object and no value; replicates of a alone tell nothing, though 3·0.1 / 3 rounds off 0.1."""
        lonely = [{**two_objects(name, []), "objects": two_objects()["objects"][:1]} for name in "bcde"]
        pictures = [picture(number) for number in range(5)]
        encoder = steady_encoder({"dog on mat": 0.1})
        result = relclipscore([two_objects("a"), *lonely], images=pictures, model=encoder, bootstrap=200)
        assert result["n_undefined"] == 4 and [result[f"mean_score_{end}"] for end in ENDS] == [None] * 4

    @pytest.mark.parametrize("replicates", [1, 19])
    def test_too_few_replicates_are_refused(self, replicates, two_objects, picture, fake_encoder):
        """The outermost 2.5 % of fewer than 20 draws is less than half a draw."""
        with pytest.raises(SgevalError, match=rf"^bootstrap: expected 0 \(none\) or at least 20, got {replicates}$"):
            relclipscore([two_objects()], images=[picture(0)], model=fake_encoder(), bootstrap=replicates)
