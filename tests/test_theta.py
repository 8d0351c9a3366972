"""θ of annotated graphs, case by case by hand."""

import json

import numpy as np
import pytest
from theta_kit import DOG, VALUES, row, score

from sgeval.alignment import Options, score_annotations, slices
from sgeval.errors import InvalidInput, SgevalError
from sgeval.summary import bootstrap


@pytest.fixture
def steady(steady_encoder, picture):
    """Scores rows with an encoder that gives each text the number it is told."""

    def run(graphs, values, **options):
        images = {graph["image_id"]: picture(0) for graph in graphs}
        return score(graphs, images, steady_encoder(values), **options)

    return run


class TestByHand:
    def test_three_relations_of_one_pair_of_classes(self, steady):
        """Candidates on, beside, near for each. Ranks 0, 1, 2 of three: θ = 1, 2/3, 1/3, mean 2/3; chance 4/6."""
        found = steady([DOG], VALUES)
        assert found["theta"] == pytest.approx(2 / 3) and found["precision"] == pytest.approx(1 / 3)
        assert found["chance_theta"] == pytest.approx(2 / 3) and found["chance_precision"] == pytest.approx(1 / 3)
        assert found["mean_score"] == pytest.approx(0.3) and found["mean_candidates"] == 3
        assert (found["n_relations"], found["n_singletons"], found["n_annotated"]) == (3, 0, 3)

    def test_direction_leaves_symmetric_predicates_out(self, steady):
        """beside and near hold both ways; "dog on mat" at 0.4 loses to "mat on dog" at 0.5."""
        found = steady([DOG], VALUES)
        assert (found["direction_accuracy"], found["n_direction"]) == (0.0, 1)
        found = steady([DOG], {**VALUES, "mat near dog": 0.1}, symmetric=())
        assert (found["direction_accuracy"], found["n_direction"]) == (pytest.approx(2 / 3), 3)

    def test_direction_leaves_equal_texts_out(self, steady):
        """Two dogs: the swap says the same."""
        found = steady([row(relations=[("dog_1", "on", "dog_2")])], {"dog on dog": 0.4, "dog dog": 0.1})
        assert (found["direction_accuracy"], found["n_direction"]) == (None, 0)

    def test_without_the_predicate(self, steady):
        """ "dog mat" has 0.25: above are 0.4 and 0.3, below is 0.2. Gaps 0.15, 0.05, −0.05."""
        found = steady([DOG], VALUES)
        assert found["above_no_predicate"] == pytest.approx(2 / 3)
        assert found["gap_no_predicate"] == pytest.approx(0.05)

    def test_a_random_predicate_is_none_of_the_pair(self, steady):
        """Two pictures; of the two predicates the one that is not annotated for the pair must be drawn."""
        graphs = [row("a", [("dog", "on", "mat")]), row("b", [("cat", "eats", "fish")])]
        values = dict.fromkeys(
            ["dog on mat", "mat on dog", "dog mat", "cat eats fish", "fish eats cat", "cat fish"], 0.1
        )
        values |= {"dog eats mat": 0.3, "cat on fish": 0.0}
        found = steady(graphs, values, return_items=True)
        assert [item["random_predicate"] for item in found["items"]] == ["eats", "on"]
        assert found["above_random_predicate"] == 0.5
        assert found["gap_random_predicate"] == pytest.approx((-0.2 + 0.1) / 2)

    def test_singletons(self, steady):
        graphs = [DOG, row("b", [("cat", "eats", "fish")])]
        values = {**VALUES, "cat eats fish": 0.9, "fish eats cat": 0.1, "cat fish": 0.1}
        values |= {f"dog {other} mat": 0.0 for other in ("eats",)} | {
            f"cat {p} fish": 0.0 for p in ("on", "beside", "near")
        }
        skipped, included = (steady(graphs, values, singletons=kind) for kind in ("skip", "include"))
        assert (skipped["n_relations"], skipped["n_singletons"]) == (3, 1)
        assert skipped["theta"] == pytest.approx(2 / 3)
        assert (included["n_relations"], included["n_singletons"]) == (4, 1)
        assert included["theta"] == pytest.approx((2 + 1) / 4)
        assert skipped["n_direction"] == included["n_direction"] == 2

    def test_only_singletons_have_no_theta(self, steady):
        found = steady([row()], {"dog on mat": 0.4, "mat on dog": 0.5, "dog mat": 0.2})
        assert (found["theta"], found["precision"], found["n_relations"], found["n_singletons"]) == (None, None, 0, 1)
        assert found["direction_accuracy"] == 0.0

    def test_tied_candidates(self, steady):
        """on and beside both 0.4, near 0.2: ranks 1/2, 1/2, 2; the top is shared by two."""
        found = steady([DOG], {**VALUES, "dog beside mat": 0.4})
        assert found["theta"] == pytest.approx((5 / 6 + 5 / 6 + 1 / 3) / 3)
        assert found["precision"] == pytest.approx(1 / 3)
        assert (found["n_ties"], found["n_near_ties"]) == (2, 2)

    def test_softmax_is_only_the_mean_score(self, steady):
        """Scores are a tenth apart: e^10 to one for each step, and the three shares sum to one."""
        cosine, softmax = (steady([DOG], VALUES, score=kind, return_items=True) for kind in ("cosine", "softmax100"))
        assert cosine["theta"] == softmax["theta"] and cosine["items"] == softmax["items"]
        step = np.exp(-10.0)
        shares = np.array([1.0, step, step * step]) / (1.0 + step + step * step)
        assert [item["softmax"] for item in softmax["items"]] == pytest.approx(shares.tolist(), rel=1e-9)
        assert softmax["mean_score"] == pytest.approx(1 / 3) and cosine["mean_score"] == pytest.approx(0.3)
        two = [DOG, row("b", [("dog", "on", "mat")])]  # shares of on, beside, near and on
        found = steady(two, VALUES, score="softmax100")
        assert found["mean_score"] == pytest.approx((1 + shares[0]) / 4, rel=1e-9)

    def test_openvocsgg_puts_the_truth_first(self, steady):
        """Winner "on". on: 1 − 0/3; beside: [beside, on, near], best at 1; near: [near, on, beside], best at 1."""
        found = steady([DOG], VALUES, protocol="openvocsgg")
        assert found["theta"] == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
        assert found["precision"] == pytest.approx(1 / 3)

    def test_openvocsgg_gives_a_shared_top_whole(self, steady):
        """on and beside both 0.4: each is the first best in front of its list; near: [near, on, beside], best at 1."""
        found = steady([DOG], {**VALUES, "dog beside mat": 0.4}, protocol="openvocsgg")
        assert found["theta"] == pytest.approx((1 + 1 + 2 / 3) / 3)
        assert found["precision"] == pytest.approx(2 / 3)


