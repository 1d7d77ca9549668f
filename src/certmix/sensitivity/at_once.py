"""Most questions at once: which samples are together in every clustering below a target.

The roots of the semidefinite bound say so (:mod:`certmix.parts.contraction`): what costs the target or more is excluded
by reduced costs, with no exchange argument, and every clustering below the target is in what is left.
"""

from __future__ import annotations

import numpy as np

from certmix.engines import engine, why_not
from certmix.errors import InfeasibleError
from certmix.memory import OutOfMemory
from certmix.parts.contraction import together
from certmix.problem import Problem
from certmix.search.bounds.semidefinite.record import Recorder
from certmix.stopping import Abandoned, Stop, attend


def together_below(
    problem: Problem, labels: np.ndarray, target: float, stop: Stop, recorder: Recorder
) -> np.ndarray:
    """A number for every sample; equal ones are together in every clustering whose objective is below the target.

    All differ where nothing is known.
    """
    nothing = np.arange(problem.n_samples)
    if problem.covariance.unknown or why_not(engine("sdp"), problem) is not None:
        return nothing
    try:
        found = attend(lambda: together(problem, labels, target, stop, recorder), stop, stop.left)
    except (Abandoned, InfeasibleError, OutOfMemory, MemoryError):
        return nothing
    return nothing if stop.raised else found  # a kernel that was cut short may have said anything
