"""The branch-and-bound loop. One loop serves every bound; whatever is not bookkeeping lives beside it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from certmix.ledger import Ledger
from certmix.options import Options
from certmix.search.bounds.base import Bound, Explored, PackingBound, ResumableBound
from certmix.search.frontier import OPEN_BYTES, Frontier
from certmix.search.nodes import Nodes
from certmix.search.stopping import stop_reason
from certmix.state import State
from certmix.status import Termination

LARGEST_BATCH = 512
DIVING_BATCH = 64


class Search:
    """A branch-and-bound search that can be run, paused and run again.

    The global bound is the smallest of the open nodes' bounds and of the closed leaves' bounds: a leaf that was pruned
    stays in the account. The ledger sees every bound that is proved, so an interruption loses nothing.

    Batches grow with the number of explored nodes only, never with the clock, so that the same seed and node limit give
    the same answer. So does the choice of nodes: the best ones, unless the open nodes have filled the memory they may
    have; then those with the largest bounds are settled first. Whatever is below the cutoff has to be explored anyway,
    so a search that ends is no longer for it; one that is stopped before has the weaker bound.

    A search goes on from the :meth:`state` of an earlier one: the nodes that it had not settled, and the smallest bound
    of what it had. What it had cut away inside of open nodes was compared with a cutoff; that counts as a leaf.
    """

    def __init__(
        self,
        bound: Bound,
        ledger: Ledger,
        options: Options,
        largest_batch: int = LARGEST_BATCH,
        first_batch: int = 1,
        open_bytes: float = OPEN_BYTES,
        state: State | None = None,
    ) -> None:
        self.bound = bound
        self.ledger = ledger
        self.options = options
        self.frontier = Frontier(
            bound.root(), bound if isinstance(bound, PackingBound) else None, most_bytes=open_bytes
        )
        self.largest_batch = max(1, min(largest_batch, int(open_bytes / self.frontier.row_bytes)))
        self.first_batch = min(first_batch, self.largest_batch)
        self._pruned = math.inf  # the cutoff when open nodes were last compared with it
        self.leaves = math.inf  # smallest bound of a closed leaf
        self._against = math.inf  # smallest number that nodes were narrowed against
        self.nodes = 0
        self._changing = threading.Lock()  # nodes move between frontier and leaves: nobody may look
        if state:
            self._go_on(state)

    def state(self) -> State:
        """What an equal search can go on from; any thread may ask."""
        with self._changing:
            return self._joined(self.nodes, [self.leaves, self._against], self.frontier.state())

    def _joined(self, nodes: int, account: list[float], frontier: dict[str, np.ndarray]) -> State:
        bound = self.bound.state() if isinstance(self.bound, ResumableBound) else State()
        return State.joined(
            search=State({"nodes": nodes}, {"account": np.array(account), **frontier}), bound=bound
        )

    def _go_on(self, state: State) -> None:
        own = state.of("search")
        leaves, upper = float(own.arrays["account"].min()), self.ledger.upper
        if math.isfinite(upper) and not self.ledger.tolerances.closed(upper, min(leaves, upper)):
            self.ledger.message("the gap is smaller than it was: the search begins anew")
            return
        self.frontier.replace(self._read(state))
        self.leaves, self.nodes = leaves, int(own.numbers["nodes"])

    def _read(self, state: State) -> Nodes:
        """The open nodes of a state, as they are stored."""
        nodes = self.frontier.read(state.of("search").arrays)
        return (
            self.bound.resumed(state.of("bound"), nodes) if isinstance(self.bound, ResumableBound) else nodes
        )

    # -- other processes -------------------------------------------------------------------------------------
    def hand_out(self, ticket: int) -> State | None:
        """The best open node as the state of a search that has only that; None when none is worth a search."""
        with self._changing:
            self._close(self.frontier.prune(self.ledger.cutoff))  # what came back may have reached it
            if len(self.frontier) == 0:
                return None
            return self._joined(0, [math.inf, math.inf], self.frontier.hand_out(ticket))

    def take_in(self, ticket: int, state: State) -> None:
        """What another search has made of the node that was handed out."""
        own = state.of("search")
        with self._changing:
            self.frontier.add(self._read(state))
            self.frontier.settled(ticket)
            self._close(own.arrays["account"])
            self.nodes += int(own.numbers["nodes"])

    def take_back(self) -> None:
        """What was handed out and has not come back is open as it was."""
        with self._changing:
            for ticket in self.frontier.handed_out:
                self.frontier.take_back(ticket)

    # -- one process -----------------------------------------------------------------------------------------

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
        with self._changing:
            nodes = self._worth(cutoff)
        if len(nodes) == 0:
            return
        against = cutoff if self.bound.reaches else ledger.tolerances.exclusion(ledger.upper)
        try:
            explored = self.bound.explore(nodes, against)
            for labels in explored.clusterings:
                ledger.offer(labels, "tree")
        except BaseException:
            self._back(nodes)
            raise
        if ledger.stop.raised:  # a kernel that was cut short may have said anything
            self._back(nodes)
            return
        ledger.nodes += len(nodes)
        self.nodes += len(nodes)
        still = explored.open & (explored.nodes.bound < ledger.cutoff)
        with self._changing:
            # What was cut away inside a node was compared with this number, so no more than that is proved of a leaf.
            self._close(explored.nodes.bound[~still].clip(max=against))
            self._against = min(self._against, against)
            self.frontier.push(self.bound.branch(Explored(explored.nodes.take(still), explored.open[still])))
            self.frontier.settled()
        ledger.tick()

    def _worth(self, cutoff: float) -> Nodes:
        """The nodes to explore next, without those that the cutoff has closed."""
        if cutoff < self._pruned:
            self._close(self.frontier.prune(cutoff))
            self._pruned = cutoff
        full, size = self.frontier.full, self._batch()
        nodes = self.frontier.pop(min(size, DIVING_BATCH) if full else size, best=not full)
        worth = nodes.bound < cutoff
        self._close(nodes.bound[~worth])
        if not worth.any():
            self.frontier.settled()
        return nodes.take(worth)

    def _back(self, nodes: Nodes) -> None:
        """Nodes that were not explored go back; their bounds stay in the account."""
        with self._changing:
            self.frontier.push(nodes)
            self.frontier.settled()

    def _batch(self) -> int:
        size = min(self.largest_batch, max(self.first_batch, self.nodes // 4))
        limit = self.options.node_limit
        return size if limit is None else min(size, max(1, limit - self.ledger.nodes))

    def _close(self, bounds: Iterable[float]) -> None:
        for value in bounds:
            if math.isnan(value):  # it would drop out of the minimum and leave a hole in the proof
                raise AssertionError("the bound of a leaf is not a number")
            self.leaves = min(self.leaves, float(value))


def search(bound: Bound, ledger: Ledger, options: Options, **settings: Any) -> Termination:
    """Search to the end, from where an earlier run stopped if there was one; ``settings`` are those of a Search."""
    ledger.resumable = running = Search(bound, ledger, options, state=ledger.resumed, **settings)
    return running.finish()
