"""What a run claims, what enumeration says, and everything in which the two can contradict each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from certmix.errors import InfeasibleError
from certmix.exact.enumeration import Enumeration
from certmix.exact.subsets import subset_table
from certmix.ledger import Ledger, TracePoint
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import Problem, is_feasible
from certmix.search.bounds.leaves import rounding as evaluator_rounding
from certmix.status import Status, Termination

MAY_ENUMERATE = ("auto", "parts", "k-means", "weighted", "soft links", "noise", "masses", "combined")
ROUNDING = 1e-9
"""Relative difference that two ways of adding up the same objective may show."""


@dataclass(frozen=True)
class Truth:
    """What enumeration says: the optimal labels and value, or neither when the problem is infeasible."""

    optimum: float
    labels: np.ndarray | None

    @property
    def infeasible(self) -> bool:
        return self.labels is None

    @property
    def slack(self) -> float:
        return ROUNDING * max(1.0, abs(self.optimum)) if not self.infeasible else 0.0


@dataclass(frozen=True)
class Claim:
    """What one run says."""

    way: str
    upper: float
    lower: float
    labels: np.ndarray | None
    status: Status
    termination: Termination
    trace: tuple[TracePoint, ...]
    options: Options
    seconds: float
    certified: bool = True
    attested: bool = False  # a bound that is a solver's word: its tolerances may leave a gap
    about: tuple[Problem, Truth] | None = None  # another problem than the one that was drawn, made of it

    @property
    def closed(self) -> bool:
        return self.status is Status.OPTIMAL


def find_truth(problem: Problem) -> Truth:
    """The optimum by enumeration, straight from the engine, so that no feasibility check stands in between."""
    ledger = Ledger(problem, Options(gap=0.0).tolerances)
    outcome = Enumeration().run(problem, ledger, Options(gap=0.0))
    if outcome.infeasible:
        return Truth(math.inf, None)
    assert ledger.incumbent is not None
    return Truth(ledger.upper, ledger.incumbent.labels)


def violations(problem: Problem, truth: Truth, claim: Claim) -> Iterator[str]:
    """Everything in a claim that contradicts the truth, in words."""
    aimed = claim.options.tolerances
    tolerances = replace(aimed, target=math.inf)  # a target ends a run and makes nothing optimal
    if math.isnan(claim.upper) or math.isnan(claim.lower):
        yield f"a claim is not a number: {claim.lower} .. {claim.upper}"
        return
    if claim.status is Status.INFEASIBLE and not truth.infeasible:
        yield f"called infeasible, but the optimum is {truth.optimum!r}"
    if claim.labels is not None:
        yield from _wrong_clustering(problem, truth, claim)
    if not truth.infeasible and claim.lower > truth.optimum + truth.slack:
        yield f"bound {claim.lower!r} above the optimum {truth.optimum!r}"
    if not claim.certified and (claim.lower > -math.inf or claim.status is Status.OPTIMAL):
        yield f"a local method claims a bound ({claim.lower}) or optimality ({claim.status})"
    numbers = tolerances.closed(claim.upper, claim.lower)
    if claim.closed and not numbers:
        yield f"optimal with a gap of {claim.upper - claim.lower}"
    if claim.closed and claim.upper - truth.optimum > tolerances.allowed(claim.upper) + truth.slack:
        yield f"optimal at {claim.upper!r}, but the optimum is {truth.optimum!r}"
    if claim.termination in (Termination.EXHAUSTED, Termination.GAP):
        if truth.infeasible and claim.status is not Status.INFEASIBLE:
            yield f"{claim.termination}, infeasible, but the status is {claim.status}"
        # With nasty scales the rounding that is taken off a bound may exceed the gap that was asked for.
        instance = reduce(problem)
        rounding = 4.0 * instance.error + truth.slack
        if truth.labels is not None:
            rounding += evaluator_rounding(problem, problem.objective.best(truth.labels))
        left = not truth.infeasible and not aimed.closed(claim.upper, claim.lower) and not claim.attested
        if left and claim.way in MAY_ENUMERATE:  # they may enumerate, whose rounding grows with the units
            rounding += subset_table(instance).error
        if left and claim.upper - claim.lower > rounding:
            yield f"{claim.termination}, but the status is {claim.status} with {claim.lower} .. {claim.upper}"
    for before, after in zip(claim.trace, claim.trace[1:], strict=False):
        if after.bound < before.bound or after.incumbent > before.incumbent or after.seconds < before.seconds:
            yield f"the trace turns back from {before} to {after}"
            break


def _wrong_clustering(problem: Problem, truth: Truth, claim: Claim) -> Iterator[str]:
    if not is_feasible(problem, claim.labels):
        yield "the clustering violates a constraint"
        return
    try:
        value = problem.objective.best(claim.labels).value
    except InfeasibleError:
        yield "the clustering has no admissible parameters"
        return
    if abs(value - claim.upper) > ROUNDING * max(1.0, abs(value)):
        yield f"the clustering's value is {value!r}, not {claim.upper!r}"
    if claim.upper < truth.optimum - truth.slack:
        yield f"incumbent {claim.upper!r} below the optimum {truth.optimum!r}"
