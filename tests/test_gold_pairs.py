"""RelCLIPScore over the annotated pairs (`pairs="gold"`): by hand, against a slow reference, and wherever a run is used."""

import json
import math

import numpy as np
import pytest
from kit import parts
from report_kit import Page, make_run
from report_kit import graph as scene
from resume_kit import prepared
from test_relclip import assert_same, jittered, reference_of

import sgeval
from sgeval.cli.scoring import run_job
from sgeval.comparison import compare
from sgeval.errors import SgevalError
from sgeval.journal import Journal
from sgeval.relclip import Options, score, summarise
from sgeval.report import render_report
from sgeval.runs import read_run

LN2 = 0.6931471805599453
case = pytest.fixture(prepared)


@pytest.fixture(scope="session")
def slow():
    from reference import gold_pairs_reference

    return gold_pairs_reference


def row(image_id, relations, labels=("dog", "mat", "cup")):
    objects = [
        {"id": number, "category": label, "bbox": [12 * number, 5, 10, 10]} for number, label in enumerate(labels)
    ]
    listed = [{"subject_id": s, "predicate": predicate, "object_id": o} for s, predicate, o in relations]
    return {"image_id": image_id, "objects": objects, "relations": listed}


GOLD = row("a", [(0, "on", 1), (1, "below", 0), (1, "near", 2), (2, "is", 2)])
"""Three objects, p = 3; the pairs dog–mat (related twice) and mat–cup; the cup with itself is none."""
OTHER = row("b", [(0, "on", 1)])
VALUES = {"dog on mat": 0.6, "mat under dog": 0.2, "dog over mat": -0.4, "mat by cup": 0.3}
VALUES |= {"mat below dog": 0.9, "mat near cup": 0.9}  # of the reference: encoded for the reference score alone


