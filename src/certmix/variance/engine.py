"""The engine for an unknown variance, around any engine for a known one."""

from __future__ import annotations

from certmix.engines import Engine, Outcome
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.problem import Problem
from certmix.problem.features import Feature


class UnknownVariance:
    """Solves a problem with an unknown variance by an engine for known ones, which gives it its name."""

    honours = frozenset(Feature)

    def __init__(self, inner: Engine) -> None:
        self.inner = inner
        self.name, self.certified = inner.name, inner.certified
        self.attested = getattr(inner, "attested", False)

    def refusal(self, problem: Problem) -> str | None:
        return None if problem.covariance.unknown else "the variance is known"

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        # Known variances need nothing of these, SciPy least of all.
        from certmix.variance.diagonal import DiagonalRun
        from certmix.variance.inner import Around
        from certmix.variance.run import VarianceRun

        kind = DiagonalRun if problem.covariance.per_feature else VarianceRun
        run: Around = ledger.kept or kind(problem, self.inner)
        run.take_up(ledger, options)
        if not self.certified:
            reason = run.locally()
            return Outcome(reason, certificate_level="none")
        reason = run.run()
        ledger.record = getattr(run, "solved", None)
        infeasible = run.infeasible and ledger.incumbent is None
        return Outcome(reason, infeasible=infeasible, certificate_level=ledger.certificate_level)
