"""What is known of every question: how little its opposite can cost, and the cheapest clustering that has it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from certmix.io.certificates import Certificate
from certmix.options import Options
from certmix.problem import Constraint, Problem
from certmix.result import Result
from certmix.sensitivity.margins import PairMargin, SampleMargin, Stability, State
from certmix.sensitivity.proof import Proof
from certmix.sensitivity.questions import Asker, Question, Questions, representatives
from certmix.sensitivity.witnesses import aligned, as_shown
from certmix.status import Status

SAME = 1e-10  # relatively, how much two objectives differ at most that are the same
# relatively, how far beyond delta a search goes, and a proof half as far: the checker rounds in other ways
BEYOND = 1e-8


class Known:
    """Questions about a clustering, and what is known of their opposites.

    Attributes
    ----------
    labels, upper : the clustering, and its objective
    cutoff, proved, target : the objective plus delta, what proofs reach, what searches go to
    bound, value, witness : of every question's opposite: a lower bound, the best clustering known and its objective
    better : the objective of the best clustering that was come across
    """

    def __init__(
        self,
        problem: Problem,
        result: Result,
        within: float,
        pairs: Sequence[tuple[int, int]],
        options: Options,
    ) -> None:
        assert result.positions is not None
        self.problem, self.result, self.within, self.pairs = problem, result, within, tuple(pairs)
        self.labels, self.upper = problem.samples.expand(result.positions), result.objective
        self.point, delta = problem.objective.best(self.labels), problem.quantity.objective(within)
        unit = max(1.0, abs(self.upper + delta))
        self.cutoff = self.upper + delta + SAME * unit
        self.target = self.cutoff + BEYOND * unit
        self.proved = 0.5 * (self.cutoff + self.target)
        self.representative = representatives(problem, self.labels, self.point.means)
        self.asker = asker = Asker(problem, self.labels)
        self.rows = problem.samples.first.tolist()
        self.of_sample = [asker.about(i, int(self.representative[i])) for i in self.rows]
        self.of_pair = [asker.about(i, j) for i, j in self.pairs]
        self.questions = Questions([*self.of_sample, *self.of_pair], problem)
        self.given = {i for i, q in enumerate(self.questions.all) if asker.given(q)}
        self.proof = Proof(problem, result, self.point, delta, options)
        self.bound = np.full(len(self.questions), -math.inf)
        self.bound[list(self.given)] = math.inf
        self.value = np.full(len(self.questions), math.inf)
        self.witness: list[np.ndarray | None] = [None] * len(self.questions)
        self.better = math.inf

    def learn(self, labels: np.ndarray, value: float) -> None:
        """A clustering that satisfies all constraints, and its objective."""
        self.better = min(self.better, value)
        for i in np.flatnonzero(self.questions.differing(labels) & (value < self.value)).tolist():
            self.value[i], self.witness[i] = value, labels

    def meet(self, labels: np.ndarray, value: float) -> None:
        """The same of a clustering whose interchangeable components have other names."""
        self.learn(aligned(self.problem, labels, self.labels), value)

    def settle(self, questions: Iterable[Question], bound: float) -> None:
        """The opposites of these cost at least so much."""
        for i in map(self.questions.place, questions):
            self.bound[i] = max(self.bound[i], bound)

    def take_up(self, earlier: Certificate) -> None:
        """What an earlier call has proved of the same clustering and delta; perhaps nobody asks for some of it."""
        proved = [self.asker.about(i, j) for i, j, _ in self.proof.take_up(earlier)]
        self.settle([question for question in proved if question in self.questions], self.proved)

    def state_of(self, i: int) -> State:
        if self.value[i] <= self.cutoff:
            return State.OPEN
        return State.FIXED if self.bound[i] > self.cutoff else State.UNDECIDED

    def undecided(self) -> list[int]:
        return [i for i in range(len(self.questions)) if self.state_of(i) is State.UNDECIDED]

    # -- what later runs may use -----------------------------------------------------------------------------------
    def _fixed(self) -> list[int]:
        """Questions about two samples whose answer holds in every clustering within delta."""
        asked = [i for i, q in enumerate(self.questions.all) if q.second >= 0 and i not in self.given]
        return [i for i in asked if self.state_of(i) is State.FIXED]

    def links(self) -> list[Constraint]:
        """The same as constraints."""
        return [c for i in self._fixed() for c in self.questions.all[i].proved(self.problem)]

    def linked(self) -> Problem:
        """The problem with these constraints; itself where there are none."""
        links, given = self.links(), self.problem.given_constraints
        return self.problem.replace(constraints=[*given, *links]) if links else self.problem

    def beyond_links(self) -> float:
        """What is proved of clusterings without some of the links; of the others proofs reach ``proved``."""
        return min([self.proved, *self.bound[self._fixed()].tolist()])

    # -- what is shown ---------------------------------------------------------------------------------------------
    def fixed(self) -> list[Question]:
        """What is fixed, in the words of the user's own samples."""
        whom = [*((i, int(self.representative[i])) for i in self.rows), *self.pairs]
        asked = zip(whom, [*self.of_sample, *self.of_pair], strict=True)
        fixed = [(who, q) for who, q in asked if self.state_of(self.questions.place(q)) is State.FIXED]
        return [Question(i, j, q.together) for (i, j), q in fixed]

    def stability(self, seconds: float, *, interrupted: bool) -> Stability:
        """Everything that is known now."""
        p = self.problem
        samples = []
        for i, question in zip(self.rows, self.of_sample, strict=True):
            witness, j = self.witness[self.questions.place(question)], int(self.representative[i])
            names = {
                "name": p.names[i],
                "component": p.component_names[self.labels[i]],
                "representative": None if j < 0 else p.names[j],
                "goes_to": None if witness is None else p.component_names[witness[i]],
            }
            samples.append(SampleMargin(**self._margin(question), **names))
        pairs = [
            PairMargin(**self._margin(q), first=p.names[i], second=p.names[j], together=q.together)
            for (i, j), q in zip(self.pairs, self.of_pair, strict=True)
        ]
        told: dict[str, Any] = {"seconds": seconds, "interrupted": interrupted, "notes": self._notes()}
        return Stability(self.within, self.result, tuple(samples), tuple(pairs), **told)

    def _margin(self, question: Question) -> dict[str, Any]:
        i, shown = self.questions.place(question), self.problem.quantity.shown
        lower, upper = (shown(max(0.0, float(x) - self.upper)) for x in (self.bound[i], self.value[i]))
        witness = as_shown(self.problem, self.witness[i])
        return {"state": self.state_of(i), "lower": min(lower, upper), "upper": upper, "witness": witness}

    def _notes(self) -> tuple[str, ...]:
        notes, quantity = [], self.problem.quantity
        if self.result.status is not Status.OPTIMAL:
            gap = self.result.gap_absolute
            near = quantity.with_unit(f"{quantity.shown(gap):.3g}")
            far = near if math.isfinite(gap) else "an unknown distance"
            notes.append(
                f"the clustering is not proved optimal, only within {far}; margins count from its objective"
            )
        if self.better < self.upper - 1e-9 * max(1.0, abs(self.upper)):
            notes.append(
                f"a better clustering was found on the way, of {quantity.name} "
                f"{quantity.shown(self.better):.10g}: solve again from it"
            )
        return tuple(notes)
