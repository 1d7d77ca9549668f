"""The certified engines: a bound, a first incumbent, and the one loop."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from certmix.engines import Outcome
from certmix.ledger import Ledger
from certmix.local.hard_em import hard_em
from certmix.options import Options
from certmix.presolve.instance import Instance, reduce
from certmix.problem import Problem
from certmix.problem.features import EVERY_FEATURE
from certmix.search.bounds.dual import DualBound
from certmix.search.bounds.interval import MOST_COMPONENTS, IntervalBound
from certmix.search.loop import search
from certmix.search.stopping import stop_reason
from certmix.search.threads import Threads
from certmix.status import Termination

PROBE_NODES = 500
PROBE_WORK = 2e7  # nodes times groups times components times dimensions


class IntervalEngine:
    """Branch and bound over boxes of means and intervals of sizes; for few components in few dimensions."""

    name = "interval"
    certified = True
    honours = EVERY_FEATURE

    def refusal(self, problem: Problem) -> str | None:
        if problem.n_components > MOST_COMPONENTS:
            return f"it takes at most {MOST_COMPONENTS} components"
        return None

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        instance = reduce(problem)
        first_incumbent(instance, ledger, options)
        with Threads(options.n_threads) as threads:
            reason = search(IntervalBound(instance, threads), ledger, options)
        return Outcome(reason, infeasible=reason is Termination.EXHAUSTED and ledger.incumbent is None)


class DualEngine:
    """Lagrangian bound with exact pricing, branching where the root leaves a gap; for up to four or five dimensions."""

    name = "dual"
    certified = True
    honours = EVERY_FEATURE

    def refusal(self, problem: Problem) -> str | None:
        return IntervalEngine().refusal(problem)

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        instance = reduce(problem)
        first_incumbent(instance, ledger, options)
        with Threads(options.n_threads) as threads:
            reason = self._probe(instance, threads, ledger, options)
            if reason in (Termination.NODES, None) and ledger.incumbent is not None:
                bound = DualBound(
                    instance,
                    ledger.incumbent.labels,
                    allowed=ledger.tolerances.allowed(ledger.upper),
                    seed=options.seed,
                    threads=threads,
                    should_stop=lambda: stop_reason(ledger, options) is not None,
                    on_root_bound=ledger.raise_bound,
                )
                reason = search(bound, ledger, options)
            elif reason in (Termination.NODES, None):
                reason = search(IntervalBound(instance, threads), ledger, options)
        return Outcome(reason, infeasible=reason is Termination.EXHAUSTED and ledger.incumbent is None)

    def _probe(
        self, instance: Instance, threads: Threads, ledger: Ledger, options: Options
    ) -> Termination | None:
        """A short interval search first: it closes the easy instances before the dual has warmed up."""
        work = instance.n_groups * instance.n_components * instance.n_features
        nodes = int(min(PROBE_NODES, PROBE_WORK / work))
        if nodes < 50:
            return None
        if options.node_limit is not None and options.node_limit <= nodes:
            return search(IntervalBound(instance, threads), ledger, options)
        limited = replace(options, node_limit=ledger.nodes + nodes)
        return search(IntervalBound(instance, threads), ledger, limited)


def first_incumbent(instance: Instance, ledger: Ledger, options: Options) -> None:
    """A good clustering before the proof begins."""

    def offer(labels: np.ndarray, value: float) -> None:
        ledger.offer(instance.expand(labels), "hard EM")

    start = None if ledger.incumbent is None else ledger.incumbent.labels
    left = options.time_left(ledger.seconds)
    hard_em(
        instance,
        restarts=options.restarts,
        seed=options.seed,
        time_limit=None if math.isinf(left) else max(0.0, 0.5 * left),
        start=start,
        callback=offer,
    )
