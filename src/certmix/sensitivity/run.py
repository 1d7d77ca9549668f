"""``stability``: cheap clusterings first, then one problem with a constraint more for whatever is still in question."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from certmix import interruption
from certmix.ledger import Observer
from certmix.options import Options
from certmix.presolve.groups import group_samples
from certmix.problem import Constraint, Problem
from certmix.result import Result
from certmix.sensitivity.asking import Pairs, asked, positions
from certmix.sensitivity.at_once import together_below
from certmix.sensitivity.boxes import together_in_boxes
from certmix.sensitivity.forced import Forced, forced
from certmix.sensitivity.margins import PairMargin, SampleMargin, Stability, State
from certmix.sensitivity.prices import applies, together_by_prices
from certmix.sensitivity.proof import ONE, Proof
from certmix.sensitivity.questions import Asker, Question, Questions, representatives
from certmix.sensitivity.witnesses import aligned, as_shown, single_moves, value_of
from certmix.status import Status, Termination
from certmix.stopping import Stop

FIRST, PATIENT = 10.0, 60.0  # seconds of the first turn, with and without a time limit
LONGER = 4.0  # so many times as long is the next: runs begin anew, so less would be wasteful
LEAST = 0.05  # seconds: less is no turn
ROUNDING = 1e-10  # relatively, how much two objectives differ that are the same
BEYOND = 1e-8  # relatively, how far beyond delta a proof goes: the checker rounds in other ways
FEW, FEW_LEFT = 3, 20  # questions, at first and when some are settled: with fewer, each is asked on its own
FEW_BOXED = 6  # the same, where few groups are left
SHARE = 0.5  # of the time that is left, for looking at all questions at once
LOOKS = 3  # at most so many times
AGAIN = 0.25  # share of the groups that may be left for another look
AT_ONCE = ("auto", "race", "sdp", "dual")  # engines with which that is done
BY_BOXES = ("auto", "race", "dual", "interval", "enumerate")  # likewise, by boxes
PRICED = ("auto", "race", "dual")  # likewise, by prices
FAR = 0.1  # share of delta: those whose best known opposite is nearer than that are left for other ways
PRICING = 4.0  # seconds that a proof by prices may take, or as long as the reported run
NOT_BOXED = ("sdp", "parts")  # who found the clustering where boxes are of no use
BOXED = 40  # groups with which they are, even without exchange arguments
NODES, MORE = 2000, 15  # that a search by boxes explores: so many, or so many times those of the reported run


def stability(
    result: Result | Problem,
    within: float | None = None,
    *,
    problem: Problem | None = None,
    pairs: Pairs = (),
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

    return Run(problem, result, within, positions(problem, pairs), options, tell, observers).run()


class Run:
    """What is known of every question, and the turns that find out more."""

    def __init__(
        self,
        problem: Problem,
        result: Result,
        within: float,
        pairs: Sequence[tuple[int, int]],
        options: Options,
        tell: Callable[[Stability], None] = lambda _: None,
        observers: Sequence[Observer] = (),
    ) -> None:
        assert result.positions is not None
        self.problem, self.result, self.within, self.pairs = problem, result, within, tuple(pairs)
        self.options, self.tell, self.observers = options, tell, observers
        self.labels, self.upper = problem.samples.expand(result.positions), result.objective
        self.point = problem.objective.best(self.labels)
        self.cutoff = self.upper + problem.quantity.objective(within)
        unit = max(1.0, abs(self.cutoff))
        self.cutoff += ROUNDING * unit
        self.target = self.cutoff + BEYOND * unit
        self.representative = representatives(problem, self.labels, self.point.means)
        asker = Asker(problem, self.labels)
        self.rows = problem.samples.first.tolist()
        self.of_sample = [asker.about(i, int(self.representative[i])) for i in self.rows]
        self.of_pair = [asker.about(i, j) for i, j in self.pairs]
        self.questions = Questions([*self.of_sample, *self.of_pair], problem)
        self.given = {i for i, q in enumerate(self.questions.all) if asker.given(q)}
        self.proof = Proof(problem, result, self.point, problem.quantity.objective(within), options)
        count = len(self.questions)
        self.bound = np.full(count, -math.inf)  # of the problem with the opposite
        self.value = np.full(count, math.inf)  # of the best clustering known that has the opposite
        self.witness: list[np.ndarray | None] = [None] * count
        self.limit = np.full(
            count, PATIENT if options.time_limit is None else FIRST
        )  # seconds of the next turn
        self.over = np.zeros(count, dtype=bool)  # another turn would not do better
        self.begin = time.perf_counter()
        self.interrupted = False
        self.better = math.inf  # a clustering that is better than the reported one

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begin

    @property
    def left(self) -> float:
        return self.options.time_left(self.seconds)

    def run(self) -> Stability:
        try:
            self.bound[list(self.given)] = math.inf
            self._first_witnesses()
            self.tell(self.state())
            self._by_prices()
            self.tell(self.state())
            self._by_boxes()
            self.tell(self.state())
            if self._at_once():
                self.tell(self.state())
                self._by_boxes()
            self.tell(self.state())
            self.proof.spend(ONE * len(self._waiting()))
            while not self.interrupted and self.left > LEAST and (waiting := self._waiting()):
                self._turn(waiting[0], alone=len(waiting) == 1)
                self.tell(self.state())
        except KeyboardInterrupt:
            self.interrupted = True
        return self.proof.concluded(self.state(), self._fixed(), late=self.interrupted or self.left <= LEAST)

    def _fixed(self) -> list[Question]:
        """What is fixed, in the words of the user's own samples."""
        asked = [
            *((i, int(self.representative[i]), q) for i, q in zip(self.rows, self.of_sample, strict=True)),
            *((i, j, q) for (i, j), q in zip(self.pairs, self.of_pair, strict=True)),
        ]
        return [
            Question(i, j, q.together)
            for i, j, q in asked
            if self.state_of(self.questions.place(q)) is State.FIXED
        ]

    # -- what is known -----------------------------------------------------------------------------------------
    def learn(self, labels: np.ndarray, value: float) -> None:
        """A clustering that satisfies all constraints, and its objective."""
        self.better = min(self.better, value)
        for i in np.flatnonzero(self.questions.differing(labels) & (value < self.value)).tolist():
            self.value[i], self.witness[i] = value, labels

    def state_of(self, i: int) -> State:
        if self.value[i] <= self.cutoff:
            return State.OPEN
        return State.FIXED if self.bound[i] > self.cutoff else State.UNDECIDED

    def _first_witnesses(self) -> None:
        def late() -> bool:
            return self.left <= LEAST or interruption.heard()

        with interruption.raising():
            single_moves(self.problem, self.point, self.learn, late)

    def _by_prices(self) -> None:
        """What multipliers from the middle of those that prove the bound settle: samples that are far from delta."""
        far = self.cutoff + FAR * (self.cutoff - self.upper)
        asked = [i for i in self._waiting() if self.value[i] > far and self.questions.all[i].second >= 0]
        asked = [i for i in asked if self.questions.all[i].together]
        wanted = self.options.engine in PRICED and applies(self.problem)
        wanted &= group_samples(self.problem).n_groups > BOXED  # few are settled by boxes in no time
        if len(asked) < FEW or not wanted or self.left <= LEAST or self.interrupted:
            return
        stop, middle = Stop(self.left * SHARE), 0.5 * (self.cutoff + self.target)
        pairs = [(self.questions.all[i].first, self.questions.all[i].second) for i in asked]
        seconds = max(PRICING, self.result.seconds)
        with interruption.raising():
            part = together_by_prices(self.problem, self.labels, pairs, self.upper, middle, seconds, stop)
        self.interrupted = stop.reason is Termination.INTERRUPTED
        if part is None:
            return
        self.proof.by_prices(part)
        for i, j, together in part.pairs:
            at = self.questions.place(Question(i, j, bool(together)))
            self.bound[at] = max(self.bound[at], middle)

    def _by_boxes(self) -> None:
        """What one search over all clusterings below the target settles, with all that is known already."""
        asked = [i for i in self._waiting() if self.questions.all[i].second >= 0]
        asked = [i for i in asked if self.questions.all[i].together]
        whole, beyond = self._whole(), self.beyond_links()
        lower, groups = self.proof.lower(whole), group_samples(whole).n_groups
        first = whole is self.problem and self.result.engine not in NOT_BOXED and math.isfinite(lower)
        wanted = self.options.engine in BY_BOXES and (first or groups <= BOXED)
        few = FEW if whole is self.problem else FEW_BOXED
        if len(asked) < few or not wanted or self.left <= LEAST or self.interrupted:
            return
        questions, stop = [self.questions.all[i] for i in asked], Stop(self.left * SHARE)

        def told(labels: np.ndarray) -> float:
            value = value_of(self.problem, labels)
            if math.isfinite(value):
                self.learn(aligned(self.problem, labels, self.labels), value)
            return value

        with interruption.raising():
            found = together_in_boxes(
                whole,
                np.array([(q.first, q.second) for q in questions]),
                self.target,
                lower,
                told,
                self.proof.most_nodes(max(NODES, MORE * self.result.nodes), groups),
                stop,
                self.proof.splits(),
            )
            self.interrupted = stop.reason is Termination.INTERRUPTED
            if found.bound is None:
                return
            settled = [q for q, together in zip(questions, found.together, strict=True) if together]
            middle = 0.5 * (self.cutoff + self.target)
            for question in self.proof.by_boxes(settled, whole, found.bound, lower, middle):
                i = self.questions.place(question)
                self.bound[i] = max(self.bound[i], beyond)

    def _at_once(self) -> bool:
        """Whether one look at all clusterings below the target settles something; another one, if much is one group."""
        known = len(self._waiting())
        groups, few = self.problem.n_samples, FEW_LEFT if self.links() else FEW
        for _ in range(LOOKS):
            asked = [i for i in self._waiting() if self.questions.all[i].second >= 0]
            if (
                len(asked) < few
                or self.options.engine not in AT_ONCE
                or self.left <= LEAST
                or self.interrupted
            ):
                break
            whole, beyond = self._whole(), self.beyond_links()
            recorder, stop = self.proof.recorder(), Stop(self.left * SHARE)
            with interruption.raising():
                number = together_below(whole, self.labels, self.target, stop, recorder)
            self.interrupted = stop.reason is Termination.INTERRUPTED
            settled = []
            for i in asked:
                question = self.questions.all[i]
                if question.together and number[question.first] == number[question.second]:
                    self.bound[i] = max(self.bound[i], beyond)
                    settled.append(question)
            self.proof.settle(settled, whole, recorder, 0.5 * (self.cutoff + self.target))
            before, groups = groups, len(np.unique(number))
            if groups > AGAIN * before:
                break
        return len(self._waiting()) < known

    # -- one by one --------------------------------------------------------------------------------------------
    def _waiting(self) -> list[int]:
        """The questions that are undecided: shortest turns first, then those whose opposite seems dearest."""
        waiting = [
            i for i in range(len(self.questions)) if not self.over[i] and self.state_of(i) is State.UNDECIDED
        ]
        return sorted(waiting, key=lambda i: (self.limit[i], -self.value[i], i))

    def known(self) -> list[tuple[int, Question]]:
        """Questions whose answer holds in every clustering within delta, and that later runs may use."""
        return [
            (i, q)
            for i, q in enumerate(self.questions.all)
            if q.second >= 0 and self.state_of(i) is State.FIXED and i not in self.given
        ]

    def links(self) -> list[Constraint]:
        """The same as constraints."""
        return [c for _, q in self.known() for c in q.proved(self.problem)]

    def _whole(self) -> Problem:
        """The problem with these constraints."""
        links = self.links()
        return (
            self.problem.replace(constraints=[*self.problem.given_constraints, *links])
            if links
            else self.problem
        )

    def beyond_links(self) -> float:
        """What clusterings without some of the links cost at least; that may be less than the target."""
        return min([self.target, *(float(self.bound[i]) for i, _ in self.known())])

    def _turn(self, i: int, *, alone: bool) -> None:
        limit = self.left if alone else min(self.limit[i], self.left)
        self.over[i] = limit >= self.left
        self.limit[i] *= LONGER
        question, whole = self.questions.all[i], self._whole()
        links, beyond = self.links(), self.beyond_links()
        if Asker(whole, self.labels).given(question):  # it follows from what is known
            self.bound[i] = max(self.bound[i], beyond)
            return
        bounds, found = [], self.result
        for constraints in question.opposites(self.problem):
            found = forced(
                Forced(self.problem, tuple(links), tuple(constraints), self.cutoff, self.target),
                self.proof.options(replace(self.options, time_limit=limit if math.isfinite(limit) else None)),
                self.witness[i],
                self.observers,
            )
            self._heard(found)
            if found.termination not in (Termination.TIME, Termination.TARGET):
                self.over[i] = True
            bound = math.inf if found.status is Status.INFEASIBLE else found.lower_bound
            bounds.append(min(bound, beyond) if links else bound)
            if self.interrupted:
                break
        else:
            self.bound[i] = max(self.bound[i], min(bounds))
            if self.state_of(i) is State.FIXED:
                self.proof.opposite(question, found)

    def _heard(self, found: Result) -> None:
        if interruption.heard() or found.termination is Termination.INTERRUPTED:
            self.interrupted = True
        if found.positions is not None:
            labels = self.problem.samples.expand(found.positions)
            self.learn(aligned(self.problem, labels, self.labels), found.objective)

    # -- what is shown -----------------------------------------------------------------------------------------
    def state(self) -> Stability:
        """Everything that is known now."""
        p = self.problem
        samples = []
        for i, question in zip(self.rows, self.of_sample, strict=True):
            margin, j = self._margin(question), int(self.representative[i])
            witness = margin["witness"]
            names = {
                "name": p.names[i],
                "component": p.component_names[self.labels[i]],
                "representative": None if j < 0 else p.names[j],
                "goes_to": None if witness is None else p.component_names[witness[i]],
            }
            samples.append(SampleMargin(**{**margin, "witness": as_shown(p, witness)}, **names))
        pairs = []
        for (i, j), question in zip(self.pairs, self.of_pair, strict=True):
            margin = self._margin(question)
            margin["witness"] = as_shown(p, margin["witness"])
            names = {"first": p.names[i], "second": p.names[j]}
            pairs.append(PairMargin(**margin, **names, together=question.together))
        return Stability(
            self.within,
            self.result,
            tuple(samples),
            tuple(pairs),
            seconds=self.seconds,
            interrupted=self.interrupted,
            notes=self._notes(),
        )

    def _margin(self, question: Question) -> dict[str, Any]:
        i = self.questions.place(question)
        shown = self.problem.quantity.shown
        lower, upper = (shown(max(0.0, float(x) - self.upper)) for x in (self.bound[i], self.value[i]))
        return {
            "state": self.state_of(i),
            "lower": min(lower, upper),
            "upper": upper,
            "witness": self.witness[i],
        }

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.result.status is not Status.OPTIMAL:
            quantity, gap = self.problem.quantity, self.result.gap_absolute
            near = quantity.with_unit(f"{quantity.shown(gap):.3g}")
            far = near if math.isfinite(gap) else "an unknown distance"
            notes.append(
                f"the clustering is not proved optimal, only within {far}; margins count from its objective"
            )
        if self.better < self.upper - 1e-9 * max(1.0, abs(self.upper)):
            notes.append(
                f"a better clustering was found on the way, of {self.problem.quantity.name} "
                f"{self.problem.quantity.shown(self.better):.10g}: solve again from it"
            )
        return tuple(notes)
