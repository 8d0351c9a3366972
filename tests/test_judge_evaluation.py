"""Names of judges, and what `sgeval judge evaluate` says of one."""

import json
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from sgeval.cli.app import app
from sgeval.errors import ModelUnavailable, SgevalError
from sgeval.judges import DEFAULT_JUDGE, make, make_judge
from sgeval.judges.evaluation import evaluate_judge, kappa, kappa_of
from sgeval.judges.gold import GoldPair, read_gold
from sgeval.judges.labels import normal
from sgeval.judges.verdicts import CATEGORIES, Pair, Verdict


class Table:
    """A judge by a function of the pair."""

    def __init__(self, name, rule):
        self.name, self.rule = name, rule

    def __call__(self, pairs):
        return [self.rule(pair) for pair in pairs]


class TestNames:
    def test_by_name(self):
        assert make_judge("exact").name == "exact" and make_judge("wordnet").name == "wordnet"

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("wordnte", 'got "wordnte"; did you mean "wordnet"?'),
            ("Exact", 'expected one of exact, wordnet, embedding:MODEL or provider/model, got "Exact"'),
            ("embedding:", 'got "embedding:"'),
            ("", 'got ""'),
            (7, "judge: expected a name or a callable, got 7"),
        ],
    )
    def test_unknown(self, name, words):
        with pytest.raises(SgevalError) as caught:
            make_judge(name)
        assert words in str(caught.value)

    def test_options_are_for_language_models(self):
        with pytest.raises(SgevalError, match='judge "exact": expected no options, got batch, seed'):
            make_judge("exact", batch=3, seed=1)

    def test_the_default_announces_itself_once(self):
        make._announce.cache_clear()
        with pytest.warns(
            UserWarning, match='"wordnet" judges the labels, by WordNet 3.0 and offline, since none was named'
        ):
            assert make_judge().name == DEFAULT_JUDGE == "wordnet"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert make_judge(None).name == "wordnet"
            make_judge("wordnet")

    def test_a_language_model_without_its_module(self, monkeypatch):
        def absent(name):
            raise ModuleNotFoundError(f"No module named {name!r}")

        monkeypatch.setattr(make, "import_module", absent)
        with pytest.raises(
            ModelUnavailable, match='judge "openai/gpt-4o-mini": expected a judge that asks language models'
        ):
            make_judge("openai/gpt-4o-mini")

    def test_a_language_model_gets_form_vocabulary_and_options(self, monkeypatch):
        class Module:
            @staticmethod
            def LlmJudge(name, *, batch=1, normalisation="", known=()):
                return name, {"batch": batch, "normalisation": normalisation, "known": known}

        monkeypatch.setattr(make, "import_module", lambda name: Module)
        name, options = make_judge("local/qwen", batch=5)
        assert name == "local/qwen" and options["batch"] == 5 and options["normalisation"] == "labels-2"
        assert "traffic light" in options["known"]
        with pytest.raises(
            SgevalError, match=r'judge "local/qwen", option: expected one of .* got "bach"; did you mean "batch"'
        ):
            make_judge("local/qwen", bach=5)

    def test_callables(self):
        def mine(pairs):
            return ["synonym", None, Verdict("overlap", "said so")]

        judge = make_judge(mine)
        assert judge.name == "callable:mine"
        found = judge([Pair("object", "a", "b")] * 3)
        assert found == [Verdict("synonym"), Verdict(None, "no answer"), Verdict("overlap", "said so")]
        own = Table("mine", None)
        assert make_judge(own) is own


def test_kappa_by_hand():
    # p_o = 35/50; margins 25, 25 and 30, 20: p_e = (25·30 + 25·20)/2500 = 1/2; (7/10 − 1/2)/(1/2) = 2/5
    assert kappa(np.array([[20, 5], [10, 15]])) == 0.4
    # p_o = 0; p_e = (1·1 + 1·1)/4 = 1/2; (0 − 1/2)/(1/2) = −1
    assert kappa(np.array([[0, 1], [1, 0]])) == -1.0
    # p_o = 4/6; margins 3, 2, 1 and 2, 2, 2: p_e = (6 + 4 + 2)/36 = 1/3; (2/3 − 1/3)/(2/3) = 1/2
    assert kappa(np.array([[2, 1, 0], [0, 1, 1], [0, 0, 1]])) == 0.5
    assert kappa(np.array([[3, 0], [0, 0]])) is None  # chance alone agrees wholly
    assert kappa(np.zeros((5, 5), int)) is None


def gold_of(*categories, families=None):
    rows = zip(categories, families or range(len(categories)))
    return [GoldPair(Pair("object", "a", "b"), one, "test", (f"f{family}",), "rule", {}) for one, family in rows]


