"""Hard EM as an engine: finds clusterings under every feature of a problem, proves nothing."""

from __future__ import annotations

import numpy as np

from certmix.engines import Outcome
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.problem import Problem
from certmix.problem.features import EVERY_FEATURE, Feature
from certmix.status import Termination


class HardEMEngine:
    """Hard EM with exact assignment steps, local search and restarts."""

    name = "hard-em"
    certified = False
    honours: frozenset[Feature] = EVERY_FEATURE

    def refusal(self, problem: Problem) -> str | None:
        return None

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        from certmix.local.hard_em import hard_em
        from certmix.presolve.instance import reduce

        instance = reduce(problem)

        def offer(labels: np.ndarray, _: float) -> None:
            ledger.offer(instance.expand(labels), "hard EM")

        left = options.time_left(ledger.seconds)
        found = hard_em(
            instance,
            restarts=options.restarts,
            seed=options.seed,
            time_limit=max(0.0, left) if np.isfinite(left) else None,
            start=options.start,
            callback=offer,
            heartbeat=ledger.progress,
        )
        complete = found is None or found.complete
        return Outcome(Termination.CONVERGED if complete else Termination.TIME, certificate_level="none")
