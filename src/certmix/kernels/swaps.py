"""Exchanges of two groups between two components: the moves that tight sizes and counts leave."""

from __future__ import annotations

import numpy as np

from certmix.kernels.clustering import parameters
from certmix.kernels.compiled import njit
from certmix.kernels.moves import along, attempt

# Partners with which a group is tried in full, chains and all, and how many such trials there may be.
PARTNERS = 12
TRIALS = 2000


@njit(nogil=True)
def exchange_change(points, scatter, entropy, size, centre, k, c, g, v, h, w):
    """Change of the cost of component k when g of weight v leaves it for h of weight w; flat prior."""
    m = size[k]
    rest = m - v
    change = scatter[c, h] - scatter[c, g] + entropy[k, rest + w] - entropy[k, m]
    if rest == 0:
        return change
    out, into = 0.0, 0.0
    for j in range(centre.shape[1]):
        gap = points[c, g, j] - centre[k, j]
        out += gap * gap
        step = points[c, h, j] - centre[k, j] + v * gap / rest
        into += step * step
    return change + 0.5 * (rest * w * into / (rest + w) - m * v * out / rest)


@njit(nogil=True)
def preference(model, state, mean, price, k, target):
    """Groups of k that may be in the target and what the move costs each, cheapest first."""
    own = model.points.shape[0] > 1
    N = model.weight.shape[0]
    group = np.empty(N, dtype=np.int64)
    cost = np.empty(N)
    found = 0
    for g in range(N):
        if state.label[g] != k or not model.allowed[g, target]:
            continue
        a, b = (k, target) if own else (0, 0)
        change = 0.0
        for j in range(mean.shape[1]):
            there = model.points[b, g, j] - mean[target, j]
            here = model.points[a, g, j] - mean[k, j]
            change += there * there - here * here
        group[found] = g
        cost[found] = model.weight[g] * (0.5 * change + price[target] - price[k])
        cost[found] += model.scatter[b, g] - model.scatter[a, g]
        found += 1
    sort_along(cost, group, found)
    return group, cost, found


@njit(nogil=True)
def sort_along(key, group, count):
    """Sort the first ``count`` keys and move the groups along: heap sort, which compiles in no time."""
    for end in range(count, 1, -1):
        first = count // 2 - 1 if end == count else 0  # build the heap once, then mend its top
        for root in range(first, -1, -1):
            i = root
            while 2 * i + 1 < end:
                child = 2 * i + 1
                if child + 1 < end and key[child + 1] > key[child]:
                    child += 1
                if key[child] <= key[i]:
                    break
                key[i], key[child] = key[child], key[i]
                group[i], group[child] = group[child], group[i]
                i = child
        last = end - 1
        key[0], key[last] = key[last], key[0]
        group[0], group[last] = group[last], group[0]


@njit(nogil=True)
def swaps(model, state, mean, price, size, centre, k, other, limit):
    """Exchange a group of k with one of the other component while that lowers the cost.

    For fixed means a swap costs ``a_g + b_h``; letting the means follow gains at most ``reach``, so pairs
    are tried in the order of that sum until it exceeds the reach, and at most ``limit`` of them. Returns
    the number of swaps made.
    """
    parameters(model, state.size, state.centre, mean, price)
    first, a, n_first = preference(model, state, mean, price, k, other)
    second, b, n_second = preference(model, state, mean, price, other, k)
    if n_first == 0 or n_second == 0:
        return 0
    reach = _reach(model, first[:n_first], second[:n_second], state.size[k], state.size[other])
    reach += abs(price[k] - price[other]) * model.weight.max()
    points, scatter, entropy, weight = model.points, model.scatter, model.entropy, model.weight
    label, sizes, centres = state.label, state.size, state.centre
    plain, single = model.plain, model.single
    here, there = (k, other) if points.shape[0] > 1 else (0, 0)
    moves = 0
    tried = 0
    total = 0
    for i in range(n_first):
        g = first[i]
        if a[i] + b[0] >= reach or tried >= limit:
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
            if trials > PARTNERS or total > TRIALS:
                break
            count = along(state, g, other, 0)
            count = along(state, h, k, count)
            if attempt(model, state, count, size, centre, False) < 0.0:
                moves += 1
    return moves


@njit(nogil=True)
def _reach(model, first, second, m, n):
    """What moving means can gain in a swap: ``w^2/2 (1/m + 1/n)`` times the squared diameter."""
    heaviest = 0
    for g in first:
        heaviest = max(heaviest, model.weight[g])
    for g in second:
        heaviest = max(heaviest, model.weight[g])
    diameter = 0.0
    for c in range(model.points.shape[0]):
        for j in range(model.points.shape[2]):
            low, high = np.inf, -np.inf
            for g in first:
                low = min(low, model.points[c, g, j])
                high = max(high, model.points[c, g, j])
            for g in second:
                low = min(low, model.points[c, g, j])
                high = max(high, model.points[c, g, j])
            diameter += (high - low) ** 2
    return 0.5 * heaviest**2 * diameter * (1.0 / max(m - heaviest, 1) + 1.0 / max(n - heaviest, 1))
