"""θ (eq. 7 of "paper 1", arXiv 2509.01209, Section 3.2) and what is measured beside it, as functions on arrays.

Each relation has a list of candidate predicates, one of them the truth. Scores come flat, `(S,)`: those of all relations
one after the other; `lengths` `(N,)` says how many each has (at least one), `truths` `(N,)` which of them is the truth.
Scores are finite. Values are fractions in 0–1, higher is better.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

NEAR = 1e-4  # scores closer than this change places with the precision of the hardware
TEMPERATURE = 100.0  # CLIP's logit scale, as the authors' script applies it


@dataclass(frozen=True)
class Places:
    """Where the truth of each relation stands among its candidates, each `(N,)`."""

    higher: Ints
    """Candidates with a higher score than the truth."""
    tied: Ints
    """Others with the same score."""
    near: Ints
    """Others whose score is closer than `NEAR`, the tied ones among them."""
    first_best: Ints
    """Position of the first best score once the truth is moved to the front of its list: 0 when nothing is above it."""
    softmax: Floats
    """Softmax of 100 x score over the candidates, at the truth."""

    def row(self, number: int) -> dict[str, Any]:
        """One relation's places as plain numbers, under their names."""
        return {item.name: getattr(self, item.name)[number].item() for item in fields(self)}


def places(scores: npt.ArrayLike, lengths: npt.ArrayLike, truths: npt.ArrayLike) -> Places:
    """Where each truth stands.

    >>> found = places([0.20, 0.10, 0.05, 0.90], [4], [0])
    >>> found.higher.tolist(), found.tied.tolist(), found.first_best.tolist()
    ([1], [0], [3])
    """
    flat, sizes = np.asarray(scores, dtype=np.float64), np.asarray(lengths, dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    chosen = starts + np.asarray(truths, dtype=np.int64)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    if not len(sizes):
        none = np.zeros(0, dtype=np.int64)
        return Places(none, none, none, none, np.zeros(0))

    def per_relation(holds: npt.NDArray[np.bool_]) -> Ints:
        return np.asarray(np.add.reduceat(holds.astype(np.int64), starts))

    beyond = flat - flat[chosen][owner]
    top = np.maximum.reduceat(flat, starts)
    position = np.arange(len(flat)) - starts[owner]
    first = np.minimum.reduceat(np.where(flat == top[owner], position, len(flat)), starts)
    in_front = np.where(first < chosen - starts, first + 1, first)
    weights = np.exp(TEMPERATURE * (flat - top[owner]))
    return Places(
        higher=per_relation(beyond > 0),
        tied=per_relation(beyond == 0) - 1,
        near=per_relation(np.abs(beyond) < NEAR) - 1,
        first_best=np.where(flat[chosen] == top, 0, in_front),
        softmax=weights[chosen] / np.add.reduceat(weights, starts),
    )


def theta(higher: npt.ArrayLike, tied: npt.ArrayLike, lengths: npt.ArrayLike) -> Floats:
    """Eq. 7: `θ = 1 − rank / |L|`, the rank of the truth 0-based, ties averaged; from 1/|L| (last) to 1 (first).

    >>> theta([1, 0, 0, 3], [0, 0, 2, 0], [4, 4, 4, 4]).tolist()  # the third shares the first three places: rank 1
    [0.75, 1.0, 0.75, 0.25]
    """
    rank = np.asarray(higher, dtype=np.float64) + np.asarray(tied, dtype=np.float64) / 2
    return 1.0 - rank / np.asarray(lengths, dtype=np.float64)


def precision(higher: npt.ArrayLike, tied: npt.ArrayLike) -> Floats:
    """1 where the truth is the best candidate, 1/n where it shares the top with n − 1 others, else 0 (Table 1's Prec).

    >>> precision([0, 0, 2], [0, 3, 0]).tolist()
    [1.0, 0.25, 0.0]
    """
    return np.where(np.asarray(higher) == 0, 1.0 / (1.0 + np.asarray(tied, dtype=np.float64)), 0.0)


def openvocsgg_theta(first_best: npt.ArrayLike, lengths: npt.ArrayLike) -> Floats:
    """What the authors' script computes: `1 − position of the best / |L|`, the truth at the front of its list.

    It looks at the winner and not at the truth: where the truth does not win, it is the place in the list of whatever
    does, which says nothing of the truth's rank. For comparison with Table 1 only.

    >>> openvocsgg_theta([3], [4]).tolist()
    [0.25]
    """
    return 1.0 - np.asarray(first_best, dtype=np.float64) / np.asarray(lengths, dtype=np.float64)


def openvocsgg_precision(first_best: npt.ArrayLike) -> Floats:
    """The script's Prec: 1 where the truth is best or shares the top, else 0."""
    return np.where(np.asarray(first_best) == 0, 1.0, 0.0)


def chance_theta(lengths: npt.ArrayLike) -> Floats:
    """What θ is on average when scores say nothing: `(|L| + 1) / (2 |L|)`, the mean of 1 − rank/|L| over all ranks.

    >>> chance_theta([1, 2, 5]).tolist()
    [1.0, 0.75, 0.6]
    """
    sizes = np.asarray(lengths, dtype=np.float64)
    return (sizes + 1.0) / (2.0 * sizes)


def wins(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """1 where the first score is higher, 1/2 where both are the same, else 0; NaN where one is not there.

    >>> wins([0.3, 0.2, 0.2], [0.2, 0.2, 0.3]).tolist()
    [1.0, 0.5, 0.0]
    """
    beyond = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return np.asarray((np.sign(beyond) + 1.0) / 2.0, dtype=np.float64)
