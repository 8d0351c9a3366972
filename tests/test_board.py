"""A board's tasks, its results and who stands where."""

import json
import os
from dataclasses import replace

import pytest
from board_kit import BOARD, SETTINGS, Filled, found, make_board, make_run, tree
from typer.testing import CliRunner

from sgeval.board import Results, read_board, standing
from sgeval.board.results import ENTRY, About, make_entry
from sgeval.board.tables import Tables, Wanted, cells, headings, kinds, widths
from sgeval.cli.app import app
from sgeval.comparison import compare
from sgeval.errors import SgevalError


@pytest.fixture
def board(tmp_path):
    return make_board(tmp_path / "board")


@pytest.fixture
def filled(board, tmp_path):
    return Filled(board, Results(tmp_path / "results", board.tasks), tmp_path / "runs")


def stand(filled):
    return standing(filled.board.tasks["videos"], filled.results.entries("videos"))


class TestSettings:
    def test_the_demo_board(self):
        from benchmarks.leaderboard.build_demo import HERE

        board = read_board(HERE)
        assert list(board.tasks) == ["demo_relations", "demo_videos", "demo_situations"]
        assert not Results(HERE / "results", board.tasks).faults

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"id": "A b"}, "tasks[0].id: expected small letters"),
            ({"metric": "bleu"}, "tasks[0].metric: expected one of"),
            ({"references": "../gold.jsonl"}, "expected a path inside the folder of the board"),
            ({"references": "/etc/passwd"}, "expected a path inside the folder of the board"),
            ({"references": "sgeval:../setup.cfg"}, "expected a path inside the folder of the board"),
            ({"references": "none.jsonl"}, "expected a file, found none"),
            ({"settings": {"judge": "openai/gpt-4o"}}, "expected a judge that asks nobody"),
            ({"settings": {"tiou": 1}}, "tasks[0].settings: expected one of judge, thresholds"),
            (
                {"settings": {**SETTINGS, "judge": "wordnett"}},
                "tasks[0].settings.judge: expected one of exact, wordnet",
            ),
            ({"settings": {**SETTINGS, "bootstrap": 3}}, "tasks[0].settings.bootstrap: expected"),
            ({"key": "triplet_acuracy"}, 'did you mean "triplet_accuracy"?'),
            ({"key": "n_videos"}, "tasks[0].key: expected one of object_accuracy"),
            ({"also": ["triplet_accuracy", "triplet_precison"]}, "tasks[0].also[1]: expected one of object_accuracy"),
            ({"also": ["triplet_accuracy_ignoring_direction"]}, "tasks[0].also[0]: expected one of"),
            ({"metric": "relclipscore"}, "tasks[0].images: expected a folder of pictures"),
            ({"what": 5}, "tasks[0].what: expected a text, got 5"),
            ({"also": [{"a": 1}]}, "tasks[0].also[0]: expected the key of a result"),
            ({"colour": "red"}, "tasks[0]: expected one of"),
            ({"form": "csv"}, "tasks[0].form: expected one of sgeval, answers"),
        ],
    )
    def test_faults_have_a_place(self, tmp_path, change, words):
        given = {**BOARD, "tasks": [{**BOARD["tasks"][0], **change}]}
        with pytest.raises(SgevalError) as fault:
            make_board(tmp_path / "b", given)
        assert words in str(fault.value) and str(tmp_path) not in str(fault.value)

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"model": "clip-l41"}, "settings.model: expected one of demo, clip-l14"),
            ({"model": "siglip-so400m"}, "settings.model: expected one that gives relclipscore"),
            ({"precision": "fp8"}, "settings.precision: expected one of fp32, bf16"),
            ({"judge": "exact"}, "settings: expected one of model"),
            ({"pairz": "gold"}, 'got "pairz"; did you mean "pairs"?'),
        ],
    )
    def test_models_are_those_of_the_table(self, tmp_path, settings, words):
        (tmp_path / "b" / "images").mkdir(parents=True)
        task = {**BOARD["tasks"][0], "metric": "relclipscore", "key": "relclipscore", "also": [], "images": "images"}
        make_board(tmp_path / "b", {**BOARD, "tasks": [{**task, "settings": {"model": "clip-b32"}}]})
        with pytest.raises(SgevalError) as fault:
            make_board(tmp_path / "b", {**BOARD, "tasks": [{**task, "settings": settings}]})
        assert words in str(fault.value)

    @pytest.mark.parametrize(
        ("limits", "words"), [({"seconds": 0}, "limits.seconds"), ({"hours": 1}, "limits: expected one of")]
    )
    def test_limits(self, tmp_path, limits, words):
        with pytest.raises(SgevalError, match=words):
            make_board(tmp_path / "b", {**BOARD, "limits": limits})

    def test_ids_are_used_once(self, tmp_path):
        with pytest.raises(SgevalError, match="expected each id once"):
            make_board(tmp_path / "b", {**BOARD, "tasks": BOARD["tasks"] * 2})


