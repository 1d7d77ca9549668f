"""Nodes by the sides of planes: whatever the planes are, no bound exceeds the best clustering of its node."""

from __future__ import annotations

import itertools
import math
from unittest import mock

import numpy as np
import pytest

from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds import counting
from certmix.search.bounds.base import Explored
from certmix.search.bounds.counting import CountingBound, sides_of
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.sides import Side
from certmix.search.nodes import Nodes
from certmix.threads import Threads

N, K = 7, 3


def every_clustering(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What all clusterings cost, their means and which components are not empty."""
    costs, means, used = [], [], []
    for labels in itertools.product(range(K), repeat=N):
        point = problem.objective.best(np.array(labels))
        costs.append(point.value)
        means.append(point.means)
        used.append(np.bincount(labels, minlength=K) > 0)
    return np.array(costs), np.array(means), np.array(used)


@pytest.mark.parametrize("seed", range(6))
def test_any_plane_is_sound(seed: int) -> None:
    """Three levels of planes drawn at random: every node's bound is at most what its best clustering costs."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(N, 2))
    problem = (
        Problem(data, K, weights="none")
        if seed % 2
        else Problem(data, K, variance=0.3, weights="free" if seed % 4 else "uniform")
    )
    instance = reduce(problem)
    costs, means, used = every_clustering(problem)
    places = np.stack([[instance.whitened(0, m) for m in each] for each in means])

    def some_plane(ascent: object, lacking: float) -> Side:
        axis = int(rng.integers(2))
        return Side(axis, float(rng.normal() * places[..., axis].std()), int(rng.integers(1, K + 1)), True)

    def within(nodes: Nodes, i: int) -> np.ndarray:
        inside = np.ones(len(costs), dtype=bool)
        for side in sides_of(nodes, i).all:
            left = (used & (places[..., side.axis] <= side.at)).sum(axis=1)
            inside &= (left >= side.least) == side.left
        return inside

    with mock.patch.object(counting, "best_plane", some_plane):
        bound = DualBound(instance, np.arange(N) % K, allowed=1e-6, threads=Threads(1 + seed % 2))
        bound.advance_root(1.2 * costs.min(), math.inf)
        tree = CountingBound(bound)
        nodes, seen = tree.root(), 0
        for _ in range(4):
            explored = tree.explore(nodes, 1.2 * costs.min())
            for i in range(len(explored.nodes)):
                best = costs[within(explored.nodes, i)].min(initial=math.inf)
                assert explored.nodes.bound[i] <= best + 1e-9 * abs(best)
                seen += 1
            still = Explored(explored.nodes.take(explored.open), explored.open[explored.open])
            nodes = tree.branch(still)
            parents, children = (
                sum(within(each, i).astype(int) for i in range(len(each))) for each in (still.nodes, nodes)
            )
            assert np.array_equal(parents, children)  # every clustering is in one child of its node
        assert seen > 3
