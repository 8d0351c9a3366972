"""The cache of embeddings: what it returns, what it encodes, and what survives damage, other processes and a full disk.

The row of key "k7" is (7, 7.5, -7), so that every expected number can be read off the key.
"""

import errno
import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

import sgeval.cache as module
from sgeval.cache import FILE, EmbeddingCache, cache_key
from sgeval.errors import SgevalError, Unfinished

CHILD = Path(__file__).with_name("cache_child.py")
ELSEWHERE = json.dumps(["another host", 1, "then", 0])
HERE = json.dumps([module._host(), os.getpid(), module._start(os.getpid()), 0])
CLAIMS = "SELECT * FROM claims"
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Waiting in this process for more than 5 seconds in all is a failure."""
    left = [5.0]

    def sleep(seconds):
        left[0] -= seconds
        assert left[0] > 0, "waits for too long"
        time.sleep(seconds)

    monkeypatch.setattr(module, "sleep", sleep)


def names(*numbers):
    return [f"k{number}" for number in numbers]


def rows(keys):
    return np.array([[int(key[1:]), int(key[1:]) + 0.5, -int(key[1:])] for key in keys], dtype=np.float32)


class Encoding:
    """An `encode` for some keys, which keeps what it was asked for; `before` runs first."""

    def __init__(self, keys, before=lambda: None):
        self.keys, self.before, self.calls = keys, before, []

    def __call__(self, indices):
        self.calls.append([self.keys[index] for index in indices])
        self.before()
        return rows(self.calls[-1])


def fetched(cache, keys, before=lambda: None):
    """Fetch keys, check the rows, and return what was encoded, call by call."""
    encode = Encoding(keys, before)
    assert cache.fetch(keys, encode).tolist() == rows(keys).tolist()
    return encode.calls


def filled(folder, *numbers):
    with EmbeddingCache(folder) as cache:
        fetched(cache, names(*numbers))
    return folder / FILE


@contextmanager
def opened(path):
    """The file by plain SQLite; what is done is committed."""
    with closing(sqlite3.connect(path, timeout=5)) as db:
        yield db
        db.commit()


def asked(path, question):
    with opened(path) as db:
        return db.execute(question).fetchall()


def put(path, key, value):
    """A row whose digest is right."""
    with opened(path) as db:
        db.execute("INSERT INTO vectors VALUES (?, ?, ?)", (key, value, bytes.fromhex(cache_key(key, value))))


def claim(path, key, owner):
    with opened(path) as db:
        db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (key, owner))


def child(*arguments, **more):
    search = os.pathsep.join([str(Path(module.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(CHILD), *map(str, arguments)]
    return subprocess.Popen(command, text=True, env={**os.environ, "PYTHONPATH": search}, **more)


def ended(process):
    try:
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()


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
        assert asked(tmp_path / FILE, "SELECT key, value FROM vectors") == [("x", bytes.fromhex("0000803f000000c0"))]

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
            assert asked(tmp_path / FILE, "SELECT key FROM claims ORDER BY key") == [("k1",), ("k2",)]
            raise fault

        with EmbeddingCache(tmp_path) as cache, EmbeddingCache(tmp_path) as other:
            with pytest.raises(type(fault)) as caught:
                cache.fetch(names(1, 2), breaks)
            assert caught.value is fault
            assert fetched(other, names(2, 1)) == [names(2, 1)], "at once: nobody holds them"


class TestDamagedRows:
    def test_flipped_bytes(self, tmp_path):
        """One bit of one number of k3 and of k7, in the file itself: these two are encoded again, the others not."""
        path = filled(tmp_path, *range(10))
        data = bytearray(path.read_bytes())
        for key in names(3, 7):
            place = data.index(rows([key]).tobytes())
            data[place + 5] ^= 1
        path.write_bytes(data)
        with EmbeddingCache(tmp_path) as cache:
            assert fetched(cache, names(*range(10))) == [names(3, 7)]
            assert (cache.found, cache.encoded, cache.set_aside) == (8, 2, 2)
            assert fetched(cache, names(*range(10))) == []
        assert asked(path, "SELECT key, reason FROM set_aside ORDER BY key") == [("k3", "digest"), ("k7", "digest")]

    def test_anything_in_the_way(self, tmp_path):
        changes = [
            *("value = x''", "value = 7", "value = NULL", "value = 'text'", "value = CAST(x'fffe' AS TEXT)"),
            *("digest = x''", "digest = NULL", "digest = 'text'", "digest = CAST(x'fffe' AS TEXT)"),
        ]
        keys = names(*range(len(changes)))
        path = filled(tmp_path, 100, *range(len(changes)))
        with opened(path) as db:
            for key, change in zip(keys, changes):
                db.execute(f"UPDATE vectors SET {change} WHERE key = ?", (key,))
        with EmbeddingCache(tmp_path) as cache:
            assert fetched(cache, [*keys, "k100"]) == [keys]
        assert asked(path, "SELECT key, reason FROM set_aside ORDER BY key") == [(key, "digest") for key in keys]

    def test_length(self, tmp_path):
        """Five bytes with a digest that fits them are still no row of numbers."""
        path = filled(tmp_path, 1)
        put(path, "k2", b"12345")
        with EmbeddingCache(tmp_path) as cache:
            assert fetched(cache, names(1, 2)) == [names(2)]
        assert asked(path, "SELECT key, value, reason FROM set_aside") == [("k2", b"12345", "length")]

    def test_the_tests_own_digest(self, tmp_path):
        """A value as good as its digest is used: what `put` writes is refused for its faults only."""
        put(filled(tmp_path, 1), "k2", rows(["k2"]).tobytes())
        with EmbeddingCache(tmp_path) as cache:
            assert fetched(cache, names(1, 2)) == []

    def test_a_row_of_another_key(self, tmp_path):
        """The digest covers the key: the sound row of k1 under the name of k2 is not the row of k2."""
        path = filled(tmp_path, 1, 2)
        with opened(path) as db:
            db.execute("UPDATE vectors SET (value, digest) = (SELECT value, digest FROM vectors WHERE key = 'k1')")
        with EmbeddingCache(tmp_path) as cache:
            assert fetched(cache, names(1, 2)) == [names(2)]

    def test_odd_dimension_among_stored_rows(self, tmp_path):
        """Three rows of 3 numbers and one of 2: the one is encoded anew."""
        put(filled(tmp_path, 1, 2, 3), "k4", np.float32([4, 4]).tobytes())
        with EmbeddingCache(tmp_path) as cache:
            assert fetched(cache, names(4, 1, 2, 3)) == [names(4)]
            assert (cache.found, cache.encoded, cache.set_aside) == (3, 1, 1)

    def test_what_is_encoded_now_says_the_dimension(self, tmp_path):
        """Two stored rows of 2 numbers and a new one of 3: the stored ones give way."""
        path = filled(tmp_path)
        put(path, "k1", np.float32([1, 1]).tobytes())
        put(path, "k2", np.float32([2, 2]).tobytes())
        with EmbeddingCache(tmp_path) as cache:
            assert fetched(cache, names(1, 2, 3)) == [names(3), names(1, 2)]
            assert (cache.found, cache.encoded, cache.set_aside) == (0, 3, 2)
        assert asked(path, "SELECT key, reason FROM set_aside") == [("k1", "dimension"), ("k2", "dimension")]

    def test_an_encoder_that_changes_its_mind(self, tmp_path):
        put(filled(tmp_path), "k1", np.float32([1, 1]).tobytes())
        sizes = iter([3, 4])
        with EmbeddingCache(tmp_path) as cache, pytest.raises(SgevalError, match=r"the shape \(1, 3\), got \(1, 4\)"):
            cache.fetch(names(1, 2), lambda indices: np.ones((len(indices), next(sizes))))


class TestDamagedFile:
    @pytest.mark.parametrize(
        "damage",
        [
            lambda data: b"broken header!!!" + data[16:],
            lambda data: b"no database at all, and of an odd length. " * 999,
            lambda data: b"xy",
            lambda data: data[:16384],  # the first page only
            lambda data: data[:-30000],
            lambda data: data[:16384] + bytes(len(data) - 16384),
            lambda data: data.replace(b"vectors", b"vektors"),
            lambda data: data.replace(b"vectors", b"vec\xd5ors", 2),  # SQLite's message quotes it
            lambda data: data.replace(b"value BLOB", b"valve BLOB"),
            lambda data: data[:47] + b"\x63" + data[48:],  # the number of the schema's format
        ],
        ids=["header", "garbage", "short", "first page", "cut", "zeros", "table", "text", "column", "format"],
    )
    def test_set_aside(self, tmp_path, damage):
        path = filled(tmp_path, *range(300))
        path.write_bytes(damage(path.read_bytes()))
        before = path.read_bytes()
        with pytest.warns(UserWarning, match="is corrupt") as caught, EmbeddingCache(tmp_path) as cache:
            fetched(cache, names(*range(300)))
            assert cache.encoded
        (words,) = [str(one.message) for one in caught]
        assert "now embeddings.sqlite.set-aside-1," in words and "\n" not in words
        assert path.with_name(f"{FILE}.set-aside-1").read_bytes()[: len(before)] == before, "nothing is lost"
        with EmbeddingCache(tmp_path) as cache:
            assert fetched(cache, names(*range(300))) == []

    def test_numbers_go_on(self, tmp_path):
        for number in (1, 2):
            (tmp_path / FILE).write_bytes(b"%d is no database" % number)
            with pytest.warns(UserWarning, match=f"set-aside-{number},"):
                filled(tmp_path, 1)
            assert (tmp_path / f"{FILE}.set-aside-{number}").read_bytes() == b"%d is no database" % number

    def test_the_log_goes_along(self, tmp_path):
        (tmp_path / FILE).write_bytes(b"no database")
        (tmp_path / f"{FILE}-wal").write_bytes(b"its log")
        (tmp_path / f"{FILE}.set-aside-1-shm").write_bytes(b"in the way")
        with pytest.warns(UserWarning, match="set-aside-2,"):
            filled(tmp_path, 1)
        assert (tmp_path / f"{FILE}.set-aside-2-wal").read_bytes() == b"its log"
        assert (tmp_path / f"{FILE}.set-aside-1-shm").read_bytes() == b"in the way"

    @pytest.mark.parametrize("content", [b"", b"\0"], ids=["nothing", "one byte"])
    def test_empty_file(self, tmp_path, content):
        """SQLite itself takes a file of one byte for an empty one."""
        (tmp_path / FILE).write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            filled(tmp_path, 1)
        assert not list(tmp_path.glob("*set-aside*"))

    def test_cut_log(self, tmp_path):
        """40 rows in four stores; the last byte of the log belongs to the last one: 30 are there, 10 are encoded."""
        ended(child("leave", tmp_path, *names(*range(40))))
        log = tmp_path / f"{FILE}-wal"
        os.truncate(log, log.stat().st_size - 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with EmbeddingCache(tmp_path) as cache:
                assert fetched(cache, names(*range(40))) == [names(*range(30, 40))]

    def test_found_while_storing(self, tmp_path):
        """The pages turn to zeros while the rows are encoded: they are stored in a fresh file, and encoded once."""
        path = filled(tmp_path, *range(300))

        def ruin():
            claim(path, "other", ELSEWHERE)  # a write by someone else makes the cache read its pages again
            asked(path, "PRAGMA wal_checkpoint(TRUNCATE)")
            size = path.stat().st_size
            with path.open("r+b") as file:
                file.seek(16384)
                file.write(bytes(size - 16384))

        with EmbeddingCache(tmp_path) as cache:
            with pytest.warns(UserWarning, match="malformed.*set-aside-1,"):
                assert fetched(cache, names(301, 302), ruin) == [names(301, 302)]
            assert fetched(cache, names(302, 301)) == []

    def test_two_caches_on_a_file_that_breaks(self, tmp_path):
        """The first sets it aside; the second finds the fresh one, with no second warning."""
        path = filled(tmp_path, *range(300))
        with EmbeddingCache(tmp_path) as first, EmbeddingCache(tmp_path) as second:
            with path.open("r+b") as file:
                file.seek(16384)
                file.write(bytes(path.stat().st_size - 16384))
            with pytest.warns(UserWarning, match="set-aside-1,"):
                fetched(first, names(1, 2))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert fetched(second, names(2, 3)) == [names(3)]
                assert fetched(first, names(3)) == []
        assert len(list(tmp_path.glob(f"{FILE}.set-aside-?"))) == 1

    def test_a_file_that_is_replaced(self, tmp_path):
        """Another process has set the file aside; this one still has it open, and turns to the fresh one."""
        with EmbeddingCache(tmp_path) as cache:
            fetched(cache, names(1, 2))
            cache.path.rename(tmp_path / "aside")
            filled(tmp_path, 3)
            assert fetched(cache, names(1, 2, 3)) == [names(1, 2)]


class TestRefusals:
    def test_newer_version(self, tmp_path):
        path = filled(tmp_path, 1)
        asked(path, "PRAGMA user_version = 2")
        before = path.read_bytes()
        with pytest.raises(SgevalError) as caught:
            EmbeddingCache(tmp_path)
        assert (
            str(caught.value)
            == f"cache: {path}: expected a cache of sgeval, version 1, got version 2, of a newer sgeval"
        )
        assert path.read_bytes() == before

    @pytest.mark.parametrize("mode", ["DELETE", "WAL"])
    @pytest.mark.parametrize("number", [0, 1234])
    def test_another_programs_database(self, tmp_path, number, mode):
        """Refused and untouched, a write-ahead log that waits to be merged included."""
        (tmp_path / "made").mkdir()
        with closing(sqlite3.connect(tmp_path / "made" / FILE)) as db:
            db.execute(f"PRAGMA journal_mode = {mode}")
            db.execute(f"PRAGMA application_id = {number}")
            db.execute("CREATE TABLE theirs (x)")
            db.commit()
            shutil.copytree(tmp_path / "made", tmp_path / "cache")
        before = {path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()}
        assert len(before) == (3 if mode == "WAL" else 1)
        with pytest.raises(SgevalError, match="expected a cache of sgeval, version 1, got another program's database"):
            EmbeddingCache(tmp_path / "cache")
        after = {path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()}
        assert {name: after[name] for name in before} == before
        assert set(after) - set(before) <= {"embeddings.lock"}

    def test_no_folder_to_be_had(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(SgevalError) as caught:
            EmbeddingCache(tmp_path / "file" / "sub")
        assert str(caught.value) == f"cache: {tmp_path / 'file' / 'sub'} cannot be written (Not a directory)"

    def test_read_only_folder(self, tmp_path):
        filled(tmp_path, 1)
        tmp_path.chmod(0o555)
        try:
            if os.access(tmp_path, os.W_OK):
                pytest.skip("this user may write anywhere")
            with pytest.raises(SgevalError, match=r"cannot be written \(Permission denied\)$"):
                EmbeddingCache(tmp_path)
        finally:
            tmp_path.chmod(0o755)

    def test_read_only_file_system(self, tmp_path, monkeypatch):
        def refuse(**_):
            raise OSError(errno.EROFS, "Read-only file system")

        monkeypatch.setattr(module.tempfile, "TemporaryFile", refuse)
        with pytest.raises(SgevalError) as caught:
            EmbeddingCache(tmp_path)
        assert str(caught.value) == f"cache: {tmp_path} cannot be written (Read-only file system)"

    def test_a_folder_in_the_way(self, tmp_path):
        (tmp_path / FILE).mkdir()
        with pytest.raises(SgevalError, match=r"cannot be written \(.+\)$"):
            EmbeddingCache(tmp_path)


class TestFullDisk:
    def test_at_opening(self, tmp_path, monkeypatch):
        def refuse(**_):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(module.tempfile, "TemporaryFile", refuse)
        with pytest.raises(Unfinished, match=r"No space left on device; needs about \d+ bytes$"):
            EmbeddingCache(tmp_path)

    def test_while_storing(self, tmp_path):
        """100 rows of 4000 bytes and 300 beside: 430000. A limit of SQLite's own stands in for the disk."""
        with EmbeddingCache(tmp_path) as cache:
            keys, table = names(*range(100)), np.ones((100, 1000), np.float32)
            cache._db.execute("PRAGMA max_page_count = 12")
            with pytest.raises(Unfinished) as caught:
                cache.fetch(keys, lambda indices: table)
            assert str(caught.value) == f"cache: {cache.path}: database or disk is full; needs about 430000 bytes"
            assert asked(cache.path, "SELECT * FROM claims UNION SELECT key, value FROM vectors") == []
            cache._db.execute("PRAGMA max_page_count = 1000")
            assert cache.fetch(keys, lambda indices: table).shape == (100, 1000)

    @posix
    def test_a_limit_of_the_system(self, tmp_path):
        """2000 rows of 2048 bytes and 300 beside: 4696000."""
        process = child("full", tmp_path, stdout=subprocess.PIPE)
        said = process.communicate(timeout=30)[0]
        assert said == f"cache: {tmp_path / FILE}: disk I/O error; needs about 4696000 bytes\n"


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
        assert asked(tmp_path / "cache" / FILE, count) == [(300, 0)]

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
            claim(cache.path, "k1", cache._owner)
            assert fetched(cache, names(1)) == [names(1)]
            claim(cache.path, "k2", cache._owner)
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
            assert (tmp_path / f"{FILE}-wal").exists()
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
            with pytest.raises(Unfinished, match=f"{FILE}: database is locked$"):
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
