"""Limits on the sizes of components: from size constraints, from being empty or not, and from weights tied to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from certmix.errors import InfeasibleError

if TYPE_CHECKING:
    from certmix.problem.problem import Problem

FEW = 2.0**-50  # eight units in the last place, relatively


def size_limits(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest size of every component."""
    n, K = problem.n_samples, problem.n_components
    lower = np.full(K, 0 if problem.allow_empty else 1, dtype=np.int64)
    lower[problem.n_clusters :] = 0
    lower, upper = problem.rules.size_limits(lower, np.full(K, n, dtype=np.int64))
    low, high = problem.estimator_sizes
    lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    lower.setflags(write=False)
    upper.setflags(write=False)
    return lower, upper


def estimator_sizes(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The sizes that the estimator constraint ``pi_k = n_k / n`` leaves; 0 to n when it is not there.

    A share counts as the double nearest to it, so 3 of 10 samples keep a bound of 0.3. Fixed weights, which may
    come from a division, agree with a share to a few units in the last place.
    """
    n, K, fixed = problem.n_samples, problem.n_components, problem.fixed_weights
    if "weights" not in problem.estimators:
        return np.zeros(K, dtype=np.int64), np.full(K, n, dtype=np.int64)
    lower, upper = problem.weight_lower, problem.weight_upper
    if fixed is not None:
        lower, upper = ((1.0 + sign * FEW) * fixed for sign in (-1.0, 1.0))
    shares = np.arange(n + 1) / n
    low = np.searchsorted(shares, lower, side="left")
    high = np.searchsorted(shares, upper, side="right") - 1
    if fixed is not None and np.any(low > high):
        k = int(np.argmax(low > high))
        raise InfeasibleError(
            f"the estimator constraint pi_k = n_k/n cannot hold with the fixed weights: component "
            f"{problem.component_names[k]} would need {fixed[k] * n:.17g} of {n} samples"
        )
    return low, high
