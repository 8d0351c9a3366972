"""Specs of the bundle: the published numbers, typed here a second time; command lines; what is refused."""

import hashlib
import json
import shlex
from pathlib import Path

import pytest
import typer
import yaml

from benchmarks.alignment.run import PRINTED, settings
from sgeval import __version__
from sgeval.bundle import published, tables, tasks
from sgeval.bundle.specs import command_line, read_specs
from sgeval.bundle.strict_yaml import _Loader, parse_yaml
from sgeval.cli.app import app
from sgeval.demo import SCENES
from sgeval.errors import SgevalError

ROOT = Path(__file__).resolve().parent.parent
# Tables 1 and 3 to 5 are typed again in test_protocol_audit.py, which reads them from the specs too.
TABLE_6 = [
    ("Visual Genome", "RLIPv2", 108_077, 1_987_331, 36_515),
    ("Visual Genome", "FG-OV", 108_077, 1_987_331, 36_515),
    ("COCO", "RLIPv2", 122_218, 902_278, 388),
    ("COCO", "FG-OV", 122_218, 819_111, 1_121),
]
TABLE_7 = [("RLIPv2", 25.41, 22.22, 18.5), ("FG-OV", 25.97, 22.81, 20.72)]
SVG2_TABLE_2 = {  # triplets, relations (PVSG, VidOR, SVG2test each), objects (VIPSeg first), attributes (SVG2test)
    "Qwen2.5-VL-3B": "0.1 0.2 0.2 0.1 0.4 0.3 22.1 10.4 45.0 24.2 1.4",
    "MiniCPM-V 4.5": "0.1 3.0 1.1 0.2 4.0 2.4 40.0 14.3 59.1 38.5 8.4",
    "FT-Qwen2.5-VL-3B (bbox traj.)": "0.5 1.8 1.4 1.6 4.2 3.0 35.1 33.6 56.9 46.1 13.4",
    "GPT-5": "16.6 19.7 17.9 18.3 21.7 19.4 68.1 54.2 88.5 65.5 24.1",
    "TRASER": "16.1 22.9 16.7 16.9 25.0 18.7 86.5 72.7 91.4 79.0 27.1",
}


class TestPublished:
    def test_tables_6_and_7(self):
        assert [tuple(row.values()) for row in published("paper1_table6")] == TABLE_6
        assert [tuple(row.values()) for row in published("paper1_table7")] == TABLE_7

    def test_svg2_table_2(self):
        rows = published("svg2_table2")
        got = {row.pop("model"): " ".join(f"{value:.1f}" for value in row.values()) for row in rows}
        assert got == SVG2_TABLE_2
        assert list(rows[0])[6] == "object_vipseg" and list(rows[0])[-1] == "attribute_svg2_test"

    def test_svg2_tables_9_and_12(self):
        assert list(published("svg2_table9")[0].values()) == ["TRASER", 23.8, 18.5, 25.4, 20.8, 29.5, 28.8]
        assert published("svg2_table12") == [
            {"model": "TRASER", "object_pvsg": 63.4, "relation_pvsg": 13.4, "triplet_pvsg": 10.0}
        ]

    def test_all_tables_are_there(self):
        assert [table.id for table in tables()] == [
            *(f"paper1_table{number}" for number in (1, 3, 4, 5, 6, 7)),
            *(f"svg2_table{number}" for number in (2, 9, 12)),
        ]

    def test_the_metrics_card_quotes_them(self):
        text = (ROOT / "metrics/relclipscore/README.md").read_text(encoding="utf-8")
        for table in ("paper1_table3", "paper1_table7"):
            for row in published(table):
                assert f"{row['score']:.2f} / {row['clip']:.2f} / {row['siglip']:.2f}" in text
        assert ", ".join(f"{row['ref']:.2f}" for row in published("paper1_table3")) in text
        assert ", ".join(f"{row['precision']:.2f}" for row in published("paper1_table3")) in text

    def test_unknown_name(self):
        with pytest.raises(SgevalError, match=r"table: expected one of .*did you mean \"paper1_table1\""):
            published("paper1_tabel1")


def every_command():
    yield from (task.command() for task in tasks())
    for table in tables():
        yield from table.commands()


