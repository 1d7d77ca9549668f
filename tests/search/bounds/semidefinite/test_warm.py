"""Where the method starts in a root."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds.scale import Scale
from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.contraction import Contraction, Region, contract
from certmix.search.bounds.semidefinite.pools import pools_of
from certmix.search.bounds.semidefinite.safe import prove
from certmix.search.bounds.semidefinite.states import keep
from certmix.search.bounds.semidefinite.warm import cold_start, soft_minimum, warm_start
from certmix.threads import Threads


def started(data: np.ndarray, labels: np.ndarray) -> tuple[Contraction, Method]:
    """At the root of a problem with a component for every label."""
    K = int(labels.max()) + 1
    instance = reduce(Problem(data, K, variance=1.0))
    inner = instance.contract(labels)
    n = instance.n_samples
    everything = Region(instance.allowed, np.ones(K), np.full(K, float(n)), np.zeros((n, n), dtype=bool))
    shape = contract(everything, instance)
    unit = Scale.of(instance, inner).cost
    T = soft_minimum(instance, inner, unit)
    pools = pools_of(everything, shape, instance)
    return shape, cold_start(shape, pools, T, inner, 2.0 * unit * n, Threads(1), np.inf)


@pytest.mark.parametrize("apart", [2.0, 30.0])
def test_the_reduced_matrix_vanishes_between_clusters(apart: float) -> None:
    """The multipliers of X >= 0 are not negative, none inside of clusters, and have the row sums of what they meet."""
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2], [20, 15, 10])
    data = rng.normal(size=(45, 3)) + apart * labels[:, None]
    _, method = started(data, labels)
    same = labels[:, None] == labels
    member = (np.arange(3) == labels[:, None]).astype(float)
    for block in method.blocks:
        half = 0.5 * np.outer(method.cover, method.root)
        rows = half + half.T
        slack = method.sigma * (rows - block.u)
        assert slack.min() >= -1e-9 * slack.max()
        np.testing.assert_allclose(slack[same], 0.0, atol=1e-9 * slack.max())
        reduced = block.cost + method.sigma * rows
        between = member.T @ np.where(same, 0.0, reduced - slack)
        where = member.T @ np.where(same, 0.0, reduced) > 0.0
        if apart > 10.0:
            np.testing.assert_allclose(between[where & ~member.T.astype(bool)], 0.0, atol=1e-8 * slack.max())


def test_clusters_far_apart_are_nearly_proved_before_the_first_iteration() -> None:
    """All that is missing then is what clusters spread inside, and chords of the entropy."""
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1, 2], 30)
    data = rng.normal(size=(90, 2)) + 40.0 * np.eye(3)[labels][:, :2]
    _, method = started(data, labels)
    value = Problem(data, 3, variance=1.0).objective.best(labels).value
    bound = prove(method, 0.0, 0.0, 1000, 1e-9).bound
    assert bound <= value
    _, without = started(data, labels)
    for block in without.blocks:
        half = 0.5 * np.outer(without.cover, without.root)
        block.u = half + half.T
    assert value - bound < 0.05 * (value - prove(without, 0.0, 0.0, 1000, 1e-9).bound)


@pytest.mark.parametrize(("largest", "kept"), [(1e30, True), (1e39, False)])
def test_matrices_that_single_precision_cannot_hold_are_not_kept(largest: float, kept: bool) -> None:
    """Data far from the origin can make them so: infinite entries are no start."""
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1], 8)
    shape, method = started(rng.normal(size=(16, 2)) + 9.0 * labels[:, None], labels)
    method.blocks[-1].u[3, 2] = -largest
    warm = keep(shape, method)
    assert all(bool(b.x.size) == kept for b in warm.method.blocks)
    again = warm_start(shape, method.pools, warm, Threads(1), np.inf)
    assert all(np.isfinite(b.x).all() and np.isfinite(b.u).all() for b in again.blocks)
