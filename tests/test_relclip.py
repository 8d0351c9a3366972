"""RelCLIPScore as a whole: against the slow reference, and field cases worked by hand."""

import json

import numpy as np
import pytest

from sgeval.errors import InvalidInput, SgevalError
from sgeval.relclip import relclipscore

TOLERANCE = 1e-12


def assert_same(result, expected):
    for name, value in expected.items():
        if isinstance(value, float):
            assert result[name] == pytest.approx(value, abs=TOLERANCE, rel=TOLERANCE), name
        else:
            assert result[name] == value, name


def reference_of(graph, rng):
    """A reference that shares the objects of a prediction and some of its relations, reworded at times."""
    kept = [one for one in graph["relations"] if rng.uniform() < 0.7]
    words = [one["predicate"] if rng.uniform() < 0.5 else "beside" for one in kept]
    return {**graph, "relations": [{**one, "predicate": word} for one, word in zip(kept, words)]}


def jittered(graph, rng, by=2.0):
    """The same boxes, each moved a little: what a detector makes of them."""
    moved = [
        {**one, "bbox": [*(v + rng.uniform(-by, by) for v in one["bbox"][:2]), *one["bbox"][2:]]}
        for one in graph["objects"]
    ]
    return {**graph, "objects": moved}


class TestAgainstTheSlowReference:
    """Random graphs with doubles, self relations, boxes over the edge and empty pictures; equal within 1e-12."""

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("penalty", ["guarded", "bounded", "literal", "none"])
    @pytest.mark.filterwarnings("ignore:penalty=")
    def test_without_references(self, reference, fake_encoder, random_graphs, penalty, seed):
        graphs, pictures = random_graphs(seed, 12)
        expected = reference.reference_score(graphs, pictures, fake_encoder(), penalty=penalty)
        result = relclipscore(graphs, images=pictures, model=fake_encoder(), penalty=penalty, on_invalid="skip")
        assert_same(result, expected)
        assert expected["n_duplicates"] and expected["n_self"] and expected["n_clipped_boxes"], "too tame a sample"

    @pytest.mark.parametrize("context", ["none", "openvocsgg", ("px", 5.0), ("ratio", 0.1)])
    @pytest.mark.parametrize("fit", ["model", "pad", "squash"])
    def test_every_crop(self, reference, fake_encoder, random_graphs, context, fit):
        graphs, pictures = random_graphs(7, 10)
        expected = reference.reference_score(graphs, pictures, fake_encoder(), context=context, fit=fit)
        result = relclipscore(
            graphs, images=pictures, model=fake_encoder(), context=context, fit=fit, on_invalid="skip"
        )
        assert_same(result, expected)

    @pytest.mark.parametrize("objects", ["absent", "given"])
    @pytest.mark.parametrize("ref_formula", ["harmonic", "openvocsgg"])
    def test_given_objects(self, reference, fake_encoder, random_graphs, objects, ref_formula):
        graphs, pictures = random_graphs(11, 12)
        rng = np.random.default_rng(0)
        gold = [reference_of(graph, rng) for graph in graphs]
        if objects == "absent":
            graphs = [{**graph, "objects": []} for graph in graphs]
        expected = reference.reference_score(graphs, pictures, fake_encoder(), gold, ref_formula=ref_formula)
        result = relclipscore(
            graphs, images=pictures, references=gold, model=fake_encoder(), ref_formula=ref_formula, on_invalid="skip"
        )
        assert_same(result, expected)
        assert expected["n_ref"] > 10

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("matching", ["pair_iou", "union_iou"])
    def test_detected_objects(self, reference, fake_encoder, random_graphs, matching, seed):
        gold, pictures = random_graphs(20 + seed, 12)
        rng = np.random.default_rng(seed)
        by = 5.0 if matching == "pair_iou" else 14.0  # a union of two boxes forgives more
        graphs = [jittered(reference_of(graph, rng), rng, by) for graph in gold]
        expected = reference.reference_score(graphs, pictures, fake_encoder(), gold, matching=matching)
        result = relclipscore(
            graphs, images=pictures, references=gold, model=fake_encoder(), matching=matching, on_invalid="skip"
        )
        assert_same(result, expected)
        assert expected["n_unmatched"] and expected["n_ref"]

    def test_empty_skip(self, reference, fake_encoder, random_graphs):
        graphs, pictures = random_graphs(3, 12, max_relations=2)
        expected = reference.reference_score(graphs, pictures, fake_encoder(), empty="skip")
        assert_same(
            relclipscore(graphs, images=pictures, model=fake_encoder(), empty="skip", on_invalid="skip"), expected
        )
        assert expected["n_empty"]