class TestCommands:
    @pytest.mark.parametrize("line", sorted(set(every_command())))
    def test_the_command_line_takes_them(self, line):
        name, score, metric, *words = shlex.split(line)
        assert (name, score) == ("sgeval", "score")
        command = typer.main.get_command(app).commands["score"].commands[metric]
        given = command.make_context(metric, words).params
        assert given["out"] and given["references" if metric == "theta" else "predictions"]

    def test_table_1_is_that_of_the_benchmark(self):
        """Model by model the settings of `benchmarks/alignment`; 4 models on 2 data sets."""
        lines = [shlex.split(line)[3:] for line in next(iter(tables())).commands()]
        assert len(lines) == 8
        for words in lines:
            given = dict(zip(words[::2], words[1::2], strict=True))
            expected = settings(given["--model"], "openvocsgg")
            assert {key: given.get(f"--{key}") for key in expected} == expected
            assert "--score" in given if "score" in expected else "--score" not in given
            assert given["--model"] in PRINTED and given["--limit"] == "10000" and given["--split"] == "train"

    def test_a_run_gives_several_columns(self):
        """Table 3: 5 models, and of each the columns of NegCLIP together, CLIP, SigLIP: 15 runs for 25 numbers."""
        lines = list(next(table for table in tables() if table.id == "paper1_table3").commands())
        assert len(lines) == 15 and lines[0].endswith("--model negclip-b32 --out runs/paper1_table3/1")
        assert "PREDICTIONS/llava-onevision-7b.jsonl" in lines[0]

    def test_tracked_answers_are_other_files_than_given_ones(self):
        """Tables 2 and 12 differ in the trajectories that a model was given; one file cannot have both."""
        files = [
            {shlex.split(line)[shlex.split(line).index("--predictions") + 1] for line in table.commands()}
            for table in tables()
            if table.id in ("svg2_table2", "svg2_table12")
        ]
        assert len(files) == 2 and files[0].isdisjoint(files[1])

    def test_quoted_for_a_shell(self):
        line = command_line("theta", {"references": "a; rm -rf b", "template": "$(x)"}, "runs/a b")
        assert shlex.split(line)[3:] == ["--references", "a; rm -rf b", "--template", "$(x)", "--out", "runs/a b"]


class TestTasks:
    def test_the_demo_is_pinned(self):
        task = next(task for task in tasks() if task.config == "demo")
        text = (SCENES / "references.jsonl").read_bytes()
        boxes = sum(len(json.loads(line)["objects"]) for line in text.splitlines())
        assert task.pins["references"] == hashlib.sha256(text).hexdigest()[:12]
        assert task.pins["objects"].startswith(f"{boxes} (")
        assert task.protocol()["model"] == "demo" and task.protocol()["version"] == __version__

    def test_protocol_of_videos(self):
        task = next(task for task in tasks() if task.id == "pvsg_triplet")
        parts = task.protocol()
        assert (parts["judge"], parts["identical"], parts["tiou"]) == ("wordnet", "canonical", ">0.5")


TASK = """kind: task
title: a title
ranks: systems
metric: ssg_role_values
key: value
config: ssg
split: test
settings: {}
pins: {}
"""
TABLE = """kind: table
title: a title
source: a paper
metric: null
labels: [model]
columns:
  - {name: score, printed: Score, unit: percent, decimals: 1, key: null}
rows:
  - [one, 12.5]
run: {}
by: {}
missing: []
cannot: []
"""


def faults_in(tmp_path, text, name="spec.yaml"):
    (tmp_path / "specs").mkdir(exist_ok=True)
    (tmp_path / "specs" / name).write_text(text, encoding="utf-8")
    faults = []
    read_specs(tmp_path, faults)
    return "\n".join(faults)


