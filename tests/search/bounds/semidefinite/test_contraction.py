"""Nodes of the semidefinite bound: propagation, names for exchangeable components, contraction, branching, cuts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from brute_force import Clusterings
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import reduce
from certmix.problem import (
    CannotLink,
    Covering,
    Implication,
    Label,
    MaximumSize,
    MinimumSize,
    Packing,
    Problem,
)
from certmix.search.bounds.base import Explored
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound, region_of
from certmix.search.bounds.semidefinite.contraction import Region, contract, pairwise_apart
from certmix.search.bounds.semidefinite.cuts import Cuts
from certmix.search.bounds.semidefinite.pools import (
    ComponentPool,
    cost_matrix,
    first_blocks,
    pools_of,
    slope_of,
)
from certmix.search.nodes import Nodes
from random_domains import best_of, inside, random_domain, root_domain, slack_of, small_instances


def some_row(rng: np.random.Generator, found: Clusterings) -> int:
    return int(rng.choice(np.flatnonzero(found.feasible)))


def test_propagation_loses_no_clustering() -> None:
    """What is narrowed away is in no feasible clustering of the node."""
    for seed, found in small_instances(0, 40, 66):
        rng = np.random.default_rng([seed, 67])
        domain = random_domain(rng, found, some_row(rng, found))
        before = inside(found, domain)
        assert domain.propagate(found.instance, instance_arrays(found.instance)), f"seed {seed}"
        assert np.array_equal(before, inside(found, domain)), f"seed {seed}"


def test_a_contradiction_is_seen() -> None:
    """Two members of a component that are apart leave nothing."""
    instance = reduce(Problem(np.arange(4.0)[:, None], 2, variance=1.0))
    domain = root_domain(instance, np.zeros(2, dtype=bool))
    domain.allowed[:2] = [True, False]
    domain.apart[0, 1] = domain.apart[1, 0] = True
    assert not domain.propagate(instance, instance_arrays(instance))


def test_names_keep_the_best_clustering() -> None:
    """Naming exchangeable components keeps one of the best clusterings, up to renaming."""
    named = 0
    for seed, found in small_instances(1000, 70, 66):
        rng = np.random.default_rng([seed, 68])
        row = some_row(rng, found)
        domain = random_domain(rng, found, row)
        if rng.random() < 0.7:
            domain = root_domain(found.instance, found.sizes[row] == 0)
            differ = found.labels[row][:, None] != found.labels[row]
            domain.apart |= differ & (rng.random() < 0.8)
        before = inside(found, domain)
        if domain.anchor(found.instance, found.labels[row]):
            named += 1
            after, best = inside(found, domain), best_of(found, before)
            assert not np.any(after & ~before), f"seed {seed}"
            assert best_of(found, after) <= best + slack_of(best), f"seed {seed}"
    assert named > 8


def test_names_are_for_groups_that_cannot_be_together() -> None:
    """Whatever clustering tells where to look, groups with names are all apart, and no two are from one cluster."""
    several = 0
    for seed in range(60):
        rng = np.random.default_rng([seed, 73])
        N, most = int(rng.integers(3, 12)), int(rng.integers(2, 6))
        apart = np.triu(rng.random((N, N)) < rng.uniform(0.2, 0.9), 1)
        apart |= apart.T
        labels = rng.integers(0, 4, N)
        groups = np.flatnonzero(rng.random(N) < 0.8)
        chosen = pairwise_apart(groups, apart, labels, most)
        assert set(chosen) <= set(groups.tolist())
        assert len(chosen) <= most
        assert all(apart[i, j] and labels[i] != labels[j] for i, j in itertools.combinations(chosen, 2))
        several += len(chosen) > 1
    assert several > 30


def ks_of(*constraints: object, K: int = 3, **settings: object) -> list[list[int]]:
    """The sets of exchangeable components at the root of a problem with six samples."""
    problem = Problem(
        np.arange(12.0).reshape(6, 2) ** 1.5,
        K,
        **{"variance": 1.0, **settings},  # type: ignore[arg-type]
        constraints=list(constraints),  # type: ignore[arg-type]
    )
    instance = reduce(problem)
    domain = root_domain(instance, np.zeros(K, dtype=bool))
    assert domain.propagate(instance, instance_arrays(instance))
    return sorted(sorted(int(k) for k in ks) for ks in domain.untouched(instance))


def test_what_tells_components_apart() -> None:
    """Labels, constraints that name a component, sizes, weights and variances do; the others do not."""
    assert ks_of() == [[0, 1, 2]]
    assert ks_of(CannotLink(0, 1), Implication(2, 3)) == [[0, 1, 2]]
    assert ks_of(MinimumSize(2)) == [[0, 1, 2]]
    assert ks_of(Label(0, 1)) == [[0, 2], [1]]
    assert ks_of(Implication(0, 1, 2)) == [[0, 1], [2]]
    assert ks_of(Packing([0, 1], 0, 1)) == [[0], [1, 2]]
    assert ks_of(Covering([0, 1, 2], 2, 1)) == [[0, 1], [2]]
    assert ks_of(MaximumSize(3, 1)) == [[0, 2], [1]]
    assert ks_of(weights=[0.2, 0.2, 0.6]) == [[0, 1], [2]]
    assert ks_of(variance=np.array([1.0, 2.0, 1.0])) == [[0, 2], [1]]


def test_empty_components_are_in_no_pool() -> None:
    """A component of size zero is not exchanged for one that holds samples."""
    instance = reduce(Problem(np.arange(6.0)[:, None], 3, variance=1.0, allow_empty=True))
    domain = root_domain(instance, np.array([True, False, False]))
    assert [ks.tolist() for ks in domain.untouched(instance)] == [[1, 2]]
    shape = contract(domain, instance)
    assert all(p.sizes[0] == 0 for p in pools_of(domain, shape, instance))


def children_of(bound: SemidefiniteBound, domain: Region, group: int, component: int) -> Nodes:
    nodes = bound.root().take(np.array([0]))
    nodes["allowed"][0], nodes["a"][0], nodes["b"][0] = domain.allowed, domain.a, domain.b
    nodes["apart"][0] = domain.apart
    nodes["group"][0], nodes["component"][0] = group, component
    return bound.branch(Explored(nodes, np.array([True])))


def test_children_cover_the_best_clustering_of_their_parent() -> None:
    """Whatever group and component is branched on, one of the children holds a best clustering of the node."""
    branched = 0
    for seed, found in small_instances(2000, 40, 66):
        rng = np.random.default_rng([seed, 69])
        row = some_row(rng, found)
        domain = random_domain(rng, found, row)
        bound = SemidefiniteBound(found.instance, found.instance.expand(found.labels[row]))
        before = inside(found, domain)
        best = best_of(found, before)
        for g, k in itertools.product(range(found.instance.n_groups), range(found.instance.n_components)):
            if not domain.allowed[g, k] or domain.allowed[g].sum() == 1:
                continue
            nodes = children_of(bound, domain, g, k)
            kids = [region_of(nodes, i) for i in range(len(nodes))]
            held = np.array([inside(found, kid) for kid in kids]).any(axis=0)
            assert not np.any(held & ~before), f"seed {seed}"
            assert best_of(found, held) <= best + slack_of(best), f"seed {seed}"
            assert all(not np.array_equal(kid.allowed, domain.allowed) for kid in kids)
            branched += 1
    assert branched > 100


def test_a_cluster_of_super_points_costs_what_it_costs() -> None:
    """The matrix of a block gives a cluster's cost exactly, or less with a prior on the means."""
    tested = 0
    for seed, found in small_instances(3000, 25, 66, merged=0.7):
        rng = np.random.default_rng([seed, 70])
        instance, row = found.instance, some_row(rng, found)
        domain = random_domain(rng, found, row)
        domain.propagate(instance, instance_arrays(instance))
        shape = contract(domain, instance)
        assert shape.weight.sum() == instance.n_samples
        pools = pools_of(domain, shape, instance)
        for other in rng.permutation(np.flatnonzero(inside(found, domain)))[:20]:
            labels = found.labels[other]
            total = float(instance.entropy[domain.b <= 0, 0].sum())
            for pool in pools:
                for k in pool.components:
                    m = int(found.sizes[other, k])
                    members = labels[shape.first[pool.index]] == k
                    low, high = int(rng.integers(1, m + 1)), int(rng.integers(m, instance.n_samples + 1))
                    slope = float(rng.normal())
                    x = shape.root[pool.index] * members / np.sqrt(m)
                    assert x @ x == pytest.approx(1.0)
                    assert low <= m <= high
                    total += x @ cost_matrix(pool, shape.root, high, slope) @ x - slope * m + pool.entropy[m]
            cost = float(found.cost[other])
            assert total <= cost + slack_of(cost), f"seed {seed}"
            if not instance.prior_weight.any():
                assert total == pytest.approx(cost, rel=1e-9, abs=1e-9), f"seed {seed}"
            tested += 1
    assert tested > 50


