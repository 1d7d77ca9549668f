"""The open nodes, best bound first."""

from __future__ import annotations

import heapq
import math

import numpy as np

from certmix.search.nodes import Nodes


class Frontier:
    """Open nodes in growing arrays, with a heap over their bounds.

    Ties are broken by age, so that the same run always takes the same nodes.
    """

    def __init__(self, root: Nodes) -> None:
        self._store = {name: np.empty((0, *a.shape[1:]), dtype=a.dtype) for name, a in root.fields.items()}
        self._free: list[int] = []
        self._heap: list[tuple[float, int, int]] = []
        self._age = 0
        self.push(root)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def bound(self) -> float:
        """The smallest bound of an open node; infinite when none is open."""
        return self._heap[0][0] if self._heap else math.inf

    def push(self, nodes: Nodes) -> None:
        if len(nodes) == 0:
            return
        self._reserve(len(nodes))
        slots = [self._free.pop() for _ in range(len(nodes))]
        for name, array in nodes.fields.items():
            self._store[name][slots] = array
        for slot, bound in zip(slots, nodes.bound, strict=True):
            heapq.heappush(self._heap, (float(bound), self._age, slot))
            self._age += 1

    def pop(self, most: int) -> Nodes:
        """The nodes with the smallest bounds, at most so many."""
        slots = [heapq.heappop(self._heap)[2] for _ in range(min(most, len(self._heap)))]
        nodes = Nodes({name: store[slots] for name, store in self._store.items()})
        self._free += reversed(slots)
        return nodes

    def prune(self, cutoff: float) -> int:
        """Drop every node whose bound reaches the cutoff; returns how many."""
        kept = [entry for entry in self._heap if entry[0] < cutoff]
        dropped = len(self._heap) - len(kept)
        if dropped:
            keep = {entry[2] for entry in kept}
            self._free += [entry[2] for entry in self._heap if entry[2] not in keep]
            heapq.heapify(kept)
            self._heap = kept
        return dropped

    def all(self) -> Nodes:
        """Every open node, best first (for checkpoints)."""
        slots = [entry[2] for entry in sorted(self._heap)]
        return Nodes({name: store[slots] for name, store in self._store.items()})

    def _reserve(self, more: int) -> None:
        if len(self._free) >= more:
            return
        used = next(iter(self._store.values())).shape[0]
        size = max(used + more, 2 * used, 64)
        for name, store in self._store.items():
            grown = np.empty((size, *store.shape[1:]), dtype=store.dtype)
            grown[:used] = store
            self._store[name] = grown
        self._free += range(size - 1, used - 1, -1)
