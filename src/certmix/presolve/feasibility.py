"""Can the side constraints be met at all?"""

from __future__ import annotations

import numpy as np

from certmix.errors import InfeasibleError
from certmix.presolve.demands import demands
from certmix.presolve.placing import Verdict, place
from certmix.problem import Problem, is_feasible


def check_feasible(problem: Problem) -> None:
    """Raise when no labels satisfy the side constraints, the size limits and the mean boxes of tied means.

    Costs nothing without constraints. Otherwise propagation and a greedy pass usually settle it, and a small
    MILP does where they do not. In the rare case that the MILP runs out of time nothing is raised: not
    proved.

    Raises
    ------
    InfeasibleError
        Its message explains the contradiction in words; ``conflict`` is a smallest set of constraints that
        cannot hold together.
    """
    if _unrestricted(problem):
        return
    asked = demands(problem)
    if place(asked).verdict is Verdict.INFEASIBLE:
        from certmix.presolve.conflict import find_conflict
        from certmix.presolve.explanation import explain

        conflict = find_conflict(asked)
        items = tuple(problem.constraints[i] for i in conflict.origins)
        raise InfeasibleError(explain(problem, conflict), conflict=items)


def find_feasible(problem: Problem) -> np.ndarray | None:
    """Some labels that satisfy the constraints and size limits; None when none exist (or none was found)."""
    if _unrestricted(problem):
        return np.arange(problem.n_samples) % problem.n_components
    asked = demands(problem)
    found = place(asked)
    if found.mentioned is None or found.free_counts is None:
        return None
    labels = asked.labels(found.mentioned, found.free_counts)
    return labels if is_feasible(problem, labels) else None


def _unrestricted(problem: Problem) -> bool:
    """Whether any labels that use every component will do."""
    n, K = problem.n_samples, problem.n_components
    tied = "means" in problem.estimators and problem.has_mean_box
    limited = np.any(problem.size_lower > min(1, n // K)) or np.any(problem.size_upper < n)
    return not problem.constraints and not tied and not limited
