"""Decided groups as sums: the same node with less work."""

from __future__ import annotations

import numpy as np

from brute_force import wide_node
from certmix.kernels.arrays import Arrays
from certmix.kernels.candidates import undecided
from certmix.kernels.propagation import propagate, propagate_rest
from certmix.kernels.settled import Rest, rest_of, settle, sorted_rest, unsettled
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import Instance, reduce
from certmix.search.bounds.interval import IntervalBound
from random_instances import random_problem


def random_masks(rng: np.random.Generator, instance: Instance) -> np.ndarray:
    """Candidate sets, some of them down to one component."""
    K = instance.n_components
    full = np.int64((1 << K) - 1)
    mask = np.full(instance.n_groups, full)
    decided = rng.random(instance.n_groups) < rng.random()
    mask[decided] = np.int64(1) << rng.integers(K, size=int(decided.sum()))
    return mask[:, None]


def numpy_sums(mask: np.ndarray, arrays: Arrays) -> tuple[np.ndarray, ...]:
    K, d = arrays.gamma.shape
    weight, mass, points, cost = np.zeros(K), np.zeros((K, d)), np.zeros((K, d)), np.zeros(K)
    for k in range(K):
        mine = mask[:, 0] == 1 << k
        c = arrays.system[k]
        m, x = arrays.mass.reshape(len(mask), -1)[mine], arrays.points[c][mine]
        weight[k], mass[k] = arrays.weight[mine].sum(), m.sum(axis=0)
        points[k] = (m * x).sum(axis=0)
        cost[k] = 0.5 * (m * x**2).sum() + arrays.scatter[c][mine].sum()
    return weight, mass, points, cost


def assert_sums(rest: Rest, mask: np.ndarray, arrays: Arrays) -> None:
    weight, mass, points, cost = numpy_sums(mask, arrays)
    scale = 1.0 + np.abs(points).max() + np.abs(cost).max()
    np.testing.assert_allclose(rest.weight, weight)
    np.testing.assert_allclose(np.broadcast_to(rest.mass.reshape(len(mass), -1), mass.shape), mass)
    np.testing.assert_allclose(rest.points, points, atol=1e-12 * scale)
    np.testing.assert_allclose(rest.cost, cost, atol=1e-12 * scale)
    left = np.sort(rest.groups[: rest.left[0]])
    np.testing.assert_array_equal(left, np.flatnonzero(undecided(mask)))


def test_settling_step_by_step_gives_the_sums_of_everything_decided() -> None:
    """Whether groups are settled at once or as they become decided, the sums are those of NumPy."""
    for seed in range(60):
        rng = np.random.default_rng([seed, 7])
        arrays = instance_arrays(instance := reduce(random_problem(rng, max_samples=12)))
        mask = random_masks(rng, instance)
        rest = unsettled(arrays)
        settle(mask, arrays, rest)
        assert_sums(rest, mask, arrays)
        later = np.where(
            rng.random((len(mask), 1)) < 0.5, mask & -mask, mask
        )  # some keep their lowest component
        settle(later, arrays, rest)
        assert_sums(rest, later, arrays)


def test_what_is_left_is_sorted_by_every_coordinate() -> None:
    """The groups that are left, by ascending coordinates."""
    rng = np.random.default_rng(3)
    for N in (5, 200):
        arrays = instance_arrays(reduce(random_problem(rng, max_samples=6)))
        d = arrays.gamma.shape[1]
        points = rng.normal(size=(arrays.points.shape[0], N, d))
        order = np.argsort(points, axis=1).transpose(0, 2, 1).copy()
        arrays = arrays._replace(
            points=points,
            order=order,
            weight=np.ones(N),
            mass=np.ones(N),
            scatter=np.zeros(points.shape[:2]),
        )
        for left in (1, 3, N // 2):
            mask = np.ones((N, 1), dtype=np.int64)
            mask[rng.choice(N, left, replace=False)] = 3
            rest = rest_of(mask, arrays)
            found = sorted_rest(mask, arrays, rest)
            assert found.shape == (points.shape[0], d, left)
            for c in range(points.shape[0]):
                for j in range(d):
                    assert set(found[c, j]) == set(np.flatnonzero(mask[:, 0] == 3))
                    assert np.all(np.diff(points[c, found[c, j], j]) >= 0)


def test_propagating_the_rest_equals_propagating_everything() -> None:
    """After a fixed point, decisions on what is left have the same consequences with and without the settled groups."""
    compared = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, 8])
        instance = reduce(random_problem(rng, max_samples=9))
        arrays, n = instance_arrays(instance), instance.n_samples
        node = wide_node(instance, arrays)
        mask, a, b = node.words.copy(), node.a.copy(), node.b.copy()
        while propagate(mask, a, b, n, arrays):
            rest = rest_of(mask, arrays)
            groups = rest.groups[: rest.left[0]]
            if len(groups) == 0:
                break
            g = int(rng.choice(groups))
            k = int(rng.choice([k for k in range(instance.n_components) if mask[g, 0] >> k & 1]))
            mask[g] = np.int64(1) << k if rng.random() < 0.7 else mask[g] & ~(np.int64(1) << k)
            whole, part = (mask.copy(), a.copy(), b.copy()), (mask.copy(), a.copy(), b.copy())
            alive = propagate(*whole, n, arrays)
            assert alive == propagate_rest(*part, n, arrays, rest.groups, rest.left[0], rest.weight), seed
            if alive:
                for one, other in zip(whole, part, strict=True):
                    np.testing.assert_array_equal(one, other, err_msg=str(seed))
            compared += 1
    assert compared > 300


def test_sums_carried_down_the_tree_are_those_of_the_node() -> None:
    """After some generations of branching a node's sums are still those of its decided groups."""
    checked = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 9])
        instance = reduce(random_problem(rng, max_samples=10))
        bound = IntervalBound(instance)
        nodes = bound.root()
        for _ in range(5):
            explored = bound.explore(nodes, np.inf)
            for i in np.flatnonzero(explored.open):
                node = explored.nodes
                left = node["left"][i]
                rest = Rest(
                    left,
                    np.array([len(left)]),
                    *(node[name][i] for name in ("weight", "mass", "points", "cost")),
                )
                settle(node["mask"][i].astype(np.int64), bound.arrays, rest)
                assert_sums(rest, node["mask"][i].astype(np.int64), bound.arrays)
                checked += 1
            if not explored.open.any():
                break
            nodes = bound.branch(
                type(explored)(explored.nodes.take(explored.open), np.ones(explored.open.sum(), bool))
            )
    assert checked > 100
