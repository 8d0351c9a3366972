"""The cache of embeddings: what it returns, what it encodes, and what several processes share."""

import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing

import numpy as np
import pytest
from cache_kit import (
    CLAIMS,
    ELSEWHERE,
    HERE,
    Encoding,
    asked,
    child,
    claim,
    ended,
    fetched,
    filled,
    names,
    posix,
    put,
    rows,
)

import sgeval.shared_rows as module
from sgeval.cache import FORM, EmbeddingCache
from sgeval.errors import SgevalError, Unfinished
from sgeval.shared_rows import cache_key


class TestKey:
    def test_parts_do_not_run_together(self):
        assert cache_key("ab", "c") != cache_key("a", "bc")
        assert cache_key("a") != cache_key("a", "")
        assert len({cache_key(), cache_key(""), cache_key("", "")}) == 3

    def test_value(self):
        """By hand: `printf '\\1\\0\\0\\0\\0\\0\\0\\0a' | sha256sum`; text counts as UTF-8."""
        assert cache_key("a") == "ae6121c88ba555f64c3d812123eb799d128015541f850c5e9bf1d54c08ad8481"
        assert cache_key("é") == cache_key(b"\xc3\xa9")

    def test_any_file_name(self):
        assert len(cache_key("\udcff.jpg")) == 64, "a name that is no UTF-8 has a key too"


class TestFetch:
    def test_order_and_doubles(self, tmp_path):
        """b, a, b, c: the first b, a and c are encoded, in one call, as indices 0, 1, 3."""
        given = []
        with EmbeddingCache(tmp_path) as cache:
            got = cache.fetch(
                ["b", "a", "b", "c"], lambda indices: given.append(indices) or np.array([[i, -i] for i in indices])
            )
            assert given == [[0, 1, 3]]
            assert got.tolist() == [[0, 0], [1, -1], [0, 0], [3, -3]]
            assert got.dtype == np.float32 and got.flags.writeable
            assert (cache.encoded, cache.found, cache.set_aside) == (3, 0, 0)

    def test_only_what_is_new(self, tmp_path):
        with EmbeddingCache(tmp_path) as cache:
            fetched(cache, names(1, 2, 3))
            assert fetched(cache, names(4, 3, 5, 1, 4)) == [names(4, 5)]
            assert (cache.encoded, cache.found) == (5, 2)

    def test_warm(self, tmp_path):
        keys = [cache_key("text", str(number)) for number in range(100)]
        table = np.random.default_rng(0).standard_normal((100, 512)).astype(np.float32)
        table[0, :4] = [0.0, -0.0, np.float32(1e-45), np.finfo(np.float32).max]
        with EmbeddingCache(tmp_path) as cache:
            cold = cache.fetch(keys, lambda indices: table[indices])
        with EmbeddingCache(tmp_path) as cache:
            warm = cache.fetch(keys, lambda indices: pytest.fail("nothing is left to encode"))
            assert (cache.found, cache.encoded) == (100, 0)
        assert cold.tobytes() == warm.tobytes() == table.tobytes()

    def test_little_endian_on_disk(self, tmp_path):
        """1.0 is 0x3f800000, -2.0 is 0xc0000000; the lowest byte comes first."""
        with EmbeddingCache(tmp_path) as cache:
            cache.fetch(["x"], lambda indices: np.array([[1.0, -2.0]]))
        assert asked(tmp_path / FORM.file, "SELECT key, value FROM vectors") == [
            ("x", bytes.fromhex("0000803f000000c0"))
        ]

    def test_nothing(self, tmp_path):
        with EmbeddingCache(tmp_path) as cache:
            assert cache.fetch([], lambda indices: pytest.fail("nothing to encode")).shape == (0, 0)

    def test_not_finite_is_returned_but_not_kept(self, tmp_path):
        table = np.array([[1, 2], [np.nan, 3], [4, np.inf]])
        with EmbeddingCache(tmp_path) as cache:
            got = cache.fetch(names(1, 2, 3), lambda indices: table[indices])
            assert np.array_equal(got, table.astype(np.float32), equal_nan=True)
            again = []
            cache.fetch(names(1, 2, 3), lambda indices: again.extend(indices) or np.ones((2, 2)))
            assert again == [1, 2]
            assert asked(cache.path, CLAIMS) == []

    @pytest.mark.parametrize("table", [np.zeros(2), np.zeros((1, 3)), np.zeros((2, 3, 1))])
    def test_wrong_shape(self, tmp_path, table):
        with EmbeddingCache(tmp_path) as cache:
            with pytest.raises(SgevalError, match=r"encode: expected the shape \(2, D\), got \("):
                cache.fetch(names(1, 2), lambda indices: table)
            assert fetched(cache, names(1, 2)) == [names(1, 2)]

    def test_closed(self, tmp_path):
        with EmbeddingCache(tmp_path) as cache:
            cache.close()
        with pytest.raises(RuntimeError, match="is closed here"):
            cache.fetch(names(1), Encoding(names(1)))

    def test_closing_does_not_bring_a_deleted_folder_back(self, tmp_path):
        with EmbeddingCache(tmp_path / "gone") as cache:
            fetched(cache, names(1))
            shutil.rmtree(tmp_path / "gone")
        assert not (tmp_path / "gone").exists()

    @pytest.mark.parametrize("fault", [ValueError("the model"), KeyboardInterrupt()])
    def test_a_fault_of_encode_frees_the_keys(self, tmp_path, fault):
        def breaks(indices):
            assert asked(tmp_path / FORM.file, "SELECT key FROM claims ORDER BY key") == [("k1",), ("k2",)]
            raise fault

        with EmbeddingCache(tmp_path) as cache, EmbeddingCache(tmp_path) as other:
            with pytest.raises(type(fault)) as caught:
                cache.fetch(names(1, 2), breaks)
            assert caught.value is fault
            assert fetched(other, names(2, 1)) == [names(2, 1)], "at once: nobody holds them"


