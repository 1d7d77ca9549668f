"""``stability``: cheap clusterings first, then many questions at once, then one by one what is left of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from certmix import interruption
from certmix.io.certificates import Certificate
from certmix.ledger import Observer
from certmix.options import Options
from certmix.presolve.groups import group_samples
from certmix.problem import Problem
from certmix.result import Result
from certmix.sensitivity.asking import Pairs, asked, positions
from certmix.sensitivity.forced import Forced, forced
from certmix.sensitivity.known import Known
from certmix.sensitivity.margins import Stability, State
from certmix.sensitivity.proof import ONE
from certmix.sensitivity.questions import Asker
from certmix.sensitivity.ways import WAYS, Way
from certmix.sensitivity.witnesses import aligned, local_optima, single_moves
from certmix.status import Status, Termination
from certmix.stopping import Stop

LEAST = 0.05  # seconds: less is no turn


@dataclass(frozen=True)
class Turns:
    """How long questions are looked at."""

    at_once: float = 0.5  # share of the time that is left, for looking at many questions at once
    first: float = 10.0  # seconds of the first turn of one question, with a time limit
    patient: float = 60.0  # the same without one
    longer: float = 4.0  # times as long is its next: runs begin anew, so less would be wasteful


TURNS = Turns()


def stability(
    result: Result | Problem,
    within: float | None = None,
    *,
    problem: Problem | None = None,
    pairs: Pairs = (),
    known: Certificate | None = None,
    options: Options | None = None,
    verbose: bool = False,
    listener: Callable[[Stability], None] | None = None,
    observers: Sequence[Observer] = (),
    **given: Any,
) -> Stability:
    """How sure every assignment is: what it costs at least to have a sample elsewhere.

    The margin of a sample is the least extra cost (in nats; of k-means, in sums of squares) of a clustering that
    satisfies all constraints and separates the sample from the representative of its component, the member nearest to
    the mean (the representative itself: from the next nearest). It is at least 0, and counts from the objective of the
    result, whatever is proved of that.

    Parameters
    ----------
    result : Result, or a Problem, which is then solved first
    within : delta, as people see the objective: nats, or sums of squares
        Default: 2 nats; of k-means, 2 nats at the variance that fits, 4 SSE / (n d).
        A sample is ``fixed`` when its margin is proved to be larger, ``open`` when it is known to be no larger.
    problem : Problem, optional
        Of the result; needed where that was loaded from a file.
    pairs : pairs of samples by name or position, optional
        Whether they are together, or apart, in every clustering within delta.
    known : Certificate, optional
        Of an earlier call that was cut short (``stability.certificate``): what it proves is checked, not asked again.
    options : Options, optional
        Of the runs. The time limit is that of all of them together.
    verbose : bool
        Write a line to standard error after every turn.
    listener : function of a Stability, optional
        Is told after every turn.
    observers : sequence of Observer, of every run
    **given
        Options of a run, which count instead of ``options``.

    Returns
    -------
    Stability
        ``stability.samples`` has a margin for every sample; ``stability.sentence()`` says it in words.
    """
    problem, result, within, options = asked(result, within, problem, options, given, observers)

    def tell(found: Stability) -> None:
        if listener is not None:
            listener(found)
        if verbose:
            from certmix.sensitivity.table import progress

            progress(found)

    run = Run(Known(problem, result, within, positions(problem, pairs), options), options, tell, observers)
    if known is not None:
        run.known.take_up(known)  # this takes some of the time
    return run.run()


class Run:
    """What is known of every question, and the turns that find out more."""

    def __init__(
        self,
        known: Known,
        options: Options,
        tell: Callable[[Stability], None] = lambda _: None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self.known, self.options, self.tell, self.observers = known, options, tell, observers
        count, first = len(self.known.questions), TURNS.patient if options.time_limit is None else TURNS.first
        self.limit = np.full(count, first)  # seconds of the next turn
        self.over = np.zeros(count, dtype=bool)  # another turn would not do better
        # what a run has settled whose proof took longer than its turn
        self.unproved: dict[int, tuple[Result, float]] = {}
        # with how many groups a way was tried, and for how many questions at least
        self.tried: dict[Way, tuple[float, int]] = {}
        self.begin = time.perf_counter()
        self.interrupted = False

    @property
    def left(self) -> float:
        return self.options.time_left(time.perf_counter() - self.begin)

    @property
    def late(self) -> bool:
        return self.interrupted or self.left <= LEAST

    def state(self) -> Stability:
        """Everything that is known now."""
        return self.known.stability(time.perf_counter() - self.begin, interrupted=self.interrupted)

    def run(self) -> Stability:
        try:
            self._move()
            self.tell(self.state())
            for way in WAYS:
                if self._ask(way):
                    self.tell(self.state())
            self.known.proof.spend(ONE * len(self._waiting()))
            while not self.late and (waiting := self._waiting()):
                self._turn(waiting[0], alone=len(waiting) == 1)
                self.tell(self.state())
        except KeyboardInterrupt:
            self.interrupted = True
        for i, (found, bound) in self.unproved.items():
            self._settle(i, found, bound)
        return self.known.proof.concluded(self.state(), self.known.fixed(), late=self.late)

    def _move(self) -> None:
        """The first witnesses: one group is elsewhere, in the reported clustering or in one that is nearly as good."""
        known, problem = self.known, self.known.problem

        def late() -> bool:
            return self.left <= LEAST or interruption.heard()

        with interruption.raising():
            single_moves(problem, known.point, known.learn, late)
            for labels, value in local_optima(problem, known.labels, self.options.seed, known.cutoff, late):
                before, labels = known.undecided(), aligned(problem, labels, known.labels)
                known.learn(labels, value)
                if known.undecided() != before:
                    single_moves(problem, problem.objective.best(labels), known.learn, late)

    def _ask(self, way: Way) -> bool:
        """Settle at once what a way can, if that is enough and more is known than when it was tried; whether it was."""
        known, whole = self.known, self.known.linked()
        waiting = [known.questions.all[i] for i in self._waiting()]
        asked = [q for q in waiting if q.second >= 0 and q.together]
        groups = group_samples(whole).n_groups
        usual = way.fewest if whole is known.problem else way.fewest_left
        before, fewest = self.tried.get(way, (math.inf, usual))
        wanted = self.options.engine in way.engines and groups < way.again * before
        if len(asked) < fewest or not wanted or self.late:
            return False
        self.tried[way] = groups, fewest
        stop, beyond = Stop(self.left * TURNS.at_once), known.beyond_links()
        with interruption.raising():
            known.settle(way.settle(known, asked, stop), beyond)
        self.interrupted = stop.reason is Termination.INTERRUPTED
        return True

    def _waiting(self) -> list[int]:
        """The questions that are undecided: shortest turns first, then those whose opposite seems dearest."""
        waiting = [i for i in self.known.undecided() if not self.over[i]]
        return sorted(waiting, key=lambda i: (self.limit[i], -self.known.value[i], i))

    def _turn(self, i: int, *, alone: bool) -> None:
        """Ask one question on its own."""
        known = self.known
        limit = self.left if alone else min(self.limit[i], self.left)
        self.over[i] = limit >= self.left
        self.limit[i] *= TURNS.longer
        question, links, beyond = known.questions.all[i], known.links(), known.beyond_links()
        if Asker(known.linked(), known.labels).given(question):  # it follows from what is known
            known.settle([question], beyond)
            return
        options = replace(self.options, time_limit=limit if math.isfinite(limit) else None)
        bounds, found = [], known.result
        for constraints in question.opposites(known.problem):
            found = forced(
                Forced(known.problem, tuple(links), tuple(constraints), known.cutoff, known.target),
                known.proof.options(options),
                known.witness[i],
                self.observers,
            )
            self._heard(found)
            if found.termination not in (Termination.TIME, Termination.TARGET):
                self.over[i] = True
            bound = math.inf if found.status is Status.INFEASIBLE else found.lower_bound
            bounds.append(min(bound, beyond) if links else bound)
            if self.interrupted:
                return
        self.unproved.pop(i, None)
        if min(bounds) > known.cutoff and known.proof.lacks(question, found) and not self.over[i]:
            self.unproved[i] = found, min(bounds)  # a longer turn may leave a proof, too
            return
        self._settle(i, found, min(bounds))

    def _settle(self, i: int, found: Result, bound: float) -> None:
        """A run has found what the opposite of a question costs at least."""
        question = self.known.questions.all[i]
        self.known.settle([question], bound)
        if self.known.state_of(i) is State.FIXED:
            self.known.proof.opposite(question, found)

    def _heard(self, found: Result) -> None:
        if interruption.heard() or found.termination is Termination.INTERRUPTED:
            self.interrupted = True
        if found.positions is not None:
            self.known.meet(self.known.problem.samples.expand(found.positions), found.objective)