def test_first_blocks_hold_every_size_once() -> None:
    """Blocks do not overlap and leave no allowed size out; their lines stay below the entropy."""
    for seed, found in small_instances(4000, 30, 66):
        rng = np.random.default_rng([seed, 71])
        row = some_row(rng, found)
        domain = random_domain(rng, found, row)
        for pool in pools_of(domain, contract(domain, found.instance), found.instance):
            if not pool.sizes.any():
                continue
            held = np.zeros(len(pool.sizes), dtype=np.int64)
            for low, high in first_blocks(pool, found.sizes[row][found.sizes[row] > 0].astype(float)):
                held[low : high + 1] += 1
                slope, offset = slope_of(pool, low, high)
                sizes = np.flatnonzero(pool.sizes[low : high + 1]) + low
                assert np.all(pool.entropy[sizes] - slope * sizes >= offset)
            assert np.all(held[pool.sizes] == 1)
            assert held.max() <= 1


def test_a_block_of_one_size_has_the_slope_of_the_sizes_beside_it() -> None:
    """One sample more costs what it costs in the blocks around; a size that is the only one, what its samples cost."""
    table = np.array([0.0, 5.0, 8.0, 9.0, 9.5, np.inf])

    def slope(allowed: list[int], size: int) -> float:
        sizes = np.isin(np.arange(len(table)), allowed)
        pool = ComponentPool(
            np.array([0]), np.arange(5), -1, sizes, table, np.zeros((5, 1)), np.zeros(5), 0.0
        )
        return slope_of(pool, size, size)[0]

    assert slope([1, 2, 3, 4], 2) == (9.0 - 5.0) / 2
    assert slope([1, 2, 4], 2) == (9.5 - 5.0) / 3
    assert slope([1, 2], 2) == 3.0
    assert slope([3, 4], 3) == 0.5
    assert slope([2], 2) == 4.0


