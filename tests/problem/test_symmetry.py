"""Interchangeable components: swapping them must leave every labelling's feasibility and value as it is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from certmix.errors import InfeasibleError
from certmix.problem import (
    CannotLink,
    Covering,
    DirichletPrior,
    GaussianPrior,
    Implication,
    Label,
    MaximumSize,
    MinimumSize,
    MustLink,
    Packing,
    Problem,
    interchangeable,
    is_feasible,
)
from random_instances import random_problem


def value(problem: Problem, labels: np.ndarray) -> float:
    """The objective, infinite where the labels are not feasible."""
    if not is_feasible(problem, labels):
        return np.inf
    try:
        return float(problem.objective.best(labels).value)
    except InfeasibleError:
        return np.inf


def swap_changes_nothing(problem: Problem, j: int, k: int, labellings: list[np.ndarray]) -> bool:
    swap = np.arange(problem.n_components)
    swap[[j, k]] = k, j
    for labels in labellings:
        one, two = value(problem, labels), value(problem, swap[labels])
        if one != two and not abs(one - two) <= 1e-7 * (1 + abs(one)):
            return False
    return True


def test_interchangeable_components_may_be_swapped() -> None:
    """On random constrained problems, a swap within a class changes no value and no feasibility."""
    swaps = 0
    for seed in range(250):
        rng = np.random.default_rng([11, seed])
        try:
            problem = random_problem(rng, max_samples=6, max_components=3)
        except InfeasibleError:
            continue
        classes = interchangeable(problem)
        pairs = [
            (j, k) for j, k in itertools.combinations(range(len(classes)), 2) if classes[j] == classes[k]
        ]
        everything = [
            np.array(z) for z in itertools.product(range(problem.n_components), repeat=problem.n_samples)
        ]
        chosen = [everything[i] for i in rng.permutation(len(everything))[:60]]
        for j, k in pairs:
            assert swap_changes_nothing(problem, j, k, chosen)
            swaps += 1
    assert swaps > 100


Y = np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 3.0], [4.0, 1.5], [2.5, 2.0]])
TELLING = {
    "nothing": ({}, [0, 0, 0]),
    "links": ({"constraints": [MustLink(0, 1), CannotLink(1, 2), Implication(3, 4)]}, [0, 0, 0]),
    "sizes of all": ({"constraints": [MinimumSize(1), MaximumSize(3)]}, [0, 0, 0]),
    "size of one": ({"constraints": [MinimumSize(2, 1)]}, [0, 1, 0]),
    "same size of two": ({"constraints": [MinimumSize(2, 1), MinimumSize(2, 2)]}, [0, 1, 1]),
    "label": ({"constraints": [Label(0, 0)]}, [0, 1, 1]),
    "labels of each": ({"constraints": [Label(0, 0), Label(1, 1), Label(2, 2)]}, [0, 1, 2]),
    "implication in one": ({"constraints": [Implication(0, 1, 2)]}, [0, 0, 1]),
    "same implication in two": ({"constraints": [Implication(0, 1, 2), Implication(0, 1, 1)]}, [0, 1, 1]),
    "packing": ({"constraints": [Packing([0, 1, 2], 0, 1)]}, [0, 1, 1]),
    "same covering": ({"constraints": [Covering([0, 1], 0, 1), Covering([1, 0], 1, 1)]}, [0, 0, 1]),
    "weights": ({"weights": [0.25, 0.5, 0.25]}, [0, 1, 0]),
    "weight box": ({"weight_bounds": ([0, 0, 0.3], 1)}, [0, 0, 1]),
    "mean box": ({"mean_bounds": ([[0, 0], [0, 0], [1, 0]], 9)}, [0, 0, 1]),
    "alpha": ({"prior": DirichletPrior([2, 1, 2])}, [0, 1, 0]),
    "prior means": ({"prior": GaussianPrior([[0, 0], [1, 0], [1, 0]], 1.0)}, [0, 1, 1]),
    "variances": ({"variance": [1.0, 2.0, 1.0]}, [0, 1, 0]),
}


@pytest.mark.parametrize(("options", "expected"), TELLING.values(), ids=TELLING.keys())
def test_what_tells_components_apart(options: dict, expected: list[int]) -> None:
    """The classes are as expected, and brute force over all 243 labellings agrees with every pair."""
    problem = Problem(Y, 3, **{"variance": 1.0, **options})
    classes = interchangeable(problem)
    assert classes.tolist() == expected
    everything = [np.array(z) for z in itertools.product(range(3), repeat=5)]
    for j, k in itertools.combinations(range(3), 2):
        assert swap_changes_nothing(problem, j, k, everything) == (classes[j] == classes[k])
