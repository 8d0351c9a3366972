"""`sgeval bundle results` and `push`: one number everywhere, other protocols refused, nothing sent by itself."""

import hashlib
import json
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import huggingface_hub
import pytest
import yaml
from bundle_kit import copy_of, swap
from huggingface_hub import EvalResultEntry, parse_eval_result_entries
from typer.testing import CliRunner

from sgeval import __version__, alignment, temporal
from sgeval.bundle import build, entry_of, push, shelf, tasks, write_results
from sgeval.bundle.building import files_of
from sgeval.bundle.manifests import read_manifest
from sgeval.bundle.results import differing, read_entries
from sgeval.cli.app import app
from sgeval.comparison import compare
from sgeval.demo import SCENES, run_demo
from sgeval.errors import InvalidInput, SgevalError
from sgeval.formats import read_graphs
from sgeval.judges import make_judge
from sgeval.relclip import Options, score
from sgeval.report.tabular import to_json
from sgeval.runs import describe_file, read_run, write_run
from sgeval.situation import Options as RoleOptions
from sgeval.situation import graphs_of_rows, score_rows
from sgeval.temporal import Options as TemporalOptions

quiet = pytest.mark.filterwarnings("ignore:results name ORG")
HOSTILE = (
    "a\nb: !!python/object/apply:os.system ['true']",
    "- x\n- dataset: {id: evil/evil, task_id: t}\n  value: 100",
    "'\"; #|>*&!%@`",
    "!!python/name:os.system",
    "{a: b}",
    "é\u202e\ud800\x00\x85\u2028",
    "x" * 5000,
    "null",
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    run_demo(folder)
    return folder


@pytest.fixture
def good(demo):
    return read_run(demo / "good")


@pytest.fixture(scope="module")
def bundle():
    return read_manifest(shelf())


TASK = next(task for task in tasks() if task.id == "demo_relclipscore")


def command(*words):
    return CliRunner().invoke(app, ["bundle", *map(str, words)])


def signed(run, **parts):
    """The run with other parts in its signature; a part of `None` is taken out."""
    given = dict(part.split(":", 1) for part in run.result["signature"].split("|")) | parts
    line = "|".join(f"{name}:{value}" for name, value in given.items() if value is not None)
    return replace(run, result=run.result | {"signature": line})


class TestOneNumber:
    @pytest.mark.parametrize("name", ["good", "swapped", "guessing"])
    def test_everywhere_the_same(self, demo, tmp_path, name):
        """`.eval_results`, `sgeval compare` as JSON and as a table, the report's page and `results.json`."""
        done = command("results", demo / name, "--out", tmp_path)
        assert done.exit_code == 0, done.output
        path = tmp_path / ".eval_results" / "sgeval-bundle.yaml"
        (entry,) = parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))
        runs = [read_run(demo / each) for each in ("good", "swapped", "guessing")]
        found = compare(runs, replicates=20, flips=20)
        by_name = {row["system"]: row["score"] for row in json.loads(to_json(found))}
        text = f"{100 * by_name[name]:.2f}"
        assert f"{entry.value:.2f}" == text == f"{100 * read_run(demo / name).result['relclipscore']:.2f}"
        assert done.stdout == f"demo_relclipscore: {text}\n"
        page = (demo / name / "report.html").read_text(encoding="utf-8")
        assert re.search(rf">\s*{re.escape(text)}\s*<", page)
        assert re.search(rf">\s*{re.escape(text)}\s*<", (demo / "report.html").read_text(encoding="utf-8"))

    def test_the_entry(self, demo, good, tmp_path):
        path, entries = write_results(
            [good],
            tmp_path,
            shelf(),
            repo="me/scenes",
            date="2026-11-30",
            revision="0" * 40,
            source_url="https://example.org/run",
            source_name="a run",
        )
        assert path == tmp_path / ".eval_results" / "scenes.yaml"
        (entry,) = entries
        low, high = (f"{100 * good.result[f'relclipscore_{end}']:.2f}" for end in ("low", "high"))
        assert entry == EvalResultEntry(
            dataset_id="me/scenes",
            task_id="demo_relclipscore",
            value=round(100 * good.result["relclipscore"], 2),
            dataset_revision="0" * 40,
            date="2026-11-30",
            source_url="https://example.org/run",
            source_name="a run",
            notes=f"good; demo/test-40-f6388ad82e0c; 95 % interval {low} to {high}; {good.result['signature']}",
        )
        assert parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8"))) == entries

    def test_org_is_told(self, demo, tmp_path):
        assert "ORG stands for" in command("results", demo / "good", "--out", tmp_path / "a").stderr
        done = command("results", demo / "good", "--out", tmp_path / "b", "--repo", "me/scenes", "--json")
        assert "ORG" not in done.stderr and json.loads(done.stdout)[0]["dataset_id"] == "me/scenes"

    def test_same_bytes_again(self, demo, tmp_path):
        for name in ("a", "b"):
            assert command("results", demo / "good", "--out", tmp_path / name).exit_code == 0
        one, two = ((tmp_path / name / ".eval_results/sgeval-bundle.yaml").read_bytes() for name in ("a", "b"))
        assert one == two

    def test_the_references_of_the_bundle_do_too(self, tmp_path, bundle):
        """A run on the files of the bundle is the same run."""
        place = shelf() / "data/demo"
        scoring = score(
            read_graphs(SCENES / "predictions_good.jsonl"),
            images=place / "images",
            references=read_graphs(place / "test.jsonl"),
            model="demo",
        )
        write_run(tmp_path / "run", "mine", scoring, {"references": describe_file(place / "test.jsonl")})
        entry = entry_of(read_run(tmp_path / "run"), TASK, bundle)
        assert entry.value == 30.44 and "interval" not in entry.notes  # 30.44: what `sgeval demo` prints


