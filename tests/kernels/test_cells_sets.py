"""Pricing over the cells of a kd-tree against trying every set."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.kernels.cells import build_tree, cell_costs
from random_pricing import random_pricing


def test_cells_hold_their_groups() -> None:
    """Boxes, weights, sums, squares and costs of a cell are those of its groups; children share them out."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        N, d = int(rng.integers(1, 200)), int(rng.integers(1, 4))
        points, weight, cost = (
            rng.normal(size=(N, d)),
            rng.integers(1, 5, size=N).astype(float),
            rng.normal(size=N),
        )
        if seed % 3 == 0:
            points = np.round(points)  # many equal coordinates
        tree = build_tree(points, weight, weight)
        summed, least, most = cell_costs(tree, cost)
        members = [np.zeros(N, dtype=bool) for _ in tree.child]
        for c in reversed(range(len(members))):
            kids = range(tree.child[c], tree.child[c] + tree.children[c])
            assert (
                sum(members[kid].sum() for kid in kids)
                == np.any([members[kid] for kid in kids], axis=0).sum()
            )
            members[c] = np.any([members[kid] for kid in kids] or [np.arange(N) == tree.group[c]], axis=0)
        assert members[0].all()
        for c, mine in enumerate(members):
            assert tree.members[c] == mine.sum() > 0
            assert np.array_equal(tree.lower[c], points[mine].min(axis=0))
            assert np.array_equal(tree.upper[c], points[mine].max(axis=0))
            assert tree.weight[c] == weight[mine].sum()
            assert (tree.lightest[c], tree.heaviest[c]) == (weight[mine].min(), weight[mine].max())
            assert tree.total[c] == pytest.approx(weight[mine] @ points[mine])
            assert tree.square[c] == pytest.approx(0.5 * weight[mine] @ (points[mine] ** 2).sum(axis=1))
            assert summed[c] == pytest.approx(cost[mine].sum())
            assert (least[c], most[c]) == (cost[mine].min(), cost[mine].max())


def check(seed: int, groups: int) -> bool:
    """Price one random problem over cells; whether the search completed and reached the minimum."""
    rng = np.random.default_rng(seed)
    problem = random_pricing(rng, groups=groups)
    problem.partner[:] = -1
    if not np.any(problem.status == 0):
        return False
    truth = problem.minimum()
    slack = 1e-10 * (1.0 + abs(truth)) if np.isfinite(truth) else 0.0
    tolerance = float(rng.choice([1e-9, 1e-3]))
    bound, best, _, complete = problem.price_by_cells(tolerance=tolerance, nodes=20_000)
    assert bound <= truth, f"seed {seed}: bound {bound!r} above the minimum {truth!r}"
    assert best >= truth - slack, f"seed {seed}: {best!r} is no set's cost"
    if complete and np.isfinite(truth):
        assert bound >= truth - tolerance - slack, f"seed {seed}: complete, but {bound!r} for {truth!r}"
    for threshold, nodes in ((truth - 0.1, 20_000), (truth + 0.1, 20_000), (np.inf, int(rng.integers(0, 8)))):
        for start in (np.inf, truth + float(rng.exponential())):
            bound, *_ = problem.price_by_cells(threshold, tolerance, nodes, start)
            assert bound <= truth, (
                f"seed {seed}: bound {bound!r} above the minimum {truth!r} at {threshold}, {nodes}"
            )
    return complete and bool(np.isfinite(truth))


@pytest.mark.parametrize("block", range(3))
def test_bound_over_cells_is_never_above_the_cheapest_set(block: int) -> None:
    """Cells, settled whole or not, never lift the bound above the minimum over all sets."""
    completed = sum(check(seed, groups=13) for seed in range(60 * block, 60 * (block + 1)))
    assert completed > 10


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_bound_over_cells_on_many_problems(block: int) -> None:
    """The same on more problems."""
    for seed in range(20_000 + 800 * block, 20_000 + 800 * (block + 1)):
        check(seed, groups=14)
