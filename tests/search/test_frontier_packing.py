"""What is stored of open nodes: small, and enough to make them whole again."""

from __future__ import annotations

import itertools
import math
import weakref

import numpy as np
import pytest

from certmix import Problem, solve
from certmix.presolve.instance import reduce
from certmix.search.bounds.base import PackingBound
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.interval import SPLIT_FIELDS, IntervalBound
from certmix.search.bounds.semidefinite import states as warm_module
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.bounds.semidefinite.states import Multipliers, Warm, WarmStore
from certmix.search.frontier import Frontier
from certmix.search.nodes import Nodes


def blobs(n: int, d: int, K: int) -> tuple[Problem, np.ndarray]:
    rng = np.random.default_rng(n)
    labels = rng.integers(K, size=n)
    labels[:K] = np.arange(K)
    return Problem(rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(K, d))[labels], K, variance=1.0), labels


def children(bound: IntervalBound | SemidefiniteBound, cutoff: float, generations: int) -> Nodes:
    nodes = bound.root()
    for _ in range(generations):
        explored = bound.explore(nodes, cutoff)
        assert explored.open.any()
        nodes = bound.branch(type(explored)(explored.nodes.take(explored.open), explored.open[explored.open]))
    return nodes


def test_an_interval_node_comes_back_as_it_was() -> None:
    """Every field but where to split, which is done, bit for bit."""
    problem, labels = blobs(40, 2, 3)
    bound = IntervalBound(reduce(problem))
    nodes = children(bound, problem.objective.best(labels).value, 6)
    back = bound.restored(bound.packed(nodes))
    for name, array in nodes.fields.items():
        if name == "left":
            assert all(np.array_equal(a, b) for a, b in zip(array, back["left"], strict=True))
        elif name not in SPLIT_FIELDS:
            assert np.array_equal(array, back[name]), name
    assert any(len(left) < 40 for left in back["left"])
    assert back.fields.keys() == nodes.fields.keys()


@pytest.mark.parametrize(("make", "most"), [("interval", 1600), ("dual", 4800), ("sdp", 6000)])
def test_bytes_of_an_open_node(make, most) -> None:
    """400 samples, 6 features, 5 components: a kilobyte or a few, no matrices."""
    problem, labels = blobs(400, 6, 5)
    instance = reduce(problem)
    bounds = {
        "interval": lambda: IntervalBound(instance),
        "dual": lambda: DualBound(instance, labels, allowed=1e-3),
        "sdp": lambda: SemidefiniteBound(instance, labels),
    }
    bound = bounds[make]()
    assert isinstance(bound, PackingBound)
    assert Frontier(bound.root(), bound).row_bytes <= most


def test_a_semidefinite_node_comes_back_as_it_was() -> None:
    """Candidates, sizes and pairs apart, and the state to start from while there is room for it."""
    problem, labels = blobs(30, 2, 3)
    bound = SemidefiniteBound(reduce(problem), labels)
    nodes = children(bound, problem.objective.best(labels).value, 2)
    back = bound.restored(bound.packed(nodes))
    for name in ("bound", "depth", "allowed", "a", "b", "group", "component", "record", "root"):
        assert np.array_equal(nodes[name], back[name]), name
    for i in range(len(nodes)):
        assert np.array_equal(nodes["apart"][i], back["apart"][i])
        assert nodes["warm"][i] is back["warm"][i]


def test_without_room_the_multipliers_are_left() -> None:
    """The multipliers that a node starts from are those of its parent, group by group."""
    problem, labels = blobs(30, 2, 3)
    instance = reduce(problem)
    bound = SemidefiniteBound(instance, labels)
    bound._warm = WarmStore(most_bytes=0)
    nodes = children(bound, problem.objective.best(labels).value, 2)
    back = bound.restored(bound.packed(nodes))
    for state, left in zip(nodes["warm"], back["warm"], strict=True):
        assert isinstance(state, Warm)
        assert isinstance(left, Multipliers)
        shape, method = state.shape, state.method
        sums = np.bincount(shape.of, weights=left.T, minlength=len(shape.root))
        np.testing.assert_allclose(sums, -method.cover * shape.root * method.sigma)
    assert bound._warm.n_bytes == 0


