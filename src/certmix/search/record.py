"""The splits of an interval search, written down as they are made: the certificate is this tree, replayed.

A node is its number. What the search concludes at a node is not written down: whoever replays the tree concludes it
again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from certmix.state import State

if TYPE_CHECKING:
    from certmix.search.bounds.counting import CountingBound
    from certmix.search.bounds.dual import DualBound
    from certmix.search.loop import Search

LEAF = -1
COLUMNS = ("node", "kind", "component", "index", "at", "first_child")
MOST_NODES = 1_000_000


class Splits:
    """The tree of one search; one of more than ``most`` nodes is not kept."""

    def __init__(self, most: int = MOST_NODES) -> None:
        self._most = most
        self._named = self._roots = 0
        self._batches: list[tuple[np.ndarray, ...]] = []  # of COLUMNS

    @property
    def count(self) -> int:
        """Nodes of the tree; 0 when it was not kept."""
        return self._named if self._named <= self._most else 0

    def roots(self, count: int) -> np.ndarray:
        """The numbers of so many roots."""
        self._roots = self._named = count
        return np.arange(count, dtype=np.int32)

    def split(self, nodes: np.ndarray, *decisions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nodes are split; the numbers of their first and of their second children."""
        if self._named > self._most:
            self._batches.clear()
            return nodes, nodes
        first = (self._named + 2 * np.arange(len(nodes))).astype(np.int32)
        self._named += 2 * len(nodes)
        self._batches.append((nodes.copy(), *(d.copy() for d in decisions), first))
        return first, first + 1

    def state(self) -> State:
        """The tree as arrays; nothing when it was not kept."""
        if self.count == 0:
            return State()
        columns = dict(zip(COLUMNS, self._columns(), strict=True))
        return State({"named": self._named, "roots": self._roots}, columns)

    @classmethod
    def resumed(cls, state: State) -> Splits:
        """The tree of a state, to be grown; none when it was not kept."""
        if not state:
            return NO_SPLITS
        splits = cls()
        splits._named, splits._roots = state.numbers["named"], state.numbers["roots"]
        splits._batches = [tuple(state.arrays[name] for name in COLUMNS)]
        return splits

    def _columns(self) -> list[np.ndarray]:
        nothing = (np.zeros(0, dtype=np.int64),) * len(COLUMNS)
        return [np.concatenate(part) for part in zip(*self._batches, nothing, strict=True)]

    def levels(self) -> tuple[np.ndarray, ...]:
        """``(kind, component, index, at, number)`` of every node, level by level, each level from left to right."""
        nodes, *decisions, first = self._columns()
        place = np.full(self._named, LEAF)  # where the split of a node is
        place[nodes] = np.arange(len(nodes))
        levels = [np.arange(self._roots)]
        while len(levels[-1]):
            cut = place[levels[-1]]
            children = first[cut[cut != LEAF]].astype(np.int64)
            levels.append(np.column_stack([children, children + 1]).ravel())
        number = np.concatenate(levels)
        rows = place[number]
        out = [np.zeros(len(rows), dtype=t) for t in (np.int8, np.int32, np.int32, np.float64)]
        out[0][:] = LEAF
        for column, decision in zip(out, decisions, strict=True):
            column[rows != LEAF] = decision[rows[rows != LEAF]]
        return *out, number


NO_SPLITS = Splits(most=0)  # writes nothing down


@dataclass
class RunRecord:
    """What a run by boxes and multipliers leaves for the maker of a certificate."""

    boxes: Search | None = None
    dual: DualBound | None = None
    counting: CountingBound | None = None

    @property
    def root(self) -> float:
        """The bound that the multipliers of the root prove."""
        return -math.inf if self.dual is None else self.dual.root_bound
