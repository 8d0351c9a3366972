"""`sgeval score ssg_role_values` and its report: the run folder, what is told, and that no stranger's text does anything."""

import json

import pytest
from report_kit import Page, assert_harmless
from ssg_kit import DATA
from ssg_rows_kit import contact, frame, random_rows
from typer.testing import CliRunner

import sgeval
from sgeval.cli.app import app
from sgeval.readers.ssg import read_ssg
from sgeval.records import write_graphs
from sgeval.report import render_report, words
from sgeval.report.role_values import left_out, wrong_values, wrong_verbs
from sgeval.report.text import agreed, percent, percent_interval
from sgeval.runs import read_run
from sgeval.situation import graphs_of_rows, rows_of_graphs

# Verbs: hold for hold, wipe for hold, nothing for wipe. Of the persons one is wrong, one has two values.
GOLD = [
    frame("p1", {"pose": "sitting", "mood": "calm"}, "person", None, 0, None),
    frame("p1", {"color": ["red", "blue"]}),
    contact("p1", "hold", {"tool": "hand"}),
    contact("p1", "hold", {"tool": "arm"}),
    frame("p2", {"pose": "standing"}, "person", None, 0, None),
    frame("p2", {}),
    contact("p2", "hold", {"tool": "hand"}),
    contact("p2", "wipe", {"tool": "cloth"}, 2),
]
SAID = [
    frame("p1", {"pose": "sitting", "mood": "calm"}, "person", None, 0, None),
    frame("p1", {"color": "red"}),
    contact("p1", "hold", {"tool": "foot"}),
    frame("p2", {"pose": "sitting"}, "person", None, 0, None),
    contact("p2", "wipe", {"tool": "hand"}),
]


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def command(tmp_path):
    def run(*arguments, said=SAID, gold=GOLD, out="run"):
        given = ["--out", tmp_path / out]
        for name, side in (("predictions", said), ("references", gold)):
            given += [f"--{name}", lines(tmp_path / f"{name}.jsonl", side) if isinstance(side, list) else side]
        return CliRunner().invoke(app, ["score", "ssg_role_values", *map(str, given), *map(str, arguments)])

    return run