class TestProcesses:
    def test_each_key_once(self, tmp_path):
        """Four processes, the same 300 keys in four orders: 300 encodings in all, and more than one process's."""
        logs = [tmp_path / f"log{number}" for number in range(4)]
        processes = [child("share", tmp_path / "cache", log, tmp_path / "go") for log in logs]
        while not all(log.exists() for log in logs) and all(process.poll() is None for process in processes):
            time.sleep(0.01)
        (tmp_path / "go").touch()
        for process in processes:
            ended(process)
        encoded = [log.read_text().split() for log in logs]
        assert sorted(itertools.chain(*encoded)) == sorted(names(*range(300)))
        assert sum(map(bool, encoded)) > 1
        count = "SELECT (SELECT count(*) FROM vectors), (SELECT count(*) FROM claims)"
        assert asked(tmp_path / "cache" / FORM.file, count) == [(300, 0)]

    @posix
    def test_a_killed_owner(self, tmp_path):
        """Killed while it holds k1 and k2, and not even waited for by its parent: taken over at once."""
        process = child("hold", tmp_path, *names(1, 2), stdout=subprocess.PIPE)
        assert process.stdout.readline() == "holding\n"
        killed = []
        timer = threading.Timer(0.4, lambda: killed.append(process.send_signal(signal.SIGKILL)))
        with EmbeddingCache(tmp_path) as cache:
            timer.start()
            assert fetched(cache, names(1, 2, 3)) == [names(3), names(1, 2)], "one's own first, then theirs"
            assert killed
        process.communicate()

    @pytest.mark.skipif(not module._start(os.getpid()), reason="the start of a process is not to be had here")
    def test_a_number_used_again(self, tmp_path):
        """The number of a running process, but of another start."""
        path = filled(tmp_path)
        claim(path, "k1", json.dumps([module._host(), os.getpid(), "another start", 0]))
        with EmbeddingCache(tmp_path) as cache:
            assert fetched(cache, names(1)) == [names(1)]

    def test_claims_of_nobody(self, tmp_path):
        owners = ["", "7", "[]", "[1, 2]", json.dumps([module._host(), "x", "", 0]), "\ufffd", b"\xff"]
        path, keys = filled(tmp_path), names(*range(len(owners)))
        for key, owner in zip(keys, owners):
            claim(path, key, owner)
        with EmbeddingCache(tmp_path) as cache:
            assert fetched(cache, keys) == [keys]
        assert asked(path, CLAIMS) == []

    def test_claims_left_over(self, tmp_path):
        """What a full disk kept a cache from releasing: its own again at once, and free for others once it is closed."""
        with EmbeddingCache(tmp_path) as cache:
            claim(cache.path, "k1", cache._rows._owner)
            assert fetched(cache, names(1)) == [names(1)]
            claim(cache.path, "k2", cache._rows._owner)
        assert asked(cache.path, CLAIMS) == []

    @pytest.mark.parametrize("owner", [ELSEWHERE, HERE], ids=["elsewhere", "here"])
    def test_lease(self, tmp_path, monkeypatch, owner):
        """A claim from elsewhere, or of a process that lives, holds 600 seconds of a clock that only waiting moves."""
        clock = [1000.0]
        monkeypatch.setattr(module, "monotonic", lambda: clock[0])
        monkeypatch.setattr(module, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + 50 * seconds))
        claim(filled(tmp_path), "k1", owner)
        with EmbeddingCache(tmp_path) as cache:
            moments = []
            assert fetched(cache, names(1, 2), lambda: moments.append(clock[0] - 1000)) == [names(2), names(1)]
            assert moments[0] == 0 and 600 <= moments[1] < 603
        assert asked(cache.path, CLAIMS) == []

    def test_a_row_that_comes_while_waiting(self, tmp_path):
        path = filled(tmp_path)
        claim(path, "k1", ELSEWHERE)
        timer = threading.Timer(0.3, lambda: put(path, "k1", rows(["k1"]).tobytes()))
        with EmbeddingCache(tmp_path) as cache:
            timer.start()
            assert fetched(cache, names(1)) == []
            assert (cache.found, cache.encoded) == (1, 0)
        timer.join()

    @posix
    def test_locks_outlive_a_second_opening(self, tmp_path):
        """A second cache in this process must not drop the first one's locks.

        If it did, another process that closes the file would think itself the last one, and take the log away.
        """
        with EmbeddingCache(tmp_path) as cache:
            fetched(cache, names(1))
            EmbeddingCache(tmp_path).close()
            ended(child("visit", tmp_path, *names(2)))
            assert (tmp_path / f"{FORM.file}-wal").exists()
            assert fetched(cache, names(1, 2)) == []

    def test_locked_for_a_while(self, tmp_path):
        path = filled(tmp_path)
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as db:
            with EmbeddingCache(tmp_path) as cache:
                db.execute("BEGIN IMMEDIATE")
                timer = threading.Timer(0.5, lambda: db.execute("ROLLBACK"))
                timer.start()
                assert fetched(cache, names(1)) == [names(1)]
            timer.join()

    def test_locked_for_good(self, tmp_path, monkeypatch):
        monkeypatch.setattr(module, "BUSY", 0.3)
        with closing(sqlite3.connect(filled(tmp_path), isolation_level=None)) as db, EmbeddingCache(tmp_path) as cache:
            db.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unfinished, match=f"{FORM.file}: database is locked$"):
                fetched(cache, names(1))

    @posix
    @pytest.mark.parametrize("what", ["claim", "lock"])
    def test_waiting_can_be_interrupted(self, tmp_path, what):
        def interrupt(*_):
            raise KeyboardInterrupt

        path = filled(tmp_path)
        claim(path, "k1", ELSEWHERE)
        with closing(sqlite3.connect(path, isolation_level=None)) as db, EmbeddingCache(tmp_path) as cache:
            if what == "lock":
                db.execute("BEGIN IMMEDIATE")
            before = signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            start = time.monotonic()
            try:
                with pytest.raises(KeyboardInterrupt):
                    fetched(cache, names(1))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
            assert time.monotonic() - start < 3
