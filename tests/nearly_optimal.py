"""Every clustering of a small problem: what margins, alternatives and costs of constraints are compared with."""

from __future__ import annotations

import itertools
import math

import numpy as np

from certmix.errors import InfeasibleError
from certmix.problem import Problem, interchangeable, is_feasible
from certmix.result import Result
from certmix.sensitivity.alternatives import Alternatives
from certmix.sensitivity.margins import Margin, Stability, State

ROUNDING = 1e-7  # relatively: what decides about a clustering is not nearer than this


class Enumerated:
    """All clusterings that satisfy the constraints, with their objectives."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.given = problem, problem.samples.original.n_samples
        every = itertools.product(range(problem.n_components), repeat=self.given)
        found = [(np.array(labels), self.value_of(np.array(labels))) for labels in every]
        feasible = [(labels, value) for labels, value in found if math.isfinite(value)]
        self.labels = np.array([labels for labels, _ in feasible]).reshape(-1, self.given)
        self.value = np.array([value for _, value in feasible])

    def value_of(self, labels: np.ndarray) -> float:
        copies = self.problem.samples.expand(labels)
        if not is_feasible(self.problem, copies):
            return math.inf
        try:
            return float(self.problem.objective.best(copies).value)
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

    def opposite(self, labels: np.ndarray, i: int, j: int | None) -> np.ndarray:
        """Which clusterings do not have i and j as these labels have them; i not alone, or not noise, without j."""
        last = self.problem.n_components - 1
        if j is None and self.problem.noise is not None and labels[i] == last:
            return np.asarray(self.labels[:, i] != last)
        if j is None:
            return ~self.alone(i)
        together = self.together(i, j)
        return ~together if labels[i] == labels[j] else together

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


# -- what is claimed, compared with all of them --------------------------------------------------------------------
def assert_margins(
    every: Enumerated, told: Stability, pairs: list[tuple[int, int]], *, decided: bool = True
) -> None:
    """Intervals hold the truth, states and witnesses are right; nothing is left undecided, if that is asked."""
    result, shown = told.result, every.problem.quantity.shown
    labels, names = np.asarray(result.positions), list(every.problem.samples.original.names)
    nearest = [None if s.representative is None else names.index(s.representative) for s in told.samples]
    for i, j in enumerate(nearest):
        assert j is not None or every.problem.noise is not None or (labels == labels[i]).sum() == 1
        assert j is None or (j != i and labels[j] == labels[i]), "a representative is elsewhere"
    asked, slack = [*enumerate(nearest), *pairs], shown(every.slack)
    for (i, j), margin in zip(asked, (*told.samples, *told.pairs), strict=True):
        opposite = every.opposite(labels, i, j)
        truth = shown(every.least(opposite) - result.objective)
        _assert_margin(margin, truth, told.within, slack, decided)
        if margin.witness is not None:
            witness = margin.witness % every.problem.n_components
            assert opposite[(every.labels == witness).all(axis=1).argmax()], "a witness has the same"
            extra = shown(max(0.0, every.value_of(witness) - result.objective))
            assert abs(extra - margin.upper) <= slack, f"a witness costs {extra}, not {margin.upper}"
    for (i, j), pair in zip(pairs, told.pairs, strict=True):
        assert pair.together == (labels[i] == labels[j])


def _assert_margin(margin: Margin, truth: float, within: float, slack: float, decided: bool) -> None:
    assert margin.lower <= max(0.0, truth) + slack, f"a margin of {truth} is not above {margin.lower}"
    assert margin.upper >= max(0.0, truth) - slack, f"a margin of {truth} is not below {margin.upper}"
    if margin.state is State.FIXED:
        assert truth > within - slack, f"fixed within {within}, but the margin is {truth}"
    if margin.state is State.OPEN:
        assert truth <= within + slack, f"open within {within}, but the margin is {truth}"
    if decided and abs(truth - within) > 10 * slack:
        assert margin.state is not State.UNDECIDED


def assert_alternatives(every: Enumerated, found: Alternatives, limit: int, *, decided: bool = True) -> None:
    """All are within delta and differ; none is missing when they are complete; else they are the best, if asked."""
    nats = every.problem.quantity.objective
    cutoff = found.result.objective + nats(found.within)
    labels = [one.labels % every.problem.n_components for one in found.clusterings]
    names = [canonical(every.problem, own) for own in labels]
    values = [nats(one.objective) for one in found.clusterings]
    assert len(set(names)) == len(names), "a clustering stands twice"
    assert values == sorted(values)
    surely, perhaps = every.distinct(cutoff - every.slack), every.distinct(cutoff + every.slack)
    assert set(names) <= set(perhaps), "a clustering is not within delta"
    for own, value in zip(labels, values, strict=True):
        assert abs(every.value_of(own) - value) <= every.slack
    if found.complete:
        assert set(surely) <= set(names), "complete, but a clustering is missing"
    elif decided and len(names) <= limit:
        assert len(perhaps) > len(surely)  # only what is at the cutoff may be in doubt
    elif decided:
        assert max(values[: limit + 1]) <= sorted(perhaps.values())[limit] + every.slack, "not the best ones"


def assert_costs(optimum: float, without: list[float], found: Result) -> None:
    """What each constraint costs, the optimum less that without it, is in its interval."""
    slack = 1e-9 * max(1.0, abs(optimum))
    for line, other in zip(found.constraints, without, strict=True):
        if line.cost is not None:
            low, high = line.cost
            assert 0.0 <= low <= optimum - other + slack, f"a cost of {optimum - other} is not above {low}"
            assert high >= optimum - other - slack, f"a cost of {optimum - other} is not below {high}"
