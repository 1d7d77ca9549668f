"""How much every value counts, where that is not once: values that are missing, samples with any positive weight.

The squared distance of sample i in feature j counts ``m_ij`` times: zero where the value is missing, else the weight of
the sample. Sizes and what limits them count samples. What a sample costs beside its distance counts its weight; the
normalising constant of a component only the features that a sample has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from certmix.errors import InputError
from certmix.problem.covariance import frozen
from certmix.problem.samples import Samples

if TYPE_CHECKING:
    from certmix.problem.problem import Problem

LEAST, MOST = 1e-9, 1e9  # weights, so that their sums keep their digits


@dataclass(frozen=True)
class Masses:
    """What is said of masses.

    Attributes
    ----------
    of : (n, d) where values are missing, else (n, 1): how much every value counts
    weight : (n,) of the samples, or None where each counts once
    """

    of: np.ndarray
    weight: np.ndarray | None

    @property
    def missing(self) -> bool:
        """Whether values are missing."""
        return self.of.shape[1] > 1

    def over(self, columns: np.ndarray) -> np.ndarray:
        """How much the values of some features count."""
        return self.of[:, columns] if self.missing else self.of


@dataclass(frozen=True)
class RealWeights:
    """Weights of samples that count as such even where they are whole numbers, as those of a part may be."""

    values: np.ndarray

    def part(self, samples: np.ndarray) -> RealWeights:
        return RealWeights(self.values[samples])


def masses_of(samples: Samples, weight: np.ndarray | None) -> Masses | None:
    """The masses of samples; None where every value counts once."""
    gaps = samples.gaps
    if gaps is None and weight is None:
        return None
    each = np.ones(samples.n_samples) if weight is None else weight
    return Masses(frozen(each[:, None] * (1.0 if gaps is None else ~gaps)), weight)


def real_weights(given: Any, samples: Samples) -> np.ndarray | None:
    """Weights that are not all whole numbers, one for each sample; None for any others, which are copies."""
    known = isinstance(given, RealWeights)
    try:
        found = np.asarray(given.values if known else given, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if found.shape != (samples.n_samples,) or not np.all(np.isfinite(found) & (found > 0.0)):
        return None
    if not known and np.all(found == np.rint(found)):
        return None
    wrong = (found < LEAST) | (found > MOST)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InputError(
            f"{samples.sample(i)} has weight {found[i]:g}; weights lie between {LEAST:g} and {MOST:g}: scale them"
        )
    return frozen(found.copy())


def check_masses(problem: Problem) -> None:
    """An error, in words, where a problem asks for what masses are no use for."""
    p = problem
    assert p.masses is not None
    what = "missing values" if p.masses.missing else "weights of samples that are not whole numbers"
    if p.masses.weight is not None and p.fixed_weights is None:
        i = int(np.argmax(p.masses.weight != np.rint(p.masses.weight)))
        raise InputError(
            f"{p.samples.sample(i)} has weight {p.masses.weight[i]:g}; weights of samples that are not whole numbers "
            "need weights of components that are fixed: 'uniform', 'none' (k-means) or numbers"
        )
    if p.covariance.unknown:
        raise InputError(
            f"with {what} the variance must be known: give variance, precision or covariance (--variance V), "
            "or cluster by k-means"
        )
    if p.estimators:
        raise InputError(f"with {what} there can be no estimator constraints")
    if p.has_mean_box and not (p.covariance.diagonal and p.prior.precision.diagonal):
        raise InputError(f"with {what} bounds on the means need a diagonal covariance")
    if not p.masses.missing:
        return
    if not (p.covariance.diagonal and p.prior.precision.diagonal):
        raise InputError(
            "with missing values the covariance, and that of a prior on the means, must be diagonal: distances are "
            "over the features that a sample has"
        )
    if p.noise is not None and not p.squares:
        raise InputError(
            "with missing values there can be no noise but that of k-means (noise='trimmed'): its density is one of "
            "whole samples"
        )


def linear_costs(problem: Problem) -> np.ndarray:
    """(n, K): what a sample costs in every component beside its distance and what the sizes cost.

    That is its normalising constant; and its weight in the mixture, where that counts other than once.
    """
    p, masses = problem, problem.masses
    assert masses is not None
    each = np.ones(p.n_samples) if masses.weight is None else masses.weight
    if masses.missing and p.covariance.constants_count and not p.squares:
        costs = masses.of @ (-0.5 * np.log(p.covariance.precision.entries)).T
    else:
        costs = each[:, None] * p.covariance.half_log_det
    if masses.weight is not None:
        assert p.fixed_weights is not None
        costs = costs - each[:, None] * np.log(p.fixed_weights)
    return np.asarray(costs)


def sizes_cost(problem: Problem) -> bool:
    """Whether weights in the mixture cost by the sizes: with masses of samples they are part of the linear costs."""
    return problem.masses is None or problem.masses.weight is None


def linear_sizes(problem: Problem) -> np.ndarray:
    """(n, K): absolute values in the linear costs, each with one for the rounding of its logarithm."""
    masses = problem.masses
    assert masses is not None
    each = np.ones(problem.n_samples) if masses.weight is None else masses.weight
    logs = np.abs(problem.covariance.half_log_det) + 1.0
    if problem.fixed_weights is not None:
        logs = logs + np.abs(np.log(problem.fixed_weights)) + 1.0
    if problem.covariance.diagonal and masses.missing:
        entries = problem.covariance.precision.entries
        logs = logs + (np.abs(np.log(np.where(entries > 0, entries, 1.0))) + 1.0).sum(axis=1)
    return np.asarray(each[:, None] * logs)
