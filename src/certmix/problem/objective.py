"""THE evaluator of the objective: for a full point (z, mu, pi), and the best (mu, pi) for given labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InfeasibleError, InputError
from certmix.problem.averages import average_in_box
from certmix.problem.masses import linear_costs, sizes_cost
from certmix.problem.noise import LABEL
from certmix.problem.scale import best_variance, least_by_scale, prior_moves_means

if TYPE_CHECKING:
    from certmix.problem.problem import Problem


@dataclass(frozen=True)
class Point:
    """Labels with their best parameters and the objective there; the variance where that is unknown."""

    labels: np.ndarray
    means: np.ndarray
    weights: np.ndarray
    value: float
    variance: float | np.ndarray | None = None


class Objective:
    r"""Evaluator of Problem 1 of Flaherty et al. (2020) in d dimensions.

    .. math::

        f = \sum_i \Bigl[\tfrac12 (y_i-\mu_{z_i})^\top P_{z_i}(y_i-\mu_{z_i}) + \tfrac12\log\det\Sigma_{z_i}
            - \log\pi_{z_i}\Bigr]
          + \sum_k \tfrac12 (\mu_k-m_k)^\top \Lambda_k (\mu_k-m_k) - \sum_k (\alpha_k-1)\log\pi_k
          + \sum_{l \text{ broken}} c_l

    :math:`c_l` is the penalty of a soft link, at any variance.
    The log-determinants are there only with one covariance per component, or where the variance :math:`\sigma^2` is
    unknown: then :math:`\Sigma_k = \sigma^2 \Sigma_{0k}`, and :math:`\sigma^2` is found with the means.
    Noise is a component with :math:`P = 0` (:mod:`certmix.problem.noise`).
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    # -- a full point ----------------------------------------------------------------------------------------
    def value(
        self,
        labels: np.ndarray,
        means: np.ndarray,
        weights: np.ndarray,
        variance: float | np.ndarray | None = None,
    ) -> float:
        """The objective of a full point; infinite where a used weight is zero. Ignores side constraints.

        An unknown variance that is not given is the best one.
        """
        p = self.problem
        labels = self.checked_labels(labels)
        sizes = np.bincount(labels, minlength=p.n_components)
        squares = self.half_squares(labels, means)
        total = float(np.sum(squares))
        if p.covariance.unknown:
            v = best_variance(p, squares) if variance is None else variance
            if np.any(v == 0.0):
                return -math.inf
            each = 0.5 * p.n_samples * (1 if p.covariance.per_feature else p.n_features)
            total = float(np.sum(squares / v + each * np.log(v)))
        if p.masses is None:
            total += float(sizes @ p.covariance.half_log_det)
        else:
            total += float(linear_costs(p)[np.arange(p.n_samples), labels].sum())
        total += self.weight_cost(sizes * sizes_cost(p), weights)
        return float(total + self.mean_prior_cost(means) + self.penalty(labels))

    def penalty(self, labels: np.ndarray) -> float:
        """What the soft links cost that labels break."""
        return math.fsum(link.penalty for link in self.problem.rules.soft if link.broken(labels))

    def half_squares(self, labels: np.ndarray, means: np.ndarray) -> float | np.ndarray:
        """Half the sum of squares; for every feature where each has its own unknown variance."""
        if not self.problem.covariance.per_feature:
            return float(self.distances_to_own(labels, means).sum() * 0.5)
        return np.asarray(0.5 * ((self.problem.data - means[labels]) ** 2).sum(axis=0))

    def distances_to_own(self, labels: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Squared Mahalanobis distance of every sample to its own component's mean."""
        p = self.problem
        if p.covariance.shared:
            residual = p.samples.filled - means[labels]
            return np.asarray(np.einsum("ij,ij->i", p.covariance.times(0, residual), self.counted(residual)))
        out = np.empty(p.n_samples)
        for k in range(p.n_components):
            rows = labels == k
            residual = p.samples.filled[rows] - means[k]
            out[rows] = np.einsum("ij,ij->i", p.covariance.times(k, residual), self.counted(residual, rows))
        return out

    def counted(self, residual: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """Residuals of some samples, each as often as its value counts."""
        masses = self.problem.masses
        return residual if masses is None else masses.of[rows] * residual

    def weight_cost(self, sizes: np.ndarray, weights: np.ndarray) -> float:
        """``-sum_k (n_k + alpha_k - 1) log pi_k`` with ``0 log 0 = 0``."""
        power = sizes + self.problem.prior.alpha - 1.0
        used = power != 0.0
        with np.errstate(divide="ignore"):
            return float(-(power[used] @ np.log(weights[used])))

    def mean_prior_cost(self, means: np.ndarray) -> float:
        prior = self.problem.prior
        if not prior.on_means:
            return 0.0
        gap = means - prior.mean
        return 0.5 * sum(float(prior.precision.times(k, row) @ row) for k, row in enumerate(gap))

    def component_costs(self, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Cost of every sample in every component: ``1/2 |y - mu_k|^2_P + 1/2 log det - log pi_k``."""
        p = self.problem
        costs = np.empty((p.n_samples, p.n_components))
        for k in range(p.n_components):
            residual = p.samples.filled - means[k]
            costs[:, k] = 0.5 * np.einsum("ij,ij->i", p.covariance.times(k, residual), self.counted(residual))
        costs += p.covariance.half_log_det if p.masses is None else linear_costs(p)
        with np.errstate(divide="ignore"):
            return np.asarray(costs - np.log(weights) if sizes_cost(p) else costs)

    # -- the best parameters for given labels ----------------------------------------------------------------
    def best(self, labels: np.ndarray) -> Point:
        """The best means and weights for given labels, and the objective there.

        Raises
        ------
        InfeasibleError
            When an estimator constraint contradicts a box or fixed weights for these labels.
        """
        labels = self.checked_labels(labels)
        means = self.best_means(labels)
        weights = self.best_weights(np.bincount(labels, minlength=self.problem.n_components))
        if not self.problem.covariance.unknown:
            return Point(labels, means, weights, self.value(labels, means, weights))
        if prior_moves_means(self.problem):
            means = self._means_with_variance(labels, means)
        variance = best_variance(self.problem, self.half_squares(labels, means))
        return Point(labels, means, weights, self.value(labels, means, weights, variance), variance)

    def _means_with_variance(self, labels: np.ndarray, means: np.ndarray) -> np.ndarray:
        """The best means for labels where a prior pulls at them: how much it does depends on the variance."""

        def at(scale: float) -> tuple[float, float, np.ndarray]:
            found = self.problem.at_scale(scale).objective.best_means(labels)
            squares = 0.5 * float(self.distances_to_own(labels, found).sum())
            return squares, self.mean_prior_cost(found), found

        return least_by_scale(self.problem, at)

    def best_means(self, labels: np.ndarray) -> np.ndarray:
        p = self.problem
        means = np.empty((p.n_components, p.n_features))
        centre = p.samples.filled.mean(axis=0)
        boxed = "means" in p.estimators and p.has_mean_box
        for k in range(p.n_components):
            rows = labels == k
            m, average = self._average(rows, centre)
            if (
                average is not None
                and boxed
                and not average_in_box(p.data[rows], p.mean_lower[k], p.mean_upper[k])
            ):
                raise InfeasibleError(
                    f"the mean of the samples in component {p.component_names[k]} lies outside its box"
                )
            means[k] = self.best_mean(k, m, average, centre)
        return means

    def _average(self, rows: np.ndarray, centre: np.ndarray) -> tuple[float | np.ndarray, np.ndarray | None]:
        """How much samples count, of every feature where values are missing, and their average; None without any.

        Where nothing of a feature is there, the average is the centre's.
        """
        masses = self.problem.masses
        # Deviations from the centre keep full accuracy when the data have a large common offset.
        away = self.problem.samples.filled[rows] - centre
        if not len(away):
            return 0.0, None
        total = np.full(1, float(len(away))) if masses is None else masses.of[rows].sum(axis=0)
        average = centre + self.counted(away, rows).sum(axis=0) / np.where(total > 0, total, 1.0)
        return (total if len(total) > 1 else float(total[0])), average

    def best_mean(
        self, k: int, m: float | np.ndarray, average: np.ndarray | None, centre: np.ndarray
    ) -> np.ndarray:
        """The best mean of a component with m samples, or shares of them, of this average; it is None without any.

        Of a diagonal covariance m may be a number for every feature.
        """
        p = self.problem
        lower, upper = p.mean_lower[k], p.mean_upper[k]
        if average is not None and "means" in p.estimators:
            return np.clip(average, lower, upper)  # the exact average lies there, its rounding may not
        has_prior = p.prior.precision.nonzero(k)
        if average is None:
            target = p.prior.mean[k] if has_prior else centre
        elif has_prior:
            pull = p.prior.precision.times(k, p.prior.mean[k] - average)
            hessian = self._hessian(k, m)
            target = average + (pull / hessian if hessian.ndim == 1 else np.linalg.solve(hessian, pull))
        else:
            target = average
        if np.all(target >= lower) and np.all(target <= upper):
            return target
        return _nearest_in_box(self._hessian(k, m), target, lower, upper)

    def _hessian(self, k: int, m: float | np.ndarray) -> np.ndarray:
        """``m P_k + Lambda_k``, as a vector where that is diagonal; of no data and no prior, the identity."""
        p = self.problem
        if not np.any(m) and not p.prior.precision.nonzero(k):
            return np.ones(p.n_features)
        if p.covariance.diagonal and p.prior.precision.diagonal:
            own = p.covariance.precision.entries[0 if p.covariance.shared else k]
            found = m * own + p.prior.precision.entries[k]
            return np.asarray(np.where(found > 0, found, 1.0))
        return np.asarray(m * p.covariance.of(k) + p.prior.precision[k])

    def best_weights(self, sizes: np.ndarray) -> np.ndarray:
        """Minimise ``-sum_k (n_k + alpha_k - 1) log pi_k`` over the weights that are allowed."""
        p = self.problem
        low, high = p.estimator_sizes
        if np.any(sizes < low) or np.any(sizes > high):
            what = "lie outside weight_bounds" if p.fixed_weights is None else "are not the fixed weights"
            raise InfeasibleError(f"the estimator constraint cannot hold: the shares n_k / n {what}")
        if p.fixed_weights is not None:
            return p.fixed_weights
        if "weights" in p.estimators:
            return np.asarray(sizes / p.n_samples)
        power = sizes + p.prior.alpha - 1.0
        if not p.has_weight_box:
            total = power.sum()
            return np.asarray(power / total if total > 0 else np.full(len(power), 1.0 / len(power)))
        return water_fill(power, p.weight_lower, p.weight_upper)

    # -- checks ----------------------------------------------------------------------------------------------
    def checked_labels(self, labels: np.ndarray) -> np.ndarray:
        array = np.asarray(labels)
        p = self.problem
        if array.shape != (p.n_samples,):
            raise InputError(f"labels must be {p.n_samples} numbers, got shape {array.shape}")
        if array.dtype.kind not in "iu":
            raise InputError("labels must be whole numbers")
        if p.noise is not None:
            array = np.where(array == LABEL, p.n_clusters, array)
        if array.min() < 0 or array.max() >= p.n_components:
            i = int(np.argmax((array < 0) | (array >= p.n_components)))
            raise InputError(f"{p.samples.sample(i)}: label {array[i]} is not in 0 .. {p.n_components - 1}")
        return array.astype(np.int64, copy=False)


def _nearest_in_box(
    hessian: np.ndarray, target: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Minimise ``(x - target)' hessian (x - target)`` over a box, for a positive definite matrix or its diagonal."""
    clipped = np.clip(target, lower, upper)
    if hessian.ndim == 1 or not np.any(hessian - np.diag(np.diag(hessian))):
        return clipped
    # In units in which the matrix has a unit diagonal and the target lies at distance one from the box, the
    # solver's absolute tolerances mean the same for every problem.
    unit = np.sqrt(np.diag(hessian))
    size = float(np.abs((clipped - target) * unit).max())
    if size == 0.0:
        return clipped
    unit = unit / size
    scaled = hessian / np.outer(unit, unit) / size**2
    low, high, start = (lower - target) * unit, (upper - target) * unit, (clipped - target) * unit
    best = _least_in_box(scaled, low, high, start)
    inside = np.clip(target + best / unit, lower, upper)
    return np.where(best <= low, lower, np.where(best >= high, upper, inside))


def _least_in_box(matrix: np.ndarray, low: np.ndarray, high: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Minimise ``u' matrix u`` over a box: the active set by bounded least squares, then that set exactly."""
    candidates = [start]
    u = start.copy()
    free = low < high  # the least-squares solver wants an interior
    if np.any(free):
        root = np.linalg.cholesky(matrix).T
        right = -root[:, ~free] @ u[~free]
        box = (low[free], high[free])
        steps = 100 + 10 * len(u)
        from scipy.optimize import lsq_linear

        found = lsq_linear(root[:, free], right, box, method="bvls", tol=1e-15, max_iter=steps)
        at = found.active_mask
        u[free] = np.where(at < 0, box[0], np.where(at > 0, box[1], np.clip(found.x, *box)))
        candidates.append(u)
        inner = (u > low) & (u < high)
        if np.any(inner):
            exact = u.copy()
            pull = matrix[np.ix_(inner, ~inner)] @ u[~inner]
            exact[inner] = np.linalg.solve(matrix[np.ix_(inner, inner)], -pull)
            candidates.append(np.clip(exact, low, high))
    return min(candidates, key=lambda v: float(v @ matrix @ v))


def water_fill(power: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Minimise ``-sum_k power_k log pi_k`` over ``lower <= pi <= upper``, ``sum pi = 1``.

    The solution is ``pi_k = clip(power_k / level, lower_k, upper_k)`` for the level at which the weights add
    up to one. Their sum falls with the level and is smooth between levels at which a weight meets a bound, so
    the right piece is found among those and the level on it in closed form. Components of power zero take
    what is left over.
    """
    positive = power > 0
    if not np.any(positive):
        return _fill_up(np.array(lower), lower, upper, np.ones(len(power), dtype=bool))
    with np.errstate(divide="ignore"):
        knots = np.concatenate([power[positive] / upper[positive], power[positive] / lower[positive]])
    knots = np.unique(knots[np.isfinite(knots) & (knots > 0)])

    def at(level: float) -> np.ndarray:
        return np.where(positive, np.clip(power / level, lower, upper), lower)

    above = [level for level in knots if math.fsum(at(level)) >= 1.0]
    low = above[-1] if above else knots[0] * 1e-3
    higher = knots[knots > low]
    middle = 0.5 * (low + higher[0]) if len(higher) else low * 2.0
    raw = power / middle
    inside = positive & (raw > lower) & (raw < upper)
    pi = at(middle)
    if np.any(inside):
        rest = _missing(pi[~inside])
        pi[inside] = power[inside] * (rest / power[inside].sum())
        pi = np.clip(pi, lower, upper)
    return _fill_up(pi, lower, upper, ~positive)


def _missing(pi: np.ndarray) -> float:
    """What weights lack to a sum of one, rounded once: it may be all that a small weight has."""
    return math.fsum((1.0, *(-pi).tolist()))


def _fill_up(pi: np.ndarray, lower: np.ndarray, upper: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Spread what is missing to a sum of one, first over ``free`` entries, then wherever there is room.

    The exact sum of the result is never more than one, so that weights between it and the upper bounds add up to one
    exactly, and cost no more.
    """
    for where in (free, np.ones(len(pi), dtype=bool)):
        missing = _missing(pi)
        room = (upper - pi if missing > 0 else pi - lower) * where
        if room.sum() > 0:
            pi = np.clip(
                pi + math.copysign(min(1.0, abs(missing) / room.sum()), missing) * room, lower, upper
            )
    for k in np.argsort(lower - pi):
        excess = -_missing(pi)
        if excess <= 0:
            break
        pi[k] = max(lower[k], np.nextafter(pi[k] - excess, 0.0))
    return pi
