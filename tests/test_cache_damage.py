"""The cache of embeddings: what survives damage, refusals and a full disk."""

import errno
import os
import shutil
import sqlite3
import subprocess
import warnings
from contextlib import closing

import numpy as np
import pytest
from cache_kit import (
    ELSEWHERE,
    FILE,
    asked,
    child,
    claim,
    ended,
    fetched,
    filled,
    names,
    opened,
    posix,
    put,
    rows,
)

import sgeval.shared_rows as module
from sgeval.cache import EmbeddingCache
from sgeval.errors import SgevalError, Unfinished


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
            cache._rows._db.execute("PRAGMA max_page_count = 12")
            with pytest.raises(Unfinished) as caught:
                cache.fetch(keys, lambda indices: table)
            assert str(caught.value) == f"cache: {cache.path}: database or disk is full; needs about 430000 bytes"
            assert asked(cache.path, "SELECT * FROM claims UNION SELECT key, value FROM vectors") == []
            cache._rows._db.execute("PRAGMA max_page_count = 1000")
            assert cache.fetch(keys, lambda indices: table).shape == (100, 1000)

    @posix
    def test_a_limit_of_the_system(self, tmp_path):
        """2000 rows of 2048 bytes and 300 beside: 4696000."""
        process = child("full", tmp_path, stdout=subprocess.PIPE)
        said = process.communicate(timeout=30)[0]
        assert said == f"cache: {tmp_path / FILE}: disk I/O error; needs about 4696000 bytes\n"
