"""The counts of a run of θ, its slices and its table of confusions, by hand; and what becomes of a score of NaN."""

import json

import numpy as np
import pytest
from theta_kit import DOG, VALUES, row, score

from sgeval.alignment import Options, result, score_annotations, slices

# "eats" is the one predicate of cat and fish; "dog eats mat" and the like are drawn at random.
LONE = row("b", [("cat", "eats", "fish")])
LONE_VALUES = {
    **VALUES,
    **dict.fromkeys(("cat eats fish", "fish eats cat", "cat fish", "dog eats mat"), 0.4),
    **{f"cat {word} fish": 0.4 for word in ("on", "beside", "near")},
}


@pytest.fixture
def steady(steady_encoder, picture):
    def run(graphs, values, **options):
        return score(graphs, {graph["image_id"]: picture(0) for graph in graphs}, steady_encoder(values), **options)

    return run


class TestCounts:
    @pytest.mark.parametrize(("singletons", "n"), [("skip", (3, 1)), ("include", (4, 2))])
    def test_of_what_is_ranked(self, steady, singletons, n):
        """A relation with one candidate ties with nothing, and its picture is scored when it is included."""
        found = steady([DOG, LONE], LONE_VALUES, singletons=singletons)
        assert (found["n_relations"], found["n_scored_images"]) == n
        assert (found["n_images"], found["n_annotated"], found["n_singletons"]) == (2, 4, 1)
        assert (found["n_ties"], found["n_near_ties"]) == (0, 0)

    def test_ties_and_near_ties(self, steady):
        """on 0.4 and beside 0.4 tie; near, 0.39995, is near both, and they are near it."""
        found = steady([DOG, LONE], {**LONE_VALUES, "dog beside mat": 0.4, "dog near mat": 0.39995})
        assert (found["n_ties"], found["n_near_ties"]) == (2, 3)

    def test_a_picture_without_relations_is_not_scored(self, steady):
        found = steady([DOG, row("c", [])], VALUES)
        assert (found["n_images"], found["n_scored_images"], found["n_annotated"]) == (2, 1, 3)

    def test_what_is_cut_at_the_border_was_annotated(self, fake_encoder, picture):
        """Of a, the fourth relation names no object (cut at the border); that of b has a box outside the picture."""
        first, second = json.loads(json.dumps([DOG, row("b", boxes={1: [900, 900, 5, 5]})]))
        first["relations"].append({"subject_id": 0, "object_id": 77, "predicate": "on"})
        images = {"a": picture(0), "b": picture(1)}
        found = score([first, second], images, fake_encoder(), on_invalid="skip")
        assert (found["n_annotated"], found["n_relations"]) == (5, 3)
        assert (found["n_invalid_relations"], found["n_invalid"], found["n_outside_boxes"]) == (2, 2, 1)
        lone = score([second, first], images, fake_encoder(), on_invalid="skip", limit=1)
        assert (lone["n_annotated"], lone["n_invalid_relations"]) == (1, 1)

    @pytest.mark.parametrize("truths", [("on",), ("long",), ("on", "long")])
    def test_a_text_is_too_long_of_the_truth_or_of_a_candidate(self, fake_encoder, picture, truths):
        """The list of dog and mat holds the long one, whichever is annotated. That of cat and fish does not: there it is
        drawn at random, which is no candidate."""
        long = "lying at full length in the middle of the"
        words = [long if truth == "long" else truth for truth in truths]
        graph = row("a", [*(("dog", word, "mat") for word in words), ("cat", "on", "fish")])
        given = {("dog", "mat"): ["on", long], ("cat", "fish"): ["on"]}
        found = score([graph], {"a": picture(0)}, fake_encoder(), vocabulary=given, return_items=True)
        assert found["items"][-1]["random_predicate"] == long
        assert [item["truncated"] for item in found["items"]] == [*(True for _ in truths), False]
        assert found["n_truncated"] == len(truths)
        short = score([graph], {"a": picture(0)}, fake_encoder(), template="{subject}{predicate}{object}")
        assert len(f"dog{long}mat") > 40 and short["n_truncated"] == (2 if len(truths) == 2 else "long" in truths)

    def test_ends_that_the_encoder_does_not_see(self, fake_encoder, picture):
        """Of 40 x 10 the middle 10 x 10 is seen, of 10 x 10 all."""
        boxes = {0: [0, 0, 10, 10], 1: [30, 0, 10, 10], 2: [20, 20, 10, 10], 3: [20, 20, 10, 10]}
        graph = row("a", [("dog", "on", "mat"), ("cat", "on", "fish")], boxes=boxes)
        found = score([graph], {"a": picture(0)}, fake_encoder(), return_items=True)
        assert [item["endpoint_cut"] for item in found["items"]] == [True, False] and found["n_endpoint_cut"] == 1

    def test_of_a_slice(self, steady):
        """All four have boxes of 10 x 10; beside and near hold both ways, one has no other candidate."""
        found = steady([DOG, LONE], LONE_VALUES, return_items=True)
        (sizes,) = [one for one in found["slices"] if one["by"] == "size_ratio"]
        assert (sizes["n"], sizes["n_relations"], sizes["n_direction"]) == (4, 3, 2)
        predicates = {one["group"]: one for one in found["slices"] if one["by"] == "predicate"}
        counts = {name: (one["n"], one["n_relations"], one["n_direction"]) for name, one in predicates.items()}
        assert counts == {"on": (1, 1, 1), "beside": (1, 1, 0), "near": (1, 1, 0), "eats": (1, 0, 1)}
        assert (predicates["on"]["precision"], predicates["on"]["direction_accuracy"]) == (1.0, 0.0)


