"""Eigenvalues: the few largest for the method, and a proved bound on the smallest for the proof."""

from __future__ import annotations

import numpy as np

from certmix.search.bounds.semidefinite.lapack import eigenpairs

UNIT = 2.0**-53
SINGLE = 2.0**-24  # the unit of single precision
WHOLE_ORDER = 50  # up to this order the whole decomposition costs no more than a part of it ...
WHOLE_SHARE = 8  # ... nor does it beyond if more than one in so many eigenpairs is wanted


def largest(matrix: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The ``count`` largest eigenvalues, ascending, and their vectors."""
    n = len(matrix)
    found = None
    if n > WHOLE_ORDER and WHOLE_SHARE * count <= n:
        found = eigenpairs(matrix.copy(), n - count, n - 1, vectors=True)
    if found is None:
        values, vectors = np.linalg.eigh(matrix)
        found = values[-count:], vectors[:, -count:].copy()
    return found


def above(matrix: np.ndarray, level: float, known: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues, ascending, down to a level, and their vectors; ``known`` do not suffice."""
    count = known
    while True:
        count = min(len(matrix), 2 * count)
        values, vectors = largest(matrix, count)
        if values[0] <= level or count == len(matrix):
            return values, vectors


def smallest_from_below(matrix: np.ndarray, single: bool = False) -> float:
    r"""A proved lower bound on the smallest eigenvalue of an exactly symmetric matrix.

    Where ``single`` precision will do, it is a little lower.

    If floating-point Cholesky of :math:`A = M - cI` runs to its end, then :math:`\lambda_{\min}(A) \ge
    -\frac{\gamma}{1 - \gamma} \operatorname{tr} A` with :math:`\gamma = (n + 1) u / (1 - (n + 1) u)` (S. M. Rump,
    Verification of positive definiteness, BIT 46, 2006), whatever the eigenvalue routine said.
    """
    n = len(matrix)
    scale = float(np.abs(matrix).sum(axis=1).max())
    if scale == 0.0:
        return 0.0
    found, rough = None, single and n > WHOLE_ORDER
    if n > WHOLE_ORDER:  # divided by its scale, it is neither too large nor too small for single precision
        found = eigenpairs((matrix / scale).astype(np.float32 if rough else np.float64), 0, 0, vectors=False)
    value = float(np.linalg.eigvalsh(matrix)[0] if found is None else scale * float(found[0][0]))
    step = (SINGLE if rough else 4.0 * n * UNIT) * scale
    count = 2 * (n + 2)  # instead of n + 1: libraries may multiply by a rounded reciprocal where one divides
    gamma = count * UNIT / (1.0 - count * UNIT)
    while True:
        shifted = matrix.copy()
        diagonal = np.diag(matrix) - (value - step)
        shifted[np.diag_indices(n)] = diagonal
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            step *= 4.0
            if step > 4.0 * scale:  # by Gershgorin
                return -scale * (1.0 + n * UNIT)
            continue
        trace = float(np.abs(diagonal).sum())
        lost = gamma / (1.0 - gamma) * trace + 2.0 * UNIT * (
            float(np.abs(diagonal).max()) + abs(value) + step
        )
        return value - step - 1.01 * lost


def improve(matrix: np.ndarray, vectors: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Approximately the ``count`` largest eigenvalues and vectors, from those of a matrix nearby.

    Rayleigh-Ritz on the block Krylov space of two multiplications. Good enough to make progress with, since no proof
    rests on it; new directions enter only slowly, so the exact decomposition must come back from time to time.
    """
    once = matrix @ vectors
    residual = once - vectors @ (vectors.T @ once)
    basis, _ = np.linalg.qr(np.hstack([vectors, residual, matrix @ residual]))
    small = basis.T @ (matrix @ basis)
    values, turned = np.linalg.eigh(0.5 * (small + small.T))
    return values[-count:], basis @ turned[:, -count:]
