r"""As few coordinates as the samples need: from their inner products instead of their features.

Let B be the samples less the centre, one a row, P the one precision, G = B P B' their inner products. Where nothing
is said about the means, the best mean of a cluster is its average, and the quadratic cost of a clustering is

    Q(G) = 1/2 tr G (I - Z),        Z_ij = 1/m for i, j in the same cluster of m samples, else 0.

It depends on G alone. So points x_i of any dimension with X X' = G cost the same for every clustering, and there are
such points in as many coordinates as G has positive eigenvalues: at most n - 1, and no more than features that vary.

*Rounding.* Whatever points are stored, with E = X X' - G exactly

    |Q(X X') - Q(G)| = 1/2 |tr E (I - Z)| <= 1/2 |E|_F |I - Z|_F <= 1/2 sqrt(n) |E|_F

for I - Z is an orthogonal projection: its eigenvalues are zeros and ones. No property of the eigenvectors is used.
E is computed, and its rounding added: a sum of m products, in whatever order, errs by ``gamma(m)`` times the sum of
their absolute values. Sums over thousands of features are taken in chunks, so that m is the length of a chunk and the
number of chunks. A difference from the centre has full relative accuracy, so a common offset costs nothing.
"""

from __future__ import annotations

import numpy as np

from certmix.problem import Problem
from certmix.problem.symmetric_matrices import Matrices
from certmix.rounding import EPS

CHUNK = 256
# The matrix of inner products should stay small.
MOST_SAMPLES = 3000
# Directions in which the samples spread less than this, relative to the widest, are left out: their squares are not
# much more than the rounding of inner products, and the error knows what they are worth.
LEAST_SPREAD = 1e-6


def free_means(problem: Problem) -> bool:
    """Whether nothing is said about the means, so that the best one is the average of the samples."""
    return not (problem.has_mean_box or problem.prior.on_means)


def rotated(problem: Problem, offset: np.ndarray, precision: Matrices) -> tuple[np.ndarray, float] | None:
    """Points in fewer coordinates than there are columns, and what they can change any clustering's cost by.

    Means with a box, a prior, or components with a precision of their own keep their coordinates, and so do samples
    that need all of them.

    Parameters
    ----------
    offset : (n, d), the samples less the centre, columns that vary
    precision : the precision of these columns
    """
    n, d = offset.shape
    if not (free_means(problem) and problem.covariance.shared and n <= MOST_SAMPLES):
        return None
    if problem.masses is not None:  # I - Z would be no projection
        return None
    if n > d and not _flat(offset):
        return None
    products, slip, size = inner_products(offset, precision)
    if not np.isfinite(size):
        return None
    points = _points(products) if n <= d else _turned(offset, precision)
    if points.shape[1] >= d:
        return None
    return points, distortion(points, products, slip, size)


def inner_products(offset: np.ndarray, precision: Matrices) -> tuple[np.ndarray, float, float]:
    """``(G, slip, size)``: G within ``slip`` of its exact value, in Frobenius' norm, and the norm of |B| |P| |B|'."""
    chunks = CHUNK + len(offset.T) // CHUNK + 4
    terms = chunks if precision.diagonal else 2 * chunks
    products = _summed(_applied(offset, precision), offset)
    size = float(np.linalg.norm(_summed(_applied(np.abs(offset), precision.magnitude()), np.abs(offset))))
    return 0.5 * (products + products.T), terms * EPS * size, size


def distortion(points: np.ndarray, products: np.ndarray, slip: float, size: float) -> float:
    """``1/2 sqrt(n) |X X' - G|`` with all rounding, see above."""
    n, r = points.shape
    apart = float(np.linalg.norm(points @ points.T - products))
    own = float(np.linalg.norm(np.abs(points) @ np.abs(points).T))
    return 1.01 * 0.5 * float(np.sqrt(n)) * (apart + (r + 4) * EPS * (own + size) + slip)


def _flat(offset: np.ndarray) -> bool:
    """Whether the samples lie in fewer dimensions than there are columns."""
    scaled = offset / np.abs(offset).max(axis=0).clip(min=1e-300)
    spread = np.linalg.svd(np.linalg.qr(scaled, mode="r"), compute_uv=False)
    return bool(spread[-1] <= LEAST_SPREAD * spread[0])


def _points(products: np.ndarray) -> np.ndarray:
    """Points with these inner products, along their principal axes, the widest first."""
    values, vectors = np.linalg.eigh(products)
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = max(1, int(np.count_nonzero(values > LEAST_SPREAD**2 * max(float(values[0]), 0.0))))
    return np.ascontiguousarray(vectors[:, :keep] * np.sqrt(np.maximum(values[:keep], 0.0)))


def _turned(offset: np.ndarray, precision: Matrices) -> np.ndarray:
    """The same for many samples of few columns: whitened, then turned to their principal axes."""
    root = np.sqrt(precision.entries[0]) if precision.diagonal else np.linalg.cholesky(precision[0])
    whitened = offset * root if precision.diagonal else offset @ root
    _, spread, axes = np.linalg.svd(np.linalg.qr(whitened, mode="r"))
    keep = max(1, int(np.count_nonzero(spread > LEAST_SPREAD * spread[0])))
    return np.ascontiguousarray(whitened @ axes[:keep].T)


def _applied(rows: np.ndarray, precision: Matrices) -> np.ndarray:
    """``rows P``, in chunks where P is full."""
    return precision.times(0, rows) if precision.diagonal else _summed(rows, precision[0])


def _summed(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``left right'``, summed in chunks of columns."""
    total = np.zeros((len(left), len(right)))
    for start in range(0, left.shape[1], CHUNK):
        total += left[:, start : start + CHUNK] @ right[:, start : start + CHUNK].T
    return total
