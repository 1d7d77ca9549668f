"""One run with an unknown variance for every feature: bounds at known ones cut off the lowest vertex."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from certmix.auto import choose
from certmix.certificate.envelope import FeatureBounds, Solved
from certmix.concluding import build_result
from certmix.engines import Engine
from certmix.engines import engine as find_engine
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.problem import Problem
from certmix.problem.scale import scale_range, sum_of_squares
from certmix.search.stopping import stop_reason
from certmix.status import Termination
from certmix.variance.inner import LOOSE, TIGHT, Around, Wanted
from certmix.variance.unbounded import LEAST_SPREAD, flat, unbounded

SAME = 1e-12  # relatively: variances that differ by less are the same


class DiagonalRun(Around):
    """Every feature has a variance of its own; without priors on means and bounds on them."""

    def __init__(self, problem: Problem, inner: Engine) -> None:
        super().__init__(problem, inner)
        self.bounds = FeatureBounds(problem)

    def run(self) -> Termination:
        if not self.begun:
            self.local_search()
            self._bound_squares()
        self.begun = not self.ledger.stop.raised
        if not math.isfinite(self.bounds.bound):
            self.ledger.message("no least sum of squares is proved, so nothing keeps a variance from zero")
            return stop_reason(self.ledger, self.options) or Termination.EXHAUSTED
        self.ledger.raise_bound(self.bounds.bound)
        while (reason := stop_reason(self.ledger, self.options)) is None and not self.infeasible:
            if not self._refine():
                break
            self.ledger.raise_bound(self.bounds.bound)
        return reason or stop_reason(self.ledger, self.options) or Termination.EXHAUSTED

    def local_search(self) -> None:
        """Hard EM with standardised features."""
        self.improve(sum_of_squares(self.problem).at_scale(self.scale()))
        self.settle()

    # -- the squares of single features ------------------------------------------------------------------------
    def _bound_squares(self) -> None:
        """What every clustering has in each feature at least: one-dimensional clustering by it alone."""
        bounded = {one.feature for one in self.solved}
        for j in range(self.problem.n_features):
            if j not in bounded and not self.ledger.stop.raised:
                self._bound_squares_of(j)
        self.settle()

    def _bound_squares_of(self, j: int) -> None:
        p = self.problem
        if not np.ptp(p.data[:, j]) >= LEAST_SPREAD:
            return
        alone = self._alone(j)
        engine = find_engine(choose(alone, self.options)[0])
        if not engine.certified:
            return
        found = Ledger(alone, self.options.tolerances, (), self.ledger.stop)
        found.keeps_proof = self.ledger.keeps_proof
        outcome = engine.run(alone, found, self._own_options(engine.name))
        if found.incumbent is not None:
            self.ledger.offer(found.incumbent.labels, "one feature")
            if scale_range(p)[1] == math.inf and flat(p, found.incumbent.labels, j):
                raise unbounded(p, j)
        if math.isfinite(found.bound) and found.incumbent is not None:
            result = build_result(
                alone,
                found,
                engine=engine.name,
                termination=outcome.termination,
                certificate_level=outcome.certificate_level,
            )
            scale = float(alone.covariance.precision.entries[0, 0])
            self.take(Solved(scale, alone, result, found.record, squares=True, feature=j))

    def _alone(self, j: int) -> Problem:
        """Clustering by one feature alone."""
        p = self.problem
        values = p.samples.original.values[:, [j]]
        return sum_of_squares(p.replace(data=values, variance=float(np.var(p.data[:, j]))))

    def _own_options(self, name: str) -> Options:
        left = self.options.time_left(self.ledger.seconds)
        limit = None if math.isinf(left) else max(0.0, 0.1 * left)
        return replace(self.options, engine=name, time_limit=limit, start=None, resume=None)

    # -- known variances ---------------------------------------------------------------------------------------
    def _refine(self) -> bool:
        """Solve the problem where the objective may be least; False when nothing came of it."""
        goes_on, (at, gap) = self.cut is not None, self._next()
        told = ", ".join(f"{v:.6g}" for v in 1.0 / at)
        words = f"variances {told} (solve {sum(one.feature is None for one in self.solved) + 1})"
        found = self.solve_at(self.problem.at_scale(at), at, Wanted(gap), lambda _: -math.inf, words)
        if found is None:
            return False
        known = not goes_on and any(np.allclose(at, one.scale, rtol=SAME, atol=0.0) for one in self.solved)
        self.take(Solved(at, self.problem.at_scale(at), *found))
        return not known

    def _next(self) -> tuple[np.ndarray, float]:
        """First the incumbent's variances, then those of the lowest vertex; how precise the solve should be."""
        allowed = self.ledger.tolerances.allowed(self.ledger.upper)
        if self.cut is not None:
            return np.asarray(self.cut.scale), TIGHT * allowed
        if all(one.feature is not None for one in self.solved):
            return np.asarray(self.scale()), TIGHT * allowed
        bound, at = self.bounds.bounds.lowest()
        return np.array(at), max(TIGHT * allowed, LOOSE * (self.ledger.cutoff - bound))

    def known(self, entry: Mapping[str, Any]) -> Problem:
        return (
            self._alone(entry["feature"])
            if "feature" in entry
            else self.problem.at_scale(np.array(entry["scale"]))
        )

    def take(self, solved: Solved) -> None:
        self.bounds.add(solved, solved.result.lower_bound)
        self.solved.append(solved)
