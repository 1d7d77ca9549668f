"""The densities of a fitted mixture: what ``predict`` of results and of the estimator share, and posteriors."""

from __future__ import annotations

import numpy as np

from certmix.errors import InputError
from certmix.problem import Problem
from certmix.problem.noise import LABEL, Noise
from certmix.problem.symmetric_matrices import Matrices

FOR_SURE = 1e3  # nats


def log_joint(
    data: np.ndarray,
    means: np.ndarray,
    weights: np.ndarray,
    precision: np.ndarray,
    noise: Noise | None = None,
) -> np.ndarray:
    """``log pi_k + log N(x; mu_k, P_k^-1)`` for every sample and component; noise that has a density is the last.

    The precision has shape (1 or K, d, d), or (1 or K, d) for the diagonals of diagonal matrices. Of a sample with
    missing values (NaN) it is the density of those that are there.
    """
    matrices, gaps = Matrices(precision), np.isnan(data)
    n_components, d = means.shape
    joint = np.empty((len(data), n_components))
    _refuse_unknown(data, gaps, matrices, noise)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    for k in range(n_components):
        own = min(k, len(matrices) - 1)
        residual = np.where(gaps, 0.0, data - means[k])
        square = np.einsum("ij,ij->i", matrices.times(own, residual), residual)
        constant = 0.5 * matrices.log_determinant(own) - 0.5 * d * np.log(2 * np.pi)
        joint[:, k] = log_weights[k] - 0.5 * square + constant
        if gaps.any():
            joint[:, k] -= gaps @ (0.5 * np.log(matrices.entries[own] / (2 * np.pi)))
    if noise is None or noise.log_density is None:
        return joint
    return np.column_stack([joint, np.full(len(data), log_weights[n_components] + noise.log_density)])


def _refuse_unknown(data: np.ndarray, gaps: np.ndarray, matrices: Matrices, noise: Noise | None) -> None:
    """An error about values that nothing can be told from, by the position of the first."""
    if np.isinf(data).any():
        i, j = np.argwhere(np.isinf(data))[0]
        raise InputError(f"sample {i}, feature {j}: the value is {data[i, j]}")
    dense = noise is not None and noise.log_density is not None
    if gaps.any() and (dense or not matrices.diagonal):
        i, j = np.argwhere(gaps)[0]
        why = "noise is a density of whole samples" if dense else "the covariance is not diagonal"
        raise InputError(f"sample {i}, feature {j}: the value is missing, and {why}; fill it first")


def most_probable(joint: np.ndarray, n_clusters: int) -> np.ndarray:
    """The label of the most probable component of every sample."""
    best = joint.argmax(axis=1)
    return np.where(best < n_clusters, best, LABEL)


def probabilities(joint: np.ndarray) -> np.ndarray:
    """Posterior probability of every component for every sample."""
    odds = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def assigned(
    problem: Problem, labels: np.ndarray, means: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Posterior probability of the assigned component, the best other one, and the best one of all."""
    costs = problem.objective.component_costs(means, weights)
    if (
        problem.squares and problem.noise is not None
    ):  # noise has no density: a sample is in it for sure, or not at all
        trimmed = labels == problem.n_clusters
        costs[:, -1] = np.where(trimmed, costs[:, :-1].min(axis=1) - FOR_SURE, np.inf)
    if problem.masses is not None and problem.masses.weight is not None:
        costs /= problem.masses.weight[:, None]  # of one sample, however much it counts
    best = costs.min(axis=1, keepdims=True)
    odds = np.exp(best - costs)
    rows = np.arange(len(labels))
    probability = odds[rows, labels] / odds.sum(axis=1)
    if problem.n_components == 1:
        return probability, np.full(len(labels), -1, dtype=np.int64), labels
    alone = np.where(costs[rows, labels] <= costs.min(axis=1), labels, costs.argmin(axis=1))
    others = costs.copy()
    others[rows, labels] = np.inf
    runner_up = np.where(np.isfinite(others.min(axis=1)), others.argmin(axis=1), -1)
    return probability, runner_up, alone