class TestKappaOf:
    gold = gold_of("identical", "synonym", "hypernym", "mismatch", "mismatch", "overlap")
    said = [Verdict(one) for one in ("identical", "identical", "mismatch", "mismatch", "overlap")] + [
        Verdict(None, "x")
    ]

    def test_views(self):
        # judged: identical–identical, synonym–identical, hypernym–mismatch, mismatch–mismatch, mismatch–overlap
        # five: p_o = 2/5; rows 1,1,1,0,2; columns 2,0,0,1,2: p_e = (2 + 0 + 0 + 0 + 4)/25 = 6/25; (10 − 6)/(25 − 6) = 4/19
        assert kappa_of(self.gold, self.said, "five").value == pytest.approx(4 / 19)
        # lenient: yes–yes 2, yes–no 1, no–no 1, no–yes 1: p_o = 3/5, p_e = (3·3 + 2·2)/25 = 13/25; (15 − 13)/(25 − 13) = 1/6
        assert kappa_of(self.gold, self.said, "lenient").value == pytest.approx(1 / 6)
        # strict: yes–yes 1, no–yes 1, no–no 3: p_o = 4/5, p_e = (1·2 + 4·3)/25 = 14/25; (20 − 14)/(25 − 14) = 6/11
        assert kappa_of(self.gold, self.said, "strict").value == pytest.approx(6 / 11)

    def test_families_are_drawn_and_not_pairs(self):
        """Forty pairs of two families: all draws are of 0, 1 or 2 times a family, so kappa has three values at most."""
        gold = gold_of(*("identical", "mismatch") * 20, families=[number // 20 for number in range(40)])
        said = [Verdict(row.category) for row in gold[:20]] + [Verdict("mismatch")] * 20
        found = kappa_of(gold, said, "strict", bootstrap=200)
        # the whole: yes–yes 10, yes–no 10, no–no 20: p_o = 3/4, p_e = (20·10 + 20·30)/1600 = 1/2: 1/2
        assert (found.value, found.low, found.high) == (0.5, 0.0, 1.0)
        assert found == kappa_of(gold, said, "strict", bootstrap=200)
        by_pair = gold_of(*("identical", "mismatch") * 20)
        narrower = kappa_of(by_pair, said, "strict", bootstrap=200)
        assert 0.0 < narrower.low < 0.5 < narrower.high < 1.0

    def test_a_family_drawn_twice_counts_twice(self):
        """Against a slow reference: each draw written out as a list of pairs, kappa by counting."""
        sizes = (1, 2, 3, 5, 8, 13)
        families = [family for family, size in enumerate(sizes) for _ in range(size)]
        truth = ["identical" if n % 3 else "mismatch" for n in range(len(families))]
        answers = ["identical" if n % 2 or n % 5 == 0 else "mismatch" for n in range(len(families))]
        found = kappa_of(gold_of(*truth, families=families), [Verdict(one) for one in answers], "strict", 100, 3)
        values = []
        for replicate in range(100):
            drawn = np.random.default_rng([3, replicate]).integers(0, 6, 6)
            rows = [n for family in drawn for n in range(len(families)) if families[n] == family]
            pairs = [(truth[n] == "identical", answers[n] == "identical") for n in rows]
            agreed = sum(one == two for one, two in pairs) / len(pairs)
            yes = [sum(side) / len(pairs) for side in zip(*pairs)]
            chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
            if chance < 1:
                values.append((agreed - chance) / (1 - chance))
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-9)


class TestEvaluate:
    def test_a_judge_that_knows_all(self):
        def key(pair):
            return pair.kind, frozenset(normal(label, pair.kind) for label in (pair.reference, pair.prediction))

        known = {key(row.pair): row.category for row in read_gold("test")}
        rule = lambda pair: Verdict(known.get(key(pair), "mismatch"))  # noqa: E731
        found = evaluate_judge(Table("gold", rule), bootstrap=20)
        assert found.accuracy == 1.0 and {one.value for one in found.kappa.values()} == {1.0}
        assert (found.coverage, found.swap_flip_rate, found.batch_flip_rate) == (1.0, 0.0, None)
        assert not found.is_circular and found.n == len(read_gold("test"))

    def test_unjudged_pairs_are_counted_and_left_out(self):
        rule = lambda pair: Verdict(None, "timeout") if pair.kind == "predicate" else Verdict("mismatch")  # noqa: E731
        found = evaluate_judge(Table("half", rule), "dev", bootstrap=0)
        unjudged = sum(row["unjudged"] for row in found.confusion.values())
        predicates = [row for row in read_gold("dev") if row.pair.kind == "predicate"]
        assert found.unjudged == {"timeout": unjudged} and unjudged == len(predicates)
        assert found.coverage == (found.n - unjudged) / found.n
        assert found.by_kind["predicate"] == {
            "n": len(predicates),
            **dict.fromkeys(("five", "lenient", "strict", "false_accept_rate", "false_reject_rate")),
        }
        assert not any(rule.startswith("predicate") for rule in found.by_rule)
        assert sum(sum(row.values()) for row in found.confusion.values()) == found.n

    def test_flips(self):
        """A judge that goes by the alphabet flips wherever it is asked; one that differs in other batches flips there."""
        by_order = Table("order", lambda pair: Verdict("synonym" if pair.reference < pair.prediction else "overlap"))
        found = evaluate_judge(by_order, "dev", bootstrap=0, other=Table("order", lambda pair: Verdict("overlap")))
        same = found.confusion["identical"]["identical"]  # equal forms, decided without the judge
        said = sum(row["synonym"] for row in found.confusion.values())
        assert found.swap_flip_rate == (found.n - same) / found.n and found.batch_flip_rate == said / found.n
        assert 0 < same < found.n

    def test_everything_accepted(self):
        found = evaluate_judge(Table("yes", lambda pair: Verdict("overlap")), "dev", bootstrap=0)
        assert found.probe_lenient_rate == 1.0 and found.kappa["lenient"].value == 0.0
        assert {(kind["false_accept_rate"], kind["false_reject_rate"]) for kind in found.by_kind.values()} == {
            (1.0, 0.0)
        }
        assert all(counts["accepted"] == counts["n"] for counts in found.by_rule.values())
        assert sum(counts["n"] for counts in found.by_rule.values()) == found.n

    def test_shipped_judges(self):
        """The figures of the README of the gold set."""
        exact, wordnet = (evaluate_judge(make_judge(name), bootstrap=0) for name in ("exact", "wordnet"))
        assert [round(one.value, 3) for one in exact.kappa.values()] == [0.062, 0.038, 0.369]
        assert [round(one.value, 3) for one in wordnet.kappa.values()] == [0.973, 0.968, 1.0]
        assert [round(one.value, 3) for one in exact.kappa_asked.values()] == [0.0, 0.0, 0.0]
        assert [round(one.value, 3) for one in wordnet.kappa_asked.values()] == [0.972, 0.967, 1.0]
        assert wordnet.is_circular and not exact.is_circular and wordnet.swap_flip_rate == 0.0
        assert (exact.probe_lenient_rate, wordnet.probe_lenient_rate) == (0.0, 0.002)
        assert wordnet.by_rule["object mismatch: sense trap"] == {"n": 136, "accepted": 20}
        assert [wordnet.by_kind["predicate"][f"false_{way}_rate"] for way in ("accept", "reject")] == [0.0, 0.0]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"part": "both"}, "part: expected one of dev, test"),
            ({"bootstrap": 3}, "bootstrap: expected 0"),
            ({"seed": -1}, "seed: expected"),
        ],
    )
    def test_options(self, options, words):
        with pytest.raises(SgevalError, match=words):
            evaluate_judge(make_judge("exact"), **options)


