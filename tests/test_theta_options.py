"""What each option of θ does, and that the signature says so: one part an option, and no part without a reason."""

import pytest
from theta_kit import DOG, row, score

import sgeval
from sgeval.errors import SgevalError

PARTS = (
    *("metric", "model", "weights", "value", "protocol", "singletons", "cooccurring", "symmetric", "draw", "template"),
    *("norm", "context", "fit", "invalid", "badimage", "dedup", "vocab", "version"),
)


def parts_of(found):
    return dict(part.split(":", 1) for part in found["signature"].split("|"))


@pytest.fixture
def parts(fake_encoder, picture):
    """The signature's parts of a call; `signed` is the encoder's own."""

    def run(graphs=(DOG,), signed=(), **options):
        class Signed(fake_encoder):
            def signature(self):
                return {**super().signature(), **dict(signed)}

        images = {graph["image_id"]: picture(0) for graph in graphs}
        return parts_of(score(graphs, images, Signed(), **options))

    return run


class TestSignature:
    def test_its_parts(self, parts):
        found = parts()
        assert tuple(found) == PARTS
        assert (found["metric"], found["version"]) == ("theta", sgeval.__version__)
        assert (found["model"], found["weights"]) == ("fake", "none")
        assert found["template"] == "{subject} {predicate} {object}"  # the encoder's own
        assert tuple(parts(limit=1)) == (*PARTS[:-1], "limit", "version")

    @pytest.mark.parametrize(
        ("part", "value", "given"),
        [
            ("model", "other", {"signed": {"model": "other"}}),
            ("weights", "abc", {"signed": {"weights": "abc"}}),
            ("value", "softmax100", {"score": "softmax100"}),
            ("protocol", "openvocsgg", {"protocol": "openvocsgg"}),
            ("singletons", "include", {"singletons": "include"}),
            ("cooccurring", "exclude", {"cooccurring": "exclude"}),
            ("symmetric", "beside+near", {"symmetric": ["near", "Beside"]}),
            ("symmetric", "none", {"symmetric": []}),
            ("draw", "3", {"seed": 3}),
            ("template", "a {subject} {predicate} {object}", {"template": "a {subject} {predicate} {object}"}),
            ("norm", "none", {"normalisation": "none"}),
            ("context", "px20each", {"context": ("px", 20)}),
            ("fit", "pad", {"fit": "pad"}),
            ("invalid", "skip", {"on_invalid": "skip"}),
            ("badimage", "skip", {"on_bad_image": "skip"}),
            ("limit", "1", {"limit": 1}),
        ],
    )
    def test_an_option_moves_its_part_and_no_other(self, parts, part, value, given):
        one = row()  # a list of one candidate has one order: the vocabulary's part is the same under the script
        before, after = parts([one]), parts([one], **given)
        assert after[part] == value != before.get(part)
        assert {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)} == {part}

    def test_how_a_result_is_made_or_listed_moves_nothing(self, parts):
        assert parts(batch_size=2, bootstrap=20, confusers="all", return_items=True) == parts()

    def test_the_vocabulary_moves_its_part(self, parts):
        before = parts()
        for more in (
            {"vocabulary_graphs": [row("x", [("dog", "under", "mat")])]},
            {"vocabulary_graphs": [row("x", [("cat", "on", "mat")])]},
            {"vocabulary": {("dog", "mat"): ["near", "on", "beside", "under"]}},
        ):
            after = parts(**more)
            assert {name for name in PARTS if before[name] != after[name]} == {"vocab"}

    def test_the_order_of_the_vocabulary_is_in_the_script_alone(self, parts):
        """The script takes places in the list; ranks have no use for the order, nor does their signature."""
        orders = [{("dog", "mat"): list(order)} for order in (("on", "beside", "near"), ("near", "on", "beside"))]
        paper = [parts(vocabulary=order)["vocab"] for order in orders]
        script = [parts(vocabulary=order, protocol="openvocsgg")["vocab"] for order in orders]
        assert paper[0] == paper[1] and script[0] != script[1]


SIDE_BY_SIDE = {0: [10, 10, 10, 10], 1: [30, 10, 10, 10]}  # the union is 10, 10 to 40, 20


