"""Assignment of equal samples to components with size limits: a minimum-cost flow on a graph of K nodes."""

from __future__ import annotations

import numpy as np

from certmix.kernels.compiled import njit


@njit(nogil=True)
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
    best = np.full((K, K, blocks), -1, dtype=np.int64)
    for b in range(blocks):
        for k in range(K):
            _scan(costs, label, best, width, b, k)
    step = np.full((K, K), np.inf)
    carrier = np.full((K, K), -1, dtype=np.int64)
    for k in range(K):
        _top(costs, best, step, carrier, k)
    distance = np.empty(K)
    previous = np.empty(K, dtype=np.int64)
    groups = np.empty(K, dtype=np.int64)
    targets = np.empty(K, dtype=np.int64)
    for _ in range(N * K + 1):  # far more than needed: a guard against rounding that goes round in circles
        over, under = -1, -1
        for k in range(K):
            if size[k] > upper[k]:
                over = k
            if size[k] < lower[k]:
                under = k
        if over < 0 and under < 0:
            return label, True, _prices(step, size, lower, upper)
        if stop[0]:
            break
        distance[:] = np.inf
        previous[:] = -1
        if over >= 0:
            distance[over] = 0.0
        else:
            for k in range(K):
                if size[k] > lower[k]:
                    distance[k] = 0.0
        _shortest(step, distance, previous)
        end = under
        if over >= 0:
            end = -1
            for k in range(K):
                if k != over and size[k] < upper[k] and (end < 0 or distance[k] < distance[end]):
                    end = k
        if end < 0 or not np.isfinite(distance[end]):
            return label, False, np.zeros(K)
        count = 0
        k = end
        while previous[k] >= 0 and count < K:
            groups[count] = carrier[previous[k], k]
            targets[count] = k
            count += 1
            k = previous[k]
        for i in range(count):
            g = groups[i]
            size[label[g]] -= 1
            size[targets[i]] += 1
            origin = label[g]
            label[g] = targets[i]
            _scan(costs, label, best, width, g // width, origin)
            _scan(costs, label, best, width, g // width, targets[i])
            _top(costs, best, step, carrier, origin)
            _top(costs, best, step, carrier, targets[i])
    return label, False, np.zeros(K)


@njit(nogil=True)
def _prices(step, size, lower, upper):
    """Shortest distances among the components and an outside that takes and gives for free."""
    K = size.shape[0]
    graph = np.full((K + 1, K + 1), np.inf)
    graph[:K, :K] = step
    for k in range(K):
        if size[k] < upper[k]:
            graph[k, K] = 0.0
        if size[k] > lower[k]:
            graph[K, k] = 0.0
    distance = np.zeros(K + 1)
    _shortest(graph, distance, np.empty(K + 1, dtype=np.int64))
    return distance[:K] - distance[K]


@njit(nogil=True)
def _scan(costs, label, best, width, b, k):
    """In block b, the group of component k that is cheapest to send to every other component."""
    N, K = costs.shape
    best[k, :, b] = -1
    for g in range(b * width, min(N, (b + 1) * width)):
        if label[g] == k:
            for other in range(K):
                h = best[k, other, b]
                if h < 0 or costs[g, other] - costs[g, k] < costs[h, other] - costs[h, k]:
                    best[k, other, b] = g


@njit(nogil=True)
def _top(costs, best, step, carrier, k):
    """The cheapest transfers out of component k."""
    for other in range(step.shape[0]):
        step[k, other] = np.inf
        carrier[k, other] = -1
        if other == k:
            continue
        for b in range(best.shape[2]):
            g = best[k, other, b]
            if g >= 0 and costs[g, other] - costs[g, k] < step[k, other]:
                step[k, other] = costs[g, other] - costs[g, k]
                carrier[k, other] = g


@njit(nogil=True)
def _shortest(step, distance, previous):
    """Bellman and Ford; steps may be negative, cycles only by rounding, which the tolerance keeps out."""
    K = distance.shape[0]
    for _ in range(K):
        changed = False
        for k in range(K):
            if not np.isfinite(distance[k]):
                continue
            for other in range(K):
                through = distance[k] + step[k, other]
                if through < distance[other] - 1e-12 * (1.0 + abs(through)):
                    distance[other] = through
                    previous[other] = k
                    changed = True
        if not changed:
            return
