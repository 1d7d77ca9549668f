"""Around engines for known variances: local search, and runs at known variances that tell the outer ledger at once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from certmix.certificate.envelope import Solved
from certmix.concluding import build_result
from certmix.engines import Engine
from certmix.ledger import Ledger, Progress
from certmix.local.hard_em import offered
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.result import Result
from certmix.state import State
from certmix.status import Termination, Tolerances
from certmix.variance.stored import Cut, Scale, begun_in, cut_in, solved_in, stored

TIGHT = 0.5  # of the allowed gap, where the optimum is; the rest is for the chords beside it
LOOSE = 0.1  # of what would still be missing, where a solve cannot settle its neighbourhood
PATIENCE = 1.0  # seconds that a solve may go on when its bound is good enough
AGAIN = 2.0  # times as long as its bound took to be good for now: then others have a turn
MOST_ROUNDS = 20  # of local search at the best variance so far

CUT_SHORT = (Termination.TIME, Termination.NODES)


class Wanted(NamedTuple):
    """How precise a solve should be.

    Attributes
    ----------
    gap : in nats; then it is over
    enough : the bound that the envelope can do with
    for_now : a bound with which more is missing at other variances than here; if it then goes on slowly, it is set
        aside until that has changed
    patience : seconds that it may take in any case
    """

    gap: float
    enough: float = math.inf
    for_now: float = math.inf
    patience: float = PATIENCE


class Inner(Ledger):
    """The ledger of a solve at a known variance; the outer one hears at once of what it means for an unknown one."""

    def __init__(self, problem: Problem, wanted: Wanted, outer: Around, relation: Any, words: str) -> None:
        super().__init__(problem, Tolerances(0.0, wanted.gap), (), outer.ledger.stop)
        self.wanted = wanted
        self.good_since = math.inf  # seconds until its bound was good for now
        self.set_aside = False
        self.observers = (self,)  # type: ignore[assignment]
        self.keeps_proof = outer.ledger.keeps_proof
        self.outer, self.relation, self.words = outer, relation, words
        self.nodes_before = outer.ledger.nodes

    @property
    def closed(self) -> bool:
        """Also when the envelope needs no more; for a short while more is worth having, for the range of variances."""
        late = self.bound >= self.wanted.enough and self.seconds > PATIENCE
        if late or super().closed or self.outer.ledger.closed:
            return True
        self.set_aside |= self.slow()
        return self.set_aside

    def slow(self) -> bool:
        """Whether there is more to do at other variances, and this has been so for as long again.

        With a limit of nodes the clock has no say: such runs can be repeated.
        """
        if self.outer.options.node_limit is not None:
            return False
        if self.bound >= self.wanted.for_now:
            self.good_since = min(self.good_since, self.seconds)
        return self.seconds > max(self.wanted.patience, AGAIN * self.good_since)

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


class Around(ABC):
    """The state of one run; ``inner`` is the engine for known variances."""

    ledger: Ledger
    options: Options

    def __init__(self, problem: Problem, inner: Engine) -> None:
        self.problem, self.inner = problem, inner
        self.infeasible = self.begun = False
        self.solved: list[Solved] = []
        self.working: tuple[Scale, bool, Ledger] | None = None  # the solve that goes on
        self.cut: Cut | None = None  # the one that was cut short
        self.aside: list[tuple[Cut, Wanted]] = []  # those that wait until there is no more to do elsewhere

    def take_up(self, ledger: Ledger, options: Options) -> None:
        """Begin with a ledger, or go on: with another one after a limit has struck, or from what is on disk."""
        self.ledger, self.options = ledger, options
        if ledger.kept is None and ledger.resumed:
            for one in solved_in(ledger.resumed, self.known, self.inner.name):
                self.take(one)
            self.begun, self.cut = begun_in(ledger.resumed), cut_in(ledger.resumed)
        ledger.kept = ledger.resumable = self

    def state(self) -> State:
        """What a later run can go on from."""
        working, cut, solved = self.working, self.cut, tuple(self.solved)
        return stored(self.begun, solved, cut if working is None else Cut.of(*working))

    @abstractmethod
    def known(self, entry: Mapping[str, Any]) -> Problem:
        """The problem at known variances that an entry is about (:attr:`Solved.entry`)."""

    @abstractmethod
    def take(self, solved: Solved) -> None:
        """Take a bound at known variances into account."""

    @abstractmethod
    def run(self) -> Termination:
        """Work until the gap is reached or a limit strikes."""

    @abstractmethod
    def local_search(self) -> None:
        """A good clustering before the proof begins."""

    def scale(self) -> Scale:
        """That of the incumbent, or of all samples in one cluster."""
        found, limits = self.ledger.incumbent, self.problem.covariance.variances
        assert limits is not None
        features = self.problem.covariance.per_feature
        variance = None if found is None else found.variance
        if variance is None or not np.all(variance):
            deviations = self.problem.data - self.problem.data.mean(axis=0)
            variance = np.mean(deviations**2, axis=0 if features else None)
            variance = np.where(variance > 0.0, variance, 1.0).clip(*limits)
        return 1.0 / (np.asarray(variance) if features else float(variance))

    def locally(self) -> Termination:
        """The same with an engine that proves nothing: at the best variance so far until that settles."""
        self.local_search()
        while True:
            before = self.ledger.upper
            scale = self.scale()
            self.solve_at(self.problem.at_scale(scale), scale, Wanted(0.0), lambda _: -math.inf, "")
            if not self.ledger.upper < before or self.ledger.stop.raised:
                return self.ledger.stop.reason or Termination.CONVERGED

    def settle(self) -> None:
        """Hard EM at the best variance so far, until that settles."""
        for _ in range(MOST_ROUNDS):
            before = self.ledger.upper
            if self.ledger.incumbent is None or self.ledger.stop.raised:
                return
            self.improve(self.problem.at_scale(self.scale()))
            if not self.ledger.upper < before - 1e-12 * max(1.0, abs(before)):
                return

    def improve(self, known: Problem) -> None:
        """Hard EM at a known variance."""
        self.ledger.phase = "hard EM"
        found = self.ledger.incumbent
        start = None if found is None else found.labels
        offered(reduce(known), self.ledger, self.options, share=0.1, start=start)

    def solve_at(
        self,
        known: Problem,
        scale: Scale,
        wanted: Wanted,
        relation: Any,
        words: str,
        *,
        squares: bool = False,
    ) -> tuple[Result, Any] | None:
        """The result at a known variance, and what the engine left for a proof; None when nothing is proved.

        ``squares`` tells the problem of the sum of squares from that at the same scale. Where the same one was cut
        short or set aside before, it goes on.
        """
        ledger, options = self.ledger, self.options
        seconds = options.time_left(ledger.seconds)
        own = replace(
            options,
            engine=self.inner.name,
            gap=0.0,
            absolute_gap=wanted.gap,
            time_limit=None if math.isinf(seconds) else max(0.0, seconds),
            node_limit=None if options.node_limit is None else max(0, options.node_limit - ledger.nodes),
            restarts=options.restarts or 1,
            start=None,
            resume=None,
        )
        inner = Inner(known, wanted, self, relation, words)
        found = ledger.incumbent
        if found is not None:
            inner.offer(found.labels, "start")
        begun = [self.cut, *(cut for cut, _ in self.aside)]
        cut = next((cut for cut in begun if cut is not None and cut.is_at(scale, squares)), None)
        if cut is not None:
            inner.resumed = cut.state
            if cut.labels is not None:
                inner.offer(cut.labels, "start")
            inner.raise_bound(cut.bound)
        self.working = scale, squares, inner
        outcome = self.inner.run(known, inner, own)
        self.cut, self.working = None, None
        self.aside = [other for other in self.aside if other[0] is not cut]
        limited = ledger.stop.raised or outcome.termination in CUT_SHORT
        if limited or inner.set_aside:
            left = Cut.of(scale, squares, inner)
            left = left._replace(state=left.state.in_memory())
            if limited:
                self.cut = left
            else:  # the next time it has as long again at least
                self.aside.append((left, wanted._replace(patience=wanted.patience + inner.seconds)))
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
        return result, inner.record
