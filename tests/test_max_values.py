"""A number of predicted values a role (`max_values`) in the role values, worked by hand."""

import pytest
from kit import parts

import sgeval
from sgeval.errors import SgevalError
from sgeval.situation import Options, score_rows

ROLES = {"tool": "pen", "place": "desk"}
EVERY = ["cup", "pen", "desk", "knife"]


def frame(roles, kind="object", verb=None):
    listed = [
        {"role": role, "values": value} if isinstance(value, list) else {"role": role, "value": value}
        for role, value in roles.items()
    ]
    ids = {"subject_id": 0, "object_id": 1} if kind == "verb" else {"object_id": 1}
    return {"frame_id": "f", "kind": kind, "verb": verb, "roles": listed, **ids}


class TestRows:
    def test_the_first_values_count(self):
        """Every value is named: pen is the second, desk the third. N = 1: 0 of 2 roles; N = 2: 1; N = 3: 2; 8 said in all."""
        said = [frame({"tool": EVERY, "place": EVERY})]
        for most, right, over in ((1, 0, 6), (2, 1, 4), (3, 2, 2), (None, 2, None)):
            result = sgeval.ssg_role_values(said, [frame(ROLES)], max_values=most)
            assert result["role_accuracy"] == 50 * right and result["per_role_value"] == 50 * right
            assert result["value_all"] == (100 if right == 2 else 0)
            assert result.get("n_over_limit") == over

    def test_repeats_are_one_value(self):
        result = sgeval.ssg_role_values(
            [frame({"tool": ["cup", "cup", "pen"]})], [frame({"tool": "pen"})], max_values=2
        )
        assert result["value"] == 100 and result["n_over_limit"] == 0

    def test_values_of_roles_that_nobody_annotated_are_not_counted(self):
        result = sgeval.ssg_role_values([frame({"tool": "pen", "mood": EVERY})], [frame({"tool": "pen"})], max_values=1)
        assert (result["n_over_limit"], result["n_extra_roles"]) == (0, 1)

    def test_a_role_with_a_set_of_values(self):
        """Gold {pen, ruler}: with N = 1 one of two is found at most."""
        gold, said = [frame({"tool": ["pen", "ruler"]})], [frame({"tool": ["ruler", "pen"]})]
        result = sgeval.ssg_role_values(said, gold, max_values=1)
        assert (result["value"], result["per_role_value"], result["per_role_value_two"]) == (100, 100, 0)

    def test_precision_is_of_what_counts(self):
        """The first value is wrong: a false alarm of "cup" and a miss of "pen"."""
        result = sgeval.ssg_role_values([frame({"tool": EVERY})], [frame({"tool": "pen"})], max_values=1)
        assert result["role_precision"] == result["role_recall"] == result["role_f1"] == 0


class TestVerbs:
    def test_of_several_verbs_of_a_pair_the_first_counts(self):
        verbs = [frame({"tool": "hand"}, "verb", verb) for verb in ("wipe", "hold", "carry")]
        result = sgeval.ssg_role_values(verbs, [frame({"tool": "hand"}, "verb", "hold")], max_values=1)
        assert result["verb_accuracy"] == result["verb_value"] == 0 and result["n_extra_predicted"] == 2

    def test_in_graphs_the_surest(self):
        """Three verbs of one pair; the role "tool" of the surest is said twice, the wrong value first."""
        gold, said = (
            {
                "image_id": "f",
                "objects": [{"id": 0, "category": "person"}, {"id": 1, "category": "cup"}],
                "relations": relations,
            }
            for relations in (
                [{"subject_id": 0, "object_id": 1, "predicate": "hold", "roles": [{"role": "tool", "value": "hand"}]}],
                [
                    {"subject_id": 0, "object_id": 1, "predicate": verb, "score": score, "roles": roles}
                    for verb, score, roles in (
                        ("wipe", 0.2, []),
                        ("hold", 0.9, [{"role": "tool", "value": value} for value in ("foot", "hand")]),
                        ("carry", 0.5, []),
                    )
                ],
            )
        )
        every = sgeval.ssg_role_values([said], [gold])
        first = sgeval.ssg_role_values([said], [gold], max_values=1)
        assert every["verb_accuracy"] == first["verb_accuracy"] == 100
        assert (every["verb_value"], first["verb_value"], first["n_over_limit"]) == (100, 0, 1)


class TestOption:
    @pytest.mark.parametrize("given", [0, -1, 1.5, "3", True])
    def test_refused(self, given):
        with pytest.raises(SgevalError, match="max_values: expected a whole number of 1 or more"):
            sgeval.ssg_role_values([frame(ROLES)], [frame(ROLES)], max_values=given)

    def test_none_with_multiple_choice(self):
        asked = [{"question_id": 1, "options": ["a", "b"], "answer": "a"}]
        with pytest.raises(SgevalError, match='max_values: expected none with config="vqa"'):
            sgeval.ssg_role_values([{"question_id": 1, "answer": "a"}], asked, config="vqa", max_values=1)

    def test_the_signature_says_it_only_where_it_is_set(self):
        plain, limited = (
            parts(sgeval.ssg_role_values([frame(ROLES)], [frame(ROLES)], max_values=most)) for most in (None, 1)
        )
        assert "maxvalues" not in plain and limited == {**plain, "maxvalues": "1"}

    def test_states_of_parts_add_up(self):
        rows = [{**frame({"tool": EVERY}), "frame_id": name} for name in "ab"]
        gold = [{**frame({"tool": "pen"}), "frame_id": name} for name in "ab"]
        options = Options(max_values=1)
        halves = [score_rows([one], [two], options).state() for one, two in zip(rows, gold)]
        merged, whole = halves[0].merge(halves[1]), score_rows(rows, gold, options).state()
        assert merged.counts == whole.counts and merged.count("n_over_limit") == 6
        assert merged.items == whole.items and merged.classes.by_name() == whole.classes.by_name()

    def test_the_module_takes_it(self):
        import evaluate

        metric = evaluate.load(sgeval.path("ssg_role_values"))
        said, gold = [frame({"tool": EVERY})], [frame({"tool": "pen"})]
        expected = sgeval.ssg_role_values(said, gold, max_values=1)
        assert metric.compute(predictions=said, references=gold, max_values=1) == expected and expected["value"] == 0
