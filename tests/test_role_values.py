"""Role values from rows: the examples by hand, matching, and all keys beside the slow reference."""

import json
import warnings

import numpy as np
import pytest
from reference import ssg_reference
from ssg_rows_kit import contact, frame, random_rows

import sgeval
from sgeval.errors import InvalidInput, SgevalError
from sgeval.roles import State
from sgeval.rows import Rows
from sgeval.situation import Options, score_rows, state_of_rows, summarise, summarise_state

A = frame("A", {"tool": "pen", "place": "desk"})
B = frame("B", {"tool": "cup", "place": "table"})
C = frame("C", {"tool": "knife"})
FLOOR = frame("A", {"tool": "pen", "place": "floor"})
THREE = {"tool": "hand", "place": "desk", "manner": "firmly"}


def score(predictions, references, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sgeval.ssg_role_values(predictions, references, **options)


class TestByHand:
    def test_fc40_role_accuracy_is_not_value_all(self):
        """A pen right, desk wrong; B and C right. value 3/3, value-two 1/3 (of at most 2/3; 1/2 of the eligible),
        value-all 2/3; tool 3/3, place 1/2: mean 3/4, where the pooled roles give 4/5."""
        found = score([C, FLOOR, B], [A, B, C])
        assert found["value"] == 100 and found["value_two"] == 100 / 3 and found["value_all"] == 200 / 3
        assert (found["role_accuracy"], found["per_role_accuracy"]) == (75, 80)
        assert (found["value_two_ceiling"], found["value_two_eligible"]) == (200 / 3, 50)
        # tool: three classes, all right. place: desk 0, floor 0, table 1: a third each. (100 + 100/3) / 2
        assert found["role_precision"] == found["role_recall"] == found["role_f1"] == pytest.approx(200 / 3)

    def test_fc39_verbs_and_their_roles(self):
        """Truth a a b c, predicted a b b b, as verbs and as values of one role under given verbs."""
        truth, said = "aabc", "abbb"
        gold = [contact(number, verb, {"tool": verb}) for number, verb in enumerate(truth)]
        mine = [contact(number, verb, {"tool": verb}) for number, verb in enumerate(said)]
        found = score(mine, gold, verb_setting="gold")
        for name in ("verb_{}", "role_{}", "verb_role_{}"):
            values = [found[name.format(of)] for of in ("precision", "recall", "f1")]
            assert values == pytest.approx([400 / 9, 50, 700 / 18])
        assert found["verb_accuracy"] == found["role_accuracy"] == 50

    def test_fc41_a_wrong_verb_costs_its_roles(self):
        gold, said = [contact("f", "hold", THREE), A], [contact("f", "wipe", THREE), A]
        found = score(said, gold)
        names = ("value", "value_two", "value_all", "role_accuracy", "per_role_value", "per_role_accuracy", "accuracy")
        assert [found[f"verb_{name}"] for name in names] == [0] * 7
        assert (found["n_verb_frames"], found["n_wrong_verbs"], found["n_roles"]) == (1, 1, 5)
        assert (found["value"], found["per_role_value"]) == (50, 40)  # 1 of 2 frames, 2 of 5 roles
        given = score(said, gold, verb_setting="gold")
        assert [given[f"verb_{name}"] for name in names] == [100] * 6 + [0]
        assert "verbs:top1" in found["signature"] and "verbs:gold" in given["signature"]
        assert {**given, "signature": ""} == {**score(said, gold, config="gold_verb"), "signature": ""}

    def test_fc42_no_roles_at_all(self):
        found = score([A, frame("D")], [A, frame("D")])
        assert (found["n_frames"], found["n_empty_frames"], found["value"]) == (1, 1, 100)
        empty = [frame("D"), contact("D", "hold", {})]
        with pytest.raises(SgevalError, match="references: expected at least one frame with roles, got 2 without any"):
            score(empty, empty)

    def test_sets_of_values_have_two_readings(self):
        """Gold tool {pen, ruler}, place {desk}; said pen, desk: frame by frame both roles are right; role by role one of
        two and one of one values were found."""
        gold, said = [frame("A", {"tool": ["pen", "ruler"], "place": ["desk"]})], [A]
        for setting in ("top1", "gold"):
            found = score(said, gold, verb_setting=setting)
            assert [found[name] for name in ("value", "value_two", "value_all")] == [100, 100, 100]
            assert [found[f"per_role_{name}"] for name in ("value", "value_two", "value_all")] == [100, 0, 50]
        assert (found["per_role_value_two_ceiling"], found["n_several_values"]) == (50, 1)
        both = score([frame("A", {"tool": ["ruler", "x", "pen"], "place": "desk"})], gold)
        assert [both[f"per_role_{name}"] for name in ("value", "value_two", "value_all")] == [100, 50, 100]
        assert both["n_several_predicted"] == 1 and both["role_f1"] == 100

    def test_which_value_stands_for_several(self):
        """Wrong: the first of each. Right: the first predicted one that both have. {pen, ruler} against {cup, ruler} is
        ruler for ruler, {pen, ruler} against {cup, mug} is cup for pen."""
        gold = [frame(name, {"tool": ["pen", "ruler"]}) for name in "AB"]
        said = [frame("A", {"tool": ["cup", "ruler"]}), frame("B", {"tool": ["cup", "mug"]})]
        (row,) = score(said, gold, return_items=True)["roles"]
        # classes ruler (1, 1, 1), pen (1, 0, 0), cup (0, 1, 0)
        assert row["n_classes"] == 3 and row["accuracy"] == 50
        assert row["precision"] == row["recall"] == pytest.approx(100 / 3)

    def test_the_shared_value_is_the_first_predicted_one(self):
        """{a, b} against {b, a} is b for b; {a} against {c} is c for a. Classes a (1, 0, 0), b (1, 1, 1), c (0, 1, 0):
        precision 1/3. In the annotation's order it would be a for a: a (2, 1, 1), c (0, 1, 0), precision 1/2."""
        gold = [frame("A", {"tool": ["a", "b"]}), frame("B", {"tool": "a"})]
        found = score([frame("A", {"tool": ["b", "a"]}), frame("B", {"tool": "c"})], gold)
        assert found["role_precision"] == pytest.approx(100 / 3)

    def test_ratios_are_percent_of_whole_frames(self):
        """Two of three frames of one kind, none of the others: what has no frame is None, and counted as 0 frames."""
        found = score([A, B], [A, B, C])
        assert found["object_value"] == 200 / 3 and found["person_value"] is found["verb_accuracy"] is None
        assert (found["n_person_frames"], found["n_missing_frames"], found["n_missing_roles"]) == (0, 1, 1)


class TestMatching:
    def test_neither_order_nor_form_of_ids_matters(self):
        gold = [frame("7", {"a": "x"}, object_id=1), frame("7", {"a": "y"}, object_id="2")]
        said = [frame(7, {"a": "y"}, object_id=2.0), frame("7", {"a": "x"}, object_id=np.int64(1))]
        assert score(said, gold)["value_all"] == 100

    def test_kinds_of_one_object_are_apart(self):
        gold = [frame("f", {"a": "x"}, "person", None, 0, None), frame("f", {"a": "y"}, "object", None, None, 0)]
        assert score(gold[::-1], gold)["value_all"] == 100

    def test_missing_and_extra_roles(self):
        found = score([frame("A", {"tool": "pen", "color": "red", "size": "big"})], [A], return_items=True)
        assert (found["value"], found["value_all"], found["role_accuracy"]) == (100, 0, 50)
        assert (found["n_missing_roles"], found["n_extra_roles"]) == (1, 2)
        assert found["items"][0]["extra_roles"] == ["color", "size"]
        assert score([frame("A", {"tool": None, "place": []})], [A])["n_missing_roles"] == 2

    def test_a_missing_row_is_wrong(self):
        found = score([A], [A, B])
        assert (found["value"], found["n_missing_frames"]) == (50, 1)
        with pytest.raises(InvalidInput, match='predictions: expected the object "1" in frame "B", got none'):
            score([A], [A, B], missing="error")
        assert score([], [A, B])["value"] == 0

    def test_pictures_without_any_prediction_are_told(self):
        with pytest.warns(UserWarning, match="predictions: have nothing for 1 of 2 pictures"):
            sgeval.ssg_role_values([A], [A, B])

    def test_an_unknown_row_is_an_error(self):
        strange = [C, contact("A", "hold", {"tool": "pen"})]
        with pytest.raises(InvalidInput) as caught:
            score([A, *strange], [A])
        assert caught.value.faults == (
            'predictions[1]: expected a frame of the references, got the object "1" in frame "C"',
            'predictions[2]: expected a frame of the references, got the verb of "0" and "1" in frame "A"',
        )
        found = score([A, *strange], [A], on_invalid="skip", return_items=True)
        assert (found["value"], found["n_unknown_frames"], len(found["items"])) == (100, 2, 3)
        assert [item["status"] for item in found["items"]] == ["scored", "unknown", "unknown"]

    def test_a_prediction_for_an_empty_frame_is_no_stranger(self):
        assert score([A, frame("D", {"a": "x"})], [A, frame("D")])["n_unknown_frames"] == 0

    def test_the_first_verb_frame_of_a_pair(self):
        gold = [contact("f", "hold", {"a": "x"}), contact("f", "wipe", {"a": "y"}), contact("f", "hold", {"a": "z"})]
        found = score(gold[1:], gold)
        assert (found["verb_accuracy"], found["n_verb_frames"]) == (0, 1)
        assert (found["n_extra_verb_frames"], found["n_extra_predicted"]) == (2, 1)
        assert score(gold, gold)["verb_value_all"] == 100

    def test_a_verb_without_roles_counts_for_the_verb_alone(self):
        """Two pairs. Of the first, look at comes first and has no roles: two verbs, one frame with a role."""
        gold = [
            contact("f", "look at", {}),
            contact("f", "hold", {"a": "x"}),
            contact("f", "wipe", {"a": "y"}, object_id=2),
        ]
        counts = ("n_verbs", "n_verb_frames", "n_empty_frames", "n_extra_verb_frames", "n_roles")
        found = score(gold, gold)
        assert [found[name] for name in counts] == [2, 1, 1, 1, 1]
        assert [found[f"verb_{name}"] for name in ("accuracy", "value", "value_all", "f1")] == [100] * 4
        said = [contact("f", "hold", {"a": "x"}), gold[2]]
        found = score(said, gold, return_items=True)  # look at is missed: 1 of 2; the one frame with a role is right
        assert (found["verb_accuracy"], found["verb_value"], found["n_wrong_verbs"], found["n_no_verb"]) == (
            50,
            100,
            1,
            0,
        )
        first, further, _ = found["items"]
        assert (first["status"], first["verb_right"], first["value"]) == ("empty", False, None)
        assert (further["status"], further["verb_right"]) == ("extra_verb_frame", None)
        tables = {row["verb"]: (row["n"], row["n_predicted"], row["accuracy"], row["value"]) for row in found["verbs"]}
        assert tables == {"look at": (1, 0, 0, None), "wipe": (1, 1, 100, 100), "hold": (0, 1, None, None)}
        found = score([gold[2]], gold)
        assert (found["verb_accuracy"], found["n_missing_frames"], found["n_no_verb"]) == (50, 1, 1)
        with pytest.raises(InvalidInput, match='expected the verb of "0" and "1" in frame "f", got none'):
            score([gold[2]], gold, missing="error")

    def test_one_predicted_verb_the_first(self):
        """The first predicted frame of a pair is the prediction, whatever its roles: there is one verb a pair."""
        gold = [contact("f", "hold", {"a": "x"})]
        found = score([contact("f", "hold", {}), *gold], gold)
        assert (found["verb_accuracy"], found["verb_value"], found["n_extra_predicted"]) == (100, 0, 1)
        found = score([contact("f", "wipe", {}), *gold], gold)
        assert (found["verb_accuracy"], found["verb_value"]) == (0, 0)

    def test_pictures_with_verbs_alone_are_drawn_too(self):
        """p has a right verb with a role, q a wrong one without: replicates of the verb accuracy are 0, 50 or 100."""
        gold = [contact("p", "hold", {"a": "x"}), contact("q", "hold", {})]
        found = score([gold[0], contact("q", "wipe", {})], gold, bootstrap=100)
        assert (found["n_pictures"], found["verb_accuracy"], found["value"]) == (2, 50, 100)
        assert (found["verb_accuracy_percentile_low"], found["verb_accuracy_percentile_high"]) == (0, 100)
        assert found["value_low"] is None

    def test_verbs_that_nobody_predicted(self):
        gold, said = [contact("f", "hold", THREE)], [contact("f", None, THREE)]
        with pytest.warns(UserWarning, match="under the top-1 rule all of them are wrong"):
            found = sgeval.ssg_role_values(said, gold)
        assert (found["verb_accuracy"], found["verb_value"], found["n_no_verb"]) == (0, 0, 1)
        found = score(said, gold, verb_setting="gold")
        assert found["verb_accuracy"] is found["verb_f1"] is None and found["verb_value_all"] == 100

    def test_a_limit_takes_the_first_pictures(self):
        gold = [A, frame("A", {"x": "y"}, object_id=2), B, C]
        found = score([A, B], gold, limit=1)
        assert (found["n_frames"], found["n_pictures"], found["value"]) == (2, 1, 50)
        strange = score([A, frame("Z", {"a": "x"})], gold, limit=1, on_invalid="skip")
        assert strange["n_unknown_frames"] == 0  # of the frames that were asked for none is unknown
        assert "|limit:1|" in found["signature"]
        with pytest.raises(SgevalError, match="limit: expected a whole number"):
            score([A], [A], limit=0)


class TestWhole:
    @pytest.mark.parametrize("setting", ["top1", "gold"])
    @pytest.mark.parametrize("seed", range(8))
    def test_as_the_slow_reference_in_all_keys(self, seed, setting):
        predictions, references = random_rows(seed, 25 + seed)
        core = score(predictions, references, verb_setting=setting, return_items=True)
        slow = ssg_reference.score(predictions, references, setting)
        by_role, by_verb = slow.pop("by_role"), slow.pop("by_verb")
        rest = {"items", "roles", "verbs", "signature", "n_invalid", "n_unknown_frames"}
        assert core.keys() - slow.keys() == rest and core["n_invalid"] == core["n_unknown_frames"] == 0
        assert {key: core[key] for key in slow} == pytest.approx(slow, abs=1e-9)
        tables = ((core["roles"], by_role, ("kind", "role")), (core["verbs"], by_verb, ("verb",)))
        for rows, expected, names in tables:
            found = {}
            for row in rows:
                key = tuple(row.pop(name) for name in names)
                found[key if len(key) > 1 else key[0]] = row
            assert found.keys() == expected.keys()
            for key, row in found.items():
                assert row == pytest.approx(expected[key], abs=1e-9)

    @pytest.mark.parametrize("seed", range(6))
    def test_gold_against_itself(self, seed):
        _, gold = random_rows(seed, 30)
        found = score(gold[::-1] if seed % 2 and not any(row["verb"] for row in gold) else gold, gold)
        scores = {key: value for key, value in found.items() if not key.startswith("n_") and key != "signature"}
        for key, value in scores.items():
            if not key.endswith("ceiling"):
                assert value in (None, scores.get(f"{key}_ceiling", 100)), key

    def test_the_order_of_rows_does_not_matter(self):
        rng = np.random.default_rng(0)
        predictions, references = ([row for row in side if row["kind"] != "verb"] for side in random_rows(3, 40))
        expected = score(predictions, references, bootstrap=20)
        for _ in range(3):
            mixed = [[side[index] for index in rng.permutation(len(side))] for side in (predictions, references)]
            assert score(*mixed, bootstrap=20) == expected

    @pytest.mark.parametrize("seed", range(3))
    def test_states_of_any_split_of_the_rows_merge_to_the_result(self, seed):
        predictions, references = random_rows(seed, 40)
        options = Options()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scoring = score_rows(predictions, references, options)
        whole = summarise(scoring.rows, options, scoring.signature)
        owner = np.random.default_rng(seed).integers(0, 5, len(scoring.rows.items))
        merged = State()
        for part in (3, 0, 4, 1, 2):
            mine = tuple(row for row, own in zip(scoring.rows.items, owner, strict=True) if own == part)
            merged = merged.merge(state_of_rows(Rows(items=mine), options))
        found = summarise_state(merged, options, scoring.signature)
        assert found == {key: value for key, value in whole.items() if key != "n_pictures"}
        assert found == summarise_state(scoring.state(), options, scoring.signature)

    def test_parts_of_the_input_merge_too(self):
        """Split by pictures, which no pair crosses, each part goes through the border by itself."""
        predictions, references = random_rows(1, 40)
        names = sorted({str(row["frame_id"]) for row in references})
        total = State()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for own in (names[::2], names[1::2]):
                sides = ([row for row in side if row["frame_id"] in own] for side in (predictions, references))
                total = total.merge(score_rows(*sides).state())
            whole = score_rows(predictions, references)
        assert summarise_state(total, Options(), "x") == summarise_state(whole.state(), Options(), "x")

    def test_intervals(self):
        """Four pictures of one frame each, two of them right: the interval of value is that of a mean of 0 0 1 1."""
        gold = [frame(name, {"a": "x", "b": "y"}) for name in "pqrs"]
        said = [*gold[:2], *(frame(name, {"a": "z", "b": "y"}) for name in "rs")]
        found = score(said, gold, bootstrap=200, return_items=True)
        assert found["value_all"] == 50 and 0 <= found["value_all_low"] <= 50 <= found["value_all_high"] <= 100
        # b is always right: half of what a varies by
        assert found["role_accuracy_low"] == pytest.approx(50 + found["value_all_low"] / 2)
        assert found["value_low"] is None and found["verb_accuracy_low"] is None and found["person_value_low"] is None
        a, b = found["roles"]
        assert (a["accuracy_low"], a["accuracy_high"]) == (found["value_all_low"], found["value_all_high"])
        assert b["accuracy_low"] is None
        assert found == score(said, gold, bootstrap=200, return_items=True)
        assert found["value_all_high"] != score(said, gold, bootstrap=21, seed=5)["value_all_percentile_low"]

    def test_intervals_of_each_table_and_of_the_pooled_roles(self):
        """Four pictures with a person and an object of one role name; half of the persons and one object are right.
        The interval of a role is that of its kind; the pooled one that of all eight values, 3/8."""
        ids = (("person", 0, None), ("object", None, 1))
        gold = [frame(name, {"a": "x"}, kind, None, *rest) for name in "pqrs" for kind, *rest in ids]
        said = [
            {**row, "roles": [{"role": "a", "value": "xzxzxxzz"[n] if n != 4 else "z"}]} for n, row in enumerate(gold)
        ]
        found = score(said, gold, bootstrap=200, return_items=True)
        assert found["role_accuracy"] == found["value"]
        for end in ("low", "high", "percentile_low", "percentile_high"):
            assert found[f"role_accuracy_{end}"] == pytest.approx(found[f"value_{end}"])
            for name in ("per_role_accuracy", "per_role_value_all", "value_all"):  # one value a role
                assert found[f"{name}_{end}"] == pytest.approx(found[f"value_{end}"]), name

    def test_the_interval_of_per_role_accuracy_is_over_all_values(self):
        """Two of three pictures have one of two values, one has both: value is 100 everywhere, accuracy is not."""
        gold = [frame(name, {"a": ["x", "y"]}) for name in "pqr"]
        said = [frame("p", {"a": "x"}), frame("q", {"a": "y"}), gold[2]]
        found = score(said, gold, bootstrap=100)
        assert found["per_role_value_low"] is None and found["per_role_accuracy"] == pytest.approx(100 / 3)
        assert found["per_role_accuracy_percentile_low"] == 0 and found["per_role_accuracy_percentile_high"] > 60

    def test_intervals_of_each_verb(self):
        """hold is right in p and wrong in q, wipe is right in both: 0, 50 or 100 for the one, no spread for the other."""
        gold = [contact(name, verb, {"a": "x"}, at) for name in "pq" for at, verb in enumerate(("hold", "wipe"))]
        said = [*gold[:2], {**gold[2], "verb": "wipe"}, gold[3]]
        wipe, hold = score(said, gold, bootstrap=100, return_items=True)["verbs"]  # wipe is predicted more often
        assert (hold["verb"], hold["accuracy"], hold["accuracy_high"]) == ("hold", 50, 100)
        assert (wipe["accuracy"], wipe["accuracy_low"]) == (100, None)

    def test_the_result_is_plain(self):
        predictions, references = random_rows(2, 20)
        found = score(predictions, references, bootstrap=20, return_items=True)
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        assert {type(value) for value in found.values()} <= {float, int, str, type(None), list}

    def test_rows_of_items(self):
        gold, said = [contact("f", "hold", {"a": ["x", "y"], "b": "z"})], [contact("f", "wipe", {"a": "y"})]
        (item,) = score(said, gold, return_items=True)["items"]
        assert item["roles"] == [
            {"role": "a", "gold": ["x", "y"], "predicted": ["y"], "right": False},
            {"role": "b", "gold": ["z"], "predicted": [], "right": False},
        ]
        assert (item["verb"], item["predicted_verb"], item["verb_right"], item["value"]) == (
            "hold",
            "wipe",
            False,
            False,
        )
        (item,) = score(said, gold, return_items=True, verb_setting="gold")["items"]
        assert (item["roles"][0]["right"], item["n_right"], item["value"], item["value_two"]) == (True, 1, True, False)


class TestOptions:
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"verb_setting": "top2"}, "verb_setting: expected one of top1, gold"),
            ({"missing": "skip"}, "missing: expected one of zero, error"),
            ({"config": "role"}, 'config: expected one of roles, gold_verb, vqa, got "role"; did you mean "roles"'),
            ({"verbsetting": "gold"}, 'did you mean "verb_setting"'),
            (
                {"limits": 3},
                "config, verb_setting, max_values, missing, limit, return_items, on_invalid, bootstrap, seed, got",
            ),
            ({"bootstrap": 3}, "bootstrap: expected 0"),
            ({"config": "gold_verb", "verb_setting": "top1"}, 'verb_setting: expected "gold" with config="gold_verb"'),
            ({"config": "vqa", "verb_setting": "gold"}, "which has no verbs"),
        ],
    )
    def test_refusals(self, given, words):
        with pytest.raises(SgevalError, match=words):
            score([A], [A], **given)

    def test_sides_that_are_not_there(self):
        with pytest.raises(SgevalError, match="references: expected rows of frames, or scene graphs, got nothing"):
            sgeval.ssg_role_values([A])
        with pytest.raises(SgevalError, match="references: expected at least one frame, got none"):
            score([A], [])