class TestWorkedByHand:
    """`SteadyEncoder` gives each text a cosine, so every value below follows from eq. 1–6 on paper."""

    def test_equations_1_to_3(self, steady_encoder, two_objects, picture):
        """a: 0.3 and −0.2 (clamped to 0), mean 0.15; m = 2, p = 1, k = 2: q = 2. b: 0.3, k = 1: q = 2."""
        encoder = steady_encoder({"dog on mat": 0.3, "dog eats mat": -0.2})
        graphs = [two_objects("a", [(0, "on", 1), (0, "eats", 1)]), two_objects("b")]
        result = relclipscore(graphs, images=[picture(0), picture(1)], model=encoder)
        assert result["mean_score"] == pytest.approx((0.15 + 0.3) / 2)
        assert result["mean_score_relations"] == pytest.approx(0.6 / 3)  # (0.3 + 0 + 0.3) / 3
        assert result["relclipscore"] == pytest.approx((0.15 + 0.3) / 2 / (0.6931471805599453 + 1e-5))  # ln 2
        assert (result["n_guarded"], result["n_relations"], result["pair_coverage"]) == (2, 3, 1.0)

    def test_fc73_mean_over_images_or_over_relations(self, steady_encoder, two_objects, picture):
        """FC73: image A 1 of 1, image B 0 of 9: 0.5 over images, 0.1 over relations; both have a name."""
        words = [f"w{number}" for number in range(9)]
        encoder = steady_encoder({"dog on mat": 1.0, **{f"dog {word} mat": 0.0 for word in words}})
        graphs = [two_objects("a"), two_objects("b", [(0, word, 1) for word in words])]
        result = relclipscore(graphs, images=[picture(0), picture(1)], model=encoder)
        assert result["mean_score"] == 0.5
        assert result["mean_score_relations"] == pytest.approx(0.1)

    def test_fc14_the_headline_stays_finite(self, steady_encoder, picture):
        """FC14: mean 0.24, m = 4 (p = 6), k = 5 and 6 and 7: the value at 2, counted; the mean is there."""
        texts = {f"thing w{number} thing": 0.24 for number in range(7)}
        for k, guarded in ((1, 0), (4, 0), (5, 1), (6, 1), (7, 1)):
            graph = {
                "image_id": "a",
                "objects": [{"id": i, "category": "thing", "bbox": [10 * i, 0, 9, 9]} for i in range(4)],
                "relations": [{"subject_id": i % 4, "object_id": (i + 1) % 4, "predicate": f"w{i}"} for i in range(k)],
            }
            result = relclipscore([graph], images=[picture(0)], model=steady_encoder(texts))
            # ln 5 = 1.6094379124341003, ln 2 = 0.6931471805599453
            log = 1.6094379124341003 if k == 1 else 0.6931471805599453
            assert result["relclipscore"] == pytest.approx(0.24 / (log + 1e-5), rel=1e-12)
            assert result["mean_score"] == pytest.approx(0.24)
            assert result["n_guarded"] == guarded

    def test_fc14_literal_warns_and_leaves_out(self, steady_encoder, picture, two_objects):
        """Three boxes, p = 3: k = 2 is 1e5 times the mean, with a warning; k = 3 is undefined and left out."""
        encoder = steady_encoder({f"dog w{number} mat": 0.24 for number in range(3)})
        third = {"id": 2, "category": "cup", "bbox": [40, 30, 5, 5]}
        graphs = [two_objects(name, [(0, f"w{number}", 1) for number in range(k)]) for name, k in (("a", 2), ("b", 3))]
        for graph in graphs:
            graph["objects"].append(third)
        with pytest.warns(UserWarning, match="1 of 2 images have p − k = 1"):
            result = relclipscore(graphs, images=[picture(0), picture(1)], model=encoder, penalty="literal")
        assert result["relclipscore"] == pytest.approx(0.24 / 1e-5)
        assert (result["n_undefined"], result["n_scored_images"], result["n_guarded"]) == (1, 1, 0)

    def test_fc15_reference_score(self, steady_encoder, two_objects, picture):
        """FC15: s = 0.24 with r = 1, 0.5, 0: 2·0.24·1/1.24, 2·0.24·0.5/0.74, 0."""
        for gold, alike, expected in (("on", 0.5, 0.48 / 1.24), ("by", 0.5, 0.24 / 0.74), ("by", 0.0, 0.0)):
            encoder = steady_encoder({"dog on mat": 0.24, "dog by mat": 0.9}, alike=alike)
            result = relclipscore(
                [two_objects()], references=[two_objects(relations=[(0, gold, 1)])], images=[picture(0)], model=encoder
            )
            assert result["ref_relclipscore"] == pytest.approx(expected), (gold, alike)
            assert result["n_ref"] == 1

    def test_fc15_best_of_several_references_and_none_on_the_other_direction(
        self, steady_encoder, two_objects, picture
    ):
        """r is the best of the pair's references (here the equal text, r = 1); the reversed pair has none."""
        texts = {"dog on mat": 0.24, "dog by mat": 0.9, "mat under dog": 0.3}
        result = relclipscore(
            [two_objects(relations=[(0, "on", 1), (1, "under", 0)])],
            references=[two_objects(relations=[(0, "by", 1), (0, "on", 1)])],
            images=[picture(0)],
            model=steady_encoder(texts),
        )
        assert result["ref_relclipscore"] == pytest.approx(0.48 / 1.24)
        assert (result["n_ref"], result["n_relations"], result["exact_match"]) == (1, 2, 1.0)

    def test_fc15_script_formula_only_by_name(self, steady_encoder, two_objects, picture):
        """`openvocsgg`: the harmonic mean of cos(crop, reference text) = 0.9 and 100·0.5 = 50: 2·0.9·50/50.9."""
        encoder = steady_encoder({"dog on mat": 0.24, "dog by mat": 0.9})
        gold = [two_objects(relations=[(0, "by", 1)])]
        result = relclipscore(
            [two_objects()], references=gold, images=[picture(0)], model=encoder, ref_formula="openvocsgg"
        )
        assert result["ref_relclipscore"] == pytest.approx(90 / 50.9)
        assert "refs:openvocsgg" in result["signature"]

    def test_fc16_neighbours_do_not_move_a_score(self, fake_encoder, two_objects, picture):
        """FC16: the score of a triplet is the same alone, beside another and beside three."""

        def value(*predicates):
            graph = two_objects(relations=[(0, word, 1) for word in predicates])
            return relclipscore([graph], images=[picture(0)], model=fake_encoder(), return_items=True)["items"][0][
                "score"
            ]

        assert 0 < value("on") == value("on", "near") == value("on", "near", "under", "beside")

    def test_fc72_doubles_merge_and_several_predicates_stay(self, steady_encoder, two_objects, picture):
        """FC72: on three times and riding once: k = 2, two doubles; mean (0.2 + 0.4) / 2, whatever the order."""
        encoder = steady_encoder({"dog on mat": 0.2, "dog riding mat": 0.4})
        orders = (["on", "on", "on", "riding"], ["riding", "on", "on", "on"], ["on", "riding", "on", "on"])
        for order in orders:
            graph = two_objects(relations=[(0, word, 1) for word in order])
            result = relclipscore([graph], images=[picture(0)], model=encoder)
            assert result["mean_score"] == pytest.approx(0.3)
            assert (result["n_relations"], result["n_duplicates"], result["n_predicted"]) == (2, 2, 4)
            assert "dedup:merge" in result["signature"]

    def test_fc72_relatives(self, steady_encoder, two_objects, picture):
        """Spelling variants merge; the other direction does not; equal triplets of two pictures do not."""
        texts = {"dog on mat": 0.2, "dog in front of mat": 0.2, "dog in-front-of mat": 0.2, "mat on dog": 0.2}
        result = relclipscore(
            [
                two_objects("a", [(0, "in_front_of", 1), (0, "in-front-of ", 1), (0, "on", 1), (1, "on", 0)]),
                two_objects("b", [(0, "on", 1)]),
            ],
            images=[picture(0), picture(1)],
            model=steady_encoder(texts),
        )
        assert (result["n_relations"], result["n_duplicates"]) == (4, 1)
        assert result["pair_coverage"] == 1.0  # both directions are one unordered pair

    def test_fc75_self_relation_is_counted_not_scored(self, steady_encoder, two_objects, picture):
        encoder = steady_encoder({"dog on mat": 0.2})
        graph = two_objects(relations=[(0, "on", 1), (1, "near", 1), (0, "near", 0)])
        result = relclipscore([graph], images=[picture(0)], model=encoder)
        assert (result["n_self"], result["n_relations"], result["n_predicted"]) == (2, 1, 3)
        assert encoder.texts == [["dog on mat"]], "a self relation must not reach the model"

    def test_objects_without_a_box_do_not_count_in_m(self, steady_encoder, two_objects, picture):
        """Two of three objects have a box: m = 2, p = 1. A relation with the third has nowhere to stand: counted."""
        graph = two_objects(relations=[(0, "on", 1), (0, "on", 2)])
        graph["objects"].append({"id": 2, "category": "sky"})
        given = {"images": [picture(0)], "model": steady_encoder({"dog on mat": 0.2})}
        result = relclipscore([graph], on_invalid="skip", return_items=True, **given)
        assert (result["pair_coverage"], result["images"][0]["m"], result["n_invalid"]) == (1.0, 2, 1)
        with pytest.raises(
            InvalidInput, match=r"relations\[1\].object_id: expected an object with a box, got 2 without"
        ):
            relclipscore([graph], **given)

    def test_fc01_box_far_outside(self, fake_encoder, two_objects, picture):
        """FC01: y = −904: refused by name; with skip counted, the other relations' scores stay."""
        graph = two_objects(relations=[(0, "on", 1), (0, "by", 2)])
        graph["objects"].append({"id": 2, "category": "cup", "bbox": [179, -904, 55, 25]})
        with pytest.raises(
            InvalidInput, match=r'image "a": relations\[1\].object_id: .* touches the picture, got object 2'
        ):
            relclipscore([graph], images=[picture(0)], model=fake_encoder())
        result = relclipscore([graph], images=[picture(0)], model=fake_encoder(), on_invalid="skip", penalty="none")
        alone = relclipscore([two_objects()], images=[picture(0)], model=fake_encoder(), penalty="none")
        assert (result["n_invalid"], result["n_relations"], result["n_clipped_boxes"]) == (1, 1, 0)
        assert result["relclipscore"] == alone["relclipscore"] > 0


