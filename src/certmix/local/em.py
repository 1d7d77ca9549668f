"""Soft expectation maximisation with known covariance."""

from __future__ import annotations

import time

import numpy as np
from scipy.special import logsumexp

from certmix.local.kmeans import kmeans
from certmix.local.parameters import best_parameters, group_costs, one_hot
from certmix.local.rounding import conclude
from certmix.local.solution import LocalSolution
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem
from certmix.problem.features import Feature

# While iterating: a group shares one component, and a known label leaves no other.
DURING = frozenset({Feature.MUST_LINK, Feature.LABEL})


def em(
    problem: Problem,
    *,
    seed: int = 0,
    start: np.ndarray | None = None,
    max_iterations: int = 5_000,
    tolerance: float = 1e-13,
    time_limit: float | None = None,
) -> LocalSolution:
    r"""EM for the marginal posterior of means and weights.

    With :math:`c_{gk}` the cost of group g in component k (the sum over its samples of :math:`\tfrac12
    |y-\mu_k|^2_P + \tfrac12\log\det\Sigma_k - \log\pi_k`, infinite where its label is another), minimise

    .. math:: -\sum_g \log \sum_k e^{-c_{gk}} - \log p(\mu, \pi)

    by alternating responsibilities :math:`r_{gk} \propto e^{-c_{gk}}` and the best parameters for them. The
    value never rises, unless estimator constraints forbid the best parameters. Priors and boxes enter the
    second step by the evaluator's own formulas.

    It starts from the clusters of ``start``, or of k-means with this seed, and stops where the value falls by less than
    ``tolerance``, relatively, or after so many iterations or seconds.
    """
    begin = time.perf_counter()
    instance = reduce(problem)
    shares = one_hot(starting_labels(problem, seed, start), problem.n_components)
    history: list[float] = []
    converged = False
    for _ in range(max_iterations):
        means, weights = best_parameters(problem, shares)
        responsibilities, value = _expectation(instance, means, weights)
        history.append(value)
        if len(history) > 1 and history[-2] - value <= tolerance * max(1.0, abs(value)):
            converged = True
            break
        if time_limit is not None and time.perf_counter() - begin > time_limit:
            break
        shares = responsibilities[instance.groups.of]
    return conclude(
        instance,
        method="EM",
        means=means,
        weights=weights,
        own_labels=instance.expand(responsibilities.argmax(axis=1)),
        responsibilities=responsibilities[instance.groups.of],
        history=history,
        iterations=len(history),
        converged=converged,
        during=DURING,
    )


def starting_labels(problem: Problem, seed: int, start: np.ndarray | None) -> np.ndarray:
    """The given labels, or those of k-means."""
    if start is not None:
        return np.asarray(problem.objective.checked_labels(np.asarray(start)))
    found = kmeans(problem, seed=seed)
    return found.own_labels if found.labels is None else found.labels


def _expectation(instance: Instance, means: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Responsibilities of the groups, (N, K), and the value that EM minimises."""
    problem = instance.problem
    costs = group_costs(instance, problem.objective.component_costs(means, weights))
    total = logsumexp(-costs, axis=1, keepdims=True)
    value = -float(total.sum()) + problem.objective.mean_prior_cost(means)
    value += problem.objective.weight_cost(np.zeros(problem.n_components), weights)
    return np.exp(-costs - total), value
