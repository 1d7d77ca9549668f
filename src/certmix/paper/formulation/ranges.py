"""Where means and weights can lie at an optimum: the bounds of the models' variables.

They are consequences of optimality, not assumptions: leaving out what lies outside changes no optimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certmix.presolve.instance import Instance
from certmix.problem import Problem

# Boxes are loosened by this share of the data's spread: what is on the very edge must not be lost to tolerances.
EDGE = 1e-8
# Bounds on means and weights are loosened by this share, so that no optimum lies on one.
ROOM = 0.01
# Weight bounds that leave no weight more room than this share of itself leave none.
NO_ROOM = 1e-12


@dataclass(frozen=True)
class Row:
    """``low <= coefficient . mu_k <= high`` in the instance's coordinates of component k."""

    component: int
    coefficient: np.ndarray
    low: float
    high: float


@dataclass(frozen=True)
class MeanRanges:
    """Bounds on the means in the instance's coordinates, and the user's boxes where those are not bounds there."""

    lower: np.ndarray
    upper: np.ndarray
    rows: tuple[Row, ...]


def mean_ranges(instance: Instance) -> MeanRanges:
    r"""Bounds that hold for a best mean of every component.

    For a cluster of m samples with average a, the best mean in coordinate j, boxes apart, is the weighted average
    :math:`(m a_j + \gamma_j m_j) / (m + \gamma_j)` of a, which lies in the range of the samples, and the prior's mean.
    It is monotone in m, so the smallest and the largest m give its range. A box along the axes clips this range. A box
    at an angle to them moves the mean to the nearest point of the box, in the norm with weights :math:`m + \gamma_j`;
    so it stays within the distance of any point of the box.
    """
    problem = instance.problem
    K, d = instance.n_components, instance.n_features
    lower, upper = np.empty((K, d)), np.empty((K, d))
    rows: list[Row] = []
    tied = "means" in problem.estimators
    for k in range(K):
        c = 0 if instance.shared else k
        sizes = np.array([instance.size_lower[k], max(1, instance.size_upper[k])], dtype=float)
        members = instance.points[c][instance.allowed[:, k]]
        centre = np.zeros((1, d))  # the mean of all samples: where the evaluator leaves an empty component
        members = members if len(members) else centre
        gamma, prior = instance.prior_weight[k], instance.prior_mean[k]
        ends = [] if sizes[0] > 0 else [np.where(gamma > 0, prior, 0.0)]
        for size in np.maximum(sizes, 1.0):
            for edge in (members.min(axis=0), members.max(axis=0)):
                ends.append(edge if tied else (size * edge + gamma * prior) / (size + gamma))
        low, high = np.min(ends, axis=0), np.max(ends, axis=0)
        box = _rows(instance, k)
        straight = instance.system(k).straight
        if box:
            if straight and not tied:
                low = np.clip(low, instance.mean_lower[k], instance.mean_upper[k])
                high = np.clip(high, instance.mean_lower[k], instance.mean_upper[k])
            else:
                if not (
                    tied and sizes[0] > 0
                ):  # an average is where it is; the box says whether it may be there
                    reach = _reach(instance, k, low, high, sizes)
                    low, high = low - reach, high + reach
                rows += box
        # The mean of a single sample lies on the very edge, where a solver's tolerances can cut it off.
        slack = ROOM * np.maximum(high - low, 1.0)
        lower[k], upper[k] = low - slack, high + slack
        if box and straight and not tied:  # here the bounds are the user's box
            edge = EDGE * (1.0 + np.maximum(np.abs(low), np.abs(high)))
            lower[k] = np.maximum(lower[k], instance.mean_lower[k] - edge)
            upper[k] = np.minimum(upper[k], instance.mean_upper[k] + edge)
    return MeanRanges(lower, upper, tuple(rows))


def _rows(instance: Instance, k: int) -> list[Row]:
    """The user's box as linear rows, loosened by a hair: the evaluator judges what comes out of the model."""
    problem = instance.problem
    lower, upper = problem.mean_lower[k], problem.mean_upper[k]
    if not (np.any(np.isfinite(lower)) or np.any(np.isfinite(upper))):
        return []
    basis = instance.system(k).basis
    assert basis is not None  # boxes keep the coordinates
    inverse = np.linalg.inv(np.diag(basis) if basis.ndim == 1 else basis)
    spread = np.ptp(problem.data, axis=0)
    found = []
    for j in range(problem.n_features):
        if np.isfinite(lower[j]) or np.isfinite(upper[j]):
            away = (v - instance.centre[j] for v in (lower[j], upper[j]) if np.isfinite(v))
            slack = EDGE * max(spread[j], *map(abs, away))
            scale = float(np.abs(inverse[j]).max())
            found.append(
                Row(
                    k,
                    inverse[j] / scale,
                    float((lower[j] - instance.centre[j] - slack) / scale),
                    float((upper[j] - instance.centre[j] + slack) / scale),
                )
            )
    return found


