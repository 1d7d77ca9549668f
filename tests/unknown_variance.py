"""Problems with an unknown variance, and the truth about them: every clustering with the best variance it can have."""

from __future__ import annotations

import itertools
import math

import numpy as np

from certmix.errors import InfeasibleError
from certmix.problem import Problem, is_feasible
from certmix.variance.unbounded import scatterless
from claims import Truth


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
