"""Bounds of parts add up to a bound of the whole."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from certmix.ledger import Progress
from certmix.parts.account import Account, Part, summed


def part(share: float, bound: float, value: float) -> Part:
    return Part(np.arange(1), np.arange(1), share, bound, value)


def test_sums_are_rounded_down() -> None:
    """The sum is below the exact one, by no more than two roundings."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        bounds = (rng.normal(size=9) * 10.0 ** rng.uniform(-9, 9, size=9)).tolist()
        exact = sum(map(Fraction, bounds))
        found = summed(bounds)
        assert Fraction(found) < exact
        assert exact - Fraction(found) <= 2 * Fraction(math.ulp(found))


def test_a_part_without_clusterings_makes_the_whole_infeasible() -> None:
    """An infinite bound of one part is an infinite bound of the whole, whatever the others say."""
    assert summed([1.0, math.inf, -math.inf]) == math.inf


def test_the_gap_is_that_of_the_partition_and_that_of_the_parts() -> None:
    """Both add up to the whole gap; what a part does better alone belongs to the partition."""
    account = Account([part(5.0, 4.0, 5.0), part(6.0, 5.0, 5.5)])
    partition, inner = account.gaps(12.0)
    assert (partition, inner) == (1.5, 1.5)
    assert math.isclose(12.0 - account.bound, 3.0)
    assert "0 of 2 parts" in account.words(12.0)


def test_a_part_hears_of_better_bounds_only() -> None:
    """A new run on a part begins with a weaker bound; the best one stays."""
    one = part(5.0, 4.0, 5.0)
    for bound in (3.0, 4.5, 4.2):
        one.progressed(Progress(0.0, 0, 0, 5.0, bound))
    assert one.bound == 4.5


def test_without_a_partition_nothing_is_proved() -> None:
    """Objectives may be negative, so the empty sum is no bound."""
    assert Account([]).bound == -math.inf
