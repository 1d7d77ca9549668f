"""One run with an unknown variance: which known ones the problem is solved at, and how precisely."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from certmix.certificate.envelope import Bounds, Solved
from certmix.engines import Engine
from certmix.ledger import Ledger, Progress
from certmix.local.hard_em import hard_em
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.problem.scale import FAR, sum_of_squares
from certmix.result import build_result
from certmix.search.stopping import stop_reason
from certmix.status import Termination, Tolerances
from certmix.variance.unbounded import scatterless, unbounded

TIGHT = 0.3  # of the allowed gap, at the variance of the incumbent
LOOSE = 0.1  # of what would still be missing, where a solve cannot settle its neighbourhood
SLOPE_GAP = 0.1  # relative, of the least sum of squares
STRONG = 0.5  # share of the least sum of squares that is as good as all of it
STEEP = 64.0  # times the incumbent's scale: there the sum of squares outweighs unlike determinants
PATIENCE = 1.0  # seconds that a solve may go on when its bound is good enough
MOST_ROUNDS = 20  # of local search at the best variance so far

LITTLE = 0.99  # of the gap: what is left of it when a solve was of use
STALLED = 3  # solves in a row that hardly raise the bound: rounding is all that is left


class Inner(Ledger):
    """The ledger of a solve at a known variance; the outer one hears at once of what it means for an unknown one."""

    def __init__(
        self, problem: Problem, gap: float, enough: float, outer: VarianceRun, relation: Any, words: str
    ) -> None:
        super().__init__(problem, Tolerances(0.0, gap), (), outer.ledger.stop)
        self.enough = enough
        self.observers = (self,)  # type: ignore[assignment]
        self.keeps_proof = outer.ledger.keeps_proof
        self.outer, self.relation, self.words = outer, relation, words
        self.nodes_before = outer.ledger.nodes

    @property
    def closed(self) -> bool:
        """Also when the envelope needs no more; for a short while more is worth having, for the range of variances."""
        late = self.bound >= self.enough and self.seconds > PATIENCE
        return late or super().closed or self.outer.ledger.closed

    def message(self, text: str) -> None:
        pass

    def progressed(self, progress: Progress) -> None:
        ledger = self.outer.ledger
        ledger.nodes, ledger.open_nodes = self.nodes_before + progress.nodes, progress.open_nodes
        ledger.phase = f"{self.words}: {progress.phase}"
        if progress.source and self.incumbent is not None:
            ledger.offer(self.incumbent.labels, progress.source)
        if math.isfinite(progress.bound):
            ledger.raise_bound(self.relation(progress.bound))


class VarianceRun:
    """The state of one run; ``inner`` is the engine for known variances."""

    def __init__(self, problem: Problem, ledger: Ledger, options: Options, inner: Engine) -> None:
        self.problem, self.ledger, self.options, self.inner = problem, ledger, options, inner
        self.squares = sum_of_squares(problem)
        self.bounds = Bounds(problem)
        self.solved: list[Solved] = []
        self.infeasible = False

    def run(self) -> Termination:
        """Work until the gap is reached or a limit strikes."""
        self._local_search()
        self._tell()
        scale, stalled = self._scale(), 0
        if self.bounds.sloped and self._expected_rise(scale) < STRONG:
            self._solve_uniform()
            if self.bounds.slope == 0.0 and not self.infeasible:
                self.ledger.message(
                    "no least sum of squares is proved, so nothing keeps the variance from zero"
                )
                return stop_reason(self.ledger, self.options) or Termination.EXHAUSTED
        while (reason := stop_reason(self.ledger, self.options)) is None and not self.infeasible:
            before = self.ledger.upper - self.ledger.bound
            self._solve(scale)
            stalled = 0 if self.ledger.upper - self.ledger.bound < LITTLE * before else stalled + 1
            if stalled == STALLED:
                break
            scale = min(max(self.bounds.lowest().at, 1.0 / FAR), FAR)
        return reason or stop_reason(self.ledger, self.options) or Termination.EXHAUSTED

    def locally(self) -> Termination:
        """The same with an engine that proves nothing: at the best variance so far until that settles."""
        self._local_search()
        while True:
            before = self.ledger.upper
            scale = self._scale()
            self._inner(scale, self.problem.at_scale(scale), 0.0, math.inf, lambda _: -math.inf, "")
            if not self.ledger.upper < before or self.ledger.stop.raised:
                return self.ledger.stop.reason or Termination.CONVERGED

    # -- clusterings -----------------------------------------------------------------------------------------
    def _local_search(self) -> None:
        """Hard EM on the sum of squares, then at the best variance so far until that settles."""
        self._improve(self.squares.at_scale(1.0))
        found = self.ledger.incumbent
        if self.bounds.sloped and found is not None and scatterless(self.problem, found.labels):
            raise unbounded(self.problem)
        for _ in range(MOST_ROUNDS):
            before = self.ledger.upper
            if self.ledger.incumbent is None or self.ledger.stop.raised:
                return
            self._improve(self.problem.at_scale(self._scale()))
            if not self.ledger.upper < before - 1e-12 * max(1.0, abs(before)):
                return

    def _improve(self, known: Problem) -> None:
        self.ledger.phase = "hard EM"
        instance = reduce(known)
        left = self.options.time_left(self.ledger.seconds)

        def offer(labels: np.ndarray, _: float) -> None:
            self.ledger.offer(instance.expand(labels), "hard EM")

        found = self.ledger.incumbent
        hard_em(
            instance,
            restarts=self.options.restarts,
            seed=self.options.seed,
            time_limit=None if math.isinf(left) else max(0.0, 0.1 * left),
            start=None if found is None else found.labels,
            callback=offer,
        )

    def _scale(self) -> float:
        """That of the incumbent, or of all samples in one cluster."""
        found = self.ledger.incumbent
        variance = None if found is None else found.variance
        if not variance:
            data = self.problem.data
            variance = float(np.mean((data - data.mean(axis=0)) ** 2)) or 1.0
        return 1.0 / variance

    def _scale_of_squares(self) -> float:
        """That of the incumbent where no prior pulls at its means."""
        found = self.ledger.incumbent
        if found is None:
            return self._scale()
        means = self.squares.at_scale(1.0).objective.best_means(found.labels)
        squares = 0.5 * float(self.problem.objective.distances_to_own(found.labels, means).sum())
        return self.bounds.half / squares if squares > 0.0 else self._scale()

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

    def _take(self, solved: Solved) -> None:
        self.bounds.add(solved, solved.result.lower_bound)
        self.solved.append(solved)
        self._tell()

    def _solve_uniform(self) -> None:
        """The least sum of squares: how fast the objective rises as the variance falls."""
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

        def relation(bound: float) -> float:
            return bounds.envelope(slope=bounds.slope_from(uniform, scale, bound)).bound

        solved = self._inner(scale, uniform, gap, math.inf, relation, "least sum of squares")
        if solved is not None:
            self._take(replace(solved, squares=True))
            least = solved.result.labels
            if bounds.slope == 0.0 and least is not None and scatterless(self.problem, least):
                raise unbounded(self.problem)

    def _solve(self, scale: float) -> None:
        """The problem at a scale, as precisely as the envelope needs it."""
        known, bounds = self.problem.at_scale(scale), self.bounds

        def relation(bound: float) -> float:
            return bounds.envelope(bounds.point(scale, bound)).bound

        words = f"variance {1.0 / scale:.6g} (solve {self._points + 1})"
        solved = self._inner(scale, known, *self._gap(known, scale), relation, words)
        if solved is not None:
            self._take(solved)

    def _gap(self, known: Problem, scale: float) -> tuple[float, float]:
        """How precise a solve should be, in nats, and the bound that the envelope can do with."""
        allowed = self.ledger.tolerances.allowed(self.ledger.upper)
        found, bounds, target = self.ledger.incumbent, self.bounds, self.ledger.cutoff
        if found is None or not self._points:
            return TIGHT * allowed, math.inf
        most = float(known.objective.best(found.labels).value)
        needed = bounds.needed(scale, most, target)
        if needed is not None:
            return TIGHT * allowed, needed
        missing = target - bounds.envelope(bounds.point(scale, most)).bound
        return max(TIGHT * allowed, LOOSE * missing if math.isfinite(missing) else 0.0), math.inf

    def _inner(
        self, scale: float, known: Problem, gap: float, enough: float, relation: Any, words: str
    ) -> Solved | None:
        """Solve at a known variance; None when nothing is proved."""
        ledger, options = self.ledger, self.options
        left = options.time_left(ledger.seconds)
        own = replace(
            options,
            engine=self.inner.name,
            gap=0.0,
            absolute_gap=gap,
            time_limit=None if math.isinf(left) else max(0.0, left),
            node_limit=None if options.node_limit is None else max(0, options.node_limit - ledger.nodes),
            restarts=options.restarts or 1,
            start=None,
            resume=None,
        )
        inner = Inner(known, gap, enough, self, relation, words)
        found = ledger.incumbent
        if found is not None:
            inner.offer(found.labels, "start")
        outcome = self.inner.run(known, inner, own)
        ledger.certificate_level = outcome.certificate_level
        ledger.nodes = inner.nodes_before + inner.nodes
        if outcome.infeasible and not ledger.stop.raised:
            self.infeasible = True
        if inner.incumbent is None or not math.isfinite(inner.bound):
            return None
        ledger.message(
            f"{words}: bound {inner.bound:.10g}, gap {inner.upper - inner.bound:.3g} nats, {inner.seconds:.3g} s"
        )
        result = build_result(
            known,
            inner,
            engine=self.inner.name,
            termination=outcome.termination,
            certificate_level=outcome.certificate_level,
        )
        return Solved(scale, known, result, inner.record)
