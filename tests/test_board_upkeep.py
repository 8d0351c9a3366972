"""Results that lie on the Hub too, and a board that sees what comes while it runs."""

import time

import pytest
from board_kit import Filled, make_board, tree

from sgeval.board import Results
from sgeval.board.remote import Remote
from sgeval.board.results import ENTRY
from sgeval.board.server import Upkeep
from sgeval.board.tables import Tables
from sgeval.errors import SgevalError
from sgeval.judges.providers import Secret


@pytest.fixture
def filled(tmp_path):
    board = make_board(tmp_path / "board")
    return Filled(board, Results(tmp_path / "results", board.tasks), tmp_path / "runs")


class FakeHub:
    def __init__(self):
        self.files, self.broken, self.refused, self.commits = {}, False, "", []
        self.words = "too\nlarge"

    def snapshot_download(self, repo_id, *, repo_type, local_dir):
        if self.broken:
            raise ConnectionError("no\nnetwork")
        for name, data in self.files.items():
            (local_dir / name).parent.mkdir(parents=True, exist_ok=True)
            (local_dir / name).write_bytes(data)

    def list_repo_files(self, repo_id, *, repo_type):
        if self.broken:
            raise ConnectionError("no\nnetwork")
        return list(self.files)

    def upload_folder(self, *, repo_id, repo_type, folder_path, path_in_repo, commit_message):
        if path_in_repo == self.refused:
            raise ValueError(self.words)
        self.commits.append(path_in_repo)
        self.files |= {f"{path_in_repo}/{name}": data for name, data in tree(folder_path).items()}


def wait_for(happens, seconds=30):
    """Whether something happens in another thread."""
    end = time.monotonic() + seconds
    while not happens() and time.monotonic() < end:
        time.sleep(0.01)
    return happens()


class TestRemote:
    def test_there_and_back(self, filled, tmp_path):
        hub, said = FakeHub(), []
        remote = Remote("me/results", hub, said.append)
        for name, n in (("one", 12), ("two", 3)):
            remote.keep([filled.results.place(filled.add(name, n)[0])])
        remote.fetch(tmp_path / "elsewhere")
        assert tree(tmp_path / "elsewhere") == tree(filled.results.folder) and len(hub.commits) == 2 and not said
        assert len(Results(tmp_path / "elsewhere", filled.board.tasks).entries("videos")) == 2

    def test_what_fails_is_tried_again_and_nothing_is_replaced(self, filled):
        hub, said = FakeHub(), []
        remote = Remote("me/results", hub, said.append)
        first, second, third = (filled.results.place(filled.add(name, 3)[0]) for name in "abc")
        hub.broken = True
        remote.keep([first])
        remote.keep([first])
        assert said == ["results of me/results: cannot be listed (no\\u000anetwork)"]
        with pytest.raises(SgevalError, match="cannot be fetched"):
            remote.fetch(filled.results.folder)
        hub.broken, hub.refused = False, f"videos/{first.name}"
        for _ in range(2):
            remote.keep([first, second])  # one that is refused keeps no other one back
        assert hub.commits == [f"videos/{second.name}"]
        assert said[1:] == [f"videos/{first.name}: not uploaded to me/results yet (too\\u000alarge)"]
        hub.refused = ""
        hub.files[f"videos/{third.name}/{ENTRY}"] = b"of another"
        remote.keep([first, second, third])
        assert hub.commits == [f"videos/{second.name}", f"videos/{first.name}"]
        assert hub.files[f"videos/{third.name}/{ENTRY}"] == b"of another"

    def test_a_key_in_what_the_hub_says_is_not_told(self, filled):
        hub, said = FakeHub(), []
        hub.refused = f"videos/{filled.add('one', 12)[0].id}"
        hub.words = "no such token: hf_SECRET"
        Remote("me/results", hub, said.append, Secret("hf_SECRET").hide).keep([filled.results.folder / hub.refused])
        assert len(said) == 1 and "no such token: ***" in said[0]


class TestUpkeep:
    """A board that is running: what comes to its folder from elsewhere, and what the Hub lacks."""

    def test_an_entry_of_another_process(self, filled, capsys):
        results, hub = Results(filled.results.folder, filled.board.tasks), FakeHub()
        tables = Tables(filled.board, results)
        upkeep = Upkeep(results, tables, Remote("me/results", hub))
        entry, _ = filled.add("one", 12)
        bad = filled.results.folder / "videos" / "20260101-000000-00000000"
        bad.mkdir()
        (bad / ENTRY).write_text("{}")
        assert tables.of("videos").ranked == ()
        upkeep.look()
        assert [row.entry.id for row in tables.of("videos").ranked] == [entry.id]
        assert hub.commits == [f"videos/{entry.id}"]
        upkeep.look()
        assert len(hub.commits) == 1 and len(capsys.readouterr().err.splitlines()) == 1

    def test_what_was_added_here_is_in_its_table_before_the_network_is_asked(self, filled):
        hub, tables = FakeHub(), Tables(filled.board, filled.results)
        upkeep = Upkeep(filled.results, tables, Remote("me/results", hub))
        entry, _ = filled.add("one", 12)
        upkeep.added(filled.results.place(entry))
        assert len(tables.of("videos").ranked) == 1 and hub.commits == []
        upkeep.start()
        assert wait_for(lambda: hub.commits == [f"videos/{entry.id}"])
        second, _ = filled.add("two", 3)
        upkeep.added(filled.results.place(second))
        assert wait_for(lambda: len(hub.commits) == 2)

    def test_no_half_written_entry(self, filled):
        results = Results(filled.results.folder, filled.board.tasks)
        entry, _ = filled.add("one", 12)
        place = filled.results.place(entry)
        hidden = place.rename(place.with_name(".new-1"))
        assert results.look() == [] and results.faults == []
        hidden.rename(place)
        assert [each.id for each in results.look()] == [entry.id] and results.look() == []

    def test_an_entry_that_is_completed_later(self, filled):
        results = Results(filled.results.folder, filled.board.tasks)
        entry, _ = filled.add("one", 12)
        path = filled.results.place(entry) / ENTRY
        whole = path.read_bytes()
        path.write_bytes(whole[:100])
        assert results.look() == [] and results.look() == [] and len(results.faults) == 1
        path.write_bytes(whole)
        assert [each.id for each in results.look()] == [entry.id] and results.look() == []

    def test_it_goes_on_after_a_fault_of_any_kind(self, filled, capsys, monkeypatch):
        monkeypatch.setattr("sgeval.board.server.EVERY", 0.01)
        hub, results = FakeHub(), filled.results
        calls = []

        def look():
            calls.append(1)
            if len(calls) < 3:
                raise RuntimeError("one\nof many")
            return []

        monkeypatch.setattr(results, "look", look)
        entry, _ = filled.add("one", 12)
        Upkeep(results, Tables(filled.board, results), Remote("me/results", hub)).start()
        assert wait_for(lambda: hub.commits == [f"videos/{entry.id}"])
        assert capsys.readouterr().err.splitlines()[:2] == ["sgeval: results: not looked at (RuntimeError)"] * 2
