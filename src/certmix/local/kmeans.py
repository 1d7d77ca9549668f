"""The k-means start: scikit-learn's k-means in whitened coordinates."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from certmix.local.parameters import best_parameters, one_hot
from certmix.local.rounding import conclude
from certmix.local.solution import LocalSolution
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem
from certmix.problem.features import Feature
from certmix.problem.symmetric_matrices import Matrices

# While iterating: must-linked samples are one weighted point.
DURING = frozenset({Feature.MUST_LINK})
_MANY = 20_000
_VIOLATION = 1e3


def kmeans(
    problem: Problem, *, seed: int = 0, start: np.ndarray | None = None, n_init: int | None = None
) -> LocalSolution:
    """K-means on the whitened samples, clusters matched to components.

    With one covariance per component the mean precision whitens the data. Clusters are given to components so that the
    objective, with priors, boxes, weights and known labels, is least (an assignment problem). Instead of k-means++ the
    centres of the clusters of ``start`` may be given; by default there are 10 starts, or 1 for very many samples.
    """
    from sklearn.cluster import KMeans

    instance = reduce(problem)
    points = instance.points[0] if instance.shared else _whitened_by_mean_precision(instance)
    K, N = min(problem.n_components, instance.n_groups), instance.n_groups
    if start is not None:
        labels = problem.objective.checked_labels(np.asarray(start))
        used = np.unique(labels)
        groups = instance.groups.of
        centres = np.stack([points[groups[labels == k]].mean(axis=0) for k in used])
        model = KMeans(len(used), init=centres, n_init=1)
    else:
        runs = (10 if N <= _MANY else 1) if n_init is None else n_init
        model = KMeans(K, n_init=runs, random_state=seed % 2**32)
    # With few samples threads cost more than they bring, on a busy machine a hundred times as much.
    with warnings.catch_warnings(), threadpool_limits(1 if N <= _MANY else None):
        warnings.simplefilter("ignore")  # fewer distinct points than clusters is no harm here
        model.fit(points, sample_weight=instance.weight)
    component = matched(instance, model.labels_)
    own = instance.expand(component[model.labels_])
    means, weights = best_parameters(problem, one_hot(own, problem.n_components))
    return conclude(
        instance,
        method="k-means",
        means=means,
        weights=weights,
        own_labels=own,
        iterations=int(model.n_iter_),
        history=(0.5 * float(model.inertia_),),
        during=DURING,
        notes=() if problem.covariance.shared else ("k-means uses the mean precision of the components",),
    )


def _whitened_by_mean_precision(instance: Instance) -> np.ndarray:
    problem = instance.problem
    mean = Matrices(problem.covariance.precision.entries.mean(axis=0)[None])
    offset = problem.data - instance.centre
    offset = offset * np.sqrt(mean.entries[0]) if mean.diagonal else offset @ np.linalg.cholesky(mean[0])
    points = np.zeros((instance.n_groups, problem.n_features))
    np.add.at(points, instance.groups.of, offset)
    return np.asarray(points / instance.weight[:, None])


def matched(instance: Instance, clusters: np.ndarray) -> np.ndarray:
    """The component of every cluster, such that the sum of their costs is least."""
    K = instance.n_components
    if len(np.unique(instance.classes)) == 1:
        return np.arange(K)
    cost = np.zeros((K, K))
    for c in range(K):
        rows = clusters == c
        m = int(instance.weight[rows].sum())
        for k in range(K):
            cost[c, k] = _cost(instance, rows, m, k)
    return np.asarray(linear_sum_assignment(cost)[1])


def _cost(instance: Instance, rows: np.ndarray, m: int, k: int) -> float:
    """What component k costs with these groups; breaking a label or a size limit is dear, not forbidden."""
    x = instance.points[0 if instance.shared else k, rows]
    weight, gamma, prior_mean = instance.weight[rows], instance.prior_weight[k], instance.prior_mean[k]
    total = m + gamma
    mean = np.where(total > 0, (weight @ x + gamma * prior_mean) / np.where(total > 0, total, 1.0), 0.0)
    mean = np.clip(mean, instance.mean_lower[k], instance.mean_upper[k])
    quadratic = float(weight @ ((x - mean) ** 2).sum(axis=1)) + float(gamma @ (mean - prior_mean) ** 2)
    broken = float(weight[~instance.allowed[rows, k]].sum())
    broken += max(0, int(instance.size_lower[k]) - m) + max(0, m - int(instance.size_upper[k]))
    entropy = float(instance.entropy[k, m])
    entropy = entropy if np.isfinite(entropy) else _VIOLATION * instance.n_samples
    return 0.5 * quadratic + entropy + _VIOLATION * broken
