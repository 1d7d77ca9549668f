"""Must-links merged and labels propagated: nothing feasible is lost, and the obvious is found."""

from __future__ import annotations

import itertools

import numpy as np
from constrained import labellings, random_constrained

from certmix.presolve.groups import group_samples
from certmix.problem import (
    CannotLink,
    Implication,
    Label,
    MaximumSize,
    MustLink,
    Problem,
    is_feasible,
)
from certmix.problem.constraints import Constraint


def grouped(n: int, K: int, *constraints: Constraint):
    return group_samples(Problem(np.arange(float(n)), K, variance=1.0, constraints=constraints))


def test_every_feasible_labelling_survives() -> None:
    """On random problems, every feasible labelling is constant on groups, allowed, and free of conflicts."""
    seen = 0
    for seed in range(150):
        problem = random_constrained(np.random.default_rng([1, seed]))
        groups = group_samples(problem)
        for labels in labellings(problem):
            if not is_feasible(problem, labels):
                continue
            seen += 1
            assert not groups.contradiction
            of_group = np.empty(groups.n_groups, dtype=int)
            of_group[groups.of] = labels
            np.testing.assert_array_equal(of_group[groups.of], labels)
            assert groups.allowed[np.arange(groups.n_groups), of_group].all()
            for a, b in groups.conflicts:
                assert of_group[a] != of_group[b]
            for a, b, k in groups.implications:
                assert of_group[a] != k or of_group[b] == k
    assert seen > 500


def test_groups_are_numbered_by_their_first_sample() -> None:
    """Links 4-0 and 2-3 make the groups {0, 4}, {1}, {2, 3}."""
    groups = grouped(5, 2, MustLink(4, 0), MustLink(2, 3))
    assert groups.of.tolist() == [0, 1, 2, 2, 0]
    assert groups.weight.tolist() == [2, 1, 2]


def test_implication_for_every_component_is_a_must_link() -> None:
    """A sample that must be wherever another is shares its group."""
    groups = grouped(3, 2, Implication(0, 2))
    assert groups.of.tolist() == [0, 1, 0]
    assert len(groups.implications) == 0


def test_labels_reach_through_links() -> None:
    """With two components a label decides a whole chain of cannot-links."""
    groups = grouped(4, 2, Label(0, 1), CannotLink(0, 1), CannotLink(1, 2), CannotLink(2, 3))
    assert groups.allowed.argmax(axis=1).tolist() == [1, 0, 1, 0]
    assert (groups.allowed.sum(axis=1) == 1).all()


def test_implications_propagate_both_ways() -> None:
    """If 0 in k implies 1 in k: 0 in k brings 1 along, and 1 out of k keeps 0 out."""
    forward = grouped(3, 3, Label(0, 2), Implication(0, 1, 2))
    assert forward.allowed[1].tolist() == [False, False, True]
    backward = grouped(3, 3, Label(1, 0), Implication(0, 1, 2))
    assert backward.allowed[0].tolist() == [True, True, False]


def test_groups_too_large_for_a_component() -> None:
    """A group with more samples than a component may hold is kept out of it."""
    groups = grouped(4, 2, MustLink(0, 1, 2), MaximumSize(2, 0))
    assert groups.allowed[0].tolist() == [False, True]


def test_contradictions_that_propagation_finds() -> None:
    """Apart from itself, two labels, or no component left."""
    assert grouped(3, 2, MustLink(0, 1), MustLink(1, 2), CannotLink(0, 2)).contradiction
    assert grouped(3, 2, MustLink(0, 1), Label(0, 0), Label(1, 1)).contradiction
    assert grouped(3, 2, Label(0, 0), Label(1, 1), CannotLink(0, 2), CannotLink(1, 2)).contradiction
    assert grouped(2, 1, CannotLink(0, 1)).contradiction
    assert not grouped(3, 2, MustLink(0, 1), CannotLink(1, 2)).contradiction


def test_long_chains_are_propagated() -> None:
    """Ten thousand implications in the worst order and ten thousand links are no trouble."""
    n = 10_001
    chain = [Implication(i, i + 1, 0) for i in reversed(range(n - 1))]
    assert (grouped(n, 3, *chain, Label(0, 0)).allowed.argmax(axis=1) == 0).all()
    links = [CannotLink(i, i + 1) for i in reversed(range(n - 1))]
    allowed = grouped(n, 2, *links, Label(n - 1, 0)).allowed
    assert (allowed.sum(axis=1) == 1).all()
    assert grouped(n, 2, *(MustLink(i, i + 1) for i in range(n - 1))).n_groups == 1


def test_conflicts_are_listed_once() -> None:
    """A pair that is apart for several reasons, or through several members, is one conflict."""
    groups = grouped(4, 3, MustLink(0, 1), CannotLink(0, 2), CannotLink(2, 1), CannotLink(2, 0, 3))
    expected = {tuple(sorted(pair)) for pair in itertools.combinations(sorted({0, 1, 2}), 2)}
    assert {tuple(pair) for pair in groups.conflicts.tolist()} == expected