class TestUndefinedAndEmpty:
    def test_fc25_zero_and_overflowing_features(self, fake_encoder, two_objects, picture):
        """FC25: a zero text, a NaN text and an infinite one: no score, counted, the mean is that of the fourth."""
        special = {"dog zero mat": [0.0] * 8, "dog nan mat": [np.nan] * 8, "dog inf mat": [np.inf] * 8}
        graph = two_objects(relations=[(0, word, 1) for word in ("zero", "on", "nan", "inf")])
        result = relclipscore([graph], images=[picture(0)], model=fake_encoder(special), penalty="none")
        alone = relclipscore([two_objects()], images=[picture(0)], model=fake_encoder(), penalty="none")
        assert (result["n_undefined_relations"], result["n_relations"], result["n_predicted"]) == (3, 1, 4)
        assert result["mean_score"] == alone["mean_score"] > 0

    def test_fc25_whole_run_undefined_is_none(self, fake_encoder, two_objects, picture):
        encoder = fake_encoder({"dog on mat": [np.nan] * 8})
        result = relclipscore([two_objects()], images=[picture(0)], model=encoder, bootstrap=20)
        assert result["relclipscore"] is None and result["mean_score"] is None and result["mean_score_low"] is None
        assert result["n_undefined"] == 1
        json.dumps(result, allow_nan=False)

    def test_fc25_undefined_reference_text(self, fake_encoder, two_objects, picture):
        encoder = fake_encoder({"dog by mat": [np.nan] * 8})
        gold = [two_objects(relations=[(0, "by", 1)])]
        result = relclipscore([two_objects()], references=gold, images=[picture(0)], model=encoder, return_items=True)
        assert result["items"][0]["ref_score"] is None
        json.dumps(result, allow_nan=False)

    def test_fc25_one_of_two_reference_texts_is_undefined(self, fake_encoder, two_objects, picture):
        """r is the best of the defined references: the equal text, r = 1."""
        encoder = fake_encoder({"dog by mat": [np.nan] * 8})
        gold = [two_objects(relations=[(0, "by", 1), (0, "on", 1)])]
        result = relclipscore([two_objects()], references=gold, images=[picture(0)], model=encoder)
        s = result["mean_score"]
        assert s > 0
        assert result["ref_relclipscore"] == pytest.approx(2 * s / (1 + s))

    def test_fc74_nothing_at_all_is_an_error(self, fake_encoder):
        for references in (None, []):
            with pytest.raises(SgevalError, match="at least one image, got none"):
                relclipscore([], images={}, references=references, model=fake_encoder())

    def test_fc74_no_relation(self, fake_encoder, two_objects, picture):
        """m ≥ 2 and nothing predicted: 0, counted. m < 2: undefined, counted, left out. `empty="skip"`: left out."""
        lonely = {"image_id": "c", "objects": two_objects()["objects"][:1], "relations": []}
        graphs = [two_objects("a"), two_objects("b", []), lonely, {"image_id": "d"}]
        pictures = [picture(number) for number in range(4)]
        kept = relclipscore(graphs, images=pictures, model=fake_encoder(), penalty="none")
        alone = relclipscore(graphs[:1], images=pictures[:1], model=fake_encoder(), penalty="none")["mean_score"]
        assert kept["mean_score"] == pytest.approx(alone / 2)
        assert (kept["n_images"], kept["n_scored_images"], kept["n_empty"], kept["n_undefined"]) == (4, 2, 1, 2)
        skipped = relclipscore(graphs, images=pictures, model=fake_encoder(), penalty="none", empty="skip")
        assert skipped["mean_score"] == alone
        assert (skipped["n_scored_images"], skipped["n_empty"], skipped["n_undefined"]) == (1, 1, 3)

    def test_fc74_no_gold_relation(self, fake_encoder, two_objects, picture):
        """References without relations: no reference score (None), counted as 0 pairs; the free score is there."""
        gold = [two_objects(relations=[])]
        result = relclipscore([two_objects()], references=gold, images=[picture(0)], model=fake_encoder())
        assert result["ref_relclipscore"] is None and result["exact_match"] is None and result["n_ref"] == 0
        assert result["n_relations"] == 1 and result["mean_score"] is not None

    def test_missing_zero(self, steady_encoder, two_objects, picture):
        """Of two references one has no prediction: 0 for it: (0.4 + 0) / 2; its picture is not needed."""
        result = relclipscore(
            [two_objects("a")],
            references=[two_objects("b"), two_objects("a")],
            images={"a": picture(0)},
            model=steady_encoder({"dog on mat": 0.4}),
            missing="zero",
            penalty="none",
        )
        assert result["relclipscore"] == pytest.approx(0.2)
        assert (result["n_missing"], result["n_images"], result["n_empty"]) == (1, 2, 1)


