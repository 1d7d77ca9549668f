"""The engine for soft links, around any engine for links that have to hold."""

from __future__ import annotations

from certmix.engines import Engine, Outcome
from certmix.ledger import Ledger
from certmix.options import PROOF_TIME, Options
from certmix.problem import Problem
from certmix.problem.features import Feature
from certmix.status import Termination


class SoftLinks:
    """Solves a problem with soft links by an engine that does not know them, which gives it its name."""

    honours = frozenset(Feature)

    def __init__(self, inner: Engine) -> None:
        self.inner = inner
        self.name, self.certified = inner.name, inner.certified
        self.attested = getattr(inner, "attested", False)
        self.proof_time = getattr(inner, "proof_time", PROOF_TIME)

    def refusal(self, problem: Problem) -> str | None:
        return None if problem.rules.soft else "there are no soft links"

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        # Problems without soft links need nothing of these.
        from certmix.softlinks.run import SoftRun

        run = SoftRun(problem, ledger, options, self.inner)
        if not self.certified:
            return Outcome(run.locally(), certificate_level="none")
        reason = run.run()
        ledger.record = run.record
        infeasible = run.infeasible and reason is Termination.EXHAUSTED
        return Outcome(reason, infeasible=infeasible, certificate_level=ledger.certificate_level)
