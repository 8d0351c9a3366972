"""`sgeval compare`: groups that may be ranked, paired tests, refusals, and the tables that are written."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from report_kit import Page, assert_harmless
from temporal_kit import graph, judge_of
from typer.testing import CliRunner

from sgeval import temporal
from sgeval.cli.app import app
from sgeval.comparison import Contender, compare, grouped, numbered, rank
from sgeval.encoders.aliases import ALIASES
from sgeval.errors import SgevalError
from sgeval.protocol import differing_parts, protocol
from sgeval.report import render_ranking, tabular
from sgeval.runs import Run, read_run, write_run
from sgeval.situation import Options, score_rows
from sgeval.summary import Sample

N = 12
GOLD = [
    {"frame_id": f"f{at}", "kind": "object", "object_id": 1, "roles": [{"role": "tool", "value": "pen"}]}
    for at in range(N)
]


def said(right):
    """Predictions that are right in the first `right` pictures."""
    return [row | {"roles": [{"role": "tool", "value": "pen" if at < right else "cup"}]} for at, row in enumerate(GOLD)]


def make_run(folder, name, right, gold=GOLD, digest="g", **options):
    scoring = score_rows(said(right)[: len(gold)], gold, Options(**options))
    write_run(folder, name, scoring, {"references": {"file": "gold.jsonl", "sha256": digest}})
    return read_run(folder)


@pytest.fixture
def runs(tmp_path):
    """Right in 3, 12 and 2 of 12 pictures."""
    return [make_run(tmp_path / name, name, right) for name, right in (("low", 3), ("high", 12), ("least", 2))]


def moved(run, **parts):
    """The run with other values in its signature."""
    given = dict(part.split(":", 1) for part in run.result["signature"].split("|")) | parts
    line = "|".join(f"{name}:{value}" for name, value in given.items())
    return replace(run, result=run.result | {"signature": line})


def group_runs(runs, keys=()):
    return grouped([protocol(run, keys) for run in runs])


def differing(one, other):
    return differing_parts(protocol(one), protocol(other))


class TestCompare:
    def test_order_and_difference(self, runs):
        found = compare(runs)
        (group,) = found.groups
        lines = group.lines["value"]
        assert [(line.rank, line.name, line.value) for line in lines] == [
            (1, "high", 100.0),
            (2, "low", 25.0),
            (3, "least", pytest.approx(100 / 6)),
        ]
        assert lines[0].against is None and found.n_units == N and found.unit == "picture"
        # 9 and 10 pictures differ, all in one direction: 2 of 2^9 and of 2^10 exchanges are as far apart.
        for line, difference, p_value in zip(lines[1:], (-75.0, -1000 / 12), (2 / 2**9, 2 / 2**10)):
            assert line.against.name == "high" and line.against.found.difference == pytest.approx(difference)
            assert line.against.found.p_value == pytest.approx(p_value, abs=0.003)
        tests = [line.against for line in lines[1:]]
        assert found.n_tests == 2 and all(test.is_told_apart for test in tests)
        # T is sqrt(10) and 3, and 1 between low and least: sqrt(10) takes all 10 of one sign; then high and low are left.
        assert [test.p_adjusted for test in tests] == pytest.approx([2 / 2**9, 2 / 2**10], abs=0.003)
        assert found.n_pairs == 3

    def test_baseline(self, runs):
        found = compare(runs, baseline="least")
        by_name = {line.name: line.against for line in found.groups[0].lines["value"]}
        assert by_name["least"] is None and by_name["low"].name == "least"
        # One picture differs: exchanged or not, the two are as far apart.
        assert by_name["low"].found.p_value == 1.0 and not by_name["low"].is_told_apart
        assert "Not told apart: low." in tabular.verdict(found.groups[0], "value")

    def test_scores_equal_but_for_rounding_share_a_rank(self, runs):
        nudged = replace(runs[0], name="nudged", result=runs[0].result | {"value": 25.0 + 1e-12})
        lines = compare([runs[0], nudged, runs[1]]).groups[0].lines["value"]
        assert sorted((line.rank, line.name) for line in lines) == [(1, "high"), (2, "low"), (2, "nudged")]

    def test_equal_scores_share_a_rank(self, tmp_path):
        runs = [make_run(tmp_path / name, name, right) for name, right in (("a", 4), ("b", 4), ("c", 3))]
        assert [(line.name, line.rank) for line in compare(runs).groups[0].lines["value"]] == [
            ("a", 1),
            ("b", 1),
            ("c", 3),
        ]

    def test_intervals_are_those_of_the_run(self, tmp_path):
        run = make_run(tmp_path / "a", "a", 5, bootstrap=50, seed=7)
        bare = make_run(tmp_path / "b", "b", 5)
        lines = {line.name: line for line in compare([run, bare]).groups[0].lines["value"]}
        assert lines["a"].interval.low == run.result["value_low"]
        edited = replace(run, result=run.result | {"value_low": 12.5})
        assert compare([edited, bare]).groups[0].lines["value"][0].interval.low == 12.5
        # Made here: 5/12 with a standard deviation of 100 · sqrt(5/12 · 7/12 / 12) = 14.2 points.
        assert 41.7 - 2.5 * 14.2 < lines["b"].interval.low < 41.7 < lines["b"].interval.high < 41.7 + 2.5 * 14.2

    def test_several_scores(self, runs):
        found = compare(runs, ["value", "role_accuracy"])
        assert list(found.groups[0].lines) == ["value", "role_accuracy"] and found.n_tests == 4
        # One role only: its accuracy is the share of pictures.
        assert [line.value for line in found.groups[0].lines["role_accuracy"]][:2] == [100.0, 25.0]

    def test_undefined_is_no_rank_and_no_test(self, runs):
        found = compare(runs, ["value", "person_value"])
        assert [(line.value, line.rank, line.against) for line in found.groups[0].lines["person_value"]] == [
            (None, None, None)
        ] * 3

    def test_one_run(self, runs):
        found = compare(runs[:1])
        assert found.n_tests == 0 and found.groups[0].lines["value"][0].rank is None


class TestGroups:
    def test_another_protocol_stands_apart(self, runs):
        other = moved(runs[1], verbs="gold")
        found = compare([runs[0], other, runs[2]])
        assert [group.names for group in found.groups] == [("low", "least"), ("high",)]
        assert found.groups[1].differs == (("verbs", "top1", "gold"),)
        assert found.groups[0].lines["value"][0].rank == 1 and found.groups[1].lines["value"][0].rank is None
        assert "verbs gold here, top1 in the first table" in tabular.differs(found.groups[1])

    def test_baseline_of_another_group_leaves_the_first_its_best(self, runs):
        found = compare([runs[0], moved(runs[1], verbs="gold"), runs[2]], baseline="high")
        assert found.groups[0].lines["value"][1].against.name == "low"

    def test_policies_without_cases_move_nothing(self, runs):
        assert group_runs([runs[0], moved(runs[1], missing="error", invalid="skip")]) == [[0, 1]]

    def test_policies_with_cases(self, runs):
        """What is left out makes a number of its own; what counts as 0 leaves the other runs as they are."""
        met = [replace(run, result=run.result | {"n_invalid": n}) for run, n in zip(runs, (2, 2, 3))]
        skipping = [moved(run, invalid="skip") for run in met]
        assert group_runs([skipping[0], moved(runs[1], invalid="error")]) == [[0], [1]]
        assert group_runs([skipping[0], skipping[1]]) == [[0, 1]]
        assert group_runs([skipping[0], skipping[2]]) == [[0], [1]]  # 2 left out, 3 left out
        assert differing(runs[1], skipping[0]) == (("invalid", "", "skip, 2 left out"),)
        absent = replace(runs[0], result=runs[0].result | {"n_missing_frames": 4})
        assert group_runs([moved(absent, missing="zero"), moved(runs[1], missing="error")]) == [[0, 1]]

    def test_other_references(self, tmp_path, runs):
        other = make_run(tmp_path / "other", "other", 3, digest="h" * 40)
        assert differing(runs[0], other) == (("references", "g", "h" * 12),)

    @pytest.mark.parametrize("part", ["verbs", "input", "version"])
    def test_parts_that_count(self, runs, part):
        assert group_runs([runs[0], moved(runs[1], **{part: "x"})]) == [[0], [1]]

    def test_parts_of_a_scoring_model(self, runs):
        """θ ranks models: what belongs to one may differ, as long as the score asks what it prefers, not how much."""
        one = replace(runs[0], metric="theta", result={"signature": THETA})
        other = moved(one, model="clip-b32", weights="x", act="x", text="x", image="x", score="sigmoid")
        assert group_runs([one, other]) == group_runs([one, other], ["theta", "precision"]) == [[0, 1]]
        assert group_runs([one, other], ["theta", "mean_score"]) == [[0], [1]]
        for part in (
            "template",
            "precision",
            "prep",
            "norm",
            "fit",
            "context",
            "symmetric",
            "cooccurring",
            "singletons",
        ):
            assert group_runs([one, moved(one, **{part: "x"})]) == [[0], [1]], part
        drawn = moved(one, draw="5")
        assert group_runs([one, drawn]) == [[0, 1]] and group_runs([one, drawn], ["above_random_predicate"]) == [
            [0],
            [1],
        ]
        blip = moved(one, model="blip2-itm-g", template=ALIASES["blip2-itm-g"].template)
        assert group_runs([one, blip]) == [[0, 1]]  # each in its own words

    def test_open_verdicts_stand_apart(self):
        """Decided items alone make a share: one of two decided is no more than another's 75 of all."""
        gold = [graph(f"v{at}", [f"g{at}"], []) for at in range(4)]
        mine = [graph(f"v{at}", [f"p{at}"], []) for at in range(4)]
        table = {("object", f"g{at}", f"p{at}"): "synonym" for at in range(3)}
        whole, part = (
            temporal.score(mine, gold, judge=judge_of({**table, **more}), options=temporal.Options(max_unjudged=limit))
            for more, limit in (({}, 0.0), ({("object", "g3", "p3"): None}, 0.5))
        )
        runs = [
            Run(Path("r"), "r", temporal.KEY, each.result(), each.options, {}, {}, each.rows) for each in (whole, part)
        ]
        assert [run.result["object_accuracy"] for run in runs] == [75.0, 100.0]
        assert ("decided", "", "object 75.00 %") in differing(*runs)
        assert group_runs(runs) == [[0], [1]]

    def test_version_counts(self, runs):
        assert group_runs([runs[0], moved(runs[1], version="0.0.1")]) == [[0], [1]]

    def test_names(self):
        assert numbered(["a", "b", "a"]) == ["a (1)", "b", "a (2)"]
        assert numbered(["a", "b", "a"], ["x/one", "x/b", "y/two"]) == ["a (one)", "b", "a (two)"]
        assert numbered(["a", "a"], ["x/one", "y/one"]) == ["a (1)", "a (2)"]
        assert numbered(["a", "a"], ["", "y/one"]) == ["a (1)", "a (2)"]
        assert len({*numbered(["a", "a (1)", "a"])}) == 3

    def test_the_folder_stands_in_the_rows(self, tmp_path):
        """Runs are named after the file of predictions, which two runs may share."""
        runs = [make_run(tmp_path / folder, "same", right) for folder, right in (("low", 3), ("high", 12))]
        rows = json.loads(tabular.to_json(compare(runs)))
        assert [(row["system"], row["folder"]) for row in rows] == [
            ("same (high)", str(tmp_path / "high")),
            ("same (low)", str(tmp_path / "low")),
        ]