class TestHandedOn:
    def test_context(self, fake_encoder, picture):
        """Five pixels each side: 5, 5 to 45, 25, and that is what the encoder gets."""
        for context, crop, size in (("none", (10, 10, 40, 20), (30, 10)), (("px", 5), (5, 5, 45, 25), (40, 20))):
            encoder = fake_encoder()
            found = score([row(boxes=SIDE_BY_SIDE)], {"a": picture(0)}, encoder, context=context, return_items=True)
            assert found["items"][0]["crop"] == crop
            assert [seen for call in encoder.crops for seen, _ in call] == [size]

    def test_fit(self, fake_encoder, picture):
        """Of 30 x 10 the encoder cuts out the middle 10 x 10, between the two boxes; padded it sees 30 x 30, squashed
        16 x 16, with both ends."""
        for fit, n, size in (("model", 1, (30, 10)), ("pad", 0, (30, 30)), ("squash", 0, (16, 16))):
            encoder = fake_encoder()
            found = score([row(boxes=SIDE_BY_SIDE)], {"a": picture(0)}, encoder, fit=fit)
            assert found["n_endpoint_cut"] == n, fit
            assert [seen for call in encoder.crops for seen, _ in call] == [size]

    def test_normalisation_of_relations(self, two_objects, fake_encoder, picture):
        """Two spellings are one relation as words, and two as they stand."""
        graph = two_objects(relations=[(0, "on", 1), (0, "On", 1)], width=64, height=48)
        for normalisation, counts in (("words", (0, 1, 1)), ("none", (2, 0, 0))):
            found = score([graph], {"a": picture(0)}, fake_encoder(), normalisation=normalisation)
            assert tuple(found[name] for name in ("n_relations", "n_singletons", "n_duplicates")) == counts

    def test_normalisation_of_a_given_vocabulary(self, fake_encoder, picture):
        """As it stands: three predicates of "dog_1", none of "dog". As words the first two are one."""
        given = {("dog_1", "mat"): ["lying_on", "Lying on", "near"]}
        graph = row(relations=[("dog_1", "lying_on", "mat")])
        for normalisation, n, text in (("none", 3, "dog_1 lying_on mat"), ("words", 2, "dog Lying on mat")):
            options = {"vocabulary": given, "normalisation": normalisation, "return_items": True}
            (item,) = score([graph], {"a": picture(0)}, fake_encoder(), **options)["items"]
            assert (item["n"], item["text"]) == (n, text)
        other = row(relations=[("dog", "lying_on", "mat")])
        with pytest.raises(SgevalError, match="one of the vocabulary's 0 predicates"):
            score([other], {"a": picture(0)}, fake_encoder(), vocabulary=given, normalisation="none")

    @pytest.mark.parametrize("normalisation", ["words", "none"])
    @pytest.mark.parametrize("spelling", ["next to", "Next_To", "next-to ", "NEXT  TO"])
    def test_symmetric_in_any_spelling(self, fake_encoder, picture, spelling, normalisation):
        def directions(predicate, **given):
            graph = row(relations=[("dog", predicate, "mat")])
            found = score([graph], {"a": picture(0)}, fake_encoder(), normalisation=normalisation, **given)
            return found["n_direction"]

        assert directions("next to", symmetric=[spelling]) == directions(spelling, symmetric=["next to"]) == 0
        assert directions(spelling) == 0  # it stands in the list of the package
        assert directions("next to", symmetric=["near"]) == 1


class TestCooccurring:
    def n_of(self, graph, fake_encoder, picture):
        options = {"cooccurring": "exclude", "vocabulary_graphs": [{**DOG, "image_id": "x"}], "return_items": True}
        items = score([graph], {"a": picture(0)}, fake_encoder(), **options)["items"]
        return [(item["predicate"], item["status"], item["n"]) for item in items]

    def test_another_spelling_is_the_same_truth(self, two_objects, fake_encoder, picture):
        """Candidates on, beside, near: "on" is ranked without "near", however that is written, and the other way round."""
        graph = two_objects(relations=[(0, "On", 1), (0, "NEAR_", 1)], width=64, height=48)
        assert self.n_of(graph, fake_encoder, picture) == [("On", "scored", 2), ("NEAR_", "scored", 2)]

    def test_a_repeat_is_the_same_truth(self, two_objects, fake_encoder, picture):
        relations = [(0, "on", 1), (0, "NEAR ", 1), (0, "near", 1), (0, "near", 1)]
        found = self.n_of(two_objects(relations=relations, width=64, height=48), fake_encoder, picture)
        kept, duplicate = ("scored", 2), ("duplicate", None)
        assert found == [("on", *kept), ("NEAR ", *kept), ("near", *duplicate), ("near", *duplicate)]

    def test_what_holds_the_other_way_round_stays(self, two_objects, fake_encoder, picture):
        """ "mat beside dog" is not said of dog and mat: its list is whole."""
        graph = two_objects(relations=[(0, "on", 1), (1, "beside", 0)], width=64, height=48)
        assert self.n_of(graph, fake_encoder, picture)[0] == ("on", "scored", 3)
