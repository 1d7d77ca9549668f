"""Small random problems with side constraints drawn blindly, and brute force over all their labellings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from certmix.errors import InfeasibleError
from certmix.problem import (
    CannotLink,
    Covering,
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
from certmix.problem.constraints import Constraint


def random_constraint(rng: np.random.Generator, n: int, K: int, source: str) -> Constraint:
    """Any constraint on n samples and K components."""
    samples = [int(i) for i in rng.permutation(n)]
    several = samples[: int(rng.integers(2, min(4, n) + 1))]
    k = int(rng.integers(K))
    perhaps = k if rng.random() < 0.6 else None
    match int(rng.integers(9)):
        case 0:
            return MustLink(*several, source=source)
        case 1:
            return CannotLink(*(several if rng.random() < 0.4 else samples[:2]), source=source)
        case 2:
            return Implication(samples[0], samples[1], perhaps, source=source)
        case 3:
            return Label(samples[0], k, source=source)
        case 4:
            return MinimumSize(int(rng.integers(0, n // 2 + 2)), perhaps, source=source)
        case 5:
            return MaximumSize(int(rng.integers(0, n + 1)), perhaps, source=source)
        case 6:
            return Packing(several, k, int(rng.integers(0, len(several) + 1)), source=source)
        case 7:
            return Partitioning(several, k, int(rng.integers(0, len(several) + 1)), source=source)
        case _:
            return Covering(several, k, int(rng.integers(0, len(several) + 1)), source=source)


def random_constrained(rng: np.random.Generator, most: int = 8) -> Problem:
    """A problem with 3 to 6 samples and up to ``most`` constraints, feasible or not."""
    n, K = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    data = rng.normal(size=(n, int(rng.integers(1, 3))))
    number = int(rng.integers(1, most + 1))
    constraints = [random_constraint(rng, n, K, f"row {row}") for row in range(1, number + 1)]
    estimators, mean_bounds, weight_bounds = [], None, None
    if rng.random() < 0.25:
        estimators.append("means")
        mean_bounds = tuple(np.quantile(data, q, axis=0) for q in np.sort(rng.random(2)))
    if rng.random() < 0.2:
        estimators.append("weights")
        weight_bounds = (rng.random() * 0.5 / K, 1 / K + rng.random())
    return Problem(
        data,
        K,
        variance=1.0,
        constraints=constraints,
        allow_empty=bool(n < K or rng.random() < 0.3),
        estimators=estimators,
        mean_bounds=mean_bounds,
        weight_bounds=weight_bounds,
    )


def labellings(problem: Problem) -> Iterator[np.ndarray]:
    for z in itertools.product(range(problem.n_components), repeat=problem.n_samples):
        yield np.array(z)


def acceptable(problem: Problem, labels: np.ndarray) -> bool:
    """Feasible for the side constraints, and for the evaluator where means or weights are tied."""
    if not is_feasible(problem, labels):
        return False
    try:
        problem.objective.best(labels)
    except InfeasibleError:
        return False
    return True


def has_solution(problem: Problem) -> bool:
    """Brute force."""
    return any(acceptable(problem, labels) for labels in labellings(problem))
