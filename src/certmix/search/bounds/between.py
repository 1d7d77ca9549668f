"""Between which multipliers a clustering keeps its groups: where an ascent begins."""

from __future__ import annotations

import math

import numpy as np

from certmix.search.bounds.pricer import Pricer, PricingClass

FIRST_SHARE = 0.85  # of what a component can be worth in the box


def between(
    pricer: Pricer, partition: list[np.ndarray], classes: list[PricingClass]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Between which multipliers the clusters of a clustering keep their groups, and some of them to begin with.

    Of a group with weight w, d away from the mean of a cluster of W samples, w W/(W - w) d^2/2 is what the cluster
    saves without it, and w W/(W + w) d^2/2 what it costs to take it in. The sum over a cluster is its cost and what a
    component is worth, which is the same for all clusters, and as large as the box allows, nearly. A group that is
    alone where something has to be is worth at least its cost and the least that the others leave for a component.
    """
    a = pricer.arrays
    N, K = len(a.weight), len(partition)
    w = a.weight.astype(np.float64)
    join, leave, own = np.full((N, K), math.inf), np.zeros(N), np.zeros(N)
    cost, alone = np.zeros(K), np.zeros(N, dtype=bool)
    for which in classes:
        for k in which.members:
            members, c = partition[k], a.system[k]
            if not members.any():
                sizes = np.clip(w, 0, len(a.entropy[k]) - 1).astype(np.int64)
                join[:, k] = a.scatter[c] + a.entropy[k][sizes] - a.entropy[k][0]
                continue
            if members.sum() == 1 and not math.isfinite(which.empty):
                alone |= members
            W = float(w[members].sum())
            mean = w[members] @ a.points[c][members] / W
            half = 0.5 * ((a.points[c] - mean) ** 2).sum(axis=1)
            sizes = np.clip(np.stack([W - w, W + w]), 0, len(a.entropy[k]) - 1).astype(np.int64)
            h, less, more = a.entropy[k][int(W)], a.entropy[k][sizes[0]], a.entropy[k][sizes[1]]
            rest = np.maximum(W - w, 0.5 * w)
            join[:, k] = (
                w * W / (W + w) * half + a.scatter[c] + np.where(np.isfinite(more), more - h, math.inf)
            )
            saved = w * W / rest * half + a.scatter[c] + np.where(np.isfinite(less), h - less, 0.0)
            join[members, k] = math.inf
            leave[members] = saved[members]
            cost[k] = float((w * half + a.scatter[c])[members].sum()) + h
    low, high = leave, join.min(axis=1)
    high = np.where(np.isfinite(high), np.maximum(high, low), low)
    own = np.stack(partition).argmax(axis=0)
    if alone.any() and not alone.all():
        least = (np.bincount(own, weights=low, minlength=K) - cost)[np.unique(own[~alone])].max()
        low[alone] = np.minimum(cost[own[alone]] + least, high[alone])
    sums = [np.bincount(own, weights=end, minlength=K) for end in (low, high)]
    used = np.array([members.any() for members in partition])
    worth = FIRST_SHARE * float((sums[1] - cost)[used].min())
    room = np.maximum(sums[1] - sums[0], 1e-300)
    with np.errstate(over="ignore"):  # then it is an end
        share = np.clip((cost + worth - sums[0]) / room, 0.0, 1.0)[own]
    return low, high, low + share * (high - low)
