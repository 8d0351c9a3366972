"""Results that were edited: every number, interval and count, and the parts of the signature that the options say."""

import json

import pytest
from report_kit import REFERENCES, FakeEncoder, graph, pictures
from report_kit import make_run as make_relations
from temporal_kit import graph as video
from temporal_kit import judge_of, relation
from typer.testing import CliRunner

from sgeval import alignment, temporal
from sgeval.cli.app import app
from sgeval.comparison import compare
from sgeval.errors import SgevalError
from sgeval.runs import NO_NAME, read_own, read_run, write_run
from sgeval.situation import Options as RoleOptions
from sgeval.situation import score_rows

SAID = [graph("a", [(0, 1, "left of"), (1, 0, "on")]), graph("b", [(0, 1, "left of"), (1, 0, "right of")])]
FRAMES = [
    {"frame_id": f"f{at}", "kind": "object", "object_id": 1, "roles": [{"role": "tool", "value": "pen"}]}
    for at in range(4)
]
WRONG = FRAMES[0] | {"roles": [{"role": "tool", "value": "cup"}]}


def relations(folder):
    return make_relations(folder, "p", SAID, REFERENCES, bootstrap=50).folder


def theta(folder):
    images = pictures(folder / "pictures", "a", "b")
    options = alignment.Options(bootstrap=50)
    scoring = alignment.score_annotations(REFERENCES, images=images, model=FakeEncoder(), options=options)
    write_run(folder / "run", "m", scoring, {})
    return folder / "run"


def frames(folder):
    write_run(folder / "run", "s", score_rows([WRONG, *FRAMES[1:]], FRAMES, RoleOptions(bootstrap=50)), {})
    return folder / "run"


def videos(folder):
    gold = [video(f"v{at}", ["dog", "ball"], [relation(0, "chasing", 1, (0, 4))]) for at in range(4)]
    said = [video(f"v{at}", ["dog", "ball"], [relation(0, "chasing", 1, (0, at + 1))]) for at in range(4)]
    options = temporal.Options(bootstrap=50)
    write_run(folder / "run", "s", temporal.score(said, gold, judge=judge_of({}), options=options), {})
    return folder / "run"


MADE = {"relations": relations, "theta": theta, "frames": frames, "videos": videos}


@pytest.fixture
def run(request, tmp_path):
    """The folder of a small run of a metric."""
    return MADE[request.param](tmp_path)


def edit(folder, change):
    """Change `results.json` in its place."""
    path = folder / "results.json"
    whole = json.loads(path.read_text())
    change(whole)
    path.write_text(json.dumps(whole))


def swap(old, new):
    """A change of the signature's text."""

    def change(whole):
        line = whole["result"]["signature"]
        assert old in line
        whole["result"]["signature"] = line.replace(old, new)

    return change


every_metric = pytest.mark.parametrize("run", MADE, indirect=True)


@every_metric
def test_each_number_is_made_again(run):
    """One key at a time, whatever it is; what is not edited is read."""
    kept = (run / "results.json").read_text()
    result = read_run(run).result
    assert any(key.endswith("_low") for key in result)
    for key, value in result.items():
        if key in ("signature", "judge"):
            continue
        edit(run, lambda whole, key=key, value=value: whole["result"].update({key: 0.5 if value is None else "x"}))
        with pytest.raises(SgevalError, match=f"expected the {key} that its rows give, "):
            read_run(run)
        if isinstance(value, (int, float)):
            edit(run, lambda whole, key=key, value=value: whole["result"].update({key: value + 10}))
            with pytest.raises(SgevalError, match=f"expected the {key} that its rows give, "):
                read_run(run)
        (run / "results.json").write_text(kept)
    assert read_run(run).result == result


