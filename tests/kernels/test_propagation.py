"""Constraint propagation against all labellings of small instances."""

from __future__ import annotations

import numpy as np

from brute_force import Clusterings, Node, node_around, wide_node
from certmix.kernels.arrays import Arrays
from certmix.kernels.propagation import propagate
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
from certmix.problem.features import Feature
from random_instances import random_problem

CONSTRAINTS = {
    Feature.MUST_LINK,
    Feature.CANNOT_LINK,
    Feature.IMPLICATION,
    Feature.LABEL,
    Feature.SIZE,
    Feature.COUNTING,
    Feature.ALLOW_EMPTY,
}


def narrowed(problem: Problem) -> tuple[bool, Node]:
    """The root after propagation."""
    instance = reduce(problem)
    arrays = instance_arrays(instance)
    return narrowed_node(wide_node(instance, arrays), problem.n_samples, arrays)


def narrowed_node(node: Node, n: int, arrays: Arrays) -> tuple[bool, Node]:
    node = node.copy()
    return propagate(node.words, node.a, node.b, n, arrays), node


def line(n: int, K: int, *constraints: object) -> Problem:
    return Problem(np.arange(float(n))[:, None], K, variance=1.0, constraints=constraints)


def test_propagation_removes_no_clustering() -> None:
    """Every feasible labelling of a node survives; a node is called empty only when it has none."""
    emptied = narrowed_nodes = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 7])
        problem = random_problem(rng, max_samples=6, max_components=3, features=CONSTRAINTS)
        instance = reduce(problem)
        if instance.groups.contradiction:
            continue
        found = Clusterings(instance, instance_arrays(instance))
        K = instance.n_components
        nodes = [wide_node(instance, found.arrays)]
        for row in rng.integers(len(found.labels), size=6):  # around any labelling, feasible or not
            nodes.append(node_around(rng, found, int(row)))
        for before in nodes:
            inside = found.inside(before) & found.feasible
            alive, after = narrowed_node(before, problem.n_samples, found.arrays)
            emptied += not alive
            if not alive:
                assert not inside.any(), seed
                continue
            assert np.all(found.inside(after)[inside]), seed
            assert np.all(after.mask & ~before.mask == 0), seed
            assert np.all(after.mask != 0), seed
            assert np.all(after.a >= before.a), seed
            assert np.all(after.b <= before.b), seed
            narrowed_nodes += after.candidates(K).sum() < before.candidates(K).sum()
            again, twice = narrowed_node(after, problem.n_samples, found.arrays)
            assert again, seed
            assert np.array_equal(twice.mask, after.mask), f"{seed}: a second pass finds nothing new"
    assert emptied > 20
    assert narrowed_nodes > 50


def test_conflicts_and_implications_chain() -> None:
    """0 in A forces 1 in A (implication), which keeps 2 out of A (conflict): with two components it is in B."""
    problem = line(4, 2, Label(0, 0), Implication(0, 1, 0), CannotLink(1, 2))
    alive, node = narrowed(problem)
    assert alive
    assert node.mask.tolist() == [1, 1, 2, 3]


def test_counts_fill_up_and_close() -> None:
    """At least 2 of {0, 1} in A puts both there; at most 2 of {0, 1, 2} in A then keeps 2 out."""
    alive, node = narrowed(line(5, 2, Covering([0, 1], 0, 2), Packing([0, 1, 2], 0, 2)))
    assert alive
    assert node.mask.tolist() == [1, 1, 2, 3, 3]


def test_sizes_leave_what_the_others_leave() -> None:
    """With 5 samples, at least 2 in A and at most 2 in B: A holds 3 or 4."""
    alive, node = narrowed(line(5, 2, MinimumSize(2, 0), MaximumSize(2, 1)))
    assert alive
    assert node.a.tolist() == [3.0, 1.0]
    assert node.b.tolist() == [4.0, 2.0]


def test_a_full_component_takes_no_more() -> None:
    """A may hold two samples and has them: the others go elsewhere, and a third one is a contradiction."""
    alive, node = narrowed(line(4, 2, Label(0, 0), Label(1, 0), MaximumSize(2, 0)))
    assert alive
    assert node.mask.tolist() == [1, 1, 2, 2]
    crowded = line(4, 2, Label(0, 0), Label(1, 0), Label(2, 0), MaximumSize(2, 0))
    assert not narrowed(crowded)[0]
