"""A process of its own for the tests of the cache. The row of key "k7" is (7, 7.5, -7), as in the tests."""

import os
import random
import sys
import time
from pathlib import Path


def rows(names):
    import numpy as np

    return np.array([[int(name[1:]), int(name[1:]) + 0.5, -int(name[1:])] for name in names], dtype=np.float32)


def share(folder, log, go):
    """Fetch 300 keys in an order of its own, 20 a call, from when the file `go` is there; log what is encoded here."""
    from sgeval.cache import EmbeddingCache

    keys = [f"k{number}" for number in range(300)]
    random.Random(log).shuffle(keys)
    Path(log).touch()
    while not Path(go).exists():
        time.sleep(0.005)
    with EmbeddingCache(folder) as cache, Path(log).open("a") as file:
        for start in range(0, 300, 20):
            part = keys[start : start + 20]

            def encode(indices, part=part):
                chosen = [part[index] for index in indices]
                file.write("".join(f"{name}\n" for name in chosen))
                time.sleep(0.02)
                return rows(chosen)

            assert cache.fetch(part, encode).tobytes() == rows(part).tobytes()
        assert cache.found + cache.encoded == 300 and cache.set_aside == 0


def hold(folder, *names):
    """Claim keys, say so, and never finish."""
    from sgeval.cache import EmbeddingCache

    def encode(indices):
        print("holding", flush=True)
        time.sleep(60)

    EmbeddingCache(folder).fetch(names, encode)


def leave(folder, *names):
    """Fetch keys, 10 a call, and end without closing the file: the write-ahead log stays."""
    from sgeval.cache import EmbeddingCache

    cache = EmbeddingCache(folder)
    for start in range(0, len(names), 10):
        part = names[start : start + 10]
        cache.fetch(part, lambda indices, part=part: rows([part[index] for index in indices]))
    os._exit(0)


def visit(folder, *names):
    """Fetch keys and close."""
    from sgeval.cache import EmbeddingCache

    with EmbeddingCache(folder) as cache:
        cache.fetch(names, lambda indices: rows([names[index] for index in indices]))


def full(folder):
    """Store 2000 rows of 512 numbers where no file may grow over 1 MB."""
    import resource

    import numpy as np

    from sgeval.cache import EmbeddingCache
    from sgeval.errors import Unfinished

    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
    with EmbeddingCache(folder) as cache:
        try:
            cache.fetch([str(n) for n in range(2000)], lambda indices: np.zeros((len(indices), 512), np.float32))
        except Unfinished as fault:
            print(fault)


if __name__ == "__main__":
    {"share": share, "hold": hold, "leave": leave, "visit": visit, "full": full}[sys.argv[1]](*sys.argv[2:])