class TestRefusals:
    @pytest.mark.parametrize("value", [25.1, 1e300, 24.9])
    def test_a_result_that_its_rows_do_not_give(self, runs, value):
        edited = replace(runs[0], result=runs[0].result | {"value": value})
        with pytest.raises(SgevalError, match="expected the value that its rows give, 25, got"):
            compare([edited, runs[1]])

    def test_other_pictures(self, tmp_path, runs):
        fewer = make_run(tmp_path / "fewer", "fewer", 3, GOLD[: N - 2])
        with pytest.raises(SgevalError, match=r'same pictures or videos, got 2 only in "low" \("f10", "f11"\)$'):
            compare([runs[0], fewer])

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"runs": []}, "expected at least one run"),
            ({"keys": ["valu"]}, 'key: expected one of .*did you mean "value"'),
            ({"keys": ["role object tool"]}, "key: expected one of"),
            ({"baseline": "none"}, "baseline: expected one of low, high, least"),
            ({"flips": 0}, "flips: expected a whole number, 1 or more, got 0"),
            ({"seed": -1}, "seed: expected a whole number, 0 or more, got -1"),
        ],
    )
    def test_options(self, runs, given, message):
        with pytest.raises(SgevalError, match=message):
            compare(**{"runs": runs, **given})

    def test_other_metric(self, runs):
        with pytest.raises(SgevalError, match="runs of one metric, got ssg_role_values, theta"):
            compare([runs[0], replace(runs[1], metric="theta")])


