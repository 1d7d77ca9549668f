"""The unit of work: one part, bounded until its gap is small enough. A pure function, for threads or other machines."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from certmix.auto import choose
from certmix.certificate.draft import Unproved
from certmix.certificate.parts import PartProof
from certmix.certificate.prove import prove_part
from certmix.concluding import build_result
from certmix.engines import Engine, engine
from certmix.errors import InfeasibleError
from certmix.ledger import Ledger, Observer
from certmix.options import PROOF_TIME, Options
from certmix.problem import Problem
from certmix.result import Result
from certmix.search.record import RunRecord
from certmix.state import State
from certmix.status import Termination, Tolerances
from certmix.stopping import Abandoned, Stop, attend, under

LEAST_BUDGET = 1.0  # seconds that a proof may take however short the search was
PROOF_SHARE = 0.5  # ... and of the seconds of the search
# What half a kernel may lead to.
CUT_SHORT = (ArithmeticError, LookupError, MemoryError, RuntimeError, ValueError)
LATE = 0.5  # share of the time that is kept for a proof in which the search may end by itself
GIVEN = 0.05  # share of an open gap that a proof may lose: with some slack it is much smaller


@dataclass(frozen=True)
class Unfinished:
    """What work on a part that hit a limit can go on from: the engine, where it stood, its best clustering."""

    engine: str
    state: State
    labels: np.ndarray | None

    @property
    def n_bytes(self) -> int:
        kept = (array for arrays in self.state.kept.values() for array in arrays.values())
        return sum(array.nbytes for array in (*self.state.arrays.values(), *kept))


@dataclass(frozen=True)
class PartAnswer:
    """What is known of a part after some work on it.

    Attributes
    ----------
    bound : what the objective of every clustering of the part is at least; infinite when it has none
    value : the objective of the best clustering known
    labels, means : that clustering, and where its clusters are; None when none is known
    seconds, nodes : what the work took
    why : why it ended
    proof : of the bound or a little less, if it was asked for and could be made
    unfinished : where a limit has struck, if the engine can go on
    """

    bound: float
    value: float
    labels: np.ndarray | None
    means: np.ndarray | None
    seconds: float
    nodes: int
    why: Termination
    proof: PartProof | None = None
    unfinished: Unfinished | None = None


@dataclass(frozen=True)
class PartTask:
    """What is asked of a part; it can be sent to another process and called there.

    Attributes
    ----------
    part : a problem of :class:`certmix.problem.restriction.Restriction`
    labels : a clustering to start from, if any
    gap : in nats, good enough
    seconds : for everything
    samples : of the whole problem, which these are; a proof is made if they are given
    keep : whether the proof is wanted, or only that it has been checked
    earlier : where work on the same part has ended before
    """

    part: Problem
    labels: np.ndarray | None
    gap: float
    seconds: float = math.inf
    node_limit: int | None = None
    seed: int = 0
    samples: np.ndarray | None = None
    keep: bool = False
    earlier: Unfinished | None = None

    def __call__(self, stop: Stop | None = None, observers: Sequence[Observer] = ()) -> PartAnswer:
        """Bound the part by the engine that ``auto`` would take for it, in one thread.

        Parameters
        ----------
        stop : a flag by which whoever started this can end it; what was proved until then counts
        observers : hear of every better bound at once
        """
        part, samples, earlier, seconds = self.part, self.samples, self.earlier, self.seconds
        stop = stop or Stop()
        end = min(stop.end, Stop(seconds).end)
        seconds *= 1.0 if samples is None else 1.0 - PROOF_TIME
        stop.end = min(end, Stop(seconds).end)
        ledger = Ledger(part, Tolerances(0.0, self.gap), observers, stop)
        options = Options(
            gap=0.0,
            absolute_gap=self.gap,
            time_limit=max(0.0, seconds) if math.isfinite(seconds) else None,
            node_limit=self.node_limit,
            threads=1,
            seed=self.seed,
            restarts=1,
            certificate=samples is not None,
        )
        runner = _engine_for(part, options) if earlier is None else engine(earlier.engine)
        if earlier is not None:
            ledger.resumed = earlier.state

        def run() -> Termination:
            for known in (self.labels, None if earlier is None else earlier.labels):
                if known is not None:
                    ledger.offer(known, "start")
            outcome = runner.run(part, ledger, options)
            if outcome.infeasible:
                ledger.raise_bound(math.inf)
            return outcome.termination

        try:
            kept = end - stop.end  # for the proof, of which nothing comes where the work is left alone
            why = attend(run, stop, seconds, LATE * kept if math.isfinite(kept) else 0.0)
        except InfeasibleError:
            ledger.raise_bound(math.inf)
            why = Termination.EXHAUSTED
        except Abandoned:
            ledger.seal()
            why = stop.reason or Termination.INTERRUPTED
        except MemoryError:
            why = Termination.MEMORY
        unfinished = _unfinished(runner, ledger, why)
        found = ledger.incumbent
        proof = None
        if samples is not None and _provable(ledger):
            result = build_result(
                part, ledger, engine=runner.name, termination=why, certificate_level="computed"
            )
            proof = _proved(samples, result, ledger, self.keep, end)
        return PartAnswer(
            ledger.bound,
            ledger.upper,
            None if found is None else found.labels,
            None if found is None else found.means,
            ledger.seconds,
            ledger.nodes,
            why,
            proof,
            unfinished,
        )


def _unfinished(runner: Engine, ledger: Ledger, why: Termination) -> Unfinished | None:
    """What can be gone on from, unless somebody is still at work on it."""
    if why not in (Termination.TIME, Termination.NODES) or ledger.sealed or ledger.resumable is None:
        return None
    found, state = ledger.incumbent, ledger.resumable.state().in_memory()
    return Unfinished(runner.name, state, None if found is None else found.labels)


def _provable(ledger: Ledger) -> bool:
    """Whether a proof is wanted, there is something to prove, and nobody is still at work on the record."""
    wanted = ledger.stop.reason is not Termination.INTERRUPTED and not ledger.sealed
    return wanted and math.isfinite(ledger.upper) and math.isfinite(ledger.bound)


def _proved(samples: np.ndarray, result: Result, ledger: Ledger, keep: bool, end: float) -> PartProof | None:
    """A proof of the bound; or of what the root proved, where the tree is too large to be proved again."""
    budget, stop = max(LEAST_BUDGET, PROOF_SHARE * ledger.seconds), ledger.stop
    for bound in _targets(result, ledger):
        seconds = min(budget, end - time.perf_counter())
        if seconds <= 0.0 or stop.reason is Termination.INTERRUPTED:
            break
        stop.lower(seconds)
        alarm = threading.Timer(min(seconds, threading.TIMEOUT_MAX), stop.hoist, [Termination.TIME])
        alarm.daemon = True
        alarm.start()
        try:
            with under(stop):
                return prove_part(
                    samples,
                    ledger.problem,
                    replace(result, lower_bound=bound),
                    ledger.record,
                    keep=keep,
                    time_limit=seconds,
                    should_stop=lambda: stop.raised,
                )
        except (Unproved, *CUT_SHORT):
            continue
        finally:
            alarm.cancel()
    return None


def _targets(result: Result, ledger: Ledger) -> list[float]:
    """What is worth proving, the best first."""
    if ledger.closed:
        return [result.lower_bound]
    replayed = not isinstance(ledger.record, RunRecord)  # such a record proves what it has proved
    given = 0.0 if replayed else GIVEN * (result.objective - result.lower_bound)
    targets = [result.lower_bound - given]
    if not replayed and ledger.record.root < targets[0]:
        targets.append(ledger.record.root - given)
    return [target for target in targets if math.isfinite(target)]


def _engine_for(part: Problem, options: Options) -> Engine:
    """What ``auto`` takes, or ``dual`` where that would prove nothing."""
    found = engine(choose(part, options, partition=False)[0])
    return found if found.certified else engine("dual")
