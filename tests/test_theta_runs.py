"""θ of annotated graphs against a slow reference, as a run of many pictures, and with faulty input."""

import json

import numpy as np
import pytest
from reference.theta_reference import SYMMETRIC, candidates_of, reference_theta
from theta_kit import DOG, VALUES, score

import sgeval
from sgeval.alignment import Options, confused, score_annotations
from sgeval.errors import InvalidInput, SgevalError

ALONE = ("next to",)  # what the package's own list holds of the predicates of random graphs


class TestAgainstTheReference:
    def assert_equal(self, made, encoder, symmetric=SYMMETRIC, **options):
        graphs, images = made
        expected, table = reference_theta(graphs, images, encoder(), symmetric=symmetric, **options)
        given = options if symmetric == ALONE else {**options, "symmetric": symmetric}
        found = score(graphs, images, encoder(), on_invalid="skip", return_items=True, **given)
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, abs=1e-12), name
        mine = {
            (one["subject"], one["predicate"], one["object"], one["confuser"]): one["n"] for one in found["confused"]
        }
        assert mine == table
        return found

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize(
        "options",
        [{}, {"protocol": "openvocsgg"}, {"singletons": "include", "cooccurring": "exclude"}, {"score": "softmax100"}],
        ids=str,
    )
    def test_equal(self, random_graphs, fake_encoder, seed, options):
        found = self.assert_equal(random_graphs(seed, 40), fake_encoder, **options)
        assert found["n_relations"] > 20

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"protocol": "openvocsgg"},
            {"singletons": "include", "cooccurring": "exclude"},
            {"score": "softmax100"},
            {"symmetric": ALONE},
            {"symmetric": ()},
            {"normalisation": "none"},
            {"normalisation": "none", "cooccurring": "exclude", "symmetric": ALONE},
            {"normalisation": "none", "protocol": "openvocsgg"},
        ],
        ids=str,
    )
    def test_equal_with_many_ties(self, random_graphs, fake_encoder, options):
        """Cosines of one decimal: candidates share scores, and triplets with their swaps and their objects alone."""

        class Rounded(fake_encoder):
            def score(self, images, texts):
                return np.round(super().score(images, texts), 1)

        found = self.assert_equal(random_graphs(5, 30), Rounded, **options)
        assert found["n_ties"] > 5 and found["n_direction"] > 20
        swaps = [item for item in found["items"] if item["swap_score"] is not None]
        assert sum(item["swap_score"] == item["score"] for item in swaps) > 2
        assert sum(item["bare_score"] == item["score"] for item in found["items"] if item["score"] is not None) > 5

    def test_the_vocabulary(self, random_graphs, fake_encoder):
        graphs, images = random_graphs(9, 15)
        found = score(graphs, images, fake_encoder(), on_invalid="skip", return_items=True)["vocabulary"]
        listed = {}
        for one in found:
            listed.setdefault((one["subject"], one["object"]), []).append(one["predicate"])
        assert listed == {pair: list(of.values()) for pair, of in candidates_of(graphs).items()}


class TestRuns:
    def test_order_and_batches_do_not_matter(self, random_graphs, fake_encoder):
        graphs, images = random_graphs(5, 12)
        options = {"on_invalid": "skip", "bootstrap": 50, "return_items": True}
        whole = score(graphs, images, fake_encoder(), **options)
        turned = score(graphs[::-1], images, fake_encoder(), batch_size=3, **options)
        del whole["vocabulary"], turned["vocabulary"]  # in first-seen order
        assert whole == turned
        json.dumps(whole, allow_nan=False)

    def test_parts_merge(self, random_graphs, fake_encoder):
        graphs, images = random_graphs(6, 12)
        options = Options(on_invalid="skip")

        def rows(part):
            return score_annotations(
                part,
                images=images,
                model=fake_encoder(),
                options=options,
                vocabulary_graphs=None if part is graphs else rest(part),
            ).rows

        def rest(part):
            return [graph for graph in graphs if graph not in part]

        merged = rows(graphs[:5]).merge(rows(graphs[5:]))
        assert merged.in_order() == rows(graphs).in_order()

    def test_each_crop_and_text_is_encoded_once(self, steady_encoder, picture):
        encoder = steady_encoder(VALUES)
        both = [DOG, {**DOG, "image_id": "b"}]
        score(both, {"a": picture(0), "b": picture(1)}, encoder)
        assert encoder.n_texts == len({text for call in encoder.texts for text in call}) == 5
        assert encoder.n_crops == 6

    def test_undefined_scores_are_counted_and_left_out(self, random_graphs, fake_encoder):
        graphs = [DOG]
        _, images = random_graphs(0, 1)
        encoder = fake_encoder({"dog near mat": np.full(8, np.nan)})
        found = score(graphs, {"a": images["img000"]}, encoder, return_items=True)
        assert found["n_undefined_relations"] == 3 and found["theta"] is None  # it is a candidate of all three
        encoder = fake_encoder({"dog mat": np.full(8, np.nan)})
        found = score(graphs, {"a": images["img000"]}, encoder)
        assert found["n_relations"] == 3 and found["above_no_predicate"] is None

    def test_the_draw_hangs_on_the_seed_and_not_on_the_company(self, random_graphs, fake_encoder):
        graphs, images = random_graphs(7, 10)
        options = {"on_invalid": "skip", "return_items": True}
        whole = score(graphs, images, fake_encoder(), **options)
        alone = score(graphs[:4], images, fake_encoder(), vocabulary=whole["vocabulary"], **options)
        drawn = {(item["image_id"], item["index"]): item["random_predicate"] for item in whole["items"]}
        assert all(drawn[item["image_id"], item["index"]] == item["random_predicate"] for item in alone["items"])
        other = score(graphs, images, fake_encoder(), seed=1, **options)
        assert drawn != {(item["image_id"], item["index"]): item["random_predicate"] for item in other["items"]}

    def test_confused_is_a_function_of_rows(self, random_graphs, fake_encoder):
        graphs, images = random_graphs(8, 10)
        given = {"images": images, "model": fake_encoder(), "options": Options(on_invalid="skip")}
        found = score_annotations(graphs, **given)
        assert confused(found.rows, found.options) == found.result(return_items=True)["confused"]