def test_the_store_keeps_within_its_bytes_and_forgets_what_is_taken() -> None:
    """Siblings share a state; the worst nodes' states go first."""
    problem, labels = blobs(30, 2, 3)
    bound = SemidefiniteBound(reduce(problem), labels)
    nodes = children(bound, problem.objective.best(labels).value, 1)
    state = nodes["warm"][0]
    size = state.n_bytes
    states = [Warm(state.shape, state.method) for _ in range(4)]
    store = WarmStore(most_bytes=2.5 * size)
    keys = store.put(
        [states[0], states[0], states[1], states[2], states[3], None], np.array([3.0, 3.0, 1, 4, 2, 0])
    )
    assert keys[0] == keys[1]
    assert keys[-1] == -1
    assert store.n_bytes == 2 * size
    assert [store.take(int(k)) for k in keys] == [None, None, states[1], None, states[3], None]
    assert store.n_bytes == 0


def test_runs_without_room_can_be_repeated(monkeypatch) -> None:
    """The same seed and node limit give the same answer, however little room there is for states."""
    monkeypatch.setattr(warm_module.WarmStore.__init__, "__defaults__", (5e4,))
    problem, _ = blobs(40, 3, 3)
    results = [solve(problem, "sdp", node_limit=5, threads=1) for _ in range(2)]
    assert results[0].lower_bound == results[1].lower_bound
    assert results[0].nodes == results[1].nodes
    assert math.isfinite(results[0].lower_bound)


def test_a_node_holds_one_set_of_matrices_at_a_time(monkeypatch) -> None:
    """When a node is contracted and the method starts again, the matrices from before are let go."""
    from certmix.search.bounds.semidefinite import visit as visit_module

    made, most = weakref.WeakSet(), []
    warm_start, prove = visit_module.warm_start, visit_module.prove

    def remember(*arguments):
        method = warm_start(*arguments)
        made.add(method)
        return method

    def look(*arguments):
        most.append(len(made))
        return prove(*arguments)

    monkeypatch.setattr(visit_module, "warm_start", remember)
    monkeypatch.setattr(visit_module, "prove", look)
    problem, _ = blobs(40, 3, 3)
    solve(problem, "sdp", node_limit=3, threads=1)
    assert max(most) == 1


def test_names_divide_pools_and_add_no_memory(monkeypatch) -> None:
    """The blocks of a node never have more entries than a root may have, whatever is refined and named.

    They lie side by side in every pool.
    """
    from certmix.search.bounds.semidefinite import pools as pools_module
    from certmix.search.bounds.semidefinite import visit as visit_module

    monkeypatch.setattr(pools_module, "FEW_ENTRIES", 0.0)
    monkeypatch.setattr(pools_module, "MOST_BLOCKS", 3)
    entries, named, prove = [], [], visit_module.prove

    def look(method, *arguments):
        entries.append(sum(b.x.size for b in method.blocks))
        named.append(sum(pool.must >= 0 for pool in method.pools))
        for p in range(len(method.pools)):
            sizes = [range(b.low, b.high + 1) for b in method.blocks if b.pool == p]
            assert all(a[-1] < b[0] for a, b in itertools.pairwise(sizes))
        return prove(method, *arguments)

    monkeypatch.setattr(visit_module, "prove", look)
    rng = np.random.default_rng(3)
    data = rng.normal(scale=1.2, size=(4, 5))[rng.integers(4, size=60)] + rng.normal(size=(60, 5))
    solve(Problem(data, 4, variance=1.0), "sdp", node_limit=4, threads=1, verify=False)
    assert max(named) == 4
    assert 0.7 * 3 * 4 * 60**2 < max(entries) <= 3 * 4 * 60**2
