r"""A first bound, before anything long begins: no search, no multipliers, a pass over the data.

The cost of a clustering is a quadratic part and the entropy of its sizes, and each is bounded by itself.

*Sizes.* For any :math:`\lambda`, :math:`\sum_k h_k(n_k) \ge \lambda n + \sum_k \min_m (h_k(m) - \lambda m)`.

*Spread.* Take any s samples, K < s. In a cluster C of m of them the half scatter is
:math:`\tfrac1{2m}\sum_{i<j} d_{ij}^2 \ge \tfrac{m-1}{4m}\sum_{i \in C}\delta_i`, where :math:`\delta_i` is the squared
distance of i to the nearest other sample of the s. Since :math:`\tfrac1m \sum_C \delta_i \le \max_C \delta_i`, all
clusters together cost at least a quarter of the sum of the :math:`\delta_i` without the K largest. Disjoint sets of
samples add up.

*Boxes.* A sample costs at least half its squared distance to the nearest box that a mean of its may lie in.
"""

from __future__ import annotations

import numpy as np

from certmix.presolve.instance import Instance
from certmix.rounding import EPS

LARGEST_SET = 256
PROBES = 16  # sets on which the number of samples in a set is chosen
ENTRIES = 4_000_000  # of distance matrices at a time
BISECTIONS = 24


def first_bound(instance: Instance) -> float:
    """A lower bound on the objective of every clustering; minus infinity when there is none."""
    scatter = float(instance.scatter.min(axis=0).sum())
    scatter *= 1.0 - 4.0 * EPS * (instance.n_groups + 4)
    bound = _sizes(instance) + scatter - instance.error
    if instance.counted:  # samples that have no feature in common may lie anywhere
        bound += max(_spread(instance), _boxes(instance))
    bound -= 8.0 * EPS * abs(bound)
    problem = instance.problem
    free = np.all(problem.covariance.half_log_det >= 0) and instance.counted
    if free and np.all(problem.prior.alpha >= 1):
        bound = max(bound, 0.0)  # every term of the objective is non-negative
    return float(bound) if np.isfinite(bound) else -np.inf


def _sizes(instance: Instance) -> float:
    """The least entropy of sizes that add up to n, with a multiplier on their sum."""
    n = instance.n_samples
    _, first, count = np.unique(instance.classes, return_index=True, return_counts=True)
    tables = []
    for k in first:
        sizes = np.arange(instance.size_lower[k], min(instance.size_upper[k], n) + 1)
        table = instance.entropy[k, sizes]
        good = np.isfinite(table)
        tables.append((sizes[good].astype(np.float64), table[good]))
    if any(len(table) == 0 for _, table in tables):
        return -np.inf
    magnitude = max(float(np.abs(table).max()) for _, table in tables) + n
    magnitude += float(np.abs(instance.problem.prior.alpha).max()) + 40.0
    steepest = max(float(np.abs(np.diff(table)).max(initial=0.0)) for _, table in tables) + 1.0
    low, high, best = -steepest, steepest, -np.inf
    for _ in range(BISECTIONS):
        slope = 0.5 * (low + high)
        value, total = slope * n, 0.0
        for (sizes, table), members in zip(tables, count, strict=True):
            reduced = table - slope * sizes
            at = int(np.argmin(reduced))
            value += members * reduced[at]
            total += members * sizes[at]
        error = 16.0 * EPS * (instance.n_components + 1) * (magnitude + abs(slope) * n)
        best = max(best, float(value) - error)
        low, high = (slope, high) if total < n else (low, slope)
        if total == n:
            break
    return best


def _spread(instance: Instance) -> float:
    """Disjoint sets of groups, each with the nearest neighbours that its members have inside of it."""
    N, K = instance.n_groups, instance.n_components
    order = np.random.default_rng(0).permutation(N)
    sizes = [s for s in _set_sizes(K) if s <= N]
    if not sizes:
        return 0.0
    worth = [float(_sets(instance, order[: s * min(PROBES, N // s)], s).mean()) / s for s in sizes]
    s = sizes[int(np.argmax(worth))]
    total = 0.0
    step = max(1, ENTRIES // s**2) * s
    used = N // s * s
    for start in range(0, used, step):
        total += float(_sets(instance, order[start : min(start + step, used)], s).sum())
    return total * (1.0 - 4.0 * EPS * (used + 4))


def _set_sizes(K: int) -> list[int]:
    sizes = [K + 1]
    while 2 * sizes[-1] <= LARGEST_SET:
        sizes.append(2 * sizes[-1])
    return sizes


def _sets(instance: Instance, groups: np.ndarray, s: int) -> np.ndarray:
    """What every set of s groups in a row costs at least."""
    d, K = instance.n_features, instance.n_components
    nearest = np.full((len(groups) // s, s), np.inf)
    for points in instance.points:
        x = points[groups].reshape(-1, s, d)
        square = np.einsum("bij,bij->bi", x, x)
        distance = square[:, :, None] + square[:, None, :] - 2.0 * (x @ x.transpose(0, 2, 1))
        distance[:, np.arange(s), np.arange(s)] = np.inf
        # A sum of d products errs by d roundings of the squares, whichever way it is formed.
        error = 8.0 * EPS * (d + 4) * square.max(axis=1, keepdims=True)
        nearest = np.minimum(nearest, np.maximum(distance.min(axis=2) - error, 0.0))
    weight = instance.weight[groups].reshape(-1, s).min(axis=1)
    nearest.sort(axis=1)
    return np.asarray(0.25 * weight * nearest[:, : s - K].sum(axis=1))


def _boxes(instance: Instance) -> float:
    """Half squared distances to the boxes of the means."""
    if not (np.isfinite(instance.mean_lower).any() or np.isfinite(instance.mean_upper).any()):
        return 0.0
    least = np.full(instance.n_groups, np.inf)
    for k in range(instance.n_components):
        x = instance.points[0 if instance.shared else k]
        away = np.maximum(np.maximum(instance.mean_lower[k] - x, x - instance.mean_upper[k]), 0.0)
        cost = np.einsum("ij,ij->i", away, away)
        least = np.where(instance.allowed[:, k], np.minimum(least, cost), least)
    if not np.isfinite(least).all():
        return 0.0
    # Both ends of a distance are rounded numbers: what it may be short of is in the error of the instance.
    total = 0.5 * float(instance.weight @ least)
    return total * (1.0 - 4.0 * EPS * (instance.n_groups + instance.n_features + 8))
