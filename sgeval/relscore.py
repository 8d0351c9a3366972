"""RelCLIPScore, equations 1 to 6 of "paper 1" (arXiv 2509.01209, Section 3.1), as functions on arrays.

Scores are fractions in 0–1, higher is better. Undefined is NaN here and `None` in results.
"""

import math
from collections.abc import Iterable
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Penalty = Literal["guarded", "bounded", "literal", "none"]

ALPHA = 1e-5  # the constant of eq. 3


def rel_score(similarity: npt.ArrayLike) -> Floats:
    """Eq. 1: `s = max(cos(c, t), 0)` of a union crop c and a triplet text t. No 2.5 rescale, unlike CLIPScore.

    >>> rel_score([0.31, -0.2]).tolist()
    [0.31, 0.0]
    """
    return np.maximum(np.asarray(similarity, dtype=np.float64), 0.0)


def image_mean(scores: npt.ArrayLike) -> float:
    """Eq. 2: `R2 = (1/k) Σ s`, the mean over the k scored triplets of an image; NaN (undefined) of none.

    >>> image_mean([0.25, 0.5]), image_mean([])
    (0.375, nan)
    """
    values = np.asarray(scores, dtype=np.float64)
    return math.fsum(values) / len(values) if len(values) else math.nan


def pair_scores(answers: Iterable[npt.ArrayLike], n_pairs: int) -> Floats:
    """The scores of the g annotated pairs of an image, `(g,)`: `mean(s)` of the distinct triplets predicted on a pair, in
    either direction, and 0 for a pair without one. Ours, not the paper's.

    `answers` has the scores (eq. 1) pair by pair, of those that were answered. Eq. 2 is then the mean over pairs, and k of
    eq. 3 is g: neither further predictions on a pair nor predictions elsewhere, nor keeping silent, can add to either.

    >>> pair_scores([[0.25, 0.75], [0.25]], 3).tolist()
    [0.5, 0.25, 0.0]
    >>> image_mean(pair_scores([[0.25, 0.75], [0.25]], 3)), image_mean(pair_scores([], 0))
    (0.25, nan)
    """
    found = np.zeros(n_pairs, dtype=np.float64)
    for place, scores in enumerate(answers):
        found[place] = image_mean(scores)
    return found


def possible_pairs(m: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Eq. 4: `p = m (m − 1) / 2`, the unordered pairs of m objects.

    >>> possible_pairs([2, 3, 11]).tolist()
    [1, 3, 55]
    """
    objects = np.asarray(m, dtype=np.int64)
    return objects * (objects - 1) // 2


def penalised(mean: npt.ArrayLike, p: npt.ArrayLike, k: npt.ArrayLike, penalty: Penalty = "guarded") -> Floats:
    """Eq. 3: `R3 = R2 / (ln(q) + 1e-5)` of the image mean R2 (eq. 2), p possible pairs and k scored triplets.

    The printed equation has q = p − k. It has no value at p − k ≤ 0 (reached when pairs carry both directions or
    several predicates), divides by 1e-5 alone at 1, and raises the mean at 2. Therefore:

    - `"guarded"`: q = max(p − k, 2): the printed equation at every p − k ≥ 2, its value at 2 below.
    - `"bounded"`: q = max(p − k, e): never above the mean.
    - `"literal"`: q = p − k as printed; NaN at p − k ≤ 0.
    - `"none"`: the mean itself, eq. 2.

    >>> [round(float(penalised(0.24, 6, k)), 3) for k in (1, 4, 5, 6)]  # ln 5, ln 2, ln 2, ln 2
    [0.149, 0.346, 0.346, 0.346]
    """
    value = np.asarray(mean, dtype=np.float64)
    if penalty == "none":
        return value
    left = np.asarray(p, dtype=np.float64) - np.asarray(k, dtype=np.float64)
    if penalty == "literal":
        left = np.where(left > 0, left, np.nan)
    else:
        left = np.maximum(left, 2.0 if penalty == "guarded" else np.e)
    return value / (np.log(left) + ALPHA)


def replaced(p: npt.ArrayLike, k: npt.ArrayLike, penalty: Penalty) -> npt.NDArray[np.bool_]:
    """Where the penalty does not use the printed p − k: the images counted as `n_guarded`."""
    left = np.asarray(p, dtype=np.int64) - np.asarray(k, dtype=np.int64)
    if penalty == "guarded":
        return left <= 1
    if penalty == "bounded":
        return left < np.e
    return np.zeros(left.shape, dtype=bool)


def harmonic_mean(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """`2ab / (a + b)`, 0 where both are 0.

    >>> harmonic_mean([0.24, 0.24, 0.24, 0.0], [1.0, 0.5, 0.0, 0.0]).round(3).tolist()
    [0.387, 0.324, 0.0, 0.0]
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    total = a + b
    return np.divide(2 * a * b, total, out=np.zeros_like(total), where=total != 0)


def ref_score(score: npt.ArrayLike, text_similarity: npt.ArrayLike) -> Floats:
    """Eq. 5 and 6: the harmonic mean of s (eq. 1) and `r = max(cos(t_ref, t_pred), 0)`.

    Eq. 5 is printed as `2sr / (s·r)`, which is the constant 2; the cited RefCLIPScore has the plus used here.
    """
    return harmonic_mean(score, rel_score(text_similarity))


def openvocsgg_ref_score(reference_similarity: npt.ArrayLike, text_similarity: npt.ArrayLike) -> Floats:
    """What the authors' script computes: `cos(crop, reference text)` against 100 x `cos(t_ref, t_pred)`.

    About twice the first number, so it says little about the prediction; for comparison with Tables 3–5 only.
    """
    return harmonic_mean(rel_score(reference_similarity), 100.0 * rel_score(text_similarity))
