"""Pricing over cells where cells stay whole: clumps of nearly equal points with different weights and costs."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.kernels.cells import build_tree
from certmix.kernels.price_parts import Goal, room_for, sums
from certmix.kernels.pricing import price
from certmix.kernels.trios import no_trios
from certmix.stopping import current
from random_pricing import Pricing, random_pricing


def clumps(rng: np.random.Generator) -> Pricing:
    """Two clumps, much narrower than the boxes of means that are looked at."""
    d = int(rng.integers(1, 3))
    centres = rng.normal(size=(2, d)) * rng.choice([1.0, 3.0])
    of = np.repeat([0, 1], int(rng.integers(5, 7)))  # the tree's two leaves
    points = centres[of] + rng.choice([0.0, 1e-3, 0.05]) * rng.normal(size=(len(of), d))
    weight = rng.choice([1.0, 2.0, 5.0], size=len(of))
    total = int(weight.sum())
    n = total + int(rng.choice([0, 3, 30, 100]))  # among many more, a small set costs more the larger it is
    sizes = np.arange(n + 1.0)
    entropy = np.where(sizes > 0, -sizes * np.log(np.maximum(sizes, 1.0) / n), 0.0)
    if rng.random() < 0.3:
        entropy = sizes * rng.normal()
    # As multipliers would have it, about what a sample costs in its own clump; or the same whatever a group weighs.
    share = weight if rng.random() < 0.5 else np.ones(len(of))
    cost = -share * rng.uniform(0.0, 3.0) + 0.3 * rng.normal(size=len(of)) * rng.choice([0.0, 0.0, 1.0])
    a = float(rng.integers(1, max(2, total // 2)))
    b = float(n if rng.random() < 0.4 else rng.integers(a, total + 1))
    zero = np.zeros(d)
    low, high = points.min(axis=0), points.max(axis=0)
    free, alone = np.zeros(len(of), dtype=np.int64), np.full(len(of), -1)
    return Pricing(points, weight, cost, zero, zero, low, high, entropy, True, free, a, b, alone)


@pytest.mark.parametrize("block", range(4))
def test_whole_cells_never_lift_the_bound_above_the_cheapest_set(block: int) -> None:
    """Whatever weights and costs a cell holds, and however near the threshold is."""
    for seed in range(100 * block, 100 * (block + 1)):
        problem = clumps(np.random.default_rng([seed, 9]))
        truth = problem.minimum()
        for above in (0.03, 0.3, 1.0, 4.0, np.inf):
            bound, *_ = problem.price_by_cells(truth + above, 1e-9, 2_000)
            assert bound <= truth + 1e-12 * (1.0 + abs(truth)), f"seed {seed}, threshold {above} above"


def bumpy(rng: np.random.Generator) -> Pricing:
    """A few points and an entropy without any shape, so that splitting a size interval changes its chord much."""
    problem = random_pricing(rng, groups=6)
    problem.partner[:], problem.status[:] = -1, 0
    problem.entropy = rng.normal(size=len(problem.entropy)) * rng.choice([0.5, 1.0, 2.0])
    problem.concave = False
    return problem


def test_boxes_are_cut_by_their_own_bound() -> None:
    """With no set on offer that would lower the threshold, nothing below it is cut away from the boxes of the means.

    A child's own quadratic may bound less than its parent's did: what its box may be cut by is its own.
    """
    for seed in range(3000):
        p = bumpy(np.random.default_rng([seed, 11]))
        truth = p.minimum()
        if not np.isfinite(truth):
            continue
        tree, nothing = build_tree(p.points, p.weight, p.weight), sums(p.place(), p.status == 1)
        for above in (0.003, 0.01, 0.03):
            goal = Goal(truth + above, 1e-9, 3_000, np.inf, current().flag, False)
            room, none = room_for(1, p.points.shape[1]), no_trios(len(p.points))
            bound, *_ = price(tree, p.cost, p.place(), nothing, goal, room, none)
            assert bound <= truth + 1e-12 * (1.0 + abs(truth)), f"seed {seed}, threshold {above} above"
