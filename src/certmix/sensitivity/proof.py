"""The certificate of margins, put together from the proofs of single runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from certmix.certificate.boxes import TUNING
from certmix.certificate.draft import Unproved
from certmix.certificate.margins import (
    MarginPart,
    Pair,
    at_once,
    bounded,
    by_boxes,
    by_opposite,
    chained,
    parts_of,
    put_together,
)
from certmix.errors import InputError
from certmix.interruption import raising
from certmix.io.certificates import Certificate
from certmix.options import Options
from certmix.presolve.groups import group_samples
from certmix.problem import Point, Problem
from certmix.result import Result
from certmix.search.bounds.interval import IntervalBound
from certmix.search.bounds.semidefinite.record import NO_RECORD, Recorder
from certmix.search.record import NO_SPLITS, Splits
from certmix.sensitivity.margins import Stability
from certmix.sensitivity.questions import Question
from certmix.verifying import verify

LEAST_BUDGET = 1.0  # seconds that proofs may take however short the search was
ONE = 0.03  # seconds that the proof of a single run takes at least
REPLAY = 0.6  # seconds that the checker may take for a tree of boxes; the other ways are quicker to check


class Proof:
    """The parts of a proof, in the order in which they were made; why there is none, where one is lacking."""

    def __init__(
        self, problem: Problem, result: Result, point: Point, within: float, options: Options
    ) -> None:
        self.problem, self.result, self.within = problem, result, within
        # As the problem has it: of copies of samples, noise among the components.
        own: dict[str, Any] = {"labels": point.labels, "means": point.means, "weights": point.weights}
        self.reported = replace(result, **own, noise=None, sample_weight=None)
        self.wanted = options.verify is not False or bool(options.certificate)
        self.wanted &= not problem.rules.soft  # the checker has no words for margins where links may bend
        asked = options.verify is True or bool(options.certificate)
        self.budget = math.inf if asked else max(LEAST_BUDGET, options.verify_budget * result.seconds)
        self._parts: list[MarginPart] = []
        self._lacking = ""
        self._dear = False

    def take_up(self, earlier: Certificate) -> list[Pair]:
        """What an earlier certificate has proved of the same clustering and delta; it is checked here.

        Raises
        ------
        InputError
            When it is about something else, or is not accepted.
        """
        document, labels = earlier.document, earlier.arrays.get("incumbent/labels")
        if document.get("claim") != "margins" or not np.array_equal(labels, self.reported.labels):  # type: ignore[arg-type]
            raise InputError("what is known of margins is about another clustering")
        if document["within"] != self.within:
            raise InputError("what is known of margins is about another delta (within)")
        verdict = verify(earlier, self.problem)
        if not verdict.verified:
            raise InputError(f"what is known of margins is not accepted: {verdict.sentence}")
        self._parts += parts_of(earlier) if self.wanted else []
        return [(int(i), int(j), int(together)) for i, j, together in document["pairs"]]

    def spend(self, seconds: float) -> bool:
        """Whether so much more may be spent on a proof; if not there will be none, unless one was asked for."""
        self.budget -= seconds
        if self.wanted and self.budget < 0.0:
            self.wanted, self._dear = False, True
        return self.wanted

    def recorder(self) -> Recorder:
        """Who writes down what is settled at once."""
        return Recorder() if self.wanted else NO_RECORD

    def splits(self) -> Splits:
        """Who writes down the splits of a search by boxes."""
        return Splits() if self.wanted else NO_SPLITS

    def options(self, options: Options) -> Options:
        """The options of a single run: its proof is checked at once where that is quick, else with the others."""
        return replace(options, certificate=self.wanted, verify="auto" if self.wanted else False)

    def settle(
        self, questions: Sequence[Question], whole: Problem, recorder: Recorder, target: float
    ) -> None:
        """These were settled at once, in the problem with all that was proved before."""
        if not (self.wanted and questions):
            return
        try:
            pairs = [_pair(q) for q in questions]
            self._parts.append(at_once(pairs, whole, self.reported, recorder, target))
        except Unproved as reason:
            self._lacking = self._lacking or str(reason)

    def lower(self, whole: Problem) -> float:
        """The bound that exchange arguments may use: with a proof, one of the problem itself, proved by a tree."""
        certificate = self.result.certificate
        if not self.wanted:
            return self.result.lower_bound
        if certificate is None or certificate.infeasible or whole is not self.problem:
            return -math.inf
        try:
            bounded(certificate, verified=False)
        except Unproved:
            return -math.inf
        return float(certificate.bound)

    def most_nodes(self, most: int, groups: int) -> int:
        """Of a search by boxes: no more than the checker replays in little time, if there has to be a record."""
        asked = self.wanted and math.isinf(self.budget)
        return min(most, int(REPLAY / self._replay(groups))) if asked else most

    def _replay(self, groups: int) -> float:
        """How long the checker takes for a node of a tree of boxes, about."""
        return TUNING.entry_seconds * groups * self.problem.n_components * self.problem.n_features

    def by_boxes(
        self, questions: Sequence[Question], whole: Problem, bound: IntervalBound, least: float, target: float
    ) -> Sequence[Question]:
        """These were settled by boxes, in the problem with all that was proved before.

        Those that can be put on record, if there has to be one.
        """
        groups = group_samples(whole).n_groups
        if not (questions and self.spend(self._replay(groups) * bound.splits.count)):
            return questions
        certificate, verdict = self.result.certificate, self.result.verdict
        try:
            part = by_boxes([_pair(q) for q in questions], whole, bound, least, target)
        except Unproved:
            return ()
        if not part.pairs:
            return ()
        if math.isfinite(least):
            assert certificate is not None
            self._parts.append(bounded(certificate, verified=verdict is not None and verdict.verified))
        self._parts.append(part)
        kept = set(part.pairs)
        return [q for q in questions if _pair(q) in kept]

    def by_prices(self, part: MarginPart) -> None:
        """These were settled by prices, and the checker has confirmed it."""
        if self.wanted and part.pairs:
            self._parts.append(part)

    def lacks(self, question: Question, found: Result) -> bool:
        """Whether a run has left no certificate that is wanted."""
        return self._wants(question) and found.certificate is None

    def _wants(self, question: Question) -> bool:
        """Whether a question is to be on record: no part uses what is known of samples that are alone."""
        return self.wanted and question.second >= 0

    def opposite(self, question: Question, found: Result) -> None:
        """The opposite of this was ruled out by a run."""
        if not self._wants(question):
            return
        if found.certificate is None:
            self._lacking = self._lacking or found.verification or "a run has none"
        else:
            verified = found.verdict is not None and found.verdict.verified
            self._parts.append(by_opposite(_pair(question), found.certificate, verified=verified))

    def concluded(self, found: Stability, fixed: Sequence[Question], *, late: bool) -> Stability:
        """With the certificate of all that is fixed, checked; with a note why there is none."""
        fixed = [question for question in fixed if question.second >= 0]
        if self._dear:
            note = (
                "no certificate of what is fixed: it would take longer than its budget (verify, certificate)"
            )
            return replace(found, notes=(*found.notes, note))
        if not (self.wanted and fixed):
            return found
        given = self.problem, self.reported, self.within, self._parts, [_pair(q) for q in fixed]
        if late and not self._lacking:
            note = "the certificate of what is fixed is not checked: the time was over"
            return replace(found, certificate=put_together(*given), notes=(*found.notes, note))
        try:
            if self._lacking:
                raise Unproved(self._lacking)
            with raising():
                certificate, verdict = chained(*given)
        except (Unproved, KeyboardInterrupt) as reason:
            note = f"no certificate of what is fixed: {reason or 'interrupted'}"
            return replace(found, notes=(*found.notes, note))
        return replace(found, certificate=certificate, verdict=verdict)


def _pair(question: Question) -> Pair:
    return question.first, question.second, int(question.together)
