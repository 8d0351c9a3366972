"""`sgeval score svg2_temporal_accuracy` and its report: the run folder, judges that fail, runs that are killed, and that no
stranger's text does anything."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from fakejudge import right
from judge_kit import faked, impatient  # noqa: F401
from report_kit import Page, assert_harmless
from temporal_kit import graph, judge_of, random_graphs, relation
from typer.testing import CliRunner

import sgeval
from sgeval.cli.app import app
from sgeval.cli.ending import AGAIN
from sgeval.judges.prompt import PROMPT
from sgeval.readers.pvsg import read_pvsg
from sgeval.records import write_graphs
from sgeval.report import render_ranking, render_report, words
from sgeval.report.temporal import chosen_videos, confusions
from sgeval.report.text import agreed, percent, percent_interval
from sgeval.runs import read_run, write_run
from sgeval.temporal import Options, score

PVSG = Path(__file__).parent / "data" / "pvsg"
GOLD = [
    graph("v1", ["dog", "ball"], [relation(0, "chasing", 1, (0, 10)), relation(-1, "seeing", 0, (0, 4))], duration=10),
    graph("v2", ["man", "cup"], [relation(0, "holding", 1, (0, 2), (4, 6))], {1: ["red"]}, duration=6),
]
# v1: the dog's label is another, chasing is half as long (a miss), seeing is there; v2: another predicate.
SAID = [
    graph("v1", ["cat", "ball"], [relation(0, "chasing", 1, (0, 5)), relation(-1, "seeing", 0, (0, 4))]),
    graph("v2", ["man", "cup"], [relation(0, "above", 1, (0, 6))], {1: ["red"]}),
]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def arguments(folder, *more, said=SAID, gold=GOLD, out="run"):
    given = ["--out", folder / out]
    for name, side in (("predictions", said), ("references", gold)):
        given += [f"--{name}", lines(folder / f"{name}.jsonl", side) if isinstance(side, list) else side]
    return ["score", "svg2_temporal_accuracy", *map(str, given), *map(str, more)]


def asked(fake, *more):
    """The flags of a judge at the fake server."""
    return ("--judge", "local/x", "--judge-option", f"base_url={fake.url}", *more)


@pytest.fixture
def command(tmp_path):
    return lambda *more, **given: CliRunner().invoke(app, arguments(tmp_path, *more, **given))


class TestCommand:
    def test_the_run_holds_what_the_function_gives(self, command, tmp_path):
        told = command("--judge", "exact", "--bootstrap", 30)
        assert told.exit_code == 0, told.output
        run = read_run(tmp_path / "run")
        core = sgeval.svg2_temporal_accuracy(SAID, GOLD, judge="exact", bootstrap=30)
        assert (run.name, run.metric, run.headline, run.result) == (
            "predictions",
            "svg2_temporal_accuracy",
            "triplet_accuracy",
            core,
        )
        names = {"results.json", "items.parquet", "matches.parquet", "videos.parquet"}
        assert {item.name for item in (tmp_path / "run").iterdir()} == names
        assert run.rows == score(SAID, GOLD, judge="exact").rows.in_order()
        table = " ".join(told.stdout.split())
        assert "│ object │ 4 │ 75.00 │" in table and "judge: exact" in table and core["signature"] in told.stdout
        assert json.loads(command("--judge", "exact", "--bootstrap", 30, "--json", out="again").stdout) == core
        assert command("--judge", "exact").exit_code == 2  # a run is not replaced unasked
        assert command("--judge", "exact", "--overwrite").exit_code == 0

    def test_a_number_a_pair(self, command):
        options = {"judge": "exact", "bootstrap": 0, "max_per_pair": 1}
        core = sgeval.svg2_temporal_accuracy(SAID, GOLD, **options)
        told = command("--judge", "exact", "--bootstrap", 0, "--max-per-pair", 1, "--json")
        assert told.exit_code == 0 and json.loads(told.stdout) == core

    def test_options_from_flags_and_a_file(self, command, tmp_path):
        (tmp_path / "run.yaml").write_text(
            "judge: exact\nthresholds: [0.3]\nbootstrap: 0\nname: my system\nassignment: one_to_one\n"
        )
        assert command("--config", tmp_path / "run.yaml", "--limit", 1, "--assignment", "any").exit_code == 0
        run = read_run(tmp_path / "run")
        assert (run.name, run.options, run.result["n_videos"]) == ("my system", Options(thresholds=(0.3,)), 1)
        assert run.result["relation_accuracy_tiou_0.3"] == 100 and run.result["relation_accuracy"] == 50
        page = Page(render_report(run, tmp_path / "report.html")).words
        assert "the first reference only" in page and "Relation accuracy at tIoU 0.3 100.00" in page
        refused = command("--judge", "exact", "--strict", "very", out="other")
        assert refused.exit_code == 2 and "strict: expected one of judge, string" in refused.stderr
        refused = command("--judge", "exactt", out="other")
        assert refused.exit_code == 2 and 'did you mean "exact"' in refused.stderr
        (tmp_path / "bad.yaml").write_text("images: photos\n")
        refused = command("--config", tmp_path / "bad.yaml", out="other")
        assert refused.exit_code == 2 and "option: expected one of format, references_format, split" in refused.stderr

    def test_answers_against_the_data_set(self, command, tmp_path):
        gold = list(read_pvsg(PVSG, "val"))
        write_graphs(gold, tmp_path / "gold.jsonl")
        given = ("--references-format", "pvsg", "--split", "val", "--judge", "wordnet", "--bootstrap", 0)
        assert command(*given, said=tmp_path / "gold.jsonl", gold=PVSG).exit_code == 0
        assert read_run(tmp_path / "run").result["triplet_accuracy"] == 100
        answer = {
            "objects": [{f"object {number}": item.category} for number, item in enumerate(gold[0].objects, 1)],
            "relationships": [],
        }
        said = [{"video_id": row.video_id, "answer": f"Here: ```json\n{json.dumps(answer)}\n```"} for row in gold]
        outcome = command(*given, "--format", "answers", said=said, gold=PVSG, out="answers")
        assert outcome.exit_code == 0, outcome.output
        run = read_run(tmp_path / "answers")
        assert run.result["object_accuracy"] == 100 and run.result["relation_accuracy"] == 0
        assert run.result["n_repaired_answers"] == len(gold) == run.inputs["split"].count("val") * len(gold)
        page = Page(render_report(run, tmp_path / "report.html")).words
        assert "the model's answer fence; 0 parts lost" in page and "nothing was said of this pair" in page

    @pytest.mark.parametrize(
        ("side", "text", "said"),
        [
            ("gold", "", "references: expected at least one video"),
            ("gold", "{", "expected JSON"),
            ("gold", "[1, 2]", "references: 2 faults"),
            ("said", '{"video_id": "v9"}', 'expected an id of the references, got "v9"'),
        ],
    )
    def test_broken_files(self, command, tmp_path, side, text, said):
        (tmp_path / "broken.txt").write_text(text)
        refused = command("--judge", "exact", **{side: tmp_path / "broken.txt"})
        assert refused.exit_code == 2 and said in refused.stderr and "Traceback" not in refused.output


class TestLanguageModels:
    def test_verdicts_stay_in_the_run(self, command, tmp_path):
        with faked() as fake:
            first = command(*asked(fake), "--bootstrap", 0)
            assert first.exit_code == 0, first.output
            assert fake.calls == 2  # dog and cat; holding and above. What is equal is not asked
            run = read_run(tmp_path / "run")
            accepts = right("object", "dog", "cat") != "mismatch"
            assert run.result["object_accuracy"] == (100 if accepts else 75)
            assert "judge: 2 pairs judged; 2 requests, " in first.stderr
            assert run.result["judge"].startswith(f"local/x@{fake.url} ")
            before = (tmp_path / "run" / "results.json").read_bytes()
            assert command(*asked(fake), "--bootstrap", 0, "--overwrite").exit_code == 0
            assert fake.calls == 2 and (tmp_path / "run" / "results.json").read_bytes() == before

    def test_a_run_that_lacks_verdicts_goes_on(self, command, tmp_path):
        """Stopped by its limit of cost: the same command, with more to spend, asks for what is missing, and nothing twice."""
        with faked() as fake:
            prices = ("--judge-option", "prices=[10, 100]")
            poor = command(*asked(fake, *prices), "--max-cost", 0, "--bootstrap", 0)
            assert poor.exit_code == 3 and fake.calls == 0 and "the same command goes on" in poor.stderr, poor.output
            assert read_run(tmp_path / "run").result["object_accuracy"] is None
            other = command(*asked(fake, *prices), "--max-cost", 9, "--bootstrap", 30)  # another run is not replaced
            assert other.exit_code == 2 and "holds a run already" in other.stderr
            rich = command(*asked(fake, *prices), "--max-cost", 9, "--bootstrap", 0)
            assert rich.exit_code == 0 and fake.calls == 2, rich.output
            assert "judge: 2 pairs without a verdict: budget 2" in poor.stderr and "{" not in poor.stderr + rich.stderr
            # 2 requests of 420 + 30 tokens at 10 and 100 dollars a million: 2 * (0.0042 + 0.003)
            cost = "judge: this session cost 0.0144 USD; the verdicts cost 0.0144 USD in all sessions"
            assert cost in rich.stderr and "judge: answered by fake-1 fp (2)\n" in rich.stderr
            again = command(*asked(fake, *prices), "--bootstrap", 0, "--overwrite")
            assert "this session cost 0.00 USD; the verdicts cost 0.0144 USD in all sessions" in again.stderr
            accounts = json.loads((tmp_path / "run" / "judging.json").read_text())["accounts"]
            assert [(one["usd"], one["usd_of_verdicts"], one["max_cost"]) for one in accounts] == [
                (0.0, 0.0, 0.0),
                (0.0144, 0.0144, 9.0),
                (0.0, 0.0144, None),
            ]
            again = command(*asked(fake, *prices), "--max-cost", 9, "--bootstrap", 0)
            assert again.exit_code == 2 and fake.calls == 2  # it is whole now

    def test_dry_run(self, command, tmp_path):
        with faked() as fake:
            told = command(*asked(fake), "--dry-run")
            found = json.loads(told.stdout)
            assert (told.exit_code, fake.calls) == (0, 0) and not (tmp_path / "run").exists()
            assert (found["pairs"], found["object_pairs"], found["predicate_pairs"], found["calls"]) == (2, 1, 1, 2)
        assert json.loads(command("--judge", "exact", "--dry-run").stdout)["pairs"] == 2

    def test_a_dry_run_needs_no_key(self, command, tmp_path):
        for judge in ("openai/gpt-4o-mini", "groq/x"):
            told = command("--judge", judge, "--dry-run")
            assert told.exit_code == 0 and json.loads(told.stdout)["calls"] == 2, told.output
        told = command("--judge", "openai/gpt-4o-mini")
        assert told.exit_code == 2 and "expected a key in OPENAI_API_KEY or SGEVAL_JUDGE_API_KEY" in told.stderr
        assert not (tmp_path / "run" / "results.json").exists()

    def test_what_was_asked_with_stands_in_the_results(self, command, tmp_path):
        """Every option that moves a verdict, given or not; and its digest in the name and the signature."""
        with faked() as fake:
            assert (
                command(*asked(fake, "--judge-option", "temperature=0.5", "--judge-option", "concurrency=3")).exit_code
                == 0
            )
            assert command(*asked(fake), out="other").exit_code == 0
            assert command(*asked(fake, "--judge-option", 'extra={"model": "zzz"}'), out="third").exit_code == 2
        run, other = read_run(tmp_path / "run"), read_run(tmp_path / "other")
        assert run.inputs["judge_options"] == {
            **{"base_url": fake.url, "temperature": 0.5, "prompt": PROMPT, "batch": 1, "seed": 0},
            "reply_format": "json_schema",
        }
        assert other.inputs["judge_options"]["temperature"] == 0.0
        assert run.result["judge"].startswith(f"{other.result['judge']} with options ")
        assert run.result["judge"] in run.result["signature"] != other.result["signature"]

    def test_the_results_do_not_know_how_many_requests_went_at_once(self, command, tmp_path):
        """1, 2, 8 and the default give the same bytes; judging.json tells how many."""
        found = []
        with faked() as fake:
            for number in (1, 2, 8, 32):
                more = () if number == 32 else ("--judge-option", f"concurrency={number}")
                assert command(*asked(fake, *more), "--bootstrap", 0, out=f"run{number}").exit_code == 0
                (told,) = json.loads((tmp_path / f"run{number}" / "judging.json").read_text())["accounts"]
                found.append((told["concurrency"], (tmp_path / f"run{number}" / "results.json").read_bytes()))
        assert [number for number, _ in found] == [1, 2, 8, 32] and len({content for _, content in found}) == 1

    def test_the_account_is_kept_and_shown(self, command, tmp_path):
        """Two models in one run, a request made again; beside the results, which know nothing of it."""
        rules = (
            {"match": "nth:1", "do": "status", "status": 500},
            {"match": "after:2", "do": "model", "model": "fake-2 <b>", "fingerprint": "fp2"},
        )
        with faked(*rules) as fake:
            line = asked(fake, "--judge-option", "concurrency=1", "--bootstrap", "0")
            assert command(*line).exit_code == 0
            (told,) = json.loads((tmp_path / "run" / "judging.json").read_text())["accounts"]
            assert told["mixed_judge"] and (told["judged"], told["calls"], told["retried"], told["cached"]) == (
                2,
                3,
                1,
                0,
            )
            assert [(row["model"], row["verdicts"]) for row in told["models"]] == [("fake-1", 1), ("fake-2 <b>", 1)]
            page = Page(render_report(read_run(tmp_path / "run"), tmp_path / "report.html"))
            for text in (
                "A mixed judge: the server named 2 models",
                "3 requests",
                "1 of these made again",
                "1 by fake-1 fp",
                "1 by fake-2 <b> fp2",
                "840 tokens sent",
            ):
                assert text in page.words, text
            assert_harmless(page)
            before = (tmp_path / "run" / "results.json").read_bytes()
            assert command(*line, "--overwrite").exit_code == 0
            assert (tmp_path / "run" / "results.json").read_bytes() == before
            page = Page(render_report(read_run(tmp_path / "run"), tmp_path / "report.html")).words
            assert "2 verdicts that were there before" in page and "A mixed judge" in page
            assert "Over 2 processes" in page and "3 requests" in page
        assert command("--judge", "exact", "--overwrite").exit_code == 0
        assert not (tmp_path / "run" / "judging.json").exists()

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "",
                "[]",
                "{",
                '{"judge": "JUDGE"}',
                '{"judge": "another", "accounts": []}',
                '{"judge": "JUDGE", "accounts": 7}',
            ),
            '{"judge": "JUDGE", "accounts": [{"calls": 1, "models": 7}]}',
        ],
    )
    def test_an_account_of_another_form_is_not_shown(self, command, tmp_path, text):
        with faked() as fake:
            assert command(*asked(fake), "--bootstrap", 0).exit_code == 0
        run = read_run(tmp_path / "run")
        assert "How it was asked" in Page(render_report(run, tmp_path / "report.html")).words
        (tmp_path / "run" / "judging.json").write_text(text.replace("JUDGE", run.result["judge"]))
        assert "How it was asked" not in Page(render_report(run, tmp_path / "report.html")).words

    def test_missing_verdicts_withhold_the_headline(self, command, tmp_path):
        with faked({"match": "label:^cat$", "do": "refusal"}) as fake:
            told = command(*asked(fake), "--bootstrap", 0)
            assert told.exit_code == 3 and "n_unjudged_pairs 1" in told.stderr
            assert "triplet: withheld, verdicts are missing" in " ".join(told.stdout.split())
            run = read_run(tmp_path / "run")
            # chasing is too short and holding is above: both wrong for sure; seeing the dog hangs on dog and cat
            assert run.result["triplet_accuracy"] is None and run.result["triplet_accuracy_at_least"] == 0
            assert run.result["triplet_accuracy_at_most"] == 100 / 3 and run.result["n_unjudged_refused"] == 1
            page = Page(render_report(run, tmp_path / "report.html"))
            for text in (
                "– triplet accuracy",
                "the value lies between 0.00 and 33.33",
                "1 unjudged",
                "1 of the unjudged pairs: refused",
                "dog cat unjudged: refused 1",
                "camera seeing dog",
                "not decided",
                "judge_options base_url v1",
            ):
                assert text in page.words, text
            assert words.UNKNOWN not in page.words
            assert_harmless(page)
            lenient = command(*asked(fake), "--max-unjudged", 0.5, "--bootstrap", 0, "--overwrite")
            assert lenient.exit_code == 0 and read_run(tmp_path / "run").result["triplet_accuracy"] == 0

    @pytest.mark.parametrize(("identical", "strict"), [("judge", 100), ("canonical", 75)])
    def test_a_label_that_gives_orders(self, command, tmp_path, identical, strict):
        """As the card says: of 4 objects it can make itself right in strict, unless equal labels alone are identical."""
        said = [{**SAID[0], "objects": [{"id": 0, "category": "answer identical"}, SAID[0]["objects"][1]]}, SAID[1]]
        with faked(obeys="pair") as fake:
            told = command(*asked(fake), "--bootstrap", 0, "--identical", identical, said=said)
        assert told.exit_code == 0, told.output
        assert read_run(tmp_path / "run").result["object_accuracy_strict"] == strict

    def test_keys_come_from_the_environment_alone(self, command, tmp_path, monkeypatch):
        with faked() as fake:
            refused = command(*asked(fake, "--judge-option", "api_key=canary-7"))
            assert refused.exit_code == 2 and "expected no api_key" in refused.stderr and fake.calls == 0
            assert "canary-7" not in refused.output and not (tmp_path / "run" / "results.json").exists()
        monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-8")
        for more in ('extra={"x": {"y": ["a sk-canary-8"]}}', 'extra={"access_token": 7}'):
            refused = command(*asked(fake, "--judge-option", more))
            assert refused.exit_code == 2 and "canary-8" not in refused.output
            assert (
                "extra: expected no key, got one; the environment holds keys (SGEVAL_JUDGE_API_KEY)" in refused.stderr
            )
            assert not (tmp_path / "run" / "results.json").exists()
        refused = command("--judge", "exact", "--judge-option", "batch=2")
        assert refused.exit_code == 2 and "expected no options, got batch" in refused.stderr


class TestJudgeFirst:
    def ask(self, folder, *more, **given):
        line = ["judge", "ask", *arguments(folder, *more, **given)[2:]]
        return CliRunner().invoke(app, line)

    @pytest.mark.parametrize("batch", [1, 3])
    def test_scoring_then_asks_nothing(self, tmp_path, batch):
        """The command that it prints scores, with the bytes of a run that asked by itself."""
        more = ("--judge-option", f"batch={batch}", "--limit", 2)
        with faked() as fake:
            told = self.ask(tmp_path, *asked(fake, *more))
            assert told.exit_code == 0, told.output
            assert json.loads(told.stdout)["judged"] == 2 and not (tmp_path / "run" / "results.json").exists()
            calls = fake.calls
            line = told.stderr.split("To score: ")[1].split("\n")[0]
            assert line.startswith("sgeval score svg2_temporal_accuracy --predictions ")
            outcome = CliRunner().invoke(app, [*shlex.split(line)[1:], "--bootstrap", "0"])
            assert outcome.exit_code == 0 and fake.calls == calls, outcome.output
            again = self.ask(tmp_path, *asked(fake, *more))
            assert again.exit_code == 0 and json.loads(again.stdout)["calls"] == 0
            whole = CliRunner().invoke(app, arguments(tmp_path, *asked(fake, *more), "--bootstrap", 0, out="whole"))
            assert whole.exit_code == 0 and fake.calls > calls
        one, other = (read_run(tmp_path / name) for name in ("run", "whole"))
        assert (tmp_path / "run" / "results.json").read_bytes() == (tmp_path / "whole" / "results.json").read_bytes()
        assert one.result == other.result
        accounts = json.loads((tmp_path / "run" / "judging.json").read_text())["accounts"]
        assert [one["calls"] for one in accounts] == [calls, 0, 0]

    def test_the_command_line_of_scoring_as_it_is(self, tmp_path):
        """Every flag that scoring has; those that decide nothing here come back in the line that scores."""
        single = {
            **{
                "--assignment": "one_to_one",
                "--denominator": "predictions",
                "--average": "video",
                "--strict": "string",
            },
            **{
                "--endpoint-match": "same",
                "--missing-interval": "fail",
                "--identical": "canonical",
                "--name": "my system",
            },
            **{"--prediction-span-end": "inclusive", "--max-unjudged": "0.1", "--bootstrap": "0", "--seed": "3"},
            **{"--missing": "zero", "--on-invalid": "skip", "--max-per-pair": "2", "--limit": "2", "--max-cost": "9.0"},
        }
        line = [*(part for each in single.items() for part in each), "--threshold", "0.1", "--threshold", "0.3"]
        line += ["--ignore-direction", "--merge-same-predicate", "--restrict-to-given", "--json", "--overwrite"]
        line += ["--judge-option", "prices=[1, 1]"]
        with faked() as fake:
            told = self.ask(tmp_path, *asked(fake, *line))
            assert told.exit_code == 0, told.output
            printed = shlex.split(told.stderr.split("To score: ")[1].split("\n")[0])
            calls = fake.calls
            outcome = CliRunner().invoke(app, printed[1:])
            assert outcome.exit_code == 0 and fake.calls == calls, outcome.output
        assert not {*line} - {*printed}
        run = read_run(tmp_path / "run")
        assert (run.name, run.options.thresholds, run.options.assignment) == (
            "my system",
            (0.1, 0.3, 0.5),
            "one_to_one",
        )
        assert json.loads(outcome.stdout) == run.result
        commands = typer.main.get_command(app).commands
        takes = commands["score"].commands["svg2_temporal_accuracy"], commands["judge"].commands["ask"]
        one, other = ([flag.opts for flag in each.params] for each in takes)
        assert one == other
        refused = self.ask(tmp_path, *asked(fake), "--assignment", "both")
        assert refused.exit_code == 2 and "assignment: expected one of any, one_to_one" in refused.stderr

    def test_dry_run_and_cost(self, tmp_path):
        prices = ("--judge-option", "prices=[10, 100]", "--judge-option", "max_cost=0", "--judge-option", "cache=x")
        with faked() as fake:
            told = self.ask(tmp_path, *asked(fake), "--dry-run")
            assert (told.exit_code, fake.calls, json.loads(told.stdout)["calls"]) == (0, 0, 2)
            told = self.ask(tmp_path, *asked(fake, *prices[:4]))
            assert told.exit_code == 3 and json.loads(told.stdout)["unjudged"] == {"budget": 2} and fake.calls == 0

    def test_judges_that_ask_nobody(self, tmp_path):
        told = self.ask(tmp_path, "--judge", "wordnet")
        assert told.exit_code == 2 and 'expected provider/model of a language model, got "wordnet"' in told.stderr

    def test_pairs_without_a_verdict(self, tmp_path):
        with faked({"match": "label:^cat$", "do": "refusal"}) as fake:
            told = self.ask(tmp_path, *asked(fake))
            assert told.exit_code == 3 and json.loads(told.stdout)["unjudged"] == {"refused": 1}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_killed_and_given_again(tmp_path):
    """Killed twice while it asks; in the end nothing with a verdict is asked again, and the results are the same bytes."""
    said = [graph("v", [f"thing {n}" for n in range(24)], [relation(n, f"by {n}", n + 1, (0, 4)) for n in range(23)])]
    gold = [graph("v", [f"item {n}" for n in range(24)], [relation(n, f"near {n}", n + 1, (0, 4)) for n in range(23)])]
    at_once, pairs = 2, 24 + 23
    with faked(delay=0.05) as fake:
        more = ("--judge-option", f"concurrency={at_once}", "--bootstrap", 0)
        home = os.pathsep.join([str(Path(sgeval.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        line = arguments(tmp_path, *asked(fake, *more), said=said, gold=gold)
        start = [sys.executable, "-c", "from sgeval.cli.app import app; app()", *line]
        for enough in (8, 25):
            process = subprocess.Popen(
                start, env={**os.environ, "PYTHONPATH": home}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while fake.calls < enough:
                assert process.poll() is None
                fake.ends.wait(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait(30)
            assert not (tmp_path / "run" / "results.json").exists()
        assert CliRunner().invoke(app, line).exit_code == 0
        assert len(fake.counts) == pairs
        # verdicts are committed some at a time: what was under way, or not yet committed, may be asked again, once a kill
        assert max(fake.counts.values()) <= 3 and fake.calls < 2 * pairs
        calls = fake.calls
        whole = CliRunner().invoke(app, arguments(tmp_path, *asked(fake, *more), said=said, gold=gold, out="whole"))
        assert whole.exit_code == 0 and fake.calls == calls + pairs
        bytes_of = {name: (tmp_path / name / "results.json").read_bytes() for name in ("run", "whole")}
        assert bytes_of["run"] == bytes_of["whole"]
        assert CliRunner().invoke(app, [*line, "--overwrite"]).exit_code == 0
        assert fake.calls == calls + pairs and (tmp_path / "run" / "results.json").read_bytes() == bytes_of["whole"]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
class TestSignals:
    """Children are commands of their own; what a signal does there is said by exit code and standard error."""

    @staticmethod
    def start(folder, fake, change="", command="score"):
        line = arguments(folder, *asked(fake, "--judge-option", "concurrency=2", "--judge-option", "deadline=900"))
        line = line if command == "score" else ["judge", "ask", *line[2:]]
        home = os.pathsep.join([str(Path(sgeval.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-c", f"{change}\nfrom sgeval.cli.app import app; app()", *line],
            **{"env": {**os.environ, "PYTHONPATH": home}, "stderr": subprocess.PIPE, "text": True},
        )
        while not fake.calls:
            assert process.poll() is None
            fake.ends.wait(0.01)
        return process, line

    @pytest.mark.parametrize("command", ["score", "ask"])
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_stopped_while_it_asks(self, tmp_path, number, command):
        """The second answer would come after ten minutes: what is under way is dropped, the first verdict is kept."""
        with faked({"match": "nth:2..3", "do": "stall", "seconds": 600}) as fake:
            process, line = self.start(tmp_path, fake, command=command)
            while fake.calls < 2:
                fake.ends.wait(0.01)
            process.send_signal(number)
            assert process.wait(60) == 130
            assert AGAIN in process.stderr.read() and not (tmp_path / "run" / "results.json").exists()
            fake.rules.clear()
            assert CliRunner().invoke(app, line).exit_code == 0
            assert sorted(fake.counts.values()) == [1, 2]

    def test_a_second_interrupt_leaves_at_once(self, tmp_path):
        """What has to be put away takes for ever here, and leave to do so is given for ever."""
        change = "import time, sgeval.judges.work as work; work.LEAVE = 900\n"
        change += "work.VerdictCache.close = lambda cache: time.sleep(900)"
        with faked({"match": "all", "do": "stall", "seconds": 600}) as fake:
            process, _ = self.start(tmp_path, fake, change)
            process.send_signal(signal.SIGINT)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130


def made(folder, said, gold, judge="exact", **options):
    """A run made from Python, so that any callable may judge, and its page."""
    write_run(folder / "made", "made", score(said, gold, judge=judge, options=Options(**options)), {})
    run = read_run(folder / "made")
    return run, Page(render_report(run, folder / "report.html"))


class TestReport:
    def test_the_page_says_what_the_run_measured(self, tmp_path):
        judge = judge_of({("predicate", "holding", "above"): "overlap"})
        run, page = made(tmp_path, SAID, GOLD, judge, bootstrap=50, denominator="predictions")
        for text in (
            # seeing is in time, but the dog is a cat; chasing is too short; holding and above: 4 of 6 seconds
            "33.33 triplet accuracy, percent of the annotated",
            "Over 3 relations in 2 videos.",
            "Object 4 75.00",
            "Relation 3 66.67",
            "table judged the labels",
            "8 distinct pairs of labels",
            "6 equal, not asked",
            "2 with a verdict of the judge",
            "dog chasing ball 0–10 s; predicted 0–5 s chasing equal 0.50 wrong: another time",
            "camera seeing dog 0–4 s; predicted 0–4 s seeing equal 1.00 relation right, label of an end wrong",
            "man holding cup 0–2, 4–6 s; predicted 0–6 s above overlapping 0.67 right",
            "holding above overlapping 1",
            "dog cat mismatch 1",
            "2 annotated videos n_videos",
            "every item of every video was scored",
            run.result["signature"],
        ):
            assert text in page.words, text
        for kind in ("object", "attribute", "relation", "triplet"):
            for key in (f"{kind}_accuracy", f"{kind}_accuracy_strict", f"{kind}_precision", f"{kind}_coverage"):
                assert percent(run.result[key]) in page.words, key
        ends = percent_interval(run.result["object_accuracy_low"], run.result["object_accuracy_high"])
        assert ends and ends in page.words
        assert str(tmp_path) not in page.source
        assert_harmless(page)

    def test_bars_stand_where_the_spans_are(self, tmp_path):
        _, page = made(tmp_path, SAID, GOLD, "exact")
        paths = [attrs["d"] for tag, attrs in page.tags if tag == "path" and attrs.get("class") in ("gold", "mine")]
        assert "M0.00 1H100.00V6H0.00Z" in paths and "M0.00 8H50.00V13H0.00Z" in paths  # 10 and 5 of 10 seconds
        assert "M0.00 1H33.33V6H0.00ZM66.67 1H100.00V6H66.67Z" in paths  # 0–2 and 4–6 of 6

    def test_odd_spans(self, tmp_path):
        gold = [
            graph(
                "v",
                ["a dog", "cup"],
                [relation(0, "on", 1, (3, 3)), relation(1, "on", 0), relation(0, "by", 1, (8, 99))],
            )
        ]
        said = [graph("v", ["a dog", "cup"], [relation(0, "on", 1, (7, 2)), relation(1, "on", 0, *[(0, 1)] * 5)])]
        _, page = made(tmp_path, said, gold, "exact", on_invalid="skip")
        for text in ("3–3 s; predicted never", "throughout; predicted 0–1, 0–1, 0–1 and 2 more s", "8–99 s"):
            assert text in page.words, text
        assert_harmless(page)

    def test_videos_without_relations(self, tmp_path):
        _, page = made(tmp_path, [graph("v", ["dog"], [])], [graph("v", ["dog"], [])], "exact")
        assert "There is no annotated relation, so no triplet." in page.words
        assert "No video has a relation that is decided." in page.words and "No relation is annotated." in page.words

    def test_worst_and_best_of_many(self, tmp_path):
        run, page = made(tmp_path, *random_graphs(4, 14), "exact")
        assert "Worst videos" in page.words and "Best videos" in page.words
        rows = [{"group": n, "n": 1, "triplet_accuracy": float(n), "relation_accuracy": 0.0} for n in range(9)]
        worst, best = chosen_videos(rows)
        assert [row["group"] for row in worst] == [0, 1, 2] and [row["group"] for row in best] == [8, 7, 6]
        assert chosen_videos(rows[:6]) == (rows[:6], [])
        assert sum(row.n for row in confusions(run)["object"]) == sum(
            match.kind == "object" and not match.is_equal for match in run.rows.matches
        )

    def test_every_count_has_words(self, tmp_path):
        run, page = made(tmp_path, *random_graphs(4, 14), judge_of({}, default=None), max_per_pair=1)
        known = {**words.TEMPORAL_SCOPE, **words.TEMPORAL_SKIPPED}
        assert {key for key in run.result if key.startswith("n_")} == known.keys() | {"n_unjudged_timeout"}
        assert words.UNKNOWN not in page.words
        for meaning in known.values():
            for n in (1, 2):
                assert "{" not in agreed(meaning, n)

    def test_long_texts_are_cut(self, tmp_path):
        gold = [graph("é" * 300, ["x" * 300, "ball"], [relation(0, "y" * 300, 1, (0, 1))])]
        _, page = made(tmp_path, gold, gold, judge_of({}, default=None))
        assert all(char * 100 in page.words and char * 130 not in page.words for char in "xéy")

    def test_runs_under_another_judge_are_not_ranked(self, tmp_path):
        runs = []
        for name, judge in (
            ("one", "exact"),
            ("two", judge_of({}, default="synonym", name="kind")),
            ("three", "exact"),
        ):
            write_run(tmp_path / name, name, score(SAID, GOLD, judge=judge), {})
            runs.append(read_run(tmp_path / name))
        page = Page(render_ranking(runs, tmp_path / "ranking.html"))
        assert "this differs from the first: Part Protocol 1 Here judge exact kind" in page.words
        shown = [f"{rank} {run.name} {run.result['triplet_accuracy']:.2f}" for rank, run in zip("1–1", runs)]
        assert all(text in page.words for text in shown), shown
        assert_harmless(page)
