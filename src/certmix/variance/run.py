"""One run with an unknown variance: which known ones the problem is solved at, and how precisely."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from certmix.certificate.envelope import Bounds, Solved
from certmix.engines import Engine
from certmix.problem import Problem
from certmix.problem.scale import FAR, sum_of_squares
from certmix.search.stopping import stop_reason
from certmix.status import Termination
from certmix.variance.inner import LOOSE, TIGHT, Around, Wanted
from certmix.variance.unbounded import scatterless, unbounded

SLOPE_GAP = 0.1  # relative, of the least sum of squares
STRONG = 0.5  # share of the least sum of squares that is as good as all of it
LARGE = 1e3  # times the objective: a gap that any bound closes
STEEP = 64.0  # times the incumbent's scale: there the sum of squares outweighs unlike determinants
LITTLE = 0.99  # of the gap: what is left of it when a solve was of use
STALLED = 3  # solves in a row that hardly raise the bound: rounding is all that is left


class VarianceRun(Around):
    """One factor for all features."""

    def __init__(self, problem: Problem, inner: Engine) -> None:
        super().__init__(problem, inner)
        self.squares = sum_of_squares(problem)
        self.bounds = Bounds(problem)
        self.stalled = 0  # solves in a row that hardly raised the bound

    def run(self) -> Termination:
        """Work until the gap is reached or a limit strikes."""
        if not self.begun:
            self.local_search()
        self._tell()
        if not self.begun and self.bounds.sloped:
            weak = self._expected_rise(self._own_scale()) < STRONG
            self._solve_uniform(loosely=not weak)
            if weak and not self._slopes():
                return stop_reason(self.ledger, self.options) or Termination.EXHAUSTED
        self.begun, self.stalled = True, 0
        while (reason := stop_reason(self.ledger, self.options)) is None and not self.infeasible:
            before = self.ledger.upper - self.ledger.bound
            self._solve(self._next_scale())
            better = self.ledger.upper - self.ledger.bound < LITTLE * before
            self.stalled = 0 if better else self.stalled + 1
            if (self.stalled >= STALLED and not self.aside) or (self._unsloped and not self._slopes()):
                break
        return reason or stop_reason(self.ledger, self.options) or Termination.EXHAUSTED

    def _next_scale(self) -> float:
        """First that of the incumbent, then where the envelope is lowest; one that was cut short goes on.

        One that was set aside does where that promises more.
        """
        if self.cut is not None and not self.cut.squares:
            return float(self.cut.scale)
        own = self._own_scale()
        if not self._points:
            return own
        lowest = min(max(self.bounds.lowest().at, own / FAR), own * FAR)
        if not self.aside:
            return lowest
        scales = [float(cut.scale) for cut, _ in self.aside]
        return max(scales if self.stalled >= STALLED else [lowest, *scales], key=self._promise)

    def _most(self, scale: float) -> float:
        """The least value at a scale of the clusterings that were found; there has to be an incumbent."""
        best = self.problem.at_scale(scale).objective.best
        found = [self.ledger.incumbent, *(one.result for one in self.solved if not one.squares)]
        return min(
            float(best(one.labels).value) for one in found if one is not None and one.labels is not None
        )

    def _promise(self, scale: float) -> float:
        """The bound if nothing better than that is there."""
        return self.bounds.envelope(self.bounds.point(scale, self._most(scale))).bound

    @property
    def _unsloped(self) -> bool:
        """Whether nothing says how fast the objective rises as the variance falls to zero, and it may."""
        return self.bounds.sloped and not self.bounds.envelope().slope > 0.0

    def _slopes(self) -> bool:
        """Bound the least sum of squares; False when there is no use in going on."""
        if self._unsloped and stop_reason(self.ledger, self.options) is None and not self.infeasible:
            self._solve_uniform()
        if self._unsloped and not self.infeasible:
            self.ledger.message("no least sum of squares is proved, so nothing keeps the variance from zero")
        return not self._unsloped

    # -- clusterings -----------------------------------------------------------------------------------------
    def local_search(self) -> None:
        """Hard EM on the sum of squares, then at the best variance so far."""
        self.improve(self.squares.at_scale(1.0))
        found = self.ledger.incumbent
        if self.bounds.sloped and found is not None and scatterless(self.problem, found.labels):
            raise unbounded(self.problem)
        self.settle()

    def _own_scale(self) -> float:
        return float(self.scale())

    def _scale_of_squares(self) -> float:
        """That of the incumbent where no prior pulls at its means."""
        found = self.ledger.incumbent
        if found is None:
            return self._own_scale()
        means = self.squares.at_scale(1.0).objective.best_means(found.labels)
        squares = 0.5 * float(self.problem.objective.distances_to_own(found.labels, means).sum())
        return self.bounds.half / squares if squares > 0.0 else self._own_scale()

    def _expected_rise(self, scale: float) -> float:
        """What share of the incumbent's sum of squares the problem at its scale will prove to be needed."""
        found, bounds = self.ledger.incumbent, self.bounds
        if found is None:
            return 0.0
        value = found.value + bounds.half * math.log(scale)
        return bounds.rise(scale, value) * scale / bounds.half

    @property
    def _points(self) -> int:
        """How many known variances the problem has been solved at."""
        return sum(not one.squares for one in self.solved)

    # -- bounds ----------------------------------------------------------------------------------------------
    def _tell(self) -> None:
        self.ledger.envelope = self.bounds.envelope()
        self.ledger.raise_bound(self.ledger.envelope.bound)

    def known(self, entry: Mapping[str, Any]) -> Problem:
        return (self.squares if entry["squares"] else self.problem).at_scale(entry["scale"])

    def take(self, solved: Solved) -> None:
        self.bounds.add(solved, solved.result.lower_bound)
        self.solved.append(solved)
        self._tell()

    def _solve_uniform(self, *, loosely: bool = False) -> None:
        """The least sum of squares: how fast the objective rises as the variance falls.

        Loosely: whatever the engine has before its search, so that something keeps the variance from zero at once.
        """
        scale = self._scale_of_squares() * (1.0 if self.problem.covariance.shared else STEEP)
        uniform, bounds, found = self.squares.at_scale(scale), self.bounds, self.ledger.incumbent
        gap = SLOPE_GAP * bounds.half
        if found is not None:
            most = float(uniform.objective.best(found.labels).value)
            gap = SLOPE_GAP * scale * bounds.slope_from(uniform, scale, most)
            target = self.ledger.cutoff

            def enough(bound: float) -> bool:
                return bounds.envelope(slope=bounds.slope_from(uniform, scale, bound)).bound >= target

            while gap > 1e-12 * abs(most) and not enough(most - gap) and enough(most):
                gap *= 0.5
            gap = LARGE * abs(most) if loosely else gap

        def relation(bound: float) -> float:
            return bounds.envelope(slope=bounds.slope_from(uniform, scale, bound)).bound

        words = "least sum of squares"
        found_there = self.solve_at(uniform, scale, Wanted(gap), relation, words, squares=True)
        if found_there is not None:
            self.take(Solved(scale, uniform, *found_there, squares=True))
            least = found_there[0].labels
            if bounds.slope == 0.0 and least is not None and scatterless(self.problem, least):
                raise unbounded(self.problem)

    def _solve(self, scale: float) -> None:
        """The problem at a scale, as precisely as the envelope needs it."""
        known, bounds = self.problem.at_scale(scale), self.bounds

        def relation(bound: float) -> float:
            return bounds.envelope(bounds.point(scale, bound)).bound

        words = f"variance {1.0 / scale:.6g} (solve {self._points + 1})"
        found = self.solve_at(known, scale, self._wanted(scale), relation, words)
        if found is not None:
            self.take(Solved(scale, known, *found))

    def _wanted(self, scale: float) -> Wanted:
        """How precise a solve should be."""
        allowed = TIGHT * self.ledger.tolerances.allowed(self.ledger.upper)
        if self.ledger.incumbent is None:
            return Wanted(allowed)
        most, target = self._most(scale), self.ledger.cutoff
        first = all(one.scale == scale for one in self.solved if not one.squares)
        needed = None if first else self.bounds.needed(scale, most, target)
        if needed is not None:
            return Wanted(allowed, needed)
        missing = target - self._promise(scale)
        missing = missing if math.isfinite(missing) else 0.0
        for cut, before in self.aside:
            if cut.is_at(scale, False):
                return before._replace(for_now=most - missing)
        if first:
            return Wanted(allowed, for_now=most - LOOSE * missing)
        return Wanted(max(allowed, LOOSE * missing), for_now=most - missing)