class TestCandidates:
    def test_fc18_the_list_is_not_eaten(self, steady):
        """Three pictures with one relation each: three candidates for each, in any order of the pictures."""
        graphs = [row(name, [("dog", predicate, "mat")]) for name, predicate in zip("abc", ("on", "beside", "near"))]
        before = json.dumps(graphs)
        values = {**VALUES, "mat near dog": 0.0}
        found = [steady(order, values, return_items=True) for order in (graphs, graphs[::-1])]
        assert json.dumps(graphs) == before
        assert [item["n"] for item in found[0]["items"]] == [3, 3, 3]
        assert found[0]["theta"] == found[1]["theta"] and found[0]["signature"] == found[1]["signature"]

    def test_the_direction_of_the_pair_counts(self, steady):
        graphs = [row("a", [("dog", "on", "mat"), ("mat", "under", "dog")])]
        values = {"dog on mat": 0.4, "mat on dog": 0.1, "mat under dog": 0.3, "dog under mat": 0.1}
        found = steady(graphs, {**values, "dog mat": 0.0, "mat dog": 0.0}, return_items=True)
        assert [item["n"] for item in found["items"]] == [1, 1]

    def test_other_truths_of_the_same_pair(self, steady):
        """Two predicates on the same two objects, a third elsewhere; "exclude" takes the other truth off the list."""
        graph = row("a", [("dog", "on", "mat"), ("dog", "near", "mat")])
        graph["relations"].append({"subject_id": 0, "object_id": 1, "predicate": "beside"})
        keep, exclude = (steady([graph], VALUES, cooccurring=kind, return_items=True) for kind in ("keep", "exclude"))
        assert [item["n"] for item in keep["items"]] == [3, 3, 3]
        assert [item["n"] for item in exclude["items"]] == [2, 3, 2]
        # on: {on, near} rank 0; near: {on, near, beside} rank 2; beside: {beside, near} rank 0
        assert exclude["theta"] == pytest.approx((1 + 1 / 3 + 1) / 3)
        assert "cooccurring:exclude" in exclude["signature"]

    def test_spellings_are_one_candidate(self, steady):
        """fc29: In_Front-Of twice, in front of once: one candidate, spelt as it is most often."""
        spelt = ("in front of", "In_front_of", "In_front_of", "on")
        graphs = [row(str(number), [("dog", predicate, "mat")]) for number, predicate in enumerate(spelt)]
        values = {
            "dog In front of mat": 0.4,
            "mat In front of dog": 0.0,
            "dog on mat": 0.3,
            "mat on dog": 0.0,
            "dog mat": 0,
        }
        found = steady(graphs, values, return_items=True)
        assert {item["n"] for item in found["items"]} == {2} and found["theta"] == (1 + 1 + 1 + 0.5) / 4

    def test_a_limit_scores_fewer_and_ranks_the_same(self, steady):
        graphs = [row(name, [("dog", predicate, "mat")]) for name, predicate in zip("abc", ("on", "beside", "near"))]
        found = steady(graphs, VALUES, limit=1, return_items=True)
        assert [(item["image_id"], item["n"]) for item in found["items"]] == [("a", 3)]
        assert "limit:1" in found["signature"]

    def test_further_graphs_add_candidates(self, steady):
        more = [row("x", [("dog", "beside", "mat"), ("cat", "on", "mat")])]
        found = steady([row()], VALUES, vocabulary_graphs=more, return_items=True)
        assert found["items"][0]["n"] == 2 and found["theta"] == 1.0

    def test_a_given_vocabulary(self, steady):
        given = {("dog", "mat"): ["near", "on"], ("cat", "mat"): ["on"]}
        with pytest.raises(InvalidInput) as caught:
            steady([DOG], VALUES, vocabulary=given)
        expected = "expected one of the vocabulary's 2 predicates"
        assert list(caught.value.faults) == [
            f'reference of image "a": relations[1].predicate: {expected} of "dog" and "mat", got "beside"'
        ]
        found = steady([DOG], VALUES, vocabulary=given, return_items=True, on_invalid="skip")
        assert [item["status"] for item in found["items"]] == ["scored", "unlisted", "scored"]
        assert (found["n_relations"], found["n_unlisted"], found["theta"]) == (2, 1, 0.75)
        assert found["vocabulary"][0] == {"subject": "dog", "predicate": "near", "object": "mat", "count": 1}
        again = steady([DOG], VALUES, vocabulary=found["vocabulary"], return_items=True, on_invalid="skip")
        assert again == found

    def test_both_kinds_of_vocabulary_are_refused(self, steady):
        with pytest.raises(SgevalError, match="expected one of them, got both"):
            steady([DOG], VALUES, vocabulary={("dog", "mat"): ["on"]}, vocabulary_graphs=[DOG])

    def test_the_vocabulary_is_in_the_signature(self, steady):
        plain = steady([DOG], VALUES)["signature"]
        more = steady([DOG], VALUES, vocabulary_graphs=[row("x", [("cat", "on", "mat")])])["signature"]
        assert plain != more and plain.split("|vocab:")[0] == more.split("|vocab:")[0]


