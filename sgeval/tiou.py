"""Temporal IoU ("paper 2", arXiv 2602.23543) of sets of spans, vectorised over pairs.

A set of spans is the union of half-open intervals of seconds: order, repeats and overlaps do not matter, spans that touch
are one. With |X| for total length,

    tIoU(A, B) = |A ∩ B| / |A ∪ B|,   from 0 to 1, higher is better.

Where both unions have no length at all there is nothing to divide by: sets of the same instants count as 1, all others,
also a set without spans, as 0. Beside a span with length an instant adds nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ROUNDING = 1e-9  # relative; what seconds lose on their way from frames, forgiven at the threshold
Spans = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class SpanSets:
    """Many sets of spans, flat: `bounds` `(S, 2)`, start and end in seconds, and `owners` `(S,)`, which set each is of, in
    rising order; `n` sets, some of which may be empty."""

    bounds: Floats
    owners: Ints
    n: int

    @classmethod
    def of(cls, sets: Sequence[Spans]) -> "SpanSets":
        """From lists of `(start, end)`.

        >>> SpanSets.of([[(0.0, 2.0)], [], [(1.0, 2.0), (4.0, 5.0)]]).owners.tolist()
        [0, 2, 2]
        """
        sizes = [len(spans) for spans in sets]
        flat = [span for spans in sets for span in spans]
        bounds = np.array(flat, dtype=np.float64).reshape(-1, 2)
        return cls(bounds, np.repeat(np.arange(len(sets)), sizes), len(sets))

    def take(self, chosen: Ints) -> "SpanSets":
        """The sets at these positions, in this order, repeats included."""
        starts = np.searchsorted(self.owners, chosen, "left")
        sizes = np.searchsorted(self.owners, chosen, "right") - starts
        return SpanSets(self.bounds[_ranges(starts, sizes)], np.repeat(np.arange(len(chosen)), sizes), len(chosen))

    def sizes(self) -> Ints:
        """Spans of each set, `(n,)`."""
        return np.asarray(np.bincount(self.owners, minlength=self.n))

    def lengths(self) -> Floats:
        """Sum of the spans' lengths, `(n,)` in seconds: of a union its total length."""
        return _sums(self.bounds[:, 1] - self.bounds[:, 0], self.owners, self.n)


def union(sets: SpanSets) -> SpanSets:
    """Each set as disjoint spans in rising order: those that touch or overlap become one; without length (or inverted)
    they go.

    >>> union(SpanSets.of([[(3.0, 5.0), (0.0, 4.0), (5.0, 6.0), (9.0, 9.0)]])).bounds.tolist()
    [[0.0, 6.0]]
    """
    forward = sets.bounds[:, 0] < sets.bounds[:, 1]
    if not forward.all():
        sets = SpanSets(sets.bounds[forward], sets.owners[forward], sets.n)
    if not np.any(sets.owners[1:] == sets.owners[:-1]):  # one span each: nothing to merge
        return sets
    starts, ends, owners = sets.bounds[:, 0], sets.bounds[:, 1], sets.owners
    order = np.lexsort((starts, owners))
    starts, ends, owners = starts[order], ends[order], owners[order]
    # The latest end so far within each set, on ranks: whole numbers, so that adding the set loses nothing.
    values, ranks = np.unique(ends, return_inverse=True)
    width = len(values)
    latest = np.maximum.accumulate(ranks + owners * width)
    is_new = np.ones(len(starts), dtype=bool)
    is_new[1:] = (owners[1:] != owners[:-1]) | (starts[1:] > values[latest[:-1] % width])
    first = np.flatnonzero(is_new)
    last = np.append(first[1:], len(starts)) - 1
    bounds = np.stack([starts[first], values[latest[last] % width]], axis=1)
    return SpanSets(bounds, owners[first], sets.n)


@dataclass(frozen=True)
class Overlap:
    """What pairs of sets share, each `(P,)`: seconds in both, seconds in either, and whether both are the same instants."""

    both: Floats
    either: Floats
    same_instants: Flags

    def tiou(self) -> Floats:
        """tIoU of each pair, 0–1."""
        ratio = np.divide(self.both, self.either, out=np.zeros_like(self.both), where=self.either > 0)
        return np.where(self.same_instants, 1.0, ratio)

    def above(self, threshold: float) -> Flags:
        """Whether tIoU is above the threshold. Exactly the threshold is not above it, whatever rounding made of it."""
        is_more = self.both > threshold * self.either * (1 + ROUNDING)
        return np.where(self.same_instants, threshold < 1, is_more & (self.either > 0))


