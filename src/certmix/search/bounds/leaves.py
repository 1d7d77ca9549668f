"""The bound of a decided node: its one clustering, scored by the one evaluator and lowered by what that rounds."""

from __future__ import annotations

import math

import numpy as np

from certmix.errors import InfeasibleError
from certmix.problem import Point, Problem, is_feasible
from certmix.problem.masses import linear_sizes, sizes_cost
from certmix.rounding import EPS


def exact_value(problem: Problem, labels: np.ndarray) -> float:
    """The objective of a clustering, lowered by the evaluator's rounding; infinite when it is not feasible."""
    if not is_feasible(problem, labels):
        return math.inf
    try:
        point = problem.objective.best(labels)
    except InfeasibleError:
        return math.inf
    if not math.isfinite(point.value):
        return math.inf
    return float(point.value - rounding(problem, point))


def rounding(problem: Problem, point: Point) -> float:
    r"""How far the evaluated objective of a clustering can lie above the exact one.

    *Sums.* Every quadratic form :math:`r'Pr` errs by a few units of :math:`|r|'|P||r|`, which may be much more than the
    form itself; likewise the logarithms and the sums.

    *Means.* The means are rounded: far from the origin by more than the clusters may be wide. With H and g the Hessian
    and the gradient of a component's cost at its rounded mean, the cost there exceeds the least one by at most
    :math:`\tfrac12 g'H^{-1}g`; in a coordinate near the edge of its box by no more than the way to the edge is worth.
    A mean that is tied to the average is off by the average's rounding, times the gradient. Where nothing but the
    data pull at it the best mean is the average, and the step there needs no inverse: m steps are the sum of residuals.
    """
    p = problem
    n, d = p.data.shape
    sizes = np.bincount(point.labels, minlength=p.n_components)
    power = np.abs(sizes * sizes_cost(p) + p.prior.alpha - 1.0)
    used = power > 0
    logs = float(power[used] @ np.abs(np.log(point.weights[used])))
    added = logs + float(sizes @ np.abs(p.covariance.half_log_det)) + float(power.sum())
    if p.masses is not None:
        added += float(linear_sizes(p)[np.arange(n), point.labels].sum())
    off = 0.0
    if p.has_weight_box and "weights" not in p.estimators:
        off += _weights_lost(power, point.weights, p.weight_lower, p.weight_upper)
    for k in range(p.n_components):
        rows = point.labels == k
        mass = np.ones((int(rows.sum()), 1)) if p.masses is None else p.masses.of[rows]
        forms, lost = _component(p, k, p.samples.filled[rows], mass, point.means[k])
        added += forms
        off += lost
    return 1.01 * ((n + 2 * d + 64) * EPS * added + off)


def _weights_lost(power: np.ndarray, weights: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    r"""How much less than at the given weights the cost :math:`-\sum_k p_k \log \pi_k` can be at admissible ones.

    The cost is convex with slopes :math:`-s_k = -p_k / w_k`, and admissible weights add up to one: for every level
    :math:`\lambda` the gain is at most :math:`\sum_k \max (s_k - \lambda)(\pi - w_k)` over :math:`\pi` in the bounds
    of :math:`\pi_k`, plus :math:`\lambda (1 - \sum_k w_k)`. At best weights one of the slopes, or zero, is the level.
    What a weight can gain is what is missing and what the others can give.
    """
    slope = np.where(power > 0, power / np.where(power > 0, weights, 1.0), 0.0)
    missing = math.fsum((1.0, *(-weights).tolist()))
    down = weights - lower
    given = max(missing, 0.0) + (1.0 + 8 * len(down) * EPS) * float(down.sum()) - down
    up = np.minimum(upper - weights, given)
    least = math.inf
    for level in (0.0, *slope.tolist()):
        tilt, blur = slope - level, 4 * EPS * np.maximum(slope, level)
        gain = np.maximum(tilt * up, -tilt * down) + blur * (up + down)
        least = min(least, float(gain.sum()) + level * missing)
    return max(0.0, 1.01 * least)


def _component(
    p: Problem, k: int, samples: np.ndarray, mass: np.ndarray, mean: np.ndarray
) -> tuple[float, float]:
    """Absolute values in a component's quadratic forms, and what its cost can lose by moving the rounded mean.

    Masses differ from coordinate to coordinate only where precisions are diagonal.
    """
    (m, d), own = samples.shape, 0 if p.covariance.shared else k
    precision, prior = p.covariance.precision, p.prior.precision
    residual, away, sizes = samples - mean, mean - p.prior.mean[k], precision.magnitude()
    size, load = mass * np.abs(residual), np.broadcast_to(mass.sum(axis=0), d)
    forms, pulled = float(np.einsum("ij,ij->", sizes.times(own, np.abs(residual)), size)), mass * residual
    size, pulled = size.sum(axis=0), pulled.sum(axis=0)
    if not (p.has_mean_box or prior.nonzero(k)):
        # A step is divided by the root of its load: loads are all the same, or the form is diagonal.
        steps = (np.abs(pulled) + (m + 8) * EPS * size) / np.sqrt(np.where(load > 0, load, 1.0))
        return forms, float(sizes.times(own, steps) @ steps)
    tied = prior.magnitude().times(k, np.abs(away))
    forms += float(np.abs(away) @ tied)
    gradient = prior.times(k, away) - precision.times(own, pulled)
    blur = (m + 2 * d + 8) * EPS * (tied + sizes.times(own, size))
    steepest = np.abs(gradient) + blur
    if m and "means" in p.estimators:
        spread = np.abs(samples - p.data.mean(axis=0)).mean(axis=0)
        return forms, float(steepest @ (2.0 * EPS * (np.abs(mean) + (m + 4) * spread)))
    below, above = mean - p.mean_lower[k], p.mean_upper[k] - mean
    room = np.where(gradient > 0, below, above)
    room = np.where(np.abs(gradient) > blur, room, np.maximum(below, above))
    if precision.diagonal and prior.diagonal:
        return forms, _lost(gradient, blur, room, load * precision.entries[own] + prior.entries[k])
    return forms, _lost(gradient, blur, room, load[:, None] * precision[own] + prior[k])


def _lost(gradient: np.ndarray, blur: np.ndarray, room: np.ndarray, hessian: np.ndarray) -> float:
    """What a convex quadratic function can lose where every coordinate has so much room; twice the inner part of it.

    The gradient is known up to a blur, the Hessian in full or as a diagonal. What the coordinates near an edge lose is
    at most their gradient on the way there; what the others lose is bounded as if no coordinate had an edge.
    """
    steepest = np.abs(gradient) + blur
    curve = hessian if hessian.ndim == 1 else np.diag(hessian)
    free = curve > 0
    room = np.where(free, room, 0.0)  # nothing pulls at the mean of an empty component
    edge = room * curve <= steepest
    lost = float((steepest * np.where(edge, room, 0.0)).sum())
    unit = np.sqrt(np.where(free, curve, 1.0))
    gradient, blur = (np.where(edge, 0.0, x / unit) for x in (gradient, blur))
    if hessian.ndim == 1:
        return lost + float(((np.abs(gradient) + blur) ** 2).sum())
    try:
        root = np.linalg.inv(np.linalg.cholesky(hessian / np.outer(unit, unit) + np.diag(~free)))
    except np.linalg.LinAlgError:
        return lost if edge.all() else math.inf  # nothing is known of where the minimum is
    step = np.linalg.norm(root @ gradient) + np.linalg.norm(np.abs(root) @ blur)
    return lost + float(step**2)  # twice the half, for the rounding of the factor