@quiet
class TestRefused:
    @pytest.mark.parametrize(
        ("parts", "words"),
        [
            ({"context": "px20"}, "context: expected none, got px20"),
            ({"penalty": "none"}, "penalty: expected guarded, got none"),
            ({"model": "clip-b32"}, "model: expected demo, got clip-b32"),
            ({"weights": "000000000000"}, "weights: expected cf0f813a6e43, got 000000000000"),
            ({"version": "0.0.9"}, "version: expected 0.1.0, got 0.0.9"),
            ({"limit": "10"}, "limit: expected none, got 10"),
            ({"precision": "bf16"}, "precision: expected fp32, got bf16"),
            ({"fit": None}, "fit: expected model, got none"),
            ({"context": "a\nb", "fit": "pad"}, "context: expected none, got a\\u000ab; fit: expected model, got pad"),
        ],
    )
    def test_another_protocol(self, good, bundle, parts, words):
        with pytest.raises(SgevalError) as fault:
            entry_of(signed(good, **parts), TASK, bundle)
        assert words in str(fault.value) and "another protocol" in str(fault.value)

    def test_parts_that_moved_nothing(self, good, bundle):
        """No picture was bad and no record faulty, so what is done with them is no other protocol."""
        run = signed(good, badimage="skip", invalid="skip", missing="zero", empty="skip")
        assert entry_of(run, TASK, bundle).value == entry_of(good, TASK, bundle).value

    def test_abstaining_is_no_way_to_win(self, tmp_path, bundle):
        """Six easy scenes of 40, nothing said of the others: left out is another protocol, counted as 0 is low."""
        said, gold = (read_graphs(SCENES / name) for name in ("predictions_good.jsonl", "references.jsonl"))
        said = [graph if at < 6 else {**graph, "relations": []} for at, graph in enumerate(said)]
        for empty in ("skip", "zero"):
            options = Options(empty=empty)
            scoring = score(said, images=SCENES / "images", references=gold, model="demo", options=options)
            inputs = {"references": describe_file(SCENES / "references.jsonl")}
            write_run(tmp_path / empty, empty, scoring, inputs)
        with pytest.raises(SgevalError, match="empty: expected zero, got skip, 34 left out"):
            entry_of(read_run(tmp_path / "skip"), TASK, bundle)
        assert entry_of(read_run(tmp_path / "zero"), TASK, bundle).value < 10

    def test_a_score_that_was_edited(self, good, bundle):
        edited = replace(good, result=good.result | {"relclipscore": 0.5})
        with pytest.raises(SgevalError, match=r"expected the relclipscore that its rows give, 0\.304351, got 0\.5"):
            entry_of(edited, TASK, bundle)

    def test_other_references(self, good, bundle):
        inputs = good.inputs | {"references": {"file": "references.jsonl", "sha256": "f" * 64}}
        with pytest.raises(SgevalError, match="references: expected d5200d418b12, got ffffffffffff"):
            entry_of(replace(good, inputs=inputs), TASK, bundle)

    def test_other_ids(self, tmp_path, bundle):
        """The first 39 of 40 scenes."""
        rows = [read_graphs(SCENES / name)[:39] for name in ("predictions_good.jsonl", "references.jsonl")]
        scoring = score(rows[0], images=SCENES / "images", references=rows[1], model="demo", options=Options())
        write_run(tmp_path, "part", scoring, {})
        run = read_run(tmp_path)
        with pytest.raises(
            SgevalError, match=r"the 40 ids of demo/test-40-f6388ad82e0c, got others: 1 missing \(\"scene_040\"\)$"
        ):
            entry_of(run, TASK, bundle)
        with pytest.raises(
            SgevalError, match=r": expected the 40 ids of demo/test-40-f6388ad82e0c, got others: 1 miss"
        ) as it:
            write_results([run], tmp_path, shelf())
        assert "--task" not in str(it.value) and "psg" not in str(it.value)

    @pytest.mark.parametrize("value", [None, "30", True, [0.3], 10**400, -(10**10)])
    def test_a_score_that_is_withheld_or_none(self, good, bundle, value):
        run = replace(good, result=good.result | {"relclipscore": value})
        with pytest.raises(
            SgevalError, match="expected a number under relclipscore, got none; it is undefined or withheld"
        ):
            entry_of(run, TASK, bundle)

    @pytest.mark.parametrize("low", [None, "x", 10**400])
    def test_an_interval_that_is_none(self, good, bundle, low):
        run = replace(good, result=good.result | {"relclipscore_low": low})
        assert "interval" not in entry_of(run, TASK, bundle).notes

    def test_another_metric(self, good, bundle):
        task = next(task for task in tasks() if task.id == "psg_theta")
        with pytest.raises(SgevalError, match="expected a run of theta, got one of relclipscore"):
            entry_of(good, task, bundle)

    def test_a_bundle_whose_ids_were_changed(self, good, tmp_path):
        folder = copy_of(tmp_path / "b")
        swap(folder, "data/demo/test.jsonl", '"scene_040"', '"scene_041"')
        with pytest.raises(SgevalError, match="expected the ids of demo/test-40-f6388ad82e0c, got others"):
            entry_of(good, TASK, read_manifest(folder))

    def test_data_that_was_not_at_hand(self, good, bundle):
        task = next(task for task in tasks() if task.id == "psg_relclipscore")
        with pytest.raises(SgevalError, match=r"knows the ids of psg/test.* --data psg=FOLDER"):
            entry_of(good, task, bundle)

    def test_two_systems_in_one_file(self, demo, tmp_path):
        done = command("results", demo / "good", demo / "swapped", "--out", tmp_path)
        assert done.exit_code == 2 and "expected one run a task, got two of demo_relclipscore" in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_a_file_that_is_there(self, demo, tmp_path):
        words = ("results", demo / "good", "--out", tmp_path)
        assert command(*words).exit_code == 0
        done = command(*words)
        assert done.exit_code == 2 and "--overwrite replaces it" in done.stderr
        assert command(*words, "--overwrite").exit_code == 0

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (("--date", "yesterday"), "date: expected a date"),
            (("--date", "2026-11-30\nvalue: 100"), "date: expected a date"),
            (("--revision", "main"), "revision: expected the 40 digits"),
            (("--repo", "a b/c"), "repo: expected ORG/NAME"),
            (("--repo", "../x"), "repo: expected ORG/NAME"),
            (("--source-name", "x"), "source_name: expected a source_url"),
            (("--source-url", "javascript:alert(1)"), "source_url: expected an address that begins with https://"),
            (("--source-url", "https://a b"), "source_url: expected an address"),
            (("--source-url", "https://me:key@example.org"), "source_url: expected an address"),
            (("--source-url", "https://[x"), "source_url: expected an address"),
            (("--date", "20261130"), "date: expected a date as 2026-11-30"),
            (("--date", "2026-W48-1"), "date: expected a date as 2026-11-30"),
            (("--date", "2026-11-30T10:00:00"), "date: expected a date as 2026-11-30"),
            (("--date", "2026-11-31"), "date: expected a date as 2026-11-30"),
            (("--date", "٢٠٢٦-11-30"), "date: expected a date as 2026-11-30"),
            (("--source-url", "https://:p@e.x"), "source_url: expected an address"),
            (("--source-url", "https://@e.x"), "source_url: expected an address"),
            (("--source-url", "https://e.x:port/"), "source_url: expected an address"),
            (("--source-url", 'https://e.x/a"><script>'), "source_url: expected an address"),
            (("--source-url", "https://e.x/a'b"), "source_url: expected an address"),
            (("--source-url", "https://e.x\\@a.b"), "source_url: expected an address"),
            (("--task", "demo"), "task: expected one of"),
            (("--bundle", "nowhere"), "nowhere: expected a bundle"),
        ],
    )
    def test_bad_words(self, demo, tmp_path, words, expected):
        done = command("results", demo / "good", "--out", tmp_path / "out", *words)
        assert done.exit_code == 2 and expected in done.stderr and "Traceback" not in done.output
        assert not (tmp_path / "out").exists()


