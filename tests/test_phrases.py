"""Labels, their two normalisations, and the text of a triplet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgeval.errors import InvalidInput, SgevalError
from sgeval.phrases import canonical, check_template, object_words, triplet_text, words
from sgeval.relclip import relclipscore
from sgeval.validation import parse_graphs


class TestWords:
    @pytest.mark.parametrize(
        ("label", "expected"),
        [
            ("in_front_of", "in front of"),
            ("  on   top\tof ", "on top of"),
            ("a\u00a0b", "a b"),  # no-break space
            ("cafe\u0301", "caf\u00e9"),  # NFC
            ("In-front-of", "In-front-of"),  # case and hyphens stay
            ("closet/cabinet", "closet/cabinet"),
            ("person_1", "person 1"),  # only objects lose a number
        ],
    )
    def test_fc29_predicates(self, label, expected):
        assert words(label) == expected

    @pytest.mark.parametrize(
        ("label", "expected"),
        [
            ("person_1", "person"),
            ("1_person", "person"),
            ("dining_table_12", "dining table"),
            ("traffic light", "traffic light"),
            ("t-shirt", "t-shirt"),
            ("wall-other-merged", "wall"),
            ("floor-other-merged_3", "floor"),
            ("tree-merged", "tree"),
            ("water-other", "water"),
            ("door-stuff", "door"),
            ("wall-brick", "wall-brick"),
            ("other", "other"),
            ("3d_printer", "3d printer"),
            ("closet/cabinet", "closet/cabinet"),
            ("-other", "-other"),  # nothing else left: stays
        ],
    )
    def test_fc29_objects(self, label, expected):
        assert object_words(label) == expected

    def test_fc29_one_predicate_in_three_spellings(self):
        assert {canonical("in_front_of"), canonical("in-front-of "), canonical("IN front  of")} == {"in front of"}

    def test_fc29_inflection_is_not_guessed(self):
        """`wears` and `wearing` are two predicates: only the listed spelling rules apply."""
        assert canonical("wears") != canonical("wearing")

    @given(label=st.text(max_size=20))
    def test_canonical_never_raises_and_groups_stay_equal(self, label):
        assert canonical(label) == canonical(label.replace("-", "_")) == canonical(f" {label} ")
        assert "  " not in canonical(label) and "_" not in canonical(label)


class TestTripletText:
    def test_fc29_decorations_do_not_leak(self):
        assert triplet_text("person_1", "in_front_of", "2_horse") == "person in front of horse"

    def test_none_touches_nothing(self):
        assert (
            triplet_text("person_1", "in_front_of ", "Wall-merged", normalisation="none")
            == "person_1 in_front_of  Wall-merged"
        )

    def test_blip2_template(self):
        found = triplet_text("dog", "on", "mat", "a photo of a {subject} {predicate} {object}")
        assert found == "a photo of a dog on mat"

    def test_braces_in_a_label_are_text(self):
        """A stranger's label must not be read as a format string."""
        assert triplet_text("{object}", "{0.real}", "{") == "{object} {0.real} {"


class TestTemplate:
    @pytest.mark.parametrize(
        "template",
        [
            "",
            "{subject} {object}",
            "{subject} {predicate} {object} {other}",
            "{} {} {}",
            "{0} {1} {2}",
            "{subject!r} {predicate} {object}",
            "{subject:>9} {predicate} {object}",
            "{subject.__class__} {predicate} {object}",
            "{subject[0]} {predicate} {object}",
            "{subject {predicate} {object}",
            "subject predicate object",
        ],
    )
    def test_refused_with_the_slots(self, template):
        with pytest.raises(
            SgevalError, match=r"template: expected the slots \{subject\}, \{predicate\} and \{object\}"
        ):
            check_template(template)

    def test_taken(self):
        for template in ("{object} {predicate} {subject}", "{{x}} {subject} {predicate} {object} {subject}"):
            assert check_template(template) == template

    def test_not_a_text(self):
        with pytest.raises(SgevalError, match="template: expected"):
            check_template(5)


class TestFC28EmptyWords:
    """FC28: nothing empty is ever scored: validation names the place; with skip it is counted as invalid."""

    @pytest.mark.parametrize("predicate", [None, "", "   ", "\t\n", "\u00a0", "\u3000"])
    def test_fc28_predicate(self, two_objects, predicate):
        row = two_objects(relations=[(0, predicate, 1)])
        with pytest.raises(InvalidInput, match=r"predictions\[0\]\.relations\[0\]\.predicate: expected a text with"):
            parse_graphs([row])
        skipped = parse_graphs([row], on_invalid="skip")
        assert skipped.n_invalid == 1 and skipped.graphs[0].relations == ()

    @pytest.mark.parametrize("category", [None, "", "  "])
    def test_fc28_subject(self, two_objects, category, fake_encoder, picture):
        row = two_objects(relations=[(0, "on", 1), (1, "by", 0)])
        row["objects"][0]["category"] = category
        with pytest.raises(InvalidInput, match=r"predictions\[0\]\.objects\[0\]\.category: expected a text with"):
            parse_graphs([row])
        encoder = fake_encoder()
        result = relclipscore([row], images=[picture(0)], model=encoder, on_invalid="skip")
        assert result["n_invalid"] == 3, "the object and the two relations that go with it"
        assert encoder.n_texts == 0

    @pytest.mark.parametrize("predicate", ["_", " _ ", "__", "\u200b", "\u2060"])
    def test_fc28_nothing_is_left_after_normalisation(self, two_objects, predicate, fake_encoder, picture):
        """Relatives: underscores alone, and characters without width, are no words."""
        encoder = fake_encoder()
        row = two_objects(relations=[(0, predicate, 1), (0, "on", 1)])
        result = relclipscore([row], images=[picture(0)], model=encoder, on_invalid="skip")
        assert encoder.texts == [["dog on mat"]] and result["n_invalid"] == 1
