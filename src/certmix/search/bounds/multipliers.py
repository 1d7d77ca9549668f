"""Features for the multipliers of the dual bound, T_g = w_g (unit phi(x_g) . u + level) + scatter_g (design 3.1)."""

from __future__ import annotations

import numpy as np

from certmix.presolve.instance import Instance
from certmix.problem.masses import sizes_cost
from certmix.search.bounds.scale import Scale

TEMPERATURES = (1.0, 0.3, 2.0, 4.0)  # units of the scale
EMPTY = 50.0  # what an empty component costs a sample, in units of the scale
CELLS = 40


def component_costs(instance: Instance, labels: np.ndarray, scale: Scale) -> np.ndarray:
    """Cost per sample, in units, of every group in every component at the best parameters of a clustering, (N, K)."""
    problem = instance.problem
    point = problem.objective.best(labels)
    N, K = instance.n_groups, instance.n_components
    costs = np.empty((N, K))
    for k in range(K):
        c = 0 if instance.shared else k
        gap = instance.points[c] - instance.whitened(k, point.means[k])
        costs[:, k] = 0.5 * np.einsum("ij,ij->i", instance.mass * gap, gap)
        costs[:, k] = (
            costs[:, k] + instance.scatter[c] - instance.scatter[0]
        ) / instance.weight - scale.level
        if instance.counted:
            costs[:, k] += problem.covariance.half_log_det[k]
        if sizes_cost(problem):
            costs[:, k] += -np.log(point.weights[k]) if point.weights[k] > 0 else EMPTY * scale.cost
    return costs / scale.cost


def features(instance: Instance, labels: np.ndarray, seed: int, scale: Scale) -> np.ndarray:
    """Features of shape (N, p); the first is where multipliers start, the soft minimum at temperature one."""
    costs = component_costs(instance, labels, scale)
    N, K = costs.shape
    x = instance.points[0] / scale.length
    d = x.shape[1]
    columns = [soft_minimum(costs, t) for t in TEMPERATURES]
    columns.append(np.ones(N))
    columns += list(np.sort(costs, axis=1)[:, : min(3, K)].T)
    if K > 1:
        columns += list(costs.T)
    columns += list(x.T)
    columns += [x[:, i] * x[:, j] for i in range(d) for j in range(i, d)]
    columns += list(np.exp(-(costs - costs.min(axis=0))).T)
    columns += list(_cells(x, seed).T)
    phi = np.stack(columns, axis=1)
    # to unit spread, but leave the starting column as it is
    spread = np.maximum(np.abs(phi - phi.mean(axis=0)).mean(axis=0), 1e-3)
    spread[: len(TEMPERATURES) + 1] = 1.0
    return np.asarray(phi / spread)


def soft_minimum(costs: np.ndarray, temperature: float) -> np.ndarray:
    least = costs.min(axis=1)
    return np.asarray(
        least - temperature * np.log(np.exp(-(costs - least[:, None]) / temperature).sum(axis=1))
    )


def _cells(x: np.ndarray, seed: int) -> np.ndarray:
    """Indicators of k-means cells: a coarse local correction."""
    from sklearn.cluster import KMeans

    count = min(CELLS, len(x) // 4)
    if count < 2:
        return np.zeros((len(x), 0))
    sample = x if len(x) <= 5000 else x[np.random.default_rng(seed).choice(len(x), 5000, replace=False)]
    fitted = KMeans(count, n_init=1, max_iter=20, random_state=seed).fit(sample)
    return np.asarray(np.eye(count)[fitted.predict(x)])
