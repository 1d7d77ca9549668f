"""Kernels of the bound for one dimension against exact fractions and brute force."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from certmix.kernels.line import (
    Ladder,
    Line,
    Potential,
    arc,
    cost_of,
    descend,
    half_scatter,
    potential_at,
    potential_of,
    running_sums,
    sweep,
)
from certmix.search.bounds.line import split_cells


def make_line(y: np.ndarray, precision: float = 1.0, smallest: int = 1, largest: int | None = None) -> Line:
    y = np.sort(y)
    n = len(y)
    x, sums = running_sums(y, y[n // 2])
    sizes = np.arange(n + 1)
    entropy = np.zeros(n + 1)
    entropy[1:] = -sizes[1:] * np.log(sizes[1:] / n)
    return Line(x, sums, entropy, precision, smallest, n if largest is None else largest)


def random_line(rng: np.random.Generator, n: int) -> Line:
    y = rng.normal(size=n) * rng.choice([0.5, 2.0, 6.0])
    if rng.random() < 0.3:
        y = np.round(y)
    if rng.random() < 0.3:
        y[0] *= 1e4
    return make_line(y, float(rng.choice([0.2, 1.0, 5.0])))


def random_cuts(rng: np.random.Generator, n: int, K: int) -> np.ndarray:
    return np.concatenate([[0], np.sort(rng.choice(np.arange(1, n), K - 1, replace=False)), [n]]).astype(
        np.int64
    )


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_scatter_is_accurate_where_plain_sums_are_not(offset):
    """Far from the reference, and with a large common offset, the scatter is right to the last digits."""
    rng = np.random.default_rng(0)
    y = np.sort(np.concatenate([rng.normal(size=30), 1e7 + rng.normal(size=30)]) + offset)
    line = make_line(y, precision=2.0)
    for i, j in [(0, 30), (30, 60), (35, 37), (10, 50), (40, 41)]:
        exact = [Fraction(v) for v in y[i:j]]
        mean = sum(exact) / len(exact)
        scatter = float(sum((v - mean) ** 2 for v in exact))
        assert half_scatter(i, j, line) == pytest.approx(scatter, rel=1e-14)


def test_potential_is_the_running_sum_of_least_costs():
    """The potential adds up the smallest parabola of every sample."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        n, K = int(rng.integers(6, 80)), int(rng.integers(1, 6))
        line = random_line(rng, n)
        potential = Potential(*potential_of(random_cuts(rng, n, K), line))
        costs = 0.5 * line.precision * (line.x[:, None] - potential.means) ** 2 + potential.slopes
        running = np.concatenate([[0.0], np.cumsum(costs.min(axis=1))])
        found = [potential_at(c, line, potential) for c in range(n + 1)]
        np.testing.assert_allclose(found, running, rtol=1e-10, atol=1e-10)
        assert np.all(costs.min(axis=1) + potential.shift >= -1e-12)


def test_an_arc_is_below_every_cluster_between_its_cells():
    """The bound of an arc holds for all starts and ends in its cells, and is exact for single positions."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        n, K = int(rng.integers(6, 40)), int(rng.integers(1, 5))
        line = random_line(rng, n)
        if rng.random() < 0.3:
            line = line._replace(smallest=int(rng.integers(1, 4)), largest=int(rng.integers(4, n + 1)))
        potential = Potential(*potential_of(random_cuts(rng, n, K), line))
        phi = np.array([potential_at(c, line, potential) for c in range(n + 1)])
        s0, s1 = np.sort(rng.integers(0, n, 2))
        e0 = int(rng.integers(s0, n + 1))
        e1 = int(rng.integers(e0, n + 1))
        if rng.random() < 0.2:
            s1, e1 = s0, e0
        low, high = np.array([s0, e0]), np.array([s1, e1])
        bound = arc(0, 1, low, high, phi[low], phi[high], line, potential)
        least = np.inf
        for s in range(s0, s1 + 1):
            for e in range(e0, e1 + 1):
                if line.smallest <= e - s <= line.largest:
                    least = min(least, half_scatter(s, e, line) + line.entropy[e - s] - (phi[e] - phi[s]))
        rounding = 4 * np.finfo(float).eps * (1 + np.abs(phi).max())
        assert bound <= least + rounding or np.isinf(least)
        if s0 == s1 and e0 == e1 and np.isfinite(least):
            assert bound == pytest.approx(least, rel=1e-9, abs=1e-9 + 10 * rounding)


def ladder_of(n: int, K: int, width: int) -> Ladder:
    low, high, rung = [0], [0], [0, 1]
    for _ in range(1, K):
        edges = list(range(1, n, width))
        low += edges
        high += [min(e + width - 1, n - 1) for e in edges]
        rung.append(len(low))
    low.append(n)
    high.append(n)
    rung.append(len(low))
    first, last = np.zeros(len(low), dtype=np.int64), np.zeros(len(low), dtype=np.int64)
    for k in range(K):
        first[rung[k] : rung[k + 1]], last[rung[k] : rung[k + 1]] = rung[k + 1], rung[k + 2]
    return Ladder(np.array(low), np.array(high), np.array(rung), first, last)


def test_cells_that_hold_the_best_cuts_survive():
    """Sweeping and splitting keeps every clustering below the threshold; single positions give the optimum."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        n, K = int(rng.integers(6, 24)), 3
        line = random_line(rng, n)
        costs = {(a, b): cost_of(np.array([0, a, b, n]), line) for a in range(1, n) for b in range(a + 1, n)}
        least = min(costs.values())
        threshold = least + rng.uniform(0, 0.5) * (max(costs.values()) - least)
        cuts = random_cuts(rng, n, K)
        ladder = ladder_of(n, K, int(rng.integers(1, 6)))
        while True:
            potential = Potential(*potential_of(cuts, line))
            total = potential_at(n, line, potential)
            length, _, first, last = sweep(ladder, line, potential, threshold - total)
            rounding = 1e-9 * (1 + abs(least)) + 1e-14 * abs(total)  # the random potential may be large
            assert length + total <= least + rounding
            ladder = ladder._replace(first=first, last=last)
            for (a, b), cost in costs.items():
                if cost < threshold - rounding:
                    assert _holds(ladder, a, b)
            if np.all(ladder.low == ladder.high):
                assert length + total == pytest.approx(least, abs=rounding)
                break
            ladder = split_cells(ladder, 2, 0)


def _holds(ladder: Ladder, a: int, b: int) -> bool:
    for c in range(ladder.first[0], ladder.last[0]):
        if ladder.low[c] <= a <= ladder.high[c]:
            for t in range(ladder.first[c], ladder.last[c]):
                if ladder.low[t] <= b <= ladder.high[t] and ladder.last[t] > ladder.first[t]:
                    return True
    return False


def test_descent_lowers_the_cost_within_the_limits():
    """Descent never makes cuts worse, returns their cost and stays within the limits of each cut."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        n, K = int(rng.integers(8, 100)), int(rng.integers(2, 6))
        line = random_line(rng, n)
        cuts = random_cuts(rng, n, K)
        low, high = np.maximum(cuts - 5, 0), np.minimum(cuts + 5, n)
        before = cost_of(cuts, line)
        after = descend(cuts, low, high, line)
        assert after <= before
        assert after == pytest.approx(cost_of(cuts, line))
        assert np.all((low <= cuts) & (cuts <= high))
        assert np.all(np.diff(cuts) >= 1)
