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
def add_components(table, cost, times):
    """The same after so many more components with these costs: by those of one, two, four, ... of them."""
    while times > 0:
        if times % 2 == 1:
            table = add_component(table, cost)
        times //= 2
        if times > 0:
            cost = add_component(cost, cost)
    return table


@njit()
def profile(costs, count, alone):
    """Cheapest sizes for pools of components that add up to n; returns their total.

    ``costs`` (P, n + 1) are those of each size for a component of every pool (infinite where it is excluded), ``count``
    (P,) the numbers of components. ``alone`` (P, n + 1) is written: the least total of all *other* components when one
    of the pool has size m.
    """
    P = costs.shape[0]
    n = costs.shape[1] - 1
    before = np.full((P, n + 1), np.inf)  # totals of the pools before each
    after = np.full(n + 1, np.inf)  # and of those after the present one
    before[0, 0] = after[0] = 0.0
    for p in range(P - 1):
        before[p + 1] = add_components(before[p], costs[p], count[p])
    total = np.inf
    for p in range(P - 1, -1, -1):
        others = before[p] if p == P - 1 else add_component(before[p], after)
        others = add_components(others, costs[p], count[p] - 1)
        alone[p] = others[::-1]
        total = min(total, np.min(alone[p] + costs[p]))
        if p > 0:
            after = add_components(after, costs[p], count[p])
    return total
