"""Coordinates in which the precision is the identity, and a bound on what their rounding can do to the objective."""

from __future__ import annotations

import math

import numpy as np

from certmix.presolve.groups import Groups
from certmix.problem import Problem

EPS = float(np.finfo(float).eps)
# Beyond this the residual of the factorisation is computed in plain double precision.
MOST_ACCURATE = 200


def coordinates(precision: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``(A, gamma)`` with ``A'A = precision`` and ``A^-T prior A^-1 = diag(gamma)``; A is diagonal if it can be."""
    both = np.abs(precision) + np.abs(prior)
    if not np.any(both - np.diag(np.diag(both))):
        scale = np.sqrt(np.diag(precision))
        return np.diag(scale), np.diag(prior) / np.diag(precision)
    root = np.linalg.cholesky(precision).T
    if not np.any(prior):
        return root, np.zeros(len(root))
    inverse = np.linalg.inv(root)
    gamma, rotation = np.linalg.eigh(inverse.T @ prior @ inverse)
    return rotation.T @ root, np.maximum(gamma, 0.0)


def whitening_error(
    problem: Problem,
    groups: Groups,
    systems: list[tuple[np.ndarray, np.ndarray]],
    system: list[int],
    whitened: np.ndarray,
    scatter: np.ndarray,
    prior_mean: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> float:
    r"""How far the quadratic cost in stored coordinates can lie above the exact one, for any clustering.

    Let ``A`` be the stored basis, ``x`` the stored points and ``e`` the rounding in them.

    1. If ``P`` and ``A'A`` agree within a factor ``1 - r`` (in the order of quadratic forms, likewise the prior), the
       exact quadratic cost is at least ``(1 - r)`` times the one with ``A``; see :func:`disagreement`.
    2. The quadratic cost Q is half a squared distance of the points from a convex set, so moving them by ``e`` changes
       it by at most ``sqrt(2 Q) |e| + |e|^2 / 2``. A difference from the centre has full relative accuracy, so a
       common offset of the data costs nothing. The mean of w merged samples adds ``(w + 1) eps`` times their mean size.
    3. The scatter inside groups is a sum of squares: it errs by ``(w + d + 3) eps`` of itself.

    Q is bounded for every clustering by putting all means at one point of the box, or, where the means are tied to
    averages, by the farthest average from the prior's mean.

    Parameters
    ----------
    systems, system : ``(A, gamma)`` of every coordinate system, and the system of every component
    whitened : (C, n, d), the samples in every system, before merging
    scatter : (C, N), half the sum of squares inside every group
    prior_mean, lower, upper : (K, d), mean of the prior and box on the means, in whitened coordinates
    """
    n, d = problem.n_samples, problem.n_features
    offset = problem.data - problem.data.mean(axis=0)
    ratio, prior_moved, prior_cost = 0.0, 0.0, 0.0
    moved, distance = np.zeros(n), np.zeros(n)  # worst over the components
    merged, inside = np.zeros(groups.n_groups), np.zeros(groups.n_groups)
    for c, (a, gamma) in enumerate(systems):
        ratio = max(ratio, disagreement(a, problem.covariance.of(c)))
        if np.any(gamma):
            away = disagreement(a, problem.prior.precision[c], gamma)
            least = float(gamma.min())
            ratio = max(ratio, away / least if least > 0 else math.inf)
        rounding = (d + 3) * EPS * np.abs(offset) @ np.abs(a).T
        moved = np.maximum(moved, (rounding**2).sum(axis=1))
        if groups.n_groups < n:
            size = np.zeros((groups.n_groups, d))
            np.add.at(size, groups.of, np.abs(whitened[c]))
            w = np.where(groups.weight > 1, groups.weight, 0)[:, None]
            shift = (w + 1) * EPS * size / np.maximum(w, 1)
            merged = np.maximum(merged, (w * shift**2).sum(axis=1))
            inside = np.maximum(inside, (groups.weight + d + 3) * EPS * scatter[c])
    centre = problem.data.mean(axis=0)
    for k, c in enumerate(system):
        a, weight = systems[c][0], systems[c][1]
        rounding = (d + 3) * EPS * np.abs(a) @ np.abs(problem.prior.mean[k] - centre)
        prior_moved += float(weight @ rounding**2)
        at = np.clip(np.where(weight > 0, prior_mean[k], 0.0), lower[k], upper[k])
        distance = np.maximum(distance, ((whitened[c] - at) ** 2).sum(axis=1))
        off = np.abs(at - prior_mean[k])
        if "means" in problem.estimators:
            off = np.maximum(off, np.abs(whitened[c] - prior_mean[k]).max(axis=0))
        prior_cost += 0.5 * float(weight @ off**2)
    ratio = min(ratio, 1.0)  # no more than everything is lost: the exact cost is not negative
    quadratic = 0.5 * float(distance.sum()) + prior_cost
    step = float(np.sqrt(moved.sum() + prior_moved) + np.sqrt(merged.sum()))
    return float(
        ratio * quadratic + np.sqrt(2 * quadratic) * step + 0.5 * step**2 + inside.sum() + 0.5 * merged.sum()
    )


def disagreement(a: np.ndarray, matrix: np.ndarray, gamma: np.ndarray | None = None) -> float:
    """A bound on the norm of ``A^-T matrix A^-1 - diag(gamma)``; gamma is one by default.

    With ``E = matrix - A' diag(gamma) A`` and a computed inverse B of which ``A B = I + G``, the norm is at most
    ``|B'EB| / (1 - |G|)^2``. E is a small difference of large numbers and is computed to twice the usual precision;
    what is left of rounding is bounded term by term.
    """
    d = len(a)
    gamma = np.ones(d) if gamma is None else gamma
    inverse = np.linalg.inv(a)
    b = np.abs(inverse)
    size = np.abs(a).T * gamma @ np.abs(a)
    if d <= MOST_ACCURATE:
        residual, uncertain = _residual(a, matrix, gamma), d * EPS * size
    else:
        residual, uncertain = matrix - (a.T * gamma) @ a, 2.0 * size
    slip = float(np.linalg.norm(a @ inverse - np.eye(d)) + 2 * d * EPS * np.linalg.norm(np.abs(a) @ b))
    if not slip < 0.5:
        return math.inf
    rounding = 4 * (d + 1) * EPS * b.T @ (np.abs(residual) + uncertain) @ b
    return float(
        (np.linalg.norm(inverse.T @ residual @ inverse) + np.linalg.norm(rounding)) / (1 - slip) ** 2
    )


def _residual(a: np.ndarray, matrix: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    """``matrix - A' diag(gamma) A`` by error-free sums and products, rounded once at the end."""
    total, low = matrix.copy(), np.zeros_like(matrix)
    for row, weight in zip(a, gamma, strict=True):
        product, rest = _product(row[:, None], row[None, :])
        scaled, slip = _product(product, np.asarray(weight))
        new = total - scaled
        back = new - total
        low += ((total - (new - back)) - (scaled + back)) - (slip + rest * weight)
        total = new
    return np.asarray(total + low)


def _product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``x y`` as a rounded product and its rounding error, exactly (Dekker 1971)."""
    product = x * y
    x1, y1 = _upper_half(x), _upper_half(y)
    x2, y2 = x - x1, y - y1
    return product, ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2


def _upper_half(x: np.ndarray) -> np.ndarray:
    large = 134217729.0 * x  # 2^27 + 1
    return np.asarray(large - (large - x))
