"""A disk cache of embeddings that several processes share, each key encoded by one of them.

One SQLite file a folder. A row holds a key, its numbers as raw little-endian float32, and a digest over both. Who is
about to encode a key leaves a claim; the others wait for the row. Nothing that looks damaged is used, and nothing is
deleted: rows move to a table `set_aside`, files to a name beside their own.
"""

import errno
import hashlib
import json
import os
import platform
import re
import sqlite3
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sgeval.errors import SgevalError, Unfinished, one_line
from sgeval.files import set_aside

FILE = "embeddings.sqlite"
GATE = "embeddings.lock"  # stays empty; held while a file is opened, made or set aside
APPLICATION_ID = int.from_bytes(b"sgEm", "big")
VERSION = 1
LEASE = 600  # seconds after which anyone's claim may be taken over
BUSY = 60  # seconds to wait for a locked database
TICK = 0.2  # seconds of that spent inside SQLite at a time, where Ctrl-C does not get through
POLL = 0.05  # seconds between two looks at a claim or a lock
PAGE = 16384  # bytes; 7 rows of 512 numbers fit in one, where the usual 4096 hold one and a gap
LOG_LIMIT = 1 << 26  # bytes to which the write-ahead log shrinks after a large store
ROW_EXTRA = 300  # bytes of a row and its index entry beside the numbers, and of a claim
TABLES = (
    "CREATE TABLE vectors (key TEXT PRIMARY KEY, value BLOB, digest BLOB)",
    "CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT) WITHOUT ROWID",
    "CREATE TABLE set_aside (key TEXT, value BLOB, digest BLOB, reason TEXT)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
SET_ASIDE = "INSERT INTO set_aside SELECT key, value, digest, ? FROM vectors WHERE key = ?"
CORRUPT = re.compile("malformed|not a database|no such (table|column)|unsupported file format|codec can't decode|^$")
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)  # or no words (3.10), when SQLite's message quotes damaged text
TRIES = 3  # files set aside within one step before giving up

Encode = Callable[[list[int]], npt.NDArray[np.float32]]
T = TypeVar("T")


def cache_key(*parts: str | bytes) -> str:
    """SHA-256, in hex, over the parts and their lengths. Text counts as its UTF-8 bytes.

    >>> cache_key("ab", "c") == cache_key("a", "bc")
    False
    """
    return _digest(*parts).hex()


@dataclass
class _Claims:
    """What came of claiming keys: rows stored meanwhile, keys now ours, owners of the others and until when."""

    rows: dict[str, bytes] = field(default_factory=dict)
    mine: list[str] = field(default_factory=list)
    others: set[str] = field(default_factory=set)
    until: float = float("inf")
    damaged: int = 0
    state: object = None