class TestOptions:
    """Unknown names are errors that list the known ones; nothing wrong ends in a traceback."""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"scale": 100},
                r"option: expected one of matching, penalty, .*, got \"scale\"",
            ),  # FC24: there is no scale
            ({"penalti": "none"}, r"got \"penalti\"; did you mean \"penalty\"\?"),
            (
                {"penalty": "garded"},
                r"penalty: expected one of guarded, bounded, literal, none, .* did you mean \"guarded\"",
            ),
            ({"matching": None}, "matching: expected one of given, pair_iou, union_iou, got null"),
            ({"config": "clap"}, "config: expected one of clip, negclip, siglip, blip2"),
            ({"config": "siglip"}, r"config \"siglip\": expected a model that gives relsiglipscore, got \"fake\""),
            ({"batch_size": 0}, "batch_size: expected a whole number from 1 to 65536, got 0"),
            ({"batch_size": True}, "batch_size: expected a whole number from 1 to 65536, got true"),
            ({"bootstrap": -1}, "bootstrap: expected a whole number from 0"),
            ({"seed": 0.5}, "seed: expected a whole number from 0"),
            ({"missing": "zero"}, "missing: .zero. needs references"),
            ({"template": "{subject}"}, "template: expected the slots"),
        ],
    )
    def test_refused(self, options, message, two_objects, picture, fake_encoder):
        with pytest.raises(SgevalError, match=message):
            relclipscore([two_objects()], images=[picture(0)], model=fake_encoder(), **options)

    @pytest.mark.parametrize("predictions", ["text", {"image_id": "a"}, b"bytes", [None], [[]]], ids=str)
    def test_other_predictions(self, predictions, fake_encoder):
        expected = "expected (an object with image_id, objects and relations|a list of graphs), got"
        with pytest.raises(SgevalError, match=expected):
            relclipscore(predictions, images={}, model=fake_encoder())

    @pytest.mark.parametrize("predictions", [None, 5])
    def test_no_predictions(self, predictions, fake_encoder):
        with pytest.raises(SgevalError, match="predictions: expected"):
            relclipscore(predictions, images={}, model=fake_encoder())

    def test_rows_may_be_a_generator(self, fake_encoder, two_objects, picture):
        rows = (two_objects(name) for name in "ab")
        result = relclipscore(rows, images=[picture(0), picture(1)], model=fake_encoder())
        assert result["n_images"] == 2

    def test_a_mapping_keyed_as_the_rows_are(self, fake_encoder, two_objects, picture):
        assert relclipscore([two_objects(5)], images={5: picture(0)}, model=fake_encoder())["n_images"] == 1
