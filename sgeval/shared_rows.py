"""Rows of bytes that several processes share, each made by one of them.

One SQLite file a folder. A row holds a key, its value, and a digest over both. Who is about to make the row of a key leaves
a claim; the others wait for the row. Nothing that looks damaged is used, and nothing is deleted: rows move to a table
`set_aside`, files to a name beside their own.
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
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Literal, TypeVar

from sgeval.errors import SgevalError, Unfinished, one_line
from sgeval.files import set_aside

LEASE = 600  # seconds after which anyone's claim may be taken over
BUSY = 60  # seconds to wait for a locked database
TICK = 0.2  # seconds of that spent inside SQLite at a time, where Ctrl-C does not get through
POLL = 0.05  # seconds between two looks at a claim or a lock
LOG_LIMIT = 1 << 26  # bytes to which the write-ahead log shrinks after a large store
ROW_EXTRA = 300  # bytes of a row and its index entry beside the value, and of a claim
CORRUPT = re.compile("malformed|not a database|no such (table|column)|unsupported file format|codec can't decode|^$")
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)  # or no words (3.10), when SQLite's message quotes damaged text
TRIES = 3  # files set aside within one step before giving up

Fault = Callable[[bytes], str]
"""What is wrong with a value whose digest is right; empty when nothing is."""
T = TypeVar("T")


def cache_key(*parts: str | bytes) -> str:
    """SHA-256, in hex, over the parts and their lengths. Text counts as its UTF-8 bytes.

    >>> cache_key("ab", "c") == cache_key("a", "bc")
    False
    """
    return _digest(*parts).hex()


@dataclass(frozen=True)
class Form:
    """A kind of file: its name and mark, the table of its rows, and how SQLite keeps it.

    `synchronous="NORMAL"` may lose the newest rows when the power is cut, "FULL" none.
    """

    name: str
    mark: bytes  # four of them
    version: int
    table: str
    page: int
    synchronous: Literal["NORMAL", "FULL"]

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.name}.sqlite"

    @property
    def gate(self) -> str:
        """The name of a file that stays empty, and is held while the file is opened, made or set aside."""
        return f"{self.name}.lock"

    @property
    def application(self) -> int:
        """The mark as SQLite keeps it."""
        return int.from_bytes(self.mark, "big")


@dataclass
class Claims:
    """What came of claiming keys: rows stored meanwhile, keys now ours, owners of the others and until when."""

    rows: dict[str, bytes] = field(default_factory=dict)
    mine: list[str] = field(default_factory=list)
    others: set[str] = field(default_factory=set)
    until: float = float("inf")
    damaged: int = 0
    state: object = None


class SharedRows:
    """Rows by key in the file of a form; the folder is made. For the process and thread that opened it.

    Raises `SgevalError` when the folder cannot be written or the file is a newer version's or another program's. A
    corrupt file is set aside with a warning. Every step raises `Unfinished` when the disk is full or fails.
    """

    def __init__(self, folder: str | Path, form: Form) -> None:
        self.path = Path(folder).absolute() / form.file
        self._form = form
        self._pid = os.getpid()  # 0 once closed
        self._owner = json.dumps([_host(), self._pid, _start(self._pid), id(self)])
        self._seen: dict[tuple[str, str], float] = {}  # (key, owner) of a claim -> when it was first seen
        self._inode: tuple[int, int] | None = None
        self._db = sqlite3.connect(":memory:")  # until the file is open
        self._open()

    def close(self) -> None:
        """Give the file back. What is closed stays closed."""
        if os.getpid() == self._pid:
            self.release()
            self._db.close()
        self._pid = 0

    def claim(self, keys: Sequence[str], fault: Fault, also: Mapping[str, str] | None = None) -> Claims:
        """Read the sound rows; set the damaged ones aside; claim the keys that have no row and no owner to wait for.

        `also` names another key under which the row of a key may stand. A claim holds `LEASE` seconds.
        """
        others = {key: (name,) for key, name in (also or {}).items()}

        def claim(db: sqlite3.Connection) -> Claims:
            claims = Claims(dict(rows))
            gone = cache(_is_gone)  # once an owner
            for key in absent:
                looks = {name: self._row(db, name, fault) for name in (key, *others.get(key, ()))}
                if (row := next((look for look in looks.values() if isinstance(look, bytes)), None)) is not None:
                    claims.rows[key] = row
                    continue
                for name, look in looks.items():
                    if isinstance(look, str):
                        self._set_row_aside(db, name, look)
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

        rows = self.read(keys, fault, also)  # a warm call writes nothing and waits for nobody
        if not (absent := [key for key in keys if key not in rows]):
            return Claims(rows)
        return self._run("BEGIN IMMEDIATE", claim, ROW_EXTRA * len(absent))

    def read(self, keys: Sequence[str], fault: Fault, also: Mapping[str, str] | None = None) -> dict[str, bytes]:
        """The sound rows of the keys, or those under their other names."""
        if os.getpid() != self._pid:
            raise RuntimeError(f"cache: {self.path} is closed here, or was opened by another process")

        def work(db: sqlite3.Connection) -> dict[str, bytes]:
            rows = {key: row for key in keys if isinstance(row := self._row(db, key, fault), bytes)}
            others = {} if also is None else {key: also[key] for key in keys if key not in rows}
            more = {key: self._row(db, name, fault) for key, name in others.items()}
            return rows | {key: row for key, row in more.items() if isinstance(row, bytes)}

        return self._run("BEGIN", work)

    def forget_others(self) -> None:
        """Forget when claims of others were first seen: nobody waits for them any more."""
        self._seen.clear()

    def store(self, rows: Mapping[str, bytes], done: Iterable[str]) -> None:
        """Store rows, in place of those that are there, and drop the claims on the keys `done`; all of it or nothing."""
        keys = list(done)

        def work(db: sqlite3.Connection) -> None:
            self._insert(db, rows)
            self._drop(db, keys)

        self._run("BEGIN IMMEDIATE", work, _room(rows) + ROW_EXTRA * (len(keys) - len(rows)))

    def store_first(self, rows: Mapping[str, bytes], done: Iterable[str], fault: Fault) -> dict[str, bytes]:
        """Store rows where no sound one is, drop the claims on the keys `done`, and return those that were there."""
        keys = list(done)

        def work(db: sqlite3.Connection) -> dict[str, bytes]:
            there = {key: row for key in rows if isinstance(row := self._row(db, key, fault), bytes)}
            self._insert(db, {key: value for key, value in rows.items() if key not in there})
            self._drop(db, keys)
            return there

        return self._run("BEGIN IMMEDIATE", work, _room(rows))

    def release(self) -> None:
        """Drop our claims, if the file lets us: those of a process that ended are taken over anyway."""
        with suppress(sqlite3.Error):
            if self._db.execute("SELECT 1 FROM claims WHERE owner = ?", (self._owner,)).fetchone():
                _patiently(lambda: self._db.execute("DELETE FROM claims WHERE owner = ?", (self._owner,)))

    def has_changed(self, claims: Claims) -> bool:
        """Whether another process has stored or released something, is gone, or has held a claim too long."""
        changed = self._run("BEGIN", self._state) != claims.state
        return changed or monotonic() >= claims.until or any(map(_is_gone, claims.others))

    def wait(self, claims: Claims) -> None:
        """Return when that has happened."""
        sleep(POLL)
        while not self.has_changed(claims):
            sleep(POLL)

    def _row(self, db: sqlite3.Connection, key: str, fault: Fault) -> bytes | str | None:
        """The value of a key, or what is wrong with it, or None if there is no row."""
        row = db.execute(f"SELECT value, digest FROM {self._form.table} WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        value, digest = row
        if not isinstance(value, bytes) or digest != _digest(key, value):
            return "digest"
        return fault(value) or value

    def _insert(self, db: sqlite3.Connection, rows: Mapping[str, bytes]) -> None:
        entries = ((key, value, _digest(key, value)) for key, value in rows.items())
        db.executemany(f"INSERT OR REPLACE INTO {self._form.table} VALUES (?, ?, ?)", entries)

    def _drop(self, db: sqlite3.Connection, keys: Sequence[str]) -> None:
        db.executemany("DELETE FROM claims WHERE key = ? AND owner = ?", ((key, self._owner) for key in keys))

    def _set_row_aside(self, db: sqlite3.Connection, key: str, reason: str) -> None:
        table = self._form.table
        db.execute(f"INSERT INTO set_aside SELECT key, value, digest, ? FROM {table} WHERE key = ?", (reason, key))
        db.execute(f"DELETE FROM {table} WHERE key = ?", (key,))

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
        folder, form = self.path.parent, self._form
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(bytes(form.page))
            # SQLite's own lock, on a database that stays empty, works wherever the cache does.
            with closing(sqlite3.connect(folder / form.gate, timeout=TICK, isolation_level=None)) as gate:
                _patiently(lambda: gate.execute("BEGIN EXCLUSIVE"))
                if corrupt is not None and _inode(self.path) == self._inode:
                    _move_aside(self.path, corrupt)
                self._db.close()  # after the move, which keeps SQLite from tidying the log away
                try:
                    self._db = _patiently(lambda: _connect(self.path, form))
                except DAMAGE as fault:
                    if not CORRUPT.search(str(fault)):
                        raise
                    _move_aside(self.path, fault)
                    self._db = _patiently(lambda: _connect(self.path, form))
                self._inode = _inode(self.path)
        except (OSError, sqlite3.Error) as fault:
            raise _fault(self.path, fault, 8 * form.page, opening=True) from None


def _digest(*parts: str | bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()


def _room(rows: Mapping[str, bytes]) -> int:
    return sum(map(len, rows.values())) + ROW_EXTRA * len(rows)


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


def _connect(path: Path, form: Form) -> sqlite3.Connection:
    """Open a cache file, made if need be. Another program's file is not touched."""
    if _inode(path) is not None and path.stat().st_size > 1:  # to SQLite, a file of one byte is empty too
        # Not by open(): closing a file drops all locks a process has on it. `immutable` leaves a stranger's log alone.
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            names = ("application_id", "user_version")
            program, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        if (program, version) != (form.application, form.version):
            newer = f"version {version}{', of a newer sgeval' if version > form.version else ''}"
            got = newer if program == form.application else "another program's database"
            raise SgevalError(one_line(f"cache: {path}: expected a cache of sgeval, version {form.version}, got {got}"))
    db = sqlite3.connect(path, timeout=TICK, isolation_level=None)
    try:
        db.text_factory = lambda data: data.decode("utf-8", "replace")  # damaged text is data to check, not a fault
        db.execute(f"PRAGMA page_size = {form.page}")
        with db:
            db.execute("BEGIN IMMEDIATE")  # fails where the file cannot be written
            if db.execute("PRAGMA application_id").fetchone()[0] != form.application:
                for statement in _tables(form):
                    db.execute(statement)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {form.synchronous}")
        db.execute(f"PRAGMA journal_size_limit = {LOG_LIMIT}")
    except BaseException:
        db.close()
        raise
    return db


def _tables(form: Form) -> tuple[str, ...]:
    return (
        f"CREATE TABLE {form.table} (key TEXT PRIMARY KEY, value BLOB, digest BLOB)",
        "CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT) WITHOUT ROWID",
        "CREATE TABLE set_aside (key TEXT, value BLOB, digest BLOB, reason TEXT)",
        f"PRAGMA application_id = {form.application}",
        f"PRAGMA user_version = {form.version}",
    )


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
