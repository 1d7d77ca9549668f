r"""What every better clustering has in common: samples that are together in all of them become one.

With bounds LB_t of the parts and an incumbent of value UB, a clustering z that is better than it has, in every part,

    F_t(z)  <=  F(z) - sum_{s != t} F_s(z)  <  UB - sum_{s != t} LB_s  =  LB_t + Delta,     Delta = UB - sum_s LB_s.

So what costs LB_t + Delta or more in a part is in no better clustering. The semidefinite bound excludes such things by
reduced costs, with no exchange argument: those are about optimal clusterings of a part, and z is none. Samples that are
in one component wherever the bound leaves anything are together in every better clustering, whatever the components are
called. With these links the whole has no other better clusterings, and many fewer groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from certmix.engines import Outcome, engine, why_not
from certmix.ledger import Ledger, Progress
from certmix.observers.base import Silent
from certmix.presolve.instance import reduce
from certmix.problem import MustLink, Problem
from certmix.rounding import EPS
from certmix.search.bounds.semidefinite.bound import SemidefiniteBound, region_of
from certmix.search.bounds.semidefinite.record import NO_RECORD, Recorder
from certmix.status import Termination
from certmix.stopping import Stop, attempt
from certmix.threads import Threads

MOST_GROUPS = 600  # of a part: with more its matrices take too long
WORTH = 0.7  # share of the groups that may be left
MARGIN = 1e-9  # relatively, more than the roundings of an objective


def cutoffs(bounds: np.ndarray, upper: float) -> np.ndarray:
    """What a part has to cost less than in a clustering that is better than ``upper``."""
    lacking = upper - math.fsum(bounds) + MARGIN * max(1.0, abs(upper))
    return bounds + lacking + 4.0 * EPS * np.abs(bounds)


@dataclass(frozen=True)
class TogetherTask:
    """Asks which samples of a part are together in all that costs less than a cutoff; it can be sent elsewhere."""

    part: Problem
    labels: np.ndarray
    cutoff: float
    seconds: float = math.inf

    def __call__(self, stop: Stop | None = None, recorder: Recorder = NO_RECORD) -> np.ndarray:
        """A number for every sample: equal ones are together. All differ where nothing is known."""
        stop, part, found = stop or Stop(), self.part, None
        stop.end = min(stop.end, Stop(self.seconds).end)

        def work() -> np.ndarray:
            return together(part, self.labels, self.cutoff, stop, recorder)

        if not part.covariance.unknown and why_not(engine("sdp"), part) is None:
            found = attempt(work, stop, self.seconds)
        return np.arange(part.n_samples) if found is None else found


def together(
    part: Problem, labels: np.ndarray, cutoff: float, stop: Stop, recorder: Recorder = NO_RECORD
) -> np.ndarray:
    """The same, by the roots of the semidefinite bound: every clustering is in one of them.

    ``recorder`` has the proof then: in every node that it leaves open, what is said to be together is.
    """
    instance = reduce(part)
    if instance.n_groups > MOST_GROUPS:
        return np.arange(part.n_samples)
    bound = SemidefiniteBound(instance, labels, should_stop=lambda: stop.raised, recorder=recorder)
    left = []
    with threadpool_limits(1):  # many small matrices: threads would only get in each other's way
        nodes = bound.root()
        for i in range(len(nodes)):
            region = region_of(nodes, i).copy()
            record = int(nodes["record"][i])
            note, start = recorder.begin(record), nodes["warm"][i]
            visited = bound.visit(region, start, -math.inf, cutoff, Threads(1), i, note)
            if not visited.open:
                recorder.settled(record)
            if visited.bound < cutoff:
                left.append(visited.region.decided())
    return common(left, instance.n_groups)[instance.groups.of]


def common(left: list[np.ndarray], n_groups: int) -> np.ndarray:
    """A number for every group: equal ones have one component, whichever that is, in all that is left.

    ``left`` has the component of every group in each of several regions, -1 where it is open.
    """
    columns = [np.where(where >= 0, where, -1 - np.arange(n_groups)) for where in left]
    rows = np.stack([*columns, np.zeros(n_groups, dtype=np.int64)], axis=1)
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def linked(problem: Problem, parts: list[tuple[np.ndarray, np.ndarray]]) -> Problem:
    """The problem with links: ``parts`` are samples and numbers, of which equal ones are together."""
    links, ref = [], problem.samples.ref
    for samples, numbers in parts:
        first, of = np.unique(numbers, return_index=True, return_inverse=True)[1:]
        here = samples[first[of.ravel()]]
        pairs = [(ref(int(i)), ref(int(j))) for i, j in zip(here, samples, strict=True)]
        links += [MustLink(i, j) for i, j in pairs if i != j]
    return problem.replace(constraints=[*problem.given_constraints, *links])


class Bridge(Silent):
    """Tells a run's ledger what is found and proved of the problem with links.

    What the links exclude costs ``upper`` or more, so no more than that is proved of the whole.
    """

    def __init__(self, ledger: Ledger, smaller: Ledger) -> None:
        self.ledger, self.smaller, self.upper = ledger, smaller, ledger.upper
        smaller.observers = (self,)

    def message(self, text: str) -> None:
        self.ledger.message(text)

    def progressed(self, progress: Progress) -> None:
        found, self.ledger.phase = self.smaller.incumbent, progress.phase
        self.ledger.open_nodes = progress.open_nodes
        if found is not None and found.value < self.ledger.upper:
            self.ledger.offer(found.labels, progress.source or "parts")
        # The smaller ledger takes no bound once the flag is up.
        self.ledger.raise_bound(min(self.upper, progress.bound), whole=True)

    def ended(self, outcome: Outcome) -> Outcome:
        """What the end of the smaller run says of the whole."""
        self.ledger.nodes += self.smaller.nodes
        self.smaller.progress()
        if outcome.infeasible:  # nothing is better than the incumbent
            self.ledger.raise_bound(self.upper)
        return Outcome(Termination.GAP if self.ledger.closed else outcome.termination)
