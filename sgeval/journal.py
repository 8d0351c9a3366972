"""The journal of a run: each batch that is done, committed whole, so that a run can stop anywhere and go on from there.

One SQLite file in the run folder, held by one process at a time. A batch that was committed is read again only when the
digest of its work is still the same; everything else is done anew.
"""

import errno
import hashlib
import json
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sgeval.errors import SgevalError, Unfinished, one_line
from sgeval.files import set_aside

APPLICATION = 0x53474A4C  # "SGJL"
FORMAT = 1
SHOWN = 80  # characters of a value in a message
NEEDED = "; about {:,} bytes are needed"

_TABLES = """
CREATE TABLE IF NOT EXISTS identity (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS batches (
    kind TEXT NOT NULL, number INTEGER NOT NULL, digest TEXT NOT NULL, payload BLOB NOT NULL, check_sum TEXT NOT NULL,
    PRIMARY KEY (kind, number)
);
"""


class Journal:
    """Opens or goes on with the journal at `path`.

    `identity` names everything that makes the run what it is (inputs, options, signature). With `resume`, a journal of
    another identity is an error that names the first difference; without it, an old journal is emptied.

    Raises `SgevalError` when the file cannot be written, belongs to a newer version or is held by another process, and
    `Unfinished` when a commit finds no room.
    """

    def __init__(self, path: Path, identity: Mapping[str, str], *, resume: bool) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = self._open()
        except (OSError, sqlite3.OperationalError) as fault:
            kind = Unfinished if is_full(fault) else SgevalError
            raise kind(f"{path}: {_words(fault)}{NEEDED.format(65_536) if is_full(fault) else ''}") from None
        if not resume:
            with self._room(0), self._base:
                self._base.execute("DELETE FROM identity")
                self._base.execute("DELETE FROM batches")
        self._check(identity)

    def get(self, kind: str, number: int, digest: str) -> bytes | None:
        """The payload of a committed batch; nothing when there is none, or none of this digest."""
        question = "SELECT payload, check_sum FROM batches WHERE kind = ? AND number = ? AND digest = ?"
        try:
            found = self._base.execute(question, (kind, number, digest)).fetchone()
        except sqlite3.DatabaseError:  # damaged beneath us: done anew
            return None
        return found[0] if found and found[1] == _sum(found[0]) else None

    def put(self, kind: str, number: int, digest: str, payload: bytes) -> None:
        """Commit a batch: on disk when this returns."""
        with self._room(len(payload)), self._base:
            self._base.execute(
                "INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?, ?)",
                (kind, number, digest, payload, _sum(payload)),
            )

    def close(self) -> None:
        """Let go of the file; it stays for a later run."""
        self._base.close()

    def finish(self) -> None:
        """Delete the file, while nobody else can take it: the run is complete."""
        for ending in ("", "-journal"):
            Path(f"{self.path}{ending}").unlink(missing_ok=True)
        self.close()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as fault:
            name = set_aside(self.path)
            warnings.warn(f"{self.path}: not a journal ({fault}); kept as {name}, starting anew", stacklevel=4)
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        base = sqlite3.connect(self.path, timeout=1, isolation_level="IMMEDIATE")
        try:
            # One writer, perhaps on a network disk: a rollback journal, flushed at each commit, and the lock kept.
            base.execute("PRAGMA locking_mode = EXCLUSIVE")
            base.execute("PRAGMA journal_mode = DELETE")
            base.execute("PRAGMA synchronous = FULL")
            application = base.execute("PRAGMA application_id").fetchone()[0]
            version = base.execute("PRAGMA user_version").fetchone()[0]
            is_new = application == 0 and base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            if application != APPLICATION and not is_new:
                raise sqlite3.DatabaseError("made by another program")
            if version > FORMAT:
                raise SgevalError(f"{self.path}: expected a journal of format {FORMAT}, got {version}, a newer one")
            with base:
                base.execute("BEGIN EXCLUSIVE")
                base.execute(f"PRAGMA application_id = {APPLICATION}")
                base.execute(f"PRAGMA user_version = {FORMAT}")
                for statement in _TABLES.split(";"):
                    base.execute(statement)
            if base.execute("PRAGMA quick_check").fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("damaged")
        except BaseException:
            base.close()
            raise
        return base

    def _check(self, identity: Mapping[str, str]) -> None:
        stored = dict(self._base.execute("SELECT name, value FROM identity"))
        if not stored:
            with self._room(len(json.dumps(dict(identity)))), self._base:
                self._base.executemany("INSERT INTO identity VALUES (?, ?)", list(identity.items()))
            return
        for name in {**stored, **identity}:
            before, now = stored.get(name), identity.get(name)
            if before != now:
                self.close()
                raise SgevalError(
                    f"{self.path.parent}: the unfinished run has {name} {_told(before)}, this one {_told(now)}; "
                    "resume with the same inputs and options, or start again with --overwrite"
                )

    @contextmanager
    def _room(self, size: int) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as fault:
            raise Unfinished(f"{self.path}: {_words(fault)}{NEEDED.format(2 * size + 65_536)}") from None


OpenJournal = Callable[[str], Journal]
"""Opens the journal of a run by its signature."""


def _told(value: str | None) -> str:
    """A value of the identity, which is JSON or one of the caller's own words, as a message shows it."""
    return "nothing" if value is None else one_line(value if len(value) <= SHOWN else value[: SHOWN - 1] + "…")


def is_full(fault: Exception) -> bool:
    """Whether a disk or a quota is full, in the words of SQLite or of the system."""
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return (isinstance(fault, OSError) and fault.errno in full) or any(
        word in str(fault) for word in ("full", "disk I/O")
    )


def _sum(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def _words(fault: Exception) -> str:
    text = str(fault)
    if is_full(fault):
        return f"cannot be written, the disk or a quota may be full ({text})"
    if "locked" in text:
        return "another process is working on this run"
    if isinstance(fault, OSError):
        return f"cannot be written ({fault.strerror or text})"
    return f"cannot be written ({text})"
