"""Crossover of two clusterings, as in HG-means (Gribel and Vidal, Pattern Recognition 88, 2019).

The components of both are matched by their means, and the offspring has one mean of each pair, taken at random. Where
the parents agree it is like both of them; where they differ it has some of what either does better.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from certmix.kernels.clustering import linear_costs
from certmix.kernels.restarts import SAME_COST, below, uniform
from certmix.local.moves import LocalSearch

MOST = 8  # parents that are kept


class Parents:
    """The best clusterings found, no two of the same cost."""

    def __init__(self) -> None:
        self._found: list[tuple[float, np.ndarray]] = []

    def __len__(self) -> int:
        return len(self._found)

    def add(self, labels: np.ndarray, cost: float) -> None:
        """Keep a clustering if it is new, and among the best."""
        if any(abs(cost - other) <= SAME_COST * (1.0 + abs(other)) for other, _ in self._found):
            return
        self._found.append((cost, labels.copy()))
        self._found.sort(key=lambda found: found[0])
        del self._found[MOST:]

    def drawn(self, rng: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two different ones, each the better of two that are drawn."""
        one = min(below(rng, len(self)), below(rng, len(self)))
        other = min(below(rng, len(self) - 1), below(rng, len(self) - 1))
        return self._found[one][1], self._found[other + (other >= one)][1]


def crossed(search: LocalSearch, one: np.ndarray, other: np.ndarray) -> np.ndarray | None:
    """Labels for the means and prices of a crossover, under every constraint; None when there are none."""
    search.load(one)
    means, prices = search.mean.copy(), search.price.copy()
    search.load(other)
    match = matched(means, search.mean, search.model.classes)
    for k, mate in enumerate(match.tolist()):
        if uniform(search.rng) < 0.5:
            means[k], prices[k] = search.mean[mate], search.price[mate]
    return search.assigner(linear_costs(search.model, means, prices))


def matched(one: np.ndarray, other: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """For every mean its mate: the least sum of squared distances among interchangeable components."""
    match = np.arange(len(one))
    for c in np.unique(classes):
        ks = np.flatnonzero(classes == c)
        away = ((one[ks, None] - other[None, ks]) ** 2).sum(axis=2)
        rows, columns = linear_sum_assignment(away)
        match[ks[rows]] = ks[columns]
    return match
