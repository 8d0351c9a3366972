"""Runs that are killed, interrupted or share a cache: what is committed is never asked again, and each pair is paid once.

The index of faults is in `test_llm_faults.py`.
"""

import json
import os
import queue
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from judge_child import scored
from judge_kit import asking, categories, faked, impatient, some, truth  # noqa: F401
from temporal_kit import graph, relation

import sgeval
from sgeval.errors import SgevalError
from sgeval.judges import make_judge
from sgeval.judges.verdict_cache import FORM, Finding, VerdictCache
from sgeval.judges.verdicts import Pair

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and forks of POSIX")
CHILD = Path(__file__).with_name("judge_child.py")
KILLS, PAIRS, AT_ONCE = 25, 40, 4


class Nursery:
    """Children of `judge_child.py`; what they print, by the first word."""

    def __init__(self):
        search = os.pathsep.join([str(Path(sgeval.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": search},
        )
        self.said = {word: queue.Queue() for word in ("ready", "child", "ended", "steps", "Unfinished", "SgevalError")}
        threading.Thread(target=self._listen, daemon=True).start()
        self.said["ready"].get(timeout=60)

    def _listen(self):
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            self.said[word].put(rest)

    def start(self, fake, folder, pairs=PAIRS, **more):
        options = {"concurrency": AT_ONCE, "deadline": 10.0, **more.pop("options", {})}
        line = {"url": fake.url, "folder": str(folder), "pairs": pairs, "options": options, **more}
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return int(self.said["child"].get(timeout=30))

    def ended(self):
        """The child that ended next, and how."""
        pid, code = self.said["ended"].get(timeout=60).split()
        return int(pid), int(code)

    def run(self, fake, folder, **more):
        pid = self.start(fake, folder, **more)
        ended, code = self.ended()
        assert ended == pid
        return code


@pytest.fixture(scope="module")
def nursery():
    made = Nursery()
    yield made
    made.process.stdin.close()
    made.process.kill()


def committed(folder, pairs, judge):
    """The pairs with a committed verdict."""
    path = folder / FORM.file
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as db:
        try:
            keys = {key for (key,) in db.execute("SELECT key FROM verdicts")}
        except sqlite3.OperationalError:  # killed before the table was made
            return set()
    return {pair for pair in pairs if judge._question.key(pair) in keys}


def claims(folder):
    with closing(sqlite3.connect(folder / FORM.file)) as db:
        return db.execute("SELECT count(*) FROM claims").fetchone()[0]


def times(fake, pair):
    return fake.counts[pair.kind, pair.reference, pair.prediction]


SCORE = {"concurrency": AT_ONCE, "deadline": 10.0}
OBJECTS = 14  # with relations between neighbours: 14 + 13 pairs of labels, all unequal
SCORED = [Pair("object", f"item {n}", f"thing {n}") for n in range(OBJECTS)]
SCORED += [Pair("predicate", f"near {n}", f"by {n}") for n in range(OBJECTS - 1)]


def files_to_score(folder):
    """Predictions and references, and the run folder that `scored` makes of them."""
    for name, noun, verb in (("predictions", "thing", "by"), ("references", "item", "near")):
        relations = [(n, f"{verb} {n}", n + 1, (0, 4)) for n in range(OBJECTS - 1)]
        row = graph("v", [f"{noun} {n}" for n in range(OBJECTS)], [relation(*one) for one in relations])
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    return folder / "run"


@pytest.fixture(scope="module")
def server():
    """One for all runs whose results are compared: its address stands in them."""
    with faked() as fake:
        yield fake


@pytest.fixture(scope="module")
def whole(nursery, server, tmp_path_factory):
    """The results of an unbroken run, and how many steps it has."""
    folder = files_to_score(tmp_path_factory.mktemp("whole"))
    assert nursery.run(server, folder, counts=True, score=True) == 0
    assert len(server.counts) == server.calls == len(SCORED)
    return (folder / "results.json").read_bytes(), int(nursery.said["steps"].get(timeout=10))


class TestKilled:
    @pytest.mark.parametrize("number", range(KILLS))
    def test_at_any_point(self, nursery, server, tmp_path, whole, number):
        """The first step, the last step that any run of these pairs has, and 23 between them: requests, commits and the
        writing of results, before and after. Then the run goes on: the results have the bytes of an unbroken run, no
        committed verdict was asked for again, and at most those under way twice."""
        results, steps = whole
        fewest = 2 * len(SCORED) + 2 + 2  # requests, one commit of all, and the results
        fatal = [0, fewest - 1, *random.Random(7).sample(range(1, fewest - 1), KILLS - 2)][number]
        assert fatal < steps
        folder = files_to_score(tmp_path)
        server.counts.clear()
        server.calls = 0
        assert nursery.run(server, folder, fatal=fatal, score=True) == -signal.SIGKILL
        kept = committed(folder / "verdicts", SCORED, make_judge("local/m", base_url=server.url))
        before = Counter(server.counts)
        scored(folder, server.url, SCORE)
        assert (folder / "results.json").read_bytes() == results
        assert all(times(server, pair) == before[pair.kind, pair.reference, pair.prediction] == 1 for pair in kept)
        assert len(server.counts) == len(SCORED) and server.calls <= len(SCORED) + AT_ONCE
        (told,) = json.loads((folder / "judging.json").read_text())["accounts"]
        assert (told["judged"], told["cached"]) == (len(SCORED), len(kept))

    def test_again_and_again(self, nursery, tmp_path):
        """Killed in batches, ten times on one cache: never more asked again than was under way."""
        pairs = some(120)
        with faked() as fake:
            options = {"batch": 5, "concurrency": 2}
            for fatal in range(4, 14):
                assert nursery.run(fake, tmp_path, pairs=120, fatal=fatal, options=options) == -signal.SIGKILL
            judge = asking(fake, tmp_path, **options)
            assert categories(judge(pairs)) == truth(pairs)
            twice = [pair for pair in pairs if times(fake, pair) > 1]
            assert len(twice) <= 10 * 2 * 5


class TestInterrupted:
    @pytest.mark.parametrize("after", [1, 3, 9, 17, 30])
    def test_ctrl_c(self, nursery, tmp_path, after):
        """It ends, leaves no claims, keeps its verdicts, and can be gone on with."""
        pairs = some(PAIRS)
        with faked(delay=0.02) as fake:
            pid = nursery.start(fake, tmp_path)
            while fake.calls < after:
                time.sleep(0.002)
            os.kill(pid, signal.SIGINT)
            assert nursery.ended() == (pid, 130)
            assert claims(tmp_path) == 0
            judge = asking(fake, tmp_path)
            kept = committed(tmp_path, pairs, judge)
            assert categories(judge(pairs)) == truth(pairs)
            assert all(times(fake, pair) == 1 for pair in kept)
            assert fake.calls <= PAIRS + AT_ONCE

    def test_a_server_that_never_answers(self, nursery, tmp_path):
        """The answer would come after ten minutes; what is under way is dropped."""
        with faked({"match": "all", "do": "stall", "seconds": 600}) as fake:
            pid = nursery.start(fake, tmp_path, options={"deadline": 900.0})
            while not fake.calls:
                time.sleep(0.002)
            os.kill(pid, signal.SIGINT)
            assert nursery.ended() == (pid, 130)


class TestShared:
    def test_eight_processes(self, nursery, tmp_path):
        """500 pairs in eight orders; two processes are killed on the way. Each pair is asked once, but for those that the
        killed ones had under way."""
        pairs, killed = some(500), set()
        with faked() as fake:
            children = {nursery.start(fake, tmp_path, pairs=500, order=n, options={"concurrency": 2}) for n in range(8)}
            for share in (100, 250):
                while fake.calls < share:
                    time.sleep(0.002)
                pid = sorted(children - killed)[0]
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            ends = dict(nursery.ended() for _ in children)
            assert {pid for pid, code in ends.items() if code} == killed
            assert set(fake.counts.values()) <= {1, 2} and sum(fake.counts.values()) <= 500 + 2 * 2
            assert categories(asking(fake, tmp_path)(pairs)) == truth(pairs) and len(fake.counts) == 500

    @pytest.mark.parametrize("batch", [1, 7])
    def test_two_judges_that_meet(self, tmp_path, batch):
        """From both ends at once: nobody waits for ever, and each pair is asked once."""
        pairs = some(150)
        known = {label for pair in pairs for label in (pair.reference, pair.prediction)}
        with faked(delay=0.002) as fake:
            judges = [asking(fake, tmp_path, batch=batch, known=known) for _ in range(2)]
            found = [None, None]

            def work(n):
                found[n] = categories(judges[n](pairs[:: 1 - 2 * n]))

            threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            assert found == [truth(pairs), truth(pairs)[::-1]]
            assert set(fake.counts.values()) == {1}
            assert sum(judge.tally.judged - judge.tally.cached for judge in judges) == 150

    def test_an_unjudged_pair_is_free_for_others(self, tmp_path):
        with faked({"match": "upto:2", "do": "refusal"}) as fake:
            asking(fake, tmp_path)(some(1))
            assert claims(tmp_path) == 0
            assert categories(asking(fake, tmp_path)(some(1))) == truth(some(1))

    def test_the_first_verdict_stands(self, tmp_path):
        """While a pair is asked about, another process stores another verdict on it: that one stands, and is counted."""
        (pair,) = some(1)
        other = next(word for word in ("synonym", "overlap") if [word] != truth([pair]))
        finding = Finding(other, False, "fake-0", "", "", None, None, 1, 1)
        with faked() as fake:
            judge = asking(fake, tmp_path)
            note = fake.note

            def meanwhile(*arguments):
                cache = VerdictCache(tmp_path)
                cache.store({judge._question.key(pair): finding}, [])
                cache.close()
                return note(*arguments)

            fake.note = meanwhile
            assert categories(judge([pair])) == [other]
            assert (judge.tally.disagreed, judge.tally.judged) == (1, 1) and judge.tally.models == {("fake-0", ""): 1}


class TestDisk:
    def test_damaged_rows(self, tmp_path):
        """One byte of 50 verdicts: these 50 are asked again, counted, and the damaged ones kept aside."""
        pairs = some(60)
        with faked() as fake:
            asking(fake, tmp_path)(pairs)
            with closing(sqlite3.connect(tmp_path / FORM.file)) as db:
                rows = db.execute("SELECT key, value FROM verdicts ORDER BY key").fetchall()
                for key, value in random.Random(7).sample(rows, 50):
                    place = random.Random(key).randrange(len(value))
                    value = value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]
                    db.execute("UPDATE verdicts SET value = ? WHERE key = ?", (value, key))
                db.commit()
            judge = asking(fake, tmp_path)
            assert categories(judge(pairs)) == truth(pairs)
            assert (judge.tally.damaged, judge.tally.calls, judge.tally.cached) == (50, 50, 10)
            with closing(sqlite3.connect(tmp_path / FORM.file)) as db:
                assert db.execute("SELECT reason, count(*) FROM set_aside").fetchall() == [("digest", 50)]

    @pytest.mark.parametrize(
        "value",
        [
            *(b"", b"[]", b"{}", b'{"category": "synonym"}', b"\xff"),
            json.dumps({**dict.fromkeys(Finding.__slots__, 1), "category": "nearly"}).encode(),
        ],
    )
    def test_rows_of_another_form(self, tmp_path, value):
        """A digest that fits does not make a verdict of anything."""
        with faked() as fake:
            judge = asking(fake, tmp_path)
            cache = VerdictCache(tmp_path)
            cache._rows.store({judge._question.key(some(1)[0]): value}, [])
            cache.close()
            assert categories(judge(some(1))) == truth(some(1)) and judge.tally.damaged == 1

    def test_a_damaged_file(self, tmp_path):
        with faked() as fake:
            asking(fake, tmp_path)(some(3))
            path = tmp_path / FORM.file
            path.write_bytes(b"\0" * 100 + path.read_bytes()[100:])
            with pytest.warns(UserWarning, match=r"verdicts\.sqlite is corrupt .*set-aside-1"):
                assert categories(asking(fake, tmp_path)(some(3))) == truth(some(3))
            assert fake.calls == 6 and (tmp_path / f"{FORM.file}.set-aside-1").exists()

    def test_a_cut_log(self, nursery, tmp_path):
        """The log of a killed run, cut at 20 places: what is left of it is used, the rest is asked again."""
        pairs, kept = some(PAIRS), []
        with faked() as fake:
            assert nursery.run(fake, tmp_path / "killed", fatal=60) == -signal.SIGKILL
            for n in range(20):
                folder = tmp_path / str(n)
                shutil.copytree(tmp_path / "killed", folder)
                log = folder / f"{FORM.file}-wal"
                os.truncate(log, log.stat().st_size * n // 20)
                judge = asking(fake, folder)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    assert categories(judge(pairs)) == truth(pairs)
                kept.append(judge.tally.cached)
                assert judge.tally.calls == PAIRS - judge.tally.cached
        assert kept == sorted(kept) and kept[0] == 0 < kept[-1]

    def test_a_newer_version(self, tmp_path):
        with faked() as fake:
            asking(fake, tmp_path)(some(1))
            with closing(sqlite3.connect(tmp_path / FORM.file)) as db:
                db.execute("PRAGMA user_version = 2")
            with pytest.raises(SgevalError, match="expected a cache of sgeval, version 1, got version 2"):
                asking(fake, tmp_path)(some(2))
            assert fake.calls == 1

    def test_a_folder_that_cannot_be_had(self, tmp_path):
        """Said before the first call."""
        (tmp_path / "file").touch()
        with faked() as fake:
            with pytest.raises(SgevalError, match=r"cannot be written \(Not a directory\)"):
                asking(fake, tmp_path / "file" / "sub")(some(2))
            assert fake.calls == 0

    def test_a_full_disk(self, nursery, tmp_path):
        """The run stops with the path and the room it needs; with more room it goes on, and pays for nothing twice but
        what was under way."""
        pairs = some(200)
        with faked() as fake:
            assert nursery.run(fake, tmp_path, pairs=200, room=100_000) == 3
            assert nursery.said["Unfinished"].get(timeout=5).startswith(f"cache: {tmp_path / FORM.file}: ")
            with closing(sqlite3.connect(tmp_path / FORM.file)) as db:
                assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            judge = asking(fake, tmp_path)
            kept = committed(tmp_path, pairs, judge)
            assert 0 < len(kept) < 200
            assert categories(judge(pairs)) == truth(pairs)
            assert all(times(fake, pair) == 1 for pair in kept)
            assert fake.calls <= 200 + AT_ONCE


def test_verdicts_are_flushed_when_they_are_committed(tmp_path):
    """synchronous=FULL (2) and a write-ahead log: what was paid for outlives the machine's power."""
    cache = VerdictCache(tmp_path)
    asked = [cache._rows._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")]
    cache.close()
    assert asked == [2, "wal"]
