"""Coordinates in which the precision is the identity, and a bound on what their rounding can do to the objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from certmix.presolve.groups import Groups
from certmix.presolve.rotation import free_means, rotated
from certmix.problem import Problem
from certmix.problem.symmetric_matrices import Matrices
from certmix.rounding import EPS

# Beyond this the residual of the factorisation is computed in plain double precision.
MOST_ACCURATE = 200


@dataclass(frozen=True)
class Coordinates:
    """One system of coordinates, ``x = A (y - centre)``: the precision is the identity in it.

    Attributes
    ----------
    columns : features that vary; the others are the same for all samples and have no coordinate
    offset : (n, d), the samples less the centre, these columns
    precision : the precision of these columns, one matrix
    prior_weight : (r,), the precision of the prior on the means, diagonal in these coordinates
    basis : A of shape (d, d), or its diagonal, (d,); None where the points come from inner products
    points : (n, r), the samples in these coordinates
    loss : what points from inner products can change the cost of any clustering by
    """

    columns: np.ndarray
    offset: np.ndarray
    precision: Matrices
    prior_weight: np.ndarray
    basis: np.ndarray | None
    points: np.ndarray
    loss: float = 0.0

    @property
    def straight(self) -> bool:
        """Whether every coordinate is a feature, but for its unit."""
        return self.basis is not None and self.basis.ndim == 1

    def forward(self, away: np.ndarray) -> np.ndarray:
        """Coordinates of a point, given as its difference from the centre."""
        away = away[self.columns]
        if self.basis is None:
            return np.asarray(self.points.T @ (self.offset @ self.precision.times(0, away)) / self._squares)
        return np.asarray(self.basis * away if self.straight else self.basis @ away)

    def back(self, x: np.ndarray, n_features: int) -> np.ndarray:
        """The difference from the centre of a point with coordinates x."""
        away = np.zeros(n_features)
        if self.basis is None:
            away[self.columns] = (self.points @ (x / self._squares)) @ self.offset
        else:
            away[self.columns] = x / self.basis if self.straight else np.linalg.solve(self.basis, x)
        return away

    @property
    def _squares(self) -> np.ndarray:
        squares = (self.points**2).sum(axis=0)
        return np.where(squares > 0, squares, 1.0)

    def rounding(self, away: np.ndarray) -> np.ndarray:
        """Bounds on the rounding in the coordinates of points, given as their differences from the centre."""
        away = np.abs(away)
        if self.basis is None:
            return np.zeros((*away.shape[:-1], self.points.shape[1]))
        if self.straight:
            return np.asarray(3 * EPS * away * np.abs(self.basis))
        return np.asarray((len(self.columns) + 3) * EPS * (away @ np.abs(self.basis).T))

    def ratio(self, prior: Matrices, k: int) -> float:
        """How far precision and prior of component k are from what these coordinates say, relatively."""
        if self.basis is None:
            return 0.0
        if self.straight:
            return 4 * EPS  # a square root and a division, each rounded once
        found = disagreement(self.basis, self.precision[0])
        if np.any(self.prior_weight):
            least = float(self.prior_weight.min())
            away = disagreement(self.basis, prior[k], self.prior_weight)
            found = max(found, away / least if least > 0 else math.inf)
        return found


def centre_of(data: np.ndarray) -> np.ndarray:
    """The mean of the samples; of a feature that is the same for all of them, exactly that value."""
    return np.where((data == data[0]).all(axis=0), data[0], data.mean(axis=0))


def system_of(problem: Problem, c: int, centre: np.ndarray) -> Coordinates:
    """The coordinates of component c, in as few dimensions as the samples and the means need."""
    columns = np.arange(problem.n_features)
    offset = problem.samples.filled - centre
    if free_means(problem):  # then a mean stays where a feature has its only value
        columns = np.flatnonzero(offset.any(axis=0))
        columns = columns if len(columns) else np.arange(1)
        offset = offset if len(columns) == problem.n_features else offset[:, columns]
    precision = problem.covariance.precision.part(0 if problem.covariance.shared else c, columns)
    fewer = rotated(problem, offset, precision)
    if fewer is not None:
        points, loss = fewer
        return Coordinates(columns, offset, precision, np.zeros(points.shape[1]), None, points, loss)
    prior = problem.prior.precision.part(c, columns)
    basis, prior_weight = coordinates(precision, prior)
    points = offset * basis if basis.ndim == 1 else offset @ basis.T
    return Coordinates(columns, offset, precision, prior_weight, basis, points)


def coordinates(precision: Matrices, prior: Matrices) -> tuple[np.ndarray, np.ndarray]:
    """``(A, gamma)`` with ``A'A = precision`` and ``A^-T prior A^-1 = diag(gamma)``; a vector where A is diagonal."""
    if not precision.nonzero(0):  # noise: all samples are at one point, and nothing pulls at its mean
        return np.zeros(precision.entries.shape[1]), np.zeros(precision.entries.shape[1])
    if precision.diagonal and prior.diagonal:
        return np.sqrt(precision.entries[0]), prior.entries[0] / precision.entries[0]
    root = np.linalg.cholesky(precision[0]).T
    if not prior.nonzero(0):
        return root, np.zeros(len(root))
    inverse = np.linalg.inv(root)
    gamma, rotation = np.linalg.eigh(inverse.T @ prior[0] @ inverse)
    return rotation.T @ root, np.maximum(gamma, 0.0)