@pytest.mark.parametrize(
    ("run", "old", "new", "part"),
    [
        ("relations", "context:none", "context:px5each", 'context "none", got "px5each"'),
        ("relations", "penalty:guarded", "penalty:literal", 'penalty "guarded", got "literal"'),
        ("relations", "matching:given", "matching:pair_iou0.5", 'matching "given"'),
        ("relations", "fit:model", "fit:pad", 'fit "model"'),
        ("relations", "|refs:harmonic", "", 'refs "harmonic", got "absent"'),
        ("relations", "|refs:", "|pairs:gold|refs:", 'pairs "absent", got "gold"'),
        ("relations", "metric:relclipscore", "metric:relblipscore", 'metric "relclipscore"'),
        ("relations", "version:", "version:9", 'version "'),
        ("theta", "singletons:skip", "singletons:include", 'singletons "skip"'),
        ("theta", "value:cosine", "value:softmax100", 'value "cosine"'),
        ("theta", "vocab:", "vocab:0", 'vocab "'),
        ("theta", "draw:0", "draw:1", 'draw "0", got "1"'),
        ("frames", "verbs:top1", "verbs:gold", 'verbs "top1", got "gold"'),
        ("frames", "|missing:", "|maxvalues:3|missing:", 'maxvalues "absent", got "3"'),
        ("videos", "judge:table", "judge:wordnet", 'judge "table", got "wordnet"'),
        ("videos", "tiou:>0.5", "tiou:>0.3", 'tiou ">0.5", got ">0.3"'),
        ("videos", "strict:judge", "strict:string", 'strict "judge"'),
    ],
    indirect=["run"],
)
def test_parts_of_the_signature_follow_from_the_options(run, old, new, part):
    edit(run, swap(old, new))
    with pytest.raises(SgevalError, match="expected the signature that its options and inputs give") as fault:
        read_run(run)
    assert part in str(fault.value) and "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("run", "inputs", "old", "new", "words"),
    [
        ("relations", {"limit": 2}, "|version", "|version", 'limit "2", got "absent"'),
        ("relations", {"model": "demo"}, "|version", "|version", 'model "demo", got "fake"'),
        ("relations", {"model": "my/model"}, "model:fake", "model:clip-l14", 'model "my/model", got "clip-l14"'),
        ("videos", {"judge": "exact"}, "judge:table", "judge:table", 'judge "exact", got "table"'),
        ("videos", {"judge": "openai/x"}, "judge:table", "judge:wordnet", 'judge "openai/x", got "wordnet"'),
    ],
    indirect=["run"],
)
def test_parts_that_the_inputs_say(run, inputs, old, new, words):
    edit(run, lambda whole: whole["inputs"].update(inputs))
    edit(run, swap(old, new))
    with pytest.raises(SgevalError) as fault:
        read_run(run)
    assert words in str(fault.value)


@pytest.mark.parametrize("run", ["theta"], indirect=True)
def test_the_vocabulary_of_a_run_stays_beside_it(run):
    """Left out of the digests and shortened, so that fewer candidates stand in the way."""
    edit(run, lambda whole: whole["files"].pop("vocabulary.jsonl"))
    read_run(run)
    (run / "vocabulary.jsonl").write_text((run / "vocabulary.jsonl").read_text().split("\n")[0])
    with pytest.raises(SgevalError, match='inputs give, vocab "'):
        read_run(run)
    (run / "vocabulary.jsonl").unlink()
    with pytest.raises(SgevalError, match=r"vocabulary\.jsonl"):
        read_run(run)


