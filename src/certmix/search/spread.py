"""A search whose open nodes are explored by other processes or machines.

A task is an open node with the incumbent and a budget. The worker goes on from it as a run that is resumed would, and
sends back what it has not settled. Until then the node counts as open here, so a task that is lost is only one that has
to be done again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from certmix.cluster import Cluster, SchedulerLost
from certmix.engines import engine
from certmix.ledger import Ledger
from certmix.options import Options
from certmix.problem import Problem
from certmix.search.loop import Search
from certmix.search.stopping import stop_reason
from certmix.state import State
from certmix.status import Termination, Tolerances

BUDGET = 8  # nodes that a task explores
SECONDS = 30.0  # after which it explores no more
ENOUGH = 2  # open nodes for each worker, before which the driver explores alone


@dataclass(frozen=True)
class NodesAnswer:
    """The nodes that are open now, with the account of those that are not, and the best clustering."""

    nodes: State
    labels: np.ndarray | None
    explored: int


@dataclass(frozen=True)
class NodesTask:
    """An open node to go on from. It can be sent to another process and called there, with the problem."""

    engine: str
    node: State
    labels: np.ndarray | None
    tolerances: Tolerances
    seconds: float
    seed: int

    def __call__(self, problem: Problem) -> NodesAnswer:
        ledger = Ledger(problem, self.tolerances)
        if self.labels is not None:
            ledger.offer(self.labels, "start")
        ledger.resumed = self.node
        options = Options(
            gap=self.tolerances.relative,
            absolute_gap=self.tolerances.absolute,
            time_limit=self.seconds,
            node_limit=BUDGET,
            threads=1,
            seed=self.seed,
            restarts=1,
        )
        engine(self.engine).run(problem, ledger, options)
        assert ledger.resumable is not None
        found = ledger.incumbent
        return NodesAnswer(ledger.resumable.state(), None if found is None else found.labels, ledger.nodes)


class Spread:
    """Runs a search on a cluster; ``engine`` is the one that goes on from a state of the search.

    The search's own process explores until there are nodes for all workers.
    """

    def __init__(self, search: Search, engine: str, cluster: Cluster) -> None:
        self.search, self.engine, self.cluster = search, engine, cluster
        self.ledger, self.options = search.ledger, search.options
        self._number = 0  # of the next task
        self._idle = False  # a worker found nothing to do in a node: nobody would ever settle it

    def finish(self) -> Termination:
        """Search to the end."""
        while not self._idle:
            enough = ENOUGH * self.cluster.count
            reason = self.search.run(pause=lambda: len(self.search.frontier) >= enough)  # noqa: B023
            if reason is not None:
                return reason
            self._number = 0
            try:
                for number, answer in self.cluster.side_by_side(self, self._over, self.ledger.problem):
                    self._take_in(number, answer)
            finally:
                self.search.take_back()
        return self.search.finish()

    def __iter__(self) -> Iterator[NodesTask]:
        """Tasks for as long as there are open nodes; it may be asked again when there were none."""
        return self

    def __next__(self) -> NodesTask:
        node = None if self._idle else self.search.hand_out(self._number)
        if node is None:
            raise StopIteration
        self._number += 1
        found = self.ledger.incumbent
        return NodesTask(
            self.engine,
            node,
            None if found is None else found.labels,
            self.ledger.tolerances,
            min(SECONDS, max(0.0, self.options.time_left(self.ledger.seconds))),
            self.options.seed,
        )

    def _take_in(self, number: int, answer: NodesAnswer) -> None:
        if answer.labels is not None:
            self.ledger.offer(answer.labels, "tree")
        self.search.take_in(number, answer.nodes)
        self.ledger.nodes += answer.explored
        self._idle = self._idle or (answer.explored == 0 and self.ledger.stop.left > 0.0)

    def _over(self) -> bool:
        self.ledger.open_nodes = len(self.search.frontier) + len(self.search.frontier.handed_out)
        self.ledger.raise_bound(self.search.proved)
        return stop_reason(self.ledger, self.options) is not None


def finish_on(search: Search, engine: str, cluster: Cluster | None) -> Termination:
    """Search to the end, by the workers of a cluster where there is one; what is known counts if it is lost."""
    if cluster is None:
        return search.finish()
    try:
        return Spread(search, engine, cluster).finish()
    except SchedulerLost as error:
        search.ledger.message(f"stopped: {error}")
        return Termination.INTERRUPTED