THETA = (
    "metric:theta|model:demo|weights:w|act:gelu|text:t|image:i|score:cosine|precision:fp32|prep:pil|value:cosine|protocol:paper"
    "|singletons:skip|cooccurring:keep|symmetric:default|draw:0|template:{subject} {predicate} {object}|norm:words"
    "|context:none|fit:model|vocab:v|version:0.1.0"
)
HOSTILE = '=HYPERLINK("http://x")|<script>\x1b[31m\u202e_$\\input{x}\n[a](javascript:b)'


class TestWritten:
    @pytest.fixture
    def found(self, runs):
        return compare([replace(runs[0], name=HOSTILE), runs[1]])

    def test_csv(self, found):
        rows = list(csv.DictReader(io.StringIO(tabular.to_csv(found))))
        assert [row["system"][:11] for row in rows] == ["high", "'=HYPERLINK"]
        assert float(rows[1]["difference"]) == -75.0 and rows[0]["difference"] == "" and rows[1]["rank"] == "2"
        assert all(char.isprintable() for row in rows for value in row.values() for char in value)

    def test_markdown(self, found):
        text = tabular.to_markdown(found)
        (row,) = (line for line in text.splitlines() if "HYPERLINK" in line and line.startswith("|"))
        assert row.replace("\\|", "").count("|") == 7 and "\\<script\\>" in row and "\\[a\\]" in row
        assert "http\\://" in row and "-75.00" in row and "| 1 | high | 100.00 |" in text

    def test_latex(self, found):
        text = tabular.to_latex(found)
        assert r"\textbackslash{}input\{x\}" in text and r"\input" not in text
        assert r"1 & high & 100.00 & -- & -- & -- \\" in text
        for line in text.splitlines():
            assert line.startswith("% ") or "%" not in line.replace(r"\%", "")

    def test_latex_prints_every_character(self):
        """In the usual font | is a dash, and two backticks, apostrophes or hyphens are one sign; -1.5 is a number."""
        assert tabular.latex_text("a|``b``''--c") == r"a\textbar{}`{}`b`{}`'{}'-{}-c"
        assert tabular.latex_text("---?`!`") == "-{}-{}-?{}`!{}`"
        assert tabular.latex_text("-1.50 [-3.00, 2.00] a-1") == "$-$1.50 [$-$3.00, 2.00] a-1"
        assert tabular.latex_text("– −") == "-- $-$"

    def test_a_verdict_stands_under_its_own_table(self, runs, monkeypatch):
        """Three protocols: each verdict after its table and before the next; what differs is said of the first table."""
        others = [
            replace(moved(runs[at], verbs=verbs), name=f"{verbs}{at}") for verbs in ("gold", "x") for at in (0, 1)
        ]
        found = compare([runs[0], runs[2], *others])
        texts = [tabular.to_markdown(found), tabular.to_latex(found)]
        monkeypatch.setattr("sgeval.runs.refuse_edited", lambda run: None)  # such runs are made up here
        folders = []
        for at, run in enumerate([runs[0], runs[2], *others]):
            folder = runs[0].folder.parent / f"written{at}"
            copytree(run.folder, folder)
            results = folder / "results.json"
            results.write_text(json.dumps(json.loads(results.read_text()) | {"name": run.name, "result": run.result}))
            folders.append(str(folder))
        texts.append(CliRunner().invoke(app, ["compare", *folders]).stdout)
        for text in texts:
            places = [
                text.index(words)
                for words in ("from low:", "verbs gold here, top1", "from gold1:", "verbs x here, top1", "from x1:")
            ]
            assert places == sorted(places) and text.count("Told apart from") == 3
            assert text.count("in the first table") == 2 and "above" not in text
        rows = list(csv.DictReader(io.StringIO(tabular.to_csv(found))))
        assert rows[2]["differs"] == "verbs: top1 -> gold"

    @pytest.mark.parametrize("before", ["", " ", "   "])
    @pytest.mark.parametrize("sign", "=+-@＝＋－＠")
    def test_no_cell_of_a_csv_file_is_a_formula(self, runs, before, sign):
        """Not even where `;` ends a cell."""
        for start in ("", ";", "a;"):
            text = f"{start}{before}{sign}1+1"
            found = compare([replace(runs[0], name=text), runs[1]])
            (row,) = (row for row in csv.DictReader(io.StringIO(tabular.to_csv(found))) if "1+1" in row["system"])
            assert row["system"] == f"{start}'{before}{sign}1+1"
            assert all(not cell.lstrip().startswith(tuple("=+-@＝＋－＠")) for cell in row["system"].split(";"))

    @pytest.mark.parametrize("char", ["\t", "\r", "\n", "\u00a0", "\u3000", "\ufeff", "\u200b"])
    def test_what_a_spreadsheet_may_skip_is_no_start(self, runs, char):
        found = compare([replace(runs[0], name=f"{char}=1+1"), runs[1]])
        assert f"\\u{ord(char):04x}=1+1" in tabular.to_csv(found)

    def test_parts_that_differ_start_no_cell(self, runs):
        other = moved(runs[1], **{"=1+1": "x", "=2": "y"})
        rows = list(csv.DictReader(io.StringIO(tabular.to_csv(compare([runs[0], other])))))
        assert rows[1]["differs"].startswith("'=1+1: ") and ";" not in rows[1]["differs"]

    def test_the_note_says_what_p_is_adjusted_for(self, runs):
        (note,) = tabular.notes(compare(runs))
        assert "adjusted for 3 pairs, since the best was picked" in note and "in one test at 5 %, not adjusted" in note
        (named,) = tabular.notes(compare(runs, baseline="low"))
        (two,) = tabular.notes(compare(runs[:2]))
        assert "adjusted for 2 tests (Holm)" in named and "adjusted for 1 test (Holm)" in two

    def test_p_values(self):
        assert [tabular.p_text(value) for value in (0.0004, 0.0496, 1.0, None)] == ["< 0.001", "0.050", "1.000", "–"]