class TestByHand:
    """`SteadyEncoder` gives each text its cosine and fails on a text that it was not given: what is not scored is not
    encoded either."""

    def score(self, steady_encoder, picture, said, gold=(GOLD,), **options):
        images = {graph["image_id"]: picture(0) for graph in gold}
        return sgeval.relclipscore(
            said, images=images, references=list(gold), model=steady_encoder(VALUES), pairs="gold", **options
        )

    def test_a_pair_is_the_mean_of_what_is_said_on_it_either_way(self, steady_encoder, picture):
        """dog–mat: (0.6 + 0.2) / 2 = 0.4; mat–cup: nothing, 0. Mean (0.4 + 0) / 2 = 0.2; p − k = 3 − 2 = 1: guarded at 2."""
        said = row("a", [(0, "on", 1), (1, "under", 0), (0, "beside", 2), (0, "unheard of", 2)])
        result = self.score(steady_encoder, picture, [said])
        assert result["mean_score"] == result["mean_score_relations"] == pytest.approx(0.2)
        assert result["relclipscore"] == pytest.approx(0.2 / (LN2 + 1e-5))
        assert result["gold_pair_coverage"] == 0.5 and result["pair_coverage"] == pytest.approx(1 / 3)
        counts = ("n_gold_pairs", "n_unanswered_pairs", "n_other_pairs", "n_no_gold_pair", "n_relations", "n_predicted")
        assert [result[name] for name in counts] == [2, 1, 2, 0, 2, 4]
        assert (result["n_guarded"], result["n_empty"], result["n_undefined"]) == (1, 0, 0)

    def test_a_negative_cosine_is_nought_and_counts_in_its_pair(self, steady_encoder, picture):
        """(0.6 + 0.2 + max(−0.4, 0)) / 3 = 0.8 / 3, of two pairs 0.4 / 3; the repeat is none."""
        said = row("a", [(0, "on", 1), (1, "under", 0), (0, "over", 1), (0, "on", 1)])
        result = self.score(steady_encoder, picture, [said], penalty="none")
        assert result["mean_score"] == result["relclipscore"] == pytest.approx(0.4 / 3)
        assert result["n_duplicates"] == 1

    def test_two_pictures(self, steady_encoder, picture):
        """a: (0.6 + 0.3) / 2 = 0.45, p − k = 1. b: 0.6, p − k = 2. Pairs pooled: (0.6 + 0.3 + 0.6) / 3 = 0.5."""
        said = [row("a", [(0, "on", 1), (1, "by", 2)]), row("b", [(0, "on", 1)])]
        result = self.score(steady_encoder, picture, said, (GOLD, OTHER))
        assert result["mean_score"] == pytest.approx((0.45 + 0.6) / 2)
        assert result["mean_score_relations"] == pytest.approx(0.5)
        assert result["relclipscore"] == pytest.approx((0.45 + 0.6) / 2 / (LN2 + 1e-5))
        assert result["n_guarded"] == 1

    def test_the_penalty_follows_the_references_alone(self, steady_encoder, picture):
        """Five objects, p = 10, two pairs: q = 8 whether one, two or ten relations are predicted, or none."""
        labels = ("dog", "mat", "cup", "box", "car")
        gold = row("a", [(0, "on", 1), (1, "by", 2)], labels)
        spam = [(0, "beside", 3), (3, "beside", 4)]
        for said, mean in (([(0, "on", 1)], 0.3), ([(0, "on", 1), (1, "by", 2), *spam], 0.45), ([], 0.0)):
            result = self.score(steady_encoder, picture, [row("a", said, labels)], (gold,))
            assert result["relclipscore"] == pytest.approx(mean / (math.log(8) + 1e-5))

    def test_missing_pictures_and_silence_are_nought(self, steady_encoder, picture):
        """a answers 0.6 of two pairs: 0.3; b is missing: 0. Pooled 0.6 / 3; means 0.3 / 2."""
        silent = self.score(steady_encoder, picture, [row("a", [])], (GOLD,))
        assert silent["relclipscore"] == silent["mean_score"] == silent["mean_score_relations"] == 0.0
        assert silent["n_empty"] == 1 and silent["n_unanswered_pairs"] == 2
        said = [row("a", [(0, "on", 1)])]
        result = self.score(steady_encoder, picture, said, (GOLD, OTHER), missing="zero")
        assert result["mean_score"] == pytest.approx(0.15)
        assert result["mean_score_relations"] == pytest.approx(0.2)
        assert (result["n_missing"], result["n_unanswered_pairs"], result["n_gold_pairs"]) == (1, 2, 3)
        with pytest.raises(SgevalError, match="expected a graph with the image_id"):
            self.score(steady_encoder, picture, said, (GOLD, OTHER))

    def test_a_picture_without_a_pair_is_undefined(self, steady_encoder, picture):
        """Self relations and pairs without a box on both ends are no pairs; what is said there is not scored."""
        bare = row("b", [(0, "is", 0), (0, "on", 1)])
        del bare["objects"][1]["bbox"]
        said = [row("a", [(0, "on", 1)]), {"image_id": "b", "relations": row("b", [(0, "on", 2)])["relations"]}]
        result = self.score(steady_encoder, picture, said, (GOLD, bare))
        assert result["mean_score"] == pytest.approx(0.3)
        assert [result[name] for name in ("n_no_gold_pair", "n_undefined", "n_scored_images", "n_other_pairs")] == [
            1
        ] * 4
        nothing = self.score(steady_encoder, picture, said[1:], (bare,))
        assert nothing["relclipscore"] is nothing["mean_score_relations"] is nothing["gold_pair_coverage"] is None

    def test_a_score_that_is_no_number_answers_nothing(self, fake_encoder, picture):
        """A pair whose only text the model cannot score is one without a scored prediction."""
        encoder = fake_encoder({"dog on mat": [np.nan] * 8})
        said, gold = [row("a", [(0, "on", 1)])], [row("a", [(0, "on", 1)])]
        result = sgeval.relclipscore(said, images={"a": picture(0)}, references=gold, model=encoder, pairs="gold")
        assert result["mean_score"] == 0.0 and result["n_unanswered_pairs"] == result["n_undefined_relations"] == 1
        assert result["n_empty"] == 0  # the model's fault, not the prediction's

    def test_literal_has_no_value_where_every_pair_is_related(self, steady_encoder, picture):
        """Two objects, p = k = 1: undefined for every system, the silent one too."""
        gold = row("a", [(0, "on", 1)], ("dog", "mat"))
        for said in ([(0, "on", 1)], []):
            result = self.score(steady_encoder, picture, [row("a", said, ("dog", "mat"))], (gold,), penalty="literal")
            assert result["relclipscore"] is None and result["n_undefined"] == 1


