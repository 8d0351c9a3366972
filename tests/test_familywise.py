"""Differences to a best system that was picked from the same scores: p-values adjusted for all pairs."""

import itertools

import numpy as np
import pytest

from benchmarks.statistics.simulate import FIELDS, several
from sgeval.familywise import Family, adjusted
from sgeval.summary import Sample, paired


def samples(numerators, denominators=None):
    units = tuple(map(str, range(len(numerators[0]))))
    ones = np.ones(len(units))
    return [
        Sample(
            units, {"x": (np.asarray(row, float), ones if denominators is None else np.asarray(denominators, float))}
        )
        for row in numerators
    ]


def exact(rows, base, is_picked):
    """Slow reference: for each system all turns of signs, with each pair's T anew; from the largest T down."""

    def t_of(signs, one, other):
        gaps = [a - b for a, b in zip(rows[one], rows[other], strict=True)]
        size = sum(gap * gap for gap in gaps) ** 0.5
        return abs(sum(sign * gap for sign, gap in zip(signs, gaps, strict=True))) / size

    n = len(rows[0])
    found, least = [1.0] * len(rows), 0.0
    left = sorted({*range(len(rows))} - {base}, key=lambda at: -t_of([1] * n, base, at))
    while left:
        seen = t_of([1] * n, base, left[0])
        pairs = [pair for pair in itertools.combinations([base, *left], 2) if is_picked or base in pair]
        turns = itertools.product((1, -1), repeat=n)
        least = max(least, sum(max(t_of(signs, *pair) for pair in pairs) >= seen - 1e-12 for signs in turns) / 2**n)
        found[left.pop(0)] = least
    return found


def test_by_hand():
    """Differences of the first to the others: (1, 1, 1, 1) and (1, 1, 0, 0); of these two: (0, 0, 1, 1). T: 4/2, 2/√2, 2/√2.
    2 of the 16 turns of signs give the first pair 2, and no other reaches it. Then the first two are left, whose T is
    √2 in half of the turns."""
    systems = samples([[1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 1, 1]])
    found = adjusted([Family(systems, "x", 0, True)], 20_000)[0]
    assert found == pytest.approx([1.0, 2 / 16, 1 / 2], abs=0.018)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_picked", [True, False])
def test_against_all_turns(seed, is_picked):
    """Four systems on nine units, within five standard errors."""
    rng = np.random.default_rng(seed)
    rows = rng.random((4, 9)) + np.array([[0.4], [0.0], [0.2], [0.0]])
    base = int(rows.sum(axis=1).argmax())
    found = adjusted([Family(samples(rows), "x", base, is_picked)], 20_000)[0]
    assert found == pytest.approx(exact(rows.tolist(), base, is_picked), abs=0.018)


def test_two_systems_are_tested_as_ever():
    """One pair: the same flips, the same p."""
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 9, size=40)
    one, other = samples([rng.binomial(counts, 0.6), rng.binomial(counts, 0.5)], counts)
    plain = paired(one, other, ["x"], replicates=2)["x"].p_value
    assert adjusted([Family([one, other], "x", 0, True)])[0] == [1.0, pytest.approx(plain)] and plain < 1


def test_a_system_that_is_no_rival_costs_little():
    """A copy but for rounding is no test, and moves nothing."""
    rng = np.random.default_rng(6)
    rows = [rng.random(30) + 0.2, rng.random(30), rng.random(30)]
    before = adjusted([Family(samples(rows), "x", 0, True)])[0]
    after = adjusted([Family(samples([*rows, rows[0] + 1e-9]), "x", 0, True)])[0]
    assert after == [*before, 1.0]


def test_families_are_taken_together():
    """Two scores: no p is below that of its own family."""
    rng = np.random.default_rng(7)
    families = [Family(samples([rng.random(25) + 0.2, rng.random(25), rng.random(25)]), "x", 0, True) for _ in (0, 1)]
    alone = [adjusted([family])[0] for family in families]
    together = adjusted(families)
    assert all(both >= one for sides in zip(together, alone, strict=True) for both, one in zip(*sides, strict=True))
    assert together != alone


def test_undefined_on_units_and_parts():
    """A mean over classes, one of them only in the first, and a unit that one lacks: the p of the pair, within four standard
    errors of its exchanges (which the shares follow to first order)."""
    rng = np.random.default_rng(8)
    n = 60
    of = (rng.random(n) < 0.7).astype(float)
    ratios = {"p": (of * (rng.random(n) < 0.7), of), "q": ((rng.random(n) < 0.6).astype(float), np.ones(n))}
    units = tuple(map(str, range(n)))
    one = Sample(units, ratios, {"m": ("p", "q")}, 100.0)
    other = Sample(
        units[1:],
        {"p": (ratios["p"][0][1:] * (rng.random(n - 1) < 0.6), of[1:]), "q": (ratios["q"][0][1:], np.ones(n - 1))},
        {"m": ("p", "q")},
        100.0,
    )
    plain = paired(one, other, ["m"], replicates=2)["m"].p_value
    assert adjusted([Family([one, other], "m", 0, True)])[0][1] == pytest.approx(plain, abs=0.02)


def test_false_alarms_of_ten_equal_systems():
    """Of 200 test sets some equal system is told apart from the best in 5 % at most, within three standard errors, 3 ·
    sqrt(0.05 · 0.95 / 200) = 4.6 points; after Holm's adjustment for nine tests in more. benchmarks/statistics has more."""
    found = several(FIELDS[0], 10, 40, 200, flips=200)
    assert found.false_alarms <= 0.05 + 0.046 < found.false_alarms_holm