class TestFaults:
    def test_a_model_without_cosines_has_no_softmax(self, fake_encoder, picture):
        class Sigmoid(fake_encoder):
            score_rule = "sigmoid"

        with pytest.raises(SgevalError, match="softmax100 expects a model that scores with a cosine"):
            score([DOG], {"a": picture(0)}, Sigmoid(), score="softmax100")
        assert score([DOG], {"a": picture(0)}, Sigmoid())["n_relations"] == 3

    def test_faults_are_those_of_the_references(self, fake_encoder, picture):
        broken = {**DOG, "relations": [{"subject_id": 0, "object_id": 77, "predicate": "on"}]}
        with pytest.raises(InvalidInput, match=r"references\[0\]\.relations\[0\]\.object_id"):
            score([broken], {"a": picture(0)}, fake_encoder())
        outside = json.loads(json.dumps(DOG))
        outside["objects"][1]["bbox"] = [900, 900, 5, 5]
        with pytest.raises(InvalidInput, match=r'reference of image "a": relations.0..object_id: expected a box that'):
            score([outside], {"a": picture(0)}, fake_encoder())
        assert score([outside], {"a": picture(0)}, fake_encoder(), on_invalid="skip")["n_invalid"] == 1

    def test_corner_boxes_are_told(self, fake_encoder, picture):
        corners = json.loads(json.dumps(DOG))
        for item in corners["objects"]:
            item["bbox"] = [40, 30, 60, 45]
        with pytest.raises(InvalidInput, match=r"references\[…\].objects\[…\].bbox: expected boxes as"):
            score([corners], {"a": picture(0)}, fake_encoder())

    def test_pictures(self, fake_encoder, picture):
        with pytest.raises(InvalidInput, match='image "a": images: expected a picture under "a", got nothing'):
            score([DOG], {}, fake_encoder())
        found = score([DOG, {**DOG, "image_id": "b"}], {"b": picture(0)}, fake_encoder(), on_bad_image="skip")
        assert (found["n_bad_images"], found["n_bad_image_relations"], found["n_relations"]) == (1, 3, 3)
        with pytest.raises(InvalidInput, match=r"images: expected one a reference \(1\), got 2"):
            score([DOG], [picture(0), picture(1)], fake_encoder())

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"references": None}, "references: expected annotated graphs, got nothing"),
            ({"predictions": [DOG]}, "expected none for graphs: θ scores the references"),
            ({"images": None}, "images: expected a folder, a mapping from image_id, or a list, got nothing"),
            ({"references": []}, "references: expected at least one image, got none"),
            ({"config": "graph"}, 'config: expected one of scores, graphs, got "graph"; did you mean "graphs"'),
            ({"protocol": "legacy"}, "protocol: expected one of paper, openvocsgg"),
            ({"protocl": "paper"}, 'did you mean "protocol"'),
            ({"symmetric": "beside"}, 'symmetric: expected a list of predicates, got "beside"'),
            ({"symmetric": [""]}, "symmetric: expected a list of predicates"),
            ({"limit": 0}, "limit: expected a whole number"),
            ({"vocabulary": 5}, "vocabulary: expected rows, a file or a mapping, got 5"),
            ({"vocabulary": {"dog": ["on"]}}, "vocabulary: expected .subject, object. with a list of predicates"),
            ({"vocabulary": [{"subject": "dog"}]}, r"vocabulary\[0\].predicate: expected a text, got null"),
            ({"vocabulary": "none.jsonl"}, "none.jsonl"),
            ({"vocabulary": []}, "vocabulary: expected at least one predicate of a pair of classes, got none"),
        ],
        ids=str,
    )
    def test_arguments(self, fake_encoder, picture, given, words):
        call = {"references": [DOG], "config": "graphs", "images": {"a": picture(0)}, "model": fake_encoder(), **given}
        with pytest.raises(SgevalError, match=words):
            sgeval.theta(**call)
