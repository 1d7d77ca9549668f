"""Most questions at once: which samples are together in every clustering below a target.

The roots of the semidefinite bound say so (:mod:`certmix.parts.contraction`): what costs the target or more is excluded
by reduced costs, with no exchange argument, and every clustering below the target is in what is left.
"""

from __future__ import annotations

import numpy as np

from certmix.parts.contraction import TogetherTask
from certmix.problem import Problem
from certmix.stopping import Stop


def together_below(problem: Problem, labels: np.ndarray, target: float, stop: Stop) -> np.ndarray:
    """A number for every sample; equal ones are together in every clustering whose objective is below the target."""
    if problem.covariance.unknown:
        return np.arange(problem.n_samples)
    return TogetherTask(problem, labels, target, stop.left)(stop)
