"""The engine for many samples: a partition of them, a bound for every part, and their sum."""

from __future__ import annotations

import math
from dataclasses import replace

from threadpoolctl import threadpool_limits

from certmix.auto import choose
from certmix.cluster import SchedulerLost, opened
from certmix.engines import Outcome, engine
from certmix.errors import InfeasibleError
from certmix.ledger import Ledger
from certmix.options import PROOF_TIME, Options
from certmix.parts.contraction import Bridge
from certmix.parts.processes import started
from certmix.parts.resumed import is_of_parts
from certmix.parts.run import PartsRun
from certmix.parts.sizes import sizes_for
from certmix.presolve.instance import reduce
from certmix.problem import Problem
from certmix.problem.features import EVERY_FEATURE
from certmix.problem.restriction import partition_refusal
from certmix.search.engines import first_incumbent, reduced
from certmix.state import State
from certmix.status import Termination

WORTH_PROCESSES = 1000  # groups: with fewer, processes would hardly be started before the work is done


class PartsEngine:
    """Bounds of the parts of a partition, which add up to one on the whole; for many samples in any dimension."""

    name = "parts"
    certified = True
    honours = EVERY_FEATURE
    proof_time = 0.02  # share of the time limit: parts are proved one by one, and at the end put together

    def refusal(self, problem: Problem) -> str | None:
        return partition_refusal(problem)

    def run(self, problem: Problem, ledger: Ledger, options: Options) -> Outcome:
        if ledger.resumed and not is_of_parts(ledger.resumed):
            return _whole(problem, ledger, options, ledger.resumed)  # an earlier run had come so far
        instance = reduced(problem, ledger)
        if instance.n_groups <= options.part_size if options.part_size else not sizes_for(instance):
            return _whole(problem, ledger, options)
        count = options.n_threads if instance.n_groups >= WORTH_PROCESSES and not options.distributed else 1
        with opened(options) as cluster, started(count) as processes:
            first_incumbent(instance, ledger, options)
            work = PartsRun(instance, ledger, options, cluster, processes)
            try:
                # Parts run side by side; threads inside the linear algebra would get in each other's way.
                with threadpool_limits(1):
                    reason = work.run()
            except SchedulerLost as error:
                ledger.message(f"stopped: {error}")
                reason = Termination.INTERRUPTED
        if reason is None:
            return (
                _whole(problem, ledger, options)
                if work.contracted is None
                else _smaller(work.contracted, ledger, options)
            )
        return Outcome(reason, infeasible=ledger.bound == math.inf and ledger.incumbent is None)


def _smaller(problem: Problem, ledger: Ledger, options: Options) -> Outcome:
    """The problem with links that every clustering better than the incumbent has."""
    left, used = options.time_left(ledger.seconds), ledger.nodes
    options = replace(
        options,
        certificate=False,
        start=None,
        restarts=1,
        time_limit=None if math.isinf(left) else max(0.0, left),
        node_limit=None if options.node_limit is None else max(0, options.node_limit - used),
    )
    smaller = Ledger(problem, ledger.tolerances, stop=ledger.stop)
    bridge = Bridge(ledger, smaller)
    if ledger.incumbent is not None:
        smaller.offer(ledger.incumbent.labels, "start")
    smaller.raise_bound(ledger.bound, whole=True)
    try:
        ledger.message(
            f"every better clustering has samples together that make {reduce(problem).n_groups:,} groups of "
            f"{problem.n_samples:,} samples; from here on the bound is computed, and no certificate holds it"
        )
        return bridge.ended(PartsEngine().run(problem, smaller, options))
    except InfeasibleError:
        return bridge.ended(Outcome(Termination.EXHAUSTED, infeasible=True))


def _whole(problem: Problem, ledger: Ledger, options: Options, resumed: State | None = None) -> Outcome:
    """One part would be everything: then there are no parts."""
    name, reason = choose(problem, options, partition=False)
    found = engine(name)
    found = found if found.certified else engine("dual")
    ledger.message(f"all samples fit into one part: engine {found.name}, because {reason}")
    if options.certificate:
        options = options.with_time_for_proof(PROOF_TIME, ledger.seconds)
    proofs, bound, ledger.record = ledger.record, ledger.bound, None
    ledger.resumed = resumed or State()  # that of parts is of no use
    outcome = found.run(problem, ledger, options)
    if proofs and ledger.bound == bound:  # the parts have proved more
        ledger.record = proofs
    return outcome