class TestProtocolsOfOtherMetrics:
    """What the settings of a task say is what a run with these settings signs."""

    def test_theta(self, tmp_path):
        graphs = read_graphs(SCENES / "references.jsonl")[:6]
        scoring = alignment.score_annotations(graphs, images=SCENES / "images", model="demo")
        write_run(tmp_path / "run", "demo", scoring, {})
        run = read_run(tmp_path / "run")
        task = next(task for task in tasks() if task.id == "psg_theta")
        assert differing(run, task, __version__) == []  # the model is what is ranked
        assert differing(signed(run, protocol="openvocsgg"), task, __version__) == [("protocol", "paper", "openvocsgg")]

    @pytest.mark.parametrize(("judge", "parts"), [("wordnet", []), ("exact", [("judge", "wordnet", "exact")])])
    def test_videos(self, tmp_path, judge, parts):
        video = {"video_id": "v", "objects": [{"id": 0, "category": "dog"}]}
        scoring = temporal.score(
            [video], [video], judge=make_judge(judge), options=TemporalOptions(identical="canonical")
        )
        write_run(tmp_path / "run", "mine", scoring, {})
        task = next(task for task in tasks() if task.id == "vipseg_object")
        assert differing(read_run(tmp_path / "run"), task, __version__) == parts