class TestAbout:
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"system": ""}, "system: expected a name"),
            ({"system": "…"}, "system: expected a name"),
            ({"system": "a" * 81}, "at most 80 characters"),
            ({"system": "a\nb"}, "in one line"),
            ({"system": "a\u202eb"}, "in one line"),
            ({"system": None}, "system: expected a name"),
            ({"system": 5}, "system: expected at most"),
            ({"system": "a", "link": "http://example.org"}, "link: expected"),
            ({"system": "a", "link": "javascript:alert(1)"}, "link: expected"),
            ({"system": "a", "link": 'https://example.org/"onclick='}, "link: expected"),
            ({"system": "a", "link": "https://user:pass@example.org"}, "link: expected"),
            ({"system": "a", "link": "https://exämple.org"}, "link: expected"),
            ({"system": "a", "size": -1}, "size: expected"),
            ({"system": "a", "size": float("nan")}, "size: expected"),
            ({"system": "a", "size": True}, "size: expected"),
            ({"system": "a", "size": 1e9}, "size: expected"),
        ],
    )
    def test_refused(self, given, words):
        with pytest.raises(SgevalError, match=words) as fault:
            About.checked(**given)
        assert "\n" not in str(fault.value)


class TestEntries:
    def test_written_and_read_again(self, filled):
        entry, _ = filled.add("one", 12, copied=0.25, scored_here=True, team="us")
        (again,) = Results(filled.results.folder, filled.board.tasks).entries("videos")
        assert replace(again, sample=entry.sample) == entry
        assert again.sample.score("triplet_accuracy") == entry.result["triplet_accuracy"] == 60.0  # 24 of 40
        assert again.date == "2026-01-02" and again.judge == "exact"
        folder = filled.results.place(entry)
        assert {path.name for path in folder.iterdir()} == {ENTRY, "run"}

    def test_only_ever_added_to(self, filled):
        entry, run = filled.add("one", 12)
        before = tree(filled.results.folder)
        renamed = replace(entry, id=f"20260909-090909-{entry.id[-8:]}", about=About.checked("other", "them"))
        for results in (filled.results, Results(filled.results.folder, filled.board.tasks)):
            for same in (entry, renamed):  # also under another name, by another process
                with pytest.raises(SgevalError, match=f'is on the board already, as {entry.id} \\("one"\\)'):
                    results.add(same, run)
        filled.add("two", 3)
        after = tree(filled.results.folder)
        assert before.items() <= after.items()

    def test_what_fails_leaves_nothing(self, filled, monkeypatch):
        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("sgeval.board.results.shutil.copyfile", full)
        with pytest.raises(SgevalError, match=r"cannot be added \(No space left on device\)"):
            filled.add("one", 12)
        assert tree(filled.results.folder) == {} and filled.results.entries("videos") == []

    def test_broken_ones_are_told_and_left_out(self, filled):
        entry, _ = filled.add("one", 12)
        filled.add("two", 3)
        path = filled.results.place(entry) / ENTRY
        whole = json.loads(path.read_text())
        for change, words in (
            ({"id": "20260102-030405-00000000"}, "expected the entry that its folder is named after"),
            ({"task": "other"}, "expected the entry that its folder is named after"),
            ({"format": 2}, "expected format 1"),
            ({"about": {"system": "<b>", "colour": 1}}, "another form"),
            ({"about": {"system": "a", "link": "javascript:x"}}, "link"),
            ({"sample": {}}, "another form"),
            ({"sample": {**whole["sample"], "units": ["v0"]}}, "expected 1 units"),
            ({"result": {"triplet_accuracy": [1]}}, "flat result"),
            ({"result": {}}, "signature"),
        ):
            path.write_text(json.dumps({**whole, **change}))
            results = Results(filled.results.folder, filled.board.tasks)
            assert [each.about.system for each in results.entries("videos")] == ["two"]
            assert len(results.faults) == 1 and words in results.faults[0]
        path.write_text("{")
        assert len(Results(filled.results.folder, filled.board.tasks).faults) == 1

    def test_what_does_not_fit_its_task_is_told_and_left_out(self, filled):
        """A folder of results may come from elsewhere: numbers are those of the units, protocols those of signatures."""
        entry, _ = filled.add("one", 12)
        filled.add("two", 3)
        path = filled.results.place(entry) / ENTRY
        whole = json.loads(path.read_text())
        result, units = whole["result"], whole["sample"]["units"]
        for change, words in (
            ({"metric": "theta"}, "expected a result of svg2_temporal_accuracy, got one of theta"),
            (
                {"result": {**result, "triplet_accuracy": 100.0}},
                "expected the triplet_accuracy that its units give, 60",
            ),
            ({"result": {**result, "triplet_accuracy": "<b>"}}, "expected the triplet_accuracy that its units give"),
            ({"result": {**result, "triplet_accuracy": None}}, "expected the triplet_accuracy that its units give"),
            ({"result": {**result, "triplet_accuracy_low": "x"}}, "expected numbers as the ends of its interval"),
            ({"result": {**result, "triplet_accuracy_high": 10**400}}, "expected numbers as the ends of its interval"),
            ({"sample": {**whole["sample"], "units": [*units[:-1], units[0]]}}, "expected each unit once"),
            ({"protocol": {**whole["protocol"], "judge": "wordnet"}}, "expected the protocol that its signature says"),
            ({"protocol": {**whole["protocol"], "version": "9"}}, "expected the protocol that its signature says"),
        ):
            path.write_text(json.dumps({**whole, **change}))
            results = Results(filled.results.folder, filled.board.tasks)
            assert [each.about.system for each in results.entries("videos")] == ["two"], change
            assert len(results.faults) == 1 and words in results.faults[0], results.faults
            assert results.faults[0].startswith(f"videos/{entry.id}: ")
        path.write_text(json.dumps(whole))
        assert Results(filled.results.folder, filled.board.tasks).faults == []

    def test_an_entry_of_an_unknown_task(self, filled):
        entry, _ = filled.add("one", 12)
        (fault,) = Results(filled.results.folder, {"other": filled.board.tasks["videos"]}).faults
        assert fault.startswith(f'videos/{entry.id}: task: expected one of other, got "videos"')

    def test_what_a_killed_process_left_goes(self, filled):
        entry, _ = filled.add("one", 12)
        left = filled.results.place(entry).parent / ".new-x"
        fresh = left.with_name(".new-y")
        for folder in (left, fresh):
            folder.mkdir()
        os.utime(left, (1, 1))
        filled.add("two", 3)
        assert not left.exists() and fresh.exists()

    def test_refusals(self, filled, tmp_path):
        task = filled.board.tasks["videos"]
        run = make_run(tmp_path / "run", "x", found(3), filled.board)
        about = About.checked("x")
        with pytest.raises(SgevalError, match="expected a run of theta"):
            make_entry(run, replace(task, metric="theta"), about)
        with pytest.raises(SgevalError, match="expected a run on the references of the task"):
            make_entry(replace(run, inputs={"references": {"sha256": "0" * 64}}), task, about)
        with pytest.raises(SgevalError, match="expected a run on the references of the task"):
            make_entry(replace(run, inputs={}), task, about)
        with pytest.raises(SgevalError, match="expected the triplet_accuracy that its rows give"):
            make_entry(replace(run, result=run.result | {"triplet_accuracy": 99.0}), task, about)
        with pytest.raises(SgevalError, match="expected a number under triplet_accuracy"):
            make_entry(replace(run, result=run.result | {"triplet_accuracy": None}), task, about)

    def test_other_videos(self, filled):
        entry, run = filled.add("one", 12)
        units = tuple(unit for unit in entry.sample.units if unit != "v00")
        other = replace(entry, id="20260102-030406-00000000", sample=replace(entry.sample, units=units))
        with pytest.raises(SgevalError, match=r"expected the 20 ids of the task, got others: 1 missing \(\"v00\"\)"):
            filled.results.add(other, run)

    def test_teams_are_counted(self, filled):
        first, _ = filled.add("one", 12, team="us")
        filled.add("two", 3, team="them")
        last, _ = filled.add("three", 5, team="us")
        assert filled.results.team_count(first) == (1, 2) and filled.results.team_count(last) == (2, 2)