class EmbeddingCache:
    """Embeddings by key, in `FOLDER/embeddings.sqlite`; the folder is made. For the process and thread that opened it.

    `found`, `encoded` and `set_aside` count keys since opening, a key once a call: rows that were there or came from
    another process, rows encoded here, and rows that failed their check.

    Raises `SgevalError` when the folder cannot be written or the file is a newer version's or another program's. A
    corrupt file is set aside with a warning.

    >>> with tempfile.TemporaryDirectory() as folder, EmbeddingCache(folder) as cache:
    ...     rows = cache.fetch(["b", "a", "b"], lambda indices: np.array([[i, 0.5] for i in indices]))
    ...     again = cache.fetch(["a"], lambda indices: np.array([[9, 9]]))
    >>> rows.tolist(), again.tolist(), cache.encoded, cache.found
    ([[0.0, 0.5], [1.0, 0.5], [0.0, 0.5]], [[1.0, 0.5]], 2, 1)
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder).absolute() / FILE
        self.found = self.encoded = self.set_aside = 0
        self._pid = os.getpid()  # 0 once closed
        self._owner = json.dumps([_host(), self._pid, _start(self._pid), id(self)])
        self._seen: dict[tuple[str, str], float] = {}  # (key, owner) of a claim -> when it was first seen
        self._inode: tuple[int, int] | None = None
        self._db = sqlite3.connect(":memory:")  # until the file is open
        self._open()

    def __enter__(self) -> "EmbeddingCache":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back. A closed cache stays closed."""
        if os.getpid() == self._pid:
            self._release()
            self._db.close()
        self._pid = 0

    def fetch(self, keys: Sequence[str], encode: Encode) -> npt.NDArray[np.float32]:
        """The rows (N, D) of N keys, in their order; (0, 0) of none.

        `encode` gets the indices of the keys nobody has encoded or is encoding, the first of each, and returns their
        rows: in one call, or a few when rows turn out damaged or another process gave up. They are stored together;
        a row with a number that is not finite is returned but not stored. A fault of `encode` goes on to the caller,
        and the keys are free for others.

        Raises `Unfinished` when the disk is full or fails. A claim holds `LEASE` seconds: calls with more work than
        that are better made in parts.
        """
        if os.getpid() != self._pid:
            raise RuntimeError(f"cache: {self.path} is closed here, or was opened by another process")
        number = {key: index for index, key in enumerate(dict.fromkeys(keys))}
        first = {key: index for index, key in reversed(list(enumerate(keys)))}
        rows: dict[str, bytes] = {}
        fresh: dict[str, bytes] = {}  # those encoded here
        size: int | None = None  # bytes of a row, once known
        try:
            while absent := [key for key in number if key not in rows]:
                claims = self._claim(absent, size)
                rows |= claims.rows
                if claims.mine:
                    table = np.asarray(encode([first[key] for key in claims.mine]), dtype="<f4")
                    fresh |= self._store(claims.mine, table, size if fresh else None)
                    rows |= fresh
                if claims.others:
                    self._wait(claims)
                if fresh or len(rows) == len(number):  # what was encoded just now says the dimension, else most rows
                    size = Counter(map(len, (fresh or rows).values())).most_common(1)[0][0]
                    rows = {key: value for key, value in rows.items() if len(value) == size}
        except BaseException:
            self._release()
            raise
        self._seen.clear()
        self.found += len(number) - len(fresh)
        table = np.frombuffer(b"".join(rows[key] for key in number), "<f4").reshape(len(number), (size or 0) // 4)
        return table[[number[key] for key in keys]].astype(np.float32, copy=False)

    def _claim(self, keys: list[str], size: int | None) -> _Claims:
        """Read the sound rows; set the damaged ones aside; claim the keys that have no row and no owner to wait for."""

        def read(db: sqlite3.Connection) -> dict[str, bytes]:
            return {key: row for key in keys if isinstance(row := _row(db, key, size), bytes)}

        def claim(db: sqlite3.Connection) -> _Claims:
            claims = _Claims(dict(rows))
            gone = cache(_is_gone)  # once an owner
            for key in absent:
                row = _row(db, key, size)
                if isinstance(row, bytes):
                    claims.rows[key] = row
                    continue
                if row is not None:
                    db.execute(SET_ASIDE, (row, key))
                    db.execute("DELETE FROM vectors WHERE key = ?", (key,))
                    claims.damaged += 1
                held = db.execute("SELECT owner FROM claims WHERE key = ?", (key,)).fetchone()
                if held is not None:
                    owner = str(held[0])
                    end = self._seen.setdefault((key, owner), monotonic()) + LEASE
                    # Our own are left over from a call that could not release them.
                    if owner != self._owner and not gone(owner) and monotonic() < end:
                        claims.others.add(owner)
                        claims.until = min(claims.until, end)
                        continue
                db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?)", (key, self._owner))
                claims.mine.append(key)
            claims.state = self._state(db)
            return claims

        rows = self._run("BEGIN", read)  # a warm call writes nothing and waits for nobody
        if not (absent := [key for key in keys if key not in rows]):
            return _Claims(rows)
        claims = self._run("BEGIN IMMEDIATE", claim, ROW_EXTRA * len(absent))
        self.set_aside += claims.damaged
        return claims

    def _store(self, keys: list[str], table: npt.NDArray[np.float32], size: int | None) -> dict[str, bytes]:
        """Store the finite rows, drop the claims on all of them, and return them all."""

        def work(db: sqlite3.Connection) -> None:
            finite = [keys[index] for index in np.flatnonzero(np.isfinite(table).all(axis=1))]
            entries = ((key, rows[key], _digest(key, rows[key])) for key in finite)
            db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", entries)
            db.executemany("DELETE FROM claims WHERE key = ? AND owner = ?", ((key, self._owner) for key in keys))

        if table.ndim != 2 or len(table) != len(keys) or size not in (None, 4 * table.shape[1]):
            shape = f"({len(keys)}, {'D' if size is None else size // 4})"
            raise SgevalError(f"encode: expected the shape {shape}, got {table.shape}")
        rows = {key: row.tobytes() for key, row in zip(keys, table)}
        self.encoded += len(rows)
        self._run("BEGIN IMMEDIATE", work, table.nbytes + ROW_EXTRA * len(rows))
        return rows

    def _release(self) -> None:
        """Drop this cache's claims, if the file lets us: those of a process that ended are taken over anyway."""
        with suppress(sqlite3.Error):
            if self._db.execute("SELECT 1 FROM claims WHERE owner = ?", (self._owner,)).fetchone():
                _patiently(lambda: self._db.execute("DELETE FROM claims WHERE owner = ?", (self._owner,)))

    def _wait(self, claims: _Claims) -> None:
        """Return when another process has stored or released something, is gone, or has held a claim too long."""
        while True:
            sleep(POLL)
            changed = self._run("BEGIN", self._state) != claims.state
            if changed or monotonic() >= claims.until or any(map(_is_gone, claims.others)):
                return

    def _state(self, db: sqlite3.Connection) -> object:
        """A value that changes when another connection has written, or when the file is another one."""
        return self._inode, db.execute("PRAGMA data_version").fetchone()[0]

    def _run(self, begin: str, work: Callable[[sqlite3.Connection], T], needs: int = 0, tries: int = TRIES) -> T:
        """Do `work` in one transaction: again if the database was locked, and on a fresh file if it was corrupt.

        `work` leaves nothing behind but its result, so that it can be done again. `needs` is the room it takes, bytes.
        """

        def attempt() -> T:
            with self._db as db:
                db.execute(begin)
                return work(db)

        if _inode(self.path) != self._inode:  # another process set it aside
            self._open()
        try:
            return _patiently(attempt)
        except sqlite3.ProgrammingError:  # another thread, or closed
            raise
        except DAMAGE as fault:
            if not CORRUPT.search(str(fault)) or not tries:
                raise _fault(self.path, fault, needs) from None
            self._open(corrupt=fault)
        return self._run(begin, work, needs, tries - 1)

    def _open(self, corrupt: Exception | None = None) -> None:
        """Open the file, or a fresh one. A corrupt one is set aside, unless another process was faster."""
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(bytes(PAGE))
            # SQLite's own lock, on a database that stays empty, works wherever the cache does.
            with closing(sqlite3.connect(folder / GATE, timeout=TICK, isolation_level=None)) as gate:
                _patiently(lambda: gate.execute("BEGIN EXCLUSIVE"))
                if corrupt is not None and _inode(self.path) == self._inode:
                    _move_aside(self.path, corrupt)
                self._db.close()  # after the move, which keeps SQLite from tidying the log away
                try:
                    self._db = _patiently(lambda: _connect(self.path))
                except DAMAGE as fault:
                    if not CORRUPT.search(str(fault)):
                        raise
                    _move_aside(self.path, fault)
                    self._db = _patiently(lambda: _connect(self.path))
                self._inode = _inode(self.path)
        except (OSError, sqlite3.Error) as fault:
            raise _fault(self.path, fault, 8 * PAGE, opening=True) from None