class TestRefused:
    def test_the_two_are_well(self, tmp_path):
        assert faults_in(tmp_path, TASK, "a.yaml") == faults_in(tmp_path, TABLE, "b.yaml") == ""

    @pytest.mark.parametrize(
        ("text", "old", "new", "words"),
        [
            (TABLE, "12.5", "12.55", "rows[0].score: expected a percentage with 1 decimals, got 12.55"),
            (TABLE, "12.5", "112.5", "rows[0].score: expected a percentage"),
            (TABLE, "12.5", "-1.0", "rows[0].score: expected a percentage"),
            (TABLE, "12.5", ".nan", 'expected finite numbers, got ".nan"'),
            (TABLE, "12.5", "true", "rows[0].score: expected a percentage"),
            (TABLE, "12.5", "'12.5'", "rows[0].score: expected a percentage"),
            (TABLE, "[one, 12.5]", "[one]", "rows[0]: expected 1 labels and 1 numbers"),
            (TABLE, "one,", '"a\\nb",', "rows[0].model: expected a text of one line"),
            (TABLE, "unit: percent", "unit: points", "columns[0]: unit: expected one of percent, count"),
            (TABLE, "cannot: []", "", "got none named cannot"),
            (TABLE, "by: {}", "by: {colour: {}}", 'by: expected one of model, got "colour"'),
            (TASK, "ssg_role_values", "ssg_roles", "metric: expected one of"),
            (TASK, "split: test", "split: val", "split: expected one of test"),
            (TASK, "config: ssg", "config: coco", "config: expected one of"),
            (TASK, "settings: {}", "settings: {verbs: top1}", "settings: option: expected one of verb_setting"),
            (TASK, "settings: {}", "settings: {verb_setting: all}", "settings: verb_setting: expected one of"),
            (TASK, "settings: {}", "settings: []", "settings: expected keys and values"),
            (TASK, "pins: {}", "pins: {}\nmore: 1", "key: expected one of"),
            (TASK, "title: a title", "title: a\ntitle: b", 'the key "title" twice'),
            (TASK, "title: a title", "title: !!python/object/apply:os.system ['true']", "expected plain YAML"),
            (TASK, "kind: task", "kind: board", "kind: expected one of task, table"),
        ],
    )
    def test_named(self, tmp_path, text, old, new, words):
        assert old in text
        faults = faults_in(tmp_path, text.replace(old, new, 1))
        assert words in faults and "specs/spec.yaml" in faults and len(faults.splitlines()) == 1

    def test_name(self, tmp_path):
        assert "expected a name of lower-case letters" in faults_in(tmp_path, TASK, "A B.yaml")

    def test_none(self, tmp_path):
        faults = []
        assert read_specs(tmp_path, faults) == ([], []) and faults == ["specs: expected one spec or more, found none"]


class TestYaml:
    @pytest.mark.parametrize(
        "text",
        [
            "a: &a [1]\nb: *a",  # what a billion laughs are made of
            "!!python/name:os.system",
            "a: !!python/object/apply:os.system ['true']",
            "!custom {a: 1}",
            "1: a",
            "a: 1\na: 2",
            "a: [",
            "--- 1\n--- 2",
            "[" * 40 + "]" * 40,
            "[" * 100_000,
            "a: \x00",
            "\t- a",
            "a: !!float ''",
            "a: !!int ''",
            "a: !!set {b}",
            "a: !!omap [b: 1]",
            "a: !!binary YQ==",
            "a: !!str 1",
            "a: ! 1",
            "!!map {a: 1}",
            "a: .nan",
            "a: -.inf",
            "a: 1.0e+999",
            "a: 0b_",
            'a: "\\UFFFFFFFF"',
            "? [a]\n: b",
        ],
    )
    def test_refused_in_one_line(self, text):
        with pytest.raises(SgevalError) as fault:
            parse_yaml(text, "f.yaml")
        assert str(fault.value).startswith("f.yaml: expected") and "\n" not in str(fault.value)

    def test_dates_are_texts(self):
        assert parse_yaml("a: 2026-11-30\nb: 1.5\nc: null\n<<: x", "f") == {
            "a": "2026-11-30",
            "b": 1.5,
            "c": None,
            "<<": "x",
        }

    def test_times_are_texts(self):
        """Sexagesimal numbers, of any length."""
        long = "1" + ":59" * 3_000 + ".5"
        assert parse_yaml(f"a: 1:30\nb: {long}\nc: 1:30.5", "f") == {"a": "1:30", "b": long, "c": "1:30.5"}

    def test_numbers(self):
        assert parse_yaml("[0, -12, 1_000, 0x1F, 0.5, -.5, 1., 2.5e-1]", "f") == [
            0,
            -12,
            1000,
            31,
            0.5,
            -0.5,
            1.0,
            0.25,
        ]

    def test_each_key_is_looked_up_once(self):
        """A text as a key that counts comparisons: a list of seen keys would need a million."""
        seen = []

        class Counting(_Loader):
            def construct_object(self, node, deep=False):
                value = super().construct_object(node, deep)
                return _Counted(value, seen) if isinstance(value, str) else value

        yaml.load("\n".join(f"k{at}: 1" for at in range(1_500)), Counting)
        assert len(seen) < 15_000


class _Counted(str):
    """A text that notes each comparison."""

    def __new__(cls, text, seen):
        made = super().__new__(cls, text)
        made.seen = seen
        return made

    def __eq__(self, other):
        self.seen.append(1)
        return str.__eq__(self, other)

    __hash__ = str.__hash__