@pytest.mark.parametrize("run", ["relations"], indirect=True)
class TestEdits:
    @pytest.mark.parametrize("line", [None, 3, "", "context", "metric:relclipscore|metric:relclipscore"])
    def test_what_is_no_signature(self, run, line):
        edit(run, lambda whole: whole["result"].update(signature=line))
        with pytest.raises(SgevalError, match="expected a signature"):
            read_run(run)

    def test_options_alone(self, run):
        edit(run, lambda whole: whole["options"].update(context=["px", 5.0]))
        with pytest.raises(SgevalError, match='context "px5each", got "none"'):
            read_run(run)

    def test_a_key_that_rows_do_not_give(self, run):
        edit(run, lambda whole: whole["result"].update(gold_pair_coverage=1.0))
        with pytest.raises(SgevalError, match="expected the gold_pair_coverage that its rows give, none, got 1"):
            read_run(run)

    def test_a_count_that_is_taken_out(self, run):
        edit(run, lambda whole: whole["result"].pop("n_relations"))
        with pytest.raises(SgevalError, match="expected n_relations in its results, found none"):
            read_run(run)

    def test_intervals_may_be_absent(self, run):
        """Runs of before had none for exact match."""
        edit(run, lambda whole: whole["result"].pop("exact_match_low"))
        assert "exact_match_low" not in read_run(run).result

    def test_an_end_may_move_by_a_digit(self, run):
        """A hundredth of the interval at most: sums in another order may move a replicate."""
        low, high = (read_run(run).result[f"relclipscore_{end}"] for end in ("low", "high"))
        edit(run, lambda whole: whole["result"].update(relclipscore_low=low + 0.009 * (high - low)))
        read_run(run)
        edit(run, lambda whole: whole["result"].update(relclipscore_low=low + 0.011 * (high - low)))
        with pytest.raises(SgevalError, match="expected the relclipscore_low"):
            read_run(run)

    def test_rows_that_give_no_result(self, run):
        edit(run, lambda whole: whole["border"].update(n_invalid="x"))
        with pytest.raises(SgevalError, match="expected rows that give a result, got others"):
            read_run(run)

    def test_what_was_just_written_is_not_made_again(self, run):
        edit(run, lambda whole: whole["result"].update(relclipscore=0.99))
        assert read_own(run).result["relclipscore"] == 0.99

    @pytest.mark.parametrize("words", [["report"], ["compare"], ["bundle", "results", "--out", "m"]])
    def test_no_command_takes_it(self, run, words):
        edit(run, lambda whole: whole["result"].update(relclipscore_low=0.9, relclipscore_high=0.95))
        done = CliRunner().invoke(app, [*words, str(run)])
        assert done.exit_code == 2 and "expected the relclipscore_low that its rows give" in done.stderr
        assert not (run / "report.html").exists()

    @pytest.mark.parametrize("name", ["", " ", "\t\n"])
    def test_no_name(self, run, name):
        edit(run, lambda whole: whole.update(name=name))
        assert read_run(run).name == NO_NAME == "(no name)"


class TestOtherScores:
    def test_exact_match_and_reference_score_are_compared(self, tmp_path):
        """Pair by pair. One: in picture a 1 of 2 is as annotated, in b 2 of 2, so 3/4 over pictures; other: 0. Reference
        score: the mean of the relations' own."""
        one = read_run(relations(tmp_path))
        other = make_relations(tmp_path, "q", [graph(name, [(0, 1, "on"), (1, 0, "on")]) for name in "ab"], REFERENCES)
        keys = ("exact_match", "exact_match_relations", "ref_relclipscore")
        found = compare([one, other], keys).groups[0].lines
        assert [(line.name, line.value) for line in found["exact_match"]] == [("p", 0.75), ("q", 0.0)]
        # Of the pictures' differences -1/2 and -1 the mean is -3/4.
        assert found["exact_match"][1].against.found.difference == pytest.approx(-0.75)
        assert [line.value for line in found["exact_match_relations"]] == [0.75, 0.0]
        scores = [item.ref_score for item in one.rows.items]
        assert found["ref_relclipscore"][0].value == pytest.approx(sum(scores) / 4)

    def test_they_have_intervals(self, tmp_path):
        """Of two pictures with 1/2 and 1, a replicate is 1/2, 3/4 or 1: the ends are 1/2 and 1."""
        result = read_run(relations(tmp_path)).result
        assert (result["exact_match_percentile_low"], result["exact_match_percentile_high"]) == (0.5, 1.0)
        assert {f"{name}_low" for name in ("exact_match_normalised", "ref_relclipscore")} <= {*result}

    def test_without_references_there_are_none(self, tmp_path):
        run = make_relations(tmp_path, "p", SAID, bootstrap=50)
        assert not [key for key in run.result if key.startswith(("exact", "ref_"))]
        assert "exact_match" not in run.sample.ratios
