"""Whether the numbers in a VG150 file are those of its dictionary, by how common they are.

Nothing in the file says at which number classes begin. Moved by one, every label is the name of a neighbour, nothing fails,
and all scores look like chance. But the dictionary counts its names (`object_count`, `predicate_count`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgeval.errors import shown
from sgeval.readers import hdf5
from sgeval.readers.place import is_kind
from sgeval.readers.vg150 import DICTIONARY, find, read_dictionary, vg150_classes

if TYPE_CHECKING:
    import numpy as np

LEAST = 100
"""So many entries say what is common."""
COMMON = 5
"""How many names of the dictionary count as common: a part of the data may have another first."""
PLAINLY = 0.2
"""How much more of all entries must fit for others to be meant."""


def strange_numbers(data_dir: Path) -> Iterator[str]:
    """In a line each: labels or predicates of the h5 file that are plainly not those of the dictionary.

    They are where, moved by one up or down, they fit its counts far better, or where the commonest is none of its five
    commonest. What fits is the common part of both distributions, 0 to 1; far better is 0.2 more. Nothing is said of fewer
    than 100 entries, nor under a dictionary that does not count. Raises `SgevalError` as `read_vg150`.
    """
    found = find(data_dir)
    classes = vg150_classes(data_dir)
    _, whole = read_dictionary(found.dictionary)
    with hdf5.opened(found.h5) as root:
        arrays = {key: hdf5.whole_numbers(root, key, found.h5, (None, 1)) for key in ("labels", "predicates")}
    for key, names, counted in (
        ("labels", classes.categories, "object_count"),
        ("predicates", classes.predicates, "predicate_count"),
    ):
        counts = whole.get(counted)
        is_sound = isinstance(counts, dict) and all(is_kind(n, int) and n >= 0 for n in counts.values())
        if is_sound and sum(counts.values()) and len(arrays[key]) >= LEAST:
            for words in _strange(arrays[key], names, [counts.get(name, 0) for name in names]):
                yield f"{found.h5}: {key}: expected them as common as {DICTIONARY} counts them, {words}"


def _strange(numbers: "np.ndarray[Any, Any]", names: tuple[str, ...], counts: list[int]) -> Iterator[str]:
    import numpy as np

    values, times = np.unique(numbers, return_counts=True)
    order = np.argsort(counts)[::-1]
    commonest, most = int(values[times.argmax()]), int(times.max())
    wanted = np.array(counts) / sum(counts)
    shares = np.zeros(len(names) + 2)  # from 0, one below the first, to one above the last
    inside = (values >= 0) & (values <= len(names) + 1)
    shares[values[inside]] = times[inside] / len(numbers)
    fits = {step: float(np.minimum(wanted, shares[1 + step : 1 + step + len(names)]).sum()) for step in (0, 1, -1)}
    best = max(fits, key=lambda step: fits[step])
    name = names[commonest - 1] if 1 <= commonest <= len(names) else None
    got = f"{commonest} ({shown(name)}), {most:,} of {len(numbers):,}"
    told = f"{shown(names[order[0]])} ({order[0] + 1}) before all, got {got}"
    if fits[best] > fits[0] + PLAINLY:
        yield f"{told}; moved by one? {fits[0]:.0%} fit as they are, {fits[best]:.0%} {'less' if best > 0 else 'plus'} 1"
    elif name not in {names[position] for position in order[:COMMON]}:
        yield f"{told}; are they of another dictionary?"