def clusters(n: int, must: int) -> np.ndarray:
    sets = np.array(list(itertools.product([False, True], repeat=n)))[1:]
    return sets[sets[:, must]] if must >= 0 else sets


def assert_valid(cuts: Cuts, must: int, n: int) -> None:
    """Every cut holds for the matrix of every cluster (with the one that must be in it)."""
    for S in clusters(n, must):
        z = np.outer(S, S) / S.sum()
        left = (cuts.signs * z[cuts.ends[:, :, 0], cuts.ends[:, :, 1]]).sum(axis=1)
        assert np.all(left <= 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_cuts_stay_valid_when_super_points_merge_move_and_leave(seed: int) -> None:
    """Found, kept and moved cuts hold for every cluster of the super-points that are left."""
    rng = np.random.default_rng([seed, 72])
    n = 7
    must = int(rng.integers(0, n)) if seed % 2 else -1
    r = np.sqrt(rng.integers(1, 5, n).astype(float))
    cuts = Cuts.of_anchor(n, must)
    for _ in range(3):
        z = rng.exponential(size=(n, n))
        cuts.separate((z + z.T) * np.outer(r, r), r, 60)
        assert_valid(cuts, must, n)
        cuts.multiplier[:] = rng.exponential(size=len(cuts.multiplier)) * (
            rng.random(len(cuts.multiplier)) < 0.7
        )
    assert len(cuts.ends) > 10
    left = int(rng.integers(3, 6))
    to = np.concatenate([np.arange(left), rng.integers(-1, left, n - left)])
    to = rng.permutation(to)
    if must >= 0 and to[must] < 0:
        to[must] = 0
    new_must = int(to[must]) if must >= 0 else int(rng.integers(-1, left))
    root = np.sqrt(rng.integers(1, 9, left).astype(float))
    moved = cuts.moved(to, root, new_must)
    assert_valid(moved, new_must, left)
    assert np.all(moved.multiplier >= 0.0)
    np.testing.assert_array_equal(moved.force, moved.exact(root)[0])


def test_roots_split_by_size_hold_every_clustering() -> None:
    """Up to exchange of components, every clustering is in a root: a component is small, or none is."""
    split = 0
    for seed, found in small_instances(61_000, 90, 67, merged=0.3):
        labels = found.labels[int(np.argmin(found.objective))]
        bound = SemidefiniteBound(found.instance, found.instance.expand(labels), split_from=1)
        whole = SemidefiniteBound(found.instance, found.instance.expand(labels), split_from=10**6)
        roots = bound.root()
        split += len(roots) - len(whole.root())
        held = np.zeros(len(found.labels), dtype=bool)
        for i in range(len(roots)):
            held |= inside(found, region_of(roots, i))
        classes = found.instance.classes
        for row in np.flatnonzero(found.feasible):
            orders = itertools.permutations(range(found.instance.n_components))
            same = [np.array(o) for o in orders if np.array_equal(classes[list(o)], classes)]
            renamed = [o[found.labels[row]] for o in same]
            alike = [np.flatnonzero((found.labels == r).all(axis=1)) for r in renamed]
            assert any(held[a].any() for a in alike), f"seed {seed}, clustering {found.labels[row]}"
    assert split >= 5, "roots that were split"