class TestAgainstTheSlowReference:
    """Random graphs with doubles, self relations, boxes over the edge and empty pictures; equal within 1e-12."""

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("penalty", ["guarded", "bounded", "literal", "none"])
    @pytest.mark.filterwarnings("ignore:penalty=")
    def test_given(self, slow, fake_encoder, random_graphs, penalty, seed):
        graphs, pictures = random_graphs(40 + seed, 14)
        rng = np.random.default_rng(seed)
        gold = [reference_of(graph, rng) for graph in graphs]
        said = [graph for graph in graphs if rng.uniform() < 0.8]
        expected = slow.gold_score(said, pictures, fake_encoder(), gold, penalty)
        options = {"pairs": "gold", "missing": "zero", "penalty": penalty, "on_invalid": "skip"}
        result = sgeval.relclipscore(said, images=pictures, references=gold, model=fake_encoder(), **options)
        assert_same(result, expected)
        assert expected["n_other_pairs"] and expected["n_unanswered_pairs"] and expected["n_no_gold_pair"]

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("matching", ["pair_iou", "union_iou"])
    def test_detected(self, slow, fake_encoder, random_graphs, matching, seed):
        gold, pictures = random_graphs(60 + seed, 14)
        rng = np.random.default_rng(seed)
        gold = [{**graph, "relations": [one for one in graph["relations"] if rng.uniform() < 0.6]} for graph in gold]
        full, _ = random_graphs(60 + seed, 14)
        said = [jittered(graph, rng, 5.0 if matching == "pair_iou" else 14.0) for graph in full]
        expected = slow.gold_score(said, pictures, fake_encoder(), gold, matching=matching)
        options = {"pairs": "gold", "matching": matching, "on_invalid": "skip"}
        result = sgeval.relclipscore(said, images=pictures, references=gold, model=fake_encoder(), **options)
        assert_same(result, expected)
        assert expected["n_other_pairs"] and expected["n_unmatched"]