class TestCommand:
    def test_the_run_holds_what_the_function_gives(self, command, tmp_path):
        told = command("--bootstrap", 30)
        assert told.exit_code == 0, told.output
        run = read_run(tmp_path / "run")
        core = sgeval.ssg_role_values(SAID, GOLD, bootstrap=30)
        assert (run.name, run.metric, run.headline, run.result) == ("predictions", "ssg_role_values", "value", core)
        assert {item.name for item in (tmp_path / "run").iterdir()} == {"results.json", "items.parquet"}
        assert run.rows.items[1].gold == ("red", "blue") and run.images is None
        table = " ".join(told.stdout.split())
        # value: p1's person and object, of 6 frames with roles that are scored
        assert "│ value │ 33.33 │ 50.00 │ 100.00 │ 0.00 │" in table and "verb accuracy │ │ │ │ 33.33" in table
        assert "n_extra_verb_frames 1" in table and run.result["signature"] in table
        assert json.loads(command("--bootstrap", 30, "--json", out="again").stdout) == core

    def test_options_from_flags_and_a_file(self, command, tmp_path):
        (tmp_path / "run.yaml").write_text("verb_setting: gold\nbootstrap: 0\nname: my system\n")
        assert command("--config", tmp_path / "run.yaml", "--limit", 1).exit_code == 0
        run = read_run(tmp_path / "run")
        assert (run.name, run.options.verb_setting, run.result["n_frames"]) == ("my system", "gold", 3)
        refused = command("--config", lines(tmp_path / "bad.yaml", []), "--verb-setting", "top3", out="other")
        assert refused.exit_code == 2 and "verb_setting: expected one of top1, gold" in refused.stderr
        (tmp_path / "bad.yaml").write_text("images: photos\n")
        refused = command("--config", tmp_path / "bad.yaml", out="other")
        assert refused.exit_code == 2 and "option: expected one of format, references_format, split" in refused.stderr

    def test_graphs_against_the_data_set(self, command, tmp_path):
        gold = list(read_ssg(DATA, "test"))
        write_graphs(graphs_of_rows(rows_of_graphs(gold), gold), tmp_path / "graphs.jsonl")
        given = ("--references-format", "ssg", "--split", "test", "--bootstrap", 0)
        assert command(*given, said=tmp_path / "graphs.jsonl", gold=DATA).exit_code == 0
        run = read_run(tmp_path / "run")
        assert run.result == sgeval.ssg_role_values(gold, gold) and run.result["value"] == 100
        assert run.inputs["split"] == "test" and len(run.inputs["references"]["sha256"]) == 64
        both = command(
            "--references-format", "ssg", "--bootstrap", 0, said=tmp_path / "graphs.jsonl", gold=DATA, out="both"
        )
        assert "have nothing for 3 of 6 pictures" in both.stderr
        assert read_run(tmp_path / "both").result["value"] < 100

    def test_a_folder_without_its_form(self, command):
        refused = command(gold=DATA)
        assert (
            refused.exit_code == 2
            and "that of a data set needs --format NAME (of references: --references-format NAME)" in refused.stderr
        )

    def test_splits_are_of_data_sets(self, command):
        refused = command("--split", "test")
        assert refused.exit_code == 2
        assert "split: expected none, since no data set is read" in refused.stderr
        refused = command("--references-format", "ssg", "--split", "val", gold=DATA)
        assert "split of ssg, default: expected one of train, test" in refused.stderr

    def test_parts_left_out_end_with_3(self, command, tmp_path):
        strange = [*SAID, frame("p9", {"a": "x"}), {"kind": "object"}]
        refused = command(said=strange)
        assert (
            refused.exit_code == 2 and "predictions: 2 faults" in refused.stderr and "Traceback" not in refused.output
        )
        outcome = command("--on-invalid", "skip", said=strange)
        assert outcome.exit_code == 3
        assert "Finished with parts left out: n_invalid 1, n_unknown_frames 1" in outcome.stderr
        page = Page(render_report(read_run(tmp_path / "run"), tmp_path / "report.html")).words
        assert "p9 object 1 the references have no such frame" in page
        assert "1 predicted frame that the annotation does not have; left out n_unknown_frames" in page

    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ("", "references: expected at least one frame"),
            ("{", "expected JSON"),
            ('{"frame_id": 1, "frame_id": 2}', "expected each key once"),
            ("[1, 2]", "references: 2 faults"),
        ],
    )
    def test_broken_references(self, command, tmp_path, said, words):
        (tmp_path / "gold.txt").write_text(said)
        refused = command(gold=tmp_path / "gold.txt")
        assert refused.exit_code == 2 and words in refused.stderr and "Traceback" not in refused.output

    def test_a_run_is_not_replaced_unasked(self, command):
        assert command("--bootstrap", 0).exit_code == 0
        assert command().exit_code == 2
        assert command("--overwrite", "--bootstrap", 0).exit_code == 0


