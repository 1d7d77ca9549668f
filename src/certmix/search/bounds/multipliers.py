"""Features for the multipliers of the dual bound, T_g = w_g (unit phi(x_g) . u + level) + scatter_g (design 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from certmix.presolve.instance import Instance
from certmix.problem.masses import sizes_cost
from certmix.search.bounds.scale import Scale


@dataclass(frozen=True)
class Tuning:
    """Which multipliers are tried."""

    temperatures: tuple[float, ...] = (1.0, 0.3, 2.0, 4.0)  # units of the scale
    empty: float = 50.0  # what an empty component costs a sample, in units of the scale
    most_pairs: int = 15  # of components


TUNING = Tuning()


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
            costs[:, k] += -np.log(point.weights[k]) if point.weights[k] > 0 else TUNING.empty * scale.cost
    return costs / scale.cost


def features(instance: Instance, labels: np.ndarray, scale: Scale) -> np.ndarray:
    """Features of shape (N, p); the first is where multipliers start, the soft minimum at temperature one."""
    costs = component_costs(instance, labels, scale)
    N, K = costs.shape
    x = instance.points[0] / scale.length
    d = x.shape[1]
    columns = [soft_minimum(costs, t) for t in TUNING.temperatures]
    columns.append(np.ones(N))
    columns += list(np.sort(costs, axis=1)[:, : min(3, K)].T)
    if K > 1:
        columns += list(costs.T)
    columns += list(x.T)
    columns += [x[:, i] * x[:, j] for i in range(d) for j in range(i, d)]
    columns += list(np.exp(-(costs - costs.min(axis=0))).T)
    columns += _between(costs, x)
    phi = np.stack(columns, axis=1)
    # to unit spread, but leave the starting column as it is
    spread = np.maximum(np.abs(phi - phi.mean(axis=0)).mean(axis=0), 1e-3)
    spread[: len(TUNING.temperatures) + 1] = 1.0
    return np.asarray(phi / spread)


def soft_minimum(costs: np.ndarray, temperature: float) -> np.ndarray:
    least = costs.min(axis=1)
    return np.asarray(
        least - temperature * np.log(np.exp(-(costs - least[:, None]) / temperature).sum(axis=1))
    )


def _between(costs: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    """Probabilities of the components, and where two of them compete: a multiplier has to be most exact there."""
    near, wide = _probabilities(costs), _probabilities(0.5 * costs)
    centre = (near.T @ x) / np.maximum(near.sum(axis=0), 1e-9)[:, None]
    first, second = np.triu_indices(costs.shape[1], 1)
    shared = (near.T @ near)[first, second]
    columns = list(near.T)
    for p in np.argsort(-shared, kind="stable")[: TUNING.most_pairs]:
        k, m = first[p], second[p]
        both, way = near[:, k] * near[:, m], centre[m] - centre[k]
        away = x - 0.5 * (centre[k] + centre[m])
        along = away @ way / max(float(np.linalg.norm(way)), 1e-9)
        columns += [both, wide[:, k] * wide[:, m], both * along, both * np.einsum("ij,ij->i", away, away)]
    return columns


def _probabilities(costs: np.ndarray) -> np.ndarray:
    likelihood = np.exp(costs.min(axis=1, keepdims=True) - costs)
    return np.asarray(likelihood / likelihood.sum(axis=1, keepdims=True))
