"""Iterations of the alternating direction method, and which blocks take part."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds.scale import Scale
from certmix.search.bounds.semidefinite.admm import Method, awake, level_of
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound, region_of
from certmix.search.bounds.semidefinite.contraction import contract
from certmix.search.bounds.semidefinite.pools import pools_of
from certmix.search.bounds.semidefinite.refining import separate
from certmix.search.bounds.semidefinite.warm import cold_start
from certmix.threads import Threads


def started(seed: int) -> Method:
    """The method at the root of a small problem with weights of groups and a pair apart."""
    rng = np.random.default_rng([seed, 91])
    data = 3.0 * rng.integers(3, size=(40, 1)) + rng.normal(size=(40, 4))
    instance = reduce(Problem(data, 3, variance=1.0))
    labels = np.repeat([0, 1, 2], 14)[:40]
    bound = SemidefiniteBound(instance, labels)
    nodes = bound.root()
    domain = region_of(nodes, 0).copy()
    domain.apart[3, 17] = domain.apart[17, 3] = True
    shape = contract(domain, instance)
    pools = pools_of(domain, shape, instance)
    penalty = 2.0 * Scale.of(instance, labels).cost * instance.n_samples
    return cold_start(shape, pools, bound.T, bound.labels, penalty, Threads(1), np.inf)


@pytest.mark.parametrize("seed", range(4))
def test_iterations_come_closer(seed: int) -> None:
    """Residuals fall, every pool holds its components, and what blocks hold is known, cuts and idle blocks included."""
    method = started(seed)
    residuals = []
    for _ in range(12):
        method.run(10)
        residuals.append(method.primal + method.dual)
        separate(method)
        for p, pool in enumerate(method.pools):
            held = sum(b.trace for b in method.blocks if b.pool == p)
            assert held == pytest.approx(pool.count, abs=1e-6)
        for b in method.blocks:
            np.testing.assert_allclose(b.held, b.x @ method.roots[b.pool], atol=1e-9)
            assert np.all(b.x[method.apart[b.pool]] == 0.0)
    assert residuals[-1] < 0.2 * residuals[0]
    assert method.count == 120
    covered = method.coverage().sum(axis=1)
    np.testing.assert_allclose(covered, 1.0, atol=0.05)


def test_level() -> None:
    """Eigenvalues above the level, less the level, add up to the number of components."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        values, count = rng.normal(size=12), float(rng.integers(1, 4))
        level = level_of(values, count)
        assert np.maximum(values - level, 0.0).sum() == pytest.approx(count)


def test_blocks_asleep_hold_little_together() -> None:
    """Every block that sleeps held little, all of a pool together too, and the fullest never sleeps."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        pool = rng.integers(3, size=20)
        pool[:3] = [0, 1, 2]
        trace = rng.dirichlet(np.full(20, 0.3)) * 3.0
        counts = [1, 2, 1]
        blocks: list[Any] = [SimpleNamespace(pool=p, trace=t) for p, t in zip(pool, trace, strict=True)]
        pools: list[Any] = [SimpleNamespace(count=count) for count in counts]
        working = {id(b) for b in awake(blocks, pools)}
        asleep = np.array([id(b) not in working for b in blocks])
        for p in range(3):
            mine = pool == p
            assert not asleep[mine][np.argmax(trace[mine])]
            assert trace[mine & asleep].max(initial=0.0) <= 0.05
            assert trace[mine & asleep].sum() <= 0.1 * counts[p] + 1e-15
