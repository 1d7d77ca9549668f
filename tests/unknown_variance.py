"""Problems with an unknown variance, and the truth about them: every clustering with the best variance it can have."""

from __future__ import annotations

import itertools
import math

import numpy as np

import certmix
from certmix.errors import InfeasibleError, InputError
from certmix.problem import Problem, is_feasible
from certmix.status import Status
from certmix.variance.unbounded import flat, scatterless
from claims import Truth

ROUNDING = 1e-8


def with_unknown_variance(problem: Problem, rng: np.random.Generator) -> Problem:
    """The problem with its covariance as a shape; half of the time with a range of variances, which may bind."""
    shape = problem.covariance.precision
    own = problem.replace(
        variance="unknown", precision=np.asarray(shape) if len(shape) > 1 else shape.entries[0]
    )
    if rng.random() < 0.5:
        return own
    low, high = np.sort(10.0 ** rng.uniform(-3, 3, 2))
    limits = (float(low) if rng.random() < 0.7 else None, float(high) if rng.random() < 0.7 else None)
    return problem.replace(
        variance="unknown",
        precision=np.asarray(shape) if len(shape) > 1 else shape.entries[0],
        variance_range=limits,
    )


def takes_diagonal(problem: Problem) -> bool:
    """Whether the problem can have an unknown variance for every feature."""
    free = not problem.prior.on_means and not problem.has_mean_box
    return 2 <= problem.n_features <= 3 and free and problem.covariance.shared


def with_unknown_diagonal(problem: Problem, rng: np.random.Generator) -> Problem:
    """The problem with an unknown variance for every feature; half of the time within a range, which may bind."""
    if rng.random() < 0.5:
        return problem.replace(variance="diagonal")
    low, high = np.sort(10.0 ** rng.uniform(-3, 3, 2))
    limits = (float(low) if rng.random() < 0.7 else None, float(high) if rng.random() < 0.7 else None)
    return problem.replace(variance="diagonal", variance_range=limits)


def truth_with_variance(problem: Problem) -> Truth:
    """The best clustering of all, each at its best variance; minus infinity when the objective has no bound."""
    best, labels = math.inf, None
    for given in itertools.product(range(problem.n_components), repeat=problem.n_samples):
        candidate = np.array(given)
        if not is_feasible(problem, candidate):
            continue
        try:
            value = best_value(problem, candidate)
        except InfeasibleError:
            continue
        if value < best:
            best, labels = value, candidate
    return Truth(best, labels)


def best_value(problem: Problem, labels: np.ndarray) -> float:
    """In closed form where means do not depend on the variance; else by a fine grid, made finer around its best."""
    assert problem.covariance.variances is not None
    n, d = problem.data.shape
    low, high = problem.covariance.variances
    if problem.covariance.per_feature:
        return best_diagonal_value(problem, labels)

    def at(variance: float) -> tuple[float, float]:
        """The objective at a variance with the best means there, and the half sum of squares."""
        known = problem.at_scale(1.0 / variance).objective
        means = known.best_means(labels)
        weights = known.best_weights(np.bincount(labels, minlength=problem.n_components))
        squares = 0.5 * float(problem.objective.distances_to_own(labels, means).sum())
        sizes = np.bincount(labels, minlength=problem.n_components)
        rest = known.weight_cost(sizes, weights) + known.mean_prior_cost(means)
        rest += float(sizes @ problem.covariance.half_log_det)
        return squares / variance + 0.5 * n * d * math.log(variance) + rest, squares

    widest, narrowest = (2.0 * at(v)[1] / (n * d) for v in (1e60, 1e-60))
    first, last = (min(max(v, low), high) for v in (narrowest, widest))
    if low == 0.0 and scatterless(problem, labels):
        return -math.inf
    if not problem.prior.on_means or "means" in problem.estimators:
        return at(first)[0]
    for _ in range(6):
        grid = np.geomspace(first, last, 60)
        values = [at(v)[0] for v in grid]
        i = int(np.argmin(values))
        first, last = grid[max(i - 1, 0)], grid[min(i + 1, 59)]
    return float(min(values))


def best_diagonal_value(problem: Problem, labels: np.ndarray) -> float:
    """Every feature has the variance around its averages; minus infinity where one has none."""
    assert problem.covariance.variances is not None
    y, n, sizes = problem.data, problem.n_samples, np.bincount(labels, minlength=problem.n_components)
    low = problem.covariance.variances[0]
    if low == 0.0 and any(flat(problem, labels, j) for j in range(problem.n_features)):
        return -math.inf
    squares = np.zeros(problem.n_features)
    for k in np.unique(labels):
        squares += ((y[labels == k] - y[labels == k].mean(axis=0)) ** 2).sum(axis=0)
    variances = np.clip(squares / n, *problem.covariance.variances)
    weights = problem.objective.best_weights(sizes)
    rest = problem.objective.weight_cost(sizes, weights)
    return float(np.sum(0.5 * squares / variances + 0.5 * n * np.log(variances)) + rest)


def agreement(problem: Problem, rng: np.random.Generator, where: str) -> str:
    """How a run ends whose bound is not above the optimum, and which has found that if it is closed; else an error."""
    truth = truth_with_variance(problem)
    gap = float(rng.choice([1e-6, 1e-4, 1e-2]))
    try:
        result = certmix.solve(problem, gap=gap, verify=False)
    except InputError as error:
        return f"{error}" if truth.optimum > -math.inf else "unbounded"
    if truth.infeasible:
        assert result.status is Status.INFEASIBLE, where
        return "infeasible"
    slack = ROUNDING * max(1.0, abs(truth.optimum))
    assert result.lower_bound <= truth.optimum + slack, where
    assert result.objective >= truth.optimum - slack, where
    if result.status is Status.OPTIMAL:
        assert result.objective <= truth.optimum + gap * max(1.0, abs(truth.optimum)) + slack, where
    return str(result.status)
