"""A likelihood without a maximum: a clustering without scatter, and no smallest variance."""

from __future__ import annotations

import numpy as np

from certmix.errors import InfeasibleError, InputError
from certmix.problem import Problem, is_feasible
from certmix.problem.scale import FAR
from certmix.rounding import EPS


def unbounded(problem: Problem) -> InputError:
    """The error about it."""
    n, K = problem.n_samples, problem.n_components
    of = f"{n} sample{'s' * (n > 1)} and {K} component{'s' * (K > 1)}"
    return InputError(
        f"the likelihood has no maximum: with {of} a clustering has no scatter at all, so that its variance can be as "
        "small as one likes; give a smallest variance (--variance-range LO; in Python variance_range=(LO, None)), a "
        "known variance (--variance V; variance=V), or fewer components"
    )


def refuse_unbounded(problem: Problem) -> None:
    """An error where the samples have no more different places than there are components, and no smallest variance."""
    assert problem.covariance.variances is not None
    K = problem.n_components
    if problem.covariance.variances[0] > 0.0:
        return
    places, of = np.unique(problem.data, axis=0, return_inverse=True)
    if len(places) > K:
        return
    labels, spare = of.reshape(-1).astype(np.int64), K - len(places)
    for i in range(
        problem.n_samples
    ):  # components beyond the places take samples from those that have several
        if spare and np.count_nonzero(labels == labels[i]) > 1:
            labels[i] = K - spare
            spare -= 1
    if scatterless(problem, labels):
        raise unbounded(problem)


def scatterless(problem: Problem, labels: np.ndarray) -> bool:
    """Whether an admissible clustering has samples in no other places than its means, but for rounding."""
    if not is_feasible(problem, labels):
        return False
    try:
        means = problem.at_scale(FAR).objective.best_means(labels)
    except InfeasibleError:
        return False
    squares = problem.objective.distances_to_own(labels, means).sum()
    size = problem.objective.distances_to_own(labels, np.zeros_like(means)).sum()
    rounding = 4.0 * problem.n_samples * EPS  # of an average, relative to the samples
    return bool(squares <= rounding**2 * size)