def whitening_error(
    problem: Problem,
    groups: Groups,
    systems: Sequence[Coordinates],
    centre: np.ndarray,
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
    4. Points from inner products replace 1 and the first part of 2; see :mod:`certmix.presolve.rotation`.
    5. Where values do not count once, all squares are weighted by the masses, which are sums of w rounded numbers: that
       is another ``(w + 2) eps`` of the cost. A mean that balances masses has two roundings more for each of them.

    Q is bounded for every clustering by putting all means at one point of the box, or, where the means are tied to
    averages, by the farthest average from the prior's mean.

    Parameters
    ----------
    systems : the coordinates, one for all components or one for each
    scatter : (C, N), half the sum of squares inside every group
    prior_mean, lower, upper : (K, r), mean of the prior and box on the means, in whitened coordinates
    """
    n = problem.n_samples
    ratio, prior_moved, prior_cost = 0.0, 0.0, 0.0
    moved, distance = np.zeros(n), np.zeros(n)  # worst over the components
    each, more = np.ones((1, 1)), 0
    if problem.masses is not None:
        each, more = problem.masses.over(systems[0].columns), 2
    merged, inside = np.zeros(groups.n_groups), np.zeros(groups.n_groups)
    for c, system in enumerate(systems):
        ratio = max(ratio, system.ratio(problem.prior.precision, c))
        moved = np.maximum(moved, (each * system.rounding(system.offset) ** 2).sum(axis=1))
        if groups.n_groups < n:
            r = system.points.shape[1]
            size, mass = np.zeros((2, groups.n_groups, r))
            np.add.at(size, groups.of, each * np.abs(system.points))
            np.add.at(mass, groups.of, np.broadcast_to(each, (n, r)))
            w = np.where(groups.weight > 1, groups.weight, 0)[:, None]
            mass = np.where(w > 1, mass, 0.0)
            shift = (w + 1 + 2 * more) * EPS * size / np.where(mass > 0, mass, 1.0)
            merged = np.maximum(merged, (mass * shift**2).sum(axis=1))
            inside = np.maximum(inside, (groups.weight + r + 3 + more) * EPS * scatter[c])
    for k in range(problem.n_components):
        system = systems[k if len(systems) > 1 else 0]
        weight, whitened = system.prior_weight, system.points
        if np.any(weight):
            rounding = system.rounding(problem.prior.mean[k][system.columns] - centre[system.columns])
            prior_moved += float(weight @ rounding**2)
        at = np.clip(np.where(weight > 0, prior_mean[k], 0.0), lower[k], upper[k])
        distance = np.maximum(distance, (each * (whitened - at) ** 2).sum(axis=1))
        off = np.abs(at - prior_mean[k])
        if "means" in problem.estimators:
            off = np.maximum(off, np.abs(whitened - prior_mean[k]).max(axis=0))
        prior_cost += 0.5 * float(weight @ off**2)
    if more:
        ratio += (int(groups.weight.max()) + more) * EPS
    ratio = min(ratio, 1.0)  # no more than everything is lost: the exact cost is not negative
    quadratic = 0.5 * float(distance.sum()) + prior_cost
    step = float(np.sqrt(moved.sum() + prior_moved) + np.sqrt(merged.sum()))
    lost = ratio * quadratic + np.sqrt(2 * quadratic) * step + 0.5 * step**2
    return float(lost + inside.sum() + 0.5 * merged.sum() + max(system.loss for system in systems))


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
    found = np.linalg.norm(inverse.T @ residual @ inverse) + np.linalg.norm(rounding)
    return float(found / (1 - slip) ** 2)


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
