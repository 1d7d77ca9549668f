"""From mixtures on many lines to one in space: which component is which, means, covariances, weights."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csc_matrix

# Covariances of standardised samples are kept this far from singular, so that they have densities.
_FLOOR = 1e-3
_MOST_STEPS = 200


def match_means(
    directions: np.ndarray, lines: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    r"""Means M and permutations P_r that minimise :math:`\sum_r \|P_r \mu_r - M \rho_r\|^2`.

    For fixed M the best permutation matches sorted orders; for fixed permutations M is a least-squares solution. Both
    by turns, from several starts.

    Parameters
    ----------
    directions : ndarray of shape (R, d)
    lines : ndarray of shape (R, K)
        Means on every line, increasing.
    starts : ndarray of shape (S, K, d)

    Returns
    -------
    means : ndarray of shape (K, d)
    places : ndarray of shape (R, K)
        Component k is number ``places[r, k]`` on line r.
    error : float
    """
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    pseudo = np.linalg.pinv(directions)
    for start in starts:
        means, places = start, np.full(lines.shape, -1)
        for _ in range(_MOST_STEPS):
            ranks = np.argsort(np.argsort(directions @ means.T, axis=1, kind="stable"), axis=1, kind="stable")
            if np.array_equal(ranks, places):
                break
            places = ranks
            means = (pseudo @ np.take_along_axis(lines, places, axis=1)).T
        wanted = np.take_along_axis(lines, places, axis=1)
        error = float(((wanted - directions @ means.T) ** 2).sum())
        if best is None or error < best[0]:
            best = (error, means, places)
    assert best is not None
    return best[1], best[2], best[0]


def fit_covariance(directions: np.ndarray, variances: np.ndarray) -> np.ndarray:
    r"""The covariance that minimises :math:`\sum_r |\rho_r^\top \Sigma \rho_r - \sigma_r^2|` over definite ones.

    A conic problem for Clarabel: the upper triangle of Sigma, column by column, and one bound on every absolute value.
    """
    import clarabel

    R, d = directions.shape
    columns = np.array([(a, b) for b in range(d) for a in range(b + 1)])
    a, b = columns.T
    size = len(columns)
    values = directions[:, a] * directions[:, b] * np.where(a == b, 1.0, 2.0)
    identity = np.eye(R)
    # Clarabel's triangle cone holds off-diagonal entries times the square root of two.
    cone = -np.diag(np.where(a == b, 1.0, np.sqrt(2.0)))
    matrix = np.block([[values, -identity], [-values, -identity], [cone, np.zeros((size, R))]])
    right = np.concatenate([variances, -variances, np.where(a == b, -_FLOOR, 0.0)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        csc_matrix((size + R, size + R)),
        np.concatenate([np.zeros(size), np.ones(R)]),
        csc_matrix(matrix),
        right,
        [clarabel.NonnegativeConeT(2 * R), clarabel.PSDTriangleConeT(d)],
        settings,
    )
    x = np.array(solver.solve().x)[:size]
    covariance = np.zeros((d, d))
    covariance[a, b] = covariance[b, a] = x
    return _definite(covariance)


def _definite(covariance: np.ndarray) -> np.ndarray:
    """A solution is within tolerances only: push eigenvalues up to the floor."""
    if not np.isfinite(covariance).all():
        return np.eye(len(covariance))
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, _FLOOR)) @ vectors.T)