def _reach(instance: Instance, k: int, low: np.ndarray, high: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """How far a box at an angle, or one that only an empty component obeys, can move a mean from its range."""
    problem = instance.problem
    point = instance.whitened(k, np.clip(instance.centre, problem.mean_lower[k], problem.mean_upper[k]))
    away = np.maximum(np.abs(point - low), np.abs(point - high))
    gamma = instance.prior_weight[k]
    worst = np.zeros(len(away))
    for size in sizes:
        weight = size + gamma
        if not np.any(weight):
            weight = np.ones(len(away))
        worst = np.maximum(worst, np.sqrt((weight * away**2).sum() / weight))
    return worst


@dataclass(frozen=True)
class WeightRanges:
    r"""The weights in the model.

    Attributes
    ----------
    fixed : (K,) or None
        The weights where there is nothing to choose.
    lower, upper : (K,)
        Bounds on the argument of the logarithm, always positive.
    optional : (K,) bool
        The component may be empty and its weight zero, where there is no logarithm: with y the indicator of
        non-emptiness the weight is then ``argument - lower (1 - y)``, and an empty component's argument rests at its
        lower bound while its weight is zero.
    size_lower, size_upper : (K,)
        Limits on the sizes; a component whose weight must be zero is empty, one whose weight must not be is not.
    """

    fixed: np.ndarray | None
    lower: np.ndarray
    upper: np.ndarray
    optional: np.ndarray
    size_lower: np.ndarray
    size_upper: np.ndarray


def size_ranges(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Limits on the sizes, each narrowed by those of the others."""
    lower, upper = problem.size_lower.astype(float), problem.size_upper.astype(float)
    n = problem.n_samples
    return (
        np.maximum(lower, n - (upper.sum() - upper)),
        np.minimum(upper, n - (lower.sum() - lower)),
    )


def weight_ranges(problem: Problem) -> WeightRanges:
    r"""Bounds that hold for best weights.

    With powers :math:`p_k = n_k + \alpha_k - 1` free weights are :math:`p_k / \sum_l p_l`. Within bounds
    :math:`L \le \pi \le U` of slack :math:`s = 1 - \sum_k L_k`, some component j has
    :math:`\pi_j \ge L_j + s/K`, and where :math:`\pi_k < U_k` moving weight from j to k must not help:
    :math:`\pi_k \ge p_k \pi_j / p_j`.
    """
    K, n = problem.n_components, problem.n_samples
    alpha = problem.prior.alpha
    low, high = size_ranges(problem)
    tied = "weights" in problem.estimators
    if tied and problem.fixed_weights is None:
        low = np.where(alpha != 1.0, np.maximum(low, 1.0), low)  # a prior on the weight of an empty component
    optional = (low <= 0) & (alpha == 1.0) & ((problem.weight_lower <= 0) | tied)
    full = np.where(optional, 1.0, low)
    least, most = full + alpha - 1.0, np.maximum(high, full) + alpha - 1.0
    room_below = -math.fsum((*problem.weight_lower.tolist(), -1.0))
    room_above = math.fsum((*problem.weight_upper.tolist(), -1.0))
    fixed = problem.fixed_weights
    none_below = room_below <= NO_ROOM * problem.weight_lower.min()
    if fixed is None and not tied and (none_below or room_above <= NO_ROOM * problem.weight_upper.min()):
        fixed = problem.weight_lower if none_below else problem.weight_upper
        high = np.where(fixed > 0, high, 0.0)
        low = np.where((fixed > 0) | (alpha == 1.0), low, 1.0)  # infeasible
    if fixed is not None:
        safe = np.where(fixed > 0, fixed, 1.0)
        return WeightRanges(safe, safe, safe, np.zeros(K, dtype=bool), low, high)
    if tied:
        lower, upper = full / n, np.maximum(high, full) / n
    elif problem.has_weight_box:
        share = room_below / K
        reached = np.minimum(problem.weight_lower + share, least * share / most.max())
        lower = np.maximum(problem.weight_lower, np.minimum(problem.weight_upper, reached))
        upper = problem.weight_upper
    else:
        total = n + float((alpha - 1.0).sum())
        lower, upper = least / total, most / total
    lower = np.maximum(lower * (1.0 - ROOM), problem.weight_lower * (1.0 - EDGE))
    upper = np.minimum(upper * (1.0 + ROOM), problem.weight_upper * (1.0 + EDGE))
    return WeightRanges(None, lower, np.minimum(1.0, upper), optional, low, high)
