"""The semidefinite engine: for many dimensions."""

from __future__ import annotations

from threadpoolctl import threadpool_limits

from certmix.cluster import opened
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.presolve.groups import group_samples
from certmix.presolve.instance import Instance
from certmix.problem import Problem
from certmix.problem.features import EVERY_FEATURE, MASSES, Feature
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound
from certmix.search.bounds.semidefinite.record import NO_RECORD, Recorder
from certmix.search.engines import SearchEngine, first_incumbent
from certmix.search.loop import Search
from certmix.search.spread import finish_on
from certmix.search.stopping import stop_reason
from certmix.status import Termination
from certmix.threads import Threads

MOST_SAMPLES = 3000  # must-linked ones counted once
MOST_LINKED = 20_000  # its tables of sizes are made for every one


class SemidefiniteEngine(SearchEngine):
    """Semidefinite relaxation over intervals of sizes with cuts, reduced-cost fixing and branching; any dimension."""

    name = "sdp"
    honours = EVERY_FEATURE - {Feature.MEAN_BOX} - MASSES

    def refusal(self, problem: Problem) -> str | None:
        if problem.n_samples > MOST_SAMPLES and len(group_samples(problem).weight) > MOST_SAMPLES:
            return f"it takes at most {MOST_SAMPLES:,} samples"
        if problem.n_samples > MOST_LINKED:
            return f"it takes at most {MOST_LINKED:,} samples, however they are linked"
        return None

    def searched(self, instance: Instance, ledger: Ledger, options: Options) -> Termination:
        first_incumbent(instance, ledger, options)
        labels = None if ledger.incumbent is None else ledger.incumbent.labels
        # Workers send no record of what they did: the proof is then made anew, where one can be made.
        ledger.record = Recorder() if options.certificate and not options.distributed else None
        # Blocks and nodes run side by side; threads inside the linear algebra would only get in each other's way.
        ledger.phase = "semidefinite relaxation"
        with Threads(options.n_threads) as threads, threadpool_limits(1), opened(options) as cluster:
            bound = SemidefiniteBound(
                instance,
                labels,
                threads=threads,
                should_stop=lambda: stop_reason(ledger, options) is not None,
                on_root_bound=ledger.raise_bound,
                recorder=ledger.record or NO_RECORD,
            )
            running = Search(bound, ledger, options, largest_batch=options.n_threads, state=ledger.resumed)
            ledger.resumable = running
            if bound.recorder is NO_RECORD:  # for the earlier run kept none
                ledger.record = None
            return finish_on(running, self.name, cluster)