class TestStanding:
    def test_as_compare_ranks(self, filled):
        runs = [filled.add(name, n)[1] for name, n in (("low", 3), ("high", 18), ("mid", 9), ("near", 17))]
        board, direct = stand(filled), compare(runs)
        lines = direct.groups[0].lines["triplet_accuracy"]
        assert [(row.rank, row.entry.about.system, row.score) for row in board.ranked] == [
            (line.rank, line.name, round(line.value, 2)) for line in lines
        ]
        assert [row.entry.about.system for row in board.ranked] == ["high", "near", "mid", "low"]
        for row, line in zip(board.ranked, lines, strict=True):
            told = line.against is None or line.against.is_told_apart
            assert row.tie == ("" if told else "≈"), row
        assert [row.tie for row in board.ranked] == ["", "≈", "", ""] and board.apart == ()

    def test_ties_are_ties(self, filled):
        for name, n in (("a", 9), ("b", 9), ("c", 2)):
            filled.add(name, n)
        rows = stand(filled).ranked
        assert [(row.rank, row.tie) for row in rows] == [(1, "="), (1, "="), (3, "")]

    def test_another_judge_or_setting_is_apart(self, filled):
        filled.add("other", 20, judge="wordnet")
        filled.add("mine", 9)
        filled.add("any", 20, assignment="any")
        found = stand(filled)
        assert [row.entry.about.system for row in found.ranked] == ["mine"] and found.ranked[0].rank == 1
        assert {row.entry.about.system: row.protocol for row in found.apart} == {
            "other": "judge wordnet (ranked: exact)",
            "any": "assignment any (ranked: one_to_one)",
        }
        assert all(row.rank is None and not row.tie for row in found.apart)

    def test_only_entries_of_other_protocols(self, filled):
        filled.add("other", 20, judge="wordnet")
        (row,) = stand(filled).apart
        assert stand(filled).ranked == () and row.protocol == "judge wordnet (ranked: exact)"

    def test_versions_are_not_mixed(self, filled):
        entry, _ = filled.add("old", 20)
        task = filled.board.tasks["videos"]
        old = replace(entry, protocol={**entry.protocol, "version": "0.0.9"})
        new, _ = filled.add("new", 3)
        found = standing(task, [old, new])
        assert [row.entry.about.system for row in found.ranked] == ["new"]
        assert [row.protocol for row in found.apart] == ["version 0.0.9 (ranked: 0.1.0)"]
        assert [row.entry.about.system for row in standing(task, [old]).ranked] == ["old"]  # until a new one comes

    def test_the_references_sent_back(self, filled):
        filled.add("copy", 20, copied=1.0, scored_here=True)
        filled.add("honest", 9, copied=0.45, scored_here=True)
        found = stand(filled)
        assert [row.entry.about.system for row in found.ranked] == ["honest"]
        assert [row.protocol for row in found.apart] == ["repeats the references"]

    def test_the_newest_copy_leads_nothing(self, filled):
        filled.add("honest", 9, copied=0.45, scored_here=True)
        filled.add("copy", 20, copied=1.0, scored_here=True)
        assert [row.entry.about.system for row in stand(filled).ranked] == ["honest"]

    def test_an_old_version_does_not_come_back(self, filled):
        """The newest entry is of an older sgeval: those of this one stay ranked."""
        old, _ = filled.add("old", 20)
        new, _ = filled.add("new", 3)
        late = replace(old, id="20270101-000000-00000000", protocol={**old.protocol, "version": "0.0.9"})
        found = standing(filled.board.tasks["videos"], [new, late])
        assert [row.entry.about.system for row in found.ranked] == ["new"]

    def test_entries_apart_take_nothing_from_the_tests_of_the_ranked(self, filled):
        for name, n in (("high", 18), ("low", 3)):
            filled.add(name, n)
        before = stand(filled).ranked
        copy, _ = filled.add("copy", 20, copied=1.0)
        entries = filled.results.entries("videos")
        many = [replace(copy, id=f"20270101-{number:06}-00000000") for number in range(600)]
        found = standing(filled.board.tasks["videos"], [*entries, *many])
        assert found.ranked == before and len(found.apart) == 601

    def test_of_nothing(self, filled):
        found = stand(filled)
        assert (found.ranked, found.apart, found.n_units) == ((), (), 0)


