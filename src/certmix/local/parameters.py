"""Best parameters for shares of samples, and costs of groups: the steps that soft methods share."""

from __future__ import annotations

import numpy as np

from certmix.presolve.instance import Instance
from certmix.problem import Problem
from certmix.problem.objective import water_fill

# Less of a component than this is nothing: its mean is then the prior's.
_NOTHING = 1e-10


def best_parameters(problem: Problem, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and weights that are best for shares of the samples in the components, (n, K), by the
    evaluator's formulas.

    A share is a fraction of a sample. Where estimator constraints cannot hold for fractional sizes or for
    an average outside its box, the nearest allowed parameters are taken; the final labels are judged by the
    evaluator anyway.
    """
    objective = problem.objective
    centre = problem.data.mean(axis=0)
    sizes = shares.sum(axis=0)
    totals = shares.T @ (problem.data - centre)
    means = np.empty((problem.n_components, problem.n_features))
    for k in range(problem.n_components):
        average = centre + totals[k] / sizes[k] if sizes[k] > _NOTHING else None
        means[k] = objective.best_mean(k, sizes[k] if average is not None else 0, average, centre)
    return means, _weights(problem, sizes)


def _weights(problem: Problem, sizes: np.ndarray) -> np.ndarray:
    if problem.fixed_weights is not None:
        return problem.fixed_weights
    # A component that holds (nearly) nothing, or fewer than 1 - alpha samples, keeps a trace of weight.
    power = sizes if "weights" in problem.estimators else sizes + problem.prior.alpha - 1.0
    power = np.maximum(power, _NOTHING)
    if problem.has_weight_box:
        return water_fill(power, problem.weight_lower, problem.weight_upper)
    return np.asarray(power / power.sum())


def one_hot(labels: np.ndarray, n_components: int) -> np.ndarray:
    """Shares of samples that are wholly in their component."""
    shares = np.zeros((len(labels), n_components))
    shares[np.arange(len(labels)), labels] = 1.0
    return shares


def group_costs(instance: Instance, costs: np.ndarray) -> np.ndarray:
    """Costs of the groups, (N, K), from those of the samples, (n, K); infinite where labels forbid."""
    if instance.n_groups < instance.n_samples:
        of = instance.groups.of
        costs = np.stack([np.bincount(of, column, minlength=instance.n_groups) for column in costs.T], axis=1)
    return np.where(instance.allowed, costs, np.inf)
