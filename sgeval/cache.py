"""A disk cache of embeddings that several processes share, each key encoded by one of them.

A row holds the numbers of a key as raw little-endian float32; `sgeval.shared_rows` keeps the rows.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sgeval.errors import SgevalError
from sgeval.shared_rows import Claims, Form, SharedRows

# 7 rows of 512 numbers fit in a page of 16384 bytes, where the usual 4096 hold one and a gap. A power cut may cost the
# newest rows, which are encoded again.
FORM = Form("embeddings", b"sgEm", 1, "vectors", page=16384, synchronous="NORMAL")

Encode = Callable[[list[int]], npt.NDArray[np.float32]]


class EmbeddingCache:
    """Embeddings by key, in `FOLDER/embeddings.sqlite`; the folder is made. For the process and thread that opened it.

    `found`, `encoded` and `set_aside` count keys since opening, a key once a call: rows that were there or came from
    another process, rows encoded here, and rows that failed their check.

    Raises `SgevalError` when the folder cannot be written or the file is a newer version's or another program's. A
    corrupt file is set aside with a warning.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, EmbeddingCache(folder) as cache:
    ...     rows = cache.fetch(["b", "a", "b"], lambda indices: np.array([[i, 0.5] for i in indices]))
    ...     again = cache.fetch(["a"], lambda indices: np.array([[9, 9]]))
    >>> rows.tolist(), again.tolist(), cache.encoded, cache.found
    ([[0.0, 0.5], [1.0, 0.5], [0.0, 0.5]], [[1.0, 0.5]], 2, 1)
    """

    def __init__(self, folder: str | Path) -> None:
        self._rows = SharedRows(folder, FORM)
        self.path = self._rows.path
        self.found = self.encoded = self.set_aside = 0

    def __enter__(self) -> "EmbeddingCache":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back. A closed cache stays closed."""
        self._rows.close()

    def fetch(self, keys: Sequence[str], encode: Encode) -> npt.NDArray[np.float32]:
        """The rows (N, D) of N keys, in their order; (0, 0) of none.

        `encode` gets the indices of the keys nobody has encoded or is encoding, the first of each, and returns their
        rows: in one call, or a few when rows turn out damaged or another process gave up. They are stored together;
        a row with a number that is not finite is returned but not stored. A fault of `encode` goes on to the caller,
        and the keys are free for others.

        Raises `Unfinished` when the disk is full or fails. A claim holds `LEASE` seconds: calls with more work than
        that are better made in parts.
        """
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
                    self._rows.wait(claims)
                if fresh or len(rows) == len(number):  # what was encoded just now says the dimension, else most rows
                    size = Counter(map(len, (fresh or rows).values())).most_common(1)[0][0]
                    rows = {key: value for key, value in rows.items() if len(value) == size}
        except BaseException:
            self._rows.release()
            raise
        self._rows.forget_others()
        self.found += len(number) - len(fresh)
        table = np.frombuffer(b"".join(rows[key] for key in number), "<f4").reshape(len(number), (size or 0) // 4)
        return table[[number[key] for key in keys]].astype(np.float32, copy=False)

    def _claim(self, keys: list[str], size: int | None) -> Claims:
        def fault(value: bytes) -> str:
            if len(value) % 4:
                return "length"
            return "" if size in (None, len(value)) else "dimension"

        claims = self._rows.claim(keys, fault)
        self.set_aside += claims.damaged
        return claims

    def _store(self, keys: list[str], table: npt.NDArray[np.float32], size: int | None) -> dict[str, bytes]:
        """Store the finite rows, drop the claims on all of them, and return them all."""
        if table.ndim != 2 or len(table) != len(keys) or size not in (None, 4 * table.shape[1]):
            shape = f"({len(keys)}, {'D' if size is None else size // 4})"
            raise SgevalError(f"encode: expected the shape {shape}, got {table.shape}")
        rows = {key: row.tobytes() for key, row in zip(keys, table)}
        self.encoded += len(rows)
        finite = [keys[index] for index in np.flatnonzero(np.isfinite(table).all(axis=1))]
        self._rows.store({key: rows[key] for key in finite}, keys)
        return rows
