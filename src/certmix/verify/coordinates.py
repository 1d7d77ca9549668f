"""Coordinates in which a precision is the identity, and what they can change the cost of any clustering by.

Whitened ones, or ones from inner products: docs/certificates.md (The problem as the checker sees it) has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certmix.verify.evidence import Rejected
from certmix.verify.rounding import TINY, UNIT, Array, gamma, proved_semidefinite, residual
from certmix.verify.statement import times

MOST_SAMPLES = 3000  # for a matrix of inner products
MOST_EXACT = 200  # features up to which a factor is compared with its matrix in whole numbers
LEAST_SPREAD = 1e-6  # relative; what spreads less is left out of X, and is in E


@dataclass(frozen=True)
class System:
    """r coordinates of n samples.

    Attributes
    ----------
    points : (n, r)
    offset : (n, d), the samples less the centre, features that vary; zero where a value is missing
    columns : these features; features that do not vary have no coordinate where the means are free
    basis : A, (d, d), or its diagonal, (d,); None for points from inner products
    weight : (r,), gamma: the prior's precision is at least A' diag(gamma) A
    ratio : r with P >= (1 - r) A'A
    loss : what points from inner products can change the cost of a clustering by
    """

    points: Array
    offset: Array
    columns: Array
    basis: Array | None
    weight: Array
    ratio: float
    loss: float

    def of(self, away: Array) -> Array:
        """Coordinates of differences from the centre."""
        assert self.basis is not None
        return times(away, self.basis.T)

    def rounding(self, away: Array) -> Array:
        """Bounds on the rounding of these coordinates."""
        if self.basis is None:
            return np.zeros((*away.shape[:-1], len(self.weight)))
        operations = 8 if self.basis.ndim == 1 else 2 * len(self.columns) + 6
        return gamma(operations) * times(np.abs(away), np.abs(self.basis).T)


def system(offset: Array, precision: Array, prior: Array, free: bool, shared: bool) -> System:
    """The coordinates for one precision and one prior, each a matrix or the diagonal of one.

    ``free``: no prior and no bounds on any mean; ``shared``: one precision for all components, and every value counts
    once: else I - Z is no projection.
    """
    columns = np.arange(offset.shape[1])
    # A mean is best at the average only if P is positive, also in features that do not vary.
    # (Where it is zero, for noise, every mean is as good.)
    positive = (precision > 0).all() if precision.ndim == 1 else proved_semidefinite(precision)
    free = free and bool(positive or not precision.any())
    if free:
        columns = np.flatnonzero(offset.any(axis=0))
        columns = columns if len(columns) else np.arange(1)
        offset, prior = offset[:, columns], np.zeros(len(columns))
        precision = precision[columns] if precision.ndim == 1 else precision[np.ix_(columns, columns)]
    if free and shared and len(offset) <= MOST_SAMPLES:
        found = from_inner_products(offset, precision)
        if found is not None and math.isfinite(found[1]):
            points, loss = found
            return System(points, offset, columns, None, np.zeros(points.shape[1]), 0.0, loss)
    basis, weight, ratio = coordinates(precision, prior)
    return System(times(offset, basis.T), offset, columns, basis, weight, ratio, 0.0)


def from_inner_products(offset: Array, precision: Array) -> tuple[Array, float] | None:
    """``(X, loss)``, see above; None where the samples need as many coordinates as there are features."""
    n, d = offset.shape
    whitened = times(offset, np.sqrt(precision) if precision.ndim == 1 else _cholesky(precision))
    axes, spread, _ = np.linalg.svd(whitened, full_matrices=False)
    keep = max(1, int((spread > LEAST_SPREAD * spread[0]).sum()))
    if keep == d:
        return None
    products, size = _products(offset, precision), _products(np.abs(offset), np.abs(precision))
    x = axes[:, :keep] * spread[:keep]
    # Another library may find another sign: the first large entry of every coordinate is made positive.
    first = (np.abs(x) >= 0.5 * np.abs(x).max(axis=0)).argmax(axis=0)
    x = np.ascontiguousarray(x * np.where(x[first, np.arange(keep)] < 0, -1.0, 1.0))
    away = float(np.linalg.norm(x @ x.T - products))
    own, given = float(np.linalg.norm(np.abs(x) @ np.abs(x).T)), float(np.linalg.norm(size))
    away += gamma(keep + 8) * (own + given) + gamma(2 * d + 16) * given
    return x, 1.01 * 0.5 * math.sqrt(n) * away + TINY


def _cholesky(precision: Array) -> Array:
    try:
        return np.linalg.cholesky(precision)
    except np.linalg.LinAlgError:
        raise Rejected("a precision matrix is not positive definite") from None


def _products(offset: Array, precision: Array) -> Array:
    found = times(offset, precision) @ offset.T
    return np.asarray(0.5 * (found + found.T))


def coordinates(precision: Array, prior: Array) -> tuple[Array, Array, float]:
    r"""``(A, gamma, r)``: P >= (1 - r) A'A and prior >= A' diag(gamma) A in the order of quadratic forms."""
    if not precision.any():  # noise: all samples at one point
        if prior.any():
            raise Rejected("a component of precision zero has a prior on its mean")
        return np.zeros(len(precision)), np.zeros(len(precision)), 0.0
    if precision.ndim == prior.ndim == 1:
        if not (precision > 0).all():
            raise Rejected("a precision matrix is not positive definite")
        if not (prior >= 0).all():
            raise Rejected("the precision of a prior is not positive semidefinite")
        # A square root and a quotient, rounded once each.
        return np.sqrt(precision), prior / precision * (1 - 16 * UNIT), 8 * UNIT
    precision, prior = (np.diag(m) if m.ndim == 1 else m for m in (precision, prior))
    if not proved_semidefinite(prior):
        raise Rejected("the precision of a prior is not positive semidefinite, as far as can be proved")
    a, g = _cholesky(precision).T, np.zeros(len(precision))
    if prior.any():
        inverse = np.linalg.inv(a)
        g, rotation = np.linalg.eigh(inverse.T @ prior @ inverse)
        a = rotation.T @ a
        g = (g - _disagreement(a, prior, g)) * (1 - 4 * UNIT)
        # A prior too weak to be told from nothing is left out, which only lowers bounds.
        g = g if (g > 0).all() else np.zeros(len(g))
    r = _disagreement(a, precision, np.ones(len(a)))
    if not r < 1.0:
        raise Rejected("a precision matrix is not positive definite, as far as can be proved")
    return a, g, r


def _disagreement(a: Array, matrix: Array, g: Array) -> float:
    """A bound on the norm of ``A^-T matrix A^-1 - diag(g)``.

    With the residual E = matrix - A' diag(g) A and a computed inverse B, A B = I + G, it is at most
    ``|B'EB| / (1 - |G|)^2``. E is exact but for one rounding, or, of a large matrix, known within ``unsure``.
    """
    d, b = len(a), np.linalg.inv(a)
    if d <= MOST_EXACT:
        e, unsure = residual(matrix, a, g), np.zeros((d, d))
    else:
        e = matrix - (a.T * g) @ a
        unsure = gamma(2 * d + 16) * ((np.abs(a).T * np.abs(g)) @ np.abs(a) + np.abs(e)) + TINY
    slip = float(np.linalg.norm(a @ b - np.eye(d)) + gamma(2 * d) * np.linalg.norm(np.abs(a) @ np.abs(b)))
    if not slip < 0.5:
        raise Rejected("a precision matrix is numerically singular")
    rounding = np.abs(b).T @ (gamma(4 * d + 8) * np.abs(e) + unsure) @ np.abs(b)
    return float((np.linalg.norm(b.T @ e @ b) + np.linalg.norm(rounding)) / (1 - slip) ** 2 * 1.01)
