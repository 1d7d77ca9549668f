"""The branch-and-bound loop. One loop serves every bound; whatever is not bookkeeping lives beside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from certmix.ledger import Ledger
from certmix.options import Options
from certmix.search.bounds.base import Bound, Explored, PackingBound
from certmix.search.frontier import OPEN_BYTES, Frontier
from certmix.search.nodes import Nodes
from certmix.search.stopping import stop_reason
from certmix.status import Termination

LARGEST_BATCH = 512
DIVING_BATCH = 64

Heuristic = Callable[[Explored, int, Ledger], None]


class Search:
    """A branch-and-bound search that can be run, paused and run again.

    The global bound is the smallest of the open nodes' bounds and of the closed leaves' bounds: a leaf that was pruned
    stays in the account. The ledger sees every bound that is proved, so an interruption loses nothing.

    Batches grow with the number of explored nodes only, never with the clock, so that the same seed and node limit give
    the same answer. So does the choice of nodes: the best ones, unless the open nodes have filled the memory they may
    have; then those with the largest bounds are settled first. Whatever is below the cutoff has to be explored anyway,
    so a search that ends is no longer for it; one that is stopped before has the weaker bound.
    """

    def __init__(
        self,
        bound: Bound,
        ledger: Ledger,
        options: Options,
        heuristic: Heuristic | None = None,
        largest_batch: int = LARGEST_BATCH,
        open_bytes: float = OPEN_BYTES,
    ) -> None:
        self.bound = bound
        self.heuristic = heuristic
        self.ledger = ledger
        self.options = options
        self.frontier = Frontier(
            bound.root(), bound if isinstance(bound, PackingBound) else None, most_bytes=open_bytes
        )
        self.largest_batch = max(1, min(largest_batch, int(open_bytes / self.frontier.row_bytes)))
        self._pruned = math.inf  # the cutoff when open nodes were last compared with it
        self.leaves = math.inf  # smallest bound of a closed leaf
        self.nodes = 0

    def run(self, pause: Callable[[], bool] = lambda: False) -> Termination | None:
        """Search until the gap is reached, a limit strikes or nothing is open; None when paused before that."""
        while True:
            self.ledger.open_nodes = len(self.frontier)
            self.ledger.raise_bound(self.proved)
            reason = stop_reason(self.ledger, self.options)
            if reason is not None:
                return reason
            if len(self.frontier) == 0:
                return Termination.EXHAUSTED
            if pause():
                return None
            self.step()

    def finish(self) -> Termination:
        """Search to the end."""
        reason = self.run()
        assert reason is not None
        return reason

    @property
    def proved(self) -> float:
        """The bound of the whole tree."""
        return min(self.frontier.bound, self.leaves)

    def step(self) -> None:
        """One batch: bound it, offer what came up, close what is settled, branch on the rest."""
        ledger, cutoff = self.ledger, self.ledger.cutoff
        if cutoff < self._pruned:
            self._close(self.frontier.prune(cutoff))
            self._pruned = cutoff
        nodes = self._chosen()
        worth = nodes.bound < cutoff
        self._close(nodes.bound[~worth])
        nodes = nodes.take(worth)
        if len(nodes) == 0:
            return
        against = cutoff if self.bound.reaches else ledger.tolerances.exclusion(ledger.upper)
        try:
            explored = self.bound.explore(nodes, against)
        except KeyboardInterrupt:
            self.frontier.push(nodes)  # their bounds stay in the account
            raise
        ledger.nodes += len(nodes)
        self.nodes += len(nodes)
        for labels in explored.clusterings:
            ledger.offer(labels, "tree")
        if self.heuristic is not None:
            self.heuristic(explored, self.nodes, ledger)
        still = explored.open & (explored.nodes.bound < ledger.cutoff)
        # What was cut away inside a node was compared with this number, so no more than that is proved of a leaf.
        self._close(explored.nodes.bound[~still].clip(max=against))
        self.frontier.push(self.bound.branch(Explored(explored.nodes.take(still), explored.open[still])))
        ledger.tick()

    def _chosen(self) -> Nodes:
        if self.frontier.full:
            return self.frontier.pop(min(self._batch(), DIVING_BATCH), best=False)
        return self.frontier.pop(self._batch())

    def _batch(self) -> int:
        size = min(self.largest_batch, max(1, self.nodes // 4))
        limit = self.options.node_limit
        return size if limit is None else min(size, max(1, limit - self.ledger.nodes))

    def _close(self, bounds: Iterable[float]) -> None:
        for value in bounds:
            if math.isnan(value):  # it would drop out of the minimum and leave a hole in the proof
                raise AssertionError("the bound of a leaf is not a number")
            self.leaves = min(self.leaves, float(value))


def search(
    bound: Bound,
    ledger: Ledger,
    options: Options,
    heuristic: Heuristic | None = None,
    largest_batch: int = LARGEST_BATCH,
    open_bytes: float = OPEN_BYTES,
) -> Termination:
    """Search to the end."""
    return Search(bound, ledger, options, heuristic, largest_batch, open_bytes).finish()