class TestTables:
    def test_filters(self, filled):
        sizes = {"small": 0.5, "large": 70.0, "untold": None}
        for name, size in sizes.items():
            entry, _ = filled.add(name, 3 + len(name))
            kept = replace(entry, about=replace(entry.about, size=size, team="Team " + name))
            filled.results._entries["videos"][entry.id] = kept
        filled.add("other", 20, judge="wordnet")
        found = stand(filled)

        def named(**wanted):
            return sorted(row.entry.about.system for row in found.rows() if Wanted(**wanted).keeps(row))

        assert named() == ["large", "other", "small", "untold"]
        assert named(size="up to 1 B") == ["small"] and named(size="above 10 B") == ["large"]
        assert named(size="not told") == ["other", "untold"]
        assert named(judge="wordnet") == ["other"] and named(protocol="ranked") == ["large", "small", "untold"]
        assert named(search="TEAM lar") == ["large"] and named(search="nobody") == []
        assert found.judges() == ["exact", "wordnet"]

    def test_cells_fit_their_headings(self, filled):
        filled.add("one", 12)
        filled.add("other", 20, judge="wordnet")
        task, found = filled.board.tasks["videos"], stand(filled)
        for is_apart, rows in ((False, found.ranked), (True, found.apart)):
            (row,) = cells(rows, Wanted(), is_apart=is_apart)
            head = headings(task, is_apart=is_apart)
            assert len(row) == len(head) == len(kinds(task, is_apart=is_apart)) == len(widths(task, is_apart=is_apart))
            shown = dict(zip(head, row, strict=True))
            assert shown["triplet precision"] == 100.0
            assert [kind for kind in kinds(task, is_apart=is_apart) if kind == "html"] == ["html"]  # the link alone

    def test_new_results_are_seen(self, filled):
        tables = Tables(filled.board, filled.results)
        assert tables.of("videos").ranked == ()
        filled.add("one", 12)
        assert len(tables.renew("videos").ranked) == len(tables.of("videos").ranked) == 1


