"""The sets that an ascent has generated, and the clusterings that some of them make."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from certmix.highs import minimise
from certmix.search.bounds.trios import NO_TRIOS, TrioPrices

MOST_COVERING = 5000  # sets that are chosen from,
COVERING_NODES, COVERING_SECONDS = 200, 10.0  # and how long


class Columns:
    """Sets of groups, each of a class of components, with what they cost in units of the scale."""

    def __init__(self, counts: np.ndarray) -> None:
        self.counts = counts
        self._sets: list[np.ndarray] = []
        self._costs: list[float] = []
        self._classes: list[int] = []

    def add(self, members: np.ndarray, pricing_class: int, cost: float) -> None:
        """A set (bool per group, free groups only) of a class with its full cost."""
        self._sets.append(members)
        self._costs.append(float(cost))
        self._classes.append(pricing_class)

    def sets(self) -> list[tuple[np.ndarray, int]]:
        return list(zip(self._sets, self._classes, strict=True))

    def costs(self) -> np.ndarray:
        return np.array(self._costs)

    def cover(
        self, raw: np.ndarray, sigma: np.ndarray, gap: float, trios: TrioPrices = NO_TRIOS
    ) -> list[tuple[np.ndarray, int]]:
        """Sets of every class, as many as it has components, that cover the groups at least cost; none if none do.

        Of the generated sets those with a reduced cost up to the gap at these multipliers: with others the clustering
        would not be better by more than the gap. No more than one of them holds two groups of a trio. Components that
        are left empty are not among them. The answer is a suggestion, and need not be a partition.
        """
        if not self._sets:
            return []
        classes, costs = np.array(self._classes), np.array(self._costs)
        members = np.array(self._sets)
        reduced = costs - members @ raw - sigma[classes] + trios.held(members) @ trios.prices
        kept = np.flatnonzero(reduced <= gap)
        if not 0 < len(kept) <= MOST_COVERING:
            return []
        groups = np.flatnonzero(members.any(axis=0))
        of_class = classes[kept] == np.arange(len(self.counts))[:, None]
        held = trios.held(members[kept]).T
        matrix = csr_matrix(np.vstack([members[kept][:, groups].T, of_class, held]).astype(float))
        low = np.concatenate([np.ones(len(groups)), self.counts, np.full(len(held), -np.inf)])
        high = np.concatenate([np.full(len(groups), np.inf), self.counts, trios.limits])
        x = minimise(
            costs[kept],
            matrix,
            low,
            high,
            upper=np.where(members[kept].any(axis=1), 1.0, self.counts[classes[kept]]),
            integer=True,
            time_limit=COVERING_SECONDS,
            mip_max_nodes=COVERING_NODES,
        )[1]
        if x is None:
            return []
        return [
            (members[row], int(classes[row]))
            for row, taken in zip(kept, x > 0.5, strict=True)
            if taken and members[row].any()
        ]
