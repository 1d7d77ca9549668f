"""After the search: its proof is made and checked, within a budget of time.

Whatever happens here, what the search has found stands: a proof that cannot be made, that takes too long or that a
signal cuts short leaves the level at ``computed``, and ``result.verification`` says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from certmix.certificate.prove import Made, Unproved, make
from certmix.engines import Engine
from certmix.interruption import raising
from certmix.ledger import Ledger
from certmix.options import PROOF_TIME, Options
from certmix.problem import Problem
from certmix.result import Result
from certmix.status import Termination
from certmix.stopping import Abandoned, attend
from certmix.verify.check import Verdict
from certmix.verifying import verify

T = TypeVar("T")

LEAST_BUDGET = 1.0  # seconds that a proof may take however short the search was

_NONE = "not verified, no certificate"


def wants_proof(options: Options) -> bool:
    """Whether the run shall leave a record from which a proof is made."""
    return bool(options.certificate) or options.verify is not False


def for_search(options: Options, engine: Engine) -> Options:
    """The options of the search alone: with a record if there is to be a proof, whose time is kept."""
    if not (wants_proof(options) and engine.certified) or getattr(engine, "attested", False):
        return options
    return replace(options, certificate=True).with_time_for_proof(getattr(engine, "proof_time", PROOF_TIME))


def proved(problem: Problem, result: Result, ledger: Ledger, options: Options) -> Result:
    """The result with the certificate that was asked for, and the level that the checker gives it."""
    if not wants_proof(options) or result.termination in (Termination.INTERRUPTED, Termination.MEMORY):
        return result
    asked = options.certificate or options.verify is True
    if not asked and result.certificate_level != "computed":
        return result  # nothing is proved, or another program has to be believed
    if ledger.stop.reason is Termination.TARGET:  # who listens has seen a clustering that is good enough
        return replace(result, verification=f"{_NONE}: nobody waits for one")
    if ledger.sealed:  # somebody is still at work, perhaps on the record
        return replace(result, verification=f"{_NONE}: the run had to be cut short")
    return _Attempt(problem, result, ledger, options).run()


class _Attempt:
    """One attempt at a proof: what it may take, and what it took."""

    def __init__(self, problem: Problem, result: Result, ledger: Ledger, options: Options) -> None:
        self.problem, self.result, self.ledger, self.options = problem, result, ledger, options
        self.budget = max(LEAST_BUDGET, options.verify_budget * result.seconds)
        if options.verify is True:
            self.budget = math.inf
        self.making = math.inf if options.certificate else self.budget  # a certificate takes what it takes
        self.begin = ledger.seconds

    @property
    def took(self) -> float:
        return self.ledger.seconds - self.begin

    def run(self) -> Result:
        try:
            certificate, verdict = self._made()
        except Unproved as reason:
            none = "no certificate" if self.options.verify is False else _NONE
            return replace(self.result, verification=f"{none}: {reason}")
        made = f"proof made in {self.took - (verdict.seconds if verdict else 0.0):.3g} s"
        found = replace(self.result, certificate=certificate, verification=made)
        if self.options.verify is not False:
            found = self._judged(found, verdict)
        handed_out = self.options.certificate is not False and certificate.complete
        return found if handed_out else replace(found, certificate=None)

    def _judged(self, found: Result, verdict: Verdict | None) -> Result:
        """The result with the level that its certificate deserves; one that is rejected is not handed out."""
        made = found.verification
        try:
            verdict = self._checked(found) if verdict is None else verdict
        except Unproved as reason:
            return replace(found, verification=f"{made}, not verified: {reason}")
        if not verdict.verified:
            return replace(found, certificate=None, verification=f"{made}, not verified: {verdict.sentence}")
        judged = found.judged(verdict)
        said = f" and checked in {verdict.seconds:.3g} s"
        if judged.certificate_level != "verified":
            said = f", not verified: the proof reaches {verdict.bound:.10g} only"
        return replace(judged, verification=made + said)

    def _made(self) -> Made:
        self.ledger.phase = "making the proof"
        seconds = min(self.making, self.options.time_left(self.ledger.seconds))
        work = partial(
            make,
            self.problem,
            self.result,
            self.ledger.record,
            time_limit=seconds if math.isfinite(seconds) else None,
            threads=self.options.n_threads,
            should_stop=lambda: self.ledger.stop.raised,
        )
        found = self._within(seconds, work, "made")
        if self.ledger.stop.raised and found[1] is None:  # unchecked it may be the work of half a kernel
            raise Unproved(self._why("made"))
        return found

    def _checked(self, found: Result) -> Verdict:
        self.ledger.phase = "checking the proof"
        spent = 0.0 if self.options.certificate else self.took
        seconds = min(self.budget - spent, self.options.time_left(self.ledger.seconds))
        assert found.certificate is not None
        return self._within(seconds, partial(verify, found.certificate, self.problem), "checked")

    def _within(self, seconds: float, work: Callable[[], T], done: str) -> T:
        """The work, done in so many seconds; whatever else comes of it is a reason to have no proof."""
        stop = self.ledger.stop
        stop.lower(seconds)
        if seconds <= 0.0:
            stop.hoist(Termination.TIME)
            raise Unproved(self._why(done))
        try:
            with raising():
                found = attend(work, stop, self.options.time_left(0.0))
        except Unproved as reason:
            late = self.took >= 0.95 * self.making
            raise Unproved(f"{reason}; {self._over()}" if late else str(reason)) from None
        except (KeyboardInterrupt, Abandoned):
            raise Unproved(self._why(done)) from None
        except (ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
            raise Unproved(f"{type(error).__name__}: {error}") from None
        if stop.reason is Termination.INTERRUPTED:
            raise Unproved(self._why(done))
        return found

    def _why(self, done: str) -> str:
        """Why the work was stopped."""
        reason = self.ledger.stop.reason or Termination.INTERRUPTED
        if reason is Termination.TIME and self.options.time_left(self.ledger.seconds) > 0.0:
            return self._over()
        return f"{reason} while it was {done}"

    def _over(self) -> str:
        share = f"{100 * self.options.verify_budget:g} % of the solving time"
        return f"over its budget of {self.budget:.3g} s ({share}, at least a second)"