ENDS = [f"{name}_{end}" for name in ("theta", "precision", "mean_score") for end in ("low", "high")]


class TestIntervalsOfSlices:
    @pytest.fixture
    def scored(self, random_graphs, fake_encoder):
        graphs, images = random_graphs(2, 25)
        return score_annotations(graphs, images=images, model=fake_encoder(), options=Options(bootstrap=40))

    def test_of_the_most_frequent_predicates(self, scored, monkeypatch):
        monkeypatch.setattr(result, "MOST_PREDICATES", 1)
        table = slices(scored.rows, scored.options)
        assert {one["by"] for one in table[:5]} == {"size_ratio", "distance"}  # all five groups are there
        assert all(one[end] is not None for one in table[:6] for end in ENDS)
        assert all(one[end] is None for one in table[6:] for end in ENDS) and len(table) > 7
        assert [one["n"] for one in table[5:]] == sorted((one["n"] for one in table[5:]), reverse=True)
        assert all(one["theta"] is not None for one in table[6:])
        assert len({frozenset(one) for one in table}) == 1  # the same columns
        monkeypatch.undo()
        assert slices(scored.rows, scored.options)[6]["theta_low"] is not None

    @pytest.mark.parametrize("most", [1, 3, 200])
    def test_do_not_hang_on_how_many_are_made_at_once(self, scored, monkeypatch, most):
        monkeypatch.setattr(result, "MOST_PREDICATES", most)
        whole = slices(scored.rows, scored.options)
        for cells in (1, 2 * 8 * 25 * 2, 2 * 8 * 25 * 4):  # 25 pictures, 8 measures of a numerator and a denominator
            monkeypatch.setattr(result, "CELLS", cells)
            parts = slices(scored.rows, scored.options)
            assert [(one["by"], one["group"]) for one in parts] == [(one["by"], one["group"]) for one in whole]
            for one, other in zip(parts, whole, strict=True):
                assert {key: one[key] for key in ENDS} == pytest.approx({key: other[key] for key in ENDS}, abs=1e-12)


class TestConfused:
    def test_of_counts_what_is_ranked(self, steady, two_objects):
        """ "dog on mat" twice. In a "near" is true as well and, excluded, leaves one candidate; in b "near" is above."""
        both = two_objects("a", [(0, "on", 1), (0, "near", 1)], width=64, height=48)
        graphs, values = [both, row("b")], {**VALUES, "dog near mat": 0.6}
        near = {"subject": "dog", "predicate": "on", "object": "mat", "confuser": "near", "n": 1}
        for singletons, of in (("skip", 1), ("include", 2)):
            found = steady(graphs, values, cooccurring="exclude", singletons=singletons, return_items=True)
            assert found["n_singletons"] == 2 and found["confused"] == [{**near, "of": of}]

    def test_the_score_of_a_confuser_is_there_when_it_is_above(self, steady):
        """on 0.4, beside 0.3, near 0.2; then beside 0.4 too, a tie."""
        items = steady([DOG], VALUES, return_items=True)["items"]
        assert [item["confusers"] for item in items] == [(), ("on",), ("on", "beside")]
        assert [item["confuser_score"] for item in items] == [None, 0.4, 0.4]
        items = steady([DOG], {**VALUES, "dog beside mat": 0.4}, return_items=True)["items"]
        assert [item["confusers"] for item in items] == [(), (), ("beside", "on")]
        assert [item["confuser_score"] for item in items] == [None, None, 0.4]


class TestNoNumbers:
    @pytest.mark.parametrize(
        ("text", "key", "measures"),
        [
            ("mat on dog", "swap_score", ["direction_accuracy"]),
            ("dog mat", "bare_score", ["above_no_predicate", "gap_no_predicate"]),
            ("dog under mat", "random_score", ["above_random_predicate", "gap_random_predicate"]),
        ],
    )
    def test_a_comparison_without_a_score_is_undefined(self, fake_encoder, picture, text, key, measures):
        """The relation is ranked all the same."""
        encoder = fake_encoder({text: np.full(8, np.nan)})
        given = {("dog", "mat"): ["on", "near"], ("cat", "mat"): ["under"]}
        found = score([row()], {"a": picture(0)}, encoder, vocabulary=given, return_items=True)
        (item,) = found["items"]
        keys = {"swap_score", "bare_score", "random_score"}
        assert (item["status"], item["n"], item["random_predicate"]) == ("scored", 2, "under")
        assert {name for name in keys if item[name] is None} == {key}
        beside = (
            "direction_accuracy",
            *(f"{kind}_{to}_predicate" for kind in ("above", "gap") for to in ("no", "random")),
        )
        assert [name for name in beside if found[name] is None] == measures
        assert found["n_relations"] == 1 and found["theta"] is not None
        json.dumps(found, allow_nan=False)