def _digest(*parts: str | bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def _row(db: sqlite3.Connection, key: str, size: int | None) -> bytes | str | None:
    """The value of a key, or what is wrong with it, or None if there is no row."""
    row = db.execute("SELECT value, digest FROM vectors WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    value, digest = row
    if not isinstance(value, bytes) or digest != _digest(key, value):
        return "digest"
    if len(value) % 4:
        return "length"
    return value if size in (None, len(value)) else "dimension"


def _patiently(work: Callable[[], T]) -> T:
    """Do `work` again while the database is locked, for `BUSY` seconds."""
    end = monotonic() + BUSY
    while True:
        try:
            return work()
        except sqlite3.OperationalError as fault:
            if "locked" not in str(fault) or monotonic() >= end:
                raise
        sleep(POLL)


def _connect(path: Path) -> sqlite3.Connection:
    """Open a cache file, made if need be. Another program's file is not touched."""
    if _inode(path) is not None and path.stat().st_size > 1:  # to SQLite, a file of one byte is empty too
        # Not by open(): closing a file drops all locks a process has on it. `immutable` leaves a stranger's log alone.
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            names = ("application_id", "user_version")
            program, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        if (program, version) != (APPLICATION_ID, VERSION):
            newer = f"version {version}{', of a newer sgeval' if version > VERSION else ''}"
            got = newer if program == APPLICATION_ID else "another program's database"
            raise SgevalError(one_line(f"cache: {path}: expected a cache of sgeval, version {VERSION}, got {got}"))
    db = sqlite3.connect(path, timeout=TICK, isolation_level=None)
    try:
        db.text_factory = lambda data: data.decode("utf-8", "replace")  # damaged text is data to check, not a fault
        db.execute(f"PRAGMA page_size = {PAGE}")
        with db:
            db.execute("BEGIN IMMEDIATE")  # fails where the file cannot be written
            if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                for statement in TABLES:
                    db.execute(statement)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost the newest rows, which are encoded again
        db.execute(f"PRAGMA journal_size_limit = {LOG_LIMIT}")
    except BaseException:
        db.close()
        raise
    return db


def _inode(path: Path) -> tuple[int, int] | None:
    with suppress(OSError):
        return (status := path.stat()).st_dev, status.st_ino
    return None


def _move_aside(path: Path, fault: Exception) -> None:
    """Set a corrupt file aside and warn of it."""
    name = set_aside(path)
    words = f"cache: {path} is corrupt ({fault}); it is now {name}, and a fresh one takes its place"
    warnings.warn(one_line(words), stacklevel=2)


def _fault(path: Path, fault: Exception, needs: int, *, opening: bool = False) -> SgevalError:
    """What to raise when SQLite or the system refuses. A full or locked disk cache is for later, also at opening."""
    reason = (fault.strerror if isinstance(fault, OSError) else None) or str(fault)
    full = "is full" in reason or getattr(fault, "errno", None) == errno.ENOSPC
    if opening and not full and "locked" not in reason:
        return SgevalError(one_line(f"cache: {path.parent} cannot be written ({reason})"))
    room = f"; needs about {needs} bytes" if full or "I/O" in reason else ""
    return Unfinished(one_line(f"cache: {path}: {reason}{room}"))


def _is_gone(owner: str) -> bool:
    """Whether the process that wrote a claim has ended. False where that cannot be seen from here."""
    try:
        host, pid, start, _ = json.loads(owner)
        now = _start(pid) if host == _host() else start
    except (ValueError, TypeError, OverflowError):  # nobody's name
        return True
    return now is None or (now != start and "" not in (now, start))


def _host() -> str:
    """Where a process number means one process: the machine and, in containers, the namespace."""
    with suppress(OSError):
        return f"{platform.node()} {Path('/proc/self/ns/pid').readlink()}"
    return platform.node()


def _start(pid: int) -> str | None:
    """When a process started: the machine's start and ticks since; None if it has ended, empty if we are not told."""
    if os.name != "posix":
        return ""
    try:
        os.kill(pid, 0)
        state, *fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except ProcessLookupError:
        return None
    except OSError:  # another user's process, or a system without /proc
        return ""
    return None if state in (b"Z", b"X") else f"{boot} {fields[18].decode()}"
