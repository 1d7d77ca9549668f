"""What a box on a mean costs when the precision turns it: many small quadratic problems at once."""

from __future__ import annotations

import numpy as np

from certmix.rounding import EPS

_ROUNDS = 12
_SWEEPS = 10


def box_penalty(
    size: np.ndarray,
    precision: np.ndarray,
    prior: np.ndarray,
    target: np.ndarray,
    reach: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> tuple[np.ndarray, float]:
    r"""Lower bounds on :math:`\min_{l \le x \le u} \tfrac12 (x-t_s)^\top H_s (x-t_s)`, :math:`H_s = m_s P +
    \Lambda`.

    A few rounds of coordinate descent, each polished by solving for the coordinates inside the box, find x;
    weak duality makes the bound rigorous wherever they stop. With gradient g at x and :math:`\lambda \le
    \lambda_{\min}(H)`, every x' in the box has

    .. math:: q(x') \ge q(x) - \sum_j \min\bigl( |g_j| \, r_j,\; g_j^2 / 2\lambda \bigr),

    :math:`r_j` being how far the box lets coordinate j go downhill.

    Parameters
    ----------
    size : (S,)
    precision, prior : (d, d)
    target : (S, d), the unconstrained minimisers
    reach : (S, d), sizes of the numbers that the targets were computed from
    lower, upper : (d,)

    Returns
    -------
    penalty : (S,)
    rounding : float
        How far rounding can have lifted any of them.
    """
    hessian = size[:, None, None] * precision + prior
    x = np.clip(target, lower, upper)
    least = size * float(np.linalg.eigvalsh(precision)[0]) + max(0.0, float(np.linalg.eigvalsh(prior)[0]))
    penalty = np.zeros(len(size))
    todo = np.flatnonzero((x != target).any(axis=1) & (least > 0))
    rounding = 0.0
    if len(todo):
        found, rounding = _bound(
            hessian[todo], target[todo], reach[todo], x[todo], lower, upper, 0.5 * least[todo]
        )
        penalty[todo] = found
    return penalty, rounding


def _bound(
    hessian: np.ndarray,
    target: np.ndarray,
    reach: np.ndarray,
    x: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    least: np.ndarray,
) -> tuple[np.ndarray, float]:
    best = np.zeros(len(x))
    scale = 0.0
    for _ in range(_ROUNDS):
        for start in (x, _polished(hessian, target, x, lower, upper)):
            away = start - target
            gradient = np.einsum("sjl,sl->sj", hessian, away)
            steep = np.abs(gradient)
            room = np.where(gradient > 0, start - lower, np.where(gradient < 0, upper - start, 0.0))
            loss = np.minimum(steep * room, steep**2 / (2 * least[:, None])).sum(axis=1)
            value = 0.5 * np.einsum("sj,sj->s", away, gradient)
            best = np.maximum(best, value - loss)
            far = np.abs(start) + np.abs(target) + reach
            scale = max(scale, float(np.einsum("sj,sjl,sl->s", far, np.abs(hessian), far).max()))
        if np.all(loss <= 1e-13 * (1e-3 + value)):
            break
        for _ in range(_SWEEPS):
            for j in range(x.shape[1]):
                slope = np.einsum("sl,sl->s", hessian[:, j], x - target)
                x[:, j] = np.clip(x[:, j] - slope / hessian[:, j, j], lower[j], upper[j])
    return best, 16 * (x.shape[1] + 4) * EPS * scale


def _polished(
    hessian: np.ndarray, target: np.ndarray, x: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """x with the coordinates inside the box solved for, the others held where they are."""
    free = (x > lower) & (x < upper)
    both = free[:, :, None] & free[:, None, :]
    matrix = np.where(both, hessian, np.eye(x.shape[1]))
    held = np.where(free, 0.0, x - target)
    right = np.where(free, -np.einsum("sjl,sl->sj", hessian, held), held)
    return np.clip(target + np.linalg.solve(matrix, right[:, :, None])[:, :, 0], lower, upper)
