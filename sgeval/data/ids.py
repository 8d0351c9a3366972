"""What tells that two results are over the same records: a hash of their ids."""

import hashlib
from collections.abc import Iterable


def ids_hash(ids: Iterable[str]) -> str:
    """SHA-256 over ids, in 64 hex digits: equal for the same ids in whatever order, other for any other set of them.

    The ids, sorted by character, each followed by a line end, as UTF-8. So `LC_ALL=C sort ids.txt | sha256sum` gives the same
    for a file with one id a line. A backslash in an id is written as two and a line end as backslash and n, so that no two
    lists of ids read the same; a repeated id counts as often as it stands. Without ids it is the hash of nothing.

    >>> ids_hash(["2", "10"]) == ids_hash(["10", "2"]), ids_hash(["2", "10"])[:16]
    (True, 'eba7437651bd2dab')
    """
    digest = hashlib.sha256()
    for text in sorted(ids):
        digest.update(text.replace("\\", "\\\\").replace("\n", "\\n").encode() + b"\n")
    return digest.hexdigest()