def overlap(left: SpanSets, right: SpanSets) -> Overlap:
    """What the n-th set of `left` shares with the n-th of `right`.

    >>> overlap(SpanSets.of([[(0.0, 10.0)]]), SpanSets.of([[(0.0, 5.0)]])).tiou().tolist()  # half-open
    [0.5]
    >>> overlap(SpanSets.of([[(0.0, 11.0)]]), SpanSets.of([[(0.0, 6.0)]])).tiou().round(3).tolist()  # closed: ends count
    [0.545]
    """
    if left.n != right.n:
        raise ValueError(f"overlap: expected as many sets on both sides, got {left.n} and {right.n}")
    one, two = union(left), union(right)
    sizes = one.sizes(), two.sizes()
    total = one.lengths() + two.lengths()
    both = np.zeros(left.n)
    fewer, more = np.minimum(*sizes), np.maximum(*sizes)
    pairs = np.flatnonzero((fewer == 1) & (more == 1))
    both[pairs] = _of_pairs(*(side.bounds[np.searchsorted(side.owners, pairs)] for side in (one, two)))
    for chosen, count in ((np.flatnonzero((fewer == 1) & (more > 1)), _shared), (np.flatnonzero(fewer > 1), _both)):
        if len(chosen):
            both[chosen] = count(one.take(chosen), two.take(chosen))
    either = total - both
    return Overlap(both, either, (total == 0) & _same_instants(left, right, np.flatnonzero(total == 0)))


def _shared(one: SpanSets, two: SpanSets) -> Floats:
    """Seconds in both, where of each pair one side is a single span: that one against each of the other's."""
    sizes = one.sizes(), two.sizes()
    count = sizes[0] * sizes[1]
    starts = np.cumsum(sizes[0]) - sizes[0], np.cumsum(sizes[1]) - sizes[1]
    is_one = sizes[0] == 1
    first = np.where(is_one, starts[0], 0).repeat(count)
    second = np.where(is_one, 0, starts[1]).repeat(count)
    step = _ranges(np.zeros_like(count), count)
    many = is_one.repeat(count)
    a = one.bounds[np.where(many, first, starts[0].repeat(count) + step)]
    b = two.bounds[np.where(many, starts[1].repeat(count) + step, second)]
    return _sums(_of_pairs(a, b), np.repeat(np.arange(len(count)), count), len(count))


def _of_pairs(a: Floats, b: Floats) -> Floats:
    """Seconds in both of two spans, `(N, 2)` each."""
    return np.asarray(np.maximum(np.minimum(a[:, 1], b[:, 1]) - np.maximum(a[:, 0], b[:, 0]), 0.0))


def _both(one: SpanSets, two: SpanSets) -> Floats:
    """Seconds in both: |A| + |B| - |A ∪ B|, with one sort, however many spans there are."""
    owners = np.concatenate([one.owners, two.owners])
    order = np.argsort(owners, kind="stable")
    bounds = np.concatenate([one.bounds, two.bounds])[order]
    return one.lengths() + two.lengths() - union(SpanSets(bounds, owners[order], one.n)).lengths()


def _same_instants(left: SpanSets, right: SpanSets, chosen: Ints) -> Flags:
    """Of the chosen pairs, which have no length on either side: whether both are the same points of time, at least one."""
    found = np.zeros(left.n, dtype=bool)
    one, two = (_instants(sets.take(chosen)) for sets in (left, right))
    sizes = one.sizes()
    same = (sizes > 0) & (sizes == two.sizes())
    # As many on both sides, each in rising order: the n-th of one is held against the n-th of the other.
    beside = [side.bounds[same[side.owners], 0] for side in (one, two)]
    unlike = one.owners[same[one.owners]][beside[0] != beside[1]]
    same[unlike] = False
    found[chosen] = same
    return found


def _instants(sets: SpanSets) -> SpanSets:
    """The points of time of each set, in rising order, each once."""
    is_instant = sets.bounds[:, 0] == sets.bounds[:, 1]
    bounds, owners = sets.bounds[is_instant], sets.owners[is_instant]
    order = np.lexsort((bounds[:, 0], owners))
    bounds, owners = bounds[order], owners[order]
    is_new = np.ones(len(owners), dtype=bool)
    is_new[1:] = (owners[1:] != owners[:-1]) | (bounds[1:, 0] != bounds[:-1, 0])
    return SpanSets(bounds[is_new], owners[is_new], sets.n)


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """`starts[0] … starts[0] + sizes[0] - 1`, then those of the next, and so on."""
    ends = np.cumsum(sizes)
    return np.asarray(np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes))


def _sums(values: Floats, owners: Ints, n: int) -> Floats:
    return np.asarray(np.bincount(owners, values, n), dtype=np.float64)
