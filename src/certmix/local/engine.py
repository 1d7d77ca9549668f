"""The local methods as engines: they find clusterings and prove nothing."""

from __future__ import annotations

import math
from typing import Any

from certmix.engines import Outcome
from certmix.ledger import Ledger
from certmix.local.em import em
from certmix.local.kmeans import kmeans
from certmix.local.solution import LocalSolution
from certmix.options import Options
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.problem.features import EVERY_FEATURE, MASSES, Feature
from certmix.status import Termination


class LocalMethod:
    """Runs a method once for every restart and offers its rounded labels."""

    name = ""
    source = ""
    certified = False
    honours: frozenset[Feature] = EVERY_FEATURE - {Feature.NOISE} - MASSES
    """Everything: what a method cannot honour while it iterates, the exact rounding does in the end."""

    def refusal(self, problem: Problem) -> str | None:
        return None

    def method(self, problem: Problem, **arguments: Any) -> LocalSolution:
        raise NotImplementedError

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        late = False
        for r in range(options.restarts or 1):
            left = options.time_left(ledger.seconds)
            if r and left <= 0:
                late = True
                break
            solution = self.method(
                problem,
                seed=options.seed + r,
                start=options.start if r == 0 else None,
                time_limit=None if math.isinf(left) else max(left, 0.0),
            )
            if r == 0:
                for note in solution.notes:
                    ledger.message(note)
            ledger.nodes += solution.iterations
            if solution.labels is not None:
                ledger.offer(solution.labels, self.source)
            late = late or (not solution.converged and options.time_left(ledger.seconds) <= 0)
        return Outcome(Termination.TIME if late else Termination.CONVERGED, certificate_level="none")


class KMeansStart(LocalMethod):
    """K-means in whitened coordinates; iterates too briefly to need a time limit."""

    name, source = "kmeans", "k-means"

    def method(self, problem: Problem, *, time_limit: float | None = None, **arguments: Any) -> LocalSolution:
        return kmeans(problem, **arguments)


class SoftEM(LocalMethod):
    """Expectation maximisation with known covariance, from a k-means start."""

    name, source = "em", "EM"

    def method(self, problem: Problem, **arguments: Any) -> LocalSolution:
        return em(problem, **arguments)


class HardEMEngine(LocalMethod):
    """Hard EM with exact assignment steps, local search and restarts."""

    name = "hard-em"
    honours = EVERY_FEATURE

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        from certmix.local.hard_em import offered  # compiled: other methods need not load it

        given = {"start": options.start, "heartbeat": ledger.progress}
        found = offered(reduce(problem), ledger, options, **given)
        complete = found is None or found.complete
        return Outcome(Termination.CONVERGED if complete else Termination.TIME, certificate_level="none")
