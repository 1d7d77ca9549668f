"""Pricing over kd-tree cells against all sets of small instances, and against plain pricing on larger ones."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.kernels.cells import build_tree, cells_of
from certmix.kernels.price_parts import Goal, Place, room_for, sums
from certmix.kernels.pricing import price
from certmix.kernels.trios import no_trios
from certmix.stopping import current


def entropy(n: int) -> np.ndarray:
    sizes = np.arange(n + 1.0)
    return np.where(sizes > 0, -sizes * np.log(np.maximum(sizes, 1.0) / n), 0.0)


def cheapest(points, weight, cost, gamma, prior, lo, hi, table, low, high):
    """Smallest reduced cost over all sets, by looking at each of them."""
    best = np.inf
    for bits in range(1, 1 << len(points)):
        members = [g for g in range(len(points)) if bits >> g & 1]
        size = weight[members].sum()
        if not low <= size <= high:
            continue
        total = (weight[members, None] * points[members]).sum(axis=0) + gamma * prior
        mean = np.clip(total / (size + gamma), lo, hi)
        value = 0.5 * (weight[members, None] * (points[members] - mean) ** 2).sum() + cost[members].sum()
        best = min(best, value + 0.5 * (gamma * (mean - prior) ** 2).sum() + table[int(size)])
    return best


@pytest.mark.parametrize("seed", range(60))
def test_bound_is_below_every_set(seed):
    """Whatever weights, prior, box, sizes, threshold and starting value: never above the cheapest set."""
    rng = np.random.default_rng(seed)
    N, d = int(rng.integers(4, 11)), int(rng.integers(1, 4))
    points = rng.normal(size=(N, d)) * rng.choice([0.5, 2.0])
    weight = np.ones(N) if rng.random() < 0.5 else rng.integers(1, 3, size=N).astype(float)
    table = entropy(int(weight.sum()) + int(rng.integers(0, 4)))
    cost = -rng.normal(1.5, 1.0, size=N) * weight
    gamma = np.zeros(d) if rng.random() < 0.6 else rng.uniform(0.1, 1.0, size=d)
    prior = rng.normal(size=d)
    lo, hi = points.min(axis=0) - 1.0, points.max(axis=0) + 1.0
    if rng.random() < 0.3:
        lo = lo + 0.8
        hi = np.maximum(lo + 0.1, hi - 0.5)
    low = float(rng.integers(1, 4))
    high = float(len(table) - 1 if rng.random() < 0.5 else rng.integers(low, weight.sum() + 1))
    truth = cheapest(points, weight, cost, gamma, prior, lo, hi, table, low, high)
    start = truth + rng.choice([0.0, 0.1, 1.0])
    threshold = np.inf if rng.random() < 0.5 else truth + 0.3 * rng.normal()
    place = Place(points, weight, weight, cost, gamma, prior, lo, hi, table, True, low, high)
    goal = Goal(threshold, 1e-6, 100_000, start, current().flag, False)
    nothing = sums(place, np.zeros(N, dtype=bool))
    tree = build_tree(points, weight, weight)
    bound, best, _, complete, _ = price(tree, cost, place, nothing, goal, room_for(8, d), no_trios(N))
    assert bound <= truth + 1e-9
    assert best >= truth - 1e-9
    if complete and np.isfinite(truth):
        assert bound >= min(truth, threshold) - 2e-6


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_plain_pricing(seed):
    """On a few hundred groups both searches prove the same price, up to their tolerance."""
    rng = np.random.default_rng(seed)
    n = 400
    points = rng.normal(size=(n, 2)) + 4.0 * np.eye(3)[rng.integers(3, size=n)][:, :2]
    table = entropy(n)
    centres = np.array([[4.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    costs = 0.5 * ((points[:, None] - centres) ** 2).sum(axis=2) + np.log(3.0)
    multipliers = -np.log(np.exp(-costs).sum(axis=1))
    weight, zero = np.ones(n), np.zeros(2)
    lo, hi = points.min(axis=0), points.max(axis=0)
    place = Place(points, weight, weight, -multipliers, zero, zero, lo, hi, table, True, 1.0, float(n))
    goal = Goal(np.inf, 1e-4, 100_000, np.inf, current().flag, False)
    nothing, alone = (
        sums(place, np.zeros(n, dtype=bool)),
        cells_of(points, weight, weight, np.ones(n, dtype=bool)),
    )
    by_cells, plain = (
        price(cells, -multipliers, place, nothing, goal, room_for(8, 2), no_trios(n))
        for cells in (build_tree(points, weight, weight), alone)
    )
    assert plain[3]
    assert by_cells[3]
    assert by_cells[0] == pytest.approx(plain[0], abs=2e-4)
