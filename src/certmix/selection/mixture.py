"""BIC of the mixture that EM finds: what others choose the number of components by. Not certified."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy.special import logsumexp

from certmix.local.parameters import one_hot
from certmix.mixture import log_joint
from certmix.problem import Problem
from certmix.selection.criterion import n_parameters

ITERATIONS, CLOSE = 2000, 1e-10
NOTHING = 1e-12  # less of a component than this has no mean


def bic(problem: Problem, labels: np.ndarray, time_limit: float) -> float | None:
    """Minus twice the log-likelihood that EM finds from a clustering, plus ``nu log n``.

    None where it means little: with side constraints, priors, bounds, values that count other than once; or where the
    variance goes to nothing.
    """
    p = problem
    bounded = p.has_mean_box or p.has_weight_box or p.estimators or p.masses is not None
    if p.constraints or p.prior.on_means or p.prior.on_weights or bounded or not p.covariance.shared:
        return None
    n = p.n_samples
    values, shares = [math.inf], one_hot(labels, p.n_components)
    variance: Any = 1.0
    until = time.perf_counter() + time_limit
    for _ in range(ITERATIONS):
        sizes = shares.sum(axis=0)
        weights = sizes / n if p.fixed_weights is None else p.fixed_weights
        means = shares.T @ p.data / np.maximum(sizes, NOTHING)[:, None]
        if p.covariance.unknown:
            variance = _variance(p, shares, means)
            if not np.all(variance > 0.0):
                return None
        joint = log_joint(p.data, means, weights, p.covariance.precision.entries / variance)
        total = logsumexp(joint, axis=1)
        values.append(-float(total.sum()))
        if values[-2] - values[-1] <= CLOSE * max(1.0, abs(values[-1])) or time.perf_counter() > until:
            break
        shares = np.exp(joint - total[:, None])
    return 2.0 * values[-1] + n_parameters(p) * math.log(n) if math.isfinite(values[-1]) else None


def _variance(problem: Problem, shares: np.ndarray, means: np.ndarray) -> Any:
    """The best one, within its range; one for every feature where each has its own."""
    if problem.covariance.per_feature:
        each = sum(shares[:, k] @ (problem.data - mean) ** 2 for k, mean in enumerate(means))
        return np.clip(np.asarray(each) / problem.n_samples, *problem.covariance.variances)  # type: ignore[misc]
    squares = 0.0
    for k, mean in enumerate(means):
        residual = problem.data - mean
        squares += float(
            shares[:, k] @ np.einsum("ij,ij->i", problem.covariance.times(0, residual), residual)
        )
    assert problem.covariance.variances is not None
    return float(np.clip(squares / problem.data.size, *problem.covariance.variances))
