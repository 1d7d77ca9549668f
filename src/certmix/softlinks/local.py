"""A descent that knows penalties: again and again, the sample of a soft link that gains most goes where it is best."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from certmix.errors import InfeasibleError
from certmix.presolve.groups import group_samples
from certmix.problem import Problem, is_feasible

MOST_MOVES = 100
MOST = 3e8  # entries of the data that are looked at: a few seconds


def descended(problem: Problem, labels: np.ndarray, late: Callable[[], bool]) -> np.ndarray:
    """Labels that are no worse; no sample of a soft link gains by moving with all that it has to be together with."""
    of = group_samples(problem).of
    linked = np.unique(of[[i for link in problem.rules.soft for i in link.samples]])
    each = len(linked) * problem.n_components * problem.data.size
    best, value = labels, problem.objective.best(labels).value
    for _ in range(min(MOST_MOVES, int(MOST / each))):
        found, worth = best, value
        for moved in _moves(problem, best, of, linked):
            if late():
                return best
            try:
                cost = problem.objective.best(moved).value
            except InfeasibleError:
                continue
            if cost < worth:
                found, worth = moved, cost
        if not worth < value:
            break
        best, value = found, worth
    return best


def _moves(problem: Problem, labels: np.ndarray, of: np.ndarray, groups: np.ndarray) -> Iterator[np.ndarray]:
    """Labels in which one of the groups is in another component, where that is allowed."""
    for g in groups.tolist():
        members = of == g
        for k in range(problem.n_components):
            moved = np.where(members, k, labels)
            if (moved != labels).any() and is_feasible(problem, moved):
                yield moved