class TestCommand:
    def run(self, *words):
        return CliRunner().invoke(app, ["compare", *map(str, words)])

    def test_table(self, runs):
        outcome = self.run(*(run.folder for run in runs))
        assert outcome.exit_code == 0
        assert "1 high 100.00" in " ".join(outcome.stdout.split()) and "Told apart from high: 2 of 2." in outcome.stdout

    def test_json_and_file(self, runs, tmp_path):
        folders = [run.folder for run in runs]
        rows = json.loads(self.run(*folders, "--format", "json").stdout)
        assert [row["system"] for row in rows] == ["high", "low", "least"] and rows[1]["difference"] == -75.0
        out = tmp_path / "table.tex"
        assert self.run(*folders, "--format", "latex", "--out", out).exit_code == 0
        assert out.read_text().startswith("% SSG role values: value, percent\n")

    def test_the_ending_says_the_form(self, runs, tmp_path):
        for name, start in (
            ("t.csv", "metric,key,"),
            ("t.json", "["),
            ("t.tex", "% SSG"),
            ("t.md", "### SSG"),
            ("t", "### SSG"),
        ):
            assert self.run(runs[0].folder, "--out", tmp_path / name).exit_code == 0
            assert (tmp_path / name).read_text().startswith(start)

    def test_refusal(self, runs, tmp_path):
        outcome = self.run(runs[0].folder, tmp_path / "none")
        assert outcome.exit_code == 2 and "expected a run folder" in outcome.stderr


