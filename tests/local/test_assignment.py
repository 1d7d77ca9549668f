"""The exact assignment step against brute force, and its layers against each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from certmix.errors import CertmixError
from certmix.local import assignment
from certmix.local.assignment import Assigner, Program, satisfies, special_groups
from certmix.presolve.instance import Instance, reduce
from certmix.problem import (
    CannotLink,
    Implication,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Partitioning,
    Problem,
    is_feasible,
)
from random_instances import random_problem


def brute_force(instance: Instance, costs: np.ndarray) -> float:
    """The cheapest of all labellings that satisfy the problem's constraints; infinite when there is none."""
    N, K = costs.shape
    best = np.inf
    for labels in itertools.product(range(K), repeat=N):
        value = costs[np.arange(N), labels].sum()
        if value < best and is_feasible(instance.problem, instance.expand(np.array(labels))):
            best = value
    return float(best)


def value_of(costs: np.ndarray, labels: np.ndarray | None) -> float:
    return np.inf if labels is None else float(costs[np.arange(len(labels)), labels].sum())


@pytest.mark.parametrize("small", [assignment._SMALL, 0])
def test_cheapest_labels_under_every_constraint(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On random instances the labels are feasible and as cheap as the best of all; None only where there are none.

    Both with the plain integer program and with the one made small by reduced costs.
    """
    monkeypatch.setattr(assignment, "_SMALL", small)
    infeasible = coupled = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        try:
            instance = reduce(random_problem(rng, max_samples=7))
        except CertmixError:
            continue
        costs = rng.normal(size=instance.allowed.shape)
        if seed % 5 == 0:
            costs = np.round(costs)  # ties
        labels, best = Assigner(instance)(costs), brute_force(instance, costs)
        assert value_of(costs, labels) == pytest.approx(best, abs=1e-9)
        if labels is not None:
            assert is_feasible(instance.problem, instance.expand(labels))
        infeasible += labels is None
        coupled += instance.coupled
    assert infeasible > 3
    assert coupled > 30


def test_satisfies_agrees_with_the_problem() -> None:
    """The check on groups and the check on samples are the same check."""
    outcomes = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        try:
            instance = reduce(random_problem(rng, max_samples=6))
        except CertmixError:
            continue
        for _ in range(10):
            labels = rng.integers(0, instance.n_components, instance.n_groups)
            expected = is_feasible(instance.problem, instance.expand(labels))
            assert satisfies(instance, labels) == expected
            outcomes.add(expected)
    assert outcomes == {True, False}


def mixed_instance(rng: np.random.Generator, n: int) -> Instance:
    """Conflicts, must-links, an implication, a packing constraint and size limits that bind, all at once."""

    def two() -> tuple[int, int]:
        i, j = rng.choice(n, 2, replace=False)
        return int(i), int(j)

    constraints = [CannotLink(*two()) for _ in range(15)] + [MustLink(*two()) for _ in range(8)]
    constraints += [Implication(*two(), 1), Packing([int(i) for i in rng.choice(n, 15, replace=False)], 0, 3)]
    constraints += [MinimumSize(n // 4 - 5), MaximumSize(n // 4 + 10)]
    return reduce(Problem(rng.normal(size=(n, 2)), 4, variance=1.0, constraints=constraints))


def test_reduced_costs_close_nothing_that_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With everything at once, the reduced program costs the same as the full one."""
    monkeypatch.setattr(assignment, "_SMALL", 0)
    compared = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        instance = mixed_instance(rng, 160)
        if instance.groups.contradiction:
            continue
        costs = rng.normal(size=instance.allowed.shape) + 0.7 * np.arange(4)
        full = Program(
            instance, np.arange(instance.n_groups), size_limits=(instance.size_lower, instance.size_upper)
        )
        expected, labels = full.solve(costs), Assigner(instance)(costs)
        assert value_of(costs, labels) == pytest.approx(value_of(costs, expected), abs=1e-7)
        if labels is not None:
            assert satisfies(instance, labels)
            compared += 1
    assert compared > 4


def test_size_limits_alone_scale_to_many_samples() -> None:
    """Twenty thousand samples in five components of equal size: feasible, and optimal by the prices of the flow."""
    rng = np.random.default_rng(0)
    n, K = 20_000, 5
    instance = reduce(Problem(rng.normal(size=(n, 2)), K, variance=1.0, constraints=[MinimumSize(n // K)]))
    costs = rng.normal(size=(n, K)) + 0.5 * np.arange(K)
    labels = Assigner(instance)(costs)
    assert labels is not None
    assert np.all(np.bincount(labels) == n // K)
    for k in range(K):  # no two samples gain by trading places
        for other in range(k):
            there = (costs[:, other] - costs[:, k])[labels == k].min()
            back = (costs[:, k] - costs[:, other])[labels == other].min()
            assert there + back >= -1e-9


def test_groups_of_equal_weight_share_the_flow() -> None:
    """Pairs of must-linked samples with limits in samples: two pairs fit into a component of five, three do not."""
    links = [MustLink(2 * i, 2 * i + 1) for i in range(5)]
    instance = reduce(
        Problem(np.arange(10.0), 2, variance=1.0, constraints=[*links, MaximumSize(5, 0), MinimumSize(3, 0)])
    )
    costs = np.column_stack([np.zeros(5), np.arange(5.0)])
    labels = Assigner(instance)(costs)
    assert labels is not None
    assert labels.tolist() == [1, 1, 1, 0, 0]


def test_contradictions_have_no_assignment() -> None:
    """A known label against a conflict, and counts that cannot be met, give None rather than labels."""
    data = np.arange(4.0)
    fixed = [Label(0, 0), Label(1, 0), CannotLink(0, 1)]
    assert Assigner(reduce(Problem(data, 2, variance=1.0, constraints=fixed)))(np.zeros((4, 2))) is None
    counts = [Partitioning([0, 1, 2], 0, 3), MaximumSize(2, 0)]
    assert Assigner(reduce(Problem(data, 2, variance=1.0, constraints=counts)))(np.zeros((4, 2))) is None


def test_special_groups_are_those_in_constraints_or_of_several_samples() -> None:
    """Everything that keeps a group from being a plain unit of the flow."""
    constraints = [MustLink(0, 1), CannotLink(2, 3), Implication(4, 5, 1), Packing([6, 7], 0, 1)]
    instance = reduce(Problem(np.arange(10.0), 3, variance=1.0, constraints=constraints))
    assert special_groups(instance).tolist() == [True] * 7 + [False] * 2
