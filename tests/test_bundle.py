"""`sgeval bundle build` and `check`: the same bytes each time, every fault found, nothing hostile taken."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import datasets
import huggingface_hub
import pytest
import yaml
from bundle_kit import copy_of, faults_of, swap
from typer.testing import CliRunner

from sgeval.bundle import build, check, shelf
from sgeval.bundle.building import MANIFEST, files_of
from sgeval.bundle.splits import digest
from sgeval.cli.app import app
from sgeval.errors import SgevalError

DATA = Path(__file__).parent / "data"
CARD = "README.md"


def run(*words):
    return CliRunner().invoke(app, ["bundle", *map(str, words)])


@pytest.fixture
def bundle(tmp_path):
    return copy_of(tmp_path / "bundle")


def bytes_of(folder):
    return {name: (folder / name).read_bytes() for name in files_of(folder)}


class TestBuild:
    def test_the_shipped_one_is_what_build_writes(self, tmp_path):
        build(tmp_path / "a")
        assert bytes_of(tmp_path / "a") == bytes_of(shelf())

    def test_same_bytes_with_data(self, tmp_path):
        for name in ("a", "b"):
            build(tmp_path / name, data={"psg": DATA / "psg", "pvsg": DATA / "pvsg"}, repo="me/mine")
        assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")
        assert check(tmp_path / "a") == []

    def test_ids_of_a_data_set(self, tmp_path):
        """The test pictures of the made PSG file, by a plain reading of it."""
        whole = json.loads((DATA / "psg" / "psg.json").read_text())
        tests = {str(each) for each in whole["test_image_ids"]}
        ids = [record["image_id"] for record in whole["data"] if str(record["image_id"]) in tests]
        build(tmp_path / "a", data={"psg": DATA / "psg"})
        row = json.loads((tmp_path / "a/data/psg/test.jsonl").read_text())
        text = "".join(f"{each}\n" for each in sorted(ids))
        assert row["ids"] == ids and row["number"] == len(ids) > 0 and row["published"] == 2186
        assert row["ids_sha256"] == hashlib.sha256(text.encode()).hexdigest()
        assert f"| `psg` | `test` | psg, full | 2,186 | {len(ids)} | `{row['ids_sha256']}` |" in (
            tmp_path / "a" / CARD
        ).read_text(encoding="utf-8")

    def test_digest_is_of_the_set(self):
        assert digest(["b", "a", "b"]) == digest(["a", "b"]) != digest(["a", "b", "c"])
        assert digest(["a\nb"]) != digest(["a", "b"])  # a line feed in an id is no boundary

    def test_datasets_reads_it(self, bundle, tmp_path):
        demo = datasets.load_dataset(str(bundle), "demo", split="test", cache_dir=str(tmp_path / "cache"))
        assert demo.num_rows == 40 and (bundle / "data/demo/images" / demo[0]["file_name"]).is_file()
        psg = datasets.load_dataset(str(bundle), "psg", split="test", cache_dir=str(tmp_path / "cache"))
        assert psg[0]["published"] == 2186 and psg[0]["ids"] is None

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            ({"data": {"psgs": "x"}}, 'data: expected one of psg, .*did you mean "psg"'),
            ({"data": {"demo": "x"}}, "data: expected one of psg"),
            ({"data": {"psg": "nowhere"}}, "nowhere"),
            ({"repo": "no-slash"}, "repo: expected ORG/NAME"),
            ({"repo": "a/b/c"}, "repo: expected ORG/NAME"),
            ({"repo": "me/x: !!python\n"}, "repo: expected ORG/NAME"),
            ({"repo": "../.."}, "repo: expected ORG/NAME"),
        ],
    )
    def test_refused_and_nothing_is_left(self, tmp_path, more, words):
        with pytest.raises(SgevalError, match=words):
            build(tmp_path / "a", **more)
        assert list(tmp_path.iterdir()) == []

    def test_an_existing_folder(self, bundle, tmp_path):
        with pytest.raises(SgevalError, match="expected a new name"):
            build(bundle)
        (bundle / "stray").touch()
        build(bundle, overwrite=True)
        assert not (bundle / "stray").exists() and [each.name for each in tmp_path.iterdir()] == ["bundle"]
        (tmp_path / "other").mkdir()
        with pytest.raises(SgevalError, match="expected an earlier bundle"):
            build(tmp_path / "other", overwrite=True)

    def test_command(self, tmp_path):
        done = run("build", "--out", tmp_path / "a", "--data", f"psg={DATA / 'psg'}", "--repo", "me/mine", "--json")
        assert done.exit_code == 0
        found = {row["config"]: row["number"] for row in json.loads(done.stdout)}
        assert found["demo"] == 40 and found["psg"] and found["pvsg"] is None
        assert run("build", "--out", tmp_path / "b", "--data", "psg").exit_code == 2
        assert run("build", "--out", tmp_path / "a").exit_code == 2


class TestCheck:
    def test_the_shipped_one(self):
        assert check(shelf()) == []
        done = run("check")
        assert done.exit_code == 0 and done.stdout.strip().endswith("no faults")

    def test_no_bundle(self, tmp_path):
        for folder in (tmp_path, tmp_path / "none"):
            done = run("check", folder)
            assert done.exit_code == 2 and "Traceback" not in done.output

    def test_a_published_number(self, bundle):
        """Altered in the spec, and in the card as well."""
        swap(bundle, "specs/paper1_table1.yaml", "62.29", "62.92")
        faults = faults_of(bundle)
        assert "rows[3].theta: expected 62.29, as published (arXiv 2509.01209, Table 1), got 62.92" in faults
        assert "24.19 | 62.92 |" in faults and "24.19 | 62.29 |" in faults  # the line of the card
        text = (bundle / CARD).read_text(encoding="utf-8").replace("62.29", "62.92")
        (bundle / CARD).write_text(text, encoding="utf-8")
        assert len(check(bundle)) == 1

    def test_a_number_of_the_card(self, bundle):
        text = (bundle / CARD).read_text(encoding="utf-8").replace("| 47.75 |", "| 57.75 |")
        (bundle / CARD).write_text(text, encoding="utf-8")
        (fault,) = check(bundle)
        assert "LLaVA-OneVision 7B | 24.02 | 47.75" in fault and "57.75" in fault

    def test_a_digest_in_the_manifest(self, bundle):
        path = bundle / "specs/psg_theta.yaml"
        path.write_text(path.read_text() + "\n")
        assert "specs/psg_theta.yaml: expected the SHA-256" in faults_of(bundle)

    @pytest.mark.parametrize(
        ("name", "old", "new", "words"),
        [
            (CARD, "license: other\n", "", "README.md: license: expected"),
            (CARD, "license_name: each-part-its-own\n", "license_name: mit\n", "README.md: license_name: expected"),
            (CARD, "| `vidor` | The data set's card", "| `vidor` | Somebody's card", "expected the line"),
            (CARD, "| `demo` | Apache-2.0; the drawn", "| `x` | y", "expected the line"),
            (CARD, "## Licences", "## Terms", 'expected the line "## Licences"'),
            (CARD, "| `theta` | `theta` | `precision`", "| `theta` | `thete` | `precision`", "expected the line"),
            (CARD, "(specs/psg_theta.yaml)", "(specs/psg_thete.yaml)", "expected a link to a file"),
            (CARD, "(specs/psg_theta.yaml)", "(../../etc/passwd)", "expected a link to a file"),
            (CARD, "(specs/psg_theta.yaml)", "(javascript:alert)", "expected a link to a file"),
            (CARD, "(specs/psg_theta.yaml)", "(http://example.org)", "expected a link to a file"),
            (CARD, "path: data/psg/test.jsonl", "path: data/psg/gone.jsonl", "README.md: configs: expected"),
            (CARD, "## How to run", "Files lie in /home/me/data.\n\n## How to run", "expected no path of a machine"),
            (CARD, "value: 12.34", "value: twelve", "value: expected a number"),
            (CARD, "    task_id: demo_relclipscore\n", "", "expected results as the Hub takes them"),
            (CARD, "task_id: demo_relclipscore", "task_id: demo_theta", "expected a task of the bundle"),
            (CARD, "pretty_name:", "pretty_name: !!python/name:os.system\nx:", "expected plain YAML"),
            (
                "eval.yaml",
                "evaluation_framework: sgeval\n",
                "",
                'eval.yaml: evaluation_framework: expected "sgeval", got null',
            ),
            ("eval.yaml", "id: psg_theta", "id: psg_thete", "which has no specs/psg_thete.yaml"),
            ("eval.yaml", "id: psg_theta", "id: psg_relclipscore", "psg_relclipscore twice"),
            ("eval.yaml", "config: ssg", "config: psg", "tasks[4].config: expected ssg"),
            ("eval.yaml", "config: ssg\n", "config: ssg\n  more: 1\n", "expected the keys id, config, split"),
            ("eval.yaml", "tasks:", "jobs:", "tasks: expected a list of tasks, got null"),
            ("specs/ssg_value.yaml", "split: test", "split: dev", "split: expected one of test"),
            ("specs/svg2_table2.yaml", "65.5", "sixty", "rows[3].object_svg2_test: expected a percentage"),
            ("data/psg/test.jsonl", '"published": 2186', '"published": 2177', "published: expected 2186, got 2177"),
            ("data/psg/test.jsonl", '"ids": null', '"ids": ["1"]', "data/psg/test.jsonl: ids: expected none"),
            ("data/psg/test.jsonl", "repository is under the MIT", "files are under the MIT", "licence: expected"),
            ("data/demo/test.jsonl", '"scene_040"', '"scene_041"', "ids: expected 40 with the digest f6388ad82e0c"),
            ("data/demo/test.jsonl", '"image_id": "scene_001"', '"image_id": 1', "ids: expected a list of texts"),
            ("data/demo/test.jsonl", '{"image_id": "scene_001"', '{"image_id" "scene_001"', "data/demo/test.jsonl"),
            (
                "data/psg/test.jsonl",
                "{",
                "{}\n{",
                "data/psg/test.jsonl: expected one row of keys and values, got 2 rows",
            ),
            ("specs/paper1_table1.yaml", "printed: Prec", "printed: Recall", "columns[1].printed: expected"),
            ("specs/paper1_table1.yaml", "2509.01209, Table 1", "2509.01209, Table 9", "source: expected"),
            ("specs/psg_relclipscore.yaml", "negclip-b32", "clip-l14", "settings.model: expected"),
            ("specs/svg2_table2.yaml", "unit: percent", "unit: count", 'columns[0].unit: expected "percent"'),
            ("specs/paper1_table1.yaml", "key: mean_score", "key: theta", 'columns[0].key: expected "mean_score"'),
            (
                "specs/paper1_table1.yaml",
                "limit: 10000",
                "limit: 10000\n  seed: null",
                "run: expected no seed, as published",
            ),
            ("specs/paper1_table1.yaml", "  limit: 10000\n", "", "run: expected limit, as published"),
            ("specs/paper1_table1.yaml", "limit: 10000", "limit: 10", "run.limit: expected 10000"),
            (
                "specs/paper1_table1.yaml",
                "model: clip-l14",
                "model: negclip-b32",
                'by.model.CLIP L-14.model: expected "clip-l14"',
            ),
            ("eval.yaml", "name: 'sgeval: scene", "name: 'theirs: scene", "eval.yaml: name: expected"),
            ("eval.yaml", "description: 'B", "description: 'No b", "eval.yaml: description: expected"),
            (
                "eval.yaml",
                "evaluation_framework: sgeval",
                "evaluation_framework: inspect-ai",
                'eval.yaml: evaluation_framework: expected "sgeval", got "inspect-ai"',
            ),
            ("eval.yaml", "- id: demo", "- id: !!str demo", "eval.yaml: expected plain YAML"),
            ("eval.yaml", "tasks:", f"more: 1{':59' * 3_000}.5\ntasks:", 'got "more" too'),
            (CARD, "sgeval score theta", "sgeval score theta --limit 999", "expected the line"),
            (CARD, "All are higher when better", "All are lower when better", "expected the line"),
            (CARD, "## How to run", "<script>x()</script>\n\n## How to run", 'expected no HTML, got "<script>'),
            (CARD, "## How to run", "[x]: javascript:alert(1)\n\n## How to run", 'got "javascript:alert(1"'),
            (CARD, "(specs/psg_theta.yaml)", "(<javascript:alert>)", "expected a link to a file"),
            (CARD, "(specs/psg_theta.yaml)", "( javascript:alert 'x')", "expected a link to a file"),
        ],
    )
    def test_named(self, bundle, name, old, new, words):
        if name == CARD:
            text = (bundle / name).read_text(encoding="utf-8")
            assert old in text
            (bundle / name).write_text(text.replace(old, new, 1), encoding="utf-8")
        else:
            swap(bundle, name, old, new)
        faults = faults_of(bundle)
        assert words in faults, faults

    def test_files(self, bundle):
        (bundle / "specs/paper1_table6.yaml").unlink()
        (bundle / "more.txt").write_text("x")
        (bundle / "data/psg/test.jsonl").unlink()
        (bundle / "eval.yaml").unlink()
        faults = faults_of(bundle)
        for words in (
            "specs/paper1_table6.yaml: expected a file, found none",
            "specs/paper1_table6.yaml: expected the published table, found none",
            "more.txt: expected a file of manifest.json",
            "data/psg/test.jsonl: expected a file, found none",
            "eval.yaml: expected a file, found none",
            "configs: psg: expected the file data/psg/test.jsonl, found none",
        ):
            assert words in faults

    def test_a_row_that_is_gone(self, bundle):
        swap(bundle, "specs/paper1_table5.yaml", "  - [distant no, LLaVA-OneVision 7B, 22.98, 45.65, 3.70]\n", "")
        assert "rows: expected 4 of them, as published (arXiv 2509.01209, Table 5), got 3" in faults_of(bundle)

    def test_pipes_are_not_waited_for(self, bundle):
        for name in ("specs/psg_theta.yaml", "data/psg/test.jsonl", "README.md", "eval.yaml"):
            (bundle / name).unlink()
            os.mkfifo(bundle / name)
        faults = faults_of(bundle)
        assert faults.count("expected a regular file, got a link or something else") == 4

    def test_a_long_card(self, bundle):
        (bundle / CARD).write_text("| " + "x" * 5_000_000 + " |\n")
        assert "README.md: expected at most" in faults_of(bundle)

    def test_the_hubs_own_reader_takes_the_card(self):
        found = huggingface_hub.DatasetCard.load(shelf() / CARD).data
        assert (found.license, found.language, found.configs[0]["config_name"]) == ("other", ["en"], "demo")

    def test_a_text_of_ones_own_may_be_added(self, bundle):
        text = (bundle / CARD).read_text(encoding="utf-8") + "\n## Thanks\n\nTo all.\n"
        (bundle / CARD).write_text(text, encoding="utf-8")
        (bundle / ".gitattributes").write_text("*.jpg filter=lfs\n")
        with pytest.warns(
            UserWarning, match=r'README.md: 2 lines after the card of the bundle, not checked: "## Thanks" …$'
        ):
            assert check(bundle) == []

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            ("| PSG | NegCLIP B-32 | cosine | 99.47 | 99.18 | 99.10 |", "expected no table and no code"),
            ("a | b\n--- | ---\n1 | 2", "expected no table and no code"),
            ("> ```bash\n> sgeval score theta --limit 999\n> ```", "expected no table and no code"),
            ("[x]: javascript:alert(1)", "expected a link to a file"),
            ("[x]:\n  <javascript:alert(1)>", "expected a link to a file"),
            ("<img src=x>", "expected no HTML"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:README.md")
    def test_what_a_text_of_ones_own_may_not_have(self, bundle, more, words):
        text = (bundle / CARD).read_text(encoding="utf-8") + f"\n## Thanks\n\n{more}\n"
        (bundle / CARD).write_text(text, encoding="utf-8")
        assert words in faults_of(bundle)

    def test_a_second_row_under_the_right_one(self, bundle):
        """Of Table 1 as printed: 24.47, 30.18, 66.10."""
        row = next(line for line in (bundle / CARD).read_text(encoding="utf-8").split("\n") if "| 24.47 |" in line)
        text = (bundle / CARD).read_text(encoding="utf-8").replace(row, f"{row}\n{row.replace('24.47', '99.47')}")
        (bundle / CARD).write_text(text, encoding="utf-8")
        (fault,) = check(bundle)
        assert "in its place" in fault and "99.47" in fault

    def test_rows_that_changed_places(self, bundle):
        lines = (bundle / CARD).read_text(encoding="utf-8").split("\n")
        at = next(number for number, line in enumerate(lines) if "| 24.47 |" in line)
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
        (bundle / CARD).write_text("\n".join(lines), encoding="utf-8")
        (fault,) = check(bundle)
        assert "in its place" in fault and "| 24.47 |" in fault

    def test_a_reversed_reason(self, bundle):
        name = "specs/paper1_table1.yaml"
        reason = yaml.safe_load((bundle / name).read_text(encoding="utf-8"))["cannot"][0].split(" ")[0]
        swap(bundle, name, f"cannot:\n  - {reason}", f"cannot:\n  - No, {reason}")
        assert f"{name}: cannot[0]: expected" in faults_of(bundle)

    def test_results_in_it(self, bundle):
        (bundle / ".eval_results").mkdir()
        (bundle / ".eval_results/a.yaml").write_text("- value: 1\n")
        (bundle / ".eval_results/b.yaml").write_text("- !!python/object/apply:os.system ['true']\n")
        faults = faults_of(bundle)
        assert ".eval_results/a.yaml: expected results as the Hub takes them" in faults
        assert ".eval_results/b.yaml: expected plain YAML" in faults

    def test_another_version(self, bundle):
        whole = json.loads((bundle / MANIFEST).read_text())
        (bundle / MANIFEST).write_text(json.dumps(whole | {"sgeval": "0.0.1"}))
        assert "sgeval: expected" in faults_of(bundle)

    @pytest.mark.parametrize(
        "text",
        [
            "{}",
            "[]",
            '{"kind": "sgeval bundle", "format": 2}',
            '{"kind": "sgeval bundle", "format": 1, "repo": "a/b", "sgeval": "1", "splits": 3, "files": {}}',
            '{"kind": "sgeval bundle", "format": 1, "repo": "a/b", "sgeval": "1", "splits": [{}], "files": {}}',
            '{"kind": "sgeval bundle", "format": 1, "repo": "a/b", "sgeval": "1", "splits": [], "files": {"a": 1}}',
            '{"kind": "sgeval bundle", "format": 1, "repo": "a/b", "sgeval": "1", "splits": [{"config": "psg", "split": '
            '"test", "number": null, "ids_sha256": null, "references_sha256": "x"}], "files": {}}',
            '{"kind": "sgeval bundle", "format": 1, "repo": "a", "sgeval": "1", "splits": [], "files": {}}',
            "{" * 50,
        ],
    )
    def test_hostile_manifest(self, bundle, text):
        (bundle / MANIFEST).write_text(text)
        done = run("check", bundle)
        assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1 and "Traceback" not in done.output

    def test_json(self, bundle):
        shutil.rmtree(bundle / "data/demo/images")
        done = run("check", bundle, "--json")
        assert done.exit_code == 2 and len(json.loads(done.stdout)["faults"]) == 40

    def test_eval_yaml_has_the_hubs_form(self):
        whole = yaml.safe_load((shelf() / "eval.yaml").read_text(encoding="utf-8"))
        assert list(whole) == ["name", "description", "evaluation_framework", "tasks"]
        assert all(list(task) == ["id", "config", "split"] for task in whole["tasks"])
        assert len(whole["tasks"]) == len({task["id"] for task in whole["tasks"]}) == 9


def test_other_numbers_than_published_are_told(tmp_path):
    """Three of 2,186 pictures are not the test set of PSG, whatever their ids hash to."""
    words = r"not the published splits: psg/test has 3 ids, 2,186 are published"
    with pytest.warns(UserWarning, match=words):
        build(tmp_path / "bundle", data={"psg": DATA / "psg"})
    with pytest.warns(UserWarning, match=words):
        assert check(tmp_path / "bundle") == []


@pytest.mark.parametrize(
    "name", ["README.md", "eval.yaml", "manifest.json", "specs/psg_theta.yaml", "data/psg/test.jsonl"]
)
def test_nothing_is_read_through_a_link(tmp_path, name):
    copy = copy_of(tmp_path / "bundle")
    secret = tmp_path / "secret"
    secret.write_text("canary: root:x:0:0")
    (copy / name).unlink()
    (copy / name).symlink_to(secret)
    assert check(copy) == [f"{name}: expected a regular file, got a link or something else"]