class TestReport:
    def page(self, command, tmp_path, *arguments, **given):
        assert command(*arguments, **given).exit_code == 0
        run = read_run(tmp_path / "run")
        return run, Page(render_report(run, tmp_path / "report.html"))

    def test_the_page_says_what_the_run_measured(self, command, tmp_path):
        run, page = self.page(command, tmp_path, "--bootstrap", 50)
        for text in (
            "33.33 value, percent, higher is better",
            "Over 6 frames in 2 pictures.",
            "Value 33.33",
            "at most 16.67",  # one frame of six has two roles
            "1 role has more than one annotated value",
            "2 of 3 pairs have a wrong verb or none",
            "Accuracy 33.33",
            "hold wipe 1 of 2",
            "wipe (nothing) 1 of 1",
            "person pose standing sitting 1 of 1",
            "verb tool hand foot 1 of 1",  # the other hand has a wrong verb
            "1 further annotated verb frame of a pair; only the first is scored n_extra_verb_frames",
            "1 annotated frame without a role; left out of the role scores n_empty_frames",
            "1 frame or verb that the predictions lack; wrong n_missing_frames",
            "p1 verb “hold” of 0 and 1 a further verb frame of its pair; the first is scored",
            run.result["signature"],
        ):
            assert text in page.words, text
        for key in ("value", "value_two", "value_all", "role_accuracy", "role_f1", "per_role_value", "verb_f1"):
            for prefix in ("", "person_", "object_", "verb_") if not key.startswith("verb") else ("",):
                assert percent(run.result[f"{prefix}{key}"]) in page.words, key
        heads = "Percent all 6 frames person 2 frames object 1 frame verb 3 frames Meaning"
        assert page.words.count(heads) == 2  # of both readings
        ends = percent_interval(run.result["value_all_low"], run.result["value_all_high"])
        assert ends and ends in page.words
        assert sum(tag == "svg" for tag, _ in page.tags) == 4 + 2 + 1  # a bar a role and a verb, a heat map
        assert str(tmp_path) not in page.source
        assert_harmless(page)

    def test_other_runs(self, command, tmp_path):
        given = [{**row, "verb": None} for row in SAID]
        _, page = self.page(command, tmp_path, "--bootstrap", 0, "--verb-setting", "gold", said=given)
        assert "The predictions name no verbs" in page.words and "the run was made without bootstrap" in page.words
        assert "Roles of verb frames are scored whatever the predicted verb." in page.words
        _, page = self.page(
            command, tmp_path, "--overwrite", "--limit", 1, gold=[*GOLD[4:5], *GOLD[:1]], said=[*SAID[:1], SAID[3]]
        )
        assert "No verb frame was scored." in page.words and "one picture is too few" in page.words
        assert "Scored are the frames of the first 1 picture only" in page.words
        _, page = self.page(command, tmp_path, "--overwrite", said=GOLD)
        assert "No role has a wrong value" in page.words

    def test_mistakes_are_those_of_the_rows(self, command, tmp_path):
        run, _ = self.page(command, tmp_path)
        assert [(row.role, row.gold, row.predicted, row.n, row.of) for row in wrong_values(run)] == [
            ("pose", "standing", "sitting", 1, 1),
            ("tool", "hand", "foot", 1, 1),
        ]
        assert [(row.gold, row.predicted, row.n, row.of) for row in wrong_verbs(run)] == [
            ("hold", "wipe", 1, 2),
            ("wipe", "(nothing)", 1, 1),
        ]
        assert [why for *_, why in left_out(run)] == [
            "a further verb frame of its pair; the first is scored",
            "has no role in the annotation",
        ]

    def test_every_count_has_words(self, command, tmp_path):
        predictions, references = random_rows(0, 40)
        run, page = self.page(command, tmp_path, "--max-values", 1, said=predictions, gold=references)
        known = {**words.ROLE_SCOPE, **words.ROLE_SKIPPED}
        assert {key for key in run.result if key.startswith("n_")} == known.keys()
        assert words.UNKNOWN not in page.words
        for meaning in known.values():
            for n in (1, 2):
                assert "{" not in agreed(meaning, n)

    def test_long_texts_are_cut(self, command, tmp_path):
        gold = [frame(f"é{n}", {"a": "x" * 300}) for n in range(3)]
        said = [frame(f"é{n}", {"a": "y"}) for n in range(3)]
        _, page = self.page(command, tmp_path, "--bootstrap", 20, said=said, gold=gold)
        assert "x" * 100 in page.words and "x" * 130 not in page.words

    def test_many_roles_are_folded(self, command, tmp_path):
        gold = [frame(f"f{number}", {f"role {number}": "x"}) for number in range(30)]
        _, page = self.page(command, tmp_path, "--bootstrap", 20, said=gold, gold=gold)
        assert "5 less frequent roles" in page.words
