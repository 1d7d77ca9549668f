"""Incumbents from the tree: local search from the centre of a promising node."""

from __future__ import annotations

import numpy as np

from certmix.ledger import Ledger
from certmix.local.moves import LocalSearch
from certmix.presolve.instance import Instance
from certmix.search.bounds.base import Explored

FIRST = 16


class NodeCentres:
    """Tries the means at the minimiser of the best node of a batch, less and less often as the tree grows."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.local = LocalSearch(instance)
        self.next_at = FIRST

    def __call__(self, explored: Explored, nodes: int, ledger: Ledger) -> None:
        """Look at a batch that brought the number of explored nodes to ``nodes``."""
        if nodes < self.next_at or not explored.open.any():
            return
        self.next_at = 2 * nodes
        rows = np.flatnonzero(explored.open)
        best = rows[np.argmin(explored.nodes.bound[rows])]
        found = self.local.from_means(explored.nodes["centre"][best])
        if found is not None:
            ledger.offer(self.instance.expand(found[0]), "node centre")
