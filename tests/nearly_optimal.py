"""Every clustering of a small problem: what margins and alternatives are compared with."""

from __future__ import annotations

import itertools
import math

import numpy as np

from certmix.errors import InfeasibleError
from certmix.problem import Problem, interchangeable, is_feasible

ROUNDING = 1e-7  # relatively: what decides about a clustering is not nearer than this


class Enumerated:
    """All clusterings that satisfy the constraints, with their objectives."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        every = itertools.product(range(problem.n_components), repeat=problem.n_samples)
        found = [(np.array(labels), self._value(np.array(labels))) for labels in every]
        feasible = [(labels, value) for labels, value in found if math.isfinite(value)]
        self.labels = np.array([labels for labels, _ in feasible]).reshape(-1, problem.n_samples)
        self.value = np.array([value for _, value in feasible])

    def _value(self, labels: np.ndarray) -> float:
        if not is_feasible(self.problem, labels):
            return math.inf
        try:
            return float(self.problem.objective.best(labels).value)
        except InfeasibleError:
            return math.inf

    @property
    def slack(self) -> float:
        return ROUNDING * max(1.0, float(np.abs(self.value).max(initial=0.0)))

    def least(self, rows: np.ndarray) -> float:
        """The smallest objective among some clusterings."""
        return float(self.value[rows].min(initial=math.inf))

    def together(self, i: int, j: int) -> np.ndarray:
        return np.asarray(self.labels[:, i] == self.labels[:, j])

    def alone(self, i: int) -> np.ndarray:
        return np.asarray((self.labels == self.labels[:, [i]]).sum(axis=1) == 1)

    def distinct(self, cutoff: float) -> dict[tuple[int, ...], float]:
        """The clusterings up to a cutoff by a name of each that does not change when equal components are renamed."""
        rows = np.flatnonzero(self.value <= cutoff)
        return {canonical(self.problem, self.labels[i]): float(self.value[i]) for i in rows}


def canonical(problem: Problem, labels: np.ndarray) -> tuple[int, ...]:
    """The same for clusterings that differ in the names of interchangeable components only."""
    classes = interchangeable(problem)
    seen: dict[int, int] = {}
    free = {c: iter(np.flatnonzero(classes == c).tolist()) for c in np.unique(classes).tolist()}
    for k in labels.tolist():
        if k not in seen:
            seen[k] = next(free[int(classes[k])])
    return tuple(seen[k] for k in labels.tolist())
