"""Means for components that sizes tell apart: large clusters belong to components that have to be large."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from certmix.presolve.instance import Instance

STEPS = 5  # of k-means


def by_size(instance: Instance, means: np.ndarray) -> np.ndarray:
    """A few steps of k-means from these means (K, d), dealt to the components whose size limits fit their clusters."""
    x, w = instance.points[0], instance.weight.astype(np.float64)  # a start: masses may do as they like
    K = len(means)
    for _ in range(STEPS):
        nearest = ((x**2).sum(axis=1)[:, None] - 2.0 * x @ means.T + (means**2).sum(axis=1)).argmin(axis=1)
        sizes = np.bincount(nearest, weights=w, minlength=K)
        sums = np.zeros_like(means)
        np.add.at(sums, nearest, w[:, None] * x)
        means = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1.0)[:, None], means)
    wrong = sizes[:, None] - np.clip(sizes[:, None], instance.size_lower, instance.size_upper)
    of, component = linear_sum_assignment(np.abs(wrong))
    dealt = np.empty_like(means)
    dealt[component] = means[of]
    return dealt