@quiet
class TestOwnData:
    """Frames of a data set of one's own standing in for SSG: 12 frames, 3 of them right."""

    @pytest.fixture
    def built(self, tmp_path, monkeypatch):
        gold = [
            {"frame_id": f"f{at}", "kind": "object", "object_id": 1, "roles": [{"role": "tool", "value": "pen"}]}
            for at in range(12)
        ]
        said = [row | {"roles": [{"role": "tool", "value": "pen" if at < 3 else "cup"}]} for at, row in enumerate(gold)]
        monkeypatch.setattr("sgeval.bundle.splits.reading.read", lambda *_: iter(graphs_of_rows(gold)))
        (tmp_path / "gold.json").write_text("gold")
        monkeypatch.setattr("sgeval.bundle.splits.source_files", lambda *_: [tmp_path / "gold.json"])
        build(tmp_path / "bundle", data={"ssg": tmp_path})
        return SimpleNamespace(gold=gold, said=said, file=tmp_path / "gold.json", folder=tmp_path / "bundle")

    def run(self, built, folder, **options):
        scoring = score_rows(built.said, built.gold, RoleOptions(**options))
        write_run(folder, "mine", scoring, {"references": describe_file(built.file)})
        return read_run(folder)

    def test_percent_stays_percent(self, built, tmp_path):
        _, entries = write_results([self.run(built, tmp_path / "run")], tmp_path / "out", built.folder)
        assert [(entry.task_id, entry.value) for entry in entries] == [("ssg_value", 25.0)]  # 3 of 12

    def test_both_metrics_in_one_file(self, built, tmp_path, good):
        runs = [good, self.run(built, tmp_path / "run")]
        path, entries = write_results(runs, tmp_path / "out", built.folder)
        assert [entry.task_id for entry in entries] == ["demo_relclipscore", "ssg_value"]
        assert read_entries(path.read_text(encoding="utf-8"), "x") == entries

    def test_other_references(self, built, tmp_path):
        """The same frames with other annotations; the digests are those of the two texts."""
        run = self.run(built, tmp_path / "run")
        built.file.write_text("other")
        other = replace(run, inputs={"references": describe_file(built.file)})
        here, there = (hashlib.sha256(text).hexdigest()[:12] for text in (b"other", b"gold"))
        with pytest.raises(SgevalError, match=f"references: expected {there}, got {here}"):
            write_results([other], tmp_path / "out", built.folder)

    def test_another_setting(self, built, tmp_path):
        run = self.run(built, tmp_path / "run", verb_setting="gold")
        with pytest.raises(SgevalError, match="verbs: expected top1, got gold"):
            write_results([run], tmp_path / "out", built.folder)
        assert not (tmp_path / "out").exists()


@quiet
class TestHostileNames:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_name_stays_a_name(self, good, tmp_path, name):
        path, entries = write_results(
            [replace(good, name=name)], tmp_path, shelf(), source_url="https://a.org", source_name=name
        )
        text = path.read_text(encoding="utf-8")
        whole = yaml.safe_load(text)
        assert parse_eval_result_entries(whole) == entries and len(whole) == 1
        assert list(whole[0]) == ["dataset", "value", "source", "notes"]
        assert whole[0]["value"] == 30.44 and isinstance(whole[0]["notes"], str)
        assert whole[0]["notes"].isprintable() and len(whole[0]["notes"]) < 1000


