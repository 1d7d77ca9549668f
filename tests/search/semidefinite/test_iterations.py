"""Iterations of the alternating direction method: compiled and not, and which blocks take part."""

from __future__ import annotations

import numpy as np
import pytest

from certmix.kernels.alternating import find_awake, improve_pairs, level_of
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.search.bounds.semidefinite import admm
from certmix.search.bounds.semidefinite.admm import Method
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.bounds.semidefinite.contraction import Domain, contract
from certmix.search.bounds.semidefinite.eigen import improve
from certmix.search.bounds.semidefinite.pools import pools_of
from certmix.search.bounds.semidefinite.refining import separate
from certmix.search.bounds.semidefinite.warm import cold_start
from certmix.search.threads import Threads


def started(seed: int) -> Method:
    """The method at the root of a small problem with weights of groups and a pair apart."""
    rng = np.random.default_rng([seed, 91])
    data = 3.0 * rng.integers(3, size=(40, 1)) + rng.normal(size=(40, 4))
    instance = reduce(Problem(data, 3))
    labels = np.repeat([0, 1, 2], 14)[:40]
    bound = SemidefiniteBound(instance, labels)
    nodes = bound.root()
    domain = Domain(nodes["mask"][0], nodes["a"][0], nodes["b"][0], nodes["apart"][0].copy())
    domain.apart[3, 17] = domain.apart[17, 3] = True
    shape = contract(domain, instance)
    pools = pools_of(domain, shape, instance)
    return cold_start(shape, pools, bound.T, bound.labels, 2.0 * instance.n_samples, Threads(1))


@pytest.mark.parametrize("seed", range(4))
def test_compiled_iterations_are_the_others(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled round does what single iterations do, cuts, blocks asleep and eigenvectors afresh included."""
    one, other = started(seed), started(seed)
    for turn in range(3):
        monkeypatch.setattr(admm, "SMALL", 0)
        one.run(10)
        monkeypatch.setattr(admm, "SMALL", 1000)
        other.run(10)
        assert one.sigma == other.sigma
        # The two improve eigenvectors from a different number of old ones now and then: small differences grow.
        close = 1e-6 if turn == 0 else 2e-2
        np.testing.assert_allclose(one.cover, other.cover, atol=close * np.abs(one.cover).max())
        for b, c in zip(one.blocks, other.blocks, strict=True):
            np.testing.assert_allclose(b.x, c.x, atol=close)
            np.testing.assert_allclose(c.held, c.x @ other.root[other.pools[c.pool].index], atol=1e-9)
        assert other.count == one.count
        for method in (one, other):
            separate(method)


def test_level() -> None:
    """Eigenvalues above the level, less the level, add up to the number of components."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        values, count = rng.normal(size=12), float(rng.integers(1, 4))
        level = level_of(np.concatenate([values, [99.0]]), 12, count)
        assert np.maximum(values - level, 0.0).sum() == pytest.approx(count)


def test_improved_pairs() -> None:
    """The compiled improvement of eigenvectors is the one of the interpreter."""
    rng = np.random.default_rng(6)
    matrix = rng.normal(size=(30, 30))
    matrix = matrix + matrix.T + 12.0 * np.outer(np.ones(30), np.ones(30))
    vectors = np.linalg.qr(rng.normal(size=(30, 4)))[0]
    values, turned = improve_pairs(matrix, vectors)
    want, _ = improve(matrix, vectors, 4)
    np.testing.assert_allclose(values, want, rtol=1e-8)
    np.testing.assert_allclose(turned.T @ turned, np.eye(4), atol=1e-10)


def test_blocks_asleep_hold_little_together() -> None:
    """Every block that sleeps held little, all of a pool together too, and the fullest never sleeps."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        pool = rng.integers(3, size=20)
        pool[:3] = [0, 1, 2]
        trace = rng.dirichlet(np.full(20, 0.3)) * 3.0
        counts = np.array([1.0, 2.0, 1.0])
        awake = np.empty(20, dtype=bool)
        find_awake(pool, trace, counts, 0.05, 0.1, awake)
        for p in range(3):
            mine = pool == p
            assert awake[mine][np.argmax(trace[mine])]
            assert trace[mine & ~awake].max(initial=0.0) <= 0.05
            assert trace[mine & ~awake].sum() <= 0.1 * counts[p] + 1e-15
