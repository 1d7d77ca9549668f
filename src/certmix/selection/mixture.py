"""BIC of the mixture that EM finds: what others choose the number of components by. Not certified."""

from __future__ import annotations

import math

import numpy as np

from certmix.local.em import em
from certmix.problem import Problem
from certmix.selection.criterion import icl


def bic(problem: Problem, labels: np.ndarray, time_limit: float) -> float | None:
    """Minus twice the log-likelihood that EM finds from a clustering, plus ``nu log n``; None where it means little.

    That is: with side constraints, priors, or an unknown variance, of which this EM knows nothing.
    """
    prior = problem.prior
    if problem.constraints or prior.on_means or prior.on_weights or problem.covariance.unknown:
        return None
    found = em(problem, start=labels, time_limit=time_limit).history
    middle = icl(problem)
    return 2.0 * found[-1] + 0.5 * (middle.low + middle.high) if found and math.isfinite(found[-1]) else None