class TestWhereverARunIsUsed:
    def test_the_signature_says_it_only_where_it_is_not_the_default(self, steady_encoder, picture):
        given = {"images": [picture(0)], "references": [GOLD], "model": steady_encoder(VALUES)}
        said = [row("a", [(0, "on", 1)])]
        plain, gold = (sgeval.relclipscore(said, **given, **more) for more in ({}, {"pairs": "gold"}))
        assert "pairs" not in parts(plain) and parts(gold) == {**parts(plain), "pairs": "gold"}
        assert not {"n_gold_pairs", "n_other_pairs", "gold_pair_coverage"} & plain.keys()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"references": None}, 'pairs: "gold" needs references'),
            ({"empty": "skip"}, 'empty: expected "zero" with pairs="gold"'),
            ({"pairs": "all"}, "pairs: expected one of predicted, gold, got .all."),
        ],
    )
    def test_refused_in_one_line(self, options, message, steady_encoder, picture):
        given = {"images": [picture(0)], "references": [GOLD], "model": steady_encoder(VALUES), "pairs": "gold"}
        with pytest.raises(SgevalError, match=message) as caught:
            sgeval.relclipscore([row("a", [])], **{**given, **options})
        assert len(str(caught.value).splitlines()) == 1

    def test_nothing_of_other_pairs_is_encoded(self, fake_encoder, picture):
        spam = [(0, f"word {number}", 2) for number in range(50)]
        said, encoder = [row("a", [(0, "on", 1), *spam])], fake_encoder()
        result = sgeval.relclipscore(said, images=[picture(0)], references=[GOLD], model=encoder, pairs="gold")
        assert encoder.n_crops == 1 and result["n_other_pairs"] == 50
        assert {text for texts in encoder.texts for text in texts} == {"dog on mat"}

    def test_intervals_sample_and_table_are_of_pairs(self, fake_encoder, random_graphs):
        graphs, pictures = random_graphs(5, 16)
        rng = np.random.default_rng(0)
        gold = [reference_of(graph, rng) for graph in graphs]
        options = Options(pairs="gold", missing="zero", on_invalid="skip", bootstrap=50)
        scoring = score(graphs[:12], images=pictures, references=gold, model=fake_encoder(), options=options)
        result = scoring.result(return_items=True)
        sample = sgeval.relclip.sample(scoring.rows, options, scoring.key)
        for name in ("relclipscore", "mean_score", "mean_score_relations"):
            assert sample.score(name) == pytest.approx(result[name], rel=1e-12)
            assert result[f"{name}_low"] <= result[name] <= result[f"{name}_high"]
        table = result["images"]
        assert (
            sum(image["n_gold_pairs"] for image in table)
            == result["n_gold_pairs"]
            == sum(image["k"] for image in table)
        )
        assert all((image["mean_score"] is None) == (image["n_gold_pairs"] == 0) for image in table)
        status = [item["status"] for item in result["items"]]
        assert status.count("other_pair") == result["n_other_pairs"] and status.count("scored") == result["n_relations"]

    def test_parts_merge_to_the_whole(self, fake_encoder, random_graphs):
        graphs, pictures = random_graphs(6, 12)
        options = Options(pairs="gold", on_invalid="skip")
        halves = [
            score(part, images=pictures, references=part, model=fake_encoder(), options=options)
            for part in (graphs[:5], graphs[5:])
        ]
        whole = score(graphs, images=pictures, references=graphs, model=fake_encoder(), options=options)
        merged = halves[1].rows.merge(halves[0].rows)
        assert summarise(merged, options, whole.key, whole.signature) == whole.result()

    def test_an_unread_picture_is_left_out_for_all(self, fake_encoder, picture):
        said = [row("a", [(0, "on", 1)]), row("b", [])]
        images = {"a": b"no picture", "b": picture(0)}
        given = {"references": [GOLD, OTHER], "model": fake_encoder(), "pairs": "gold", "on_bad_image": "skip"}
        result = sgeval.relclipscore(said, images=images, **given)
        assert (result["n_bad_images"], result["n_gold_pairs"], result["mean_score"]) == (1, 1, 0.0)

    def test_a_run_that_was_stopped_ends_in_the_same_bytes(self, case, monkeypatch):
        """The journal is of one choice of pairs: another is refused; the same goes on."""
        whole = run_job(case.job("whole", pairs="gold"))
        assert read_run(case.folder / "whole").result == whole.result and whole.result["n_gold_pairs"]
        put, calls = Journal.put, []

        def stopping(*args, **keywords):
            calls.append(1)
            if len(calls) == 4:
                raise KeyboardInterrupt
            return put(*args, **keywords)

        monkeypatch.setattr(Journal, "put", stopping)
        with pytest.raises(KeyboardInterrupt):
            run_job(case.job("run", pairs="gold"))
        monkeypatch.setattr(Journal, "put", put)
        with pytest.raises(SgevalError, match="pairs"):
            run_job(case.job("run"), resume=True)
        run_job(case.job("run", pairs="gold"), resume=True)
        assert case.bytes("run") == case.bytes("whole")

    def test_a_config_file_chooses_it(self, case, tmp_path):
        from sgeval.cli.scoring import RELCLIPSCORE, Job

        (tmp_path / "how.yaml").write_text("pairs: gold\n")
        files = {"predictions": case.folder / "p.jsonl", "references": case.folder / "g.jsonl"}
        flags = {"model": "demo", "on_invalid": "skip"}
        job = Job.make(RELCLIPSCORE, files, case.folder / "images", tmp_path / "run", flags, tmp_path / "how.yaml")
        assert job.options().pairs == "gold"

    def test_compare_keeps_it_apart_and_pairs_it(self, tmp_path):
        gold = [scene(name, [(0, 1, "left of"), (1, 2, "left of")]) for name in "ab"]
        half = [scene(name, [(0, 1, "left of")]) for name in "ab"]
        runs = [
            make_run(tmp_path, "whole", gold, gold, pairs="gold"),
            make_run(tmp_path, "half", half, gold, pairs="gold"),
            make_run(tmp_path, "old", half, gold),
        ]
        assert runs[1].result["mean_score"] == pytest.approx(runs[1].result["mean_score_relations"])
        found = compare(runs)
        assert len(found.groups) == 2 and runs[0].result["mean_score"] > runs[1].result["mean_score"]

    def test_the_page_tells_it(self, tmp_path):
        gold = [scene("a", [(0, 1, "left of"), (1, 2, "on")]), scene("b", [])]
        said = [scene("a", [(0, 1, "left of"), (0, 2, "right of")]), scene("b", [(0, 1, "left of")])]
        run = make_run(tmp_path, "mine", said, gold, pairs="gold")
        text = Page(render_report(run, tmp_path / "page.html")).words
        assert "Coverage of annotated pairs" in text and "0 where nothing was predicted" in text
        assert "2 relations on pairs that the reference does not relate; not scored" in text
        assert "the reference has no relation on its pair" in text
        assert "1 picture whose reference relates no pair of objects with boxes" in text

    def test_the_module_takes_it(self, fake_encoder, picture):
        import evaluate

        metric = evaluate.load(sgeval.path("relclipscore"))
        given = {"images": {"a": picture(0)}, "model": fake_encoder(), "pairs": "gold"}
        said = [row("a", [(0, "on", 1), (0, "on", 2)])]
        result = metric.compute(predictions=said, references=[GOLD], **given)
        assert result == sgeval.relclipscore(said, references=[GOLD], **given)

    def test_results_of_before_are_read(self, tmp_path):
        """A run folder whose options do not know `pairs` is one of the default."""
        run = make_run(tmp_path, "old", [scene("a", [(0, 1, "left of")])])
        path = run.folder / "results.json"
        whole = json.loads(path.read_text())
        del whole["options"]["pairs"]
        path.write_text(json.dumps(whole))
        assert read_run(run.folder).options.pairs == "predicted"