NEAR_TWICE = [
    row(str(number), [("dog", predicate, "mat")]) for number, predicate in enumerate(("near", "near", "beside"))
]


class TestConfused:
    def test_table_2_counts_the_top_confuser(self, steady):
        values = {**VALUES, "dog near mat": 0.2, "dog beside mat": 0.3}
        graphs = [*NEAR_TWICE, row("9", [("dog", "on", "mat")])]
        found = steady(graphs, values, return_items=True)["confused"]
        near = {"subject": "dog", "predicate": "near", "object": "mat", "confuser": "on", "n": 2, "of": 2}
        assert found == [near, {**near, "predicate": "beside", "n": 1, "of": 1}]
        both = steady(graphs, values, return_items=True, confusers="all")["confused"]
        assert [(one["predicate"], one["confuser"], one["n"]) for one in both] == [
            ("near", "beside", 2), ("near", "on", 2), ("beside", "on", 1)
        ]  # fmt: skip

    def test_a_tie_is_no_confusion(self, steady):
        assert steady(NEAR_TWICE, {**VALUES, "dog near mat": 0.3}, return_items=True)["confused"] == []


class TestSlices:
    def found(self, steady, boxes):
        rows = steady(
            [row("a", [("dog", "on", "mat"), ("dog", "beside", "mat")], boxes=boxes)], VALUES, return_items=True
        )
        return {(one["by"], one["group"]): one for one in rows["slices"]}

    def test_a_fifth_is_not_below_a_fifth(self, steady):
        """Areas 20 and 100 (ratio 0.2), 19 and 100 (0.19)."""
        found = self.found(steady, {0: [0, 0, 10, 2], 1: [10, 10, 10, 10], 2: [0, 0, 10, 1.9], 3: [10, 10, 10, 10]})
        assert found["size_ratio", "0.2 and above"]["n"] == 1 and found["size_ratio", "below 0.2"]["n"] == 1
        assert found["size_ratio", "0.2 and above"]["theta"] == 1.0
        assert found["size_ratio", "below 0.2"]["theta"] == 0.5
        assert found["predicate", "on"]["precision"] == 1.0 and found["predicate", "beside"]["chance_theta"] == 0.75

    def test_distance_by_the_diagonal(self, steady):
        """The diagonal of 64 x 48 is 80: 16 px apart is a fifth. Touching boxes have no area in common."""
        far = self.found(steady, {0: [0, 0, 10, 10], 1: [26, 0, 10, 10], 2: [0, 0, 10, 10], 3: [25.9, 0, 10, 10]})
        assert far["distance", "distant"]["n"] == 1 and far["distance", "near"]["n"] == 1
        close = self.found(steady, {0: [0, 0, 10, 10], 1: [10, 0, 10, 10], 2: [0, 0, 10, 10], 3: [9, 0, 10, 10]})
        assert close["distance", "near"]["n"] == 1 and close["distance", "overlap"]["n"] == 1

    def test_decimals_do_not_decide_at_the_border(self, steady):
        """Areas 2.02 and 10.1 (a fifth), 16 px of 80, and edges that meet at 10.1 + 3.3: exact but for rounding."""
        found = self.found(
            steady, {0: [1.3, 1, 1.01, 2], 1: [3.3, 1, 10.1, 1], 2: [3.3, 20, 10.1, 1], 3: [13.4, 20, 1.01, 2]}
        )
        assert found["size_ratio", "0.2 and above"]["n"] == 2 and ("distance", "overlap") not in found
        apart = self.found(
            steady, {0: [0.1, 0, 10.2, 10], 1: [26.3, 0, 9.9, 10], 2: [0.7, 0, 9.6, 9], 3: [26.3, 0, 9, 9]}
        )
        assert apart["distance", "distant"]["n"] == 2

    def test_intervals_are_those_of_the_slice_alone(self, random_graphs, fake_encoder):
        graphs, images = random_graphs(2, 25)
        found = score_annotations(graphs, images=images, model=fake_encoder(), options=Options(bootstrap=200, seed=3))
        table = slices(found.rows, found.options)
        assert {one["by"] for one in table} == {"size_ratio", "distance", "predicate"}
        (one,) = (one for one in table if one["group"] == "overlap")
        assert one["theta_low"] < one["theta"] < one["theta_high"]
        items = [item for item in found.rows.items if item.status == "scored" and item.n > 1 and item.overlap]
        by_image = {}
        for item in items:
            by_image.setdefault(item.image_id, []).append(1 - (item.higher + item.tied / 2) / item.n)
        # The same draws by hand: replicate r draws pictures with a generator seeded (3, r); percentile ends.
        names = [graph["image_id"] for graph in graphs]
        replicates = []
        for replicate in range(200):
            drawn = np.random.default_rng([3, replicate]).integers(0, len(names), len(names))
            values = [value for index in drawn for value in by_image.get(names[index], ())]
            replicates.append(sum(values) / len(values))
        # BCa ends are quantiles of the same replicates, at other levels than 2.5 % and 97.5 %.
        ends = np.quantile(replicates, [0.0, 0.15, 0.85, 1.0])
        assert ends[0] <= one["theta_low"] < ends[1] and ends[2] < one["theta_high"] <= ends[3]
        sums = {name: (sum(by_image.get(name, ())), len(by_image.get(name, ()))) for name in names}
        numerator, denominator = (np.array(column, float) for column in zip(*sums.values(), strict=True))
        interval = bootstrap({"x": (numerator, denominator)}, 200, 3)["x"]
        assert interval.percentile_low == pytest.approx(np.quantile(replicates, 0.025))
        assert (interval.low, interval.high) == (one["theta_low"], one["theta_high"])
