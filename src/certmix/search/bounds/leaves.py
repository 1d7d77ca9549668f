"""The bound of a decided node: its one clustering, scored by the one evaluator."""

from __future__ import annotations

import math

import numpy as np

from certmix.errors import InfeasibleError
from certmix.problem import Problem, is_feasible


def exact_value(problem: Problem, labels: np.ndarray) -> float:
    """The objective of a clustering, lowered by the evaluator's rounding; infinite when it is not feasible."""
    if not is_feasible(problem, labels):
        return math.inf
    try:
        value = problem.objective.best(labels).value
    except InfeasibleError:
        return math.inf
    if not math.isfinite(value):
        return math.inf
    return float(value - rounding(problem.n_samples, value))


def rounding(n: int, value: float) -> float:
    """Rounding of the evaluator: n + 64 additions of terms whose absolute values add up to about the value."""
    return (n + 64) * 2.3e-16 * (abs(value) + n)
