"""What a problem uses, as a set of names; an engine declares which of them it honours."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from certmix.problem.problem import Problem


class Feature(StrEnum):
    """One thing a problem may ask for."""

    MUST_LINK = "must-link constraints"
    CANNOT_LINK = "cannot-link constraints"
    IMPLICATION = "implication constraints"
    LABEL = "known labels"
    SIZE = "size limits"
    COUNTING = "packing, partitioning or covering constraints"
    FIXED_WEIGHTS = "fixed weights"
    WEIGHT_BOX = "bounds on the weights"
    MEAN_BOX = "bounds on the means"
    DIRICHLET = "a Dirichlet prior"
    GAUSSIAN = "a Gaussian prior on the means"
    PER_COMPONENT = "one covariance per component"
    ESTIMATORS = "estimator constraints"
    ALLOW_EMPTY = "empty components"
    UNKNOWN_VARIANCE = "an unknown variance"
    SOFT_LINK = "soft links"
    NOISE = "noise"
    MISSING = "missing values"
    REAL_WEIGHTS = "weights of samples that are not whole numbers"


# An engine never sees an unknown variance: certmix.variance asks it at known ones. Nor does it see soft links:
# certmix.softlinks asks it with some of them as links, and without the others.
EVERY_FEATURE = frozenset(Feature) - {Feature.UNKNOWN_VARIANCE, Feature.SOFT_LINK}
# Values that count other than once (certmix.problem.masses).
MASSES = frozenset({Feature.MISSING, Feature.REAL_WEIGHTS})


def features(problem: Problem) -> frozenset[Feature]:
    """The features that a problem uses."""
    rules = problem.rules
    used = {
        Feature.MUST_LINK: bool(rules.together),
        Feature.CANNOT_LINK: bool(rules.apart),
        Feature.IMPLICATION: bool(rules.implications),
        Feature.LABEL: bool(rules.labels),
        Feature.SIZE: bool(np.any(problem.size_lower > 1) or np.any(problem.size_upper < problem.n_samples)),
        Feature.COUNTING: bool(rules.counts),
        Feature.FIXED_WEIGHTS: problem.fixed_weights is not None,
        Feature.WEIGHT_BOX: problem.has_weight_box,
        Feature.MEAN_BOX: problem.has_mean_box,
        Feature.DIRICHLET: problem.prior.on_weights,
        Feature.GAUSSIAN: problem.prior.on_means,
        Feature.PER_COMPONENT: not problem.covariance.alike,
        Feature.ESTIMATORS: bool(problem.estimators),
        Feature.ALLOW_EMPTY: problem.allow_empty,
        Feature.UNKNOWN_VARIANCE: problem.covariance.unknown,
        Feature.SOFT_LINK: bool(rules.soft),
        Feature.NOISE: problem.noise is not None,
        Feature.MISSING: problem.masses is not None and problem.masses.missing,
        Feature.REAL_WEIGHTS: problem.masses is not None and problem.masses.weight is not None,
    }
    return frozenset(f for f, yes in used.items() if yes)


def tight_sizes(problem: Problem, free: float = 0.25) -> bool:
    """Whether limits leave sizes little choice: but for this share of the samples, it is known how many are where."""
    n = problem.n_samples
    owed = n - int(problem.size_lower.sum())
    spare = int(np.minimum(problem.size_upper, n).sum()) - n
    return problem.n_components > 1 and min(owed, spare) <= free * n