class TestCommand:
    def run(self, *words):
        return CliRunner().invoke(app, ["board", "add", *map(str, words)])

    def test_adds(self, filled, tmp_path):
        run = make_run(tmp_path / "run", "mine", found(9), filled.board)
        done = self.run(run.folder, "--board", filled.board.folder, "--task", "videos", "--team", "us", "--size", "7")
        assert done.exit_code == 0, done.output
        (entry,) = Results(filled.board.folder / "results", filled.board.tasks).entries("videos")
        assert (entry.about, entry.scored_here) == (About("mine", "us", "", 7.0), False)

    def test_tells_what_differs(self, filled, tmp_path):
        run = make_run(tmp_path / "run", "mine", found(9), filled.board, judge="wordnet")
        done = self.run(run.folder, "--board", filled.board.folder, "--task", "videos")
        assert done.exit_code == 0 and "judge: the task has exact, the run wordnet" in done.output

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (("--task", "video"), 'task: expected one of videos, got "video"'),
            (("--task", "videos", "--link", "x"), "link: expected an address"),
            (("--task", "videos", "--board", "none"), "board.yaml"),
        ],
    )
    def test_bad_input(self, filled, tmp_path, words, told):
        run = make_run(tmp_path / "run", "mine", found(9), filled.board)
        done = self.run(run.folder, "--board", filled.board.folder, *words)
        assert done.exit_code == 2 and told in done.output and done.output.count("\n") == 1

    def test_a_run_of_edited_results(self, filled, tmp_path):
        run = make_run(tmp_path / "run", "mine", found(9), filled.board)
        path = run.folder / "results.json"
        path.write_text(path.read_text().replace('"triplet_accuracy": 45.0', '"triplet_accuracy": 99.0'))
        done = self.run(run.folder, "--board", filled.board.folder, "--task", "videos")
        assert done.exit_code == 2 and "expected the triplet_accuracy that its rows give, 45, got 99" in done.output
