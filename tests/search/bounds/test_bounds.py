"""What the bounds say about a node, against all clusterings of small instances that lie in it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from brute_force import Clusterings, Node, node_around
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.arrays import instance_arrays
from certmix.presolve.instance import reduce
from certmix.problem import CannotLink, DirichletPrior, GaussianPrior, Problem
from certmix.search.bounds.base import Bound, Explored
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.interval import IntervalBound
from certmix.search.loop import search
from certmix.search.nodes import Nodes
from random_instances import random_problem
from soundness import examine


def small_instances(first: int, count: int) -> Iterator[tuple[int, Clusterings]]:
    """Random feasible instances with all their clusterings."""
    seed, made = first, 0
    while made < count:
        rng = np.random.default_rng([seed, 57])
        instance = reduce(random_problem(rng, max_samples=6, max_components=3))
        seed += 1
        if instance.groups.contradiction:
            continue
        found = Clusterings(instance, instance_arrays(instance))
        if found.feasible.any():
            made += 1
            yield seed - 1, found


def as_nodes(bound: Bound, node: Node) -> Nodes:
    """One node as the loop would hand it over, somewhere below the root."""
    fields = {name: array[:1].copy() for name, array in bound.root().fields.items()}
    for name in ("lo", "hi", "a", "b"):
        fields[name][0] = getattr(node, name)
    fields["mask"][0] = node.words
    fields["bound"][0] = -math.inf
    fields["depth"][0] = 3
    return Nodes(fields)


def as_node(nodes: Nodes, row: int) -> Node:
    return Node(
        *(nodes[name][row].copy() for name in ("lo", "hi", "a", "b")),
        nodes["mask"][row, :, 0].astype(np.int64),
    )


def dual_bound(found: Clusterings, row: int, seed: int, fewest: int = 1) -> DualBound:
    labels = found.instance.expand(found.labels[row])
    return DualBound(found.instance, labels, allowed=1e-6, seed=seed, fewest=fewest)


def check(seed: int, found: Clusterings, bound: Bound, node: Node, cutoff: float) -> Explored:
    """The bound of a node, and what of it lives on in its children, against every clustering in it.

    A clustering may be left out when it costs the cutoff or more, when a single move improves it, or when its
    interchangeable components are numbered in another order.
    """
    rows = found.inside(node) & found.stable() & found.ordered()
    rows &= found.objective < cutoff - 1e-9 * (1.0 + abs(cutoff))
    explored = bound.explore(as_nodes(bound, node), cutoff)
    value = float(explored.nodes.bound[0])
    slack = 1e-12 * (1.0 + np.abs(np.where(rows, found.objective, 0.0)))
    assert np.all(value <= np.where(rows, found.objective + slack, math.inf)), f"seed {seed}: bound {value}"
    if explored.open[0]:
        children = bound.branch(explored)
        held = np.zeros(len(found.labels), dtype=bool)
        for child in range(len(children)):
            held |= found.inside(as_node(children, child), slack=1e-9)
        assert np.all(held[rows]), f"seed {seed}: a clustering is in no child"
        assert np.all(children.bound <= value)
    for labels in explored.clusterings:
        assert labels.shape == (found.instance.n_samples,)
    return explored


def cutoffs(rng: np.random.Generator, found: Clusterings, row: int) -> float:
    return float(found.objective[row] + rng.choice([math.inf, 1e-3, 0.5, 5.0]))


@pytest.mark.parametrize("block", range(2))
def test_interval_bound_is_below_every_clustering_in_the_node(block: int) -> None:
    """The interval bound of random nodes, and the children that a branching leaves."""
    for seed, found in small_instances(500 * block, 60):
        rng = np.random.default_rng(seed)
        bound = IntervalBound(found.instance)
        candidates = np.flatnonzero(found.stable() & found.ordered())
        for row in rng.choice(candidates, size=4):
            check(seed, found, bound, node_around(rng, found, int(row)), cutoffs(rng, found, int(row)))


@pytest.mark.parametrize("block", range(2))
def test_dual_bound_is_below_every_clustering_in_the_node(block: int) -> None:
    """The dual bound, with multipliers however few groups are open."""
    for seed, found in small_instances(3000 + 500 * block, 12):
        rng = np.random.default_rng(seed)
        candidates = np.flatnonzero(found.stable() & found.ordered())
        row = int(rng.choice(candidates))
        bound = dual_bound(found, row, seed)
        check(seed, found, bound, node_around(rng, found, row), cutoffs(rng, found, row))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_dual_bound_is_below_every_clustering_in_many_nodes(block: int) -> None:
    """The same on more nodes."""
    for seed, found in small_instances(10_000 + 1000 * block, 250):
        rng = np.random.default_rng(seed)
        candidates = np.flatnonzero(found.stable() & found.ordered())
        for row in rng.choice(candidates, size=2):
            bound = dual_bound(found, int(row), seed)
            check(seed, found, bound, node_around(rng, found, int(row)), cutoffs(rng, found, int(row)))


def test_root_bounds_are_below_the_optimum() -> None:
    """Whatever the dual bound reports about the root, it is a bound on the whole problem."""
    for seed, found in small_instances(4000, 10):
        reported: list[float] = []
        row = int(np.argmin(found.objective))
        bound = DualBound(
            found.instance,
            found.instance.expand(found.labels[row]),
            allowed=1e-6,
            fewest=1,
            on_root_bound=reported.append,
        )
        optimum = float(found.objective[row])
        roots = bound.root()
        for i in range(len(roots)):
            bound.explore(roots.take(np.array([i])), optimum + 1e-3)
        assert all(value <= optimum + 1e-12 * (1.0 + abs(optimum)) for value in reported), seed
        assert bound.advance_root(optimum, 1e9) in (True, False)
        assert all(value <= optimum + 1e-12 * (1.0 + abs(optimum)) for value in reported), seed


def test_roots_hold_every_clustering() -> None:
    """Every feasible clustering, numbered the search's way, lies in a root: with empty components too."""
    for seed, found in small_instances(6000, 40):
        roots = IntervalBound(found.instance).root()
        held = np.zeros(len(found.labels), dtype=bool)
        for i in range(len(roots)):
            held |= found.inside(as_node(roots, i))
        assert np.all(held[found.feasible & found.ordered()]), seed


