"""What the tests of the cache share. The row of key "k7" is (7, 7.5, -7), so that every number can be read off the key."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

import sgeval.shared_rows as module
from sgeval.cache import FORM, EmbeddingCache
from sgeval.shared_rows import cache_key

FILE = FORM.file
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