class FakeApi:
    """Takes down what is asked of it."""

    asked: ClassVar[list] = []

    def __init__(self, token=None):
        self.token = token

    def create_repo(self, repo, **keywords):
        self.asked.append(("create_repo", repo, keywords))
        return f"https://hub.invalid/{repo}"

    def upload_folder(self, **keywords):
        self.asked.append(("upload_folder", keywords))


@pytest.fixture
def asked(monkeypatch):
    FakeApi.asked = []
    monkeypatch.setattr(huggingface_hub, "HfApi", FakeApi)
    return FakeApi.asked


class TestPush:
    @pytest.mark.filterwarnings("ignore:repo. expected who pushes")
    def test_dry_run_asks_nobody(self, asked):
        done = command("push", shelf(), "--to", "ORG/sgeval-bundle", "--dry-run")
        assert done.exit_code == 0 and asked == []
        names = [line.split()[-1] for line in done.stdout.splitlines()]
        assert names == files_of(shelf()) and {"README.md", "eval.yaml", "manifest.json"} <= set(names)
        assert "nothing was sent" in done.stderr

    def test_org_is_nobody(self, asked):
        """A dry run tells it, and nothing is sent to it."""
        with pytest.warns(
            UserWarning, match="expected who pushes in place of ORG, got ORG/sgeval-bundle; build with --repo"
        ):
            push(shelf(), "ORG/sgeval-bundle", dry_run=True)
        with pytest.raises(SgevalError, match="expected who pushes in place of ORG"):
            push(shelf(), "ORG/sgeval-bundle")
        assert asked == []

    def test_the_hub_out_of_reach(self, monkeypatch, tmp_path):
        def offline(*_, **__):
            raise ConnectionError("Cannot reach https://hub.invalid\nat all")

        build(tmp_path / "b", repo="me/scenes")
        monkeypatch.setattr(huggingface_hub, "HfApi", lambda token: SimpleNamespace(create_repo=offline))
        done = command("push", tmp_path / "b", "--to", "me/scenes")
        assert (done.exit_code, done.stderr) == (2, "sgeval: Cannot reach https://hub.invalid\\u000aat all\n")

    def test_private_by_default(self, asked, tmp_path):
        build(tmp_path / "b", repo="me/scenes")
        done = command("push", tmp_path / "b", "--to", "me/scenes")
        assert done.exit_code == 0 and "https://hub.invalid/me/scenes" in done.stderr
        (create, repo, keywords), (upload, sent) = asked
        assert (create, repo) == ("create_repo", "me/scenes")
        assert keywords == {"repo_type": "dataset", "private": True, "exist_ok": True}
        assert upload == "upload_folder" and sent["repo_type"] == "dataset" and sent["folder_path"] == tmp_path / "b"
        assert sent["allow_patterns"] == files_of(tmp_path / "b")

    def test_public_when_told(self, asked, tmp_path):
        build(tmp_path / "b", repo="me/scenes")
        push(tmp_path / "b", "me/scenes", private=False)
        assert asked[0][2]["private"] is False

    def test_faults_are_not_pushed(self, asked, tmp_path):
        folder = copy_of(tmp_path / "b")
        swap(folder, "specs/paper1_table7.yaml", "25.41", "35.41")
        with pytest.raises(InvalidInput, match=r"rows\[0\]\.score: expected 25\.41, as published"):
            push(folder, "ORG/sgeval-bundle")
        shutil.rmtree(folder)
        with pytest.raises(SgevalError, match="expected the folder of a bundle"):
            push(folder, "ORG/sgeval-bundle")
        assert asked == []

    def test_the_repository_of_the_card(self, asked):
        done = command("push", shelf(), "--to", "me/other")
        assert done.exit_code == 2 and "build with --repo me/other" in done.stderr and asked == []


class TestCommands:
    def test_listed_and_printed(self):
        listed = command("commands").stdout
        assert all(f"{task.id}: " in listed for task in tasks()) and "paper1_table7: " in listed
        assert command("commands", "demo_relclipscore").stdout == TASK.command() + "\n"
        assert len(command("commands", "paper1_table1").stdout.splitlines()) == 8
        assert "no command" in command("commands", "paper1_table6").stderr
        assert command("commands", "paper1_table2").exit_code == 2