class TestPage:
    def test_page_tables_and_records_show_one_number(self, runs, tmp_path):
        found = compare(runs)
        page = Page(render_ranking(runs, tmp_path / "ranking.html"))
        assert_harmless(page)
        lines = found.groups[0].lines["value"]
        for line, record in zip(lines, tabular.records(found), strict=True):
            shown = tabular.cells(line, found.factor)
            assert f"{line.rank} {line.name} {record['score']:.2f} " in page.words and record["score"] == line.value
            assert shown[2].startswith(f"{record['score']:.2f}")
            assert all(cell in page.words for cell in (shown[3], shown[4], shown[5]))
            assert shown[3] == "–" or shown[3].startswith(f"{record['difference']:.2f}")
            assert f"| {' | '.join(map(tabular.markdown_text, shown))} |" in tabular.to_markdown(found)
        assert (
            "high is first with 100.00, 75.00 points ahead of low (25.00). A paired test tells them apart" in page.words
        )

    def test_command(self, runs):
        folders = [str(run.folder) for run in runs]
        outcome = CliRunner().invoke(app, ["report", *folders])
        assert (
            outcome.exit_code == 0
            and "SSG role values, 3 systems on 12 pictures" in Page(runs[0].folder / "ranking.html").words
        )


def test_a_thousand_systems_can_be_told_apart():
    """The smallest p-value is 1 / (flips + 1): with 10,000 flips none could be, after Holm's adjustment for 600 tests.
    The best was picked from its scores: p-values are adjusted for all pairs, in one go, and flips stay few."""
    units = tuple(map(str, range(40)))
    base = np.linspace(0.5, 0.9, 40)
    systems = [
        Contender(
            f"s{at}",
            "theta",
            {"theta": float(values.mean())},
            Sample(units, {"theta": (values, np.ones(40))}),
            {},
            frozenset(units),
        )
        for at in range(600)
        for values in [base * (0.9 - 0.001 * at if at else 1.0)]
    ]
    found = rank(systems, ("theta",), replicates=20)
    assert found.flips == 1_000_000_000 // (600 * 599 // 2) and (found.n_tests, found.n_pairs) == (599, 600 * 599 // 2)
    assert all(line.against is None or line.against.is_told_apart for line in found.groups[0].lines["theta"])
    named = rank(systems, ("theta",), "s0", replicates=20)
    assert named.flips == 40 * 599 and (named.n_tests, named.n_pairs) == (599, 0)
    assert all(line.against is None or line.against.is_told_apart for line in named.groups[0].lines["theta"])