def run(*arguments, code=0):
    outcome = CliRunner().invoke(app, ["judge", "evaluate", *arguments])
    assert outcome.exit_code == code, (outcome.output, outcome.exception)
    assert "Traceback" not in outcome.output
    return outcome


class TestCommand:
    def test_json(self):
        found = json.loads(run("exact", "--json", "--bootstrap", "20", "--part", "dev").stdout)
        assert found == json.loads(json.dumps(evaluate_judge(make_judge("exact"), "dev", bootstrap=20).as_dict()))
        assert list(found["confusion"]) == list(CATEGORIES) and found["judge"] == "exact"

    def test_words(self):
        outcome = run("wordnet", "--bootstrap", "20")
        for words in (
            "wordnet on the test part: 1,988 pairs of 674 families",
            "coverage: 100.0%",
            "swap flips: 0.0%",
            "20 of 136",
        ):
            assert words in outcome.stdout
        assert "batch flips: –" in outcome.stdout and "0.97" in outcome.stdout
        assert "warning: agreement of this judge with the gold set is circular" in outcome.stderr
        assert "circular" not in run("exact", "--bootstrap", "0").stderr

    def test_unjudged_pairs_end_in_3(self, monkeypatch):
        monkeypatch.setitem(make.OFFLINE, "silent", lambda: Table("silent", lambda pair: Verdict(None, "[red]timeout")))
        outcome = run("silent", "--bootstrap", "0", code=3)
        assert "unjudged, [red]timeout:" in outcome.stdout and "agreement, of the judged: 100.0%" in outcome.stdout

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["wordnt"], 'did you mean "wordnet"?'),
            (["exact", "--part", "tset"], "--part: expected one of dev, test"),
            (["exact", "--option", "batch"], "--option: expected KEY=VALUE"),
            (["exact", "--option", "batch=3"], 'judge "exact": expected no options, got batch'),
            (["exact", "--bootstrap", "3"], "bootstrap: expected 0"),
        ],
    )
    def test_bad_input(self, arguments, words):
        assert words in run(*arguments, code=2).stderr
