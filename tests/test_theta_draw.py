"""The predicate that is drawn at random to compare with: never a true one, every other, each relation its own."""

from collections import Counter
from itertools import combinations, pairwise

import pytest
from theta_kit import row, score

WORDS = ("above", "beside", "near", "on")
SUBSETS = [subset for n in (1, 2, 3) for subset in combinations(WORDS, n)]


def pictures_of(subsets, times):
    """Each subset as the predicates of one pair of objects, in so many pictures; the order turns from one to the next."""
    for subset in subsets:
        for number in range(times):
            turn = number % len(subset)
            yield {
                **row(f"{'-'.join(subset)} {number}"),
                "relations": [
                    {"subject_id": 0, "object_id": 1, "predicate": predicate}
                    for predicate in (*subset[turn:], *subset[:turn])
                ],
            }


@pytest.fixture
def drawn(fake_encoder, picture):
    """By picture, the predicate that is drawn for each relation."""

    def run(graphs, **options):
        image = picture(0)
        images = {graph["image_id"]: image for graph in graphs}
        found = {}
        for item in score(graphs, images, fake_encoder(), return_items=True, **options)["items"]:
            found.setdefault(item["image_id"], {})[item["predicate"]] = item["random_predicate"]
        return found

    return run


def test_none_that_is_annotated_and_each_that_is_not(drawn):
    """One, two and three of four predicates, at every place of the alphabet. Each of the others is drawn a fair share."""
    found = drawn(list(pictures_of(SUBSETS, 24)))
    for subset in SUBSETS:
        others = set(WORDS) - set(subset)
        counts = Counter(
            predicate for number in range(24) for predicate in found[f"{'-'.join(subset)} {number}"].values()
        )
        assert set(counts) == others, subset
        assert min(counts.values()) > 24 * len(subset) / len(others) / 3, subset


def test_all_annotated_leaves_none(drawn):
    assert set(drawn(list(pictures_of([WORDS], 1)))["above-beside-near-on 0"].values()) == {None}


def test_each_relation_has_a_draw_of_its_own(drawn):
    """Two relations of one pair, and one relation in two pictures: drawn of the same two, half of them differ."""
    found = drawn([*pictures_of([("above", "near")], 40), row("x", [("dog", word, "mat") for word in WORDS])])
    pairs = [found[f"above-near {number}"] for number in range(40)]
    assert 10 < sum(pair["above"] != pair["near"] for pair in pairs) < 30
    assert 10 < sum(one["near"] != two["near"] for one, two in pairwise(pairs)) < 30


@pytest.mark.parametrize("moved", ["subject_id", "object_id"])
def test_two_pairs_of_one_picture_have_draws_of_their_own(fake_encoder, picture, moved):
    """Forty dogs on one mat, or one dog on forty mats; two other predicates to draw from."""
    many, one = ("dog", "mat") if moved == "subject_id" else ("mat", "dog")
    fixed = "object_id" if moved == "subject_id" else "subject_id"
    objects = [{"id": 0, "category": one, "bbox": [20, 20, 10, 10]}]
    objects += [{"id": number, "category": many, "bbox": [2, 3, 10, 10]} for number in range(1, 41)]
    graph = {
        **row("a"),
        "objects": objects,
        "relations": [{moved: number, fixed: 0, "predicate": "on"} for number in range(1, 41)],
    }
    more = [row("x", [("dog", word, "mat") for word in ("above", "near")])]
    items = score([graph], {"a": picture(0)}, fake_encoder(), vocabulary_graphs=more, return_items=True)["items"]
    counts = Counter(item["random_predicate"] for item in items)
    assert set(counts) == {"above", "near"} and min(counts.values()) > 8


def test_a_predicate_is_spelt_alike_for_all_pairs(drawn):
    """Spelt in two ways for two pairs of classes: of these the first by alphabet, capitals before small letters."""
    frequent = [row(f"f{number}", [("cat", "in front of", "fish")]) for number in range(3)]
    for order in (1, -1):
        graphs = [*frequent, row("b", [("cow", "In_front_of", "barn")]), row("c", [("dog", "on", "mat")])][::order]
        assert drawn(graphs)["c"] == {"on": "In front of"}


def test_the_drawn_text_is_what_is_scored(steady_encoder, picture):
    """ "dog in front of mat" at 0.3 beats "dog on mat" at 0.1; "cat on fish" at 0.2 loses to 0.6."""
    values = {"dog on mat": 0.1, "dog in front of mat": 0.3, "cat in front of fish": 0.6, "cat on fish": 0.2}
    values |= dict.fromkeys(("mat on dog", "fish in front of cat", "dog mat", "cat fish"), 0.0)
    graphs = [row("a", [("dog", "on", "mat"), ("cat", "in_front_of", "fish")])]
    found = score(graphs, {"a": picture(0)}, steady_encoder(values), return_items=True)
    assert [item["random_score"] for item in found["items"]] == [0.3, 0.2]
    assert found["above_random_predicate"] == 0.5 and found["gap_random_predicate"] == pytest.approx((-0.2 + 0.4) / 2)
