"""From a method's own answer to labels that satisfy every side constraint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from certmix.errors import InfeasibleError
from certmix.local.assignment import Assigner
from certmix.local.parameters import group_costs
from certmix.local.solution import LocalSolution, constraint_notes
from certmix.presolve.instance import Instance
from certmix.problem import is_feasible
from certmix.problem.features import Feature


def rounded_labels(instance: Instance, costs: np.ndarray) -> np.ndarray | None:
    """The cheapest labels under every constraint for costs of the samples, (n, K); None if there are none."""
    grouped = group_costs(instance, costs)
    # A component without weight costs infinitely much, but a size limit may still have to be met with it.
    finite = grouped[np.isfinite(grouped)]
    dear = (float(np.abs(finite).max()) if len(finite) else 1.0) * 10 + 1e3
    labels = Assigner(instance)(np.where(np.isfinite(grouped), grouped, dear))
    return None if labels is None else instance.expand(labels)


def conclude(
    instance: Instance,
    *,
    method: str,
    means: np.ndarray,
    weights: np.ndarray,
    own_labels: np.ndarray | None = None,
    during: frozenset[Feature] = frozenset(),
    notes: Sequence[str] = (),
    **told: Any,
) -> LocalSolution:
    """Score a method's answer at its own parameters, round it under every constraint and score that again."""
    problem = instance.problem
    objective = problem.objective
    costs = objective.component_costs(means, weights)
    if own_labels is None:
        own_labels = costs.argmin(axis=1)
    value = objective.value(own_labels, means, weights)
    feasible = is_feasible(problem, own_labels)
    labels = own_labels if feasible else rounded_labels(instance, costs)
    try:
        rescored = math.inf if labels is None else objective.best(labels).value
    except InfeasibleError:
        rescored = math.inf
    return LocalSolution(
        method=method,
        labels=labels,
        own_labels=own_labels,
        means=means,
        weights=weights,
        value=float(value) if not math.isnan(value) else math.inf,
        rescored=rescored,
        notes=(*constraint_notes(problem, method, during), *notes),
        **told,
    )
