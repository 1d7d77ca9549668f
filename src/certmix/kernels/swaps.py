"""Exchanges of two groups between two components: the moves that tight sizes and counts leave."""

from __future__ import annotations

import numpy as np

from certmix.kernels.clustering import parameters
from certmix.kernels.compiled import njit
from certmix.kernels.mass import own_mass, shared_mass
from certmix.kernels.moves import along, attempt
from certmix.kernels.sorting import sort_along

# Partners with which a group is tried in full, chains and all, and how many such trials there may be.
PARTNERS_PER_GROUP = 12
MOST_ATTEMPTS = 2000


@njit(nogil=True)
def exchange_change(points, scatter, entropy, size, centre, k, c, g, v, h, w):
    """Change of the cost of component k when g of weight v leaves it for h of weight w; flat prior."""
    m = size[k]
    rest = m - v
    change = scatter[c, h] - scatter[c, g] + entropy[k, rest + w] - entropy[k, m]
    if rest > 0:
        out, into = 0.0, 0.0
        for j in range(centre.shape[1]):
            gap = points[c, g, j] - centre[k, j]
            out += gap * gap
            step = points[c, h, j] - centre[k, j] + v * gap / rest
            into += step * step
        change += 0.5 * (rest * w * into / (rest + w) - m * v * out / rest)
    return change


@njit(nogil=True)
def preference(model, state, mean, price, k, target):
    """Groups of k that may be in the target and what the move costs each, cheapest first."""
    points, scatter, mass = model.points, model.scatter, model.mass
    own = points.shape[0] > 1
    N = points.shape[1]
    group = np.empty(N, dtype=np.int64)
    cost = np.empty(N)
    found = 0
    for g in range(N):
        if state.label[g] != k or not model.allowed[g, target]:
            continue
        a, b = (k, target) if own else (0, 0)
        change = 0.0
        for j in range(mean.shape[1]):
            there = points[b, g, j] - mean[target, j]
            here = points[a, g, j] - mean[k, j]
            change += own_mass(mass, g, j) * (there * there - here * here)
        group[found] = g
        change = 0.5 * shared_mass(mass, g) * change + model.weight[g] * (price[target] - price[k])
        cost[found] = change + (scatter[b, g] - scatter[a, g])
        found += 1
    sort_along(cost, group, found)
    return group, cost, found


@njit(nogil=True)
def swaps(model, state, mean, price, size, centre, k, other, limit):
    """Exchange a group of k with one of the other component while that lowers the cost.

    For fixed means a swap costs ``a_g + b_h``; letting the means follow gains at most ``reach``, so pairs
    are tried in the order of that sum until it exceeds the reach, and at most ``limit`` of them. Returns
    the number of swaps made.
    """
    parameters(model, state, mean, price)
    first, a, n_first = preference(model, state, mean, price, k, other)
    second, b, n_second = preference(model, state, mean, price, other, k)
    points, scatter, entropy, weight = model.points, model.scatter, model.entropy, model.weight
    label, sizes, centres, pending, moved = state.label, state.size, state.centre, state.pending, state.moved
    heaviest = 0
    for g in range(weight.shape[0]):
        heaviest = max(heaviest, weight[g])
    reach = np.inf
    if model.counted:
        reach = _reach(points, weight, first, n_first, second, n_second, sizes, k, other)
    reach += abs(price[k] - price[other]) * heaviest
    plain, single = model.plain, model.single
    here, there = (k, other) if points.shape[0] > 1 else (0, 0)
    moves = 0
    tried = 0
    total = 0
    for i in range(n_first):
        g = first[i]
        if n_second == 0 or a[i] + b[0] >= reach or tried >= limit:
            break
        trials = 0
        alone = plain and single[g]
        for q in range(n_second):
            if a[i] + b[q] >= reach or tried >= limit or label[g] != k:
                break
            h = second[q]
            if label[h] != other:
                continue
            tried += 1
            if alone and single[h]:
                # Nothing else moves along: the change is known without trying.
                v, w = weight[g], weight[h]
                change = exchange_change(points, scatter, entropy, sizes, centres, k, here, g, v, h, w)
                change += exchange_change(points, scatter, entropy, sizes, centres, other, there, h, w, g, v)
                if not change < 0.0:
                    continue
            trials += 1
            total += 1
            if trials > PARTNERS_PER_GROUP or total > MOST_ATTEMPTS:
                break
            count = along(pending, moved, g, other, 0)
            count = along(pending, moved, h, k, count)
            if attempt(model, state, count, size, centre, False) < 0.0:
                moves += 1
    return moves


@njit(nogil=True)
def _reach(points, weight, first, n_first, second, n_second, size, k, other):
    """What moving means can gain in a swap: ``w^2/2 (1/m + 1/n)`` times the squared diameter."""
    heaviest = 0
    for i in range(n_first + n_second):
        g = first[i] if i < n_first else second[i - n_first]
        heaviest = max(heaviest, weight[g])
    diameter = 0.0
    for c in range(points.shape[0]):
        for j in range(points.shape[2]):
            low, high = np.inf, -np.inf
            for i in range(n_first + n_second):
                x = points[c, first[i] if i < n_first else second[i - n_first], j]
                low = min(low, x)
                high = max(high, x)
            diameter += (high - low) ** 2
    m, n = size[k], size[other]
    return 0.5 * heaviest**2 * diameter * (1.0 / max(m - heaviest, 1) + 1.0 / max(n - heaviest, 1))
