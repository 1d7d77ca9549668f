"""The branch-and-bound loop. One loop serves every bound; whatever is not bookkeeping lives beside it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from certmix.ledger import Ledger
from certmix.options import Options
from certmix.search.bounds.base import Bound, Explored
from certmix.search.frontier import Frontier
from certmix.search.stopping import stop_reason
from certmix.status import Termination

SECONDS_PER_BATCH = 0.5
LARGEST_BATCH = 512

Heuristic = Callable[[Explored, Ledger], None]


def search(bound: Bound, ledger: Ledger, options: Options, heuristic: Heuristic | None = None) -> Termination:
    """Branch and bound until the gap is reached, a limit strikes or nothing is open.

    The global bound is the smallest of the open nodes' bounds and of the closed leaves' bounds: a leaf that was pruned
    stays in the account (:class:`Leaves`). The ledger sees every bound that is proved, so an interruption loses nothing.

    Batches grow with the number of explored nodes only, never with the clock, so that the same seed and node limit give
    the same answer.
    """
    frontier = Frontier(bound.root())
    leaves = Leaves()
    batch = 1
    shown = time.perf_counter()
    while True:
        ledger.open_nodes = len(frontier)
        ledger.raise_bound(min(frontier.bound, leaves.bound))
        reason = stop_reason(ledger, options)
        if reason is not None:
            return reason
        if len(frontier) == 0:
            return Termination.EXHAUSTED
        if time.perf_counter() - shown > 1.0:
            ledger.progress()
            shown = time.perf_counter()
        cutoff = ledger.cutoff
        limit = batch if options.node_limit is None else min(batch, options.node_limit - ledger.nodes)
        nodes = frontier.pop(limit)
        worth = nodes.bound < cutoff
        leaves.close(nodes.bound[~worth])
        nodes = nodes.take(worth)
        if len(nodes) == 0:
            continue
        try:
            explored = bound.explore(nodes, cutoff)
        except KeyboardInterrupt:
            frontier.push(nodes)  # their bounds stay in the account
            raise
        ledger.nodes += len(nodes)
        for labels in explored.clusterings:
            ledger.offer(labels, "leaf")
        if heuristic is not None:
            heuristic(explored, ledger)
        still = explored.open & (explored.nodes.bound < ledger.cutoff)
        # What was cut away inside a node was compared with the cutoff, so no more than that is proved of a leaf.
        leaves.close(explored.nodes.bound[~still].clip(max=cutoff))
        frontier.push(bound.branch(Explored(explored.nodes.take(still), explored.open[still])))
        batch = min(LARGEST_BATCH, max(batch, ledger.nodes // 4))


class Leaves:
    """The smallest bound of a closed leaf."""

    def __init__(self) -> None:
        self.bound = math.inf

    def close(self, bounds: object) -> None:
        """Take leaves into the account."""
        for value in bounds:  # type: ignore[attr-defined]
            self.bound = min(self.bound, float(value))
