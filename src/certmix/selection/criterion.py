r"""What is compared over numbers of components, as intervals rounded outwards.

With F the objective, :math:`\mathrm{ICL} = 2F + nd\log 2\pi + n\log\det\Sigma + \nu\log n` is minus twice the logarithm
of the classification likelihood (times the prior, up to its constant), plus the penalty for :math:`\nu` parameters
(Biernacki, Celeux, Govaert 2000). Uniform weights and no variance to speak of: the sum of squares alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certmix.errors import InputError
from certmix.problem import Problem
from certmix.verify.rounding import UNIT

ICL, SQUARES = "icl", "sse"
SLACK = 16.0 * UNIT  # relatively, more than what a handful of operations and a logarithm err by


@dataclass(frozen=True)
class Affine:
    """``factor F + constant`` of an objective F, the constant known to lie between two numbers."""

    factor: float
    low: float
    high: float

    def below(self, objective: float) -> float:
        """A number that is not above it."""
        return self._rounded(objective, self.low, -1.0)

    def above(self, objective: float) -> float:
        """A number that is not below it."""
        return self._rounded(objective, self.high, 1.0)

    def reaching(self, value: float) -> float:
        """An objective, hardly more than the least, at which it is above a value for sure."""
        if not math.isfinite(value):
            return value
        found = (value - self.low) / self.factor
        step = SLACK * max(1.0, abs(found), abs(value), abs(self.low))
        while not self.below(found) > value:
            found, step = found + step, 2.0 * step
        return found

    def _rounded(self, objective: float, constant: float, sign: float) -> float:
        if not math.isfinite(objective):
            return objective
        scaled = self.factor * objective
        slack = SLACK * (abs(scaled) + abs(constant))
        return math.nextafter(scaled + constant + sign * slack, sign * math.inf)


def icl(problem: Problem) -> Affine:
    """ICL as a function of the objective."""
    if problem.squares:
        raise InputError(
            "k-means has no ICL: the sum of squares is no likelihood; give a variance and weights"
        )
    counts = _counts(problem)
    n = float(counts.max())
    penalty = n_parameters(problem) * math.log(problem.n_samples)
    gaussian = float(counts.sum()) * math.log(2.0 * math.pi)
    determinant, error = _log_determinant(problem, counts / n)
    total = math.fsum((gaussian, penalty, n * determinant))
    rounding = SLACK if problem.masses is None else SLACK * problem.n_samples  # masses are added up
    slack = rounding * (gaussian + abs(penalty) + abs(n * determinant)) + n * error
    return Affine(2.0, total - slack, total + slack)


def _counts(problem: Problem) -> np.ndarray:
    """How often every feature counts: once for each sample, or as often as its values do."""
    if problem.masses is None:
        return np.full(problem.n_features, float(problem.n_samples))
    return np.broadcast_to(problem.masses.of.sum(axis=0), problem.n_features)


def n_parameters(problem: Problem) -> int:
    """Means, and weights where they are free, and variances where they are."""
    K, d = problem.n_components, problem.n_features
    free = K - 1 if problem.fixed_weights is None else 0
    variances = (d if problem.covariance.per_feature else 1) if problem.covariance.unknown else 0
    return problem.n_clusters * d + free + variances


def sum_of_squares(problem: Problem) -> Affine | None:
    """The sum of squares as a function of the objective, where that holds nothing else but a constant."""
    weights, prior, covariance = problem.fixed_weights, problem.prior, problem.covariance
    if weights is None or np.any(weights != weights[0]) or prior.on_means or prior.on_weights:
        return None
    if covariance.constants_count:
        return None
    factor = 2.0 * unit(problem)
    masses = problem.masses
    each = problem.n_samples if masses is None or masses.weight is None else float(masses.weight.sum())
    constant = factor * (each * math.log(weights[0]))  # with weights "none" there is none
    slack = SLACK * (problem.n_samples if masses is not None else 1) * abs(constant)
    return Affine(factor, constant - slack, constant + slack)


def unit(problem: Problem) -> float:
    """The variance, so that sums of squares are in the units of the data; 1 where features have different ones."""
    entries = problem.covariance.precision.entries
    alike = problem.covariance.diagonal and bool(np.all(entries == entries[0, 0]))
    return 1.0 / float(entries[0, 0]) if alike else 1.0


def total_squares(problem: Problem) -> float:
    """The sum of squares around one mean, in the same units."""
    samples, mass = problem.samples.filled, 1.0 if problem.masses is None else problem.masses.of
    count = np.maximum(np.broadcast_to(mass, samples.shape).sum(axis=0), np.finfo(float).tiny)
    deviations = samples - (mass * samples).sum(axis=0) / count
    return float(np.einsum("ij,ij->", problem.covariance.times(0, deviations), mass * deviations)) * unit(
        problem
    )


def _log_determinant(problem: Problem, share: np.ndarray) -> tuple[float, float]:
    """``log det Sigma`` where the objective leaves it out, every feature by its share, and how far that may be off."""
    covariance = problem.covariance
    if covariance.constants_count:
        return 0.0, 0.0
    precision = covariance.precision
    if covariance.diagonal:
        logs = share * np.log(precision.entries[0])
        return -float(logs.sum()), SLACK * len(logs) * float(np.abs(logs).sum())
    # In units in which the diagonal is about one (powers of two: exactly), matrices are far from singular. LU with
    # pivoting factors one that is off by a few d units of its norm (Higham, Accuracy and Stability, chapter 9).
    powers = np.round(0.5 * np.log2(np.diag(precision[0])))
    scaled = precision[0] * np.exp2(-powers)[:, None] * np.exp2(-powers)
    values = np.linalg.eigvalsh(scaled)
    d, inner, outer = (
        len(values),
        float(np.linalg.slogdet(scaled)[1]),
        2.0 * math.log(2.0) * float(powers.sum()),
    )
    off = d * d * float(values[-1] / values[0]) + abs(inner) + abs(outer)
    return -(inner + outer), SLACK * d * off
