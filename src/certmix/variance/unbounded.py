"""A likelihood without a maximum: a clustering without scatter, and no smallest variance."""

from __future__ import annotations

import numpy as np

from certmix.errors import InfeasibleError, InputError
from certmix.problem import Problem, is_feasible
from certmix.problem.scale import FAR
from certmix.rounding import EPS

LEAST_SPREAD = 1e-80  # of values: squares of less could not be scaled


def unbounded(problem: Problem, feature: int | None = None) -> InputError:
    """The error about it; where every feature has a variance of its own, one feature is enough."""
    n, K = problem.n_samples, problem.n_components
    of = f"{n} sample{'s' * (n > 1)} and {K} component{'s' * (K > 1)}"
    where = "at all" if feature is None else f"in {problem.samples.feature(feature)}"
    return InputError(
        f"the likelihood has no maximum: with {of} a clustering has no scatter {where}, so that its variance can be as "
        "small as one likes; give a smallest variance (--variance-range LO; in Python variance_range=(LO, None)), a "
        "known variance (--variance V; variance=V), or fewer components"
    )


def refuse_unbounded(problem: Problem) -> None:
    """An error where the samples have no more different places than there are components, and no smallest variance.

    And one where their squares are too small to be told from nothing.
    """
    assert problem.covariance.variances is not None
    K = problem.n_components
    if problem.covariance.variances[0] > 0.0:
        return
    spread = np.ptp(problem.data, axis=0)
    spread = spread if problem.covariance.per_feature else spread.max()
    if np.any((spread > 0.0) & (spread < LEAST_SPREAD)):
        raise InputError(
            f"values differ by less than {LEAST_SPREAD:g}: their squares are lost; rescale the data"
        )
    if problem.covariance.per_feature:
        for j in range(problem.n_features):
            labels = _by_place(problem.data[:, [j]], K)
            if labels is not None and flat(problem, labels, j):
                raise unbounded(problem, j)
        return
    labels = _by_place(problem.data, K)
    if labels is not None and scatterless(problem, labels):
        raise unbounded(problem)


def _by_place(data: np.ndarray, K: int) -> np.ndarray | None:
    """A clustering by place, if there are no more places than components."""
    places, of = np.unique(data, axis=0, return_inverse=True)
    if len(places) > K:
        return None
    labels, spare = of.reshape(-1).astype(np.int64), K - len(places)
    for i in range(len(data)):  # components beyond the places take samples from those that have several
        if spare and np.count_nonzero(labels == labels[i]) > 1:
            labels[i] = K - spare
            spare -= 1
    return labels


def flat(problem: Problem, labels: np.ndarray, j: int) -> bool:
    """Whether an admissible clustering has no scatter in a feature, but for rounding."""
    if not is_feasible(problem, labels):
        return False
    try:
        means = problem.at_scale(np.full(problem.n_features, FAR)).objective.best_means(labels)
    except InfeasibleError:
        return False
    squares = float(((problem.data[:, j] - means[labels, j]) ** 2).sum())
    rounding = 4.0 * problem.n_samples * EPS
    return bool(squares <= rounding**2 * float((problem.data[:, j] ** 2).sum()))


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
