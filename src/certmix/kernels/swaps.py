"""Exchanges of two groups between two components: the moves that tight sizes and counts leave."""

from __future__ import annotations

import numpy as np

from certmix.kernels.clustering import parameters
from certmix.kernels.compiled import njit
from certmix.kernels.mass import own_mass, shared_mass
from certmix.kernels.moves import along, attempt

# Partners with which a group is tried in full, chains and all, and how many such trials there may be.
PARTNERS_PER_GROUP = 12
MOST_ATTEMPTS = 2000


@njit()
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


@njit()
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
    order = np.argsort(cost[:found], kind="mergesort")
    return group[order], cost[order]


@njit()
def swaps(model, state, mean, price, size, centre, k, other, limit):
    """Exchange a group of k with one of the other component while that lowers the cost.

    For fixed means a swap costs ``a_g + b_h``; letting the means follow gains at most ``reach``, so pairs
    are tried in the order of that sum until it exceeds the reach, and at most ``limit`` of them. Returns
    the number of swaps made.
    """
    parameters(model, state, mean, price)
    first, a = preference(model, state, mean, price, k, other)
    second, b = preference(model, state, mean, price, other, k)
    n_first, n_second = first.shape[0], second.shape[0]
    points, scatter, entropy, weight = model.points, model.scatter, model.entropy, model.weight
    label, sizes, centres, pending, moved = state.label, state.size, state.centre, state.pending, state.moved
    reach = np.inf
    if model.counted:
        reach = _reach(points, weight, np.concatenate((first, second)), sizes[k], sizes[other])
    reach += abs(price[k] - price[other]) * weight.max()
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


@njit()
def _reach(points, weight, members, m, n):
    """What moving means can gain in a swap: ``w^2/2 (1/m + 1/n)`` times the squared diameter."""
    heaviest, diameter = 0, 0.0
    for g in members:
        heaviest = max(heaviest, weight[g])
    for c in range(points.shape[0]):
        for j in range(points.shape[2]):
            low, high = np.inf, -np.inf
            for g in members:
                low, high = min(low, points[c, g, j]), max(high, points[c, g, j])
            diameter += (high - low) ** 2
    return 0.5 * heaviest**2 * diameter * (1.0 / max(m - heaviest, 1) + 1.0 / max(n - heaviest, 1))
