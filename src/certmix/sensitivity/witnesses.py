"""Clusterings that differ from the reported one and cost little more: upper ends of margins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import linear_sum_assignment

from certmix.errors import InfeasibleError
from certmix.kernels.restarts import SPREAD_EVENLY, SPREAD_UNEVENLY, UNIFORM_EVENLY
from certmix.local.moves import LocalSearch
from certmix.presolve.groups import group_samples
from certmix.presolve.instance import reduce
from certmix.problem import Point, Problem, interchangeable, is_feasible
from certmix.problem.noise import LABEL

FAR = 1e300
STARTS = (SPREAD_EVENLY, UNIFORM_EVENLY, SPREAD_UNEVENLY)  # take turns
RESTARTS = (
    60  # quick ones: what is a little worse than the best is often found where a search first comes to rest
)
MOST_GROUPS = 2000  # with more they would not be quick


def value_of(problem: Problem, labels: np.ndarray) -> float:
    """The objective of a clustering, infinite where it breaks a constraint."""
    if not is_feasible(problem, labels):
        return math.inf
    try:
        return float(problem.objective.best(labels).value)
    except InfeasibleError:
        return math.inf


def as_shown(problem: Problem, labels: np.ndarray | None) -> np.ndarray | None:
    """Labels as people see them: of the samples as they were given, -1 for noise."""
    if labels is None:
        return None
    found = labels[problem.samples.first]
    return np.where(found == problem.n_clusters, LABEL, found) if problem.noise is not None else found


def single_moves(
    problem: Problem,
    point: Point,
    told: Callable[[np.ndarray, float], None],
    late: Callable[[], bool],
) -> None:
    """Tell of every clustering in which one group of samples is in another component, the most likely one.

    Means and weights are found anew for each of them.
    """
    labels, means, weights, variance = point.labels, point.means, point.weights, point.variance
    groups = group_samples(problem)
    known = problem if variance is None else problem.at_scale(1.0 / variance)
    cost = np.zeros((groups.n_groups, problem.n_components))
    np.add.at(cost, groups.of, np.minimum(known.objective.component_costs(means, weights), FAR))
    first = np.unique(groups.of, return_index=True)[1]
    own = labels[first]
    cost[np.arange(len(own)), own] = math.inf
    cost[~groups.allowed] = math.inf
    sizes = np.bincount(labels, minlength=problem.n_components)
    cost[:, sizes == 0] = np.minimum(cost[:, sizes == 0], FAR)  # the empty ones last
    for g in range(groups.n_groups):
        if late():
            return
        members = groups.of == g
        for k in np.argsort(cost[g], kind="stable")[:2]:
            if not math.isfinite(cost[g, k]):
                break
            moved = labels.copy()
            moved[members] = k
            value = value_of(problem, moved)
            if math.isfinite(value):
                told(moved, value)
                break


def local_optima(
    problem: Problem, labels: np.ndarray, seed: int, cutoff: float, late: Callable[[], bool]
) -> Iterator[tuple[np.ndarray, float]]:
    """Clusterings that are no more than so dear, where quick local searches end that begin at random."""
    if problem.covariance.unknown or problem.rules.soft or group_samples(problem).n_groups > MOST_GROUPS:
        return
    instance = reduce(problem)
    search, known = LocalSearch(instance), instance.contract(labels)
    search.rng[:] = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    seen = {known.tobytes()}
    for start in itertools.islice(itertools.cycle(STARTS), RESTARTS):
        if late():
            return
        search.load(known)
        cost = search.explore(start)
        if cost <= cutoff and search.state.label.tobytes() not in seen:
            seen.add(search.state.label.tobytes())
            found = instance.expand(search.state.label)
            yield found, value_of(problem, found)


def aligned(problem: Problem, labels: np.ndarray, reported: np.ndarray) -> np.ndarray:
    """The same clustering, interchangeable components named so that it resembles the reported one most."""
    K = problem.n_components
    shared = np.zeros((K, K))
    np.add.at(shared, (labels, reported), 1.0)
    classes = interchangeable(problem)
    shared[classes[:, None] != classes] = -float(len(labels) + 1) * K
    rows, columns = linear_sum_assignment(-shared)
    name = np.empty(K, dtype=np.int64)
    name[rows] = columns
    return np.asarray(name[labels])
