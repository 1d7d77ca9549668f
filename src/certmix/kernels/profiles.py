"""Sizes of components that add up to n: the cheapest combination, and what each single size costs at best."""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit


@njit()
def add_component(table, cost):
    """Cheapest total for every sum of sizes after one more component whose size m costs ``cost[m]``."""
    n = table.shape[0] - 1
    out = np.full(n + 1, np.inf)
    for m in range(n + 1):
        if cost[m] < np.inf:
            out[m:] = np.minimum(out[m:], table[: n + 1 - m] + cost[m])
    return out


@njit()
def profile(costs, count, alone):
    """Cheapest sizes for pools of components that add up to n; returns their total.

    ``costs`` (P, n + 1) are those of each size for a component of every pool (infinite where it is excluded), ``count``
    (P,) the numbers of components. ``alone`` (P, n + 1) is written: the least total of all *other* components when one
    of the pool has size m.
    """
    P = costs.shape[0]
    n = costs.shape[1] - 1
    zero = np.full(n + 1, np.inf)
    zero[0] = 0.0
    total = np.inf
    for p in range(P):
        table = zero
        for other in range(P):
            for _ in range(count[other] - (1 if other == p else 0)):
                table = add_component(table, costs[other])
        alone[p] = table[::-1]
        total = min(total, np.min(alone[p] + costs[p]))
    return total