# -- cases that once went wrong ----------------------------------------------------------------------------------
def run(problem: Problem, *, fewest: int, labels: np.ndarray) -> Ledger:
    """The loop with the dual bound, to the end."""
    options = Options(gap=1e-9)
    ledger = Ledger(problem, options.tolerances)
    ledger.offer(labels, "start")
    bound = DualBound(reduce(problem), labels, allowed=1e-6, fewest=fewest, on_root_bound=ledger.raise_bound)
    search(bound, ledger, options)
    return ledger


def optimum(problem: Problem) -> float:
    instance = reduce(problem)
    return float(Clusterings(instance, instance_arrays(instance)).objective.min())


def test_one_of_several_roots_speaks_for_itself_only() -> None:
    """With empty components allowed, the root in which all are used may be far above the optimum."""
    y = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])[:, None]
    problem = Problem(y, 3, variance=4.0, allow_empty=True, prior=GaussianPrior(0.0, 0.01))
    ledger = run(problem, fewest=1, labels=np.array([0, 1, 2, 0, 1, 2]))
    assert ledger.bound <= optimum(problem) + 1e-9
    assert ledger.upper == pytest.approx(optimum(problem), abs=1e-6)


def test_an_empty_component_may_have_a_negative_cost() -> None:
    """With fixed weights and alpha below one an empty component costs (alpha - 1) log(1 / pi), less than nothing."""
    y = np.array([0.0, 0.2, 0.3, 1.5, 1.6, 1.8])[:, None]
    prior = DirichletPrior([1.0, 1.0, 0.1])
    problem = Problem(y, 3, variance=1.0, allow_empty=True, weights=[0.495, 0.495, 0.01], prior=prior)
    ledger = run(problem, fewest=1, labels=np.array([0, 0, 0, 1, 1, 2]))
    assert optimum(problem) < -4.0 + 6 * math.log(2.0) + 2.0, "0.9 log 0.01 is -4.1"
    assert ledger.bound <= optimum(problem) + 1e-9
    assert ledger.upper == pytest.approx(optimum(problem), abs=1e-6)


def test_a_weight_tied_to_an_empty_component_rules_it_out() -> None:
    """Tied weights and a Dirichlet prior give an empty component an infinite cost; the search closes all the same."""
    y = np.array([0.0, 0.2, 0.3, 1.0, 1.1])[:, None]
    problem = Problem(
        y, 2, variance=1.0, allow_empty=True, estimators=["weights"], prior=DirichletPrior([1.0, 3.0])
    )
    options = Options(gap=1e-9)
    ledger = Ledger(problem, options.tolerances)
    search(IntervalBound(reduce(problem)), ledger, options)
    assert ledger.closed
    assert ledger.upper == pytest.approx(optimum(problem))


def test_pairs_apart_are_priced_apart() -> None:
    """With several cannot-links the dual bound stays below the optimum and the search finds it."""
    rng = np.random.default_rng(8)
    y = np.concatenate([rng.normal(size=(4, 2)), rng.normal(size=(4, 2)) + 1.5])
    problem = Problem(y, 2, variance=1.0, constraints=[CannotLink(0, 1), CannotLink(2, 3), CannotLink(4, 5)])
    ledger = run(problem, fewest=1, labels=np.array([0, 1, 0, 1, 0, 1, 1, 1]))
    assert ledger.closed
    assert ledger.bound <= optimum(problem) + 1e-9
    assert ledger.upper == pytest.approx(optimum(problem), abs=1e-6)


def test_a_component_without_candidates_closes_the_node() -> None:
    """When the cutoff has taken all candidates of a component away, nothing in the node is worth pricing."""
    problem = Problem(np.arange(6.0)[:, None], 3, variance=1.0)
    bound = DualBound(reduce(problem), np.array([0, 0, 1, 1, 2, 2]), allowed=1e-6, fewest=1)
    fields = {name: array.copy() for name, array in bound.root().fields.items()}
    fields["mask"][0] = 0b011
    fields["depth"][0] = 1
    found = bound._lagrangian(Nodes(fields), 0, 100.0, False)
    assert found is not None
    assert found[0] == math.inf


def test_a_master_that_goes_round_in_circles_ends() -> None:
    """With costs of 1e7 HiGHS's simplex method did not end on a small master; the soundness program found it."""
    assert examine(60_260, seconds=4.0, only=("dual loop",)).violations == []
