"""Assignment of equal samples to components with size limits: a minimum-cost flow on a graph of K nodes."""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit


@njit()
def balanced_assignment(costs, lower, upper, stop):
    """Labels that minimise ``sum_g costs[g, label_g]`` with between lower_k and upper_k groups in k.

    Successive shortest paths: start with every group in its cheapest component, which has no negative
    cycle; while a component is over its limit send one group out of it along a shortest path of transfers,
    then fetch groups for those below theirs. A transfer k -> l costs the smallest ``costs[g, l] - costs[g,
    k]`` over the groups g in k. These minima are kept by blocks of about ``sqrt(N)`` groups, so that a path
    costs ``O(K sqrt(N) + K^3)``. Forbidden components cost infinity.

    Returns the labels, whether the limits were met (no, when ``stop[0]`` was set meanwhile), and prices ``v``: every
    group sits where ``costs - v`` is least, ``v_k <= 0`` where the lower limit does not bind and ``v_k >= 0`` where the
    upper one does not.
    """
    N, K = costs.shape
    label = np.empty(N, dtype=np.int64)
    size = np.zeros(K, dtype=np.int64)
    for g in range(N):
        label[g] = np.argmin(costs[g])
        size[label[g]] += 1
    width = max(1, int(np.sqrt(N)))
    blocks = (N + width - 1) // width
    best = np.empty((K, K, blocks), dtype=np.int64)
    for b in range(blocks):
        for k in range(K):
            _scan(costs, label, best, width, b, k)
    step = np.empty((K + 1, K + 1))
    carrier = np.empty((K, K), dtype=np.int64)
    for k in range(K):
        _top(costs, best, step, carrier, k)
    distance = np.empty(K + 1)
    previous = np.empty(K + 1, dtype=np.int64)
    groups = np.empty(K, dtype=np.int64)
    targets = np.empty(K, dtype=np.int64)
    met = False
    for _ in range(N * K + 1):  # far more than needed: a guard against rounding that goes round in circles
        over, under = -1, -1
        for k in range(K):
            if size[k] > upper[k]:
                over = k
            if size[k] < lower[k]:
                under = k
        met = over < 0 and under < 0
        if met or stop[0]:
            break
        for k in range(K):
            free = k == over if over >= 0 else size[k] > lower[k]
            distance[k] = 0.0 if free else np.inf
            previous[k] = -1
        _shortest(K, step, distance, previous)
        end = under
        if over >= 0:
            end = -1
            for k in range(K):
                if k != over and size[k] < upper[k] and (end < 0 or distance[k] < distance[end]):
                    end = k
        if end < 0 or not distance[end] < np.inf:
            break
        count = 0
        k = end
        while previous[k] >= 0 and count < K:
            groups[count] = carrier[previous[k], k]
            targets[count] = k
            count += 1
            k = previous[k]
        for i in range(count):
            g = groups[i]
            origin, target = label[g], targets[i]
            label[g] = target
            size[origin] -= 1
            size[target] += 1
            for k in (origin, target):
                _scan(costs, label, best, width, g // width, k)
                _top(costs, best, step, carrier, k)
    price = np.zeros(K)
    if met:
        # Shortest distances among the components and an outside that takes and gives for free.
        distance[:] = 0.0
        step[K, K] = np.inf
        for k in range(K):
            step[k, K] = 0.0 if size[k] < upper[k] else np.inf
            step[K, k] = 0.0 if size[k] > lower[k] else np.inf
        _shortest(K + 1, step, distance, previous)
        for k in range(K):
            price[k] = distance[k] - distance[K]
    return label, met, price


@njit()
def _scan(costs, label, best, width, b, k):
    """In block b, the group of component k that is cheapest to send to every other component."""
    N, K = costs.shape
    for other in range(K):
        best[k, other, b] = -1
    for g in range(b * width, min(N, (b + 1) * width)):
        if label[g] == k:
            for other in range(K):
                h = best[k, other, b]
                if h < 0 or costs[g, other] - costs[g, k] < costs[h, other] - costs[h, k]:
                    best[k, other, b] = g


@njit()
def _top(costs, best, step, carrier, k):
    """The cheapest transfers out of component k."""
    for other in range(carrier.shape[0]):
        step[k, other] = np.inf
        carrier[k, other] = -1
        if other == k:
            continue
        for b in range(best.shape[2]):
            g = best[k, other, b]
            if g >= 0 and costs[g, other] - costs[g, k] < step[k, other]:
                step[k, other] = costs[g, other] - costs[g, k]
                carrier[k, other] = g


@njit()
def _shortest(K, step, distance, previous):
    """Bellman and Ford; steps may be negative, cycles only by rounding, which the tolerance keeps out."""
    for _ in range(K):
        changed = False
        for k in range(K):
            here = distance[k]
            if here == np.inf:
                continue
            for other in range(K):
                through = here + step[k, other]
                if through < distance[other] - 1e-12 * (1.0 + abs(through)):
                    distance[other] = through
                    previous[other] = k
                    changed = True
        if not changed:
            break
